"""Names of other libraries' array attributes, such as ``x.detach``, which Array lacks.

The AttributeError for such a name advises arraytape's counterpart.  Each name is a descriptor that
raises, so ``hasattr`` returns False.  A method ``Array.__getattr__`` could do the same, but would slow
down each read of ``x._value_id`` from 5 to 27 ns in CPython 3.11.  One op reads it about ten times.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import unknown_name

# The names in other_names.ARRAY, repeated so that other_names need not be imported.  A test compares
# both.
NAMES = (
    "abs", "add_", "assign", "assign_add", "assign_sub", "at", "backward", "base",
    "block_until_ready", "bmm", "clamp", "clone", "contiguous", "copy_", "cpu", "cuda", "data",
    "detach", "dim", "div_", "double", "exp", "expand", "fill_", "flags", "float", "gather",
    "get_shape", "grad", "index_select", "log", "masked_fill", "matmul", "mm", "mul_", "norm",
    "numel", "numpy", "permute", "pow", "relu", "requires_grad", "requires_grad_", "resize",
    "retain_grad", "sigmoid", "softmax", "sqrt", "strides", "sub_", "to", "tobytes", "tofile",
    "unsqueeze", "zero_",
)  # fmt: skip


class ForeignName:
    """A descriptor for a name such as ``detach``, whose reads and writes raise AttributeError.

    The error names arraytape's counterpart of the other library's attribute.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """Return the text that ``help`` shows for the name."""
        from .other_names import counterpart

        return f"Not here: {counterpart(self.name, 'Array')}."

    def __get__(self, x: ForeignNames | None, cls: type) -> NoReturn:
        kind = f"type object {cls.__name__!r}" if x is None else f"{cls.__name__!r} object"
        message = f"{kind} has no attribute {self.name!r}"
        raise unknown_name(message, self.name, cls if x is None else x, "Array")

    def __set__(self, x: ForeignNames, value: Any) -> NoReturn:
        self.__get__(x, type(x))


class ForeignNames:
    """The base class of Array with a descriptor for each name of another library, such as ``detach``.

    A read of such a name raises AttributeError with advice.
    """

    __slots__ = ()

    def __dir__(self) -> list[str]:
        """Return the attributes of an Array, without names of other libraries, whose reads raise."""
        return [name for name in object.__dir__(self) if name not in NAMES or hasattr(self, name)]


for name in NAMES:
    setattr(ForeignNames, name, ForeignName(name))
