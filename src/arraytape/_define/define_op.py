"""define_op, register_gradient and no_gradient, with which users make ops; and stop_gradient."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.exits import STOPPED
from .._record.op import KINDS, REGISTRY, Op, Sample, register
from .._record.plan import Rule, Unknown
from .._record.stack import OPEN
from .._storage.storage import STORAGES, Storage, admitted
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import describe, entrance, short_repr, user_line
from .._util.nest import Nesting
from .compile import FunctionSpec, compile_function, generated_globals, source_of
from .words import inputs_among, nondifferentiable

_stopped = nondifferentiable(
    "stop_gradient", takes="", gives="", origin="inner",
    continuous=True, propagates_nan=True, in_order=True, scalars=False,
)  # fmt: skip
# The name of an op -> the source location of its register_gradient or no_gradient.
REGISTERED: dict[str, str] = {}


def stop_gradient(x: Nesting) -> Nesting:
    """Return the value of an Array as a constant, through which no gradient flows back.

    Parameters
    ----------
    x : Array or nesting
        An Array, or Arrays in lists, tuples, dicts and dataclasses.

    Returns
    -------
    Array or nesting
        Copies of the Arrays, in the same nesting.

    Raises
    ------
    TypeError
        When a leaf of x is no Array.

    Notes
    -----
    Derivative: none; the gradient is None.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> print(xp.grad(lambda x: xp.sum(x * xp.stop_gradient(x)))(x))
    [1. 2.]
    """
    found = nest.leaves(x)
    for leaf in found:
        if not isinstance(leaf, Array):
            raise TypeError(f"stop_gradient takes Arrays, got {describe(leaf)} [at {user_line()}]")
    stopped = [_stopped(leaf) for leaf in found]
    # Remember the data, so that diagnostics can tell this intended constant from a value that was
    # converted to untracked data by mistake.
    for leaf in stopped if OPEN else ():
        if type(leaf._data) is np.ndarray:
            STOPPED[id(leaf._data)] = leaf._data
    return nest.pack_nesting(x, stopped)


@entrance
def register_gradient(name: str) -> Callable[[Rule], Rule]:
    """Decorate the rule of an op that ``define_op`` made without one.

    Parameters
    ----------
    name : str
        The name of the op in ``define_op``.

    Returns
    -------
    Callable
        The decorator of a rule, which returns the rule unchanged.  The first parameter of the
        rule is the cotangent ``g`` of the result.  It receives other values by the names of its
        parameters: the op's inputs and parameters, the result ``y``, the ``shape`` and ``dtype``
        of the input, and the raw namespace ``xp``.  The rule returns the contribution to the
        cotangent of the op's input, or a tuple with a contribution for each input.

    Raises
    ------
    LookupError
        When there is no op of this name.
    KeyError
        When the op has a rule already; the message names the line of its declaration.
    TypeError
        When the rule has a parameter of a name that the op does not have.

    Examples
    --------
    >>> import arraytape as xp
    >>> halved = xp.define_op("halved", lambda x: x / 2)
    >>> @xp.register_gradient("halved")
    ... def rule(g):
    ...     return g / 2
    >>> print(xp.grad(lambda x: xp.sum(halved(x)))(xp.asarray([1.0, 2.0])))
    [0.5 0.5]
    """

    def declare(rule: Rule) -> Rule:
        op = _op_without_rule(name)
        if not callable(rule):
            raise TypeError(
                f"register_gradient({name!r}): a rule must be a function, got {describe(rule)} "
                f"[at {user_line()}]"
            )
        op.checked = True
        if len(op.inputs) == 1 and not op.variadic:
            op.give_rules([rule], None)
        else:
            op.give_rules(None, rule)
        REGISTERED[name] = user_line()
        return rule

    return declare


@entrance
def no_gradient(name: str) -> None:
    """Declare that an op has no derivative: gradients through it are None.

    Parameters
    ----------
    name : str
        The name of the op in ``define_op``.

    Raises
    ------
    LookupError
        When there is no op of this name.
    KeyError
        When the op has a rule already; the message names the line of its declaration.

    Examples
    --------
    >>> import arraytape as xp
    >>> rank = xp.define_op("rank", lambda x, xp: xp.argsort(xp.argsort(x)))
    >>> xp.no_gradient("rank")
    >>> x = xp.asarray([3.0, 1.0, 2.0])
    >>> with xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.astype(rank(x), xp.float64)
    >>> print(y, tape.gradient(y, x))
    [2. 0. 1.] None
    """
    op = _op_without_rule(name)
    op.give_rules([lambda g: None] * len(op.inputs), None)
    REGISTERED[name] = user_line()


@entrance
def define_op(
    name: str,
    forward: Callable[..., Any],
    word: str = "primitive",
    *rules: Rule | None,
    joint: Rule | None = None,
    outputs: Sequence[str] = ("y",),
    samples: Sequence[Sample] = (),
    domain: tuple[float, float] = (-2.0, 2.0),
) -> Callable[..., Any]:
    """Make a differentiable op of a function of raw arrays (NumPy's or CuPy's) and its rules.

    Parameters
    ----------
    name : str
        The name of the op in the registry, an identifier.
    forward : Callable
        The function that computes the results.  Its array inputs are the parameters annotated
        with ``Array`` or, without such annotations, the positional parameters without a default.
        They receive raw arrays, to which forward must not write (NumPy arrays are read-only).  A
        parameter ``xp`` receives the raw namespace.  forward returns a raw array or a number, or
        a tuple of these if ``outputs`` has several names.  The op has the signature of forward
        without ``xp``, whose defaults must be literals, and the docstring of forward.
    word : str, default: 'primitive'
        The kind of derivative.  "elementwise": one rule for each input, which returns the tangent
        of the result for a tangent ``t``; inputs broadcast.  "linear": one rule, the transpose.
        "primitive": one VJP for each input (None: no gradient), one ``joint`` VJP, or none until
        ``register_gradient``.  "composite": no rules; forward receives Arrays and calls other
        ops.  "nondifferentiable": no rules.
    *rules : Callable | None
        The rules for this word.  ``register_gradient`` describes the parameters of a rule.
    joint : Callable | None, default: None
        One VJP that returns a tuple with a contribution for each input.
    outputs : Sequence[str], default: ('y',)
        The names of the results as parameters of rules.
    samples : Sequence, default: ()
        Arguments for the generated tests of ``arraytape.testing``.
    domain : tuple[float, float], default: (-2.0, 2.0)
        The interval in which ``arraytape.testing`` draws elements of inputs.

    Returns
    -------
    Callable
        The public function of the op, which accepts and returns Arrays.

    Raises
    ------
    KeyError
        When there is an op of this name; the message names the line of its declaration.
    TypeError
        When forward, the number of rules or outputs do not fit the word.  When a name in a rule has
        two meanings, such as ``shape`` in an op that has a parameter ``shape``.
    ValueError
        When there is no such word.

    Examples
    --------
    >>> import arraytape as xp
    >>> softsign = xp.define_op(
    ...     "softsign",
    ...     lambda x, xp: x / (1 + xp.abs(x)),
    ...     "elementwise",
    ...     lambda t, x, xp: t / (1 + xp.abs(x)) ** 2,
    ... )
    >>> x = xp.asarray([-1.0, 0.0, 3.0])
    >>> print(softsign(x))
    [-0.5   0.    0.75]
    >>> print(xp.grad(lambda x: xp.sum(softsign(x)))(x))
    [0.25   1.     0.0625]
    >>> xp.testing.check_gradients(softsign, [x])  # to second order, in both modes
    """
    check_statement(name, forward, word)
    signature, inputs, variadic = inputs_of_forward(name, forward, word)
    check_parameters(name, signature, inputs)
    check_number_of_inputs(name, word, inputs)
    check_rules(name, word, inputs, rules, joint)
    check_outputs(name, outputs)
    if variadic and rules:
        joint, rules = rules[0], ()
    op = Op(
        name, word, inputs, rules=rules or None, joint=joint, outputs=outputs, variadic=variadic,
        parameters=[parameter for parameter in signature.parameters if parameter not in inputs],
        samples=samples, domain=domain, checked=True,
    )  # fmt: skip
    if word == "composite":
        register(op).public = forward
        return forward
    check_names(op, signature)
    public = compile_function(op, signature, given=Forward(op, forward))
    public.__doc__ = inspect.getdoc(forward)
    public.__module__ = getattr(forward, "__module__", None) or public.__module__
    register(op).public = public
    return public


def unregistered_op(name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the public function of an op without a derivative that is not entered in the registry.

    So it needs no unique name: dropout and optimizers run such ops.  forward : the function of raw data,
    as for ``define_op``.
    """
    signature, inputs, _ = inputs_of_forward(name, forward, "nondifferentiable")
    op = Op(
        name,
        "nondifferentiable",
        inputs,
        parameters=[p for p in signature.parameters if p not in inputs],
    )
    return compile_function(op, signature, given=Forward(op, forward))


