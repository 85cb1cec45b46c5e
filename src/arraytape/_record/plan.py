"""Plans and records: what a tape keeps of one call of an op, and how a pass goes through it.

A record is a plain tuple ``(number of its plan, value ids of results, value ids of inputs, kept
values)``: numbers and arrays, no references to objects, so that the cyclic garbage collector does not
track it.  Its plan has the places of the items: use ``results_of``, ``inputs_of``, ``plan.kept_value``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from .._util.locks import reentrant_lock

if TYPE_CHECKING:
    from .._array.array import Array
    from .._tape.backward import BackwardPass
    from .._tape.forward import ForwardPass
    from .._util.array_types import RawArray
    from .op import Op

Rule = Callable[..., Any]
Function = Callable[..., Any]
Record = tuple[Any, ...]

LAYOUT = ("shape", "dtype")  # of an input or a result, kept in place of its data
PRODUCTS = {(lambda t, x: t * x).__code__.co_code, (lambda t, x: x * t).__code__.co_code}


def identity_rule(t: RawArray) -> Any:
    """Return the tangent unchanged: a pass need not call the rule of such an input."""
    return t


class Unknown:
    """The rule of an input whose derivative is not known; ``why`` completes "... because".

    A gradient that needs it is a LookupError; the rules of the other inputs are as they are.
    """

    def __init__(self, why: str) -> None:
        self.why = why


class Lazy:
    """A part of a joint rule's result that is computed only if its input is followed."""

    __slots__ = ("form",)

    def __init__(self, form: Callable[[], Any]) -> None:
        self.form = form


class Reading:
    """The rule of an op that reads a part ``x[key]`` of its input.

    A pass adds the cotangent to the input's buffer at the key (``BackwardPass.add_part``): with sums of
    whole arrays a loop that reads each element would take quadratic time.  A call of the rule returns
    zeros with the cotangent added at the key.

    key : returns the key; its arguments are kept values by name.  Its docstring is that of the rule.
    """

    def __init__(self, key: Function) -> None:
        self.key, self.asked = key, key.__code__.co_varnames[: key.__code__.co_argcount]
        self.names = tuple(dict.fromkeys((*self.asked, "shape", "xp")))
        self.__doc__ = key.__doc__

    def key_from(self, kept: Sequence[Any]) -> Any:
        named = dict(zip(self.names, kept, strict=True))
        return self.key(*[named[name] for name in self.asked])

    def __call__(self, g: RawArray, *kept: Any) -> Any:
        *_, xp = kept
        shape = kept[self.names.index("shape")]
        return xp.scatter_add(g, shape, self.key_from(kept))


class Pull(NamedTuple):
    """A plan's call of one rule; all fields but the rule are places in a record.

    at : the id of the input.  only : the kept value that the rule takes if it takes just one, else 0.
    asks : the rule's arguments after the cotangent, 0 for the namespace.  fit : the shape and dtype of
    the input to which the contribution is summed and cast; None if neither is needed.
    """

    at: int
    rule: Rule
    only: int
    asks: tuple[int, ...]
    fit: tuple[int, int] | None


