"""Long runs of the attacks, one seed after the other, which go on where the last run stopped."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from pathlib import Path

from .attack import ATTACKS, attack


class Progress:
    """Per attack: the next seed, seeds and cases so far, seconds, and findings; kept in a file."""

    def __init__(self, path):
        self.path = Path(path)
        self.of = json.loads(self.path.read_text()) if self.path.exists() else {}

    def entry(self, name, first):
        """The mutable figures of an attack."""
        new = {"next": first, "seeds": 0, "cases": 0, "seconds": 0.0, "findings": []}
        return self.of.setdefault(name, new)

    def save(self):
        """Write the file whole or not at all."""
        beside = self.path.with_suffix(".partial")
        beside.write_text(json.dumps(self.of, indent=1))
        os.replace(beside, self.path)


def soak(name, entry, seconds, save, say=print):
    """Run an attack for a time, at least one seed; the number of findings."""
    what = attack(name)
    begin = last = time.monotonic()
    before, found = entry["seconds"], 0
    while True:
        seed = entry["next"]
        try:
            entry["cases"] += what.run(seed)
        except AssertionError as error:
            found += 1
            entry["findings"].append(seed)
            say(f"{name}, seed {seed}: {error}\n", flush=True)
        if what.counts is not None:
            entry["counts"] = dict(Counter(entry.get("counts", {})) + what.counts)
            what.counts.clear()
        now = time.monotonic()
        entry.update(next=seed + 1, seeds=entry["seeds"] + 1, seconds=before + now - begin)
        if now - last > 5:
            last = now
            save()
        if now - begin > seconds:
            return found


def main(arguments=None):
    """The command line; the exit status says whether there were findings."""
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("attacks", nargs="*", help=f"of {', '.join(ATTACKS)}; all by default")
    parser.add_argument("--minutes", type=float, default=60.0, help="in all, shared by the attacks")
    parser.add_argument("--state", default="build/soak.json", help="where a later run goes on from")
    parser.add_argument(
        "--first", type=int, default=1_000_000, help="the first seed of a new state"
    )
    options = parser.parse_args(arguments)
    names = options.attacks or [*ATTACKS]
    unknown = sorted(set(names) - set(ATTACKS))
    if unknown:
        parser.error(f"no such attack: {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    Path(options.state).parent.mkdir(parents=True, exist_ok=True)
    progress, found = Progress(options.state), 0
    for name in names:
        entry = progress.entry(name, options.first)
        try:
            found += soak(name, entry, 60 * options.minutes / len(names), progress.save)
        finally:
            progress.save()
        print(f"{name}: {summary(name, entry)}", flush=True)
    return min(found, 1)


def summary(name, entry):
    """The figures of an attack so far: a line, and one for each count."""
    findings = entry["findings"]
    seeds = f" (seeds {', '.join(map(str, findings[:10]))})" if findings else ""
    counts = Counter(entry.get("counts", {})).most_common()
    return (
        f"{entry['cases']:,} {attack(name).cases} from {entry['seeds']:,} seeds in "
        f"{entry['seconds'] / 60:.1f} minutes, {len(findings)} findings{seeds}"
        + "".join([f"\n    {count:9,} {how}" for how, count in counts])
    )
