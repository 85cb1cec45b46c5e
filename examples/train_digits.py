"""Train a network; stop and resume.

The network learns scikit-learn's digits with AdamW.

    python examples/train_digits.py                        # to the end
    python examples/train_digits.py --steps 600            # stop here...
    python examples/train_digits.py --steps 1500 --resume  # ...and go on: the same weights, bit for bit

A step depends only on its number, the seed and the state of the run. The checkpoint holds this state:
the weights, the optimizer's running means, Dropout's state, and the learning curve.
"""

import argparse
import hashlib
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, picture, writable
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import arraytape as xp
from arraytape import checkpoint, nn, optimizers

BATCH = 64
EVERY = 50  # the number of steps between two points of the learning curve
LEARNING_RATE = optimizers.schedules.CosineDecay(
    0.0, 1400, alpha=0.05, warmup_target=0.004, warmup_steps=100
)
COLUMNS = ("step", "training loss", "training accuracy", "test accuracy")


def network(seed: int) -> nn.Sequential:
    """Return a network with two hidden layers and one logit for each digit."""
    draw = np.random.default_rng(seed)
    return nn.Sequential(
        [
            nn.Dense(128, "relu", seed=draw, name="first", kernel_initializer="he_normal"),
            nn.Dropout(0.2, seed=draw),
            nn.Dense(64, "relu", seed=draw, name="second", kernel_initializer="he_normal"),
            nn.Dense(10, seed=draw, name="logits"),
        ]
    )


