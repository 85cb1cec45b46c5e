"""scipy.linalg inside the context: SciPy's bits, and derivatives of both modes and orders."""

import numpy as np
import pytest
import scipy.linalg

import arraytape as xp
from arraytape import interop, testing
from arraytape.interop._hooks import HOOKS
from arraytape.interop.linalg import REFUSED
from helpers.constant_operands import check_each_operand_alone


# --- inputs: makers that are called with whether they are to be complex, and leading axes ------------
def drawn(shape, seed=0, complex=False):
    random = np.random.default_rng(seed)
    x = random.uniform(-1.0, 1.0, shape)
    return x + 1j * random.uniform(-1.0, 1.0, shape) if complex else x


def any_of(*shape, seed=0):
    """Anything of a shape, stacked."""
    return lambda complex, stack: drawn((*stack, *shape), seed, complex)


def one(*shape, seed=0):
    """Anything of a shape, the same one for a stack."""
    return lambda complex, stack: drawn(shape, seed, complex)


def right_side(columns):
    """A right-hand side of 4 rows: one vector, or stacked matrices."""
    return any_of(4, *columns, seed=1) if columns else one(4, seed=1)


def squares(n=3, *, seed=0):
    """Well-conditioned matrices with separate eigenvalues of positive real part."""
    return plus(any_of(n, n, seed=seed), np.diag(3.0 * np.arange(1.0, n + 1.0)))


def bands(lower, upper):
    """The diagonals of well-conditioned matrices of 4 rows."""
    on_diagonal = np.zeros((lower + upper + 1, 4))
    on_diagonal[upper] = 4.0
    return plus(any_of(lower + upper + 1, 4), on_diagonal)


def plus(maker, more):
    return lambda complex, stack: maker(complex, stack) + more


def times(maker, factor):
    return lambda complex, stack: maker(complex, stack) * factor


dominant = plus(any_of(4), np.asarray([4.0, 0.0, 0.0, 0.0]))


dominant_one = plus(one(4), np.asarray([4.0, 0.0, 0.0, 0.0]))


spread = plus(any_of(4), 3.0 * np.arange(4.0))


def separate(lower):
    """The diagonals of matrices of 4 rows with separate eigenvalues."""
    return plus(bands(*(2, 0) if lower else (0, 2)), 3.0 * np.arange(4.0))


# --- what no choice of phases changes ---------------------------------------------------------------
def hermitian(x):
    """Twice the Hermitian part."""
    return x + xp.matrix_transpose(xp.conj(x)) if isinstance(x, xp.Array) else x + np.conj(x.mT)


def projector(Q):
    return Q @ xp.conj(xp.matrix_transpose(xp.asarray(Q)))


def invariant_svd(U, S, Vh):
    """What no choice of phases changes."""
    k = S.shape[-1]
    return S, (U[..., :k] * S[..., None, :]) @ Vh[..., :k, :], projector(U[..., :1])


def invariant(values, vectors):
    """What no choice of phases changes, of values and some of the vectors."""
    vectors = vectors[..., :1]
    return values, vectors @ xp.conj(xp.matrix_transpose(xp.asarray(vectors)))


# --- the calls -------------------------------------------------------------------------------------
# Matrices of which a triangle is read have noise in the other one.
L = scipy.linalg
SQUARE = [squares()]
TWO = [squares(), any_of(3, 2, seed=1)]
VECTOR = [squares(), one(3, seed=1)]
OTHER = [squares(seed=7)]
TALL = [any_of(4, 3)]
WIDE = [any_of(2, 3)]


def case(function, arrays, **options):
    return function, arrays, options


def unsolved(assume_a, lower=False, transposed=False, arrays=TWO):
    return case(
        lambda a, b: L.solve(a, b, assume_a=assume_a, lower=lower, transposed=transposed), arrays
    )


