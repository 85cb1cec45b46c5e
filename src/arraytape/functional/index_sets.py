"""Index sets: for each element of a value, the input elements on which it may depend.

The sets are propagated through a tape's records and are upper bounds.  An elementwise op unites the sets
at each position, an op that moves elements moves their sets, and a reduction unites along its axes.
Both branches of a selection count.  After an op without a rule here, each element depends on all that
the inputs depend on (``Spread``).  The sets hold for the recorded run's branches, keys and permutations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._array.aliasing import ADD, PUT, VIEW, ViewRecord, write_of
from .._array.array import namespace
from .._array.paths import GETITEM, IMAG, PICK, READ_ONLY, REAL, Path, walk_path
from .._record.op import Op
from .._record.plan import Plan, Record, inputs_of, plan_of, results_of
from .._storage import numpy_namespace
from .._storage.batched.batched_data import Batched, Shape
from .._storage.storage import STORAGES, storage_of
from .._util.array_types import Index

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Size = tuple[int, ...]


class Sets(NamedTuple):
    """The index set of each element: row i of ``rows`` (CSR) has an entry for each index in it."""

    shape: Size
    rows: Any


class Spread(NamedTuple):
    """One set, a matrix of one row, for all elements of a value whose shape is not asked for."""

    row: Any


IN_PLACE = (READ_ONLY, REAL, IMAG)  # steps of view paths that keep each element's position


class IndexSets:
    """The index sets of followed values, by value id."""

    def __init__(self, n: int) -> None:
        self.n = n  # how many inputs there are
        self.held: dict[int, Sets | Spread] = {}

    def start(self, value_id: int, shape: Size) -> None:
        """Add an input, each element of which depends on itself."""
        from scipy import sparse

        self.held[value_id] = Sets(shape, sparse.eye_array(self.n, dtype=np.int32, format="csr"))

    def record(self, record: Record) -> None:
        """Propagate the sets through one record."""
        known = [value_id for value_id in inputs_of(record) if value_id in self.held]
        if not known:
            return
        try:
            found = self.of_known(record)
        except Unknown:
            found = Spread(self.union(self.held[value_id] for value_id in known))
        results = results_of(record)
        each = found if isinstance(found, list) else [found] * len(results)
        self.held.update(zip(results, each, strict=True))

    def of_known(self, record: Record) -> Sets | Spread | list[Sets]:
        """Return the sets of a record's results; raise Unknown for an op or layout without a rule."""
        plan = plan_of(record)
        if any(type(item) in (Batched, Shape) for item in record):
            raise Unknown
        if not isinstance(plan, Plan):
            return self.of_structural(record)
        op = plan.op
        handler = HANDLERS.get(op.name)
        if handler is not None:
            return handler(self, plan, record)
        if op.per_element:
            return self.elementwise(plan, record)
        if op.rearranges:
            return self.moving(plan, record)
        if not op.signature:
            raise Unknown
        named = op.cores[0][0] in (("AXES",), ("AXIS",))
        return self.along_named_axes(plan, record) if named else self.of_cores(plan, record)

    def sets(self, value_id: int) -> Sets:
        """Return the sets of a value; raise Unknown if the value is ``Spread``."""
        found = self.held[value_id]
        if isinstance(found, Spread):
            raise Unknown
        return found

    def union(self, values: Iterable[Sets | Spread]) -> Any:
        """Return one set of all indices on which these values depend."""
        found = [v.row if isinstance(v, Spread) else v.rows for v in values]
        counts = sum(np.asarray(rows.sum(axis=0)).reshape(-1) for rows in found)
        return csr(np.asarray(counts)[None, :] > 0)

    def none(self, size: int) -> Any:
        return csr(np.zeros((size, 0), np.int32), (size, self.n))

    # --- ops --------------------------------------------------------------------------------------
    def elementwise(self, plan: Plan, record: Record) -> Sets:
        """Return the union of the operands' sets at each position, after broadcasting."""
        parts = [self.sets(value_id) for value_id in inputs_of(record) if value_id in self.held]
        shape = (
            plan.result_layout(record, "y")[0]
            if plan.needs_fit or plan.op.kind != "elementwise"
            else None
        )
        shape = parts[0].shape if shape is None else tuple(shape)
        return Sets(shape, united([broadcast(part, shape) for part in parts]))

    def shapes(self, plan: Plan, record: Record) -> list[Size]:
        """Return the shapes of the operands; () for a constant operand that the record does not keep."""
        return [
            self.sets(value_id).shape if value_id in self.held
            else tuple(getattr(plan.kept_value(record, name), "shape", ()))
            if plan.keeps_value(name) else ()
            for value_id, name in zip(inputs_in_place(plan, record), plan.op.inputs, strict=True)
        ]  # fmt: skip

    def along_named_axes(self, plan: Plan, record: Record) -> Sets:
        """Return the union of all operands, along the axes that the parameter ``axis`` names."""
        shapes, axis = self.shapes(plan, record), parameter(plan, record, "axis")
        if len({len(shape) for shape in shapes}) > 1 and axis >= 0:
            raise Unknown  # names different axes in operands of different rank
        shape = np.broadcast_shapes(*shapes)
        known = [
            self.sets(value_id)
            for value_id in inputs_in_place(plan, record)
            if value_id in self.held
        ]
        axes = normal_axes(axis, len(shape))
        whole = along(Sets(shape, united([broadcast(x, shape) for x in known])), axes)
        if "include_initial" in plan.op.parameters:
            more = bool(parameter(plan, record, "include_initial"))
            shape = tuple([n + more if i in axes else n for i, n in enumerate(shape)])
            return Sets(shape, broadcast(whole, shape))
        if plan.op.cores[1] != [()]:
            shape = shape_of_result(plan, record, shape)
            return Sets(shape, broadcast(whole, shape))
        if "keepdims" in plan.op.parameters and parameter(plan, record, "keepdims"):
            return whole
        return Sets(tuple(n for i, n in enumerate(shape) if i not in axes), whole.rows)

    def of_cores(self, plan: Plan, record: Record) -> list[Sets]:
        """Return the unions along core dimensions in capitals; lower-case ones keep positions."""
        op, shapes = plan.op, self.shapes(plan, record)
        if ("...",) in op.cores[0]:
            raise Unknown
        cores, results = plain_cores(op, shapes)
        pairs = [*zip(shapes, cores, strict=True)]
        stacks = [shape[: len(shape) - len(core)] for shape, core in pairs]
        stack = np.broadcast_shapes(*stacks)
        sizes = {
            d: n for shape, core in pairs for d, n in zip(core[::-1], shape[::-1], strict=False)
        }
        found = []
        for y, result in zip(op.outputs, results, strict=True):
            if sizes.keys() >= {*result}:
                shape = (*stack, *[sizes[d] for d in result])
            else:
                told = plan.result_layout(record, y)[0]
                shape = shape_of_result(plan, record, shapes[0]) if told is None else tuple(told)
            parts = []
            for value_id, own, core in zip(
                inputs_in_place(plan, record), stacks, cores, strict=True
            ):
                if value_id in self.held:
                    x = self.sets(value_id)
                    mixed = tuple([i for i, d in enumerate(core, len(own)) if d.isupper()])
                    at = (*own, *[sizes[d] if d in core and d.islower() else 1 for d in result])
                    parts.append(broadcast(Sets(at, along(x, mixed).rows), shape))
            found.append(Sets(shape, united(parts)))
        return found

    def moving(self, plan: Plan, record: Record) -> Sets:
        """Apply an op that only moves elements to element numbers, and move the sets accordingly."""
        op, xp = plan.op, namespace()
        given = record[2] if op.variadic else (record[2],)
        shapes = (
            [tuple(shape) for shape in plan.kept_value(record, f"shape {op.inputs[0]}")]
            if op.variadic
            else [self.sets(record[2]).shape]
        )
        parameters = plan.kept_parameters(record)
        extra = [host(plan.kept_value(record, name)) for name in op.inputs[1:]]
        ends = itertools.accumulate([math.prod(shape) for shape in shapes], initial=1)
        numbered = [
            xp.asarray(
                start + np.arange(math.prod(shape), dtype=np.float64).reshape(shape), device="cpu"
            )
            if value_id in self.held
            else xp.zeros(shape, device="cpu")
            for start, shape, value_id in zip(ends, shapes, given, strict=False)
        ]
        assert op.public is not None
        first = numbered if op.variadic else numbered[0]
        moved = op.public(first, *[xp.asarray(x, device="cpu") for x in extra], **parameters)
        at = np.asarray(moved._data).reshape(-1).astype(np.int64)
        rows = stacked(
            [
                self.sets(value_id).rows if value_id in self.held else self.none(math.prod(shape))
                for value_id, shape in zip(given, shapes, strict=True)
            ],
            self.none(1),
        )
        return Sets(tuple(moved.shape), rows[at])

    def scattered(self, plan: Plan, record: Record) -> Sets:
        """Return the sets of zeros to which elements were added at a key."""
        x, shape = self.sets(record[2]), tuple(plan.kept_value(record, "shape"))
        numbers = np.arange(math.prod(shape)).reshape(shape)
        at = np.broadcast_to(numbers[host_key(plan.kept_value(record, "key"))], x.shape).reshape(-1)
        return Sets(shape, added_up(x.rows, at, math.prod(shape)))

    def products(self, plan: Plan, record: Record) -> Sets:
        """Return the sets of a matrix product; zeros of a constant factor pass no dependence on."""
        turned = [
            name in plan.op.parameters and parameter(plan, record, name)
            for name in ("first", "second")
        ]
        factors = [
            self.sets(value_id) if value_id in self.held else host(plan.kept_value(record, name))
            for value_id, name in zip(record[2:4], ("x1", "x2"), strict=True)
        ]
        first, second = (
            transposed(x) if turn else x for x, turn in zip(factors, turned, strict=True)
        )
        if max(len(first.shape), len(second.shape)) > 2:
            return many_products(first, second)
        (m, k) = first.shape if len(first.shape) == 2 else (1, first.shape[0])
        n = second.shape[1] if len(second.shape) == 2 else 1
        parts = []
        if isinstance(first, Sets):
            other = None if isinstance(second, Sets) else second.reshape(k, n)
            parts.append(from_left(first.rows, m, k, n, other))
        if isinstance(second, Sets):
            other = None if isinstance(first, Sets) else first.reshape(m, k)
            parts.append(from_right(second.rows, m, k, n, other))
        return Sets((*first.shape[:-1], *second.shape[1:]), united(parts))

    # --- views and writes -------------------------------------------------------------------------
    def of_structural(self, record: Record) -> Sets | Spread:
        if record[0] == VIEW.number:
            view = ViewRecord(*record)
            root = self.sets(view.root)
            at = walked(root.shape, view.path)
            return Sets(at.shape, root.rows[at.reshape(-1)])
        if record[0] in (PUT.number, ADD.number):
            return self.of_write(record)
        raise Unknown

    def of_write(self, record: Record) -> Sets:
        """Return the sets of an array after a write to the region at the record's path and key."""
        write = write_of(record)
        shape = tuple(write.root_shape)
        at = walked(shape, write.path)
        put = record[0] == PUT.number
        if put:
            at = at[host_key(record[5])]
        size, region = math.prod(shape), np.unique(at)
        old = self.sets(write.old).rows if write.old in self.held else self.none(size)
        if put and not any(kind in (REAL, IMAG) for kind, _ in write.path):
            stays = np.ones(size, np.int32)
            stays[region] = 0
            old = diagonal(stays) @ old
        if write.value not in self.held:
            return Sets(shape, csr(old))
        value = self.sets(write.value)
        extra = max(len(value.shape) - at.ndim, 0)  # a write drops leading axes of length 1
        rows = broadcast(Sets(value.shape[extra:], value.rows), at.shape)
        return Sets(shape, united([old, added_up(rows, at.reshape(-1), size)]))


