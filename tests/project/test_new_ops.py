"""Ops lack nothing, from their statements to the pages; else one message lists all that is missing."""

import re

import pytest

import arraytape as xp
from arraytape._define.examples import examples_of
from arraytape._record.op import REGISTRY, Op
from arraytape._record.op_facts import FACTS
from arraytape._storage import numpy_namespace
from arraytape._storage.batched.batched_forms import ONE_BY_ONE
from arraytape._storage.batched.batched_storage import BATCHED
from arraytape._storage.standard import Standard
from helpers.namespace_ops import namespace_ops
from helpers.repository import GENERATED
from helpers.standard import FUNCTIONS as IN_THE_STANDARD
from status.public_names import listed

EXAMPLES = examples_of("ops")
NAMES = listed()
COVERAGE = (GENERATED / "coverage.md").read_text(encoding="utf-8")
OPS = [op for op in namespace_ops() if FACTS.get(op.name) is op]  # those of ours


def found(name):
    """The public function of a dotted name, or None."""
    value = xp
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def without_function(op, namespace):
    """Return True if a namespace of raw functions lacks the op's, and no other room adds it."""
    value = namespace
    for part in op.name.split("."):
        value = getattr(value, part, None)
    return value is None


def lacks(op):
    """Yield what there is not yet of an op, each as what to do."""
    chapter = op.declared.rpartition(":")[0]
    extension = op.name.rpartition(".")[0]
    listed = f"ops/{extension}.py" if extension else "__init__.py"
    if op.origin != "inner":
        if found(op.name) is not op.public:
            yield f"import it in {listed}, and name it in __all__ there, or state origin='inner'"
        elif op.name.rpartition(".")[2] not in (found(extension) if extension else xp).__all__:
            yield f"name it in __all__ of {listed}"
        if f"arraytape.{op.name}" not in NAMES:
            yield "run make pages, for the list of public names"
        if op.name not in EXAMPLES:
            room = re.sub(r"\.py$", ".txt", chapter.rpartition("/")[2])
            yield f"write an example in ops/examples/{room}, then name_examples.py --write"
        if not hasattr(op.public, "__wrapped__") and op.kind != "composite" and not op.doc:
            yield "state doc=, a summary"
    if f"| `{op.name}` |" not in COVERAGE:
        yield "run make pages, for the table of coverage"
    if (op.origin == "standard") != (op.name in IN_THE_STANDARD):
        yield "state origin='extra', or 'inner', of what is not in the standard"
    if op.kind != "composite":
        if op.recorded and not op.samples and not (op.rules or op.joint):
            yield "state a rule"
        if op.recorded and not op.samples:
            yield "state samples="
        if not op.signature:
            yield "state its signature by core dimensions"
        elif BATCHED.xp.form(op.name) == ONE_BY_ONE:
            yield "give BatchedNamespace a method of its name"
        if without_function(op, numpy_namespace) and op.name not in ("moved", "stop_gradient"):
            yield "write it in _storage/numpy_namespace.py, where NumPy has none of this name"
        own = op.name not in IN_THE_STANDARD and op.name not in ("moved", "stop_gradient")
        if own and without_function(op, Standard):
            yield "write it in _storage/standard.py, for storages whose namespace has none"


def test_ops_lack_nothing():
    wanting = [f"{op.name} ({op.declared}): {what}" for op in OPS for what in lacks(op)]
    assert not wanting, "\n".join(["ops lack something:", *wanting])


@pytest.fixture
def bare():
    op = Op("bare", "elementwise", ("x",), rules=[lambda t: t])
    FACTS["bare"] = REGISTRY["bare"] = op
    yield op
    del FACTS["bare"], REGISTRY["bare"]


def test_a_statement_alone_is_told_all_that_it_lacks(bare):
    told = "\n".join(lacks(bare))
    for word in ("__init__.py", "public names", "table of coverage", "ops/examples", "doc=", "origin=",
                 "samples=", "numpy_namespace.py", "standard.py"):  # fmt: skip
        assert word in told
