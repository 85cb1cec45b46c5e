"""Sparse Jacobians and Hessians: rows or columns that do not meet are computed together.

The structure is found by passing index sets through the records of one run (``index_sets.py``), or
given.  Rows without a common column get one colour, or columns without a common row; one product with
the Jacobian for each colour has all of its entries.  Source: Curtis, Powell and Reid 1974, "On the
estimation of sparse Jacobian matrices"; for the greedy colouring, largest degree first, Gebremedhin,
Manne and Pothen 2005, "What color is your Jacobian?", sec. 3.  One product more, along a random
direction, checks each call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._array.array import Array, namespace
from .._storage.batched.batched_data import active, new_axis_id
from .._tape.hidden_axes import batched
from .._tape.jacobian import lacks_batched_form, rows_at_once, rows_in
from .._util import nest
from .._util.blocks import Quiet
from .._util.errors import describe, user_line
from .._util.options import unwrap_option
from ..ops.creation_functions import asarray
from .derivatives import check_real, grad
from .doubts import settle_doubts
from .index_sets import IndexSets, Sets, csr
from .inputs import Function, Inputs, check_chunk_size, check_function, given_again, numpy_data
from .linearization import Linearization
from .verify import Again, host

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SEEN_AT_ONCE = 64  # rows that may have entries outside a structure
MOST_PAIRS = 10**8  # of columns with a row in common, a column with itself among them


def sparse_jacobian(
    f: Function, structure: Any = None, argnums: int = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return the Jacobian of a function as a sparse matrix, from few products with it.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives an Array or a nesting of Arrays.
    structure : sparse or array-like, optional
        A matrix of shape (elements of the result, elements of the argument) that is not 0 where the
        Jacobian may be.  By default it is found at the first call, from what f computes there, and again
        where a later call turns out to have entries elsewhere.
    argnums : int, default: 0
        The position of the argument to differentiate: one Array or NumPy array.
    chunk_size : int, optional
        The most products in one pass, which bounds its memory; by default as many as fit into 64 MB for
        each value on the way.

    Returns
    -------
    Callable
        Takes the arguments of f and gives a ``scipy.sparse.csr_array``: elements of the results, in the
        order of C, by those of the argument.

    Raises
    ------
    ImportError
        When SciPy is not installed.
    TypeError
        When the argument is no single real floating-point array, f gives anything but real Arrays, or a
        recorder around the call follows the result: a sparse matrix has no derivative.
    ValueError
        When the structure has another shape, or lacks entries of the Jacobian.

    Notes
    -----
    What f does to an element decides: an op that is not known element by element counts as dense, as do
    ``custom_gradient``, ``recompute_grad`` and ``vmap`` inside f.  Both branches of ``where`` count.
    Each call compares one product along a random direction with what the matrix gives, so that an entry
    outside the structure is an error and no wrong number.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> J = xp.sparse_jacobian(lambda x: x[1:] ** 2 - x[:-1])(np.array([1.0, 2.0, 3.0]))
    >>> J.toarray()
    array([[-1.,  4.,  0.],
           [ 0., -1.,  6.]])
    """
    return sparse_of("sparse_jacobian", f, structure, argnums, chunk_size)


