"""The Python operators of batched data, and the functions whose results stay diagonal.

Diagonal data, such as the seeds of a Jacobian, has ``Batched.diagonal`` in place of raw data: the tuple
(vector, start, stop) for rows start to stop of the matrix diag(vector).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._record.op_facts import facts_of
from ..._util.array_types import RawArray, RawOperand
from .batched_data import Batched, axis_ids_of, elementwise, refusal


# --- functions on the diagonal alone -----------------------------------------------------------------
def fits(value: Any, vector: RawArray) -> bool:
    """Return True if ``value`` is not batched and broadcasts to the shape of ``vector``."""
    shape = getattr(value, "shape", ())
    if type(value) is Batched:
        return False
    if shape == vector.shape or shape == ():
        return True
    return (
        len(shape) <= len(vector.shape) and np.broadcast_shapes(shape, vector.shape) == vector.shape
    )


def keeps_zeros(groups: Sequence[Sequence[int]], values: tuple[Any, ...], vector: RawArray) -> bool:
    """Return True if a function of ``values`` is 0 where the diagonal data among them is 0.

    groups : tuples of indices of operands in which the function is jointly linear.  So the function is 0
    where all operands of one group are 0, whatever the other operands are.
    """
    zero = [is_diagonal_data(v) or (isinstance(v, int | float) and v == 0) for v in values]
    for group in groups:
        inside = {i for i in group if i < len(values)}
        rest = [v for i, v in enumerate(values) if i not in inside]
        if all(zero[i] for i in inside) and all(fits(v, vector) for v in rest):
            return True
    return False


def is_diagonal_data(value: Any) -> bool:
    return type(value) is Batched and value._data is None


def on_diagonal(name: str, function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """Return ``function(*values)`` as diagonal data, computed from the vectors of the diagonals alone.

    Return None if no value is diagonal, or if the result would not be 0 off the diagonal.
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
LOOKS = {
    "array": "np.asarray()", "bool": "bool()", "complex": "complex()", "float": "float()",
    "index": "index()", "int": "int()", "iter": "iteration", "len": "len()",
}  # fmt: skip

# An attribute that only Arrays have.  The operators here return NotImplemented for an Array.
HANDLE = "_value_id"


def binary(short: str, side: str) -> Callable[..., Any]:
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


def unary(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(x: Batched) -> Any:
        found = on_diagonal(name, function, (x,))
        return elementwise(function, x) if found is None else found

    return method


def refusing(look: str) -> Callable[..., Any]:
    def method(x: Batched, *_: Any, **__: Any) -> Any:
        raise refusal(look, x)

    return method


for _name, _look in LOOKS.items():
    setattr(Batched, f"__{_name}__", refusing(_look))
for _name, _op in (("neg", "negative"), ("pos", "positive"), ("invert", "invert")):
    setattr(Batched, f"__{_name}__", unary(_op, getattr(operator, _name)))
for _name in (*COMPARISONS, *ARITHMETIC):
    for _side in ("",) if _name in COMPARISONS else ("", "r", "i"):
        setattr(Batched, f"__{_side}{_name}__", binary(_name, _side))
