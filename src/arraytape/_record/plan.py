"""Records, the entries of op calls on a tape, and plans, which say what a record's items are.

A record is a plain tuple with these items: the number of its plan, the value ids of the results, those
of the inputs, and the values that the op's rules need (kept values).  It has numbers and arrays but no
references to other objects, so that the cyclic garbage collector does not track it.

A plan describes the records of one op for one subset of followed inputs: the kept values with their
positions in the record, and the calls of rules in a backward pass.  To read a record, use
``results_of``, ``inputs_of`` and ``plan.kept_value``.
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

LAYOUT = ("shape", "dtype")  # records may keep these of an input or a result in place of its data
# The bytecode of rules that multiply their two parameters, by which ``is_product`` recognises them.
PRODUCTS = {(lambda t, x: t * x).__code__.co_code, (lambda t, x: x * t).__code__.co_code}


# The rules of reductions that restore the axes of the cotangent (``standard.restore_axes``) and then
# compute element by element -> the functions of the latter, for passes that fuse elementwise code.
AFTER_RESTORING: dict[Rule, Rule] = {}


def identity_rule(t: RawArray) -> Any:
    """Return the tangent unchanged: the rule of ops such as ``x + y``.

    Backward passes recognise this rule, and do not call it.
    """
    return t


class Unknown:
    """The object in place of a rule if the derivative with respect to an input is not known.

    A gradient that needs the derivative raises LookupError.  The op's other inputs have usual rules.
    why : the reason, a clause for the message.
    """

    def __init__(self, why: str) -> None:
        self.why = why


class Lazy:
    """A contribution that a joint rule (one VJP for all inputs) has not computed yet.

    A rule returns it for an input whose contribution is costly.  form : the function without parameters
    that computes the contribution.  A pass calls ``form`` only if a tape follows the input.
    """

    __slots__ = ("form",)

    def __init__(self, form: Callable[[], Any]) -> None:
        self.form = form


class Reading:
    """The rule (VJP) of an op that reads a part ``x[key]`` of its input.

    A backward pass recognises this class.  It adds the cotangent of the result to the cotangent of x at
    the key, in place (``BackwardPass.add_part``).  Called as a rule, a Reading returns a new array of
    zeros with the cotangent at the key.  A loop that reads each element would so take quadratic time.

    key : a function that returns the key.  The names of its parameters are those of kept values.  Its
    docstring becomes that of the rule.
    """

    def __init__(self, key: Function) -> None:
        self.key, self.asked = key, key.__code__.co_varnames[: key.__code__.co_argcount]
        self.names = tuple(dict.fromkeys((*self.asked, "shape", "xp")))
        self.__doc__ = key.__doc__

    def key_from(self, kept: Sequence[Any]) -> Any:
        """Return the key of a read ``x[key]``, from values that the tape's record keeps.

        kept : the values, in the order of the parameters of ``key``.
        """
        named = dict(zip(self.names, kept, strict=True))
        return self.key(*[named[name] for name in self.asked])

    def __call__(self, g: RawArray, *kept: Any) -> Any:
        *_, xp = kept
        shape = kept[self.names.index("shape")]
        return xp.scatter_add(g, shape, self.key_from(kept))


class Pull(NamedTuple):
    """One rule (VJP) of a plan, and the positions in a record of what a call of the rule needs.

    All fields but ``rule`` are positions in a record.

    at : the position of the value id of the input to which the rule belongs.
    asks : the positions of the rule's arguments after the cotangent; 0 means the namespace.
    only : the position of the rule's argument if there is just one, else 0.
    fit : the positions of the shape and the dtype to which the contribution is summed and cast; None if
    it already has them.
    """

    at: int
    rule: Rule
    only: int
    asks: tuple[int, ...]
    fit: tuple[int, int] | None


class Slots:
    """The positions in a record of the values that it keeps for the op's rules, while a Plan is made.

    Each new value gets the next position.

    first : the position of the first kept value.
    places : dict from the names of values to positions.  The name "shape x" means the shape of x, which
    is kept without the data of x.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.places: dict[str, int] = {}

    def slot_for(self, name: str, of: str) -> int:
        """Return the position in a record of the argument for a rule's parameter ``name``; 0 for "xp".

        A value that has no position yet gets one.  For the names "shape" and "dtype", the value is the
        shape or dtype of the input called ``of``, to which the rule belongs.
        """
        if name == "xp":
            return 0
        return self.keep_slot(f"{name} {of}" if name in LAYOUT else name)

    def keep_slot(self, name: str) -> int:
        """Return the position of the value ``name`` in a record; assign the next one if it has none.

        Unlike in ``slot_for``, the names "shape" and "dtype" mean parameters of the op.
        """
        return self.places.setdefault(name, self.first + len(self.places))


