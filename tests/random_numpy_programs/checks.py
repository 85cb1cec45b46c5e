"""What must hold of a program: NumPy's values bit for bit, layouts, shared memory, and derivatives."""

import re
import warnings

import numpy as np

import arraytape as xp
from arraytape._array.array import SCALAR
from arraytape._array.views import current
from random_programs.checks import weights

from . import statements
from .program import TYPES, WIDE, Program, arrays

FIRST = {"real": 3e-7, "single": 2e-3, "complex": 3e-7}  # tolerances on slopes
FORWARD = {"real": 1e-9, "single": 1e-3, "complex": 1e-9}  # of forward mode against reverse mode
SECOND = 1e-5
STEPS = (1e-4, 3e-6, 1e-3)  # where a kink lies within one step of differences, another one counts


ROUNDED = re.compile(rf"where=|\b({'|'.join(statements.ROUNDED)})\b")


class Skipped(Exception):
    """Nothing to compare with: a kink, a decision that differs at another precision."""


class Runs:
    """The function of a program: on NumPy's arrays, on Arrays."""

    def __init__(self, program, text):
        self.program = program
        self.flavour = "single" if "single" in text else program.flavour
        # NumPy's scalars round complex products in another way than arrays.
        self.exact_bits = program.flavour != "complex" and not ROUNDED.search(text)
        code = compile(text, f"<program {program.seed}>", "exec")
        self.exact, self.wide = (self.function(code, types) for types in (TYPES, WIDE))
        try:
            self.expected = self.on_numpy(self.exact, dict(program.data))
        except Warning as error:
            raise Skipped(str(error)) from error
        self.names = [
            (name, weights(np.shape(x), np.dtype("c16" if x.dtype.kind == "c" else "f8"), turn % 50))
            for turn, (name, x) in enumerate(self.alive(self.expected))
            if x.dtype.kind in "fc"
        ]

    @staticmethod
    def function(code, types):
        scope = {"np": np, **types}
        exec(code, scope)
        return scope["program"]

    def alive(self, env):
        return arrays({name: x for name, x in env.items() if name.removeprefix("given ") not in self.program.constants})

    def on_numpy(self, function, data):
        given = {name: x.copy(order="K") for name, x in data.items()}
        env = function(**given)
        return env | {f"given {name}": x for name, x in given.items()}

    def given(self, at=0.0, along=None):
        """The inputs as Arrays, perhaps at a place nearby."""
        data = self.program.data
        moved = {name: np.asarray(data[name] + at * step, data[name].dtype) for name, step in along.items()} if at else {}
        constants = self.program.constants
        return {
            name: x.copy() if name in constants else xp.asarray(moved.get(name, x)) for name, x in data.items()
        }

    def on_arrays(self, given):
        env = self.exact(**given)
        return env | {f"given {name}": x for name, x in given.items()}

    # --- differences ----------------------------------------------------------------------------------
    def total(self, at, along):
        """A weighted sum of all arrays where the inputs are moved a little, in float64."""
        data = dict(self.program.data)
        for name, x in data.items():
            wide = np.result_type(x.dtype, np.float64) if x.dtype.kind in "fc" else x.dtype
            data[name] = np.asarray(x + at * along[name] if name in along else x, wide)
        found = dict(self.alive(self.on_numpy(self.wide, data)))
        if any(np.shape(found.get(name)) != w.shape for name, w in self.names):
            raise Skipped("shape")
        return float(sum(np.sum(found[name] * w).real for name, w in self.names))

    def slopes(self, along):
        """Central differences with several steps, each with what the two sides differ by."""
        at = self.total(0.0, along)
        for h in STEPS:
            ahead, behind, near, far = (self.total(x, along) for x in (h, -h, h / 2, -h / 2))
            coarse, fine = (ahead - behind) / (2 * h), (near - far) / h
            yield (4 * fine - coarse) / 3, abs(near + far - 2 * at) / h * 2


# --- values -------------------------------------------------------------------------------------------
def raw(x):
    """NumPy's data of an Array, as it is now."""
    return current(x)[1] if isinstance(x, xp.Array) else x


