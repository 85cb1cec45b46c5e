"""Determine whether a public name has a gradient, from an op's samples or from a call.

A composite, a method or an operator is called as ``CALLS`` and ``MEMBER_CALLS`` say, or otherwise on
matrices.  If this gives no status, the name needs an entry in these tables, or in ``BY_DESIGN``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import arraytape as xp
from arraytape import testing
from arraytape._record.op import Op
from arraytape.ops import operators

GRADIENT, ZERO, NONE = "gradient", "zero gradient", "none by design"
STATUSES = (NONE, ZERO, GRADIENT)  # where samples or inputs differ, the later status counts


class Call(NamedTuple):
    """A function of floating-point arrays, and their shapes."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def call(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Call:
    return Call(function, shapes or ((3, 3),))


# Calls of composites that cannot be called with one or two matrices.
CALLS = {
    "asarray": call(lambda x: xp.asarray(x, copy=True)),
    "astype": call(lambda x: xp.astype(x, xp.float32)),
    "bincount": call(lambda w: xp.bincount(xp.asarray([0, 2, 0]), w), (3,)),
    "custom_gradient": call(
        lambda x: xp.custom_gradient(lambda x: (x * 2.0, lambda g: g * 2.0))(x)
    ),
    "grad_pass_through": call(lambda x: xp.grad_pass_through(xp.round)(x)),
    "host_function": call(lambda x: xp.host_function(np.exp, lambda g, y, x: g * y)(x)),
    "recompute_grad": call(lambda x: xp.recompute_grad(xp.exp)(x)),
    "broadcast_to": call(lambda x: xp.broadcast_to(x, (2, 3, 3))),
    "einsum": call(lambda x1, x2: xp.einsum("ij,jk", x1, x2), (3, 3), (3, 3)),
    "expand_dims": call(lambda x: xp.expand_dims(x, 0)),
    "full": call(lambda value: xp.full((2, 2), value), ()),
    "full_like": call(xp.full_like, (2, 2), ()),
    "linalg.matrix_power": call(lambda x: xp.linalg.matrix_power(x, 3)),
    "linalg.outer": call(xp.linalg.outer, (3,), (2,)),
    "linspace": call(lambda start, stop: xp.linspace(start, stop, 5), (), ()),
    "logspace": call(lambda start, stop: xp.logspace(start, stop, 5), (), ()),
    "meshgrid": call(xp.meshgrid, (3,), (2,)),
    "moveaxis": call(lambda x: xp.moveaxis(x, 0, 1)),
    "pad": call(lambda x: xp.pad(x, 1)),
    "permute_dims": call(lambda x: xp.permute_dims(x, (1, 0))),
    "repeat": call(lambda x: xp.repeat(x, 2)),
    "reshape": call(lambda x: xp.reshape(x, (9,))),
    "roll": call(lambda x: xp.roll(x, 1)),
    "scatter_add": call(lambda x: xp.scatter_add(x, (4, 3), xp.asarray([0, 2, 0]))),
    "squeeze": call(lambda x: xp.squeeze(x, axis=0), (1, 3)),
    "tile": call(lambda x: xp.tile(x, (2, 1))),
}


class KernelOfCuPy:
    """A stand-in for a ufunc of CuPy with one argument."""

    nin = 1

    def __init__(self, name: str) -> None:
        self.name = f"cupy_{name}"


def call_kernel_of_cupy(name: str, x: xp.Array) -> Any:
    """Call the method of x that CuPy calls for its ufunc ``name``, also where CuPy is not installed."""
    kernel, cupy = KernelOfCuPy(name), ModuleType("cupy")
    setattr(cupy, name, kernel)
    with mock.patch.dict(sys.modules, {"cupy": cupy}):
        return x.__cupy_override_elementwise_kernel__(kernel, x)


