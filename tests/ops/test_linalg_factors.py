"""Rules that solve with one matrix again and again factor it once: see ``_storage.factors``."""

import gc
import tracemalloc

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage import factors
from arraytape._storage.decompositions import WHOLE
from arraytape._storage.factors import LEAST, LEAST_KNOWN, MOST, TABLE
from helpers.factorings import counted

pytest.importorskip("scipy")
la = xp.linalg
N = LEAST


def drawn(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def regular(shape=(N, N), dtype=np.float64, seed=0):
    return drawn(shape, dtype, seed) / 4.0 + 4.0 * np.eye(N, dtype=dtype)


def definite(shape=(N, N), dtype=np.float64, seed=0):
    """Hermitian to the last bit."""
    x = drawn(shape, dtype, seed)
    x = x @ adjoint(x) / N + np.eye(N, dtype=dtype)
    return (x + adjoint(x)) / 2.0


def squares(x):
    return xp.sum(xp.real(x * xp.conj(x)))  # abs has no second derivative at 0


def log_det(x):
    return xp.sum(la.slogdet(x).logabsdet)


B = drawn((N, 2), seed=1)

# Name -> function, its argument, and what a gradient factors; a stack of two takes twice as many
# eliminations of ours, and NumPy's functions count once.
OPS = {
    "solve": (lambda K: squares(la.solve(K, xp.asarray(B))), regular, "1 elimination, 1 kept"),
    "solves": (
        lambda K: squares(la.solve(K, la.solve(K, xp.asarray(B)))) + log_det(K),
        regular, "3 elimination, 1 kept",
    ),
    "inv": (lambda K: squares(la.inv(K)), regular, "1 elimination"),
    "slogdet": (lambda K: log_det(K) ** 2, regular, "1 elimination, 1 kept"),
    "cholesky": (lambda K: squares(la.cholesky(K) ** 2), definite, "1 cholesky"),
    "upper": (lambda K: squares(la.cholesky(K, upper=True) ** 2), definite, "1 cholesky"),
    "log det": (
        lambda K: xp.sum(xp.log(xp.real(la.diagonal(la.cholesky(K))))), definite, "1 cholesky",
    ),
    "cholesky, solve": (
        lambda K: squares(la.cholesky(K)) + squares(la.solve(K, xp.asarray(B))),
        definite, "1 cholesky, 1 elimination",
    ),
    "solves by triangles": (
        lambda K: (lambda L: squares(la.solve(xp.matrix_transpose(L), la.solve(L, xp.asarray(B)))))(
            la.cholesky(K)
        ),
        definite, "1 cholesky, 2 elimination",
    ),
    "eigh": (lambda K: xp.sum(la.eigh(K)[0] ** 3), definite, "1 eigh"),
    "eigh, eigvalsh": (
        lambda K: xp.sum(la.eigh(K)[0] ** 2) + xp.sum(la.eigvalsh(K) ** 3),
        definite, "1 eigh, 1 eigvalsh",
    ),
    "svd": (lambda K: xp.sum(la.svd(K)[1] ** 3), regular, "1 svd"),
    "svd, svdvals": (
        lambda K: xp.sum(la.svd(K)[1] ** 2) + xp.sum(la.svdvals(K) ** 3),
        regular, "1 svd, 1 svdvals",
    ),
    "eig": (lambda K: xp.sum(xp.abs(la.eig(K)[0])), regular, "1 eig, 1 kept"),
    "qr": (lambda K: squares(la.qr(K)[1] ** 2), regular, "1 qr"),
}  # fmt: skip
CASES = pytest.mark.parametrize("name", OPS)
# But for those whose second derivative takes another look at the values, or a gap apart.
TWICE = [name for name in OPS if name not in ("eigh, eigvalsh", "svd, svdvals", "eig")]
STACKS = pytest.mark.parametrize("stack", [(), (2,)], ids=["matrix", "stack"])


def in_words(calls):
    kept = {"kept": calls.pop("kept elimination", 0)}
    return ", ".join(f"{n} {name}" for name, n in [*sorted(calls.items()), *kept.items()] if n)


def expected(name, stack):
    said = OPS[name][2]
    return said.replace("1 kept", "2 kept") if stack else said


@CASES
@STACKS
def test_a_gradient_factors_no_matrix_twice(name, stack, monkeypatch):
    function, make, _ = OPS[name]
    x = xp.asarray(make((*stack, N, N)))
    calls = counted(monkeypatch)
    xp.grad(function)(x)
    assert in_words(calls) == expected(name, stack)


@pytest.mark.parametrize("name", TWICE)
@STACKS
def test_nor_does_a_second_derivative(name, stack, monkeypatch):
    function, make, _ = OPS[name]
    x = xp.asarray(make((*stack, N, N)))
    calls = counted(monkeypatch)
    xp.hvp(function, (x,), (xp.asarray(make((*stack, N, N), seed=2)),))
    assert in_words(calls) == expected(name, stack)


def test_a_determinants_gradient_factors_once(monkeypatch):
    calls = counted(monkeypatch)
    xp.grad(la.det)(xp.asarray(regular() / 4.0))
    assert in_words(calls) == "1 elimination, 1 kept"


def test_later_gradients_of_a_persistent_tape_factor_no_more(monkeypatch):
    x = xp.asarray(regular())
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = la.solve(x, xp.asarray(B))
    calls = counted(monkeypatch)
    for target in (y[0, 0], y[1, 1]):
        tape.gradient(y, x, output_gradients=xp.ones_like(y) * target)
    assert in_words(calls) == "1 kept"


def test_a_jacobian_factors_once(monkeypatch):
    x = xp.asarray(regular())
    calls = counted(monkeypatch)
    xp.jacobian(lambda x: la.solve(x, xp.asarray(B))[:3, 0])(x)
    assert in_words(calls) == "1 elimination, 1 kept"


# --- right derivatives --------------------------------------------------------------------------
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32, np.complex64])