def statement_error(name: str, what: str) -> TypeError:
    """Return the TypeError for a mistake in the arguments of ``define_op``, described by ``what``."""
    return TypeError(f"define_op({name!r}): {what} [at {user_line()}]")


def check_statement(name: str, forward: Callable[..., Any], word: str) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeError(
            f"define_op: the name must be an identifier, got {describe(name)} [at {user_line()}]"
        )
    if word not in KINDS:
        raise ValueError(
            f"define_op({name!r}): word must be one of {', '.join(KINDS)}, got {short_repr(word)} "
            f"[at {user_line()}]"
        )
    if not callable(forward):
        raise statement_error(name, f"forward must be callable, got {describe(forward)}")
    if name in REGISTRY:
        raise KeyError(
            f"op {name!r} is already declared at {REGISTRY[name].declared} [at {user_line()}]"
        )


def inputs_of_forward(
    name: str, forward: Callable[..., Any], word: str
) -> tuple[inspect.Signature, list[str], bool]:
    """Return a user's op's signature, the names of its array inputs, and True if the op is variadic.

    The only array input of a variadic op is a sequence of arrays.

    forward : the user's function that computes the op.  word : the kind of op, such as "primitive".
    """
    try:
        signature = inspect.signature(forward)
    except (TypeError, ValueError) as error:
        raise statement_error(
            name, "forward has no signature; wrap it: lambda x: forward(x)"
        ) from error
    parameters = [p for p in signature.parameters.values() if p.name != "xp" or word == "composite"]
    inputs, variadic = inputs_among(signature)
    if not inputs:
        inputs = [p.name for p in parameters if p.kind in POSITIONAL and p.default is p.empty]
    return signature.replace(parameters=parameters), inputs, variadic


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check_parameters(name: str, signature: inspect.Signature, inputs: Sequence[str]) -> None:
    """Raise TypeError if an input of a user's op is not positional, or a default is no literal.

    signature, inputs : the op's signature, and the names of its array inputs.
    """
    for p in signature.parameters.values():
        collects = p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if collects or (p.name in inputs and p.kind not in POSITIONAL):
            raise statement_error(
                name, f"forward may have neither *args, **kwargs nor keyword-only inputs, got {p}"
            )
        if p.default is not p.empty and not is_literal(p.default):
            raise statement_error(
                name, f"the default of {p.name} must be a literal, got {describe(p.default)}"
            )


