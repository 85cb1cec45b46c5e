"""CuPy's data on a stand-in for CuPy: where it lies, and moves."""

import operator
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from helpers.gpu_programs import near, on_gpu


# --- where data lies ------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
@pytest.mark.parametrize(
    "make",
    [
        lambda d: xp.zeros((2, 3), device=d),
        lambda d: xp.full((2,), 3.0, device=d),
        lambda d: xp.arange(3, device=d),
        lambda d: xp.linspace(0.0, 1.0, 5, device=d),
        lambda d: xp.eye(3, device=d),
        lambda d: xp.fft.fftfreq(4, device=d),
        lambda d: xp.asarray([[1.0, 2.0]], device=d),
        lambda d: xp.asarray(np.ones(3), device=d),
        lambda d: xp.ones_like(xp.zeros(3, device=d)),
        lambda d: xp.triu(xp.ones((3, 3), device=d)),
    ],
)
def test_creation_functions_put_data_on_the_device(fake_cupy, device, make):
    cupy = fake_cupy()
    made = make(device)
    assert made.device == device
    assert type(made._data) is cupy.ndarray


def test_devices_have_several_names(fake_cupy):
    cupy = fake_cupy()
    assert xp.zeros(2, device="cuda").device == "cuda:0"
    assert xp.zeros(2, device=cupy.cuda.Device(1)).device == "cuda:1"


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("device", ["cuda:7", "tpu", "cuda:x"])
def test_an_unknown_device_is_a_value_error(fake_cupy, devices, device):
    fake_cupy(devices)
    with pytest.raises(ValueError, match=f"unknown device '{device}'; known: cpu"):
        xp.zeros(2, device=device)


def test_without_a_gpu_there_is_no_device(fake_cupy):
    fake_cupy(devices=0)
    with pytest.raises(ValueError, match="unknown device 'cuda:0'; known: cpu"):
        xp.zeros(2, device="cuda:0")


def test_without_cupy_the_error_says_what_to_install(fake_cupy, monkeypatch):
    fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match=r"arraytape\[cupy12\].*arraytape\[cupy13\]"):
        xp.zeros(2, device="cuda:0")


def test_cupys_arrays_are_discovered_by_their_type(fake_cupy):
    cupy = fake_cupy()
    with cupy.cuda.Device(1):
        data = cupy.array([1.0, 2.0])
    x = xp.asarray(data)
    assert x.device == "cuda:1"
    assert x._data is not data
    assert xp.asarray(data, copy=False)._data is data
    assert xp.asarray(data, device="cuda:0").device == "cuda:0"
    assert xp.asarray(data, device="cpu").device == "cpu"


def test_text_is_no_data_and_host_memory_is_not_shared(fake_cupy):
    fake_cupy()
    with pytest.raises(TypeError, match="nsupported dtype"):
        xp.asarray(["a"], device="cuda:0")
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(np.ones(2), device="cuda:0", copy=False)


def test_single_elements_of_cupys_data_convert_to_python_scalars(fake_cupy):
    fake_cupy()
    x = on_gpu(3, dtype=np.int64)
    assert (float(x), int(x), bool(x), complex(x)) == (3.0, 3, True, 3 + 0j)
    assert operator.index(x) == 3
    assert list(range(5))[x] == 3
    assert x.item() == 3
    assert f"{xp.asarray(2.5, device='cuda:1'):.2f}" == "2.50"
    assert "cuda:1" in repr(x)


