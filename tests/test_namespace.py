"""The namespace against the text of the array API standard, 2025.12: names, signatures, rules."""

import copy
import inspect
import math
import operator
import pickle

import array_api_strict
import numpy as np
import pytest

import arraytape as xp

STANDARD = {
    "creation": """arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid
        ones ones_like tril triu zeros zeros_like""",
    "data type": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
        bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh
        divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf
        isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or
        logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
        reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc""",
    "indexing": "take take_along_axis",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip
        moveaxis permute_dims repeat reshape roll squeeze stack tile unstack""",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "set": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistical": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
    "constants": "e inf nan newaxis pi",
    "dtypes": """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64
        complex128""",
    "inspection": "__array_namespace_info__ __array_api_version__",
    "linalg": """cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm
        matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot
        trace vecdot vector_norm""",
    "fft": """fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift
        ifftshift""",
}
SIZES = {"elementwise": 67, "creation": 16, "manipulation": 15, "linalg": 25, "fft": 14}
NOT_FUNCTIONS = ("constants", "dtypes", "inspection")
NAMES = [
    (f"{chapter}." if chapter in ("linalg", "fft") else "") + name
    for chapter, names in STANDARD.items()
    for name in names.split()
]
FUNCTIONS = [
    name
    for name in NAMES
    if not any(name in STANDARD[chapter].split() for chapter in NOT_FUNCTIONS)
]

ATTRIBUTES = ["dtype", "device", "mT", "ndim", "shape", "size", "T"]
METHODS = [
    "__array_namespace__", "__bool__", "__complex__", "__dlpack__", "__dlpack_device__", "__float__",
    "__getitem__", "__index__", "__int__", "__setitem__", "to_device",
]  # fmt: skip
UNARY = ["__abs__", "__invert__", "__neg__", "__pos__"]
COMPARISONS = ["__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__"]
BINARY = [
    "add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub",
    "truediv", "xor",
]  # fmt: skip
OPERATORS = [f"__{prefix}{name}__" for name in BINARY for prefix in ("", "r", "i")]

DTYPES = STANDARD["dtypes"].split()


def found(module, name):
    """What stands at a dotted name."""
    return operator.attrgetter(name)(module)


def is_followed(x):
    return "followed" in repr(x)


# --- names ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("chapter", "size"), SIZES.items())
def test_the_lists_above_are_complete(chapter, size):
    assert len(set(STANDARD[chapter].split())) == size


@pytest.mark.parametrize("name", NAMES)
def test_the_name_is_in_the_namespace(name):
    assert found(xp, name) is not NotImplemented
    assert name in FUNCTIONS or "." not in name
    assert (name in FUNCTIONS) <= callable(found(xp, name))


@pytest.mark.parametrize("name", [*ATTRIBUTES, *METHODS, *UNARY, *COMPARISONS, *OPERATORS])
def test_arrays_have_the_attribute(name):
    inherited = getattr(object, name, None)
    assert getattr(xp.Array, name) is not inherited


@pytest.mark.parametrize("name", ["matmul", "matrix_transpose", "tensordot", "vecdot"])
def test_linalg_repeats_the_main_functions(name):
    assert getattr(xp.linalg, name) is getattr(xp, name)


@pytest.mark.parametrize("extension", ["linalg", "fft"])
def test_an_extension_lists_exactly_its_public_names(extension):
    module = getattr(xp, extension)
    assert sorted(module.__all__) == sorted(STANDARD[extension].split())


def test_constants_are_python_floats_and_newaxis_is_none():
    assert (xp.e, xp.pi, xp.inf) == (math.e, math.pi, math.inf)
    assert math.isnan(xp.nan)
    assert xp.newaxis is None
    assert {type(c) for c in (xp.e, xp.pi, xp.inf, xp.nan)} == {float}


def test_the_namespace_is_one_module_of_a_stable_name():
    assert xp.ones(2).__array_namespace__() is xp
    assert hash(xp) == hash(xp.ones(2).__array_namespace__())
    assert xp.__name__ == "arraytape"
    assert xp.__array_api_version__ == "2025.12"


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"])
def test_every_published_version_is_known(version):
    assert xp.ones(2).__array_namespace__(api_version=version) is xp


@pytest.mark.parametrize("version", ["", "2020.12", "2025", "2025.06", "9999.12"])
def test_an_unknown_version_raises(version):
    with pytest.raises(ValueError, match="version"):
        xp.ones(2).__array_namespace__(api_version=version)


