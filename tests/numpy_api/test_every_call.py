"""Every function of NumPy's on Arrays with each of its keywords: values, gradients, out=, vmap.

The calls are those of ``helpers.numpy_calls``.  A function or a keyword without a call fails, unless the
scope page has its reason.  Lists of Arrays are in test_lists_of_arrays.
"""

import inspect
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import one_by_one
from arraytape._util import nest
from helpers.numpy_calls import CALLS, NO_KEYWORD, REFUSED, WRITERS
from helpers.numpy_walk import (
    EVERY,
    FUNCTIONS,
    UNDEFINED,
    arrays_of,
    check_same,
    expected,
    nested,
    on_files,
    parameters,
    results_of,
    run,
)
from helpers.same_values import near, quiet
from status import scope as scope_table


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
    missing = [p for p in parameters(name) if p not in said | NO_KEYWORD]
    assert [p for p in missing if (name, p) not in REFUSED] == []


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
    check_same(name, call, found, reference)


@pytest.mark.parametrize(("name", "i"), EVERY)
@pytest.mark.every(3)
def test_one_array_is_enough(name, i):
    """The others may be NumPy's.  Where NumPy does not ask the one, a gradient through it says so."""
    call = CALLS[name][i]
    data = arrays_of(call)
    for at in range(len(data)):
        if len(data) == 1 or (name in WRITERS and at) or on_files(name):
            continue
        try:
            found, lost = with_one_array(name, call, at)
        except TypeError as error:
            check_refusal(error, "cannot write a recorded", "no recorded counterpart")
            continue
        if results_of(found):  # NumPy's arrays: it did not ask
            assert lost or data[at].dtype.kind not in "fc" or not is_followed(name, call, at)
        else:
            check_same(name, call, found, expected(name, call))


def check_refusal(error, *words):
    assert any(part in str(error) for part in words), error


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
@pytest.mark.every(3)
def test_gradients_are_right_to_second_order(name, i):
    call = CALLS[name][i]
    data, places = arrays_of(call), differentiable(name, call)
    if not places or not call.smooth or on_files(name):
        return

    def total(*xs):
        given = dict(zip(places, xs, strict=True))
        arrays = [given[j] + 0.0 if j in given else xp.asarray(x) for j, x in enumerate(data)]
        arrays = [symmetric(x) for x in arrays] if call.symmetric else arrays
        found = [*one_by_one.iterate_arrays((run(name, call, arrays),))]
        return testing.total([y for y in found if y.dtype.kind in "fc"])

    with quiet():
        testing.check_gradients(total, [data[j] for j in places], seeds=1, rtol=1e-6)


def in_positions(name, call):
    """The call with the keywords that NumPy takes at a position given there; None without such."""
    given = inspect.signature(FUNCTIONS[name]).bind(*call.args, **call.keywords)
    named = given.arguments.get("kwargs", {})
    given.apply_defaults()
    if not call.keywords or len(given.args) == len(call.args):
        return None
    args = list(given.args)
    while len(args) > len(call.args) and not said(name, len(args) - 1, call):
        args.pop()
    rest = {p: x for p, x in call.keywords.items() if p in given.kwargs or p in named}
    return call._replace(args=tuple(args), keywords=rest)


def said(name, place, call):
    """Whether the call names the parameter at a place."""
    return [*inspect.signature(FUNCTIONS[name]).parameters][place] in call.keywords


@pytest.mark.parametrize(("name", "i"), EVERY)
@pytest.mark.every(3)
def test_keywords_may_be_given_at_their_positions(name, i):
    call = in_positions(name, CALLS[name][i])
    if call is None:
        return
    with quiet():
        found = run(name, call, [xp.asarray(x, copy=True) for x in arrays_of(call)])
    check_same(name, call, found, expected(name, CALLS[name][i]))


# --- out=, vmap ------------------------------------------------------------------------------------
TAKE_OUT = [name for name in CALLS if "out" in parameters(name)]


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
    check_same(name, call, out, reference)
    floats = [x for x in arrays if x.dtype.kind in "fc"]
    if floats and out.dtype.kind in "fc" and name not in ("np.round", "np.around", "np.fix"):
        assert all(g is not None for g in tape.gradient(out, floats))


