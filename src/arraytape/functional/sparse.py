"""Sparse Jacobians and Hessians: one product with the Jacobian computes many rows or columns.

The structure is a matrix that is nonzero wherever the Jacobian may be nonzero.  The user passes it, or
it is computed from the records of one run (``index_sets.py``).  Columns get the same colour if no row
has entries in two of them.  The Jacobian times the sum of the unit vectors of one colour then contains
all entries of these columns.  Rows are coloured likewise, for products with the transpose.  At each
call, one more product along a random direction shows whether the structure lacks an entry.

Sources: Curtis, Powell and Reid 1974, "On the estimation of sparse Jacobian matrices".  For the greedy
colouring in the order of descending degrees: Gebremedhin, Manne and Pothen 2005, "What color is your
Jacobian?", sec. 3.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._array.array import Array, namespace
from .._storage.batched.batched_data import new_axis_id, open_hidden_axis
from .._tape.hidden_axes import batched
from .._tape.jacobian import lacks_batched_form, log_single_passes, rows_at_once, rows_in
from .._util import nest
from .._util.blocks import Quiet
from .._util.errors import describe, user_line
from .._util.imports import import_or_advise
from .._util.options import unwrap_option
from ..ops.creation_functions import asarray
from .derivatives import check_real, grad
from .doubts import settle_doubts
from .index_sets import IndexSets, Sets, csr
from .inputs import (
    Function,
    Inputs,
    arguments_for_rerun,
    check_chunk_size,
    check_function,
    numpy_data,
)
from .linearization import Linearization
from .verify import Rerun, host

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SEEN_AT_ONCE = 64  # number of whole rows that ``entry_outside`` computes at a time
# A limit on the sum of n**2 over all rows, where n is the number of entries of a row.  The sum bounds
# the cost and the memory of pattern.T @ pattern.
MOST_PAIRS = 10**8


def sparse_jacobian(
    f: Function, structure: Any = None, argnums: int = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of f as a sparse matrix, by few products.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns an Array or a nesting of Arrays.
    structure : sparse or array-like, optional
        A matrix of shape (elements of the result, elements of the argument) that is nonzero wherever the
        Jacobian may be nonzero.  By default the structure is derived from the ops of f at the first
        call.  If a later call has entries elsewhere, the structure is extended.
    argnums : int, default: 0
        The position of the argument to differentiate with respect to, one Array or NumPy array.
    chunk_size : int, optional
        The largest number of products that one pass computes, which bounds the memory of the pass.  By
        default the derivatives of each intermediate value take about 64 MB at most.

    Returns
    -------
    Callable
        A function of f's arguments that returns a ``scipy.sparse.csr_array``.  The array has a row for
        each element of the results and a column for each element of the argument, both in C order.

    Raises
    ------
    ImportError
        When SciPy is not installed.
    TypeError
        When the argument is no single real floating-point array, or f returns anything but real Arrays.
        Also when the call is inside another derivative, a tape that follows the argument, or ``vmap``,
        because no tape can follow a sparse matrix.
    ValueError
        When the structure has a wrong shape, or lacks entries of the Jacobian.

    Notes
    -----
    The derived structure is an upper bound.  If the elements on which an op's result depends are not
    known, each element of the result counts as dependent on all elements of the inputs.  The same holds
    for ``custom_gradient``, ``recompute_grad`` and ``vmap`` inside f.  Both branches of ``where`` count.
    Each call compares one product along a random direction with the same product of the sparse matrix.
    An entry outside a passed structure is thus an error, and not a wrong number.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> J = xp.sparse_jacobian(lambda x: x[1:] ** 2 - x[:-1])(np.array([1.0, 2.0, 3.0]))
    >>> J.toarray()
    array([[-1.,  4.,  0.],
           [ 0., -1.,  6.]])
    """
    return sparse_derivative("sparse_jacobian", f, structure, argnums, chunk_size)


