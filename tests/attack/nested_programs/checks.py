"""What must hold of a program: NumPy's values, the slope of differences, and one second derivative.

The second derivative is taken in several nestings of modes.  They are held against each other, and
against differences of first-order gradients.
"""

import warnings
from collections import Counter
from contextlib import suppress

import numpy as np

import arraytape as xp
from arraytape._storage.batched.batched_data import NoBatchedForm

from .own_ops import registered
from .program import LIMIT, REFUSED, arrays_in
from .tools import OnArrays, OnNumPy, fresh

NEAR = 1e-9  # of values, and of nestings; scaled
ROUGH = 1e-6  # where NumPy's side takes real differences inside
FIRST, SECOND = 1e-6, 1e-5
STEPS = (1e-4, 1e-5, 1e-3)  # where a kink lies within one of differences, another one counts
STEEP = 1e5  # of derivatives
TURNS = 100  # in which the other one of a tie has to come up
COUNTS = Counter()  # of nestings that were checked, and of what was skipped


class Skipped(Exception):
    """There is nothing to compare with: at a kink, say."""


class Runs:
    """A program as functions.

    expected : the values at its end, on NumPy.  targets : those that count, each beside its weights.
    """

    def __init__(self, program, body=None):
        self.program = program
        self.text = program.text(body)
        scope = {}
        exec(compile(self.text, f"<nested program {program.seed}>", "exec"), scope)
        self.function = scope["program"]
        self.names = list(program.data)
        self.on_numpy, self.on_arrays = OnNumPy(), OnArrays()
        self.rough = "t.hvp" in self.text
        self.expected = self.values_on_numpy()
        self.weights = {
            name: weights_of(x.shape, turn) for turn, (name, x) in enumerate(self.expected.items())
        }
        if any(x.size and not np.abs(x).max() < LIMIT for x in self.expected.values()):
            raise Skipped("a large or undefined value")

    def values_on_numpy(self, at=0.0, along=None, space=None):
        """All arrays at the end; the inputs' own, too."""
        data = self.program.data
        given = {
            name: self.on_numpy.start(x + at * along[name] if along else x)
            for name, x in data.items()
        }
        env = self.function(np, np, space or self.on_numpy, **given)
        return arrays_in(env | {f"given {name}": x for name, x in given.items()})

    def nearby(self, at, along):
        """The values on NumPy for inputs nearby; None where other statements or shapes come of them."""
        try:
            found = self.values_on_numpy(at, along)
        except REFUSED:
            return None
        shapes, expected = (
            {name: x.shape for name, x in v.items()} for v in (found, self.expected)
        )
        return found if shapes == expected else None

    def totals_on_numpy(self, steps, along):
        """The totals for inputs nearby; None where a decision lies between."""
        found = [self.nearby(at, along) for at in steps]
        if any(values is None for values in found):
            return None
        return [
            sum_of(np, {name: x.real for name, x in values.items()}, self.weights)
            for values in found
        ]

    def rounded_otherwise(self, blur):
        """The values on NumPy, many times, each with other last digits of what transforms give."""
        for _ in range(TURNS):
            with suppress(*REFUSED):
                yield self.values_on_numpy(space=OnNumPy(blur=blur))

    def values(self, given):
        """All arrays at the end, on Arrays."""
        env = self.function(np, xp, self.on_arrays, **given)
        env |= {f"given {name}": x for name, x in given.items()}
        return {name: find(env, name) for name in self.weights}

    def total(self, given):
        return sum_of(xp, self.values(given), self.weights)

    # --- derivatives of the total -------------------------------------------------------------------
    def inputs(self, at=0.0, along=None):
        data = self.program.data
        return [xp.asarray(x + at * along[name] if along else x) for name, x in data.items()]

    def f(self, *xs):
        """The total of fresh copies: a program writes to what it is given."""
        return self.total(dict(zip(self.names, [fresh(x) for x in xs], strict=True)))

    def directions(self, of):
        return [xp.asarray(of[name]) for name in self.names]


def find(env, name):
    """The value of an expression that ``arrays_in`` gave; names of inputs have a space."""
    return env[name] if name in env else eval(name, {}, env)


def weights_of(shape, turn):
    line = 1.0 + turn + 0.7 * np.arange(int(np.prod(shape)))
    return (np.cos(line) + 0.3).reshape(shape)


def sum_of(space, values, weights):
    """A weighted sum with some curvature of its own."""
    line = space.concat([space.reshape(values[name], (-1,)) for name in weights])
    w = np.concatenate([w.reshape(-1) for w in weights.values()])
    return space.sum(line * w) + 0.1 * space.sum(line * line * w)


# --- nestings -------------------------------------------------------------------------------------
def inner(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys, strict=True):
        total = total + xp.sum(x * y)
    return total


