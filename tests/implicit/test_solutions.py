"""Nestings, dtypes, solvers of one's own, and what surrounds a solution: tapes, vmap, replay."""

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import storages

implicit = xp.implicit
EIGHT = xp.asarray(8.0)


def cube(x, a):
    return x**3 - a


def cube_root(a):
    return implicit.root(cube, 1.0, a)


def close(found, wanted, rtol=1e-13):
    assert np.allclose(np.asarray(found), np.asarray(wanted), rtol=rtol, atol=rtol)


# --- what is solved for, and by what ------------------------------------------------------------------
def test_unknowns_and_parameters_may_be_nestings():
    def F(x, p, scale):
        return {"u": x["u"] ** 2 - p["a"], "w": [x["w"][0] - x["u"] * p["b"] * scale]}

    start = {"u": 1.0, "w": [np.ones(2)]}
    p = {"a": EIGHT, "b": xp.ones(2)}
    found = implicit.root(F, start, p, 2.0)
    close(found["u"], 8.0**0.5)
    close(found["w"][0], 2.0 * 8.0**0.5 * np.ones(2))
    J = xp.jacobian(lambda p: implicit.root(F, start, p, 2.0))(p)
    close(J["u"]["a"], 0.5 * 8.0**-0.5)
    close(J["w"][0]["a"], 8.0**-0.5 * np.ones(2))
    close(J["w"][0]["b"], 2.0 * 8.0**0.5 * np.eye(2))


def test_complex_unknowns_and_parameters():
    w = xp.asarray(3.0 + 4.0j)
    root = lambda w: implicit.root(lambda z, w: z**2 - w, 1.0 + 1.0j, w)  # noqa: E731
    close(root(w), 2.0 + 1.0j)
    for part in (xp.real, xp.imag):
        close(xp.grad(lambda w: part(root(w)))(w), xp.grad(lambda w: part(xp.sqrt(w)))(w))  # noqa: B023
    close(
        xp.grad(lambda a: xp.imag(implicit.root(lambda z, a: z**2 + a, 1j, a)))(EIGHT),
        0.125 * 2**0.5,
    )


def test_single_precision_stays_what_it_is():
    a = xp.asarray(8.0, dtype=xp.float32)
    x0 = xp.asarray(1.0, dtype=xp.float32)
    x = implicit.root(cube, x0, a)
    assert (x.dtype, float(x)) == (xp.float32, 2.0)
    slope = xp.grad(lambda a: implicit.root(cube, x0, a))(a)
    assert slope.dtype == xp.float32
    assert abs(float(slope) * 12.0 - 1.0) < 3e-7
    assert abs(float(xp.hessian(lambda a: implicit.root(cube, x0, a))(a)) * 144.0 + 1.0) < 3e-6
    # Beside parameters in double precision, and the other way round.
    wide = xp.grad(lambda a: xp.astype(implicit.root(cube, x0, a), xp.float64))(EIGHT)
    assert wide.dtype == xp.float64
    assert abs(float(wide) * 12.0 - 1.0) < 3e-7
    assert xp.grad(lambda a: xp.astype(cube_root(a), xp.float64))(a).dtype == xp.float32


def test_half_precision_is_solved_in_single():
    a = xp.asarray(8.0, dtype=xp.float16)
    solution = lambda a: implicit.root(cube, xp.asarray(1.0, dtype=xp.float16), a)  # noqa: E731
    assert (solution(a).dtype, float(solution(a))) == (xp.float16, 2.0)
    assert xp.grad(solution)(a).dtype == xp.float16
    close(xp.grad(solution)(a), 1.0 / 12.0, 1e-3)


def test_slow_iterations_end_at_the_fixed_point():
    slow = lambda a: implicit.fixed_point(lambda x, a: x - 1e-3 * (x**3 - a), 1.0, a)  # noqa: E731
    close(slow(EIGHT), 2.0)
    close(xp.grad(slow)(EIGHT), 1.0 / 12.0)


def test_no_unknowns():
    x = implicit.root(cube, xp.zeros((0, 2)), EIGHT)
    assert x.shape == (0, 2)
    assert float(xp.grad(lambda a: xp.sum(implicit.root(cube, xp.zeros((0, 2)), a)))(EIGHT)) == 0.0
    for matrix_free in (False, True):
        lowest = implicit.minimum(lambda x: xp.sum(x**2), xp.zeros((0,)), matrix_free=matrix_free)
        assert lowest.shape == (0,)
    assert implicit.root(lambda x: x, []) == []


def test_the_start_has_no_gradient():
    x0, a = xp.asarray(1.0), xp.asarray(8.0)
    with xp.GradientTape() as tape:
        tape.watch([x0, a])
        x = implicit.root(cube, x0, a)
    by_start, by_a = tape.gradient(x, [x0, a])
    assert by_start is None
    close(by_a, 1.0 / 12.0)


