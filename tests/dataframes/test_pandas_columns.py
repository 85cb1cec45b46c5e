"""Columns of pandas that hold Arrays: pandas' values, and gradients, of each method."""

import copy
import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._dataframes.pandas_columns import REDUCTIONS, TRUTHS, ArrayColumn, ArrayDtype

A, B = np.array([1.0, 2.5, 4.0, 3.0]), np.array([0.5, np.nan, 1.5, 2.5])
OTHERS = {"s": list("xyxy"), "n": [1, 2, 3, 4]}
WEIGHTS = np.sqrt([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])


def plain(a):
    return pd.DataFrame({"a": a, "b": B + a * 0.5, "c": a + 1.0, **OTHERS})


def taped(a):
    columns = {name: ArrayColumn(x) for name, x in {"a": a, "b": a * 0.5 + B, "c": a + 1.0}.items()}
    return pd.DataFrame({**columns, **OTHERS})


def total(found):
    """The sum of all numbers of a result but NaN, with weights that tell its places apart."""
    if isinstance(found, pd.DataFrame):
        parts = [found.iloc[:, i] for i in range(found.shape[1])]
        return sum(
            total(x) for x in parts if x.dtype.kind in "fO" and not isinstance(x.iloc[0], str)
        )
    if isinstance(found, pd.Series):
        found = xp.asarray(found)
    if found.ndim:
        found = np.nansum(found * WEIGHTS[: found.size])
    return found