def without_factors(monkeypatch):
    monkeypatch.setattr(factors, "libraries", lambda: None)


def assert_near(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        size = np.max(np.abs(y)) * (
            1e-3 if x.dtype.itemsize * (1 + (x.dtype.kind != "c")) < 16 else 1e-9
        )
        np.testing.assert_allclose(x, y, rtol=0.0, atol=size)


@CASES
@STACKS
@DTYPES
def test_derivatives_are_those_by_numpys_functions_alone(name, stack, dtype, monkeypatch):
    function, make, _ = OPS[name]
    x = xp.asarray(make((*stack, N, N), dtype))
    v = xp.asarray(make((*stack, N, N), dtype, seed=2))
    orders = [lambda: xp.grad(function)(x)]
    if dtype is np.float64:
        orders.append(lambda: xp.jvp(function, (x,), (v,))[1])
        orders += [lambda: xp.hvp(function, (x,), (v,))[0]] * (name in TWICE)
    found = [order() for order in orders]
    without_factors(monkeypatch)
    assert_near(found, [order() for order in orders])


@pytest.mark.parametrize("name", TWICE)
@STACKS
def test_second_derivatives_in_complex_numbers(name, stack, monkeypatch):
    function, make, _ = OPS[name]
    x, v = (xp.asarray(make((*stack, N, N), np.complex128, seed=seed)) for seed in (0, 2))
    found = xp.hvp(function, (x,), (v,))[0]
    without_factors(monkeypatch)
    assert_near([found], [xp.hvp(function, (x,), (v,))[0]])


@pytest.mark.parametrize(
    "name", ["solve", "solves", "slogdet", "cholesky", "cholesky, solve", "qr"]
)
def test_a_gradient_is_the_slope_along_a_line(name):
    function, make, _ = OPS[name]
    x, v = make(), definite(seed=3) if make is definite else drawn((N, N), seed=3)
    slope = np.sum(np.asarray(xp.grad(function)(xp.asarray(x))) * v)
    h = 1e-5
    ends = [float(function(xp.asarray(x + s * h * v))) for s in (-1.0, 1.0)]
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / (2.0 * h), rtol=1e-6)


