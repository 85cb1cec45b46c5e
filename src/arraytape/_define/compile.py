"""The generator of compiled ops: it writes Python source from the declaration of an op, and compiles it.

The steps of the generated function, in the order of the source:

0. If any thread has modes (objects that intercept calls of ops: ``_record.mode_stack``), the call goes
   to those of the current thread.  If one of them returns a result, the other steps are skipped.
1. Each operand is read into local variables: for an operand x the value id ``t_x`` and the data ``d_x``.
   ``operands.coerce`` does this for operands that are no Arrays.
2. Operands of different types of data are converted to one type, ``kind``.
3. The raw function for that type computes ``result``.
4. The result is wrapped in an Array, ``answer``.
5. If an operand has a value id, the recorders of this thread that follow the operand get a record: a
   tuple of the number of a plan (which says how to differentiate the record), the value ids of results
   and operands, and the values that the derivative rules need.

So an op adds only one Python frame to the raw call, also when a tape records it.  After the first call
of an op ``print(arraytape.exp.__source__)`` shows its source.

Functions with a parameter ``s`` write lines of the generated function to that ``Source``.  The parameter
``spec`` says which function is generated.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from threading import get_ident
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from .._array.array import KEEP_IS_A_MARK, KEPT, ONLY_KEPT, SCALAR, Array
from .._array.cuts import note_cut
from .._array.views import keep_data
from .._record.mode_stack import GO_ON, OP_BUILTINS, ask_modes
from .._record.op import Op
from .._record.plan import LAYOUT
from .._record.stack import AWAITED, OPEN, UNSTARTED, active, new_value_id, notify_other_threads
from .._storage.dispatch import as_data
from .._storage.numpy_storage import NUMPY
from .._storage.storage import STORAGES, is_complex
from .._util.locks import FREE_THREADED
from .._util.options import unwrap_option
from .keywords import ABSENT, OtherNames, call_numpys, refuse
from .op_function import OpFunction, give_code, uncompiled
from .operands import (
    CACHED,
    CONSTANT,
    accepted,
    assign_ids,
    cached_scalar,
    check_dtype,
    coerce,
    coerce_all,
    coerce_list,
    coerce_or_none,
    dtype_of,
    promote,
    saving,
    shape_of,
    wrap_all,
)
from .option_checks import is_option, write_option_check
from .raw_calls import NO_REGISTRY, RawFunctions, call_again, overflowing, raise_explained
from .source import Source


def public_module(op: Op) -> str:
    """Return the name of the module in which an op is public: ``arraytape.linalg`` for linalg.svd."""
    return ".".join(["arraytape", *op.name.split(".")[:-1]])


def compile_function(
    op: Op, signature: inspect.Signature, *, operator: bool = False, raw: str | None = None,
    convert: bool = True, name: str | None = None, given: dict[type, Any] | None = None,
    into: Callable[..., Any] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function on Arrays that runs and records an op; the first call compiles its source.

    signature : the signature of the function.
    operator : True for the method of an operator, such as ``__add__``, which returns NotImplemented for
    operands that it does not accept.
    raw : the name of the raw function, if it is not the name of the op.
    given : a dict from types of data to raw functions, in place of the array libraries' functions.
    convert : True to convert Python scalars to 0-d data once; False to leave that to NumPy, which
    does it in the forward pass and again in the backward pass.
    name : the name of the function, if it is not that of the op.
    into : a function that handles calls with NumPy's parameters ``out`` and ``where``, which the
    returned function then has, too; None for an op without these parameters.
    """
    name = name or op.name.rpartition(".")[2]
    scope: dict[str, Any] = {"__builtins__": OP_BUILTINS}

    def build() -> None:
        # This runs at the first call of the op, since compiling all ops at the import would take 100 ms.
        ufunc, condition = NUMPY.ufunc(raw or op.name) if given is None else (None, "")
        functions = RawFunctions(raw or op.name) if given is None else given
        scope.update(generated_globals(op), RAW=functions, UFUNC=ufunc)
        scope.update(default_globals(signature))
        if given is None:
            scope.update(NO_REGISTRY, call_again=call_again)
        else:  # warnings in a user's function name its own lines, and it must not run twice
            scope["call_again"] = raise_explained
        scope["into"] = into
        own = given is None and not operator
        spec = FunctionSpec(op, signature, operator, convert, condition, into is not None, own)
        source = source_of(spec)
        filename = f"<arraytape {name}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        function.__source__ = source  # type: ignore[attr-defined]
        give_code(function, source, filename, name)

    def first_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        this.build_once()
        return function(*args, **kwargs)

    scope["first_call"] = first_call
    function = FunctionType(uncompiled.__code__, scope, name)
    this = scope["OWN"] = OpFunction(op, function, tuple(signature.parameters), build)
    op.functions.append(this)
    function.__qualname__, function.__module__ = name, public_module(op)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


