"""Special functions on storages other than NumPy's: the same derivatives, and no look at values."""

from __future__ import annotations

import numpy as np
import pytest

import arraytape as xp
from arraytape import special
from arraytape.special._statement import STATEMENTS
from arraytape.testing import storages
from special.references import elementary, error, exponential, gamma, lambert
from special.test_statements import arguments, differentiable

pytestmark = pytest.mark.timeout(120)
CHAPTERS = (elementary, error, exponential, gamma, lambert)
NAMES = sorted(name for chapter in CHAPTERS for name in chapter.REFERENCES)
STORAGES = [storages.strict(), storages.frozen(), storages.hostile()]


def derivatives(statement, arrays, i):
    """First and second derivative by one operand, on the host."""
    with xp.GradientTape() as outer:
        outer.watch(arrays[i])
        with xp.GradientTape() as tape:
            tape.watch(arrays[i])
            y = statement.function(*arrays)
        g = tape.gradient(y, arrays[i])
    h = outer.gradient(g, arrays[i], unconnected_gradients="zero")
    return [np.asarray(v.to_device("cpu")) for v in (g, h)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.every(3)
def test_derivatives_are_those_on_numpys_data(name):
    statement = STATEMENTS[name]
    # Counts as Python numbers: storages like array_api_strict's do not mix integers with floats.
    counts = [x in statement.integers for x in statement.op.inputs]
    values = [
        int(v[0]) if count else v for v, count in zip(arguments(statement), counts, strict=True)
    ]

    def as_arrays():
        return [v if count else xp.asarray(v) for v, count in zip(values, counts, strict=True)]

    for i in differentiable(statement):
        expected = derivatives(statement, as_arrays(), i)
        for storage in STORAGES:
            with storages.on(storage):
                arrays = as_arrays()
            found = derivatives(statement, arrays, i)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays_and_python_numbers_do_not_widen(name):
    statement = STATEMENTS[name]
    values = arguments(statement)
    single = [v.astype(np.float32) if v.dtype.kind == "f" else v for v in values]
    double = [v.astype(np.float64) if v.dtype.kind == "f" else v for v in single]
    for i in differentiable(statement):
        found = derivatives(statement, [xp.asarray(v) for v in single], i)
        expected = derivatives(statement, [xp.asarray(v) for v in double], i)
        assert found[0].dtype == np.float32
        np.testing.assert_allclose(found[0], expected[0], rtol=2e-4, atol=1e-30)
        numbers = [float(v[0]) if v.dtype.kind == "f" else int(v[0]) for v in values]
        whole = [v[:1] for v in values]
        beside = [whole[k] if k == i else v for k, v in enumerate(numbers)]
        found = derivatives(statement, [xp.asarray(v) if v is whole[i] else v for v in beside], i)
        expected = derivatives(statement, [xp.asarray(v) for v in whole], i)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300)


COMPOSED = {
    "logsumexp": lambda x: special.logsumexp(x, return_sign=True)[0],
    "weighted logsumexp": lambda x: special.logsumexp(x, b=x),
    "softmax": special.softmax,
    "log_softmax": special.log_softmax,
    "softplus": special.softplus,
    "sinc": special.sinc,
}


@pytest.mark.parametrize("name", COMPOSED)
def test_functions_made_of_ops_take_no_constants_from_the_host(name, monkeypatch):
    storage = storages.hostile()
    with storages.on(storage):
        x = xp.asarray([0.5, 1.5])

    def refuse(value, *_):
        raise AssertionError(f"{value!r} was moved from the host")

    monkeypatch.setattr(storage, "asarray", refuse)
    g = xp.grad(lambda x: xp.sum(COMPOSED[name](x)))(x)
    assert g.device == storage.devices()[0]
