"""What is written to the arguments of NumPy's functions after a call changes no gradient of the call."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from helpers.numpy_calls import CALLS
from helpers.numpy_walk import EVERY, arrays_of, run
from helpers.same_values import quiet

REFUSALS = ("cannot write", "counterpart", "is not defined")


def arrays_in(found):
    """The Arrays in a nesting of results."""
    if isinstance(found, list | tuple):
        return [x for part in found for x in arrays_in(part)]
    return [found] if isinstance(found, xp.Array) else []


def overwrite(x):
    """Other values of the same dtype: each truth is turned round, each place another one."""
    x[...] = ~x if x.dtype.kind == "b" else np.flip(x) * 1 + (x.dtype.kind in "fc")


def gradients(name, call, is_plain, overwritten):
    """By each array in floating point, of what a call gives; those of NumPy's stay as they are."""
    data = [x.copy(order="K") for x in arrays_of(call)]
    places = [i for i, x in enumerate(data) if x.dtype.kind in "fc" and not is_plain(i, x)]
    sources = {i: xp.asarray(data[i]) for i in places}
    with xp.GradientTape() as tape:
        tape.watch(list(sources.values()))
        arrays = [
            sources[i] + 0.0 if i in sources else x if is_plain(i, x) else xp.asarray(x)
            for i, x in enumerate(data)
        ]
        results = [y + 0.0 for y in arrays_in(run(name, call, arrays)) if y.dtype.kind in "fc"]
        for x in arrays if overwritten else ():
            overwrite(x)
        loss = testing.total([*results, *[x + 0.0 for x in sources.values()]])
    return [np.asarray(g) for g in tape.gradient(loss, list(sources.values()))]


@pytest.mark.parametrize("plain", ["all but one", "no floats", "none"])
@pytest.mark.parametrize(("name", "i"), EVERY)
@pytest.mark.every(5)
def test_a_write_to_an_argument_comes_too_late(name, i, plain):
    call = CALLS[name][i]
    floats = [j for j, x in enumerate(arrays_of(call)) if x.dtype.kind in "fc"]
    is_plain = {
        "all but one": lambda j, x: j not in floats[:1],
        "no floats": lambda j, x: j not in floats,
        "none": lambda j, x: False,
    }[plain]
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        try:
            expected = gradients(name, call, is_plain, overwritten=False)
        except (TypeError, ValueError) as error:  # nothing leaves in silence
            if any(part in str(error) for part in REFUSALS):
                return
            raise
        found = gradients(name, call, is_plain, overwritten=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
