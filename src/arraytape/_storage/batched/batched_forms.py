"""The forms in which functions are computed for many arrays at once, and which function has which.

An elementwise op needs no entry: it says so itself (``Op.per_element``).  Functions with a method of
their own in ``BatchedNamespace`` need none either.  The others are listed here by form.  A test goes
through the registry: an op without a form fails it, so none falls back to a loop unseen.
"""

from __future__ import annotations

OWN = "own"  # a method of BatchedNamespace
ELEMENTS = "elements"  # each element by itself: hidden axes line up
AXES = "axes"  # along axes, counted from the first visible one; axis=None: all visible axes
ONE_AXIS = "one axis"  # along one axis; axis=None: of all elements in one dimension
STACKS = "stacks"  # of matrices (or of the last axes): stacks are taken as they are
NEW = "new"  # makes data: of a batched shape, batched data
REFUSED = "refused"  # the shape of the result depends on values
ONE_BY_ONE = "one by one"  # no batched form: called for one array after the other

BY_FORM: dict[str, tuple[str, ...]] = {
    ELEMENTS: ("imag", "real"),
    AXES: (
        "all", "any", "argsort", "count_nonzero", "expand_dims", "fft.fft", "fft.ifft", "fft.irfft",
        "fft.rfft", "flip", "linalg.vector_norm", "max", "mean", "min", "prod", "sort", "squeeze",
        "std", "sum", "take_along_axis", "var",
    ),
    ONE_AXIS: ("argmax", "argmin", "cumulative_prod", "cumulative_sum"),
    STACKS: (
        "cofactors", "linalg.cholesky", "linalg.det", "linalg.eig", "linalg.eigh",
        "linalg.eigvals", "linalg.eigvalsh", "linalg.inv", "linalg.matrix_rank", "linalg.pinv",
        "linalg.qr", "linalg.slogdet", "linalg.svd", "linalg.svdvals", "reinterpreted", "tril",
        "triu",
    ),
    NEW: ("arange", "empty", "eye", "full", "linspace", "ones", "zeros"),
    REFUSED: (
        "from_dlpack", "moved", "nonzero", "unique_all", "unique_counts", "unique_inverse",
        "unique_values",
    ),
}  # fmt: skip
# What is computed one by one all the same, of functions that have a batched form.
IN_PART = {
    "getitem": "with a batched index beside None",
    "isin": "with a batched x2",
    "linalg.matrix_rank": "with a batched rtol",
    "linalg.pinv": "with a batched rtol",
    "scatter_add": "with a batched key",
    "scattered": "with a batched key",
    "searchsorted": "with a batched x1",
}
# Functions along axes that with axis=None are of all elements, in any number of dimensions.
OF_ALL = frozenset((
    "all", "any", "argmax", "argmin", "count_nonzero", "flip", "max", "mean", "min", "prod", "std",
    "sum", "var",
))  # fmt: skip
LISTED = {name: form for form, names in BY_FORM.items() for name in names}
