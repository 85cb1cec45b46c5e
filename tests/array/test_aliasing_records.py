"""Records of views, writes and exits: read by name, and a fast path that gives what the rule gives."""

import functools
import gc

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._array import aliasing, array, exits
from arraytape._array.aliasing import ADD, PUT, VIEW, AddRecord, PutRecord, ViewRecord
from arraytape._array.views import keep_data
from arraytape._exits.messages import last_exit

RULES = {
    VIEW: (aliasing.pull_view, aliasing.pull_view_in_place),
    PUT: (aliasing.pull_put, aliasing.pull_put_in_place),
    ADD: (aliasing.pull_add, aliasing.pull_add_in_place),
}


# --- the fast path is the rule ------------------------------------------------------------------------
def path_of(draw):
    """A random view of a (4, 3) array, as source text."""
    return draw.choice(
        ["x", "x[1:]", "x[::-1]", "x.T", "x[::2, 1:]", "x[1:][:2]", "xp.reshape(x, (12,))",
         "xp.reshape(x.T, (3, 2, 2))", "x[:, None]", "x.T[1:]", "xp.expand_dims(x, axis=0)[..., 1]"]
    )  # fmt: skip


def key_of(draw):
    """A random key that fits any of these views."""
    return draw.choice(
        ["1", "-1", "slice(1, None)", "...", "slice(None, None, -1)", "(..., None)", "slice(0, 0)",
         "[0, 1]", "[1, 1, 0]", "xp.asarray([0, 1])", "(1, ...)", "view > 0.0", "np.int64(1)"]
    )  # fmt: skip


def value_of(draw):
    """A random value, for the shape of the part that it is written into."""
    return draw.choice(
        ["y * xp.ones(part.shape)", "y", "2.0", "xp.astype(y, xp.float32)", "part * y", "part",
         "xp.reshape(y, (1, 1)) * 1.0" ]
    )  # fmt: skip


def program(seed):
    """Writes and reads of random views of x, with values that depend on y and x."""
    draw = np.random.default_rng(seed)
    lines = []
    for _ in range(draw.integers(1, 5)):
        lines.append(f"view = {path_of(draw)}")
        lines.append(f"key = {key_of(draw)}")
        lines.append("part = view[key] * 1.0")
        how = draw.integers(5)
        value = value_of(draw)
        if how == 0:
            lines.append(
                f"view[key] = {value} if part.ndim > 1 else {value.replace('(1, 1)', '()')}"
            )
        elif how == 1:
            lines.append("view[key] += part * y")
        elif how == 2:
            lines.append(
                draw.choice(["view += y", "view -= xp.astype(y, xp.float32)", "x += x * y"])
            )
        elif how == 3:
            lines.append("held.append(xp.sum(view[key] * y)); view[key] -= 0.5 * y")
        else:
            lines.append("held.append(xp.sum(part ** 2)); wanted.append(x); x = x * 1.0")
    return lines


@functools.cache
def compiled(line):
    """A statement that several runs execute."""
    return compile(line, "<a program>", "exec")


def gradients(lines, dtype, wanted_too):
    """The gradients of all that a program holds, with respect to its inputs and values on the way."""
    a = np.linspace(-1.0, 2.0, 12).reshape(4, 3).astype(dtype)
    start = xp.asarray(a + 1j * a[::-1] if dtype == "complex128" else a)
    y = xp.asarray(0.7)
    scope = {"xp": xp, "np": np, "y": y, "held": [], "wanted": []}
    with GradientTape() as tape:
        tape.watch([start, y])
        scope["x"] = start * 1.0
        for line in lines:
            exec(compiled(line), scope)
        held = [xp.real(h) if dtype == "complex128" else h for h in scope["held"]]
        total = xp.sum(xp.abs(scope["x"]) ** 2) + sum(held, 0.0)
    sources = [start, y, *(scope["wanted"] if wanted_too else [])]
    kinds = {record[0] for record in tape._recording.records}
    return tape.gradient(total, sources), kinds


