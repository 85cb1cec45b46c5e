"""Declare which functions of SciPy and scikit-learn are replaced by ones that keep Arrays on tapes.

A declaration is called a statement, and a module that consists of statements is called a table.

    @hooks("scipy.linalg", "inv")
    def inv(a, ...): ...                          runs in place of scipy.linalg.inv if called with Arrays

    keeps_arrays("scipy.signal._savitzky_golay")  the module's np becomes a facade that keeps Arrays
    stands_in("scipy.ndimage._filters", "_nd_image", correlate1d=...)
    @prepares("sklearn.multiclass", "OneVsRestClassifier.fit")
    def plain_labels(given): ...                  changes arguments before scikit-learn's code

A statement names one module of the library and takes effect when that module is imported.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any

from .._util.errors import TapeWarning, stacklevel
from .._util.imports import when_imported
from .._util.locks import reentrant_lock
from ._context import DISPATCHED
from ._facades import Facade, StandIn
from ._hooks import hook, original_of

Function = Callable[..., Any]
Prepare = Callable[[dict[str, Any]], None]

# For each library, a dict from a package of it to the table that is imported after the package.
TABLES: dict[str, dict[str, str]] = {
    "scipy": {
        "scipy": f"{__package__}.special_functions",
        "scipy.integrate": f"{__package__}.integrate",
        "scipy.integrate._ivp.ivp": f"{__package__}.optimize",
        "scipy.fft": f"{__package__}.fft",
        "scipy.interpolate": f"{__package__}.interpolate",
        "scipy.linalg": f"{__package__}.linalg",
        "scipy.ndimage": f"{__package__}.ndimage",
        "scipy.optimize": f"{__package__}.optimize",
        "scipy.signal": f"{__package__}.signal",
        "scipy.spatial": f"{__package__}.spatial",
        "scipy.sparse.linalg": f"{__package__}.sparse_solvers",
        "scipy.stats": f"{__package__}.distributions",
        "scipy.stats._morestats": f"{__package__}.statistics",
        "scipy.stats._multivariate": f"{__package__}.multivariate",
    },
    "sklearn": {
        "sklearn.base": f"{__package__}.estimators.facades",
        "sklearn.cluster": f"{__package__}.estimators.cluster",
        "sklearn.covariance": f"{__package__}.estimators.covariance",
        "sklearn.decomposition": f"{__package__}.estimators.decomposition",
        "sklearn.ensemble": f"{__package__}.estimators.ensembles",
        "sklearn.exceptions": f"{__package__}.estimators.refusals",
        "sklearn.gaussian_process": f"{__package__}.estimators.gaussian_processes",
        "sklearn.impute": f"{__package__}.estimators.impute",
        "sklearn.isotonic": f"{__package__}.estimators.isotonic",
        "sklearn.kernel_ridge": f"{__package__}.estimators.kernel_ridge",
        "sklearn.linear_model": f"{__package__}.estimators.linear",
        "sklearn.linear_model._bayes": f"{__package__}.estimators.bayesian",
        "sklearn.metrics": f"{__package__}.sklearn_metrics",
        "sklearn.mixture": f"{__package__}.estimators.mixture",
        "sklearn.model_selection": f"{__package__}.estimators.model_selection",
        "sklearn.neighbors": f"{__package__}.estimators.neighbors",
        "sklearn.preprocessing": f"{__package__}.estimators.preprocessing",
        "sklearn.svm": f"{__package__}.estimators.vectors",
        "sklearn.utils": f"{__package__}.estimators.namespace",
        "sklearn.utils._set_output": f"{__package__}.estimators.dataframes",
    },
    # Functions that accept Arrays by themselves, but compute wrong derivatives (SciPy) or store Arrays
    # as objects (pandas).  Their rules run also outside a context.
    DISPATCHED: {
        "pandas.core.construction": f"{__package__}.pandas_objects",
        "scipy._lib._array_api": f"{__package__}.dispatched",
        "scipy.optimize._optimize": f"{__package__}.searches",
    },
}
Change = Callable[[ModuleType], None]

CHANGES: dict[str, list[Change]] = {}  # for each module, the changes that wait for its import
RULES: set[tuple[str, str]] = set()  # (module, name) of the functions with a rule
REFUSING: set[tuple[str, str]] = set()  # (module, name) of functions that raise an error for Arrays
REWORKED: set[str] = set()  # modules with stand-ins for NumPy or compiled functions
REPLACED: set[tuple[str, str]] = set()  # (module, name) of replaced globals, such as float
READ: set[str] = set()  # modules of rules (see TABLES) that were imported and applied
# LOCK guards CHANGES and READ.  No import runs while it is held: an import may wait for other threads.
LOCK = reentrant_lock()


# --- statements -------------------------------------------------------------------------------------
def hooks(
    module: str, *names: str, refuses: bool = False, always: bool = False, dispatched: bool = False
) -> Callable[[Function], Function]:
    """Return a decorator: the decorated function runs in place of a library's functions on Arrays.

    module, names : the module of the library, and functions of the module, or methods with a dot
    (``"rv_generic.pdf"``).  refuses : True if the decorated function only raises an error.
    always : True if the decorated function runs also in calls without Arrays.  dispatched : True if it
    also runs outside of the context managers, such as ``interop.scipy()``.
    """

    def declare_hook(rule: Function) -> Function:
        (REFUSING if refuses else RULES).update((module, name) for name in names)
        for name in names:
            library = DISPATCHED if dispatched else library_of(module)
            enter_statement(module, hooking(name, rule, library, always))
        return rule

    return declare_hook


def prepares(module: str, *names: str) -> Callable[[Prepare], Prepare]:
    """Return a decorator: the decorated function changes the arguments of a library's functions.

    It runs before the library's code on Arrays.  It gets a dict of the call's arguments by name, and may
    replace values in it.
    names : functions of the module, or methods with a dot.
    """

    def declare_preparation(prepare: Prepare) -> Prepare:
        for name in names:
            hooks(module, name)(preparing(module, name, prepare))
        return prepare

    return declare_preparation


def keeps_arrays(module: str) -> None:
    """Make the code of a library's module keep Arrays: replace its ``np`` by a Facade of NumPy.

    Functions that the module imported from NumPy are replaced, too.
    """
    REWORKED.add(module)
    enter_statement(module, lambda target: facade_of(module).put_into(target))


def stands_in(module: str, name: str, **rules: Function) -> None:
    """Replace an object in a module's globals, such as an extension module, by a StandIn that has rules.

    name : the global name of the object.  rules : maps names of functions of the object to our
    functions, which run in their place on Arrays.  Its other functions raise TypeError for Arrays.
    """

    def put_stand_in(target: ModuleType) -> None:
        real = attribute(target, name)
        if real is not None and not isinstance(real, StandIn):
            for function in rules:
                attribute(real, function)
            setattr(target, name, StandIn(library_of(module), real, rules))

    REWORKED.add(module)
    enter_statement(module, put_stand_in)


def replaces(module: str, name: str, value: object) -> None:
    """Bind a global name of a library's module to ``value``, for example ``float`` to SoftFloat."""
    REPLACED.add((module, name))
    enter_statement(module, lambda target: setattr(target, name, value))


