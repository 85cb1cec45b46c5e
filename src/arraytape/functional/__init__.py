"""Function transformations: grad, jacobian, hessian, jvp, vjp, hvp, vmap, and their sparse forms.

>>> import arraytape as xp
>>> print(xp.functional.grad(lambda x: xp.sum(x**2))(xp.asarray([1.0, 2.0])))
[2. 4.]
>>> print(xp.grad is xp.functional.grad)
True
"""

from .derivatives import grad, hessian, jacfwd, jacobian, jacrev, value_and_grad
from .flat import ravel
from .products import gauss_newton_product, hvp, jvp, linearize, vhp, vjp
from .sparse import sparse_hessian, sparse_jacobian
from .vmap import vmap

__all__ = [
    "gauss_newton_product", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jvp", "linearize",
    "ravel", "sparse_hessian", "sparse_jacobian", "value_and_grad", "vhp", "vjp", "vmap",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names only; the names of submodules are left out."""
    return sorted(__all__)
