"""Helpers that tests share, and ``pytest --storage hostile``: what suits any storage, on its data."""

import gc
import os
import random
import re
import sys
import zlib
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from _pytest.runner import runtestprotocol
from numpy.random import bit_generator

import arraytape as xp
import random_programs
from arraytape import testing
from arraytape._array import cuts
from arraytape._define.define_op import REGISTERED
from arraytape._record.op import REGISTRY
from arraytape._record.stack import recorders
from arraytape._storage import cupy
from arraytape._storage.storage import STORAGES
from arraytape._util.versions import NUMPY
from arraytape.replay.compiled import executable
from arraytape.testing import storages

pytest.register_assert_rewrite("helpers")
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # SciPy and scikit-learn read it when imported
LEFT_FILES = pytest.StashKey[Any]()

# Names of the package's own ops begin with these where the first test that uses them loads them.
LIBRARIES = ("special.", "scipy.", "sklearn.")
LACKING = re.compile(r"CuPy [\d.]+ has no linalg\.\w+")  # the storage's error for eig on CuPy 13


class Before(NamedTuple):
    """State before a test: the names of ops, and the default device of another storage."""

    ops: set[str]
    device: Any


BEFORE = pytest.StashKey[Before]()


def pytest_addoption(parser):
    parser.addoption(
        "--storage",
        choices=("numpy", "hostile", "frozen", "array_api_strict", "cupy"),
        default="numpy",
        help="where arrays lie that are made without a device (default: numpy)",
    )
    parser.addoption(
        "--compiled", action="store_true", help="run each replayed program as machine code at once"
    )


def leave_to_nightly_runs(items):
    """Mark as nightly all but each n-th test of a function that is marked ``every(n)``."""
    counts = Counter()
    for item in items:
        every = item.get_closest_marker("every")
        if every is not None:
            function = item.nodeid.partition("[")[0]
            if counts[function] % every.args[0]:
                item.add_marker(pytest.mark.nightly)
            counts[function] += 1


