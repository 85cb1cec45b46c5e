"""NumPy's functions that take arrays apart and put them together, on Arrays."""

import numpy as np
import pytest

import arraytape as xp

rng = np.random.default_rng(6)
X, V = rng.normal(size=(3, 4)), rng.normal(size=4)
C = rng.normal(size=(2, 3, 4))
CALLS = {
    "append": (lambda np, x, y: np.append(x, y), X, V),
    "append along an axis": (lambda np, x: np.append(x, x[:1], axis=0), X),
    "apply_along_axis": (lambda np, x: np.apply_along_axis(lambda r: r[:2] * r[2], 0, x), X),
    "apply_along_axis to numbers": (lambda np, x: np.apply_along_axis(np.sum, 1, x), C),
    "array_split": (lambda np, x: tuple(np.array_split(x, 3, axis=1)), X),
    "block": (lambda np, x, y: np.block([[x, x[:, :1]], [y, 2.0]]), X, V),
    "compress": (lambda np, x: np.compress([True, False, True], x, axis=1), X),
    "copy": (lambda np, x: np.copy(x, order="F"), X),
    "delete": (lambda np, x: np.delete(x, [0, 2], axis=1), X),
    "delete of a slice": (lambda np, x: np.delete(x, slice(0, None, 2)), X),
    "diagflat": (lambda np, x: np.diagflat(x, 1), X[:2, :2]),
    "dsplit": (lambda np, x: tuple(np.dsplit(x, 2)), C),
    "expand_dims": (lambda np, x: np.expand_dims(x, (0, 2)), X),
    "fliplr and flipud": (lambda np, x: np.fliplr(x) - 2.0 * np.flipud(x), X),
    "full_like": (lambda np, x: x * np.full_like(x, 2.0, order="F"), X),
    "hsplit": (lambda np, x: tuple(np.hsplit(x, [1, 3])), X),
    "insert": (lambda np, x, y: np.insert(x, 1, y, axis=0), X, V),
    "insert at several places": (lambda np, x: np.insert(x, [0, 0, 2], x[:, :3], axis=1), X),
    "insert of a number": (lambda np, x: np.insert(x, [1, -1], 5.0), V),
    "insert of several at one place": (lambda np, x, y: np.insert(x, 2, y[:2]), V, V),
    "meshgrid": (lambda np, x, y: tuple(np.meshgrid(x, y, indexing="ij")), V, V[:3]),
    "ones_like": (lambda np, x: x[:, :2] + np.ones_like(x, shape=(3, 2)), X),
    "pad": (lambda np, x: np.pad(x, ((1, 0), (0, 2)), constant_values=3.0), X),
    "pad by pairs": (lambda np, x: np.pad(x, 1, constant_values=((1, 2), (3, 4))), X),
    "pad by the edge": (lambda np, x: np.pad(x, (1, 2), mode="edge"), X),
    "pad by reflection": (lambda np, x: np.pad(x, ((2, 1), (0, 3)), "reflect"), X),
    "pad in symmetry": (lambda np, x: np.pad(x, 5, "symmetric"), V),
    "pad periodically": (lambda np, x: np.pad(x, (3, 6), mode="wrap"), V),
    "ravel as Fortran": (lambda np, x: np.ravel(x, "F"), X),
    "reshape as Fortran": (lambda np, x: np.reshape(x, (2, -1), order="F"), X),
    "rollaxis": (lambda np, x: np.rollaxis(x, 2, 1), C),
    "rollaxis to the front": (lambda np, x: np.rollaxis(x, -1), C),
    "rot90": (lambda np, x: np.rot90(x), X),
    "rot90, thrice": (lambda np, x: np.rot90(x, -1, (0, 2)), C),
    "rot90, twice": (lambda np, x: np.rot90(x, 2), X),
    "sliding windows": (lambda np, x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), X),
    "sliding windows of an axis": (
        lambda np, x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0), X,
    ),
    "split": (lambda np, x: tuple(np.split(x, 2, axis=1)), X),
    "split at places": (lambda np, x: tuple(np.split(x, [1, 5])), X),
    "tile": (lambda np, x: np.tile(x, 2), X),
    "tile along new axes": (lambda np, x: np.tile(x, (2, 1, 2)), X),
    "vsplit": (lambda np, x: tuple(np.vsplit(x, 3)), X),
    "zeros_like": (lambda np, x: x[0] - np.zeros_like(x, shape=4, dtype=float), X),
    # methods
    "T of a vector": (lambda np, x: x.T * 2.0, V),
    "T of a stack": (lambda np, x: x.T, C),
    "astype": (lambda np, x: x.astype(float, order="C", copy=False), X),
    "copy, method": (lambda np, x: x.copy(order="C"), X),
    "flat": (lambda np, x: x.flat[3:7] * np.sum(x.flat), X),
    "flatten": (lambda np, x: x.flatten("F"), X),
    "ravel, method": (lambda np, x: x.ravel("K"), X),
    "reshape, method": (lambda np, x: x.reshape(4, 3, order="F"), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_numpy_function_has_numpys_values_and_right_derivatives(name, runs_as_on_numpy):
    runs_as_on_numpy(*CALLS[name])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_is_in_the_namespace(mode, runs_as_on_numpy):
    runs_as_on_numpy(lambda xp, x: xp.pad(x, ((1, 2), (0, 1)), mode=mode), X, namespace=xp)


def test_what_is_put_around_has_a_gradient(runs_as_on_numpy):
    def program(np, x, value):
        if not isinstance(x, xp.Array):  # NumPy's takes numbers only
            return np.pad(x, 1, constant_values=float(value))
        return np.pad(x, 1, constant_values=value)

    runs_as_on_numpy(program, X, np.asarray(0.7))


def test_parts_are_views_as_in_numpy(runs_as_on_numpy):
    def program(np, x):
        x = np.copy(x)
        first, second = np.split(x, 2, axis=1)
        first *= second
        np.rot90(x)[0, 0] = 0.5 * x[1, 1]
        np.flipud(x)[0] += 1.0
        x.flat[2:4] = x[1, :2]
        x.T[1] *= 3.0
        np.reshape(x.T, (12,), order="F")[0] = x[2, 2] ** 2
        return x

    runs_as_on_numpy(program, X)


def test_flat_can_be_written_to(runs_as_on_numpy):
    def program(np, x):
        x = np.copy(x)
        x.flat = x[::-1] * 2.0
        y = x * x
        y.flat = 3.0
        x.T.flat[1:4] = x.flat[0:2] * y.flat[0]  # values begin again from the first
        x.T.flat[-1] = x[0, 0] ** 2
        x.flat[[0, 3]] = x.T.flat[[1, 1]]
        return x, y + x, x.T.flat[::2], np.sin(x.flat), sum(x.flat)

    runs_as_on_numpy(program, X)


def test_what_flat_gives_is_a_copy():
    x = xp.asarray(X)
    x.flat[:2][0] = 9.0
    np.testing.assert_array_equal(x, X)
    flat = x.flat
    assert len(flat) == X.size
    assert flat.base is x
    assert flat.coords == (0, 0)
    assert [float(element) for element in flat] == X.ravel().tolist()
    assert flat.index == X.size
    np.testing.assert_array_equal(x.flat == X.flat, np.ones(X.size, bool))


def test_real_and_imaginary_parts_can_be_set(runs_as_on_numpy):
    def program(np, x, y):
        z = x + 1j * x**2
        z.real = y
        z.imag *= 2.0
        z.imag += z.real
        x = x * 1.0
        x.real[0] = y  # of real numbers it is x itself
        x.real *= 3.0
        return z, x

    runs_as_on_numpy(program, X, V)
    with pytest.raises(TypeError, match="imag"):
        xp.asarray(X).imag = 1.0


MADE = {
    "array": lambda x: np.array([x[0], 2.0 * x[1]], ndmin=2, like=x),
    "asarray": lambda x: np.asarray([x[0], x[1]], like=x),
    "eye": lambda x: np.eye(2, 4, like=x) @ x,
    "full": lambda x: np.full((2, 4), 2.0, like=x) * x,
    "identity": lambda x: np.identity(4, like=x) @ x,
    "ones": lambda x: np.ones(4, dtype=float, like=x) * x,
    "zeros": lambda x: np.zeros((3, 4), like=x) + x,
}


@pytest.mark.parametrize("name", MADE)
def test_numpy_makes_arrays_like_an_array(name, runs_as_on_numpy):
    runs_as_on_numpy(lambda np, x: MADE[name](x), V)


def test_a_buffer_made_like_an_array_takes_its_elements(runs_as_on_numpy):
    def program(np, x):
        buffer = np.zeros(3, like=x)
        for i in range(3):
            buffer[i] = x[i] * x[i + 1]
        return buffer

    runs_as_on_numpy(program, V)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.split(x, 5), "equal parts"),
        (lambda x: np.flip(x, axis="a"), "flip: an axis is an integer, got str 'a'"),
        (lambda x: np.moveaxis(x, 0, "b"), "moveaxis: an axis is an integer"),
        (lambda x: np.tril(x[0, 0]), "tril: needs matrices"),
        (lambda x: np.pad(x, 1, mode="new"), "np.pad: mode 'new'"),
        (
            lambda x: np.lib.stride_tricks.sliding_window_view(x, 2),
            "one length that is not negative",
        ),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, (1, 9)), "longer than axis 1"),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, 1, 0, writeable=True), "writeable"),
        (lambda x: x.astype("int64", casting="same_kind"), "same_kind"),
    ],
)
def test_what_has_no_counterpart_raises(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(xp.asarray(X))
