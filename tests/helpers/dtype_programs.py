"""Random programs on Arrays of all dtypes, replayed on values unlike those of the traced calls.

The numbers are small multiples of 1/4, so that most results are exact in any order of computation.
Other calls get zeros of both signs, NaN, infinities, subnormal numbers, and the limits of integers.
"""

import contextlib
import random
import warnings

import numpy as np

import arraytape as xp

from .replaying import Outcome, check_memory, compare, eagerly, under_function

DTYPES = (
    "f8", "f8", "f8", "f4", "f2", "c8", "c16", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?",
)  # fmt: skip
SIZE = 400  # on elements
NEAR = 1e-11
# The values of the calls: the first two are traced.
KINDS = "small", "small", "negated", "zeros", "special", "equal", "special"
NUMBERS = (
    "2", "-1", "0", "1", "3", "0.5", "-2.0", "True", "1j", "0.0", "-0.0", "np.float32(1.5)",
    "np.int8(3)", "xp.nan", "xp.inf", "np.uint8(200)",
)  # fmt: skip
# a, b : arrays.  d : an array with axes.  z : one with axes and elements.  i, j : integers or bools.
# n : an array or a number.  k : a key of d.
# x : an axis of the array before it.  xs : an axis or None.  new : the name of the result.
# A semicolon ends a line.
STATEMENTS = """\
{new} = {a} + {n}
{new} = {a} - {n}
{new} = {n} - {a}
{new} = {a} * {n}
{new} = {a} / {n}
{new} = {n} / {a}
{new} = {a} // {n}
{new} = {a} % {n}
{new} = {a} ** {n}
{new} = {a} > {n}
{new} = {a} == {n}
{new} = {a} != {b}
{new} = {i} & {j}
{new} = {i} | {j}
{new} = {i} ^ {j}
{new} = ~{i}
{new} = {i} << 1
{new} = {i} >> {j}
{new} = xp.maximum({a}, {n})
{new} = xp.minimum({a}, {n})
{new} = xp.hypot({a}, {b})
{new} = xp.copysign({a}, {b})
{new} = xp.logical_and({a}, {b})
{new} = xp.logical_not({a})
{new} = xp.nextafter({a}, {b})
{new} = xp.abs({a})
{new} = xp.sign({a})
{new} = -{a}
{new} = xp.square({a})
{new} = xp.round({a})
{new} = xp.sqrt({a})
{new} = xp.reciprocal({a})
{new} = xp.isnan({a})
{new} = xp.signbit({a})
{new} = xp.real({a})
{new} = xp.imag({a})
{new} = xp.conj({a})
{new} = xp.exp({a})
{new} = xp.tanh({a})
{new} = xp.sum({a}, axis={xs})
{new} = xp.mean({a}, axis={xs})
{new} = xp.prod({a}, axis={xs})
{new} = xp.max({a}, axis={xs}, keepdims=True)
{new} = xp.median({a}, axis={xs})
{new} = xp.any({a}, axis={xs})
{new} = xp.argmax({a}, axis={xs})
{new} = xp.count_nonzero({a}, axis={xs})
{new} = xp.var({a}, axis={xs})
{new} = xp.sum({a}, dtype=xp.int8)
{new} = xp.where({a} > 0, {a}, {n})
{new} = xp.clip({a}, 0, 2)
{a} += {n}
{a} -= {n}
{a} *= {n}
{a} /= {n}
{i} |= {j}
{i} //= {j}
{i} %= 2
{a} **= 2
{d}[{k}] = {n}
{d}[{k}] += {n}
{d}[{k}] *= {b}
{new} = {d}[{k}]
{new} = xp.astype({a}, xp.float32)
{new} = xp.astype({a}, xp.int8)
{new} = xp.astype({a}, xp.uint64)
{new} = xp.astype({a}, xp.bool)
{new} = xp.astype({a}, xp.complex64)
{new} = xp.astype({a}, xp.float16)
{new} = xp.reshape({a}, (-1,))
{new} = xp.flip({a})
{new} = +{a}
{new} = xp.zeros_like({a})
{new} = {d}.T
{new} = xp.broadcast_to({a}, (2, *{a}.shape))
{new} = xp.tril({d})
{new} = xp.linalg.diagonal({d})
{new} = xp.sort({d}, axis={x})
{new} = xp.argsort({d}, axis={x}, descending=True)
{new} = xp.diff({d}, axis={x})
{new} = xp.take_along_axis({z}, xp.argmin({z}, axis={x}, keepdims=True), axis={x})
{new} = xp.unique_values({a})
{new} = xp.nonzero({d})[0]
{new} = xp.isin({a}, {b})
{new} = xp.concat([{d}, {d}], axis=-1)
{new} = {d} @ {d}.T
{new} = xp.vecdot({d}, {d})
{new} = xp.einsum('...i,...i->...', {d}, {d})
{new} = xp.cumulative_sum({d}, axis={x})
{new} = xp.cumulative_prod({d}, axis={x})
{new} = np.clip({a}, 0, 2)
{new} = np.mean({a}, axis={xs})
{new} = np.nan_to_num({a})
{new} = np.fmax({a}, {n})
{new} = np.add({a}, {n}, out={b})
{new} = np.nansum({a})
{new} = np.maximum.accumulate({d})
np.copyto({a}, {n}, where={a} > 0)
np.add.at({d}, [0, 0], {n})
{new} = xp.count_nonzero({a}, axis={xs});{b} += {n};{new} += 1
{new} = {a};{new} += {n};{b} = {a} * 2
for row in {d}:;    row *= 2
for i in range(len({d}) - 1):;    {d}[i + 1] += {d}[i]
if xp.sum({a}) > 0:;    {b} = {b} + 1
try:;    {d}[{i}] += 1;except (IndexError, ValueError):;    {b} = {b} * 2
xp.real({d})[...] = {b}
xp.imag({d})[...] *= 2
xp.imag({d})[1:] += 0.5
{new} = xp.imag({d})[:1];{new} += 1
""".splitlines()


