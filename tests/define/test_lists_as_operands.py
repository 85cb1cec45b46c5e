"""Lists beside Arrays: in operators, ufuncs and writes they are what NumPy makes of them."""

import operator

import numpy as np
import pytest

import arraytape as xp

OPERATORS = [
    "add", "and_", "divmod", "eq", "floordiv", "ge", "gt", "le", "lshift", "lt", "matmul", "mod",
    "mul", "ne", "or_", "pow", "rshift", "sub", "truediv", "xor",
]  # fmt: skip
IN_PLACE = [
    "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift",
    "isub", "itruediv", "ixor",
]  # fmt: skip
DTYPES = ["bool", "int8", "int64", "uint8", "float32", "float64", "complex64", "complex128"]
LISTS = {
    "integers": [1, 2, 3],
    "tuple": (1, 2, 3),
    "range": range(1, 4),
    "floats": [1.5, 2.5, 3.0],
    "booleans": [True, False, True],
    "complex": [1 + 1j, 2.0, 3],
    "numpy scalars": [np.float32(1.5), np.int8(2), 3],
    "matrix": [[1, 2, 3], (4, 5, 6), [7.0, 8, 9]],
    "column": [[1], [2], [3]],
    "one": [2],
    "numpy arrays": [np.ones(3), np.zeros(3), [1, 2, 3]],
    "other length": [1, 2],
    "empty": [],
}


def function(name):
    return divmod if name == "divmod" else getattr(operator, name)


def array(dtype):
    return np.asarray([3, 1, 2]).astype(dtype)


def outcome(call):
    """The values and dtypes of a result; of an error, that it is one."""
    try:
        with np.errstate(all="ignore"):
            found = call()
    except (TypeError, ValueError):
        return "error"
    several = found if isinstance(found, tuple) else (found,)
    return [(np.asarray(part).dtype, np.asarray(part).tolist()) for part in several]


