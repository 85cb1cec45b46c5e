"""Calls with every subset of optional arguments, on operands and options of every kind, from seeds.

Interface::

    variant = draw(rng)      # rng: random.Random; families: some of FAMILIES, all by default
    variant.name             # "take", "linalg.svd", "np.sum", "x.sum", "x ** y", "x[key]", "x[key] = v"
    variant.operands         # list of Operand, in order: .data (an ndarray), .kind, .smooth
    variant.made()           # its own operands, each of its kind: at least one is an Array
    variant.call(*values)    # arraytape's result with these values (Arrays, numbers) as operands
    variant.expected()       # NumPy's result, or its exception where NumPy refuses the call;
                             # takes other ndarrays as operands, too
    print(variant)           # the call as text

An Operand's ``kind`` is one of ``operand_kinds.KINDS``: how arraytape is given it (``Operand.made``).
``smooth`` says whether a derivative with respect to it is asked for.  Options are spelled as Python's or
NumPy's scalars, 0-d arrays, lists or tuples; ``expected`` gets them in Python's spelling.
``variant.close`` : by how many rounding errors values may differ.
``variant.rough`` : True where differences need not show the derivative (jumps, phases of vectors).
``variant.hermitian`` : True where the derivative is that with respect to Hermitian matrices.
"""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from helpers import call_tables as tables
from helpers import numpy_calls
from helpers.operand_kinds import Fixed, Operand, spelled
from helpers.same_values import quiet


class Variant(NamedTuple):
    """One call; Operands stand in ``args`` and ``keywords`` in the places of its operands."""

    name: str
    function: Callable[..., Any]
    args: tuple
    keywords: dict
    reference: Callable[..., Any]
    close: float = 0.0
    rough: bool = False
    hermitian: bool = False

    @property
    def operands(self) -> list[Operand]:
        """The operands, in order."""
        return operands_of((self.args, self.keywords))

    def made(self) -> list:
        """Return the operands as arraytape gets them."""
        return [x.made() for x in self.operands]

    def call(self, *values: Any) -> Any:
        """Return what arraytape gives with these values in the places of the operands."""
        rest = iter(values)
        args, keywords = fill((self.args, self.keywords), lambda _: next(rest))
        return self.function(*args, **keywords)

    def expected(self, *arrays: np.ndarray) -> Any:
        """Return what NumPy gives, by default with the operands' own values."""
        return self.by_reference(arrays or [x.data for x in self.operands], in_python)

    def expected_as_spelled(self) -> Any:
        """Return what NumPy gives with the options in the very spelling that arraytape is given."""
        return self.by_reference([x.data for x in self.operands], lambda option: option)

    def by_reference(self, arrays: Any, of_option: Callable) -> Any:
        """Return what NumPy gives with arrays as operands and its options in a spelling."""
        rest = iter(arrays)
        given = fill((self.args, self.keywords), lambda x: x.plain(next(rest)), of_option)
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.reference(*given[0], **given[1])

    def __str__(self) -> str:
        def text(x: Any) -> str:
            if isinstance(x, Operand):
                return f"{x.kind} {x.data.dtype}{x.data.shape} {x.data.tolist()}"
            if isinstance(x, Fixed):
                return text(x.value)
            if type(x) in (list, tuple):
                return f"{type(x).__name__}({', '.join(map(text, x))})"
            if isinstance(x, np.ndarray):
                return f"array({x.tolist()}, {x.dtype})"
            return f"{x!r}"

        parts = [*map(text, self.args), *(f"{k}={text(v)}" for k, v in self.keywords.items())]
        return f"{self.name}({', '.join(parts)})"


def operands_of(nested: Any) -> list[Operand]:
    """Return the Operands in a nesting, in order."""
    found: list[Operand] = []
    exchange(nested, found.append)
    return found


def exchange(value: Any, of_operand: Callable) -> Any:
    """Return a nesting with the function's result in the place of each Operand; Fixed options stay."""
    if isinstance(value, Operand):
        return of_operand(value)
    if isinstance(value, Fixed):
        return Fixed(exchange(value.value, of_operand))
    if isinstance(value, dict):
        return {key: exchange(part, of_operand) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)([exchange(part, of_operand) for part in value])
    return value


def fill(value: Any, of_operand: Callable, of_option: Callable = lambda x: x) -> Any:
    """Return the arguments of a call: values in place of Operands, and options through of_option."""
    if isinstance(value, Operand):
        return of_operand(value)
    if isinstance(value, Fixed):
        return fill(value.value, of_operand)
    if isinstance(value, dict):
        return {key: fill(part, of_operand, of_option) for key, part in value.items()}
    if type(value) in (list, tuple):
        parts = type(value)([fill(part, of_operand, of_option) for part in value])
        return parts if any(isinstance(part, Operand) for part in value) else of_option(parts)
    return of_option(value)


