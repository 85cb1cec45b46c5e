"""Conversion of nestings of arrays, which users' functions get, to vectors for solvers, and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import arraytape as xp

from .._array.array import KEPT, Array, wrap
from .._array.views import current, private_handle
from .._storage.batched.batched_data import Batched, lengths_of
from .._storage.storage import is_complex, storage_of
from .._util import nest
from .._util.errors import describe, describe_result, user_line

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import RawArray

Vector = np.ndarray[Any, Any]


class LeafLayout(NamedTuple):
    """Shape and dtype of one array of a nesting."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def real_size(self) -> int:
        return math.prod(self.shape) * (2 if self.dtype.kind == "c" else 1)


class NestingLayout:
    """The structure of a nesting of floating-point arrays, and its conversion to one real vector.

    The vector has the elements of all arrays; of a complex array, all real parts and then all imaginary
    parts.
    name, what : the user's function and the nesting in error messages.
    """

    def __init__(self, name: str, nesting: Any, what: str = "x0") -> None:
        self.name, self.what = name, what
        self.leaves = [self._leaf(x, nesting) for x in nest.leaves(nesting)]
        self.nesting = nest.pack_nesting(nesting, list(range(len(self.leaves))))
        self.dtype = np.result_type(
            np.float32, *[np.zeros((), x.dtype).real.dtype for x in self.leaves]
        )
        self.dtype = self.dtype if self.leaves else np.dtype(np.float64)
        ends = np.cumsum([0, *[x.real_size for x in self.leaves]])
        self.parts = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        self.size = int(ends[-1])

    def _leaf(self, x: Any, nesting: Any) -> LeafLayout:
        """Return the shape and dtype of x; raise TypeError if it is not floating point."""
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
        return LeafLayout(tuple(x.shape), np.dtype(wide))

    def host_vector(self, nesting: Any, dtype: npt.DTypeLike = np.float64) -> Vector:
        """Return the vector of a nesting of NumPy arrays and numbers, which a solver has returned.

        Raises TypeError or ValueError if an array has another kind or shape than in this layout.
        """
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
        """Return the nesting of NumPy arrays whose elements are in the vector v."""
        parts = []
        for leaf, part in zip(self.leaves, self.parts, strict=True):
            flat = v[part]
            if leaf.dtype.kind == "c":
                re, im = np.split(flat, 2)
                flat = re + 1j * im
            parts.append(flat.reshape(leaf.shape))
        return nest.pack_nesting(self.nesting, parts)

    def nested(self, v: Array, cast: bool = False) -> Any:
        """Return the nesting of Arrays whose elements are in the vector v, by recorded ops.

        cast : True to give each Array its own dtype; else the Arrays have the precision of v.
        """
        parts = []
        for leaf, part in zip(self.leaves, self.parts, strict=True):
            flat = v if len(self.leaves) == 1 else v[part]
            if leaf.dtype.kind == "c":
                half = leaf.real_size // 2
                flat = flat[:half] + 1j * flat[half:]
            if cast and flat.dtype != leaf.dtype:
                flat = xp.astype(flat, leaf.dtype)
            parts.append(xp.reshape(flat, leaf.shape))
        return nest.pack_nesting(self.nesting, parts)

    def vector(self, nesting: Any, what: str) -> Array:
        """Return the vector of a nesting of Arrays with this layout's shapes, by recorded ops.

        The nesting may also be a flat list, or an Array if the layout has a single one.  Raises
        TypeError or ValueError for other nestings.
        what : what the nesting is, for the messages.
        """
        found = nest.leaves_like(self.nesting, nesting, f"{self.name}: {what}")
        flats = []
        for x, leaf in zip(found, self.leaves, strict=True):
            if not isinstance(x, Array):
                raise TypeError(
                    f"{self.name}: {what} must be Arrays, got {describe_result(nesting, x)}"
                    f"{nest.place_in_nesting(x, nesting)} [at {user_line()}]"
                )
            if tuple(x.shape) != leaf.shape or is_complex(x) > (leaf.dtype.kind == "c"):
                raise ValueError(
                    f"{self.name}: {what} must have the shape of {self.what}, {leaf.shape}, and may be "
                    f"complex only if {self.what} is, got {describe(x)} [at {user_line()}]"
                )
            flat = xp.reshape(x, (-1,)) if x.shape != (leaf.real_size,) else x
            if leaf.dtype.kind == "c":
                flats += [xp.real(flat), xp.imag(flat)] if is_complex(x) else [flat, 0.0 * flat]
            else:
                flats.append(flat)
        if len(flats) == 1:
            return flats[0]
        return xp.concat(flats) if flats else xp.zeros((0,))


