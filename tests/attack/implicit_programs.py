"""Random implicit functions: their derivatives against those of Newton steps that a tape records.

Each seed draws a smooth system with one solution (as a root, a fixed point, a minimum or a linear
system), nestings for its unknowns and parameters, a solver, and ways to ask for a derivative: by a tape,
forward, twice, under ``vmap``, in another thread, after writes to what was given.
"""

from __future__ import annotations

import random
import threading
import warnings

import numpy as np

import arraytape as xp

from .attack import Attack

implicit = xp.implicit
SHAPES = [(), (), (0,), (1,), (2,), (2, 2), (1, 3)]
KINDS = ["root", "root", "fixed_point", "minimum", "linear_solve"]
DTYPES = ["float64", "float64", "float64", "float32", "complex128"]


# --- nestings and their vectors -----------------------------------------------------------------------
def flat(arrays):
    """Real Arrays and the parts of complex ones as one vector in double precision."""
    parts = []
    for x in arrays:
        x = xp.reshape(x, (-1,))
        parts += [xp.real(x), xp.imag(x)] if x.dtype.kind == "c" else [x]
    return xp.concat([xp.astype(x, xp.float64) for x in parts])


def unflat(v, kinds):
    """The reverse, for shapes and whether they are complex."""
    found, start = [], 0
    for shape, is_complex in kinds:
        n = int(np.prod(shape))
        part = v[start : start + n]
        start += n
        if is_complex:
            part = part + 1j * v[start : start + n]
            start += n
        found.append(xp.reshape(part, shape))
    return found


def packed(form, parts):
    """Arrays in a list, a tuple, a dict or as they are."""
    parts = list(parts)
    if form == "alone":
        return parts[0]
    if form == "dict":
        return {f"k{i}": part for i, part in enumerate(parts)}
    if form == "nested":
        return [parts[0], (parts[1:], {})]
    return tuple(parts) if form == "tuple" else parts


def unpacked(form, nesting):
    if form == "alone":
        return [nesting]
    if form == "dict":
        return [nesting[key] for key in sorted(nesting)]
    return [nesting[0], *nesting[1][0]] if form == "nested" else list(nesting)


