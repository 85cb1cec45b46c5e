"""Backends for tests of array API code, and the plugin of pytest that runs tests on them."""

import importlib.metadata
import re
import subprocess
import sys
import threading

import array_api_compat
import numpy as np
import pytest

import arraytape
from arraytape.testing import storages, xp_backends
from helpers.repository import ROOT

PAGE = ROOT / "docs" / "howto" / "testing_your_library.md"
FILE = re.compile(r"`([\w./]+)`:\n\n```\w+\n(.*?)```", flags=re.S)
ASARRAY = arraytape.asarray
OURS = ["arraytape", "standard", "taped", "hostile", "frozen"]
LIBRARY = """
import numpy as np
from array_api_compat import array_namespace


def scaled(x, /, factor=2.0, *, weights=None):
    xp = array_namespace(x)
    y = factor * xp.exp(x) if weights is None else factor * xp.exp(x) * weights
    return y


def outer(x):
    return scaled(scaled(x))


def centre(x):
    xp = array_namespace(x)
    x -= xp.mean(x)
    return x**2, "and a word"


def lost(x):
    return array_namespace(x).asarray(np.asarray(x) ** 2)


def rank(x):
    return array_namespace(x).argsort(x)


class Model:
    def fit(self, x):
        return x
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs tests as another repository does: ``run("--xp-backends=all", tests)``."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(library=LIBRARY)
    pytester.syspathinsert()

    def run(*options, tests=""):
        header = "import numpy as np\nimport pytest\nimport library\nfrom library import scaled\n\n"
        pytester.makepyfile(test_it=header + tests)
        return pytester.runpytest_inprocess(
            *("-p", "_arraytape_pytest", "-p", "no:cacheprovider", "-W", "error", "-rA"), *options
        )

    return run


# --- backends -------------------------------------------------------------------------------------
def test_a_backend_is_the_namespace_that_tests_of_other_libraries_use():
    with xp_backends.on("numpy") as xp:
        assert xp is array_api_compat.array_namespace(np.ones(2))
    with xp_backends.on("array_api_strict") as xp:
        assert xp.__name__ == "array_api_strict"
    for name in OURS:
        with xp_backends.on(name) as xp:
            assert xp is (arraytape.standard if name == "standard" else arraytape)


def test_data_lies_where_the_backend_says():
    for name in ("hostile", "frozen"):
        with xp_backends.on(name) as xp:
            assert xp.ones(2).device == getattr(storages, name)().devices()[0]
        assert arraytape.ones(2).device == "cpu"


def test_a_tape_watches_what_is_made_and_nothing_after_the_block():
    makers = {name: getattr(arraytape, name) for name in ("asarray", "zeros", "arange")}
    with xp_backends.on("taped") as xp:
        for x in (xp.asarray([1.0]), xp.zeros(2), xp.arange(2.0), xp.ones(1, dtype=xp.complex64)):
            assert (x * x)._value_id > 0
        assert xp.asarray([1])._value_id == 0
    assert makers == {name: getattr(arraytape, name) for name in makers}
    assert (arraytape.asarray([1.0]) * 2.0)._value_id == 0


def test_blocks_that_overlap_in_threads_leave_the_namespace_as_it_was():
    before = arraytape.asarray
    entered, left = threading.Event(), threading.Event()
    found = []

    def other():
        with xp_backends.on("taped") as xp:
            entered.set()
            left.wait(10)
            found.append((xp.asarray([1.0]) * 2.0)._value_id > 0)

    thread = threading.Thread(target=other)
    with xp_backends.on("taped"):
        thread.start()
        entered.wait(10)
    assert (arraytape.asarray([1.0]) * 2.0)._value_id == 0  # replaced, but not watched here
    left.set()
    thread.join()
    assert found == [True]
    assert arraytape.asarray is before


def test_an_error_in_the_block_leaves_everything_as_it_was():
    before = arraytape.asarray
    for name in OURS:
        with pytest.raises(ZeroDivisionError), xp_backends.on(name):
            raise ZeroDivisionError
    assert arraytape.asarray is before
    assert arraytape.ones(1).device == "cpu"


def test_a_tape_that_has_become_wrong_is_said(monkeypatch):
    with pytest.raises(AssertionError, match="wrong gradient"), xp_backends.on("taped"):
        monkeypatch.setattr(arraytape.GradientTape, "gradient", lambda tape, y, x: None)


def test_an_unknown_backend_is_refused():
    with pytest.raises(
        ValueError, match=r"choose one of 'numpy', .* backend 'jax' \[at .*\.py:\d+\]"
    ):
        xp_backends.on("jax")


def test_strict_is_there_where_it_is_installed(monkeypatch):
    assert xp_backends.available() == [*xp_backends.NAMES]
    monkeypatch.setattr(xp_backends, "find_spec", lambda name: None)
    assert "array_api_strict" not in xp_backends.available()
    with pytest.raises(ImportError, match="pip install array-api-strict"):
        xp_backends.on("array_api_strict")


# --- the fixture ----------------------------------------------------------------------------------
ONE = "def test_one(xp):\n    assert float(xp.sum(xp.ones(2))) == 2.0\n"


def names(result):
    """What ran, by outcome, without the module's name."""
    lines = [line for line in result.outlines if re.match(r"(PASSED|FAILED|ERROR|XFAIL) ", line)]
    return [re.sub(r" test_it\.py::| - .*", lambda m: " " * (m[0][-1] == ":"), x) for x in lines]


