"""Every function of the namespace against NumPy, bit for bit, on inputs that hypothesis draws.

One row of ``ROWS`` per function: its arguments, and the reference where that is not the function of
the same name in array-api-compat's NumPy namespace.  A row's arguments hold NumPy arrays; our side
gets Arrays of the same values.  Values must agree in every bit (any NaN equals any other), and so
must dtype and shape.
"""

import contextlib
import math
import warnings
from typing import NamedTuple

import array_api_compat.numpy as compat
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from hypothesis.extra.array_api import make_strategies_namespace

import arraytape as xp

FEW = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=list(HealthCheck),
)
FEWER = settings(FEW, max_examples=10)

# --- dtypes and elements ------------------------------------------------------------------------
BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
REAL_FLOAT = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOAT = REAL_FLOAT + COMPLEX
REAL = INTEGER + REAL_FLOAT
NUMERIC = INTEGER + FLOAT
ALL = BOOL + NUMERIC


def specials(dtype):
    """The values of a dtype at which functions go wrong."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [0, 1, 2, 3, 5, info.max, info.min, info.max - 1]
    if dtype.kind == "b":
        return [False, True]
    info = np.finfo(dtype)
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, math.inf, -math.inf, math.nan]
    parts += [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    if dtype.kind == "f":
        return parts
    return [complex(a, b) for a in parts[:9] for b in parts[:9]]


def anything(dtype):
    """All values of a dtype, the special ones often."""
    return st.sampled_from(specials(dtype)) | npst.from_dtype(np.dtype(dtype))


def bounded(low, high):
    """Moderate finite values, without the negative zero: the range is cut to what the dtype has."""

    def elements(dtype):
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return st.booleans()
        least = 0 if dtype.kind == "u" else low
        if dtype.kind in "iu":
            return st.integers(math.ceil(max(least, low)), math.floor(high))
        part = st.integers(math.ceil(low * 16), math.floor(high * 16)).map(lambda n: n / 16)
        return part if dtype.kind == "f" else st.builds(complex, part, part)

    return elements


MODERATE = bounded(-4, 4)
NATURAL = bounded(0, 5)


def finite(dtype):
    """Finite values of all sizes; the square of the largest is finite too."""
    root = math.sqrt(float(np.finfo(dtype).max)) if np.dtype(dtype).kind in "fc" else 0.0
    return anything(dtype).filter(
        lambda v: np.dtype(dtype).kind not in "fc" or (np.isfinite(v) and abs(v) < root)
    )


def shapes(min_dims=0, max_dims=3, min_side=0, max_side=3):
    return npst.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )


def arrays(dtype, shape, elements=anything):
    return npst.arrays(np.dtype(dtype), shape, elements=elements(dtype))


def array(dtypes=ALL, shape=None, elements=anything):
    """An array of one of some dtypes."""
    shape = shapes() if shape is None else shape
    return st.sampled_from(dtypes).flatmap(lambda dtype: arrays(dtype, shape, elements))


def promotable(dtypes, count):
    """Dtypes that the standard promotes together: of one kind, or real and complex."""
    pairs = st.tuples(*[st.sampled_from(dtypes)] * count)

    def fit(names):
        kinds = {"i" if np.dtype(n).kind == "u" else np.dtype(n).kind for n in names}
        mixed = "uint64" in names and not set(names).isdisjoint(SIGNED)
        return not mixed and (len(kinds) == 1 or kinds == {"f", "c"})

    return st.sampled_from(dtypes).map(lambda name: (name,) * count) | pairs.filter(fit)


def scalar_for(dtype, elements=anything):
    """A Python scalar that an array of this dtype takes as an operand."""
    return elements(dtype).map(lambda v: np.dtype(dtype).type(v).item())


# --- calls --------------------------------------------------------------------------------------
class Call(NamedTuple):
    arguments: tuple
    keywords: dict


def call(*arguments, **keywords):
    """A call with these arguments, and any choice of these keyword arguments."""
    return st.builds(
        Call, st.tuples(*arguments), st.fixed_dictionaries({}, optional=keywords).map(dict)
    )


def on(x, further):
    """A call whose further arguments depend on its first, which ``x`` draws."""
    return x.flatmap(further)


def only(value):
    return st.just(value)


def unary(dtypes, elements=anything):
    return call(array(dtypes, elements=elements))


@st.composite
def binary(draw, dtypes, first=anything, second=anything, scalars=True):
    """Two arrays that broadcast and promote, or an array and a Python scalar, in either place."""
    names = draw(promotable(dtypes, 2))
    if scalars and draw(st.integers(0, 4)) == 0:
        x = draw(arrays(names[0], shapes(), first))
        scalar = draw(scalar_for(names[0], second))
        if second is first and draw(st.booleans()):
            return Call((scalar, x), {})
        return Call((x, scalar), {})
    fitting = draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    pair = zip(names, fitting.input_shapes, (first, second), strict=True)
    return Call(tuple(draw(arrays(*one)) for one in pair), {})


def axis_of(x):
    return st.integers(-x.ndim, x.ndim - 1)


def axes_of(x, min_size=0):
    """None, one axis, or several."""
    several = npst.valid_tuple_axes(x.ndim, min_size=min_size)
    return st.none() | (several | axis_of(x) if x.ndim else several)


def reduction(dtypes, min_side=0, **keywords):
    return on(
        array(dtypes, shapes(min_side=min_side)),
        lambda x: call(only(x), axis=axes_of(x), keepdims=st.booleans(), **keywords),
    )


def wider(dtypes):
    """A row's ``dtype`` keyword: None, or one that holds the array's."""
    return on(
        array(dtypes),
        lambda x: call(
            only(x),
            axis=axes_of(x),
            keepdims=st.booleans(),
            dtype=st.none() | st.sampled_from([d for d in dtypes if np.can_cast(x.dtype, d)]),
        ),
    )


def along(dtypes, min_side=0, elements=anything, **keywords):
    """An array with at least one axis, and one of its axes."""
    return on(
        array(dtypes, shapes(min_dims=1, min_side=min_side), elements),
        lambda x: call(only(x), axis=axis_of(x), **keywords),
    )


def cumulative(dtypes):
    def further(x):
        names = [d for d in dtypes if np.can_cast(x.dtype, d)]
        options = {"include_initial": st.booleans(), "dtype": st.none() | st.sampled_from(names)}
        axis = axis_of(x)
        return call(only(x), axis=axis, **options).filter(
            lambda c: x.ndim < 2 or "axis" in c.keywords
        )

    return on(array(dtypes, shapes(min_dims=1)), further)


@st.composite
def clips(draw):
    dtype = draw(st.sampled_from(REAL))
    shape = draw(shapes())
    x = draw(arrays(dtype, shape))

    def bound():
        # No NaN: what it does is unspecified.
        elements = lambda d: anything(d).filter(lambda v: v == v)  # noqa: E731
        part = draw(st.sampled_from(["none", "scalar", "array"]))
        if part == "none":
            return None
        if part == "scalar":
            return draw(scalar_for(dtype, elements))
        # Axes of length 1, or fewer of them, spread over those of x.
        kept = shape[draw(st.integers(0, len(shape))) :]
        return draw(arrays(dtype, tuple(draw(st.sampled_from([n, 1])) for n in kept), elements))

    return Call((x, bound(), bound()), {})


@st.composite
def choices(draw):
    """Arguments of where."""
    names = draw(promotable(ALL, 2))
    fitting = draw(npst.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3))
    drawn = zip(("bool", *names), fitting.input_shapes, strict=True)
    condition, x1, x2 = (draw(arrays(*one)) for one in drawn)
    place = draw(st.integers(0, 5))
    if place == 0:
        x1 = draw(scalar_for(names[1]))
    elif place == 1:
        x2 = draw(scalar_for(names[0]))
    return Call((condition, x1, x2), {})


@st.composite
def repeats(draw):
    x = draw(array())
    axis = draw(st.none() if not x.ndim else st.none() | axis_of(x))
    length = x.size if axis is None else x.shape[axis]
    times = st.integers(0, 3)
    counts = st.sampled_from([length, 1]).flatmap(
        lambda n: npst.arrays(np.int64, n, elements=times)
    )
    return Call((x, draw(times | counts)), {} if axis is None else {"axis": axis})


@st.composite
def rolls(draw):
    x = draw(array())
    shift = st.integers(-5, 5)
    axes = draw(
        st.none()
        if not x.ndim
        else st.none() | axis_of(x) | npst.valid_tuple_axes(x.ndim, min_size=1)
    )
    if isinstance(axes, tuple):
        shift = shift | st.tuples(*[shift] * len(axes))
    return Call((x, draw(shift)), {} if axes is None else {"axis": axes})


@st.composite
def reshapes(draw):
    x = draw(array())
    shape = draw(st.permutations(x.shape))
    if draw(st.booleans()):
        shape = [x.size]
    if x.size and shape and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return Call((x, tuple(shape)), draw(st.fixed_dictionaries({}, optional={"copy": st.none()})))


def moves(x):
    axes = npst.valid_tuple_axes(x.ndim)
    pairs = axes.flatmap(
        lambda source: st.tuples(
            only(source), axes.filter(lambda target: len(target) == len(source))
        )
    )
    if x.ndim:
        pairs = pairs | st.tuples(axis_of(x), axis_of(x))
    return pairs.map(lambda pair: Call((x, *pair), {}))


def squeezes(x):
    long = [i for i, n in enumerate(x.shape) if n == 1]
    if not long:
        return call(only(x), only(()))
    one = st.sampled_from(long)
    return call(only(x), one | one.map(lambda i: i - x.ndim) | only(tuple(long)) | only((long[0],)))


def expansions(x):
    one = st.integers(-x.ndim - 1, x.ndim)
    return call(only(x), one | npst.valid_tuple_axes(x.ndim + 2, min_size=2, max_size=2))


@st.composite
def several(draw, same_shape=False):
    """Lists of arrays to join, with the axis."""
    count = draw(st.integers(1, 3))
    names = draw(promotable(ALL, count))
    shape = draw(shapes(min_dims=0 if same_shape else 1))
    axis = draw(st.integers(-len(shape) - same_shape, len(shape) - 1 + same_shape))
    flat = not same_shape and draw(st.integers(0, 3)) == 0
    parts = []
    for name in names:
        own = list(shape)
        if not same_shape:
            own[axis] = draw(st.integers(0, 3))
        parts.append(draw(arrays(name, draw(shapes()) if flat else tuple(own))))
    sequence = draw(st.sampled_from([list, tuple]))
    return Call((sequence(parts),), {"axis": None if flat else axis})


@st.composite
def together(draw):
    """Arrays that broadcast, each an argument."""
    count = draw(st.integers(1, 3))
    fitting = draw(npst.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=3))
    return Call(tuple(draw(array(shape=shape)) for shape in fitting.input_shapes), {})


def indices(length, shape):
    elements = st.integers(-length, length - 1) if length else st.nothing()
    return st.sampled_from([np.int32, np.int64]).flatmap(
        lambda dtype: npst.arrays(dtype, shape if length else 0, elements=elements)
    )


@st.composite
def takes(draw):
    x = draw(array(shape=shapes(min_dims=1)))
    axis = draw(axis_of(x))
    keywords = {"axis": axis} if x.ndim > 1 or draw(st.booleans()) else {}
    return Call((x, draw(indices(x.shape[axis], shapes(1, 1)))), keywords)


@st.composite
def takes_along(draw):
    x = draw(array(shape=shapes(min_dims=1, min_side=1)))
    axis = draw(axis_of(x))
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 4))
    return Call((x, draw(indices(x.shape[axis], tuple(shape)))), {"axis": axis})


@st.composite
def searches(draw):
    names = draw(promotable(REAL, 2))
    elements = lambda d: anything(d).filter(lambda v: v == v)  # no NaN in a sorted array  # noqa: E731
    x1 = draw(arrays(names[0], shapes(1, 1, max_side=6), elements))
    x2 = draw(arrays(names[1], shapes(), elements) | scalar_for(names[0], elements))
    keywords = draw(
        st.fixed_dictionaries({}, optional={"side": st.sampled_from(["left", "right"])})
    )
    if draw(st.booleans()):
        return Call((x1, x2), {**keywords, "sorter": np.argsort(x1)})
    return Call((np.sort(x1), x2), keywords)


@st.composite
def memberships(draw):
    names = draw(promotable(BOOL + INTEGER, 2))
    x1, x2 = (draw(arrays(name, shapes(), MODERATE)) for name in names)
    if draw(st.booleans()):
        x2 = draw(scalar_for(names[0], MODERATE))
    return Call((x1, x2), draw(st.fixed_dictionaries({}, optional={"invert": st.booleans()})))


@st.composite
def differences(draw):
    dtype = draw(st.sampled_from(NUMERIC))
    x = draw(arrays(dtype, shapes(min_dims=1)))
    axis = draw(axis_of(x))
    keywords = {"axis": axis, "n": draw(st.integers(0, 3))}
    for name in ("prepend", "append"):
        # With n = 0 NumPy joins nothing; by the standard the result has the joined length less n.
        if keywords["n"] and draw(st.booleans()):
            shape = list(x.shape)
            shape[axis] = draw(st.integers(0, 2))
            keywords[name] = draw(arrays(dtype, tuple(shape)))
    return Call((x,), keywords)


# Casts: real to complex but not back; floats to integers only where the value fits.
def casts(x):
    names = ALL if x.dtype.kind != "c" else COMPLEX
    return call(only(x), st.sampled_from(names).map(np.dtype), copy=st.booleans())


DTYPE = st.sampled_from(ALL).map(np.dtype)
NO_DTYPE = st.none() | DTYPE
SHAPE = shapes() | st.integers(0, 4)
CPU = st.sampled_from([None, "cpu"])


def scalar(kinds=(int, float, complex, bool)):
    options = {
        int: st.integers(-9, 9),
        float: st.floats(allow_nan=False, width=32),
        complex: MODERATE("complex128"),
        bool: st.booleans(),
    }
    return st.one_of([options[kind] for kind in kinds])


@st.composite
def ranges(draw):
    number = st.integers(-5, 5) | st.integers(-20, 20).map(lambda n: n / 4)
    step = draw(number.filter(bool))
    arguments = draw(st.sampled_from([1, 2, 3]))
    values = (draw(number), draw(number), step)[:arguments]
    real = any(isinstance(v, float) for v in values)
    return Call(values, {"dtype": draw(st.sampled_from([None, np.dtype("float64")] + (
        [] if real else [np.dtype("int32")])))})  # fmt: skip


@st.composite
def fills(draw):
    dtype = draw(st.sampled_from(ALL))
    value = draw(scalar_for(dtype, MODERATE) | arrays(dtype, (), MODERATE))
    wide = [np.dtype(d) for d in ALL if np.can_cast(dtype, d)]
    return Call((draw(SHAPE), value), {"dtype": draw(st.sampled_from([None, *wide]))})


def sequences():
    """Python scalars and nested sequences of them."""
    one = st.sampled_from((bool, int, float, complex)).map(lambda kind: scalar((kind,)))
    return one.flatmap(
        lambda values: values | st.lists(values, max_size=4) | st.lists(
            st.tuples(values, values), min_size=1, max_size=3)
    )  # fmt: skip


def spaces(ends, dtypes):
    return st.builds(
        Call,
        st.tuples(ends, ends, st.integers(0, 6)),
        st.fixed_dictionaries(
            {},
            optional={
                "endpoint": st.booleans(),
                "dtype": st.none() | st.sampled_from(dtypes).map(np.dtype),
            },
        ),
    )


# --- linear algebra -----------------------------------------------------------------------------
PRODUCT = bounded(-3, 3)  # products of these stay small, so that a relative tolerance says enough


@st.composite
def products(draw):
    """Operands of matmul: stacks that broadcast, or vectors."""
    names = draw(promotable(NUMERIC, 2))
    m, n, k = (draw(st.integers(0, 3)) for _ in range(3))
    batch = draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=1, max_side=2))
    first, second = (
        (*b, *core) for b, core in zip(batch.input_shapes, ((m, n), (n, k)), strict=True)
    )
    vector = draw(st.integers(0, 3))
    first, second = (n,) if vector & 1 else first, (n,) if vector & 2 else second
    return Call(
        (draw(arrays(names[0], first, PRODUCT)), draw(arrays(names[1], second, PRODUCT))), {}
    )


@st.composite
def vector_products(draw):
    names = draw(promotable(NUMERIC, 2))
    fitting = draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    n, axis = draw(st.integers(0, 3)), -1
    drawn = zip(names, fitting.input_shapes, strict=True)
    operands = tuple(draw(arrays(name, (*shape, n), PRODUCT)) for name, shape in drawn)
    if operands[0].ndim > 1 and operands[1].ndim > 1 and draw(st.booleans()):
        operands, axis = tuple(np.swapaxes(x, -1, -2) for x in operands), -2
    return Call(operands, {"axis": axis})


@st.composite
def contractions(draw):
    names = draw(promotable(NUMERIC, 2))
    shared = draw(shapes(0, 2))
    left, right = draw(shapes(0, 1)), draw(shapes(0, 1))
    x1, x2 = ((*left, *shared), (*shared, *right))
    axes = len(shared)
    if draw(st.booleans()):
        axes = (tuple(range(-len(shared), 0)), tuple(range(len(shared))))
    operands = (draw(arrays(names[0], x1, PRODUCT)), draw(arrays(names[1], x2, PRODUCT)))
    return Call(operands, {"axes": axes})


@st.composite
def crosses(draw):
    names = draw(promotable(NUMERIC, 2))
    fitting = draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=2))
    drawn = zip(names, fitting.input_shapes, strict=True)
    return Call(
        tuple(draw(arrays(name, (*shape, 3), PRODUCT)) for name, shape in drawn), {"axis": -1}
    )


def matrices(dtypes=FLOAT, min_side=0, elements=MODERATE):
    return array(dtypes, shapes(min_dims=2, min_side=min_side), elements)


@st.composite
def squares(draw, dtypes=FLOAT, prepare=lambda x: x):
    """Square matrices that are far from singular, with separate eigenvalues and singular values."""
    n = draw(st.integers(0, 3))
    batch = draw(shapes(0, 1, 0, 2))
    x = draw(array(dtypes, (*batch, n, n), bounded(-1, 1)))
    return prepare(x + np.diag(8 * np.arange(1, n + 1)).astype(x.dtype))


def hermitian(x):
    return x + np.conj(x.mT)


@st.composite
def systems(draw):
    x1 = draw(squares())
    n = x1.shape[-1]
    real = [d for d in FLOAT if np.dtype(d).kind == x1.dtype.kind]
    shape = (n,) if draw(st.booleans()) else (*x1.shape[:-2], n, draw(st.integers(0, 2)))
    return Call((x1, draw(array(real, shape, MODERATE))), {})


@st.composite
def full_rank(draw, dtypes=FLOAT):
    """Matrices, high or wide, with separate singular values that are far from zero."""
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    batch = draw(shapes(0, 1, 1, 2))
    x = draw(array(dtypes, (*batch, m, n), bounded(-1, 1)))
    return x + (np.eye(m, n) * 8 * np.arange(1, n + 1)).astype(x.dtype)


RTOL = st.none() | st.sampled_from([1e-3, 0.5])
ORDERS = st.sampled_from(["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
VECTOR_ORDERS = st.sampled_from([0, 1, 2, 3, 0.5, -1, -2, math.inf, -math.inf])


# --- fft ------------------------------------------------------------------------------------------
NORM = st.sampled_from(["backward", "ortho", "forward"])
SIGNAL = bounded(-4, 4)


def signals(dtypes, least=1):
    """``least``: a Hermitian half needs 2 elements, or n; else the whole has none."""
    return on(
        array(dtypes, shapes(min_dims=1, min_side=least), SIGNAL),
        lambda x: call(only(x), axis=axis_of(x), n=st.none() | st.integers(1, 5), norm=NORM),
    )


def several_signals(dtypes, least=1):
    def further(x):
        axes = npst.valid_tuple_axes(x.ndim, min_size=1)
        plain = call(only(x), axes=st.none() | axes, norm=NORM)
        sized = axes.flatmap(
            lambda a: st.builds(
                lambda s, norm: Call((x,), {"axes": a, "s": s, "norm": norm}),
                st.tuples(*[st.integers(1, 4)] * len(a)),
                NORM,
            )
        )
        return plain | sized

    return on(array(dtypes, shapes(min_dims=1, min_side=least), SIGNAL), further)


# --- references -----------------------------------------------------------------------------------
def floor_divide(x1, x2):
    """With exactly one infinity NumPy has NaN or -1; the standard has the plain quotient."""
    y = np.floor_divide(x1, x2)
    if y.dtype.kind != "f":
        return y
    quotient = np.divide(x1, x2, dtype=y.dtype)
    to_infinity = np.isinf(x1) & np.isfinite(x2) & np.not_equal(x2, 0)
    to_zero = np.isfinite(x1) & np.isinf(x2)
    return np.where(to_infinity | to_zero, quotient, y)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """compat flips the ascending order, which reverses equal elements (0.0 and -0.0)."""
    order = compat.argsort(x, axis=axis, descending=descending, stable=True)
    return np.take_along_axis(x, order, axis=axis)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Ours is stable always; NumPy's other order of equal elements is its own affair."""
    return compat.argsort(x, axis=axis, descending=descending, stable=True)