LITERALS = {bool, int, float, complex, str, bytes, type(None), type(...)}


def is_literal(value: Any) -> bool:
    """Return True if a value can be written as a Python literal: a number, string, None or container."""
    if type(value) is dict:
        return all(is_literal(part) for pair in value.items() for part in pair)
    if type(value) in (tuple, list, set, frozenset):
        return all(is_literal(part) for part in value)
    return type(value) in LITERALS


def check_number_of_inputs(name: str, word: str, inputs: Sequence[str]) -> None:
    if not inputs or (word == "linear" and len(inputs) > 1):
        takes = "1 array inputs" + ("" if word == "linear" else " or more")
        raise statement_error(name, f"{word} takes {takes}, forward has {tuple(inputs)}")


def check_rules(
    name: str, word: str, inputs: Sequence[str], rules: Sequence[Any], joint: Rule | None
) -> None:
    """Raise TypeError if a rule of a user's op is no function, or if the number of rules is wrong.

    ``word`` is the kind of op.  "primitive" needs one rule for each input, or one joint rule.
    """
    for rule in (*rules, joint):
        if rule is not None and not callable(rule) and not isinstance(rule, Unknown):
            raise statement_error(name, f"a rule must be a function or None, got {describe(rule)}")
    counts = {"elementwise": len(inputs), "linear": 1, "primitive": len(inputs) if rules else 0}
    count = counts.get(word, 0)
    fits = len(rules) == count and not (joint and (rules or word != "primitive"))
    if not fits:
        got = f"{len(rules)}{' and joint' if joint else ''}"
        raise statement_error(
            name, f"{word} with inputs {tuple(inputs)} takes {count} rules, got {got}"
        )


