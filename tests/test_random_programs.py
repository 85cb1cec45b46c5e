"""Random programs full of views and writes, held against NumPy and the complex step.

Each program is Python text, run with NumPy and with arraytape.  At the end all arrays must equal
NumPy's bit for bit, and the slope of a weighted sum of all of them, along a random direction for
each input, must be what the complex step gives; every fourth program is run in forward mode too,
and every tenth is checked to second order.
A program that fails is printed as a script.  ARRAYTAPE_PROGRAMS=100000 runs more of them, and
``replay(seed)`` runs one.
"""

import os

import array_api_compat.numpy as numpy
import numpy as np
import pytest

import arraytape as xp

BLOCKS = 20
PROGRAMS = int(os.environ.get("ARRAYTAPE_PROGRAMS", "4000"))
STATEMENTS = 25
NAMES = 12  # arrays alive at a time
LIMIT = 30.0  # on magnitudes, so that rounding stays far below the tolerances


# --- the namespaces in which a program runs --------------------------------------------------------
class Space:
    """A namespace with ``above``, a comparison that a complex step passes unharmed."""

    def __init__(self, base):
        self.base = base

    def __getattr__(self, name):
        return getattr(self.base, name)

    def above(self, x, limit):
        return x > limit


class ComplexSpace(Space):
    """NumPy on complex numbers, whose real parts take the decisions; ties share evenly."""

    def asarray(self, x, **options):
        x = numpy.asarray(x, **options)
        return x.astype(complex) if x.dtype == float else x

    def zeros(self, shape):
        return np.zeros(shape, complex)

    def above(self, x, limit):
        return np.real(x) > limit

    def maximum(self, x1, x2):
        a, b = np.real(x1), np.real(x2)
        return np.where(a > b, x1, np.where(a < b, x2, (x1 + x2) / 2))

    def minimum(self, x1, x2):
        return -self.maximum(-x1, -x2)

    def abs(self, x):
        return x * np.sign(np.real(x))

    def max(self, x, axis=None, keepdims=False):
        top = np.max(np.real(x), axis=axis, keepdims=True)
        taken = np.real(x) == top
        ties = np.sum(taken, axis=axis, keepdims=keepdims)
        return np.sum(np.where(taken, x, 0), axis=axis, keepdims=keepdims) / ties

    def var(self, x, axis=None, keepdims=False):
        centred = x - np.mean(x, axis=axis, keepdims=True)
        return np.mean(centred * centred, axis=axis, keepdims=keepdims)


NUMPY, ARRAYTAPE, COMPLEX = Space(numpy), Space(xp), ComplexSpace(numpy)