# --- the search for a rule ----------------------------------------------------------------------------
def function_with_rule(functions: Sequence[str], modules: Sequence[str], how: str) -> str | None:
    """Return the function on a call stack whose rule would have kept a converted value on the tape.

    Then the message about the conversion advises the user to enter a context, such as
    ``interop.scipy()``.  Return None if no function on the stack has a rule that would have helped.

    functions : full names of the functions on the call stack, the function that the user called first.
    modules : the modules of the frames, innermost first.
    how : the call that converted the value in the innermost frame, such as ``"np.asarray(...)"``.
    """
    for library in {*map(library_of, functions)} & {*TABLES}:
        for package, table in TABLES[library].items():
            if package in sys.modules:
                importlib.import_module(table)
    known = definition_names(RULES)
    if not (definition_names(REFUSING) - known).isdisjoint(functions):
        return None
    # A context replaces asarray of array_api_compat, too.  So the first module that is no part of
    # array_api_compat decides whether the conversion keeps Arrays.
    count = next((i for i, m in enumerate(modules) if "array_api_compat" not in m), 0)
    kept = how.startswith("np.asarray") and not REWORKED.isdisjoint(modules[: count + 1])
    if kept or (modules[0], how.partition("(")[0]) in REPLACED:
        return functions[0]
    return next((function for function in functions if function in known), None)


