"""Lowering: the nodes of a program become records (``driver.py``) that machine code runs.

A record describes one call that the driver makes: of a kernel, or of the C loop of a NumPy ufunc.
Elementwise nodes of one shape are first collected in a ``Group``, so that one kernel computes them and
intermediate values stay in registers.  The records of a group are written as soon as a node outside of
the group needs one of its values.  A ``Place`` says where in memory the data of a value lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._util.blocks import Quiet
from ..passes.nodes import like, packed, same_layout
from ..passes.simplify import MASKED, is_basic, mapped
from ..passes.sums_by_blas import DOT
from ..passes.ufunc_calls import CASTS, ufunc_of
from ..program import CONSTANT, Guard, Node, Operand, Program, operands
from ..text.kept_memory import MOST
from .checks import BELOW, NO_TRUE, with_element_checks
from .driver import (
    MOST_ARGUMENTS,
    block_record,
    kernel_record,
    layout_words,
    loop_record,
    python_function,
    table_of,
)
from .elements import WRITERS, Writer, conversion, write_complex_part, write_conversion
from .inner_loops import InnerLoop, inner_loop
from .kernel import (
    ARGUMENTS,
    FLOATS,
    NOWHERE,
    SCRATCH,
    At,
    Axis,
    Buffer,
    Kernel,
    Offset,
    Place,
    Pointer,
    joined_axes,
    memory_type,
    number_text,
    value_type,
    vector_of,
)
from .machine import Code, Unsupported

BLOCK = 2048  # the number of elements in a block, if a large group has calls of NumPy's loops
MEMBERS = 48  # more nodes are divided among kernels: LLVM's time grows faster than their number
LARGE_WORK = 1 << 16  # a program that computes at least so many elements releases the GIL
LINE = 64  # the number of bytes of a cache line, to which scratch memory is aligned
PAGE = 4096  # the number of bytes of a page, after which the places in a cache repeat
INTEGER = np.dtype(np.int64)
# In ``Lowering.last``, the number of values that are needed until the end: above all nodes' numbers.
ALWAYS = 1 << 60
# Ops that only arrange data.  Their result is a view, or a copy if no view has the result's layout.
ARRANGES = frozenset((
    "broadcast_to", "broadcast_view", "contiguous", "diagonal_view", "expand_dims", "flip", "getitem",
    "imag_view", "laid_out", "matrix_transpose", "moveaxis", "permute_dims", "read_only_view",
    "real_view", "reshape", "reshaped", "squeeze", "stop_gradient",
))  # fmt: skip
REDUCTIONS: dict[str, np.ufunc] = {
    "sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply,
    "any": np.logical_or, "all": np.logical_and,
}  # fmt: skip
# The initial values of reductions; max and min have none.
FIRST = {"sum": 0, "prod": 1, "any": 0, "all": 1}
# (op, True for floats) -> LLVM's instruction.  Sums of integers wrap around, as in NumPy.
COMBINES = {
    ("sum", True): "fadd", ("sum", False): "add", ("prod", True): "fmul", ("prod", False): "mul",
}  # fmt: skip
PAIRWISE = 8  # NumPy sums so many contiguous elements, or more, with several partial sums
SHORT = 64  # runs of so many elements take longer than the calls of NumPy's loop
RUNNING = {"cumulative_sum": np.add, "cumulative_prod": np.multiply}
FAST_EXPONENTS = (-1, 0, 0.5, 1, 2)  # for these, the operator ``**`` calls other ufuncs than power
PARTS = ("real", "real_part", "imag", "imag_part")
FILLS = {"zeros": 0, "zeros_like": 0, "ones": 1, "ones_like": 1}
# The op of a dot product that is computed in blocks, and the least number of elements for that.
PARTIAL, LARGE = "dot_of_blocks", 1 << 15


class CallRefused(Unsupported):
    """The error for a call of the program, ``node``, that could not become machine code.

    The program is then divided again into machine code and NumPy's calls, which now include this one.
    """

    def __init__(self, node: Node, why: str) -> None:
        super().__init__(why)
        self.node = node


class PendingRecord(NamedTuple):
    """A record (a call that the driver makes) whose addresses are not known yet.

    words : returns the record's words when all buffers have addresses.
    uses : the buffers (ranges of memory) that the record reads or writes.
    """

    words: Callable[[], list[int]]
    uses: list[Buffer]


class Check(NamedTuple):
    """A check of the elements of a node, in the kernel that computes these elements.

    The check requires that no element is NaN, that none is True, or that all are below a limit.
    """

    guard: Guard

    @property
    def node(self) -> Node:
        return self.guard.node


Member = Node | Check


def dot_of_blocks(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    """Return the dot product of all elements, added block by block in memory order.

    Machine code adds blocks (parts of the arrays) in this order.  If NumPy computes the same program,
    it calls this function in place of ``dot``, so that the bits are equal.
    """
    x, y = x.ravel("K"), y.ravel("K")
    total = x.dtype.type(0)
    for i in range(0, x.size, BLOCK):
        total += x[i : i + BLOCK].dot(y[i : i + BLOCK])
    return total


def with_partial_sums(program: Program) -> Program:
    """Return the program with ``dot_of_blocks`` in place of large dot products.

    A block's dot product is computed right after the block's operands, which then need memory for one
    block only.
    program : the recorded NumPy calls of a user's function.
    """

    def partial(node: Node, _: Node) -> Node:
        if node.op != DOT or node.args[0].size < LARGE or node.dtype.kind != "f":
            return node
        x, y = node.args
        dense = is_dense(x.shape, x.strides, x.dtype.itemsize)
        if not dense or not same_layout(x, y) or x.dtype != node.dtype:
            return node
        return like(node, PARTIAL, dot_of_blocks, x, y)

    return mapped(program, partial)


def without_empty_calls(program: Program) -> Program:
    """Return the program with constants in place of calls whose results have no elements.

    Calls with index arrays stay, because they raise an error if an index is out of range.
    """

    def constant_or_call(node: Node, _: Node) -> Node:
        known = node.op in (*ARRANGES, *FILLS, *REDUCTIONS, "matmul") or ufunc_of(node) is not None
        if not node.is_call or node.shape is None or node.size or not known:
            return node
        if node.op == "getitem" and not is_basic(node.args[1]):
            return node
        shape = [max(n, 1) for n in node.shape]
        value = np.lib.stride_tricks.as_strided(np.empty(1, node.dtype), shape, node.strides)
        # NumPy makes empty arrays without the given strides, so make a larger array and slice it.
        value = value[tuple([slice(n) for n in node.shape])]
        return Node(CONSTANT, like=value, value=value)

    return mapped(program, constant_or_call)


class Group:
    """Elementwise calls of one shape, and checks of their elements, which one kernel will compute.

    The kernel is not written yet, so that later calls of the same shape can join the group.
    members : the calls and checks.
    waiting : reductions of members, which are translated after the group.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.members: list[Member] = []
        self.waiting: list[Node] = []


