"""NumPy's names in the namespace: values, gradients and replays of the calls in ``numpy_calls``."""

import ast
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import names
from arraytape.testing import storages
from helpers.numpy_calls import CALLS, WRITERS
from helpers.numpy_walk import arrays_of, check_same, expected, nested, on_files, results_of
from helpers.same_values import quiet

NAMES = names.numpys_names()
# Names of NumPy that PyTorch's namespace of array-api-compat 1.16 and JAX 0.10 also have, and the
# standard has not.
SHARED = [
    "absolute", "allclose", "amax", "amin", "angle", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "argwhere", "atleast_1d", "atleast_2d", "atleast_3d",
    "bitwise_not", "column_stack", "concatenate", "corrcoef", "cov", "cross", "cumprod", "cumsum",
    "deg2rad", "diagflat", "diagonal", "dot", "dsplit", "dstack", "dtype", "exp2", "fliplr",
    "flipud", "float_power", "fmax", "fmin", "fmod", "frexp", "frombuffer", "gcd", "gradient",
    "heaviside", "histogram", "histogramdd", "hsplit", "hstack", "i0", "inner", "isclose",
    "isneginf", "isposinf", "isreal", "kron", "lcm", "ldexp", "load", "nan_to_num", "nanmean",
    "nanmedian", "nanquantile", "nansum", "outer", "promote_types", "put", "quantile", "rad2deg",
    "ravel", "rot90", "save", "select", "set_printoptions", "sinc", "split", "swapaxes", "trace",
    "transpose", "trapezoid", "tril_indices", "triu_indices", "true_divide", "unique",
    "unravel_index", "vander", "vdot", "vsplit", "vstack",
]  # fmt: skip
TABLED = [
    (name, i)
    for name in NAMES
    for i in range(len(CALLS.get(f"np.{name}", ())))
    if not on_files(f"np.{name}")
]
X = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.66]])


@pytest.mark.parametrize("name", SHARED)
def test_names_of_all_three_libraries_are_there(name):
    assert name in NAMES
    assert hasattr(xp, name)


def test_the_names_for_type_checkers_are_these():
    tree = ast.parse(Path(xp.__file__).read_text(encoding="utf-8"))
    targets = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and getattr(node.value, "id", "") == "_numpys"
        for target in node.targets
    }
    assert targets == {*NAMES}


def test_other_names_are_refused():
    for name in ("matrix", "busday_count", "longdouble", "datetime64", "no_such_name", "spacing"):
        with pytest.raises(AttributeError, match=name):
            getattr(xp, name)
    with pytest.raises(AttributeError, match="lstsqs"):
        _ = xp.linalg.lstsqs


@pytest.mark.parametrize("name", NAMES)
def test_functions_are_named_documented_and_pickled(name):
    found = getattr(xp, name)
    assert found is getattr(xp, name)
    if inspect.isfunction(found) and name not in names.OWN and name not in names.UNCHANGED:
        assert (found.__module__, found.__name__) == ("arraytape", name)
        assert found.__doc__.startswith(f"Call ``numpy.{name}`` on Arrays.  The standard")
        assert pickle.loads(pickle.dumps(found)) is found


def run(name, call, arrays):
    rest = iter(arrays)
    args, keywords = nested(call[:2], lambda _: next(rest))
    found = getattr(xp, name)(*args, **keywords)
    return args[0] if f"np.{name}" in WRITERS else found


@pytest.mark.parametrize(("name", "i"), TABLED)
@pytest.mark.every(2)
def test_values_are_numpys(name, i):
    call = CALLS[f"np.{name}"][i]
    reference = expected(f"np.{name}", call)
    with quiet():
        found = run(name, call, [xp.asarray(x, copy=True) for x in arrays_of(call)])
    check_same(f"np.{name}", call, found, reference)


@pytest.mark.parametrize("name", sorted({name for name, _ in TABLED}))
def test_gradients_are_those_of_numpys_function(name):
    """``xp.f(x)`` has the gradient and the second derivative of ``np.f(x)``, also replayed."""
    call = CALLS[f"np.{name}"][0]
    data = [xp.asarray(x, copy=True) for x in arrays_of(call)]
    at = [i for i, x in enumerate(data) if x.dtype == np.float64]
    if not at or f"np.{name}" in WRITERS:
        return

    def loss_of(function):
        def loss(*given):
            arrays = list(data)
            for i, x in zip(at, given, strict=True):
                arrays[i] = x
            rest = iter(arrays)
            args, keywords = nested(call[:2], lambda _: next(rest))
            parts = [y for y in arrays_in(function(*args, **keywords)) if y.dtype.kind in "fc"]
            return testing.total([given[0] * 0.0, *parts])

        return loss

    def slopes(function):
        every = tuple(range(len(at)))
        first = xp.grad(loss_of(function), argnums=every)
        second = xp.grad(lambda *given: testing.total([*first(*given)]), argnums=every)
        return first, second

    given = [data[i] for i in at]
    with quiet():
        for ours, theirs in zip(slopes(getattr(xp, name)), slopes(getattr(np, name)), strict=True):
            wanted = theirs(*given)
            replayed = xp.function(ours)
            for found in (ours(*given), *[replayed(*given) for _ in range(3)]):
                for x, y in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12, atol=1e-13)