# --- signatures -------------------------------------------------------------------------------
# Where array_api_strict is not the standard, or the standard is not enough for code that calls itself
# array API code: the parameter as it is here, and the reason.
KEYWORD = inspect.Parameter.KEYWORD_ONLY
ANYWHERE = inspect.Parameter.POSITIONAL_OR_KEYWORD
ONLY = inspect.Parameter.POSITIONAL_ONLY
UNDEFINED = "strict's default is a private 'undefined'; the standard's is None"
DIFFERENT = {
    "astype": ({"device": (KEYWORD, None)}, UNDEFINED),
    "from_dlpack": ({"device": (KEYWORD, None), "copy": (KEYWORD, None)}, UNDEFINED),
    "__dlpack__": (
        {"max_version": (KEYWORD, None), "dl_device": (KEYWORD, None), "copy": (KEYWORD, None)},
        UNDEFINED,
    ),
    "to_device": ({"stream": (KEYWORD, None)}, "strict takes it by position too"),
    "diff": (
        {"n": (ANYWHERE, 1), "axis": (ANYWHERE, -1)},
        "scikit-learn's roc_curve has diff(x, 2), as NumPy and PyTorch take it",
    ),
    "where": ({"x1": (ONLY, None), "x2": (ONLY, None)}, "scikit-learn's roc_curve has where(x)"),
}


@pytest.fixture(scope="module")
def strict():
    """array_api_strict at the newest version of the standard that it knows."""
    before = array_api_strict.get_array_api_strict_flags()
    for version in ("2025.12", "2024.12"):
        try:
            array_api_strict.set_array_api_strict_flags(api_version=version)
        except ValueError:
            continue
        break
    yield array_api_strict
    array_api_strict.set_array_api_strict_flags(**before)


def parameters(function, *, skip=0):
    """Name -> (kind, default), of the parameters after the first ``skip``."""
    listed = list(inspect.signature(function).parameters.values())[skip:]
    return {p.name: (p.kind, p.default) for p in listed}


def assert_same_signature(name, ours, theirs, *, skip=0):
    mine, standard = parameters(ours, skip=skip), parameters(theirs, skip=skip)
    mended, _ = DIFFERENT.get(name, ({}, ""))
    assert all(standard[p] != mended[p] for p in mended), f"{name}: no longer different"
    standard |= mended
    for extra in set(mine) - set(standard):
        kind, default = mine.pop(extra)
        assert kind is KEYWORD
        assert default is not inspect.Parameter.empty
    assert mine == standard
    if name not in DIFFERENT:
        assert list(mine) == list(standard)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_signature_is_the_standards(name, strict):
    assert_same_signature(name, found(xp, name), found(strict, name))


@pytest.mark.parametrize("name", [*METHODS, *UNARY, *COMPARISONS, *OPERATORS])
def test_the_methods_signature_is_the_standards(name, strict):
    theirs = getattr(type(strict.ones(1)), name)
    ours = getattr(xp.Array, name)
    if name in METHODS:
        assert_same_signature(name, ours, theirs, skip=1)  # self has whatever name
    else:
        assert len(inspect.signature(ours).parameters) == len(inspect.signature(theirs).parameters)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_a_docstring_and_their_own_name(name):
    function = found(xp, name)
    assert function.__doc__
    assert function.__name__ == name.rpartition(".")[2]


# --- named tuples -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("unique_all", ("values", "indices", "inverse_indices", "counts")),
        ("unique_counts", ("values", "counts")),
        ("unique_inverse", ("values", "inverse_indices")),
        ("linalg.eig", ("eigenvalues", "eigenvectors")),
        ("linalg.eigh", ("eigenvalues", "eigenvectors")),
        ("linalg.qr", ("Q", "R")),
        ("linalg.slogdet", ("sign", "logabsdet")),
        ("linalg.svd", ("U", "S", "Vh")),
    ],
)
@pytest.mark.parametrize("watched", [False, True])
def test_the_result_is_a_named_tuple(name, fields, watched):
    x = xp.eye(2)
    with xp.GradientTape() as tape:
        if watched:
            tape.watch(x)
        result = found(xp, name)(x)
    assert isinstance(result, tuple)
    assert result._fields == fields
    assert all(isinstance(part, xp.Array) for part in result)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: xp.broadcast_arrays(x, x),
        lambda x: xp.meshgrid(x, x),
        lambda x: xp.nonzero(x),
        lambda x: xp.unstack(x),
    ],
)
def test_several_results_are_a_plain_tuple(call):
    assert type(call(xp.ones(2))) is tuple