class Data:
    """The digits, with pixels from 0 to 1; a quarter of them are test data."""

    def __init__(self, seed: int) -> None:
        bunch = load_digits()
        parts = train_test_split(
            bunch.data / 16.0,
            bunch.target,
            test_size=0.25,
            stratify=bunch.target,
            random_state=seed,
        )
        self.train, self.test = (xp.asarray(part) for part in parts[:2])
        self.train_labels, self.test_labels = parts[2:]
        self.seed = seed

    def batch(self, step: int) -> tuple[xp.Array, xp.Array]:
        """Return the minibatch of a step; the order of the digits depends on the seed and the epoch."""
        count = len(self.train_labels)
        epoch, place = divmod(step, count // BATCH)
        order = np.random.default_rng([self.seed, epoch]).permutation(count)
        chosen = order[place * BATCH : (place + 1) * BATCH]
        return self.train[chosen, :], xp.asarray(self.train_labels[chosen])


@xp.function  # traced twice, then replayed as a program of NumPy calls: docs/tutorials/replay.md
def train_step(
    model: nn.Sequential, optimizer: optimizers.Optimizer, x: xp.Array, labels: xp.Array
) -> xp.Array:
    """Train on one minibatch; return the loss before the update."""
    with xp.GradientTape() as tape:
        loss = xp.mean(nn.softmax_cross_entropy(labels, model(x, training=True)))
    variables = model.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return loss


def measure(model: nn.Sequential, data: Data, step: int) -> list[float]:
    """Return one row of the learning curve, with the columns COLUMNS."""
    logits = model(data.train)
    loss = float(xp.mean(nn.softmax_cross_entropy(data.train_labels, logits)))
    right, right_in_test = (nn.metrics.SparseCategoricalAccuracy() for _ in range(2))
    return [
        step,
        loss,
        float(right(data.train_labels, logits)),
        float(right_in_test(data.test_labels, model(data.test))),
    ]


class Run:
    """A model, its optimizer and its learning curve, in memory and on disk."""

    def __init__(self, data: Data, path: Path) -> None:
        self.data, self.path = data, path
        self.model = network(data.seed)
        self.model(data.train[:1, :])  # creates the weights
        self.optimizer = optimizers.AdamW(LEARNING_RATE, weight_decay=0.1, global_clipnorm=1.0)
        self.optimizer.exclude_from_weight_decay(var_names=["bias"])
        self.optimizer.build(self.model.trainable_variables)
        self.curve = [measure(self.model, data, 0)]

    @property
    def step(self) -> int:
        return int(self.optimizer.iterations)

    def save(self) -> None:
        checkpoint.save(self.path, self.state(np.asarray(self.curve)))

    def resume(self) -> None:
        """Restore the state from the checkpoint; ValueError if this program did not write the file."""
        curve = checkpoint.load(self.path).get("curve")
        if curve is None or curve.ndim != 2 or curve.shape[1] != len(COLUMNS):
            raise ValueError(f"{str(self.path)!r} holds no learning curve of this program")
        # The curve's length depends on the number of steps.
        state = self.state(np.zeros(curve.shape))
        checkpoint.load(self.path, state)
        self.curve = state["curve"].tolist()

    def state(self, curve: np.ndarray) -> dict:
        variable = xp.Variable(curve, trainable=False, name="curve")
        return {"model": self.model, "optimizer": self.optimizer, "curve": variable}

    def train(self, steps: int) -> None:
        progress = tqdm(range(self.step, steps), desc="training", unit="step")
        for step in progress:
            loss = train_step(self.model, self.optimizer, *self.data.batch(step))
            if (step + 1) % EVERY == 0:
                self.curve.append(measure(self.model, self.data, step + 1))
                progress.set_postfix(loss=f"{float(loss):.4f}", test=f"{self.curve[-1][-1]:.1%}")
                self.save()
        self.save()

    def fingerprint(self) -> str:
        """Return a hash of all weights."""
        weights = b"".join(np.asarray(v).tobytes() for v in self.model.variables)
        return hashlib.sha256(weights).hexdigest()[:16]


def draw(curve: np.ndarray, out: Path) -> None:
    """Plot loss and accuracies over the steps."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    step, loss, train, test = curve.T
    left.semilogy(step, loss, color="tab:blue", label="all training digits")
    left.set(title="Cross-entropy while learning", xlabel="step", ylabel="mean loss per digit")
    left.legend()
    right.plot(step, train, label="training digits", linewidth=1.2)
    right.plot(step, test, label=f"test digits: {test[-1]:.1%} at the end", linewidth=2.5)
    right.axhline(0.96, color="black", linewidth=0.8, linestyle="--", label="96%")
    right.set(title="Accuracy while learning", xlabel="step", ylabel="part of digits recognised")
    right.set_ylim(min(0.8, float(curve[-1, 2:].min())) - 0.02, 1.005)
    right.legend(loc="lower right")
    figure.savefig(out, dpi=120)
    plt.close(figure)


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits.")
    option = parser.add_argument
    option("--steps", type=integer(1), default=1500, help="steps in all (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of split, weights, order (%(default)s)")
    option("--resume", action="store_true", help="go on from the checkpoint")
    default = "train_digits.safetensors"
    option("--checkpoint", type=writable, default=default, help="file of the run (%(default)s)")
    default = "train_digits.png"
    option("--out", type=picture, default=default, help="plot: .png, .pdf or .svg (%(default)s)")
    options = parser.parse_args(arguments)
    if options.resume and not options.checkpoint.exists():
        parser.error(f"argument --resume: there is no checkpoint '{options.checkpoint}'")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse_options(arguments)
    started = time.perf_counter()
    run = Run(Data(options.seed), options.checkpoint)
    if options.resume:
        try:
            run.resume()
        except ValueError as error:
            print(f"cannot resume: {error}", file=sys.stderr)
            return 2
        print(f"resumed at step {run.step}")
    run.model.summary(run.data.train[:BATCH, :])
    run.train(options.steps)
    curve = np.asarray([*run.curve, measure(run.model, run.data, run.step)])
    draw(curve, options.out)
    for name, value in zip(COLUMNS, curve[-1], strict=True):
        print(f"{name:<20}{value:>10.4g}")
    print(f"{'weights':<20}{run.fingerprint()}")
    print(f"{'time':<20}{time.perf_counter() - started:>8.1f} s")
    print(f"plot: {options.out}\ncheckpoint: {options.checkpoint}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