# Before pytest's own, which reads the marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """On another storage than NumPy's, skip what is not marked ``any_storage``.

    Such tests look into NumPy's memory, count its frames or compare its bits.  Slow tests come first, so
    that no worker has one left when the others are done.
    """
    leave_to_nightly_runs(items)
    if NUMPY < (2, 4):
        leave_to_newer_numpy(items)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if config.getoption("--storage") == "numpy":
        return
    for item in items:
        if not item.get_closest_marker("any_storage"):
            module = item.nodeid.partition("::")[0]
            item.add_marker(pytest.mark.skip(reason=f"{module} is about NumPy's data"))


# The beginnings of the ids of tests that need a newer NumPy -> what before NumPy 2.4 differs.
BEFORE_NUMPY_2_4 = {
    "numpy_api/test_protocols.py::test_a_counterpart_has": "functions in C have no signatures",
    "attack/test_optional_arguments.py::test_a_few_calls": "functions in C have no signatures",
    "attack/test_batched_arguments.py::test_calls_beside_a_loop": "functions in C have no signatures",
    "attack/test_bad_inputs.py::test_the_good_calls_are_good": "functions in C have no signatures",
    "numpy_api/test_against_numpy.py::test_values_dtypes_shapes_and_warnings_are_numpys[numpy.quantile]":
        "quantile gives other warnings",
    "dataframes/test_pandas_columns.py::test_a_method_has_pandas_values_and_a_gradient[asarray of":
        "percentile of a table writes to a NumPy array",
    "define/test_lists_as_operands.py::test_writes_change": "x[1, 1] = [2] is deprecated, no error",
    "project/test_readme.py::test_the_code_of_a_page_runs_in_order_and_prints_what_it_says[errors]":
        "the error of float() has other words",
    "project/test_scope_table.py::test_every_function_that_raises": "np.in1d is there",
    "project/test_typing.py::test_right_programs": "types of reductions are wider",
}  # fmt: skip
BEFORE_NUMPY_2_3 = {
    "numpy_api/test_against_numpy.py::test_values_dtypes_shapes_and_warnings_are_numpys[numpy.inner]":
        "products of infinities give other warnings",
    "numpy_api/test_against_numpy.py::test_values_dtypes_shapes_and_warnings_are_numpys[numpy.tensordot]":
        "products of infinities give other warnings",
    "numpy_api/test_lists_of_arrays.py::test_a_list_of_arrays_is_an_array[np.take_along_axis":
        "take_along_axis needs axis",
    "ops/test_facts.py::test_functions_are_linear_in_the_operands_of_a_group[take_along_axis":
        "take_along_axis needs axis",
    "ops/test_facts.py::test_elements_are_chosen_by_their_places[take_along_axis]":
        "take_along_axis needs axis",
    "numpy_api/test_names.py::test_calls_without_an_array_return_arrays[unique]":
        "unique has no parameter sorted",
    "numpy_api/test_overwritten_arguments.py::test_a_write_to_an_argument_comes_too_late[np.unique":
        "unique has no parameter sorted",
    "numpy_api/test_what_numpys_tests_found.py::test_lengths_are_integers_of_any_kind_and_no_booleans":
        "resize negates unsigned lengths",
    "attack/test_bad_inputs.py::test_an_error_from_inside_says_where_and_on_what[a module as a dtype]":
        "a module as dtype is deprecated, no error",
    "replay/test_export.py::test_samples_of_ops[linalg.eig": "eig and eigvals return real results",
    "project/test_name_examples.py::test_an_example_prints_what_it_says[arraytape.linalg.eigvals]":
        "eig and eigvals return real results",
    "replay/test_compiled.py::test_large_programs_need_little_memory_and_have_numpys_bits[summed":
        "sums have other bits, so that NumPy computes them",
}  # fmt: skip
# This file asks for signatures while it is imported.
collect_ignore = ["numpy_api/test_every_call.py"] if NUMPY < (2, 4) else []


def leave_to_newer_numpy(items):
    """Skip the tests that need a newer NumPy than the installed one, with their reason."""
    reasons = BEFORE_NUMPY_2_4 | (BEFORE_NUMPY_2_3 if NUMPY < (2, 3) else {})
    for item in items:
        for begin, reason in reasons.items():
            if item.nodeid.removeprefix("tests/").startswith(begin):
                version = "2.4" if begin in BEFORE_NUMPY_2_4 else "2.3"
                item.add_marker(pytest.mark.skip(reason=f"before NumPy {version}, {reason}"))


def pytest_collection_finish():
    """Collections of garbage need not look at the tests themselves and at what they import.

    With thousands of tests they are most of all objects, and a collection took 0.1 s.  What tests leave
    is found as before.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_protocol(item, nextitem):
    """As pytest's own, but a worker reports a test that passes once, not for each of its three phases.

    Of tens of thousands of small tests the messages took a tenth of the time.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_sessionstart(session):
    """Watch the repository's root and the working directory: a test writes to its ``tmp_path``."""
    from helpers.left_files import LeftFiles

    session.config.stash[LEFT_FILES] = LeftFiles(session.config.rootpath, os.getcwd())
    len(REGISTRY)  # imports all chapters of ops
    executable.ALWAYS = session.config.getoption("--compiled")