def runs(lines, dtype):
    try:
        with np.errstate(all="raise"):
            gradients(lines, dtype, False)
    except (ValueError, TypeError, IndexError, FloatingPointError):
        return False  # such as a complex value for a real array, or a shape that does not fit
    return True


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.every(3)
def test_the_fast_path_gives_what_the_rule_gives_but_for_the_order_of_sums(
    dtype, near, monkeypatch
):
    dtype_programs = [p for p in map(program, range(400)) if runs(p, dtype)]
    assert len(dtype_programs) > 150
    used = dict.fromkeys(RULES, 0)
    for lines in dtype_programs:
        for wanted_too in (False, True):
            found, _ = gradients(lines, dtype, wanted_too)
            with monkeypatch.context() as patch:
                for plan, (rule, _) in RULES.items():
                    patch.setattr(plan, "pull_cotangents", rule)
                expected, kinds = gradients(lines, dtype, wanted_too)
            for plan in RULES:
                used[plan] += plan.number in kinds
            for g, reference in zip(found, expected, strict=True):
                assert (g is None) == (reference is None), lines
                if g is not None:
                    assert g.dtype == reference.dtype
                    rounding = 64 * max(np.finfo(g.dtype).eps, np.finfo(dtype).eps)
                    scale = np.max(np.abs(np.asarray(reference)), initial=1.0)
                    near(g, reference, rtol=rounding, atol=rounding * scale)
    assert min(used.values()) > 50


@pytest.mark.parametrize("plan", RULES, ids=lambda plan: plan.name)
def test_the_usual_case_takes_the_fast_path_alone(plan, monkeypatch):
    def refused(at, record):
        raise AssertionError("the rule was called")

    for rule, _ in RULES.values():
        monkeypatch.setattr(aliasing, rule.__name__, refused)
    x, y = xp.asarray(np.ones((4, 3))), xp.asarray(np.ones(3))
    with GradientTape() as tape:
        tape.watch([x, y])
        if plan is PUT:
            x[1:][1] = y
            x[3] = y
        elif plan is ADD:
            x += y
            x[1] += y
        part = xp.sum(x[1] * y) if plan is VIEW else 0.0
        z = part + xp.sum(x * x)  # goes back first, so that x has a buffer
    assert plan.number in {record[0] for record in tape._recording.records}
    assert tape.gradient(z, y) is not None


# --- records by position and by name ------------------------------------------------------------------
def last(tape, plan):
    return [record for record in tape._recording.records if record[0] == plan.number][-1]


def test_a_view_is_recorded_as_view_record_makes_it():
    x = xp.asarray(np.ones((4, 3)))
    with GradientTape() as tape:
        tape.watch(x)
        part = x[1:]
        part * 2.0
        record = last(tape, VIEW)
        view = part._view
        assert record == aliasing.view_record(view.written_id, x._value_id, (4, 3), view.path)
    read = ViewRecord(*record)
    assert (read.view, read.root, read.shape, read.path) == (
        view.written_id,
        x._value_id,
        (4, 3),
        view.path,
    )


@pytest.mark.parametrize("path", [(), (("getitem", slice(1, None)),)])
def test_writes_are_recorded_with_the_fields_of_put_record_and_add_record(path):
    x, y = xp.asarray(np.ones((4, 3))), xp.asarray(np.ones(3, np.float32))
    with GradientTape() as tape:
        tape.watch([x, y])
        old = x._value_id
        target = x[1:] if path else x
        target[1] = y
        written = x._value_id
        target -= y
    same = {"value": y._value_id, "path": path, "shape": (3,), "dtype": y.dtype}
    same |= {"root_shape": (4, 3), "root_dtype": x.dtype}
    put = PutRecord(plan=PUT.number, new=written, old=old, key=1, lost=None, **same)
    add = AddRecord(plan=ADD.number, new=x._value_id, old=written, sign=-1, **same)
    assert last(tape, PUT) == put
    assert last(tape, ADD) == add
    assert aliasing.write_of(last(tape, PUT)) == put
    assert aliasing.write_of(last(tape, ADD)) == add


