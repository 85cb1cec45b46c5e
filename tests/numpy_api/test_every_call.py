"""Every function of NumPy's on Arrays with each of its keywords: values, gradients, out=, vmap, lists.

The calls are those of ``helpers.numpy_calls``.  A function or a keyword without a call fails, unless the
scope page has its reason.
"""

import inspect
import io
import warnings

import numpy as np
import pytest
from tests.helpers.numpy_calls import (
    CALLS,
    CLOSE,
    NO_KEYWORD,
    NOT_MAPPED,
    REFUSED,
    UNASKED,
    WRITERS,
)
from tests.helpers.same_values import bits, near, quiet

import arraytape as xp
import scope_table
from arraytape import testing
from arraytape._numpy_api import examples

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
    nested(call[:2], found.append)
    return found


def run(name, call, arrays):
    """The result of a call with other arrays in the places of its own."""
    rest = iter(arrays)
    args, keywords = nested(call[:2], lambda _: next(rest))
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
    elif isinstance(reference, np.integer) and isinstance(found, int):  # such as a rank
        assert found == reference
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
    said = set()
    for call in CALLS[name]:
        given = inspect.signature(FUNCTIONS[name]).bind(*call.args, **call.keywords)
        said |= {*given.arguments, *given.arguments.get("kwargs", {})}
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    missing = [p for p in parameters if p not in said and (name, p) not in REFUSED]
    assert [p for p in missing if p not in NO_KEYWORD] == []


@pytest.mark.parametrize(("name", "parameter"), REFUSED)
def test_a_keyword_that_is_refused_raises(name, parameter):
    call = CALLS[name][0]
    with pytest.raises((TypeError, ValueError), match=parameter):
        FUNCTIONS[name](*nested(call.args, xp.asarray), **{parameter: REFUSED[name, parameter]})


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
    """The others may be NumPy's.  Where NumPy does not ask the one, a gradient through it says so."""
    call = CALLS[name][i]
    data, reference = arrays_of(call), expected(name, call)
    for at in range(len(data)):
        if len(data) == 1 or (name in WRITERS and at) or name.startswith("np.save"):
            continue
        try:
            found, lost = with_one_array(name, call, at)
        except TypeError as error:
            assert "cannot write a recorded" in str(error) or "no recorded counterpart" in str(error)
            continue
        if name == "np.unique_values":
            found, reference = np.sort(found), np.sort(reference)
        if results_of(found):  # NumPy's arrays: it did not ask
            assert lost or data[at].dtype.kind not in "fc" or not is_followed(name, call, at)
        else:
            assert_same(found, reference, CLOSE.get(name, 0.0), name in UNDEFINED)


