"""Interpret calls in the user's code, to find out which converted values their results may contain.

Functions of the user are interpreted on the arguments of the call.  Call stacks, which were noted at
conversions ("exits") and at ops that later got a constant ("entries"), show which functions ran.  For a
call on no stack, all functions that the called expression may evaluate to are interpreted.
Functions of libraries are not interpreted.  Some have a rule, which is found by their name.  All others
have the general rule ``of_all``: the result has the taint (bits of converted values) of all arguments.

Results and arguments are Values: sets of the objects (``Thing``) that an expression may evaluate to.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import logging
import sys
from collections.abc import Container, Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from .._util.container_kinds import is_dataclass
from .._util.source_locations import Stack, is_installed
from .channels import globals_of, is_data, leads_outside, makes_path, names_of, texts_of
from .databases import tables_of
from .interpreter import (
    DEPTH,
    SENT,
    Interpreter,
    Spot,
    constant_key,
    file_of,
    literal_text,
    spot_at,
    subexpressions,
)
from .known_names import (
    ADDS,
    DICTS,
    ELEMENT,
    ELEMENTS,
    READS,
    REORDERED,
    SAME,
    STEERING,
    STEPS,
    VIEWS,
    WRITES,
    WRITES_ALL,
    words,
)
from .objects import ANY, KEYS, KNOWN, NOTHING, Channel, Thing, Value, taint_of
from .scopes import Scope
from .sources import COMPREHENSIONS, FUNCTIONS, tree_of_code

# Functions that print, warn or log.  Their arguments go to streams, handlers and lists of warnings.
OUTPUTS = words("print warn warn_explicit debug info warning error exception critical log")
STREAMS = {  # from a context manager of ``contextlib`` to the attribute of ``sys`` that it replaces
    "redirect_stdout": "stdout",
    "redirect_stderr": "stderr",
}


class Arguments(NamedTuple):
    """The function and arguments of a call in the user's code, during the analysis of that code.

    A Value is the set of objects that an expression may evaluate to.

    node : the syntax tree of the call.
    name : the called name: "f" for ``x.f(y)`` and ``f(y)``, or "" for other expressions.
    owner : the objects that x may be.  functions : those that the called function may be.
    positional, keywords : those that each argument may be.
    """

    node: ast.Call
    name: str
    owner: Value
    functions: Value
    positional: list[Value]
    keywords: dict[str, Value]
    rest: Value  # the elements of ``*args`` and ``**kwargs`` in the call

    @property
    def all(self) -> list[Value]:
        return [*self.positional, *self.keywords.values(), self.rest]

    @property
    def carried(self) -> list[Value]:
        """Return what each argument may be that can become a part of the call's result.

        Arguments that only select elements, such as indices and sort keys, are left out.
        """
        steering = STEERING.get(self.name, ())
        found = [v for i, v in enumerate(self.positional) if i not in steering]
        return [*found, *[v for k, v in self.keywords.items() if k != "key"], self.rest]

    @property
    def is_method(self) -> bool:
        """Return True for a call ``x.name()`` in which x is neither a module nor a class."""
        return bool(self.owner) and not is_module(self.owner)


class Calls(Interpreter):
    """The interpreter of the user's code, with the methods that interpret calls.

    It finds the objects that a call may return, and the converted values (as of ``float(x)``) in them.
    In all methods ``call`` is the function and arguments of a call, ``scope`` has the variables at the
    call, and ``spot`` is its source location.  ``taint`` is an int with a bit for each converted value.

    borders : the source locations of calls in which a library's function converted a value.
    databases : dict from SQL cursors to the connections that created them.
    """

    borders: Container[Spot] = ()

    def __init__(self, exits: Iterable[tuple[int, Stack]], stacks: Iterable[Stack]) -> None:
        super().__init__(exits, stacks)
        self.databases: dict[Thing, Thing] = {}

    def of_Call(self, node: ast.Call, scope: Scope) -> Value:
        for_effect = node is self.for_effect
        call = self.call_arguments(node, scope)
        spot = spot_at(node, scope)
        found, known = self.seen_to_run(call, spot, scope)
        if not known:
            result = self.call_each(call.functions, call, spot, scope)
            known = result is not None
            found |= self.unknown_function(call, scope) if result is None else result
        if spot in self.leaving and (taint := self.leaves_here(spot, scope)):
            if self.is_by_key(call) or self.only_steers(call):
                return found
            found |= self.object_made(node, scope, taint, "left")
            self.wrote_by_call(call, taint)
        if spot in self.borders and (taint := taint_of((found,))):
            self.kept_by_library(call, taint, scope)
        if for_effect and not known:
            self.wrote_for_effect(call, taint_of((found,)), scope)
        return found

    def is_by_key(self, call: Arguments) -> bool:
        """Return True if a call such as ``sorted(xs, key=f)`` cannot return a value that f converts.

        The results of f, such as ``float(x)``, only determine the order of the elements.
        """
        if call.name not in ORDERED or "key" not in call.keywords:
            return False
        ordered = NOTHING.union(*call.positional) or call.owner
        return bool(ordered) and all(thing.is_display or not thing.taint for thing in ordered)

    @staticmethod
    def only_steers(call: Arguments) -> bool:
        """Return True if converted values only select the result of a call, as in ``copysign(1.0, x)``.

        The arguments that may be part of the result are all constants, so the call takes no converted
        value (such as ``float(x)``) into its result.
        """
        steering = STEERING.get(call.name, ())
        others = [value for i, value in enumerate(call.positional) if i not in steering]
        return bool(steering) and not call.rest and all(value <= KNOWN for value in others)

    def call_arguments(self, node: ast.Call, scope: Scope) -> Arguments:
        """Find the objects that may be the function and the arguments of a call, and return Arguments.

        node : the syntax tree of the call.
        """
        owner = NOTHING
        if isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value, scope)
            name = node.func.attr
            functions = self.attribute(owner, name, node.func, scope)
        else:
            functions = self.evaluate(node.func, scope)
            name = node.func.id if isinstance(node.func, ast.Name) else ""
        positional, keywords, rest = [], {}, NOTHING
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                rest |= self.evaluate(argument, scope)
            else:
                positional.append(self.evaluate(argument, scope))
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg is None:
                rest |= self.elements_in(value)
                for thing in value:
                    for key, part in thing.fields.items():
                        if isinstance(key, str) and key.startswith("="):
                            keywords[key[1:]] = part
            else:
                keywords[keyword.arg] = value
        return Arguments(node, name, owner, functions, positional, keywords, rest)

    def decorated(self, decorator: ast.expr, function: Value, scope: Scope) -> Value:
        """Return what ``decorator(function)`` may be; a library's decorator counts as the identity."""
        functions = self.evaluate(decorator, scope)
        call = implicit_call(decorator, functions=functions, arguments=[function])
        return self.call_each(functions, call, spot_at(decorator, scope), scope) or function

    # --- functions that run -----------------------------------------------------------------------
    def seen_to_run(self, call: Arguments, spot: Spot, scope: Scope) -> tuple[Value, bool]:
        """Interpret the user's functions that ran in the call, according to noted call stacks.

        Return the union of their results.  Return also True if one of the functions is the called one,
        and not a callback that a library called.
        """
        found, known = NOTHING, False
        for code, place in self.callees.get(spot, {}).items():
            tree = tree_of_code(code)
            if tree is None or code.co_name in COMPREHENSIONS or isinstance(tree, ast.Module):
                continue
            direct = self.is_direct(call, code) and code.co_name not in ENTERED
            direct = direct and not self.is_called_back(spot)
            me = self.self_of(call, code, scope)
            outer = self.scopes.get(tree)
            if outer is None:
                outer = self.module(place.names, code.co_filename)
                if code.co_freevars:
                    self.know_free_names(tree, call)
                outer = self.scopes.get(tree, outer)
                if code.co_freevars and tree not in self.scopes:
                    outer = Scope(code.co_filename, outer)
                    self.bind_free_names(outer, code)
            handed = call if direct else self.callback_arguments(call)
            if direct and code.co_name != "__call__" and (held := held_by(call.functions)):
                # The called object is a functools.partial, which passes on its own arguments.
                handed = all_to_each(call._replace(rest=call.rest | held))
            result = self.inline(tree, outer, handed, me, spot, scope, code)
            made = code.co_name in ("__init__", "__post_init__") and call.name != code.co_name
            if not is_key(tree, call):
                found |= me if made else result
            known = known or direct
        return found, known

    def run_by_operator(self, node: ast.expr, scope: Scope) -> Value:
        """Interpret the user's methods that ran for an operator such as ``a + b``, property or f-string.

        Noted call stacks show which methods ran.  Return the union of their results.

        node : the expression with the operator, property or f-string.
        """
        values = NOTHING.union(*self.evaluate_each(subexpressions(node), scope))
        values |= self.elements_in(values)
        call = implicit_call(node, owner=values, arguments=[values], rest=values)
        return self.seen_to_run(call, spot_at(node, scope), scope)[0]

    def run_by_store(
        self, target: ast.Attribute, owners: Value, value: Value, scope: Scope
    ) -> None:
        spot = spot_at(target, scope)
        names = [code.co_name for code in self.callees[spot]]
        arguments = [owners, value] if "__set__" in names else [value]
        me = self.object_made(target, scope, kind="descriptor") if "__set__" in names else owners
        self.seen_to_run(implicit_call(target, "__set__", me, arguments=arguments), spot, scope)

    def know_free_names(self, tree: ast.AST, call: Arguments) -> None:
        """Note in ``scopes[tree]`` where a function finds the variables of enclosing functions.

        tree : the function's syntax tree, known from a call stack, which does not show that scope.  The
        scope is known if the function is among those that ``call`` may call.
        """
        for thing in call.functions:
            if thing.closure is not None and thing.closure[0] is tree:
                self.scopes[tree] = thing.closure[1]

    def callback_arguments(self, call: Arguments) -> Arguments:
        """Return the arguments that a callback gets from a library function, as f in ``map(f, xs)``.

        call : the call of the library function.  ``map``, ``filter`` and ``reduce`` pass elements of
        their arguments to f.  Other functions may pass any argument, or an element or attribute of it.
        """
        name, sources = call.name, call.positional[1:]
        if name in ("map", "filter") and sources:
            return call._replace(positional=[self.elements_in(s) for s in sources], keywords={})
        if name == "reduce" and sources:
            elements = self.elements_in(sources[0])
            first = NOTHING.union(elements, *sources[1:])
            return call._replace(positional=[first, elements], keywords={})
        return all_to_each(call)

    @staticmethod
    def is_direct(call: Arguments, code: CodeType) -> bool:
        """Return True if ``code`` belongs to the called function itself, False if to a callback of it.

        In ``map(f, xs)``, for example, f is a callback.  Compiled functions such as ``map`` have no
        frames, so the answer is a guess by names.
        """
        if code.co_name in (call.name, "__init__", "__call__", "wrapper", "wrapped", "inner"):
            return True
        builtin = any(
            isinstance(thing.actual, BuiltinFunctionType)
            or (isinstance(thing.actual, type) and thing.actual.__module__ in BUILT_IN)
            for thing in call.functions
        )
        callbacks = any(t.closure is not None for value in call.all for t in value)
        return not builtin and not callbacks

    def is_called_back(self, spot: Spot) -> bool:
        """Return True if a library called the user's functions that ran in the call at ``spot``.

        In this class the answer is always False.  Subclasses that skip the code of libraries override
        the method.
        """
        return False

    def self_of(self, call: Arguments, code: CodeType, scope: Scope) -> Value:
        """Return the objects that may be ``self`` or ``cls`` in a function that ran in a call.

        call : the call.  code : the code of the function, which need not be the called one: it may be an
        ``__init__`` or a callback.
        """
        if code.co_name in ("__init__", "__new__", "__post_init__") and code.co_name != call.name:
            made = self.instance(call, scope)
            if code.co_name == "__post_init__":
                for one in made:
                    for function in call.functions:
                        self.fill_fields(one, fields_of(function), call, is_tuple(function))
            return made
        if not code.co_argcount or code.co_varnames[0] not in ("self", "cls"):
            return NOTHING
        if code.co_name in ("__call__", call.name) and not is_module(call.owner):
            me = call.functions if code.co_name == "__call__" else call.owner
            return me or self.object_made(call.node, scope, kind="self")
        return NOTHING.union(*call.all, call.owner) or call.functions

    def instance(self, call: Arguments, scope: Scope) -> Value:
        """Return an object of the analysis for the instance that a call of a class creates.

        ``__init__`` is not interpreted here.
        """
        made = self.object_made(call.node, scope, kind="instance")
        for thing in made:
            thing.is_whole = all(map(is_plain_class, call.functions))
            for function in call.functions:
                if isinstance(function.actual, type):
                    thing.of = function.actual
                elif function.closure is not None:
                    self.add_field(thing, "<class>", frozenset((function,)))
        return made

    def call_of(self, thing: Thing, call: Arguments, spot: Spot, scope: Scope) -> Value | None:
        """Interpret a call of ``thing``, a function, class or instance; return the possible results.

        Return None if the user did not define ``thing``, so that it cannot be interpreted.
        """
        if self.only_seen:
            return None
        if thing.closure is not None:
            tree, outer = thing.closure
            if isinstance(tree, ast.ClassDef):
                return self.construct(thing, call, spot, scope)
            if thing.actual is not None and is_installed(outer.file):
                return None
            return self.inline(tree, outer, call, thing.me, spot, scope)
        if isinstance(thing.actual, type):
            if thing.actual.__module__ in BUILT_IN or is_installed(file_of(thing.actual)):
                return None
            return self.construct(thing, call, spot, scope)
        if thing.actual is None and (thing.of is not None or "<class>" in thing.fields):
            methods = self.inherited(thing, "__call__", call.node, scope)
            return self.call_each(methods, call, spot, scope)
        return None

    def call_each(
        self, functions: Value, call: Arguments, spot: Spot, scope: Scope
    ) -> Value | None:
        """Interpret a call of each of ``functions`` that the user defined; return the possible results.

        Return None if no function is the user's.
        """
        results = [self.call_of(function, call, spot, scope) for function in functions]
        known = [value for value in results if value is not None]
        return NOTHING.union(*known) if known else None

    def construct(self, thing: Thing, call: Arguments, spot: Spot, scope: Scope) -> Value:
        """Interpret a call of a class of the user, and return the object for the instance.

        thing : the class, whose ``__init__`` is interpreted.
        """
        made = self.instance(call, scope)
        names = fields_of(thing)
        for one in made:
            methods = self.inherited(one, "__init__", call.node, scope)
            for method in methods:
                if method.closure is not None:
                    tree, outer = method.closure
                    self.inline(tree, outer, call, made, spot, scope)
            if not any(method.closure is not None for method in methods):
                self.fill_fields(one, names, call, is_tuple(thing))
                self.call_method(one, "__post_init__", [], call.node, scope)
        return made

    def supers_of(self, value: Value) -> Value:
        """Return the objects that ``super()`` may return if ``self`` may be any object in ``value``.

        Each has the fields of a ``self``, and the methods of the classes that follow the method's class
        in the order in which Python searches bases.
        """
        tree, found = self.running[-1], set()
        for thing in value:
            proxy = self.thing("super", thing, tree)
            proxy.fields, proxy.taint, proxy.is_fixed = thing.fields, thing.taint, thing.is_fixed
            order = thing.of.__mro__ if thing.of is not None else ()
            for one, following in itertools.pairwise(order):
                codes = [getattr(f, "__code__", None) for f in map(unbound, vars(one).values())]
                if any(code is not None and tree_of_code(code) is tree for code in codes):
                    proxy.of = following
            proxy.bases = NOTHING.union(
                *[
                    one.fields.get("<bases>", NOTHING)
                    for one in self.lineage(thing.fields.get("<class>", NOTHING))
                    if any(t.closure is not None and t.closure[0] is tree for t in all_fields(one))
                ]
            )
            found.add(proxy)
        return frozenset(found)

    def lineage(self, classes: Value) -> list[Thing]:
        """Return classes and all their bases, as far as the analysed code defines them."""
        found = [*classes]
        for one in found:  # the loop appends to the list that it walks
            found += [base for base in one.fields.get("<bases>", NOTHING) if base not in found]
        return found

    def fill_fields(self, thing: Thing, names: list[str], call: Arguments, numbered: bool) -> None:
        """Assign the arguments of ``call``, in the analysis, to fields of a dataclass or named tuple.

        Python generates the ``__init__`` that does so in the program.  thing : the new instance.
        names : the fields in their order; empty for other classes.
        numbered : True for a named tuple, whose arguments are also its items 0, 1 and so on.
        """
        for i, value in enumerate(call.positional):
            self.add_field(thing, f".{names[i]}" if i < len(names) else ANY, value)
            if numbered:
                self.add_field(thing, i, value)
        for name, value in call.keywords.items():
            self.add_field(thing, f".{name}", value)
        for name in names[len(call.positional) :]:  # fields that keep their default
            if name not in call.keywords:
                self.add_field(thing, f".{name}", frozenset((self.thing("default", thing, name),)))
        self.add_field(thing, ANY, call.rest)

    def inherited(self, thing: Thing, name: str, node: ast.AST, scope: Scope) -> Value:
        """Return the objects that ``thing.name`` may be if the class of ``thing`` defines the name.

        The objects are bound methods, or the values of a property.

        node : the expression ``thing.name``.  scope : the variables at it.
        """
        found: set[Thing] = set()
        for one in thing.fields.get("<class>", NOTHING) if not thing.bases else thing.bases:
            found |= self.of_class(one, name)
        of = thing.actual if isinstance(thing.actual, type) else thing.of
        if of is not None and not is_installed(file_of(of)):
            member = inspect.getattr_static(of, name, None)
            if isinstance(member, property) and isinstance(member.fget, FunctionType):
                return self.property_of(member.fget, thing, node, scope)
            if isinstance(member, classmethod):
                (owner,) = self.existing_object(of)
                methods = self.existing_object(member.__func__)
                return frozenset(self.with_self(one, owner) for one in methods)
            if isinstance(member, staticmethod | FunctionType):
                found |= self.existing_object(unbound(member))
            elif member is not None and hasattr(member, "__get__") and not callable(member):
                return self.read_descriptor(member, thing, node, scope)
            elif member is not None and not hasattr(member, "__get__"):
                found |= self.existing_object(member)
            for one in self.existing_object(of):
                found |= one.fields.get(f".{name}", NOTHING) if one is not thing else NOTHING
        return frozenset(self.bound_to(one, thing) for one in found)

    def read_descriptor(self, member: Any, thing: Thing, node: ast.AST, scope: Scope) -> Value:
        """Interpret the read of an attribute whose class holds a descriptor; return the result.

        member : the descriptor.  thing : the object.  Python calls ``member.__get__(thing)``.  A
        descriptor of a library returns a new object that may contain the converted values in ``thing``.
        """
        getter = getattr(member, "func", None)
        if isinstance(getter, FunctionType):
            return self.property_of(getter, thing, node, scope)
        me = frozenset((thing,))
        for one in self.existing_object(member):
            found = self.call_method(one, "__get__", [me, KNOWN], node, scope)
            if found is not None:
                return found
        taint = taint_of((me,))
        return self.object_made(node, scope, taint, "got") if taint else NOTHING

    def call_method(
        self, thing: Thing, name: str, arguments: list[Value], node: ast.AST, scope: Scope
    ) -> Value | None:
        if not self.is_users(thing):
            return None
        if name == "__class_getitem__":
            member = inspect.getattr_static(thing.actual, name, None) if thing.actual else None
            plain = self.existing_object(unbound(member)) if member is not None else NOTHING
            methods = frozenset(
                self.with_self(one, thing) for one in plain or self.of_class(thing, name)
            )
        else:
            methods = self.inherited(thing, name, node, scope)
        call = implicit_call(node, name, frozenset((thing,)), methods, arguments)
        return self.call_each(methods, call, spot_at(node, scope), scope)

    def of_class(self, thing: Thing, name: str) -> Value:
        """Return the objects that the attribute ``name`` of a class may be, from the analysed code.

        thing : the class, whose bases are searched, too.
        """
        found = thing.fields.get(f".{name}", NOTHING)
        if found:
            return found
        for base in thing.fields.get("<bases>", NOTHING):
            if isinstance(base.actual, type):
                member = inspect.getattr_static(base.actual, name, None)
                if isinstance(member, FunctionType) and not is_installed(file_of(base.actual)):
                    found |= self.existing_object(member)
            elif base is not thing:
                found |= self.of_class(base, name)
        return found

    def bound_to(self, thing: Thing, me: Thing) -> Thing:
        """Return an attribute of a class as ``x.attribute`` gives it for an instance x.

        A function becomes a bound method.  Static methods, classes and data are returned unchanged.
        thing : the attribute in the class.  me : the instance.
        """
        closure = thing.closure
        if closure is None or isinstance(closure[0], ast.ClassDef) or isinstance(me.actual, type):
            return thing
        decorators = getattr(closure[0], "decorator_list", ())
        if any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators):
            return thing
        return self.with_self(thing, me)

    def with_self(self, function: Thing, me: Thing) -> Thing:
        """Return the function as a bound method, whose ``self`` or ``cls`` is ``me``.

        A ``function`` that the user's code does not define is returned unchanged.
        """
        if function.closure is None:
            return function
        found = self.thing("bound", function, me)
        found.closure, found.me = function.closure, frozenset((me,))
        return found

    def property_of(self, getter: FunctionType, thing: Thing, node: ast.AST, scope: Scope) -> Value:
        (function,) = self.existing_object(getter)
        if function.closure is None:
            return NOTHING
        tree, outer = function.closure
        me, spot = frozenset((thing,)), spot_at(node, scope)
        return self.inline(tree, outer, implicit_call(node), me, spot, scope)

    def inline(
        self, tree: ast.AST, outer: Scope, call: Arguments, me: Value, spot: Spot, scope: Scope,
        code: CodeType | None = None,
    ) -> Value:  # fmt: skip
        """Interpret a function's body on the arguments of a call; return the objects that it may return.

        tree : the function's syntax tree.  outer : the scope around the function.
        me : the objects that ``self`` may be.  scope : the scope of the caller.
        code : the function's code object, if a noted call stack shows it.

        After DEPTH nested calls, or RECURSION calls of the function in itself, the body is not
        interpreted: the result may contain the converted values of all arguments.
        """
        if self.running.count(tree) > RECURSION or len(self.running) >= DEPTH:
            return self.object_made(call.node, scope, taint_of([*call.all, me]))
        file = code.co_filename if code is not None else outer.file
        calls = (*scope.calls, spot)
        inner = Scope(file, outer, self.paths.setdefault(calls, calls))
        self.bind_parameters(tree, inner, call, me)
        self.running.append(tree)
        try:
            return self.body(tree, inner)
        finally:
            self.running.pop()

    def bind_parameters(self, function: Any, scope: Scope, call: Arguments, me: Value) -> None:
        """Bind, in the analysis, a function's parameters to a call's arguments or to their defaults.

        function : the syntax tree.  scope : the new scope of the function.  me : what ``self`` may be.
        """
        parameters = function.args
        names = [*parameters.posonlyargs, *parameters.args]
        values = ([me] if me else []) + call.positional
        defaults = [*[None] * (len(names) - len(parameters.defaults)), *parameters.defaults]
        keyword_only = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        for i, (parameter, default) in enumerate(
            [*zip(names, defaults, strict=True), *keyword_only]
        ):
            name = parameter.arg
            if i < len(values) and i < len(names):
                value = values[i]
            elif name in call.keywords:
                value = call.keywords[name]
            else:
                value = call.rest
                if default is not None and scope.parent is not None:
                    value |= self.evaluate(default, scope.parent)
            scope.names[name] = value or self.object_made(parameter, scope)
        if parameters.vararg is not None:
            self.gather(scope, parameters.vararg, dict(enumerate(values[len(names) :])), call)
        if parameters.kwarg is not None:
            taken = {parameter.arg for parameter in (*names, *parameters.kwonlyargs)}
            more = {f"={k}": v for k, v in call.keywords.items() if k not in taken}
            self.gather(scope, parameters.kwarg, more, call)

    def gather(
        self, scope: Scope, parameter: ast.arg, values: dict[Any, Value], call: Arguments
    ) -> None:
        """Bind, in the analysis, a parameter ``*args`` or ``**kwargs`` to a new tuple or dict.

        values : dict from indices or names to the objects that a collected argument may be.
        ``call.rest`` has arguments at unknown indices.  scope : the scope of the called function.
        """
        made = self.object_made(parameter, scope)
        for thing in made:
            for key, value in values.items():
                self.add_field(thing, key, value)
            if call.rest:
                self.add_field(thing, ANY, call.rest)
        scope.names[parameter.arg] = made

    # --- functions that do not run ----------------------------------------------------------------
    def unknown_function(self, call: Arguments, scope: Scope) -> Value:
        """Return the possible results of a call whose function is not interpreted.

        The function's name selects a rule for the result.  Without a rule the result may contain
        anything that can be computed from the arguments.
        """
        if call.name in OUTPUTS:
            self.taint_outputs(call, scope)
        for known in (self.of_listener, self.of_name, self.progress, self.moved_elements):
            found = known(call, scope)
            if found is not None:
                return found
        return self.of_all(call, scope)

    def of_name(self, call: Arguments, scope: Scope) -> Value | None:
        """Return the result of a call whose function has a rule for its name; None for other functions.

        There are two tables.  STEPS has functions with the derivative 0, such as ``floor``.  Their
        results count as free of converted values, because no part of a gradient is lost in them.
        BY_NAME has the method that interprets each other function.
        """
        if call.name in STEPS and self.is_step(call):
            return self.object_made(call.node, scope)
        method = BY_NAME.get(call.name)
        found: Value | None = getattr(self, method)(call, scope) if method is not None else None
        return found

    def of_globals(self, call: Arguments, scope: Scope) -> Value | None:
        return None if call.is_method else self.names_in_scope(scope, call.name == "globals")

    def of_eval(self, call: Arguments, scope: Scope) -> Value | None:
        """Return the possible results of ``eval`` or ``exec``, which are not interpreted.

        Their code may read all variables of the scope.
        """
        if call.is_method:
            return None
        variables = NOTHING.union(*scope.names.values())
        taint = taint_of([*call.all, variables])
        for thing in NOTHING.union(*call.positional[1:]):
            self.mark(thing, taint)
        return self.of_all(call, scope, variables)

    def of_replace(self, call: Arguments, scope: Scope) -> Value | None:
        """Return the object for ``replace(x, name=value)``, a copy of x with other attributes.

        Return None for calls without keywords, such as ``str.replace``.
        """
        if not call.keywords:
            return None
        made = self.replaced_copy(call, scope)
        return self.of_all(call, scope, made) | made

    def of_super(self, call: Arguments, scope: Scope) -> Value | None:
        return None if call.all[0] else self.supers_of(scope.lookup("self") or NOTHING)

    def of_setattr(self, call: Arguments, scope: Scope) -> Value | None:
        """Interpret ``setattr(x, name, value)``, or ``x.__setattr__(name, value)``."""
        if len(call.positional) < 2:
            return None
        *owner, _, value = call.positional
        key = constant_key(call.node.args[len(owner)])
        attribute = key[1:] if type(key) is str and key != ANY else ANY
        self.store(owner[0] if owner else call.owner, attribute, value, call.node, scope)
        return KNOWN

    def moved_elements(self, call: Arguments, scope: Scope) -> Value | None:
        """Interpret a call such as ``xs.pop()`` or ``d.update(e)``, which reads or stores elements.

        Return the objects that it may return, or None for any other called function.
        """
        name, node, method, carried = call.name, call.node, call.is_method, call.carried
        if leads_outside(call.functions, name):  # ``shutil.copy`` is not the ``copy`` in SAME
            return None
        if method and name in ("execute", "executemany", "cursor"):
            rows = self.of_database(call, scope)
            if rows is not None:
                return rows
        if name in ADDS and method:
            self.add_to(call)
        if name in ELEMENT or name in ELEMENTS:
            owners = call.owner if method else NOTHING.union(*carried)
            more = NOTHING.union(*carried) if name != "values" else NOTHING
            return self.elements_in(owners) | more
        if name in DICTS:
            return self.views_of(NOTHING.union(call.owner if method else NOTHING, *carried))
        if name in SAME and not (method and carried[0]):
            return self.same_as(call, carried, scope)
        if method:
            if name != "items":
                return None
            keys = [thing.fields.get(KEYS, NOTHING) for thing in call.owner]
            parts = [KNOWN.union(*keys), self.elements_in(call.owner)]
            return self.iterable_of_tuples(node, scope, parts)
        if name == "enumerate":
            return self.iterable_of_tuples(node, scope, [KNOWN, *map(self.elements_in, carried)])
        if name == "zip":
            return self.zipped(call, scope)
        if name in REORDERED:
            return self.container(node, scope, self.elements_in(NOTHING.union(*carried)))
        if not call.positional:
            return None
        if name in ("map", "filter"):
            return self.mapped_elements(call, scope)
        if name in HEAPS:
            return self.of_heap(call)
        return self.grouped(call, scope) if name == "groupby" and not call.rest else None

    def zipped(self, call: Arguments, scope: Scope) -> Value:
        """Return the analysis's object for the iterator of ``zip(a, b)`` or ``zip(*rows)``."""
        parts = [self.elements_in(value) for value in call.positional]
        made = self.iterable_of_tuples(call.node, scope, parts)
        for thing in self.elements_in(made) if call.rest else NOTHING:
            self.add_field(thing, ANY, self.elements_in(call.rest))
        return made

    def of_all(self, call: Arguments, scope: Scope, more: Value = NOTHING) -> Value:
        """Return the possible results of a function that is not interpreted and has no rule of its own.

        The result may contain the converted values of all arguments, of ``more`` and, for a method, of
        its object.  The function may also write these values to arguments, files and generators.
        """
        carried, method = [*call.carried, more], call.is_method
        owners = [call.owner] if method else []
        results = self.call_back(carried, call, scope)
        values = [frozenset(t for t in v if t.closure is None) for v in carried]
        taint = taint_of([*values, *owners, call.functions, results])
        into = taint_of(carried)
        if into and method and call.name not in READS:
            for thing in call.owner:
                self.mark(thing, into)
        # An argument may be a bound method to call with the others: ``f(history.append, value)``.
        if into:
            for thing in call.functions.union(*carried):
                for owner in thing.fields.get("<of>", NOTHING):
                    self.mark(owner, into)
        if call.name in ("send", "asend", "throw", "__next__"):
            self.raised |= call.owner
            for sent in NOTHING.union(*[t.fields.get(SENT, NOTHING) for t in call.owner]):
                self.mark(sent, into)
        if into:
            self.write_out(call, into)
        if method and call.name in WRITES_ITSELF and (held := taint_of(owners)):
            for thing in NOTHING.union(*carried):
                self.mark(thing, held)
        outside = self.read_outside(call, carried, owners, into)
        made = self.object_made(call.node, scope, taint | outside[0])
        for thing in made if outside[1] is not None else NOTHING:
            thing.channel = (outside[1] or made) | (thing.channel or NOTHING)
        # The called function is not interpreted.  It may raise an exception that holds its arguments.
        if self.only_seen and taint:
            self.raised |= made
        if call.name.startswith(MAKES_PARTS):
            for thing in call.owner if method else NOTHING.union(*call.positional[:1]):
                self.add_field(thing, "<part>", made)
        spot = spot_at(call.node, scope)
        if call.name in VIEWS and spot not in self.leaving:
            for thing in call.owner if method else NOTHING.union(*carried):
                self.add_field(thing, "<view>", made)
        if call.name == "nditer":
            return made | self.iterable_of_tuples(
                call.node, scope, [self.item_of(carried[0], i) for i in range(NDITER)], "arrays"
            )
        return made

    def read_outside(
        self, call: Arguments, carried: list[Value], owners: list[Value], into: int
    ) -> tuple[int, Channel | None]:
        """Interpret what a call may read from and write to a channel: a file, device or process.

        Return the bits of the converted values that the call may read, and the names of the channel;
        None in place of the names if the call uses none.
        carried : the arguments.  owners : the object of a method, in a list.  into : the bits of the
        converted values in the arguments, which a call that may write adds to those of the channel.
        """
        opened = [thing.channel for owner in owners for thing in owner if thing.channel is not None]
        outside = leads_outside(call.functions, call.name) or bool(opened)
        names = names_of([*owners, *carried])
        if outside or texts_of(names):  # a text may be a file's name: ``numbers.tofile("a.bin")``
            parts = [t for part in (*owners, *carried) for t in part if t.channel is None]
            self.write_outside(names, taint_of([frozenset(parts)]))
        if not outside or makes_path(call.functions):
            return 0, names if outside else None
        known = [self.things.get(id(value)) for value in globals_of(call.functions)]
        taint = self.channels.read(names) | taint_of([frozenset(x for x in known if x is not None)])
        for thing in call.positional[0] if call.positional and into else NOTHING:
            if is_data(thing):  # the call may write to it: ``mock.patch.dict(os.environ, ...)``
                self.mark(thing, into)
        return taint, names

    def of_heap(self, call: Arguments) -> Value:
        """Interpret a call of ``heapq`` or ``bisect`` that adds an element to a list.

        Return the elements of the list, one of which ``heappop``, for example, returns; or KNOWN (the
        object for all constants) for a function such as ``heappush``, which returns None.
        """
        heap, *values = call.positional
        for thing in heap:
            for value in values[:1]:
                self.add_field(thing, ANY, value)
        return KNOWN if call.name in ("heappush", *INSERTS) else self.elements_in(heap)

    def of_database(self, call: Arguments, scope: Scope) -> Value | None:
        """Interpret a call that executes an SQL statement, and return the object that the call returns.

        A converted value that was written to a table may come back when the table is read.  A cursor
        shares the tables of its connection.  Return None if this or an earlier statement cannot be
        parsed.
        """
        made = self.object_made(call.node, scope)
        owners = [(thing, self.databases.get(thing, thing)) for thing in call.owner]
        if call.name == "cursor":
            self.databases |= {one: database for one in made for _, database in owners}
            return made
        tables = tables_of(literal_text(call.node.args[0], scope) if call.node.args else None)
        if tables is None:
            for _, database in owners:
                self.add_field(database, UNPARSED, KNOWN)
            return None
        written, read = (frozenset(f"<table {name}>" for name in names) for names in tables)
        # A table that no statement wrote may be an SQL view of others.  A statement that was not
        # understood may have created a trigger.
        known = all(
            UNPARSED not in d.fields and read <= d.fields.keys() | written for _, d in owners
        )
        if not known:
            return None
        for thing, database in owners:
            rows = NOTHING.union(*[database.fields.get(name, NOTHING) for name in read])
            for name in written:
                self.add_field(database, name, KNOWN.union(rows, *call.all[1:]))
            for one in made if thing is database else made | {thing}:
                self.mark(one, database.taint)
                self.add_field(one, ANY, rows)
        return made

    def progress(self, call: Arguments, scope: Scope) -> Value | None:
        """Return the analysis's object for a progress bar of tqdm, or None for other calls.

        The bar yields the elements of its argument.  Values that it displays are not among them.
        """
        if not call.positional or not any(map(is_progress, call.functions)):
            return None
        made = self.object_made(call.node, scope, kind="progress")
        for thing in made:
            thing.is_fixed = False
            self.add_field(thing, ANY, self.elements_in(call.positional[0]))
            thing.is_fixed = True
        return made

    def replaced_copy(self, call: Arguments, scope: Scope) -> Value:
        """Return the analysis's object for ``replace(x, name=value)``: x with other attributes."""
        made = self.object_made(call.node, scope, kind="replaced")
        for thing in made:
            for before in call.owner.union(*call.positional[:1]):
                for key, value in before.fields.items():
                    self.add_field(thing, key, value)
            for name, value in call.keywords.items():
                self.add_field(thing, f".{name}", value)
        return made

    def taint_outputs(self, call: Arguments, scope: Scope) -> None:
        """Note which streams and log handlers got converted values when a call printed or logged.

        The program may read the values back, for example from a ``StringIO``.
        """
        taint = taint_of(call.all)
        if not taint:
            return
        listening = call.keywords.get("file", NOTHING)
        if call.name == "print":
            listening |= self.attribute(self.existing_object(sys), "stdout", call.node, scope)
        elif call.name in ("warn", "warn_explicit"):
            listening |= self.attribute(self.existing_object(sys), "stderr", call.node, scope)
            listening |= frozenset((self.thing("warnings"),))
        else:
            self.emit(call, taint, scope)
            for handler in self.handlers(call.owner):
                listening |= self.existing_object(getattr(handler, "stream", None))
                for emit in self.existing_object(handler.emit):
                    spot = spot_at(call.node, scope)
                    self.call_of(emit, all_to_each(call), spot, scope)
        for thing in listening:
            self.mark(thing, taint)

    def emit(self, call: Arguments, taint: int, scope: Scope) -> None:
        """Interpret the logging of a message by the handlers that the analysed code added to a logger.

        taint : the converted values in the message, which the handlers may keep.
        """
        added = [thing.fields.get("<handlers>", NOTHING) for thing in call.owner]
        record = self.object_made(call.node, scope, taint, "record")
        for handler in NOTHING.union(*added):
            self.mark(handler, taint)
            self.call_method(handler, "emit", [record], call.node, scope)

    def of_listener(self, call: Arguments, scope: Scope) -> Value | None:
        """Interpret a call that sets up where output goes, such as ``getLogger`` or ``redirect_stdout``.

        The program may read converted values back from such an output.  Return the object of the stream,
        logger or list of warnings.  Return None for other functions, and for ``addHandler``, whose
        handler is stored in the logger.
        """
        name, node = call.name, call.node
        if name in STREAMS and call.positional:
            self.store(self.existing_object(sys), STREAMS[name], call.positional[0], node, scope)
            return call.positional[0]
        if name == "getLogger" and not call.is_method:
            text = literal_text(node.args[0], scope) if node.args else "root"
            known = {**logging.root.manager.loggerDict, "root": logging.root}
            logger = known.get(text or "")
            return self.existing_object(logger) if isinstance(logger, logging.Logger) else None
        if name == "addHandler" and call.is_method:
            for thing in call.owner:
                self.add_field(thing, "<handlers>", NOTHING.union(*call.positional))
        if name == "catch_warnings":
            return self.object_made(node, scope) | frozenset((self.thing("warnings"),))
        return None

    def handlers(self, owners: Value) -> list[logging.Handler]:
        """Return the handlers that get the messages of the given loggers, also those of their parents.

        owners : the objects of the loggers.  The module ``logging`` stands for the root logger.
        """
        known = [x for x in [*self.actuals, logging] if self.things.get(id(x)) in owners]
        loggers = [logging.root if x is logging else x for x in known]
        found: list[logging.Handler] = []
        for one in loggers:
            while isinstance(one, logging.Logger):
                found += one.handlers
                one = one.parent if one.propagate else None
        return [*dict.fromkeys(found)]

    def call_back(self, carried: list[Value], call: Arguments, scope: Scope) -> Value:
        """Interpret the user's functions among arguments of a library function, which may call them.

        Return the union of their results.  carried : for each argument the objects that it may be.
        """
        spot = spot_at(call.node, scope)
        found = NOTHING
        for thing in {thing for value in carried for thing in value}:
            if thing.closure is not None and not isinstance(thing.closure[0], ast.ClassDef):
                found |= self.call_of(thing, self.callback_arguments(call), spot, scope) or NOTHING
        return found

    def write_out(self, call: Arguments, taint: int) -> None:
        """Note that a library function may have written the converted values ``taint`` to its arguments.

        The function's name tells which arguments: ``out``, the first one (WRITES), or all (WRITES_ALL).
        """
        targets = call.keywords.get("out", NOTHING)
        if call.name in WRITES and call.positional:
            targets |= call.positional[0]
        if call.name in WRITES_ALL:
            targets |= NOTHING.union(*call.all)
        for thing in targets:
            self.mark(thing, taint)

    def wrote_by_call(self, call: Arguments, taint: int) -> None:
        """Note that a call in which values were converted may have written them to its arguments.

        The call may have written to a method's object, and to arguments such as ``out``.
        """
        if call.owner and not is_module(call.owner) and call.name not in READS:
            for thing in call.owner:
                self.mark(thing, taint)
        self.write_out(call, taint)

    def kept_by_library(self, call: Arguments, taint: int, scope: Scope) -> None:
        """Note where a library's function may have put the values that it converted.

        It may write them into its arguments, or pass them to callbacks, which are interpreted.
        """
        made = self.object_made(call.node, scope, taint, "kept")
        for thing in call.owner.union(*call.all):
            self.mark(thing, taint)
        handed = call._replace(rest=call.rest | made)
        self.call_back(handed.all, handed, scope)

    def wrote_for_effect(self, call: Arguments, taint: int, scope: Scope) -> None:
        """Note what a call may write to if its result is not used, as in ``shutil.copy(a, b)``.

        It may write to files or devices.  A function without Python source may also write to all
        arguments, if it is a builtin, has callbacks, or is called by a library.
        """
        if leads_outside(call.functions, call.name):  # ``shutil.copy(a, b)``
            self.write_outside(names_of(call.all), taint)
        calls_back = any(t.closure is not None for value in call.all for t in value)
        compiled = all(t.closure is None for t in call.functions)
        builtin = call.functions and all(
            isinstance(t.actual, BuiltinFunctionType) and call.name not in STEPS
            for t in call.functions
        )
        if compiled and (calls_back or builtin or is_installed(scope.file)):
            for thing in NOTHING.union(*call.all):
                self.mark(thing, taint)

    def add_to(self, call: Arguments) -> None:
        """Add the arguments of a call such as ``x.append(y)`` to the possible elements of ``x``."""
        key = ANY
        if call.name in ("put", "setdefault") and len(call.positional) > 1:
            arguments = call.positional[1:]
        elif call.name in ("extend", "extendleft", "update"):
            arguments = [self.elements_in(value) for value in call.positional]
        else:
            arguments = call.positional
        for thing in call.owner:
            for value in arguments:
                self.add_field(thing, key, value)
            for name, value in call.keywords.items():
                self.add_field(thing, f"={name}", value)

    def iterable_of_tuples(
        self, node: ast.AST, scope: Scope, parts: list[Value], kind: str = "pairs"
    ) -> Value:
        """Return the object for an iterable of tuples, such as ``zip`` or ``dict.items`` returns.

        node : the syntax tree of the call.  parts : what item 0, 1 and so on of a tuple may be.
        kind : a text that distinguishes several objects of one call.
        """
        element = self.object_made(node, scope, kind=f"{kind} element")
        for thing in element:
            for i, part in enumerate(parts):
                self.add_field(thing, i, part)
        return self.container(node, scope, element, kind)

    def grouped(self, call: Arguments, scope: Scope) -> Value:
        """Return the analysis's object for ``itertools.groupby``: an iterable of (key, elements)."""
        elements = self.elements_in(call.positional[0])
        keys = NOTHING
        for function in call.keywords.get("key", NOTHING).union(*call.positional[1:2]):
            inner = call._replace(name="", owner=NOTHING, positional=[elements], keywords={})
            spot = spot_at(call.node, scope)
            found = self.call_of(function, inner, spot, scope)
            keys |= elements if found is None else found
        return self.iterable_of_tuples(call.node, scope, [keys or elements, call.positional[0]])

    def mapped_elements(self, call: Arguments, scope: Scope) -> Value:
        """Interpret f for ``map(f, xs)`` or ``filter(f, xs)``, and return the iterable's object."""
        function, *sources = call.positional
        elements = [self.elements_in(value) for value in sources]
        if call.name == "filter":
            found: Value = NOTHING.union(*elements)
        else:
            inner = call._replace(
                name="", owner=NOTHING, functions=function, positional=elements, keywords={}
            )
            result = self.call_each(function, inner, spot_at(call.node, scope), scope)
            found = self.unknown_function(inner, scope) if result is None else result
        return self.container(call.node, scope, found)

    def is_step(self, call: Arguments) -> bool:
        """Return True if the called function has the derivative 0, as ``np.sign`` has.

        Its name is in STEPS, but a user may use the name, too.  A method is taken for NumPy's if its
        object itself contains converted values, as an array does, and for the user's if only a part of
        the object does.  A function with converted values, such as a partial, counts as the user's.
        """
        node = call.node
        count = len(node.args) + len(node.keywords)
        if call.name == "round":
            return count <= 1 - call.is_method
        if call.name == "type":
            return count == 1
        if call.is_method:
            return all(t.taint or not taint_of((frozenset((t,)),)) for t in call.owner)
        return not taint_of((call.functions,))

    def same_as(self, call: Arguments, carried: list[Value], scope: Scope) -> Value:
        """Return the possible results of a call such as ``list(x)``, ``copy(x)`` or ``dict(x, a=b)``.

        A copy has the same elements.  So return the objects of the arguments themselves, and a new
        object with the keyword arguments as items.

        carried : for each argument the objects that it may be.
        """
        made = self.object_made(call.node, scope)
        for thing in made:
            for name, value in call.keywords.items():
                if name != "key":
                    self.add_field(thing, f"={name}", value)
        return made | NOTHING.union(*carried) | (call.owner if call.name == "copy" else NOTHING)

    def of_getattr(self, call: Arguments, scope: Scope) -> Value | None:
        if not call.positional:
            return None
        key = call.node.args[1] if len(call.node.args) > 1 else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return self.attribute(call.positional[0], key.value, call.node, scope)
        return NOTHING.union(*map(all_fields, call.positional[0]))