class Slots:
    """The places of kept values in a record, from ``first`` on, in the order of the first requests.

    places : by name; "shape x" is the shape of an x whose data is not kept.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.places: dict[str, int] = {}

    def slot_for(self, name: str, of: str) -> int:
        """Return the place of a value; ``shape`` and ``dtype`` are those of the value ``of``."""
        if name == "xp":
            return 0
        return self.keep_slot(f"{name} {of}" if name in LAYOUT else name)

    def keep_slot(self, name: str) -> int:
        """Return the place of the value of exactly this name: a parameter may be called ``shape``."""
        return self.places.setdefault(name, self.first + len(self.places))


class Plan:
    """The kept values of an op's call and the calls of its rules, for one subset of followed inputs.

    needs_fit : whether shapes or dtypes of inputs and result differ, so that contributions are summed
    or cast.  followed : for each input, whether it is followed.  pick : makes the record from the
    compiled function's tuple of all values.  positions : the places of kept values in a record, by name.

    hold : places of handles and data in the tuple of all values, for data that the record shares with
    Arrays.  lifts : for each kept input or result, the place of its data in a record, that of its id or
    ids, and the number among these.  saved : the places of what the op saves.  unknown : by place of the
    id, name and reason of followed inputs without a known derivative.  reading : the call of the rule of
    an op that reads a part of its input.
    """

    __slots__ = (
        "cusped", "diagonal", "fits", "followed", "hold", "inputs", "lifts", "missing", "name",
        "needs_fit", "notable", "number", "op", "pick", "positions", "pulls", "reading", "saved",
        "unknown",
    )  # fmt: skip

    def __init__(self, op: Op, subset: int, *, needs_fit: bool) -> None:
        self.op, self.name, self.needs_fit = op, op.name, needs_fit
        self.diagonal, self.cusped = op.diagonal, op.cusped
        self.followed = tuple([bool(subset >> i & 1) for i in range(len(op.inputs))])
        self.inputs: slice | int = 2 if op.variadic else slice(2, 2 + len(op.inputs))
        self.missing = op.rules is None and op.joint is None
        self.unknown = unknown_of(op, subset)
        self.notable = self.missing or op.moves or bool(self.unknown)
        self.number = number_plan(self)
        slots = Slots(2 + len(op.inputs))
        self.pulls = pulls_of(op, subset, needs_fit, slots)
        self.fits: tuple[tuple[int, ...], ...] | None = None
        if op.joint and (needs_fit or op.checked):
            self.fits = tuple(tuple(slots.slot_for(what, x) for x in op.inputs) for what in LAYOUT)
        keep_for_forward_mode(op, needs_fit, slots)
        # A user's rule, a joint rule and one for several results take the general form of a pass.
        if not (op.joint or op.checked or len(op.outputs) > 1):
            STEPS[self.number] = [plan_step(pull) for pull in self.pulls]
        self.reading: Pull | None = None
        for pull in self.pulls:
            if isinstance(pull.rule, Reading) and pull.fit is None:
                self.reading, STEPS[self.number] = pull, None
        self.positions = slots.places
        self.place_in_values(slots)

    def place_in_values(self, slots: Slots) -> None:
        """Set the places of the record's items in the compiled function's tuple of all values."""
        op, values, kept = self.op, self.op.value_positions(), slots.places
        data = [x for x in (*op.inputs, *op.outputs) if x in kept]
        self.pick = itemgetter(*range(slots.first), *(values[name] for name in kept))
        self.hold = tuple((values[f"handle {x}"], values[x]) for x in data)
        self.saved = tuple([kept[name] for name in op.saves if name in kept])
        self.lifts = tuple(
            (kept[x], 2 + op.inputs.index(x), 0) if x in op.inputs
            else (kept[x], 1, op.outputs.index(x))
            for x in data
        )  # fmt: skip

    # --- reading a record of this plan --------------------------------------------------------------
    def keeps_value(self, name: str) -> bool:
        return name in self.positions

    def kept_value(self, record: Record, name: str) -> Any:
        return record[self.positions[name]]

    def kept_parameters(self, record: Record) -> dict[str, Any]:
        return {name: self.kept_value(record, name) for name in self.op.parameters}

    def result_layout(self, record: Record, y: str) -> tuple[Any, Any]:
        """Return shape and dtype of a result; None for what the record does not keep."""
        if self.keeps_value(y):
            kept = self.kept_value(record, y)
            return kept.shape, kept.dtype
        shape, dtype = (f"{what} {y}" for what in LAYOUT)
        return (
            self.kept_value(record, shape) if self.keeps_value(shape) else None,
            self.kept_value(record, dtype) if self.keeps_value(dtype) else None,
        )

    def with_kept(self, record: Record, values: Mapping[str, Any]) -> Record:
        by_place = {self.positions[name]: value for name, value in values.items()}
        return tuple([by_place.get(place, item) for place, item in enumerate(record)])

    def kept_data(self) -> Iterator[str]:
        """Return the names of the kept values other than shapes and dtypes."""
        return (name for name in self.positions if name.partition(" ")[0] not in LAYOUT)

    def input_layouts(self, record: Record) -> Iterator[tuple[Any, Any]]:
        """Return shape and dtype of each input of an op whose joint rule's contributions may not fit."""
        assert self.fits is not None
        shapes, dtypes = ([record[place] for place in places] for places in self.fits)
        if self.op.variadic:
            (shapes,), (dtypes,) = shapes, dtypes
        return zip(shapes, dtypes, strict=True)

    # --- a record of this plan in a pass, as ``Structural`` has it ------------------------------------
    def pull_cotangents(self, pass_: BackwardPass, record: Record) -> None:
        """Pass cotangents back through a record of a plan without steps."""
        if self.reading is not None:
            pass_.add_part(self.reading, self, record)
        else:
            pass_.go_back(self, record)

    def push_tangents(self, pass_: ForwardPass, record: Record) -> list[Array | None]:
        """Return a tangent, or None, for each result of a record."""
        return pass_.tangents_of_op(self, record)


def pulls_of(op: Op, subset: int, needs_fit: bool, slots: Slots) -> list[Pull]:
    """Return the calls of the rules of the followed inputs, and give what they ask for its places."""
    fitted = needs_fit or op.checked  # a user's rule may give another shape or dtype
    pulls = []
    for x, rule in rules_of(op, subset):
        asks = tuple(slots.slot_for(name, x) for name in op.asks[rule])
        fit = None
        if fitted and not op.joint:
            fit = slots.slot_for("shape", x), slots.slot_for("dtype", x)
        only = asks[0] if len(asks) == 1 else 0
        pulls.append(Pull(2 + op.inputs.index(x), rule, only, asks, fit))
    return pulls


def keep_for_forward_mode(op: Op, needs_fit: bool, slots: Slots) -> None:
    """Keep what forward mode needs: the parameters of a linear op, else the layouts of results."""
    if op.kind == "linear":
        for name in op.parameters:
            slots.keep_slot(name)
    elif op.kind == "primitive" or needs_fit:
        for what in LAYOUT:
            for y in op.outputs:
                if y not in slots.places:
                    slots.slot_for(what, y)