METHODS = {
    "a * 2 + c": lambda d: d["a"] * 2 + d["c"],
    "2 ** a": lambda d: 2.0 ** d["a"],
    "ndarray * a": lambda d: A * d["a"] * A,
    "list - a": lambda d: [1.0, 2.0, 3.0, 4.0] - d["a"],
    "a % 2": lambda d: d["a"] % 0.7,
    "abs, -": lambda d: abs(-d["a"]),
    "sum": lambda d: d["a"].sum(),
    "sum without NaN": lambda d: d["b"].sum(),
    "mean": lambda d: d["b"].mean(),
    "std": lambda d: d["b"].std(),
    "var": lambda d: d["b"].var(ddof=0),
    "min": lambda d: d["b"].min(),
    "median": lambda d: d["b"].median(),
    "prod": lambda d: d["b"].prod(),
    "sum of columns": lambda d: d[["a", "b"]].sum(),
    "sum of rows": lambda d: d[["a", "b"]].sum(axis=1),
    "mean of rows": lambda d: d[["a", "c"]].mean(axis=1),
    "groupby": lambda d: d.groupby("s")[["a", "b"]].mean(),
    "groupby.agg": lambda d: d.groupby("s").agg({"a": "sum", "c": "max"}),
    "groupby.std": lambda d: d.groupby("s")[["a", "c"]].std(),
    "groupby.cumsum": lambda d: d.groupby("s")["a"].cumsum(),
    "groupby.cumprod": lambda d: d.groupby([1, 1, np.nan, 1])["c"].cumprod(),
    "transform": lambda d: d["a"] - d.groupby("s")["a"].transform("mean"),
    "mask": lambda d: d[d["a"] > 1.5],
    "loc": lambda d: d.loc[1:2, ["a", "c"]],
    "iloc": lambda d: d.iloc[::-1]["a"],
    "element": lambda d: d["a"].iloc[1] * d["c"].iloc[0],
    "sort_values": lambda d: d.sort_values("a"),
    "shift": lambda d: d["a"].shift(1),
    "diff": lambda d: d["a"].diff(),
    "cumsum": lambda d: d["a"].cumsum() * d["a"].cumprod(),
    "clip": lambda d: d["a"].clip(1.5, 3.5),
    "fillna": lambda d: d["b"].fillna(7.0),
    "ffill": lambda d: d["b"].ffill(),
    "dropna": lambda d: d["b"].dropna(),
    "where": lambda d: d["a"].where(d["a"] > 1.5, 0.0),
    "mask by another": lambda d: d["a"].mask(d["a"] > 1.5, d["c"]),
    "ufunc": lambda d: np.exp(d["a"]) * np.log(d["c"]),
    "ufunc of two": lambda d: np.hypot(d["a"], d["c"]),
    "ufunc of a table": lambda d: np.sqrt(d[["a", "c"]]),
    "assign": lambda d: d.assign(z=d["a"] * d["c"])["z"],
    "apply": lambda d: d[["a", "c"]].apply(lambda x: x * x),
    "map": lambda d: d["a"].map(lambda x: x * x),
    "eval": lambda d: d.eval("a * c"),
    "query": lambda d: d.query("a > 1.5"),
    "standardized": lambda d: (d[["a", "c"]] - d[["a", "c"]].mean()) / d[["a", "c"]].std(),
    "@": lambda d: d[["a", "c"]] @ np.array([1.0, 2.0]),
    "T": lambda d: d[["a", "c"]].T,
    "stack": lambda d: d[["a", "c"]].stack(),
    "melt": lambda d: d.melt(id_vars="s", value_vars=["a", "c"])["value"],
    "values": lambda d: xp.asarray(d[["a", "c"]].values)[:, 0],
    "to_numpy": lambda d: d["a"].to_numpy() * d["c"].to_numpy(),
    "asarray": lambda d: xp.asarray(d[["a", "n"]])[:, 0],
    "concat": lambda d: pd.concat([d["a"], d["c"]]),
    "concat with NumPy's": lambda d: pd.concat([d["a"], pd.Series(A)]),
    "merge": lambda d: d.merge(pd.DataFrame({"s": ["x"], "q": [2.0]}), on="s")["a"],
    "reindex": lambda d: d["a"].reindex([0, 3, 5]),
    "pivot_table": lambda d: d.pivot_table(index="s", values="a", aggfunc="mean"),
    "reset_index": lambda d: d.set_index("s")["a"].reset_index()["a"],
    "unique": lambda d: pd.Series(d["a"].unique()),
    "astype": lambda d: d["a"].astype(float) * d["c"],
    "nlargest": lambda d: d["a"].nlargest(2),
    "nlargest of a table": lambda d: d.nlargest(2, "a")["c"],
    "nsmallest with NaN": lambda d: d[["a", "b"]].nsmallest(4, "b", keep="all"),
    "mode": lambda d: d["b"].mode(),
    "mode of a table": lambda d: d[["a", "b"]].mode(),
    "drop_duplicates": lambda d: d.drop_duplicates("b")["a"],
    "rank": lambda d: d["a"].rank() * d["c"],
    "key of a group": lambda d: d.groupby("a")["c"].sum(),
    "key of a merge": lambda d: d[["a", "c"]].merge(d[["a", "b"]], on="a"),
    "index": lambda d: d.set_index("a")["c"],
    "divmod": lambda d: sum(divmod(d["a"], 0.7)),
    "values @": lambda d: pd.Series([d["a"].values @ WEIGHTS[:4]]),
    "asarray of a table": lambda d: np.percentile(d[["a", "c"]], 30.0),
    "dot": lambda d: d[["a", "c"]].dot(d[["a", "c"]].T),
    "one column's values": lambda d: xp.asarray(d[["a"]].values)[:, 0],
    "agg": lambda d: d[["a", "c"]].agg(["mean", "std"]),
    "apply to rows": lambda d: d[["a", "c"]].apply(lambda r: r["a"] * r["c"], axis=1),
    "pivot_table with margins": lambda d: d.pivot_table(
        index="s", columns="n", values="a", margins=True
    ),
    "write": lambda d: written(d["a"]),
}  # fmt: skip


def written(column):
    column = column.copy()
    column.iloc[1] = column.iloc[0] * 3.0
    column.loc[2:] = 0.5
    column.iloc[2:] = column.iloc[:2]
    column.iloc[3] = None
    return column


