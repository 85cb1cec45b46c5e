"""The plugin for pytest: the fixture ``xp``, its marks, and the mark ``check_gradients``.

``_arraytape_pytest`` registers the plugin if the options or settings of a run name backends.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import pytest

from .._array.array import PUBLIC, namespace
from .._util.errors import short_repr
from ._called import CallKeeper, check_returned
from .xp_backends import NAMES, STRICT, available, on

CHOSEN = pytest.StashKey[Any]()  # in config.stash: the names of the backends to test
NOT_SKIPPED = {"np_only": {"numpy"}, "cpu_only": {*NAMES} - {"hostile", "frozen"}}
OPTIONS = {"of", "order", "modes", "rtol", "seeds", "h", "calls"}
INSTALL = "array-api-strict is not installed: pip install array-api-strict"


# --- which backends -------------------------------------------------------------------------------
def pytest_configure(config: pytest.Config) -> None:
    """Store the names of the array libraries ("backends") to test; raise UsageError for unknown names.

    The option ``--xp-backends`` or else the setting ``xp_backends`` has the names.
    """
    given = config.getoption("xp_backends")
    where = "xp_backends" if given is None else "--xp-backends"
    chosen = backends_named(config.getini("xp_backends") if given is None else [given], where)
    if given is not None and STRICT in chosen and "all" not in given and STRICT not in available():
        raise pytest.UsageError(f"--xp-backends: {INSTALL}")
    config.stash[CHOSEN] = chosen


def backends_named(given: Iterable[str], where: str) -> list[str]:
    """Return the names of backends in ``given``, each once, in the order of NAMES.

    given : strings of names with commas or spaces between them, or "all".
    where : the option or setting that has the names, for messages.
    """
    found = [name.replace("-", "_") for text in given for name in text.replace(",", " ").split()]
    wrong = [name for name in found if name not in (*NAMES, "all")]
    if wrong or not found:
        said = f"there is no backend {wrong[0]!r}" if wrong else "no backend is named"
        raise pytest.UsageError(f"{where}: {said}; there are {', '.join(NAMES)}, and all")
    return [name for name in NAMES if name in found or "all" in found]


def pytest_report_header(config: pytest.Config) -> str:
    return f"xp: {', '.join(config.stash[CHOSEN])}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with the fixture ``xp`` once for each backend (array library).

    A test module with its own fixture ``xp`` does not use ``xp_backend``, so its tests run once.
    """
    if "xp_backend" in metafunc.fixturenames:
        metafunc.parametrize("xp_backend", metafunc.config.stash[CHOSEN], indirect=True)


@pytest.fixture
def xp_backend(request: pytest.FixtureRequest) -> str:
    """Return the name of the backend (array library) that the test runs on; a fixture."""
    name: str = request.param
    apply_marks(request.node, name)
    if name not in available():
        pytest.skip(INSTALL)
    return name


@pytest.fixture
def xp(xp_backend: str) -> Iterator[Any]:
    """Yield the array API namespace of the library that the test runs on; a fixture."""
    with on(xp_backend) as made:
        yield made


# --- skip_xp_backends, xfail_xp_backends ----------------------------------------------------------
def apply_marks(item: pytest.Item, name: str) -> None:
    """Skip a test, or mark it as an expected failure, if its marks select the backend ``name``.

    The marks are ``skip_xp_backends`` and ``xfail_xp_backends``.
    """
    for mark in item.iter_markers("skip_xp_backends"):
        if mark_selects(mark, name, {"reason"}):
            pytest.skip(mark.kwargs.get("reason") or f"not on {name}")
    for mark in item.iter_markers("xfail_xp_backends"):
        if mark_selects(mark, name, {"reason", "strict"}):
            options = {key: mark.kwargs[key] for key in ("strict",) if key in mark.kwargs}
            reason = mark.kwargs.get("reason") or f"fails on {name}"
            item.add_marker(pytest.mark.xfail(reason=reason, **options))


def mark_selects(mark: pytest.Mark, name: str, others: set[str]) -> bool:
    """Return True if a mark's arguments name the array library ``name``; fail the test for wrong ones.

    others : names of further keyword arguments that the mark takes.
    """
    if unknown := {*mark.kwargs} - {*NOT_SKIPPED, "exceptions"} - others:
        raise failure(f"{mark.name} takes no {short_repr(min(unknown))}")
    exceptions = mark.kwargs.get("exceptions", ())
    if wrong := [one for one in (*mark.args, *exceptions) if one not in NAMES]:
        raise failure(
            f"{mark.name}: there is no backend {short_repr(wrong[0])}; there are {', '.join(NAMES)}"
        )
    chosen = [NOT_SKIPPED[key] for key in NOT_SKIPPED if mark.kwargs.get(key)]
    if not mark.args and not chosen:
        raise failure(f"{mark.name} names no backend, nor {' or '.join(NOT_SKIPPED)}=True")
    skipped = {*mark.args, *(one for kept in chosen for one in {*NAMES} - kept)}
    return name in skipped - {*exceptions}


def failure(message: str) -> BaseException:
    """Return an exception that fails a test without a traceback, whose lines would be arraytape's."""
    return pytest.fail.Exception(message, pytrace=False)


# --- check_gradients ------------------------------------------------------------------------------
@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Run a marked test, then check the gradients of the functions that it called or returned."""
    marks = list(pyfuncitem.iter_markers("check_gradients"))
    if not marks:
        return (yield)
    functions, options = read_marks(marks)
    limit = options.pop("calls", 10)
    differentiates = pyfuncitem.funcargs.get("xp", namespace()) in PUBLIC
    returned: list[Any] = []
    with CallKeeper(functions if differentiates else [], pyfuncitem.module, limit) as calls:
        test = pyfuncitem.obj
        pyfuncitem.obj = keep_result(test, returned)
        try:
            result = yield
        finally:
            pyfuncitem.obj = test
    if not functions and not returned:
        raise failure(
            "check_gradients names no function, and the test returns none: name those that it calls, as "
            "in check_gradients(of=library.f), or end it by `return f, [x, y]`"
        )
    try:
        for pair in returned:
            check_returned(pair, options, differentiates=differentiates)
        calls.check_kept_calls(options)
    except AssertionError as error:
        raise failure(str(error)) from None
    return result


def read_marks(marks: Iterable[pytest.Mark]) -> tuple[list[Any], dict[str, Any]]:
    """Return the functions whose gradients a test's marks ``check_gradients`` ask for, and options.

    If several marks set an option, the value of the mark nearest to the test is used.
    marks : the marks, nearest to the test first.
    """
    functions: list[Any] = []
    options: dict[str, Any] = {}
    for mark in marks:
        # pytest takes ``mark(f)`` as the decoration of f, so functions are given as ``of=f``.
        if mark.args:
            raise failure("check_gradients takes functions by of=, as in of=library.f")
        if unknown := {*mark.kwargs} - OPTIONS:
            raise failure(f"check_gradients takes no {short_repr(min(unknown))}")
        options = {**mark.kwargs, **options}
        named = mark.kwargs.get("of", ())
        functions += named if isinstance(named, list | tuple) else [named]
    options.pop("of", None)
    return functions, options


def keep_result(test: Callable[..., Any], returned: list[Any]) -> Any:
    """Wrap a test so that its result is appended to ``returned``.

    The wrapper returns None, because pytest warns of tests that return anything else.  A coroutine
    function is left unchanged.
    """
    if inspect.iscoroutinefunction(test):
        return test

    @functools.wraps(test)
    def run_test(*args: Any, **keywords: Any) -> None:
        result = test(*args, **keywords)
        if result is not None:
            returned.append(result)

    return run_test
