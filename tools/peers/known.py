"""The known disagreements: who is right, and why.

Each verdict is checked (see ``verdicts``):

- ``peer``: the derivative exists and finite differences give arraytape's, not the peer's.
- ``convention``: no derivative exists at the point (differences from the two sides disagree or
  diverge), and arraytape's slope is a number or an infinity, not NaN.
- ``loud``: arraytape returns NaN or an infinity, because docs/explanation/numerics.md says so or the
  value is not finite.
- ``value``: the standard leaves the value undefined, so there is nothing to check.
"""

from __future__ import annotations

from typing import NamedTuple

from .cases import Case


class Known(NamedTuple):
    """A known disagreement.

    The entry applies to the named ops and peers, if their case's label contains ``label`` and the
    compared part (value, gradient i, ...) contains ``part``.
    """

    ops: str
    label: str
    peers: str
    part: str
    verdict: str
    why: str


SHARED = "what a selection did not take gets exactly 0, however infinite its slope"
NORMS = "the slope of a norm at 0 is 0; abs has slope 0 there, in JAX 1"
OPERAND = "an operand that is NaN and so the result takes the gradient"
VECTORS = (
    "cotangents of coinciding values and their vectors tell no gradient: NaN, as the page says"
)
KNOWN = (
    # Elements that a selection left out.
    Known("where getitem setitem", "at [0.,", "torch jax", "gradient", "peer", SHARED),
    Known("maximum", "sqrt(x), 1", "torch jax", "gradient", "convention", SHARED),
    Known("setitem", "written twice", "torch", "gradient 1", "peer",
          "a value that is overwritten in the same write gets 0; PyTorch gives it the last one's"),
    # Conventions at ties, bounds and zeros.
    Known("abs", "at [ 0.,", "jax", "gradient", "convention", "abs has slope 0 at 0, in JAX 1"),
    Known("clip", "at [", "jax", "gradient", "convention",
          "clip has slope 1 towards x at its bounds; JAX takes half, as of maximum and minimum"),
    Known("copysign", "at [ 0.,", "jax", "gradient", "convention",
          "copysign at 0 turns like abs: slope 0, in JAX 1"),
    Known("hypot atan2", "at [0.] [0.]", "torch jax", "gradient", "convention",
          "hypot and atan2 have slope 0 at the origin; NaN in PyTorch (hypot) and JAX (atan2)"),
    Known("hypot", "at [1.e+200]", "jax", "gradient", "peer",
          "JAX's slope of hypot overflows: the squares of what hypot itself keeps in range"),
    Known("linalg.vector_norm", "squared", "jax", "gradient", "peer",
          "the square of a norm has slope 0 at 0: JAX multiplies 0 by an infinite slope"),
    Known("linalg.vector_norm linalg.matrix_norm", "at [", "jax", "gradient", "convention", NORMS),
    Known("std", "at [2.]", "jax", "gradient", "peer",
          "std of one element is always 0: slope 0, NaN in JAX"),
    Known("std", "at [2.,", "jax", "gradient", "convention",
          "the slope of std where all elements are equal is 0; NaN in JAX"),
    Known("sign", "at [0.+0.j", "torch", "gradient", "convention",
          "the slope of a complex sign at 0 is 0; NaN in PyTorch"),
    Known("sign", "", "jax", "", "peer",
          "z / |z| turns with z; JAX takes the derivative of a complex sign for 0"),
    Known("sort", "descending=True", "jax", "gradient", "convention",
          "ties keep their order also when descending (stable); JAX reverses them"),
    Known("sqrt", "at [ 0.+0.j", "jax", "gradient", "convention",
          "the slope of sqrt at 0 is infinite and said so; NaN in JAX for complex zeros"),
    Known("pow", "at [0.] [0.]", "jax", "gradient 0", "peer", "x ** 0 is 1 everywhere: slope 0"),
    Known("pow", "x ** 0.0", "jax", "", "peer", "x ** 0 is 1 everywhere: slope 0, NaN in JAX"),
    Known("pow", "0 ** x", "torch", "curvature", "peer",
          "0 ** x is 0 for x > 0: all slopes 0; PyTorch's second one is 0 * log(0)"),
    Known("pow", "at [0.] [-1.]", "torch jax", "gradient 1", "convention",
          "0 ** -1 is infinite; d/dy of 0 ** y is 0 in arraytape, -inf in PyTorch, NaN in JAX"),
    # Disagreements at NaN and infinite values.
    Known("maximum minimum", "at [nan,", "torch jax", "gradient", "convention", OPERAND),
    Known("max min", "at [ 1.,nan", "torch jax", "gradient", "convention", OPERAND),
    Known("std var", "correction=2.0", "jax", "value", "value",
          "n - correction is 0: NumPy gives inf, JAX NaN"),
    Known("logaddexp", "at [-inf, inf]", "jax", "gradient 1", "loud",
          "the value is infinite; of logaddexp(inf, 0), the 0 has slope 0, in JAX 1"),
    Known("std var", "correction=2.0", "torch jax", "gradient", "loud",
          "n - correction is 0: there is no finite value to differentiate"),
    # Gradients that a peer cuts or does not have.
    Known("nextafter", "at [1.,2.]", "torch", "gradient 0", "peer",
          "the next float moves with x1, also where x1 is x2; PyTorch gives 0 there"),
    Known("linspace", "", "torch", "", "peer",
          "PyTorch's linspace cuts the gradient of its ends"),
    Known("unique_all unique_counts unique_inverse", "", "jax", "", "peer",
          "unique values are gathered from x; JAX gives them a gradient of 0"),
    Known("unique_values", "real", "jax", "", "peer",
          "unique values are gathered from x; JAX gives them a gradient of 0"),
    Known("unique_values", "at [2.,", "jax", "gradient", "convention",
          "a repeated value's gradient goes to its first occurrence; in JAX to none"),
    # Disagreements in linear algebra.
    Known("linalg.det", "at [[1.,2.,3.]", "torch", "", "peer",
          "the cofactors of a singular matrix are exact; PyTorch gives 0"),
    Known("linalg.det", "[[[1. 2.] [2. 4.]]", "torch", "", "peer",
          "the cofactors of a singular matrix are exact; PyTorch gives 0"),
    *(Known("linalg.det", label, "torch", "curvature", "peer",
            "the second derivative of det is exact where singular values are 0; NaN in PyTorch")
      for label in ("[[0. 0. 0.]", "at [[0.,0.,0.]")),
    Known("linalg.slogdet", "at [[0.,0.,0.]", "torch jax", "gradient", "loud",
          "the value is -inf: slope inf, as the page says; in PyTorch and JAX NaN, or some NaN"),
    Known("linalg.svd", "at [[1.,1.", "torch jax", "curvature", "loud",
          "U S Vh of a matrix of low rank: exact to first order, NaN to second, in JAX wrong"),
    Known("linalg.svd", "at [[1.,1.", "torch jax", "", "peer",
          "U S Vh is the matrix itself, also where some S are 0"),
    Known("linalg.svd linalg.eigh", "at [[2.,1.,1.]", "torch jax", "", "loud", VECTORS),
    Known("linalg.svd linalg.eigh", "at [[1.,0.,0.]", "torch jax", "", "loud", VECTORS),
    *(Known("linalg.eigvalsh", label, "torch jax", "curvature", "loud",
            "the second derivative of coinciding eigenvalues asks for their vectors': NaN")
      for label in ("at [[1.,0.,0.]", "at [[2.,1.,1.]")),
)  # fmt: skip


def explanation(case: Case, peer: str, part: str) -> Known | None:
    """Return the first entry that applies to a disagreement, or None."""
    for known in KNOWN:
        named = case.op in known.ops.split() and peer in known.peers.split()
        if named and known.label in case.label and known.part in part:
            return known
    return None
