"""The types of containers in nestings, with the functions that flatten and unflatten each of them.

The containers are lists, tuples, named tuples, mappings, dataclasses, tables of pandas and polars, and
instances of classes that were registered with ``register_nesting``.  Objects of all other types are
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple, TypeVar

from .attach import CONTAINERS_FOR
from .errors import describe, user_line

T = TypeVar("T")
Nesting = Any  # a leaf, which may be any object, or a container whose parts are nestings
Parts = dict[Any, Nesting] | Sequence[Nesting]  # the parts of a container: with names, or in order

UNSET = object()  # the value of a dataclass field that an instance lacks
CACHED = 1000  # the maximum size of KINDS: a program may create any number of classes


class Kind(NamedTuple):
    """The functions that flatten and unflatten the containers of one type.

    flatten : maps a container to (parts, rest): the nestings in it, and what ``unflatten`` also needs.
    unflatten : maps (rest, parts) to a container with new parts of the same names, or in the same order.
    always : False to return a container itself, without ``unflatten``, if none of its parts is replaced.
    declared : ``file:line`` of the call that registered the kind, for messages.
    as_array : converts a table to one array or nested list; None for containers that are no tables.
    """

    flatten: Callable[[Any], tuple[Parts, Any]]
    unflatten: Callable[[Any, Any], Any]
    always: bool = True
    declared: str = "arraytape itself"
    as_array: Callable[[Any], Any] | None = None


def copy_container(structure: T) -> Any:
    import copy

    return copy.copy(structure)


def mapped_leaves(value: Any, of_leaf: Callable[[Any], Any]) -> Any:
    """Return a nesting of tuples, lists and dicts with ``of_leaf(x)`` in place of each x within."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([mapped_leaves(part, of_leaf) for part in value])
    if kind is dict:
        return {name: mapped_leaves(part, of_leaf) for name, part in value.items()}
    return of_leaf(value)


def _flatten_sequence(structure: Sequence[Any]) -> tuple[Parts, Any]:
    return structure, structure


def _flatten_mapping(structure: Mapping[Any, Any]) -> tuple[Parts, Any]:
    return structure if type(structure) is dict else dict(structure.items()), structure


def _unflatten_list(structure: list[Any], parts: list[Any]) -> Any:
    if type(structure) is list:
        return parts
    same_kind = copy_container(structure)
    same_kind[:] = parts
    return same_kind


def _unflatten_tuple(structure: tuple[Any, ...], parts: list[Any]) -> Any:
    # The constructor of a subclass, such as a named tuple's, may have other parameters.
    return tuple.__new__(type(structure), parts)


