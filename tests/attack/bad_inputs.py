"""Bad inputs: calls of all public names, in each of whose places stands what should not be there.

A call that is accepted gives Arrays that hold data of a known storage, of a dtype that one can have.
One that is refused raises a documented exception which says what was wrong and where, or the one of the
object itself; arguments, tapes and stack are as before, and a gradient afterwards is right.
"""

from __future__ import annotations

import random
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arraytape._array.array import Array
from arraytape._record.stack import recorders
from arraytape._storage.storage import STORAGES
from arraytape._util.errors import PACKAGE, foreign, is_library

from .attack import Attack
from .bad_values import VALUES, SpiteError
from .good_calls import CALLS, environment

CASES = 250  # of one seed
DEEPEST = 64  # of a result, which may hold an argument
FILES = (
    "bad_inputs.py",
    "good_calls.py",
    "tool_calls.py",
    "training_calls.py",
    "bad_values.py",
    "../helpers/numpy_calls.py",
)
HERE = [str((Path(__file__).parent / file).resolve()) for file in FILES]
# Functions of ours whose own frame is the last where a function of the user's, such as len, has none.
WITHOUT_FRAME = ("with_rule", "numpy_function", "checked_flatten", "checked_unflatten")
HERE_TOO = tuple(HERE[1:])
# What a message may be of, beside a bare ValueError, TypeError or IndexError.
DOCUMENTED = (
    ArithmeticError, AssertionError, AttributeError, BufferError, ImportError, IndexError, LookupError,
    MemoryError, NotImplementedError, OSError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
NEVER = (KeyError, RecursionError, UnboundLocalError, UnicodeError)


class Case(NamedTuple):
    """One argument of a call, and what stands in its place."""

    call: str
    place: int | str
    value: str

    def __str__(self):
        return f"{self.call}, argument {self.place!r}: {self.value}"


def cases():
    """All of them."""
    e = environment()
    for name, make in CALLS.items():
        _, args, keywords = make(e)
        for place in (*range(len(args)), *keywords):
            if name.endswith(" =") and place == 0:
                continue  # an attribute of something else: NumPy's module would go on with it
            yield from (Case(name, place, value) for value in VALUES)


def problem(case):
    """What is wrong with how a case ends, or None."""
    e = environment()
    with e.tape:
        e.tape.watch(e.x)
        v = e.x * 1.0
        before = v * v
        function, args, keywords = CALLS[case.call](e)
        bad = VALUES[case.value]()
        args, keywords = list(args), dict(keywords)
        (args if isinstance(case.place, int) else keywords)[case.place] = bad
        if case.call.startswith(("np.", "interop.")) and not holds_array([args, keywords]):
            return None  # nobody asks us
        given = bytes_of([args, keywords, e.x, e.w])
        found = outcome(case, function, args, keywords)
        if isinstance(found, Exception):
            found = wrong_error(case, found)
            # NumPy writes to the array that it is given for a line's length.
            prints = case.call.startswith("np.array")
            allowed = prints or keywords.get("overwrite_input")
            if bytes_of([args, keywords, e.x, e.w]) != given and not allowed:
                found = "an argument was written to, and then there was an error"
        if recorders() != (e.tape._recording,):
            return f"{found or ''}; recorders are left: {recorders()}"
        after = before * 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = e.tape.gradient(after, v)
    if gradient is None or not np.array_equal(np.asarray(gradient), 6.0 * e.values):
        return f"{found or ''}; a gradient afterwards is {gradient}"
    return found


def outcome(case, function, args, keywords):
    """The error of a call, or what is wrong with its result."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*args, **keywords)
    except Exception as error:
        return error
    return wrong_result(result, set())


def wrong_result(value, seen, depth=0):
    """What an Array in a result must not hold, or None."""
    if id(value) in seen or depth > DEEPEST:
        return None
    seen.add(id(value))
    if isinstance(value, Array):
        data = value._data
        if type(data) not in STORAGES:
            return f"an Array that holds a {type(data).__name__}: {data!r}"
        dtype = data.dtype
        if dtype.kind not in "biufc" or not dtype.isnative or dtype.char in "gG":
            return f"an Array of dtype {dtype}"
    parts = (
        value.values() if type(value) is dict else value if isinstance(value, list | tuple) else ()
    )
    return next((wrong for part in parts if (wrong := wrong_result(part, seen, depth + 1))), None)


def wrong_error(case, error):
    """What an error must not be, or None."""
    said, kind = str(error), type(error).__name__
    if isinstance(error, SpiteError):
        return None
    line = innermost(error)
    if (
        line is None
    ):  # raised by Python where the call stands: a name that is not there, an operator
        return None
    if isinstance(error, OSError) and error.errno is not None:
        return None  # the system's, which names the file
    if raised_in(error).startswith(HERE_TOO):
        return None  # in a good call's own function, which was given what does not fit
    if isinstance(error, NEVER) and "[at " not in said:
        return f"{kind} from inside, {line}: {said}"
    if not isinstance(error, DOCUMENTED):
        return f"{kind}, {line}: {said}"
    if line.endswith(WITHOUT_FRAME):
        return None
    if isinstance(error, AttributeError) and entered_by(error) == "__getattr__":
        return None  # NumPy's code asked for a name that is not there, as the user's line might
    if last_of_ours(error) == "_facades.py":
        return None  # NumPy's function, which SciPy's code called by our name
    if isinstance(error, AssertionError) and case.call.startswith("testing.check"):
        return None  # what it checks is wrong
    if isinstance(error, Warning) or raised_by_what_we_called(error):
        return None
    if "[at " not in said:
        return f"{kind} without the user's line, {line}: {said}"
    if not any(f"[at {file}" in said for file in HERE):
        return f"{kind} with another line, {line}: {said}"
    return None


def raised_by_what_we_called(error):
    """Whether code that is neither ours nor NumPy's raised the error, below ours."""
    trace, ours = error.__traceback__, False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        ours = ours or file.startswith((PACKAGE, "<arraytape"))
        if ours and foreign(trace.tb_frame) and not is_library(file):
            return True
        trace = trace.tb_next
    return False


def raised_in(error):
    """The file of the function that raised an error."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename


def last_of_ours(error):
    """The file of the last of our functions that ran when an error was raised."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        found = Path(file).name if file.startswith(PACKAGE) else found
        trace = trace.tb_next
    return found


def entered_by(error):
    """The name of the first function of ours among those that ran when an error was raised."""
    trace = error.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(PACKAGE):
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_name if trace else ""


def innermost(error):
    """The place of ours, or of NumPy's below us, in which an error was raised, if we ran."""
    trace, found, ours = error.__traceback__, None, False
    while trace is not None:
        code = trace.tb_frame.f_code
        ours = ours or code.co_filename.startswith((PACKAGE, "<arraytape"))
        if ours and not foreign(trace.tb_frame):
            found = f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}"
        trace = trace.tb_next
    return found


