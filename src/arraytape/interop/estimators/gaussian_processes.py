"""Differentiate scikit-learn's Gaussian processes and their kernels.

scikit-learn's fit maximises the marginal likelihood by SciPy's optimizer, which keeps no Arrays.  The
derivative of the hyperparameters is that of the maximum; hyperparameters at a bound are constants.  All
further attributes are computed by scikit-learn's own code, on Arrays.

The kernels Matern and ExpSineSquared have scikit-learn's values.  Their derivatives are those of
functions of the squared distance: the distance itself has no derivative where two points coincide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.special
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

import arraytape as xp

from ... import implicit
from ..._array.array import Array
from ..._util.array_types import Namespace, RawArray
from ..._util.blocks import Quiet
from ..._util.errors import user_line
from .._context import entered, has_array
from .._facades import asarray
from .._hooks import original_of
from .._ops import library_op
from .._plain import ArrayInput
from .._slopes import with_slope
from .._statements import hooks, keeps_arrays, original
from ._fits import Fit, connect, connects_fit, detached_object, refuses
from ._solutions import Parts, minimum_of_parts

HOME = "sklearn.gaussian_process"
EDGE = 1e-9  # a hyperparameter is at its bound if their logarithms differ by less

for _module in ("_gpr", "kernels"):
    keeps_arrays(f"{HOME}.{_module}")


@connects_fit(f"{HOME}._gpr", "GaussianProcessRegressor")
def regressor(fit: Fit) -> Mapping[str, Any]:
    """Return the attributes of a fitted Gaussian process as functions of data and parameters."""
    import sklearn

    fit.asked |= {"kernel"}
    twin, X, y, alpha = (fit.twin, fit.float_data("X"), fit.float_data("y"), fit.parameter("alpha"))
    fixed = fixed_parameters(fit)
    if twin.optimizer is None or not twin.kernel_.n_dims:
        kernel = kernel_with(twin.kernel_, None, fixed)
    else:
        theta = likeliest_theta(fit, X, y, alpha, fixed)
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
    """Return a dict of the kernel's parameters that are Arrays and that the fit does not optimize."""
    if fit.estimator.kernel is None:
        return {}
    given = fit.estimator.kernel.get_params(deep=True)
    hyperparameters = fit.twin.kernel_.hyperparameters if fit.twin.optimizer is not None else ()
    free = {one.name for one in hyperparameters if not one.fixed}
    return {
        name: xp.asarray(value)
        for name, value in given.items()
        if has_array([value]) and not hasattr(value, "get_params") and name not in free
    }


def kernel_with(kernel: Kernel, theta: Array | None, fixed: Mapping[str, Array]) -> Any:
    """Return a copy of a kernel with other parameters.

    fixed : parameters by name.  theta : logarithms of the hyperparameters that the fit optimizes; None
    to keep those of the kernel.
    """
    from sklearn.base import clone

    made = clone(kernel)
    made.set_params(**fixed)
    if theta is not None:
        made.theta = theta
    return made


def likeliest_theta(
    fit: Fit, X: Array, y: Array, alpha: Array, fixed: Mapping[str, Array]
) -> Array:
    """Return the logarithms of the fitted hyperparameters, as functions of data and parameters.

    They maximise the marginal likelihood.  alpha : the variance of the noise.  fixed : parameters of the
    kernel that are Arrays, by name.
    """
    twin = fit.twin
    start, bounds = twin.kernel_.theta, twin.kernel_.bounds
    below, above = (np.abs(start - bounds[:, k]) < EDGE for k in (0, 1))
    names = [*fixed]

    def negative_likelihood(parts: Parts, X: Array, y: Array, alpha: Array, *others: Array) -> Any:
        model = detached_object(twin)
        kernel = kernel_with(twin.kernel_, None, dict(zip(names, others, strict=True)))
        model.kernel_, model.alpha, model.X_train_ = kernel, alpha, X
        model.y_train_ = normalised(twin, y)
        with entered(["scipy", "sklearn"]):
            return -original_of(type(twin).log_marginal_likelihood)(model, parts["theta"])

    theta = (X, y, alpha, *fixed.values())
    found = minimum_of_parts(
        negative_likelihood, {"theta": start}, *theta, free={"theta": ~(below | above)}, least=1.0
    )
    if np.any(below | above):
        still = [xp.stop_gradient(x) for x in theta]
        at = xp.stop_gradient(found["theta"])
        slope = np.asarray(xp.grad(lambda theta: negative_likelihood({"theta": theta}, *still))(at))
        kink = below & (slope <= 0) | above & (slope >= 0)
        if np.any(kink):
            which = int(np.flatnonzero(kink)[0])
            raise implicit.NotASolution(
                f"{fit.name}.fit: the kernel's hyperparameter {which} of theta is at its bound and "
                f"about to leave it, where the fit has a kink: widen its bounds [at {user_line()}]"
            )
    return found["theta"]


def normalised(twin: BaseEstimator, y: Array) -> Array:
    if not twin.normalize_y:
        return y
    centred = y - xp.mean(y, axis=0)
    scale = xp.sqrt(xp.mean(centred**2, axis=0))
    return centred / xp.where(scale == 0, xp.ones_like(scale), scale)


# --- kernels ------------------------------------------------------------------------------------------
def bessel_forward(u: Array, order: float = 0.0) -> Any:
    """Return ``z**order * kv(order, z)`` with z = sqrt(u), of which the Matern kernel consists.

    u : squared distances, as NumPy data.  At u = 0, return the limit, or 0 if the limit is infinite.
    """
    z: Any = np.sqrt(np.asarray(u))
    with Quiet():
        k = scipy.special.kv(order, z)
        y = z**order * k
    if order > 0:
        return np.where(np.isinf(k), 2.0 ** (order - 1.0) * scipy.special.gamma(order), y)
    return np.where(z == 0, 0.0, y)


