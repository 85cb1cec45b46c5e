"""Checks of programs with writes and views: NumPy's values bit for bit, and gradients.

``check`` runs a program with NumPy and with arraytape.  It compares the gradient of a weighted sum of
all results with the complex-step derivative, so programs must also work for complex inputs.
"""

import array_api_compat.numpy as numpy
import numpy as np
import pytest

import arraytape as xp

# Numbers of rows of 4 elements, below and above the size up to which records copy parts.
SIZES = (3, 40)
sizes = pytest.mark.parametrize("n", SIZES)


def sample(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).uniform(0.3, 1.5, shape)


def weights(shape, turn):
    count = int(np.prod(shape))
    return (np.cos(1.0 + turn + 0.7 * np.arange(count)) + 0.3).reshape(shape)


def total(space, outputs):
    answer = 0.0
    for turn, y in enumerate(outputs):
        answer = answer + space.sum(y * space.asarray(weights(y.shape, turn)))
    return answer


def listed(outputs):
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def complex_step(program, inputs, i):
    """Return the gradient of the weighted total with respect to input i, by NumPy alone."""
    slope = np.empty(inputs[i].shape)
    for at in np.ndindex(slope.shape):
        # astype keeps the memory layout, on which values and aliasing depend.
        arrays = [x.astype(complex) for x in inputs]
        arrays[i][at] += 1e-30j
        slope[at] = total(numpy, listed(program(numpy, *arrays))).imag / 1e-30
    return slope


def assert_same_bits(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        if ours.tobytes() != theirs.tobytes():
            np.testing.assert_array_equal(ours, theirs)  # its error shows the elements
            raise AssertionError("signs of zeros differ")


def recorded(program, inputs, watched):
    """Return the program's results and the gradients of its total with respect to watched inputs."""
    arrays = [xp.asarray(x) for x in inputs]
    sources = [arrays[i] for i in watched]
    with xp.GradientTape() as tape:
        tape.watch(sources)
        outputs = listed(program(xp, *arrays))
        y = total(xp, outputs)
    return outputs, tape.gradient(y, sources, unconnected_gradients="zero")


def curvature(program, inputs, along):
    arrays = [xp.asarray(x) for x in inputs]
    with xp.GradientTape() as outer:
        outer.watch(arrays)
        with xp.GradientTape() as inner:
            inner.watch(arrays)
            y = total(xp, listed(program(xp, *arrays)))
        first = inner.gradient(y, arrays, unconnected_gradients="zero")
        slope = total_along(first, along)
    return outer.gradient(slope, arrays, unconnected_gradients="zero")


def total_along(gradients, along):
    slope = xp.asarray(0.0)
    for g, v in zip(gradients, along, strict=True):
        slope = slope + xp.sum(g * v)
    return slope


def check(program, *inputs, second=True):
    """Check values and gradients of a program while no input, each input alone, or all are
    followed.

    second : also check second derivatives.
    """
    expected = listed(program(numpy, *[x.copy(order="K") for x in inputs]))
    assert_same_bits(listed(program(xp, *[xp.asarray(x) for x in inputs])), expected)
    everyone = tuple(range(len(inputs)))
    slopes = [complex_step(program, inputs, i) for i in everyone]
    for watched in {everyone, *((i,) for i in everyone)}:
        outputs, gradients = recorded(program, inputs, watched)
        assert_same_bits(outputs, expected)
        for i, g in zip(watched, gradients, strict=True):
            np.testing.assert_allclose(np.asarray(g), slopes[i], rtol=1e-11, atol=1e-12)
    if second:
        check_second_order(program, inputs)


def check_second_order(program, inputs, h=1e-5):
    along = [weights(x.shape, 5 + i) for i, x in enumerate(inputs)]
    ahead, behind = ([x + s * v for x, v in zip(inputs, along, strict=True)] for s in (h, -h))
    ahead = [like_layout(x, old) for x, old in zip(ahead, inputs, strict=True)]
    behind = [like_layout(x, old) for x, old in zip(behind, inputs, strict=True)]
    if sum(x.size for x in inputs) > 100:  # the small sizes suffice here
        return
    for i, g in enumerate(curvature(program, inputs, along)):
        slope = complex_step(program, ahead, i) - complex_step(program, behind, i)
        np.testing.assert_allclose(np.asarray(g), slope / (2 * h), rtol=1e-6, atol=1e-7)


def like_layout(x, old):
    same = np.empty_like(old)
    same[...] = x
    return same
