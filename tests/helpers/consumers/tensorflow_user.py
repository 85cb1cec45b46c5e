"""A training loop of a TensorFlow user, with the types that an editor shows."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import arraytape as xp
from arraytape import nn


class Classifier(xp.Module):
    def __init__(self, classes: int) -> None:
        super().__init__("classifier")
        self.hidden = nn.Dense(8, activation="relu", seed=0)
        self.dropout = nn.Dropout(0.1, seed=1)
        self.head = nn.Dense(classes, seed=2)

    def call(self, x: xp.Array, training: bool = False) -> xp.Array:
        hidden = self.hidden(x)
        assert_type(hidden, xp.Array)
        return self.head(self.dropout(hidden, training=training))


class Scale(nn.Layer):
    """A layer of the user's own, whose ``call`` returns two things."""

    factor: xp.Variable

    def make(self, x: Any) -> None:
        self.add_weight("factor", (x.shape[-1],), x, "ones")

    def call(self, x: xp.Array, shift: float = 0.0) -> tuple[xp.Array, float]:
        return x * self.factor + shift, shift


@xp.function
def train_step(model: Classifier, x: xp.Array, labels: xp.Array) -> xp.Array:
    with xp.GradientTape() as tape:
        logits = model(x, training=True)
        loss = nn.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
    assert_type(logits, xp.Array)
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        variable.assign_sub(0.1 * gradient)
    return loss


def main() -> None:
    x = xp.asarray(np.linspace(-1.0, 1.0, 12).reshape(4, 3))
    labels = xp.asarray([0, 1, 0, 1])
    model = Classifier(2)
    assert_type(model(x), xp.Array)
    loss = train_step(model, x, labels)
    assert_type(loss, xp.Array)
    stack = nn.Sequential([nn.Dense(4, seed=0), nn.BatchNormalization(), nn.Flatten()])
    assert_type(stack(x, training=True), xp.Array)
    scaled, shift = Scale()(x, 2.0)
    assert_type(scaled, xp.Array)
    assert_type(shift, float)
    optimizer = xp.optimizers.Adam(1e-3)
    optimizer.minimize(lambda: xp.sum(model(x) ** 2), model.trainable_variables)
    accuracy = nn.metrics.SparseCategoricalAccuracy()
    assert_type(accuracy(labels, model(x)), xp.Array)
    print("done", loss.shape)


if __name__ == "__main__":
    main()