class Unknown(Exception):
    """The error for an op without a rule for its index sets."""


HANDLERS: dict[str, Callable[[IndexSets, Plan, Record], Sets]] = {
    "scattered": IndexSets.scattered,
    "matmul": IndexSets.products,
    "matmul_adjoint": IndexSets.products,
}


def inputs_in_place(plan: Plan, record: Record) -> Any:
    """Return the value ids of all operands of an op, in order; 0 for constants."""
    return record[2 : 2 + len(plan.op.inputs)]


def plain_cores(op: Op, shapes: Sequence[Size]) -> tuple[list[Any], list[Any]]:
    """Return the core dimensions without optional ones (``k?``) that an operand leaves out."""
    cores, results = op.cores
    gone = {
        d for shape, core in zip(shapes, cores, strict=True) if len(shape) < len(core)
        for d in core if d.endswith("?")
    }  # fmt: skip
    plain = [[d.rstrip("?") for d in core if d not in gone] for core in (*cores, *results)]
    return plain[: len(cores)], plain[len(cores) :]


def parameter(plan: Plan, record: Record, name: str) -> Any:
    """Return a recorded parameter of an op; raise Unknown if records do not keep it."""
    if not plan.keeps_value(name):
        raise Unknown
    return plan.kept_value(record, name)


