"""Arguments that are no Arrays: raw arrays are taken, anything else is an error that names it."""

import contextlib
import inspect
import re
import warnings

import numpy as np
import pytest

import arraytape as xp
from helpers.namespace_ops import namespace_ops

FUNCTIONS = {op.name: op.public for op in namespace_ops() if op.public is not None}
FUNCTIONS |= {
    name: getattr(xp, name)
    for name in ("isdtype", "result_type", "can_cast", "finfo", "iinfo", "broadcast_shapes")
}
FOREIGN = [
    None, "a", b"a", 1.0, 1.5j, [1.0, 2.0], {}, {1}, object(), float, np.float64(1.0),
    np.ones((2, 2)), np.asarray([None]), np.asarray("a"), range(2), ...,
]  # fmt: skip


def calls(x, g):
    """Positional arguments with something foreign in each place."""
    yield from ((g,), (g, g), (x, g), (g, x), (x, x, g), (x, g, x), (g, x, x), ([g, x],), ([x, g],))
    yield from ((x, 0, g), (g, 0), (g, (2, 1)), (g, xp.float64))


def undocumented(function, arguments):
    """The exception that says too little, if the call raises one."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # NumPy's own, of values
            function(*arguments)
    except (TypeError, ValueError) as error:
        return None if str(error) else error
    except (IndexError, OverflowError, BufferError, ZeroDivisionError) as error:
        said = re.search(r"\[at .*test_foreign_arguments\.py:\d+", str(error))
        return None if said else error
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_foreign_argument_is_no_error_from_inside(name):
    x = xp.asarray([1.0, 2.0])
    for g in FOREIGN:
        for arguments in calls(x, g):
            assert undocumented(FUNCTIONS[name], arguments) is None, arguments


TAKES = sorted(
    name
    for name, op in ((op.name, op) for op in namespace_ops())
    if op.kind == "composite"
    and [p.annotation for p in inspect.signature(op.public).parameters.values()][:1] == ["Array"]
)
MATRIX = [[4.0, 1.0], [2.0, 3.0]]
REST = {
    "astype": (xp.float32,), "broadcast_to": ((3, 2, 2),), "full_like": (7.0,), "moveaxis": (0, 1),
    "pad": (1,),
    "linalg.matrix_power": (2,), "permute_dims": ((1, 0),), "repeat": (2,), "reshape": ((4,),),
    "roll": (1,), "scatter_add": ((2, 2), ...), "tile": ((2, 1),), "tensordot": (np.asarray(MATRIX),),
    "linalg.cross": (np.ones(3),), "linalg.outer": (np.ones(3),), "expand_dims": (0,),
    "squeeze": (0,),
}  # fmt: skip
FIRST = {
    "bincount": [1, 0, 1], "diag": [1.0, 2.0], "linalg.cross": [1.0, 2.0, 3.0],
    "linalg.outer": [1.0, 2.0], "squeeze": [MATRIX], "unique_all": [2.0, 1.0, 2.0],
}  # fmt: skip


@pytest.mark.parametrize("name", TAKES)
def test_a_raw_array_is_as_good_as_an_array(name):
    raw = np.asarray(FIRST.get(name, MATRIX))
    before = raw.copy()
    function, rest = FUNCTIONS[name], REST.get(name, ())
    found, expected = function(raw, *rest), function(xp.asarray(raw), *rest)
    several = isinstance(expected, tuple | list)
    for a, b in zip(*((y if several else [y]) for y in (found, expected)), strict=True):
        assert isinstance(a, xp.Array)
        if not name.startswith("empty"):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        with contextlib.suppress(ValueError):  # what is broadcast is read-only
            a[...] = 0
    np.testing.assert_array_equal(raw, before)


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("foreign", [None, "a", 1.0, [1.0], {}])
def test_what_is_no_array_is_named(name, foreign):
    with pytest.raises(TypeError) as caught:
        FUNCTIONS[name](foreign, *REST.get(name, ()))
    kind = type(foreign).__name__
    says = (
        rf"^{re.escape(name)}: .* must be an Array, got {kind}.*\[at .*test_foreign_arguments\.py"
    )
    assert re.search(says, str(caught.value)), str(caught.value)
