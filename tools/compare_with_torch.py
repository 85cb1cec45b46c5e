"""Compare SciPy's functions inside ``interop.scipy()`` with the same formulas in PyTorch.

    pip install torch                                  # in any environment that has SciPy
    python tools/pages.py interop      # writes the table of docs/howto/interop.md, in seconds

Each function gets random float64 (and complex128) inputs and random cotangents of its results, three
times.  A row has the largest difference of values, and of gradients with respect to any input, relative
to PyTorch's largest element.  For `svd` and `eigh`, quantities that do not depend on the choice of
phases are compared.

A difference of LIMIT or more is an error that names the function.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
from scipy.interpolate import RegularGridInterpolator

import arraytape as xp
import pages
from arraytape import interop
from peers.cases import of_eigh, of_svd
from peers.libraries import Data, Ours, Torch

try:
    import array_api_compat.torch as txp
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

LIMIT = 1e-12
SEEDS = 3

Function = Callable[..., Any]
Draw = Callable[[np.random.Generator], Any]


class Case(NamedTuple):
    """A SciPy function ``ours``, the same function ``theirs`` in PyTorch, and draws of their inputs.

    by : the description of the PyTorch function in the table.
    """

    name: str
    by: str
    ours: Function
    theirs: Function
    draws: tuple[Draw, ...]


class Row(NamedTuple):
    """The largest relative differences of values and gradients of a case."""

    case: Case
    value: float
    gradient: float


CASES: list[Case] = []


def compared(name: str, ours: Function, *draws: Draw, by: str) -> Callable[[Function], Function]:
    """Return a decorator that adds a Case to CASES: ``ours``, which calls SciPy, and a PyTorch function.

    name : the name of SciPy's function.  draws : functions that draw the inputs.  by : the name of the
    PyTorch function in the table.
    """

    def state(theirs: Function) -> Function:
        CASES.append(Case(name, by, ours, theirs, draws))
        return theirs

    return state


def same(name: str, ours: Function, *draws: Draw, by: str) -> None:
    """Add the case of SciPy's ``ours`` and PyTorch's function with the name ``by``."""
    compared(name, ours, *draws, by=f"`{by}`")(lambda *xs: attrgetter(by)(torch)(*xs))


# --- inputs -----------------------------------------------------------------------------------------
def normal(*shape: int) -> Draw:
    return lambda rng: rng.standard_normal(shape)


def complex_normal(*shape: int) -> Draw:
    return lambda rng: rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def uniform(low: float, high: float, *shape: int) -> Draw:
    return lambda rng: rng.uniform(low, high, shape)


def denominator(order: int) -> Draw:
    """Return a function that draws the coefficients of a stable filter; the first is not 1."""
    return lambda rng: 1.5 * np.poly(rng.uniform(-0.9, 0.9, order))


def sections(count: int) -> Draw:
    """Return a function that draws second-order sections of a filter, without the column of ones."""

    def draw(rng: np.random.Generator) -> Any:
        zeros, poles = rng.standard_normal((count, 3)), rng.uniform(-0.9, 0.9, (count, 2))
        return np.hstack([zeros, np.asarray([np.poly(pair)[1:] for pair in poles])])

    return draw


# --- scipy.signal -----------------------------------------------------------------------------------
def recurrence(b: Any, a: Any, x: Any, z: Any) -> Any:
    """Return x filtered along the last axis by the transposed direct form II, and the final state."""
    b, a, results = b / a[0], a / a[0], []
    for sample in x.unbind(-1):
        y = b[0] * sample + z[..., 0]
        shifted = functional.pad(z[..., 1:], (0, 1))
        z = shifted + b[1:] * sample[..., None] - a[1:] * y[..., None]
        results.append(y)
    return torch.stack(results, -1), z


compared(
    "signal.lfilter", lambda b, a, x, z: scipy.signal.lfilter(b, a, x, zi=z),
    normal(4), denominator(3), normal(2, 60), normal(2, 3), by="a loop",
)(recurrence)  # fmt: skip


def with_ones(namespace: Any, parts: Any) -> Any:
    """Insert the column of ones that SciPy's second-order sections have."""
    ones = namespace.ones_like(parts[:, :1])
    return namespace.concat([parts[:, :3], ones, parts[:, 3:]], axis=1)


@compared(
    "signal.sosfilt", lambda s, x, z: scipy.signal.sosfilt(with_ones(xp, s), x, zi=z),
    sections(3), normal(60), normal(3, 2), by="a loop for each section",
)  # fmt: skip
def cascade(parts: Any, x: Any, z: Any) -> Any:
    ends = []
    for section, start in zip(with_ones(txp, parts), z, strict=True):
        x, end = recurrence(section[:3], section[3:], x, start)
        ends.append(end)
    return x, torch.stack(ends)