# --- programs ---------------------------------------------------------------------------------
class Program:
    """Text over inputs and constants, made by running it with NumPy statement by statement."""

    def __init__(self, seed):
        self.seed = seed
        self.rng = rng = np.random.default_rng(seed)
        self.lengths = [2, 3, 4] if seed % 4 else [2, 3, 12, 13]  # some parts are kept by sharing
        self.lines = []
        self.count = 0
        self.data = {f"x{i}": self.array() for i in range(rng.integers(2, 5))}
        self.inputs = list(self.data)
        self.data |= {f"c{i}": self.array() for i in range(2)}
        self.views = {}  # an input that is a view of a constant
        if rng.random() < 0.2:
            base = self.array(ndim=2)
            self.data["base"] = base
            self.views["v0"] = f"base[{self.basic_key(base.shape, whole=True)}]"
            self.inputs.append("v0")
        self.env = self.given(NUMPY)
        for _ in range(20 * STATEMENTS):
            if len(self.lines) < STATEMENTS:
                self.extend()
        self.code = compile(self.text, f"<program {seed}>", "exec")
        values = self.given(NUMPY)
        self.along, self.turn = (
            {x: self.direction(values[x].shape) for x in self.inputs} for _ in range(2)
        )
        self.env = self.run(NUMPY, values)

    @property
    def text(self):
        return "\n".join(self.lines)

    @property
    def names(self):
        """The floating-point arrays alive at the end."""
        return [x for x, a in self.env.items() if getattr(a, "dtype", None) == np.float64]

    def direction(self, shape):
        return self.rng.uniform(0.3, 1.0, shape) * self.rng.choice([-1.0, 1.0], shape)

    def array(self, ndim=None):
        rng = self.rng
        ndim = rng.choice([0, 1, 2, 2, 2, 3]) if ndim is None else ndim
        shape = tuple(int(n) for n in rng.choice(self.lengths if ndim < 3 else [2, 3, 4], ndim))
        x = rng.uniform(-1.2, 1.2, shape)
        return np.asarray(x, order=rng.choice(["C", "F"]))

    def given(self, space, at=0.0, along=None, step=()):
        """The variables with which a program starts: the inputs at a place, and a complex step."""
        env = {}
        for name, x in self.data.items():
            # Both keep the layout, on which values and aliasing depend.
            env[name] = x.astype(complex) if space is COMPLEX else x.copy(order="K")
        for name, text in self.views.items():
            env[name] = eval(text, {}, env)
        for name in self.inputs:
            if at:
                env[name] += at * along[name]
            if name in step:
                env[name] += 1e-30j * self.along[name]
        return env

    def run(self, space, env):
        exec(self.code, {"xp": space}, env)
        return env

    # --- making -------------------------------------------------------------------------------
    def start(self):
        self.env = self.given(NUMPY)
        for line in self.lines:
            exec(line, {"xp": NUMPY}, self.env)

    def extend(self):
        """One more statement, or none when it does not run or leaves the safe range."""
        kinds, odds = zip(*KINDS.items(), strict=True)
        kind = kinds[self.rng.choice(len(kinds), p=np.asarray(odds) / sum(odds))]
        line = kind(self)
        if line is None or not self.sane(line):
            return
        try:
            with np.errstate(all="raise"):
                exec(line, {"xp": NUMPY}, self.env)
        except (ValueError, IndexError, TypeError, FloatingPointError, AttributeError):
            self.start()
            return
        if self.tame():
            self.lines.append(line)
        else:
            self.start()

    def tame(self):
        arrays = [self.env[x] for x in self.names]
        return all(a.size <= 500 and (not a.size or np.max(np.abs(a)) < LIMIT) for a in arrays)

    def sane(self, line):
        """Whether NumPy itself reads what it is about to overwrite first: numpy#6272."""
        target, equals, value = line.partition("] = ")
        if not equals or "\n" in line or not line[0].isalpha() or "[" not in target:
            return True
        try:
            exec(f"{target}] = +({value})", {"xp": NUMPY}, self.env)
            expected = {x: np.asarray(self.env[x]).tobytes() for x in self.names}
            self.start()
            exec(line, {"xp": NUMPY}, self.env)
            found = {x: np.asarray(self.env[x]).tobytes() for x in self.names}
        except (ValueError, IndexError, TypeError):
            found, expected = 0, 1
        self.start()
        return found == expected

    def one(self, *options):
        return options[self.rng.integers(len(options))]

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, ndim=0, fits=None):
        """The name of an array of some rank whose shape satisfies ``fits``, or None."""
        found = [x for x in self.names if self.env[x].ndim >= ndim]
        found = [x for x in found if fits is None or fits(self.env[x].shape)]
        return self.one(*found) if found else None

    def fresh(self):
        """The name for a result: a new one, or one that is bound anew."""
        if len(self.names) < NAMES and self.chance(0.8):
            self.count += 1
            return f"a{self.count}"
        return self.one(*self.names)

    def number(self):
        return f"{self.rng.uniform(-1.5, 1.5):.2f}"

    def fitting(self, shape):
        """An operand that broadcasts to a shape."""

        def fits(other):
            try:
                return np.broadcast_shapes(shape, other) == shape
            except ValueError:
                return False

        names = [self.pick(fits=fits) for _ in range(3)]
        names = [x for x in names if x is not None]
        exact = [x for x in names if self.env[x].shape == shape]
        if not names or self.chance(0.15):
            return self.number()
        return self.one(*(exact or names))

    # --- keys -----------------------------------------------------------------------------------
    def basic_part(self, n, whole=False):
        if not n:
            return ":"
        start = int(self.rng.integers(0, max(n - 1, 1)))
        parts = [":", "::-1", f"{start}:", f":{-start or n}", "::2", "::-2", f"{start}:{start + 2}"]
        return self.one(*parts) if whole or self.chance(0.6) else str(self.rng.integers(-n, n))

    def basic_key(self, shape, whole=False):
        parts = [self.basic_part(n, whole) for n in shape]
        if whole:
            return ", ".join(parts)
        if self.chance(0.3):
            parts = [*parts[: self.rng.integers(0, len(parts) + 1)], "..."]
        elif parts and self.chance(0.3):
            parts = parts[: self.rng.integers(1, len(parts) + 1)]
        if self.chance(0.15):
            parts.insert(self.rng.integers(0, len(parts) + 1), "None")
        return ", ".join(parts) if parts else self.one("...", "()")

    def integers(self, n):
        size = int(self.rng.integers(1, 5))
        found = [int(i) for i in self.rng.integers(-n, n, size)]
        return f"xp.asarray({found})"

    def key(self, name):
        """Any key that fits the array of this name."""
        shape = self.env[name].shape
        if not shape or self.chance(0.55):
            return self.basic_key(shape)
        kind = self.rng.integers(5)
        if 0 in shape:
            return "..."
        if kind == 0:
            return f"xp.above({name}, {self.number()})"
        if kind == 1:
            mask = [bool(b) for b in self.rng.random(shape[0]) < 0.6]
            return f"xp.asarray({mask})"
        axis = int(self.rng.integers(len(shape)))
        parts = [self.basic_part(n) for n in shape]
        parts[axis] = self.integers(shape[axis])
        if kind == 2 and len(shape) > 1:
            size = int(self.rng.integers(1, 4))
            parts[:2] = [
                f"xp.asarray({[int(i) for i in self.rng.integers(-n, n, size)]})" for n in shape[:2]
            ]
        return ", ".join(parts[: self.rng.integers(axis + 1, len(parts) + 1)])

    def region(self, name, key):
        """The shape of a part, or None when the key does not fit."""
        try:
            return np.shape(eval(f"{name}[{key}]", {"xp": NUMPY}, dict(self.env)))
        except IndexError:
            return None

    # --- statements: each returns a line, or None when nothing is at hand -------------------------
    def unary(self):
        a = self.pick()
        f = self.one("tanh", "sin", "cos", "exp", "square", "negative", "positive", "abs", "expm1")
        return f"{self.fresh()} = xp.{f}({a})"

    def safe(self):
        a = self.pick()
        f = self.one("sqrt", "log", "reciprocal")
        return f"{self.fresh()} = xp.{f}({a} * {a} + 0.5)"

    def power(self):
        a = self.pick(ndim=1)
        return a and f"{self.fresh()} = {a} ** {self.one('2', '3', '2.0')}"

    def binary(self):
        a = self.pick()
        b = self.fitting(self.env[a].shape)
        if self.chance(0.5):
            a, b = b, a
        text = f"{a} {self.one('+', '-', '*', '*')} {b}"
        return f"{self.fresh()} = {text}" if "a" in text or "x" in text else None

    def quotient(self):
        a = self.pick()
        b = self.fitting(self.env[a].shape)
        if b in self.env and (np.abs(self.env[b]) > 0.3).all():
            return f"{self.fresh()} = {a} / {b}"
        return f"{self.fresh()} = {self.one(a, '1.0')} / ({a} * {a} + 0.7)"

    def extremes(self):
        a = self.pick(ndim=1)
        b = a and self.fitting(self.env[a].shape)
        return b and f"{self.fresh()} = xp.{self.one('maximum', 'minimum')}({a}, {b})"

    def selection(self):
        a = self.pick(ndim=1)
        if a is None:
            return None
        b, c = self.fitting(self.env[a].shape), self.fitting(self.env[a].shape)
        if b not in self.env:
            return None
        return f"{self.fresh()} = xp.where(xp.above({a}, {self.number()}), {b}, {c})"

    def reduction(self):
        a = self.pick(fits=lambda s: 0 not in s)
        ndim = self.env[a].ndim
        axis = self.one("None", *(str(i) for i in range(-ndim, ndim)))
        if ndim > 1 and self.chance(0.2):
            axis = self.one("(0, 1)", "(-1, 0)")
        f = self.one("sum", "mean", "max", "prod", "var", "sum")
        return f"{self.fresh()} = xp.{f}({a}, axis={axis}, keepdims={self.chance(0.4)})"

    def running(self):
        a = self.pick(ndim=1)
        axis = a and self.rng.integers(self.env[a].ndim)
        return a and f"{self.fresh()} = xp.cumulative_sum({a}, axis={axis})"

    def product(self):
        a = self.pick(ndim=1)
        if a is None:
            return None
        n = self.env[a].shape[-1]
        b = self.pick(ndim=1, fits=lambda s: (s[-2] if len(s) > 1 else s[0]) == n)
        if self.chance(0.2) and self.env[a].ndim == 2:
            return f"{self.fresh()} = {a}.T @ {a}"
        return b and f"{self.fresh()} = {self.one(f'{a} @ {b}', f'xp.matmul({a}, {b})')}"

    def basic_view(self):
        a = self.pick()
        return f"{self.fresh()} = {a}[{self.basic_key(self.env[a].shape)}]"

    def reshape(self):
        a = self.pick()
        size = self.env[a].size
        shapes = ["(-1,)", f"(1, {size})", f"({size}, 1)"]
        shapes += [f"({n}, -1)" for n in (2, 3, 4) if size % n == 0 and size]
        shapes += ["(2, 3, -1)"] if size % 6 == 0 and size else []
        return f"{self.fresh()} = xp.reshape({a}, {self.one(*shapes)})"

    def rearrangement(self):
        a = self.pick(ndim=1)
        if a is None:
            return None
        ndim = self.env[a].ndim
        order = tuple(int(i) for i in self.rng.permutation(ndim))
        axis = int(self.rng.integers(-ndim, ndim))
        ones = [i for i, n in enumerate(self.env[a].shape) if n == 1]
        options = [
            f"xp.permute_dims({a}, {order})",
            f"xp.flip({a})",
            f"xp.flip({a}, axis={axis})",
            f"xp.expand_dims({a}, axis={axis})",
            f"xp.moveaxis({a}, {axis}, 0)",
            f"xp.unstack({a}, axis={axis})[0]",
        ]
        options += [f"{a}.T", f"xp.matrix_transpose({a})"] if ndim == 2 else []
        options += [f"xp.squeeze({a}, axis={ones[0]})"] * 4 if ones else []
        return f"{self.fresh()} = {self.one(*options)}"

    def broadcast(self):
        a = self.pick(fits=lambda s: len(s) < 3)
        return a and f"{self.fresh()} = xp.broadcast_to({a}, {(2, *self.env[a].shape)})"

    def joined(self):
        a = self.pick(ndim=1)
        b = a and self.pick(fits=lambda s: s == self.env[a].shape)
        axis = a and self.rng.integers(-self.env[a].ndim, self.env[a].ndim)
        f = self.one("stack", "concat")
        return a and f"{self.fresh()} = xp.{f}([{a}, {b}, {a}], axis={axis})"

    def rolled(self):
        a = self.pick(ndim=1)
        axis = a and self.one("None", "0", "-1")
        return a and f"{self.fresh()} = xp.roll({a}, {self.rng.integers(-2, 3)}, axis={axis})"

    def taken(self):
        a = self.pick(ndim=1)
        if a is None:
            return None
        axis = int(self.rng.integers(self.env[a].ndim))
        n = self.env[a].shape[axis]
        index = f"xp.asarray({[int(i) for i in self.rng.integers(0, n, 3)]})" if n else None
        return index and f"{self.fresh()} = xp.take({a}, {index}, axis={axis})"

    def picked(self):
        a = self.pick(ndim=1)
        return a and f"{self.fresh()} = {a}[{self.key(a)}]"

    def index_reused(self):
        a = self.pick(ndim=1, fits=lambda s: s[0] > 1)
        if a is None:
            return None
        return f"k = {self.integers(self.env[a].shape[0])}\n{self.fresh()} = {a}[k]\nk[0] = 0"

    def write(self):
        a = self.pick()
        if not isinstance(self.env[a], np.ndarray):
            return None
        key = self.key(a)
        shape = self.region(a, key)
        if shape is None:
            return None
        b = self.fitting(shape)
        value = self.one(b, b, f"xp.tanh({b})" if b in self.env else b, f"{b} * {self.number()}")
        return f"{a}[{key}] = {value}"

    def write_own_part(self):
        a = self.pick(ndim=1, fits=lambda s: s[0] > 1)
        if a is None:
            return None
        keys = [self.key(a), *(self.basic_key(self.env[a].shape) for _ in range(8))]
        shape = self.region(a, keys[0])
        same = [key for key in keys[1:] if self.region(a, key) == shape]
        return f"{a}[{keys[0]}] = {a}[{same[0]}]" if same else None

    def update_part(self):
        a = self.pick(ndim=1)
        if a is None:
            return None
        key = self.key(a)
        shape = self.region(a, key)
        if shape is None:
            return None
        return f"{a}[{key}] {self.one('+', '-', '*')}= {self.fitting(shape)}"

    def in_place(self):
        a = self.pick()
        b = self.one(a, self.fitting(self.env[a].shape), self.fitting(self.env[a].shape))
        if self.chance(0.1) and self.env[a].ndim:
            return f"{a} **= 2"
        if self.chance(0.2):
            return f"{a} /= {b} * {b} + 0.7"
        return f"{a} {self.one('+', '-', '*')}= {b}"

    def in_place_product(self):
        a = self.pick(ndim=2)
        n = a and self.env[a].shape[-1]
        b = a and self.pick(fits=lambda s: s == (n, n))
        return b and f"{a} @= {b}"

    def alias(self):
        return f"{self.fresh()} = {self.pick()}"

    def copy(self):
        a = self.pick(ndim=1)
        return a and f"{self.fresh()} = xp.asarray({a}, copy=True)"

    def zeros(self):
        a = self.pick(ndim=1)
        return a and f"{self.fresh()} = xp.zeros({self.env[a].shape})"

    def forget(self):
        return f"del {self.pick()}" if len(self.names) > NAMES // 2 else None

    def scan(self):
        a = self.pick(ndim=1, fits=lambda s: 1 < s[0] < 8)
        b = a and self.fitting(self.env[a].shape[1:])
        move = self.one("xp.tanh({a}[i - 1] + {b})", "{a}[i - 1] * {b}", "{a}[i] + {b} * 0.5")
        move = a and move.format(a=a, b=b)
        return a and f"for i in range(1, {self.env[a].shape[0]}):\n    {a}[i] = {move}"

    def rows(self):
        a = self.pick(ndim=2)
        f = self.one("row *= 0.5", "row += row[::-1]", "row[0] = row[-1] * 0.7", "row -= i * 0.1")
        each = self.one("{a}", "xp.unstack({a}, axis=-1)", "{a}[::-1]").format(a=a)
        return a and f"for i, row in enumerate({each}):\n    {f}"


