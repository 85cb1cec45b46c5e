"""Facts about raw functions, each tried on every function that states it."""

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._record.op import REGISTRY, Op
from arraytape._record.op_facts import FACTS, Facts, hull
from arraytape._storage.numpy_storage import NUMPY
from arraytape._storage.storage import EVERYWHERE
from arraytape.replay.passes import simplify, sums_by_blas, ties  # noqa: F401  # which state facts
from arraytape.replay.passes.intervals import Interval
from arraytape.replay.program import put
from arraytape.replay.tracing import traced_storage
from arraytape.testing.samples import materialise
from helpers.namespace_ops import namespace_ops
from helpers.samples import CASES

namespace_ops()  # all chapters
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf]
FLOATS = [np.float32, np.float64]
RNG = np.random.default_rng(0)
SQUARE = RNG.uniform(0.5, 2.0, (3, 3))


def named(name):
    """A function of NumPy's storage, by keyword where NumPy has it by position."""
    return NUMPY.function(name)


# How raw functions without samples are called: those of composites, of views and of passes.
CALLS = {
    "add_at": lambda x: traced_storage.added_at(x, (0, [1, 1]), 2.0),
    "arranged": lambda x: NUMPY.arranged(x, x.T, 2),
    "astype": lambda x: named("astype")(x, np.dtype(np.float32)),
    "broadcast_to": lambda x: named("broadcast_to")(x, (2, *x.shape)),
    "broadcast_view": lambda x: named("broadcast_view")(x, (2, *x.shape)),
    "contiguous": traced_storage.contiguous,
    "copied": traced_storage.copied,
    "diagonal_view": lambda x: named("diagonal_view")(x, 0),
    "dot": lambda x: sums_by_blas.dot(x, SQUARE),
    "expand_dims": lambda x: named("expand_dims")(x, axis=1),
    "flip": lambda x: named("flip")(x, axis=0),
    "imag": named("imag"),
    "imag_view": named("imag_view"),
    "laid_out": lambda x: NUMPY.arranged(x, x.T, 2),
    "linalg.matrix_transpose": named("matrix_transpose"),
    "linalg.tensordot": lambda x: named("tensordot")(x, SQUARE),
    "masked": lambda x: simplify.masked(x, SQUARE > 1.0, True),
    "matrix_transpose": named("matrix_transpose"),
    "moveaxis": lambda x: named("moveaxis")(x, 0, 1),
    "permute_dims": lambda x: named("permute_dims")(x, (1, 0)),
    "power_operator": lambda x: x**1.5,
    "put": lambda x: put(x, (0, slice(1, 2)), 1.0),
    "read_only_view": named("read_only_view"),
    "real": named("real"),
    "real_view": named("real_view"),
    "reshape": lambda x: named("reshape")(x, (x.size, 1)),
    "scatter_add": lambda x: named("scatter_add")(x, (3, 4), (slice(None), [0, 1, 1])),
    "sort": lambda x: np.sort(x, axis=-1),
    "squeeze": lambda x: named("squeeze")(x[:, None], axis=1),
    "stop_gradient": named("stop_gradient"),
    "tensordot": lambda x: named("tensordot")(x, SQUARE),
    "through_cholesky": None,  # LAPACK's: see tests/storage/test_decompositions.py
    "tril": named("tril"),
    "triu": named("triu"),
    "windows_view": lambda x: named("windows_view")(x, (-1, 2)),
    "zeros_like": named("zeros_like"),
}


def samples_of(facts):
    """Calls of a function with the arguments of its samples: (function, operands, parameters)."""
    for sample in facts.samples if isinstance(facts, Op) else ():
        operands = [as_data(x) for x in materialise(facts, sample, np.float64)]
        if sample.prepare is not None:
            operands[0] = np.asarray(sample.prepare(xp.asarray(operands[0])))
        yield SimpleNamespace(
            function=lambda *x, sample=sample: named(facts.name)(*x, **sample.parameters),
            operands=operands,
        )


