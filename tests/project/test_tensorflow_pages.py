"""The lines of code on the migration pages give the values and gradients that TensorFlow gave.

``tools/tensorflow_facts.py`` recorded TensorFlow's results, so that this test does not need TensorFlow.
"""

import json
import re

import numpy as np
import pytest

import arraytape as xp
import page_code
import tensorflow_facts
from status import misuses

FACTS = json.loads(tensorflow_facts.FACTS.read_text(encoding="utf-8"))
PAGES = {page.stem: page for page in tensorflow_facts.PAGES}
ROWS, DIFFERING = (
    [
        (name, *row)
        for name, page in PAGES.items()
        for row in tensorflow_facts.rows_of(page, differing)
    ]
    for differing in (False, True)
)
TENSORFLOWS = [block for page in PAGES.values() for block in page_code.blocks_of(page, "py")]
NAMES = re.compile(r"(?<![\w.])(?:xp|arraytape|nn|optimizers)(?:\.\w+)+")
TOLERANCE = {"float32": 2e-6, "float64": 1e-10, "complex128": 1e-10}


def same(found, wanted, dtype):
    """Check that two lists of numbers are the same, up to rounding."""
    numbers = complex if dtype.startswith("complex") else None
    found, wanted = (np.asarray(part, dtype=numbers) for part in (found, wanted))
    assert found.shape == wanted.shape
    bound = TOLERANCE.get(dtype, 0.0)
    np.testing.assert_allclose(found, wanted, rtol=bound, atol=bound)


def fact_and_wanted(page, theirs, ours):
    """Run arraytape's line, compare its values with TensorFlow's; return both facts."""
    scope = {}
    exec(page_code.blocks_of(PAGES[page])[0], scope)
    fact, wanted = tensorflow_facts.arraytape_fact(ours, scope), FACTS["rows"][theirs]
    assert len(fact["values"]) == len(wanted["values"])
    for found, value, dtype, theirs_dtype in zip(
        fact["values"], wanted["values"], fact["dtypes"], wanted["dtypes"], strict=True
    ):
        same(found, value, theirs_dtype)
        if "float" in theirs_dtype:
            assert dtype == theirs_dtype
    return fact, wanted


def same_gradients(fact, wanted):
    found = fact.get("gradients", {})
    assert found.keys() == wanted["gradients"].keys()
    for name, gradient in wanted["gradients"].items():
        same(found[name], gradient, "float64" if "float32" not in wanted["dtypes"] else "float32")


@pytest.mark.parametrize(("page", "theirs", "ours"), ROWS)
def test_a_row_gives_tensorflows_values_and_gradients(page, theirs, ours):
    fact, wanted = fact_and_wanted(page, theirs, ours)
    if "gradients" in wanted:  # else TensorFlow's op has no derivative
        same_gradients(fact, wanted)


@pytest.mark.parametrize(("page", "theirs", "ours"), DIFFERING)
def test_a_row_of_differences_gives_tensorflows_values_and_other_gradients(page, theirs, ours):
    fact, wanted = fact_and_wanted(page, theirs, ours)
    gradients = fact.get("gradients", {})
    assert all(np.all(np.isfinite(gradient)) for gradient in gradients.values())
    with pytest.raises(AssertionError):
        same_gradients(fact, wanted)


@pytest.mark.parametrize("page", PAGES)
def test_names_of_arraytape_in_the_text_exist(page):
    text = re.sub(r"(?ms)^```.*?^```", "", PAGES[page].read_text(encoding="utf-8"))
    names = {name for code in re.findall(r"`([^`]+)`", text) for name in NAMES.findall(code)}
    assert names
    for root, *parts in (name.split(".") for name in names):
        found = {"xp": xp, "arraytape": xp, "nn": xp.nn, "optimizers": xp.optimizers}[root]
        for part in parts:
            found = getattr(found, part)


# Mistakes in TensorFlow that are none here, or that only the reader of a program can see.
INTENDED = {
    "Watch None",  # None leaves of nestings are left out
    "The source is a new array",  # the target does not depend on the source
    "Two dtypes",
    "Integers and floats",
    "A write to an element",
}


@pytest.mark.parametrize("title", misuses.MISUSES)
def test_a_misuse_has_a_message(title):
    said = misuses.said_by(misuses.code_of(title, ours=True), misuses.arraytape_operands())
    has_message = bool(re.match(r"\w+Error: ", said)) or "; warning: " in said
    assert has_message is not (title in INTENDED), said
    assert misuses.code_of(title, ours=False) in FACTS["misuses"]


def test_each_fact_is_of_a_row_or_a_block():
    assert {theirs for _, theirs, _ in ROWS + DIFFERING} == FACTS["rows"].keys()
    assert len(misuses.MISUSES) == len(FACTS["misuses"]) >= 63
    assert {*TENSORFLOWS} == FACTS["blocks"].keys()


@pytest.mark.parametrize("block", TENSORFLOWS)
def test_a_block_of_tensorflows_printed_what_the_page_says(block):
    assert not page_code.difference(block, FACTS["blocks"][block])
