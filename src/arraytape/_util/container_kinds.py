"""Kinds of containers: the functions that flatten and unflatten each of them.

Lists, tuples, named tuples, mappings, dataclasses, and classes registered with ``register_nesting``.
Objects of all other types are leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, TypeVar

from .errors import describe, user_line

T = TypeVar("T")
Nesting = Any  # a leaf, which may be any object, or a container whose parts are nestings
Parts = dict[Any, Nesting] | Sequence[Nesting]  # by name, or in order

UNSET = object()
CACHED = 1000  # classes, since a program may create classes without end


class Kind(NamedTuple):
    """The functions that flatten and unflatten containers of one kind.

    flatten : takes a container, returns (parts, rest).
    unflatten : takes (rest, parts), parts by the same names or in the same order; returns a container.
    always : True if a new container is made even if all parts are the same objects.
    declared : the line that registered the kind.
    """

    flatten: Callable[[Any], tuple[Parts, Any]]
    unflatten: Callable[[Any, Any], Any]
    always: bool = True
    declared: str = "arraytape itself"


def copy_container(structure: T) -> Any:
    import copy

    return copy.copy(structure)


def _in_order(structure: Sequence[Any]) -> tuple[Parts, Any]:
    return structure, structure


def _by_key(structure: Mapping[Any, Any]) -> tuple[Parts, Any]:
    return structure if type(structure) is dict else dict(structure.items()), structure


def _like_list(structure: list[Any], parts: list[Any]) -> Any:
    if type(structure) is list:
        return parts
    same_kind = copy_container(structure)
    same_kind[:] = parts
    return same_kind


def _like_tuple(structure: tuple[Any, ...], parts: list[Any]) -> Any:
    return tuple.__new__(type(structure), parts)  # a subclass's constructor may take anything


def _like_mapping(structure: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    """Return a mapping of the same class; a dict if the class cannot be called with the parts."""
    if type(structure) is dict:
        return parts
    if isinstance(structure, MutableMapping):
        same_kind: Any = copy_container(structure)  # a subclass's constructor may take anything
        same_kind.update(parts)
        return same_kind
    try:
        return type(structure)(parts)  # type: ignore[call-arg]  # Mapping declares no constructor
    except TypeError:
        return parts


LIST, TUPLE = Kind(_in_order, _like_list), Kind(_in_order, _like_tuple)
MAPPING = Kind(_by_key, _like_mapping)

REGISTERED: dict[type, Kind] = {list: LIST, tuple: TUPLE, dict: MAPPING}  # exactly these classes
BUILTIN = (list, tuple, dict)
FAMILIES: tuple[tuple[type, Kind], ...] = ((list, LIST), (tuple, TUPLE), (Mapping, MAPPING))
LEAVES: list[type] = [int, float, complex, str, bytes, bytearray, type, type(None)]


class Kinds(dict[type, Kind | None]):
    """A cache of the kind of each class; None for classes whose instances are leaves."""

    def __missing__(self, cls: type) -> Kind | None:
        if len(self) >= CACHED:
            self.clear()
        self[cls] = kind = _kind_of(cls)
        if cls in REGISTERED:  # another thread may have registered it since ``_kind_of``
            self[cls] = kind = REGISTERED[cls]
        return kind


KINDS = Kinds()


def _kind_of(cls: type) -> Kind | None:
    """Determine the kind of a class; a class with a ``dtype`` counts as one of arrays."""
    if cls in REGISTERED:
        return REGISTERED[cls]
    if hasattr(cls, "dtype") or issubclass(cls, tuple(LEAVES)):
        return None
    for base in cls.__mro__:
        if base in REGISTERED and base not in BUILTIN:
            raise TypeError(
                f"{cls.__qualname__} derives from {base.__qualname__}, which is registered as a nesting "
                f"at {REGISTERED[base].declared}, and is not registered itself: which parts it has "
                f"besides is not known. Call register_nesting({cls.__qualname__}, ...) "
                f"[at {user_line()}]"
            )
    for family, kind in FAMILIES:
        if issubclass(cls, family):
            return kind
    if is_dataclass(cls):
        return _dataclass_kind(cls)
    return None


def is_dataclass(cls: type) -> bool:
    """Return ``dataclasses.is_dataclass(cls)`` without an import of ``dataclasses``."""
    return hasattr(cls, "__dataclass_fields__")


def _dataclass_kind(cls: type) -> Kind | None:
    """Return a kind whose parts are the fields that are not static; static fields are copied.

    Neither ``__init__`` nor ``__post_init__`` runs: parts may be None or Arrays of other shapes, which a
    check there would refuse.  Attributes that are no fields are not copied, since ``__post_init__`` or a
    cached property may have computed them from the old parts.
    """
    import dataclasses

    fields = dataclasses.fields(cls)
    every = [field.name for field in fields]
    nested = [field.name for field in fields if not field.metadata.get("static", False)]
    if "dtype" in every:
        return None

    def flatten_dataclass(x: Nesting) -> tuple[Parts, Any]:
        values = [(name, getattr(x, name, UNSET)) for name in nested]
        return {name: value for name, value in values if value is not UNSET}, x

    def unflatten_dataclass(x: Nesting, parts: dict[str, Any]) -> Any:
        try:
            made: Any = object.__new__(cls)
        except TypeError as error:  # the class derives from a builtin class
            raise TypeError(
                f"the dataclass {cls.__qualname__} cannot be put together from its fields ({error}): "
                f"call register_nesting({cls.__qualname__}, ...) [at {user_line()}]"
            ) from error
        for name in every:
            value = parts[name] if name in parts else getattr(x, name, UNSET)
            if value is not UNSET:
                object.__setattr__(made, name, value)  # __setattr__ of a frozen dataclass raises
        return made

    return Kind(flatten_dataclass, unflatten_dataclass, always=False)


def keep_whole(cls: type) -> None:
    """Declare that the instances of a class and of its subclasses are leaves."""
    LEAVES.append(cls)
    KINDS.clear()


def register_nesting(
    cls: type[T],
    flatten: Callable[[T], tuple[Mapping[str, Any] | Sequence[Any], Any]] | None = None,
    unflatten: Callable[[Any, Any], T] | None = None,
) -> type[T]:
    """Register a class as a nesting, like lists, tuples, dicts and dataclasses.

    ``watch``, ``gradient``, ``vmap``, ``custom_gradient``, functions of functions, optimizers, Modules
    and checkpoints then find the Arrays in its instances, and return gradients and results in such
    instances.  Dataclasses need no registration: their fields are the parts, except those declared with
    ``field(metadata={"static": True})``.

    Parameters
    ----------
    cls : type
        The class.  Subclasses are not registered: they may have parts that ``flatten`` does not know.
    flatten : callable, optional
        Takes an instance and returns a pair ``(parts, rest)``.  ``parts`` are Arrays and nestings: in a
        dict, whose keys name them in messages, checkpoints and ``Module.named_variables``, or in
        a list or tuple.  ``rest`` holds all other data of the instance, and need not be hashable.  By
        default the method ``tree_flatten`` of the class.
    unflatten : callable, optional
        Takes ``(rest, parts)``, parts in a dict with the same keys or in a tuple; returns an instance.
        By default the class method ``tree_unflatten``.

    Returns
    -------
    type
        ``cls``, so that ``register_nesting`` decorates a class with these two methods.

    Raises
    ------
    TypeError
        When ``cls`` is no class, is a class of leaves (arrays, Modules, numbers, strings) or abstract,
        or a function is missing.  Lazy, when ``flatten`` returns no such pair or ``unflatten`` no
        instance of the class, and for an instance of a subclass that is not registered itself.
    KeyError
        When the class is registered already; the message names the line.

    Notes
    -----
    ``flatten`` must return the same Array objects at each call, since a tape identifies Arrays by
    ``id``.

    The parts that ``unflatten`` receives may be no Arrays: a gradient or None, a Jacobian of another
    shape, an axis, a NumPy array.  So ``unflatten`` must not check or convert parts.  Where the
    constructor does, call ``object.__new__(cls)``.  Dataclasses are built in this way from their fields,
    without ``__init__`` and ``__post_init__``.

    Examples
    --------
    >>> import arraytape as xp
    >>> class Line:
    ...     def __init__(self, slope, offset, name):
    ...         self.slope, self.offset, self.name = slope, offset, name
    >>> _ = xp.register_nesting(
    ...     Line,
    ...     lambda line: ({"slope": line.slope, "offset": line.offset}, line.name),
    ...     lambda name, parts: Line(**parts, name=name),
    ... )
    >>> line = Line(xp.asarray(2.0), xp.asarray(1.0), "first")
    >>> g = xp.grad(lambda line: line.slope * 3.0 + line.offset)(line)
    >>> float(g.slope), float(g.offset), g.name
    (3.0, 1.0, 'first')
    """
    _check_class(cls)
    if flatten is None and unflatten is None:
        flatten, unflatten = (getattr(cls, f"tree_{f}", None) for f in ("flatten", "unflatten"))
    if not (callable(flatten) and callable(unflatten)):
        raise TypeError(
            f"register_nesting: {cls.__qualname__} needs two functions, got {describe(flatten)} and "
            f"{describe(unflatten)}. Give flatten and unflatten, or the class the methods tree_flatten "
            f"and tree_unflatten [at {user_line()}]"
        )
    REGISTERED[cls] = _registered_kind(cls, flatten, unflatten, user_line())
    KINDS.clear()
    return cls


def _check_class(cls: type) -> None:
    """Raise TypeError or KeyError for a class that cannot be registered."""
    if not isinstance(cls, type):
        raise TypeError(f"register_nesting: takes a class, got {describe(cls)} [at {user_line()}]")
    name = cls.__qualname__
    try:
        known = REGISTERED.get(cls)
    except TypeError as error:
        raise TypeError(
            f"register_nesting: the class {name} must be hashable: {error} [at {user_line()}]"
        ) from error
    if known is not None:
        raise KeyError(f"{name} is already registered as a nesting, at {known.declared}")
    if cls is object or getattr(cls, "__abstractmethods__", None):
        raise TypeError(
            f"register_nesting: {name} has no instances that are not of a subclass "
            f"[at {user_line()}]"
        )
    if hasattr(cls, "__dlpack__") or issubclass(cls, tuple(LEAVES)):
        raise TypeError(
            f"register_nesting: a {name} is a leaf (an array, a Module, a number or a string), which "
            f"cannot be taken apart [at {user_line()}]"
        )


def _registered_kind(
    cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any], declared: str
) -> Kind:
    """Return a kind that calls the user's functions and checks their results."""

    def checked_flatten(x: Nesting) -> tuple[Parts, Any]:
        answer = flatten(x)
        pair = isinstance(answer, tuple | list) and len(answer) == 2
        if not pair or not isinstance(answer[0], Mapping | list | tuple):
            raise TypeError(
                f"the flatten of {cls.__qualname__}, registered at {declared}, must give a pair (parts, "
                f"rest) with the parts in a dict, list or tuple, got {describe(answer)} "
                f"[at {user_line()}]"
            )
        parts, rest = answer
        return dict(parts) if isinstance(parts, Mapping) else tuple(parts), rest

    def checked_unflatten(rest: Any, parts: Parts) -> Any:
        made = unflatten(rest, parts if isinstance(parts, dict) else tuple(parts))
        if not isinstance(made, cls):
            raise TypeError(
                f"the unflatten of {cls.__qualname__}, registered at {declared}, must give a "
                f"{cls.__qualname__}, got {describe(made)} [at {user_line()}]"
            )
        return made

    return Kind(checked_flatten, checked_unflatten, always=False, declared=declared)
