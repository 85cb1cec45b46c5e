"""What the tests of third-party code share: libraries exactly as installed, under tapes.

A function under test is written once, for any namespace.  Called with NumPy arrays it gives the
reference values and, by central differences, the reference gradients; called with Arrays under a
tape it must give the same values and gradients.
"""

import contextlib
import functools

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing.derivatives import curvature, differences, directions, inner, slopes, weights


@pytest.fixture
def dispatching():
    """Scikit-learn's array API support, switched on for one test."""
    import sklearn

    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture
def differentiates():
    """``differentiates(f, *inputs)``: NumPy's values, and the gradients of central differences."""
    return check_gradients


@pytest.fixture
def has_values():
    """``has_values(f, *inputs)``: NumPy's values, where there is nothing to differentiate."""
    return check_values


@pytest.fixture
def leaves():
    """``leaves(f, *inputs, at=..., how=...)``: gradients of what leaves the tape, and says where."""
    return check_exit


@pytest.fixture
def uneven_sum():
    """``uneven_sum(results)``: the one number of many results that is differentiated."""
    return total


@pytest.fixture
def offered():
    """``offered("scipy.stats")``: what SciPy itself says takes arrays of any namespace."""

    def names(module):
        from scipy._lib._array_api import xp_capabilities_table

        return {
            function.__name__
            for function, abilities in xp_capabilities_table.items()
            if (getattr(function, "__module__", None) or "").startswith(module)
            and not function.__name__.startswith("_")
            and not abilities["np_only"]
        }

    return names


def check_gradients(f, *inputs, constants=(), order=1, forward=True, rtol=1e-7, h=1e-4, warns=None):
    """Compare values with NumPy's, and the tape's gradients with central differences on NumPy.

    f : takes the inputs, then the constants, all as NumPy arrays or all as Arrays, and gives one
    result or a nesting of several; their uneven sum is what is differentiated.
    order : 2 compares Hessian-vector products with differences of the tape's gradients, too.
    warns : what the tape's warning says where a part that has no gradient leaves the tape.
    forward : compare ForwardAccumulator's derivative along one direction with the gradients'.
    """
    inputs = [np.asarray(x) for x in inputs]
    f = with_constants(f, constants)
    check_values(f, *inputs)
    with pytest.warns(xp.TapeWarning, match=warns) if warns else contextlib.nullcontext():
        found = tape_gradients(f, inputs)
    expected = numeric_gradients(f, inputs, h)
    for i, (g, reference) in enumerate(zip(found, expected, strict=True)):
        scale = max(1.0, float(np.max(np.abs(reference), initial=0.0)))
        np.testing.assert_allclose(g, reference, rtol=0, atol=rtol * scale, err_msg=f"input {i}")
    along = directions(inputs)
    if forward:
        with pytest.warns(xp.TapeWarning, match=warns) if warns else contextlib.nullcontext():
            (pushed,) = slopes(lambda *xs: total(f(*xs)), inputs, along)
        pulled = inner(found, along)
        np.testing.assert_allclose(float(pushed), pulled, rtol=1e-9, atol=1e-9 * size(found))
    if order > 1:
        other = directions(inputs, seed=1)
        with pytest.warns(xp.TapeWarning, match=warns) if warns else contextlib.nullcontext():
            second = inner(curvature(lambda *xs: total(f(*xs)), inputs, along), other)
            slope = differences(lambda *xs: inner(tape_gradients(f, xs), along), inputs, other, h)
        np.testing.assert_allclose(second, slope, rtol=1e-6, atol=1e-6 * size(found))


def check_values(f, *inputs, constants=(), rtol=1e-9):
    """Compare results, their shapes and dtypes with those on NumPy arrays; none touches its input."""
    f = with_constants(f, constants)
    arrays = [xp.asarray(x) for x in inputs]
    results, references = flat(f(*arrays)), flat(f(*[np.array(x) for x in inputs]))
    assert len(results) == len(references)
    for y, reference in zip(results, references, strict=True):
        y, reference = np.asarray(y), np.asarray(reference)
        assert (y.shape, y.dtype) == (reference.shape, reference.dtype)
        np.testing.assert_allclose(y, reference, rtol=rtol, atol=rtol)
    for x, before in zip(arrays, inputs, strict=True):
        np.testing.assert_array_equal(np.asarray(x), before)


def check_exit(f, *inputs, at, how, constants=(), rtol=1e-9):
    """The gradients of what leaves the tape at the library's file ``at`` by ``how``.

    A result that is a number is refused as a target by an error that names file and line, and the
    answer is None; otherwise every gradient comes with a warning that does.
    """
    f = with_constants(f, constants)
    check_values(f, *inputs, rtol=rtol)
    arrays = [xp.asarray(x) for x in inputs]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    said = rf"{at.replace('/', '.')}:\d+ \({how}"
    if not isinstance(y, xp.Array):
        with pytest.raises(TypeError, match=said):
            tape.gradient(y, arrays)
        return None
    with pytest.warns(xp.TapeWarning, match=said):
        return tape.gradient(y, arrays)


def with_constants(f, constants):
    """The function of the inputs alone: the constants follow in the inputs' own namespace.

    The libraries divide 0 by 0 before they overwrite it, and silence that in NumPy's namespace only:
    the standard has no errstate.
    """

    @functools.wraps(f)
    def of_inputs(*inputs):
        if isinstance(inputs[0], np.ndarray):
            return f(*inputs, *[np.asarray(c) for c in constants])
        with np.errstate(divide="ignore", invalid="ignore"):
            return f(*inputs, *[xp.asarray(c) for c in constants])

    return of_inputs


def flat(results):
    """The results of a nesting of lists and tuples, in order, without None."""
    if isinstance(results, list | tuple):
        return [y for part in results for y in flat(part)]
    return [] if results is None else [results]


def total(results):
    """An uneven, real sum over the floating-point results, in their own namespace."""
    answer = 0.0
    for i, y in enumerate(flat(results)):
        here = xp if isinstance(y, xp.Array) else np
        if y.dtype.kind == "c":
            answer = answer + total([here.real(y), here.imag(y)]) * (i + 1.0)
        elif y.dtype.kind == "f":
            answer = answer + here.sum(y * here.asarray(weights(y.shape))) * (i + 1.0)
    return answer


def tape_gradients(f, inputs):
    """The tape's gradients of ``total(f(*inputs))`` as NumPy arrays; None is an error."""
    arrays = [xp.asarray(x) for x in inputs]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        y = total(f(*arrays))
    found = tape.gradient(y, arrays)
    assert all(g is not None for g in found), (
        f"gradients {[i for i, g in enumerate(found) if g is None]}"
    )
    return [np.asarray(g) for g in found]


def numeric_gradients(f, inputs, h):
    """The gradients of ``total(f(*inputs))`` on NumPy arrays, by central differences per element.

    That of complex data is dL/dRe + i dL/dIm.
    """

    def value(*arrays):
        return float(total(f(*[np.array(x) for x in arrays])))

    found = []
    for i, x in enumerate(inputs):
        g = np.zeros_like(x)
        for index in np.ndindex(x.shape):
            for step in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                along = [np.zeros_like(other) for other in inputs]
                along[i][index] = step
                g[index] += step * differences(value, inputs, along, h)
        found.append(g)
    return found


def size(gradients):
    """The magnitude of gradients, at least 1: what rounding errors are relative to."""
    return max(1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in gradients))
