"""A function may put other Arrays into the container that it gets, without effect on the gradient."""

import numpy as np
import pandas as pd
import pytest

import arraytape as xp


def normalized(p):
    p["w"] = p["w"] / xp.sum(p["w"])
    return p["w"][0] ** 2


def replaced(p):
    p[0] = 3.0 * p[0]
    p.append(1.0)
    return xp.sum(p[0] ** 2)


def popped(d):
    y = d.pop("b")
    return (d["a"] * y).sum()


def scaled(d):
    d["a"] *= 3.0
    d["c"] = d["a"] * d["b"]
    return (d["c"] ** 2).sum()


def without_a_row(d):
    d = d.copy()
    d["a"] = d["a"] - d["a"].mean()
    return (d["a"].iloc[1:] ** 2).sum()


def in_a_column(column):
    column *= 2.0
    return (column**2).sum()


TABLE = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
PROGRAMS = {
    "dict": (normalized, {"w": np.asarray([1.0, 3.0])}, {"w": [0.09375, -0.03125]}),
    "list": (replaced, [np.asarray([1.0, 3.0])], [[18.0, 54.0]]),
    "pop": (popped, TABLE, {"a": [3.0, 4.0], "b": [1.0, 2.0]}),
    "columns": (scaled, TABLE, {"a": [162.0, 576.0], "b": [54.0, 288.0]}),
    "copy": (without_a_row, TABLE, {"a": [-0.5, 0.5], "b": [0.0, 0.0]}),
    "Series": (in_a_column, TABLE["a"], [8.0, 16.0]),
}


def arrays(found):
    if isinstance(found, dict | pd.DataFrame):
        return [np.asarray(found[name]) for name in found]
    return [np.asarray(x) for x in found] if isinstance(found, list) else [np.asarray(found)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_the_argument(name):
    f, argument, expected = PROGRAMS[name]
    for found in (
        xp.grad(f)(argument),
        xp.value_and_grad(f)(argument)[1],
        xp.jacobian(f)(argument),
    ):
        wanted = arrays(expected) if name != "Series" else [np.asarray(expected)]
        for one, other in zip(arrays(found), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert TABLE.to_numpy().tolist() == [[1.0, 3.0], [2.0, 4.0]]


class Copying:
    """A nesting whose constructor copies the Array."""

    def __init__(self, w):
        self.w = xp.asarray(w, copy=True)


def test_a_nesting_may_copy_its_arrays():
    xp.register_nesting(Copying, lambda x: ([x.w], None), lambda _, parts: Copying(parts[0]))
    p = Copying([1.0, 2.0])
    assert xp.grad(lambda p: xp.sum(p.w**2))(p).w.tolist() == [2.0, 4.0]
    assert xp.vjp(lambda p: xp.sum(p.w**2), p)[1](1.0)[0].w.tolist() == [2.0, 4.0]
    assert float(xp.jvp(lambda p: xp.sum(p.w**2), (p,), (Copying([1.0, 1.0]),))[1]) == 6.0


def test_products_are_those_of_the_argument():
    p, v = {"w": np.asarray([1.0, 3.0])}, {"w": np.asarray([1.0, 0.0])}
    np.testing.assert_allclose(xp.jvp(normalized, (p,), (v,))[1], 0.09375)
    np.testing.assert_allclose(xp.hvp(normalized, (p,), (v,))[0]["w"], [0.0234375, -0.0390625])
