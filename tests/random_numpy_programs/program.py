"""A program: a Python function in NumPy's terms, made by running it as it grows."""

import random
import warnings
from itertools import accumulate

import numpy as np

from . import statements
from .holes import DTYPES, Holes, Unfillable

STATEMENTS = 22
LIMIT = 30.0  # on magnitudes, so that rounding stays far below the tolerances
SIZE = 300  # on elements
DEPTH = 2  # of functions, branches and loops within each other
TYPES = {"single": np.float32, "double": np.float64, "cdouble": np.complex128}
WIDE = {**TYPES, "single": np.float64}  # for differences
REFUSED = (ValueError, IndexError, TypeError, AttributeError, np.linalg.LinAlgError)


class Block:
    """A statement of several lines: a head, and statements below it."""

    def __init__(self, head, body):
        self.head, self.body = head, body


def source(body, indent="    "):
    """The text of statements."""
    lines = []
    for part in body:
        if isinstance(part, Block):
            lines += [indent + part.head, source(part.body or ["pass"], indent + "    ")]
        else:
            lines += [indent + line for line in part.splitlines()]
    return "\n".join(lines)


def arrays(env):
    """The arrays that variables hold, by the expressions that say them; those in containers, too."""
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
    elif getattr(value, "dtype", None) in DTYPES and not isinstance(value, type):
        found.append((name, value))