def in_python(option: Any) -> Any:
    """Return an option as NumPy's own callers spell it."""
    if type(option) is list and all(isinstance(x, int | tuple) for x in option):
        return tuple(option)
    if isinstance(option, np.generic) or (isinstance(option, np.ndarray) and option.ndim == 0):
        return option.item()
    return option


def draw(rng: random.Random, families: tuple[str, ...] | None = None) -> Variant:
    """Draw a call that NumPy may refuse, too."""
    return FAMILIES[rng.choice(families or tuple(FAMILIES))](rng)


# --- options ----------------------------------------------------------------------------------------
def some_options(rng: random.Random, options: dict[str, list]) -> dict[str, Any]:
    """Return a subset of optional arguments with values: each alone, all, none, or any."""
    names = [name for name, values in options.items() if values]
    how = rng.randrange(4)
    if how == 0 and names:
        chosen = [rng.choice(names)]
    else:
        chosen = [name for name in names if how == 1 or rng.random() < 0.5]
    return {name: spelled(rng.choice(options[name]), rng) for name in chosen}


def as_given(
    function: Callable, required: list, options: dict[str, Any], rng: random.Random
) -> tuple[tuple, dict]:
    """Return the arguments of a call, positional where they may be, or by name."""
    args, keywords = list(required), dict(options)
    try:
        names = list(inspect.signature(function).parameters.values())[len(required) :]
    except ValueError:
        names = []
    places = [p.name for p in names if p.kind is p.POSITIONAL_ONLY]  # as of np.where, written in C
    for i, name in enumerate(places):
        if name not in keywords:
            keywords = {key: x for key, x in keywords.items() if key not in places[i:]}
            break
        args.append(keywords.pop(name))
    for parameter in names[len(places) :]:
        free = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if not free or parameter.name not in keywords or rng.random() < 0.5:
            break
        args.append(keywords.pop(parameter.name))
    return tuple(args), keywords


# --- operands ---------------------------------------------------------------------------------------
def with_kinds(args: Any, keywords: dict, rng: random.Random) -> tuple[Any, dict]:
    """Return the same call with operands of drawn kinds, at least one of which is an Array."""
    operands = operands_of((args, keywords))
    kinds = [kind_for(x, rng) for x in operands]
    if kinds and not any(Operand(x.data, k).is_array for x, k in zip(operands, kinds, strict=True)):
        kinds[rng.randrange(len(kinds))] = "Array"
    rest = iter(kinds)
    return exchange((args, keywords), lambda x: x._replace(kind=next(rest)))


def kind_for(operand: Operand, rng: random.Random) -> str:
    if operand.kind != "Array":
        return operand.kind
    layouts = ["Array", "Array", "view", "Fortran", "strided"]
    if rng.random() < 0.6:
        return rng.choice(layouts)
    if operand.data.ndim == 0:
        numbers = ["NumPy", "ndarray"]
        return rng.choice([*numbers, "Python"] if operand.data.dtype in PYTHONS else numbers)
    whole = operand.data.size and operand.data.dtype in PYTHONS
    return rng.choice(["ndarray", "list"] if whole else ["ndarray"])


PYTHONS = [np.dtype(t) for t in ("bool", "int64", "float64", "complex128")]


# --- families ---------------------------------------------------------------------------------------
def of_namespace(rng: random.Random) -> Variant:
    """Return a function of the namespace or of its extensions."""
    name = rng.choice(tables.NAMES)
    function = tables.function_of(name)
    required, options = tables.ENTRIES[name](tables.Shapes(rng))
    return finished(name, function, tables.REFERENCES[name], required, options, rng)


def finished(name, function, reference, required, options, rng) -> Variant:
    chosen = some_options(rng, options)
    args, keywords = as_given(function, required, chosen, rng)
    args, keywords = with_kinds(args, keywords, rng)
    if name in tables.ARRAYS_ONLY or name.startswith("linalg."):
        args, keywords = exchange((args, keywords), arrays_only)
    rough = name in tables.ROUGH
    if name in tables.PHASED:
        rough = any(x.data.dtype.kind == "c" for x in operands_of((args, keywords)))
    variant = Variant(
        name, function, tuple(args), keywords, reference,
        tables.CLOSE.get(name, 0.0), rough, name in tables.HERMITIAN,
    )  # fmt: skip
    return one_output(variant, rng) if name in tables.OUTPUTS else variant


