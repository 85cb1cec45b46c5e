"""What must hold of a program: NumPy's values bit for bit, its layouts and aliases, derivatives."""

import warnings

import numpy as np

import arraytape as xp
from arraytape._array.array import SCALAR
from arraytape._array.views import current

from .runs import Runs, Skipped

FIRST = {"real": 3e-7, "single": 2e-3, "complex": 3e-7}  # tolerances on slopes
FORWARD = {"real": 1e-9, "single": 1e-3, "complex": 1e-9}  # of forward against reverse mode
SECOND = 1e-5
# In NumPy's errors: of scalars, which are no arrays; by accident; where we may see another reason.
OTHERS = (
    "'numpy.", "positional argument", "could not broadcast", "Cannot cast", "with casting rule",
    "array element",
)  # fmt: skip
STEEP = 3e8  # of slopes: a step of differences changes values by more than they are large
LAST_BITS = 1e-6  # of float32, some ten of its units in the last place
LIKE = "`like` argument must be an array-like"
SECOND_STEPS = (1e-5, 1e-6, 1e-4)


# --- values -------------------------------------------------------------------------------------------
def check_values(runs, env, memory=True):
    """All arrays at the end, and the errors on the way, are NumPy's."""
    expected, found = runs.alive(runs.expected), runs.alive(env)
    names, wanted = ([name for name, _ in arrays] for arrays in (found, expected))
    assert names == wanted, f"arrays {names}, NumPy {wanted}"
    for (name, y), (_, x) in zip(expected, found, strict=True):
        try:
            check_array(runs, name, y, x)
        except AssertionError:
            if not runs.exact and runs.hangs_on_rounding(name):
                raise Skipped("a value that depends on the last bits of others") from None
            raise
    check_errors(env["_errors"], runs.expected["_errors"])
    if memory:
        check_memory([(name, raw(x)) for name, x in found], [y for _, y in expected])


def raw(x):
    """NumPy's data of an Array, as it is now."""
    return current(x)[1] if isinstance(x, xp.Array) else x


def check_array(runs, name, y, x):
    if isinstance(x, xp.Array):
        immutable = isinstance(y, np.generic)
        kind = "a scalar" if immutable else "an array"
        assert y.shape or immutable == bool(x._state & SCALAR), f"{name}: NumPy's is {kind}"
    else:
        assert y.dtype.kind == "b", f"{name}: {type(x).__name__}, which has left the tape"
    x = raw(x)
    assert x.shape == y.shape, f"{name}: shape {x.shape}, NumPy {y.shape}"
    assert x.dtype == y.dtype, f"{name}: dtype {x.dtype}, NumPy {y.dtype}"
    if x.tobytes() != y.tobytes():
        np.testing.assert_allclose(x, y, runs.near, runs.near, err_msg=name)
        assert not runs.exact, f"{name}: the last bits differ: {x!r}, NumPy {y!r}"


def check_errors(found, expected):
    assert len(found) == len(expected)
    for ours, numpys in zip(found, expected, strict=True):
        if numpys is None:
            assert ours is None, f"{type(ours).__name__}: {ours}; NumPy raises nothing"
            continue
        if LIKE in str(numpys):
            raise Skipped("NumPy's scalars are no arrays to be like")
        what = f"{type(numpys).__name__}: {numpys}"
        assert ours is not None, f"no error where NumPy raises {what}"
        if isinstance(numpys, np.exceptions.ComplexWarning):  # refused: it would lose a gradient
            assert isinstance(ours, TypeError | np.exceptions.ComplexWarning), what
            continue
        assert isinstance(ours, builtin(numpys)), f"{type(ours).__name__}: {ours}; NumPy {what}"


def builtin(error):
    """Python's types of an error, by which somebody may have caught it."""
    if any(words in str(error) for words in OTHERS):
        return Exception
    return tuple(
        kind for kind in type(error).__mro__
        if kind.__module__ == "builtins" and kind not in (object, BaseException, Exception)
    )  # fmt: skip


def check_memory(found, expected):
    """Strides, which decide on later views, whether one may write, and who shares memory with whom."""
    both = [
        (name, x, y) for (name, x), y in zip(found, expected, strict=True)
        if type(y) is np.ndarray and y.size
    ]  # fmt: skip
    for name, x, y in both:
        assert strides(x) == strides(y), f"{name}: strides {x.strides}, NumPy {y.strides}"
        assert x.flags.writeable == may_write(y, x), f"{name}: writeable {x.flags.writeable}"
    for i, (name, x, y) in enumerate(both):
        for other, u, v in both[:i]:
            ours, numpys = np.shares_memory(x, u), np.shares_memory(y, v)
            assert ours == numpys, f"{name} and {other}: shared memory {ours}, NumPy {numpys}"


def may_write(x, ours):
    """Whether NumPy's array is one to write to; as ours where it is, and NumPy warns of each write."""
    try:
        return x.flags.writeable
    except FutureWarning:  # np.broadcast_arrays
        return ours.flags.writeable


def strides(x):
    return [step for step, n in zip(x.strides, x.shape, strict=True) if n > 1]


# --- derivatives --------------------------------------------------------------------------------------
def inner(gradients, along):
    """The directional derivative, and the scale of its parts."""
    parts = [np.real(np.conj(np.asarray(g)) * along[x]) for x, g in gradients.items()]
    return float(sum(map(np.sum, parts))), float(sum(np.sum(np.abs(part)) for part in parts))


def sources_of(runs, given):
    return {name: given[name] for name in runs.program.along}


