"""Random initial value problems through ``odeint``: gradients against differences and of each other.

Each seed draws a smooth system, its parameters in a nesting, and a method.  The gradient along a random
direction is compared with differences of what was computed, with forward mode, and the second derivative
in both orders of modes with differences of gradients.
"""

from __future__ import annotations

import random
import threading
import warnings

import numpy as np

import arraytape as xp
from arraytape.implicit import odeint

from .attack import Attack

SHAPES = [(), (0,), (1,), (2,), (3,), (2, 2)]
METHODS = ["RK45", "DOP853", "Radau", "RK4", "RK4", "Euler"]
ZERO = xp.UnconnectedGradients.ZERO


class Flow:
    """A problem with numbers of a seed."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        numbers = self.numbers = np.random.default_rng(seed)
        self.shape = rng.choice(SHAPES)
        self.complex = rng.random() < 0.2 and self.shape != (0,)  # SciPy warns of these
        n = self.n = int(np.prod(self.shape))
        self.method = rng.choice(METHODS)
        self.complex = self.complex and self.method != "Radau"
        self.fixed = self.method in ("RK4", "Euler")
        self.adjoint = rng.choice(["discrete", "discrete", "continuous"])
        if self.adjoint == "continuous" and self.method in ("Euler", "Radau", "RK4"):
            self.method, self.fixed = "DOP853", False
        self.A = numbers.normal(size=(n, n)) * 0.4 / max(n, 1) ** 0.5 - 0.3 * np.eye(n)
        self.B = numbers.normal(size=(n, 2))
        self.p = [
            numbers.normal(size=2),
            np.asarray(numbers.normal()),
            numbers.normal(size=self.shape),
        ]
        self.y0 = numbers.normal(size=self.shape)
        if self.complex:
            self.y0 = self.y0 + 1j * numbers.normal(size=self.shape)
        self.span = [0.2, 0.2 + rng.uniform(0.2, 0.6)]
        if rng.random() < 0.3:
            self.span.reverse()
        self.writes, self.views = rng.random() < 0.3, rng.random() < 0.3
        self.points = self.times()
        self.weights = numbers.normal(size=(*self.shape, 64))

    def times(self):
        kind = self.rng.choice(["ends", "inside", "none"])
        if kind == "none" and self.adjoint == "continuous":
            kind = "inside"
        if kind == "none":
            return None
        at = np.linspace(*self.span, 4)
        return at[1:3] if kind == "inside" else at[[0, 3]]

    def slope(self, t, y, p, constants):
        a, b, c = p["a"], *p["rest"]
        y = xp.reshape(y * 1.0, (-1,))
        pull = xp.sin(xp.asarray(self.A) @ xp.real(y)) + xp.asarray(self.B) @ a * xp.cos(t)
        found = -0.3 * y * (1.0 + b**2) + pull + 0.2 * xp.reshape(c, (-1,)) * constants
        if self.complex:
            found = found + 0.3j * y * b
        return xp.reshape(found, self.shape)

    def solve(self, y0, t0, t1, parts, points=None):
        def f(t, y, p, constants):
            found = self.slope(t, y, p, constants[0])
            if self.writes and self.n:
                y[...], p["a"][...] = 3.0, 5.0
            return found

        constants = [np.asarray(1.5)]
        options = {"max_step": 0.11} if self.fixed else {"rtol": 1e-8, "atol": 1e-10}
        if self.method == "Radau":
            options = {"rtol": 1e-5, "atol": 1e-7}
        a, b, c = [x[...] for x in parts] if self.views else parts
        found = odeint(
            f, (t0, t1), y0, self.method, points, args=({"a": a, "rest": (b, c)}, constants),
            adjoint=self.adjoint, **options,
        ).y  # fmt: skip
        if points is None:
            found = found[..., -1:]
        constants[0][...] = 9.0  # it was an argument
        w = xp.asarray(self.weights[..., : found.shape[-1]])
        return xp.sum(w * xp.real(found)) + (
            xp.sum(w * xp.imag(found) ** 2) if self.complex else 0.0
        )

    def inputs(self):
        """y0, the ends, and the parameters; times of t_eval are constants."""
        return [self.y0, np.asarray(self.span[0]), np.asarray(self.span[1]), *self.p]

    def value(self, given):
        y0, t0, t1, *parts = given
        return self.solve(y0, t0, t1, parts, self.points)


def by_grad(f):
    return xp.grad(f.value)([xp.asarray(x) for x in f.inputs()])


def by_tape(f):
    given = [xp.asarray(x, copy=True) for x in f.inputs()]
    with xp.GradientTape() as tape:
        tape.watch(given)
        y = f.value(given)
    for x in given:
        if x.size:
            x[...] = 7.0
    return tape.gradient(y, given, unconnected_gradients=ZERO)


def by_variables(f):
    given = [xp.Variable(x) for x in f.inputs()]
    with xp.GradientTape() as tape:
        y = f.value([x.value() for x in given])
    for v in given:
        v.assign(v.value() * 2.0)
    return tape.gradient(y, given, unconnected_gradients=ZERO)


def by_thread(f):
    found = []
    thread = threading.Thread(target=lambda: found.append(by_grad(f)))
    thread.start()
    thread.join()
    return found[0]


def by_recompute(f):
    return xp.grad(lambda given: xp.recompute_grad(lambda *x: f.value(list(x)))(*given) * 1.0)(
        [xp.asarray(x) for x in f.inputs()]
    )


def by_numpy(f):
    return xp.grad(f.value)([np.array(x, order="F") for x in f.inputs()])


WAYS = [by_grad, by_tape, by_variables, by_thread, by_recompute, by_numpy]


def directions(f, seed=3):
    rng = np.random.default_rng(seed)
    found = [rng.normal(size=np.shape(x)) for x in f.inputs()]
    if f.complex:
        found[0] = found[0] + 1j * rng.normal(size=f.shape)
    if f.points is not None:  # which would leave the span
        found[1], found[2] = 0.0 * found[1], 0.0 * found[2]
    return found


def along(gradients, t):
    return sum(
        float(np.sum(np.real(np.conj(np.asarray(g)) * d)))
        for g, d in zip(gradients, t, strict=True)
    )


def run(seed):
    """One problem: a gradient in two ways, forward mode, and second derivatives, beside differences."""
    f = Flow(seed)
    t = directions(f)

    def value(h):
        return float(f.value([xp.asarray(x + h * d) for x, d in zip(f.inputs(), t, strict=True)]))

    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            h = 1e-4
            wanted = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
            tol = 1e-2 if f.method == "Radau" else 1e-5
            allowed = tol * max(1.0, abs(wanted))
            for way in f.rng.sample(WAYS, 2):
                found = along(way(f), t)
                assert abs(found - wanted) <= allowed, f"{way.__name__}: {found} is not {wanted}"
                count += 1
            if f.adjoint == "discrete" and f.method != "Radau":
                given = [xp.asarray(x) for x in f.inputs()]
                moved = [xp.asarray(d) for d in t]
                forward = float(xp.jvp(f.value, (given,), (moved,))[1])
                assert abs(forward - wanted) <= allowed, f"jvp: {forward} is not {wanted}"
                one = along(xp.hvp(f.value, (given,), (moved,))[0], t)
                two = along(xp.vhp(f.value, (given,), (moved,))[0], t)
                assert abs(one - two) <= 1e-7 * max(1.0, abs(one)), f"hvp {one}, vhp {two}"
                # differences of gradients, whose steps are others a little away
                slopes = [
                    along(
                        xp.grad(f.value)(
                            [x + s * h * d for x, d in zip(given, moved, strict=True)]
                        ),
                        t,
                    )
                    for s in (1.0, -1.0)
                ]
                by_h = (slopes[0] - slopes[1]) / (2 * h)
                assert abs(one - by_h) <= 100 * tol * max(1.0, abs(by_h)), (
                    f"hvp {one} is not {by_h}"
                )
                count += 3
        except Exception as error:
            raise AssertionError(
                f"ode-programs, seed {seed}: {error!r}; {f.method} {f.adjoint} {f.shape} complex "
                f"{f.complex} span {f.span} t_eval {f.points} writes {f.writes}"
            ) from error
    return count


ATTACK = Attack(run, "derivatives of initial value problems")
