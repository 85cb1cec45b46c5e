"""What an op is: one statement in one of five words, and what a tape has to keep for it.

    exp      = elementwise("exp", lambda t, y: t * y)
    multiply = elementwise("multiply", lambda t, x2: t * x2, lambda t, x1: x1 * t)
    floor    = nondifferentiable("floor")

    @linear(transpose=lambda g, shape, axis, keepdims, xp: ...)
    def sum(x: Array, /, *, axis=None, dtype=None, keepdims=False) -> Array: "docstring"

A rule asks by parameter name: ``t`` (tangent) or ``g`` (cotangent) first; then the op's inputs,
its result ``y`` (or the fields of its results), its keyword parameters, what the op ``saves``,
``shape`` and ``dtype`` of the input in question, and ``xp``, the namespace to compute in.
What it asks for is exactly what a tape keeps.  An op whose parameters carry annotations with
``Array`` takes arrays there; the body of a decorated function is the storage's function of that
name, except in a ``composite``, whose body calls other ops.
"""

from __future__ import annotations

import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Rule = Callable[..., Any]
Function = Callable[..., Any]
Record = tuple[Any, ...]  # plan number, tid(s) of the result(s), tids of the inputs, what is kept

KINDS = ("elementwise", "linear", "primitive", "composite", "nondifferentiable")
PRODUCTS = {(lambda t, x: t * x).__code__.co_code, (lambda t, x: x * t).__code__.co_code}
LAYOUT = ("shape", "dtype")  # of the input in question
REGISTRY: dict[str, Op] = {}
ROOMS = os.path.dirname(os.path.dirname(__file__))
MACHINERY = {
    __file__,
    *(os.path.join(ROOMS, "_define", name) for name in ("words.py", "define_op.py")),
}


def same(t: Any) -> Any:
    """The rule of an input that goes into the result as it is: the engine need not call it."""
    return t


class Sample(NamedTuple):
    """Inputs for the generated tests: shapes (or ready arrays) for the inputs, and parameters."""

    inputs: tuple[Any, ...]
    parameters: dict[str, Any]
    domain: tuple[float, float] | None = None
    prepare: Function | None = None  # applied to the first input, such as to make it symmetric


def sample(
    *inputs: Any,
    domain: tuple[float, float] | None = None,
    prepare: Function | None = None,
    **parameters: Any,
) -> Sample:
    """One sample: a shape, None or a list of shapes for each array input, then keyword parameters."""
    return Sample(inputs, parameters, domain, prepare)


