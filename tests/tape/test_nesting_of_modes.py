"""Tapes and accumulators within each other, asked inside and after their blocks: TensorFlow's rules.

A derivative is computed at one time: that of a tape when it is asked, that of an accumulator while its
target is computed.  What is around sees it if its block was open then, and only then.
"""

import itertools

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape

VALUE = 1.5
DERIVATIVES = [4 * VALUE**3, 12 * VALUE**2, 24 * VALUE]  # of x**4


def written(x):
    y = xp.zeros(x.shape)
    y[0] = x[0] ** 4
    y[1, 1:] = x[1, 1:] * 1.0
    y[1] = x[1]
    y[1] *= x[1] ** 3
    return y


def built_by_rows(x):
    rows = xp.zeros((3, 2))
    for i in range(3):
        rows[i] = x.T[i] * 1.0
    flat = xp.reshape(rows.T, (6,))  # copies
    rows[:] = 7.0
    return flat**4


# Functions of an array of one value: each element of the result is the fourth power of one of it.
FUNCTIONS = {
    "power": lambda x: x**4,
    "product": lambda x: (x * x) * (x * x),
    "unread view": lambda x: (x**4).T,
    "view of a view": lambda x: (x**4)[::-1].T[:, None],
    "flat view": lambda x: xp.reshape(x**4, (6,)),
    "reshaped copy": lambda x: xp.reshape((x**2).T, (6,)) ** 2,
    "broadcast view": lambda x: xp.broadcast_to(x**4, (1, 2, 3)),
    "linear last": lambda x: xp.astype(xp.permute_dims(x**4, (1, 0)), xp.float64),
    "concatenated": lambda x: xp.concat([x[:1] ** 4, x[1:] ** 4]),
    "sorted": lambda x: xp.sort(x**4),
    "written": written,
    "built by rows": built_by_rows,
}


def opened(kind, x):
    """A recorder that is to be entered, and how it is asked for its derivative."""
    if kind == "tape":
        tape = GradientTape()
        return tape, lambda y: tape.gradient(y, x)
    accumulator = ForwardAccumulator(x, xp.ones(x.shape))
    return accumulator, accumulator.jvp


def run(f, kinds, asked):
    """The derivatives, the innermost first; ``asked[i]``: inside how many open blocks ``i`` is asked.

    The blocks are numbered from the innermost, which is ``kinds[0]``.
    """
    depth = len(kinds)
    x = xp.full((2, 3), VALUE)
    blocks = [opened(kind, x) for kind in kinds]
    for recorder, _ in reversed(blocks):
        recorder.__enter__()
        if isinstance(recorder, GradientTape):
            recorder.watch(x)
    found = [f(x)]
    for closed in range(depth + 1):
        while len(found) <= depth and asked[len(found) - 1] == closed:
            _, ask = blocks[len(found) - 1]
            found.append(None if found[-1] is None else ask(found[-1]))
        if closed < depth:
            blocks[closed][0].__exit__(None, None, None)
    return found[1:]


def expected(kinds, asked):
    """The values, or None: by the time at which each target was computed."""
    computed, answers = 0, []  # how many blocks were closed when the target was computed
    for i, kind in enumerate(kinds):
        if (answers and answers[-1] is None) or computed > i:
            answers.append(None)
            continue
        answers.append(DERIVATIVES[i])
        if kind == "tape":
            computed = asked[i]
    return answers


def times(depth):
    """When to ask: each derivative once that of its target was asked, from 0, inside all blocks."""
    return itertools.combinations_with_replacement(range(depth + 1), depth)


CASES = [
    (kinds, asked)
    for depth in (1, 2, 3)
    for kinds in itertools.product(["tape", "accumulator"], repeat=depth)
    for asked in times(depth)
]


@pytest.mark.filterwarnings("ignore:gradient is None.:arraytape.TapeWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_derivatives_follow_tensorflow(name):
    for kinds, asked in CASES:
        found = run(FUNCTIONS[name], kinds, asked)
        for g, value in zip(found, expected(kinds, asked), strict=True):
            case = f"{name}: {kinds}, asked with {asked} blocks closed"
            assert (g is None) == (value is None), case
            if value is not None:
                np.testing.assert_allclose(np.asarray(g), value, rtol=1e-12, err_msg=case)


def test_the_cases_are_what_they_should_be():
    assert len(CASES) == 2 * 2 + 4 * 6 + 8 * 20
    answers = [tuple(expected(*case)) for case in CASES]
    assert any(None in answer for answer in answers)
    assert sum(None not in answer for answer in answers) > 50


def test_an_answer_after_the_block_is_the_tangent_itself_and_not_a_copy():
    x, t = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(t)
        with ForwardAccumulator(x, t) as accumulator:
            y = x * x
    first, second = accumulator.jvp(y), accumulator.jvp(y)
    first *= 0.0  # the handle's own value: the tangent stays
    assert np.asarray(second).tolist() == [6.0, 16.0]
    assert np.asarray(tape.gradient(second, t)).tolist() == [2.0, 4.0]
    assert np.asarray(tape.gradient(accumulator.jvp(y), t)).tolist() == [2.0, 4.0]


def test_a_tangent_that_is_a_view_of_another_keeps_its_value():
    """The tangent's layout is not that of its primal: a reshape copies one and views the other."""
    x = xp.asarray(np.asfortranarray(np.ones((3, 2))))
    with ForwardAccumulator(x, xp.ones((3, 2))) as accumulator:
        x[0] = x[0] * 2.0
        flat = xp.reshape(x, (6,))
        x[1] = 5.0 * x[1]
    assert np.asarray(accumulator.jvp(flat)).tolist() == [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    assert np.asarray(accumulator.jvp(x)).tolist() == [[2.0, 2.0], [5.0, 5.0], [1.0, 1.0]]