class Lowered:
    """A program as machine code.

    run : a function whose arguments are the inputs and arrays for the results.  It returns None if the
        results are right, True if NumPy has to compute them, and False after an underflow.
    results : (dtype, shape, strides) of these arrays: first the outputs, then the new values of Arrays
        that the program writes to.
    kernels, records : the numbers of kernels and records.
    bytes : the size of the scratch memory.
    own_scratch : True if each call needs scratch memory of its own, as the last argument, because other
        threads may run the program, too.
    """

    def __init__(self, lowering: Lowering) -> None:
        self.results = lowering.results
        self.kernels, self.records = len(lowering.kernels), len(lowering.entries)
        self.bytes = lowering.place_buffers()
        self.code = Code(lowering.module_text()) if lowering.kernels else None
        layouts = [layout_words(x.dtype, x.shape, x.strides) for x in lowering.program.inputs]
        layouts += [layout_words(*result) for result in self.results]
        # A large program releases the GIL, as NumPy's large calls do.  Then two threads may run it.
        self.own_scratch = self.bytes > MOST or work_of(lowering.program) >= LARGE_WORK
        memory, start = np.zeros(0, np.uint8), 0
        if self.own_scratch:
            self.bytes = max(
                self.bytes, 1
            )  # NumPy's empty arrays have strides of 0 in some versions
            lowering.scratch_base = ARGUMENTS + len(layouts)
            layouts.append(layout_words(memory.dtype, (self.bytes,), (1,)))
        else:
            memory = np.zeros(self.bytes + LINE, np.uint8)
            start = -(-memory.ctypes.data // LINE) * LINE
        if self.code is not None:
            lowering.addresses = {
                text: self.code.address_of(name) for text, name in lowering.kernels.items()
            }
        table = table_of(start, layouts, [entry.words() for entry in lowering.entries])
        table.kept = self.code, memory, lowering.constants
        self.run = python_function(table, released=self.own_scratch)


def work_of(program: Program) -> int:
    """Return the number of elements that a program computes; in a matmul, each product counts.

    Programs with little work are not worth compilation.
    """
    found = 0
    for node in program.nodes:
        if node.is_call and node.op not in ARRANGES:
            terms = node.args[0].shape[-1] if node.op == "matmul" else 1
            found += node.size * terms
    return found


class Lowering:
    """The translation of one program to records, the calls that the driver makes.

    Each node (recorded NumPy call) becomes a record, or joins a group of nodes that one kernel computes.
    """

    def __init__(self, program: Program) -> None:
        self.program = program = with_element_checks(program)
        self.places: dict[Node, Place] = {}  # node -> place of its value
        self.groups: dict[Node, Group] = {}  # member of an open group -> the group
        self.waiting: dict[Node, Group] = {}  # reduction -> the open group for which it waits
        self.open: list[Group] = []  # the groups for which no records were written yet
        self.entries: list[PendingRecord] = []
        self.kernels: dict[str, str] = {}  # text of a kernel -> its name
        self.declared: set[str] = set()
        self.addresses: Mapping[str, int] = {}
        self.scratch_base = SCRATCH
        self.constants: list[Any] = []
        self.scratch: list[Buffer] = []
        self.nodes_in: dict[Buffer, list[Node]] = {}  # buffer -> the nodes whose data lies in it
        self.steps: dict[Node, ElementStep] = {}  # elementwise node -> its ``ElementStep``
        self.at = 0  # the number of the node that is lowered now
        self.last: dict[Node, int] = {}  # node -> number of the last node that reads it
        for place, node in enumerate(program.nodes):
            for x in operands(node):
                self.last[x] = place
        for node in (*program.outputs, *program.writes):
            self.last[node] = ALWAYS
        self.kept_nodes = {*program.outputs, *program.writes}
        self.kept_nodes.update(guard.node for guard in program.guards if guard.kind == "value")
        self.users: dict[Node, list[Node]] = {}  # node -> the nodes that read it
        for node in program.nodes:
            for x in operands(node):
                self.users.setdefault(x, []).append(node)
        self.results: list[tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...]]] = []
        if len(program.inputs) + len(program.outputs) + len(program.writes) > MOST_ARGUMENTS:
            raise Unsupported("too many inputs and results")
        self.lower_program()

    # --- the program --------------------------------------------------------------------------------
    def lower_program(self) -> None:
        """Write the records of all calls, guards and results; raise CallRefused if a call can have none.

        A record is a call that the driver makes.  A guard is a condition on a value, checked in each
        run.
        """
        guards: dict[Node, list[Guard]] = {}
        for guard in self.program.guards:
            guards.setdefault(guard.node, []).append(guard)
        for i, node in enumerate(self.program.inputs):
            self.put_at(
                node, Place(Buffer(ARGUMENTS + i, 0, 0), 0, node.shape, node.strides, node.dtype)
            )
        for place, node in enumerate(self.program.nodes):
            self.at = place
            try:
                if node.is_call:
                    self.lower_call(node)
                for guard in guards.get(node, ()):
                    self.lower_guard(guard)
            except CallRefused:
                raise
            except Unsupported as error:
                raise CallRefused(node, str(error)) from None
        self.at = len(self.program.nodes)
        self.write_groups([*self.open])
        for node in (*self.program.outputs, *self.program.writes):
            self.lower_result(node)

    def lower_call(self, node: Node) -> None:
        """Translate one recorded NumPy call to records; raise Unsupported if that is not possible.

        Records are the calls that the driver makes.  An elementwise call joins a group that one kernel
        computes.
        """
        if any(x.shape is None for x in (node, *operands(node))) or not node.size:
            raise Unsupported(f"{node.op} of an unknown shape or no elements")
        memory_type(node.dtype)
        if node.op in ARRANGES:
            self.lower_view(node)
        elif node.op in FILLS:
            self.fill_place(self.new_place(node), FILLS[node.op])
        elif node.op in CALLS:
            if not self.must_wait(node):
                CALLS[node.op](self, node)
        else:
            self.lower_elementwise(node)

    def lower_result(self, node: Node) -> None:
        """Put a result of the program into the array that the caller of the machine code passes for it.

        If the result fills a buffer of scratch memory, the caller's array replaces that buffer.  Else
        the data is copied.
        """
        place = self.find_place(node)
        number = len(self.program.inputs) + len(self.results)
        shape, strides = node.shape, node.strides
        if not is_dense(shape, strides, node.dtype.itemsize):
            raise Unsupported("a result with gaps")
        self.results.append((node.dtype, shape, strides))
        buffer = place.buffer
        whole = buffer.size == node.size * node.dtype.itemsize and not place.offset
        if buffer.base == SCRATCH and whole and place.strides == strides:
            buffer.base = ARGUMENTS + number
            return
        self.copy_data(
            Place(Buffer(ARGUMENTS + number, 0, 0), 0, shape, strides, node.dtype), place
        )

    # --- memory -------------------------------------------------------------------------------------
    def put_at(self, node: Node, place: Place) -> Place:
        """Store where the value of a node (recorded call) lies in memory, and return that Place."""
        self.places[node] = place
        self.nodes_in.setdefault(place.buffer, []).append(node)
        return place

    def new_buffer(self, size: int) -> Buffer:
        """Reserve ``size`` bytes of scratch memory, as a Buffer that gets its address later."""
        buffer = Buffer(SCRATCH, 0, size)
        self.scratch.append(buffer)
        return buffer

    def new_place(self, node: Node) -> Place:
        """Reserve memory for a node's result, and return its Place (buffer and layout)."""
        size = node.dtype.itemsize
        strides = node.strides
        if not is_dense(node.shape, strides, size):
            strides = packed(node.shape, size)
        return self.put_at(
            node, Place(self.new_buffer(node.size * size), 0, node.shape, strides, node.dtype)
        )

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Place:
        """Reserve memory for data that is the value of no node; return its Place (buffer and layout)."""
        size = math.prod(shape) * dtype.itemsize
        return Place(self.new_buffer(size), 0, shape, packed(shape, dtype.itemsize), dtype)

    def find_place(self, x: Node) -> Place:
        """Return where the value of x lies in memory: a Place, with buffer, offset and layout.

        If x is in a group of elementwise calls for which no kernel was written yet, write the kernel
        first.  The same holds if x is a reduction that waits for a group.
        """
        group = self.groups.get(x) or self.waiting.get(x)
        if group is not None:
            self.write_groups([group])
        if x not in self.places:
            if x.op != CONSTANT:
                raise Unsupported(f"no place for {x.op}")
            memory_type(x.dtype)
            return self.put_at(x, self.place_constant(x.value))
        return self.places[x]

    def place_constant(self, value: np.ndarray[Any, Any]) -> Place:
        """Keep the array ``value`` alive; return its Place (address and layout) for machine code."""
        if not value.dtype.isnative or not value.flags.aligned:
            raise Unsupported("a constant of another layout")
        self.constants.append(value)
        buffer = Buffer(NOWHERE, value.ctypes.data, 0)
        return Place(buffer, 0, value.shape, value.strides, value.dtype)

    def place_buffers(self) -> int:
        """Set the offsets of all buffers in the scratch memory, and return its size in bytes.

        Buffers share memory if no record (a call that the driver makes) needs both.
        """
        first: dict[Buffer, int] = {}
        last: dict[Buffer, int] = {}
        for i, entry in enumerate(self.entries):
            for buffer in entry.uses:
                if buffer.base == SCRATCH:
                    first.setdefault(buffer, i)
                    last[buffer] = i
        starting: dict[int, list[Buffer]] = {}
        for buffer, i in first.items():
            starting.setdefault(i, []).append(buffer)
        free: list[tuple[int, int]] = []  # offset, size
        used: list[tuple[int, Buffer]] = []  # the number of the buffer's last record, the buffer
        end = 0
        for i in sorted(starting):
            gone = [one for one in used if one[0] < i]
            used = [one for one in used if one[0] >= i]
            free = merged_gaps(free + [(b.offset, rounded_up(b.size)) for _, b in gone])
            for buffer in sorted(starting[i], key=lambda b: -b.size):
                size = rounded_up(buffer.size)
                fits = [gap for gap in free if gap[1] >= size]
                if fits:
                    gap = min(fits, key=lambda gap: gap[1])
                    free.remove(gap)
                    buffer.offset = gap[0]
                    if gap[1] > size:
                        free.append((gap[0] + size, gap[1] - size))
                else:
                    buffer.offset, end = end, end + size
                used.append((last[buffer], buffer))
        return end

    def words_of(self, pointer: Pointer) -> tuple[int, int, int]:
        """Return the words for a pointer in a record: base, offset, bytes from one block to the next.

        The base is an argument or the scratch memory.  A block is some rows of an array.
        """
        base = pointer.buffer.base
        base = self.scratch_base if base == SCRATCH else base
        return base, pointer.buffer.offset + pointer.offset, pointer.step

    # --- records ------------------------------------------------------------------------------------
    def kernel_record_of(self, kernel: Kernel, count: int | None = None) -> PendingRecord:
        """Return the record by which the driver calls a complete kernel (an LLVM function).

        count : the number of elements, or None if the kernel's code contains that number.
        """
        text = kernel.function_text()
        self.kernels.setdefault(text, f"kernel{len(self.kernels)}")
        self.declared |= kernel.declared
        pointers = [*kernel.pointers]

        def words() -> list[int]:
            flat = [word for pointer in pointers for word in self.words_of(pointer)]
            return kernel_record(self.addresses[text], flat, count)

        return PendingRecord(words, [pointer.buffer for pointer in pointers])

    def module_text(self) -> str:
        """Return the text of all kernels, with the functions that they call."""
        functions = [f"define void @{name}{text}" for text, name in self.kernels.items()]
        return "\n".join([*sorted(self.declared), *functions])

    def loop_entry(
        self, loop: InnerLoop, pointers: Sequence[Pointer], dims: Sequence[int],
        steps: Sequence[int], outer: Sequence[tuple[int, Sequence[int]]] = (),
    ) -> PendingRecord:  # fmt: skip
        """Return the record by which the driver calls ``loop``, the C loop of a ufunc.

        pointers : for each operand, the address in a buffer.
        dims, steps : the arguments ``dimensions`` and ``steps`` of the loop.
        outer : a pair (size, stride of each operand) for each axis over which the call is repeated.
        """

        def words() -> list[int]:
            flat = [word for pointer in pointers for word in self.words_of(pointer)]
            return loop_record(loop, flat, dims, steps, outer)

        return PendingRecord(words, [pointer.buffer for pointer in pointers])

    def call_over(
        self, loop: InnerLoop, shape: Sequence[int], places: Sequence[Place]
    ) -> PendingRecord:
        """Return the record by which the driver calls a ufunc's elementwise C loop, for any layout.

        shape : the shape of the results.
        places : buffer and layout of each operand and result.
        """
        axes = joined_axes(shape, [place.strides for place in places])
        *outer, inner = axes or [Axis(1, tuple([place.dtype.itemsize for place in places]))]
        return self.loop_entry(
            loop, [Pointer(place.buffer, place.offset) for place in places],
            [int(inner.size)], inner.strides,
            [(int(axis.size), axis.strides) for axis in outer],
        )  # fmt: skip

    def copy_data(self, target: Place, source: Place) -> None:
        """Write a kernel that copies ``source``, broadcast to the target's shape, to ``target``.

        target, source : Places, with buffer, offset and layout.
        """
        self.write_each([target, source], lambda kernel, width, at, same: (
            kernel.copy_elements(at[1], at[0], source.dtype, width, same[1])
        ))  # fmt: skip

    def fill_place(self, target: Place, number: float) -> None:
        """Write a kernel that sets all elements at ``target`` (buffer and layout) to ``number``."""
        text = number_text(number, target.dtype, 1)
        self.write_each([target], lambda kernel, width, at, same: kernel.store_elements(
            kernel.splat(text, target.dtype, width), at[0], target.dtype, width
        ))  # fmt: skip

    def write_each(
        self, places: Sequence[Place],
        body: Callable[[Kernel, int, list[At], list[bool]], None],
    ) -> None:  # fmt: skip
        """Write a kernel that runs ``body`` over elements at ``places``, broadcast to the first's shape.

        body : writes the code for some elements.  Its arguments are the kernel, the number of elements,
            their addresses, and for each place whether one element is repeated.
        """
        shape = places[0].shape
        if 0 in shape:
            return
        strides = [broadcast_strides(place, shape) for place in places]
        kernel = Kernel()
        axes = joined_axes(shape, strides)
        sizes = [place.dtype.itemsize for place in places]
        pointers = [kernel.pointer_to(place) for place in places]
        kernel.write_nest(
            axes, pointers, sizes, lambda width, at, same: body(kernel, width, at, same)
        )
        self.entries.append(self.kernel_record_of(kernel))

    # --- views and copies -----------------------------------------------------------------------------
    def lower_view(self, node: Node) -> None:
        """Translate a node of ARRANGES, such as a transpose or slice: find the layout of its value.

        The op is called on an array that has the operand's layout, but no contents.  If the result is no
        view of this array, records are written that copy the data.
        """
        x = node.args[0]
        if node.op == "getitem" and not is_basic(node.args[1]):
            return self.gather_rows(node, x, node.args[1])
        if type(x) is not Node or len(operands(node)) > 1:
            raise Unsupported(f"{node.op} at arrays")
        place = self.find_place(x)
        view, start = view_of_nothing(place)
        if node.op == "getitem":
            found = part_at(view, node.args[1])
        else:
            assert node.call is not None
            args = [view if y is x else y for y in node.args]
            found = np.asarray(node.call(*args, **node.keywords))
        if found.shape != node.shape:
            raise Unsupported(f"{node.op} to another shape")
        if np.shares_memory(found, view):
            offset = place.offset + found.__array_interface__["data"][0] - start
            self.put_at(node, Place(place.buffer, offset, found.shape, found.strides, found.dtype))
            return None
        target = self.new_place(node)
        if node.op in ("reshape", "reshaped"):
            size = node.dtype.itemsize
            if target.strides != packed(node.shape, size):
                raise Unsupported("reshape in another order")
            target = target._replace(shape=place.shape, strides=packed(place.shape, size))
        elif node.shape != place.shape and not node.op.startswith("broadcast_"):
            raise Unsupported(f"{node.op} that copies")
        self.copy_data(target, place)
        return None

    # --- elementwise --------------------------------------------------------------------------------
    def lower_elementwise(self, node: Node) -> None:
        """Add an elementwise call to a group of calls with the same shape, which one kernel computes."""
        self.steps[node] = ElementStep.of(node)
        self.add_member(node, node.shape)

    def lower_partial_sum(self, node: Node) -> None:
        """Add a dot product by blocks to a group of calls with the shape of its operands.

        One kernel computes the group.  So a block of the operands is still in the cache when it is
        summed.
        """
        inner_loop(np.vecdot, (node.dtype,) * 3)
        self.add_member(node, node.args[0].shape)

    def add_member(self, node: Node, shape: tuple[int, ...]) -> None:
        """Add a node to the open group of its operands or of this shape, or to a new group.

        A group has elementwise calls of one shape, which one kernel computes.  It is open while no code
        was written for it.
        """
        mine: list[Group] = []
        for x in operands(node):
            if x in self.waiting:
                self.write_groups([self.waiting[x]])
            group = self.groups.get(x)
            if group is None:
                continue
            if x.shape != shape or x.op == PARTIAL:
                self.write_groups([group])
            elif group not in mine:
                mine.append(group)
        mine = [group for group in mine if group in self.open]
        group = mine[0] if mine else next((g for g in self.open if g.shape == shape), None)
        if group is None:
            group = Group(shape)
            self.open.append(group)
        for other in mine[1:]:
            group.members += other.members
            group.waiting += other.waiting
            self.waiting.update(dict.fromkeys(other.waiting, group))
            self.open.remove(other)
            for member in other.members:
                if type(member) is Node:
                    self.groups[member] = group
        group.members.append(node)
        self.groups[node] = group

    def write_groups(self, groups: Iterable[Group]) -> None:
        """Write the kernels of groups, and the reductions that wait for them.

        A group has elementwise calls of one shape, which one kernel computes.
        """
        for group in groups:
            if group in self.open:
                self.open.remove(group)
                GroupWriter(self, group).write_parts()
                for node in group.waiting:
                    del self.waiting[node]
                    try:
                        CALLS[node.op](self, node)
                    except Unsupported as error:
                        raise CallRefused(node, str(error)) from None

    def is_read_later(self, node: Node, inside: set[Node]) -> bool:
        """Return True if ``node`` is a result, is checked, or is read by a node not in ``inside``.

        The value of such a node must be stored in memory.
        inside : the nodes of the group that one kernel computes.
        """
        return node in self.kept_nodes or any(
            user not in inside for user in self.users.get(node, ())
        )

    # --- reductions -----------------------------------------------------------------------------------
    def must_wait(self, node: Node) -> bool:
        """Return True if a large reduction is better translated after more calls have joined a group.

        A group has elementwise calls of one shape, which one kernel computes.  The translation of a
        reduction ends the group of its operand.  A member that a later elementwise call reads then needs
        memory of the whole shape.  If the later call joins the group first, the member needs none.
        """
        given = operands(node)
        groups = {self.groups[x] for x in given if x in self.groups}
        if node.op not in (*REDUCTIONS, DOT) or len(groups) != 1:
            return False
        (group,) = groups
        if math.prod(group.shape) <= BLOCK:
            return False
        after = {node}  # the nodes that depend on the reduction
        others: set[Node] = set()
        for later in self.program.nodes[self.at + 1 :]:
            read = operands(later)
            if not after.isdisjoint(read):
                after.add(later)
            elif later.shape == group.shape and later.op not in CALLS and later.op not in ARRANGES:
                others.update(x for x in read if self.groups.get(x) is group and x not in given)
            if len(others) > len(group.waiting):
                group.waiting.append(node)
                self.waiting[node] = group
                return True
        return False

    def lower_reduction(self, node: Node) -> None:
        """Translate a sum, product, max or min to calls of NumPy's C loop, axes in memory order."""
        x = node.args[0]
        rank, reduced = len(x.shape), reduced_axes(node)
        loop = inner_loop(REDUCTIONS[node.op], (x.dtype,) * 3)
        source = self.find_place(x)
        target = self.new_place(node)
        if not is_dense(target.shape, target.strides, target.dtype.itemsize):
            raise Unsupported("a reduction to another layout")
        kept = [k for k in range(rank) if k not in reduced]
        # The strides of the result for the axes of x: 0 along the reduced axes.
        inner = target.strides if len(target.shape) == len(kept) else None
        steps = dict(zip(kept, inner, strict=True)) if inner is not None else {
            k: target.strides[k] for k in kept
        }  # fmt: skip
        along = tuple([steps.get(k, 0) for k in range(rank)])
        order = joined_axes(x.shape, [source.strides, along])
        follows = [not axis.strides[1] for axis in order]
        if any(first and second for first, second in pairwise(follows)):
            # NumPy copies such data to a buffer, and reduces the buffer in another order.
            raise Unsupported(
                f"{node.op} over several axes of data that is not contiguous along them"
            )
        if is_short_sum(node, order):
            self.write_short_sums(node, source, target, order)
            return
        if node.op in FIRST:
            self.fill_place(target, FIRST[node.op])
            if not x.size:
                return
        else:
            first = tuple([1 if k in reduced else n for k, n in enumerate(x.shape)])
            self.copy_data(
                target._replace(shape=first, strides=along), source._replace(shape=first)
            )
        spread = target._replace(shape=x.shape, strides=along)
        *outer, last = order or [Axis(1, (0, 0))]
        count, begin = int(last.size), source.offset
        if node.op not in FIRST and follows and follows[-1]:
            # NumPy continues after the first element, which decides between 0.0 and -0.0.  If an outer
            # axis is reduced, too, NumPy does so in the first run only.
            if any(follows[:-1]):
                raise Unsupported(f"{node.op} over several axes that are not next to each other")
            count, begin = count - 1, begin + last.strides[0]
        if not count:
            return
        pointers = [Pointer(p.buffer, p.offset) for p in (spread, source, spread)]
        pointers[1] = pointers[1]._replace(offset=begin)
        self.entries.append(self.loop_entry(
            loop, pointers, [count], [last.strides[1], last.strides[0], last.strides[1]],
            [(int(a.size), (a.strides[1], a.strides[0], a.strides[1])) for a in outer],
        ))  # fmt: skip

    def write_short_sums(
        self, node: Node, source: Place, target: Place, order: Sequence[Axis]
    ) -> None:
        """Write a kernel that sums or multiplies short runs of elements, with the bits of NumPy.

        A run has the elements along the last axis in ``order``.  If a sum reduces this axis, the sum of
        each run is added to the result.  Else each element is combined with the result.
        order : the axes of the loops, with the strides of the source and those of the result.
        node : the reduction.
        source, target : buffer and layout of the operand and of the result.
        """
        kernel, dtype, start = Kernel(), node.dtype, FIRST[node.op]
        combine = COMBINES[node.op, dtype.kind == "f"]
        kept = [Axis(axis.size, axis.strides[::-1]) for axis in order if axis.strides[1]]
        reduced = [axis for axis in order if not axis.strides[1]]
        runs = reduced[-1:] if not order[-1].strides[1] and node.op == "sum" else []

        def body(width: int, at: list[At], same: list[bool]) -> None:
            kind = value_type(dtype, width)
            total = kernel.new_name()
            kernel.start.append(f"  {total} = alloca {kind}")
            kernel.add_line(f"store {kind} {number_text(start, dtype, width)}, ptr {total}")

            def add_runs(axes: Sequence[Axis], here: At) -> None:
                if axes:
                    step = axes[0].strides[0]
                    kernel.write_loop(axes[0].size, 1, lambda i, _: add_runs(
                        axes[1:], moved_by(kernel, here, i, step)
                    ))  # fmt: skip
                    return
                value = kernel.load_elements(here, dtype, width)
                for run in runs:
                    for i in range(1, int(run.size)):
                        place = moved_by(kernel, here, i, run.strides[0])
                        more = kernel.load_elements(place, dtype, width)
                        value = kernel.define(f"{combine} {kind} {value}, {more}")
                old = kernel.define(f"load {kind}, ptr {total}")
                new = kernel.define(f"{combine} {kind} {old}, {value}")
                kernel.add_line(f"store {kind} {new}, ptr {total}")

            add_runs(reduced[:-1] if runs else reduced, at[1])
            kernel.store_elements(kernel.define(f"load {kind}, ptr {total}"), at[0], dtype, width)

        pointers = [kernel.pointer_to(place) for place in (target, source)]
        kernel.write_nest(kept, pointers, [dtype.itemsize] * 2, body)
        self.entries.append(self.kernel_record_of(kernel))

    def lower_cumulative(self, node: Node) -> None:
        """Translate a cumulative sum or product to NumPy's C loop for ``y[1:] = y[:-1] + x[1:]``."""
        (x,) = node.args
        options = {name: y for name, y in node.keywords.items() if y is not None and y is not False}
        axis = options.pop("axis", 0)
        if options or x.dtype != node.dtype or not x.shape:
            raise Unsupported(f"{node.op} with {', '.join(options) or 'another dtype'}")
        axis %= len(x.shape)
        loop = inner_loop(RUNNING[node.op], (x.dtype,) * 3)
        source, target = self.find_place(x), self.new_place(node)

        def part_of(place: Place, begin: int | None, end: int | None) -> Place:
            return part_place(place, (slice(None),) * axis + (slice(begin, end),))

        self.copy_data(part_of(target, None, 1), part_of(source, None, 1))
        count, outer = x.shape[axis] - 1, [n for k, n in enumerate(x.shape) if k != axis]
        if not count:
            return
        places = [part_of(target, None, -1), part_of(source, 1, None), part_of(target, 1, None)]
        others = [[s for k, s in enumerate(p.strides) if k != axis] for p in places]
        self.entries.append(self.loop_entry(
            loop, [Pointer(p.buffer, p.offset) for p in places],
            [count], [p.strides[axis] for p in places],
            [(int(a.size), a.strides) for a in joined_axes(outer, others)],
        ))  # fmt: skip

    # --- products -------------------------------------------------------------------------------------
    def lower_dot(self, node: Node) -> None:
        """Translate the dot product of all elements, in memory order, to a call of BLAS."""
        x, y = [self.find_place(x) for x in node.args]
        size = x.dtype.itemsize
        flat = [joined_axes(p.shape, [p.strides]) for p in (x, y)]
        if x.dtype != y.dtype or any(len(axes) > 1 for axes in flat):
            raise Unsupported("a sum of products of other layouts")
        strides = [axes[0].strides[0] if axes else size for axes in flat]
        target = self.new_place(node)
        if math.prod(x.shape) == 1:  # NumPy's dot multiplies here, so that -0.0 stays -0.0
            places = [p._replace(shape=(), strides=()) for p in (target, x, y)]
            loop = inner_loop(np.multiply, (x.dtype, y.dtype, node.dtype))
            self.entries.append(self.call_over(loop, (), [*places[1:], places[0]]))
            return
        loop = inner_loop(np.vecdot, (x.dtype, y.dtype, node.dtype))
        self.entries.append(self.loop_entry(
            loop, [Pointer(p.buffer, p.offset) for p in (x, y, target)],
            [1, math.prod(x.shape)], [0, 0, 0, *strides],
        ))  # fmt: skip

    def lower_matmul(self, node: Node) -> None:
        """Translate matrix products to calls of NumPy's matmul loop, which uses BLAS if possible."""
        if len(node.args) != 2 or node.keywords or any(type(x) is not Node for x in node.args):
            raise Unsupported("matmul with options")
        x, y = [self.find_place(x) for x in node.args]
        loop = inner_loop(np.matmul, (x.dtype, y.dtype, node.dtype))
        target = self.new_place(node)
        size = node.dtype.itemsize
        outer_shape = node.shape[: len(node.shape) - (len(x.shape) > 1) - (len(y.shape) > 1)]
        rank = len(outer_shape)
        (m, n), x_steps = (
            matrix_layout(x) if len(x.shape) > 1 else ((1, x.shape[0]), (size, x.strides[0]))
        )
        (_, k), y_steps = matrix_layout(y) if len(y.shape) > 1 else ((n, 1), (y.strides[0], size))
        steps = list(target.strides[rank:])
        if len(x.shape) == 1:
            steps.insert(0, size)
        if len(y.shape) == 1:
            steps.append(size)
        around = [
            broadcast_strides(p._replace(shape=p.shape[:-2], strides=p.strides[:-2]), outer_shape)
            for p in (x, y)
        ]
        axes = joined_axes(outer_shape, [*around, target.strides[:rank]])
        *outer, last = axes or [Axis(1, (0, 0, 0))]
        self.entries.append(self.loop_entry(
            loop, [Pointer(p.buffer, p.offset) for p in (x, y, target)],
            [int(last.size), m, n, k], [*last.strides, *x_steps, *y_steps, *steps],
            [(int(a.size), a.strides) for a in outer],
        ))  # fmt: skip

    # --- writes to parts of arrays --------------------------------------------------------------------
    def lower_write(self, node: Node) -> None:
        """Translate the write ``x[key] = value`` to code that stores the value in the memory of x.

        If x is read later, the value is stored in a copy of x.
        """
        x, key, value = node.args
        if not is_basic(key):
            return self.put_rows(node)
        own = self.groups.get(value) if self.is_read_once(value, x) else None
        # The nodes that read the old values must run before the write.
        self.write_groups([group for group in self.open if group is not own])
        source = self.find_place(x)
        if own is not None and self.put_result(node, source, own):
            return None
        self.write_groups([*self.open])
        given = self.find_place(value) if type(value) is Node else self.place_number(value, x.dtype)
        if given.dtype != x.dtype:
            raise Unsupported("a write in another dtype")
        if self.may_change(source) and given.buffer is not source.buffer:
            target = self.put_at(node, source)
        else:
            target = self.new_place(node)
            self.copy_data(target, source)
        part = part_place(target, key)
        if not math.prod(part.shape):
            return None
        # The value may have more leading axes of length 1 than the slice.
        shape, strides = given.shape, given.strides
        while len(shape) > len(part.shape) and shape[0] == 1:
            shape, strides = shape[1:], strides[1:]
        self.copy_data(part, given._replace(shape=shape, strides=strides))
        return None

    def is_read_once(self, value: Operand, x: Node) -> bool:
        """Return True if a kernel that is not written yet could compute ``value`` directly in x.

        For this, nothing but the write to x may read the value, and the kernel must not compute x, too.
        """
        if type(value) is not Node or value in self.kept_nodes or value.dtype != x.dtype:
            return False
        group = self.groups.get(value)
        if group is None or group.waiting:  # a waiting reduction may read the old values of x
            return False
        return x not in group.members and len(self.users[value]) == 1

    def put_result(self, node: Node, source: Place, group: Group) -> bool:
        """Let a kernel compute the value of ``x[key] = value`` directly in ``x[key]``, without a copy.

        Return False, and change nothing, if that is not possible.
        node : the write.
        source : buffer and layout of x.
        group : the calls, the value's among them, that the kernel computes and that are not written yet.
        """
        _, key, value = node.args
        inside = {*group.members}
        outside = {y for member in group.members for y in member_inputs(member)} - inside
        read = [self.find_place(y) for y in outside]
        if group not in self.open:
            return False
        changes = self.may_change(source)
        part = part_place(source, key)
        # The bits of NumPy's loops may depend on the strides of the result.
        if part.shape != value.shape or (self.steps[value].loop and part.strides != value.strides):
            return False
        if changes and any(p.buffer is source.buffer for p in read):
            # One kernel loads each element before it stores to it; a second one would load new values.
            single = len(GroupWriter(self, group).parts) == 1
            if not single or any(p.buffer is source.buffer and p != part for p in read):
                return False
        if not changes:
            source, old = self.new_place(node), source
            self.copy_data(source, old)
            part = part_place(source, key)
        else:
            self.put_at(node, source)
        self.put_at(value, part)
        self.write_groups([group])
        return True

    def place_number(self, x: Any, dtype: np.dtype[Any]) -> Place:
        """Convert a number to ``dtype``, and return its Place (address and layout) in memory."""
        return self.place_constant(np.asarray(x).astype(dtype))

    def may_change(self, place: Place) -> bool:
        """Return True if a write may go into ``place`` (buffer and layout) itself, without a copy.

        That is so if the place is in scratch memory, and no later call reads data of its buffer.
        """
        if place.buffer.base != SCRATCH:
            return False
        return all(self.last.get(x, -1) <= self.at for x in self.nodes_in[place.buffer])

    def lower_join(self, node: Node) -> None:
        """Translate ``concat`` or ``stack`` to code that copies each array to its part of the result."""
        arrays = node.args[0]
        axis = node.keywords.get("axis", node.args[1] if len(node.args) > 1 else 0)
        if (
            type(arrays) not in (tuple, list)
            or type(axis) is not int
            or node.keywords.keys() - {"axis"}
        ):
            raise Unsupported(f"{node.op} with options")
        if any(type(x) is not Node or x.dtype != node.dtype for x in arrays):
            raise Unsupported(f"{node.op} of several dtypes")
        places = [self.find_place(x) for x in arrays]
        target = self.new_place(node)
        axis %= len(node.shape)
        start = target.offset
        for place in places:
            if node.op == "stack":
                shape = (*place.shape[:axis], 1, *place.shape[axis:])
                strides = (*place.strides[:axis], 0, *place.strides[axis:])
                place = place._replace(shape=shape, strides=strides)
            part = Place(target.buffer, start, place.shape, target.strides, target.dtype)
            self.copy_data(part, place)
            start += place.shape[axis] * target.strides[axis]

    # --- indices --------------------------------------------------------------------------------------
    def lower_take(self, node: Node) -> None:
        """Translate ``take``, which is ``x[:, index]`` for axis 1, to a loop that copies rows."""
        x, index, *more = node.args
        axis = node.keywords.get("axis", more[0] if more else None)
        if type(axis) is not int or node.keywords.keys() - {"axis"} or type(index) is not Node:
            raise Unsupported("take with options")
        self.gather_rows(node, x, (slice(None),) * (axis % len(x.shape)) + (index,))

    def gather_rows(self, node: Node, x: Node, key: Any) -> None:
        """Translate ``x[key]``, whose key has arrays of integers, to a loop that copies rows.

        node : the call that reads ``x[key]``.
        """
        rows = RowKey.of(key, len(x.shape))
        source = rows.part_of(self.find_place(x))
        into = rows.indices_first(self.new_place(node))
        row, target = later_axes(source, len(rows.arrays)), later_axes(into, rows.rank)

        def body(kernel: Kernel, selected: Offset, at_row: At) -> None:
            pointers = [at_row, (kernel.pointer_to(row)[0], selected)]
            self.small_nest(kernel, [target, row], pointers, lambda width, at, same: (
                kernel.copy_elements(at[1], at[0], row.dtype, width, same[1])
            ))  # fmt: skip

        self.each_index(rows, source, into, body)

    def lower_scatter(self, node: Node) -> None:
        """Translate ``scatter_add`` or ``add_at`` to a loop that adds rows to zeros or a copy of x."""
        if node.op == "add_at":
            x, key, values = node.args
        else:
            values, _, key = node.args
        if type(values) is not Node or values.dtype != node.dtype:
            raise Unsupported("values of another dtype")
        rows, target = RowKey.of(key, len(node.shape)), self.new_place(node)
        if node.op == "add_at":
            self.copy_data(target, self.find_place(x))
        else:
            self.fill_place(target, 0)
        self.write_rows(target, self.find_place(values), rows, WRITERS["add"])

    def put_rows(self, node: Node) -> None:
        """Translate ``x[key] = value``, whose key has arrays of integers, to a loop over rows."""
        x, key, value = node.args
        rows = RowKey.of(key, len(x.shape))
        if type(value) is Node and value.dtype != x.dtype:
            raise Unsupported("a write in another dtype")
        self.write_groups([*self.open])  # nodes that read the old values must run before the write
        source = self.find_place(x)
        given = self.find_place(value) if type(value) is Node else self.place_number(value, x.dtype)
        read = [given.buffer, *[self.find_place(y).buffer for y in rows.arrays]]
        if self.may_change(source) and source.buffer not in read:
            target = self.put_at(node, source)
        else:
            target = self.new_place(node)
            self.copy_data(target, source)
        self.write_rows(target, given, rows, lambda kernel, dtype, width, args: args[1])

    def write_rows(self, target: Place, values: Place, rows: RowKey, combine: Writer) -> None:
        """Write a loop over the indices that replaces each selected row of ``target``.

        combine : the writer of a new element, given the old element and the element of ``values``.  It
            adds them, or, for ``x[key] = value``, returns the element of ``values``.
        target, values : buffer and layout of the data.
        rows : the key, with the index arrays that select rows.
        """
        changed = rows.part_of(target)
        row = later_axes(changed, len(rows.arrays))
        shape = (*row.shape[: rows.at], *rows.shape, *row.shape[rows.at :])
        while len(values.shape) > len(shape) and values.shape[0] == 1:
            values = later_axes(values, 1)
        spread = values._replace(shape=shape, strides=broadcast_strides(values, shape))
        given = rows.indices_first(spread)
        # The order of the writes matters if they change the same elements.
        if not all(
            map(in_order, (given._replace(shape=rows.shape), *map(self.find_place, rows.arrays)))
        ):
            raise Unsupported("indices or values in another order")

        def body(kernel: Kernel, selected: Offset, at_row: At) -> None:
            def one(width: int, at: list[At], same: list[bool]) -> None:
                old = kernel.load_elements(at[0], row.dtype, width)
                new = kernel.load_elements(at[1], row.dtype, width, same[1])
                result = combine(kernel, row.dtype, width, [old, new])
                kernel.store_elements(result, at[0], row.dtype, width)

            pointers = [(kernel.pointer_to(row)[0], selected), at_row]
            self.small_nest(kernel, [row, later_axes(given, rows.rank)], pointers, one)

        self.each_index(rows, changed, given, body)

    def each_index(
        self, rows: RowKey, place: Place, others: Place,
        body: Callable[[Kernel, Offset, At], None],
    ) -> None:  # fmt: skip
        """Write a loop over the elements of index arrays, in C order.

        An index out of range sets a bit of ``bad``, so that NumPy repeats the computation and raises the
        error.  Index 0 is used meanwhile.
        rows : the key, with the index arrays.
        place : the data of which the index arrays select rows, by its first axes.
        others : data with a row for each index, such as the result of ``x[key]``.
        body : writes one step, given the kernel, the offset of the selected row in bytes, and the
            address of the row of ``others``.
        """
        kernel, rank = Kernel(), rows.rank
        if 0 in rows.shape:
            return
        places = [self.find_place(index) for index in rows.arrays]
        strides = [packed(rows.shape, 1), *[broadcast_strides(p, rows.shape) for p in places]]
        axes = joined_axes(rows.shape, [*strides, others.strides[:rank]])

        def one(width: int, at: list[At], same: list[bool]) -> None:
            offset: Offset = 0
            for axis, (address, index) in enumerate(zip(at[1:-1], places, strict=True)):
                count = place.shape[axis]
                k = kernel.load_elements(address, index.dtype, 1)
                if index.dtype.itemsize < 8:
                    kind = memory_type(index.dtype)
                    k = kernel.define(f"{conversion(index.dtype, INTEGER)} {kind} {k} to i64")
                negative = kernel.define(f"icmp slt i64 {k}, 0")
                shifted = kernel.define(f"add i64 {k}, {count}")
                k = kernel.define(f"select i1 {negative}, i64 {shifted}, i64 {k}")
                outside = kernel.define(f"icmp uge i64 {k}, {count}")
                kernel.require_not(outside, 1)
                k = kernel.define(f"select i1 {outside}, i64 0, i64 {k}")
                offset = kernel.add_offsets(offset, kernel.scale_offset(k, place.strides[axis]))
            body(kernel, offset, at[-1])

        # The first operand, a counter, keeps the axes in C order and the width at 1.
        pointers = [("", 0), *[kernel.pointer_to(p) for p in places], kernel.pointer_to(others)]
        kernel.write_nest(axes, pointers, [0] * len(pointers), one)
        self.entries.append(self.kernel_record_of(kernel))

    def small_nest(
        self, kernel: Kernel, places: Sequence[Place], pointers: Sequence[At],
        body: Callable[[int, list[At], list[bool]], None],
    ) -> None:  # fmt: skip
        """Write nested loops over the elements of places of one shape, within a kernel.

        pointers : the addresses of the places' first elements.
        body : writes one step, given the vector's width, the addresses, and whether elements are
            repeated.
        kernel : the LLVM function, to which the loops are added.
        """
        shape = places[0].shape
        if 0 in shape:
            return
        axes = joined_axes(shape, [place.strides for place in places])
        kernel.write_nest(axes, pointers, [place.dtype.itemsize for place in places], body)

    # --- guards ---------------------------------------------------------------------------------------
    def lower_guard(self, guard: Guard) -> None:
        """Write the check that a guard requires: of its node's elements, or of the whole value.

        A guard is a condition on a value; if it fails, NumPy repeats the computation.
        """
        if guard.kind in ("no NaN", NO_TRUE, BELOW):
            self.lower_check(guard)
        elif guard.kind == "value":
            self.value_guard(self.find_place(guard.node), guard.expected)
        else:
            raise Unsupported("a guard on a shape")

    def lower_check(self, guard: Guard) -> None:
        """Write a check of each element of the node of ``guard``, such as that none is NaN.

        The check joins the group of calls, computed by one kernel, to which the node belongs.
        """
        node = guard.node
        checked = guard.kind == NO_TRUE or (
            node.dtype.kind == "f" and node.dtype.itemsize in FLOATS
        )
        if node in self.groups and checked:
            self.groups[node].members.append(Check(guard))
            return
        place = self.find_place(node)
        if node.dtype.kind == "c":
            place = parts_of_complex(place)
        elif not checked:
            raise Unsupported(f"a NaN check of {node.dtype}")
        self.write_each([place], lambda kernel, width, at, same: write_check(
            kernel, kernel.load_elements(at[0], place.dtype, width, same[0]), place.dtype, width, guard
        ))  # fmt: skip

    def value_guard(self, place: Place, expected: bytes) -> None:
        """Write a check that the data at ``place`` (buffer and layout) has the bits ``expected``."""
        bits = np.dtype(f"u{place.dtype.itemsize}") if place.dtype.itemsize <= 8 else None
        if bits is None:
            raise Unsupported("a guard on a complex number")
        wanted = np.frombuffer(expected, bits).reshape(place.shape).copy()
        found = place._replace(dtype=bits)

        def compare(kernel: Kernel, width: int, at: list[At], same: list[bool]) -> None:
            x = kernel.load_elements(at[0], bits, width, same[0])
            y = kernel.load_elements(at[1], bits, width, same[1])
            differs = kernel.define(f"icmp ne {value_type(bits, width)} {x}, {y}")
            kernel.require_not(differs, width)

        self.write_each([found, self.place_constant(wanted)], compare)


