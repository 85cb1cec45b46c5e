"""Checks of a library's function on Arrays inside ``interop.sklearn()``."""

import numpy as np

import arraytape as xp
from arraytape import interop, testing
from arraytape.testing.derivatives import directions, inner, input_cotangents, slopes


def check(f, *inputs, order=2, rtol=1e-7, h=1e-3, vmap=True, exact=True):
    """Check that ``f(*inputs)`` returns the library's values bit for bit, and its derivatives in
    both modes.

    f : a function of NumPy data or Arrays with one or several results.
    inputs : the arguments with respect to which f is differentiated.
    order, rtol, h : passed on to ``check_gradients``.  vmap : also check f under vmap.
    exact : False if the library computes in another order, so that values may differ by rounding.
    """
    inputs = [np.asarray(x) for x in inputs]
    plain = parts_of(f(*[x.copy() for x in inputs]))
    with interop.sklearn():
        for before, after in zip(plain, parts_of(f(*[x.copy() for x in inputs])), strict=True):
            assert type(before) is type(after)
            np.testing.assert_array_equal(before, after)
        arrays = [xp.asarray(x) for x in inputs]
        same_values(f(*arrays), plain, exact)
        for array, x in zip(arrays, inputs, strict=True):
            np.testing.assert_array_equal(np.asarray(array), x)
        if all(x.dtype in (np.float64, np.complex128) for x in inputs):
            adjoint(f, inputs)
            testing.check_gradients(
                lambda *xs: testing.total(parts_of(f(*xs))), inputs,
                order=order, rtol=rtol, seeds=1, h=h,
            )  # fmt: skip
        if vmap:
            mapped(f, inputs)


def same_values(found, expected, exact):
    """Assert that results are Arrays with the expected shapes, dtypes and values.

    exact : True to compare bit for bit, False to allow rounding.
    """
    found = parts_of(found)
    assert len(found) == len(expected)
    for y, reference in zip(found, expected, strict=True):
        reference = np.asarray(reference)
        if reference.dtype.kind in "fc":
            assert type(y) is xp.Array
        assert (y.shape, y.dtype) == (reference.shape, reference.dtype)
        tolerance = 0 if exact else 64 * np.finfo(reference.dtype).eps
        scale = np.max(np.abs(reference), initial=0.0) if not exact else 1.0
        np.testing.assert_allclose(np.asarray(y), reference, rtol=tolerance, atol=tolerance * scale)


def adjoint(f, inputs, rtol=1e-12):
    """Check that forward and reverse mode are adjoint: <g, J t> = <J^T g, t>."""
    along = directions(inputs)
    pushed = slopes(f_of(f), inputs, along)
    weights = directions(pushed, seed=1)
    found = input_cotangents(f_of(f), inputs, weights)
    one, other = inner(weights, pushed), inner(found, along)
    size = sum(float(np.sum(np.abs(g) * np.abs(v))) for g, v in zip(found, along, strict=True))
    assert abs(one - other) <= rtol * max(1.0, size), (one, other)


def mapped(f, inputs):
    """Check that vmap returns the results of one call after the other, up to rounding."""
    rng = np.random.default_rng(5)
    many = [np.stack([x, x + 0.1 * rng.random(x.shape).astype(x.dtype)]) for x in inputs]
    each = [parts_of(f(*[x[i] for x in many])) for i in range(2)]
    found = parts_of(xp.vmap(f_of(f))(*[xp.asarray(x) for x in many]))
    for y, *references in zip(found, *each, strict=True):
        expected = np.stack(references)
        tolerance = 64 * np.finfo(y.dtype).eps if y.dtype.kind in "fc" else 0
        size = np.max(np.abs(expected), initial=1.0)
        np.testing.assert_allclose(np.asarray(y), expected, rtol=tolerance, atol=tolerance * size)


def f_of(f):
    return lambda *xs: tuple(y for y in parts_of(f(*xs)))


def parts_of(results):
    """Return the leaves of nested lists and tuples, in order."""
    if isinstance(results, list | tuple):
        return [y for part in results for y in parts_of(part)]
    return [results]
