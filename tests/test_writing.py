"""Writing and aliasing: NumPy's values bit for bit, and the gradients that go with them.

``check`` runs one program with NumPy and with arraytape, and compares the gradient of a weighted
sum of all that the program returns with the complex step.  Programs are therefore complex-safe.
"""

import array_api_compat.numpy as numpy
import numpy as np
import pytest

import arraytape as xp

SIZES = (3, 40)  # rows of 4: parts below and above the size up to which parts are kept by copy
sizes = pytest.mark.parametrize("n", SIZES)


# --- helpers --------------------------------------------------------------------------------
def sample(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).uniform(0.3, 1.5, shape)


def weights(shape, turn):
    count = int(np.prod(shape))
    return (np.cos(1.0 + turn + 0.7 * np.arange(count)) + 0.3).reshape(shape)


def total(space, outputs):
    answer = 0.0
    for turn, y in enumerate(outputs):
        answer = answer + space.sum(y * space.asarray(weights(y.shape, turn)))
    return answer


def listed(outputs):
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def complex_step(program, inputs, i):
    """The gradient of the weighted total with respect to input i, by NumPy alone."""
    slope = np.empty(inputs[i].shape)
    for at in np.ndindex(slope.shape):
        # astype keeps the layout, on which values and aliasing depend.
        arrays = [x.astype(complex) for x in inputs]
        arrays[i][at] += 1e-30j
        slope[at] = total(numpy, listed(program(numpy, *arrays))).imag / 1e-30
    return slope