class RowKey(NamedTuple):
    """An index with arrays of integers, such as ``x[i, :, j]``, by which a loop reads or writes rows.

    arrays : the arrays, here i and j.
    basic : the key with full slices in place of the arrays, here for ``x[:, :, :]``.
    axes : the axes of ``x[basic]`` that the arrays index, here 0 and 2.
    at : the number of axes of ``x[key]`` before the axes of the arrays, here 0.
    shape : the common shape of the arrays.
    """

    arrays: list[Node]
    basic: tuple[Any, ...]
    axes: list[int]
    at: int
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @staticmethod
    def of(key: Any, rank: int) -> RowKey:
        """Return a RowKey for ``x[key]``, where x has ``rank`` axes; else raise Unsupported."""
        items = key if type(key) is tuple else (key,)
        if not any(item is Ellipsis for item in items):
            items = (*items, Ellipsis)
        hidden = rank - sum([item is not None and item is not Ellipsis for item in items])
        arrays: list[Node] = []
        axes: list[int] = []
        taken: list[tuple[int, int]] = []  # the items that are arrays or integers: (place, axis)
        axis = 0
        for place, item in enumerate(items):
            if type(item) is Node:
                if item.dtype.kind not in "iu" or item.dtype == np.uint64:
                    raise Unsupported(f"an index of dtype {item.dtype}")
                arrays.append(item)
                axes.append(axis)
            elif type(item) not in (int, slice) and item is not None and item is not Ellipsis:
                raise Unsupported("a key of other parts")
            if type(item) in (Node, int):
                taken.append((place, axis))
            axis += hidden if item is Ellipsis else type(item) is not int
        if not arrays:
            raise Unsupported("a key without arrays")
        together = taken[-1][0] - taken[0][0] == len(taken) - 1
        basic = tuple([slice(None) if type(item) is Node else item for item in items])
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        return RowKey(arrays, basic, axes, taken[0][1] if together else 0, shape)

    def part_of(self, place: Place) -> Place:
        """Return the place (buffer and layout) of ``x[basic]``, given the place of x.

        ``basic`` is the key without its index arrays.  The indexed axes are moved to the front.
        """
        return axes_first(part_place(place, self.basic), self.axes)

    def indices_first(self, place: Place) -> Place:
        """Return the place (buffer and layout) of ``x[key]`` with the axes of the indices first.

        place : the place of ``x[key]`` with its axes in NumPy's order.
        """
        return axes_first(place, range(self.at, self.at + self.rank))