@pytest.mark.parametrize("f", METHODS.values(), ids=METHODS)
@pytest.mark.filterwarnings("error")
def test_a_method_has_pandas_values_and_a_gradient(f):
    wanted = total(f(plain(A)))
    assert abs(float(total(f(taped(xp.asarray(A))))) - float(wanted)) <= 1e-13 * abs(float(wanted))
    testing.check_gradients(lambda a: total(f(taped(a))), [A], order=2, rtol=1e-5, seeds=1)


# --- reductions with each option, of rows, columns and groups, some of them empty or of one element ----
GAPS = pd.DataFrame({
    "a": [1.0, 2.0, 3.0, 4.0, 5.0, np.nan],
    "b": [np.nan, 1.0, np.nan, 2.0, 3.0, np.nan],
    "g": ["x", "x", "y", "y", None, "z"],
})  # fmt: skip
OPTIONS = [("min_count", 2), ("skipna", False), ("ddof", 0)]
SUBSETS = [dict(pairs) for n in range(3) for pairs in itertools.combinations(OPTIONS, n)]
NUMBERS = ["a", "b"]
REDUCED = [*REDUCTIONS, *TRUTHS, "first", "last", "nunique", "count"]
WAYS = {
    "columns": lambda d, how, options: getattr(d[NUMBERS], how)(**options),
    "rows": lambda d, how, options: getattr(d[NUMBERS], how)(axis=1, **options),
    "column": lambda d, how, options: getattr(d["b"], how)(**options),
    "no row": lambda d, how, options: getattr(d["b"][:0], how)(**options),
    "groups": lambda d, how, options: getattr(d.groupby("g")[NUMBERS], how)(**options),
    "groups with NaN": lambda d, how, options: getattr(
        d.groupby("g", dropna=False)["a"], how
    )(**options),
    "agg": lambda d, how, options: d.groupby("g").agg(how, **options),
    "transform": lambda d, how, options: d.groupby("g")["b"].transform(how, **options),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", REDUCED)
@pytest.mark.filterwarnings("error", "ignore:.*not passing numeric_only:FutureWarning")
def test_a_reduction_has_pandas_result_with_each_option(how, way):
    compared = 0
    for options in SUBSETS:
        try:
            wanted = WAYS[way](GAPS, how, options)
        except (AttributeError, TypeError):  # pandas has no such method or option
            continue
        found = []
        xp.grad(lambda d: found.append(WAYS[way](d, how, options)) or d["a"].sum())(GAPS)  # noqa: B023
        compared += 1
        assert np.shape(found[0]) == np.shape(wanted)
        np.testing.assert_allclose(
            np.asarray(found[0], dtype=float), np.asarray(wanted, dtype=float), err_msg=str(options)
        )
    assert compared or (how, way) in {("first", w) for w in WAYS} | {("last", w) for w in WAYS}


@pytest.mark.filterwarnings("error")
def test_groups_that_are_too_small_have_the_gradient_0():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "g": ["x", "x", "y"]})
    small = xp.grad(lambda d: d.groupby("g")["a"].var().sum())(table)["a"]
    assert small.tolist() == [-1.0, 1.0, 0.0]
    few = xp.grad(lambda d: d.groupby("g")["a"].sum(min_count=2).sum())(table)["a"]
    assert few.tolist() == [1.0, 1.0, 0.0]


CONSTANTS = {
    "repr": repr,
    "isna": lambda d: d["b"].isna(),
    "comparison": lambda d: d["a"] > d["c"],
    "argsort": lambda d: d["a"].argsort(),
    "idxmax": lambda d: d["a"].idxmax(),
    "nunique": lambda d: d["a"].nunique(),
    "value_counts": lambda d: d["a"].value_counts().tolist(),
    "factorize": lambda d: pd.factorize(d["a"])[0],
    "isin": lambda d: d["a"].isin([2.5]),
    "shape": lambda d: d.select_dtypes("number").shape,
}