def assert_same_bits(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        if ours.tobytes() != theirs.tobytes():
            np.testing.assert_array_equal(ours, theirs)  # says where
            raise AssertionError("signs of zeros differ")


def recorded(program, inputs, watched):
    """What the program returns and the gradients of its total, with these inputs watched."""
    arrays = [xp.asarray(x) for x in inputs]
    sources = [arrays[i] for i in watched]
    with xp.GradientTape() as tape:
        tape.watch(sources)
        outputs = listed(program(xp, *arrays))
        y = total(xp, outputs)
    return outputs, tape.gradient(y, sources, unconnected_gradients="zero")


def curvature(program, inputs, along):
    arrays = [xp.asarray(x) for x in inputs]
    with xp.GradientTape() as outer:
        outer.watch(arrays)
        with xp.GradientTape() as inner:
            inner.watch(arrays)
            y = total(xp, listed(program(xp, *arrays)))
        first = inner.gradient(y, arrays, unconnected_gradients="zero")
        slope = total_along(first, along)
    return outer.gradient(slope, arrays, unconnected_gradients="zero")


def total_along(gradients, along):
    slope = xp.asarray(0.0)
    for g, v in zip(gradients, along, strict=True):
        slope = slope + xp.sum(g * v)
    return slope


def check(program, *inputs, second=True):
    """Values and gradients with nothing, each input alone and all inputs followed; second order."""
    expected = listed(program(numpy, *[x.copy(order="K") for x in inputs]))
    assert_same_bits(listed(program(xp, *[xp.asarray(x) for x in inputs])), expected)
    everyone = tuple(range(len(inputs)))
    slopes = [complex_step(program, inputs, i) for i in everyone]
    for watched in {everyone, *((i,) for i in everyone)}:
        outputs, gradients = recorded(program, inputs, watched)
        assert_same_bits(outputs, expected)
        for i, g in zip(watched, gradients, strict=True):
            np.testing.assert_allclose(np.asarray(g), slopes[i], rtol=1e-11, atol=1e-12)
    if second:
        check_second_order(program, inputs)


def check_second_order(program, inputs, h=1e-5):
    along = [weights(x.shape, 5 + i) for i, x in enumerate(inputs)]
    ahead, behind = ([x + s * v for x, v in zip(inputs, along, strict=True)] for s in (h, -h))
    ahead = [like_layout(x, old) for x, old in zip(ahead, inputs, strict=True)]
    behind = [like_layout(x, old) for x, old in zip(behind, inputs, strict=True)]
    if sum(x.size for x in inputs) > 100:  # enough has been looked at by the small sizes
        return
    for i, g in enumerate(curvature(program, inputs, along)):
        slope = complex_step(program, ahead, i) - complex_step(program, behind, i)
        np.testing.assert_allclose(np.asarray(g), slope / (2 * h), rtol=1e-6, atol=1e-7)


def like_layout(x, old):
    same = np.empty_like(old)
    same[...] = x
    return same


def gradient_of(function, *values):
    """The gradients of sum(function(...)) as NumPy arrays."""
    arrays = [xp.asarray(np.asarray(v, dtype=float)) for v in values]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        y = xp.sum(function(*arrays))
    gradients = [np.asarray(g) for g in tape.gradient(y, arrays)]
    return gradients[0] if len(gradients) == 1 else gradients


# --- the traps of aliasing ----------------------------------------------------------------------
@sizes
def test_what_was_kept_of_a_view_survives_a_write_to_its_root(n):
    def program(xp, x):
        v = x[1:]
        y = xp.sin(v)
        x[1] = 9.0
        return x, v, y

    check(program, sample(n, 4))


@sizes
def test_what_was_kept_of_a_view_survives_a_write_through_another_view(n):
    def program(xp, x):
        v, u = x[1:], xp.flip(x, axis=0)
        y = xp.sin(v) * u[:-1]
        u[0] = 9.0
        u[1:, 1] = 0.5
        return x, v, u, y

    check(program, sample(n, 4))


@sizes
def test_a_root_multiplied_in_place_by_its_own_flip(n):
    def program(xp, x):
        v = x[::-1]
        x *= v
        return xp.sum(x), x, v

    check(program, sample(4 * n))


@sizes
def test_a_view_multiplied_in_place_by_its_own_root(n):
    def program(xp, x):
        v = x[::-1]
        v *= x
        return xp.sum(x), x, v

    check(program, sample(4 * n))


@sizes
def test_copy_on_write_of_the_root_strands_no_view(n):
    def program(xp, x, w):
        v = x[1:]
        y = w * x
        x[0] = 5.0
        v += 1.0
        return x, v, y

    check(program, sample(n, 4), sample(n, 4, seed=1))


@sizes
def test_a_reshape_view_survives_copy_on_write_in_another_layout(n):
    def program(xp, x, w):
        r = xp.asarray(x.T, copy=True)
        v = xp.reshape(r.T, (4 * n,))
        y = w * r
        r[0] = 1.0
        v[0] = 2.0
        return r, v, y, xp.sum(r)

    check(program, sample(n, 4), sample(4, n, seed=1))


@sizes
def test_the_gradient_of_a_reshape_view_whose_root_has_another_layout(n):
    def program(xp, x):
        r = xp.asarray(x.T, copy=True)
        v = xp.reshape(r.T, (4 * n,))
        return xp.sum(v * v), xp.sum(r, axis=0)

    check(program, sample(n, 4))


@sizes
def test_writing_through_a_reshape_view_whose_root_has_another_layout(n):
    def program(xp, x, w):
        r = xp.asarray(x.T, copy=True)
        v = xp.reshape(r.T, (4 * n,))
        v[1:5] = w
        y = xp.sin(r)
        v[::3] *= 2.0
        r[1] = v[:n] * v[n : 2 * n]
        return r, v, y

    check(program, sample(n, 4), sample(4, seed=1))


@sizes
def test_an_in_place_operator_keeps_the_layout_of_its_array(n):
    def program(xp, x, w):
        r = xp.asarray(x.T, copy=True)  # in Fortran order; w is in C order
        v = xp.reshape(r.T, (4 * n,))
        r *= w
        v[0] = 2.0
        return r, v, xp.sum(r), xp.sum(r, axis=1)

    check(program, sample(n, 4), sample(4, n, seed=1))


@sizes
def test_an_in_place_matmul_keeps_the_layout_of_its_array(n):
    def program(xp, x, w):
        r = xp.asarray(x.T, copy=True)
        v = xp.reshape(r.T, (4 * n,))
        y = xp.sin(r.T)
        t = r.T
        t @= w
        v[0] = 2.0
        return r, v, y, xp.sum(r, axis=1)

    check(program, sample(n, 4), sample(4, 4, seed=1))


@sizes
def test_a_root_in_fortran_order_keeps_it_through_an_in_place_matmul(n):
    def program(xp, x, w):
        r = xp.asarray(xp.reshape(x, (4, n)).T, copy=True)
        v = xp.reshape(r.T, (4 * n,))
        r @= w
        v[0] = 2.0
        return r, v

    check(program, sample(n, 4), sample(4, 4, seed=1))


def test_in_place_on_the_scalar_result_of_a_reduction_rebinds_the_name():
    def program(xp, x):
        s = xp.sum(x)
        t = s
        s += 1.0
        s *= x[0]
        return s, t

    check(program, sample(5))


def test_an_element_of_a_vector_is_a_copy():
    def program(xp, x):
        a = x[2]
        b = a
        a *= 3.0
        x[2] = 7.0
        return a, b, x

    check(program, sample(5))


def test_an_element_taken_with_an_ellipsis_is_a_view():
    def program(xp, x):
        a = x[2, ...]
        b = a
        a *= 3.0
        y = a * x[1]
        x[2] = x[0] * 7.0
        return a, b, x, y

    check(program, sample(5))


@pytest.mark.parametrize(
    "shaped",
    [
        lambda xp, s: xp.reshape(s, (1,)),
        lambda xp, s: xp.expand_dims(s, axis=0),
        lambda xp, s: s[None],
    ],
    ids=["reshape", "expand_dims", "None"],
)
def test_a_write_into_a_reshaped_scalar_result_leaves_the_scalar_alone(shaped):
    def program(xp, x):
        s = xp.sum(x)
        r = shaped(xp, s)
        r[0] = 5.0
        r *= x[0]
        return s, r

    check(program, sample(5))


def test_an_explicit_copy_of_a_scalar_result_is_an_array_that_can_be_written_in_place():
    def program(xp, x):
        s = xp.asarray(xp.sum(x), copy=True)
        t = s
        s += x[0]
        return s, t

    check(program, sample(5))


def test_of_repeated_integers_the_last_write_wins_and_takes_the_gradient():
    def program(xp, x, v):
        x[xp.asarray([0, 0])] = v
        return x

    check(program, sample(3), sample(2, seed=1))


def test_repeated_integers_in_two_axes():
    def program(xp, x, v):
        rows, columns = xp.asarray([[0, 1], [1, 2]]), xp.asarray([[1, 0], [0, 3]])
        x[rows, columns] = v
        x[xp.asarray([2, 0, 2])] = x[:, :] * v[0, 0]
        return x

    check(program, sample(3, 4), sample(2, 2, seed=1))


def test_the_winner_among_repeated_integers_with_index_and_value_in_fortran_order():
    index = np.asfortranarray([[0, 1], [1, 2]])

    def program(xp, x, v):
        x[xp.asarray(index)] = v.T
        return x

    check(program, sample(3), sample(2, 2, seed=1))


def test_repeated_integers_with_a_broadcast_value():
    def program(xp, x, v):
        x[xp.asarray([[0, 2, 0], [2, 1, 2]])] = v
        return x

    check(program, sample(3), sample(3, seed=1))


def test_a_view_written_in_place_is_read_right_afterwards():
    def program(xp, x, w):
        v = x[1:]
        y = v * 2.0
        v *= w
        z = xp.sin(v)
        v[0] = 0.25
        return x, v, y, z, v * z

    check(program, sample(4), sample(3, seed=1))


def test_a_view_named_while_the_tape_was_left_is_read_on_the_tape():
    x = xp.asarray([1.0, 2.0, 3.0])
    tape = xp.GradientTape()
    with tape:
        tape.watch(x)
        v = x[1:]
    outside = v * 2.0
    with tape:
        y = xp.sum(v * v)
    assert np.asarray(outside).tolist() == [4.0, 6.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.0, 4.0, 6.0]


def test_a_view_named_on_one_tape_is_read_on_another():
    x = xp.asarray([1.0, 2.0, 3.0])
    first, second = xp.GradientTape(), xp.GradientTape()
    with first:
        first.watch(x)
        v = x[1:]
        y = xp.sum(v * v)
    with second:
        second.watch(x)
        z = xp.sum(v * 5.0)
    assert np.asarray(first.gradient(y, x)).tolist() == [0.0, 4.0, 6.0]
    assert np.asarray(second.gradient(z, x)).tolist() == [0.0, 5.0, 5.0]


def test_a_view_made_while_nothing_recorded_is_followed_later():
    x = xp.asarray([1.0, 2.0, 3.0])
    v = x[::-1][:2]
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(v * v)
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.0, 4.0, 6.0]


def test_a_view_that_nobody_read_can_be_a_target():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        v = h[0:2]
    assert np.asarray(tape.gradient(v, x)).tolist() == [2.0, 4.0, 0.0]


def test_a_view_that_nobody_read_can_be_a_source():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        v = h[0:2]
        y = xp.sum(v * v)
        unread = h[1:]
    g = tape.gradient(y, [v, unread, x])
    assert np.asarray(g[0]).tolist() == [2.0, 8.0]
    assert g[1] is None
    assert np.asarray(g[2]).tolist() == [4.0, 32.0, 0.0]


