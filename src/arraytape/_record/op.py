"""Ops: the class ``Op``, which holds the statement of an op, and the registry of all ops.

An op is stated by one of five functions (``_define.words``), with its rules:

    exp      = elementwise("exp", lambda t, y: t * y)
    multiply = elementwise("multiply", lambda t, x2: t * x2, lambda t, x1: x1 * t)
    floor    = nondifferentiable("floor")

    @linear(transpose=lambda g, shape, axis, keepdims, xp: ...)
    def sum(x: Array, /, *, axis=None, dtype=None, keepdims=False) -> Array: "docstring"

The names of a rule's parameters say which values the rule needs, and a tape keeps exactly these values.
The first parameter is ``t`` (tangent) or ``g`` (cotangent).  The others may be the names of the op's
inputs, of its result ``y`` (or several results), of its keyword parameters, and of values in ``saves``.
``shape`` and ``dtype`` are those of the input to which the rule belongs, and ``xp`` is the namespace in
which to compute.

A parameter of a decorated function is an input of the op if its annotation has ``Array``.  The body of
the function never runs: the op calls the function of the same name in the raw namespace.  Only the body
of a ``composite`` runs, and calls other ops.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections import UserDict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

from .._util.errors import user_line
from .._util.remembered import remembered
from .op_facts import Facts
from .plan import LAYOUT, PLANNING, Plan, Reading, Rule, Unknown

P = ParamSpec("P")
R = TypeVar("R")
Function = Callable[..., Any]
Cusped = bool | Callable[[Callable[[str], Any]], bool]  # the type of Op.cusped and Op.selects
Origin = Literal["standard", "extra", "inner"]  # the type of Op.origin

KINDS = ("elementwise", "linear", "primitive", "composite", "nondifferentiable")
PACKAGE = __name__.partition(".")[0]
CHAPTERS = (  # modules in ``ops`` that declare ops: imported when a look-up first misses a name
    "creation_functions", "data_type_functions", "elementwise_functions", "extras", "fft",
    "indexing_functions", "linalg", "linear_algebra_functions", "manipulation_functions",
    "searching_functions", "set_functions", "sorting_functions", "statistical_functions",
    "utility_functions",
)  # fmt: skip


class Registry(UserDict[str, "Op"]):
    """A mapping from the names of ops to ops, which imports the modules of ops when it needs them.

    A module of ops enters its ops as it is imported.  If a name is missing, or the length or all names
    are asked for, all modules in CHAPTERS are imported.
    """

    def complete(self) -> None:
        """Import all modules that declare ops, so that the mapping has all ops."""
        for chapter in CHAPTERS:
            import_module(f"{PACKAGE}.ops.{chapter}")

    def __missing__(self, name: str) -> Op:
        self.complete()
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        if name not in self.data:
            self.complete()
        return name in self.data

    def __len__(self) -> int:
        self.complete()
        return len(self.data)

    def __iter__(self) -> Iterator[str]:
        self.complete()
        return iter(self.data)


REGISTRY = Registry()
ROOMS = os.path.dirname(os.path.dirname(__file__))  # the folder of the package
MACHINERY = {  # files whose frames lie between the statement of an op and ``Op.__init__``
    __file__,
    *(os.path.join(ROOMS, "_define", name) for name in ("words.py", "define_op.py")),
    os.path.join(ROOMS, "special", "_statement.py"),
    os.path.join(ROOMS, "_util", "errors.py"),
}


class Sample(NamedTuple):
    """Arguments of an op for generated tests, stated with the op.

    inputs : for each input a shape, for which the tests draw random values; an array; None; or a list of
    shapes, for an input that is a sequence of arrays.
    parameters : the keyword arguments.
    domain : the bounds of the random values of the inputs; None for the domain of the op.
    prepare : a function that is applied to the first input, for example to make it symmetric.
    """

    inputs: tuple[Any, ...]
    parameters: dict[str, Any]
    domain: tuple[float, float] | None = None
    prepare: Function | None = None


def sample(
    *inputs: Any,
    domain: tuple[float, float] | None = None,
    prepare: Function | None = None,
    **parameters: Any,
) -> Sample:
    """Return a Sample, with ``parameters`` as keyword arguments of the op."""
    return Sample(inputs, parameters, domain, prepare)


def declaration_line() -> str:
    """Return the ``file:line`` at which the op that is being made is stated.

    The line is that of the innermost frame whose file is not in MACHINERY.
    """
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename in MACHINERY:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Op(Facts):
    """An op as it was stated: its name, inputs and parameters, the rules of its derivative, and facts.

    name, kind
        The name, and one of KINDS: the name of the function that stated the op.
    inputs, parameters, outputs
        The names of the Array arguments, of the other arguments, and of the results.
    variadic
        True if the single input is a sequence of Arrays, as for ``concat``.
    rules, joint
        ``rules[i]`` is the VJP of input i.  For an elementwise op it is the linear map of the input's
        tangent.  The rule is None if the input has no gradient, and an Unknown if its gradient is not
        known.  ``joint`` is one VJP for all inputs, in place of ``rules``.  An op with neither has no
        rule yet, and a gradient through it raises LookupError.
    saves
        A dict from names to functions, which are called with the inputs while recording.  Their results
        are kept for rules with parameters of these names.  A function may have a side effect instead,
        for example note that one input is a factor of another input.
    samples, domain
        Samples for generated tests, and the bounds of the random values that the tests draw.
    selects
        True if the VJPs only select, move and add elements.  A guarded pass (the rerun after a NaN) can
        then apply them to a mask of elements.  Or a function that returns this for a record, as for
        ``cusped``.
    moves
        True if the raw data of the result may be of another type than that of the inputs, for example
        of another library.
    cusped
        True if the first derivative may be finite where the second is infinite, as x ** 1.5 at 0.  Or a
        function that returns this for a record.  Its argument is a function from the name of a value to
        the kept value, or to None if the record does not keep the value.
    linear_in
        The inputs in each of which the op is linear: forward mode applies the op to their tangents.
    checked
        True if a user wrote the rules.  The shapes and dtypes of their results are then checked.  The
        rerun after a NaN never runs such rules on masks or made-up values (see ``_tape.guard``).
    alone
        The function of all inputs that is called in place of the op if an input after the first is None.
    own_dtype
        True if the result may have another dtype than the operands even if these have the same dtype,
        as the complex result of real data.
    doc
        The docstring of an op that is stated without a decorated function: a summary, and paragraphs on
        its derivative.
    takes, gives
        The dtypes of the operands, and the shape and dtype of the result, as keys of tables in
        ``_define.docstrings``; "" if the docstring itself has them.
    origin
        "standard" for a function of the array API standard, "extra" for another public function,
        "inner" for a function that is only called by public ones.
    facts
        Attributes of ``Facts``.  By default elementwise ops of arraytape are continuous and propagate
        NaN, those of several operands promote the operands, and linear ops are continuous.

    Attributes
    ----------
    public
        The function that users call.
    functions
        An ``OpFunction`` for each function that is compiled from the statement: the public function, and
        the methods of operators such as ``__add__``.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        inputs: Sequence[str],
        *,
        parameters: Sequence[str] = (),
        outputs: Sequence[str] = ("y",),
        variadic: bool = False,
        rules: Sequence[Rule | Unknown | None] | None = None,
        joint: Rule | None = None,
        saves: dict[str, Function] | None = None,
        samples: Sequence[Sample] = (),
        domain: tuple[float, float] | None = None,
        selects: Cusped | None = None,
        moves: bool = False,
        cusped: Cusped = False,
        linear_in: Sequence[str] = (),
        checked: bool = False,
        alone: Function | None = None,
        own_dtype: bool = False,
        doc: str = "",
        takes: str = "",
        gives: tuple[str, str] = ("", ""),
        origin: Origin = "standard",
        **facts: Any,
    ) -> None:
        self.name, self.kind, self.variadic = name, kind, variadic
        self.doc, self.takes, self.gives, self.origin = doc, takes, gives, origin
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.parameters, self.linear_in = tuple(parameters), tuple(linear_in)
        self.saves = saves or {}
        self.samples, self.domain = tuple(samples), domain
        self.selects = kind == "linear" if selects is None else selects
        self.diagonal = kind == "elementwise"  # the Jacobian of an elementwise op is diagonal
        self.moves, self.cusped, self.checked, self.alone = moves, cusped, checked, alone
        self.own_dtype = own_dtype
        self.continuous = kind in ("elementwise", "linear") and not checked
        if self.diagonal:
            self.signature = f"{'(),' * len(self.inputs)}->()".replace(",->", "->")
            self.propagates_nan = not checked
        self.with_facts(facts)
        if self.per_element and kind != "composite" and "promotes" not in facts:
            self.promotes = "all" if len(self.inputs) > 1 else ""
        self.public: Function | None = None
        self.functions: list[Any] = []
        self._plans: tuple[list[Plan], list[Plan]] = ([], [])
        self.declared = declaration_line()
        self.give_rules(rules, joint)

    @property
    def recorded(self) -> bool:
        """Return True if tapes record a call of the op; of a composite they record the inner ops."""
        return self.kind in ("elementwise", "linear", "primitive")

    @remembered
    def linear_places(self) -> tuple[tuple[int, ...], ...]:
        """Return groups of operands (positions) in which the op is linear while others are constant.

        ``x1 + x2`` has the group (0, 1), and ``x1 * x2`` has the groups (0,) and (1,).  An elementwise
        op is linear in an operand if its rule for the operand asks neither for the operand nor for the
        result.
        """
        if self.linear_in or (self.kind == "linear" and not self.variadic):
            return tuple([(self.inputs.index(x),) for x in self.linear_in or self.inputs])
        if not (self.diagonal and self.continuous and self.rules):
            return ()
        asks = [{*self.asks.get(rule, ("y",))} if callable(rule) else {"y"} for rule in self.rules]
        names, results = self.inputs, {*self.outputs, *self.saves}
        free = [i for i, x in enumerate(names) if not asks[i] & {x, *results}]
        groups = [
            tuple([j for j in free if i == j or not {names[i], names[j]} & (asks[i] | asks[j])])
            for i in free
        ]
        return tuple(dict.fromkeys(groups))

    def give_rules(self, rules: Sequence[Rule | Unknown | None] | None, joint: Rule | None) -> None:
        """Set the op's rules, and make its plans (descriptions of its records) again if there are any.

        ``register_gradient`` calls this for an op that was stated without rules.

        rules : for each input its VJP, or None for no gradient.  joint : one VJP for all inputs.
        """
        if rules is not None and len(rules) != len(self.inputs):
            raise TypeError(
                f"{self.name} has inputs {self.inputs}: give one rule for each (or None)"
            )
        given = [rule for rule in (*(rules or ()), joint) if rule]
        asks = {
            rule: self._checked_parameters(rule) for rule in given if not isinstance(rule, Unknown)
        }
        self.partly_unknown = len(asks) < len({*given})
        self.rules, self.joint, self.asks = rules, joint, asks
        asked = {name for names in self.asks.values() for name in names}
        # An op without rules may get a rule later, with the parameter ``shape`` or ``dtype``.
        self.asks_layout = (
            bool(asked & {"shape", "dtype"}) or not (rules or joint)
            or self.kind == "primitive" or self.checked
        )  # fmt: skip
        if self._plans[0]:
            self._plan()

    @property
    def plans(self) -> list[Plan]:
        """Return the plans of calls in which all inputs have the shape and dtype of the result.

        A plan describes the op's records for one subset of inputs that tapes follow.  The index in the
        list is an int whose bit i is set if input i is followed.
        """
        return self._planned()[0]

    @property
    def fitting_plans(self) -> list[Plan]:
        """Return the plans of calls in which an input and the result differ in shape or dtype.

        A backward pass then sums the results of rules over broadcast axes, and casts them to the dtypes
        of inputs.  The index in the list is an int whose bit i is set if tapes follow input i.
        """
        return self._planned()[1]

    def _planned(self) -> tuple[list[Plan], list[Plan]]:
        """Return the lists ``plans`` and ``fitting_plans``, and fill them at the first call.

        To make the plans of all ops at the import would take long.
        """
        if not self._plans[0] and self.recorded:
            with PLANNING:
                if not self._plans[0]:
                    self._plan()
        return self._plans

    def _plan(self) -> None:
        """Make all plans, and put them into the lists ``plans`` and ``fitting_plans``.

        The compiled op refers to the two lists, so they stay the same objects.  ``plans`` is filled
        last: it is empty after an interruption, and the plans are made again.
        """
        subsets = range(1 << len(self.inputs))
        plans, fitting = self._plans
        fitting[:] = [Plan(self, subset, needs_fit=True) for subset in subsets]
        plans[:] = [Plan(self, subset, needs_fit=False) for subset in subsets]

    def _checked_parameters(self, rule: Rule) -> tuple[str, ...]:
        """Return the names of a rule's parameters after the first; raise TypeError for unknown names.

        The first is the cotangent or tangent.  The names say which values of a call a tape has to keep.
        """
        names = rule_parameter_names(rule)
        legal = {*self.inputs, *self.outputs, *self.parameters, *self.saves, "shape", "dtype", "xp"}
        unknown = [name for name in names[1:] if name not in legal]
        if unknown or names[:1] not in (("t",), ("g",)):
            raise TypeError(
                f"rule {names} of op {self.name!r} asks for {unknown or names[:1]}; a rule takes "
                f"t or g first and then any of: {', '.join(sorted(legal))} [at {user_line()}]"
            )
        if self.checked:
            self._check_unambiguous(names[1:])
        return names[1:]

    def _check_unambiguous(self, names: Sequence[str]) -> None:
        """Raise TypeError if one of ``names``, the parameters of a user's rule, can mean two values.

        For example, ``shape`` is the shape of an input, and may be a parameter of the op, too.
        """
        meanings = {"shape": "the shape of an input", "dtype": "the dtype of an input"}
        meanings |= dict.fromkeys(self.outputs, "a result")
        for name in names:
            if name in meanings and name in (*self.inputs, *self.parameters):
                raise TypeError(
                    f"op {self.name!r} has a parameter called {name!r}, and a rule that asks for "
                    f"{name!r} may mean it or {meanings[name]} [at {user_line()}]; give the parameter "
                    f"another name"
                    + (", or the results by outputs=" if name in self.outputs else "")
                )

    def value_positions(self) -> dict[str, int]:
        """Return a dict from names to positions in the tuple of all values that a record may keep.

        The compiled op makes this tuple for a call, and picks the items of the record from it.
        Positions 0 and 1 have the plan's number and the result's id.  The others have value ids, data,
        parameters, Arrays (handles), shapes and dtypes.
        """
        names = [*(f"value_id {x}" for x in self.inputs), *self.inputs, *self.outputs]
        names += [*self.parameters, *self.saves]
        names += [f"handle {x}" for x in (*self.inputs, *self.outputs)]
        for what in LAYOUT:
            names += [f"{what} {x}" for x in (*self.inputs, *self.outputs)]
        return {name: position for position, name in enumerate(names, start=2)}


def register(op: Op) -> Op:
    """Enter an op in REGISTRY, and return the op.

    Raise KeyError if another op has the name; the message has the line at which that op was stated.  A
    statement of arraytape itself may run again, if an interruption ended the import of its module.
    """
    # ``data`` is used, since a look-up in REGISTRY of a missing name imports all CHAPTERS.
    found = REGISTRY.data.setdefault(op.name, op)
    if found is not op and op.declared == found.declared and op.declared.startswith(ROOMS):
        REGISTRY[op.name] = op
    elif found is not op:
        raise KeyError(f"op {op.name!r} is already declared at {found.declared} [at {user_line()}]")
    return op


def rule_parameter_names(rule: Rule) -> tuple[str, ...]:
    """Return the names of a rule's parameters.

    They are read from the code object, since ``inspect.signature`` is slow.
    """
    if isinstance(rule, Reading):
        return "g", *rule.names
    code = getattr(rule, "__code__", None)
    if code is None or hasattr(rule, "__wrapped__"):
        return tuple(inspect.signature(rule).parameters)
    count: int = code.co_argcount + code.co_kwonlyargcount
    names: tuple[str, ...] = code.co_varnames[:count]
    return names
