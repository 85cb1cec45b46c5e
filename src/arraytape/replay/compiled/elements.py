"""LLVM's instructions for those of NumPy's ufuncs whose bits a few instructions can reproduce.

For other ufuncs, such as exp, machine code calls NumPy's own C loops (``inner_loops.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .kernel import Kernel, memory_type, number_text, value_type, vector_of
from .machine import Unsupported

# A writer adds instructions to a kernel, and returns the name of the result.  Its arguments are the
# kernel, the dtype of the operands, the number of elements in a vector, and the names of the operands.
Writer = Callable[[Kernel, np.dtype[Any], int, list[str]], str]


def instruction(floats: str, integers: str = "", bools: str = "") -> Writer:
    """Return a function that writes a binary LLVM instruction and returns the result's name.

    floats, integers, bools : the instruction's name for operands of this kind.  If the name is "", the
        function raises Unsupported.
    """

    def write(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
        name = {"f": floats, "i": integers, "u": integers, "b": bools}.get(dtype.kind, "")
        if not name or (dtype.kind == "f" and memory_type(dtype)[0] == "i"):
            raise Unsupported(f"no instruction for {dtype}")
        return kernel.define(f"{name} {value_type(dtype, width)} {args[0]}, {args[1]}")

    return write


def compare_instruction(floats: str, integers: str) -> Writer:
    """Return a function that writes a comparison and returns the result's name.

    floats, integers : LLVM's name of the comparison for operands of this kind.
    """

    def write(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
        sign = "" if integers in ("eq", "ne") else "s" if dtype.kind == "i" else "u"
        text = f"fcmp {floats}" if dtype.kind == "f" else f"icmp {sign}{integers}"
        if dtype.kind == "c" or (dtype.kind == "f" and memory_type(dtype)[0] == "i"):
            raise Unsupported(f"no instruction for {dtype}")
        return kernel.define(f"{text} {value_type(dtype, width)} {args[0]}, {args[1]}")

    return write


def intrinsic(name: str) -> Writer:
    """Return a function that writes a call of LLVM's function ``llvm.name``; operands are floats."""

    def write(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
        kind = value_type(dtype, width)
        if dtype.kind != "f" or memory_type(dtype)[0] == "i":
            raise Unsupported(f"no instruction for {dtype}")
        suffix = ("" if width == 1 else f"v{width}") + f"f{8 * dtype.itemsize}"
        kernel.declared.add(f"declare {kind} @llvm.{name}.{suffix}({kind})")
        return kernel.define(f"call {kind} @llvm.{name}.{suffix}({kind} {args[0]})")

    return write


def floats_only(text: str) -> Writer:
    """Return a function that writes a unary instruction; it raises Unsupported for other than floats.

    text : the instruction, with {kind} for LLVM's type, {x} for the operand and {one} for 1.0.
    """

    def write(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
        if dtype.kind != "f" or memory_type(dtype)[0] == "i":
            raise Unsupported(f"no instruction for {dtype}")
        one = number_text(1.0, dtype, width)
        return kernel.define(text.format(kind=value_type(dtype, width), x=args[0], one=one))

    return write


def write_negative(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
    kind = value_type(dtype, width)
    if dtype.kind in "iu":
        return kernel.define(f"sub {kind} {number_text(0, dtype, width)}, {args[0]}")
    return floats_only("fneg {kind} {x}")(kernel, dtype, width, args)


def write_square(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
    return instruction("fmul", "mul")(kernel, dtype, width, [args[0], args[0]])


def write_logical_not(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
    """Write the code of NumPy's ``logical_not`` for booleans; raise Unsupported for other dtypes.

    kernel : the LLVM function, to which lines are added.
    width : the number of elements of a vector.
    args : the name of the operand.
    """
    if dtype.kind != "b":
        raise Unsupported(f"logical_not of {dtype}")
    return kernel.define(
        f"xor {value_type(dtype, width)} {args[0]}, {number_text(True, dtype, width)}"
    )


def extreme(name: str) -> Writer:
    """Return a function that writes the code of NumPy's ufunc ``name``, "maximum" or "minimum".

    If an operand is NaN, the code returns the first NaN.  Of 0.0 and -0.0, the code returns the same
    operand as NumPy, which ``chooses_first_zero`` determines.
    """

    def write(kernel: Kernel, dtype: np.dtype[Any], width: int, args: list[str]) -> str:
        if dtype.kind != "f" or memory_type(dtype)[0] == "i":
            raise Unsupported(f"{name} of {dtype}")
        first = chooses_first_zero(name, dtype)
        if first is None:
            raise Unsupported(f"{name} of zeros")
        kind, bits = value_type(dtype, width), vector_of("i1", width)
        sign = {"maximum": "ogt", "minimum": "olt"}[name]
        sign = sign.replace("t", "e") if first else sign
        taken = kernel.define(f"fcmp {sign} {kind} {args[0]}, {args[1]}")
        is_nan = kernel.define(f"fcmp uno {kind} {args[0]}, {args[0]}")
        taken = kernel.define(f"or {bits} {taken}, {is_nan}")
        return kernel.define(f"select {bits} {taken}, {kind} {args[0]}, {kind} {args[1]}")

    return write


@functools.cache
def chooses_first_zero(name: str, dtype: np.dtype[Any]) -> bool | None:
    """Return True if NumPy's maximum or minimum of 0.0 and -0.0 returns the first operand.

    Return False for the second operand, and None if that depends on the element's position in the array.
    """
    found = set()
    for count in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 100):
        for zero in (0.0, -0.0):
            x, y = np.full(count, zero, dtype), np.full(count, -zero, dtype)
            found |= {*(np.signbit(getattr(np, name)(x, y)) == np.signbit(x)).tolist()}
    return found.pop() if len(found) == 1 else None


WRITERS: dict[str, Writer] = {
    "add": instruction("fadd", "add", "or"),
    "subtract": instruction("fsub", "sub"),
    "multiply": instruction("fmul", "mul", "and"),
    "divide": instruction("fdiv"),
    "negative": write_negative,
    "positive": lambda kernel, dtype, width, args: args[0],
    "square": write_square,
    "reciprocal": floats_only("fdiv {kind} {one}, {x}"),
    "absolute": intrinsic("fabs"),
    "fabs": intrinsic("fabs"),
    "sqrt": intrinsic("sqrt"),
    "less": compare_instruction("olt", "lt"),
    "less_equal": compare_instruction("ole", "le"),
    "greater": compare_instruction("ogt", "gt"),
    "greater_equal": compare_instruction("oge", "ge"),
    "equal": compare_instruction("oeq", "eq"),
    "not_equal": compare_instruction("une", "ne"),
    "isnan": floats_only("fcmp uno {kind} {x}, {x}"),
    "maximum": extreme("maximum"),
    "minimum": extreme("minimum"),
    "logical_not": write_logical_not,
    "logical_and": instruction("", "", "and"),
    "logical_or": instruction("", "", "or"),
    "logical_xor": instruction("", "", "xor"),
    "bitwise_and": instruction("", "and", "and"),
    "bitwise_or": instruction("", "or", "or"),
    "bitwise_xor": instruction("", "xor", "xor"),
}


def write_conversion(
    kernel: Kernel, x: str, old: np.dtype[Any], new: np.dtype[Any], width: int
) -> str:
    """Write the conversion of the value x, as by ``astype``; return the name of the result.

    Raise Unsupported if LLVM cannot convert with NumPy's bits.
    kernel : the LLVM function, to which lines are added.
    old, new : the dtypes.
    width : the number of elements of a vector.
    """
    if old == new:
        return x
    if new.kind == "c" and old.kind == "f":  # the lower half has the real part, the upper half is 0
        half, whole = f"i{8 * old.itemsize}", f"i{8 * new.itemsize}"
        bits = kernel.define(f"bitcast {value_type(old, width)} {x} to {vector_of(half, width)}")
        return kernel.define(f"zext {vector_of(half, width)} {bits} to {vector_of(whole, width)}")
    source, target = value_type(old, width), value_type(new, width)
    return kernel.define(f"{conversion(old, new)} {source} {x} to {target}")


def write_complex_part(
    kernel: Kernel, x: str, old: np.dtype[Any], new: np.dtype[Any], width: int, part: int
) -> str:
    """Write the real (part 0) or imaginary part (1) of the complex value x; return the part's name.

    kernel : the LLVM function, to which lines are added.
    old, new : the dtypes of x and of the part.
    width : the number of elements of a vector.
    """
    pairs = f"<{2 * width} x {memory_type(new)}>"
    x = kernel.define(f"bitcast {value_type(old, width)} {x} to {pairs}")
    if width == 1:
        return kernel.define(f"extractelement {pairs} {x}, i64 {part}")
    chosen = ", ".join([f"i32 {2 * k + part}" for k in range(width)])
    return kernel.define(f"shufflevector {pairs} {x}, {pairs} poison, <{width} x i32> <{chosen}>")


def conversion(old: np.dtype[Any], new: np.dtype[Any]) -> str:
    """Return the name of LLVM's instruction that converts ``old`` to ``new``, or raise Unsupported."""
    if new.kind == "c" and old.kind == "f" and 2 * old.itemsize == new.itemsize:
        return "zext"
    for dtype in (old, new):
        if dtype.kind not in "biuf" or (dtype.kind == "f" and memory_type(dtype)[0] == "i"):
            raise Unsupported(f"conversion of {old} to {new}")
    if new.kind == "f":
        if old.kind == "f":
            return "fpext" if new.itemsize > old.itemsize else "fptrunc"
        return "sitofp" if old.kind == "i" else "uitofp"
    if old.kind == "f" or new.kind == "b":
        raise Unsupported(f"conversion of {old} to {new}")
    if old.kind == "b":
        return "zext"
    if new.itemsize == old.itemsize:
        return "bitcast"
    if new.itemsize < old.itemsize:
        return "trunc"
    return "sext" if old.kind == "i" else "zext"