@pytest.mark.parametrize("alias", [lambda x: x, lambda x: x[::-1], lambda x: xp.reshape(x, (1, 3))])
def test_a_write_outside_of_the_tape_ends_the_following(alias):
    x = xp.asarray([1.0, 2.0, 3.0])
    tape = xp.GradientTape()
    with tape:
        tape.watch(x)
        y = xp.sum(x * x)
    alias(x)[...] = 5.0
    with tape:
        z = xp.sum(x * x)
        both = y + z
    assert float(z) == 75.0
    assert np.asarray(tape.gradient(both, x)).tolist() == [2.0, 4.0, 6.0]


def test_an_in_place_operator_outside_of_the_tape_ends_the_following():
    x = xp.asarray([1.0, 2.0, 3.0])
    v = x[1:]
    tape = xp.GradientTape()
    with tape:
        tape.watch(x)
    v *= 2.0
    x += 1.0
    with tape:
        y = xp.sum(x * x) + xp.sum(v)
    assert np.asarray(x).tolist() == [2.0, 5.0, 7.0]
    assert tape.gradient(y, x) is None


def frozen(*values):
    data = np.asarray(values)
    data.flags.writeable = False
    return data


def test_a_read_only_root_stays_read_only_after_it_was_kept():
    ro = xp.asarray(frozen(1.0, 2.0, 3.0), copy=False)
    w = xp.asarray([2.0, 3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(w * ro)
        with pytest.raises(ValueError, match="read-only"):
            ro[0] = 5.0
        with pytest.raises(ValueError, match="read-only"):
            ro += 1.0
        with pytest.raises(ValueError, match="read-only"):
            ro *= w
    assert np.asarray(ro).tolist() == [1.0, 2.0, 3.0]
    assert np.asarray(tape.gradient(y, w)).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("key", [0, slice(1, None), ..., [0, 1]])
def test_writing_a_read_only_part_to_itself_raises(key):
    ro = xp.asarray(frozen(1.0, 2.0, 3.0), copy=False)
    b = xp.broadcast_to(xp.asarray([1.0, 2.0]), (3, 2))
    for x in (ro, ro[:], b):
        with pytest.raises(ValueError, match="read-only"):
            x[key] = x[key]


def test_a_broadcast_view_is_read_only_and_sees_writes_to_its_root():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        b = xp.broadcast_to(h, (3, 2))
        y = xp.sum(b * b)
        h[0] = h[1] * 2.0
        y = y + xp.sum(b * b)
        with pytest.raises(ValueError, match="read-only"):
            b[0] = 5.0
    assert np.asarray(b).tolist() == [[4.0, 2.0]] * 3
    assert np.asarray(tape.gradient(y, x)).tolist() == [6.0, 12.0 + 48.0 + 12.0]


def test_a_read_only_array_raises_before_anything_changes():
    source = frozen(1.0, 2.0, 3.0)
    ro = xp.asarray(source, copy=False)
    with xp.GradientTape() as tape:
        tape.watch(ro)
        y = xp.sum(ro * ro)
        for write in (lambda: ro.__setitem__(0, 5.0), lambda: ro.__iadd__(1.0)):
            with pytest.raises(ValueError, match="read-only"):
                write()
        z = y + xp.sum(ro)
    assert np.asarray(tape.gradient(z, ro)).tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("wrap", [lambda a: a, xp.asarray], ids=["ndarray", "Array"])
def test_a_key_that_was_used_may_be_written_to(wrap):
    x = xp.asarray([1.0, 2.0, 3.0])
    index, mask = wrap(np.asarray([2, 1])), wrap(np.asarray([True, False, True]))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x[index] * xp.asarray([10.0, 1.0])) + xp.sum(x[mask])
        z = xp.zeros(3)
        z[index] = x[:2]
        total = y + xp.sum(z * xp.asarray([100.0, 200.0, 300.0]))
        index[0] = 0
        mask[1] = True
    assert np.asarray(tape.gradient(total, x)).tolist() == [301.0, 201.0, 11.0]


def test_the_indices_of_take_may_be_written_to_afterwards():
    x, index = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([2, 1])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.take(x, index) * xp.asarray([10.0, 1.0]))
        index[0] = 0
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.0, 1.0, 10.0]


def test_the_condition_of_where_may_be_written_to_afterwards():
    x, condition = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([True, False, True])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.where(condition, x * x, x))
        condition[...] = False
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 1.0, 6.0]


def test_two_gradients_never_share_a_buffer():
    a, b = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch([a, b])
        y = a + b
    ga, gb, again = tape.gradient(y, [a, b, a])
    ga += 1.0
    gb *= 5.0
    assert [np.asarray(g).tolist() for g in (ga, gb, again)] == [[2.0] * 2, [5.0] * 2, [1.0] * 2]


def test_a_gradient_that_was_broadcast_can_be_written_to():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x)
    g = tape.gradient(y, x)
    g[0] = 7.0
    g += 1.0
    assert np.asarray(g).tolist() == [8.0, 2.0]


def test_writing_into_a_gradient_does_not_change_the_next_one():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * 1.0
        h[0] = x[1] * x[1]
        y = h + x
    for _ in range(3):
        g = tape.gradient(y, x)
        assert np.asarray(g).tolist() == [1.0, 6.0]
        g[...] = 0.0


def test_the_backward_pass_never_writes_into_the_output_gradients():
    x, seed = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0, 10.0, 100.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        h[0] = x[1]
        h[1:] *= 2.0
    g = tape.gradient(h, x, output_gradients=seed)
    assert np.asarray(g).tolist() == [0.0, 21.0, 200.0]
    assert np.asarray(seed).tolist() == [1.0, 10.0, 100.0]


@pytest.mark.parametrize("shape", [(1, 3), (1, 1, 3), (1, 1), (1,), ()])
def test_a_value_with_leading_axes_of_length_one_fits(shape):
    def program(xp, x, v):
        x[0] = v
        x[1:, :] = v * v
        return x

    check(program, sample(3, 3), sample(*shape, seed=1))


@pytest.mark.parametrize("shape", [(1, 2), (1, 1)])
def test_a_value_with_leading_axes_of_length_one_fits_an_array_of_integers(shape):
    def program(xp, x, v):
        x[xp.asarray([0, 2])] = v
        return x

    check(program, sample(3), sample(*shape, seed=1))


def test_overlapping_parts_are_copied_first():
    # NumPy 2.4.6 does not buffer this overlap: numpy#6272.
    x = xp.asarray(np.arange(9.0))
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        h[0:8:2] = h[0:4]
        y = xp.sum(h * xp.asarray(10.0 ** np.arange(9)))
    assert np.asarray(h).tolist() == [0.0, 1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 7.0, 8.0]
    expected = [1e0, 1e2 + 1e1, 1e4, 1e6 + 1e3, 0.0, 1e5, 0.0, 1e7, 1e8]
    assert np.asarray(tape.gradient(y, x)).tolist() == expected


