"""The ops of the namespace itself, whatever else was loaded: tests/special has those of ``special``."""

from arraytape import testing
from arraytape._record.op import REGISTRY, Op


def namespace_ops() -> list[Op]:
    """Return the ops that ``import arraytape`` declares."""
    return [op for op in REGISTRY.values() if not op.name.startswith("special.")]


def recorded_ops() -> list[Op]:
    """Those among them that are recorded."""
    return [op for op in testing.recorded_ops() if not op.name.startswith("special.")]
