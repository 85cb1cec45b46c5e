"""The mixin that makes asv benchmarks of a user's function."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import benchmarks
from arraytape.testing.benchmarks import TapeBenchmarks


@pytest.fixture(autouse=True)
def _short_measurements(monkeypatch):
    monkeypatch.setattr(TapeBenchmarks, "seconds", 0.01)
    monkeypatch.setattr(benchmarks, "BURST", 2e-4)


class Squares(TapeBenchmarks):
    params, param_names = [10, 100_000], ["size"]

    def arrays(self, size):
        return [np.linspace(0.0, 1.0, size), np.arange(size)]

    def loss(self, xp, x, indices):
        return xp.sum(xp.exp(x) * x)


class Leaving(Squares):
    def loss(self, xp, x, indices):
        total = xp.sum(x)
        for _ in range(3):
            total = total + float(x[0])
        return total * float(x[1])


def ready(cls, *params):
    made = cls()
    made.setup(*params)
    return made


def test_records_are_those_of_one_call_without_the_exits():
    assert ready(Squares, 10).track_records(10) == 3  # exp, multiply, sum
    # Sum, three times add, multiply; and the four elements that leave are views.
    assert ready(Leaving, 10).track_records(10) == 9


def test_the_peak_has_what_must_be_held():
    size = 100_000
    found = ready(Squares, size).track_peak_bytes(size)
    assert 2 * 8 * size < found < 5 * 8 * size


def test_exits_are_counted_by_their_places():
    assert ready(Squares, 10).track_exits(10) == 0
    assert ready(Leaving, 10).track_exits(10) == 2


def test_overheads_are_ratios_to_numpy():
    squares = ready(Squares, 10)
    value, gradient = squares.track_overhead(10), squares.track_gradient_overhead(10)
    assert 1.0 < value < gradient < 200.0


def test_times_run_the_value_and_the_gradient(monkeypatch):
    squares = ready(Squares, 10)
    asked = []
    gradient = xp.GradientTape.gradient
    monkeypatch.setattr(
        xp.GradientTape, "gradient", lambda *args: asked.append(args) or gradient(*args)
    )
    squares.time_value(10)
    assert not asked
    squares.time_gradient(10)
    assert len(asked) == 1


def test_a_loss_that_differs_between_the_namespaces_is_refused():
    class Different(Squares):
        def loss(self, xp, x, indices):
            return xp.sum(x) * (2.0 if xp is np else 1.0)

    with pytest.raises(ValueError, match=r"Different\.loss gives .* the same with both namespaces"):
        ready(Different, 10)


def test_a_loss_without_a_gradient_is_refused():
    class Constant(Squares):
        def loss(self, xp, x, indices):
            return xp.sum(xp.floor(x))

    with pytest.raises(
        ValueError, match=r"no gradient with respect to any of its 1 watched arrays"
    ):
        ready(Constant, 10)


def test_a_loss_that_is_no_real_number_is_refused():
    class Row(Squares):
        def loss(self, xp, x, indices):
            return x * 2.0

    with pytest.raises(ValueError, match=r"one real number, an Array of shape \(\)"):
        ready(Row, 10)


def test_the_base_is_no_benchmark_of_its_own():
    # asv leaves abstract classes out, and takes every other class that a module imports.
    assert inspect.isabstract(TapeBenchmarks)
    assert not inspect.isabstract(Squares)


def test_names_are_those_of_the_class_and_versions_follow_its_source():
    assert Squares.time_gradient.pretty_name == "Squares: gradient"
    assert Leaving.time_gradient.pretty_name == "Leaving: gradient"
    assert Squares.version != Leaving.version

    class Said(Squares):
        version = "7"

        def track_records(self, size):
            return -1

    assert Said.version == "7"
    assert ready(Said, 10).track_records(10) == -1


def test_watched_says_which_arrays_a_gradient_is_asked_for():
    class Second(TapeBenchmarks):
        watched = (1,)

        def arrays(self):
            return [np.ones(3), np.ones(3)]

        def loss(self, xp, x, y):
            return xp.sum(x * 2.0) + xp.sum(y)

    assert ready(Second).track_records() == 2  # the sum of y, and that of both


@pytest.mark.parametrize("made", [np.ones(7), {"x": np.ones(7)}, None])
def test_arrays_that_are_no_list_are_refused(made):
    class One(TapeBenchmarks):
        def arrays(self):
            return made

        def loss(self, xp, x):
            return xp.sum(x * x)

    with pytest.raises(TypeError, match=r"One\.arrays must return a list.*return \[x\].*got "):
        One().setup()