def kept_names(op: Op) -> list[str]:
    """Return the names of kept values if all inputs are followed and have one shape and dtype."""
    if not op.recorded:
        return []
    slots = Slots(2 + len(op.inputs))
    pulls_of(op, (1 << len(op.inputs)) - 1, False, slots)
    keep_for_forward_mode(op, False, slots)
    return list(slots.places)


def rules_of(op: Op, subset: int) -> list[tuple[str, Rule]]:
    if op.joint:
        return [(op.inputs[0], op.joint)]
    # None among the rules is a declaration: no gradient, as for the condition of where.
    by_input = dict(zip(op.inputs, op.rules or (), strict=False))
    followed = [x for i, x in enumerate(op.inputs) if subset >> i & 1]
    rules = [(x, by_input.get(x)) for x in followed]
    return [(x, rule) for x, rule in rules if rule is not None and not isinstance(rule, Unknown)]


def unknown_of(op: Op, subset: int) -> dict[int, tuple[str, str]]:
    """Return name and reason of the followed inputs without a known derivative, by place of the id."""
    found = enumerate(zip(op.inputs, op.rules or (), strict=False))
    return {
        2 + i: (x, rule.why)
        for i, (x, rule) in found
        if isinstance(rule, Unknown) and subset >> i & 1
    }


Picker = Callable[[Record], tuple[Any, ...]]
Step = tuple[int, Rule, int, tuple[Picker, bool] | None, tuple[int, int] | None]


def plan_step(pull: Pull) -> Step:
    """Return a pull as a plain tuple: place of the input's id, rule, ``only``, general form, ``fit``.

    The general form is a function that picks all kept values of a record, and whether the rule takes
    the namespace after them; None for ``identity_rule``, which is not called.
    """
    at, rule, only, asks, fit = pull
    kept = [place for place in asks if place]
    if 0 in asks[: len(kept)]:
        rule = namespace_last(rule, asks.index(0))
    elif is_product(rule):
        rule = operator.mul  # which needs no Python frame
    general = None if rule is identity_rule else (picker(kept), 0 in asks)
    return at, rule, only, general, fit


def is_product(rule: Rule) -> bool:
    """Return True if a rule is one product of the cotangent and its one kept value."""
    code = getattr(rule, "__code__", None)
    return code is not None and code.co_code in PRODUCTS


def picker(places: Sequence[int]) -> Picker:
    """Return a function that picks these places of a record as a tuple, without a Python frame."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


def namespace_last(rule: Rule, at: int) -> Rule:
    """Return a rule that takes the namespace, argument number ``at`` of ``rule``, as the last one."""
    return lambda g, *kept: rule(g, *kept[:at], kept[-1], *kept[at:-1])


class Structural:
    """The plan of records that are no op's, such as views and writes.

    pull_cotangents : takes a backward pass and a record, and passes cotangents back.  push_tangents :
    takes a forward pass and a record, and returns a tangent, or None, for each result.  inputs : the
    places of the inputs' ids in a record.  cusped : whether a record may have a cusp, as its last item
    then says.  unfolds : whether a record stands for others, which pass activity back in its place.
    """

    __slots__ = (
        "cusped", "inputs", "name", "number", "pull_cotangents", "push_tangents", "unfolds",
    )  # fmt: skip
    missing = False

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
        self.name, self.pull_cotangents, self.push_tangents, self.inputs = name, pull, push, inputs
        self.cusped, self.unfolds = cusped, unfolds
        self.number = number_plan(self)


PLANS: list[Plan | Structural] = []  # by number
STEPS: list[list[Step] | None] = []  # by number; None: the plan's ``pull_cotangents`` is called
PLANNING = reentrant_lock()  # ops are planned at their first calls, perhaps in several threads


def number_plan(plan: Plan | Structural) -> int:
    with PLANNING:
        PLANS.append(plan)
        while len(STEPS) < len(
            PLANS
        ):  # by more than one after an interruption between the two lines
            STEPS.append(None)
        return len(PLANS) - 1


# --- readers of any record ----------------------------------------------------------------------------
def plan_of(record: Record) -> Plan | Structural:
    return PLANS[record[0]]


def results_of(record: Record) -> tuple[int, ...]:
    """Return the ids of the values that a record made."""
    return record[1] if type(record[1]) is tuple else record[1:2]


def inputs_of(record: Record) -> tuple[int, ...]:
    """Return the ids of the values that went into a record; 0 for values that no recorder follows."""
    value_ids: tuple[int, ...] = record[PLANS[record[0]].inputs]
    return value_ids


def ids_made_of(records: Iterable[Record], value_ids: Iterable[int]) -> set[int]:
    """Return these ids and those of all values that records compute from them."""
    found = set(value_ids)
    for record in records:
        if not found.isdisjoint(inputs_of(record)):
            found.update(results_of(record))
    return found
