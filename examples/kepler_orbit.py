"""Fit the orbit of Mars.

Kepler's twelve oppositions and Kepler's equation give the orbit, with errors.

    python examples/kepler_orbit.py --out kepler_orbit.png

At an opposition, the Earth lies between the Sun and a planet, so that the planet is seen in the same
direction as from the Sun. Tycho Brahe and Kepler measured twelve oppositions of Mars from 1580 to 1604,
to a few minutes of arc, and Kepler derived the ellipse from them. Here scipy.optimize.least_squares
fits the period, the eccentricity, the perihelion and the longitude in 1600. The position at a time is
the root of Kepler's equation, which scipy.optimize.newton finds and `arraytape.implicit.custom_root`
differentiates. The exact Jacobian also gives the standard errors and a band around the curve. A uniform
motion on a circle whose centre is not the Sun is fitted in the same way, and is wrong by half a degree.

The fit is compared with the modern elements for 1590, and the Jacobian with central differences. The
standard errors measure the scatter of the twelve oppositions. They do not include errors that all twelve
have in common, such as those of the theory of the Sun from which the times were computed. Therefore
period, longitude and perihelion differ from the modern values by several standard errors.

Source of the observations: Kepler 1609, "Astronomia nova", ch. 15; of the elements: Meeus 1998,
"Astronomical algorithms", table 31.A, mean equinox of the date.
"""

import sys

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import parser_with_out, verdict
from scipy.optimize import least_squares, newton

import arraytape as xp
from arraytape import implicit

# Year, month, day, hour and minute, in the Julian calendar; longitude in signs, degrees, ' and ".
OPPOSITIONS = np.array(
    [
        (1580, 11, 18, 1, 31, 2, 6, 28, 35), (1582, 12, 28, 3, 58, 3, 16, 55, 30),
        (1585, 1, 30, 19, 14, 4, 21, 36, 10), (1587, 3, 6, 7, 23, 5, 25, 43, 0),
        (1589, 4, 14, 6, 23, 7, 4, 23, 0), (1591, 6, 8, 7, 43, 8, 26, 43, 0),
        (1593, 8, 25, 17, 27, 11, 12, 16, 0), (1595, 10, 31, 0, 39, 1, 17, 31, 40),
        (1597, 12, 13, 15, 44, 3, 2, 28, 0), (1600, 1, 18, 14, 2, 4, 8, 38, 0),
        (1602, 2, 20, 14, 13, 5, 12, 27, 0), (1604, 3, 28, 16, 23, 6, 18, 37, 10),
    ]
)  # fmt: skip
NAMES = "period (days)", "longitude in 1600", "eccentricity", "perihelion"
UNITS = np.array([1.0, 180.0 / np.pi, 1.0, 180.0 / np.pi])  # conversion to the units of the table
MINUTE = np.pi / (180.0 * 60.0)  # a minute of arc in radians
TOLERANCE = 1e-6  # for the largest relative difference between Jacobian and central differences


def days_since_1600(year, month, day, hour, minute):
    """Return the days since noon of 1 January 1600; all dates are in the Julian calendar.

    Source: Meeus 1998, "Astronomical algorithms", eq. 7.1, without the Gregorian correction.
    """
    late = month > 2
    year, month = np.where(late, year, year - 1), np.where(late, month, month + 12)
    whole = np.floor(365.25 * (year + 4716)) + np.floor(30.6001 * (month + 1)) + day - 1524.5
    return whole + (hour + minute / 60.0) / 24.0 - 2305458.0


def observed():
    """Return times in days, and longitudes in radians that keep growing from turn to turn."""
    times = days_since_1600(*OPPOSITIONS.T[:5])
    sign, degree, minute, second = OPPOSITIONS.T[5:]
    seen = np.radians(30.0 * sign + degree + minute / 60.0 + second / 3600.0)
    turns = np.round((times - times[0]) / 687.0 - (seen - seen[0]) / (2.0 * np.pi))
    return times, seen + 2.0 * np.pi * turns


def anomaly_equation(anomaly, mean, eccentricity):
    """Return the residual of Kepler's equation, in which the mean anomaly is linear in time.

    Source: Astronomia nova, ch. 60.
    """
    return anomaly - eccentricity * xp.sin(anomaly) - mean


@implicit.custom_root(anomaly_equation)
def eccentric_anomaly(start, mean, eccentricity):
    """Solve Kepler's equation for all times at once, by SciPy's Newton method on NumPy data."""
    mean, e = np.asarray(mean), float(eccentricity)
    return newton(
        lambda x: x - e * np.sin(x) - mean, np.asarray(start), lambda x: 1 - e * np.cos(x)
    )


def ellipse(p, times):
    """Return the longitudes of a planet on an ellipse, by Kepler's laws."""
    period, in_1600, e, perihelion = p[0], p[1], p[2], p[3]
    mean = 2.0 * np.pi * times / period + in_1600 - perihelion
    x = eccentric_anomaly(xp.stop_gradient(mean), mean, e)
    # Half the difference between the true and the eccentric anomaly, which has no jumps.
    half = xp.atan2(e * xp.sin(x), 1.0 + xp.sqrt(1.0 - e**2) - e * xp.cos(x))
    return perihelion + x + 2.0 * half


def circle(p, times):
    """Return the longitudes of a planet in uniform motion on a circle whose centre is not the Sun."""
    period, in_1600, e, perihelion = p[0], p[1], p[2], p[3]
    mean = 2.0 * np.pi * times / period + in_1600 - perihelion
    return perihelion + mean + xp.atan2(e * xp.sin(mean), 1.0 - e * xp.cos(mean))


