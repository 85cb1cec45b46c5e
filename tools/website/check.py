"""The check of built pages: internal links have targets, and pages load nothing from other sites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Tags whose content a browser loads by itself, with the attribute that has the address.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
IN_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^)"']*""")


class Page(HTMLParser):
    """The anchors of a page, its links, and the addresses that a browser loads with it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors, self.links, self.fetched = {""}, set(), set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attributes if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "link" and "canonical" not in given.get("rel", "") and "href" in given:
            self.fetched.add(given["href"])
        elif tag in FETCHED and FETCHED[tag] in given:
            self.fetched.add(given[FETCHED[tag]])
        elif tag == "a" and "href" in given:
            self.links.add(given["href"])


def faults(site: Path) -> Iterator[str]:
    """Yield a sentence for each fault of a site's pages."""
    read = cache(Page)
    # The files in _static are templates of the theme.
    for file in sorted(file for file in site.rglob("*.html") if "_static" not in file.parts):
        page, name = read(file), file.relative_to(site)
        for address in sorted(page.fetched):
            if urlsplit(address).netloc:
                yield f"{name} fetches {address}"
        for address in sorted(page.links | page.fetched):
            place = urlsplit(address)
            if place.scheme or place.netloc:
                continue
            there = (file.parent / unquote(place.path)).resolve() if place.path else file.resolve()
            if not there.exists():
                yield f"{name} links to {address}, which is not there"
            elif there.suffix == ".html" and unquote(place.fragment) not in read(there).anchors:
                yield f"{name} links to {address}, and the page has no such anchor"
    for file in sorted(site.rglob("*.css")):
        for address in IN_STYLES.findall(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(site)} fetches {address}"
