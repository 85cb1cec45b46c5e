"""Make and check one program; one that fails is cut down to what matters and said as a script."""

import numpy as np

from .checks import check
from .program import Block, Program
from .runs import Runs, Skipped

ALL = 8  # statements that are left out at a time, to begin with
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
    try:
        check(program, body)
    except Skipped:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(program):
    """The body without all that its failure does not need."""
    body, size = program.body, ALL
    while size:
        body = without(program, body, lambda part: part, size)
        size //= 2
    return body


def without(program, body, whole, size):
    """A body without what can go; ``whole`` puts it into the program around."""
    for at in range(len(body) // size * size, -1, -size):
        smaller = body[:at] + body[at + size :]
        if len(smaller) < len(body) and failure(program, whole(smaller)):
            body = smaller
    for i, part in enumerate(body):
        if isinstance(part, Block):
            last = part.body[-1:] if part.head.startswith("def") else []  # what it returns

            def around(inner, i=i, part=part, body=body, last=last):
                return [*body[:i], Block(part.head, [*inner, *last]), *body[i + 1 :]]

            inner = part.body[: len(part.body) - len(last)]
            body = around(without(program, inner, lambda b, f=around: whole(f(b)), size))
    return body


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
        body = shrunk(program)
        with np.errstate(all="ignore"):
            why = failure(program, body) or f"{type(error).__name__}: {error}"
        raise AssertionError(f"program {seed}: {why}\n\n{script(program, body)}") from error
    return ""
