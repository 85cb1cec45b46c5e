"""Special functions of raw data: SciPy's for NumPy data, CuPy's for CUDA devices, and own kernels.

A raw namespace has them as ``xp.special``.  The package ``arraytape.special`` defines the ops, and
registers here a *kernel* for each function that the libraries lack.  A kernel is a function of raw data
of one dtype and of the keyword ``xp``, the raw namespace to compute in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.array_types import Namespace, RawArray
from .._util.blocks import Quiet
from .._util.errors import user_line
from .storage import storage_of

if TYPE_CHECKING:
    import numpy.typing as npt


KERNELS: dict[str, Callable[..., Any]] = {}  # name -> kernel of a function that no library has
SUBSTITUTES: dict[
    str, Callable[..., Any]
] = {}  # name -> kernel of a function of SciPy that CuPy lacks
# Kernels in C++ for CuPy: name -> a function that gets the raw namespace and returns the kernel, or None
# if the installed CuPy lacks the C++ source that the kernel includes.
COMPILED: dict[str, Callable[[Namespace], Any]] = {}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register ``function``, which no library has, as the special function of its name; return it.

    The registered kernel casts the operands to one dtype and calls ``function`` with raw data.
    """
    KERNELS[function.__name__] = of_one_dtype(function)
    return function


def substitute(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register ``function`` as the substitute for SciPy's function of its name, which CuPy lacks."""
    SUBSTITUTES[function.__name__] = of_one_dtype(function)
    return function


def inexact_type(*operands: Any) -> np.dtype[Any]:
    """Return the dtype in which SciPy computes with these dtypes and Python scalars.

    It is their common dtype, or float64 if that is an integer dtype or bool.
    """
    dtype = np.result_type(*operands) if operands else np.dtype(np.float64)
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def of_one_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a special function so that it casts operands to one floating-point dtype and hides warnings.

    ``function`` computes in the common dtype of all operands, where int64 promotes to float64, as in
    SciPy.  The result is then cast to the common dtype of the operands that are no integer arrays: a
    float32 operand and an int64 operand give float32.
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
    """Cast x, an operand of a special function, to ``dtype``; make raw data of a Python scalar.

    arrays : the operands that are arrays.  A scalar goes to the device of the first of them.
    """
    if not hasattr(x, "dtype"):
        return (
            xp.asarray(x, dtype=dtype, device=getattr(arrays[0], "device", None))
            if arrays
            else np.asarray(x, dtype)
        )
    return x if x.dtype == dtype else xp.astype(x, dtype)


class Special:
    """The special functions of one raw namespace ``xp``, as attributes.

    Those in KERNELS are arraytape's own code; all others come from a library such as SciPy.
    """

    def __init__(self, xp: Namespace) -> None:
        self.xp = xp

    def __getattr__(self, name: str) -> Any:
        found = KERNELS.get(name)
        found = self.native(name) if found is None else functools.partial(found, xp=self.xp)
        setattr(self, name, found)  # the next access does not call __getattr__
        return found

    def native(self, name: str) -> Any:
        """Return the special function ``name`` of a library such as SciPy for this namespace's data."""
        raise NotImplementedError


class HostSpecial(Special):
    """The special functions of NumPy's arrays: the kernels in KERNELS, otherwise SciPy's functions."""

    def native(self, name: str) -> Any:
        return of_scipy(name)


def of_scipy(name: str) -> Any:
    """Return SciPy's special function ``name``; raise ImportError if SciPy is missing.

    The private ufunc is preferred, because public functions first look up a namespace.
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
    """The special functions for data of other libraries: SciPy's, on a copy of the data on the host."""

    def native(self, name: str) -> Any:
        function = of_scipy(name)

        def native_call(*operands: Any, **keywords: Any) -> Any:
            like = next((x for x in operands if hasattr(x, "shape")), None)
            if like is None:  # all operands are Python numbers: return SciPy's scalar as it is
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
    """The special functions of CuPy's arrays.

    A function is looked up in KERNELS (arraytape's own array code), in COMPILED (CUDA C++), in CuPy, and
    in SUBSTITUTES (array code for functions that CuPy lacks), in this order.
    """

    def native(self, name: str) -> Any:
        import cupyx.scipy.special as library

        return self.found_in(library, name)

    def found_in(self, library: ModuleType, name: str) -> Any:
        """Return the function ``name`` for CuPy's data, or raise TypeError if there is none.

        It is the kernel in COMPILED, the function of ``library`` (``cupyx.scipy.special``), or the
        kernel in SUBSTITUTES.  SciPy's private names, such as ``_zeta``, are also looked up without the
        underscore.  Functions that are no ufuncs, such as CuPy's polygamma, get numbers as 0-d data.
        """
        compiled = COMPILED[name](self.xp) if name in COMPILED else None
        if compiled is not None:
            return compiled
        for known in (name, name.removeprefix("_")):
            found = getattr(library, known, None)
            if callable(found):  # CuPy's _zeta is a module
                if hasattr(found, "nin"):
                    return functools.partial(self.call_ufunc, name, found)
                return functools.partial(self.of_data, found)
        if name in SUBSTITUTES:
            return functools.partial(SUBSTITUTES[name], xp=self.xp)
        raise TypeError(not_in_cupy(f"special.{name}", self.xp))

    def call_ufunc(self, name: str, ufunc: Callable[..., Any], *operands: Any) -> Any:
        """Call CuPy's ufunc; raise ``not_in_cupy``'s error if none of its loops has these dtypes."""
        try:
            return ufunc(*operands)
        except TypeError as error:
            if "Wrong type" not in str(error):
                raise
            dtypes = [str(getattr(x, "dtype", type(x).__name__)) for x in operands]
            what = f"special.{name} of {', '.join(dict.fromkeys(dtypes))} data"
            raise TypeError(not_in_cupy(what, self.xp)) from error

    def of_data(self, function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
        given = [x if hasattr(x, "dtype") else self.xp.full((), x) for x in operands]
        return function(*given, **keywords)


def not_in_cupy(what: str, xp: Namespace) -> str:
    return (
        f"{what} is not in CuPy {xp.cupy.__version__}: move the Arrays to the host "
        f'with to_device("cpu") [at {user_line()}]'
    )
