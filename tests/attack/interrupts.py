"""Interrupts at every bytecode: what was begun is old or new afterwards, never half.

A trial runs one entry and raises at the k-th bytecode that arraytape's code runs.  The ``entries``
are caught around everything that they open: no recorder and no context may be left, state has its old
or its new value, and the same objects work when the entry runs again.  The ``interrupted_writes`` are
caught inside the block of a recorder that goes on.
"""

from __future__ import annotations

import functools
import random
import tempfile
import warnings
from pathlib import Path

from . import interrupted_writes
from .attack import Attack
from .entries import ENTRIES, checkpointed
from .injection import Injection
from .left_behind import left_behind, tidy_up

ERRORS = (KeyboardInterrupt, MemoryError)
SAMPLE = 40  # interrupts of one entry for a seed


def entries():
    """The table, with the entries that need a directory."""
    directory = Path(tempfile.mkdtemp(prefix="interrupts-"))
    return ENTRIES | checkpointed(directory)


def trial(entry, at, error, expected):
    """One interruption: what is wrong after it, or None; and whether the run went to its end."""
    results, snapshots = expected
    state = entry.make()
    finished = False
    with Injection(at, error) as injection:
        try:
            entry.run(state)
            finished = True
        except BaseException:  # what was injected, or what became of it
            pass
    if injection.count <= at:
        return None, True
    wrong = left_behind()
    if injection.swallowed and injection.error is KeyboardInterrupt and finished:
        wrong.append("the interrupt was swallowed")
    before = entry.snapshot(state)
    if before not in snapshots[:2]:
        wrong.append(f"state {before!r} is neither {snapshots[0]!r} nor {snapshots[1]!r}")
    else:
        place = 1 if before == snapshots[1] else 0
        try:
            again = entry.run(state), entry.snapshot(state)
        except Exception as failure:
            again = f"{type(failure).__name__}: {failure}"
        wanted = [(results[i], snapshots[i + 1]) for i in {0, place}]
        if again not in wanted and place == snapshots.index(before):
            wrong.append(f"run again it gives {again!r}, not {wanted!r}")
        wrong += [f"after it ran again: {told}" for told in left_behind()]
    return (f"{injection.where}: {'; '.join(wrong)}" if wrong else None), False


@functools.cache
def expected_of(name):
    """Results and snapshots of two undisturbed runs, and the number of places."""
    entry = TABLE[name]
    warm = entry.make()
    entry.run(warm)
    entry.run(warm)
    state = entry.make()
    results, snapshots = [], [entry.snapshot(state)]
    for _ in range(2):
        results.append(entry.run(state))
        snapshots.append(entry.snapshot(state))
    state = entry.make()
    with Injection() as counted:
        entry.run(state)
    return (results, snapshots), counted.count


TABLE = entries()


def sweep(name, rng=None, most=10**9):
    """Interrupts of one entry: at ``SAMPLE`` places of a generator's choice, or at every one.

    most : of these every n-th, so that there are no more.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, places = expected_of(name)
    chosen = (
        range(0, places, places // most + 1)
        if rng is None
        else rng.sample(range(places), min(SAMPLE, places))
    )
    findings, count = [], 0
    for at in chosen:
        error = ERRORS[at % 2]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrong, _ = trial(TABLE[name], at, error, expected)
        count += 1
        if wrong:
            tidy_up()
            findings.append(f"{name}, {error.__name__} at bytecode {at}, {wrong}")
    return count, findings


def run(seed):
    """Interrupts of one entry and one write of a seed's choice."""
    rng = random.Random(seed)
    count, findings = sweep(rng.choice(sorted(TABLE)), rng)
    more, others = interrupted_writes.sweep(rng.choice(sorted(interrupted_writes.TABLE)), rng)
    assert not findings + others, "\n".join(findings + others)
    return count + more


ATTACK = Attack(run, "interrupts")
