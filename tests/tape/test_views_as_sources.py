"""Gradients with respect to views: uses of the view, and of views made from it."""

import itertools
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning

pytestmark = pytest.mark.any_storage

X = np.asarray([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6], [-0.8, 0.9, 1.3], [0.2, -0.5, 1.7]])


def windows(h):
    return np.lib.stride_tricks.sliding_window_view(h, 2, axis=0)


REPEATING = {
    "broadcast": lambda h: xp.broadcast_to(h, (2, 4, 3)),
    "row, repeated": lambda h: xp.broadcast_to(h[1], (2, 3)),
    "stretched": lambda h: xp.broadcast_arrays(h[:, :1], xp.ones((4, 2)))[0],
    "turned": lambda h: xp.broadcast_to(h, (2, 4, 3)).T,
    "windows": windows,
}
MAKES = REPEATING | {
    "transpose": lambda h: h.T,
    "part": lambda h: h[1:],
    "row": lambda h: h[2],
    "reshape": lambda h: xp.reshape(h, (2, 6)),
    "flip": lambda h: xp.flip(h),
    "diagonal": lambda h: xp.linalg.diagonal(h),
    "read-only": lambda h: xp.broadcast_to(h, (4, 3)),
}
USES = {
    "itself": lambda v: xp.sum(v**3),
    "row": lambda v: 3.0 * xp.sum(v[0] ** 2),
    "view of a view": lambda v: xp.sum(xp.flip(v)[..., 1:] ** 3),
    "reshape": lambda v: xp.sum(xp.reshape(v, (-1,))[1:] ** 2),
    "transpose": lambda v: xp.sum(v.T[0] ** 2),
    "repeated": lambda v: xp.sum(xp.broadcast_to(v, (2, *v.shape))[1][..., :1] ** 2),
    "loop": lambda v: sum(xp.sum(row * row) * i for i, row in enumerate(v)),
    "op": lambda v: xp.sum(xp.cumulative_sum(xp.reshape(v[0], (-1,))) ** 2),
}
PAIRS = [*itertools.combinations(USES, 2), ("itself", "row", "reshape", "transpose")]


def use_all(uses, v):
    return sum(xp.sum(USES[name](v)) for name in uses)


def expected(uses, v):
    """The gradient for a source that is no view."""
    return np.asarray(xp.grad(lambda v: use_all(uses, v))(xp.asarray(v, copy=True)))


def is_near(found, wanted):
    assert found is not None
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("uses", [*((use,) for use in USES), *PAIRS], ids="+".join)
@pytest.mark.parametrize("make", MAKES)
def test_an_unwatched_view_has_the_gradient_of_its_uses_and_of_views_made_from_it(make, uses):
    x = xp.asarray(X)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * 1.0
        v = MAKES[make](h)
        y = use_all(uses, v)
        sibling = use_all(uses, MAKES[make](h)) + xp.sum(h)
    is_near(tape.gradient(y, v), expected(uses, v))
    found = tape.gradient(y, [x, v, x, v])
    is_near(found[1], expected(uses, v))
    is_near(found[3], expected(uses, v))
    is_near(found[0], np.asarray(xp.grad(lambda x: use_all(uses, MAKES[make](x)))(x)))
    is_near(tape.gradient([y, sibling], v), expected(uses, v))  # as in TensorFlow


def weighted(x):
    return xp.sum(1.5 * xp.real(x) - (0.5 * xp.imag(x) if x.dtype.kind == "c" else 0.0))


OTHER_MAKES = {
    "0-d": lambda h: h[0, 0],
    "0-d, repeated": lambda h: xp.broadcast_to(h[0, 0], (3, 2)),
    "empty": lambda h: h[:0],
    "strided": lambda h: h[::2, ::-1],
    "real part": xp.real,
    "imaginary part": lambda h: xp.imag(h) if h.dtype.kind == "c" else h[1:],
}
OTHER_USES = {
    "itself": lambda v: v * v,
    "new axis": lambda v: v[None] ** 2,
    "real part": lambda v: xp.real(v) ** 3,
    "imaginary part": lambda v: xp.imag(v) ** 2 if v.dtype.kind == "c" else v[...] ** 2,
    "conjugate": lambda v: xp.conj(v[...]) * v,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("make", MAKES | OTHER_MAKES)
def test_a_view_of_another_dtype_or_without_axes_has_the_gradient_of_a_copy(make, dtype):
    x = xp.asarray((X + (0.5j * X[::-1] if "complex" in dtype else 0.0)).astype(dtype))

    def total(uses, v):
        return sum(weighted(OTHER_USES[name](v)) for name in uses)

    for uses, watched in itertools.product(itertools.combinations(OTHER_USES, 2), (False, True)):
        with GradientTape() as tape:
            tape.watch(x)
            v = (MAKES | OTHER_MAKES)[make](x * x)
            if watched:
                tape.watch(v)
            y = total(uses, v)
        found, copy = tape.gradient(y, v), xp.asarray(v, copy=True)
        with GradientTape() as tape:
            tape.watch(copy)
            y = total(uses, copy)
        wanted = tape.gradient(y, copy)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        near = 1e-5 if dtype in ("float32", "complex64") else 1e-12
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), near, near)