class Plan:
    """The description of an op's records for one subset of inputs that tapes follow.

    A plan says which values the records keep, at which positions, and which rules a pass calls.  The
    op's function makes a tuple of all values of a call (``Op.value_positions``).  A record is some items
    of this tuple.

    subset : the followed inputs; bit i is set for input i.

    needs_fit : True if shapes or dtypes of inputs and result differ, so that the rules' results are
    summed or cast to those of the inputs.
    followed : for each input, True if it is followed.
    pulls : a Pull for each call of a rule in a backward pass.
    reading : the Pull whose rule is a ``Reading``, for an op that reads a part of its input; else None.
    fits : for a joint rule, the positions of the shapes and of the dtypes of the inputs; else None.
    notable : True if recorders have to be notified of each record of the plan (``Recorder.notice``).
    pick : a function that makes the record from the tuple of all values.
    positions : dict from the names of kept values to their positions in a record.
    hold : for each kept input or result, the positions of its Array and the Array's raw data in the
    tuple of all values.  The record shares this data with the Array, which then must copy the data
    before a write.
    lifts : for each kept input or result, a triple: the position of its data in a record, the position
    of its id or tuple of ids, and its index in that tuple.
    saved : the positions in a record of the results of the op's ``saves``.
    unknown : dict from the position of an input's id to (name, reason), for followed inputs without a
    known derivative.
    missing : True if the op has no rules.
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
        self.unknown = unknown_derivatives_of(op, subset)
        self.notable = self.missing or op.moves or bool(self.unknown)
        self.number = number_plan(self)
        # Items of a record before the kept values: the plan's number, the result id(s), the input ids.
        slots = Slots(2 + len(op.inputs))
        self.pulls = pulls_of(op, subset, needs_fit, slots)
        self.fits: tuple[tuple[int, ...], ...] | None = None
        if op.joint and (needs_fit or op.checked):
            self.fits = tuple(tuple(slots.slot_for(what, x) for x in op.inputs) for what in LAYOUT)
        keep_for_forward_mode(op, needs_fit, slots)
        # The backward pass's fast loop cannot run user's rules, joint rules and several results.
        if not (op.joint or op.checked or len(op.outputs) > 1):
            STEPS[self.number] = [plan_step(pull) for pull in self.pulls]
        self.reading: Pull | None = None
        for pull in self.pulls:
            if isinstance(pull.rule, Reading) and pull.fit is None:
                self.reading, STEPS[self.number] = pull, None
        self.positions = slots.places
        self.locate_kept_values(slots)

    def locate_kept_values(self, slots: Slots) -> None:
        """Set ``pick``, ``hold``, ``saved`` and ``lifts``: fields that say where records keep values.

        slots : the positions in a record of the kept values, by name.
        """
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
        """Return the shape and the dtype of the result y.  Either is None if the record lacks it."""
        if self.keeps_value(y):
            kept = self.kept_value(record, y)
            return kept.shape, kept.dtype
        shape, dtype = (f"{what} {y}" for what in LAYOUT)
        return (
            self.kept_value(record, shape) if self.keeps_value(shape) else None,
            self.kept_value(record, dtype) if self.keeps_value(dtype) else None,
        )

    def with_kept(self, record: Record, values: Mapping[str, Any]) -> Record:
        """Return a record with ``values``, by name, in place of some of its kept values."""
        by_place = {self.positions[name]: value for name, value in values.items()}
        return tuple([by_place.get(place, item) for place, item in enumerate(record)])

    def kept_data(self) -> Iterator[str]:
        """Return the names of the kept inputs, results, parameters and values in ``saves``.

        Shapes and dtypes are left out.
        """
        return (name for name in self.positions if name.partition(" ")[0] not in LAYOUT)

    def input_layouts(self, record: Record) -> Iterator[tuple[Any, Any]]:
        """Return the pair (shape, dtype) of each input, to which a joint rule's results are fitted."""
        assert self.fits is not None
        shapes, dtypes = ([record[place] for place in places] for places in self.fits)
        if self.op.variadic:
            (shapes,), (dtypes,) = shapes, dtypes
        return zip(shapes, dtypes, strict=True)

    # --- attributes of ``Structural`` that are methods here -------------------------------------------
    def pull_cotangents(self, pass_: BackwardPass, record: Record) -> None:
        """Pass cotangents back through a record of the op, for passes that do not use the fast loop.

        Such passes are guarded or stepwise, or process complex data.
        """
        if self.reading is not None:
            pass_.add_part(self.reading, self, record)
        else:
            pass_.go_back(self, record)

    def push_tangents(self, pass_: ForwardPass, record: Record) -> list[Array | None]:
        """Return the tangent of each result of a record, in forward mode; None for a tangent of 0.

        pass_ : the forward pass, with the inputs' tangents.
        """
        return pass_.tangents_of_op(self, record)


