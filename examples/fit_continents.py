"""Fit South America to Africa.

A rotation is fitted through SciPy's Rotation, robustly.

    python examples/fit_continents.py --steps 100 --out fit_continents.png

Continents move on a sphere, so a rotation moves America's coast back to Africa's. But Venezuela and
Patagonia never faced Africa, and they distort a least-squares fit such as Rotation.align_vectors. A
robust loss, which is nearly flat for distant points, ignores such points. Its minimum needs a
gradient, which a tape computes through the installed Rotation.from_rotvec and apply. The file
atlantic_coasts.csv has 82 points of the coasts, to a tenth of a degree.

The result is compared with Bullard, Everett and Smith 1965, "The fit of the continents around the
Atlantic". They fitted the edges of the shelves at a depth of 500 fathoms, so that their coasts remain
some 200 km apart.
"""

import os
import sys
from pathlib import Path

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from scipy.spatial.transform import Rotation

import arraytape as xp
from arraytape.optimizers import minimize_scipy

EARTH = 6371.0  # radius in kilometres
EVERY = 100.0  # kilometres between the fitted points
NEAR = 100.0  # kilometres from Africa above which a point counts less
TOLERANCE = 1e-6  # for the largest relative difference between tape and finite differences


def sphere(degrees):
    """Convert latitudes and longitudes, shape (n, 2), to unit vectors, shape (n, 3)."""
    latitude, longitude = np.radians(degrees).T
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)


def degrees(vectors):
    """Return the longitudes and latitudes of unit vectors."""
    x, y, z = vectors.T
    return np.degrees([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])


def read_coast(name, step):
    """Read a coast as unit vectors at distances of `step` kilometres along the points of the table."""
    path = Path(__file__).parent / "atlantic_coasts.csv"
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    table = table[table["coast"] == name]
    places = sphere(np.stack([table["latitude"], table["longitude"]], axis=1))
    lengths = EARTH * np.linalg.norm(np.diff(places, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    steps = np.arange(0.0, along[-1], step)
    points = np.stack([np.interp(steps, along, column) for column in places.T], axis=1)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


AMERICA, AFRICA = read_coast("America", EVERY), read_coast("Africa", EVERY / 50.0)


def distances(rotation, america, africa):
    """Return the squared distances of rotated American points from the African coast, in NEAR**2."""
    nearest = (rotation.apply(america) @ africa.T).max(axis=1)  # the cosine of an angle
    return 2.0 * (1.0 - nearest) * (EARTH / NEAR) ** 2


def squares(vector):
    """Return the mean of the squared distances; align_vectors minimises such a sum of squares.

    vector: the rotation's axis times its angle.
    """
    return xp.mean(distances(Rotation.from_rotvec(vector), xp.asarray(AMERICA), xp.asarray(AFRICA)))


def robust(vector):
    """Return a loss that is nearly flat far from Africa: Cauchy's, in place of Gauss's squares."""
    rotation = Rotation.from_rotvec(vector)
    return xp.mean(xp.log1p(distances(rotation, xp.asarray(AMERICA), xp.asarray(AFRICA))))


def fit(loss, steps):
    start = xp.asarray(Rotation.identity().as_rotvec())
    found = minimize_scipy(loss, start, method="BFGS", options={"maxiter": steps})
    return Rotation.from_rotvec(np.asarray(found.x))


def align(steps):
    """Return the result of repeated Rotation.align_vectors with the nearest African points."""
    rotation = Rotation.identity()
    for _ in range(steps):
        nearest = np.argmax(rotation.apply(AMERICA) @ AFRICA.T, axis=1)
        rotation, _ = Rotation.align_vectors(AFRICA[nearest], AMERICA)
    return rotation


def relative_difference(loss, rotation):
    """Return the relative difference of the tape's gradient from central differences."""
    vector = rotation.as_rotvec()
    taped = np.asarray(xp.grad(loss)(xp.asarray(vector)))
    moves = [(xp.asarray(vector + move), xp.asarray(vector - move)) for move in 1e-6 * np.eye(3)]
    central = np.array([float(loss(above) - loss(below)) / 2e-6 for above, below in moves])
    return np.max(np.abs(taped - central)) / np.max(np.abs(central))


def draw(aligned, robustly, out) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    left.plot(*degrees(AFRICA), color="black", linewidth=2.5, label="Africa")
    left.plot(*degrees(AMERICA), color="tab:gray", linestyle=":", label="South America today")
    fits = {"least squares (align_vectors)": (aligned, "--"), "robust (by tape)": (robustly, "-")}
    for name, (rotation, style) in fits.items():
        left.plot(*degrees(rotation.apply(AMERICA)), style, label=f"put back, {name}")
        away = NEAR * np.sqrt(distances(rotation, AMERICA, AFRICA))
        right.plot(EVERY * np.arange(len(AMERICA)), away, style, label=name)
    left.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    left.set_title("South America, put back next to Africa")
    left.set_aspect("equal")
    left.legend(loc="lower center", fontsize="small")
    right.set(title="What lies on Africa's coast then, and what does not", ylim=(0.0, None))
    right.set(xlabel="along the American coast, from Venezuela to Tierra del Fuego (km)")
    right.set(ylabel="distance from Africa's coast (km)")
    right.legend(loc="upper center")
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out("Fit South America to Africa.", "fit_continents.png")
    option = parser.add_argument
    option("--steps", type=integer(1), default=100, help="most steps of each fit (%(default)s)")
    options = parser.parse_args(arguments)
    bullard = Rotation.from_rotvec(np.radians(57.0) * sphere([[44.0, -30.6]])[0])
    fits = {
        "align_vectors": align(options.steps),
        "squares, by tape": fit(squares, options.steps),
        "robust, by tape": fit(robust, options.steps),
        "Bullard et al.": bullard,
    }
    print(f"{'':<18}{'pole':>14}{'angle':>8}{'rms':>11}{'median':>11}{'from Bullard':>16}")
    for name, rotation in fits.items():
        longitude, latitude = degrees(rotation.as_rotvec())
        squared = distances(rotation, AMERICA, AFRICA)
        rms, median = NEAR * np.sqrt([np.mean(squared), np.median(squared)])
        angle, apart = np.degrees([rotation.magnitude(), (rotation * bullard.inv()).magnitude()])
        print(f"{name:<18}{latitude:>7.1f}{longitude:>7.1f}{angle:>8.1f}", end="")
        print(f"{rms:>8.1f} km{median:>8.1f} km{apart:>8.2f} degrees")
    draw(fits["align_vectors"], fits["robust, by tape"], options.out)
    worst = max(relative_difference(loss, bullard) for loss in (squares, robust))
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