def test_parameters_may_be_variables_and_constants():
    v, n = xp.Variable(4.0), np.asarray([2.0, 3.0])
    with xp.GradientTape() as tape:
        x = implicit.root(lambda x, a, n, k, s: x**2 - a * n * k, xp.ones(2), v, n, 3, "unused")
        y = xp.sum(x)
    close(tape.gradient(y, v), np.sum(np.sqrt(3.0 * n / 4.0) / 2.0))


def test_functions_may_write_to_their_arguments():
    def F(x, a):
        x *= x
        a += 1.0
        x -= a
        return x

    a = xp.asarray([3.0, 8.0])
    close(
        xp.hessian(lambda a: xp.sum(implicit.root(F, xp.ones(2), a)))(a),
        np.diag([-1 / 32, -1 / 108]),
    )
    assert np.array_equal(np.asarray(a), [3.0, 8.0])


def test_a_solver_of_ones_own_is_not_recorded():
    seen = []

    @implicit.custom_root(cube)
    def solver(x0, a):
        seen.append((type(x0), type(a)))
        return np.cbrt(a)

    assert solver.__name__ == "solver"
    close(xp.grad(lambda a: solver(1.0, a))(EIGHT), 1.0 / 12.0)
    close(xp.hessian(lambda a: solver(xp.asarray(1.0), a))(EIGHT), -1.0 / 144.0)
    assert seen == [(float, np.ndarray), (np.ndarray, np.ndarray)]
    by_arrays = implicit.custom_fixed_point(lambda x, a: a / x**2)(
        lambda x0, a: xp.asarray(a) ** (1 / 3)
    )
    close(xp.grad(lambda a: by_arrays(1.0, a))(EIGHT), 1.0 / 12.0)
    lowest = implicit.custom_minimum(lambda x, a: x**4 / 4.0 - a * x)(lambda x0, a: np.cbrt(a))
    close(xp.grad(lambda a: lowest(1.0, a))(EIGHT), 1.0 / 12.0)


def test_preconditioned_iterations_take_fewer_products():
    n = 60
    diagonal = xp.asarray(10.0 ** np.linspace(0.0, 4.0, n))
    random = np.random.default_rng(0)
    M = random.uniform(-0.1, 0.1, (n, n))
    M = xp.asarray(M + M.T)
    b = xp.asarray(random.normal(size=n))
    wanted = xp.linalg.solve(xp.diag(diagonal) + M, b)

    def operator(x, d):
        return d * x + M @ x

    def solution(d, **settings):
        return implicit.linear_solve(operator, b, d, **settings)

    for symmetric in (True, False):
        settings = {"symmetric": symmetric, "preconditioner": lambda r, d: r / d}
        close(solution(diagonal, **settings), wanted, 1e-9)
        g = xp.grad(lambda d: xp.sum(solution(d, **settings)))(diagonal)  # noqa: B023
        weights = xp.linalg.solve(xp.diag(diagonal) + M, xp.ones(n))
        close(g, -weights * wanted, 1e-9)
    with pytest.raises(implicit.NotASolution):
        solution(diagonal, symmetric=True, maxiter=25)
    solution(diagonal, symmetric=True, maxiter=25, preconditioner=lambda r, d: r / d)


def test_the_preconditioner_of_a_nonsymmetric_system_is_transposed():
    n = 40
    random = np.random.default_rng(1)
    P = xp.asarray(np.eye(n) + np.triu(random.uniform(-0.5, 0.5, (n, n)), 1))
    A = P + xp.asarray(random.uniform(-0.01, 0.01, (n, n)))
    b = xp.asarray(random.normal(size=n))
    before = {"preconditioner": lambda r, A: xp.linalg.solve(P, r), "maxiter": 20}
    f = lambda A: xp.sum(implicit.linear_solve(lambda x, A: A @ x, b, A, **before) ** 2)  # noqa: E731
    close(xp.grad(f)(A), xp.grad(lambda A: xp.sum(xp.linalg.solve(A, b) ** 2))(A), 1e-9)


# --- what surrounds it --------------------------------------------------------------------------------
def test_recompute_grad_solves_again():
    again = xp.recompute_grad(cube_root)
    close(xp.grad(again)(EIGHT), 1.0 / 12.0)
    close(xp.hessian(again)(EIGHT), -1.0 / 144.0)


def test_solutions_nest():
    def inner(y, a):
        return (y - cube_root(a * xp.exp(y))) ** 2 + y**2

    def plain(y, a):
        return (y - (a * xp.exp(y)) ** (1.0 / 3.0)) ** 2 + y**2

    f = lambda h: xp.grad(lambda a: implicit.minimum(h, 0.1, a))(EIGHT)  # noqa: E731
    close(f(inner), f(plain), 1e-11)


