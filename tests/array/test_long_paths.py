"""Views of views of views: a long path is made short, and leads to the same elements."""

import random

import numpy as np
import pytest

import arraytape as xp
from arraytape._array.long_paths import LONG, shortened
from arraytape._array.paths import BROADCAST, GETITEM, PERMUTE, RESHAPE, walk_path
from arraytape._storage import numpy_namespace


def drawn_key(rng, shape):
    """A basic key that makes a view of data of this shape."""
    parts = []
    for n in shape:
        kind = rng.random()
        if kind < 0.12 and n:
            parts.append(rng.choice([rng.randrange(-n, n), np.int64(rng.randrange(-n, n))]))
        elif kind < 0.75:
            ends = [None, *range(-n - 1, n + 2)]
            parts.append(
                slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, -1, -2, 3]))
            )
        else:
            parts.append(slice(None))
    if rng.random() < 0.3:
        i = rng.randint(0, len(parts))
        parts[i : rng.randint(i, len(parts))] = [...]
    if rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), None)
    if not any(part is Ellipsis for part in parts):
        parts.append(...)
    return parts[0] if len(parts) == 1 else tuple(parts)


def drawn_step(rng, data):
    """A step along a path; None where the one that was drawn would have to copy."""
    kind = rng.random()
    if kind < 0.6:
        return GETITEM, drawn_key(rng, data.shape)
    if kind < 0.8:
        return PERMUTE, tuple(rng.sample(range(data.ndim), data.ndim))
    if kind < 0.9 or data.size > 200 or data.ndim > 4:
        shapes = [(data.size,), (*data.shape, 1), (1, *data.shape)]
        new = data.reshape(rng.choice(shapes))
        return (RESHAPE, new.shape) if np.shares_memory(new, data) else None
    return BROADCAST, (rng.randint(1, 2), *data.shape)


@pytest.mark.parametrize("block", range(4))
def test_a_shortened_path_leads_to_the_same_elements(block):
    joined = 0
    for seed in range(300 * block, 300 * block + 300):
        rng = random.Random(seed)
        shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 4)))
        root = np.arange(np.prod(shape)).reshape(shape, order=rng.choice("CF"))
        data, path = root, ()
        for _ in range(rng.randint(1, 12)):
            step = drawn_step(rng, data)
            if step is not None and data.ndim < 6:
                data, path = walk_path(data, (step,), numpy_namespace), (*path, step)
        short = shortened(path, shape)
        found = walk_path(root, short, numpy_namespace)
        joined += len(short) < len(path)
        np.testing.assert_array_equal(found, data, err_msg=f"seed {seed}: {path} -> {short}")
        assert short, seed  # no steps at all would be a copy
        assert not data.size or np.shares_memory(found, root), seed
    assert joined > 150


def deep(x, turns=12):
    """A view of a view of a view..., all of x again: four turns give each element its place back."""
    for _ in range(turns):
        x = x[::-1].T[None, ...][0]
        x = xp.reshape(xp.reshape(x, (1, *x.shape)), x.shape)
    return x


def through(views):
    """A program that reads and writes through views."""

    def f(x):
        z = x * 1.0
        v = views(z)
        first = xp.sum(v[0] ** 2) + xp.sum(v**3)
        v[1] += 2 * v[0]
        v[..., 1] = x[0, 0]
        return first + xp.sum(xp.sin(z) * z)

    return f


X = np.linspace(0.1, 0.9, 9).reshape(3, 3)


def test_twelve_turns_give_the_array_back():
    view = deep(xp.asarray(X))
    np.testing.assert_array_equal(view, X)
    assert len(view._view.path) <= LONG


def test_derivatives_through_deep_views():
    x = xp.asarray(X)
    for derivative in (
        lambda f: xp.grad(f)(x),
        lambda f: xp.hessian(f)(x),
        lambda f: xp.hvp(f, (x,), (x,))[0],
        lambda f: xp.jvp(f, (x,), (x,))[1],
        lambda f: xp.vmap(xp.grad(f))(xp.stack([x, x * x])),
        lambda f: xp.jacobian(lambda x: xp.stack([f(x), f(2 * x)]))(x),
    ):
        found, expected = derivative(through(deep)), derivative(through(lambda z: z))
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)


def test_in_place_operators_on_a_key_of_a_deep_view_write_once():
    x = xp.asarray(X)
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = x * 1.0
        v = deep(z)
        v[0] += x[1]
        names = [row.name for row in tape.summary().rows]
        y = xp.sum(z * z)
    assert "setitem" not in names
    expected = 2 * (X + np.stack([X[1], 0 * X[1], 0 * X[1]]))
    expected[1] += 2 * (X[0] + X[1])
    np.testing.assert_allclose(tape.gradient(y, x), expected)


def test_what_is_consumed_from_the_front_has_a_short_path():
    x = rest = xp.asarray(np.arange(1000.0))
    with xp.GradientTape() as tape:
        tape.watch(x)
        total = xp.asarray(0.0)
        while rest.shape[0] > 1:
            total, rest = total + rest[0] * rest[1], rest[1:]
    assert len(rest._view.path) <= LONG
    expected = np.r_[np.arange(1000.0)[1:], 0] + np.r_[0, np.arange(1000.0)[:-1]]
    np.testing.assert_allclose(tape.gradient(total, x), expected)


def test_a_row_that_is_watched_counts_for_itself_among_many_rows():
    x = xp.asarray(np.arange(12.0).reshape(4, 3))
    with xp.GradientTape() as tape:
        tape.watch(x)
        before = xp.sum(x[1:3] ** 2) + xp.sum(x[2] ** 2) + xp.sum(x[0] ** 2)
        whole, part, row = x[()], x[:, 1], x[2]
        before = before + xp.sum(part**2) + xp.sum(row**2) + xp.sum(whole**2)
        rows = [x[0], x[2], x[1:3]]
        for one in rows:
            tape.watch(one)
        y = before + xp.sum(part**3) + xp.sum(row**3) + xp.sum(rows[0] ** 3) + xp.sum(whole**3)
    found = tape.gradient(y, rows)
    slope = 3 * np.arange(12.0).reshape(4, 3) ** 2
    times = np.asarray([[2, 3, 2], [1, 2, 1], [2, 3, 2], [1, 2, 1]])
    for g, key in zip(found, [0, 2, slice(1, 3)], strict=True):
        np.testing.assert_allclose(g, (slope * times)[key])
