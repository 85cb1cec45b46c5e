"""Results without dimensions: arrays or scalars, as of NumPy's function, on any storage."""

import itertools
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.op import REGISTRY
from arraytape._storage.numpy_storage import NUMPY
from arraytape._storage.storage import EVERYWHERE
from arraytape.testing.samples import materialise

PARAMETERS = {"cast": {"dtype": np.dtype(float)}, "discretized": {"dtype": np.dtype(int)}}
SPECIAL = 0.0, np.inf, -np.inf, np.nan, complex(np.inf, np.nan), 0j
NAMES = [
    op.name for op in REGISTRY.values()
    if op.kind != "composite" and 1 <= len(op.inputs) <= 3 and not op.name.startswith("special.")
]  # fmt: skip


def calls(op):
    """Arguments for an op, some of which make results without dimensions."""
    shrunk = [s._replace(inputs=((),) * len(s.inputs)) for s in op.samples if op.per_element]
    for sample in itertools.chain(op.samples, shrunk):
        yield materialise(op, sample), sample.parameters
    for dtype in (float, int, bool):
        for shape in ((), (2,)):
            arguments = [np.ones(shape, dtype)] * len(op.inputs)
            yield arguments, PARAMETERS.get(op.name, {})
            yield arguments, {"axis": -1}
    for values in itertools.product(SPECIAL, repeat=len(op.inputs)):
        yield [np.asarray(x) for x in values], PARAMETERS.get(op.name, {})


def kinds_of_results(op):
    """Whether NumPy's function gave arrays or scalars without dimensions."""
    found = set()
    for arguments, parameters in calls(op):
        try:
            results = NUMPY.function(op.name)(*arguments, **parameters)
        except (TypeError, ValueError, AttributeError, IndexError, np.linalg.LinAlgError):
            continue  # such arguments are not this function's
        for y in results if isinstance(results, tuple) else (results,):
            if getattr(y, "shape", None) == ():
                found.add("array" if isinstance(y, np.ndarray) else "scalar")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_ops_say_whether_numpy_gives_scalars(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kinds_of_results(REGISTRY[name])
    if found and name not in EVERYWHERE:
        assert found == {"scalar" if REGISTRY[name].scalars else "array"}


@pytest.mark.any_storage
@pytest.mark.parametrize(
    ("f", "shared"),
    [
        (xp.count_nonzero, True),
        (lambda x: xp.where(x[0] > 0.0, x[1], x[0]), True),
        (xp.sum, False),
        (xp.max, False),
    ],
    ids=["count_nonzero", "where", "sum", "max"],
)
def test_a_write_in_place_reaches_a_second_name_where_it_does_in_numpy(f, shared):
    y = f(xp.asarray([1.0, 2.0, 0.0]))
    second, before = y, int(y)
    y += 1
    assert int(y) == before + 1
    assert int(second) == before + shared