def complex_sign(x):
    """x / abs(x), part by part; NumPy's own rounds in another order."""
    size, y = np.abs(x), np.zeros_like(x)
    y.real = np.where(size == 0, 0.0, x.real / size)
    y.imag = np.where(size == 0, 0.0, x.imag / size)
    return y


def scatter_add(x, /, shape, key):
    full = np.zeros(shape, dtype=x.dtype)
    np.add.at(full, key, x)
    return full


def meshgrid(*x, indexing="xy"):
    return tuple(np.meshgrid(*x, indexing=indexing))


def linspace(start, stop, /, num, **keywords):
    return compat.linspace(start.item(), stop.item(), num, **keywords)


def layout(x):
    """What is defined of an array that nobody has written to."""
    return x.shape, x.dtype


def limits(info):
    fields = ("bits", "eps", "max", "min", "smallest_normal", "dtype")
    return [getattr(info, field) for field in fields if hasattr(info, field)]


# --- the table ------------------------------------------------------------------------------------
class Row(NamedTuple):
    name: str
    calls: object
    reference: object = None  # default: compat's function of the same name
    close: float = 0.0  # how many rounding errors (eps) a value may be off, relative to the largest
    show: object = None  # what of the result is compared


# LAPACK and BLAS round differently for other layouts and thread counts, and a followed call may take
# another path (tensordot by matmul, norms by svdvals): a few last bits are nobody's business.
ROUNDING = 200.0
COPY = st.sampled_from([None, True])

