"""Build the site in build/docs/html.

python -m website                # run examples, treat warnings as errors, check links
python -m website --no-gallery   # do not run examples; keep the output of earlier runs
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from pathlib import Path

from sphinx.cmd.build import main as sphinx

import name_examples

from . import check, gallery, keywords, moved, progress, reference, sources

BUILD = sources.ROOT / "build" / "docs"
SOURCE, HTML, RUNS = BUILD / "source", BUILD / "html", BUILD / "gallery"
# Sphinx's cache of parsed pages; the file with the state of the sources at the last successful build.
DOCTREES, BUILT = BUILD / "doctrees", BUILD / "built"


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the site in build/docs/html.")
    parser.add_argument("--no-gallery", action="store_true", help="do not run the examples")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    if not arguments.no_gallery:
        gallery.run_all(RUNS)
        print(f"examples: {time.perf_counter() - begin:.0f} s", flush=True)
    write_sources(arguments.no_gallery)
    state = gallery.state_of(
        *(sources.ROOT / folder for folder in ("examples", "src", "tools/website"))
    )
    forget_unless(state)
    strict = ["-W", "--keep-going", "--jobs", "auto"]
    places = ["-c", str(sources.DOCS), "-d", str(DOCTREES), str(SOURCE), str(HTML)]
    with contextlib.redirect_stdout(progress.Tenths(sys.stdout)):
        code = sphinx([*strict, *places])
    if code:
        return code
    print("checking links", flush=True)
    moved.write_redirects(HTML)
    missing = name_examples.without_example(reference.public())
    wrong = [*check.faults(HTML), *(f"{name} has no example" for name in missing)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len([*HTML.rglob('*.html')])} pages in {HTML}: {time.perf_counter() - begin:.0f} s")
    if wrong:
        return 1
    BUILT.write_text(state)
    return 0


def forget_unless(state: str) -> None:
    """Delete Sphinx's cache unless the last build succeeded with this state of the sources.

    Sphinx reports the warnings of a page when it parses the page, and not for a page from the cache.
    """
    if not BUILT.exists() or BUILT.read_text() != state:
        for folder in (DOCTREES, HTML):
            shutil.rmtree(folder, ignore_errors=True)
    BUILT.unlink(missing_ok=True)


def write_sources(without_gallery: bool) -> None:
    """Write the sources of all pages: those of the repository, the reference and the gallery."""
    gallery_too = not without_gallery
    found = sources.pages().items()
    texts = {
        f"{name}.md": keywords.with_keywords(name, sources.source(file, gallery_too))
        for name, file in found
    }
    texts |= {f"{name}.rst": text for name, text in reference.sources(gallery_too).items()}
    if without_gallery:
        texts[f"{gallery.FOLDER}/index.md"] = gallery.INTRODUCTION
    else:
        texts |= {f"{name}.md": text for name, text in gallery.sources().items()}
    wanted = {SOURCE / name for name in texts}
    for name, text in texts.items():
        sources.write(SOURCE / name, text)
    for file in sources.pictures():
        wanted.add(copy(file, SOURCE / file.parent.relative_to(sources.DOCS)))
    if not without_gallery:
        files = [*gallery.programs(), *RUNS.glob("*.png"), *RUNS.glob("*.txt")]
        wanted |= {copy(file, SOURCE / gallery.FOLDER) for file in files}
    for file in SOURCE.rglob("*.*"):
        if file.is_file() and file not in wanted:
            file.unlink()


def copy(file: Path, folder: Path) -> Path:
    """Copy a file into a folder, unless the copy there is as new; return the path of the copy."""
    there = folder / file.name
    if not there.exists() or there.stat().st_mtime < file.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, there)
    return there


if __name__ == "__main__":
    sys.exit(main())
