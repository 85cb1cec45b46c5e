"""Every op of the registry against finite differences, generated from its declaration."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._record.op import REGISTRY
from helpers.namespace_ops import recorded_ops
from helpers.samples import REAL_ONLY

CASES = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in recorded_ops()
    for i, sample in enumerate(op.samples)
]
# Results that depend on a free choice (the phase of singular vectors) have no complex derivative.
WITHOUT_DEFAULT = {"take_along_axis": {"axis": -1}}  # in NumPy 2.2
GAUGE = {"linalg.eig", "linalg.eigh", "linalg.svd"}  # see test_linalg_coinciding_values


def prepared(op, sample):
    """The sample's arguments, the first one made symmetric (or the like) where the op asks for it."""
    first, *rest = testing.materialise(op, sample)
    return [np.asarray(sample.prepare(xp.asarray(first))) if sample.prepare else first, *rest]


def has_empty(arguments):
    return any(isinstance(a, np.ndarray) and a.size == 0 for a in arguments)


def test_every_recorded_op_has_samples():
    assert [op.name for op in recorded_ops() if not op.samples] == []


def test_every_op_is_declared_in_one_of_the_five_words():
    kinds = {"elementwise", "linear", "primitive", "composite", "nondifferentiable"}
    assert {op.kind for op in REGISTRY.values()} <= kinds
    assert all(op.public is not None and op.public.__doc__ for op in REGISTRY.values())


