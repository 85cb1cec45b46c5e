"""Dropout: elements set to zero at random, from a key and a count that a Variable holds.

The random numbers of a call are a function of a key and of the number of calls; no generator has a state
that changes.  A checkpoint holds both, so a resumed run continues with the same numbers, and
``xp.function`` replays new numbers in each call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arraytape as xp

from .._array.array import Array, wrap
from .._array.views import peek
from .._define.define_op import unregistered_op
from .._storage.storage import storage_of
from .._util.errors import describe, raise_documented, user_line
from ..variable import Variable, detached
from . import initializers
from .layers import Layer, Seed, integer_option, training_option
from .libraries import as_library_floats, library_constant, library_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import RawArray


class Dropout(Layer):
    """A layer that sets elements to zero at random in training, and scales the others to keep the mean.

    With ``training=True`` each element is 0 with probability ``rate``, else divided by ``1 - rate``.
    Without ``training=True`` the data stay as they are.

    Parameters
    ----------
    rate : float
        The probability with which an element is set to zero, in [0, 1).
    noise_shape : tuple of int or None, optional
        The shape of the random numbers, with None for an axis as long as the data's.  Along an axis of
        length 1, all elements are kept or set to zero together.
    seed : int, numpy.random.Generator or None
        The seed of the key, which is drawn once, when the layer is made.
    name : str, optional
        The layer's name in messages, and the first part of its Variable's name.

    Notes
    -----
    The state is the Variable ``seed_generator_state``: the key and the number of calls.  A call may be
    given its own key, one or two integers.  For example, ``layer(x, training=True, key=7)`` sets
    the same elements to zero each time, and does not change the state.  Under ``vmap`` all examples have
    the same elements set to zero.  Within ``jax.jit`` each call would repeat the random numbers of the
    trace, so a call with ``training=True`` is an error there.

    References
    ----------
    Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting".
    Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", for the generator Philox.

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.Dropout(0.5, seed=0)
    >>> print(layer(xp.ones(4), training=True, key=1))
    [0. 2. 0. 0.]
    >>> print(layer(xp.ones(4)))
    [1. 1. 1. 1.]
    """

    least_axes = 0
    _no_weights = ("seed_generator_state",)

    def __init__(
        self, rate: float, noise_shape: tuple[int | None, ...] | None = None, seed: Seed = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        self.built = True  # its only Variable is made below
        self.rate = initializers.finite_number("Dropout", "rate", rate, 0.0)
        if self.rate >= 1.0:
            raise ValueError(f"Dropout: rate must lie in [0, 1), got {rate} [at {user_line()}]")
        self.noise_shape = noise_shape_of(noise_shape)
        key = np.random.default_rng(seed).integers(2**63 - 1)
        self.seed_generator_state = Variable(
            xp.asarray(np.array([key, 0]), device="cpu"), False, f"{self.name}/seed_generator_state"
        )

    def call(
        self, x: Any, training: bool | None = False, key: Array | npt.ArrayLike | None = None
    ) -> Array:
        """Set elements to zero when ``training`` is True.

        Parameters
        ----------
        x : Array
            The data.
        training : bool or None, default False
            If False or None, the data are returned unchanged.
        key : Array or array_like, optional
            One or two integers that determine the random numbers, in place of the state.

        Returns
        -------
        Array
            Of the shape of ``x``.

        Raises
        ------
        TypeError
            When ``training`` is neither True, False nor None, or the key does not hold integers.
        ValueError
            When the shape of the random numbers does not fit.
        RuntimeError
            When ``training`` is True within ``jax.jit``.
        """
        library = library_of(self.name, x)
        if not training_option(self.name, training):
            return x
        x = as_library_floats(library, x)
        if not self.rate:
            return x
        if type(x).__name__ == "DynamicJaxprTracer":
            raise RuntimeError(
                f"{self.name}: within jax.jit the random numbers would be the same in each call; "
                f"multiply by a mask that is an argument instead [at {user_line()}]"
            )
        key, shape = self._key(key), self._noise_shape(x)
        if isinstance(x, Array) and storage_of(peek(x)).fusing:
            drawn = storage_of(peek(x)).uniforms(philox_key(peek(key)), shape, x.device)
            numbers = wrap(drawn)
        else:
            numbers = uniforms(key, shape=shape)
        if isinstance(x, Array):
            kept = numbers.to_device(x.device) >= self.rate
        else:
            kept = library_constant(library, np.asarray(numbers) >= self.rate, x)
        scale = 1.0 / (1.0 - self.rate)
        return library.where(kept, x * scale, library.zeros_like(x))

    def _key(self, given: Array | npt.ArrayLike | None) -> Array:
        """Return ``given`` as a key, or for None the layer's own (key, calls), and count this call."""
        if given is None:
            state = detached(self.seed_generator_state)
            self.seed_generator_state.assign(state + xp.asarray([0, 1], device="cpu"))
            return state
        try:
            key = detached(given) if isinstance(given, Array) else xp.asarray(given)
        except Exception as error:
            raise_documented(error, f"{self.name}: key", given)
        if key.dtype.kind not in "iu" or key.ndim > 1 or not 1 <= key.size <= 2:
            raise TypeError(
                f"{self.name}: the key must be an integer or an Array of one or two integers, got "
                f"{describe(given)} [at {user_line()}]"
            )
        return key.to_device("cpu")

    def _noise_shape(self, x: RawArray) -> tuple[int, ...]:
        shape = tuple(x.shape)
        if self.noise_shape is None:
            return shape
        wanted = self.noise_shape
        fits = len(wanted) == len(shape) and all(
            length in (None, 1, n) for length, n in zip(wanted, shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"{self.name}: noise_shape {wanted} does not fit {describe(x)} [at {user_line()}]"
            )
        return tuple(
            n if length is None else length for length, n in zip(wanted, shape, strict=True)
        )


def noise_shape_of(given: tuple[int | None, ...] | None) -> tuple[int | None, ...] | None:
    """Return noise_shape as a tuple; raise an error unless it has positive integers or None."""
    if given is None:
        return None
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"Dropout: noise_shape must be None or a tuple, got {describe(given)} [at {user_line()}]"
        )
    return tuple(None if n is None else integer_option("Dropout", "noise_shape", n) for n in given)


def draw_uniforms(key: npt.ArrayLike, shape: tuple[int, ...] = ()) -> Any:
    """Return random numbers in [0, 1) that depend only on the key and the shape."""
    words = np.asarray(philox_key(key), np.uint64)
    return np.random.Generator(np.random.Philox(key=words)).random(tuple(shape))


def philox_key(key: npt.ArrayLike) -> tuple[int, int]:
    """Return a key of one or two integers as the two 64-bit words of NumPy's ``Philox`` generator."""
    given = np.asarray(key).reshape(-1).astype(np.int64).view(np.uint64).tolist()
    return given[0], given[1] if len(given) > 1 else 0


uniforms = unregistered_op("uniforms", draw_uniforms)
