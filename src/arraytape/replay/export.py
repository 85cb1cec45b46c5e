"""Programs run node by node over another namespace of the array API standard, such as jax.numpy.

``Function.program`` is an ``Export``.  Its ``run(namespace)`` returns a function of that library's
arrays.  ``Over`` adds the functions that programs call, but that the standard does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.paths import walk_path
from .._array.views import current
from .._record.op_facts import facts_of
from .._storage.standard import Size, Standard
from .._storage.storage import storage_for
from .._util import nest
from .._util.array_types import Index, Namespace, RawArray, RawOperand
from .._util.errors import user_line
from ..ops._factorisations import cholesky_by_systems
from .bound_arguments import argument_leaves
from .passes.simplify import is_basic
from .program import CONSTANT, FOREIGN, Guard, Node, Program, replaced

if TYPE_CHECKING:
    import numpy.typing as npt

    from .call import Call, LeafOrigin

# Functions that only change the memory layout.  In other libraries, their operand is used in place of
# their result.
SAME = frozenset(("arranged", "contiguous", "copied", "laid_out"))
SPELLED = {  # name of a NumPy ufunc -> its name in the array API standard
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj", "power": "pow",
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}  # fmt: skip


class Over(Standard):
    """The raw functions that recorded programs call, computed by another array API namespace.

    base : that namespace.
    kept : id of a NumPy array of the program -> the array in the namespace.
    """

    def __init__(self, base: Namespace) -> None:
        super().__init__(base)
        self.kept: dict[int, Any] = {}

    def keep(self, value: Any) -> None:
        """Convert the NumPy arrays in a constant or an argument once, for all calls of the program.

        If the namespace refuses an array, only the call of the program that uses it raises the error.
        """
        if type(value) is tuple or type(value) is list:
            for part in value:
                self.keep(part)
        elif isinstance(value, np.ndarray | np.generic):
            with suppress(AttributeError, NotImplementedError, TypeError, ValueError):
                self.kept[id(value)] = self.argument(value)

    def is_complex(self, x: RawArray) -> bool:
        return bool(self.base.isdtype(x.dtype, "complex floating"))

    def fresh(self, x: RawArray) -> Any:
        return x  # no copy, because no call of a program writes in place

    stop_gradient = fresh

    def real(self, x: RawArray, _: Any = None, /) -> Any:
        return self.base.real(x) if self.is_complex(x) else x

    def imag(self, x: RawArray, _: Any = None, /) -> Any:
        return self.base.imag(x) if self.is_complex(x) else self.base.zeros_like(x)

    real_part = real_view = real
    imag_part = imag_view = imag

    def conj(self, x: RawArray, /) -> Any:
        return self.base.conj(x) if self.is_complex(x) else x

    def reinterpreted(self, x: RawArray, /, into: str) -> Any:
        if self.is_complex(x) == (into == "c"):
            return x
        if into == "c":
            return x[..., ::2] + 1j * x[..., 1::2]
        pairs = self.base.stack([self.base.real(x), self.base.imag(x)], axis=-1)
        return self.base.reshape(pairs, (*x.shape[:-1], 2 * x.shape[-1]))

    def getitem(self, x: RawArray, /, key: Any) -> Any:
        if type(key) is tuple and len(key) == 1:
            (key,) = key
        if getattr(key, "ndim", 0) == 1 and self.base.isdtype(key.dtype, "integral"):
            return self.base.take(x, key, axis=0)
        return x[whole_key(key, x.ndim)]

    def through_cholesky(self, g: RawArray, y: RawArray) -> Any:
        return cholesky_by_systems(g, y, y, False, self)

    def item(self, whole: RawArray, place: int) -> Any:
        return whole[place]

    def put(self, x: RawArray, key: Index, value: RawOperand) -> Any:
        """Return a copy of x after ``x[key] = value``; JAX's arrays are immutable and have ``at``."""
        if hasattr(x, "at"):
            return x.at[key].set(value)
        changed = self.base.asarray(x, copy=True)
        changed[key] = value
        return changed

    def add_at(self, x: RawArray, key: Index, value: RawOperand) -> Any:
        if hasattr(x, "at"):
            return x.at[key].add(value)
        if not is_basic(key):
            raise AttributeError("addition at an index that may select an element twice")
        return self.put(x, key, x[key] + value)

    def scatter_add(self, x: RawArray, /, shape: Size, key: Index) -> Any:
        return self.add_at(self.base.zeros(shape, dtype=x.dtype), key, x)

    scattered = scatter_add

    def dtype(self, dtype: npt.DTypeLike) -> Any:
        return getattr(self.base, np.dtype(dtype).name)

    def argument(self, value: Any) -> Any:
        """Convert NumPy dtypes, scalars and arrays in an argument of a call to the namespace's own."""
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([self.argument(part) for part in value])
        if isinstance(value, np.dtype) or (
            isinstance(value, type) and issubclass(value, np.generic)
        ):
            return self.dtype(value)
        if id(value) in self.kept:
            return self.kept[id(value)]
        if isinstance(value, np.generic | np.ndarray):
            return self.base.asarray(np.asarray(value), dtype=self.dtype(value.dtype))
        return value


