"""What fills the holes of a template: arrays that are alive, keys, axes, numbers, names.

A hole is a kind and perhaps a digit, so that ``{a}`` and ``{a2}`` are two arrays.  What has to fit another
operand looks at the first one of the template.
"""

import random
import re

import numpy as np

from .statements import PARTS

HOLE = re.compile(r"\{([a-z_]+)(\d?)\}")
WORDS = {
    "any1": "sin cos tanh negative square positive exp sinh arcsinh conjugate expm1 cosh".split(),
    "real1": "arctan absolute exp2 fabs floor rint deg2rad log1p fabs degrees trunc".split(),
    "any2": "add subtract multiply add subtract multiply add true_divide".split(),
    "real2": "maximum minimum fmax fmin arctan2 hypot logaddexp copysign heaviside".split(),
    "op": "+ - * + - * /".split(),
    "iop": "+ - * + - *".split(),
    "cmp": "< <= > >= == !=".split(),
    "red": "sum mean prod sum".split(),
    "order_red": "max min amax amin max min".split(),
    "spread": "var std".split(),
    "ranked": "median nanmedian ptp".split(),
    "nanred": "nansum nanmean nanprod nanmax nanmin nanvar nanstd nanmedian nansum".split(),
    "order": "C F A K".split(),
    "mode": "full same valid".split(),
    "padmode": "constant edge reflect symmetric wrap linear_ramp mean maximum".split(),
    "pads": ["1, 2", "0, 1", "2, 0"],
    "bool": "True False".split(),
    "ddof": "0 1".split(),
    "ij": "ij xy".split(),
}


