"""Arguments that are views of Arrays which the function uses, too: traced calls give eager results."""

import contextlib
import random

import numpy as np
import pytest

import arraytape as xp
from helpers.replaying import compare, leaves, weighted

# z and u are views that the function makes before or after it uses ``base``.
STATEMENTS = (
    "x[:1] -= 1.0", "x *= 2.0", "x += y", "x[0] = 7.0", "base[...] += 1.0", "base[1] += y",
    "base[0] = x",
    "base[1, 1:] *= 2.0", "base[1] = x * 0.5", "z += 1.0", "z[:1] = 3.0", "u *= 2.0", "u[0] = y[0]",
    "y = y + base[0]", "y = y + x", "y = y * z[0]", "y = y + xp.sum(u)", "y = y + xp.sum(base)",
    "y[0] = x[0]", "z = x[::-1]", "z = x[...]", "z = base[1]", "z = xp.reshape(base, (-1,))",
    "u = z[1:]", "u = x[1:]", "u = base[:, 1]", "u = xp.reshape(x, (3, 1))[0]",
)  # fmt: skip
RESULTS = "y", "(x, y)", "(y, base[1])", "(z, y)", "(y, u, z)", "(y, base)", "(x[1:], y)"
VIEWS = (
    "base[1]",
    "base[1]",
    "base[1:2][0]",
    "base[:, 0]",
    "other[1]",
    "xp.asarray([2.0, 1.0, 3.0])",
)


def program(choices):
    """Return the text of a function of x and y, which uses ``base``."""
    first = choices.choice(("z, u = x[:], x[:2]", "z, u = y[:], y[:2]", "z, u = base[1], base[0]"))
    lines = [first, *choices.choices(STATEMENTS, k=choices.randint(1, 7))]
    body = "\n    ".join([*lines, f"return {choices.choice(RESULTS)}"])
    return f"def f(x, y):\n    {body}\n"


def outcome(text, view, mode, recorded):
    """Return results, arguments, ``base`` and gradients of three calls of the function.

    mode : ``xp.function``, or a function that returns its argument.  recorded : "" for calls without a
        tape, else which of x, y and base are watched.
    """
    base, other = (xp.asarray(np.arange(9.0).reshape(3, 3) + start) for start in (1, 2))
    scope = {"xp": xp, "base": base, "other": other}
    exec(text, scope)
    f, found = mode(scope["f"]), []
    for call in range(3):
        given = {"x": eval(view, scope), "y": xp.asarray([1.0, 3.0, call]), "base": base}
        watched = [given[name] for name in recorded.split()]
        with xp.GradientTape() if recorded else contextlib.nullcontext() as tape:
            if recorded:
                tape.watch(watched)
            result = f(given["x"], given["y"])
            target = weighted([result, *given.values()])
        found += [result, *[+x for x in given.values()]]
        found += tape.gradient(target, watched) if recorded else []
        for x in leaves(result):
            x[...] = x * 0.5
    return found, f


@pytest.mark.filterwarnings("ignore::arraytape.TapeWarning")
@pytest.mark.parametrize("seed", range(80))
def test_writes_and_gradients_are_those_of_eager_code(seed):
    choices = random.Random(seed)
    text, view = program(choices), choices.choice(VIEWS)
    recorded = choices.choice(("x", "x y", "x y base", ""))
    expected, _ = outcome(text, view, lambda f: f, recorded)
    found, f = outcome(text, view, xp.function, recorded)
    assert f.counts["traced"] > 0
    compare(found, expected, f"{text}{view}, {recorded}", 1e-12)