KINDS = {
    Program.unary: 3, Program.safe: 1, Program.power: 1, Program.binary: 5, Program.quotient: 2,
    Program.extremes: 1, Program.selection: 1, Program.reduction: 2, Program.running: 0.5,
    Program.product: 1, Program.basic_view: 5, Program.reshape: 2, Program.rearrangement: 4,
    Program.broadcast: 0.7, Program.joined: 0.7, Program.rolled: 0.3, Program.taken: 0.5,
    Program.picked: 2, Program.index_reused: 0.5, Program.write: 7, Program.write_own_part: 2,
    Program.update_part: 3, Program.in_place: 6, Program.in_place_product: 0.7, Program.alias: 0.7,
    Program.copy: 0.7, Program.zeros: 0.5, Program.forget: 1, Program.scan: 1, Program.rows: 1,
}  # fmt: skip


# --- checks -----------------------------------------------------------------------------------
def weights(shape, turn):
    count = int(np.prod(shape))
    return (np.cos(1.0 + turn + 0.7 * np.arange(count)) + 0.3).reshape(shape)


def total(program, space, env):
    answer = 0.0
    for turn, name in enumerate(program.names):
        answer = answer + space.sum(env[name] * weights(env[name].shape, turn))
    return answer


def begin(program):
    """The program's variables as Arrays, the inputs' handles apart."""
    env = {name: xp.asarray(x) for name, x in program.data.items()}
    for name, text in program.views.items():
        env[name] = eval(text, {}, env)
    return env, {name: env[name] for name in program.inputs}


