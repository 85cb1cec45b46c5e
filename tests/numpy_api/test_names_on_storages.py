"""NumPy's names in the namespace on data that is not NumPy's: the same values, slopes and replays.

The calls are those of ``numpy_calls``.  Under ``pytest --storage NAME``, they run on that storage, too.
"""

from contextlib import nullcontext

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import names
from arraytape.testing import storages
from helpers.numpy_calls import CALLS, WRITERS
from helpers.numpy_walk import UNDEFINED, arrays_of, nested, on_files
from helpers.same_values import quiet

pytestmark = pytest.mark.any_storage
INEXACT = ("real floating", "complex floating")
NAMES = [
    name
    for name in names.numpys_names()
    if f"np.{name}" in CALLS and not on_files(f"np.{name}") and f"np.{name}" not in UNDEFINED
]
# NumPy's programs mix integers and floats, and sort complex numbers, which array_api_strict refuses.
REFUSED_BY_STRICT = {
    "nanmean", "nanpercentile", "nanquantile", "nanstd", "nanvar", "percentile", "poly", "polyder",
    "polyint", "quantile", "sort_complex", "unwrap",
}  # fmt: skip


@pytest.fixture
def device(kind):
    """The default device: the one that ``--storage`` sets, or the first of another storage."""
    within = nullcontext() if kind == "default" else storages.on(getattr(storages, kind)())
    with within:
        yield xp.__array_namespace_info__().default_device()


def is_refused(name, device):
    return name in REFUSED_BY_STRICT and str(device).startswith("array_api_strict")


def lacks_eigvals(device):
    """Return True on a CuPy before 14."""
    return str(device).startswith("cuda") and not hasattr(
        pytest.importorskip("cupy").linalg, "eigvals"
    )


def results(name, call, arrays):
    """Return the Arrays in the result of a call, or the Array that it writes to."""
    rest = iter(arrays)
    args, keywords = nested(call[:2], lambda _: next(rest))
    found = getattr(xp, name)(*args, **keywords)
    return arrays_in(args[0] if f"np.{name}" in WRITERS else found)


def arrays_in(found):
    if isinstance(found, list | tuple):
        return [y for part in found for y in arrays_in(part)]
    return [found] if isinstance(found, xp.Array) else []


def on_cpu(arrays):
    return [np.asarray(x.to_device("cpu")) for x in arrays]


def slopes(name, call, arrays):
    """Return the first and the second derivatives of a call, each as a function, and their arguments."""
    at = [i for i, x in enumerate(arrays) if x.dtype == xp.float64]

    def loss(*given):
        every = [xp.asarray(x, copy=True) for x in arrays]
        for i, x in zip(at, given, strict=True):
            every[i] = x * 1.0
        smooth = [y for y in results(name, call, every) if xp.isdtype(y.dtype, INEXACT)]
        return testing.total([given[0] * 0.0, *smooth])

    every = tuple(range(len(at)))
    first = xp.grad(loss, argnums=every)
    second = xp.grad(lambda *given: testing.total([*first(*given)]), argnums=every)
    return (first, second, [arrays[i] for i in at])


@pytest.mark.parametrize("kind", ["default", "strict", "hostile"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.every(11)
@pytest.mark.filterwarnings("ignore:.*depends on values on cuda:arraytape.TapeWarning")
def test_values_and_slopes_are_those_on_the_cpu(name, device):
    """Compare values, first and second derivatives and replays with those of NumPy's data."""
    call = CALLS[f"np.{name}"][0]
    if is_refused(name, device):
        return
    here = [xp.asarray(x, device="cpu", copy=True) for x in arrays_of(call)]
    there = [xp.asarray(x, device=device) for x in arrays_of(call)]
    if name == "roots" and lacks_eigvals(device):
        with pytest.raises(NotImplementedError, match=r"CuPy \S+ has no linalg\.eigvals"):
            results(name, call, there)
        return
    with quiet():
        found = results(name, call, [xp.asarray(x, copy=True) for x in there])
        assert all(y.device == device for y in found)
        near(on_cpu(found), on_cpu(results(name, call, [xp.asarray(x, copy=True) for x in here])))
        *functions, given = slopes(name, call, there)
        *references, values = slopes(name, call, here)
        for function, reference in zip(functions, references, strict=True) if given else ():
            wanted, replayed = on_cpu(reference(*values)), xp.function(function)
            for run in (function, replayed, replayed):
                near(on_cpu(run(*given)), wanted)


@pytest.mark.parametrize("name", sorted(REFUSED_BY_STRICT))
@pytest.mark.parametrize("kind", ["strict"])
def test_a_storage_refuses_the_dtypes_that_it_does_not_combine(name, device):
    arrays = [xp.asarray(x, device=device) for x in arrays_of(CALLS[f"np.{name}"][0])]
    with pytest.raises(TypeError, match=r"promoted together|dtypes are allowed"):
        results(name, CALLS[f"np.{name}"][0], arrays)


def near(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
