"""Random functions of nestings through every functional form, beside differences and each other.

Each seed draws a function that is array code of the standard, and so runs on NumPy's data too: its dense
Jacobian comes from NumPy by central differences.  Forms are asked on Arrays and on NumPy's data, which
must agree bit for bit.
"""

from __future__ import annotations

import random
import warnings

import numpy as np

import arraytape as xp
from arraytape import functional

from .attack import Attack

SHAPES = [(), (0,), (1,), (3,), (2, 2), (4,), (1, 3)]
STATEMENTS = 6
ASKED = 6


def steps_of(rng, count):
    """Statements on one vector: a name and its numbers."""
    found = []
    for _ in range(rng.randint(2, STATEMENTS)):
        name = rng.choice(list(OPS))
        found.append((name, rng.randrange(1000)))
    return found


def rolled(lib, z, k):
    return lib.roll(z, k % 5) * 0.5 + z


def neighbours(lib, z, k):
    return lib.concat([z[1:] * z[:-1], z[:1]]) if z.shape[0] else z


def mixed(lib, z, k):
    n = z.shape[0]
    A = np.random.default_rng(k).normal(size=(n, n)) / max(n, 1) ** 0.5
    return lib.asarray(A * (np.random.default_rng(k + 1).random((n, n)) < 0.3)) @ z + 0.2 * z


def chosen(lib, z, k):
    return lib.where(z > 0.3, lib.sin(z), z * 0.5)


def written(lib, z, k):
    w = lib.asarray(z, copy=True)
    if w.shape[0]:
        w[k % w.shape[0]] = lib.sum(z * z) * 0.1
        w[: k % w.shape[0]] *= 0.7
    return w


def indexed(lib, z, k):
    n = z.shape[0]
    return lib.take(z, lib.asarray(np.random.default_rng(k).integers(0, n, n))) + z if n else z


def grouped(lib, z, k):
    n = z.shape[0] // 2
    if not n:
        return z
    whole = lib.reshape(z[: 2 * n], (2, n))
    whole = whole - 0.5 * lib.mean(whole, axis=0, keepdims=True)
    return lib.concat([lib.reshape(lib.matrix_transpose(whole), (-1,)), z[2 * n :]])


def summed(lib, z, k):
    return lib.cumulative_sum(z) * 0.3 if k % 2 else z + 0.1 * lib.sum(lib.cos(z))


def stacked(lib, z, k):
    pair = lib.stack([lib.tanh(z), z * z * 0.3])
    return pair[k % 2, ...] + 0.5 * pair[1 - k % 2, ...][::-1]


def maximal(lib, z, k):
    return lib.maximum(z, 0.2 + 0.0 * z) + lib.abs(z) * 0.3


