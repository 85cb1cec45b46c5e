"""The five functions that declare an op, called words: they compile, document and register the op.

A rule receives values by the names of its parameters; ``_record.op`` lists the names.

word               JVP                       VJP                         a record keeps
elementwise        the rule                  the same rule, conjugated   the values that the rule names
linear             the op itself on t        a declared transpose        shape, parameters
primitive          transpose of the VJPs     a rule for each input       the values that the rules name
composite          those of the ops in it    those of the ops in it      as those ops do
nondifferentiable  none                      none: the gradient is None  nothing
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, overload

from .._array.array import Array
from .._record.op import REGISTRY, Cusped, Op, Origin, P, R, Sample, register, sample
from .._record.op_facts import FACTS
from .._record.plan import Rule, identity_rule
from .._util import errors
from .._util.options import unwrap_option
from .compile import compile_function, default_globals, public_module, replace_defaults
from .docstrings import op_docstring
from .keywords import ABSENT, OtherNames, call_numpys, refuse
from .op_function import give_code, uncompiled
from .operands import an_array
from .option_checks import is_option, write_option_check
from .source import Source


def positional_signature(names: Sequence[str]) -> inspect.Signature:
    """Return a signature of positional-only parameters with these names."""
    only = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(x, only) for x in names])


UNARY, BINARY = positional_signature(("x",)), positional_signature(("x1", "x2"))
# The operands with which tests call elementwise ops of one and of two operands, as shapes or numbers.
SHAPES1 = (sample((3, 4)), sample(()), sample((0, 3)))
SHAPES2 = (
    sample((3, 4), (3, 4)),
    sample((3, 1), (4,)),
    sample((), (3,)),
    sample((2, 0), (0,)),
    sample((3,), 0.7),
    sample(0.7, (3,)),
)


def sample_operands(count: int) -> tuple[Sample, ...]:
    """Return the operands with which tests call an elementwise op of ``count`` inputs, 3 or more."""
    rest = count - 2
    return (
        sample(*[(3, 4)] * count),
        sample((3, 1), (4,), *[()] * rest),
        sample(*[0.7] * (count - 1), (3,)),
        sample((2, 0), *[(0,)] * (count - 1)),
    )


def elementwise(
    name: str,
    *rules: Rule,
    domain: tuple[float, float] = (-2.0, 2.0),
    samples: Sequence[Sample] | None = None,
    saves: dict[str, Rule] | None = None,
    selects: bool = False,
    convert: bool = True,
    cusped: Cusped = False,
    inputs: Sequence[str] = (),
    doc: str = "",
    takes: str = "",
    gives: str = "",
    origin: Origin = "standard",
    **facts: Any,
) -> Callable[..., Array]:
    """Return the public function of an elementwise op, which has one rule for each input.

    A rule returns the tangent of the result, given the tangent ``t`` of its input.  The rule serves both
    modes: the VJP is ``conj(rule(conj(g)))``, which a pass sums over broadcast axes and casts to the
    input's dtype.

    domain : the interval in which generated tests sample.
    samples, saves, selects, cusped, origin : the attributes of ``Op`` with these names.
    convert : True to convert Python scalars to 0-d data once, not in each pass.
    inputs : the names of the operands, by default x, or x1 and x2.
    facts : fields of ``Facts``, such as ``continuous=False`` if the result jumps, and
    ``propagates_nan=False`` if the result may be a number although an operand is NaN.

    doc : the docstring: a summary, and paragraphs on the derivative at special points.
    takes : the dtypes of the operands, by default floating-point ones (real ones for two operands).
    gives : the dtype of the result.  Both ``takes`` and ``gives`` are keys of tables in ``docstrings``.
    """
    names = tuple(inputs) or (("x",) if len(rules) == 1 else ("x1", "x2"))
    signature = positional_signature(names)
    default = (
        SHAPES1 if len(rules) == 1 else SHAPES2 if len(rules) == 2 else sample_operands(len(rules))
    )
    op = Op(name, "elementwise", names, rules=rules, domain=domain,
            samples=default if samples is None else samples, saves=saves, selects=selects,
            cusped=cusped, doc=doc, origin=origin, **facts,
            takes=takes or ("floating" if len(rules) == 1 else "real floating"),
            gives=("x", gives or "floating") if len(rules) == 1
            else ("broadcast", gives or "promoted floating"))  # fmt: skip
    return publish_op(op, signature, convert=convert)


def nondifferentiable(
    name: str,
    inputs: int = 1,
    *,
    doc: str = "",
    takes: str = "any",
    gives: str = "bool",
    origin: Origin = "standard",
    **facts: Any,
) -> Callable[..., Array]:
    """Return the public function of an elementwise op of one or two inputs whose gradient is None.

    By default operands may have any dtype, and the result is boolean.  The parameters are those of
    ``elementwise``.
    """
    names, signature = (("x",), UNARY) if inputs == 1 else (("x1", "x2"), BINARY)
    shape = "" if not gives else "x" if inputs == 1 else "broadcast"
    rounds = gives == "x" and takes != "integral"
    facts = {"correctly_rounded": True, "propagates_nan": rounds} | facts
    op = Op(name, "nondifferentiable", names, signature="()->()" if inputs == 1 else "(),()->()",
            doc=doc, takes=takes, gives=(shape, gives), origin=origin, **facts)  # fmt: skip
    return publish_op(op, signature)


def linear(*, transpose: Rule, **options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that declares a linear op of one array input; ``transpose`` is its VJP.

    options : attributes of the op, such as ``samples`` for tests.
    """
    return functools.partial(declare_from_signature, "linear", transpose=transpose, **options)


