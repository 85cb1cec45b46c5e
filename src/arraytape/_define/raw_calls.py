"""Raw calls that raised: they end in a warning at the user's line, or in the documented exception.

NumPy warns (of a division by zero, for example) from C.  CPython takes file, line, module and the
registry of warnings already shown from the Python frame that runs: a compiled op.  All lines of a user
would share the op's one line and its one ``__warningregistry__``, so that the second of them is silent.

So the globals of a compiled op have a ``__warningregistry__`` that is no dict.  CPython then raises
TypeError in place of the warning, and the op calls ``call_again``.  That runs the raw function once more
in a frame with the file, the line and the globals of the user.  Filters, ``errstate`` and warnings as
errors act there as in NumPy.  This costs nothing until NumPy warns, and then a second computation.

Raw functions may run twice since they only read their operands.  An in-place operator may not: when
NumPy warns, the result is written already, and ``warn_of_result`` infers the warning from the result.
A warning from C of an object that the garbage collector finalises during the call is lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NoReturn, TypeAlias

import numpy as np

from .._storage import numpy_namespace
from .._storage.dispatch import NUMBERS, DispatchTable
from .._util.errors import explain, user_frame, user_line

NO_REGISTRY = {"__warningregistry__": ()}
Raw = Callable[..., Any]
RawTable: TypeAlias = np.ufunc | Mapping[type, Raw]
HostArray: TypeAlias = "np.ndarray[Any, Any]"


class RawFunctions(DispatchTable):
    """The raw functions of one op by type of data; where NumPy warns in one of ours, it raises."""

    def __missing__(self, kind: type) -> Raw:
        found = super().__missing__(kind)
        if isinstance(found, MethodType):
            return MethodType(with_globals(found.__func__, NO_REGISTRY), found.__self__)
        if getattr(found, "__globals__", None) is vars(numpy_namespace):
            self[kind] = found = with_globals(found, NO_REGISTRY)
        return found


def with_globals(function: Any, changed: dict[str, Any], **replaced: Any) -> Any:
    """Return a copy of a Python function with changed globals and attributes of its code replaced."""
    code = function.__code__.replace(**replaced)
    copy = FunctionType(code, function.__globals__ | changed, function.__name__)
    copy.__defaults__, copy.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return copy


def call_again(
    op: str, error: Exception, raw: RawTable, kind: type, names: Sequence[str], /,
    *args: Any, **keywords: Any,
) -> Any:  # fmt: skip
    """Return the result of a raw call that raised ``error``, if the error stood for a warning.

    Otherwise, or if the user made warnings errors, raise the documented exception.  raw : a ufunc, or
    the raw functions by type of data.  kind : the type of data.  names : those of the positional
    arguments.
    """
    if type(error) is TypeError:
        try:
            function = raw if isinstance(raw, np.ufunc) else raw[kind]
            return at_users_line(function, error)(*args, **keywords)
        except Exception as again:
            again.__context__ = None  # the TypeError that stood for the warning
            error = again
    fail(op, error, raw, kind, names, *args, **keywords)


def overflowing(op: str, error: Exception, name: str, value: float) -> Any:
    """Return a number in single precision, where it becomes infinite, after NumPy's warning."""
    raw: RawTable = {float: np.asarray}
    return call_again(op, error, raw, float, (name,), value, dtype=np.dtype("float32"))


def fail(
    op: str, error: Exception, raw: RawTable, kind: type, names: Sequence[str], /,
    *args: Any, **keywords: Any,
) -> NoReturn:  # fmt: skip
    """Raise the documented exception for the error of a raw function."""
    if isinstance(error, AttributeError):  # a Python number has no attributes of an array
        for name, value in zip(names, args, strict=False):
            if type(value) in NUMBERS:
                raise TypeError(
                    f"{op}: {name} must be an Array, got {type(value).__name__} [at {user_line()}]; "
                    "convert it with asarray"
                ) from error
    raise explain(op, error, **dict(zip(names, args, strict=True)), **keywords) from error


def at_users_line(raw: Raw, error: Exception) -> Raw:
    """Return the raw function, to be called in a frame with the user's file, line and globals."""
    frame = user_frame()
    if frame is None:
        return raw
    scope, file, line = frame.f_globals, frame.f_code.co_filename, frame.f_lineno
    if isinstance(raw, MethodType):
        return MethodType(at_users_line(raw.__func__, error), raw.__self__)
    if "__warningregistry__" not in getattr(raw, "__globals__", ()):
        code = call.__code__.replace(co_filename=file, co_firstlineno=line)
        return partial(FunctionType(code, scope), raw)
    # A Python function of ours.  Its first line is moved so that the line that warned is the user's.
    code, trace = raw.__code__, error.__traceback__
    while trace is not None and trace.tb_frame.f_code != code:
        trace = trace.tb_next
    below = trace.tb_lineno - code.co_firstlineno if trace else 0
    registry = scope.setdefault("__warningregistry__", {})
    users = {"__name__": scope.get("__name__"), "__warningregistry__": registry}
    found: Raw = with_globals(raw, users, co_filename=file, co_firstlineno=max(line - below, 0))
    return found


def is_warning(error: Exception) -> bool:
    """Return True if an exception stands for a warning, because the registry is no dict."""
    return type(error) is TypeError and "'registry' must be a dict" in str(error)


def warn_of_result(op: str, result: HostArray, operand: HostArray) -> None:
    """Warn at the user's line of the floating-point errors of an in-place operator."""
    frame = user_frame()
    if frame is None:
        return
    for what in errors_shown(op, result, operand):
        warnings.warn_explicit(
            f"{what} encountered in {UFUNC_NAMES.get(op, op)}", RuntimeWarning,
            frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"),
            frame.f_globals.setdefault("__warningregistry__", {}),
        )  # fmt: skip


UFUNC_NAMES = {"pow": "power"}  # where NumPy's name differs from the standard's
DIVISIONS = ("divide", "floor_divide", "remainder")


def errors_shown(op: str, result: HostArray, operand: HostArray) -> list[str]:
    """Return NumPy's names of the errors that a result shows, or "a floating-point error"."""
    nan, far = np.isnan(result), np.isinf(result)
    if op in DIVISIONS and (by_zero := np.equal(operand, 0)).any():
        if result.dtype.kind not in "fc":
            return ["divide by zero"]
        found = [("divide by zero", far & by_zero), ("invalid value", nan & by_zero)]
    elif op == "pow" and (negative := np.less(operand.real, 0)).any():
        found = [("divide by zero", far & negative), ("invalid value", nan)]
    else:
        found = [("invalid value", nan)] if nan.any() else [("overflow", far)]
    return [what for what, where in found if where.any()] or ["a floating-point error"]


# A function on one line, so that its first line, which is replaced, is that of the call.
call: Any = lambda raw, *args, **keywords: raw(*args, **keywords)  # noqa: E731