def check_values(runs, env, layout=False, scalars=False):
    expected, found = runs.alive(runs.expected), runs.alive(env)
    assert [n for n, _ in found] == [n for n, _ in expected], f"{[n for n, _ in found]}, NumPy {[n for n, _ in expected]}"
    exact = runs.exact_bits
    parts = []
    for (name, y), (_, x) in zip(expected, found, strict=True):
        assert isinstance(x, xp.Array) or y.dtype.kind == "b", f"{name}: {type(x).__name__}, which has left the tape"
        if scalars and isinstance(x, xp.Array) and not np.shape(y):
            scalar = isinstance(y, np.generic)
            assert scalar == bool(x._state & SCALAR), f"{name}: NumPy's is {'a scalar' if scalar else 'an array'}"
        x = raw(x)
        parts.append(x)
        assert x.shape == y.shape, f"{name}: shape {x.shape}, NumPy {y.shape}"
        assert x.dtype == y.dtype, f"{name}: dtype {x.dtype}, NumPy {y.dtype}"
        if x.tobytes() != y.tobytes():
            rounding = 1e-4 if runs.flavour == "single" else 1e-11
            np.testing.assert_allclose(x, y, rounding, rounding, err_msg=name)
            assert not exact, f"{name}: the last bits differ: {x!r}, NumPy {y!r}"
    check_errors(env["_errors"], runs.expected["_errors"])
    if layout:
        check_layout(parts, expected)


def check_errors(found, expected):
    assert len(found) == len(expected)
    for ours, numpys in zip(found, expected, strict=True):
        if ours is numpys is None:
            continue
        assert numpys is not None, f"{type(ours).__name__}: {ours}, where NumPy raises nothing"
        assert ours is not None, f"no error where NumPy raises {type(numpys).__name__}: {numpys}"
        assert isinstance(ours, builtin(numpys)), f"{type(ours).__name__}: {ours}; NumPy {type(numpys).__name__}: {numpys}"


def builtin(error):
    """Python's types of an error, by which somebody may have caught it."""
    if "'numpy." in str(error) or "could not broadcast" in str(error):
        return Exception  # of a scalar, which is no array; beside another reason of ours
    return tuple(kind for kind in type(error).__mro__ if kind.__module__ == "builtins" and issubclass(kind, Exception) and kind is not Exception)


def check_layout(found, expected):
    for x, (name, y) in zip(found, expected, strict=True):
        if type(y) is np.ndarray and y.size > 1:
            strides = [(s if n > 1 else 0) for s, n in zip(x.strides, x.shape, strict=True)]
            wanted = [(s if n > 1 else 0) for s, n in zip(y.strides, y.shape, strict=True)]
            assert strides == wanted, f"{name}: strides {x.strides}, NumPy {y.strides}"
            assert x.flags.writeable == y.flags.writeable, f"{name}: writeable {x.flags.writeable}, NumPy {y.flags.writeable}"
    for i, (name, y) in enumerate(expected):
        for j, (other, z) in enumerate(expected[:i]):
            if type(y) is np.ndarray and type(z) is np.ndarray and y.size and z.size:
                ours, numpys = np.shares_memory(found[i], found[j]), np.shares_memory(y, z)
                assert ours == numpys, f"{name} and {other}: share memory {ours}, NumPy {numpys}"


# --- derivatives --------------------------------------------------------------------------------------
def inner(gradients, along):
    """The directional derivative, and a scale for its rounding."""
    parts = [np.real(np.conj(np.asarray(g)) * along[x]) for x, g in gradients.items()]
    return float(sum(map(np.sum, parts))), float(sum(np.sum(np.abs(part)) for part in parts))


def check_slope(found, scale, runs, along, tolerance, what):
    kinked, tried = True, []
    for expected, bend in runs.slopes(along):
        near = tolerance * max(1.0, scale, abs(expected))
        if abs(found - expected) <= near:
            return
        kinked = kinked and bend > near
        tried.append(expected)
    if kinked or max(tried) - min(tried) > near:
        raise Skipped('kink')
    raise AssertionError(f"{what}: {found!r}, differences give {tried}")


