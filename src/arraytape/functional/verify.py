"""The check for ``verify=True``: it compares a derivative with finite differences of the function.

The caller has computed the derivative along one direction.  ``Rerun`` evaluates the function at four
points on that direction, and ``verified`` compares the central differences with the derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array, namespace
from .._array.views import peek
from .._storage.storage import storage_of
from .._util import nest
from .._util.errors import LostGradientError, see, user_line
from .._util.options import unwrap_option

SAME = 1e-3  # relative difference up to which two derivatives count as equal
STEPS = (1.0, 0.5)  # steps of the differences, as multiples of ``difference_step(x)``


def random_direction(arrays: Sequence[Array]) -> list[Array]:
    """Return a pseudorandom direction, an Array like each of ``arrays``, for finite differences.

    Elements are between 0.5 and 1 in absolute value, and always the same for the same shapes.
    """
    generator = np.random.default_rng(20)
    found = []
    for x in arrays:
        v = generator.uniform(0.5, 1.0, x.shape) * generator.choice([-1.0, 1.0], x.shape)
        xp: Any = namespace()
        found.append(xp.asarray(v, dtype=x.dtype, device=x.device))
    return found


def verified(
    caller: str,
    f: Callable[[Sequence[Array]], Any],
    arrays: Sequence[Array],
    tangents: Sequence[Array],
    slope: Any,
) -> None:
    """Raise LostGradientError if finite differences of f show that the derivative ``slope`` is wrong.

    If differences with two steps disagree, as at a kink or in noise, no error is raised.

    caller : the name of the public function, for the message.
    f : a function of the list of arrays that returns a nesting of Arrays.
    arrays, tangents : the point and the direction of the derivative.
    slope : the derivative of f along the tangents, in the nesting of f's result.
    """
    small = min(difference_step(x) for x in arrays)
    rows = [differences(f, arrays, tangents, size * small) for size in STEPS]
    for found, one, other in zip(host_leaves(slope), *rows, strict=True):
        scale = max(largest(one), largest(other))
        settled = largest(one - other) <= SAME * scale
        off = largest(found - other)
        if settled and off > 10 * SAME * max(scale, largest(found)):
            raise LostGradientError(
                f"{caller}: along one direction the derivative is {brief(found)}, and differences of "
                f"the function give {brief(other)}: a part of it is lost. A value may have been "
                "converted (float(), np.asarray(), another library) and used as a constant, or a rule "
                f"is wrong; GradientTape(exits='raise') says where values leave [at {user_line()}] "
                f"{see('value-left-the-tape')}"
            )


class Rerun:
    """A user's function that finite differences evaluate again, with other values of some arguments.

    f, args, keywords : the function, and the arguments of the call that was differentiated.
    arrays : the Arrays in the arguments at ``argnums``, which ``evaluate_at`` replaces by others.
    weights : None, or one Array for each leaf of f's result.  With weights, ``evaluate_at`` returns the
    inner product of the weights and f's result in place of the result.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        argnums: int | Sequence[int],
        keywords: dict[str, Any],
        weights: Sequence[Any] | None = None,
    ) -> None:
        self.f, self.args, self.keywords, self.weights = f, args, keywords, weights
        argnums = unwrap_option(argnums)
        positions = [argnums] if isinstance(argnums, int) else list(argnums)
        self.positions = [n % len(args) for n in positions]
        self.leaves = [nest.leaves(args[n]) for n in self.positions]
        self.arrays = [x for part in self.leaves for x in part if x is not None]

    def evaluate_at(self, arrays: Sequence[Array]) -> Any:
        """Return f's result, or its inner product with ``weights``, for other values of its arguments.

        Finite differences are computed from such results.

        arrays : one Array in place of each of ``self.arrays``.
        """
        args, rest = list(self.args), iter(arrays)
        for n, leaves in zip(self.positions, self.leaves, strict=True):
            args[n] = nest.pack_nesting(
                args[n], [None if x is None else next(rest) for x in leaves]
            )
        y = self.f(*args, **self.keywords)
        return y if self.weights is None else inner_product(self.weights, nest.leaves(y))

    def check(
        self,
        caller: str,
        slope: Callable[[list[Array]], Any],
        tangents: Sequence[Array] | None = None,
    ) -> None:
        """Raise LostGradientError if a derivative disagrees with finite differences of f.

        slope : a function that returns the derivative along a direction.
        tangents : the direction; a pseudorandom direction if None.
        """
        v = random_direction(self.arrays) if tangents is None else list(tangents)
        verified(caller, self.evaluate_at, self.arrays, v, slope(v))


def inner_product(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the real part of the inner product of two lists of Arrays.

    With complex Arrays, the derivative of a real function along a direction is such a product.
    """
    xp: Any = namespace()
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        product = (
            xp.asarray(x) * y if not xp.isdtype(y.dtype, "complex floating") else xp.conj(x) * y
        )
        total = total + xp.sum(xp.real(product))
    return total


def directional_derivative(jacobians: Sequence[Array], v: Sequence[Array]) -> Any:
    """Return the derivative of one result along v: the sum of ``jacobians[i]`` times ``v[i]``.

    It is compared with finite differences along v.

    jacobians : the result's Jacobian with respect to each input.  v : an Array for each input.
    """
    xp: Any = namespace()
    total: Any = 0.0
    for jacobian, part in zip(jacobians, v, strict=True):
        total = total + xp.tensordot(jacobian, part, axes=part.ndim)
    return total


def xp_like(value: Any, like: Array) -> Array:
    """Return a value, such as a tangent, as an Array with the dtype and device of ``like``."""
    xp: Any = namespace()
    found: Array = xp.asarray(value, dtype=like.dtype, device=like.device)
    return found


def difference_step(x: Array) -> float:
    """Return the step of finite differences at x: cbrt(machine epsilon) times max(1, max |x|)."""
    rounding = float(np.finfo(np.dtype(x.dtype)).eps)
    return math.cbrt(rounding) * max(1.0, largest(host(x)))


def differences(
    f: Callable[[Sequence[Array]], Any],
    arrays: Sequence[Array],
    tangents: Sequence[Array],
    h: float,
) -> list[Any]:
    """Return central differences of f along the tangents with step h, for each leaf of f's result.

    arrays, tangents : the point and the direction.
    """
    ends = []
    for sign in (1.0, -1.0):
        moved = [x + (sign * h) * t for x, t in zip(arrays, tangents, strict=True)]
        ends.append(host_leaves(f(moved)))
    return [(above - below) / (2 * h) for above, below in zip(*ends, strict=True)]


def host_leaves(structure: Any) -> list[Any]:
    """Return the leaves of a nesting of Arrays as NumPy arrays.  No tape records the conversion."""
    return [host(leaf) for leaf in nest.leaves(structure)]


def host(x: Array) -> Any:
    """Return a copy of an Array's data as a NumPy array.  No tape records the conversion."""
    data = peek(x)
    return np.array(storage_of(data).host(data), copy=True)


def largest(x: np.ndarray[Any, Any]) -> float:
    """Return the largest absolute value; 0 for an empty array.

    Errors of finite differences are measured relative to it.
    """
    return float(np.max(np.abs(x), initial=0.0))


def brief(x: np.ndarray[Any, Any]) -> str:
    """Return a number, or the first four elements of an array, as text for messages."""
    flat = np.ravel(x)
    return f"{flat[0]:.6g}" if flat.size == 1 else np.array2string(flat[:4], precision=5)
