"""The generated Python function of a program, which calls NumPy: the last step after all passes.

``Source(program, name)`` writes one or more lines for each node, in order.  Where possible, a result is
written into the memory of an operand that is not read later, or into memory that is kept from call to
call (``kept_memory.py``).  A large program then touches little memory.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from itertools import count
from typing import Any, TypeGuard
from weakref import finalize

import numpy as np

from ..._record.op_facts import facts_of
from ..._util.array_types import Index
from ..passes.block_by_block import BLOCK, BLOCKED
from ..passes.nan_checks import SKIPPABLE_CHECK, SkippableCheck
from ..passes.nodes import packed, same_layout
from ..passes.simplify import INTEGERS, MASKED, is_basic
from ..passes.sums_by_blas import DOT
from ..passes.ufunc_calls import (
    CASTS,
    SLOW_BESIDE_NUMBERS,
    call_into,
    may_overwrite_operands,
    same_beside_numbers,
    ufunc_of,
)
from ..program import (
    CONSTANT,
    FOREIGN,
    INPUT,
    Guard,
    GuardFailed,
    Node,
    Operand,
    Program,
    defined_function,
    key_of,
    nodes_in,
    operands,
    result_of,
)
from .bits import Bits
from .kept_memory import MOST, Memory, last_reads, leaving, memory_of
from .loops import Loop
from .number_operands import as_operand

LARGE = 4096  # the least number of elements of data that is released right after its last read
WORTH_SPREAD = 256  # the least number of elements for which ``spread`` replaces a number
# The maximum number of elements of a ``masked`` call whose mask, converted to integers, is kept for
# later calls with the same mask.
SHARED = 1 << 16
NUMBER = count(1).__next__  # numbers the file names of generated functions


class Source:
    """The text of a program (recorded NumPy calls), and the Python function that it defines.

    text : the Python source.
    function : a function that maps the data of the inputs to a tuple of outputs and a tuple of writes;
        it raises GuardFailed at a guard (condition on a value) that does not hold.

    Names in the text are a letter and a number: x for inputs, c for constants, v for results, s for kept
    buffers, w for views of these, u for other views, k for other values.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self.names: dict[Node, str] = {}  # node -> its name, or expression, in the text
        self.scope: dict[str, Any] = {
            "array": np.array, "asarray": np.asarray, "failed": failed, "guards": program.guards,
        }  # fmt: skip
        self.scalars: set[Node] = set()  # nodes whose value is a NumPy scalar, not an array
        self.arrays: dict[Node, str] = {}  # scalar input or constant -> name of its 0-d array
        self.lines: list[str] = []
        # Result of a loop -> expression of the sums of squares of its blocks, for the NaN check: a NaN
        # in the result makes one of the sums NaN.
        self.squares: dict[Node, str] = {}
        self.kept = Memory()
        self.new_number = count().__next__
        self.views: dict[str, str] = {}  # expression -> name, for views of memory that is not kept
        self.values: dict[Node, Any] = {}  # values of constants, and of views of constants
        self.spreads: dict[Any, str] = {}  # names of arrays that are filled with one number
        self.slots: dict[Node, str] = {}  # node -> the kept buffer that it uses
        self.memory = memory_of(program)
        self.last = last_reads(program, self.memory)
        self.leaving = leaving(program, self.memory, self.last)
        choices = [node for node in program.nodes if node.op == MASKED and node.size <= SHARED]
        self.bits = Bits(
            choices, self.room_for_bits, lambda node, name: self.kept.give_memory(name), self.named
        )
        self.places: dict[Node, Node] = {}  # node -> the operand whose memory it has taken over
        self.taken_over: set[Node] = set()  # operands whose memory a result has taken over
        self.written: set[Node] = set()  # values computed in a slice of a later node's memory
        self.within: dict[Node, list[Node]] = {}  # node -> the nodes that may share its memory
        self.dying: dict[int, list[Node]] = {}  # index of a call -> nodes that this call reads last
        for node, roots in self.memory.items():
            for root in roots:
                self.within.setdefault(root, []).append(node)
        for root, place in self.last.items():
            if root.op not in (INPUT, CONSTANT):
                self.dying.setdefault(place, []).append(root)
        parameters = ", ".join(self.input(node) for node in program.inputs)
        start = len(self.lines)
        self.body()
        if self.kept.names:
            self.lines[start:start] = self.kept.taken_memory()
            self.scope["idle"], self.scope["empty"] = [], np.empty
        body = "\n    ".join(self.lines)
        self.text = f"def {name}({parameters}):\n    {body}\n{self.kept.memory_source()}"
        file = f"<arraytape replay {NUMBER()} of {name}>"
        self.function: Callable[..., Any] = defined_function(self.text, file, name, self.scope)
        show(file, self.text, self.function)

    def input(self, node: Node) -> str:
        """Return the name of the function's parameter for an input node.

        Write a line that makes a float or complex 0-d array a NumPy scalar.
        """
        self.names[node] = name = f"x{len(self.names)}"
        if node.shape == () and node.dtype.kind in "fc":
            self.scalars.add(node)
            self.arrays[node], self.names[node] = name, f"{name}_"
            self.lines.append(f"{name}_ = {name}[()]")
        return name

    def body(self) -> None:
        """Write the lines of all calls and of all checks of values, and the return statement."""
        guards: dict[Node, list[int]] = {}
        for i, guard in enumerate(self.program.guards):
            guards.setdefault(guard.node, []).append(i)
        for node in self.program.nodes:
            if node.op == CONSTANT:
                self.constant(node)
        for place, node in enumerate(self.program.nodes):
            checks = guards.get(node, [])
            if node.op == SKIPPABLE_CHECK:
                self.skippable_check(node, checks)
                checks = []
            elif node.op not in (INPUT, CONSTANT):
                self.call(place, node)
            for i in checks:
                self.guard(i, self.program.guards[i])
            self.drop(place)
        taken: set[Node] = set()
        outputs = [self.output_text(node, taken) for node in self.program.outputs]
        writes = [self.to_write(node) for node in self.program.writes]
        result = f"({''.join(f'{x}, ' for x in outputs)}), ({''.join(f'{x}, ' for x in writes)})"
        if self.kept.names:
            self.lines += [f"result = {result}", "idle.append(kept)"]
            result = "result"
        self.lines.append(f"return {result}")

    # --- names and texts of values ----------------------------------------------------------------
    def constant(self, node: Node) -> None:
        value, name = node.value, f"c{len(self.scope)}"
        self.values[node] = value
        if node.shape == () and value.dtype.kind in "fc":
            self.arrays[node] = self.named(f"{name}_", value)
            value = value[()]
            self.scalars.add(node)
        self.names[node] = self.named(name, value)

    def compute_constant(self, node: Node) -> bool:
        """Compute a view of constants now and name it; return False if an operand is no constant.

        The generated function then need not compute the view in each run.
        """
        inputs = operands(node)
        if node.shape is None or not inputs or not all(x in self.values for x in inputs):
            return False
        self.values[node] = result_of(node, self.values)
        self.names[node] = self.named(f"c{len(self.scope)}", self.values[node])
        return True

    def named(self, name: str, value: Any) -> str:
        """Return a name for a value in the globals of the generated function: `name`, if unused."""
        if self.scope.get(name, value) is not value:
            name = f"{name}_{len(self.scope)}"
        self.scope[name] = value
        return name

    def dtype(self, dtype: np.dtype[Any]) -> str:
        return self.named(str(dtype), dtype)

    def text_of(self, value: Any, arrays: bool) -> str:
        """Return the text of a call's argument.

        arrays : whether NumPy scalars must become arrays.
        """
        kind = type(value)
        if kind is Node:
            name = self.names[value]
            if arrays and value in self.scalars:
                return self.arrays.get(value, f"asarray({name})")
            return name
        if kind is tuple or kind is list:
            parts = [self.text_of(part, arrays) for part in value]
            inner = ", ".join(parts)
            if kind is list:
                return f"[{inner}]"
            return f"({inner},)" if len(parts) == 1 else f"({inner})"
        if kind in (int, bool, str, type(None)) or (kind is float and math.isfinite(value)):
            return repr(value)
        if is_plain_slice(value):
            return repr(value)
        if value is Ellipsis:
            return "..."
        return self.named(f"k{len(self.scope)}", value)

    def output_text(self, node: Node, taken: set[Node]) -> str:
        """Return the text of an output: a copy if it shares memory with an input, constant or output.

        taken : the nodes whose memory earlier outputs use.  Those of this output are added.
        """
        name = self.names[node]
        if node in self.scalars:
            return f"array({name})"
        roots = {self.place_of(root) for root in self.memory[node]}
        own = not node.view and node.op not in (INPUT, CONSTANT) and roots.isdisjoint(taken)
        taken |= roots
        return name if own else f"{name}.copy(order='K')"

    def to_write(self, node: Node) -> str:
        """Return the text of a value that is written into an Array at the end of the run.

        If there are several such writes, a value that shares memory with an input is copied, because
        another write may change that input first.
        """
        lies_in_inputs = any(root.op == INPUT for root in self.memory[node])
        copied = lies_in_inputs and len(self.program.writes) > 1
        return self.text_of(node, True) + (".copy(order='K')" if copied else "")

    def place_of(self, node: Node) -> Node:
        """Return the node for which the memory of `node` was made.

        It is another node if a result was written into the memory of an operand.
        """
        while node in self.places:
            node = self.places[node]
        return node

    # --- lines of calls ---------------------------------------------------------------------------
    def call(self, place: int, node: Node) -> None:
        """Write a recorded call, by the method in STATEMENTS for its op if there is one.

        place : the number of the node in the program.
        """
        if node in self.names or (node.view and self.compute_constant(node)):
            return  # a loop has computed it, or it is a view of a constant
        statement = STATEMENTS.get(node.op)
        if statement is not None and statement(self, place, node):
            return
        ufunc = ufunc_of(node)
        if ufunc is not None:
            self.ufunc(place, node, ufunc)
        else:
            self.assign_call(node)

    def assign_call(self, node: Node) -> None:
        """Write ``name = call``.

        A result of shape () is converted to an array, unless it is known to be a NumPy scalar.
        """
        if node.op in ("getitem", "item"):
            value = self.part(node)
        else:
            args = [self.text_of(x, True) for x in node.args]
            args += [f"{name}={self.text_of(x, True)}" for name, x in node.keywords.items()]
            value = f"{self.named(node.op.replace('.', '_'), node.call)}({', '.join(args)})"
        if node.shape == () and not self.is_element(node):
            value = f"asarray({value})"
        if node.view and facts_of(node.op).rearranges and len(operands(node)) == 1:
            self.names[node] = self.view(self.names[operands(node)[0]], value)
        else:
            self.assign(node, value)

    def loop(self, place: int, node: Node) -> bool:
        Loop(self, place, node.call)  # type: ignore[arg-type]
        return True

    def cast(self, place: int, node: Node) -> bool:
        """Write a cast into memory that is kept between runs; return False if that is not possible.

        place : the number of the node in the program.
        """
        if node.view or self.room(node) is None:
            return False
        self.copy_into(node, node.args[0], ", 'unsafe'")
        return True

    def join(self, place: int, node: Node) -> bool:
        """Write a concatenation into kept memory; return False if the result cannot use kept memory.

        New memory of some megabytes costs more than the copy, because the system has to clear it.
        """
        axis = node.keywords.get("axis", 0)
        if len(node.args) != 1 or type(axis) is not int or self.room(node) is None:
            return False
        function = self.named("concatenate", np.concatenate)
        self.lines.append(
            f"{function}({self.text_of(node.args[0], True)}, {axis}, {self.names[node]})"
        )
        return True

    def reshape(self, place: int, node: Node) -> bool:
        """Write a reshape that copies into kept memory; return False if it is a view or not kept."""
        x = node.args[0]
        if node.view or type(x) is not Node or not x.shape or self.room(node) is None:
            return False
        into = self.view(self.names[node], f"{self.names[node]}.reshape({x.shape!r})")
        self.scope["copyto"] = np.copyto
        self.lines.append(f"copyto({into}, {self.text_of(x, True)})")
        return True

    def copy_into(self, node: Node, x: Node, casting: str = "") -> None:
        self.scope["copyto"] = np.copyto
        self.lines.append(f"copyto({self.names[node]}, {self.text_of(x, True)}{casting})")

    def dot(self, place: int, node: Node) -> bool:
        """Write a DOT node: the sum of the products of two arrays' elements, in the order of memory.

        Return True: the node was written.
        """
        names = [self.text_of(x, True) for x in node.args]
        flat = [
            name if len(x.shape) == 1 else self.view(name, f"{name}.ravel()")
            for name, x in zip(names, node.args, strict=True)
        ]
        self.scalars.add(node)
        self.assign(node, f"{flat[0]}.dot({flat[1]})")
        return True

    def view(self, name: str, text: str) -> str:
        """Return the name of a view of the value `name`, whose expression is ``text``.

        A view of kept memory is made once for all calls of the program.
        """
        if name in self.kept.made:
            return self.kept.view_memory(text)
        if text not in self.views:
            self.views[text] = f"u{self.new_number()}"
            self.lines.append(f"{self.views[text]} = {text}")
        return self.views[text]

    def room(self, node: Node) -> str | None:
        """Reserve memory that is kept from call to call for a result, and return its name.

        Return None if the caller gets the result, if it has gaps or another order in memory, or if the
        program would keep too much memory.
        """
        if not node.shape or node in self.leaving or not node.size:
            return None
        if node.strides != packed(node.shape, node.dtype.itemsize):
            return None
        dtype, size = self.dtype(node.dtype), node.size * node.dtype.itemsize
        if self.kept.bytes + size > MOST:
            return None
        name = self.kept.take_memory(node.shape, dtype, size)
        self.names[node] = self.slots[node] = name
        return name

    def assign(self, node: Node, value: str) -> None:
        name = self.names[node] = f"v{len(self.names)}"
        self.lines.append(f"{name} = {value}")

    def ufunc(self, place: int, node: Node, ufunc: np.ufunc) -> None:
        """Write a ufunc call; its result overwrites an operand that no later call reads, if possible.

        place : the number of the node in the program.
        """
        if node.shape == () and self.infix(node):
            return
        if node.op == "matmul" and all(map(for_blas, (*node.args, node))):
            self.product(node)
            return
        args = ", ".join([self.operand(x, node) for x in node.args])
        function = self.named(node.op.replace(".", "_"), ufunc)
        if node.shape and self.compute_into_slice(place, node, function, args):
            return
        apart = node.shape == () or node.op == "matmul" or not may_overwrite_operands(node)
        into = None if apart else self.free_operand(place, node)
        if into is not None:
            self.take_over(node, into)
        elif self.room(node) is None:
            if node.shape == ():
                self.scalars.add(node)
            self.assign(node, f"{function}({args})")
            return
        self.lines.append(call_into(ufunc, function, args, self.names[node]))

    def product(self, node: Node) -> None:
        """Write a product of matrices as ``x.dot(y)``, half a microsecond faster than ``matmul``."""
        x, y = [self.text_of(x, True) for x in node.args]
        if node.shape == () or self.room(node) is None:
            self.assign(node, f"{x}.dot({y})")
            if node.shape == ():
                self.scalars.add(node)
        else:
            self.lines.append(f"{x}.dot({y}, {self.names[node]})")

    def operand(self, x: Operand, node: Node) -> str:
        """Return the text of the operand x of the ufunc call `node`.

        If the result is an array, a number becomes an array of shape (), which halves the time of the
        call on few elements.
        """
        if node.shape == ():
            return self.text_of(x, False)
        array = as_operand(x, node)
        if array is not None and self.is_better_spread(node):
            return self.spread(array, node.shape)
        if array is None:
            return self.text_of(x, True)
        name = "_" + repr(x).replace("-", "minus_").replace(".", "_").replace("+", "")
        known = self.scope.get(name)
        if known is not None and known.dtype != array.dtype:
            name = f"{name}_{array.dtype}"
        return self.named(name, self.scope.get(name, array))

    def is_better_spread(self, node: Node) -> bool:
        """Return True if an array filled with a number makes a ufunc call faster than the number.

        node : the call, one of whose operands is a number.
        """
        worth = node.op in SLOW_BESIDE_NUMBERS and WORTH_SPREAD <= node.size <= BLOCK
        return worth and any(same_layout(x, node) for x in node.args) and same_beside_numbers()

    def spread(self, number: np.ndarray[Any, Any], shape: tuple[int, ...]) -> str:
        """Return the name of an array of this shape that is filled with one number.

        A ufunc call with such an array may be faster than with the number.
        """
        key = number.tobytes(), shape, number.dtype
        if key not in self.spreads:
            name = f"_{len(self.spreads)}s"
            self.spreads[key] = self.named(name, np.full(shape, number))
        return self.spreads[key]

    def infix(self, node: Node) -> bool:
        """Write arithmetic of scalars with an operator, such as ``a + b``; return False for other calls.

        Complex results are excluded: scalar products are rounded in another way than those of arrays.
        """
        sign = facts_of(node.op).infix
        if not sign or not all(self.is_scalar(x) for x in node.args) or node.dtype.kind == "c":
            return False
        args = [self.text_of(x, False) for x in node.args]
        self.scalars.add(node)
        self.assign(node, f"{args[0]} {sign} {args[1]}" if len(args) == 2 else f"{sign}{args[0]}")
        return True

    def is_scalar(self, x: Operand) -> bool:
        return x in self.scalars if type(x) is Node else isinstance(x, int | float | np.floating)

    def take_over(self, node: Node, x: Node) -> None:
        """Let a node use the memory of the node x, whose value is not read any more.

        A ufunc then writes its result over its operand.
        """
        self.names[node] = self.names[x]
        self.places[node] = x
        self.taken_over.add(x)

    def part(self, node: Node) -> str:
        """Return the text of a node that reads a part of a value: ``x[key]`` ("getitem"), or an "item".

        An "item" is one of several results of a call.
        """
        whole = self.text_of(node.args[0], True)
        if node.op == "item":
            return f"{whole}[{node.args[1]}]"
        more = ", ..." if self.is_element(node) else ""
        return f"{whole}[{self.key(node.args[1])}{more}]"

    def is_element(self, node: Node) -> bool:
        """Return True if a node is a single element of an input or constant, read by integers.

        Such a read is written with ``...``, which returns a 0-d view in place of a scalar.
        """
        if node.op != "getitem" or node.args[0].op not in (INPUT, CONSTANT) or node in self.leaving:
            return False
        key = node.args[1]
        parts = key if type(key) is tuple else (key,)
        return len(parts) == len(node.args[0].shape) and {*map(type, parts)} == {int}

    def mask(self, place: int, node: Node) -> bool:
        """Write a MASKED node: a choice between floats by a mask, as operations on their bits.

        Return True: the node was written.
        place : the number of the node in the program.
        """
        x, mask, other = node.args
        two = type(other) is Node
        free = self.free_operand(place, node)
        if free is not None and not (two and self.memory[x] & self.memory[other]):
            self.take_over(node, free)
        elif self.room(node) is None:
            self.scope |= {"empty": np.empty, "empty_like": np.empty_like}
            like, dtype = self.text_of(x, True), self.dtype(node.dtype)
            packed = f"empty({node.shape!r}, {dtype})"
            self.assign(node, f"empty_like({like})" if same_layout(x, node) else packed)
        name = self.dtype(INTEGERS[node.dtype])
        names = [self.names[y] for y in ((node, x, other) if two else (node, x))]
        mine, *theirs = [self.view(y, f"{y}.view({name})") for y in names]
        if not two:
            theirs.append(other)
        chosen = theirs[1] != mine if two else other
        byte = self.text_of(mask, True)
        small = ""
        if self.is_free(place, mask, node) and byte in self.kept.made:
            small = self.view(byte, f"{byte}.view({self.named('int8', np.dtype(np.int8))})")
        bits, lines = self.bits.mask_bits(node, byte, chosen, small)
        self.lines += lines + self.by_bits(theirs[0], bits, theirs[1], mine)
        return True

    def room_for_bits(self, node: Node) -> str:
        integer = INTEGERS[node.dtype]
        size = node.size * integer.itemsize
        return self.kept.take_memory(node.shape, self.dtype(integer), size)

    def by_bits(self, x: str, bits: str, other: str | bool, into: str) -> list[str]:
        """Return the lines that write x (where ``bits`` are set) or other (elsewhere) into ``into``.

        All names are of integer arrays.  If ``into`` is other's own memory, it is the other way round:
        set bits choose other.
        other : a name, or a bool for the choice between x and 0.
        """
        self.scope |= {"bitwise_and": np.bitwise_and, "bitwise_xor": np.bitwise_xor}
        if isinstance(other, bool):
            return [f"bitwise_and({x}, {bits}, {into})"]
        first, second = (x, other) if into != other else (other, x)
        return [
            f"bitwise_xor({first}, {second}, {into})",
            f"bitwise_and({into}, {bits}, {into})",
            f"bitwise_xor({into}, {second}, {into})",
        ]

    def key(self, key: Index) -> str:
        """Return the text of the index ``key``, to be put between brackets."""
        parts = key if type(key) is tuple else (key,)
        return ", ".join(map(self.part_of_key, parts)) or "()"

    def part_of_key(self, part: Index) -> str:
        if is_plain_slice(part):
            words = ["" if x is None else repr(x) for x in (part.start, part.stop, part.step)]
            return ":".join(words if words[2] else words[:2])
        return self.text_of(part, True)

    def put(self, place: int, node: Node) -> bool:
        """Write a "put" node: ``x[key] = value`` in place if x is not read later, else in a copy.

        place : the number of the node in the program.
        """
        _, key, value = node.args
        if node not in self.names:
            self.begin_put(place, node)
        if value not in self.written:
            name = self.names[node]
            self.lines.append(f"{name}[{self.key(key)}] = {self.text_of(value, False)}")
        return True

    def begin_put(self, place: int, node: Node) -> None:
        """Choose memory for the result of a "put" node (a write to its first operand).

        If needed, write a line that copies the first operand there.
        place : the number of the node in the program.
        """
        x = node.args[0]
        if self.may_write(place, node):
            self.take_over(node, x)
        elif self.room(node) is None:
            self.assign(node, f"{self.text_of(x, True)}.copy('K')")
        else:
            self.copy_into(node, x)

    def zero_rows_outside(self, name: str, start: int, stop: int, count: int) -> None:
        self.lines += [f"{name}[:{start}] = 0"] if start else []
        self.lines += [f"{name}[{stop}:] = 0"] if stop < count else []

    def may_write(self, place: int, node: Node) -> bool:
        """Return True if a "put" node (a write to x) may write into the memory of x itself."""
        x, key, value = node.args
        if not self.is_free(place, x, node) or x.strides != node.strides:
            return False
        if is_basic(key):
            return True
        # NumPy before 2.3 reads indices that it has overwritten.
        return all(self.memory[y].isdisjoint(self.memory[x]) for y in nodes_in((key, value)))

    def compute_into_slice(self, place: int, node: Node, function: str, args: str) -> bool:
        """Write a ufunc call that computes right into ``x[key]``, where a later write puts its result.

        The write is a "put" node.  Return False, and write nothing, if other nodes read the result, or
        if its bits would differ.
        function, args : texts: the function's name and its operands.
        """
        put = self.put_of(node)
        between = self.program.nodes[place + 1 : self.last[node]] if put is not None else []
        if put is None or any(x.op != CONSTANT for x in between):
            return False
        x, key, _ = put.args
        after = self.last[node]
        if self.may_write(after, put) and not all(
            is_part(y, x, key) or self.memory[y].isdisjoint(self.memory[x]) for y in operands(node)
        ):
            return False
        self.begin_put(after, put)
        name = self.names[put]
        self.names[node] = self.view(name, f"{name}[{self.key(put.args[1])}]")
        self.written.add(node)
        self.lines.append(call_into(ufunc_of(node), function, args, self.names[node]))
        return True

    def put_of(self, node: Node) -> Node | None:
        """Return the "put" node (a write) that copies the result of `node` into a slice, or None.

        Return None, too, if `node` cannot compute directly into the slice.
        """
        nodes, last = self.program.nodes, self.last.get(node)
        put = nodes[last] if last is not None and last < len(nodes) else node
        alone = put.op == "put" and put.args[2] is node and put.args[0] is not node
        if alone and self.fits_in(node, put):
            return put
        return None

    def fits_in(self, node: Node, put: Node) -> bool:
        """Return True if a result has the same bits when computed directly in the slice ``put`` writes.

        That needs an equal shape and dtype, and either a contiguous slice or a correctly rounded op.
        """
        x, key, _ = put.args
        if (
            not is_basic(key)
            or x.dtype != node.dtype
            or x.strides != packed(x.shape, x.dtype.itemsize)
        ):
            return False
        part = np.empty(x.shape, x.dtype)[key]
        if part.shape != node.shape or not isinstance(part, np.ndarray):
            return False
        return part.flags.c_contiguous or facts_of(node.op).correctly_rounded

    def free_operand(self, place: int, node: Node) -> Node | None:
        """Return an operand with the node's layout whose memory no later call reads, or None.

        The result can be written into its memory.
        """
        for x in node.args:
            if same_layout(x, node) and self.is_free(place, x, node):
                return x  # type: ignore[no-any-return]
        return None

    def is_free(self, place: int, x: Node, node: Node) -> bool:
        """Return True if the node at ``place`` may write its result into the memory of x.

        x must own its memory, which no later call may read.  A result that is returned to the caller
        cannot use kept memory, because the next run writes to kept memory again.
        """
        if x.view or x.op in (INPUT, CONSTANT) or x in self.scalars or x.shape in (None, ()):
            return False
        if x.op.startswith(FOREIGN):  # a user's function may have kept its result
            return False
        if node in self.leaving and self.place_of(x) in self.slots:
            return False
        return self.last.get(x, -1) <= place

    def drop(self, place: int) -> None:
        """Release the memory of the values that no call after number ``place`` reads."""
        gone = [node for node in self.dying.get(place, ()) if node not in self.taken_over]
        for node in gone:
            slot = self.slots.pop(self.place_of(node), None)
            if slot is not None:
                self.kept.give_memory(slot)
        gone = [node for node in gone if node.shape is not None and node not in self.written]
        large = [node for node in gone if node.size >= LARGE]
        names = {
            self.names[one] for node in large for one in self.within[node] if one in self.names
        }
        names -= self.kept.made.keys()
        if names:
            self.views = {text: name for text, name in self.views.items() if name not in names}
            self.lines.append(f"del {', '.join(sorted(names))}")

    def skippable_check(self, node: Node, guards: list[int]) -> None:
        """Write a node SKIPPABLE_CHECK: a NaN check, skipped if all sums of squares are below a limit.

        guards : a list of one number, that of the guard that fails if a value has a NaN.
        """
        check: SkippableCheck = node.call  # type: ignore[assignment]
        number = len(check.given)
        given, sums = ([self.text_of(x, True) for x in node.args[:number]],
                       [self.names[x] for x in node.args[number:]])  # fmt: skip
        most = " and ".join([f"{one} < {check.most!r}" for one in sums]) or "False"
        has_nan = self.named("has_nan", check.has_nan)
        self.lines += [
            f"if not ({most}):",
            f"    if {has_nan}({', '.join(given)}): failed(guards[{guards[0]}])",
        ]

    def guard(self, i: int, guard: Guard) -> None:
        """Write the statement that raises GuardFailed if guard number i (a condition) does not hold."""
        name = self.names[guard.node]
        if guard.kind == "no NaN":
            if guard.node not in self.scalars and guard.node.shape:
                flat = name if len(guard.node.shape) == 1 else f"{name}.ravel('K')"
                self.lines.append(f"q = {self.squares.get(guard.node, flat)}; q = q.dot(q)")
                name = "q"
            failure = f"{name} != {name}"  # true only for NaN
        elif guard.kind == "shape":
            failure = f"{name}.shape != {guard.expected!r}"
        elif guard.node in self.scalars and guard.node.dtype.kind == "b":
            failure = f"not {name}" if any(guard.expected) else name
        else:
            failure = f"{name}.tobytes() != {self.named(f'k{len(self.scope)}', guard.expected)}"
        self.lines.append(f"if {failure}: failed(guards[{i}])")