def sources_of(runs, given):
    return {name: given[name] for name in runs.program.along}


def reverse(runs):
    """The slope by a tape."""
    given = runs.given()
    sources = sources_of(runs, given)
    with xp.GradientTape() as tape:
        tape.watch(sources)
        env = runs.on_arrays(given)
    alive = dict(runs.alive(env))
    targets = [alive[name] for name, _ in runs.names]
    cotangents = [xp.asarray(np.conj(w).astype(x.dtype)) for x, (_, w) in zip(targets, runs.names, strict=True)]
    gradients = tape.gradient(targets, sources, cotangents, unconnected_gradients="zero") if targets else {}
    return env, *inner(gradients, runs.program.along)


def forward(runs):
    """The slope by forward mode."""
    given = runs.given()
    sources = sources_of(runs, given)
    with xp.ForwardAccumulator(sources, {x: xp.asarray(runs.program.along[x]) for x in sources}) as accumulator:
        env = runs.on_arrays(given)
    alive = dict(runs.alive(env))
    tangents = accumulator.jvp([alive[name] for name, _ in runs.names], unconnected_gradients="zero")
    slope = sum(float(np.sum(np.asarray(t) * w).real) for t, (_, w) in zip(tangents, runs.names, strict=True))
    return env, slope


def slope_as_array(runs, given, sources):
    """The slope by a tape, as an Array."""
    with xp.GradientTape() as tape:
        tape.watch(sources)
        alive = dict(runs.alive(runs.on_arrays(given)))
        total = sum(np.sum(alive[name] * w).real for name, w in runs.names)
    gradients = tape.gradient(total, sources, unconnected_gradients="zero")
    return sum(np.sum(np.real(np.conj(g) * runs.program.along[x])) for x, g in gradients.items())


def check_second(runs, over):
    """The slope's slope, in one of two nestings, against differences of slopes."""
    turn = runs.program.turn
    given = runs.given()
    sources = sources_of(runs, given)
    if over == "tape":
        with xp.GradientTape() as outer:
            outer.watch(sources)
            slope = slope_as_array(runs, given, sources)
        found, scale = inner(outer.gradient(slope, sources, unconnected_gradients="zero"), turn)
    else:
        with xp.ForwardAccumulator(sources, {x: xp.asarray(turn[x]) for x in sources}) as outer:
            slope = slope_as_array(runs, given, sources)
        found = float(outer.jvp(slope, unconnected_gradients="zero"))
        scale = abs(found)

    def moved(at):
        given = runs.given(at, turn)
        return float(slope_as_array(runs, given, sources_of(runs, given)))

    tried = []
    for h in (1e-5, 1e-6, 1e-4):
        expected = (moved(h) - moved(-h)) / (2 * h)
        near = SECOND * max(1.0, scale, abs(expected), abs(float(slope)))
        if abs(found - expected) <= near:
            return
        tried.append(expected)
    if max(tried) - min(tried) > near:
        raise Skipped('kink')
    raise AssertionError(f"second order over a {over}: {found!r}, differences give {tried}")


def check(program, text=None, layout=False, scalars=False):
    """Everything; Skipped where there is nothing to compare with."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="ignore"):
            runs = Runs(program, text or program.text)
            check_values(runs, runs.on_arrays(runs.given()), layout, scalars)
            env, found, scale = reverse(runs)
            check_values(runs, env, layout)
            flavour = runs.flavour
            check_slope(found, scale, runs, program.along, FIRST[flavour], "slope")
            if program.seed % 3 == 0:
                env, pushed = forward(runs)
                check_values(runs, env, layout)
                near = FORWARD[flavour] * max(1.0, scale)
                assert abs(pushed - found) <= near, f"forward mode {pushed!r}, reverse mode {found!r}"
            if program.seed % 10 == 0 and flavour != "single":
                check_second(runs, "tape" if program.seed % 20 else "forward accumulator")
