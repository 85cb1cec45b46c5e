"""Measure several commits with asv and write a site with the results, without a network.

    python asv_bench/dashboard.py                     # the last 5 tagged commits, and HEAD
    python asv_bench/dashboard.py v0.3 v0.4 main      # these commits
    python asv_bench/dashboard.py --last 3

Results stay in the folder `results`, and are measured again only with `--again`.  The benchmarks of this
tree measure every commit, in the present environment, on a copy of the commit's sources.  A ratio that
has grown is measured again up to `AGAIN` times, on the newest commit and on the one that it is compared
with.  The least values count, so that noise on a busy machine is not taken for a regression.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from check import source_of
from run import SETTINGS

from arraytape.testing.dashboard.judgement import WORSE, base_of, change_of
from arraytape.testing.dashboard.results import read_results

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS, SITE = HERE / "results", HERE / "html"
# Without tags, every STRIDE-th commit is measured.
STRIDE = 40
AGAIN = 3


def git(*arguments: str) -> list[str]:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"dashboard: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.split()


def chosen(wanted: Sequence[str], last: int) -> list[str]:
    """Return the commits to measure, the oldest first."""
    if wanted:
        return [git("rev-parse", "--verify", f"{one}^{{commit}}")[0] for one in wanted]
    head = git("rev-parse", "HEAD")[0]
    tags = git("for-each-ref", "--format=%(refname)", "refs/tags")
    released = {git("rev-parse", f"{tag}^{{commit}}")[0] for tag in tags}
    found = [commit for commit in git("rev-list", "--topo-order", head) if commit in released]
    if not found:
        found = git("rev-list", "--first-parent", "HEAD", "--", "src")[STRIDE::STRIDE]
    return [*reversed([one for one in found if one != head][:last]), head]


def saved(commit: str) -> bool:
    return bool(files_of(commit))


def files_of(commit: str) -> list[Path]:
    return sorted(RESULTS.glob(f"*/{commit[:8]}-*.json"))


def asv(environment: dict[str, str], *arguments: str) -> int:
    return subprocess.run(
        [sys.executable, "-m", "asv", *arguments], cwd=HERE, env=environment
    ).returncode


def measure(commit: str, home: str, only: str) -> int:
    """Run asv's benchmarks on the sources of a commit; return asv's exit code."""
    with source_of(commit) as source:
        environment = {**os.environ, **SETTINGS, "PYTHONHASHSEED": "0"}
        # asv removes PYTHONPATH unless ASV_PYTHONPATH has the same value.
        environment |= dict.fromkeys(("PYTHONPATH", "ASV_PYTHONPATH"), str(source))
        # asv stores its description of the machine there.
        environment |= dict.fromkeys(("HOME", "USERPROFILE"), home)
        asv(environment, "machine", "--yes")
        how = ["run", "-E", "existing:same", "--set-commit-hash", commit, "--show-stderr"]
        how += ["--launch-method=forkserver"] * (os.name == "posix")
        return asv(environment, *how, "--bench", only or ".")


def confirm(home: str, base: str | None) -> None:
    """Repeat the benchmarks whose ratio has grown, up to AGAIN times, until no ratio has grown."""
    for _ in range(AGAIN):
        results = read_results(RESULTS, repo=ROOT)
        at = base_of(results, base)
        changes = [change_of(one, at) for one in results.series if not one.exact]
        names = sorted({one.series.benchmark for one in changes if one.kind == WORSE})
        if not names or len(results.commits) == 1:
            return
        # The name alone, or the name followed by its parameters.
        only = "|".join(rf"^{re.escape(name)}(\(|$)" for name in names)
        for commit in (results.commits[at].hash, results.commits[-1].hash):
            before = {path: json.loads(path.read_text()) for path in files_of(commit)}
            measure(commit, home, only)
            for path, old in before.items():
                new = json.loads(path.read_text())
                for name in names:
                    keep_least(old["results"].get(name), new["results"].get(name))
                path.write_text(json.dumps(new))


def keep_least(old: list[Any] | None, new: list[Any] | None) -> None:
    """Write the lesser of old and new values into the new row, if both rows have the same cases."""
    if old and new and old[0] and new[0] and old[1:3] == new[1:3]:
        pairs = zip(old[0], new[0], strict=True)
        new[0] = [min((v for v in pair if v is not None), default=None) for pair in pairs]


def values_in(commit: str) -> int:
    """Count the benchmarks of a commit that have a result."""
    files = [json.loads(path.read_text()) for path in files_of(commit)]
    return sum(bool(row and row[0]) for file in files for row in file["results"].values())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    parser.add_argument("--last", type=int, default=5, help="so many tagged commits")
    parser.add_argument("--base", help="compare with it, not with the last tag")
    parser.add_argument("--only", default="", metavar="REGEX", help="only these benchmarks")
    parser.add_argument("--again", action="store_true", help="also what was measured before")
    options = parser.parse_args()
    commits = chosen(options.commits, options.last)
    with tempfile.TemporaryDirectory(prefix="asv_home_") as home:
        for commit in commits:
            if options.again or not saved(commit):
                # Benchmarks of newer functions fail on old commits.
                measure(commit, home, options.only)
                if not values_in(commit):
                    print(f"dashboard: nothing could be measured of {commit[:8]}", file=sys.stderr)
                    return 1
        confirm(home, options.base)
    page = [sys.executable, "-m", "arraytape.testing.dashboard", str(RESULTS), "--out", str(SITE)]
    page += ["--title", "arraytape", "--repo", str(ROOT)]
    page += ["--base", options.base] if options.base else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(page, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
