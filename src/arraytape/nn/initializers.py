"""Initializers: the first values of layers' Variables, drawn by NumPy's generators.

An initializer is called with a shape, a dtype and a generator, and returns a NumPy array.  With a
seed of its own it ignores the generator.

>>> import arraytape as xp
>>> layer = xp.nn.Dense(64, kernel_initializer="he_normal", seed=0)
>>> orthogonal = xp.nn.initializers.Orthogonal(gain=2.0, seed=0)
>>> layer = xp.nn.Dense(64, kernel_initializer=orthogonal)
>>> orthogonal((3, 2)).shape
(3, 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._util.errors import describe, entrance, missing_from, raise_documented, short_repr, user_line

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Initializer", "LecunNormal",
    "LecunUniform", "Ones", "Orthogonal", "RandomNormal", "RandomUniform", "TruncatedNormal",
    "VarianceScaling", "Zeros", "get",
]  # fmt: skip

Host = np.ndarray[Any, np.dtype[Any]]
Seed = int | np.random.Generator | None
# The standard deviation of the standard normal distribution cut at -2 and 2.
CUT = 0.87962566103423978


class Initializer:
    """Base class of initializers; a subclass overrides ``draw``.

    Parameters
    ----------
    seed : int, numpy.random.Generator or None
        The seed of the values; if None, the layer's generator draws them.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> class Diagonal(xp.nn.initializers.Initializer):
    ...     def draw(self, shape, generator):
    ...         return np.eye(*shape)
    >>> layer = xp.nn.Dense(2, kernel_initializer=Diagonal())
    >>> print(layer(xp.asarray([[1.0, 2.0]])))
    [[1. 2.]]
    """

    def __init__(self, seed: Seed = None) -> None:
        try:
            np.random.default_rng(seed)  # raises now for a wrong seed, not at the first draw
        except Exception as error:
            raise_documented(error, type(self).__name__, seed=seed)
        self.seed = seed

    def __call__(
        self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64, generator: Seed = None
    ) -> Host:
        """Return a NumPy array of this shape and dtype."""
        drawn = np.random.default_rng(generator if self.seed is None else self.seed)
        return np.asarray(self.draw(tuple(shape), drawn)).astype(dtype)

    @entrance
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Host:
        """Draw the values; a subclass defines this.

        Parameters
        ----------
        shape : tuple[int, ...]
            The shape.
        generator : numpy.random.Generator
            The source of the random numbers.

        Returns
        -------
        numpy.ndarray
            In double precision.
        """
        raise NotImplementedError(f"{type(self).__name__} has no draw()")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={short_repr(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({given})"


class Constant(Initializer):
    """An initializer that returns one number everywhere.

    Parameters
    ----------
    value : float, default 0
        The number.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.nn.initializers.Constant(0.5)((2, 2))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> layer = xp.nn.Dense(2, bias_initializer=xp.nn.initializers.Constant(0.5))
    """

    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        self.value = finite_number("Constant", "value", value)

    @entrance
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Host:
        return np.full(shape, self.value)


class Zeros(Constant):
    """An initializer that returns zeros.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.nn.initializers.Zeros()((2,))
    array([0., 0.])
    """

    def __init__(self) -> None:
        super().__init__(0.0)


class Ones(Constant):
    """An initializer that returns ones.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.nn.initializers.Ones()((2,))
    array([1., 1.])
    """

    def __init__(self) -> None:
        super().__init__(1.0)


class RandomNormal(Initializer):
    """An initializer that draws from a normal distribution.

    Parameters
    ----------
    mean : float, default 0
        The mean.
    stddev : float, default 0.05
        The standard deviation.
    seed : int, numpy.random.Generator or None
        The seed of the values; if None, the layer's generator draws them.

    Examples
    --------
    >>> import arraytape as xp
    >>> values = xp.nn.initializers.RandomNormal(stddev=0.1, seed=0)((100, 100))
    >>> bool(abs(values.std() - 0.1) < 1e-2)
    True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Seed = None) -> None:
        super().__init__(seed)
        self.mean = finite_number(type(self).__name__, "mean", mean)
        self.stddev = finite_number(type(self).__name__, "stddev", stddev, 0.0)

    @entrance
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Host:
        return generator.normal(self.mean, self.stddev, shape)


class TruncatedNormal(RandomNormal):
    """An initializer that draws from a normal distribution cut at two standard deviations from its mean.

    Parameters
    ----------
    mean : float, default 0
        The mean.
    stddev : float, default 0.05
        The standard deviation before the cut.
    seed : int, numpy.random.Generator or None
        The seed of the values; if None, the layer's generator draws them.

    Examples
    --------
    >>> import arraytape as xp
    >>> values = xp.nn.initializers.TruncatedNormal(stddev=0.1, seed=0)((100, 100))
    >>> bool(abs(values).max() <= 0.2)
    True
    """

    @entrance
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Host:
        drawn = generator.normal(size=shape)
        while (outside := np.abs(drawn) > 2.0).any():
            drawn = np.where(outside, generator.normal(size=shape), drawn)
        return self.mean + self.stddev * drawn


