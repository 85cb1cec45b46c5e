# ruff: noqa: E501 -- a table
"""Ways to hold Python state, to read it and to change it: programs are drawn from them.

A program is a module's text: something that carries a number, a place where the function finds it, and a
route by which the number is read.  Each has its own changes: statements that run in the module between
calls, with a number in the place of ``{v}``.  The carrier that was made last is ``made[-1]``.
"""

from typing import NamedTuple


class Carrier(NamedTuple):
    """Something that carries a number.

    text : definitions, with a function ``make``.  read : an expression of the carrier ``c``.
    """

    text: str
    read: str
    changes: tuple[str, ...] = ()


class Place(NamedTuple):
    """A place where the function finds a carrier.

    text : definitions.  get : an expression in the function.  changes : statements.
    """

    text: str
    get: str
    changes: tuple[str, ...] = ()


class Route(NamedTuple):
    """A way by which a carrier ``c`` is read: ``{read}`` stands for the reading expression.

    text : definitions.  value : an expression of ``c``.  changes : statements.
    """

    text: str
    value: str
    changes: tuple[str, ...] = ()


PLAIN = """\
class C:
    shared = 1.0
    def __init__(self, v):
        self.rate = v
    def method(self):
        return self.rate * self.shared
    @property
    def prop(self):
        return self.rate * self.shared
def make(v):
    made.append(C(v))
    return made[-1]
"""
ON_OBJECT = (
    "made[-1].rate = {v}",
    "setattr(made[-1], 'rate', {v})",
    "made[-1].__dict__['rate'] = {v}",
    "vars(made[-1]).update(rate={v})",
    "object.__setattr__(made[-1], 'rate', {v})",
)
ON_CLASS = ("C.shared = {v}", "setattr(C, 'shared', {v})", "made[-1].shared = {v}")
ON_METHOD = (
    *ON_OBJECT, *ON_CLASS,
    "C.method = lambda self: {v}",
    "made[-1].method = lambda: {v}",
    "C.method = D.method",
    "made[-1].__class__ = D",
    "C.__bases__ = (E,); del C.method",
)  # fmt: skip
OTHERS = """\
class E:
    def method(self):
        return 11.0
    prop = 11.0
class Base(E):
    pass
"""
METHODS = (
    OTHERS
    + PLAIN.replace("class C:", "class C(Base):")
    + """\
class D(C):
    def method(self):
        return self.rate + 13.0
    @property
    def prop(self):
        return self.rate + 13.0
"""
)


def given(make, body=""):
    """The text of a carrier that one expression makes."""
    return f"{body}\ndef make(v):\n    made.append({make})\n    return made[-1]\n"


def class_of(*lines):
    body = "\n    ".join(lines)
    return f"class C:\n    {body}\ndef make(v):\n    made.append(C(v))\n    return made[-1]\n"