# The globals that all compiled functions have.
COMMON: dict[str, Any] = {
    # hidden parameters, options and modes
    "ABSENT": ABSENT, "call_numpys": call_numpys, "refuse": refuse, "check_dtype": check_dtype,
    "unwrap_option": unwrap_option, "ask_modes": ask_modes, "GO_ON": GO_ON,
    # operands
    "Array": Array, "CONSTANT": CONSTANT, "accepted": accepted, "coerce": coerce,
    "coerce_all": coerce_all, "coerce_list": coerce_list, "coerce_or_none": coerce_or_none,
    "promote": promote, "SCALARS": CACHED, "scalar": cached_scalar, "asarray": np.asarray,
    "ndarray": np.ndarray, "overflowing": overflowing,
    "FLOAT32": np.dtype("float32"), "FLOAT64": np.dtype("float64"),
    # results
    "STORAGES": STORAGES, "SCALAR": SCALAR, "as_data": as_data, "wrap_all": wrap_all,
    # recording
    "active": active, "get_ident": get_ident, "OPEN": OPEN, "notify_other_threads": notify_other_threads,
    "AWAITED": AWAITED, "UNSTARTED": UNSTARTED, "note_cut": note_cut, "new_value_id": new_value_id,
    "assign_ids": assign_ids, "keep": keep_data, "is_complex": is_complex, "saving": saving,
    "shape_of": shape_of, "dtype_of": dtype_of,
}  # fmt: skip


def generated_globals(op: Op) -> dict[str, Any]:
    """Return the global variables of an op's generated function that depend only on ``op``.

    Among them are the numbers of the op's plans, which describe its records.
    """
    scope = COMMON | {"NAME": op.name, "INPUTS": op.inputs, "alone": op.alone}
    scope |= {"PLANS": op.plans, "WIDES": op.fitting_plans}
    scope |= {f"SAVE_{saved}": function for saved, function in op.saves.items()}
    scope |= {f"PLAN{subset}": plan.number for subset, plan in enumerate(op.plans)}
    return scope | {f"WIDE{subset}": plan.number for subset, plan in enumerate(op.fitting_plans)}


FEW = 3  # the most inputs for which the source has a branch for each subset of followed inputs


class FunctionSpec(NamedTuple):
    """The description of an op's function that is to be generated: all that its source depends on."""

    op: Op
    signature: inspect.Signature
    operator: bool = False  # True if it returns NotImplemented for operands that it does not accept
    convert: bool = True  # True if Python scalars are converted to 0-d data
    condition: str = ""  # key in CONDITIONS for a direct call of NumPy's ufunc; "" if none is made
    like_ufunc: bool = False  # True if it accepts NumPy's parameters out and where
    own: bool = False  # True if a call with keywords that only NumPy has runs NumPy's function

    @property
    def several(self) -> bool:
        return len(self.op.outputs) > 1

    @property
    def parameters(self) -> list[inspect.Parameter]:
        return list(self.signature.parameters.values())

    @property
    def order(self) -> list[str]:
        """Return the names of inputs in the signature's order: a reflected operator has x2 first."""
        return [p.name for p in self.parameters if p.name in self.op.inputs]

    @property
    def handles(self) -> list[str]:
        """Return expressions for the results as Arrays in generated code, such as ["answer"]."""
        return [f"ys[{i}]" for i in range(len(self.op.outputs))] if self.several else ["answer"]

    @property
    def results(self) -> list[str]:
        """Return expressions for the raw data of the results in generated code, such as ["result"]."""
        return [f"{y}._data" for y in self.handles] if self.several else ["result"]


