"""Every public name has an example on its page of the reference, and it prints what it says.

Examples that change the process (ops that enter the registry, what cannot be taken back) run in another.
"""

import inspect
import re
import subprocess
import sys

import pytest

import name_examples
from arraytape._define.examples import examples_of
from arraytape._record.op import REGISTRY
from helpers.repository import ROOT
from website import reference

EXAMPLES = examples_of("ops")
NAMES = reference.public()
TEXTS = dict(name_examples.documented(NAMES))


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - name_examples.APART))
def test_an_example_prints_what_it_says(name):
    assert name_examples.failures(TEXTS[name], name) == ""


@pytest.mark.slow
def test_examples_that_change_the_process_print_what_they_say():
    command = [sys.executable, str(ROOT / "tools" / "name_examples.py"), "--apart"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_public_name_has_an_example():
    assert name_examples.without_example(NAMES) == []


@pytest.mark.parametrize(
    "name", ["Array", "Variable", "GradientTape", "ForwardAccumulator", "Module"]
)
def test_help_shows_an_example_of_each_method(name):
    """A page of the reference has all members of a class; ``help(x.clip)`` has one."""
    cls = getattr(reference.xp, name)
    methods = [
        member
        for member in dir(cls)
        if not member.startswith("_") and callable(inspect.getattr_static(cls, member, None))
    ]
    texts = {member: inspect.getdoc(getattr(cls, member)) for member in methods}
    assert [member for member, text in texts.items() if ">>>" not in text] == []


def test_the_table_of_examples_has_ops_alone():
    assert EXAMPLES.keys() <= REGISTRY.keys()


def test_the_example_of_an_op_that_has_a_derivative_shows_it():
    differentiable = [
        name for name in EXAMPLES if "Derivative: none" not in (REGISTRY[name].public.__doc__ or "")
    ]
    shows = re.compile(r"grad|jacobian|jvp|\.gradient\(")
    assert [name for name in differentiable if not shows.search(EXAMPLES[name])] == []


# --- the check itself -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (">>> 1.0 + 1.0\n3.0\n", "Expected:\n    3.0\nGot:\n    2.0\n"),
        (">>> 1.0 + 1.0\n2.000001\n", "Expected:"),
        (">>> 1 / 0\n", "ZeroDivisionError"),
        (">>> import warnings\n>>> warnings.warn('old')\n", "UserWarning: old"),
        (">>> xp.ones(2)\n", "NameError"),  # a reader copies the import, too
        (">>> import numpy as np\n>>> print(np.asarray([1.0, 2.0]))\n[1. 2. 2.]\n", "Got:"),
        (">>> print('[1. a]')\n[1. b]\n", "Got:"),
    ],
)
def test_a_fault_of_an_example_is_found(text, fault):
    assert fault in name_examples.failures(text, "f")


@pytest.mark.parametrize(
    "text",
    [
        ">>> 0.1 + 0.2\n0.3\n",
        ">>> 2.0 / 3.0 + 1j / 3.0\n(0.66666667+0.33333333j)\n",
        ">>> print([-0.0, 1e-17, float('inf')])\n[0.0, -0.0, inf]\n",
        ">>> 'float64 at x.py:3'\n'float64 at ...'\n",
    ],
)
def test_rounding_is_no_fault(text):
    assert name_examples.failures(text, "f") == ""


def test_a_name_is_used_where_the_code_of_an_example_has_it():
    text = (
        "The word exp, and log.\n\n>>> xp.exp(x)  # sqrt\n'sin'\n\n>>> def cos(): pass\n"
        ">>> class Own:\n...     a, b = 1, c\n...     def update(self): pass\n"
    )
    used = name_examples.used(name_examples.PARSER.get_examples(text))
    assert used == {"exp", "a", "b", "update"}


def test_a_new_name_without_an_example_is_listed(monkeypatch):
    def plain():
        """Do nothing."""

    names = {**NAMES, "arraytape.plain": plain, "arraytape.GradientTape.plain": plain}
    monkeypatch.setattr(reference.xp.GradientTape, "plain", plain, raising=False)
    assert name_examples.without_example(names) == [
        "arraytape.plain",
        "arraytape.GradientTape.plain",
    ]


def test_what_an_example_prints_is_written(tmp_path):
    page = tmp_path / "page.py"
    text = '"""Add.\n\n    >>> 1 + 1\n%s    >>> [2]\n%s    """\n\nx = 3  # >>>\n'
    page.write_text(text % ("    3\n", ""))
    name_examples.write(page)
    assert page.read_text() == text % ("    2\n", "    [2]\n")
