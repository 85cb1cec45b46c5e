"""Attention: means of values, weighted by the products of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .._util.errors import describe, user_line
from .activations import softmax
from .dropout import Dropout
from .layers import Affine, Initial, Layer, Seed, array_from_numpy, boolean_option, integer_option
from .libraries import constant_like, dtype_kind, is_free_to_read, library_constant, library_of
from .losses import asarray_like

if TYPE_CHECKING:
    from .._array.array import Array
    from .._util.array_types import RawArray


class HeadProjection(Affine):
    """A layer inside of ``MultiHeadAttention`` that multiplies the last axes of the data by a kernel.

    Three of them compute queries, keys and values of all heads, and a fourth joins the heads.

    Parameters
    ----------
    contracted : int
        The number of axes of the data that the product sums over.
    shape : tuple of int
        The axes of the result that take their place.
    """

    def __init__(
        self, contracted: int, shape: tuple[int, ...], use_bias: bool, kernel_initializer: Initial,
        bias_initializer: Initial, name: str, seed: Seed,
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        self.contracted, self.shape = contracted, shape
        self._input_axis = contracted - 1
        self._set("MultiHeadAttention", None, use_bias, kernel_initializer, bias_initializer)

    def make(self, x: RawArray) -> None:
        shape = (*x.shape[-self.contracted :], *self.shape)
        self.add_weight("kernel", shape, x, self.kernel_initializer)
        if self.use_bias:
            self.add_weight("bias", self.shape, x, self.bias_initializer)

    def call(self, x: RawArray) -> Array:
        library, x, kernel = self._operands(x)
        kept, inputs = x.shape[: -self.contracted], math.prod(kernel.shape[: self.contracted])
        weights = library.reshape(kernel, (inputs, math.prod(self.shape)))
        y = library.reshape(x, (*kept, inputs)) @ weights
        return self._activated(library.reshape(y, (*kept, *self.shape)), x)


class MultiHeadAttention(Layer):
    """Attention of several heads: each is a mean of values, weighted by products of queries and keys.

    ``softmax(query @ key.T / sqrt(key_dim)) @ value`` for projections of the data, then a projection of
    all heads to the length of the query.

    Parameters
    ----------
    num_heads : int
        The number of heads.
    key_dim : int
        The length of a head's queries and keys.
    value_dim : int, optional
        The length of a head's values; by default ``key_dim``.
    dropout : float, default 0
        The probability with which a weight is set to zero in training.
    use_bias : bool, default True
        If True, the projections add a bias.
    output_shape : int, optional
        The length of the result's last axis; by default that of the query.
    kernel_initializer : str or callable, default "glorot_uniform"
        The first values of the kernels: see ``arraytape.nn.initializers``.
    bias_initializer : str or callable, default "zeros"
        The first values of the biases.
    seed : int, numpy.random.Generator or None
        The seed of the kernels and of the dropout.
    name : str, optional
        The layer's name in messages.

    References
    ----------
    Vaswani et al. 2017, "Attention is all you need", section 3.2.

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.MultiHeadAttention(num_heads=2, key_dim=4, seed=0)
    >>> query, value = xp.ones((3, 5, 6)), xp.ones((3, 7, 8))
    >>> layer(query, value).shape
    (3, 5, 6)
    >>> y, weights = layer(query, value, use_causal_mask=True, return_attention_scores=True)
    >>> print(weights[0, 0, 1, :])
    [0.5 0.5 0.  0.  0.  0.  0. ]
    """

    least_axes = 2

    def __init__(
        self, num_heads: int, key_dim: int, value_dim: int | None = None, dropout: float = 0.0,
        use_bias: bool = True, output_shape: int | None = None,
        kernel_initializer: Initial = "glorot_uniform", bias_initializer: Initial = "zeros",
        seed: Seed = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        owner = "MultiHeadAttention"
        heads = self.num_heads = integer_option(owner, "num_heads", num_heads)
        self.key_dim = integer_option(owner, "key_dim", key_dim)
        given = key_dim if value_dim is None else value_dim
        self.value_dim = integer_option(owner, "value_dim", given)
        self.output_shape = (
            None if output_shape is None else integer_option(owner, "output_shape", output_shape)
        )
        self.dropout_layer = Dropout(dropout, seed=seed)
        # One generator, so that the projections differ.
        shared = np.random.default_rng(seed)

        def projection(contracted: int, shape: tuple[int, ...], part: str) -> HeadProjection:
            return HeadProjection(
                contracted, shape, use_bias, kernel_initializer, bias_initializer,
                f"{self.name}/{part}", shared,
            )  # fmt: skip

        self.query_dense = projection(1, (heads, self.key_dim), "query")
        self.key_dense = projection(1, (heads, self.key_dim), "key")
        self.value_dense = projection(1, (heads, self.value_dim), "value")
        self.output_dense = projection(2, (0,), "attention_output")

    def build(self, query: Any, value: Any = None, key: Any = None) -> None:
        """Make the Variables, unless they exist, as the first call does.

        Parameters
        ----------
        query : Array or tuple of int
            Data like those of a call, or their shape: see ``Layer.build``.
        value : Array or tuple of int, optional
            The same for the values; by default as ``query``.
        key : Array or tuple of int, optional
            The same for the keys; by default as ``value``.
        """
        value = query if value is None else value
        x, key = self._first_data, value if key is None else key
        self.make(x)
        heads = self.num_heads, self.value_dim
        lengths = [(tuple(getattr(like, "shape", like))[-1],) for like in (query, key, value)]
        for dense, shape in zip(self._projections(), [*lengths, heads], strict=True):
            dense.build(constant_like(library_of(self.name, x), (1, *shape), 0.0, x))

    def _build_for_call(self, x: Any) -> None:
        """Prepare the first call; in it the projections, which are layers, make their Variables."""
        self._make_variables(x, lambda: self.make(x))

    def _projections(self) -> tuple[HeadProjection, ...]:
        return self.query_dense, self.key_dense, self.value_dense, self.output_dense

    def make(self, x: RawArray) -> None:
        self.output_dense.shape = (self.output_shape or x.shape[-1],)

    @overload
    def call(
        self, query: Any, value: Any, key: Any = None, attention_mask: Any = None,
        return_attention_scores: Literal[False] = False, training: bool = False,
        use_causal_mask: bool = False,
    ) -> Array: ...  # fmt: skip
    @overload
    def call(
        self, query: Any, value: Any, key: Any = None, attention_mask: Any = None,
        return_attention_scores: bool = False, training: bool = False, use_causal_mask: bool = False,
    ) -> Any: ...  # fmt: skip
    def call(
        self, query: Any, value: Any, key: Any = None, attention_mask: Any = None,
        return_attention_scores: bool = False, training: bool | None = False,
        use_causal_mask: bool = False,
    ) -> Any:  # fmt: skip
        """Attend to the values.

        Parameters
        ----------
        query : Array
            Data with the axes ``(batch, times, features)``.
        value : Array
            Data with the axes ``(batch, times, features)``; the times may be other ones.
        key : Array, optional
            Data with the times of ``value``; by default ``value`` itself.
        attention_mask : Array, optional
            True where a query may attend to a value, in the shape ``(batch, queries, values)``, or one
            that broadcasts to it.  A query that may attend to no value attends to all of them equally.
        return_attention_scores : bool, default False
            If True, return also the weights, in the shape ``(batch, heads, queries, values)``.
        training : bool or None, default False
            If True, weights are set to zero at random.
        use_causal_mask : bool, default False
            If True, a query attends only to values of its own and earlier times.

        Returns
        -------
        Array or tuple of Array
            The result, of the times of ``query``, and the weights.
        """
        value = array_from_numpy(value)
        key = value if key is None else array_from_numpy(key)
        library = library_of(self.name, query)
        for x in (query, key, value):
            if library_of(self.name, x) is not library or not 2 <= x.ndim <= 3:
                raise ValueError(
                    f"{self.name}: takes data with the axes (batch, times, features), got {describe(x)} "
                    f"[at {user_line()}]"
                )
        q, k, v = (
            library.moveaxis(dense(x), -2, -3)  # to (batch, heads, times, features)
            for dense, x in (
                (self.query_dense, query), (self.key_dense, key), (self.value_dense, value)
            )
        )  # fmt: skip
        scores = (q * (1.0 / math.sqrt(self.key_dim))) @ library.matrix_transpose(k)
        for mask in self._masks(library, scores, attention_mask, use_causal_mask):
            # Not -inf, so that a row without any True has equal weights, as in Keras.
            scores = library.where(mask, scores, 0.7 * library.finfo(scores.dtype).min)
        weights = softmax(scores)
        heads = self.dropout_layer(weights, training=training) @ v
        y = self.output_dense(library.moveaxis(heads, -3, -2))
        return (y, weights) if return_attention_scores else y

    def _masks(
        self, library: ModuleType, scores: RawArray, given: Any, causal: bool
    ) -> Sequence[Any]:
        """Return the masks, True where a query may attend to a value, in shapes that fit the scores."""
        masks = []
        if given is not None:
            mask = asarray_like(library, given, scores)
            if dtype_kind(library, mask) != "b":
                allowed = mask != 0
                if is_free_to_read(mask) and bool(library.any(allowed & (mask != 1))):
                    raise ValueError(
                        f"{self.name}: give attention_mask True or 1 where a query may attend, else 0; "
                        f"of a mask that is added to scores give mask == 0, got {describe(mask)} "
                        f"[at {user_line()}]"
                    )
                mask = allowed
            if mask.ndim == scores.ndim - 1 and mask.ndim > 2:
                mask = library.expand_dims(mask, axis=-3)  # the axis of the heads
            masks.append(mask)
        if boolean_option(self.name, "use_causal_mask", causal):
            queries, values = scores.shape[-2:]
            earlier = np.tri(queries, values) > 0.0
            masks.append(library_constant(library, earlier, scores))
        return masks