CASES = {  # by function
    "solve": [
        *[unsolved(s) for s in (None, "gen", "diagonal", "tridiagonal", "banded")],
        *[unsolved(s) for s in ("upper triangular", "lower triangular")],
        *[unsolved(s, lower) for s in ("sym", "her", "pos") for lower in (False, True)],
        unsolved(None, arrays=VECTOR),
        unsolved("pos", arrays=VECTOR),
    ],
    "solve transposed": [
        case(lambda a, b: L.solve(a, b, transposed=True), TWO, complex=False),
        case(lambda a, b: L.solve(a, b, transposed=True, assume_a="gen"), VECTOR, complex=False),
        case(
            lambda a, b: L.solve(a, b, transposed=True, assume_a="upper triangular"),
            TWO,
            complex=False,
        ),
    ],
    "solve by one number": [
        case(lambda a, b: L.solve(a, b), [plus(one(1, 1), 2.0), one(3, 2, seed=1)], stacked=False),
        case(lambda a, b: L.solve(a, b), [plus(one(1, 1), 2.0), one(3, seed=1)], stacked=False),
    ],
    "inv": [
        case(lambda a: L.inv(a), SQUARE),
        *[
            case(lambda a, s=s, lower=lower: L.inv(a, assume_a=s, lower=lower), SQUARE)
            for s in ("gen", "upper triangular", "lower triangular", "sym", "her", "pos")
            for lower in (False, True)
        ],
    ],
    "det": [case(lambda a: L.det(a), SQUARE)],
    "solve_triangular": [
        case(
            lambda a, b, o={"trans": trans, "lower": lower, "unit_diagonal": unit}: (
                L.solve_triangular(a, b, **o)
            ),
            arrays,
        )
        for trans in (0, 1, 2)
        for lower in (False, True)
        for unit in (False, True)
        for arrays in (TWO, VECTOR)
    ],
    "cholesky": [
        case(lambda a, lower=lower: L.cholesky(a, lower=lower), SQUARE) for lower in (False, True)
    ],
    "cho_factor": [
        case(lambda a, lower=lower: L.cho_factor(a, lower=lower)[0], SQUARE)
        for lower in (False, True)
    ],
    "cho_solve": [
        case(lambda a, b, lower=lower: L.cho_solve((a, lower), b), arrays)
        for lower in (False, True)
        for arrays in (TWO, VECTOR)
    ],
    "lu": [
        *[case(lambda a: L.lu(a)[1:], arrays) for arrays in (SQUARE, TALL, WIDE)],
        case(lambda a: L.lu(a, permute_l=True), TALL),
        case(lambda a: L.lu(a, p_indices=True)[1:], WIDE),
    ],
    "lu_factor": [case(lambda a: L.lu_factor(a)[0], arrays) for arrays in (SQUARE, TALL, WIDE)],
    "lu_solve": [
        case(lambda a, b, trans=trans: L.lu_solve(L.lu_factor(a), b, trans=trans), arrays)
        for trans in (0, 1, 2)
        for arrays in (TWO, VECTOR)
    ],
    "pinv": [case(lambda a: L.pinv(a), arrays) for arrays in (SQUARE, TALL, WIDE)],
    "pinvh": [
        case(lambda a, lower=lower: L.pinvh(a, lower=lower), SQUARE) for lower in (True, False)
    ],
    "lstsq": [
        case(
            lambda a, b, driver=driver: L.lstsq(a, b, lapack_driver=driver)[:2],
            [A, any_of(m, *k, seed=1) if k else one(m, seed=1)],
        )
        for driver in ("gelsd", "gelss", "gelsy")
        for A, m in ((TALL[0], 4), (WIDE[0], 2))
        for k in ((), (2,))
        if not (driver == "gelsy" and m == 4)
    ]
    + [case(lambda a: L.lstsq(a, np.ones((*a.shape[:-2], 4, 1)))[3], TALL)],
    "qr": [
        *[
            case(lambda a, p=p: L.qr(a, mode="economic", pivoting=p)[:2], arrays)
            for arrays in (SQUARE, TALL, WIDE)
            for p in (False, True)
        ],
        case(lambda a: results(L.qr(a, mode="r"))[0], TALL),
        case(lambda a: tuple(x[..., :3] for x in L.qr(a)), TALL),
    ],
    "rq": [
        *[case(lambda a: L.rq(a, mode="economic"), arrays) for arrays in (SQUARE, TALL, WIDE)],
        case(lambda a: L.rq(a, mode="r"), WIDE),
    ],
    "svd": [
        *[
            case(lambda a: invariant_svd(*L.svd(a, full_matrices=False)), arrays)
            for arrays in (SQUARE, TALL, WIDE)
        ],
        case(lambda a: invariant_svd(*L.svd(a)), TALL),
        case(lambda a: L.svd(a, compute_uv=False), TALL),
        case(lambda a: L.svd(a, full_matrices=False), TALL, complex=False, stacked=False),
    ],
    "svdvals": [case(lambda a: L.svdvals(a), arrays) for arrays in (SQUARE, TALL, WIDE)],
    "polar": [
        case(lambda a, side=side: L.polar(a, side=side), arrays)
        for side in ("right", "left")
        for arrays in (SQUARE, TALL, WIDE)
    ],
    "null_space": [case(lambda a: projector(L.null_space(a)), WIDE)],
    "orth": [case(lambda a: projector(L.orth(a)), arrays) for arrays in (TALL, SQUARE)],
    "eigh": [
        *[
            case(lambda a, lower=lower: invariant(*L.eigh(a, lower=lower)), SQUARE)
            for lower in (True, False)
        ],
        case(lambda a: L.eigh(a), SQUARE, complex=False, stacked=False),
        case(lambda a: invariant(*L.eigh(a, subset_by_index=[1, 2])), SQUARE),
        case(lambda a: L.eigh(a, subset_by_index=[0, 1]), SQUARE, complex=False),
        case(lambda a: invariant(*L.eigh(a, subset_by_value=[4.0, 7.0])), SQUARE, stacked=False),
        case(lambda a: L.eigh(a, eigvals_only=True), SQUARE),
        case(lambda a, b: invariant(*L.eigh(a, b)), [SQUARE[0], OTHER[0]]),
        case(lambda a, b: L.eigh(a, b, lower=False), [SQUARE[0], OTHER[0]], complex=False),
        case(lambda a, b: invariant(*L.eigh(a, b, subset_by_index=[1, 1])), [SQUARE[0], OTHER[0]]),
    ],
    "eigvalsh": [
        *[
            case(lambda a, lower=lower: L.eigvalsh(a, lower=lower), SQUARE)
            for lower in (True, False)
        ],
        *[
            case(lambda a, b, lower=lower: L.eigvalsh(a, b, lower=lower), [SQUARE[0], OTHER[0]])
            for lower in (True, False)
        ],
    ],
    "eig": [
        case(lambda a: invariant(*L.eig(a)), SQUARE),
        case(lambda a: L.eig(a, right=False), SQUARE),
    ],
    "eigvals": [case(lambda a: L.eigvals(a), SQUARE)],
    "orthogonal_procrustes": [
        case(lambda a, b: L.orthogonal_procrustes(a, b), [TALL[0], any_of(4, 3, seed=5)])
    ],
    **{
        name: [case(lambda a, name=name: getattr(L, name)(a), SQUARE)]
        for name in (
            "cosm",
            "coshm",
            "expm",
            "logm",
            "sinm",
            "sinhm",
            "sqrtm",
            "tanhm",
            "tanm",
            "signm",
        )
    },
    "fractional_matrix_power": [
        case(lambda a, t=t: L.fractional_matrix_power(a, t), SQUARE) for t in (0.3, -0.5, 2)
    ],
    "expm_frechet": [case(lambda a, b: L.expm_frechet(a, b), [SQUARE[0], any_of(3, 3, seed=1)])],
    "solve_sylvester": [
        case(
            lambda a, b, q: L.solve_sylvester(a, b, q),
            [SQUARE[0], squares(2, seed=3), any_of(3, 2, seed=1)],
        )
    ],
    "solve_continuous_lyapunov": [
        case(lambda a, q: L.solve_continuous_lyapunov(a, q), [SQUARE[0], any_of(3, 3, seed=1)])
    ],
    "solve_discrete_lyapunov": [
        case(
            lambda a, q, method=method: L.solve_discrete_lyapunov(a, q, method=method),
            [times(squares(), 0.07), any_of(3, 3, seed=1)],
        )
        for method in (None, "direct", "bilinear")
    ],
    "solve_banded": [
        case(lambda ab, b, lu=lu: L.solve_banded(lu, ab, b), [bands(*lu), right_side(k)])
        for lu in ((1, 1), (2, 1), (0, 2), (1, 0))
        for k in ((), (2,))
    ],
    "solveh_banded": [
        case(
            lambda ab, b, lower=lower: L.solveh_banded(ab, b, lower=lower),
            [bands(*(2, 0) if lower else (0, 2)), right_side(k)],
        )
        for lower in (False, True)
        for k in ((), (2,))
    ],
    "solve_toeplitz": [
        *[case(lambda c, b: L.solve_toeplitz(c, b), [dominant, right_side(k)]) for k in ((), (2,))],
        case(
            lambda c, r, b: L.solve_toeplitz((c, r), b),
            [dominant, any_of(4, seed=2), any_of(4, 2, seed=1)],
        ),
    ],
    "matmul_toeplitz": [
        case(lambda c, x: L.matmul_toeplitz(c, x), [one(4), one(4, *k, seed=1)], stacked=False)
        for k in ((), (2,))
    ]
    + [
        case(
            lambda c, r, x, n=n: L.matmul_toeplitz((c, r), x),
            [one(3), one(n, seed=2), one(n, 2, seed=1)],
            stacked=False,
        )
        for n in (2, 5)
    ],
    "solve_circulant": [
        case(
            lambda c, b: L.solve_circulant(c, b), [dominant_one, one(4, *k, seed=1)], stacked=False
        )
        for k in ((), (2,))
    ],
    "cholesky_banded": [
        case(
            lambda ab, lower=lower: L.cholesky_banded(ab, lower=lower),
            [bands(*(2, 0) if lower else (0, 2))],
        )
        for lower in (False, True)
    ],
    "cho_solve_banded": [
        case(
            lambda cb, b, lower=lower: L.cho_solve_banded((cb, lower), b),
            [bands(*(2, 0) if lower else (0, 2)), right_side(k)],
        )
        for lower in (False, True)
        for k in ((), (2,))
    ],
    "solve_continuous_are": [
        case(
            lambda a, b, q, r: L.solve_continuous_are(a, b, hermitian(q), hermitian(r)),
            [squares(), any_of(3, 2, seed=1), squares(seed=2), squares(2, seed=3)],
        ),
    ],
    "solve_discrete_are": [
        case(
            lambda a, b, q, r: L.solve_discrete_are(a, b, hermitian(q), hermitian(r)),
            [times(squares(), 0.1), any_of(3, 2, seed=1), squares(seed=2), squares(2, seed=3)],
        ),
    ],
    "eig_banded": [
        case(lambda ab, lower=lower: invariant(*L.eig_banded(ab, lower=lower)), [separate(lower)])
        for lower in (False, True)
    ],
    "eigvals_banded": [
        case(lambda ab, lower=lower: L.eigvals_banded(ab, lower), [separate(lower)])
        for lower in (False, True)
    ],
    "eigh_tridiagonal": [
        case(
            lambda d, e: invariant(*L.eigh_tridiagonal(d, e)),
            [spread, any_of(3, seed=1)],
            complex=False,
        ),
    ],
    "eigvalsh_tridiagonal": [
        case(lambda d, e: L.eigvalsh_tridiagonal(d, e), [spread, any_of(3, seed=1)], complex=False),
    ],
    "khatri_rao": [case(lambda a, b: L.khatri_rao(a, b), [any_of(2, 3), any_of(4, 3, seed=1)])],
    "norm": [
        *[
            case(lambda a, ord=ord: L.norm(a, ord), [one(4, 3)], stacked=False)
            for ord in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
        ],
        *[
            case(lambda a, ord=ord: L.norm(a, ord), [one(4)], stacked=False)
            for ord in (None, 1, 2, 3, 0.5, np.inf, -np.inf)
        ],
        *[
            case(
                lambda a, axis=axis, keepdims=keepdims, ord=ord: L.norm(
                    a, ord, axis=axis, keepdims=keepdims
                ),
                TALL,
            )
            for ord in (None, 1, 2)
            for axis in (0, -1, (0, 1), (-1, -2))
            for keepdims in (False, True)
        ],
        case(lambda a: L.norm(a), TALL),
    ],
    "toeplitz": [
        case(lambda c: L.toeplitz(c), [any_of(3)]),
        case(lambda c, r: L.toeplitz(c, r), [any_of(3), any_of(4, seed=1)]),
    ],
    "circulant": [case(lambda c: L.circulant(c), [any_of(3)])],
    "hankel": [
        case(lambda c: L.hankel(c), [one(3)], stacked=False),
        case(lambda c, r: L.hankel(c, r), [one(3), one(4, seed=1)], stacked=False),
    ],
    "block_diag": [
        case(lambda a, b, c: L.block_diag(a, b, c, np.ones((1, 2))), [TALL[0], WIDE[0], one(2)])
    ],
    "companion": [case(lambda a: L.companion(a), [plus(any_of(4), 2.0)])],
    "fiedler": [case(lambda a: L.fiedler(a), [any_of(4)], complex=False)],
    "fiedler_companion": [
        case(lambda a: L.fiedler_companion(a), [plus(one(5), 2.0)], stacked=False)
    ],
    "leslie": [case(lambda f, s: L.leslie(f, s), [any_of(4), any_of(3, seed=1)])],
    "convolution_matrix": [
        case(lambda a, mode=mode: L.convolution_matrix(a, 3, mode), [any_of(4)])
        for mode in ("full", "same", "valid")
    ],
    "diagsvd": [case(lambda s: L.diagsvd(s, 3, 4), [any_of(3)])],
}


