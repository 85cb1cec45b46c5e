"""Straighten a crumpled photograph.

The gradient passes through scipy.ndimage.

    python examples/register_images.py --out register_images.png

Given are two noisy pictures of a scene, the second one warped by up to 14 pixels. The program finds for
each pixel its position in the second picture. A grid of 9 by 13 knots has a displacement at each knot.
scipy.ndimage.affine_transform interpolates the displacements by cubic splines.
scipy.ndimage.map_coordinates reads the second picture at the displaced positions, also by splines. The
loss is the sum of squared differences. Inside `arraytape.interop.scipy()` it has a gradient with respect
to the 234 numbers of the grid. The gradient takes the time of about six losses; differences would need
234. SciPy's L-BFGS uses it, first on small, blurred pictures, then on finer ones.

The scene is scikit-learn's photograph of a temple. The true warp is known, so that the error can be
measured. It falls from 7.9 to 0.05 pixels where the picture has structure. The clear sky has none;
there, a penalty on differences between neighbouring knots continues the displacements of the
surroundings.
"""

import os
import sys
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from scipy import ndimage
from sklearn.datasets import load_sample_image

import arraytape as xp
from arraytape import interop
from arraytape.optimizers import minimize_scipy

KNOTS = (9, 13)
NOISE = 0.02
LEVELS = ((8, 6.0), (4, 2.0), (2, 1.0))  # the stride in pixels, and the width of the blur before it
MARGIN = (
    16  # width of the border that is not compared, because it may lie outside the second picture
)
PENALTY = 1e-8  # penalty on the squared differences of neighbouring knots, in pixels
PLAIN = 0.01  # change of brightness per pixel below which the picture has no structure
DIFFERENCE = 1e-4  # the step of the central finite differences in pixels
TOLERANCE = 1e-6  # for the largest relative difference between the two gradients


