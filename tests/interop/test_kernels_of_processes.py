"""Kernels of Gaussian processes where points coincide: derivatives of both orders beside differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels

import arraytape as xp
from arraytape import interop

SMOOTH, ROUGH = (2.1, 2.5, 3.3, np.inf), (0.5, 0.7, 1.0, 1.2, 1.5)  # nu: the second order by X, too


class Drawn:
    """A kernel with its parameters, two sets of points, and what is summed, drawn from a seed."""

    def __init__(self, seed, smooth=True):
        rng = np.random.default_rng(seed)
        self.X, self.Y = rng.normal(size=(2, 4, 2))
        self.X[2] = self.X[0]
        self.Y[:2] = self.X[:2] if rng.random() < 0.7 else self.Y[:2]
        self.weights = rng.normal(size=16)
        names = ["Matern"] * 3 + ["ExpSineSquared", "RationalQuadratic", "RBF"] * smooth
        self.name, self.asks = str(rng.choice(names)), str(rng.choice(["one", "two", "gradient"]))
        self.nu = float(rng.choice(SMOOTH if smooth else ROUGH))
        lengths = rng.uniform(0.6, 1.6, size=2 if rng.random() < 0.5 else ())
        own = {"ExpSineSquared": ("periodicity",), "RationalQuadratic": ("alpha",)}.get(self.name)
        lengths = lengths.mean() if own else lengths
        self.names = ["length_scale", *(own or ())]
        parameters = [np.asarray(lengths), *[np.asarray(rng.uniform(0.7, 2.0)) for _ in own or ()]]
        self.shapes = [(4, 2), (4, 2), *[p.shape for p in parameters]]
        self.start = np.concatenate([np.ravel(x) for x in (self.X, self.Y, *parameters)])
        self.along, self.other = rng.normal(size=(2, self.start.size))
        if self.asks == "gradient" and self.name == "Matern" and self.nu not in (0.5, 1.5, 2.5):
            self.asks = "one"  # scikit-learn has differences

    def parts(self, vector):
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        pairs = zip(np.split(vector, ends), self.shapes, strict=True)
        return [part.reshape(shape)[()] for part, shape in pairs]

    def total(self, X, Y, *parameters):
        here = xp if isinstance(X, xp.Array) else np
        nu = {"nu": self.nu} if self.name == "Matern" else {}
        kernel = getattr(kernels, self.name)(**dict(zip(self.names, parameters, strict=True)), **nu)
        if self.asks == "gradient":
            found = kernel(X, eval_gradient=True)
        else:
            found = [kernel(X, Y if self.asks == "two" else None)]
        return sum(here.sum(here.asarray(np.resize(self.weights, k.shape)) * k) for k in found)

    def value(self, vector):
        return float(self.total(*self.parts(vector)))

    def derivatives(self, vector):
        """Return the gradient, and the Hessian's product with a direction."""
        xs, along = ([xp.asarray(x) for x in self.parts(v)] for v in (vector, self.other))
        with interop.sklearn(), xp.GradientTape() as outer:
            outer.watch(xs)
            with xp.GradientTape() as tape:
                tape.watch(xs)
                y = self.total(*xs)
            assert float(y) == self.value(vector)
            first = tape.gradient(y, xs, unconnected_gradients="zero")
            product = sum(xp.sum(g * v) for g, v in zip(first, along, strict=True))
        second = outer.gradient(product, xs, unconnected_gradients="zero")
        return [np.concatenate([np.ravel(g) for g in found]) for found in (first, second)]

    def difference(self, f, step=1e-4):
        one, two = (
            (f(self.start + h * self.along) - f(self.start - h * self.along)) / (2 * h)
            for h in (step, 2 * step)
        )
        return one + (one - two) / 3


@pytest.mark.parametrize("seed", range(24))
def test_smooth_kernels_have_both_orders_where_points_coincide(seed):
    drawn = Drawn(seed)
    first, second = drawn.derivatives(drawn.start)
    np.testing.assert_allclose(first @ drawn.along, drawn.difference(drawn.value), 1e-6, 1e-7)
    wanted = drawn.difference(lambda v: drawn.derivatives(v)[0] @ drawn.other)
    rtol = 1e-4 if drawn.nu < 2.4 else 1e-6  # whose fourth derivative is infinite
    np.testing.assert_allclose(second @ drawn.along, wanted, rtol, 1e-6)


@pytest.mark.parametrize("seed", range(24))
def test_rough_kernels_have_the_slope_0_where_points_coincide(seed):
    drawn = Drawn(seed, smooth=False)
    first, second = drawn.derivatives(drawn.start)
    # Differences on both sides of a kink are those of the slope 0.
    np.testing.assert_allclose(first @ drawn.along, drawn.difference(drawn.value, 1e-6), 1e-4, 1e-5)
    if drawn.nu > 1 and drawn.asks != "gradient":
        assert np.isfinite(second).all()
    elif drawn.asks == "one":
        assert np.isnan(second).any()


@pytest.mark.parametrize("name", ["Matern", "ExpSineSquared"])
def test_a_diagonal_of_ones_is_constant_to_all_orders(name):
    nu = {"nu": 0.5} if name == "Matern" else {}

    def total(length):
        with interop.sklearn():
            return xp.sum(getattr(kernels, name)(length, **nu)(np.asarray([[0.3], [1.0]])))

    value = 2.0 * np.exp(-0.7) if name == "Matern" else 2 * np.exp(-2 * np.sin(np.pi * 0.7) ** 2)
    one = xp.asarray(1.0)
    np.testing.assert_allclose(np.asarray(total(one)), 2.0 + value, rtol=1e-14)
    assert np.isfinite(np.asarray(xp.grad(xp.grad(total))(one)))
