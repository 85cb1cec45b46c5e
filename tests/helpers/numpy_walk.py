"""Functions that run the calls of ``numpy_calls`` on Arrays and compare the results with NumPy's."""

import inspect
import io

import numpy as np

import arraytape as xp
from helpers.numpy_calls import CALLS, CLOSE, WRITERS
from helpers.same_values import bits, near, quiet
from status import scope as scope_table

FUNCTIONS = {
    name: function for name, function in scope_table.public() if not isinstance(function, np.ufunc)
}
UNDEFINED = {"np.empty_like"}  # functions with undefined values
FILES = (io.BytesIO, io.StringIO)
EVERY = [(name, i) for name, calls in CALLS.items() for i in range(len(calls))]


def parameters(name):
    return inspect.signature(FUNCTIONS[name]).parameters


def on_files(name):
    """Return True if a function writes files, and returns nothing."""
    return name.startswith("np.save")


def nested(value, function):
    """Replace NumPy arrays x in a nesting by ``function(x)``, and members of FILES by new files."""
    if isinstance(value, np.ndarray):
        return function(value)
    if isinstance(value, dict):
        return {key: nested(part, function) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)([nested(part, function) for part in value])
    return value() if value in FILES else value


def arrays_of(call):
    """Return the NumPy arrays of a call, in order."""
    found = []
    nested(call[:2], found.append)
    return found


def run(name, call, arrays):
    """Run a call with ``arrays`` in place of its own; return its result, or the array it writes to."""
    rest = iter(arrays)
    args, keywords = nested(call[:2], lambda _: next(rest))
    found = FUNCTIONS[name](*args, **keywords)
    return args[0] if name in WRITERS else found


def expected(name, call):
    with quiet():
        return run(name, call, [x.copy(order="K") for x in arrays_of(call)])


def check_same(name, call, found, reference):
    """Assert that a result has NumPy's structure, dtypes, shapes and bits, where these are defined."""
    if name == "np.unique_values":  # their order is undefined
        found, reference = np.sort(found), np.sort(reference)
    if name == "np.linalg.eigh" and call.close:  # the signs of eigenvectors depend on the triangle
        found, reference = (tuple([np.abs(part) for part in x]) for x in (found, reference))
    assert_same(found, reference, call.close or CLOSE.get(name, 0.0), name in UNDEFINED)


def assert_same(found, reference, close, undefined):
    if isinstance(reference, list | tuple):
        assert isinstance(found, list | tuple)
        assert len(found) == len(reference)
        for one, other in zip(found, reference, strict=True):
            assert_same(one, other, close, undefined)
    elif isinstance(reference, np.integer) and isinstance(found, int):  # such as a rank
        assert found == reference
    elif isinstance(reference, np.ndarray | np.generic):
        assert type(found) is xp.Array
        x, y = np.asarray(found), np.asarray(reference)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if not undefined:
            assert near(x, y, close) if close else np.array_equal(bits(x), bits(y))
    else:
        assert type(found) is type(reference)
        assert found == reference


def results_of(found):
    """Return the NumPy arrays and scalars in nested results."""
    if isinstance(found, list | tuple):
        return [x for part in found for x in results_of(part)]
    return [found] if isinstance(found, np.ndarray | np.generic) else []
