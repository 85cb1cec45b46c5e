"""Arrays in files that NumPy writes, in plots, and in Python's ``round``: as NumPy's arrays there."""

import inspect
import io
import math

import matplotlib
import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning

matplotlib.use("Agg")
from matplotlib import pyplot as plt

VALUES = np.asarray([1.0, 2.5, 3.25])
TABLE = np.arange(12.0).reshape(3, 4) / 8.0


@pytest.fixture(params=["unfollowed", "followed"])
def arrays(request):
    """A function that makes an Array of NumPy's values: while a tape follows it, or with no tape."""
    if request.param == "unfollowed":
        yield xp.asarray
        return
    with GradientTape() as tape:

        def made(values):
            array = xp.asarray(values)
            tape.watch(array)
            return array

        yield made


# --- files --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("values", [VALUES, TABLE, TABLE[1:, ::2], np.asarray(2.5), TABLE.T])
def test_save_writes_what_load_reads(arrays, values, tmp_path):
    np.save(tmp_path / "x.npy", arrays(values))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), values)


def test_save_writes_a_view_as_it_is_now(arrays, tmp_path):
    x = arrays(TABLE)
    view = x[1:, ::2]
    x[1, 2] = 7.0
    np.save(tmp_path / "view.npy", view, allow_pickle=False)
    np.testing.assert_array_equal(np.load(tmp_path / "view.npy"), [[0.5, 7.0], [1.0, 1.25]])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_savez_takes_arrays_by_position_and_by_name(arrays, save, tmp_path):
    save(tmp_path / "xs.npz", arrays(VALUES), TABLE, table=arrays(TABLE))
    with np.load(tmp_path / "xs.npz") as found:
        assert sorted(found) == ["arr_0", "arr_1", "table"]
        np.testing.assert_array_equal(found["arr_0"], VALUES)
        np.testing.assert_array_equal(found["arr_1"], TABLE)
        np.testing.assert_array_equal(found["table"], TABLE)


@pytest.mark.parametrize("values", [VALUES, TABLE, VALUES + 1j])
def test_savetxt_writes_the_text_that_it_writes_of_numpys_arrays(arrays, values):
    texts = []
    for x in (values, arrays(values)):
        file = io.StringIO()
        np.savetxt(file, x, header="values", delimiter=",")
        texts.append(file.getvalue())
    assert texts[0] == texts[1]


def test_savetxt_takes_a_list_of_columns(arrays, tmp_path):
    np.savetxt(tmp_path / "x.txt", [arrays(VALUES), arrays(2.0 * VALUES)])
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "x.txt"), [VALUES, 2.0 * VALUES])


@pytest.mark.parametrize("save", [np.save, np.savetxt, np.savez, np.savez_compressed])
def test_a_gradient_that_is_cut_by_a_file_names_the_line_that_wrote_it(save):
    x, file = xp.asarray([8.0, 27.0]), io.BytesIO()
    with GradientTape() as tape:
        tape.watch(x)
        line = inspect.currentframe().f_lineno + 1
        save(file, x)
        y = 2.0 * xp.asarray(VALUES)
    place = rf"test_files_and_plots\.py:{line} \(np\.{save.__name__}\(\)\)"
    with pytest.warns(TapeWarning, match=place):
        assert tape.gradient(y, x) is None


def test_text_of_an_array_does_not_leave_the_tape(arrays):
    x = arrays(VALUES)
    assert np.array2string(x, separator=", ") == np.array2string(VALUES, separator=", ")
    assert np.array_str(x) == np.array_str(VALUES)


def test_writing_a_file_keeps_the_gradient_of_what_is_computed_beside_it(near, tmp_path):
    x = xp.asarray(VALUES)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        np.save(tmp_path / "y.npy", y)
        z = xp.sum(y)
    near(tape.gradient(z, x), 2.0 * VALUES)