# Use the namespace's own functions in place of the formulas that ``Over`` inherits from ``Standard``.
for _name in ("expm1", "floor_divide", "sign", "tanh"):
    setattr(Over, _name, property(attrgetter(f"base.{_name}")))


class Export:
    """The program of a function (its recorded NumPy calls), to be run by other array libraries.

    names : the names of the function's arguments.
    ops : the names of the program's calls.
    build : a function that builds the result from a list of its leaves.
    places : for each leaf of the arguments, the number of the program's input, or -1 if the leaf is no
        Array.
    captured : the Arrays that are inputs of the program, but no arguments.
    written, paths : the numbers of the inputs to which the function writes, and their paths.
    """

    def __init__(
        self, call: Call, program: Program, function: str, build: Callable[[Any], Any]
    ) -> None:
        self.names, self.program, self.function, self.build = call.names, program, function, build
        self.lines = call.trace.places
        arrays = {id(x): place for place, x in enumerate(call.arrays)}
        self.places = [arrays.get(id(leaf), -1) for leaf in argument_leaves(call.values)]
        self.captured = call.lifter.handles[len(call.arrays) :]
        self.written = [*call.writes]
        self.paths = [self.array_path(call, place) for place in self.written]
        self.origins = call.origins

    @property
    def ops(self) -> list[str]:
        return [node.op for node in self.program.nodes if node.is_call]

    def array_path(self, call: Call, place: int) -> str:
        """Return the path of the Array that is input number ``place``, such as "w" or "model.weight".

        call : the recorded call of the function.
        """
        if place >= len(call.arrays):
            known = [id(x) for x in call.reached]
            found = id(call.lifter.handles[place])
            return call.state.paths[known.index(found)] if found in known else f"captured {place}"
        for name, value in zip(call.names, call.values, strict=True):
            for path, leaf, owner in nest.located(value):
                if leaf is call.arrays[place]:
                    return f"{name}.{path}" if owner is not None else str(name)
        return f"argument {place}"

    def run(self, namespace: Namespace, check: bool = True) -> Callable[..., Any]:
        """Return the program as a function that computes with the functions of another namespace.

        Parameters
        ----------
        namespace : module
            A namespace of the array API standard, such as ``array_api_strict`` or ``jax.numpy``.
        check : bool, default: True
            Whether the function checks the values on which the program depends, as replays do.  A
            compiler such as ``jax.jit`` may not allow that.

        Constants of the program are copied to the namespace's default device here, not in each call.

        Returns
        -------
        Callable
            A function with the same arguments in the same order, with arrays of the namespace in place
            of Arrays.  Python values, and Arrays that are no arguments, are those of the traced call.
            It returns the result, and a dict of the new values of the Arrays to which the function
            writes.  The keys are the Arrays' paths, such as "w" or "model.weight".

        Raises
        ------
        NotImplementedError
            At a call, when the namespace has no function for a call of the program.
        RuntimeError
            At a call, with check=True, when a value that the function read differs from the traced call.
        """
        over = Over(namespace)
        for node in self.program.nodes:
            over.keep(
                [node.value] if node.op == CONSTANT else [*node.args, *node.keywords.values()]
            )

        def program(*args: Any) -> Any:
            leaves = [*argument_leaves(args)]
            if len(leaves) != len(self.places):
                raise TypeError(
                    f"program of {self.function}: takes {', '.join(self.names)} as in the traced "
                    f"call, got {len(leaves)} values in place of {len(self.places)} "
                    f"[at {user_line()}]"
                )
            known = {place: x for place, x in zip(self.places, leaves, strict=True) if place >= 0}
            inputs = [known[place] for place in range(len(known))]
            inputs += [over.argument(current(x)[1]) for x in self.captured]
            test = partial(self.check_guard, over) if check else lambda guard, value: None
            compute = partial(self.compute_node, over)
            outputs, writes = self.program.computed(inputs, compute, test)
            values = dict(enumerate(inputs)) | dict(zip(self.written, writes, strict=True))
            parts = [
                walk_path(self.result_leaf(origin, outputs, values, leaves), origin.path, over)
                for origin in self.origins
            ]
            written = dict(zip(self.paths, writes, strict=True))
            return self.build(parts), written

        return program

    def result_leaf(
        self,
        origin: LeafOrigin,
        outputs: Sequence[Any],
        values: Mapping[int, Any],
        leaves: Sequence[Any],
    ) -> Any:
        """Return one leaf (Array or other value) of the function's result.

        If the leaf is a view, return the value of the Array that it shows.
        origin : the description of where the leaf comes from.
        outputs : the outputs of the program.
        values : number of an input -> its value after the program.
        leaves : the leaves of the arguments.
        """
        if origin.output >= 0:
            return outputs[origin.output]
        if origin.handle >= 0:
            return values[origin.handle]
        return leaves[origin.argument] if origin.argument >= 0 else origin.value

    def check_guard(self, over: Over, guard: Guard, value: RawArray) -> None:
        """Raise RuntimeError if ``value``, computed by another namespace, does not satisfy a guard.

        A guard is a condition on a value that the function read, for example by ``float(x)``.
        """
        if not guard_holds(over, guard, value):
            what = "met a NaN" if guard.kind == "no NaN" else "gave another value"
            raise RuntimeError(
                f"program of {self.function}: {guard.line} {what}, unlike in the traced "
                f"call, so that the program is not valid [at {user_line()}]"
            )

    def compute_node(self, over: Over, node: Node, known: dict[Node, Any]) -> Any:
        """Make a recorded call in another namespace, ``over``, and return the result.

        known : node (earlier call, input or constant) -> its value.  Raise NotImplementedError if the
            namespace lacks the function or refuses the arguments.
        """
        if node.op == CONSTANT:  # copied, because a result may share memory with the constant
            return over.base.asarray(over.argument(node.value), copy=True)
        if node.op in SAME:
            return known[node.args[0]]
        try:
            function: Any = over
            for name in SPELLED.get(node.op, node.op).split("."):
                function = getattr(function, name)
            args = [over.argument(replaced(x, known.__getitem__)) for x in node.args]
            options = {
                name: over.argument(replaced(x, known.__getitem__))
                for name, x in node.keywords.items()
            }
            facts = facts_of(SPELLED.get(node.op, node.op))
            if facts.creates and node.dtype is not None:
                args = [
                    x
                    for x, own in zip(args, node.args, strict=True)
                    if not isinstance(own, np.dtype | type)
                ]
                options = {**options, "dtype": over.dtype(node.dtype)}
            if facts.promotes == "all":
                args = promote_operands(over, node, args)
            elif facts.promotes == "first":
                # The second argument of ``put`` is a key, which keeps its dtype.
                at = [i for i in range(len(args)) if i != 1 or node.op != "put"]
                for i in at:
                    args[i] = in_dtype_of(over, node, args[i], node.args[i])
            if node.op.startswith("fft.") and node.args[0].dtype.kind == "f":
                args = self.complex_where_needed(over, node, args)
            if args and (storage := storage_for(type(args[0]))) is not None:
                function = storage.capturable(function)
            return function(*args, **options)
        except (AttributeError, IndexError, NotImplementedError, TypeError, ValueError) as error:
            name = node.op.removeprefix(f"{FOREIGN}.")
            raise NotImplementedError(
                f"program of {self.function}: {name} of shape {node.shape} cannot be computed by "
                f"{over.base.__name__} ({error}){self.source_line(node)}. Use functions of the standard "
                f"[at {user_line()}]"
            ) from error

    def complex_where_needed(self, over: Over, node: Node, args: list[Any]) -> list[Any]:
        """Return the arguments of a Fourier transform, with real data converted to complex data.

        NumPy accepts real data for each transform, the standard only for rfft, rfftn and ihfft.
        """
        if node.op in ("fft.rfft", "fft.rfftn", "fft.ihfft"):
            return args
        into = np.result_type(node.args[0].dtype, np.complex64)
        return [over.base.astype(args[0], over.dtype(into)), *args[1:]]

    def source_line(self, node: Node) -> str:
        """Return ", called at file:line" for the call of a library's function, for messages; else ""."""
        line = self.lines.get(node.op, "")
        return f", called at {line}" if line else ""


