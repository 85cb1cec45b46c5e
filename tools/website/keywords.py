"""Words that readers search for, with the page that answers each: entries of the site's index.

Sphinx' search ranks such an entry above each page that merely contains the word.
"""

from __future__ import annotations

KEYWORDS = {
    "howto/install": "install, installation, pip, conda, requirements, extras, offline",
    "howto/upgrade": "upgrade, upgrading, migrate, migration, breaking changes",
    "howto/routes": "route, routes",
    "howto/devices": "cupy, gpu, cuda, device",
    "howto/pandas": "pandas, polars, dataframe, series, table",
    "howto/tapes": "tape, tapes, watch, variable, persistent, pytree, nesting",
    "howto/none": "none, disconnected",
    "howto/nan": "nan, inf, infinite",
    "howto/slow": "slow, profile, profiler",
    "howto/memory": "memory, checkpointing, rematerialization",
    "howto/threads": "thread, threads, joblib, multiprocessing, asyncio",
    "howto/numpy": "numpy, ndarray",
    "howto/interop": "scipy, lapack",
    "howto/estimators": "estimator, estimators, ridge, logisticregression",
    "howto/odes": "ode, solve_ivp, differential equation",
    "howto/implicit": "solver, fixed point, root finding",
    "howto/functional": "functional, derivatives as functions, torch.func",
    "howto/errors": "error, errors, warning, warnings, exception",
    "howto/benchmarks": "benchmark, benchmarks, performance",
    "howto/watch": "dashboard, dashboards, asv, regression",
    "howto/testing_your_library": "test, tests, testing, pytest, gradcheck, finite differences",
    "howto/recipes": "einops, tensorly, autoray",
    "tutorials/first_gradient": "tutorial, quickstart, getting started",
    "tutorials/pipeline": "sklearn, scikit-learn, pipeline",
    "tutorials/fitting": "fit, fitting, least squares",
    "tutorials/from_gradient_tape": "tensorflow, tf, keras, gradienttape",
    "tutorials/from_torch_jax_autograd": "jax, pytorch, torch, autograd",
    "tutorials/replay": "jit, compile, compiled, tracing",
    "tutorials/training": "training, neural network, layers, optimizer, checkpoint",
    "tutorials/uncertainty": "uncertainty, standard error, covariance",
    "tutorials/your_own_op": "custom gradient, numba",
    "tutorials/distributed": "dask, distributed, cluster",
}


def with_keywords(page: str, text: str) -> str:
    """Return the Markdown text of a page with its index entries behind the title."""
    if page not in KEYWORDS:
        return text
    title, _, rest = text.partition("\n")
    entries = ", ".join(f"! {word}" for word in KEYWORDS[page].split(", "))
    return f"{title}\n\n```{{index}} {entries}\n```\n{rest}"
