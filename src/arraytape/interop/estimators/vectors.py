"""Differentiate support vector machines, which scikit-learn fits by the compiled library libsvm.

The fits are differentiated as solutions of the Karush-Kuhn-Tucker conditions.  A candidate is a pair of
a sample and a sign, 1 or -1.  A machine finds a weight 0 <= alpha <= limit for each candidate, so that

    f(x) = sum(sign alpha k(sample, x)) + b   is the candidate's target, where alpha is not at a bound,
    sum(sign alpha) = total,                  and sum(alpha) = mass in NuSVC and NuSVR

A regression has two candidates for each sample.  A classifier has a machine for each pair of classes,
with one candidate for each sample of the pair.  Source: Chang and Lin 2011, "LIBSVM: a library for
support vector machines", sec. 2; Schoelkopf et al. 2000, "New support vector algorithms".
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

import arraytape as xp

from ... import implicit
from ..._array.array import Array
from ..._util.errors import user_line
from .._hooks import original_of
from .._plain import ArrayInput, NumpyData, plain_data
from .._statements import hooks
from ._fits import Fit, as_float, connect, connects_fit, detached, detached_object
from ._labels import indicators, weights_of_classes
from ._solutions import Parts, root_of_parts

BASE = "sklearn.svm._base"
CLASSES = "sklearn.svm._classes"
# A candidate so near to a bound of alpha (relative to the limit) or to the margin raises NotASolution.
EDGE = 1e-6
ROUNDS = 50  # largest number of corrections of libsvm's states, see ``Dual.states``


@dataclasses.dataclass
class Dual:
    """The optimization problem that one support vector machine solves, in its dual form.

    The machine separates two classes, or is a regression.  The module's docstring explains candidates.

    name : the estimator's name, for messages.
    rows, signs, targets, limits : an element for each candidate; a row is the index of a sample.
    alpha, b : libsvm's solution.
    total, mass : what sum(sign * alpha) and sum(alpha) have to be, or None for a sum of any size.
    free : name of a further unknown, or "".  "width", half the width of NuSVR's tube, is subtracted
    from sign * target.  "scale", of NuSVC, multiplies limits and mass.
    """

    name: str
    kernel: Kernel
    rows: Any
    signs: Any
    targets: Array
    limits: Array
    alpha: Any
    b: float
    total: Any = 0.0
    mass: Any = None
    free: str = ""

    def solve_machine(self) -> tuple[Any, Array, Array]:
        """Return the machine's exact solution near libsvm's, as a function of the data.

        The three results are the indices of the candidates with alpha > 0, their weights alpha, and b.
        """
        found = self.states()
        inner, outer = np.flatnonzero(found == 0), np.flatnonzero(found > 0)
        there = np.concatenate([inner, outer])
        K = self.kernel.between_rows(self.rows[inner], self.rows[there])
        signs, count = self.signs[there], len(inner)
        start: dict[str, Any] = {"alpha": self.alpha[inner], "b": np.asarray(self.b)}
        if self.free:
            start["extra"] = np.asarray(self.extra_unknown(found))

        def machine_residual(
            parts: Parts, K: Array, targets: Array, limits: Array, total: Array, *mass: Any
        ) -> Any:
            extra = parts["extra"] if self.free else 0.0
            alpha = xp.concat([parts["alpha"], limits * extra if self.free == "scale" else limits])
            at = xp.matmul(K, signs * alpha) + parts["b"] - targets
            if self.free == "width":
                at = at + signs[:count] * extra
            sums = [xp.sum(signs * alpha) - total]
            if mass:
                sums.append(xp.sum(alpha) - (mass[0] * extra if self.free == "scale" else mass[0]))
            return [at, *sums]

        theta = [K, self.targets[inner], self.limits[outer], xp.asarray(self.total)]
        theta += [] if self.mass is None else [self.mass]
        parts = root_of_parts(machine_residual, start, *theta)
        bound = self.limits[outer] * parts["extra"] if self.free == "scale" else self.limits[outer]
        return there, xp.concat([parts["alpha"], bound]), parts["b"]

    # --- states: the candidates at a bound, from NumPy data ------------------------------------------
    def extra_unknown(self, states: NumpyData | None) -> Any:
        """Return the unknown that ``free`` names, the "width" or the "scale", at libsvm's solution.

        states : the result of ``states``; the "width" is found from the candidates of state 0.
        """
        if self.free == "scale":
            return float(np.sum(self.alpha)) / float(plain_data(self.mass))
        inner = states == 0
        K = self.kernel.plain_between(self.rows[inner], self.rows)
        f = K @ (self.signs * self.alpha) + self.b
        return float(np.mean(self.signs[inner] * (plain_data(self.targets)[inner] - f)))

    def states(self) -> Any:
        """Return for each candidate -1 if its weight alpha is 0, 1 if alpha is at its limit, else 0.

        libsvm stops before the exact solution.  So the states of its solution are changed until the KKT
        conditions hold.
        """
        limits = plain_data(self.limits)
        scale = self.extra_unknown(None) if self.free == "scale" else 1.0
        states = np.where(
            self.alpha <= 0, -1, np.where(self.alpha >= limits * scale * (1 - 1e-9), 1, 0)
        )
        for _ in range(ROUNDS):
            if not np.any(states == 0):
                self.refuse_kink(
                    "no support vector lies on the margin, and the constant is one of many"
                )
            alpha, slack, scale = self.conditions_at(states)
            after = np.where(
                states == 0, np.where(alpha < 0, -1, np.where(alpha > limits * scale, 1, 0)), states
            )
            after = np.where((states == 1) & (slack < 0), 0, after)
            if np.array_equal(after, states):
                break
            states = after
        self.examine_states(states, alpha / (limits * scale), slack)
        return states

    def conditions_at(self, states: NumpyData) -> tuple[Any, Any, float]:
        """Solve the KKT conditions for alpha and b, given which weights alpha are at a bound.

        states : for each candidate -1 if alpha is 0, 1 if alpha is at its limit, else 0.  Return alpha,
        the slack sign * (target - f) of each candidate, and the "scale" (or 1).
        """
        inner, outer = states == 0, states > 0
        K = self.kernel.plain_between(self.rows, self.rows)
        signs, limits, targets = self.signs, plain_data(self.limits), plain_data(self.targets)
        width, scale = self.free == "width", self.free == "scale"
        count = np.count_nonzero(inner)
        by_limit = K[:, outer] @ (signs * limits)[outer]
        columns = [K[:, inner] * signs[inner], np.ones((len(signs), 1))]
        sums = [np.append(signs[inner], 0.0)]
        values = [float(plain_data(self.total)) - (signs * limits)[outer].sum()]
        if self.mass is not None:
            sums.append(np.append(np.ones(count), 0.0))
            values.append(float(plain_data(self.mass)) - limits[outer].sum())
        known = targets - by_limit
        if width:
            columns.append(signs[:, None] * 1.0)
            sums = [np.append(row, 0.0) for row in sums]
        if scale:  # the limits and the mass are multiplied by the factor
            columns.append(by_limit[:, None])
            sums = [np.append(row, -value) for row, value in zip(sums, values, strict=True)]
            values, known = [0.0, 0.0], targets
        table = np.concatenate(columns, axis=1)
        matrix = np.concatenate([table[inner], np.asarray(sums)])
        if not np.linalg.cond(matrix) < 1e14:
            self.refuse_kink(
                "its conditions are singular: support vectors on the margin depend on each other"
            )
        found = np.linalg.solve(matrix, np.append(known[inner], values))
        factor = found[-1] if scale else 1.0
        alpha = np.where(outer, limits * factor, 0.0)
        alpha[inner] = found[:count]
        return alpha, signs * (known - table @ found), float(factor)

    def examine_states(self, states: NumpyData, share: NumpyData, slack: NumpyData) -> None:
        """Raise NotASolution if a tiny change of the data could move a weight alpha to or from a bound.

        There the fit has a kink, and no derivative.

        states : as in ``conditions_at``.  share : alpha / limit.  slack : sign * (target - f).
        """
        margin = EDGE * max(1.0, float(np.max(np.abs(plain_data(self.targets)))))
        inner = states == 0
        unsure = inner & ((share < EDGE) | (share > 1.0 - EDGE))
        unsure |= (states < 0) & (slack > -margin) | (states > 0) & (slack < margin)
        if np.any(unsure):
            sample = int(self.rows[np.flatnonzero(unsure)[0]])
            self.refuse_kink(
                f"sample {sample} is about to become a support vector, to be none, or to reach its limit"
            )

    def refuse_kink(self, why: str) -> None:
        raise implicit.NotASolution(
            f"{self.name}.fit: {why}: the fit has a kink there, or is too far from its solution to "
            f"tell. Change the parameters, or lower tol [at {user_line()}]"
        )


# --- kernels ---------------------------------------------------------------------------------------
@dataclasses.dataclass
class Kernel:
    """The kernel function of a support vector machine, with the samples X of the fit.

    name : libsvm's name of it, such as "rbf", a function of two sets of samples, or "precomputed".  With
    "precomputed", X is the kernel matrix.
    """

    name: Any
    X: Array
    gamma: Any = 0.0
    coef0: Any = 0.0
    degree: int = 3

    def between_rows(self, rows: NumpyData, others: NumpyData) -> Array:
        """Return the kernel matrix of the samples with the indices ``rows`` and ``others``."""
        if self.name == "precomputed":
            return self.X[rows, :][:, others]
        return self.between_samples(self.X[rows, :], self.X[others, :])

    def plain_between(self, rows: NumpyData, others: NumpyData) -> Any:
        """Return the kernel matrix of two sets of samples as NumPy data.

        rows, others : the indices of the samples.
        """
        still = dataclasses.replace(
            self, X=xp.stop_gradient(self.X), gamma=plain_data(self.gamma),
            coef0=plain_data(self.coef0),
        )  # fmt: skip
        return np.asarray(still.between_rows(rows, others))

    def between_samples(self, A: Array, B: Array) -> Array:
        if callable(self.name):
            return as_float(self.name(A, B))
        product = xp.matmul(A, xp.matrix_transpose(B))
        if self.name == "linear":
            return product
        if self.name == "rbf":
            squares = xp.sum(A**2, axis=1)[:, None] + xp.sum(B**2, axis=1)
            return xp.exp(-self.gamma * (squares - 2.0 * product))
        inner = self.gamma * product + self.coef0
        return xp.tanh(inner) if self.name == "sigmoid" else inner**self.degree


def kernel_of(fit: Fit) -> Kernel:
    name, X = fit.estimator.kernel, fit.float_data("X")
    if name == "precomputed" or name == "linear" or callable(name):
        return Kernel(name, X)
    given = fit.estimator.gamma
    gamma: Any = 1.0 / X.shape[1]
    if not isinstance(given, str):
        gamma = fit.parameter("gamma")
    elif given == "scale":
        gamma = 1.0 / (X.shape[1] * xp.var(X))
    coef0 = 0.0 if name == "rbf" else fit.parameter("coef0")
    return Kernel(name, X, gamma, coef0, fit.estimator.degree)


# --- fits ------------------------------------------------------------------------------------------
def examine_vectors(fit: Fit) -> None:
    if getattr(fit.estimator, "probability", False) is True:
        fit.refuse_fit(
            "probability=True fits the probabilities to a random cross-validation",
            "Take decision_function",
        )
    if hasattr(fit.given["X"], "tocsr"):
        fit.refuse_fit("sparse X has no derivative here", "Give it X.toarray()")


@connects_fit(BASE, "BaseLibSVM", examine=examine_vectors)
def support_vectors(fit: Fit) -> Mapping[str, Array]:
    """Return the fitted attributes of a support vector machine as functions of the data.

    They are the coefficients of all machines, the support vectors and the kernel's gamma.
    """
    twin, kernel = fit.twin, kernel_of(fit)
    coef = np.zeros(twin._dual_coef_.shape)
    rows, constants = [xp.asarray(row) for row in coef], []
    for machine in machines_of_fit(fit, kernel):
        found, alpha, b = machine.dual.solve_machine()
        for row, places in machine.places:
            added = spread_weights(twin.support_, places, machine.dual, found, alpha)
            rows[row] = rows[row] + added
        constants.append(b)
    found_coef, found_b = xp.stack(rows), xp.stack(constants)
    flip = -1.0 if twin._impl in ("c_svc", "nu_svc") and len(twin.classes_) == 2 else 1.0
    attributes = {
        "_dual_coef_": found_coef, "dual_coef_": flip * found_coef,
        "_intercept_": found_b, "intercept_": flip * found_b,
    }  # fmt: skip
    if twin.kernel != "precomputed" and not callable(twin.kernel):
        attributes["support_vectors_"] = kernel.X[twin.support_, :]
    if isinstance(kernel.gamma, Array):
        attributes["_gamma"] = kernel.gamma
    if callable(twin.kernel):
        attributes["_BaseLibSVM__Xfit"] = kernel.X
    return attributes


def spread_weights(
    support: NumpyData, places: NumpyData, dual: Dual, found: NumpyData, alpha: Array
) -> Array:
    """Return a row of scikit-learn's dual_coef_ with one machine's weights, sign * alpha, and else 0.

    support : indices of the samples that are support vectors, one for each column.  places : mask of
    the columns that belong to the machine in this row.  dual : the machine's problem.
    found, alpha : the indices and weights of its candidates with alpha > 0.
    """
    matrix = np.zeros((len(support), len(found)))
    for column, candidate in enumerate(found):
        at = np.flatnonzero(support == dual.rows[candidate])
        if len(at) and places[at[0]]:
            matrix[at[0], column] = dual.signs[candidate]
    return xp.matmul(xp.asarray(matrix), alpha)


@dataclasses.dataclass
class Machine:
    """One of the support vector machines of a fit, and where scikit-learn stores its weights.

    places : pairs of a row number of dual_coef_ and a mask of the support vectors whose weights in
    that row belong to the machine.
    """

    dual: Dual
    places: list[tuple[int, Any]]


def class_pairs(count: int) -> list[tuple[int, int]]:
    """Return the pairs of classes for which libsvm has a machine, in its order: (0, 1), (0, 2), ..."""
    return [*itertools.combinations(range(count), 2)]


def machines_of_fit(fit: Fit, kernel: Kernel) -> list[Machine]:
    """Return the support vector machines of a fit: a classifier has one for each pair of classes."""
    twin = fit.twin
    if twin._impl in ("c_svc", "nu_svc"):
        return [machine_of_pair(fit, kernel, *two) for two in class_pairs(len(twin.classes_))]
    weights, beta = fit.sample_weights(), np.zeros(fit.twin.shape_fit_[0])
    beta[twin.support_] = twin._dual_coef_[0]
    everywhere = [(0, np.ones(len(twin.support_), dtype=bool))]
    rows, ones = np.arange(len(beta)), np.ones(len(beta))
    b = float(twin._intercept_[0])
    if twin._impl == "one_class":
        fit.asked.add("y")
        total = fit.parameter("nu") * xp.sum(weights)
        targets = xp.zeros(len(beta), dtype=xp.float64)
        dual = Dual(fit.name, kernel, rows, ones, targets, weights, beta, b, total)
        return [Machine(dual, everywhere)]
    limits, y = fit.parameter("C") * weights, xp.reshape(fit.float_data("y"), (-1,))
    tube: dict[str, Any] = {}
    if twin._impl == "nu_svr":
        width: Any = 0.0
        tube = {"mass": fit.parameter("nu") * xp.sum(limits), "free": "width"}
    else:
        width = fit.parameter("epsilon")
    dual = Dual(
        fit.name, kernel, np.tile(rows, 2), np.concatenate([ones, -ones]),
        xp.concat([y - width, y + width]), xp.concat([limits, limits]),
        np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)]), b, **tube,
    )  # fmt: skip
    return [Machine(dual, everywhere)]


def machine_of_pair(fit: Fit, kernel: Kernel, first: int, second: int) -> Machine:
    """Return the support vector machine of a classifier that separates two classes.

    kernel : the kernel with the samples of the fit.  first, second : the numbers of the classes.
    Samples of the first have the sign 1.
    """
    twin = fit.twin
    labels = fit.labels().reshape(-1)
    rows = np.concatenate([np.flatnonzero(labels == twin.classes_[k]) for k in (first, second)])
    ours = labels[twin.support_]
    places = [(second - 1, ours == twin.classes_[first]), (first, ours == twin.classes_[second])]
    beta = np.zeros(len(labels))
    for row, mask in places:
        beta[twin.support_[mask]] = twin._dual_coef_[row, mask]
    signs = np.where(labels[rows] == twin.classes_[first], 1.0, -1.0)
    number = class_pairs(len(twin.classes_)).index((first, second))
    b = float(twin._intercept_[number])
    weights = fit.sample_weights()[rows]
    more: dict[str, Any] = {}
    if twin._impl == "nu_svc":
        fit.asked.add("class_weight")  # libsvm ignores it
        more = {"mass": fit.parameter("nu") * xp.sum(weights), "free": "scale"}
    else:
        by_class = weights_of_classes(fit)
        columns = indicators(labels[rows], twin.classes_)
        weights = fit.parameter("C") * weights * xp.matmul(xp.asarray(columns), by_class)
    dual = Dual(
        fit.name, kernel, rows, signs, xp.asarray(signs), weights, signs * beta[rows], b, **more
    )
    return Machine(dual, places)


# --- methods of a fitted machine -------------------------------------------------------------------
def decision(self: Any, X: ArrayInput) -> Array:
    """Return the decision function of each support vector machine at each sample.

    The result is shaped (samples, machines); a classifier has a machine for each pair of classes.
    """
    X = as_float(X)
    if self.kernel == "precomputed":
        K = X[:, self.support_]
    elif callable(self.kernel):
        K = as_float(self.kernel(X, self._BaseLibSVM__Xfit))[:, self.support_]
    else:
        kernel = Kernel(self.kernel, X, self._gamma, as_float(self.coef0), self.degree)
        K = kernel.between_samples(X, as_float(self.support_vectors_))
    coef, b = as_float(self._dual_coef_), as_float(self._intercept_)
    if self._impl not in ("c_svc", "nu_svc"):
        return xp.matmul(K, xp.matrix_transpose(coef)) + b
    ends = np.cumsum(self._n_support)
    classes = [np.arange(end - size, end) for end, size in zip(ends, self._n_support, strict=True)]
    columns: list[Array] = []
    for number, (i, j) in enumerate(class_pairs(len(classes))):
        ours, theirs = classes[i], classes[j]
        f = xp.matmul(K[:, ours], coef[j - 1, :][ours])
        columns.append(f + xp.matmul(K[:, theirs], coef[i, :][theirs]) + b[number])
    return -columns[0] if len(classes) == 2 else xp.stack(columns, axis=1)


def call_method_on_numpy(self: Any, method: str, X: ArrayInput) -> Any:
    """Run scikit-learn's own ``method`` of an estimator with NumPy data in place of Arrays."""
    function = original_of(getattr(type(self), method))
    return function(detached_object(self), detached(X))


