"""A program: a Python function in NumPy's terms, made by running its statements as it grows."""

import random
import re
import warnings
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from .holes import DTYPES, Holes, Unfillable
from .statements import EXPRESSIONS, STATEMENTS

LENGTH = 22  # statements of a program, not counting those in blocks
LIMIT = 30.0  # on magnitudes, so that rounding stays far below the tolerances
SIZE = 300  # on elements
ALIVE = 40  # arrays
DEPTH = 2  # of functions, branches and loops within each other
BLOCKS = 0.08  # of all statements
REFUSED = (ValueError, IndexError, TypeError, AttributeError, np.linalg.LinAlgError)
INVALID = (
    KeyError,
    NameError,
    SyntaxError,
    ArithmeticError,
    MemoryError,
    Warning,
)  # no statement of a program
TYPES = {"single": np.float32, "double": np.float64, "cdouble": np.complex128}
FLAVOURS = {3: "single", 6: "complex", 7: "complex"}  # of every eight programs

# Views of which an element may lie in the row of their base that they are written to.  NumPy's
# ``x[1] = x.T[2]`` reads there what it has just written.
TURNED = re.compile(r"transpose|\.T\b|swapaxes|moveaxis|rollaxis|permute|einsum")


class Block(NamedTuple):
    """A function, loop or branch: a head, and statements below it."""

    head: str
    body: list

    @property
    def kept(self):
        """How many of its last statements have to stay: what a function returns."""
        return int(self.head.startswith("def"))

    def with_body(self, body):
        """The same with other statements."""
        return self._replace(body=body)


def source(body, indent="    "):
    """The text of statements and blocks."""
    lines = []
    for part in body:
        if isinstance(part, Block):
            lines += [indent + part.head, source(part.body or ["pass"], indent + "    ")]
        else:
            lines += [indent + line for line in part.splitlines()]
    return "\n".join(lines)


def guarded(text):
    """A statement that must raise an error of NumPy's type."""
    indented = source([text])
    return (
        f"try:\n{indented}\nexcept Exception as error:\n    _errors.append(error)\n"
        "else:\n    _errors.append(None)"
    )


def arrays(env):
    """The arrays that variables hold, in containers too, beside the expressions that say them."""
    found = []
    for name, value in env.items():
        if name[0] != "_":
            collect(name, value, found)
    return found


def collect(name, value, found):
    kind = type(value)
    if kind is dict:
        for key, part in value.items():
            collect(f"{name}[{key!r}]", part, found)
    elif kind is list or kind is tuple:
        for i, part in enumerate(value):
            collect(f"{name}[{i}]", part, found)
    elif getattr(value, "dtype", None) in DTYPES and kind is not type:
        found.append((name, value))


class Snapshot:
    """Variables as they are now, and what the memory of their arrays holds."""

    def __init__(self, env):
        self.env = env
        self.names = dict(env)
        self.lists, self.memory = [], {}
        for value in env.values():
            self.note(value)

    def note(self, value):
        kind = type(value)
        if kind is np.ndarray:
            while isinstance(value.base, np.ndarray):
                value = value.base
            if id(value) not in self.memory:
                self.memory[id(value)] = value, value.copy(order="K")
        elif kind is list or kind is tuple or (kind is dict and "__name__" not in value):
            if kind is not tuple:
                self.lists.append((value, kind(value)))
            for part in value.values() if kind is dict else value:
                self.note(part)

    def changed(self):
        """Whether anything is not as it was."""
        return (
            self.env.keys() != self.names.keys()
            or any(self.env[name] is not x for name, x in self.names.items())
            or any(len(now) != len(was) for now, was in self.lists)
            or any(not np.array_equal(base, copy) for base, copy in self.memory.values())
        )

    def restore(self):
        self.env.clear()
        self.env.update(self.names)
        for now, was in self.lists:
            now.clear()
            now.update(was) if type(now) is dict else now.extend(was)
        for base, copy in self.memory.values():
            if base.flags.writeable:
                base[...] = copy


