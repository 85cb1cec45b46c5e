"""Make and check one program; one that fails is cut down to what matters and said as a script."""

import numpy as np

from helpers import shrinking

from .checks import check
from .program import Program
from .runs import Runs, Skipped

USAGE = """
import warnings; warnings.simplefilter("error")
given = [{names}]
expected = program(*[x.copy() for x in given])
found = program(*[{made} for x in given])
for name in expected:
    print(name, found.get(name), expected[name], sep="\\n")
"""


def failure(program, body):
    """What is wrong with a body; None when nothing is, or when NumPy itself cannot run it."""
    try:
        Runs(program, body)
    except Exception:
        return None
    return shrinking.failure(lambda: check(program, body), Skipped)


def script(program, body):
    """A program as Python that runs by itself."""
    lines = ["import numpy as np", "import arraytape as xp"]
    lines += ["single, double, cdouble = np.float32, np.float64, np.complex128", ""]
    lines += [program.text(body), ""]
    for name, x in program.data.items():
        lines.append(f"{name} = np.array({x.tolist()}, {x.dtype.name!r}).reshape({x.shape})")
    kept = " or ".join(f"x is {name}" for name in program.constants)
    usage = USAGE.format(
        names=", ".join(program.data), made=f"x.copy() if {kept} else xp.asarray(x)"
    )
    return "\n".join(lines) + usage


def replay(seed):
    """Make and check one program; why it was not checked to the end, or "".  A failure is a script."""
    program = Program(seed)
    try:
        check(program)
    except Skipped as skipped:
        return str(skipped)
    except Exception as error:
        body = shrinking.shrunk(program.body, lambda body: failure(program, body))
        with np.errstate(all="ignore"):
            why = failure(program, body) or f"{type(error).__name__}: {error}"
        raise AssertionError(f"program {seed}: {why}\n\n{script(program, body)}") from error
    return ""