def test_an_exit_is_recorded_as_left_record_makes_it():
    x = xp.asarray(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        float(x)
    left = exits.LeftRecord(*last(tape, exits.LEFT))
    assert left.value == x._value_id
    assert left.how == "float()"
    assert left.data() is x._data
    assert left.stack[0].code.co_name == "test_an_exit_is_recorded_as_left_record_makes_it"
    assert f"at {left.stack[0]} (float()): " in last_exit(tape._recording.records).fact


def test_records_of_writes_are_not_tracked_by_the_cyclic_garbage_collector():
    x, y = xp.asarray(np.ones((4, 3))), xp.asarray(np.ones(3))
    with GradientTape() as tape:
        tape.watch([x, y])
        x[1] = y
        x[2] += y
        x[0] * y
    for _ in range(3):  # a tuple in a tuple first
        gc.collect()
    assert len(tape._recording.records) > 3
    assert not any(gc.is_tracked(record) for record in tape._recording.records)


# --- states -------------------------------------------------------------------------------------------
def test_the_named_masks_say_what_the_bits_say():
    bits = [array.KEPT, array.SCALAR, array.HOT, array.PINNED, array.IS_VIEW, array.EXPORTED]
    assert sorted(bits) == [1 << i for i in range(len(bits))]
    assert array.ONLY_KEPT == array.KEPT
    # Below the bound: unkept or kept, immutable or not, and nothing else.
    below = range(array.KEEP_IS_A_MARK)
    assert {*below} == {0, array.KEPT, array.SCALAR, array.KEPT | array.SCALAR}
    assert array.FOREIGN == array.PINNED | array.EXPORTED
    assert array.ALIASED == array.FOREIGN | array.IS_VIEW


@pytest.mark.parametrize("state", range(array.KEEP_IS_A_MARK))
def test_below_the_bound_to_keep_is_to_set_kept(state):
    x = array.wrap(np.ones(3), 0, state)
    assert keep_data(x) is x._data
    assert x._state == state | array.KEPT


def test_of_a_view_of_a_view_the_tape_has_the_one_that_is_read():
    x = xp.asarray(np.arange(12.0))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        turned = xp.reshape(x, (3, 4)).T
        wide = xp.broadcast_to(turned[..., None], (4, 3, 2))
        y = wide * wide
    views = [ViewRecord(*r) for r in tape._recording.records if r[0] == VIEW.number]
    assert [view.root for view in views] == [x._value_id]
    assert np.array_equal(np.asarray(tape.gradient(y, x)), 4.0 * np.asarray(x))
    with tape:
        z = xp.sum(turned)  # read later than the view of it
    assert np.array_equal(np.asarray(tape.gradient(z, x)), np.ones(12))


def test_an_outer_tape_keeps_the_masks_that_the_inner_one_kept_and_no_copies():
    rng = np.random.default_rng(0)
    x, y = (xp.asarray(rng.standard_normal((20, 30))) for _ in range(2))
    with GradientTape(persistent=True) as outer:
        outer.watch([x, y])
        with GradientTape(persistent=True) as inner:
            inner.watch([x, y])
            z = xp.max(xp.maximum(x, y) * x, axis=1)
        masks = kept_masks(inner)
        gx, gy = inner.gradient(z, [x, y])
        w = xp.sum(gx * gx) + xp.sum(gy)
    assert len(masks) == 2
    assert {id(mask) for mask in kept_masks(outer)} == {id(mask) for mask in masks}
    assert outer.gradient(w, y) is not None


def kept_masks(tape):
    kept = (item for record in tape._recording.records for item in record)
    return [item for item in kept if isinstance(item, np.ndarray) and item.dtype == bool]
