"""A kernel: one LLVM function that computes elements of arrays, as text; and helpers to write the text.

The parameters of a kernel are ``(bases, record, bad, block)``.  ``bases`` has the addresses of the
scratch memory and of the arguments.  ``record`` has three words for each pointer of the kernel: the
index of a base, an offset in bytes, and the bytes from one block to the next.  The text has no
addresses, so kernels of equal text are compiled once.  A kernel sets a bit of ``bad`` if a guard does
not hold.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .machine import Unsupported

WIDTH = 8  # the number of elements of a vector
UNROLLED = 64  # the maximum number of elements for which all steps of a loop are written out
HEAD = 2  # the number of words before a record's pointers: function, number of words
POINTER = 3  # the number of words of a pointer: base, offset, bytes from one block to the next
FLOATS = {4: "float", 8: "double"}


class Buffer:
    """A range of memory of a compiled program: an argument, a constant or scratch memory.

    base : the memory in which the buffer lies: SCRATCH, ARGUMENTS + i for argument i, or NOWHERE.
    offset : the bytes from the base; for NOWHERE, the absolute address.
    size : the number of bytes, if the buffer is in the scratch memory.
    """

    __slots__ = ("base", "offset", "size")

    def __init__(self, base: int, offset: int, size: int) -> None:
        self.base, self.offset, self.size = base, offset, size


# The numbers of bases: for absolute addresses, for the scratch memory, and for the first argument.
NOWHERE, SCRATCH, ARGUMENTS = 0, 1, 2


class Place(NamedTuple):
    """The position of a value in memory: its buffer, its first element's offset in bytes, its layout.

    Code that reads or writes the value is generated from it.
    """

    buffer: Buffer
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


class Pointer(NamedTuple):
    """A pointer to data that a kernel (one LLVM function) uses.

    step : the bytes from one block (some rows of an array) to the next; 0 if all blocks use the same
        data.
    """

    buffer: Buffer
    offset: int
    step: int = 0


Offset = int | str  # a number of bytes or elements: known (int), or the name of a value in the text
At = tuple[str, Offset]  # an address: the name of a pointer, and the number of bytes added to it


class Kernel:
    """The text of one LLVM function, to which methods add lines.

    pointers : Pointer -> its name in the text.
    declared : declarations of LLVM's functions that the text calls.
    block : the label of the current basic block.
    counted : whether the driver passes the number of elements to the function, as the last word of its
        record.  If not, the text contains the number.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.start: list[str] = []
        self.pointers: dict[Pointer, str] = {}
        self.declared: set[str] = set()
        self.number = 0
        self.block = "entry"
        self.counted = False

    # --- text -------------------------------------------------------------------------------------
    def new_name(self) -> str:
        self.number += 1
        return f"%t{self.number}"

    def define(self, text: str) -> str:
        """Write an instruction, and return the name of its result."""
        name = self.new_name()
        self.lines.append(f"  {name} = {text}")
        return name

    def add_line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def new_label(self) -> str:
        self.number += 1
        return f"L{self.number}"

    def begin_block(self, label: str) -> None:
        """Write a label, which begins a basic block, and make it the current block."""
        self.lines.append(f"{label}:")
        self.block = label

    def function_text(self) -> str:
        """Return the text of the function from its parameters on, without ``define`` and the name."""
        head: list[str] = []
        for k in range(len(self.pointers)):
            at = HEAD + POINTER * k
            for letter, word in zip("iox", range(at, at + POINTER), strict=True):
                head += [
                    f"  %{letter}{k}a = getelementptr i64, ptr %record, i64 {word}",
                    f"  %{letter}{k} = load i64, ptr %{letter}{k}a",
                ]
            head += [
                f"  %b{k}a = getelementptr ptr, ptr %bases, i64 %i{k}",
                f"  %b{k} = load ptr, ptr %b{k}a",
                f"  %m{k} = mul i64 %x{k}, %block",
                f"  %s{k} = add i64 %m{k}, %o{k}",
                f"  %p{k} = getelementptr i8, ptr %b{k}, i64 %s{k}",
            ]
        if self.counted:
            head += [
                f"  %counta = getelementptr i64, ptr %record, i64 {HEAD + POINTER * len(self.pointers)}",
                "  %count = load i64, ptr %counta",
            ]
        body = ["entry:", *self.start, *head, *self.lines, "  ret void", "}"]
        return "(ptr noalias %bases, ptr noalias %record, ptr noalias %bad, i64 %block) {\n" + (
            "\n".join(body)
        )

    def name_pointer(self, pointer: Pointer) -> str:
        """Return the name of a pointer in the text of the function; the same for equal pointers."""
        return self.pointers.setdefault(pointer, f"%p{len(self.pointers)}")

    def pointer_to(self, place: Place) -> At:
        """Return the address of the first element of the data at ``place``."""
        return self.name_pointer(Pointer(place.buffer, place.offset)), 0

    # --- numbers ----------------------------------------------------------------------------------
    def scale_offset(self, x: Offset, factor: int) -> Offset:
        """Return the product of an offset and a factor; write an instruction only if it is needed."""
        if isinstance(x, int):
            return x * factor
        return x if factor == 1 else self.define(f"mul i64 {x}, {factor}")

    def add_offsets(self, x: Offset, y: Offset) -> Offset:
        """Return the sum of two offsets; write an instruction only if it is needed."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.define(f"add i64 {x}, {y}")

    # --- memory -----------------------------------------------------------------------------------
    def address_at(self, at: At) -> str:
        """Return an expression for the address ``at``, a pointer and an offset, in the text.

        If needed, write an instruction that adds the offset to the pointer.
        """
        name, offset = at
        if offset == 0 and isinstance(offset, int):
            return name
        return self.define(f"getelementptr i8, ptr {name}, i64 {offset}")

    def load_elements(self, at: At, dtype: np.dtype[Any], width: int, same: bool = False) -> str:
        """Write the load of ``width`` elements, and return the name of the value.

        A boolean is a byte in memory, and of LLVM's type i1 as a value.
        same : whether the one element at the address is repeated.
        at : the address of the first element.
        width : the number of elements of a vector.
        """
        kind, address = memory_type(dtype), self.address_at(at)
        if same or width == 1:
            found = self.define(f"load {kind}, ptr {address}, align {alignment_of(dtype)}")
            if dtype.kind == "b":
                found = self.define(f"icmp ne i8 {found}, 0")
            return self.splat(found, dtype, width)
        found = self.define(f"load <{width} x {kind}>, ptr {address}, align {alignment_of(dtype)}")
        if dtype.kind == "b":
            found = self.define(f"icmp ne <{width} x i8> {found}, zeroinitializer")
        return found

    def splat(self, x: str, dtype: np.dtype[Any], width: int) -> str:
        """Return the name of a vector of ``width`` elements that are all x; x itself for width 1."""
        if width == 1:
            return x
        one, vector = value_type(dtype, 1), value_type(dtype, width)
        first = self.define(f"insertelement {vector} poison, {one} {x}, i64 0")
        return self.define(
            f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer"
        )

    def store_elements(self, x: str, at: At, dtype: np.dtype[Any], width: int) -> None:
        """Write the store of x, a value of ``width`` elements, at the address ``at``."""
        if dtype.kind == "b":
            x = self.define(f"zext {value_type(dtype, width)} {x} to {vector_of('i8', width)}")
        kind = vector_of(memory_type(dtype), width)
        self.add_line(f"store {kind} {x}, ptr {self.address_at(at)}, align {alignment_of(dtype)}")

    def copy_elements(
        self, source: At, target: At, dtype: np.dtype[Any], width: int, same: bool
    ) -> None:
        """Write a copy of ``width`` elements; ``same`` repeats the one element at ``source``.

        source, target : the addresses.
        """
        self.store_elements(self.load_elements(source, dtype, width, same), target, dtype, width)

    # --- guards -------------------------------------------------------------------------------------
    def require_not(self, condition: str, width: int) -> None:
        """Write a check: if an element of ``condition`` is true, NumPy repeats the computation.

        The code sets the lowest bit of ``%bad``, which the driver tests at the end.
        condition : the name of a boolean or of a vector of ``width`` booleans.
        """
        old = self.define("load i64, ptr %bad")
        bit = self.define(f"zext i1 {self.any_of(condition, width)} to i64")
        self.add_line(f"store i64 {self.define(f'or i64 {old}, {bit}')}, ptr %bad")

    def any_of(self, condition: str, width: int) -> str:
        """Return the name of a boolean: whether an element of the vector ``condition`` is true."""
        if width == 1:
            return condition
        self.declared.add(f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)")
        return self.define(f"call i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1> {condition})")

    # --- loops ------------------------------------------------------------------------------------
    def write_loop(self, count: Offset, width: int, body: Callable[[Offset, int], None]) -> None:
        """Write a loop over ``count`` elements in vectors of ``width``, and smaller ones at the end.

        body : writes the step for the elements from i on; its arguments are i and the vector's width.
        """
        if isinstance(count, int) and count <= max(UNROLLED if width > 1 else 4, width):
            at = 0
            while at < count:
                part = min(width, 1 << ((count - at).bit_length() - 1))
                body(at, part)
                at += part
            return
        whole: Offset = 0
        if width > 1:
            if isinstance(count, int):
                whole = count // width * width
            else:
                whole = self.define(f"and i64 {count}, {-width}")
            self.write_steps(0, whole, width, body)
        if not isinstance(count, int) or whole != count:
            self.write_steps(whole, count, 1, body)

    def write_steps(
        self, first: Offset, end: Offset, step: int, body: Callable[[Offset, int], None]
    ) -> None:
        """Write a loop with the index i from ``first`` to ``end``, in steps of ``step``.

        body : writes one step; its arguments are i and ``step``.
        """
        before, head, inside, after = (
            self.new_label(),
            self.new_label(),
            self.new_label(),
            self.new_label(),
        )
        self.add_line(f"br label %{before}")
        self.begin_block(before)
        self.add_line(f"br label %{head}")
        self.begin_block(head)
        i, following = self.new_name(), self.new_name()
        mark = len(self.lines)
        self.lines.append("")
        more = self.define(f"icmp ult i64 {i}, {end}")
        self.add_line(f"br i1 {more}, label %{inside}, label %{after}")
        self.begin_block(inside)
        body(i, step)
        self.add_line(f"{following} = add nuw nsw i64 {i}, {step}")
        self.lines[mark] = f"  {i} = phi i64 [{first}, %{before}], [{following}, %{self.block}]"
        self.add_line(f"br label %{head}")
        self.begin_block(after)

    def write_nest(
        self, axes: Sequence[Axis], pointers: Sequence[At], sizes: Sequence[int],
        body: Callable[[int, list[At], list[bool]], None],
    ) -> None:  # fmt: skip
        """Write nested loops over axes, with a vectorized innermost loop.

        pointers : the addresses of the operands' first elements.
        sizes : for each operand, the bytes of an element.
        body : writes one step.  Its arguments are the width, the operands' addresses, and for each
            operand whether one element is repeated in the whole vector.
        axes : the lengths of the axes, with the bytes of one step for each operand.
        """
        if not axes:
            body(1, [*pointers], [True] * len(pointers))
            return
        size, strides = axes[0]

        def moved(i: Offset) -> list[At]:
            return [
                (
                    name,
                    offset
                    if not stride
                    else self.add_offsets(self.scale_offset(i, stride), offset),
                )
                for (name, offset), stride in zip(pointers, strides, strict=True)
            ]

        if len(axes) > 1:
            self.write_loop(size, 1, lambda i, _: self.write_nest(axes[1:], moved(i), sizes, body))
            return
        vectors = all(s in (0, size) for s, size in zip(strides, sizes, strict=True))
        same = [stride == 0 for stride in strides]
        self.write_loop(size, WIDTH if vectors else 1, lambda i, width: body(width, moved(i), same))


class Axis(NamedTuple):
    """An axis of nested loops: its number of steps, and for each operand the bytes of one step."""

    size: Offset
    strides: tuple[int, ...]


def joined_axes(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[Axis]:
    """Return the axes of loops over operands of one shape, those with the longest steps first.

    If two axes have no gap between them in any operand, they are joined to one axis.
    strides : the strides of each operand.
    """
    axes = [
        Axis(count, tuple([of[k] for of in strides])) for k, count in enumerate(shape) if count != 1
    ]
    axes.sort(key=lambda axis: [-abs(stride) for stride in axis.strides])
    found: list[Axis] = []
    for axis in axes:
        last = found[-1] if found else None
        if last is not None and all(
            outer == inner * int(axis.size)
            for outer, inner in zip(last.strides, axis.strides, strict=True)
        ):
            found[-1] = Axis(int(last.size) * int(axis.size), axis.strides)
        else:
            found.append(axis)
    return found


# --- types ------------------------------------------------------------------------------------------
def vector_of(kind: str, width: int) -> str:
    """Return LLVM's type of ``width`` elements of a type: the type itself for a width of 1."""
    return kind if width == 1 else f"<{width} x {kind}>"


