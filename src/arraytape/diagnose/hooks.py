"""Hooks: a function that sees or replaces cotangents, and functions that hold what records keep."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np

from .._array.array import Array, namespace
from .._record.stack import Paused, recorders
from .._tape.packing import PACKING, Pack, Packing, Unpack
from .._tape.recording import Hook, Recording
from .._tape.stepwise import Group, Member
from .._util import nest
from .._util.blocks import Context
from .._util.errors import describe, entrance, user_line
from .._util.options import unwrap_option


# --- cotangents -----------------------------------------------------------------------------------
@entrance
def on_gradient(x: Any, f: Callable[[Any], Any]) -> Callable[[], None]:
    """Have ``f`` called with the gradient of a value when a backward pass has all of it.

    It acts on the value that ``x`` holds now, on every tape that records it here; no new Array is
    needed.

    Parameters
    ----------
    x : Array, or nesting of Arrays
        A value that a recording tape follows: watched, or made of what is; or several.
    f : Callable
        Takes the gradient, an Array of the value's shape and dtype.  Gives None, or an Array of the same
        shape and dtype, which takes its place from there on.  Several see a value's gradient in the
        order in which they were given, each what the one before has made of it.  For a nesting it is
        called once, when a pass is done, with the gradients in that nesting, None where there came none;
        it sees them, as ``torch.autograd.graph.register_multi_grad_hook`` does, and replaces nothing.

    Returns
    -------
    Callable
        Takes the hook away when it is called.

    Raises
    ------
    TypeError
        When x is no Array nor a nesting of Arrays, or f cannot be called.
    ValueError
        When no tape that records here follows x, or x is a watched view of another Array; in the
        backward pass: when f gives something else.

    Notes
    -----
    A higher derivative goes through ``f``: outer tapes record its ops on the gradient.  ``f`` is not
    called for a value to which no gradient comes, nor by a ForwardAccumulator; once for each row of a
    Jacobian; again where a gradient holds a NaN, and so is computed a second time, guarded.  A write to
    the Array that it is given changes no gradient.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> with xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.exp(x)
    ...     look = xp.diagnose.on_gradient(y, print)  # sees the gradient of y
    ...     clip = xp.diagnose.on_gradient(y, lambda g: xp.clip(g, -10.0, 10.0))  # replaces it
    ...     z = xp.sum(y * y)
    >>> print(tape.gradient(z, x))
    [ 5.43656366 14.7781122 ]
    [14.7781122  73.89056099]
    """
    if not callable(f):
        raise TypeError(f"on_gradient() takes a function, got {describe(f)} [at {user_line()}]")
    if nest.parts_of_nesting(x) is not None:
        return on_gradients(x, f)
    return hooked(x, f)


def on_gradients(x: Any, f: Callable[[Any], Any]) -> Callable[[], None]:
    """Have ``f`` called with the gradients of several values together, when a pass is done."""
    leaves = nest.leaves(x)
    if not leaves:
        raise ValueError(f"on_gradient(): there is no Array in {describe(x)} [at {user_line()}]")

    def call(found: list[Array | None]) -> None:
        given = f(nest.pack_nesting(x, found))
        if given is not None:
            raise ValueError(
                "on_gradient: the function of several gradients sees them and must give None, got "
                f"{describe(given)} [at {user_line()}]"
            )

    group, removals = Group(len(leaves), call), list[Callable[[], None]]()

    def remove_all_hooks() -> None:
        while removals:
            removals.pop()()

    try:
        for number, leaf in enumerate(leaves):
            removals.append(hooked(leaf, Member(group, number)))
    except BaseException:
        remove_all_hooks()
        raise
    return remove_all_hooks


def hooked(x: Any, f: Hook) -> Callable[[], None]:
    """Have the tapes that record here call ``f`` with the gradient of one value."""
    if not isinstance(x, Array):
        raise TypeError(f"on_gradient() takes an Array, got {describe(x)} [at {user_line()}]")
    taken = []
    for recording in recordings_here():
        entry = recording.watched.get(id(x))
        if entry is not None and entry.path:
            raise ValueError(
                f"on_gradient(): {describe(x)} is a watched view, whose gradient is a part of that of "
                f"its root; give the root, or a copy [at {user_line()}]"
            )
        if x._has_state:
            recording.accessed(x)
        tid = recording.tid_of(x)
        if tid in recording.known:
            recording.hooks.setdefault(tid, []).append(f)
            taken.append(recording.hooks[tid])
    if not taken:
        raise ValueError(
            f"on_gradient(): no tape that records here follows {describe(x)}; watch it, or what it is "
            f"made of, first [at {user_line()}]"
        )

    def remove_hook() -> None:
        for hooks in taken:
            hooks[:] = [hook for hook in hooks if hook is not f]
        taken.clear()

    return remove_hook


def recordings_here(*, paused: bool = False) -> list[Recording]:
    """The tapes that record in this thread and task; paused : and those that stop_recording pauses."""
    found = [
        recorder.paused if paused and isinstance(recorder, Paused) else recorder
        for recorder in recorders()
    ]
    return [recorder for recorder in found if isinstance(recorder, Recording)]


# --- saved data -----------------------------------------------------------------------------------
class Saving(Context):
    """The block of ``saved_data``."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing

    def _begin(self) -> None:
        for function in (self.packing.pack, self.packing.unpack):
            if not callable(function):
                raise TypeError(
                    f"saved_data() takes two functions, got {describe(function)} [at {user_line()}]"
                )
        self.outer = PACKING.get()
        PACKING.set(self.packing)
        for recording in recordings_here(paused=True):
            recording.pack_by(self.packing)

    def _end(self) -> None:
        if PACKING.get() is self.packing:
            PACKING.set(self.outer)
        while self.packing.recordings:
            recording = self.packing.recordings[-1]
            if recording.packing is self.packing:
                recording.pack_by(self.outer)
            self.packing.recordings.pop()


