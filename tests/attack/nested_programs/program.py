"""A program: a Python function whose statements have run on NumPy as it grew."""

import random

import numpy as np

from .statements import FLAT, PURE, STATEMENTS
from .tools import OnNumPy

LENGTH = 9  # statements of a program, not counting those in functions
LIMIT = 20.0  # on magnitudes, so that rounding stays far below the tolerances
SIZE, ALIVE = 40, 12  # on elements; on arrays
SHAPES = ((), (2,), (3,), (3,), (4,), (2, 3), (3, 2), (3, 3), (2, 2, 2))
REFUSED = (ValueError, IndexError, TypeError, AttributeError, ArithmeticError, Warning)
TOOLS = ("np", "xp", "t")


class Block:
    """A head, and statements below it, of which ``kept`` last ones have to stay."""

    def __init__(self, head, body, kept=0):
        self.head, self.body, self.kept = head, body, kept

    def with_body(self, body):
        """The same with other statements."""
        return Block(self.head, body, self.kept)


def lines_of(body, indent=""):
    """The lines of statements and blocks."""
    found = []
    for part in body:
        if isinstance(part, Block):
            found += [indent + part.head, *lines_of(part.body or ["pass"], indent + "    ")]
        else:
            found += [indent + line for line in part.splitlines()]
    return found


class Scope:
    """Variables, and the statements that made them.

    outer : arrays that are not to be written to here, since NumPy runs a function often.
    mapped : whether values stand for many, so that none may decide what runs.
    """

    def __init__(self, program, given, outer=(), mapped=False, depth=0):
        self.program, self.given = program, given
        self.outer, self.mapped, self.depth = list(outer), mapped, depth
        self.locked = None  # an argument that is not to be written to
        self.body, self.codes = [], []
        self.restart()
        self.around = () if depth == 0 else frozenset(self.env)

    def restart(self):
        """Run all statements again, on fresh data."""
        self.env = self.given()
        for code in self.codes:
            exec(code, self.env)
        self.look()

    def look(self):
        """Take note of the arrays that are alive."""
        self.alive = arrays_in(self.env)

    def attempt(self, *parts):
        """Add statements that run and leave sane values; whether they do."""
        code = compile("\n".join(lines_of(parts)), "<nested program>", "exec")
        try:
            exec(code, self.env)
            self.look()
            sane = len(self.alive) <= ALIVE + 3 * self.depth and all(map(tame, self.alive.values()))
        except REFUSED:
            sane = False
        if sane:
            self.body += parts
            self.codes.append(code)
        else:
            self.restart()
        return sane

    def grow(self, length, statements):
        """Add statements of a table."""
        kinds, weights = list(statements), list(statements.values())
        wanted = len(self.body) + length
        for _ in range(4 * length):
            (make,) = self.program.choices.choices(kinds, weights)
            found = make(self)
            if found is not None:
                self.attempt(*(found if isinstance(found, list) else [found]))
            if len(self.body) >= wanted:
                break
        return self.body

    # --- draws --------------------------------------------------------------------------------------
    def one(self, *options):
        return self.program.choices.choice(options)

    def chance(self, p):
        return self.program.choices.random() < p

    def integer(self, low, high):
        return self.program.choices.randrange(low, high)

    def number(self):
        return f"{self.program.choices.uniform(0.2, 1.4) * self.one(-1, 1):.2f}"

    def values(self, shape):
        """Constants as text."""
        found = self.program.rng.uniform(-1.0, 1.0, shape).round(2)
        return f"np.array({found.tolist()})"

    def new(self, prefix="a"):
        """The name for a result; now and then one that is bound anew."""
        own = [name for name in self.alive if self.binds(name) and name[0] == "a"]
        if prefix == "a" and own and self.chance(0.1 if len(self.alive) < ALIVE - 2 else 0.9):
            return self.one(*own)
        self.program.count += 1
        return f"{prefix}{self.program.count}"

    def binds(self, name):
        """Whether it is a name of this scope, not of one around it."""
        return name.isidentifier() and name not in self.around

    def pick(self, fits=None):
        """The name of an array whose value fits, or None."""
        found = [name for name, x in self.alive.items() if fits is None or fits(x)]
        return self.one(*found) if found else None

    def target(self, fits=None):
        """The name of an array that may be written to, or None."""
        outer = [*self.outer, *([self.env[self.locked]] if self.locked else [])]
        return self.pick(
            lambda x: (
                type(x) is np.ndarray
                and x.flags.writeable
                and x.size
                and not any(np.may_share_memory(x, y) for y in outer)
                and (fits is None or fits(x))
            )
        )

    def fitting(self, shape, apart=None):
        """An operand that broadcasts to a shape, in no memory of ``apart``."""

        def fits(x):
            try:
                spreads = np.broadcast_shapes(x.shape, shape) == shape
            except ValueError:
                return False
            return spreads and (apart is None or not np.may_share_memory(x, apart))

        name = None if self.chance(0.1) else self.pick(fits)
        return name or self.number()

    # --- functions ----------------------------------------------------------------------------------
    def function(self, name, value, how, length=3, whole=False):
        """A function of one array, grown on a value of its argument, and what it gives.

        how : "mapped"; "pure", which writes to nothing outside; "rule", of its argument alone, to
        which it does not write; or "plain".  whole : whether it gives a scalar.
        """
        argument = self.new("u")

        def given():
            if how == "plain":
                return self.env | {argument: value}
            if how == "rule":
                return {tool: self.env[tool] for tool in TOOLS} | {argument: np.array(value)}
            return self.env | {argument: np.array(value)}

        outer = () if how == "plain" else [*self.alive.values()]
        mapped = self.mapped or how == "mapped"
        inner = Scope(self.program, given, [*self.outer, *outer], mapped, self.depth + 1)
        inner.argument = argument
        if how == "rule":  # a rule's function may not write to its argument
            inner.attempt(f"{self.new('b')} = {argument} * {self.number()}")
            inner.locked = argument
        table = FLAT if self.depth else STATEMENTS if how == "plain" else PURE
        inner.grow(self.integer(1, length + 1), table)
        mine = [x for x in inner.alive if x not in self.alive] or [argument]
        result = inner.one(*mine[-3:])
        given_back = inner.env_value(result)
        text = f"return {result}"
        if whole:
            text = inner.one(
                f"return np.sum({result})",
                f"return np.sum({result} * {result})",
                f"return np.sum(np.sin({result})) + np.sum({argument} * {argument})",
            )
        body = [*inner.body, text]
        if how == "plain":
            self.restart()
        return Block(f"def {name}({argument}):", body, kept=1), given_back

    def env_value(self, text):
        return self.alive[text]


