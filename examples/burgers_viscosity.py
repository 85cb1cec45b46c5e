"""Find a viscosity from noisy velocities.

A physics-informed network for Burgers' equation finds a fluid's viscosity from 100 velocities.

    python examples/burgers_viscosity.py --out burgers_viscosity.png

Burgers' equation, u_t + u u_x = nu u_xx, describes a wave that steepens until the viscosity nu
stops it. Known are the initial velocity -sin(pi x), the velocity 0 at both ends, and 100 measured
velocities with an error of 0.01. The viscosity is unknown. A network of 500 weights represents u.
It is trained to fit the measurements and to solve the equation at 600 other points. The equation
contains the network's second derivative with respect to x, which is `xp.jvp` of `xp.jvp`. The
gradient with respect to the weights and nu is a reverse pass over both, and SciPy's L-BFGS uses it.

The results are compared with the exact solution of Cole and Hopf: the velocities between the
measurements, the second derivative, and nu. As a bound for nu, the exact solution itself is fitted to
the same 100 values; no method can learn more from them.

Source of the method: Raissi, Perdikaris and Karniadakis 2019, Journal of Computational Physics 378,
686.
"""

import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from scipy.optimize import minimize_scalar
from scipy.special import roots_hermite

import arraytape as xp
from arraytape.optimizers import minimize_scipy

VISCOSITY, NOISE = 0.05, 0.01
GUESS = 0.2  # initial value of the viscosity
# Measured velocities; points at which the equation is solved; hidden units.
MEASURED, PLACES, WIDTH = (100, 600, 20)
TRUST = 10.0  # weight of the velocities relative to the equation
DIFFERENCE = 1e-5  # the step of the central finite differences
TOLERANCE = 1e-6  # for the largest relative difference from finite differences


def exact(x, t, viscosity=VISCOSITY):
    """Return Cole's and Hopf's exact solution, a ratio of two integrals, by Gauss-Hermite quadrature.

    Source: Basdevant et al. 1986, Computers & Fluids 14, 23.
    """
    roots, weights = roots_hermite(80)
    y = np.asarray(x)[..., None] - np.sqrt(4.0 * viscosity * np.asarray(t))[..., None] * roots
    f = weights * np.exp(-np.cos(np.pi * y) / (2.0 * np.pi * viscosity))
    return -np.sum(np.sin(np.pi * y) * f, axis=-1) / np.sum(f, axis=-1)


class Problem:
    """The measurements, and the points at which the network has to solve the equation."""

    def __init__(self, seed) -> None:
        self.random = np.random.default_rng(seed)
        self.x, self.t = (xp.asarray(part) for part in self.places(PLACES))
        x, t = self.places(MEASURED)
        self.velocity = exact(x, t) + self.random.normal(scale=NOISE, size=MEASURED)
        self.measured = xp.asarray(x), xp.asarray(t)

    def places(self, count):
        return self.random.uniform(-1.0, 1.0, count), self.random.uniform(0.0, 1.0, count)

    def start(self):
        """Return initial weights of a network with two hidden layers, and the log of the viscosity."""

        def layer(inputs, outputs):
            return xp.asarray(self.random.normal(size=(inputs, outputs)) / np.sqrt(inputs))

        return {
            "first": layer(2, WIDTH), "first level": xp.zeros(WIDTH),
            "second": layer(WIDTH, WIDTH), "second level": xp.zeros(WIDTH),
            "third": layer(WIDTH, 1), "viscosity": xp.asarray(np.log(GUESS)),
        }  # fmt: skip

    def residual(self, p):
        """Return the residual of the equation at each point."""
        u, u_x, u_xx, u_t = derivatives(p, self.x, self.t)
        return u_t + u * u_x - xp.exp(p["viscosity"]) * u_xx

    def misfit(self, p):
        return velocity(p, *self.measured) - self.velocity

    def loss(self, p):
        return xp.mean(self.residual(p) ** 2) + TRUST * xp.mean(self.misfit(p) ** 2)


def velocity(p, x, t):
    """Return the network's velocity, with the initial and boundary values built in.  x and t: (n,)."""
    hidden = xp.tanh(xp.stack([x, t], axis=1) @ p["first"] + p["first level"])
    hidden = xp.tanh(hidden @ p["second"] + p["second level"])
    return (1.0 - x**2) * t * (hidden @ p["third"])[:, 0] - xp.sin(np.pi * x)


def derivatives(p, x, t):
    """Return the velocity u at all points, and its derivatives u_x, u_xx and u_t.

    The velocity at a point does not depend on other points, so that one JVP along a vector of ones
    yields the derivatives at all points.
    """
    ones = xp.ones_like(x)

    def by_x(x):
        return xp.jvp(lambda x: velocity(p, x, t), (x,), (ones,))

    (u, u_x), (_, u_xx) = xp.jvp(by_x, (x,), (ones,))
    return u, u_x, u_xx, xp.jvp(lambda t: velocity(p, x, t), (t,), (ones,))[1]


