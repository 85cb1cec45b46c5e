"""The driver: machine code that Python calls as a function, and that runs the records of a program.

A compiled program is a table, an array of words (int64): the address of the scratch memory, the number
of arguments, the index of the first record, the layout of each argument, and the records.  A record
describes one call that the driver makes.  Its first word is the address of the C function to call, and
its second word is the record's number of words.  A word 0 ends a list of records.

Before the driver reads any data, it compares the class, alignment, rank, dtype, shape and strides of
each argument with the argument's layout.  So machine code does not read or write beyond an array.

There are three kinds of records:

    kernels         for a kernel of ``kernel.py``: its pointers and, if needed, the number of elements
    inner loops     a call of the C loop of a NumPy ufunc: see ``loop_record``
    blocks          records that are run again for each block of an array: see ``block_record``
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .inner_loops import InnerLoop
from .kernel import HEAD, POINTER
from .machine import COMPILING, Code, Unsupported, flags_of_this_machine

MOST_ARGUMENTS = 1000
MOST_AXES = 32  # the maximum number of loops around a call of one of NumPy's loops
MOST_OPERANDS = 8  # the maximum number of operands of one of NumPy's loops
POINTERS = 9  # the index of the word of a loop record at which its pointers begin
# Results of a compiled program: its results are right, or NumPy has to compute them again.
NOTHING_UNUSUAL, FALLBACK = None, True

# Bits of the registers with floating-point exceptions: x86's MXCSR, aarch64's FPSR.  Underflow has its
# own result, because NumPy by default ignores underflow, but warns of the other exceptions.
FLAGS = {
    "x86": {"all": 0x3F, "warned": 0x0D, "underflow": 0x10},
    "arm": {"all": 0x9F, "warned": 0x07, "underflow": 0x08},
}
READ_FLAGS = {
    "x86": """
