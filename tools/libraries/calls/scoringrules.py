"""Calls of scoringrules; the backend for Arrays is the one that the guide's recipe sets up."""

import numpy as np

from ..data import normal, uniform
from ..facts import LIST, Call, Fixed, Library, call
from ..recipes import set_up

CHOSEN = ["numpy"]


def prepare(backend: str) -> None:
    set_up("scoringrules")
    CHOSEN[0] = backend


def scored(name: str, *inputs: object, **keywords: object) -> Call:
    """Return a Call of scoringrules' function ``name``, with the chosen backend as a keyword."""

    def run(*arrays):
        import scoringrules

        return getattr(scoringrules, name)(*arrays, backend=CHOSEN[0], **keywords)

    return call(run, *inputs, name=name)


Y, MU, SIGMA = normal(3), normal(3, seed=1), uniform(3)
ENSEMBLE, P = normal(3, 6), uniform(3, high=0.8)
VECTOR, VECTORS = normal(2, 3), normal(2, 5, 3)
CALLS = [
    *(scored(f"crps_{name}", Y, MU, SIGMA) for name in ("normal", "logistic", "laplace")),
    *(scored(f"crps_{name}", uniform(3), MU, SIGMA) for name in ("lognormal", "loglaplace")),
    scored("crps_loglogistic", uniform(3), MU, 0.5 * SIGMA),
    scored("crps_t", Y, 5.0 + SIGMA, MU, SIGMA),
    scored("crps_gamma", uniform(3), 1.0 + SIGMA, uniform(3, seed=2)),
    scored("crps_beta", P, 1.0 + SIGMA, 2.0 + uniform(3, seed=2)),
    scored("crps_exponential", uniform(3), SIGMA),
    scored("crps_uniform", Y, MU - 3.0, MU + 3.0),
    scored("crps_gev", Y, 0.3 * SIGMA, MU, SIGMA),
    scored("crps_gpd", uniform(3), 0.3 * SIGMA),
    scored("crps_cnormal", Y, MU, SIGMA, -1.0, 1.0),
    scored("crps_mixnorm", Y, normal(3, 2), uniform(3, 2)),
    scored("crps_poisson", Fixed(np.asarray([1.0, 2.0, 0.0])), SIGMA),
    *(
        scored("crps_ensemble", Y, ENSEMBLE, estimator=name)
        for name in ("nrg", "fair", "pwm", "qd")
    ),
    scored("crps_quantile", Y, normal(3, 4), np.asarray([0.2, 0.4, 0.6, 0.8])),
    scored("es_ensemble", VECTOR, VECTORS),
    scored("vs_ensemble", VECTOR, VECTORS),
    scored("gksuv_ensemble", Y, ENSEMBLE),
    scored("gksmv_ensemble", VECTOR, VECTORS),
    scored("dssuv_ensemble", Y, ENSEMBLE),
    scored("dssmv_ensemble", VECTOR, VECTORS),
    scored("error_spread_score", Y, ENSEMBLE),
    scored("quantile_score", Y, MU, 0.3),
    scored("interval_score", Y, MU - 1.0, MU + 1.0, 0.1),
    scored("logs_ensemble", Y, ENSEMBLE),
    *(scored(f"logs_{name}", Y, MU, SIGMA) for name in ("normal", "logistic", "laplace")),
    scored("logs_t", Y, 5.0 + SIGMA, MU, SIGMA),
    scored("logs_gamma", uniform(3), 1.0 + SIGMA, uniform(3, seed=2)),
]
NORM = "the norm of a vector that is 0: the second derivative is infinity times 0"
REASONS = {
    "es_ensemble": NORM,
    "gksmv_ensemble": NORM,
    "vs_ensemble": "the square root of a difference that is 0: the slope is infinity times 0",
}
LIBRARY = Library(
    "scoringrules", "scoringrules", LIST, CALLS, prepare, REASONS, recipe="scoringrules"
)