def test_overlapping_parts_of_an_unfollowed_array_are_copied_first():
    x = xp.asarray(np.arange(9.0))
    x[0:8:2] = x[0:4]
    assert np.asarray(x).tolist() == [0.0, 1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 7.0, 8.0]


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        (slice(None, None, -1), slice(None)),
    ],
)
def test_a_part_shifted_onto_itself(target, source):
    def program(xp, x):
        y = xp.sin(x)
        x[target] = x[source]
        x[target] += x[source]
        v = x[target]
        v *= x[source]
        return x, y

    check(program, sample(6))


@sizes
def test_a_matrix_added_to_its_own_transpose(n):
    def program(xp, x):
        q = xp.reshape(x, (-1,))[: n * n if n < 4 else 36]
        q = xp.reshape(q, (3, 3) if n < 4 else (6, 6))
        q += q.T
        q[...] = q.T * q
        q.T[0] = q[1]
        return x, q

    check(program, sample(n, 4))


def test_keeping_a_small_part_of_a_large_array_does_not_move_the_array():
    base, w = xp.asarray(np.ones(10_000)), xp.asarray([1.0, 2.0])
    memory = base._data
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(w * base[4:6])
        base[4] = 7.0
        base += 1.0
    assert base._data is memory
    assert np.asarray(tape.gradient(y, w)).tolist() == [1.0, 1.0]


def test_keeping_part_of_an_array_under_construction_does_not_move_it():
    base, w = xp.asarray(np.ones((10, 1000))), xp.asarray(np.ones(1000))
    base[0] = 2.0
    memory = base._data
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(w * base[0])
        base[0] = 7.0
    assert base._data is memory
    assert np.asarray(tape.gradient(y, w)).tolist() == [2.0] * 1000


def test_writes_to_what_nobody_keeps_stay_in_place():
    x = xp.asarray(np.ones((50, 4)))
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = xp.zeros((50, 4))
        memory = h._data
        for t in range(50):
            h[t] = x[t] + (h[t - 1] if t else 0.0)
    assert h._data is memory
    assert np.asarray(tape.gradient(h[49], x)).tolist() == [[1.0] * 4] * 50


def test_a_kept_array_is_copied_only_once():
    x = xp.asarray(np.ones(1000))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.sin(x))
        x[0] = 0.0
        memory = x._data
        x[1] = 0.0
    assert x._data is memory
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), np.cos(np.ones(1000)))


# --- numerics, part E ---------------------------------------------------------------------------
def test_a_view_scaled_in_place_scales_the_gradient_of_its_part():
    def function(x):
        y = x * 1
        v = y[:2]
        v *= 10
        return y

    assert gradient_of(function, [1, 2, 3]).tolist() == [10.0, 10.0, 1.0]


def test_a_slice_assigned_into_fresh_zeros():
    def function(x):
        z = xp.zeros(3)
        z[1:] = x[:2] ** 2
        return z * xp.asarray([1.0, 10.0, 100.0])

    assert gradient_of(function, [1, 2, 3]).tolist() == [20.0, 400.0, 0.0]


def test_a_mask_assigned_with_a_constant():
    def function(x):
        z = x * 1
        z[z > 1.5] = 0
        return z

    assert gradient_of(function, [1, 2, 3]).tolist() == [1.0, 0.0, 0.0]


def test_adding_in_place_to_a_result_that_its_rule_keeps():
    def function(x):
        y = xp.exp(x)
        y += 1
        return y

    np.testing.assert_allclose(gradient_of(function, [1, 2]), np.exp([1, 2]), rtol=1e-15)


def test_the_value_and_gradient_of_a_write_with_repeated_integers():
    def function(x):
        z = xp.asarray(np.zeros(3))
        z[xp.asarray([0, 0, 2])] = x
        assert np.asarray(z).tolist() == [2.0, 0.0, 3.0]
        return z

    assert gradient_of(function, [1, 2, 3]).tolist() == [0.0, 1.0, 1.0]


def test_a_square_root_that_is_kept_and_then_written_to():
    v = xp.asarray([4.0, 0.0, 9.0])
    with xp.GradientTape() as tape:
        tape.watch(v)
        scale = xp.sqrt(v)
        scale[v == 0.0] = 1.0
        y = xp.sum(1.0 / scale)
    assert np.asarray(scale).tolist() == [2.0, 1.0, 3.0]
    np.testing.assert_allclose(np.asarray(tape.gradient(y, v)), [-1 / 16, 0.0, -1 / 54])


def test_a_square_root_written_to_through_a_view():
    v = xp.asarray([[4.0, 0.0, 9.0]])
    with xp.GradientTape() as tape:
        tape.watch(v)
        scale = xp.sqrt(v)
        row = scale[0]
        row[row == 0.0] = 1.0
        y = xp.sum(1.0 / scale)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, v)), [[-1 / 16, 0.0, -1 / 54]])


# --- writes through every kind of view ------------------------------------------------------------
VIEWS = {
    "slice": lambda xp, x: x[1:],
    "step": lambda xp, x: x[:, ::2],
    "negative step": lambda xp, x: x[::-1, ::-2],
    "row": lambda xp, x: x[1],
    "column": lambda xp, x: x[:, -1],
    "element": lambda xp, x: x[1, 2, ...],
    "ellipsis": lambda xp, x: x[..., 1:],
    "everything": lambda xp, x: x[()],
    "new axis": lambda xp, x: x[:, None, 1:],
    "transpose": lambda xp, x: x.T,
    "matrix transpose": lambda xp, x: xp.matrix_transpose(x),
    "permuted": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "moved": lambda xp, x: xp.moveaxis(x, 0, 1),
    "flat": lambda xp, x: xp.reshape(x, (-1,)),
    "reshaped": lambda xp, x: xp.reshape(x, (2, -1)),
    "flipped": lambda xp, x: xp.flip(x),
    "flipped along an axis": lambda xp, x: xp.flip(x, axis=1),
    "expanded": lambda xp, x: xp.expand_dims(x, axis=1),
    "squeezed": lambda xp, x: xp.squeeze(x[1:2], axis=0),
    "unstacked": lambda xp, x: xp.unstack(x, axis=1)[2],
    "view of a view": lambda xp, x: x[1:][::-1, 1:].T,
    "reshape of a slice": lambda xp, x: xp.reshape(x[:2], (4, 2))[1:, 0],
    "slice of a flip of a reshape": lambda xp, x: xp.flip(xp.reshape(x, (2, -1, 2)), axis=2)[1, 1:],
    "a copying reshape": lambda xp, x: xp.reshape(x.T, (-1,)),
    "empty": lambda xp, x: x[3:2],
}
views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())


@sizes
@views
def test_a_write_of_a_constant_through(view, n):
    def program(xp, x):
        v = view(xp, x)
        y = xp.sin(v)
        v[...] = 0.25
        return x, v, y, x * xp.sum(v)

    check(program, sample(n + n % 2, 4))