@hooks(BASE, "BaseLibSVM._decision_function")
def decision_function(self: Any, X: ArrayInput) -> Array:
    return connect(call_method_on_numpy(self, "_decision_function", X), decision(self, X))


@hooks(CLASSES, "OneClassSVM.predict")
@hooks(BASE, "BaseSVC.predict")
def predict_label(self: Any, X: ArrayInput) -> Any:
    """Return labels, which have no derivative."""
    return call_method_on_numpy(self, "predict", X)


@hooks(BASE, "BaseLibSVM.predict")
def predict(self: Any, X: ArrayInput) -> Any:
    """Return the prediction of a regression, with derivatives."""
    return connect(call_method_on_numpy(self, "predict", X), decision(self, X))


@hooks("sklearn.utils.multiclass", "_ovr_decision_function")
def by_class(predictions: Array, confidences: Array, n_classes: int) -> Any:
    """Combine the decisions of support vector machines for pairs of classes into a score for each class.

    predictions, confidences : labels and decision values, shaped (samples, machines).

    The score is the number of votes for a class plus a term below 1/3, which decides between equal
    votes.  The term is a function of the sums of confidences, as in scikit-learn.
    """
    votes: list[Any] = [0.0] * n_classes
    sums: list[Any] = [0.0] * n_classes
    wins = plain_data(predictions)
    for k, (i, j) in enumerate(class_pairs(n_classes)):
        sums[i], sums[j] = sums[i] - confidences[:, k], sums[j] + confidences[:, k]
        votes[i], votes[j] = votes[i] + (wins[:, k] == 0), votes[j] + (wins[:, k] == 1)
    total = xp.stack(sums, axis=1)
    return np.stack(votes, axis=1) + total / (3.0 * (xp.abs(total) + 1.0))


@hooks(BASE, "BaseLibSVM.coef_.fget")
def coefficients(self: Any) -> Any:
    """Return coef_; scikit-learn's code also sets ``flags.writeable``, which Arrays lack."""
    if self.kernel != "linear":
        raise AttributeError("coef_ is only available when using a linear kernel")
    return self._get_coef()