def pulls_of(op: Op, subset: int, needs_fit: bool, slots: Slots) -> list[Pull]:
    """Return the calls of rules in the backward pass of an op: a Pull for each followed input.

    Add the values that the rules need to ``slots``, so that records keep them.

    subset : the inputs that tapes follow; bit i is set for input i.
    needs_fit : True if results of rules must be summed over broadcast axes or cast.
    slots : the positions in a record of the kept values.
    """
    fitted = needs_fit or op.checked  # a user's rule may return another shape or dtype
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
    """Add the values that forward mode needs, besides those that rules ask for, to ``slots``.

    So records keep the parameters of a linear op, or the shapes and dtypes of results of other ops.

    needs_fit : True if the shapes or dtypes of inputs and result differ.
    """
    if op.kind == "linear":
        for name in op.parameters:
            slots.keep_slot(name)
    elif op.kind == "primitive" or needs_fit:
        for what in LAYOUT:
            for y in op.outputs:
                if y not in slots.places:
                    slots.slot_for(what, y)


def kept_names(op: Op) -> list[str]:
    """Return the names of the values that a record of the op keeps, for the op's documentation.

    The names are those for a call in which tapes follow all inputs, and no input is broadcast or cast.
    """
    if not op.recorded:
        return []
    slots = Slots(2 + len(op.inputs))
    pulls_of(op, (1 << len(op.inputs)) - 1, False, slots)
    keep_for_forward_mode(op, False, slots)
    return list(slots.places)


def rules_of(op: Op, subset: int) -> list[tuple[str, Rule]]:
    """Return pairs (name of the input, rule) for the followed inputs that have a rule.

    A joint rule, which serves all inputs, is one pair with the first input.
    subset : the inputs that tapes follow; bit i is set for input i.
    """
    if op.joint:
        return [(op.inputs[0], op.joint)]
    # The rule None is a declaration that the input has no gradient, as the condition of ``where``.
    by_input = dict(zip(op.inputs, op.rules or (), strict=False))
    followed = [x for i, x in enumerate(op.inputs) if subset >> i & 1]
    rules = [(x, by_input.get(x)) for x in followed]
    return [(x, rule) for x, rule in rules if rule is not None and not isinstance(rule, Unknown)]


def unknown_derivatives_of(op: Op, subset: int) -> dict[int, tuple[str, str]]:
    """Return the followed inputs with respect to which the op's derivative is not known.

    A gradient with respect to such an input raises LookupError with the reason.  The result maps the
    position of an input's id in a record to (name of the input, reason).

    subset : the inputs that tapes follow; bit i is set for input i.
    """
    found = enumerate(zip(op.inputs, op.rules or (), strict=False))
    return {
        2 + i: (x, rule.why)
        for i, (x, rule) in found
        if isinstance(rule, Unknown) and subset >> i & 1
    }


Picker = Callable[[Record], tuple[Any, ...]]
Step = tuple[int, Rule, int, tuple[Picker, bool] | None, tuple[int, int] | None]


