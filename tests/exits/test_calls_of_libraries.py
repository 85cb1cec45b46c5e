"""A library's function that calls the user's functions is too long to interpret, and is one step."""

import warnings

import numpy as np
import pytest
from scipy import integrate, optimize

import arraytape as xp
from arraytape._exits import flow

AT = np.array([1.1234567, 0.7654321])
METHODS = ("BFGS", "CG", "L-BFGS-B", "Nelder-Mead", "Powell", "SLSQP", "TNC", "trust-constr")


class Memory:
    """An object to which a library's function hands what the user's function returns."""

    def __init__(self):
        self.seen = []

    def __call__(self, z, *state):
        self.seen.append(z)

    def keep(self, z, *state):
        self.seen.append(z)


def printed_optimum(x, method):
    """Minimize a function of the converted value, and return a loss in which constants are literals."""
    print(optimize.minimize(lambda z: np.sum((z - float(x[0])) ** 2), np.zeros(2), method=method).x)
    return xp.sum(x * 2.5)


def converted_in_a_callback(x, method):
    optimize.minimize(
        lambda z: np.sum((z - 1.5) ** 2),
        np.zeros(2),
        method=method,
        callback=lambda *z: float(x[0]),
    )
    scale = 2.5
    return xp.sum(x * scale)


def optimum_as_a_factor(x, method):
    found = optimize.minimize(lambda z: np.sum((z - float(x[0])) ** 2), np.zeros(2), method=method)
    return xp.sum(x * (found.x + 1.0))


def optimum_in_an_attribute(x, method):
    class Fit:
        pass

    fit = Fit()
    fit.result = optimize.minimize(
        lambda z: np.sum((z - float(x[0])) ** 2), np.zeros(2), method=method
    )
    weights = np.tanh(fit.result.x)
    return xp.sum(x * weights)


def optimum_by_an_argument(x, method):
    """Minimize with a callback that keeps the iterates."""
    memory = Memory()
    optimize.minimize(
        lambda z: np.sum((z - float(x[0])) ** 2), np.zeros(2), method=method, callback=memory
    )
    return xp.sum(x * (memory.seen[-1] * 0.5))


def iterates_by_a_lambda(x, method):
    seen = []
    optimize.minimize(
        lambda z: np.sum((z - float(x[0])) ** 2),
        np.zeros(2),
        method=method,
        callback=lambda z, *state: seen.append(z),
    )
    return xp.sum(x * (seen[-1] * 0.5))


def iterates_by_a_method(x, method):
    memory = Memory()
    optimize.minimize(
        lambda z: np.sum((z - float(x[0])) ** 2), np.zeros(2), method=method, callback=memory.keep
    )
    return xp.sum(x * (memory.seen[-1] * 0.5))


def said(program, method):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with xp.GradientTape() as tape:
            x = xp.asarray(AT)
            tape.watch(x)
            y = program(x, method)
        tape.gradient(y, x)
    return [str(w.message) for w in found if issubclass(w.category, xp.TapeWarning)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("program", [printed_optimum, converted_in_a_callback])
def test_literals_after_the_call_are_no_loss(program, method, capsys):
    assert said(program, method) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "program",
    [
        optimum_as_a_factor,
        optimum_in_an_attribute,
        optimum_by_an_argument,
        iterates_by_a_lambda,
        iterates_by_a_method,
    ],
)
def test_what_the_call_made_is_a_loss(program, method):
    (text,) = said(program, method)
    assert "float()" in text


def test_the_third_run_decides(monkeypatch):
    """Find a function whose first two analyses end at the limit."""
    ended = []
    run = flow.Flow.run_analysis

    def noting(self, place):
        try:
            run(self, place)
        except flow.TooLong:
            ended.append(self.only_seen)
            raise

    monkeypatch.setattr(flow.Flow, "run_analysis", noting)
    monkeypatch.setattr("arraytape._exits.interpreter.STEPS", 2000)
    flow.KNOWN.clear()
    assert said(printed_optimum, "SLSQP") == []
    assert ended == [False, True]


def test_exit_and_entry_in_functions_of_one_library_are_a_loss_if_the_analysis_ends(monkeypatch):
    """The state of a library between two calls is not known."""
    monkeypatch.setattr("arraytape._exits.interpreter.STEPS", 400)

    def program(x, method):
        def force(t, y):
            return [float(x[0]) * y[0]]

        done = integrate.solve_ivp(force, (0.0, 1.0), [1.0], method=method)
        total = []
        integrate.solve_ivp(
            lambda t, y: (total.append(xp.sum(x * y[0])), [0.0])[1], (0.0, done.t[-1]), [1.5]
        )
        return total[-1]

    flow.KNOWN.clear()
    assert len(said(program, "RK45")) == 1
    flow.KNOWN.clear()
