"""Values and gradients that TensorFlow computes for the lines of the migration pages.

    python tools/tensorflow_facts.py           # run TensorFlow's lines, and write the facts to FACTS
    python tools/tensorflow_facts.py --check   # print the lines whose results differ from FACTS

In the PAGES, a table whose first heading is "TensorFlow" has in each row a line of TensorFlow's
code and a line of arraytape's.  Blocks marked ``py`` are TensorFlow's, and blocks marked ``python`` are
arraytape's.  The first block of each kind defines the operands of all rows.  This script needs
TensorFlow; the tests that compare arraytape with its facts do not.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import page_code
from status.misuses import MISUSES, code_of, said_by, tensorflow_operands

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "docs" / "tutorials" / f"{name}.md"
    for name in ("from_gradient_tape", "tensorflow_names")
]
FACTS = ROOT / "tests" / "project" / "tensorflow_facts.json"
SOURCES = ("x", "y", "a", "v")  # the operands whose gradients are compared
VARIABLE = "w"  # the name of a Variable that a line makes; its gradient is compared, too
DIGITS = 13  # significant digits in the file
Row = tuple[str, str]  # TensorFlow's line, and arraytape's


def rows_of(page: Path, differing: bool = False) -> list[Row]:
    """Return the rows of a page's tables whose first heading is "TensorFlow".

    differing : False for tables with two columns, True for tables with a column "difference".
    """
    found, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == "TensorFlow":
            inside = (cells[-1] == "difference") is differing
        elif inside and not cells[0].startswith("---"):
            found.append((code_in(cells[0]), code_in(cells[1])))
    return found


def code_in(cell: str) -> str:
    """Return the code of a table's cell, which has nothing but one piece of inline code."""
    if not re.fullmatch(r"`[^`]+`", cell):
        raise ValueError(f"a cell of a row that is compared has to be one piece of code: {cell}")
    return cell.strip("`").replace("\\|", "|")


def value_of(line: str, scope: dict[str, Any]) -> Any:
    """Run a line of statements, and return the value of the last one, which is an expression."""
    *statements, last = ast.parse(line).body
    if not isinstance(last, ast.Expr):
        raise ValueError(f"the last statement of a line has to be an expression: {line}")
    exec(compile(ast.Module(statements, []), line, "exec"), scope)
    return eval(compile(ast.Expression(last.value), line, "eval"), scope)


def parts_of(value: Any) -> list[Any]:
    """Return the arrays and numbers in a value, which may be a tuple, a list or a dict."""
    if isinstance(value, dict):
        return [part for key in sorted(value) for part in parts_of(value[key])]
    if isinstance(value, tuple | list):
        return [part for one in value for part in parts_of(one)]
    return [value]


def weights_like(part: Any) -> Any:
    """Return weights for the elements of a result, so that no two elements have the same weight."""
    shape = np.shape(part)
    return np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


def fact_of(
    line: str,
    scope: dict[str, Any],
    tape: Any,
    weight: Callable[[Any], Any],
    is_array: Callable[[Any], bool],
) -> dict[str, Any]:
    """Return the results of a line, and the gradients of their weighted sum that are not zero.

    tape : a tape of either library, which has not recorded yet.  weight : a function that returns the
    output gradient of a result.  is_array : a function that returns True for floating-point arrays.
    """
    sources = {name: scope[name] for name in SOURCES if name in scope}
    with tape:
        tape.watch(list(sources.values()))
        parts = parts_of(value_of(line, scope))
    if VARIABLE in scope:
        sources[VARIABLE] = scope[VARIABLE]
    values = [np.asarray(part) for part in parts]
    fact = {
        "values": [listed(value) for value in values],
        "dtypes": [str(value.dtype) for value in values],
    }
    targets = [part for part in parts if is_array(part)]
    if not targets:
        return fact
    try:
        gradients = tape.gradient(
            targets,
            list(sources.values()),
            [weight(y) for y in targets],
            unconnected_gradients="zero",
        )
    except LookupError:  # TensorFlow has no derivative of this op
        return fact
    found = {name: np.asarray(g) for name, g in zip(sources, gradients, strict=True)}
    fact["gradients"] = {name: listed(g) for name, g in found.items() if np.any(g)}
    return fact