def ids():
    for name, calls in CASES.items():
        for i, (function, arrays, options) in enumerate(calls):
            for complex in (False, True):
                for stack in ((), (2,)):
                    if complex and not options.get("complex", True):
                        continue
                    if stack and not options.get("stacked", True):
                        continue
                    which = f"{name}-{i}" + "-complex" * complex + "-stacked" * bool(stack)
                    yield pytest.param(function, arrays, complex, stack, id=which)


def results(found):
    """All results of a call, in a list."""
    return list(found) if isinstance(found, tuple | list) else [found]


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize(("function", "arrays", "complex", "stack"), [*ids()])
@pytest.mark.every(4)
def test_values_are_scipys_bits_and_derivatives_are_right(function, arrays, complex, stack):
    inputs = [make(complex, stack) for make in arrays]
    expected = results(function(*inputs))
    with interop.scipy():
        found = results(function(*[xp.asarray(x) for x in inputs]))
        for y, reference in zip(found, expected, strict=True):
            assert type(y) is xp.Array
            assert (y.shape, y.dtype) == (np.shape(reference), np.asarray(reference).dtype)
            np.testing.assert_array_equal(np.asarray(y), np.asarray(reference))
        testing.check_gradients(
            lambda *xs: testing.total(tuple(results(function(*xs)))), inputs, seeds=1, rtol=1e-6
        )
    after = results(function(*inputs))
    for y, reference in zip(after, expected, strict=True):
        assert type(y) is type(reference)
        np.testing.assert_array_equal(np.asarray(y), np.asarray(reference))