def shape_of_result(plan: Plan, record: Record, shape: Size) -> Size:
    """Return the shape of the result of a one-input op for an input of ``shape``."""
    op = plan.op
    if len(op.inputs) > 1 or op.public is None:
        raise Unknown
    x = namespace().zeros(shape, dtype=plan.result_layout(record, "x")[1], device="cpu")
    return tuple(op.public(x, **plan.kept_parameters(record)).shape)


# --- sparse matrices of sets --------------------------------------------------------------------------
def csr(matrix: np.ndarray[Any, Any] | csr_array, shape: Size | None = None) -> Any:
    """Return a matrix as CSR with an entry of 1 wherever it is not 0."""
    from scipy import sparse

    if shape is not None:
        return sparse.csr_array(shape, dtype=np.int32)
    found = sparse.csr_array(matrix).astype(np.int32)
    found.eliminate_zeros()
    found.data[:] = 1
    return found


def diagonal(values: np.ndarray[Any, Any]) -> Any:
    from scipy import sparse

    return sparse.diags_array(values, format="csr", dtype=np.int32)


def united(parts: Sequence[Any]) -> Any:
    """Return the union of the sets, row by row."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return csr(total)


def added_up(rows: csr_array, to: np.ndarray[Any, Any], size: int) -> Any:
    """Return ``size`` rows, where row i is the union of all ``rows[j]`` with ``to[j] == i``."""
    from scipy import sparse

    here = np.arange(rows.shape[0])
    ones = np.ones(here.size, np.int32)
    return csr(sparse.csr_array((ones, (to, here)), shape=(size, rows.shape[0])) @ rows)


def stacked(parts: Sequence[Any], first: csr_array) -> Any:
    from scipy import sparse

    return sparse.vstack([first, *parts], format="csr", dtype=np.int32)


def broadcast(value: Sets, shape: Size) -> Any:
    """Return the rows of a value after broadcasting to ``shape``."""
    return value.rows if value.shape == shape else value.rows[places(value.shape, shape)]


def along(value: Sets, axes: tuple[int, ...]) -> Sets:
    """Return the unions along axes, which are kept with length 1."""
    shape = tuple(1 if i in axes else n for i, n in enumerate(value.shape))
    return Sets(shape, added_up(value.rows, places(shape, value.shape), math.prod(shape)))


def from_left(rows: csr_array, m: int, k: int, n: int, other: np.ndarray[Any, Any] | None) -> Any:
    """Return x1's part of the sets of x1 @ x2, of shapes (m, k) and (k, n).  other : a constant x2."""
    from scipy import sparse

    factor = sparse.csr_array(np.ones((n, k), np.int32) if other is None else other.T != 0)
    return csr(sparse.kron(sparse.eye_array(m), factor, format="csr").astype(np.int32) @ rows)


