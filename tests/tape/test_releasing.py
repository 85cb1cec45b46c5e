"""A one-shot tape lets go on the way back: the same gradients, bit for bit, at a lower peak."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, testing
from arraytape._storage import numpy_namespace
from arraytape._tape import blockwise, buffers, recording, releasing
from arraytape._tape.releasing import ReleasingPass
from arraytape.replay.tracing.trace import raising_on_warnings
from helpers.peaks import peak_of
from helpers.samples import CASES

MB = 1_000_000


@pytest.fixture
def eager_to_let_go(monkeypatch):
    """Each tape keeps much, each array is large, each record is a segment; counts what happened."""
    settings = {"MUCH": 0, "SEGMENT": 1, "SEGMENTS": 1 << 40, "LARGE": 1}
    for name, value in {"HUGE": 1, "BLOCK": 3, "LARGE": 1, "SMALL_BLOCK": 3}.items():
        monkeypatch.setattr(blockwise, name, value)
    monkeypatch.setattr(numpy_namespace, "SMALL", 0)  # a sum's cotangent is one number, repeated
    for name, value in {**settings, "FEW": 1 << 40, "MANY": 1 << 40}.items():
        monkeypatch.setattr(releasing, name, value)
    monkeypatch.setattr(buffers, "LARGE", 1)
    monkeypatch.setattr(recording, "LARGE", 1)
    found = {"runs": 0, "reruns": 0, "passed": 0, "hollow": 0}
    run, guarded, filled = (
        ReleasingPass.run_releasing,
        ReleasingPass.rerun_guarded,
        releasing.refill_record,
    )

    def counted_run(self, guard):
        found["runs"] += 1
        return run(self, guard)

    def counted_rerun(self, before, records):
        found["reruns"] += 1
        found["passed"] += len(self.passed)
        return guarded(self, before, records)

    def counted_filled(record):
        found["hollow"] += any(type(item) is releasing.Hollow for item in record)
        return filled(record)

    monkeypatch.setattr(ReleasingPass, "run_releasing", counted_run)
    monkeypatch.setattr(ReleasingPass, "rerun_guarded", counted_rerun)
    monkeypatch.setattr(releasing, "refill_record", counted_filled)
    # Traces run raw functions with their modules' settings of the first time.
    raising_on_warnings.cache_clear()
    yield found
    raising_on_warnings.cache_clear()


def same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        if other is None:
            assert one is None
            continue
        a, b = (np.atleast_1d(g.to_numpy()) for g in (one, other))
        # The guarded rerun writes zeros where nothing is active: of either sign is as good.
        a, b = a + 0.0, b + 0.0
        # NumPy's loops give NaN of either sign, which differs by the place of an element in its array.
        a[np.isnan(a)] = b[np.isnan(b)] = np.nan
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), (a, b)


# --- programs ---------------------------------------------------------------------------------------
def risky(x, rng):
    """Infinite slopes at 0, and values that overflow."""
    return [
        xp.sqrt,
        xp.log,
        lambda x: x**0.5,
        lambda x: 1.0 / x,
        xp.abs,
        lambda x: xp.exp(90.0 * x),
    ][rng.integers(6)](x)


def selected(x, rng):
    kind, limit = rng.integers(7), 0.4
    if kind == 0:
        return xp.where(x > limit, x, 0.0 * limit)
    if kind == 1:
        return xp.maximum(x, limit)
    if kind == 2:
        return xp.clip(x, 0.1, 2.0)
    if kind == 3:
        return xp.concat([x[1:], x[:1] * 0.5])
    if kind == 4:
        return xp.tril(x)
    if kind == 5:
        y = x * 1.0
        y[0] = 0.5
        return y
    return xp.sort(x, axis=0)


def plain(x, y, w, rng):
    kind = rng.integers(10)
    return [
        lambda: x * y,
        lambda: x - y,
        lambda: x @ w,
        lambda: xp.tanh(x),
        lambda: xp.sin(x) + 0.3,
        lambda: x * 0.7,
        lambda: xp.matrix_transpose(x) + 0.1 * y,
        lambda: x / (1.1 + y * y),
        lambda: x + xp.sum(x, axis=0),
        lambda: xp.where(y > 0.3, x, y),
    ][kind]()


def program(seed):
    """Targets of a random program over three matrices with zeros in them."""

    def run(a, b, w):
        rng = np.random.default_rng(seed)
        values = [a, b]
        for _ in range(rng.integers(2, 9)):
            x = values[rng.integers(len(values))]
            y = values[rng.integers(len(values))]
            kind = rng.integers(6)
            new = (
                risky(x, rng)
                if kind == 0
                else selected(x, rng)
                if kind < 3
                else plain(x, y, w, rng)
            )
            if rng.integers(3) == 0:
                new = xp.where(xp.isfinite(new), new, 0.0)
            values.append(new)
        picked = xp.where(xp.isfinite(values[-1]), values[-1], 0.0)
        return xp.sum(picked * (0.3 + 0.1 * xp.tanh(values[-2])))

    return run


def inputs(seed):
    rng = np.random.default_rng(seed)
    found = [np.where(rng.random((4, 4)) < 0.25, 0.0, rng.random((4, 4))) for _ in range(3)]
    return [xp.asarray(data) for data in found]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_a_tape_that_lets_go_gives_what_a_persistent_one_gives(eager_to_let_go, block):
    with np.errstate(all="ignore"):
        for seed in range(block * 200, block * 200 + 200):
            found = []
            for persistent in (False, True):
                sources = inputs(seed)
                with GradientTape(persistent=persistent) as tape:
                    tape.watch(sources)
                    y = program(seed)(*sources)
                found.append(tape.gradient(y, sources))
            same_bits(*found)
    assert eager_to_let_go["runs"] == 200
    assert eager_to_let_go["reruns"] > 10
    assert eager_to_let_go["passed"] > eager_to_let_go["reruns"]
    assert eager_to_let_go["hollow"] > 10


@pytest.mark.slow
def test_random_programs_with_views_and_writes_have_the_complex_steps_gradients(
    eager_to_let_go, programs
):
    for seed in range(150):
        programs.replay(seed)
    assert eager_to_let_go["runs"] > 200
    assert eager_to_let_go["reruns"] > 10


@pytest.mark.parametrize("nan", ["guard", "keep"])
def test_without_the_guard_nothing_is_kept(eager_to_let_go, nan):
    x = xp.asarray([0.0, 4.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.where(x > 0, xp.sqrt(x), 0.0)
    g = tape.gradient(y, x, nan=nan).to_numpy()
    assert eager_to_let_go["reruns"] == (nan == "guard")
    np.testing.assert_array_equal(g, [0.0 if nan == "guard" else np.nan, 0.25])


def test_a_guarded_rerun_goes_on_where_the_nan_came_up(eager_to_let_go):
    x, w = xp.asarray([0.0, 4.0, 9.0]), xp.asarray(np.eye(3) + 0.5)
    with GradientTape() as tape:
        tape.watch([x, w])
        y = xp.sqrt(x) @ w
        for _ in range(3):
            y = xp.maximum(xp.tanh(y) @ w, 0.1)
        first = xp.where(x > 0, xp.sqrt(x), 0.0)
        for _ in range(3):
            first = xp.maximum(xp.sin(first) * 1.5, 0.1) @ w
        z = xp.sum(first)
    g = tape.gradient(z, [x, w])
    assert eager_to_let_go["reruns"] == 1
    assert eager_to_let_go["hollow"] >= 6
    assert all(bool(xp.all(xp.isfinite(part))) for part in g)


ELEMENTWISE = [case for case in CASES if case.values[0].kind == "elementwise"]


@pytest.mark.parametrize(("op", "sample"), ELEMENTWISE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rules_by_blocks_give_the_same_bits(eager_to_let_go, op, sample, dtype):
    function, data = testing.as_function(op, sample, testing.materialise(op, sample, dtype))
    found = []
    for persistent in (False, True):
        sources = [xp.asarray(x) for x in data]
        with GradientTape(persistent=persistent) as tape:
            tape.watch(sources)
            y = function(*sources)
            z = xp.sum(y * y) if y.dtype.kind == "f" else xp.sum(xp.real(y))
        found.append(tape.gradient(z, sources))
    same_bits(*found)


# --- failures ---------------------------------------------------------------------------------------
def failing(calls):
    @xp.custom_gradient
    def identity(x):
        def grad(g):
            calls.append(1)
            if len(calls) == 1:
                raise ZeroDivisionError
            return g

        return x * 1.0, grad

    return identity


def test_a_tape_that_fails_once_records_have_gone_is_used_up(eager_to_let_go):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.tanh(failing([])(x) * 2.0))
    with pytest.raises(ZeroDivisionError):
        tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="only be used to compute one set of gradients"):
        tape.gradient(y, x)


def test_a_tape_that_kept_its_records_can_be_asked_again_after_a_failure():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(failing([])(x) * 2.0)
    with pytest.raises(ZeroDivisionError):
        tape.gradient(y, x)
    np.testing.assert_array_equal(tape.gradient(y, x).to_numpy(), [2.0, 2.0])


# --- peaks ------------------------------------------------------------------------------------------
def step(f, *sources):
    sources = [xp.asarray(x) for x in sources]

    def run():
        with GradientTape() as tape:
            tape.watch(sources)
            y = f(*sources)
        return y, tape.gradient(y, sources)

    return run


def test_the_peak_of_a_few_large_elementwise_ops_is_what_must_be_held():
    n = MB
    run = step(
        lambda x, a, b: xp.sum(xp.tanh(a * x + b) * xp.exp(-(x**2))),
        np.linspace(-1, 1, n),
        np.asarray(0.7),
        np.asarray(0.1),
    )
    assert (
        peak_of(run, warm=True) < 1.1 * 3 * 8 * n
    )  # the results of tanh and exp, and the gradient


def test_the_peak_of_a_deep_net_is_its_activations():
    layers, batch, width = 40, 1024, 96
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((width, width)) * (2 / width) ** 0.5 for _ in range(layers)]
    data = xp.asarray(rng.standard_normal((batch, width)))

    def loss(*weights):
        h = data
        for w in weights:
            h = xp.maximum(h @ w, 0.0)
        return xp.sum(h * h)

    activations = 8 * layers * batch * width * (1 + 1 / 8)  # and the masks of relu
    assert peak_of(step(loss, *weights), warm=True) < 1.15 * activations


def test_a_trace_has_no_looks_of_a_tape_that_lets_go(eager_to_let_go):
    @xp.function
    def step(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.maximum(xp.tanh(x), 0.1) * xp.sqrt(x))
        return y, tape.gradient(y, x)

    for call in range(3):
        step(xp.asarray([1.0, 2.0, 3.0]) + call)
    assert eager_to_let_go["runs"] == 0
    assert step.counts["replayed"] == 1
    looks = [guard for guard in step.traces[0].guards if "NaN" in guard]
    assert len(looks) == 1  # at the gradient
