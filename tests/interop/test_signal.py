"""scipy.signal in a context of interop."""

import numpy as np
import pytest
from scipy import signal

import arraytape as xp
from arraytape import interop
from helpers.library_checks import check

RNG = np.random.default_rng(3)
SIGNALS = RNG.normal(size=(3, 40))
LINE = SIGNALS[0]
COMPLEX = SIGNALS[:, :20] + 1j * SIGNALS[:, 20:]
B, A = RNG.normal(size=3), np.asarray([2.0, -1.0, 0.4, 0.2])
STATE = RNG.normal(size=(3, 3))
SOS = np.asarray(signal.butter(4, 0.3, output="sos"))
SOS_STATE = RNG.normal(size=(2, 3, 2))
ONES = np.asarray([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])  # a[0] of a section is fixed at 1
PLANE, KERNEL = RNG.normal(size=(4, 5)), RNG.normal(size=(3, 2))
COMPLEX_PLANE, COMPLEX_KERNEL = PLANE + 1j * RNG.normal(size=PLANE.shape), KERNEL + 1j
TIMES = np.sort(RNG.random(12)) * 9


def section(f):
    """A function of sections whose a[0] do not vary."""
    return lambda sos, *others: f(sos * (1.0 - ONES) + ONES, *others)


RECURSIVE = {
    "lfilter": ((B, A, SIGNALS), signal.lfilter),
    "axis": ((B, A, SIGNALS[:, :4]), lambda b, a, x: signal.lfilter(b, a, x, axis=0)),
    "state": ((B, A, SIGNALS, STATE), lambda b, a, x, z: signal.lfilter(b, a, x, zi=z)),
    "a state that is longer": (
        (B, A, SIGNALS[:, :2], STATE),
        lambda b, a, x, z: signal.lfilter(b, a, x, zi=z),
    ),
    "no poles": ((B, SIGNALS), lambda b, x: signal.lfilter(b, 2.0, x)),
    "no poles, state": (
        (B, SIGNALS, STATE[:, :2]),
        lambda b, x, z: signal.lfilter(b, [2.0], x, zi=z),
    ),
    "complex": ((B + 1j, A + 0.1j, COMPLEX), signal.lfilter),
    "complex signal": ((B, A, COMPLEX), signal.lfilter),
    "poles alone": ((A, SIGNALS), lambda a, x: signal.lfilter(1.0, a, x)),
    "filtfilt, even": (
        (SIGNALS.T,),
        lambda x: signal.filtfilt(B, A, x, padtype="even", padlen=5, axis=0),
    ),
    "filtfilt, gust": ((SIGNALS,), lambda x: signal.filtfilt(B, A, x, method="gust")),
    "sosfilt": ((SOS, SIGNALS), section(signal.sosfilt)),
    "sosfilt, state": (
        (SOS, SIGNALS, SOS_STATE),
        section(lambda s, x, z: signal.sosfilt(s, x, zi=z)),
    ),
    "sosfilt, axis": ((SIGNALS.T,), lambda x: signal.sosfilt(SOS, x, axis=0)),
    "sosfiltfilt": ((SIGNALS,), lambda x: signal.sosfiltfilt(SOS, x)),
    "deconvolve": ((LINE, A[:3]), signal.deconvolve),
    "decimate": ((SIGNALS,), lambda x: signal.decimate(x, 3)),
    "decimate, fir": ((RNG.normal(size=(2, 80)),), lambda x: signal.decimate(x, 3, ftype="fir")),
    "dlsim": ((LINE,), lambda u: signal.dlsim(([1.0], [1.0, 0.5], 1.0), u)[1]),
}
RECURSIVE_OF_VALUES = {  # they branch on values, which has no batched form
    "lfilter_zi": ((B, A), signal.lfilter_zi),
    "filtfilt": ((B, A, SIGNALS), signal.filtfilt),
    "sosfiltfilt by sections": ((SOS, SIGNALS), section(signal.sosfiltfilt)),
    "lsim": ((LINE,), lambda u: signal.lsim(([1.0], [1.0, 0.5]), u, np.arange(40.0))[1]),
}


