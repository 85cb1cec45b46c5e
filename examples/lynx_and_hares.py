"""Fit a neural ODE to populations.

It learns the equations of lynx and hares from counts, next to those of Lotka and Volterra.

    python examples/lynx_and_hares.py --out lynx_and_hares.png

The Hudson's Bay Company counted pelts of hares and lynx year by year, and the numbers rise and fall with
a period of about ten years. Three models are fitted. The equations of Lotka and Volterra have four
parameters. A neural ODE has a network of 42 parameters in place of the equations, and no knowledge about
predators and prey. The third model adds a small network to the equations. `arraytape.implicit.odeint`
solves each model for two years from each of the first 14 years at once. SciPy's L-BFGS uses the gradient
of the squared errors through the solver.

Seven more years test the models, which predict the next three years from each of them. The network is as
good as the equations. All three models have half the error of the prediction that nothing changes.

Source of the counts (thousands of pelts): Howard 2009, "Modeling basics", after Hewitt 1921, "The
conservation of the wild life of Canada".
"""

import sys

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict

import arraytape as xp
from arraytape.implicit import odeint
from arraytape.optimizers import minimize_scipy

HARES = [
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5,
    11.2, 7.6, 14.6, 16.2, 24.7,
]  # fmt: skip
LYNX = [
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7,
    15.8, 9.7, 10.1, 8.6,
]  # fmt: skip
YEARS = np.arange(1900, 1921)
LOGS = np.log([HARES, LYNX])
LEARNED, AHEAD, TOLD = 14, 2, 3  # years: used in the fit, solved in the fit, predicted afterwards
WIDTH, PENALTY = 8, 1e-3  # hidden units, and the penalty on the squares of the weights
DIFFERENCE = 1e-5  # the step of the central finite differences
TOLERANCE = 1e-6  # for the largest relative difference between the two gradients


# --- Three models of the rates of change of the logarithms, (2, n), given the logarithms -----------
def equations(logs, p):
    """Return the rates by Lotka and Volterra: the hares grow and are eaten, the lynx grow and die."""
    rates = xp.exp(p["rates"])
    hares = rates[0] - rates[1] * xp.exp(logs[1])
    lynx = rates[2] * xp.exp(logs[0]) - rates[3]
    return xp.stack([hares, lynx])


def network(logs, p):
    hidden = xp.tanh(p["in"] @ (logs - np.mean(LOGS, axis=1, keepdims=True)) + p["at"])
    return p["out"] @ hidden + p["level"]


def both(logs, p):
    return equations(logs, p) + network(logs, p)


def starts(seed):
    """Return the initial parameters of all three models."""
    random = np.random.default_rng(seed)
    layers = {
        "in": random.normal(size=(WIDTH, 2)),
        "at": 0.5 * random.normal(size=(WIDTH, 1)),
        "out": 0.1 * random.normal(size=(2, WIDTH)),
        "level": np.zeros((2, 1)),
    }
    layers = {name: xp.asarray(value) for name, value in layers.items()}
    rates = {"rates": xp.asarray(np.log([1.0, 0.03, 0.03, 1.0]))}
    return {
        "Lotka and Volterra": (equations, rates),
        "neural ODE": (network, layers),
        "both together": (both, rates | layers),
    }


# --- Predictions ---------------------------------------------------------------------------------
def told(model, p, first, years):
    """Predict the logarithms for the years after each of n first years, in the shape (2, n, years).

    first : the indices of the first years in LOGS, which has the initial values.
    """
    times = np.arange(1.0, years + 1.0)

    def rates(t, logs, p):
        return model(logs, p)

    options = {"args": (p,), "t_eval": times, "max_step": 0.25}  # four steps per year
    return odeint(rates, (0.0, float(years)), LOGS[:, first], "RK4", **options).y


def errors(model, p, first, years):
    counted = np.stack([LOGS[:, first + year] for year in range(1, years + 1)], axis=-1)
    return told(model, p, first, years) - counted


def loss_of(model):
    first = np.arange(LEARNED - AHEAD)

    def loss(p):
        weights = [value for name, value in p.items() if name in ("in", "out")]
        penalty = PENALTY * sum(xp.sum(value**2) for value in weights)
        return xp.mean(errors(model, p, first, AHEAD) ** 2) + penalty

    return loss


def root_mean_square(x):
    return float(np.sqrt(np.mean(np.asarray(x) ** 2)))


def unchanged(ahead):
    """Return the error of predicting no change, in the years that were not used for the fit."""
    first = np.arange(LEARNED - 1, YEARS.size - ahead)
    return root_mean_square(LOGS[:, first + ahead] - LOGS[:, first])


def unseen(model, p, ahead):
    first = np.arange(LEARNED - 1, YEARS.size - ahead)
    return root_mean_square(errors(model, p, first, ahead)[:, :, -1])


