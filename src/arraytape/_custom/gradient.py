"""custom_gradient and grad_pass_through: functions that say themselves what their gradient is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from .._array.array import Array
from .._array.views import current
from .._record.stack import new_tid, recorders
from .._storage.storage import HERE, STORAGES
from .._util import nest
from .._util.errors import describe, user_line
from .calls import (
    CUSTOM,
    Call,
    Layout,
    enter,
    followers_of,
    given,
    is_asked_once,
    named,
    needs_care,
)
from .inside import CUT, REFUSE, Arguments, Inside, Stale, check_results, only

P = ParamSpec("P")
R = TypeVar("R")


def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]:
    """Take a function's gradient from the function itself: a decorator.

        @custom_gradient
        def log1pexp(x):
            e = xp.exp(x)
            return xp.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    Parameters
    ----------
    f : Callable
        Returns ``(y, grad_fn)``, y an Array or a nesting of Arrays.  ``grad_fn(*dy)`` takes one
        Array for each Array of y and gives one gradient (None: no gradient) for each Array
        among f's positional arguments, in the Array's shape and dtype: flat, or in the
        arguments' nesting.  Keyword arguments and what is no Array get none; raw arrays become
        Arrays.  Variables that f reads need ``grad_fn(*dy, variables=[...])``, which returns
        ``(gradients of the arguments, gradients of the variables)``.

    Returns
    -------
    Callable
        Takes the arguments of f and gives y.

    Raises
    ------
    TypeError
        When f gives no such pair, or reads Variables that ``grad_fn`` does not take.
    ValueError
        When f uses a watched Array that is not among its positional arguments, or writes to an
        argument.  In the backward pass: when ``grad_fn`` gives a wrong number of gradients, a
        wrong shape or dtype.
    RuntimeError
        In the backward pass: when ``grad_fn`` reads a Variable that f read and that was
        assigned to since (f's own ``v.value()`` is a snapshot).

    Notes
    -----
    What f does is hidden from the tapes, yet the derivative works to any order, since
    ``grad_fn`` is array code over values that outer tapes know; ForwardAccumulator takes the
    transpose of it.  What a selection did not take is not masked inside ``grad_fn``: see
    ``gradient``'s nan.
    """
    name = f"custom_gradient({name_of(f)})"

    @functools.wraps(f)
    def function(*args: Any, **keywords: Any) -> Any:
        return call_with_rule(name, f, args, keywords)

    return function


def grad_pass_through(f: Callable[P, R]) -> Callable[P, R]:
    """Give a function the gradient of the identity: a straight-through estimator.

    Parameters
    ----------
    f : Callable
        Gives as many Arrays as it has Arrays among its positional arguments, of the same shapes
        and dtypes.

    Returns
    -------
    Callable
        Takes the arguments of f and gives its result.  A gradient of the result goes back to
        the arguments as it is; whatever else f uses or writes gets none.

    Raises
    ------
    ValueError
        When f is called and gives other shapes or dtypes.
    """
    name = f"grad_pass_through({name_of(f)})"

    def with_rule(*args: Any, **keywords: Any) -> Any:
        y = f(*args, **keywords)
        inputs, results = (
            [Layout(x) for x in leaves if isinstance(x, Array)]
            for leaves in (nest.leaves(args), check_results(name, y))
        )
        if list(map(str, inputs)) != list(map(str, results)):
            raise ValueError(
                f"{name}: the results [{', '.join(map(str, results))}] must have the shapes and "
                f"dtypes of the Array arguments [{', '.join(map(str, inputs))}] [at {user_line()}]"
            )

        def pull(*dy: Array, variables: Sequence[Any]) -> Any:
            return dy, [None] * len(variables)

        return y, pull

    @functools.wraps(f)
    def function(*args: Any, **keywords: Any) -> Any:
        return call_with_rule(name, with_rule, args, keywords, foreign=CUT, signature_of=f)

    return function


def call_with_rule(
    name: str,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    *,
    foreign: str = REFUSE,
    signature_of: Callable[..., Any] | None = None,
    missing: str | None = None,
) -> Any:
    """Call ``f``, which gives ``(y, grad_fn)``, as one record; ``missing``: it has no grad_fn."""
    arguments, hidden = Arguments(args, keywords), recorders()
    arrays = arguments.arrays
    tids = [x._tid for x in arrays]
    keep = bool(hidden) and not is_asked_once(hidden)
    followed = [tid for tid in tids if any(tid in r.followed for r in hidden)]
    inside = Inside(name, followed, hidden, foreign, keep)
    with only(inside):
        y, pull = pair_of(name, f(*arguments.args, **arguments.keywords), missing)
        leaves = check_results(name, y)
        inside.names(leaves)
        for owner in arguments.written():
            raise ValueError(
                f"{name}: the function writes to {argument(signature_of or f, owner)} "
                f"[at {user_line()}]; write to a copy of it"
            )
        names = [named(leaf) for leaf in leaves] if keep else []
    # Reading a Variable here, outside, lets the tapes watch it.
    variables = inside.variables
    tids += [current(variable)[0] for variable in variables]
    takes_variables = takes(name, pull, variables) if missing is None else False

    followers = followers_of(tids)
    outs = [new_tid() if followers else 0 for _ in leaves]
    results = [given(leaf, out) for leaf, out in zip(leaves, outs, strict=True)]
    if followers:
        layouts = [Layout(x) for x in (*arrays, *variables)]
        owners, nesting = arguments.owners, arguments.parts()
        held = [(variable, variable._data) for variable, _ in inside.seen]

        def gradients(cotangents: Sequence[Array]) -> list[Array | None]:
            options = {"variables": list(variables)} if takes_variables else {}
            stale = [variable for variable, data in held if variable._data is not data]
            with only(*recorders(), Stale(name, stale)) if stale else HERE:
                found = pull(*cotangents, **options)
            found, of_variables = both(name, found) if takes_variables else (found, [])
            parts = counted(name, found, nesting, len(owners), "Array arguments")
            parts += counted(name, of_variables, [], len(variables), "variables")
            whose = [argument(signature_of or f, owner) for owner in owners]
            whose += [f"variable {getattr(v, 'name', None) or i}" for i, v in enumerate(variables)]
            checked = zip(parts, layouts, whose, strict=True)
            return [fitting(name, part, layout, who) for part, layout, who in checked]

        call = Call(name, leaves, gradients if missing is None else None)
        call.missing = missing
        if keep:
            links = [0 if made in tids else made for made in names]
            call.remember(inside, links, outs)
        enter(call, CUSTOM, outs, tids, followers, needs_care((*arrays, *leaves)))
    return nest.pack(y, results)


# --- checks -----------------------------------------------------------------------------------------
def name_of(f: Any) -> str:
    """How messages call a function; TypeError for what cannot be called."""
    if not callable(f):
        raise TypeError(f"a function is needed, got {describe(f)}")
    return str(getattr(f, "__name__", type(f).__name__))


def pair_of(name: str, answer: Any, missing: str | None) -> tuple[Any, Any]:
    """``(y, grad_fn)``, or a TypeError that says what was given."""
    if missing is not None:
        return answer, None
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
        raise TypeError(
            f"{name}: the function must return (y, grad_fn), got {describe(answer)} "
            f"[at {user_line()}]"
        )
    return answer


def takes(name: str, pull: Callable[..., Any], variables: Sequence[Any]) -> bool:
    """Whether grad_fn is given ``variables``; TypeError naming them when it cannot be."""
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


def both(name: str, found: Any) -> tuple[Any, Any]:
    """Gradients of the arguments and of the variables."""
    if not (isinstance(found, tuple | list) and len(found) == 2):
        raise ValueError(
            f"{name}: grad_fn with `variables` must return a pair (gradients of the arguments, "
            f"gradients of the variables), got {describe(found)}"
        )
    return found[0], found[1]


def counted(name: str, found: Any, nesting: Any, count: int, what: str) -> list[Any]:
    """The gradients as a flat list; ValueError with both numbers when there are not as many.

    nesting : the arguments to which they belong, by which the entries of dicts find their order.
    """
    if found is None and count != 1:
        return counted(name, [], nesting, count, what)
    listed = isinstance(found, list | tuple) and len(found) == len(nesting)
    like = nesting if listed or len(nesting) != 1 else nesting[0]
    parts = nest.leaves(nest.in_order_of(like, found, f"{name}: grad_fn"))
    if len(parts) != count:
        raise ValueError(f"{name}: grad_fn gave {len(parts)} gradients for {count} {what}")
    return parts


def fitting(name: str, part: Any, layout: Layout, whose: str) -> Array | None:
    """A gradient that fits what it belongs to; an error names that."""
    if part is None:
        return None
    if not isinstance(part, Array):
        if type(part) not in STORAGES:
            raise TypeError(
                f"{name}: the gradient of {whose} must be an Array or None, got {describe(part)}"
            )
        part = Arguments((part,)).arrays[0]
    found: Array = part
    if not layout.fits(found):
        raise ValueError(
            f"{name}: the gradient of {whose} must be {layout} as that is, got {describe(found)}"
        )
    return found


def argument(f: Callable[..., Any], position: int | str) -> str:
    """``argument 0 ('x')``: its name, where the function's signature tells."""
    if isinstance(position, str):
        return f"argument {position!r}"
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # a builtin
        parameters = []
    if (
        position < len(parameters)
        and parameters[position].kind is not inspect.Parameter.VAR_POSITIONAL
    ):
        return f"argument {position} ({parameters[position].name!r})"
    return f"argument {position}"
