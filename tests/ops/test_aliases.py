"""What shares memory and how results lie in it is NumPy's: of every function, and of views of views.

Each call of ``helpers.memory_calls`` runs on NumPy's arrays and on Arrays of the same layouts.  Compared
are values, the strides of the axes along which there is a step to take, what shares memory, what can
be written to; then, after writes through the result and through its source, all values and gradients.
"""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._array.views import current
from helpers.memory_calls import CALLS, SHAPES

RNG = np.random.default_rng(0)
# NumPy's results can be written to with a warning where an element is repeated: ours are read-only.
DEPRECATED_WRITES = ("np.broadcast_arrays", "np.meshgrid", "xp.broadcast_arrays")
ASKS_THE_ELEMENTS = ("np.poly(", "np.roots(")  # NumPy's dispatch: of none it does not ask the Array
REAL_WHERE_POSSIBLE = ("np.linalg.eigvals",)  # by the values; here complex in any case
LOOSE = (  # values up to the order in which sums are formed, which is not the subject here
    "convolve", "corrcoef", "cov", "dot", "einsum", "exp2", "float_power", "gradient", "inner",
    "lstsq", "matvec", "norm", "poly", "trapezoid", "vander", "vecmat",
)  # fmt: skip
# Of small precision, or not defined at all layouts: where columns or rows are alike.
NOT_SMOOTH = (
    "float32", "empty_like", "linalg.svd(", "linalg.qr", "corrcoef", "eigvals", "histogram",
    "union1d", "setxor1d",
)  # fmt: skip


def layouts(shape):
    """Data of a shape in memory as it may come: by name."""
    data = np.asarray(RNG.uniform(0.2, 0.9, shape))
    found = {"C": data}
    if len(shape) > 1:
        rest = range(2, len(shape))
        turned = data.transpose((1, 0, *rest)).copy().transpose((1, 0, *rest))
        found |= {"F": np.asfortranarray(data), "first axes swapped": turned}
    if len(shape) == 3:
        found["last axes swapped"] = data.transpose(0, 2, 1).copy().transpose(0, 2, 1)
        found["turned"] = data.transpose(2, 0, 1).copy().transpose(1, 2, 0)
    if shape:
        back = (slice(None, None, -1),) * len(shape)
        gaps = RNG.uniform(0.2, 0.9, tuple(2 * n for n in shape))
        found |= {
            "gaps": gaps[(slice(None, None, 2),) * len(shape)],
            "reversed": data[back].copy()[back],
            "repeated": np.broadcast_to(data[0], shape),
            "one element": RNG.uniform(0.2, 0.9, (1,) * len(shape)),
            "one row": RNG.uniform(0.2, 0.9, (1, *shape[1:])),
            "one column": RNG.uniform(0.2, 0.9, (*shape[:-1], 1)),
            "nothing": np.zeros((0,) * 2 if shape == (3, 3) else (0, *shape[1:])),
        }
        found["nothing to write to"] = np.broadcast_to(found["nothing"], found["nothing"].shape)
    return found


class Operands:
    """The names of a call: plain arrays, or Arrays in the same layouts.

    root : the memory of x, of which the rows may be repeated.
    """

    def __init__(self, data, ours):
        y = np.asarray(data * 0.5 + 0.1)
        index = np.asarray([0, 1] if data.ndim else [0, 0])
        self.root = data if data.flags.writeable else data[:1].copy()
        parts = {
            "x": self.root, "y": y, "z": np.asarray(data + 1j * y), "m": np.asarray(data > 0.5),
            "i": index,
        }  # fmt: skip
        if ours:
            parts = {name: xp.asarray(part, copy=False) for name, part in parts.items()}
        if self.root is not data:
            parts["x"] = (xp if ours else np).broadcast_to(parts["x"], data.shape)
        self.parts = parts
        self.scope = {"np": np, "xp": xp if ours else np, **parts}

    def __call__(self, call):
        return eval(call, self.scope)


