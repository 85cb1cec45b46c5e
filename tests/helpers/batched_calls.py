"""Calls under ``vmap`` with each argument batched or shared, compared with a loop over the examples.

The values and the gradients per example are compared, of first and second order and under a second
``vmap``.  Gradients are those with respect to batched and shared arguments.
"""

import re
import warnings
from collections import Counter

import numpy as np

import arraytape as xp
from arraytape._storage.batched.batched_data import NoBatchedForm
from arraytape._util import nest

from .replayed_calls import by_name, is_ours
from .replayed_programs import total

SIZE = 3  # the number of examples
NEAR = 1e-9
SINGLE = 2e-5
LOOSER = (
    "must have the same shape", "positional argument", "keyword argument",
    "cannot be interpreted as an integer", "a gradient goes through the choice",
    "which has to keep its shape", "unhashable type: 'numpy.ndarray'",
)  # fmt: skip


def results_of(found):
    """Return copies of the numeric Arrays and numbers in the result of a call."""
    numeric = (xp.Array, np.ndarray, np.number, np.bool, int, float, complex)
    leaves = [x for x in nest.leaves(found) if isinstance(x, numeric)]
    return [
        xp.asarray(x, copy=True) for x in leaves
        if isinstance(x, xp.Array) or np.asarray(x).dtype.kind in "biufc"
    ]  # fmt: skip


class TableCase:
    """A call from the table of valid calls, as a function of its Arrays.

    If the call is a method of an Array, that Array is the first argument.
    """

    def __init__(self, name, make, environment):
        function, args, keywords = make(environment)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, xp.Array):
            args, function = [owner, *args], by_name(function.__name__)
        self.function, self.given = function, [args, keywords]
        self.leaves = nest.leaves(self.given)
        self.arrays = [x for x in self.leaves if is_ours(x)]

    def run(self, *arrays):
        fresh = iter(arrays)
        found = [next(fresh) if is_ours(x) else x for x in self.leaves]
        args, keywords = nest.pack_nesting(self.given, found)
        return results_of(self.function(*args, **keywords))


class VariantCase:
    """A drawn call, as a function of those operands that are Arrays."""

    def __init__(self, variant):
        self.variant = variant
        numeric = [x.kind in ("ndarray", "NumPy", "Python", "list") for x in variant.operands]
        self.given = [
            xp.asarray(x.data) if other and i % 3 else x.made()
            for i, (x, other) in enumerate(zip(variant.operands, numeric, strict=True))
        ]
        self.places = [i for i, x in enumerate(self.given) if isinstance(x, xp.Array)]
        self.arrays = [self.given[i] for i in self.places]

    def run(self, *arrays):
        values = list(self.given)
        for i, x in zip(self.places, arrays, strict=True):
            values[i] = x
        return results_of(self.variant.call(*values))


def by_loop(f, arrays, axes):
    """Call f on one example after the other and stack each result."""
    rows = [
        f(*[x if axis is None else x[i, ...] for x, axis in zip(arrays, axes, strict=True)])
        for i in range(SIZE)
    ]
    return [np.stack([np.asarray(x) for x in column]) for column in zip(*rows, strict=True)]


def by_vmap(f, arrays, axes):
    return [np.asarray(x) for x in xp.vmap(f, in_axes=tuple(axes))(*arrays)]


def gradients_of(plain, watched):
    """Return a function that computes the gradient of a weighted sum of the results of ``plain``.

    watched : the positions of the arguments with respect to which it is computed.
    """

    def gradient(*arrays):
        with xp.GradientTape() as tape:
            sources = [arrays[i] for i in watched]
            tape.watch(sources)
            y = total(plain(*arrays))
        return tape.gradient(y, sources, unconnected_gradients="zero")

    return gradient


def refusal_in(error):
    """Return the first error in the chain of causes that says "no batched form"; None without one."""
    while error is not None:
        if isinstance(error, NoBatchedForm) or "has no batched form" in str(error):
            return error
        error = error.__cause__
    return None


def is_looser(expected):
    """Return True if vmap may return a result although the loop raises the error ``expected``.

    Examples are results whose shapes differ between examples, and calls whose spelling NumPy refuses.
    """
    return any(part in str(expected) for part in LOOSER)


def reason_of(refused):
    """Return the name of the function without a batched form from the text of an error."""
    found = re.search(r"([\w() .]+?) has no batched form", str(refused))
    return found[1].strip() if found else str(refused)[:60]