INIT = ("def __init__(self, v):", "    self.rate = v")
CARRIERS = {
    "a number": Carrier(given("v"), "c"),
    "a list": Carrier(
        given("[v]"), "c[0]", ("made[-1][0] = {v}", "made[-1][:] = [{v}]", "made[-1].insert(0, {v})"),
    ),
    "a dict": Carrier(
        given("{'rate': v}"), "c['rate']", ("made[-1]['rate'] = {v}", "made[-1].update(rate={v})"),
    ),
    "a dict by a default": Carrier(
        given("{'other': v}"), "c.get('rate', 1.0) * c['other']",
        ("made[-1]['rate'] = {v}", "made[-1]['other'] = {v}"),
    ),
    "an ndarray": Carrier(given("np.array([v])"), "c", ("made[-1][0] = {v}", "made[-1].fill({v})")),
    "a view": Carrier(
        given("base[:1]", "base = np.array([2.0, 1.0])"), "c", ("base[0] = {v}", "base *= {v}"),
    ),
    "an Array": Carrier(given("xp.asarray([v])"), "c", ("made[-1][0] = {v}", "made[-1] *= {v}")),
    "a ctypes number": Carrier(
        given("ctypes.c_double(v)", "import ctypes"), "c.value", ("made[-1].value = {v}",),
    ),
    "a StringIO": Carrier(
        given("io.StringIO(str(v))", "import io"), "float(c.getvalue())",
        ("made[-1].seek(0); made[-1].truncate(); made[-1].write(str({v}))",),
    ),
    "a BytesIO": Carrier(
        given("io.BytesIO(str(v).encode())", "import io"), "float(c.getvalue())",
        ("made[-1].seek(0); made[-1].truncate(); made[-1].write(str({v}).encode())",),
    ),
    "a bytearray": Carrier(given("bytearray([int(v)])"), "c[0]", ("made[-1][0] = int({v})",)),
    "a set": Carrier(given("{v}"), "sum(c)", ("made[-1].add({v} + 1)", "made[-1].clear()")),
    "a deque": Carrier(
        given("collections.deque([v], 1)"), "c[0]", ("made[-1].append({v})", "made[-1][0] = {v}"),
    ),
    "a list that is iterated over": Carrier(
        given("[v]"), "sum(y for y in c)", ("made[-1].append({v})", "made[-1].clear()"),
    ),
    "a subclass of dict": Carrier(
        given("Odd(rate=v)", "class Odd(dict):\n    def __missing__(self, key):\n        return self.rest\n    rest = 3.0"),
        "c['rate'] * c['none']",
        ("made[-1]['rate'] = {v}", "Odd.rest = {v}", "made[-1].rest = {v}", "made[-1]['none'] = {v}"),
    ),
    "a subclass of list": Carrier(
        given("Odd([v])", "class Odd(list):\n    pass"), "c[0]",
        ("made[-1][0] = {v}", "Odd.__getitem__ = lambda self, i: {v}"),
    ),
    "a subclass of float": Carrier(
        given("Odd(v)", "class Odd(float):\n    scale = 1.0"), "float(c) * c.scale",
        ("made[-1].scale = {v}", "Odd.scale = {v}"),
    ),
    "a subclass of str": Carrier(
        given("Odd(v)", "class Odd(str):\n    scale = 1.0"), "float(c) * c.scale",
        ("made[-1].scale = {v}", "Odd.scale = {v}", "Odd.__float__ = lambda self: {v}"),
    ),
    "a Counter": Carrier(
        given("collections.Counter(rate=int(v))"), "c['rate']", ("made[-1].update(rate=3)",),
    ),
    "a UserDict": Carrier(
        given("collections.UserDict(rate=v)"), "c['rate']",
        ("made[-1]['rate'] = {v}", "made[-1].data = {{'rate': {v}}}"),
    ),
    "a ChainMap": Carrier(
        given("collections.ChainMap({}, {'rate': v})"), "c['rate']",
        ("made[-1]['rate'] = {v}", "made[-1].maps.insert(0, {{'rate': {v}}})"),
    ),
    "a proxy of a mapping": Carrier(
        given("types.MappingProxyType(under)", "under = {'rate': 2.0}"), "c['rate']",
        ("under['rate'] = {v}",),
    ),
    "a namespace": Carrier(given("types.SimpleNamespace(rate=v)"), "c.rate", ON_OBJECT[:4]),
    "an object": Carrier(PLAIN, "c.rate * c.shared", (*ON_OBJECT, *ON_CLASS)),
    "an object's method": Carrier(METHODS, "c.method()", ON_METHOD),
    "an object's property": Carrier(
        METHODS, "c.prop",
        (*ON_OBJECT, *ON_CLASS, "C.prop = D.prop", "C.prop = property(lambda self: {v})",
         "made[-1].__class__ = D", "del C.prop"),
    ),
    "getattr by a tuple of names": Carrier(
        METHODS + "NAMES = 'rate', 'shared', 'prop'",
        "getattr(c, NAMES[0]) * getattr(c, NAMES[1]) * getattr(c, NAMES[2])",
        (*ON_METHOD, "C.prop = D.prop"),
    ),
    "getattr by a name that is put together": Carrier(
        METHODS, "getattr(c, 'sha' + chr(114) + f'{\"e\" + chr(100)}') * getattr(c, ''.join(['met', 'hod']))()",
        ON_METHOD,
    ),
    "attrgetter and methodcaller": Carrier(
        METHODS, "operator.attrgetter('shared')(c) * operator.methodcaller('method')(c)", ON_METHOD,
    ),
    "getters that were made before": Carrier(
        METHODS + "\nATTRIBUTE, METHOD = operator.attrgetter('sha' + 'red'), operator.methodcaller('met' + 'hod')",
        "ATTRIBUTE(c) * METHOD(c)", (*ON_METHOD, "ATTRIBUTE = operator.attrgetter('rate')"),
    ),
    "vars": Carrier(PLAIN + "\nNAME = 'rate'", "vars(c)[NAME]", ON_OBJECT),
    "vars of the class": Carrier(
        PLAIN, "vars(type(c))['sha' + chr(114) + 'ed']", ("C.shared = {v}", "setattr(C, 'shared', {v})"),
    ),
    "__dict__ by a name": Carrier(
        PLAIN, "c.__dict__[''.join(['ra', 'te'])] * type(c).__dict__['sha' + chr(114) + 'ed']",
        (*ON_OBJECT, "C.shared = {v}"),
    ),
    "a name in an attribute": Carrier(
        PLAIN.replace("shared = 1.0", "shared = 1.0; field = 'rate'; spare = 4.0"), "getattr(c, c.field)",
        (*ON_OBJECT, "C.field = 'spare'", "made[-1].field = 'shared'"),
    ),
    "a name by a split": Carrier(
        PLAIN, "getattr(c, 'rate shared'.split()[1]) * getattr(c, 'no rate'.split()[1])",
        (*ON_OBJECT, *ON_CLASS),
    ),
    "a format's name": Carrier(
        PLAIN, "float('{0.rate}'.format(c)) * float('{0.shared}'.format(c))", (*ON_OBJECT, *ON_CLASS),
    ),
    "a match by attributes": Carrier(
        PLAIN.replace("shared = 1.0", "shared = 1.0; __match_args__ = ('rate',)")
        + "def matched(c):\n    match c:\n        case C(r, shared=s):\n            return r * s\n",
        "matched(c)", (*ON_OBJECT, *ON_CLASS, "C.__match_args__ = ('shared',)"),
    ),
    "slots": Carrier(
        class_of("__slots__ = 'rate', '__weakref__'", *INIT), "c.rate",
        ("made[-1].rate = {v}", "setattr(made[-1], 'rate', {v})", "C.rate.__set__(made[-1], {v})"),
    ),
    "private names": Carrier(
        class_of(*INIT, "    self.__own = v", "def get(self):", "    return self.__own"), "c.get()",
        ("made[-1]._C__own = {v}", "C.get = lambda self: {v}"),
    ),
    "__getattr__": Carrier(
        class_of(*INIT, "    self.parts = {'far': v}", "def __getattr__(self, name):",
                 "    return self.parts[name]"),
        "c.far",
        ("made[-1].parts['far'] = {v}", "made[-1].far = {v}", "C.far = {v}",
         "C.__getattr__ = lambda self, name: {v}"),
    ),
    "__getattribute__": Carrier(
        class_of("parts = {'far': 3.0}", *INIT, "def __getattribute__(self, name):",
                 "    return C.parts[name]"),
        "c.far", ("C.parts['far'] = {v}", "C.parts = {{'far': {v}}}"),
    ),
    "a descriptor": Carrier(
        "class Far:\n    scale = 1.0\n    def __init__(self, v):\n        self.v = v\n"
        "    def __get__(self, o, cls):\n        return self.v * self.scale\n"
        + class_of("far = Far(3.0)", *INIT),
        "c.far",
        ("C.__dict__['far'].v = {v}", "Far.scale = {v}", "C.far = Far({v})", "C.far = {v}",
         "made[-1].far = {v}", "Far.__get__ = lambda self, o, cls: {v}"),
    ),
    "a descriptor with a name": Carrier(
        "class Far:\n    def __set_name__(self, cls, name):\n        self.name = '_' + name\n"
        "    def __get__(self, o, cls):\n        return getattr(o, self.name)\n"
        "    def __set__(self, o, v):\n        setattr(o, self.name, v)\n"
        + class_of("far = Far()", "def __init__(self, v):", "    self.far = v"),
        "c.far", ("made[-1].far = {v}", "made[-1]._far = {v}", "C.__dict__['far'].name = 'rest'; C.rest = {v}"),
    ),
    "a cached property": Carrier(
        class_of(*INIT, "@functools.cached_property", "def far(self):", "    return self.rate + 1"),
        "c.far", ("made[-1].rate = {v}; del made[-1].far", "made[-1].far = {v}"),
    ),
    "a class method": Carrier(
        class_of("shared = 2.0", *INIT, "@classmethod", "def far(cls):", "    return cls.shared"),
        "c.far()", ("C.shared = {v}", "C.far = classmethod(lambda cls: {v})"),
    ),
    "a static method's default": Carrier(
        class_of(*INIT, "@staticmethod", "def far(v=[2.0]):", "    return v[0]"),
        "c.far()", ("C.far.__defaults__[0][0] = {v}", "C.far.__defaults__ = ([{v}],)",
                    "C.far = staticmethod(lambda: {v})"),
    ),
    "a dataclass": Carrier(
        "@dataclasses.dataclass\nclass C:\n    rate: float\n    more: list = dataclasses.field(default_factory=list)\n"
        "    plain: float = 1.0\n" + given("C(v, [1.0])"),
        "c.rate * c.more[0] * c.plain",
        ("made[-1].rate = {v}", "made[-1].more[0] = {v}", "made[-1].plain = {v}"),
    ),
    "fields of a dataclass": Carrier(
        "@dataclasses.dataclass\nclass C:\n    rate: float\n    more: float = 1.0\n" + given("C(v)"),
        "sum(dataclasses.asdict(c).values()) + sum(getattr(c, o.name) for o in dataclasses.fields(c))",
        ("made[-1].rate = {v}", "made[-1].more = {v}", "C.__dataclass_fields__.pop('more', None)"),
    ),
    "a frozen dataclass": Carrier(
        "@dataclasses.dataclass(frozen=True)\nclass C:\n    rate: float\n" + given("C(v)"),
        "c.rate", ("object.__setattr__(made[-1], 'rate', {v})",),
    ),
    "a named tuple": Carrier(
        given("T(v, [1.0])", "T = collections.namedtuple('T', 'rate more')"), "c.rate * c.more[0]",
        ("made[-1].more[0] = {v}", "T.rate = property(lambda self: {v})"),
    ),
    "an enum's member": Carrier(
        "import enum\nclass E(enum.Enum):\n    ONE = 2.0\n    TWO = 3.0\n    def twice(self):\n        return 2 * self.value * more[0]\n"
        "more = [1.0]\n" + given("E.ONE"),
        "c.value + c.twice() + E['TWO'].value",
        ("E.ONE._value_ = {v}", "more[0] = {v}", "E.twice = lambda self: {v}", "E.TWO._value_ = {v}"),
    ),
    "a partial": Carrier(
        given("functools.partial(lambda a, b: a[0] * b, [v], b=1.0)"), "c()",
        ("made[-1].args[0][0] = {v}", "made[-1].keywords['b'] = {v}"),
    ),
    "a closure": Carrier(
        "def outer(v):\n    def get():\n        return v\n    def put(w):\n        nonlocal v\n        v = w\n"
        "    get.put = put\n    return get\n" + given("outer(v)"),
        "c()", ("made[-1].put({v})", "made[-1].__closure__[0].cell_contents = {v}",
                "made[-1].__code__ = (lambda v: lambda: 3 * v)(1).__code__"),
    ),
    "a function's attribute": Carrier(
        given("far(v)", "def far(v):\n    def g():\n        return g.rate\n    g.rate = v\n    return g\n"),
        "c()", ("made[-1].rate = {v}",),
    ),
    "a function's defaults": Carrier(
        given("far(v)", "def far(v):\n    def g(a=[v], *, b=1.0):\n        return a[0] * b\n    return g\n"),
        "c()", ("made[-1].__defaults__[0][0] = {v}", "made[-1].__defaults__ = ([{v}],)",
                "made[-1].__kwdefaults__ = {{'b': {v}}}"),
    ),
    "a bound method": Carrier(
        METHODS + given("C(v).method"), "c()",
        ("made[-1].__self__.rate = {v}", "C.shared = {v}"),
    ),
    "an exception": Carrier(
        given("ValueError([v])"), "c.args[0][0]", ("made[-1].args[0][0] = {v}", "made[-1].args = ([{v}],)"),
    ),
    "a context variable": Carrier(
        given("var(v)", "import contextvars\ndef var(v):\n    one = contextvars.ContextVar('one')\n    one.set(v)\n    return one\n"),
        "c.get()", ("made[-1].set({v})",),
    ),
    "a copied context": Carrier(
        given("var(v)", "import contextvars\nONE = contextvars.ContextVar('one')\ndef var(v):\n"
              "    ONE.set(v)\n    return contextvars.copy_context()\n"),
        "c[ONE]", ("made[-1].run(ONE.set, {v})",),
    ),
    "a local of threads": Carrier(
        given("local(v)", "import threading\ndef local(v):\n    one = threading.local()\n    one.rate = v\n    return one\n"),
        "c.rate", ("made[-1].rate = {v}",),
    ),
    "a random generator's seed": Carrier(
        given("np.random.RandomState(int(v))"), "c.get_state()[1][0] * 1e-9", ("made[-1].seed(int({v}))",),
    ),
    "a weak reference": Carrier(
        PLAIN.replace("made.append(C(v))", "held.append(C(v)); made.append(weakref.ref(held[-1]))")
        + "held = []\n",
        "getattr(c(), 'rate', 4.0)", ("held[-1].rate = {v}", "held.clear()"),
    ),
    "a weak proxy": Carrier(
        PLAIN.replace("made.append(C(v))", "held.append(C(v)); made.append(weakref.proxy(held[-1]))")
        + "held = []\n",
        "c.rate * c.shared", ("held[-1].rate = {v}", "C.shared = {v}"),
    ),
    "a document string": Carrier(
        "def far(v):\n    def g():\n        pass\n    g.__doc__ = str(v)\n    return g\n" + given("far(v)"),
        "float(c.__doc__)", ("made[-1].__doc__ = str({v})",),
    ),
    "a class's document string": Carrier(
        "def far(v):\n    class G:\n        __doc__ = str(v)\n    return G\n" + given("far(v)"),
        "float(c.__doc__)", ("made[-1].__doc__ = str({v})",),
    ),
    "annotations": Carrier(
        "def far(v):\n    class G:\n        __annotations__ = {'a': v}\n    return G\n" + given("far(v)"),
        "c.__annotations__['a']", ("made[-1].__annotations__['a'] = {v}", "made[-1].__annotations__ = {{'a': {v}}}"),
    ),
    "a class's name": Carrier(
        "def far(v):\n    return type('v' + str(v), (), {})\n" + given("far(v)"), "float(c.__name__[1:])",
        ("made[-1].__name__ = 'v' + str({v})",),
    ),
    "the name of an object's class": Carrier(
        "def far(v):\n    return type('v' + str(v), (), {})()\n" + given("far(v)"), "float(type(c).__name__[1:])",
        ("type(made[-1]).__name__ = 'v' + str({v})",),
    ),
    "a parameter's default by inspect": Carrier(
        "import inspect\ndef far(v):\n    def g(a=v):\n        pass\n    return g\n" + given("far(v)"),
        "inspect.signature(c).parameters['a'].default", ("made[-1].__defaults__ = ({v},)",),
    ),
    "a function that is wrapped": Carrier(
        "def far(v):\n    def h():\n        return h.rate\n    h.rate = v\n    @functools.wraps(h)\n    def g():\n        return 0.0\n    return g\n"
        + given("far(v)"), "c.__wrapped__()", ("made[-1].__wrapped__.rate = {v}", "made[-1].__wrapped__ = lambda: {v}"),
    ),
    "a configuration file": Carrier(
        given("parsed(v)", "import configparser\ndef parsed(v):\n    one = configparser.ConfigParser()\n    one['a'] = {'rate': str(v)}\n    return one\n"),
        "c.getfloat('a', 'rate')", ("made[-1]['a']['rate'] = str({v})",),
    ),
    "defaults of a named tuple": Carrier(
        "import typing\nclass T(typing.NamedTuple):\n    rate: float = 2.0\n" + given("T"), "c().rate",
        ("T.__new__.__defaults__ = ({v},)", "T.rate = property(lambda self: {v})"),
    ),
    "a default of a dataclass": Carrier(
        "@dataclasses.dataclass\nclass C:\n    rate: float = 2.0\n    more: list = dataclasses.field(default_factory=lambda: [MORE])\nMORE = 1.0\n" + given("C"),
        "c().rate * c().more[0]", ("C.__init__.__defaults__ = ({v}, *C.__init__.__defaults__[1:])", "MORE = {v}"),
    ),
    "an enum by a value": Carrier(
        "import enum\nclass E(enum.Enum):\n    ONE = 2.0\n    @classmethod\n    def _missing_(cls, v):\n        return cls.ONE if OTHER[0] > 4 else None\nOTHER = [5.0]\n" + given("E"),
        "c('none').value", ("E.ONE._value_ = {v}", "E._missing_ = classmethod(lambda cls, v: E.ONE); E.ONE._value_ = {v}"),
    ),
    "a protocol": Carrier(
        "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n    rate: float\nclass C:\n    pass\n" + given("C()"),
        "3.0 + isinstance(c, P)", ("made[-1].rate = {v}", "C.rate = {v}"),
    ),
    "an abstract class's register": Carrier(
        "import numbers\nclass C:\n    pass\n" + given("C()"), "3.0 + isinstance(c, numbers.Number)", ("numbers.Number.register(C)",),
    ),
    "closures in a list": Carrier(
        "def far(v):\n    return [lambda: PARTS[0] * v, lambda: v]\nPARTS = [1.0]\n" + given("far(v)"), "c[0]() + c[-1]()",
        ("PARTS[0] = {v}", "made[-1][1] = lambda: {v}", "made[-1].reverse(); PARTS[0] = {v}"),
    ),
    "a mock": Carrier(
        given("mock.Mock(rate=v, **{'far.return_value': v})", "from unittest import mock"),
        "c.rate * c.far.return_value", ("made[-1].rate = {v}", "made[-1].far.return_value = {v}"),
    ),
}  # fmt: skip
RENEW = "HELD = make({v})"
PLACES = {
    "a global": Place("HELD = make(2.0)", "HELD", (RENEW, "globals()['HELD'] = make({v})")),
    "globals()": Place("HELD = make(2.0)", "globals()['HELD']", (RENEW,)),
    "globals() by a name": Place(
        "HELD = make(2.0)\nOTHER = make(3.0)\nNAME = 'HELD'", "globals()[NAME]", (RENEW, "NAME = 'OTHER'"),
    ),
    "globals() by a name that is put together": Place(
        "HELD = make(2.0)", "globals()['HE' + chr(76) + 'D']", (RENEW,),
    ),
    "eval": Place("HELD = make(2.0)\nNAME = 'HELD'", "eval(NAME)", (RENEW,)),
    "eval of what is put together": Place("HELD = make(2.0)", "eval('HE' + chr(76) + 'D')", (RENEW,)),
    "vars of a module": Place(
        "HELD = make(2.0)", "vars(sys.modules[__name__])['HE' + chr(76) + 'D']", (RENEW,),
    ),
    "the globals of a function": Place(
        "HELD = make(2.0)", "make.__globals__['HE' + chr(76) + 'D']", (RENEW,),
    ),
    "the caller's frame": Place("HELD = make(2.0)", "sys._getframe(0).f_globals['HE' + chr(76) + 'D']", (RENEW,)),
    "a closure": Place(
        "def around():\n    held = make(2.0)\n    def get():\n        return held\n"
        "    def put(c):\n        nonlocal held\n        held = c\n    return get, put\nget, put = around()",
        "get()", ("put(make({v}))", "get.__closure__[0].cell_contents = make({v})"),
    ),
    "a default": Place(
        "def get(c=make(2.0)):\n    return c", "get()",
        ("get.__defaults__ = (make({v}),)", "def get(c=make({v})):\n    return c"),
    ),
    "a default by keyword": Place(
        "def get(*, c=make(2.0)):\n    return c", "get()",
        ("get.__kwdefaults__['c'] = make({v})", "get.__kwdefaults__ = {{'c': make({v})}}"),
    ),
    "an object": Place("class H:\n    pass\nH = H()\nH.held = make(2.0)", "H.held", ("H.held = make({v})",)),
    "an object by a name": Place(
        "class H:\n    pass\nH = H()\nH.held = make(2.0)\nNAME = ['held']", "getattr(H, NAME[0])",
        ("setattr(H, 'held', make({v}))", "H.other = make({v}); NAME[0] = 'other'"),
    ),
    "a class": Place("class H:\n    held = make(2.0)", "H.held", ("H.held = make({v})",)),
    "a class by a name": Place(
        "class H:\n    held = make(2.0)", "getattr(H, 'he' + chr(108) + 'd')",
        ("H.held = make({v})", "setattr(H, 'held', make({v}))"),
    ),
    "a base class": Place(
        "class B:\n    held = make(2.0)\nclass H(B):\n    pass", "H().held",
        ("B.held = make({v})", "H.held = make({v})",
         "class B2:\n    held = make({v})\nclass H(B2):\n    pass"),
    ),
    "a metaclass": Place(
        "class M(type):\n    held = make(2.0)\nclass H(metaclass=M):\n    pass", "H.held",
        ("M.held = make({v})", "H.held = make({v})", "type.__setattr__(H, 'held', make({v}))"),
    ),
    "a metaclass's __call__": Place(
        "class M(type):\n    held = make(2.0)\n    def __call__(cls):\n        return cls.held\n"
        "class H(metaclass=M):\n    pass",
        "H()", ("M.held = make({v})", "H.held = make({v})", "M.__call__ = lambda cls: OTHER\nOTHER = make({v})"),
    ),
    "a metaclass's __getitem__": Place(
        "class M(type):\n    parts = {'k': make(2.0)}\n    def __getitem__(cls, k):\n        return cls.parts[k]\n"
        "class H(metaclass=M):\n    pass",
        "H['k']", ("M.parts['k'] = make({v})", "M.parts = {{'k': make({v})}}"),
    ),
    "a metaclass's __getattr__": Place(
        "class M(type):\n    def __getattr__(cls, name):\n        return PARTS[name]\n"
        "class H(metaclass=M):\n    pass\nPARTS = {'far': make(2.0)}",
        "H.far", ("PARTS['far'] = make({v})", "H.far = make({v})"),
    ),
    "__new__": Place(
        "class H:\n    one = None\n    def __new__(cls):\n        if cls.one is None:\n"
        "            cls.one = super().__new__(cls)\n            cls.one.held = make(2.0)\n        return cls.one\nH()",
        "H().held", ("H().held = make({v})", "H.one = None; H().held = make({v})"),
    ),
    "__new__ that gives another": Place(
        "class H:\n    def __new__(cls):\n        return STORE[0]\nSTORE = [make(2.0)]",
        "H()", ("STORE[0] = make({v})",),
    ),
    "__class_getitem__": Place(
        "class H:\n    parts = {'k': make(2.0)}\n    def __class_getitem__(cls, k):\n        return cls.parts[k]",
        "H['k']", ("H.parts['k'] = make({v})", "H.parts = {{'k': make({v})}}",
                   "H.__class_getitem__ = classmethod(lambda cls, k: OTHER)\nOTHER = make({v})"),
    ),
    "__init_subclass__": Place(
        "class H:\n    known = []\n    def __init_subclass__(cls, **more):\n        cls.held = STORE[0]\n"
        "STORE = [make(2.0)]",
        "type('G', (H,), {}).held", ("STORE[0] = make({v})", "H.__init_subclass__ = classmethod(lambda cls: setattr(cls, 'held', OTHER))\nOTHER = make({v})"),
    ),
    "a registry of subclasses": Place(
        "class H:\n    known = {}\n    def __init_subclass__(cls, **more):\n        H.known['last'] = cls\n"
        "class G(H):\n    held = make(2.0)",
        "H.known['last'].held", ("class G2(H):\n    held = make({v})", "G.held = make({v})"),
    ),
    "__subclasses__": Place(
        "class H:\n    pass\nclass G(H):\n    held = make(2.0)", "H.__subclasses__()[-1].held",
        ("class G2(H):\n    held = make({v})", "G.held = make({v})"),
    ),
    "the method resolution order": Place(
        "class B:\n    held = make(2.0)\nclass H(B):\n    pass", "H.__mro__[1].held",
        ("B.held = make({v})", "class B2:\n    held = make({v})\nH.__bases__ = (B2,)"),
    ),
    "super()": Place(
        "class B:\n    def get(self):\n        return self.held\n    held = make(2.0)\n"
        "class H(B):\n    def get(self):\n        return super().get()",
        "H().get()", ("B.held = make({v})", "B.get = lambda self: OTHER\nOTHER = make({v})"),
    ),
    "a registry by a decorator": Place(
        "KNOWN = {}\ndef register(f):\n    KNOWN['k'] = f\n    return f\n@register\ndef get():\n    return STORE[0]\n"
        "STORE = [make(2.0)]",
        "KNOWN['k']()", ("STORE[0] = make({v})", "@register\ndef get2():\n    return OTHER\nOTHER = make({v})"),
    ),
    "singledispatch": Place(
        "@functools.singledispatch\ndef get(o):\n    return None\n@get.register\ndef _(o: int):\n    return STORE[0]\n"
        "STORE = [make(2.0)]",
        "get(1)",
        ("STORE[0] = make({v})", "get.register(int, lambda o: OTHER)\nOTHER = make({v})",
         "get.register(bool, lambda o: None); get.register(int, lambda o: OTHER)\nOTHER = make({v})"),
    ),
    "singledispatchmethod": Place(
        "class H:\n    @functools.singledispatchmethod\n    def get(self, o):\n        return STORE[0]\nSTORE = [make(2.0)]",
        "H().get(1)", ("STORE[0] = make({v})", "H.__dict__['get'].register(int, lambda self, o: OTHER)\nOTHER = make({v})"),
    ),
    "lru_cache": Place(
        "@functools.lru_cache\ndef get():\n    return STORE[0]\nSTORE = [make(2.0)]", "get()",
        ("STORE[0] = make({v}); get.cache_clear()", "get.cache_clear(); STORE[0] = make({v}); get()"),
    ),
    "lru_cache by a key": Place(
        "@functools.lru_cache(maxsize=8)\ndef get(key):\n    return make(2.0)\nget('a')", "get('a')", (),
    ),
    "a cached method": Place(
        "class H:\n    @functools.cache\n    def get(self):\n        return make(2.0)\nH = H()\nH.get()", "H.get()", (),
    ),
    "a partial": Place(
        "get = functools.partial(lambda c: c[0], [make(2.0)])", "get()",
        ("get.args[0][0] = make({v})", "get = functools.partial(lambda c: c, make({v}))"),
    ),
    "a partialmethod": Place(
        "class H:\n    def of(self, name):\n        return STORE[name]\n    get = functools.partialmethod(of, 'k')\n"
        "STORE = {'k': make(2.0)}", "H().get()",
        ("STORE['k'] = make({v})", "STORE['j'] = make({v}); H.get = functools.partialmethod(H.of, 'j')"),
    ),
    "a module": Place(
        "settings = module('settings')\nsettings.held = make(2.0)", "settings.held", ("settings.held = make({v})",),
    ),
    "a module by a name": Place(
        "settings = module('settings')\nsettings.held = make(2.0)", "getattr(settings, 'he' + chr(108) + 'd')",
        ("settings.held = make({v})", "setattr(settings, 'held', make({v}))"),
    ),
    "a module's __getattr__": Place(
        "settings = module('settings')\nsettings.__getattr__ = lambda name: STORE[name]\nSTORE = {'far': make(2.0)}",
        "settings.far", ("STORE['far'] = make({v})", "settings.far = make({v})"),
    ),
    "import_module": Place(
        "import importlib\nsettings = module('settings')\nsettings.held = make(2.0)\nNAME = settings.__name__",
        "importlib.import_module(NAME).held", ("settings.held = make({v})",),
    ),
    "import_module by a name that is put together": Place(
        "import importlib\nmodule('settings').held = make(2.0)",
        "importlib.import_module(__name__ + '_' + 'settings').held",
        ("sys.modules[__name__ + '_settings'].held = make({v})",),
    ),
    "__import__": Place(
        "module('settings').held = make(2.0)", "__import__(__name__ + '_' + 'settings').held",
        ("sys.modules[__name__ + '_settings'].held = make({v})",),
    ),
    "sys.modules": Place(
        "module('settings').held = make(2.0)", "sys.modules[__name__ + '_settings'].held",
        ("sys.modules[__name__ + '_settings'].held = make({v})", "module('settings').held = make({v})"),
    ),
    "a name that pkgutil resolves": Place(
        "import pkgutil\nmodule('settings').held = make(2.0)", "pkgutil.resolve_name(__name__ + '_settings:held')",
        ("sys.modules[__name__ + '_settings'].held = make({v})",),
    ),
    "builtins": Place(
        "import builtins\nbuiltins.HELD_IN_BUILTINS = make(2.0)", "HELD_IN_BUILTINS",
        ("builtins.HELD_IN_BUILTINS = make({v})", "HELD_IN_BUILTINS = make({v})"),
    ),
    "a builtin that is hidden": Place(
        "STORE = [make(2.0)]", "(lambda c: abs(c))(STORE)[0]",
        ("STORE[0] = make({v})", "abs = lambda c: [OTHER]\nOTHER = make({v})"),
    ),
    "a patched function of Python's": Place(
        "import statistics\nBEFORE = statistics.mean\nHELD = make(2.0)\nstatistics.mean = lambda c: HELD", "statistics.mean([1.0])",
        ("HELD = make({v})", "statistics.mean = lambda c: OTHER\nOTHER = make({v})"),
    ),
    "an attribute of a module of Python's": Place(
        "import colorsys\ncolorsys.held = make(2.0)", "colorsys.held", ("colorsys.held = make({v})",),
    ),
    "a class of Python's": Place(
        "import fractions\nfractions.Fraction.held = make(2.0)", "fractions.Fraction.held",
        ("fractions.Fraction.held = make({v})",),
    ),
    "a logger": Place(
        "import logging\nlogging.getLogger('drawn').held = make(2.0)", "logging.getLogger('drawn').held",
        ("logging.getLogger('drawn').held = make({v})",),
    ),
    "the thread": Place(
        "import threading\nthreading.current_thread().held = make(2.0)", "threading.current_thread().held",
        ("threading.current_thread().held = make({v})",),
    ),
    "a context variable": Place(
        "import contextvars\nVAR = contextvars.ContextVar('VAR')\nVAR.set(make(2.0))", "VAR.get()",
        ("VAR.set(make({v}))", "TOKEN = VAR.set(make({v})); VAR.reset(TOKEN); VAR.set(make({v}))"),
    ),
    "a context variable's default": Place(
        "import contextvars\nVAR = contextvars.ContextVar('VAR', default=make(2.0))", "VAR.get()",
        ("VAR.set(make({v}))",),
    ),
    "a weak reference": Place(
        "class H:\n    pass\nFALLBACK = H()\nKEEP = [H()]\nKEEP[0].held = make(2.0)\nREF = weakref.ref(KEEP[0])",
        "(REF() or FALLBACK).held", ("(REF() or FALLBACK).held = make({v})",
        "FALLBACK.held = make({v}); KEEP.clear()"),
    ),
    "a dict of weak values": Place(
        "class H:\n    pass\nKEEP = [H()]\nKEEP[0].held = make(2.0)\nKNOWN = weakref.WeakValueDictionary(k=KEEP[0])",
        "KNOWN['k'].held", ("KEEP[0].held = make({v})",
        "KEEP.append(H()); KEEP[-1].held = make({v}); KNOWN['k'] = KEEP[-1]"),
    ),
    "a dict of weak keys": Place(
        "class H:\n    pass\nKEEP = H()\nKNOWN = weakref.WeakKeyDictionary()\nKNOWN[KEEP] = make(2.0)",
        "KNOWN[KEEP]", ("KNOWN[KEEP] = make({v})",),
    ),
    "a weak set": Place(
        "class H:\n    pass\nKEEP = [H()]\nKEEP[0].held = make(2.0)\nKNOWN = weakref.WeakSet(KEEP)",
        "[*KNOWN][0].held", ("KEEP[0].held = make({v})",
        "KEEP[:] = [H()]; KEEP[0].held = make({v}); KNOWN.add(KEEP[0])"),
    ),
    "a weak method": Place(
        "class H:\n    def get(self):\n        return self.held\nKEEP = H()\nKEEP.held = make(2.0)\nREF = weakref.WeakMethod(KEEP.get)",
        "REF()()", ("KEEP.held = make({v})", "H.get = lambda self: OTHER\nOTHER = make({v})"),
    ),
    "a property": Place(
        "class H:\n    @property\n    def held(self):\n        return STORE[0]\nSTORE = [make(2.0)]\nH = H()", "H.held",
        ("STORE[0] = make({v})", "type(H).held = property(lambda self: OTHER)\nOTHER = make({v})"),
    ),
    "slots": Place(
        "class H:\n    __slots__ = ('held',)\nH = H()\nH.held = make(2.0)", "H.held", ("H.held = make({v})",),
    ),
    "an iterable": Place(
        "class H:\n    def __iter__(self):\n        yield from STORE\nSTORE = [make(2.0)]", "[*H()][0]",
        ("STORE[0] = make({v})", "H.__iter__ = lambda self: iter([OTHER])\nOTHER = make({v})"),
    ),
    "a generator function": Place(
        "def gen():\n    yield STORE[0]\nSTORE = [make(2.0)]", "next(gen())",
        ("STORE[0] = make({v})", "def gen():\n    yield OTHER\nOTHER = make({v})"),
    ),
    "itertools.repeat": Place(
        "HELD = make(2.0)\nMANY = itertools.repeat(HELD)", "next(MANY)", ("MANY = itertools.repeat(make({v}))",),
    ),
    "an itemgetter": Place(
        "GET = operator.itemgetter('k')\nSTORE = {'k': make(2.0)}", "GET(STORE)",
        ("STORE['k'] = make({v})", "STORE['j'] = make({v}); GET = operator.itemgetter('j')"),
    ),
    "a context manager": Place(
        "import contextlib\n@contextlib.contextmanager\ndef block():\n    yield STORE[0]\nSTORE = [make(2.0)]\n"
        "def get():\n    with block() as c:\n        return c",
        "get()", ("STORE[0] = make({v})",
                  "@contextlib.contextmanager\ndef block():\n    yield OTHER\nOTHER = make({v})"),
    ),
    "__enter__": Place(
        "class H:\n    def __enter__(self):\n        return STORE[0]\n    def __exit__(self, *e):\n        pass\n"
        "STORE = [make(2.0)]\ndef get():\n    with H() as c:\n        return c",
        "get()", ("STORE[0] = make({v})", "H.__enter__ = lambda self: OTHER\nOTHER = make({v})"),
    ),
    "the environment": Place(
        "import os\nKNOWN = {'2.0': make(2.0)}\nos.environ['DRAWN_RATE'] = '2.0'", "KNOWN[os.environ['DRAWN_RATE']]",
        ("KNOWN[str({v})] = make({v}); os.environ['DRAWN_RATE'] = str({v})",),
    ),
    "os.getenv": Place(
        "import os\nKNOWN = {'2.0': make(2.0)}\nos.environ['DRAWN_RATE'] = '2.0'", "KNOWN[os.getenv('DRAWN_RATE')]",
        ("KNOWN[str({v})] = make({v}); os.environ['DRAWN_RATE'] = str({v})",
         "KNOWN[str({v})] = make({v}); os.putenv('DRAWN_RATE', str({v})); os.environ['DRAWN_RATE'] = str({v})"),
    ),
    "a configuration of scikit-learn": Place(
        "import sklearn\nKNOWN = {1000: make(2.0)}\nsklearn.set_config(working_memory=1000)",
        "KNOWN[sklearn.get_config()['working_memory']]",
        ("KNOWN[int({v})] = make({v}); sklearn.set_config(working_memory=int({v}))",),
    ),
    "the decimal context": Place(
        "import decimal\nKNOWN = {20: make(2.0)}\ndecimal.getcontext().prec = 20", "KNOWN[decimal.getcontext().prec]",
        ("KNOWN[int({v}) + 3] = make({v}); decimal.getcontext().prec = int({v}) + 3",),
    ),
    "an abstract class": Place(
        "import abc\nclass A(abc.ABC):\n    pass\nclass H:\n    pass\nKNOWN = {False: make(2.0)}",
        "KNOWN[isinstance(H(), A)]", ("KNOWN[True] = make({v}); A.register(H)", "KNOWN[False] = make({v})"),
    ),
    "__instancecheck__": Place(
        "class M(type):\n    def __instancecheck__(cls, o):\n        return ANSWER\nclass A(metaclass=M):\n    pass\n"
        "KNOWN, ANSWER = [make(2.0), make(3.0)], False",
        "KNOWN[isinstance(1, A)]", ("KNOWN[:] = [make({v})] * 2", "ANSWER = not ANSWER"),
    ),
    "print options": Place(
        "KNOWN = {8: make(2.0)}\nnp.set_printoptions(precision=8)", "KNOWN[np.get_printoptions()['precision']]",
        ("KNOWN[int({v})] = make({v}); np.set_printoptions(precision=int({v}))",),
    ),
    "an error state": Place(
        "KNOWN = {'warn': make(2.0), 'ignore': make(3.0)}\nnp.seterr(over='warn')", "KNOWN[np.geterr()['over']]",
        ("np.seterr(over='ignore')", "np.seterr(over='warn'); KNOWN['warn'] = make({v})"),
    ),
    "unittest.mock.patch": Place(
        "from unittest import mock\nsettings = module('settings')\nsettings.held = make(2.0)", "settings.held",
        ("mock.patch.object(settings, 'held', make({v})).start()",),
    ),
}  # fmt: skip
HELPER = "def helper(c):\n    return {read}\n"
NEW_HELPER = "def helper(c):\n    return {v}"
ROUTES = {
    "at once": Route("", "({read})"),
    "by a function": Route(HELPER, "helper(c)", (NEW_HELPER, "helper.__code__ = (lambda c: {v}).__code__")),
    "by a lambda inside": Route("", "(lambda c: {read})(c)"),
    "by map": Route(HELPER, "[*map(helper, [c])][0]", (NEW_HELPER,)),
    "by reduce": Route(HELPER, "functools.reduce(lambda a, c: a + helper(c), [c, c], 0.0)", (NEW_HELPER,)),
    "by max with a key": Route(
        HELPER, "-max(range(-60, 60), key=lambda i: -abs(i - float(np.sum(np.asarray(helper(c))))))", (NEW_HELPER,),
    ),
    "by sorted": Route(
        "def key(i):\n    return abs(i - float(np.sum(np.asarray(LATER({read_of})))))\nLATER = lambda v: v\n".replace("{read_of}", "helper(HERE[0])") + HELPER + "HERE = [None]\n",
        "(HERE.__setitem__(0, c), sorted(range(60), key=key)[0], HERE.__setitem__(0, None))[1]", (NEW_HELPER, "LATER = lambda v: {v}"),
    ),
    "by a filter": Route(HELPER, "len([*filter(lambda i: i < float(np.sum(np.asarray(helper(c)))), range(60))])", (NEW_HELPER,)),
    "by a default of json": Route(
        HELPER + "import json\n", "json.loads(json.dumps({{'a': Wrap(c)}}, default=lambda o: float(np.sum(np.asarray(helper(o.c))))))['a']", (NEW_HELPER,),
    ),
    "by an encoder of json": Route(
        HELPER + "import json\nclass Encoder(json.JSONEncoder):\n    def default(self, o):\n        return scale * float(np.sum(np.asarray(helper(o.c))))\nscale = 1.0\n",
        "json.loads(json.dumps([Wrap(c)], cls=Encoder))[0]",
        (NEW_HELPER, "scale = {v}", "Encoder.default = lambda self, o: {v}"),
    ),
    "by a visitor": Route(
        "import ast\nTREE = ast.parse('a + 1')\nclass Visitor(ast.NodeVisitor):\n    def visit_Name(self, node):\n"
        "        c = self.c\n        self.found = scale * ({read})\nscale = 1.0\n"
        "def visited(c):\n    one = Visitor()\n    one.c = c\n    one.visit(TREE)\n    return one.found\n",
        "visited(c)", ("scale = {v}", "Visitor.visit_Name = lambda self, node: setattr(self, 'found', {v})",
                       "Visitor.visit_Constant = lambda self, node: setattr(self, 'found', {v})"),
    ),
    "by a transformer": Route(
        "from sklearn.base import BaseEstimator, TransformerMixin\nclass T(TransformerMixin, BaseEstimator):\n"
        "    def __init__(self, c=None):\n        self.c = c\n    def fit(self, X, y=None):\n        return self\n"
        "    def transform(self, X):\n        c = self.c\n        return X * ({read}) * scale\nscale = 1.0\n",
        "T(c).fit_transform(xp.ones((1, 1)))[0, 0]",
        ("scale = {v}", "T.transform = lambda self, X: X * {v}", "T.fit = lambda self, X, y=None: Fitted()\n"
         "class Fitted:\n    def transform(self, X):\n        return X * {v}"),
    ),
    "by singledispatch": Route(
        "@functools.singledispatch\ndef seen(c):\n    return {read}\n", "seen(c)",
        ("seen.register(object, lambda c: {v})", "seen.register(type(made[-1]), lambda c: {v})",
         "@functools.singledispatch\ndef seen(c):\n    return {v}"),
    ),
    "by a regular expression's function": Route(
        HELPER + "import re\n", "float(re.sub('a', lambda m: str(float(np.sum(np.asarray(helper(c))))), 'a'))", (NEW_HELPER,),
    ),
    "by a pattern method": Route(
        HELPER, "[*itertools.accumulate([1.0, 1.0], lambda a, b: a + helper(c))][1]", (NEW_HELPER,),
    ),
    "by itertools": Route(HELPER, "[*itertools.starmap(lambda c, a: a * helper(c), [(c, 1.0)])][0]", (NEW_HELPER,)),
    "by iter with an end": Route(HELPER, "next(iter(lambda: helper(c), None))", (NEW_HELPER,)),
    "by a thread's pool that does not run": Route(HELPER, "contextlib_call(helper, c)",
        (NEW_HELPER, "def contextlib_call(f, c):\n    return {v}")),
    "by an ExitStack": Route(
        HELPER + "import contextlib\ndef stacked(c):\n    found = []\n    with contextlib.ExitStack() as stack:\n"
        "        stack.callback(lambda: found.append(helper(c)))\n    return found[0]\n", "stacked(c)", (NEW_HELPER,),
    ),
    "by a generator": Route("def gen(c):\n    yield {read}\n", "sum(gen(c))", ("def gen(c):\n    yield {v}",)),
    "by a decorator": Route(
        "def scaled(f):\n    @functools.wraps(f)\n    def inner(c):\n        return scale * f(c)\n    return inner\n"
        "scale = 1.0\n@scaled\n" + HELPER, "helper(c)", ("scale = {v}", NEW_HELPER),
    ),
    "by a formatter": Route(
        HELPER + "import string\nclass F(string.Formatter):\n    def get_value(self, key, args, keywords):\n"
        "        return float(np.sum(np.asarray(helper(args[0])))) * scale\nscale = 1.0\n",
        "float(F().format('{{0}}', c))", ("scale = {v}", "F.get_value = lambda self, *a: {v}", NEW_HELPER),
    ),
    "by a method of a library's class": Route(
        "import collections.abc\nclass Seq(collections.abc.Sequence):\n    def __init__(self, c):\n        self.c = c\n"
        "    def __len__(self):\n        return length\n    def __getitem__(self, i):\n        c = self.c\n"
        "        if i >= length:\n            raise IndexError\n        return {read}\nlength = 1\n",
        "sum(reversed(Seq(c))) + sum(iter(Seq(c)))", ("length = 2", "Seq.__getitem__ = lambda self, i: [{v}][i]"),
    ),
    "by groupby": Route(HELPER, "[k for k, _ in itertools.groupby([c], key=helper)][0]", (NEW_HELPER,)),
    "by cmp_to_key": Route(
        HELPER, "sorted([1.0, 2.0], key=functools.cmp_to_key(lambda a, b: 1 if float(np.sum(np.asarray(helper(c)))) > 4 else -1))[0]", (NEW_HELPER,),
    ),
    "by a hook of json": Route(
        HELPER + "import json\n", "json.loads('{{\"a\": 1}}', object_hook=lambda d: helper(c))", (NEW_HELPER,),
    ),
    "by deepcopy": Route(
        HELPER + "import copy\nclass Deep:\n    def __deepcopy__(self, memo):\n        return [helper(self.c) * scale]\nscale = 1.0\n"
        "def deep(c):\n    one = Deep()\n    one.c = c\n    return copy.deepcopy(one)[0]\n", "deep(c)",
        (NEW_HELPER, "scale = {v}", "Deep.__deepcopy__ = lambda self, memo: [{v}]"),
    ),
    "by copyreg": Route(
        HELPER + "import copy, copyreg\nclass Odd:\n    pass\ncopyreg.pickle(Odd, lambda o: (float, (scale,)))\nscale = 1.0\n", "copy.copy(Odd()) * helper(c)",
        (NEW_HELPER, "scale = {v}", "copyreg.pickle(Odd, lambda o: (float, ({v},)))"),
    ),
    "by a state that is set": Route(
        HELPER + "import copy\nclass State:\n    def __setstate__(self, state):\n        self.v = state['v'] * scale\nscale = 1.0\n"
        "def stated(c):\n    one = State()\n    one.v = helper(c)\n    return copy.copy(one).v\n", "stated(c)",
        (NEW_HELPER, "scale = {v}", "State.__setstate__ = lambda self, state: setattr(self, 'v', {v})"),
    ),
    "by np.vectorize": Route(HELPER, "np.vectorize(lambda i: float(np.sum(np.asarray(helper(c)))) * i)(np.ones(2))", (NEW_HELPER,)),
    "by np.frompyfunc": Route(HELPER, "float(np.frompyfunc(lambda i: float(np.sum(np.asarray(helper(c)))) * i, 1, 1)(1.0))", (NEW_HELPER,)),
    "by apply_along_axis": Route(
        HELPER, "np.apply_along_axis(lambda row: np.sum(row) * np.asarray(helper(c)), 0, np.ones((2, 2)))[0]", (NEW_HELPER,),
    ),
    "by an integral": Route(
        HELPER + "from scipy import integrate\n", "integrate.quad(lambda t: t * float(np.sum(np.asarray(helper(c)))), 0.0, 1.0)[0]", (NEW_HELPER,),
    ),
    "by a root": Route(
        HELPER + "from scipy import optimize\n", "optimize.brentq(lambda t: t - float(np.sum(np.asarray(helper(c)))), -1e3, 1e3)", (NEW_HELPER,),
    ),
    "by a function transformer": Route(
        HELPER + "from sklearn.preprocessing import FunctionTransformer\ndef scaled(X):\n    return X * scale\nscale = 1.0\nONE = FunctionTransformer(scaled)\n",
        "ONE.fit_transform(xp.ones((1, 1)))[0, 0] * helper(c)",
        (NEW_HELPER, "scale = {v}", "ONE.func = lambda X: X * {v}", "ONE.set_params(func=lambda X: X * {v})"),
    ),
    "by a pipeline": Route(
        HELPER + "from sklearn.base import BaseEstimator, TransformerMixin\nfrom sklearn.pipeline import make_pipeline\n"
        "class T(TransformerMixin, BaseEstimator):\n    def __init__(self, k=1.0):\n        self.k = k\n    def fit(self, X, y=None):\n        return self\n"
        "    def transform(self, X):\n        return X * scale * self.k\nscale = 1.0\nPIPE = make_pipeline(T(), T(2.0)).fit(np.ones((2, 1)))\n",
        "PIPE.transform(xp.ones((1, 1)))[0, 0] * helper(c)",
        (NEW_HELPER, "scale = {v}", "PIPE.steps[1][1].k = {v}", "PIPE.set_params(**{{'t-1__k': {v}}})", "T.transform = lambda self, X: X * {v}",
         "PIPE.steps.append(('more', T({v})))"),
    ),
    "by a template": Route(
        HELPER + "import string\nclass Parts(dict):\n    def __getitem__(self, key):\n        return scale * float(np.sum(np.asarray(helper(self.c))))\nscale = 1.0\n"
        "def templated(c):\n    one = Parts()\n    one.c = c\n    return float(string.Template('$a').substitute(one))\n", "templated(c)",
        (NEW_HELPER, "scale = {v}", "Parts.__getitem__ = lambda self, key: {v}"),
    ),
    "by a decorator that is a context": Route(
        HELPER + "import contextlib\nclass Block(contextlib.ContextDecorator):\n    def __enter__(self):\n        self.v = scale\n    def __exit__(self, *e):\n        FOUND.append(self.v)\n"
        "scale, FOUND = 1.0, []\ndef blocked(c):\n    FOUND.clear()\n    Block()(lambda: None)()\n    return FOUND.pop() * helper(c)\n", "blocked(c)",
        (NEW_HELPER, "scale = {v}", "Block.__enter__ = lambda self: setattr(self, 'v', {v})"),
    ),
    "by a parser of arguments": Route(
        HELPER + "import argparse\ndef kind(text):\n    return float(text) * scale\nscale = 1.0\nPARSER = argparse.ArgumentParser()\nPARSER.add_argument('--a', type=kind)\n",
        "PARSER.parse_args(['--a', '2']).a * helper(c)", (NEW_HELPER, "scale = {v}"),
    ),
    "by __set_name__": Route(
        HELPER + "class Named:\n    def __set_name__(self, cls, name):\n        cls.found = scale * helper(self.c)\nscale = 1.0\n"
        "def named(c):\n    one = Named()\n    one.c = c\n    return type('O', (), {'far': one}).found\n", "named(c)",
        (NEW_HELPER, "scale = {v}", "Named.__set_name__ = lambda self, cls, name: setattr(cls, 'found', {v})"),
    ),
    "by a metaclass's __prepare__": Route(
        HELPER + "class M(type):\n    @classmethod\n    def __prepare__(m, name, bases):\n        return {'far': scale}\nscale = 1.0\n"
        "def prepared(c):\n    class O(metaclass=M):\n        pass\n    return O.far * helper(c)\n", "prepared(c)",
        (NEW_HELPER, "scale = {v}", "M.__prepare__ = classmethod(lambda m, n, b: {{'far': {v}}})"),
    ),
    "by an exception's class": Route(
        HELPER + "class Wrong(Exception):\n    def __init__(self, v):\n        self.v = v * scale\nscale = 1.0\n"
        "def raised(c):\n    try:\n        raise Wrong(helper(c))\n    except Wrong as error:\n        return error.v\n", "raised(c)",
        (NEW_HELPER, "scale = {v}", "Wrong.__init__ = lambda self, v: setattr(self, 'v', {v})"),
    ),
    "by a finalizer": Route(
        HELPER + "def finalized(c):\n    found = []\n    weakref.finalize(Wrap(c), lambda: found.append(helper(c)))\n    return found[0]\n", "finalized(c)", (NEW_HELPER,),
    ),
    "by an estimator's parameters": Route(
        "from sklearn.base import BaseEstimator, clone\nclass T(BaseEstimator):\n    def __init__(self, c=None, scale=1.0):\n"
        "        self.c, self.scale = c, scale\nONE = T(None, 1.0)\n" + HELPER,
        "clone(ONE).get_params()['scale'] * helper(c)", ("ONE.scale = {v}", "ONE.set_params(scale={v})", NEW_HELPER),
    ),
}  # fmt: skip
DUNDERS = {  # a special method: arguments, what its result is made of, and an expression of the object w
    "__call__": ("self", "{r}", "w()"), "__getitem__": ("self, i", "{r}", "w[0]"),
    "__len__": ("self", "int({n}) % 100", "len(w)"), "__iter__": ("self", "iter([{r}])", "[*w][0]"),
    "__enter__": ("self", "{r}", "entered(w)"), "__format__": ("self, spec", "str({n})", "float(f'{{w}}')"),
    "__str__": ("self", "str({n})", "float(str(w))"), "__repr__": ("self", "str({n})", "float(repr(w))"),
    "__float__": ("self", "{n}", "float(w)"), "__int__": ("self", "int({n})", "int(w)"),
    "__index__": ("self", "int({n}) % 7", "[*range(9)][w]"), "__bool__": ("self", "{n} > 4", "3.0 if w else 4.0"),
    "__add__": ("self, o", "{r}", "w + 1"), "__radd__": ("self, o", "{r}", "sum([w])"),
    "__neg__": ("self", "{r}", "-w"), "__matmul__": ("self, o", "{r}", "w @ 1"),
    "__contains__": ("self, o", "o > {n}", "sum(i in w for i in range(60))"),
    "__lt__": ("self, o", "{n} > 4", "(sorted([w, w]), 3.0 if w < w else 4.0)[1]"),
    "__eq__": ("self, o", "{n} > 4", "[1, w].count(w) + (w == 3)"), "__hash__": ("self", "int({n})", "hash(w) % 1000"),
    "__getattr__": ("self, name", "{r} if name == 'far' else object.__getattribute__(self, name)", "w.far"),
    "__reversed__": ("self", "iter([{r}])", "[*reversed(w)][0]"), "__abs__": ("self", "{r}", "abs(w)"),
    "__round__": ("self", "{n}", "round(w)"), "__copy__": ("self", "[{r}]", "copied(w)[0]"),
    "__dir__": ("self", "['a'] * (int({n}) % 50)", "len(dir(w))"), "__divmod__": ("self, o", "({r}, 1)", "divmod(w, 1)[0]"),
    "__length_hint__": ("self", "int({n}) % 50", "operator.length_hint(w)"),
    "__array__": ("self, dtype=None, copy=None", "np.array({n})", "np.asarray(w)"),
    "__mul__": ("self, o", "{r}", "w * 2"), "__pow__": ("self, o", "{r}", "pow(w, 2)"),
    "__fspath__": ("self", "str({n})", "float(fspath(w))"), "__bytes__": ("self", "str({n}).encode()", "float(bytes(w))"),
    "__sizeof__": ("self", "int({n})", "w.__sizeof__()"), "__reduce__": ("self", "(float, ({n},))", "pickle.loads(pickle.dumps(w))"),
    "__set__": ("self, o, v", "o.found.append({r})", "assigned(w)"), "__get__": ("self, o, cls", "{r}", "gotten(w)"),
    "__rmul__": ("self, o", "{r}", "2 * w"), "__iadd__": ("self, o", "{r}", "operator.iadd(w, 1)"),
    "__del__": ("self", "DELETED.append({r})", "deleted(lambda: Special(c))"),
}  # fmt: skip
MORE = """\
import copy, pickle
from os import fspath
copied = copy.copy
def entered(w):
    with w as found:
        return found
def assigned(w):
    class O:
        far = w
    one = O()
    one.found = []
    one.far = 1
    return one.found[0]
def gotten(w):
    class O:
        far = w
    return O().far
DELETED = []
def deleted(make):
    DELETED.clear()
    make()
    return DELETED.pop()
"""
for name, (arguments, result, value) in DUNDERS.items():
    numbers = {"r": "factor * ({read})", "n": "float(np.sum(np.asarray(factor * ({read}))))"}
    body = result.format(**numbers)
    ROUTES[f"by {name}"] = Route(
        f"{MORE}class Special:\n    def __init__(self, c):\n        self.c = c\n    def __exit__(self, *e):\n        pass\n"
        f"    def {name}({arguments}):\n        c = self.c if type(self) is Special else None\n        return {body}\nfactor = 1.0\n",
        f"(lambda w: {value})(Special(c))".replace("{{", "{").replace("}}", "}"),
        (
            "factor = {v}",
            f"Special.{name} = (lambda f: lambda *a: f(*a))(Special.{name}); factor = {{v}}",
        ),
    )
