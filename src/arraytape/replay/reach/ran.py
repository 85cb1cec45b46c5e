"""The functions that ran during a traced call, and the objects among their arguments.

A replay is right only if the state that the user's function reads, such as globals, is unchanged.
``State`` finds this state before a call, by the names in the code.  But a library may also call users'
functions to which no name leads, such as registered hooks.  So ``CalledFunctions`` registers each
function that runs in a traced call.  ``UnnamedState`` collects the functions of all traced calls with
one signature.  Later calls then compare the state of these functions, too.
"""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from functools import lru_cache
from threading import local
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from ..._array.array import Array
from ..._util.errors import PACKAGE
from ..._util.source_locations import is_installed
from .names import LONG, code_names
from .sameness import PLAIN

# Arguments of these types are not registered: they hold no state of the user's apart from functions,
# which are registered when they run.
IGNORED_ARGUMENTS = (
    types.ModuleType,
    FunctionType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
)
# Types of libraries' globals that may hold settings.
SETTING_TYPES = (dict, list, tuple, set, MutableMapping, ContextVar, local)
USERS, LIBRARY, OURS = 0, 1, 2  # owners of code: the user, a library, arraytape
MOST_REGISTERED = 1000  # the maximum number of registered functions, and of registered objects


@lru_cache(maxsize=4096)
def owner_of(file: str, module: str) -> int:
    """Return USERS, LIBRARY or OURS (arraytape): who wrote the code in this file and module.

    Generated code, such as that of a dataclass, has no file: the file of its module decides.
    """
    if file.startswith("<") and not file.startswith(("<frozen", "<arraytape")):
        found = getattr(sys.modules.get(module), "__file__", None)
        file = found or ("<frozen" if module.startswith("namedtuple_") else file)
    if file.startswith(("<arraytape", PACKAGE)):
        return OURS
    return LIBRARY if is_installed(file) else USERS


def is_user_class(kind: type) -> bool:
    """Return True for a class that the user wrote, whose objects may hold state that a call reads.

    The result is False for a library's class and for types in PLAIN and IGNORED_ARGUMENTS.
    """
    if kind in PLAIN or issubclass(kind, IGNORED_ARGUMENTS):
        return False
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ not in sys.stdlib_module_names and not is_installed(file or "")