def by_tape(f, xs, *, persistent=False):
    """The gradient by a tape that is written out."""
    xs = [fresh(x) for x in xs]
    with xp.GradientTape(persistent=persistent) as tape:
        tape.watch(xs)
        y = f(*xs)
    if persistent:
        tape.gradient(y, xs, unconnected_gradients="zero")
    return tape.gradient(y, xs, unconnected_gradients="zero")


def every(f):
    return tuple(range(len(f.names)))


def reverse_over_reverse(r, xs, t):
    return xp.grad(lambda *xs: inner(xp.grad(r.f, every(r))(*xs), t), every(r))(*xs)


def tape_in_tape(r, xs, t):
    return by_tape(lambda *xs: inner(by_tape(r.f, xs), t), xs)


def persistent_tapes(r, xs, t):
    return by_tape(lambda *xs: inner(by_tape(r.f, xs, persistent=True), t), xs, persistent=True)


def forward_over_reverse(r, xs, t):
    return xp.hvp(r.f, tuple(xs), tuple(t))


def accumulator_over_tape(r, xs, t):
    xs = [fresh(x) for x in xs]
    with xp.ForwardAccumulator(xs, t) as accumulator:
        found = by_tape(r.f, xs)
    return accumulator.jvp(found, unconnected_gradients="zero")


def reverse_over_forward(r, xs, t):
    return xp.grad(lambda *xs: xp.jvp(r.f, xs, tuple(t))[1], every(r))(*xs)


def forward_over_forward(r, xs, t):
    """Along the program's second direction: one number for the whole product."""
    turn = tuple(r.directions(r.program.turn))
    return xp.jvp(lambda *xs: xp.jvp(r.f, xs, tuple(t))[1], tuple(xs), turn)[1]


def jacobian_of_grad(r, xs, t):
    rows = xp.hessian(r.f, every(r))(*xs)
    return [
        sum(xp.sum(block * v, axis=tuple(range(block.ndim - v.ndim, block.ndim)))
            for block, v in zip(row, t, strict=True))
        for row in rows
    ]  # fmt: skip


def vmap_of_hvp(r, xs, t):
    both = [xp.stack([v, v * 2.0]) for v in t]
    found = xp.vmap(lambda *t: xp.hvp(r.f, tuple(xs), t))(*both)
    return [x[1] / 2.0 for x in found]


NESTINGS = {
    f.__name__.replace("_", " "): f
    for f in (
        reverse_over_reverse, forward_over_reverse, reverse_over_forward, forward_over_forward,
        tape_in_tape, persistent_tapes, accumulator_over_tape, jacobian_of_grad, vmap_of_hvp,
    )
}  # fmt: skip


# --- checks ---------------------------------------------------------------------------------------
def check_values(runs):
    given = dict(zip(runs.names, runs.inputs(), strict=True))
    found = runs.values(given)
    near = ROUGH if runs.rough else NEAR
    for name, expected in runs.expected.items():
        x = np.asarray(found[name])
        if not agree(x, expected, near):
            if hangs_on_rounding(runs, name):
                raise Skipped("a value that hangs on rounding")
            if is_the_other_of_a_tie(runs, found):
                raise Skipped("the other of a tie")
            raise AssertionError(f"{name} is {x}, on NumPy {expected.real}")


def agree(x, expected, near):
    """Whether shape and values are NumPy's."""
    return x.shape == expected.shape and np.allclose(x, expected.real, near, near)


def is_the_other_of_a_tie(runs, found):
    """Whether NumPy gives all that was found, too, where results of transforms are rounded otherwise.

    Of equal numbers, as in the gradient of a sum, ``argmin`` takes the one that was rounded down.
    """
    near, blur = (ROUGH if runs.rough else 1e-8), np.random.default_rng(0)
    return any(
        values.keys() == runs.expected.keys()
        and all(agree(np.asarray(found[name]), x, near) for name, x in values.items())
        for values in runs.rounded_otherwise(blur)
    )


def hangs_on_rounding(runs, name):
    """Whether a value changes by far more than the inputs, or places of derivatives, that move a bit."""
    noise = OnNumPy(np.random.default_rng(0))
    for at, space in (
        (1e-12, None),
        (-1e-12, None),
        *[(0.0, noise)] * 8,
    ):  # each may hit a tie's side
        try:
            found = runs.values_on_numpy(at, runs.program.along, space)
        except REFUSED:
            return True
        x, y = found.get(name), runs.expected[name]
        if x is None or x.shape != y.shape or not np.allclose(x, y, 1e-7, 1e-7):
            return True
    return False


def slope_of(runs, gradient, along):
    parts = [np.asarray(g) * along[x] for x, g in zip(runs.names, gradient, strict=True)]
    return sum(np.sum(p) for p in parts), sum(np.sum(np.abs(p)) for p in parts)


