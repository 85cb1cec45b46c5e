"""Interpret the user's functions abstractly, to find out where a converted value may be used.

An exit is an untracked conversion of a followed value, as by ``float(x)``.  The analysis determines
whether an exit's value may reach an entry, where a constant enters a recorded op.  Each exit has one
bit.  The **taint** of an object is the set of the bits of exits whose values the object may contain.

The interpretation starts at the function that has the tape's block.  It enters each call whose frame was
on the stack of an exit or entry, and each call of a user's function that can be resolved.  A ``Thing``
represents an object, and a ``Value`` is the set of objects that an expression may evaluate to.  An
assignment to a name replaces its Value.  An assignment to an attribute or element adds to its Value.
All branches are taken.  Values that only select carry no taint: tests, comparisons, indices, functions
with the derivative 0.  The result of any other function gets the taint of all its arguments.
"""

from __future__ import annotations

import abc
import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from .._util.source_locations import NO_NAMES, Place, Stack, is_installed
from .channels import Channels, names_of, texts_of
from .known_names import ADDS, ATTRIBUTES
from .objects import ANY, CONSTANT, KEYS, KNOWN, NOTHING, VISITED, Channel, Thing, Value, taint_of
from .scopes import ModuleScope, Scope
from .sources import COMPREHENSIONS, FUNCTIONS, Span, node_at, span_of, tree_of_code

STEPS = 60_000  # the analysis gives up after this number of expressions and statements
VISITS = 8  # this number of visits of objects in ``taint_of`` counts as one step
DEPTH = 40  # the greatest number of nested calls that are interpreted
TURNS = 6  # a loop is interpreted at most so often; less if a turn changes no variable or object
FRAMES = ("f_locals", "f_globals")  # attributes of frame objects: the variables of a function


# The flags in ``co_flags`` of functions that pause and are resumed: generators and coroutines.
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Spot(NamedTuple):
    """The source location of an expression: its file, lines and columns."""

    file: str
    span: Span


def spot_at(node: ast.AST, scope: Scope) -> Spot:
    return Spot(scope.file, span_of(node))


class Path(NamedTuple):
    """The source locations of the calls that led to an expression, and of the expression itself.

    exact : False if one of the calls runs a generator or coroutine.  Any function may resume that, so
    that other calls may lead to the expression, too.
    """

    calls: tuple[Spot, ...]
    spot: Spot
    exact: bool


SENT = "<sent>"  # the field of a generator that holds the arguments of its method ``send``


class Unknown(Exception):
    """The exception that ends the analysis of the user's code because source code is missing."""


class TooLong(Unknown):
    """The exception that ends the analysis of the user's code after too many steps."""


def path_of(stack: Stack) -> Path:
    """Return the source locations of the calls on a stack, the outermost first, as a Path.

    The frame of a comprehension counts as part of the function around it.
    """
    spots: list[Spot] = []
    exact = True
    for place in reversed(without_generated(stack)):
        node = node_at(place)
        if node is None or place.names is NO_NAMES:
            raise Unknown
        if place.code.co_name in COMPREHENSIONS and spots:
            spots.pop()
        if place.code.co_name not in COMPREHENSIONS:
            exact = not place.code.co_flags & RESUMED
        elif place.code.co_name == "<genexpr>":
            exact = False
        spots.append(Spot(place.code.co_filename, span_of(node)))
    *calls, spot = spots
    return Path(tuple(calls), spot, exact)


def without_generated(stack: Stack) -> list[Place]:
    """Return the stack without the ``__init__`` and ``__new__`` that Python generates for dataclasses.

    Named tuples have such functions, too.  Their code has no source file to analyse: the file name is a
    text such as "<string>".
    """
    made = [(place, place.code.co_name in ("__init__", "__new__")) for place in stack]
    return [place for place, new in made if not (new and place.code.co_filename.startswith("<"))]


class Methods(dict[type[ast.AST], str]):
    """A cache from the classes of AST nodes to the names of the methods that interpret such nodes.

    They are ``do_If`` and the like for statements, ``of_Call`` and the like for expressions.  The first
    lookup of a class adds its name.
    """

    def __missing__(self, kind: type[ast.AST]) -> str:
        self[kind] = f"{'do' if issubclass(kind, ast.stmt) else 'of'}_{kind.__name__}"
        return self[kind]


METHODS = Methods()