def as_data(x):
    return (
        [as_data(part) for part in x] if isinstance(x, list) else x if x is None else np.asarray(x)
    )


def calls_of(name):
    """All calls that are known of a function: of samples, of two plain shapes, of ``CALLS``."""
    facts = FACTS[name]
    yield from samples_of(facts)
    if name in CALLS and CALLS[name] is not None:
        yield SimpleNamespace(function=CALLS[name], operands=[SQUARE])
    elif facts.per_element and isinstance(facts, Op) and not facts.samples:
        operands = [RNG.uniform(0.5, 2.0, (3, 4)) for _ in facts.inputs]
        yield SimpleNamespace(function=named(name), operands=operands)


def having(fact, value=None):
    """The names of functions that have a fact, those of SciPy aside."""
    return [
        name for name, facts in FACTS.items()
        if not name.startswith("special.")
        and (bool(getattr(facts, fact)) if value is None else getattr(facts, fact) == value)
    ]  # fmt: skip


def parts(x):
    return x if isinstance(x, list) else [x]


def results(y):
    return [np.asarray(part) for part in (y if isinstance(y, tuple | list) else (y,))]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def test_every_function_that_states_a_fact_is_called_here():
    states = {name for name, facts in FACTS.items() if stated(facts) and not known_elsewhere(name)}
    without = {name for name in states if not any(True for _ in calls_of(name))}
    assert without <= {name for name in CALLS if CALLS[name] is None}


def stated(facts):
    return {x for x in Facts.NAMES if getattr(facts, x) != getattr(Facts, x)} - {"linear_places"}


def known_elsewhere(name):
    """Return True for makers of data, forms of batched data and functions of SciPy's."""
    only = stated(FACTS[name]) <= {"signature", "scalars", "data_dependent_shape", "moves"}
    return FACTS[name].creates or name.startswith("special.") or only


# --- signature ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", [n for n in having("signature") if "(...)" not in FACTS[n].signature]
)
def test_core_dimensions_are_those_of_operands_and_results(name):
    facts = FACTS[name]
    for call in samples_of(facts):
        if "AX" in facts.signature:
            continue  # shapes by ``axis``: tests/functional/test_index_sets.py, test_vmap_ops.py
        y = results(call.function(*call.operands))
        cores, ends = facts.cores
        sizes = {}
        shapes = [np.shape(x) for x in call.operands]
        for shape, core in zip(shapes, cores, strict=False):
            core = [d for d in core if len(shape) >= len(core) or not d.endswith("?")]
            for d, n in zip(reversed(core), reversed(shape), strict=False):
                assert sizes.setdefault(d, n) == n or n == 1
        for part, core in zip(y, ends, strict=True):
            core = [d for d in core if d in sizes or not d.endswith("?")]
            assert part.ndim >= len(core)
            for d, n in zip(reversed(core), reversed(part.shape), strict=False):
                assert sizes.setdefault(d, n) == n


def changed_at(x, axis):
    """A copy of data with other numbers in the first place along an axis."""
    first = np.moveaxis(x.copy(), axis, 0)
    first[0] += 0.25
    return np.moveaxis(first, 0, axis)


KEEPING = [
    n for n in having("signature")
    if any(d[0].islower() for core in FACTS[n].cores[0] for d in core)
]  # fmt: skip


@pytest.mark.parametrize("name", KEEPING)
def test_dimensions_in_small_letters_keep_their_places(name):
    cores, (result, *_) = FACTS[name].cores
    for call in calls_of(name):
        if any(np.ndim(x) < len(core) for x, core in zip(call.operands, cores, strict=False)):
            continue  # a vector, which leaves a dimension out
        y = results(call.function(*call.operands))[0]
        for i, (x, core) in enumerate(zip(call.operands, cores, strict=False)):
            if x is None or x.dtype.kind != "f":
                continue
            for place, d in enumerate(core):
                if not d[0].islower() or d not in result or not x.shape[place - len(core)]:
                    continue
                other = changed_at(x, place - len(core))
                operands = [*call.operands[:i], other, *call.operands[i + 1 :]]
                z = results(call.function(*operands))[0]
                axis = result.index(d) - len(result)
                same = np.moveaxis(y, axis, 0)[1:], np.moveaxis(z, axis, 0)[1:]
                np.testing.assert_allclose(*same, 1e-12)


