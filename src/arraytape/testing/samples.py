"""Random arguments for ops, and the ops as functions of these arguments, for tests of derivatives.

An op declares samples: shapes and values of arguments on which its derivatives are tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._record.op import REGISTRY, Op, Sample
from .._util import nest
from .._util.errors import entrance
from .derivatives import Function, as_tested_array, total

if TYPE_CHECKING:
    import numpy.typing as npt


@entrance
def materialise(
    op: Op, sample: Sample, dtype: npt.DTypeLike = np.float64, seed: int = 0
) -> list[Any]:
    """Make the arguments of an op's sample, with random arrays in place of shapes.

    Parameters
    ----------
    op : Op
        The op that declares the sample.
    sample : Sample
        The sample.
    dtype : dtype, default: float64
        The dtype of random arrays.
    seed : int, default: 0
        The seed of the random numbers.

    Returns
    -------
    list
        A random NumPy array in the op's domain for each shape in the sample.  Constants are unchanged.

    Examples
    --------
    >>> import arraytape as xp
    >>> op = next(op for op in xp.testing.recorded_ops() if op.name == "tanh")
    >>> (x,) = xp.testing.materialise(op, op.samples[0])
    >>> x.shape, x.dtype
    ((3, 4), dtype('float64'))
    """
    rng = np.random.default_rng(seed)
    low, high = sample.domain or op.domain or (-2.0, 2.0)

    def make_argument(spec: Any) -> Any:
        if isinstance(spec, str):
            # "bool(3, 4)" declares an array of random bools, of shape (3, 4).
            lengths = spec.removeprefix("bool(").removesuffix(")").split(",")
            return rng.random([int(n) for n in lengths if n.strip()]) < 0.5
        if isinstance(spec, list):
            return [make_argument(part) for part in spec]
        if not isinstance(spec, tuple):
            return spec
        x = rng.uniform(low, high, spec)
        if np.issubdtype(dtype, np.complexfloating):
            x = x + 1j * rng.uniform(0.1, 0.5, spec)
        return np.asarray(x, dtype=dtype)

    return [make_argument(spec) for spec in sample.inputs]


@entrance
def as_function(op: Op, sample: Sample, arguments: list[Any]) -> tuple[Function, list[Any]]:
    """Return the call of an op on a sample as a function of the floating-point arguments alone.

    Parameters
    ----------
    op : Op
        The op.
    sample : Sample
        One of its samples.
    arguments : list
        The sample's arguments, from ``materialise``.

    Returns
    -------
    function : Callable
        Returns the weighted total of the op's results.
    floats : list of numpy.ndarray
        The floating-point arrays among the arguments, which are the arguments of ``function``.

    Examples
    --------
    >>> import arraytape as xp
    >>> op = next(op for op in xp.testing.recorded_ops() if op.name == "where")
    >>> arguments = xp.testing.materialise(op, op.samples[0])
    >>> f, inputs = xp.testing.as_function(op, op.samples[0], arguments)
    >>> len(arguments), len(inputs)  # the condition is no input of f
    (3, 2)
    >>> xp.testing.check_gradients(f, inputs)
    """
    leaves = nest.leaves(arguments)
    arrays = {i: x for i, x in enumerate(leaves) if isinstance(x, np.ndarray)}
    floats = {i: x for i, x in arrays.items() if x.dtype.kind in "fc"}

    def weighted_total(*values: Any) -> Array:
        assert op.public is not None
        given = {i: as_tested_array(x) for i, x in arrays.items()}
        given |= dict(zip(floats, values, strict=True))
        filled = [given.get(i, leaf) for i, leaf in enumerate(leaves)]
        first, *rest = nest.pack_nesting(arguments, filled)
        first = sample.prepare(first) if sample.prepare else first
        return total(op.public(first, *rest, **sample.parameters))

    return weighted_total, list(floats.values())


def recorded_ops() -> list[Op]:
    """List the ops that tapes record: those with a derivative, and those whose rule is missing.

    Returns
    -------
    list of Op
        The ops.

    Examples
    --------
    >>> import arraytape as xp
    >>> names = [op.name for op in xp.testing.recorded_ops()]
    >>> "tanh" in names, "floor" in names
    (True, False)
    """
    return [op for op in REGISTRY.values() if op.recorded]
