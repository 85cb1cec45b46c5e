"""Functions of several arrays, one of which is NumPy's or on another device than the others."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import Array
from arraytape._numpy_api.protocols import OF_LENGTHS

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    pytest.skip(f"CuPy is installed, but there is no GPU: {error}", allow_module_level=True)

from attack.good_calls import CALLS, environment  # noqa: E402  (takes seconds to import)

pytestmark = pytest.mark.filterwarnings("ignore")
DEVICE = "cuda:0"
NAMES = [name for name in CALLS if name.startswith(("xp.", "operator.", "np."))]
# The parts of names of functions whose arguments may be on several devices.
ACCEPTED = {
    "allclose": "compares values", "array_equal": "compares values", "array_equiv": "compares values",
    "atleast_": "returns each argument apart", "broadcast_arrays": "returns each argument apart",
    "meshgrid": "returns each argument apart", "np.ix_": "returns each argument apart",
    "functional.ravel": "moves each leaf back",
    "common_type": "reads dtypes", "result_type": "reads dtypes", "can_cast": "reads dtypes",
    "shares_memory": "reads addresses", "may_share_memory": "reads addresses", "savez": "writes files",
    "xp.asarray": "moves its data to the device of the result",
}  # fmt: skip
# Functions that take tangents and cotangents as NumPy's arrays, and move them to the primals' device.
OF_TANGENTS = (
    "jvp",
    "hvp",
    "vhp",
    "vjp",
    "gauss_newton_product",
    "linearize",
    "ForwardAccumulator",
)
# NumPy dispatches these by their first argument alone, so with NumPy's data they run in NumPy.
BY_FIRST_ARGUMENT = (
    "np.take ", "np.pad ", "np.polyint ", "np.repeat ", "np.fill_diagonal ",
)  # fmt: skip
OTHER_TEXTS = ("cannot write a recorded", "must be an Array")  # of errors about outputs and primals


def places(value, path=()):
    """Yield the paths to all arrays in nested arguments."""
    if isinstance(value, Array | np.ndarray):
        yield path
    elif isinstance(value, list | tuple | dict):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


def replaced(value, path, change):
    """Return nested arguments with the array at ``path`` replaced by ``change(array)``."""
    if not path:
        return change(value)
    if isinstance(value, dict):
        return {**value, path[0]: replaced(value[path[0]], path[1:], change)}
    parts = list(value)
    parts[path[0]] = replaced(parts[path[0]], path[1:], change)
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def on_gpu(x):
    return x.to_device(DEVICE) if isinstance(x, Array) else xp.asarray(x, device=DEVICE)


def arguments_of(name):
    """Return the function of a call, and its arguments and keywords with all arrays on the GPU."""
    function, args, keywords = CALLS[name](environment())
    given = [list(args), dict(keywords)]
    for path in list(places(given)):
        given = replaced(given, path, on_gpu)
    return function, given


@pytest.mark.parametrize("name", NAMES)
def test_one_argument_on_another_device_is_an_error_that_says_what_to_do(name):
    try:
        function, given = arguments_of(name)
    except (LookupError, ValueError, TypeError) as error:
        pytest.skip(f"the arguments cannot be moved: {error}")
    paths = list(places(given))
    if len(paths) < 2 or any(part in name for part in ACCEPTED):
        return
    try:
        function(*given[0], **given[1])
    except Exception as error:
        pytest.skip(f"CuPy does not run the call: {error}")
    for path in paths:
        for change in (np.asarray, lambda x: x):
            function, given = arguments_of(name)
            given = replaced(given, path, lambda x, change=change: change(x.to_device("cpu")))
            part = part_at(given, path)
            fitting = "biu" if function in OF_LENGTHS else "b"
            if change is np.asarray and (not part.ndim or part.dtype.kind in fitting):
                continue  # a number, a mask, or lengths
            moved = change is np.asarray and name.partition(".")[2].partition(" ")[0] in OF_TANGENTS
            if moved or (name.startswith(BY_FIRST_ARGUMENT) and path == (0, 0)):
                continue
            with pytest.raises((TypeError, ValueError)) as found:
                function(*given[0], **given[1])
            text = str(found.value)
            assert "device" in text or any(other in text for other in OTHER_TEXTS), (path, text)


def part_at(value, path):
    for key in path:
        value = value[key]
    return value


LENGTHS = {  # calls with lengths, axes or positions as NumPy's arrays of integers
    "array_split": lambda x, a: np.array_split(x, a([1]), axis=0)[1],
    "broadcast_to": lambda x, a: np.broadcast_to(x, a([4, 2, 3])),
    "delete": lambda x, a: np.delete(x, a([0]), axis=1),
    "expand_dims": lambda x, a: np.expand_dims(x, a([0])),
    "flip": lambda x, a: np.flip(x, a([0])),
    "histogram2d": lambda x, a: np.histogram2d(x[0], x[1], bins=3)[0],
    "hsplit": lambda x, a: np.hsplit(x, a([1]))[1],
    "insert": lambda x, a: np.insert(x, a([0]), 1.0, axis=1),
    "moveaxis": lambda x, a: np.moveaxis(x, a([0]), a([1])),
    "pad": lambda x, a: np.pad(x, a([[1, 1], [0, 1]])),
    "ravel_multi_index": lambda x, a: np.ravel_multi_index(
        xp.astype(x, xp.int64), a([9, 9, 9])[:2]
    ),
    "repeat": lambda x, a: np.repeat(x, a([1, 2]), axis=0),
    "reshape": lambda x, a: np.reshape(x, a([3, 2])),
    "resize": lambda x, a: np.resize(x, a([2, 2])),
    "roll": lambda x, a: np.roll(x, a([1, 1]), axis=(0, 1)),
    "split": lambda x, a: np.split(x, a([1]), axis=0)[1],
    "tile": lambda x, a: np.tile(x, a([2, 1])),
    "transpose": lambda x, a: np.transpose(x, a([1, 0])),
    "unravel_index": lambda x, a: np.unravel_index(xp.astype(x, xp.int64), a([9, 9]))[1],
}


@pytest.mark.parametrize("name", LENGTHS)
def test_numpys_lengths_axes_and_positions_fit_all_devices(name):
    values = np.arange(6.0).reshape(2, 3)
    found, expected = (
        LENGTHS[name](xp.asarray(values, device=device), np.array) for device in (DEVICE, "cpu")
    )
    assert found.device == DEVICE
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
