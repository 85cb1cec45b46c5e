"""A program that fails, cut down to the statements that matter."""

from .checks import Skipped, check
from .program import Block, Program


def failure(program, body, layout=False):
    """What is wrong with a body; None when nothing is, or when NumPy itself cannot run it."""
    try:
        text = program.text_of(body)
        check_numpy(program, text)
    except Exception:
        return None
    try:
        check(program, text, layout)
    except Skipped:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def check_numpy(program, text):
    from .checks import Runs

    Runs(program, text)


def shrunk(program, body=None, layout=False):
    """The body without all that a failure does not need."""
    body = program.body if body is None else body
    size = 8
    while size:
        body = without(program, body, lambda part: part, size, layout)
        size //= 2
    return body


def without(program, body, whole, size, layout):
    """A body without as many of its statements as possible; ``whole`` puts it into the program."""
    at = len(body)
    while at > 0:
        at = max(at - size, 0)
        smaller = body[:at] + body[at + size :]
        if failure(program, whole(smaller), layout):
            body = smaller
    for i, part in enumerate(body):
        if isinstance(part, Block):
            last = part.body[-1:] if part.head.startswith("def") else []

            def around(smaller, i=i, part=part, body=body, last=last):
                return [*body[:i], Block(part.head, [*smaller, *last]), *body[i + 1 :]]

            inner = without(
                program,
                part.body[: len(part.body) - len(last)],
                lambda smaller, around=around: whole(around(smaller)),
                size,
                layout,
            )
            body = around(inner)
    return body


def script(program, body):
    """A program as Python that runs by itself."""
    text = program.text_of(body)
    lines = ["import numpy as np", "import arraytape as xp", "single, double, cdouble = np.float32, np.float64, np.complex128"]
    lines += ["", text, ""]
    used = [name for name in program.data if name in text.partition("\n")[2]]
    for name, x in program.data.items():
        made = f"np.array({x.tolist()}, {x.dtype.name!r}).reshape({x.shape})"
        lines.append(f"{name} = {made if name in used else 'np.zeros(1)'}")
    names = ", ".join(program.data)
    lines += [f"expected = program(*(x.copy() for x in ({names},)))"]
    arrays = ", ".join(name if name in program.constants else f"xp.asarray({name})" for name in program.data)
    lines += [f"found = program({arrays})"]
    return "\n".join(lines)


def replay(seed, layout=False, shrink=True):
    """Make and check one program; False where it has no derivative.  A failure comes with its script."""
    program = Program(seed)
    try:
        check(program, layout=layout)
    except Skipped:
        return False
    except Exception as error:
        body = shrunk(program, layout=layout) if shrink else program.body
        why = failure(program, body, layout) or f"{type(error).__name__}: {error}"
        raise AssertionError(f"program {seed}: {why}\n\n{script(program, body)}") from error
    return True
