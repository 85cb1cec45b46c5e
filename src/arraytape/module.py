"""Module: a named container that lists the Variables in its attributes.

``walk`` yields all Variables and Modules inside a Module or nesting.  ``tree`` makes the text for
``repr``, and ``table`` makes that of ``summary``.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ._record.stack import only_recorders
from ._util import nest
from ._util.blocks import Profiled
from ._util.container_kinds import declare_leaf_class
from ._util.errors import entrance, failure, unknown_name, user_line
from ._util.html import facts_table
from .variable import AllOrNone, Variable, detached

if TYPE_CHECKING:
    from ._util.array_types import HasCall, P, R_co


# Python 3.13 adds the most similar keyword of the function, which is rarely the one that is meant.
UNEXPECTED = re.compile(
    r"(?P<text>.*unexpected keyword argument '(?P<name>\w+)')(\. Did you mean '\w+'\?)?"
)


def keywords_advised(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap ``__init__`` so that an error about PyTorch's keyword, say, names the keyword used here."""

    @functools.wraps(init)
    def initialize(*args: Any, **keywords: Any) -> None:
        try:
            init(*args, **keywords)
        except TypeError as error:
            match = UNEXPECTED.fullmatch(str(error))
            if not match:  # another error, or one that has advice
                raise
            from ._util.other_names import counterpart

            found = counterpart(match["name"], "keywords")
            if found is None or match["name"] not in keywords:
                raise
            raise TypeError(f"{match['text']}: {found} [at {user_line()}]") from None

    return initialize


