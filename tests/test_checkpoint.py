"""Checkpoints: what is saved comes back bit for bit, or nothing changes."""

import json
import os
import struct
import sys

import numpy as np
import pytest
import safetensors.numpy

import arraytape as xp
from arraytape import GradientTape, Variable, checkpoint, nn, optimizers
from arraytape.module import Module
from arraytape.testing import storages


def holder(*values):
    module = Module("holder")
    module.values = [Variable(value, name=f"v{i}") for i, value in enumerate(values)]
    return module


def emptied(module):
    """A module of the same names, shapes and dtypes, of zeros."""
    return holder(*(np.zeros(v.shape, v.dtype) for v in module.values))


def host(variable):
    return np.asarray(variable.value().to_device("cpu"))


def same(a, b):
    a, b = host(a), host(b)
    return (a.shape, a.dtype) == (b.shape, b.dtype) and a.tobytes() == b.tobytes()


# --- there and back -----------------------------------------------------------------------------
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back_bit_for_bit(tmp_path, dtype):
    rng = np.random.default_rng(0)
    value = rng.normal(scale=50.0, size=(3, 4)) + (1j if dtype.startswith("c") else 0.0)
    if dtype.startswith("u"):
        value = np.abs(value)
    value = value.astype(dtype)
    module = holder(value, value[0, 0], value[:0])
    checkpoint.save(tmp_path / "a.safetensors", module)
    other = emptied(module)
    checkpoint.load(tmp_path / "a.safetensors", other)
    assert all(map(same, module.variables, other.variables))


def test_strided_broadcast_and_swapped_memory_comes_back(tmp_path):
    """safetensors/safetensors/issues/825: version 0.8.0 writes the wrong elements of these."""
    base = np.arange(24.0).reshape(4, 6)
    values = [base.T, base[::2, 1::2], base[::-1], np.broadcast_to(base[0], (3, 6)),
              np.asfortranarray(base), base.astype(">f8"), (base + 1j * base).T]  # fmt: skip
    module = holder(*(np.zeros(v.shape, v.dtype.newbyteorder("=")) for v in values))
    for variable, value in zip(module.values, values, strict=True):
        variable._data = value  # as an op might have left it
    checkpoint.save(tmp_path / "a.safetensors", module)
    found = checkpoint.load(tmp_path / "a.safetensors")
    for i, value in enumerate(values):
        np.testing.assert_array_equal(np.asarray(found[f"values.{i}"]), value)


def test_special_values_come_back(tmp_path):
    nan = np.frombuffer(struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF), dtype=np.float64)[0]
    module = holder([nan, np.inf, -np.inf, -0.0, 5e-324], [complex(-0.0, nan), complex(nan, -0.0)])
    checkpoint.save(tmp_path / "a.safetensors", module)
    other = emptied(module)
    checkpoint.load(tmp_path / "a.safetensors", other)
    assert all(map(same, module.variables, other.variables))


def test_a_mapping_names_what_is_saved(tmp_path):
    layer, step = nn.Dense(2, seed=0), Variable(7, trainable=False, name="step")
    layer(xp.ones((1, 3)))
    checkpoint.save(tmp_path / "a.safetensors", {"model": layer, "step": step})
    found = checkpoint.load(tmp_path / "a.safetensors")
    assert {*found} == {"model.kernel", "model.bias", "step"}
    assert all(isinstance(value, xp.Array) for value in found.values())
    assert int(found["step"]) == 7
    step.assign(0)
    assert {*checkpoint.load(tmp_path / "a.safetensors", {"model": layer, "step": step})} == {
        *found
    }
    assert int(step) == 7


def test_a_shared_variable_is_saved_once(tmp_path):
    module = holder(1.0)
    module.alias = module.values[0]
    checkpoint.save(tmp_path / "a.safetensors", {"a": module, "b": module, "c": module.alias})
    assert [*checkpoint.load(tmp_path / "a.safetensors")] == ["c"]  # own ones first


def test_a_variable_keeps_its_device(tmp_path):
    device = storages.hostile().devices()[0]
    module, other = holder(xp.ones(3, device=device)), holder(xp.zeros(3, device=device))
    checkpoint.save(tmp_path / "a.safetensors", module)
    checkpoint.load(tmp_path / "a.safetensors", other)
    assert other.values[0].device == device
    assert same(module.values[0], other.values[0])
    on_cpu = holder(np.zeros(3))
    checkpoint.load(tmp_path / "a.safetensors", on_cpu)
    assert on_cpu.values[0].tolist() == [1.0, 1.0, 1.0]