def test_a_test_runs_on_each_backend(run):
    result = run("--xp-backends=all", tests=ONE)
    assert names(result) == [f"PASSED test_one[{name}]" for name in xp_backends.NAMES]
    result.stdout.fnmatch_lines(
        ["xp: numpy, array_api_strict, arraytape, standard, taped, hostile, frozen"]
    )


def test_the_option_comes_before_the_setting(run, pytester):
    pytester.makeini("[pytest]\nxp_backends = numpy, frozen\n")
    assert names(run(tests=ONE)) == ["PASSED test_one[numpy]", "PASSED test_one[frozen]"]
    chosen = run("--xp-backends=taped,array-api-strict", tests=ONE)
    assert names(chosen) == ["PASSED test_one[array_api_strict]", "PASSED test_one[taped]"]


@pytest.mark.parametrize("text", ['"numpy taped"', '["numpy", "taped"]'])
def test_the_setting_in_toml(run, pytester, text):
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\nxp_backends = {text}\n")
    assert names(run(tests=ONE)) == ["PASSED test_one[numpy]", "PASSED test_one[taped]"]


@pytest.mark.parametrize(
    ("given", "said"),
    [("jax", "there is no backend 'jax'; there are numpy, array_api_strict,"), ("", "no backend")],
)
def test_a_wrong_name_is_a_usage_error(run, given, said):
    result = run(f"--xp-backends={given}", tests=ONE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--xp-backends: {said}*"])


def test_strict_is_skipped_where_it_is_not_installed_and_an_error_where_it_is_named(
    run, monkeypatch
):
    monkeypatch.setattr(xp_backends, "find_spec", lambda name: None)
    result = run("--xp-backends=all", tests=ONE)
    result.assert_outcomes(passed=6, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*pip install array-api-strict"])
    result = run("--xp-backends=array_api_strict", tests=ONE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pip install array-api-strict*"])


def test_marks_say_where_a_test_runs(run):
    tests = """
@pytest.mark.skip_xp_backends("numpy", "taped", reason="a reason")
def test_skipped(xp): pass

@pytest.mark.skip_xp_backends(np_only=True, exceptions=["frozen"])
def test_np_only(xp): pass

@pytest.mark.skip_xp_backends(cpu_only=True)
def test_cpu_only(xp): pass

@pytest.mark.xfail_xp_backends("hostile", reason="a reason", strict=True)
def test_fails(xp, xp_backend): assert xp_backend != "hostile"

@pytest.mark.xfail_xp_backends("hostile", strict=True)
def test_passes(xp): pass
"""
    found = names(run("--xp-backends=numpy,taped,hostile,frozen", tests=tests))
    assert found == [
        *[f"PASSED test_skipped[{name}]" for name in ("hostile", "frozen")],
        *[f"PASSED test_np_only[{name}]" for name in ("numpy", "frozen")],
        *[f"PASSED test_cpu_only[{name}]" for name in ("numpy", "taped")],
        *[f"PASSED test_fails[{name}]" for name in ("numpy", "taped", "frozen")],
        *[f"PASSED test_passes[{name}]" for name in ("numpy", "taped", "frozen")],
        "XFAIL test_fails[hostile]",
        "FAILED test_passes[hostile]",
    ]


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('skip_xp_backends("nunpy")', "no backend 'nunpy'"),
        ("skip_xp_backends()", "names no backend, nor np_only or cpu_only=True"),
        ("skip_xp_backends(gpu_only=True)", "takes no 'gpu_only'"),
        ('skip_xp_backends("numpy", strict=True)', "takes no 'strict'"),
        ('xfail_xp_backends(np_only=True, exceptions=["x"])', "no backend 'x'"),
    ],
)
def test_a_mark_that_cannot_be_understood_fails(run, mark, said):
    result = run("--xp-backends=taped", tests=f"@pytest.mark.{mark}\n{ONE}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{said}*"])


def test_a_fixture_of_ones_own_comes_first(run, pytester):
    pytester.makeconftest(
        "import pytest\n@pytest.fixture(params=[1, 2])\ndef xp(request): return request.param\n"
    )
    result = run("--xp-backends=all", tests="def test_one(xp): assert xp in (1, 2)")
    assert names(result) == ["PASSED test_one[1]", "PASSED test_one[2]"]