@pytest.mark.parametrize("make", MAKES)
def test_the_jacobian_of_an_unwatched_view(make):
    def f(v):
        return xp.stack([use_all(("row",), v), use_all(("itself", "transpose"), v)])

    x = xp.asarray(X)
    with GradientTape() as tape:
        tape.watch(x)
        v = MAKES[make](x * 1.0)
        y = f(v)
    is_near(tape.jacobian(y, v), np.asarray(xp.jacobian(f)(xp.asarray(v, copy=True))))


@pytest.mark.parametrize("uses", [*((use,) for use in USES), *PAIRS], ids="+".join)
@pytest.mark.parametrize("followed", [False, True], ids=["alone", "root followed"])
@pytest.mark.parametrize("make", REPEATING)
def test_each_element_of_a_watched_view_that_repeats_elements_is_one_source(make, followed, uses):
    x = xp.asarray(X)
    with GradientTape() as outer:
        with GradientTape(persistent=True) as tape:
            if followed:
                tape.watch(x)
            h = x * 1.0 if followed else x
            v = MAKES[make](h)
            early = use_all(uses, v)  # before the watch: no part of the gradient
            tape.watch(v)
            outer.watch(v)
            y = use_all(uses, v)
            both = early + y + xp.sum(h * h)
        inner = tape.gradient(y, v)
        product = xp.sum(inner * inner)
    is_near(inner, expected(uses, v))
    is_near(tape.gradient(both, v), expected(uses, v))
    if followed:
        is_near(
            tape.gradient(y, x), np.asarray(xp.grad(lambda x: use_all(uses, MAKES[make](x)))(x))
        )
    gradient = xp.grad(lambda v: use_all(uses, v))
    second = xp.grad(lambda v: xp.sum(gradient(v) ** 2))(xp.asarray(v, copy=True))
    is_near(outer.gradient(product, v), np.asarray(second))


@pytest.mark.parametrize("make", REPEATING)
def test_data_that_repeats_elements_has_a_gradient_for_each(make):
    x = MAKES[make](xp.asarray(X))
    raw = xp.asarray(np.asarray(x), copy=False)
    for v in (x, raw):
        is_near(xp.grad(lambda v: use_all(USES, v))(v), expected(USES, v))
        t = xp.ones_like(v)
        slope = xp.jvp(lambda v: use_all(USES, v), (v,), (t,))[1]
        assert np.isclose(float(slope), expected(USES, v).sum())


@pytest.mark.parametrize("make", REPEATING)
def test_an_accumulator_refuses_a_view_that_repeats_elements_and_the_advice_works(make):
    x = MAKES[make](xp.asarray(X))
    with pytest.raises(ValueError, match=r"compute with a copy, x = xp\.asarray\(x, copy=True\)"):
        xp.ForwardAccumulator(x, xp.ones_like(x))
    x = xp.asarray(x, copy=True)
    with xp.ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        y = use_all(USES, x)
    assert np.isclose(float(accumulator.jvp(y)), expected(USES, x).sum())


@pytest.mark.parametrize("make", ["broadcast", "windows"])
def test_a_write_to_the_root_of_a_watched_view_that_repeats_elements_is_no_silent_loss(make):
    x = xp.asarray(X)
    v = MAKES[make](x)
    with GradientTape(persistent=True) as tape:
        tape.watch(v)
        y = xp.sum(v * v)
        x[0] = 5.0
        z = y + xp.sum(v)
    with pytest.warns(
        TapeWarning, match="a part of the gradient may be missing: compute with a copy"
    ):
        tape.gradient(z, v)


def test_a_view_of_many_steps_is_no_silent_loss_and_the_advice_works():
    def last(h):
        for _ in range(12):
            h = xp.flip(h)[1:].T if h.ndim == 2 else h[::-1]
        return h

    x = xp.asarray(np.arange(400.0).reshape(20, 20))
    for copy in (False, True):
        with GradientTape() as tape, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tape.watch(x)
            v = (x * 1.0)[1:]
            v = xp.asarray(v, copy=True) if copy else v
            y = xp.sum(last(v) ** 2) + xp.sum(v)
            found = tape.gradient(y, v)
        if copy:
            is_near(found, np.asarray(xp.grad(lambda v: xp.sum(last(v) ** 2) + xp.sum(v))(v)))
        assert (
            [w for w in caught if "compute with a copy" in str(w.message)]
            if not copy
            else not caught
        )


def test_an_op_without_a_rule_behind_a_view_of_the_source_is_an_error(cbrt):
    x = xp.asarray(np.abs(X))
    with GradientTape() as tape:
        tape.watch(x)
        v = (x * 1.0).T
        y = xp.sum(cbrt(v[0])) + xp.sum(v)
    with pytest.raises(LookupError, match="no entry for: cbrt"):
        tape.gradient(y, v)


def test_a_value_that_left_behind_a_view_of_the_source_is_a_warning():
    x = xp.asarray(X)
    with GradientTape() as tape:
        tape.watch(x)
        v = (x * 1.0).T
        y = float(xp.sum(v[0])) * xp.sum(v)
    with pytest.warns(TapeWarning, match="a part of the gradient may be missing"):
        tape.gradient(y, v)
