"""The function of a program, run on NumPy's arrays, on Arrays, and nearby for differences."""

import os
import re
import sys
from contextlib import contextmanager
from copy import copy

import numpy as np

import arraytape as xp
from arraytape._array.array import SCALAR
from arraytape._numpy_api import flat_iterator, selection
from arraytape.ops import writing
from random_programs.checks import weights

from .noise import noisy_numpy
from .program import REFUSED, TYPES, arrays
from .statements import ROUNDED

WIDE = TYPES | {"single": np.float64}  # for differences
# One where NumPy's loops and ours add in another order, or where NumPy writes into another layout than
# that of the result, by loops that round otherwise.
ROUNDING = re.compile(rf"where=|out=.*\[::-1\]|\b({'|'.join(ROUNDED)})\b")
TO_A_SCALAR = "a write to what is a scalar in NumPy"
HOME = os.path.dirname(xp.__file__)
STEPS = (1e-4, 3e-6, 1e-3)  # where a kink lies within one step of differences, another one counts


class Skipped(Exception):
    """There is nothing to compare with: at a kink, say."""


class Runs:
    """A program's text as functions.

    expected : the variables at its end, on NumPy's arrays.
    targets : the names of the floating-point arrays among them, each beside weights.
    """

    def __init__(self, program, body=None):
        self.program = program
        text = self.text = program.text(body)
        self.flavour = "single" if "single" in text else program.flavour
        self.near = 1e-4 if self.flavour == "single" else 1e-11  # of values that are not exact
        # NumPy's scalars round complex products in another way than its arrays.
        self.exact = program.flavour != "complex" and not ROUNDING.search(text)
        self.code = compile(text, f"<program {program.seed}>", "exec")
        self.program_of, self.wide = (function_of(self.code, types) for types in (TYPES, WIDE))
        try:
            self.expected = self.on_numpy(self.program_of, program.data)
        except Warning as error:
            raise Skipped(str(error)) from error
        except (ValueError, TypeError, AttributeError) as error:
            raise Skipped("an error in NumPy outside of try, of a read-only array, say") from error
        # Powers of NumPy's scalars are the C library's, those of its arrays are not.
        scalars = any(isinstance(x, np.inexact) for x in self.expected.values())
        self.exact = self.exact and not (scalars and "**" in text)
        self.targets = {
            name: weights(np.shape(x), np.dtype("c16" if x.dtype.kind == "c" else "f8"), turn % 50)
            for turn, (name, x) in enumerate(self.alive(self.expected))
            if x.dtype.kind in "fc"
        }

    def alive(self, env):
        """All arrays at the end, by name; the inputs' own, too."""
        constants = self.program.constants
        return arrays({n: x for n, x in env.items() if n.removeprefix("given ") not in constants})

    def on_numpy(self, function, data):
        return run(function, {name: x.copy(order="K") for name, x in data.items()})

    def given(self, at=0.0, along=None):
        """The inputs as Arrays, perhaps at a place nearby."""
        data, constants = self.program.data, self.program.constants
        if at:
            data = data | {name: data[name] + at * step for name, step in along.items()}
        return {n: x.copy() if n in constants else xp.asarray(x) for n, x in data.items()}

    def moved(self, steps):
        """The same program at inputs nearby."""
        nearby = copy(self)
        nearby.program = copy(self.program)
        data = self.program.data
        nearby.program.data = data | {
            x: (data[x] + step).astype(data[x].dtype) for x, step in steps.items()
        }
        return nearby

    def on_arrays(self, given):
        """Skipped where it writes to what is a scalar in NumPy, of which that write is lost or refused.

        An Array of shape () takes it: the standard has no scalars.
        """
        with noting_writes_to_scalars() as noted:
            try:
                env = run(self.program_of, given)
            except Exception as error:
                if noted:
                    raise Skipped(TO_A_SCALAR) from error
                if ".at(" in self.text and "read-only" in str(error):
                    raise Skipped("np.add.at writes to read-only arrays in NumPy 2.4") from error
                raise
        if noted:
            raise Skipped(TO_A_SCALAR)
        return env

    def hangs_on_rounding(self, name):
        """Whether a value changes where functions that are several ops of ours are rounded otherwise."""
        expected, near = dict(self.alive(self.expected)), self.near
        for seed in range(4):
            function = function_of(self.code, TYPES, noisy_numpy(seed))
            try:
                found = dict(self.alive(self.on_numpy(function, self.program.data)))
            except Exception:  # a decision
                return True
            x, y = found.get(name), expected[name]
            if x is None or x.shape != y.shape or not np.allclose(x, y, near, near, equal_nan=True):
                return True
        return False

    # --- differences ----------------------------------------------------------------------------------
    def total(self, at, along):
        """A weighted sum of all arrays where the inputs are moved a little, in double precision."""
        found = self.nearby(at, along)
        return float(sum(np.sum(found[name] * w).real for name, w in self.targets.items()))

    def nearby(self, at, along):
        """All arrays where the inputs are moved a little, in double precision."""
        data = {
            name: np.asarray(
                x + at * along[name] if name in along else x,
                np.result_type(x.dtype, np.float64) if x.dtype.kind in "fc" else x.dtype,
            )
            for name, x in self.program.data.items()
        }
        try:
            env = self.on_numpy(self.wide, data)
        except (*REFUSED, NameError) as error:
            raise Skipped("a decision that depends on the last bits of values") from error
        if errors(env) != errors(self.expected):
            raise Skipped("an error that depends on the precision")
        found = dict(self.alive(env))
        if any(np.shape(found.get(name)) != w.shape for name, w in self.targets.items()):
            raise Skipped("a shape that depends on the last bits of values")
        return found

    def slopes(self, along):
        """The slope by differences of several steps, and by how much those to both sides differ."""
        at = self.total(0.0, along)
        if self.flavour == "single":
            found, expected = self.nearby(0.0, along), dict(self.alive(self.expected))
            for name in self.targets:
                if not np.allclose(found[name], expected[name], 3e-3, 3e-3, equal_nan=True):
                    raise Skipped("a value that depends on the precision")
        for h in STEPS:
            ahead, behind, near, far = (self.total(x, along) for x in (h, -h, h / 2, -h / 2))
            coarse, fine = (ahead - behind) / (2 * h), (near - far) / h
            yield (4 * fine - coarse) / 3, abs(near + far - 2 * at) / h * 2


def errors(env):
    """The types of what a program's statements raised."""
    return [type(error) for error in env.get("_errors", ())]


def is_the_programs():
    """Whether a write is one of the program's, not one of NumPy's functions to a value of its own."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.startswith(HOME):
        frame = frame.f_back
    return frame.f_code.co_filename.startswith("<program")


@contextmanager
def noting_writes_to_scalars():
    """A list that grows with each write to an Array of shape () that stands for a scalar of NumPy's."""
    noted, check = [], writing.check_writeable

    def noting(x, data):
        if x._state & SCALAR and is_the_programs():
            noted.append(x)
        check(x, data)

    try:
        for module in (writing, selection, flat_iterator):
            module.check_writeable = noting
        yield noted
    finally:
        for module in (writing, selection, flat_iterator):
            module.check_writeable = check


def function_of(code, types, numpy=np):
    scope = {"np": numpy, **types}
    exec(code, scope)
    return scope["program"]


def run(function, given):
    """The variables at a program's end, beside the inputs under names of their own."""
    env = function(**given)
    return env | {f"given {name}": x for name, x in given.items()}