def arrays_in(found):
    if isinstance(found, list | tuple):
        return [y for part in found for y in arrays_in(part)]
    return [found] if isinstance(found, xp.Array) else []


@pytest.mark.parametrize("name", NAMES)
def test_calls_without_an_array_return_arrays(name):
    """Plain arguments are computed by NumPy, and its arrays and scalars become Arrays."""
    for call in CALLS.get(f"np.{name}", ()):
        if on_files(f"np.{name}") or f"np.{name}" in WRITERS:
            return
        with quiet():
            found = getattr(xp, name)(*nested(call[0], np.copy), **nested(call[1], np.copy))
        assert not results_of(found)


FUNCTIONS_ON_LISTS = {
    "array": lambda xp, x, y: xp.array([x, y, [1.0, 2.0, 3.0]]),
    "average": lambda xp, x, y: xp.average([x, y], axis=0, weights=[1.0, 3.0]),
    "c_": lambda xp, x, y: xp.c_[x, y, 0.0 * x],
    "corrcoef": lambda xp, x, y: xp.corrcoef([x, y]),
    "r_": lambda xp, x, y: xp.r_[x, 5.0, 1:3, y],
    "vstack": lambda xp, x, y: xp.vstack([[x, x], [y, y]]),
    "kaiser": lambda xp, x, y: xp.kaiser(4, x[0]) * y[1],
    "fromfunction": lambda xp, x, y: xp.fromfunction(lambda i: i * x[0] + y[1], (3,)),
    "median": lambda xp, x, y: xp.nanmedian([x, y], axis=0),
    "sliding windows": lambda xp, x, y: xp.lib.stride_tricks.sliding_window_view(x * y, 2),
    "vectorize": lambda xp, x, y: xp.vectorize(lambda a, b: a * b if a > b else b * b)(x, y),
}


@pytest.mark.parametrize("name", FUNCTIONS_ON_LISTS)
def test_lists_and_grids_of_arrays_are_recorded(name):
    call = FUNCTIONS_ON_LISTS[name]
    x, y = X
    np.testing.assert_array_equal(
        np.asarray(call(xp, xp.asarray(x), xp.asarray(y))), call(np, x, y)
    )
    jacobian = np.asarray(xp.jacobian(lambda x: call(xp, x, xp.asarray(y)))(xp.asarray(x)))
    step = 1e-6
    for k in range(3):
        ahead, behind = (call(np, x + s * step * np.eye(3)[k], y) for s in (1.0, -1.0))
        np.testing.assert_allclose(
            jacobian[..., k], (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-9
        )


def test_grids_make_arrays():
    for name in ("mgrid", "ogrid"):
        found, wanted = getattr(xp, name)[0:2, 0:3], getattr(np, name)[0:2, 0:3]
        for ours, theirs in zip(found, wanted, strict=True):
            assert type(ours) is xp.Array
            np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("kind", ["frozen", "hostile", "strict"])
def test_names_run_on_other_storages(kind):
    device = getattr(storages, kind)().devices()[0]
    x = xp.asarray(X, device=device)
    integers = xp.asarray([4, 6, -9], device=device)
    for found, wanted in (
        (xp.concatenate([x, x]), np.concatenate([X, X])),
        (xp.cumsum(x, axis=1), np.cumsum(X, axis=1)),
        (xp.dot(x, xp.transpose(x)), X @ X.T),
        (xp.frexp(x)[0], np.frexp(X)[0]),
        (xp.gcd(integers, 6), np.gcd([4, 6, -9], 6)),
        (xp.lcm(integers, 6), np.lcm([4, 6, -9], 6)),
        (xp.ravel(x), X.ravel()),
        (xp.stack([x, x]), np.stack([X, X])),
        (xp.trace(x), np.trace(X)),
    ):
        assert found.device == device
        np.testing.assert_allclose(np.asarray(found.to_device("cpu")), wanted, rtol=1e-14)


def test_vectorize_needs_elements():
    with pytest.raises(ValueError, match="pass arguments with elements"):
        xp.vectorize(lambda x: x)(xp.zeros(0))
