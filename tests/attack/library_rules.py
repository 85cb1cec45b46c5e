"""Random calls of SciPy's functions that interop has rules for, on data that no table has.

A seed draws calls that the tests of interop check, and for each the inputs that are Arrays, their
dtypes and points at which library code branches: 0, 1, equal, sorted, symmetric, empty, NaN.  Values,
dtypes and errors must be SciPy's of NumPy data.  Gradients are asked inside of the context, outside and
in another thread, and compared with differences of SciPy's values, to second order.
"""

from __future__ import annotations

import random
import threading
import warnings
from collections import Counter

import numpy as np
from scipy import signal

import arraytape as xp
from arraytape import interop
from helpers.library_calls import library_calls
from helpers.library_checks import parts_of

from .attack import Attack

CALLS_PER_SEED = 12
COUNTS: Counter[str] = Counter()
DTYPES = ("float64",) * 4 + ("float32",) * 2 + ("int64", "int32", "uint8", "float16", "longdouble")
NO_ARRAYS = ("longdouble",)  # dtypes that NumPy data beside Arrays may have, and Arrays do not


# --- points ---------------------------------------------------------------------------------------
def symmetric(x):
    square = x.ndim > 1 and x.shape[-1] == x.shape[-2]
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2 if square else x


def identity(x):
    square = x.ndim > 1 and x.shape[-1] == x.shape[-2]
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy() if square else x


def with_element(value, place):
    def point(x):
        x = x.copy()
        if x.size:
            x.reshape(-1)[place] = value
        return x

    return point


def equal_rows(x):
    x = x.copy()
    if x.ndim and x.shape[0] > 1:
        x[1] = x[0]
    return x


def normalised(x):
    return x / x.reshape(-1)[0] if x.size and x.reshape(-1)[0] else x


POINTS = {
    "ordinary": lambda x: x,
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "all equal": lambda x: np.full_like(x, x.reshape(-1)[0]) if x.size else x,
    "sorted": lambda x: np.sort(x, axis=-1) if x.ndim else x,
    "reversed": lambda x: x[..., ::-1].copy() if x.ndim else x,
    "first 1": with_element(1, 0),
    "first 0": with_element(0, 0),
    "last 0": with_element(0, -1),
    "divided by the first": normalised,
    "rounded": np.rint,
    "equal rows": equal_rows,
    "symmetric": symmetric,
    "identity": identity,
    "tiny": lambda x: x * 1e-9,
    "one element": lambda x: x[..., :1].copy() if x.ndim else x,
    "empty": lambda x: x[..., :0].copy() if x.ndim else x,
    "NaN": with_element(np.nan, 0),
}

UNSAFE = {  # by the beginning of a call's name
    "test_ndimage": ("empty", "one element", "NaN"),
    "test_signal.test_convolutions_in_a_plane": ("empty",),
    "test_ndimage.test_images_by_how": ("zeros", "first 0", "last 0", "rounded", "tiny"),
}


class Case:
    """One call with its inputs: which of them are Arrays, their dtypes and points."""

    def __init__(self, rng, call):
        self.call, self.rng = call, rng
        self.inputs = [*call.inputs]
        self.seed = rng.randrange(10**6)
        self.how = ["as they are"] * len(self.inputs)
        for i, x in enumerate(self.inputs):
            if rng.random() < 0.6:
                point = rng.choice([name for name in POINTS if name not in self.unsafe()])
                dtype = rng.choice(DTYPES)
                self.inputs[i], self.how[i] = drawn(x, point, dtype), f"{point}, {dtype}"
        same = [
            (i, j)
            for i in range(len(self.inputs))
            for j in range(i)
            if self.inputs[i].shape == self.inputs[j].shape
        ]
        if same and rng.random() < 0.4:
            i, j = rng.choice(same)
            self.inputs[i], self.how[i] = self.inputs[j].copy(), f"as input {j}"
        able = [
            i for i, x in enumerate(self.inputs) if x.dtype not in (np.longdouble, np.clongdouble)
        ]
        self.arrays = [i for i in able if rng.random() < 0.7] or able[:1]

    def unsafe(self):
        """Points at which SciPy's C code reads beyond its data, and Python ends."""
        found = [points for name, points in UNSAFE.items() if self.call.name.startswith(name)]
        return [point for points in found for point in points]

    def __call__(self, *xs):
        """The results, with these in the place of the inputs that are Arrays."""
        given = [x.copy() for x in self.inputs]
        for i, x in zip(self.arrays, xs, strict=True):
            given[i] = x
        return parts_of(self.call.function(*given))

    def given(self):
        return [self.inputs[i] for i in self.arrays]

    def told(self):
        inputs = "\n".join(
            f"  {i}: {how}{', an Array' * (i in self.arrays)}: {x.dtype}{x.shape} "
            f"{np.array2string(x, threshold=12)}"
            for i, (x, how) in enumerate(zip(self.inputs, self.how, strict=True))
        )
        return f"{self.call.name}\n{inputs}"