@pytest.mark.parametrize("f", CONSTANTS.values(), ids=CONSTANTS)
@pytest.mark.filterwarnings("error")
def test_what_has_no_gradient_is_pandas_own_result(f):
    found, wanted = f(taped(xp.asarray(A))), f(plain(A))
    assert type(found) is type(wanted)
    assert np.all(found == wanted)


@pytest.mark.parametrize("name", ["sem", "skew", "kurt", "cummax"])
def test_a_method_without_a_derivative_says_what_to_do(name):
    with pytest.raises(TypeError, match=r"take the column by \.to_numpy\(\)"):
        getattr(taped(xp.asarray(A))["a"], name)()


GROUPS = {
    "rank": lambda d: d.groupby("s")["a"].rank(),
    "idxmax": lambda d: d.groupby("s")["a"].idxmax(),
    "cummin": lambda d: d.groupby("s")["a"].cummin(),
    "interpolate": lambda d: d["b"].interpolate(),
}


@pytest.mark.parametrize("name", GROUPS)
def test_an_error_names_the_method_and_the_users_line(name):
    with pytest.raises(TypeError, match=f"pandas' {name} of this column .at {re.escape(__file__)}"):
        GROUPS[name](taped(xp.asarray(A)))


@pytest.mark.parametrize("f", [
    lambda d: d["a"].rolling(2).mean(), lambda d: d["a"].astype("Float64"),
    lambda d: d["a"].quantile(0.3),
])  # fmt: skip
def test_what_pandas_computes_in_compiled_code_is_warned_of(f):
    x = xp.asarray(A)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = total(xp.asarray(f(taped(x))))
    np.testing.assert_allclose(np.asarray(y), float(total(xp.asarray(f(plain(A))))))
    with pytest.warns(xp.TapeWarning, match="left the tape"):
        assert tape.gradient(y, x) is None


@pytest.mark.parametrize("f", [
    lambda d: d.nlargest(2, "a")["c"].sum(), lambda d: d["c"].sum() + d["a"].rank().sum(),
    lambda d: d.groupby("a")["c"].sum().sum(), lambda d: d.drop_duplicates("a")["c"].sum(),
])  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_what_only_compares_values_is_no_lost_gradient(f):
    table = plain(A)[["a", "b", "c", "s"]]
    assert not xp.grad(f)(table)["a"].any()


def test_an_error_says_where_the_methods_of_arrays_are():
    with pytest.raises(AttributeError, match=r"column\.to_numpy\(\)\.sum .at"):
        taped(xp.asarray(A))["a"].values.sum()
    with pytest.raises(AttributeError, match=r"'nothing'$"):
        taped(xp.asarray(A))["a"].values.nothing()


def test_the_dtype_has_a_name():
    dtype = ArrayDtype("float32")
    assert str(dtype) == "arraytape[float32]"
    assert pd.api.types.pandas_dtype("arraytape[float32]") == dtype
    assert pd.Series([1.0, None], dtype="arraytape[float64]").isna().tolist() == [False, True]
    for name in ("arraytape", "arraytape[int64]", "float64"):
        with pytest.raises(TypeError, match=re.escape(name)):
            ArrayDtype.construct_from_string(name)


def test_columns_are_copied_and_pickled():
    column = taped(xp.asarray(A))["a"]
    for made in (copy.deepcopy(column), pickle.loads(pickle.dumps(column))):
        assert made.dtype == column.dtype
        assert made.tolist() == A.tolist()
    again = column.copy()
    again.iloc[0] = 9.0
    assert float(column.iloc[0]) == 1.0


def test_an_index_of_a_take_is_checked():
    column = ArrayColumn(xp.asarray(A))
    assert np.isnan(np.asarray(column.take([0, -1], allow_fill=True))).tolist() == [False, True]
    assert np.asarray(column.take([0, -1])).tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="less than -1"):
        column.take([-2], allow_fill=True)
    assert len(ArrayColumn(xp.zeros(0)).take([-1], allow_fill=True)) == 1