def memory_type(dtype: np.dtype[Any]) -> str:
    """Return LLVM's type of an element in memory: a float, or an integer of the same size."""
    if dtype.kind == "f" and dtype.itemsize in FLOATS:
        return FLOATS[dtype.itemsize]
    if dtype.kind not in "biufc" or dtype.itemsize > 16 or dtype.char in "gG":
        raise Unsupported(f"values of dtype {dtype}")
    return f"i{8 * dtype.itemsize}"


def value_type(dtype: np.dtype[Any], width: int) -> str:
    """Return LLVM's type of a value, or of a vector of ``width`` values."""
    return vector_of("i1" if dtype.kind == "b" else memory_type(dtype), width)


def alignment_of(dtype: np.dtype[Any]) -> int:
    return int(dtype.alignment)


def number_text(x: Any, dtype: np.dtype[Any], width: int) -> str:
    """Return the text of a constant, or of a vector of ``width`` equal constants, in LLVM's syntax.

    width : the number of elements; 1 for a single constant.
    """
    value = np.asarray(x).astype(dtype)
    if dtype.kind == "b":
        one = "true" if value else "false"
    elif dtype.kind == "f" and dtype.itemsize in FLOATS:
        (bits,) = struct.unpack("<Q", struct.pack("<d", float(value)))
        one = f"0x{bits:016X}"
    elif dtype.kind in "iu":
        one = str(int(value))
    else:  # the bits of a complex or float16 number
        one = str(int.from_bytes(value.tobytes(), sys.byteorder))
    kind = value_type(dtype, 1)
    return one if width == 1 else "<" + ", ".join([f"{kind} {one}"] * width) + ">"
