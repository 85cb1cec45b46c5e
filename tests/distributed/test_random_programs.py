"""Random functions of partitions: the sum and its derivatives are those of a loop over them."""

import random

import dask
import numpy as np
import pytest

import arraytape as xp
from arraytape import distributed

PROGRAMS = 40
ROWS = (3, 0, 5, 1)
BLOCKS = [np.random.default_rng(i).normal(size=(n, 4)) for i, n in enumerate(ROWS)]
LABELS = [np.random.default_rng(9 + i).normal(size=n) for i, n in enumerate(ROWS)]

# What a term computes of the parameters p, the constants c, and a block.
TERMS = {
    "sin": lambda p, c, X, y: xp.sum(xp.sin(X @ p["w"] - y)),
    "columns": lambda p, c, X, y: X.T @ xp.tanh(X @ p["w"]),
    "matrix": lambda p, c, X, y: xp.sum(xp.cos(X @ p["pair"][0]), axis=0) * p["s"],
    "complex": lambda p, c, X, y: xp.sum(xp.exp(0.3j * (X @ p["w"]))) * p["s"],
    "single": lambda p, c, X, y: xp.sum(xp.astype(X, xp.float32) @ p["pair"][1]),
    "both": lambda p, c, X, y: xp.sum((X @ p["w"]) * xp.astype(p["pair"][1][0], xp.float64)),
    "view": lambda p, c, X, y: p["w"][1:3],
    "itself": lambda p, c, X, y: p["s"],
    "empty": lambda p, c, X, y: p["none at all"] * 2.0,
    "stopped": lambda p, c, X, y: xp.stop_gradient(p["s"]) * xp.sum(X @ p["w"]),
    "constant": lambda p, c, X, y: c["number"] * len(y),
    "count": lambda p, c, X, y: X.shape[0],
    "counts": lambda p, c, X, y: xp.sum(xp.astype(X > 0, xp.int64), axis=0) * c["k"],
    "of count": lambda p, c, X, y: p["s"] ** 2 * xp.astype(c["k"], xp.float64)[0],
    "inner": lambda p, c, X, y: xp.grad(lambda s: xp.sum(xp.sin(s * X)))(p["s"]),
    "again": lambda p, c, X, y: xp.recompute_grad(lambda w: xp.sum(xp.exp(0.1 * (X @ w))))(p["w"]),
    "rule": lambda p, c, X, y: xp.sum(cube(X @ p["w"])),
    "written": lambda p, c, X, y: written(p["w"], X),
}


@xp.custom_gradient
def cube(x):
    return x**3, lambda g: 3.0 * g * x * x


def written(w, X):
    copy = w * 1.0
    copy[0] = xp.sum(X) * w[1]
    return xp.sum(X @ copy)


def program(seed):
    """A function of parameters, constants and blocks, and what is made of its sums."""
    rng = random.Random(seed)
    names = rng.sample(sorted(TERMS), rng.randint(1, 4))
    as_list = rng.random() < 0.3

    def f(p, c, X, y):
        found = {name: TERMS[name](p, c, X, y) for name in names}
        return list(found.values()) if as_list else found

    def of(total, c):
        def g(p):
            sums = total(p, c)
            sums = sums if as_list else list(sums.values())
            sizes = [xp.sum(xp.real(xp.conj(y) * y)) if y.dtype.kind == "c" else
                     xp.sum(xp.astype(y, xp.float64) ** 2) for y in sums]  # fmt: skip
            return xp.log1p(sum(sizes)) * (1.0 + 0.1 * xp.sin(p["s"]))

        return g

    return f, of, names


def parameters(seed):
    """Parameters of several shapes and dtypes, of which some may be one Array."""
    rng = np.random.default_rng(seed)
    pair = xp.asarray(rng.normal(size=(4, 2))), xp.asarray(rng.normal(size=4), dtype=xp.float32)
    return {
        "w": xp.asarray(rng.normal(size=4)),
        "s": xp.asarray(rng.normal()),
        "pair": pair,
        "none at all": xp.zeros((0, 2)),
    }


def by_loop(f):
    """The sum over the partitions, in this process."""

    def total(*params):
        parts = [
            f(*params, xp.asarray(X), xp.asarray(y)) for X, y in zip(BLOCKS, LABELS, strict=True)
        ]
        if isinstance(parts[0], list):
            return [summed(column) for column in zip(*parts, strict=True)]
        return {name: summed([part[name] for part in parts]) for name in parts[0]}

    return total


def summed(parts):
    first, *rest = [xp.asarray(part) for part in parts]
    for part in rest:
        first = first + part
    return first


def stacked(params, others):
    """Two sets of parameters along a new axis."""
    if isinstance(params, dict):
        return {name: stacked(part, others[name]) for name, part in params.items()}
    if isinstance(params, tuple):
        return tuple(stacked(a, b) for a, b in zip(params, others, strict=True))
    return xp.stack([params, others])


MODES = {
    "value": lambda g, p, q: g(p),
    "grad": lambda g, p, q: xp.value_and_grad(g)(p),
    "jvp": lambda g, p, q: xp.jvp(g, (p,), (q,)),
    "hvp": lambda g, p, q: xp.hvp(g, (p,), (q,)),
    "vmap": lambda g, p, q: xp.vmap(g)(stacked(p, q)),
    "vmap of grad": lambda g, p, q: xp.vmap(xp.grad(g))(stacked(p, q)),
    "jvp of jvp": lambda g, p, q: xp.jvp(lambda p: xp.jvp(g, (p,), (q,))[1], (p,), (q,)),
}


def leaves(value):
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves(value[key])]
    if isinstance(value, tuple | list):
        return [x for part in value for x in leaves(part)]
    return [value]


@pytest.mark.parametrize("start", range(0, PROGRAMS, 10))
def test_programs_give_what_a_loop_gives(start):
    data = distributed.partitions(BLOCKS, LABELS, fan_in=3)
    constants = {"k": xp.asarray([2, 3, 1, 4]), "number": 0.7, "nothing": None}
    with dask.config.set(scheduler="synchronous"):
        for seed in range(start, start + 10):
            f, of, names = program(seed)
            p, q = parameters(seed), parameters(seed + 1000)
            mode = sorted(MODES)[seed % len(MODES)]
            check(mode, names, of(distributed.map_sum(f, data), constants),
                  of(by_loop(f), constants), p, q)  # fmt: skip


def check(mode, names, total, right, p, q):
    found, expected = leaves(MODES[mode](total, p, q)), leaves(MODES[mode](right, p, q))
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{mode} of {names}"
        single = a.dtype == np.float32 or {"single", "both"} & set(names)
        near = {"rtol": 2e-4, "atol": 1e-5} if single else {"rtol": 1e-11, "atol": 1e-12}
        np.testing.assert_allclose(a, b, **near, err_msg=f"{mode} of {names}")