def sparse_hessian(
    f: Function, structure: Any = None, argnums: int = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return the Hessian of a scalar function as a sparse matrix: the sparse Jacobian of its gradient.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives one real Array of shape ().
    structure : sparse or array-like, optional
        As of ``sparse_jacobian``: a square matrix that is not 0 where the Hessian may be.
    argnums : int, default: 0
        The position of the argument to differentiate: one Array or NumPy array.
    chunk_size : int, optional
        The most products in one pass, as of ``sparse_jacobian``.

    Returns
    -------
    Callable
        Takes the arguments of f and gives a ``scipy.sparse.csr_array`` with a row and a column for each
        element of the argument.

    Raises
    ------
    ImportError
        When SciPy is not installed.
    TypeError
        As by ``sparse_jacobian``, and when f gives anything but one real Array.
    ValueError
        When the structure has another shape, or lacks entries of the Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> H = xp.sparse_hessian(lambda x: xp.sum(x[1:] * x[:-1] ** 2))(np.array([1.0, 2.0, 3.0]))
    >>> H.toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    check_function("sparse_hessian", f)
    return sparse_of("sparse_hessian", grad(f, argnums), structure, argnums, chunk_size)


def sparse_of(
    caller: str, f: Function, structure: Any, argnums: int, chunk_size: int | None
) -> Callable[..., Any]:
    """Return the function of ``sparse_jacobian``, with errors in the name of ``caller``."""
    check_function(caller, f)
    check_chunk_size(caller, chunk_size)
    argnums = unwrap_option(argnums)
    if not isinstance(argnums, int) or isinstance(argnums, bool):
        raise TypeError(
            f"{caller}: argnums must be one int, got {describe(argnums)} [at {user_line()}]"
        )
    needs_scipy(caller)
    given = None if structure is None else pattern_of(caller, structure)
    known: dict[tuple[int, int], Colouring] = {}

    @functools.wraps(f)
    def derivative(*args: Any, **keywords: Any) -> Any:
        inputs = Inputs(caller, args, argnums)
        x = one_array(caller, inputs)
        run = Linearization(caller, f, inputs, keywords)
        check_real(caller, [x])
        check_results(caller, run.results)
        shape = sum(y.size for y in run.results), x.size
        if given is not None and given.shape != shape:
            raise ValueError(
                f"{caller}: the structure has shape {given.shape}, and the matrix {shape} "
                f"[at {user_line()}]"
            )
        if shape not in known:
            known[shape] = Colouring.of(structure_of(run) if given is None else given)
        matrix, missed = compressed(caller, run, known[shape], chunk_size)
        if missed and given is None:  # another branch, key or order than at that call
            known[shape] = Colouring.of(csr(known[shape].pattern + structure_of(run)))
            matrix, missed = compressed(caller, run, known[shape], chunk_size)
        if missed:
            raise ValueError(
                f"{caller}: the structure lacks the entry {missed}, where the matrix is not 0 "
                f"[at {user_line()}]; add it, or leave structure out to have it found"
            )

        def again() -> Again:
            return Again(flat, given_again(args), argnums, keywords)

        @functools.wraps(f)
        def flat(*args: Any, **keywords: Any) -> Any:
            return flat_results(nest.leaves(f(*args, **keywords)))

        def slope(v: Sequence[Array]) -> Any:
            return [matrix @ np.ravel(host(v[0]))]

        if run.doubts:
            settle_doubts(run.doubts, caller, again, lambda: flat_results(run.results), slope)
        return matrix

    return derivative


def flat_results(results: Sequence[Array]) -> Any:
    """Return a list of one vector, the concatenated results."""
    xp: Any = namespace()
    return [xp.concat([xp.reshape(y, (-1,)) for y in results])]


class Colouring(NamedTuple):
    """A structure with the groups (colours) of its columns, or rows, that one product computes.

    colours : the colour of each column, or of each row if ``by_rows`` is True.  number : of colours.
    """

    pattern: Any
    colours: Any
    number: int
    by_rows: bool

    @classmethod
    def of(cls, pattern: csr_array, by_rows: bool = False) -> Colouring:
        """Return a colouring of the rows, or of the columns if they promise fewer products.

        Columns are chosen if the fullest row has less than half as many entries as the fullest column:
        a product with a row took a third of the time of a product with a column.
        """
        in_rows = np.diff(pattern.indptr)
        in_columns = np.bincount(pattern.indices, minlength=pattern.shape[1])
        by_rows = by_rows or bool(2 * in_rows.max(initial=0) >= in_columns.max(initial=0))
        colours = greedy(pattern.T.tocsr() if by_rows else pattern)
        return cls(pattern, colours, int(colours.max(initial=-1)) + 1, by_rows)


def greedy(pattern: csr_array) -> Any:
    """Return colours of columns so that two columns with a common row have different colours.

    Each column gets its own colour if most colours are needed anyway, or if the search needs too much
    memory.
    """
    n = pattern.shape[1]
    in_rows = np.diff(pattern.indptr).astype(np.int64)
    if 2 * in_rows.max(initial=0) > n or in_rows @ in_rows > MOST_PAIRS:
        return np.arange(n)
    meets = csr(pattern.T @ pattern)
    degrees = np.diff(meets.indptr)
    colours = np.full(n, -1)
    for column in np.argsort(-degrees, kind="stable"):
        others = colours[meets.indices[meets.indptr[column] : meets.indptr[column + 1]]]
        taken = np.zeros(others.size + 1, bool)
        taken[others[(others >= 0) & (others < taken.size)]] = True
        colours[column] = np.argmin(taken)
    return colours


def structure_of(run: Linearization) -> Any:
    """Return the sparsity pattern of the Jacobian of a run, as CSR."""
    (x,) = run.arrays
    sets = IndexSets(x.size)
    sets.start(run.recording.watched[id(x)].source, tuple(x.shape))
    value_ids = [
        run.recording.value_id_of(y, current_value=True) for y in run.results
    ]  # views are read
    for record in run.recording.records:
        sets.record(record)
    rows = [
        rows_of(sets, value_id, y.size) for value_id, y in zip(value_ids, run.results, strict=True)
    ]
    return csr(stacked_rows(rows))


def stacked_rows(parts: list[Any]) -> Any:
    from scipy import sparse

    return sparse.vstack(parts, format="csr")


def rows_of(sets: IndexSets, value_id: int, size: int) -> Any:
    """Return the index sets of a result, one row for each element."""
    found = sets.held.get(value_id)
    if found is None:
        return sets.none(size)
    if isinstance(found, Sets):
        return found.rows
    return found.row[np.zeros(size, np.int64)]


# --- products -----------------------------------------------------------------------------------------
def compressed(
    caller: str, run: Linearization, colouring: Colouring, chunk_size: int | None
) -> tuple[Any, tuple[int, int] | None]:
    """Return the matrix, computed by one product per colour, and an entry outside the structure."""
    from scipy import sparse

    pattern, colours, number, by_rows = colouring
    rng = np.random.default_rng(number)
    directions = np.zeros((number + 1, colours.size))
    directions[colours, np.arange(colours.size)] = 1.0
    directions[-1] = rng.uniform(0.5, 1.0, colours.size) * rng.choice([-1.0, 1.0], colours.size)
    products = products_with(caller, run, directions, by_rows, chunk_size)
    row, column = pattern.tocoo().coords
    entries = products[(colours[row], column) if by_rows else (colours[column], row)]
    if not by_rows and np.isnan(entries).any():  # reverse mode has a guard
        return compressed(caller, run, Colouring.of(pattern, by_rows=True), chunk_size)
    matrix = sparse.csr_array((entries, (row, column)), shape=pattern.shape)
    places = disagreeing(matrix.T if by_rows else matrix, directions[-1], products[-1])
    return matrix, entry_outside(caller, run, colouring, places)


def disagreeing(
    matrix: csr_array, direction: np.ndarray[Any, Any], product: np.ndarray[Any, Any]
) -> Any:
    """Return the rows in which ``product`` differs from ``matrix @ direction`` by more than rounding."""
    eps = np.finfo(product.dtype).eps
    with Quiet():
        expected = matrix @ direction.astype(product.dtype)
        scale = abs(matrix) @ abs(direction)
        off = np.abs(product - expected)
        largest = np.max(
            scale, initial=0.0, where=np.isfinite(scale)
        )  # one NaN must not hide the other rows
        beyond = off > eps ** (2 / 3) * (scale + eps * largest)
    return np.flatnonzero(beyond)


def entry_outside(
    caller: str, run: Linearization, colouring: Colouring, places: np.ndarray[Any, Any]
) -> tuple[int, int] | None:
    """Return a nonzero entry outside the structure, in the rows at ``places``; None if there is none.

    Columns are searched if ``colouring.by_rows`` is True.  Whole rows are computed, because a
    difference of products may also come from rounding.
    """
    pattern = colouring.pattern.T.tocsr() if colouring.by_rows else colouring.pattern
    for start in range(0, len(places), SEEN_AT_ONCE):
        some = places[start : start + SEEN_AT_ONCE]
        lines = lines_at(caller, run, some, pattern.shape[0], not colouring.by_rows)
        known = pattern[some].toarray().astype(bool)
        unsure = np.isnan(lines) & ~known
        if colouring.by_rows and unsure.any():  # 0 times infinity: reverse mode has a guard
            across = np.flatnonzero(unsure.any(axis=0))
            for at in range(0, len(across), SEEN_AT_ONCE):
                few = across[at : at + SEEN_AT_ONCE]
                lines[:, few] = lines_at(caller, run, few, pattern.shape[1], True)[:, some].T
        outside = (lines != 0) & ~np.isnan(lines) & ~known
        if outside.any():
            line, at = (int(i) for i in np.argwhere(outside)[0])
            found = int(some[line]), at
            return found[::-1] if colouring.by_rows else found
    return None


def lines_at(
    caller: str, run: Linearization, places: np.ndarray[Any, Any], count: int, by_rows: bool
) -> Any:
    """Return the rows, or the columns, of the matrix at ``places``; the matrix has ``count`` of them."""
    units = np.zeros((len(places), count))
    units[np.arange(len(places)), places] = 1.0
    return products_with(caller, run, units, by_rows, None)


def products_with(
    caller: str,
    run: Linearization,
    directions: np.ndarray[Any, Any],
    by_rows: bool,
    chunk_size: int | None,
) -> Any:
    """Return the matrix, or its transpose if ``by_rows``, times each direction, as NumPy data."""
    step = chunk_size or rows_at_once(run.largest_followed())
    pieces = [directions[i : i + step] for i in range(0, len(directions), step)]
    if run.batches():
        try:
            return np.concatenate([many(caller, run, piece, by_rows) for piece in pieces])
        except Exception as error:
            if not lacks_batched_form(error):
                raise
    return np.stack([taken(caller, product(run, d, by_rows)) for d in directions])


def many(caller: str, run: Linearization, directions: np.ndarray[Any, Any], by_rows: bool) -> Any:
    """Return several products in one pass."""
    axis_id = new_axis_id()
    with active(axis_id):
        found = product(run, directions, by_rows, axis_id)
        rows = [rows_in(part, axis_id, len(directions)) for part in found]
    return taken(caller, rows, len(directions))


def product(
    run: Linearization, direction: np.ndarray[Any, Any], by_rows: bool, axis_id: int | None = None
) -> list[Array]:
    """Return one product, or one for each example of a hidden axis."""
    moved = run.results if by_rows else run.arrays
    ends = np.cumsum([part.size for part in moved])[:-1]
    parts = [
        hidden(values, like, axis_id)
        for values, like in zip(np.split(direction, ends, axis=-1), moved, strict=True)
    ]
    if not by_rows:
        return run.push(parts)
    return run.pull_sums(parts)


def hidden(values: np.ndarray[Any, Any], like: Array, axis_id: int | None) -> Array:
    """Return directions as an Array with the shape, dtype and device of ``like``."""
    count = values.shape[:-1]
    whole = asarray(values.reshape((*count, *like.shape)), dtype=like.dtype, device=like.device)
    entered: Array = whole if axis_id is None else batched(whole, axis_id)
    return entered


def taken(caller: str, parts: list[Array], count: int | None = None) -> Any:
    """Return products as one NumPy array, their parts concatenated along the last axis."""
    found = []
    for part in parts:
        data = numpy_data(part, ends_trace=f"a sparse matrix is made of it ({caller})")
        if data is None:
            raise TypeError(
                f"{caller}: a sparse matrix has no derivative, and a recorder around this call follows "
                f"it (a tape, another derivative or vmap): use jacobian or hessian there "
                f"[at {user_line()}]"
            )
        found.append(data.reshape((-1,) if count is None else (count, -1)))
    whole = np.concatenate(found, axis=-1)
    return whole.astype(np.float32) if whole.dtype == np.float16 else whole  # SciPy has no float16


# --- checks -------------------------------------------------------------------------------------------
def needs_scipy(caller: str) -> None:
    """Raise ImportError that says what to install."""
    try:
        import scipy.sparse  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{caller} needs SciPy: pip install scipy") from error


def pattern_of(caller: str, structure: Any) -> Any:
    """Return a given structure as CSR, with 1 for each nonzero entry."""
    try:
        found = csr(structure)
    except Exception as error:
        raise TypeError(
            f"{caller}: structure must be a sparse matrix or an array, got {describe(structure)} "
            f"[at {user_line()}]"
        ) from error
    if found.ndim != 2:
        raise ValueError(
            f"{caller}: structure must have two dimensions, got {describe(structure)} "
            f"[at {user_line()}]"
        )
    return found


def check_results(caller: str, results: list[Array]) -> None:
    """Raise TypeError unless all results are real floating-point Arrays."""
    for y in results:
        if y.dtype.kind != "f":
            raise TypeError(
                f"{caller}: the function must give real floating-point Arrays, got {describe(y)} "
                f"[at {user_line()}]"
            )


def one_array(caller: str, inputs: Inputs) -> Array:
    """Return the argument; raise TypeError if it is a nesting."""
    if not isinstance(inputs.chosen, Array):
        raise TypeError(
            f"{caller}: takes one array, got a nesting: arraytape.functional.ravel makes one of it "
            f"[at {user_line()}]"
        )
    return inputs.chosen


__all__ = ["sparse_hessian", "sparse_jacobian"]
