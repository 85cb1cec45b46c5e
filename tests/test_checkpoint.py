"""Checkpoints: what is saved comes back bit for bit, or nothing changes."""

import json
import os
import signal
import stat
import struct
import subprocess
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


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "replayed"])
def test_a_resumed_run_of_a_replayed_step_has_the_same_bits_by_its_eager_function(tmp_path, eager):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(12, 30)), rng.normal(size=(12, 30))

    def steps():
        w, b = Variable(np.linspace(-1.0, 1.0, 30), name="w"), Variable(0.5, name="b")

        @xp.function
        def step(x, y):
            with GradientTape() as tape:
                loss = xp.mean((xp.sum(w * x) + b - y) ** 2)
            slopes = tape.gradient(loss, [w, b])
            w.assign_sub(0.01 * slopes[0])
            b.assign_sub(0.01 * slopes[1])

        def run(first, last):
            for i in range(first, last):
                (step.eager if eager else step)(xp.asarray(x[i]), xp.asarray(y[i]))

        return {"w": w, "b": b}, run, step

    whole, run, step = steps()
    run(0, 12)
    assert step.counts["replayed"] == (0 if eager else 10)
    part, run, _ = steps()
    run(0, 5)
    checkpoint.save(tmp_path / "a.safetensors", part)
    resumed, run, _ = steps()
    checkpoint.load(tmp_path / "a.safetensors", resumed)
    run(5, 12)
    for name in whole:
        assert same(whole[name], resumed[name]) or not eager
        np.testing.assert_allclose(host(whole[name]), host(resumed[name]), rtol=1e-12)


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
    """Each bit of the numbers, the names and our entry; only its own name says that there is one."""
    content = saved.read_bytes()
    words = (b'"arraytape":', b'"__metadata__":')
    unsaid = {content.index(word) + i for word in words for i in range(1, len(word) - 2)}
    module = holder([0.0, 0.0], 0.0, [0.0j])
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x04
        saved.write_bytes(damaged)
        if place in unsaid:  # the numbers are right, and complex ones do not fit
            unchanged(module, saved, ValueError, "good.safetensors")
        else:
            unchanged(module, saved, ValueError, "damaged")
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        unchanged(module, saved, ValueError, "damaged")


def test_a_file_that_is_nested_without_end_is_refused(tmp_path):
    """The header, or our entry in it: the reader of JSON ran out of its stack."""
    deep = "[" * 200_000 + "]" * 200_000
    name = tmp_path / "a.safetensors"
    header = ('{"a":' + deep + "}").encode()
    name.write_bytes(struct.pack("<Q", len(header)) + header)
    unchanged(holder(1.0), name, ValueError, "damaged")
    name.write_bytes(safetensors.numpy.save({"a": np.ones(2)}, {"arraytape": deep}))
    unchanged(holder(1.0), name, ValueError, "damaged")


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "F9"])
def test_a_dtype_that_no_array_has_is_said(tmp_path, dtype):
    size = 2 if dtype == "BF16" else 1
    header = json.dumps({"a": {"dtype": dtype, "shape": [1], "data_offsets": [0, size]}}).encode()
    name = tmp_path / "a.safetensors"
    name.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    for state in (None, holder(1.0)):
        with pytest.raises(
            ValueError, match=r"load: .*a\.safetensors' is damaged.*at .*test_checkp"
        ):
            checkpoint.load(name, state)


@pytest.mark.parametrize("spaces", [0, 7, 8, 64, 4096])
def test_headers_of_other_programs_may_be_padded(tmp_path, spaces):
    content = safetensors.numpy.save({"a": np.ones(2)}, {"format": "pt"})
    length = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + length] + b" " * spaces
    (tmp_path / "a").write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    assert np.asarray(checkpoint.load(tmp_path / "a")["a"]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"format": "pt"},
        {"arraytype": "float", "version": "2", "sha256": "0" * 64, "kind": "pytorch-checkpoint"},
        {"made from": "arrays-checkpoint", "config": '{"version": 2, "depth": {"a": 1}}'},
        {"tags": "a paragraph of words about arrays on tape " * 20_000},
    ],
)
def test_metadata_of_other_programs_is_not_taken_for_ours(tmp_path, metadata):
    (tmp_path / "a").write_bytes(safetensors.numpy.save({"a": np.ones(2)}, metadata))
    assert np.asarray(checkpoint.load(tmp_path / "a")["a"]).tolist() == [1.0, 1.0]


def test_a_file_of_another_program_may_say_what_it_likes(tmp_path):
    values = {"a": np.ones(2)}
    metadata = {"format": "np", "made_with": "arraytape", "sha256": "0x0", "complex": "{}"}
    (tmp_path / "a").write_bytes(safetensors.numpy.save(values, metadata))
    assert np.asarray(checkpoint.load(tmp_path / "a")["a"]).tolist() == [1.0, 1.0]


