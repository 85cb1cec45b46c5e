"""Compositions in scikit-bio."""

from ..data import normal, uniform
from ..facts import NAMESPACE, Library, call

X, Y, Z = uniform(3, 4), uniform(3, 4, seed=1), normal(3, 3)
PATH = "stats.composition."
CALLS = [
    call(f"{PATH}closure", X),
    call(f"{PATH}perturb", X, Y),
    call(f"{PATH}perturb_inv", X, Y),
    call(f"{PATH}power", X, 0.7),
    call(f"{PATH}inner", X, Y),
    call(f"{PATH}clr", X),
    call(f"{PATH}clr_inv", X),
    call(f"{PATH}rclr", X),
    call(f"{PATH}rclr_inv", X),
    call(f"{PATH}ilr", X),
    call(f"{PATH}ilr_inv", Z),
    call(f"{PATH}ilr", X, name="ilr, basis", basis=normal(3, 4, seed=2), validate=False),
    call(f"{PATH}alr", X),
    call(f"{PATH}alr_inv", Z),
    call(f"{PATH}centralize", X),
]
LIBRARY = Library("scikit-bio", "skbio", NAMESPACE, CALLS)
