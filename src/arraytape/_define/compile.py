"""From an op's declaration to its public function: plain Python source, compiled once.

The function costs one Python frame above the raw call, also when a tape records it.
After its first call ``print(arraytape.exp.__source__)`` shows what was compiled.
"""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from .._array.array import SCALAR, Array
from .._array.views import keep
from .._record.op import Op
from .._record.plan import LAYOUT
from .._record.stack import OPEN, active, elsewhere, new_tid
from .._storage.dispatch import DispatchTable, as_data
from .._storage.numpy_storage import NUMPY
from .._storage.storage import STORAGES, is_complex
from .._util.errors import explain
from .operands import (
    CACHED,
    CONSTANT,
    accepted,
    cached_scalar,
    coerce,
    coerce_all,
    dtype_of,
    name_all,
    promote,
    saving,
    shape_of,
    wrap_all,
)

READ = """
    if type({x}) is Array:
        t_{x} = {x}._tid
        if t_{x} < 0:
            t_{x} = {x}._sync()
        d_{x} = {x}._data
"""
READ_SCALAR = """
    elif type({x}) is float or type({x}) is int:
        t_{x} = 0
        d_{x} = {value}
        {x} = CONSTANT
"""
# Real floating-point data takes on a Python scalar as 0-d data of its own dtype: converted once (for
# float64 once and for all), where NumPy would convert it in the forward and in the backward pass.
CONVERT = (
    "((SCALARS.get({x}) or [scalar({x})])[0] if {x} else asarray({x}, FLOAT64))"
    " if type(d_{other}) is ndarray and d_{other}.dtype is FLOAT64 else asarray({x}, FLOAT32)"
    " if type(d_{other}) is ndarray and d_{other}.dtype is FLOAT32 else {x}"
)
READ_OTHER = """
    else:{refuse}
        {x}, t_{x}, d_{x} = coerce(NAME, "{x}", {x})
"""
REFUSE = "\n        if not accepted({x}): return NotImplemented"
ALONE = "\n        if {x} is None: return alone({inputs})"