# Op -> the method that writes its nodes.  If the method returns False, ``call`` writes the node.
STATEMENTS: dict[str, Callable[[Source, int, Node], bool]] = {
    BLOCKED: Source.loop,
    DOT: Source.dot,
    MASKED: Source.mask,
    "put": Source.put,
    **dict.fromkeys(CASTS, Source.cast),
    "concat": Source.join,
    "reshape": Source.reshape,
}


def for_blas(x: Operand) -> bool:
    """Return True if an operand is a float vector or matrix that BLAS can read without a copy.

    For such operands, ``x.dot(y)`` is written.
    """
    if type(x) is not Node or x.dtype not in INTEGERS or len(x.shape) > 2 or not x.size:
        return False
    step = x.dtype.itemsize
    return x.strides in (packed(x.shape, step), packed(x.shape[::-1], step)[::-1])


def is_plain_slice(x: Operand | Index) -> TypeGuard[slice]:
    """Return True if x is a slice whose ends and step are integers or None."""
    return type(x) is slice and {type(x.start), type(x.stop), type(x.step)} <= {int, type(None)}


def is_part(y: Node, x: Node, key: Index) -> bool:
    """Return True if y is the view ``x[key]``.

    Such a node reads back the slice that a write replaces.
    """
    part = y.op == "getitem" and y.view and y.args[0] is x
    return part and key_of(y.args[1]) == key_of(key)


def show(file: str, text: str, function: Callable[..., Any]) -> None:
    """Register a generated text with linecache, so that tracebacks show its lines.

    The entry is removed when the generated function is collected.
    function : the function that the text defines.
    """
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    finalize(function, linecache.cache.pop, file, None).atexit = False


def failed(guard: Guard) -> None:
    raise GuardFailed(guard)