BY_NAME = {  # from the names of functions to the methods of ``Calls`` that return their results
    "globals": "of_globals", "locals": "of_globals", "eval": "of_eval", "exec": "of_eval",
    "replace": "of_replace", "_replace": "of_replace", "super": "of_super", "getattr": "of_getattr",
    "setattr": "of_setattr", "__setattr__": "of_setattr",
}  # fmt: skip
ORDERED = words("max min nlargest nsmallest sorted")
UNPARSED = "<unparsed>"  # the field of a database that received an SQL statement we cannot parse
INSERTS = words("insort insort_left insort_right")
HEAPS = INSERTS | words("heappush heappop heappushpop heapreplace")
# Functions whose names begin so return a part of their object or first argument: ``ax.add_line``.
MAKES_PARTS = ("add_", "create_", "new_", "Sub")  # ``Sub`` as in ``SubElement``
# Methods that write their object to their argument, which is a file.
WRITES_ITSELF = words("write writexml dump save savefig")
ENTERED = ("__enter__", "__aenter__", "__exit__", "__aexit__", "__iter__", "__next__")
RECURSION = 4  # the greatest depth of a recursive function that is interpreted
NDITER = 8  # the number of operands of ``np.nditer`` that are distinguished
BUILT_IN = words("builtins collections functools itertools operator array _thread _functools")


