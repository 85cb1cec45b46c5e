"""A cotangent of an operand that is constant is not computed: of no op, in no mode, to no order."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, testing
from arraytape._record.plan import plan_of
from helpers.constant_operands import check_each_operand_alone
from helpers.namespace_ops import recorded_ops

OPS = [op for op in recorded_ops() if len(op.inputs) > 1]
JOINT = [op for op in OPS if op.joint]
# What goes back to the right-hand side is what the matrix's contribution is made of.
FREE = {("linalg.solve", "x2"), ("solve_again", "x2")}


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_plan_has_the_rules_of_followed_inputs_alone(op):
    for plan in (*op.plans, *op.fitting_plans):
        if not op.joint:
            assert all(plan.followed[pull.at - 2] for pull in plan.pulls)


@pytest.mark.parametrize(
    ("op", "sample"),
    [
        pytest.param(op, sample, id=f"{op.name}-{i}")
        for op in JOINT
        for i, sample in enumerate(op.samples)
        if all(isinstance(shape, tuple) for shape in sample.inputs)
    ],
)
def test_a_joint_rule_forms_what_is_asked_for(op, sample, monkeypatch):
    arguments = testing.materialise(op, sample)
    first, *rest = [xp.asarray(x) for x in arguments[: len(op.inputs)]]
    arrays = [sample.prepare(first) if sample.prepare else first, *rest]

    def function(*arrays):
        return op.public(*arrays, **sample.parameters)

    check_each_operand_alone(function, arrays, monkeypatch, FREE)


def system(rows):
    random = np.random.default_rng(0)
    a = random.standard_normal((rows, rows)) + 3 * np.eye(rows)
    return xp.asarray(a), xp.asarray(random.standard_normal((rows, 2)))


@pytest.mark.parametrize("rows", [3, 80])
def test_no_product_is_formed_for_a_constant_matrix(rows):
    a, b = system(rows)
    with GradientTape() as outer:
        outer.watch(b)
        with GradientTape() as inner:
            inner.watch(b)
            y = xp.sum(xp.linalg.solve(a, b) ** 2)
        g = inner.gradient(y, b)
    names = [plan_of(record).name for record in outer._recording.records]
    assert "matmul" not in names
    assert "solve_again" in names
    h = outer.gradient(g, b)
    inverse = np.linalg.inv(a.to_numpy())
    np.testing.assert_allclose(
        h.to_numpy(), (2 * inverse.T @ inverse).sum(0)[:, None] + 0 * b._data
    )


def test_many_right_hand_sides_of_a_constant_matrix_have_no_cotangent_of_it(monkeypatch):
    a, b = system(5)
    jacobian = xp.jacobian(lambda x: xp.linalg.solve(a, x))(b)
    inverse = np.linalg.inv(a.to_numpy())
    expected = np.einsum("ij,kl->ikjl", inverse, np.eye(2))
    np.testing.assert_allclose(jacobian.to_numpy(), expected, atol=1e-12)
    each = xp.vmap(xp.grad(lambda x: xp.sum(xp.linalg.solve(a, x) ** 2)))(b.T)
    np.testing.assert_allclose(each.to_numpy(), (2 * inverse.T @ inverse @ b.to_numpy()).T)