def slid(x: Any, weights: Any, mode: str = "constant") -> Any:
    """Correlate each row of a matrix with weights; rows are padded in PyTorch's ``mode``."""
    size = (weights.shape[0] - 1) // 2
    lines = functional.pad(x[:, None], (size, size), mode=mode)
    return functional.conv1d(lines, weights[None, None])[:, 0]


@compared(
    "signal.savgol_filter", lambda x: scipy.signal.savgol_filter(x, 7, 3, mode="nearest"),
    normal(3, 40), by="`conv1d`, replicated ends",
)  # fmt: skip
def savgol(x: Any) -> Any:
    weights = scipy.signal.savgol_coeffs(7, 3, use="dot")
    return slid(x, torch.asarray(weights), "replicate")


@compared("signal.convolve", scipy.signal.convolve, normal(30), normal(5), by="`conv1d`")
def convolved(x: Any, h: Any) -> Any:
    return functional.conv1d(x[None], h.flip(0)[None, None], padding=len(h) - 1)[0]


@compared(
    "signal.upfirdn", lambda h, x: scipy.signal.upfirdn(h, x, up=3, down=2),
    normal(7), normal(20), by="`conv_transpose1d`",
)  # fmt: skip
def resampled(h: Any, x: Any) -> Any:
    return functional.conv_transpose1d(x[None, None], h[None, None], stride=3)[0, 0, ::2]


@compared(
    "signal.stft", lambda x: scipy.signal.stft(x, nperseg=16)[2], normal(64), by="`torch.stft`"
)
def short_time(x: Any) -> Any:
    window = torch.hann_window(16)
    found = torch.stft(x, 16, hop_length=8, window=window, pad_mode="constant", return_complex=True)
    return found / window.sum()


# --- scipy.fft --------------------------------------------------------------------------------------
def cosines(n: int, type: int) -> Any:
    """Return the matrix of the discrete cosine transform, by its definition."""
    k, i = torch.arange(n)[:, None], torch.arange(n)
    if type == 2:
        return 2.0 * torch.cos(torch.pi * k * (2 * i + 1) / (2 * n))
    return 2.0 * torch.cos(torch.pi * (2 * k + 1) * (2 * i + 1) / (4 * n))


same("fft.fft", scipy.fft.fft, complex_normal(3, 12), by="fft.fft")
same("fft.rfft", scipy.fft.rfft, normal(3, 15), by="fft.rfft")
same("fft.irfft", scipy.fft.irfft, complex_normal(3, 9), by="fft.irfft")
same("fft.hfft", scipy.fft.hfft, complex_normal(3, 9), by="fft.hfft")
same("fft.fftn", scipy.fft.fftn, complex_normal(4, 5, 6), by="fft.fftn")


@compared("fft.dct, type 2", scipy.fft.dct, normal(3, 16), by="FFT of the mirrored line")
def dct2(x: Any) -> Any:
    n = x.shape[-1]
    mirrored = torch.fft.fft(torch.cat([x, x.flip(-1)], -1))[..., :n]
    return (mirrored * torch.exp(-0.5j * torch.pi * torch.arange(n) / n)).real


@compared(
    "fft.dct, type 4", lambda x: scipy.fft.dct(x, 4), normal(3, 16), by="a product with its matrix"
)
def dct4(x: Any) -> Any:
    return x @ cosines(x.shape[-1], 4).T


@compared("fft.dctn, type 2", scipy.fft.dctn, normal(7, 8), by="products with its matrices")
def dctn(x: Any) -> Any:
    return cosines(x.shape[0], 2) @ x @ cosines(x.shape[1], 2).T


# --- scipy.ndimage, scipy.interpolate ---------------------------------------------------------------
def gaussian(mode: str) -> Function:
    """Return a Gaussian filter of sigma 1.2 along both axes, with PyTorch's padding ``mode``."""

    def smoothed(x: Any) -> Any:
        places = torch.arange(-5, 6)  # SciPy's truncate=4.0: int(4.0 * 1.2 + 0.5) = 5 per side
        weights = torch.exp(-0.5 * (places / 1.2) ** 2)
        weights = weights / weights.sum()
        return slid(slid(x.T, weights, mode).T, weights, mode)

    return smoothed


for scipys, torchs in (("mirror", "reflect"), ("nearest", "replicate"), ("wrap", "circular")):
    compared(
        f'ndimage.gaussian_filter, mode="{scipys}"',
        lambda x, mode=scipys: scipy.ndimage.gaussian_filter(x, 1.2, mode=mode),
        normal(9, 10), by=f'`conv1d`, `mode="{torchs}"`',
    )(gaussian(torchs))  # fmt: skip