ROWS = [
    # creation
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
    # The ends as Arrays, beyond the standard: another formula, the same values but for rounding.
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
    # data types
    Row("astype", on(array(elements=NATURAL), casts)),
    Row("can_cast", call(DTYPE | array(), DTYPE), lambda a, b: np.can_cast(getattr(a, "dtype", a), b)),
    Row("finfo", call(st.sampled_from(FLOAT).map(np.dtype) | array(FLOAT)), show=limits),
    Row("iinfo", call(st.sampled_from(INTEGER).map(np.dtype) | array(INTEGER)), show=limits),
    Row("isdtype", call(DTYPE, st.sampled_from([
        "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating", "numeric", ("bool", "real floating"), np.dtype("int8")]))),
    Row("result_type", promotable(ALL, 2).flatmap(
        lambda names: call(array((names[0],)), only(np.dtype(names[1]))))),
    # elementwise
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
    # At 0 and where it is not finite, NumPy is not the standard: see the special cases below.
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
    # Of a complex infinity NumPy has the direction, where x / abs(x) is NaN.
    Row("sign", unary(COMPLEX, finite), complex_sign, close=4.0),
    Row("signbit", unary(REAL_FLOAT)),
    Row("sin", unary(FLOAT)),
    Row("sinh", unary(FLOAT)),
    Row("sqrt", unary(FLOAT)),
    Row("square", unary(NUMERIC)),
    Row("subtract", binary(NUMERIC)),
    Row("tan", unary(FLOAT)),
    Row("tanh", unary(REAL_FLOAT)),
    Row("tanh", unary(COMPLEX, finite)),  # likewise
    Row("trunc", unary(REAL)),
    # indexing
    Row("scatter_add", call(array(NUMERIC, only((4,))), only((3,)), only((np.asarray([0, 2, 0, -1]),))),
        scatter_add),
    Row("take", takes()),
    Row("take_along_axis", takes_along()),
    # linear algebra of the main namespace
    Row("matmul", products(), close=ROUNDING),
    Row("matrix_transpose", call(array(shape=shapes(min_dims=2)))),
    Row("tensordot", contractions(), close=ROUNDING),
    Row("vecdot", vector_products(), close=ROUNDING),
    # manipulation
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
    # searching
    Row("argmax", on(array(REAL, shapes(min_side=1)), lambda x: call(
        only(x), axis=st.none() | axis_of(x) if x.ndim else st.none(), keepdims=st.booleans()))),
    Row("argmin", on(array(REAL, shapes(min_side=1)), lambda x: call(
        only(x), axis=st.none() | axis_of(x) if x.ndim else st.none(), keepdims=st.booleans()))),
    Row("count_nonzero", reduction(ALL)),
    Row("nonzero", call(array(shape=shapes(min_dims=1)))),
    Row("searchsorted", searches()),
    Row("where", choices()),
    # sets: which of 0.0 and -0.0 stands for both is left open, so there is no -0.0
    Row("isin", memberships()),
    Row("unique_all", unary(ALL, MODERATE)),
    Row("unique_counts", unary(ALL, MODERATE)),
    Row("unique_inverse", unary(ALL, MODERATE)),
    Row("unique_values", unary(ALL, MODERATE)),
    # sorting
    Row("argsort", along(REAL, descending=st.booleans(), stable=st.booleans()), argsort),
    Row("sort", along(REAL, descending=st.booleans(), stable=st.booleans()), sort),
    # statistics
    Row("cumulative_prod", cumulative(NUMERIC)),
    Row("cumulative_sum", cumulative(NUMERIC)),
    Row("max", reduction(REAL, min_side=1)),
    Row("mean", reduction(FLOAT)),
    Row("min", reduction(REAL, min_side=1)),
    Row("prod", wider(NUMERIC)),
    Row("std", reduction(REAL_FLOAT, correction=st.sampled_from([0.0, 1.0, 0.5, 1]))),
    Row("sum", wider(NUMERIC)),
    Row("var", reduction(REAL_FLOAT, correction=st.sampled_from([0.0, 1.0, 0.5, 1]))),
    # utilities
    Row("all", reduction(ALL)),
    Row("any", reduction(ALL)),
    Row("diff", differences()),
    # linalg
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
    # beyond the standard
    Row("bincount", on(array(INTEGER, shapes(1, 1, min_side=1), NATURAL), lambda x: call(
        only(x), minlength=st.integers(0, 9),
        weights=st.none() | arrays("float64", x.shape, MODERATE))), np.bincount),
    Row("diag", call(array(shape=shapes(1, 2)), k=st.integers(-3, 3)), np.diag),
    Row("logspace", spaces(MODERATE("float64"), REAL_FLOAT)),
    Row("median", along(INTEGER + REAL_FLOAT, 1, MODERATE, keepdims=st.booleans()), np.median),
    # fft
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
# Public functions without a row, with the reason.
EXEMPT = {
    "cofactors": "NumPy has no such function: test_linalg, as the gradient of det",
    **dict.fromkeys(
        ("grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"),
        "takes a function: test_jacobian, test_vmap",
    ),
    "custom_gradient": "a decorator: test_custom_gradient",
    "define_op": "declares an op: test_define_op",
    "einsum": "its subscripts decide what fits: test_numpy_products, all small products",
    "grad_pass_through": "a decorator: test_pass_through",
    "host_function": "makes a function: test_host_functions",
    "no_gradient": "declares that an op has no gradient",
    "numpy_function": "calls any function of NumPy arrays: test_host_functions",
    "pad": "its widths decide what fits: test_numpy_pieces",
    "recompute_grad": "a decorator: test_recompute",
    "register_gradient": "declares a gradient",
    "reinterpreted": "NumPy has no such function: test_array_methods, as the method view",
    "set_default_device": "NumPy has no such function: test_storages",
    "stop_gradient": "NumPy has no such function: test_tape_values",
}


def public_functions():
    """Every public function: of the package, and of its two extensions."""
    main = {
        name
        for name, value in vars(xp).items()
        if callable(value) and not isinstance(value, type) and not name.startswith("_")
    }
    linalg = {f"linalg.{name}" for name in xp.linalg.__all__}
    return main | linalg | {f"fft.{name}" for name in xp.fft.__all__}


def test_every_public_function_has_a_row():
    named = {row.name for row in ROWS}
    public = public_functions() - set(EXEMPT)
    assert public - named == set()
    assert named - public == set()
    assert set(EXEMPT) <= public_functions()


@contextlib.contextmanager
def quiet():
    """Without NumPy's warnings, which are not compared: 0 / 0, the mean of nothing..."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# --- comparison -----------------------------------------------------------------------------------
def function_of(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def ours(value):
    """A row's argument for our side: every NumPy array becomes an Array of its own."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value, copy=True)
    if isinstance(value, list | tuple):
        return type(value)(ours(part) for part in value)
    return value


def bits(x):
    """The real parts as unsigned integers, every NaN the same."""
    parts = x if x.dtype.kind != "c" else np.stack([x.real, x.imag])
    if parts.dtype.kind != "f":
        return parts
    one_nan = np.where(np.isnan(parts), np.asarray(np.nan, parts.dtype), parts)
    return np.ascontiguousarray(one_nan).view(f"u{parts.dtype.itemsize}")


def near(x, y, close):
    """Whether x and y agree to ``close`` rounding errors of the largest value."""
    if x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    scale = np.max(np.abs(y), initial=1.0)
    return np.allclose(x, y, rtol=0.0, atol=close * np.finfo(y.dtype).eps * scale, equal_nan=True)


def assert_same(mine, reference, close=0.0):
    """Equal structure, dtype, shape and values."""
    if isinstance(mine, list | tuple):
        assert len(mine) == len(reference)
        for one, other in zip(mine, reference, strict=True):
            assert_same(one, other, close)
    elif isinstance(mine, xp.Array):
        x, y = np.asarray(mine), np.asarray(reference)
        assert mine.dtype == y.dtype
        assert mine.shape == y.shape
        assert x.shape == mine.shape
        if close:
            assert near(x, y, close), f"{x!r} is not {y!r}"
        else:
            assert np.array_equal(bits(x), bits(y)), f"{x!r} is not {y!r}"
    else:
        assert type(mine) is not np.ndarray
        assert mine == reference or (mine != mine and reference != reference)


def arrays_in(value):
    """The Arrays in a nesting of lists, tuples and dicts."""
    if isinstance(value, xp.Array):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [x for v in value for x in arrays_in(v)] if isinstance(value, list | tuple) else []


def numbered(rows):
    seen = {}
    for row in rows:
        seen[row.name] = seen.get(row.name, 0) + 1
        yield row.name if seen[row.name] == 1 else f"{row.name}-{seen[row.name]}"


every_row = pytest.mark.parametrize("row", ROWS, ids=numbered(ROWS))


@every_row
def test_the_value_is_numpys(row):
    function, show = function_of(xp, row.name), row.show or (lambda result: result)
    reference = row.reference or function_of(compat, row.name)

    @FEW
    @given(row.calls)
    def check(drawn):
        arguments, keywords = ours(drawn.arguments), {k: ours(v) for k, v in drawn.keywords.items()}
        with quiet():
            expected = reference(*drawn.arguments, **drawn.keywords)
            result = function(*arguments, **keywords)
        assert_same(show(result), show(expected), row.close)
        if row.show is None:
            assert_same(arguments, drawn.arguments)  # nothing was written to

    check()


@every_row
def test_the_value_is_the_same_while_a_persistent_tape_watches_the_inputs(row):
    function, show = function_of(xp, row.name), row.show or (lambda result: result)

    @FEWER
    @given(row.calls)
    def check(drawn):
        plain, watched = (
            (ours(drawn.arguments), {k: ours(v) for k, v in drawn.keywords.items()})
            for _ in range(2)
        )
        with quiet():
            expected = show(function(*plain[0], **plain[1]))
            with xp.GradientTape(persistent=True) as tape:
                tape.watch([x for x in arrays_in(watched) if xp.isdtype(
                    x.dtype, ("real floating", "complex floating"))])  # fmt: skip
                result = function(*watched[0], **watched[1])
        assert_same(show(result), as_numpy(expected))

    check()


def as_numpy(value):
    """Arrays as NumPy arrays, in a nesting of tuples."""
    if isinstance(value, xp.Array):
        return np.asarray(value)
    return tuple(as_numpy(v) for v in value) if isinstance(value, list | tuple) else value


# --- special cases of the standard that NumPy misses ----------------------------------------------
INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (complex(0, 0), complex(0, 0)),
        (complex(-0.0, 0), complex(0, 0)),
        (complex(INF, 0), complex(INF, 0)),
        (complex(-INF, 1), complex(-1, 0)),
        (complex(-INF, 4), complex(-1, -0.0)),
        (complex(INF, 1), complex(INF, INF)),
        (complex(INF, 2), complex(-INF, INF)),
        (complex(1, INF), complex(NAN, NAN)),
        (complex(1, NAN), complex(NAN, NAN)),
        (complex(NAN, 0), complex(NAN, 0)),
        (complex(NAN, 1), complex(NAN, NAN)),
        (complex(NAN, NAN), complex(NAN, NAN)),
    ],
)
def test_complex_expm1_of_special_values(value, expected, dtype):
    with quiet():
        result = complex(xp.expm1(xp.asarray(value, dtype=getattr(xp, dtype))))
    for part, wanted in ((result.real, expected.real), (result.imag, expected.imag)):
        assert part == wanted or (math.isnan(part) and math.isnan(wanted))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("imaginary", [0.0, -0.0, 1.0, -1.0, 2.0, -2.0])
