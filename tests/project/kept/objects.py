"""Objects that users pickle, and a model in a checkpoint: a file of an older version must load.

This writes the files, in a checkout of that version: ``python tests/project/kept/objects.py VERSION``.
"""

from __future__ import annotations

import inspect
import json
import pickle
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import arraytape as xp

HERE = Path(__file__).parent
X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def public_callables() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes with their names, as public_names.txt lists them."""
    listed = HERE.parents[2] / "docs/reference/generated/public_names.txt"
    for name in listed.read_text().splitlines():
        if name.startswith("#"):
            continue
        path = name.split(".")
        found: Any = xp
        for i, part in enumerate(path[1:], 2):
            if not hasattr(found, part):
                import_module(".".join(path[:i]))
            found = getattr(found, part)
        if callable(found) and not inspect.isclass(getattr(xp, path[1])):  # no methods
            yield name, found


def network() -> xp.nn.Sequential:
    """Build a model with a layer of each kind that has Variables, or state."""
    layers = [
        xp.nn.Conv1D(2, 2, seed=1), xp.nn.LayerNormalization(), xp.nn.MaxPooling1D(2),
        xp.nn.Flatten(), xp.nn.BatchNormalization(), xp.nn.Dense(3, activation="tanh", seed=2),
        xp.nn.Dropout(0.5, seed=3), xp.nn.Dense(1, kernel_initializer="he_normal", seed=4),
    ]  # fmt: skip
    model = xp.nn.Sequential(layers)
    model(xp.asarray(X[:, :, None]))
    return model


def step(model: Any, optimizer: Any) -> float:
    """Take one step of training, and return the loss before it."""
    with xp.GradientTape() as tape:
        loss = xp.sum(model(xp.asarray(X[:, :, None])) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return float(loss)


def optimizers() -> list[Any]:
    """Return an optimizer of each kind, with rates of several kinds."""
    o, s = xp.optimizers, xp.optimizers.schedules
    return [
        o.SGD(0.01, momentum=0.9), o.Adam(0.01, amsgrad=True), o.AdamW(0.01), o.RMSprop(0.01),
        o.Adagrad(0.01), o.Lion(0.01), o.Adam(s.CosineDecay(0.1, 10)),
        o.SGD(s.ExponentialDecay(0.1, 5, 0.5)),
        o.SGD(s.PiecewiseConstantDecay([2, 4], [0.1, 0.01, 0.001]), clipnorm=1.0),
    ]  # fmt: skip


def trained() -> list[tuple[Any, Any]]:
    """Return models with optimizers after two steps."""
    pairs = [(network(), optimizer) for optimizer in optimizers()]
    for pair in pairs:
        step(*pair)
        step(*pair)
    return pairs


def metrics() -> list[Any]:
    """Return metrics of all kinds that have seen a batch."""
    m = xp.nn.metrics
    found = [
        m.AUC(), m.Accuracy(), m.BinaryAccuracy(), m.MeanSquaredError(), m.RootMeanSquaredError(),
        m.MeanAbsoluteError(), m.Precision(), m.Recall(),
    ]  # fmt: skip
    for metric in found:
        metric.update_state([0.0, 1.0, 1.0], [0.25, 0.75, 1.0])
    return found


def values() -> list[Any]:
    """Return arrays and Variables of several dtypes and layouts, initializers, exceptions."""
    i = xp.nn.initializers
    return [
        xp.asarray(X), xp.asarray(X).T, xp.asarray(X.astype(np.complex64)), xp.asarray(3),
        xp.asarray([True, False]), xp.Variable([1.0, 2.0], name="v"),
        xp.Variable(1, trainable=False, name="n"), i.GlorotUniform(seed=1), i.Orthogonal(seed=2),
        i.TruncatedNormal(seed=3), i.VarianceScaling(seed=4),
    ]  # fmt: skip


def main(version: str) -> None:
    """Write the files of one version."""
    folder = HERE / version
    folder.mkdir()
    callables = {name: pickle.dumps(found, 4).hex() for name, found in public_callables()}
    (folder / "callables.json").write_text(json.dumps(callables, indent=0))
    for make in (trained, metrics, values):
        (folder / f"{make.__name__}.pickle").write_bytes(pickle.dumps(make(), 4))
    model, optimizer = trained()[1]
    xp.checkpoint.save(folder / "run.safetensors", {"model": model, "optimizer": optimizer})


if __name__ == "__main__":
    main(sys.argv[1])
