"""How one real vector stands for a nesting: what solvers are told, and what functions are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp

from .._array.array import KEPT, Array, wrap
from .._array.views import current, private_handle
from .._storage.batched.batched_data import Batched, lengths_of
from .._storage.storage import is_complex, storage_of
from .._util import nest
from .._util.errors import describe, user_line

Vector = np.ndarray[Any, Any]


class Leaf(NamedTuple):
    """Shape and dtype of one array of a nesting."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        """How many real numbers it has."""
        return math.prod(self.shape) * (2 if self.dtype.kind == "c" else 1)


class Layout:
    """A nesting of floating-point arrays as one real vector, of complex ones both parts.

    name : how messages call the function.  what : how they call the nesting.
    """

    def __init__(self, name: str, nesting: Any, what: str = "x0") -> None:
        self.name, self.what = name, what
        self.leaves = [self._leaf(x, nesting) for x in nest.leaves(nesting)]
        self.nesting = nest.pack_nesting(nesting, list(range(len(self.leaves))))
        self.dtype = np.result_type(np.float32, *[real_of(x.dtype) for x in self.leaves])
        self.dtype = self.dtype if self.leaves else np.dtype(np.float64)
        ends = np.cumsum([0, *[x.size for x in self.leaves]])
        self.parts = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        self.size = int(ends[-1])

    def _leaf(self, x: Any, nesting: Any) -> Leaf:
        """The shape and dtype of a leaf; TypeError for what has no derivative."""
        if isinstance(x, int | float | complex) and not isinstance(x, bool | np.generic):
            x = np.asarray(x, dtype=complex if isinstance(x, complex) else float)
        dtype = getattr(x, "dtype", None)
        kind = getattr(dtype, "kind", "")
        if not isinstance(x, Array | np.ndarray | np.generic) or kind not in tuple("fc"):
            raise TypeError(
                f"{self.name}: {self.what} must be floating-point arrays or numbers, got {describe(x)}"
                f"{nest.place_in_nesting(x, nesting)} [at {user_line()}]"
                + ("; convert it with astype" if kind in tuple("biu") and kind else "")
            )
        wide = {"g": np.float64, "G": np.complex128}.get(x.dtype.char, x.dtype.type)
        return Leaf(tuple(x.shape), np.dtype(wide))

    def host_vector(self, nesting: Any, dtype: Any = np.float64) -> Vector:
        """The vector of a nesting of NumPy arrays and numbers, in double precision."""
        parts = nest.leaves_like(self.nesting, nesting, self.name, numbers=True)
        found = np.empty(self.size, dtype)
        for x, leaf, part in zip(parts, self.leaves, self.parts, strict=True):
            given = np.asarray(x)
            if given.dtype.kind not in "biufc":
                raise TypeError(
                    f"{self.name}: the solver must give {self.what}'s shapes and dtypes, got "
                    f"{describe(x)} in the place of {leaf.dtype}{leaf.shape} [at {user_line()}]"
                )
            if given.shape != leaf.shape or (given.dtype.kind == "c") > (leaf.dtype.kind == "c"):
                raise ValueError(
                    f"{self.name}: the solver must give {self.what}'s shapes and dtypes, got "
                    f"{describe(given)} in the place of {leaf.dtype}{leaf.shape} [at {user_line()}]"
                )
            flat = given.reshape(-1)
            found[part] = np.concatenate([flat.real, flat.imag]) if leaf.dtype.kind == "c" else flat
        return found

    def host_nested(self, v: Vector) -> Any:
        """The nesting of NumPy arrays for which a vector stands."""
        parts = []
        for leaf, part in zip(self.leaves, self.parts, strict=True):
            flat = v[part]
            if leaf.dtype.kind == "c":
                re, im = np.split(flat, 2)
                flat = re + 1j * im
            parts.append(flat.reshape(leaf.shape))
        return nest.pack_nesting(self.nesting, parts)

    def nested(self, v: Array, cast: bool = False) -> Any:
        """The nesting of Arrays for which a vector stands: recorded.

        cast : whether each part gets the dtype that it had; else all have the vector's.
        """
        parts = []
        for leaf, part in zip(self.leaves, self.parts, strict=True):
            flat = v if len(self.leaves) == 1 else v[part]
            if leaf.dtype.kind == "c":
                half = leaf.size // 2
                flat = flat[:half] + 1j * flat[half:]
            if cast and flat.dtype != leaf.dtype:
                flat = xp.astype(flat, leaf.dtype)
            parts.append(xp.reshape(flat, leaf.shape))
        return nest.pack_nesting(self.nesting, parts)

    def vector(self, nesting: Any, what: str) -> Array:
        """The vector of a nesting of Arrays, which must have the shapes of this one: recorded.

        The nesting may also be a flat list, or an Array where this has a single one.
        """
        found = nest.leaves_like(self.nesting, nesting, f"{self.name}: {what}")
        flats = []
        for x, leaf in zip(found, self.leaves, strict=True):
            if not isinstance(x, Array):
                raise TypeError(
                    f"{self.name}: {what} must be Arrays, got {describe(x)}"
                    f"{nest.place_in_nesting(x, nesting)} [at {user_line()}]"
                )
            if tuple(x.shape) != leaf.shape or is_complex(x) > (leaf.dtype.kind == "c"):
                raise ValueError(
                    f"{self.name}: {what} must have the shape of {self.what}, {leaf.shape}, and be "
                    f"complex only where that is, got {describe(x)} [at {user_line()}]"
                )
            flat = xp.reshape(x, (-1,)) if x.shape != (leaf.size,) else x
            if leaf.dtype.kind == "c":
                flats += [xp.real(flat), xp.imag(flat)] if is_complex(x) else [flat, 0.0 * flat]
            else:
                flats.append(flat)
        if len(flats) == 1:
            return flats[0]
        return xp.concat(flats) if flats else xp.zeros((0,))


def real_of(dtype: Any) -> Any:
    """The dtype of real and imaginary part."""
    return np.zeros((), dtype).real.dtype


# --- values on the host -----------------------------------------------------------------------------
class Place(NamedTuple):
    """Where an array lies: a storage, and a device of it."""

    storage: Any
    device: Any

    def array(self, data: Vector) -> Array:
        """An Array there, of its own, in double precision where it is a floating-point one."""
        wide = {"f": np.float64, "c": np.complex128}.get(data.dtype.kind)
        own = np.array(data, dtype=wide)
        return wrap(self.storage.asarray(own, None, self.device, True), 0, KEPT)


def place_of(x: Any) -> Place:
    """Where an Array lies, or its data."""
    data = current(x)[1] if isinstance(x, Array) else x
    sample = data.sample if type(data) is Batched else data
    return Place(storage_of(sample), sample.device)


HOST = place_of(np.zeros(()))


class Examples:
    """The values of arrays on the host, one example of an open vmap after the other.

    name : how messages call what looks at them.  shape, axis_ids : the hidden axes that any of them has.
    """

    def __init__(self, name: str, arrays: Sequence[Array]) -> None:
        self.data = [current(x)[1] for x in arrays]
        for data in self.data:
            sample = data.sample if type(data) is Batched else data
            storage_of(sample).refuse_replay(sample, f"a solver runs in it ({name})")
        self.places = [place_of(data) for data in self.data]
        self.home = self.places[0] if self.places else HOST
        lengths = lengths_of(self.data)
        self.axis_ids, self.shape = tuple(lengths), tuple(lengths.values())

    def __iter__(self) -> Any:
        for place in np.ndindex(*self.shape):
            yield [self._value(data, place) for data in self.data]

    def _value(self, data: Any, place: tuple[int, ...]) -> Vector:
        if type(data) is Batched:
            whole = data.aligned(self.axis_ids, data.ndim)
            data = whole[
                tuple(0 if n == 1 else i for i, n in zip(place, whole.shape, strict=False))
            ]
        return np.array(storage_of(data).host(data), copy=True)

    def array(self, values: Sequence[Vector], shape: Any, dtype: Any) -> Array:
        """An Array, where the first of the arrays lies, of what was found for each example."""
        whole = np.array(values, dtype=dtype).reshape((*self.shape, *shape))
        data = self.home.storage.asarray(whole, None, self.home.device, True)
        return wrap(Batched(data, self.axis_ids) if self.axis_ids else data, 0, KEPT)


def plain(x: Any) -> Any:
    """An Array's values as NumPy's; anything else as it is."""
    if not isinstance(x, Array):
        return x
    data = current(x)[1]
    return storage_of(data).host(data)


def on_host(x: Array) -> Vector:
    """An Array's values as a NumPy array of its own, in double precision."""
    return np.array(plain(x), dtype=np.float64)


def handles(leaves: Sequence[Any]) -> list[Any]:
    """The leaves with Arrays under handles of their own, so that writes to them stay there."""
    return [private_handle(x) if isinstance(x, Array) else x for x in leaves]
