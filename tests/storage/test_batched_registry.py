"""Every op has a batched form, or says that it has none: from the registry, with no list to forget."""

import ast
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing, vmap
from arraytape._record.op import REGISTRY
from arraytape._storage.batched import batched_forms, batched_namespace, indexing
from arraytape._storage.batched.batched_storage import BATCHED
from helpers.batches import close, loop
from helpers.namespace_ops import namespace_ops
from status import batched, coverage

PACKAGE = Path(xp.__file__).parent
OURS = [
    op for op in namespace_ops() if Path(op.declared.rpartition(":")[0]).is_relative_to(PACKAGE)
]
BY_RULE = [op for op in OURS if op.kind != "composite"]
RNG = np.random.default_rng(0)


@pytest.fixture
def define(monkeypatch):
    """define_op, in a registry that forgets what the test defines."""
    monkeypatch.setattr("arraytape._record.op.REGISTRY", REGISTRY)
    before = set(REGISTRY)
    yield xp.define_op
    for name in set(REGISTRY) - before:
        del REGISTRY[name]


@pytest.fixture
def loops():
    """Calls of the fallback that takes one array after the other."""
    spy = mock.Mock(side_effect=indexing.each_one)
    with (
        mock.patch.object(indexing, "each_one", spy),
        mock.patch.object(batched_namespace, "each_one", spy),
    ):
        yield spy


@pytest.mark.parametrize("op", BY_RULE, ids=lambda op: op.name)
def test_every_op_has_a_batched_form_or_is_refused(op):
    assert BATCHED.xp.form(op.name) != batched_forms.ONE_BY_ONE, (
        f"{op.name} would run in a Python loop under vmap: state its signature by core dimensions, or "
        "give BatchedNamespace a method of its name"
    )


def test_what_is_in_part_one_by_one_is_an_op():
    assert set(batched.IN_PART) <= {op.name for op in OURS}


def test_every_chapter_of_elementwise_functions_is_per_element():
    chapter = [op for op in OURS if "elementwise_functions.py" in op.declared]
    assert len(chapter) > 60
    assert [op.name for op in chapter if not op.per_element] == []


def as_array(x):
    return xp.asarray(x) if isinstance(x, np.ndarray) else x


def test_per_element_ops_compute_each_element_by_itself():
    """What the registry declares, by calls: a shuffle of the inputs shuffles the result."""
    order, checked = [2, 0, 1], 0
    for op in BY_RULE:
        samples = [s for s in op.samples if str(s.inputs[0]) in ("(3, 4)", "bool(3, 4)")]
        if not op.per_element or not samples:
            continue
        arguments = testing.materialise(op, samples[0], np.float64)
        run = partial(op.public, **samples[0].parameters)
        y = np.asarray(run(*map(as_array, arguments)))
        shuffled = [x[order] if np.ndim(x) == 2 and len(x) == 3 else x for x in arguments]
        again = np.asarray(run(*map(as_array, shuffled)))
        np.testing.assert_array_equal(again, y[order], err_msg=op.name)
        checked += 1
    assert checked > 30