class DtypeProgram:
    """A function ``f(x0, x1, ...)`` of Arrays; ``text`` is its source.

    It is made by running random statements with arraytape; those that raise are left out.
    """

    def __init__(self, seed, length=10):
        self.seed, self.choices = seed, random.Random(seed)
        rows, columns = self.choices.randint(1, 4), self.choices.randint(1, 4)
        shapes = (rows, columns), (), (columns,), (rows, 1), (2, rows, columns), (17,), (0, columns)
        odds = 8, 1, 2, 1, 1, 1, 0.2
        self.inputs = [
            (self.choices.choices(shapes, odds)[0], np.dtype(self.choices.choice(DTYPES)))
            for _ in range(self.choices.randint(2, 4))
        ]
        self.names = [f"x{i}" for i in range(len(self.inputs))]
        self.arguments = ", ".join(self.names)
        self.env = {"xp": xp, "np": np} | dict(zip(self.names, self.arrays(0), strict=True))
        self.lines = []
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for _ in range(12 * length):
                if len(self.lines) < length:
                    self.add_line()
        body = "\n".join("    " + part for line in self.lines for part in line.split("\n"))
        results = ", ".join(name for name in self.names if name not in self.arguments)
        self.text = f"def f({self.arguments}):\n{body or '    pass'}\n    return [{results}]\n"
        scope = {"xp": xp, "np": np}
        exec(compile(self.text, f"<program of dtypes {seed}>", "exec"), scope)
        self.f = scope["f"]

    # --- values ---------------------------------------------------------------------------------------
    def values(self, rng, shape, dtype, kind):
        if dtype.kind == "b":
            return rng.random(shape) < 0.5
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if kind == "special":
                pool = [limits.min, limits.max, 0, 1, limits.max - 1]
                return rng.choice(np.array(pool, dtype), shape)
            return rng.integers(0 if dtype.kind == "u" else -5, 7, shape).astype(dtype)
        limits = np.finfo(dtype)
        x = rng.integers(-12, 13, shape) / 4.0
        tiny = float(limits.smallest_subnormal)
        pools = {
            "negated": [-3.0, -1.5, 2.0], "zeros": [0.0, -0.0], "equal": [1.0],
            "special": [np.nan, np.inf, -np.inf, -0.0, 1.0, tiny, float(limits.max)],
        }  # fmt: skip
        if kind in pools:
            x = np.where(rng.random(shape) < 0.6, rng.choice(pools[kind], shape), x)
        with np.errstate(all="ignore"):
            found = np.asarray(x).astype(dtype)
        if dtype.kind == "c":
            found.imag = self.values(rng, shape, found.imag.dtype, kind)
        return found

    def arrays(self, call):
        """Return new Arrays for a call; all calls of a program have arguments in the same layout."""
        rng = np.random.default_rng([self.seed, call])
        found = [self.values(rng, *one, KINDS[call]) for one in self.inputs]
        layout = self.seed % 5
        if layout == 1:
            return [xp.asarray(x.T.copy()).T for x in found]
        if layout == 2:
            return [
                xp.asarray(x[..., ::-1].copy())[..., ::-1] if x.ndim else xp.asarray(x)
                for x in found
            ]
        return [xp.asarray(x) for x in found]

    # --- statements -----------------------------------------------------------------------------------
    def pick(self, kinds="biufc", axes=0, size=0):
        found = [
            name for name in self.names
            if (x := self.env[name]).dtype.kind in kinds and x.ndim >= axes and x.size >= size
        ]  # fmt: skip
        return self.choices.choice(found)

    def axis(self, name):
        ndim = self.env[name].ndim
        return str(self.choices.randrange(-ndim, ndim)) if ndim else "None"

    def key(self, name):
        shape = self.env[name].shape
        if self.choices.random() < 0.3:
            return f"{name} == {name}" if self.choices.random() < 0.3 else f"xp.real({name}) > 0.5"
        if self.choices.random() < 0.3 and shape[0]:
            return f"xp.asarray({[self.choices.randrange(-shape[0], shape[0]) for _ in range(2)]})"
        parts = [
            self.choice(":", "::-1", "1:", "::2", "-1:", "0" if n else ":", "None") for n in shape
        ]
        return ", ".join(parts[: self.choices.randint(1, len(parts))])

    def choice(self, *options):
        return self.choices.choice(options)

    def add_line(self):
        """Add a statement, if it runs and its arrays are small."""
        template = self.choices.choice(STATEMENTS)
        try:
            d, z = self.pick(axes=1), self.pick(axes=1, size=1)
            a, i, j = self.pick(), self.pick("biu"), self.pick("biu")
        except IndexError:
            return
        fields = {
            "a": a, "b": self.pick(), "d": d, "z": z, "i": i, "j": j, "k": self.key(d),
            "n": self.choice(self.choice(*NUMBERS), self.pick(), self.pick()),
            "x": self.axis(z if "{z}" in template else d), "xs": self.choice("None", self.axis(a)),
            "new": f"a{len(self.lines)}",
        }  # fmt: skip
        line = template.replace(";", "\n").format(**fields)
        env = dict(self.env)
        with contextlib.suppress(Exception):
            exec(line, env)
            fresh = [
                name for name in env if name not in self.env and isinstance(env[name], xp.Array)
            ]
            if all(env[name].size <= SIZE for name in fresh):
                self.env = env
                self.names += fresh
                self.lines.append(line)


def replay(seed, compiled=False):
    """Compare replays of a DtypeProgram with eager calls; return the Outcome.

    compiled : whether the program runs as machine code.
    """
    program = DtypeProgram(seed, length=3 + seed % 12)
    function, exact = xp.function(program.f, limit=len(KINDS), compile=compiled), True
    for call, kind in enumerate(KINDS):
        given, beside = program.arrays(call), program.arrays(call)
        what = f"program {seed}, call {call} with {kind} values"
        try:
            with np.errstate(all="ignore"):
                expected, found = eagerly(program.f, beside), under_function(function, given)
                exact &= compare(found, expected, what, NEAR)
                exact &= compare(given, beside, f"{what}, the arguments afterwards", NEAR)
                check_memory((found, given), (expected, beside), what, NEAR)
        except Exception as error:
            raise AssertionError(
                f"{type(error).__name__}: {error}\n\n{program.text}\n"
                f"# from helpers.dtype_programs import replay; replay({seed}, {compiled})"
            ) from error
    return Outcome.of(function, exact)
