"""Derivatives as functions of functions: grad, jacobian, hessian, jvp, vjp, hvp, vmap."""

from .derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from .vmap import vmap

__all__ = ["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