def test_loading_into_an_open_tape_is_an_assignment(tmp_path):
    module = holder(3.0)
    checkpoint.save(tmp_path / "a.safetensors", module)
    v = module.values[0]
    v.assign(1.0)
    with GradientTape() as tape:
        y = v * v
        checkpoint.save(tmp_path / "b.safetensors", module)
        checkpoint.load(tmp_path / "a.safetensors", module)
        y = y + v * v
    assert float(tape.gradient(y, v)) == 2.0 + 6.0


def test_files_of_other_programs_can_be_loaded(tmp_path):
    values = {"values.0": np.ones((2, 2), dtype=np.float32)}
    safetensors.numpy.save_file(values, tmp_path / "a.safetensors")
    module = holder(np.zeros((2, 2), dtype=np.float32))
    checkpoint.load(tmp_path / "a.safetensors", module)
    assert module.values[0].tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_other_programs_can_read_the_files(tmp_path):
    checkpoint.save(tmp_path / "a.safetensors", holder([1.0, 2.0], [1j]))
    found = safetensors.numpy.load_file(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(found["values.0"], [1.0, 2.0])
    np.testing.assert_array_equal(found["values.1"], [[0.0, 1.0]])


def test_a_file_holds_no_code(tmp_path):
    checkpoint.save(tmp_path / "a.safetensors", holder([1.0, 2.0]))
    content = (tmp_path / "a.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert {*header} == {"__metadata__", "values.0"}
    assert content[8 + length :] == struct.pack("<2d", 1.0, 2.0)


# --- resuming -----------------------------------------------------------------------------------
def training(make):
    model = Module("model")
    model.layers = [nn.Dense(8, "softplus", seed=0), nn.Dense(3, seed=1)]
    rng = np.random.default_rng(5)
    x, labels = xp.asarray(rng.normal(size=(30, 4))), rng.integers(0, 3, 30)
    for layer, width in zip(model.layers, (4, 8), strict=True):
        layer.build(xp.zeros((1, width)))
    optimizer = make()
    optimizer.build(model.trainable_variables)

    def run(first, last):
        for step in range(first, last):
            batch = np.random.default_rng([9, step]).permutation(30)[:10]
            with GradientTape() as tape:
                hidden = model.layers[0](x[batch, :])
                loss = xp.mean(nn.softmax_cross_entropy(labels[batch], model.layers[1](hidden)))
            variables = model.trainable_variables
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))

    return {"model": model, "optimizer": optimizer}, run


@pytest.mark.parametrize(
    "make",
    [
        optimizers.SGD,
        lambda rate: optimizers.SGD(rate, momentum=0.9),
        lambda rate: optimizers.Adam(rate),
    ],
    ids=["SGD", "momentum", "Adam"],
)
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path, make):
    whole, run = training(lambda: make(0.05))
    run(0, 12)
    part, run = training(lambda: make(0.05))
    run(0, 5)
    checkpoint.save(tmp_path / "a.safetensors", part)
    resumed, run = training(lambda: make(1.0))  # the file has the rate
    checkpoint.load(tmp_path / "a.safetensors", resumed)
    run(5, 12)
    for name in whole:
        pairs = zip(whole[name].variables, resumed[name].variables, strict=True)
        assert all(same(a, b) for a, b in pairs)


# --- what goes wrong ----------------------------------------------------------------------------
@pytest.fixture
def saved(tmp_path):
    module = holder([1.0, 2.0], 3.0, [1.0j])
    checkpoint.save(tmp_path / "good.safetensors", module)
    return tmp_path / "good.safetensors"


def unchanged(module, path, error, says):
    before = [host(v).tobytes() for v in module.variables]
    with pytest.raises(error, match=says):
        checkpoint.load(path, module)
    assert [host(v).tobytes() for v in module.variables] == before


