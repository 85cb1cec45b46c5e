"""Functions of array-api-extra."""

import numpy as np

from ..data import normal, uniform
from ..facts import NAMESPACE, Library, call


def written(x, y):
    import array_api_extra as xpx

    return xpx.at(x)[1:, 0].multiply(y, copy=True)


def applied(x, y):
    import array_api_extra as xpx

    return xpx.apply_where(x > y, (x, y), lambda a, b: a * b, lambda a, b: a - b)


X, Y = uniform(3, 4), normal(3, 4)
CALLS = [
    call("atleast_nd", normal(3), ndim=2),
    call("cov", X),
    call("create_diagonal", normal(3)),
    call("expand_dims", X, axis=(0, 2)),
    call("kron", X, normal(2, 2)),
    call("pad", X, 2),
    call("nan_to_num", X),
    call("one_hot", np.asarray([0, 2, 1]), 3),
    call("isclose", X, Y),
    call("nunique", np.asarray([0, 2, 2])),
    call("sinc", X),
    call("setdiff1d", np.asarray([1, 2, 3]), np.asarray([2, 4])),
    call(applied, X, Y, name="apply_where"),
    call(written, X, normal(2), name="at[...].multiply"),
]
LIBRARY = Library("array-api-extra", "array_api_extra", NAMESPACE, CALLS)
