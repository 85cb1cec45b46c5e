"""Tools for testing derivatives: ours and those of your own ops.

    check_gradients(lambda x, y: xp.sum(xp.exp(x) * y), [a, b], order=2)

compares the tape's gradients with central differences in double precision and raises an
AssertionError that says where they part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array import Array, beside, namespace
from .._op import REGISTRY, Op, Sample
from .._tape import GradientTape, UnconnectedGradients

Function = Callable[..., Array]
ZERO = UnconnectedGradients.ZERO


def weights(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Fixed, uneven weights, so that no two outputs can stand in for each other."""
    count = int(np.prod(shape))
    uneven: np.ndarray[Any, Any] = np.cos(1.0 + 0.7 * np.arange(count)).reshape(shape) + 0.3
    return uneven


def total(outputs: Any) -> Array:
    """A real weighted sum over all floating-point outputs (an Array or a tuple of them)."""
    xp: Any = namespace[0]
    answer: Any = 0.0
    for i, y in enumerate(outputs if isinstance(outputs, tuple | list) else (outputs,)):
        if y.dtype.kind == "c":
            answer = answer + total((xp.real(y), 2.0 * xp.imag(y))) * (i + 1.0)
        elif y.dtype.kind == "f":
            answer = answer + xp.sum(y * beside(y, weights(y.shape))) * (i + 1.0)
    return xp.asarray(answer)  # type: ignore[no-any-return]


def gradients(f: Function, inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The tape's gradients of the scalar ``f(*inputs)``, zeros where f does not depend on one."""
    xp: Any = namespace[0]
    arrays = [xp.asarray(x) for x in inputs]
    with GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    return [np.asarray(g) for g in tape.gradient(y, arrays, unconnected_gradients=ZERO)]


def curvature(f: Function, inputs: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """Hessian-vector products of ``f`` by nested tapes: the gradient of <gradient, along>."""
    xp: Any = namespace[0]
    arrays = [xp.asarray(x) for x in inputs]
    with GradientTape() as outer:
        outer.watch(arrays)
        with GradientTape() as inner:
            inner.watch(arrays)
            y = f(*arrays)
        first = inner.gradient(y, arrays, unconnected_gradients=ZERO)
        parts = [
            xp.sum(xp.real(g) * beside(g, np.real(v))) + xp.sum(xp.imag(g) * beside(g, np.imag(v)))
            if np.iscomplexobj(v)
            else xp.sum(g * beside(g, v))
            for g, v in zip(first, along, strict=True)
        ]
        slope = sum(parts[1:], parts[0])
    return [np.asarray(g) for g in outer.gradient(slope, arrays, unconnected_gradients=ZERO)]


def differences(
    f: Callable[..., Any], inputs: Sequence[Any], along: Sequence[Any], h: float = 1e-3
) -> Any:
    """d f(inputs + t * along) / dt at t = 0, by central differences of fourth order.

    Source: Fornberg 1988, "Generation of finite difference formulas", table 1.
    """

    def at(t: float) -> Any:
        return f(*[x + t * v for x, v in zip(inputs, along, strict=True)])

    return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)


def directions(inputs: Sequence[Any], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Random directions in the shapes and kinds of the inputs."""
    rng = np.random.default_rng(seed)
    found = []
    for x in inputs:
        v = rng.uniform(0.2, 1.0, np.shape(x)) * rng.choice([-1.0, 1.0], np.shape(x))
        found.append(v + 1j * rng.uniform(-1, 1, np.shape(x)) if np.iscomplexobj(x) else v)
    return found


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Re <a, b> over all arrays: the slope along b of a function whose gradient is a."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True)))


def check_gradients(
    f: Function,
    inputs: Sequence[Any],
    *,
    order: int = 2,
    rtol: float = 1e-7,
    seeds: int = 3,
    h: float = 1e-3,
) -> None:
    """Compare the tape's derivatives of a scalar function with central differences.

    f : takes Arrays in the shapes of ``inputs`` (float64 or complex128), gives a real 0-d Array.
    order : 1 checks gradients, 2 also Hessian-vector products by nested tapes.
    Raises AssertionError naming the order, the slopes and the direction's seed.
    """
    found = gradients(f, inputs)
    for seed in range(seeds):
        along = directions(inputs, seed)
        slope = differences(lambda *xs: float(f(*[asarray(x) for x in xs])), inputs, along, h)
        near(inner(found, along), slope, rtol, f"first order, seed {seed}")
        if order < 2:
            continue
        second = curvature(f, inputs, along)
        other = directions(inputs, seed + 100)
        slope = differences(
            lambda *xs, along=along: inner(gradients(f, xs), along), inputs, other, h
        )
        near(inner(second, other), slope, 10 * rtol, f"second order, seed {seed}")


def near(found: float, expected: float, rtol: float, what: str) -> None:
    """AssertionError unless two slopes agree; NaN agrees with nothing."""
    if not abs(found - expected) <= rtol * max(1.0, abs(expected)):
        raise AssertionError(f"{what}: the tape gives {found!r}, differences give {expected!r}")


def asarray(x: Any) -> Array:
    return namespace[0].asarray(x)  # type: ignore[no-any-return]


# --- samples ----------------------------------------------------------------------------------
def materialise(op: Op, sample: Sample, dtype: Any = np.float64, seed: int = 0) -> list[Any]:
    """The arguments of a sample: random arrays from the op's domain; constants as they are."""
    rng = np.random.default_rng(seed)
    low, high = sample.domain or op.domain or (-2.0, 2.0)

    def make(spec: Any) -> Any:
        if isinstance(spec, str):
            return rng.random(eval_shape(spec)) < 0.5
        if isinstance(spec, list):
            return [make(part) for part in spec]
        if not isinstance(spec, tuple):
            return spec
        x = rng.uniform(low, high, spec)
        if np.issubdtype(dtype, np.complexfloating):
            x = x + 1j * rng.uniform(0.1, 0.5, spec)
        return np.asarray(x, dtype=dtype)

    return [make(spec) for spec in sample.inputs]


def eval_shape(spec: str) -> tuple[int, ...]:
    """The shape in a specification such as "bool(3, 4)"."""
    inside = spec[spec.index("(") + 1 : -1]
    return tuple(int(n) for n in inside.split(",") if n.strip())


def as_function(op: Op, sample: Sample, arguments: list[Any]) -> tuple[Function, list[Any]]:
    """The sample's weighted total as a function of its floating-point arrays alone, and these."""
    floats: list[Any] = []

    def slot(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            floats.append(value)
            return len(floats) - 1
        return [slot(part) for part in value] if isinstance(value, list) else (value,)

    plan = [slot(value) for value in arguments]

    def fill(entry: Any, arrays: Sequence[Any]) -> Any:
        if isinstance(entry, list):
            return [fill(part, arrays) for part in entry]
        if isinstance(entry, int):
            return arrays[entry]
        return asarray(entry[0]) if isinstance(entry[0], np.ndarray) else entry[0]

    def function(*arrays: Any) -> Array:
        assert op.public is not None
        first, *rest = [fill(entry, arrays) for entry in plan]
        first = sample.prepare(first) if sample.prepare else first
        return total(op.public(first, *rest, **sample.parameters))

    return function, floats


def recorded_ops() -> list[Op]:
    """The ops of the registry that have (or lack) a rule of their own."""
    return [op for op in REGISTRY.values() if op.recorded]
