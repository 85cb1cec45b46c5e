"""Hypothesis strategies for the arguments of casts and creation functions."""

import numpy as np
from hypothesis import strategies as st

from helpers.drawn_arrays import ALL, COMPLEX, MODERATE, arrays, scalar_for, shapes
from helpers.drawn_calls import Call, call, only


# Casts of complex arrays to real dtypes are not drawn; the row draws floats that fit integers.
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
    """Draw Python scalars, or lists of scalars or of pairs."""
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