# These are not keyword-only, since Python handles positional parameters more quickly.
HIDDEN_OF_UFUNCS = [
    inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    for name in ("out", "where")
]
# Source of the tests for which a compiled op calls NumPy's ufunc, not RAW.  The keys are values of
# ``FunctionSpec.condition``.
CONDITIONS = {"ufunc": "kind is ndarray", "float64": "kind is ndarray and d_x.dtype is FLOAT64"}


def source_of(spec: FunctionSpec) -> str:
    """Return the source text of the function that ``spec`` describes."""
    s = Source()
    name = spec.op.name if spec.own else ""
    others = OtherNames(name, [p.replace(annotation=p.empty) for p in spec.parameters])
    hidden = HIDDEN_OF_UFUNCS if spec.like_ufunc else []
    with s.block(f"def function{inspect.Signature(replace_defaults(others.all) + hidden)}:"):
        others.check(s, "NAME")
        if hidden:
            given = ", ".join(spec.order)
            s.line(f"if out is not None or where is not None: return into(({given},), out, where)")
        write_mode_test(s, spec)
        write_dtype_check(s, spec)
        for parameter in spec.parameters:
            if is_option(parameter) and not spec.op.checked:
                write_option_check(s, parameter, tuples=False)
        if spec.op.variadic:
            write_sequence_reading(s, spec)
        else:
            write_operand_reading(s, spec)
            write_kind_choice(s, spec)
        write_raw_call(s, spec)
        write_result_wrapping(s, spec)
        if spec.op.recorded:
            write_recording(s, spec)
        s.line("return answer")
    return s.text()


def write_mode_test(s: Source, spec: FunctionSpec) -> None:
    """Write the lines that pass the call to modes, which are objects that observe or replace ops.

    If a mode returns a result, the op returns that result.
    """
    positional = [p.name for p in spec.parameters if p.kind is not p.KEYWORD_ONLY]
    named = [f"{p.name!r}: {p.name}" for p in spec.parameters if p.kind is p.KEYWORD_ONLY]
    given = f"({', '.join(positional)}{',' * (len(positional) == 1)})"
    with s.block("if MODES is not None:"):
        s.line(f"answer = ask_modes(OWN, {given}, {{{', '.join(named)}}})")
        s.line("if answer is not GO_ON: return answer")


def write_dtype_check(s: Source, spec: FunctionSpec) -> None:
    """Write a check that the argument ``dtype`` is a dtype of Arrays; no check for a user's op."""
    dtype = spec.signature.parameters.get("dtype")
    if dtype is not None and dtype.default is None and not spec.op.checked:
        s.line("if dtype is not None: check_dtype(NAME, dtype)")


class Reference(NamedTuple):
    """The object that replaces the default of a parameter in the signature of a generated function.

    The source contains ``str(signature)``, where the repr of the default itself may be no valid code.
    The repr of a Reference is the name of a global variable, which holds the default.
    """

    name: str

    def __repr__(self) -> str:
        return self.name