def test_a_parameter_of_that_name_comes_first(run):
    tests = '@pytest.mark.parametrize("xp", [np])\ndef test_one(xp): assert xp is np'
    assert names(run("--xp-backends=all", tests=tests)) == ["PASSED test_one[numpy]"]


def test_without_the_option_there_is_no_fixture_and_the_marks_are_known(run):
    tests = "@pytest.mark.check_gradients(of=scaled)\ndef test_one(): pass\n" + ONE.replace(
        "one", "two"
    )
    result = run("--strict-markers", tests=tests)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*fixture 'xp' not found*"])


def test_without_the_option_neither_arraytape_nor_numpy_is_imported(pytester):
    pytester.makepyfile(
        "import sys\n"
        "def test_one():\n"
        "    assert not {'arraytape', 'numpy'} & {*sys.modules}\n"
        "    assert '_arraytape_pytest' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "_arraytape_pytest"],
        capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


# --- check_gradients ------------------------------------------------------------------------------
def test_gradients_of_the_calls_of_a_test_are_checked(run):
    tests = """
import library as other

@pytest.mark.check_gradients(of=scaled)
def test_by_its_own_name(xp): scaled(xp.asarray([1.0, 2.0]))

@pytest.mark.check_gradients(of="library.scaled", order=1, modes=["rev"], rtol=1e-6, seeds=1, h=1e-2)
def test_by_another_modules_name(xp):
    other.scaled(xp.asarray([[1.0], [2.0]]), 3, weights=xp.asarray(2.0))

@pytest.mark.check_gradients(of=[library.scaled, library.outer])
def test_several_and_within_another(xp):
    library.outer(xp.asarray(0.5, dtype=xp.float32))
    scaled(xp.asarray(1.0 + 2.0j))

@pytest.mark.check_gradients(of=library.centre)
def test_what_writes_to_its_argument_and_gives_more_than_arrays(xp):
    x = xp.asarray([1.0, 2.0, 5.0])
    library.centre(x)
    x[0] = 7.0

@pytest.mark.check_gradients(of=scaled)
def test_a_call_that_raises_does_not_count(xp):
    with pytest.raises(TypeError):
        scaled()
    scaled(xp.asarray([]))
    scaled(xp.asarray(2.0))

def test_the_names_are_back(): assert library.scaled is scaled and not hasattr(scaled, "__wrapped__")
"""
    result = run("--xp-backends=numpy,arraytape,taped,frozen", tests=tests)
    result.assert_outcomes(passed=21)


@pytest.mark.parametrize("backend", OURS)
def test_a_wrong_gradient_fails_with_the_line_of_the_call(run, backend):
    tests = """
@pytest.mark.check_gradients(of=library.lost)
def test_one(xp):
    library.lost(xp.asarray([1.0, 2.0]))
"""
    result = run(f"--xp-backends=numpy,{backend}", tests=tests)
    result.assert_outcomes(passed=1, failed=1)
    said = result.stdout.str()
    assert re.search(
        r"\nlost, as called at \S*test_it.py:9: first order, rev: gradient of f ", said
    )
    assert re.search(r"argument 'x' element \(0,\).*left the tape at \S*library\.py:\d+", said)
    assert "arraytape/testing" not in said  # no traceback through what is not theirs


def test_the_name_of_a_keyword_is_said(run):
    tests = """
library.wrong = lambda x, /, *, weights: x * weights
def wrong(x, /, *, weights):
    import arraytape
    return x * arraytape.stop_gradient(weights)
wrong.__module__ = "library"
library.wrong = wrong

@pytest.mark.check_gradients(of="library.wrong")
def test_one(xp):
    library.wrong(xp.asarray([1.0]), weights=xp.asarray([2.0]))
"""
    run("--xp-backends=arraytape", tests=tests).stdout.fnmatch_lines(
        ["*argument 'weights' element*"]
    )


def test_what_a_test_returns_is_checked_and_called_on_other_backends(run):
    tests = """
CALLED = []

@pytest.mark.check_gradients
def test_one(xp):
    return scaled, xp.asarray([1.0, 2.0])

@pytest.mark.check_gradients
def test_pairs(xp):
    def f(x, n):
        CALLED.append(xp.__name__)
        return xp.sum(x[n])
    return [(scaled, [xp.asarray(1.0)]), (f, [xp.asarray([1.0, 2.0]), 1])]

@pytest.mark.check_gradients(order=1)
def test_wrong(xp):
    return library.lost, [xp.asarray([1.0, 2.0])]

def test_called():
    assert CALLED.count("array_api_compat.numpy") == 1 and CALLED.count("arraytape") > 10
"""
    found = names(run("--xp-backends=numpy,taped", tests=tests))
    assert found[-1] == "FAILED test_wrong[taped]"
    assert len(found) == 7
    assert all(line.startswith("PASSED") for line in found[:-1])


@pytest.mark.parametrize(
    ("mark", "body", "said"),
    [
        ("check_gradients", "pass", "names no function, and the test returns none"),
        ("check_gradients(of=scaled)", "pass", "call scaled in the test, which called it 0 times"),
        (
            "check_gradients(of=library.rank)",
            "library.rank(xp.ones(2))",
            "called rank 1 times; a call had Array of float64, and returned Array of int64",
        ),
        (
            "check_gradients(of=scaled)",
            "scaled(xp.asarray([1]))",
            "1 times; a call had Array of int64, and returned Array of float64",
        ),
        (
            "check_gradients(of=scaled)",
            "pytest.raises(TypeError, scaled)",
            "1 times; each of them raised an exception",
        ),
        (
            "check_gradients(of=scaled)",
            "scaled(np.asarray([1.0])); scaled(np.asarray([2.0]))",
            "2 times; a call had ndarray of float64, and returned ndarray of float64",
        ),
        ('check_gradients("library.scaled")', "pass", "takes functions by of="),
        ("check_gradients(of=scaled, sedes=1)", "pass", "takes no 'sedes'"),
        ('check_gradients(of="library.scald")', "pass", "no function 'library.scald'"),
        ('check_gradients(of="scaled")', "pass", "no function 'scaled'"),
        ("check_gradients(of=library.Model.fit)", "pass", "of a module that a test could call"),
        ("check_gradients(of=[1])", "pass", "takes functions, or their names"),
        ("check_gradients", "return 1", "a test returns (f, inputs)"),
        ("check_gradients", "return (scaled,)", "a test returns (f, inputs)"),
    ],
)
def test_a_check_of_nothing_fails(run, mark, body, said):
    result = run("--xp-backends=arraytape", tests=f"@pytest.mark.{mark}\ndef test_one(xp): {body}")
    result.assert_outcomes(failed=1)
    assert said in result.stdout.str()
    assert arraytape.asarray is ASARRAY


def test_the_first_calls_are_checked(run):
    tests = """
SEEN = []
def counted(x):
    SEEN.append(1)
    return x * 2.0

@pytest.mark.check_gradients(of=counted, order=1, seeds=1, modes=["rev"], calls={})
def test_one(xp):
    for n in range(30):
        counted(xp.asarray(1.0))

def test_two(): print("SEEN", len(SEEN) - 30)
"""

    def seen(calls):
        said = run("--xp-backends=arraytape", "-s", tests=tests.replace("{}", calls)).stdout.str()
        return int(re.search(r"SEEN (\d+)", said)[1])

    once = seen("1")
    assert [seen("2"), seen("7")] == [2 * once, 7 * once]


def test_a_tape_of_the_tests_own_is_not_disturbed(run):
    tests = """
import arraytape

@pytest.mark.check_gradients(of=scaled)
def test_one(xp):
    x = xp.asarray([1.0, 2.0])
    with arraytape.GradientTape(exits="raise") as tape:
        tape.watch(x)
        y = scaled(x[:1])
    assert tape.gradient(y, x)[1] == 0.0
"""
    run("--xp-backends=arraytape,taped,hostile", tests=tests).assert_outcomes(passed=3)


def test_the_mark_works_with_a_fixture_of_ones_own(run, pytester):
    pytester.makeconftest("""
import pytest
from arraytape.testing import xp_backends
@pytest.fixture(params=["numpy", "hostile"])
def xp(request):
    with xp_backends.on(request.param) as namespace:
        yield namespace
""")
    tests = """
@pytest.mark.check_gradients(of=library.lost)
def test_one(xp): library.lost(xp.asarray([1.0]))
"""
    found = names(run("--xp-backends=all", tests=tests))
    assert found == ["PASSED test_one[numpy]", "FAILED test_one[hostile]"]


# --- the page -------------------------------------------------------------------------------------
def test_the_repository_of_the_page_passes_as_the_page_says(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    text = PAGE.read_text(encoding="utf-8")
    files = dict(FILE.findall(text))
    assert [*files] == ["pyproject.toml", "src/moments/__init__.py", "tests/test_moments.py"]
    for name, content in files.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    result = pytester.runpytest_inprocess("-p", "_arraytape_pytest", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=36, skipped=6)
    shown = re.search(r"\$ pytest\n((?: {4}.*\n)+?) {4}\$", text)[1]
    result.stdout.fnmatch_lines([line.strip() + "*" for line in shown.splitlines()])


def test_the_package_says_where_pytest_finds_the_plugin():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"arraytape": "_arraytape_pytest"}
    entry = importlib.metadata.EntryPoint("arraytape", "_arraytape_pytest", "pytest11")
    assert callable(entry.load().pytest_addoption)
