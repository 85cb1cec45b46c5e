"""Elementary functions."""

import mpmath as mp


def boxcox(x, lmbda):
    return mp.log(x) if lmbda == 0 else mp.expm1(lmbda * mp.log(x)) / lmbda


def inv_boxcox(x, lmbda):
    return mp.exp(x) if lmbda == 0 else mp.exp(mp.log1p(lmbda * x) / lmbda)


def series(coefficients, x):
    """A power series near 0, where the closed form is 0 / 0."""
    return mp.fsum(c * x**k for k, c in enumerate(coefficients))


def exprel(x):
    if abs(x) < 1e-3:
        return series([1 / mp.factorial(k + 1) for k in range(14)], x)
    return mp.expm1(x) / x


def log1prel(x):
    if abs(x) < 1e-3:
        return series([(-1) ** k / mp.mpf(k + 1) for k in range(20)], x)
    return mp.log1p(x) / x


def of_order(function):
    """The derivatives of a function, by their order."""
    return lambda n, x: mp.diff(function, x, int(n))


def angle(x):
    return x * mp.pi / 180


def tukey_lambda(x, lmbda):
    if lmbda == 0:
        return 1 / (1 + mp.exp(-x))
    start = 1 / (1 + mp.exp(-x))
    return mp.findroot(lambda p: (p**lmbda - (1 - p) ** lmbda) / lmbda - x, start, verify=False)


def agm_derivative(n, a, b):
    return mp.diff(lambda b: mp.agm(a, b), b, int(n))


def power_integral(n, logarithm, lmbda):
    return mp.diff(lambda p: logarithm * exprel(p * logarithm), lmbda, int(n))


REFERENCES = {
    "power_integral": power_integral,
    "legs_over_hypotenuse": lambda x, y: x * y / mp.hypot(x, y),
    "_cospi": mp.cospi,
    "_log1mexp": lambda x: mp.log1p(-mp.exp(x)) if x < -1 else mp.log(-mp.expm1(x)),
    "_log1pmx": lambda x: mp.log1p(x) - x,
    "_sinpi": mp.sinpi,
    "agm": lambda a, b: mp.agm(a, b) if a > 0 else -mp.agm(-a, -b),
    "agm_derivative": agm_derivative,
    "boxcox": boxcox,
    "boxcox1p": lambda x, lmbda: boxcox(1 + x, lmbda),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "cosdg": lambda x: mp.cos(angle(x)),
    "cosm1": lambda x: -2 * mp.sin(x / 2) ** 2,
    "cotdg": lambda x: mp.cot(angle(x)),
    "entr": lambda x: -x * mp.log(x),
    "exp10": lambda x: mp.mpf(10) ** x,
    "exp2": lambda x: mp.mpf(2) ** x,
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "expm1": mp.expm1,
    "exprel": exprel,
    "exprel_derivative": of_order(exprel),
    "huber": lambda d, r: r**2 / 2 if abs(r) <= d else d * (abs(r) - d / 2),
    "inv_boxcox": inv_boxcox,
    "inv_boxcox1p": lambda x, lmbda: inv_boxcox(x, lmbda) - 1,
    "kl_div": lambda x, y: x * mp.log(x / y) - x + y,
    "log1p": mp.log1p,
    "log1prel_derivative": of_order(log1prel),
    "log_expit": lambda x: -mp.log1p(mp.exp(-x)),
    "logit": lambda x: mp.log(x) - mp.log1p(-x),
    "powm1": lambda x, y: x**y - 1,
    "pseudo_huber": lambda d, r: d**2 * (mp.sqrt(1 + (r / d) ** 2) - 1),
    "radian": lambda d, m, s: angle(d + m / 60 + s / 3600),
    "ratio": lambda x, y: x / y,
    "rel_entr": lambda x, y: x * mp.log(x / y),
    "sindg": lambda x: mp.sin(angle(x)),
    "tandg": lambda x: mp.tan(angle(x)),
    "tklmbda": tukey_lambda,
    "weighted_exp": lambda b, x: b * mp.exp(x),
    "xlog1py": lambda x, y: x * mp.log1p(y),
    "xlogy": lambda x, y: x * mp.log(y),
}
EDGES = {
    "_cospi": [(0.5,), (1e6 + 0.25,)],
    "_log1mexp": [(-1e-8,), (-40.0,), (-600.0,)],
    "_log1pmx": [(1e-8,), (-1e-5,), (1e6,)],
    "_sinpi": [(1.0,), (1e6 + 0.25,)],
    "agm": [(2.0, 2.0), (1.0, 1e-10), (1e-10, 1.0), (1e150, 3e150), (-1.0, -2.0)],
    "boxcox": [(1.0, 0.5), (2.0, 0.0), (3.0, 1e-12), (1e-10, 2.0), (1.0 + 1e-9, 1e-6), (1e5, -3.0)],
    "boxcox1p": [(1e-12, 0.5), (2.0, 0.0), (-0.9999, 2.0), (1e-3, 1e-9)],
    "cbrt": [(1e-200,), (-8.0,), (1e200,)],
    "cosm1": [(1e-10,), (0.0,)],
    "entr": [(1e-300,), (1.0,), (1e10,)],
    "exp10": [(300.0,), (-300.0,)],
    "exp2": [(1000.0,), (-1000.0,)],
    "expit": [(40.0,), (-700.0,), (700.0,)],
    "expm1": [(-60.0,), (1e-12,), (700.0,)],
    "exprel": [(1e-10,), (0.0,), (-5.0,), (600.0,), (-1e5,), (3.0,), (2.999,)],
    "exprel_derivative": [(2, 1e-9), (3, 5.5), (1, -80.0), (0, -2.5)],
    "huber": [(1.0, 5.0), (2.0, -0.5), (2.0, -3.0)],
    "inv_boxcox": [(1e-8, 0.5), (2.0, 0.0), (1.5, 1e-12), (-0.999999, 1.0), (0.3, -3.0)],
    "inv_boxcox1p": [(1e-12, 0.5), (2.0, 0.0), (1.5, 1e-12)],
    "kl_div": [(1.0, 1.0 + 1e-9), (1e-30, 2.0), (3.0, 1e-20), (2.0, 2.0)],
    "log1p": [(1e-15,), (-0.999999,), (1e10,)],
    "log1prel_derivative": [(1, 1e-9), (2, 0.31), (3, 0.29), (1, 1e6), (2, -0.999)],
    "log_expit": [(-700.0,), (40.0,), (700.0,)],
    "logit": [(1e-300,), (1e-10,), (1 - 1e-12,), (0.5,)],
    "powm1": [(1.0, 3.0), (1.0 + 1e-9, 2.0), (2.0, 1e-12)],
    "pseudo_huber": [(1.0, 1e-8), (1e-8, 1.0), (1e3, 2.0), (2.0, -1e4)],
    "rel_entr": [(1.0, 1.0 + 1e-9), (1e-30, 2.0), (2.0, 1e-250)],
    "tklmbda": [(0.5, 0.14), (3.0, 0.0), (-2.0, -0.3)],
    "xlog1py": [(1e-300, 1e-12), (2.0, -0.999999)],
    "xlogy": [(1e-300, 2.0), (3.0, 1e-200), (2.0, 1.0)],
}
