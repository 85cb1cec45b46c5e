"""Compare layers, losses, optimizers and schedules with PyTorch's own.

    pip install torch array-api-compat                # in any environment
    PYTHONPATH=src python tools/compare_training.py   # a table: seconds

Layers get the same random float64 weights and data.  A row of the table has the largest difference of
values, and of gradients with respect to data and weights, relative to PyTorch's largest element.
Optimizers take 100 steps on one function from one start.  Where the two libraries add ``epsilon`` at
different places, it is set to 0.

Exit code 0: all differences are below LIMIT; 1: a difference is not; 2: PyTorch is not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp
from arraytape import nn, optimizers
from arraytape.optimizers import schedules

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

LIMIT = 1e-11
STEPS = 100
RNG = np.random.default_rng(0)
IMAGES, SERIES, ROWS = (RNG.normal(size=shape) for shape in ((4, 9, 8, 3), (4, 9, 3), (6, 5)))
LABELS = np.array([0, 3, 1, 1, 4, 2])


def last(x: Any) -> Any:
    """Move PyTorch's axis of channels, the second axis, to the end."""
    return torch.movedim(x, 1, -1)


def first(x: Any) -> Any:
    return torch.movedim(x, -1, 1)


def kernel(w: Any) -> Any:
    """Permute a kernel's axes (positions..., inputs, outputs) to (outputs, inputs, positions...)."""
    return torch.permute(w, (w.ndim - 1, w.ndim - 2, *range(w.ndim - 2)))


def normalized(x: Any, w: Any) -> Any:
    return last(
        functional.batch_norm(
            first(x), None, None, w["gamma"], w["beta"], training=True, momentum=0.1, eps=1e-3
        )
    )


def convolved(function: str, **options: Any) -> Callable[[Any, Any], Any]:
    return lambda x, w: last(
        getattr(functional, function)(first(x), kernel(w["kernel"]), w["bias"], **options)
    )


def pooled(function: str, **options: Any) -> Callable[[Any, Any], Any]:
    return lambda x, w: last(getattr(functional, function)(first(x), 2, **options))


def layers() -> dict[str, tuple[Any, Any, Any, dict[str, Any]]]:
    """Return for each name a layer, its input, PyTorch's function, and keywords of the layer's call."""
    training = {"training": True}
    return {
        "Dense": (nn.Dense(4, seed=0), ROWS, lambda x, w: x @ w["kernel"] + w["bias"], {}),
        "Conv1D": (nn.Conv1D(4, 3, 2, seed=0), SERIES, convolved("conv1d", stride=2), {}),
        "Conv1D, dilated": (
            nn.Conv1D(4, 3, dilation_rate=2, seed=0), SERIES, convolved("conv1d", dilation=2), {}
        ),
        "Conv2D": (nn.Conv2D(4, 3, seed=0), IMAGES, convolved("conv2d"), {}),
        "Conv2D, same": (
            nn.Conv2D(4, 3, padding="same", seed=0), IMAGES, convolved("conv2d", padding=1), {}
        ),
        "Conv2D, strides": (
            nn.Conv2D(4, (2, 3), (2, 1), seed=0), IMAGES, convolved("conv2d", stride=(2, 1)), {}
        ),
        "MaxPooling1D": (nn.MaxPooling1D(), SERIES, pooled("max_pool1d"), {}),
        "MaxPooling2D": (nn.MaxPooling2D(), IMAGES, pooled("max_pool2d"), {}),
        "AveragePooling1D": (nn.AveragePooling1D(), SERIES, pooled("avg_pool1d"), {}),
        "AveragePooling2D": (nn.AveragePooling2D(), IMAGES, pooled("avg_pool2d"), {}),
        "LayerNormalization": (
            nn.LayerNormalization(), ROWS,
            lambda x, w: functional.layer_norm(x, (5,), w["gamma"], w["beta"], 1e-3), {},
        ),
        "LayerNormalization, two axes": (
            nn.LayerNormalization((1, 2)), SERIES,
            lambda x, w: functional.layer_norm(x, (9, 3), w["gamma"], w["beta"], 1e-3), {},
        ),
        "BatchNormalization": (nn.BatchNormalization(), IMAGES, normalized, training),
        "softmax_cross_entropy": (
            Of(lambda x: nn.softmax_cross_entropy(LABELS, x)), ROWS,
            lambda x, w: functional.cross_entropy(x, torch.tensor(LABELS), reduction="none"), {},
        ),
        "softplus": (Of(nn.softplus), ROWS, lambda x, w: functional.softplus(x, threshold=700.0), {}),
        "log_softmax": (Of(nn.log_softmax), ROWS, lambda x, w: functional.log_softmax(x, -1), {}),
    }  # fmt: skip


