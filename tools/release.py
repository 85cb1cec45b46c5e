"""Set the version: in the package, for a release in CITATION.cff and the changelog, too.

    python tools/release.py 0.2.0                      # a release, of today
    python tools/release.py 0.2.0 --date 2027-01-15
    python tools/release.py 0.3.0.dev0                 # afterwards: the next version in development

The entries under "Unreleased" become the release's section.  Nothing is committed.
docs/dev/releases.md lists the steps before and after.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION_FILE = Path("src/arraytape/_version.py")
CITATION = Path("CITATION.cff")
CHANGELOG = Path("CHANGELOG.md")
REPOSITORY = "https://github.com/arraytape/arraytape"
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(\.dev\d+)?")
SECTION = re.compile(r"^## \[(?P<version>[\d.]+)\] - (?P<date>\d{4}-\d{2}-\d{2})$", flags=re.M)
UNRELEASED = "## [Unreleased]\n"
LINK = re.compile(r"^\[Unreleased\]: .*\n", flags=re.M)


def version_of(root: Path = ROOT) -> str:
    """Return ``__version__`` of the package."""
    text = (root / VERSION_FILE).read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]*)"$', text, flags=re.M)
    if not found:
        raise LookupError(f"{VERSION_FILE} has no line __version__ = ...")
    return found[1]


def releases(root: Path = ROOT) -> dict[str, str]:
    """Return a dict from version to date of the releases in the changelog, newest first."""
    text = (root / CHANGELOG).read_text(encoding="utf-8")
    return {found["version"]: found["date"] for found in SECTION.finditer(text)}


def order(version: str) -> tuple[int, int, int, bool]:
    """Return a tuple by which versions can be compared; raise ValueError for other text."""
    found = VERSION.fullmatch(version)
    if not found:
        raise ValueError(f"{version!r} is no version such as 0.2.0 or 0.3.0.dev0")
    return int(found[1]), int(found[2]), int(found[3]), not found[4]


def replaced(path: Path, pattern: str, text: str) -> None:
    """Replace the only match of ``pattern`` in a file by a text."""
    old = path.read_text(encoding="utf-8")
    new, count = re.subn(pattern, text, old, flags=re.M)
    if count != 1:
        raise LookupError(f"{path.name} has {count} lines like {pattern}")
    path.write_text(new, encoding="utf-8")


def with_section(text: str, version: str, date: str, before: str | None) -> str:
    """Return the changelog with a new release section.

    before : the previous version.  ValueError is raised if nothing is unreleased.
    """
    head, found, rest = text.partition(UNRELEASED)
    if not found:
        raise LookupError(f"{CHANGELOG} has no line {UNRELEASED.strip()}")
    if re.match(r"\s*(## \[|\[|\Z)", rest):
        raise ValueError(f"{CHANGELOG}: nothing stands under Unreleased")
    made = f"{head}{UNRELEASED}\n## [{version}] - {date}\n{rest}"
    compared = f"compare/v{before}...v{version}" if before else f"releases/tag/v{version}"
    links = (
        f"[Unreleased]: {REPOSITORY}/compare/v{version}...main\n"
        f"[{version}]: {REPOSITORY}/{compared}\n"
    )
    made, count = LINK.subn(lambda _: links, made)
    if count != 1:
        raise LookupError(f"{CHANGELOG} has {count} lines [Unreleased]: ...")
    return made


def release(version: str, date: str, root: Path = ROOT) -> None:
    """Write the version into all files; raise ValueError if it is not newer than the last release."""
    done = releases(root)
    last = next(iter(done), None)
    if last and order(version) <= order(last):
        raise ValueError(f"{version} is not newer than {last}, which is released")
    final = order(version)[3]
    if final:
        datetime.date.fromisoformat(date)
        changelog = root / CHANGELOG
        text = with_section(changelog.read_text(encoding="utf-8"), version, date, last)
        replaced(root / CITATION, r"^version: .*$", f"version: {version}")
        replaced(root / CITATION, r"^date-released: .*$", f'date-released: "{date}"')
        changelog.write_text(text, encoding="utf-8")
    replaced(root / VERSION_FILE, r"^__version__ = .*$", f'__version__ = "{version}"')


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Set the version.")
    parser.add_argument("version", help="0.2.0, or 0.3.0.dev0 for what is on its way")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="YYYY-MM-DD")
    given = parser.parse_args(arguments)
    try:
        release(given.version, given.date)
    except (LookupError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
