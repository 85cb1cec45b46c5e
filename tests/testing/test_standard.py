"""``arraytape.standard`` has the names of the standard, and no other names."""

import array_api_strict
import numpy as np
import pytest
from array_api_compat import array_namespace

import arraytape
from arraytape import standard
from arraytape.testing import xp_backends

NOT_OF_THE_STANDARD = (
    "concatenate",
    "einsum",
    "float16",
    "grad",
    "linalg.norm",
    "logaddexp2",
    "nansum",
)


@pytest.mark.parametrize("chapter", ["", "linalg", "fft"])
def test_the_names_are_those_of_the_standard(chapter):
    with array_api_strict.ArrayAPIStrictFlags(api_version=standard.__array_api_version__):
        theirs = getattr(array_api_strict, chapter) if chapter else array_api_strict
        expected = {name for name in theirs.__all__ if not name.lower().endswith("strict_flags")}
        mine = getattr(standard, chapter) if chapter else standard
        assert expected - {"ArrayAPIStrictFlags", "Device", "__version__"} <= {*mine.__all__}
        assert all(hasattr(theirs, name) for name in mine.__all__)
    for name in mine.__all__:
        whole = getattr(arraytape, chapter) if chapter else arraytape
        assert getattr(mine, name) is getattr(whole, name) or name in ("linalg", "fft")


@pytest.mark.parametrize("name", NOT_OF_THE_STANDARD)
def test_other_names_raise(name):
    *chapter, name = name.split(".")
    assert hasattr(getattr(arraytape, chapter[0]) if chapter else arraytape, name)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(getattr(standard, chapter[0]) if chapter else standard, name)


def joined(x):
    """Join an array with itself by NumPy's name, as code that was never run on another library does."""
    return array_namespace(x).concatenate([x, x])


def test_the_backend_finds_names_that_the_standard_lacks():
    with xp_backends.on("standard") as xp:
        x = xp.asarray([1.0, 2.0])
        assert xp is array_namespace(x) is standard
        with pytest.raises(AttributeError, match="'concatenate'"):
            joined(x)
        with arraytape.GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(array_namespace(x).concat([x, x]) ** 2)
        np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), [4.0, 8.0])
    assert array_namespace(x) is arraytape
    assert joined(x).shape == (4,)
