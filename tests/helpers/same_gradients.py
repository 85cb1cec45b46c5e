"""Gradients of two forms of a function, for comparisons bit for bit."""

import numpy as np

import arraytape as xp
from arraytape import GradientTape, testing


def gradients(f, *arrays, order=1):
    """Return the gradients of f's total; with order=2, the gradients of the sum of their squares."""
    with GradientTape() as outer:
        outer.watch(arrays)
        with GradientTape() as tape:
            tape.watch(arrays)
            y = testing.total(f(*arrays))
        found = tape.gradient(y, arrays, unconnected_gradients="zero")
        if order == 1:
            return found
        squares = sum(xp.sum(xp.real(g * xp.conj(g))) for g in found)
    return outer.gradient(squares, arrays, unconnected_gradients="zero")


def same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
        assert one.dtype == other.dtype