def test_no_rule_of_ours_names_a_function_that_is_computed_in_a_loop():
    unknown = set()
    for path in PACKAGE.glob("[_o]*/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = named(node)
            if name and path.parent.name in ("ops", "_array", "_tape", "_define"):
                found = getattr(np, name.partition(".")[0], None)
                if callable(found) and not isinstance(found, type):
                    unknown |= (
                        {name} if BATCHED.xp.form(name) == batched_forms.ONE_BY_ONE else set()
                    )
    assert unknown <= {"finfo", "iinfo"}


def named(node):
    """``linalg.svd`` of the expression ``xp.linalg.svd``; None of others."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed(parts)) if isinstance(node, ast.Name) and node.id == "xp" else None


@pytest.mark.parametrize("name", ["cofactors", "isin", "searchsorted"])
def test_what_once_ran_in_a_loop_does_not(name, loops):
    x = xp.asarray(RNG.uniform(-1.0, 1.0, (4, 3, 3)))
    line = xp.asarray([-0.5, 0.0, 0.5])
    calls = {
        "cofactors": xp.grad(xp.linalg.det),
        "isin": lambda x: xp.isin(xp.astype(4.0 * x, xp.int64), xp.asarray([0, 2])),
        "searchsorted": lambda x: xp.searchsorted(line, x, side="right"),
    }
    close(vmap(calls[name])(x), loop(calls[name], [x], [0]), 1e-12)
    assert not loops.called


def test_what_has_a_batched_form_in_part_says_where_it_has_none(loops):
    x = xp.asarray(np.sort(RNG.uniform(size=(4, 3))))
    close(
        vmap(lambda x: xp.searchsorted(x, 0.5))(x),
        loop(lambda x: xp.searchsorted(x, 0.5), [x], [0]),
    )
    assert loops.called
    assert batched.of_name("searchsorted", REGISTRY["searchsorted"], None) == (
        "yes (one by one with a batched x1)"
    )


# --- ops of the user's own --------------------------------------------------------------------------
SHAPES = [
    (((4, 3), 0), ((4, 3), 0)),
    (((4,), 0), ((4, 3), 0)),  # a scalar and a vector for each example
    (((4, 2, 3), 0), ((4, 3), 0)),
    (((4, 3), 0), ((4, 2, 3), 0)),
    (((4, 2, 1), 0), ((4, 3), 0)),
    (((2, 3), None), ((4, 3), 0)),  # one for all, of greater rank than what is mapped
    (((4,), 0), ((2, 3), None)),
    (((4,), 0), ((4,), 0)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_a_users_elementwise_op_is_batched_by_the_raw_function(define, loops, shapes):
    seen = []

    def forward(x1, x2):
        seen.append((type(x1), type(x2)))
        return np.float_power(np.abs(x1) + 1.0, x2)  # a ufunc: it knows no batched data

    powered = define(
        "powered", forward, "elementwise",
        lambda t, x1, x2, y, xp: t * y * x2 * xp.sign(x1) / (xp.abs(x1) + 1.0),
        lambda t, x1, y, xp: t * y * xp.log(xp.abs(x1) + 1.0),
    )  # fmt: skip
    arrays = [xp.asarray(RNG.uniform(0.2, 2.0, shape)) for shape, _ in shapes]
    axes = [axis for _, axis in shapes]
    close(vmap(powered, axes)(*arrays), loop(powered, arrays, axes), 1e-14)
    del seen[:]
    vmap(powered, axes)(*arrays)
    assert seen == [(np.ndarray, np.ndarray)]
    for i in (0, 1):

        def slope(*args, i=i):
            return xp.grad(lambda x: xp.sum(powered(*args[:i], x, *args[i + 1 :])))(args[i])

        close(vmap(slope, axes)(*arrays), loop(slope, arrays, axes), 1e-12)
    assert not loops.called


def test_a_users_elementwise_op_takes_numbers_and_parameters_under_vmap(define):
    scaled = define(
        "scaled", lambda x1, x2, by=1.0: np.multiply(x1, x2) * by, "elementwise",
        lambda t, x2, by: t * x2 * by, lambda t, x1, by: t * x1 * by,
    )  # fmt: skip
    x = xp.asarray(RNG.uniform(size=(4, 3)))
    np.testing.assert_array_equal(np.asarray(vmap(lambda x: scaled(x, 2.0, by=3.0))(x)), x * 6.0)
    np.testing.assert_array_equal(np.asarray(vmap(lambda x: scaled(2.0, x))(x)), x * 2.0)


def test_nested_vmaps_and_jacobians_of_a_users_elementwise_op(define, loops):
    bell = define(
        "bell", lambda x: np.exp(-np.square(x)), "elementwise", lambda t, x, y: -2.0 * t * x * y
    )
    x = xp.asarray(RNG.uniform(-1.0, 1.0, (2, 4, 3)))
    close(vmap(vmap(bell))(x), bell(x))
    close(vmap(vmap(bell, 1))(x), np.swapaxes(np.asarray(bell(x)), 1, 2))
    row = x[0, 0]
    close(xp.jacobian(bell)(row), np.diag(np.asarray(-2.0 * row * bell(row))), 1e-14)
    close(xp.hessian(lambda r: xp.sum(bell(r)))(row),
          np.diag(np.asarray((4.0 * row * row - 2.0) * bell(row))), 1e-14)  # fmt: skip
    assert not loops.called


def test_a_users_elementwise_op_that_is_not_elementwise_is_found_out_under_vmap(define):
    total = define("total", lambda x: np.sum(x, keepdims=False), "elementwise", lambda t: t)
    with pytest.raises(ValueError, match="must give shape"):
        vmap(total)(xp.asarray(np.ones((4, 3))))


def test_a_value_that_escaped_its_vmap_is_refused_by_a_users_op_too(define):
    same = define("same_again", lambda x: np.positive(x), "elementwise", lambda t: t)
    kept = []
    vmap(lambda x: kept.append(x) or x)(xp.asarray(np.ones((4, 3))))
    with pytest.raises(ValueError, match="escaped its vmap"):
        same(kept[0])


def test_the_table_says_how_each_op_is_batched():
    rows = {row.name: row for row in coverage.rows()}
    assert {row.batched.partition(" (")[0] for row in rows.values()} == {"yes", "refused", "–"}  # noqa: RUF001
    assert {op.name for op in BY_RULE} - set(rows) == set()
    refused = {"nonzero", "unique_values", "bincount", "from_dlpack"}
    assert {rows[name].batched for name in refused} == {"refused"}
    assert {rows[name].batched for name in ("exp", "where", "linalg.svd", "einsum", "zeros")} == {
        "yes"
    }


def test_elementwise_words_set_the_field_and_others_do_not():
    given = {op.name for op in BY_RULE if op.per_element}
    assert {"exp", "floor", "abs", "clip", "where", "equal"} <= given
    assert not given & {"sum", "matmul", "getitem", "searchsorted", "linalg.inv", "cumulative_sum"}
