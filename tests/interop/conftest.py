"""A library of its own for the tests of the machinery: a package with functions and a table."""

import sys
import textwrap

import pytest

from arraytape.interop import _context, _hooks, _statements

PACKAGE = '''
from numpy import asarray as taken
import functools
import math
import numpy as np
import warnings

def plain(x, y=2.0, *, scale=1.0):
    """Plain's text."""
    return ("plain", x)

def decorated(function):
    text = "decorated"
    @functools.wraps(function)
    def wrapper(*args, **keywords):
        return (text, function(*args, **keywords))
    return wrapper

@decorated
def wrapped(x, offset=1):
    return x

class Base:
    def method(self, x):
        return ("base", x)

class Derived(Base):
    def method(self, x):
        return ("derived", *super().method(x))

def warns(x):
    warnings.warn("mind the step", UserWarning, stacklevel=2)
    return x

def fails(x):
    raise KeyError("nothing here")

def as_array(x):
    return np.asarray(x), taken(x)

def filled(x):
    found = np.zeros(x.shape)
    found[...] = x
    return found

def rooted(x):
    return math.sqrt(x), math.pi, math.floor(2.5)

def number(x):
    return float(x)
'''
TABLE = """
import arraytape as xp
from arraytape.interop._facades import SoftFloat
from arraytape.interop._statements import hooks, keeps_arrays, replaces, stands_in

@hooks("NAME", "plain", "wrapped", "warns", "fails", "Derived.method")
def rule(*args, **keywords):
    return ("rule", args, keywords)

keeps_arrays("NAME")
stands_in("NAME", "math", sqrt=xp.sqrt)
"""
COUNT = iter(range(10**6))


@pytest.fixture
def library(tmp_path, monkeypatch):
    """``library(table)``: the name of a package that can be imported, and whose table is known."""

    def library(table=TABLE, package=PACKAGE):
        name = f"madeup{next(COUNT)}"
        for file, text in ((name, package), (f"table_of_{name}", table)):
            text = textwrap.dedent(text).replace("NAME", name)
            (tmp_path / f"{file}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(_statements.TABLES, name, {name: f"table_of_{name}"})
        return name

    yield library
    for name in [name for name in sys.modules if "madeup" in name]:
        del sys.modules[name]
    for full in [full for full in _hooks.HOOKS if full.startswith("madeup")]:
        del _hooks.HOOKS[full]
    _context.EVERYWHERE.difference_update([n for n in _context.EVERYWHERE if "madeup" in n])


@pytest.fixture
def entered():
    """``entered(name)``: a context as ``interop.scipy()`` is, for another library."""

    def entered(name):
        _statements.install(name)
        return _context.entered([name])

    return entered
