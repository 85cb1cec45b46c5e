"""Index sets: for each element of a value, the input elements on which it may depend.

``sparse_jacobian`` derives the structure of a Jacobian from the sets of its results.  The sets are
propagated through the records of a tape, and are upper bounds.  An elementwise op unites the operands'
sets at each position.  An op that moves elements moves their sets, and a reduction unites the sets along
its axes.  After an op without a rule here, each element depends on the union of all sets of the inputs
(``Spread``).  Both branches of ``where`` count.  The sets hold only for runs that take the recorded
run's Python branches, keys and permutations.

The sets of a value are a sparse matrix in CSR format with a row for each element of the value, and a
column for each input element.  Row i has an entry of 1 in column j if element i may depend on input j.
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
from .._storage.correlations import PARTS, product_indices
from .._storage.standard import normalize_axis_tuple
from .._storage.storage import STORAGES, storage_of
from .._util.array_types import Index

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Size = tuple[int, ...]  # a shape


class Sets(NamedTuple):
    """The index set of each element of a value: the input elements on which the element may depend.

    shape : the shape of the value.
    rows : a CSR matrix with a row for each element of the value, in C order.  Row i has an entry in
    column j if element i may depend on input element j.
    """

    shape: Size
    rows: Any


class Spread(NamedTuple):
    """One set of input elements, on which each element of a value may depend.

    It is used if nothing more is known about the elements.

    row : the set as a CSR matrix with one row.
    """

    row: Any


IN_PLACE = (READ_ONLY, REAL, IMAG)  # steps of view paths in which elements keep their positions


class IndexSets:
    """The index sets of all values on a tape that depend on the input.

    An index set has the input elements on which an element of a value may depend.  The sets of a
    function's results give the sparsity pattern of its Jacobian.

    The caller calls ``start`` with the input, and then ``record`` with each record of the tape.

    n : the number of elements of the input.
    held : a dict from the id of a value to its index sets.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.held: dict[int, Sets | Spread] = {}

    def start(self, value_id: int, shape: Size) -> None:
        """Add the input, an array of n elements, each of which depends on itself only."""
        from scipy import sparse

        self.held[value_id] = Sets(shape, sparse.eye_array(self.n, dtype=np.int32, format="csr"))

    def record(self, record: Record) -> None:
        """Compute the dependencies (index sets) of a record's results from those of its inputs.

        If the op has no rule in this module, each element of the results gets the union of all sets of
        the inputs.  Do nothing if no input of the record has sets.
        """
        known = [value_id for value_id in inputs_of(record) if value_id in self.held]
        if not known:
            return
        try:
            found = self.sets_of_results(record)
        except Unknown:
            found = Spread(self.union(self.held[value_id] for value_id in known))
        results = results_of(record)
        each = found if isinstance(found, list) else [found] * len(results)
        self.held.update(zip(results, each, strict=True))

    def sets_of_results(self, record: Record) -> Sets | Spread | list[Sets]:
        """Return the dependencies (index sets) of a record's results: a list, or one item for all.

        Raise Unknown for batched data, and for an op without a rule in this module.
        """
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
            return self.moved_elements(plan, record)
        if not op.signature:
            raise Unknown
        named = op.cores[0][0] in (("AXES",), ("AXIS",))
        return self.along_named_axes(plan, record) if named else self.of_cores(plan, record)

    def sets(self, value_id: int) -> Sets:
        """Return the inputs on which each element of a value may depend; raise Unknown for a Spread."""
        found = self.held[value_id]
        if isinstance(found, Spread):
            raise Unknown
        return found

    def union(self, values: Iterable[Sets | Spread]) -> Any:
        """Return all inputs on which several values may depend, as a CSR matrix with one row."""
        found = [v.row if isinstance(v, Spread) else v.rows for v in values]
        counts = sum(np.asarray(rows.sum(axis=0)).reshape(-1) for rows in found)
        return csr(np.asarray(counts)[None, :] > 0)

    def none(self, size: int) -> Any:
        """Return the dependencies (index sets) of a constant: a CSR matrix of ``size`` empty rows."""
        return csr(np.zeros((size, 0), np.int32), (size, self.n))

    # --- rules of ops -----------------------------------------------------------------------------
    def elementwise(self, plan: Plan, record: Record) -> Sets:
        """Return the dependencies (index sets) of an elementwise op: those of its operands, united.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        parts = [self.sets(value_id) for value_id in inputs_of(record) if value_id in self.held]
        # Unless the plan ``needs_fit``, the inputs of an elementwise op have the shape of the result.
        shape = (
            plan.result_layout(record, "y")[0]
            if plan.needs_fit or plan.op.kind != "elementwise"
            else None
        )
        shape = parts[0].shape if shape is None else tuple(shape)
        return Sets(shape, unite_rows([broadcast(part, shape) for part in parts]))

    def shapes(self, plan: Plan, record: Record) -> list[Size]:
        """Return the shape of each operand of an op; () for a constant that the record does not keep."""
        return [
            self.sets(value_id).shape if value_id in self.held
            else tuple(getattr(plan.kept_value(record, name), "shape", ()))
            if plan.keeps_value(name) else ()
            for value_id, name in zip(operand_ids(plan, record), plan.op.inputs, strict=True)
        ]  # fmt: skip

    def along_named_axes(self, plan: Plan, record: Record) -> Sets:
        """Return the dependencies (index sets) of a reduction, scan or transform along ``axis``.

        Each element depends on all elements of the operands along this axis or these axes.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        shapes, axis = self.shapes(plan, record), kept_parameter(plan, record, "axis")
        if len({len(shape) for shape in shapes}) > 1 and axis >= 0:
            raise Unknown  # because axis 0 of operands of different rank is not the same axis
        shape = np.broadcast_shapes(*shapes)
        known = [
            self.sets(value_id) for value_id in operand_ids(plan, record) if value_id in self.held
        ]
        axes = normalize_axis_tuple(axis, len(shape))
        whole = unite_along(Sets(shape, unite_rows([broadcast(x, shape) for x in known])), axes)
        if "include_initial" in plan.op.parameters:
            more = bool(kept_parameter(plan, record, "include_initial"))
            shape = tuple([n + more if i in axes else n for i, n in enumerate(shape)])
            return Sets(shape, broadcast(whole, shape))
        if plan.op.cores[1] != [()]:
            shape = shape_of_result(plan, record, shape)
            return Sets(shape, broadcast(whole, shape))
        if "keepdims" in plan.op.parameters and kept_parameter(plan, record, "keepdims"):
            return whole
        return Sets(tuple(n for i, n in enumerate(shape) if i not in axes), whole.rows)

    def of_cores(self, plan: Plan, record: Record) -> list[Sets]:
        """Return the dependencies (index sets) of an op's results, as its signature states them.

        A signature such as ``(m,K),(K,n)->(m,n)`` names the axes that the op works on.  Along an axis in
        capitals, each element depends on all elements.  Along an axis in lower case, and along axes that
        the signature does not name, elements keep their positions.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
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
                recorded_shape = plan.result_layout(record, y)[0]
                shape = (
                    shape_of_result(plan, record, shapes[0])
                    if recorded_shape is None
                    else tuple(recorded_shape)
                )
            parts = []
            for value_id, own, core in zip(operand_ids(plan, record), stacks, cores, strict=True):
                if value_id in self.held:
                    x = self.sets(value_id)
                    mixed = tuple([i for i, d in enumerate(core, len(own)) if d.isupper()])
                    at = (*own, *[sizes[d] if d in core and d.islower() else 1 for d in result])
                    parts.append(broadcast(Sets(at, unite_along(x, mixed).rows), shape))
            found.append(Sets(shape, unite_rows(parts)))
        return found

    def moved_elements(self, plan: Plan, record: Record) -> Sets:
        """Return the dependencies (index sets) of an op that only moves elements.

        The op is applied to the numbers of the elements, counted from 1 over all operands.  The result
        shows where each element came from; 0 marks elements that are new or come from constants.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
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
        """Return the dependencies (index sets) of the op that adds x to an array of zeros at a key.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        x, shape = self.sets(record[2]), tuple(plan.kept_value(record, "shape"))
        numbers = np.arange(math.prod(shape)).reshape(shape)
        at = np.broadcast_to(numbers[host_key(plan.kept_value(record, "key"))], x.shape).reshape(-1)
        return Sets(shape, unite_rows_at(x.rows, at, math.prod(shape)))

    def products(self, plan: Plan, record: Record) -> Sets:
        """Return the dependencies (index sets) of a matrix product.

        Element (i, j) of x1 @ x2 depends on row i of x1 and column j of x2.  An element of x1 that is
        multiplied by a zero of a constant x2 is left out, and vice versa.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        turned = [
            name in plan.op.parameters and kept_parameter(plan, record, name)
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
            return stacked_products(first, second)
        (m, k) = first.shape if len(first.shape) == 2 else (1, first.shape[0])
        n = second.shape[1] if len(second.shape) == 2 else 1
        parts = []
        if isinstance(first, Sets):
            other = None if isinstance(second, Sets) else second.reshape(k, n)
            parts.append(rows_from_left(first.rows, m, k, n, other))
        if isinstance(second, Sets):
            other = None if isinstance(first, Sets) else first.reshape(m, k)
            parts.append(rows_from_right(second.rows, m, k, n, other))
        return Sets((*first.shape[:-1], *second.shape[1:]), unite_rows(parts))

    def correlated(self, plan: Plan, record: Record) -> Sets:
        """Return the dependencies (index sets) of a convolution, or of one of its two derivatives.

        An element that is multiplied by a zero of a constant is left out.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        part, geometry = (kept_parameter(plan, record, name) for name in ("part", "geometry"))
        shape, _ = plan.result_layout(record, "y")
        if shape is None:
            raise Unknown
        names = [name for name in PARTS if name != part]
        given = {
            name: self.sets(value_id) if value_id in self.held else host(plan.kept_value(record, x))
            for name, value_id, x in zip(names, record[2:4], ("x1", "x2"), strict=True)
        }
        shapes = {part: tuple(shape)} | {name: tuple(x.shape) for name, x in given.items()}
        at = product_indices(shapes, geometry)
        counts = np.ones(at[part].size, np.bool_)
        for name, x in given.items():
            if not isinstance(x, Sets):
                counts &= x.reshape(-1)[at[name]] != 0
        size = math.prod(shapes[part])
        return Sets(
            shapes[part],
            unite_rows([
                unite_rows_at(x.rows[at[name][counts]], at[part][counts], size)
                for name, x in given.items() if isinstance(x, Sets)
            ]),
        )  # fmt: skip

    # --- rules of views and writes ----------------------------------------------------------------
    def of_structural(self, record: Record) -> Sets | Spread:
        """Return the dependencies (index sets) of the result of a view or a write; else raise Unknown.

        VIEW is the record of ``x[key]``, PUT that of ``x[key] = v``, ADD that of ``x += v``.
        """
        if record[0] == VIEW.number:
            view = ViewRecord(*record)
            root = self.sets(view.root)
            at = view_places(root.shape, view.path)
            return Sets(at.shape, root.rows[at.reshape(-1)])
        if record[0] in (PUT.number, ADD.number):
            return self.of_write(record)
        raise Unknown

    def of_write(self, record: Record) -> Sets:
        """Return the dependencies (index sets) of an Array after a recorded write to it or to its view.

        ``x[key] = v`` replaces the sets of the written elements.  ``x += v``, or a write to the real or
        imaginary part, unites the old and the new sets.
        """
        write = write_of(record)
        shape = tuple(write.root_shape)
        at = view_places(shape, write.path)
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
        return Sets(shape, unite_rows([old, unite_rows_at(rows, at.reshape(-1), size)]))


class Unknown(Exception):
    """The error for a record whose op has no rule in this module for the dependencies of its elements.

    ``IndexSets.record`` catches it, and gives each element of the results the union of the inputs' sets.
    """


# Rules of single ops, by name.  All other ops get a rule by their kind or signature: see
# ``sets_of_results``.
HANDLERS: dict[str, Callable[[IndexSets, Plan, Record], Sets]] = {
    "scattered": IndexSets.scattered,
    "matmul": IndexSets.products,
    "matmul_adjoint": IndexSets.products,
    "window_correlation": IndexSets.correlated,
}


def operand_ids(plan: Plan, record: Record) -> Any:
    """Return the value ids of an op's operands in a record; 0 for an operand that is not followed.

    plan : says what the record's items are.  record : the tape's entry for one call of an op.
    """
    return record[2 : 2 + len(plan.op.inputs)]


def plain_cores(op: Op, shapes: Sequence[Size]) -> tuple[list[Any], list[Any]]:
    """Return the core dimensions of an op's inputs and of its results, for inputs of these shapes.

    The core dimensions are the axes that an op works on, such as m and k in ``(m,k)``.  A dimension
    ``k?`` is optional: it is left out if an input has fewer axes than core dimensions.
    """
    cores, results = op.cores
    gone = {
        d for shape, core in zip(shapes, cores, strict=True) if len(shape) < len(core)
        for d in core if d.endswith("?")
    }  # fmt: skip
    plain = [[d.rstrip("?") for d in core if d not in gone] for core in (*cores, *results)]
    return plain[: len(cores)], plain[len(cores) :]


def kept_parameter(plan: Plan, record: Record, name: str) -> Any:
    """Return the value of an op's parameter in a record; raise Unknown if the record lacks it.

    plan : says what the record's items are.  record : the tape's entry for one call of an op.
    """
    if not plan.keeps_value(name):
        raise Unknown
    return plan.kept_value(record, name)


def shape_of_result(plan: Plan, record: Record, shape: Size) -> Size:
    """Return the shape of the result of an op with one input, by a call of the op on zeros.

    Raise Unknown for an op of several inputs.

    plan : says what the record's items are.  record : the tape's entry for one call of an op.
    shape : the shape of the input.
    """
    op = plan.op
    if len(op.inputs) > 1 or op.public is None:
        raise Unknown
    x = namespace().zeros(shape, dtype=plan.result_layout(record, "x")[1], device="cpu")
    return tuple(op.public(x, **plan.kept_parameters(record)).shape)


# --- functions of index sets as CSR -------------------------------------------------------------------
def csr(matrix: np.ndarray[Any, Any] | csr_array, shape: Size | None = None) -> Any:
    """Return a matrix as CSR, with 1 in place of each nonzero element and no other entries.

    With ``shape``, return a matrix of this shape without entries, and ignore ``matrix``.
    """
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


def unite_rows(parts: Sequence[Any]) -> Any:
    """Return a CSR matrix with 1 wherever one of the CSR matrices ``parts`` has an entry (the union)."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return csr(total)


def unite_rows_at(rows: csr_array, to: np.ndarray[Any, Any], size: int) -> Any:
    """Return the rows of y after ``y[to[j]] += x[j]`` for all j, where y has ``size`` zeros before.

    Row i of an array holds the inputs on which its element i may depend.  Element i of y depends on
    those of all x[j] that are added to it.
    rows : the rows of x, in a sparse matrix.
    """
    from scipy import sparse

    here = np.arange(rows.shape[0])
    ones = np.ones(here.size, np.int32)
    return csr(sparse.csr_array((ones, (to, here)), shape=(size, rows.shape[0])) @ rows)


def stacked(parts: Sequence[Any], first: csr_array) -> Any:
    from scipy import sparse

    return sparse.vstack([first, *parts], format="csr", dtype=np.int32)


def broadcast(value: Sets, shape: Size) -> Any:
    """Return the dependencies (index sets) of a value's elements after a broadcast, as CSR."""
    return value.rows if value.shape == shape else value.rows[source_places(value.shape, shape)]


def unite_along(value: Sets, axes: tuple[int, ...]) -> Sets:
    """Return the dependencies (index sets) of a sum over ``axes``, which become axes of length 1."""
    shape = tuple(1 if i in axes else n for i, n in enumerate(value.shape))
    return Sets(
        shape, unite_rows_at(value.rows, source_places(shape, value.shape), math.prod(shape))
    )


def rows_from_left(
    rows: csr_array, m: int, k: int, n: int, other: np.ndarray[Any, Any] | None
) -> Any:
    """Return the part of the dependencies (index sets) of x1 @ x2 that comes from x1, as CSR.

    rows : the sets of x1, of shape (m, k).  n : the number of columns of x2.
    other : the data of x2 if x2 is a constant, else None.
    """
    from scipy import sparse

    factor = sparse.csr_array(np.ones((n, k), np.int32) if other is None else other.T != 0)
    return csr(sparse.kron(sparse.eye_array(m), factor, format="csr").astype(np.int32) @ rows)


def rows_from_right(
    rows: csr_array, m: int, k: int, n: int, other: np.ndarray[Any, Any] | None
) -> Any:
    """Return the part of the dependencies (index sets) of x1 @ x2 that comes from x2, as CSR.

    rows : the sets of x2, of shape (k, n).  m : the number of rows of x1.
    other : the data of x1 if x1 is a constant, else None.
    """
    from scipy import sparse

    factor = sparse.csr_array(np.ones((m, k), np.int32) if other is None else other != 0)
    return csr(sparse.kron(factor, sparse.eye_array(n), format="csr").astype(np.int32) @ rows)


def transposed(x: Sets | np.ndarray[Any, Any]) -> Any:
    """Return a matrix with its last two axes exchanged, as a constant's data or as its index sets."""
    if not isinstance(x, Sets):
        return x.swapaxes(-2, -1)
    at = np.arange(math.prod(x.shape)).reshape(x.shape).swapaxes(-2, -1)
    return Sets(at.shape, x.rows[at.reshape(-1)])


def stacked_products(
    first: Sets | np.ndarray[Any, Any], second: Sets | np.ndarray[Any, Any]
) -> Sets:
    """Return the dependencies (index sets) of a matrix product with an operand of more than two axes.

    Each element depends on a row of ``first`` and a column of ``second``, also at zeros of a constant.
    """
    one, two = len(first.shape) == 1, len(second.shape) == 1
    wide = [(1, *first.shape) if one else first.shape, (*second.shape, 1) if two else second.shape]
    stack = np.broadcast_shapes(wide[0][:-2], wide[1][:-2])
    product = (*stack, wide[0][-2], wide[1][-1])
    parts = []
    for x, shape, axis in zip((first, second), wide, (-1, -2), strict=True):
        if isinstance(x, Sets):
            whole = unite_along(Sets(shape, x.rows), (len(shape) + axis,))
            parts.append(broadcast(whole, product))
    gone = ({len(product) - 2} if one else set()) | ({len(product) - 1} if two else set())
    return Sets(tuple(n for i, n in enumerate(product) if i not in gone), unite_rows(parts))


# --- positions of elements ----------------------------------------------------------------------------
def source_places(shape: Size, wider: Size) -> Any:
    """Return the flat index in an array of ``shape`` for each element of its broadcast to ``wider``."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return np.broadcast_to(numbers, wider).reshape(-1)


def view_places(shape: Size, path: Path) -> Any:
    """Return, for each element of a view, its flat index in the viewed Array.

    shape : the shape of the viewed Array.
    path : the steps, such as indexing and transposing, from the Array to the view.  Raise Unknown if the
    path has a key that differs between examples of vmap.
    """
    if any(kind is PICK for kind, _ in path):
        raise Unknown
    path = tuple((kind, host_key(key) if kind is GETITEM else key) for kind, key in path)
    steps = tuple(step for step in path if step[0] not in IN_PLACE)
    return np.asarray(walk_path(np.arange(math.prod(shape)).reshape(shape), steps, numpy_namespace))


def host(data: Any) -> Any:
    """Return data that a record keeps as a NumPy array; raise Unknown for batched data."""
    if type(data) is Batched:
        raise Unknown
    return np.asarray(storage_of(data).host(data) if type(data) in STORAGES else data)


def host_key(key: Index) -> Any:
    """Return a key of a record with NumPy arrays in place of the arrays of any library."""
    if isinstance(key, tuple):
        return tuple(host_key(part) for part in key)
    return host(key) if type(key) in STORAGES else key
