"""Attributes that Arrays and tapes of other libraries have: an AttributeError that says ours.

Each name is a descriptor that raises, so ``hasattr`` stays False.  ``Array.__getattr__`` would say the
same, but slows down every read of ``x._tid``: from 5 to 27 ns in CPython 3.11, ten times in an op.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._array.array import Array
from .._tape.tape import GradientTape
from .._util.attach import attach, method
from .._util.errors import unknown_name

# The names of _util.other_names.ARRAY, known without loading it; a test holds them equal.
NAMES = (
    "abs", "acos", "add", "add_", "addressable_data", "asin", "assign", "assign_add", "assign_sub",
    "at", "atan", "backward", "block_until_ready", "bmm", "ceil", "clamp", "clamp_", "clone",
    "contiguous", "copy_", "cos", "cosh", "cpu", "ctypes", "cuda", "detach", "detach_", "dim",
    "div", "div_", "double", "exp", "expand", "expm1", "fill_", "float", "floor", "gather",
    "get_shape", "grad", "grad_fn", "half", "index_select", "is_leaf", "isfinite", "isinf", "isnan",
    "log", "log10", "log1p", "log2", "long", "masked_fill", "matmul", "mm", "mul", "mul_", "norm",
    "numel", "numpy", "permute", "pow", "reciprocal", "register_hook", "relu", "requires_grad",
    "requires_grad_", "resize", "retain_grad", "scatter_add", "sigmoid", "sign", "sin", "sinh",
    "softmax", "sqrt", "square", "sub", "sub_", "t", "tan", "tanh", "to", "tobytes", "tofile",
    "tostring", "type", "unsqueeze", "zero_",
)  # fmt: skip


class ForeignName:
    """Stands where another library's class has a method or property."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Array | None, cls: type[Array]) -> NoReturn:
        kind = f"type object {cls.__name__!r}" if x is None else f"{cls.__name__!r} object"
        message = f"{kind} has no attribute {self.name!r}"
        raise unknown_name(message, self.name, cls if x is None else x, "Array")

    def __set__(self, x: Array, value: Any) -> NoReturn:
        self.__get__(x, type(x))


attach(Array, {name: ForeignName(name) for name in NAMES})


@method(Array, "__dir__")
def names_of_array(x: Array) -> list[str]:
    """What an Array has, without the names that raise."""
    return [name for name in object.__dir__(x) if name not in NAMES or hasattr(x, name)]


@method(GradientTape, "__getattr__")
def missing_of_tape(tape: GradientTape, name: str) -> NoReturn:
    """Called for a name that a tape has not."""
    message = f"{type(tape).__name__!r} object has no attribute {name!r}"
    raise unknown_name(message, name, tape, "GradientTape")
