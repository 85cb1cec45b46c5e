"""Keywords of other libraries: the TypeError says ours."""

import inspect

import pytest

import arraytape as xp
from arraytape._record.op import REGISTRY

CALLS = {
    "sum dim": (lambda x: xp.sum(x, dim=0), "sum", "dim", "axis"),
    "sum keepdim": (lambda x: xp.sum(x, axis=0, keepdim=True), "sum", "keepdim", "keepdims"),
    "sum keepdim False": (lambda x: xp.sum(x, keepdim=False), "sum", "keepdim", "keepdims"),
    "mean": (lambda x: xp.mean(x, dim=(0, 1)), "mean", "dim", "axis"),
    "std": (lambda x: xp.std(x, ddof=1), "std", "ddof", "correction"),
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
