"""Compute higher derivatives.

Nested tapes and forward mode compute them; Newton's method uses products with the Hessian.

    python examples/higher_derivatives.py --order 5 --steps 300 --out higher_derivatives.png

The first part computes derivatives of a bell curve to any order, by nested tapes and by nested
accumulators, and compares them with the exact derivatives (Hermite polynomials times the bell). The
second part computes products of a Hessian with a vector by forward-over-reverse mode. They cost a few
gradients, however large the Hessian is. With such products, Newton's method needs half the steps of the
best method without second derivatives.
"""

import argparse
import sys
import time
from collections.abc import Callable

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, picture
from numpy.polynomial import hermite_e

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape
from arraytape.optimizers import minimize_scipy

TOLERANCE = 1e-10  # for the largest error of a derivative, relative to its largest value
SIZES = (10, 100, 1000)
METHODS = {
    "CG": "gradients (CG)",
    "BFGS": "gradients (BFGS)",
    "Newton-CG": "Hessian products (Newton-CG)",
}


def bell(x: xp.Array) -> xp.Array:
    return xp.exp(-(x**2) / 2.0)


def rosenbrock(x: xp.Array) -> xp.Array:
    """Return the value of Rosenbrock's function, a curved valley with steep walls, in any dimension."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


# --- derivatives of any order ---------------------------------------------------------------------
def by_tapes(f: Callable, x: xp.Array, order: int) -> list[xp.Array]:
    """Return f(x) and its derivatives; each tape records the gradients that inner tapes compute."""
    if order == 0:
        return [f(x)]
    with GradientTape() as tape:
        tape.watch(x)
        lower = by_tapes(f, x, order - 1)
    return [*lower, tape.gradient(lower[-1], x)]


def by_accumulators(f: Callable, x: xp.Array, order: int) -> list[xp.Array]:
    """Return f(x) and its derivatives; each accumulator differentiates the inner ones' results."""
    if order == 0:
        return [f(x)]
    with ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        lower = by_accumulators(f, x, order - 1)
    return [*lower, accumulator.jvp(lower[-1])]


def exact(x: np.ndarray, order: int) -> list[np.ndarray]:
    """Return the exact derivatives, d^n/dx^n exp(-x^2 / 2) = (-1)^n He_n(x) exp(-x^2 / 2)."""
    units = np.eye(order + 1)
    return [
        (-1) ** n * hermite_e.hermeval(x, units[n]) * np.exp(-(x**2) / 2) for n in range(order + 1)
    ]


def report_orders(x: np.ndarray, order: int) -> tuple[list[np.ndarray], float]:
    """Print the error of each derivative; return the derivatives and the largest error."""
    known = exact(x, order)
    found = {by.__name__: by(bell, xp.asarray(x), order) for by in (by_tapes, by_accumulators)}
    print(f"{'derivative':<12}{'nested tapes':>16}{'accumulators':>16}   (largest relative error)")
    worst = 0.0
    for n, values in enumerate(known):
        errors = [
            np.max(np.abs(np.asarray(way[n]) - values)) / np.max(np.abs(values))
            for way in found.values()
        ]
        worst = max(worst, *errors)
        print(f"{n:<12}{errors[0]:>16.1e}{errors[1]:>16.1e}")
    return [np.asarray(value) for value in found["by_tapes"]], float(worst)


# --- Hessians -------------------------------------------------------------------------------------
def gradient(f: Callable, x: xp.Array) -> xp.Array:
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def hessian_product(f: Callable, x: xp.Array, v: xp.Array) -> xp.Array:
    """Return the product of the Hessian of f at x with v, without computing the Hessian."""
    with ForwardAccumulator(x, v) as accumulator:
        g = gradient(f, x)
    return accumulator.jvp(g)


def report_products(seed: int) -> None:
    """Print the times of a gradient and of a Hessian product, and their ratio."""
    draw = np.random.default_rng(seed)
    print(f"\n{'dimensions':<12}{'gradient':>13}{'product':>16}{'ratio':>10}")
    for size in SIZES:
        x, v = (xp.asarray(draw.normal(size=size)) for _ in range(2))
        one = median_time(lambda x=x: gradient(rosenbrock, x))
        two = median_time(lambda x=x, v=v: hessian_product(rosenbrock, x, v))
        print(f"{size:<12}{one:>10.2f} ms{two:>13.2f} ms{two / one:>10.1f}")


def median_time(function: Callable) -> float:
    """Return the median time of seven calls, after a first call, in milliseconds."""
    function()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        function()
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times))


def descend(seed: int, steps: int) -> dict[str, np.ndarray]:
    """Return each method's distances from the minimum, which is at (1, ..., 1) in 30 dimensions."""
    start = np.random.default_rng(seed).normal(size=30)
    curves = {}
    print(f"\n{'method':<12}{'steps':>13}{'gradients':>16}{'distance':>13}")
    for method in METHODS:
        points = [start]
        result = minimize_scipy(
            rosenbrock,
            xp.asarray(start),
            method=method,
            callback=lambda x, points=points: points.append(np.asarray(x)),
            options={"maxiter": steps},
        )
        curves[method] = np.linalg.norm(np.asarray(points) - 1.0, axis=1)
        print(f"{method:<12}{result.nit:>13}{result.njev:>16}{curves[method][-1]:>13.1e}")
    return curves


def draw_plot(
    x: np.ndarray, values: list[np.ndarray], curves: dict[str, np.ndarray], out: str
) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for n, value in enumerate(values):
        label = "exp(-x²/2)" if n == 0 else f"derivative {n}"
        left.plot(x, value, label=label, linewidth=2.5 if n == 0 else 1.2)
    left.set(title="A bell and its derivatives, by nested tapes", xlabel="x", ylabel="value")
    left.legend()
    for method, curve in curves.items():
        right.semilogy(curve, label=METHODS[method])
    right.set(title="Rosenbrock's valley in 30 dimensions", xlabel="step")
    right.set(ylabel="distance from the minimum")
    right.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Derivatives of derivatives.")
    option = parser.add_argument
    option("--order", type=integer(1), default=5, help="highest derivative (%(default)s)")
    option("--steps", type=integer(1), default=300, help="most steps of a method (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the starting points (%(default)s)")
    default = "higher_derivatives.png"
    option("--out", type=picture, default=default, help="plot: .png, .pdf or .svg (%(default)s)")
    options = parser.parse_args(arguments)

    x = np.linspace(-4.0, 4.0, 401)
    values, worst = report_orders(x, options.order)
    report_products(options.seed)
    curves = descend(options.seed, options.steps)
    draw_plot(x, values, curves, options.out)
    agree = worst <= TOLERANCE
    print(f"\nlargest relative error: {worst:.1e} ({'' if agree else 'NOT '}<= {TOLERANCE:.0e})")
    print(f"plot: {options.out}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
