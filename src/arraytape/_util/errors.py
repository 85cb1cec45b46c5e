"""Construction of error and warning messages.

A message names the user's line (``user_line``) and describes the arguments (``describe``).  Public
functions raise only exceptions that they document: ``raise_documented`` replaces all others.
"""

from __future__ import annotations

import contextlib
import functools
import os
import reprlib
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from .locks import reentrant_lock

if TYPE_CHECKING:
    from .array_types import HasLayout

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep

PAGE = "https://github.com/arraytape/arraytape/blob/main/docs/howto/errors.md"


# The file name of the code that ``interop`` generates.  ``warnings.warn`` does not count frames of files
# whose names contain "importlib" and "_bootstrap" for ``stacklevel``.
TRAMPOLINE = "<arraytape interop, hidden like importlib._bootstrap>"

HOMES = {
    "": np,
    "linalg": np.linalg,
    "fft": np.fft,
}  # NumPy's modules by the name of arraytape's extension that has the same functions
SYSCONFIG = reentrant_lock()  # held during the first call of sysconfig: see ``folder_of``

P = ParamSpec("P")
R = TypeVar("R")


class TapeWarning(UserWarning):
    """A warning that a gradient may differ from the expected one; the message gives the reason and line.

    Examples
    --------
    >>> import warnings
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> with xp.GradientTape() as tape:
    ...     y = x**2  # and nobody watches x
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", xp.TapeWarning)
    ...     gradient = tape.gradient(y, x)
    >>> print(gradient, caught[0].category.__name__)
    None TapeWarning

    Tests turn it into an error: ``warnings.simplefilter("error", xp.TapeWarning)``, or in pytest's
    settings ``filterwarnings = ["error::arraytape.TapeWarning"]``.
    """


class LostGradientError(RuntimeError):
    """The error for a gradient that would be None or lack a part.

    A value was converted to data that the tape does not follow, and the target may depend on that data.
    A tape with ``exits="raise"`` raises this error.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> with xp.GradientTape(exits="raise") as tape:
    ...     tape.watch(x)
    ...     y = xp.asarray(np.asarray(x) ** 2)  # np.asarray leaves the tape
    >>> try:
    ...     tape.gradient(y, x)
    ... except xp.LostGradientError as error:
    ...     print(str(error).partition(" at ")[0])
    gradient is None: the value left the tape
    """


class UnknownName:
    """The message of an AttributeError, which ends with a hint such as "use xp.concat".

    The hint is searched for only when the message is read, because ``hasattr`` discards the error
    unread.

    message : the text before the hint.  name, obj : the unknown name, and the object that lacks it.
    where : the key in ``other_names.TABLES`` of the table of hints, such as "namespace".
    """

    __slots__ = ("message", "name", "obj", "where")

    def __init__(self, message: str, name: str, obj: object, where: str) -> None:
        self.message, self.name, self.obj, self.where = message, name, obj, where

    def __str__(self) -> str:
        from .other_names import hint

        return self.message + hint(self.name, self.where, self.obj)

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def unknown_name(message: str, name: str, obj: object, where: str) -> AttributeError:
    """Return the AttributeError for a name that ``obj`` lacks; its message ends with a hint.

    where : the key in ``other_names.TABLES`` of the table in which the hint is searched for, such as
    "namespace".
    """
    return AttributeError(UnknownName(message, name, obj, where), name=name, obj=obj)


