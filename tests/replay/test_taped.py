"""Functions under a tape: a replayed call is one record, whose gradients are those of eager code."""

import codecs
import gc
import threading
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._record.op import REGISTRY
from arraytape.replay.taped import FUNCTION
from helpers.replaying import USES, recorded
from helpers.samples import CASES

CALLS = 5  # two are traced, one goes back through records, two by the program


def arguments(op, sample, seed):
    function, floats = testing.as_function(
        op, sample, testing.materialise(op, sample, np.float64, seed=seed)
    )
    return function, lambda: [xp.asarray(x) for x in floats]


@pytest.mark.parametrize(
    ("op", "sample", "use"),
    [
        pytest.param(*case.values, USES[i % len(USES)], id=f"{case.id}-{USES[i % 4].__name__}")
        for i, case in enumerate(CASES)
    ],
)
@pytest.mark.every(3)
def test_samples_of_ops(op, sample, use):
    f, _ = arguments(op, sample, 0)
    calls = [arguments(op, sample, seed)[1] for seed in range(4)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        outcome = recorded(f, calls, use)
    assert outcome.replayed >= 1, outcome


# --- programs -----------------------------------------------------------------------------------------
def rng(seed):
    return np.random.default_rng(seed)


def arrays(*shapes):
    """Functions that make the arguments of a call, each with other values."""

    def maker(seed):
        return lambda: [
            xp.asarray(rng(seed).normal(size=shape) + 2.0) if isinstance(shape, tuple) else shape
            for shape in shapes
        ]

    return [maker(seed) for seed in range(CALLS)]


def several_results(x, y):
    h = xp.tanh(x) * y
    return {"h": h, "sum": xp.sum(h), "list": [x * 2.0, 1.0]}


def writes_to_arguments(x, y):
    x *= y
    x[0] = xp.sum(y) * x[1]
    y[1:] = x[1:] * x[0]
    return xp.sum(x)


def writes_through_views(x, y):
    part = x[1:]
    z = xp.zeros(4)
    z[::2] = part[:2] * y[0]
    part += y[1:]
    z[1:3] -= y[:2]
    return z, part * 2.0


def a_tape_inside(x, y):
    with xp.GradientTape() as tape:
        tape.watch(x)
        inner = xp.sum(xp.exp(x * 0.1) * y)
    return tape.gradient(inner, x) * y


def hessian_inside(x, y):
    return xp.hvp(lambda z: xp.sum(z**3 * y), (x,), (y,))[0]


def selects(x, y):
    return xp.where(x > 100.0, xp.sqrt(x - 100.0), y) + xp.maximum(x, y)


def has_nan(x, y):
    zero = x - x
    return xp.where(zero > 0.0, xp.sqrt(zero), y * x)


def gives_its_argument(x, y):
    return x, x * y


def unconnected(x, y):
    return xp.floor(x), y * 2.0


def decides(x, y):
    return x * y if xp.sum(x) > 0.0 else x + y


def complex_inside(x, y):
    z = x + 1j * y
    return xp.real(z * xp.conj(z)), xp.imag(xp.exp(z))


def of_integers(x, y):
    i = xp.argsort(x)
    return xp.take(y, i) * x, xp.sum(i)


def loops(x, y):
    state = xp.zeros(3)
    for i in range(3):
        state[i] = x[i] * xp.sum(state) + y[i]
    return state


PROGRAMS = [
    several_results, writes_to_arguments, writes_through_views, a_tape_inside, hessian_inside, selects,
    has_nan, gives_its_argument, unconnected, decides, complex_inside, of_integers, loops,
]  # fmt: skip


FOLLOWED = (True,), (True, False), (False, True)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("f", "followed"),
    [(f, FOLLOWED[i % 3]) for i, f in enumerate(PROGRAMS)] + [(f, (True,)) for f in PROGRAMS[1:3]],
)
def test_programs(f, followed, use):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        outcome = recorded(f, arrays((3,), (3,)), use, followed)
    assert outcome.replayed == CALLS - 2, outcome


