// Bessel functions of real order v and real argument x, for CUDA devices.
//
// A function of the order mu in [-1/2, 1/2] and its neighbour of the order mu + 1 are integrals over the
// path of steepest descent, computed by the trapezoidal rule, which converges exponentially.  Recurrence
// to the order v is stable for H, Y and K.  Where J and I decrease with the order, they follow from the
// ratio of neighbours, a continued fraction, and the Wronskian.

constexpr double BESSEL_PI = 3.141592653589793238;
constexpr double BESSEL_MOST = 1e6;  // orders beyond this need too many steps: NaN

__device__ double bessel_sinpi(double v) {
    double r = v - 2.0 * rint(0.5 * v);
    return sin(BESSEL_PI * (fabs(r) > 0.5 ? copysign(1.0, r) - r : r));
}

__device__ double bessel_cospi(double v) {
    return bessel_sinpi(0.5 - fabs(v - 2.0 * rint(0.5 * v)));
}

// Set j and y to J and Y of the order m in [-1/2, 3/2] at x > 0.  DLMF 10.9.10 with t = u + i gd(u).
__device__ void bessel_integral_jy(double m, double x, double &j, double &y) {
    double step = 0.12 / sqrt(1.0 + x / 12.0), real = 0.0, imag = 0.0;
    for (int k = 0; k < 20000; ++k) {
        double u = k * step, rate = x * sinh(u) * tanh(u);
        if (rate - fabs(m) * u > 42.0) break;
        double weight = exp(-rate) * (k ? step : 0.5 * step), slope = 1.0 / cosh(u);
        double angle = 2.0 * atan(tanh(0.5 * u)) * m;
        double p = cosh(m * u) * cos(angle), q = sinh(m * u) * sin(angle);
        real += weight * (p - slope * q);
        imag += weight * (q + slope * p);
    }
    double c = bessel_cospi(0.5 * m), s = bessel_sinpi(0.5 * m);
    double cosine = cos(x) * c + sin(x) * s, sine = sin(x) * c - cos(x) * s;  // of x - m pi / 2
    j = 2.0 / BESSEL_PI * (cosine * imag + sine * real);
    y = 2.0 / BESSEL_PI * (sine * imag - cosine * real);
}

// Set j and y to J and Y of the order v >= 0 at x > 0.
__device__ void bessel_positive_jy(double v, double x, double &j, double &y) {
    double n = rint(v), mu = v - n, j1, y1;
    bessel_integral_jy(mu, x, j, y);
    bessel_integral_jy(mu + 1.0, x, j1, y1);
    for (double k = mu + 1.0; k < v + 0.5; k += 1.0) {
        double next = 2.0 * k / x * y1 - y;
        y = y1, y1 = isinf(y1) ? y1 : next;
        next = 2.0 * k / x * j1 - j;
        j = j1, j1 = next;
    }
    if (v <= x) return;
    double ratio = 0.0;  // J of the order v + 1 divided by J of the order v: DLMF 10.10.1
    for (int k = 50 + (int)(10.0 * cbrt(x)); k > 0; --k) ratio = 1.0 / (2.0 * (v + k) / x - ratio);
    j = isinf(y1) ? 0.0 : 2.0 / (BESSEL_PI * x * (ratio * y - y1));  // DLMF 10.5.2
}

// Set i and k to exp(-x) I and exp(x) K of the order v >= 0 at x > 0.
__device__ void bessel_positive_ik(double v, double x, double &i, double &k) {
    double n = rint(v), mu = v - n, k1 = 0.0, step = 0.15 / sqrt(1.0 + x / 16.0);
    k = 0.0;
    for (int l = 0; l < 20000; ++l) {  // DLMF 10.32.9
        double u = l * step, half = sinh(0.5 * u), rate = 2.0 * x * half * half;
        if (rate - 1.5 * u > 42.0) break;
        double weight = exp(-rate) * (l ? step : 0.5 * step);
        k += weight * cosh(mu * u);
        k1 += weight * cosh((mu + 1.0) * u);
    }
    for (double l = mu + 1.0; l < v + 0.5; l += 1.0) {
        double next = 2.0 * l / x * k1 + k;
        k = k1, k1 = next;
    }
    if (x > 50.0 * (1.0 + v * v)) {  // Hankel's expansion: DLMF 10.40.1
        double term = 1.0 / sqrt(2.0 * BESSEL_PI * x);
        i = 0.0;
        for (int l = 1; l < 16; ++l) {
            i += term;
            term *= ((2 * l - 1) * (2 * l - 1) - 4.0 * v * v) / (8.0 * l * x);
        }
        return;
    }
    double ratio = 0.0;  // I of the order v + 1 divided by I of the order v: DLMF 10.33.1
    for (int l = 40 + (int)(9.0 * sqrt(x)); l > 0; --l) ratio = 1.0 / (2.0 * (v + l) / x + ratio);
    i = isinf(k1) ? 0.0 : 1.0 / (x * (k1 + ratio * k));  // DLMF 10.28.2
}