def drawn(x, point, dtype):
    """An input at a point and in a dtype; what is not of that kind stays as it is."""
    if x.dtype.kind not in "fc":
        return x
    x = POINTS[point](x)
    if x.dtype.kind == "c":
        return x.astype({"float32": "complex64", "longdouble": "clongdouble"}.get(dtype, x.dtype))
    if np.dtype(dtype).kind in "iu":
        return np.nan_to_num(np.rint(x * 3)).clip(0 if dtype == "uint8" else -99, 99).astype(dtype)
    return x.astype(dtype)


# --- values ---------------------------------------------------------------------------------------
class Refused(Exception):
    """A call that interop refuses, with the reason."""


def is_told(error):
    """Return True if an error is one of arraytape's: it names the line."""
    return "[at " in str(error)


def reason(error):
    return str(error).partition(" here")[0].partition(" [at")[0][:60]


def scipys(case):
    """What SciPy gives of NumPy data, or the error that it raises."""
    try:
        return case(*[x.copy() for x in case.given()])
    except Exception as error:
        return error


def outcome(case, expected):
    """The results of Arrays; they, or the error, are SciPy's."""
    xs = [xp.asarray(x) for x in case.given()]
    try:
        with interop.scipy():
            found = case(*xs)
    except Exception as error:
        if isinstance(expected, Exception):
            raise Refused("SciPy raises") from error
        if is_told(error) or isinstance(error, xp.TapeWarning):
            raise Refused(reason(error)) from error
        raise
    assert not isinstance(expected, Exception), f"SciPy raises {expected!r}, Arrays give {found}"
    assert len(found) == len(expected)
    for y, wanted in zip(found, expected, strict=True):
        same_value(y, np.asarray(wanted), case.call.tolerance)
    for x, given in zip(xs, case.given(), strict=True):
        assert np.array_equal(np.asarray(x), given, equal_nan=given.dtype.kind in "fc"), (
            "written to"
        )
    return found


def same_value(y, wanted, tolerance):
    layout = getattr(y, "shape", np.shape(y)), np.asarray(y).dtype
    assert layout == (wanted.shape, wanted.dtype), (
        f"{layout}, SciPy has {wanted.dtype}{wanted.shape}"
    )
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(np.asarray(y), wanted)
        return
    if tolerance:
        tolerance = max(tolerance, 256 * float(np.finfo(wanted.dtype).eps))
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = np.max(finite, initial=0.0) if tolerance else 0.0
    np.testing.assert_allclose(np.asarray(y), wanted, rtol=tolerance, atol=tolerance * scale)