def _unflatten_mapping(structure: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    """Return ``parts`` in a mapping of the class of ``structure``; in a dict if that is impossible.

    A user's class of mappings may have a constructor with other parameters.
    """
    if type(structure) is dict:
        return parts
    if isinstance(structure, MutableMapping):
        # The constructor of a subclass, such as defaultdict's, may have other parameters.
        same_kind: Any = copy_container(structure)
        same_kind.update(parts)
        return same_kind
    try:
        return type(structure)(parts)  # type: ignore[call-arg]  # Mapping declares no constructor
    except TypeError:
        return parts


LIST, TUPLE = Kind(_flatten_sequence, _unflatten_list), Kind(_flatten_sequence, _unflatten_tuple)
MAPPING = Kind(_flatten_mapping, _unflatten_mapping)

# The Kinds of registered classes.  A subclass does not inherit its base's entry.
REGISTERED: dict[type, Kind] = {list: LIST, tuple: TUPLE, dict: MAPPING}
BUILTIN = (list, tuple, dict)
# The Kinds of unregistered subclasses of these classes.
FAMILIES: tuple[tuple[type, Kind], ...] = ((list, LIST), (tuple, TUPLE), (Mapping, MAPPING))
# The Kinds of tables (pandas, polars) and of their subclasses, which ``_dataframes`` enters.
TABLES: list[tuple[type, Kind]] = []
# Instances of these classes and of their subclasses are leaves.
LEAVES: list[type] = [int, float, complex, str, bytes, bytearray, type, type(None)]


class Kinds(dict[type, Kind | None]):
    """A cache from classes to the functions that flatten their instances; None for classes of leaves."""

    def __missing__(self, cls: type) -> Kind | None:
        if len(self) >= CACHED:
            self.clear()
        self[cls] = kind = _kind_of(cls)
        if cls in REGISTERED:  # another thread may have registered it since ``_kind_of``
            self[cls] = kind = REGISTERED[cls]
        return kind


KINDS = Kinds()


def _kind_of(cls: type) -> Kind | None:
    """Return the functions that flatten containers of a class (a Kind); None for a class of leaves.

    A class with a ``dtype`` counts as a class of arrays, which are leaves.  Raise TypeError if the class
    is not registered, but derives from a registered class.
    """
    if cls in REGISTERED:
        return REGISTERED[cls]
    for library in CONTAINERS_FOR.keys() & {
        str(x.__module__).partition(".")[0] for x in cls.__mro__
    }:
        CONTAINERS_FOR[library]()
    for family, kind in TABLES:
        if issubclass(cls, family):
            return kind
    if hasattr(cls, "dtype") or issubclass(cls, tuple(LEAVES)):
        return None
    for base in cls.__mro__[1:]:  # not cls, which another thread may register now
        if base in REGISTERED and base not in BUILTIN:
            raise TypeError(
                f"call register_nesting({cls.__qualname__}, ...): {cls.__qualname__} derives from "
                f"{base.__qualname__}, registered as a nesting at {REGISTERED[base].declared}, and is "
                f"not registered itself, so its additional parts are not known [at {user_line()}]"
            )
    for family, kind in FAMILIES:
        if issubclass(cls, family):
            return kind
    if is_dataclass(cls):
        return _dataclass_kind(cls)
    return None


def is_dataclass(cls: type) -> bool:
    """Return ``dataclasses.is_dataclass(cls)`` without an import of ``dataclasses``.

    That import would make the import of arraytape slower.
    """
    return hasattr(cls, "__dataclass_fields__")


def _dataclass_kind(cls: type) -> Kind | None:
    """Return the functions that flatten a dataclass (a Kind); None if it has a field ``dtype``.

    A class with a ``dtype`` counts as a class of arrays.  The parts are the fields that are not static;
    a rebuilt instance gets the static fields of the old one.  Neither ``__init__`` nor ``__post_init__``
    runs, because their checks might refuse parts such as None or Arrays of other shapes.  Attributes
    that are no fields are not copied, since ``__post_init__`` or a cached property may have computed
    them from the old parts.
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
                f"call register_nesting({cls.__qualname__}, ...): no instance of the dataclass "
                f"{cls.__qualname__} can be made from its fields ({error}) [at {user_line()}]"
            ) from error
        for name in every:
            value = parts[name] if name in parts else getattr(x, name, UNSET)
            if value is not UNSET:
                object.__setattr__(made, name, value)  # a frozen dataclass's own __setattr__ raises
        return made

    return Kind(flatten_dataclass, unflatten_dataclass, always=False)


def declare_leaf_class(cls: type) -> None:
    """Declare that the instances of a class and of its subclasses are leaves.

    A nesting, such as a list or a dict, ends at its leaves.
    """
    LEAVES.append(cls)
    KINDS.clear()


def register_nesting(
    cls: type[T],
    flatten: Callable[[T], tuple[Mapping[str, Any] | Sequence[Any], Any]] | None = None,
    unflatten: Callable[[Any, Any], T] | None = None,
) -> type[T]:
    """Register a class as a nesting, like lists, tuples, dicts and dataclasses.

    ``watch``, ``gradient``, ``vmap``, ``custom_gradient``, transformations such as ``grad``, optimizers,
    Modules and checkpoints then process the Arrays inside instances of the class.  They return gradients
    and results in new instances of the class.  Dataclasses need no registration: their fields are the
    parts, except those declared with ``field(metadata={"static": True})``.

    Parameters
    ----------
    cls : type
        The class.  Subclasses are not registered: they may have parts that ``flatten`` does not know.
    flatten : callable, optional
        A function of an instance that returns a pair ``(parts, rest)``.  ``parts`` is a dict, list or
        tuple of Arrays and nestings.  The keys of a dict name the parts in messages, checkpoints and
        ``Module.named_variables``.  ``rest`` holds all other data of the instance, and need not be
        hashable.  By default the method ``tree_flatten`` of the class.
    unflatten : callable, optional
        A function of ``(rest, parts)`` that returns an instance.  ``parts`` is a dict with the keys that
        ``flatten`` returned, or a tuple.  By default the class method ``tree_unflatten``.

    Returns
    -------
    type
        ``cls``, so that ``register_nesting`` can decorate a class that has these two methods.

    Raises
    ------
    TypeError
        When ``cls`` is no class, is abstract, or is a class of leaves (arrays, Modules, numbers,
        strings), or when a function is missing.  Later, when ``flatten`` does not return such a pair,
        when ``unflatten`` does not return an instance of ``cls``, or when a nesting contains an instance
        of a subclass that is not registered itself.
    KeyError
        When the class is registered already; the message names the line that registered it.

    Notes
    -----
    ``flatten`` must return the same Array objects at each call, since a tape identifies Arrays by
    ``id``.

    The parts that ``unflatten`` receives need not be Arrays: a part may be None, a Jacobian of another
    shape, an axis, or a NumPy array.  So ``unflatten`` must not check or convert parts.  If the
    constructor of the class does, make the instance with ``object.__new__(cls)`` and set its attributes.
    Dataclasses are built in this way, without ``__init__`` and ``__post_init__``.

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
            f"{describe(unflatten)}. Give flatten and unflatten, or define the methods tree_flatten "
            f"and tree_unflatten in the class [at {user_line()}]"
        )
    REGISTERED[cls] = _registered_kind(cls, flatten, unflatten, user_line())
    KINDS.clear()
    return cls


def _check_class(cls: type) -> None:
    """Raise TypeError or KeyError for a class that ``register_nesting`` refuses.

    Classes of arrays, Modules and numbers are refused, and classes that are registered already.
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_nesting: pass a class, got {describe(cls)} [at {user_line()}]")
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
            f"register_nesting: register the subclasses of {name} instead; {name} has no instances "
            f"of its own [at {user_line()}]"
        )
    if hasattr(cls, "__dlpack__") or issubclass(cls, tuple(LEAVES)):
        raise TypeError(
            f"register_nesting: {name} is a leaf (an array, a Module, a number or a string), and cannot "
            f"be registered [at {user_line()}]"
        )


def _registered_kind(
    cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any], declared: str
) -> Kind:
    """Return the Kind of a registered class: it calls the user's functions and checks their results.

    declared : ``file:line`` of the user's call of ``register_nesting``.
    """

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
