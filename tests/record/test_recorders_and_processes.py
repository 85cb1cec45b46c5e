"""Other processes: recorders stay where they are, Arrays, Variables and Modules travel as values."""

import copy
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import cloudpickle
import joblib
import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning, nn, optimizers
from arraytape._record.stack import BaseRecorder, Paused, new_value_id
from arraytape._tape.forward import ForwardPass
from arraytape._tape.recording import Recording
from helpers.processes import gradient_of_squares, gradients_of_a_model

DUPLICATES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "cloudpickle": cloudpickle.dumps,
    **{
        f"pickle {protocol}": partial(pickle.dumps, protocol=protocol)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


def used_tape():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        x * x
    return tape


def used_accumulator():
    x = xp.asarray([1.0, 2.0])
    with xp.ForwardAccumulator(x, x) as accumulator:
        x * x
    return accumulator


class Tape(xp.GradientTape):
    """A subclass with state of its own."""

    def __init__(self):
        super().__init__()
        self.losses = []


RECORDERS = {
    "tape": xp.GradientTape,
    "used tape": used_tape,
    "tape of a subclass": Tape,
    "accumulator": lambda: xp.ForwardAccumulator(xp.asarray(1.0), xp.asarray(1.0)),
    "used accumulator": used_accumulator,
    "recording": lambda: Recording(False, True),
    "forward pass": ForwardPass,
    "paused": lambda: Paused(Recording(False, True)),
    "recorder": BaseRecorder,
}


@pytest.mark.parametrize("duplicate", DUPLICATES.values(), ids=DUPLICATES)
@pytest.mark.parametrize("make", RECORDERS.values(), ids=RECORDERS)
def test_a_recorder_refuses_and_says_what_to_do(duplicate, make):
    recorder = make()
    with pytest.raises(TypeError, match=r"cannot be pickled or copied.*where the computation runs"):
        duplicate(recorder)
    with pytest.raises(TypeError, match=type(recorder).__name__):
        duplicate(recorder)


def held_by_a_module():
    module = xp.Module()
    module.tape = used_tape()
    return module


HOLDERS = {
    "module": held_by_a_module,
    "pull back": lambda: xp.vjp(lambda x: x * x, xp.asarray([1.0, 2.0]))[1],
    "closure": lambda: (lambda tape: lambda: tape)(used_tape()),
    "method": lambda: used_tape().gradient,
}


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_what_holds_a_recorder_refuses(make):
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        cloudpickle.dumps(make())


# --- values ---------------------------------------------------------------------------------------


def test_variables_are_unpickled_under_ids_of_their_own():
    variable = xp.Variable([1.0, 2.0], name="w")
    twins = pickle.loads(pickle.dumps([variable] * 2)), copy.copy(variable), copy.deepcopy(variable)
    (first, second), *others = twins
    assert first is second
    ids = [v._current_id() for v in (variable, first, *others)]
    assert len({*ids}) == 4
    assert new_value_id() > max(ids)
    with xp.GradientTape() as tape:
        y = xp.sum(variable * first)
    assert [g.tolist() for g in tape.gradient(y, [variable, first])] == [[1.0, 2.0], [1.0, 2.0]]
    assert {v.name for v in (first, *others)} == {"w"}


def test_a_model_and_its_optimizer_go_on_where_they_were():
    model, optimizer = nn.Dense(2), optimizers.Adam(0.1)
    x = xp.asarray([[1.0, 2.0]])

    def step(model, optimizer):
        with xp.GradientTape() as tape:
            loss = xp.sum(model(x) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return float(loss)

    for _ in range(2):
        step(model, optimizer)
    pairs = [(model, optimizer), pickle.loads(pickle.dumps((model, optimizer)))]
    pairs.append(copy.deepcopy((model, optimizer)))
    for _ in range(3):
        losses = [step(*pair) for pair in pairs]
        assert losses == losses[:1] * 3


MANY_IDS = """
import pickle, sys
import arraytape as xp
x = xp.asarray([1.0, 2.0])
with xp.GradientTape() as tape:
    tape.watch(x)
    values = [x, *(x * float(i) for i in range(300))]
    values += [v[:1] for v in values]
    variables = [xp.Variable([3.0, 4.0]) for _ in range(300)]
    sys.stdout.buffer.write(pickle.dumps((values, variables)))
"""


@pytest.fixture(scope="module")
def strangers():
    """Values whose ids in the process that made them were those of values here."""
    run = subprocess.run([sys.executable, "-c", MANY_IDS], capture_output=True, check=True)
    return pickle.loads(run.stdout)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_values_of_another_process_are_constants_to_a_tape(strangers):
    values, variables = strangers
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        tape.watch(x)
        own = [x * float(i) for i in range(300)]
        foreign = [xp.sum(v * 2.0) for v in (*values, *variables)]
    assert tape.gradient(foreign, x) is None
    assert tape.gradient(foreign, own, unconnected_gradients="none") == [None] * 300
    assert tape.gradient(own, [*values, *variables]) == [None] * (len(values) + len(variables))


def test_values_of_another_process_have_no_tangent(strangers):
    values, variables = strangers
    x = xp.asarray([1.0, 2.0])
    with xp.ForwardAccumulator(x, x) as accumulator:
        for i in range(300):
            x * float(i)
        foreign = [v * 2.0 for v in (*values, *variables)]
    assert accumulator.jvp(foreign) == [None] * len(foreign)
    assert accumulator.jvp([*values, *variables]) == [None] * len(foreign)


def test_variables_of_another_process_are_watched_each_for_itself(strangers):
    _, variables = strangers
    with xp.GradientTape() as tape:
        y = sum((i * xp.sum(v) for i, v in enumerate(variables[:50])), xp.asarray(0.0))
    found = tape.gradient(y, variables[:50])
    assert [g.tolist() for g in found] == [[float(i)] * 2 for i in range(50)]


def test_spawned_workers_make_their_own_tapes():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            parts = list(pool.map(gradient_of_squares, [x, x * 2.0]))
            with pytest.raises(TypeError, match="cannot be pickled"):
                pool.submit(gradient_of_squares, tape).result()
        y = xp.sum(x * parts[0])
    assert [part.tolist() for part in parts] == [[2.0, 4.0, 6.0], [4.0, 8.0, 12.0]]
    with pytest.warns(TapeWarning, match="a part of the gradient may be missing"):
        assert tape.gradient(y, x).tolist() == [2.0, 4.0, 6.0]


def test_data_parallel_gradients_by_joblib():
    model = nn.Dense(1)
    data = np.arange(12.0).reshape(4, 3)
    whole = gradients_of_a_model(model, xp.asarray(data))  # it makes the model's Variables
    halves = [xp.asarray(data[:2]), xp.asarray(data[2:])]
    tasks = [joblib.delayed(gradients_of_a_model)(model, half) for half in halves]
    first, second = joblib.Parallel(n_jobs=2, backend="loky")(tasks)
    for g, a, b in zip(whole, first, second, strict=True):
        np.testing.assert_allclose(np.asarray(a + b), np.asarray(g), rtol=1e-12)