# --- moves ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("devices", [1, 2])
def test_moves_are_recorded_and_gradients_lie_where_their_sources_do(fake_cupy, devices):
    fake_cupy(devices)
    gpu = f"cuda:{devices - 1}"
    x = xp.asarray([0.5, 1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        there = x.to_device(gpu)
        y = xp.sum(xp.exp(there) * there)
        back = y.to_device("cpu")
    assert (there.device, y.device, back.device) == (gpu, gpu, "cpu")
    for target in (y, back):
        gradient, between = tape.gradient(target, [x, there])
        assert (gradient.device, between.device) == ("cpu", gpu)
        near(gradient, np.exp([0.5, 1.0, 2.0]) * (1.0 + np.asarray([0.5, 1.0, 2.0])))
        near(between, gradient)


def test_second_derivatives_go_across_devices(fake_cupy):
    fake_cupy()
    x, v = xp.asarray([0.5, 1.0, 2.0]), np.asarray([1.0, -2.0, 0.5])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum((x.to_device("cuda:1") ** 3).to_device("cuda:0") * on_gpu(2.0, "cuda:0"))
        (gradient,) = inner.gradient(y, [x])
        inner_product = xp.sum(gradient * xp.asarray(v))
    near(gradient, 6.0 * np.asarray(x) ** 2)
    near(outer.gradient(inner_product, x), 12.0 * np.asarray(x) * v)


def test_data_between_gpus_may_be_laid_out_in_any_order(fake_cupy):
    fake_cupy()
    x = on_gpu(np.arange(24.0).reshape(2, 3, 4), "cuda:0")
    y = xp.permute_dims(x, (1, 0, 2))[:, :, ::2].to_device("cuda:1")
    near(y, np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)[:, :, ::2])


def test_targets_may_lie_on_two_devices(fake_cupy):
    fake_cupy()
    x, y = xp.asarray([1.0, 2.0]), on_gpu([3.0, 4.0])
    with GradientTape() as tape:
        tape.watch([x, y])
        targets = [xp.sum(xp.where(x > 1.0, x, 0.0)), xp.sum(y * y)]
    first, second = tape.gradient(targets, [x, y])
    near(first, [0.0, 1.0])
    near(second, [6.0, 8.0])
    assert (first.device, second.device) == ("cpu", "cuda:1")


def test_contributions_add_up_where_they_came_from(fake_cupy):
    fake_cupy()
    x = on_gpu([1.0, 2.0], "cuda:0")
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x.to_device("cuda:1") * x.to_device("cuda:1") + x.to_device("cuda:1"))
    gradient = tape.gradient(y, x)
    near(gradient, [3.0, 5.0])
    assert gradient.device == "cuda:0"


@pytest.mark.parametrize("order", [1, 2])
def test_what_a_selection_did_not_take_counts_for_nothing_across_devices(fake_cupy, order):
    fake_cupy()
    x = xp.asarray([0.0, 1.0, 4.0])
    with GradientTape() as outer:
        if order == 2:
            outer.watch(x)
        with GradientTape() as tape:
            tape.watch(x)
            y = x.to_device("cuda:1")
            z = xp.where(y > 0.0, xp.sqrt(y), 0.0).to_device("cuda:0")
            loss = xp.sum(xp.where(z > 0.0, z * z * z, 0.0))
        gradient = tape.gradient(loss, x)
        square = xp.sum(gradient * gradient)
    near(gradient, [0.0, 1.5, 3.0])
    if order == 2:
        near(outer.gradient(square, x), [0.0, 2.25, 2.25])


@pytest.mark.parametrize(
    ("combine", "name"),
    [(lambda a, b: a + b, "add"), (lambda a, b: xp.concat([a, b]), "concat"),
     (lambda a, b: xp.where(a > 0.0, a, b), "where")],
)  # fmt: skip
def test_mixing_devices_says_what_lies_where(fake_cupy, combine, name):
    fake_cupy()
    with pytest.raises(TypeError, match=rf"{name}: .*(?s:numpy, cpu.*cuda:1|cuda:1.*numpy, cpu)"):
        combine(xp.asarray([1.0]), on_gpu([1.0]))
    with pytest.raises(ValueError, match=rf"{name}.*cuda:0 does not mix with data on cuda:1"):
        combine(on_gpu([1.0], "cuda:0"), on_gpu([1.0], "cuda:1"))


def test_writing_and_in_place_operators_do_not_mix_devices(fake_cupy):
    fake_cupy()
    x, y = on_gpu([1.0, 2.0], "cuda:0"), on_gpu([1.0, 2.0], "cuda:1")
    with pytest.raises(ValueError, match="cuda:0 does not mix with data on cuda:1"):
        x[...] = y
    with pytest.raises(ValueError, match="cuda:0 does not mix with data on cuda:1"):
        x += y
    with pytest.raises(TypeError, match="different devices"):
        x[...] = xp.asarray([1.0, 2.0])


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_assigning_an_array_of_another_device_names_to_device(fake_cupy, device):
    fake_cupy(2)
    v = xp.Variable(xp.ones(2, device="cuda:1"))
    with pytest.raises(ValueError, match=r"; move it with to_device\('cuda:1'\)"):
        v.assign(xp.zeros(2, device=device))
    v.assign(xp.zeros(2, device=device).to_device("cuda:1"))
    near(v, [0.0, 0.0])
