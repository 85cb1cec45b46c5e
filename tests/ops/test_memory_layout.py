"""Results lie in memory as NumPy's do: on that it depends which reshapes are views."""

import numpy as np
import pytest

import arraytape as xp

BASE = np.random.default_rng(0).uniform(0.2, 0.9, (3, 4, 2))
LAYOUTS = {
    "C": BASE,
    "F": np.asfortranarray(BASE),
    "transposed": BASE.transpose(1, 2, 0),
    "reversed": BASE[::-1, :, ::-1],
    "sliced": np.asfortranarray(BASE)[1:, ::2],
    "broadcast": np.broadcast_to(BASE[0], (3, 4, 2)),
}
FIRST, SOME = np.asarray([0, 1]), [True, False, True, True]
FUNCTIONS = {
    "zeros_like": (np.zeros_like, xp.zeros_like),
    "ones_like": (np.ones_like, xp.ones_like),
    "empty_like": (np.empty_like, xp.empty_like),
    "full_like": (lambda x: np.full_like(x, 2.0), lambda x: xp.full_like(x, 2.0)),
    "copy": (lambda x: np.array(x, copy=True), lambda x: xp.asarray(x, copy=True)),
    "astype": (lambda x: x.astype("f4"), lambda x: xp.astype(x, xp.float32)),
    "real": (lambda x: np.real(1j * x), lambda x: xp.real(1j * x)),
    "imag": (lambda x: np.imag(1j * x), lambda x: xp.imag(1j * x)),
    "stop_gradient": (lambda x: np.array(x), xp.stop_gradient),
    "exp": (np.exp, xp.exp),
    "x * row": (lambda x: x * x[0], lambda x: x * x[0]),
    "clip": (lambda x: np.clip(x, 0.3, 0.7), lambda x: xp.clip(x, 0.3, 0.7)),
    "clip by nothing": (lambda x: np.clip(x, None, None), lambda x: xp.clip(x)),
    "sort": (lambda x: np.sort(x, axis=1), lambda x: xp.sort(x, axis=1)),
    "cumulative_sum": (lambda x: np.cumsum(x, axis=1), lambda x: xp.cumulative_sum(x, axis=1)),
    "diff": (lambda x: np.diff(x, axis=1), lambda x: xp.diff(x, axis=1)),
    "roll": (lambda x: np.roll(x, 1, axis=1), lambda x: xp.roll(x, 1, axis=1)),
    "roll of all": (lambda x: np.roll(x, 1), lambda x: xp.roll(x, 1)),
    "fftshift": (np.fft.fftshift, xp.fft.fftshift),
    "where": (lambda x: np.where(x > 0.5, x, 0.0), lambda x: xp.where(x > 0.5, x, 0.0)),
    "take": (lambda x: np.take(x, FIRST, axis=0), lambda x: xp.take(x, xp.asarray(FIRST), axis=0)),
    "x[indices]": (lambda x: x[FIRST], lambda x: x[xp.asarray(FIRST)]),
    "x[..., indices]": (lambda x: x[..., FIRST], lambda x: x[..., xp.asarray(FIRST)]),
    "repeat": (lambda x: np.repeat(x, 2, axis=1), lambda x: xp.repeat(x, 2, axis=1)),
    "tile": (lambda x: np.tile(x, (2, 1, 1)), lambda x: xp.tile(x, (2, 1, 1))),
    "concat": (lambda x: np.concatenate([x, x], 1), lambda x: xp.concat([x, x], axis=1)),
    "stack": (lambda x: np.stack([x, x], 1), lambda x: xp.stack([x, x], axis=1)),
    "sum": (lambda x: np.sum(x, axis=1), lambda x: xp.sum(x, axis=1)),
    "matmul": (lambda x: x @ x[0].T, lambda x: x @ x[0].T),
    "tril": (np.tril, xp.tril),
}


def strides(data):
    """The strides of the axes along which there is a step to take."""
    return [stride for stride, n in zip(data.strides, data.shape, strict=True) if n > 1]


def given(layout):
    if layout == "broadcast":
        return xp.broadcast_to(xp.asarray(BASE[0]), BASE.shape)
    return xp.asarray(LAYOUTS[layout].copy(order="K"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_is_laid_out_as_numpys(name, layout):
    numpys, ours = FUNCTIONS[name]
    x = given(layout)
    expected, found = numpys(x._data), ours(x)._data
    assert found.shape == expected.shape
    assert strides(found) == strides(expected)


@pytest.mark.parametrize("name", ["zeros_like", "sort", "clip", "imag", "roll", "copy"])
def test_a_write_to_a_reshape_of_a_result_is_seen_where_numpys_is(name):
    numpys, ours = FUNCTIONS[name]
    for layout in LAYOUTS:
        x = given(layout)
        expected, found = numpys(x._data.copy(order="K")), ours(xp.asarray(x, copy=True))
        np.reshape(expected, (-1,))[:5] = 9.0
        xp.reshape(found, (-1,))[:5] = 9.0
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_zeros_like_under_vmap_are_laid_out_as_those_of_one_example():
    def f(x):
        z = xp.zeros_like(x.T)
        flat = xp.reshape(z, (-1,))
        flat += x[0, 0]
        return z

    x = xp.asarray(BASE)
    np.testing.assert_array_equal(
        np.asarray(xp.vmap(f)(x)), np.stack([np.asarray(f(row)) for row in x])
    )


def test_equal_bounds_are_bounds():
    bound = 0.5
    np.testing.assert_array_equal(
        np.asarray(xp.clip(xp.asarray(BASE), bound, bound)), BASE * 0 + 0.5
    )


def test_a_cast_of_a_number_is_as_immutable_as_numpys():
    s = xp.sum(xp.asarray([1.0, 2.0]))
    t = single = xp.astype(s, xp.float32)
    row = xp.reshape(single, (1,))
    single += 1.0
    row += 5.0
    assert (float(s), float(t), float(single), float(row[0])) == (3.0, 3.0, 4.0, 8.0)
    array = xp.asarray(3.0)
    t = single = xp.astype(array, xp.float32)
    single += 1.0
    assert float(t) == 4.0