@pytest.mark.parametrize("real", [INF, -INF])
def test_complex_tanh_at_infinity(real, imaginary, dtype):
    with quiet():
        value = xp.asarray(complex(real, imaginary), dtype=getattr(xp, dtype))
        result = complex(xp.tanh(value))
    assert result.real == math.copysign(1.0, real)
    assert result.imag == 0.0


@pytest.mark.parametrize("dtype", REAL_FLOAT)
@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [
        (INF, 2.0, INF),
        (INF, -2.0, -INF),
        (-INF, 2.0, -INF),
        (-INF, -2.0, INF),
        (3.0, INF, 0.0),
        (3.0, -INF, -0.0),
        (-3.0, INF, -0.0),
        (-3.0, -INF, 0.0),
        (INF, INF, NAN),
        (INF, -INF, NAN),
        (0.0, 0.0, NAN),
    ],
)
def test_floor_division_with_infinities(x1, x2, expected, dtype):
    first, second = (xp.asarray(x, dtype=getattr(xp, dtype)) for x in (x1, x2))
    with quiet():
        in_place = xp.asarray(first, copy=True)
        in_place //= second
        results = [xp.floor_divide(first, second), first // second, first // x2, x1 // second]
    for result in (*results, in_place):
        assert_same(result, np.asarray(expected, dtype))


# --- operators and indexing -----------------------------------------------------------------------
OPERATORS = {
    "+": ("add", lambda a, b: a + b),
    "-": ("subtract", lambda a, b: a - b),
    "*": ("multiply", lambda a, b: a * b),
    "/": ("divide", lambda a, b: a / b),
    "//": ("floor_divide", lambda a, b: a // b),
    "%": ("remainder", lambda a, b: a % b),
    "&": ("bitwise_and", lambda a, b: a & b),
    "|": ("bitwise_or", lambda a, b: a | b),
    "^": ("bitwise_xor", lambda a, b: a ^ b),
    "<<": ("bitwise_left_shift", lambda a, b: a << b),
    ">>": ("bitwise_right_shift", lambda a, b: a >> b),
    "==": ("equal", lambda a, b: a == b),
    "!=": ("not_equal", lambda a, b: a != b),
    "<": ("less", lambda a, b: a < b),
    "<=": ("less_equal", lambda a, b: a <= b),
    ">": ("greater", lambda a, b: a > b),
    ">=": ("greater_equal", lambda a, b: a >= b),
    "@": ("matmul", lambda a, b: a @ b),
    "abs": ("abs", abs),
    "~": ("bitwise_invert", lambda a: ~a),
    "neg": ("negative", lambda a: -a),
    "pos": ("positive", lambda a: +a),
}


@pytest.mark.parametrize(("name", "operate"), OPERATORS.values(), ids=OPERATORS)
def test_an_operator_is_the_function_of_the_same_meaning(name, operate):
    row = next(row for row in ROWS if row.name == name)

    @FEW
    @given(row.calls)
    def check(drawn):
        arguments = ours(drawn.arguments)
        with quiet():
            expected = function_of(xp, name)(*arguments)
            result = operate(*arguments)
        assert_same(result, np.asarray(expected), row.close)

    check()


@FEW
@given(binary(FLOAT) | binary(INTEGER, second=NATURAL))
def test_the_power_operator_is_numpys(drawn):
    # NumPy's operator has its own spelling of some exponents: x ** 2 is x * x.
    with quiet():
        expected = drawn.arguments[0] ** drawn.arguments[1]
        a, b = ours(drawn.arguments)
        assert_same(a**b, expected)


xps = make_strategies_namespace(xp, api_version="2024.12")


@FEW
@given(st.data())
def test_indexing_is_numpys(data):
    x = data.draw(xps.arrays(xps.scalar_dtypes(), xps.array_shapes(min_dims=1, max_side=4)))
    key = data.draw(xps.indices(x.shape, allow_newaxis=True))
    assert isinstance(x, xp.Array)
    assert_same(x[key], np.asarray(x)[key])


@FEW
@given(st.data())
def test_writing_at_an_index_is_numpys(data):
    x = data.draw(xps.arrays(xps.scalar_dtypes(), xps.array_shapes(min_dims=1, max_side=4)))
    key = data.draw(xps.indices(x.shape))
    y = np.array(x)
    value = data.draw(xps.from_dtype(x.dtype))
    x[key] = value
    y[key] = value
    assert_same(x, y)


@FEW
@given(st.data())
def test_a_boolean_mask_selects_as_in_numpy(data):
    x = data.draw(array(shape=shapes(min_dims=1)))
    mask = data.draw(arrays("bool", x.shape[: data.draw(st.integers(1, x.ndim))]))
    assume(x.ndim)
    assert_same(ours(x)[ours(mask)], x[mask])
