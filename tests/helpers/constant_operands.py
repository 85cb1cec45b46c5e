"""Checks that a derivative with respect to one operand computes no cotangents of the others."""

from contextlib import contextmanager

import numpy as np

import arraytape as xp
from arraytape import GradientTape
from arraytape._record.plan import Lazy
from arraytape._tape import data


@contextmanager
def formed(monkeypatch):
    """Yield a list of (op, input, True if the input is followed), one for each cotangent.

    Only cotangents from joint rules are listed, which compute those of all inputs of an op at once.
    """
    found = []

    def of_followed(part, i, plan):
        followed = plan.followed[i]
        if type(part) is Lazy:
            part = part.form() if followed else None
        if part is not None:
            found.append((plan.name, plan.op.inputs[i], followed))
        return part

    with monkeypatch.context() as patched:
        patched.setattr(data, "of_followed", of_followed)
        yield found


def squared(value):
    """Return the sum of the squared absolute values of all elements of all results."""
    values = value if isinstance(value, tuple | list) else [value]
    return sum(
        xp.sum(xp.real(y * xp.conj(y)))
        for y in values
        if isinstance(y, xp.Array) and xp.isdtype(y.dtype, ("real floating", "complex floating"))
    )


def gradient(function, arrays, sources):
    with GradientTape() as tape:
        tape.watch(sources)
        y = squared(function(*arrays))
    return tape.gradient(y, sources)


def curvature(function, arrays, x):
    """Return the gradient with respect to x of |g|**2, where g is the gradient of ``function``."""
    with GradientTape() as outer:
        outer.watch(x)
        g = gradient(function, arrays, [x])
        total = squared(g)
    return outer.gradient(total, x)


def pushed(function, arrays, x):
    with xp.ForwardAccumulator(x, xp.ones_like(x)) as forward:
        y = squared(function(*arrays))
    return forward.jvp(y)


def check_each_operand_alone(function, arrays, monkeypatch, free=()):
    """Check derivatives with respect to one operand at a time against those with respect to all.

    Also check that joint rules compute no cotangent of an operand that is constant.
    free : pairs (op, input) for which a rule may compute it, because it costs nothing extra.
    """
    together = gradient(function, arrays, arrays)
    for x, expected in zip(arrays, together, strict=True):
        with formed(monkeypatch) as parts:
            found = gradient(function, arrays, [x])[0]
            second = curvature(function, arrays, x)
            tangent = pushed(function, arrays, x)
        assert [part for part in parts if not part[2] and part[:2] not in free] == []
        assert (found is None) is (expected is None)
        if found is None:
            continue
        np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-12, atol=1e-12)
        assert second is None or bool(xp.all(xp.isfinite(second)))
        along = np.sum(np.real(expected.to_numpy()))
        np.testing.assert_allclose(tangent.to_numpy(), along, rtol=1e-8, atol=1e-8)
