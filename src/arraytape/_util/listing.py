"""Classes whose ``dir`` lists what is public, though the engine calls more of their methods."""

from __future__ import annotations

from collections.abc import Collection, Iterable


class Listing(type):
    """The type of the classes that derive from ``Listed``: ``dir`` of a class asks its type."""

    _unlisted: Collection[str]

    def __dir__(cls) -> list[str]:
        return public(super().__dir__(), cls._unlisted)


class Listed(metaclass=Listing):
    """``dir`` of the class and of its objects leaves out ``_unlisted`` and what begins with ``_``.

    What a recorder is called with by the ops has names without an underscore, since recorders are
    written outside of this package, too; to those who use a tape these names say nothing.
    """

    __slots__ = ()
    _unlisted: Collection[str] = ()

    def __dir__(self) -> list[str]:
        return public(super().__dir__(), self._unlisted)


def public(names: Iterable[str], unlisted: Collection[str]) -> list[str]:
    """The names without those that are not listed and private ones; ``__init__`` and its kin stay."""
    return [
        name
        for name in names
        if name not in unlisted and (not name.startswith("_") or name.endswith("__"))
    ]