class RandomUniform(Initializer):
    """An initializer that draws from a uniform distribution.

    Parameters
    ----------
    minval, maxval : float, default -0.05 and 0.05
        The ends of the interval.
    seed : int, numpy.random.Generator or None
        The seed of the values; if None, the layer's generator draws them.

    Examples
    --------
    >>> import arraytape as xp
    >>> values = xp.nn.initializers.RandomUniform(-0.1, 0.1, seed=0)((100, 100))
    >>> bool(abs(values).max() <= 0.1)
    True
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Seed = None) -> None:
        super().__init__(seed)
        self.minval = finite_number("RandomUniform", "minval", minval)
        self.maxval = finite_number("RandomUniform", "maxval", maxval, self.minval)

    @entrance
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Host:
        return generator.uniform(self.minval, self.maxval, shape)


class VarianceScaling(Initializer):
    """An initializer whose variance is ``scale / n``, n the number of inputs or outputs.

    Parameters
    ----------
    scale : float, default 1
        The factor.
    mode : {"fan_in", "fan_out", "fan_avg"}
        The meaning of n: the inputs of each output, the outputs of each input, or their mean.
    distribution : {"truncated_normal", "untruncated_normal", "uniform"}
        The kind of distribution.
    seed : int, numpy.random.Generator or None
        The seed of the values; if None, the layer's generator draws them.

    References
    ----------
    He, Zhang, Ren and Sun 2015, "Delving deep into rectifiers", section 2.2.

    Examples
    --------
    >>> import arraytape as xp
    >>> initializer = xp.nn.initializers.VarianceScaling(2.0, "fan_out", "uniform", seed=0)
    >>> values = initializer((400, 100))
    >>> bool(abs(values.std() - (2.0 / 100) ** 0.5) < 1e-2)
    True
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal",
        seed: Seed = None,
    ) -> None:  # fmt: skip
        super().__init__(seed)
        owner = type(self).__name__
        kinds = ("truncated_normal", "untruncated_normal", "uniform")
        self.scale = finite_number(owner, "scale", scale, 0.0)
        self.mode = named_option(owner, "mode", mode, ("fan_in", "fan_out", "fan_avg"))
        self.distribution = named_option(owner, "distribution", distribution, kinds)

    @entrance
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Host:
        inputs, outputs = count_fans(shape)
        counts = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}
        count = max(1.0, counts[self.mode])
        variance = self.scale / count
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * self.scale / count)
            return generator.uniform(-limit, limit, shape)
        if self.distribution == "untruncated_normal":
            return generator.normal(0.0, math.sqrt(variance), shape)
        return TruncatedNormal(0.0, math.sqrt(variance) / CUT).draw(shape, generator)


class Scaled(VarianceScaling):
    """A ``VarianceScaling`` whose scale, mode and distribution are fixed by its class."""

    _of_class: ClassVar[tuple[float, str, str]]

    def __init__(self, seed: Seed = None) -> None:
        super().__init__(*self._of_class, seed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={short_repr(self.seed)})"


SCALED = """{title}

    Parameters
    ----------
    seed : int, numpy.random.Generator or None
        The seed of the values; if None, the layer's generator draws them.

    References
    ----------
    {source}.

    Examples
    --------
    >>> import arraytape as xp
    >>> initializer = xp.nn.initializers.{example}(seed=0)
    >>> values = initializer((400, 100))
    >>> bool(abs(values.std() - ({variance}) ** 0.5) < 1e-3)
    True
    """
GLOROT = """Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural
    networks", equation"""
HE = 'He, Zhang, Ren and Sun 2015, "Delving deep into rectifiers", equation 10'
LECUN = 'LeCun, Bottou, Orr and Müller 1998, "Efficient BackProp", equation 16'


class GlorotUniform(Scaled):
    __doc__ = SCALED.format(
        title="Glorot's uniform distribution: variance ``2 / (inputs + outputs)``.",
        source=f"{GLOROT} 16", example="GlorotUniform", variance="2 / (400 + 100)",
    )  # fmt: skip
    _of_class = (1.0, "fan_avg", "uniform")


class GlorotNormal(Scaled):
    __doc__ = SCALED.format(
        title="Glorot's variance, ``2 / (inputs + outputs)``, of a truncated normal distribution.",
        source=f"{GLOROT} 12", example="GlorotNormal", variance="2 / (400 + 100)",
    )  # fmt: skip
    _of_class = (1.0, "fan_avg", "truncated_normal")


class HeUniform(Scaled):
    __doc__ = SCALED.format(
        title="He's uniform distribution: variance ``2 / inputs``, for ``relu``.",
        source=HE, example="HeUniform", variance="2 / 400",
    )  # fmt: skip
    _of_class = (2.0, "fan_in", "uniform")


class HeNormal(Scaled):
    __doc__ = SCALED.format(
        title="He's variance, ``2 / inputs``, of a truncated normal distribution.",
        source=HE, example="HeNormal", variance="2 / 400",
    )  # fmt: skip
    _of_class = (2.0, "fan_in", "truncated_normal")


