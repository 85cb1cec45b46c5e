"""Each rewrite rule keeps the values of the calls that its pattern describes."""

import numpy as np
import pytest

from arraytape.replay.passes.rewriting import Pattern, Rewrite
from arraytape.replay.passes.rounding import LOOSER
from arraytape.replay.passes.simplify import ALGEBRA, masked
from arraytape.replay.passes.softmax import RULES as SOFTMAX
from arraytape.replay.program import CONSTANT, INPUT, operands, result_of
from arraytape.replay.tracing.trace import Trace
from arraytape.replay.tracing.traced import ACTIVE
from arraytape.replay.tracing.traced_storage import TRACED
from helpers.raw_programs import traced

xp = TRACED.xp
SHAPE = (8, 5)
EXACT = {rule for rules in ALGEBRA.values() for rule in rules}
RULES = [rule for rules in (ALGEBRA, LOOSER, SOFTMAX) for own in rules.values() for rule in own]
# Values for names of patterns that are no arbitrary arrays.
VALUES = {
    "C": lambda v: 3.0, "D": lambda v: 0.3, "ONE": lambda v: 1.0,
    "n": lambda v: 2, "zero": lambda v: v["zeros"], "e": lambda v: v["e"], "t": lambda v: v["t"],
    "s": lambda v: v["e"] / v["t"], "mean": lambda v: v["mean"],
}  # fmt: skip


def summed(x):
    return xp.sum(x, axis=1, keepdims=True)


def sample(rule, seed):
    """Return the program of a call that the rule's pattern describes, and its inputs."""
    rng = np.random.default_rng(seed)
    inputs = [rng.normal(size=SHAPE) for _ in range(4)]
    text = rule.text.split(" -> ")[0].replace("~", "")

    def calls(a, x, y, z):
        e = xp.exp(z - xp.max(z, axis=1, keepdims=True))
        t = summed(e)
        given = {
            "e": e, "t": t, "mean": summed(a * (e / t)),
            "zeros": xp.zeros(SHAPE, dtype=np.float64),
        }  # fmt: skip
        names = {name: make(given) for name, make in VALUES.items()}
        mask = x > z
        if text.startswith(("where", "masked")):
            x = y = given["zeros"]
        if "@" in text:
            x, y = xp.reshape(x, (-1, 1)), xp.reshape(y, (1, -1))
        names |= {"a": a, "x": x, "y": y, "z": z, "mask": mask}
        if "n :=" in text:
            del names["n"]
        functions = {"sum": summed, "where": xp.where, "masked": as_masked}
        return [eval(text, functions, names)]

    return traced(calls, inputs), inputs


def as_masked(x, mask, other):
    """Return the traced ``where(mask, x, 0)`` as the call of ``masked`` that replaces it."""
    found = xp.where(mask, x, 0.0)
    found.node.op, found.node.call = "masked", masked
    found.node.args = (x.node, mask.node, True)
    return found


def value_of(node, known):
    """Return the value of a node, computed from the values ``known`` of inputs."""
    if node not in known:
        assert node.op != INPUT
        for x in operands(node):
            value_of(x, known)
        known[node] = result_of(node, known)
    return known[node]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_rewrite_keeps_the_value(rule):
    for seed in range(3):
        program, inputs = sample(rule, seed)
        (node,) = program.outputs
        made = rule(node, lambda x: x)
        assert made is not None
        known = dict(zip(program.inputs, inputs, strict=True))
        expected, found = value_of(node, known), value_of(made, known)
        assert (made.shape, made.dtype) == (node.shape, node.dtype) == (found.shape, found.dtype)
        assert made.op in (INPUT, CONSTANT) or made.strides == found.strides
        if rule in EXACT:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_each_rewrite_is_in_a_table_under_the_op_that_it_replaces():
    for table in (ALGEBRA, LOOSER, SOFTMAX):
        for op, rules in table.items():
            assert {rule.pattern.op for rule in rules} == {op}


@pytest.mark.parametrize("text", ["x[0]", "x < y", "f(x, k=1)", "x and y"])
def test_an_expression_that_is_no_pattern_raises(text):
    with pytest.raises((ValueError, KeyError)):
        Rewrite(text, "x")


def test_patterns_try_both_orders_and_know_names_again():
    trace = Trace()
    token = ACTIVE.set(trace)
    try:
        x, y = trace.input(np.ones(3)), trace.input(np.ones(3))
        quotient = xp.divide(y, x)
        product, other = xp.multiply(x, quotient), xp.multiply(y, quotient)
        powers = xp.multiply(x, y)
    finally:
        ACTIVE.reset(token)
    pattern = Pattern("multiply", Pattern("divide", "a", "b", name="share"), "b", name="whole")
    (found,) = pattern.matches(product.node)
    assert found == {"a": y.node, "b": x.node, "share": quotient.node, "whole": product.node}
    assert [*pattern.matches(other.node)] == []  # b would have two meanings
    assert [found["a"] for found in Pattern("multiply", "a", "b").matches(powers.node)] == [
        x.node,
        y.node,
    ]
    assert [*Pattern("multiply", 2.0, "b").matches(powers.node)] == []
