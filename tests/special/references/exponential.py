"""Exponential integrals."""

import mpmath as mp


def scaled_exp1(x):
    return x * mp.exp(x) * mp.expint(1, x)


REFERENCES = {
    "_scaled_exp1": scaled_exp1,
    "cosine_integral": mp.ci,
    "exp1": mp.e1,
    "expi": mp.ei,
    "expn": lambda n, x: mp.expint(int(n), x),
    "expn_below": lambda n, x: mp.expint(int(n), x),
    "hyperbolic_cosine_integral": mp.chi,
    "hyperbolic_sine_integral": mp.shi,
    "scaled_exp1_derivative": lambda n, x: mp.diff(scaled_exp1, x, int(n)),
    "sine_integral": mp.si,
    "spence": lambda x: mp.polylog(2, 1 - x),
}
EDGES = {
    "_scaled_exp1": [(1e-6,), (44.0,), (46.0,), (1e4,), (1e8,)],
    "cosine_integral": [(1e-8,), (50.0,)],
    "exp1": [(1e-10,), (300.0,)],
    "expi": [(-3.0,), (1e-10,), (-300.0,), (300.0,)],
    "expn": [(1, 1e-8), (3, 1e-6), (2, 200.0), (40, 1.5), (0, 2.0)],
    "hyperbolic_cosine_integral": [(1e-8,), (50.0,)],
    "hyperbolic_sine_integral": [(1e-6,), (50.0,), (-3.0,)],
    "sine_integral": [(0.0,), (1e-6,), (50.0,), (-3.0,)],
    "spence": [(1.0,), (1 + 1e-9,), (1e-8,), (1e6,), (0.7,), (1.31,)],
}
LOOSE = {
    "scaled_exp1_derivative": (1e-9, 1e-6, "the recurrence for the third derivative near 40"),
}