class Of(nn.Module):
    """A Module that calls a function."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def __call__(self, x: Any) -> Any:
        return self.function(x)


def far(ours: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the largest element of ``theirs``."""
    a, b = np.asarray(ours), theirs.detach().numpy()
    return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300))


def compare_layer(
    module: Any, data: Any, theirs: Any, options: dict[str, Any]
) -> tuple[float, float]:
    """Return the largest relative differences of a layer's values, and of its gradients."""
    module(xp.asarray(data))
    variables = [(name, v) for name, v in module.named_variables().items() if v.trainable]
    for _, v in variables:
        v.assign(RNG.normal(size=v.shape))
    x = xp.asarray(data)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = module(x, **options)
        loss = xp.sum(xp.sin(y))
    gradients = tape.gradient(loss, [x, *(v for _, v in variables)])
    tx = torch.tensor(data, requires_grad=True)
    weights = {name: torch.tensor(np.asarray(v), requires_grad=True) for name, v in variables}
    ty = theirs(tx, weights)
    torch.sum(torch.sin(ty)).backward()
    pairs = zip(gradients, [tx, *weights.values()], strict=True)
    return far(y, ty), max(far(g, t.grad) for g, t in pairs)


def rules() -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return for each name an optimizer, and a function that makes PyTorch's, given its parameters."""
    o, opt = optimizers, torch.optim
    return {
        "SGD": (o.SGD(0.01), lambda p: opt.SGD(p, 0.01)),
        "SGD, momentum": (o.SGD(0.01, 0.9), lambda p: opt.SGD(p, 0.01, 0.9)),
        "SGD, Nesterov": (
            o.SGD(0.01, 0.9, nesterov=True), lambda p: opt.SGD(p, 0.01, 0.9, nesterov=True)
        ),
        "Adam": (o.Adam(0.02, epsilon=0.0), lambda p: opt.Adam(p, 0.02, eps=0.0)),
        "Adam, amsgrad": (
            o.Adam(0.02, epsilon=1e-30, amsgrad=True),
            lambda p: opt.Adam(p, 0.02, eps=1e-30, amsgrad=True),
        ),
        "AdamW": (
            o.AdamW(0.02, 0.1, epsilon=0.0), lambda p: opt.AdamW(p, 0.02, eps=0.0, weight_decay=0.1)
        ),
        "RMSprop": (
            o.RMSprop(0.01, 0.95, epsilon=0.0), lambda p: opt.RMSprop(p, 0.01, 0.95, eps=0.0)
        ),
        "RMSprop, momentum": (
            o.RMSprop(0.01, 0.95, 0.5, epsilon=0.0),
            lambda p: opt.RMSprop(p, 0.01, 0.95, eps=0.0, momentum=0.5),
        ),
        "RMSprop, centered": (
            o.RMSprop(0.01, 0.95, 0.5, 0.0, True),
            lambda p: opt.RMSprop(p, 0.01, 0.95, eps=0.0, momentum=0.5, centered=True),
        ),
        "Adagrad": (
            o.Adagrad(0.1, 0.1, 0.0),
            lambda p: opt.Adagrad(p, 0.1, initial_accumulator_value=0.1, eps=0.0),
        ),
    }  # fmt: skip


