"""Every function of NumPy's on Arrays with each of its keywords: values, gradients, out=, vmap, lists.

The calls are those of ``helpers.numpy_calls``.  A function or a keyword without a call fails, unless the
scope page has its reason.
"""

import inspect
import io

import numpy as np
import pytest
import scope_table

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import examples
from tests.helpers.numpy_calls import CALLS, CLOSE, NO_KEYWORD, REFUSED, WRITERS
from tests.helpers.same_values import bits, near, quiet

FUNCTIONS = {
    name: function
    for name, function in scope_table.public()
    if not isinstance(function, np.ufunc)
}
UNDEFINED = {"np.empty_like"}  # values
FILES = (io.BytesIO, io.StringIO)
EVERY = [(name, i) for name, calls in CALLS.items() for i in range(len(calls))]


def nested(value, function):
    """A nesting with the function's answer in the place of each NumPy array."""
    if isinstance(value, np.ndarray):
        return function(value)
    if isinstance(value, dict):
        return {key: nested(part, function) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)([nested(part, function) for part in value])
    return value() if value in FILES else value


def arrays_of(call):
    """The NumPy arrays of a call, in order."""
    found = []
    nested(tuple(call), found.append)
    return found


def run(name, call, arrays):
    """The result of a call with other arrays in the places of its own."""
    rest = iter(arrays)
    args, keywords = nested(tuple(call), lambda _: next(rest))
    found = FUNCTIONS[name](*args, **keywords)
    return args[0] if name in WRITERS else found


def expected(name, call):
    with quiet():
        return run(name, call, [x.copy(order="K") for x in arrays_of(call)])


def assert_same(found, reference, close=0.0, undefined=False):
    """NumPy's structure, dtype, shape and bits."""
    if isinstance(reference, list | tuple):
        assert isinstance(found, list | tuple)
        assert len(found) == len(reference)
        for one, other in zip(found, reference, strict=True):
            assert_same(one, other, close, undefined)
    elif isinstance(reference, np.ndarray | np.generic):
        assert type(found) is xp.Array
        x, y = np.asarray(found), np.asarray(reference)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if not undefined:
            assert near(x, y, close) if close else np.array_equal(bits(x), bits(y))
    else:
        assert type(found) is type(reference)
        assert found == reference


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_calls_or_a_reason(name):
    raises = name.rpartition(".")[2] in {n for group in scope_table.REASONS.values() for n in group}
    assert (name in CALLS) is (name not in scope_table.missing())
    assert name in CALLS or raises


@pytest.mark.parametrize("name", CALLS)
def test_every_keyword_is_in_a_call(name):
    said = {("out", *NO_KEYWORD)}
    for call in CALLS[name]:
        given = inspect.signature(FUNCTIONS[name]).bind(*call.args, **call.keywords)
        said |= {*given.arguments, *given.arguments.get("kwargs", {})}
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    missing = [p for p in parameters if p not in said and (name, p) not in REFUSED]
    assert [p for p in missing if p not in NO_KEYWORD] == []


@pytest.mark.parametrize(("name", "i"), EVERY)
def test_values_are_numpys(name, i):
    call = CALLS[name][i]
    reference = expected(name, call)
    with quiet():
        found = run(name, call, [xp.asarray(x, copy=True) for x in arrays_of(call)])
    if name == "np.unique_values":  # in any order
        found, reference = np.sort(found), np.sort(reference)
    assert_same(found, reference, CLOSE.get(name, 0.0), name in UNDEFINED)


@pytest.mark.parametrize(("name", "i"), EVERY)
def test_one_array_is_enough(name, i):
    """The others may be NumPy's: nothing leaves."""
    call = CALLS[name][i]
    data = arrays_of(call)
    for at in range(len(data)):
        if len(data) == 1 or (name in WRITERS and at):
            continue
        arrays = [xp.asarray(x, copy=True) if j == at else x.copy() for j, x in enumerate(data)]
        with quiet():
            found = run(name, call, arrays)
        if name == "np.unique_values":
            found = np.sort(found)
        assert_same(found, expected(name, call), CLOSE.get(name, 0.0), name in UNDEFINED)


def results_of(found):
    """NumPy's arrays and scalars in a nesting of results."""
    if isinstance(found, list | tuple):
        return [x for part in found for x in results_of(part)]
    return [found] if isinstance(found, np.ndarray | np.generic) else []


def differentiable(name, call):
    """The places of the arrays to differentiate, if double precision goes all the way."""
    data = arrays_of(call)
    places = [i for i, x in enumerate(data) if x.dtype in (np.float64, np.complex128)]
    results = results_of(expected(name, call))
    single = any(x.dtype in (np.float32, np.complex64, np.float16) for x in (*results, *data))
    return [] if single or name in UNDEFINED else places


@pytest.mark.parametrize(("name", "i"), EVERY)
def test_gradients_are_right_to_second_order(name, i):
    call = CALLS[name][i]
    data, places = arrays_of(call), differentiable(name, call)
    if not places or name.startswith("np.save"):
        return

    def total(*xs):
        given = dict(zip(places, xs, strict=True))
        arrays = [given[j] + 0.0 if j in given else xp.asarray(x) for j, x in enumerate(data)]
        found = [*examples.arrays_in((run(name, call, arrays),))]
        return testing.total([y for y in found if y.dtype.kind in "fc"])

    with quiet():
        testing.check_gradients(total, [data[j] for j in places], seeds=1, rtol=1e-6)