class Interpreter(abc.ABC):
    """The abstract interpreter: it evaluates the user's code on sets of ``Thing`` objects.

    A Thing represents one or more objects of the program, and has the converted values (as of
    ``float(x)``) in them.  A method ``do_X`` interprets a statement of the AST node class X.  A method
    ``of_X`` returns the objects to which an expression may evaluate.  ``scope`` has the variables of the
    function that is interpreted.  ``taint`` is an int with a bit for each converted value.

    exits : pairs (bit, call stack) of the conversions.
    stacks : all known call stacks.
    leaving : dict from source locations to pairs (Path, bit) of the conversions there.
    callees : dict from the source location of a call on a stack to the functions that ran in the call,
    as a dict from each code object to one source location inside it.
    lines : dict from files to the first lines of all these source locations.
    things : dict from keys to the ``Thing`` of each object.
    paths : dict from a tuple of calls to the one tuple that is used, so that equal chains of calls are
    the same object.
    left : int, whose bits are the conversions that the interpretation has reached.
    grown : the number of changes of objects.  A loop ends when an iteration leaves it unchanged.
    """

    def __init__(self, exits: Iterable[tuple[int, Stack]], stacks: Iterable[Stack]) -> None:
        self.lines: dict[str, set[int | None]] = {}
        self.leaving: dict[Spot, list[tuple[Path, int]]] = {}
        for bit, stack in exits:
            path = path_of(stack)
            self.leaving.setdefault(path.spot, []).append((path, bit))
            self.look_out_for(path.spot)
        self.callees: dict[Spot, dict[CodeType, Place]] = {}
        for stack in stacks:
            self.remember_callees(stack)
        self.things: dict[Any, Thing] = {}
        self.paths: dict[tuple[Spot, ...], tuple[Spot, ...]] = {}
        self.actuals: list[Any] = []  # kept alive, because keys of ``things`` hold their ``id``
        self.modules: dict[int, ModuleScope] = {}
        self.scopes: dict[ast.AST, Scope] = {}  # from a function's tree to the scope around it
        self.left = self.steps = self.grown = 0
        self.raised: Value = NOTHING  # exceptions and other objects that any ``except`` may receive
        self.visited = VISITED[0]
        self.running: list[ast.AST] = []
        # True in the first turn, in which code further down may still fill containers.
        self.is_first = False
        self.only_seen = False  # True if only calls that were seen to run are interpreted
        self.for_effect: ast.expr | None = None  # the expression of the last expression statement
        self.channels = Channels()

    def remember_callees(self, stack: Stack) -> None:
        """Note in ``callees`` which function each call on a stack ran, so that it is interpreted."""
        for inner, outer in pairwise(without_generated(stack)):
            node = node_at(outer)
            if node is not None and inner.code.co_name not in COMPREHENSIONS:
                spot = Spot(outer.code.co_filename, span_of(node))
                self.callees.setdefault(spot, {})[inner.code] = inner
                self.look_out_for(spot)

    def look_out_for(self, spot: Spot) -> None:
        """Note the line of a source location at which a value was converted, or a noted call ran.

        ``evaluate`` creates Spots (source locations) only for expressions on such lines, which saves
        time.
        """
        self.lines.setdefault(spot.file, set()).add(spot.span[0])

    # --- objects ----------------------------------------------------------------------------------
    def thing(self, *key: Any) -> Thing:
        """Return the ``Thing`` (object in the analysis) with this key; create it at first request."""
        found = self.things.get(key)
        if found is None:
            found = self.things[key] = Thing()
        return found

    def object_made(self, node: ast.AST, scope: Scope, taint: int = 0, kind: str = "") -> Value:
        """Return a set with one Thing, the object that the expression ``node`` creates.

        A function that is called at two places creates two objects, one for each chain of calls.
        taint : the converted values that the object may contain.
        kind : a text that distinguishes several objects of one node.
        """
        found = self.thing(node, id(scope.calls), kind)
        if taint:
            self.mark(found, taint)
        return frozenset((found,))

    def container(self, node: ast.AST, scope: Scope, elements: Value, kind: str = "") -> Value:
        """Return the analysis's object for a container whose items may be any of ``elements``.

        node : the expression that creates it.  kind : a text that distinguishes several objects of one
        node.
        """
        made = self.object_made(node, scope, kind=kind)
        for thing in made:
            self.add_field(thing, ANY, elements)
        return made

    def mark(self, thing: Thing, taint: int) -> None:
        """Note that an object (and its file, if it stands for one) may contain the values ``taint``."""
        if taint & ~thing.taint and not thing.is_fixed:
            thing.taint |= taint
            self.grown += 1
            if thing.channel is not None:
                self.write_outside(thing.channel, taint)

    def write_outside(self, names: Channel, taint: int) -> None:
        """Note that converted values may have been written to the file or device with these names."""
        if names and self.channels.write(names, taint):
            self.grown += 1
            # Names without a text are objects such as ``BytesIO``, which hold what is written to them.
            for name in names if not texts_of(names) else ():
                if isinstance(name, Thing) and name.channel is not None:
                    self.mark(name, taint)

    def add_field(self, thing: Thing, key: Any, value: Value) -> None:
        """Add ``value`` to the possible values of an attribute or item of an object in the analysis.

        thing : the object.  value : a set of objects.
        key : "." and the name for an attribute; for an item a number, or "=" and a text.
        """
        if thing.names is not None:
            thing.names.bind_weakly(key[1:] if type(key) is str and key != ANY else ANY, value)
            return
        if thing.is_view and type(key) is str and key.startswith("="):
            key = f".{key[1:]}"
        before = thing.fields.get(key, NOTHING)
        if not value <= before and not thing.is_fixed:
            thing.fields[key] = before | value
            self.grown += 1

    def elements_in(self, value: Value, keys: bool = True) -> Value:
        """Return the objects that iteration over one of the objects in ``value`` may yield.

        keys : True if iteration over a dict yields its keys; False for ``x[k]``, which yields values.
        """
        found: set[Thing] = set()
        for thing in value:
            is_empty = True
            if thing.names is not None:
                found |= NOTHING.union(*thing.names.names.values())
            for key, part in thing.fields.items():
                hidden = (".", "<") if not thing.is_view else ("<",)
                if keys if key == KEYS else not (type(key) is str and key.startswith(hidden)):
                    found |= part
                    is_empty = False
            to_be_filled = thing.is_display and self.is_first
            if thing.taint or (is_empty and not to_be_filled):
                found.add(thing)
        return frozenset(found)

    def unknown(self, node: ast.AST, scope: Scope) -> Value:
        """Return an object for a read that finds no value, because the analysis missed a write.

        The object may contain all values converted so far, since the missed write may have stored them.
        """
        return self.object_made(node, scope, self.left, "unknown")

    def views_of(self, value: Value) -> Value:
        """Return objects for the dicts that ``vars(x)`` returns, for each object x in ``value``.

        Their items are the attributes of x, so that a write to an item is a write to the attribute.
        """
        found = set()
        for thing in value:
            view = self.thing("vars", thing)
            if isinstance(thing.actual, ModuleType):
                view.names = self.module(vars(thing.actual))
            elif not thing.is_fixed:
                view.fields, view.is_view, view.is_whole = thing.fields, True, thing.is_whole
            view.taint |= thing.taint
            found.add(view)
        return frozenset(found)

    def names_in_scope(self, scope: Scope, outermost: bool = False) -> Value:
        """Return an object for the dict that ``locals()`` returns: its items are the scope's variables.

        outermost : True for ``globals()``, the variables of the module around the scope.
        """
        while outermost and scope.parent is not None:
            scope = scope.parent
        found = self.thing("names", id(scope))
        self.actuals.append(scope)
        found.names = scope
        return frozenset((found,))

    def existing_object(self, actual: Any) -> Value:
        """Return the analysis's object (a set of one ``Thing``) for an object of the running program.

        actual : a module, class, function or any other object.
        """
        wrapped: Any = getattr(actual, "__wrapped__", None)
        if isinstance(wrapped, ModuleType):  # a wrapper of a module behaves like the module
            actual = wrapped
        thing = self.things.get(id(actual))
        if thing is None:
            thing = self.things[id(actual)] = Thing()
            self.actuals.append(actual)
            if isinstance(actual, ModuleType | type):
                thing.actual = actual
            elif isinstance(actual, FunctionType):
                self.represent_function(thing, actual)
                if thing.closure is None and isinstance(wrapped, FunctionType):
                    self.represent_function(thing, wrapped)
            elif isinstance(actual, MethodType):
                self.represent_function(thing, actual.__func__)
                thing.me = self.existing_object(actual.__self__)
            elif isinstance(wrapped, FunctionType):
                self.represent_function(thing, wrapped)
            elif callable(actual):
                thing.actual, thing.of = actual, type(actual)
            else:
                thing.of = type(actual)
        return frozenset((thing,))

    def represent_function(self, thing: Thing, function: Any) -> None:
        """Make ``thing``, an object in the analysis, represent a function of the running program.

        Its closure is set to the function's syntax tree and the scope around it, so that calls can be
        interpreted.  The closure stays None if the function is installed or has no source.
        """
        thing.actual, code = function, function.__code__
        tree = None if is_installed(code.co_filename) else tree_of_code(code)
        if tree is None:
            return
        scope = Scope(code.co_filename, self.module(function.__globals__, code.co_filename))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                scope.names[name] = self.existing_object(cell.cell_contents)
            except ValueError:  # the cell is empty
                continue
        thing.closure = (tree, self.scopes.get(tree, scope))

    def module(self, names: dict[str, Any], file: str = "") -> ModuleScope:
        """Return the scope, in the analysis, for the globals of a module of the running program.

        names : the globals.  file : the path of the module's file.
        """
        if id(names) not in self.modules:
            self.actuals.append(names)
            file = file or str(names.get("__file__", ""))
            self.modules[id(names)] = ModuleScope(file, names, self.existing_object)
        return self.modules[id(names)]

    # --- running ----------------------------------------------------------------------------------
    def run_analysis(self, place: Place) -> None:
        """Interpret the function that runs at ``place``, again and again, until no object changes.

        Do so at most TURNS times.  Loops and callbacks make repetitions necessary: code may read what
        later code stores.  Raise Unknown if the function's source is missing.

        place : the source location of a frame, the outermost on the stacks.
        """
        tree = tree_of_code(place.code)
        if tree is None:
            raise Unknown
        for turn in range(TURNS):
            grown, self.is_first = self.grown, turn == 0
            self.run_once(tree, place)
            if turn and grown == self.grown:
                return

    def run_once(self, tree: ast.AST, place: Place) -> None:
        """Interpret a function from its first line, starting with the objects as earlier runs left them.

        tree : the function's syntax tree.  place : the location of its frame, which gives the globals
        and free variables.
        """
        if isinstance(tree, ast.Module):
            scope: Scope = self.module(place.names, place.code.co_filename)
            self.run_block(tree.body, scope)
            return
        scope = Scope(place.code.co_filename, self.module(place.names, place.code.co_filename))
        arguments = getattr(tree, "args", None)
        if arguments is not None:
            for argument in ast.walk(arguments):
                if isinstance(argument, ast.arg):
                    scope.names[argument.arg] = self.object_made(argument, scope)
        self.bind_free_names(scope, place.code)
        self.set_class_of_self(scope, place)
        self.body(tree, scope)

    def bind_free_names(self, scope: Scope, code: CodeType) -> None:
        """Bind each free variable of a function to a new object that holds no converted value yet.

        The enclosing function, which binds these variables, was not interpreted.
        scope : a scope for its variables.  code : the code of the inner function.
        """
        for name in code.co_freevars:
            scope.names.setdefault(name, frozenset((self.thing("free", code, name),)))

    def set_class_of_self(self, scope: Scope, place: Place) -> None:
        """Note the class of the parameter ``self`` if the function that runs at ``place`` is a method.

        The class is looked up by its name in the globals of the module.
        """
        of = place.names.get(place.code.co_qualname.partition(".")[0])
        if isinstance(of, type):
            for thing in scope.names.get("self", NOTHING):
                thing.of = thing.of or of

    def body(self, tree: ast.AST, scope: Scope) -> Value:
        """Interpret the body of a function or comprehension; return the objects that it may return.

        tree : the function's syntax tree.  scope : its variables, with the parameters bound.
        """
        if isinstance(tree, ast.Lambda):
            return self.evaluate(tree.body, scope)
        if isinstance(tree, FUNCTIONS):
            self.run_block(tree.body, scope)  # type: ignore[arg-type]  # a list, since this is no lambda
        elif isinstance(tree, ast.expr):
            return self.evaluate(tree, scope)
        if scope.yields:
            made = self.object_made(tree, scope, kind="generator")
            for thing in made:
                self.add_field(thing, ANY, scope.yields)
                self.add_field(thing, SENT, frozenset((self.thing(SENT, tree),)))
            return made | scope.returns
        return scope.returns

    def count_step(self) -> None:
        """Count one step of the interpretation, and raise TooLong after too many steps."""
        self.steps += 1
        if self.steps + (VISITED[0] - self.visited) // VISITS > STEPS:
            raise TooLong

    def leaves_here(self, spot: Spot, scope: Scope) -> int:
        """Return an int with a bit for each conversion that the program made at the location ``spot``.

        A conversion counts if the calls that led to it are unknown, or are the calls that led to
        ``scope``.  The bits are also added to ``left``, the conversions that the analysis has come to.
        """
        found = 0
        for path, bit in self.leaving.get(spot, ()):
            if not path.exact or path.calls == scope.calls:
                found |= bit
        self.left |= found
        return found

    @abc.abstractmethod
    def arrive(self, spot: Spot, node: ast.AST, scope: Scope) -> None:
        """React to the evaluation of ``node`` at the location ``spot``, in subclasses.

        ``Flow`` looks for converted values in the operands if a constant entered an op here.
        """

    # --- statements -------------------------------------------------------------------------------
    def run_block(self, statements: Iterable[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            if not scope.alive:
                return
            self.count_step()
            getattr(self, METHODS[type(statement)], self.do_other)(statement, scope)
            if statement.lineno in self.lines.get(scope.file, ()) and not isinstance(
                statement, ast.Expr
            ):
                spot = spot_at(statement, scope)
                if taint := self.leaves_here(spot, scope):
                    self.taint_statement(statement, taint, scope)
                self.arrive(spot, statement, scope)

    def taint_statement(self, statement: ast.stmt, taint: int, scope: Scope) -> None:
        """Note that all objects which a statement assigns or returns may contain converted values.

        taint : the values that expressions of the statement converted; which ones is not known.
        """
        made = self.object_made(statement, scope, taint, "left")
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                scope.assign(node.id, (scope.lookup(node.id) or NOTHING) | made)
            elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(
                node.ctx, ast.Store
            ):
                for thing in self.evaluate(node.value, scope):
                    self.mark(thing, taint)
        if isinstance(statement, ast.Return):
            scope.returns |= made

    def do_other(self, node: ast.AST, scope: Scope) -> None:
        """Interpret only the expressions of a statement that binds no names, such as assert or del."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child, scope)

    def do_Raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is not None:
            self.raised |= self.evaluate(node.exc, scope)
        scope.alive = False

    def do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        self.for_effect = node.value
        self.evaluate(node.value, scope)

    def do_Import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            actual = imported(node, alias)
            name = alias.asname or alias.name.partition(".")[0]
            scope.assign(name, NOTHING if actual is None else self.existing_object(actual))

    do_ImportFrom = do_Import

    def do_Global(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        scope.outer.update(node.names)

    do_Nonlocal = do_Global

    def do_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        made = self.new_function(node, scope)
        for decorator in reversed(node.decorator_list):
            made = self.decorated(decorator, made, scope)
        scope.assign(node.name, made)

    do_AsyncFunctionDef = do_FunctionDef

    def new_function(self, node: ast.AST, scope: Scope) -> Value:
        """Return the analysis's object for the function that a ``def`` or ``lambda`` defines."""
        made = self.object_made(node, scope)
        for thing in made:
            thing.closure = (node, scope)
        self.scopes[node] = scope
        return made

    def do_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        made = self.object_made(node, scope)
        inner = Scope(scope.file, scope, scope.calls)
        self.run_block(node.body, inner)
        for thing in made:
            thing.closure = (node, scope)
            for name, value in inner.names.items():
                self.add_field(thing, f".{name}", value)
            for base in node.bases:
                self.add_field(thing, "<bases>", self.evaluate(base, scope))
        scope.assign(node.name, made)

    def do_Return(self, node: ast.Return, scope: Scope) -> None:
        if node.value is not None:
            scope.returns |= self.evaluate(node.value, scope)
        scope.alive = False

    def do_Break(self, node: ast.AST, scope: Scope) -> None:
        scope.jumps.append(dict(scope.names))
        scope.alive = False

    do_Continue = do_Break

    def do_If(self, node: ast.If, scope: Scope) -> None:
        self.evaluate(node.test, scope)
        scope.branch(
            lambda: self.run_block(node.body, scope), lambda: self.run_block(node.orelse, scope)
        )

    def loop(self, turn: Callable[[], None], scope: Scope) -> None:
        """Interpret a loop until an iteration changes no variable and no object, at most TURNS times.

        turn : a function that interprets the body of the loop once.
        """
        jumps, scope.jumps = scope.jumps, []
        for _ in range(TURNS):
            before, grown = dict(scope.names), self.grown
            scope.branch(lambda: None, turn)
            scope.end_of_turn()
            if scope.names == before and grown == self.grown:
                break
        scope.jumps = jumps

    def run_loop_else(self, node: ast.For | ast.AsyncFor | ast.While, scope: Scope) -> None:
        """Interpret the ``else`` block of a loop, which runs if no ``break`` ended the loop."""
        if node.orelse:
            scope.branch(lambda: None, lambda: self.run_block(node.orelse, scope))

    def do_While(self, node: ast.While, scope: Scope) -> None:
        def turn() -> None:
            self.evaluate(node.test, scope)
            self.run_block(node.body, scope)

        self.evaluate(node.test, scope)
        self.loop(turn, scope)
        self.run_loop_else(node, scope)

    def do_For(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        def turn() -> None:
            self.bind(node.target, self.elements_in(self.evaluate(node.iter, scope)), scope)
            self.run_block(node.body, scope)

        self.loop(turn, scope)
        self.run_loop_else(node, scope)

    do_AsyncFor = do_For

    def do_With(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            value = self.evaluate(item.context_expr, scope)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value | self.elements_in(value), scope)
        self.run_block(node.body, scope)

    do_AsyncWith = do_With

    def do_Try(self, node: ast.Try, scope: Scope) -> None:
        before = dict(scope.names)

        def succeed() -> None:
            self.run_block(node.body, scope)
            self.run_block(node.orelse, scope)

        def fail(handler: ast.ExceptHandler) -> Callable[[], None]:
            def way() -> None:
                self.run_block(node.body, scope)
                scope.alive = True
                scope.names = {
                    name: scope.names.get(name, NOTHING) | before.get(name, NOTHING)
                    for name in {*scope.names, *before}
                }
                if handler.name is not None:
                    scope.names[handler.name] = self.raised | self.object_made(handler, scope)
                self.run_block(handler.body, scope)

            return way

        scope.branch(succeed, *[fail(handler) for handler in node.handlers])
        alive, scope.alive = scope.alive, True
        self.run_block(node.finalbody, scope)
        scope.alive = scope.alive and alive

    do_TryStar = do_Try

    def do_Match(self, node: ast.Match, scope: Scope) -> None:
        subject = self.evaluate(node.subject, scope)

        def way(case: ast.match_case) -> Callable[[], None]:
            def take() -> None:
                for part in ast.walk(case.pattern):
                    name = getattr(part, "name", None) or getattr(part, "rest", None)
                    if isinstance(name, str):
                        scope.names[name] = subject | self.elements_in(subject)
                self.run_block(case.body, scope)

            return take

        scope.branch(lambda: None, *[way(case) for case in node.cases])

    # --- assignments ------------------------------------------------------------------------------
    def do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.evaluate(node.value, scope)
        for target in node.targets:
            self.bind(target, value, scope)

    def do_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value, scope), scope)

    def do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        before = self.evaluate(node.target, scope)
        value = self.evaluate(node.value, scope)
        carries = () if isinstance(node.op, ast.FloorDiv) else (before, value)
        made = self.object_made(node, scope, taint_of(carries))
        for thing in before:
            self.mark(thing, taint_of((value,)))
            self.add_field(thing, ANY, frozenset(t for t in value if t.fields))
        self.bind(node.target, before | made, scope)

    def bind(self, target: ast.AST, value: Value, scope: Scope) -> None:
        """Interpret the assignment of a value to a name, an attribute, an item, or a tuple of these."""
        if isinstance(target, ast.Name):
            scope.assign(target.id, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, scope)
        elif isinstance(target, ast.Tuple | ast.List):
            for i, part in enumerate(target.elts):
                starred = any(isinstance(x, ast.Starred) for x in target.elts)
                self.bind(
                    part, self.elements_in(value) if starred else self.item_of(value, i), scope
                )
        elif isinstance(target, ast.Attribute):
            owners = self.evaluate(target.value, scope)
            if spot_at(target, scope) in self.callees:
                self.run_by_store(target, owners, value, scope)
            self.store(owners, target.attr, value, target, scope)
        elif isinstance(target, ast.Subscript):
            self.bind_item(target, value, scope)

    def store(self, owners: Value, name: str, value: Value, node: ast.AST, scope: Scope) -> None:
        """Interpret the assignment of a value to an attribute of each of the objects ``owners``.

        name : the attribute's name; ``ANY`` if it is unknown.
        """
        for thing in owners:
            if isinstance(thing.actual, ModuleType):
                self.module(vars(thing.actual)).bind_weakly(name, value)
                continue
            member = inspect.getattr_static(thing.of, name, None) if thing.of else None
            for setter in self.existing_object(member) if hasattr(member, "__set__") else ():
                self.call_method(setter, "__set__", [frozenset((thing,)), value], node, scope)
            self.add_field(thing, f".{name}" if name != ANY else ANY, value)

    def bind_item(self, target: ast.Subscript, value: Value, scope: Scope) -> None:
        """Interpret the assignment of ``value`` to ``target``, an element of an array or container."""
        owners = self.evaluate(target.value, scope)
        keys = self.evaluate(target.slice, scope)
        spot = spot_at(target, scope)
        taint = self.leaves_here(spot, scope)
        self.wrote(spot, owners, value, scope)
        key = constant_key(target.slice)
        for thing in owners:
            self.mark(thing, taint)
            if self.call_method(thing, "__setitem__", [keys, value], target, scope) is not None:
                continue
            self.add_field(thing, key, value)
            if taint_of((keys,)):
                self.add_field(thing, KEYS, keys)

    @abc.abstractmethod
    def wrote(self, spot: Spot, owners: Value, value: Value, scope: Scope) -> None:
        """React to a write ``x[k] = value`` at the location ``spot``, in subclasses.

        ``Flow`` looks for converted values in x and ``value`` if a tape recorded the write.
        owners : the objects that x may be.
        """

    # --- expressions ------------------------------------------------------------------------------
    def evaluate(self, node: ast.AST, scope: Scope) -> Value:
        """Return the analysis's objects (``Thing``) to which an expression may evaluate."""
        self.steps += 1
        if self.steps > STEPS:  # visits of objects count, too, but only in ``count_step``
            raise TooLong
        found: Value = getattr(self, METHODS[type(node)], self.of_other)(node, scope)
        lines = self.lines.get(scope.file)
        if lines is None or getattr(node, "lineno", None) not in lines:
            return found
        if isinstance(node, ast.Name | ast.Constant):
            return found
        spot = spot_at(node, scope)
        if not isinstance(node, ast.Call):  # for a call, ``of_Call`` has done the following
            if spot in self.leaving:
                found |= self.object_made(node, scope, self.leaves_here(spot, scope), "left")
            if spot in self.callees and isinstance(node, ast.expr):
                found |= self.run_by_operator(node, scope)
        self.arrive(spot, node, scope)
        return found

    def evaluate_each(self, nodes: Iterable[ast.AST | None], scope: Scope) -> list[Value]:
        return [self.evaluate(node, scope) for node in nodes if node is not None]

    def of_other(self, node: ast.AST, scope: Scope) -> Value:
        """Return a new object that may contain the converted values of all subexpressions.

        This serves the node classes that have no method ``of_X``.
        """
        parts = self.evaluate_each(subexpressions(node), scope)
        made = self.object_made(node, scope, taint_of(parts))
        self.name_channel(made, parts)
        return made

    def name_channel(self, made: Value, parts: list[Value]) -> None:
        """Note that new objects may name a file or device, because they were computed from a path.

        So ``path + ".txt"`` names a file if ``path`` is a text: a value may be written there and read
        back.

        made : the new objects.  parts : for each operand the objects that it may be.
        """
        if any(thing.channel or thing.text for part in parts for thing in part):
            for thing in made:
                thing.channel = names_of(parts) | (thing.channel or NOTHING)

    def of_Constant(self, node: ast.Constant, scope: Scope) -> Value:
        if not isinstance(node.value, str):
            return KNOWN
        found = self.thing("text", node.value)
        found.text, found.is_fixed = node.value, True
        return frozenset((found,))

    def of_Name(self, node: ast.Name, scope: Scope) -> Value:
        found = scope.lookup(node.id)
        if found is None and hasattr(builtins, node.id):
            found = self.existing_object(getattr(builtins, node.id))
            for thing in found:
                thing.is_fixed = True
            return found
        return self.unknown(node, scope) if found is None else found

    def of_BinOp(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.evaluate(node.left, scope), self.evaluate(node.right, scope)
        carries = () if isinstance(node.op, ast.FloorDiv) else (left, right)
        made = self.object_made(node, scope, taint_of(carries))
        self.name_channel(made, [left, right])
        holds = frozenset(
            thing for part in carries for thing in part if thing.fields and not thing.of
        )
        return made | holds

    def of_Compare(self, node: ast.Compare, scope: Scope) -> Value:
        self.evaluate_each([node.left, *node.comparators], scope)
        return self.object_made(node, scope)

    def of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Value:
        return NOTHING.union(*self.evaluate_each(node.values, scope))

    def of_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.evaluate(node.operand, scope)
        return self.object_made(
            node, scope, 0 if isinstance(node.op, ast.Not) else taint_of((value,))
        )

    def of_IfExp(self, node: ast.IfExp, scope: Scope) -> Value:
        self.evaluate(node.test, scope)
        return self.evaluate(node.body, scope) | self.evaluate(node.orelse, scope)

    def of_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        self.bind(node.target, value, scope)
        return value

    def of_Starred(self, node: ast.Starred, scope: Scope) -> Value:
        return self.elements_in(self.evaluate(node.value, scope))

    def of_Await(self, node: ast.Await, scope: Scope) -> Value:
        return self.evaluate(node.value, scope)

    def of_Yield(self, node: ast.Yield, scope: Scope) -> Value:
        if node.value is not None:
            scope.yields |= self.evaluate(node.value, scope)
        else:
            scope.yields |= KNOWN
        return frozenset((self.thing(SENT, self.running[-1]),)) if self.running else NOTHING

    def of_YieldFrom(self, node: ast.YieldFrom, scope: Scope) -> Value:
        scope.yields |= self.elements_in(self.evaluate(node.value, scope))
        return NOTHING

    def of_Lambda(self, node: ast.Lambda, scope: Scope) -> Value:
        return self.new_function(node, scope)

    def of_Tuple(self, node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Value:
        made = self.object_made(node, scope)
        anywhere = isinstance(node, ast.Set) or any(isinstance(x, ast.Starred) for x in node.elts)
        for thing in made:
            thing.is_display = True
            for i, part in enumerate(node.elts):
                self.add_field(thing, ANY if anywhere else i, self.evaluate(part, scope))
        return made

    of_List = of_Set = of_Tuple

    def of_Dict(self, node: ast.Dict, scope: Scope) -> Value:
        made = self.object_made(node, scope)
        for thing in made:
            thing.is_display = True
        for key, part in zip(node.keys, node.values, strict=True):
            value = self.evaluate(part, scope)
            for thing in made:
                if key is None:
                    for other in value:
                        for name, field in other.fields.items():
                            self.add_field(thing, name, field)
                        self.mark(thing, other.taint)
                else:
                    self.add_field(thing, KEYS, self.evaluate(key, scope))
                    self.add_field(thing, constant_key(key), value)
                    thing.is_whole = True
        return made

    def of_ListComp(self, node: Any, scope: Scope) -> Value:
        inner = Scope(scope.file, scope, scope.calls)
        for part in node.generators:
            self.bind(part.target, self.elements_in(self.evaluate(part.iter, inner)), inner)
            self.evaluate_each(part.ifs, inner)
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key, inner)
        value = self.evaluate(node.value if isinstance(node, ast.DictComp) else node.elt, inner)
        made = self.object_made(node, scope)
        for thing in made:
            thing.is_display = not isinstance(node, ast.GeneratorExp)
            self.add_field(thing, ANY, value)
        return made

    of_SetComp = of_DictComp = of_GeneratorExp = of_ListComp

    def of_Attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        owners = self.evaluate(node.value, scope)
        return self.attribute(owners, node.attr, node, scope)

    def attribute(self, owners: Value, name: str, node: ast.AST, scope: Scope) -> Value:
        """Return the objects that ``x.name`` may be in the analysis, for any x in ``owners``.

        node : the expression ``x.name``.
        """
        if name == "__dict__":
            return self.views_of(owners)
        if name == "__class__":
            return self.classes_of(owners)
        if name in FRAMES:
            return self.unknown(node, scope)
        found: set[Thing] = set()
        was_missed = False
        for thing in owners:
            if isinstance(thing.actual, ModuleType):
                found |= self.module(vars(thing.actual)).own(name) or NOTHING
                continue
            named = thing.fields.get(f".{name}", NOTHING)
            own = named | thing.fields.get(ANY, NOTHING)
            inherited = self.inherited(thing, name, node, scope)
            if name in ATTRIBUTES and not named and not inherited and not self.is_users(thing):
                found.add(CONSTANT)
                continue
            if thing.taint:
                found |= self.object_made(node, scope, thing.taint, "of")
            elif not own and not inherited and thing.is_whole:
                computed = self.call_method(thing, "__getattr__", [KNOWN], node, scope)
                was_missed = was_missed or computed is None
                found |= computed or NOTHING
            elif not own and not inherited and hasattr(thing.actual, name):
                own = self.existing_object(
                    getattr(thing.actual, name)
                )  # such as ``mock.patch.dict``
            elif not own and not inherited:
                own = frozenset((self.thing(thing, name),))
                self.add_field(thing, f".{name}", own)
                for child in own if name in ADDS else ():
                    self.add_field(child, "<of>", frozenset((thing,)))
            found |= own | inherited
        if was_missed and not found:
            return self.unknown(node, scope)
        return frozenset(found)

    @abc.abstractmethod
    def call_method(
        self, thing: Thing, name: str, arguments: list[Value], node: ast.AST, scope: Scope
    ) -> Value | None:
        """Interpret a call of the method ``name`` of an object; return the objects it may return.

        Return None if no class of the user defines the method.
        arguments : for each argument the objects that it may be.  node : the expression that calls.
        """

    def classes_of(self, owners: Value) -> Value:
        """Return the objects that ``x.__class__`` may be, for any x of known class in ``owners``."""
        found: set[Thing] = set()
        for thing in owners:
            found |= thing.fields.get("<class>", NOTHING)
            if thing.of is not None:
                found |= self.existing_object(thing.of)
        return frozenset(found)

    @staticmethod
    def is_users(thing: Thing) -> bool:
        """Return True if the user defined the class that an object is, or of which it is an instance."""
        if "<class>" in thing.fields or (
            thing.closure is not None and isinstance(thing.closure[0], ast.ClassDef)
        ):
            return True
        of = thing.actual if isinstance(thing.actual, type) else thing.of
        return of is not None and not is_installed(file_of(of))

    @abc.abstractmethod
    def inherited(self, thing: Thing, name: str, node: ast.AST, scope: Scope) -> Value:
        """Return the objects that ``thing.name`` may be if the class of ``thing`` defines the name.

        The objects are bound methods, or the values of a property.
        """

    @abc.abstractmethod
    def run_by_operator(self, node: ast.expr, scope: Scope) -> Value:
        """Return the results of the user's methods that an operator, property or f-string called."""

    @abc.abstractmethod
    def run_by_store(
        self, target: ast.Attribute, owners: Value, value: Value, scope: Scope
    ) -> None:
        """Interpret the user's ``__set__`` or ``__setattr__`` that an assignment ``x.a = value`` ran.

        target : the expression ``x.a``.  owners : the objects that x may be.
        """

    @abc.abstractmethod
    def decorated(self, decorator: ast.expr, function: Value, scope: Scope) -> Value:
        """Return the objects that ``decorator(function)`` may be."""

    @abc.abstractmethod
    def of_Call(self, node: ast.Call, scope: Scope) -> Value:
        """Return the objects that a call in the user's code may return."""

    def of_Subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        key = self.evaluate(node.slice, scope)
        if isinstance(node.slice, ast.Slice):  # a view of an array, or a list with new positions
            made = self.object_made(node, scope)
            for thing in made:
                parts = [t.fields[k] for t in value for k in t.fields if k == ANY or type(k) is int]
                self.add_field(thing, ANY, NOTHING.union(*parts))
            return value | (made if any(thing.fields for thing in made) else NOTHING)
        found: Value = NOTHING
        for thing in value:
            is_class = thing.closure is not None or isinstance(thing.actual, type)
            name = "__class_getitem__" if is_class else "__getitem__"
            computed = self.call_method(thing, name, [key], node, scope)
            if thing is self.things.get(id(sys.modules)):
                module = sys.modules.get(literal_text(node.slice, scope) or "")
                computed = None if module is None else self.existing_object(module)
            if computed is None:
                computed = self.item_of(frozenset((thing,)), constant_key(node.slice))
            found |= computed
        if not found and value and not (self.is_first and all(t.is_display for t in value)):
            return self.unknown(node, scope)
        taint = 0
        for thing in value:
            taint |= thing.taint
        return found | self.object_made(node, scope, taint)

    def item_of(self, value: Value, key: Any) -> Value:
        """Return the objects that ``x[key]`` may be, for any object x in ``value``.

        A key that is ANY (unknown) or a negative number may select any element.
        """
        if key is ANY or (type(key) is int and key < 0):
            return self.elements_in(value, keys=False)
        found: set[Thing] = set()
        for thing in value:
            if thing.names is not None:
                found |= thing.names.own(key[1:]) or NOTHING if type(key) is str else NOTHING
                continue
            fields = thing.fields
            at = f".{key[1:]}" if thing.is_view and type(key) is str else key
            own = fields.get(at, NOTHING) | fields.get(ANY, NOTHING)
            found |= own
            if thing.taint or not (own or thing.is_whole):
                found.add(thing)
        return frozenset(found)


def subexpressions(node: ast.AST) -> list[ast.expr]:
    """Return the subexpressions that are evaluated in the scope of the expression itself.

    A comprehension has one, its first iterable: Python evaluates the others in the comprehension's
    scope.
    """
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return [part.iter for part in node.generators[:1]]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


def file_of(of: type) -> str:
    """Return the path of the file that defines a class, which shows whether the class is the user's.

    Return "<frozen", as for Python's own modules, if the class is built in or its module is unknown.
    Return "" if the module has no file.

    of : the class.
    """
    module = inspect.getmodule(of)
    if of.__module__ in sys.builtin_module_names:
        return "<frozen"
    return getattr(module, "__file__", None) or ("" if module is not None else "<frozen")


def literal_text(node: ast.AST, scope: Scope) -> str | None:
    """Return the text of a string literal or of the variable ``__name__``; None for other nodes."""
    if isinstance(node, ast.Name) and node.id == "__name__":
        while scope.parent is not None:
            scope = scope.parent
        found = scope.actual.get(node.id) if isinstance(scope, ModuleScope) else None
    else:
        found = node.value if isinstance(node, ast.Constant) else None
    return found if isinstance(found, str) else None


def constant_key(node: ast.AST) -> Any:
    """Return the key under which the analysis stores ``x[k]``, for a literal k; else ANY.

    ``node`` is the syntax tree of k.  The key for a string is "=" and the string.  The key for a number
    is the number.  Such keys stand in ``Thing.fields``.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        key = constant_key(node.operand)
        return -key if isinstance(key, int) else ANY
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bytes):
        return f"={node.value}" if isinstance(node.value, str) else node.value
    return ANY


def imported(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Any:
    """Return the module or member of the running program that an import statement binds.

    Return None if the module is not imported yet.
    alias : one name of the statement ``node``, perhaps with ``as``.
    """
    if isinstance(node, ast.Import):
        return sys.modules.get(alias.name if alias.asname else alias.name.partition(".")[0])
    module = sys.modules.get(node.module or "")
    if module is None or node.level:
        return None
    return vars(module).get(alias.name, sys.modules.get(f"{node.module}.{alias.name}"))