# Their accumulate writes behind the end of an out= of another shape, in NumPy 2.4.
UNSAFE = {
    "np.cumprod",
    "np.cumsum",
    "np.nancumprod",
    "np.nancumsum",
    "np.cumulative_prod",
    "np.cumulative_sum",
}


@pytest.mark.parametrize("name", [name for name in TAKE_OUT if name not in UNSAFE])
def test_out_of_another_shape_is_as_in_numpy(name):
    """Broadcast to where NumPy does that, and the same kind of error where it does not."""
    call = CALLS[name][0]
    reference = expected(name, call)
    shape = np.shape(reference)
    for other in ((1, *shape), (2, *shape), (*shape, 1), shape[1:] or (3,)):
        mine, numpys = (written_to_out(name, call, make, other, reference.dtype)
                        for make in (lambda x: xp.asarray(x, copy=True), np.copy))  # fmt: skip
        if isinstance(numpys, Exception) or isinstance(mine, Exception):
            kinds = [k for k in type(numpys).__mro__ if k.__module__ == "builtins"]
            kind = (
                ValueError if name == "np.choose" else kinds[0]
            )  # of which NumPy makes a TypeError
            assert isinstance(mine, kind), f"{mine!r}, NumPy: {numpys!r}"
        else:
            np.testing.assert_allclose(np.asarray(mine), numpys, rtol=1e-12)


def written_to_out(name, call, make, shape, dtype):
    """What stands in ``out``, or the error."""
    out = make(np.full(shape, 7).astype(dtype))
    args, keywords = nested(call.args, make), {k: nested(v, make) for k, v in call.keywords.items()}
    try:
        with quiet():
            FUNCTIONS[name](*args, **keywords | {"out": out})
    except Exception as error:
        return error
    return out


@pytest.mark.parametrize("name", TAKE_OUT)
def test_a_result_is_not_written_to_numpys_array(name):
    call = CALLS[name][0]
    reference = expected(name, call)
    with_out = call._replace(keywords=call.keywords | {"out": np.empty_like(reference)})
    with pytest.raises(TypeError, match="cannot write a recorded"), quiet():
        FUNCTIONS[name](*nested(with_out.args, xp.asarray), **with_out.keywords)


@pytest.mark.parametrize(("name", "i"), EVERY)
@pytest.mark.every(3)
def test_examples_under_vmap_are_those_of_a_loop(name, i):
    """Or vmap is refused: where results are no Arrays, or their shapes hang on values."""
    call = CALLS[name][i]
    data = arrays_of(call)
    places = [j for j, x in enumerate(data) if x.dtype.kind in "fc" and x.size]
    skipped = name in UNDEFINED | WRITERS or on_files(name)
    if not places or skipped or not call.smooth:  # np.stack changes the layout
        return

    def one(*xs):
        given = dict(zip(places, xs, strict=True))
        arrays = [given[j] if j in given else xp.asarray(x) for j, x in enumerate(data)]
        return [xp.asarray(y) for y in numbers_in(run(name, call, arrays))]

    both = [xp.asarray(np.stack([data[j], 1.01 * data[j]])) for j in places]
    with quiet():
        alone = [one(*(x[k] for x in both)) for k in range(2)]
        try:
            found = xp.vmap(one)(*both)
        except (TypeError, ValueError) as error:
            check_refusal(error, "vmap", *([] if alone[0] else [""]))
            return
    for y, *lines in zip(found, *alone, strict=True):
        for k in range(2):
            same = near(np.asarray(y[k]), np.asarray(lines[k]), 8.0)
            assert same, f"{y[k]!r} is not {lines[k]!r}"


def numbers_in(found):
    """Return the Arrays and numbers in results: of one example what is a number may be Python's."""
    kinds = xp.Array | np.generic | bool | int | float
    return [y for y in nest.leaves(found) if isinstance(y, kinds)]


def test_eigenvalues_under_vmap_are_complex():
    """Before NumPy 2.5 those of one matrix may be real, which is not known for many matrices at once."""
    a = np.stack([np.diag([1.0, 2.0]), np.asarray([[0.0, -1.0], [1.0, 0.0]])])
    found = xp.vmap(np.linalg.eigvals)(xp.asarray(a))
    assert found.dtype == np.complex128
    np.testing.assert_allclose(np.asarray(found), np.linalg.eigvals(a))
    assert np.linalg.eigvals(xp.asarray(a[0])).dtype == np.linalg.eigvals(a[0]).dtype
