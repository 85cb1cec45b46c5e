"""Calls of xarray, whose DataArrays wrap Arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data import normal, uniform
from ..facts import NAMESPACE, Call, Library, call

X, Y = uniform(3, 4), normal(3, 4)
LABELS = {"site": list("aba"), "time": np.asarray([0.0, 1.0, 2.5, 3.0])}


def labelled(name: str, function: Callable[..., Any], *inputs: Any) -> Call:
    """Return a Call of ``function``, whose inputs are DataArrays with the dimensions site and time."""

    def run(*arrays: Any) -> Any:
        import xarray as xr

        return function(
            *[xr.DataArray(x, dims=("site", "time"), coords=LABELS) for x in arrays]
        ).data

    return call(run, *inputs, name=name)


def module() -> Any:
    import xarray

    return xarray


CALLS = [
    labelled("x * y - y / x", lambda x, y: x * y - y / x, X, Y),
    *(
        labelled(name, lambda x, name=name: getattr(x, name)("time"), X)
        for name in ("sum", "mean", "var", "std", "prod", "max", "median", "cumsum", "cumprod")
    ),
    labelled("var, ddof=1", lambda x: x.var("time", ddof=1), X),
    labelled("quantile", lambda x: x.quantile(0.3, dim="time"), X),
    labelled("where", lambda x, y: x.where(x > y, y), X, Y),
    labelled("clip", lambda x: x.clip(0.3, 0.8), X),
    labelled("fillna", lambda x: x.fillna(0.0), X),
    labelled("sel", lambda x: x.sel(time=2.5), X),
    labelled("isel", lambda x: x.isel(time=[0, 2]), X),
    labelled("groupby", lambda x: x.groupby("site").mean(), X),
    labelled("groupby_bins", lambda x: x.groupby_bins("time", [-1, 1, 4]).mean(), X),
    labelled("rolling", lambda x: x.rolling(time=2).mean().isel(time=slice(1, None)), X),
    labelled("coarsen", lambda x: x.coarsen(time=2).mean(), X),
    labelled("weighted.mean", lambda x, y: x.weighted(y * y).mean("time"), X, Y),
    labelled("weighted.var", lambda x, y: x.weighted(y * y).var("time"), X, Y),
    labelled("weighted.quantile", lambda x: x.weighted(x * 0.0 + 1.0).quantile(0.3, dim="time"), X),
    labelled("shift", lambda x: x.shift(time=1, fill_value=0.0), X),
    labelled("roll", lambda x: x.roll(time=1), X),
    labelled("diff", lambda x: x.diff("time"), X),
    labelled("differentiate", lambda x: x.differentiate("time"), X),
    labelled("integrate", lambda x: x.integrate("time"), X),
    labelled("cumulative_integrate", lambda x: x.cumulative_integrate("time"), X),
    labelled("pad", lambda x: x.pad(time=1, mode="edge"), X),
    labelled("interp", lambda x: x.interp(time=[0.5, 2.0]), X),
    labelled("interpolate_na", lambda x: x.interpolate_na("time"), X),
    labelled("ffill", lambda x: x.ffill("time"), X),
    labelled("rank", lambda x: x.rank("time"), X),
    labelled("polyfit", lambda x: x.polyfit("time", 1).polyfit_coefficients, X),
    labelled("dot", lambda x, y: x.dot(y, dim="time"), X, Y),
    labelled("concat", lambda x, y: module().concat([x, y], "time"), X, Y),
    labelled("cov", lambda x, y: module().cov(x, y, "time"), X, Y),
    labelled("corr", lambda x, y: module().corr(x, y, "time"), X, Y),
    labelled(
        "polyval",
        lambda x: module().polyval(
            x.time, x.rename(time="degree").assign_coords(degree=[0, 1, 2, 3])
        ),
        X,
    ),
    labelled("apply_ufunc", lambda x: module().apply_ufunc(np.exp, x), X),
    labelled("transpose", lambda x: x.transpose("time", "site"), X),
    labelled("stack", lambda x: x.stack(both=("time", "site")), X),
    labelled("sortby", lambda x: x.sortby("site"), X),
    labelled("expand_dims", lambda x: x.expand_dims("new"), X),
]
REASONS = {
    "weighted.quantile": "xarray calls `apply_ufunc(vectorize=True)`, which converts to NumPy",
    "interp": "xarray calls SciPy's C code",
    "interpolate_na": "xarray calls `np.interp` on NumPy data",
    "ffill": "bottleneck's C code",
    "rank": "bottleneck's C code; ranks have no derivative",
}
LIBRARY = Library("xarray", "xarray", NAMESPACE, CALLS, reasons=REASONS, recipe="xarray")