def saved_data(pack: Pack, unpack: Unpack) -> Saving:
    """Within it, what tapes keep for the backward pass is in the hands of two functions.

    They are those of ``torch.autograd.graph.saved_tensors_hooks``.  It concerns the tapes that record
    here, or are entered here, while the block is open; a gradient may be taken after it.

    Parameters
    ----------
    pack : Callable
        Called with each array that a record is to keep, as an Array.  What it gives is kept instead.
    unpack : Callable
        Called with that when a rule needs the array, once in each pass.  Gives an Array of the shape,
        dtype and device that ``pack`` was given.

    Returns
    -------
    context manager
        Gives nothing.

    Raises
    ------
    TypeError
        When one cannot be called.
    ValueError
        In the backward pass: when unpack gives something else.

    Notes
    -----
    What ``pack`` raises, the op raises, and is not recorded.  An array that several records keep is
    packed once.  Of blocks in each other the innermost counts.  What ``recompute_grad`` and
    ``custom_gradient`` keep and data of a ``vmap`` are left as they are.

    Examples
    --------
    >>> import arraytape as xp
    >>> def pack(x):
    ...     return xp.astype(x, xp.float32)
    >>> def unpack(x):
    ...     return xp.astype(x, xp.float64)
    >>> x = xp.asarray([0.1, 0.2])
    >>> with xp.diagnose.saved_data(pack, unpack), xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.sum(xp.exp(x))
    >>> error = tape.gradient(y, x) - xp.exp(x)  # what was kept in single precision
    >>> bool(xp.all(xp.abs(error) < 1e-7)), bool(xp.any(error != 0.0))
    (True, True)
    """
    return Saving(Packing(pack, unpack))


@entrance
def save_on_disk(
    directory: str | os.PathLike[str] | None = None, smallest: int = 0
) -> tuple[Pack, Unpack]:
    """Return two functions for ``saved_data`` that keep arrays in files.

        with saved_data(*save_on_disk()), GradientTape() as tape:
            ...

    Parameters
    ----------
    directory : str or PathLike, optional
        Where the files go, one for each array; by default the directory for temporary files.  A file is
        removed when no tape needs it any more, at the latest when Python ends.
    smallest : int, default: 0
        Arrays of fewer bytes stay in memory.

    Returns
    -------
    tuple
        ``pack`` and ``unpack``.

    Raises
    ------
    TypeError
        When directory is no path, or smallest no integer.
    OSError
        When the directory is not there; from the op, when a file cannot be written; from the gradient,
        when one cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import arraytape as xp
    >>> x = xp.ones(10_000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with xp.diagnose.saved_data(*xp.diagnose.save_on_disk(folder)), xp.GradientTape() as tape:
    ...         tape.watch(x)
    ...         y = xp.sum(xp.exp(x))
    ...     gradient = tape.gradient(y, x)
    >>> print(gradient[0])
    2.718281828459045
    """
    smallest = unwrap_option(smallest)
    if not isinstance(smallest, int):
        raise TypeError(
            f"save_on_disk: smallest must be an integer, got {describe(smallest)} [at {user_line()}]"
        )
    folder = Path(directory) if directory is not None else Path(tempfile.gettempdir())
    if not folder.is_dir():
        raise FileNotFoundError(f"save_on_disk: {str(folder)!r} is no directory [at {user_line()}]")

    def pack_on_disk(x: Array) -> Any:
        data = np.asarray(x)
        return x if data.nbytes < smallest else OnDisk(data, x.device, folder)

    def unpack(held: Any) -> Array:
        return held.read_array() if isinstance(held, OnDisk) else held

    return pack_on_disk, unpack


class OnDisk:
    """An array in a file, which goes when this object does."""

    def __init__(self, data: np.ndarray, device: Any, folder: Path) -> None:
        self.device = device
        number, self.path = tempfile.mkstemp(prefix="arraytape-", suffix=".npy", dir=folder)
        self.remove = finalize(self, Path(self.path).unlink, missing_ok=True)
        with os.fdopen(number, "wb") as file:
            np.save(file, data, allow_pickle=False)

    def read_array(self) -> Array:
        """Return the array, on its device."""
        found: Array = namespace().asarray(
            np.load(self.path, allow_pickle=False), device=self.device
        )
        return found