# --- derivatives ----------------------------------------------------------------------------------
class Loss:
    """A random linear function of the results of a case, and directions for its inputs."""

    def __init__(self, case, expected):
        self.case = case
        rng = np.random.default_rng(case.seed)
        self.weights = [self.weight(rng, np.asarray(y)) for y in expected]
        self.by = [k for k, x in enumerate(case.given()) if x.dtype.kind in "fc"]
        self.along = [self.weight(rng, case.given()[k]) for k in self.by]

    @staticmethod
    def weight(rng, y):
        found = rng.uniform(0.5, 1.5, y.shape) * np.where(rng.random(y.shape) < 0.5, 1.0, -1.0)
        if y.dtype.kind == "c":
            found = found + 1j * rng.uniform(0.5, 1.5, y.shape)
        return found.astype(y.dtype) if y.dtype.kind in "fc" else None

    def __call__(self, *xs):
        lib = xp if any(isinstance(x, xp.Array) for x in xs) else np
        total = 0.0
        for y, w in zip(self.case(*xs), self.weights, strict=True):
            if w is not None:
                product = np.conj(w) * y
                total = total + lib.sum(lib.real(product) if product.dtype.kind == "c" else product)
        return total

    def moved(self, step):
        xs = [x.copy() for x in self.case.given()]
        for k, along in zip(self.by, self.along, strict=True):
            xs[k] = xs[k] + step * along
        return xs

    def gradients(self, xs, places=("outside",)):
        """Gradients with respect to the inputs, asked at each of these places."""
        xs = [xp.asarray(x) for x in xs]
        sources = [xs[k] for k in self.by]
        with interop.scipy(), xp.GradientTape(persistent=True) as tape:
            for x in sources:
                tape.watch(x)
            y = self(*xs)
        if not isinstance(y, xp.Array):
            return [[np.zeros(x.shape) for x in sources] for _ in places]

        def ask():
            found = tape.gradient(y, sources, unconnected_gradients="zero")
            return [np.asarray(g) for g in found]

        return [PLACES[place](ask) for place in places]

    def is_linear_in_direction(self, slope, scale):
        """Return True if slopes in two directions add up to that in their sum, as at no kink."""
        rng = np.random.default_rng(self.case.seed + 1)
        along, parts = self.along, []
        split = [rng.random(t.shape) < 0.5 for t in along]
        try:
            for side in (True, False):
                self.along = [t * (s == side) for t, s in zip(along, split, strict=True)]
                part, _, kind = difference(lambda s: self(*self.moved(s)))
                if kind != "smooth":
                    return False
                parts.append(part)
        finally:
            self.along = along
        return abs(sum(parts) - slope) <= 1e-6 * scale

    def inner(self, gradients):
        pairs = zip(gradients, self.along, strict=True)
        return sum(float(np.real(np.sum(np.conj(t) * g))) for g, t in pairs)

    def second(self):
        """The Hessian's product with the directions, in their direction."""
        xs = [xp.asarray(x) for x in self.case.given()]
        sources = [xs[k] for k in self.by]
        with xp.GradientTape() as outer:
            for x in sources:
                outer.watch(x)
            with interop.scipy(), xp.GradientTape() as tape:
                for x in sources:
                    tape.watch(x)
                y = self(*xs)
            first = tape.gradient(y, sources, unconnected_gradients="zero")
            slope = sum(
                xp.sum(xp.real(p) if p.dtype.kind == "c" else p)
                for p in (np.conj(t) * g for g, t in zip(first, self.along, strict=True))
            )
        found = outer.gradient(slope, sources, unconnected_gradients="zero")
        return self.inner([np.asarray(g) for g in found])


def inside(ask):
    with interop.scipy():
        return ask()


def in_a_thread(ask):
    found = []

    def run():
        try:
            found.append(ask())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


PLACES = {"inside": inside, "outside": lambda ask: ask(), "in a thread": in_a_thread}


def difference(f, h=1e-3):
    """The derivative of f at 0, its size, and what is there: "smooth", "kink", "cusp" or "nothing"."""
    try:
        at = {s: float(f(s * h)) for s in (0, 0.25, -0.25, 0.5, -0.5, 1, -1, 2, -2)}
    except Exception:
        return 0.0, 0.0, "nothing"
    if not np.isfinite([*at.values()]).all():
        return 0.0, 0.0, "nothing"
    one, half = ((8 * (at[s] - at[-s]) - (at[2 * s] - at[-2 * s])) / (12 * s * h) for s in (1, 0.5))
    size = max(abs(y) for y in at.values())
    rounding = 1e-13 * size / h
    bends = [abs(at[s] - 2 * at[0] + at[-s]) / (s * h) for s in (0.25, 0.5, 1)]
    scale = max(abs(one), abs(half), 1e-3 * size, 1e-12)
    if max(abs(at[s] - at[0]) for s in (0.25, -0.25)) > 1e-9 * size + 8 * scale * h:
        return 0.0, 0.0, "cusp"
    if bends[0] > 0.8 * bends[1] + 1e-9 * scale + rounding:
        grows = bends[0] > 1.2 * bends[2] + 1e-6 * scale
        return 0.0, 0.0, "cusp" if grows else "kink"
    if abs(one - half) > 1e-6 * scale + rounding:
        return 0.0, 0.0, "nothing"
    return half, scale, "smooth"


