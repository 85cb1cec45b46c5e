"""asv's results, read as series: the values of one benchmark over the commits.

A series belongs to one benchmark at one choice of its parameters, and has a value for each commit.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ASV_FORMAT = 2  # the version of asv's format for files of results
Values = Mapping[tuple[str, ...], float]


class ResultsError(Exception):
    """The error for a folder without usable results, or for a commit that was not measured."""


class Commit(NamedTuple):
    """A measured commit; its name is a tag, or the start of its hash."""

    hash: str
    date: int  # milliseconds since 1970
    name: str

    @property
    def tagged(self) -> bool:
        return not self.hash.startswith(self.name)


class Series(NamedTuple):
    """One benchmark at one choice of its parameters; commits without a measurement have None.

    parameters : the choice, as text.
    exact, headline, rank : see ``testing.benchmarks.measures``.
    """

    benchmark: str
    title: str
    parameters: str
    unit: str
    exact: bool
    headline: str
    rank: int
    values: tuple[float | None, ...]


class Results(NamedTuple):
    """The results of one machine: commits, parents first, and a series for each choice of parameters."""

    machine: Mapping[str, Any]
    others: Sequence[str]  # machines and environments whose results are left out
    commits: Sequence[Commit]
    series: Sequence[Series]


def read_results(folder: Path, *, machine: str | None = None, repo: Path | None = None) -> Results:
    """Read a folder of asv's results.

    Parameters
    ----------
    folder : pathlib.Path
        The ``results_dir`` of asv's configuration.
    machine : str or None, default: None
        The machine whose results are read.  None selects the machine with the most commits.
    repo : pathlib.Path or None, default: None
        The git repository that was measured, which has the order of the commits and their tags.  None
        selects the repository in which ``folder`` lies, if it lies in one.

    Returns
    -------
    Results
        The commits, parents before children and otherwise by date, and a series for each benchmark at
        each choice of its parameters.  Commits that the repository does not have are ordered by date.

    Raises
    ------
    ResultsError
        When nothing was measured.
    """
    benchmarks = load_json(folder / "benchmarks.json")
    files = [
        load_json(path) for path in sorted(folder.glob("*/*.json")) if path.name != "machine.json"
    ]
    files = [file for file in files if file.get("version") == ASV_FORMAT and file.get("results")]
    if machine is not None:
        files = [file for file in files if file["params"]["machine"] == machine]
    if not files:
        of = "" if machine is None else f" of the machine {machine!r}"
        raise ResultsError(f"no results{of} in {folder}: has `asv run` saved any?")
    places = Counter(machine_and_environment(file) for file in files)
    (chosen, _), *rest = places.most_common()
    files = in_order_of_history(
        [file for file in files if machine_and_environment(file) == chosen], repo or folder
    )
    tags = tags_of(repo or folder)
    commits = [
        Commit(
            file["commit_hash"],
            file["date"],
            tags.get(file["commit_hash"], file["commit_hash"][:8]),
        )
        for file in files
    ]
    series = [
        one for name in sorted(benchmarks) for one in series_of(name, benchmarks[name], files)
    ]
    if not series:
        raise ResultsError(f"the results in {folder} have no value of any benchmark")
    about = {**files[-1]["params"], "environment": files[-1]["env_name"]}
    return Results(about, [" ".join(place) for place, _ in rest], commits, series)


def load_json(path: Path) -> dict[str, Any]:
    """Load one of asv's JSON files, without the format's version if the file is benchmarks.json."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ResultsError(f"{path} is no JSON: {error}") from None
    if path.name == "benchmarks.json":
        found.pop("version", None)
    return found


def machine_and_environment(file: Mapping[str, Any]) -> tuple[str, str]:
    return file["params"]["machine"], file["env_name"]


def in_order_of_history(files: Sequence[dict[str, Any]], repo: Path) -> list[dict[str, Any]]:
    """Return result files with parents before children, and otherwise by date.

    Dates alone do not suffice: commits of one second have equal dates, and a rebased or imported commit
    may be older than its parent.
    """
    by_date = sorted(files, key=lambda file: (file["date"], file["commit_hash"]))
    hashes = [file["commit_hash"] for file in by_date]
    history = lines_of_git(
        repo, "rev-list", "--reverse", "--date-order", "--ignore-missing", "--stdin", given=hashes
    )
    place = {commit: i for i, commit in enumerate(history)}
    known = iter(
        sorted(
            (file for file in by_date if file["commit_hash"] in place),
            key=lambda file: place[file["commit_hash"]],
        )
    )
    return [next(known) if file["commit_hash"] in place else file for file in by_date]


def lines_of_git(repo: Path, *arguments: str, given: Sequence[str] = ()) -> list[str]:
    """Return the lines that git prints; [] if git fails, as outside of a repository.

    given : lines for git's standard input.
    """
    command = ["git", "-C", str(repo), *arguments]
    text = "".join(f"{line}\n" for line in given)
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return done.stdout.splitlines()


def tags_of(repo: Path) -> dict[str, str]:
    """Return a dict from the hash of each tagged commit to its newest tag; empty if git fails."""
    form = "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end) %(refname:short)"
    lines = lines_of_git(repo, "for-each-ref", "--sort=creatordate", form, "refs/tags")
    return dict(line.split(" ", 1) for line in lines)


def series_of(
    name: str, benchmark: Mapping[str, Any], files: Sequence[Mapping[str, Any]]
) -> Iterator[Series]:
    """Yield a series for each choice of a benchmark's parameters that was measured at any commit."""
    columns = [values_at_commit(file, name, benchmark["version"]) for file in files]
    for choice in itertools.product(*benchmark["params"]):
        values = tuple(column.get(choice) for column in columns)
        if any(value is not None for value in values):
            yield Series(
                name,
                benchmark.get("pretty_name") or name,
                ", ".join(text.strip("'") for text in choice),
                benchmark["unit"],
                bool(benchmark.get("exact")),
                benchmark.get("headline", ""),
                benchmark.get("rank", 100),
                values,
            )


def values_at_commit(file: Mapping[str, Any], name: str, version: str) -> Values:
    """Return a benchmark's values at one commit, for each choice of its parameters.

    The result is empty if another version of the benchmark was measured.
    """
    row = dict(zip(file["result_columns"], file["results"].get(name) or [], strict=False))
    if row.get("version") != version or not row.get("result"):
        return {}
    pairs = zip(itertools.product(*row["params"]), row["result"], strict=False)
    return {choice: value for choice, value in pairs if value is not None and math.isfinite(value)}
