"""Right-hand sides that switch at a time: the derivative that is not in the gradient is said."""

import contextlib
import warnings

import numpy as np
import pytest

import arraytape as xp


def by_if(t, y, theta):
    if t > theta:
        return -3.0 * y
    return -y


SWITCHES = {
    "where": lambda t, y, theta: xp.where(t < theta, -1.0, -3.0) * y,
    "where, turned": lambda t, y, theta: xp.where(theta >= t, -1.0, -3.0) * y,
    "if": by_if,
    "a factor": lambda t, y, theta: -y * (1.0 + xp.astype(t > theta, xp.float64)),
    "heaviside": lambda t, y, theta: -y * np.heaviside(t - theta, 0.5),
    "sign": lambda t, y, theta: -y * (2.0 + xp.sign(t - theta)),
    "floor": lambda t, y, theta: -y * xp.floor(t / theta),
    "period": lambda t, y, theta: -y * ((t + 0.1) % theta),
}
SMOOTH = {
    "a constant time": lambda t, y, theta: xp.where(t < 0.5, -theta, -2.0 * theta) * y,
    "a ramp": lambda t, y, theta: -y * xp.maximum(t - theta, 0.0),
    "of y": lambda t, y, theta: -theta * xp.where(y > 0.0, y, 0.0),
    "sine": lambda t, y, theta: -theta * xp.sin(t) * y,
}
WAYS = {
    "RK45": {},
    "DOP853": {"method": "DOP853"},
    "RK4": {"method": "RK4", "max_step": 0.1},
    "Radau": {"method": "Radau"},
    "smooth adjoint": {"adjoint": "continuous", "rtol": 1e-2},
}


def warnings_of(f, way, differentiate):
    def end(theta):
        found = xp.implicit.odeint(f, (0.0, 1.5), [1.0], args=(theta,), **WAYS[way])
        return found.y[0, -1]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(RuntimeError):  # the adjoint equation jumps, too
            differentiate(end)
    return [str(w.message) for w in caught if issubclass(w.category, xp.TapeWarning)]


def in_reverse(end):
    xp.grad(end)(xp.asarray(0.7))


def forward(end):
    xp.jvp(end, (xp.asarray(0.7),), (xp.asarray(1.0),))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.every(3)
def test_a_switch_at_a_followed_time_is_said_once(name, way):
    (said,) = warnings_of(SWITCHES[name], way, in_reverse)
    assert said.startswith("odeint: integrate in pieces")
    assert len(said.partition(" (see")[0].replace(__file__, "")) <= 300


@pytest.mark.parametrize("way", ["RK45", "RK4"])
@pytest.mark.parametrize("name", SWITCHES)
def test_forward_mode_says_it_too(name, way):
    assert len(warnings_of(SWITCHES[name], way, forward)) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SMOOTH)
def test_what_does_not_switch_at_a_followed_time_is_left_alone(name, way):
    assert warnings_of(SMOOTH[name], way, in_reverse) == []


def test_nothing_is_said_without_a_tape():
    assert warnings_of(SWITCHES["where"], "RK45", lambda end: end(xp.asarray(0.7))) == []
