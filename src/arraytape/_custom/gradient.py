"""custom_gradient and grad_pass_through: functions whose gradient the user defines.

A call runs the function once with a private recorder (``run_hidden``), so that tapes do not record its
ops.  The call then becomes one record, whose rule is the user's ``grad_fn`` (``UserRule``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from .._array.array import Array
from .._record.stack import only_recorders, recorders
from .._storage.batched.batched_data import axis_ids_of
from .._storage.storage import HERE, STORAGES
from .._tape.hidden_axes import sum_over_surplus, surplus_of, with_hidden_axes
from .._util import nest
from .._util.errors import describe, describe_result, user_line
from .._util.nest import Nesting
from .private_handles import Arguments, GradientForm, as_private_array, check_results, display_name
from .recorded_calls import CUSTOM, FORWARD, Call, Layout, may_record_gradients, publish
from .recorder import OnCapture, RefuseChanged, Trace, run_hidden

P = ParamSpec("P")
R = TypeVar("R")


def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]:
    """Decorate a function that returns its result together with the rule for its gradient.

    Parameters
    ----------
    f : Callable
        Returns ``(y, grad_fn)``, where y is an Array or a nesting of Arrays.  ``grad_fn(*dy)``
        receives one cotangent for each Array of y.  It returns one gradient (None: no gradient)
        for each Array among f's positional arguments, of that Array's shape and dtype, as a flat
        sequence or in the nesting of the arguments.  It may also return a gradient for each
        number, which is ignored, and None for each other argument.  Keyword arguments get no
        gradient.  f receives raw arrays as Arrays.  If f reads trainable Variables, ``grad_fn``
        is called as ``grad_fn(*dy, variables=[...])`` and returns the pair
        ``(gradients of the arguments, gradients of the variables)``.

    Returns
    -------
    Callable
        Accepts the arguments of f and returns y.

    Raises
    ------
    TypeError
        When f does not return such a pair, or when f reads trainable Variables and ``grad_fn``
        has no parameter ``variables``.
    ValueError
        When f uses a watched Array that is not among its positional arguments, or writes to an
        argument.  In the backward pass: when ``grad_fn`` returns a wrong number of gradients, or
        a gradient of a wrong shape or dtype.
    RuntimeError
        In the backward pass: when ``grad_fn`` reads a Variable that f read and that was
        assigned to since.  To use the earlier value, let f take a snapshot: ``v.value()``.

    Notes
    -----
    Tapes do not record the ops inside f.  Derivatives of any order still work, since outer tapes
    record the ops of ``grad_fn`` and follow the values that it uses.  ForwardAccumulator
    computes tangents by transposing ``grad_fn``.  The rerun that ``gradient(nan='guard')`` makes
    after a NaN does not mask the elements inside ``grad_fn`` that a selection did not take.

    Examples
    --------
    >>> import arraytape as xp
    >>> @xp.custom_gradient
    ... def log1pexp(x):
    ...     e = xp.exp(x)
    ...     return xp.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
    >>> x = xp.asarray(100.0)
    >>> print(xp.grad(log1pexp)(x))
    1.0
    """
    name = f"custom_gradient({display_name(f)})"

    def call_with_grad_fn(*args: Any, **keywords: Any) -> tuple[Any, Any]:
        return checked_pair(name, f(*args, **keywords))

    @functools.wraps(f)
    def custom_function(*args: Any, **keywords: Any) -> Any:
        return call_with_rule(name, call_with_grad_fn, args, keywords, signature_of=f)

    return custom_function


def grad_pass_through(f: Callable[P, R]) -> Callable[P, R]:
    """Give a function the gradient of the identity (a straight-through estimator).

    Parameters
    ----------
    f : Callable
        Returns as many Arrays as it has Arrays among its positional arguments, of the same
        shapes and dtypes in the same order.

    Returns
    -------
    Callable
        Accepts the arguments of f and returns its result.  The gradient of each result becomes,
        unchanged, the gradient of the corresponding argument.  Other values that f uses get no
        gradient.

    Raises
    ------
    ValueError
        At a call, when f returns other shapes or dtypes than its Array arguments have.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([0.4, 1.6])
    >>> print(xp.round(x))
    [0. 2.]
    >>> print(xp.grad(lambda x: xp.sum(xp.grad_pass_through(xp.round)(x) ** 2))(x))
    [0. 4.]
    """
    name = f"grad_pass_through({display_name(f)})"

    def call_passed_through(*args: Any, **keywords: Any) -> tuple[Any, Any]:
        y = f(*args, **keywords)
        check_same_layouts(name, args, y)

        def pull_unchanged(*dy: Array, variables: Sequence[Any]) -> Any:
            return dy, [None] * len(variables)

        return y, pull_unchanged

    @functools.wraps(f)
    def passed_function(*args: Any, **keywords: Any) -> Any:
        return call_with_rule(
            name, call_passed_through, args, keywords, on_capture=OnCapture.CUT, signature_of=f
        )

    return passed_function


def call_with_rule(
    name: str,
    f: Callable[..., tuple[Any, Any]],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    *,
    signature_of: Callable[..., Any],
    on_capture: OnCapture = OnCapture.REFUSE,
    missing: str | None = None,
    reason: tuple[str, ...] = (),
) -> Any:
    """Call ``f``, which returns ``(y, grad_fn)``, record the call as one record, and return y.

    signature_of : the user's function, whose parameter names stand in messages.
    on_capture : the reaction if f uses a watched Array that is not among the arguments.
    missing : for a function without a derivative, its name, which the error of a gradient through the
    call shows.  reason : an argument and the reason why there is no derivative, for the same error.
    """
    arguments = Arguments(args, keywords)
    keeps_records = may_record_gradients(recorders())
    known = arguments.give_new_ids() if on_capture is OnCapture.REFUSE else {}
    trace = run_hidden(
        name, for_each_example(f), arguments.inputs, on_capture, keeps_records, known=known
    )
    if written := arguments.written_arguments():
        raise ValueError(
            f"{name}: the function writes to {name_argument(signature_of, written[0])} "
            f"[at {user_line()}]; write to a copy of it"
        )
    takes_variables = missing is None and accepts_variables(
        name, trace.rule, trace.recorder.variables
    )

    def make_call() -> Call:
        if missing is not None:
            return Call(name, trace, missing=missing, reason=reason)
        return Call(name, trace, UserRule(name, arguments, trace, takes_variables, signature_of))

    return publish(trace, CUSTOM, make_call)


class UserRule:
    """The VJP of one call, which runs the user's ``grad_fn`` and checks the gradients that it returns.

    The number, shapes and dtypes of the gradients are compared with the Array arguments and Variables.

    trace : the finished run of the user's function, with its arguments, results and ``grad_fn``.
    takes_variables : True if ``grad_fn`` is called with the keyword ``variables``.
    signature_of : the user's function, whose parameter names stand in messages.
    """

    def __init__(
        self,
        name: str,
        arguments: Arguments,
        trace: Trace,
        takes_variables: bool,
        signature_of: Callable[..., Any],
    ) -> None:
        self.name, self.grad_fn, self.takes_variables = name, trace.rule, takes_variables
        self.signature_of = signature_of
        setattr(self, FORWARD, getattr(trace.rule, FORWARD, None))
        self.variables = trace.recorder.variables
        self.variable_values = trace.recorder.variable_values
        self.owners, self.forms = arguments.owners, arguments.forms()
        self.layouts = [Layout(x) for x in (*trace.arrays, *self.variables)]

    def __call__(self, cotangents: Sequence[Array]) -> list[Array | None]:
        """Return the gradients with respect to the Array arguments, then to the Variables in use.

        cotangents : one for each Array that the function returned.
        """
        found, of_variables = self._answer(cotangents)
        parts = gradients_of_arrays(self.name, found, self.forms)
        parts += flat_gradients(self.name, of_variables, [], len(self.variables), "variables")
        whose = [name_argument(self.signature_of, owner) for owner in self.owners]
        whose += [f"variable {getattr(v, 'name', None) or i}" for i, v in enumerate(self.variables)]
        axes = axis_ids_of([g._data for g in cotangents])
        return [
            summed_over_examples(
                fitting_gradient(self.name, part, layout, who), layout, axes, self.name
            )
            for part, layout, who in zip(parts, self.layouts, whose, strict=True)
        ]

    def _answer(self, cotangents: Sequence[Array]) -> tuple[Any, Any]:
        """Call ``grad_fn``; return its unchecked gradients of the arguments, and of the Variables.

        Raise RuntimeError if grad_fn reads a Variable that was assigned to since the function read it.
        """
        changed = [v for v, data in self.variable_values if v._data is not data]
        refuse = RefuseChanged(self.name, changed)
        with only_recorders(*recorders(), refuse) if changed else HERE:
            if not self.takes_variables:
                return self.grad_fn(*cotangents), []
            return split_gradients(
                self.name, self.grad_fn(*cotangents, variables=list(self.variables))
            )


# --- checks; ``name`` is the function in messages -----------------------------------------------
def checked_pair(name: str, answer: Any) -> tuple[Any, Any]:
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
        raise TypeError(
            f"{name}: the function must return (y, grad_fn), got {describe_result(answer)} "
            f"[at {user_line()}]"
        )
    return answer


def check_same_layouts(name: str, args: tuple[Any, ...], y: Nesting) -> None:
    """Raise ValueError unless the results have the shapes and dtypes of the Array arguments.

    ``grad_pass_through`` passes the gradient of each result on to one argument.
    """
    arrays = [x for x in nest.leaves(args) if isinstance(x, Array)]
    inputs, results = (
        [str(Layout(x)) for x in found] for found in (arrays, check_results(name, y))
    )
    if inputs != results:
        raise ValueError(
            f"{name}: the results [{', '.join(results)}] must have the shapes and dtypes of the "
            f"Array arguments [{', '.join(inputs)}] [at {user_line()}]"
        )


def accepts_variables(name: str, pull: Callable[..., Any], variables: Sequence[Any]) -> bool:
    """Return True if ``pull``, the grad_fn of a user's function, is to get the keyword ``variables``.

    variables : the Variables that the user's function read.  If there are any, raise TypeError if
    grad_fn does not accept the keyword, and count its ``**kwargs`` as acceptance.
    """
    parameters: Mapping[str, inspect.Parameter] = {}
    with suppress(TypeError, ValueError):  # a builtin has no signature
        parameters = inspect.signature(pull).parameters
    by_name = "variables" in parameters
    if variables and not by_name:
        by_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if variables and not by_name:
        names = ", ".join(str(getattr(v, "name", None) or describe(v)) for v in variables)
        raise TypeError(
            f"{name}: the function reads the variables {names}, so grad_fn must take the keyword "
            f"`variables` and return (gradients of the arguments, gradients of the variables) "
            f"[at {user_line()}]"
        )
    return by_name


def split_gradients(name: str, found: Any) -> tuple[Any, Any]:
    if not (isinstance(found, tuple | list) and len(found) == 2):
        raise ValueError(
            f"{name}: grad_fn with `variables` must return a pair (gradients of the arguments, "
            f"gradients of the variables), got {describe(found)} [at {user_line()}]"
        )
    return found[0], found[1]


def gradients_of_arrays(name: str, found: Nesting, forms: Sequence[GradientForm]) -> list[Any]:
    """Return the gradients of the Array arguments, as a flat list, from what a user's grad_fn returned.

    found : the result of grad_fn: gradients for the Arrays alone, for Arrays and numbers, or for all
    arguments.
    forms : these three lists of arguments.  The first with as many leaves as ``found`` is used.
    """
    errors = []
    for form in forms:
        try:
            parts = flat_gradients(name, found, form.nesting, len(form.kinds), "Array arguments")
        except ValueError as error:
            errors.append(error)
            continue
        for part, kind in zip(parts, form.kinds, strict=True):
            if kind == "other" and part is not None:
                raise ValueError(
                    f"{name}: return None from grad_fn for each argument that is neither Array nor "
                    f"number, got the gradient {describe(part)} [at {user_line()}]"
                )
        return [part for part, kind in zip(parts, form.kinds, strict=True) if kind == "array"]
    raise errors[0]


def flat_gradients(name: str, found: Nesting, nesting: Nesting, count: int, what: str) -> list[Any]:
    """Return the leaves of ``found``, grad_fn's gradients; raise ValueError if there are not ``count``.

    nesting : the arguments to which the gradients belong.  A dict of gradients is read in the order of
    the keys of the corresponding dict in ``nesting``.
    what : "Array arguments" or "variables", for the message.
    """
    if found is None and count != 1:  # grad_fn without a return statement
        return flat_gradients(name, [], nesting, count, what)
    listed = isinstance(found, list | tuple) and len(found) == len(nesting)
    like = nesting if listed or len(nesting) != 1 else nesting[0]
    parts = nest.leaves(nest.in_order_of(like, found, f"{name}: grad_fn"))
    if len(parts) != count:
        raise ValueError(
            f"{name}: grad_fn gave {len(parts)} gradients for {count} {what} [at {user_line()}]"
        )
    return parts


def fitting_gradient(name: str, part: Any, layout: Layout, whose: str) -> Array | None:
    """Return ``part``, one gradient from grad_fn, as an Array, or None for None.

    Raise TypeError if the gradient is no array, ValueError if its shape, dtype or device is not that of
    its argument.

    name : the name of the function in messages.
    layout : the shape, dtype, library and device of the argument.
    whose : the argument or Variable in the message.
    """
    if part is None:
        return None
    if not isinstance(part, Array) and type(part) not in STORAGES:
        raise TypeError(
            f"{name}: the gradient of {whose} must be an Array or None, got {describe(part)} "
            f"[at {user_line()}]"
        )
    if not layout.fits_layout(part):
        raise ValueError(
            f"{name}: the gradient of {whose} must be {layout} like the value itself, got "
            f"{describe(part)} [at {user_line()}]"
        )
    return part if isinstance(part, Array) else as_private_array(part)


def summed_over_examples(
    part: Array | None, layout: Layout, axes: tuple[int, ...], name: str
) -> Array | None:
    """Sum a gradient over the hidden axes (of a vmap) that its argument does not have.

    An argument that all examples of the vmap share thus gets the sum of their gradients.  Raise
    ValueError for a hidden axis that is not in ``axes``: grad_fn then used a value of one example that
    is no argument.

    axes : the ids of the hidden axes of the cotangents.
    """
    if part is None:
        return None
    if not set(surplus_of(part, layout.shape)) <= set(axes):
        raise ValueError(
            f"{name}: under vmap, grad_fn uses a value of one example that is not among the function's "
            f"arguments [at {user_line()}]; pass it as an argument"
        )
    summed: Array = sum_over_surplus(part, layout.shape)
    return summed


def for_each_example(
    f: Callable[..., tuple[Any, Any]],
) -> Callable[..., tuple[Any, Any]]:
    """Wrap ``f``, which returns ``(y, grad_fn)``: under vmap, repeat a y that is alike for all examples.

    Otherwise vmap would sum the cotangent of y over the examples, and grad_fn would pass the sum to
    each.
    """

    def example_function(*args: Any, **keywords: Any) -> tuple[Any, Any]:
        y, rule = f(*args, **keywords)
        leaves = nest.leaves(y)
        data = [x._data for x in (*nest.leaves(args), *leaves) if isinstance(x, Array)]
        if axis_ids_of(data):
            each = [with_hidden_axes(x, *data) if isinstance(x, Array) else x for x in leaves]
            y = nest.pack_nesting(y, each)
        return y, rule

    return example_function


def name_argument(f: Callable[..., Any], position: int | str) -> str:
    """Return the words for an argument of f in messages: ``argument 0 ('x')``, or ``argument 0``.

    position : the position of the argument, or its keyword.
    """
    if isinstance(position, str):
        return f"argument {position!r}"
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # a builtin has no signature
        parameters = []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [p.name for p in parameters if p.kind in positional]
    return f"argument {position}" + (f" ({named[position]!r})" if position < len(named) else "")