def test_what_the_entry_says_of_complex_numbers_is_under_the_checksum(saved):
    values = safetensors.numpy.load(saved.read_bytes())
    mark = "arraytape-checkpoint"
    ours = {"version": 2, "complex": {}, "kind": mark}
    ours["sha256"] = checkpoint.digest(values, [2, {"values.2": "c"}])
    metadata = {"arraytape": json.dumps(ours), mark: mark}
    saved.write_bytes(safetensors.numpy.save(values, metadata))
    with pytest.raises(ValueError, match="checksum is wrong"):
        checkpoint.load(saved)


def old_file(version, values, pairs):
    """Write a file as older versions did: 2 had a second entry, and 96 spaces after its header."""
    ours = {"version": version, "complex": pairs}
    if version == 1:
        ours["sha256"] = checkpoint.digest(values)
        return safetensors.numpy.save(values, {"arraytape": json.dumps(ours)})
    mark = "arraytape-checkpoint"
    ours |= {"sha256": checkpoint.digest(values, [version, pairs]), "kind": mark}
    content = safetensors.numpy.save(values, {"arraytape": json.dumps(ours), mark: mark})
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length] + b" " * 96
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_older_versions_can_be_loaded(tmp_path, version):
    values = {"a": np.asarray([[1.0, 2.0], [3.0, -4.0]]), "b": np.ones(3)}
    name = tmp_path / "old"
    name.write_bytes(old_file(version, values, {"a": "complex128"}))
    read = checkpoint.load(name)
    assert np.asarray(read["a"]).tolist() == [1 + 2j, 3 - 4j]
    assert np.asarray(read["b"]).tolist() == [1.0] * 3
    for pairs in ({"a": "complex64"}, {"b": "complex128", "a": "complex128"}, {"c": "complex128"}):
        name.write_bytes(old_file(version, values, pairs))
        with pytest.raises(ValueError, match="damaged"):
            checkpoint.load(name)


# --- the file ------------------------------------------------------------------------------------
posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and locks of POSIX")


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_replaced_file_keeps_its_mode(saved, mode):
    saved.chmod(mode)
    checkpoint.save(saved, holder([5.0]))
    assert saved.stat().st_mode & 0o7777 == mode


@posix
def test_a_new_file_has_the_mode_that_the_user_asks_for(tmp_path):
    before = os.umask(0o027)
    try:
        checkpoint.save(tmp_path / "a", holder([5.0]))
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@posix
def test_nobody_may_read_a_replacement_earlier_than_what_it_replaces(saved, monkeypatch):
    saved.chmod(0o600)
    modes, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda f: (modes.append(os.fstat(f).st_mode), real(f)))
    checkpoint.save(saved, holder([5.0]))
    assert modes[0] & 0o777 == 0o600
    assert stat.S_ISDIR(modes[-1])  # the folder, too: the name is on the disk


@posix
def test_a_save_through_a_link_updates_what_it_leads_to(saved, tmp_path):
    link, second, dangling = tmp_path / "link", tmp_path / "second", tmp_path / "dangling"
    (tmp_path / "below").mkdir()
    link.symlink_to(saved.name)
    second.symlink_to(link)
    dangling.symlink_to(tmp_path / "below" / "new")
    for name in (link, second, dangling):
        checkpoint.save(name, holder([7.0, 8.0]))
        assert name.is_symlink()
        assert np.asarray(checkpoint.load(name)["values.0"]).tolist() == [7.0, 8.0]
    assert np.asarray(checkpoint.load(saved)["values.0"]).tolist() == [7.0, 8.0]
    assert os.listdir(tmp_path / "below") == ["new"]


@posix
def test_links_in_a_circle_and_devices_are_refused(tmp_path):
    one, two, pipe = tmp_path / "one", tmp_path / "two", tmp_path / "pipe"
    one.symlink_to(two)
    two.symlink_to(one)
    os.mkfifo(pipe)
    for name, says in ((one, "links"), (pipe, "no regular file"), (tmp_path, "directory")):
        with pytest.raises(OSError, match=says):
            checkpoint.save(name, holder([5.0]))
    assert sorted(os.listdir(tmp_path)) == ["one", "pipe", "two"]


KILLED = """
import os, signal, sys
from arraytape import Variable, checkpoint
real = os.fsync
def killed(file):
    os.kill(os.getpid(), signal.SIGKILL)
os.fsync = killed
checkpoint.save(sys.argv[1], {"a": Variable([1.0])})
"""


@posix
@pytest.mark.slow
def test_the_next_save_removes_what_a_killed_process_left(saved):
    content = saved.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, str(saved)], check=False)
    assert done.returncode == -signal.SIGKILL
    left = sorted(set(os.listdir(saved.parent)) - {saved.name})
    assert len(left) == 1
    assert saved.read_bytes() == content
    (saved.parent / f".other{left[0]}").touch()  # a temporary file of another name
    checkpoint.save(saved, holder([5.0]))
    assert sorted(os.listdir(saved.parent)) == [f".other{left[0]}", saved.name]


@posix
def test_the_temporary_file_of_a_running_save_stays(saved):
    """Two savers of one name: the last one wins, neither fails."""
    target = saved.resolve()
    with checkpoint.open_replacement(target) as (temporary, file):
        file.write(saved.read_bytes())
        checkpoint.save(saved, holder([5.0]))
        assert temporary.exists()
    assert sorted(checkpoint.load(saved)) == ["values.0", "values.1", "values.2"]
    assert os.listdir(saved.parent) == [saved.name]


