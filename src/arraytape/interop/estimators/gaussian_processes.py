"""Gaussian processes: scikit-learn's own programs on Arrays, at the hyperparameters that it found.

The search is for the largest marginal likelihood.  Its result is a function of the data by the condition
that the slope is zero there, of scikit-learn's own likelihood; hyperparameters at a bound stay there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import arraytape as xp

from ... import implicit
from ..._array.array import Array
from ..._util.errors import user_line
from .._context import entered, has_array
from .._hooks import original_of
from .._statements import keeps_arrays
from ._fits import Fit, connect, detached_object, fits, refuses
from ._solutions import minimum

HOME = "sklearn.gaussian_process"
EDGE = 1e-9  # of a hyperparameter's logarithm: how near to its bound it is at it

for _module in ("_gpr", "kernels"):
    keeps_arrays(f"{HOME}.{_module}")


@fits(f"{HOME}._gpr", "GaussianProcessRegressor")
def regressor(fit: Fit) -> Mapping[str, Any]:
    """The kernel that was found, and what the prediction needs."""
    import sklearn

    fit.asked |= {"kernel"}
    twin, X, y, alpha = fit.twin, fit.data("X"), fit.data("y"), fit.parameter("alpha")
    fixed = fixed_parameters(fit)
    if twin.optimizer is None or not twin.kernel_.n_dims:
        kernel = kernel_with(twin.kernel_, None, fixed)
    else:
        theta = likeliest(fit, X, y, alpha, fixed)
        kernel = kernel_with(twin.kernel_, theta, fixed)
    model = detached_object(twin)
    model.kernel, model.alpha, model.optimizer = kernel, alpha, None
    with entered(["scipy", "sklearn"]), sklearn.config_context(skip_parameter_validation=True):
        original_of(type(twin).fit)(model, X, y)
    exact = sklearn.base.clone(twin.kernel_)
    values = {**exact.get_params(deep=True)}
    exact.set_params(
        **{
            name: connect(values[name], value)
            for name, value in kernel.get_params(deep=True).items()
            if isinstance(value, Array)
        }
    )
    found = {
        name: value
        for name, value in vars(model).items()
        if isinstance(value, Array) and name not in twin.get_params(deep=False)
    }
    return {**found, "kernel_": exact}


def fixed_parameters(fit: Fit) -> dict[str, Array]:
    """The kernel's parameters that are Arrays, but for those from which a search starts."""
    if fit.estimator.kernel is None:
        return {}
    given = fit.estimator.kernel.get_params(deep=True)
    searched = fit.twin.optimizer is not None
    free = searched_names(fit.twin.kernel_) if searched else set()
    return {
        name: xp.asarray(value)
        for name, value in given.items()
        if has_array([value]) and not hasattr(value, "get_params") and name not in free
    }


def searched_names(kernel: Any) -> set[str]:
    """The parameters for which a search looks, by their names in the whole kernel."""
    return {one.name for one in kernel.hyperparameters if not one.fixed}


def kernel_with(kernel: Any, theta: Any, fixed: Mapping[str, Array]) -> Any:
    """A copy of a kernel with other parameters: theta has the logarithms of those searched for."""
    from sklearn.base import clone

    made = clone(kernel)
    made.set_params(**fixed)
    if theta is not None:
        made.theta = theta
    return made


def likeliest(fit: Fit, X: Array, y: Array, alpha: Array, fixed: Mapping[str, Array]) -> Array:
    """The logarithms of the hyperparameters that were found, as a function of the data."""
    twin = fit.twin
    start, bounds = twin.kernel_.theta, twin.kernel_.bounds
    below, above = (np.abs(start - bounds[:, k]) < EDGE for k in (0, 1))
    names = [*fixed]

    def objective(parts: Any, X: Array, y: Array, alpha: Array, *others: Array) -> Array:
        model = detached_object(twin)
        kernel = kernel_with(twin.kernel_, None, dict(zip(names, others, strict=True)))
        model.kernel_, model.alpha, model.X_train_ = kernel, alpha, X
        model.y_train_ = normalised(twin, y)
        with entered(["scipy", "sklearn"]):
            return -original_of(type(twin).log_marginal_likelihood)(model, parts["theta"])

    theta = (X, y, alpha, *fixed.values())
    found = minimum(
        objective, {"theta": start}, *theta, free={"theta": ~(below | above)}, least=1.0
    )
    if np.any(below | above):
        still = [xp.stop_gradient(x) for x in theta]
        at = xp.stop_gradient(found["theta"])
        slope = np.asarray(xp.grad(lambda theta: objective({"theta": theta}, *still))(at))
        kink = below & (slope <= 0) | above & (slope >= 0)
        if np.any(kink):
            which = int(np.flatnonzero(kink)[0])
            raise implicit.NotASolution(
                f"{fit.name}.fit: the kernel's hyperparameter {which} of theta is at its bound and "
                f"about to leave it, where the fit has a kink: widen its bounds [at {user_line()}]"
            )
    return found["theta"]


def normalised(twin: Any, y: Array) -> Array:
    """The targets as the likelihood takes them."""
    if not twin.normalize_y:
        return y
    centred = y - xp.mean(y, axis=0)
    scale = xp.sqrt(xp.mean(centred**2, axis=0))
    return centred / xp.where(scale == 0, xp.ones_like(scale), scale)


refuses(
    f"{HOME}._gpc", "GaussianProcessClassifier",
    why="it approximates its posterior by Newton steps of its own, of which there is no derivative here",
    instead="LogisticRegression and SVC have derivatives; else give it NumPy data",
)  # fmt: skip