# Calls of Array members that need further arguments.
MEMBER_CALLS = {
    "__array_function__": call(lambda x: np.sum(x)),
    "__array_ufunc__": call(lambda x: np.exp(x)),
    "__cupy_override_elementwise_kernel__": call(lambda x: call_kernel_of_cupy("exp", x)),
    "__getitem__": call(lambda x: x[[0, 2], 1:]),
    "__setitem__": call(lambda x, value: written(x, value), (3, 3), (3,)),
    "astype": call(lambda x: x.astype(xp.float32)),
    "__divmod__": call(lambda x1, x2: divmod(x1, x2), (3, 3), (3, 3)),
    "__rdivmod__": call(lambda x2: divmod(2.0, x2)),
    "argpartition": call(lambda x: x.argpartition(1)),
    "choose": call(lambda x: xp.asarray([0, 1, 0]).choose([x, 2.0 * x])),
    "compress": call(lambda x: x.compress([True, False, True])),
    "dot": call(lambda x1, x2: x1.dot(x2), (3, 3), (3, 3)),
    "fill": call(lambda x, value: changed("fill", x, value), (3, 3), ()),
    "partition": call(lambda x: changed("partition", x, 1)),
    "put": call(lambda x, v: changed("put", x, [0, 2], v), (3, 3), (2,)),
    "repeat": call(lambda x: x.repeat(2)),
    "reshape": call(lambda x: x.reshape((9,))),
    "searchsorted": call(lambda x1, x2: x1.searchsorted(x2), (3,), (2,)),
    "sort": call(lambda x: changed("sort", x)),
    "squeeze": call(lambda x: x.squeeze(axis=0), (1, 3)),
    "swapaxes": call(lambda x: x.swapaxes(0, 1)),
    "take": call(lambda x: x.take([0, 2])),
    "to_device": call(lambda x: x.to_device(x.device)),
}
# The ops behind members of Array that have another name.
BEHIND = {
    "T": "matrix_transpose", "__getitem__": "getitem", "dot": "matmul", "mT": "matrix_transpose",
    **{f"__{side}{short}__": op for short, op in operators.BINARY.items() for side in ("", "r", "i")},
    **{f"__{short}__": op for short, op in (operators.COMPARISONS | operators.UNARY).items()},
}  # fmt: skip
# Functions without a gradient by design: their floating-point results do not depend on the values of
# an input, or they have no op and return no Array (such as ``grad``, which returns a function).
BY_DESIGN = {
    "empty_like",
    "finfo",
    "from_dlpack",
    "function",
    "gauss_newton_product",
    "grad",
    "hessian",
    "hvp",
    "iinfo",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "numpy_function",
    "ones_like",
    "register_nesting",
    "result_type",
    "set_exits",
    "sparse_hessian",
    "sparse_jacobian",
    "value_and_grad",
    "vhp",
    "vjp",
    "vmap",
    "zeros_like",
}
MEMBERS_BY_DESIGN = {
    "__array__", "__array_namespace__", "__bool__", "__complex__", "__copy__", "__deepcopy__",
    "__arrow_c_stream__", "__dlpack__", "__dlpack_device__", "__float__", "__format__", "__index__",
    "__int__", "__len__",
    "__repr__", "__round__", "__str__", "device", "dtype", "item", "itemsize", "nbytes", "ndim", "shape",
    "size", "to_numpy", "tolist",
}  # fmt: skip


class Finding(NamedTuple):
    """The outcome of the gradient test of one public name.

    detail : the status of complex data or of single inputs if it differs from ``status``, or an error.
    """

    status: str
    detail: str = ""


def written(x: Any, value: Any) -> Any:
    """Return a copy of x with a row overwritten, for the gradient of item assignment."""
    x = x * 1.0
    x[1, :] = value
    return x


def changed(method: str, x: Any, *args: Any) -> Any:
    """Call a method that writes to a copy of x, and return the copy."""
    x = x * 1.0
    getattr(x, method)(*args)
    return x


def slopes(function: Callable[..., Any], inputs: Sequence[Any]) -> list[str]:
    """Return the status of each input, by the gradient of the function's weighted total.

    Raise LookupError if the results are floating-point numbers and do not depend on any input.
    """
    arrays = [xp.asarray(x) for x in inputs]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        results = list(floats(function(*arrays)))
        value = testing.total(results)
    gradients = tape.gradient(value, arrays)
    if results and all(g is None for g in gradients):
        raise LookupError("its results are floating point and depend on no input")
    return [
        NONE if g is None else GRADIENT if np.any(np.asarray(g) != 0) else ZERO for g in gradients
    ]


def floats(results: Any) -> Iterator[Any]:
    """Yield the floating-point Arrays in a nesting of results."""
    if isinstance(results, xp.Array):
        if results.dtype.kind in "fc":
            yield results
    elif isinstance(results, Iterable) and not isinstance(results, str | bytes):
        for part in results:
            yield from floats(part)


def strongest(statuses: Iterable[str]) -> str:
    return max(statuses, key=STATUSES.index, default=NONE)


