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
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, ParamSpec, TypeVar

from ._errors import user_line

P = ParamSpec("P")
R = TypeVar("R")
Rule = Callable[..., Any]
Function = Callable[..., Any]

KINDS = ("elementwise", "linear", "primitive", "composite", "nondifferentiable")
REGISTRY: dict[str, Op] = {}


class Sample(NamedTuple):
    """Inputs for the generated tests: shapes (or ready arrays) for the inputs, and parameters."""

    inputs: tuple[Any, ...]
    parameters: dict[str, Any]
    domain: tuple[float, float] | None = None


def sample(*inputs: Any, domain: tuple[float, float] | None = None, **parameters: Any) -> Sample:
    """One sample: a shape, None or a list of shapes for each array input, then keyword parameters."""
    return Sample(inputs, parameters, domain)


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
    ) -> None:
        self.name, self.kind = name, kind
        self.inputs, self.parameters, self.outputs = tuple(inputs), tuple(parameters), tuple(outputs)
        self.variadic = variadic
        self.saves = saves or {}
        self.samples, self.domain = tuple(samples), domain
        self.public: Function | None = None
        self.plans: list[Plan] = []
        self.wides: list[Plan] = []
        self.declared = user_line()
        self.give_rules(rules, joint)

    @property
    def differentiable(self) -> bool:
        return self.kind != "nondifferentiable"

    def give_rules(self, rules: Sequence[Rule | None] | None, joint: Rule | None) -> None:
        """Set the VJP rules, check the names they ask for and compute what each subset keeps."""
        self.rules, self.joint = rules, joint
        if rules is not None and len(rules) != len(self.inputs):
            raise TypeError(f"{self.name} has inputs {self.inputs}: give one rule for each (or None)")
        self.asks = {rule: self._asked(rule) for rule in (*(rules or ()), joint) if rule}
        asked = {name for names in self.asks.values() for name in names}
        # Without rules yet, the compiled function must serve whatever a later rule asks for.
        self.asks_layout = bool(asked & {"shape", "dtype"}) or not (rules or joint)
        subsets = range(1 << len(self.inputs)) if self.differentiable else ()
        # In place: the compiled function refers to these lists.
        self.plans[:] = [Plan(self, subset, wide=False) for subset in subsets]
        self.wides[:] = [Plan(self, subset, wide=True) for subset in subsets]

    def _asked(self, rule: Rule) -> tuple[str, ...]:
        names = tuple(inspect.signature(rule).parameters)
        legal = {*self.inputs, *self.outputs, *self.parameters, *self.saves, "shape", "dtype", "xp"}
        unknown = [name for name in names[1:] if name not in legal]
        if unknown or names[:1] not in (("t",), ("g",)):
            raise TypeError(
                f"rule {names} of op {self.name!r} asks for {unknown or names[:1]}; a rule takes "
                f"t or g first and then any of: {', '.join(sorted(legal))}"
            )
        return names[1:]

    def layout(self) -> dict[str, int]:
        """Where the compiled function puts each value in the tuple that it hands to recorders."""
        names = [*(f"tid {x}" for x in self.inputs), *self.inputs, *self.outputs]
        names += [*self.parameters, *self.saves]
        names += [f"handle {x}" for x in (*self.inputs, *self.outputs)]
        names += [f"shape {x}" for x in self.inputs] + [f"dtype {x}" for x in self.inputs]
        return {name: position for position, name in enumerate(names, start=1)}


class Plan:
    """What to keep, and how to go back, when a given subset of an op's inputs is followed.

    ``wide``: shapes or dtypes of inputs and result differ, so contributions must be summed or
    cast to fit.  ``pick(values)`` is the record: result tid, input tids, then what is kept.
    """

    __slots__ = (
        "diagonal", "hold", "joint", "lifts", "many", "missing", "op", "pick", "positions",
        "pulls", "result", "special", "wide",
    )  # fmt: skip

    def __init__(self, op: Op, subset: int, *, wide: bool) -> None:
        layout = op.layout()
        followed = [x for i, x in enumerate(op.inputs) if subset >> i & 1]
        self.op, self.wide, self.many = op, wide, len(op.outputs) > 1
        self.diagonal = op.kind == "elementwise"
        self.result = layout[op.outputs[0]]
        self.special: Function | None = None
        self.joint = op.joint is not None
        rules = [op.joint] if op.joint else [op.rules[op.inputs.index(x)] for x in followed] if op.rules else []
        # None in rules: declared to have no gradient, such as the condition of where.
        self.missing = op.rules is None and op.joint is None

        kept: dict[str, int] = {}  # value name -> its place in the record
        first = 1 + len(op.inputs)

        def place(name: str, source: str) -> int:
            if name in ("shape", "dtype"):
                name = f"{name} {source}"
            if name == "xp":
                return -1
            return kept.setdefault(name, first + len(kept))

        self.pulls: list[tuple[Any, ...]] = []
        if self.missing:
            rules, followed = [], []
        for rule, x in zip(rules, op.inputs[:1] if op.joint else followed, strict=True):
            if rule is None:
                continue
            asks = tuple(place(name, x) for name in op.asks[rule])
            if op.joint:
                fit = tuple((place("shape", z), place("dtype", z)) for z in op.inputs) if wide else None
            else:
                fit = (place("shape", x), place("dtype", x)) if wide else None
            self.pulls.append((1 + op.inputs.index(x), rule, asks, fit))
        self.positions = kept
        self.pick = itemgetter(*range(first), *(layout[name] for name in kept))
        data = (*op.inputs, *op.outputs)
        self.hold = tuple((layout[f"handle {x}"], layout[x]) for x in data if x in kept)
        self.lifts = tuple(
            (kept[x], 1 + op.inputs.index(x) if x in op.inputs else 0, data.index(x) - len(op.inputs))
            for x in data if x in kept
        )  # fmt: skip


def register(op: Op) -> Op:
    """Enter an op in the registry; KeyError when its name is taken, with the place of the first."""
    if op.name in REGISTRY:
        raise KeyError(f"op {op.name!r} is already declared at {REGISTRY[op.name].declared}")
    REGISTRY[op.name] = op
    return op


class Structural:
    """A plan that is not an op's: its records go back by ``special(cotangents, record)``."""

    __slots__ = ("hold", "missing", "name", "special", "wide")
    pick = staticmethod(tuple)  # the record is the values as they are

    def __init__(self, name: str, special: Function) -> None:
        self.name, self.special = name, special
        self.hold: tuple[Any, ...] = ()
        self.missing = self.wide = False
