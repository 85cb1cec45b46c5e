"""Raw special functions: SciPy's on host data, CuPy's on CUDA devices, and the project's own kernels.

A raw namespace has them as ``xp.special``.  The package ``arraytape.special`` defines the ops and
registers a kernel for each function that the libraries lack.  A kernel is a function of raw data, whose
operands have one dtype, and of the keyword ``xp``, the raw namespace to compute in.
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


KERNELS: dict[str, Callable[..., Any]] = {}  # name -> kernel, called with the keyword xp
SUBSTITUTES: dict[str, Callable[..., Any]] = {}  # kernels of SciPy's functions that CuPy lacks
# Kernels in C++ for CuPy: name -> a function from the raw namespace to the kernel, None where CuPy lacks
# the source.
COMPILED: dict[str, Callable[[Namespace], Any]] = {}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a kernel in KERNELS under its name, wrapped by ``of_one_dtype``; return it unwrapped."""
    KERNELS[function.__name__] = of_one_dtype(function)
    return function


def substitute(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a kernel in ``SUBSTITUTES``, for data of libraries that lack SciPy's function."""
    SUBSTITUTES[function.__name__] = of_one_dtype(function)
    return function


def inexact_type(*operands: Any) -> np.dtype[Any]:
    """Return the common dtype of dtypes and Python scalars; float64 for integers and booleans."""
    dtype = np.result_type(*operands) if operands else np.dtype(np.float64)
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def of_one_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper that casts the operands to one floating-point dtype and hides warnings.

    The kernel computes in the common dtype of all operands, where int64 promotes to float64, as in
    SciPy.  The result is then cast to the common dtype of the operands, arrays of integers aside.
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
    """Return x as data of ``dtype``; put a Python scalar on the device of ``arrays[0]``, if any."""
    if not hasattr(x, "dtype"):
        return (
            xp.asarray(x, dtype=dtype, device=getattr(arrays[0], "device", None))
            if arrays
            else np.asarray(x, dtype)
        )
    return x if x.dtype == dtype else xp.astype(x, dtype)


class Special:
    """The special functions of one raw namespace ``xp``, as attributes.

    A function comes from KERNELS, arraytape's own code, or else from a library, such as SciPy.
    """

    def __init__(self, xp: Namespace) -> None:
        self.xp = xp

    def __getattr__(self, name: str) -> Any:
        found = KERNELS.get(name)
        found = self.native(name) if found is None else functools.partial(found, xp=self.xp)
        setattr(self, name, found)  # the next access does not call __getattr__
        return found

    def native(self, name: str) -> Any:
        """Return the function ``name`` of the library that serves this namespace's data."""
        raise NotImplementedError


class HostSpecial(Special):
    """The special functions of NumPy's arrays: kernels and SciPy's."""

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
    """SciPy's special functions for data of other libraries, which is copied to the host and back."""

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
    """The special functions on CUDA devices: COMPILED, then CuPy's, then SUBSTITUTES."""

    def native(self, name: str) -> Any:
        import cupyx.scipy.special as library

        return self.found_in(library, name)

    def found_in(self, library: ModuleType, name: str) -> Any:
        """Return the compiled kernel, the library's function or the substitute, or raise TypeError.

        SciPy's private names, such as ``_zeta``, are tried without underscore, too.  Functions that are
        no ufuncs, such as CuPy's polygamma, get numbers as 0-d data.
        """
        compiled = COMPILED[name](self.xp) if name in COMPILED else None
        if compiled is not None:
            return compiled
        for known in (name, name.removeprefix("_")):
            found = getattr(library, known, None)
            if callable(found):  # CuPy's _zeta is a module
                return found if hasattr(found, "nin") else functools.partial(self.of_data, found)
        if name in SUBSTITUTES:
            return functools.partial(SUBSTITUTES[name], xp=self.xp)
        raise TypeError(not_in_cupy(f"special.{name}", self.xp))

    def of_data(self, function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
        given = [x if hasattr(x, "dtype") else self.xp.full((), x) for x in operands]
        return function(*given, **keywords)


def not_in_cupy(what: str, xp: Namespace) -> str:
    return (
        f"{what} is not in CuPy {xp.cupy.__version__}: move the Arrays to the host "
        f'with to_device("cpu") [at {user_line()}]'
    )
