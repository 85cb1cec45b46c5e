"""Manifolds of pymanopt, whose functions are NumPy code."""

from ..data import normal, spd, tangent, uniform
from ..facts import NUMPY, Call, Library, call


def on(manifold: str, name: str, *inputs: object, size: tuple[int, ...] = (3,)) -> Call:
    """Return a Call of the method ``name`` of a manifold of this size."""

    def run(*arrays):
        from pymanopt import manifolds

        return getattr(getattr(manifolds, manifold)(*size), name)(*arrays)

    return call(run, *inputs, name=f"{manifold}.{name}")


X, Y, V = uniform(3), uniform(3, seed=1), normal(3)
A, B, S, T = spd(3), spd(3, seed=1), tangent(3), tangent(3, seed=1)
Q, W = normal(4, 2), normal(4, 2, seed=1)
CALLS = [
    *(
        on("Sphere", name, *inputs)
        for name, inputs in (
            ("inner_product", (X, V, Y)),
            ("norm", (X, V)),
            ("dist", (X / 2.0, Y / 2.0)),
            ("projection", (X, V)),
            ("exp", (X, V)),
            ("retraction", (X, V)),
            ("log", (X / 2.0, Y / 2.0)),
            ("transport", (X, Y, V)),
            ("pair_mean", (X, Y)),
        )
    ),
    *(
        on("SymmetricPositiveDefinite", name, *inputs)
        for name, inputs in (
            ("inner_product", (A, S, T)),
            ("norm", (A, S)),
            ("dist", (A, B)),
            ("exp", (A, S)),
            ("retraction", (A, S)),
            ("log", (A, B)),
            ("transport", (A, B, S)),
        )
    ),
    *(
        on(name, function, *inputs, size=(4, 2))
        for name in ("Stiefel", "Grassmann")
        for function, inputs in (("projection", (Q, W)), ("retraction", (Q, W)), ("norm", (Q, W)))
    ),
    on("Stiefel", "exp", Q, W, size=(4, 2)),
    on("Grassmann", "dist", Q / 4.0, W / 4.0, size=(4, 2)),
    on("Oblique", "projection", Q, W, size=(4, 2)),
    on("Oblique", "exp", Q, W, size=(4, 2)),
    on("Oblique", "dist", Q / 4.0, W / 4.0, size=(4, 2)),
    on("PoincareBall", "dist", 0.5 * X, 0.5 * Y),
    on("PoincareBall", "exp", 0.5 * X, V),
    on("PoincareBall", "log", 0.5 * X, 0.5 * Y),
    on("Positive", "exp", uniform(3, 2), normal(3, 2), size=(3, 2)),
    on("Positive", "log", uniform(3, 2), uniform(3, 2, seed=1), size=(3, 2)),
]
VECTORIZE = "pymanopt calls `np.vectorize`, which converts to NumPy"
REASONS = dict.fromkeys(
    ("SymmetricPositiveDefinite.exp", "Stiefel.retraction", "Stiefel.exp"), VECTORIZE
)
LIBRARY = Library(
    "pymanopt",
    "pymanopt",
    NUMPY,
    CALLS,
    reasons=REASONS,
    backends=("arraytape",),
    recipe="pymanopt",
)