@compared(
    "ndimage.maximum_filter", lambda x: scipy.ndimage.maximum_filter(x, 3, mode="nearest"),
    normal(8, 9), by="`max_pool2d`",
)  # fmt: skip
def highest(x: Any) -> Any:
    return functional.max_pool2d(x[None], 3, stride=1, padding=1)[0]


def bilinear(x: Any, coordinates: Any) -> Any:
    """Interpolate a matrix at coordinates of shape (2, ...); outside it, use its border."""
    ends = torch.tensor([[n - 1.0] for n in x.shape])
    grid = 2.0 * coordinates.reshape(2, -1) / ends - 1.0
    found = functional.grid_sample(
        x[None, None], grid.flip(0).T[None, None], align_corners=True, padding_mode="border"
    )
    return found.reshape(coordinates.shape[1:])


compared(
    "ndimage.map_coordinates, order=1",
    lambda x, places: scipy.ndimage.map_coordinates(x, places, order=1, mode="nearest"),
    normal(7, 8), uniform(-2.0, 9.0, 2, 40), by="`grid_sample`",
)(bilinear)  # fmt: skip


@compared(
    "ndimage.affine_transform, order=1",
    lambda x, m, offset: scipy.ndimage.affine_transform(x, m, offset, order=1, mode="nearest"),
    normal(7, 8), uniform(-1.0, 1.0, 2, 2), uniform(2.0, 4.0, 2), by="`grid_sample`",
)  # fmt: skip
def moved(x: Any, matrix: Any, offset: Any) -> Any:
    places = torch.stack(torch.meshgrid(*map(torch.arange, x.shape), indexing="ij"))
    return bilinear(x, torch.tensordot(matrix, places * 1.0, 1) + offset[:, None, None])


@compared(
    "ndimage.zoom, order=1", lambda x: scipy.ndimage.zoom(x, 2.5, order=1, mode="nearest"),
    normal(6, 8), by="`interpolate`",
)  # fmt: skip
def zoomed(x: Any) -> Any:
    size = tuple(round(2.5 * n) for n in x.shape)
    return functional.interpolate(x[None, None], size, mode="bilinear", align_corners=True)[0, 0]


@compared(
    "interpolate.RegularGridInterpolator",
    lambda x, places: RegularGridInterpolator((np.arange(7.0), np.arange(8.0)), x)(places),
    normal(7, 8), uniform(0.0, 6.0, 40, 2), by="`grid_sample`",
)  # fmt: skip
def on_a_grid(x: Any, places: Any) -> Any:
    return bilinear(x, places.T)


# --- scipy.spatial ----------------------------------------------------------------------------------
def distances(metric: str, order: float, **options: float) -> None:
    """Add the case of ``cdist``: ``metric`` for SciPy, ``order`` of the same norm for PyTorch."""
    pairs = lambda a, b: torch.cdist(a, b, order, "donot_use_mm_for_euclid_dist")  # noqa: E731
    compared(
        f"spatial.distance.cdist, {metric}",
        lambda a, b: scipy.spatial.distance.cdist(a, b, metric, **options),
        normal(6, 4), normal(5, 4), by=f"`cdist`, p={order:g}",
    )(pairs)  # fmt: skip


distances("euclidean", 2.0)
distances("cityblock", 1.0)
distances("minkowski", 3.0, p=3.0)
distances("chebyshev", float("inf"))


same(
    "spatial.distance.pdist", scipy.spatial.distance.pdist, normal(6, 4),
    by="nn.functional.pdist",
)  # fmt: skip


# --- scipy.linalg -----------------------------------------------------------------------------------
def hermitian(namespace: Any, x: Any) -> Any:
    """Return x + x^H, so that gradients do not depend on the triangle that a library reads."""
    return x + namespace.conj(namespace.matrix_transpose(x))


def positive(namespace: Any, x: Any) -> Any:
    """Return the positive definite matrix x @ x^H + I."""
    adjoint = namespace.conj(namespace.matrix_transpose(x))
    return x @ adjoint + namespace.eye(x.shape[-1], dtype=x.dtype)


