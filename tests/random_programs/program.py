"""A program: Python text over inputs and constants, made by running it with NumPy as it grows."""

import random
import re
from bisect import bisect
from itertools import accumulate

import numpy as np

from .odds import ODDS
from .spaces import NUMPY

STATEMENTS = 40
NAMES = 12  # arrays alive at a time
LIMIT = 30.0  # on magnitudes, so that rounding stays far below the tolerances
SIZE = 500  # on elements
BINDING = re.compile(r"(\w+) = .*")
ITEM = re.compile(r"(.*\]) = (.*)")
REFUSED = (ValueError, IndexError, TypeError, ArithmeticError, AttributeError, Warning)
FLAVOURS = {3: "single", 6: "complex"}  # of every eight programs


class Program:
    """Statements over inputs and constants.

    flavour : "real", "single" (with float32 arrays among them) or "complex"; by the seed if None.
    shared : whether some of its data may be a strided part of foreign memory.  length : how many
    statements it has at most.
    """

    def __init__(self, seed, flavour=None, shared=True, length=STATEMENTS):
        self.seed = seed
        self.shared, self.length = shared, length
        self.flavour = flavour or FLAVOURS.get(seed % 8, "real")
        self.rng = np.random.default_rng(seed)
        self.choices = random.Random(seed)
        self.lengths = (2, 3, 4) if seed % 4 else (2, 3, 12, 13)  # some parts are kept by sharing
        self.lines, self.codes = [], []
        self.count = 0
        self.data = {f"x{i}": self.array() for i in range(self.choices.randint(2, 4))}
        self.inputs = list(self.data)
        self.data |= {f"c{i}": self.array() for i in range(2)}
        self.views = {}  # an input that is a view of a constant
        self.cuts = {}  # what is a part of foreign memory
        if self.chance(0.2):
            self.data["base"] = base = self.array(ndim=2)
            self.views["v0"] = f"base[{self.basic_key(base.shape, whole=True)}]"
            self.inputs.append("v0")
        if self.chance(0.15) and shared:
            self.data["s0"] = base = self.array(ndim=2)
            self.cuts["s0"] = f"s0[{self.basic_key(base.shape, whole=True)}]"
            self.inputs.append("s0")
        self.middle = (-1, "")  # of a statement that makes a value to ask for, and the array's name
        with np.errstate(all="raise"):
            self.grow()
            self.middle = self.add_middle()
        self.env = self.run(NUMPY, self.given(NUMPY))
        self.names = [
            x for x, a in self.env.items() if getattr(a, "dtype", np.dtype("?")).kind in "fc"
        ]
        values = self.given(NUMPY)
        self.along, self.turn = ({x: self.direction(values[x]) for x in self.inputs} for _ in "12")
        self.env = self.run(NUMPY, values)

    @property
    def text(self):
        return "\n".join(self.lines)

    # --- data ---------------------------------------------------------------------------------------
    def uniform(self, low, high, shape, dtype):
        x = self.rng.uniform(low, high, shape)
        if dtype.kind == "c":
            x = x + 1j * self.rng.uniform(low, high, shape)
        return np.asarray(x, dtype)

    def direction(self, x):
        return self.uniform(0.3, 1.0, x.shape, x.dtype) * self.rng.choice([-1, 1], x.shape)

    def array(self, ndim=None):
        ndim = self.one(0, 1, 2, 2, 2, 3) if ndim is None else ndim
        lengths = self.lengths if ndim < 3 else (2, 3, 4)
        other = {"real": "f8", "single": "f4", "complex": "c16"}[self.flavour]
        dtype = np.dtype(self.one("f8", other))
        x = self.uniform(-1.2, 1.2, [self.one(*lengths) for _ in range(ndim)], dtype)
        return np.transpose(x, self.choices.sample(range(ndim), ndim))

    def given(self, space, at=0.0, along=None, step=()):
        """The variables with which a program starts: the inputs at a place, and a complex step."""
        env = {name: space.start(x) for name, x in self.data.items() if name not in self.cuts}
        for name, text in self.views.items():
            env[name] = eval(text, {}, env)
        for name, text in self.cuts.items():
            env[name] = space.shared(eval(text, {}, {name: space.memory(self.data[name])}))
        for name in self.inputs:
            if at:
                env[name] += space.beside(at * along[name])
            if name in step:
                env[name] += 1e-30j * self.along[name]
        return env

    def begin(self, space):
        """The variables as Arrays, and the inputs' handles apart."""
        env = self.given(space)
        return env, {name: env[name] for name in self.inputs}

    def run(self, space, env, halfway=None):
        """Run it on these variables; ``halfway(array)`` is called with the middle, when it is there."""
        scope = {"xp": space}
        place, name = self.middle
        for at, code in enumerate(self.codes):
            exec(code, scope, env)
            if halfway and at == place:
                halfway(env[name])
        return env

    def add_middle(self):
        """Write to an array halfway, no input's own handle: a value that nobody has read yet.

        What is written is uneven, so that moving that value alone breaks no ties.
        """
        env, scope = self.given(NUMPY), {"xp": NUMPY}
        inputs = [env[name] for name in self.inputs]
        place = self.rng.integers(len(self.codes))
        for code in self.codes[:place]:
            exec(code, scope, env)
        fit = [
            name
            for name, x in env.items()
            if type(x) is np.ndarray
            and x.dtype.kind in "fc"
            and x.flags.writeable
            and not any(x is given for given in inputs)
        ]
        if not fit:
            return -1, ""
        name = self.one(*fit)
        before = [*self.lines], [*self.codes]
        self.data["m0"] = self.uniform(-0.01, 0.01, env[name].shape, env[name].dtype)
        self.insert(place, self.one("{a} += m0", "{a} -= m0", "{a}[...] = {a} + m0").format(a=name))
        if self.runs():
            return place, name
        del self.data["m0"]
        self.lines, self.codes = before
        return -1, ""

    def insert(self, place, line):
        self.lines.insert(place, line)
        self.codes.insert(place, compile(line, f"<program {self.seed}>", "exec"))

    def runs(self):
        """Whether all statements still run, and are sane, on what they are now given."""
        lines, codes = self.lines, self.codes
        self.lines, self.codes = [], []
        self.start()
        for line, code in zip(lines, codes, strict=True):
            if not self.sane(line):
                return False
            try:
                exec(code, self.scope, self.env)
            except REFUSED:
                return False
            self.look()
            self.lines.append(line)
            self.codes.append(code)
        return True

    # --- making -------------------------------------------------------------------------------------
    def grow(self):
        """Add statements that run and leave the values in a safe range."""
        self.scope = {"xp": NUMPY}
        self.start()
        kinds, bounds = KINDS[self.flavour]
        for _ in range(20 * self.length):
            line = kinds[bisect(bounds, self.choices.random() * bounds[-1])](self)
            if line and self.sane(line):
                self.attempt(line)
            if len(self.lines) == self.length:
                break

    def start(self):
        self.env = self.given(NUMPY)
        for code in self.codes:
            exec(code, self.scope, self.env)
        self.look()

    def look(self):
        """Take note of the arrays that are alive."""
        self.alive = [x for x, a in self.env.items() if getattr(a, "dtype", None) in FLOATS]

    def attempt(self, line):
        env, bound = self.env, BINDING.fullmatch(line)
        name = bound and bound[1]
        before = env.get(name)
        try:
            code = compile(line, f"<program {self.seed}>", "exec")
            exec(code, self.scope, env)
        except REFUSED:
            if not bound:
                self.start()
            return
        self.look()
        checked = [name] if bound else self.alive
        if all(self.tame(env[x]) for x in checked if x in env):
            self.lines.append(line)
            self.codes.append(code)
        elif not bound:
            self.start()
        else:
            env.pop(name) if before is None else env.update({name: before})
            self.look()

    def tame(self, x):
        return x.size <= SIZE and (not x.size or bool(np.abs(x).max() < LIMIT))

    def sane(self, line):
        """Whether NumPy itself reads what it is about to overwrite first: numpy#6272."""
        item = ITEM.fullmatch(line)
        if not item:
            return True
        target, value = item.groups()
        try:
            part = eval(value, self.scope, self.env)
            memory = next(self.env[x] for x in re.findall(r"\w+", target) if x in self.alive)
            if not np.may_share_memory(part, memory):
                return True
            exec(f"{target} = +({value})", self.scope, self.env)
            expected = {x: np.asarray(self.env[x]).tobytes() for x in self.alive}
            self.start()
            exec(line, self.scope, self.env)
            found = {x: np.asarray(self.env[x]).tobytes() for x in self.alive}
        except REFUSED:
            found, expected = 0, 1
        self.start()
        return found == expected

    def one(self, *options):
        return options[int(self.choices.random() * len(options))]

    def chance(self, p):
        return self.choices.random() < p

    def integer(self, low, high):
        """low <= integer < high."""
        return low + int(self.choices.random() * (high - low))

    def pick(self, ndim=0, fits=None, kind="fc"):
        """The name of an array of some rank whose shape satisfies ``fits``, or None."""
        found = []
        for name in self.alive:
            x = self.env[name]
            if x.ndim >= ndim and x.dtype.kind in kind and (fits is None or fits(x.shape)):
                found.append(name)
        return self.one(*found) if found else None

    def shape(self, name):
        return self.env[name].shape

    def kind(self, name):
        """What may be written into an array: "f", or complex numbers too."""
        return "f" if self.env[name].dtype.kind == "f" else "fc"

    def fresh(self):
        """The name for a result: a new one, or one that is bound anew."""
        if len(self.alive) < NAMES and self.chance(0.8):
            self.count += 1
            return f"a{self.count}"
        return self.one(*self.alive)

    def number(self):
        x = self.choices.uniform(0.05, 1.5) * self.one(-1, 1)
        return f"{x:.2f}"

    def fitting(self, shape, kind="fc"):
        """An operand that broadcasts to a shape."""
        if self.chance(0.15):
            return self.number()
        names = [
            x
            for x in self.alive
            if self.env[x].dtype.kind in kind and spreads(self.shape(x), shape)
        ]
        exact = [x for x in names if self.shape(x) == shape]
        if not names:
            return self.number()
        return self.one(*(exact if exact and self.chance(0.7) else names))

    # --- keys ---------------------------------------------------------------------------------------
    def basic_part(self, n, whole=False):
        if not n:
            return ":"
        start = self.integer(0, max(n - 1, 1))
        parts = [":", "::-1", f"{start}:", f":{-start or n}", "::2", "::-2", f"{start}:{start + 2}"]
        return self.one(*parts) if whole or self.chance(0.6) else str(self.integer(-n, n))

    def basic_key(self, shape, whole=False):
        parts = [self.basic_part(n, whole) for n in shape]
        if whole:
            return ", ".join(parts)
        if self.chance(0.3):
            at = self.integer(0, len(parts) + 1)
            parts = [*parts[:at], "..."]
            if at and self.chance(0.3):  # "..., 2" instead of "2, ..."
                parts.reverse()
        elif parts and self.chance(0.3):
            parts = parts[: self.integer(1, len(parts) + 1)]
        if self.chance(0.15):
            parts.insert(self.integer(0, len(parts) + 1), "None")
        return ", ".join(parts) if parts else self.one("...", "()")

    def integers(self, n, rank=1):
        found = [self.integer(-n, n) for _ in range(self.integer(1, 5))]
        if rank == 2:
            found = [found, found[::-1]]
        return f"xp.asarray({found})"

    def key(self, name):
        """Any key that fits the array of this name."""
        shape = self.shape(name)
        if not shape or self.chance(0.55):
            return self.basic_key(shape)
        kind = self.integer(0, 6)
        if 0 in shape:
            return "..."
        if kind == 0:
            if self.kind(name) != "f":
                return f"xp.above(xp.real({name}), {self.number()})"
            return f"xp.above({name}, {self.number()})"
        if kind == 1:
            return f"xp.asarray({[self.chance(0.6) for _ in range(shape[0])]})"
        axis = self.integer(0, len(shape))
        parts = [self.basic_part(n) for n in shape]
        parts[axis] = self.integers(shape[axis], rank=self.one(1, 1, 1, 2))
        if kind == 2 and len(shape) > 1:
            size = self.integer(1, 4)
            parts[:2] = [
                f"xp.asarray({[self.integer(-n, n) for _ in range(size)]})" for n in shape[:2]
            ]
        return ", ".join(parts[: self.integer(axis + 1, len(parts) + 1)])

    def region(self, name, key):
        """The shape of a part, or None when the key does not fit."""
        try:
            return np.shape(eval(f"{name}[{key}]", self.scope, dict(self.env)))
        except IndexError:
            return None


def spreads(shape, wanted):
    """Whether an operand of a shape broadcasts to the wanted one."""
    extra = len(wanted) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[extra:], strict=True))


FLOATS = {np.dtype("f4"), np.dtype("f8"), np.dtype("c16")}
KINDS = {flavour: (list(odds), list(accumulate(odds.values()))) for flavour, odds in ODDS.items()}