# --- keys: values that pandas looks up, compares or groups by -----------------------------------------
TABLE = pd.DataFrame({"a": [3.0, 1.0, 2.0, 1.0], "b": [1.0, 2.0, 4.0, 3.0]})
OTHER = pd.DataFrame({"b": [1.0, 9.0, 4.0], "z": [1.0, 2.0, 3.0]})
KEYS = {
    "categories": lambda d: d["b"].astype("category").astype(float),
    "crosstab": lambda d: pd.crosstab(d["b"], d["a"]).index,
    "drop_duplicates": lambda d: d.drop_duplicates("b")["b"],
    "factorize": lambda d: pd.Series(d["b"].factorize()[1]),
    "get_dummies": lambda d: pd.get_dummies(d["b"]).columns,
    "groups as a column": lambda d: d.groupby("b", as_index=False)["a"].sum()["b"],
    "groups as an index": lambda d: d.groupby("b")["a"].sum().index,
    "groups by two": lambda d: d.groupby(["b", "a"]).size().reset_index()["b"],
    "index.append": lambda d: d.set_index("b").index.append(d.set_index("b").index),
    "index.difference": lambda d: d.set_index("b").index.difference(d.set_index("b").index[:2]),
    "index.intersection": lambda d: d.set_index("b").index.intersection(d.set_index("b").index[:2]),
    "index.union": lambda d: d.set_index("b").index.union(pd.Index([9.0])),
    "index.unique": lambda d: d.set_index("b").index.unique(),
    "join": lambda d: d.set_index("b").join(d.set_index("b").add_suffix("r")).reset_index()["b"],
    "levels": lambda d: d.set_index(["a", "b"]).index.get_level_values(1),
    "merge": lambda d: d.merge(d, on="b")["b"],
    "mode": lambda d: d["b"].mode(),
    "nsmallest by two": lambda d: d.nsmallest(3, ["b", "a"])["a"],
    "pivot": lambda d: d.pivot_table(index="b", values="a").reset_index()["b"],
    "reset_index": lambda d: d.set_index("b").reset_index()["b"],
    "sort_index": lambda d: d.set_index("b").sort_index().reset_index()["b"],
    "sort by two": lambda d: d.sort_values(["b", "a"])["a"],
    "unique": lambda d: pd.Series(d["b"].unique()),
    "value_counts": lambda d: d["b"].value_counts().index,
    "with NaN": lambda d: pd.Series(d["b"].where(d["b"] > 1.5).factorize(use_na_sentinel=False)[1]),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_stay_on_the_tape(name):
    def loss(table):
        found = KEYS[name](table)
        found = xp.asarray((found.to_series() if isinstance(found, pd.Index) else found).to_numpy())
        return xp.sum(xp.where(xp.isnan(found), 0.0, found) ** 2 * xp.arange(1.0, len(found) + 1.0))

    slopes = xp.grad(loss)(TABLE)
    for column in TABLE:
        for row in range(len(TABLE)):
            sides = []
            for step in (1e-6, -1e-6):
                moved = TABLE.copy()
                moved.loc[row, column] += step
                sides.append(float(loss(moved)))
            expected = (sides[0] - sides[1]) / 2e-6
            np.testing.assert_allclose(slopes.loc[row, column], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("how", "expected"), [("inner", [2.0, 0.0, 16.0, 0.0]), ("outer", [2.0, 8.0, 32.0, 18.0])]
)
def test_tables_of_arrays_and_of_numbers_merge(how, expected):
    def loss(table):
        found = table.merge(OTHER, on="b", how=how)["b"].iloc[: 2 if how == "inner" else 4]
        return xp.sum(xp.asarray(found.to_numpy()) ** 2 * xp.arange(1.0, len(found) + 1.0))

    assert xp.grad(loss)(TABLE)["b"].tolist() == expected


def test_a_value_that_occurs_twice_is_its_first_element():
    slopes = xp.grad(lambda d: xp.sum(xp.asarray(d["a"].unique().to_numpy()) ** 2))(TABLE)
    assert slopes["a"].tolist() == [6.0, 2.0, 4.0, 0.0]
