"""Steps, slots and loads that an error or an interruption cuts short change nothing."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import checkpoint
from arraytape.optimizers import LBFGS, SGD, Adam, minimize_scipy
from arraytape.variable import Variable

ERRORS = [KeyboardInterrupt, MemoryError]


def values(variables):
    return [np.asarray(v.value()).tolist() for v in variables]


@pytest.fixture
def fails(monkeypatch):
    """The n-th call of a method raises, once."""

    def arm(owner, name, at, error):
        method, calls = getattr(owner, name), []

        def counted(*arguments, **keywords):
            calls.append(1)
            if len(calls) == at:
                raise error
            return method(*arguments, **keywords)

        monkeypatch.setattr(owner, name, counted)

    return arm


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("at", range(1, 5))
def test_slots_stay_with_their_variables_when_making_them_fails(at, error, fails, monkeypatch):
    u, v = Variable([1.0, 2.0], name="u"), Variable([3.0, 4.0], name="v")
    adam = Adam()
    fails(Adam, "slot", at, error)
    with pytest.raises(error):
        adam.build([u, v])
    monkeypatch.undo()
    adam.build([v, u])
    for slots in adam.slots.values():
        assert len(slots) == len(adam._updated.variables) == 2
        for variable, slot in zip(adam._updated.variables, slots, strict=True):
            assert slot.name.startswith(variable.name)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("at", range(1, 8))
@pytest.mark.parametrize("optimizer", [Adam, lambda: SGD(momentum=0.9)], ids=["Adam", "SGD"])
def test_a_step_is_taken_by_all_variables_or_by_none(optimizer, at, error, fails, monkeypatch):
    u, v = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    g = xp.asarray([0.5, 0.25])
    one = optimizer()
    one.apply_gradients([(g, u), (g, v)])
    state = [u, v, *one.variables]
    before = values(state)
    fails(Variable, "assign", at, error)
    try:
        one.apply_gradients([(g, u), (g, v)])
    except error:
        assert values(state) == before
    monkeypatch.undo()
    count = int(one.iterations)
    assert count in (1, 2)
    one.apply_gradients([(g, u), (g, v)])
    a, b = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    other = optimizer()
    for _ in range(count + 1):
        other.apply_gradients([(g, a), (g, b)])
    assert values([a, b, *other.variables]) == values(state)


def test_minimising_puts_all_variables_back_when_it_is_interrupted(fails):
    u, v = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    fails(Variable, "assign", 6, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        minimize_scipy(lambda p: xp.sum((p[0] - 1.5) ** 2 + p[1] ** 4), [u, v])
    assert values([u, v]) == [[1.0, 2.0], [3.0, 4.0]]


def test_the_last_assignment_of_lbfgs_is_that_of_all_or_none(monkeypatch):
    u, v = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    assign = Variable.assign

    def interrupted(variable, value):
        if variable is v and np.allclose(value, 0.0, atol=1e-4) and at_end():
            raise KeyboardInterrupt
        return assign(variable, value)

    def at_end():
        import sys

        frame = sys._getframe(2)
        return frame.f_code.co_qualname.startswith("LBFGS.minimize")

    monkeypatch.setattr(Variable, "assign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LBFGS().minimize(lambda: xp.sum(u**2 + v**2), [u, v])
    assert values([u, v]) == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("error", ERRORS)
def test_a_load_assigns_all_variables_or_none(error, tmp_path, fails):
    pytest.importorskip("safetensors")
    state = {"u": Variable([1.0, 2.0]), "v": Variable([3.0, 4.0])}
    checkpoint.save(tmp_path / "state", state)
    for variable in state.values():
        variable.assign([0.0, 0.0])
    fails(Variable, "assign", 2, error)
    with pytest.raises(error):
        checkpoint.load(tmp_path / "state", state)
    assert values(state.values()) == [[0.0, 0.0]] * 2
