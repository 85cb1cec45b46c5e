"""arraytape and its peers behind one interface: values, first and second derivatives.

All gradients are in arraytape's convention, dL/dRe + i dL/dIm.  PyTorch has the same convention; JAX's
gradients are conjugated here.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import arraytape
from arraytape._record.op import REGISTRY
from arraytape._storage import correlations

Function = Callable[..., Any]
Data = list[np.ndarray[Any, Any]]
ZERO = arraytape.UnconnectedGradients.ZERO


class Derivatives(NamedTuple):
    """The value and the derivatives of a function at a point, computed by a library.

    ``gradient`` has one array for each input; ``curvature`` is the Hessian-vector product, and empty
    if it was not requested.
    """

    value: Data
    gradient: Data
    curvature: Data


class Namespace:
    """A module with some names replaced; ``replaced`` may have keys such as "linalg.svd"."""

    def __init__(self, module: Any, replaced: dict[str, Any]) -> None:
        self._module, self._replaced = module, replaced

    def __getattr__(self, name: str) -> Any:
        if name in self._replaced:
            return self._replaced[name]
        found = getattr(self._module, name)
        if isinstance(found, ModuleType):
            inner = {k.removeprefix(f"{name}."): v for k, v in self._replaced.items()}
            return Namespace(found, inner)
        return found


class Library:
    """The base class of the libraries.  ``xp`` is the namespace in which a library computes."""

    name: str
    xp: Any

    def op(self, name: str) -> Function:
        """Return the library's function with the name of an op; raise AttributeError without one."""
        found: Function = operator.attrgetter(name)(self.xp)
        return found

    def asarray(self, x: Any) -> Any:
        return self.xp.asarray(x)

    def numpy(self, x: Any) -> np.ndarray[Any, Any]:
        return np.asarray(x)

    def outputs(self, function: Function, arrays: Sequence[Any]) -> list[Any]:
        """Return the floating-point results of a function, in order, without their nesting."""
        return list(self.floats(function(self, *arrays)))

    def floats(self, results: Any) -> Iterator[Any]:
        if isinstance(results, tuple | list):
            for part in results:
                yield from self.floats(part)
        elif self.xp.isdtype(results.dtype, ("real floating", "complex floating")):
            yield results

    def bowl(self, ys: Sequence[Any], weights: Data) -> Any:
        """Return a scalar: half the weighted sum of the squares of the results ``ys``.

        Its gradient with respect to the results depends on them, so that even linear ops have second
        derivatives.
        """
        xp, value = self.xp, 0.0
        for y, w in zip(ys, weights, strict=True):
            parts = (
                [(xp.real(y), w.real), (xp.imag(y), w.imag)] if w.dtype.kind == "c" else [(y, w)]
            )
            for part, weight in parts:
                value = value + xp.sum(part * part * self.asarray(weight)) / 2.0
        return value

    def derivatives(
        self, function: Function, inputs: Data, weights: Data, along: Data | None
    ) -> Derivatives:
        """Differentiate a function of floating-point arrays at a point.

        Parameters
        ----------
        function : callable
            A function of the library and its arrays that returns arrays in any nesting.
        inputs : list of ndarray
            The point.
        weights : list of ndarray
            The cotangent of each floating-point result.
        along : list of ndarray or None
            The direction of the Hessian-vector product of ``bowl``; None for no such product.
        """
        raise NotImplementedError


class Ours(Library):
    """arraytape."""

    name = "arraytape"
    # Ops that have no public function of their own name.
    xp = Namespace(arraytape, {
        **{
            name: REGISTRY[name].public
            for name in ("cast", "getitem", "moved", "reshaped", "scattered")
        },
        "written": lambda x, key, value: put(x * 1.0, key, value),
    })  # fmt: skip

    def derivatives(
        self, function: Function, inputs: Data, weights: Data, along: Data | None
    ) -> Derivatives:
        arrays = [self.asarray(x) for x in inputs]
        with arraytape.GradientTape() as tape:
            tape.watch(arrays)
            ys = self.outputs(function, arrays)
        cotangents = [self.asarray(w) for w in weights]
        gradient = tape.gradient(ys, arrays, cotangents, unconnected_gradients=ZERO)
        second = self.curvature(function, arrays, weights, along) if along else []
        return Derivatives(*([self.numpy(x) for x in part] for part in (ys, gradient, second)))

    def curvature(
        self, function: Function, arrays: list[Any], weights: Data, along: Data
    ) -> list[Any]:
        with arraytape.GradientTape() as outer:
            outer.watch(arrays)
            with arraytape.GradientTape() as inner:
                inner.watch(arrays)
                value = self.bowl(self.outputs(function, arrays), weights)
            first = inner.gradient(value, arrays, unconnected_gradients=ZERO)
        direction = [self.asarray(v) for v in along]
        found: list[Any] = outer.gradient(first, arrays, direction, unconnected_gradients=ZERO)
        return found