def spread(knots, shape, every=1):
    """Interpolate displacements to every ``every``-th pixel of a picture, (2, ...).

    knots: the displacements at the knots, (2, *KNOTS).
    """
    # Distance of two pixels, in units of the distance of two knots.
    steps = every * (np.array(KNOTS) - 1.0) / (np.array(shape) - 1.0)
    sizes = tuple(-(-side // every) for side in shape)
    with interop.scipy():
        how = {"output_shape": sizes, "mode": "nearest"}
        return xp.stack([ndimage.affine_transform(part, steps, **how) for part in knots])


class Pair:
    """The two pictures at one level of detail, and their difference as a function of the knots."""

    def __init__(self, fixed, moving, every, blur) -> None:
        smooth = [ndimage.gaussian_filter(image, blur) for image in (fixed, moving)]
        self.fixed, self.moving = (image[::every, ::every] for image in smooth)
        self.every, self.shape = every, fixed.shape
        self.places = np.indices(self.fixed.shape).astype(float)
        border = MARGIN // every
        self.inner = (slice(border, -border), slice(border, -border))

    def difference(self, knots):
        """Return the differences of brightness at the compared pixels for displacements at the knots."""
        places = self.places + spread(knots, self.shape, self.every) / self.every
        with interop.scipy():
            found = ndimage.map_coordinates(self.moving, places, order=3, mode="nearest")
        return found[self.inner] - self.fixed[self.inner]

    def loss(self, knots):
        squares = xp.mean(self.difference(knots) ** 2)
        rough = xp.sum(xp.diff(knots, axis=1) ** 2) + xp.sum(xp.diff(knots, axis=2) ** 2)
        return squares + PENALTY * rough


def warp(shape):
    """Return the true displacements, (2, *shape): waves longer than the distance between two knots."""
    row, column = (np.linspace(0.0, 1.0, side) for side in shape)
    row = row[:, None]
    down = 7.0 * np.sin(2.0 * np.pi * (1.2 * column + 0.3 * row)) + 5.0 * np.cos(6.0 * row)
    right = 8.0 * np.cos(2.0 * np.pi * (0.9 * row - 0.5 * column) + 0.4) - 3.0 * np.sin(
        9.0 * column
    )
    return np.stack([down, right])


def two_pictures(seed):
    """Return the scene and its warped copy, both noisy.

    The warped picture at x + warp(x) equals the scene at x.
    """
    scene = load_sample_image("china.jpg").mean(axis=2) / 255.0
    places = np.indices(scene.shape).astype(float)
    origin = places.copy()
    for _ in range(30):  # a fixed point: the x for which x + warp(x) is this pixel
        moved = [
            ndimage.map_coordinates(part, origin, order=1, mode="nearest")
            for part in warp(scene.shape)
        ]
        origin = places - moved
    warped = ndimage.map_coordinates(scene, origin, order=3, mode="nearest")
    noise = np.random.default_rng(seed).normal(scale=NOISE, size=(2, *scene.shape))
    return scene + noise[0], warped + noise[1], scene


def worst_difference(pair, knots, count, seed):
    """Return the largest relative difference between gradient and differences, for some elements."""
    gradient = np.asarray(xp.grad(pair.loss)(xp.asarray(knots)))
    errors = []
    for place in np.random.default_rng(seed).choice(knots.size, count, replace=False):
        step = np.zeros(knots.size)
        step[place] = DIFFERENCE
        ends = [
            float(pair.loss(xp.asarray(knots + e * step.reshape(knots.shape)))) for e in (1, -1)
        ]
        errors.append(abs(gradient.flat[place] - (ends[0] - ends[1]) / (2.0 * DIFFERENCE)))
    return max(errors) / np.max(np.abs(gradient))


def cost_of_a_gradient(pair, knots):
    """Return the least seconds of three losses, and of three losses with gradients."""
    seconds = []
    for function in (pair.loss, xp.value_and_grad(pair.loss)):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            function(knots)
            times.append(time.perf_counter() - begin)
        seconds.append(min(times))
    return seconds


def draw(fixed, moving, pair, knots, away, out) -> None:
    figure, axes = plt.subplot_mosaic("AAABBB;CCDDEE", figsize=(13, 7.6), layout="constrained")
    grey = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0}
    axes["A"].imshow(fixed, **grey)
    axes["A"].set_title("One picture")
    axes["B"].imshow(moving, **grey)
    axes["B"].set_title("The other, and where the net of the first was found in it")
    row, column = np.indices(fixed.shape) + np.asarray(spread(knots, fixed.shape))
    for i in np.linspace(0, fixed.shape[0] - 1, 10).astype(int):
        axes["B"].plot(column[i], row[i], color="tab:orange", linewidth=0.8)
    for j in np.linspace(0, fixed.shape[1] - 1, 14).astype(int):
        axes["B"].plot(column[:, j], row[:, j], color="tab:orange", linewidth=0.8)
    axes["B"].set(xlim=(0, fixed.shape[1] - 1), ylim=(fixed.shape[0] - 1, 0))
    for name, which, title in (("C", 0.0 * knots, "before"), ("D", knots, "after")):
        difference = np.abs(np.asarray(pair.difference(which)))
        image = axes[name].imshow(difference, cmap="Greys", vmin=0.0, vmax=0.4)
        axes[name].set_title(f"What differs {title} the fit")
    figure.colorbar(image, ax=axes["D"], label="brightness", shrink=0.7, extend="max")
    image = axes["E"].imshow(away, cmap="viridis", vmin=0.0, vmax=3.0)
    axes["E"].set_title("How far off the displacement is")
    figure.colorbar(image, ax=axes["E"], label="pixels", shrink=0.7, extend="max")
    for axis in axes.values():
        axis.set(xticks=[], yticks=[])
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "register_images.png")
    option = parser.add_argument
    option("--steps", type=integer(1), default=40, help="most steps on each level (%(default)s)")
    option("--checks", type=integer(1), default=20, help="finite differences (%(default)s)")
    option("--seed", type=integer(0), default=0, help="seed of the noise (%(default)s)")
    options = parser.parse_args(arguments)
    fixed, moving, scene = two_pictures(options.seed)
    pairs = [Pair(fixed, moving, *level) for level in LEVELS]
    truth, inner = warp(fixed.shape), (slice(MARGIN, -MARGIN), slice(MARGIN, -MARGIN))
    steepness = ndimage.gaussian_filter(ndimage.gaussian_gradient_magnitude(scene, 1.0), 8.0)
    structured = (steepness > PLAIN)[inner]

    def off(knots):
        """Return the distance of each pixel's displacement from the true one."""
        found = np.asarray(spread(knots, fixed.shape))
        return np.linalg.norm(found - truth, axis=0)[inner]

    print(f"{'off by (pixels)':<26}{'structure':>12}{'sky':>12}{'seconds':>12}")
    knots = xp.zeros((2, *KNOTS))
    row = "{:<26}{:>12.2f}{:>12.2f}{:>12.1f}".format
    print(row("before", off(knots)[structured].mean(), off(knots)[~structured].mean(), 0.0))
    for pair in pairs:
        begin = time.perf_counter()
        how = {"method": "L-BFGS-B", "options": {"maxiter": options.steps, "gtol": 1e-9}}
        knots = minimize_scipy(pair.loss, knots, **how).x
        seconds, away = time.perf_counter() - begin, off(knots)
        name = f"every {pair.every} pixels"
        print(row(name, away[structured].mean(), away[~structured].mean(), seconds))
    one, both = cost_of_a_gradient(pairs[1], knots)
    print(f"\na gradient by {knots.size} numbers costs {both / one:.1f} times the loss alone")
    draw(fixed, moving, pairs[-1], knots, off(knots), options.out)
    start = np.random.default_rng(options.seed).normal(size=knots.shape)
    worst = worst_difference(pairs[0], start, options.checks, options.seed)
    return verdict(worst, TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