def plan_step(pull: Pull) -> Step:
    """Return the description of a rule's call as a plain tuple, for the fast loop of the backward pass.

    Unpacking a tuple is faster than reading attributes.  The items are ``pull.at``, the rule,
    ``pull.only``, ``general`` and ``pull.fit``.  ``general`` is None for ``identity_rule``, which is not
    called.  For other rules it is a pair: a function that returns the rule's kept values from a record,
    and True if the namespace is a further argument.
    """
    at, rule, only, asks, fit = pull
    kept = [place for place in asks if place]
    if 0 in asks[: len(kept)]:
        rule = namespace_last(rule, asks.index(0))
    elif is_product(rule):
        rule = operator.mul  # a C function, faster than the rule
    general = None if rule is identity_rule else (items_getter(kept), 0 in asks)
    return at, rule, only, general, fit


def is_product(rule: Rule) -> bool:
    """Return True if a rule just multiplies its two parameters, the cotangent and a kept value.

    The fast loop of the backward pass then calls a C function in place of the rule.
    """
    code = getattr(rule, "__code__", None)
    return code is not None and code.co_code in PRODUCTS


def items_getter(places: Sequence[int]) -> Picker:
    """Return a C function (``itemgetter``) from a record to a tuple of its items at ``places``.

    places : indices in the record.
    """
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


def namespace_last(rule: Rule, at: int) -> Rule:
    """Return ``rule`` as a function whose last parameter is ``xp``, the namespace.

    The fast loop passes the namespace as the last argument.

    at : the index of ``xp`` among the rule's parameters after the cotangent.
    """
    return lambda g, *kept: rule(g, *kept[:at], kept[-1], *kept[at:-1])


class Structural:
    """The plan of records that no op made: of views, writes, conversions, and calls of users' functions.

    pull_cotangents(pass, record) : the function that passes cotangents back through a record.
    push_tangents(pass, record) : the function of forward mode, which returns a tangent, or None for 0,
    for each result.
    inputs : the positions of the inputs' ids in a record.
    cusped : True if a record may have a cusp (a finite slope, an infinite curvature).  Then the last
    item of a record has an attribute ``cusped``.
    unfolds : True for calls under ``recompute_grad`` or ``xp.function``.  A pass runs the function
    again, and reads the records of its ops in place of the one record of the call.
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


PLANS: list[Plan | Structural] = []  # all plans, by number
# For each plan in PLANS the calls of rules for the fast loop of ``_tape.backward``, or None if the loop
# has to call the plan's ``pull_cotangents``.
STEPS: list[list[Step] | None] = []
# Held while plans are made, because two threads may make the first call of an op at the same time.
PLANNING = reentrant_lock()


def number_plan(plan: Plan | Structural) -> int:
    """Append a plan to PLANS; return its index, which is the first item of the plan's records."""
    with PLANNING:
        PLANS.append(plan)
        # More than one entry is missing if an interruption came before the loop in an earlier call.
        while len(STEPS) < len(PLANS):
            STEPS.append(None)
        return len(PLANS) - 1


# --- readers of any record ----------------------------------------------------------------------------
def plan_of(record: Record) -> Plan | Structural:
    return PLANS[record[0]]


def results_of(record: Record) -> tuple[int, ...]:
    """Return the value ids of the results of a record (the entry of one op's call on a tape)."""
    return record[1] if type(record[1]) is tuple else record[1:2]


def inputs_of(record: Record) -> tuple[int, ...]:
    """Return the value ids of a record's inputs, with 0 for values that no tape follows."""
    value_ids: tuple[int, ...] = record[PLANS[record[0]].inputs]
    return value_ids


def ids_made_of(records: Iterable[Record], value_ids: Iterable[int]) -> set[int]:
    """Return ``value_ids``, and the ids of all values that the records computed from these values.

    These values depend on ``value_ids``, so that a gradient may reach them.
    """
    found = set(value_ids)
    for record in records:
        if not found.isdisjoint(inputs_of(record)):
            found.update(results_of(record))
    return found


def ids_needed_for(records: Sequence[Record], value_ids: Iterable[int]) -> set[int]:
    """Return ``value_ids``, and the ids of all values from which the records computed these values.

    A gradient can reach them from ``value_ids``.
    """
    found = set(value_ids)
    for record in reversed(records):
        if not found.isdisjoint(results_of(record)):
            found.update(inputs_of(record))
    return found
