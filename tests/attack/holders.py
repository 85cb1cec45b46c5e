"""Ways to hold a number in Python: how to put it there, and how to get it back.

Each is ``(preamble, statements, expression)``: ``@V`` stands for the value, ``@N`` for a drawn name.
"""
# ruff: noqa: E501

LOCAL = {
    "a local": ("", "@N = @V", "@N"),
    "a tuple": ("", "@N, other = @V, 3", "@N"),
    "a starred target": ("", "@N, *others = [@V, 1, 2]", "@N"),
    "a walrus": ("", "pair = ((@N := @V), 1)", "@N"),
    "a loop variable": ("", "for @N in [@V]:\n    pass", "@N"),
    "a closure": ("", "held = @V\ndef @N():\n    return held", "@N()"),
    "a lambda's default": ("", "@N = lambda v=@V: v", "@N()"),
    "a default": ("", "def @N(v=@V):\n    return v", "@N()"),
    "a nonlocal": ("", "@N = 0.0\ndef put(v):\n    nonlocal @N\n    @N = v\nput(@V)", "@N"),
    "a function's attribute": ("", "def g():\n    pass\ng.@N = @V", "g.@N"),
    "a generator": ("", "def @N():\n    yield @V", "next(@N())"),
    "send to a generator": (
        "def keeper():\n    held = yield\n    while True:\n        yield held",
        "@N = keeper()\nnext(@N)\n@N.send(@V)",
        "next(@N)",
    ),
    "a coroutine": (
        "",
        "async def @N(v):\n    return v\ncoroutine = @N(@V)\n"
        "try:\n    coroutine.send(None)\nexcept StopIteration as stop:\n    held = stop.value",
        "held",
    ),
    "a comprehension": ("", "@N = [v for v in [@V]]", "@N[0]"),
    "a match": ("", "match {'k': @V}:\n    case {'k': @N}:\n        pass", "@N"),
    "an exception's arguments": (
        "",
        "try:\n    raise ValueError(@V)\nexcept ValueError as error:\n    @N = error.args",
        "@N[0]",
    ),
    "an exception's attribute": (
        "class Stop(Exception):\n    pass",
        "try:\n    error = Stop()\n    error.@N = @V\n    raise error\nexcept Stop as caught:\n    held = caught",
        "held.@N",
    ),
    "a context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef held_as(v):\n    yield v",
        "with held_as(@V) as @N:\n    pass",
        "@N",
    ),
    "a context manager of a class": (
        "class Held:\n    def __init__(self, v):\n        self.v = v\n    def __enter__(self):\n"
        "        return self.v\n    def __exit__(self, *rest):\n        pass",
        "with Held(@V) as @N:\n    pass",
        "@N",
    ),
    "keywords": ("def same(**given):\n    return given", "held = same(@N=@V)", "held['@N']"),
    "arguments": ("def same(*given):\n    return given", "@N = same(1, @V)", "@N[1]"),
}
CONTAINERS = {
    "a list": ("", "@N = [1.0, @V]", "@N[1]"),
    "a list that grows": ("", "@N = []\n@N.append(@V)", "@N[-1]"),
    "a list that is extended": ("", "@N = []\n@N.extend([@V])", "@N[-1]"),
    "a list that is added to": ("", "@N = []\n@N += [@V]", "@N[0]"),
    "a slice": ("", "@N = [0.0, 0.0]\n@N[1:] = [@V]", "@N[1]"),
    "a global list": ("HELD = []", "HELD.append(@V)", "HELD[-1]"),
    "a dict": ("", "held = {'@N': @V}", "held['@N']"),
    "an entry": ("", "held = {}\nheld['@N'] = @V", "held['@N']"),
    "a dict's get": ("", "held = dict(@N=@V)", "held.get('@N')"),
    "a dict's update": ("", "held = {}\nheld.update(@N=@V)", "held['@N']"),
    "a merged dict": ("", "held = {'a': 1} | {'@N': @V}", "held['@N']"),
    "a global dict": ("HELD = {}", "HELD['@N'] = @V", "HELD['@N']"),
    "values of a dict": ("", "held = {'@N': @V}", "list(held.values())[0]"),
    "items of a dict": ("", "held = {'@N': @V}", "[v for k, v in held.items()][0]"),
    "keys of a dict": ("", "held = {@V: '@N'}", "next(iter(held))"),
    "a set": ("", "@N = {@V}", "@N.pop()"),
    "a deque": ("import collections", "@N = collections.deque([@V])", "@N.popleft()"),
    "a defaultdict": (
        "import collections",
        "held = collections.defaultdict(list)\nheld['@N'].append(@V)",
        "held['@N'][0]",
    ),
    "an OrderedDict": ("import collections", "held = collections.OrderedDict(@N=@V)", "held['@N']"),
    "a ChainMap": (
        "import collections",
        "held = collections.ChainMap({}, {'@N': @V})",
        "held['@N']",
    ),
    "a Counter": (
        "import collections",
        "held = collections.Counter()\nheld['@N'] += @V",
        "held['@N']",
    ),
    "a UserDict": (
        "import collections",
        "held = collections.UserDict()\nheld['@N'] = @V",
        "held['@N']",
    ),
    "a SimpleNamespace": ("import types", "held = types.SimpleNamespace(@N=@V)", "held.@N"),
    "a mapping proxy": ("import types", "held = types.MappingProxyType({'@N': @V})", "held['@N']"),
    "a heap": ("import heapq", "@N = []\nheapq.heappush(@N, @V)", "heapq.heappop(@N)"),
    "a sorted list": ("import bisect", "@N = [0.0]\nbisect.insort(@N, @V)", "@N[1]"),
    "a queue": ("import queue", "@N = queue.Queue()\n@N.put(@V)", "@N.get(False)"),
    "nested containers": ("", "held = {'a': [{'@N': (1, @V)}]}", "held['a'][0]['@N'][1]"),
}
OBJECTS = {
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Held:\n    other: float\n    @N: float",
        "held = Held(2.0, @V)",
        "held.@N",
    ),
    "a frozen dataclass": (
        "from dataclasses import dataclass\n@dataclass(frozen=True, slots=True)\nclass Held:\n    @N: float",
        "held = Held(@V)",
        "held.@N",
    ),
    "a dataclass that is replaced": (
        "import dataclasses\n@dataclasses.dataclass\nclass Held:\n    @N: float",
        "held = dataclasses.replace(Held(1.0), @N=@V)",
        "held.@N",
    ),
    "a dataclass as a dict": (
        "import dataclasses\n@dataclasses.dataclass\nclass Held:\n    @N: float",
        "held = dataclasses.asdict(Held(@V))",
        "held['@N']",
    ),
    "a named tuple": (
        "from collections import namedtuple\nHeld = namedtuple('Held', ['other', '@N'])",
        "held = Held(1.0, @V)",
        "held.@N",
    ),
    "a named tuple that is replaced": (
        "from typing import NamedTuple\nclass Held(NamedTuple):\n    a: float\n    @N: float",
        "held = Held(1.0, 2.0)._replace(@N=@V)",
        "held.@N",
    ),
    "an attribute": ("class Held:\n    pass", "held = Held()\nheld.@N = @V", "held.@N"),
    "an attribute set in __init__": (
        "class Held:\n    def __init__(self, v):\n        self.@N = v",
        "held = Held(@V)",
        "held.@N",
    ),
    "an attribute of a global object": (
        "class Held:\n    pass\nHELD = Held()",
        "HELD.@N = @V",
        "HELD.@N",
    ),
    "slots": (
        "class Held:\n    __slots__ = ('@N',)\n    def __init__(self, v):\n        self.@N = v",
        "held = Held(@V)",
        "held.@N",
    ),
    "a property": (
        "class Held:\n    def __init__(self, v):\n        self.hidden = v\n    @property\n    def @N(self):\n"
        "        return self.hidden",
        "held = Held(@V)",
        "held.@N",
    ),
    "a cached property": (
        "import functools\nclass Held:\n    def __init__(self, v):\n        self.hidden = v\n"
        "    @functools.cached_property\n    def @N(self):\n        return self.hidden",
        "held = Held(@V)",
        "held.@N",
    ),
    "a method": (
        "class Held:\n    def __init__(self, v):\n        self.hidden = v\n    def @N(self):\n"
        "        return self.hidden",
        "held = Held(@V)",
        "held.@N()",
    ),
    "a function by that name": ("def @N(v):\n    return v", "held = @N(@V)", "held"),
    "a static method": (
        "class Held:\n    @staticmethod\n    def @N(v):\n        return v",
        "held = Held.@N(@V)",
        "held",
    ),
    "a class attribute": ("class Held:\n    pass", "Held.@N = @V", "Held.@N"),
    "a class method that keeps": (
        "class Held:\n    @classmethod\n    def keep(cls, v):\n        cls.@N = v",
        "Held.keep(@V)",
        "Held.@N",
    ),
    "vars": ("class Held:\n    pass", "held = Held()\nvars(held)['@N'] = @V", "held.@N"),
    "vars read": ("class Held:\n    pass", "held = Held()\nheld.@N = @V", "vars(held)['@N']"),
    "__dict__": ("class Held:\n    pass", "held = Held()\nheld.__dict__['@N'] = @V", "held.@N"),
    "__dict__ updated": (
        "class Held:\n    pass",
        "held = Held()\nheld.__dict__.update(@N=@V)",
        "held.@N",
    ),
    "__dict__ read": (
        "class Held:\n    pass",
        "held = Held()\nheld.@N = @V",
        "held.__dict__['@N']",
    ),
    "setattr": ("class Held:\n    pass", "held = Held()\nsetattr(held, '@N', @V)", "held.@N"),
    "setattr of a joined name": (
        "class Held:\n    pass",
        "held = Held()\nsetattr(held, ''.join(['@N']), @V)",
        "held.@N",
    ),
    "object.__setattr__": (
        "class Held:\n    pass",
        "held = Held()\nobject.__setattr__(held, '@N', @V)",
        "held.@N",
    ),
    "getattr": ("class Held:\n    pass", "held = Held()\nheld.@N = @V", "getattr(held, '@N')"),
    "getattr of a joined name": (
        "class Held:\n    pass",
        "held = Held()\nheld.@N = @V",
        "getattr(held, ''.join(['@N']))",
    ),
    "__getattr__": (
        "class Held:\n    def __init__(self, v):\n        self.hidden = v\n    def __getattr__(self, name):\n"
        "        return self.hidden",
        "held = Held(@V)",
        "held.@N",
    ),
    "__getitem__": (
        "class Held:\n    def __init__(self):\n        self.hidden = {}\n    def __setitem__(self, key, v):\n"
        "        self.hidden[key] = v\n    def __getitem__(self, key):\n        return self.hidden[key]",
        "held = Held()\nheld['@N'] = @V",
        "held['@N']",
    ),
    "__call__": (
        "class Held:\n    def __init__(self, v):\n        self.@N = v\n    def __call__(self):\n"
        "        return self.@N",
        "held = Held(@V)",
        "held()",
    ),
    "__float__": (
        "class Held:\n    def __init__(self, v):\n        self.@N = v\n    def __float__(self):\n"
        "        return self.@N",
        "held = Held(@V)",
        "float(held)",
    ),
    "__mul__": (
        "class Held:\n    def __init__(self, v):\n        self.@N = v\n    def __mul__(self, other):\n"
        "        return self.@N * other",
        "held = Held(@V)",
        "(held * 1.0)",
    ),
    "__missing__": (
        "class Held(dict):\n    def __missing__(self, key):\n        return self['hidden']",
        "held = Held(hidden=@V)",
        "held['@N']",
    ),
    "__next__": (
        "class Held:\n    def __init__(self, v):\n        self.@N = v\n    def __iter__(self):\n        return self\n"
        "    def __next__(self):\n        return self.@N",
        "held = iter(Held(@V))",
        "next(held)",
    ),
    "a descriptor": (
        "class Field:\n    def __set__(self, owner, v):\n        owner.__dict__['hidden'] = v\n"
        "    def __get__(self, owner, of=None):\n        return owner.__dict__['hidden']\n"
        "class Held:\n    @N = Field()",
        "held = Held()\nheld.@N = @V",
        "held.@N",
    ),
    "__class_getitem__": (
        "class Held:\n    kept = {}\n    def __class_getitem__(cls, key):\n        return cls.kept[key]",
        "Held.kept['@N'] = @V",
        "Held['@N']",
    ),
    "a metaclass": (
        "class Meta(type):\n    def __call__(cls, v):\n        made = super().__call__()\n        made.@N = v\n"
        "        return made\nclass Held(metaclass=Meta):\n    pass",
        "held = Held(@V)",
        "held.@N",
    ),
    "a class that is made": ("", "Held = type('Held', (), {'@N': @V})", "Held.@N"),
    "a list's subclass": (
        "class Held(list):\n    pass",
        "held = Held()\nheld.@N = @V",
        "held.@N",
    ),
    "a float's subclass": (
        "class Held(float):\n    pass",
        "held = Held(@V)\nheld.@N = 1.0",
        "held.real",
    ),
    "a fluent builder": (
        "class Held:\n    def @N(self, v):\n        self.hidden = v\n        return self",
        "held = Held().@N(@V)",
        "held.hidden",
    ),
}
PROCESS = {
    "a global": ("@N = 0.0", "global @N\n@N = @V", "@N"),
    "globals()": ("", "globals()['@N'] = @V", "globals()['@N']"),
    "globals() read": ("@N = 0.0", "globals()['@N'] = @V", "@N"),
    "the module by name": (
        "import sys",
        "setattr(sys.modules[__name__], '@N', @V)",
        "globals()['@N']",
    ),
    "exec": ("", "space = {}\nexec('@N = v', {'v': @V}, space)", "space['@N']"),
    "exec with a dict": ("", "space = {'v': @V}\nexec('@N = v * 1.0', space)", "space['@N']"),
    "eval": ("", "@N = @V", "eval('v', {'v': @N})"),
    "eval of an expression": ("", "@N = @V\nheld = eval('v + 0.0', {'v': @N})", "held"),
    "locals()": ("", "@N = @V", "locals()['@N']"),
    "a contextvar": (
        "import contextvars\nHELD = contextvars.ContextVar('@N', default=0.0)",
        "HELD.set(@V)",
        "HELD.get()",
    ),
    "a thread": (
        "import threading",
        "@N = []\nthread = threading.Thread(target=@N.append, args=(@V,))\nthread.start()\nthread.join()",
        "@N[0]",
    ),
    "a thread's function": (
        "import threading\nHELD = {}\ndef work(v):\n    HELD['@N'] = v",
        "thread = threading.Thread(target=work, args=(@V,))\nthread.start()\nthread.join()",
        "HELD['@N']",
    ),
    "a thread's local": (
        "import threading\nHELD = threading.local()",
        "HELD.@N = @V",
        "HELD.@N",
    ),
    "a future": (
        "import concurrent.futures as futures",
        "with futures.ThreadPoolExecutor(1) as pool:\n    @N = pool.submit(abs, @V).result()",
        "@N",
    ),
    "the environment": ("import os", "os.environ['@N'] = repr(@V)", "float(os.environ['@N'])"),
    "a cached function": (
        "import functools\n@functools.lru_cache(None)\ndef kept(v):\n    return v",
        "@N = kept(@V)",
        "@N",
    ),
    "a weak dict": (
        "import weakref\nclass Key:\n    pass\nHELD = weakref.WeakKeyDictionary()\nKEY = Key()",
        "HELD[KEY] = @V",
        "HELD[KEY]",
    ),
    "a log record": (
        "import logging\nclass Keep(logging.Handler):\n    kept = []\n    def emit(self, record):\n"
        "        self.kept.append(record.args[0])\nLOG = logging.getLogger('@N')\nLOG.addHandler(Keep())\n"
        "LOG.setLevel(10)\nLOG.propagate = False",
        "LOG.info('%s', @V)",
        "Keep.kept[-1]",
    ),
    "a warning": (
        "import warnings",
        "with warnings.catch_warnings(record=True) as said:\n    warnings.simplefilter('always')\n"
        "    warnings.warn(repr(@V))\n@N = float(str(said[0].message))",
        "@N",
    ),
    "an environment of a frame": (
        "import sys\ndef look():\n    return sys._getframe(1).f_locals['@N']",
        "@N = @V\nheld = look()",
        "held",
    ),
    "functools.partial": (
        "import functools\ndef same(v):\n    return v",
        "@N = functools.partial(same, @V)",
        "@N()",
    ),
    "sqlite": (
        "import sqlite3",
        "base = sqlite3.connect(':memory:')\nbase.execute('create table t (v real)')\n"
        "base.execute('insert into t values (?)', (@V,))\n@N = base.execute('select v from t').fetchone()[0]",
        "@N",
    ),
    "a file": (
        "import tempfile",
        "with tempfile.TemporaryFile('w+') as @N:\n    @N.write(repr(@V))\n    @N.seek(0)\n    held = float(@N.read())",
        "held",
    ),
}
TEXT = {
    "text": ("", "@N = str(@V)", "float(@N)"),
    "repr and eval": ("", "@N = repr(@V)", "eval(@N)"),
    "formatted text": ("", "@N = f'{@V!r}'", "float(@N)"),
    "str.format": ("", "@N = '{:.17g}'.format(@V)", "float(@N)"),
    "percent": ("", "@N = '%.17g' % @V", "float(@N)"),
    "format_map": ("", "@N = '{v!r}'.format_map({'v': @V})", "float(@N)"),
    "a template": ("import string", "@N = string.Template('$v').substitute(v=@V)", "float(@N)"),
    "hexadecimal": ("", "@N = (@V).hex()", "float.fromhex(@N)"),
    "split text": ("", "@N = f'a={@V!r};b=1'", "float(@N.split(';')[0].partition('=')[2])"),
    "a regular expression": (
        "import re",
        "@N = re.match('v(.*)', f'v{@V!r}')",
        "float(@N.group(1))",
    ),
    "json": ("import json", "held = json.dumps({'@N': @V})", "json.loads(held)['@N']"),
    "pickle": ("import pickle", "held = pickle.dumps({'@N': @V})", "pickle.loads(held)['@N']"),
    "literal_eval": ("import ast", "@N = repr([@V])", "ast.literal_eval(@N)[0]"),
    "a StringIO": ("import io", "@N = io.StringIO()\n@N.write(repr(@V))", "float(@N.getvalue())"),
    "csv": (
        "import csv, io",
        "@N = io.StringIO()\ncsv.writer(@N).writerow([@V])\n@N.seek(0)",
        "float(next(csv.reader(@N))[0])",
    ),
    "a configuration": (
        "import configparser",
        "held = configparser.ConfigParser()\nheld['a'] = {'@N': repr(@V)}",
        "held.getfloat('a', '@N')",
    ),
    "bytes": ("", "@N = repr(@V).encode()", "float(@N.decode())"),
    "printed text": (
        "import contextlib, io",
        "@N = io.StringIO()\nwith contextlib.redirect_stdout(@N):\n    print(@V)",
        "float(@N.getvalue())",
    ),
}
BINARY = {
    "struct": ("import struct", "@N = struct.pack('d', @V)", "struct.unpack('d', @N)[0]"),
    "array.array": ("import array", "@N = array.array('d', [@V])", "@N[0]"),
    "a memoryview": (
        "import array",
        "@N = memoryview(array.array('d', [0.0]))\n@N[0] = @V",
        "@N[0]",
    ),
    "ctypes": ("import ctypes", "@N = ctypes.c_double(@V)", "@N.value"),
    "a ctypes structure": (
        "import ctypes\nclass Held(ctypes.Structure):\n    _fields_ = [('@N', ctypes.c_double)]",
        "held = Held(@V)",
        "held.@N",
    ),
    "a NumPy element": ("", "@N = np.zeros(3)\n@N[1] = @V", "@N[1]"),
    "a NumPy array": ("", "@N = np.array([@V, 1.0])", "@N[0]"),
    "np.full": ("", "@N = np.full(2, @V)", "@N[0]"),
    "np.fill": ("", "@N = np.empty(2)\n@N.fill(@V)", "float(@N[0])"),
    "np.put": ("", "@N = np.zeros(2)\nnp.put(@N, [1], [@V])", "@N[1]"),
    "NumPy's out": ("", "@N = np.zeros(1)\nnp.multiply([@V], 1.0, out=@N)", "@N[0]"),
    "np.copyto": ("", "@N = np.zeros(1)\nnp.copyto(@N, @V)", "@N[0]"),
    "a structured array": (
        "",
        "held = np.zeros(1, [('@N', float)])\nheld['@N'] = @V",
        "held['@N'][0]",
    ),
    "a record array": (
        "",
        "held = np.zeros(1, [('@N', float)]).view(np.recarray)\nheld['@N'] = @V",
        "held['@N'][0]",
    ),
    "NumPy's buffer": ("", "@N = np.array([@V]).tobytes()", "np.frombuffer(@N)[0]"),
    "an object array": ("", "@N = np.empty(1, object)\n@N[0] = @V", "@N[0]"),
    "NumPy's flat": ("", "@N = np.zeros((2, 2))\n@N.flat[3] = @V", "@N[1, 1]"),
    "a transposed view": ("", "held = np.zeros((2, 3))\n@N = held.T\n@N[0, 1] = @V", "held[1, 0]"),
}
FUNCTIONS = {
    "operator.mul": ("import operator", "@N = operator.mul(@V, 1.0)", "@N"),
    "operator.itemgetter": (
        "import operator",
        "held = {'@N': @V}",
        "operator.itemgetter('@N')(held)",
    ),
    "operator.attrgetter": (
        "import operator\nclass Held:\n    pass",
        "held = Held()\nheld.@N = @V",
        "operator.attrgetter('@N')(held)",
    ),
    "operator.methodcaller": (
        "import operator\nclass Held:\n    def __init__(self, v):\n        self.v = v\n    def @N(self):\n"
        "        return self.v",
        "held = Held(@V)",
        "operator.methodcaller('@N')(held)",
    ),
    "operator.setitem": (
        "import operator",
        "held = {}\noperator.setitem(held, '@N', @V)",
        "held['@N']",
    ),
    "operator.getitem": ("import operator", "@N = [@V]", "operator.getitem(@N, 0)"),
    "sorted": ("", "@N = sorted([@V, 1e9])", "@N[0]"),
    "sorted by a key": (
        "",
        "@N = sorted([(1, @V), (2, 0.0)], key=lambda pair: pair[0])",
        "@N[0][1]",
    ),
    "min": ("", "@N = min(@V, 1e9)", "@N"),
    "max": ("", "@N = max([@V, -1e9])", "@N"),
    "min by a key": ("", "@N = min([(@V, 'a'), (1e9, 'b')], key=lambda pair: pair[1])", "@N[0]"),
    "sum": ("", "@N = sum([@V, 0.5])", "@N"),
    "abs": ("", "@N = abs(@V)", "@N"),
    "pow": ("", "@N = pow(@V, 2)", "@N"),
    "divmod": ("", "@N = divmod(@V, 100.0)", "@N[1]"),
    "round to digits": ("", "@N = round(@V, 12)", "@N"),
    "a remainder": ("", "@N = @V % 100.0", "@N"),
    "complex": ("", "@N = complex(@V, 1.0)", "@N.real"),
    "conjugate": ("", "@N = (@V).conjugate()", "@N"),
    "an integer ratio": ("", "@N = (@V).as_integer_ratio()", "@N[0] / @N[1]"),
    "math.fsum": ("import math", "@N = math.fsum([@V, 1.0])", "@N"),
    "math.frexp": ("import math", "@N = math.frexp(@V)", "math.ldexp(*@N)"),
    "math.modf": ("import math", "@N = math.modf(@V)", "(@N[0] + @N[1])"),
    "decimal": ("import decimal", "@N = decimal.Decimal(@V)", "float(@N)"),
    "fractions": ("import fractions", "@N = fractions.Fraction(@V)", "float(@N)"),
    "statistics": ("import statistics", "@N = statistics.fmean([@V, 1.0])", "@N"),
    "reduce": ("import functools", "@N = functools.reduce(lambda a, b: a + b, [@V, 1.0])", "@N"),
    "reduce by operator": (
        "import functools, operator",
        "@N = functools.reduce(operator.mul, [@V, 2.0])",
        "@N",
    ),
    "map": ("", "@N = list(map(lambda v: 2.0 * v, [@V]))", "@N[0]"),
    "map of a builtin": ("", "@N = [*map(abs, [@V])]", "@N[0]"),
    "filter": ("", "@N = list(filter(lambda v: True, [@V]))", "@N[0]"),
    "zip": ("", "@N = list(zip(['a'], [@V]))", "@N[0][1]"),
    "enumerate": ("", "@N = [v for i, v in enumerate([@V])]", "@N[0]"),
    "reversed": ("", "@N = list(reversed([1.0, @V]))", "@N[0]"),
    "itertools.accumulate": (
        "import itertools",
        "@N = [*itertools.accumulate([1.0, @V])]",
        "@N[-1]",
    ),
    "itertools.chain": ("import itertools", "@N = [*itertools.chain([1.0], [@V])]", "@N[-1]"),
    "itertools.repeat": ("import itertools", "@N = next(itertools.repeat(@V))", "@N"),
    "itertools.starmap": ("import itertools", "@N = [*itertools.starmap(pow, [(@V, 2)])]", "@N[0]"),
    "copy": ("import copy", "@N = copy.copy([@V])", "@N[0]"),
    "deepcopy": ("import copy", "@N = copy.deepcopy({'a': [@V]})", "@N['a'][0]"),
    "an if expression": ("", "@N = @V if True else 0.0", "@N"),
    "or": ("", "@N = @V or 1.0", "@N"),
    "a while loop": ("", "@N, k = 0.0, 0\nwhile k < 2:\n    @N += @V\n    k += 1", "@N"),
    "recursion": (
        "def deep(v, k):\n    return v if k == 0 else deep(v * 1.0, k - 1)",
        "@N = deep(@V, 5)",
        "@N",
    ),
    "a decorator": (
        "def doubled(g):\n    def wrapper(v):\n        return 2.0 * g(v)\n    return wrapper\n"
        "@doubled\ndef same(v):\n    return v",
        "@N = same(@V)",
        "@N",
    ),
    "singledispatch": (
        "import functools\n@functools.singledispatch\ndef same(v):\n    return v",
        "@N = same(@V)",
        "@N",
    ),
    "np.interp": ("", "@N = np.interp(@V, [-100.0, 100.0], [-100.0, 100.0])", "@N"),
    "np.sum": ("", "@N = np.sum([@V, 1.0])", "@N"),
    "np.sort": ("", "@N = np.sort([@V, 1e9])", "@N[0]"),
    "np.take": ("", "@N = np.take([1.0, @V], 1)", "@N"),
    "np.where": ("", "@N = np.where(True, @V, 0.0)", "@N"),
    "np.vectorize": ("", "@N = np.vectorize(lambda v: 2.0 * v)([@V])", "@N[0]"),
    "np.polyval": ("", "@N = np.polyval([1.0, 2.0], @V)", "@N"),
}
HOLDERS = {**LOCAL, **CONTAINERS, **OBJECTS, **PROCESS, **TEXT, **BINARY, **FUNCTIONS}