# --- inspection -------------------------------------------------------------------------------
def test_capabilities():
    capabilities = xp.__array_namespace_info__().capabilities()
    assert capabilities == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    xp.ones((1,) * 64)
    with pytest.raises(ValueError, match="dim"):
        xp.ones((1,) * 65)


def test_devices_and_the_default_device():
    info = xp.__array_namespace_info__()
    assert type(info.devices()) is tuple
    assert info.default_device() in info.devices()
    assert xp.ones(2).device == info.default_device()


def test_default_dtypes_are_those_of_the_creation_functions():
    info = xp.__array_namespace_info__()
    defaults = info.default_dtypes()
    assert defaults == info.default_dtypes(device=info.default_device())
    assert defaults == {
        "real floating": xp.asarray(1.0).dtype,
        "complex floating": xp.asarray(1j).dtype,
        "integral": xp.asarray(1).dtype,
        "indexing": xp.argmax(xp.ones(2)).dtype,
    }


def test_dtypes_by_kind():
    info = xp.__array_namespace_info__()
    assert info.dtypes() == {name: getattr(xp, name) for name in DTYPES}
    kinds = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")
    for kind in (*kinds, "integral", "numeric", ("bool", "integral"), ()):
        listed = info.dtypes(kind=kind)
        assert listed == info.dtypes(kind=kind, device="cpu")
        assert set(listed) == {name for name in DTYPES if xp.isdtype(getattr(xp, name), kind)}


def test_inspection_refuses_unknown_kinds_and_devices():
    info = xp.__array_namespace_info__()
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="floating")
    with pytest.raises(ValueError, match="device"):
        info.dtypes(device="moon")
    with pytest.raises(ValueError, match="device"):
        info.default_dtypes(device="moon")


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_those_of_arrays_and_hash_alike(name):
    dtype = getattr(xp, name)
    x = xp.ones(2, dtype=dtype)
    assert x.dtype == dtype
    assert dtype == x.dtype
    others = [getattr(xp, other) for other in DTYPES if other != name]
    assert not any(dtype == other for other in others)
    assert dtype != None  # noqa: E711


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_finfo_takes_dtypes_and_arrays_and_gives_python_numbers(name):
    for argument in (getattr(xp, name), xp.ones(2, dtype=getattr(xp, name))):
        info, numpys = xp.finfo(argument), np.finfo(name)
        assert type(info.bits) is int
        assert info.bits == numpys.bits
        for field in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(info, field)) is float
            assert getattr(info, field) == getattr(numpys, field)
        assert info.dtype == numpys.dtype


@pytest.mark.parametrize("name", [name for name in DTYPES if "int" in name])
def test_iinfo_takes_dtypes_and_arrays_and_gives_python_numbers(name):
    for argument in (getattr(xp, name), xp.ones(2, dtype=getattr(xp, name))):
        info, numpys = xp.iinfo(argument), np.iinfo(name)
        for field in ("bits", "max", "min"):
            assert type(getattr(info, field)) is int
            assert getattr(info, field) == getattr(numpys, field)
        assert info.dtype == np.dtype(name)


# --- pickle and copy --------------------------------------------------------------------------
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda x, protocol=protocol: pickle.loads(pickle.dumps(x, protocol))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}
copied = pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)


@copied
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_a_copy_has_value_dtype_and_shape(duplicate, name, shape):
    x = xp.asarray(np.arange(math.prod(shape)).reshape(shape), dtype=getattr(xp, name))
    y = duplicate(x)
    assert type(y) is xp.Array
    assert y.dtype == x.dtype
    assert y.shape == x.shape
    assert np.array_equal(np.asarray(y), np.asarray(x))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_value_is_followed_by_nobody(protocol):
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = pickle.loads(pickle.dumps(x * x, protocol))
        z = xp.sum(y * x)
    assert not is_followed(y)
    assert np.array_equal(np.asarray(tape.gradient(z, x)), [1.0, 4.0])
    assert tape.gradient(z, y) is None
    with pytest.warns(xp.TapeWarning, match=r"test_namespace\.py:\d+ \(pickle\)"):
        assert tape.gradient(y, x) is None


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_stays_connected(duplicate):
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = duplicate({"a": x * x} if duplicate is copy.deepcopy else x * x)
        y = y["a"] if duplicate is copy.deepcopy else y
        y[0] *= 3.0
        z = xp.sum(y * x)
    assert np.array_equal(np.asarray(tape.gradient(z, x)), [9.0, 12.0])


