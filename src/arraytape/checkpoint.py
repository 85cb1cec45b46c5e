"""Checkpoints: the Variables of Modules and optimizers in a safetensors file.

A file holds numbers and names, and no code: there is no pickle.  ``save`` writes under a temporary
name, reads the file back, and only then renames it.  ``load`` checks the whole file before it assigns
anything.  Both need the package safetensors: ``pip install 'arraytape[checkpoint]'``.

>>> import os, tempfile
>>> import arraytape as xp
>>> model = xp.nn.Dense(2, seed=0)
>>> y = model(xp.ones((1, 3)))
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "run.safetensors")
...     xp.checkpoint.save(path, {"model": model})
...     found = xp.checkpoint.load(path, {"model": model})
>>> sorted(found)
['model.bias', 'model.kernel']
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import secrets
import stat
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

import arraytape as xp

from ._array.array import Array
from ._util import nest
from ._util.errors import (
    TapeWarning,
    describe,
    layout_text,
    missing_from,
    see,
    stacklevel,
    user_line,
)
from ._util.imports import import_or_advise
from .module import Module, named, walk
from .variable import AllOrNone, Variable, detached

try:
    import fcntl
except ImportError:  # on Windows, which has no such locks, but cannot remove a file that is open
    fcntl = None  # type: ignore[assignment]

__all__ = ["load", "save"]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # type checkers would accept every name that __getattr__ could serve
    __getattr__ = missing_from(__name__, "checkpoint")


Host = np.ndarray[Any, np.dtype[Any]]
PathLike = str | os.PathLike[str]
HEADER = "arraytape"  # the key of the package's own entry in the file's metadata
# The version of the format of this entry.  In version 1 the checksum did not cover the entry itself.
# Version 2 had a second entry and padding, to detect damage.
VERSION = 3


def save(path: PathLike, state: Any) -> None:
    """Write the value of each Variable of a Module or nesting to a file.

    Parameters
    ----------
    path : str or path
        The file.  An older file is replaced when the new one is complete and was read back; when
        anything fails, the older file stays.  The new file gets the mode of the older one, and its owner
        where the system allows that.  A symbolic link is followed.
    state : Module, or nesting of Modules and Variables
        The Variables to write: a Module, or a dict or dataclass of Modules and Variables, such as
        ``{"model": model, "optimizer": optimizer}``.  Names in the file are paths of attributes, as in
        ``Module.named_variables``.

    Raises
    ------
    ImportError
        When safetensors is not installed.
    TypeError, ValueError
        When ``state`` is something else, or holds no Variable (layers create their Variables on the
        first call).
    OSError
        When the file cannot be written, is no regular file, or does not hold what was written.

    Warns
    -----
    TapeWarning
        When a layer has not been called, so that the file has none of its Variables.

    Examples
    --------
    >>> import os, tempfile
    >>> import arraytape as xp
    >>> model = xp.nn.Dense(2, seed=0)
    >>> y = model(xp.ones((1, 3)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     xp.checkpoint.save(path, {"model": model})
    ...     print(sorted(xp.checkpoint.load(path)))
    ['model.bias', 'model.kernel']
    """
    safetensors = safetensors_of_numpy()
    target = resolve_path("save", path)
    values = {name: host_of(variable) for name, variable in variables_of("save", state).items()}
    if not values:
        raise ValueError(
            f"save: {describe(state)} holds no Variables; layers make theirs on their first call "
            f"[at {user_line()}]"
        )
    warn_of_unbuilt(state)
    encoded = {name: encode(value) for name, value in values.items()}
    pairs = {name: str(x.dtype) for name, x in values.items() if x.dtype.kind == "c"}
    ours = {
        "version": VERSION,
        "complex": pairs,
        "sha256": digest(encoded, [VERSION, pairs]),
    }
    content = safetensors.save(encoded, {HEADER: json.dumps(ours)})
    with open_replacement(target) as (temporary, file):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        if not holds_values(temporary, values):
            raise OSError(
                f"save: the file for {str(path)!r} does not hold what was written "
                f"[at {user_line()}]"
            )


def holds_values(path: Path, values: Mapping[str, Host]) -> bool:
    try:
        written = read_arrays_of(path)
    except ValueError:  # the file is damaged
        return False
    return all(same_bits(value, written.get(name)) for name, value in values.items())


def load(path: PathLike, state: Any = None, *, expect_partial: bool = False) -> dict[str, Array]:
    """Load a checkpoint, and assign its values to the Variables of the same names.

    Parameters
    ----------
    path : str or path
        A file written by ``save``, or another safetensors file.
    state : Module, or nesting of Modules and Variables, optional
        The Variables to assign to.  Their names, shapes and dtypes must be those of the saved state.
        Layers create their Variables on the first call, and optimizers in ``build``; both must have
        happened.  By default nothing is assigned.
    expect_partial : bool
        True to leave out Arrays of the file that ``state`` has no Variable for, such as those of an
        optimizer.  By default they are an error.  Each Variable of ``state`` must be in the file.

    Returns
    -------
    dict of str to Array
        The Arrays by name: those that were assigned, or without ``state`` all Arrays in the file.

    Raises
    ------
    ImportError
        When safetensors is not installed.
    OSError
        When the file cannot be read.
    TypeError
        When ``state`` is something else.
    ValueError
        When the file is damaged or no checkpoint, or its names, shapes or dtypes are not those of the
        Variables.  No Variable has changed then.

    Examples
    --------
    >>> import os, tempfile
    >>> import arraytape as xp
    >>> first, second = xp.nn.Dense(2, seed=0), xp.nn.Dense(2, seed=1)
    >>> x = xp.ones((1, 3))
    >>> before = first(x), second(x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     xp.checkpoint.save(path, {"model": first})
    ...     names = list(xp.checkpoint.load(path, {"model": second}))
    >>> names, bool(xp.all(first(x) == second(x)))
    (['model.kernel', 'model.bias'], True)

    The weights alone of a file that has an optimizer's state, too:

    >>> adam = xp.optimizers.Adam(0.1)
    >>> adam.minimize(lambda: xp.sum(first(x) ** 2), first.trainable_variables)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "training.safetensors")
    ...     xp.checkpoint.save(path, {"model": first, "adam": adam})
    ...     list(xp.checkpoint.load(path, {"model": second}, expect_partial=True))
    ['model.kernel', 'model.bias']
    """
    safetensors_of_numpy()
    values = read_arrays_of(as_path("load", path))
    if state is None:
        return {name: xp.asarray(value) for name, value in values.items()}
    variables = variables_of("load", state)
    unbuilt = unbuilt_parts(state)
    if expect_partial and not unbuilt:
        values = {name: value for name, value in values.items() if name in variables}
    check_fit(str(path), values, variables, unbuilt)
    read_arrays = {
        name: xp.asarray(values[name], device=variable.device)
        for name, variable in variables.items()
    }
    with AllOrNone(variables.values()):
        for name, variable in variables.items():
            variable.assign(read_arrays[name])
    return read_arrays


def check_fit(
    path: str, values: Mapping[str, Host], variables: Mapping[str, Variable], unbuilt: list[str]
) -> None:
    """Raise ValueError if names, shapes or dtypes in the file differ from those of the Variables.

    unbuilt : the paths of parts that have not made their Variables.
    """
    missing = [name for name in variables if name not in values]
    extra = [name for name in values if name not in variables]
    wrong = [
        f"{name!r} is {layout_text(values[name])}, the Variable {variable.name!r} "
        f"{layout_text(variable)}"
        for name, variable in variables.items()
        if name in values
        and (values[name].shape, values[name].dtype) != (variable.shape, variable.dtype)
    ]
    found = []
    if missing:
        found.append(
            f"the file lacks {quote_names(missing)} (a layer has none in a file that was saved before "
            "its first call)"
        )
    if extra:
        way_out = (
            f"call the model before load: {quote_names(unbuilt)} made no Variables yet; layers make "
            "theirs on their first call, optimizers in build()"
            if unbuilt
            else "pass expect_partial=True to load the Variables of the given state alone"
        )
        found.append(f"the file has {quote_names(extra)} besides ({way_out})")
    found += wrong[:5] + ([f"and {len(wrong) - 5} more"] if len(wrong) > 5 else [])
    if found:
        raise ValueError(
            f"load: {path!r} does not fit: {'; '.join(found)}. Nothing was assigned "
            f"[at {user_line()}] {see('checkpoint-does-not-fit')}"
        )


def variables_of(caller: str, state: Any) -> dict[str, Variable]:
    """Return a dict from paths to the Variables of ``state``; a shared Variable is included once."""
    if not isinstance(state, Module):
        if not isinstance(nest.parts_of_nesting(state), dict):
            raise TypeError(
                f"{caller}: takes a Module or a dict or dataclass of Modules and Variables, got "
                f"{describe(state)} [at {user_line()}]"
            )
        nest.leaves(state)  # raises for a nesting that holds itself
        for name, part, _ in nest.located(state):
            if not isinstance(part, Module | Variable):
                way_out = ""
                if isinstance(part, int | float | complex | Array | np.ndarray | np.generic):
                    short = (
                        "[...]" if getattr(part, "ndim", 0) else describe(part).rpartition(" ")[2]
                    )
                    way_out = f"; xp.Variable({short}) holds a value that is saved and loaded"
                raise TypeError(
                    f"{caller}: {name!r} must be a Module or a Variable, got {describe(part)}{way_out} "
                    f"[at {user_line()}]"
                )
    return named(walk(state), caller)


def unbuilt_layers(state: Any) -> list[str]:
    return [
        path
        for path, leaf in walk(state)
        if getattr(leaf, "built", True) is False and getattr(leaf, "_makes_variables", False)
    ]


def unbuilt_parts(state: Any) -> list[str]:
    """Return the paths of layers and optimizers that have not made their Variables."""
    return unbuilt_layers(state) + [
        path
        for path, leaf in walk(state)
        if getattr(leaf, "slot_names", ()) and not any(getattr(leaf, "slots", {}).values())
    ]


def warn_of_unbuilt(state: Any) -> None:
    """Warn if layers in ``state`` have not made their Variables, which the file then lacks."""
    unbuilt = unbuilt_layers(state)
    if unbuilt:
        warnings.warn(
            f"save: call the model before save: {quote_names(unbuilt)} made no Variables yet, and the "
            f"file has none of theirs [at {user_line()}]",
            TapeWarning,
            stacklevel=stacklevel(),
        )


# --- values -------------------------------------------------------------------------------------
def host_of(variable: Variable) -> Host:
    """Copy a Variable's value to a NumPy array in C order and the machine's byte order."""
    # safetensors 0.8.0 writes the wrong elements of strided and broadcast arrays
    # (github.com/safetensors/safetensors/issues/825).
    data = np.asarray(detached(variable).to_device("cpu"))
    return np.array(data, dtype=data.dtype.newbyteorder("="), order="C")


def encode(value: Host) -> Host:
    """Convert complex numbers to pairs of floats on a new last axis: the format has no complex128."""
    if value.dtype.kind != "c":
        return value
    return np.stack([value.real, value.imag], axis=-1)


def same_bits(value: Host, other: Host | None) -> bool:
    if other is None or (value.shape, value.dtype) != (other.shape, other.dtype):
        return False
    return value.tobytes() == other.tobytes()


def digest(values: Mapping[str, Host], stated: Sequence[Any] | None = None) -> str:
    """Return a checksum of names, dtypes, shapes and data, since the format has no checksum.

    stated : further data in the checksum, encoded as JSON; None for files of version 1.
    """
    total = hashlib.sha256()
    if stated is not None:
        total.update(json.dumps(stated, sort_keys=True).encode())
    for name in sorted(values):
        value = values[name]
        total.update(json.dumps([name, str(value.dtype), value.shape]).encode())
        total.update(np.array(value, order="C").tobytes())
    return total.hexdigest()


# --- reading ------------------------------------------------------------------------------------
def read_arrays_of(path: Path) -> dict[str, Host]:
    """Return the arrays of a file; raise ValueError if it is damaged or no safetensors file."""
    safetensors = safetensors_of_numpy()
    content = path.read_bytes()
    try:
        values: dict[str, Host] = dict(sorted(safetensors.load(content).items()))
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__") or {}
        for name, value in values.items():
            if value.dtype.kind not in "biufc":
                raise ValueError(f"{name!r} has dtype {value.dtype}, which no Array can have")
    except Exception as error:  # from safetensors, such as KeyError for a dtype that NumPy lacks
        raise ValueError(
            f"load: {str(path)!r} is damaged, cut short or no safetensors file: "
            f"{type(error).__name__}: {error} [at {user_line()}]"
        ) from error
    if HEADER not in metadata:
        return values  # written by another program: no checksum, no complex numbers
    try:
        return decoded(values, json.loads(metadata[HEADER]))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"load: {str(path)!r} is damaged: {error} [at {user_line()}]") from error


def decoded(values: Mapping[str, Host], ours: Mapping[str, Any]) -> dict[str, Host]:
    """Check the arrays against the metadata entry ``ours``, and join pairs to complex numbers.

    Raise ValueError for a wrong checksum, or an entry that does not fit the arrays.
    """
    version, pairs, expected = ours["version"], ours["complex"], ours["sha256"]
    if version not in range(1, VERSION + 1):
        raise ValueError(f"version {version}; this is arraytape {xp.__version__}")
    if digest(values, None if version == 1 else [version, pairs]) != expected:
        raise ValueError("its checksum is wrong")
    for name, dtype in pairs.items():
        of_parts = np.dtype(dtype).type(0).real.dtype
        if values[name].dtype != of_parts or values[name].shape[-1:] != (2,):
            raise ValueError(f"{name!r} is not made of pairs for {dtype}")
    return {
        name: np.array(x, order="C").view(pairs[name])[..., 0] if name in pairs else x
        for name, x in values.items()
    }


# --- files --------------------------------------------------------------------------------------
def as_path(caller: str, path: PathLike) -> Path:
    try:
        return Path(path)
    except TypeError as error:
        raise TypeError(
            f"{caller}: the path must be a str or a path, got {describe(path)} [at {user_line()}]"
        ) from error


def resolve_path(caller: str, path: PathLike) -> Path:
    """Return the path without symbolic links; raise OSError if it exists and is no regular file."""
    found = Path(os.path.realpath(as_path(caller, path)))
    if not found.parent.exists():
        raise FileNotFoundError(
            f"{caller}: make the folder {str(found.parent)!r} first: {str(path)!r} has no folder "
            f"[at {user_line()}]"
        )
    with contextlib.suppress(FileNotFoundError):
        mode = found.stat().st_mode  # raises OSError for links in a circle
        if not stat.S_ISREG(mode):
            what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
            raise OSError(f"{caller}: {str(path)!r} is {what} [at {user_line()}]")
    return found


@contextlib.contextmanager
def open_replacement(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield a new file with its path; move it to ``path`` if the block succeeds, else remove it.

    The file is locked while the process lives, so that ``remove_stale`` can remove what a killed process
    left.
    """
    remove_stale(path)
    tried: list[Path] = []
    try:
        temporary, file = open_temporary(path, tried)
        with file:
            copy_owner(path, file.fileno())
            yield temporary, file
            if fcntl is None:
                file.close()  # Windows cannot rename an open file
            os.replace(temporary, path)
            sync_folder(path.parent)
    finally:
        try:
            remove_files(tried)
        except BaseException:  # an interruption, as by Ctrl-C, must not leave a file behind
            remove_files(tried)
            raise


def remove_files(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def open_temporary(path: Path, tried: list[Path]) -> tuple[Path, BinaryIO]:
    """Create a file with a random name in the folder of ``path``, and lock it if the system has locks.

    tried : a list to which each name is appended before the file is created, so that the caller can
    remove the file even after an interruption.
    """
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        tried.append(temporary)
        # No other user may read the file before ``copy_owner`` sets the mode of the replaced file.
        mode = 0o600 if path.exists() else 0o666
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(temporary, flags, mode), "w+b")
        # Another process's ``remove_stale`` may have removed the file before it was locked: try again.
        if lock_file(file) is not False and temporary.exists():
            return temporary, file
        file.close()


def lock_file(file: BinaryIO) -> bool | None:
    """Lock a file and return True; False if another process holds the lock, None without locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EAGAIN, errno.EACCES) else None
    return True


def remove_stale(path: Path) -> None:
    """Remove temporary files for ``path`` that no process has locked: their processes have ended."""
    for other in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 12}.tmp"):
        # Another process may have removed the file, or another user may own it.
        with contextlib.suppress(OSError):
            if fcntl is None:
                other.unlink()
                continue
            with open(other, "rb") as file:
                if lock_file(file):
                    other.unlink()


def copy_owner(path: Path, file: int) -> None:
    """Give a new file the mode and, if the system allows, the owner of the file that it replaces."""
    if fcntl is None or not path.exists():
        return
    old, mode = path.stat(), stat.S_IMODE(path.stat().st_mode)
    new = os.fstat(file)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.fchown(file, old.st_uid, old.st_gid)
        except OSError:
            if old.st_gid != new.st_gid:
                mode &= 0o707  # members of another group must not get the old group's rights
    os.fchmod(file, mode)


def sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def safetensors_of_numpy() -> Any:
    """Return the module ``safetensors.numpy``; raise ImportError if it is missing."""
    return import_or_advise(
        "safetensors.numpy",
        "checkpoints need the package safetensors: pip install 'arraytape[checkpoint]'",
    )


def quote_names(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more