def listed(value: Any) -> Any:
    """Return an array as nested lists of numbers with DIGITS digits; complex numbers as strings."""
    if value.dtype.kind == "c":
        return [str(part) for part in np.round(value, DIGITS).ravel()]
    if value.dtype.kind == "f":
        return np.vectorize(lambda number: float(f"{number:.{DIGITS}g}"), otypes=[float])(
            value
        ).tolist()
    return value.tolist()


# --- TensorFlow ---------------------------------------------------------------------------------------
def recorded_facts() -> dict[str, dict[str, Any]]:
    """Run TensorFlow's lines and blocks of all pages; return facts by line and outputs by block."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.random.set_seed(0)
    facts: dict[str, dict[str, Any]] = {
        "tensorflow": {"version": tf.__version__},
        "rows": {},
        "blocks": {},
        "misuses": {},
    }
    for page in PAGES:
        scope: dict[str, Any] = {}
        blocks = page_code.blocks_of(page, "py")
        for block in blocks:
            facts["blocks"][block] = printed_by(block, scope)
        for line, _ in rows_of(page) + rows_of(page, differing=True):
            fresh: dict[str, Any] = {}
            exec(blocks[0], fresh)
            try:
                facts["rows"][line] = tensorflow_fact(tf, line, fresh)
            except Exception as error:
                raise RuntimeError(f"{page.name}: {line}") from error
    for title in MISUSES:
        code = code_of(title, ours=False)
        facts["misuses"][code] = said_by(code, tensorflow_operands(tf))
    return facts


def tensorflow_fact(tf: Any, line: str, scope: dict[str, Any]) -> dict[str, Any]:
    def is_array(part: Any) -> bool:
        return isinstance(part, tf.Tensor | tf.Variable) and part.dtype.is_floating

    def weight(part: Any) -> Any:
        return tf.constant(weights_like(part), part.dtype)

    return fact_of(line, scope, Dense(tf), weight, is_array)


class Dense:
    """A tf.GradientTape whose gradients are tensors, never IndexedSlices."""

    def __init__(self, tf: Any) -> None:
        self.tf, self.tape = tf, tf.GradientTape()

    def __enter__(self) -> None:
        self.tape.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.tape.__exit__(*error)

    def watch(self, x: Any) -> None:
        self.tape.watch(x)

    def gradient(self, *operands: Any, unconnected_gradients: str) -> Any:
        found = self.tape.gradient(*operands, self.tf.UnconnectedGradients(unconnected_gradients))
        return [self.tf.convert_to_tensor(g) for g in found]


def printed_by(block: str, scope: dict[str, Any]) -> list[str]:
    """Return the lines that a block prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(block, "a block of TensorFlow's", "exec"), scope)
    return out.getvalue().splitlines()


# --- arraytape ----------------------------------------------------------------------------------------
def arraytape_fact(line: str, scope: dict[str, Any]) -> dict[str, Any]:
    import arraytape as xp

    def is_array(part: Any) -> bool:
        return isinstance(part, xp.Array) and xp.isdtype(part.dtype, "real floating")

    def weight(part: Any) -> Any:
        return xp.asarray(weights_like(part), dtype=part.dtype)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        return fact_of(line, scope, xp.GradientTape(), weight, is_array)


def main(arguments: list[str]) -> int:
    facts = recorded_facts()
    if "--check" not in arguments:
        lines = [
            f"{json.dumps(name)}: {{\n"
            + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in part.items())
            + "\n}"
            for name, part in facts.items()
        ]
        FACTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return 0
    kept = json.loads(FACTS.read_text(encoding="utf-8"))
    changed = [
        key
        for part in facts
        for key in {**facts[part], **kept[part]}
        if facts[part].get(key) != kept[part].get(key)
    ]
    print(*changed, sep="\n", end="\n" if changed else "")
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
