"""Arrays as Python objects: their text, length, iteration, conversions and attributes."""

import operator
import weakref

import numpy as np
import pytest

import arraytape as xp
from helpers.standard import DTYPES, is_followed


def test_repr_names_values_dtype_device_and_whether_the_value_is_followed():
    x = xp.asarray([1.5, 2.0], dtype=xp.float32)
    for part in ("1.5", "2.", "float32", "cpu"):
        assert part in repr(x)
    assert not is_followed(x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        assert is_followed(x)
        assert is_followed(x * 2.0)
        assert not is_followed(xp.ones(2))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 2), (2000,)])
def test_every_array_has_repr_and_str(name, shape):
    x = xp.ones(shape, dtype=getattr(xp, name))
    assert name in repr(x)
    assert str(x) == str(np.ones(shape, dtype=name))


def test_format_of_a_0d_array_formats_its_value():
    assert f"{xp.asarray(1.25):.1f}" == f"{1.25:.1f}"
    assert f"{xp.asarray(7):03d}" == "007"
    assert f"{xp.asarray(1 + 2j):.1f}" == "1.0+2.0j"
    assert f"{xp.asarray([1.0, 2.0])}" == "[1. 2.]"
    with pytest.raises(
        TypeError, match=r"take one element.*'\.3f' is one of numbers.*float64\(2,\)"
    ):
        f"{xp.asarray([1.0, 2.0]):.3f}"


def test_len_is_the_length_of_the_first_axis():
    assert len(xp.ones((3, 2))) == 3
    assert len(xp.ones((0, 2))) == 0
    with pytest.raises(TypeError, match="0-d"):
        len(xp.asarray(1.0))


