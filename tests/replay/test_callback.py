"""Callbacks: functions that are given values in traced calls and replays."""

import gc
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest

import arraytape as xp
from arraytape.replay import callback
from arraytape.replay.callback import Effect

X = [3.0, 5.0]


def x_of(*values):
    return xp.asarray(np.array(values or X))


def test_a_progress_bar_does_not_cost_the_replay():
    log = []
    show = callback(lambda loss, **more: log.append((float(loss), more)))

    @xp.function
    def step(w, x):
        with xp.GradientTape() as tape:
            tape.watch(w)
            loss = xp.sum((w * x) ** 2)
        show(loss, at=1)
        w -= 0.1 * tape.gradient(loss, w)
        return loss

    w, x = x_of(), x_of(0.5, 0.25)
    losses = [float(step(w, x)) for _ in range(6)]
    assert step.counts == {"traced": 2, "replayed": 4, "eager": 0}
    assert log == [(loss, {"at": 1}) for loss in losses]
    assert len(set(losses)) == 6


def test_the_message_of_a_look_names_callbacks():
    @xp.function
    def step(x):
        float(x[0])
        return x + 1.0

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(10):
            step(x_of(float(i)))
    assert "arraytape.replay.callback" in str(said[0].message)


def test_callbacks_run_in_their_order_after_the_writes():
    seen = []
    first, second = (
        callback(lambda *a: seen.append((1, *a))),
        callback(lambda *a: seen.append((2, *a))),
    )

    @xp.function
    def f(x):
        first(x, [x[0], {"twice": 2.0 * x}])
        x += 1.0
        second(x)
        return x

    for i in range(4):
        x = x_of(float(i), 1.0)
        look = callback(lambda *_: None)
        look(x)
        f(x)
    assert f.counts["replayed"] == 2
    for i in range(4):
        (one, x0, (part, more)), (two, x1) = seen[2 * i : 2 * i + 2]
        assert (one, two) == (1, 2)
        assert x0.tolist() == [i, 1.0]
        assert part.item() == i
        assert more["twice"].tolist() == [2.0 * i, 2.0]
        assert x1.tolist() == [i + 1.0, 2.0]


def test_what_a_callback_writes_stays_its_own():
    kept = []

    def spoil(x):
        x[0] = 100.0
        kept.append(x)

    spoil = callback(spoil)

    @xp.function
    def f(x):
        spoil(x)
        return x * 2.0

    for _ in range(4):
        x = x_of()
        assert f(x).tolist() == [6.0, 10.0]
        assert x.tolist() == X
    spoil(x)
    assert x.tolist() == X
    assert [one.tolist() for one in kept] == [[100.0, 5.0]] * 5


def test_an_exception_of_a_callback_comes_after_the_writes():
    def refuse(x):
        if x.item() > 2.0:
            raise ValueError("no more")

    refuse = callback(refuse)

    @xp.function
    def f(x):
        refuse(xp.sum(x))
        x += 1.0

    for _ in range(2):
        f(x_of(0.0))
    for _ in range(2):
        x = x_of(7.0)
        with pytest.raises(ValueError, match="no more"):
            f(x)
        assert x.tolist() == [8.0]
    assert f.counts == {"traced": 2, "replayed": 0, "eager": 0}
    f(x_of(0.0))
    assert f.counts["replayed"] == 1


def test_a_callback_outside_of_functions_runs_at_once_and_is_not_recorded():
    seen = []
    show = callback(seen.append)
    x = x_of()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        show(y)
        z = seen[0] * 3.0
    assert tape.gradient(z, x) is None
    assert seen[0].tolist() == [9.0, 25.0]
    with pytest.raises(ValueError, match="vmap"):
        xp.vmap(lambda row: show(row) or row)(x_of())
    with pytest.raises(TypeError, match="needs a function"):
        callback(3)


def test_a_callback_in_an_inner_function_belongs_to_the_outer_call():
    seen = []
    show = callback(lambda x: seen.append(x.item()))

    @xp.function
    def inner(x):
        show(xp.sum(x))
        return x + 1.0

    @xp.function
    def outer(x):
        return inner(inner(x))

    for i in range(4):
        outer(x_of(float(i)))
    assert outer.counts["replayed"] == 2
    assert seen == [0, 1, 1, 2, 2, 3, 3, 4]


def test_a_callback_made_anew_in_each_call_keeps_it_eager_and_says_so():
    @xp.function
    def f(x):
        callback(lambda y: None)(x)
        return x

    f(x_of())
    with pytest.warns(xp.TapeWarning, match="Make it outside of the function"):
        f(x_of())

    @xp.function
    def g(x):
        callback(print)(x, end="")
        return x

    for _ in range(3):
        g(x_of())
    assert g.counts["replayed"] == 1


def test_a_method_as_callback_keeps_no_object_alive():
    class Model:
        def __init__(self):
            self.losses = []
            self.show = callback(self.losses.append)

        def note(self, x):
            self.losses.append(x.item())

        @xp.function
        def step(self, x):
            self.show(x)
            callback(self.note)(xp.sum(x))
            return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            model = Model()
            for _ in range(4):
                model.step(x_of())
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_what_the_function_itself_can_reach_is_compared_all_the_same():
    log = []

    @xp.function
    def f(x):
        callback(log.append)(x)
        return x

    f(x_of())
    with pytest.warns(xp.TapeWarning, match="it changes log"):
        f(x_of())
    assert len(log) == 2


class Within:
    """Holds itself, and is never done saying what it is."""

    def __repr__(self):
        return f"<{self!r}>"


MIDDLE = np.where(np.arange(2000) == 999, 1.0, 0.0)  # NumPy's repr leaves out what is not 0


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (np.zeros(2000), np.zeros(2000), True),
        (np.zeros(2000), MIDDLE, False),
        (Within(), Within(), False),
        (Path("a"), Path("a"), True),
        (0.0, -0.0, False),
        (np.nan, float("nan"), True),
        (1, True, False),
    ],
)
def test_values_that_a_callback_is_given_are_compared(one, other, equal):
    first, second = (Effect(print, ((value,), {})) for value in (one, other))
    assert first.differs(second) is not equal