class ElementStep(NamedTuple):
    """The way to compute an elementwise call: by LLVM's instructions, or by a ufunc's C loop.

    args : the operands.
    dtypes : the dtypes to which they are converted first.
    loop : the C loop, or None.
    write : a function that writes the instructions, or None.
    """

    dtypes: tuple[np.dtype[Any], ...]
    args: tuple[Any, ...]
    loop: InnerLoop | None
    write: Callable[[Kernel, int, list[str]], str] | None

    @staticmethod
    def of(node: Node) -> ElementStep:
        """Return how to compute an elementwise call; raise Unsupported if machine code cannot do so."""
        if node.op in (*CASTS, "discretized"):
            return cast_step(node)
        if node.op in PARTS:
            return part_step(node)
        if node.op in (MASKED, "where"):
            return choice_step(node)
        if node.op in ("copied", "copy") and len(node.args) == 1 and not node.keywords:
            return ElementStep((node.dtype,), node.args, None, lambda kernel, width, args: args[0])
        ufunc = called_ufunc(node)
        if ufunc is None or ufunc.signature is not None:
            raise Unsupported(f"{node.op}")
        dtypes = resolved_dtypes(ufunc, node)
        *given, _ = dtypes
        for x, dtype in zip(node.args, given, strict=True):
            if type(x) is Node and x.dtype != dtype:
                conversion(x.dtype, dtype)
        writer = WRITERS.get(ufunc.__name__)
        same = len({*given}) == 1
        if writer is not None and same:
            try:
                writer(Kernel(), given[0], 1, ["%a", "%b"])
            except Unsupported:
                writer = None
        if writer is not None and same:
            dtype = given[0]
            check_numbers(node.args, given)
            return ElementStep(tuple(given), node.args, None, lambda kernel, width, args: writer(
                kernel, dtype, width, args
            ))  # fmt: skip
        if any(type(x) is Node and x.dtype != d for x, d in zip(node.args, given, strict=True)):
            raise Unsupported(f"{node.op} of several dtypes")
        return ElementStep(tuple(given), node.args, inner_loop(ufunc, tuple(dtypes)), None)