def missing_from(module: str, where: str, chapter: str | None = None) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module, which raises AttributeError with a hint for the name.

    A user of another library may look up one of its names, such as ``xp.cat``.

    module : the name of the module.
    where : the key in ``other_names.TABLES`` of the table of hints.
    chapter : "", "linalg" or "fft" if the module also serves those names of numpy, numpy.linalg or
    numpy.fft that ``_numpy_api/names.py`` implements; else None.
    """

    def missing(name: str) -> Any:
        if chapter is not None and name in vars(HOMES[chapter]) and not name.startswith("_"):
            with contextlib.suppress(KeyError):
                found = import_module("arraytape._numpy_api.names").find_numpys(name, chapter)
                return vars(sys.modules[module]).setdefault(name, found)
        message = f"module {module!r} has no attribute {name!r}"
        raise unknown_name(message, name, sys.modules[module], where)

    return missing


@functools.cache
def folder_of(kind: str) -> str:
    """Return the folder ``sysconfig.get_path(kind)`` of Python, with a separator at its end.

    A file whose path begins with it belongs to Python or an installed package, not to the user.
    The lock is held because the first call of ``sysconfig`` fills a table that threads share.
    """
    import sysconfig  # here, because this import takes a millisecond

    with SYSCONFIG:
        return os.path.join(sysconfig.get_path(kind), "")


@functools.cache
def folder_of_package(name: str) -> str:
    """Return the folder of a package; if it is not installed, the folder where pip would install it.

    Frames of the package are skipped in the search for the user's line.
    """
    import importlib.util

    spec = None
    with contextlib.suppress(ImportError, ValueError):  # ValueError: a module without a spec
        spec = importlib.util.find_spec(name)
    folders = spec and spec.submodule_search_locations
    return os.path.join(folders[0] if folders else folder_of("purelib") + name, "")


def see(anchor: str) -> str:
    """Return the end of a message: a link to the section ``anchor`` of docs/howto/errors.md."""
    return f"(see {PAGE}#{anchor})"


def foreign(frame: FrameType) -> bool:
    """Return True if a frame runs code outside of arraytape and NumPy.

    It is then code of the user or of another library, which a message may name.
    """
    return outside(frame.f_code.co_filename)


@functools.lru_cache(maxsize=4096)
def outside(file: str) -> bool:
    """Return True if a file belongs neither to arraytape, nor to NumPy, nor to array_api_compat.

    Messages name lines of such files only.

    Files of NumPy's own tests count as outside.
    """
    between = NUMPY, folder_of_package("array_api_compat")
    inside = file.startswith(between) and os.sep + "tests" + os.sep not in file
    # Tracebacks name NumPy's Cython files by their paths in its repository.
    inside = inside or (file.endswith(".pyx") and file.startswith(("numpy/", "numpy\\")))
    return not inside and not file.startswith((PACKAGE, "<arraytape"))


def user_frame() -> FrameType | None:
    """Return the innermost running frame of the user's code, or None.

    Frames of arraytape, NumPy, SciPy, scikit-learn, joblib and pandas are skipped.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=4096)
def is_users_file(file: str) -> bool:
    """Return True if a file is outside of arraytape, NumPy, SciPy, scikit-learn, joblib and pandas.

    Frames of these libraries may lie between the user's call and arraytape: SciPy and scikit-learn call
    functions of ``interop``, and scikit-learn calls the estimators' ``fit`` through joblib.
    """
    libraries = tuple(
        [folder_of_package(name) for name in ("scipy", "sklearn", "joblib", "pandas")]
    )
    between = file.startswith(libraries) and os.sep + "tests" + os.sep not in file
    return outside(file) and not between


def numpys_function() -> str:
    """Return the name of the NumPy function through which the user's line called arraytape, or ""."""
    name, frame = "", sys._getframe(1)
    while not foreign(frame) and frame.f_back is not None:
        name = frame.f_code.co_qualname if frame.f_code.co_filename.startswith(NUMPY) else ""
        frame = frame.f_back
    return name


def user_line() -> str:
    """Return ``file:line`` of the innermost running line of the user's code, for messages."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown line"


def stacklevel() -> int:
    """Return the ``stacklevel`` with which ``warnings.warn`` names the line that called arraytape.

    So the warning shows the user's line.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and not foreign(frame):
        level += frame.f_code.co_filename != TRAMPOLINE
        frame = frame.f_back
    return level


def layout_text(value: HasLayout) -> str:
    """Return dtype and shape as text, such as ``float64(3, 4)``; add the device unless it is the CPU."""
    shape = value.shape
    device: Any = getattr(value, "device", "cpu")
    # A device of CuPy has a number, and no name.
    of_cupy = type(device).__module__.partition(".")[0] == "cupy"
    device = f"cuda:{device.id}" if of_cupy else str(device)
    dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    return f"{value.dtype}({dims})" + (f" on {device}" if device != "cpu" else "")


def describes_array(value: Any) -> bool:
    try:
        return isinstance(value.shape, tuple) and value.dtype is not None
    except Exception:  # the attributes are missing, or the object raises some other error
        return False


