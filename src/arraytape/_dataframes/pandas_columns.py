"""Let a column of a pandas table hold an Array: an extension array of pandas, and its dtype.

``grad(f)(table)`` calls f with a table whose floating-point columns are ``ArrayColumn``.  pandas
selects, joins and computes with these columns by the methods of this class, so that a tape records
them.  A method of pandas that needs NumPy data converts a column by ``np.asarray``: an untracked
conversion, which is reported as any other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype, register_extension_dtype
from pandas.api.indexers import check_array_indexer

from .._array.array import Array, namespace
from .._util.errors import user_line

if TYPE_CHECKING:
    import numpy.typing as npt

BINARY = {
    **{
        x: getattr(operator, x)
        for x in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    },
    "divmod": divmod,
}
OTHERS = ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs")
# For each reduction of pandas: NumPy's function, the one that skips NaN, and the result for no elements.
REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], float]] = {
    "max": (np.max, np.nanmax, np.nan),
    "mean": (np.mean, np.nanmean, np.nan),
    "median": (np.median, np.nanmedian, np.nan),
    "min": (np.min, np.nanmin, np.nan),
    "prod": (np.prod, np.nanprod, 1.0),
    "std": (np.std, np.nanstd, np.nan),
    "sum": (np.sum, np.nansum, 0.0),
    "var": (np.var, np.nanvar, np.nan),
}
TRUTHS = ("all", "any")  # reductions to a truth value
ACCUMULATIONS: dict[str, Callable[..., Any]] = {"cumprod": np.cumprod, "cumsum": np.cumsum}


@register_extension_dtype
class ArrayDtype(ExtensionDtype):  # type: ignore[misc]  # pandas declares no types
    """The dtype of a column of a pandas table that holds an Array, such as ``arraytape[float64]``."""

    _metadata = ("numpy_dtype",)
    _is_numeric = True
    holds_array = True  # the mark by which ``holds_arrays`` finds columns of Arrays
    na_value = np.nan

    def __init__(self, numpy_dtype: npt.DTypeLike = np.float64) -> None:
        self.numpy_dtype = np.dtype(numpy_dtype)

    @property
    def name(self) -> str:
        return f"arraytape[{self.numpy_dtype}]"

    @property
    def type(self) -> Any:
        return self.numpy_dtype.type

    @property
    def kind(self) -> str:
        return self.numpy_dtype.kind

    @classmethod
    def construct_array_type(cls) -> Any:
        return ArrayColumn

    @classmethod
    def construct_from_string(cls, string: str) -> ArrayDtype:
        start, _, name = str(string).partition("[")
        if start != "arraytape" or name[:-1] not in (
            "float32",
            "float64",
            "complex64",
            "complex128",
        ):
            raise TypeError(f"{string!r} is no dtype of arraytape's columns")
        return cls(name[:-1])

    def _get_common_dtype(self, dtypes: list[Any]) -> ArrayDtype | None:
        """Return the dtype of the column that joins columns of ``dtypes``, for ``pd.concat``.

        Return None if one of them is not a dtype of numbers.
        """
        plain = [x.numpy_dtype if isinstance(x, ArrayDtype) else x for x in dtypes]
        if not all(isinstance(x, np.dtype) and x.kind in "iufc" for x in plain):
            return None
        return ArrayDtype(np.result_type(*plain))


class ArrayColumn(ExtensionArray):  # type: ignore[misc]
    """A column of a pandas table that holds an Array of one dimension."""

    def __init__(self, values: Array) -> None:
        self._array = values

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> ArrayColumn:
        kind = dtype.numpy_dtype if isinstance(dtype, ArrayDtype) else None
        scalars = scalars.array if isinstance(scalars, TABLES) else scalars
        if isinstance(scalars, ArrayColumn):
            scalars = scalars._array
        elif not isinstance(scalars, Array | np.ndarray) or scalars.dtype == object:
            scalars = [np.nan if x is None or x is pd.NA else x for x in scalars]
        values = namespace().asarray(scalars, dtype=kind, copy=copy or None)
        return cls(values if values.dtype.kind in "fc" else values.astype(np.float64))

    @property
    def dtype(self) -> ArrayDtype:
        return ArrayDtype(self._array.dtype)

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError for an attribute that columns lack, such as ``sum``, with advice."""
        advice = ""
        if not name.startswith("_") and hasattr(np.ndarray, name):
            advice = f": take the Array, column.to_numpy().{name} [at {user_line()}]"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{advice}")

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        found = self._array[check_array_indexer(self, key)]
        return type(self)(found) if found.ndim else found

    def __setitem__(self, key: Any, value: Any) -> None:
        if pd.api.types.is_list_like(value):
            value = self._from_sequence(value, dtype=self.dtype)
        elif value is None or value is pd.NA:
            value = np.nan
        self._array[check_array_indexer(self, key)] = unwrap_column(value)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        if dtype is None or np.dtype(dtype) != object:
            return np.asarray(self._array, dtype=dtype, copy=copy)
        objects = np.empty(len(self), dtype=object)  # requested by pandas for rows of a table
        for i, x in enumerate(self):  # one by one: objects[:] = [*self] would convert the Arrays
            objects[i] = x
        return objects

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, TABLES) for x in inputs):
            return NotImplemented
        return wrap_columns(getattr(ufunc, method)(*map(unwrap_column, inputs), **options))

    def to_numpy(
        self, dtype: npt.DTypeLike | None = None, copy: bool = False, na_value: Any = None
    ) -> Any:
        """Return the column's Array, or a NumPy array if ``dtype`` is not None.

        An Array lets tapes follow what a user computes from the column.  pandas itself passes ``dtype``
        before it calls compiled code, which needs a NumPy array.
        """
        if dtype is not None:
            return self.__array__(dtype, copy or None)
        return namespace().asarray(self._array, copy=copy or None)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Convert the column to another dtype; tapes follow a conversion to a floating-point dtype."""
        wanted = pd.api.types.pandas_dtype(dtype)
        if isinstance(wanted, ArrayDtype):
            wanted = wanted.numpy_dtype
        if not isinstance(wanted, np.dtype) or wanted.kind not in "fc":
            return super().astype(wanted, copy=copy)
        return type(self)(namespace().astype(self._array, wanted, copy=copy))

    def map(self, mapper: Any, na_action: str | None = None) -> Any:
        if not callable(mapper) or na_action is not None:
            return super().map(mapper, na_action=na_action)
        found = [mapper(x) for x in self]
        return self._from_sequence(found) if any(isinstance(x, Array) for x in found) else found

    def unique(self) -> ArrayColumn:
        found: ArrayColumn = self.factorize(use_na_sentinel=False)[1]
        return found

    def _mode(self, dropna: bool = True) -> ArrayColumn:
        values = pd.Series(untracked_values(self))
        first = values[~values.duplicated()]
        return self.take(first[first.isin(values.mode(dropna=dropna))].sort_values().index)

    def value_counts(self, dropna: bool = True) -> pd.Series:
        counts = pd.Series(untracked_values(self)).value_counts(dropna=dropna)
        counts.index = pd.Index(self._from_factorized(counts.index.to_numpy(), self))
        return counts

    def isna(self) -> np.ndarray[Any, Any]:
        missing: np.ndarray[Any, Any] = np.isnan(untracked_values(self))
        return missing

    def take(
        self, indices: npt.ArrayLike, *, allow_fill: bool = False, fill_value: Any = None
    ) -> ArrayColumn:
        places = np.asarray(indices, dtype=np.intp)
        if not allow_fill:
            return type(self)(namespace().take(self._array, places, axis=0))
        if (places < -1).any():
            raise ValueError("take: an index is less than -1, which stands for a missing value")
        missing = np.nan if fill_value is None or fill_value is pd.NA else fill_value
        tail = namespace().asarray([missing], dtype=self._array.dtype)
        padded = namespace().concat([self._array, tail])  # index -1 selects the missing value
        return type(self)(namespace().take(padded, places % (len(self) + 1), axis=0))

    def copy(self) -> ArrayColumn:
        return type(self)(namespace().asarray(self._array, copy=True))

    def view(self, dtype: Any = None) -> ArrayColumn:
        return type(self)(self._array)

    @classmethod
    def _concat_same_type(cls, columns: Sequence[ArrayColumn]) -> ArrayColumn:
        return cls(namespace().concat([column._array for column in columns]))

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str]:
        return lambda x: str(x) if x == x else "NaN"

    def _values_for_argsort(self) -> np.ndarray[Any, Any]:
        return untracked_values(self)

    def _values_for_factorize(self) -> tuple[np.ndarray[Any, Any], float]:
        return untracked_values(self), np.nan

    @classmethod
    def _from_factorized(cls, values: np.ndarray[Any, Any], original: ArrayColumn) -> ArrayColumn:
        """Return a column with those elements of ``original`` that equal the numbers ``values``.

        pandas uses the column as group keys or categories.  The elements are selected from ``original``,
        so that a tape follows them.
        """
        numbers = untracked_values(original)
        order = np.argsort(numbers, kind="stable")
        return original.take(order[np.searchsorted(numbers, values, sorter=order)])

    def _accumulate(self, name: str, *, skipna: bool = True, **options: Any) -> ArrayColumn:
        if name not in ACCUMULATIONS or self.isna().any():
            raise no_recorded_method(name)
        return type(self)(ACCUMULATIONS[name](self._array))

    def _reduce(
        self, name: str, *, skipna: bool = True, keepdims: bool = False, min_count: int = 0,
        **options: Any,
    ) -> Any:  # fmt: skip
        if name in TRUTHS:
            true = getattr(pd.Series(untracked_values(self)), name)(skipna=skipna)
            return np.asarray([true]) if keepdims else true
        if name not in REDUCTIONS:
            raise no_recorded_method(name)
        plain, skipping, of_nothing = REDUCTIONS[name]
        missing = self.isna()
        count = len(self) - missing.sum()
        needed = 0 if of_nothing == of_nothing else 1 + options.get("ddof", 0)
        if count < max(min_count, needed):
            found = self._array[:0].sum() + np.nan
        elif skipna and missing.any():
            found = (
                skipping(self._array, **options) if count else self._array[:0].sum() + of_nothing
            )
        else:
            found = plain(self._array, **options) if count or len(self) else plain(self._array)
        return type(self)(namespace().reshape(found, (1,))) if keepdims else found

    def _groupby_op(
        self, *, how: str, min_count: int = -1, ngroups: int, ids: Any, **options: Any
    ) -> Any:
        """Reduce each group of rows to a number, or accumulate the rows within each group.

        how : a reduction, "first" or "last", or an accumulation.
        min_count : the result of a group with fewer elements, NaN aside, is NaN.
        ids : for each row, the number of its group; negative for a row in no group.
        """
        groups = [np.flatnonzero(ids == i) for i in range(ngroups)]
        if how in REDUCTIONS or how in TRUTHS:
            keywords = {key: options[key] for key in ("ddof", "skipna") if key in options}
            columns = [self.take(places) for places in groups]
            found = [x._reduce(how, min_count=min_count, **keywords) for x in columns]
            if how in TRUTHS:
                return np.asarray(found, dtype=bool)
            return type(self)(namespace().stack(found) if found else self._array[:0])
        if how in ("first", "last"):
            return self._select_from_groups(how, min_count, groups, options.get("skipna", True))
        order = np.concatenate([*groups, np.flatnonzero(ids < 0)]).astype(np.intp)
        parts = [self.take(places)._accumulate(how) for places in groups]
        rest = self.take(np.full(len(order) - sum(map(len, parts)), -1), allow_fill=True)
        return self._concat_same_type([*parts, rest]).take(np.argsort(order))

    def _select_from_groups(
        self, how: str, min_count: int, groups: list[np.ndarray[Any, Any]], skipna: bool
    ) -> ArrayColumn:
        """Return the first or last element of each group, or NaN for a group with too few elements.

        how : "first" or "last".  groups : the positions of each group's rows.
        """
        if skipna:
            present = ~self.isna()
            groups = [places[present[places]] for places in groups]
        end = 0 if how == "first" else -1
        found = [places[end] if len(places) >= max(min_count, 1) else -1 for places in groups]
        return self.take(np.asarray(found, dtype=np.intp), allow_fill=True)

    def interpolate(self, **options: Any) -> Any:
        raise no_recorded_method("interpolate")


def unwrap_column(value: Any) -> Any:
    return value._array if isinstance(value, ArrayColumn) else value


def wrap_column(found: Any) -> Any:
    """Return the result ``found`` of an op on columns in the form that pandas expects.

    An Array of numbers becomes an ArrayColumn, and an Array of booleans a NumPy array.
    """
    if not isinstance(found, Array) or not found.ndim:
        return found
    return ArrayColumn(found) if found.dtype.kind in "fc" else np.asarray(found)


def wrap_columns(found: Any) -> Any:
    return tuple(map(wrap_column, found)) if isinstance(found, tuple) else wrap_column(found)


def untracked_values(column: ArrayColumn) -> np.ndarray[Any, Any]:
    """Return the values of a column as NumPy data, without a warning about an untracked conversion.

    Callers use the values only to choose elements, as for sorting, so no derivative is lost.
    """
    return np.asarray(namespace().stop_gradient(column._array))


def no_recorded_method(name: str) -> TypeError:
    """Return the TypeError for a method of pandas that cannot be computed on a column of Arrays."""
    return TypeError(
        "take the column by .to_numpy(), and compute with functions of arraytape or NumPy: no "
        f"derivative is known of pandas' {name} of this column [at {user_line()}]"
    )


TABLES = (pd.Series, pd.Index, pd.DataFrame)


def column_operator(function: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    """Return a method of ArrayColumn for an operator, such as ``__add__``.

    function : computes the operator on Arrays.  swapped : True for a reflected operator such as
    ``__radd__``, whose second operand is the column.
    """

    def operate(self: ArrayColumn, *others: Any) -> Any:
        if any(isinstance(x, TABLES) for x in others):
            return NotImplemented  # pandas aligns the tables and calls the operator with columns
        operands = [self._array, *map(unwrap_column, others)]
        return wrap_columns(function(*(operands[::-1] if swapped else operands)))

    return operate


for short, function in BINARY.items():
    setattr(ArrayColumn, f"__{short}__", column_operator(function))
    setattr(ArrayColumn, f"__r{short}__", column_operator(function, swapped=True))
for short in OTHERS:
    setattr(ArrayColumn, f"__{short}__", column_operator(getattr(operator, f"__{short}__")))
