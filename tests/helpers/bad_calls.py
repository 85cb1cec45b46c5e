"""Calls of ``gradient``, ``register_gradient`` and ``no_gradient`` that must raise an error.

``tests/util/test_errors.py`` runs them.
"""

import numpy as np

import arraytape as xp
from arraytape import GradientTape


def never_entered(e):
    GradientTape().gradient(e.x, e.x)


def released(e):
    with GradientTape() as tape:
        tape.watch(e.x)
        y = e.x * e.x
    tape.gradient(y, e.x)
    tape.gradient(y, e.x)


# Calls that the test makes after the block of the tape in its ``environment``, with the class of the
# exception and regular expressions that its message must match.
CALLS = {
    "source-number": (
        lambda e: e.tape.gradient(e.y, 3.0),
        TypeError,
        ["source", r"float 3\.0", "Array"],
    ),
    "source-numpy": (
        lambda e: e.tape.gradient(e.y, np.ones(3)),
        TypeError,
        ["source", r"ndarray float64\(3,\)", "Array"],
    ),
    "source-list-of-numbers": (
        lambda e: e.tape.gradient(e.y, [e.x, 1.0]),
        TypeError,
        ["source", r"float 1\.0", "Array"],
    ),
    "source-none": (lambda e: e.tape.gradient(e.y, None), TypeError, ["source", "None"]),
    "source-nested-none": (
        lambda e: e.tape.gradient(e.y, {"a": [None, None]}),
        TypeError,
        ["source", "None"],
    ),
    "source-str": (lambda e: e.tape.gradient(e.y, "x"), TypeError, ["source", "str 'x'"]),
    "source-function": (lambda e: e.tape.gradient(e.y, print), TypeError, ["source", "function"]),
    "target-none": (lambda e: e.tape.gradient(None, e.x), TypeError, ["target", "None"]),
    "target-nested-none": (
        lambda e: e.tape.gradient([e.y, None], e.x),
        TypeError,
        ["target", "None"],
    ),
    "target-number": (
        lambda e: e.tape.gradient(3.0, e.x),
        TypeError,
        ["target", r"float 3\.0", "Array"],
    ),
    "target-numpy": (
        lambda e: e.tape.gradient(np.ones(3), e.x),
        TypeError,
        ["target", r"ndarray float64\(3,\)", "Array"],
    ),
    "never-entered": (never_entered, RuntimeError, ["never recorded", "with tape"]),
    "released": (
        released,
        RuntimeError,
        ["A non-persistent GradientTape can only be used to compute one set of gradients"],
    ),
    "unconnected-unknown": (
        lambda e: e.tape.gradient(e.y, e.x, unconnected_gradients="nothing"),
        ValueError,
        ["(?i)unconnected_?gradients", "nothing"],
    ),
    "unconnected-none": (
        lambda e: e.tape.gradient(e.y, e.x, unconnected_gradients=None),
        ValueError,
        ["(?i)unconnected_?gradients", "None"],
    ),
    "output-gradients-too-few": (
        lambda e: e.tape.gradient([e.y, e.y], e.x, output_gradients=[e.ones]),
        ValueError,
        ["output_gradients", "1", "2"],
    ),
    "output-gradients-too-many": (
        lambda e: e.tape.gradient(e.y, e.x, output_gradients=[e.ones, e.ones]),
        ValueError,
        ["output_gradients", "2", "1"],
    ),
    "output-gradients-shape": (
        lambda e: e.tape.gradient([e.y, e.y], e.x, output_gradients=[e.ones, e.two]),
        ValueError,
        [r"output_gradients\[1\]", r"\(2,\)", r"\(3,\)"],
    ),
    "output-gradients-of-more-axes": (
        lambda e: e.tape.gradient(e.y, e.x, output_gradients=xp.ones((1, 3))),
        ValueError,
        [r"output_gradients\[0\]", r"\(1, 3\)", r"\(3,\)"],
    ),
    "output-gradients-of-another-length": (
        lambda e: e.tape.gradient(e.y, e.x, output_gradients=[1.0, 2.0]),
        ValueError,
        [r"output_gradients\[0\]", r"\(2,\)", r"\(3,\)"],
    ),
    "output-gradients-complex": (
        lambda e: e.tape.gradient(e.y, e.x, output_gradients=e.ones * 1j),
        ValueError,
        [r"output_gradients\[0\]", "complex128", "float64"],
    ),
    "output-gradients-integers": (
        lambda e: e.tape.gradient(e.y, e.x, output_gradients=e.n),
        ValueError,
        [r"output_gradients\[0\]", "int64", "float64"],
    ),
    "output-gradients-str": (
        lambda e: e.tape.gradient(e.y, e.x, output_gradients="a"),
        TypeError,
        [r"output_gradients\[0\]", "str 'a'"],
    ),
    "output-gradients-flat-for-nested": (
        lambda e: e.tape.gradient([e.y, [e.y]], e.x, output_gradients=[e.ones, e.ones]),
        ValueError,
        ["output_gradients"],
    ),
    "output-gradients-wrong-keys": (
        lambda e: e.tape.gradient({"a": e.y}, e.x, output_gradients={"b": e.ones}),
        ValueError,
        ["output_gradients"],
    ),
    "register-unknown-op": (
        lambda e: xp.register_gradient("expp")(lambda g: g),
        LookupError,
        ["expp", "'exp'"],
    ),
    "register-known-op": (
        lambda e: xp.register_gradient("exp")(lambda g: g),
        KeyError,
        ["exp", "already", r"elementwise_functions\.py:\d+"],
    ),
    "no_gradient-known-op": (lambda e: xp.no_gradient("multiply"), KeyError, ["multiply"]),
    "no_gradient-unknown-op": (lambda e: xp.no_gradient("spam"), LookupError, ["spam"]),
}
