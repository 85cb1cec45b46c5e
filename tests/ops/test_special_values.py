"""Special cases of the standard that NumPy misses."""

import math

import numpy as np
import pytest

import arraytape as xp
from helpers.drawn_arrays import COMPLEX, REAL_FLOAT
from helpers.same_values import assert_same, quiet

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (complex(0, 0), complex(0, 0)),
        (complex(-0.0, 0), complex(0, 0)),
        (complex(INF, 0), complex(INF, 0)),
        (complex(-INF, 1), complex(-1, 0)),
        (complex(-INF, 4), complex(-1, -0.0)),
        (complex(INF, 1), complex(INF, INF)),
        (complex(INF, 2), complex(-INF, INF)),
        (complex(1, INF), complex(NAN, NAN)),
        (complex(1, NAN), complex(NAN, NAN)),
        (complex(NAN, 0), complex(NAN, 0)),
        (complex(NAN, 1), complex(NAN, NAN)),
        (complex(NAN, NAN), complex(NAN, NAN)),
    ],
)
def test_complex_expm1_of_special_values_is_the_standards(value, expected, dtype):
    with quiet():
        result = complex(xp.expm1(xp.asarray(value, dtype=getattr(xp, dtype))))
    for part, wanted in ((result.real, expected.real), (result.imag, expected.imag)):
        assert part == wanted or (math.isnan(part) and math.isnan(wanted))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("imaginary", [0.0, -0.0, 1.0, -1.0, 2.0, -2.0])
@pytest.mark.parametrize("real", [INF, -INF])
def test_complex_tanh_at_infinity_is_one_with_the_sign_of_the_real_part(real, imaginary, dtype):
    with quiet():
        value = xp.asarray(complex(real, imaginary), dtype=getattr(xp, dtype))
        result = complex(xp.tanh(value))
    assert result.real == math.copysign(1.0, real)
    assert result.imag == 0.0


@pytest.mark.parametrize("dtype", REAL_FLOAT)
@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [
        (INF, 2.0, INF),
        (INF, -2.0, -INF),
        (-INF, 2.0, -INF),
        (-INF, -2.0, INF),
        (3.0, INF, 0.0),
        (3.0, -INF, -0.0),
        (-3.0, INF, -0.0),
        (-3.0, -INF, 0.0),
        (INF, INF, NAN),
        (INF, -INF, NAN),
        (0.0, 0.0, NAN),
    ],
)
def test_floor_division_with_infinities_is_the_standards(x1, x2, expected, dtype):
    first, second = (xp.asarray(x, dtype=getattr(xp, dtype)) for x in (x1, x2))
    with quiet():
        in_place = xp.asarray(first, copy=True)
        in_place //= second
        results = [xp.floor_divide(first, second), first // second, first // x2, x1 // second]
    for result in (*results, in_place):
        assert_same(result, np.asarray(expected, dtype))