# --- NaN ----------------------------------------------------------------------------------------------
def with_nan(x):
    """Copies of data with one NaN, at some of the places."""
    for place in {0, x.size // 2, x.size - 1}:
        if x.size:
            y = x.copy(order="K")
            y.reshape(-1)[place] = np.nan
            yield y


@pytest.mark.parametrize("name", having("propagates_nan"))
def test_nan_in_any_operand_is_nan_in_the_result(name):
    for call in calls_of(name):
        for i, operand in enumerate(call.operands):
            for j, x in enumerate(parts(operand)):
                if x is None or x.dtype.kind != "f":
                    continue
                for bad in with_nan(x):
                    new = [*parts(operand)[:j], bad, *parts(operand)[j + 1 :]]
                    new = new if isinstance(operand, list) else new[0]
                    y = results(call.function(*call.operands[:i], new, *call.operands[i + 1 :]))
                    assert all(np.isnan(part).any() for part in y if part.size)


ELEMENTWISE = [
    name for name in having("per_element") if isinstance(FACTS[name], Op)
    and FACTS[name].kind in ("elementwise", "nondifferentiable") and name not in EVERYWHERE
]  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_ops_propagate_nan_beside_every_number_or_say_that_they_do_not(name):
    op, lost = FACTS[name], False
    for i in range(len(op.inputs)):
        for others in itertools.product(SPECIAL, repeat=len(op.inputs) - 1):
            operands = [*others[:i], np.nan, *others[i:]]
            try:
                y = np.asarray(named(name)(*map(np.asarray, operands)))
            except TypeError:
                return  # of integers
            lost |= y.dtype.kind == "f" and not np.isnan(y)
            floats = y.dtype.kind == "f"
    assert op.propagates_nan or lost or not floats
    assert not (op.propagates_nan and lost)


# --- bits ---------------------------------------------------------------------------------------------
def layouts(x):
    """Numbers in other layouts of memory, with which of all they are."""
    gaps = np.empty((x.size, 3), x.dtype)
    gaps[:, 1] = x
    yield gaps[:, 1], slice(None)
    yield x[::-1].copy()[::-1], slice(None)
    yield np.asfortranarray(x[:1000].reshape(20, 50)), slice(1000)
    yield x[1:].copy(), slice(1, None)  # other places within vectors


EXACT = [n for n in having("correctly_rounded") if isinstance(FACTS[n], Op)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions_have_the_same_bits_in_each_layout_and_beside_numbers(name, dtype):
    op, function = FACTS[name], named(name)
    data = [drawn(dtype, 1003) for _ in op.inputs]
    try:
        whole = function(*data)
    except TypeError:
        return  # not of this dtype
    for spread in zip(*[layouts(x) for x in data], strict=True):
        same_bits(function(*[x for x, _ in spread]).reshape(-1), whole[spread[0][1]])
    for i in range(len(data)) if len(data) > 1 else ():
        one = [x if j != i else x.dtype.type(x[7]) for j, x in enumerate(data)]
        full = [x if j != i else np.full_like(x, x[7]) for j, x in enumerate(data)]
        zero = [x if j != i else np.asarray(x[7]) for j, x in enumerate(data)]
        same_bits(function(*one), function(*full))
        same_bits(function(*zero), function(*full))


def drawn(dtype, count):
    if np.dtype(dtype).kind == "f":
        x = np.ldexp(RNG.standard_normal(count), RNG.integers(-20, 20, count))
        x[::97] = np.resize(SPECIAL, x[::97].size)
        return x.astype(dtype)
    return RNG.integers(0, 2 if np.dtype(dtype).kind == "b" else 40, count).astype(dtype)


def same_bits(x, y):
    x, y = np.asarray(x), np.asarray(y)
    assert x.dtype == y.dtype
    np.testing.assert_array_equal(x, y)
    if x.dtype.kind == "f":
        there = ~np.isnan(x)
        np.testing.assert_array_equal(np.signbit(x[there]), np.signbit(y[there]))


@pytest.mark.parametrize("name", [n for n in EXACT if FACTS[n].kind != "nondifferentiable"])
def test_exact_functions_of_float32_are_those_of_float64_rounded(name):
    """Rounding twice is rounding once where the wider format has two digits more than twice as many."""
    data = [drawn(np.float32, 1000) for _ in FACTS[name].inputs]
    wide = named(name)(*[x.astype(np.float64) for x in data])
    same_bits(named(name)(*data), np.asarray(wide).astype(np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", having("infix"))
def test_pythons_operator_has_the_functions_bits_on_scalars(name, dtype):
    op = FACTS[name]
    for values in itertools.product([*SPECIAL, 0.1, 1e-30, 3e30], repeat=len(op.inputs)):
        scalars = [dtype(x) for x in values]
        ours = eval(f"{' ' if len(values) == 1 else 'a '}{op.infix} {'a' if len(values) == 1 else 'b'}",
                    dict(zip("ab", scalars, strict=False)))  # fmt: skip
        same_bits(ours, named(name)(*map(np.asarray, scalars)))
    assert FACTS[name].correctly_rounded


# --- dtypes -------------------------------------------------------------------------------------------
PAIRS = [(np.float32, np.float64), (np.int32, np.float64), (np.float64, np.int64), (np.int16, np.int64),
         (np.float32, np.int32)]  # fmt: skip


@pytest.mark.parametrize("name", having("promotes"))
def test_operands_are_promoted_first(name):
    facts = FACTS[name]
    checked = 0
    for call, (first, second) in itertools.product(calls_of(name), PAIRS):
        flat = [x for operand in call.operands for x in parts(operand)]
        at = [i for i, x in enumerate(flat) if x is not None and x.dtype.kind == "f"]
        if len(at) < 2:
            continue
        mixed = {
            i: np.rint(flat[i] * 4.0 + 3.0).astype(first if i == at[0] else second) for i in at
        }
        into = mixed[at[0]].dtype if facts.promotes == "first" else np.result_type(first, second)
        alike = {i: x.astype(into) for i, x in mixed.items()}
        try:
            expected = call.function(*put_back(call.operands, alike))
        except (TypeError, ValueError, np.linalg.LinAlgError):
            continue  # not of this dtype
        found = call.function(*put_back(call.operands, mixed))
        checked += 1
        for x, y in zip(results(found), results(expected), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x.astype(complex), y.astype(complex), 1e-6)
    assert checked or name not in REGISTRY or not FACTS[name].samples


def put_back(operands, by_number):
    """Operands, some of them lists, with other data at their numbers."""
    number = itertools.count().__next__
    given = [[by_number.get(number(), x) for x in parts(operand)] for operand in operands]
    return [
        new if isinstance(old, list) else new[0] for new, old in zip(given, operands, strict=True)
    ]


# --- linear -------------------------------------------------------------------------------------------
LINEAR = [(name, group) for name in having("linear_places") for group in FACTS[name].linear_places]


@pytest.mark.parametrize(("name", "group"), LINEAR, ids=str)
def test_functions_are_linear_in_the_operands_of_a_group(name, group):
    for call in calls_of(name):
        operands = call.operands
        if any(operands[i].dtype.kind not in "fc" for i in group):
            continue

        def f(change, call=call, operands=operands):
            given = [change(x, i) if i in group else x for i, x in enumerate(operands)]
            return np.asarray(call.function(*given))

        whole = f(lambda x, i: x)
        assert not f(lambda x, i: np.zeros_like(x)).any()
        np.testing.assert_allclose(f(lambda x, i: -2.5 * x), -2.5 * whole, 1e-6, 1e-12)
        other = f(lambda x, i: np.cos(x + i))
        both = f(lambda x, i: x + np.cos(x + i))
        np.testing.assert_allclose(both, whole + other, 1e-6, 1e-12)


def test_an_elementwise_op_that_is_linear_in_an_operand_is_known_to_be():
    x = RNG.uniform(0.6, 2.0, 50)
    for name in ELEMENTWISE:
        op = FACTS[name]
        for i in range(len(op.inputs)) if op.kind == "elementwise" else ():
            others = [RNG.uniform(0.6, 2.0, 50) for _ in op.inputs]

            def f(x, i=i, others=others, name=name):
                return named(name)(*others[:i], x, *others[i + 1 :])

            if np.allclose(f(-x), -f(x)) and np.allclose(f(3.0 * x), 3.0 * f(x)):
                alone = any(group == (i,) for group in op.linear_places)
                assert alone or not op.continuous, name


# --- intervals ----------------------------------------------------------------------------------------
# Of the other operands in ``CALLS``.
MORE = {
    "dot": [Interval(SQUARE.min(), SQUARE.max())],
    "masked": [Interval(), Interval(1.0, 1.0)],
    "put": [Interval(1.0, 1.0)],
}


@pytest.mark.parametrize("name", having("range"))
def test_results_lie_in_the_interval_that_those_of_operands_give(name):
    extension = FACTS[name].range
    for call in calls_of(name):
        floats = [
            i for i, x in enumerate(call.operands)
            if not isinstance(x, list) and x is not None and x.dtype.kind == "f"
        ]  # fmt: skip
        for _ in range(10):
            low = RNG.uniform(-3.0, 3.0, len(floats))
            high = low + RNG.choice([0.0, 0.5, 4.0], len(floats))
            operands = [*call.operands]
            for i, a, b in zip(floats, low, high, strict=True):
                operands[i] = RNG.uniform(a, b, operands[i].shape)
            intervals = [Interval(a, b) for a, b in zip(low, high, strict=True)]
            found = extension(operands[0].size, *intervals, *MORE.get(name, ()))
            y = np.asarray(call.function(*operands))
            assert found.undefined or not np.isnan(y).any()
            y = y[~np.isnan(y)]
            slack = 1e-9 * (1.0 + np.abs(y).max(initial=0.0))
            assert (y >= found.low - slack).all()
            assert (y <= found.high + slack).all()


def test_intervals_of_unbounded_operands():
    everywhere, positive = Interval(), Interval(0.0)
    assert everywhere.plus(everywhere) == everywhere.times(positive) == everywhere
    assert positive.times(Interval(0.0, 2.0)) == positive
    assert positive.over(positive) == everywhere
    assert positive.over(Interval(2.0, 4.0)) == positive
    assert Interval(-1.0, 2.0).magnitude() == Interval(0.0, 2.0)
    assert Interval(-4.0, 4.0).to_root() == Interval(0.0, 2.0, True)
    assert hull(1, Interval(0.0, 1.0), Interval(3.0, 4.0)) == Interval(0.0, 4.0)


# --- places -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", having("rearranges"))
def test_elements_are_chosen_by_their_places(name):
    for call in calls_of(name):
        first = parts(call.operands[0])
        if any(x.dtype.kind != "f" for x in first):
            continue
        ends = list(itertools.accumulate([x.size for x in first], initial=0))
        numbers = RNG.permutation(ends[-1]).astype(float) + 1.0
        other = np.cos(numbers)
        ys = []
        for values in (numbers, other):
            new = [
                values[a : a + x.size].reshape(x.shape) for a, x in zip(ends, first, strict=False)
            ]
            new = new if isinstance(call.operands[0], list) else new[0]
            ys.append(np.asarray(call.function(new, *call.operands[1:])))
        assert set(ys[0].flat) <= set(numbers)
        np.testing.assert_array_equal(np.cos(ys[0]), ys[1])


@pytest.mark.parametrize("name", having("in_order"))
def test_elements_stay_in_their_order(name):
    for call in calls_of(name):
        x = call.operands[0]
        y = np.asarray(call.function(*call.operands))
        copies = y.size // max(1, x.size)
        wide = np.broadcast_to(x.reshape(-1), (copies, x.size)).reshape(-1)
        np.testing.assert_array_equal(y.reshape(-1), wide.astype(y.dtype))


def test_shapes_depend_on_values_where_ops_say_so():
    one, other = np.asarray([1.0, 0.0, 2.0, 2.0]), np.asarray([1.0, 2.0, 3.0, 4.0])
    for name in having("data_dependent_shape"):
        if FACTS[name].data_dependent_shape == "repeats":
            continue
        assert [np.shape(y) for y in results(named(name)(one))] != [
            np.shape(y) for y in results(named(name)(other))
        ]
    assert {*having("data_dependent_shape")} == {
        "nonzero", "repeat", "unique_all", "unique_counts", "unique_inverse", "unique_values"
    }  # fmt: skip


# --- steps --------------------------------------------------------------------------------------------
STEP_AT = {
    "copysign": (1.0, 0.0),
    "signbit": (0.0,),
    "round": (0.5,),
    "truncated_remainder": (2.0, 1.0),
}


@pytest.mark.parametrize(
    "name",
    [
        n for n in ELEMENTWISE
        if FACTS[n].jumps and FACTS[n].takes not in ("", "integral", "integer", "boolean")
    ],
)  # fmt: skip
def test_what_jumps_makes_a_step(name):
    op = FACTS[name]
    at = STEP_AT.get(name, (1.0, 1.0) if len(op.inputs) == 2 else (1.0,))
    last = len(at) - 1
    before, after = (
        float(named(name)(*map(np.float64, at[:last]), np.float64(at[last] + step)))
        for step in (-1e-9, 1e-9)
    )
    there = float(named(name)(*map(np.float64, at)))
    size = 1e-16 if name == "nextafter" else 0.5
    assert max(abs(before - after), abs(there - before), abs(there - after)) >= size


@pytest.mark.parametrize(
    "name", [n for n in ELEMENTWISE if FACTS[n].continuous and FACTS[n].kind == "nondifferentiable"]
)
def test_what_has_no_derivative_and_does_not_jump_is_constant_or_the_value(name):
    for x in [*SPECIAL, 1e300, 5e-324]:
        y = np.float64(named(name)(np.asarray(x)))
        for step in (-1e-9, 1e-9):
            assert y == x or np.float64(named(name)(np.asarray(x + step))) == y


# --- programs -----------------------------------------------------------------------------------------
# What programs call that is no raw function, or of which nothing is known to hold.
WITHOUT = {"item"}


@pytest.mark.parametrize(
    ("op", "sample"), [pytest.param(*case.values, id=case.id) for case in CASES]
)
@pytest.mark.every(3)
def test_the_raw_functions_of_replays_state_their_facts(op, sample):
    f, floats = testing.as_function(op, sample, testing.materialise(op, sample, np.float64))

    def gradient(*arrays):
        with xp.GradientTape() as tape:
            tape.watch(arrays)
            total = testing.total([f(*arrays)])
        return tape.gradient(total, arrays, unconnected_gradients="zero")

    function = xp.function(gradient)
    for _ in range(3):
        function(*map(xp.asarray, floats))
    assert {name for name in function.program.ops if name not in FACTS} <= WITHOUT


# --- statements ---------------------------------------------------------------------------------------
def test_a_fact_that_there_is_none_of_is_refused():
    with pytest.raises(TypeError, match="no fact called smooth"):
        Op("wrong", "elementwise", ("x",), rules=[lambda t: t], smooth=True)


def test_an_op_without_a_signature_is_refused():
    from arraytape._define.words import linear

    with pytest.raises(TypeError, match="total: state its signature by core dimensions"):

        @linear(transpose=lambda g: g)
        def total(x: "xp.Array", /) -> "xp.Array": ...


def test_a_users_op_states_nothing_about_raw_functions():
    before = dict(FACTS)
    try:
        xp.define_op("masked", lambda x: np.positive(x), "elementwise", lambda t: t)
        assert before == FACTS
    finally:
        del REGISTRY["masked"]
