"""What is imported when: the package alone imports little, and names bring what they need."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import arraytape as xp

LOADED = "print(*sorted(m for m in sys.modules if m.startswith('arraytape.')))"
# What the bare package imports; its time beside NumPy's is in asv_bench/benchmarks/importing.py.
BARE = """
_array _array.array _numpy_hook _storage _storage.batched _storage.batched.batched_data _storage.storage
_util _util.array_types _util.attach _util.blocks _util.errors _util.foreign_names _util.fork_hooks
_util.locks _version
"""
# What a gradient of ops of the usual chapters does without.
SELDOM = """
_custom _define.define_op _exits.flow _exits.interpreter _exits.lost_parts _exits.messages _numpy_api
_storage.cupy _storage.info _tape.accumulator _tape.forward checkpoint diagnose functional interop
module nn ops.extras ops.fft ops.linalg ops.set_functions optimizers replay special testing variable
"""
GRADIENT = """
x = xp.asarray([1.0, 2.0])
with xp.GradientTape() as tape:
    tape.watch(x)
    y = xp.sum(x * x)
assert tape.gradient(y, x).tolist() == [2.0, 4.0]
"""
OF_PYTHON = ("sysconfig", "dataclasses", "importlib.util", "string", "copy")


def run(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nimport arraytape as xp\n{code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_package_alone_imports_few_modules():
    assert run(LOADED) == [f"arraytape.{name}" for name in sorted(BARE.split())]


def test_the_package_alone_declares_no_op_and_compiles_none():
    code = """
loaded = [name in sys.modules for name in ("arraytape._record.op", "arraytape._define")]
from arraytape._record.op import REGISTRY
print(*loaded, len(REGISTRY.data))
"""
    assert run(code) == ["False", "False", "0"]


def test_the_package_alone_imports_of_python_what_numpy_does():
    code = f"""
import sys, numpy
before = set(sys.modules)
import arraytape
print(*[name for name in {OF_PYTHON} if name in set(sys.modules) - before])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_gradient_imports_nothing_that_it_does_not_need():
    loaded = {name.removeprefix("arraytape.") for name in run(GRADIENT + LOADED)}
    assert {"_tape.tape", "ops.statistical_functions", "ops.operators"} <= loaded
    assert sorted(loaded & {*SELDOM.split()}) == []


def test_names_are_the_ops_that_the_registry_has():
    from arraytape._record.op import REGISTRY

    for name in xp.__all__:
        found = getattr(xp, name)
        if name in REGISTRY and name != "stop_gradient":  # with a function around it, for nestings
            assert found is REGISTRY[name].public
        assert vars(xp)[name] is found


@pytest.mark.slow
def test_each_name_can_be_the_first_that_is_asked_for():
    names = ["Array", "sum", "linalg", "einsum", "grad", "TapeWarning", "cofactors"]
    code = f"""
import importlib
import pkgutil
for name in {names}:
    for module in [m for m in sys.modules if m.partition(".")[0] == "arraytape"]:
        del sys.modules[module]
    first = importlib.import_module("arraytape")
    found = getattr(first, name)
    assert getattr(first, name) is found, name
    assert (first.asarray([1.0, 2.0]) * 2).tolist() == [2.0, 4.0], name
"""
    assert run(code) == []


@pytest.mark.parametrize("first", ["xp.Variable([0.0, 1.0])", "xp.Array", "xp.linalg", "xp.vmap"])
def test_numpys_functions_are_known_whatever_was_asked_for_first(first):
    """The table of NumPy's functions is made of names that may not have been asked for yet."""
    from arraytape._numpy_api import protocols

    code = f"""
import numpy as np
x = {first}
if isinstance(x, xp.Variable):
    assert np.exp(x).tolist() == np.exp([0.0, 1.0]).tolist()
from arraytape._numpy_api import protocols
print(len(protocols.UFUNCS))
"""
    assert run(code) == [str(len(protocols.UFUNCS))]


def test_the_class_of_arrays_has_its_operators_when_it_is_there():
    assert run("print(xp.Array.__add__.__name__, xp.Array.__getitem__ is not None)") == [
        "__add__",
        "True",
    ]


def test_an_op_can_be_looked_up_before_its_chapter_is_imported():
    code = """
from arraytape._record.op import REGISTRY
xp.asarray
assert "arraytape.ops.linalg" not in sys.modules
print("linalg.svd" in REGISTRY, REGISTRY["linalg.svd"].public is xp.linalg.svd, "no_op" in REGISTRY)
"""
    assert run(code) == ["True", "True", "False"]


@pytest.mark.parametrize("name", ["pad", "unique_all"])
def test_no_op_of_ones_own_takes_the_name_of_one_that_is_not_imported_yet(name):
    code = f"""
try:
    xp.define_op({name!r}, lambda x: x, "nondifferentiable")
except KeyError as error:
    print("already declared" in str(error))
"""
    assert run(code) == ["True"]


def test_a_chapter_whose_import_was_interrupted_is_imported_again():
    code = """
from arraytape._define import words
register = words.register
def interrupted(op):
    if op.name == "linalg.svd":
        raise KeyboardInterrupt
    return register(op)
xp.asarray
words.register = interrupted
try:
    xp.linalg
except KeyboardInterrupt:
    print("interrupted")
words.register = register
print(xp.linalg.svd.__name__, xp.linalg.cholesky(xp.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]])
"""
    assert run(code) == ["interrupted", "svd", "True"]


@pytest.mark.parametrize("at", ["add", "permute_dims", "matmul"])
def test_the_first_use_can_be_interrupted(at):
    code = f"""
from arraytape._define import words
register = words.register
def interrupted(op):
    if op.name == {at!r}:
        raise KeyboardInterrupt
    return register(op)
words.register = interrupted
try:
    xp.asarray
except KeyboardInterrupt:
    print("interrupted")
words.register = register
"""
    assert run(code + GRADIENT) == ["interrupted"]


def test_threads_may_ask_for_their_first_names_at_the_same_time():
    code = """
import threading
heavy = ("interop", "testing", "checkpoint", "replay", "function", "special", "optimizers", "diagnose")
names = [name for name in xp.__all__ if name not in heavy]
start, found, errors = threading.Barrier(8), [{} for _ in range(8)], []
def ask(i):
    start.wait()
    try:
        for name in names[i * 20:] + names[:i * 20]:
            found[i][name] = getattr(xp, name)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not errors, errors
assert all(one[name] is found[0][name] for one in found for name in names)
"""
    assert run(code + GRADIENT) == []


def test_the_registry_knows_all_chapters():
    from arraytape._record.op import CHAPTERS, REGISTRY

    files = {path.stem for path in (Path(xp.__file__).parent / "ops").glob("[!_]*.py")}
    others = files - {*CHAPTERS}
    assert {*CHAPTERS} <= files
    assert others == {"leaving", "operators", "writing"}, "declares it ops?  Then it is a chapter"
    before = dict(REGISTRY)
    for name in others:
        importlib.import_module(f"arraytape.ops.{name}")
    assert before == REGISTRY


PUBLIC = sorted(m.name for m in pkgutil.iter_modules(xp.__path__) if not m.name.startswith("_"))


@pytest.mark.parametrize("name", PUBLIC)
def test_each_module_can_be_the_first_after_the_libraries(name):
    """The tables of rules for a library are read when the first module asks for ops."""
    code = (
        "import scipy.interpolate, scipy.optimize, scipy.signal, scipy.stats, sklearn.metrics\n"
        f"import arraytape.{name}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