def fit(model, times, seen):
    """Fit a model by least squares; return parameters, residuals and the covariance."""

    def residuals(p):
        return (model(p, xp.asarray(times)) - seen) / MINUTE

    near = int(np.argmin(np.abs(times)))
    start = [687.0, seen[near] - 2.0 * np.pi * times[near] / 687.0, 0.05, -0.5]
    how = {"jac": xp.jacobian(residuals), "x_scale": "jac", "xtol": 1e-12, "ftol": 1e-12}
    found = least_squares(residuals, start, **how)
    variance = 2.0 * found.cost / (times.size - found.x.size)
    covariance = variance * np.linalg.inv(found.jac.T @ found.jac)
    steps = np.diag([1e-3, 1e-5, 1e-5, 1e-5])
    central = [np.asarray(residuals(found.x + e) - residuals(found.x - e)) / 2.0 for e in steps]
    central = np.stack(central, axis=1) / np.diag(steps)
    worst = np.max(np.abs(found.jac - central) / np.max(np.abs(central), axis=0))
    return found.x, found.fun, covariance, worst


def modern_elements():
    """Return the modern elements of Mars for 1590, referred to the mean equinox of that date.

    The period is 360 degrees divided by the present rate of the mean longitude.
    """
    century = (1590.0 - 2000.0) / 100.0
    rate = 19141.6964746 + 2.0 * 0.00031097 * century  # degrees per century
    in_1600 = 355.433275 + 19141.6964746 * -3.99964 + 0.00031097 * 3.99964**2
    eccentricity = 0.09340062 + 0.000090483 * century - 0.0000000806 * century**2
    perihelion = 336.060234 + 1.8410331 * century + 0.00013515 * century**2
    return np.array([36525.0 * 360.0 / rate, in_1600 % 360.0, eccentricity, perihelion])


def draw(p, covariance, rests, times, seen, out) -> None:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13, 5), width_ratios=(1, 1.6), layout="constrained"
    )
    anomalies = np.linspace(0.0, 2.0 * np.pi, 400)
    e, perihelion = p[2], p[3]

    def place(longitude):
        """Return the position on the ellipse, with the Sun at the origin and a semi-major axis of 1."""
        r = (1.0 - e**2) / (1.0 + e * np.cos(longitude - perihelion))
        return r * np.cos(longitude), r * np.sin(longitude)

    left.plot(*place(anomalies), color="tab:red", label="the ellipse that was fitted")
    middle = -e * np.cos(perihelion), -e * np.sin(perihelion)
    left.plot(0.0, 0.0, "o", color="tab:orange", markersize=10, label="the Sun")
    left.plot(*middle, "+", color="black", label="the ellipse's centre")
    for longitude, (year, *_) in zip(seen, OPPOSITIONS, strict=True):
        x, y = place(longitude)
        left.plot(x, y, "o", color="black", markersize=4)
        left.annotate(str(year), (1.13 * x, 1.13 * y), ha="center", va="center", fontsize=8)
    left.set(title="Twelve oppositions of Mars", aspect="equal", xticks=[], yticks=[])
    left.set(xlim=(-1.4, 1.4), ylim=(-1.7, 1.3))
    left.legend(loc="lower center", fontsize="small")

    span = np.linspace(times[0] - 200.0, times[-1] + 200.0, 400)
    slopes = np.asarray(xp.jacobian(lambda p: ellipse(p, xp.asarray(span)))(xp.asarray(p))) / MINUTE
    error = 2.0 * np.sqrt(np.einsum("ti,ij,tj->t", slopes, covariance, slopes))
    years = 1600.0 + span / 365.25
    right.fill_between(years, -error, error, color="tab:red", alpha=0.2, label="its two errors")
    styles = {"even circle": ("x", "black"), "Kepler's ellipse": ("o", "tab:red")}
    for name, (marker, color) in styles.items():
        right.plot(1600.0 + times / 365.25, rests[name], marker, color=color, label=name)
    right.axhline(0.0, color="black", linewidth=0.8)
    right.set(title="What is left over", xlabel="year", ylabel="model less observed (arc minutes)")
    right.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "kepler_orbit.png")
    options = parser.parse_args(arguments)
    times, seen = observed()
    fits = {name: fit(model, times, seen) for name, model in MODELS.items()}
    p, _, covariance, _ = fits["Kepler's ellipse"]
    errors = UNITS * np.sqrt(np.diag(covariance))
    print(f"{'Mars':<20}{'fitted':>12}{'error':>10}{'modern':>12}")
    for i, (name, modern) in enumerate(zip(NAMES, modern_elements(), strict=True)):
        value = UNITS[i] * p[i] % (360.0 if i % 2 else np.inf)
        print(f"{name:<20}{value:>12.4f}{errors[i]:>10.4f}{modern:>12.4f}")
    print(f"\n{'left over':<20}{'rms':>12}{'largest':>10}   arc minutes")
    for name, (_, rest, _, _) in fits.items():
        print(f"{name:<20}{np.sqrt(np.mean(rest**2)):>12.2f}{np.max(np.abs(rest)):>10.2f}")
    draw(
        p,
        covariance,
        {name: rest for name, (_, rest, *_) in fits.items()},
        times,
        seen,
        options.out,
    )
    return verdict(max(worst for *_, worst in fits.values()), TOLERANCE, options.out)


MODELS = {"even circle": circle, "Kepler's ellipse": ellipse}

if __name__ == "__main__":
    sys.exit(main())
