"""Checks of fits on Arrays: scikit-learn's values bit for bit, and derivatives against refits."""

import functools

import numpy as np

import arraytape as xp
from arraytape import interop


def check_fit(make, output, data, hyper=(), *, rtol=1e-5, h=1e-3, forward=True, refit=None):
    """Check the derivatives of ``output(make(**hyper).fit(**data))`` in both modes.

    They are compared with differences of refits along a random direction of each float64 input.
    make : returns an estimator, with tolerances tight enough for differences.
    output : a function of the fitted estimator that returns an array.
    data, hyper : the arguments of ``fit`` and the hyperparameters.
    refit : a function from the estimator to the one that is refitted for differences; None: no
        change.
    """
    hyper = dict(hyper)
    inputs = {name: np.asarray(x) for name, x in {**data, **hyper}.items()}
    moving = [name for name, x in inputs.items() if x.dtype == np.float64]

    def model(values, prepare=lambda estimator: estimator):
        given = {**data, **hyper, **values}
        estimator = prepare(make(**{name: number(given[name]) for name in hyper}))
        return estimator.fit(**{name: given[name] for name in data})

    refitted = functools.partial(model, **({} if refit is None else {"prepare": refit}))
    plain = model({})
    with interop.sklearn():
        arrays = {name: xp.asarray(inputs[name]) for name in moving}
        same_attributes(model(arrays), plain)
        expected = np.asarray(output(plain))
        weights = np.random.default_rng(8).normal(size=expected.shape)

        def total(values):
            return xp.sum(output(model(values)) * weights)

        found = output(model(arrays))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-14)
        slopes = xp.grad(total)(arrays)
        rng = np.random.default_rng(9)
        for name in moving:
            along = rng.normal(size=inputs[name].shape)
            along = along * np.abs(inputs[name]) if name in hyper else along
            line = functools.partial(moved, output, refitted, name, inputs[name], along)
            reference, size = difference(line, weights, h)
            slope = float(np.sum(np.asarray(slopes[name]) * along))
            rounding = 1e-8 * float(np.sum(np.abs(expected * weights)))
            assert abs(slope - reference) <= rtol * size + rounding, (name, slope, reference)
            if forward:
                still = {key: np.zeros(x.shape) for key, x in arrays.items()}
                tangent = {key: xp.asarray(x) for key, x in {**still, name: along}.items()}
                pushed = float(xp.jvp(total, (arrays,), (tangent,))[1])
                np.testing.assert_allclose(
                    pushed, slope, rtol=1e-8, atol=1e-8 * size + 1e-4 * rounding
                )


def moved(output, model, name, x, along, t):
    """Return ``output`` of the estimator that ``model`` fits to ``name=x + t * along``."""
    return np.asarray(output(model({name: x + t * along})))


def number(value):
    """Return a 0-d array or NumPy scalar as a Python number; other values are returned as they are."""
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value


def difference(f, weights, h):
    """Return the sum of ``weights`` times the slopes of f at 0, and the sum of the terms' absolute
    values.

    The slopes are central differences of fourth order with step h.
    """
    points = [f(t * h) for t in (1.0, -1.0, 2.0, -2.0)]
    slopes = (8.0 * (points[0] - points[1]) - (points[2] - points[3])) / (12.0 * h)
    return float(np.sum(slopes * weights)), float(np.sum(np.abs(slopes * weights)))


def same_attributes(found, expected):
    """Assert that two fitted estimators have the same attributes, bit for bit."""
    assert vars(found).keys() == vars(expected).keys()
    for name, value in vars(expected).items():
        other = getattr(found, name)
        if isinstance(value, np.ndarray | np.generic | float | int):
            array = np.asarray(other)
            assert array.dtype == np.asarray(value).dtype, name
            np.testing.assert_array_equal(array, np.asarray(value), err_msg=name)
