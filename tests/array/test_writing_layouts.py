"""Writes where a view and its root lie in memory in different orders."""

from helpers.writing import check, sample, sizes


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
def test_a_reshape_view_whose_root_has_another_layout_has_the_right_gradient(n):
    def program(xp, x):
        r = xp.asarray(x.T, copy=True)
        v = xp.reshape(r.T, (4 * n,))
        return xp.sum(v * v), xp.sum(r, axis=0)

    check(program, sample(n, 4))


@sizes
def test_a_reshape_view_whose_root_has_another_layout_writes_to_it(n):
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
