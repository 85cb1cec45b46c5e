"""Raw special functions: SciPy's on host data, CuPy's on CUDA devices, and kernels that neither has.

A raw namespace has them as ``xp.special``.  The room ``special``, which states the ops, enters kernels:
functions of raw data of one dtype and of a namespace ``xp``, whose ``xp.special`` they may use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.array_types import Namespace, RawArray
from .._util.blocks import Quiet
from .._util.errors import user_line
from .storage import storage_of

if TYPE_CHECKING:
    import numpy.typing as npt


KERNELS: dict[str, Callable[..., Any]] = {}  # name -> what computes it, called with xp by name
SUBSTITUTES: dict[str, Callable[..., Any]] = {}  # the same, where the library of the data has none


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a kernel under its name.  It gets its operands as data of one floating-point dtype, and does
    not warn."""
    KERNELS[function.__name__] = of_one_dtype(function)
    return function


def substitute(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a kernel that computes a function of SciPy's for data whose library lacks the function."""
    SUBSTITUTES[function.__name__] = of_one_dtype(function)
    return function


def inexact_type(*operands: Any) -> np.dtype[Any]:
    """Return the floating-point dtype that dtypes and Python scalars have in common."""
    dtype = np.result_type(*operands) if operands else np.dtype(np.float64)
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def of_one_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of data, called with its operands in one floating-point dtype; it does not warn.

    Integers count for the dtype of the computation, which SciPy does in float64 then, but not for that
    of the result: a real result has the dtype of the floating-point operands.
    """

    @functools.wraps(function)
    def call_in_dtype(*operands: Any, xp: Namespace) -> Any:
        arrays = [x for x in operands if hasattr(x, "dtype")]
        scalars = [x for x in operands if not hasattr(x, "dtype")]
        dtype = inexact_type(*[x.dtype for x in arrays], *scalars)
        wanted = inexact_type(*[x.dtype for x in arrays if x.dtype.kind in "fc"], *scalars)
        with Quiet():
            found = function(*[special_operand(x, dtype, arrays, xp) for x in operands], xp=xp)
            other = found.dtype != wanted and found.dtype.kind == wanted.kind
            return xp.astype(found, wanted) if other else found

    return call_in_dtype


def special_operand(x: RawArray, dtype: npt.DTypeLike, arrays: list[Any], xp: Namespace) -> Any:
    """Return an operand as data of this dtype, where the first of ``arrays`` lies."""
    if not hasattr(x, "dtype"):
        return (
            xp.asarray(x, dtype=dtype, device=getattr(arrays[0], "device", None))
            if arrays
            else np.asarray(x, dtype)
        )
    return x if x.dtype == dtype else xp.astype(x, dtype)


class Special:
    """The special functions of one raw namespace."""

    def __init__(self, xp: Namespace) -> None:
        self.xp = xp

    def __getattr__(self, name: str) -> Any:
        found = KERNELS.get(name)
        found = self.native(name) if found is None else functools.partial(found, xp=self.xp)
        setattr(self, name, found)  # the next look is direct
        return found

    def native(self, name: str) -> Any:
        """The function of this name of the library that has the special functions of such data."""
        raise NotImplementedError


class HostSpecial(Special):
    """SciPy's, on NumPy's arrays."""

    def native(self, name: str) -> Any:
        return of_scipy(name)


def of_scipy(name: str) -> Any:
    """SciPy's function of this name: the ufunc, also where SciPy dispatches by namespace.

    ImportError that says what to install where there is no SciPy.
    """
    try:
        import scipy.special as scipy_special
        from scipy.special import _ufuncs
    except ImportError as error:
        raise ImportError(
            f"special.{name} takes its values from SciPy, which cannot be imported ({error}): "
            f'pip install "arraytape[scipy]" [at {user_line()}]'
        ) from error
    found = getattr(_ufuncs, name, None)
    return getattr(scipy_special, name) if found is None else found


class BorrowedSpecial(Special):
    """SciPy's, on data of a namespace of the standard that has none: computed on the host."""

    def native(self, name: str) -> Any:
        function = of_scipy(name)

        def native_call(*operands: Any, **keywords: Any) -> Any:
            like = next((x for x in operands if hasattr(x, "shape")), None)
            if like is None:  # numbers alone: a number of NumPy's, which joins any data
                return function(*operands, **keywords)
            storage = storage_of(like)
            given = [storage_of(x).host(x) if hasattr(x, "shape") else x for x in operands]
            found = function(*given, **keywords)
            device = storage.device(like)
            if isinstance(found, tuple):
                return tuple([storage.asarray(part, None, device, None) for part in found])
            return storage.asarray(found, None, device, None)

        return native_call


class CuPySpecial(Special):
    """CuPy's, on CUDA devices; substitutes for some that CuPy lacks."""

    def native(self, name: str) -> Any:
        import cupyx.scipy.special as library

        return self.found_in(library, name)

    def found_in(self, library: Any, name: str) -> Any:
        """Return the library's function of this name, or of SciPy's public name for a private ufunc.

        Numbers become data for functions that are no ufuncs: polygamma of CuPy's takes nothing else.
        """
        for known in (name, name.removeprefix("_")):
            found = getattr(library, known, None)
            if callable(found):  # _zeta is a module
                return found if hasattr(found, "nin") else functools.partial(self.of_data, found)
        if name in SUBSTITUTES:
            return functools.partial(SUBSTITUTES[name], xp=self.xp)
        raise TypeError(not_in_cupy(f"special.{name}", self.xp))

    def of_data(self, function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
        """Call a function with its operands as data."""
        given = [x if hasattr(x, "dtype") else self.xp.full((), x) for x in operands]
        return function(*given, **keywords)


def not_in_cupy(what: str, xp: Namespace) -> str:
    """Return the message of the error that CuPy has no such function."""
    return (
        f"{what} is not in CuPy {xp.cupy.__version__}: move the Arrays to the host "
        f'with to_device("cpu") [at {user_line()}]'
    )