REAL, COMPLEX = normal(5, 5), complex_normal(5, 5)
for kind, square, tall, wide in (
    ("", REAL, normal(6, 4), normal(5, 2)),
    (", complex", COMPLEX, complex_normal(6, 4), complex_normal(5, 2)),
):
    same(f"linalg.solve{kind}", scipy.linalg.solve, square, wide, by="linalg.solve")
    same(f"linalg.pinv{kind}", scipy.linalg.pinv, tall, by="linalg.pinv")
    same(f"linalg.expm{kind}", scipy.linalg.expm, square, by="linalg.matrix_exp")
    compared(
        f"linalg.cholesky{kind}", lambda x: scipy.linalg.cholesky(positive(xp, x), lower=True),
        square, by="`linalg.cholesky`",
    )(lambda x: torch.linalg.cholesky(positive(txp, x)))  # fmt: skip
    compared(
        f"linalg.cho_solve{kind}",
        lambda x, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(positive(xp, x)), b),
        square, wide, by="`cholesky_solve`",
    )(lambda x, b: torch.cholesky_solve(b, torch.linalg.cholesky(positive(txp, x))))  # fmt: skip
    compared(
        f"linalg.svd{kind}",
        lambda x: of_svd(xp, scipy.linalg.svd(x, full_matrices=False)), tall, by="`linalg.svd`",
    )(lambda x: of_svd(txp, torch.linalg.svd(x, full_matrices=False)))  # fmt: skip
    compared(
        f"linalg.eigh{kind}", lambda x: of_eigh(xp, scipy.linalg.eigh(hermitian(xp, x))), square,
        by="`linalg.eigh`",
    )(lambda x: of_eigh(txp, torch.linalg.eigh(hermitian(txp, x))))  # fmt: skip

same("linalg.inv", scipy.linalg.inv, REAL, by="linalg.inv")
same("linalg.det", scipy.linalg.det, REAL, by="linalg.det")
same("linalg.lu", scipy.linalg.lu, REAL, by="linalg.lu")
same("linalg.qr", lambda x: scipy.linalg.qr(x, mode="economic"), normal(6, 4), by="linalg.qr")
compared(
    "linalg.lstsq", lambda a, b: scipy.linalg.lstsq(a, b)[0], normal(6, 4), normal(6, 2),
    by="`linalg.lstsq`",
)(lambda a, b: torch.linalg.lstsq(a, b).solution)  # fmt: skip
compared(
    "linalg.solve_triangular", lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True),
    lambda rng: rng.standard_normal((5, 5)) + 4.0 * np.eye(5), normal(5, 2),
    by="`linalg.solve_triangular`",
)(lambda a, b: torch.linalg.solve_triangular(a.tril(), b, upper=False))  # fmt: skip


# --- the table --------------------------------------------------------------------------------------
def difference(ours: Data, theirs: Data) -> float:
    """Return the largest difference between arrays, relative to the largest element of theirs."""
    found = 0.0
    for x, y in zip(ours, theirs, strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            raise ValueError(f"{x.dtype} {x.shape} is compared with {y.dtype} {y.shape}")
        found = max(found, float(np.max(np.abs(x - y)) / np.max(np.abs(y))))
    return found


def measured(case: Case) -> Row:
    """Return the largest differences between the two libraries at SEEDS random points."""
    ours, theirs = Ours(), Torch()
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        inputs = [np.asarray(draw(rng)) for draw in case.draws]
        with interop.scipy():
            results = ours.outputs(lambda _, *xs: case.ours(*xs), [xp.asarray(x) for x in inputs])
            weights = [cotangent(rng, np.asarray(y)) for y in results]
            one = ours.derivatives(lambda _, *xs: case.ours(*xs), inputs, weights, None)
        other = theirs.derivatives(lambda _, *xs: case.theirs(*xs), inputs, weights, None)
        pairs = ((one.value, other.value), (one.gradient, other.gradient))
        found.append([difference(x, y) for x, y in pairs])
    return Row(case, *np.max(found, axis=0))


def cotangent(rng: np.random.Generator, y: Any) -> Any:
    draw = complex_normal if y.dtype.kind == "c" else normal
    return np.asarray(draw(*y.shape)(rng))


def titled(case: Case) -> str:
    """Return the name of a case, with backticks around the part before the comma."""
    name, comma, rest = case.name.partition(",")
    return f"`{name}`{comma}{rest}"


def shown(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    head = ("SciPy", "PyTorch", "values", "gradients")
    cells = [(titled(case), case.by, f"{v:.0e}", f"{g:.0e}") for case, v, g in rows]
    return pages.table(head, cells)


def page(old: str) -> str:
    if torch is None:
        raise pages.CannotBeWritten("pip install torch, in any environment that has SciPy")
    rows = [measured(case) for case in CASES]
    if far := [titled(row.case) for row in rows if not max(row.value, row.gradient) < LIMIT]:
        raise pages.CannotBeWritten(f"{', '.join(far)}: differs from PyTorch by {LIMIT} or more")
    made_with = f"PyTorch {torch.__version__}, SciPy {scipy.__version__}, NumPy {np.__version__}."
    return pages.between(old, pages.ends_of("interop"), f"{shown(rows)}\n\n{made_with}")