def check_outputs(name: str, outputs: Sequence[str]) -> None:
    fits = isinstance(outputs, list | tuple) and all(
        isinstance(y, str) and y.isidentifier() for y in outputs
    )
    if not fits or not outputs or len({*outputs}) < len(outputs):
        raise statement_error(
            name,
            f"outputs must be different identifiers in a list or tuple, got {describe(outputs)}",
        )


def check_names(op: Op, signature: inspect.Signature) -> None:
    """Raise TypeError if a parameter has the name of a variable in the generated source.

    The function of a user's op is generated as source text, and has the op's parameters.
    """
    for parameter in signature.parameters:
        if parameter in names_in_source() or parameter[:2] in VALUES_OF:
            raise statement_error(
                op.name, f"a parameter may not be called {parameter!r}, a name in generated code"
            )


VALUES_OF = ("d_", "t_", "s_")  # prefixes in generated source: data, value id and saved value
# Names of the sample ops' inputs.  No other variable of generated source has such a name.
UNTAKEN = ("_a_", "_b_", "_c_")


@functools.cache
def names_in_source() -> frozenset[str]:
    """Return the names of variables in generated source, which parameters of ops may not have.

    The names are read from the source of three sample ops.
    """
    forms = [
        Op("", "elementwise", UNTAKEN[:2], rules=[lambda t, _b_: t, lambda t, _a_: t]),
        Op("", "primitive", UNTAKEN, outputs=("y", "z")),
        Op("", "primitive", UNTAKEN[:1], variadic=True),
    ]
    found = {*generated_globals(forms[0]), "first_call"}
    for op in forms:
        signature = inspect.Signature([inspect.Parameter(x, POSITIONAL[0]) for x in op.inputs])
        nodes = [*ast.walk(ast.parse(source_of(FunctionSpec(op, signature, condition="ufunc"))))]
        targets = [node.target for node in nodes if isinstance(node, ast.comprehension)]
        names = [node.id for node in nodes if isinstance(node, ast.Name)]
        found.update({*names} - {node.id for node in targets if isinstance(node, ast.Name)})
    return frozenset(name for name in found if not name.endswith(UNTAKEN))


