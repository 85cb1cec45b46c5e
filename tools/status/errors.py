"""The page docs/errors.md, to which messages of 0.1 link; its headings lead to the new page."""

from __future__ import annotations

import re

import pages

PAGE = "howto/errors.md"


def page(_: str) -> str:
    text = (pages.ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    lines = ["# This page has moved", "", pages.mark("errors"), ""]
    lines += [
        f"Messages of arraytape 0.1 lead here. The page is [Errors and warnings]({PAGE}) now.",
        "",
    ]
    for heading in re.findall(r"^### (.*)$", text, flags=re.M):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        lines += [f"### {heading}", "", f"[What it means, and what to do]({PAGE}#{anchor})", ""]
    return "\n".join(lines)