def implicit_call(
    node: ast.AST, name: str = "", owner: Value = NOTHING, functions: Value = NOTHING,
    arguments: Iterable[Value] = (), rest: Value = NOTHING,
) -> Arguments:  # fmt: skip
    """Return an Arguments object for a call that Python makes implicitly, such as that of ``__add__``.

    node : the expression that makes the call.  name : the called method.  owner : the objects to which
    it may belong.  functions : the objects that the function may be.
    arguments : those that each argument may be.  rest : those that may be an argument at any position.
    """
    tree = ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [], []), node)
    return Arguments(tree, name, owner, functions, [*arguments], {}, rest)


def is_module(value: Value) -> bool:
    """Return True if ``value`` has objects, and all of them are modules or classes."""
    return bool(value) and all(isinstance(thing.actual, ModuleType | type) for thing in value)


def fields_of(thing: Thing) -> list[str]:
    """Return the names of the fields of a dataclass or named tuple; [] for other classes."""
    if isinstance(thing.actual, type):
        if is_dataclass(thing.actual):
            import dataclasses

            return [field.name for field in dataclasses.fields(thing.actual)]
        return list(getattr(thing.actual, "_fields", ()))
    tree = thing.closure[0] if thing.closure else None
    if isinstance(tree, ast.ClassDef) and not any(
        isinstance(part, FUNCTIONS) and getattr(part, "name", "") == "__init__"
        for part in tree.body
    ):
        parts = [part for part in tree.body if isinstance(part, ast.AnnAssign)]
        return [part.target.id for part in parts if isinstance(part.target, ast.Name)]
    return []