def on_tape(f, *watched, **options):
    """The gradient of the sum of what f gives."""
    with xp.GradientTape(**options) as tape:
        tape.watch(watched)
        y = xp.sum(f(*watched))
    return tape, y, tape.gradient(y, watched)


def replayed(f, *watched):
    """Call a function on tapes until it goes back by its program."""
    g = xp.function(f)
    for _ in range(4):
        on_tape(g, *watched)
    assert g.counts == {"traced": 2, "replayed": 2, "eager": 0}, (g.counts, g.reasons)
    assert "_pull(" in g.source
    return g


def x_of(*values):
    return xp.asarray(np.array(values))


def test_a_replayed_call_is_one_record_and_what_it_keeps_goes_with_it():
    x = x_of(1.0, 2.0)
    g = replayed(lambda x: xp.tanh(x) * xp.exp(x), x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = g(x)
    (record,) = tape._recording.records
    assert record[0] == FUNCTION.number
    expected = on_tape(g.eager, x_of(1.0, 2.0))[2]
    with xp.GradientTape() as tape:
        x = x_of(1.0, 2.0)
        tape.watch(x)
        y = g(x)
        total = xp.sum(y)
        y *= 0.0
        x += 5.0
    assert tape.gradient(total, x).tolist() == expected[0].tolist()
    x = x_of(1.0, 2.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = x * 1.0
        total = xp.sum(g(z))
        z += 3.0
    assert tape.gradient(total, x).tolist() == expected[0].tolist()


def test_variables_are_watched_when_the_replayed_function_reads_them():
    v, frozen = xp.Variable([1.0, 2.0]), xp.Variable([3.0, 4.0], trainable=False)
    scale = x_of(0.5, 0.25)

    @xp.function
    def f(x):
        return xp.tanh(v * x) * frozen * scale

    for i in range(6):
        v.assign([1.0 + i, 2.0])
        x = x_of(0.1 * i, 0.2)
        found = []
        for one in (f, f.eager):
            with xp.GradientTape() as tape:
                tape.watch(scale)
                y = xp.sum(one(x))
            watched = tape.watched_variables()
            assert [id(w) for w in watched] == [id(v)]
            found.append(tape.gradient(y, [v, scale]))
        assert str(found[0]) == str(found[1])
    assert f.counts["replayed"] == 4
    with xp.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = xp.sum(f(x))
    assert tape.watched_variables() == ()
    assert str(tape.gradient(y, x)) == str(on_tape(f.eager, x)[2][0])


def test_assignments_to_variables_cut_history_as_ever():
    count, x = xp.Variable(0.0), x_of(2.0, 3.0)

    @xp.function
    def f(x):
        count.assign_add(xp.sum(x))
        return x * count

    for i in range(1, 6):
        _, _, (g,) = on_tape(f, x)
        assert float(count) == 5.0 * i
        assert g.tolist() == [5.0 * i] * 2
    assert f.counts["replayed"] == 3


def test_a_step_with_a_module_as_a_library_function_in_anothers_tape():
    layer, x = xp.nn.Dense(2), xp.asarray(rng(0).normal(size=(4, 3)))

    @xp.function
    def library(x):
        return xp.tanh(layer(x))

    for _ in range(5):
        found = []
        for f in (library, library.eager):
            with xp.GradientTape() as tape:
                tape.watch(x)
                loss = xp.mean(f(x * 2.0) ** 2)
            found.append(tape.gradient(loss, [x, *layer.trainable_variables]))
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-13)
    assert library.counts["replayed"] == 2  # its first call made Variables


def test_results_without_a_cotangent_and_inputs_without_a_path():
    x, y = x_of(1.0, 2.0), x_of(3.0, 4.0)
    g = xp.function(lambda x, y: (x * 2.0, y * y))
    for i in range(8):
        with xp.GradientTape() as tape:
            tape.watch([x, y])
            a, b = g(x, y)
            total = xp.sum((a, b, a + b)[i // 2 % 3])
        found = tape.gradient(total, [x, y])
        expected = ([2.0, 2.0], None), (None, [6.0, 8.0]), ([2.0, 2.0], [6.0, 8.0])
        assert [None if one is None else one.tolist() for one in found] == list(
            expected[i // 2 % 3]
        )
    assert g.counts["replayed"] == 6


def test_nested_tapes_accumulators_and_mapped_calls_run_it_as_it_is():
    x = x_of(1.0, 2.0)
    g = replayed(lambda x: xp.exp(x) * x, x)
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(g(x))
        first = xp.sum(inner.gradient(y, x))
    second = outer.gradient(first, x)
    np.testing.assert_allclose(np.asarray(second), np.exp(np.asarray(x)) * (np.asarray(x) + 2.0))
    with xp.ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        y = g(x)
    np.testing.assert_allclose(np.asarray(accumulator.jvp(y)), np.exp([1.0, 2.0]) * [2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.vmap(g)(x)
    assert tape.gradient(y, x).shape == (2,)
    assert g.counts["eager"] == 3


def test_a_persistent_tape_that_records_its_own_gradient():
    x = x_of(1.0, 2.0)
    g = replayed(lambda x: xp.exp(xp.sin(x)), x)
    found = []
    for f in (g, g.eager):
        with warnings.catch_warnings(), xp.GradientTape(persistent=True) as tape:
            warnings.simplefilter("ignore", xp.TapeWarning)
            tape.watch(x)
            y = f(x) * 3.0
            first = tape.gradient(y, x)
        found.append((first, tape.gradient(first, x), tape.gradient(y, x)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-13)
    assert g.counts["eager"] == 0


def test_functions_that_do_more_than_ops_are_inlined_and_say_why():
    x = x_of(1.0, 2.0)
    rule = xp.custom_gradient(lambda x: (x * 2.0, lambda g: 7.0 * g))
    tapes = []

    def with_a_rule(x):
        return rule(x)

    def that_leaves(x):
        return x * float(x[0])

    def with_vmap(x):
        return xp.vmap(lambda row: row * row)(x)

    def that_watches(x):
        y = x + 1.0
        tapes[-1].watch(y)
        return y * y

    for f, expected, why in (
        (with_a_rule, [7.0, 7.0], "custom_gradient"),
        (that_leaves, [1.0, 1.0], "left"),
        (with_vmap, [2.0, 4.0], "batched"),
        (that_watches, [4.0, 6.0], ""),
    ):
        g = xp.function(f, strict=True)
        for _ in range(5):
            with xp.GradientTape(exits="ignore") as tape:
                tapes.append(tape)
                tape.watch(x)
                y = xp.sum(g(x))
            assert tape.gradient(y, x).tolist() == expected
        assert g.counts["replayed"] == 0
        assert any(why in reason for reason in g.reasons), g.reasons


def test_a_rule_of_the_users_own_runs_in_each_backward_pass(request):
    codecs.register_error("calls_of_a_rule", lambda error: None)  # out of reach, held by C code:
    codecs.lookup_error("calls_of_a_rule").count = 0  # what is in reach would keep the calls eager

    def rule(g, x):
        codecs.lookup_error("calls_of_a_rule").count += 1
        return 2.0 * g * x

    square = xp.define_op("square_of_taped", lambda x: x * x, "primitive", rule)
    request.addfinalizer(lambda: REGISTRY.pop("square_of_taped"))
    x = x_of(1.0, 2.0)
    g = xp.function(lambda x: square(x) + x)
    for i in range(6):
        _, _, (found,) = on_tape(g, x)
        assert found.tolist() == [3.0, 5.0]
        assert codecs.lookup_error("calls_of_a_rule").count == i + 1
    assert g.counts["replayed"] == 3  # the first call of an op compiles it


def test_which_arrays_are_followed_is_part_of_the_signature():
    x, y = x_of(1.0, 2.0), x_of(3.0, 4.0)
    g = xp.function(lambda x, y: x * x * y)
    for _ in range(5):
        assert g(x, y).tolist() == [3.0, 16.0]
        _, _, (found,) = on_tape(lambda x: g(x, y), x)
        assert found.tolist() == [6.0, 16.0]
        _, _, (found,) = on_tape(lambda y: g(x, y), y)
        assert found.tolist() == [1.0, 4.0]
        _, _, both = on_tape(g, x, y)
        assert [one.tolist() for one in both] == [[6.0, 16.0], [1.0, 4.0]]
    assert g.counts == {"traced": 8, "replayed": 12, "eager": 0}


def test_a_guard_that_fails_in_a_replay_records_nothing():
    x = x_of(1.0, 2.0)
    g = replayed(lambda x: x * x if xp.sum(x) > 0.0 else x * 3.0, x)
    for _ in range(3):
        _, _, (found,) = on_tape(g, x_of(-1.0, -2.0))
        assert found.tolist() == [3.0, 3.0]
        _, _, (found,) = on_tape(g, x_of(1.0, 2.0))
        assert found.tolist() == [2.0, 4.0]


def test_an_exception_in_a_traced_call_leaves_the_tape_with_values():
    @xp.function
    def f(x):
        y = xp.exp(x)
        if x.shape == (2,):
            raise ValueError("two")
        return y

    x = x_of(1.0, 2.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ValueError, match="two"):
            f(x)
        y = x * x
        kept = [type(item).__name__ for record in tape._recording.records for item in record]
    assert "Traced" not in kept
    assert tape.gradient(y, x).tolist() == [2.0, 4.0]


def test_arrays_that_a_traced_call_keeps_stay_followed():
    kept = []

    @xp.function
    def f(x):
        kept.append(x * 2.0)
        return x

    x = x_of(1.0, 2.0)
    for _ in range(3):
        with xp.GradientTape() as tape:
            tape.watch(x)
            f(x)
            y = kept[-1] * kept[-1]
        assert tape.gradient(y, x).tolist() == [8.0, 16.0]


def test_hooks_numerics_and_other_attendance():
    x = x_of(1.0, 2.0)
    g = replayed(lambda x: xp.exp(x), x)
    for options in ({"check_numerics": True}, {"profile": True}, {"memory_limit": 10**6}):
        _, _, (found,) = on_tape(g, x, **options)
        assert found.tolist() == on_tape(g.eager, x)[2][0].tolist()
    assert g.counts["eager"] == 3
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = g(x)
        seen = []
        xp.diagnose.on_gradient(y, seen.append)
        z = y * 2.0
    assert tape.gradient(z, x).tolist() == [2.0 * one for one in found.tolist()]
    assert seen[0].tolist() == [2.0, 2.0]


def test_a_tape_tells_what_a_call_keeps():
    x = x_of(1.0, 2.0)
    g = replayed(lambda x: xp.exp(x), x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        g(x)
    assert "1 record" in repr(tape)
    assert "function" in str(tape.summary())


def test_a_program_of_a_tape_that_is_gone_keeps_no_data():
    x = xp.ones(1000)
    g = replayed(lambda x: xp.exp(xp.sin(x)), x)
    gc.collect()
    before = sum(isinstance(one, xp.Array) for one in gc.get_objects())
    for _ in range(5):
        on_tape(g, x)
    gc.collect()
    assert sum(isinstance(one, xp.Array) for one in gc.get_objects()) <= before + 2


def test_threads_with_tapes_of_their_own():
    x = xp.asarray(np.linspace(0.0, 1.0, 50))
    g = xp.function(lambda x: xp.tanh(x) * xp.exp(x))
    expected, wrong = on_tape(g.eager, x)[2][0].tolist(), []
    for _ in range(3):  # while one thread traces, others run as they are
        on_tape(g, x)

    def work():
        for _ in range(50):
            _, _, (found,) = on_tape(g, +x)
            if found.tolist() != expected:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert g.counts == {"traced": 2, "replayed": 201, "eager": 0}