def by_exact_solution(problem):
    """Return the viscosity with which the exact solution fits the measured velocities best."""

    def squares(log_viscosity):
        found = exact(*(np.asarray(part) for part in problem.measured), np.exp(log_viscosity))
        return np.sum((found - problem.velocity) ** 2)

    bounds = np.log(VISCOSITY) + np.array([-1.0, 1.0])
    return np.exp(minimize_scalar(squares, bounds=bounds, options={"xatol": 1e-10}).x)


def worst_difference(problem, p):
    """Return the relative differences of the gradient and of u_xx from central differences."""
    gradient, away, largest = xp.grad(problem.loss)(p), 0.0, 0.0
    for name, x in p.items():
        direction = problem.random.normal(size=x.shape)
        direction /= np.linalg.norm(direction)
        moved = [p | {name: x + s * DIFFERENCE * direction} for s in (1, -1)]
        above, below = (float(problem.loss(q)) for q in moved)
        slope = float(xp.sum(gradient[name] * direction))
        away = max(away, abs(slope - (above - below) / (2.0 * DIFFERENCE)))
        largest = max(largest, abs(slope))
    _, _, u_xx, _ = derivatives(p, problem.x, problem.t)
    above, below = (derivatives(p, problem.x + s, problem.t)[1] for s in (1e-5, -1e-5))
    second = xp.max(xp.abs(u_xx - (above - below) / 2e-5)) / xp.max(xp.abs(u_xx))
    return max(away / largest, float(second))


def draw(problem, p, seen, out) -> None:
    x, t = np.meshgrid(np.linspace(-1.0, 1.0, 161), np.linspace(0.01, 1.0, 100))
    at = xp.asarray(x.ravel()), xp.asarray(t.ravel())
    found, truth = np.asarray(velocity(p, *at)).reshape(x.shape), exact(x, t)
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    left, middle, right = axes
    image = left.pcolormesh(t, x, found, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    places, times = problem.measured
    left.scatter(times, places, s=8, color="black", label="measured")
    left.set(title="The network's velocity", xlabel="t", ylabel="x")
    left.legend(loc="upper right")
    figure.colorbar(image, ax=left, label="u")
    for time, color in ((0.25, "tab:blue"), (0.5, "tab:orange"), (0.9, "tab:green")):
        row = int(np.argmin(np.abs(t[:, 0] - time)))
        middle.plot(x[row], truth[row], color=color, label=f"exact, t = {t[row, 0]:.2f}")
        middle.plot(x[row, ::6], found[row, ::6], "o", markersize=3, color=color)
    middle.set(title="Dots: the network", xlabel="x", ylabel="u", xticks=np.linspace(-1, 1, 5))
    middle.legend(loc="upper right", fontsize="small")
    right.plot(seen, color="tab:red", label="by the network")
    right.axhline(VISCOSITY, color="black", linestyle="--", label="true")
    right.set(title="The viscosity", xlabel="step of L-BFGS", ylabel="nu", ylim=(0.0, None))
    right.legend()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "burgers_viscosity.png")
    option = parser.add_argument
    option("--steps", type=integer(1), default=800, help="most steps of L-BFGS (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of places and noise (%(default)s)")
    options = parser.parse_args(arguments)

    problem = Problem(options.seed)
    start = problem.start()
    worst = worst_difference(problem, start)
    seen = [GUESS]
    how = {"maxiter": options.steps, "maxfun": 3 * options.steps, "maxcor": 30}
    found = minimize_scipy(
        problem.loss, start, method="L-BFGS-B", options=how | {"ftol": 1e-12, "gtol": 1e-9},
        callback=lambda p: seen.append(float(xp.exp(p["viscosity"]))),
    )  # fmt: skip
    p = found.x
    x, t = problem.places(2000)
    there = xp.asarray(x), xp.asarray(t)
    away = np.asarray(velocity(p, *there)) - exact(x, t)
    print(f"{found.nit} steps of L-BFGS, {found.nfev} gradients\n")
    print(f"{'viscosity':<42}{VISCOSITY:>10.5f}   (true)")
    print(f"{'... by the network':<42}{seen[-1]:>10.5f}")
    print(f"{'... by the exact solution, fitted':<42}{by_exact_solution(problem):>10.5f}")
    print(f"\n{'noise of what was measured (rms)':<42}{NOISE:>10.5f}")
    print(f"{'velocity at 2000 other places, off by (rms)':<42}{np.sqrt(np.mean(away**2)):>9.5f}")
    draw(problem, p, seen, options.out)
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