def check_first(runs, gradient):
    along = runs.program.along
    found, scale = slope_of(runs, gradient, along)
    tolerance = max(1.0, scale)
    if not np.isfinite(scale) or scale > STEEP:
        raise Skipped("a steep or undefined slope")
    if runs.program.seed % 3 == 0:
        pushed = float(xp.jvp(runs.f, tuple(runs.inputs()), tuple(runs.directions(along)))[1])
        assert abs(pushed - found) <= NEAR * tolerance, f"forward {pushed!r}, reverse {found!r}"
    candidates = []
    (middle,) = runs.totals_on_numpy([0.0], along)
    for h in STEPS:
        totals = runs.totals_on_numpy([h, -h, h / 2, -h / 2], along)
        if totals is None:
            continue
        ahead, behind, near, far = totals
        slope = (4 * (near - far) / h - (ahead - behind) / (2 * h)) / 3
        bend = abs(near + far - 2 * middle) / (h / 2)
        candidates.append((slope, bend, h))
        if abs(slope - found) <= (FIRST if not runs.rough else 1e-4) * tolerance:
            return
    if not candidates:
        raise Skipped("a decision nearby")
    if all(bend > 1e-3 * tolerance for _, bend, _ in candidates) or apart(candidates, tolerance):
        raise Skipped("a kink")
    raise AssertionError(f"slope {found!r}, differences give {[c[0] for c in candidates]}")


def apart(candidates, tolerance):
    """Whether differences of several steps disagree: they show no slope."""
    slopes = [slope for slope, *_ in candidates]
    return np.ptp(slopes) > 1e-3 * tolerance or not np.isfinite(slopes).all()


def check_second(runs, names):
    xs, t = runs.inputs(), runs.directions(runs.program.along)
    products = {}
    for name in names:
        found = NESTINGS[name](runs, xs, t)
        whole = not isinstance(found, list | tuple)  # along the second direction already
        product = float(found) if whole else slope_of(runs, found, runs.program.turn)[0]
        products[name] = product, None if whole else [np.asarray(g) for g in found]
        COUNTS[name] += 1
    gradients = {name: g for name, (_, g) in products.items() if g is not None}
    first = next(iter(gradients.values()))
    scale = max(1.0, sum(float(np.abs(g).sum()) for g in first))
    far = not np.isfinite(scale) or scale > STEEP
    if far and all(not np.isfinite(p) or abs(p) > 1e3 for p, _ in products.values()):
        raise Skipped("a steep or undefined curvature")
    for name, found in gradients.items():
        for x, a, b in zip(runs.names, found, first, strict=True):
            far = np.abs(a - b).max(initial=0.0)
            assert far <= NEAR * scale, f"by {x}: {name} gives {a}, {next(iter(gradients))} {b}"
    values = {name: p for name, (p, _) in products.items()}
    assert np.ptp(list(values.values())) <= NEAR * scale * 10, f"second order: {values}"
    return first, scale


def check_second_by_differences(runs, found, scale):
    along, turn = runs.program.along, runs.program.turn
    product, _ = slope_of(runs, found, turn)
    tried = []
    for h in (1e-5, 1e-4, 1e-6):
        if any(runs.nearby(k, turn) is None for k in (h, -h)):
            continue
        ahead, behind = (
            slope_of(runs, xp.grad(runs.f, every(runs))(*runs.inputs(k, turn)), along)[0]
            for k in (h, -h)
        )
        tried.append((ahead - behind) / (2 * h))
        if abs(tried[-1] - product) <= SECOND * scale:
            return
    if not tried:
        raise Skipped("a decision nearby")
    if np.ptp(tried) > 1e-3 * scale or not np.isfinite(tried).all():
        raise Skipped("a kink of the slope")
    raise AssertionError(f"second order {product!r}, differences of slopes give {tried}")


def nestings_of(seed):
    """Which nestings a seed checks: two that give the whole product, and another now and then."""
    names = list(NESTINGS)
    names.remove("forward over forward")
    first = names[seed % len(names)]
    second = names[(seed + 1 + seed // len(names) % (len(names) - 1)) % len(names)]
    return [first, second, *(["forward over forward"] if seed % 5 == 0 else [])]


def check(program, body=None):
    """Everything; Skipped where there is nothing to compare with."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), registered():
        warnings.simplefilter("ignore")
        try:
            runs = Runs(program, body)
            check_values(runs)
            check_first(runs, xp.grad(runs.f, every(runs))(*runs.inputs()))
            found, scale = check_second(runs, nestings_of(program.seed))
            if program.seed % 4 == 0:
                check_second_by_differences(runs, found, scale)
        except NoBatchedForm as error:
            raise Skipped("no batched form") from error