def reduced_axes(node: Node) -> set[int]:
    """Return the axes over which a reduction runs.

    Raise Unsupported if the call has options that machine code does not know.
    """
    x, *more = node.args
    options = {name: value for name, value in node.keywords.items() if value is not None}
    axis = options.pop("axis", None) if not more else more[0]
    options.pop("keepdims", None)
    if type(x) is not Node or x.dtype != node.dtype or len(more) > 1 or options.keys() - {"dtype"}:
        raise Unsupported(f"{node.op} with {', '.join(options) or 'another dtype'}")
    if np.dtype(options.get("dtype", x.dtype)) != x.dtype:
        raise Unsupported(f"{node.op} in another dtype")
    rank = len(x.shape)
    axes = range(rank) if axis is None else axis if type(axis) is tuple else (axis,)
    return {one % rank for one in axes} if rank else set()


def is_short_sum(node: Node, order: Sequence[Axis]) -> bool:
    """Return True if one kernel computes a whole sum or product, because it has short runs of elements.

    A run has the elements along the last axis in ``order``.  NumPy calls its C loop for each run, which
    takes longer than a short run.  PAIRWISE or more elements along a reduced axis are left to NumPy,
    which adds them in another order.  order : the axes of the loops over the operand.
    """
    if node.op not in ("sum", "prod") or not node.args[0].size or not order:
        return False
    if node.dtype.kind not in "iuf" or node.dtype.itemsize not in FLOATS:
        return False
    *outer, last = order
    run = int(last.size)
    if not outer:
        return False
    return run < (SHORT if last.strides[1] or node.op == "prod" else PAIRWISE)