# --- plots --------------------------------------------------------------------------------------------
PLOTS = {
    "bar": lambda ax, x, t: ax.bar(x, x),
    "bar with all that may be an array": lambda ax, x, t: ax.bar(
        x, x, width=x / 8, bottom=x, yerr=x, linewidth=x
    ),
    "bar of scalars": lambda ax, x, t: ax.bar(x[0], x[1]),
    "bar beside a list": lambda ax, x, t: ax.bar(["a", "b", "c"], x),
    "bar labels": lambda ax, x, t: ax.bar_label(ax.bar(x, x)),
    "barh": lambda ax, x, t: ax.barh(x, x),
    "plot": lambda ax, x, t: ax.plot(x, x),
    "plot of columns": lambda ax, x, t: ax.plot(t),
    "loglog": lambda ax, x, t: ax.loglog(x, x),
    "hist": lambda ax, x, t: ax.hist(x, bins=4),
    "hist of several": lambda ax, x, t: ax.hist([x, x], weights=[x, x]),
    "hist of columns": lambda ax, x, t: ax.hist(t),
    "errorbar": lambda ax, x, t: ax.errorbar(x, x, yerr=x, xerr=x[0]),
    "scatter": lambda ax, x, t: ax.scatter(x, x, s=x, c=x),
    "fill between": lambda ax, x, t: ax.fill_between(x, x, -x, where=x > 2.0),
    "step": lambda ax, x, t: ax.step(x, x),
    "stem": lambda ax, x, t: ax.stem(x, x),
    "image": lambda ax, x, t: ax.imshow(t),
    "contour": lambda ax, x, t: ax.contour(t),
    "mesh": lambda ax, x, t: ax.pcolormesh(t),
    "box": lambda ax, x, t: ax.boxplot(t),
    "violin": lambda ax, x, t: ax.violinplot(t),
    "pie": lambda ax, x, t: ax.pie(x),
    "limits": lambda ax, x, t: (ax.set_xlim(x[0], x[1]), ax.axhline(x[2])),
    "ticks": lambda ax, x, t: ax.set_xticks(x),
}


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.every(3)
def test_a_plot_of_arrays_is_the_picture_of_numpys_arrays(arrays, name):
    pictures = []
    for x, t in ((VALUES, TABLE), (arrays(VALUES), arrays(TABLE))):
        figure, ax = plt.subplots(figsize=(2, 2), dpi=50)
        PLOTS[name](ax, x, t)
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba()).copy())
        plt.close(figure)
    np.testing.assert_array_equal(pictures[0], pictures[1])


def test_broadcast_arrays_takes_lists_and_what_is_no_number(arrays):
    found = np.broadcast_arrays(arrays(VALUES), [[1.0], [2.0]], 3, [None], "a")
    expected = np.broadcast_arrays(VALUES, [[1.0], [2.0]], 3, [None], "a")
    assert type(found[0]) is type(found[1]) is type(found[2]) is xp.Array
    for y, reference in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(y), reference)
    with pytest.raises(ValueError, match="arg 1"):
        np.broadcast_arrays(arrays(VALUES), [1.0, 2.0])


def test_broadcast_arrays_is_recorded(runs_as_on_numpy):
    runs_as_on_numpy(lambda xp, x, t: xp.broadcast_arrays(x, t)[0] * t, VALUES, TABLE[:, :3])


def test_to_numpy_is_asarray():
    x = xp.asarray(VALUES)
    assert np.shares_memory(x.to_numpy(), np.asarray(x))
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(x.to_numpy()) * 2.0
    with pytest.warns(TapeWarning, match=r"test_files_and_plots\.py"):
        assert tape.gradient(y, x) is None


# --- round --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("digits", [0, 1, -1, np.int64(2)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_round_with_digits_is_numpys_in_the_arrays_dtype(arrays, dtype, digits):
    for values in (np.asarray(25.678), np.asarray([15.0, 25.125, -2.5])):
        values = values.astype(dtype)
        found = round(arrays(values) if dtype[0] == "f" else xp.asarray(values), digits)
        assert type(found) is xp.Array
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(np.asarray(found), np.round(values, digits))


@pytest.mark.parametrize("value", [2.5, 3.5, -0.4, 1e6 + 0.51])
def test_round_without_digits_of_a_0d_array_is_pythons_integer(arrays, value):
    found = round(arrays(np.asarray(value)))
    assert type(found) is int
    assert found == round(np.float64(value))


def test_round_without_digits_of_several_elements_rounds_each(arrays):
    np.testing.assert_array_equal(np.asarray(round(arrays(VALUES))), np.round(VALUES))


def test_round_to_an_integer_leaves_the_tape_with_a_line():
    x = xp.asarray(2.75)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(float(round(x)))
    with pytest.warns(TapeWarning, match=r"test_files_and_plots\.py:\d+ \(round\(\)\)"):
        assert tape.gradient(y, x) is None


def test_round_of_a_value_that_has_no_integer_says_so():
    for value, error in (
        (math.nan, ValueError),
        (math.inf, OverflowError),
        (1.0 + 2.0j, TypeError),
    ):
        with pytest.raises(error, match=r"round\(\)"):
            round(xp.asarray(value))