OPERANDS = {"a", "n", "x", "z", "i", "v", "m", "q", "t", "tn", "tp"}


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
        for match in HOLE.finditer(template):  # what has to fit looks at operands
            if match[1] in OPERANDS:
                self.fill_one(match)
        text = HOLE.sub(self.fill_one, template).replace("{{", "{").replace("}}", "}")
        return self.with_out(text) if "out=<>" in text or "<>" in text else text

    def fill_one(self, match):
        hole = match[0]
        if hole not in self.filled:
            kind = match[1]
            words = WORDS.get(hole[1:-1]) or WORDS.get(kind)
            found = self.choices.choice(words) if words else getattr(self, kind)()
            if found is None:
                raise Unfillable(kind)
            self.filled[hole] = found
        return self.filled[hole]

    def chance(self, p):
        return self.choices.random() < p

    def value(self, text):
        """What an expression is now; None when NumPy refuses it."""
        return self.program.value(text)

    # --- operands -------------------------------------------------------------------------------------
    def pick(self, kinds="fc", fits=None, parts=0.25):
        """An array of some kinds, or an expression around one: text and value."""
        alive = self.program.alive
        found = [(name, x) for name, x in alive if x.dtype.kind in kinds and (not fits or fits(x))]
        if not found:
            raise Unfillable(kinds)
        name, x = self.choices.choice(found)
        if self.chance(parts):
            text = self.around(name, x)
            part = self.value(text)
            if getattr(part, "dtype", None) in DTYPES and part.dtype.kind in kinds and (not fits or fits(part)):
                name, x = text, part
        return name, x

    def around(self, name, x):
        """An expression around an array: a part of it, another order of its axes, a copy."""
        part = self.choices.choice(PARTS)
        return part.replace("{o}", name).replace("{key}", self.key_of(x)) if "{key}" in part else part.replace("{o}", name)

    def operand(self, *how, **more):
        text, x = self.pick(*how, **more)
        if self.first is None:
            self.first = x
        return text

    def a(self):
        return self.operand("fc")

    def n(self):
        return self.operand("fcib")

    def x(self):
        return self.operand("f")

    def z(self):
        return self.operand("c")

    def i(self):
        return self.operand("i")

    def v(self):
        return self.operand("fc", lambda x: x.ndim == 1)

    def m(self):
        return self.operand("fc", lambda x: x.ndim == 2)

    def q(self):
        """A matrix that is far from singular."""
        text, x = self.pick("f", lambda x: x.ndim == 2 and 0 < len(x) < 5)
        if self.first is None:
            self.first = x
        self.rows = len(x)
        weights = ", ".join(f"{2.0 + 0.9 * i:.1f}" for i in range(len(x)))
        return f"({text} @ {text}.T * 0.1 + np.diag([{weights}]))"

    def qv(self):
        return self.operand("f", lambda x: x.ndim in (1, 2) and len(x) == self.rows)

    def part(self):
        """A part of an array, or a rearrangement of it."""
        text, x = self.pick("fc", parts=0.1)
        return self.around(text, x)

    def t(self):
        """An array to write to."""
        return self.operand("fc" if self.chance(0.93) else "fcib", lambda x: type(x) is np.ndarray, parts=0.35)

    def tp(self):
        """An array to write to, by its name alone."""
        return self.operand("fc", lambda x: type(x) is np.ndarray, parts=0)

    def tn(self):
        """The name of an array to write to, which may be bound anew."""
        names = [(name, x) for name, x in self.program.alive if name in self.program.own and x.dtype.kind in "fc"]
        if not names:
            return None
        name, self.first = self.choices.choice(names)
        return name

    def b(self):
        """What broadcasts with the first operand: an array or a number."""
        if self.first is None:
            return self.a()
        return self.spreading(self.first.shape)

    def s(self):
        """What has the shape of the first operand."""
        same = [name for name, x in self.program.alive if x.shape == self.first.shape and x.dtype.kind in "fc"]
        return self.choices.choice(same) if same and self.chance(0.9) else self.pick()[0]

    def spreading(self, shape):
        if self.chance(0.15):
            return self.num()
        fit = [name for name, x in self.program.operands if spreads(x.shape, shape)]
        if fit and self.chance(0.95):
            return self.choices.choice(fit)
        return self.pick("fcib")[0]

    def region(self):
        """What fits where a key of the first operand points."""
        part = self.value(f"{self.filled.get('{t}') or self.filled['{a}']}[{self.filled['{key}']}]")
        return self.spreading(np.shape(part))

    def mask(self):
        return self.mask_for(self.first)

    def mask_for(self, x):
        """Truths in the shape of an array."""
        same = [n for n, y in self.program.alive if y.shape == x.shape and y.dtype.kind in "bf"]
        if same and self.chance(0.7):
            name = self.choices.choice(same)
            return name if dict(self.program.alive)[name].dtype.kind == "b" else f"({name} > {self.num()})"
        if x.ndim and self.chance(0.8):
            n = x.shape[0] if self.chance(0.5) else x.shape[-1]
            return f"np.array({[self.chance(0.6) for _ in range(n)]}, bool)"
        return self.choices.choice(["True", "np.array(True)", "np.array([True, False])"])

    def idx(self):
        """Places along an axis."""
        n = max([*self.first.shape, 1]) if self.chance(0.05) else min([*self.first.shape, 3])
        places = [self.choices.randrange(-n, n) for _ in range(self.choices.randint(1, 4))] if n else [0]
        if self.chance(0.2):
            return str(places[0])
        if self.chance(0.2):
            places = [places, places[::-1]]
        return f"np.array({places})" if self.chance(0.7) else str(places)

    def out(self):
        return "<>"

    def with_out(self, text):
        """The statement with an array that fits its result in the place of ``out``."""
        call = re.sub(r"^\{?\w+\}? = ", "", text) if re.match(r"\w+ = ", text) else text
        call = call.replace("out=(<>,)", "out=<>").replace(", out=<>", "").replace(", <>)", ")").replace("(out=<>)", "()")
        call = re.sub(r", where=(?!.*initial).*\)$", ")", call)
        result = self.value(call)
        shape, kind = np.shape(result), np.asarray(result).dtype.kind
        scans = "cum" in text or "accumulate" in text  # into a 0-d out these crash NumPy 2.4
        fit = [
            (name, x) for name, x in self.program.alive
            if type(x) is np.ndarray and (x.ndim or not scans) and x.dtype.kind in kind + "fc"
        ]  # fmt: skip
        exact = [(name, x) for name, x in fit if x.shape == shape and x.dtype.kind == kind]
        if exact or self.chance(0.9) or scans or "choose" in text:
            fit = exact
        if not fit:
            raise Unfillable("out")
        return text.replace("<>", self.choices.choice(fit)[0])

    # --- numbers and axes -----------------------------------------------------------------------------
    def num(self):
        return f"{self.choices.uniform(0.05, 1.2) * self.choices.choice((-1, 1)):.2f}"

    def ax(self):
        ndim = 0 if self.first is None else self.first.ndim
        if not ndim:
            raise Unfillable("axis")
        return str(self.choices.randrange(-ndim, ndim) if self.chance(0.97) else ndim)

    def axis(self):
        if self.first is None or not self.first.ndim:
            return self.choices.choice(("None", "0", "-1"))
        return "None" if self.chance(0.3) else self.ax()

    def key(self):
        return self.key_of(self.first)

    def key_of(self, x):
        """Any key that fits an array."""
        if not x.ndim:
            return self.choices.choice(["...", "()", "None"])
        parts = [self.key_part(n) for n in x.shape]
        kind = self.choices.random()
        if kind < 0.12:
            return self.mask_for(x)
        if kind < 0.3 and 0 not in x.shape:
            at = self.choices.randrange(x.ndim)
            n = x.shape[at]
            places = [self.choices.randrange(-n, n) for _ in range(self.choices.randint(1, 3))]
            parts[at] = str(places) if self.chance(0.5) else f"np.array({places})"
            if self.chance(0.1):
                parts[at] = f"np.array([{places}, {places[::-1]}])"
        elif kind < 0.5:
            parts.insert(self.choices.randrange(len(parts) + 1), "None")
        parts = parts[: self.choices.randint(1, len(parts))]
        if self.chance(0.2):
            parts = ["..."] + parts[-1:] if self.chance(0.5) else parts[:1] + ["..."]
        return ", ".join(parts)

    def key_part(self, n):
        if self.chance(0.4):
            n = n if self.chance(0.98) else n + 3
            return str(self.choices.randrange(-n, n)) if n else ":"
        return self.choices.choice([":", "::-1", "1:", ":-1", "::2", "::-2", ":2", "1:2"])

    # --- names ----------------------------------------------------------------------------------------
    def new(self):
        """A name for a result: a fresh one, or an array's that is bound anew."""
        own = [name for name, _ in self.program.alive if name in self.program.own]
        if len(self.program.alive) < 14 and self.chance(0.92) or not own:
            return self.fresh("a")
        return self.choices.choice(own)

    def fresh(self, letter):
        self.program.count += 1
        name = f"{letter}{self.program.count}"
        self.program.named.append(name)
        return name

    def box(self):
        """A name for a container."""
        return self.fresh("d")

    def k(self):
        return self.fresh("k")

    def row(self):
        return self.fresh("row")

    def loop(self):
        return self.fresh("item")

    def fun(self):
        return self.fresh("f")

    def of_type(self, kind):
        names = [name for name, x in self.program.env.items() if type(x) is kind and name[0] != "_"]
        return self.choices.choice(names) if names else None

    def list(self):
        return self.of_type(list)

    def dict(self):
        return self.of_type(dict)

    def call(self):
        return self.of_type(FUNCTION)


def spreads(shape, wanted):
    """Whether an operand of a shape broadcasts to the wanted one."""
    extra = len(wanted) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[extra:], strict=True))


FUNCTION = type(spreads)
DTYPES = {np.dtype(name) for name in ("f4", "f8", "c8", "c16", "i8", "?")}