# --- of any kind of matrix, of any size ---------------------------------------------------------------
def definite_of(x):
    n = x.shape[-1]
    x = x @ adjoint(x) / n + np.eye(n)
    return (x + adjoint(x)) / 2.0


def one_element(n):
    return np.arange(n * n).reshape(n, n) == 5 * n + 7


def indefinite(x):
    x = definite_of(x) + 4.0 * np.diag((-1.0) ** np.arange(x.shape[-1]))
    return (x + adjoint(x)) / 2.0


def lower(x):
    return np.tril(x) / x.shape[-1] + 2.0 * np.eye(x.shape[-1])


# Name -> a matrix of this kind from any, and whether it has a Cholesky factor.
KINDS = {
    "general": (lambda x: x / 4.0 + 4.0 * np.eye(x.shape[-1]), False),
    "definite": (definite_of, True),
    "definite but for an element": (
        lambda x: definite_of(x) + 0.5 * one_element(x.shape[-1]),
        False,
    ),
    "indefinite": (indefinite, False),
    "lower": (lower, False),
    "upper": (lambda x: adjoint(lower(x)), False),
    "diagonal": (lambda x: np.eye(x.shape[-1]) * (2.0 + np.abs(x)), True),
}
# What is asked of a matrix K and a right-hand side; real numbers of both signs.
QUESTIONS = {
    "solve": lambda K, b: la.solve(K, b),
    "solve, transposed": lambda K, b: la.solve(xp.matrix_transpose(K), b),
    "solve twice": lambda K, b: la.solve(K, la.solve(K, b)),
    "slogdet": lambda K, b: la.slogdet(K).logabsdet,
    "inv": lambda K, b: la.inv(K) @ b,
    "quadratic": lambda K, b: xp.matrix_transpose(b) @ la.solve(K, b),
}
OF_CHOLESKY = {
    "log det": lambda L, b: xp.log(xp.real(la.diagonal(L))),
    "against it": lambda L, b: -(xp.real(la.diagonal(L)) ** 2),
    "of both signs": lambda L, b: xp.sin(3.0 * xp.arange(L.shape[-1])) * xp.real(la.diagonal(L)),
    "all of it": lambda L, b: xp.abs(L) ** 2 * (1.0 + xp.abs(L)),
    "white": lambda L, b: la.solve(L, b),
    "weights": lambda L, b: la.solve(xp.matrix_transpose(L), la.solve(L, b)),
    "inverse": lambda L, b: la.inv(L) @ b,
}


