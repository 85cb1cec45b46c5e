"""Bessel functions and their relatives, their integrals, Airy functions."""

import mpmath as mp


def spherical(f, sign):
    """A spherical function of a cylinder function of half-odd order."""
    return lambda n, z: sign(n) * mp.sqrt(mp.pi / (2 * z)) * f(int(n) + mp.mpf(1) / 2, z)


def derivative_of(f):
    """The derivative of a function of a degree and z."""
    return lambda n, z: mp.diff(lambda x: f(n, x), z)


def kelvin(f):
    """Both parts of a Kelvin function as complex number."""
    quarters = 3 if f is mp.besselj else 1
    return lambda x: f(0, mp.expjpi(mp.mpf(quarters) / 4) * x)


def prime_of_kelvin(f):
    """The derivative of both parts: f is of order 1 (DLMF 10.6.3, 10.29.3)."""
    quarters = 3 if f is mp.besselj else 1

    def function(x):
        turn = mp.expjpi(mp.mpf(quarters) / 4)
        return -turn * f(1, turn * x)

    return function


def scaled(f, rate):
    """``f(v, z) exp(-rate z)``."""
    return lambda v, z: f(v, z) * mp.exp(-rate * z)


def kve(v, x):
    """exp(x) K_v(x); of whole orders and large x, where mp.besselk takes long, from DLMF 10.32.9 by the
    trapezoidal rule, whose error is exponentially small."""
    if x < 10 or v != mp.nint(v):
        return mp.besselk(v, x) * mp.exp(x)
    digits = mp.mp.prec * mp.log(2) + 10
    step = min(mp.pi**2 / digits, mp.pi * mp.sqrt(2 / (x * digits))) / mp.mpf("2.5")
    end = mp.acosh(1 + digits / x) + abs(v) * digits / mp.hypot(v, x) ** 2
    while x * (mp.cosh(end) - 1) - abs(v) * end < digits:
        end *= mp.mpf("1.1")

    def term(t):
        return mp.exp(-2 * x * mp.sinh(t / 2) ** 2) * mp.cosh(v * t)

    return step * (mp.mpf(1) / 2 + mp.fsum(term(k * step) for k in range(1, int(end / step) + 2)))


def derivative_of_scaled(f, rate):
    """The n-th derivative of it."""
    return lambda n, v, z: mp.diff(lambda x: scaled(f, rate)(v, x), z, int(n))


NODES = mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(3, 450)


def integral(f):
    """The integral of f to x, but for a constant: by a fixed rule, which mp.diff differentiates fast."""

    def function(x):
        start = mp.nint(4 * x) / 4 + mp.mpf(1) / 16
        half = (x - start) / 2
        return half * mp.fsum([w * f(start + half * (1 + node)) for node, w in NODES])

    function.but_for_a_constant = True
    return function


def besselpoly(a, lmb, nu):
    power = lmb + nu + 1
    series = mp.hyper([power / 2], [power / 2 + 1, nu + 1], -a * a)
    return a**nu * mp.rgamma(nu + 1) / power * series


def wright(a, b, x):
    return mp.nsum(lambda k: x**k / mp.factorial(k) * mp.rgamma(a * k + b), [0, mp.inf])


def both_of_airy(z):
    return 2 * z * mp.sqrt(z) / 3


def one(n):
    return 1


JN, YN = spherical(mp.besselj, one), spherical(mp.bessely, one)
IN, KN = spherical(mp.besseli, one), spherical(mp.besselk, one)
BE, KE = kelvin(mp.besselj), kelvin(mp.besselk)
BEP, KEP = prime_of_kelvin(mp.besselj), prime_of_kelvin(mp.besselk)