class Torch(Library):
    """PyTorch through array_api_compat; second order by double backward."""

    name, pip = "torch", "torch array-api-compat"

    def __init__(self) -> None:
        import array_api_compat.torch as compat
        import torch

        torch.set_default_dtype(torch.float64)
        self.torch = torch
        self.xp = Namespace(compat, {
            **shared(compat, torch.index_add, torch.clone),
            "bincount": lambda x, weights: torch.bincount(x, weights=weights),
            "diag": torch.diag,
            "median": lambda x, **axis: torch.quantile(x, 0.5, dim=axis.get("axis")),
            "stop_gradient": torch.Tensor.detach,
        })  # fmt: skip

    def numpy(self, x: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = x.detach().resolve_conj().resolve_neg().numpy()
        return found

    def derivatives(
        self, function: Function, inputs: Data, weights: Data, along: Data | None
    ) -> Derivatives:
        arrays = [self.torch.tensor(x, requires_grad=True) for x in inputs]
        ys = self.outputs(function, arrays)
        gradient = self.pull(ys, arrays, [self.asarray(w) for w in weights])
        second: list[Any] = []
        if along:
            value = self.bowl(self.outputs(function, arrays), weights)
            first = self.pull([value], arrays, [self.torch.ones_like(value)], create_graph=True)
            second = self.pull(first, arrays, [self.asarray(v) for v in along])
        return Derivatives(*([self.numpy(x) for x in part] for part in (ys, gradient, second)))

    def pull(
        self, ys: list[Any], arrays: list[Any], cotangents: list[Any], **how: Any
    ) -> list[Any]:
        connected = [(y, w) for y, w in zip(ys, cotangents, strict=True) if y.requires_grad]
        if not connected:
            return [self.torch.zeros_like(x) for x in arrays]
        targets, seeds = zip(*connected, strict=True)
        found = self.torch.autograd.grad(targets, arrays, seeds, allow_unused=True, **how)
        pairs = zip(arrays, found, strict=True)
        return [self.torch.zeros_like(x) if g is None else g for x, g in pairs]


class Jax(Library):
    """JAX with 64-bit types; second order by the forward derivative of the gradient."""

    name, pip = "jax", "jax"

    def __init__(self) -> None:
        # Nearly all time goes to the compiler, because arrays are small and ops are compiled one by one.
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        xp = jax.numpy
        self.jax = jax
        self.xp = Namespace(xp, {
            **shared(xp, lambda x, axis, at, added: x.at[at].add(added), lambda x: x * 1.0),
            "bincount": lambda x, weights: xp.bincount(x, weights, length=int(x.max()) + 1),
            "stop_gradient": jax.lax.stop_gradient,
            "written": lambda x, key, value: x.at[key].set(value),
        })  # fmt: skip

    def derivatives(
        self, function: Function, inputs: Data, weights: Data, along: Data | None
    ) -> Derivatives:
        conj = self.xp.conj
        arrays = [self.asarray(x) for x in inputs]
        ys, back = self.jax.vjp(lambda *xs: self.outputs(function, xs), *arrays)
        gradient = [conj(g) for g in back([self.asarray(np.conj(w)) for w in weights])]

        def first(*xs: Any) -> list[Any]:
            value, pull = self.jax.vjp(
                lambda *xs: self.bowl(self.outputs(function, xs), weights), *xs
            )
            return [conj(g) for g in pull(self.xp.ones_like(value))]

        second = self.jax.jvp(first, arrays, [self.asarray(v) for v in along])[1] if along else []
        return Derivatives(*([self.numpy(x) for x in part] for part in (ys, gradient, second)))


def put(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


def shared(xp: Any, index_add: Function, copied: Function) -> dict[str, Function]:
    """Return versions of arraytape's ops beyond the standard that call a peer's functions."""

    def cast(x: Any, dtype: Any) -> Any:
        return xp.astype(x, getattr(xp, np.dtype(dtype).name))

    def key_of(key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        return tuple(xp.asarray(k) if isinstance(k, np.ndarray) else k for k in parts)

    def scatter_add(x: Any, shape: tuple[int, ...], key: Any) -> Any:
        size = math.prod(shape)
        at = xp.asarray(np.arange(size).reshape(shape)[key].ravel())
        flat = index_add(xp.zeros(size, dtype=x.dtype), 0, at, xp.reshape(x, (-1,)))
        return xp.reshape(flat, shape)

    return {
        "cast": cast,
        "getitem": lambda x, key: x[key_of(key)],
        "moved": lambda x, device: copied(x),
        "reshaped": xp.reshape,
        "matmul_adjoint": lambda x, y, first, second: (
            (xp.conj(x).mT if first else x) @ (xp.conj(y).mT if second else y)
        ),
        "window_correlation": lambda x, y, part, lengths, geometry: correlations.window_correlation(
            x, y, part, lengths, geometry, xp
        ),
        "sum_adjoint": lambda x, into, along, keepdims: xp.broadcast_to(
            x
            if keepdims or along is None or not into
            else xp.reshape(
                x,
                [
                    1 if i in {a % len(into) for a in np.atleast_1d(along)} else n
                    for i, n in enumerate(into)
                ],
            ),
            into,
        ),
        "solve_again": lambda x, b, adjoint=False: xp.linalg.solve(
            xp.conj(x).mT if adjoint else x, b
        ),
        "inverse_again": lambda x, singular: xp.linalg.inv(
            xp.where(singular, xp.eye(x.shape[-1], dtype=x.dtype), x)
        ),
        "cofactors": lambda x: xp.linalg.det(x)[..., None, None] * xp.linalg.inv(x).mT,
        "scatter_add": scatter_add,
        "scattered": scatter_add,
        "written": lambda x, key, value: put(copied(x), key_of(key), value),
    }


PEERS: dict[str, type[Any]] = {"torch": Torch, "jax": Jax}
__all__ = ["PEERS", "Derivatives", "Library", "Ours"]