def definition_names(functions: Iterable[tuple[str, str]]) -> set[str]:
    """Return the full names under which functions were defined, such as "scipy.linalg._misc.norm".

    functions : pairs (module, name); the module may only import the function, as "scipy.linalg" does.
    """
    found = set()
    for module, name in functions:
        function = sys.modules.get(module)
        for part in name.split("."):
            function = getattr(function, part, None)
        if function is not None:
            found.add(f"{function.__module__}.{getattr(function, '__qualname__', name)}")
    return found


# --- application of statements ----------------------------------------------------------------------
def enter_statement(module: str, change: Change) -> None:
    with LOCK:
        CHANGES.setdefault(module, []).append(change)


def library_of(module: str) -> str:
    return module.partition(".")[0]


FACADES: dict[str, Facade] = {}


def facade_of(module: str) -> Facade:
    library = library_of(module)
    if library not in FACADES:
        FACADES[library] = Facade(library)
    return FACADES[library]


def hooking(name: str, rule: Function, library: str, always: bool) -> Callable[[ModuleType], None]:
    """Return a function that makes a module's function ``name`` run ``rule`` on Arrays.

    It carries out a declaration by ``hooks`` once the module is imported.

    library : "scipy" or "sklearn", whose context has to be active.  always : True if ``rule`` runs also
    without Arrays.
    """

    def put_hook(module: ModuleType) -> None:
        function = attribute(module, name, warns=library != DISPATCHED)
        if isinstance(function, FunctionType):
            hook(function, rule, library, always)
        elif function is not None:
            missing(f"{module.__name__}.{name}, which is no Python function")

    return put_hook


def preparing(module: str, name: str, prepare: Prepare) -> Function:
    """Return the rule for a function of a library whose arguments ``prepare`` changes before it runs.

    The rule calls ``prepare`` with a dict of the arguments, and then runs the library's function.
    """

    def call_prepared(*args: Any, **keywords: Any) -> Any:
        function = original(module, name)
        bound = inspect.signature(function).bind(*args, **keywords)
        prepare(bound.arguments)
        return function(*bound.args, **bound.kwargs)

    return call_prepared


def original(module: str, name: str) -> Function:
    """Return a library's own function, without the replacement that runs a rule on Arrays.

    module, name : where it is defined; the name of a method is "Class.method".
    """
    return original_of(attrgetter(name)(importlib.import_module(module)))


def attribute(target: Any, name: str, warns: bool = True) -> Any:
    """Return the attribute of ``target`` with a dotted name, such as "Class.method".

    If this version of the library lacks the attribute, return None, and warn if ``warns``.
    """
    found = target
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None and not warns:
            return None
        if found is None:
            missing(f"{getattr(target, '__name__', target)}.{name}")
            return None
    return found


def missing(what: str) -> None:
    warnings.warn(
        f"arraytape.interop: this version has no {what}; Arrays that go there leave the tape",
        TapeWarning,
        stacklevel=stacklevel(),
    )


def install(library: str) -> None:
    """Replace functions of a library as the tables of rules declare, now or when a module is imported.

    library : a key of TABLES, such as "scipy".
    """
    for package, table in TABLES[library].items():
        if table not in READ:
            when_imported(package, reader_of(table))


@functools.cache
def reader_of(table: str) -> Change:
    def read_table(package: ModuleType) -> None:
        importlib.import_module(table)
        with LOCK:
            modules = [*CHANGES]
        for name in modules:
            when_imported(name, apply_changes)
        with LOCK:
            READ.add(table)

    return read_table


def apply_changes(module: ModuleType) -> None:
    """Replace the functions of a module for which rules are declared; it has just been imported."""
    with LOCK:
        for change in CHANGES.pop(module.__name__, ()):
            change(module)
