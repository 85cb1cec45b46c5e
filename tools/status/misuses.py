"""The page of misuses: what TensorFlow and arraytape say to 69 mistakes.

``MISUSES`` has the code of each mistake.  The names in the codes are those of ``tensorflow_operands``
and ``arraytape_operands``.  Where the libraries spell a call differently, a pair has TensorFlow's code
and arraytape's.  ``tools/tensorflow_facts.py`` records TensorFlow's messages.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

import numpy as np

import pages

LONGEST = 240  # characters of a message on the page
HEAD = f"""# Misuses, and what both libraries say

{pages.mark("misuses")}

Each section has a mistake, what TensorFlow {{tensorflow}} says, and what arraytape says. Messages are
shortened to {LONGEST} characters, without source locations. arraytape's are {{release}}
The names in the code, such as `array` and `cast`, are functions of either library: `x` has the values
1, 2, 3, `v` is a Variable with the same values, `whole` has integers, and `recorded` records `x * x`.
"""
MISUSES: dict[str, str | tuple[str, str]] = {
    # --- the tape -----------------------------------------------------------------------------------
    "A second gradient of a tape that is not persistent": (
        "tape, y = recorded()\ntape.gradient(y, x)\ntape.gradient(y, x)"
    ),
    "A tape that was never entered": "GradientTape().gradient(x, x)",
    "Watch after the block": "tape, y = recorded()\ntape.watch(x)",
    "Watch before the block": "GradientTape().watch(x)",
    "Watch None": "with GradientTape() as tape:\n    tape.watch(None)",
    "Watch a number": "with GradientTape() as tape:\n    tape.watch(3.0)",
    "Watch a NumPy array": "with GradientTape() as tape:\n    tape.watch(np.ones(3))",
    "Watch a string": "with GradientTape() as tape:\n    tape.watch('x')",
    "Watch integers": "with GradientTape() as tape:\n    tape.watch(whole)",
    "Enter a tape that records": "with GradientTape() as tape:\n    with tape:\n        pass",
    "Stop a tape that does not record": (
        "tape, y = recorded()\nwith tape.stop_recording():\n    pass"
    ),
    "A gradient inside the block of a persistent tape": (
        "with GradientTape(persistent=True) as tape:\n    tape.watch(x)\n"
        "    g = tape.gradient(x * x, x)\ng"
    ),
    "A misspelt method": "GradientTape().gradiant",
    # --- targets and sources ------------------------------------------------------------------------
    "The target is None": "tape, y = recorded()\ntape.gradient(None, x)",
    "The target is a number": "tape, y = recorded()\ntape.gradient(3.0, x)",
    "The target is a NumPy array": "tape, y = recorded()\ntape.gradient(np.asarray(y), x)",
    "The target is a string": "tape, y = recorded()\ntape.gradient('y', x)",
    "The target has integers": (
        "with GradientTape() as tape:\n    tape.watch(x)\n    y = cast(x, int32)\ntape.gradient(y, x)"
    ),
    "The source is None": "tape, y = recorded()\ntape.gradient(y, None)",
    "The source is a number": "tape, y = recorded()\ntape.gradient(y, 3.0)",
    "The source is a NumPy array": "tape, y = recorded()\ntape.gradient(y, np.ones(3))",
    "The source has integers": (
        "with GradientTape() as tape:\n    y = cast(whole, x.dtype) * x\ntape.gradient(y, whole)"
    ),
    "Target and source are swapped": "tape, y = recorded()\ntape.gradient(x, y)",
    "The source was not watched": (
        "with GradientTape() as tape:\n    y = x * x\ntape.gradient(y, x)"
    ),
    "The source was watched too late": (
        "with GradientTape() as tape:\n    y = x * x\n    tape.watch(x)\ntape.gradient(y, x)"
    ),
    "An op ran outside the block": (
        "with GradientTape() as tape:\n    tape.watch(x)\n    y = x * x\nz = y * 2.0\n"
        "tape.gradient(z, x)"
    ),
    "The source is a new array": "tape, y = recorded()\ntape.gradient(y, x[:2])",
    "NumPy computed the value": (
        "with GradientTape() as tape:\n    tape.watch(x)\n    y = array(np.asarray(x) ** 2)\n"
        "tape.gradient(y, x)"
    ),
    "The value became a number": (
        "with GradientTape() as tape:\n    tape.watch(x)\n    y = array(float(x[0]) ** 2) * v\n"
        "tape.gradient(y, x)"
    ),
    "A Variable was replaced by an array": (
        "w = Variable(x)\nw = w + 1.0\nwith GradientTape() as tape:\n    y = w * w\ntape.gradient(y, w)"
    ),
    "A Variable was assigned to": (
        "w = Variable(x)\nwith GradientTape() as tape:\n    w.assign_add(v)\n    y = w * w\n"
        "tape.gradient(y, v)"
    ),
    "A Variable is not trainable": (
        "w = Variable(x, trainable=False)\nwith GradientTape() as tape:\n    y = w * w\n"
        "tape.gradient(y, w)"
    ),
    # --- further arguments --------------------------------------------------------------------------
    "An output gradient of another shape": (
        "tape, y = recorded()\ntape.gradient(y, x, output_gradients=ones(2))"
    ),
    "An output gradient of another dtype": (
        "tape, y = recorded()\ntape.gradient(y, x, output_gradients=whole)"
    ),
    "Too few output gradients": (
        "tape, y = recorded()\ntape.gradient([y, y], x, output_gradients=[ones(3)])"
    ),
    "Another word for unconnected_gradients": (
        "tape, y = recorded()\ntape.gradient(y, x, unconnected_gradients='zeros')"
    ),
    "A Jacobian of a list": "tape, y = recorded()\ntape.jacobian([y, y], x)",
    "A batch Jacobian of vectors": "tape, y = recorded()\ntape.batch_jacobian(y, x)",
    "A batch Jacobian of unequal batches": (
        "with GradientTape() as tape:\n    tape.watch(a)\n    y = a[:2] * 2.0\ntape.batch_jacobian(y, a)"
    ),
    # --- rules and forward mode ---------------------------------------------------------------------
    "custom_gradient without a gradient": "custom_gradient(lambda x: x * x)(x)",
    "custom_gradient with too many gradients": (
        "f = custom_gradient(lambda x: (x * x, lambda g: (g, g)))\n"
        "with GradientTape() as tape:\n    tape.watch(x)\n    y = f(x)\ntape.gradient(y, x)"
    ),
    "custom_gradient with a gradient of another shape": (
        "f = custom_gradient(lambda x: (x * x, lambda g: ones(2)))\n"
        "with GradientTape() as tape:\n    tape.watch(x)\n    y = f(x) * x\ntape.gradient(y, x)"
    ),
    "A tangent of another shape": "ForwardAccumulator(x, ones(2))",
    "A tangent of another dtype": "ForwardAccumulator(x, whole)",
    "A primal twice": "ForwardAccumulator([x, x], [x, x])",
    "A primal of integers": "ForwardAccumulator(whole, whole)",
    "jvp of None": "with ForwardAccumulator(x, x) as accumulator:\n    y = x * x\naccumulator.jvp(None)",
    # --- Variables ----------------------------------------------------------------------------------
    "A Variable of None": "Variable(None)",
    "Assign another shape": "v.assign([1.0, 2.0])",
    "Assign a number to a larger Variable": "v.assign(3.0)",
    "Assign another dtype": "v.assign(cast(v, float32))",
    "Assign complex numbers": "v.assign(cast(v, complex128))",
    "Assign a string": "v.assign('x')",
    "Add another shape": "v.assign_add(ones(2))",
    "A Variable as a key": "{v: 1}",
    # --- computing ----------------------------------------------------------------------------------
    "A condition on several elements": "if x > 0:\n    pass",
    "A number of several elements": "float(x)",
    "Shapes that do not fit": "x + ones(2)",
    "Shapes that do not fit a product": "matmul(a, ones((2, 2)))",
    "Two dtypes": "x * cast(x, float32)",
    "Integers and floats": "whole * x",
    "A shape of another size": "reshape(x, (2, 2))",
    "An index outside of the shape": "x[7]",
    "A write to an element": "x[0] = 5.0\nx",
    "A singular matrix": "solve(a * 0.0, ones((3, 1)))",
    "A list in place of an array": ("tf.exp([1.0, 2.0])", "xp.exp([1.0, 2.0])"),
    # --- optimizers ---------------------------------------------------------------------------------
    "All gradients are None": "SGD(0.5).apply_gradients([(None, Variable(x))])",
    "Variables and gradients are swapped": "SGD(0.5).apply_gradients([(Variable(x), x)])",
    "A gradient of another shape": "SGD(0.5).apply_gradients([(ones(2), Variable(x))])",
}


def code_of(title: str, ours: bool) -> str:
    """Return the code of a misuse, for arraytape if ``ours`` is True, else for TensorFlow."""
    code = MISUSES[title]
    return code if isinstance(code, str) else code[ours]


def tensorflow_operands(tf: Any) -> dict[str, Any]:
    """Return the names that the codes use, for TensorFlow."""
    return operands(
        {
            "tf": tf, "array": lambda value: tf.constant(value, tf.float64),
            "GradientTape": tf.GradientTape, "Variable": tf.Variable, "cast": tf.cast,
            "ForwardAccumulator": tf.autodiff.ForwardAccumulator, "int32": tf.int32,
            "custom_gradient": tf.custom_gradient, "float32": tf.float32, "matmul": tf.matmul,
            "complex128": tf.complex128, "reshape": tf.reshape, "solve": tf.linalg.solve,
            "SGD": tf.keras.optimizers.SGD, "whole": tf.constant([1, 2, 3]),
        }
    )  # fmt: skip


def arraytape_operands() -> dict[str, Any]:
    """Return the names that the codes use, for arraytape."""
    import arraytape as xp

    return operands(
        {
            "xp": xp, "array": xp.asarray,
            "GradientTape": xp.GradientTape, "Variable": xp.Variable, "cast": xp.astype,
            "ForwardAccumulator": xp.ForwardAccumulator, "int32": xp.int32,
            "custom_gradient": xp.custom_gradient, "float32": xp.float32, "matmul": xp.matmul,
            "complex128": xp.complex128, "reshape": xp.reshape, "solve": xp.linalg.solve,
            "SGD": xp.optimizers.SGD, "whole": xp.asarray([1, 2, 3]),
        }
    )  # fmt: skip


def operands(names: dict[str, Any]) -> dict[str, Any]:
    """Return the names of one library with the operands made from them: x, v, a and functions."""
    array, tape_class = names["array"], names["GradientTape"]
    x = array([1.0, 2.0, 3.0])

    def recorded() -> tuple[Any, Any]:
        """Return a tape that watched x, and the recorded square of x."""
        with tape_class() as tape:
            tape.watch(x)
            y = x * x
        return tape, y

    return names | {
        "np": np, "x": x, "v": names["Variable"](array([1.0, 2.0, 3.0])), "recorded": recorded,
        "a": array(np.eye(3)), "ones": lambda shape: array(np.ones(shape)),
    }  # fmt: skip


def said_by(code: str, scope: dict[str, Any]) -> str:
    """Run a code; return its error, or its value with the warnings."""
    *statements, last = code.rsplit("\n", 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec("\n".join(statements) if is_expression(last) else code, scope)
            value = repr(eval(last, scope)) if is_expression(last) else "no error"
        except Exception as error:
            return f"{type(error).__name__}: {shortened(str(error))}"
        finally:
            scope.clear()  # functions in it refer to it, so that its tapes would live on
    return "; ".join([shortened(value), *(f"warning: {shortened(str(w.message))}" for w in caught)])


def is_expression(line: str) -> bool:
    """Return True if a line is an expression at the outer level of a program."""
    try:
        compile(line, "a line", "eval")
    except SyntaxError:
        return False
    return not line.startswith(" ")


def shortened(message: str) -> str:
    """Return a message in one line, without addresses, source locations and links, up to LONGEST."""
    message = re.sub(r"\(see https?://\S+\)|\{\{.*?\}\}|0x[0-9a-f]+", "", " ".join(message.split()))
    message = re.sub(r" ?\[at [^\]]*\]| at \S+:\d+| name:\s*\S*$", "", message).strip()
    message = message.replace("`", "'")
    return message if len(message) <= LONGEST else message[: LONGEST - 4].rstrip() + " ..."


def release() -> str:
    """Return the page's text about the installed NumPy version, whose messages some errors quote."""
    return f"those with NumPy {np.__version__}."


def page(_: str) -> str:
    """Return the page."""
    path = pages.ROOT / "tests" / "project" / "tensorflow_facts.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    text = HEAD.format(tensorflow=facts["tensorflow"]["version"], release=release())
    for title in MISUSES:
        codes = [code_of(title, ours) for ours in (False, True)]
        shown = "\n\n".join(indented(code) for code in dict.fromkeys(codes))
        theirs, ours = facts["misuses"][codes[0]], said_by(codes[1], arraytape_operands())
        text += f"\n## {title}\n\n{shown}\n\n- TensorFlow: `{theirs}`\n- arraytape: `{ours}`\n"
    return text


def indented(code: str) -> str:
    """Return a code as a code block of Markdown."""
    return "\n".join(f"    {line}" for line in code.splitlines())
