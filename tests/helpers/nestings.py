"""Dataclasses and registered classes that hold Arrays, and hypothesis strategies for nestings."""

from collections import namedtuple
from dataclasses import InitVar, dataclass, field, fields, make_dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np
from hypothesis import strategies as st

import arraytape as xp

T = TypeVar("T")


# --- dataclasses ------------------------------------------------------------------------------------
@dataclass
class Line:
    slope: xp.Array
    offset: xp.Array


@dataclass(frozen=True)
class Frozen:
    slope: xp.Array
    offset: xp.Array


@dataclass(slots=True)
class Slotted:
    slope: xp.Array
    offset: xp.Array


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class FrozenSlotted:
    slope: xp.Array
    offset: xp.Array
    degree: int = field(default=1, metadata={"static": True})


@dataclass
class Unhashable(Generic[T]):
    slope: T
    names: ClassVar[list[str]] = ["slope", "offset"]
    scale: InitVar[float] = 1.0
    offset: T = field(init=False, repr=False, compare=False)

    __hash__ = None

    def __post_init__(self, scale):
        self.offset = self.slope * 0.0 + 1.0 * scale


@dataclass
class Checked:
    slope: xp.Array
    offset: xp.Array

    def __post_init__(self):
        if not (isinstance(self.slope, xp.Array) and self.slope.shape == (2,)):
            raise ValueError("the slope must have two elements")


@dataclass(frozen=True)
class Derived(Frozen):
    tags: dict = field(default_factory=dict, metadata={"static": True})


@dataclass
class Closed:
    slope: xp.Array
    offset: xp.Array

    def __setattr__(self, name, value):
        if name in self.__dict__:
            raise AttributeError(f"{name} is set")
        super().__setattr__(name, value)


def two(value=1.0):
    return xp.asarray([value, value + 1.0])


MAKERS = {
    "plain": lambda: Line(two(), two(3.0)),
    "frozen": lambda: Frozen(two(), two(3.0)),
    "slots": lambda: Slotted(two(), two(3.0)),
    "frozen, slots, keywords": lambda: FrozenSlotted(slope=two(), offset=two(3.0), degree=2),
    "init=False, InitVar, generic": lambda: Unhashable[xp.Array](two(), 2.0),
    "checked": lambda: Checked(two(), two(3.0)),
    "derived": lambda: Derived(two(), two(3.0), {"a": 1}),
    "its own __setattr__": lambda: Closed(two(), two(3.0)),
}


def values(x):
    return np.asarray(x).tolist()


def of_line(line):
    return xp.sum(line.slope * line.slope * line.offset)


def check_of_line(g, line, near):
    """Check the gradient of ``of_line``, which has the nesting of its source."""
    assert type(g) is type(line)
    assert g is not line
    near(g.slope, 2.0 * np.asarray(line.slope) * np.asarray(line.offset))
    near(g.offset, np.asarray(line.slope) ** 2)


# --- registered classes -----------------------------------------------------------------------------
class Point:
    """A registered class with parts by name, whose constructor converts its arguments to Arrays."""

    def __init__(self, x, y, label=None):
        self.x, self.y, self.label = xp.asarray(x), xp.asarray(y), label


def remade_point(label, parts):
    point = object.__new__(Point)
    point.__dict__.update(parts, label=label)
    return point


xp.register_nesting(Point, lambda p: ({"x": p.x, "y": p.y}, p.label), remade_point)


@xp.register_nesting
class Bag:
    """A registered class with parts in order, with JAX's tree_flatten and tree_unflatten."""

    def __init__(self, *parts):
        self.parts = parts

    def tree_flatten(self):
        return self.parts, None

    @classmethod
    def tree_unflatten(cls, rest, parts):
        return cls(*parts)


class Sparse:
    """A registered class that has a dtype, but is no array."""

    def __init__(self, values, places, size):
        self.values, self.places, self.size = values, places, size

    @property
    def dtype(self):
        return self.values.dtype

    def dense(self):
        return xp.scatter_add(self.values, (self.size,), self.places)


xp.register_nesting(
    Sparse, lambda s: ([s.values], (s.places, s.size)), lambda rest, parts: Sparse(*parts, *rest)
)


# --- any nesting ------------------------------------------------------------------------------------
NAMED = {n: namedtuple(f"Named{n}", [f"f{i}" for i in range(n)], module=__name__) for n in range(4)}
MADE = {
    (n, frozen, slots): make_dataclass(
        f"Made{n}{frozen:d}{slots:d}",
        [*((f"f{i}", object) for i in range(n)),
         ("kept", object, field(default="kept", metadata={"static": True}))],
        frozen=frozen, slots=slots,
    )
    for n in range(4) for frozen in (False, True) for slots in (False, True)
}  # fmt: skip
for made in (*NAMED.values(), *MADE.values()):
    made.__module__, globals()[made.__name__] = __name__, made  # for pickle


def filled(kind, parts):
    """Return a container of the kind with this name that holds ``parts``."""
    names = [f"f{i}" for i in range(len(parts))]
    if kind == "named tuple":
        return NAMED[len(parts)](*parts)
    if kind == "dict":
        return dict(zip(reversed(names), parts, strict=True))
    if kind == "point":
        return remade_point("label", {"x": parts[:1], "y": parts[1:]})
    if isinstance(kind, tuple):
        return MADE[(len(parts), *kind)](*parts)
    return Bag(*parts) if kind == "bag" else kind(parts)


KINDS_DRAWN = [
    list, tuple, "dict", "named tuple", "point", "bag",
    *[(frozen, slots) for frozen in (False, True) for slots in (False, True)],
]  # fmt: skip
NESTINGS = st.recursive(
    st.integers(0, 3),
    lambda inner: st.builds(filled, st.sampled_from(KINDS_DRAWN), st.lists(inner, max_size=3)),
    max_leaves=12,
)


def tree_of(structure):
    """Return a nesting as nested tuples (class, parts...), which can be compared."""
    if isinstance(structure, Point):
        return (Point, tree_of(structure.x), tree_of(structure.y), structure.label)
    if isinstance(structure, Bag):
        return (Bag, *map(tree_of, structure.parts))
    if isinstance(structure, dict):
        return (dict, *((key, tree_of(part)) for key, part in structure.items()))
    if isinstance(structure, list | tuple):
        return (type(structure), *map(tree_of, structure))
    if hasattr(structure, "kept"):
        return (type(structure), *(tree_of(getattr(structure, f.name)) for f in fields(structure)))
    return structure if isinstance(structure, str) else "leaf"
