"""saved_data: what records keep is in the hands of two functions; save_on_disk is such a pair."""

import gc

import numpy as np
import pytest

import arraytape as xp
from arraytape import diagnose
from arraytape._util.nest import leaves

e = np.exp


def vector():
    return xp.asarray([0.5, 1.0, 2.0])


class Counting:
    """A pair that keeps copies, and counts."""

    def __init__(self):
        self.packs, self.unpacks = [], 0

    def pack(self, x):
        self.packs.append(x.shape)
        return np.array(x)

    def unpack(self, data):
        self.unpacks += 1
        return xp.asarray(data)


PROGRAMS = [
    lambda x: xp.sum(xp.exp(x) * x),
    lambda x: xp.sum(xp.linalg.svd(xp.stack([x, x * x]), full_matrices=False)[1]),
    lambda x: xp.sum(xp.where(x > 1.0, xp.sqrt(x), x * x)),
    lambda x: xp.sum(xp.stack([x, xp.sin(x)]) @ x),
    lambda x: xp.einsum("i,j->", xp.exp(x), x),
    lambda x: xp.sum(xp.real((x * 1j) * xp.exp(x * 1j))),
    lambda x: xp.sum(x[xp.asarray([2, 0])] * x[:2]),
    lambda x: xp.sum(xp.cumulative_prod(x)),
    lambda x: xp.sum(xp.recompute_grad(lambda x: xp.exp(x) * x)(x) ** 2),
    lambda x: xp.sum(xp.linalg.solve(xp.eye(3) + x[:, None] * x, x)),
    lambda x: xp.sum(xp.sort(xp.concat([x, x * x])) ** 3),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients_are_the_same(f):
    x, pair = vector(), Counting()
    with diagnose.saved_data(pair.pack, pair.unpack), xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with xp.GradientTape() as plain:
        plain.watch(x)
        z = f(x)
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), np.asarray(plain.gradient(z, x)))
    assert pair.packs
    assert pair.unpacks


@pytest.mark.parametrize("f", PROGRAMS)
def test_second_derivatives_are_the_same(f):
    def second(block):
        x = vector()
        with xp.GradientTape() as outer:
            outer.watch(x)
            with block(), xp.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            g = xp.sum(inner.gradient(y, x) * x)
        return np.asarray(outer.gradient(g, x))

    pair = Counting()
    found = second(lambda: diagnose.saved_data(pair.pack, pair.unpack))
    np.testing.assert_allclose(found, second(lambda: xp.GradientTape()), rtol=1e-13)


def test_jacobians_are_the_same(near):
    x, pair = vector(), Counting()
    with diagnose.saved_data(pair.pack, pair.unpack), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x) * x
    near(tape.jacobian(y, x), np.diag(e(np.asarray(x)) * (1 + np.asarray(x))))


def test_a_guarded_gradient_is_the_same(near):
    x, pair = xp.asarray([0.0, 4.0]), Counting()
    with diagnose.saved_data(pair.pack, pair.unpack), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.where(x > 0.0, xp.sqrt(x), 0.0))
    near(tape.gradient(y, x), [0.0, 0.25])


def test_functions_of_functions_and_vmap_give_the_same(near):
    x, pair = vector(), Counting()
    f = lambda x: xp.sum(xp.exp(x) * x)  # noqa: E731
    rows = xp.stack([x, 2.0 * x])
    calls = [
        lambda: xp.grad(f)(x), lambda: xp.hessian(f)(x), lambda: xp.hvp(f, (x,), (x,)),
        lambda: xp.vmap(xp.grad(f))(rows), lambda: xp.jacobian(xp.vmap(xp.sin))(x),
        lambda: xp.jvp(f, (x,), (x,)),
    ]  # fmt: skip
    for call in calls:
        with diagnose.saved_data(pair.pack, pair.unpack):
            found = call()
        for one, expected in zip(leaves(found), leaves(call()), strict=True):
            near(one, expected)


def test_only_what_is_recorded_in_the_block_is_packed(near):
    x, pair = vector(), Counting()
    with xp.GradientTape() as tape:
        tape.watch(x)
        a = xp.exp(x)
        with diagnose.saved_data(pair.pack, pair.unpack):
            b = xp.sin(a)
        c = xp.sum(b * b)
    assert len(pair.packs) == 1
    assert type(tape._recording.record).__name__ == "builtin_function_or_method"
    near(
        tape.gradient(c, x),
        2 * np.sin(e(np.asarray(x))) * np.cos(e(np.asarray(x))) * e(np.asarray(x)),
    )
    assert pair.unpacks == 1


def test_an_array_that_several_records_keep_is_packed_once():
    x, pair = vector(), Counting()
    with diagnose.saved_data(pair.pack, pair.unpack), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        for _ in range(3):
            xp.sin(y)
    assert len(pair.packs) == 1
    del tape


