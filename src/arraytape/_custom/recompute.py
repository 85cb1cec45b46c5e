"""recompute_grad: keep only the inputs of a function call, and run the function again when needed.

The first run has a private recorder that keeps no records.  The call becomes one record (``RECOMPUTED``)
with the function and its arguments (``RecomputedCall``).  When a backward pass reaches this record, the
function runs again with a recorder that keeps records, and the pass continues through those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import numpy as np

from .._array.array import Array
from .._array.exits import LEFT
from .._array.views import private_handle
from .._record.mode_stack import Mode, pushed
from .._record.plan import PLANS, Record, Structural, ids_made_of, results_of
from .._record.stack import only_recorders, recorders
from .._storage.batched.batched_data import REPLAY, open_hidden_axis
from .._tape.backward import backward
from .._tape.missing_rules import check_rules
from .._util import nest
from .._util.errors import user_line
from .policies import Policy, PolicyLike, ReturnKept, StoreKept
from .private_handles import Arguments, check_results, display_name
from .recorded_calls import Call, CallRecord, needs_care, publish
from .recorder import FunctionRecorder, OnCapture, Trace, run_hidden

if TYPE_CHECKING:
    from .._tape.backward import BackwardPass
    from .._tape.forward import ForwardPass
    from ..variable import Variable

P = ParamSpec("P")
R = TypeVar("R")


@overload
def recompute_grad(f: Callable[P, R], policy: PolicyLike | None = None) -> Callable[P, R]: ...


@overload
def recompute_grad(
    f: None = None, *, policy: PolicyLike
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def recompute_grad(f: Any = None, policy: PolicyLike | None = None) -> Any:
    """Checkpoint a function: a tape keeps only its inputs and reruns it in the backward pass.

    Parameters
    ----------
    f : Callable
        Returns an Array or a nesting of Arrays, with the same values whenever the arguments are
        the same.  Random numbers therefore have to be arguments.  Without f, the call returns a
        decorator: ``@recompute_grad(policy=[xp.matmul])``.
    policy : collection of ops | Callable | None, default: None
        The choice of op results that a tape keeps as well, so that the second run does not compute
        them again.  Either a collection of ops, such as ``[xp.matmul, xp.linalg.solve]``, all of
        whose results are kept, or a function ``policy(op, result, *operands) -> bool``, which the
        first run calls for each op.  ``op`` is the op's function, such as ``xp.matmul``.
        ``result`` and ``operands`` describe arrays without their values, by the attributes
        ``shape``, ``dtype``, ``size`` and ``nbytes``; several results, or operands in a sequence,
        are a tuple of such descriptions.

    Returns
    -------
    Callable
        Accepts the arguments of f and returns its result.

    Raises
    ------
    RuntimeError
        In the backward pass, when the second run of f differs from the first.  The runs are compared
        by the shapes of the results, and for NumPy data by the values of at most 96 elements per
        result.  Ops whose results were kept must run as often, on operands of the same shapes.
        Also when a Variable or a watched Array from outside, which f uses, was written to since the
        first run.
    TypeError
        When f cannot be called, or the policy is neither a collection nor a function.
    ValueError
        When a policy lists an object that is no op, or an op that is composed of other ops, such
        as ``xp.einsum``.

    Notes
    -----
    The gradient is that of ``f`` itself, to any order.  The NaN guard and the warnings about
    gradients of None work inside f as outside.  A ForwardAccumulator runs f a second time at once.

    f may use Variables and watched Arrays from outside, as long as nothing is written to them
    before the backward pass.  A write to another array from outside cannot be detected: pass such
    an array as an argument.  A Variable to which f itself assigns gets, for the second run, the
    value from before the first run, and afterwards its present value again.  So ``nn.Dropout``
    sets the same elements to zero in both runs, and running statistics are updated only once.

    A policy covers the ops that f runs, in functions that f calls as well, and operators.  Views and
    writes (``x[0]``, ``x += y``) have no results to keep.  The ops in a ``vmap`` inside f are always
    computed again.  If f calls ``tensordot`` or ``einsum``, list ``matmul``, of which they consist.

    Examples
    --------
    >>> import arraytape as xp
    >>> @xp.recompute_grad
    ... def block(x, w):
    ...     return xp.tanh(xp.tanh(x @ w) @ w)
    >>> x, w = xp.ones((2, 3)), xp.eye(3)
    >>> with xp.GradientTape() as tape:
    ...     tape.watch(w)
    ...     y = xp.sum(block(x, w))
    >>> print(tape.gradient(y, w)[0])
    [1.38909151 1.38909151 1.38909151]
    """
    wanted = None if policy is None else Policy(policy)
    if f is None and wanted is not None:
        return functools.partial(recompute_grad, policy=policy)
    name = f"recompute_grad({display_name(f)})"

    def without_rule(*args: Any, **keywords: Any) -> tuple[Any, None]:
        return f(*args, **keywords), None

    @functools.wraps(f)
    def function(*args: Any, **keywords: Any) -> Any:
        arguments = Arguments(args, keywords)
        if not recorders():
            y: Any = f(*arguments.inputs.args, **arguments.inputs.keywords)
            own = [private_handle(x) if isinstance(x, Array) else x for x in nest.leaves(y)]
            return nest.pack_nesting(y, own)  # new handles, as a recorded call returns
        first = None if wanted is None else StoreKept(wanted)
        with intercepting(first):
            trace = run_hidden(
                name, without_rule, arguments.with_new_handles(), OnCapture.COLLECT, keeps_records=False,
                program_modes=() if first is None else (first,),
            )  # fmt: skip
        return publish(
            trace, RECOMPUTED, lambda: RecomputedCall(name, f, arguments, trace, first),
            with_exits=True,
        )  # fmt: skip

    return function


def intercepting(mode: Mode | None) -> AbstractContextManager[Any]:
    """Return a ``with`` block in which ``mode`` intercepts the calls of ops; None changes nothing."""
    return nullcontext() if mode is None else pushed(mode)


class RecomputedCall(Call):
    """The function and arguments of a ``recompute_grad`` call, which its record keeps.

    keeping : the mode that stored results of ops in the first run; None without a policy.
    state : the Variables to which the function assigned, with the data that they held before.
    samples : some elements of each result of the first run, for the comparison with the second run.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: Arguments,
        trace: Trace,
        keeping: StoreKept | None,
    ) -> None:
        super().__init__(name, trace)
        first = trace.recorder
        self.function, self.arguments, self.keeping = function, arguments, keeping
        self.kept_arrays = [*arguments.inputs.arrays, *(keeping.arrays() if keeping else ())]
        self.captures, self.variable_values = tuple(first.captures), first.variable_values
        self.state = tuple(first.assigned_variables)
        self.cusped, self.careful = first.cusped, self.careful or first.careful
        self.samples = [sample_elements(x) for x in trace.leaves]

    def recompute(
        self, value_ids: Sequence[int], check: bool = True
    ) -> tuple[FunctionRecorder, list[int]]:
        """Run the function again, and record its ops on a new recorder as well as on the current tapes.

        Return the new recorder, and the value id of each result, or 0 for a result that does not depend
        on the inputs. Raise RuntimeError if this run differs from the first.

        value_ids : the ids of the inputs, which the new recorder follows.
        check : True to raise LookupError if an op without a rule lies between inputs and results.
        """
        inputs = self.arguments.with_new_handles()
        giving = None if self.keeping is None else ReturnKept(self.name, self.keeping)
        recorder = FunctionRecorder(
            self.name, value_ids, first_values=self.variable_values,
            program_modes=() if giving is None else (giving,),
        )  # fmt: skip
        # The inputs may be batched data of a vmap that has ended.  While REPLAY is active, ops accept
        # the hidden axes of such a vmap.
        replay = open_hidden_axis(REPLAY)
        seen = only_recorders(*recorders(), recorder)
        with intercepting(giving), seen, replay, with_earlier_data(self.state):
            y = self.run_inside(self.function, *inputs.args, **inputs.keywords)
            leaves = check_results(self.name, y)
            results = recorder.result_ids(leaves)
        self._check_values(recorder, value_ids, results)
        self._check_layouts(leaves)
        if giving is not None:
            giving.check_complete()
        self._check_results(leaves)
        if check and recorder.has_missing_rules:
            check_rules(recorder.records, results, value_ids)
        outside = bool(self.captures or self.variable_values)
        recorder.careful = recorder.careful or outside or needs_care((*inputs.arrays, *leaves))
        return recorder, results

    def _check_values(
        self, recorder: FunctionRecorder, value_ids: Sequence[int], results: Sequence[int]
    ) -> None:
        """Raise RuntimeError if the Variables and other captured values of the function have changed.

        Captured values are no arguments.  A changed Variable on which no result depends is no error.
        """
        for variable in recorder.changed_variables:
            if variable._current_id() in value_ids or may_affect_results(
                variable, recorder.records, results
            ):
                raise RuntimeError(
                    f"{self.name}: the Variable {variable.name!r}, which the function reads, was "
                    f"assigned to since, so it cannot run again on the same values [at {user_line()}]"
                )
        if any(value_id not in recorder.used for value_id in self.captures):
            raise RuntimeError(
                f"{self.name}: a watched Array that the function uses was written to since, so it "
                f"cannot run again on the same values; pass it as an argument [at {user_line()}]"
            )

    def _check_layouts(self, leaves: Sequence[Array]) -> None:
        """Raise RuntimeError unless number, shapes and dtypes of results are as in the first run.

        leaves : the results of the second run.
        """
        same = len(leaves) == len(self.results) and all(
            layout.fits_layout(leaf) for layout, leaf in zip(self.results, leaves, strict=True)
        )
        if not same:
            raise RuntimeError(
                f"{self.name}: the function gave something else when it ran again for the gradient: "
                f"{len(leaves)} Arrays where there were {len(self.results)}, or other shapes "
                f"[at {user_line()}]"
            )

    def _check_results(self, leaves: Sequence[Array]) -> None:
        """Raise RuntimeError if sampled elements of the results differ from those of the first run.

        leaves : the results of the second run.
        """
        for known, leaf in zip(self.samples, leaves, strict=True):
            found = sample_elements(leaf)
            if known is None or found is None:
                continue
            if not np.allclose(
                known, found, rtol=SAME, atol=SAME * largest_size(known), equal_nan=True
            ):
                raise RuntimeError(
                    f"{self.name}: pass random numbers as arguments. The function gave other values "
                    "when it ran again for the gradient, so the gradient would not belong to the first "
                    f"result [at {user_line()}]"
                )


