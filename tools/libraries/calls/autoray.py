"""Calls of autoray and torchquad; the guide's recipe registers Arrays with autoray."""

import numpy as np

from ..data import normal, spd, uniform
from ..facts import LIST, Library, call
from ..recipes import set_up


def prepare(_: str) -> None:
    set_up("autoray and torchquad")


def done(name):
    """Return a function that calls autoray's ``do``."""

    def run(*args, **keywords):
        from autoray import do

        return do(name, *args, **keywords)

    run.__name__ = f"do({name!r})"
    return run


def integral(method, points):
    """Return a function that integrates with torchquad."""

    def run(domain, p):
        import torchquad

        rule = getattr(torchquad, method)()
        return rule.integrate(
            lambda x: x[:, 0] ** p * x[:, 1], 2, N=points, integration_domain=domain
        )

    run.__name__ = f"torchquad.{method}"
    return run


A, V = normal(3, 3), normal(4)
CALLS = [
    *(
        call(done(name), A, normal(3, 3, seed=1))
        for name in ("matmul", "dot", "tensordot", "multiply", "maximum", "kron", "outer")
    ),
    *(
        call(done(name), A)
        for name in (
            "exp",
            "tanh",
            "sum",
            "mean",
            "std",
            "trace",
            "transpose",
            "ravel",
            "cumsum",
            "linalg.norm",
            "linalg.inv",
            "linalg.det",
            "linalg.expm",
        )
    ),
    call(done("linalg.cholesky"), spd(3)),
    call(done("linalg.eigvalsh"), spd(3)),
    call(done("linalg.solve"), A, V[:3]),
    call(done("einsum"), "ij,jk->ik", A, A),
    call(done("clip"), V, -0.5, 0.5),
    call(done("reshape"), A, (9,)),
    call(done("concatenate"), [V, V]),
    call(done("stack"), [V, V]),
    call(done("take"), V, np.asarray([0, 2])),
    *(
        call(integral(method, points), np.asarray([[0.5, 1.0], [0.0, 2.0]]), uniform())
        for method, points in (
            ("Trapezoid", 49),
            ("Simpson", 49),
            ("Boole", 81),
            ("GaussLegendre", 25),
        )
    ),
]
REASONS = {"do('linalg.expm')": "SciPy's C code; inside `interop.scipy()` it has a gradient"}
LIBRARY = Library(
    "autoray", "autoray", LIST, CALLS, prepare, REASONS, recipe="autoray and torchquad"
)
