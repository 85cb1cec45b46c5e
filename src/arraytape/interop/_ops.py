"""Define ops whose values a library such as SciPy computes, and whose derivatives are our rules.

    inv = library_op("scipy.linalg.inv", lambda a: scipy_inv(a), rules.inv_vjp)

The rules are array-API code, as all ops' rules are.  A rule may call such an op, its own included: a
call on Arrays is recorded, and a call on raw data runs the library's function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from .._array.array import Array
from .._define.compile import compile_function
from .._define.define_op import check_names, read_only
from .._define.raw_calls import call_function
from .._define.words import array_inputs
from .._record.op import Cusped, Op
from .._record.plan import Rule
from .._storage.batched.batched_data import Batched, axis_ids_of
from .._storage.batched.indexing import each_one
from .._storage.storage import MAKING
from .._util.errors import TRAMPOLINE, describe, user_frame, user_line
from ._context import has_array
from ._facades import no_rule
from ._plain import ArrayInput

Function = Callable[..., Any]


class LibraryOp:
    """An op that runs a library's function, callable with Arrays or with raw data.

    public : the function for Arrays, which records the call.  raw : a dict from types of raw data to
    functions for them, which rules use in the backward pass.
    """

    def __init__(self, op: Op, public: Function, raw: Raw) -> None:
        self.op, self.public, self.raw = op, public, raw
        self.__name__, self.__doc__ = op.name, public.__doc__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        data = [x for arg in args for x in (arg if type(arg) in (list, tuple) else (arg,))]
        if any(isinstance(x, Array) for x in data):
            return self.public(*args, **keywords)
        kinds = {type(x) for x in data}
        return self.raw[Batched if Batched in kinds else np.ndarray](*args, **keywords)


def library_op(
    name: str, forward: Function, *rules: Rule | None, word: str = "primitive",
    joint: Rule | None = None, outputs: Sequence[str] = ("y",), cores: Sequence[int] | None = None,
    linear_in: Sequence[str] = (), cusped: Cusped = False, saves: dict[str, Rule] | None = None,
) -> LibraryOp:  # fmt: skip
    """Define an op that a library computes on NumPy data.

    forward : calls the library.  Its inputs are the parameters annotated with ``Array`` or, if there
    are none, those without a default; all others are options.  It returns NumPy data, a tuple if
    ``outputs`` names several results.
    rules : a function for each input that returns its cotangent.  joint : one function that returns the
    cotangents of all inputs.  word : the kind of op, see ``_define.words``.
    cores : how many last axes of each input make one problem, if the function broadcasts over all axes
    before them; without cores, ``vmap`` calls the function once for each example.

    Such ops are not in the registry, because they exist only once the library has been imported.
    """
    signature = inspect.signature(forward)
    inputs, variadic = array_inputs(forward)
    if not inputs:
        inputs = [p.name for p in signature.parameters.values() if p.default is p.empty]
    if variadic and rules:
        joint, rules = rules[0], ()
    if name.startswith("scipy.linalg."):
        rules, joint = tuple([without_halves(rule) for rule in rules]), without_halves(joint)
    if {*inputs} & {*outputs}:
        raise TypeError(f"{name}: rename the input that is called as a result is, {outputs}")
    op = Op(
        name, word, inputs, rules=rules or None, joint=joint, outputs=outputs, variadic=variadic,
        parameters=[p for p in signature.parameters if p not in inputs], checked=True,
        linear_in=linear_in, cusped=cusped, selects=False, saves=saves,
    )  # fmt: skip
    check_names(op, signature)
    raw = Raw(op, forward, cores)
    public = compile_function(op, signature, given=raw)
    public.__doc__ = inspect.getdoc(forward)
    op.public = public
    return LibraryOp(op, public, raw)


def without_halves(rule: Rule | None) -> Rule | None:
    """Wrap an op's rule so that it gets float32 in place of float16, which NumPy's linalg refuses."""
    names = () if rule is None else tuple(inspect.signature(rule).parameters)
    if rule is None or "xp" not in names:
        return rule
    place, known = names.index("xp"), rule

    @functools.wraps(known)
    def call_widened(*args: Any) -> Any:
        if any(getattr(x, "dtype", None) == np.float16 for x in args):
            xp = args[place]
            args = tuple([
                xp.astype(x, xp.float32) if getattr(x, "dtype", None) == np.float16 else x
                for x in args
            ])  # fmt: skip
        return known(*args)

    return call_widened


class Raw(dict[type, Function]):
    """A dict from types of raw data, such as ndarray, to functions that run a library's function on it.

    Rules use it in the backward pass.

    op : the op.  forward : the library's function on NumPy data.  cores : the number of last axes of
    each input that make one problem, if the function broadcasts over all axes before them, or None.
    """

    def __init__(self, op: Op, forward: Function, cores: Sequence[int] | None) -> None:
        super().__init__()
        self.op, self.forward, self.cores = op, hide_from_warnings(forward), cores
        self[np.ndarray] = self.compute_or_note
        self[Batched] = self.compute_each if cores is None else self.compute_stacks

    def __missing__(self, kind: type) -> Function:
        making = MAKING.get()
        if making is not None and kind is making.kind:
            return self.compute_or_note

        def refuse_device(*args: Any, **keywords: Any) -> Any:
            raise TypeError(
                f"{self.op.name} is computed on NumPy data, got {describe(args[0])}: move it to the "
                f"host first, as x.to_device('cpu') does [at {user_line()}]"
            )

        return refuse_device

    def compute_or_note(self, *args: Any, **keywords: Any) -> Any:
        """Return the library's results for raw data; raise TypeError if an argument has an Array.

        While a function is traced for ``replay``, which repeats its ops without Python, also add the
        call to the trace.
        """
        if has_array(args) or has_array(keywords.values()):
            # The library's function, which has a hook, would call this op again.
            raise no_rule(self.op.name, "an Array among its options")
        making = MAKING.get()
        if making is not None:
            return making.noted(self.op.name, self.compute_on_numpy)(*args, **keywords)
        return self.compute_on_numpy(*args, **keywords)

    def compute_on_numpy(self, *args: Any, **keywords: Any) -> Any:
        """Call the library's function on NumPy data; copy results that share memory with operands.

        Warnings of the library point at the user's line.
        """
        given = [read_only(arg) for arg in args]
        found = at_users_line(self.forward)(*given, **keywords)
        arrays = [x for arg in given for x in (arg if isinstance(arg, list) else [arg])]
        if len(self.op.outputs) == 1:
            return copy_if_shared(found, arrays)
        return tuple([copy_if_shared(part, arrays) for part in found])

    def compute_each(self, *args: Any, **keywords: Any) -> Any:
        return each_one(self.compute_or_note, args, keywords)

    def compute_stacks(self, *args: Any, **keywords: Any) -> Any:
        """Compute all examples that ``vmap`` maps over in one call of the library's function.

        The axes of ``vmap`` become the first axes, so that the function broadcasts over them.
        """
        assert self.cores is not None
        operands, options = args[: len(self.cores)], args[len(self.cores) :]
        if any(len(x.shape) < core for x, core in zip(operands, self.cores, strict=True)):
            # An operand has too few axes, and vmap's axes must not be taken for its own.
            return self.compute_each(*args, **keywords)
        axis_ids = axis_ids_of(operands)
        depth = max(len(x.shape) - core for x, core in zip(operands, self.cores, strict=True))
        data = [
            x.aligned(axis_ids, depth + core) if type(x) is Batched else x
            for x, core in zip(operands, self.cores, strict=True)
        ]
        found = self.compute_or_note(*data, *options, **keywords)
        if len(self.op.outputs) == 1:
            return Batched(found, axis_ids)
        return tuple([Batched(part, axis_ids) for part in found])


def hide_from_warnings(function: Any) -> Function:
    """Return a copy of a function whose frames ``warnings.warn`` skips.

    Then the warnings of functions that it calls point at the caller's line.
    """
    code = function.__code__.replace(co_filename=TRAMPOLINE)
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def at_users_line(function: Function) -> Function:
    """Wrap a function, so that its warnings point at the user's line."""
    frame = user_frame()
    if frame is None:
        return function
    code = call_function.__code__.replace(
        co_filename=frame.f_code.co_filename, co_firstlineno=frame.f_lineno
    )
    return functools.partial(FunctionType(code, frame.f_globals), function)


def copy_if_shared(found: ArrayInput, arrays: Sequence[Any]) -> Any:
    """Return a library's result as a NumPy array that shares no memory with the operands.

    Otherwise a later write to an operand would change the recorded result.  found : the result.
    arrays : the operands.
    """
    found = np.asarray(found)
    shared = any(isinstance(x, np.ndarray) and np.may_share_memory(found, x) for x in arrays)
    return found.copy(order="K") if shared else found