@copied
def test_a_copy_has_memory_of_its_own(duplicate):
    x = xp.asarray([1.0, 2.0])
    y = duplicate(x)
    y[0] = 7.0
    assert x[0] == 1.0
    x[1] = 8.0
    assert y[1] == 2.0


@copied
def test_a_copy_of_a_view_has_what_the_view_shows(duplicate):
    x = xp.reshape(xp.arange(6.0), (2, 3))
    view = x[:, 1]
    x[0, 1] = 9.0
    y = duplicate(view)
    assert np.array_equal(np.asarray(y), [9.0, 4.0])
    x[0, 1] = 1.0
    assert y[0] == 9.0


def test_a_pickle_is_small():
    large = xp.ones(100_000)
    with xp.GradientTape() as tape:
        tape.watch(large)
        small = (large * 2.0)[:3]
        assert is_followed(small)
        assert len(pickle.dumps(small)) < 500
        assert len(pickle.dumps(large)) < 8 * large.size + 500


def test_deepcopy_of_a_structure_copies_its_arrays():
    x = xp.ones(2)
    y = copy.deepcopy({"a": [x]})["a"][0]
    y[0] = 5.0
    assert x[0] == 1.0


def test_deepcopy_keeps_one_array_in_two_places_one():
    x = xp.ones(2)
    first, second = copy.deepcopy([x, x])
    assert first is second


# --- text, scalars, iteration -------------------------------------------------------------------
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


@pytest.mark.parametrize("stranger", [None, "a", object(), [], {}, (1.0,)])
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


def test_transposes():
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


# --- devices ------------------------------------------------------------------------------------
ON_DEVICE = {
    "arange": lambda **where: xp.arange(3, **where),
    "asarray": lambda **where: xp.asarray([1.0], **where),
    "asarray of an Array": lambda **where: xp.asarray(xp.ones(2), **where),
    "asarray of Arrays": lambda **where: xp.asarray([xp.asarray(1.0)], **where),
    "asarray of NumPy data": lambda **where: xp.asarray(np.ones(2), **where),
    "astype": lambda **where: xp.astype(xp.ones(2), xp.float32, **where),
    "empty": lambda **where: xp.empty(2, **where),
    "empty_like": lambda **where: xp.empty_like(xp.ones(2), **where),
    "eye": lambda **where: xp.eye(2, **where),
    "fftfreq": lambda **where: xp.fft.fftfreq(3, **where),
    "from_dlpack": lambda **where: xp.from_dlpack(np.ones(2), **where),
    "full": lambda **where: xp.full(2, 1.0, **where),
    "full of an Array": lambda **where: xp.full(2, xp.asarray(1.0), **where),
    "full_like": lambda **where: xp.full_like(xp.ones(2), 1.0, **where),
    "linspace": lambda **where: xp.linspace(0.0, 1.0, 3, **where),
    "linspace of Arrays": lambda **where: xp.linspace(xp.asarray(0.0), 1.0, 3, **where),
    "ones": lambda **where: xp.ones(2, **where),
    "ones_like": lambda **where: xp.ones_like(xp.ones(2), **where),
    "rfftfreq": lambda **where: xp.fft.rfftfreq(3, **where),
    "zeros": lambda **where: xp.zeros(2, **where),
    "zeros_like": lambda **where: xp.zeros_like(xp.ones(2), **where),
}
on_device = pytest.mark.parametrize("make", ON_DEVICE.values(), ids=ON_DEVICE)


def test_every_function_with_a_device_is_tried():
    takes = {
        name.rpartition(".")[2]
        for name in FUNCTIONS
        if "device" in inspect.signature(found(xp, name)).parameters
    }
    assert takes == {name.partition(" ")[0] for name in ON_DEVICE}


@on_device
def test_a_device_of_the_namespace_is_accepted(make):
    for device in ("cpu", xp.ones(1).device, None):
        assert make(device=device).device == "cpu"


@on_device
def test_an_unknown_device_raises(make):
    with pytest.raises(ValueError, match="device"):
        make(device="moon")


def test_to_device_is_recorded_and_refuses_unknown_devices():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x.to_device(x.device) * 3.0
    assert np.array_equal(np.asarray(tape.gradient(y, x)), [3.0, 3.0])
    assert x.to_device("cpu", stream=None).device == "cpu"
    with pytest.raises(ValueError, match="device"):
        x.to_device("moon")