def test_what_is_written_later_is_packed_anew(near):
    x, pair = vector(), Counting()
    with diagnose.saved_data(pair.pack, pair.unpack), xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        a = xp.sum(xp.sin(y))
        y[0] = 3.0
        b = xp.sum(xp.sin(y))
        y[0] = 5.0
        c = a + b
    near(tape.gradient(c, x), np.cos(np.asarray(x)) * np.asarray([1.0, 2.0, 2.0]))


def test_the_innermost_block_counts():
    x, outer, inner = vector(), Counting(), Counting()
    with diagnose.saved_data(outer.pack, outer.unpack), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sin(x)
        with diagnose.saved_data(inner.pack, inner.unpack):
            y = xp.sin(y)
        y = xp.sin(y)
    assert (len(outer.packs), len(inner.packs)) == (2, 1)
    tape.gradient(y, x)
    assert (outer.unpacks, inner.unpacks) == (2, 1)


def test_memory_that_a_pack_gives_up_does_not_count_for_the_limit(near):
    x = xp.asarray(np.ones(1000))
    pair = diagnose.save_on_disk()
    with diagnose.saved_data(*pair), xp.GradientTape(memory_limit=10_000) as tape:
        tape.watch(x)
        y = x
        for _ in range(5):
            y = xp.sin(y)
    assert tape.gradient(y, x) is not None


def test_what_a_pack_keeps_in_memory_counts():
    x = xp.asarray(np.ones(1000))
    pair = (lambda x: xp.astype(x, xp.float16), lambda x: xp.astype(x, xp.float64))
    with diagnose.saved_data(*pair), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sin(x)
    assert "1 record keeping 2.0 kB" in repr(tape)
    assert tape.gradient(y, x) is not None


def test_what_pack_raises_the_op_raises(near):
    def fail(x):
        raise OSError("disk full")

    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        with diagnose.saved_data(fail, fail), pytest.raises(OSError, match="disk full"):
            xp.exp(x)
    near(tape.gradient(y, x), 2 * np.asarray(x))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data: data,
        lambda data: xp.asarray(data[:1]),
        lambda data: xp.asarray(data, dtype=xp.float32),
    ],
)
def test_unpack_must_give_back_what_pack_was_given(wrong):
    x = vector()
    with diagnose.saved_data(np.array, wrong), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
    with pytest.raises(ValueError, match=r"unpack must return an Array float64\(3,\)"):
        tape.gradient(y, x)
    assert len(tape._recording.records) == 1


def test_errors():
    wrong = diagnose.saved_data(1, print)
    with pytest.raises(TypeError, match=r"saved_data\(\) takes two functions, got int"):
        wrong.__enter__()
    with pytest.raises(FileNotFoundError, match="is no directory"):
        diagnose.save_on_disk("/nowhere/at/all")


# --- on disk ------------------------------------------------------------------------------------------
def test_files_are_there_while_the_tape_needs_them(tmp_path, near):
    x = vector()
    with diagnose.saved_data(*diagnose.save_on_disk(tmp_path)), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(xp.sin(x))
    assert len(list(tmp_path.iterdir())) == 2
    near(tape.gradient(y, x), e(np.sin(np.asarray(x))) * np.cos(np.asarray(x)))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_files_go_with_the_tape(tmp_path):
    x = vector()
    with diagnose.saved_data(*diagnose.save_on_disk(tmp_path)), xp.GradientTape() as tape:
        tape.watch(x)
        xp.exp(x)
    assert len(list(tmp_path.iterdir())) == 1
    del tape
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_files_of_a_loop_in_one_block_go_with_each_gradient(tmp_path):
    x = vector()
    with diagnose.saved_data(*diagnose.save_on_disk(tmp_path)):
        for _ in range(3):
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = xp.exp(x)
            assert len(list(tmp_path.iterdir())) == 1
            tape.gradient(y, x)
            assert list(tmp_path.iterdir()) == []


def test_small_arrays_may_stay_in_memory(tmp_path, near):
    x, large = vector(), xp.asarray(np.ones(100))
    with (
        diagnose.saved_data(*diagnose.save_on_disk(tmp_path, smallest=100)),
        xp.GradientTape() as tape,
    ):
        tape.watch([x, large])
        y = xp.sum(xp.exp(x)) + xp.sum(xp.exp(large))
    assert len(list(tmp_path.iterdir())) == 1
    near(tape.gradient(y, x), e(np.asarray(x)))


def test_a_file_that_is_gone_is_an_os_error_and_the_tape_stays(tmp_path):
    x = vector()
    with diagnose.saved_data(*diagnose.save_on_disk(tmp_path)), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
    for file in tmp_path.iterdir():
        file.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            tape.gradient(y, x)


def test_any_layout_and_dtype_comes_back(tmp_path):
    pack, unpack = diagnose.save_on_disk(tmp_path)
    for data in (
        np.ones((2, 3)).T,
        np.ones(4)[::2],
        np.zeros((0, 2)),
        np.arange(3) > 1,
        np.ones(2) * 1j,
    ):
        found = unpack(pack(xp.asarray(data)))
        np.testing.assert_array_equal(np.asarray(found), data)
        assert found.dtype == data.dtype