class Program:
    """One problem, with numbers of a seed."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        numbers = self.numbers = np.random.default_rng(seed)
        self.kind = rng.choice(KINDS)
        self.x_form, self.x_kinds, self.x_dtypes, x_size = self.nesting()
        self.t_form, self.t_kinds, self.t_dtypes, t_size = self.nesting()
        n, m = self.n, self.m = x_size, t_size
        scale = 0.3 / max(n, 1) ** 0.5
        self.M, self.L, self.N = (xp.asarray(scale * numbers.normal(size=(n, n))) for _ in range(3))
        self.P, self.Q, self.R = (xp.asarray(0.5 * numbers.normal(size=(n, m))) for _ in range(3))
        self.theta = [
            self.values(shape, dtype)
            for (shape, _), dtype in zip(self.t_kinds, self.t_dtypes, strict=True)
        ]
        self.x0 = [
            0.1 * self.values(shape, dtype)
            for (shape, _), dtype in zip(self.x_kinds, self.x_dtypes, strict=True)
        ]
        self.settings = {"matrix_free": rng.random() < 0.4}
        if self.kind in ("root", "fixed_point", "minimum"):
            self.settings["polish"] = rng.random() < 0.3
        self.writes, self.by_view = rng.random() < 0.3, rng.random() < 0.3
        self.constant = numbers.normal(size=(n,))
        self.loose = "float32" in self.x_dtypes + self.t_dtypes

    def nesting(self):
        rng = self.rng
        form = rng.choice(["alone", "alone", "tuple", "dict", "list", "nested"])
        count = 1 if form == "alone" else rng.randint(1, 3)
        shapes = [rng.choice(SHAPES) for _ in range(count)]
        dtypes = [rng.choice(DTYPES) for _ in range(count)]
        kinds = [(s, d == "complex128") for s, d in zip(shapes, dtypes, strict=True)]
        return form, kinds, dtypes, sum(int(np.prod(s)) * (1 + c) for s, c in kinds)

    def values(self, shape, dtype):
        v = self.numbers.normal(size=shape)
        if dtype == "complex128":
            v = v + 1j * self.numbers.normal(size=shape)
        return np.asarray(v).astype(dtype)

    # --- the mathematics ------------------------------------------------------------------------------
    def energy(self, z, c):
        """What ``minimum`` minimizes: convex for these sizes."""
        pull = xp.sin(self.P @ c) + self.Q @ c
        return xp.sum(z**2) + 0.2 * xp.sum(xp.cos(self.L @ z + self.R @ c)) + xp.sum(pull * z)

    def matrix(self, c):
        return 2.0 * xp.eye(self.n) + self.M * xp.expand_dims(xp.tanh(self.R @ c), axis=-1) + self.N

    def step(self, z, c):
        """What ``fixed_point`` iterates: a contraction."""
        return 0.4 * xp.sin(self.L @ z + self.P @ c) + xp.tanh(self.Q @ c) * (1.0 + 0.1 * xp.cos(z))

    def residual(self, z, c):
        """The same problem as a residual, on vectors."""
        if self.kind == "root":
            return (
                2.0 * z + 0.3 * xp.sin(self.L @ z + self.P @ c) + xp.exp(0.3 * (self.Q @ c)) - 0.5
            )
        if self.kind == "fixed_point":
            return z - self.step(z, c)
        if self.kind == "minimum":
            return xp.grad(self.energy)(z, c)
        return self.matrix(c) @ z - (xp.asarray(self.constant) + self.Q @ c)

    # --- through arraytape.implicit -------------------------------------------------------------------
    def back(self, v):
        return packed(self.x_form, unflat(v, self.x_kinds))

    def vectors(self, x, t):
        xs, ts = unpacked(self.x_form, x), unpacked(self.t_form, t)
        if self.by_view:
            xs = [x[...] for x in xs]
        z, c = flat(xs), flat(ts)
        if self.writes:  # what a function does to its arguments is its own affair
            for part in (*xs, *ts):
                if part.size:
                    part[...] = 7.0
        return z, c

    def solution(self, t, x0=None, **more):
        x0 = packed(self.x_form, self.x0) if x0 is None else x0
        settings = {**self.settings, **more}
        if self.kind == "linear_solve":
            b = self.back(xp.asarray(self.constant) + self.Q @ flat(unpacked(self.t_form, t)))
            b = packed(
                self.x_form,
                [
                    xp.astype(part, dtype)
                    for part, dtype in zip(unpacked(self.x_form, b), self.x_dtypes, strict=True)
                ],
            )

            def matvec(x, t):
                z, c = self.vectors(x, t)
                return self.back(self.matrix(c) @ z)

            return implicit.linear_solve(matvec, b, t, **settings)
        if self.kind == "minimum":

            def f(x, t):
                z, c = self.vectors(x, t)
                return self.energy(z, c)

            return implicit.minimum(f, x0, t, **settings)
        rule = self.step if self.kind == "fixed_point" else self.residual

        def F(x, t):
            z, c = self.vectors(x, t)
            return self.back(rule(z, c))

        return getattr(implicit, self.kind)(F, x0, t, **settings)

    def implicit_sum(self, parts, **more):
        """A number of the solution, for parameters as Arrays."""
        return self.number(
            flat(unpacked(self.x_form, self.solution(packed(self.t_form, parts), **more)))
        )

    def number(self, z):
        return xp.sum(xp.sin(z) * xp.asarray(np.linspace(0.5, 1.5, self.n)))

    # --- by recorded Newton steps ---------------------------------------------------------------------
    def newton(self, parts):
        c = flat(parts)
        z = self.solved()
        for _ in range(3):
            J = xp.jacobian(lambda z: self.residual(z, c))(z)
            z = z - xp.linalg.solve(J, self.residual(z, c))
        return self.number(z)

    def solved(self):
        """The solution at the program's parameters, a constant."""
        if not hasattr(self, "_solved"):
            c = flat([xp.asarray(x) for x in self.theta])
            z = xp.zeros(self.n)
            for _ in range(40):
                J = xp.jacobian(lambda z: self.residual(z, c))(z)
                z = z - xp.linalg.solve(J, self.residual(z, c))
            self._solved = np.asarray(z)
        return xp.asarray(self._solved)


# --- ways to ask ------------------------------------------------------------------------------------
def arrays(p):
    return [xp.asarray(x) for x in p.theta]


def by_grad(p, f):
    return xp.grad(lambda parts: f(parts))(arrays(p))


def by_numpy(p, f):
    """The functional form on NumPy's data: read-only, in Fortran's order, and plain."""
    given = [np.asfortranarray(x) for x in p.theta]
    for x in given[::2]:
        x.flags.writeable = False
    found = xp.grad(f)(given)
    assert not any(isinstance(x, xp.Array) for x in found)
    return found


def by_tape(p, f):
    parts = arrays(p)
    with xp.GradientTape() as tape:
        tape.watch(parts)
        y = f(parts)
    for x in parts:
        x[...] = 3.0
    return tape.gradient(y, parts, unconnected_gradients=xp.UnconnectedGradients.ZERO)


def by_persistent_tape(p, f):
    parts = arrays(p)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(parts)
        y = f(parts)
        z = y * 1.0
    tape.gradient(y, parts)
    return tape.gradient(z, parts, unconnected_gradients=xp.UnconnectedGradients.ZERO)


def by_variables(p, f):
    parts = [xp.Variable(x) for x in p.theta]
    with xp.GradientTape() as tape:
        y = f(parts)
    for v in parts:
        v.assign(v.value() * 2.0)
    return tape.gradient(y, parts, unconnected_gradients=xp.UnconnectedGradients.ZERO)


