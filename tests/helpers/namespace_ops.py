"""The ops of ``arraytape`` without those of ``arraytape.special``, which other tests may import."""

from arraytape import testing
from arraytape._record.op import REGISTRY, Op


def namespace_ops() -> list[Op]:
    """Return the ops that ``import arraytape`` declares."""
    return [op for op in REGISTRY.values() if not op.name.startswith("special.")]


def recorded_ops() -> list[Op]:
    """Return those ops of the namespace that tapes record."""
    return [op for op in testing.recorded_ops() if not op.name.startswith("special.")]