def test_every_flipped_byte_and_every_cut_is_noticed(saved):
    content = saved.read_bytes()
    module = holder([0.0, 0.0], 0.0, [0.0j])
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x04
        saved.write_bytes(damaged)
        unchanged(module, saved, ValueError, "good.safetensors")
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        unchanged(module, saved, ValueError, "damaged")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "damaged, cut short or no safetensors file"),
        (b"\x80\x04\x95pickle", "no safetensors file"),
        (b"PK\x03\x04" + bytes(100), "no safetensors file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(1000), "no safetensors file"),
        (b"\xff" * 64, "no safetensors file"),
        (b"\x02\x00\x00\x00\x00\x00\x00\x00[]", "no safetensors file"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path, content, says):
    (tmp_path / "a.safetensors").write_bytes(content)
    unchanged(holder(1.0), tmp_path / "a.safetensors", ValueError, says)


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (lambda: holder([0.0, 0.0], 0.0), r"has 'values.2' besides.*first call.*build"),
        (lambda: holder([0.0, 0.0], 0.0, [0j], 0.0), r"lacks 'values.3'.*Nothing was assigned"),
        (
            lambda: holder([0.0, 0.0, 0.0], 0.0, [0j]),
            r"values.0' is float64\(2,\).*'v0' float64\(3,\)",
        ),
        (lambda: holder([0.0, 0.0], [0.0], [0j]), r"values.1' is float64\(\).*float64\(1,\)"),
        (lambda: holder([0.0, 0.0], 0.0, [0.0]), r"values.2' is complex128\(1,\).*float64\(1,\)"),
        (lambda: holder([0.0, 0.0], 0, [0j]), r"values.1' is float64\(\).*int64\(\)"),
        (lambda: holder(np.zeros(2, np.float32), 0.0, [0j]), "float32"),
        (lambda: nn.Dense(2), r"has 'values.0', 'values.1', 'values.2' besides"),
        (lambda: holder(), r"besides"),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_changes(saved, module, says):
    unchanged(module(), saved, ValueError, says)


def test_a_message_lists_five_names_at_most(saved):
    unchanged(holder(*[0.0] * 20), saved, ValueError, "and 12 more; 'values.0' is")


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda p: checkpoint.save(p, nn.Dense(2)), ValueError, "save: .*no Variables.*first call"),
        (lambda p: checkpoint.save(p, {}), ValueError, "no Variables"),
        (lambda p: checkpoint.save(p, None), TypeError, "save: takes a Module or a dict.*None"),
        (lambda p: checkpoint.save(p, [Variable(1.0)]), TypeError, r"got \[Variable"),
        (lambda p: checkpoint.save(p, Variable(1.0)), TypeError, "takes a Module or a dict"),
        (
            lambda p: checkpoint.save(p, {"x": xp.ones(2)}),
            TypeError,
            "'x' must be a Module or a Var",
        ),
        (lambda p: checkpoint.save(p, {"x": None}), TypeError, "'x' must be"),
        (lambda p: checkpoint.load(p, 3), TypeError, "load: takes a Module"),
        (lambda p: checkpoint.load(p.with_name("none")), FileNotFoundError, "none"),
        (lambda p: checkpoint.load(p.parent), OSError, "irectory|denied"),
        (lambda p: checkpoint.save(p.parent, holder(1.0)), OSError, "irectory|denied"),
        (lambda p: checkpoint.save(p / "below", holder(1.0)), OSError, "irectory|denied|exist"),
    ],
)
def test_bad_arguments_are_said_and_an_older_file_stays(saved, act, error, says):
    content, names = saved.read_bytes(), sorted(os.listdir(saved.parent))
    with pytest.raises(error, match=says):
        act(saved)
    assert saved.read_bytes() == content
    assert sorted(os.listdir(saved.parent)) == names


def test_two_variables_of_one_name_are_an_error(saved):
    pair = {"a": holder(1.0), "a.values.0": Variable(2.0)}
    with pytest.raises(ValueError, match=r"two Variables have the path 'a.values.0'"):
        checkpoint.save(saved, pair)


def test_a_file_that_was_written_wrongly_is_noticed_and_the_older_one_stays(saved, monkeypatch):
    content = saved.read_bytes()
    real = safetensors.numpy.save

    def wrong(values, metadata):
        return real({name: np.zeros_like(value) for name, value in values.items()}, None)

    monkeypatch.setattr(safetensors.numpy, "save", wrong)
    with pytest.raises(OSError, match="does not hold what was written"):
        checkpoint.save(saved, holder([5.0]))
    assert saved.read_bytes() == content
    assert os.listdir(saved.parent) == [saved.name]


def test_an_interruption_leaves_the_older_file_and_no_other(saved, monkeypatch):
    content = saved.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(saved, holder([5.0]))
    assert saved.read_bytes() == content
    assert os.listdir(saved.parent) == [saved.name]


def test_a_newer_version_of_the_format_is_said(saved, tmp_path):
    values = {"values.0": np.ones(1)}
    ours = {"version": 99, "complex": {}, "sha256": checkpoint.digest(values)}
    content = safetensors.numpy.save(values, {"arraytape": json.dumps(ours)})
    (tmp_path / "new").write_bytes(content)
    unchanged(holder([0.0]), tmp_path / "new", ValueError, "version 99; this is arraytape")


def test_without_safetensors_the_error_says_what_to_install(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    for act in (lambda: checkpoint.load(saved), lambda: checkpoint.save(saved, holder(1.0))):
        with pytest.raises(ImportError, match=r"arraytape\[checkpoint\]"):
            act()
