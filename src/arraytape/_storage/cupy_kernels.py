"""CUDA kernels of the CuPy storage, for work that CuPy's own functions do in several launches or waits.

The time of a small step on a GPU depends on the number of launches.  ``Fused`` makes one kernel of a
Python function of elementwise array code.  The kernels in ``CuPyKernels`` are written in CUDA C++,
because their work is not elementwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from .._util.decision_log import log_decision
from .._util.errors import user_line
from .cupy_correlations import Sizes, windows_source

TYPES = "ABCDEFGHIJKLMNOP"  # CuPy's placeholders for dtypes are single capitals
NUMBERS = int, float, complex, np.generic
WIDE: dict[type, type] = {int: np.int64, float: np.float64, complex: np.complex128}
SINGLE = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}
MOST_PARTS = len(TYPES)  # arrays that one launch checks for NaN


# The most elements for each extreme whose ties are counted by one thread, and the most elements.
MOST_TIES, MOST_COUNTED = 1 << 10, 1 << 16
MOST_SUMMED = 1 << 15  # for more elements, CuPy's sum may be faster than that of a fused kernel

# Kernels of writes ``data[index] = value``, where ``index`` holds numbers of rows, perhaps repeated.
# There is one thread for each element i of the value.
FEW = 128  # up to so many indices, each thread compares its index with all later ones
# Code that computes ``row``, the row to which the thread writes, and ``place``, the flat index of the
# element in data.  ``length`` is the number of elements of a row.  As in CuPy, an index out of range
# wraps around.
GIVEN = "raw I index, int64 rows, int64 length"
PLACE = """
long long row = index[i / length] % rows;
if (row < 0) row += rows;
ptrdiff_t place = row * length + i % length;
"""
# Code that sets ``lost`` to true if a later element of the value is written to the same place.  For more
# than FEW indices, the kernel ``winners`` has noted the number of the last element for each place.
LOST = """
lost = !few && winners[place] != i + 1;
for (ptrdiff_t k = few ? i / length + 1 : index.size(); k < index.size(); ++k) {
    long long other = index[k] % rows;
    lost = lost || (other < 0 ? other + rows : other) == row;
}
"""

# The random generator Philox4x64-10 of Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2,
# 3".  As in NumPy, block number n is computed from the counter n + 1, and gives four words of 64 bits.
HIGH_WORD = """
__device__ unsigned long long high_word(unsigned long long a, unsigned long long b) {
    unsigned long long low = 0xFFFFFFFFULL, cross = (a >> 32) * (b & low);
    unsigned long long carried = (a & low) * (b >> 32) + (((a & low) * (b & low)) >> 32);
    carried += cross & low;
    return (a >> 32) * (b >> 32) + (cross >> 32) + (carried >> 32);
}
"""
PHILOX = """
unsigned long long c[4] = {(unsigned long long)(i / 4 + 1), 0, 0, 0};
unsigned long long k[2] = {key0, key1};
const unsigned long long first = 0xD2E7470EE14C6C93ULL, second = 0xCA5A826395121157ULL;
for (int round = 0; round < 10; ++round) {
    unsigned long long high0 = high_word(first, c[0]), high1 = high_word(second, c[2]);
    unsigned long long low0 = first * c[0], low1 = second * c[2];
    c[0] = high1 ^ c[1] ^ k[0];
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ k[1];
    c[3] = low0;
    k[0] += 0x9E3779B97F4A7C15ULL;
    k[1] += 0xBB67AE8584CAA73BULL;
}
number = (double)(c[i % 4] >> 11) * (1.0 / 9007199254740992.0);
"""


class Fused:
    """A function of elementwise array code, compiled to one kernel by ``cupy.fuse``.

    plain : the Python function, which is called where CuPy cannot fuse it, as for code that reads a
    shape.  refused : the tuples of the operands' dtypes (or number types) that CuPy could not fuse.
    single : a second kernel, with results in single precision, for such arrays with Python numbers.
    """

    def __init__(self, cupy: ModuleType, plain: Callable[..., Any]) -> None:
        self.plain = plain
        self.kernel = cupy.fuse(plain)
        self.refused: set[tuple[Any, ...]] = set()
        self.single = cupy.fuse(in_single_precision(plain))

    def __call__(self, *operands: Any) -> Any:
        if self.refused and layouts_of(operands) in self.refused:
            return self.plain(*operands)
        kernel, wide = self.kernel, False
        if any(isinstance(x, NUMBERS) for x in operands):
            # CuPy 14 computes with the operands 0.3 and 2 in float16 and int8 until they meet an array,
            # and CuPy 13 gives the results their dtype.  So numbers are in double precision here.
            dtypes = {x.dtype for x in operands if not isinstance(x, NUMBERS)} - {np.dtype(bool)}
            if set() < dtypes <= set(SINGLE.values()):
                kernel = self.single
            elif not set() < dtypes <= set(SINGLE):
                return self.plain(*operands)
            wide = True
        try:
            if wide:  # raises OverflowError for an int of more than 64 bits, which runs op by op
                return kernel(*[WIDE[type(x)](x) if type(x) in WIDE else x for x in operands])
            return kernel(*operands)
        except Exception as error:  # CuPy raises errors of many types if it cannot fuse
            found = self.plain(*operands)
            self.refused.add(layouts_of(operands))
            name = getattr(self.plain, "__name__", "a function")
            log_decision("CuPy cannot fuse %s, which runs op by op: %r", name, error)
            return found


def in_single_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with results of float64 and complex128 cast to float32 and complex64."""

    def cast(x: Any) -> Any:
        to = SINGLE.get(np.dtype(x.dtype)) if hasattr(x, "dtype") else None
        return x if to is None else x.astype(to)

    def cast_results(*operands: Any) -> Any:
        found = function(*operands)
        return tuple(map(cast, found)) if isinstance(found, tuple) else cast(found)

    cast_results.__name__ = getattr(function, "__name__", "cast_results")
    return cast_results