def compile_function(
    op: Op, signature: inspect.Signature, *, operator: bool = False, raw: str | None = None,
    convert: bool = True, name: str | None = None, given: dict[type, Any] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """The public function of ``op`` (or an operator's method), with a real signature.

    ``raw`` names the storage's function when it differs from the op's name, ``given`` has it by type
    of data when it is no storage's; ``convert`` makes Python scalars 0-d data once, where NumPy would
    convert them in forward and backward pass.
    """
    name = name or op.name.rpartition(".")[2]
    scope: dict[str, Any] = {}

    def first_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Compiling is put off until the op is used: importing all of them would take 100 ms.
        ufunc, fast = NUMPY.ufunc(raw or op.name) if given is None else (None, "")
        functions = DispatchTable(raw or op.name) if given is None else given
        scope.update(what_it_uses(op), RAW=functions, UFUNC=ufunc)
        source = source_of(op, signature, operator, convert, fast)
        filename = f"<arraytape {name}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        exec(compiled(source), scope)
        made = scope["function"]
        function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        function.__code__ = made.__code__.replace(
            co_filename=filename, co_name=name, co_qualname=name
        )
        function.__source__ = source  # type: ignore[attr-defined]
        return function(*args, **kwargs)

    scope["first_call"] = first_call
    function = FunctionType(uncompiled.__code__, scope, name)
    function.__qualname__, function.__module__ = name, "arraytape"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def uncompiled(*args: Any, **kwargs: Any) -> Any:
    """The code of a public function before its first call; its globals hold ``first_call``."""
    return first_call(args, kwargs)  # type: ignore[name-defined]  # noqa: F821


def what_it_uses(op: Op) -> dict[str, Any]:
    """The globals of a compiled function."""
    scope: dict[str, Any] = {
        "NAME": op.name, "INPUTS": op.inputs, "PLANS": op.plans, "WIDES": op.wides,
        "Array": Array, "CONSTANT": CONSTANT, "SCALAR": SCALAR, "alone": op.alone,
        "SCALARS": CACHED, "scalar": cached_scalar,
        "FLOAT32": np.dtype("float32"), "FLOAT64": np.dtype("float64"), "elsewhere": elsewhere,
        "accepted": accepted, "active": active, "as_data": as_data, "asarray": np.asarray,
        "promote": promote, "dtype_of": dtype_of, "coerce_all": coerce_all, "explain": explain,
        "OPEN": OPEN, "coerce": coerce, "get_ident": get_ident, "keep": keep, "is_complex": is_complex,
        "name_all": name_all, "ndarray": np.ndarray, "new_tid": new_tid, "shape_of": shape_of,
        "STORAGES": STORAGES, "saving": saving, "wrap_all": wrap_all,
    }  # fmt: skip
    scope |= {f"SAVE_{saved}": function for saved, function in op.saves.items()}
    scope |= {f"PLAN{subset}": plan.number for subset, plan in enumerate(op.plans)}
    return scope | {f"WIDE{subset}": plan.number for subset, plan in enumerate(op.wides)}


@functools.cache
def compiled(source: str) -> CodeType:
    """Ops of one form have one source: it is compiled once, since that is what importing costs."""
    return compile(source, "<arraytape>", "exec")


def source_of(
    op: Op, signature: inspect.Signature, operator: bool, convert: bool, fast: str
) -> str:
    """The source text; read it from the top as the life of one call."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    inputs, several = op.inputs, len(op.outputs) > 1
    lines = [
        f"def function{signature.replace(parameters=bare, return_annotation=signature.empty)}:"
    ]

    if op.variadic:
        (x,) = inputs
        lines.append(f"    {x}, t_{x}, d_{x} = coerce_all(NAME, '{x}', {x})")
        lines.append(f"    kind, *d_{x} = promote(NAME, ('{x}',), {x}, d_{x})")
    else:
        order = [p.name for p in bare if p.name in inputs]  # reflected operators: x2 first
        first = order[0]
        for x in order:
            lines.append(READ.strip("\n").format(x=x))
            if op.kind == "elementwise" and x != first:
                value = CONVERT.format(x=x, other=first) if convert else x
                lines.append(READ_SCALAR.strip("\n").format(x=x, value=value))
            refuse = REFUSE if operator else ALONE if op.alone and x != first else ""
            refuse = refuse.format(x=x, inputs=", ".join(inputs))
            lines.append(READ_OTHER.strip("\n").format(x=x, refuse=refuse))
        data = ", ".join(f"d_{x}" for x in inputs)
        lines.append(f"    kind = type(d_{first})")
        tests = [f"type(d_{x}) is not kind and {x} is not CONSTANT" for x in order[1:]]
        if tests:
            tests.append(f"{first} is CONSTANT")
            lines.append(f"    if {' or '.join(tests)}:")
            lines.append(
                f"        kind, {data} = promote(NAME, INPUTS, ({', '.join(inputs)}), ({data}))"
            )

    positional = [f"d_{p.name}" if p.name in inputs else p.name
                  for p in bare if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]  # fmt: skip
    keywords = [f"{p.name}={f'd_{p.name}' if p.name in inputs else p.name}"
                for p in bare if p.kind is p.KEYWORD_ONLY]  # fmt: skip
    if operator:
        positional = [f"d_{x}" for x in inputs]
    said = ", ".join([f"{x}=d_{x}" for x in inputs] + [f"{p}={p}" for p in op.parameters])
    direct = {"ufunc": "kind is ndarray", "float64": "kind is ndarray and d_x.dtype is FLOAT64"}
    call = f"(UFUNC if {direct[fast]} else RAW[kind])" if fast else "RAW[kind]"
    lines.append(f"    try:\n        result = {call}({', '.join(positional + keywords)})")
    lines.append("    except Exception as error:")
    lines.append(f"        raise explain(NAME, error, {said}) from error")

    if several:
        lines.append("    answer, ys = wrap_all(result)")
        results, handles = (
            [f"ys[{i}]._data" for i in range(len(op.outputs))],
            [f"ys[{i}]" for i in range(len(op.outputs))],
        )
    else:
        lines.append("    answer = Array()\n    answer._state = 0")
        elsewhere = " and type(result) not in STORAGES" if op.moves else ""
        lines.append(f"    if type(result) is not kind{elsewhere}:")
        lines.append(
            "        result = asarray(result) if kind is ndarray else as_data(result, kind)"
        )
        lines.append("        answer._state = SCALAR")
        lines.append("    answer._data = result")
        lines.append("    answer._tid = 0")
        results, handles = ["result"], ["answer"]
    if op.recorded:
        lines.append(recording(op, results, handles))
    lines.append("    return answer")
    return "\n".join(lines) + "\n"


WATCHED = """
    if {followed}:
        thread, recorders = active()
        if thread == get_ident():
            out = 0
            {body}
        elif OPEN:
            elsewhere({told})
"""
# Any op, any subset: the plan picks its record from all the values.
GENERAL = """
for recorder in recorders:
    followed = recorder.followed
    subset = {subset}
    if subset:
        if not out:
            {name}
        plan = (WIDES if wide else PLANS)[subset]
        values = ({values})
        for at, place in plan.hold:
            if values[at]._state < 4: values[at]._state |= 1
            else: values = (*values[:place], keep(values[at]), *values[place + 1:])
        recorder.record(plan.pick(values))
        {add}
        if plan.notable or {complex}:
            recorder.notice(plan, values)
"""
# One or two inputs, one result: the record of each subset written out, for both kinds of plan.
FAST = """
if not wide:
    for recorder in recorders:
        followed = recorder.followed
        {branches}
        else: continue
        followed.add(out)
else:
    for recorder in recorders:
        followed = recorder.followed
        {wides}
        else: continue
        followed.add(out)
        if result.dtype.kind == "c":
            recorder.notice(WIDES[1], ())
"""


def recording(op: Op, results: list[str], handles: list[str]) -> str:
    """The part that runs when somebody may follow an input."""
    inputs, several = op.inputs, len(handles) > 1
    places = {x: f"d_{x}" for x in inputs} | dict(zip(op.outputs, results, strict=True))
    known = places | {"storage": "STORAGES[kind]"}
    lines = [f"wide = {wide_of(op, results)}"]
    places |= {p: p for p in op.parameters}  # in the order of Op.layout
    for saved, function in op.saves.items():
        arguments = (known.get(p, p) for p in inspect.signature(function).parameters)
        text = ", ".join(arguments)
        near = f"saving(SAVE_{saved}, STORAGES[kind], {text})"
        lines.append(f"s_{saved} = SAVE_{saved}({text}) if kind is ndarray else {near}")
        known[saved] = places[saved] = f"s_{saved}"
    empty = {"shape": "()", "dtype": "None"}
    layout = {
        f"{what} {x}": f"{what}_of(d_{x})"
        if op.variadic
        else f"({empty[what]} if {x} is CONSTANT else d_{x}.{what})"
        for what in LAYOUT
        for x in inputs
    }
    for what in LAYOUT:
        layout |= {
            f"{what} {y}": f"{y_data}.{what}" for y, y_data in zip(op.outputs, results, strict=True)
        }
    layout = {name: layout[name] for name in op.layout() if name in layout}

    tids = [f"t_{x}" for x in inputs]
    values = ["plan.number", "out", *tids, *places.values(), *inputs, *handles]
    text = ", ".join(values)
    if op.variadic or op.asks_layout:
        text += ", " + ", ".join(layout.values())
    else:
        text = f"{text}) if not wide else ({text}, {', '.join(layout.values())}"
    bits = [f"({t} in followed) << {i}" for i, t in enumerate(tids)]
    body = GENERAL.strip("\n").format(
        subset=f"any([t in followed for t in {tids[0]}])" if op.variadic else " | ".join(bits),
        name="out = name_all(ys)" if several else "out = answer._tid = new_tid()",
        values=text,
        add="followed.update(out)" if several else "followed.add(out)",
        complex=" or ".join(f"is_complex({result})" for result in results),
    )
    one_form = not (op.variadic or several or op.moves)
    if len(inputs) <= 2 and one_form and (op.rules or op.joint):
        known = places | layout
        branches, wides = (indent(fast_branches(op, plans, known), 8) for plans in ("PLAN", "WIDE"))
        body = FAST.strip("\n").format(branches=branches, wides=wides)
    followed = f"any({tids[0]})" if op.variadic else " or ".join(tids)
    body = indent("\n".join([*lines, body]), 12)
    told = tids[0] if op.variadic else f"({', '.join(tids)},)"
    return WATCHED.strip("\n").format(followed=followed, body=body, told=told)


def fast_branches(op: Op, plans: str, places: dict[str, str]) -> str:
    """For each subset of one or two followed inputs: hold what is kept, name the result, record."""

    def branch(subset: int) -> str:
        plan = (op.plans if plans == "PLAN" else op.wides)[subset]
        lines = ["if not out: out = answer._tid = new_tid()"]
        for x in op.inputs:
            if x in plan.positions:
                lines.append(f"state = {x}._state")
                lines.append(f"if state != 1:\n    if state < 4: {x}._state = state | 1")
                lines.append(f"    else: d_{x} = keep({x})")
        if "y" in plan.positions:
            lines.append("answer._state |= 1")
        kept = [*(f"t_{x}" for x in op.inputs), *(places[name] for name in plan.positions)]
        return "\n".join([*lines, f"recorder.record(({plans}{subset}, out, {', '.join(kept)}))"])

    def when(tid: str, then: str) -> str:
        return f"if {tid} in followed:\n    {indent(then, 4)}"

    first, *second = (f"t_{x}" for x in op.inputs)
    if not second:
        return when(first, branch(1))
    both = when(second[0], branch(3)) + "\nelse:\n    " + indent(branch(1), 4)
    return when(first, both) + "\nel" + when(second[0], branch(2))


def indent(text: str, by: int) -> str:
    """Indent all lines but the first, for a place that is already indented."""
    return text.replace("\n", "\n" + " " * by)


def wide_of(op: Op, results: list[str]) -> str:
    """Whether shapes or dtypes of inputs and result differ."""
    if op.variadic:
        return "True"
    if op.kind != "elementwise":
        pairs = [(x, result) for x in op.inputs for result in results]
        return " or ".join(f"(t_{x} and d_{x}.dtype is not {result}.dtype)" for x, result in pairs)
    if len(op.inputs) == 1:
        return f"d_{op.inputs[0]}.dtype is not result.dtype"
    a, b = op.inputs
    return (
        f"d_{a}.dtype is not result.dtype if {b} is CONSTANT else "
        f"d_{b}.dtype is not result.dtype if {a} is CONSTANT else "
        f"d_{a}.dtype is not d_{b}.dtype or d_{a}.shape != d_{b}.shape"
    )
