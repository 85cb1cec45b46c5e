"""The arguments of ``gradient``: targets, sources and output gradients, checked before anything runs."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array, namespace, wrap
from .._array.views import peek
from .._record.mode_stack import MODES, notify_access
from .._record.plan import Record
from .._storage.storage import holds_kind, inexact, storage_of
from .._util import nest
from .._util.errors import TapeWarning, describe, failure, see, stacklevel, user_line
from .._util.nest import Nesting
from .hidden_axes import with_hidden_axes

if TYPE_CHECKING:
    from .._array.array import Operand
    from .._exits.messages import Conversion


class UnconnectedGradients(enum.Enum):
    """The result of ``gradient`` for a source on which the target does not depend: None, or zeros.

    Examples
    --------
    >>> import arraytape as xp
    >>> x, w = xp.asarray([1.0, 2.0]), xp.asarray([3.0])
    >>> with xp.GradientTape(persistent=True) as tape:
    ...     tape.watch([x, w])
    ...     y = x * x
    >>> print(tape.gradient(y, w, unconnected_gradients=xp.UnconnectedGradients.NONE))
    None
    >>> print(tape.gradient(y, w, unconnected_gradients=xp.UnconnectedGradients.ZERO))
    [0.]
    >>> print(tape.gradient(y, w, unconnected_gradients="zero"))  # by its value
    [0.]
    """

    NONE = "none"
    ZERO = "zero"


WORDS = {member.value: member for member in UnconnectedGradients}


def parse_unconnected(value: UnconnectedGradients | str) -> UnconnectedGradients:
    """Return the member of UnconnectedGradients that a user's argument names, such as "zero".

    Raise ValueError, with the allowed values, for an argument that is neither a member nor its value.
    """
    if isinstance(value, UnconnectedGradients):
        return value
    found = WORDS.get(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(
            f"unconnected_gradients must be 'none' or 'zero', got {describe(value)} [at {user_line()}]"
        )
    return found


class Holes(Exception):
    """The exception for a list of sources in which some are None, such as the bias that a model lacks.

    ``arrays_of`` raises it.  The caller catches it, and computes the gradients with respect to the
    Arrays alone (``around_holes``).
    """


def around_holes(sources: Nesting, ask: Callable[[list[Any]], list[Any]]) -> Nesting:
    """Call ``ask``, which computes gradients, with the list of those sources that are not None.

    Return the gradients in the nesting of ``sources``, with None for a source of None (an absent bias,
    say).
    """
    leaves = nest.leaves(sources)
    found = iter(ask([x for x in leaves if x is not None]))
    return nest.pack_nesting(sources, [None if x is None else next(found) for x in leaves])


def advice_on_last_exit(records: Sequence[Record]) -> Conversion | None:
    """Return the line of the last conversion such as ``float(x)`` on a tape, and advice for the user.

    The error for a target or source that is no Array quotes both.  Return None without a conversion.

    records : the tape's records.
    """
    from .._exits.messages import last_exit  # seldom needed, and slow to import

    return last_exit(records)


def arrays_of(
    structure: Nesting, what: str, caller: str = "gradient", left: Conversion | None = None
) -> list[Array]:
    """Return the leaves of a user's targets or sources as a list of Arrays, and check them.

    Raise TypeError for a leaf that is no Array; raise Holes if some sources are None and others Arrays.

    what : "target" or "source", for messages.  caller : the function that the user called.
    left : the result of ``advice_on_last_exit``.  The TypeError quotes it, since the leaf may be a
    number that was converted from an Array.
    """
    found = nest.leaves(structure)
    if MODES:
        notify_access(*found)
    for leaf in found:
        if type(leaf) is Array and leaf._data.dtype.kind in "fc":
            continue
        if not isinstance(leaf, Array):
            if leaf is None and what == "source" and any(isinstance(x, Array) for x in found):
                raise Holes
            hint = "pass the Array that the tape recorded"
            if leaf is None:
                hint = f"a {what} may not be None: was it computed?"
            elif left is not None:
                hint += f"; or {left.advice}, since {left.fact}"
            elif isinstance(leaf, int | float | complex) or hasattr(leaf, "shape"):
                hint += (
                    ". A number or an array of another library is a constant to the tape: convert it "
                    "with asarray before the computation"
                )
            raise TypeError(
                f"{caller}(): every {what} must be an Array, got {describe(leaf)}"
                f"{nest.place_in_nesting(leaf, structure)}; {hint} [at {user_line()}] "
                f"{see('target-or-source-is-not-an-array')}"
            )
        if not differentiable(leaf):
            warnings.warn(
                f"{caller}(): the {what} of dtype {leaf.dtype} (shape {leaf.shape}) has no gradient: "
                f"give it a floating-point dtype {see('dtype-without-gradient')}",
                TapeWarning,
                stacklevel=stacklevel(),
            )
    return found


def seeds_of(
    target: Nesting, targets: list[Array], output_gradients: Nesting, broadcast: bool = False
) -> list[Array]:
    """Return the cotangent of each target with which the pass begins: its output gradient, or ones.

    target, targets : the user's nesting of targets, and its leaves.
    output_gradients : a nesting like ``target``, or None.
    broadcast : True if an output gradient may have a shape that broadcasts to that of its target.
    """
    if output_gradients is None:
        return [default_seed(y) for y in targets]
    given = nest.leaves_like(target, output_gradients, "output_gradients", numbers=True)
    if MODES:
        notify_access(*given)
    rows = enumerate(zip(given, targets, strict=True))
    return [as_seed(g, y, i, broadcast) for i, (g, y) in rows]


def filled_like(name: str, like: Array, shape: tuple[int, ...] | None = None) -> Array:
    """Return an Array of zeros or ones with the dtype and device of ``like``.

    name : the function to call, "zeros" or "ones".  shape : the shape; that of ``like`` if None.
    """
    storage = storage_of(peek(like))
    shape = like.shape if shape is None else shape
    return wrap(storage.create(name, like.device, shape, dtype=like.dtype))


def default_seed(y: Array) -> Array:
    """Return ones in the shape of the target y: its cotangent if the user gives no output gradient."""
    if type(y._data) is np.ndarray and y._data.shape == ():  # the usual case, in a faster way
        return wrap(np.array(1.0, y._data.dtype))
    return wrap(storage_of(peek(y)).constant_ones(y.shape, y.dtype, y.device))


def differentiable(x: Array) -> bool:
    return inexact(x._data)


def array_on_device_of(x: Array, value: Any, what: str) -> Array:
    """Return ``value``, a user's tangent or output gradient for x, as an Array on the device of x.

    An Array is returned unchanged; raise TypeError if it is on another device.  Numbers are cast to x's
    dtype unless they are of a greater kind, and other data only if its dtype has the kind of x's dtype
    (floating-point, say).  Data of another kind keeps its dtype.  Raise TypeError for other types.

    what : the name of the argument, for messages.
    """
    if isinstance(value, Array):
        if type(value._data) is not type(x._data) and value.device != x.device:
            raise TypeError(
                f"{what}: move it with to_device({x.device!r}): it is {describe(value)} on "
                f"{value.device}, and belongs to an Array on {x.device} [at {user_line()}]"
            )
        return value
    numbers = nest.holds_numbers(value)
    if not numbers and getattr(value, "shape", None) is None:
        raise TypeError(
            f"{what} must be an Array, or numbers to make one of, got {describe(value)} "
            f"[at {user_line()}]"
        )
    storage = storage_of(x._data)
    try:
        given = (np.asarray(value) if numbers else value).dtype
        # NumPy gives integers of more than 64 bits the dtype object, of kind "O".
        fits = given.kind == x.dtype.kind or (
            numbers and (given.kind == "O" or holds_kind(x.dtype, given))
        )
        data = storage.asarray(value, x.dtype if fits else None, x.device, True)
    except Exception as error:  # for lists of unequal lengths, or integers too large for the dtype
        raise failure(f"{what}: {describe(value)} as an Array", error) from error
    return wrap(data)


def as_seed(g: Operand, y: Array, index: int, broadcast: bool) -> Array:
    """Return the user's output gradient g as a cotangent of the target y.

    Raise ValueError if its shape, or the kind of its dtype, does not fit y.

    index : the index of g in the list of output gradients, for messages.
    broadcast : True if g may have a shape that broadcasts to that of y.
    """
    g = array_on_device_of(y, g, f"output_gradients[{index}]")
    if g.shape != y.shape:
        g = broadcast_seed(g, y, index, broadcast)
    if g.dtype.kind != y.dtype.kind and differentiable(y):
        raise ValueError(
            f"output_gradients[{index}] has dtype {g.dtype}, its target has dtype {y.dtype} "
            f"[at {user_line()}]; cast it with astype"
        )
    # Under vmap, one output gradient may be given for all examples.
    seed = with_hidden_axes(g, y._data, copy=True)
    if seed.dtype != y.dtype:
        xp: Any = namespace()
        seed = xp.astype(seed, y.dtype)  # an op, since an outer tape may follow the seed
    return seed


def broadcast_seed(g: Array, y: Array, index: int, allowed: bool) -> Array:
    """Return the output gradient g, broadcast to the shape of the target y.

    Raise ValueError if g cannot be broadcast to it, or if ``allowed`` is False and the shapes differ.

    index : the index of g in the list of output gradients, for messages.
    allowed : True if g may have a shape that broadcasts to that of y.
    """
    xp: Any = namespace()
    lengths = zip(reversed(g.shape), reversed(y.shape), strict=False)
    fits = g.ndim <= y.ndim and all(n in (1, length) for n, length in lengths)
    if not (allowed and fits):
        raise ValueError(
            f"output_gradients[{index}] has shape {g.shape}, its target has shape {y.shape} "
            f"[at {user_line()}]"
        )
    seed: Array = xp.asarray(xp.broadcast_to(g, y.shape), copy=True)  # ops: a tape may follow g
    return seed