def sparse_hessian(
    f: Function, structure: Any = None, argnums: int = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Hessian of a scalar function as a sparse matrix.

    The Hessian is computed as the sparse Jacobian of the gradient.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns one real Array of shape ().
    structure : sparse or array-like, optional
        A square matrix that is nonzero wherever the Hessian may be nonzero.  By default it is derived
        from the ops of the gradient: see ``sparse_jacobian``.
    argnums : int, default: 0
        The position of the argument to differentiate with respect to, one Array or NumPy array.
    chunk_size : int, optional
        The largest number of products that one pass computes: see ``sparse_jacobian``.

    Returns
    -------
    Callable
        A function of f's arguments that returns a ``scipy.sparse.csr_array``, with a row and a column
        for each element of the argument, in C order.

    Raises
    ------
    ImportError
        When SciPy is not installed.
    TypeError
        When ``sparse_jacobian`` raises it, and when f returns anything but one real Array.
    ValueError
        When the structure has a wrong shape or lacks entries of the Hessian, or f's result has a shape
        other than ().

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
    return sparse_derivative("sparse_hessian", grad(f, argnums), structure, argnums, chunk_size)


def sparse_derivative(
    caller: str, f: Function, structure: Any, argnums: int, chunk_size: int | None
) -> Callable[..., Any]:
    """Return what ``sparse_jacobian`` or ``sparse_hessian`` returns (for the latter, f is a gradient).

    caller : the name of the public function, for error messages.
    The other parameters are those of ``sparse_jacobian``.
    """
    check_function(caller, f)
    check_chunk_size(caller, chunk_size)
    argnums = unwrap_option(argnums)
    if not isinstance(argnums, int) or isinstance(argnums, bool):
        raise TypeError(
            f"{caller}: argnums must be one int, got {describe(argnums)} [at {user_line()}]"
        )
    import_or_advise("scipy.sparse", f"{caller} needs SciPy: pip install scipy")
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
                f"{caller}: the structure has shape {given.shape}, but the matrix has shape {shape} "
                f"[at {user_line()}]"
            )
        if shape not in known:
            known[shape] = Colouring.of(structure_of(run) if given is None else given)
        matrix, missed = matrix_from_products(caller, run, known[shape], chunk_size)
        # Extend the structure: f may have taken another branch, key or permutation than before.
        if missed and given is None:
            known[shape] = Colouring.of(csr(known[shape].pattern + structure_of(run)))
            matrix, missed = matrix_from_products(caller, run, known[shape], chunk_size)
        if missed:
            raise ValueError(
                f"{caller}: the structure lacks the entry {missed}, where the matrix is not 0 "
                f"[at {user_line()}]; add the entry, or leave out structure="
            )

        def again() -> Rerun:
            return Rerun(flat, arguments_for_rerun(args), argnums, keywords)

        # ``wraps``, because ``settle_doubts`` remembers its results by the code of f.
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
    """Return a list with one vector: the elements of all results of a function, in order.

    The sparse Jacobian is the derivative of this vector.
    """
    xp: Any = namespace()
    return [xp.concat([xp.reshape(y, (-1,)) for y in results])]


class Colouring(NamedTuple):
    """The structure (sparsity pattern) of a Jacobian, and the colours of its columns or rows.

    One product computes all columns (or rows) of a colour, because no two of them have an entry in the
    same row (or column).

    pattern : the structure as CSR.
    colours : the colour of each column, or of each row if ``by_rows`` is True; numbers from 0.
    number : the number of colours.
    """

    pattern: Any
    colours: Any
    number: int
    by_rows: bool

    @classmethod
    def of(cls, pattern: csr_array, by_rows: bool = False) -> Colouring:
        """Return a colouring of the columns or of the rows of ``pattern``, whichever takes less time.

        Columns need at least as many colours as the fullest row has entries, and a JVP for each colour.
        Rows need at least as many as the fullest column, and VJPs, which take a third of the time.  So
        columns are chosen if the fullest row has less than half as many entries as the fullest column.

        by_rows : True to colour rows in any case.
        """
        in_rows = np.diff(pattern.indptr)
        in_columns = np.bincount(pattern.indices, minlength=pattern.shape[1])
        by_rows = by_rows or bool(2 * in_rows.max(initial=0) >= in_columns.max(initial=0))
        colours = greedy_colours(pattern.T.tocsr() if by_rows else pattern)
        return cls(pattern, colours, int(colours.max(initial=-1)) + 1, by_rows)