class Program:
    """``program(**data)``, a function whose text is ``text``.

    Its inputs are ``data``, whose names begin with x where it is differentiated by them; what is in
    ``constants`` stays a NumPy array where the others become Arrays.
    """

    def __init__(self, seed, length=LENGTH):
        self.seed = seed
        self.choices = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.flavour = FLAVOURS.get(seed % 8, "real")
        self.data = {f"x{i}": self.array() for i in range(self.choices.randint(2, 4))}
        self.along, self.turn = ({x: self.direction(a) for x, a in self.data.items()} for _ in "12")
        self.own = set(self.data)  # names that may be bound anew
        self.constants = {"k0": self.rng.uniform(-1.0, 1.0, self.shape())}
        self.data |= {"n0": self.rng.integers(-2, 4, self.shape())} | self.constants
        self.env = {**TYPES, "np": np, "_errors": []}
        self.env |= {name: x.copy() for name, x in self.data.items()}
        self.count, self.named = 0, []  # of names; those of the statement that is being made
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            self.body = self.grow(length, 0)

    def text(self, body=None):
        head = f"def program({', '.join(self.data)}):\n    _errors = []"
        return f"{head}\n{source(self.body if body is None else body)}\n    return locals()"

    # --- data -----------------------------------------------------------------------------------------
    def shape(self):
        ndim = self.choices.choice((0, 1, 1, 2, 2, 2, 2, 3))
        lengths = (2, 3, 3, 4, 1) if self.choices.random() < 0.9 else (0, 2, 1)
        if ndim == 2 and self.choices.random() < 0.5:
            return (3, 3)
        return tuple(self.choices.choice(lengths) for _ in range(ndim))

    def array(self):
        other = {"real": "f8", "single": "f4", "complex": "c16"}[self.flavour]
        dtype = np.dtype(self.choices.choice(("f8", other)))
        return self.uniform(-1.2, 1.2, self.shape(), dtype)

    def uniform(self, low, high, shape, dtype):
        x = self.rng.uniform(low, high, shape)
        if dtype.kind == "c":
            x = x + 1j * self.rng.uniform(low, high, shape)
        return np.asarray(x, dtype)

    def direction(self, x):
        signs = self.rng.choice([-1, 1], x.shape).astype(x.dtype)
        return np.asarray(self.uniform(0.3, 1.0, x.shape, x.dtype) * signs)

    # --- growth ---------------------------------------------------------------------------------------
    def look(self):
        """Take note of what is alive, and of what may be an operand beside it."""
        self.operands = [(name, x) for name, x in arrays(self.env) if x.dtype.kind in "fcib"]
        self.alive = [(name, x) for name, x in self.operands if name not in self.constants]

    def value(self, text):
        try:
            return eval(text, self.env)
        except (*REFUSED, *INVALID) as error:
            raise Unfillable(text) from error

    def grow(self, wanted, depth):
        """That many statements, which have run on ``env``."""
        body = []
        self.look()
        for _ in range(8 * wanted):
            block = depth < DEPTH and self.choices.random() < BLOCKS
            try:
                body += self.attempt_block(depth) if block else self.attempt()
            except Unfillable:
                continue
            self.look()
            if len(body) >= wanted:
                break
        return body

    def attempt(self):
        """A statement from the tables that has run."""
        (template,) = self.choices.choices(TEMPLATES, cum_weights=BOUNDS)
        self.named = []
        return [self.run(Holes(self).fill(template))]

    def run(self, text):
        """The statement, which has run; as one that must raise, where NumPy refuses it."""
        before = Snapshot(self.env)
        try:
            exec(text, self.env)
        except INVALID as error:
            before.restore()
            raise Unfillable(text) from error
        except REFUSED as error:
            # Scalars lack much of what arrays have: their errors are their own.
            scalars = any(isinstance(x, np.generic) and name in text for name, x in self.alive)
            scalars = scalars or "like=" in text
            kept = not before.changed() and not scalars and self.choices.random() < 0.15
            before.restore()
            if not kept:
                raise Unfillable(text) from error
            return guarded(text)
        if not self.tame() or self.reads_what_it_wrote(text, before):
            before.restore()
            raise Unfillable(text)
        self.own |= {name for name in self.named if name in self.env}
        return text

    def tame(self):
        """Whether all values are of sizes that suit the checks."""
        found = arrays(self.env)
        if any(type(x) is np.ndarray and x.dtype not in DTYPES for x in self.env.values()):
            return False  # of objects, say, of which no Array can be
        with np.errstate(all="ignore"):
            return len(found) < ALIVE and all(
                x.size <= SIZE
                and (not x.size or x.dtype.kind == "b" or bool(np.abs(x).max() < LIMIT))
                for _, x in found
            )

    def reads_what_it_wrote(self, text, before):
        """Whether NumPy itself reads what the statement has overwritten: numpy#6272."""
        target, sign, value = text.partition("] = ")
        if not sign or "\n" in text:
            return False
        found = [x.tobytes() for _, x in arrays(self.env)]
        before.restore()
        exec(f"{target}] = np.copy({value})", self.env)
        return found != [x.tobytes() for _, x in arrays(self.env)]

    # --- blocks ---------------------------------------------------------------------------------------
    def attempt_block(self, depth):
        """A function and a call of it, a loop or a branch; its body has grown by running once."""
        make = self.choices.choice((self.function, self.function, self.loop, self.branch))
        outer, own, before = self.env, self.own, Snapshot(self.env)
        try:
            block, *call = make(depth)
        finally:
            self.env, self.own = outer, own
            before.restore()
            self.look()
        self.named = []
        text = source([block], "")
        if not call:
            self.run(text)
            return [block]
        exec(text, self.env)
        try:
            done = self.run(*call)
        except Unfillable:
            before.restore()
            raise
        self.own.add(call[0].partition(" = ")[0])
        return [block, done]

    def inside(self, more, own, wanted, depth):
        """Statements that run with more variables, and may bind only some anew."""
        self.env, self.own = self.env | more, set(own)
        return self.grow(self.choices.randint(1, wanted), depth + 1)

    def function(self, depth):
        holes = Holes(self)
        name, new = holes.fresh("f"), holes.new()
        arguments = [holes.pick() for _ in range(self.choices.randint(1, 2))]
        given = {holes.fresh("a"): x for _, x in arguments}
        body = self.inside(given, given, 5, depth)
        first, *_, last = *given, *given
        if self.choices.random() < 0.4:
            body.insert(0, f"if np.sum({first}) > {holes.num()}:\n    return {last} * 2")
        body.append(f"return {Holes(self).pick()[0]}")
        texts = ", ".join(text for text, _ in arguments)
        return Block(f"def {name}({', '.join(given)}):", body), f"{new} = {name}({texts})"

    def loop(self, depth):
        holes = Holes(self)
        text, x = holes.pick(fits=lambda x: x.ndim and len(x))
        rows = self.choices.random() < 0.5
        name, items, first = (
            (holes.fresh("a"), text, x[0]) if rows else (holes.fresh("k"), "range(2)", 0)
        )
        body = self.inside({name: first}, {*self.own, name}, 3, depth)
        if TURNED.search(items):
            items = f"({items}) * 1.0"
        return (Block(f"for {name} in {items}:", body),)

    def branch(self, depth):
        holes = Holes(self)
        text, _ = holes.pick("f", lambda x: x.size)
        test = f"np.{holes.one(('max', 'sum', 'mean'))}({text}) > {holes.num()}"
        test = test if self.value(test) else f"not {test}"
        return (Block(f"if {test}:", self.inside({}, self.own, 4, depth)),)


def weighted():
    """All templates, and the bounds of their weights."""
    groups = [
        (weight, [f"{{new}} = {line}" for line in lines]) for weight, lines in EXPRESSIONS.values()
    ]
    odds = {}
    for weight, lines in (*groups, *STATEMENTS.values()):
        for line in lines:
            odds[line] = odds.get(line, 0.0) + weight / len(lines)
    return list(odds), list(accumulate(odds.values()))


TEMPLATES, BOUNDS = weighted()
