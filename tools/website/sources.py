"""The Markdown pages of the repository as sources of the site, with adapted links.

``page_of`` returns the address of a page in the site, to which links to the page are adapted.  A link to
another file of the repository becomes a link to GitHub.  A link without a target is an error.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from . import moved

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/arraytape/arraytape/blob/main"
# Pages outside docs/, with their names in the site.
BESIDE = {
    "README.md": "overview",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "SECURITY.md": "security",
}
GALLERY = "gallery"  # the folder of the site with a page for each program of examples/
SHARED = "command_line.py"  # a module that the programs share, and no program
LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ *```")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", flags=re.M | re.S)
# The toctree for folders whose README.md lists their pages in a table.
LISTED = "\n```{toctree}\n:hidden:\n:glob:\n\n[0-9]*\n```\n"

# Metadata of the theme for a page that is one table: no list of headings next to it.
WHOLE_WIDTH = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"


def page_of(path: str) -> str | None:
    """Return the name in the site of a file of the repository, or None if it is no page."""
    if path in BESIDE:
        return BESIDE[path]
    folder, _, rest = path.partition("/")
    if folder == "examples" and rest != SHARED and re.fullmatch(r"\w+\.py", rest):
        return f"{GALLERY}/{rest.removesuffix('.py')}"
    if folder != "docs" or not rest.endswith(".md"):
        return None
    name = rest.removesuffix(".md")
    return None if name in moved.MOVED else name


def pages() -> dict[str, Path]:
    """Return every Markdown page by its name in the site."""
    files = [*(ROOT / name for name in BESIDE), *DOCS.rglob("*.md")]
    named = {page_of(file.relative_to(ROOT).as_posix()): file for file in files}
    return {name: named[name] for name in sorted(filter(None, named))}


def pictures() -> list[Path]:
    """Return the pictures in docs/, which are copied to the same folders of the site."""
    return [*DOCS.rglob("*.svg"), *DOCS.rglob("*.png")]


def source(file: Path, gallery: bool = True) -> str:
    """Return the text of a page for the site; ``gallery`` is False in a site without a gallery."""
    text = "\n".join(lines_with_links(file, gallery)) + "\n"
    if file.parent.name == "generated" and text.count("\n## ") < 2:
        text = f"{WHOLE_WIDTH}{text}"
    return text + LISTED if file.name == "README.md" and file.parent != ROOT else text


def lines_with_links(file: Path, gallery: bool) -> Iterator[str]:
    """Yield the lines of a page with links adapted to the site; code is not changed."""
    path, code = file.relative_to(ROOT).as_posix(), False
    for line in file.read_text(encoding="utf-8").splitlines():
        fence = FENCE.match(line)
        code ^= bool(fence)
        yield line if code or fence else LINK.sub(lambda m: f"]({link(m[1], path, gallery)})", line)


def link(target: str, path: str, gallery: bool = True) -> str:
    """Return the site's target of a link on the page ``path``; raise LookupError if there is none."""
    if re.match(r"[a-z]+:|#", target):
        return target
    place, hash_, anchor = target.partition("#")
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
    if not (ROOT / place).exists():
        raise LookupError(f"{path}: a link leads to {target}, and {place} is not there")
    if (ROOT / place / "README.md").exists():
        place += "/README.md"
    here, there = page_of(path), page_of(place)
    if not gallery and place.startswith("examples/"):
        there = None
    if there is None and (ROOT / place) in pictures():
        return posixpath.relpath(place.removeprefix("docs/"), posixpath.dirname(here or "") or ".")
    if here is None or there is None:
        return f"{REPOSITORY}/{place}{hash_}{anchor}"
    return posixpath.relpath(there, posixpath.dirname(here) or ".") + f".md{hash_}{anchor}"


def toctree_entries(name: str, file: Path) -> list[str]:
    """Return the names of the pages that are listed in the toctrees of the page ``name``."""
    lines = "".join(TOCTREE.findall(file.read_text(encoding="utf-8"))).splitlines()
    entries = [line for line in lines if line and not line.startswith(":")]
    paths = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
    folder = posixpath.dirname(f"/{name}")
    return [posixpath.normpath(posixpath.join(folder, path)).lstrip("/") for path in paths]


def write(path: Path, text: str) -> None:
    """Write a source if its text has changed; Sphinx does not build unchanged files again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
