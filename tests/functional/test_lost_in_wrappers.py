"""A value that leaves inside a function that is wrapped: each form, tape and accumulator says so."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from attack.lost_parts import by_tape

X = np.asarray([0.25, 0.8, -0.35])


def in_a_thread(f):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(f).result()


def squares(x):
    return xp.sum(x * x)


def of_a_result(x):
    y = 3.0 * x
    return in_a_thread(lambda: squares(y)) + xp.sum(y)


LEAVING = {
    "float": lambda x: xp.asarray(float(squares(x))),
    "a part by float": lambda x: float(squares(x)) + xp.sum(x),
    "thread": lambda x: in_a_thread(lambda: squares(x)),
    "a part by a thread": lambda x: in_a_thread(lambda: squares(x)) + xp.sum(x),
    "a part of a result by a thread": of_a_result,
}
WRAPPERS = {
    "plain": lambda f: f,
    "recompute": xp.recompute_grad,
    "recompute in recompute": lambda f: xp.recompute_grad(xp.recompute_grad(f)),
    "recompute between ops": lambda f: lambda x: 2.0 * xp.recompute_grad(f)(x * 1.0),
    "function": xp.function,
    "beside a vmap": lambda f: lambda x: xp.sum(xp.vmap(lambda row: row * f(x))(xp.ones((2, 3)))),
}


def by_accumulator(f, x):
    with xp.ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        y = f(x)
    return accumulator.jvp(y)


FORMS = {
    "grad": lambda f, x: xp.grad(f)(x),
    "jacobian": lambda f, x: xp.jacobian(f)(x),
    "jacfwd": lambda f, x: xp.jacfwd(f)(x),
    "hessian": lambda f, x: xp.hessian(f)(x),
    "jvp": lambda f, x: xp.jvp(f, (x,), (xp.ones_like(x),))[1],
    "linearize": lambda f, x: xp.linearize(f, x)[1](xp.ones_like(x)),
    "vjp": lambda f, x: xp.vjp(f, x)[1](1.0),
    "hvp": lambda f, x: xp.hvp(f, (x,), (x,)),
    "tape": by_tape,
    "accumulator": by_accumulator,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("leaving", LEAVING)
def test_a_lost_part_is_no_silent_number(leaving, wrapper, form):
    f = WRAPPERS[wrapper](LEAVING[leaving])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            FORMS[form](f, xp.asarray(X))
        except xp.LostGradientError as error:
            said = str(error)
        else:
            said = " ".join(str(warning.message) for warning in caught)
    assert "left the tape" in said
    assert ("thread" in said) == ("thread" in leaving)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("tape", "accumulator")])
def test_what_is_only_read_is_right_without_a_word(wrapper, form):
    def reading(x):
        seen.append(float(xp.sum(x)))
        return xp.sum(x**3)

    seen = []
    f = WRAPPERS[wrapper](lambda x: xp.sum(x**3))
    g = WRAPPERS[wrapper](reading)
    found, expected = (np.asarray(FORMS[form](k, xp.asarray(X))) for k in (g, f))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
