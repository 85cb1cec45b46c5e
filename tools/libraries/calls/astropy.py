"""Functions and models of astropy on plain arrays."""

from ..data import normal, uniform
from ..facts import NUMPY, Call, Library, call


def model(name: str, *inputs: object) -> Call:
    return call(f"modeling.models.{name}.evaluate", *inputs, name=f"models.{name}.evaluate")


X, A, B = uniform(4), uniform(4, seed=1), uniform(4, seed=2)
CALLS = [
    call("coordinates.angular_separation", X, A, B, A + 0.3),
    call("coordinates.position_angle", X, A, B, A + 0.3),
    call("coordinates.offset_by", X, A, B, A),
    model("Gaussian1D", X, A, B, A),
    model("Lorentz1D", X, A, B, A),
    model("Moffat1D", X, A, B, A, B + 1.0),
    model("Sersic1D", X, A, B, 2.0),
    model("PowerLaw1D", X, A, B, A),
    model("BrokenPowerLaw1D", X, A, B + 0.5, A, B),
    model("Exponential1D", X, A, B),
    model("Logarithmic1D", X, A, B),
    model("Sine1D", X, A, B, A),
    model("Linear1D", X, A, B),
    model("Gaussian2D", X, B, A, B, A, B + 0.2, A + 0.3, B),
    call("stats.biweight_location", normal(6)),
    call("stats.biweight_scale", normal(6)),
    call("stats.mad_std", normal(7)),
    call("stats.circmean", X),
    call("stats.circvar", X),
]
ANGLE = "astropy returns an `Angle`, which holds NumPy data"
CONVERTS = "astropy converts to NumPy"
REASONS = {
    "position_angle": ANGLE,
    "offset_by": ANGLE,
    **dict.fromkeys(("biweight_location", "biweight_scale", "mad_std"), CONVERTS),
}
LIBRARY = Library(
    "astropy", "astropy", NUMPY, CALLS, reasons=REASONS, backends=("arraytape",), recipe="astropy"
)