def check_values(program, env):
    for name in program.names:
        found, expected = np.asarray(env[name]), np.asarray(program.env[name])
        assert found.shape == expected.shape, f"{name}: {found.shape}, NumPy {expected.shape}"
        if found.tobytes() != expected.tobytes():
            np.testing.assert_array_equal(found, expected, err_msg=name)
            raise AssertionError(f"{name}: signs of zeros differ")


def slope(program, x, at=0.0, along=None):
    """The derivative of the total along the direction of input x, by the complex step."""
    env = program.run(COMPLEX, program.given(COMPLEX, at, along, step=(x,)))
    return np.imag(total(program, COMPLEX, env)) / 1e-30


def near(found, expected, scale, tolerance, what):
    if not abs(found - expected) <= tolerance * max(1.0, scale, abs(expected)):
        raise AssertionError(f"{what}: the tape gives {found!r}, expected {expected!r}")


def check_slopes(program, watched):
    env, inputs = begin(program)
    sources = {x: inputs[x] for x in watched}
    with xp.GradientTape() as tape:
        tape.watch(sources)
        program.run(ARRAYTAPE, env)
        y = total(program, ARRAYTAPE, env)
    check_values(program, env)
    gradients = tape.gradient(y, sources, unconnected_gradients="zero")
    for x, g in gradients.items():
        parts = np.asarray(g) * program.along[x]
        expected = slope(program, x)
        near(np.sum(parts), expected, np.sum(np.abs(parts)), 1e-8, f"slope along {x} of {watched}")