@sizes
@views
def test_a_write_of_a_value_through(view, n):
    def program(xp, x):
        h = x * x
        v = view(xp, h)
        y = v * v
        v[...] = xp.sin(v) * x[0, 0]
        return h, v, y, xp.cos(h)

    check(program, sample(n + n % 2, 4))


@sizes
@views
def test_in_place_operators_through(view, n):
    def program(xp, x, s):
        v = view(xp, x)
        y = xp.sin(x)
        v += 1.0
        v *= s
        z = v * v
        v -= s * 0.5
        v /= 1.0 + s * s
        v **= 2
        return x, v, y, z

    check(program, sample(n + n % 2, 4), sample(seed=1))


@views
def test_a_write_to_the_root_is_seen_through(view):
    def program(xp, x, w):
        v = view(xp, x)
        y = v * 2.0
        x[1] = w
        z = v * v
        x *= x
        u = v * 3.0
        x[:, 1:3] = x[:, 0:2]
        return y, z, u, v, x

    check(program, sample(4, 4), sample(4, seed=1))


@views
def test_a_write_through_a_view_that_only_a_view_holds_alive(view):
    def program(xp, x):
        v = view(xp, x * 2.0)
        v[...] = xp.sin(v) + x[0, 0]
        v *= x[0, 1]
        return v, xp.cos(v)

    check(program, sample(4, 4))


def test_two_views_written_in_turns():
    def program(xp, x, w):
        a, b = x[:3], x[1:]
        a *= w
        b += a[::-1]
        a[1] = b[0] * b[1]
        c = a * b
        b[...] = c
        return x, a, b, c

    check(program, sample(4), sample(3, seed=1))


def test_every_part_of_an_unstacked_array_is_a_view():
    def program(xp, x):
        a, b, c = xp.unstack(x)
        b[...] = a * c
        c += b
        x[0] = c
        return x, a, b, c

    check(program, sample(3, 4))


def test_the_elements_of_an_unstacked_vector_are_copies():
    def program(xp, x):
        a, b, c = xp.unstack(x)
        d = a
        a *= 2.0
        x += b
        return x, a, b, c, d

    check(program, sample(3))


def test_iteration_gives_views():
    def program(xp, x):
        for i, row in enumerate(x):
            row *= 1.0 + i
            row[0] = row[1] * row[2]
        return x

    check(program, sample(3, 4))


def test_a_view_taken_before_the_root_was_replaced_in_place():
    def program(xp, x, w):
        h = x * 1.0
        v = h[1:]
        h += w
        y = v * v
        h *= h
        v[0] = 3.0
        return h, v, y

    check(program, sample(4), sample(4, seed=1))


# --- keys ---------------------------------------------------------------------------------------
KEYS = {
    "integer": 1,
    "negative integer": -1,
    "pair": (1, 2),
    "numpy integer": np.int64(2),
    "slice": slice(1, None),
    "reversed": slice(None, None, -1),
    "slices": (slice(None), slice(0, 3, 2)),
    "ellipsis": ...,
    "ellipsis and integer": (..., 1),
    "empty tuple": (),
    "none": (None, 1),
    "none between": (slice(None), None, slice(1, 3)),
    "mask of rows": np.asarray([True, False, True, False]),
    "mask": sample(4, 4) > 0.9,
    "mask of nothing": np.zeros((4, 4), bool),
    "mask and integer": (np.asarray([True, False, True, False]), 1),
    "mask and slice": (np.asarray([True, False, True, False]), slice(1, 3)),
    "slice and mask": (slice(1, 3), np.asarray([True, False, True, False])),
    "integers": np.asarray([2, 0]),
    "negative integers": np.asarray([-1, 1]),
    "no integers": np.asarray([], dtype=np.int64),
    "repeated integers": np.asarray([2, 0, 2, 2]),
    "the same place by two names": np.asarray([-1, 3, 0]),
    "matrix of integers": np.asarray([[0, 1], [1, 2]]),
    "list": [3, 1],
    "list of booleans": [True, False, False, True],
    "integers twice": (np.asarray([0, 1, 0]), np.asarray([2, 2, 2])),
    "outer integers": (np.asarray([[0], [2]]), np.asarray([[1, 3]])),
    "slice and integers": (slice(1, None), np.asarray([0, 0, 3])),
    "integers and slice": (np.asarray([3, 3, 1]), slice(None, None, 2)),
    "integer and integers": (2, np.asarray([0, 3, 3])),
    "integers and none": (np.asarray([1, 1]), None),
    "ellipsis and integers": (..., np.asarray([1, 0, 1])),
    "nested tuple": ((0, 2),),
    "a boolean": True,
}
keys = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())


@keys
def test_an_array_written_with(key):
    part = sample(4, 4)[key]

    def program(xp, x, v):
        y = x * x
        x[key] = v
        return x, y, xp.sin(x)

    check(program, sample(4, 4), sample(*part.shape, seed=1))


@keys
def test_a_scalar_written_with(key):
    def program(xp, x, v):
        x[key] = v
        x[key] = x[0, 0] * x[1, 1]
        return x, xp.sin(x)

    check(program, sample(4, 4), sample(seed=1))


@keys
def test_added_to_in_place_with(key):
    def program(xp, x, v):
        y = xp.sin(x)
        x[key] += v
        x[key] *= x[0, 0] * 1.0
        return x, y

    check(program, sample(4, 4), sample(seed=1))


@keys
def test_written_through_a_transpose_with(key):
    def program(xp, x, v):
        t = x[::-1].T
        t[key] = v
        t[key] += t[1, 1] * 1.0
        return x, t, xp.sin(t)

    check(program, sample(4, 4), sample(seed=1))


@keys
def test_read_and_written_afterwards_with(key):
    def program(xp, x):
        v = x[key]
        y = xp.sin(v)
        if v.shape:
            v *= 2.0
            v[...] = v * x[0, 0]
        x[1] = 0.5
        return x, v, y

    check(program, sample(4, 4))


def test_a_key_made_of_arrays_of_this_package():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        h[xp.asarray([0, 0]), xp.asarray([1, 1])] = xp.asarray([5.0, 6.0])
        h[xp.argmax(x[:, 0])] *= 3.0
        h[x < 2.0] = x[1, 1]
    assert np.asarray(h).tolist() == [[4.0, 6.0], [9.0, 12.0]]
    assert np.asarray(tape.gradient(h, x)).tolist() == [[0.0, 0.0], [3.0, 4.0]]


def test_an_array_of_integers_used_as_its_own_key():
    x = xp.asarray([2, 0, 1])
    x[x] = xp.asarray([7, 8, 9])
    assert np.asarray(x).tolist() == [8, 9, 7]