def sum_of(
    cupy: ModuleType, function: Callable[..., Any], axes: tuple[int, ...]
) -> Callable[..., Any]:
    """Return the function whose result is that of ``function``, summed over ``axes``."""

    def compute_sum(*operands: Any) -> Any:
        found = function(*operands)
        return None if found is None else cupy.sum(found, axis=axes)

    compute_sum.__name__ = f"sum_of_{function.__name__}"
    return compute_sum


def layouts_of(operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return a tuple with the dtype of each operand, or the type of a Python number."""
    return tuple([getattr(x, "dtype", type(x)) for x in operands])


class CuPyKernels:
    """The kernels that are written in CUDA C++, and the functions that launch them.

    CuPy compiles a kernel at its first launch.
    """

    def __init__(self, cupy: ModuleType) -> None:
        self.cupy = cupy
        self.fused = cache(self.make_fused)
        self.nan_flag = cache(self.make_nan_flag)
        self.copied_windows = cache(self.make_windows)
        self.determinant = cache(self.make_determinant)
        self.others = self.make_others()
        self.winners = cupy.ElementwiseKernel(
            GIVEN,
            "raw uint64 winners",
            f"{PLACE} atomicMax(&winners[place], (unsigned long long)(i + 1));",
            "arraytape_winners",
        )
        self.last_writes = cupy.ElementwiseKernel(
            f"{GIVEN}, raw uint64 winners, bool few, raw V value",
            "bool lost, raw T data",
            f"{PLACE} {LOST} if (!lost) data[place] = static_cast<T>(value[i]);",
            "arraytape_last_writes",
        )
        self.philox = cupy.ElementwiseKernel(
            "uint64 key0, uint64 key1",
            "float64 number",
            PHILOX,
            "arraytape_philox",
            True,  # reduce_dims, the default
            HIGH_WORD,
        )
        self.along = cupy.ElementwiseKernel(
            "raw T x, I index, int64 n, int64 count",
            "T found",
            "long long k = index % n; found = x[i / count * n + (k < 0 ? k + n : k)];",
            "arraytape_take_along",
        )
        self.ties = cupy.ElementwiseKernel(
            "raw T x, T extreme, int32 n",
            "T ties",
            """
            bool missing = extreme != extreme;
            ties = -1;
            if (missing ? x[i] != x[i] : x[i] == extreme) {
                int count = 0;
                for (ptrdiff_t k = i / n * n; k < i / n * n + n; ++k)
                    count += missing ? x[k] != x[k] : x[k] == extreme;
                ties = T(count);
            }
            """,
            "arraytape_ties",
        )
        self.taken = cupy.ElementwiseKernel(
            f"{GIVEN}, bool lost",
            "T part, raw T data",
            f"{PLACE} part = lost ? T(0) : data[place]; if (!lost) data[place] = T(0);",
            "arraytape_taken",
        )

    def make_fused(
        self, function: Callable[..., Any], axes: tuple[int, ...] = ()
    ) -> Callable[..., Any]:
        """Return ``function`` as one kernel that sums the result over axes: see ``Storage.fused``."""
        whole = Fused(self.cupy, function)
        if not axes:
            return whole
        kernel = Fused(self.cupy, sum_of(self.cupy, function, axes))

        def call_summed(*operands: Any) -> Any:
            if max([getattr(x, "size", 1) for x in operands]) <= MOST_SUMMED:
                return kernel(*operands)
            found = whole(*operands)
            return None if found is None else self.cupy.sum(found, axis=axes)

        return call_summed

    def make_nan_flag(self, count: int) -> Any:
        """Return the kernel that sets a flag to True if one of ``count`` arrays holds a NaN."""
        given = [f"raw {TYPES[i]} x{i}, int64 n{i}" for i in range(count)]
        checks = [f"if (i < n{i} && x{i}[i] != x{i}[i]) flag[0] = true;" for i in range(count)]
        return self.cupy.ElementwiseKernel(
            ", ".join(given), "raw bool flag", "\n".join(checks), f"arraytape_nan_flag_{count}"
        )

    def any_nan(self, parts: Sequence[Any]) -> bool:
        """Return True if one of the arrays, all on the current device, holds a NaN.

        There is one launch for 16 arrays, and one copy to the host.  Threads may set the flag at once,
        because all of them write the same value.  While a stream captures, the flag has no value.
        """
        parts = [part for part in parts if part.size]
        if not parts:
            return False
        if self.cupy.cuda.get_current_stream().is_capturing():
            raise RuntimeError(
                "pass nan='keep' to gradient, or use xp.function in place of a capture: a check for NaN "
                f"copies its result to the host, and the stream captures [at {user_line()}]"
            )
        flag = self.cupy.zeros(1, dtype=bool)
        for start in range(0, len(parts), MOST_PARTS):
            some = parts[start : start + MOST_PARTS]
            sizes = [part.size for part in some]
            given = [one for pair in zip(some, sizes, strict=True) for one in pair]
            self.nan_flag(len(some))(*given, flag, size=max(sizes))
        return bool(self.cupy.asnumpy(flag)[0])

    def make_determinant(self, kind: str) -> Any:
        """Return the kernel that computes determinants from LU factors, with one thread for each matrix.

        It returns the sign, the logarithm of the absolute value, and the value of the determinant.
        kind : "f" or "c", the kind of the matrices' dtype.
        """
        turn = "sign = d / r * sign" if kind == "c" else "sign = d < 0 ? -sign : sign"
        return self.cupy.ElementwiseKernel(
            "raw T lu, raw int32 pivots, int32 info, int32 n",
            "T sign, R size, T determinant",
            f"""
            sign = 1;
            size = 0;
            for (int k = 0; k < n; ++k) {{
                T d = lu[(i * n + k) * n + k];
                R r = abs(d);
                size += log(r);
                {turn};
                if (pivots[i * n + k] != k + 1) sign = -sign;
            }}
            if (info > 0 && size == size) {{  // a NaN remains
                sign = 0;
                size = log(R(0));
            }}
            determinant = sign * R(exp(size));
            """,
            "arraytape_determinant",
        )

    def determinants(self, x: Any) -> tuple[Any, Any, Any]:
        """Return the sign, the logarithm of the absolute value, and the value of the determinants of x.

        x : one matrix, or a stack of matrices.
        """
        cupy, shape = self.cupy, x.shape[:-2]
        lu, pivots, info = cupy.linalg._decomposition._lu_factor(x, x.dtype)
        reals = x.real.dtype
        outs = [cupy.empty(info.shape, dtype) for dtype in (x.dtype, reals, x.dtype)]
        self.determinant(x.dtype.kind)(lu, pivots, info, x.shape[-1], *outs)
        sign, size, determinant = [out.reshape(shape) for out in outs]
        return sign, size, determinant

    def make_others(self) -> Any:
        """Return the kernel of ``products_of_others``, whose threads compute one element each."""
        return self.cupy.ElementwiseKernel(
            "raw R row, raw T factor, int32 n",
            "T product",
            """
            ptrdiff_t first = i / n * n;
            R others = 1;
            for (int k = 0; k < n; ++k)
                if (first + k != i) others *= row[first + k];
            product = factor[i / n] * others;
            """,
            "arraytape_products_of_others",
        )

    def products_of_others(self, rows: Any, factors: Any) -> Any:
        """Return for each element the product of the other elements of its row, times the row's factor.

        The cofactors of a matrix need such products of its singular values.

        rows : shape (..., n).  factors : a number for each row, of shape (...).
        """
        found = self.cupy.empty(rows.shape, factors.dtype)
        self.others(rows, factors, rows.shape[-1], found)
        return found

    def tie_counts(self, x: Any, y: Any, axes: tuple[int, ...]) -> Any:
        """Return the numbers of ``Storage.tie_counts``: each tied element's thread counts its row."""
        count = math.prod([x.shape[axis] for axis in axes])
        order = (*(axis for axis in range(x.ndim) if axis not in axes), *axes)
        ties = self.cupy.empty(x.shape, x.dtype)
        self.ties(x.transpose(order), y.transpose(order), count, ties.transpose(order))
        return ties

    def take_along(self, x: Any, indices: Any, axis: int) -> Any:
        """Return ``take_along_axis(x, indices, axis=axis)``, for which CuPy launches four kernels."""
        at = axis % x.ndim
        order = (*range(at), *range(at + 1, x.ndim), at)  # the axis last
        x, indices = x.transpose(order), indices.transpose(order)
        rows = np.broadcast_shapes(x.shape[:-1], indices.shape[:-1])
        n, count = x.shape[-1], indices.shape[-1]
        found = self.cupy.empty((*rows[:at], count, *rows[at:]), x.dtype)
        if found.size and not n:
            raise IndexError("cannot take elements along an empty axis")
        x, indices = (self.cupy.broadcast_to(a, (*rows, a.shape[-1])) for a in (x, indices))
        self.along(x, indices, n, count, found.transpose(order))
        return found

    def make_windows(self, axes: int) -> Any:
        """Return the kernel that copies the windows of data along its last axes but one."""
        parameters, code = windows_source(axes)
        return self.cupy.ElementwiseKernel(parameters, "T part", code, f"arraytape_windows_{axes}")

    def windows(
        self, data: Any, batch: Sizes, places: Sizes, sizes: Sizes, steps: tuple[Sizes, ...]
    ) -> Any:
        """Return all windows of data as an array of shape (*batch, *places, *sizes, channels).

        steps : the scale, rate, offset and divisor along each axis: see ``windows_source``.
        """
        axes = len(places)
        lengths, channels = data.shape[-1 - axes : -1], data.shape[-1]
        found = self.cupy.empty((*batch, *places, *sizes, channels), data.dtype)
        numbers = zip(lengths, sizes, places, *steps, strict=True)
        self.copied_windows(axes)(data, channels, *itertools.chain(*numbers), found)
        return found

    # --- writes at indices, of which several may be equal ------------------------------------------
    def write_last(self, data: Any, index: Any, value: Any) -> Any:
        """Do ``data[index] = value`` so that the last of several values for one row remains.

        Return a mask of the elements of ``value`` that others replaced.  index : the indices of rows.
        """
        cupy, shape = self.cupy, (*index.shape, *data.shape[1:])
        layout = index, data.shape[0], math.prod(data.shape[1:])
        few = index.size <= FEW
        winners = cupy.zeros(1 if few else data.size, np.uint64)
        lost = cupy.empty(shape, bool)
        if not lost.size:
            return lost
        if not few:
            self.winners(*layout, winners, size=lost.size)
        value = cupy.broadcast_to(value, shape)
        self.last_writes(*layout, winners, few, value, lost, data)
        return lost

    def take_written(self, data: Any, index: Any, lost: Any) -> Any:
        """Return the cotangent of v in ``x[index] = v``; set that of x, in ``data``, to 0 there."""
        part = self.cupy.empty(lost.shape, data.dtype)
        if part.size:
            self.taken(index, data.shape[0], math.prod(data.shape[1:]), lost, part, data)
        return part

    def copy(self, data: Any) -> Any:
        """Return a copy of C-contiguous data on the current device, without a kernel."""
        found = self.cupy.empty(data.shape, data.dtype)
        found.data.copy_from_device_async(data.data, data.nbytes)
        return found

    def uniforms(self, key: tuple[int, int], shape: tuple[int, ...]) -> Any:
        """Return the same random numbers in [0, 1) as NumPy's generator ``Philox(key=key)``."""
        found = self.cupy.empty(shape, np.float64)
        if found.size:
            self.philox(np.uint64(key[0]), np.uint64(key[1]), found)
        return found
