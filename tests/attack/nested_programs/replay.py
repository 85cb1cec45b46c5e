"""Make and check one program; one that fails is cut down to what matters and said as a script."""

import numpy as np

from helpers import shrinking

from .checks import COUNTS, Runs, Skipped, check, nestings_of
from .program import Program

SCRIPT = """# PYTHONPATH=src:tests
from attack.nested_programs import Given

text = '''
{text}
'''

Given({seed}, text, {data}).check()
"""


class Given:
    """A program by its text, as a script has it: ``check`` raises what is wrong with it."""

    def __init__(self, seed, text, data):
        made = Program(seed)
        self.seed, self.along, self.turn = seed, made.along, made.turn
        self.data = {name: np.asarray(x) for name, x in data.items()}
        self.whole = text

    def text(self, body=None):
        """The function."""
        return self.whole

    def check(self):
        """Everything."""
        check(self)


def failure(program, body):
    """What is wrong with a body; None when nothing is, or when NumPy itself cannot run it."""
    try:
        Runs(program, body)
    except Exception:
        return None
    return shrinking.failure(lambda: check(program, body), Skipped)


def script(program, body):
    """A program as Python that checks itself."""
    data = {name: x.tolist() for name, x in program.data.items()}
    return SCRIPT.format(text=program.text(body), seed=program.seed, data=data)


def replay(seed):
    """Make and check one program; why it was not checked to the end, or "".  A failure is a script."""
    program = Program(seed)
    try:
        check(program)
    except Skipped as skipped:
        COUNTS[f"skipped: {skipped}"] += 1
        return str(skipped)
    except Exception as error:
        body = shrinking.shrunk(program.body, lambda body: failure(program, body))
        with np.errstate(all="ignore"):
            why = failure(program, body) or f"{type(error).__name__}: {error}"
        raise AssertionError(
            f"program {seed} ({', '.join(nestings_of(seed))}): {why}\n\n{script(program, body)}"
        ) from error
    COUNTS["checked to the end"] += 1
    return ""
