"""Random calls with every subset of optional arguments, on operands and options of every kind.

Interface::

    variant = draw(rng)      # rng: random.Random; families: some of FAMILIES, all by default
    variant.name             # "take", "linalg.svd", "np.sum", "x.sum", "x ** y", "x[key]", "x[key] = v"
    variant.operands         # list of Operand, in order: .data (an ndarray), .kind, .smooth
    variant.made()           # the operands as objects of their kinds; at least one is an Array
    variant.call(*values)    # arraytape's result with these values (Arrays, numbers) as operands
    variant.expected()       # NumPy's result (raises where NumPy refuses the call);
                             # other ndarrays may be passed as operands
    print(variant)           # the call as text

An Operand's ``kind`` is one of ``operand_kinds.KINDS``: the type and layout in which arraytape gets
the operand (``Operand.made``).  ``smooth`` is True if its derivative is tested.  Options are Python's
or NumPy's scalars, 0-d arrays, lists or tuples; ``expected`` converts them to Python's types.
``variant.close`` : the number of rounding errors by which values may differ.
``variant.rough`` : True if differences may not show the derivative (jumps, phases of vectors).
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
    """One call; ``args`` and ``keywords`` hold Operands in place of arrays."""

    name: str
    function: Callable[..., Any]
    args: tuple
    keywords: dict
    reference: Callable[..., Any]
    close: float = 0.0
    rough: bool = False

    @property
    def operands(self) -> list[Operand]:
        """The Operands in ``args`` and ``keywords``, in order."""
        return operands_of((self.args, self.keywords))

    def made(self) -> list:
        """Return the operands as objects of their kinds, for arraytape."""
        return [x.made() for x in self.operands]

    def call(self, *values: Any) -> Any:
        """Call arraytape's function with these values in place of the operands."""
        rest = iter(values)
        args, keywords = fill((self.args, self.keywords), lambda _: next(rest))
        return self.function(*args, **keywords)

    def expected(self, *arrays: np.ndarray) -> Any:
        """Call NumPy's function on ``arrays`` (default: the operands), options converted to Python."""
        return self.by_reference(arrays or [x.data for x in self.operands], in_python)

    def expected_as_spelled(self) -> Any:
        """Call NumPy's function with the options unchanged, as arraytape gets them."""
        return self.by_reference([x.data for x in self.operands], lambda option: option)

    def by_reference(self, arrays: Any, of_option: Callable) -> Any:
        """Call NumPy's function with ``arrays`` as operands and ``of_option(x)`` for each option x."""
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
    found: list[Operand] = []
    exchange(nested, found.append)
    return found


def exchange(value: Any, of_operand: Callable) -> Any:
    """Replace each Operand in a nesting by ``of_operand(operand)``; Fixed options stay Fixed."""
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
    """Replace Operands by ``of_operand(operand)``, other options by ``of_option(option)``.

    Fixed options are unwrapped, without a call of ``of_option``.
    """
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
    """Return an option as a Python object: lists of axes as tuples, scalars as Python numbers."""
    if type(option) is list and all(isinstance(x, int | tuple) for x in option):
        return tuple(option)
    if isinstance(option, np.generic) or (isinstance(option, np.ndarray) and option.ndim == 0):
        return option.item()
    return option


def draw(rng: random.Random, families: tuple[str, ...] | None = None) -> Variant:
    """Draw a call; NumPy may refuse it."""
    return FAMILIES[rng.choice(families or tuple(FAMILIES))](rng)


# --- options ----------------------------------------------------------------------------------------
def some_options(rng: random.Random, options: dict[str, list]) -> dict[str, Any]:
    """Draw optional arguments with values: one of them, all, or any subset."""
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
    """Return ``(args, keywords)``; options are passed by position or by name at random."""
    args, keywords = list(required), dict(options)
    try:
        names = list(inspect.signature(function).parameters.values())[len(required) :]
    except ValueError:
        names = []
    places = [p.name for p in names if p.kind is p.POSITIONAL_ONLY]  # np.where's, say
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
    """Draw a kind for each operand of a call, so that at least one is an Array."""
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
    """Draw a call of a function of the namespace, ``linalg``, ``fft`` or ``special``."""
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
        tables.CLOSE.get(name, 0.0), rough,
    )  # fmt: skip
    return one_output(variant, rng) if name in tables.OUTPUTS else variant


def one_output(variant: Variant, rng: random.Random) -> Variant:
    """Return a Variant that returns one result of a function with several results, or all of them."""
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
    """Draw a call of an elementwise function of the namespace or of ``special``."""
    name = rng.choice(tables.ELEMENTWISE)
    op, count = tables.ELEMENTWISE_OPS[name]
    shapes = tables.Shapes(rng)
    args = shapes.broadcast(count, op.domain or (-2.0, 2.0), name)
    function, reference = tables.function_of(name), tables.elementwise_reference(name)
    args, _ = with_kinds(tuple(args), {}, rng)
    return Variant(name, function, args, {}, reference, rough=op.kind == "nondifferentiable")


def of_numpy(rng: random.Random) -> Variant:
    """Draw a call of a NumPy function, or of a method of an Array.

    The required arguments are those of one call of the table; the options come from all its calls.
    """
    name = rng.choice(tables.NUMPY_NAMES)
    function = tables.NUMPY_FUNCTIONS[name]
    required, options, base = tables.numpy_call(name, function, rng)
    rough = not base.smooth or base.symmetric
    chosen = some_options(rng, options)
    args, keywords = as_given(function, required, chosen, rng)
    args, keywords = with_kinds(args, keywords, rng)
    # A list of Arrays would be converted to NumPy.
    if name in numpy_calls.UNASKED and isinstance(args[0], Operand):
        args = (arrays_only(args[0]), *args[1:])
    if name == "np.select" and not any(x.is_array for x in operands_of(args[:2])):
        # np.select does not dispatch on its default.
        args = (args[0], exchange(args[1], arrays_only), *args[2:])
    first = args[0] if args else None
    if name[3:] in tables.METHODS and isinstance(first, Operand) and rng.random() < 0.4:
        short = name[3:]
        args = (arrays_only(first), *args[1:])
        method = lambda x, *args, **keywords: getattr(x, short)(*args, **keywords)  # noqa: E731
        # Methods of Arrays accept ``correction`` like the function; ndarray's methods do not.
        reference = function if "correction" in keywords else method
        return Variant(
            f"x.{short}", method, args, keywords, reference, tables.close_of(name), rough
        )
    return Variant(name, function, tuple(args), keywords, function, tables.close_of(name), rough)


def of_operators(rng: random.Random) -> Variant:
    """Draw a call of a binary operator, reflected and in-place ones included."""
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
    """Draw a read ``x[key]`` or a write ``x[key] = v``, ``x[key] += v`` or ``x[key] *= v``."""
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
    # A list with more dimensions than the part is refused by NumPy, where an array may fit.
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