def raw(x):
    return current(x)[1] if isinstance(x, xp.Array) else x


def steps(data):
    """The strides of the axes along which there is a step to take."""
    return [stride for stride, n in zip(data.strides, data.shape, strict=True) if n > 1]


def attempt(call, operands):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return operands(call), None
    except Exception as error:
        return None, error


@pytest.mark.filterwarnings("ignore:future versions will not create a writeable array")
@pytest.mark.parametrize(("kind", "call"), CALLS, ids=[call for _, call in CALLS])
@pytest.mark.every(3)
def test_a_result_shares_memory_and_lies_in_it_as_numpys(kind, call):
    for shape in SHAPES[kind]:
        for layout, data in layouts(shape).items():
            if not data.size and call.startswith(ASKS_THE_ELEMENTS):
                continue
            plain, arrays = Operands(data, False), Operands(data, True)
            expected, refused = attempt(call, plain)
            found, failed = attempt(call, arrays)
            assert (refused is None) == (failed is None), (shape, layout, refused, failed)
            if refused is not None:
                continue
            if expected is None and found is None:  # such as x.sort()
                expected, found = plain.parts["x"], arrays.parts["x"]
            if isinstance(
                expected, np.generic | float
            ):  # where NumPy gives elements, ours are Arrays
                expected = np.asarray(expected)
                np.testing.assert_allclose(raw(found), expected, rtol=1e-11, atol=1e-12)
            if not expected.shape:
                continue
            assert type(found) is xp.Array, (shape, layout)
            compare(call, (shape, layout), expected, raw(found))
            for name, part in plain.parts.items():
                shared = np.shares_memory(raw(found), raw(arrays.parts[name]))
                assert np.shares_memory(expected, part) == shared, (shape, layout, name)


def compare(call, where, expected, data):
    assert data.shape == expected.shape, where
    if not call.startswith(REAL_WHERE_POSSIBLE):
        assert data.dtype == expected.dtype, where
    if "empty_like" not in call:
        loose = any(name in call for name in LOOSE)
        np.testing.assert_allclose(data, expected, rtol=1e-11 if loose else 0, atol=1e-12 * loose)
    assert not data.size or steps(data) == steps(expected), where
    repeated = 0 in steps(expected)
    if not (repeated and call.startswith(DEPRECATED_WRITES)):
        assert data.flags.writeable == expected.flags.writeable, where


NO_ARRAYS = {  # what gives no array, or makes one of none, or whose layout is told it
    "np.allclose", "np.array2string", "np.array_equal", "np.array_equiv", "np.array_repr",
    "np.array_str", "np.einsum_path", "np.may_share_memory", "np.save", "np.savetxt", "np.savez",
    "np.savez_compressed", "np.shares_memory", "np.argpartition", "np.nanargmax", "np.nanargmin",
    "np.ravel_multi_index",
    "np.unravel_index", "np.identity", "np.linalg.eig",
}  # fmt: skip


def test_every_function_with_a_counterpart_and_every_method_is_among_the_calls():
    np.sin(xp.asarray(0.5))  # loads NumPy's part
    from arraytape._numpy_api import methods, protocols

    text = " ".join(call for _, call in CALLS)
    homes = {
        "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath,
        "np.lib.stride_tricks": np.lib.stride_tricks,
    }  # fmt: skip
    names = {}
    for home, module in homes.items():
        for name, value in vars(module).items():
            if callable(value) and value.__hash__ and value in protocols.COUNTERPARTS:
                names.setdefault(value, set()).add(f"{home}.{name}")
    missing = [
        same for same in names.values()
        if not same & NO_ARRAYS and not any(f"{name}(" in text for name in same)
    ]  # fmt: skip
    assert missing == []
    silent = {"argpartition", "itemsize", "nbytes", "__divmod__", "__rdivmod__"}
    assert [name for name in methods.METHODS.keys() - silent if f".{name}" not in text] == []