def rates() -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return for each name a schedule, and a function that makes PyTorch's, given its optimizer."""
    s, sched = schedules, torch.optim.lr_scheduler
    return {
        "ExponentialDecay": (s.ExponentialDecay(0.05, 1, 0.97), lambda o: sched.ExponentialLR(o, 0.97)),
        "ExponentialDecay, stairs": (
            s.ExponentialDecay(0.05, 20, 0.5, staircase=True), lambda o: sched.StepLR(o, 20, 0.5)
        ),
        "PolynomialDecay": (
            s.PolynomialDecay(0.05, 60, 0.0, 2.0), lambda o: sched.PolynomialLR(o, 60, 2.0)
        ),
        "CosineDecay": (
            s.CosineDecay(0.05, STEPS, 0.1), lambda o: sched.CosineAnnealingLR(o, STEPS, 0.005)
        ),
        "CosineDecayRestarts": (
            s.CosineDecayRestarts(0.05, 20, 2.0, 1.0, 0.1),
            lambda o: sched.CosineAnnealingWarmRestarts(o, 20, 2, 0.005),
        ),
        "PiecewiseConstantDecay": (
            s.PiecewiseConstantDecay([29, 59], [0.05, 0.005, 0.0005]),
            lambda o: sched.MultiStepLR(o, [30, 60], 0.1),
        ),
    }  # fmt: skip


CENTER = np.array([0.3, 1.0, -2.0])
START = np.array([1.5, -0.8, 2.0])


def compare_rule(
    ours: Any, make: Callable[[Any], Any], scheduler: Any = None, clip: float | None = None
) -> float:
    """Return the largest relative difference between the two libraries' parameters in 100 steps."""
    v, t = xp.Variable(START), torch.tensor(START, requires_grad=True)
    theirs = make([t])
    schedule = None if scheduler is None else scheduler(theirs)
    worst = 0.0
    for _ in range(STEPS):
        with xp.GradientTape() as tape:
            loss = xp.sum((v - CENTER) ** 2 + xp.cos(3.0 * v))
        ours.apply_gradients([(tape.gradient(loss, v), v)])
        theirs.zero_grad()
        torch.sum((t - torch.tensor(CENTER)) ** 2 + torch.cos(3.0 * t)).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_([t], clip)
        theirs.step()
        if schedule is not None:
            schedule.step()
        worst = max(worst, far(v, t))
    return worst


def main() -> int:
    """Print the tables of all comparisons and return the exit code."""
    if torch is None:
        print("PyTorch is not installed")
        return 2
    worst = 0.0
    print(
        f"PyTorch {torch.__version__}, float64\n\n| layer | values | gradients |\n| --- | --- | --- |"
    )
    for name, (module, data, theirs, options) in layers().items():
        values, gradients = compare_layer(module, data, theirs, options)
        worst = max(worst, values, gradients)
        print(f"| {name} | {values:.0e} | {gradients:.0e} |")
    print(f"\n| optimizer | worst of {STEPS} steps |\n| --- | --- |")
    found = {name: compare_rule(ours, make) for name, (ours, make) in rules().items()}
    for name, (schedule, scheduler) in rates().items():
        # Without momentum, because Keras scales each gradient with the rate of its own step, and
        # PyTorch the whole momentum with the rate of the last step.
        ours = optimizers.SGD(schedule)
        found[f"SGD, {name}"] = compare_rule(ours, lambda p: torch.optim.SGD(p, 0.05), scheduler)
    found["SGD, clipnorm (PyTorch adds 1e-6 to the norm)"] = compare_rule(
        optimizers.SGD(0.05, clipnorm=1.5), lambda p: torch.optim.SGD(p, 0.05), clip=1.5
    )
    for name, value in found.items():
        print(f"| {name} | {value:.0e} |")
        worst = max(worst, 0.0 if "1e-6" in name else value)
    print(f"\nworst: {worst:.0e}; limit {LIMIT:.0e}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
