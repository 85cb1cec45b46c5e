"""``logging.getLogger("arraytape")`` says what is decided without a warning, once for each reason."""

import logging
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage import cupy_kernels
from arraytape._util.decision_log import log_decision
from arraytape.replay.compiled.machine import why_not


def replayed():
    f = xp.function(lambda x: 2.0 * x)
    for _ in range(3):
        f(xp.ones(2))


def traced_again():
    f = xp.function(lambda x: x if x[0] > 0.0 else -x)
    for value in (1.0, 1.0, 1.0, -1.0):
        f(xp.asarray([value]))


def eager_under_a_recorder():
    f = xp.function(lambda x: 2.0 * x)
    x = xp.ones(2)
    with xp.ForwardAccumulator(x, x):
        for _ in range(3):
            f(x)


def eager_from_now_on():
    f = xp.function(lambda x: x * float(x[0]))
    for i in range(8):
        with pytest.warns(xp.TapeWarning) if i == 7 else pytest.MonkeyPatch.context():
            f(xp.asarray([float(i)]))
    f(xp.asarray([9.0]))
    f(xp.asarray([9.0]))


def compiled():
    f = xp.function(lambda x: xp.sum(xp.exp(x) * xp.sin(x)), compile=True)
    for _ in range(3):
        f(xp.ones(10_000))


def rows_one_by_one():
    @xp.custom_gradient
    def host(x):
        return x * 2.0, lambda dy: 2.0 * dy

    x = xp.ones(2)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = host(x)
    tape.jacobian(y, x)


def unfused():
    def refuse(x):
        raise TypeError("no shape")

    fused = cupy_kernels.Fused(SimpleNamespace(fuse=lambda plain: refuse), np.tanh)
    for _ in range(2):
        fused(np.ones(2))


DECISIONS = {
    replayed: "a program replaces the function: replayed.<locals>.<lambda>(x: Array float64(2,))",
    traced_again: "<lambda>: not replayed, bool() at {file}",
    eager_under_a_recorder: "<lambda>: not replayed, a tape or accumulator around it records it [at ",
    eager_from_now_on: "<lambda>: not replayed, float() at {file}",
    compiled: "runs by machine code for 3 of 3 calls",
    rows_one_by_one: "a user's function cannot compute 2 directions in one batched pass: each",
    unfused: "CuPy cannot fuse tanh, which runs op by op: TypeError('no shape')",
}


@pytest.mark.parametrize("decide", DECISIONS, ids=lambda decide: decide.__name__)
def test_each_decision_is_logged_once(decide, caplog):
    if decide is compiled and why_not():
        pytest.skip(why_not())
    with caplog.at_level(logging.INFO, "arraytape"):
        decide()
    said = [record.getMessage() for record in caplog.records if record.name == "arraytape"]
    (found,) = [text for text in said if DECISIONS[decide].format(file=__file__) in text]
    assert "Traceback" not in found


def test_nothing_is_composed_while_nobody_listens(caplog):
    def composed():
        raise AssertionError("composed")

    caplog.set_level(logging.WARNING, "arraytape")
    log_decision("%s", composed)
    assert caplog.records == []


def test_logging_is_not_imported_for_messages_that_nobody_reads():
    program = (
        "import sys; from arraytape._util.decision_log import log_decision;"
        "sys.modules.pop('logging', None); log_decision('nobody'); print('logging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
