"""Differentiate the fits of scikit-learn's estimators: fit NumPy data, then give results derivatives.

    @connects_fit("sklearn.linear_model._glm.glm", "_GeneralizedLinearRegressor")
    def generalized_linear(fit: Fit) -> dict[str, Array]: ...

Most fits run in compiled code, or iterate until they are near a solution, so that a tape cannot follow
them.  If Arrays are among the data or the estimator's parameters, scikit-learn's fit runs on a copy of
the estimator, its twin, with NumPy values.  The decorated function then computes the fitted attributes
once more, as functions of the Arrays.  At the end the estimator gets the values of the twin's attributes
with the derivatives of these functions.  So a fit that fails leaves the estimator as it was.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
import sklearn

import arraytape

from ..._array.array import Array
from ..._dataframes import holds_arrays
from ..._util import nest
from ..._util.errors import TapeWarning, describe, stacklevel, user_line
from .._context import has_array
from .._slopes import result_without_rule, with_slope
from .._statements import hooks, original
from .._wanted import is_wanted

Function = Callable[..., Any]
T = TypeVar("T")


class Fit:
    """The inputs and results of one call of an estimator's fit, which derivative rules read.

    estimator : the user's estimator, whose parameters may be Arrays.
    twin : the fitted copy of the estimator, with NumPy values.
    given : the method's arguments by name.
    result : what the method returned for the twin.
    asked : the names of arguments and parameters that the fit's derivative rule has read or declared.
    An Array under any other name would get no derivative, so ``examine_arrays`` raises TypeError for it.
    """

    def __init__(self, estimator: Any, arguments: dict[str, Any], method: str = "fit") -> None:
        self.estimator = estimator
        self.given = {
            x: arraytape.asarray(y) if holds_arrays(y) else y for x, y in arguments.items()
        }
        self.twin: Any = None
        self.result: Any = None
        self.asked: set[str] = set()
        self.name = type(estimator).__name__
        self.where = self.name if method.startswith("_") else f"{self.name}.{method}"

    def fit_twin(self, original: Function, bound: inspect.BoundArguments) -> None:
        """Fit a copy of the estimator with NumPy data in place of Arrays; store ``twin`` and ``result``.

        original : scikit-learn's method.  bound : the user's arguments, which may be Arrays.
        The data are copied first, because a fit with ``copy_X=False`` writes into them.
        """
        self.given = {
            name: value.copy(order="K") if type(value) is np.ndarray else value
            for name, value in self.given.items()
        }
        self.twin = detached_object(self.estimator)
        args, keywords = detached(bound.args[1:]), detached(bound.kwargs)
        with sklearn.config_context(array_api_dispatch=False):  # not needed by NumPy data
            self.result = original(self.twin, *args, **keywords)

    def float_data(self, name: str) -> Array:
        """Return the argument ``name`` of the fit, such as "X", as a dense float64 Array.

        The name is added to ``asked``, as a sign that the derivative rule reads the argument.
        """
        self.asked.add(name)
        value = self.given[name]
        if hasattr(value, "toarray"):
            value = value.toarray()
        return as_float(value)

    def parameter(self, name: str) -> Array:
        """Return the parameter ``name`` of the estimator, such as "alpha", as a float64 Array."""
        self.asked.add(name)
        return as_float(getattr(self.estimator, name))

    def sample_weights(self) -> Array:
        """Return the weight of each sample, 1.0 if the fit got no ``sample_weight``."""
        self.asked.add("sample_weight")
        X, weights = self.given["X"], self.given.get("sample_weight")
        given = as_float(1.0 if weights is None else weights)
        return arraytape.broadcast_to(given, (X.shape[0] if hasattr(X, "shape") else len(X),))

    def labels(self, name: str = "y") -> Any:
        """Return the argument ``name``, such as class labels, as NumPy data without a derivative."""
        if name not in self.asked:
            warn_of_labels(self.given[name], self.where)
        self.asked.add(name)
        return np.asarray(detached(self.given[name]))

    def examine_arrays(self) -> None:
        """Raise TypeError for an Array that the fit's derivative rule did not read.

        The results would lack the derivatives with respect to the Array.
        """
        parameters = self.estimator.get_params(deep=False)
        for name, value in {**self.given, **parameters}.items():
            if value is not self.estimator and has_array([value]) and name not in self.asked:
                self.refuse_fit(f"an Array as {name}, {describe(value)}, has no derivative here")

    def without_derivative(self, connected: Iterable[str]) -> dict[str, Array]:
        """Return the fitted attributes that have no derivative rule, as Arrays that raise in gradients.

        connected : names of the attributes that have a rule.  A gradient that needs another attribute
        has to be an error, because the attribute's NumPy number would silently count as a constant.
        """
        parameters = self.estimator.get_params(deep=False)
        arrays = nested_arrays([*self.given.values(), *parameters.values()])
        chosen = [
            name
            for name, among in CHOSEN.items()
            if not has_array([parameters.get(parameter) for parameter in among])
        ]
        connected = {*connected, *parameters, *chosen}
        if not parameters.get("fit_intercept", True):
            connected.add("intercept_")  # the constant 0
        return {
            name: result_without_rule(f"{self.name}.{name}", value, arrays)
            for name, value in vars(self.twin).items()
            if name not in connected and is_result(name, value)
        }

    def refuse_fit(self, why: str, instead: str = "") -> NoReturn:
        """Raise TypeError; the message says why the fit has no derivative, and what to do instead."""
        raise TypeError(f"{self.where}: {why}. {instead or INSTEAD} [at {user_line()}]")


def warn_of_labels(labels: object, where: str) -> None:
    """Warn that class labels have no derivative, if they are numbers whose derivative may be needed.

    where : the name of the method that takes the labels, for the message.
    """
    if isinstance(labels, Array) and labels.dtype.kind in "fc" and is_wanted([labels]):
        warnings.warn(
            f"pass class labels that no tape follows, such as y.astype(int): {where} takes "
            f"{describe(labels)} as names of classes, so that the gradient with respect to them is 0 "
            f"[at {user_line()}]",
            TapeWarning,
            stacklevel=stacklevel(),
        )


# For each attribute whose value the fit chooses from candidates: the parameters that hold the
# candidates. If none of these parameters holds an Array, the attribute is a constant.
CHOSEN = {
    "C_": ("Cs",), "X_scale_": (), "l1_ratio_": ("l1_ratio", "l1_ratios"),
    "mean_precision_prior_": ("mean_precision_prior",),
    "weight_concentration_prior_": ("weight_concentration_prior",),
}  # fmt: skip
INSTEAD = "Give it NumPy data (np.asarray(xp.stop_gradient(X))) where no gradient is wanted"
Connect = Callable[[Fit], Mapping[str, Any]]
Examine = Callable[[Fit], None]
Result = Callable[[Any, Fit], Any]


class Statement:
    """The declaration of how the fits of a class are differentiated.

    connect : function of a Fit that returns a dict of fitted attributes, computed from the Arrays.
    examine : function of a Fit that runs before the fit, and may refuse it by ``fit.refuse_fit``.
    ignores : names of arguments and parameters without influence on the fit's derivatives.
    result : function of the fitted estimator and the Fit that returns the method's result; None if
    the method returns the estimator.
    """

    def __init__(
        self, connect: Connect, examine: Examine | None, ignores: Iterable[str], result: Result | None,
    ) -> None:  # fmt: skip
        self.connect, self.examine, self.result = connect, examine, result
        self.ignores = frozenset(ignores)

    def fit_connected(self, original: Function, bound: inspect.BoundArguments) -> Any:
        estimator, *_ = bound.args
        fit = Fit(estimator, bound.arguments, original.__name__)
        fit.asked |= self.ignores
        if self.examine is not None:
            self.examine(fit)
        fit.fit_twin(original, bound)
        connected = self.connect(fit)
        fit.examine_arrays()
        found = {name: connect(vars(fit.twin)[name], value) for name, value in connected.items()}
        whole = fit.result is fit.twin
        if not whole and self.result is None:
            fit.refuse_fit(f"what it returns, {describe(fit.result)}, has no derivative here")
        take_over(estimator, fit.twin, {**fit.without_derivative(found), **found})
        return estimator if whole or self.result is None else self.result(estimator, fit)


STATEMENTS: dict[tuple[str, str, str], Statement] = {}  # by module, class and method


def connects_fit(
    module: str, *classes: str, method: str = "fit", examine: Examine | None = None,
    ignores: Iterable[str] = (), result: Result | None = None, refuses: bool = False,
) -> Callable[[Connect], Connect]:  # fmt: skip
    """Return a decorator: the decorated function gives the attributes of a fit their derivatives.

    It gets a Fit (the inputs and results of scikit-learn's fit), and returns a dict of fitted
    attributes, computed from the Arrays.  They keep scikit-learn's values.

    module, classes, method : the methods of scikit-learn that are differentiated.  examine : function of
    a Fit that runs before the fit, and may refuse it.
    ignores : names of arguments and parameters without influence on the derivatives.
    result : function that returns the method's result; None if that is the estimator.
    refuses : True if ``examine`` always refuses the fit.
    """

    def declare_fit(connect: Connect) -> Connect:
        for name in classes:
            STATEMENTS[module, name, method] = Statement(connect, examine, ignores, result)
            hooks(module, f"{name}.{method}", refuses=refuses)(entering(module, name, method))
        return connect

    return declare_fit


def refuses(module: str, *classes: str, why: str, instead: str = "", method: str = "fit") -> None:
    """Make a method of these classes, usually ``fit``, raise TypeError if it is called with Arrays.

    why, instead : the reason and the advice in the message.
    """

    def refuse_always(fit: Fit) -> None:
        fit.refuse_fit(why, instead)

    connects_fit(module, *classes, method=method, examine=refuse_always, refuses=True)(
        lambda fit: {}
    )


def entering(module: str, name: str, method: str) -> Function:
    """Return the function that replaces a fit: the method ``method`` of the class ``name``.

    On Arrays it fits with the derivative rule for the class, else it runs scikit-learn's code.
    """

    def fit_or_run(estimator: Any, *args: Any, **keywords: Any) -> Any:
        function = original(module, f"{name}.{method}")
        statement = statement_of(type(estimator), method)
        concerned = has_array([*args, *keywords.values(), *estimator_parameters(estimator)])
        if statement is None or not concerned:
            return function(estimator, *args, **keywords)
        bound = signature_of(function).bind(estimator, *args, **keywords)
        return statement.fit_connected(function, bound)

    return fit_or_run


signature_of = functools.cache(inspect.signature)


def statement_of(kind: type, method: str) -> Statement | None:
    for base in kind.__mro__:
        found = STATEMENTS.get((base.__module__, base.__qualname__, method))
        if found is not None:
            return found
    return None


def estimator_parameters(estimator: Any) -> list[Any]:
    return [*estimator.get_params(deep=True).values()]


# --- the twin -----------------------------------------------------------------------------------------
def detached(value: Any) -> Any:
    """Return ``value`` with NumPy data in place of Arrays, also in containers and estimators.

    No tape follows the data, and scikit-learn may write to them.
    """
    if isinstance(value, Array):
        data = np.array(arraytape.stop_gradient(value))
        return data.item() if data.ndim == 0 else data
    if type(value) in (list, tuple) and has_array(value):
        return type(value)([detached(x) for x in value])
    if type(value) is dict and has_array(value.values()):
        return {key: detached(x) for key, x in value.items()}
    if is_component(value) and has_array(estimator_parameters(value)):
        return detached_object(value)
    if holds_arrays(value):
        if isinstance(value, np.ndarray):
            return detached(arraytape.asarray(value))
        return nest.pack_nesting(value, [detached(x) for x in nest.leaves(value)])
    return value


def is_component(value: object) -> bool:
    """Return True for an instance with parameters: an estimator or a kernel."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def detached_object(thing: Any) -> Any:
    """Return a copy of an estimator or kernel, with NumPy data in place of Arrays in its attributes."""
    twin = object.__new__(type(thing))
    vars(twin).update({name: detached(value) for name, value in vars(thing).items()})
    return twin


def take_over(estimator: Any, twin: Any, found: Mapping[str, Any]) -> None:
    """Give the user's estimator the results of a fit.

    twin : the fitted copy of the estimator.  found : attributes with derivatives, by name.  The
    estimator keeps its parameters, gets the attributes in ``found`` and the others of ``twin``, and
    loses all else.
    """
    parameters = {*estimator.get_params(deep=False)}
    fitted = {name: value for name, value in vars(twin).items() if name not in parameters}
    kept = {name: value for name, value in vars(estimator).items() if name in parameters}
    state = {**kept, **fitted, **found}
    for name in [*vars(estimator)]:
        if name not in state:
            delattr(estimator, name)
    vars(estimator).update(state)


def nested_arrays(values: Iterable[Any]) -> list[Array]:
    """Return all Arrays in ``values``, also those within lists, tuples, dicts, tables and estimators."""
    found: list[Array] = []
    for value in values:
        if isinstance(value, Array):
            found.append(value)
        elif type(value) in (list, tuple):
            found += nested_arrays(value)
        elif type(value) is dict:
            found += nested_arrays(value.values())
        elif is_component(value):
            found += nested_arrays(estimator_parameters(value))
        elif holds_arrays(value):
            parts = value.flat if isinstance(value, np.ndarray) else nest.leaves(value)
            found += nested_arrays(parts)
    return found


def is_result(name: str, value: object) -> bool:
    """Return True if an attribute is a public result of a fit that may have a derivative.

    Its name is like "coef_" but not "_coef_", and its value holds floating-point numbers.
    """
    public = name[0] != "_" and name[-1] == "_"
    numbers = isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f"
    return public and (numbers or type(value) is float)


def connect(value: object, formula: T) -> T:
    """Return scikit-learn's value of an attribute with the derivatives of ``formula``.

    formula : the attribute, computed from Arrays by recorded ops.

    A formula that is no Array is returned as it is.
    """
    if not isinstance(formula, Array):
        return formula
    data = np.asarray(value)
    if data.size != formula.size:
        raise ValueError(
            f"the formula has {describe(formula)}, the fitted attribute {describe(data)}"
        )
    shaped = arraytape.reshape(formula, data.shape)
    derivative = arraytape.astype(shaped, data.dtype, copy=False)
    return cast("T", with_slope(arraytape.asarray(data), derivative))


def as_float(value: Any) -> Array:
    """Convert data or a parameter to a float64 Array; tapes follow it if it is or holds an Array."""
    if isinstance(value, Array):
        return arraytape.astype(value, arraytape.float64, copy=False)
    if has_array([value]):
        return arraytape.astype(arraytape.asarray(value), arraytape.float64, copy=False)
    return arraytape.asarray(np.array(value, dtype=np.float64))