def reverse(runs):
    """The variables, the slope by a tape and its scale."""
    given = runs.given()
    sources = sources_of(runs, given)
    with xp.GradientTape() as tape:
        tape.watch(sources)
        env = runs.on_arrays(given)
    alive = dict(runs.alive(env))
    targets = [alive[name] for name in runs.targets]
    cotangents = [
        xp.asarray(np.conj(w).astype(x.dtype))
        for x, w in zip(targets, runs.targets.values(), strict=True)
    ]
    gradients = tape.gradient(targets, sources, cotangents, unconnected_gradients="zero")
    return env, *inner(gradients, runs.program.along)


def forward(runs):
    """The variables and the slope by forward mode."""
    given = runs.given()
    sources = sources_of(runs, given)
    tangents = {x: xp.asarray(step) for x, step in runs.program.along.items()}
    with xp.ForwardAccumulator(sources, tangents) as accumulator:
        env = runs.on_arrays(given)
    alive = dict(runs.alive(env))
    pushed = accumulator.jvp([alive[name] for name in runs.targets], unconnected_gradients="zero")
    return env, sum(
        float(np.sum(np.asarray(t) * w).real)
        for t, w in zip(pushed, runs.targets.values(), strict=True)
    )


def modes_differ_by_rounding(runs):
    """Whether what the modes differ by turns with the last bits of the inputs, as no fault does."""
    rng, data = np.random.default_rng(runs.program.seed), runs.program.data
    differences = []
    for _ in range(16):
        steps = {
            x: LAST_BITS * rng.uniform(-1, 1, np.shape(data[x])) * data[x]
            for x in runs.program.along
        }
        moved = runs.moved(steps)
        differences.append(forward(moved)[1] - reverse(moved)[1])
    return abs(np.mean(differences)) < np.std(differences)


def slope_as_array(runs, given, sources):
    """The slope by a tape, as an Array."""
    with xp.GradientTape() as tape:
        tape.watch(sources)
        alive = dict(runs.alive(runs.on_arrays(given)))
        total = sum(np.sum(alive[name] * w).real for name, w in runs.targets.items())
    gradients = tape.gradient(total, sources, unconnected_gradients="zero")
    along = runs.program.along
    return sum(np.sum(np.real(np.conj(g) * along[x])) for x, g in gradients.items())


def slope_of_slope(runs, over):
    """In one of two nestings; and the scale of its parts."""
    given, turn = runs.given(), runs.program.turn
    sources = sources_of(runs, given)
    if over == "tape":
        with xp.GradientTape() as outer:
            outer.watch(sources)
            slope = slope_as_array(runs, given, sources)
        found = inner(outer.gradient(slope, sources, unconnected_gradients="zero"), turn)
    else:
        tangents = {x: xp.asarray(step) for x, step in turn.items()}
        with xp.ForwardAccumulator(sources, tangents) as outer:
            slope = slope_as_array(runs, given, sources)
        found = [float(outer.jvp(slope, unconnected_gradients="zero"))] * 2
    return found[0], max(abs(found[1]), abs(float(slope)))


def check_near(found, candidates, scale, tolerance, what):
    """One of several differences must be it; Skipped at a kink."""
    tried, kinked = [], True
    for expected, bend in candidates:
        near = tolerance * max(1.0, scale, abs(expected))
        if abs(found - expected) <= near:
            return
        tried.append(expected)
        kinked = kinked and bend > near
    far = min(abs(found - expected) for expected in tried)
    if kinked or not np.ptp(tried) <= min(near, far / 20):  # NaN, too: a value that is not defined
        raise Skipped("a kink")
    if scale > STEEP:
        raise Skipped("a slope too steep for differences")
    raise AssertionError(f"{what} {found!r}, differences give {tried}")


def check_second(runs, over):
    found, scale = slope_of_slope(runs, over)
    if np.isnan(found):  # at the tip of a cone there is none, and NaN says so
        raise Skipped("a curvature that is not defined")

    def moved(at):
        given = runs.given(at, runs.program.turn)
        return float(slope_as_array(runs, given, sources_of(runs, given)))

    candidates = (((moved(h) - moved(-h)) / (2 * h), 0.0) for h in SECOND_STEPS)
    check_near(found, candidates, scale, SECOND, f"second order over a {over}")


def check_derivatives(runs):
    """The slope in both modes, in every third program; to second order in every tenth."""
    program, flavour = runs.program, runs.flavour
    env, found, scale = reverse(runs)
    check_values(runs, env)
    check_near(found, runs.slopes(program.along), scale, FIRST[flavour], "slope")
    if program.seed % 3 == 0:
        env, pushed = forward(runs)
        check_values(runs, env)
        if np.isnan(
            pushed
        ):  # no change times an infinite slope, which the tape's guard knows to be 0
            raise Skipped("an infinite slope")
        far = abs(pushed - found)
        if far > FORWARD[flavour] * max(1.0, scale):
            if flavour == "single" and modes_differ_by_rounding(runs):
                raise Skipped("a slope in single precision whose parts cancel")
            raise AssertionError(f"forward mode {pushed!r}, reverse mode {found!r}")
    if program.seed % 10 == 0 and flavour != "single":
        check_second(runs, "tape" if program.seed % 20 else "forward accumulator")


def check(program, body=None):
    """Everything; Skipped where there is nothing to compare with."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        runs = Runs(program, body)
        check_values(runs, runs.on_arrays(runs.given()))
        check_derivatives(runs)
