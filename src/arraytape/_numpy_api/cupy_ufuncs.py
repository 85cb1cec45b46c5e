"""CuPy's protocol for Arrays: ``__cupy_override_elementwise_kernel__``.

CuPy calls this method for ``cupy.exp(x)``, ``cupy.add(data, x)`` and ``cupyx.scipy.special.gamma(x)``,
and it runs recorded ops.  CuPy's other functions, such as ``cupy.sum``, have no protocol.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .._array.array import Array, namespace
from .._util.errors import see, user_line
from .protocols import UFUNCS


def cupy_kernel(x: Array, kernel: Any, *inputs: Any, **options: Any) -> Any:
    """Run a ufunc of CuPy as a recorded op, such as for ``cupy.exp(x)``.

    Parameters
    ----------
    kernel : cupy.ufunc or cupy.ElementwiseKernel
        The ufunc, or a kernel of the user's.
    *inputs : object
        The arguments of the ufunc.
    **options : object
        The keyword arguments of the ufunc.

    Returns
    -------
    Array
        The result.

    Raises
    ------
    TypeError
        When there is no op for the kernel, or when a result is to be written into an array of CuPy.
    """
    function = op_of_kernel(kernel)
    if function is None:
        raise TypeError(
            f"call a function of arraytape or NumPy in place of the kernel {kernel.name}, or make an op "
            f"of the kernel with define_op: arraytape has no op for this kernel [at {user_line()}] "
            f"{see('numpy-function-without-counterpart')}"
        )
    if options or len(inputs) > kernel.nin:
        raise TypeError(
            f"assign the result of {kernel.name}(...) to a new name: a recorded result cannot be "
            f"written into an array of CuPy, and ufuncs of CuPy take no options on Arrays "
            f"[at {user_line()}] {see('numpy-function-without-counterpart')}"
        )
    return function(*inputs)


@functools.lru_cache(1024)
def op_of_kernel(kernel: Any) -> Callable[..., Any] | None:
    """Return arraytape's op for a CuPy ufunc such as ``cupy.exp``; None if there is no such op."""
    special: Any = namespace().special
    ops_of = {
        "cupy": {ufunc.__name__: op for ufunc, op in UFUNCS.items()},
        "cupyx.scipy.special": {name: getattr(special, name) for name in special.__all__},
    }
    for module, ops in ops_of.items():
        for name, found in vars(sys.modules.get(module, object)).items():
            if found is kernel and name in ops:
                return ops[name]
    return None


PROTOCOLS = {"__cupy_override_elementwise_kernel__": cupy_kernel}
