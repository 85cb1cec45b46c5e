"""Contractions of opt_einsum."""

from ..data import normal
from ..facts import LIST, Library, call


def contracted(x, y, z):
    import opt_einsum

    return opt_einsum.contract_expression("ij,jk,kl->il", x.shape, y.shape, z.shape)(x, y, z)


A, B, C = normal(2, 3), normal(3, 4), normal(4, 2)
CALLS = [
    *(
        call("contract", equation, *operands, name=f"contract, {equation}")
        for equation, operands in (
            ("ij,jk,kl->il", (A, B, C)),
            ("ij,jk,ki->", (A, B, C)),
            ("ij,kj->ik", (A, A)),
            ("ii->i", (normal(3, 3),)),
            ("ij,ij->i", (A, A + 1.0)),
            ("i,j,k->ijk", (normal(2), normal(3), normal(4))),
            ("...ij,jk->...ik", (normal(2, 2, 3), B)),
        )
    ),
    call("contract", A, (0, 1), B, (1, 2), name="contract, operands with lists"),
    call(contracted, A, B, C, name="contract_expression"),
]
LIBRARY = Library("opt_einsum", "opt_einsum", LIST, CALLS, recipe="opt_einsum")
