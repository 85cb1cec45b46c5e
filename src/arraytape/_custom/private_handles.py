"""The arguments with which a user's function is called, protected from writes; checks of its results.

The function gets new Array objects with the values of the caller's Arrays (private handles).  A write
inside the function then changes no Array of the caller, and can be detected by comparing each private
handle with its ``Original``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import IS_VIEW, KEPT, Array, wrap
from .._array.cuts import Cut, cut_of, note_cut
from .._array.exports import is_unwritten
from .._array.views import private_handle
from .._record.stack import AWAITED, new_value_id, recorders
from .._storage.storage import STORAGES, admitted, storage_for, storage_of
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import describe, describe_result, user_line
from .._util.nest import Nesting


class Inputs(NamedTuple):
    """The arguments of one run of a user's function, with new Arrays in place of the caller's.

    ``arrays`` lists these new Array objects (private handles), so that writes to them can be detected.
    """

    args: tuple[Any, ...]
    keywords: dict[str, Any]
    arrays: list[Array]


class Original(NamedTuple):
    """An Array argument of a user's function, with its data and value id from before the call.

    If the Array (a private handle on the caller's value) has other data or another id after the call,
    then the function has written to it.
    owner : the position or keyword of the argument that contains the Array.
    """

    array: Array
    data: RawArray
    value_id: int
    owner: int | str

    def is_written(self) -> bool:
        """Return True if the user's function has written to its Array."""
        # An Array whose id was 0 may get an id inside the function without any write.
        has_new_id = self.value_id and self.array._value_id != self.value_id
        return bool(has_new_id) or not is_unwritten(self.array, self.data)


class GradientForm(NamedTuple):
    """Those leaves of a function's positional arguments for which grad_fn may return gradients.

    nesting : the positional arguments with all other leaves removed.
    kinds : a word for each leaf: "array"; "number", whose gradient is ignored; or "other", whose
    gradient must be None.
    """

    nesting: Any
    kinds: list[str]


class Arguments:
    """The arguments of a call, in which new Array objects (private handles) replace the caller's.

    Raw arrays of a known library become Arrays in positional arguments, and are copied in keyword
    arguments.  All other leaves stay as they are.

    inputs
        The arguments for the function.
    owners
        For each Array of ``inputs.arrays``, the position of the argument that contains it.
    """

    def __init__(self, args: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> None:
        leaves = nest.leaves(args)
        owner_of_leaf = [i for i, arg in enumerate(args) for _ in nest.leaves(arg)]
        self._places = [i for i, leaf in enumerate(leaves) if is_array_leaf(leaf)]
        self.owners = [owner_of_leaf[i] for i in self._places]
        arrays = [as_private_array(leaves[i]) for i in self._places]
        if AWAITED:
            note_use([leaves[i] for i in self._places], arrays)
        private = {name: private_copy(value) for name, value in (keywords or {}).items()}
        # None replaces the caller's Arrays: a record may keep this object, which must not keep the
        # caller's handles, and thus their later values, alive.
        self._leaves = replace_leaves(leaves, self._places, [None] * len(arrays))
        self.inputs = Inputs(nest.pack_nesting(args, self._filled(arrays)), private, arrays)

        owned: list[tuple[Array, int | str]] = [*zip(arrays, self.owners, strict=True)]
        owned += [
            (leaf, name)
            for name, value in private.items()
            for leaf in nest.leaves(value)
            if type(leaf) is Array
        ]
        self._originals = [Original(x, x._data, x._value_id, owner) for x, owner in owned]

    def give_new_ids(self) -> dict[int, int]:
        """Give each followed Array in ``inputs.arrays`` a new value id; return {new id: old id}.

        The caller's Array keeps the old id.  So recorders can tell whether the function uses its
        argument or the caller's Array, which it may have captured.
        """
        stack, known = recorders(), {}
        for i, x in enumerate(self.inputs.arrays):
            old = x._value_id
            if any(old in recorder.followed for recorder in stack):
                x._value_id = new_value_id()
                known[x._value_id] = old
                self._originals[i] = self._originals[i]._replace(value_id=x._value_id)
        return known

    def _filled(self, arrays: Sequence[Any]) -> list[Any]:
        return replace_leaves(self._leaves, self._places, arrays)

    def with_new_handles(self) -> Inputs:
        """Return the arguments with new Array objects (handles), for another run of the function.

        A write to a handle does not change the caller's Array.
        """
        args, keywords, arrays = self.inputs
        fresh = [wrap(x._data, x._value_id, x._state) for x in arrays]
        private = {name: private_copy(value) for name, value in keywords.items()}
        return Inputs(nest.pack_nesting(args, self._filled(fresh)), private, fresh)

    def written_arguments(self) -> list[int | str]:
        """Return the positions and keywords of the arguments whose Arrays were written to.

        A function with its own gradient must not write to its arguments, so this is an error.
        """
        return [original.owner for original in self._originals if original.is_written()]

    def forms(self) -> list[GradientForm]:
        """Return the selections of arguments for which a user's grad_fn may return gradients.

        They are: the Arrays alone, Arrays and numbers, all leaves.  A selection that has no more leaves
        than the preceding selection is left out.
        """
        arrays = set(self._places)
        numbers = {i for i, leaf in enumerate(self._leaves) if is_number(leaf)} - arrays
        forms: list[GradientForm] = []
        for places in (arrays, arrays | numbers, set(range(len(self._leaves)))):
            form = self._form(sorted(places))
            if all(len(form.kinds) > len(other.kinds) for other in forms):
                forms.append(form)
        return forms

    def _form(self, places: Sequence[int]) -> GradientForm:
        arrays = set(self._places)
        kinds = [
            "array" if i in arrays else "number" if is_number(self._leaves[i]) else "other"
            for i in places
        ]
        wanted = map(set(places).__contains__, range(len(self._leaves)))
        return GradientForm(nest.parts_with(wanted, list(self.inputs.args)) or [], kinds)


def replace_leaves(
    leaves: Sequence[Any], places: Sequence[int], values: Sequence[Any]
) -> list[Any]:
    """Return a copy of a list of leaves in which ``values`` stand at the indices ``places``."""
    found = list(leaves)
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return found


# --- private handles and copies -----------------------------------------------------------------------
def note_use(given: Sequence[Any], private: Sequence[Array]) -> None:
    """Note on each Array argument that an unrecorded call used it, for a warning of a None gradient.

    The private handles get the same notes (Cuts), because the function sees only these handles.

    given, private : the caller's arguments, and the new Array that the function gets for each.
    """
    pairs = [(x, y) for x, y in zip(given, private, strict=True) if isinstance(x, Array)]
    note_cut("a call", (), [handle._value_id for _, handle in pairs], [x for x, _ in pairs])
    for x, handle in pairs:
        handle._cut = cut_of(x)
        # The private handle of a view may have a new value id, which no recorder knows.  So this Cut
        # names the id of the value that the view's root had.
        if handle._cut is None and handle._value_id and x._state & IS_VIEW:
            handle._cut = Cut(new_value_id(), "view", (x._view.seen,), None, 0)


def as_private_array(x: RawArray) -> Array:
    """Return a new Array with the value of an Array, or with a copy of raw data.

    A user's function gets it, so that a write changes no Array of the caller.
    """
    return (
        private_handle(x)
        if isinstance(x, Array)
        else wrap(storage_of(x).copy(admitted(x)), 0, KEPT)
    )


def private_copy(value: Nesting) -> Nesting:
    """Return a keyword argument with new Arrays for its Arrays, and copies of its raw arrays.

    A later write of the caller then does not change the argument.
    """
    leaves = nest.leaves(value)
    private = [private_leaf(leaf) for leaf in leaves]
    alike = all(a is b for a, b in zip(leaves, private, strict=True))
    return value if alike else nest.pack_nesting(value, private)


def private_leaf(leaf: Any) -> Any:
    if type(leaf) is Array:
        return private_handle(leaf)
    if isinstance(leaf, Array) or not is_array_leaf(leaf):
        return leaf
    return storage_of(leaf).copy(leaf)


def is_array_leaf(leaf: Any) -> bool:
    """Return True if a leaf is an Array, or raw data with numbers or booleans as elements."""
    if isinstance(leaf, Array):
        return True
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    if kind not in tuple("biufc") or isinstance(leaf, np.generic):
        return False
    return type(leaf) in STORAGES or storage_for(type(leaf)) is not None


def is_number(leaf: Any) -> bool:
    """Return True if a leaf is a Python or NumPy scalar.

    In TensorFlow such an argument becomes a tensor.  So grad_fn may return a gradient for it, which is
    ignored.
    """
    return isinstance(leaf, int | float | complex | np.number | np.bool)


# --- functions and their results ----------------------------------------------------------------------
def display_name(f: Callable[..., Any]) -> str:
    if not callable(f):
        raise TypeError(f"a function is needed, got {describe(f)} [at {user_line()}]")
    return str(getattr(f, "__name__", type(f).__name__))


def check_results(name: str, y: Nesting) -> list[Array]:
    """Return the leaves of a function's result y; raise TypeError for a leaf that is no Array."""
    leaves = nest.leaves(y)
    for leaf in leaves:
        if not isinstance(leaf, Array):
            raise TypeError(
                f"{name}: the result must be an Array or a nesting of Arrays, got "
                f"{describe_result(y, leaf)}"
                f"{nest.place_in_nesting(leaf, y)} [at {user_line()}]; convert it with asarray"
            )
    return leaves
