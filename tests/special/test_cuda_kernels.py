"""Kernels in C++ for CuPy: the project's own code, compiled for the host, gives SciPy's values."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special

import arraytape as xp
from arraytape._storage.special import COMPILED, CuPySpecial, of_scipy
from arraytape.special import FUNCTIONS
from arraytape.special._cuda_kernels import KERNELS_IN_CPP, OWN, KernelInCpp
from helpers.fake_cupy import FACTS

KERNELS = [KernelInCpp(line) for line in KERNELS_IN_CPP.strip().splitlines()]
ORDERS = [0.0, 0.3, 0.5, 1.0, 1.7, 2.0, 5.0, 10.5, 30.0, 47.1, -0.3, -0.5, -1.0, -1.7, -7.0]
POINTS = [1e-8, 1e-3, 0.1, 0.9, 1.0, 2.0, 5.0, 12.5, 30.5, 47.0, 99.0, 300.0, 1e4]
REAL = ["iv", "ive", "jv", "jve", "kv", "kve", "yv", "yve"]
SPHERICAL = ["_spherical_in", "_spherical_jn", "_spherical_kn", "_spherical_yn"]
HEAD = """
#include <cmath>
#include <complex>
#define __device__
using namespace std;
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("kernels")
    source = HEAD + OWN.read_text()
    for kernel in KERNELS:
        if kernel.name in REAL + SPHERICAL:
            source += f"""
extern "C" void f_{kernel.name}(int n, const double *v, const double *x, double *r) {{
    for (int i = 0; i < n; ++i) r[i] = {kernel.function}(v[i], x[i]);
}}"""
    (folder / "bessel.cpp").write_text(source)
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", "bessel.so", "bessel.cpp"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "bessel.so"))


def values(library, name, v, x):
    v, x = [np.ascontiguousarray(a).ravel() for a in np.broadcast_arrays(v, x)]
    found = np.empty_like(v)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (v, x, found)]
    getattr(library, f"f_{name}")(v.size, *pointers)
    return v, x, found


@pytest.mark.parametrize("name", REAL)
def test_bessel_functions_of_real_order_are_scipys(name, library):
    v, x, found = values(library, name, np.asarray(ORDERS)[:, None], np.asarray(POINTS))
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(v, x)
        size = abs(expected)
        if name[0] in "jy":  # oscillating functions have the error of their amplitude
            size = np.maximum(size, np.minimum(abs(scipy.special.hankel1(v, x)), 1.0))
        error = abs(found - expected) / np.maximum(size, 1e-290)
    usual = np.isfinite(expected) & (abs(expected) > 1e-290)
    assert np.all(error[usual] < 2e-12)
    assert np.all(np.isinf(found[np.isinf(expected)]))


@pytest.mark.parametrize("name", SPHERICAL)
def test_spherical_bessel_functions_are_scipys(name, library):
    points = np.asarray([0.0, *POINTS[:-1], math.inf])
    n, x, found = values(library, name, np.asarray([0.0, 1.0, 2.0, 5.0, 30.0])[:, None], points)
    expected = of_scipy(name)(n.astype(int), x)
    size = abs(expected)
    if name[-2] in "jy":  # oscillating functions have the error of their amplitude
        size = np.maximum(size, 1.0 / np.maximum(x, 1.0))
    usual = np.isfinite(expected) & (size > 1e-290)
    error = abs(found[usual] - expected[usual]) / size[usual]
    assert np.all(error < 2e-12)
    np.testing.assert_array_equal(found[~usual], expected[~usual])
    assert np.all(np.isnan(values(library, name, -1.0, points)[2]))


@pytest.mark.parametrize("name", REAL)
def test_bessel_functions_outside_of_their_domain_are_nan(name, library):
    _, _, found = values(library, name, 0.3, np.asarray([-1.0, np.nan]))
    assert np.all(np.isnan(found))


def test_each_kernel_is_of_a_function():
    names = {*FUNCTIONS, "_lambertw"}
    for kernel in KERNELS:
        assert kernel.name in names or kernel.name.startswith("_spherical")
        assert COMPILED[kernel.name].__self__.name == kernel.name


def test_a_function_without_kernel_names_the_way_over_the_host():
    xp = SimpleNamespace(cupy=SimpleNamespace(__version__="14.2.0"))
    special = CuPySpecial(xp)
    for name in ("mathieu_a", "wofz"):  # wofz has a kernel, which needs a header of CuPy
        with pytest.raises(
            TypeError, match=rf'special.{name} is not in CuPy 14.2.0: .*to_device\("cpu"\)'
        ):
            special.found_in(SimpleNamespace(), name)


def test_complex_data_is_refused_where_the_kernel_is_real():
    xp = SimpleNamespace(cupy=SimpleNamespace(__version__="14.2.0"))
    kernel = next(k for k in KERNELS if k.name == "jv")
    with pytest.raises(TypeError, match=r"special.jv of complex data is not in CuPy"):
        kernel.launch(1.0, np.asarray([1j]), xp=xp)


@pytest.mark.parametrize("version", FACTS)
def test_dtypes_that_cupys_function_lacks_are_refused_by_name(version, fake_cupy):
    fake_cupy(version=version)
    z = xp.asarray([1j, 2.0], device="cuda:0")
    for name in ("ndtr", "zetac", "i0e"):
        with pytest.raises(TypeError, match=rf"special.{name} of complex128 data is not in CuPy"):
            getattr(xp.special, name)(z)