def replace_defaults(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the parameters with names of global variables in place of most defaults.

    The signature is written into generated source, where a default's repr may be invalid.  The defaults
    None and ABSENT stay.
    """
    return [
        p if p.default is p.empty or p.default is ABSENT or p.default is None
        else p.replace(default=Reference(f"DEFAULT_{p.name}"))
        for p in parameters
    ]  # fmt: skip


def default_globals(signature: inspect.Signature) -> dict[str, Any]:
    """Return the global variables of a generated function that hold its defaults, by name.

    The repr of a default may be no valid source, so the source names a variable.
    """
    return {f"DEFAULT_{p.name}": p.default for p in signature.parameters.values()}


# --- operands -----------------------------------------------------------------------------------------
def write_sequence_reading(s: Source, spec: FunctionSpec) -> None:
    """Write the lines that read the value ids and the data of a variadic op's sequence of operands.

    A variadic op, such as ``concat``, has one sequence of arrays as its input.
    """
    (x,) = spec.op.inputs
    s.line(f"{x}, t_{x}, d_{x} = coerce_all(NAME, '{x}', {x})")
    s.line(f"kind, *d_{x} = promote(NAME, ('{x}',), {x}, d_{x})")


def write_operand_reading(s: Source, spec: FunctionSpec) -> None:
    """Write the lines that read the value id and the data of each input.

    A value id is the number of a value that a tape follows, or 0.
    """
    op = spec.op
    first, *_ = spec.order
    left_out = [p.name for p in spec.parameters if p.default is None]  # inputs that may be None
    for x in spec.order:
        with s.block(f"if type({x}) is Array:"):
            s.line(f"t_{x} = {x}._value_id")
            with s.block(f"if t_{x} < 0:"):
                s.line(f"t_{x} = {x}._sync()")
            s.line(f"d_{x} = {x}._data")
        if op.kind == "elementwise" and x != first:
            with s.block(f"elif type({x}) is float or type({x}) is int:"):
                s.line(f"t_{x} = 0")
                if spec.convert:
                    with s.block("try:"):
                        s.line(f"d_{x} = {scalar_source(x, first)}")
                    with s.block("except (TypeError, OverflowError) as error:"):
                        s.line(f"d_{x} = overflowing(NAME, error, '{x}', {x})")
                else:
                    s.line(f"d_{x} = {x}")
                s.line(f"{x} = CONSTANT")
        with s.block("else:"):
            take = "coerce_or_none" if x in left_out else "coerce"
            coerced = f'{x}, t_{x}, d_{x} = {take}(NAME, "{x}", {x})'
            if spec.operator:
                with s.block(f"if accepted({x}):"):
                    s.line(coerced)
                with s.block("else:"):
                    s.line(f'{x} = coerce_list(NAME, "{x}", {x})')
                    s.line(f"if {x} is None: return NotImplemented")
                    s.line(f"{x}, t_{x}, d_{x} = {x}")
                continue
            if op.alone and x != first:
                s.line(f"if {x} is None: return alone({', '.join(op.inputs)})")
            s.line(coerced)


def scalar_source(x: str, other: str) -> str:
    """Return source text that converts ``x``, a Python scalar, to the dtype of the operand ``other``.

    x, other : the names of the two operands in the generated function.  If the data of ``other`` is
    float64 or float32, the scalar becomes 0-d data, for float64 from a cache.  Otherwise NumPy would
    convert it in the forward and again in the backward pass.
    """
    has_dtype = f"type(d_{other}) is ndarray and d_{other}.dtype is"
    in_float64 = f"((SCALARS.get({x}) or [scalar({x})])[0] if {x} else asarray({x}, FLOAT64))"
    in_float32 = f"asarray({x}, FLOAT32)"
    return f"{in_float64} if {has_dtype} FLOAT64 else {in_float32} if {has_dtype} FLOAT32 else {x}"


def write_kind_choice(s: Source, spec: FunctionSpec) -> None:
    """Write the lines that set ``kind``, the type of data to compute on, and convert operands to it.

    The type is ``numpy.ndarray``, say, or that of vmap's batched data.
    """
    first, *others = spec.order
    s.line(f"kind = type(d_{first})")
    if others:
        differ = [f"type(d_{x}) is not kind and {x} is not CONSTANT" for x in others]
        handles, data = ", ".join(spec.op.inputs), ", ".join(f"d_{x}" for x in spec.op.inputs)
        with s.block(f"if {' or '.join([*differ, f'{first} is CONSTANT'])}:"):
            s.line(f"kind, {data} = promote(NAME, INPUTS, ({handles}), ({data}))")


# --- the raw function and its results -----------------------------------------------------------------
def write_raw_call(s: Source, spec: FunctionSpec) -> None:
    """Write the call of the raw function, such as NumPy's, and of ``call_again`` if it raises.

    The module ``raw_calls`` explains ``call_again``, which reports warnings at the user's line.
    """
    op, condition = spec.op, spec.condition
    value = {p.name: f"d_{p.name}" if p.name in op.inputs else p.name for p in spec.parameters}
    keyword_only = [p.name for p in spec.parameters if p.kind is p.KEYWORD_ONLY]
    positional = tuple(op.inputs if spec.operator else (p for p in value if p not in keyword_only))
    values = [value[p] for p in positional] + [f"{p}={value[p]}" for p in keyword_only]
    arguments = ", ".join(values)
    names = "INPUTS" if positional == op.inputs else positional
    raw, again = "RAW[kind]", "RAW"
    if condition:
        raw = f"(UFUNC if {CONDITIONS[condition]} else RAW[kind])"
        again = f"UFUNC if {CONDITIONS[condition]} else RAW"
    with s.block("try:"):
        s.line(f"result = {raw}({arguments})")
    with s.block("except Exception as error:"):
        s.line(f"result = call_again(NAME, error, {again}, kind, {names}, {arguments})")


def write_result_wrapping(s: Source, spec: FunctionSpec) -> None:
    """Write the lines that wrap the results in Arrays.

    A NumPy scalar becomes 0-d data, and its Array gets the state SCALAR.
    """
    if spec.several:
        s.line("answer, ys = wrap_all(result)")
        return
    s.line("answer = Array()")
    s.line("answer._state = 0")
    moved = " and type(result) not in STORAGES" if spec.op.moves else ""
    with s.block(f"if type(result) is not kind{moved}:"):
        s.line("result = asarray(result) if kind is ndarray else as_data(result, kind)")
        s.line("answer._state = SCALAR")
    s.line("answer._data = result")
    s.line("answer._value_id = 0")


# --- recording ----------------------------------------------------------------------------------------
def write_recording(s: Source, spec: FunctionSpec) -> None:
    """Write the lines that hand a record of the call to the recorders (tapes, say) of this thread.

    If only other threads have recorders, these are notified that the values are used.  If no recorder
    gets a record, the Arrays get a note on the op, a ``Cut``, for warnings about gradients of None.
    """
    op = spec.op
    ids = [f"t_{x}" for x in op.inputs]
    followed = f"any({ids[0]})" if op.variadic else " or ".join(ids)
    value_ids = ids[0] if op.variadic else f"({', '.join(ids)},)"
    operands = op.inputs[0] if op.variadic else f"({', '.join(op.inputs)},)"
    noted = f"note_cut(NAME, ({', '.join(spec.handles)},), {value_ids}, {operands})"
    with s.block(f"if {followed}:"):
        s.line("thread, recorders = active()")
        with s.block("if thread == get_ident():"):
            s.line("out = 0")
            s.line(f"wide = {needs_fit_source(spec)}")
            saved = write_saved_values(s, spec)
            if len(op.inputs) <= FEW and has_fixed_plans(op):
                write_subset_branches(s, spec, saved)
            else:
                write_general_recording(s, spec, saved)
            with s.block("if not out and AWAITED:"):
                s.line(noted)
        with s.block("else:"):
            with s.block("if OPEN:"):
                s.line(f"notify_other_threads({value_ids})")
            with s.block("if AWAITED:"):
                s.line(noted)
    with s.block("elif UNSTARTED:"):
        s.line(noted)


def has_fixed_plans(op: Op) -> bool:
    """Return True if an op's source has a branch for each subset of inputs that a tape may follow.

    Each branch makes the record of one plan.  Ops need rules, one result, and no sequence of inputs.
    """
    one_result = len(op.outputs) == 1 and not op.moves and not op.partly_unknown
    return bool(not op.variadic and one_result and (op.rules or op.joint))


def needs_fit_source(spec: FunctionSpec) -> str:
    """Return an expression that is true in a call if an input and the result differ in shape or dtype.

    It stands in the generated function.  If it is true, the backward pass has to sum or cast the
    contributions to fit the inputs.
    """
    op = spec.op
    if op.variadic:
        return "True"
    if op.kind != "elementwise":
        pairs = [(x, result) for x in op.inputs for result in spec.results]
        return " or ".join(f"(t_{x} and d_{x}.dtype is not {result}.dtype)" for x, result in pairs)
    if len(op.inputs) == 1:
        return f"d_{op.inputs[0]}.dtype is not result.dtype"
    if len(op.inputs) > 2:
        differs = "d_{x}.dtype is not result.dtype or d_{x}.shape != result.shape"
        each = [f"({x} is not CONSTANT and ({differs.format(x=x)}))" for x in op.inputs]
        return " or ".join(each)
    a, b = op.inputs
    own = f" or d_{a}.dtype is not result.dtype" if op.own_dtype else ""
    return (
        f"d_{a}.dtype is not result.dtype if {b} is CONSTANT else "
        f"d_{b}.dtype is not result.dtype if {a} is CONSTANT else "
        f"d_{a}.dtype is not d_{b}.dtype or d_{a}.shape != d_{b}.shape{own}"
    )


def write_saved_values(s: Source, spec: FunctionSpec) -> dict[str, str]:
    """Write the lines that compute the values in ``op.saves``, which only the backward pass needs.

    Return a dict from the names of these values to the local variables that hold them.
    """
    op = spec.op
    known = {x: f"d_{x}" for x in op.inputs} | dict(zip(op.outputs, spec.results, strict=True))
    known["storage"] = "STORAGES[kind]"
    known["handles"] = f"({', '.join([*op.inputs, *spec.handles])})"
    for saved, function in op.saves.items():
        arguments = ", ".join(known.get(p, p) for p in inspect.signature(function).parameters)
        there = f"saving(SAVE_{saved}, STORAGES[kind], {arguments})"
        s.line(f"s_{saved} = SAVE_{saved}({arguments}) if kind is ndarray else {there}")
        known[saved] = f"s_{saved}"
    return {saved: known[saved] for saved in op.saves}


def value_variables(spec: FunctionSpec, saved: dict[str, str]) -> dict[str, str]:
    """Return a dict from the values that rules can ask for to variables: {"x": "d_x", "y": "result"}.

    The variables are those of the generated function.  saved : the entries for the values in op.saves.
    """
    op = spec.op
    data = {x: f"d_{x}" for x in op.inputs} | dict(zip(op.outputs, spec.results, strict=True))
    return data | {p: p for p in op.parameters} | saved


def layout_expressions(spec: FunctionSpec) -> dict[str, str]:
    """Return the expressions for the shapes and dtypes that rules can ask for: {"shape x": "d_x.shape"}.

    The dict has entries for each input and output of the op.
    """
    op, found = spec.op, {}
    of_constant = {"shape": "()", "dtype": "None"}
    for what in LAYOUT:
        for x in op.inputs:
            one = f"({of_constant[what]} if {x} is CONSTANT else d_{x}.{what})"
            found[f"{what} {x}"] = f"{what}_of(d_{x})" if op.variadic else one
        for y, result in zip(op.outputs, spec.results, strict=True):
            found[f"{what} {y}"] = f"{result}.{what}"
    return found


def write_subset_branches(s: Source, spec: FunctionSpec, saved: dict[str, str]) -> None:
    """Write the lines that record an op with few inputs and one result on each recorder.

    The lines have a branch for each subset of the inputs that a recorder may follow.

    saved : dict from names of values that only the backward pass needs to their variables.
    """
    for head, wide in (("if not wide:", False), ("else:", True)):
        with s.block(head), s.block("for recorder in recorders:"):
            s.line("followed = recorder.followed")
            write_subset_tests(
                s, spec, value_variables(spec, saved) | layout_expressions(spec), wide
            )
            s.line("followed.add(out)")
            if wide:
                with s.block('if result.dtype.kind == "c":'):
                    s.line("recorder.notice(WIDES[1], ())")


def write_subset_tests(
    s: Source, spec: FunctionSpec, values: dict[str, str], wide: bool, at: int = 0, subset: int = 0
) -> None:
    """Write nested ``if`` statements, one for each input, that find the followed inputs.

    A recorder (a tape, say) follows an input if a derivative with respect to it may be asked for.

    values : dict from the names of values that a record may keep to variables and expressions.
    wide : True if records keep shape and dtype of inputs, because contributions must be cast or summed.
    at : the number of the input that the next ``if`` tests.
    subset : the inputs before ``at`` that are followed in the present branch, as bits: 1 for the first
    input, 2 for the second, 3 for both.
    """
    inputs = spec.op.inputs
    if at < len(inputs):
        with s.block(f"if t_{inputs[at]} in followed:"):
            write_subset_tests(s, spec, values, wide, at + 1, subset | 1 << at)
        with s.block("else:"):
            write_subset_tests(s, spec, values, wide, at + 1, subset)
    elif subset:
        write_record_call(s, spec.op, subset, values, wide)
    else:
        s.line("continue")


def write_record_call(s: Source, op: Op, subset: int, values: dict[str, str], wide: bool) -> None:
    """Write the lines of the branch for the followed inputs ``subset``, which record the call.

    The lines give the result a value id, mark data that the record keeps, and pass the record to the
    recorder.

    subset : the followed inputs; bit i is set for input i.
    values : dict from the names of values that a record may keep to variables and expressions.
    wide : True if records keep shape and dtype of inputs.
    """
    plan = (op.fitting_plans if wide else op.plans)[subset]
    s.line("if not out: out = answer._value_id = new_value_id()")
    for x in op.inputs:
        if x in plan.positions:
            if FREE_THREADED:
                s.line(f"if {x}._data is not None: d_{x} = keep({x})")
                continue
            s.line(f"state = {x}._state")
            with s.block(f"if state != {ONLY_KEPT}:"):
                s.line(f"if state < {KEEP_IS_A_MARK}: {x}._state = state | {KEPT}")
                s.line(f"else: d_{x} = keep({x})")
    if "y" in plan.positions:
        s.line(f"answer._state |= {KEPT}")
    kept = ", ".join([*(f"t_{x}" for x in op.inputs), *(values[name] for name in plan.positions)])
    s.line(f"recorder.record(({'WIDE' if wide else 'PLAN'}{subset}, out, {kept}))")


def write_general_recording(s: Source, spec: FunctionSpec, saved: dict[str, str]) -> None:
    """Write the lines that record an op with many inputs or results, for any subset of followed inputs.

    The lines make a tuple of all values that a record may keep.  The plan, which describes the records
    for one subset of followed inputs, selects from the tuple the values that it keeps.
    """
    op = spec.op
    bits = [f"(t_{x} in followed) << {i}" for i, x in enumerate(op.inputs)]
    one_bit = f"any([t in followed for t in t_{op.inputs[0]}])"
    with s.block("for recorder in recorders:"):
        s.line("followed = recorder.followed")
        s.line(f"subset = {one_bit if op.variadic else ' | '.join(bits)}")
        with s.block("if subset:"):
            with s.block("if not out:"):
                s.line(
                    "out = assign_ids(ys)"
                    if spec.several
                    else "out = answer._value_id = new_value_id()"
                )
            s.line("plan = (WIDES if wide else PLANS)[subset]")
            s.line(f"values = ({values_source(spec, saved)})")
            with s.block("for at, place in plan.hold:"):
                if FREE_THREADED:
                    s.line("if values[at]._data is None: continue")
                else:
                    s.line(f"if values[at]._state < {KEEP_IS_A_MARK}: values[at]._state |= {KEPT}")
                else_ = "" if FREE_THREADED else "else: "
                kept = "(*values[:place], keep(values[at]), *values[place + 1:])"
                s.line(f"{else_}values = {kept}")
            s.line("recorder.record(plan.pick(values))")
            s.line("followed.update(out)" if spec.several else "followed.add(out)")
            complex_result = " or ".join(f"is_complex({result})" for result in spec.results)
            with s.block(f"if plan.notable or {complex_result}:"):
                s.line("recorder.notice(plan, values)")


def values_source(spec: FunctionSpec, saved: dict[str, str]) -> str:
    """Return the source of the tuple of all values of a call that a record may keep.

    The caller adds the outer parentheses, because the text may be two tuples: ``x) if test else (y``.

    saved : dict from names of values that only the backward pass needs to their variables.
    """
    op = spec.op
    ids = [f"t_{x}" for x in op.inputs]
    values = [
        "plan.number",
        "out",
        *ids,
        *value_variables(spec, saved).values(),
        *op.inputs,
        *spec.handles,
    ]
    text, layout = ", ".join(values), ", ".join(layout_expressions(spec).values())
    if op.variadic or op.asks_layout:
        return f"{text}, {layout}"
    return f"{text}) if not wide else ({text}, {layout}"
