"""Filtering, convolution and resampling of scipy.signal, as installed."""

import numpy as np
import pytest
import scipy
from array_api_compat import array_namespace
from scipy import signal

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.5, 1.5, (2, 12))
K, IMAGE, KERNEL = (
    RNG.uniform(-1.0, 1.0, 5),
    RNG.uniform(-1.0, 1.0, (5, 6)),
    RNG.uniform(-1.0, 1.0, (3, 2)),
)
LONG = np.tile(X[0], 4)
B, A = np.asarray([1.0, 0.5, 0.2]), np.asarray([2.0, 0.4, 0.3])
SECTIONS = np.asarray([[1.0, 0.5, 0.2, 0.4, 0.3], [1.0, -0.3, 0.6, -0.2, 0.1]])
CASES = {
    "convolve by fft": (lambda x, k: signal.convolve(x, k, method="fft", mode="valid"), X[0], K),
    "correlate by fft": (lambda x, k: signal.correlate(x, k, method="fft", mode="same"), X[0], K),
    "correlate complex data": (
        lambda x, k: signal.correlate(x, k, method="fft"),
        X[0] + 1j * X[1],
        K - 0.5j,
    ),
    "envelope": (signal.envelope, X),
    "envelope in a band": (
        lambda x: signal.envelope(x, bp_in=(1, 4), residual="all", squared=True, n_out=9),
        X[0],
    ),
    "envelope without a residual": (lambda x: signal.envelope(x, residual=None, axis=0), X.T),
    "fftconvolve": (signal.fftconvolve, IMAGE, KERNEL),
    "fftconvolve along an axis": (
        lambda x, k: signal.fftconvolve(x, k, mode="same", axes=1),
        IMAGE,
        KERNEL[:1],
    ),
    "fftconvolve complex data": (signal.fftconvolve, X[0] + 1j * X[1], K),
    "hilbert": (signal.hilbert, X),
    "hilbert of another length": (lambda x: signal.hilbert(x, N=9, axis=0), X.T),
    "hilbert2": (signal.hilbert2, IMAGE),
    "lfiltic": (signal.lfiltic, B, A, X[0, :3]),
    "lfiltic with past input": (signal.lfiltic, B, A, X[0, :3], X[1, :2]),
    "oaconvolve": (signal.oaconvolve, LONG, K),
    "oaconvolve, valid": (lambda x, k: signal.oaconvolve(x, k, mode="valid"), LONG, K),
    "oaconvolve along an axis": (
        lambda x, k: signal.oaconvolve(x, k, axes=1),
        np.tile(X, 4),
        RNG.uniform(-1.0, 1.0, (2, 3)),
    ),
    "resample": (lambda x: signal.resample(x, 17), X[0]),
    "resample to fewer": (lambda x: signal.resample(x, 7, axis=1), X),
    "resample with a window": (lambda x: signal.resample(x, 7, axis=1, window="hann"), X),
    "resample with times": (lambda x, t: list(signal.resample(x, 7, t=t)), X[0], np.arange(12.0)),
    "resample in the frequency domain": (
        lambda x, y: signal.resample(x + 1j * y, 9, domain="freq"),
        X[0],
        X[1],
    ),
    "vectorstrength": (lambda t: list(signal.vectorstrength(t, 1.7)), X[0]),
    "vectorstrength of periods": (lambda t, p: list(signal.vectorstrength(t, p)), X[0], A + 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_filter_in_array_api_terms_differentiates(differentiates, name):
    function, *inputs = CASES[name]
    differentiates(function, *inputs, order=2)


# --- what leaves --------------------------------------------------------------------------------
def sections(free):
    """Second-order sections whose fourth coefficients are 1."""
    xp = array_namespace(free)
    return xp.concat([free[:, :3], xp.ones((free.shape[0], 1)), free[:, 3:]], axis=1)


TOOLS = "signal/_signaltools.py"
BOTH = "signal/_(signaltools|filter_design).py"  # the sections leave in one, the data in the other
SPLINES = "signal/_spline_filters.py"
LEAVE = {
    "convolve": (signal.convolve, TOOLS, X[0], K),
    "convolve of images": (lambda x, k: signal.convolve(x, k, mode="same"), TOOLS, IMAGE, KERNEL),
    "convolve2d": (signal.convolve2d, TOOLS, IMAGE, KERNEL),
    "correlate": (signal.correlate, TOOLS, X[0], K),
    "correlate2d": (signal.correlate2d, TOOLS, IMAGE, KERNEL),
    "cspline1d": (signal.cspline1d, SPLINES, X[0]),
    "cspline1d_eval": (signal.cspline1d_eval, SPLINES, X[0], X[1] + 4.0),
    "detrend": (signal.detrend, TOOLS, X),
    "detrend by a constant": (lambda x: signal.detrend(x, type="constant"), TOOLS, X),
    "filtfilt": (signal.filtfilt, TOOLS, B, A, LONG),
    "filtfilt by Gustafsson": (
        lambda b, a, x: signal.filtfilt(b, a, x, method="gust"),
        TOOLS,
        B,
        A,
        LONG,
    ),
    "lfilter": (signal.lfilter, TOOLS, B, A, X),
    "lfilter without feedback": (lambda b, a, x: signal.lfilter(b, a[:1], x), TOOLS, B, A, X),
    "medfilt": (lambda x: signal.medfilt(x, 3), "ndimage/_filters.py", X[0]),
    "medfilt2d": (lambda x: signal.medfilt2d(x, 3), TOOLS, IMAGE),
    "order_filter": (
        lambda x: signal.order_filter(x, array_namespace(x).ones(3), 1),
        "ndimage/_filters.py",
        X[0],
    ),
    "qspline1d": (signal.qspline1d, SPLINES, X[0]),
    "qspline1d_eval": (signal.qspline1d_eval, SPLINES, X[0], X[1] + 4.0),
    "resample_poly": (lambda x: signal.resample_poly(x, 3, 2), "signal/_upfirdn.py", X[0]),
    "savgol_filter": (
        lambda x: signal.savgol_filter(x, 5, 2, mode="nearest"),
        "ndimage/_filters.py",
        X[0],
    ),
    "sosfilt": (lambda s, x: signal.sosfilt(sections(s), x), BOTH, SECTIONS, X),
    "sosfiltfilt": (lambda s, x: signal.sosfiltfilt(sections(s), x), BOTH, SECTIONS, LONG),
    "spline_filter": (signal.spline_filter, SPLINES, RNG.normal(size=(40, 40))),
    "upfirdn": (lambda h, x: signal.upfirdn(h, x, 2, 3), "signal/_upfirdn.py", K, X),
}


@pytest.mark.parametrize("name", LEAVE)
def test_a_filter_in_c_has_its_values_and_says_where_it_leaves(leaves, name):
    function, at, *inputs = LEAVE[name]
    found = leaves(function, *inputs, at=at, how="np.asarray")
    assert all(g is None for g in found)


def test_cspline2d_gives_numpys_array(leaves):
    x = RNG.normal(size=(40, 40))
    assert leaves(signal.cspline2d, x, at=SPLINES, how="np.asarray") is None


PARTS = {
    "deconvolve": (signal.deconvolve, TOOLS, X[0], K + 3.0),
    "savgol_filter with fitted ends": (
        lambda x: signal.savgol_filter(x, 5, 2),
        "ndimage/_filters.py",
        X[0],
    ),
    "wiener": (lambda x: signal.wiener(x, 3), TOOLS, X[0]),
    "wiener with known noise": (lambda x: signal.wiener(x, 3, noise=0.1), TOOLS, X[0]),
}
if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18):  # which follows them to the end
    MATRICES = "linalg/_special_matrices.py"
    PARTS |= {
        "lfilter_zi": (signal.lfilter_zi, MATRICES, B, A),
        "sosfilt_zi": (lambda s: signal.sosfilt_zi(sections(s)), MATRICES, SECTIONS),
    }


@pytest.mark.parametrize("name", PARTS)
def test_a_filter_of_which_a_part_leaves_counts_the_rest_and_warns(leaves, name):
    """Values are right; the gradient is not the whole one, and says where the rest left."""
    function, at, *inputs = PARTS[name]

    def last(*xs):
        results = function(*xs)
        return results[-1] if isinstance(results, tuple) else results

    found = leaves(last, *inputs, at=at, how="np.asarray")
    assert any(g is not None for g in found)