@pytest.mark.parametrize("given", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_what_numpys_give(name, given):
    for dtype in DTYPES:
        a = array(dtype)
        x = xp.asarray(a)
        for ours, numpys in (
            (lambda x=x: function(name)(x, given), lambda a=a: function(name)(a, given)),
            (lambda x=x: function(name)(given, x), lambda a=a: function(name)(given, a)),
        ):
            assert repr(outcome(ours)) == repr(outcome(numpys)), (name, dtype)


@pytest.mark.parametrize("given", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators_change_what_numpys_change(name, given):
    # The standard has no floor_divide of booleans; here it is one in place, too.
    for dtype in DTYPES[name == "ifloordiv" :]:
        a = array(dtype)
        x = xp.asarray(a, copy=True)
        view, of_a = x[::-1], a[::-1]
        ours = outcome(lambda x=x: function(name)(x, given))
        assert repr(ours) == repr(outcome(lambda a=a: function(name)(a, given))), (name, dtype)
        assert repr(outcome(lambda v=view: v)) == repr(outcome(lambda v=of_a: v)), (name, dtype)


UFUNCS = [
    np.add, np.arctan2, np.divmod, np.equal, np.fmax, np.hypot, np.less, np.logical_and, np.matmul,
    np.maximum, np.multiply, np.power, np.subtract, np.true_divide,
]  # fmt: skip


@pytest.mark.parametrize("given", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_ufuncs_give_what_numpys_give(ufunc, given):
    for dtype in ("int64", "float64"):
        a = array(dtype)
        x = xp.asarray(a)
        assert repr(outcome(lambda x=x: ufunc(x, given))) == repr(
            outcome(lambda a=a: ufunc(a, given))
        )
        assert repr(outcome(lambda x=x: ufunc(given, x))) == repr(
            outcome(lambda a=a: ufunc(given, a))
        )


# --- lists of Arrays stay connected -----------------------------------------------------------------
BINARY = ["add", "floordiv", "matmul", "mod", "mul", "pow", "sub", "truediv"]
HOLDING = {
    "Arrays": lambda a, b: [a, b],
    "tuple": lambda a, b: (b, a),
    "with numbers": lambda a, b: [a, 2.0],
    "nested": lambda a, b: [[a, 1.5], [b, a]],
    "expressions": lambda a, b: [a * b, a + b],
}


def loss(f, a, b, x):
    weights = xp.asarray([1.0, 10.0])
    return xp.sum(f(a, b, x) * weights)


def differentiated(f):
    values = xp.asarray(1.3), xp.asarray(0.7), xp.asarray([2.2, 3.1])
    with xp.GradientTape() as tape:
        tape.watch(values)
        y = loss(f, *values)
    found = tape.gradient(y, values, unconnected_gradients="zero")
    return float(y), [g.tolist() for g in found]


@pytest.mark.parametrize("made", HOLDING.values(), ids=HOLDING)
@pytest.mark.parametrize("name", BINARY)
def test_gradients_reach_the_arrays_of_a_list(name, made):
    for ours, explicit in (
        (
            lambda a, b, x: function(name)(x, made(a, b)),
            lambda a, b, x: function(name)(x, xp.asarray(made(a, b))),
        ),
        (
            lambda a, b, x: function(name)(made(a, b), x),
            lambda a, b, x: function(name)(xp.asarray(made(a, b)), x),
        ),
    ):
        assert differentiated(ours) == differentiated(explicit)


@pytest.mark.parametrize("name", ["iadd", "imul", "ipow", "isub", "itruediv"])
@pytest.mark.parametrize("made", HOLDING.values(), ids=HOLDING)
def test_gradients_reach_the_arrays_of_a_list_in_place(name, made):
    def in_place(convert):
        def f(a, b, x):
            y = xp.broadcast_to(x, (2, 2)) * 1.0
            view = y[::-1]
            y = function(name)(y, convert(made(a, b)))
            return y + view

        return f

    assert differentiated(in_place(lambda v: v)) == differentiated(in_place(xp.asarray))


@pytest.mark.parametrize("made", HOLDING.values(), ids=HOLDING)
@pytest.mark.parametrize("key", [..., slice(None), (slice(None), slice(None)), [0, 1], [1, 0]])
def test_a_written_list_stays_connected(made, key):
    def written(convert):
        def f(a, b, x):
            y = xp.zeros((2, 2))
            y[key if not isinstance(key, list) else xp.asarray(key)] = convert(made(a, b))
            return y * x

        return f

    assert differentiated(written(lambda v: v)) == differentiated(written(xp.asarray))


# --- writes -----------------------------------------------------------------------------------------
KEYS = {
    "all": slice(None), "row": 0, "column": (slice(None), 1), "mask": np.eye(3, dtype=bool),
    "integers": np.asarray([0, 2]), "element": (1, 1), "reversed": slice(None, None, -1),
}  # fmt: skip


@pytest.mark.parametrize("given", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_writes_change_what_numpys_change(key, given):
    # To NumPy a list is the truth of one boolean, and no number of any other dtype.
    for dtype in DTYPES[key is KEYS["element"] :]:
        a = np.zeros((3, 3), dtype)
        x = xp.asarray(a, copy=True)
        if dtype != "bool" and dtype[:7] != "complex" and given is LISTS["complex"]:
            element = key is KEYS["element"]  # for which three values are too many
            with pytest.raises(
                ValueError if element else TypeError, match="sequence" if element else "written"
            ):
                x[key] = given
            continue
        ours = outcome(lambda x=x: x.__setitem__(key, given))
        numpys = outcome(lambda a=a: a.__setitem__(key, given))
        assert (ours == "error") == (numpys == "error"), (key, dtype)
        assert np.array_equal(np.asarray(x), a), (key, dtype)


def test_a_variable_takes_lists():
    v, a = xp.Variable([1.0, 2.0]), xp.asarray(5.0)
    v *= [2, 3]
    v[1:] = [7]
    assert v.tolist() == [2.0, 7.0]
    assert (v - [1, 2]).tolist() == [1.0, 5.0]
    with xp.GradientTape() as tape:
        tape.watch(a)
        y = xp.sum([a, 2.0] * v)
        v[:] = [a, a]
    assert v.tolist() == [5.0, 5.0]
    assert [g.tolist() for g in tape.gradient(y, [a, v])] == [2.0, [5.0, 2.0]]


def test_lists_under_vmap():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(np.asarray(xp.vmap(lambda r: r * [2, 3])(x)), [[2, 6], [6, 12]])
    np.testing.assert_array_equal(
        np.asarray(xp.vmap(lambda r: [r[1], 0.0] - r)(x)), [[1, -2], [1, -4]]
    )


def test_places_of_ufunc_at_stay_places():
    rows, columns = xp.asarray([0, 1]), xp.asarray([1, 2])
    x, a = xp.zeros((3, 3)), np.zeros((3, 3))
    np.add.at(x, (rows, columns), [1.0, 2.0])
    np.add.at(a, ([0, 1], [1, 2]), [1.0, 2.0])
    np.add.at(x, ([2, 2], columns), 5.0)
    np.add.at(a, ([2, 2], [1, 2]), 5.0)
    assert np.array_equal(np.asarray(x), a)


# --- what is refused ----------------------------------------------------------------------------------
REFUSED = [["a", "b"], [None, 1.0], {}, "ab", {1.0}, [{}], object(), [10**400]]


@pytest.mark.parametrize("given", REFUSED, ids=lambda given: repr(given)[:8])
@pytest.mark.parametrize("name", ["add", "lt", "matmul", "mul", "iadd", "imul"])
def test_what_holds_no_numbers_is_left_to_the_other_operand(name, given):
    x = xp.asarray([1.0, 2.0])
    with pytest.raises(TypeError, match=r"unsupported operand|not supported between|index\(\)"):
        function(name)(x, given)
    assert not x == given  # noqa: SIM201  (as Python compares what has no order)
    with pytest.raises(TypeError):
        x[:] = given
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["add", "eq", "lt", "matmul", "iadd"])
def test_lists_of_unequal_lengths_say_so(name):
    with pytest.raises(ValueError, match="inhomogeneous"):
        function(name)(xp.asarray([1.0, 2.0]), [[1.0], [2.0, 3.0]])


def test_functions_of_the_standard_take_arrays_and_numbers():
    with pytest.raises(TypeError, match=r"x2 must be an Array, got builtins\.list.*asarray"):
        xp.add(xp.asarray([1.0, 2.0]), [1.0, 2.0])
