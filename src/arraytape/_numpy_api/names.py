"""Provide NumPy's names that the standard lacks in the namespace, such as ``xp.concatenate``.

``find_numpys`` makes the object for a name at the name's first use.  Most objects are functions.  They
call NumPy's function of the same name, which calls the recorded counterpart by NumPy's dispatch
protocols: see ``protocols.py``.  Unlike NumPy's functions, they accept nested lists of Arrays as arrays,
and return Arrays also if no argument is an Array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._array.array import Array
from .._util.errors import user_line
from ..ops.manipulation_functions import broadcast_arrays, reshape, stack
from . import protocols
from .implementations import (
    REPLACED,
    DispatchingFunction,
    asarray_in_program,
    broadcast,
    program_of,
)
from .numpy_arguments import arrays_like_first

# NumPy's objects for dtypes, texts and warnings, which the namespace provides unchanged.
UNCHANGED = (
    "base_repr", "binary_repr", "dtype", "errstate", "euler_gamma", "format_float_positional",
    "format_float_scientific", "get_printoptions", "geterr", "index_exp", "isscalar", "issubdtype",
    "iterable", "mintypecode", "ndindex", "poly1d", "printoptions", "promote_types", "s_",
    "set_printoptions", "seterr",
)  # fmt: skip
# NumPy's functions that make arrays from numbers or files.  They have no array argument, so a call does
# not dispatch to Arrays.
MAKERS = (
    "bartlett", "blackman", "diag_indices", "frombuffer", "fromfile", "fromiter", "fromstring",
    "genfromtxt", "hamming", "hanning", "identity", "indices", "load", "loadtxt", "mask_indices", "tri",
    "tril_indices", "triu_indices",
)  # fmt: skip
# NumPy's functions that convert an argument to a NumPy array.  Their Python code runs with other
# globals, which make Arrays in place of NumPy arrays: see ``program_of``.
CONVERTERS = (
    "array", "asanyarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "fromfunction",
    "kaiser",
)  # fmt: skip
# NumPy's objects that make an array from the slices and arrays in brackets.
GRIDS = ("c_", "mgrid", "ogrid", "r_")
# From NumPy's names to the standard's names of functions that do the same, for docstrings.
STANDARD = {
    "amax": "max", "amin": "min", "around": "round", "cross": "linalg.cross",
    "cumprod": "cumulative_prod", "cumsum": "cumulative_sum", "diagonal": "linalg.diagonal",
    "outer": "linalg.outer", "trace": "linalg.trace",
}  # fmt: skip
# NumPy's number types that are not provided, because no Array can have such a dtype.
OTHER_DTYPES = np.longdouble | np.clongdouble | np.timedelta64


# --- which names --------------------------------------------------------------------------------------
def numpys_names(chapter: str = "") -> list[str]:
    """Return the names of NumPy that the namespace provides beyond its own ``__all__``.

    chapter : "linalg" or "fft" for the names of that extension, "" for those of the namespace itself.
    """
    found = {*dir(protocols.HOMES[chapter]), *({} if chapter else OWN)} - protocols.own_names(
        chapter
    )
    return sorted(name for name in found if provides_name(name, chapter))


def provides_name(name: str, chapter: str = "") -> bool:
    """Return True if arraytape's namespace provides NumPy's ``name``.

    chapter : "linalg" or "fft" for a name of that submodule, "" for a name of ``numpy`` itself.
    """
    if not chapter and name in OWN:
        return True
    found = vars(protocols.HOMES[chapter]).get(name)
    if isinstance(found, type) and issubclass(found, np.generic):
        is_number = found is np.generic or issubclass(found, np.number | np.bool)
        return is_number and not issubclass(found, OTHER_DTYPES)
    if found is None or name.startswith("_"):
        return False
    if chapter:
        return has_counterpart(found)
    return name in (*UNCHANGED, *MAKERS, *CONVERTERS, *GRIDS) or has_counterpart(found)


def has_counterpart(function: Any) -> bool:
    """Return True if arraytape has a recorded function that computes a ufunc or function of NumPy."""
    if isinstance(function, np.ufunc):
        return function in protocols.UFUNCS
    if not hasattr(function, "_implementation"):
        return False
    if function in protocols.RESULTS_WITHOUT_ARRAYS or function in protocols.COUNTERPARTS:
        return True
    try:
        protocols.op_of_numpy_function(function)
    except TypeError:
        return False
    return True


# --- the objects --------------------------------------------------------------------------------------
def find_numpys(name: str, chapter: str = "") -> Any:
    """Return the object that the namespace has for a name of NumPy, such as ``xp.concatenate``.

    chapter : "linalg" or "fft" for a name of that submodule, "" for a name of ``numpy`` itself.  Raise
    KeyError if arraytape does not provide the name.
    """
    if not provides_name(name, chapter):
        raise KeyError(name)
    if not chapter and name in OWN:
        return OWN[name]
    found = vars(protocols.HOMES[chapter])[name]
    if isinstance(found, type) or name in UNCHANGED:
        return found
    if name in GRIDS:
        return Grid(found)
    call: Callable[..., Any] = found
    if name in CONVERTERS:
        call = REPLACED.get(found) or program_of(found)
    elif name not in MAKERS:
        call = DispatchingFunction(found)
    return named_in_namespace(name, chapter, found, call)


def as_arrays(value: Any) -> Any:
    """Convert the NumPy arrays and scalars in nested lists and tuples to Arrays."""
    if isinstance(value, np.ndarray | np.generic):
        return asarray_in_program(value)
    if isinstance(value, list | tuple):
        parts = [as_arrays(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def call_numpys_function(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call ``function(*args, **options)``, a function of NumPy, and return its results as Arrays.

    The arguments may be Arrays and nested lists of Arrays.
    """
    return as_arrays(DispatchingFunction(function)(*args, **options))