# The solution that the other contributions are made of, or all of them in one.
FREE = {
    ("linalg.solve", "x2"),
    *((f"scipy.linalg.{name}", "b") for name in (
        "cho_solve", "cho_solve_banded", "lstsq", "lu_solve", "solve", "solve_banded",
        "solve_circulant", "solve_toeplitz", "solve_triangular", "solveh_banded",
    )),
    *((f"scipy.linalg.{name}", "q") for name in (
        "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are",
        "solve_discrete_lyapunov", "solve_sylvester",
    )),
    ("scipy.linalg.matmul_toeplitz", "x"),
    *((f"scipy.linalg.{name}_tridiagonal", x) for name in ("eigh", "eigvalsh") for x in "de"),
    *(("scipy.linalg.expm_frechet", x) for x in "AE"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize(
    ("name", "function", "makers"),
    [
        pytest.param(name, function, makers, id=f"{name}-{i}")
        for name, calls in CASES.items()
        for i, (function, makers, _) in enumerate(calls)
        if len(makers) > 1
    ],
)
def test_nothing_goes_back_to_constant_operands(name, function, makers, monkeypatch):
    arrays = [xp.asarray(make(False, ())) for make in makers]
    with interop.scipy():
        check_each_operand_alone(function, arrays, monkeypatch, FREE)


def test_every_function_with_a_rule_has_cases():
    with interop.scipy():
        pass
    hooked = {name.rpartition(".")[2] for name in HOOKS if name.startswith("scipy.linalg.")}
    tested = {name.partition(" ")[0] for name in CASES}
    assert hooked - {*REFUSED} <= tested