class LecunUniform(Scaled):
    __doc__ = SCALED.format(
        title="LeCun's uniform distribution: variance ``1 / inputs``.",
        source=LECUN, example="LecunUniform", variance="1 / 400",
    )  # fmt: skip
    _of_class = (1.0, "fan_in", "uniform")


class LecunNormal(Scaled):
    __doc__ = SCALED.format(
        title="LeCun's variance, ``1 / inputs``, of a truncated normal distribution.",
        source=LECUN, example="LecunNormal", variance="1 / 400",
    )  # fmt: skip
    _of_class = (1.0, "fan_in", "truncated_normal")


class Orthogonal(Initializer):
    """A random matrix with orthonormal columns, times a factor; a wide matrix has orthonormal rows.

    A shape of more than two axes is a matrix whose columns lie along the last axis.

    Parameters
    ----------
    gain : float, default 1
        The factor.
    seed : int, numpy.random.Generator or None
        The seed of the values; if None, the layer's generator draws them.

    References
    ----------
    Saxe, McClelland and Ganguli 2014, "Exact solutions to the nonlinear dynamics of learning in deep
    linear neural networks".  Mezzadri 2007, "How to generate random matrices from the classical
    compact groups", section 5, for the signs.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> q = xp.nn.initializers.Orthogonal(seed=0)((3, 2))
    >>> bool(np.allclose(q.T @ q, np.eye(2)))
    True
    """

    def __init__(self, gain: float = 1.0, seed: Seed = None) -> None:
        super().__init__(seed)
        self.gain = finite_number("Orthogonal", "gain", gain)

    @entrance
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Host:
        if len(shape) < 2:
            raise ValueError(
                f"Orthogonal: needs at least two axes, got the shape {shape} [at {user_line()}]"
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = generator.normal(size=(max(rows, columns), min(rows, columns)))
        q, r = np.linalg.qr(drawn)
        q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)
        return self.gain * (q if rows >= columns else q.T).reshape(shape)


NAMES: dict[str, Callable[[], Initializer]] = {
    "constant": Constant, "glorot_normal": GlorotNormal, "glorot_uniform": GlorotUniform,
    "he_normal": HeNormal, "he_uniform": HeUniform, "lecun_normal": LecunNormal,
    "lecun_uniform": LecunUniform, "normal": RandomNormal, "ones": Ones, "orthogonal": Orthogonal,
    "random_normal": RandomNormal, "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal, "uniform": RandomUniform, "variance_scaling": VarianceScaling,
    "zeros": Zeros,
}  # fmt: skip


def get(identifier: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return the initializer for the argument ``identifier`` of a layer.

    Parameters
    ----------
    identifier : str or callable
        A name such as ``"he_normal"``, or an initializer: a function of a shape, a dtype and a
        ``numpy.random.Generator`` that returns an array.

    Returns
    -------
    callable
        The initializer.

    Raises
    ------
    TypeError
        When ``identifier`` is neither.
    ValueError
        When there is no such name.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.nn.initializers.get("he_normal")
    HeNormal(seed=None)
    """
    if isinstance(identifier, type) and issubclass(identifier, Initializer):
        return identifier()
    if callable(identifier):
        return identifier
    if not isinstance(identifier, str):
        raise TypeError(
            f"an initializer must be a name or a function, got {describe(identifier)} "
            f"[at {user_line()}]"
        )
    return NAMES[named_option("initializers", "name", identifier, tuple(NAMES))]()


def count_fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return (fan_in, fan_out) of a kernel: the inputs of each output, and the outputs of each input."""
    if len(shape) < 2:
        return (math.prod(shape), math.prod(shape))
    field = math.prod(shape[:-2])
    return field * shape[-2], field * shape[-1]


def real_number(owner: str, name: str, value: float) -> float:
    """Check that the option ``name`` is a number, and return it as a float, which may be infinite.

    owner : the class or function that has the option, for the message.  NaN raises TypeError, too.
    """
    try:
        given = float(value)
    except (TypeError, ValueError, OverflowError):
        given = math.nan
    if isinstance(value, str) or math.isnan(given):
        raise TypeError(
            f"{owner}: {name} must be a number, got {describe(value)} [at {user_line()}]"
        )
    return given


def finite_number(owner: str, name: str, value: float, least: float = -math.inf) -> float:
    """Check that the option ``name`` of ``owner`` is finite and at least ``least``, and return it."""
    given = real_number(owner, name, value)
    if math.isinf(given) or given < least:
        said = "finite" if least == -math.inf else f"finite and at least {least}"
        raise ValueError(f"{owner}: {name} must be {said}, got {value} [at {user_line()}]")
    return given


def named_option(owner: str, name: str, value: str, names: tuple[str, ...]) -> str:
    """Check that ``value``, the option ``name`` of ``owner``, is one of ``names``, and return it."""
    if not isinstance(value, str) or value not in names:
        raise ValueError(
            f"{owner}: no {name} {short_repr(value)}; there are {', '.join(names)} [at {user_line()}]"
        )
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = missing_from(__name__, "nn")