def whole_key(key: Index, axes: int) -> Any:
    """Return an index that names all axes: append ``...`` to one that names fewer axes.

    The standard demands that an index names each axis.
    axes : the number of axes of the indexed array.
    """
    parts = key if type(key) is tuple else (key,)
    names = [part for part in parts if part is not None]
    mask = any(getattr(part, "ndim", 0) and "bool" in str(part.dtype) for part in names)
    if mask or any(part is Ellipsis for part in names) or len(names) >= axes:
        return key
    return (*parts, ...)


def in_dtype_of(over: Over, node: Node, value: Any, own: Any) -> Any:
    """Return an operand of a call, or a list of operands, cast to the dtype of the call's result.

    An operand is cast only where NumPy would cast it implicitly, as the standard does not.
    node : the call.
    value : the operand, an array of the namespace.
    own : the node of the operand in the program, or a list of nodes.
    over : the namespace.
    """
    if type(own) in (list, tuple):
        parts = zip(value, own, strict=True)
        return type(value)([in_dtype_of(over, node, x, one) for x, one in parts])
    if type(own) is not Node or own.dtype == node.dtype:
        return value
    safe = node.op == "put" or np.can_cast(own.dtype, node.dtype, "same_kind")
    return over.base.astype(value, over.dtype(node.dtype)) if safe else value


