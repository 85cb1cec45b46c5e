"""Module: an object that finds the Variables which its attributes hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ._util import nest
from ._util.containers import keep_whole
from .variable import Variable


class Module:
    """A named container of Variables and of other Modules.

    Subclass it, and keep Variables, Modules, and nestings of these as attributes: lists, tuples, dicts,
    dataclasses and what ``register_nesting`` declares.  They are found in the order in which the
    attributes were set: a Module's own Variables come before those of its submodules, and what is
    shared counts once.

    Parameters
    ----------
    name : str, optional
        How messages call it; by default its class's name in snake case.

    Examples
    --------
    >>> from arraytape import Variable
    >>> class Line(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope, self.offset = Variable(2.0, name="slope"), Variable(0.0, name="offset")
    ...
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> [variable.name for variable in Line().variables]
    ['slope', 'offset']
    """

    _module_name: str | None = None  # so that a subclass may forget super().__init__()

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"Module: the name must be a str, got {type(name).__name__}")
        self._module_name = name

    @property
    def name(self) -> str:
        """The name that was given, or the class's name in snake case."""
        return self._module_name or snake_case(type(self).__name__)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All Variables: its own first, then those of its submodules."""
        return tuple(self.named_variables().values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The Variables that tapes watch unasked."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The other Variables: statistics, counters, an optimizer's state."""
        return tuple(variable for variable in self.variables if not variable.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All Modules inside it, at any depth, without itself."""
        return tuple(module for _, module in walk(self) if isinstance(module, Module))

    def named_variables(self) -> dict[str, Variable]:
        """The Variables by the path of attributes, indices and keys that leads to each first.

        Returns
        -------
        dict of str to Variable
            In the order of ``variables``, under names such as ``"layers.0.kernel"``.

        Raises
        ------
        ValueError
            When two paths read the same, as those of the keys ``1`` and ``"1"`` of one dict do.
        """
        return named(walk(self), self.name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {len(self.variables)} Variables>"


keep_whole(Module)  # a dataclass may be a Module, too

Found = tuple[str, "Variable | Module"]
Seen = dict[int, Any]  # by id, and kept alive: the id of what is gone may come again


def walk(root: Any, seen: Seen | None = None) -> Iterator[Found]:
    """Each Variable and Module in a Module or a nesting with its path, once.

    A level's own come before what lies deeper.
    """
    seen = {} if seen is None else seen
    parts = root
    if isinstance(root, Module):
        seen[id(root)], parts = root, vars(root)
    modules = []
    for path, leaf in leaves_of(parts, "", seen):
        yield path, leaf
        if isinstance(leaf, Module):
            modules.append((path, leaf))
    for path, module in modules:
        for deeper, leaf in walk(module, seen):
            yield f"{path}.{deeper}", leaf


def leaves_of(value: Any, path: str, seen: Seen) -> Iterator[Found]:
    """The Variables and Modules of a nesting."""
    if id(value) in seen:  # a list may hold itself
        return
    if isinstance(value, Variable | Module):
        seen[id(value)] = value
        yield path, value
        return
    parts = nest.parts_of(value)
    if parts is None:
        return
    seen[id(value)] = value
    for key, part in list(nest.items_of(parts)):
        yield from leaves_of(part, f"{path}.{key}" if path else str(key), seen)


def named(found: Iterator[Found], owner: str) -> dict[str, Variable]:
    """The Variables among what was found, by path; ValueError where a path is there twice."""
    variables: dict[str, Variable] = {}
    for path, leaf in found:
        if not isinstance(leaf, Variable):
            continue
        if path in variables:
            raise ValueError(
                f"{owner}: two Variables have the path {path!r} ({variables[path].name!r} and "
                f"{leaf.name!r}): rename a key or an attribute"
            )
        if leaf._name is None:
            leaf._name = path
        variables[path] = leaf
    return variables


def snake_case(name: str) -> str:
    """``DenseLayer`` as ``dense_layer``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
