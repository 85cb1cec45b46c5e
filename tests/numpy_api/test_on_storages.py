"""NumPy's functions on Arrays whose data is not NumPy's: the same values, and gradients there."""

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import storages

rng = np.random.default_rng(9)
X, V = rng.normal(size=(3, 4)), rng.normal(size=4)
MASK = X > 0.0


def added(x, v):
    total = np.zeros_like(x)
    np.add.at(total, ([0, 0, 2], [1, 1, 3]), v[:3])
    np.copyto(total, x, where=MASK)
    return total


CALLS = {
    "add.at, copyto": added,
    "block": lambda x, v: np.block([[x], [v]]),
    "compress": lambda x, v: np.compress([True, False, True], x, axis=1) * v[0],
    "divide, where": lambda x, v: np.divide(v, x, out=np.zeros_like(x), where=MASK),
    "einsum": lambda x, v: np.einsum("ij,kj,j->ik", x, x, v),
    "extract": lambda x, v: np.extract(MASK, x * v),
    "gradient": lambda x, v: np.gradient(x, axis=1) * v,
    "insert": lambda x, v: np.insert(x, 1, v, axis=0),
    "like": lambda x, v: np.zeros((3, 4), like=x) + x * v,
    "lstsq": lambda x, v: np.linalg.lstsq(x.T, v)[0],
    "mean of a selection": lambda x, v: np.mean(x * v, axis=0, where=MASK),
    "median": lambda x, v: np.median(x * v, axis=1),
    "norm": lambda x, v: np.linalg.norm(x - v, axis=1),
    "pad": lambda x, v: np.pad(x * v, 1, mode="reflect"),
    "percentile": lambda x, v: np.percentile(x * v, [20.0, 70.0], axis=1),
    "select": lambda x, v: np.select([MASK, X < -1.0], [x, v * x], 0.0),
    "sliding windows": lambda x, v: np.lib.stride_tricks.sliding_window_view(x * v, 2, axis=0),
    "split": lambda x, v: np.hsplit(x * v, 2)[1],
    "sum": lambda x, v: np.sum(x * v, axis=1, where=MASK, initial=1.0),
    "vander": lambda x, v: np.vander(v, 3) * x[0, 0],
}


# NumPy's programs mix integers and floats, which not every storage promotes.
MIXED = {("percentile", "strict")}


@pytest.mark.parametrize(("name", "kind"), sorted(MIXED))
def test_a_storage_may_refuse_what_numpys_program_mixes(name, kind):
    device = getattr(storages, kind)().devices()[0]
    with pytest.raises(TypeError, match="promoted"):
        CALLS[name](*(xp.asarray(value, device=device) for value in (X, V)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in CALLS for kind in ("frozen", "strict") if (name, kind) not in MIXED],
)
def test_a_numpy_function_runs_where_the_data_lies(name, kind):
    device = getattr(storages, kind)().devices()[0]
    x, v = (xp.asarray(value, device=device) for value in (X, V))
    with xp.GradientTape() as tape:
        tape.watch([x, v])
        y = CALLS[name](x, v)
    assert y.device == device
    np.testing.assert_allclose(np.asarray(y.to_device("cpu")), CALLS[name](X, V), rtol=1e-12)
    here = [xp.asarray(value) for value in (X, V)]
    with xp.GradientTape() as reference:
        reference.watch(here)
        z = CALLS[name](*here)
    for g, expected in zip(tape.gradient(y, [x, v]), reference.gradient(z, here), strict=True):
        assert g.device == device
        np.testing.assert_allclose(np.asarray(g.to_device("cpu")), np.asarray(expected), rtol=1e-12)
