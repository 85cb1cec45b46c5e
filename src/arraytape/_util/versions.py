"""The version of the running NumPy, and a list of versions for reports of bugs."""

from __future__ import annotations

import numpy as np

NUMPY = tuple([int(part) for part in np.__version__.split(".")[:2]])
# The distributions that arraytape can use, or whose code is often differentiated.
PACKAGES = (
    "arraytape", "numpy", "array-api-compat", "scipy", "scikit-learn", "array-api-extra", "pandas",
    "polars", "llvmlite", "safetensors", "dask", "cupy-cuda12x", "cupy-cuda13x", "torch", "jax",
)  # fmt: skip


def show_versions() -> None:
    """Print the versions of Python, the system, arraytape and the libraries that it can use.

    ``python -m arraytape`` prints the same.  A report of a bug should contain this list.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.show_versions()  # doctest: +ELLIPSIS
    python            ...
    """
    import os
    import platform
    from importlib import metadata

    found = {"python": platform.python_version(), "system": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    libraries = np.show_config(mode="dicts")["Build Dependencies"]
    found["BLAS of numpy"] = " ".join([str(libraries["blas"].get(x)) for x in ("name", "version")])
    for name in ("SCIPY_ARRAY_API", "OMP_NUM_THREADS"):
        found[name] = os.environ.get(name, "not set")
    for name, value in found.items():
        print(f"{name:17} {value}")
