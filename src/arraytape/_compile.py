"""From an op's declaration to its public function: plain Python source, compiled once.

The function costs one Python frame above the raw call when no input is followed and one more
(the recorder's) when one is.  ``print(arraytape.exp.__source__)`` shows what was compiled.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np

from ._array import KEPT, PINNED, SCALAR, Array, as_data, wrap
from ._errors import explain, user_line
from ._op import Op
from ._record import active, new_tid
from ._storage import STORAGES, RawFunctions, storage_of
from ._view import sync

CONSTANT = wrap(None, 0, KEPT)  # the handle of what is no Array: nothing to mark, nothing to copy
SCALARS = (bool, int, float, complex, type(None))


def foreign(name: str, argument: str, value: Any) -> tuple[Array, int, Any]:
    """Handle, tid and data of an argument that is not an Array: a scalar or a raw array."""
    if type(value) in SCALARS:
        return CONSTANT, 0, value
    if type(value) in STORAGES:
        return wrap(value, 0, PINNED), 0, value
    if isinstance(value, np.generic):
        return CONSTANT, 0, np.asarray(value)
    if isinstance(value, bool | int | float | complex):
        return CONSTANT, 0, value
    if isinstance(value, Array):
        return value, sync(value) if value._tid < 0 else value._tid, value._data
    raise TypeError(
        f"{name}: {argument} must be an Array, got {type(value).__module__}."
        f"{type(value).__qualname__} [at {user_line()}]; convert it with asarray"
    )


def accepted(value: Any) -> bool:
    """Whether an operator takes ``value``; otherwise it answers NotImplemented."""
    return type(value) in STORAGES or isinstance(value, bool | int | float | complex | np.generic | Array)


def each(name: str, argument: str, values: Any) -> tuple[list[Array], tuple[int, ...], list[Any]]:
    """Handles, tids and data of a sequence of arrays."""
    if isinstance(values, Array) or not isinstance(values, list | tuple):
        raise TypeError(
            f"{name}: {argument} must be a list or tuple of Arrays, got "
            f"{type(values).__name__} [at {user_line()}]"
        )
    if not values:
        raise ValueError(f"{name}: {argument} is empty: needs at least one array [at {user_line()}]")
    parts = [
        (value, sync(value) if value._tid < 0 else value._tid, value._data)
        if type(value) is Array else foreign(name, f"{argument}[{i}]", value)
        for i, value in enumerate(values)
    ]  # fmt: skip
    handles, tids, data = zip(*parts, strict=True)
    return list(handles), tids, list(data)


def common(name: str, *data: Any) -> type:
    """The type of data that an op runs on; TypeError naming both when two storages meet."""
    kinds = [type(value) for value in data if type(value) in STORAGES]
    for kind in kinds:
        if kind is not kinds[0]:
            first, other = STORAGES[kinds[0]].name, STORAGES[kind].name
            raise TypeError(
                f"{name}: one argument holds {first} data and another {other} data "
                f"[at {user_line()}]; move one of them with to_device or asarray"
            )
    if not kinds:
        raise TypeError(f"{name}: no argument is an Array [at {user_line()}]; convert with asarray")
    return kinds[0]


def shape_of(value: Any) -> Any:
    """Shape of data, of each of a list of data; () for a scalar."""
    return [shape_of(v) for v in value] if type(value) is list else getattr(value, "shape", ())


def dtype_of(value: Any) -> Any:
    return [dtype_of(v) for v in value] if type(value) is list else getattr(value, "dtype", None)


READ = """
    if type({x}) is Array:
        t_{x} = {x}._tid
        if t_{x} < 0:
            t_{x} = sync({x})
        d_{x} = {x}._data
"""
READ_SCALAR = """
    elif (type({x}) is float or type({x}) is int) and d_{other}.__class__ is ndarray and d_{other}.dtype is FLOAT64:
        t_{x} = 0
        d_{x} = asarray({x}, FLOAT64)
        {x} = CONSTANT
