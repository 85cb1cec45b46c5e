"""Hypothesis strategies for the arguments of linear algebra and fft."""

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from helpers.drawn_arrays import (
    FLOAT,
    MODERATE,
    NUMERIC,
    array,
    arrays,
    bounded,
    promotable,
    shapes,
)
from helpers.drawn_calls import Call, axis_of, call, on, only

PRODUCT = bounded(-3, 3)  # small, so that a tolerance relative to the largest value suffices


@st.composite
def products(draw):
    """Draw the operands of matmul: stacks of matrices that broadcast, or vectors."""
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
    """Draw square matrices far from singular, with well separated eigen- and singular values."""
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
    """Draw tall or wide matrices with well separated singular values that are far from 0."""
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
    """Draw the arguments of a transform along one axis.

    least : the least length of an axis; ``irfft`` and ``hfft`` need 2, because 1 means an empty result.
    """
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
