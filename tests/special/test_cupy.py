"""Special functions that CuPy has: their derivatives need nothing that CuPy lacks."""

from __future__ import annotations

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage.special import KERNELS
from arraytape.special._statement import STATEMENTS
from helpers.fake_cupy import FACTS
from special.test_statements import arguments, differentiable

pytestmark = pytest.mark.timeout(120)


def in_cupy(name, version):
    """Return True if CuPy has a function of this name, or the function of which this is a result."""
    whole = name.rpartition("_")[0] if name in KERNELS else name
    names = (name, name.removeprefix("_"), whole)
    known = FACTS[version]["cupyx.scipy.special"]
    return any(known.get(name, "module") not in ("module", "value") for name in names)


CASES = [(version, name) for version in FACTS for name in STATEMENTS if in_cupy(name, version)]


def derivatives(statement, arrays, i):
    """Return first and second derivatives with respect to one operand."""
    with xp.GradientTape() as outer:
        outer.watch(arrays[i])
        with xp.GradientTape() as tape:
            tape.watch(arrays[i])
            y = statement.function(*arrays)
        g = tape.gradient(y, arrays[i])
    return g, outer.gradient(g, arrays[i], unconnected_gradients="zero")


@pytest.mark.parametrize(("version", "name"), CASES)
def test_derivatives_are_those_on_the_host(version, name, fake_cupy):
    fake_cupy(version=version)
    statement = STATEMENTS[name]
    values = arguments(statement)
    numbers = [v.flat[0].item() for v in values]
    for i in differentiable(statement):
        for given in (values, [values[k] if k == i else v for k, v in enumerate(numbers)]):

            def on(device, given=given):
                return [xp.asarray(v, device=device) if hasattr(v, "shape") else v for v in given]

            expected = derivatives(statement, on("cpu"), i)
            for one, other in zip(derivatives(statement, on("cuda:1"), i), expected, strict=True):
                assert one.device == "cuda:1"
                np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9)
