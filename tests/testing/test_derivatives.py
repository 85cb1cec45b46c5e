"""check_gradients, check_jvp and check_vjp: they find what is wrong, and where."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing

pytestmark = pytest.mark.any_storage


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"modes": ("sideways",)}, "'fwd' and 'rev', got"),
        ({"modes": "rev"}, "'fwd' and 'rev', got 'rev'"),
        ({"modes": ()}, "'fwd' and 'rev', got"),
        ({"order": 3}, "order is 1 or 2, got 3"),
        ({"order": 0}, "order is 1 or 2, got 0"),
    ],
)
def test_check_gradients_never_checks_nothing(options, says):
    with pytest.raises(ValueError, match=says):
        testing.check_gradients(lambda x: xp.sum(x), [np.ones(2)], **options)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_check_gradients_finds_what_is_wrong_to_second_order_alone(mode):
    @xp.custom_gradient
    def cube(x):
        slope = xp.custom_gradient(lambda x: (3 * x**2, lambda dy: dy * 5.0 * x))
        return x**3, lambda dy: dy * slope(x)

    def f(x):
        return xp.sum(cube(x))

    testing.check_gradients(f, [np.ones(2)], order=1, modes=(mode,))
    with pytest.raises(AssertionError, match=f"second order, {mode}"):
        testing.check_gradients(f, [np.ones(2)], modes=(mode,))


def test_check_gradients_tells_the_mode_that_is_wrong():
    kinked = lambda x: xp.sum(xp.abs(x))  # noqa: E731
    testing.check_gradients(kinked, [np.asarray([1e-4, 1.0])])  # by smaller steps
    with pytest.raises(AssertionError, match="f has a kink there"):
        testing.check_gradients(kinked, [np.asarray([0.0, 1.0])])
    with pytest.raises(AssertionError, match="jvp of output 0"):
        testing.check_jvp(kinked, [np.asarray([1e-4, 1.0])])
    with pytest.raises(AssertionError, match="vjp"):
        testing.check_vjp(kinked, [np.asarray([1e-4, 1.0])])
