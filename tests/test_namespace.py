"""The namespace against the text of the array API standard, 2025.12."""

import importlib
import inspect
import math
import pickle
import subprocess
import sys
import types

import array_api_strict
import numpy as np
import pytest

import arraytape as xp
from helpers.standard import (
    ATTRIBUTES,
    COMPARISONS,
    DTYPES,
    FUNCTIONS,
    METHODS,
    NAMES,
    OPERATORS,
    SIZES,
    STANDARD,
    UNARY,
    found,
)
from status import public_names


# --- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("chapter", "size"), SIZES.items())
def test_the_lists_of_names_are_complete(chapter, size):
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


# --- signatures -----------------------------------------------------------------------------------

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


# --- named tuples ---------------------------------------------------------------------------------
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


# --- inspection -----------------------------------------------------------------------------------
def test_capabilities_are_true():
    capabilities = xp.__array_namespace_info__().capabilities()
    assert capabilities == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    xp.ones((1,) * 64)
    with pytest.raises(ValueError, match="dim"):
        xp.ones((1,) * 65)


def test_arrays_lie_on_the_default_device_which_is_one_of_the_devices():
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


def test_dtypes_are_listed_by_kind():
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


# --- other processes find what is public ------------------------------------------------------------
PUBLIC = [name.removeprefix("arraytape.") for name in public_names.listed()]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_function_is_pickled_by_its_name(name):
    home, value = None, xp
    for part in name.split("."):
        home, value = value, getattr(value, part)
    if isinstance(value, types.FunctionType | type) and isinstance(home, types.ModuleType):
        assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize("name", ["linalg", "fft"])
def test_an_extension_is_imported_by_its_name(name):
    program = f"import arraytape.{name} as m, arraytape as xp; assert m is xp.{name}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert importlib.import_module(f"arraytape.{name}") is getattr(xp, name)
    assert all(f.__module__ in ("arraytape", f"arraytape.{name}") for f in functions_of(name))


def functions_of(name):
    module = getattr(xp, name)
    return [
        f for f in map(module.__dict__.get, module.__all__) if isinstance(f, types.FunctionType)
    ]


def test_a_users_op_belongs_to_the_users_module():
    assert xp.define_op("op_of_this_module", twice).__module__ == __name__


def twice(x):
    return x + x