def greedy_colours(pattern: csr_array) -> Any:
    """Return a colour, a number from 0, for each column; columns with entries in one row differ.

    Each column gets its own colour if colours for more than half of the columns are needed anyway, or if
    the search would need too much memory.
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
        used = np.zeros(others.size + 1, bool)
        used[others[(others >= 0) & (others < used.size)]] = True
        colours[column] = np.argmin(used)
    return colours


def structure_of(run: Linearization) -> Any:
    """Return the structure (sparsity pattern) of the Jacobian of ``run`` as CSR, from its records.

    Row i has entries in the columns of the input elements on which result element i may depend.

    run : a recorded run of the user's function.
    """
    (x,) = run.arrays
    sets = IndexSets(x.size)
    sets.start(run.recording.watched[id(x)].source, tuple(x.shape))
    # Get the ids before the loop: for a result that is a view, this adds a VIEW record to the records.
    value_ids = [run.recording.value_id_of(y, current_value=True) for y in run.results]
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
    """Return the structure's rows for one result, as CSR: the index sets of its elements.

    An index set has the input elements on which an element of the result may depend.

    sets : the index sets of all values.
    value_id, size : the id and the number of elements of the result.
    """
    found = sets.held.get(value_id)
    if found is None:
        return sets.none(size)
    if isinstance(found, Sets):
        return found.rows
    return found.row[np.zeros(size, np.int64)]


# --- products -----------------------------------------------------------------------------------------
def matrix_from_products(
    caller: str, run: Linearization, colouring: Colouring, chunk_size: int | None
) -> tuple[Any, tuple[int, int] | None]:
    """Compute the sparse Jacobian of a recorded run by products with the Jacobian.

    Return the matrix, and the position of a nonzero entry outside the structure, or None.  One product
    per colour computes the entries.  To find entries outside, the Jacobian times a random direction is
    compared with the sparse matrix times this direction.

    caller : the name of the public function, for messages.  run : the recorded run.
    colouring : the structure, and the columns (or rows) that share a product.
    chunk_size : the largest number of products that one pass computes, or None.
    """
    from scipy import sparse

    pattern, colours, number, by_rows = colouring
    rng = np.random.default_rng(number)
    directions = np.zeros((number + 1, colours.size))
    directions[colours, np.arange(colours.size)] = 1.0
    directions[-1] = rng.uniform(0.5, 1.0, colours.size) * rng.choice([-1.0, 1.0], colours.size)
    products = products_with(caller, run, directions, by_rows, chunk_size)
    row, column = pattern.tocoo().coords
    entries = products[(colours[row], column) if by_rows else (colours[column], row)]
    if not by_rows and np.isnan(entries).any():  # only reverse mode can replace 0 * inf by 0
        return matrix_from_products(caller, run, Colouring.of(pattern, by_rows=True), chunk_size)
    matrix = sparse.csr_array((entries, (row, column)), shape=pattern.shape)
    places = rows_that_disagree(matrix.T if by_rows else matrix, directions[-1], products[-1])
    return matrix, entry_outside(caller, run, colouring, places)


def rows_that_disagree(
    matrix: csr_array, direction: np.ndarray[Any, Any], product: np.ndarray[Any, Any]
) -> Any:
    """Return the rows in which ``product`` and ``matrix @ direction`` differ by more than rounding.

    In such a row, the matrix lacks an entry of the Jacobian.  product : the Jacobian times
    ``direction``.
    """
    eps = np.finfo(product.dtype).eps
    with Quiet():
        expected = matrix @ direction.astype(product.dtype)
        scale = abs(matrix) @ abs(direction)
        off = np.abs(product - expected)
        # Without ``where``, a NaN in one row would make the limit of all rows NaN.
        largest = np.max(scale, initial=0.0, where=np.isfinite(scale))
        beyond = off > eps ** (2 / 3) * (scale + eps * largest)
    return np.flatnonzero(beyond)


def entry_outside(
    caller: str, run: Linearization, colouring: Colouring, places: np.ndarray[Any, Any]
) -> tuple[int, int] | None:
    """Return the position of a nonzero entry of the Jacobian outside the structure, or None.

    The suspect rows are computed in full, because the check that found them may err by rounding.

    caller : the name of the public function, for messages.  run : the recorded run.
    colouring : the structure with its colours.
    places : rows (columns if ``colouring.by_rows`` is True) in which a product with a random direction
    disagreed with the sparse matrix.
    """
    pattern = colouring.pattern.T.tocsr() if colouring.by_rows else colouring.pattern
    for start in range(0, len(places), SEEN_AT_ONCE):
        some = places[start : start + SEEN_AT_ONCE]
        lines = rows_or_columns(caller, run, some, pattern.shape[0], not colouring.by_rows)
        known = pattern[some].toarray().astype(bool)
        unsure = np.isnan(lines) & ~known
        # If by_rows, ``lines`` are columns, computed by forward mode.  There a NaN may be 0 * inf, for
        # which reverse mode gives 0: compute the rows with such a NaN by reverse mode, too.
        if colouring.by_rows and unsure.any():
            across = np.flatnonzero(unsure.any(axis=0))
            for at in range(0, len(across), SEEN_AT_ONCE):
                few = across[at : at + SEEN_AT_ONCE]
                lines[:, few] = rows_or_columns(caller, run, few, pattern.shape[1], True)[:, some].T
        outside = (lines != 0) & ~np.isnan(lines) & ~known
        if outside.any():
            line, at = (int(i) for i in np.argwhere(outside)[0])
            found = int(some[line]), at
            return found[::-1] if colouring.by_rows else found
    return None


def rows_or_columns(
    caller: str, run: Linearization, places: np.ndarray[Any, Any], count: int, by_rows: bool
) -> Any:
    """Return some rows of the Jacobian, or some columns if ``by_rows`` is False, as NumPy data.

    caller : the name of the public function, for messages.  run : the recorded run.
    places : the numbers of the rows (or columns).  count : the number of all rows (or columns).
    """
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
    """Return the Jacobian, or its transpose if ``by_rows``, times each direction, as a NumPy array.

    caller : the name of the public function, for messages.  run : the recorded run.
    directions : an array with one direction in each row.  The result has one product in each row.
    chunk_size : the largest number of products that one pass computes, or None.
    """
    step = chunk_size or rows_at_once(run.largest_followed())
    pieces = [directions[i : i + step] for i in range(0, len(directions), step)]
    if run.batches():
        try:
            return np.concatenate(
                [products_at_once(caller, run, piece, by_rows) for piece in pieces]
            )
        except Exception as error:
            if not lacks_batched_form(error):
                raise
    log_single_passes(len(directions))
    return np.stack([products_in_numpy(caller, product(run, d, by_rows)) for d in directions])


def products_at_once(
    caller: str, run: Linearization, directions: np.ndarray[Any, Any], by_rows: bool
) -> Any:
    """Return the Jacobian's products with all ``directions``, by one pass on batched data, as in vmap.

    caller : the name of the public function, for messages.  run : the recorded run.
    directions : an array with one direction in each row.
    by_rows : True for products with the transpose.
    """
    axis_id = new_axis_id()
    with open_hidden_axis(axis_id):
        found = product(run, directions, by_rows, axis_id)
        rows = [rows_in(part, axis_id, len(directions)) for part in found]
    return products_in_numpy(caller, rows, len(directions))


def product(
    run: Linearization, direction: np.ndarray[Any, Any], by_rows: bool, axis_id: int | None = None
) -> list[Array]:
    """Return the Jacobian of a run, or its transpose if ``by_rows``, times ``direction``, as Arrays.

    run : the recorded run of the user's function.
    axis_id : None, or the id of a hidden axis for many directions at once.  Then the rows of
    ``direction`` are the directions, and the returned Arrays have the products along the hidden axis.
    """
    moved = run.results if by_rows else run.arrays
    ends = np.cumsum([part.size for part in moved])[:-1]
    parts = [
        directions_like(values, like, axis_id)
        for values, like in zip(np.split(direction, ends, axis=-1), moved, strict=True)
    ]
    if not by_rows:
        return run.push(parts)
    return run.pull_sums(parts)


def directions_like(values: np.ndarray[Any, Any], like: Array, axis_id: int | None) -> Array:
    """Convert directions from flat NumPy data to an Array with the shape and dtype of ``like``.

    values : one direction, or a row for each; then the rows become a hidden axis, as in vmap.
    axis_id : the id of the hidden axis, or None for one direction.
    """
    count = values.shape[:-1]
    whole = asarray(values.reshape((*count, *like.shape)), dtype=like.dtype, device=like.device)
    entered: Array = whole if axis_id is None else batched(whole, axis_id)
    return entered


def products_in_numpy(caller: str, parts: list[Array], count: int | None = None) -> Any:
    """Return products as one NumPy array of shape (count, elements), or (elements,) if count is None.

    caller : the name of the public function, for messages.
    parts : one Array for each input or result; their elements are concatenated.
    count : the length of the first axis of each Array, which numbers the products; None for one product
    without this axis.
    """
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
def pattern_of(caller: str, structure: Any) -> Any:
    """Return the user's ``structure`` as a CSR matrix, with 1 for each nonzero entry.

    The structure is nonzero wherever the Jacobian may be nonzero.
    """
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
    """Raise TypeError unless all results are real floating-point Arrays.

    caller : the name of the public function, for the message.
    """
    for y in results:
        if y.dtype.kind != "f":
            raise TypeError(
                f"{caller}: the function must give real floating-point Arrays, got {describe(y)} "
                f"[at {user_line()}]"
            )


def one_array(caller: str, inputs: Inputs) -> Array:
    """Return the argument to differentiate with respect to; raise TypeError if it is a nesting.

    caller : the name of the public function, for the message.  inputs : the arguments of the call.
    """
    if not isinstance(inputs.chosen, Array):
        raise TypeError(
            f"{caller}: pass one array: arraytape.functional.ravel makes one of the nesting that was "
            f"passed [at {user_line()}]"
        )
    return inputs.chosen


__all__ = ["sparse_hessian", "sparse_jacobian"]