def describe(value: Any, array: str | None = None, depth: int = 3) -> str:
    """Return a short text about an argument, for messages: dtype and shape, or type and value.

    array : the text for an array's type; by default the name of its class.
    depth : the number of nested lists to describe; limited because a list may hold itself.
    """
    if type(value) in (list, tuple) and any(hasattr(type(part), "dtype") for part in value):
        parts = ", ".join(
            describe(part, array, depth - 1) if depth else type(part).__name__ for part in value
        )
        return f"[{parts}]" if type(value) is list else f"({parts})"
    if isinstance(value, type):
        return value.__name__
    kind = type(value).__name__
    if isinstance(value, np.generic):
        return f"{kind} {value}"
    if describes_array(value):
        return f"{array or kind}{name_of_state(value)} {layout_text(value)}"
    try:
        text, _, more = repr(value).partition("\n")
    except Exception:  # the value is nested too deeply, or its __repr__ raises
        return f"{kind} {object.__repr__(value)}"
    return f"{kind} {text if len(text) <= 40 and not more else text[:37] + '...'}"


def describe_result(result: Any, *leaf: Any) -> str:
    """Describe what a user's function returned, or a leaf of it that is wrong.

    For a function that returned None, ask whether its ``return`` is missing.
    """
    return "None (is its `return` missing?)" if result is None else describe(*(leaf or (result,)))


def name_of_state(value: Any) -> str:
    """Return a Variable's name for messages, such as " 'layer.w'"; "" for any other value.

    The name is the Variable's path in its Module, or else the name that the user gave it.
    """
    if getattr(type(value), "_has_state", False) is not True:
        return ""
    name = value.path or value.name
    return f" {name!r}" if name != type(value).__name__ else ""


SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxstring, SHORT.maxother = 3, 60, 60


def short_repr(value: Any) -> str:
    """Return a shortened repr of an argument; for an array its type, dtype and shape.  Never raise.

    Messages show it.  ``describe`` also names the types of arguments that are no arrays.
    """
    if describes_array(value):
        return describe(value)
    try:
        return SHORT.repr(value)
    except Exception:  # for example, an integer has too many digits
        return object.__repr__(value)


# Pairs of words in the message of a storage's error and the section of docs/howto/errors.md about it.
SECTIONS = (
    ("broadcast", "shapes-do-not-fit"),
    ("core dimension", "shapes-do-not-fit"),
    ("same number of dimensions", "shapes-do-not-fit"),
    ("must match exactly", "shapes-do-not-fit"),
    ("same shape", "shapes-do-not-fit"),
    ("cannot reshape", "shapes-do-not-fit"),
    ("out of bounds", "index-or-axis-out-of-range"),
    ("Singular matrix", "singular-matrix"),
    ("positive definite", "singular-matrix"),
    ("not supported for the input types", "dtype-that-an-op-does-not-take"),
    ("inhomogeneous", "nested-lists-of-unequal-lengths"),
)
# The exceptions that ops document.  ``failure`` turns an instance of a subclass into the base listed
# here.
DOCUMENTED = (
    IndexError, OverflowError, ZeroDivisionError, MemoryError, BufferError, NotImplementedError,
    ValueError,
)  # fmt: skip


def explain(op: str, error: Exception, **arguments: Any) -> Exception:
    """Return the documented exception for an error that a library raised while it computed ``op``.

    arguments : the op's raw data and parameters.  The message describes all but None and False, and
    calls raw data Arrays, since the user passed Arrays.  Data of a Variable gets the Variable's name.
    """
    named = variables_in_frames()
    what = ", ".join(
        f"{name}: {describe(with_variables(value, named), 'Array')}"
        for name, value in arguments.items()
        if value is not None and value is not False
    )
    return failure(f"{op}({what})", error)


def variables_in_frames() -> dict[int, Any]:
    """Return a dict from ``id(raw data)`` to Variables in local variables of the running frames.

    The search ends at the user's frame, which mostly has the Variable even if an op has only a snapshot.
    """
    found: dict[int, Any] = {}
    frame: Any = sys._getframe(1)
    last = user_frame()
    while frame is not None:
        names = frame.f_locals
        for value in [*names.values()]:
            for one in value[:64] if type(value) in (list, tuple) else (value,):
                if getattr(type(one), "_has_state", False) is True:
                    found[id(one._data)] = one
        if type(names) is dict and frame.f_code.co_flags & CO_OPTIMIZED:
            names.clear()  # a copy of the local variables, which would keep the caught error alive
        frame = None if frame is last else frame.f_back
    return found


