"""Attach Python's operators to ``Batched``, and compute on diagonal data without making its zeros.

Diagonal data, such as the seeds of a Jacobian, stores the vector of a matrix diag(vector) in place of
raw data: see ``Batched``.  If a function, such as a product with a number, keeps the zeros, then
``on_diagonal`` computes it from the vectors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._record.op_facts import facts_of
from ..._util.array_types import RawArray, RawOperand
from .batched_data import Batched, axis_ids_of, elementwise, refusal


# --- diagonal data -----------------------------------------------------------------------------------
def broadcasts_to(value: Any, vector: RawArray) -> bool:
    """Return True if ``value`` is not batched, and broadcasts to the shape of ``vector``.

    Then a product of ``value`` and the matrix diag(vector) can be stored as a vector, too.
    """
    shape = getattr(value, "shape", ())
    if type(value) is Batched:
        return False
    if shape == vector.shape or shape == ():
        return True
    return (
        len(shape) <= len(vector.shape) and np.broadcast_shapes(shape, vector.shape) == vector.shape
    )


def keeps_zeros(groups: Sequence[Sequence[int]], values: tuple[Any, ...], vector: RawArray) -> bool:
    """Return True if the result of a function is diagonal data, too: 0 off the diagonal.

    values : the operands, of which some are diagonal data with the vector ``vector``.  The others have
    to broadcast to its shape.
    groups : tuples of positions in ``values`` in which the function is jointly linear, such as (0,) and
    (1,) for ``multiply``.  So the function is 0 where all operands of one group are 0.
    """
    zero = [is_diagonal_data(v) or (isinstance(v, int | float) and v == 0) for v in values]
    for group in groups:
        inside = {i for i in group if i < len(values)}
        rest = [v for i, v in enumerate(values) if i not in inside]
        if all(zero[i] for i in inside) and all(broadcasts_to(v, vector) for v in rest):
            return True
    return False


def is_diagonal_data(value: Any) -> bool:
    """Return True if ``value`` is diagonal data: batched data that is stored without its zeros."""
    return type(value) is Batched and value._data is None


def on_diagonal(name: str, function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """Return ``function(*values)`` for diagonal data, computed without making its zeros.

    The function is called on the vectors of the diagonals, and the result is diagonal data, too.  Return
    None if no value is diagonal, or if the result would not be 0 off the diagonal.

    name : the op that ``function`` computes, whose facts tell in which operands it is linear.
    """
    whole = [v for v in values if is_diagonal_data(v)]
    if not whole:
        return None
    first = whole[0]
    vector, start, stop = first.diagonal
    alike = all(v.axis_ids == first.axis_ids and v.diagonal[1:] == (start, stop) for v in whole)
    same_shape = all(v.diagonal[0].shape == vector.shape for v in whole)
    if not (alike and same_shape):
        return None
    if not keeps_zeros(facts_of(name).linear_places, values, vector):
        return None
    found = function(*[v.diagonal[0] if type(v) is Batched else v for v in values])
    return Batched(None, first.axis_ids, (found, start, stop))


# --- operators --------------------------------------------------------------------------------------
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
ARITHMETIC = (
    "add", "and", "floordiv", "lshift", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor",
)  # fmt: skip
LINEAR = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}
REFUSED_CONVERSIONS = {
    "array": "np.asarray()", "bool": "bool()", "complex": "complex()", "float": "float()",
    "index": "index()", "int": "int()", "iter": "iteration", "len": "len()",
}  # fmt: skip

# An attribute that only Arrays have.  The operators here return NotImplemented for an Array.
HANDLE = "_value_id"


def binary_method(short: str, side: str) -> Callable[..., Any]:
    """Return the method of ``Batched`` for a binary operator: for ("add", "r") it is ``__radd__``.

    short : the operator's name in the method's name.  side : "" for ``x + y``, "r" for the reflected
    operator, "i" for ``x += y``.
    """
    function, name = getattr(operator, f"__{short}__"), LINEAR.get(short, "")

    def forward(x: Batched, other: RawOperand | Batched) -> Any:
        if hasattr(other, HANDLE):
            return NotImplemented
        if name and (x._data is None or (type(other) is Batched and other._data is None)):
            found = on_diagonal(name, function, (x, other))
            if found is not None:
                return found
        return elementwise(function, x, other)

    def reflected(x: Batched, other: RawOperand) -> Any:
        if name and x._data is None:
            found = on_diagonal(name, function, (other, x))
            if found is not None:
                return found
        return elementwise(function, other, x)

    def in_place(x: Batched, other: RawOperand | Batched) -> Any:
        if x._data is None or not set(axis_ids_of((other,))) <= set(x.axis_ids):
            return forward(x, other)
        operand = other.aligned(x.axis_ids, x.ndim) if type(other) is Batched else other
        result = getattr(operator, f"i{short}")(x.data, operand)
        return x if result is x.data else Batched(result, x.axis_ids)

    return {"": forward, "r": reflected, "i": in_place}[side]


def unary_method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of ``Batched`` for a unary operator.

    name : the name of the op that ``function`` computes on raw data.
    """

    def method(x: Batched) -> Any:
        found = on_diagonal(name, function, (x,))
        return elementwise(function, x) if found is None else found

    return method


def refusing_method(conversion: str) -> Callable[..., Any]:
    """Return a method of ``Batched`` that raises the error for a conversion such as "bool()".

    The conversion needs one value, but batched data has one for each example of a vmap.
    """

    def method(x: Batched, *_: Any, **__: Any) -> Any:
        raise refusal(conversion, x)

    return method


for _name, _conversion in REFUSED_CONVERSIONS.items():
    setattr(Batched, f"__{_name}__", refusing_method(_conversion))
for _name, _op in (("neg", "negative"), ("pos", "positive"), ("invert", "invert")):
    setattr(Batched, f"__{_name}__", unary_method(_op, getattr(operator, _name)))
for _name in (*COMPARISONS, *ARITHMETIC):
    for _side in ("",) if _name in COMPARISONS else ("", "r", "i"):
        setattr(Batched, f"__{_side}{_name}__", binary_method(_name, _side))