# Hooks, since a fixture for each test takes as long as a small test.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Have each run of a test begin alike: random numbers, ops to note, the storage, no recorder."""
    # What a test draws without a seed, such as a layer's weights.
    bit_generator.randbits = random.Random(item.nodeid).getrandbits
    np.random.seed(zlib.crc32(item.nodeid.encode()))  # noqa: NPY002 -- estimators draw from it
    cuts.budget[0] = cuts.FIRST
    name = item.config.getoption("--storage")
    device = None if name == "numpy" else xp.__array_namespace_info__().default_device()
    item.stash[BEFORE] = Before({*REGISTRY.data}, device)
    if name == "cupy":
        xp.set_default_device("cuda:0")
    elif name != "numpy":
        made = {"array_api_strict": storages.strict}.get(name) or getattr(storages, name)
        xp.set_default_device(made().devices()[0])
    assert recorders() == ()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """On CuPy, skip a test of what the installed version lacks, such as the eigenvalues of CuPy 13."""
    try:
        return (yield)
    except NotImplementedError as error:
        lacking = LACKING.search(str(error))
        if lacking and item.config.getoption("--storage") == "cupy":
            pytest.skip(lacking[0])
        raise


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Find what a test and its fixtures leave behind: a recorder, an op, a file of their own."""
    before = item.stash[BEFORE]
    del item.stash[BEFORE]  # else full collections of garbage go through one set for each test
    if before.device is not None:
        xp.set_default_device(before.device)
    for name in REGISTRY.data.keys() - before.ops:
        if not name.startswith(LIBRARIES):
            del REGISTRY[name]
            REGISTERED.pop(name, None)
    assert recorders() == ()
    left = item.config.stash[LEFT_FILES].new()
    assert left == [], "write to tmp_path (in parallel runs: this test or another one)"


@pytest.fixture
def near():
    """Asserts that what was found is there, and is what was expected but for rounding."""

    def near(found, expected, rtol=1e-10, atol=1e-12):
        assert found is not None
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=atol)

    return near


@pytest.fixture
def gradient():
    """The gradients of ``f`` at some values, by a one-shot tape that watches all of them."""

    def gradient(f, *values, **options):
        arrays = [xp.asarray(v) for v in values]
        with xp.GradientTape() as tape:
            tape.watch(arrays)
            y = f(*arrays)
        found = tape.gradient(y, arrays, **options)
        return found[0] if len(values) == 1 else found

    return gradient


@pytest.fixture
def runs_as_on_numpy():
    """``runs_as_on_numpy(program, *inputs)``: NumPy's values, and right derivatives of both orders.

    ``program(xp, *inputs)`` is run on Arrays with the namespace that it is to use: ours, or NumPy.
    """

    def check(program, *inputs, namespace=np, rtol=1e-11, **options):
        expected = several(program(np, *map(np.array, inputs)))
        arrays = [xp.asarray(x) for x in inputs]
        found = several(program(namespace, *arrays))
        assert len(found) == len(expected)
        for y, reference in zip(found, expected, strict=True):
            assert type(y) is xp.Array
            assert (y.shape, y.dtype) == (np.shape(reference), np.asarray(reference).dtype)
            np.testing.assert_allclose(np.asarray(y), reference, rtol=rtol, atol=rtol)
        for x, before in zip(arrays, inputs, strict=True):
            np.testing.assert_array_equal(np.asarray(x), before)
        options = {"seeds": 1, **options}
        testing.check_gradients(
            lambda *xs: testing.total(several(program(namespace, *xs))), inputs, **options
        )

    def several(results):
        return results if isinstance(results, tuple) else (results,)

    return check


@pytest.fixture
def derivative():
    """The derivative of some order of a function of one Array, by nested tapes."""

    def derivative(f, order=1):
        if not order:
            return f

        def slope(x):
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = derivative(f, order - 1)(x)
            return tape.gradient(y, x)

        return slope

    return derivative


@pytest.fixture
def cbrt():
    """An op without a rule."""
    return xp.define_op("cbrt", lambda x: x ** (1 / 3))


@pytest.fixture
def log1pexp():
    """A function with a gradient of its own, that of ``plain_log1pexp``."""

    @xp.custom_gradient
    def log1pexp(x):
        e = xp.exp(x)
        return xp.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    return log1pexp


@pytest.fixture
def plain_log1pexp():
    """``log(1 + exp(x))`` as it is written."""
    return lambda x: xp.log(1 + xp.exp(x))


@pytest.fixture
def left_behind():
    """What of ours only the cyclic garbage collector finds after some work."""

    def left_behind(work):
        work()
        gc.collect()
        gc.disable()
        try:
            work()
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            return [o for o in gc.garbage if type(o).__module__.startswith(("arraytape", "numpy"))]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    return left_behind


@pytest.fixture
def fake_cupy(monkeypatch):
    """Install a CuPy that needs no GPU: ``fake_cupy(devices=2)`` gives the module cupy."""
    from helpers.fake_cupy import Device, FakeCuPy, Kernels

    before = dict(STORAGES)

    def install(devices=2, version="14.0.0"):
        made = FakeCuPy(devices, version)
        for kind in [kind for kind, storage in STORAGES.items() if storage.name == "cupy"]:
            del STORAGES[kind]  # the storage of a CuPy that is installed has devices of these names
        for name, module in made.modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        common = sys.modules["array_api_compat"]
        monkeypatch.setattr(common, "cupy", made.modules["array_api_compat.cupy"], raising=False)
        monkeypatch.setattr(cupy, "CuPyKernels", Kernels)
        cupy.storage.cache_clear()
        return made.modules["cupy"]

    yield install
    STORAGES.clear()
    STORAGES.update(before)
    cupy.storage.cache_clear()
    assert Device.current == 0
    assert not Device.before


@pytest.fixture
def host_memory(request):
    """Skip a test of what the host's memory holds, or of NumPy's warnings, where data is on a GPU."""
    if request.config.getoption("--storage") == "cupy":
        pytest.skip("CuPy's data is in the GPU's memory, and CuPy warns of no infinity")


@pytest.fixture(scope="session")
def programs():
    """The generator of random programs."""
    return random_programs
