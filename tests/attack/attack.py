"""What an attack is, and the table of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple


class Attack(NamedTuple):
    """One way to attack.

    run : takes a seed, gives how many cases it checked; AssertionError with a script for a finding.
    cases : what is counted, in the plural ("interrupts").  counts : how cases fared, by a word or two;
    ``run`` adds to it.
    """

    run: Callable[[int], int]
    cases: str
    counts: Counter[str] | None = None


ATTACKS = {  # name -> module that defines ATTACK
    "interrupts": "attack.interrupts",
    "bad-inputs": "attack.bad_inputs",
    "checkpoints": "attack.checkpoints",
    "numpy-programs": "attack.numpy_programs",
    "replayed-programs": "attack.replayed_programs",
    "replayed-calls": "attack.replayed_calls",
    "replayed-nested": "attack.replayed_nested",
    "replayed-state": "attack.replayed_state",
    "replayed-dtypes": "attack.replayed_dtypes",
    "taped-programs": "attack.taped_programs",
    "dispatched-calls": "attack.dispatched_calls",
    "policies": "attack.policies",
    "batched-arguments": "attack.batched_arguments",
    "unlike-data": "attack.unlike_data",
    "threads": "attack.threads",
    "forks": "attack.forks",
    "first-uses": "attack.first_uses",
    "timed-interrupts": "attack.timed_interrupts",
    "nested-programs": "attack.nested_programs",
    "killed-workers": "attack.killed_workers",
    "implicit-programs": "attack.implicit_programs",
    "ode-programs": "attack.ode_programs",
    "functional-programs": "attack.functional_programs",
    "matrix-functions": "attack.matrix_functions",
    "optional-arguments": "attack.optional_arguments",
    "library-rules": "attack.library_rules",
    "lost-parts": "attack.lost_parts",
    "extreme-magnitudes": "attack.extreme_magnitudes",
    "none-causes": "attack.none_causes",
}


def attack(name: str) -> Attack:
    """The attack of this name, whose module is imported now."""
    return import_module(ATTACKS[name]).ATTACK
