"""The geometry of covariance matrices in pyriemann."""

from ..data import normal, spd, spd_data, tangent, uniform
from ..facts import NAMESPACE, Call, Library, Symmetric, call

A, B = spd(3), spd(3, seed=1)
X, Y = spd(4, 3), spd(2, 3, seed=3)
S, T = tangent(2, 3), tangent(2, 3, seed=4)
SIGNALS = normal(2, 3, 12)
WEIGHTS = uniform(4)
METRICS = ("euclid", "logchol", "logeuclid", "riemann", "wasserstein")


def named(pattern: str, *names: str) -> list[str]:
    return [pattern.format(name) for name in names]


def distances() -> list[Call]:
    names = (
        "chol", "euclid", "harmonic", "kullback", "kullback_right", "kullback_sym", "logchol", "logdet",
        "logeuclid", "riemann", "thompson", "wasserstein",
    )  # fmt: skip
    found = [call(path, A, B) for path in named("geometry.distance.distance_{}", *names)]
    return [
        *found,
        call("geometry.distance.distance_poweuclid", A, B, 0.5),
        call("geometry.distance.distance", X, A),
        call("geometry.distance.pairwise_distance", X, Y),
        call("geometry.distance.distance_mahalanobis", normal(3, 5), A),
    ]


def means() -> list[Call]:
    names = (
        "ale", "cheap", "chol", "euclid", "harmonic", "kullback_sym", "logchol", "logdet",
        "logeuclid", "riemann", "thompson", "wasserstein",
    )  # fmt: skip
    found = [call(path, X) for path in named("geometry.mean.mean_{}", *names)]
    return [
        *found,
        call("geometry.mean.mean_alm", spd(3, 2), tol=1e-3, maxiter=4),
        call("geometry.mean.mean_bmp", spd(3, 2), maxiter=4),
        call("geometry.mean.mean_power", X, 0.4),
        call("geometry.mean.mean_poweuclid", X, 0.4),
        call("geometry.mean.gmean", X, metric="riemann", sample_weight=WEIGHTS),
        call("geometry.median.median_euclid", X),
        call("geometry.median.median_riemann", X),
    ]


def maps() -> list[Call]:
    of_metrics = "geometry.tangentspace.{}_map_{}"
    return [
        *(call(of_metrics.format("exp", metric), S, A) for metric in METRICS),
        *(call(of_metrics.format("log", metric), X, A) for metric in METRICS),
        call("geometry.tangentspace.upper", S),
        call("geometry.tangentspace.unupper", normal(2, 6)),
        call("geometry.tangentspace.tangent_space", X, A),
        call("geometry.tangentspace.untangent_space", normal(2, 6), A),
        *(call(f"geometry.tangentspace.innerproduct_{metric}", S, T, A) for metric in METRICS[:-1]),
        call("geometry.tangentspace.norm", S, A),
        call("geometry.tangentspace.transport_euclid", S),
        *(
            call(f"geometry.tangentspace.transport_{metric}", S, A, B)
            for metric in ("logchol", "logeuclid", "riemann")
        ),
    ]


def covariances() -> list[Call]:
    path = "geometry.covariance."
    return [
        *(
            call(f"{path}covariances", SIGNALS, estimator=name)
            for name in ("corr", "cov", "hub", "lwf", "oas", "sch", "scm", "stu", "tyl")
        ),
        call(f"{path}covariances_EP", SIGNALS, normal(2, 12)),
        call(f"{path}covariances_X", SIGNALS),
        call(f"{path}block_covariances", SIGNALS, [1, 2]),
        call(f"{path}eegtocov", normal(24, 3), window=8),
        call(f"{path}cross_spectrum", normal(2, 24), window=8),
        call(f"{path}cospectrum", normal(2, 24), window=8),
        call(f"{path}coherence", normal(2, 24), window=8),
        call(f"{path}normalize", X, "trace"),
        call(f"{path}get_nondiag_weight", X),
    ]


CALLS = [
    *(call(path, A) for path in named("geometry.base.{}", "expm", "invsqrtm", "logm", "sqrtm")),
    call("geometry.base.powm", A, 0.3),
    call("geometry.base.nearest_sym_pos_def", Symmetric(spd_data(1, 3))),
    call("geometry.base.ddexpm", S, A),
    call("geometry.base.ddlogm", S, A),
    *distances(),
    *(
        call(path, A, B, 0.3)
        for path in named("geometry.geodesic.geodesic_{}", "chol", *METRICS, "thompson")
    ),
    *(
        call(path, X, Y, Cref=spd_data(3, seed=5))
        for path in named("geometry.kernel.kernel_{}", "euclid", "logeuclid", "riemann")
    ),
    *means(),
    *maps(),
    *covariances(),
]
LIBRARY = Library("pyriemann", "pyriemann", NAMESPACE, CALLS)