def of_op(op: Op) -> Finding:
    """Return the Finding for an op with its own rules, from its samples."""
    if not (op.rules or op.joint):
        return Finding("", "it has no rule yet")
    if not op.samples:
        return Finding("", "it has no samples")
    by_input = of_inputs(op, np.float64)
    status = strongest(by_input.values())
    details = [f"{name}: {found}" for name, found in by_input.items() if found != status]
    if status == ZERO:
        try:
            with_complex = strongest(of_inputs(op, np.complex128).values())
        except (TypeError, ValueError):  # the op accepts real data only
            with_complex = ZERO
        details += [f"complex: {with_complex}"] * (with_complex != status)
    return Finding(status, "; ".join(details))


def of_inputs(op: Op, dtype: Any) -> dict[str, str]:
    """Return the status of each of the op's inputs; an input whose rule is None is left out."""
    found: dict[str, list[str]] = {
        name: [] for name, rule in zip(op.inputs, op.rules or op.inputs, strict=False) if rule
    } or {name: [] for name in op.inputs}
    for sample in op.samples:
        arguments = testing.materialise(op, sample, dtype)
        function, inputs = testing.as_function(op, sample, arguments)
        owners = [
            name
            for name, value in zip(op.inputs, arguments, strict=False)
            for part in (value if isinstance(value, list) else [value])
            if isinstance(part, np.ndarray) and part.dtype.kind in "fc"
        ]
        if any(x.size == 0 for x in inputs):
            continue
        for name, status in zip(owners, slopes(function, inputs), strict=True):
            found.setdefault(name, []).append(status)
    return {name: strongest(found.get(name, [])) for name in op.inputs}


def of_call(example: Call) -> Finding:
    """Return the Finding for a function of arrays, from one call."""
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(0.3, 2.0, shape) for shape in example.shapes]
    try:
        return Finding(strongest(slopes(example.function, inputs)))
    except Exception as error:
        return Finding("", f"{type(error).__name__}: {error}")


def of_function(name: str, function: Callable[..., Any], op: Op | None) -> Finding:
    """Return the Finding for a public function of the namespace."""
    if name in BY_DESIGN or (op and op.kind == "nondifferentiable"):
        return Finding(NONE)
    if op and op.recorded:
        return of_op(op)
    example = example_of(name, function)
    if example is None:
        parameters = inspect.signature(function).parameters.values()
        gives = str(inspect.signature(function).return_annotation)
        # A function that returns no Array, or accepts none, has nothing to differentiate.
        unclear = [
            p for p in parameters
            if p.name not in ("device", "dtype")
            and (p.annotation is p.empty or "Any" in str(p.annotation))
        ]  # fmt: skip
        known = ("bool", "int", "tuple[int", "None", "Callable")
        if gives.startswith(known) or ("Array" in gives and not unclear):
            return Finding(NONE)
        return Finding("", "nothing says whether a gradient flows")
    return of_call(example)


def example_of(name: str, function: Callable[..., Any]) -> Call | None:
    """Return the call of ``CALLS``, or a call on matrices; None if the function accepts no Arrays."""
    if name in CALLS:
        return CALLS[name]
    parameters = inspect.signature(function).parameters.values()
    takes = [p for p in parameters if "Array" in str(p.annotation)]
    needed = [p for p in takes if p.default is p.empty]
    return Call(function, ((3, 3),) * len(needed)) if takes else None


def of_member(name: str, member: Any, op: Op | None) -> Finding:
    """Return the Finding for an attribute, method or operator of Array."""
    if name in MEMBERS_BY_DESIGN or (op and op.kind == "nondifferentiable"):
        return Finding(NONE)
    found = of_call(member_example(name, member, op))
    if found.status and op and op.recorded and found.status != GRADIENT:
        return of_op(op)  # its detail has the status of complex data
    return found


def member_example(name: str, member: Any, op: Op | None) -> Call:
    """Return the call of ``MEMBER_CALLS``, or a call on matrices, for a member of Array."""
    two = ((3, 3), (3, 3))
    if name in MEMBER_CALLS:
        return MEMBER_CALLS[name]
    if name.startswith("__i") and op and name[3:-2] in operators.BINARY:
        return Call(lambda x1, x2: getattr(x1 * 1.0, name)(x2), two)
    if name in BEHIND and op and len(op.inputs) == 2:
        return Call(lambda x1, x2: getattr(x1, name)(x2), two)
    if isinstance(member, property):
        return call(lambda x: getattr(x, name))
    return call(lambda x: getattr(x, name)())