def by_jvp(p, f):
    """Forward mode along each part's own values: <grad, t> as one number."""
    parts = arrays(p)
    return [xp.jvp(lambda *a: f(list(a)), tuple(parts), tuple(x * 0.5 for x in parts))[1]]


def by_linearize(p, f):
    parts = arrays(p)
    return [xp.linearize(lambda a: f(a), parts)[1]([x * 0.5 for x in parts])]


def by_thread(p, f):
    found = []
    thread = threading.Thread(target=lambda: found.append(by_grad(p, f)))
    thread.start()
    thread.join()
    return found[0]


def by_recompute(p, f):
    return xp.grad(lambda a: xp.recompute_grad(lambda *a: f(list(a)))(*a) * 1.0)(arrays(p))


def by_function(p, f):
    traced = xp.function(xp.grad(lambda parts: f(parts)))
    traced(arrays(p))
    return traced(arrays(p))


def by_vmap(p, f):
    """The gradients of two examples; the second is scaled and not looked at by the recorded steps."""
    parts = [xp.stack([x, x]) for x in arrays(p)]
    found = xp.vmap(lambda parts: xp.grad(lambda a: f(a))(parts))(parts)
    return [x[1] for x in found]


def by_grad_of_vmap(p, f):
    def total(parts):
        many = [xp.stack([x, x]) for x in parts]
        return xp.sum(xp.vmap(lambda parts: f(parts))(many))

    return xp.grad(total)(arrays(p))


def by_hvp(p, f):
    parts = arrays(p)
    return xp.hvp(f, (parts,), ([0.5 * x for x in parts],))[0]


def by_vhp(p, f):
    parts = arrays(p)
    return xp.vhp(f, (parts,), ([0.5 * x for x in parts],))[0]


def by_two_tapes(p, f):
    parts = arrays(p)
    zero = xp.UnconnectedGradients.ZERO
    with xp.GradientTape() as outer:
        outer.watch(parts)
        with xp.GradientTape() as tape:
            tape.watch(parts)
            y = f(parts)
        g = tape.gradient(y, parts, unconnected_gradients=zero)
        s = xp.stack(
            [
                xp.sum(xp.real(a * xp.asarray(np.conj(0.5 * b))))
                for a, b in zip(g, p.theta, strict=True)
            ]
        )
    return outer.gradient(xp.sum(s), parts, unconnected_gradients=zero)


def by_forward_twice(p, f):
    parts = arrays(p)
    along = [0.5 * x for x in parts]

    def slope(a):
        return xp.jvp(f, (a,), (along,))[1]

    return [xp.jvp(slope, (parts,), (along,))[1]]


def by_grad_of_forward(p, f):
    parts = arrays(p)
    along = [0.5 * x for x in parts]
    return xp.grad(lambda a: xp.jvp(f, (a,), (along,))[1])(parts)


def by_thrice(p, f):
    """A third derivative along one direction, forward over reverse over forward."""
    parts = arrays(p)
    along = [0.5 * x for x in parts]
    return xp.hvp(lambda a: xp.jvp(f, (a,), (along,))[1], (parts,), (along,))[0]


WAYS = [
    by_grad, by_numpy, by_tape, by_persistent_tape, by_variables, by_jvp, by_linearize, by_thread,
    by_recompute, by_function, by_vmap, by_grad_of_vmap, by_hvp, by_vhp, by_two_tapes,
    by_forward_twice, by_grad_of_forward, by_thrice,
]  # fmt: skip
ASKED = 4  # ways of one seed


def compare(p, found, wanted):
    """How far two lists of derivatives are from each other, relative to the largest number."""
    assert len(found) == len(wanted)
    worst, size = 0.0, 1.0
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, (a.shape, b.shape)
        assert a.dtype == b.dtype, (a.dtype, b.dtype)
        size = max(size, float(np.max(np.abs(b), initial=0.0)))
        worst = max(worst, float(np.max(np.abs(a - b), initial=0.0)))
    return worst / size


def run(seed):
    """One program, asked in ASKED ways."""
    p = Program(seed)
    tol = 2e-4 if p.loose else 1e-7
    for way in p.rng.sample(WAYS, ASKED):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message=".*not replayed, a solver runs")
            wanted = way(p, p.newton)
            try:
                found = way(p, p.implicit_sum)
                error = compare(p, found, wanted)
            except Exception as wrong:
                raise AssertionError(told(seed, p, way, f"raised {wrong!r}")) from wrong
        assert error <= tol, told(seed, p, way, f"differs by {error:.1e}")
    return ASKED


def told(seed, p, way, what):
    return (
        f"implicit-programs, seed {seed}: {p.kind} {p.settings} {way.__name__} {what}; x {p.x_form} "
        f"{list(zip(p.x_kinds, p.x_dtypes, strict=True))}, theta {p.t_form} "
        f"{list(zip(p.t_kinds, p.t_dtypes, strict=True))}, writes {p.writes}, views {p.by_view}"
    )


ATTACK = Attack(run, "derivatives of implicit functions")