def primitive(
    *vjps: Rule | None, joint: Rule | None = None, **options: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that declares an op with one VJP for each array input, or one ``joint`` VJP.

    An input whose VJP is None gets no gradient.  A joint VJP returns a tuple with a contribution for
    each input, which saves work that the inputs share.  options : parameters of ``Op``, such as
    ``linear_in``.
    """
    return functools.partial(declare_from_signature, "primitive", vjps=vjps, joint=joint, **options)


@overload
def composite(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def composite(**facts: Any) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def composite(function: Callable[..., Any] | None = None, /, **facts: Any) -> Any:
    """Declare an op whose function calls other ops; their records give its derivative in both modes.

    facts : fields of ``Facts``.  They describe NumPy's function of the same name, which rules may call
    on raw data, and are not inferred from the ops in the body.
    """
    if function is None:
        return functools.partial(composite, **facts)
    signature = inspect.signature(function)
    op = Op(public_name(function), "composite", inputs_among(signature)[0], **facts)
    public = with_array_check(op.name, function, signature)
    public.__module__ = public_module(op)
    public.__doc__ = op_docstring(op, signature, function.__doc__)
    enter_op(op, public)
    return public


def enter_op(op: Op, public: Callable[..., Any]) -> None:
    """Enter one of arraytape's own ops, with its function ``public``, in REGISTRY and in ``FACTS``.

    Set ``op.jumps``: True if the result may jump where an input changes continuously.
    """
    steps = op.per_element or op.kind == "nondifferentiable"
    op.jumps = steps and not (op.continuous or op.creates)
    register(op).public = public
    FACTS[op.name] = op


def with_array_check(
    name: str, function: Callable[P, R], signature: inspect.Signature
) -> Callable[P, R]:
    """Return the public function of a composite: it checks the arguments, and then calls ``function``.

    Arguments of parameters with the annotation ``Array`` may be raw arrays, which become Arrays;
    anything else raises TypeError.  Keyword-only parameters, and those of other annotations, are left to
    ``function``.

    The checks are generated source code, since a wrapper that reads the signature in each call takes
    longer.  The code is compiled at the first call, since otherwise the import would have to compile the
    code of all composites.
    """
    parameters = list(signature.parameters.values())
    if not any(is_checked(p) for p in parameters):
        return function
    scope: dict[str, Any] = {
        "Array": Array, "an_array": an_array, "body": function, "ABSENT": ABSENT, "refuse": refuse,
        "call_numpys": call_numpys,
        "refuse_bare": errors.raise_documented, "unwrap_option": unwrap_option,
    }  # fmt: skip

    def first_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        scope.update(default_globals(signature))
        source = check_source(name, parameters, OtherNames(name, parameters))
        give_code(public, source, "<arraytape composite>", "public")
        return public(*args, **kwargs)

    scope["first_call"] = first_call
    public: Any = functools.update_wrapper(FunctionType(uncompiled.__code__, scope), function)
    checked: Callable[P, R] = public
    return checked


def is_checked(parameter: inspect.Parameter) -> bool:
    """Return True if the public function of a composite converts this argument to an Array."""
    return parameter.annotation == "Array" and parameter.kind is not parameter.KEYWORD_ONLY


def check_source(name: str, parameters: Sequence[inspect.Parameter], others: OtherNames) -> str:
    """Return the source of a composite's public function: it checks arguments, then calls ``body``.

    name : the name of the op.  parameters : those of the op.
    others : the hidden parameters, which catch keywords of other libraries.
    """
    bare = replace_defaults([p.replace(annotation=p.empty) for p in others.all])
    s = Source()
    with s.block(f"def function{inspect.Signature(bare)}:"):
        others.check(s, repr(name))
        for p in parameters:
            if is_checked(p):
                write_array_conversion(s, name, p)
            elif is_option(p):
                write_option_check(s, p, tuples=True)
        given = ", ".join(argument_source(p) for p in parameters)
        with s.block("try:"):
            s.line(f"return body({given})")
        with s.block("except Exception as error:"):
            s.line(f"refuse_bare(error, {name!r}, {given})")
    return s.text()


def write_array_conversion(s: Source, name: str, parameter: inspect.Parameter) -> None:
    """Write the lines that convert the argument or arguments of a parameter to Arrays.

    s : the source text of an op's function, which gets the lines.  name : the name of the op.
    """
    x = parameter.name
    if parameter.kind is parameter.VAR_POSITIONAL:
        s.line(f"{x} = [an_array({name!r}, f'{x}[{{i}}]', x) for i, x in enumerate({x})]")
    else:
        with s.block(f"if type({x}) is not Array:"):
            s.line(f"{x} = an_array({name!r}, {x!r}, {x})")


def argument_source(parameter: inspect.Parameter) -> str:
    """Return the text that passes a parameter on in generated code: ``x``, ``*x`` or ``x=x``."""
    if parameter.kind is parameter.KEYWORD_ONLY:
        return f"{parameter.name}={parameter.name}"
    return f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name


def without_derivative(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that declares an op whose gradient is None; it may have any parameters.

    ``nondifferentiable`` is simpler, but only for elementwise ops of one or two inputs.

    options : attributes of the op, such as ``samples`` for tests.
    """
    return functools.partial(declare_from_signature, "nondifferentiable", **options)


def declare_from_signature(
    kind: str,
    function: Callable[P, R],
    *,
    transpose: Rule | None = None,
    vjps: Sequence[Rule | None] = (),
    joint: Rule | None = None,
    **options: Any,
) -> Callable[P, R]:
    """Return the public function of an op, given the decorated ``function``, whose body is never run.

    The function of the same name in NumPy computes the result.  The array inputs are the parameters
    whose annotation contains ``Array``.

    options : the parameters of ``Op``, of which ``signature`` is required.
    kind : the kind of op, such as "linear".  transpose : the VJP of a linear op.
    vjps, joint : one VJP for each input, or one for all.
    """
    signature = inspect.signature(function)
    if "signature" not in options:
        raise TypeError(
            f"{function.__name__}: state its signature by core dimensions, such as "
            f"signature='(N,N)->()', or '(...)->(...)' [at {errors.user_line()}]"
        )
    inputs, variadic = inputs_among(signature)
    rules: Sequence[Rule | None] | None = vjps or None
    if transpose is not None:
        rules, joint = (None, transpose) if variadic else ([transpose], joint)
    op = Op(
        public_name(function), kind, inputs, variadic=variadic, rules=rules, joint=joint,
        parameters=[name for name in signature.parameters if name not in inputs],
        **{"domain": (-2.0, 2.0)} | options,
    )  # fmt: skip
    public: Callable[P, R] = publish_op(op, signature, function.__doc__)
    public.__wrapped__ = function  # type: ignore[attr-defined]
    return public


def publish_op(
    op: Op, signature: inspect.Signature, own: str | None = None, **options: Any
) -> Callable[..., Any]:
    """Compile, document and register an op; return its public function.

    own : the docstring of its declaration.  options : keyword arguments of ``compile_function``.
    """
    public = compile_function(op, signature, **options)
    public.__doc__ = op_docstring(op, signature, own)
    enter_op(op, public)
    return public


def public_name(function: Callable[..., Any]) -> str:
    """Return the name of the op that ``function`` declares: ``linalg.svd`` for svd in ops/linalg."""
    chapter = function.__module__.rpartition(".")[2]
    return f"{chapter}.{function.__name__}" if chapter in ("linalg", "fft") else function.__name__


def array_inputs(function: Callable[..., Any]) -> tuple[list[str], bool]:
    """Return the names of a function's array inputs, and True if the only one is a sequence."""
    return inputs_among(inspect.signature(function))


def inputs_among(signature: inspect.Signature) -> tuple[list[str], bool]:
    """Return the names of the array inputs, the parameters whose annotation contains ``Array``.

    The second result is True for a variadic op: its only array input is a sequence of Arrays.
    """
    notes = {name: str(p.annotation) for name, p in signature.parameters.items()}
    inputs = [name for name, note in notes.items() if "Array" in note]
    variadic = len(inputs) == 1 and "Sequence[Array]" in notes[inputs[0]]
    return inputs, variadic


__all__ = [
    "REGISTRY", "composite", "elementwise", "identity_rule", "linear", "nondifferentiable", "primitive",
    "sample", "without_derivative",
]  # fmt: skip
