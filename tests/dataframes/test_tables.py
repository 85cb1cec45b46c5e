"""Tables of pandas and polars as arguments of ``grad`` and as data of ``asarray``."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import arraytape as xp
from arraytape import testing

DATA = {"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 7.0]}
TEXT = {**DATA, "s": ["x", "y", "z"]}


def product(d):
    return xp.sum(xp.asarray(d["a"]) ** 2 * xp.asarray(d["b"]))


SLOPES = {"a": [8.0, 20.0, 42.0], "b": [1.0, 4.0, 9.0]}


@pytest.mark.parametrize("data", [DATA, TEXT])
def test_the_gradient_of_a_table_of_pandas_is_a_table(data):
    table = pd.DataFrame(data, index=list("uvw"))
    value, found = xp.value_and_grad(product)(table)
    assert type(value) is np.float64
    pd.testing.assert_frame_equal(found, table.assign(**SLOPES))
    pd.testing.assert_frame_equal(table, pd.DataFrame(data, index=list("uvw")))


@pytest.mark.parametrize("data", [DATA, TEXT])
def test_the_gradient_of_a_table_of_polars_is_a_table(data):
    table = pl.DataFrame(data)
    found = xp.grad(product)(table)
    assert found.equals(table.with_columns(*[pl.Series(n, x) for n, x in SLOPES.items()]))


SERIES = [
    lambda values: pd.Series(values, list("uv"), name="a"),
    lambda values: pl.Series("a", values),
]


@pytest.mark.parametrize("make", SERIES)
def test_the_gradient_of_a_series_is_a_series(make):
    series = make([1.0, 2.0])
    found = xp.grad(lambda x: xp.sum(xp.asarray(x) ** 3))(series)
    assert type(found) is type(series)
    assert found.equals(make([3.0, 12.0]))
    assert found.name == "a"


def test_tables_within_nestings_and_second_derivatives():
    table = pd.DataFrame(DATA)
    found = xp.grad(lambda p: product(p["d"]) * p["w"])({"d": table, "w": 2.0})
    pd.testing.assert_frame_equal(found["d"], 2.0 * pd.DataFrame(SLOPES))
    assert found["w"] == 4.0 + 20.0 + 63.0
    twice = xp.grad(lambda d: xp.grad(product)(d)["a"].sum())(table)
    pd.testing.assert_frame_equal(
        twice, pd.DataFrame({"a": [8.0, 10.0, 14.0], "b": [2.0, 4.0, 6.0]})
    )


def test_a_tape_watches_the_columns_of_arrays():
    seen = []
    xp.grad(lambda d: seen.append(d) or product(d))(pd.DataFrame(DATA))  # it makes such columns
    with xp.GradientTape() as tape:
        tape.watch(seen[0])
        y = product(seen[0])
    pd.testing.assert_frame_equal(tape.gradient(y, seen[0]).apply(np.asarray), pd.DataFrame(SLOPES))


def test_jacobians_of_columns_are_in_a_dict():
    found = xp.jacobian(lambda d: xp.asarray(d["a"]) * xp.asarray(d["b"]))(pd.DataFrame(DATA))
    assert type(found) is dict
    np.testing.assert_array_equal(np.asarray(found["a"]), np.diag(DATA["b"]))
    found = xp.jacobian(lambda x: xp.asarray(x) ** 2)(pd.Series([1.0, 2.0]))
    np.testing.assert_array_equal(np.asarray(found), np.diag([2.0, 4.0]))


def test_columns_of_one_name():
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    found = xp.grad(lambda d: xp.sum(xp.asarray(d) ** 2))(table)
    pd.testing.assert_frame_equal(found, 2.0 * table)


@pytest.mark.parametrize("values", [[1, 2], [True, False]])
@pytest.mark.parametrize("library", [pd, pl])
def test_integers_and_truth_values_have_no_gradient(library, values):
    table = library.DataFrame({"a": [1.0, 2.0], "n": values})
    with pytest.raises(TypeError, match=r"at 'n': only real and .* cast it by astype\(float\)"):
        xp.grad(lambda d: xp.sum(xp.asarray(d["n"])))(table)


NUMBERS = {
    "frame": (lambda: pd.DataFrame(DATA), np.stack([DATA["a"], DATA["b"]], 1)),
    "series": (lambda: pd.Series(DATA["a"]), np.asarray(DATA["a"])),
    "integers": (lambda: pd.Series([1, 2]), np.asarray([1, 2])),
    "truths": (lambda: pd.Series([True, False]), np.asarray([True, False])),
    "missing": (lambda: pd.Series([1, None], dtype="Int64"), np.asarray([1.0, np.nan])),
    "missing in a frame": (
        lambda: pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [1.5, 2.5]}),
        np.asarray([[1.0, 1.5], [np.nan, 2.5]]),
    ),
    "truths and numbers": (
        lambda: pd.DataFrame({"a": [True, False], "b": [1.5, 2.5]}),
        np.asarray([[1.0, 1.5], [0.0, 2.5]]),
    ),
    "index": (lambda: pd.Index([1.0, 2.0]), np.asarray([1.0, 2.0])),
    "polars' frame": (lambda: pl.DataFrame(DATA), np.stack([DATA["a"], DATA["b"]], 1)),
    "polars' series": (lambda: pl.Series([1, None]), np.asarray([1.0, np.nan])),
}  # fmt: skip


@pytest.mark.parametrize(("make", "wanted"), NUMBERS.values(), ids=NUMBERS)
@pytest.mark.filterwarnings("error")
def test_asarray_of_a_table(make, wanted):
    table = make()
    found = xp.asarray(table)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(np.asarray(found), wanted)
    found[0] = 0  # a copy
    np.testing.assert_array_equal(np.asarray(xp.asarray(table)), wanted)


NO_NUMBERS = {
    "column 's' of the DataFrame is": [pd.DataFrame(TEXT), pl.DataFrame(TEXT)],
    "column 's' of the Series is": [pd.Series(["x"], name="s"), pl.Series("s", ["x"])],
    "datetime64": [pd.Series(pd.to_datetime(["2026-01-01"]))],
    "category": [pd.Series(["x"], dtype="category")],
}


@pytest.mark.parametrize(
    ("said", "table"), [(said, table) for said, tables in NO_NUMBERS.items() for table in tables]
)
def test_an_error_names_the_column_without_numbers(said, table):
    with pytest.raises(TypeError, match=re.escape(said)) as raised:
        xp.asarray(table)
    if "DataFrame" in said:
        assert "table[['a', 'b']].to_numpy()" in str(raised.value)


ON_TAPE = {
    "array": lambda x: pd.Series(x),
    "part": lambda x: pd.Series(x[::-2]),
    "nothing": lambda x: pd.DataFrame({"a": x[:0]})["a"],
    "column": lambda x: pd.DataFrame({"a": x, "s": list("uvw")})["a"],
    "index": lambda x: pd.Series(x, index=list("uvw")),
    "scalar": lambda x: pd.DataFrame({"a": x[1], "b": [1.0, 2.0]})["a"],
    "Series of a scalar": lambda x: pd.Series(x[1]),
    "list": lambda x: pd.Series([x[0], x[1]]),
    "list with others": lambda x: pd.Series([x[0], None, 2, np.float64(3.0)]),
    "records": lambda x: pd.DataFrame([{"a": x[0], "s": "u"}, {"a": x[1], "s": "v"}])["a"],
    "assign": lambda x: pd.DataFrame({"s": list("uvw")}).assign(a=x)["a"],
    "apply": lambda x: pd.Series(X).apply(lambda v: x[0] * v),
    "apply rows": lambda x: pd.DataFrame({"a": x, "b": X}).apply(lambda r: r["a"] * r["b"], axis=1),
    "agg": lambda x: pd.DataFrame({"a": x, "b": x}).agg({"a": "sum", "b": "max"}),
    "agg of names": lambda x: pd.DataFrame({"a": x, "b": x}).agg(["sum", "max"])["a"],
    "Series * array": lambda x: pd.Series(X) * x,
    "array * Series": lambda x: x * pd.Series(X),
    "Series / scalar": lambda x: pd.Series(X) / x[1],
    "frame * scalar": lambda x: (pd.DataFrame({"a": X, "b": X}) * x[1])["b"],
    "scalar - frame": lambda x: (x[1] - pd.DataFrame({"a": X, "n": [1, 2, 3]}))["a"],
    "write": lambda x: pd.Series(x * 2.0).case_when([([True, False, False], pd.Series(x))]),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("make", ON_TAPE.values(), ids=ON_TAPE)
@pytest.mark.filterwarnings("error")
def test_tables_made_of_followed_arrays_hold_them(make, kind):
    values = np.asarray(X, dtype=kind)
    x, wanted = xp.asarray(values), make(values)
    with xp.GradientTape() as tape:
        tape.watch(x)
        column = make(x)
        y = np.nansum(xp.real(xp.asarray(column)) ** 2)
    assert column.dtype.name == f"arraytape[{wanted.dtype}]"
    assert column.index.equals(wanted.index)
    np.testing.assert_array_equal(np.asarray(xp.asarray(column)), wanted.to_numpy())
    if kind == "float64":
        testing.check_gradients(lambda x: np.nansum(xp.asarray(make(x)) ** 2), [values], order=2)
    assert tape.gradient(y, x).dtype == kind


# --- constructors ---------------------------------------------------------------------------------
X = [1.0, 2.0, 3.0]
MADE = {
    "column": lambda x: pd.DataFrame({"a": x}),
    "matrix": lambda x: pd.DataFrame(x[:, None] * x),
    "Series": pd.Series,
    "list": lambda x: pd.Series([x[0], x[1]]),
    "list with None": lambda x: pd.Series([x[0], None]),
    "column of a list": lambda x: pd.DataFrame({"a": [x[0], x[1]], "b": ["u", "v"]}),
    "records": lambda x: pd.DataFrame([{"a": x[0], "b": "u"}, {"a": x[1], "b": "v"}]),
    "rows": lambda x: pd.DataFrame([[1, x[0]], [2, x[1]]]),
    "dict": lambda x: pd.Series({"u": x[0]}),
    "map": lambda x: pd.Series([1.0, 2.0]).map(lambda v: x[0] * v),
    "apply": lambda x: pd.DataFrame({"a": [1.0, 2.0]}).apply(lambda c: x[1]),
    "polars' Series": lambda x: pl.Series("a", x),
    "polars' column": lambda x: pl.DataFrame({"a": x}),
    "polars' matrix": lambda x: pl.DataFrame(x[:, None] * x),
    "polars' list": lambda x: pl.Series([x[0], x[1]]),
    "polars' truths": lambda x: pl.Series(x > 1.5),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.filterwarnings("error")
def test_tables_are_made_of_arrays_as_of_numpy_data(make):
    found, wanted = make(xp.asarray(X)), make(np.asarray(X))
    assert type(found) is type(wanted)
    assert found.equals(wanted)
    dtypes = [
        table.dtypes if hasattr(table, "dtypes") else table.dtype for table in (found, wanted)
    ]
    assert np.all(dtypes[0] == dtypes[1])


def test_objects_that_are_asked_for_stay_objects():
    x = xp.asarray(X)
    assert pd.Series([x[0], x[1]], dtype=object).iloc[0].shape == ()
    assert pd.Series([x, x]).dtype == object


def test_polars_has_no_complex_numbers():
    with pytest.raises(TypeError, match="pass the real and the imaginary part"):
        pl.Series(xp.asarray([1j]))


def test_pandas_without_arrays_is_unchanged():
    from arraytape.interop._hooks import HOOKS

    pd.Series([xp.asarray(1.0)])  # installs the rule
    hooked = {name.rpartition(".")[2] for name in HOOKS if name.startswith("pandas")}
    assert hooked - {"_make_ea_row_builder"} == {  # which pandas has since version 3
        "_sanitize_str_dtypes", "construct_1d_arraylike_from_scalar", "isin", "is_bool_indexer",
        "extract_array", "_ensure_data", "compute", "_split_op_result", "as_array",
        "_factorize_keys", "_get_engine_target",
    }  # fmt: skip

    class Named(pd.Series):
        pass

    objects = np.array([1.0, None, 2], dtype=object)
    column = Named(objects, copy=False)
    assert column.dtype == object
    assert np.shares_memory(column.to_numpy(), objects)
    assert type(pickle.loads(pickle.dumps(pd.Series(objects)))) is pd.Series
    assert pd.Series([1, "u", None, 2.5]).tolist() == [1, "u", None, 2.5]
    assert pd.Series([10**30, 1]).tolist() == [10**30, 1]
    with pytest.raises(ValueError, match=r"^could not convert string to float: 'u'$"):
        pd.Series(["u"], dtype=float)


TABLE = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "s": list("uvuv")})
ARGUMENTS = {
    "isin": lambda x: TABLE["a"].isin(x),
    "isin of a list": lambda x: TABLE["a"].isin([x[0], x[1]]),
    "isin of a table": lambda x: TABLE.isin({"a": x})["a"],
    "isin of an index": lambda x: pd.Series(pd.Index([1.0, 5.0]).isin(x)),
    "mask of iloc": lambda x: TABLE["a"].iloc[x > 1.5],
    "mask of loc": lambda x: TABLE.loc[x > 1.5, "a"],
    "mask": lambda x: TABLE["a"][x > 1.5],
    "mask of a table": lambda x: TABLE[x > 1.5]["a"],
    "where": lambda x: TABLE["a"].where(x > 1.5, x),
    "a new column": lambda x: TABLE.assign(z=x[1])["z"],
    "a scalar in a dict": lambda x: pd.DataFrame({"z": x[1], "a": [1.0, 2.0]})["z"],
    "a scalar of an index": lambda x: pd.Series(x[1], index=[0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("f", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.filterwarnings(
    "error", "ignore:Treating an array-like object"
)  # of masks, in pandas 3
def test_methods_of_plain_tables_accept_arrays(f):
    values = np.asarray([1.0, 2.0, 3.0, 1.0])
    pd.testing.assert_series_equal(f(xp.asarray(values)), f(values))


def test_a_scalar_that_a_tape_follows_stays_on_it():
    def f(x):
        table = TABLE.assign(z=x * 2.0)
        return (table["a"] * table["z"]).sum()

    assert xp.grad(f)(3.0) == 20.0


def test_a_column_of_arrays_and_text_stays_a_column_of_objects():
    x = xp.asarray(X)
    assert pd.Series([x[0], "u"]).dtype == pd.Series([1.0, "u"]).dtype == object
    assert pd.Series(["u", x[0]]).dtype == object