OPS = {
    "sin": lambda lib, z, k: lib.sin(z), "exp": lambda lib, z, k: lib.exp(-z * z),
    "square": lambda lib, z, k: z * z * 0.4 + z, "rolled": rolled, "neighbours": neighbours,
    "mixed": mixed, "chosen": chosen, "written": written, "indexed": indexed, "grouped": grouped,
    "summed": summed, "stacked": stacked, "maximal": maximal,
    "flipped": lambda lib, z, k: lib.flip(z) + 0.1,
    "constant": lambda lib, z, k: z + 0.1 * lib.sqrt(lib.asarray(k % 7 + 1.0)),
    "cut": lambda lib, z, k: lib.concat([z[: z.shape[0] // 2], lib.zeros(3)]),
    "forgotten": lambda lib, z, k: z * lib.asarray((np.arange(z.shape[0]) % 3 > 0) * 1.0),
}  # fmt: skip


class Function:
    """A random function of a nesting, to a nesting."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.shapes = [rng.choice(SHAPES) for _ in range(rng.randint(1, 3))]
        self.form = (
            rng.choice(["alone", "list", "dict"])
            if len(self.shapes) == 1
            else rng.choice(["list", "dict"])
        )
        self.values = [np.asarray(self.numbers.normal(size=s)) for s in self.shapes]
        self.size = sum(x.size for x in self.values)
        self.steps = steps_of(rng, self.size)
        self.out = rng.choice(["alone", "dict", "scalar"])

    def packed(self, parts):
        if self.form == "alone":
            return parts[0]
        return dict(zip("abc", parts, strict=False)) if self.form == "dict" else list(parts)

    def parts(self, nesting):
        if self.form == "alone":
            return [nesting]
        return list(nesting.values()) if self.form == "dict" else list(nesting)

    def vector(self, lib, v):
        """The function of vectors."""
        for name, k in self.steps:
            v = OPS[name](lib, v, k)
        return v

    def __call__(self, nesting):
        v = xp.concat([xp.reshape(x, (-1,)) for x in self.parts(nesting)])
        v = self.vector(xp, v)
        if self.out == "alone":
            return v
        half = v.shape[0] // 2
        return {"y": v[:half], "z": [v[half:]]} if self.out == "dict" else xp.sum(v * v)

    def scalar(self, nesting):
        return sum((xp.sum(xp.sin(y)) for y in leaves(self(nesting))), xp.asarray(0.0))

    def host(self, v):
        """The results as one vector, on NumPy's data."""
        v = self.vector(np, v)
        return np.sum(v * v).reshape(1) if self.out == "scalar" else v

    def jacobian(self, h=1e-5):
        v = np.concat([x.reshape(-1) for x in self.values])
        columns = [(self.host(v + h * e) - self.host(v - h * e)) / (2 * h) for e in np.eye(v.size)]
        return np.stack(columns, axis=-1) if columns else np.zeros((self.host(v).size, 0))

    def given(self, arrays):
        """The argument anew: Arrays, or NumPy's data in any layout."""
        if arrays:
            return self.packed([xp.asarray(x, copy=True) for x in self.values])
        odd = [
            np.array(x, order="F")
            if x.ndim > 1
            else np.array(x[::-1])[::-1]
            if x.ndim
            else x.copy()
            for x in self.values
        ]
        return self.packed(odd)


def leaves(nesting):
    if isinstance(nesting, dict):
        return [leaf for part in nesting.values() for leaf in leaves(part)]
    if isinstance(nesting, list | tuple):
        return [leaf for part in nesting for leaf in leaves(part)]
    return [nesting]


def dense(f, found, count):
    """A nested Jacobian, results outside, as a matrix."""
    rows = []
    sizes = [x.size for x in f.values]
    blocks = [np.asarray(x) for x in leaves(found)]
    per = len(sizes)
    for start in range(0, len(blocks), per):
        row = blocks[start : start + per]
        height = next((b.size // n for b, n in zip(row, sizes, strict=True) if n), None)
        if height is None:
            height = int(np.prod(row[0].shape[: row[0].ndim - f.values[0].ndim]))
        rows.append(
            np.concatenate([b.reshape(height, n) for b, n in zip(row, sizes, strict=True)], axis=1)
        )
    return np.concatenate(rows)


def flat(nesting):
    parts = [np.asarray(x).reshape(-1) for x in leaves(nesting)]
    return np.concatenate(parts) if parts else np.zeros(0)


def direction(f, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s) for s in f.shapes]


def pack_like(nesting, parts):
    parts = iter(parts)

    def build(x):
        if isinstance(x, dict):
            return {k: build(v) for k, v in x.items()}
        if isinstance(x, list | tuple):
            return [build(v) for v in x]
        return next(parts)

    return build(nesting)


def cotangents(y, arrays, seed=2):
    rng = np.random.default_rng(seed)
    lib = xp if arrays else np
    return pack_like(y, [lib.asarray(rng.normal(size=tuple(part.shape))) for part in leaves(y)])


# --- forms: each gives numbers found and wanted, for the Jacobian J ---------------------------------
def by_jacobian(name, **more):
    def form(f, J, arrays):
        return dense(f, getattr(functional, name)(f, **more)(f.given(arrays)), len(J)), J

    form.__name__ = name
    return form


def tangent(f, arrays):
    t = direction(f)
    return f.packed([xp.asarray(x) for x in t] if arrays else t), np.concatenate(
        [x.reshape(-1) for x in t]
    )


def by_jvp(f, J, arrays):
    t, v = tangent(f, arrays)
    _, found = functional.jvp(f, (f.given(arrays),), (t,))
    return flat(found), J @ v


def by_linearize(f, J, arrays):
    t, v = tangent(f, arrays)
    given = f.given(arrays)
    y, push, aux = functional.linearize(lambda x: (f(x), {"n": 3}), given, has_aux=True)
    assert aux == {"n": 3}
    for x in (*leaves(y), *f.parts(given)):
        if (
            isinstance(x, xp.Array | np.ndarray)
            and x.size
            and (isinstance(x, xp.Array) or x.flags.writeable)
        ):
            x[...] = 9.0
    return flat(push(t)), J @ v


def by_vjp(f, J, arrays):
    given = f.given(arrays)
    y, pull = functional.vjp(f, given)
    g = cotangents(y, arrays)
    w = flat(g)
    for x in (*leaves(y), *f.parts(given)):
        if (
            isinstance(x, xp.Array | np.ndarray)
            and x.size
            and (isinstance(x, xp.Array) or x.flags.writeable)
        ):
            x[...] = 9.0
    return flat(pull(g)), J.T @ w


def by_gauss_newton(f, J, arrays):
    t, v = tangent(f, arrays)
    return flat(functional.gauss_newton_product(f, None, (f.given(arrays),), (t,))), J.T @ (J @ v)


def by_gauss_newton_of_loss(f, J, arrays):
    """The loss sum(cosh(y)), whose Hessian is diag(cosh(y))."""
    t, v = tangent(f, arrays)
    y = f.host(np.concat([x.reshape(-1) for x in f.values]))
    if np.max(np.abs(y), initial=0.0) > 20.0:
        return np.zeros(1), np.zeros(1)

    def loss(y):
        return sum((xp.sum(xp.cosh(part)) for part in leaves(y)), xp.asarray(0.0))

    found = functional.gauss_newton_product(f, loss, (f.given(arrays),), (t,))
    return flat(found), J.T @ (np.cosh(y) * (J @ v))


def by_grad(f, J, arrays):
    y = f.host(np.concat([x.reshape(-1) for x in f.values]))
    found, aux = functional.grad(lambda x: (f.scalar(x), x), has_aux=True)(f.given(arrays))
    assert np.array_equal(flat(aux), np.concatenate([x.reshape(-1) for x in f.values]))
    return flat(found), J.T @ np.cos(y)


def by_verify(f, J, arrays):
    y = f.host(np.concat([x.reshape(-1) for x in f.values]))
    value, found = functional.value_and_grad(f.scalar, verify=True)(f.given(arrays))
    return np.append(flat(found), value), np.append(J.T @ np.cos(y), np.sum(np.sin(y)))


def by_ravel(f, J, arrays):
    v, unravel = functional.ravel(f.given(arrays))
    found = functional.jacobian(lambda v: f(unravel(v)))(v)
    return np.concatenate(
        [
            np.asarray(b).reshape(-1, f.size)
            if f.size
            else np.zeros((int(np.prod(b.shape[:-1])), 0))
            for b in leaves(found)
        ]
    ), J


def by_sparse(f, J, arrays):
    v, unravel = functional.ravel(f.given(arrays))
    derivative = functional.sparse_jacobian(
        lambda v: f(unravel(v)), chunk_size=[None, 1, 2][f.size % 3]
    )
    derivative(v)
    return derivative(v).toarray(), J


def by_vmap(f, J, arrays):
    """The Jacobian's product with two directions at once."""
    t, v = tangent(f, True)
    given = f.given(True)
    both = pack_like(t, [xp.stack([x, 2.0 * x]) for x in leaves(t)])
    found = xp.vmap(lambda t: functional.jvp(f, (given,), (t,))[1])(both)
    return np.concatenate([np.asarray(x)[1].reshape(-1) for x in leaves(found)]), 2.0 * J @ v


def by_vmap_of_primals(f, J, arrays):
    given = f.given(True)
    both = pack_like(given, [xp.stack([x + 1.0, x]) for x in leaves(given)])
    found = xp.vmap(lambda x: functional.jacrev(f)(x))(both)
    return dense(f, pack_like(found, [np.asarray(x)[1] for x in leaves(found)]), len(J)), J


FORMS = [
    by_jacobian("jacobian"), by_jacobian("jacrev"), by_jacobian("jacfwd"),
    by_jacobian("jacrev", chunk_size=1), by_jacobian("jacfwd", chunk_size=2), by_jvp, by_linearize,
    by_vjp, by_gauss_newton, by_gauss_newton_of_loss, by_grad, by_verify, by_ravel, by_sparse, by_vmap,
    by_vmap_of_primals,
]  # fmt: skip


def second_order(f):
    """Products with the Hessian in four ways, and the sparse one: they must agree with each other."""
    t, v = tangent(f, False)
    given = f.given(False)
    one = flat(functional.hvp(f.scalar, (given,), (t,)))
    two = flat(functional.vhp(f.scalar, (given,), (t,)))
    raveled, unravel = functional.ravel(given)
    H = functional.hessian(lambda x: f.scalar(unravel(x)))(raveled)
    S = functional.sparse_hessian(lambda x: f.scalar(unravel(x)))(raveled).toarray()
    push = functional.linearize(functional.grad(f.scalar), given)[1]
    four = flat(push(t))
    scale = max(1.0, float(np.max(np.abs(H), initial=0.0)))
    for found in (two, four, H @ v, S @ v):
        off = float(np.max(np.abs(found - one), initial=0.0)) / scale
        assert off < 1e-9, f"Hessians differ by {off:.1e}"
    slope = functional.grad(lambda x: f.scalar(unravel(x)))
    h = 1e-5
    by_h = (slope(raveled + h * v) - slope(raveled - h * v)) / (2 * h)
    return one, by_h


def run(seed):
    """One function in ASKED forms, on Arrays and on NumPy's data."""
    f = Function(seed)
    J, smaller = f.jacobian(), f.jacobian(3e-6)
    scale = max(1.0, float(np.max(np.abs(J), initial=0.0)))
    if np.max(np.abs(J - smaller), initial=0.0) > 1e-7 * scale:
        return 0  # a kink is near
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for form in f.rng.sample(FORMS, ASKED):
            try:
                found, wanted = form(f, J, True)
                again, _ = form(f, J, False)
                assert found.shape == wanted.shape, (found.shape, wanted.shape)
                off = float(np.max(np.abs(found - wanted), initial=0.0))
                assert off <= 1e-5 * scale * max(1.0, float(np.max(np.abs(wanted), initial=0.0))), (
                    f"off by {off:.1e}"
                )
                assert np.array_equal(found, again), (
                    "Arrays and NumPy's data give different numbers"
                )
            except Exception as error:
                raise AssertionError(told(seed, f, form.__name__, error)) from error
            count += 2
        try:
            one, by_h = second_order(f)
            off = float(np.max(np.abs(one - by_h), initial=0.0))
            assert off <= 1e-4 * max(1.0, float(np.max(np.abs(one), initial=0.0))), (
                f"Hessian off by {off:.1e}"
            )
        except Exception as error:
            raise AssertionError(told(seed, f, "second order", error)) from error
    return count + 5


def told(seed, f, form, error):
    return (
        f"functional-programs, seed {seed}, {form}: {error!r}; {f.form} {f.shapes} -> {f.out}, "
        f"statements {f.steps}"
    )


ATTACK = Attack(run, "derivatives in functional forms")