class Forward(dict[type, Callable[..., Any]]):
    """The raw functions of a user's op, which call the user's ``forward``: a dict by type of raw data.

    Each of them passes NumPy inputs to ``forward`` as read-only views, and checks the results.
    """

    def __init__(self, op: Op, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.op, self.forward = op, forward
        self.takes_namespace = "xp" in inspect.signature(forward).parameters

    def __missing__(self, kind: type) -> Callable[..., Any]:
        storage = STORAGES[kind]
        # Batched and traced data contain raw data of another storage, on which the function runs.
        if storage.mixed and (self.op.per_element or not storage.many):
            self[kind] = batched = storage.elementwise(self)
            return batched
        function = self.forward
        if self.takes_namespace:
            function = functools.partial(function, xp=storage.xp)

        def run(*args: Any, **keywords: Any) -> Any:
            given = [read_only(arg) for arg in args]
            data = [x for arg in given for x in (arg if isinstance(arg, list) else [arg])]
            arrays = [x for x in data if type(x) is kind]
            try:
                found = function(*given, **keywords)
            except TypeError as error:
                if storage.many and not self.takes_namespace:
                    raise self.namespace_error(error) from error
                raise
            if len(self.op.outputs) == 1:
                return self.result(found, arrays, storage)
            if not isinstance(found, tuple) or len(found) != len(self.op.outputs):
                raise ValueError(
                    f"forward must give a tuple of {len(self.op.outputs)}, {self.op.outputs}; got "
                    f"{describe(found)} [at {user_line()}]"
                )
            return tuple([self.result(part, arrays, storage) for part in found])

        self[kind] = run
        return run

    def namespace_error(self, error: TypeError) -> TypeError:
        """Return the error for a user's ``forward`` that calls NumPy's functions on vmap's batched data.

        The functions of its parameter ``xp`` accept this data.  error : the TypeError that was raised.
        """
        why, _, line = str(error).partition(". Use where")
        return TypeError(
            f"{why}. The forward of {self.op.name} is given the data of all examples at once, which "
            f"NumPy's functions do not take: compute with those of a parameter xp of forward, or call "
            f"{self.op.name} in a loop in place of vmap{line[line.rfind(' [at') :]}"
        )

    def result(self, found: Any, arrays: list[Any], storage: Storage) -> Any:
        """Return a result of ``forward`` as raw data; copy it if it shares memory with an input.

        Raise TypeError for a result that is neither a raw array nor a number.

        found : the result.  arrays : the raw arrays that ``forward`` got.  storage : the functions for
        their library.
        """
        if type(found) not in STORAGES:
            if not isinstance(found, bool | int | float | complex | np.generic):
                raise TypeError(
                    f"forward must give raw arrays or numbers, got {describe(found)} [at {user_line()}]"
                )
            found = storage.asarray(
                found, None, storage.device(arrays[0]) if arrays else None, None
            )
        found = admitted(found)
        if self.op.diagonal:
            shape = np.broadcast_shapes(*(x.shape for x in arrays))
            if found.shape != shape:
                raise ValueError(
                    f"an elementwise op must give shape {shape}, got {found.shape} [at {user_line()}]"
                )
        if any(type(x) is type(found) and storage.shares(found, x) for x in arrays):
            return storage.copy(found)
        return found


def read_only(data: RawArray) -> Any:
    """Return a read-only view of NumPy data, a list of such views for a list, other data unchanged.

    A user's ``forward`` gets it, since a write to an input would change an Array that tapes keep.
    """
    if isinstance(data, list):
        return [read_only(part) for part in data]
    if type(data) is not np.ndarray:
        return data
    view = data.view()
    view.flags.writeable = False
    return view


def _op_without_rule(name: str) -> Op:
    """Return the op called ``name``; raise LookupError if there is none, KeyError if it has a rule.

    ``register_gradient`` and ``no_gradient`` complete such an op.
    """
    op = REGISTRY.get(name) if isinstance(name, str) else None
    if op is None:
        import difflib

        near = difflib.get_close_matches(name, [*REGISTRY], 3) if isinstance(name, str) else []
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise LookupError(f"there is no op named {short_repr(name)} [at {user_line()}]{meant}")
    if name in REGISTERED or op.rules or op.joint or not op.recorded:
        raise KeyError(
            f"op {name!r} already has a rule, declared at {REGISTERED.get(name, op.declared)} "
            f"[at {user_line()}]"
        )
    return op