class Module:
    """A named container of Variables and of other Modules.

    Subclass ``Module``, and keep Variables, Modules, and nestings of these as attributes: lists, tuples,
    dicts, dataclasses and the types that ``register_nesting`` declares.  Variables are listed in the
    order in which the attributes were set.  A Module's own Variables come before those of its
    submodules, and a shared Variable is listed once.

    Parameters
    ----------
    name : str, optional
        The name in messages; by default the class's name in snake case.

    Examples
    --------
    >>> import arraytape as xp
    >>> class Line(xp.Module):
    ...     def __init__(self):
    ...         super().__init__(name="line")
    ...         self.slope = xp.Variable(2.0, name="slope")
    ...         self.seen = xp.Variable(0, trainable=False, name="seen")
    ...     def __call__(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> line.name, [variable.name for variable in line.variables]
    ('line', ['slope', 'seen'])
    >>> [variable.name for variable in line.trainable_variables]
    ['slope']
    >>> [variable.name for variable in line.non_trainable_variables]
    ['seen']
    >>> with xp.GradientTape() as tape:
    ...     loss = line(xp.asarray(3.0)) ** 2
    >>> print(tape.gradient(loss, line.trainable_variables)[0])
    36.0

    The names of Keras are other names for these, and give the values as NumPy's arrays:

    >>> line.weights == line.variables, len(line.trainable_weights), len(line.non_trainable_weights)
    (True, 1, 1)
    >>> line.set_weights([3.0, 5])
    >>> line.get_weights()
    [array(3.), array(5)]

    Modules hold Modules, at any depth and in lists and dicts:

    >>> class Two(xp.Module):
    ...     def __init__(self):
    ...         super().__init__(name="two")
    ...         self.lines = [Line(), Line()]
    ...     def __call__(self, x):
    ...         return self.lines[1](self.lines[0](x))
    >>> two = Two()
    >>> list(two.named_variables()), [module.name for module in two.submodules]
    (['lines.0.slope', 'lines.0.seen', 'lines.1.slope', 'lines.1.seen'], ['line', 'line'])
    >>> two.summary(xp.asarray(1.0))
    Two 'two'
    ------------------------------------------------------------
    layer (type)             output shape  parameters  trainable
    ------------------------------------------------------------
    two (Two)                ()                     4  in part
      lines.0 'line' (Line)  ()                     2  in part
      lines.1 'line' (Line)  ()                     2  in part
    ------------------------------------------------------------
    parameters:     4 (32 bytes)
    trainable:      2
    not trainable:  2
    """

    if TYPE_CHECKING:
        # A class defines ``__call__`` or ``call``.  Type checkers give an instance the types of the
        # latter; the second declaration lets a class define ``__call__`` with any types.
        @overload
        def __call__(self: HasCall[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        @overload
        def __call__(self, *args: Any, **keywords: Any) -> Any: ...
        def __call__(self, *args: Any, **keywords: Any) -> Any: ...

    _module_name: str | None = None  # for a subclass that does not call super().__init__()

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(
                f"Module: the name must be a str, got {type(name).__name__} [at {user_line()}]"
            )
        self._module_name = name

    # Names of attributes whose Variables are state that Keras does not count among the weights.
    _no_weights: tuple[str, ...] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Make instances of a class with a method ``call``, as Keras's models have, callable."""
        super().__init_subclass__(**keywords)
        if "__init__" in vars(cls) and cls.__module__.startswith("arraytape."):
            cls.__init__ = keywords_advised(cls.__init__)  # type: ignore[method-assign]
        if "call" in vars(cls) and not any("__call__" in vars(base) for base in cls.__mro__):
            cls.__call__ = run_call  # type: ignore[method-assign]

    if not TYPE_CHECKING:  # a type checker would take any name for one that is there

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with advice for the names of Keras and PyTorch."""
            if hasattr(type(self), name):  # a property that raised AttributeError: raise that again
                return object.__getattribute__(self, name)
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise unknown_name(message, name, self, "Module")

    @property
    def name(self) -> str:
        """Return the name passed to the constructor, or else the class's name in snake case."""
        return self._module_name or snake_case(type(self).__name__)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Return all Variables: the Module's own first, then those of its submodules."""
        return tuple(self.named_variables().values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Return the trainable Variables, which tapes watch whenever they are read."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """Return the Variables that are not trainable: statistics, counters, an optimizer's state."""
        return tuple(variable for variable in self.variables if not variable.trainable)

    @property
    def weights(self) -> tuple[Variable, ...]:
        """Return all Variables but the states of random numbers, in Keras's order."""
        modules = (self, *self.submodules)
        left_out = {id(vars(one)[name]) for one in modules for name in one._no_weights}
        return tuple(variable for variable in self.variables if id(variable) not in left_out)

    @property
    def trainable_weights(self) -> tuple[Variable, ...]:
        """Return the trainable Variables: Keras's name of ``trainable_variables``."""
        return self.trainable_variables

    @property
    def non_trainable_weights(self) -> tuple[Variable, ...]:
        """Return the weights that are not trainable, such as running statistics."""
        return tuple(variable for variable in self.weights if not variable.trainable)

    def get_weights(self) -> list[Any]:
        """Return copies of the values of all weights.

        Returns
        -------
        list of numpy.ndarray
            The values in the order of ``weights``, as Keras's ``get_weights`` returns them.

        Examples
        --------
        >>> import arraytape as xp
        >>> layer = xp.nn.Dense(1, kernel_initializer="ones")
        >>> y = layer(xp.ones((1, 2)))
        >>> print([w.shape for w in layer.get_weights()])
        [(2, 1), (1,)]
        """
        return [np.array(detached(variable).to_device("cpu")) for variable in self.weights]

    @entrance
    def set_weights(self, weights: Sequence[Any]) -> None:
        """Assign a value to each weight; after an error all weights are as before.

        Parameters
        ----------
        weights : sequence of array_like
            The values in the order of ``weights``, such as those of ``get_weights``.

        Raises
        ------
        ValueError
            When the number or a shape of the values does not fit; layers have no weights before they
            are built.

        Examples
        --------
        >>> import arraytape as xp
        >>> layer = xp.nn.Dense(1)
        >>> y = layer(xp.ones((1, 2)))
        >>> layer.set_weights([[[1.0], [2.0]], [3.0]])
        >>> print(layer(xp.ones((1, 2))))
        [[6.]]
        """
        own, values = self.weights, list(weights)
        if len(own) != len(values):
            names = ", ".join(f"{v.name} {v.shape}" for v in own) or "none: build or call it first"
            raise ValueError(
                f"{self.name}.set_weights: got {len(values)} values for {len(own)} weights ({names}) "
                f"[at {user_line()}]"
            )
        with AllOrNone(own):
            for variable, value in zip(own, values, strict=True):
                variable.assign(value)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """Return all Modules inside this Module, at any depth, without the Module itself."""
        return tuple(module for _, module in walk(self) if isinstance(module, Module))

    def named_variables(self) -> dict[str, Variable]:
        """Return a dict from paths to Variables.

        A path consists of the attributes, indices and keys that lead to the Variable, joined by dots.  A
        shared Variable has the first of its paths.

        Returns
        -------
        dict of str to Variable
            The Variables in the order of ``variables``, under paths such as ``"layers.0.kernel"``.

        Raises
        ------
        ValueError
            When two Variables have the same path, as with the keys ``1`` and ``"1"`` in one dict, or
            when lists are nested too deeply.

        Examples
        --------
        >>> import arraytape as xp
        >>> layer = xp.nn.Dense(1)
        >>> y = layer(xp.ones((1, 2)))
        >>> print([*layer.named_variables()])
        ['kernel', 'bias']
        """
        try:
            return named(walk(self), self.name)
        except RecursionError as error:
            raise failure(f"the attributes of {said(self)}", error) from error

    @entrance
    def summary(
        self, *args: Any, print_fn: Callable[[str], Any] | None = None, **keywords: Any
    ) -> None:
        """Print a table of the Module and its submodules, with shapes of results and parameter counts.

        Parameters
        ----------
        *args : object
            Positional arguments for one call of the Module, which determines the shapes.  Layers create
            their Variables in the call.  Without arguments the Module is not called, and the table has
            no shapes.
        print_fn : callable, optional
            A function that is called with the table as one text; by default ``print``.
        **keywords : object
            Keyword arguments of the call.

        Raises
        ------
        TypeError
            When ``print_fn`` cannot be called.
        ValueError
            When lists are nested too deeply.

        Examples
        --------
        >>> import arraytape as xp
        >>> layer = xp.nn.Dense(1)
        >>> y = layer(xp.ones((1, 2)))
        >>> layer.summary()
        Dense 'dense'
        --------------------------------------------------
        layer (type)   output shape  parameters  trainable
        --------------------------------------------------
        dense (Dense)                         3  yes
        --------------------------------------------------
        parameters:     3 (24 bytes)
        trainable:      3
        not trainable:  0
        """
        if print_fn is not None and not callable(print_fn):
            raise TypeError(
                f"summary: print_fn must be a function of a text, got {type(print_fn).__name__} "
                f"[at {user_line()}]"
            )
        shapes = shapes_of(self, args, keywords) if args or keywords else {}
        (print if print_fn is None else print_fn)(table(self, shapes))

    def __repr__(self) -> str:
        """Return the Variables and submodules as a tree, with shapes and numbers of parameters."""
        try:
            return tree(self)
        except Exception as error:  # a class from ``register_nesting`` may raise anything
            return f"<{type(self).__name__}: its parts cannot be listed: {type(error).__name__}>"

    def _repr_html_(self) -> str:
        return facts_table(type(self).__name__, {}, repr(self))


def run_call(self: Any, *args: Any, **keywords: Any) -> Any:
    """Call a Module whose class has ``call`` in place of ``__call__``."""
    return self.call(*args, **keywords)


declare_leaf_class(Module)  # not a nesting, even if the subclass is a dataclass

Found = tuple[str, "Variable | Module"]
Seen = dict[int, Any]  # objects by id(), kept alive: the id of a freed object may be used again


def walk(root: Any, seen: Seen | None = None) -> Iterator[Found]:
    """Yield each Variable and Module inside a Module or nesting once, as (path, object).

    What the Module's own attributes hold comes before the contents of submodules.
    seen : the objects to leave out, by ``id()``.
    """
    seen = {} if seen is None else seen
    parts = root
    if isinstance(root, Module):
        seen[id(root)], parts = root, vars(root)
    modules = []
    for path, leaf in parts_of(parts, "", seen):
        if id(leaf) in seen:
            continue
        seen[id(leaf)] = leaf
        yield path, leaf
        if isinstance(leaf, Module):
            modules.append((path, leaf))
    for path, module in modules:
        for deeper, leaf in walk(module, seen):
            yield f"{path}.{deeper}", leaf


def parts_of(value: Any, path: str, seen: Seen) -> Iterator[Found]:
    """Yield the Variables and Modules in a nesting, as (path, object), without entering the Modules.

    A Variable or Module at two paths is yielded twice, but a container is entered only once.
    """
    if isinstance(value, Variable | Module):
        yield path, value
        return
    parts = nest.parts_of_nesting(value)
    if parts is None or id(value) in seen:  # a list may hold itself
        return
    seen[id(value)] = value
    for key, part in list(nest.items_of(parts)):
        yield from parts_of(part, f"{path}.{key}" if path else str(key), seen)


def named(found: Iterator[Found], owner: str) -> dict[str, Variable]:
    """Return a dict from paths to the Variables that ``walk`` yielded.

    Also store each path in its Variable, for repr and messages.

    Raise ValueError if two Variables have the same path.
    """
    variables: dict[str, Variable] = {}
    for path, leaf in found:
        if not isinstance(leaf, Variable):
            continue
        if path in variables:
            raise ValueError(
                f"{owner}: two Variables have the path {path!r} ({variables[path].name!r} and "
                f"{leaf.name!r}): rename a key or an attribute [at {user_line()}]"
            )
        variables[path] = leaf
    for path, variable in variables.items():
        variable._path = path
    return variables


# --- as text --------------------------------------------------------------------------------------
LINES = 60  # the greatest number of lines of a tree
Row = tuple[str, str, str]  # the indented path, a description, and the number of parameters


def tree(module: Module) -> str:
    """Return a text with a line for each Variable and submodule: its shape and number of parameters.

    No Variable's value is read, since a tape would watch the Variable then.
    """
    rows = list(itertools.islice(rows_of(module, "  ", {id(module): "the whole"}), LINES + 1))
    title = f"{said(module)}: {counts(module)}"
    more = len(rows) > LINES
    rows = rows[:LINES]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [
        f"{path:<{widths[0]}}  {what:<{widths[1]}}  {count:>{widths[2]}}".rstrip()
        for path, what, count in rows
    ]
    rest = [f"  ... (the first {LINES} lines; named_variables() has all)"] if more else []
    return "\n".join([title, *lines, *rest])


def rows_of(module: Module, indent: str, paths: dict[int, str], path: str = "") -> Iterator[Row]:
    """Yield the rows (path, description, count) of ``tree``: a Module's Variables, then its submodules.

    paths : {``id(object)``: path} of Variables and Modules that have a row.  Their next rows say "the
    same as" this path.
    """
    modules = []
    for key, leaf in parts_of(vars(module), "", {}):
        before, at = paths.get(id(leaf)), f"{path}{key}"
        paths.setdefault(id(leaf), at)
        if before is not None:
            yield f"{indent}{key}", f"the same as {before}", ""
        elif isinstance(leaf, Module):
            modules.append((key, leaf))
        else:
            fixed = "" if leaf.trainable else ", not trainable"
            yield f"{indent}{key}", f"{leaf.dtype}{leaf.shape}{fixed}", f"{leaf.size:,}"
    for key, leaf in modules:
        yield f"{indent}{key}", said(leaf), f"{count_elements(variables_in(leaf)):,}"
        yield from rows_of(leaf, f"{indent}  ", paths, f"{path}{key}.")


Shapes = dict[int, list[str]]  # the different shapes of a Module's results, by its id()


def shapes_of(module: Module, args: tuple[Any, ...], keywords: dict[str, Any]) -> Shapes:
    """Call a Module once without recording, and collect the shape of each submodule's results.

    Users write ``__call__`` themselves, so Module cannot intercept its result.  A function set by
    ``sys.setprofile`` sees each return of a ``__call__``, with the result.
    """
    found: Shapes = {}

    def seen(frame: FrameType, event: str, result: Any) -> None:
        code = frame.f_code
        if event != "return" or code.co_name != "__call__" or not code.co_argcount:
            return
        owner = frame.f_locals.get(code.co_varnames[0])
        if isinstance(owner, Module) and getattr(type(owner).__call__, "__code__", None) is code:
            shape = shape_of(result)
            if shape not in found.setdefault(id(owner), []):
                found[id(owner)].append(shape)

    with only_recorders(), Profiled(seen):
        module(*args, **keywords)
    return found


def shape_of(result: Any) -> str:
    """Return a text with the shapes of all arrays in a nesting."""
    parts = nest.parts_of_nesting(result)
    if parts is None:
        return str(tuple(result.shape)) if hasattr(result, "shape") else type(result).__name__
    if isinstance(parts, dict):
        return "{" + ", ".join(f"{key}: {shape_of(part)}" for key, part in parts.items()) + "}"
    return "[" + ", ".join(map(shape_of, parts)) + "]"


def table(module: Module, shapes: Shapes) -> str:
    """Return the text of ``summary``: a table of a Module and its submodules, with totals below."""
    rows = [("layer (type)", "output shape", "parameters", "trainable")]
    found = list(walk(module))
    own = [("", module), *[(path, leaf) for path, leaf in found if isinstance(leaf, Module)]]
    for path, part in own:
        indent = "  " * sum(path.startswith(f"{other}.") or not other for other, _ in own if path)
        label = part.name if path in ("", part.name) else f"{path} {part.name!r}"
        variables = variables_in(part)
        count, trained = count_elements(variables), count_trained(variables)
        how = "-" if not count else "yes" if trained == count else "in part" if trained else "no"
        shape = ", ".join(shapes.get(id(part), ["?" if shapes else ""]))
        rows.append((f"{indent}{label} ({type(part).__name__})", shape, f"{count:,}", how))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip() for a, b, c, d in rows
    ]
    variables = variables_in(module)
    total, trained = count_elements(variables), count_trained(variables)
    size = sum(variable.size * variable.dtype.itemsize for variable in variables)
    line = "-" * max(map(len, lines))
    ends = [
        f"parameters:     {total:,} ({size:,} bytes)",
        f"trainable:      {trained:,}",
        f"not trainable:  {total - trained:,}",
    ]
    return "\n".join([said(module), line, lines[0], line, *lines[1:], line, *ends])


def variables_in(module: Module) -> list[Variable]:
    """Return a Module's Variables; unlike ``named``, neither check their paths nor store them."""
    return [leaf for _, leaf in walk(module) if isinstance(leaf, Variable)]


def count_elements(variables: Iterable[Variable]) -> int:
    return sum(variable.size for variable in variables)


def count_trained(variables: Iterable[Variable]) -> int:
    return count_elements(variable for variable in variables if variable.trainable)


def said(module: Module) -> str:
    return f"{type(module).__name__} {module.name!r}"


def counts(module: Module) -> str:
    """Return a text such as "8 parameters in 2 Variables, 6 of them trainable"."""
    found = variables_in(module)
    if not found:
        return "no Variables yet"
    total, trained = count_elements(found), count_trained(found)
    words = (
        f"{total:,} parameter{'s' * (total != 1)} in {len(found)} Variable{'s' * (len(found) > 1)}"
    )
    if all(variable.trainable for variable in found):
        return words
    return f"{words}, {f'{trained:,}' if trained else 'none'} of them trainable"


def snake_case(name: str) -> str:
    """Convert a class's name: ``DenseLayer`` to ``dense_layer``, ``Conv2D`` to ``conv2d``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower()
