"""The standard's inspection API (``__array_namespace_info__``), and ``set_default_device``."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .._util.errors import user_line
from .storage import DEFAULT, devices, discover, storage_at

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
ALL = KINDS["bool"] + KINDS["numeric"]


class Info:
    """The capabilities of this namespace, as ``__array_namespace_info__()`` returns them."""

    def capabilities(self) -> dict[str, Any]:
        """Return the options that the standard leaves open and this namespace has.

        Returns
        -------
        dict
            "boolean indexing" and "data-dependent shapes": True; "max dimensions": 64.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Return the device on which creation functions make arrays if no device is given.

        Returns
        -------
        str
            The device: 'cpu' unless ``set_default_device`` changed it.
        """
        return DEFAULT[0]

    def default_dtypes(self, *, device: Hashable | None = None) -> dict[str, Any]:
        """Return the dtypes of arrays that are made from Python numbers, and the dtype of indices.

        Parameters
        ----------
        device : str | None, default: None
            A device. The result is the same for all devices.

        Returns
        -------
        dict
            A dtype for "real floating", "complex floating", "integral" and "indexing".

        Raises
        ------
        ValueError
            When there is no such device.
        """
        storage_at(device)  # raises for an unknown device
        defaults = ("float64", "complex128", "int64", "int64")
        names = ("real floating", "complex floating", "integral", "indexing")
        return {name: np.dtype(default) for name, default in zip(names, defaults, strict=True)}

    def devices(self) -> tuple[Any, ...]:
        """Return the devices on which arrays may lie.

        Returns
        -------
        tuple of str
            'cpu', and with CuPy 'cuda:0' and so on.
        """
        from importlib.util import find_spec

        if find_spec("cupy"):
            discover(device="cuda")
        return devices()

    def dtypes(
        self, *, device: Hashable | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """Return the dtypes by name.

        Parameters
        ----------
        device : str | None, default: None
            A device. The result is the same for all devices.
        kind : str | tuple[str, ...] | None, default: None
            One kind such as 'real floating' (see ``isdtype``), or several; None for all kinds.

        Returns
        -------
        dict
            The dtypes of these kinds; the keys are their names, such as 'float32'.

        Raises
        ------
        ValueError
            When there is no such kind or device.
        """
        storage_at(device)  # raises for an unknown device
        kinds = (kind,) if isinstance(kind, str) else kind
        unknown = [k for k in kinds or () if k not in KINDS]
        if unknown:
            raise ValueError(
                f"unknown kinds of dtype {unknown}; known: {', '.join(KINDS)} [at {user_line()}]"
            )
        names = ALL if kinds is None else [name for k in kinds for name in KINDS[k]]
        return {name: np.dtype(name) for name in ALL if name in names}


def set_default_device(device: Hashable) -> None:
    """Set the device on which creation functions make arrays if no device is given.

    With a GPU as the default, third-party code that names no device runs on the GPU.

    Parameters
    ----------
    device : str
        The device, such as 'cpu' or 'cuda:0'.

    Raises
    ------
    ValueError
        When there is no such device.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.set_default_device("cpu")  # 'cuda:0' where CuPy has one
    >>> print(xp.zeros(2).device)
    cpu
    """
    if device is None:  # storage_at would take None for the current default
        raise ValueError(
            f"set_default_device: needs a device, got None [at {user_line()}]; give one, such as 'cpu'"
        )
    storage_at(device)
    DEFAULT[0] = device


def __array_namespace_info__() -> Info:
    """Return the inspection API of this namespace.

    Returns
    -------
    Info
        An object with the methods ``capabilities``, ``default_device``, ``default_dtypes``, ``devices``
        and ``dtypes``.

    Examples
    --------
    >>> import arraytape as xp
    >>> info = xp.__array_namespace_info__()
    >>> info.capabilities()["boolean indexing"], info.default_device()
    (True, 'cpu')
    """
    return Info()