def test_iteration_gives_the_rows():
    rows = list(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    assert [type(row) for row in rows] == [xp.Array, xp.Array]
    assert [row.tolist() for row in rows] == [[1.0, 2.0], [3.0, 4.0]]
    assert [float(x) for x in xp.asarray([1.0, 2.0])] == [1.0, 2.0]
    assert all(isinstance(x, xp.Array) and x.shape == () for x in xp.asarray([1.0, 2.0]))


def test_a_0d_array_cannot_be_iterated():
    with pytest.raises(TypeError, match="0-d"):
        iter(xp.asarray(1.0))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("value", [0, 1])
def test_a_0d_array_converts_to_python_scalars(name, value):
    x = xp.asarray(value, dtype=getattr(xp, name))
    assert bool(x) is bool(value)
    assert type(complex(x)) is complex
    assert complex(x) == value
    if "complex" in name:
        with pytest.raises(TypeError):
            float(x)
        with pytest.raises(TypeError):
            int(x)
    else:
        assert type(float(x)) is float
        assert float(x) == value
        assert type(int(x)) is int
        assert int(x) == value


def test_conversions_of_what_has_no_python_value_raise():
    with pytest.raises((ValueError, OverflowError)):
        int(xp.asarray(xp.nan))
    with pytest.raises(OverflowError):
        int(xp.asarray(xp.inf))
    for convert in (float, int, complex, operator.index):
        with pytest.raises(TypeError):
            convert(xp.ones(2))
    with pytest.raises(ValueError, match=r"bool|truth|ambiguous"):
        bool(xp.ones(2))


@pytest.mark.parametrize("name", DTYPES)
def test_only_integer_arrays_are_an_index(name):
    x = xp.asarray(1, dtype=getattr(xp, name))
    if "int" in name:
        assert operator.index(x) == 1
        assert ["a", "b"][x] == "b"
        assert list(range(x)) == [0]
    else:
        with pytest.raises(TypeError):
            operator.index(x)


def test_an_array_has_no_hash():
    with pytest.raises(TypeError, match="hash"):
        hash(xp.ones(2))
    with pytest.raises(TypeError, match="hash"):
        {xp.asarray(1): 2}


@pytest.mark.parametrize("stranger", [None, "a", object(), {}, ["a"], [None]])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_comparison_with_a_stranger_is_pythons_own(stranger, shape):
    x = xp.ones(shape)
    assert (x == stranger) is False
    assert (x != stranger) is True
    assert (stranger == x) is False
    with pytest.raises(TypeError):
        x < stranger  # noqa: B015
    with pytest.raises(TypeError):
        x + stranger


def test_an_array_can_be_looked_for_in_a_list_of_strangers():
    assert xp.ones(2) not in [None, "a"]
    assert xp.asarray(1.0) not in ["a", None]


def test_transposes_have_transposed_shapes():
    x = xp.reshape(xp.arange(6), (2, 3))
    assert x.T.shape == x.mT.shape == (3, 2)
    assert xp.ones((4, 2, 3)).mT.shape == (4, 3, 2)
    # The standard leaves T to matrices; NumPy's reverses the axes, and its users write v.T.
    assert xp.ones((4, 2, 3)).T.shape == (3, 2, 4)
    assert xp.ones(3).T.shape == (3,)
    with pytest.raises(ValueError, match="mat"):
        xp.ones(3).mT  # noqa: B018


def test_shape_is_a_tuple_of_python_integers():
    x = xp.ones((2, 0, 3))
    assert type(x.shape) is tuple
    assert {type(n) for n in x.shape} == {int}
    assert (x.ndim, x.size) == (3, 0)
    assert type(x.size) is type(x.ndim) is int
    assert xp.asarray(1.0).size == 1


@pytest.mark.parametrize("attribute", ["dtype", "shape", "ndim", "size", "device", "T", "mT"])
def test_attributes_cannot_be_set(attribute):
    with pytest.raises(AttributeError):
        setattr(xp.ones((2, 2)), attribute, None)


# --- weak references ------------------------------------------------------------------------------
ARRAYS = {
    "root": lambda: xp.asarray([1.0, 2.0]),
    "view": lambda: xp.asarray([1.0, 2.0])[1:],
    "scalar": lambda: xp.sum(xp.ones(2)),
    "variable": lambda: xp.Variable([1.0, 2.0]),
}


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_a_weak_reference_ends_with_its_array(make):
    ends = []
    x = make()
    first, second = weakref.ref(x, ends.append), weakref.proxy(x)
    assert first() is x
    assert second.shape == x.shape
    del x
    assert first() is None
    assert ends == [first]


def test_a_tape_keeps_what_is_watched_and_no_intermediate():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        y = xp.sum(h * h)
        watched, intermediate = weakref.ref(x), weakref.ref(h)
        del x, h
        assert watched() is not None
        assert intermediate() is None
    assert tape.gradient(y, watched()).tolist() == [4.0, 32.0]


# --- attributes that cannot be set ------------------------------------------------------------------
SETTINGS = {
    "shape": ((4,), "reshape"),
    "dtype": (np.float32, "astype"),
    "device": ("cpu", "to_device"),
    "ndim": (1, "reshape"),
    "size": (4, "reshape"),
    "T": (np.ones((2, 2)), r"x\.T\[\.\.\.\] = value"),
    "mT": (np.ones((2, 2)), r"x\.mT\[\.\.\.\] = value"),
    "strides": ((8, 16), r"np\.asarray\(x\)\.strides"),
    "flags": (None, r"np\.asarray\(x\)\.flags"),
    "data": (None, r"np\.asarray\(x\)\.data"),
    "base": (None, "may_share_memory"),
    "nbytes": (1, "setter"),
    "itemsize": (1, "setter"),
    "anything": (1, "anything"),
}


@pytest.mark.parametrize("cls", [xp.asarray, xp.Variable])
@pytest.mark.parametrize(("name", "value", "says"), [(k, *v) for k, v in SETTINGS.items()])
def test_what_cannot_be_set_says_what_to_do(cls, name, value, says):
    x = cls([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(AttributeError, match=says):
        setattr(x, name, value)
    with pytest.raises(AttributeError):
        delattr(x, name)
    assert x.shape == (2, 2)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_reading_strides_and_flags_says_where_they_are():
    for name in ("strides", "flags", "data", "base"):
        assert not hasattr(xp.ones(2), name)
