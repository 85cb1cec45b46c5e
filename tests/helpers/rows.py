"""The table of calls for ``tests/ops/test_properties.py``.

Each row of ``ROWS`` has a function, a strategy for its arguments, and a reference implementation.  The
default reference is the function of the same name in array-api-compat's NumPy namespace.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from arraytape._record.op_facts import FACTS
from helpers.drawn_arrays import (
    ALL,
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    MODERATE,
    NATURAL,
    NUMERIC,
    REAL,
    REAL_FLOAT,
    array,
    arrays,
    bounded,
    finite,
    promotable,
    shapes,
)
from helpers.drawn_calls import (
    Call,
    along,
    axes_of,
    axis_of,
    binary,
    call,
    choices,
    clips,
    cumulative,
    differences,
    expansions,
    memberships,
    moves,
    on,
    only,
    reduction,
    repeats,
    reshapes,
    rolls,
    searches,
    several,
    squeezes,
    takes,
    takes_along,
    together,
    unary,
    wider,
)
from helpers.drawn_creation import (
    CPU,
    DTYPE,
    NO_DTYPE,
    SHAPE,
    casts,
    fills,
    ranges,
    scalar,
    sequences,
    spaces,
)
from helpers.drawn_matrices import (
    ORDERS,
    RTOL,
    VECTOR_ORDERS,
    contractions,
    crosses,
    full_rank,
    hermitian,
    matrices,
    products,
    several_signals,
    signals,
    squares,
    systems,
    vector_products,
)
from helpers.namespace_ops import namespace_ops
from helpers.references import (
    argsort,
    complex_sign,
    floor_divide,
    layout,
    limits,
    linspace,
    meshgrid,
    scatter_add,
    sort,
)


class Row(NamedTuple):
    name: str
    calls: object
    reference: object = None  # default: compat's function of the same name
    close: float = 0.0  # allowed error in multiples of eps, relative to the largest value
    show: object = None  # a function of the result, whose value is compared


# LAPACK and BLAS round differently for other layouts and numbers of threads, and followed calls may run
# other functions (matmul for tensordot, svdvals for norms).  Therefore last bits may differ.
ROUNDING = 200.0
COPY = st.sampled_from([None, True])
ROWS = [
    # creation functions
    Row("arange", ranges()),
    Row("asarray", call(array(), dtype=st.none(), copy=COPY, device=CPU)),
    Row("asarray", call(sequences(), copy=COPY, device=CPU)),
    Row("asarray", call(array(BOOL + INTEGER, elements=NATURAL), dtype=DTYPE, copy=COPY)),
    Row("empty", call(SHAPE, dtype=NO_DTYPE, device=CPU), show=layout),
    Row("empty_like", call(array(), dtype=NO_DTYPE, device=CPU), show=layout),
    Row("eye", call(*[st.integers(0, 4)] * 2, k=st.integers(-5, 5), dtype=NO_DTYPE, device=CPU)),
    Row("eye", call(st.integers(0, 4), k=st.integers(-5, 5), dtype=NO_DTYPE)),
    Row("from_dlpack", call(array(), copy=COPY)),
    Row("full", fills()),
    Row("full_like", call(array(), st.integers(0, 1), dtype=NO_DTYPE, device=CPU)),
    Row("linspace", spaces(scalar((int, float)), FLOAT)),
    Row("linspace", spaces(scalar((complex,)), COMPLEX)),
    # Ends that are Arrays go beyond the standard; another formula returns the values up to rounding.
    Row("linspace", spaces(array(REAL_FLOAT, (), MODERATE), FLOAT), linspace, close=8.0),
    Row("meshgrid", st.builds(
        Call,
        st.lists(array(shape=shapes(1, 1)), min_size=1, max_size=3).map(tuple),
        st.fixed_dictionaries({}, optional={"indexing": st.sampled_from(["xy", "ij"])}),
    ), meshgrid),
    Row("ones", call(SHAPE, dtype=NO_DTYPE, device=CPU)),
    Row("ones_like", call(array(), dtype=NO_DTYPE, device=CPU)),
    Row("tril", call(array(shape=shapes(min_dims=2)), k=st.integers(-4, 4))),
    Row("triu", call(array(shape=shapes(min_dims=2)), k=st.integers(-4, 4))),
    Row("zeros", call(SHAPE, dtype=NO_DTYPE, device=CPU)),
    Row("zeros_like", call(array(), dtype=NO_DTYPE, device=CPU)),
    # data type functions
    Row("astype", on(array(elements=NATURAL), casts)),
    Row("can_cast", call(DTYPE | array(), DTYPE), lambda a, b: np.can_cast(getattr(a, "dtype", a), b)),
    Row("finfo", call(st.sampled_from(FLOAT).map(np.dtype) | array(FLOAT)), show=limits),
    Row("iinfo", call(st.sampled_from(INTEGER).map(np.dtype) | array(INTEGER)), show=limits),
    Row("isdtype", call(DTYPE, st.sampled_from([
        "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating", "numeric", ("bool", "real floating"), np.dtype("int8")]))),
    Row("result_type", promotable(ALL, 2).flatmap(
        lambda names: call(array((names[0],)), only(np.dtype(names[1]))))),
    # elementwise functions
    Row("abs", unary(NUMERIC)),
    Row("acos", unary(FLOAT)),
    Row("acosh", unary(FLOAT)),
    Row("add", binary(NUMERIC)),
    Row("asin", unary(FLOAT)),
    Row("asinh", unary(FLOAT)),
    Row("atan", unary(FLOAT)),
    Row("atan2", binary(REAL_FLOAT)),
    Row("atanh", unary(FLOAT)),
    Row("bitwise_and", binary(BOOL + INTEGER)),
    Row("bitwise_invert", unary(BOOL + INTEGER)),
    Row("bitwise_left_shift", binary(INTEGER, second=bounded(0, 7))),
    Row("bitwise_or", binary(BOOL + INTEGER)),
    Row("bitwise_right_shift", binary(INTEGER, second=bounded(0, 7))),
    Row("bitwise_xor", binary(BOOL + INTEGER)),
    Row("ceil", unary(REAL)),
    Row("clip", clips()),
    Row("conj", unary(NUMERIC)),
    Row("copysign", binary(REAL_FLOAT)),
    Row("cos", unary(FLOAT)),
    Row("cosh", unary(FLOAT)),
    Row("divide", binary(FLOAT)),
    Row("equal", binary(ALL)),
    Row("exp", unary(FLOAT)),
    Row("expm1", unary(REAL_FLOAT)),
    # At 0 and at non-finite values NumPy deviates from the standard; other tests have these cases.
    Row("expm1", unary(COMPLEX, lambda dtype: finite(dtype).filter(bool))),
    Row("floor", unary(REAL)),
    Row("floor_divide", binary(REAL), floor_divide),
    Row("greater", binary(REAL)),
    Row("greater_equal", binary(REAL)),
    Row("hypot", binary(REAL_FLOAT)),
    Row("imag", unary(COMPLEX)),
    Row("isfinite", unary(NUMERIC)),
    Row("isinf", unary(NUMERIC)),
    Row("isnan", unary(NUMERIC)),
    Row("less", binary(REAL)),
    Row("less_equal", binary(REAL)),
    Row("log", unary(FLOAT)),
    Row("log1p", unary(FLOAT)),
    Row("log2", unary(FLOAT)),
    Row("log10", unary(FLOAT)),
    Row("logaddexp", binary(REAL_FLOAT)),
    Row("logical_and", binary(BOOL)),
    Row("logical_not", unary(BOOL)),
    Row("logical_or", binary(BOOL)),
    Row("logical_xor", binary(BOOL)),
    Row("maximum", binary(REAL)),
    Row("minimum", binary(REAL)),
    Row("multiply", binary(NUMERIC)),
    Row("negative", unary(NUMERIC)),
    Row("nextafter", binary(REAL_FLOAT)),
    Row("not_equal", binary(ALL)),
    Row("positive", unary(NUMERIC)),
    Row("pow", binary(FLOAT)),
    Row("pow", binary(INTEGER, second=NATURAL)),
    Row("real", unary(NUMERIC)),
    Row("reciprocal", unary(FLOAT)),
    Row("remainder", binary(REAL)),
    Row("round", unary(NUMERIC)),
    Row("sign", unary(REAL)),
    # At complex infinities np.sign returns the direction, while the standard's x / abs(x) is NaN.
    Row("sign", unary(COMPLEX, finite), complex_sign, close=4.0),
    Row("signbit", unary(REAL_FLOAT)),
    Row("sin", unary(FLOAT)),
    Row("sinh", unary(FLOAT)),
    Row("sqrt", unary(FLOAT)),
    Row("square", unary(NUMERIC)),
    Row("subtract", binary(NUMERIC)),
    Row("tan", unary(FLOAT)),
    Row("tanh", unary(REAL_FLOAT)),
    Row("tanh", unary(COMPLEX, finite)),  # finite, as for sign
    Row("trunc", unary(REAL)),
    # indexing functions
    Row("scatter_add", call(array(NUMERIC, only((4,))), only((3,)), only((np.asarray([0, 2, 0, -1]),))),
        scatter_add),
    Row("take", takes()),
    Row("take_along_axis", takes_along()),
    # linear algebra of the main namespace
    Row("matmul", products(), close=ROUNDING),
    Row("matrix_transpose", call(array(shape=shapes(min_dims=2)))),
    Row("tensordot", contractions(), close=ROUNDING),
    Row("vecdot", vector_products(), close=ROUNDING),
    # manipulation functions
    Row("broadcast_arrays", together()),
    Row("broadcast_shapes", npst.mutually_broadcastable_shapes(num_shapes=3).map(
        lambda fitting: Call(fitting.input_shapes, {})), np.broadcast_shapes),
    Row("broadcast_to", on(array(shape=st.sampled_from([(), (1,), (3,), (2, 1)])), lambda x: call(
        only(x), npst.broadcastable_shapes(x.shape).map(lambda s: np.broadcast_shapes(s, x.shape))))),
    Row("concat", several()),
    Row("expand_dims", on(array(shape=shapes(max_dims=2)), expansions)),
    Row("flip", on(array(), lambda x: call(only(x), axis=axes_of(x)))),
    Row("moveaxis", on(array(), moves)),
    Row("permute_dims", on(array(), lambda x: call(
        only(x), st.permutations(range(x.ndim)).map(tuple)))),
    Row("repeat", repeats()),
    Row("reshape", reshapes()),
    Row("roll", rolls()),
    Row("squeeze", on(array(shape=shapes(max_side=2)), squeezes)),
    Row("stack", several(same_shape=True)),
    Row("tile", call(
        array(shape=shapes(max_dims=2)), st.lists(st.integers(0, 2), max_size=3).map(tuple))),
    Row("unstack", along(ALL)),
    # searching functions
    Row("argmax", on(array(REAL, shapes(min_side=1)), lambda x: call(
        only(x), axis=st.none() | axis_of(x) if x.ndim else st.none(), keepdims=st.booleans()))),
    Row("argmin", on(array(REAL, shapes(min_side=1)), lambda x: call(
        only(x), axis=st.none() | axis_of(x) if x.ndim else st.none(), keepdims=st.booleans()))),
    Row("count_nonzero", reduction(ALL)),
    Row("nonzero", call(array(shape=shapes(min_dims=1)))),
    Row("searchsorted", searches()),
    Row("where", choices()),
    # sets: without -0.0, because the result may have 0.0 or -0.0 for both
    Row("isin", memberships()),
    Row("unique_all", unary(ALL, MODERATE)),
    Row("unique_counts", unary(ALL, MODERATE)),
    Row("unique_inverse", unary(ALL, MODERATE)),
    Row("unique_values", unary(ALL, MODERATE)),
    # sorting functions
    Row("argsort", along(REAL, descending=st.booleans(), stable=st.booleans()), argsort),
    Row("sort", along(REAL, descending=st.booleans(), stable=st.booleans()), sort),
    # statistical functions
    Row("cumulative_prod", cumulative(NUMERIC)),
    Row("cumulative_sum", cumulative(NUMERIC)),
    Row("max", reduction(REAL, min_side=1)),
    Row("mean", reduction(FLOAT)),
    Row("min", reduction(REAL, min_side=1)),
    Row("prod", wider(NUMERIC)),
    Row("std", reduction(REAL_FLOAT, correction=st.sampled_from([0.0, 1.0, 0.5, 1]))),
    Row("sum", wider(NUMERIC)),
    Row("var", reduction(REAL_FLOAT, correction=st.sampled_from([0.0, 1.0, 0.5, 1]))),
    # utility functions
    Row("all", reduction(ALL)),
    Row("any", reduction(ALL)),
    Row("diff", differences()),
    # the linalg extension
    Row("linalg.cholesky", call(squares(prepare=hermitian), upper=st.booleans()), close=ROUNDING),
    Row("linalg.cross", crosses()),
    Row("linalg.det", call(squares()), close=ROUNDING),
    Row("linalg.diagonal", call(array(shape=shapes(min_dims=2)), offset=st.integers(-4, 4))),
    Row("linalg.eig", call(squares()), close=ROUNDING),
    Row("linalg.eigh", call(squares(prepare=hermitian)), close=ROUNDING),
    Row("linalg.eigvals", call(squares()), close=ROUNDING),
    Row("linalg.eigvalsh", call(squares(prepare=hermitian)), close=ROUNDING),
    Row("linalg.inv", call(squares()), close=ROUNDING),
    Row("linalg.matmul", products(), close=ROUNDING),
    Row("linalg.matrix_norm", call(matrices(min_side=1), ord=ORDERS, keepdims=st.booleans()),
        close=ROUNDING),
    Row("linalg.matrix_power", call(squares(), st.integers(-3, 5)), close=ROUNDING),
    Row("linalg.matrix_rank", call(full_rank(), rtol=RTOL)),
    Row("linalg.matrix_transpose", call(array(shape=shapes(min_dims=2)))),
    Row("linalg.outer", call(*[array(("float32",), shapes(1, 1))] * 2)),
    Row("linalg.outer", call(*[array(("complex128",), shapes(1, 1))] * 2)),
    Row("linalg.outer", call(*[array(("int16", "int64"), shapes(1, 1))] * 2)),
    Row("linalg.pinv", call(full_rank(), rtol=RTOL), close=ROUNDING),
    Row("linalg.qr", call(full_rank(), mode=st.sampled_from(["reduced", "complete"])), close=ROUNDING),
    Row("linalg.slogdet", call(squares()), close=ROUNDING),
    Row("linalg.solve", systems(), close=ROUNDING),
    Row("linalg.svd", call(full_rank(), full_matrices=st.booleans()), close=ROUNDING),
    Row("linalg.svdvals", call(full_rank()), close=ROUNDING),
    Row("linalg.tensordot", contractions(), close=ROUNDING),
    Row("linalg.trace", call(array(NUMERIC, shapes(min_dims=2), MODERATE), offset=st.integers(-3, 3))),
    Row("linalg.vecdot", vector_products(), close=ROUNDING),
    Row("linalg.vector_norm", on(array(FLOAT, shapes(1, min_side=1), MODERATE), lambda x: call(
        only(x), axis=axes_of(x, min_size=1), keepdims=st.booleans(), ord=VECTOR_ORDERS)),
        close=ROUNDING),
    # functions beyond the standard
    Row("bincount", on(array(INTEGER, shapes(1, 1, min_side=1), NATURAL), lambda x: call(
        only(x), minlength=st.integers(0, 9),
        weights=st.none() | arrays("float64", x.shape, MODERATE))), np.bincount),
    Row("diag", call(array(shape=shapes(1, 2)), k=st.integers(-3, 3)), np.diag),
    Row("logspace", spaces(MODERATE("float64"), REAL_FLOAT)),
    Row("median", along(INTEGER + REAL_FLOAT, 1, MODERATE, keepdims=st.booleans()), np.median),
    # the fft extension
    Row("fft.fft", signals(COMPLEX)),
    Row("fft.ifft", signals(COMPLEX)),
    Row("fft.fftn", several_signals(COMPLEX)),
    Row("fft.ifftn", several_signals(COMPLEX)),
    Row("fft.rfft", signals(REAL_FLOAT)),
    Row("fft.irfft", signals(COMPLEX, least=2)),
    Row("fft.rfftn", several_signals(REAL_FLOAT)),
    Row("fft.irfftn", several_signals(COMPLEX, least=2)),
    Row("fft.hfft", signals(COMPLEX, least=2)),
    Row("fft.ihfft", signals(REAL_FLOAT)),
    Row("fft.fftfreq", call(st.integers(1, 9), d=st.sampled_from([1.0, 0.1, 3.0]),
                            dtype=st.sampled_from([None, np.dtype("float32")]), device=CPU)),
    Row("fft.rfftfreq", call(st.integers(1, 9), d=st.sampled_from([1.0, 0.1, 3.0]),
                             dtype=st.sampled_from([None, np.dtype("float32")]), device=CPU)),
    Row("fft.fftshift", on(array(FLOAT, shapes(min_dims=1)), lambda x: call(
        only(x), axes=axes_of(x, min_size=1)))),
    Row("fft.ifftshift", on(array(FLOAT, shapes(min_dims=1)), lambda x: call(
        only(x), axes=axes_of(x, min_size=1)))),
]  # fmt: skip
# Dtypes for elementwise ops without a row of their own, by the kind that the op's statement names.
KINDS = {
    "any": ALL, "boolean": BOOL, "floating": FLOAT, "integer": INTEGER, "integral": BOOL + INTEGER,
    "number": NUMERIC, "numeric": NUMERIC, "ordered": REAL, "real": REAL, "real floating": REAL_FLOAT,
}  # fmt: skip
NAMED = {row.name for row in ROWS}
ROWS += [
    Row(op.name, (unary, binary)[len(op.inputs) - 1](KINDS[op.takes]))
    for op in namespace_ops()
    if FACTS.get(op.name) is op and op.origin != "inner" and op.name not in NAMED
    and op.kind in ("elementwise", "nondifferentiable") and op.takes and not op.parameters
]  # fmt: skip
