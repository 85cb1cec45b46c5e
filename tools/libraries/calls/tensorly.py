"""Calls of tensorly's decompositions and products; the guide's recipe sets up the backend."""

from ..data import normal, uniform
from ..facts import LIST, Library, call
from ..recipes import set_up

NAMES = {"numpy": "numpy", "torch": "pytorch", "jax": "jax"}


def prepare(backend: str) -> None:
    import tensorly

    made = set_up("tensorly")["ArraytapeBackend"]
    tensorly.set_backend(NAMES.get(backend) or made())


T, A, B, C = normal(3, 4, 2), normal(3, 2), normal(4, 2, seed=1), normal(2, 2, seed=2)


def normalized(weights, factors):
    """Return the weights and factors of a normalized tensor."""
    from tensorly.cp_tensor import cp_normalize

    return [*cp_normalize((weights, factors))]


def product(weights, factors, matrix):
    """Return the tensor of a product along one mode."""
    from tensorly.cp_tensor import CPTensor, cp_mode_dot

    return cp_mode_dot(CPTensor((weights, factors)), matrix, 1).to_tensor()


def rebuilt(name, x, **keywords):
    """Return the tensor of a decomposition, whose factors are unique only up to signs."""
    from tensorly import decomposition

    found = getattr(decomposition, name)(x, **keywords)
    return (found[0] if isinstance(found, tuple) and name != "tucker" else found).to_tensor()


CORE = normal(2, 2, 2)
CALLS = [
    call("base.unfold", T, 1),
    call("base.fold", normal(4, 6), 1, (3, 4, 2)),
    call("base.tensor_to_vec", T),
    call("base.partial_unfold", T, 1),
    call("tenalg.mode_dot", T, normal(5, 4), 1),
    call("tenalg.multi_mode_dot", T, [A.T.copy(), B.T.copy()], [0, 1]),
    call("tenalg.kronecker", [A, B]),
    call("tenalg.khatri_rao", [A, B]),
    call("tenalg.inner", T, T + 1.0),
    call("tenalg.outer", [normal(3), normal(4)]),
    call("tenalg.batched_outer", [A, normal(3, 4)]),
    call("cp_tensor.cp_to_tensor", (uniform(2), [A, B, C])),
    call("cp_tensor.cp_norm", (uniform(2), [A, B, C])),
    call(normalized, uniform(2), [A, B, C], name="cp_tensor.cp_normalize"),
    call(product, uniform(2), [A, B, C], normal(5, 4), name="cp_tensor.cp_mode_dot"),
    call("cp_tensor.unfolding_dot_khatri_rao", T, (uniform(2), [A, B, C]), 0),
    call("tucker_tensor.tucker_to_tensor", (CORE, [A, B, C])),
    call("tt_tensor.tt_to_tensor", [normal(1, 3, 2), normal(2, 4, 2), normal(2, 2, 1)]),
    call("tr_tensor.tr_to_tensor", [normal(2, 3, 2), normal(2, 4, 2), normal(2, 2, 2)]),
    call("tt_matrix.tt_matrix_to_tensor", [normal(1, 2, 3, 2), normal(2, 2, 2, 1)]),
    call(
        lambda x: rebuilt("tucker", x, rank=[2, 2, 2], n_iter_max=3),
        T,
        name="decomposition.tucker",
    ),
    call(
        lambda x: rebuilt("tensor_train", x, rank=[1, 2, 2, 1]),
        T,
        name="decomposition.tensor_train",
    ),
    call(
        lambda x: rebuilt("parafac", x, rank=2, n_iter_max=3, init="svd"),
        T,
        name="decomposition.parafac",
    ),
    call(
        lambda x: rebuilt("non_negative_parafac", x, rank=2, n_iter_max=3, init="svd"),
        uniform(3, 4, 2),
        name="decomposition.non_negative_parafac",
    ),
    call("metrics.regression.MSE", T, T * 2.0),
    call("metrics.regression.correlation", normal(6), normal(6, seed=1)),
    call("tenalg.proximal.soft_thresholding", T, 0.3),
    call("tenalg.proximal.svd_thresholding", normal(3, 4), 0.3),
    call("tenalg.proximal.procrustes", normal(4, 3)),
]
LIBRARY = Library("tensorly", "tensorly", LIST, CALLS, prepare, recipe="tensorly")
