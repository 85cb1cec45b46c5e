"""A list of Arrays where NumPy takes an array is one recorded Array: values and gradients stay.

The calls are those of ``helpers.numpy_calls``, which has some of every function.
"""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import one_by_one, protocols
from helpers.numpy_calls import CALLS, UNASKED, WRITERS
from helpers.numpy_walk import FUNCTIONS, UNDEFINED, arrays_of, nested, on_files
from helpers.same_values import near, quiet

V = np.asarray([0.4, 1.3, 2.2])
P = np.asarray([0.1, 0.9, 3.0])
UFUNCS = {
    f"ufunc {name}": (function, V, P)
    for name, function in sorted(vars(np).items())
    if isinstance(function, np.ufunc)
    and function.nin == 2
    and function.nout == 1
    and function.signature is None
    and "dd->d" in function.types
}
HOWS = ("elements", "rows", "tuple", "mixed")
LISTED = [
    (name, i, at)
    for name, calls in CALLS.items()
    for i, call in enumerate(calls)
    if len(arrays_of(call)) > 1 and not on_files(name)
    for at, x in enumerate(call.args)
    if isinstance(x, np.ndarray) and x.size and x.ndim and not (name in WRITERS and at == 0)
    if name not in UNASKED or (at and name not in ("np.apply_along_axis", "np.result_type"))
]


def listed(x, how):
    """An Array as the lists that NumPy would join to it: of rows, of elements, as tuples."""
    if how == "rows":
        return [x[i] for i in range(x.shape[0])]
    if how == "mixed":
        return [*(x[i] for i in range(x.shape[0] - 1)), x[-1:][0]]
    kind = tuple if how == "tuple" else list
    return kind([listed(part, how) if part.ndim else part for part in x])


def with_a_list(function, args, keywords, at, how, writes=False):
    """The result with one argument as a list (or none, without ``how``), and all gradients."""
    args, keywords = nested((args, keywords), lambda x: xp.asarray(x, copy=True))
    sources = [x for x in one_by_one.iterate_arrays((args, keywords)) if x.dtype.kind in "fc"]
    with xp.GradientTape() as tape:
        tape.watch(sources)
        given = [listed(x, how) if how and i == at else x for i, x in enumerate(args)]
        if writes:
            given[0] = xp.asarray(given[0], copy=True)
        found = function(*given, **keywords)
        found = given[0] if writes else found
        floats = [y for y in one_by_one.iterate_arrays((found,)) if y.dtype.kind in "fc"]
        loss = testing.total(floats)
    return found, tape.gradient(loss, sources) if floats and sources else []


def compare(found, reference):
    """Results and gradients with a list, and without."""
    for y, other in zip(
        *(one_by_one.iterate_arrays((x[0],)) for x in (found, reference)), strict=True
    ):
        assert y.dtype == other.dtype
        assert near(np.asarray(y), np.asarray(other), 8.0)
    for g, other in zip(found[1], reference[1], strict=True):
        assert (g is None) == (other is None)
        assert g is None or near(np.asarray(g), np.asarray(other), 64.0)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("name", "i", "at"), LISTED)
@pytest.mark.every(5)
def test_a_list_of_arrays_is_an_array(name, i, at, how):
    call, function = CALLS[name][i], FUNCTIONS[name]
    given = (function, call.args, call.keywords, at)
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        found, reference = (with_a_list(*given, kind, name in WRITERS) for kind in (how, None))
    if name not in UNDEFINED:
        compare(found, reference)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("name", UFUNCS)
def test_a_list_of_arrays_is_an_array_for_ufuncs(name, at, how):
    function, *data = UFUNCS[name]
    if function not in protocols.UFUNCS:
        with pytest.raises(TypeError, match="no recorded counterpart"):
            with_a_list(function, data, {}, at, how)
        return
    with quiet():
        compare(*(with_a_list(function, data, {}, at, kind) for kind in (how, None)))


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("other", [1, 2.5, 1j, True, np.float32(2), [1.0], np.ones(1)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float32", "complex64"])
def test_the_dtype_is_that_of_numpys_list(dtype, other):
    x = np.ones(1 if np.ndim(other) else (), dtype)
    expected = np.append([x, other], np.ones(1, "int8"))
    same(np.append([xp.asarray(x), other], xp.asarray(np.ones(1, "int8"))), expected)


def test_ragged_lists_raise():
    x = xp.asarray(V)
    with pytest.raises(ValueError, match="stack"):
        np.append([x, x[:2]], x)


def test_lengths_and_places_stay_numbers():
    x, n = xp.asarray(V), xp.asarray(2)
    same(np.broadcast_to(x, (n, 3)), np.broadcast_to(V, (2, 3)))
    same(np.tile(x, (n, n)), np.tile(V, (2, 2)))


def test_functions_called_by_numpy_get_their_lists_unchanged():
    x, seen = xp.asarray(np.eye(3)), []
    np.apply_along_axis(lambda line, pair: seen.append(pair) or line, 0, x, [x, 2.0])
    assert type(seen[0]) is list
    assert seen[0][0] is x
