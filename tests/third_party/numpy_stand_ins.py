"""Stand-ins for NumPy's functions that call them on Arrays: what NumPy's own tests get as ``np``.

A test that calls ``np.sum(x)`` calls NumPy's own ``np.sum``, with an Array on the memory of x in place
of x; NumPy hands the call over to arraytape, and the test gets the result as NumPy's array.  So do all
functions that NumPy hands over (``__array_function__``), its ufuncs and their methods.  A call in which
an array has a dtype or class that an Array cannot have is NumPy's alone.

``Importer`` gives a module of NumPy's tests these stand-ins wherever it imports something of NumPy's,
so that they are also what it makes parameters and tables of.
"""

import builtins
import contextlib
import importlib.util
import sys
import types
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

import numpy as np

import arraytape
from arraytape._array.array import SCALAR
from arraytape._array.views import current

DISPATCHER = type(np.sum)  # of the functions that NumPy hands over
NAMES = (
    "float16", "float32", "float64", "complex64", "complex128", "bool", "int8", "int16", "int32",
    "int64", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip
DTYPES = {np.dtype(name) for name in NAMES}
METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")  # of ufuncs
ROOT = Path(np.__file__).parent


class Run:
    """One test: the tape that watches its Arrays, and what was refused.

    table : says by which reason an error of arraytape's is a refusal, or None.
    """

    current = None

    def __init__(self, table, tape=None):
        self.table, self.tape, self.refused, self.calls = table, tape, [], 0


@contextlib.contextmanager
def running(run):
    """The test that runs now."""
    Run.current = run
    try:
        yield run
    finally:
        Run.current = None


class NumPysAlone(Exception):
    """An argument that no Array can stand for."""


class Arguments:
    """The Arrays of one call, by the arrays in whose place they stand."""

    def __init__(self, tape):
        self.tape, self.made, self.nested = tape, {}, False

    def given(self, value):
        """An argument, with Arrays in the place of arrays."""
        if issubclass(type(value), StandIn):
            return value.numpys
        if isinstance(value, np.ndarray):
            return self.array(value)
        if isinstance(value, arraytape.Array):
            self.nested = True
        if type(value) in (list, tuple):
            parts = [self.given(part) for part in value]
            same = all(ours is part for ours, part in zip(parts, value, strict=True))
            return value if same else type(value)(parts)
        return value

    def array(self, x):
        if type(x) is not np.ndarray or x.dtype not in DTYPES or not x.dtype.isnative:
            raise NumPysAlone
        if id(x) not in self.made:
            array = arraytape.asarray(x, copy=False)
            if self.tape is not None and x.dtype.kind in "fc":
                self.tape.watch(array)
            self.made[id(x)] = x, array
        return self.made[id(x)][1]

    def taken(self, value):
        """A result, with arrays in the place of Arrays; an argument that comes back is itself."""
        if isinstance(value, arraytape.Array):
            for x, array in self.made.values():
                if array is value:
                    return x
            data = current(value)[1]
            return data[()] if value._state & SCALAR else data
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*[self.taken(part) for part in value])
        if type(value) in (list, tuple):
            return type(value)([self.taken(part) for part in value])
        return value


def on_arrays(function, args, kwargs):
    """The function's result on Arrays, as arrays; what is refused, NumPy does."""
    run = Run.current
    if run is None:
        return function(*plain(args), **plain(kwargs))
    arguments = Arguments(run.tape)
    try:
        ours = [arguments.given(x) for x in args]
        options = {name: arguments.given(x) for name, x in kwargs.items()}
    except NumPysAlone:
        return function(*plain(args), **plain(kwargs))
    if not arguments.made:
        return function(*ours, **options)
    run.calls += 1
    try:
        result = function(*ours, **options)
        return result if arguments.nested else arguments.taken(result)
    except Exception as error:
        return instead(run, error, function, plain(args), plain(kwargs))