# --- 0-d arrays -----------------------------------------------------------------------------------
@pytest.mark.parametrize("key", [(), ...])
def test_a_0d_array_is_written_whole(key):
    def program(xp, x, v):
        h = xp.asarray(x, copy=True)
        alias = h[...]
        y = h * h
        h[key] = v * v
        z = h * x
        h[key] *= v
        return h, alias, y, z

    check(program, np.asarray(0.7), np.asarray(1.3))


def test_in_place_on_a_0d_array_is_seen_through_its_other_names():
    def program(xp, x, v):
        h = xp.reshape(v, (1,)) * 1.0
        s = h[0, ...]
        t = s
        s += x
        s *= s
        return h, s, t

    check(program, np.asarray(0.7), np.asarray(1.3))


def test_a_0d_input_changed_in_place():
    def program(xp, x):
        y = xp.sin(x)
        x += 1.0
        x *= y
        return x, y

    check(program, np.asarray(0.7))


# --- values -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [2, 2.0, True, np.float64(2.0), np.float32(2.0)])
def test_python_and_numpy_scalars_can_be_written(value):
    def program(xp, x):
        x[1] = value
        x[2:] *= value
        return x

    check(program, sample(4))


def test_a_numpy_array_can_be_written_and_changed_afterwards():
    x, value = xp.asarray([1.0, 2.0, 3.0]), np.asarray([5.0, 6.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        h[:2] = value
        w = x[:2] * value
        value[0] = -1.0
        y = xp.sum(h) + xp.sum(w)
    assert np.asarray(h).tolist() == [5.0, 6.0, 9.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [5.0, 6.0, 6.0]


def test_a_broadcast_value_gets_a_summed_gradient():
    def program(xp, x, v, s):
        x[1:] = v
        x[0] = s
        x[:, 2] += s
        return x

    check(program, sample(3, 4), sample(4, seed=1), sample(seed=2))


def test_writing_an_array_to_itself_changes_nothing():
    def program(xp, x):
        h = x * x
        h[1:3] = h[1:3]
        h[...] = h
        h[::-1] = h[::-1]
        h[xp.asarray([0, 1])] = h[xp.asarray([0, 1])]
        v = h[1:]
        v[1] = v[1]
        return h

    check(program, sample(4))


def test_a_value_of_the_wrong_shape_that_resembles_its_target_raises():
    def program(space):
        x = space.asarray(np.arange(6.0).reshape(3, 2))
        x[:, [1]] = x[:, 1]

    with pytest.raises(ValueError, match="broadcast"):
        program(numpy)
    with pytest.raises(ValueError, match="broadcast"):
        program(xp)


def test_a_single_precision_array_takes_double_precision_values():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(3, dtype=xp.float32)
        z[1:] = x[1:] * x[1:]
        z += x
        z[:1] *= x[:1]
        y = xp.sum(z)
    assert z.dtype == xp.float32
    g = tape.gradient(y, x)
    assert g.dtype == xp.float64
    assert np.asarray(g).tolist() == [2.0, 5.0, 7.0]


def test_a_single_precision_source_keeps_its_precision():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(2)
        z[...] = x
        z *= x
        y = xp.sum(z)
    g = tape.gradient(y, x)
    assert g.dtype == xp.float32
    assert np.asarray(g).tolist() == [2.0, 4.0]


def test_a_real_value_written_into_a_complex_array_has_a_real_gradient():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(2, dtype=xp.complex128)
        z[...] = x
        z *= xp.asarray([1j, 2 + 1j])
        y = xp.sum(xp.imag(z * z))
    g = tape.gradient(y, x)
    assert g.dtype == xp.float64
    np.testing.assert_allclose(np.asarray(g), [0.0, 16.0])


def test_a_complex_array_made_by_a_write_alone_is_conjugated_right():
    x = xp.asarray([1.0, 2.0])
    c = xp.asarray([1 + 2j, 3 - 1j])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(2, dtype=xp.complex128)
        z[...] = x
        y = xp.sum(xp.imag(z * c))
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [2.0, -1.0])


def test_complex_values_are_written_with_their_gradients():
    z = xp.asarray([1 + 2j, 3 - 1j, 0.5 + 0j])
    with xp.GradientTape() as tape:
        tape.watch(z)
        h = z * 1.0
        h[:2] = z[1:] * 2j
        v = h[::-1]
        v *= z
        y = xp.sum(xp.real(h))
    # y = Re(2j z1 z2 + 2j z2 z1 + z2 z0), gradients conjugated
    found = np.asarray(tape.gradient(y, z))
    a = np.asarray([1 + 2j, 3 - 1j, 0.5 + 0j])
    np.testing.assert_allclose(found, np.conj([a[2], 4j * a[2], 4j * a[1] + a[0]]))


def test_a_value_written_into_integers_has_no_gradient():
    x = xp.asarray([1.5, 2.5])
    with xp.GradientTape() as tape:
        tape.watch(x)
        n = xp.asarray([0, 0])
        n[...] = x
        y = xp.sum(x * n)
    assert np.asarray(n).tolist() == [1, 2]
    assert np.asarray(tape.gradient(y, x)).tolist() == [1.0, 2.0]


# --- in-place operators ----------------------------------------------------------------------------
OPERATORS = {
    "+=": lambda x, y: x.__iadd__(y),
    "-=": lambda x, y: x.__isub__(y),
    "*=": lambda x, y: x.__imul__(y),
    "/=": lambda x, y: x.__itruediv__(y),
    "**=": lambda x, y: x.__ipow__(y),
}
operators = pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())


@operators
def test_an_array_changed_in_place_by(operator):
    def program(xp, x, y):
        z = xp.sin(x)
        alias = x
        x = operator(x, y)
        assert x is alias
        x = operator(x, 2.0)
        return x, z, xp.cos(x)

    check(program, sample(3, 4), sample(4, seed=1))


@operators
def test_a_view_changed_in_place_by(operator):
    def program(xp, x, y):
        v = x[:, ::-2]
        v = operator(v, y)
        v = operator(v, 3)
        v = operator(v, v)
        return x, v

    check(program, sample(3, 4), sample(2, seed=1))


@operators
def test_an_array_changed_in_place_with_itself_by(operator):
    def program(xp, x):
        x = operator(x, x)
        x = operator(x, x[::-1])
        return x

    check(program, sample(5))


def test_a_matrix_changed_in_place_by_matmul():
    def program(xp, x, y):
        v = x[::-1]
        z = xp.sin(x)
        x @= y
        v @= y.T
        x @= x
        return x, v, z

    check(program, sample(3, 3), sample(3, 3, seed=1))


@pytest.mark.parametrize("kept", [False, True], ids=["", "kept"])
def test_an_unfollowed_matrix_times_its_own_transpose_in_place_has_numpys_bits(kept):
    # NumPy calls another routine of BLAS when both operands are the same memory.
    def program(space, data):
        x = space.asarray(data, copy=True)
        y = x * w if kept and space is xp else x
        x @= x.T
        return x, y

    data, w = np.asfortranarray(sample(12, 12)), xp.asarray(sample(12, 12, seed=1))
    with xp.GradientTape() as tape:
        tape.watch(w)
        found = program(xp, data)
    assert_same_bits(found[:1], program(numpy, data)[:1])


def test_integers_change_in_place_as_in_numpy():
    for space in (numpy, xp):
        n = space.asarray([7, 8, 9])
        v = n[1:]
        n //= 2
        v %= 3
        n <<= 1
        v |= 1
        n ^= 2
        n &= 7
        assert np.asarray(n).tolist() == [4, 1, 1]
        assert np.asarray(v).tolist() == [1, 1]


def test_an_in_place_operator_with_an_unfollowed_array_and_a_followed_operand():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.ones(3)
        v = z[1:]
        z *= x
        v += x[:2]
        y = xp.sum(z * z)
    assert np.asarray(z).tolist() == [1.0, 3.0, 5.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [8.0, 16.0, 10.0]


def test_an_operand_that_answers_itself_is_asked():
    class Stranger:
        def __radd__(self, other):
            return "answered"

    x = xp.asarray([1.0])
    x += Stranger()
    assert x == "answered"


# --- watching a view ---------------------------------------------------------------------------
def test_a_watched_view_has_a_gradient_of_its_own():
    base = xp.asarray([1.0, 2.0, 3.0])
    v = base[1:]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(v * v)
    assert np.asarray(tape.gradient(y, v)).tolist() == [4.0, 6.0]


def test_a_watched_view_counts_what_is_read_through_other_aliases():
    base = xp.asarray([1.0, 2.0, 3.0])
    v, other = base[1:], base[::-1]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(base * base) + xp.sum(other[:2] * xp.asarray([10.0, 20.0]))
    assert np.asarray(tape.gradient(y, v)).tolist() == [24.0, 16.0]


def test_the_gradient_of_a_watched_view_is_that_of_the_value_when_watched():
    base = xp.asarray([1.0, 2.0, 3.0])
    v = base[1:]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(v * v)
        v[0] = 7.0
        base *= 2.0
        y = y + xp.sum(v)
    assert np.asarray(v).tolist() == [14.0, 6.0]
    assert np.asarray(tape.gradient(y, v)).tolist() == [4.0, 8.0]


def test_two_watched_views_of_one_root():
    base = xp.asarray(np.arange(1.0, 7.0))
    a, b = base[:3], base[:2:-1]
    with xp.GradientTape() as tape:
        tape.watch([a, b])
        y = xp.sum(a * b) + xp.sum(base)
    ga, gb = tape.gradient(y, [a, b])
    assert np.asarray(ga).tolist() == [7.0, 6.0, 5.0]
    assert np.asarray(gb).tolist() == [2.0, 3.0, 4.0]


def test_watching_a_view_of_a_watched_root_cuts_nothing():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        v = x[1:]
        tape.watch(v)
        y = xp.sum(v * v) + xp.sum(x)
    gx, gv = tape.gradient(y, [x, v])
    assert np.asarray(gx).tolist() == [1.0, 5.0, 7.0]
    assert np.asarray(gv).tolist() == [5.0, 7.0]


def test_watching_a_view_on_an_inner_tape_keeps_the_outer_one_connected():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as outer:
        outer.watch(x)
        v = x[1:]
        with xp.GradientTape() as inner:
            inner.watch(v)
            y = xp.sum(v * v * v)
        g = inner.gradient(y, v)
        z = xp.sum(g) + y
    assert np.asarray(g).tolist() == [12.0, 27.0]
    assert np.asarray(outer.gradient(z, x)).tolist() == [0.0, 24.0, 45.0]


def test_watching_a_view_twice_counts_once():
    x = xp.asarray([1.0, 2.0, 3.0])
    v = x[1:]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(v * v)
        tape.watch(v)
        z = y + xp.sum(v * 3.0)
    assert np.asarray(tape.gradient(z, v)).tolist() == [7.0, 9.0]


def test_watching_a_view_on_one_tape_does_not_disconnect_another():
    x = xp.asarray([1.0, 2.0, 3.0])
    first = xp.GradientTape()
    with first:
        first.watch(x)
    v = x[1:]
    with xp.GradientTape() as second:
        second.watch(v)
    with first:
        y = xp.sum(x * x)
    assert np.asarray(first.gradient(y, x)).tolist() == [2.0, 4.0, 6.0]


def test_second_order_with_respect_to_a_view():
    base = xp.asarray([1.0, 2.0, 3.0])
    v = base[::-2]
    with xp.GradientTape() as outer:
        outer.watch(v)
        with xp.GradientTape() as inner:
            inner.watch(v)
            y = xp.sum(v**3) + xp.sum(base**2)
        g = inner.gradient(y, v)
    assert np.asarray(g).tolist() == [33.0, 5.0]
    assert np.asarray(outer.gradient(g, v)).tolist() == [20.0, 8.0]


def test_a_source_that_was_written_to_means_the_value_when_watched():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        x[0] = 10.0
        x *= 3.0
        y = y + xp.sum(x)
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 7.0]


def test_an_intermediate_source_means_its_current_value():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        before = xp.sum(h * 100.0)
        h[0] = x[1]
        y = before + xp.sum(h * h)
    assert np.asarray(tape.gradient(y, h)).tolist() == [4.0, 8.0]


# --- failed writes -----------------------------------------------------------------------------
def bad_writes():
    yield "shape", ValueError, lambda x: x.__setitem__(slice(0, 2), xp.asarray([1.0, 2.0, 3.0]))
    yield "index", IndexError, lambda x: x.__setitem__(7, 1.0)
    yield "integers", IndexError, lambda x: x.__setitem__(xp.asarray([0, 7]), 1.0)
    yield "too many", IndexError, lambda x: x.__setitem__((0, 0, 0), 1.0)
    yield "mask", IndexError, lambda x: x.__setitem__(xp.asarray([True, False]), 1.0)
    yield "float key", IndexError, lambda x: x.__setitem__(1.5, 1.0)
    yield "text", TypeError, lambda x: x.__setitem__(0, "text")
    yield "+= shape", ValueError, lambda x: x.__iadd__(xp.asarray([1.0, 2.0]))
    yield "*= larger", ValueError, lambda x: x.__imul__(xp.ones((2, 3)))
    yield "+= complex", TypeError, lambda x: x.__iadd__(xp.asarray([1j, 1j, 1j]))
    yield "*= 1j", TypeError, lambda x: x.__imul__(1j)


FAILURES = list(bad_writes())


@pytest.mark.parametrize("of", [lambda x: x, lambda x: x[::-1]], ids=["root", "view"])
@pytest.mark.parametrize("watched", [True, False], ids=["followed", "unfollowed"])
@pytest.mark.parametrize(
    ("error", "write"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES]
)
def test_a_failed_write_leaves_values_and_tape_intact(error, write, watched, of):
    x, w = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([2.0, 3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch([x, w] if watched else [w])
        y = w * x
        with pytest.raises(error):
            write(of(x))
        assert np.asarray(x).tolist() == [1.0, 2.0, 3.0]
        z = xp.sum(y + x * x)
    gx, gw = tape.gradient(z, [x, w])
    assert np.asarray(gw).tolist() == [1.0, 2.0, 3.0]
    if watched:
        assert np.asarray(gx).tolist() == [4.0, 7.0, 10.0]


def test_integers_refuse_a_float_in_place():
    n = xp.asarray([1, 2, 3])
    for write in (lambda: n.__iadd__(1.5), lambda: n.__itruediv__(2)):
        with pytest.raises(TypeError):
            write()
    assert np.asarray(n).tolist() == [1, 2, 3]


def test_the_program_continues_after_a_failed_write():
    def program(space, x):
        h = x * x
        with pytest.raises(ValueError, match="broadcast"):
            h[0:2] = space.asarray([1.0, 2.0, 3.0])
        h[0:2] = x[1:]
        return h, space.sin(h)

    check(program, sample(3))


# --- loops -----------------------------------------------------------------------------------------
def test_a_scan_of_200_rows_has_the_right_gradient():
    def program(xp, W, b, h0):
        h = xp.zeros_like(xp.broadcast_to(b, (201, 3)))
        h[0] = h0
        for t in range(1, 201):
            h[t] = xp.sin(W @ h[t - 1, :] + b)
        return h

    check(program, sample(3, 3) / 2, sample(3, seed=1), sample(3, seed=2), second=False)


def test_a_scan_in_place_of_200_rows_has_the_right_gradient():
    def program(xp, x, w):
        for t in range(1, 200):
            x[t] += xp.sin(x[t - 1]) * w
            x[t, 0] *= 0.5
        return x

    check(program, sample(200, 2) / 4, sample(2, seed=1), second=False)


def test_a_row_overwritten_200_times():
    def program(xp, x, w):
        row = x[1]
        for _ in range(200):
            row[...] = xp.sin(row * w + x[0])
        return x, row

    check(program, sample(2, 3), sample(3, seed=1) / 2, second=False)


def test_second_order_through_a_scan():
    def program(xp, x, w):
        h = x * 1.0
        for t in range(1, 6):
            h[t] = xp.sin(h[t - 1] * w + h[t])
        return h[-1]

    check(program, sample(6, 2), sample(2, seed=1))


def test_gaussian_elimination_in_place():
    def program(xp, a, b):
        a, b = xp.asarray(a, copy=True), xp.asarray(b, copy=True)
        for i in range(4):
            for j in range(i + 1, 4):
                factor = a[j, i] / a[i, i]
                a[j] -= factor * a[i]
                b[j] -= factor * b[i]
        for i in range(3, -1, -1):
            b[i] -= xp.sum(a[i, i + 1 :] * b[i + 1 :])
            b[i] /= a[i, i]
        return b

    a, b = sample(4, 4) + 3 * np.eye(4), sample(4, seed=1)
    check(program, a, b)
    np.testing.assert_allclose(program(numpy, a, b), np.linalg.solve(a, b))


# --- foreign memory ----------------------------------------------------------------------------
def test_asarray_copies_foreign_data():
    source = np.asarray([1.0, 2.0])
    x = xp.asarray(source)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        source[...] = 9.0
    x[0] = 5.0
    assert source.tolist() == [9.0, 9.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[::-1], lambda x: x[:]])
@sizes
def test_shared_foreign_memory_is_kept_by_copy(view, n):
    source = np.arange(1.0, 4.0 * n + 1)
    before = source.copy()
    x = xp.asarray(source, copy=False)
    with xp.GradientTape() as tape:
        tape.watch(x)
        v = view(x)
        y = xp.sum(v * v)
        source[0] = 9.0
    assert float(x[0]) == 9.0
    assert np.asarray(tape.gradient(y, x)).tolist() == (2 * before).tolist()


def test_a_write_is_seen_in_shared_foreign_memory():
    source = np.asarray([1.0, 2.0, 3.0])
    x, w = xp.asarray(source, copy=False), xp.asarray([2.0, 3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch([x, w])
        y = xp.sum(x * w)
        x[0] = 5.0
        assert source.tolist() == [5.0, 2.0, 3.0]
        x *= w
        assert source.tolist() == [10.0, 6.0, 12.0]
        v = x[1:]
        v += w[:2]
        assert source.tolist() == [10.0, 8.0, 15.0]
        y = y + xp.sum(x)
    gx, gw = tape.gradient(y, [x, w])
    assert np.asarray(gx).tolist() == [2.0, 6.0, 8.0]
    assert np.asarray(gw).tolist() == [1.0 + 5.0 + 1.0, 2.0 + 2.0 + 1.0, 3.0 + 3.0]


def test_memory_shared_with_numpy_after_it_was_kept_stays_shared():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        shared = np.asarray(x, copy=False)
        x[0] = 5.0
        assert shared.tolist() == [5.0, 2.0, 3.0]
        shared[1] = 7.0
        assert np.asarray(x).tolist() == [5.0, 7.0, 3.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 4.0, 6.0]


def test_an_explicit_copy_is_independent_and_connected():
    def program(xp, x):
        c = xp.asarray(x, copy=True)
        c[0] = 5.0
        x[1] = 7.0
        c *= x
        return c, x

    check(program, sample(3))


def test_asarray_of_an_array_is_the_array_itself():
    def program(xp, x):
        a = xp.asarray(x)
        a[0] = x[1] * 2.0
        x *= 3.0
        return a, x

    check(program, sample(3))


# --- nothing shares memory but views --------------------------------------------------------------
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 1.0,
        lambda x: +x,
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.astype(x, xp.float64),
        lambda x: xp.real(x),
        lambda x: xp.stop_gradient(x),
        lambda x: xp.concat([x]),
        lambda x: xp.stack([x])[0],
        lambda x: xp.roll(x, 0, axis=0),
        lambda x: xp.where(xp.asarray(True), x, x),
        lambda x: xp.sum(x, axis=()),
        lambda x: x[[0, 1, 2]],
        lambda x: x[np.asarray([True] * 3)],
        lambda x: xp.take(x, xp.asarray([0, 1, 2]), axis=0),
        lambda x: xp.reshape(x, (4, 3), copy=True),
        lambda x: xp.max(x, axis=0, keepdims=True),
    ],
)
def test_the_result_of_an_op_is_never_an_alias(function):
    x = xp.asarray(sample(3, 4))
    before = np.asarray(x)
    y = function(x)
    y[...] = -1.0
    y += 5.0
    assert np.asarray(x).tolist() == before.tolist()