// Set j and y to J and Y of the order v at x.
__device__ void bessel_jy(double v, double x, double &j, double &y) {
    bool whole = v == rint(v);
    double parity = whole && fmod(fabs(v), 2.0) == 1.0 ? -1.0 : 1.0, a = fabs(v), z = fabs(x);
    j = y = nan("");
    if (isnan(x) || isinf(x) || !(a <= BESSEL_MOST) || (x < 0 && !whole)) return;
    if (x == 0.0) {
        j = v == 0.0 ? 1.0 : v > 0.0 || whole ? 0.0 : fmod(floor(v), 2.0) ? -log(0.0) : log(0.0);
        y = log(0.0);
    } else {
        bessel_positive_jy(a, z, j, y);
    }
    if (v < 0.0 && whole) {
        j *= parity, y *= parity;
    } else if (v < 0.0 && x > 0.0) {  // DLMF 10.4.1 with v and -v exchanged
        double c = bessel_cospi(a), s = bessel_sinpi(a), turned = c * j - s * y;
        y = s == 0.0 ? c * y : c == 0.0 ? s * j : s * j + c * y, j = turned;
    }
    if (x < 0.0) j *= parity, y = nan("");
}

// Set i and k to exp(-abs(x)) I and exp(x) K of the order v at x.
__device__ void bessel_ik(double v, double x, double &i, double &k) {
    bool whole = v == rint(v);
    double a = fabs(v), z = fabs(x);
    i = k = nan("");
    if (isnan(x) || isinf(x) || !(a <= BESSEL_MOST) || (x < 0 && !whole)) return;
    if (x == 0.0) {
        i = v == 0.0 ? 1.0 : v > 0.0 || whole ? 0.0 : -log(0.0);
        k = -log(0.0);
    } else {
        bessel_positive_ik(a, z, i, k);
        if (v < 0.0 && !whole) i += 2.0 / BESSEL_PI * bessel_sinpi(a) * exp(-2.0 * z) * k;  // DLMF 10.27.2
    }
    if (x < 0.0) i *= fmod(a, 2.0) == 1.0 ? -1.0 : 1.0, k = nan("");
}

__device__ double bessel_j(double v, double x) { double j, y; bessel_jy(v, x, j, y); return j; }
__device__ double bessel_y(double v, double x) { double j, y; bessel_jy(v, x, j, y); return y; }
__device__ double bessel_ie(double v, double x) { double i, k; bessel_ik(v, x, i, k); return i; }
__device__ double bessel_ke(double v, double x) { double i, k; bessel_ik(v, x, i, k); return k; }

__device__ double bessel_i(double v, double x) {
    double i = bessel_ie(v, x), half = exp(0.5 * fabs(x));  // exp(abs(x)) may overflow where I does not
    return i == 0.0 ? i : i * half * half;
}

__device__ double bessel_k(double v, double x) {
    return x > 800.0 * (1.0 + fabs(v)) ? 0.0 : exp(-x) * bessel_ke(v, x);
}

// Hankel functions of real argument: NaN for x <= 0.
__device__ complex<double> hankel_1(double v, double x) {
    double j, y;
    bessel_jy(v, x, j, y);
    return x > 0.0 ? complex<double>(j, y) : complex<double>(nan(""), nan(""));
}

__device__ complex<double> hankel_2(double v, double x) {
    complex<double> h = hankel_1(v, x);
    return complex<double>(h.real(), -h.imag());
}

__device__ complex<double> hankel_1e(double v, double x) {
    return hankel_1(v, x) * complex<double>(cos(x), -sin(x));
}

__device__ complex<double> hankel_2e(double v, double x) {
    return hankel_2(v, x) * complex<double>(cos(x), sin(x));
}

// Spherical Bessel functions of degree n at x >= 0: DLMF 10.47(ii).
__device__ double spherical_j(long n, double x) {
    if (n < 0) return nan("");
    if (x == 0.0 || isinf(x)) return x == 0.0 && n == 0 ? 1.0 : 0.0;
    return sqrt(0.5 * BESSEL_PI / x) * bessel_j(n + 0.5, x);
}

// Recurrence from the degrees -1 and 0, stable as the values grow with the degree: DLMF 10.51.1.
__device__ double spherical_y(long n, double x) {
    if (n < 0) return nan("");
    if (x == 0.0 || isinf(x)) return x == 0.0 ? log(0.0) : 0.0;
    double y = -cos(x) / x, before = sin(x) / x;
    for (long l = 0; l < n && !isinf(y); ++l) {
        double next = (2.0 * l + 1.0) / x * y - before;
        before = y, y = next;
    }
    return y;
}

__device__ double spherical_i(long n, double x) {
    if (n < 0) return nan("");
    if (x == 0.0 || isinf(x)) return x == 0.0 ? n == 0 : x;
    return sqrt(0.5 * BESSEL_PI / x) * bessel_i(n + 0.5, x);
}

// Recurrence from the degrees -1 and 0, which are equal: DLMF 10.51.4.
template <typename T>
__device__ T spherical_k(long n, T x) {
    T k = 0.5 * BESSEL_PI / x * exp(-x), before = k;
    for (long l = 0; l < n; ++l) {
        T next = before + (2.0 * l + 1.0) / x * k;
        before = k, k = next;
    }
    return n < 0 ? T(nan("")) : k;
}