REFERENCES = {
    "jv": mp.besselj,
    "yv": mp.bessely,
    "yn": mp.bessely,
    "hankel1": mp.hankel1,
    "hankel2": mp.hankel2,
    "iv": mp.besseli,
    "kv": lambda v, x: kve(v, x) * mp.exp(-x),
    "kn": lambda n, x: kve(int(n), x) * mp.exp(-x),
    **{f"{kind}{v}": (lambda x, f=f, v=v: f(v, x))
       for kind, f in zip("jyi", (mp.besselj, mp.bessely, mp.besseli), strict=True)
       for v in (0, 1)},
    **{f"k{v}": (lambda x, v=v: kve(v, x) * mp.exp(-x)) for v in (0, 1)},
    **{f"i{v}e": (lambda x, v=v: mp.besseli(v, x) * mp.exp(-abs(x))) for v in (0, 1)},
    **{f"k{v}e": (lambda x, v=v: kve(v, x)) for v in (0, 1)},
    "_iv_ratio": lambda v, x: mp.besseli(v, x) / mp.besseli(v - 1, x),
    "_iv_ratio_c": lambda v, x: 1 - mp.besseli(v, x) / mp.besseli(v - 1, x),
    "_spherical_jn": JN,
    "_spherical_yn": YN,
    "_spherical_in": IN,
    "_spherical_kn": KN,
    "_spherical_jn_d": derivative_of(JN),
    "_spherical_yn_d": derivative_of(YN),
    "_spherical_in_d": derivative_of(IN),
    "_spherical_kn_d": derivative_of(KN),
    "ber": lambda x: mp.re(BE(x)),
    "bei": lambda x: mp.im(BE(x)),
    "ker": lambda x: mp.re(KE(x)),
    "kei": lambda x: mp.im(KE(x)),
    "berp": lambda x: mp.re(BEP(x)),
    "beip": lambda x: mp.im(BEP(x)),
    "kerp": lambda x: mp.re(KEP(x)),
    "keip": lambda x: mp.im(KEP(x)),
    "kelvin_be": BE,
    "kelvin_ke": KE,
    "kelvin_bep": BEP,
    "kelvin_kep": KEP,
    "struve": mp.struveh,
    "modstruve": mp.struvel,
    "wright_bessel": wright,
    "log_wright_bessel": lambda a, b, x: mp.log(wright(a, b, x)),
    "besselpoly": besselpoly,
    # scaled
    "jve": mp.besselj,
    "yve": mp.bessely,
    "ive": lambda v, z: mp.besseli(v, z) * mp.exp(-abs(z)),
    "kve": kve,
    "hankel1e": scaled(mp.hankel1, 1j),
    "hankel2e": scaled(mp.hankel2, -1j),
    "ive_derivative": derivative_of_scaled(mp.besseli, 1),
    "kve_derivative": lambda n, v, z: mp.diff(lambda x: kve(v, x), z, int(n)),
    "hankel1e_derivative": derivative_of_scaled(mp.hankel1, 1j),
    "hankel2e_derivative": derivative_of_scaled(mp.hankel2, -1j),
    "jv_scaled": lambda v, z, s: mp.besselj(v, z) * mp.exp(-s),
    "yv_scaled": lambda v, z, s: mp.bessely(v, z) * mp.exp(-s),
    "iv_scaled": lambda v, z, s: mp.besseli(v, z) * mp.exp(-s),
    # integrals
    "itj0y0_j": integral(mp.j0),
    "itj0y0_y": integral(lambda t: mp.bessely(0, t)),
    "it2j0y0_j": integral(lambda t: (1 - mp.j0(t)) / t),
    "it2j0y0_y": integral(lambda t: -mp.bessely(0, t) / t),
    "iti0k0_i": integral(lambda t: mp.besseli(0, t)),
    "iti0k0_k": integral(lambda t: mp.besselk(0, t)),
    "it2i0k0_i": integral(lambda t: (mp.besseli(0, t) - 1) / t),
    "it2i0k0_k": integral(lambda t: -mp.besselk(0, t) / t),
    "itstruve0": integral(lambda t: mp.struveh(0, t)),
    "it2struve0": integral(lambda t: -mp.struveh(0, t) / t),
    "itmodstruve0": integral(lambda t: mp.struvel(0, t)),
    # Airy
    "airy_ai": mp.airyai,
    "airy_aip": lambda z: mp.airyai(z, derivative=1),
    "airy_bi": mp.airybi,
    "airy_bip": lambda z: mp.airybi(z, derivative=1),
    "itairy_apt": integral(mp.airyai),
    "itairy_bpt": integral(mp.airybi),
    "itairy_ant": integral(lambda t: mp.airyai(-t)),
    "itairy_bnt": integral(lambda t: mp.airybi(-t)),
    "airye_eai": lambda z: mp.airyai(z) * mp.exp(both_of_airy(z)),
    "airye_eaip": lambda z: mp.airyai(z, derivative=1) * mp.exp(both_of_airy(z)),
    "airye_ebi": lambda z: mp.airybi(z) * mp.exp(-both_of_airy(max(z, 0))),
    "airye_ebip": lambda z: mp.airybi(z, derivative=1) * mp.exp(-both_of_airy(max(z, 0))),
    "bi_scaled": lambda z, s: mp.airybi(z) * mp.exp(-s),
    "bip_scaled": lambda z, s: mp.airybi(z, derivative=1) * mp.exp(-s),
}  # fmt: skip
EDGES = {
    "jv": [(0, 0.0), (1, 0.0), (2, 0.0), (2, -1.5), (0.5, 1e-3), (1, 1e4), (60, 10.0), (-2, 3.0)],
    "yv": [(0, 1e-6), (2, 1e-3), (0.5, 1e3), (-1.5, 2.0)],
    "iv": [
        (0, 0.0, "z"),
        (1, 0.0, "z"),
        (2, 0.0, "z"),
        (2, -3.0, "z"),
        (2.5, 0.0, "v"),
        (1, 600.0),
        (50, 1.0),
        (1e-3, 1e-3),
    ],
    "kv": [(0, 1e-8), (3, 1e-3), (1, 500.0), (60, 20.0), (-0.5, 2.0)],
    "hankel1": [(0, 1e-3), (1, 1e3)],
    "hankel2": [(0, 1e-3), (1, 1e3)],
    "j0": [(0.0,), (-2.0,), (1e-8,), (100.0,)],
    "j1": [(0.0,), (-2.0,), (1e-8,), (100.0,)],
    "y0": [(1e-8,), (100.0,)],
    "y1": [(1e-8,), (100.0,)],
    "i0": [(0.0,), (-2.0,), (700.0,)],
    "i1": [(0.0,), (-2.0,), (700.0,)],
    "k0": [(1e-8,), (600.0,)],
    "k1": [(1e-8,), (600.0,)],
    "i0e": [(-2.0,), (39.0,), (41.0,), (1e3,), (1e6,), (1e10,), (-1e10,), (1e-10,)],
    "i1e": [(-2.0,), (39.0,), (41.0,), (1e3,), (1e6,), (1e10,), (-1e10,), (1e-10,)],
    "k0e": [(39.0,), (41.0,), (1e6,), (1e10,), (1e-10,)],
    "k1e": [(39.0,), (41.0,), (1e6,), (1e10,), (1e-10,)],
    "ive": [
        (2, -3.0, "z"),
        (3, -50.0, "z"),
        (0.5, 1e8, "z"),
        (7.5, 57.0),
        (7.5, 55.0),
        (30, 100.0),
    ],
    "kve": [(0.5, 1e8), (7.5, 57.0), (7.5, 55.0), (30, 100.0), (3, 1e-3)],
    "hankel1e": [(0.4, 1e8), (7.5, 57.0), (7.5, 55.0), (3, 1e-3)],
    "hankel2e": [(0.4, 1e8), (7.5, 57.0), (7.5, 55.0), (3, 1e-3)],
    "_iv_ratio": [(1.5, 0.01), (1.0, 1e3), (20.0, 5.0)],
    "_iv_ratio_c": [(1.5, 0.01), (1.0, 1e3), (20.0, 5.0)],
    "_spherical_jn": [(0, 1e-3), (3, 1e-3), (1, 100.0)],
    "_spherical_yn": [(0, 1e-3), (3, 1e-3), (1, 100.0)],
    "_spherical_in": [(0, 1e-3), (3, 1e-3), (1, 100.0)],
    "_spherical_kn": [(0, 1e-3), (3, 1e-3), (1, 100.0)],
    "ber": [(1e-3,), (-2.0,)],
    "bei": [(1e-3,), (-2.0,)],
    "ker": [(1e-3,)],
    "kei": [(1e-3,)],
    "berp": [(1e-3,), (-2.0,)],
    "beip": [(1e-3,), (-2.0,)],
    "kerp": [(1e-3,)],
    "keip": [(1e-3,)],
    "struve": [(0, 1e-3), (0, 50.0), (3, 20.0), (1, -1.5), (2, 0.01)],
    "modstruve": [(0, 1e-3), (0, 30.0), (3, 20.0), (1, -1.5), (2, 0.01)],
    "besselpoly": [(1e-4, 1.0, 0.0), (1e-4, 0.5, 1.0), (8.0, 1.0, 2.0)],
    "it2j0y0_j": [(1e-4,), (0.999,), (1.001,), (-2.0,)],
    "it2i0k0_i": [(1e-4,), (0.999,), (1.001,), (-2.0,)],
    "itj0y0_j": [(-2.0,)],
    "iti0k0_i": [(-2.0,)],
    "itstruve0": [(-2.0,)],
    "itmodstruve0": [(-2.0,)],
    "airy_ai": [(1e-3,), (50.0,), (-50.0,)],
    "airy_bi": [(0.0,), (50.0,), (-50.0,)],
    "airye_eai": [(1e-3,), (0.999,), (1.001,), (30.0,), (1e4,)],
    "airye_eaip": [(1e-3,), (0.999,), (1.001,), (30.0,), (1e4,)],
    "airye_ebi": [(1e-3,), (0.999,), (1.001,), (30.0,), (1e4,), (-3.0,)],
    "airye_ebip": [(1e-3,), (0.999,), (1.001,), (30.0,), (1e4,), (-3.0,)],
}
BY_DIFFERENCES = dict.fromkeys(
    ("ive_by_order", "kve_by_order"),
    "the derivatives of ive and kve by v, which are compared to second order",
)