def one_output(variant: Variant, rng: random.Random) -> Variant:
    """Return a call of a function of several results, of which one or all are kept."""
    chosen = rng.choice([*range(tables.OUTPUTS[variant.name]), slice(None)])
    one = [
        lambda *args, f=f, **keywords: f(*args, **keywords)[chosen]
        for f in (variant.function, variant.reference)
    ]
    name = variant.name if chosen == slice(None) else f"{variant.name}[{chosen}]"
    return variant._replace(name=name, function=one[0], reference=one[1])


def arrays_only(operand: Operand) -> Operand:
    return (
        operand
        if operand.kind in ("view", "Fortran", "strided")
        else operand._replace(kind="Array")
    )


def of_elementwise(rng: random.Random) -> Variant:
    """Return an elementwise function of the namespace or of ``special``, on operands of every kind."""
    name = rng.choice(tables.ELEMENTWISE)
    op, count = tables.ELEMENTWISE_OPS[name]
    shapes = tables.Shapes(rng)
    args = shapes.broadcast(count, op.domain or (-2.0, 2.0), name)
    function, reference = tables.function_of(name), tables.elementwise_reference(name)
    args, _ = with_kinds(tuple(args), {}, rng)
    return Variant(name, function, args, {}, reference, rough=op.kind == "nondifferentiable")


def of_numpy(rng: random.Random) -> Variant:
    """Return a function of NumPy's, or a method: a call of the table with options of its others."""
    name = rng.choice(tables.NUMPY_NAMES)
    function = tables.NUMPY_FUNCTIONS[name]
    required, options, base = tables.numpy_call(name, function, rng)
    rough = not base.smooth or base.symmetric
    chosen = some_options(rng, options)
    args, keywords = as_given(function, required, chosen, rng)
    args, keywords = with_kinds(args, keywords, rng)
    if name in numpy_calls.UNASKED and isinstance(args[0], Operand):  # it leaves, and says so
        args = (arrays_only(args[0]), *args[1:])
    if name == "np.select" and not any(x.is_array for x in operands_of(args[:2])):
        args = (
            args[0],
            exchange(args[1], arrays_only),
            *args[2:],
        )  # NumPy does not ask the default
    first = args[0] if args else None
    if name[3:] in tables.METHODS and isinstance(first, Operand) and rng.random() < 0.4:
        short = name[3:]
        args = (arrays_only(first), *args[1:])
        method = lambda x, *args, **keywords: getattr(x, short)(*args, **keywords)  # noqa: E731
        # Methods of Arrays take the function's ``correction``, those of NumPy's arrays do not.
        reference = function if "correction" in keywords else method
        return Variant(
            f"x.{short}", method, args, keywords, reference, tables.close_of(name), rough
        )
    return Variant(name, function, tuple(args), keywords, function, tables.close_of(name), rough)


def of_operators(rng: random.Random) -> Variant:
    """Return an operator, reflected or in place, too, on operands of every kind and dtype."""
    symbol = rng.choice(tuple(tables.OPERATORS))
    in_place = rng.random() < 0.3 and symbol in tables.IN_PLACE
    args = tables.Shapes(rng).operator_operands(symbol)
    args, _ = with_kinds(tuple(args), {}, rng)
    if in_place:
        args = (arrays_only(args[0]), *args[1:])
        function = tables.IN_PLACE[symbol]
        return Variant(f"x {symbol}= y", function, args, {}, function)
    function = tables.OPERATORS[symbol]
    close = 4.0 if symbol == "@" else 0.0
    return Variant(f"x {symbol} y", function, args, {}, function, close)


def of_keys(rng: random.Random) -> Variant:
    """Return a read, a write or a sum in place at a key of every kind."""
    shapes = tables.Shapes(rng)
    x = shapes.floats(min_dims=1, sizes=(1, 2, 3, 4))
    key = tables.key_for(x.data.shape, rng)
    if rng.random() < 0.5:
        (x,), _ = with_kinds((x,), {}, rng)
        return Variant("x[key]", tables.read, (arrays_only(x), key), {}, tables.read)
    try:
        part = x.data[fill(key, lambda operand: operand.data)]
    except (IndexError, TypeError, ValueError):
        part = x.data[:1]
    value = shapes.floats(shape=np.shape(part) if rng.random() < 0.7 else ())
    name, function = rng.choice(tables.WRITES)
    (x, value), _ = with_kinds((x, value), {}, rng)
    # Of a list NumPy asks more than of an array.
    if np.ndim(part) < value.data.ndim and value.kind == "list":
        value = value._replace(kind="ndarray")
    return Variant(name, function, (arrays_only(x), key, value), {}, function)


FAMILIES: dict[str, Callable[[random.Random], Variant]] = {
    "namespace": of_namespace,
    "elementwise": of_elementwise,
    "numpy": of_numpy,
    "operators": of_operators,
    "keys": of_keys,
}