def test_all_67_elementwise_functions_are_there():
    from arraytape.ops import elementwise_functions

    names = [n for n in vars(elementwise_functions) if n in REGISTRY and n in xp.__all__]
    assert len([n for n in names if REGISTRY[n].origin == "standard"]) == 67


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_first_and_second_derivative(op, sample):
    arguments = testing.materialise(op, sample)
    function, floats = testing.as_function(op, sample, arguments)
    smooth = op.name not in ("floor_divide", "nextafter")  # a step differs from its slope
    if smooth and not has_empty(floats):
        testing.check_gradients(function, floats)
    for g, x in zip(testing.gradients(function, floats), floats, strict=True):
        assert g.shape == x.shape
        assert g.dtype == x.dtype


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_complex_derivative(op, sample):
    if op.name in REAL_ONLY | GAUGE:
        assert op.name in REGISTRY
        return
    arguments = testing.materialise(op, sample, np.complex128)
    function, floats = testing.as_function(op, sample, arguments)
    if not has_empty(floats):
        testing.check_gradients(function, floats)
    for g, x in zip(testing.gradients(function, floats), floats, strict=True):
        assert g.dtype == x.dtype


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_float32_gives_float32_gradients_near_the_float64_ones(op, sample):
    arguments = testing.materialise(op, sample)
    function, floats = testing.as_function(op, sample, arguments)
    single = testing.gradients(function, [x.astype(np.float32) for x in floats])
    for g, expected in zip(single, testing.gradients(function, floats), strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_strided_inputs_give_the_same_values_and_gradients(op, sample):
    arguments = testing.materialise(op, sample)
    function, floats = testing.as_function(op, sample, arguments)
    strided = [np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x for x in floats]
    turned = [np.asfortranarray(x) for x in floats]
    expected = testing.gradients(function, floats)
    for variant in (strided, turned):
        for g, e in zip(gradients_in_place(function, variant), expected, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12)


def gradients_in_place(function, inputs):
    arrays = [xp.asarray(x, copy=False) for x in inputs]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        y = function(*arrays)
    return [np.asarray(g) for g in tape.gradient(y, arrays, unconnected_gradients="zero")]


@pytest.mark.filterwarnings("ignore:gradient is None:arraytape.TapeWarning")
@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_following_one_input_gives_its_gradient_alone(op, sample):
    arguments = testing.materialise(op, sample)
    function, floats = testing.as_function(op, sample, arguments)
    expected = testing.gradients(function, floats)
    for i in range(len(floats)):
        arrays = [xp.asarray(x) for x in floats]
        with xp.GradientTape() as tape:
            tape.watch(arrays[i])
            y = function(*arrays)
        found = tape.gradient(y, arrays, unconnected_gradients="none")
        assert [g is None for g in found] == [j != i or g is None for j, g in enumerate(found)]
        if found[i] is not None:
            np.testing.assert_array_equal(np.asarray(found[i]), expected[i])


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_no_result_shares_memory_with_an_input(op, sample):
    arguments = prepared(op, sample)
    arrays = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    if isinstance(arguments[0], list):
        arrays = [[xp.asarray(a) for a in arguments[0]]]
    results = op.public(*arrays, **sample.parameters)
    inputs = arrays[0] if isinstance(arrays[0], list) else arrays
    for y in results if isinstance(results, tuple) else (results,):
        for x in inputs:
            if isinstance(x, xp.Array):
                assert not np.shares_memory(y._data, x._data)


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_values_are_numpys_bit_for_bit(op, sample):
    from arraytape._storage.numpy_storage import NUMPY

    arguments = prepared(op, sample)
    arrays = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    if isinstance(arguments[0], list):
        arrays = [[xp.asarray(a) for a in arguments[0]]]
    parameters = {**WITHOUT_DEFAULT.get(op.name, {}), **sample.parameters}
    expected = NUMPY.function(op.name)(*arguments, **parameters)
    found = op.public(*arrays, **sample.parameters)
    several = isinstance(found, tuple)
    for y, e in zip(
        found if several else (found,), expected if several else (expected,), strict=True
    ):
        assert y.dtype == np.asarray(e).dtype
        np.testing.assert_array_equal(np.asarray(y), e)


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.every(3)
def test_modes_agree_by_inner_products(op, sample, dtype):
    """<w, J v> by forward mode is <J^T w, v> by reverse mode."""
    if dtype is np.complex128 and op.name in REAL_ONLY:
        return  # sampled with real numbers only
    function, floats = testing.as_function(op, sample, testing.materialise(op, sample, dtype))
    for seed in range(2):
        along = testing.directions(floats, seed)
        (pushed,) = testing.slopes(function, floats, along)
        pulled = testing.inner(testing.gradients(function, floats), along)
        np.testing.assert_allclose(float(pushed), pulled, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(2)
def test_the_three_nestings_give_the_same_curvature(op, sample):
    function, floats = testing.as_function(op, sample, testing.materialise(op, sample))
    along = testing.directions(floats)
    expected = testing.curvature(function, floats, along)
    found = testing.forward_curvature(function, floats, along)
    arrays = [xp.asarray(x) for x in floats]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        with xp.ForwardAccumulator(arrays, [xp.asarray(v) for v in along]) as accumulator:
            y = function(*arrays)
        slope = accumulator.jvp(y, unconnected_gradients="zero")
    turned = tape.gradient(slope, arrays, unconnected_gradients="zero")
    for e, f, t in zip(expected, found, turned, strict=True):
        scale = max(1.0, np.max(np.abs(e), initial=0.0))
        np.testing.assert_allclose(f, e, rtol=1e-11, atol=1e-11 * scale)
        np.testing.assert_allclose(np.asarray(t), e, rtol=1e-11, atol=1e-11 * scale)


NUMPYS = [np.float64(1.5), np.float32(1.5), np.int64(2)]
BINARY = [xp.add, xp.subtract, xp.multiply, xp.divide, xp.pow, xp.maximum, xp.atan2, xp.hypot]


@pytest.mark.parametrize("scalar", NUMPYS, ids=repr)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_numpy_scalars_are_operands_to_second_order_in_both_modes(op, scalar):
    for f in (lambda x: xp.sum(op(x * x, scalar) ** 2), lambda x: xp.sum(op(scalar, x * x) ** 2)):
        testing.check_gradients(f, [np.asarray([0.8, 1.1, 1.4])], rtol=1e-6)