def moved_by(kernel: Kernel, at: At, i: Offset, stride: int) -> At:
    """Return the address ``i * stride`` bytes after ``at``, in the text of a kernel."""
    name, offset = at
    return name, kernel.add_offsets(kernel.scale_offset(i, stride), offset)


def called_ufunc(node: Node) -> np.ufunc | None:
    """Return the ufunc that computes a node, or None.

    Some functions run a ufunc only for some arguments.  ``np.clip`` with two bounds runs ``clip``.
    """
    floats = node.dtype.kind == "f" and not node.keywords
    if node.op == "clip" and floats and len(node.args) == 3 and None not in node.args:
        clip: np.ufunc | None = getattr(np._core.umath, "clip", None)  # type: ignore[attr-defined]
        return clip
    if node.op == "power_operator" and floats:
        _, exponent = node.args
        fast = not exponent.shape if type(exponent) is Node else exponent in FAST_EXPONENTS
        return None if fast else np.power
    found = ufunc_of(node)
    # The loop for integers raises an exception of Python if an exponent is negative.
    return None if found is np.power and node.dtype.kind in "iu" else found


def resolved_dtypes(ufunc: np.ufunc, node: Node) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of operands and results with which NumPy runs a ufunc on a node's operands."""
    given = []
    for x in node.args:
        if type(x) is Node:
            given.append(x.dtype)
        elif type(x) in (int, float, complex, bool):
            given.append(np.dtype(bool) if type(x) is bool else type(x))
        elif isinstance(x, np.generic):
            given.append(x.dtype)
        else:
            raise Unsupported(f"{node.op} of {type(x).__name__}")
    try:
        found = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    except TypeError as error:
        raise Unsupported(f"{node.op}: {error}") from None
    if found[-1] != node.dtype:
        raise Unsupported(f"{node.op} to another dtype")
    for x, dtype in zip(node.args, found, strict=False):
        exact = type(x) is float and dtype == np.float64
        if type(x) in (int, float) and dtype.kind in "fiu" and not exact:
            with Quiet():
                fits = np.asarray(x).astype(dtype)
            if (dtype.kind in "iu" and fits != x) or np.isinf(fits) != math.isinf(x):
                raise Unsupported(f"{node.op} of a number beyond {dtype}")
    return found


def check_numbers(args: Sequence[Operand], dtypes: Sequence[np.dtype[Any]]) -> None:
    """Raise Unsupported if a number among the operands cannot be written in LLVM's language.

    args : the operands.
    dtypes : the dtypes to which they are converted.
    """
    for x, dtype in zip(args, dtypes, strict=True):
        if type(x) is not Node:
            number_text(x, dtype, 1)


def cast_step(node: Node) -> ElementStep:
    """Return how to compute a cast, such as ``astype``, element by element."""
    x = node.args[0]
    if type(x) is not Node or node.view or node.keywords.keys() - {"copy"}:
        raise Unsupported("a cast with options")
    if x.dtype != node.dtype:
        conversion(x.dtype, node.dtype)
    return ElementStep((node.dtype,), (x,), None, lambda kernel, width, args: args[0])


def part_step(node: Node) -> ElementStep:
    """Return how to compute the real or imaginary part of an operand, element by element."""
    (x,) = node.args
    part = node.op.startswith("imag")

    def write(kernel: Kernel, width: int, args: list[str]) -> str:
        if x.dtype.kind == "c":
            return write_complex_part(kernel, args[0], x.dtype, node.dtype, width, part)
        return number_text(0, node.dtype, width) if part else args[0]

    return ElementStep((x.dtype,), (x,), None, write)


def choice_step(node: Node) -> ElementStep:
    """Return how to compute ``where`` or a MASKED node: a choice between x and y, or 0, by a mask."""
    if node.op == "where":
        mask, x, y = node.args if len(node.args) == 3 else (None, None, None)
    else:
        x, mask, y = node.args
        if type(y) is bool:  # True: x where the mask is true; False: where it is false; else 0
            zero = np.zeros((), node.dtype)[()]
            x, y = (x, zero) if y else (zero, x)
    if type(mask) is not Node or mask.dtype.kind != "b" or node.keywords:
        raise Unsupported("where with another mask")
    for value in (x, y):
        if type(value) is Node and value.dtype != node.dtype:
            conversion(value.dtype, node.dtype)
        elif type(value) is not Node:
            number_text(value, node.dtype, 1)

    def write(kernel: Kernel, width: int, args: list[str]) -> str:
        kind = value_type(node.dtype, width)
        bits = vector_of("i1", width)
        return kernel.define(f"select {bits} {args[0]}, {kind} {args[1]}, {kind} {args[2]}")

    return ElementStep((mask.dtype, node.dtype, node.dtype), (mask, x, y), None, write)


def write_check(
    kernel: Kernel, x: str, dtype: np.dtype[Any], width: int, guard: Guard
) -> None:  # fmt: skip
    """Write the check of the elements x that a guard requires.

    Its kind is "no NaN", NO_TRUE (no element of a mask is True) or BELOW (absolute values are below a
    limit).
    kernel : the LLVM function, to which the check is added.
    x : the name of the elements.
    guard : the condition, which is checked in each run.
    """
    kind = value_type(dtype, width)
    if guard.kind == "no NaN":
        x = kernel.define(f"fcmp uno {kind} {x}, {x}")
    elif guard.kind == BELOW:  # a NaN is not below the limit, either
        limit = number_text(min(guard.expected, np.finfo(dtype).max), dtype, width)
        x = kernel.define(
            f"fcmp uge {kind} {WRITERS['absolute'](kernel, dtype, width, [x])}, {limit}"
        )
    kernel.require_not(x, width)