def test_a_temporary_file_that_was_taken_away_before_its_lock_is_made_again(saved, monkeypatch):
    real, taken = checkpoint.lock_file, []

    def late(file):
        if not taken:
            taken.extend(saved.parent.glob(".*.tmp"))
            taken[0].unlink()
        return real(file)

    monkeypatch.setattr(checkpoint, "lock_file", late)
    checkpoint.save(saved, holder([5.0]))
    assert np.asarray(checkpoint.load(saved)["values.0"]).tolist() == [5.0]
    assert os.listdir(saved.parent) == [saved.name]


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
        (lambda: holder([0.0, 0.0], 0.0), r"has 'values.2' besides.*expect_partial=True"),
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
    unchanged(holder(*[0.0] * 20), saved, ValueError, "and 12 more .*; 'values.0' is")


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
        (
            lambda p: checkpoint.save(None, holder(1.0)),
            TypeError,
            "save: the path must be.*None .at",
        ),
        (lambda p: checkpoint.load(3.0), TypeError, r"load: the path must be.*float 3\.0 .at"),
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


# --- layers that have no Variables yet ----------------------------------------------------------------
class Partly(xp.Module):
    """A Variable, a layer without Variables, and a layer that makes Variables on its first call."""

    def __init__(self):
        super().__init__()
        self.scale = xp.Variable(1.0)
        self.layers = [xp.nn.Flatten(), xp.nn.Dense(2, seed=0)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale


def test_a_layer_that_was_not_called_is_named_at_the_save_and_at_the_load(tmp_path):
    path, model = tmp_path / "model.safetensors", Partly()
    with pytest.warns(
        xp.TapeWarning, match=r"call the model before save: 'm.layers.1' made no Var"
    ):
        checkpoint.save(path, {"m": model})
    model(xp.ones((1, 3)))
    with pytest.raises(
        ValueError, match=r"lacks 'm.layers.1.kernel', .*saved before its first call"
    ):
        checkpoint.load(path, {"m": model})
    checkpoint.save(path, {"m": model})  # without a warning
    with pytest.raises(ValueError, match="call the model before load"):
        checkpoint.load(path, {"m": Partly()})


def trained():
    """A layer and its optimizer after one step."""
    net, opt = nn.Dense(2, seed=0), xp.optimizers.Adam(0.1)
    x = xp.ones((1, 3))
    net(x)
    opt.minimize(lambda: xp.sum(net(x) ** 2), net.trainable_variables)
    return net, opt


def test_the_weights_of_a_training_are_loaded_alone(tmp_path):
    path = tmp_path / "training.safetensors"
    net, opt = trained()
    checkpoint.save(path, {"net": net, "opt": opt})
    other = nn.Dense(2, seed=1)
    with pytest.raises(
        ValueError, match=r"call the model before load: 'net' made no Variables yet"
    ):
        checkpoint.load(path, {"net": other}, expect_partial=True)
    other(xp.ones((1, 3)))
    with pytest.raises(ValueError, match=r"besides \(pass expect_partial=True"):
        checkpoint.load(path, {"net": other})
    assert [*checkpoint.load(path, {"net": other}, expect_partial=True)] == [
        "net.kernel", "net.bias",
    ]  # fmt: skip
    assert same(other.kernel, net.kernel)
    assert same(other.bias, net.bias)


def test_a_partial_load_leaves_no_optimizer_and_no_variable_without_its_state(tmp_path):
    path = tmp_path / "training.safetensors"
    net, opt = trained()
    checkpoint.save(path, {"net": net, "opt": opt})
    fresh = xp.optimizers.Adam(0.1)
    with pytest.raises(ValueError, match=r"'opt' made no Variables yet.*optimizers in build"):
        checkpoint.load(path, {"net": net, "opt": fresh}, expect_partial=True)
    with pytest.raises(ValueError, match=r"the file lacks 'scale'"):
        checkpoint.load(path, {"net": net, "scale": Variable(1.0)}, expect_partial=True)
    with pytest.raises(ValueError, match=r"'net.bias' is float64\(2,\)"):
        checkpoint.load(path, {"net": {"bias": Variable([1.0])}}, expect_partial=True)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (3, r"'epoch' must be.*got int 3; xp\.Variable\(3\) holds a value that is saved"),
        (xp.ones(2), r"xp\.Variable\(\[\.\.\.\]\) holds"),
        (np.ones(2), r"xp\.Variable\(\[\.\.\.\]\) holds"),
    ],
)
def test_a_number_in_the_state_leads_to_a_variable(tmp_path, value, says):
    with pytest.raises(TypeError, match=says):
        checkpoint.save(tmp_path / "a", {"net": Variable(1.0), "epoch": value})


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"make the folder '.*missing' first") as caught:
        checkpoint.save(tmp_path / "missing" / "a.safetensors", holder(1.0))
    assert ".tmp" not in str(caught.value)
