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
    "abs", "add_", "assign", "assign_add", "at", "backward", "block_until_ready", "bmm", "clamp",
    "clone", "contiguous", "copy_", "cpu", "cuda", "detach", "dim", "div_", "double", "exp",
    "expand", "fill_", "float", "gather", "get_shape", "grad", "index_select", "log", "masked_fill",
    "matmul", "mm", "mul_", "norm", "numel", "numpy", "permute", "pow", "relu", "requires_grad",
    "requires_grad_", "resize", "retain_grad", "sigmoid", "softmax", "sqrt", "sub_", "to",
    "tobytes", "tofile", "unsqueeze", "zero_",
)  # fmt: skip


class ForeignName:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """What ``help(Array)`` says of the name."""
        from .._util.other_names import counterpart

        return f"Not here: {counterpart(self.name, 'Array')}."

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