"""
READ_OTHER = """
    else:
        {refuse}
        {x}, t_{x}, d_{x} = foreign(NAME, "{x}", {x})
"""
REFUSE = "if not accepted({x}): return NotImplemented"


def compile_function(
    op: Op, signature: inspect.Signature, *, operator: bool = False, raw: str | None = None,
    convert: bool = True, name: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """The public function of ``op`` (or an operator's method), with a real signature.

    ``raw`` names the storage's function when it differs from the op's name; ``convert`` makes
    Python scalars 0-d data once, where NumPy would convert them in forward and backward pass.
    """
    source = source_of(op, signature, operator, convert)
    scope: dict[str, Any] = {
        "NAME": op.name, "RAW": RawFunctions(raw or op.name), "PLANS": op.plans, "WIDES": op.wides,
        "Array": Array, "CONSTANT": CONSTANT, "FLOAT64": np.dtype("float64"), "SCALAR": SCALAR,
        "accepted": accepted, "active": active, "as_data": as_data, "asarray": np.asarray,
        "common": common, "dtype_of": dtype_of, "each": each, "explain": explain,
        "foreign": foreign, "get_ident": get_ident, "ndarray": np.ndarray, "new_tid": new_tid,
        "shape_of": shape_of, "storage_of": storage_of, "sync": sync, "wrap_all": wrap_all,
    }  # fmt: skip
    scope |= {f"SAVE_{saved}": function for saved, function in op.saves.items()}
    filename = f"<arraytape {name or op.name}>"
    exec(compile(source, filename, "exec"), scope)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    function: Callable[..., Any] = scope["function"]
    function.__name__ = function.__qualname__ = name or op.name.rpartition(".")[2]
    function.__module__ = "arraytape"
    function.__source__ = source  # type: ignore[attr-defined]
    return function


def source_of(op: Op, signature: inspect.Signature, operator: bool, convert: bool) -> str:
    """The source text; read it from the top as the life of one call."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    inputs, several = op.inputs, len(op.outputs) > 1
    lines = [f"def function{signature.replace(parameters=bare, return_annotation=signature.empty)}:"]

    if op.variadic:
        (x,) = inputs
        lines.append(f"    {x}, t_{x}, d_{x} = each(NAME, '{x}', {x})")
        lines.append(f"    kind = common(NAME, *d_{x})")
    else:
        scalars = convert and op.kind == "elementwise" and len(inputs) == 2
        for i, x in enumerate(inputs):
            lines.append(READ.strip("\n").format(x=x))
            if scalars and i:
                lines.append(READ_SCALAR.strip("\n").format(x=x, other=inputs[0]))
            refuse = REFUSE.format(x=x) if operator else "pass"
            lines.append(READ_OTHER.strip("\n").format(x=x, refuse=refuse))
        data = ", ".join(f"d_{x}" for x in inputs)
        lines.append(f"    kind = type(d_{inputs[0]})")
        tests = " or ".join(f"type(d_{x}) is not kind" for x in inputs[1:])
        if tests:
            lines.append(f"    if {tests}:\n        kind = common(NAME, {data})")

    positional = [f"d_{p.name}" if p.name in inputs else p.name
                  for p in bare if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]  # fmt: skip
    keywords = [f"{p.name}={f'd_{p.name}' if p.name in inputs else p.name}"
                for p in bare if p.kind is p.KEYWORD_ONLY]  # fmt: skip
    if operator:
        positional = [f"d_{x}" for x in inputs]
    said = ", ".join([f"{x}=d_{x}" for x in inputs] + [f"{p}={p}" for p in op.parameters])
    lines.append(f"    try:\n        result = RAW[kind]({', '.join(positional + keywords)})")
    lines.append("    except Exception as error:")
    lines.append(f"        raise explain(NAME, error, {said}) from error")

    if several:
        lines.append("    answer, ys = wrap_all(result)")
        results, handles = [f"ys[{i}]._data" for i in range(len(op.outputs))], [f"ys[{i}]" for i in range(len(op.outputs))]
    else:
        lines.append("    answer = Array()\n    answer._state = 0")
        lines.append("    if type(result) is not kind:")
        lines.append("        result = as_data(result, kind)\n        answer._state = SCALAR")
        lines.append("    answer._data = result\n    answer._tid = 0")
        results, handles = ["result"], ["answer"]
    if op.differentiable:
        lines.extend(recording(op, results, handles))
    lines.append("    return answer")
    return "\n".join(lines) + "\n"


def recording(op: Op, results: list[str], handles: list[str]) -> list[str]:
    """The part that runs when somebody may follow an input."""
    inputs = op.inputs
    followed = f"any(t_{inputs[0]})" if op.variadic else " or ".join(f"t_{x}" for x in inputs)
    lines = [f"    if {followed}:", "        thread, recorders = active()"]
    lines.append("        if recorders and thread == get_ident():")
    pad = " " * 12
    values = ["out", *(f"t_{x}" for x in inputs), *(f"d_{x}" for x in inputs), *results]
    values += [*op.parameters, *(f"s_{saved}" for saved in op.saves), *inputs, *handles]
    layout = [f"shape_of(d_{x})" for x in inputs] + [f"dtype_of(d_{x})" for x in inputs]

    if op.variadic:
        wide = "True"
    elif op.kind == "elementwise" and len(inputs) == 1:
        wide = f"result.dtype is not d_{inputs[0]}.dtype"
    elif op.kind == "elementwise":
        a, b = inputs
        wide = (
            f"(d_{a}.dtype is not result.dtype if {b} is CONSTANT else "
            f"d_{b}.dtype is not result.dtype if {a} is CONSTANT else "
            f"d_{a}.dtype is not d_{b}.dtype or d_{a}.shape != d_{b}.shape or d_{a}.dtype is not result.dtype)"
        )
    else:
        wide = " or ".join(f"(t_{x} and d_{x}.dtype is not {r}.dtype)" for x in inputs for r in results)
    lines.append(f"{pad}wide = {wide}")
    for saved, function in op.saves.items():
        lines.append(f"{pad}s_{saved} = SAVE_{saved}({', '.join(f'd_{p}' if p in inputs else p for p in inspect.signature(function).parameters)})")
    if op.variadic or op.asks_layout:
        values += layout
        grow = ""
    else:
        grow = f"{pad}if wide:\n{pad}    values += ({', '.join(layout)},)"
    lines.append(f"{pad}out = 0")
    lines.append(f"{pad}for recorder in recorders:")
    lines.append(f"{pad}    followed = recorder.followed")
    if op.variadic:
        lines.append(f"{pad}    subset = any(t in followed for t in t_{inputs[0]})")
    elif len(inputs) == 1:
        lines.append(f"{pad}    subset = t_{inputs[0]} in followed")
    else:
        terms = [f"((t_{x} in followed) << {i})" if i else f"(t_{x} in followed)" for i, x in enumerate(inputs)]
        lines.append(f"{pad}    subset = {' | '.join(terms)}")
    lines.append(f"{pad}    if subset:\n{pad}        if not out:")
    if len(handles) > 1:
        lines.append(f"{pad}            out = tuple(new_tid() for _ in ys)")
        lines.append(f"{pad}            for y, t in zip(ys, out): y._tid = t")
    else:
        lines.append(f"{pad}            out = answer._tid = new_tid()")
    lines.append(f"{pad}            values = ({', '.join(values)})")
    if grow:
        lines.append(grow.replace(pad, pad + " " * 12))
    lines.append(f"{pad}        recorder.record((WIDES if wide else PLANS)[subset], values)")
    return lines


def wrap_all(results: Any) -> tuple[Any, list[Array]]:
    """An op's several raw results as Arrays, in the tuple type in which they came."""
    arrays = [
        wrap(r) if type(r) in STORAGES else wrap(np.asarray(r), 0, SCALAR) for r in results
    ]
    answer = type(results)(*arrays) if hasattr(results, "_fields") else tuple(arrays)
    return answer, arrays