# --- asarray ------------------------------------------------------------------------------------
def test_an_array_that_fits_comes_back_itself_unless_copied():
    x = xp.ones(2)
    for same in (
        xp.asarray(x),
        xp.asarray(x, copy=False),
        xp.asarray(x, dtype=x.dtype),
        xp.asarray(x, dtype=xp.float64, copy=False, device="cpu"),
    ):
        assert same is x
    y = xp.asarray(x, copy=True)
    y[0] = 5.0
    assert x[0] == 1.0


def test_a_copied_array_is_recorded():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(x, copy=True)
        y[0] = 0.0
        z = y * y
    assert np.array_equal(np.asarray(tape.gradient(z, x)), [0.0, 4.0])


@pytest.mark.parametrize("name", DTYPES)
def test_asarray_casts_to_the_dtype(name):
    dtype = getattr(xp, name)
    for source in (True, [0, 1], np.ones(2, dtype=bool), xp.ones(2, dtype=xp.bool)):
        assert xp.asarray(source, dtype=dtype).dtype == dtype


def test_a_cast_is_recorded_and_needs_a_copy():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(x, dtype=xp.float32) * 3.0
    gradient = tape.gradient(y, x)
    assert y.dtype == xp.float32
    assert gradient.dtype == xp.float64
    assert np.array_equal(np.asarray(gradient), [3.0, 3.0])
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(x, dtype=xp.float32, copy=False)


@pytest.mark.parametrize(
    ("value", "name"), [(True, "bool"), (1, "int64"), (1.0, "float64"), (1j, "complex128")]
)
def test_python_scalars_get_the_default_dtypes(value, name):
    assert xp.asarray(value).dtype == getattr(xp, name)
    assert xp.asarray([value]).dtype == getattr(xp, name)
    assert xp.asarray([[value, True]]).dtype == getattr(xp, name)
    assert xp.asarray(value).shape == ()


def test_nested_sequences_of_arrays_are_recorded():
    x, y = xp.asarray(2.0), xp.asarray(3.0)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        matrix = xp.asarray([[x, y], (1.0, x * y)])
        z = xp.sum(matrix * xp.asarray([[1.0, 10.0], [100.0, 1000.0]]))
    assert matrix.tolist() == [[2.0, 3.0], [1.0, 6.0]]
    assert float(tape.gradient(z, x)) == 1.0 + 3000.0
    assert float(tape.gradient(z, y)) == 10.0 + 2000.0


def test_a_sequence_of_arrays_takes_a_dtype_and_cannot_be_shared():
    rows = [xp.ones(2), xp.ones(2)]
    assert xp.asarray(rows, dtype=xp.float32).dtype == xp.float32
    assert xp.asarray(rows).shape == (2, 2)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(rows, copy=False)


@pytest.mark.parametrize("keep", [None, True])
def test_numpy_input_is_copied(keep):
    source = np.ones(2)
    x = xp.asarray(source, copy=keep)
    source[0] = 5.0
    assert x[0] == 1.0
    x[1] = 7.0
    assert source[1] == 1.0


def test_numpy_input_is_shared_with_copy_false():
    source = np.ones(2)
    x = xp.asarray(source, copy=False)
    source[0] = 5.0
    assert x[0] == 5.0


@pytest.mark.parametrize("source", [[1.0, 2.0], 1.0, (1, 2)])
def test_copy_false_of_a_sequence_raises(source):
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(source, copy=False)


def test_copy_false_with_a_cast_of_numpy_data_raises():
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(np.ones(2), dtype=xp.float32, copy=False)


@pytest.mark.parametrize("source", ["a", None, object(), np.asarray(["a"]), {}])
def test_what_is_no_number_raises_a_type_error(source):
    with pytest.raises(TypeError, match="asarray"):
        xp.asarray(source)


def test_integers_out_of_range_raise_overflow_error():
    with pytest.raises(OverflowError):
        xp.asarray(300, dtype=xp.uint8)
    with pytest.raises(OverflowError):
        xp.asarray(1, dtype=xp.int8) + 300


def test_dlpack_round_trip():
    x = xp.asarray([1.0, 2.0])
    assert np.from_dlpack(x).tolist() == [1.0, 2.0]
    assert xp.from_dlpack(x, copy=True).tolist() == [1.0, 2.0]
    device_type, device_id = x.__dlpack_device__()
    assert (int(device_type), int(device_id)) == (1, 0)