def promote_operands(over: Over, node: Node, args: list[Any]) -> list[Any]:
    """Return the operands of a call, cast to one dtype if their kinds differ.

    The standard does not define calls on mixed kinds, such as an integer and a float array.
    node : the call.
    args : its operands in the namespace.
    over : the namespace.
    """
    if type(node.args[0]) in (list, tuple):
        return [in_dtype_of(over, node, args[0], node.args[0]), *args[1:]]
    kinds = {x.dtype.kind for x in node.args if type(x) is Node}
    numbers = {"f" if type(x) is float else "c" for x in node.args if type(x) in (float, complex)}
    first = 1 if node.op == "where" else 0
    of_integers = kinds <= set("iub") and node.dtype is not None and node.dtype.kind in "fc"
    if node.op != "where" and len(kinds | numbers) < 2 and not of_integers:
        return args
    own = [x.dtype if type(x) is Node else x for x in node.args[first:]]
    dtype = node.dtype if of_integers else np.result_type(*own)
    into = over.dtype(dtype)
    return [
        *args[:first],
        *[
            over.base.astype(x, into) if type(one) is Node else over.base.asarray(x, dtype=into)
            for x, one in zip(args[first:], node.args[first:], strict=True)
        ],
    ]


def guard_holds(over: Over, guard: Guard, value: RawArray) -> bool:
    """Return True if ``value``, an array of the namespace, satisfies a condition of the program.

    Such a guard requires a value, a shape, or that no element is NaN.
    over : the namespace.
    """
    if guard.kind == "shape":
        return bool(tuple(value.shape) == guard.expected)
    if guard.kind == "value":
        node = guard.node
        expected = np.frombuffer(guard.expected, node.dtype).reshape(node.shape)
        return bool(over.base.all(value == over.argument(expected)))
    return not bool(over.base.any(over.base.isnan(value)))
