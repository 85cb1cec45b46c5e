"""Fit data larger than memory.

Workers of Dask compute gradients of partitions, each of which fits into their memory.

    python examples/larger_than_memory.py              # 1.6 GB through two processes of 400 MiB
    python examples/larger_than_memory.py --steps 10   # stop here...
    python examples/larger_than_memory.py --steps 30 --resume      # ...and go on: the same weights

To use workers of your own, here two processes, run these commands in three terminals:

    dask scheduler
    dask worker tcp://127.0.0.1:8786 --nworkers 2 --nthreads 1 --memory-limit 400MiB
    python examples/larger_than_memory.py --address tcp://127.0.0.1:8786

The workers generate the data in each step, partition by partition, as Dask would read files.  The model
is a network with one hidden layer.  It learns to which of two interleaved spirals a row belongs; forty
further columns are noise.  Each step is one ``value_and_grad`` over the partitions and a step of Adam.
Dask's dashboard, whose link is printed, shows the progress of the tasks.
"""

import argparse
import sys
import time
from pathlib import Path

import dask
import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, picture, writable

import arraytape as xp
from arraytape import checkpoint, distributed, nn, optimizers
from distributed import Client, LocalCluster

NOISE = 40  # columns without information
COLUMNS = 2 + NOISE
MOST = 1000  # the largest number of steps


def spirals(partition: int, rows: int):
    """Return the float64 columns and labels of a partition, the same in each call."""
    rng = np.random.default_rng([7, partition])
    X = rng.normal(size=(rows, COLUMNS), scale=0.3)
    y = rng.integers(0, 2, size=rows).astype(float)
    turn = rng.uniform(0.3, 1.0, size=rows)
    angle = 5.0 * turn + np.pi * y
    X[:, 0] = turn * np.cos(angle) + 0.03 * rng.normal(size=rows)
    X[:, 1] = turn * np.sin(angle) + 0.03 * rng.normal(size=rows)
    return X, y


class Network(xp.Module):
    """A network with one hidden layer and one logit."""

    def __init__(self) -> None:
        super().__init__()
        draw = np.random.default_rng(3)
        self.hidden = nn.Dense(32, activation="tanh", seed=draw, name="hidden")
        self.logit = nn.Dense(1, seed=draw, name="logit")
        self(xp.zeros((1, COLUMNS)))  # creates the Variables

    def __call__(self, X: xp.Array) -> xp.Array:
        return self.logit(self.hidden(4.0 * X))[:, 0]


def loss(network: Network, block) -> xp.Array:
    """Return the sum of the logistic loss over the rows of one partition."""
    X, y = block
    z = network(X)
    return xp.sum(xp.logaddexp(z, xp.zeros_like(z)) - y * z)


def fit(options: argparse.Namespace, client: Client) -> tuple[Network, np.ndarray]:
    """Train from the start or a checkpoint; return the network and the loss of each step."""
    make = dask.delayed(spirals)
    data = distributed.partitions([make(i, options.rows) for i in range(options.partitions)])
    gigabytes = options.partitions * options.rows * (COLUMNS + 1) * 8 / 1e9
    print(f"{gigabytes:.2f} GB in {len(data)} partitions; progress: {client.dashboard_link}")
    step, count = distributed.value_and_grad(loss, data), options.partitions * options.rows
    network, adam = Network(), optimizers.Adam(0.05)
    adam.build(network.trainable_variables)
    curve, done = xp.Variable(xp.zeros(MOST), trainable=False), xp.Variable(0, trainable=False)
    state = {"network": network, "adam": adam, "curve": curve, "done": done}
    if options.resume:
        checkpoint.load(options.checkpoint, state)
        print(f"going on after step {int(done)}")
    for number in range(int(done), options.steps):
        start = time.perf_counter()
        value, gradients = step(network)
        adam.apply_gradients(
            [(g / count, v) for g, v in zip(gradients, network.trainable_variables, strict=True)]
        )
        curve[number] = value / count
        done.assign(number + 1)
        checkpoint.save(options.checkpoint, state)
        print(
            f"step {number + 1}: loss {float(curve[number]):.4f}, {time.perf_counter() - start:.1f} s"
        )
    return network, curve.to_numpy()[: options.steps]


def draw(network: Network, losses: np.ndarray, file: Path) -> float:
    """Plot the losses and the spirals; return the accuracy on rows that training did not use."""
    X, y = spirals(10**6, 4000)
    z = network(xp.asarray(X)).to_numpy()
    accuracy = float(np.mean((z > 0) == (y > 0.5)))
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    left.plot(np.arange(1, len(losses) + 1), losses)
    left.set(xlabel="step", ylabel="loss per row", title="gradients summed over all partitions")
    grid = np.linspace(-1.1, 1.1, 200)
    plane = np.zeros((grid.size**2, COLUMNS))
    plane[:, 0], plane[:, 1] = (axis.ravel() for axis in np.meshgrid(grid, grid))
    shade = network(xp.asarray(plane)).to_numpy().reshape(grid.size, grid.size)
    right.contourf(grid, grid, np.tanh(shade), levels=20, cmap="RdBu_r", alpha=0.6)
    right.scatter(X[:800, 0], X[:800, 1], c=y[:800], cmap="RdBu_r", s=6, edgecolors="none")
    right.set(title=f"what the network says: {accuracy:.1%} of new rows right", aspect="equal")
    plt.savefig(file, dpi=120)
    return accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--partitions", type=integer(1), default=80)
    parser.add_argument("--rows", type=integer(1), default=58_000, help="rows of a partition")
    parser.add_argument("--steps", type=integer(1), default=15, help=f"{MOST} at most")
    parser.add_argument("--address", help="of a scheduler; without it two processes are started")
    parser.add_argument(
        "--checkpoint", type=writable, default="build/larger_than_memory.safetensors"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--out", type=picture, default="build/larger_than_memory.png")
    options = parser.parse_args()
    if options.steps > MOST:
        parser.error(f"argument --steps: at most {MOST}")
    if options.resume and not options.checkpoint.exists():
        parser.error(f"argument --resume: there is no checkpoint '{options.checkpoint}'")
    if options.address:
        with Client(options.address) as client:
            found = fit(options, client)
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="400MiB") as cluster,
            Client(cluster) as client,
        ):
            found = fit(options, client)
    print(f"accuracy on new rows: {draw(*found, options.out):.3f}; plot in {options.out}")


if __name__ == "__main__":
    sys.exit(main())