class GroupWriter:
    """The writer of the code of one group of calls: kernels, and calls of C loops between them.

    A group has elementwise calls of one shape, its members.
    phase : member -> number, never lower than those of its operands.  Members with the same even number
        share kernels.  A member with an odd number is a call of a C loop, with a record of its own.
    parts : lists of members, in the order in which they run, with one record for each list.
    stored : the nodes that are read outside of the group, and so need memory.
    """

    def __init__(self, lowering: Lowering, group: Group) -> None:
        self.lowering, self.group = lowering, group
        self.members = group.members
        self.nodes = [member for member in self.members if type(member) is Node]
        self.inside = {*self.nodes}
        self.sums = [node for node in self.nodes if node.op == PARTIAL]
        self.steps = lowering.steps
        self.stored = [node for node in self.nodes if lowering.is_read_later(node, self.inside)]
        self.phase: dict[Member, int] = {}
        for member in self.members:
            read = [x for x in member_inputs(member) if x in self.inside]
            latest = max([self.phase[x] for x in read], default=0)
            calls = type(member) is Node and self.calls_loop(member)
            # A call has an odd phase, later than that of a call whose result it reads.
            self.phase[member] = latest + (2 if calls and latest % 2 else latest % 2 != calls)
        self.parts = self.find_parts()
        self.part_of = {member: i for i, part in enumerate(self.parts) for member in part}

    def calls_loop(self, node: Node) -> bool:
        """Return True if NumPy's inner loop computes the node, not an LLVM instruction."""
        return node.op == PARTIAL or self.steps[node].loop is not None

    def find_parts(self) -> list[list[Member]]:
        """Divide the group's calls into lists, each for one kernel or C loop, in running order.

        The group has elementwise calls of one shape.
        """
        by_phase: dict[int, list[Member]] = {}
        for member in self.members:
            by_phase.setdefault(self.phase[member], []).append(member)
        parts: list[list[Member]] = []
        for number in sorted(by_phase):
            found = by_phase[number]
            parts += [[x] for x in found] if number % 2 else equal_parts(found)
        return parts

    def write_parts(self) -> None:
        """Write the code of the group of calls, block by block if its arrays are large.

        Then a block of the intermediate values stays in the cache.
        """
        lowering, size = self.lowering, math.prod(self.group.shape)
        for node in self.nodes:
            lowering.groups.pop(node, None)
        for node in self.stored:
            if node not in lowering.places:  # ``put_result`` may have set the place
                lowering.new_place(node)
        for node in self.sums:
            lowering.fill_place(lowering.places[node], 0)
        flat = self.lies_flat()
        blocks = flat and size > BLOCK and len(self.parts) > 1
        scratch: dict[Node, Place] = {}
        shape = (min(size, BLOCK),) if blocks else self.group.shape
        crossing = {
            x for member in self.members for x in member_inputs(member)
            if x in self.inside and self.part_of[x] != self.part_of[member]
        }  # fmt: skip
        for node in self.nodes:
            if node in crossing and node not in self.stored:
                scratch[node] = self.temporary(shape, node)
        if not blocks:
            for part in self.parts:
                lowering.entries += self.part_entries(part, scratch, flat, 0, size)
            return
        whole, rest = divmod(size, BLOCK)
        inner = [
            entry
            for part in self.parts
            for entry in self.part_entries(part, scratch, True, 0, BLOCK)
        ]
        lowering.entries.append(PendingRecord(
            lambda: block_record(whole, [entry.words() for entry in inner]),
            [buffer for entry in inner for buffer in entry.uses],
        ))  # fmt: skip
        if rest:
            for part in self.parts:
                lowering.entries += self.part_entries(part, scratch, True, whole * BLOCK, rest)

    def temporary(self, shape: tuple[int, ...], node: Node) -> Place:
        """Reserve memory for a value that one record of the group computes and another reads.

        A record is a call that the driver makes, of a kernel or a C loop.  Return buffer and layout of
        the memory.
        """
        place = self.lowering.temporary(shape, node.dtype)
        if shape == node.shape and is_dense(shape, node.strides, node.dtype.itemsize):
            return place._replace(strides=node.strides)
        return place

    def lies_flat(self) -> bool:
        """Return True if one loop over the memory can run through all arrays of the group together.

        Arrays of more than one element must have no gaps and one common order of axes.  Those from
        outside the group must have the group's shape.  The group has elementwise calls of one shape.
        """
        layouts = []
        for node in self.nodes:
            for x in member_inputs(node) if node in self.sums else (node, *member_inputs(node)):
                if x in self.inside and (x not in self.stored or x.size == 1):
                    if is_dense(x.shape, x.strides, x.dtype.itemsize):
                        layouts.append(axis_order(x.shape, x.strides))
                    else:
                        layouts.append(axis_order(x.shape, packed(x.shape, x.dtype.itemsize)))
                elif x.size != 1:
                    place = self.lowering.find_place(x)
                    if place.shape != self.group.shape or not is_dense(
                        place.shape, place.strides, place.dtype.itemsize
                    ):
                        return False
                    layouts.append(axis_order(place.shape, place.strides))
        return len({*layouts}) <= 1

    def part_entries(
        self, part: list[Member], scratch: Mapping[Node, Place], flat: bool, start: int, count: int
    ) -> list[PendingRecord]:
        """Return the records (calls by the driver) that compute ``part``, some calls of the group.

        If ``flat``, the arrays are treated as vectors in memory order, and only ``count`` elements
        from number ``start`` on are computed.
        scratch : node -> place of a value that another part of the group reads.
        """
        first = part[0]
        if type(first) is Node and first.op == PARTIAL:
            return self.sum_of_blocks(first, scratch, start, count)
        if type(first) is Node and self.calls_loop(first):
            return self.call_entries(first, scratch, flat, start, count)
        return [self.kernel_entry(part, scratch, flat, start, count)]

    def operand_place(self, x: Node, scratch: Mapping[Node, Place]) -> Place:
        """Return the place (buffer and layout) of an operand of the group's calls.

        scratch : node -> place of a value that another part of the group computes.
        """
        if x in scratch:
            return scratch[x]
        return self.lowering.find_place(x)

    def block_pointer(
        self, x: Node, scratch: Mapping[Node, Place], start: int, blocks: bool
    ) -> Pointer:
        """Return the pointer to the elements of x from number ``start`` on, in the order of memory.

        If ``blocks``, the code runs for one block after the other, and the pointer moves on each time.
        It does not move if x is a single element, or in scratch memory for one block.
        scratch : node -> place of a value that another part of the group reads.
        """
        place = self.operand_place(x, scratch)
        if x in scratch and len(place.shape) == 1 and self.group.shape != place.shape:
            return Pointer(place.buffer, place.offset)
        if math.prod(place.shape) == 1:
            return Pointer(place.buffer, place.offset)
        size = place.dtype.itemsize
        return Pointer(place.buffer, place.offset + start * size, BLOCK * size if blocks else 0)

    def call_entries(
        self, node: Node, scratch: Mapping[Node, Place], flat: bool, start: int, count: int
    ) -> list[PendingRecord]:
        """Return the record (call by the driver) that computes ``node`` by a ufunc's C loop, in a list.

        If ``flat``, the arrays are treated as vectors in memory order, and only ``count`` elements
        from number ``start`` on are computed.
        scratch : node -> place of a value that another part of the group reads.
        """
        step = self.steps[node]
        lowering, size = self.lowering, math.prod(self.group.shape)
        blocks = flat and count < size
        assert step.loop is not None
        operands_: list[Node | Place] = []
        for x, dtype in zip(step.args, step.dtypes, strict=True):
            if type(x) is not Node:
                operands_.append(lowering.place_number(x, dtype))
            else:
                operands_.append(x)
        reverse = any(step < 0 for x in operands_ if isinstance(x, Node) for step in x.strides)
        if reverse and (len(self.group.shape) > 1 or size == 1):
            # NumPy may reverse such an axis, and the bits of its loops may depend on the strides.
            raise Unsupported("data whose elements are stored in reverse")
        if not flat:
            places = [
                x if isinstance(x, Place) else self.operand_place(x, scratch)
                for x in (*operands_, node)
            ]
            shape = self.group.shape
            spread = [p._replace(shape=shape, strides=broadcast_strides(p, shape)) for p in places]
            return [lowering.call_over(step.loop, shape, spread)]
        arrays = [x for x in operands_ if isinstance(x, Node)]
        # For arrays of one element, NumPy passes the element's size as the stride to its loop, or 0 if
        # it broadcasts axes of length 1.  The bits of complex products depend on the stride.
        broadcasts = size == 1 and len({len(x.shape) for x in arrays if x.shape}) > 1
        pointers, steps = [], []
        for x in (*operands_, node):
            if isinstance(x, Place):
                pointers.append(Pointer(x.buffer, x.offset))
                steps.append(0)
            else:
                pointers.append(self.block_pointer(x, scratch, start, blocks and not start))
                steps.append(0 if broadcasts or x.size == 1 < size else x.dtype.itemsize)
        return [lowering.loop_entry(step.loop, pointers, [count], steps)]

    def sum_of_blocks(
        self, node: Node, scratch: Mapping[Node, Place], start: int, count: int
    ) -> list[PendingRecord]:
        """Return the records (calls by the driver) that compute ``node``, a dot product, block by block.

        The sum has ``count`` elements of the operands, from number ``start`` on.
        scratch : node -> place of a value that another part of the group reads.
        """
        lowering, size = self.lowering, node.dtype.itemsize
        loop = inner_loop(np.vecdot, (node.dtype,) * 3)
        target, one = lowering.find_place(node), lowering.temporary((), node.dtype)
        total, part = [Pointer(p.buffer, p.offset) for p in (target, one)]
        adds = lowering.loop_entry(
            inner_loop(np.add, (node.dtype,) * 3), [total, part, total], [1], [0, 0, 0]
        )

        def added(first: int, length: int, blocks: bool) -> list[PendingRecord]:
            pointers = [self.block_pointer(x, scratch, first, blocks) for x in node.args]
            steps = [0, 0, 0, size, size]
            return [lowering.loop_entry(loop, [*pointers, part], [1, length], steps), adds]

        if count <= BLOCK:  # one block of a group that the caller computes in blocks, or the rest
            whole = count < math.prod(self.group.shape) and not start
            return added(start, count, whole)
        number, rest = divmod(count, BLOCK)
        inner = added(start, BLOCK, True)
        found = [PendingRecord(
            lambda: block_record(number, [entry.words() for entry in inner]),
            [buffer for entry in inner for buffer in entry.uses],
        )]  # fmt: skip
        return found + (added(start + number * BLOCK, rest, False) if rest else [])

    def kernel_entry(
        self, part: list[Member], scratch: Mapping[Node, Place], flat: bool, start: int, count: int
    ) -> PendingRecord:
        """Return the record by which the driver calls a kernel that computes the calls ``part``.

        If ``flat``, the arrays are treated as vectors in memory order, and only ``count`` elements
        from number ``start`` on are computed.
        scratch : node -> place of a value that another part of the group reads.
        """
        kernel = Kernel()
        here = {member for member in part if type(member) is Node}
        read = [
            *dict.fromkeys(x for member in part for x in member_inputs(member) if x not in here)
        ]
        written = [x for x in part if type(x) is Node and (x in scratch or x in self.stored)]
        size = math.prod(self.group.shape)
        blocks = flat and count < size and not start

        def body(width: int, at: list[At], same: list[bool]) -> None:
            values: dict[Node, str] = {}
            for x, place, one in zip(read, at[len(written) :], same[len(written) :], strict=True):
                values[x] = kernel.load_elements(place, x.dtype, width, one)
            targets = dict(zip(written, at, strict=False))
            for member in part:
                if type(member) is Check:
                    write_check(kernel, values[member.node], member.node.dtype, width, member.guard)
                    continue
                assert type(member) is Node
                values[member] = self.write_value(kernel, member, values, width)
                if member in targets:
                    kernel.store_elements(values[member], targets[member], member.dtype, width)

        data = [*written, *read]
        if not flat:
            shape = self.group.shape
            places = [self.operand_place(x, scratch) for x in data]
            strides = [broadcast_strides(place, shape) for place in places]
            kernel.write_nest(
                joined_axes(shape, strides), [kernel.pointer_to(place) for place in places],
                [x.dtype.itemsize for x in data], body,
            )  # fmt: skip
            return self.lowering.kernel_record_of(kernel)
        names = [
            (
                kernel.name_pointer(self.block_pointer(x, scratch, start, blocks)),
                x.size == 1 and size > 1,
            )
            for x in data
        ]
        strides_ = tuple(
            [0 if one else x.dtype.itemsize for (_, one), x in zip(names, data, strict=True)]
        )
        kernel.counted = count > 64
        length: Any = "%count" if kernel.counted else count
        kernel.write_nest(
            [Axis(length, strides_)], [(name, 0) for name, _ in names],
            [x.dtype.itemsize for x in data], body,
        )  # fmt: skip
        return self.lowering.kernel_record_of(kernel, count if kernel.counted else None)

    def write_value(
        self, kernel: Kernel, node: Node, values: Mapping[Node, str], width: int
    ) -> str:
        """Write the instructions of a node into a kernel, and return the name of the result.

        values : operand -> its name.
        width : the number of elements of a vector.
        """
        step = self.steps[node]
        args = []
        for x, dtype in zip(step.args, step.dtypes, strict=True):
            if type(x) is Node:
                args.append(write_conversion(kernel, values[x], x.dtype, dtype, width))
            else:
                args.append(number_text(x, dtype, width))
        assert step.write is not None
        return step.write(kernel, width, args)


