"""Change the decision of an SVC.

The program finds the smallest changes of a patient's measurements that do so.

    python examples/counterfactuals.py --out counterfactuals.png

A pipeline of StandardScaler, PCA and a support vector machine, fitted to 400 patients, classifies
tumours as malignant or benign by 30 measurements. For each of the other patients: which is the smallest
change of the measurements that reverses the decision? The size of a change is the sum of its absolute
values in standard deviations (the L1 norm), so that only a few measurements change. SciPy's SLSQP solves
this problem with one constraint, the decision, if it gets the decision's gradient. `decision_function`
of the fitted pipeline has a gradient inside `arraytape.interop.sklearn()`.

Each change is checked with scikit-learn on NumPy data: the full change reverses the decision, and 99% of
it does not. The baseline is the nearest patient for whom the pipeline decides otherwise.
"""

import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy and scikit-learn must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import arraytape as xp
from arraytape import interop

PATIENTS = 400  # the number of patients to which the pipeline is fitted
MARGIN = 1e-6  # the least absolute value of the reversed decision function
COUNTED = 0.01  # standard deviations above which a measurement counts as changed
DIFFERENCE = 1e-5  # standard deviations: the step of the central finite differences
TOLERANCE = 1e-6  # for the largest relative difference between the two gradients


class Decision:
    """The pipeline's decision about one patient as a function of changes, in standard deviations."""

    def __init__(self, pipeline, patient, spread) -> None:
        self.pipeline, self.patient, self.spread = pipeline, patient, spread

    def __call__(self, changes):
        """Return the decision function, positive for benign.  changes: a NumPy array or an Array."""
        return self.pipeline.decision_function((self.patient + changes * self.spread)[None, :])[0]

    def gradient(self, changes):
        with interop.sklearn():
            return np.asarray(xp.grad(self)(xp.asarray(changes)))


def smallest_change(decision, limits, norm):
    """Return the change with the smallest L1 or squared L2 norm that reverses the decision.

    limits: the largest decrease and increase of each measurement, (2, n).  For L1, a change is written
    as the difference of two non-negative vectors, so that the norm is the sum of all their elements.
    """
    was = np.sign(decision(np.zeros(limits.shape[1])))
    if norm == 1:
        n = limits.shape[1]
        change, by_parts = lambda v: v[:n] - v[n:], lambda g: np.concat([g, -g])
        size, slope = np.sum, np.ones_like
        bounds = [(0.0, most) for most in (*limits[1], *-limits[0])]
    else:
        change, by_parts = lambda v: v, lambda g: g
        size, slope = lambda v: np.sum(v**2), lambda v: 2.0 * v
        bounds = [*limits.T]
    turned = {
        "type": "ineq",
        "fun": lambda v: -was * decision(change(v)) - MARGIN,
        "jac": lambda v: by_parts(-was * decision.gradient(change(v))),
    }
    options = {"maxiter": 200, "ftol": 1e-9}
    start = np.full(len(bounds), 1e-3)
    found = minimize(size, start, jac=slope, bounds=bounds, constraints=turned, options=options)
    return change(found.x) if found.success else None


def worst_difference(decisions):
    """Return the largest difference of gradients from central differences, relative to the gradient."""
    errors = []
    for decision in decisions:
        zero = np.zeros_like(decision.patient)
        steps = DIFFERENCE * np.eye(zero.size)
        central = [(decision(e) - decision(-e)) / (2.0 * DIFFERENCE) for e in steps]
        away = np.abs(decision.gradient(zero) - central)
        errors.append(np.max(away) / np.max(np.abs(central)))
    return max(errors)


