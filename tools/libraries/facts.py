"""Classes with which the modules in ``calls`` list functions of other libraries and their arguments."""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Raw = np.ndarray[Any, Any]
NAMESPACE, NUMPY, LIST = "`__array_namespace__`", "NumPy's protocols", "a list of backends"
BACKENDS = ("arraytape", "torch", "jax")


@dataclass(frozen=True)
class Symmetric:
    """An argument that is replaced by its symmetric part, so that differences keep it symmetric."""

    data: Raw


@dataclass(frozen=True)
class Fixed:
    """A floating-point argument that the call is not differentiated with respect to."""

    data: Raw


@dataclass(frozen=True)
class Call:
    """A call of a library's function.

    Parameters
    ----------
    function : str or Callable
        A path within the library, or a function of arrays that calls the library.
    args : tuple
        The positional arguments in any nesting of lists and tuples.  The call is differentiated with
        respect to floating-point arrays; ``Fixed`` and other arrays are constants of the library
        under test.
    keywords : dict
        The keyword arguments, which are constants.
    name : str
        The call's name in the page.
    """

    function: str | Callable[..., Any]
    args: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def inputs(self) -> list[Raw]:
        """Return copies of the arrays that the call is differentiated with respect to, in order."""
        return [(x.data if isinstance(x, Symmetric) else x).copy() for x in self.leaves(self.args)]

    def leaves(self, part: Any) -> Iterator[Raw | Symmetric]:
        if isinstance(part, list | tuple):
            for item in part:
                yield from self.leaves(item)
        elif is_input(part):
            yield part

    def run(self, module: str, asarray: Callable[[Raw], Any], arrays: list[Any]) -> Any:
        """Call the function with ``arrays`` in place of the inputs."""
        function = self.function
        if isinstance(function, str):
            function = function_at(module, function)
        left = iter(arrays)
        args = [placed(part, asarray, left) for part in self.args]
        keywords = {
            key: placed(constant_of(value), asarray, left) for key, value in self.keywords.items()
        }
        return function(*args, **keywords)


def is_input(part: Any) -> bool:
    return isinstance(part, Symmetric) or (isinstance(part, np.ndarray) and part.dtype.kind in "fc")


def constant_of(value: Any) -> Any:
    return Fixed(value) if isinstance(value, np.ndarray) else value


def placed(part: Any, asarray: Callable[[Raw], Any], left: Iterator[Any]) -> Any:
    """Return the argument ``part`` of a call, with arrays of the library under test in it.

    Each differentiated input is replaced by the next array of ``left``, each NumPy constant x by
    ``asarray(x)``, also within lists and tuples.
    """
    if isinstance(part, list | tuple):
        return type(part)(placed(item, asarray, left) for item in part)
    if isinstance(part, Symmetric):
        x = next(left)
        return (x + x.mT) / 2.0
    if is_input(part):
        return next(left)
    if isinstance(part, Fixed):
        return asarray(part.data)
    return asarray(part) if isinstance(part, np.ndarray) else part


@functools.cache
def function_at(module: str, path: str) -> Callable[..., Any]:
    """Return the function ``module.path``; import the parts of ``path`` that are modules."""
    *parts, name = path.split(".")
    for i in range(len(parts), -1, -1):
        try:
            found: Any = importlib.import_module(".".join([module, *parts[:i]]))
        except ModuleNotFoundError:
            continue
        return operator.attrgetter(".".join([*parts[i:], name]))(found)
    raise ImportError(f"no module of {path!r} in {module}")


def call(function: str | Callable[..., Any], *args: Any, name: str = "", **keywords: Any) -> Call:
    """Return the ``Call`` of ``function(*args, **keywords)``.

    The default of ``name`` is the function's name with the keywords that are strings.
    """
    if not name:
        name = function.rpartition(".")[2] if isinstance(function, str) else function.__name__
        name += "".join(f", {k}={v!r}" for k, v in keywords.items() if isinstance(v, str))
    return Call(function, args, keywords, name)


@dataclass(frozen=True)
class Library:
    """A library and the calls that are tried.

    Parameters
    ----------
    name : str
        The name of the package, as pip knows it.
    module : str
        The name of its module.
    dispatches : str
        How it finds the functions for its arguments: NAMESPACE, NUMPY or LIST.
    calls : list of Call
        The calls.
    prepare : Callable
        A function of a backend's name that chooses the backend in the library.
    reasons : dict of str
        The reasons for which calls are not right on Arrays, by the call's name.
    backends : tuple of str
        The backends that the library accepts in some way.
    recipe : str
        The heading of its section in docs/howto/recipes.md; "" if it needs none.
    """

    name: str
    module: str
    dispatches: str
    calls: list[Call]
    prepare: Callable[[str], None] = lambda backend: None
    reasons: dict[str, str] = field(default_factory=dict)
    backends: tuple[str, ...] = BACKENDS
    recipe: str = ""