def holds_array(value, depth=4):
    """Whether there is an Array in a nesting."""
    if isinstance(value, dict):
        value = [*value.values()]
    if not depth or not isinstance(value, list | tuple):
        return isinstance(value, Array)
    return any(holds_array(part, depth - 1) for part in value)


def bytes_of(value):
    """What Arrays in a nesting hold, bit for bit."""
    found, seen = [], set()

    def visit(value):
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, Array):
            data = value._data
            found.append(data.tobytes() if type(data) is np.ndarray else repr(data))
        elif type(value) is np.ndarray and value.dtype.kind in "biufc":
            found.append(value.tobytes())
        elif isinstance(value, dict | list | tuple):
            for part in value.values() if isinstance(value, dict) else value:
                if not isinstance(part, int | float | str):
                    visit(part)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(30_000)
    try:
        visit(value)
    finally:
        sys.setrecursionlimit(limit)
    return found


EVERY = []


def run(seed):
    """CASES of all cases, chosen by the seed."""
    if not EVERY:
        EVERY.extend(cases())
    rng = random.Random(seed)
    wrong = []
    for case in rng.sample(EVERY, CASES):
        said = problem(case)
        if said:
            wrong.append(f"{case}: {said}")
    assert not wrong, "bad_inputs:\n" + "\n".join(wrong)
    return CASES


ATTACK = Attack(run, "inputs")
