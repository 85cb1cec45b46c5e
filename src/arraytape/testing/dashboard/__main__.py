"""The command: python -m arraytape.testing.dashboard results --out site."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .pages import write_site
from .results import ResultsError, read_results


def main() -> int:
    """Write the site that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m arraytape.testing.dashboard",
        description="Write a site over asv's results: static pages that need no network.",
    )
    parser.add_argument("results", type=Path, help="asv's folder of results")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the site")
    parser.add_argument("--title", default="Benchmarks", help="the heading")
    parser.add_argument(
        "--base", metavar="REV", help="compare with it: a tag, or the start of a hash"
    )
    parser.add_argument("--machine", help="the machine whose results count")
    parser.add_argument(
        "--repo", type=Path, help="the measured repository; by default that of the results"
    )
    options = parser.parse_args()
    try:
        results = read_results(options.results, machine=options.machine, repo=options.repo)
        index = write_site(results, options.out, title=options.title, base=options.base)
    except ResultsError as error:
        print(f"dashboard: {error}", file=sys.stderr)
        return 2
    print(f"dashboard: {index}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
