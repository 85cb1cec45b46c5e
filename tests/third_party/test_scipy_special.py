"""scipy.special, as installed: what SciPy writes in array API terms, and what it finds in xp.special."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import special

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1.5, 1.5, (4, 5)), RNG.uniform(-1.5, 1.5, (4, 5))
Z = X + 1j * Y
P, Q = RNG.uniform(0.2, 1.5, 6), RNG.uniform(0.2, 1.5, 6)
GAPS = np.where(X < -1.0, -np.inf, X)
CASES = {
    "logsumexp": (special.logsumexp, X),
    "logsumexp over an axis": (lambda x: special.logsumexp(x, axis=1), X),
    "logsumexp over axes": (lambda x: special.logsumexp(x, axis=(0, 1), keepdims=True), X),
    "logsumexp with weights": (lambda x, b: special.logsumexp(x, axis=0, b=b), X, np.abs(Y)),
    "logsumexp with a sign": (
        lambda x, b: special.logsumexp(x, axis=1, b=b, return_sign=True)[0],
        X,
        Y,
    ),
    "logsumexp of large numbers": (lambda x: special.logsumexp(1e3 * x, axis=1) / 1e3, X),
    "logsumexp, complex": (lambda z: special.logsumexp(z, axis=1), Z),
    "softmax": (special.softmax, X),
    "softmax over an axis": (lambda x: special.softmax(x, axis=1), X),
    "log_softmax": (lambda x: special.log_softmax(x, axis=-1), X),
    "log_softmax of large numbers": (lambda x: special.log_softmax(1e3 * x, axis=0) / 1e3, X),
    "rel_entr": (special.rel_entr, P, Q),
    "xlogy": (special.xlogy, X[0], Y[0] ** 2 + 0.1),
    "xlogy, broadcast": (special.xlogy, X, P[:5]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_in_array_api_terms_differentiates(differentiates, name):
    function, *inputs = CASES[name]
    differentiates(function, *inputs, order=2)


def test_logsumexp_of_ties_has_the_right_gradient(differentiates):
    # Not the right curvature, which is that of a maximum: SciPy takes the largest elements out of the
    # sum and counts them.
    differentiates(lambda x: special.logsumexp(x, axis=1), np.zeros((2, 3)))


@pytest.mark.parametrize("function", [special.softmax, special.log_softmax, special.logsumexp])
def test_minus_infinity_takes_no_part(differentiates, function):
    """Masked logits: the gradient of what stays is that without the masked ones."""

    def of_finite(x):
        here = array_namespace(x)
        masked = here.where(here.asarray(np.isfinite(GAPS)), x, -np.inf)
        y = function(masked, axis=1)
        return here.where(here.isfinite(y), y, 0.0)

    differentiates(of_finite, X)


def test_at_0_the_slope_is_that_of_what_was_selected(differentiates):
    q = np.asarray([0.3, 0.7, 1.1])
    for function in (special.xlogy, special.rel_entr):
        differentiates(lambda q, p, f=function: f(p, q), q, constants=[np.asarray([0.0, 0.5, 0.0])])


# --- what is arraytape.special's -----------------------------------------------------------------
U = RNG.uniform(0.2, 0.8, 4)
N = np.asarray([1, 2, 3, 2])
# Names, and arguments within their domains.
FOUND = [
    (
        "cbrt cosdg cosm1 cotdg ellipk ellipkm1 entr erf erfc erfcx erfinv exp1 exp10 exp2 expi expit "
        "exprel gamma gammaln gammasgn i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e log_ndtr loggamma logit ndtr "
        "ndtri psi rgamma sinc sindg spence tandg y0 y1 zetac",
        (U,),
    ),
    (
        "betaln binom boxcox boxcox1p chdtr chdtrc chdtri gammainc gammaincc gammainccinv gammaincinv "
        "huber inv_boxcox inv_boxcox1p kl_div poch pseudo_huber stdtr stdtrit xlog1py zeta",
        (U + 1.2, U),
    ),
    (
        "betainc betaincc betaincinv fdtr fdtrc fdtri gdtr gdtrc radian",
        (U + 1.0, U + 0.5, U),
    ),
    ("bdtr bdtrc", (N, N + 4, U)),
    ("bdtri", (N, N + 4, U)),
    ("nbdtr nbdtrc nbdtri", (N, N, U)),
    ("expn pdtr pdtrc pdtri polygamma yn", (N, U)),
    ("hyp1f1", (N, N + 1, U)),  # by its parameters no derivative is known
    ("lpmv", (N - 1, N, U)),
    ("multigammaln", (U + 3.0, 2)),
]
CALLS = {name: arguments for names, arguments in FOUND for name in names.split()}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_that_scipy_has_in_c_differentiates(differentiates, name):
    """SciPy finds it in ``xp.special``."""
    function, arguments = getattr(special, name), CALLS[name]
    kinds = [getattr(a, "dtype", np.dtype(object)).kind for a in arguments]
    floating, whole = ([i for i, k in enumerate(kinds) if k == kind] for kind in "fi")

    def of_arrays(*given):
        at = dict(zip([*floating, *whole], given, strict=True))
        return function(*[at.get(i, a) for i, a in enumerate(arguments)])

    differentiates(
        of_arrays,
        *[arguments[i] for i in floating],
        constants=[arguments[i] for i in whole],
        rtol=1e-5,
    )


def test_every_function_that_scipy_offers_is_here(offered):
    others = {"log_softmax", "logsumexp", "rel_entr", "softmax", "xlogy"}
    assert offered("scipy.special") == {*CALLS, *others}
