"""The error function and its relatives."""

import mpmath as mp

ROOT_2 = mp.sqrt(2)


def erfcx(x):
    if mp.re(x) > 5:  # where erfc is small: DLMF 7.11.5
        return mp.hyperu(0.5, 0.5, x * x) / mp.sqrt(mp.pi)
    return mp.exp(x * x) * mp.erfc(x)


def wofz(z):
    return erfcx(-1j * z)


def dawsn(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def of_order(value, first, sign):
    """The derivatives, by order, of what obeys y'' = 2 sign (x y' + y)."""

    def derivative(n, x):
        found = [value(x), first(x)]
        for k in range(1, int(n)):
            found.append(2 * sign * (x * found[k] + k * found[k - 1]))
        return found[int(n)]

    return derivative


def ndtr(x):
    return mp.erfc(-x / ROOT_2) / 2


def log_ndtr(x):
    if mp.re(x) < -4.5:
        return -x * x / 2 + mp.log(erfcx(-x / ROOT_2) / 2)
    return mp.log1p(-ndtr(-x)) if mp.re(x) > 5 else mp.log(ndtr(x))


def ndtri(p):
    start = mp.sqrt(2) * mp.erfinv(2 * p - 1) if p > 1e-6 else -mp.sqrt(-2 * mp.log(p))
    return mp.findroot(lambda x: log_ndtr(x) - mp.log(p), start)


def ndtri_exp(x):
    if x > -1e-3:
        return -ndtri(-mp.expm1(x))
    start = -mp.sqrt(-2 * x) if x < -5 else ndtri(mp.exp(x))
    return mp.findroot(lambda y: log_ndtr(y) - x, start)


def erfcinv(x):
    return -ndtri(x / 2) / ROOT_2 if x < 1 else ndtri(1 - x / 2) / ROOT_2


def owens_t(h, a):
    body = lambda u: mp.exp(-h * h * (1 + u * u) / 2) / (1 + u * u)  # noqa: E731
    return mp.quad(body, [0, a]) / (2 * mp.pi)


erfcx_derivative = of_order(erfcx, lambda x: 2 * x * erfcx(x) - 2 / mp.sqrt(mp.pi), 1)


def voigt(n, x, sigma, gamma):
    scale = sigma * ROOT_2
    turned = erfcx_derivative(n, (gamma - 1j * x) / scale)
    return (-1j / scale) ** int(n) * turned / (scale * mp.sqrt(mp.pi))


def modfresnel_k(x, sign):
    return erfcx(mp.expjpi(-int(sign) / mp.mpf(4)) * x) / 2


def modfresnel_f(x, sign):
    turn = mp.expjpi(int(sign) / mp.mpf(4))
    return turn * mp.sqrt(mp.pi) / 2 * mp.erfc(x / turn)


REFERENCES = {
    "dawsn": dawsn,
    "dawsn_derivative": of_order(dawsn, lambda x: 1 - 2 * x * dawsn(x), -1),
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcinv": erfcinv,
    "erfcx": erfcx,
    "erfcx_derivative": erfcx_derivative,
    "erfi": mp.erfi,
    "erfinv": lambda x: mp.sign(x) * mp.erfinv(abs(x)),
    "fresnel_c": mp.fresnelc,
    "fresnel_s": mp.fresnels,
    "log_ndtr": log_ndtr,
    "log_ndtr_derivative": lambda x: mp.diff(log_ndtr, x),
    "modfresnel_f": modfresnel_f,
    "modfresnel_k": modfresnel_k,
    "ndtr": ndtr,
    "ndtri": ndtri,
    "ndtri_exp": ndtri_exp,
    "owens_t": owens_t,
    "voigt_imag": lambda *given: mp.im(voigt(*given)),
    "voigt_profile": lambda x, sigma, gamma: mp.re(voigt(0, x, sigma, gamma)),
    "voigt_real": lambda *given: mp.re(voigt(*given)),
    "wofz": wofz,
}
EDGES = {
    "dawsn": [(0.0,), (6.9,), (7.1,), (50.0,), (-1e6,), (0.9,)],
    "erf": [(0.0,), (3.0,)],
    "erfc": [(10.0,), (26.0,), (-3.0,)],
    "erfcinv": [(1e-300,), (1e-10,), (1.0,), (2 - 1e-10,)],
    "erfcx": [(0.0,), (6.9,), (7.1,), (50.0,), (1e6,), (-5.0,), (-20.0,)],
    "erfi": [(0.0,), (20.0,)],
    "erfinv": [(1e-12,), (1 - 1e-12,), (-0.999999,)],
    "fresnel_c": [(0.0,), (10.3,)],
    "fresnel_s": [(0.0,), (10.3,)],
    "log_ndtr": [(-40.0,), (-1e5,), (-9.8,), (8.0,), (30.0,), (-5.5,)],
    "ndtr": [(-37.0,), (8.0,), (0.0,)],
    "ndtri": [(1e-300,), (1e-20,), (0.5,), (1 - 1e-12,)],
    "ndtri_exp": [(-1e10,), (-500.0,), (-1e-12,)],
    "owens_t": [(6.0, 1.0)],
    "voigt_profile": [(0.0, 1.0, 1.0), (30.0, 0.5, 0.5), (1.0, 1e-3, 1.0), (3.0, 1.0, 1e-6)],
    "wofz": [(0.0,), (6.9,), (7.1,), (1e3,), (-8.0,)],
}
