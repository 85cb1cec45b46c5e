"""Keywords of other libraries: NumPy's are served, and for others the TypeError names ours."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape._define import keywords
from arraytape._record.op import REGISTRY
from arraytape._util.versions import NUMPY

CALLS = {
    "sum dim": (lambda x: xp.sum(x, dim=0), "sum", "dim", "axis"),
    "sum keepdim": (lambda x: xp.sum(x, axis=0, keepdim=True), "sum", "keepdim", "keepdims"),
    "sum keepdim False": (lambda x: xp.sum(x, keepdim=False), "sum", "keepdim", "keepdims"),
    "mean": (lambda x: xp.mean(x, dim=(0, 1)), "mean", "dim", "axis"),
    "concat": (lambda x: xp.concat([x, x], dim=1), "concat", "dim", "axis"),
    "concat None": (lambda x: xp.concat([x, x], dim=None), "concat", "dim", "axis"),
    "stack": (lambda x: xp.stack([x, x], dim=1), "stack", "dim", "axis"),
    "argmax": (lambda x: xp.argmax(x, dim=1), "argmax", "dim", "axis"),
    "cumulative_sum": (lambda x: xp.cumulative_sum(x, dim=1), "cumulative_sum", "dim", "axis"),
    "take": (lambda x: xp.take(x, xp.asarray([0]), dim=0), "take", "dim", "axis"),
    "sort": (lambda x: xp.sort(x, dim=0), "sort", "dim", "axis"),
    "flip": (lambda x: xp.flip(x, dims=(0,)), "flip", "dims", "axis"),
    "roll": (lambda x: xp.roll(x, 1, dims=0), "roll", "dims", "axis"),
    "squeeze": (lambda x: xp.squeeze(x, dim=0), "squeeze", "dim", "axis"),
    "expand_dims": (lambda x: xp.expand_dims(x, dim=0), "expand_dims", "dim", "axis"),
    "permute_dims": (lambda x: xp.permute_dims(x, dims=(1, 0)), "permute_dims", "dims", "axes"),
    "tensordot": (lambda x: xp.tensordot(x, x, dims=1), "tensordot", "dims", "axes"),
    "fft": (lambda x: xp.fft.fft(x, dim=0), "fft.fft", "dim", "axis"),
    "norm": (lambda x: xp.linalg.vector_norm(x, dim=0), "linalg.vector_norm", "dim", "axis"),
}


@pytest.fixture
def x():
    return xp.ones((2, 2))


@pytest.mark.parametrize(("call", "name", "theirs", "ours"), CALLS.values(), ids=CALLS)
def test_a_keyword_of_another_library_is_refused_by_our_name(call, name, theirs, ours, x):
    with pytest.raises(TypeError) as caught:
        call(x)
    assert str(caught.value) == (
        f"{name}() got an unexpected keyword argument {theirs!r} "
        f"[at {__file__}:{call.__code__.co_firstlineno}]; arraytape's name is {ours}"
    )


M = np.asarray([[True, False, True], [False, True, True]])
NUMPYS = {  # keywords of NumPy on the standard's functions: a function of a namespace, x and a target
    "all where": lambda np, x, out: np.all(x > 0.5, axis=1, where=np.asarray(M)),
    "argmax out": lambda np, x, out: np.argmax(x, axis=0, out=np.zeros(3, dtype=np.int64)),
    "clip out": lambda np, x, out: np.clip(x, 0.4, 1.5, out=out),
    "concat dtype": lambda np, x, out: np.concat([x, x], dtype=np.float32),
    "cumulative_sum out": lambda np, x, out: np.cumulative_sum(x, axis=1, out=out),
    "einsum out": lambda np, x, out: np.einsum("ij,ij->ij", x, x, out=out),
    "fft out": lambda np, x, out: np.fft.fft(x, out=np.zeros((2, 3), dtype=np.complex128)),
    "eigvalsh": lambda np, x, out: np.linalg.eigvalsh(x[:, :2] + x[:, :2].T, UPLO="U"),
    "max initial": lambda np, x, out: np.max(x, axis=0, initial=1.0),
    "mean dtype": lambda np, x, out: np.mean(x, dtype=np.float32),
    "mean where": lambda np, x, out: np.mean(x, axis=1, where=np.asarray(M)),
    "median out": lambda np, x, out: np.median(x, axis=0, out=np.zeros(3)),
    "meshgrid": lambda np, x, out: np.meshgrid(x[0], x[1], sparse=True)[0],
    "pad": lambda np, x, out: np.pad(x, 2, mode="mean", stat_length=2),
    "pad odd": lambda np, x, out: np.pad(x, 1, mode="reflect", reflect_type="odd"),
    "pad ramp": lambda np, x, out: np.pad(x, 2, mode="linear_ramp", end_values=(1.0, 2.0)),
    "reshape order": lambda np, x, out: np.reshape(x, (3, 2), order="F"),
    "round": lambda np, x, out: np.round(x, decimals=1),
    "sort kind": lambda np, x, out: np.sort(x, axis=1, kind="stable"),
    "stack out": lambda np, x, out: np.stack([x[0], x[1]], out=out),
    "std ddof": lambda np, x, out: np.std(x, axis=1, ddof=1),
    "sum initial, where": lambda np, x, out: np.sum(x, axis=0, initial=2.0, where=np.asarray(M)),
    "take mode": lambda np, x, out: np.take(x, np.asarray([0, 7]), axis=1, mode="clip"),
    "var ddof": lambda np, x, out: np.var(x, ddof=0.5),
}


@pytest.mark.parametrize("name", NUMPYS)
def test_keywords_of_numpy_have_numpys_values_and_gradients(name):
    if name == "concat dtype" and NUMPY < (2, 4):
        pytest.skip("NumPy before 2.4 states no signature of np.concatenate")
    call, data = NUMPYS[name], np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.66]])
    ours = call(xp, xp.asarray(data), xp.zeros((2, 3)))
    theirs = call(np, data, np.zeros((2, 3)))
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_array_equal(np.asarray(ours), theirs)

    def loss(x):
        return xp.sum(xp.square(call(xp, x, xp.zeros((2, 3)))))

    if theirs.dtype in (np.float64, np.complex128) and name != "fft out":
        found = np.asarray(xp.grad(loss)(xp.asarray(data)))
        step = 1e-6 * np.random.default_rng(0).normal(size=data.shape)
        change = float(loss(xp.asarray(data + step))) - float(loss(xp.asarray(data - step)))
        np.testing.assert_allclose(np.sum(found * step) * 2.0, change, rtol=1e-5, atol=1e-14)
        replayed = xp.function(xp.grad(loss))
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(replayed(xp.asarray(data))), found)


def test_functions_of_numpy_without_a_signature_have_no_keywords(monkeypatch):
    """NumPy before 2.4 states no signature for its functions in C, such as np.concatenate."""

    def refuse(function):
        raise ValueError("no signature found for builtin")

    parameters = list(inspect.signature(xp.concat).parameters.values())
    assert "where" in keywords.numpys_keywords(
        "sum", [*inspect.signature(xp.sum).parameters.values()]
    )
    monkeypatch.setattr(keywords.inspect, "signature", refuse)
    assert keywords.numpys_keywords("concat", parameters) == []


def test_an_axis_by_position_is_refused(x):
    with pytest.raises(TypeError, match=r"sum\(\) takes fewer .*; give axis and keepdims by name"):
        xp.sum(x, 0)
    with pytest.raises(TypeError, match=r"concat\(\) takes fewer .*; give axis by name"):
        xp.concat([x, x], None)


def test_a_required_axis_that_is_left_out_is_named(x):
    with pytest.raises(TypeError, match=r"squeeze\(\) misses a required argument .*: axis"):
        xp.squeeze(x)


def test_other_unknown_keywords_are_refused_as_ever(x):
    with pytest.raises(TypeError, match=r"sum\(\) got an unexpected keyword argument 'order'"):
        xp.sum(x, order="C")


@pytest.mark.parametrize("name", ["sum", "concat", "squeeze", "std", "permute_dims"])
def test_the_other_names_are_not_in_the_signature(name):
    parameters = inspect.signature(REGISTRY[name].public).parameters
    assert parameters.keys().isdisjoint({"dim", "dims", "keepdim", "ddof", "extra"})


def test_elementwise_functions_take_no_hidden_parameters(x):
    xp.add(x, x)
    assert xp.add.__code__.co_argcount == 2
