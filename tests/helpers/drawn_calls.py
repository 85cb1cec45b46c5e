"""Hypothesis strategies for the arguments of calls, by the kind of function."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from helpers.drawn_arrays import (
    ALL,
    BOOL,
    INTEGER,
    MODERATE,
    NUMERIC,
    REAL,
    anything,
    array,
    arrays,
    promotable,
    scalar_for,
    shapes,
)


class Call(NamedTuple):
    arguments: tuple
    keywords: dict


def call(*arguments, **keywords):
    """Draw a call with these arguments and any subset of these keyword arguments."""
    return st.builds(
        Call, st.tuples(*arguments), st.fixed_dictionaries({}, optional=keywords).map(dict)
    )


def on(x, further):
    """Draw x from a strategy, and then a call from the strategy ``further(x)``."""
    return x.flatmap(further)


def only(value):
    return st.just(value)


def unary(dtypes, elements=anything):
    return call(array(dtypes, elements=elements))


@st.composite
def binary(draw, dtypes, first=anything, second=anything, scalars=True):
    """Draw two arrays that broadcast and promote, or an array and a Python scalar in either order."""
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
    """Draw an ``axis`` argument: None, one axis, or a tuple of axes."""
    several = npst.valid_tuple_axes(x.ndim, min_size=min_size)
    return st.none() | (several | axis_of(x) if x.ndim else several)


def reduction(dtypes, min_side=0, **keywords):
    return on(
        array(dtypes, shapes(min_side=min_side)),
        lambda x: call(only(x), axis=axes_of(x), keepdims=st.booleans(), **keywords),
    )


def wider(dtypes):
    """Draw a reduction with a ``dtype``: None, or a dtype to which the array can be cast safely."""
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
    """Draw a Call with an array and one of its axes as ``axis``; keywords : further options."""
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
        # The standard does not specify bounds that are NaN.
        elements = lambda d: anything(d).filter(lambda v: v == v)  # noqa: E731
        part = draw(st.sampled_from(["none", "scalar", "array"]))
        if part == "none":
            return None
        if part == "scalar":
            return draw(scalar_for(dtype, elements))
        # The bound may have fewer axes than x, or axes of length 1, and broadcasts to x.
        kept = shape[draw(st.integers(0, len(shape))) :]
        return draw(arrays(dtype, tuple(draw(st.sampled_from([n, 1])) for n in kept), elements))

    return Call((x, bound(), bound()), {})


@st.composite
def choices(draw):
    """Draw the arguments of ``where``."""
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
    """Draw the arguments of ``concat``, or of ``stack`` if ``same_shape`` is set."""
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
    """Draw one to three arrays that broadcast, as positional arguments."""
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
        # With n = 0 NumPy ignores the ends; by the standard the result has the joined length minus n.
        if keywords["n"] and draw(st.booleans()):
            shape = list(x.shape)
            shape[axis] = draw(st.integers(0, 2))
            keywords[name] = draw(arrays(dtype, tuple(shape)))
    return Call((x,), keywords)