# --- values on the host -----------------------------------------------------------------------------
class ArrayHome(NamedTuple):
    """The storage and the device of an array."""

    storage: Any
    device: Any

    def place_array(self, data: Vector) -> Array:
        """Return NumPy data as a new Array on this storage and device, floats in double precision."""
        wide = {"f": np.float64, "c": np.complex128}.get(data.dtype.kind)
        own = np.array(data, dtype=wide)
        return wrap(self.storage.asarray(own, None, self.device, True), 0, KEPT)


def home_of(x: Array | RawArray) -> ArrayHome:
    """Return the storage and the device of an Array or of raw data.

    A solution is put there, too.
    """
    data = current(x)[1] if isinstance(x, Array) else x
    sample = data.sample if type(data) is Batched else data
    return ArrayHome(storage_of(sample), sample.device)


HOST = home_of(np.zeros(()))


class VmapExamples:
    """The values of arrays on the host; under vmap, one example after the other.

    An iteration yields for each example a list with one NumPy array for each of ``arrays``.  Without
    vmap there is one example.
    name : the solver's name, for an error message.
    shape, axis_ids : the lengths and ids of the axes that the enclosing vmaps hide.
    """

    def __init__(self, name: str, arrays: Sequence[Array]) -> None:
        self.data = [current(x)[1] for x in arrays]
        for data in self.data:
            sample = data.sample if type(data) is Batched else data
            storage_of(sample).refuse_replay(sample, f"a solver runs in it ({name})")
        self.places = [home_of(data) for data in self.data]
        self.home = self.places[0] if self.places else HOST
        lengths = lengths_of(self.data)
        self.axis_ids, self.shape = tuple(lengths), tuple(lengths.values())

    def __iter__(self) -> Any:
        for place in np.ndindex(*self.shape):
            yield [self._value(data, place) for data in self.data]

    def _value(self, data: Batched | RawArray, place: tuple[int, ...]) -> Vector:
        """Return the value of ``data`` for one example.

        data : the data of an Array, perhaps with axes that vmap hides.
        place : the indices of the example along these axes.
        """
        if type(data) is Batched:
            whole = data.aligned(self.axis_ids, data.ndim)
            data = whole[
                tuple(0 if n == 1 else i for i, n in zip(place, whole.shape, strict=False))
            ]
        return np.array(storage_of(data).host(data), copy=True)

    def stack_examples(
        self, values: Sequence[Vector], shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """Return the results of all examples of a vmap as one Array, which hides the axes of the vmap.

        The Array lies on the device of the first of the ``arrays`` passed to ``VmapExamples``.
        shape : the shape of one result.
        values : the result of each example.
        """
        whole = np.array(values, dtype=dtype).reshape((*self.shape, *shape))
        data = self.home.storage.asarray(whole, None, self.home.device, True)
        return wrap(Batched(data, self.axis_ids) if self.axis_ids else data, 0, KEPT)


def as_numpy(x: Any) -> Any:
    """Return the data of an Array as a NumPy array; any other object as it is."""
    if not isinstance(x, Array):
        return x
    data = current(x)[1]
    return storage_of(data).host(data)


def doubles_on_host(x: Array) -> Vector:
    return np.array(as_numpy(x), dtype=np.float64)


def own_handles(leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves with a new Array object of the same value in place of each Array.

    A user's function may write to these without a change of the caller's Arrays.
    """
    return [private_handle(x) if isinstance(x, Array) else x for x in leaves]