def check_pushed(program):
    """Forward mode along all inputs at once."""
    env, inputs = begin(program)
    tangents = {x: xp.asarray(program.along[x]) for x in inputs}
    with xp.ForwardAccumulator(inputs, tangents) as accumulator:
        program.run(ARRAYTAPE, env)
        y = total(program, ARRAYTAPE, env)
    check_values(program, env)
    pushed = accumulator.jvp(y, unconnected_gradients="zero")
    expected = [slope(program, x) for x in program.inputs]
    near(float(pushed), sum(expected), sum(map(abs, expected)), 1e-8, "forward mode")


def check_curvature(program):
    """The gradient of the slope along all inputs, against differences of the complex step."""
    env, inputs = begin(program)
    with xp.GradientTape() as outer:
        outer.watch(inputs)
        with xp.GradientTape() as inner:
            inner.watch(inputs)
            program.run(ARRAYTAPE, env)
            y = total(program, ARRAYTAPE, env)
        first = inner.gradient(y, inputs, unconnected_gradients="zero")
        s = xp.asarray(0.0)
        for x, g in first.items():
            s = s + xp.sum(g * program.along[x])
    check_values(program, env)
    second = outer.gradient(s, inputs, unconnected_gradients="zero")
    parts = [np.asarray(g) * program.turn[x] for x, g in second.items()]
    h = 1e-5
    ahead, behind = (
        sum(slope(program, x, at, program.turn) for x in program.inputs) for at in (h, -h)
    )
    scale = sum(float(np.sum(np.abs(part))) for part in parts)
    found = sum(float(np.sum(part)) for part in parts)
    near(found, (ahead - behind) / (2 * h), scale, 1e-5, "second order")