def bessel_slope(g: RawArray, u: RawArray, order: float, xp: Namespace) -> Any:
    """Return the cotangent of u in ``bessel_forward(u, order)`` (DLMF 10.29.4).

    g : the cotangent of the result.  At u = 0, return NaN if the derivative is infinite.
    """
    lower = bessel_part(u, order - 1.0)
    return g * (-0.5 * (lower if order > 0 else xp.where(u == 0, np.nan, lower)))


bessel_part = library_op("sklearn.bessel_part", bessel_forward, bessel_slope, cores=(0,))


def steps_between(X: ArrayInput, Y: ArrayInput | None) -> tuple[Array, Any]:
    """Return the differences X[i] - Y[j] for all i and j, and a mask that is True where i = j.

    If Y is None, take X for it.  If Y is given, the mask is False.
    """
    given: Any = asarray(X)
    rows: Any = np.atleast_2d(given)
    X = xp.astype(rows, np.float64)
    other = X if Y is None else xp.astype(asarray(Y), np.float64)
    return X[:, None, :] - other[None, :, :], Y is None and np.eye(X.shape[0], dtype=bool)


def kernel_with_slopes(
    values: Array | tuple[Array, Array], formula: Array, gradients: list[Any]
) -> Any:
    """Return scikit-learn's values of a kernel, with the derivatives of formulas on Arrays.

    values : the kernel, or the kernel and its gradient with respect to the hyperparameters.
    formula, gradients : the kernel and the blocks of its gradient, computed by recorded ops.
    """
    if not isinstance(values, tuple):
        return with_slope(xp.stop_gradient(values), formula)
    value, gradient = map(xp.stop_gradient, map(asarray, values))
    if gradient.shape[-1]:
        gradient = with_slope(gradient, xp.concat(gradients, axis=-1))
    return with_slope(value, formula), gradient


@hooks(f"{HOME}.kernels", "Matern.__call__")
def matern(
    self: Any, X: ArrayInput, Y: ArrayInput | None = None, eval_gradient: bool = False
) -> Any:
    """Return the Matern kernel of the samples X and Y, as a function of squared distances.

    eval_gradient : True to return also the gradient with respect to the hyperparameters.
    Source: Rasmussen and Williams 2006, equation 4.14.
    """
    program = original(f"{HOME}.kernels", "Matern.__call__")
    if has_array([self.nu]):
        return program(self, X, Y, eval_gradient)
    values = program(*map(detached_kernel, (self, X, Y)), eval_gradient)
    steps, same = steps_between(X, Y)
    squares = (steps / asarray(self.length_scale)) ** 2
    u = xp.where(same, 1.0, xp.sum(squares, axis=-1))
    if self.nu == np.inf:
        formula = part = xp.exp(-0.5 * u)
    else:
        scale = 2.0 ** (1.0 - self.nu) / scipy.special.gamma(self.nu)
        u = 2.0 * self.nu * u
        formula = scale * bessel_part(u, self.nu)
        # Where points coincide and nu <= 1, the formula has a kink; its derivative is set to 0.
        tip = (u == 0) & (self.nu <= 1)
        part = 2.0 * self.nu * scale * bessel_part(xp.where(tip, 1.0, u), self.nu - 1.0)
        part = xp.where(tip, 0.0, part)
    squares = squares if self.anisotropic else xp.sum(squares, axis=-1, keepdims=True)
    gradient = squares * part[..., None]
    if self.nu <= 1:
        gradient = gradient + xp.where(tip, formula, 0.0)[..., None]
    return kernel_with_slopes(values, xp.where(same, 1.0, formula), [gradient])


@hooks(f"{HOME}.kernels", "ExpSineSquared.__call__")
def periodic(
    self: Any, X: ArrayInput, Y: ArrayInput | None = None, eval_gradient: bool = False
) -> Any:
    """Return the kernel ExpSineSquared of the samples X and Y, as a function of squared distances.

    eval_gradient : True to return also the gradient with respect to the hyperparameters.
    sin(t)**2 is computed as a function of t**2 (DLMF 10.16.9), which has a derivative at distance 0.
    """
    program = original(f"{HOME}.kernels", "ExpSineSquared.__call__")
    values = program(*map(detached_kernel, (self, X, Y)), eval_gradient)
    length, period = asarray(self.length_scale), asarray(self.periodicity)
    squares = xp.sum(((np.pi / period) * steps_between(X, Y)[0]) ** 2, axis=-1)
    sine_squared = squares * xp.special.hyp0f1(1.5, -0.25 * squares) ** 2
    formula = xp.exp(-2.0 * sine_squared / length**2)
    gradients = [
        4.0 / length**2 * formula * part
        for part, by in (
            (sine_squared, self.hyperparameter_length_scale),
            (squares * xp.special.hyp0f1(1.5, -squares), self.hyperparameter_periodicity),
        )
        if not by.fixed
    ]
    return kernel_with_slopes(values, formula, [part[..., None] for part in gradients])


def detached_kernel(given: object) -> Any:
    """Return a copy of an Array, or of a kernel whose parameters are Arrays, that no tape follows.

    Any other object is returned itself.
    """
    if isinstance(given, Array):
        return xp.stop_gradient(given)
    if not hasattr(given, "get_params"):
        return given
    twin = object.__new__(type(given))
    vars(twin).update({name: detached_kernel(value) for name, value in vars(given).items()})
    return twin


refuses(
    f"{HOME}._gpc", "GaussianProcessClassifier",
    why="it approximates its posterior by Newton steps of its own, of which there is no derivative here",
    instead="LogisticRegression and SVC have derivatives; else give it NumPy data",
)  # fmt: skip