def named_in_namespace(
    name: str, chapter: str, function: Callable[..., Any], call: Callable[..., Any]
) -> Callable[..., Any]:
    """Wrap ``call`` as the namespace's function for a name of NumPy, such as ``xp.concatenate``.

    The function has NumPy's name and docstring, and converts the results of ``call`` to Arrays.

    name, chapter : the name, and the submodule or "".  function : NumPy's function with the docstring.
    """

    @functools.wraps(function)
    def call_as_numpy(*args: Any, **options: Any) -> Any:
        return as_arrays(call(*args, **options))

    home = f"{chapter}." if chapter else ""
    theirs, own = vars(protocols.HOMES[chapter]), sorted(protocols.own_names(chapter))
    standard = next((one for one in own if theirs.get(one) is function), STANDARD.get(name))
    there = f"standard's name is ``{standard}``" if standard else "standard has no such function"
    call_as_numpy.__module__ = protocols.chapter_of_namespace(chapter).__name__
    call_as_numpy.__name__ = call_as_numpy.__qualname__ = name
    call_as_numpy.__doc__ = (
        f"Call ``numpy.{home}{name}`` on Arrays.  The {there}.\n\n{function.__doc__ or ''}"
    )
    return call_as_numpy


class Grid:
    """The namespace's counterpart of ``numpy.r_``, ``c_``, ``mgrid`` or ``ogrid``, which makes Arrays.

    numpys : NumPy's object.
    """

    def __init__(self, numpys: Any) -> None:
        self.numpys, self.run = numpys, program_of(type(numpys).__getitem__)

    def __getitem__(self, key: Any) -> Any:
        return as_arrays(self.run(self.numpys, key))


def vectorize(pyfunc: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``pyfunc`` for each element of its arguments, as ``numpy.vectorize``.

    Parameters
    ----------
    pyfunc : callable
        A function of Arrays of shape (), which returns an Array or a number, or a tuple of these.

    Returns
    -------
    callable
        A function of Arrays, which broadcasts them.  It raises ValueError if they have no elements.
        ``vmap`` is faster, for functions without branches on values.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.vectorize(lambda x, y: x if x > y else y * y)(xp.asarray([1.0, 3.0]), 2.0)
    Array([4., 3.])
    """

    @functools.wraps(pyfunc)
    def call_for_elements(*args: Any, **options: Any) -> Any:
        arrays = broadcast_arrays(*arrays_like_first(*args))
        shape = arrays[0].shape
        found = [pyfunc(*[x[i] for x in arrays], **options) for i in np.ndindex(shape)]
        if not found:
            raise ValueError(
                f"vectorize: pass arguments with elements; these have the shape {shape} "
                f"[at {user_line()}]"
            )
        if isinstance(found[0], tuple):
            return tuple([joined_elements(column, shape) for column in zip(*found, strict=True)])
        return joined_elements(found, shape)

    return call_for_elements


def joined_elements(found: Any, shape: tuple[int, ...]) -> Array:
    """Return an Array of the given shape whose elements are ``found``, a list of Arrays and numbers."""
    return reshape(stack(arrays_like_first(*found)), shape)


# Objects of arraytape that stand in the namespace in place of NumPy's objects of the same names.
OWN: dict[str, Any] = {
    "broadcast": broadcast,
    "lib": SimpleNamespace(
        stride_tricks=SimpleNamespace(
            sliding_window_view=named_in_namespace(
                "lib.stride_tricks.sliding_window_view", "",
                np.lib.stride_tricks.sliding_window_view,
                DispatchingFunction(np.lib.stride_tricks.sliding_window_view),
            )
        )
    ),
    "ndarray": Array,
    "vectorize": vectorize,
}  # fmt: skip