# --- writes ------------------------------------------------------------------------------------------
STEP = 1e-6


def program(call, operands, recorded=None):
    """Writes through the result of a call and through its source, and a sum of all that is left."""
    x, y, z = (operands.parts[name] for name in "xyz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = operands(call)
        if raw(result).flags.writeable:
            result *= 3.0
        for part in (x, z):
            if raw(part).flags.writeable:
                part += 0.25
        if raw(result).flags.writeable:
            result[...] = result * result
        parts = [x, y, z, result]
        return sum(weighted(part, seed) for seed, part in enumerate(parts)), parts


def weighted(part, seed):
    """A real number in which each element, and each of its parts, has a weight of its own."""
    angles = np.cos(seed + np.arange(float(part.size)).reshape(part.shape))
    if part.dtype.kind == "c":
        return np.sum(part.real * angles) + np.sum(part.imag * angles**2)
    return np.sum(part * angles)


def direction(part, seed):
    """Where to move one of the sources."""
    angles = np.sin(1.0 + seed + np.arange(float(part.size)).reshape(part.shape))
    return angles * (1.0 + 0.5j) if part.dtype.kind == "c" else angles


def moved(call, data, by):
    """What NumPy's program gives with its sources moved."""
    operands = Operands(fresh(data), False)
    roots = operands.root, operands.parts["y"], operands.parts["z"]
    for seed, root in enumerate(roots):
        root += by * direction(root, seed)
    return program(call, operands)[0]


def fresh(data):
    """A copy in the same layout, with its gaps, too."""
    if not data.flags.writeable:
        return data
    if data.base is None:
        return data.copy(order="K")
    base = data.base.copy(order="K")
    offset = data.__array_interface__["data"][0] - data.base.__array_interface__["data"][0]
    return np.ndarray(data.shape, data.dtype, base, offset, data.strides)


SHAPES_OF = {call: SHAPES[kind][-1] for kind, call in CALLS}


def is_smooth(call):
    """Whether a call gives numbers that change with its operands, and can be written to at all."""
    if any(name in call for name in NOT_SMOOTH) or call.startswith(DEPRECATED_WRITES):
        return False
    found, failed = attempt(call, Operands(layouts(SHAPES_OF[call])["C"], False))
    return failed is None and isinstance(found, np.ndarray) and found.dtype.kind in "fc"


@pytest.mark.parametrize("call", [call for call in SHAPES_OF if is_smooth(call)])
@pytest.mark.every(3)
def test_writes_through_a_result_and_its_source_are_seen_as_numpys_are(call):
    for layout, data in layouts(SHAPES_OF[call]).items():
        if not data.size or attempt(call, Operands(fresh(data), False))[1]:
            continue
        operands = Operands(fresh(data), False)
        _, expected = program(call, operands)
        arrays = Operands(fresh(data), True)
        sources = [arrays.parts[name] for name in "xyz"]
        with xp.GradientTape() as tape:
            tape.watch(sources)
            total, found = program(call, arrays)
        for part, array in zip(expected, found, strict=True):
            np.testing.assert_allclose(raw(array), part, rtol=1e-11, atol=1e-12, err_msg=layout)
        slope = (moved(call, data, STEP) - moved(call, data, -STEP)) / (2 * STEP)
        found = 0.0
        roots = operands.root, operands.parts["y"], operands.parts["z"]
        for seed, (g, root) in enumerate(zip(tape.gradient(total, sources), roots, strict=True)):
            if g is not None:
                along = direction(root, seed)
                g = raw(g)
                if g.shape != root.shape:  # each of the repeated rows has its own gradient
                    g = np.sum(g, axis=0, keepdims=True)
                found += np.sum(g.real * along.real + g.imag * along.imag)
        np.testing.assert_allclose(found, slope, rtol=2e-6, atol=2e-6, err_msg=layout)