def with_variables(value: Any, named: dict[int, Any]) -> Any:
    """Return raw data, or a list or tuple, with Variables in place of their data.

    A message can then name a Variable that the user passed.
    """
    if type(value) in (list, tuple):
        return type(value)([named.get(id(part), part) for part in value])
    return named.get(id(value), value)


LONGEST = 200  # the maximum number of characters that are quoted of another library's message

# Exceptions that np.cov, np.isin, np.einsum_path and np.shares_memory raise on purpose, as NumPy
# documents.  arraytape raises them in the same class.
ON_PURPOSE = (RuntimeError, np.exceptions.TooHardError)


def failure(
    what: str,
    error: Exception,
    end: str = "",
    verb: str = " failed",
    kept: Sequence[type[Exception]] = (),
) -> Exception:
    """Return the documented exception for ``error``; its message is like "exp(x: ...) failed: REASON".

    LinAlgError, AxisError, FloatingPointError and warnings that a filter raises keep their class.  A
    subclass of ImportError, or of a class in DOCUMENTED, is replaced by that class, and any other class,
    such as KeyError, by TypeError.

    what : the function with its arguments, as text.  end : advice at the end of the message.
    verb : the words after ``what``.  kept : more classes of exceptions that keep their class.
    """
    if isinstance(error, RecursionError):
        error = ValueError("an argument is nested too deeply, or holds itself")
    text = str(error).strip()
    section = next((anchor for words, anchor in SECTIONS if words in text), None)
    if "[at " in text:
        place = ""
    else:
        place = f" [at {user_line()}]"
        text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    message = f"{what}{verb}: {text}{place}{end}"
    if section is not None and PAGE not in message:
        message += f" {see(section)}"
    # A Warning or FloatingPointError is raised only if the user's filters or np.errstate request that.
    if isinstance(error, Warning | FloatingPointError) or type(error) in kept:
        return type(error)(message)
    if isinstance(error, ImportError):
        return ImportError(message)
    for kind in DOCUMENTED:
        if isinstance(error, kind):
            named = type(error).__name__ in ("AxisError", "LinAlgError")
            return type(error)(message) if named else kind(message)
    return TypeError(message)


def raise_documented(error: Exception, name: str, /, *args: Any, **keywords: Any) -> NoReturn:
    """Raise the documented exception for an error in arraytape's public function ``name``.

    ``args`` and ``keywords`` are the function's arguments, which the message describes.  Some errors are
    raised unchanged: errors whose message names the user's line, errors of the user's code, warnings,
    ImportErrors, errors with an ``errno``, and failed checks of ``arraytape.testing``.

    A public function calls this in an ``except`` clause, which takes no time if no error is raised.
    """
    found_wrong = isinstance(error, AssertionError) and name.startswith("check_")
    is_of_system = getattr(error, "errno", None)
    if isinstance(error, Warning | ImportError) or found_wrong or is_of_system:
        raise error
    if "[at " in str(error) or is_users_own(error):
        raise error
    given = [describe(x, "Array") for x in args]
    given += [f"{key}: {describe(x, 'Array')}" for key, x in keywords.items()]
    raise failure(f"{name}({', '.join(given)})", error, kept=ON_PURPOSE) from error


def entrance(function: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Wrap a public function so that it raises only exceptions that it documents.

    ``raise_documented`` replaces most other exceptions.

    name : the name of the function in messages, if it is another than the function's own.

    The wrapper costs one more call.  So functions that users call in loops have no wrapper, but the same
    ``except`` clause in their body.
    """

    @functools.wraps(function)
    def call_entrance(*args: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*args, **keywords)
        except Exception as error:
            raise_documented(error, name or function.__name__, *args, **keywords)

    return call_entrance


def is_users_own(error: Exception) -> bool:
    """Return True if a frame of the error's traceback runs the user's code or another library's.

    Such an error is raised unchanged.

    Frames of arraytape, NumPy and the standard library do not count.
    """
    trace = error.__traceback__
    while trace is not None:
        if foreign(trace.tb_frame) and not is_library(trace.tb_frame.f_code.co_filename):
            return True
        trace = trace.tb_next
    return False


def is_library(file: str) -> bool:
    return file.startswith((STANDARD_LIBRARY, "<frozen")) and not file.startswith(
        folder_of("purelib")
    )