def tried(f, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except Exception as error:
            return error


def compare(found, expected, what, near=NEAR):
    """Assert that ``found``, the results under vmap, equal those of the loop up to rounding.

    Return True if they are equal bit for bit.
    """
    assert len(found) == len(expected), f"{what}: {len(found)} results, a loop {len(expected)}"
    exact = True
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        layout = (a.shape, a.dtype) == (b.shape, b.dtype)
        assert layout, f"{what}, result {i}: {a.shape} {a.dtype}, a loop {b.shape} {b.dtype}"
        if a.tobytes() == b.tobytes():
            continue
        exact = False
        close = max(near, SINGLE) if a.dtype in (np.float32, np.complex64) else near
        finite = np.abs(b[np.isfinite(b)])
        scale = max(finite.max(initial=0.0), 1.0) if a.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(a, b, close, close * scale, err_msg=f"{what}, result {i}")
    return exact


def check_against_loop(f, arrays, axes, what, counts):
    """Compare f under vmap with a loop; return True if both returned results."""
    expected = tried(by_loop, f, copies_of(arrays), axes)
    found = tried(by_vmap, f, copies_of(arrays), axes)
    return judge(found, expected, what, counts, any(is_single(x) for x in arrays))


def copies_of(arrays):
    return [xp.asarray(np.array(x)) for x in arrays]


def is_single(x):
    return x.dtype in (np.float32, np.complex64)


def judge(found, expected, what, counts, single=False):
    """Count the outcome of a comparison with the loop; raise AssertionError if vmap is wrong.

    found, expected : the results, or the exceptions that were raised.
    """
    refused = refusal_in(found) if isinstance(found, Exception) else None
    if isinstance(expected, Exception):
        if not isinstance(found, Exception) and not is_looser(expected):
            raise AssertionError(f"{what}: a loop raises {expected!r}, vmap gives {found}")
        counts["raises in a loop"] += 1
    elif refused is not None:
        counts[f"refused: {reason_of(refused)}"] += 1
    elif isinstance(found, Exception):
        raise AssertionError(f"{what}: {type(found).__name__}: {found}") from found
    else:
        exact = compare(found, expected, what, SINGLE if single else NEAR)
        counts["bit for bit" if exact else "but for rounding"] += 1
        return True
    return False


def values_like(x, rng, size):
    """Return a stack of arrays with values near those of x; integers and booleans are repeated."""
    if x.dtype.kind not in "fc":
        return np.stack([x] * size)
    return np.stack([x * (1 + 1e-3 * rng.standard_normal(x.shape)) for _ in range(size)]).astype(
        x.dtype
    )


def check(name, case, seed, counts=None):
    """Compare a call under vmap with a loop; draw which arguments are batched, and count outcomes."""
    counts = Counter() if counts is None else counts
    rng = np.random.default_rng(seed)

    def run(*arrays):
        return case.run(*[xp.asarray(x, copy=True) for x in arrays])

    data = reshaped([np.asarray(x) for x in case.arrays], rng)
    watched = [i for i, x in enumerate(data) if x.dtype.kind in "fc"]
    axes, inner = axes_for(len(data), rng), axes_for(len(data), rng)
    levels = [(run, "values")]
    if watched:
        gradient = gradients_of(run, watched)
        levels.append((gradient, "gradients"))
        if rng.random() < 0.4:
            levels.append((gradients_of(gradient, watched), "second derivatives"))
    if rng.random() < 0.2:  # nest a second vmap inside the first
        data = [
            values_like(np.asarray(x), rng, 2) if at == 0 else x
            for x, at in zip(data, inner, strict=True)
        ]
        levels = [(within(f, inner), f"{what}, within in_axes={inner}") for f, what in levels]
    data = [
        values_like(np.asarray(x), rng, SIZE) if at == 0 else np.asarray(x)
        for x, at in zip(data, axes, strict=True)
    ]
    for f, what in levels:
        if not check_against_loop(f, data, axes, f"{name}, in_axes={axes}, {what}", counts):
            break
    return counts


def reshaped(data, rng):
    """Return the arrays, or at random arrays with fewer dimensions, with one element, or with none."""
    how = rng.random()
    if how < 0.5:
        return data
    if how < 0.6:
        return [x[:0] if x.ndim else x for x in data]
    if how < 0.75:
        return [x[(0,) * x.ndim] if x.size else x for x in data]
    chosen = [how < 0.9 or rng.random() < 0.5 for _ in data]
    return [x[0] if part and x.ndim and len(x) else x for x, part in zip(data, chosen, strict=True)]


def within(f, axes):
    return lambda *arrays: xp.vmap(f, in_axes=tuple(axes))(*arrays)


def axes_for(count, rng):
    """Draw ``in_axes`` of 0 and None for ``count`` arguments; at least one argument is batched."""
    chosen = 1 + int(rng.integers(2**count - 1))
    return [0 if chosen >> i & 1 else None for i in range(count)]