@pytest.mark.parametrize("seed", range(48))
def test_gradients_of_random_questions_are_those_by_numpy(seed, monkeypatch):
    """Kind of matrix, size, stack, dtype and what is asked are drawn; to 1e-12 of the largest."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([LEAST_KNOWN, 21, LEAST - 1, WHOLE, WHOLE + 1, 100, 2 * WHOLE + 3]))
    stack = () if rng.random() < 0.7 else (2,)
    dtype = rng.choice([np.float64, np.complex128])
    make, has_factor = KINDS[str(rng.choice(list(KINDS)))]
    data = make(drawn((*stack, n, n), dtype, seed))
    sides = drawn((n, int(rng.integers(1, 4))), dtype, seed + 1)
    asked = list(rng.choice(list(QUESTIONS), size=2, replace=False))
    of_factor = list(rng.choice(list(OF_CHOLESKY), size=2, replace=False)) if has_factor else []
    factor_first = rng.random() < 0.5

    def function(K, b):
        def of_cholesky():
            if not of_factor:
                return 0.0
            L = la.cholesky(K)
            return sum(xp.sum(xp.real(OF_CHOLESKY[name](L, b))) for name in of_factor)

        before = of_cholesky() if factor_first else 0.0
        total = sum(xp.sum(xp.real(QUESTIONS[name](K, b))) for name in asked) + before
        return total if factor_first else total + of_cholesky()

    def gradients():
        return xp.grad(function, argnums=(0, 1))(xp.asarray(data), xp.asarray(sides))

    found = [np.asarray(g) for g in gradients()]
    without_factors(monkeypatch)
    for g, wanted in zip(found, gradients(), strict=True):
        wanted = np.asarray(wanted)
        np.testing.assert_allclose(g, wanted, rtol=0.0, atol=1e-12 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("question", ["solve", "slogdet"])
def test_a_definite_matrix_is_factored_by_cholesky(question, monkeypatch):
    for make, one in (
        (definite, "1 cholesky, 1 elimination, 1 kept"),
        (regular, "1 elimination, 1 kept"),
    ):
        x = xp.asarray(make())
        calls = counted(monkeypatch)
        xp.grad(lambda K: xp.sum(QUESTIONS[question](K, xp.asarray(B))))(x)
        assert in_words(calls) == one
        monkeypatch.undo()


def test_a_hermitian_matrix_that_is_not_definite_goes_by_elimination(monkeypatch):
    data = definite()
    data[0, 0] = 1e-3  # positive, but not definite
    calls = counted(monkeypatch)
    found = np.asarray(xp.grad(lambda K: la.slogdet(K).logabsdet)(xp.asarray(data)))
    assert in_words(calls) == "1 cholesky, 1 elimination, 1 kept"  # by Cholesky in vain
    np.testing.assert_allclose(
        found, np.linalg.inv(data).T, rtol=0.0, atol=1e-12 * np.abs(found).max()
    )


@pytest.mark.parametrize("shapes", [((N, N), (N,)), ((2, N, N), (N,)), ((N, N), (3, N, 2)),
                                    ((2, 1, N, N), (3, N, 1))])  # fmt: skip
@pytest.mark.parametrize("kinds", ["fc", "cf"])
def test_systems_that_broadcast_or_mix_dtypes(shapes, kinds, monkeypatch):
    dtypes = {"f": np.float64, "c": np.complex128}
    a = xp.asarray(regular(shapes[0], dtypes[kinds[0]]))
    b = xp.asarray(drawn(shapes[1], dtypes[kinds[1]], seed=4))

    def gradients():
        with xp.GradientTape() as tape:
            tape.watch([a, b])
            y = squares(la.solve(a, b))
        return tape.gradient(y, [a, b])

    found = gradients()
    without_factors(monkeypatch)
    assert_near(found, gradients())


def test_vmapped_gradients_are_those_of_each(monkeypatch):
    matrices, sides = regular((3, N, N)), drawn((3, N))

    def gradient(a, b):
        return xp.grad(lambda a: squares(la.solve(a, b)) + la.slogdet(a).logabsdet)(a)

    one = xp.asarray(matrices[0])
    found = [
        xp.vmap(gradient)(xp.asarray(matrices), xp.asarray(sides)),
        xp.vmap(lambda b: gradient(one, b))(xp.asarray(sides)),
    ]
    without_factors(monkeypatch)
    each = [[gradient(xp.asarray(a), xp.asarray(b)) for a, b in zip(m, sides, strict=True)]
            for m in (matrices, [matrices[0]] * 3)]  # fmt: skip
    assert_near(found, [np.stack([np.asarray(g) for g in gs]) for gs in each])


@pytest.mark.parametrize("make", [regular, definite])
def test_values_on_a_tape_are_numpys_to_the_last_bit(make):
    data = make()
    x = xp.asarray(data)
    with xp.GradientTape() as tape:
        tape.watch(x)
        found = [
            la.solve(x, xp.asarray(B)),
            la.inv(x),
            la.det(x),
            *la.slogdet(x),
            *la.eigh(x),
            *la.svd(x),
        ]
        if make is definite:
            found.append(la.cholesky(x))
            found.append(la.solve(x, xp.asarray(B)))
    n = np.linalg
    wanted = [
        n.solve(data, B),
        n.inv(data),
        n.det(data),
        *n.slogdet(data),
        *n.eigh(data),
        *n.svd(data),
    ]
    wanted += [n.cholesky(data), n.solve(data, B)] if make is definite else []
    for y, w in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(y), w)


def test_a_singular_matrix_has_an_infinite_slope(monkeypatch):
    data = regular()
    data[3] = 0.0
    found = xp.grad(lambda x: la.slogdet(x).logabsdet)(xp.asarray(data))
    assert np.isinf(np.asarray(found)).all()


def test_a_nearly_singular_determinant_goes_by_singular_values(monkeypatch):
    data = regular() / 4.0
    data[3] = data[4] + 1e-9 * data[5]
    found = xp.grad(la.det)(xp.asarray(data))
    without_factors(monkeypatch)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(xp.grad(la.det)(xp.asarray(data))))


# --- never those of another matrix -------------------------------------------------------------------
def written(x):
    x[0, 0] += 5.0


def through_a_view(x):
    x[:2, :2][0, 0] = 7.0


def through_numpy(x):
    np.asarray(x)[0, 0] = 9.0


@pytest.mark.filterwarnings("ignore:write to the Array itself:arraytape.TapeWarning")
@pytest.mark.parametrize("write", [written, through_a_view, through_numpy])
@pytest.mark.parametrize("between", ["cholesky", "solve", "eigvalsh"])
def test_a_matrix_that_was_written_to_is_factored_again(write, between, monkeypatch):
    data = definite()

    def gradient():
        x, b = xp.asarray(data), xp.asarray(B)
        K = x + 0.0
        with xp.GradientTape(persistent=True) as tape:
            tape.watch([x, b])
            K = x * 1.0
            first = (
                la.cholesky(K) if between == "cholesky" else la.eigh(K)[0] + la.solve(K, b)[:, 0]
            )
            if between == "solve":  # its factors are known from here on
                with tape.stop_recording():
                    tape.gradient(first, x)
            write(K)
            second = squares(la.solve(K, b)) + la.slogdet(K).logabsdet + xp.sum(la.eigvalsh(K) ** 2)
            total = squares(first) + second
        return tape.gradient(total, [x, b])

    with np.errstate(all="ignore"):
        found = gradient()
        without_factors(monkeypatch)
        monkeypatch.setattr(factors, "remember", lambda *_: None)
        assert_near(found, gradient())


def test_a_factor_that_was_written_to_is_no_factor_any_more(monkeypatch):
    data = definite()

    def gradient():
        x = xp.asarray(data)
        with xp.GradientTape() as tape:
            tape.watch(x)
            L = la.cholesky(x)
            L[0, 5] = 3.0  # no triangle any more
            y = squares(la.solve(x, xp.asarray(B))) + squares(la.solve(L, xp.asarray(B)))
        return [tape.gradient(y, x)]

    found = gradient()
    without_factors(monkeypatch)
    assert_near(found, gradient())


def test_a_cholesky_factor_serves_no_matrix_whose_other_triangle_differs(monkeypatch):
    data = definite()
    data[0, 5] += 1.0  # cholesky does not read it, solve does

    def gradient():
        x = xp.asarray(data)
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = squares(la.cholesky(x)) + squares(la.solve(x, xp.asarray(B)))
        return [tape.gradient(y, x)]

    found = gradient()
    without_factors(monkeypatch)
    assert_near(found, gradient())


def test_gradients_of_a_traced_function_follow_their_argument(monkeypatch):
    """A replayed program writes to memory that stays: nothing is known about it."""
    gradient = xp.function(xp.grad(lambda K: la.slogdet(K * 1.0).logabsdet + la.det(K * 0.1)))
    for seed in range(6):
        data = regular(seed=seed)
        found = np.asarray(gradient(xp.asarray(data)))
        wanted = adjoint(np.linalg.inv(data)) * (1.0 + np.linalg.det(0.1 * data))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


# --- memory -------------------------------------------------------------------------------------
def test_factors_go_with_the_matrix():
    def step():
        x = xp.asarray(definite())
        with xp.GradientTape() as tape:
            tape.watch(x)
            K = x * 1.0
            y = (
                squares(la.solve(K, xp.asarray(B)))
                + la.slogdet(K).logabsdet
                + squares(la.cholesky(K))
            )
        tape.gradient(y, x)

    step()
    gc.collect()
    before = len(TABLE)
    gc.disable()
    try:
        tracemalloc.start()
        step()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            step()
        grown = tracemalloc.get_traced_memory()[0] - start
        tracemalloc.stop()
    finally:
        gc.enable()
    assert len(TABLE) <= before
    assert grown < 8 * N * N / 2  # not even one matrix


def test_a_cholesky_record_does_not_hold_its_matrix():
    x = xp.asarray(definite())
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = la.cholesky(x * 1.0)
        matrices = [known.data() for known in TABLE.values()]
        assert any(data is not None and data.shape == (N, N) for data in matrices) is True
        del matrices
        held = [known for known in TABLE.values() if known.results and known.data() is not None]
    assert held == []
    assert tape.gradient(y, x) is not None


def test_only_so_many_matrices_that_live_on_have_factors():
    kept = [xp.asarray(regular(seed=seed)) for seed in range(MOST + 4)]
    for x in kept:
        xp.grad(lambda b, x=x: squares(la.solve(x, b)))(xp.asarray(B))
    own = [known for known in TABLE.values() if known.factors]
    assert 0 < len(own) <= MOST


def test_small_matrices_are_solved_by_numpy(monkeypatch):
    calls = counted(monkeypatch)
    n = LEAST - 1
    xp.grad(lambda x: squares(la.solve(x, xp.asarray(B[:n]))))(xp.asarray(regular()[:n, :n]))
    assert in_words(calls) == "2 elimination"


def test_unless_their_cholesky_factor_was_recorded(monkeypatch):
    n = LEAST_KNOWN
    calls = counted(monkeypatch)
    xp.grad(lambda K: squares(la.cholesky(K)) + squares(la.solve(K, xp.asarray(B[:n]))))(
        xp.asarray(definite()[:n, :n])
    )
    assert in_words(calls) == "1 cholesky, 1 elimination"


def test_without_scipy_numpy_factors(monkeypatch):
    without_factors(monkeypatch)
    calls = counted(monkeypatch)
    xp.grad(OPS["solve"][0])(xp.asarray(regular()))
    assert in_words(calls) == "2 elimination"


@pytest.mark.parametrize("n", [WHOLE, 100, 200])
@pytest.mark.parametrize("noise", [1e-4, 1e-8, 1e-11])
def test_near_a_singular_matrix_no_more_digits_are_lost_than_must_be(n, noise, monkeypatch):
    """A kernel of points that are near each other, as Gaussian processes have it."""
    t = np.sort(np.random.default_rng(0).uniform(size=n))
    K = xp.asarray(np.exp(-50.0 * (t[:, None] - t) ** 2) + noise * np.eye(n))
    y = xp.asarray(np.sin(9.0 * t))

    def by_triangle(K):
        L = la.cholesky(K)
        return 0.5 * xp.sum(la.solve(L, y) ** 2) + xp.sum(xp.log(la.diagonal(L)))

    def by_system(K):
        return 0.5 * xp.sum(y * la.solve(K, y)) + 0.5 * la.slogdet(K).logabsdet

    found = [np.asarray(xp.grad(f)(K)) for f in (by_triangle, by_system)]
    without_factors(monkeypatch)
    wanted = np.asarray(xp.grad(by_triangle)(K))
    wanted = (wanted + wanted.T) / 2.0
    lost = 20.0 * np.finfo(float).eps * np.linalg.cond(np.asarray(K))
    for g in found:
        g = (g + g.T) / 2.0
        assert np.max(np.abs(g - wanted)) <= lost * np.max(np.abs(wanted))


@pytest.mark.parametrize("size", [70, 300])
def test_what_overflows_above_the_diagonal_is_left_out_of_the_rule_of_cholesky(size):
    lower = 1e50 * (np.eye(size) + np.tri(size, k=-1) / size)
    g = np.random.default_rng(0).normal(size=(size, size))
    expected = factors.through_cholesky(np.tril(g), lower)
    with np.errstate(over="ignore", invalid="ignore"):
        found = factors.through_cholesky(g + 1e300 * np.tri(size, k=-1).T, lower)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * abs(expected).max())