def instead(run, error, function, args, kwargs):
    """What NumPy does where arraytape raises: the same kind of error, else it must be a refusal."""
    reason = run.table(error)
    try:
        result = function(*args, **kwargs)
    except Exception as expected:
        if reason is not None or isinstance(error, public_kind(expected)):
            raise expected from error
        raise error from None
    if reason is None:
        raise error
    run.refused.append(reason)
    return result


def public_kind(error):
    """The first class of an exception that users can name."""
    return next(kind for kind in type(error).__mro__ if not kind.__name__.startswith("_")
                and kind.__module__ in ("builtins", "numpy.exceptions", "numpy.linalg"))  # fmt: skip


def plain(value):
    """Arguments without stand-ins."""
    if issubclass(type(value), StandIn):
        return value.numpys
    if type(value) in (list, tuple):
        return type(value)([plain(part) for part in value])
    return {k: plain(v) for k, v in value.items()} if type(value) is dict else value


# --- what stands in -------------------------------------------------------------------------------
class StandIn:
    """Something of NumPy's, with stand-ins for its attributes; equal to itself and to what it is for."""

    def __init__(self, numpys):
        for name, value in {"numpys": numpys, "__wrapped__": numpys}.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other):
        return self.numpys is (other.numpys if issubclass(type(other), StandIn) else other)

    def __hash__(self):
        return hash(self.numpys)

    def __reduce_ex__(self, protocol):
        return stand_in, (self.numpys,)

    @property
    def __doc__(self):
        return self.numpys.__doc__

    @property
    def __class__(self):  # what isinstance goes by
        return type(self.numpys)

    def __getattr__(self, name):
        return stand_in(getattr(self.numpys, name))

    def __setattr__(self, name, value):
        setattr(self.numpys, name, value)

    def __repr__(self):
        return repr(self.numpys)


class Function(StandIn):
    """A function that is called on Arrays."""

    def __call__(self, *args, **kwargs):
        return on_arrays(self.numpys, args, kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)


class Ufunc(StandIn):
    """A ufunc that is called on Arrays, as its methods are."""

    def __init__(self, numpys):
        super().__init__(numpys)
        for name in METHODS:
            object.__setattr__(self, name, Function(getattr(numpys, name)))

    def __call__(self, *args, **kwargs):
        return on_arrays(self.numpys, args, kwargs)


class Module(StandIn, types.ModuleType):
    """A module of NumPy's."""

    @property
    def __dict__(self):
        return {name: stand_in(value) for name, value in vars(self.numpys).items()}

    def __dir__(self):
        return dir(self.numpys)


def stand_in(value):
    """The stand-in for something of NumPy's; what needs none is itself."""
    kinds = {DISPATCHER: Function, np.ufunc: Ufunc, types.ModuleType: Module}
    if type(value) not in kinds or (type(value) is types.ModuleType and not is_numpys(value)):
        return value
    return MADE.setdefault(id(value), kinds[type(value)](value))


def is_numpys(module):
    name = module.__name__
    return name.partition(".")[0] == "numpy" and not name.startswith(("numpy.testing", "numpy.ma"))


MADE = {}  # by the id of what they stand for, which is NumPy's own and stays


# --- import ---------------------------------------------------------------------------------------
def import_stand_in(name, *args, **kwargs):
    """``__import__`` in a module of tests."""
    return stand_in(builtins.__import__(name, *args, **kwargs))


class Loader(SourceFileLoader):
    def exec_module(self, module):
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": import_stand_in}
        super().exec_module(module)


class Importer(MetaPathFinder):
    """Loads the modules of NumPy's tests."""

    def find_spec(self, name, path, target=None):
        if not name.rpartition(".")[2].startswith("test_"):
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is None or ROOT not in Path(found.origin or "").parents:
            return None
        loader = Loader(name, found.origin)
        return importlib.util.spec_from_file_location(name, found.origin, loader=loader)

    @classmethod
    def install(cls):
        sys.meta_path.insert(0, cls())