def is_tuple(thing: Thing) -> bool:
    if isinstance(thing.actual, type):
        return issubclass(thing.actual, tuple)
    tree = thing.closure[0] if thing.closure else None
    return isinstance(tree, ast.ClassDef) and any(
        isinstance(base, ast.Name) and base.id == "NamedTuple" for base in tree.bases
    )


def unbound(member: Any) -> Any:
    """Return the function of a ``staticmethod`` or ``classmethod``; return other members unchanged."""
    return getattr(member, "__func__", member)


def all_fields(thing: Thing) -> Value:
    """Return the possible values of all attributes and items of an object in the analysis."""
    return NOTHING.union(*thing.fields.values())


def is_plain_class(thing: Thing) -> bool:
    """Return True if all bases of a class are the user's or Python's.

    If so, the analysis sees all code that assigns attributes of instances.
    """
    if isinstance(thing.actual, type):
        outer = [of for of in thing.actual.__mro__ if is_installed(file_of(of))]
        return all(of.__module__ in (*BUILT_IN, "abc", "typing", "enum") for of in outer)
    tree = thing.closure[0] if thing.closure else None
    return isinstance(tree, ast.ClassDef) and all(
        is_plain_class(base) for base in thing.fields.get("<bases>", NOTHING)
    )


def is_progress(thing: Thing) -> bool:
    return (getattr(thing.actual, "__module__", None) or "").partition(".")[0] == "tqdm"


def held_by(functions: Value) -> Value:
    """Return those of ``functions`` that hold a converted value, as a ``functools.partial`` may.

    Functions of the user's code, which are interpreted, are left out.
    """
    made = (thing for thing in functions if thing.closure is None)
    return frozenset(thing for thing in made if taint_of([frozenset((thing,))]))


def is_key(tree: ast.AST, call: Arguments) -> bool:
    """Return True if the function with this ``tree`` is the argument ``key=`` of a sorting call."""
    keys = call.keywords.get("key", NOTHING) if call.name in ORDERED else NOTHING
    return any(thing.closure is not None and thing.closure[0] is tree for thing in keys)


def all_to_each(call: Arguments) -> Arguments:
    """Return ``call`` changed so that each parameter may get any argument, or an element of one.

    It serves for callbacks of a library, because it is not known which arguments they get.
    """
    values = frozenset(t for v in (*call.all, call.owner) for t in v if t.closure is None)
    return call._replace(positional=[], keywords={}, rest=values.union(*map(all_fields, values)))
