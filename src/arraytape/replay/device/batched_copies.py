"""Kernels that read many arrays in one launch, which costs microseconds: copies, and a check for NaN."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

MOST = 20  # the maximum number of pairs in one launch, because a kernel's parameters have 4 KB


@lru_cache(maxsize=256)
def copying_kernel(dtypes: tuple[str, ...]) -> Any:
    """Return a GPU kernel that copies several arrays of these dtypes in one launch.

    Its arguments are the sources, the targets, and ``size``, the number of elements of the largest
    array.
    """
    import cupy

    sources = [f"raw {dtype} x{i}" for i, dtype in enumerate(dtypes)]
    targets = [f"raw {dtype} y{i}" for i, dtype in enumerate(dtypes)]
    lines = [f"if (i < x{k}.size()) y{k}[i] = x{k}[i];" for k in range(len(dtypes))]
    return cupy.ElementwiseKernel(
        ", ".join(sources), ", ".join(targets), "\n".join(lines), "arraytape_copy"
    )


def copy_all(sources: Sequence[Any], targets: Sequence[Any]) -> None:
    """Copy GPU arrays into arrays of the same shapes and dtypes, in as few launches as possible."""
    pairs = [(x, y) for x, y in zip(sources, targets, strict=True) if x.size]
    for start in range(0, len(pairs), MOST):
        part = pairs[start : start + MOST]
        kernel = copying_kernel(tuple([x.dtype.name for x, _ in part]))
        kernel(*[x for x, _ in part], *[y for _, y in part], size=max(x.size for x, _ in part))


@lru_cache(maxsize=256)
def checking_kernel(dtypes: tuple[str, ...]) -> Any:
    """Return a GPU kernel that sets ``flag[0]`` to 1 if one of several arrays has a NaN.

    Its arguments are the arrays, whose dtypes are ``dtypes``, and ``flag``.
    """
    import cupy

    lines = [f"if (i < x{k}.size() && x{k}[i] != x{k}[i]) flag[0] = 1;" for k in range(len(dtypes))]
    return cupy.ElementwiseKernel(
        ", ".join(f"raw {dtype} x{k}" for k, dtype in enumerate(dtypes)),
        "raw int32 flag",
        "\n".join(lines),
        "arraytape_nan_check",
    )


def flag_nan(values: Sequence[Any], flag: Any) -> None:
    """Set ``flag``, a GPU array of one int32, to 1 if one of the arrays has a NaN, else to 0."""
    flag.data.memset_async(0, flag.nbytes)
    values = [x for x in values if x.size]
    for start in range(0, len(values), MOST):
        part = values[start : start + MOST]
        kernel = checking_kernel(tuple([x.dtype.name for x in part]))
        kernel(*part, flag, size=max(x.size for x in part))