define internal i32 @read_flags() {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %all = load i32, ptr %place
  ret i32 %all
}
define internal void @clear_flags() {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %all = load i32, ptr %place
  %none = and i32 %all, KEPT
  store i32 %none, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
""",
    "arm": """
define internal i32 @read_flags() {
  %all = call i64 @llvm.aarch64.get.fpsr()
  %flags = trunc i64 %all to i32
  ret i32 %flags
}
define internal void @clear_flags() {
  %all = call i64 @llvm.aarch64.get.fpsr()
  %none = and i64 %all, KEPT
  call void @llvm.aarch64.set.fpsr(i64 %none)
  ret void
}
declare i64 @llvm.aarch64.get.fpsr()
declare void @llvm.aarch64.set.fpsr(i64)
""",
}

DRIVER = """
define internal void @note_flags(ptr %bad) alwaysinline {
  %flags = call i32 @read_flags()
  %wide = zext i32 %flags to i64
  %shifted = shl i64 %wide, 8
  %old = load i64, ptr %bad
  %new = or i64 %old, %shifted
  store i64 %new, ptr %bad
  ret void
}

define internal void @walk(ptr %bases, ptr %first, ptr %bad, i64 %block) {
entry:
  br label %head
head:
  %record = phi ptr [%first, %entry], [%next, %run]
  %function = load ptr, ptr %record
  %end = icmp eq ptr %function, null
  br i1 %end, label %done, label %run
run:
  call void %function(ptr %bases, ptr %record, ptr %bad, i64 %block)
  %sizeat = getelementptr i64, ptr %record, i64 1
  %size = load i64, ptr %sizeat
  %next = getelementptr i64, ptr %record, i64 %size
  br label %head
done:
  ret void
}

define void @run_blocks(ptr %bases, ptr %record, ptr %bad, i64 %none) {
entry:
  %countat = getelementptr i64, ptr %record, i64 2
  %count = load i64, ptr %countat
  %first = getelementptr i64, ptr %record, i64 3
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void @walk(ptr %bases, ptr %first, ptr %bad, i64 %i)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @call_loop(ptr %bases, ptr %record, ptr %bad, i64 %block) {
entry:
  %pointers = alloca [8 x ptr], align 16
  %given = alloca [8 x ptr], align 16
  %counters = alloca [32 x i64], align 16
  %kat = getelementptr i64, ptr %record, i64 2
  %k = load i64, ptr %kat
  %fat = getelementptr i64, ptr %record, i64 3
  %function = load ptr, ptr %fat
  %dataat = getelementptr i64, ptr %record, i64 4
  %data = load ptr, ptr %dataat
  %rankat = getelementptr i64, ptr %record, i64 5
  %rank = load i64, ptr %rankat
  %dimsplace = getelementptr i64, ptr %record, i64 6
  %dimsat = load i64, ptr %dimsplace
  %dims = getelementptr i64, ptr %record, i64 %dimsat
  %stepsplace = getelementptr i64, ptr %record, i64 7
  %stepsat = load i64, ptr %stepsplace
  %steps = getelementptr i64, ptr %record, i64 %stepsat
  %outerplace = getelementptr i64, ptr %record, i64 8
  %outerat = load i64, ptr %outerplace
  %outer = getelementptr i64, ptr %record, i64 %outerat
  call void @llvm.memset.p0.i64(ptr %counters, i8 0, i64 256, i1 false)
  br label %fill
fill:
  %j = phi i64 [0, %entry], [%j1, %fill]
  %wordof = mul i64 %j, 3
  %word = add i64 %wordof, 9
  %at0 = getelementptr i64, ptr %record, i64 %word
  %base = load i64, ptr %at0
  %at1 = getelementptr i64, ptr %at0, i64 1
  %offset = load i64, ptr %at1
  %at2 = getelementptr i64, ptr %at0, i64 2
  %step = load i64, ptr %at2
  %moved = mul i64 %step, %block
  %sum = add i64 %moved, %offset
  %baseat = getelementptr ptr, ptr %bases, i64 %base
  %start = load ptr, ptr %baseat
  %pointer = getelementptr i8, ptr %start, i64 %sum
  %slot = getelementptr ptr, ptr %pointers, i64 %j
  store ptr %pointer, ptr %slot
  %j1 = add i64 %j, 1
  %morefill = icmp ult i64 %j1, %k
  br i1 %morefill, label %fill, label %ready
ready:
  ; Some of NumPy's loops clear the flags, so they are noted before.
  call void @note_flags(ptr %bad)
  br label %call
call:
  ; The loops of generalized ufuncs move the pointers that they are given.
  call void @llvm.memcpy.p0.p0.i64(ptr %given, ptr %pointers, i64 64, i1 false)
  call void %function(ptr %given, ptr %dims, ptr %steps, ptr %data)
  br label %axis
axis:
  %d = phi i64 [%rank, %call], [%axisof, %overflow]
  %none = icmp eq i64 %d, 0
  br i1 %none, label %done, label %advance
advance:
  %axisof = sub i64 %d, 1
  %counterat = getelementptr i64, ptr %counters, i64 %axisof
  %counter = load i64, ptr %counterat
  %counter1 = add i64 %counter, 1
  %width = add i64 %k, 1
  %rowat = mul i64 %axisof, %width
  %row = getelementptr i64, ptr %outer, i64 %rowat
  %count = load i64, ptr %row
  %inside = icmp ult i64 %counter1, %count
  %back = sub i64 0, %counter
  %factor = select i1 %inside, i64 1, i64 %back
  %kept = select i1 %inside, i64 %counter1, i64 0
  store i64 %kept, ptr %counterat
  br label %shift
shift:
  %s = phi i64 [0, %advance], [%s1, %shift]
  %s1 = add i64 %s, 1
  %strideat = getelementptr i64, ptr %row, i64 %s1
  %stride = load i64, ptr %strideat
  %by = mul i64 %stride, %factor
  %slotat = getelementptr ptr, ptr %pointers, i64 %s
  %old = load ptr, ptr %slotat
  %new = getelementptr i8, ptr %old, i64 %by
  store ptr %new, ptr %slotat
  %moreshift = icmp ult i64 %s1, %k
  br i1 %moreshift, label %shift, label %shifted
shifted:
  br i1 %inside, label %call, label %overflow
overflow:
  br label %axis
done:
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

DRIVE = """
define ptr @NAME(ptr %self, ptr %arguments, i64 %count) {
entry:
  %bases = alloca [1024 x ptr], align 64
  %bad = alloca i64
  %tableat = getelementptr i8, ptr %self, i64 DATA
  %table = load ptr, ptr %tableat
  %scratch = load ptr, ptr %table
  store ptr null, ptr %bases
  %base1 = getelementptr ptr, ptr %bases, i64 1
  store ptr %scratch, ptr %base1
  %base2 = getelementptr ptr, ptr %bases, i64 2
  %wantedat = getelementptr i64, ptr %table, i64 1
  %wanted = load i64, ptr %wantedat
  %layouts = getelementptr i64, ptr %table, i64 3
  %fits = icmp eq i64 %wanted, %count
  br i1 %fits, label %begin, label %unusual
begin:
  %some = icmp ne i64 %count, 0
  br i1 %some, label %argument, label %go
argument:
  %i = phi i64 [0, %begin], [%i1, %checked]
  %layout = phi ptr [%layouts, %begin], [%nextlayout, %checked]
  %xat = getelementptr ptr, ptr %arguments, i64 %i
  %x = load ptr, ptr %xat
  %typeat = getelementptr i8, ptr %x, i64 TYPE
  %type = load i64, ptr %typeat
  %isarray = icmp eq i64 %type, NDARRAY
  br i1 %isarray, label %array, label %unusual
array:
  %dataat = getelementptr i8, ptr %x, i64 DATA
  %data = load ptr, ptr %dataat
  %to = getelementptr ptr, ptr %base2, i64 %i
  store ptr %data, ptr %to
  %mask = load i64, ptr %layout
  %bits = ptrtoint ptr %data to i64
  %apart = and i64 %bits, %mask
  %aligned = icmp eq i64 %apart, 0
  %rankat = getelementptr i8, ptr %x, i64 RANK
  %rank32 = load i32, ptr %rankat
  %rank = zext i32 %rank32 to i64
  %wantedrankat = getelementptr i64, ptr %layout, i64 1
  %wantedrank = load i64, ptr %wantedrankat
  %samerank = icmp eq i64 %rank, %wantedrank
  %dtypeat = getelementptr i8, ptr %x, i64 DTYPE
  %dtype = load ptr, ptr %dtypeat
  %numberat = getelementptr i8, ptr %dtype, i64 NUMBER
  %number32 = load i32, ptr %numberat
  %number = zext i32 %number32 to i64
  %wantednumberat = getelementptr i64, ptr %layout, i64 2
  %wantednumber = load i64, ptr %wantednumberat
  %samenumber = icmp eq i64 %number, %wantednumber
  %orderat = getelementptr i8, ptr %dtype, i64 ORDER
  %order = load i8, ptr %orderat
  %native = icmp ne i8 %order, SWAPPED
  %fit1 = and i1 %aligned, %samerank
  %fit2 = and i1 %samenumber, %native
  %fit = and i1 %fit1, %fit2
  br i1 %fit, label %axes, label %unusual
axes:
  %shapeat = getelementptr i8, ptr %x, i64 SHAPE
  %shape = load ptr, ptr %shapeat
  %stridesat = getelementptr i8, ptr %x, i64 STRIDES
  %strides = load ptr, ptr %stridesat
  %pairs = getelementptr i64, ptr %layout, i64 3
  br label %axis
axis:
  %k = phi i64 [0, %axes], [%k1, %sameaxis]
  %moreaxes = icmp ult i64 %k, %rank
  br i1 %moreaxes, label %compare, label %checked
compare:
  %sizeat = getelementptr i64, ptr %shape, i64 %k
  %size = load i64, ptr %sizeat
  %strideat = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %strideat
  %twice = mul i64 %k, 2
  %pair = getelementptr i64, ptr %pairs, i64 %twice
  %wantedsize = load i64, ptr %pair
  %wantedstrideat = getelementptr i64, ptr %pair, i64 1
  %wantedstride = load i64, ptr %wantedstrideat
  %samesize = icmp eq i64 %size, %wantedsize
  %samestride = icmp eq i64 %stride, %wantedstride
  %same = and i1 %samesize, %samestride
  br i1 %same, label %sameaxis, label %unusual
sameaxis:
  %k1 = add i64 %k, 1
  br label %axis
checked:
  %words = mul i64 %rank, 2
  %nextlayout = getelementptr i64, ptr %pairs, i64 %words
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %count
  br i1 %more, label %argument, label %go
go:
  %firstat = getelementptr i64, ptr %table, i64 2
  %firstword = load i64, ptr %firstat
  %first = getelementptr i64, ptr %table, i64 %firstword
  store i64 0, ptr %bad
  RELEASE
  call void @clear_flags()
  call void @walk(ptr %bases, ptr %first, ptr %bad, i64 0)
  call void @note_flags(ptr %bad)
  call void @clear_flags()
  RETAKE
  %found = load i64, ptr %bad
  %failed = and i64 %found, WARNED
  %fails = icmp ne i64 %failed, 0
  %under = and i64 %found, UNDERFLOW
  %underflow = icmp ne i64 %under, 0
  %mild = select i1 %underflow, ptr inttoptr (i64 FALSE to ptr), ptr inttoptr (i64 NONE to ptr)
  br i1 %fails, label %unusual, label %usual
unusual:
  br label %usual
usual:
  %result = phi ptr [%mild, %go], [inttoptr (i64 TRUE to ptr), %unusual]
  COUNT_REFERENCE
  ret ptr %result
}
"""


class MethodDef(ctypes.Structure):
    """CPython's struct PyMethodDef, which describes a function written in C."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


FASTCALL = 0x80  # METH_FASTCALL: the function gets an array of the arguments, and their number


class Table(np.ndarray[Any, Any]):
    """The words of a compiled program as an int64 array; the module's docstring lists them.

    kept : objects that must live as long as the table, such as the machine code.
    """

    kept: Any = None


def driver() -> Code:
    """Return the machine code of the driver, a function that runs any compiled program; made once."""
    # Two threads at once would compile two drivers.  The one that is not cached would be freed, although
    # programs use its addresses.
    with COMPILING:
        return compiled_driver()


@functools.cache
def compiled_driver() -> Code:
    """Return the driver (the function that runs compiled programs), compiled for this processor."""
    return Code(driver_text(flags_of_this_machine() or ""), kept=False)


def driver_text(machine: str) -> str:
    """Return the text of the driver, which runs compiled programs, in LLVM's language.

    The text has addresses of this process.
    machine : "x86" or "arm".
    """
    flags = FLAGS[machine]
    # Before CPython 3.12 made None, True and False immortal, a function had to add a reference.
    counted = (
        ""
        if sys.version_info >= (3, 12)
        else "%rc = load i64, ptr %result\n  %rc1 = add i64 %rc, 1\n  store i64 %rc1, ptr %result"
    )
    words = {
        "COUNT_REFERENCE": counted,
        "NDARRAY": id(np.ndarray),
        "NONE": id(NOTHING_UNUSUAL),
        "TRUE": id(True),
        "FALSE": id(False),
        "TYPE": object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p),
        **offsets_of_fields(),
        "SWAPPED": ord(">" if sys.byteorder == "little" else "<"),
        "WARNED": 0xFF | flags["warned"] << 8,
        "UNDERFLOW": flags["underflow"] << 8,
        "KEPT": ~flags["all"] & 0xFFFFFFFF,
    }
    # The text has two functions; ``drive_released`` lets other threads of Python run during the call.
    save, restore = [
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        for name in ("PyEval_SaveThread", "PyEval_RestoreThread")
    ]
    release = f"%state = call ptr inttoptr (i64 {save} to ptr)()"
    retake = f"call void inttoptr (i64 {restore} to ptr)(ptr %state)"
    holding = DRIVE.replace("NAME", "drive").replace("RELEASE", "").replace("RETAKE", "")
    releasing = DRIVE.replace("NAME", "drive_released").replace("RELEASE", release)
    text = READ_FLAGS[machine] + DRIVER + holding + releasing.replace("RETAKE", retake)
    for name, value in words.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    return text


@functools.cache
def offsets_of_fields() -> dict[str, int]:
    """Return the offsets in bytes of fields of PyArrayObject and PyArray_Descr.

    The driver, the machine code that runs compiled programs, reads the fields there
    (numpy/ndarraytypes.h).  Raise Unsupported if the fields at these offsets differ from the attributes
    of some arrays, as they may in another NumPy.
    """
    start, word = object.__basicsize__, ctypes.sizeof(ctypes.c_void_p)
    fields = ("DATA", "RANK", "SHAPE", "STRIDES", "BASE", "DTYPE")
    found = {name: start + i * word for i, name in enumerate(fields)}
    found |= {"ORDER": start + word + 2, "NUMBER": start + word + 4}  # fields of a dtype
    arrays: list[np.ndarray[Any, Any]] = [
        np.empty(3), np.zeros((2, 5), np.int8), np.empty(9)[4:], np.ones((2, 3, 4), "c16").T,
        np.empty((), ">f4"), np.zeros(2, np.bool_),
    ]  # fmt: skip
    for x in arrays:
        at = {name: id(x) + found[name] for name in fields}
        dtype = ctypes.c_void_p.from_address(at["DTYPE"]).value
        rank = ctypes.c_int.from_address(at["RANK"]).value
        same = dtype == id(x.dtype) and rank == x.ndim
        same = same and ctypes.c_ssize_t.from_address(at["DATA"]).value == x.ctypes.data
        for name, values in (("SHAPE", x.shape), ("STRIDES", x.strides)) if same else ():
            words = ctypes.cast(
                ctypes.c_void_p.from_address(at[name]), ctypes.POINTER(ctypes.c_ssize_t)
            )
            same = same and tuple(words[: x.ndim]) == values
        if not same or not has_known_fields(x.dtype, found):
            raise Unsupported("NumPy's arrays have another layout")
    return {name: found[name] for name in (*fields, "ORDER", "NUMBER") if name != "BASE"}


def has_known_fields(dtype: np.dtype[Any], offsets: Mapping[str, int]) -> bool:
    """Return True if the number and byte order of a dtype lie at these offsets in its C struct."""
    number = ctypes.c_int.from_address(id(dtype) + offsets["NUMBER"]).value
    order = ctypes.c_char.from_address(id(dtype) + offsets["ORDER"]).value
    return number == dtype.num and order.decode() == dtype.byteorder


def layout_words(
    dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int], is_aligned: bool = True
) -> list[int]:
    """Return the layout of an argument as words: alignment mask, rank, dtype number, sizes, strides.

    The driver, which runs compiled programs, compares each array that it gets with these words.  An
    address is aligned if it has no bit of the mask.  Size and stride of each axis are adjacent.
    """
    pairs = [word for pair in zip(shape, strides, strict=True) for word in pair]
    return [dtype.alignment - 1 if is_aligned else 0, len(shape), dtype.num, *pairs]


def table_of(
    scratch: int, layouts: Sequence[Sequence[int]], records: Sequence[Sequence[int]]
) -> Table:
    """Return the words of a compiled program as an array.

    The driver, the machine code that runs all programs, reads this array.
    scratch : the address of the scratch memory.
    layouts : ``layout_words`` of each argument.
    records : the words of each record (a call that the driver makes).
    """
    given = [word for layout in layouts for word in layout]
    inner = [word for record in records for word in record]
    words = [scratch, len(layouts), 3 + len(given), *given, *inner, 0]
    return np.array(words, np.int64).view(Table)


def python_function(table: Table, released: bool = False) -> Callable[..., bool | None]:
    """Return a Python function that runs a compiled program on NumPy arrays.

    Its arguments are the program's inputs and arrays for the results.  It returns None if nothing
    unusual happened, True if the results must not be used, and False if a result underflowed.
    table : the program as an array of words; the function keeps it alive.
    released : True to make a function that releases the GIL in a call; each call then needs its own
        scratch memory.
    """
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    method = MethodDef(
        b"compiled", driver().address_of("drive_released" if released else "drive"), FASTCALL, None
    )
    table.kept = table.kept, method
    return make(ctypes.addressof(method), table, None)  # type: ignore[no-any-return]


# --- records ----------------------------------------------------------------------------------------
def kernel_record(function: int, pointers: Sequence[int], count: int | None) -> list[int]:
    """Return the words (ints) of a record that makes the driver call a kernel, a compiled loop.

    function : the address of the kernel.
    pointers : three words for each pointer of the kernel: the number of an argument or of the scratch
        memory, an offset there in bytes, and the bytes from one block of rows to the next.
    count : the number of elements, or None if the kernel's code contains that number.
    """
    words = [*pointers] if count is None else [*pointers, count]
    return [function, HEAD + len(words), *words]


def loop_record(
    loop: InnerLoop, pointers: Sequence[int], dims: Sequence[int], steps: Sequence[int],
    outer: Sequence[tuple[int, Sequence[int]]],
) -> list[int]:  # fmt: skip
    """Return the words of a record that makes the driver call ``loop``, the C loop of a ufunc.

    pointers : three words for each operand: the number of an argument or of the scratch memory, an
        offset there in bytes, and the bytes from one block of rows to the next.
    dims, steps : the arguments ``dimensions`` and ``steps`` of the loop.
    outer : a pair (size, stride of each operand) for each axis over which the call is repeated, the
        outermost first.
    """
    count = len(pointers) // POINTER
    if count > MOST_OPERANDS or len(outer) > MOST_AXES:
        raise Unsupported("a call with too many operands or axes")
    dims_at = POINTERS + len(pointers)
    steps_at = dims_at + len(dims)
    outer_at = steps_at + len(steps)
    rows = [word for size, strides in outer for word in (size, *strides)]
    return [
        driver().address_of("call_loop"), outer_at + len(rows), count, loop.function, loop.data,
        len(outer), dims_at, steps_at, outer_at, *pointers, *dims, *steps, *rows,
    ]  # fmt: skip


def block_record(count: int, records: Sequence[Sequence[int]]) -> list[int]:
    """Return a record, as a list of ints, that runs ``records`` once for each of ``count`` blocks.

    A record describes calls that the driver makes. A block is a part of the arrays, small enough for the
    cache.
    """
    inner = [word for record in records for word in record]
    return [driver().address_of("run_blocks"), 3 + len(inner) + 1, count, *inner, 0]