def check_derivatives(case, expected):
    """Compare gradients of a case with differences, and with each other at all places."""
    loss = Loss(case, expected)
    if not loss.by or not any(w is not None for w in loss.weights):
        return "nothing to differentiate"
    every = loss.gradients(case.given(), tuple(PLACES))
    for place, found in zip(PLACES, every, strict=True):
        for g, first, k in zip(found, every[0], loss.by, strict=True):
            x = case.given()[k]
            assert (g.shape, g.dtype) == (x.shape, x.dtype), f"gradient {g.dtype}{g.shape} {place}"
            assert np.array_equal(g, first, equal_nan=True), (
                f"another gradient {place}: {g}, {first}"
            )
    if not all(x.dtype in (np.float64, np.complex128) for x in (case.given()[k] for k in loss.by)):
        return check_single(case, loss, every[0])
    slope, scale, kind = difference(lambda s: loss(*loss.moved(s)))
    if kind == "kink" and "spatial" in case.call.name:
        assert np.isfinite(loss.inner(every[0])), f"NaN at a kink: {every[0]}"
    if kind != "smooth":
        return f"no difference: {kind}"
    off = abs(loss.inner(every[0]) - slope)
    if not off <= 1e-5 * scale and not loss.is_linear_in_direction(slope, scale):
        return "no difference: kink"
    assert off <= 1e-5 * scale, f"gradient {loss.inner(every[0])}, difference {slope}: {every[0]}"
    curve, scale, kind = difference(lambda s: loss.inner(loss.gradients(loss.moved(s))[0]))
    if kind != "smooth":
        return f"right to first order: {kind}"
    second = loss.second()
    assert abs(second - curve) <= 1e-4 * scale, f"second order {second}, difference {curve}"
    return "right to second order"


def check_single(case, loss, found):
    """Gradients in single precision are those in double precision, but for rounding."""
    single = [case.inputs[i] for i in range(len(case.inputs))]
    wide = {"f": np.float64, "c": np.complex128}
    try:
        case.inputs = [x.astype(wide.get(x.dtype.kind, x.dtype)) for x in single]
        expected = scipys(case)
        if isinstance(expected, Exception):
            return "values in single precision"
        double = Loss(case, expected)
        double.weights = [
            w if w is None or v is None or v.shape != w.shape else v.astype(w.dtype)
            for v, w in zip(loss.weights, double.weights, strict=True)
        ]
        _, scale, kind = difference(lambda s: double(*double.moved(s)))
        if kind != "smooth":
            return "values in single precision"
        wanted = double.gradients(case.given())[0]
    finally:
        case.inputs = single
    for g, other in zip(found, wanted, strict=True):
        if g.dtype == np.float16:
            continue
        size = np.max(np.abs(other), initial=0.0)
        if not size < 1e30:  # beyond single precision
            continue
        off = np.max(np.abs(g - other), initial=0.0)
        assert off <= 0.02 * size + 1e-3 * scale, f"gradient {g}, in double precision {other}"
    return "right in single precision"


# --- the attack -----------------------------------------------------------------------------------
def by_test():
    found = {}
    for call in library_calls():
        name = call.name.partition("[")[0].partition("-")[0]
        if name.startswith("distributions"):  # of which each takes as long as ten other calls
            name = "distributions"
        found.setdefault(name, []).append(call)
    return [*found.values()]


def run_case(case):
    """Check one case; gives how it fared."""
    expected = scipys(case)
    try:
        outcome(case, expected)
    except Refused as refusal:
        return f"refused: {refusal}"
    if any(np.isnan(x).any() for x in case.inputs if x.dtype.kind in "fc"):
        return "right, of NaN"
    if any(np.asarray(y).dtype == np.longdouble for y in expected):
        return "right, of longdouble"
    try:
        return check_derivatives(case, expected)
    except (TypeError, ValueError, LookupError, xp.TapeWarning) as error:
        if is_told(error) or isinstance(error, xp.TapeWarning):
            return f"refused: {reason(error)}"
        raise


def run(seed):
    """Check some drawn calls."""
    rng = random.Random(seed)
    groups = by_test()
    for _ in range(CALLS_PER_SEED):
        case = Case(rng, rng.choice(rng.choice(groups)))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", xp.TapeWarning)  # a value left, and it was said
            # SciPy trims zero coefficients then, and says that its results may be meaningless.
            warnings.simplefilter("error", signal.BadCoefficients)
            try:
                COUNTS[run_case(case)] += 1
            except Exception as error:
                raise AssertionError(
                    f"library-rules, seed {seed}: {error!r}\n{case.told()}"
                ) from error
    return CALLS_PER_SEED


ATTACK = Attack(run, "calls of SciPy's functions", COUNTS)
