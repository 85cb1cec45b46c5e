"""The handling of a call of NumPy's or CuPy's function that raised, inside a compiled op.

A warning is repeated at the user's line; an error becomes the documented exception.  NumPy issues its
warnings (of a division by zero, for example) from C.  CPython attributes such a warning to the running
Python frame: it takes file, line, module and the registry of warnings already shown from there.  The
running frame is that of a compiled op.  So all calls of the op in a user's program would share one line
and one ``__warningregistry__``, and only the first of them would be shown.

So the globals of a compiled op have a ``__warningregistry__`` that is no dict.  CPython then raises
TypeError in place of the warning, and the op calls ``call_again``.  This function runs the raw function
once more in a frame with the file, the line and the globals of the user.  Filters, ``errstate`` and
warnings as errors act there as in NumPy.  The method costs nothing until NumPy warns, and then a second
computation.

Raw functions may run twice since they only read their operands.  An in-place operator may not run twice:
when NumPy warns, it has already written the result.  ``warn_of_result`` infers the warning from the
result.  If the garbage collector finalises an object during a raw call, a warning from C in that
finaliser is lost.
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
    """The raw functions of one op (the functions that compute its values), by type of data.

    A raw function written in Python gets NO_REGISTRY, an invalid ``__warningregistry__``, as a global.
    A warning inside it then raises TypeError, as in the compiled op.
    """

    def __missing__(self, kind: type) -> Raw:
        found = super().__missing__(kind)
        if isinstance(found, MethodType):
            return MethodType(with_globals(found.__func__, NO_REGISTRY), found.__self__)
        if getattr(found, "__globals__", None) is vars(numpy_namespace):
            self[kind] = found = with_globals(found, NO_REGISTRY)
        return found


def with_globals(function: Any, changed: dict[str, Any], **replaced: Any) -> Any:
    """Return a copy of a Python function that has other globals, and another file or line in tracebacks.

    changed : the globals to add or replace.  replaced : attributes of the code object, such as
    ``co_filename``.
    """
    code = function.__code__.replace(**replaced)
    copy = FunctionType(code, function.__globals__ | changed, function.__name__)
    copy.__defaults__, copy.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return copy


def call_again(
    op: str, error: Exception, raw: RawTable, kind: type, names: Sequence[str], /,
    *args: Any, **keywords: Any,
) -> Any:  # fmt: skip
    """Call NumPy's or CuPy's function a second time, so that its warning names the user's line.

    CPython has raised ``error``, a TypeError, in place of the warning.  Return the result of the second
    call.  If that call raises, too, or ``error`` is another exception, raise the documented one.

    op : the name of the op.  raw : a ufunc, or the functions by type of data.  kind : the type of data.
    names : the names of the positional arguments.  args, keywords : the arguments of the call.
    """
    if type(error) is TypeError:
        try:
            function = raw if isinstance(raw, np.ufunc) else raw[kind]
            return at_users_line(function, error)(*args, **keywords)
        except Exception as again:
            again.__context__ = None  # hide the TypeError that replaced the warning
            error = again
    raise_explained(op, error, raw, kind, names, *args, **keywords)


def overflowing(op: str, error: Exception, name: str, value: float) -> Any:
    """Return infinity as float32 data for a Python number that is too large, and issue NumPy's warning.

    op, name : the op and its parameter.  error : the exception that the conversion raised.
    """
    raw: RawTable = {float: np.asarray}
    return call_again(op, error, raw, float, (name,), value, dtype=np.dtype("float32"))


def raise_explained(
    op: str, error: Exception, raw: RawTable, kind: type, names: Sequence[str], /,
    *args: Any, **keywords: Any,
) -> NoReturn:  # fmt: skip
    """Raise the exception that arraytape documents in place of ``error``, which a raw function raised.

    op : the name of the op.  raw : a ufunc, or the functions by type of data.  kind : the type of data.
    names : the names of the positional arguments.  args, keywords : the arguments of the call.
    """
    if isinstance(error, AttributeError):  # a Python number has no attributes of an array
        for name, value in zip(names, args, strict=False):
            if type(value) in NUMBERS:
                raise TypeError(
                    f"{op}: {name} must be an Array, got {type(value).__name__} [at {user_line()}]; "
                    "convert it with asarray"
                ) from error
    raise explain(op, error, **dict(zip(names, args, strict=True)), **keywords) from error


def at_users_line(raw: Raw, error: Exception | None) -> Raw:
    """Return a function that runs ``raw`` so that Python attributes its warnings to the user's line.

    error : the exception of the first call; its traceback shows which line of a Python function warned.
        None if there was no call, and ``raw`` is no Python function.
    """
    frame = user_frame()
    if frame is None:
        return raw
    scope, file, line = frame.f_globals, frame.f_code.co_filename, frame.f_lineno
    if isinstance(raw, MethodType):
        return MethodType(at_users_line(raw.__func__, error), raw.__self__)
    if "__warningregistry__" not in getattr(raw, "__globals__", ()):
        code = call_function.__code__.replace(co_filename=file, co_firstlineno=line)
        return partial(FunctionType(code, scope), raw)
    # A raw function in Python warns itself.  Shift its first line number, so that the line that warned
    # gets the line number of the user's call.
    code, trace = raw.__code__, error.__traceback__ if error else None
    while trace is not None and trace.tb_frame.f_code != code:
        trace = trace.tb_next
    below = trace.tb_lineno - code.co_firstlineno if trace else 0
    registry = scope.setdefault("__warningregistry__", {})
    users = {"__name__": scope.get("__name__"), "__warningregistry__": registry}
    found: Raw = with_globals(raw, users, co_filename=file, co_firstlineno=max(line - below, 0))
    return found


def is_warning(error: Exception) -> bool:
    """Return True for the TypeError that CPython raises in an op in place of a warning.

    A global ``__warningregistry__`` that is no dict makes CPython raise it.
    """
    return type(error) is TypeError and "'registry' must be a dict" in str(error)


def warn_of_result(op: str, result: HostArray, operand: HostArray) -> None:
    """Issue the warnings of an in-place operator at the user's line, inferred from ``result``.

    NumPy issues them at the line of arraytape's op, and has then already written the result.

    op : the operator's op.  result, operand : the data after the operation, and of the right operand.
    """
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
    """Return NumPy's names for the floating-point errors of an op, inferred from NaN and infinities.

    Return ["a floating-point error"] if the result shows none of them.

    op : the name of the op.  result : the data after the operation.
    operand : the data of the right operand.
    """
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


# The lambda must be on one line: ``at_users_line`` replaces its first line number, which then is also
# the line of the call in it.
call_function: Any = lambda raw, *args, **keywords: raw(*args, **keywords)  # noqa: E731