MOST = 96  # the most elements of a result, at equal distances, that are compared between the runs
# The relative tolerance of the comparison.  Another order of summation makes smaller differences, other
# random numbers make larger ones.
SAME = 1e-4


def sample_elements(x: Array) -> Any:
    """Return a copy of at most ``MOST`` elements of an Array of NumPy data; None for other data.

    The second run is compared with these elements of the first run's results.
    """
    data = x._data
    if type(data) is not np.ndarray or data.dtype.kind not in "fcbiu":
        return None
    flat = data.reshape(-1) if data.flags.c_contiguous else data.ravel()
    return flat[:: -(-flat.size // MOST) or 1].copy()


def largest_size(x: np.ndarray[Any, Any]) -> float:
    """Return the largest absolute value of finite elements, or 0: the scale of tolerated rounding."""
    sizes = np.abs(x[np.isfinite(x)])
    return float(sizes.max()) if sizes.size else 0.0


@contextmanager
def with_earlier_data(state: Sequence[tuple[Variable, Any]]) -> Iterator[None]:
    """Give Variables the data from before the first run, for the duration of a ``with`` block.

    With this data the second run draws the same random numbers as the first.  The present data returns
    at the end, so that a running mean is not updated twice.

    state : the Variables to which the first run assigned, with the data that they held before.
    """
    now = [(variable, variable._data) for variable, _ in state]
    try:
        for variable, data in state:
            variable._data = data
        yield
    finally:
        for variable, data in now:
            variable._data = data


def may_affect_results(
    variable: Variable, records: Sequence[Record], results: Sequence[int]
) -> bool:
    """Return True if results of a function may depend on a Variable that the function read.

    That is so if a record computed a result from the Variable, if a value computed from it was converted
    to NumPy, or if no record uses the Variable at all.

    results : the value ids of the results.
    """
    made = ids_made_of(records, [variable._current_id()])
    left = any(PLANS[r[0]] is LEFT and not made.isdisjoint(results_of(r)) for r in records)
    return left or len(made) == 1 or not made.isdisjoint(results)


# --- backward and forward -----------------------------------------------------------------------------
def pull_recomputed(pass_: BackwardPass, record: Record) -> None:
    """Pass the cotangents of a ``recompute_grad`` call back, through the records of a second run.

    A guarded pass (the rerun after a NaN) is accompanied by a pass of masks, which then also goes
    through these records.
    """
    _, outs, value_ids, call = CallRecord(*record)
    passes = pass_.passes()
    held = [[one.take_cotangent(out) for out in outs] for one in passes]
    if all(g is None for g in held[0]):
        return
    recorder, inner = call.recompute(value_ids)
    followed = pass_.followed
    for one, cotangents in zip(passes, held, strict=True):
        one.followed = UnionOfIds(followed, recorder.followed)
        for g, value_id in zip(cotangents, inner, strict=True):
            if g is not None and value_id:
                one.lend_contribution(value_id, g)
    try:
        backward(pass_, recorder.records, recorder.careful)
    finally:
        for one in passes:
            one.followed = followed


def push_recomputed(pass_: ForwardPass, record: Record) -> list[Array | None]:
    """Return the tangents of the results of a ``recompute_grad`` call, from a second run.

    The first run kept no records, so the function runs again, and forward mode processes its ops.
    """
    _, outs, value_ids, call = CallRecord(*record)
    recorder, inner = call.recompute(value_ids, check=False)
    return pass_.rerun(outs, recorder.records, inner)


class UnionOfIds:
    """The union of several containers of value ids, without copies: ids that are added later count.

    For example, the set ``followed`` of a pass that goes on through the records of a second run.
    """

    def __init__(self, *parts: Container[int]) -> None:
        self.parts = parts

    def __contains__(self, item: object) -> bool:
        return any(item in part for part in self.parts)


RECOMPUTED = Structural(
    "recompute_grad", pull_recomputed, push_recomputed, inputs=2, cusped=True, unfolds=True
)
