"""What other systems got wrong, by the addresses (on github.com) where it was reported: lifetimes.

Deep programs, memory, threads and processes; values are in test_failures_elsewhere.
"""

import gc
import multiprocessing
import subprocess
import sys
import threading
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable, optimizers
from arraytape._record.op import REGISTRY
from arraytape._record.plan import PLANS
from arraytape._record.stack import OPEN, recorders


# --- depth ------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_million_ops_deep():
    """pytorch/pytorch/issues/5534: freeing a deep graph overflowed the stack."""
    x = xp.asarray(3.0)
    tape = GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x
        for _ in range(10**6):
            y = -y
    assert float(tape.gradient(y, x)) == 1.0
    records = weakref.ref(tape)
    del tape
    assert records() is None


@pytest.mark.slow
@pytest.mark.parametrize("wrap", ["views", "writes", "recompute", "custom"])
def test_ten_thousand_deep_to_second_order(wrap):
    """pytorch/pytorch/issues/5534, for what is not a plain op."""
    identity = {
        "views": lambda y: y[...],
        "writes": lambda y: y.__iadd__(0.0),
        "recompute": xp.recompute_grad(lambda y: y * 1.0),
        "custom": xp.custom_gradient(lambda y: (y * 1.0, lambda dy: dy)),
    }[wrap]
    x = xp.asarray([3.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
            for _ in range(10_000 if wrap in ("views", "writes") else 2_000):
                y = identity(y)
        first = inner.gradient(y, x)
    assert (float(first[0]), float(outer.gradient(first, x)[0])) == (27.0, 18.0)


@pytest.mark.nightly
def test_five_thousand_checkpointed_pieces():
    """pytorch/pytorch/issues/6959."""
    piece = xp.recompute_grad(lambda y, w: y + w * y * 1e-4)
    w, x = Variable(1.0), xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(5000):
            y = piece(y, w)
    dx, dw = tape.gradient(y, [x, w])
    np.testing.assert_allclose(float(dx), 1.0001**5000, rtol=1e-12)
    np.testing.assert_allclose(float(dw), 2.0 * 5000 * 1e-4 * 1.0001**4999, rtol=1e-11)


# --- memory -----------------------------------------------------------------------------------------
def second_order(f):
    def work():
        x = xp.asarray([1.0, 2.0])
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            g = inner.gradient(y, x)
        outer.gradient(g, x)

    return work


WORKS = {
    "higher order": second_order(lambda x: xp.exp(x) * x),
    "a view": second_order(lambda x: x[:1] * x[1:] * x),
    "a write": second_order(lambda x: (x * x).__iadd__(x)),
    "a checkpoint": second_order(xp.recompute_grad(lambda x: xp.sin(x) * x)),
    "a custom gradient": second_order(
        xp.custom_gradient(lambda x: (x * x, lambda dy: dy * 2.0 * x))
    ),
    "a hessian": lambda: xp.hessian(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0])),
    "a persistent tape inside": lambda: xp.jacobian(xp.jacobian(xp.sin))(xp.asarray([1.0])),
    "a Hessian-vector product": lambda: xp.hvp(
        lambda x: xp.sum(x**3), (xp.ones(2),), (xp.ones(2),)
    ),
    "a Variable": lambda: second_order(lambda x: x * x * Variable([1.0, 2.0]))(),
}


@pytest.mark.parametrize("name", WORKS)
def test_nothing_is_left_to_the_cyclic_garbage_collector(name, left_behind):
    """pytorch/pytorch/issues/4661, /84413: higher order and checkpoints left reference cycles."""
    assert left_behind(WORKS[name]) == []


def test_the_results_of_custom_gradients_die_with_their_tapes():
    """tensorflow/tensorflow/issues/97697: the registry kept each result for ever."""
    f = xp.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 0.1))
    results, plans = [], len(PLANS)
    for _ in range(100):
        x = xp.asarray(np.ones(10))
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)
        results.append(weakref.ref(y._data))
    del tape, y
    assert [r() for r in results] == [None] * 100
    assert len(PLANS) == plans


