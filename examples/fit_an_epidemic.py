"""Fit an epidemic to counts.

A fit of differential equations gives errors of the parameters, the curve and the peak's day.

    python examples/fit_an_epidemic.py --out fit_an_epidemic.png

In January 1978 an influenza went through a boarding school of 763 boys, and the boys in bed were
counted each day. The SIR model has three parameters: the rate of infection, the rate of recovery, and
the number of infected at the start. `arraytape.implicit.odeint` solves the model like
scipy.integrate.solve_ivp, and its derivatives are the exact Jacobian for scipy.optimize.least_squares.
The same derivatives give the standard errors of the parameters, a band around the curve, and the error
of the day of the peak. This day is a root of a function of the solution.

Source of the counts: British Medical Journal, 4 March 1978, page 587.
"""

import sys

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import parser_with_out, verdict
from scipy.optimize import least_squares

import arraytape as xp
from arraytape.implicit import odeint, root

IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4])
DAYS = np.arange(len(IN_BED), dtype=float)
BOYS = 763.0
NAMES = ("infections by a boy and day", "recoveries by day", "in bed on day 0")
TIGHT = {"rtol": 1e-9, "atol": 1e-7}
TOLERANCE = 1e-5  # for the largest relative difference between gradients


def rates(t, y, p):
    """Return dS/dt and dI/dt of the numbers of susceptible and infected boys."""
    infections, recoveries = p[0] * y[0] * y[1] / BOYS, p[1] * y[1]
    return [-infections, infections - recoveries]


def solve(log_p, **options):
    """Solve the model; ``log_p`` has the logarithms of the three parameters."""
    p = xp.exp(log_p)
    start = xp.stack([BOYS - p[2], p[2]])
    return odeint(rates, (DAYS[0], DAYS[-1]), start, "DOP853", args=(p,), **TIGHT, **options)


def in_bed(log_p, times, **options):
    return solve(log_p, t_eval=times, **options).y[1, :]


def residuals(log_p, **options):
    """Return the differences between the square roots of computed and counted numbers.

    The error of a count is about its square root, so that all square roots have about the same error.
    """
    return xp.sqrt(in_bed(log_p, DAYS, **options)) - xp.sqrt(xp.asarray(IN_BED, dtype=xp.float64))


def jacobian(function, log_p):
    """Return the Jacobian by forward mode, with a column for each of the three parameters."""
    columns = [xp.jvp(function, (log_p,), (xp.asarray(e),))[1] for e in np.eye(3)]
    return np.stack([np.asarray(column) for column in columns], axis=1)


def peak(log_p):
    """Return the day of the peak, at which as many boys fall ill as recover."""
    solution = solve(log_p, dense_output=True).sol

    def growth(t, log_p):
        return solve(log_p, dense_output=True).sol(t)[0] / BOYS - xp.exp(log_p[1] - log_p[0])

    susceptible = np.asarray(solution(DAYS)[0, :])
    level = BOYS * float(xp.exp(log_p[1] - log_p[0]))
    return root(growth, np.interp(-level, -susceptible, DAYS), log_p)


def with_error(function, log_p, covariance):
    """Return a value and its standard error, computed from its gradient."""
    value, slope = xp.value_and_grad(function)(log_p)
    slope = np.asarray(slope)
    return float(value), float(np.sqrt(slope @ covariance @ slope))


def gradients_by_three_ways(log_p):
    """Return the gradient of the sum of squared residuals, computed in three ways.

    The ways are: through the solver's steps, by the adjoint equation, by central differences.
    """

    def squares(log_p, adjoint="discrete"):
        return xp.sum(residuals(log_p, adjoint=adjoint) ** 2)

    ways = [
        np.asarray(xp.grad(lambda p, way=way: squares(p, way))(log_p))
        for way in ("discrete", "continuous")
    ]
    steps = 1e-4 * np.eye(3)
    central = [float(squares(log_p + e)) - float(squares(log_p - e)) for e in steps]
    return [*ways, np.asarray(central) / 2e-4]


def draw(log_p, covariance, top, out) -> None:
    times = np.linspace(DAYS[0], DAYS[-1], 200)
    curve = np.asarray(in_bed(log_p, times))
    slopes = jacobian(lambda p: in_bed(p, times), log_p)
    error = np.sqrt(np.einsum("ti,ij,tj->t", slopes, covariance, slopes))

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    left.fill_between(
        times, curve - 2 * error, curve + 2 * error, color="tab:blue", alpha=0.3, label="two errors"
    )
    left.plot(times, curve, color="tab:blue", label="SIR model, fitted")
    left.plot(DAYS, IN_BED, "o", color="black", label="counted")
    left.axvspan(top[0] - 2 * top[1], top[0] + 2 * top[1], color="tab:red", alpha=0.3)
    left.axvline(top[0], color="tab:red", label=f"peak: day {top[0]:.2f} ± {top[1]:.2f}")
    left.set(title="An influenza in a boarding school, 1978", xlabel="day", ylabel="boys in bed")
    left.set(ylim=(0, None))
    left.legend()
    for name, slope in zip(NAMES, slopes.T, strict=True):
        right.plot(times, slope / 100.0, label=name)
    right.axhline(0.0, color="black", linewidth=0.8)
    right.set(title="What one percent more would change", xlabel="day", ylabel="boys in bed")
    right.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "fit_an_epidemic.png")
    options = parser.parse_args(arguments)

    fit = least_squares(
        lambda v: np.asarray(residuals(xp.asarray(v))),
        np.log([1.0, 0.3, 1.0]),
        jac=lambda v: jacobian(residuals, xp.asarray(v)),
    )
    log_p = xp.asarray(fit.x)
    variance = 2.0 * fit.cost / (len(IN_BED) - len(fit.x))
    covariance = variance * np.linalg.inv(fit.jac.T @ fit.jac)

    print(f"{fit.nfev} solutions and {fit.njev} Jacobians; {fit.message}")
    for i, name in enumerate(NAMES):
        value, error = with_error(lambda p, i=i: xp.exp(p[i]), log_p, covariance)
        print(f"{name:<34}{value:>8.3f} ± {error:.3f}")
    ratio = with_error(lambda p: xp.exp(p[0] - p[1]), log_p, covariance)
    print(f"{'infections by one boy (R0)':<34}{ratio[0]:>8.3f} ± {ratio[1]:.3f}")
    top = with_error(peak, log_p, covariance)
    print(f"{'day of the peak':<34}{top[0]:>8.3f} ± {top[1]:.3f}")
    draw(log_p, covariance, top, options.out)

    # The gradients are compared away from the fit, at which they are 0.
    found = gradients_by_three_ways(log_p + 0.1)
    print(f"\n{'gradient':<34}{'steps':>14}{'adjoint':>14}{'differences':>14}")
    for name, *row in zip(NAMES, *found, strict=True):
        print("{:<34}{:>14.7f}{:>14.7f}{:>14.7f}".format(name, *row))
    worst = max(np.max(np.abs(one - found[2])) for one in found[:2]) / np.max(np.abs(found[2]))
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