def from_right(rows: csr_array, m: int, k: int, n: int, other: np.ndarray[Any, Any] | None) -> Any:
    """Return x2's part of the sets of x1 @ x2.  other : a constant x1."""
    from scipy import sparse

    factor = sparse.csr_array(np.ones((m, k), np.int32) if other is None else other != 0)
    return csr(sparse.kron(factor, sparse.eye_array(n), format="csr").astype(np.int32) @ rows)


def transposed(x: Sets | np.ndarray[Any, Any]) -> Any:
    """Return transposed matrices, given as sets or as NumPy data."""
    if not isinstance(x, Sets):
        return x.swapaxes(-2, -1)
    at = np.arange(math.prod(x.shape)).reshape(x.shape).swapaxes(-2, -1)
    return Sets(at.shape, x.rows[at.reshape(-1)])


def many_products(first: Sets | np.ndarray[Any, Any], second: Sets | np.ndarray[Any, Any]) -> Sets:
    """Return the sets of products of stacks: each element unites a row of x1 and a column of x2."""
    one, two = len(first.shape) == 1, len(second.shape) == 1
    wide = [(1, *first.shape) if one else first.shape, (*second.shape, 1) if two else second.shape]
    stack = np.broadcast_shapes(wide[0][:-2], wide[1][:-2])
    product = (*stack, wide[0][-2], wide[1][-1])
    parts = []
    for x, shape, axis in zip((first, second), wide, (-1, -2), strict=True):
        if isinstance(x, Sets):
            whole = along(Sets(shape, x.rows), (len(shape) + axis,))
            parts.append(broadcast(whole, product))
    gone = ({len(product) - 2} if one else set()) | ({len(product) - 1} if two else set())
    return Sets(tuple(n for i, n in enumerate(product) if i not in gone), united(parts))


# --- places -------------------------------------------------------------------------------------------
def places(shape: Size, wider: Size) -> Any:
    """Return the flat index in ``shape`` of each element after broadcasting to ``wider``."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return np.broadcast_to(numbers, wider).reshape(-1)


def walked(shape: Size, path: Path) -> Any:
    """Return the flat indices, in an array of ``shape``, of the elements of its view at ``path``."""
    if any(kind is PICK for kind, _ in path):
        raise Unknown
    path = tuple((kind, host_key(key) if kind is GETITEM else key) for kind, key in path)
    steps = tuple(step for step in path if step[0] not in IN_PLACE)
    return np.asarray(walk_path(np.arange(math.prod(shape)).reshape(shape), steps, numpy_namespace))


def normal_axes(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(i % ndim for i in (axis if isinstance(axis, tuple | list) else (axis,)) if ndim)


def host(data: Any) -> Any:
    """Return recorded data as a NumPy array; raise Unknown for batched data."""
    if type(data) is Batched:
        raise Unknown
    return np.asarray(storage_of(data).host(data) if type(data) in STORAGES else data)


def host_key(key: Index) -> Any:
    """Return a key with its arrays on the host."""
    if isinstance(key, tuple):
        return tuple(host_key(part) for part in key)
    return host(key) if type(key) in STORAGES else key
