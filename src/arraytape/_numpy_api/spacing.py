"""NumPy's evenly spaced values between Arrays: ``np.linspace(x, y)`` of ends of any shape."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._util.errors import user_line
from ..ops import elementwise_functions as elementwise
from ..ops.data_type_functions import astype
from ..ops.manipulation_functions import expand_dims, moveaxis, reshape
from ..ops.searching_functions import where
from ..ops.utility_functions import any
from .arguments import as_arrays


def ends(start: Any, stop: Any) -> tuple[Array, Array]:
    """The ends as Arrays of the floating-point dtype in which NumPy computes."""
    first, last = as_arrays(*[
        x if isinstance(x, Array | list | tuple) else np.asarray(x) for x in (start, stop)
    ])  # fmt: skip
    dtype = np.result_type(
        *[getattr(x, "dtype", a.dtype) if not isinstance(x, int | float | complex) else x
          for x, a in ((start, first), (stop, last))], 1.0,
    )  # fmt: skip
    return astype(first, dtype, copy=False), astype(last, dtype, copy=False)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """See ``numpy.linspace``."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"np.linspace: num must not be negative, got {num} [at {user_line()}]")
    first, last = ends(start, stop)
    gaps = num - 1 if endpoint else num
    delta = last - first
    steps = reshape(
        asarray_like(first, np.arange(num, dtype=first.dtype)), (-1,) + (1,) * delta.ndim
    )
    step: Any = np.nan
    if gaps > 0:
        step = delta / gaps
        # A step that is too small for a float is 0; NumPy divides before it multiplies then.
        y = where(any(step == 0), steps / gaps * delta, steps * step) + first
    else:
        y = steps * delta + first
    if endpoint and num > 1:
        y[-1] = last
    y = moveaxis(y, 0, axis) if axis else y
    if dtype is not None:
        whole = np.issubdtype(np.dtype(dtype), np.integer)
        y = astype(elementwise.floor(y) if whole else y, np.dtype(dtype), copy=False)
    y = y if device is None else y.to_device(device)
    return (y, step) if retstep else y


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Array:  # fmt: skip
    """See ``numpy.logspace``."""
    if np.ndim(base):
        start, stop, base = as_arrays(start, stop, base)
        n = max(x.ndim for x in (start, stop, base))
        start, stop, base = (reshape(x, (1,) * (n - x.ndim) + x.shape) for x in (start, stop, base))
        base = expand_dims(base, axis=axis)
    elif isinstance(base, Array) and not isinstance(start, Array) and not isinstance(stop, Array):
        start = asarray_like(base, np.asarray(start))
    y = elementwise.pow(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else astype(y, np.dtype(dtype), copy=False)


FUNCTIONS: dict[Any, Callable[..., Any]] = {np.linspace: linspace, np.logspace: logspace}
