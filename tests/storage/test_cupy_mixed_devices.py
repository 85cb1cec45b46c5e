"""Functions of several arrays, one of which is NumPy's or on another device than the others."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import Array

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    pytest.skip(f"CuPy is installed, but there is no GPU: {error}", allow_module_level=True)

from attack.good_calls import CALLS, environment  # noqa: E402  (takes seconds to import)

pytestmark = [pytest.mark.any_storage, pytest.mark.filterwarnings("ignore")]
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
            if change is np.asarray and (not part.ndim or part.dtype.kind == "b"):
                continue  # a number or a mask
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
