"""What fills the holes of a template: arrays that are alive, keys, axes, numbers, names.

A hole is a kind and perhaps a digit, so that ``{a}`` and ``{a2}`` are two arrays.  What has to fit an
operand looks at the first one of the template.
"""

import re

import numpy as np

from .statements import PARTS, WORDS

HOLE = re.compile(r"\{([a-z_]+)(\d?)\}")
OPERANDS = {"a", "n", "x", "z", "i", "v", "m", "q", "t", "tn", "tp"}  # are filled first
OUT = re.compile(r"(, )?(out=)?\(?<>,?\)?")
DTYPES = {np.dtype(name) for name in ("f4", "f8", "c8", "c16", "i8", "?")}


class Unfillable(Exception):
    """Nothing that is alive fits a hole."""


class Holes:
    """The holes of one template: ``Holes(program).fill(template)`` is the statement."""

    def __init__(self, program):
        self.program = program
        self.choices = program.choices
        self.filled = {}
        self.first = None  # the value of the first operand

    def fill(self, template):
        for match in HOLE.finditer(template):
            if match[1] in OPERANDS:
                self.fill_one(match)
        text = HOLE.sub(self.fill_one, template).replace("{{", "{").replace("}}", "}")
        return self.with_out(text) if "<>" in text else text

    def fill_one(self, match):
        hole, kind = match[0], match[1]
        if hole not in self.filled:
            words = WORDS.get(hole[1:-1]) or WORDS.get(kind)
            self.filled[hole] = self.one(words.split()) if words else getattr(self, kind)()
        return self.filled[hole]

    def chance(self, p):
        return self.choices.random() < p

    def one(self, options):
        if not options:
            raise Unfillable
        return options[int(self.choices.random() * len(options))]

    def integer(self, low, high):
        """low <= integer < high."""
        return low + int(self.choices.random() * (high - low))

    # --- operands -------------------------------------------------------------------------------------
    def pick(self, kinds="fc", fits=None, parts=0.25):
        """An array of some kinds, or an expression around one: text and value."""
        name, x = self.one([
            (name, x) for name, x in self.program.alive
            if x.dtype.kind in kinds and (not fits or fits(x))
        ])  # fmt: skip
        if self.chance(parts):
            text = self.around(name, x)
            part = self.program.value(text)
            if getattr(part, "dtype", None) in DTYPES and part.dtype.kind in kinds:
                return (text, part) if not fits or fits(part) else (name, x)
        return name, x

    def around(self, name, x):
        """An expression around an array: a part of it, another order of its axes, a copy."""
        part = self.one(PARTS)
        if "einsum" in part and not x.size:
            return name
        if "{key}" in part:
            part = part.replace("{key}", self.key_of(x))
        return part.replace("{o}", name)

    def operand(self, *how, **more):
        text, x = self.pick(*how, **more)
        if self.first is None:
            self.first = x
        return text

    def a(self):
        return self.operand()

    def n(self):
        return self.operand("fcib")

    def x(self):
        return self.operand("f")

    def z(self):
        return self.operand("c")

    def i(self):
        return self.operand("i")

    def v(self):
        return self.operand(fits=lambda x: x.ndim == 1)

    def m(self):
        return self.operand(fits=lambda x: x.ndim == 2)

    def q(self):
        """A symmetric or Hermitian matrix that is far from singular."""
        text, x = self.pick("f", lambda x: x.ndim == 2 and 0 < len(x) < 5)
        self.first = x if self.first is None else self.first
        self.rows = len(x)
        diagonal = ", ".join(f"{2.0 + 0.9 * i:.1f}" for i in range(len(x)))
        return f"({text} @ {text}.conj().T * 0.1 + np.diag([{diagonal}]))"

    def qv(self):
        """The right-hand side of an equation with ``{q}``."""
        return self.operand("f", lambda x: x.ndim in (1, 2) and len(x) == self.rows)

    def part(self):
        return self.around(*self.pick(parts=0.1))

    def t(self):
        """An array to write to, or a part of one."""
        kinds = "fc" if self.chance(0.93) else "fcib"
        return self.operand(kinds, lambda x: type(x) is np.ndarray and x.size, parts=0.35)

    def tp(self):
        """An array to write to, by its name alone."""
        return self.operand(fits=may_be_written, parts=0)

    def tn(self):
        """The name of an array or scalar, which a statement may bind anew."""
        own = self.program.own
        name, self.first = self.one([
            (name, x) for name, x in self.program.alive if name in own and x.dtype.kind in "fc"
        ])  # fmt: skip
        return name

    def b(self):
        """What broadcasts with the first operand: an array or a number."""
        return self.a() if self.first is None else self.spreading(self.first.shape)

    def s(self):
        """What has the shape of the first operand."""
        same = [
            name for name, x in self.program.alive
            if x.shape == self.first.shape and x.dtype.kind in "fc"
        ]  # fmt: skip
        return self.one(same) if same and self.chance(0.9) else self.pick()[0]

    def spreading(self, shape):
        if self.chance(0.15):
            return self.num()
        fit = [name for name, x in self.program.operands if spreads(x.shape, shape)]
        return self.one(fit) if fit and self.chance(0.95) else self.pick("fcib")[0]

    def region(self):
        """What fits where the key of the first operand points."""
        target = self.filled.get("{t}") or self.filled["{a}"]
        return self.spreading(np.shape(self.program.value(f"{target}[{self.filled['{key}']}]")))

    def out(self):
        return "<>"  # with_out fills it when the rest is there

    def with_out(self, text):
        """The statement with an array that fits its result as ``out``."""
        call = OUT.sub("", re.sub(r"^\w+ = ", "", text), count=1)
        result = self.program.value(re.sub(r", where=.*\)$", ")", call))
        shape, kind = np.shape(result), np.asarray(result).dtype.kind
        scans = "cum" in text or "accumulate" in text  # into a 0-d out these crash NumPy 2.4
        fit = [
            (name, x) for name, x in self.program.alive
            if type(x) is np.ndarray and (x.ndim or not scans) and x.dtype.kind in kind + "fc"
        ]  # fmt: skip
        exact = [(name, x) for name, x in fit if x.shape == shape and x.dtype.kind == kind]
        refused = self.chance(0.1) and not exact and not scans and "choose" not in text
        return text.replace("<>", self.one(fit if refused else exact)[0])

    # --- numbers, axes, keys --------------------------------------------------------------------------
    def num(self):
        return f"{self.choices.uniform(0.05, 1.2) * self.one((-1, 1)):.2f}"

    def ax(self):
        """An axis of the first operand."""
        ndim = 0 if self.first is None else self.first.ndim
        if not ndim:
            raise Unfillable
        return str(self.integer(-ndim, ndim) if self.chance(0.97) else ndim)

    def axis(self):
        """An axis or None, as reductions take it."""
        if self.first is None or not self.first.ndim:
            return self.one(("None", "0", "-1"))
        return "None" if self.chance(0.3) else self.ax()

    def mask(self):
        return self.mask_for(self.first)

    def mask_for(self, x):
        """Truths for the elements of an array."""
        same = [
            (name, y.dtype.kind) for name, y in self.program.alive
            if y.shape == x.shape and y.dtype.kind in "bf"
        ]  # fmt: skip
        if same and self.chance(0.7):
            name, kind = self.one(same)
            return name if kind == "b" else f"({name} > {self.num()})"
        if x.ndim and self.chance(0.8):
            n = x.shape[0] if self.chance(0.5) else x.shape[-1]
            return f"np.array({[self.chance(0.6) for _ in range(n)]}, bool)"
        return self.one(("True", "np.array(True)", "np.array([True, False])"))

    def idx(self):
        """Places along an axis."""
        n = max([*self.first.shape, 1]) if self.chance(0.05) else min([*self.first.shape, 3])
        places = [self.integer(-n, n) for _ in range(self.integer(1, 5))] if n else [0]
        if self.chance(0.2):
            return str(places[0])
        if self.chance(0.2):
            places = [places, places[::-1]]
        return f"np.array({places})" if self.chance(0.7) else str(places)

    def key(self):
        return self.key_of(self.first)

    def key_of(self, x):
        """Any key that fits an array."""
        if not x.ndim:
            return self.one(("...", "()", "None"))
        parts, kind = [self.key_part(n) for n in x.shape], self.choices.random()
        if kind < 0.12:
            return self.mask_for(x)
        if kind < 0.3 and 0 not in x.shape:
            at = self.integer(0, x.ndim)
            n = x.shape[at]
            places = [self.integer(-n, n) for _ in range(self.integer(1, 4))]
            parts[at] = self.one((
                f"{places}", f"{places}", f"np.array({places})", f"np.array([{places}, {places[::-1]}])"
            ))  # fmt: skip
        elif kind < 0.5:
            parts.insert(self.integer(0, len(parts) + 1), "None")
        parts = parts[: self.integer(1, len(parts) + 1)]
        if self.chance(0.2):
            parts = ["...", *parts[-1:]] if self.chance(0.5) else [*parts[:1], "..."]
        return ", ".join(parts)

    def key_part(self, n):
        if self.chance(0.4):
            n = n if self.chance(0.98) else n + 3
            return str(self.integer(-n, n)) if n else ":"
        return self.one((":", "::-1", "1:", ":-1", "::2", "::-2", ":2", "1:2"))

    # --- names ----------------------------------------------------------------------------------------
    def fresh(self, letter):
        self.program.count += 1
        name = f"{letter}{self.program.count}"
        self.program.named.append(name)
        return name

    def new(self):
        """A name for a result: a fresh one, or an array's that is bound anew."""
        own = [name for name, _ in self.program.alive if name in self.program.own]
        few = len(self.program.alive) < 14
        return self.fresh("a") if (few and self.chance(0.92)) or not own else self.one(own)

    def box(self):
        return self.fresh("d")

    def k(self):
        return self.fresh("k")

    def row(self):
        return self.fresh("row")

    def fun(self):
        return self.fresh("f")

    def of_type(self, kind):
        return self.named(lambda value: type(value) is kind)

    def named(self, fits):
        env = self.program.env
        return self.one([n for n, value in env.items() if n[0] != "_" and fits(value)])

    def list(self):
        return self.of_type(list)

    def nest(self):
        """A list of arrays, or of lists of them: what ``np.stack`` makes an array of."""
        return self.named(lambda value: type(value) is list and holds_arrays(value))

    def row_of(self):
        """A list of arrays alone: of a list of lists ``np.sum`` asks no array, so it leaves the tape."""
        return self.named(
            lambda value: type(value) is list and all(hasattr(part, "dtype") for part in value)
        )

    def dict(self):
        return self.of_type(dict)

    def call(self):
        return self.of_type(type(spreads))


def holds_arrays(nested):
    """Whether a nesting of lists holds arrays and numbers alone."""
    return all(
        holds_arrays(part) if isinstance(part, list | tuple) else hasattr(part, "dtype")
        for part in nested
    )


def may_be_written(x):
    """Whether x is an array to write to, without a warning."""
    try:
        return type(x) is np.ndarray and x.flags.writeable
    except FutureWarning:
        return False


def spreads(shape, wanted):
    """Whether an operand of a shape broadcasts to the wanted one."""
    extra = len(wanted) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[extra:], strict=True))