def declaration_line() -> str:
    """``file:line`` of the innermost running frame that is not the machinery of the five words."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename in MACHINERY:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Op:
    """One statement.  ``rules[i]`` is the VJP (or, of kind elementwise, the linear map) of input i;
    ``joint`` is one VJP for all inputs; both None: no rule, a LookupError on the path."""

    def __init__(
        self,
        name: str,
        kind: str,
        inputs: Sequence[str],
        *,
        parameters: Sequence[str] = (),
        outputs: Sequence[str] = ("y",),
        variadic: bool = False,
        rules: Sequence[Rule | None] | None = None,
        joint: Rule | None = None,
        saves: dict[str, Function] | None = None,
        samples: Sequence[Sample] = (),
        domain: tuple[float, float] | None = None,
        selects: bool | None = None,
        moves: bool = False,
        cusped: bool = False,
        linear_in: Sequence[str] = (),
        checked: bool = False,
        alone: Function | None = None,
        per_element: bool = False,
    ) -> None:
        self.name, self.kind = name, kind
        self.alone = alone  # what is called when one of its later inputs is None
        # Whether the VJPs only select, move and add up elements: see _guard.
        self.selects = kind == "linear" if selects is None else selects
        self.moves = moves  # whether the result may lie in another storage than the inputs
        self.inputs, self.parameters, self.outputs = (
            tuple(inputs),
            tuple(parameters),
            tuple(outputs),
        )
        self.cusped = cusped  # whether the slope may be finite where the curvature is not
        self.linear_in = tuple(linear_in)  # the inputs in each of which the op is linear
        self.diagonal = kind == "elementwise"
        # Whether each element of the results depends on one element of each input: so the op's raw
        # function serves batched data as it is.  Set by the words, and by the author of a primitive.
        self.per_element = per_element or kind == "elementwise"
        self.variadic = variadic
        self.saves = saves or {}
        self.samples, self.domain = tuple(samples), domain
        self.public: Function | None = None
        self.checked = checked  # whether its rules' contributions are fitted to the inputs
        self.plans: list[Plan] = []
        self.wides: list[Plan] = []
        self.declared = declaration_line()
        self.give_rules(rules, joint)

    @property
    def recorded(self) -> bool:
        return self.kind in ("elementwise", "linear", "primitive")

    def give_rules(self, rules: Sequence[Rule | None] | None, joint: Rule | None) -> None:
        """Set the VJP rules, check the names they ask for and compute what each subset keeps."""
        if rules is not None and len(rules) != len(self.inputs):
            raise TypeError(
                f"{self.name} has inputs {self.inputs}: give one rule for each (or None)"
            )
        asks = {rule: self._asked(rule) for rule in (*(rules or ()), joint) if rule}
        self.rules, self.joint, self.asks = rules, joint, asks
        asked = {name for names in self.asks.values() for name in names}
        # Without rules yet, the compiled function must serve whatever a later rule asks for.
        self.asks_layout = (
            bool(asked & {"shape", "dtype"}) or not (rules or joint)
            or self.kind == "primitive" or self.checked
        )  # fmt: skip
        subsets = range(1 << len(self.inputs)) if self.recorded else ()
        # In place: the compiled function refers to these lists.
        self.plans[:] = [Plan(self, subset, wide=False) for subset in subsets]
        self.wides[:] = [Plan(self, subset, wide=True) for subset in subsets]

    def _asked(self, rule: Rule) -> tuple[str, ...]:
        names = parameters_of(rule)
        legal = {*self.inputs, *self.outputs, *self.parameters, *self.saves, "shape", "dtype", "xp"}
        unknown = [name for name in names[1:] if name not in legal]
        if unknown or names[:1] not in (("t",), ("g",)):
            raise TypeError(
                f"rule {names} of op {self.name!r} asks for {unknown or names[:1]}; a rule takes "
                f"t or g first and then any of: {', '.join(sorted(legal))}"
            )
        return names[1:]

    def layout(self) -> dict[str, int]:
        """Where the compiled function puts each value in the tuple from which records are picked.

        First come the plan's number and the result's tid.
        """
        names = [*(f"tid {x}" for x in self.inputs), *self.inputs, *self.outputs]
        names += [*self.parameters, *self.saves]
        names += [f"handle {x}" for x in (*self.inputs, *self.outputs)]
        for what in LAYOUT:
            names += [f"{what} {x}" for x in (*self.inputs, *self.outputs)]
        return {name: position for position, name in enumerate(names, start=2)}


class Plan:
    """What to keep, and how to go back, when a given subset of an op's inputs is followed.

    ``wide``: shapes or dtypes of inputs and result differ, so contributions must be summed or
    cast to fit.  ``pick(values)`` is the record: the plan's number in ``PLANS``, result tid, input
    tids, then what is kept.  Numbers, not references: a record of ints and arrays is a tuple that
    the cyclic garbage collector does not track.
    """

    __slots__ = (
        "cusped", "diagonal", "fits", "hold", "inputs", "lifts", "missing", "name", "notable", "number",
        "op", "pick", "positions", "pulls", "wide",
    )  # fmt: skip

    def __init__(self, op: Op, subset: int, *, wide: bool) -> None:
        layout = op.layout()
        # A rule of the user's own is not trusted to give the input's shape and dtype.
        fitting = wide or op.checked
        followed = [x for i, x in enumerate(op.inputs) if subset >> i & 1]
        self.op, self.name, self.wide = op, op.name, wide
        self.number = enter(self)
        self.inputs: slice | int = 2 if op.variadic else slice(2, 2 + len(op.inputs))
        self.diagonal, self.cusped = op.diagonal, op.cusped
        # A None among the rules is a declaration: no gradient, as for the condition of where.
        self.missing = op.rules is None and op.joint is None
        self.notable = self.missing or op.moves
        if op.joint:
            rules: list[tuple[str, Rule | None]] = [(op.inputs[0], op.joint)]
        else:
            by_input = dict(zip(op.inputs, op.rules or (), strict=False))
            rules = [(x, by_input.get(x)) for x in followed]

        kept: dict[str, int] = {}  # value name -> its place in the record
        first = 2 + len(op.inputs)

        def place(name: str, source: str) -> int:
            if name == "xp":
                return 0
            return kept.setdefault(
                f"{name} {source}" if name in LAYOUT else name, first + len(kept)
            )

        self.pulls: list[tuple[Any, ...]] = []
        for x, rule in rules:
            if rule is None:
                continue
            asks = tuple(place(name, x) for name in op.asks[rule])
            only = asks[0] if len(asks) == 1 else 0
            fit = (place("shape", x), place("dtype", x)) if fitting and not op.joint else None
            self.pulls.append((2 + op.inputs.index(x), rule, only, asks, fit))
        self.fits = (
            tuple(tuple(place(what, x) for x in op.inputs) for what in LAYOUT)
            if fitting and op.joint else None
        )  # fmt: skip
        # For forward mode: a linear op is its own derivative, a primitive's is its VJP's transpose.
        if op.kind == "linear":
            for name in op.parameters:
                kept.setdefault(name, first + len(kept))
        elif op.kind == "primitive" or wide:
            for what in LAYOUT:
                for name in op.outputs:
                    if name not in kept:
                        place(what, name)
        # One rule of ours for each input, one result: the engine's loop takes the pulls as steps.
        if not (op.joint or op.checked or len(op.outputs) > 1):
            STEPS[self.number] = [step(*pull) for pull in self.pulls]
        self.positions = kept
        self.pick = itemgetter(*range(first), *(layout[name] for name in kept))
        data = (*op.inputs, *op.outputs)
        self.hold = tuple((layout[f"handle {x}"], layout[x]) for x in data if x in kept)
        self.lifts = tuple(
            (kept[x], 2 + op.inputs.index(x) if x in op.inputs else 1, data.index(x) - len(op.inputs))
            for x in data if x in kept
        )  # fmt: skip

    def push(self, tangents: Any, record: Record) -> list[Any]:
        """In forward mode: a tangent, or None, for each result of a record."""
        found: list[Any] = tangents.through(self, record)
        return found


def register(op: Op) -> Op:
    """Enter an op in the registry; KeyError when its name is taken, with the place of the first."""
    if op.name in REGISTRY:
        raise KeyError(f"op {op.name!r} is already declared at {REGISTRY[op.name].declared}")
    REGISTRY[op.name] = op
    return op


def parameters_of(rule: Rule) -> tuple[str, ...]:
    """The names that a rule asks for; plain functions are not worth a Signature object."""
    code = getattr(rule, "__code__", None)
    if code is None or hasattr(rule, "__wrapped__"):
        return tuple(inspect.signature(rule).parameters)
    count: int = code.co_argcount + code.co_kwonlyargcount
    names: tuple[str, ...] = code.co_varnames[:count]
    return names


def step(
    at: int, rule: Rule, only: int, asks: tuple[int, ...], fit: tuple[int, int] | None
) -> tuple[Any, ...]:
    """A pull as (where the tid is, rule, the one kept value it takes or 0, None or all it needs)."""
    if fit is None and (only or rule is same):
        # A line that is one product is called without a Python frame.
        code = getattr(rule, "__code__", None)
        product = code is not None and code.co_code in PRODUCTS
        return at, operator.mul if product else rule, only, None
    return at, rule, 0, (asks, fit)


class Structural:
    """A plan that is not an op's: how cotangents pass back and tangents forward through its records.

    pull : ``pull(pass, record)`` in the backward pass.  push : ``push(tangents, record)`` in forward
    mode gives a tangent, or None, for each result.  inputs : where a record has the tids of its inputs.
    cusped : whether what its records hold may have a cusp; then they say so themselves.
    unfolds : whether its records unfold into others, which carry what a guarded pass knows themselves.
    """

    __slots__ = ("cusped", "inputs", "name", "number", "pull", "push", "unfolds")
    missing = wide = False

    def __init__(
        self,
        name: str,
        pull: Function,
        push: Function,
        *,
        inputs: slice | int = slice(2, 3),
        cusped: bool = False,
        unfolds: bool = False,
    ) -> None:
        self.name, self.pull, self.push, self.inputs = name, pull, push, inputs
        self.cusped, self.unfolds = cusped, unfolds
        self.number = enter(self)


PLANS: list[Plan | Structural] = []  # by number
STEPS: list[list[tuple[Any, ...]] | None] = []  # by number; None where the loop must not hurry


def enter(plan: Plan | Structural) -> int:
    """Number a plan."""
    PLANS.append(plan)
    STEPS.append(None)
    return len(PLANS) - 1


# --- records: what any reader of a tape may ask of one ------------------------------------------------
def results_of(record: Record) -> tuple[int, ...]:
    """The tids of the values that a record made."""
    return record[1] if type(record[1]) is tuple else record[1:2]


def inputs_of(record: Record) -> tuple[int, ...]:
    """The tids of the values that went into a record; 0 for what nobody follows."""
    tids: tuple[int, ...] = record[PLANS[record[0]].inputs]
    return tids


def made_of(records: Iterable[Record], tids: Iterable[int]) -> set[int]:
    """These tids and those of all that records make of them."""
    found = set(tids)
    for record in records:
        if not found.isdisjoint(inputs_of(record)):
            found.update(results_of(record))
    return found