def member_inputs(member: Member) -> tuple[Node, ...]:
    """Return the nodes that a member of a group (of elementwise calls) reads.

    A member is an elementwise call, with its operands, or a check of a node's elements.
    """
    return (member.node,) if isinstance(member, Check) else operands(member)


def equal_parts(members: list[Member]) -> list[list[Member]]:
    """Divide a long list of a group's calls into lists of about MEMBERS each, one for each kernel.

    If the same ops repeat in the list, each part has a whole number of repetitions.  So the kernels of
    many parts have equal text, and are compiled once.
    """
    count = len(members)
    if count <= MEMBERS:
        return [members]
    names = [member.op if type(member) is Node else "check" for member in members]
    middle = count // 4
    period = next(
        (d for d in range(1, min(count // 3, 400))
         if all(names[i] == names[i + d] for i in range(middle, count - middle - d))),
        None,
    )  # fmt: skip
    if period is None:
        return [members[i : i + MEMBERS] for i in range(0, count, MEMBERS)]
    step = period * max(1, round(MEMBERS / period))
    first = middle
    while first and names[first - 1] == names[first - 1 + period]:
        first -= 1
    starts = [0, *range(first + period, count, step)]
    found = [members[i:j] for i, j in zip(starts, [*starts[1:], count], strict=True)]
    return [part for part in found if part]


# --- layouts --------------------------------------------------------------------------------------
def is_dense(shape: Sequence[int], strides: Sequence[int], size: int) -> bool:
    """Return True if the data fills its memory: no gaps, no repeated elements, no negative strides."""
    axes = sorted((s, n) for n, s in zip(shape, strides, strict=True) if n != 1)
    for stride, count in axes:
        if stride != size:
            return False
        size *= count
    return True


def axis_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of the axes that are not of length 1, in the order of descending strides."""
    axes = [k for k, n in enumerate(shape) if n != 1]
    return tuple(sorted(axes, key=lambda k: -strides[k]))


def in_order(x: Place) -> bool:
    """Return True if no stride of x is negative, or longer than the stride of an earlier axis.

    Then a loop over the axes in their order reads the memory upwards.
    """
    steps = [s for s, n in zip(x.strides, x.shape, strict=False) if n != 1 and s]
    return all(s > 0 for s in steps) and steps == sorted(steps, reverse=True)


def matrix_layout(place: Place) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return (rows, columns) and the strides of the matrices in a stack: those of its last two axes.

    place : buffer and layout of the stack.
    """
    (rows, columns), (down, across) = place.shape[-2:], place.strides[-2:]
    return (rows, columns), (down, across)


def parts_of_complex(place: Place) -> Place:
    """Return the Place (buffer and layout) of complex data as floats.

    The real and imaginary parts lie along a new last axis.
    """
    dtype = np.zeros(0, place.dtype).real.dtype
    return place._replace(
        shape=(*place.shape, 2), strides=(*place.strides, dtype.itemsize), dtype=dtype
    )


def broadcast_strides(place: Place, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of data broadcast to ``shape``: 0 along axes that are repeated.

    place : buffer and layout of the data.
    """
    more = len(shape) - len(place.shape)
    own = [
        0 if n == 1 and wanted != 1 else stride
        for n, stride, wanted in zip(place.shape, place.strides, shape[more:], strict=True)
    ]
    return (0,) * more + tuple(own)


def view_of_nothing(place: Place) -> tuple[np.ndarray[Any, Any], int]:
    """Return a new array with the shape, strides and dtype of ``place``, and the array's address.

    Its contents do not matter.  A view of the array, such as ``x.T``, is made to find out the offset
    and strides of the same view of the data at ``place``.
    """
    low = sum(min(0, (n - 1) * s) for n, s in zip(place.shape, place.strides, strict=True))
    high = sum(max(0, (n - 1) * s) for n, s in zip(place.shape, place.strides, strict=True))
    memory = np.empty(high - low + place.dtype.itemsize, np.uint8)
    view = np.ndarray(place.shape, place.dtype, memory, -low, place.strides)
    return view, view.__array_interface__["data"][0]


def axes_first(place: Place, axes: Sequence[int]) -> Place:
    """Return the Place (buffer and layout) of the same data with ``axes`` moved to the front."""
    order = [*axes, *[k for k in range(len(place.shape)) if k not in axes]]
    shape, strides = [tuple([of[k] for k in order]) for of in (place.shape, place.strides)]
    return place._replace(shape=shape, strides=strides)


def later_axes(place: Place, count: int) -> Place:
    """Return the Place (buffer and layout) of ``x[0, ..., 0]``, with ``count`` zeros.

    place : the Place of x.
    """
    return place._replace(shape=place.shape[count:], strides=place.strides[count:])


def part_place(place: Place, key: Any) -> Place:
    """Return the Place (buffer and layout) of the view ``x[key]``, for a key without arrays.

    place : the Place of x.
    """
    view, start = view_of_nothing(place)
    part = part_at(view, key)
    offset = place.offset + part.__array_interface__["data"][0] - start
    return Place(place.buffer, offset, part.shape, part.strides, part.dtype)


def part_at(view: np.ndarray[Any, Any], key: Any) -> np.ndarray[Any, Any]:
    """Return ``view[key]`` as a view, even if the key selects a single element."""
    keys = key if type(key) is tuple else (key,)
    if not any(part is Ellipsis for part in keys):
        keys = (*keys, Ellipsis)
    return view[keys]


def rounded_up(size: int) -> int:
    """Return ``size`` rounded up to whole cache lines; a line is added if the result is whole pages.

    Buffers of the scratch memory get such sizes, because a kernel uses many buffers.  Data at equal
    offsets in pages would displace each other in the cache.
    """
    lines = max(1, -(-size // LINE))
    return (lines + (lines * LINE % PAGE == 0)) * LINE


def merged_gaps(gaps: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return free ranges (offset, size) of scratch memory in order, with adjacent ranges joined."""
    found: list[tuple[int, int]] = []
    for offset, size in sorted(gaps):
        if found and sum(found[-1]) == offset:
            found[-1] = found[-1][0], found[-1][1] + size
        else:
            found.append((offset, size))
    return found


CALLS: dict[str, Callable[[Lowering, Node], None]] = {
    "matmul": Lowering.lower_matmul,
    DOT: Lowering.lower_dot,
    PARTIAL: Lowering.lower_partial_sum,
    "put": Lowering.lower_write,
    "take": Lowering.lower_take,
    "scatter_add": Lowering.lower_scatter,
    "add_at": Lowering.lower_scatter,
    "scattered": Lowering.lower_scatter,
    "concat": Lowering.lower_join,
    "stack": Lowering.lower_join,
    **dict.fromkeys(REDUCTIONS, Lowering.lower_reduction),
    **dict.fromkeys(RUNNING, Lowering.lower_cumulative),
}