def draw(names, change, title, sizes, out) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    shown = np.argsort(-np.abs(change["L1"]) - 1e-3 * np.abs(change["L2"]))[:12][::-1]
    for offset, (norm, color) in enumerate({"L2": "tab:gray", "L1": "tab:red"}.items()):
        places = np.arange(len(shown)) + 0.4 * offset - 0.2
        left.barh(places, change[norm][shown], 0.4, color=color, label=f"smallest in {norm}")
    left.axvline(0.0, color="black", linewidth=0.8)
    left.set_yticks(range(len(shown)), [names[i] for i in shown])
    left.set(title=title, xlabel="change (standard deviations)")
    left.legend(loc="lower left")

    nearest, found = sizes
    right.axline((1, 1), slope=1, color="black", linewidth=0.8, label="as far as a patient")
    right.scatter(nearest, found, s=16, color="tab:red", alpha=0.7, label="one patient")
    right.set(title="How far away the other decision is", xscale="log", yscale="log")
    right.set(xlabel="nearest patient with the other decision (L1, standard deviations)")
    right.set(ylabel="smallest change, by gradient (L1)")
    right.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "counterfactuals.png")
    option = parser.add_argument
    option("--patients", type=integer(1), default=40, help="to be explained (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the split (%(default)s)")
    options = parser.parse_args(arguments)

    bunch = load_breast_cancer()
    split = train_test_split(
        bunch.data, bunch.target, train_size=PATIENTS, random_state=options.seed
    )
    train, test, learned, truth = split
    pipeline = make_pipeline(StandardScaler(), PCA(10), SVC(C=10.0, gamma=0.02))
    pipeline.fit(train, learned)
    print(f"right about {pipeline.score(test, truth):.1%} of {len(test)} patients\n")

    spread, said = train.std(axis=0), pipeline.predict(train)
    extremes = np.stack([train.min(axis=0), train.max(axis=0)])
    decisions = [Decision(pipeline, patient, spread) for patient in test[: options.patients]]
    rows, turned, early = [], 0, 0
    for patient, decision in enumerate(decisions):
        was = int(pipeline.predict(decision.patient[None])[0])
        # changes stay within the range of the training data
        limits = np.clip((extremes - decision.patient) / spread, [[-np.inf], [0]], [[0], [np.inf]])
        change = {f"L{norm}": smallest_change(decision, limits, norm) for norm in (1, 2)}
        if any(one is None for one in change.values()):
            print(f"patient {patient}: SLSQP found no change")
            continue
        ways = (1.0, 0.99)
        after = [(np.sign(decision(way * change["L1"])) > 0) != was for way in ways]
        turned, early = turned + after[0], early + after[1]
        others = np.abs((train[said != was] - decision.patient) / spread).sum(axis=1)
        rows.append((patient, was, change, others.min()))

    found = np.array([np.abs(change["L1"]).sum() for _, _, change, _ in rows])
    nearest = np.array([other for *_, other in rows])
    counts = {
        norm: np.median([np.sum(np.abs(change[norm]) > COUNTED) for _, _, change, _ in rows])
        for norm in ("L1", "L2")
    }
    names = [name.replace("error", "(error)") for name in bunch.feature_names]
    malignant = [row for row in rows if row[1] == 0]
    shown, _, change, _ = min(malignant or rows, key=lambda row: np.abs(row[2]["L1"]).sum())
    kind = "malignant" if malignant else bunch.target_names[rows[0][1]]
    print(f"patient {shown}, {kind}, would be the other by")
    for i in np.flatnonzero(np.abs(change["L1"]) > COUNTED):
        value, other = test[shown, i], test[shown, i] + change["L1"][i] * spread[i]
        print(f"    {names[i]:<26}{value:>10.4g} -> {other:.4g}")
    print(f"\n{'decisions turned, in scikit-learn':<46}{turned:>4} of {len(decisions)}")
    print(f"{'... already after 99% of the way':<46}{early:>4} of {len(decisions)}")
    print(f"{'measurements changed, median, L1':<46}{counts['L1']:>6.1f} of {len(names)}")
    print(f"{'measurements changed, median, L2':<46}{counts['L2']:>6.1f} of {len(names)}")
    print(f"{'change, median (L1)':<46}{np.median(found):>6.2f}")
    print(f"{'nearest patient, median (L1)':<46}{np.median(nearest):>6.2f}")
    title = f"What would turn the decision about patient {shown} ({kind})"
    draw(names, change, title, (nearest, found), options.out)
    code = verdict(worst_difference(decisions[:5]), TOLERANCE, options.out)
    return code if turned == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
