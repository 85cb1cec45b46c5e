"""scikit-learn's estimators on tables of pandas whose columns hold Arrays."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import arraytape as xp
from arraytape import interop

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(20, 3)), columns=list("abc"), index=range(5, 25))
TEXT = TABLE.assign(s=list("xyzx") * 5)
Y = TABLE["a"] * 2.0 + TABLE["b"] - 1.0 + 0.1 * RNG.normal(size=20)
WEIGHTS = np.linspace(-1.0, 1.0, 20)


def total(found):
    found = xp.asarray(found)
    return xp.sum(found**2 * (WEIGHTS if found.ndim == 1 else WEIGHTS[:, None]))


def by_names():
    return ColumnTransformer([
        ("numbers", MinMaxScaler(), ["a", "b"]),
        ("text", OneHotEncoder(sparse_output=False), ["s"]),
    ])  # fmt: skip


def pandas(transformer):
    return transformer.set_output(transform="pandas")


NUMBERS = {
    "fit and predict": lambda d: Ridge().fit(d, Y).predict(d),
    "predict": lambda d: Ridge().fit(TABLE, Y).predict(d),
    "neighbors": lambda d: KNeighborsRegressor(weights="distance").fit(TABLE + 0.3, Y).predict(d),
    "target": lambda d: Ridge().fit(TABLE, d["a"] * d["b"]).predict(TABLE),
    "some columns": lambda d: Ridge().fit(d[["a", "b"]], Y).predict(d[["a", "b"]]) * d["c"],
    "PCA": lambda d: PCA(2).fit_transform(d),
    "impute": lambda d: SimpleImputer().fit_transform(d),
    "polynomials": lambda d: PolynomialFeatures(2).fit_transform(d),
    "function": lambda d: FunctionTransformer(np.exp).fit_transform(d),
    "to pandas": lambda d: pandas(MinMaxScaler()).fit_transform(d),
    "to pandas' column": lambda d: pandas(PolynomialFeatures(2)).fit_transform(d)["a b"],
    "union to pandas": lambda d: pandas(
        FeatureUnion([("a", MinMaxScaler()), ("b", PCA(2))])
    ).fit_transform(d),
    "split": lambda d: Ridge().fit(
        train_test_split(d, random_state=0)[0], train_test_split(Y, random_state=0)[0]
    ).predict(d),
    "scores": lambda d: cross_val_score(Ridge(), d, Y)[0] * np.ones(20),
    "search": lambda d: GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}).fit(d, Y).predict(d),
    "values": lambda d: Ridge().fit(d.values, Y).predict(d.values),
    "to_numpy": lambda d: StandardScaler().fit_transform(d.to_numpy()),
    "np.asarray": lambda d: Ridge().fit(TABLE.to_numpy(), Y).predict(np.asarray(d)),
    "values beside whole numbers": lambda d: PCA(2).fit_transform(
        d.assign(n=range(20)).to_numpy()
    ),
    "values in a pipeline": lambda d: make_pipeline(
        ColumnTransformer([("n", MinMaxScaler(), [0, 2])], remainder="passthrough"), Ridge()
    ).fit(d.to_numpy(), Y).predict(d.to_numpy()),
    "values' scores": lambda d: cross_val_score(Ridge(), d.to_numpy(), Y)[0] * np.ones(20),
    "columns by dtype": lambda d: ColumnTransformer(
        [("n", MinMaxScaler(), make_column_selector(dtype_include="number"))]
    ).fit_transform(d),
}  # fmt: skip
TEXTS = {
    "by names": lambda d: by_names().fit_transform(d),
    "by names, to pandas": lambda d: pandas(by_names()).fit_transform(d),
    "by names, fitted": lambda d: make_pipeline(by_names(), Ridge()).fit(d, Y).predict(d),
    "by names, to pandas, fitted": lambda d: (
        make_pipeline(pandas(by_names()), Ridge()).fit(d, Y).predict(d)
    ),
    "passthrough": lambda d: ColumnTransformer(
        [("s", "drop", ["s"])], remainder="passthrough"
    ).fit_transform(d),
}


ROWS = {
    name: (table, f)
    for table, functions in ((TABLE, NUMBERS), (TEXT, TEXTS))
    for name, f in functions.items()
}


@pytest.mark.parametrize(("table", "f"), ROWS.values(), ids=ROWS)
@pytest.mark.filterwarnings("error")
def test_an_estimator_has_a_gradient_by_the_columns_of_numbers(table, f):
    along = np.random.default_rng(1).normal(size=(20, 3))

    def at(h):
        moved = table.copy()
        moved[["a", "b", "c"]] += h * along
        return float(total(f(moved)))

    with interop.sklearn():
        value, found = xp.value_and_grad(lambda d: total(f(d)))(table)
    assert (found.columns.tolist(), found.index.tolist()) == (
        table.columns.tolist(), table.index.tolist(),
    )  # fmt: skip
    np.testing.assert_allclose(value, at(0.0), rtol=1e-10)
    h = 1e-3
    slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
    inner = np.sum(found[["a", "b", "c"]].to_numpy() * along)
    np.testing.assert_allclose(inner, slope, rtol=1e-5, atol=1e-8)


def test_scaled_tables_keep_their_labels():
    with interop.sklearn():
        made = []
        xp.grad(lambda d: total(made.append(pandas(MinMaxScaler()).fit_transform(d)) or d))(TABLE)
        fitted = []
        xp.grad(lambda d: total(fitted.append(Ridge().fit(d, Y)) or d))(TABLE)
    assert made[0].columns.tolist() == ["a", "b", "c"]
    assert made[0].index.tolist() == TABLE.index.tolist()
    assert fitted[0].feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_column_of_text_is_named():
    with (
        interop.sklearn(),
        pytest.raises(TypeError, match=r"table\[\['a', 'b', 'c'\]\].*column 's'"),
    ):
        xp.grad(lambda d: total(Ridge().fit(d, Y).predict(d)))(TEXT)


def test_a_fit_without_a_derivative_says_so():
    with interop.sklearn(), pytest.raises(TypeError, match="trees split at thresholds"):
        xp.grad(lambda d: total(RandomForestRegressor(2).fit(d, Y).predict(d)))(TABLE)


WITHOUT = {
    "scaler": lambda d: StandardScaler().fit_transform(d),
    "pipeline": lambda d: make_pipeline(MinMaxScaler(), Ridge()).fit(d, Y).predict(d),
    "decomposition": lambda d: PCA(2).fit_transform(d),
    "values": lambda d: MinMaxScaler().fit_transform(d.to_numpy()),
    "with whole numbers": lambda d: StandardScaler().fit_transform(d.assign(n=range(20))),
}


@pytest.mark.parametrize("f", WITHOUT.values(), ids=WITHOUT)
def test_the_context_is_named_where_a_table_gets_to_an_estimator_without_it(f):
    message = (
        r"inside `with arraytape\.interop\.sklearn\(\):`, which has its derivatives.*test_dataf"
    )
    with pytest.raises(TypeError, match=message):
        xp.grad(lambda d: np.sum(f(d)))(TABLE)