W, PAIR, POLES = np.asarray(0.3), np.asarray([0.3, 0.5]), np.asarray([1.0, 0.8, 0.3])
DESIGNS = {  # they branch on values, too
    "butter": ((W,), lambda w: signal.butter(3, w)),
    "butter, band": ((PAIR,), lambda w: signal.butter(2, w, "bandpass", output="sos")),
    "butter, analog": ((W,), lambda w: signal.butter(2, w, analog=True)),
    "cheby1": ((0.9 + W, W), lambda rp, w: signal.cheby1(2, rp, w)),
    "cheby2": ((20.0 + W, W), lambda rs, w: signal.cheby2(3, rs, w, "highpass")),
    "ellip": ((1.0 + W, 20.0 + W), lambda rp, rs: signal.ellip(3, rp, rs, 0.3)),
    "bessel": ((W,), lambda w: signal.bessel(3, w)),
    # Q stays away from w0, where the notch is as wide as the band: a pole of the coefficients.
    "iirnotch": ((W, W), lambda w0, ratio: signal.iirnotch(w0, (3.0 + ratio) * 2.0)),
    "iircomb": ((3.0 + W,), lambda Q: signal.iircomb(0.25, Q)),
    "gammatone": ((W,), lambda w: signal.gammatone(w, "iir")[1]),
    "buttord": ((W,), lambda w: signal.buttord(w, 2 * w, 1.0, 20.0)[1]),
    "iirdesign": ((W,), lambda w: signal.iirdesign(w, 2 * w, 1.0, 20.0)),
    "bilinear": ((B, POLES), lambda b, a: signal.bilinear(b, a, 2.0)),
    "bilinear of other orders": ((B, A), signal.bilinear),
    "bilinear with a leading zero": ((np.asarray([0.0, 0.7]), POLES), signal.bilinear),
    "a system's poles": ((POLES,), lambda a: signal.lsim(([1.0], a), LINE, np.arange(40.0))[1]),
    "a system's zeros": ((B[:2],), lambda b: signal.step((b, POLES), T=np.arange(9.0))[1]),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_filter_design(name):
    inputs, f = DESIGNS[name]
    check(f, *inputs, vmap=False)


@pytest.mark.parametrize("name", RECURSIVE)
def test_recursive_filters(name):
    inputs, f = RECURSIVE[name]
    check(f, *inputs)


@pytest.mark.parametrize("name", RECURSIVE_OF_VALUES)
def test_recursive_filters_that_look_at_values(name):
    inputs, f = RECURSIVE_OF_VALUES[name]
    check(f, *inputs, vmap=False)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("method", ["direct", "fft", "auto"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.every(5)
def test_convolutions(name, mode, method):
    def f(x, w):
        return getattr(signal, name)(x, w, mode, method)

    vmap = method != "fft"  # SciPy looks for NaN then
    check(f, PLANE, KERNEL, vmap=vmap)
    check(f, KERNEL, PLANE, vmap=vmap)
    check(f, COMPLEX_PLANE, COMPLEX_KERNEL, vmap=vmap)
    check(f, COMPLEX_KERNEL, PLANE, vmap=vmap)
    check(f, PLANE[0], KERNEL[:, 0], vmap=vmap)
    check(f, COMPLEX_PLANE[0], KERNEL[:, 0], vmap=vmap)
    check(f, KERNEL[:, 0], PLANE[0], vmap=vmap)
    check(f, RNG.normal(size=(3, 4, 2)), RNG.normal(size=(2, 3, 1)), vmap=vmap, order=1)


@pytest.mark.parametrize("mode", ["same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "convolve2d", "correlate2d"])
@pytest.mark.parametrize("shapes", [((3, 0), (4, 5)), ((4, 5), (0, 3)), ((0, 2), (3, 4))], ids=str)
def test_an_empty_operand_gives_zero_gradients(name, shapes, mode):
    given = [np.ones(shape) for shape in shapes]
    f = getattr(signal, name)
    x, w = map(xp.asarray, given)
    try:
        expected = f(*given, mode)
    except ValueError:  # SciPy cannot copy one operand into the padded shape
        with interop.scipy(), pytest.raises(ValueError, match="could not broadcast"):
            f(x, w, mode)
        return
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch([x, w])
        y = f(x, w, mode)
    assert y.shape == expected.shape
    for gradient, source in zip(tape.gradient(y, [x, w]), given, strict=True):
        np.testing.assert_array_equal(gradient, np.zeros_like(source))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_convolutions_in_a_plane(mode, boundary):
    for name in ("convolve2d", "correlate2d"):

        def f(x, w, name=name):
            return getattr(signal, name)(x, w, mode, boundary, 0.7)

        check(f, PLANE, KERNEL)
        check(f, COMPLEX_PLANE, COMPLEX_KERNEL)
        check(f, KERNEL[:2], PLANE)


RESAMPLED = {
    "fftconvolve": (
        (SIGNALS[:, :9], SIGNALS[:, 9:12]),
        lambda x, w: signal.fftconvolve(x, w, "same", axes=1),
    ),
    "oaconvolve": (
        (SIGNALS, SIGNALS[:, 9:12]),
        lambda x, w: signal.oaconvolve(x, w, "same", axes=1),
    ),
    "hilbert": ((SIGNALS,), signal.hilbert),
    "hilbert2": ((PLANE,), signal.hilbert2),
    "envelope": ((SIGNALS,), signal.envelope),
    "resample": ((SIGNALS,), lambda x: signal.resample(x, 31, axis=-1)),
    "resample_poly": ((SIGNALS,), lambda x: signal.resample_poly(x, 3, 2, axis=1)),
    "resample_poly, line": (
        (SIGNALS,),
        lambda x: signal.resample_poly(x, 3, 2, axis=1, padtype="line"),
    ),
    "upfirdn": ((RNG.normal(size=7), SIGNALS[:, :9]), lambda h, x: signal.upfirdn(h, x, 3, 2)),
    "upfirdn, axis": (
        (RNG.normal(size=7), SIGNALS.T),
        lambda h, x: signal.upfirdn(h, x, 2, 5, axis=0),
    ),
    "upfirdn, complex": (
        (RNG.normal(size=5) + 1j, COMPLEX),
        lambda h, x: signal.upfirdn(h, x, 2, 3),
    ),
    **{
        f"upfirdn, {mode}": (
            (SIGNALS[:, :9],),
            lambda x, mode=mode: signal.upfirdn(B, x, 3, 2, mode=mode),
        )
        for mode in (
            "wrap",
            "edge",
            "smooth",
            "symmetric",
            "reflect",
            "antisymmetric",
            "antireflect",
            "line",
        )
    },
    "detrend": ((SIGNALS,), signal.detrend),
    "detrend, breaks": ((SIGNALS.T,), lambda x: signal.detrend(x, axis=0, bp=[10, 20])),
    "detrend, constant": ((SIGNALS,), lambda x: signal.detrend(x, type="constant")),
    "savgol, mirror": (
        (SIGNALS.T,),
        lambda x: signal.savgol_filter(x, 7, 3, deriv=1, mode="mirror", axis=0),
    ),
    "medfilt": ((PLANE,), lambda x: signal.medfilt(x, 3)),
    "medfilt2d": ((PLANE,), lambda x: signal.medfilt2d(x, 3)),
    "order_filter": ((PLANE,), lambda x: signal.order_filter(x, np.ones((3, 3)), 2)),
    "wiener": ((PLANE,), lambda x: signal.wiener(x, 3)),
    "czt": ((SIGNALS,), lambda x: signal.czt(x, 7)),
    "zoom_fft": ((SIGNALS,), lambda x: signal.zoom_fft(x, [0.1, 0.4])),
    "welch": ((SIGNALS,), lambda x: signal.welch(x, nperseg=16)[1]),
    "periodogram": ((SIGNALS,), lambda x: signal.periodogram(x)[1]),
    "spectrogram": ((SIGNALS,), lambda x: signal.spectrogram(x, nperseg=16)[2]),
    "csd": ((SIGNALS, SIGNALS[::-1]), lambda x, y: signal.csd(x, y, nperseg=16)[1]),
    "coherence": ((SIGNALS, SIGNALS[::-1]), lambda x, y: signal.coherence(x, y, nperseg=16)[1]),
    "stft": ((SIGNALS,), lambda x: signal.stft(x, nperseg=16)[2]),
    "istft": (
        (RNG.normal(size=(9, 4)) + 1j * RNG.normal(size=(9, 4)),),
        lambda z: signal.istft(z)[1],
    ),
    "ShortTimeFFT": ((SIGNALS,), lambda x: signal.ShortTimeFFT(np.hanning(8), 4, 1.0).stft(x)),
    "lombscargle": ((TIMES, LINE[:12]), lambda t, y: signal.lombscargle(t, y, [0.3, 0.7])),
    "freqz": ((B, A), lambda b, a: signal.freqz(b, a, 8)[1]),
    "vectorstrength": ((LINE,), lambda x: signal.vectorstrength(x, 2.0)),
    "chirp": ((LINE,), lambda t: signal.chirp(t, 1.0, 2.0, 3.0)),
}


@pytest.mark.parametrize("name", RESAMPLED)
def test_other_functions(name):
    inputs, f = RESAMPLED[name]
    check(f, *inputs)


def test_functions_that_look_at_values():
    check(lambda x: signal.savgol_filter(x, 7, 2), SIGNALS, vmap=False)
    check(section(lambda s: signal.freqz_sos(s, 8)[1]), SOS, vmap=False)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_other_dtypes_are_those_of_scipy(dtype):
    check(lambda x: signal.lfilter(B.astype("float32"), A.astype("float32"), x), COMPLEX.astype(dtype)
          if dtype == "complex64" else SIGNALS.astype(dtype))  # fmt: skip
    check(lambda x: signal.upfirdn(B.astype("float32"), x, 2), SIGNALS.astype("float32"))
    check(
        lambda x: signal.convolve(x, KERNEL.astype("float32"), method="direct"),
        PLANE.astype("float32"),
    )


def test_a_filter_by_numerator_where_lines_are_continued_is_refused():
    with interop.scipy(), xp.GradientTape() as tape:
        h = xp.asarray(B)
        tape.watch(h)
        y = signal.upfirdn(h, SIGNALS, 2, mode="wrap")
    said = "upfirdn with an Array as the filter h and mode='wrap' has no derivative"
    with pytest.raises(TypeError, match=said):
        tape.gradient(y, h)


def test_gradients_with_respect_to_coefficients_are_mapped_by_vmap():
    rows = xp.asarray(np.stack([B, 2.0 * B]))
    with interop.scipy():
        slope = xp.grad(lambda b: xp.sum(signal.lfilter(b, A, SIGNALS) ** 2))
        found, expected = xp.vmap(slope)(rows), [slope(row) for row in rows]
    np.testing.assert_allclose(found, xp.stack(expected), rtol=1e-12)
