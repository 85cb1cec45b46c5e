"""Cosmological distances in wcosmo."""

import numpy as np

from ..data import uniform
from ..facts import NAMESPACE, Library, call


def prepare(_: str) -> None:
    import wcosmo

    wcosmo.disable_units()


Z, M1, M2 = uniform(4), uniform(4, low=20.0, high=30.0), uniform(4, low=10.0, high=15.0)
H0, OM0, W0 = np.asarray(67.0), np.asarray(0.3), np.asarray(-0.9)
MODEL = (H0, OM0, W0)
INTEGRALS = (
    "comoving_distance",
    "lookback_time",
    "luminosity_distance",
    "dDLdz",
    "differential_comoving_volume",
    "comoving_volume",
)
CALLS = [
    call("wcosmo.efunc", Z, OM0, W0),
    call("wcosmo.inv_efunc", Z, OM0, W0),
    call("wcosmo.hubble_parameter", Z, *MODEL),
    *(
        call(f"wcosmo.{name}", Z, *MODEL, method=method)
        for method in ("pade", "analytic")
        for name in INTEGRALS
    ),
    call("wcosmo.absorption_distance", Z, OM0, W0),
    call("wcosmo.detector_to_source_frame", M1, M2, 1000.0 * Z, *MODEL),
    call("wcosmo.source_to_detector_frame", M1, M2, Z, *MODEL),
]
REASONS = {
    f"{name}, method='analytic'": "wcosmo has this method for NumPy and JAX alone"
    for name in INTEGRALS
}
LIBRARY = Library("wcosmo", "wcosmo", NAMESPACE, CALLS, prepare, REASONS)
