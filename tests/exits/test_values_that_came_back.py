"""Converted values that come back where only their numbers show it: on all storages and in traces.

The programs hide the value's way in state that the analysis of the code does not follow.
"""

import itertools
import pickle
import warnings

import numpy as np
import pytest

import arraytape as xp

pytestmark = pytest.mark.any_storage

AT = [[1.2345678, 0.7654321], [0.3333333, 0.5777777]]


def number_of(value):
    """Return the first number of a converted value."""
    return float(np.asarray(value).flat[0])


CONVERSIONS = {
    "float": lambda y: float(y[0, 0]),
    "item": lambda y: y.item(0, 0),
    "tolist": lambda y: y.tolist()[0][0],
    "asarray": lambda y: np.asarray(y),
    "asarray of a transpose": lambda y: np.asarray(y.T),
    "pickle": lambda y: pickle.loads(pickle.dumps(y)),
}
WAYS_BACK = {
    "a number": lambda x, value: x * number_of(value),
    "an Array": lambda x, value: x * xp.asarray(np.asarray(value)),
    "a full Array": lambda x, value: x * xp.full(x.shape, number_of(value)),
}


def hidden(value):
    """Return ``value``, kept in a class in between."""

    class Counter:
        total = 0.0

        def keep(self, given):
            type(self).total = given
            return self

    return Counter().keep(value).total


def recorded(f):
    def gradient(x):
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return gradient


def pushed(f):
    def derivative(x):
        with xp.ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
            y = f(x)
        return accumulator.jvp(y)

    return derivative


DERIVATIVES = {
    "tape": recorded,
    "accumulator": pushed,
    "tape of a function": lambda f: recorded(xp.function(f)),
    "function with a tape": lambda f: xp.function(recorded(f)),
    "accumulator of a function": lambda f: pushed(xp.function(f)),
    "recomputed": lambda f: recorded(xp.recompute_grad(f)),
}


def lost_parts(f, x):
    """Return the messages on lost parts that a derivative gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(x)
    return [str(warning.message) for warning in caught if "may be missing" in str(warning.message)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_value_that_came_back_is_recognized(derivative, dtype):
    x = xp.asarray(AT, dtype=getattr(xp, dtype))
    for conversion, way in itertools.product(CONVERSIONS, WAYS_BACK):
        if dtype == "complex128" and (conversion == "float" or way != "an Array"):
            continue

        def program(x, conversion=conversion, way=way):
            value = hidden(CONVERSIONS[conversion](x * 0.5))
            return xp.sum(xp.real(WAYS_BACK[way](x, value)))

        said = lost_parts(DERIVATIVES[derivative](program), x)
        assert said, (conversion, way)


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_other_constants_after_a_conversion_are_none(derivative):
    x, other = xp.asarray(AT), xp.asarray(AT) * 0.77

    def program(x):
        hidden(float((x * 0.5)[0, 0]))
        y = x * other * hidden(0.123456789)
        y[0, :] = xp.zeros(2) + hidden(0.123456789)
        return xp.sum(y)

    assert lost_parts(DERIVATIVES[derivative](program), x) == []