@pytest.mark.slow
@pytest.mark.nightly
def test_memory_is_constant_over_ten_thousand_steps():
    """tensorflow/tensorflow/issues/32276, /34379."""
    rng = np.random.default_rng(0)
    w, b = Variable(rng.normal(size=(3, 2))), Variable(np.zeros(2))
    x, optimizer = xp.asarray(rng.normal(size=(4, 3))), optimizers.SGD(0.01, momentum=0.5)

    def steps(count):
        for _ in range(count):
            with GradientTape() as tape:
                loss = xp.mean(xp.tanh(x @ w + b) ** 2)
            gradients = tape.gradient(loss, [w, b])
            optimizer.apply_gradients(zip(gradients, [w, b], strict=True))

    def standing():
        gc.collect()
        return len(PLANS), len(REGISTRY), len(OPEN), sys.getallocatedblocks()

    steps(500)
    *before, blocks = standing()
    steps(9500)
    *after, more = standing()
    assert after == before
    assert more - blocks < 950  # a tenth of one for each step, where a kept array is several


def test_what_the_backward_pass_makes_is_freed_as_it_goes():
    """chainer/chainer/pull/4301, as far as it goes here: the records stay until a gradient is there,
    since a call that failed may be repeated, and a pass that found a NaN runs again.
    """
    x = xp.asarray(np.ones(100_000))  # 800 kB
    tape = GradientTape()
    with tape:
        tape.watch(x)
        y = x
        for _ in range(50):
            y = xp.exp(y * 0.01)
        y = xp.sum(y)
    gc.collect()
    tracemalloc.start()
    try:
        g = tape.gradient(y, x)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * 800_000
    assert held < 2 * 800_000
    assert tape._recording.records == []
    assert g.shape == x.shape


# --- threads and processes --------------------------------------------------------------------------
def test_sixteen_threads_take_gradients_of_mixed_order():
    """HIPS/autograd/pull/659, ml-explore/mlx/issues/3620: threads raced for one stack of tapes."""
    barrier = threading.Barrier(16)

    def derivative(order, x):
        if not order:
            return x**5
        with GradientTape() as tape:
            tape.watch(x)
            y = derivative(order - 1, x)
        return tape.gradient(y, x)

    def work(k):
        barrier.wait(timeout=60)
        wrong = 0
        for i in range(60):
            order, x = (k + i) % 5, 1.0 + k + i / 100
            expected = x ** (5 - order) * np.prod(np.arange(5, 5 - order, -1))
            wrong += not np.isclose(float(derivative(order, xp.asarray(x))), expected)
        return wrong + len(recorders())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(work, range(16), timeout=100)) == [0] * 16
    finally:
        sys.setswitchinterval(interval)


def square_slope(value):
    """The gradient of a square, for a process of its own."""
    x = xp.asarray(value)
    with GradientTape() as tape:
        tape.watch(x)
        y = x @ x
    return np.asarray(tape.gradient(y, x)).tolist(), len(recorders())


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this platform cannot fork"
)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_pool_after_a_gradient_and_a_gradient_after_a_pool():
    """pytorch/pytorch/issues/3966, /32835: a gradient in a forked child waited for ever."""
    value = np.ones((50, 50))
    here = square_slope(value)
    with GradientTape() as open_tape, multiprocessing.get_context("fork").Pool(2) as pool:
        open_tape.watch(xp.asarray(value))
        there = pool.map_async(square_slope, [value] * 4).get(timeout=60)
    assert [found for found, _ in there] == [here[0]] * 4
    assert [depth for _, depth in there] == [0] * 4
    assert square_slope(value) == here


def test_a_spawned_process_starts_with_nothing(tmp_path):
    """pytorch/pytorch/issues/32835."""
    code = """
import multiprocessing
import arraytape as xp
from arraytape._record.stack import recorders

def work(value):
    x = xp.asarray(value)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return float(tape.gradient(y, x)), len(recorders())

if __name__ == "__main__":
    x = xp.asarray(3.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.apply_async(work, (3.0,)).get(timeout=50) == (6.0, 0)
    assert float(tape.gradient(y, x)) == 6.0
"""
    script = tmp_path / "spawned.py"
    script.write_text(code)
    subprocess.run([sys.executable, script], check=True, timeout=100)
