"""Signals, images and curves as people process them, by the standard's and by NumPy's names."""

import itertools

import numpy as np
import pytest

import arraytape as xp
from helpers.collected import Collected

rng = np.random.default_rng(3)
PROGRAMS = Collected()
program = PROGRAMS.on


@pytest.mark.parametrize("namespace", [xp, np], ids=["standard", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_numpys_values_and_right_derivatives(name, namespace, runs_as_on_numpy):
    runs_as_on_numpy(*PROGRAMS[name], namespace=namespace)


@program(rng.normal(size=(6, 6)), rng.normal(size=(3, 3)))
def convolution_by_slices(xp, image, kernel):
    out = xp.zeros_like(image[1:-1, 1:-1])
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[i : i + 4, j : j + 4]
    return out


@program(rng.normal(size=(6, 6)))
def pooling(xp, image):
    tiles = xp.reshape(image, (3, 2, 3, 2))
    return xp.max(tiles, axis=(1, 3)), xp.mean(tiles, axis=(1, 3))


@program(rng.permutation(12) / 3.0)
def running_median(xp, x):
    windows = xp.stack([x[i : i + 5] for i in range(8)])
    return xp.sort(windows, axis=1)[:, 2]


@program(rng.normal(size=10), np.asarray([0.2, 0.5, 0.3]), np.asarray([1.0, -0.4, 0.1]))
def recursive_filter(xp, x, b, a):
    y = xp.zeros_like(x)
    for n in range(10):
        for k in range(min(n, 2) + 1):
            y[n] += b[k] * x[n - k]
        for k in range(1, min(n, 2) + 1):
            y[n] -= a[k] * y[n - k]
        y[n] /= a[0]
    return y


@program(rng.normal(size=16))
def low_pass_by_fft(xp, x):
    spectrum = xp.fft.rfft(x)
    spectrum[xp.fft.rfftfreq(16) > 0.3] = 0
    return xp.fft.irfft(spectrum, n=16)


@program(rng.normal(size=8) + 1j * rng.normal(size=8))
def complex_spectrum(xp, z):
    spectrum = xp.fft.fft(z)
    spectrum *= xp.exp(1j * xp.linspace(0, 1, 8))
    spectrum[3] = xp.conj(spectrum[4])
    return xp.abs(xp.fft.ifft(spectrum)) ** 2, xp.real(spectrum), 2 * xp.imag(spectrum)


@program(rng.normal(size=8))
def analytic_signal(xp, x):
    spectrum = xp.fft.fft(x)
    spectrum[1:4] *= 2
    spectrum[5:] = 0
    z = xp.fft.ifft(spectrum)
    return xp.abs(z), xp.real(z), xp.imag(z)


@program(np.sort(rng.normal(size=6)), rng.normal(size=6), np.asarray([-0.2, 0.1, 0.3, 5.0]))
def linear_interpolation(xp, t, y, at):
    i = xp.clip(xp.searchsorted(t, at) - 1, 0, 4)
    share = (at - t[i]) / (t[i + 1] - t[i])
    return (1 - share) * y[i] + share * y[i + 1]


@program(np.linspace(0, 1, 6), rng.normal(size=6), np.asarray([0.15, 0.45, 0.95]))
def cubic_hermite_spline(xp, t, y, at):
    inside = (y[2:] - y[:-2]) / (t[2:] - t[:-2])
    first, last = (y[1:2] - y[:1]) / (t[1:2] - t[:1]), (y[-1:] - y[-2:-1]) / (t[-1:] - t[-2:-1])
    m = xp.concat([first, inside, last])
    i = xp.searchsorted(t, at, side="right") - 1
    h = t[i + 1] - t[i]
    s = (at - t[i]) / h
    ends = (2 * s**3 - 3 * s**2 + 1) * y[i] + (3 * s**2 - 2 * s**3) * y[i + 1]
    return ends + h * ((s**3 - 2 * s**2 + s) * m[i] + (s**3 - s**2) * m[i + 1])


@program(rng.normal(size=5), np.asarray([0.1, 0.35, 0.8]))
def bezier_by_de_casteljau(xp, points, t):
    level = [p + 0.0 * t for p in points]
    while len(level) > 1:
        level = [(1 - t) * a + t * b for a, b in itertools.pairwise(level)]
    return level[0]


@program(rng.normal(size=6) * 0.1)
def cumulative_returns(xp, r):
    wealth = xp.cumulative_prod(1 + r)
    peak = xp.stack([xp.max(wealth[: i + 1]) for i in range(6)])
    return wealth[-1], xp.max(1 - wealth / peak), xp.cumulative_sum(xp.log(wealth))


@program(rng.normal(size=8))
def guarded_root(xp, x):
    return xp.where(x > 0, xp.sqrt(xp.where(x > 0, x, 1.0)), x**2)


@program(rng.normal(size=8))
def masked_writes(xp, x):
    y = x**2
    y[x < 0] = 0.0
    y[x > 0.5] *= 3
    y[(x > 0) & (x < 0.5)] = x[(x > 0) & (x < 0.5)]
    return y


@program(rng.normal(size=(4, 5)))
def bilinear_sampling(xp, image):
    u, v = 0.3 + 2.2 * xp.tanh(image[0, :]) ** 2, 0.2 + 3.1 * xp.tanh(image[1, :]) ** 2
    i = xp.astype(xp.floor(u), xp.int64)
    j = xp.astype(xp.floor(v), xp.int64)
    a, b = u - i, v - j
    above = (1 - b) * image[i, j] + b * image[i, j + 1]
    below = (1 - b) * image[i + 1, j] + b * image[i + 1, j + 1]
    return (1 - a) * above + a * below


@program(rng.normal(size=(3, 4, 4)))
def total_variation(xp, images):
    across, down = xp.diff(images, axis=2), xp.diff(images, axis=1)
    return xp.sum(xp.sqrt(across[:, :-1, :] ** 2 + down[:, :, :-1] ** 2 + 1e-3))


@program(rng.normal(size=(5, 2)))
def polygon(xp, corners):
    following = xp.roll(corners, -1, axis=0)
    area = corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0]
    edges = xp.linalg.vector_norm(following - corners, axis=1)
    return xp.sum(area) / 2, xp.sum(edges)


@program(rng.normal(size=8))
def haar_wavelets(xp, x):
    x = x.copy()
    n = 8
    while n > 1:
        mean, half = (x[:n:2] + x[1:n:2]) / 2, (x[:n:2] - x[1:n:2]) / 2
        x[: n // 2], x[n // 2 : n] = mean, half
        n //= 2
    return x


@program(rng.normal(size=8) + 1j * rng.normal(size=8))
def fourier_transform_by_hand(xp, z):
    if z.shape[0] == 1:
        return z
    even, odd = fourier_transform_by_hand(xp, z[::2]), fourier_transform_by_hand(xp, z[1::2])
    turned = xp.exp(-2j * xp.pi * xp.arange(odd.shape[0]) / z.shape[0]) * odd
    return xp.concat([even + turned, even - turned])


@program(rng.normal(size=3), rng.normal(size=4))
def polynomial_product(xp, p, q):
    product = xp.zeros_like(xp.concat([p, q])[:-1])
    for i in range(3):
        product[i : i + 4] += p[i] * q
    return product