def test_functions_that_solve_are_not_replayed_and_say_why():
    slope = xp.function(xp.grad(cube_root))
    with pytest.warns(
        xp.TapeWarning, match=r"not replayed, a solver runs in it \(implicit.root\(cube"
    ):
        found = [slope(EIGHT) for _ in range(3)]
    close(xp.stack(found), 1.0 / 12.0)
    for a in (8.0, 27.0, 8.0, 64.0, 27.0):
        close(slope(xp.asarray(a)), a ** (-2.0 / 3.0) / 3.0)


def test_persistent_tapes_jacobians_and_selections():
    a = xp.asarray([1.0, 8.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(a)
        x = implicit.root(cube, xp.ones(2), a)
        y = xp.where(a > 2.0, x, 0.0)
    close(tape.gradient(y, a), [0.0, 1.0 / 12.0])
    close(tape.jacobian(x, a), np.diag([1.0 / 3.0, 1.0 / 12.0]))


def test_a_failed_call_leaves_everything_as_it_was():
    a = xp.asarray(8.0)
    with xp.GradientTape() as tape:
        tape.watch(a)
        with pytest.raises(ZeroDivisionError):
            implicit.root(cube, 1.0, a, solver=lambda x0, a: 1 / 0)
        y = cube_root(a)
    close(tape.gradient(y, a), 1.0 / 12.0)


def test_forward_mode_by_an_accumulator():
    with xp.ForwardAccumulator(EIGHT, xp.asarray(2.0)) as accumulator:
        x = cube_root(EIGHT)
    close(accumulator.jvp(x), 2.0 / 12.0)


def coupled(a, **settings):
    return implicit.root(lambda x, a: x**3 + 0.1 * xp.sum(x) - a, xp.ones(3), a, **settings)


def test_products_with_vectors_have_the_derivatives_of_the_matrix_to_third_order_and_under_vmap():
    a = xp.asarray([1.0, 8.0, 27.0])

    def third(**settings):
        f = lambda a: xp.sum(coupled(a, **settings) ** 2)  # noqa: E731
        return xp.grad(lambda a: xp.sum(xp.hvp(f, (a,), (xp.ones(3),))[0]))(a)

    close(third(matrix_free=True), third(), 1e-12)
    both = xp.stack([a, 1.1 * a])
    for f in (xp.jacobian, lambda f: xp.hessian(lambda a: xp.sum(f(a) ** 2))):
        found = xp.vmap(f(lambda a: coupled(a, matrix_free=True)))(both)
        close(found, xp.vmap(f(coupled))(both), 1e-12)


def test_examples_share_parameters_and_maps_nest():
    shared = lambda c: xp.sum(  # noqa: E731
        xp.vmap(lambda b: implicit.root(lambda x, b, c: x**3 - b * c, 1.0, b, c))(
            xp.asarray([1.0, 8.0])
        )
    )
    close(xp.grad(shared)(EIGHT), 0.25)
    close(xp.hessian(shared)(EIGHT), -1.0 / 48.0)
    rows = xp.asarray([[1.0, 8.0], [27.0, 64.0]])
    close(xp.vmap(xp.vmap(cube_root))(rows), [[1.0, 2.0], [3.0, 4.0]])
    close(xp.vmap(lambda x0: implicit.root(cube, x0, EIGHT))(xp.asarray([1.0, 3.0])), [2.0, 2.0])
    assert xp.vmap(cube_root)(xp.zeros((0,))).shape == (0,)


@pytest.mark.parametrize("storage", [storages.hostile, storages.frozen, storages.strict])
def test_data_of_other_storages(storage):
    with storages.on(storage()):
        a, W = xp.asarray([1.0, 8.0]), xp.asarray([[0.0, 0.1], [0.0, 0.0]])

        def solution(a, **settings):
            return implicit.root(lambda x, a: x**3 + W @ x - a, xp.ones(2), a, **settings)

        found = xp.jacobian(solution)(a)
        assert found.device == a.device
        second = [
            xp.hessian(lambda a: xp.sum(solution(a, **settings)))(a).to_device("cpu")  # noqa: B023
            for settings in ({}, {"matrix_free": True})
        ]
    x = np.asarray(found.to_device("cpu"))
    W = np.asarray([[0.0, 0.1], [0.0, 0.0]])
    a = xp.asarray([1.0, 8.0])
    plain = lambda a: implicit.root(lambda x, a: x**3 + W @ x - a, xp.ones(2), a)  # noqa: E731
    close(x, xp.jacobian(plain)(a), 1e-12)
    for found in second:
        close(found, xp.hessian(lambda a: xp.sum(plain(a)))(a), 1e-12)