class CalledFunctions:
    """The functions that ran while a call was recorded, and the objects among their arguments.

    Replays compare the state that these functions read.
    known : the code objects that ``State``, the comparison of Python state, has found by names.
    functions : the users' functions, as a dict (code, ids of the values in its closure) -> (globals,
        weak reference to the function, or None if only its code was found).
    libraries : code of a library's function -> its globals.
    objects : id -> weak reference to a user's object among the arguments.
    strings : the strings among the arguments, which may be names of attributes.
    """

    def __init__(self, known: Collection[CodeType]) -> None:
        self.known = known
        self.functions: dict[tuple[CodeType, tuple[int, ...]], tuple[Any, Any]] = {}
        self.libraries: dict[CodeType, dict[str, Any]] = {}
        self.objects: dict[int, weakref.ref[Any]] = {}
        self.strings: set[str] = set()
        self.owners: dict[CodeType, int] = {}
        self.kinds: dict[type, bool] = {}  # results of ``is_user_class``
        # Callbacks of libraries in gc.callbacks may run at any time during the call: ignore them.
        codes = [getattr(callback, "__code__", None) for callback in gc.callbacks]
        self.ignored = {code for code in codes if code and is_installed(code.co_filename)}
        # Import hooks run where a module is imported first, which says nothing about the function.
        hooks: list[Any] = [getattr(finder, "find_spec", None) for finder in sys.meta_path]
        self.ignored |= {hook.__code__ for hook in hooks if hasattr(hook, "__code__")}
        self.owners |= dict.fromkeys(self.ignored, OURS)  # ignore their callees, too

    def note(self, frame: FrameType) -> bool:
        """Register the function that starts in ``frame``, and the function's arguments.

        Ignore callbacks of the garbage collector, and functions of libraries that run for arraytape.
        Return True if a user's function has called a function of a library.  The caller of ``note`` then
        passes the result of that function to the method ``returned``.
        """
        code, above = frame.f_code, frame.f_back
        returns = False
        if code in self.ignored:
            return False
        if self.owner(frame) == LIBRARY:
            returns = above is not None and self.owner(above) == USERS
            if not returns and (code in self.libraries or self.runs_for_arraytape(frame)):
                return False
            self.libraries[code] = frame.f_globals
        given = frame.f_locals
        if code not in self.libraries:
            key = code, tuple([id(given.get(name)) for name in code.co_freevars])
            if key not in self.functions and len(self.functions) < MOST_REGISTERED:
                known = frame.f_globals
                found = None if code in self.known else running_function(code, given, known)
                self.functions[key] = known, found and weakref.ref(found)
        for value in given.values():
            kind: Any = type(value)
            if kind is str and len(value) < LONG:
                self.strings.add(value)
            elif self.has_user_class(value if issubclass(kind, type) else kind):
                self.keep_weakly(value)
        return returns

    def owner(self, frame: FrameType) -> int:
        """Return USERS, LIBRARY or OURS: who wrote the code that runs in a frame."""
        found = self.owners.get(frame.f_code)
        if found is None:
            module = frame.f_globals.get("__name__") or ""
            found = self.owners[frame.f_code] = owner_of(frame.f_code.co_filename, module)
        return found

    def runs_for_arraytape(self, frame: FrameType) -> bool:
        """Return True if a library's function runs for arraytape or an import, not for users' code.

        The nearest caller outside of libraries decides.  A replay need not compare the state that such a
        function reads.
        """
        above: FrameType | None = frame
        while above is not None:
            owner = self.owner(above)
            if owner != LIBRARY or above.f_code.co_filename.startswith("<frozen importlib"):
                return owner != USERS
            above = above.f_back
        return False

    def has_user_class(self, kind: type) -> bool:
        """Return True for a class that the user wrote; the answer is cached for each class."""
        found = self.kinds.get(kind)
        if found is None:
            found = self.kinds[kind] = is_user_class(kind)
        return found

    def returned(self, value: Any) -> None:
        """Register the result of a library's function, because the library may keep the object.

        Such an object may hold state that replays have to compare.
        """
        kind = type(value)  # isinstance would read __class__, which may be a user's property
        if kind not in PLAIN and not issubclass(
            kind, (*IGNORED_ARGUMENTS, type, Array, np.ndarray)
        ):
            self.keep_weakly(value)

    def keep_weakly(self, value: Any) -> None:
        """Keep a weak reference to an object, to see later whether the object outlives the call.

        Objects that outlive the call may hold state that replays have to compare.
        """
        if len(self.objects) < MOST_REGISTERED:
            try:
                self.objects.setdefault(id(value), weakref.ref(value))
            except TypeError:  # objects of this type do not support weak references
                return


def running_function(
    code: CodeType, given: Mapping[str, Any], known: Mapping[str, Any]
) -> FunctionType | None:
    """Return the function whose code runs in a frame, or None if it is not found by its name.

    given : the locals of the frame.
    known : the globals of the frame.  The name is looked up there and, for a method, in the class of the
        first argument.
    code : the code that runs.
    """
    found = [known.get(code.co_name)]
    if given and code.co_argcount:
        first = given.get(code.co_varnames[0])
        kinds: Any = (first, type(first)) if issubclass(type(first), type) else (type(first),)
        found += [
            base.__dict__.get(code.co_name) for kind in kinds for base in type.mro(kind)
            if isinstance(base, type)
        ]  # fmt: skip
    return next((f for member in found for f in functions_in(member) if f.__code__ is code), None)


def functions_in(member: Any) -> Iterator[FunctionType]:
    """Yield the Python functions within ``member``, the value of an attribute of a class or module.

    These are ``member`` itself if it is a function, the function of a staticmethod or classmethod, and
    the getter, setter and deleter of a property.  Their state is compared before replays.
    """
    kind = type(member)
    if kind is FunctionType:
        yield member
    elif issubclass(kind, staticmethod | classmethod):
        yield from functions_in(member.__func__)
    elif issubclass(kind, property):
        for part in (member.fget, member.fset, member.fdel):
            yield from functions_in(part)