def root(x):
    """The array that owns the memory of x, as far as it is one."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


class Snapshot:
    """Variables as they are, and what the memory of their arrays holds."""

    def __init__(self, env):
        self.env = env
        self.names = dict(env)
        self.containers = []
        self.memory = {}
        for value in env.values():
            self.note(value)

    def note(self, value):
        if type(value) is dict and "__name__" not in value:
            self.containers.append((value, dict(value)))
            for part in value.values():
                self.note(part)
        elif type(value) in (list, tuple):
            if type(value) is list:
                self.containers.append((value, list(value)))
            for part in value:
                self.note(part)
        elif type(value) is np.ndarray:
            base = root(value)
            if id(base) not in self.memory:
                self.memory[id(base)] = base, base.copy(order="K")

    def changed(self):
        """Whether anything is not as it was."""
        if self.env.keys() != self.names.keys() or any(self.env[n] is not x for n, x in self.names.items()):
            return True
        if any(now != was if type(now) is not list else [*map(id, now)] != [*map(id, was)] for now, was in self.containers if type(now) is list):
            return True
        return any(not np.array_equal(base, copy) for base, copy in self.memory.values())

    def restore(self):
        self.env.clear()
        self.env.update(self.names)
        for now, was in self.containers:
            now.clear()
            now.update(was) if type(now) is dict else now.extend(was)
        for base, copy in self.memory.values():
            if base.flags.writeable:
                base[...] = copy


class Program:
    """``program(**inputs)``, a function whose text is ``text``; ``data`` are its inputs.

    What is in ``constants`` stays a NumPy array where the others become Arrays.
    """

    def __init__(self, seed, length=STATEMENTS):
        self.seed = seed
        self.choices = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.count = 0
        self.flavour = {3: "single", 6: "complex", 7: "complex"}.get(seed % 8, "real")
        self.data = {f"x{i}": self.array() for i in range(self.choices.randint(2, 4))}
        self.data["n0"] = self.rng.integers(-2, 4, self.shape())
        self.constants = {"k0": self.rng.uniform(-1.0, 1.0, self.shape())}
        self.data |= self.constants
        self.along, self.turn = (
            {x: self.direction(a) for x, a in self.data.items() if a.dtype.kind in "fc" and x[0] == "x"} for _ in "12"
        )
        self.env = {**TYPES, "np": np, "_errors": [], **{name: x.copy(order="K") for name, x in self.data.items()}}
        self.own = {name for name in self.data if name[0] == "x"}
        self.named = []
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            self.body = self.grow(length, 0)

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

    # --- text -----------------------------------------------------------------------------------------
    @property
    def text(self):
        return self.text_of(self.body)

    def text_of(self, body):
        head = f"def program({', '.join(self.data)}):\n    _errors = []\n"
        return f"{head}{source(body)}\n    return locals()"

    # --- growth ---------------------------------------------------------------------------------------
    def look(self):
        """Take note of what is alive."""
        everything = arrays(self.env)
        self.alive = [(name, x) for name, x in everything if name != "k0" and name[0] != "p"]
        self.operands = [(name, x) for name, x in everything if x.dtype.kind in "fci"]

    def value(self, text):
        try:
            return eval(text, self.env)
        except Exception as error:
            if not isinstance(error, (*REFUSED, FloatingPointError, Warning, NameError)):
                raise
            raise Unfillable(text) from error

    def grow(self, wanted, depth):
        """That many statements, which have run on ``env``."""
        body = []
        self.look()
        for _ in range(8 * wanted):
            try:
                part = self.attempt_block(depth) if depth < DEPTH and self.choices.random() < 0.08 else self.attempt()
            except Unfillable:
                continue
            if part is not None:
                body += part
                self.look()
            if len(body) >= wanted:
                break
        return body

    def attempt(self):
        """A statement from the tables that has run, or None."""
        (template,) = self.choices.choices(TEMPLATES, cum_weights=BOUNDS)
        self.named = []
        text = self.run(Holes(self).fill(template))
        return text and [text]

    def run(self, text):
        """The statement, having run; as one that must raise, where NumPy refuses it; or None."""
        before = Snapshot(self.env)
        try:
            exec(text, self.env)
        except REFUSED as error:
            if isinstance(error, UnboundLocalError):
                before.restore()
                return None
            scalars = [name for name, x in self.alive if isinstance(x, np.generic) and name in text]
            unharmed = not before.changed() and not scalars  # scalars lack much that arrays have
            before.restore()
            return guarded(text) if unharmed and self.choices.random() < 0.15 else None
        except (NameError, SyntaxError, ArithmeticError, Warning, RecursionError):
            before.restore()
            return None
        if not self.tame() or self.reads_what_it_writes(text, before):
            before.restore()
            return None
        self.own |= {name for name in self.named if name in self.env}
        return text

    def tame(self):
        with np.errstate(all="ignore"):
            return all(
                x.size <= SIZE and (not x.size or x.dtype.kind == "b" or bool(np.abs(x).max() < LIMIT))
                for _, x in arrays(self.env)
            ) and len(arrays(self.env)) < 40

    def reads_what_it_writes(self, text, before):
        """Whether NumPy itself reads what it has overwritten: numpy#6272."""
        target, sign, value = text.partition("] = ")
        if not sign or "\n" in text:
            return False
        found = [x.tobytes() for _, x in arrays(self.env)]
        before.restore()
        exec(f"{target}] = +({value})" if "[" not in value[:1] else text, self.env)
        return found != [x.tobytes() for _, x in arrays(self.env)]

    # --- blocks ---------------------------------------------------------------------------------------
    def attempt_block(self, depth):
        """A function with a call, a loop or a branch, whose body grows by running once."""
        kind = self.choices.choice((self.function, self.function, self.loop, self.branch))
        outer, own, before = self.env, self.own, Snapshot(self.env)
        try:
            parts = kind(depth)
        finally:
            self.env, self.own = outer, own
            before.restore()
            self.look()
        if parts is None:
            return None
        block, call = parts
        self.named = []
        if not call:
            return [block] if self.run(source([block], "")) else None
        before = Snapshot(self.env)
        exec(source([block], ""), self.env)
        self.own.add(call.partition(" = ")[0])
        done = self.run(call)
        if done is None:
            before.restore()
        return done and [block, done]

    def function(self, depth):
        holes = Holes(self)
        name, new = holes.fresh("f"), holes.new()
        arguments = [holes.pick() for _ in range(self.choices.randint(1, 2))]
        parameters = [holes.fresh("a") for _ in arguments]
        self.env = {**self.env, **{p: x for p, (_, x) in zip(parameters, arguments, strict=True)}}
        self.own = set(parameters)
        body = self.grow(self.choices.randint(1, 5), depth + 1)
        returned = Holes(self).pick()[0]
        if self.choices.random() < 0.4:
            body.insert(0, f"if np.sum({parameters[0]}) > {holes.num()}:\n    return {parameters[-1]} * 2")
        block = Block(f"def {name}({', '.join(parameters)}):", [*body, f"return {returned}"])
        return block, f"{new} = {name}({', '.join(text for text, _ in arguments)})"

    def loop(self, depth):
        holes = Holes(self)
        text, x = holes.pick("fc", lambda x: x.ndim and len(x))
        name = holes.fresh(self.choices.choice(("a", "k")))
        head, first = (f"for {name} in {text}:", x[0]) if name[0] == "a" else (f"for {name} in range(2):", 0)
        self.env = {**self.env, name: first}
        self.own = {*self.own, name}
        body = self.grow(self.choices.randint(1, 3), depth + 1)
        return (Block(head, body), "") if body else None

    def branch(self, depth):
        holes = Holes(self)
        text, _ = holes.pick("f", lambda x: x.size)
        test = f"np.{self.choices.choice(('max', 'sum', 'mean'))}({text}) > {holes.num()}"
        if not self.value(test):
            test = f"not {test}"
        self.env = dict(self.env)
        self.own = set(self.own)
        body = self.grow(self.choices.randint(1, 4), depth + 1)
        return (Block(f"if {test}:", body), "") if body else None


def guarded(text):
    """A statement that must raise an error of the same type as NumPy's."""
    indented = "\n".join("    " + line for line in text.splitlines())
    return f"try:\n{indented}\nexcept Exception as error:\n    _errors.append(error)\nelse:\n    _errors.append(None)"


def weighted():
    groups = [
        (weight, [f"{{new}} = {line}" for line in lines]) for weight, lines in statements.EXPRESSIONS.values()
    ]
    groups += [*statements.WRITES.values(), statements.UNPACKED, statements.CONTAINERS]
    groups += [statements.CLOSURES, statements.CALLS]
    odds = {line: weight / len(lines) for weight, lines in groups for line in lines}
    return list(odds), list(accumulate(odds.values()))


TEMPLATES, BOUNDS = weighted()