def arrays_in(env):
    """The arrays that variables and attributes hold, by the expressions that say them."""
    found = {}
    for name, value in env.items():
        if name in TOOLS or name[0] == "_":
            continue
        if isinstance(value, np.ndarray | np.complex128):
            if value.dtype.kind == "c":
                found[name] = value
        elif isinstance(value, list):
            for i, part in enumerate(value):
                if isinstance(part, np.ndarray | np.complex128):
                    found[f"{name}[{i}]"] = part
        elif name[0] == "o" and hasattr(value, "__dict__"):
            for attribute, part in vars(value).items():
                if isinstance(part, np.ndarray | np.complex128):
                    found[f"{name}.{attribute}"] = part
    return found


def tame(x):
    return x.size <= SIZE and (not x.size or bool(np.abs(x).max() < LIMIT))


class Program:
    """``program(np, xp, t, **data)``, of which ``t`` has the transforms."""

    def __init__(self, seed):
        self.seed = seed
        self.choices = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.count = 0
        shapes = [self.choices.choice(SHAPES) for _ in range(self.choices.randint(1, 2))]
        shapes.append(self.choices.choice(((3,), (2, 3))))
        self.data = {f"x{i}": self.rng.uniform(-1.2, 1.2, shape) for i, shape in enumerate(shapes)}
        self.along, self.turn = ({x: self.direction(a) for x, a in self.data.items()} for _ in "12")
        space = OnNumPy()

        def given():
            env = {name: space.start(x) for name, x in self.data.items()}
            return env | {"np": np, "xp": np, "t": space}

        scope = Scope(self, given)
        self.body = scope.grow(LENGTH, STATEMENTS)

    def direction(self, x):
        return np.asarray(self.rng.uniform(0.3, 1.0, x.shape) * self.rng.choice([-1, 1], x.shape))

    def text(self, body=None):
        """The function; with another body, where one is given."""
        lines = lines_of(self.body if body is None else body, "    ")
        head = f"def program(np, xp, t, {', '.join(self.data)}):"
        return "\n".join([head, *lines, "    return locals()"])
