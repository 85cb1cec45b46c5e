"""Hooks: users' functions that receive or replace cotangents, or that store the data of records."""

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
    """Call ``f`` with the gradient of a value, as soon as a backward pass has completed the gradient.

    The hook belongs to the value that ``x`` holds now, on every tape that records here and follows it.

    Parameters
    ----------
    x : Array, or nesting of Arrays
        A value that a recording tape follows, that is a watched value or one computed from it.  A
        nesting holds several such values.
    f : Callable
        A function of the gradient, an Array of the value's shape and dtype.  ``f`` returns None, or an
        Array of that shape and dtype, which replaces the gradient in the rest of the pass.  Several
        hooks of a value run in the order of their registration, each on the result of the previous hook.
        For a nesting, ``f`` is called once, at the end of a pass, with a nesting of gradients, and must
        return None.  Values without a gradient have None in that nesting.

    Returns
    -------
    Callable
        A function without arguments that removes the hook.

    Raises
    ------
    TypeError
        When x is no Array nor a nesting of Arrays, or f cannot be called.
    ValueError
        When no tape that records here follows x, or x is a watched view of another Array.  The backward
        pass raises it when f returns something else, or when other views were made from x, a view.

    Notes
    -----
    Higher derivatives go through ``f``: outer tapes record its ops on the gradient.  ``f`` is called
    once for each row of a Jacobian, and again if a gradient holds a NaN, so that a second pass runs.  It
    is not called for a value without a gradient, nor by a ForwardAccumulator.  A write to the Array that
    ``f`` receives changes no gradient.

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
        return register_group(x, f)
    return register_hook(x, f)


def register_group(x: Any, f: Callable[[Any], Any]) -> Callable[[], None]:
    """Register ``f``, to be called at the end of a backward pass with all gradients of a nesting.

    Return a function that removes the registration.
    """
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
            removals.append(register_hook(leaf, Member(group, number)))
    except BaseException:
        remove_all_hooks()
        raise
    return remove_all_hooks


def register_hook(x: Array, f: Hook) -> Callable[[], None]:
    """Register ``f`` on the tapes that record in this thread, to be called with the gradient of x.

    Return a function that removes the registration.
    """
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
        value_id = recording.value_id_of(x)
        if value_id in recording.known:
            recording.hooks.setdefault(value_id, []).append(f)
            taken.append(recording.hooks[value_id])
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
    """Return the recorders of the tapes that record in this thread and task.

    paused : True to include the tapes that ``stop_recording`` pauses.
    """
    found = [
        recorder.paused if paused and isinstance(recorder, Paused) else recorder
        for recorder in recorders()
    ]
    return [recorder for recorder in found if isinstance(recorder, Recording)]


# --- saved data -----------------------------------------------------------------------------------
class Saving(Context):
    """The context manager that ``saved_data`` returns: in its block, tapes keep packed data.

    The user's functions ``pack`` and ``unpack`` store and restore each array.
    """

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
    """Open a block in which two functions store and restore what tapes keep for the backward pass.

    The functions serve the tapes that record in this block or are entered in it.  A gradient may be
    taken after the block.  PyTorch's counterpart is ``torch.autograd.graph.saved_tensors_hooks``.

    Parameters
    ----------
    pack : Callable
        A function of one Array, called with each array that a record is to keep.  The record keeps the
        result of ``pack`` instead.
    unpack : Callable
        A function of that result, called when a rule needs the array, once in each pass.  It returns an
        Array of the shape, dtype and device of the Array that ``pack`` received.

    Returns
    -------
    context manager
        The value for ``as`` is None.

    Raises
    ------
    TypeError
        When a function cannot be called.
    ValueError
        When ``unpack`` returns something else; the backward pass raises the error.

    Notes
    -----
    If ``pack`` raises, the op raises the same error and is not recorded.  An array that several records
    keep is packed once.  In nested blocks the innermost functions apply.  Data that ``recompute_grad``
    and ``custom_gradient`` keep, and data of a ``vmap``, are not packed.

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
        The folder for the files, one file for each array.  The default is the system's folder for
        temporary files.  A file is removed when no tape needs the array any more, at the latest when
        Python ends.
    smallest : int, default: 0
        The least size in bytes: smaller arrays stay in memory.

    Returns
    -------
    tuple
        ``pack`` and ``unpack``.

    Raises
    ------
    TypeError
        When ``directory`` is no path, or ``smallest`` is no integer.
    OSError
        When the directory does not exist.  An op raises the error when a file cannot be written, and
        ``gradient`` when a file cannot be read.

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
    """An array that is stored in a file; the file is removed when this object is freed."""

    def __init__(self, data: np.ndarray, device: Any, folder: Path) -> None:
        self.device = device
        number, self.path = tempfile.mkstemp(prefix="arraytape-", suffix=".npy", dir=folder)
        self.remove = finalize(self, Path(self.path).unlink, missing_ok=True)
        with os.fdopen(number, "wb") as file:
            np.save(file, data, allow_pickle=False)

    def read_array(self) -> Array:
        data = np.load(self.path, allow_pickle=False)
        found: Array = namespace().asarray(data, device=self.device)
        return found