class UnnamedState:
    """Python state that recorded calls used, but to which no name in the function's code leads.

    An example is a hook that a library calls.  Later calls compare it, too.
    roots : id -> weak reference to a function or object that was used.
    codes : the code of users' functions that ran.
    nameless : code whose function object was not found -> its globals.
    settings : globals of libraries that may hold settings, as a dict (id of the globals, name) ->
        (globals, name).
    strings : the strings among arguments, which may be names of attributes.
    libraries : whether a library's code ran, which may read any attribute.
    """

    def __init__(self) -> None:
        self.roots: dict[int, weakref.ref[Any]] = {}
        self.codes: set[CodeType] = set()
        self.nameless: dict[CodeType, dict[str, Any]] = {}
        self.settings: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
        self.strings: set[str] = set()
        self.libraries = False

    def add_call(
        self, ran: CalledFunctions, reached: Collection[int], given: Collection[int]
    ) -> bool:
        """Add the functions, objects and settings that one call used; return True if some are new.

        ran : the functions that ran in the call.
        reached : the ids of the objects that ``State`` has compared.
        given : the ids of the objects in the call's result, which the call may have made.
        """
        ran.kinds.clear()  # because its keys would keep classes alive
        before = len(self.roots), len(self.nameless), len(self.settings)
        self.strings |= ran.strings
        self.libraries = self.libraries or bool(ran.libraries)
        self.add_functions(ran, reached)
        self.add_objects(ran, {*reached, *given})
        for code, known in ran.libraries.items():
            for name in code.co_names:
                if name in known and is_setting(name, known[name]):
                    self.settings.setdefault((id(known), name), (known, name))
        return before != (len(self.roots), len(self.nameless), len(self.settings))

    def add_functions(self, ran: CalledFunctions, reached: Collection[int]) -> None:
        """Add the functions that ran but whose state was not compared, unless the call made them.

        If ``ran`` has only the code of a function, the objects that refer to the code are searched for
        the function.
        reached : the ids of the objects that were compared before the call.
        """
        inner = {one for code, _ in ran.functions for one in code_names(code).inner}
        unknown = {}
        for (code, cells), (known, function) in ran.functions.items():
            self.codes.add(code)
            if code in ran.known or code in inner or code in self.nameless:
                continue
            found = function and function()
            if found is None:
                unknown[code, cells] = known
            elif id(found) not in reached:
                self.roots.setdefault(id(found), weakref.ref(found))
        missing = {code for code, _ in unknown}
        for one in gc.get_referrers(*missing) if missing else ():
            if isinstance(one, FunctionType) and (one.__code__, cells_of(one)) in unknown:
                self.roots.setdefault(id(one), weakref.ref(one))
                missing.discard(one.__code__)
        self.nameless |= {code: known for (code, _), known in unknown.items() if code in missing}

    def add_objects(self, ran: CalledFunctions, known: Collection[int]) -> None:
        """Add the objects in ``ran`` that still exist after the call, unless their id is in ``known``.

        Garbage is collected first, so that dead objects in cycles are not taken for living ones.
        known : the ids of the objects that were compared before the call, and of those in the call's
            result.
        """
        for generation in (0, 1, 2, 2):
            alive = [
                one for number, one in ran.objects.items()
                if number not in known and number not in self.roots and one() is not None
            ]  # fmt: skip
            if not alive:
                return
            if generation < 2:
                gc.collect(generation + 1)
        self.roots |= {id(one()): one for one in alive}


def cells_of(function: FunctionType) -> tuple[int, ...]:
    """Return the ids of the values in a function's closure.

    They tell apart two functions that were made by the same ``def`` statement.
    """
    from .state import content_of

    return tuple([id(content_of(cell)) for cell in function.__closure__ or ()])


def is_setting(name: str, value: Any) -> bool:
    """Return True if a global of a library may hold a setting that users change.

    Replays compare such a global.
    """
    return not name.startswith("__") and (
        type(value) in PLAIN or issubclass(type(value), SETTING_TYPES)
    )
