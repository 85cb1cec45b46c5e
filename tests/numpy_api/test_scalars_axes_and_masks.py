"""NumPy's functions where shapes are (): scalars or arrays, axes of 0-d arrays; masks in where=."""

import numpy as np
import pytest

import arraytape as xp

OF_AXES = {
    name: getattr(np, name)
    for name in (
        "sum", "mean", "prod", "max", "min", "var", "std", "all", "any", "cumsum", "cumprod", "nansum",
        "nanmax", "nancumsum", "ptp", "median", "argmax", "argsort", "sort", "flip", "squeeze", "diff",
    )
} | {
    "add.reduce": np.add.reduce,
    "maximum.reduce": np.maximum.reduce,
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "take": lambda x, axis: np.take(x, 0, axis=axis),
    "compress": lambda x, axis: np.compress([True], x, axis=axis),
    "roll": lambda x, axis: np.roll(x, 1, axis=axis),
    "delete": lambda x, axis: np.delete(x, 0, axis=axis),
    "append": lambda x, axis: np.append(x, x, axis=axis),
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
}  # fmt: skip
RESULTS = {
    name: getattr(np, name) for name in ("median", "nan_to_num", "sinc", "copy", "angle", "max")
} | {
    "where": lambda x: np.where(x > 0.0, x, 2.0),
    "select": lambda x: np.select([x > 0.0], [x]),
    "choose": lambda x: np.choose(0, [x]),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "modf": lambda x: np.modf(x)[0],
    "einsum": lambda x: np.einsum("i->", np.atleast_1d(x)),
    "tensordot": lambda x: np.tensordot(np.atleast_1d(x), np.atleast_1d(x), axes=1),
    "quantile": lambda x: np.quantile(np.atleast_1d(x), 0.5),
    "interp": lambda x: np.interp(x, [0.0, 9.0], [1.0, 2.0]),
    "kron": lambda x: np.kron(x, x),
    "pad": lambda x: np.pad(x, 1),
    "round": lambda x: x.round(1),
    "transposed": lambda x: np.sin(x).T,
    "squeezed": lambda x: np.squeeze(np.sin(x)),
    "copied": lambda x: np.sin(x).copy(),
    "imaginary": lambda x: np.sin(x).imag,
}
WHERE = {
    "numbers": lambda x: np.sum(x, where=np.array([1.0, 0.0])),
    "too large": lambda x: np.sum(x, where=np.array([[True, False], [True, True]])),
    "too long": lambda x: np.mean(x, where=np.array([True, False, True])),
    "numbers, of a ufunc": lambda x: np.add(x, x, out=x, where=np.array([1.0, 0.0])),
    "too large, of a ufunc": lambda x: np.add(x, x, out=x, where=np.array([[True, False]] * 2)),
    "too long, of copyto": lambda x: np.copyto(x, 2.0, where=np.array([True, False, True])),
    "of another shape": lambda x: np.sum(np.stack([x, x]), axis=1, out=np.stack([x, x])),
}


def outcome(f, x, **options):
    try:
        return f(x, **options)
    except Exception as error:
        return error


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
@pytest.mark.parametrize("axis", [0, -1, 1, 2, -3])
@pytest.mark.parametrize("name", OF_AXES)
def test_axes_are_those_of_numpy_and_so_are_the_errors(name, axis, shape):
    data = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)
    expected = outcome(OF_AXES[name], data, axis=axis)
    x = xp.asarray(data)
    with xp.GradientTape() as tape:
        tape.watch(x)
        found = outcome(OF_AXES[name], x, axis=axis)
    if not isinstance(expected, Exception):
        np.testing.assert_array_equal(np.asarray(found), expected)
        assert np.shape(found) == np.shape(expected)
        if found.dtype.kind == "f":
            assert tape.gradient(found, x).shape == shape
        return
    for kind in (ValueError, IndexError, TypeError):
        assert isinstance(found, kind) or not isinstance(expected, kind), (found, expected)


def seen_by_another_name(y):
    other = y
    y += 1.0
    return bool(other == y)


@pytest.mark.parametrize("data", [np.array(1.5), np.array(-0.5)])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_of_no_axes_is_a_scalar_where_numpys_is(name, data):
    expected = seen_by_another_name(RESULTS[name](data.copy()))
    assert seen_by_another_name(RESULTS[name](xp.asarray(data))) == expected


@pytest.mark.parametrize("name", WHERE)
def test_what_numpy_refuses_for_where_and_out_raises_the_same_and_writes_nothing(name):
    data = np.array([1.5, 2.5])
    expected, x = outcome(WHERE[name], data.copy()), xp.asarray(data)
    assert isinstance(expected, ValueError | TypeError)
    kind = TypeError if isinstance(expected, TypeError) else ValueError
    with pytest.raises(kind):
        WHERE[name](x)
    np.testing.assert_array_equal(np.asarray(x), data)
