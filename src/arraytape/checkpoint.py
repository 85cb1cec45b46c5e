"""Checkpoints: the Variables of Modules and optimizers in a safetensors file.

    from arraytape import checkpoint

    checkpoint.save("run.safetensors", {"model": model, "optimizer": optimizer})
    checkpoint.load("run.safetensors", {"model": model, "optimizer": optimizer})

A file holds numbers and names, and no code: there is no pickle.  It appears under its name when it is
complete and was read back, and nothing is assigned before all of it was checked.  It needs the package
safetensors: ``pip install 'arraytape[checkpoint]'``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import arraytape as xp

from ._array.array import Array
from ._util import nest
from ._util.errors import describe, layout, see, user_line
from .module import Module, named, walk
from .variable import Variable, detached, together

__all__ = ["load", "save"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)


Host = np.ndarray[Any, np.dtype[Any]]
PathLike = str | os.PathLike[str]
HEADER = "arraytape"  # the entry of the file's metadata that is ours
VERSION = 1


def save(path: PathLike, state: Any) -> None:
    """Write the value of each Variable.

    Parameters
    ----------
    path : str or path
        The file: replaced as a whole, when the new one is complete and was read back; until then, and
        when anything fails, an older one stays as it is.
    state : Module, or nesting of Modules and Variables
        Whose Variables to write: a Module, or a dict, a dataclass or what else has parts with names,
        such as ``{"model": model, "optimizer": optimizer}``.  Names in the file are paths of
        attributes, as in ``Module.named_variables``.

    Raises
    ------
    ImportError
        When safetensors is not installed.
    TypeError, ValueError
        When ``state`` is something else, or holds no Variable (yet: layers make theirs on the first
        call).
    OSError
        When the file cannot be written, or does not hold what was written.
    """
    safetensors = package()
    values = {name: host_of(variable) for name, variable in variables_of("save", state).items()}
    if not values:
        raise ValueError(
            f"save: {describe(state)} holds no Variables; layers make theirs on their first call "
            f"[at {user_line()}]"
        )
    encoded = {name: encode(value) for name, value in values.items()}
    ours = {
        "version": VERSION,
        "complex": {name: str(x.dtype) for name, x in values.items() if x.dtype.kind == "c"},
        "sha256": digest(encoded),
    }
    content = safetensors.numpy.save(encoded, {HEADER: json.dumps(ours)})
    with replacing(Path(path)) as temporary:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        written = read(temporary)
        if any(not same(value, written.get(name)) for name, value in values.items()):
            raise OSError(
                f"save: the file for {str(path)!r} does not hold what was written "
                f"[at {user_line()}]"
            )


def load(path: PathLike, state: Any = None) -> dict[str, Array]:
    """Read a checkpoint, and assign its values to the Variables of the same names.

    Parameters
    ----------
    path : str or path
        A file written by ``save``, or another safetensors file.
    state : Module, or nesting of Modules and Variables, optional
        What ``save`` was given, or its like: with the same names, shapes and dtypes.  Layers have to
        have their Variables already, from a first call, and optimizers theirs, from ``build``.  By
        default nothing is assigned.

    Returns
    -------
    dict of str to Array
        What the file holds, by name.

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
    """
    package()
    values = read(Path(path))
    if state is None:
        return {name: xp.asarray(value) for name, value in values.items()}
    variables = variables_of("load", state)
    check(str(path), values, variables)
    read_arrays = {
        name: xp.asarray(values[name], device=variable.device)
        for name, variable in variables.items()
    }

    def assign() -> None:
        for name, variable in variables.items():
            variable.assign(read_arrays[name])

    together([*variables.values()], assign)
    return read_arrays


def check(path: str, values: Mapping[str, Host], variables: Mapping[str, Variable]) -> None:
    """ValueError that lists all in which file and Variables differ."""
    missing = [name for name in variables if name not in values]
    extra = [name for name in values if name not in variables]
    wrong = [
        f"{name!r} is {layout(values[name])}, the Variable {variable.name!r} {layout(variable)}"
        for name, variable in variables.items()
        if name in values
        and (values[name].shape, values[name].dtype) != (variable.shape, variable.dtype)
    ]
    found = []
    if missing:
        found.append(f"the file lacks {listed(missing)}")
    if extra:
        found.append(
            f"the file has {listed(extra)} besides (layers make their Variables on their first call, "
            "optimizers in build())"
        )
    found += wrong[:5] + ([f"and {len(wrong) - 5} more"] if len(wrong) > 5 else [])
    if found:
        raise ValueError(
            f"load: {path!r} does not fit: {'; '.join(found)}. Nothing was assigned "
            f"[at {user_line()}] {see('checkpoint-does-not-fit')}"
        )


def variables_of(caller: str, state: Any) -> dict[str, Variable]:
    """The Variables of a Module or a nesting by path, shared ones once."""
    if not isinstance(state, Module):
        if not isinstance(nest.parts_of(state), dict):
            raise TypeError(
                f"{caller}: takes a Module or a dict or dataclass of Modules and Variables, got "
                f"{describe(state)} [at {user_line()}]"
            )
        nest.leaves(state)  # says when it holds itself
        for name, part, _ in nest.located(state):
            if not isinstance(part, Module | Variable):
                raise TypeError(
                    f"{caller}: {name!r} must be a Module or a Variable, got {describe(part)} "
                    f"[at {user_line()}]"
                )
    return named(walk(state), caller)


# --- values -------------------------------------------------------------------------------------
def host_of(variable: Variable) -> Host:
    """The value in the host's memory, in C order and the machine's byte order."""
    # safetensors 0.8.0 writes the wrong elements of strided and broadcast arrays
    # (github.com/safetensors/safetensors/issues/825).
    data = np.asarray(detached(variable).to_device("cpu"))
    return np.array(data, dtype=data.dtype.newbyteorder("="), order="C")


def encode(value: Host) -> Host:
    """Complex numbers as pairs of floats along a last axis: the format has no complex128."""
    if value.dtype.kind != "c":
        return value
    return np.stack([value.real, value.imag], axis=-1)


def decode(value: Host, dtype: str) -> Host:
    pairs = np.array(value, order="C")
    return pairs.view(np.dtype(dtype)).reshape(value.shape[:-1])


def same(value: Host, other: Host | None) -> bool:
    """Whether two arrays are the same bit for bit, NaN included."""
    if other is None or (value.shape, value.dtype) != (other.shape, other.dtype):
        return False
    return value.tobytes() == other.tobytes()


def digest(values: Mapping[str, Host]) -> str:
    """A checksum over names, dtypes, shapes and data: the format itself has none."""
    total = hashlib.sha256()
    for name in sorted(values):
        value = values[name]
        total.update(json.dumps([name, str(value.dtype), value.shape]).encode())
        total.update(np.array(value, order="C").tobytes())
    return total.hexdigest()


# --- files --------------------------------------------------------------------------------------
def read(path: Path) -> dict[str, Host]:
    """The arrays of a file; ValueError when it is damaged or something else."""
    safetensors = package()
    content = path.read_bytes()
    try:
        values: dict[str, Host] = dict(sorted(safetensors.numpy.load(content).items()))
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    except Exception as error:  # its own, or a KeyError for a dtype that NumPy has not
        raise ValueError(
            f"load: {str(path)!r} is damaged, cut short or no safetensors file: "
            f"{type(error).__name__}: {error} [at {user_line()}]"
        ) from error
    if HEADER not in metadata:
        return values  # written by another program: no checksum, no complex numbers
    try:
        ours = json.loads(metadata[HEADER])
        version, pairs, expected = ours["version"], ours["complex"], ours["sha256"]
        if version != VERSION:
            raise ValueError(f"version {version}; this is arraytape {xp.__version__}")
        if digest(values) != expected:
            raise ValueError("its checksum is wrong")
        return {name: decode(x, pairs[name]) if name in pairs else x for name, x in values.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"load: {str(path)!r} is damaged: {error} [at {user_line()}]") from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path``, renamed to it when all went well, else removed."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def package() -> ModuleType:
    """The package safetensors; an ImportError that says how to get it."""
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(
            "checkpoints need the package safetensors: pip install 'arraytape[checkpoint]'"
        ) from error
    return safetensors


def listed(names: list[str]) -> str:
    """Names for a message: the first of them, and how many more."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more