def worst_difference(models, seed):
    """Return the largest relative difference of the tape's directional slopes from differences."""
    random, away = np.random.default_rng(seed), []
    for model, p in models.values():
        loss = loss_of(model)
        gradient = xp.grad(loss)(p)
        for _ in range(3):
            step = {name: DIFFERENCE * random.normal(size=x.shape) for name, x in p.items()}
            ends = [
                float(loss({name: x + s * step[name] for name, x in p.items()})) for s in (1, -1)
            ]
            slope = sum(float(xp.sum(gradient[name] * step[name])) for name in p)
            size = sum(float(xp.sum((gradient[name] * DIFFERENCE) ** 2)) for name in p) ** 0.5
            away.append(abs(slope - 0.5 * (ends[0] - ends[1])) / size)
    return max(away)


# --- Pictures --------------------------------------------------------------------------------------
def draw(models, out) -> None:
    figure, axes = plt.subplots(
        1, 3, figsize=(15, 4.8), width_ratios=(1.5, 1, 1), layout="constrained"
    )
    left = axes[0]
    model, p = models["neural ODE"]
    for name, counts, color in (("hares", HARES, "tab:blue"), ("lynx", LYNX, "tab:red")):
        left.plot(YEARS, counts, "o", color=color, label=f"{name}, counted")
    for first in range(LEARNED - 1, YEARS.size - TOLD, TOLD):
        curve = np.exp(np.asarray(told(model, p, np.array([first]), TOLD)))[:, 0, :]
        for now, line, color in zip(
            np.exp(LOGS[:, first]), curve, ("tab:blue", "tab:red"), strict=True
        ):
            left.plot(YEARS[first : first + TOLD + 1], [now, *line], color=color)
    left.axvline(YEARS[LEARNED - 1], color="black", linestyle=":", label="learned up to here")
    left.set(title="What the neural ODE tells, three years at a time", yscale="log", xlabel="year")
    left.set(
        ylabel="pelts (thousands)", xticks=YEARS[::5], yticks=[5, 10, 20, 50, 100], ylim=(1.8, 100)
    )
    left.get_yaxis().set_major_formatter("{x:g}")
    left.legend(ncols=2, loc="lower left", fontsize="small")

    hares, lynx = np.meshgrid(*(np.linspace(x.min(), x.max(), 13) for x in LOGS))
    grid = xp.asarray(np.stack([hares.ravel(), lynx.ravel()]))
    for axis, name in zip(axes[1:], ("Lotka and Volterra", "neural ODE"), strict=True):
        model, p = models[name]
        arrows = np.asarray(model(grid, p))
        axis.quiver(*np.exp(np.asarray(grid)), *arrows, color="tab:gray", width=0.004)
        axis.plot(HARES, LYNX, ".-", color="black", linewidth=0.8)
        axis.set(title=f"{name}: what follows what", xlabel="hares", ylabel="lynx")
        axis.set(xscale="log", yscale="log", xticks=[10, 20, 50], yticks=[5, 10, 20, 50])
        axis.minorticks_off()
        axis.get_xaxis().set_major_formatter("{x:g}")
        axis.get_yaxis().set_major_formatter("{x:g}")
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "lynx_and_hares.png")
    option = parser.add_argument
    option("--steps", type=integer(1), default=120, help="most steps of each fit (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the network (%(default)s)")
    options = parser.parse_args(arguments)

    models = starts(options.seed)
    worst = worst_difference(models, options.seed)
    titles = [f"{year} ahead" for year in range(1, TOLD + 1)]
    print(f"errors of the logarithms, root mean squares, years after {YEARS[LEARNED - 1]}:\n")
    print("{:<22}{:>10}{:>10}{:>12}{:>12}{:>12}".format("", "numbers", "learned", *titles))
    before = [unchanged(ahead) for ahead in range(1, TOLD + 1)]
    print("{:<22}{:>10}{:>10}{:>12.3f}{:>12.3f}{:>12.3f}".format("nothing changes", 0, "", *before))
    for name, (model, start) in models.items():
        found = minimize_scipy(
            loss_of(model), start, method="L-BFGS-B", options={"maxiter": options.steps}
        ).x
        models[name] = (model, found)
        learned = root_mean_square(errors(model, found, np.arange(LEARNED - AHEAD), AHEAD))
        after = [unseen(model, found, ahead) for ahead in range(1, TOLD + 1)]
        numbers = sum(x.size for x in found.values())
        print(f"{name:<22}{numbers:>10}{learned:>10.3f}", end="")
        print("{:>12.3f}{:>12.3f}{:>12.3f}".format(*after))
    rates = np.exp(np.asarray(models["Lotka and Volterra"][1]["rates"]))
    print("\nLotka and Volterra: {:.3f}, {:.4f}, {:.4f}, {:.3f} a year".format(*rates))
    draw(models, options.out)
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