def check(program):
    env, _ = begin(program)
    program.run(ARRAYTAPE, env)
    check_values(program, env)
    check_slopes(program, program.inputs)
    check_slopes(program, [program.inputs[program.seed % len(program.inputs)]])
    if program.seed % 4 == 1:
        check_pushed(program)
    if program.seed % 10 == 0:
        check_curvature(program)


def script(program):
    """The program as Python that runs by itself."""
    lines = ["import numpy as np", "import arraytape as xp", "from numpy import array"]
    lines.append("xp.above = lambda x, limit: x > limit")
    for name, x in program.data.items():
        order = "C" if x.flags.c_contiguous else "F"
        lines.append(f"{name} = xp.asarray(np.array({x.tolist()}, order={order!r}))")
    lines += [f"{name} = {text}" for name, text in program.views.items()]
    lines += [f"sources = [{', '.join(program.inputs)}]", "tape = xp.GradientTape()"]
    lines += ["with tape:", "    tape.watch(sources)"]
    lines += ["    " + line for line in program.text.splitlines()]
    return "\n".join(lines)


def replay(seed):
    """Make and check one program; a failure comes with its script."""
    program = Program(seed)
    try:
        check(program)
    except Exception as error:
        raise AssertionError(
            f"program {seed}: {type(error).__name__}: {error}\n\n{script(program)}"
        ) from error


@pytest.mark.timeout(max(120, PROGRAMS))
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_have_numpys_values_and_the_complex_steps_gradients(block):
    size = -(-PROGRAMS // BLOCKS)
    for seed in range(block * size, (block + 1) * size):
        replay(seed)


def test_the_programs_use_every_kind_of_statement():
    text = "\n".join(Program(seed).text for seed in range(60))
    for part in (
        "] = ", "] += ", " @= ", "/= ", "**= 2", "xp.where", "xp.reshape", ".T", "xp.flip", "None",
        "xp.squeeze", "xp.unstack", "xp.broadcast_to", "::-2", "xp.take", "for i", "xp.asarray([True",
        "xp.above", "copy=True", "del ", "xp.stack", "xp.max", "xp.cumulative_sum", "k[0] = 0",
    ):  # fmt: skip
        assert part in text