def with_one_array(name, call, at):
    """The result where only one of the arrays is an Array, and whether a gradient warns."""
    data = arrays_of(call)
    x = xp.asarray(data[at], copy=True)
    arrays = [x if j == at else other.copy(order="K") for j, other in enumerate(data)]
    with quiet(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", xp.TapeWarning)
        with xp.GradientTape() as tape:
            if x.dtype.kind in "fc":
                tape.watch(x)
            found = run(name, call, arrays)
            floats = [xp.asarray(y) for y in results_of(found) if y.dtype.kind in "fc"]
            loss = testing.total([x + 0.0, *floats])
        if x.dtype.kind in "fc":
            tape.gradient(loss, x)
    return found, any("left the tape" in str(w.message) for w in caught)


def is_followed(name, call, at):
    """Whether results hang on an array in floating point."""
    moved = [x + 1e-3 if j == at else x for j, x in enumerate(arrays_of(call))]
    before, after = (run(name, call, [x.copy() for x in xs]) for xs in (arrays_of(call), moved))
    pairs = zip(results_of(before), results_of(after), strict=True)
    return any(not np.array_equal(x, y, equal_nan=True) for x, y in pairs if x.dtype.kind in "fc")


def results_of(found):
    """NumPy's arrays and scalars in a nesting of results."""
    if isinstance(found, list | tuple):
        return [x for part in found for x in results_of(part)]
    return [found] if isinstance(found, np.ndarray | np.generic) else []


def symmetric(x):
    """Matrices as functions of symmetric matrices get them."""
    return (x + np.swapaxes(x, -1, -2)) / 2.0 if x.ndim > 1 else x


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
    if not places or not call.smooth or name.startswith("np.save"):
        return

    def total(*xs):
        given = dict(zip(places, xs, strict=True))
        arrays = [given[j] + 0.0 if j in given else xp.asarray(x) for j, x in enumerate(data)]
        arrays = [symmetric(x) for x in arrays] if call.symmetric else arrays
        found = [*examples.arrays_in((run(name, call, arrays),))]
        return testing.total([y for y in found if y.dtype.kind in "fc"])

    with quiet():
        testing.check_gradients(total, [data[j] for j in places], seeds=1, rtol=1e-6)


# --- out=, vmap ------------------------------------------------------------------------------------
TAKE_OUT = [
    name for name in CALLS if "out" in inspect.signature(FUNCTIONS[name]).parameters
]  # fmt: skip


@pytest.mark.parametrize("name", TAKE_OUT)
def test_results_are_written_to_out(name):
    call = CALLS[name][0]
    reference = expected(name, call)
    arrays = [xp.asarray(x, copy=True) for x in arrays_of(call)]
    out = xp.asarray(np.empty(np.shape(reference), reference.dtype))
    with_out = call._replace(keywords=call.keywords | {"out": out})
    with xp.GradientTape() as tape, quiet():
        tape.watch([x for x in arrays if x.dtype.kind in "fc"])
        found = run(name, with_out, arrays)
    assert found is out
    assert_same(out, reference, CLOSE.get(name, 0.0))
    floats = [x for x in arrays if x.dtype.kind in "fc"]
    if floats and out.dtype.kind in "fc" and name not in ("np.round", "np.around", "np.fix"):
        assert all(g is not None for g in tape.gradient(out, floats))


@pytest.mark.parametrize("name", TAKE_OUT)
def test_a_result_is_not_written_to_numpys_array(name):
    call = CALLS[name][0]
    reference = expected(name, call)
    with_out = call._replace(keywords=call.keywords | {"out": np.empty_like(reference)})
    with pytest.raises(TypeError, match="cannot write a recorded"), quiet():
        FUNCTIONS[name](*nested(with_out.args, xp.asarray), **with_out.keywords)


@pytest.mark.parametrize(("name", "i"), EVERY)
def test_examples_under_vmap_are_those_of_a_loop(name, i):
    """Or vmap is refused: where results are no Arrays, or their shapes hang on values."""
    call = CALLS[name][i]
    data = arrays_of(call)
    places = [j for j, x in enumerate(data) if x.dtype.kind in "fc" and x.size]
    skipped = name in UNDEFINED | WRITERS or name.startswith("np.save")
    if not places or skipped or not call.smooth:  # np.stack changes the layout
        return

    def one(*xs):
        given = dict(zip(places, xs, strict=True))
        arrays = [given[j] if j in given else xp.asarray(x) for j, x in enumerate(data)]
        return [*examples.arrays_in((run(name, call, arrays),))]

    both = [xp.asarray(np.stack([data[j], 1.01 * data[j]])) for j in places]
    with quiet():
        alone = [one(*(x[k] for x in both)) for k in range(2)]
        try:
            found = xp.vmap(one)(*both)
        except (TypeError, ValueError) as error:
            assert name in NOT_MAPPED or "vmap" in str(error) or not alone[0]
            return
    for y, *lines in zip(found, *alone, strict=True):
        for k in range(2):
            same = near(np.asarray(y[k]), np.asarray(lines[k]), 8.0)
            assert same, f"{y[k]!r} is not {lines[k]!r}"


# --- lists of Arrays -------------------------------------------------------------------------------
LISTED = [
    (name, i, at)
    for name, calls in CALLS.items()
    for i, call in enumerate(calls)
    if len(arrays_of(call)) > 1 and not name.startswith("np.save")
    for at, x in enumerate(call.args)
    if isinstance(x, np.ndarray) and x.size and x.ndim and not (name in WRITERS and at == 0)
    if name not in UNASKED or (at and name != "np.apply_along_axis")
]


@pytest.mark.parametrize(("name", "i", "at"), LISTED)
def test_a_list_of_arrays_is_an_array(name, i, at):
    call = CALLS[name][i]
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        found, gradients = with_a_list(name, call, at, list)
        reference, expected_gradients = with_a_list(name, call, at, np.stack)
    for y, other in zip(*(examples.arrays_in((x,)) for x in (found, reference)), strict=True):
        assert_same(y, np.asarray(other), CLOSE.get(name, 0.0), name in UNDEFINED)
    for g, other in zip(gradients, expected_gradients, strict=True):
        assert (g is None) == (other is None)
        assert g is None or near(np.asarray(g), np.asarray(other), 64.0)


def with_a_list(name, call, at, join):
    """The result with one array as a list of its rows, or as those joined, and all gradients."""
    args, keywords = nested(call[:2], lambda x: xp.asarray(x, copy=True))
    rows = [xp.asarray(np.asarray(args[at])[k]) for k in range(args[at].shape[0])]
    others = examples.arrays_in((args[:at], args[at + 1 :], keywords))
    sources = [x for x in (*others, *rows) if x.dtype.kind in "fc"]
    with xp.GradientTape() as tape:
        tape.watch(sources)
        args = [*args[:at], join(rows), *args[at + 1 :]]
        if name in WRITERS:
            args[0] = xp.asarray(args[0], copy=True)
        found = FUNCTIONS[name](*args, **keywords)
        found = args[0] if name in WRITERS else found
        floats = [y for y in examples.arrays_in((found,)) if y.dtype.kind in "fc"]
        loss = testing.total(floats)
    return found, tape.gradient(loss, sources) if floats and sources else []
