"""Kernels in C++ for special functions on CUDA devices: one launch for a function.

Most call SciPy's own C++ code, xsf, which CuPy's wheel contains since CuPy 14.  The Bessel functions are
the project's own code, ``bessel.cuh``, which any CuPy compiles.  A line of ``KERNELS_IN_CPP`` states a
function: the types of its loops in NumPy's letters, the header, and the function in C++.  Where CuPy
lacks the header, ``_substitutes`` may have a kernel.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage.special import COMPILED, inexact_type, not_in_cupy, special_operand

if TYPE_CHECKING:
    from .._util.array_types import Namespace

OWN = Path(__file__).with_name("bessel.cuh")
KERNELS_IN_CPP = """
    _lambertw          Dld->D           lambertw.h           xsf::lambertw
    _spherical_in      ld->d            bessel.cuh           spherical_i
    _spherical_jn      ld->d            bessel.cuh           spherical_j
    _spherical_kn      ld->d,lD->D      bessel.cuh           spherical_k
    _spherical_yn      ld->d            bessel.cuh           spherical_y
    agm                dd->d            agm.h                xsf::agm
    airy               d->dddd          cephes/airy.h        xsf::cephes::airy
    besselpoly         ddd->d           cephes/besselpoly.h  xsf::cephes::besselpoly
    dawsn              d->d,D->D        erf.h                xsf::dawsn
    ellipe             d->d             cephes/ellpe.h       xsf::cephes::ellpe
    erfc               d->d,D->D        erf.h                xsf::erfc
    erfcx              d->d,D->D        erf.h                xsf::erfcx
    erfi               d->d,D->D        erf.h                xsf::erfi
    fresnel            d->dd            cephes/fresnl.h      xsf::cephes::fresnl
    hankel1            dd->D            bessel.cuh           hankel_1
    hankel1e           dd->D            bessel.cuh           hankel_1e
    hankel2            dd->D            bessel.cuh           hankel_2
    hankel2e           dd->D            bessel.cuh           hankel_2e
    hyp1f1             ddd->d           cephes/hyperg.h     xsf::cephes::hyperg
    hyp2f1             dddd->d          hyp2f1.h             xsf::hyp2f1
    iv                 dd->d            bessel.cuh           bessel_i
    ive                dd->d            bessel.cuh           bessel_ie
    jv                 dd->d            bessel.cuh           bessel_j
    jve                dd->d            bessel.cuh           bessel_j
    kn                 ld->d            bessel.cuh           bessel_k
    kv                 dd->d            bessel.cuh           bessel_k
    kve                dd->d            bessel.cuh           bessel_ke
    log_wright_bessel  ddd->d           wright_bessel.h      xsf::log_wright_bessel
    nrdtrimn           ddd->d           stats.h              xsf::nrdtrimn
    owens_t            dd->d            stats.h              xsf::owens_t
    spence             d->d,D->D        spence.h             xsf::spence
    tklmbda            dd->d            stats.h              xsf::tukeylambdacdf
    voigt_profile      ddd->d           erf.h                xsf::voigt_profile
    wofz               D->D             erf.h                xsf::wofz
    yv                 dd->d            bessel.cuh           bessel_y
    yve                dd->d            bessel.cuh           bessel_y
"""
DTYPES = {"d": "float64", "l": "int64", "D": "complex128"}


class KernelInCpp:
    """A special function for CuPy's data that is written in C++, in a header which CuPy brings along.

    header, function : the header that defines the C++ function, and its name.  loops : a pair (types of
    the inputs, types of the results) in NumPy's letters for each dtype that the function accepts.
    """

    def __init__(self, line: str) -> None:
        self.name, types, self.header, self.function = line.split()
        self.loops = [loop.split("->") for loop in types.split(",")]

    def bind(self, xp: Namespace) -> Any:
        """Return the function of CuPy's data, or None if the installed CuPy lacks the header."""
        if (
            getattr(xp.cupy, "ElementwiseKernel", None) is None
        ):  # a stand-in for CuPy in tests compiles nothing
            return None
        known = files("cupy") / "_core" / "include" / "cupy" / "xsf" / self.header
        if self.header != OWN.name and not known.is_file():
            return None
        return functools.partial(self.launch, xp=xp)

    def launch(self, *operands: Any, xp: Namespace) -> Any:
        """Return the function's value, computed in double precision on the GPU.

        The first loop, the variant of the function for certain dtypes, is used; for complex data the
        first with complex inputs.  The result is cast to single precision if the operands have it.
        """
        arrays = [x for x in operands if hasattr(x, "dtype")]
        scalars = [x for x in operands if not hasattr(x, "dtype")]
        wanted = inexact_type(*[x.dtype for x in arrays if x.dtype.kind in "fc"], *scalars)
        loops = [x for x in self.loops if "D" in x[0]] if wanted.kind == "c" else self.loops
        if not loops:
            raise TypeError(not_in_cupy(f"special.{self.name} of complex data", xp))
        inputs, outputs = loops[0]
        given = [
            special_operand(x.real if letter != "D" else x, DTYPES[letter], arrays, xp)
            for letter, x in zip(inputs, operands, strict=True)
        ]
        found = elementwise_kernel(xp.cupy, self, inputs, outputs)(*given)
        if np.finfo(wanted).bits > 32:
            return found
        parts = found if isinstance(found, tuple) else (found,)
        cast = [xp.astype(x, xp.complex64 if x.dtype.kind == "c" else xp.float32) for x in parts]
        return tuple(cast) if isinstance(found, tuple) else cast[0]


@functools.cache
def elementwise_kernel(cupy: ModuleType, kernel: KernelInCpp, inputs: str, outputs: str) -> Any:
    """Return CuPy's ElementwiseKernel for a function in C++ and one combination of dtypes (loop)."""
    # On the host's side of CuPy std::complex is another type than CuPy's complex.
    complex_of = (
        "std::complex<double>({0}.real(), {0}.imag())" if "::" in kernel.function else "{0}"
    )
    names = "abcd"[: len(inputs)]
    given = [complex_of.format(x) if k == "D" else x for k, x in zip(inputs, names, strict=True)]
    results = [f"r{i}" for i in range(len(outputs))]
    if len(results) > 1:
        call = f"{kernel.function}({', '.join([*given, *[f'&{r}' for r in results]])})"
    else:
        call = f"auto r = {kernel.function}({', '.join(given)}); r0 = "
        call += "complex<double>(r.real(), r.imag())" if outputs == "D" else "r"
    own = kernel.header == OWN.name
    return cupy.ElementwiseKernel(
        ", ".join(f"{DTYPES[k]} {x}" for k, x in zip(inputs, names, strict=True)),
        ", ".join(f"{DTYPES[k]} {x}" for k, x in zip(outputs, results, strict=True)),
        call,
        f"arraytape_{kernel.name}_{inputs}",
        True,  # reduce_dims, as by default
        OWN.read_text() if own else f"#include <cupy/xsf/{kernel.header}>",
    )


for _line in KERNELS_IN_CPP.strip().splitlines():
    _kernel = KernelInCpp(_line)
    COMPILED[_kernel.name] = _kernel.bind
