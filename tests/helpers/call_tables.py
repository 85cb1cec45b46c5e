# ruff: noqa: E501 -- a table
"""Tables of functions, with operands and plausible values of options, for ``call_variants``."""

from __future__ import annotations

import inspect
import operator
import random

import numpy as np
import scipy.special as scipy_special

import arraytape as xp
from arraytape import special
from arraytape._record.op import REGISTRY
from helpers import numpy_calls
from helpers.operand_kinds import Fixed, Operand, spelled
from status import scope as scope_table

FLOATS = ("float64", "float64", "float64", "float32", "complex128")
REALS = ("float64", "float64", "float32")


# --- operands ---------------------------------------------------------------------------------------
class Shapes:
    """A generator of random operands, all drawn with one ``random.Random``."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.numbers = np.random.default_rng(rng.randrange(2**32))

    def operand(self, data, smooth=None):
        data = np.asarray(data)
        return Operand(data, "Array", data.dtype.kind in "fc" if smooth is None else smooth)

    def shape(self, min_dims=0, max_dims=3, sizes=(0, 1, 2, 3, 3)):
        dims = self.rng.randint(min_dims, max_dims)
        return tuple(self.rng.choice(sizes) for _ in range(dims))

    def spread(self, shape, low=-2.0, high=2.0, dtype="float64"):
        """Return numbers in an interval that differ from each other.

        One number lies well inside each of ``size`` equal parts of the interval, in random order.
        """
        size = int(np.prod(shape, dtype=int))
        places = (self.numbers.permutation(size) + 0.2 + 0.6 * self.numbers.random(size)) / max(
            size, 1
        )
        real = (low + (high - low) * places).reshape(shape)
        if np.dtype(dtype).kind == "c":
            real = real + 1j * self.spread(shape, low, high)
        return real.astype(dtype)

    def floats(self, shape=None, dtypes=REALS, low=-2.0, high=2.0, **limits):
        shape = self.shape(**limits) if shape is None else shape
        return self.operand(self.spread(shape, low, high, self.rng.choice(dtypes)))

    def doubles(self, shape=None, **limits):
        """Return float64 operands, for functions that compute in float64 whatever the dtype is."""
        return self.floats(shape, ("float64",), **limits)

    def numeric(self, shape=None, **limits):
        """Return floats or complex numbers, and sometimes integers or booleans."""
        shape = self.shape(**limits) if shape is None else shape
        dtype = self.rng.choice([*FLOATS, "int64", "uint8", "bool"])
        if np.dtype(dtype).kind in "fc":
            return self.floats(shape, (dtype,))
        return self.integers(0, 2 if dtype == "bool" else 5, shape, dtype)

    def integers(self, low, high, shape, dtype=None):
        """Return integers from ``low`` up to, but not including, ``high``."""
        dtypes = ["int64", "int64", "int32", "int8"] + (["uint8", "uint64"] if low >= 0 else [])
        data = self.numbers.integers(low, max(high, low + 1), shape)
        return self.operand(np.asarray(data).astype(dtype or self.rng.choice(dtypes)), False)

    def truths(self, shape):
        return self.operand(np.asarray(self.numbers.random(shape) < 0.6), False)

    def matrix(self, square=False, dtypes=FLOATS, positive=False):
        """Return a well-conditioned matrix of full rank (tall, wide or square), or a stack of them."""
        stack = self.rng.choice([(), (), (), (2,), (1,), (2, 1)])
        m = self.rng.choice([1, 2, 3, 3, 4])
        n = m if square else self.rng.choice([1, 2, 3, 4])
        dtype = self.rng.choice(dtypes)
        a = self.numbers.normal(size=(*stack, m, n))
        if np.dtype(dtype).kind == "c":
            a = a + 1j * self.numbers.normal(size=a.shape)
        a = a + 2.0 * np.eye(m, n) * np.arange(1, min(m, n) + 1).sum()
        if positive:
            a = a @ np.conj(np.swapaxes(a, -1, -2)) / m + np.diag(np.arange(1.0, m + 1))
        elif square:
            a = a + np.diag(1.5 * np.arange(m))
        return self.operand(a.astype(dtype))

    def broadcast(self, count, domain, name):
        """Return operands whose shapes broadcast, with numbers in the domain of an op."""
        shape = self.shape(sizes=(0, 1, 2, 3, 3, 2))
        operands = []
        for i in range(count):
            own = shape[self.rng.choice([0, 0, 0, len(shape)]) :]
            own = tuple(n if n == 0 or self.rng.random() < 0.8 else 1 for n in own)
            operands.append(self.in_domain(own, domain, name, i))
        return operands

    def in_domain(self, shape, domain, name, i):
        if name.startswith(("bitwise", "logical")):
            return self.integers(0, 5, shape) if "bit" in name else self.truths(shape)
        low, high = domain
        if name.startswith(("special.eval_", "special.lpmv")) and i == 0:
            return self.integers(0, 5, shape, "int64")
        if name.startswith("special.") and i < INTEGER_ORDERS.get(name[8:], 0):
            return self.integers(1, 4, shape, "int64")
        if not name.startswith("special.") and self.rng.random() < 0.15:
            return self.integers(int(np.ceil(low)), int(high) + 1, shape)
        return self.floats(shape, REALS, low, high)

    def operator_operands(self, symbol):
        if symbol == "@":
            n, k, m = (self.rng.choice([0, 1, 2, 3]) for _ in range(3))
            first = self.rng.choice([(k,), (n, k), (2, n, k)])
            second = self.rng.choice([(k,), (k, m), (1, k, m), (2, k, m)])
            return [self.floats(first, FLOATS), self.floats(second, FLOATS)]
        integral = symbol in "&|^" or symbol in ("<<", ">>")
        dtypes = INTEGRAL if integral else ALL_DTYPES
        shape = self.shape(sizes=(0, 1, 2, 3))
        found = []
        for _ in range(2):
            own = shape[self.rng.choice([0, 0, len(shape)]) :]
            dtype = np.dtype(self.rng.choice(dtypes))
            if dtype.kind in "fc":
                low = 0.3 if symbol in ("**", "//", "%", "/") else -2.0
                found.append(self.floats(own, (dtype.name,), low, 3.0))
            else:
                high = 2 if dtype.kind == "b" else 4
                found.append(self.integers(symbol in ("//", "%", "/"), high, own, dtype.name))
        return found


INTEGRAL = ("int64", "uint8", "int8", "uint32", "bool")
ALL_DTYPES = (
    "float64", "float64", "float64", "float32", "complex128", "int64", "int8", "uint8", "uint32", "bool",
)  # fmt: skip
# --- operators and keys -----------------------------------------------------------------------------
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "//": operator.floordiv, "%": operator.mod, "@": operator.matmul, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip


def copied(x):
    return x.copy(order="K") if isinstance(x, np.ndarray) else xp.asarray(x, copy=True)


def in_place(change):
    """Return a function that changes a copy of its first operand in place."""

    def changed(x, y):
        x = (
            x + x.dtype.type(0)
            if isinstance(x, np.ndarray | np.generic)
            else xp.asarray(x, copy=True)
        )
        return change(copied(x), y)

    return changed


IN_PLACE = {
    symbol: in_place(change)
    for symbol, change in {
        "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
        "**": operator.ipow, "//": operator.ifloordiv, "%": operator.imod, "@": operator.imatmul,
        "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift,
        ">>": operator.irshift,
    }.items()
}  # fmt: skip


def read(x, key):
    return x[key]


def written(x, key, value):
    x = copied(x)
    x[key] = value
    return x


def added(x, key, value):
    x = copied(x)
    x[key] += value
    return x


def multiplied(x, key, value):
    x = copied(x)
    x[key] *= value
    return x


WRITES = [("x[key] = v", written), ("x[key] += v", added), ("x[key] *= v", multiplied)]


def key_for(shape, rng):
    """Draw an index of one or several parts, of every type that NumPy accepts."""

    def integer(n):
        value = rng.randrange(-n, n) if rng.random() < 0.7 else rng.randrange(n)
        types = [int, np.int64, np.int8, np.asarray, np.intp]
        types += [np.uint8, np.uint64] if value >= 0 else []
        made = rng.choice(types)(value)
        if rng.random() < 0.15:
            return Operand(np.asarray(value), "Array", False)
        return made

    def several(n, count):
        values = [rng.randrange(n) for _ in range(count)]
        dtype = rng.choice(["int64", "int8", "uint8", "uint64", "int32"])
        kind = rng.randrange(4)
        if kind == 0:
            return values
        if kind == 1:
            return Operand(np.asarray(values, dtype), "Array", False)
        if kind == 2:
            return [np.int64(v) for v in values]
        return np.asarray(values, dtype)

    def mask(n):
        values = [rng.random() < 0.6 for _ in range(n)]
        kind = rng.randrange(3)
        if kind == 0:
            return values
        return Operand(np.asarray(values), "Array", False) if kind == 1 else np.asarray(values)

    def bounds(n):
        ends = [None, None, 0, 1, -1, n, n - 1, np.int64(1), np.uint8(0), np.asarray(1)]
        return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, -1, np.int64(2)]))

    count = rng.randint(1, 3)  # elements in each list of one key, so that the lists broadcast

    def part(n):
        return rng.choice([integer, bounds, bounds, lambda n: several(n, count)])(n)

    how = rng.randrange(10)
    if how == 0:
        return Fixed(
            rng.choice([Ellipsis, None, (), True, np.bool_(True), np.asarray(True), False])
        )
    if how == 1:
        return Fixed(mask(shape[0]))
    if how == 2:
        whole = np.random.default_rng(rng.randrange(2**32)).random(shape) < 0.5
        return Fixed(whole if rng.random() < 0.5 else Operand(whole, "Array", False))
    if how in (3, 4, 5):
        return Fixed(part(shape[0]))
    parts = [part(n) for n in shape[: rng.randint(1, len(shape))]]
    if rng.random() < 0.4:
        parts.insert(rng.randint(0, len(parts)), rng.choice([None, None, np.bool_(True), True]))
    if rng.random() < 0.3 and len(parts) <= len(shape):
        parts.insert(rng.choice([0, len(parts)]), Ellipsis)
        if parts[0] is Ellipsis:
            rest = [p for p in parts[1:] if p is not None and not isinstance(p, bool | np.bool_)]
            fitting = iter(shape[len(shape) - len(rest) :])
            parts = [Ellipsis, *[part(next(fitting)) if p is not None else p for p in rest]]
    return Fixed(tuple(parts))


# --- the namespace ----------------------------------------------------------------------------------
def axes_of(ndim):
    return [0, -1, ndim - 1, (ndim - 1) // 2] if ndim else [0, -1]


def pool(parameter, annotation, x):
    """Return plausible values for the option ``parameter`` of a function of the Operand x."""
    ndim, shape = x.data.ndim, x.data.shape
    if parameter == "axis":
        values = axes_of(ndim) if ndim else []
        if "tuple" in annotation or annotation == "Axis":
            values = [*values, (0,), tuple(range(ndim)), (0, -1), ()][: None if ndim else 0]
            values += [()]
        return [*values, None] if "None" in annotation or annotation == "Axis" else values
    if parameter == "axes":
        pairs = [(0,), (-1,), (0, -1), tuple(range(ndim)), (0, 0)] if ndim else [()]
        return [*pairs, None] + ([0, -1] if "int |" in annotation and ndim else [])
    if parameter == "s":
        return [tuple(n + k for n in shape) for k in (0, 1)] + [None]
    return POOLS.get(parameter, [])


POOLS = {
    "keepdims": [True, False], "dtype": ["float32", "float64", None, "complex128"], "copy": [True, None],
    "device": ["cpu", None], "correction": [0, 1, 0.5, 1.0], "k": [0, 1, -1, 2], "n": [None, 1, 2, 3, 5],
    "offset": [0, 1, -1, 3], "norm": ["backward", "ortho", "forward"], "descending": [True, False],
    "stable": [True, False], "include_initial": [True, False], "invert": [True, False],
    "indexing": ["xy", "ij"], "endpoint": [True, False], "upper": [True, False],
    "full_matrices": [True, False], "mode": ["reduced", "complete"], "return_sign": [True, False],
}  # fmt: skip
ENTRIES = {}  # name -> a function of a Shapes, which returns the required arguments and the options' values
REFERENCES = {}  # name -> NumPy's function
# Functions that refuse lists and numbers as operands, because the standard requires arrays.
ARRAYS_ONLY = set()


def function_of(name):
    found = xp
    for part in name.split("."):
        found = getattr(found, part)
    return found


def options_of(name, x, given=0, **others):
    """Return a dict of a function's optional arguments with values to draw from.

    given : the number of required arguments.  others : lists of values by parameter name; ``pool``
    supplies the values of other parameters.
    """
    found = {}
    for parameter in list(inspect.signature(function_of(name)).parameters.values())[given:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        annotation = str(parameter.annotation)
        values = others.get(parameter.name, pool(parameter.name, annotation, x))
        if parameter.default is not parameter.empty or values:
            found[parameter.name] = values
    return found


def enter(name, required, reference=None, **others):
    """Add a function to ENTRIES and REFERENCES.

    required : a function of a Shapes that returns the required arguments.
    others : option's name -> a list of its values, or a function that returns the list, called with
    the Shapes and the required arguments.
    """
    if reference is None:
        reference = np
        for part in name.split("."):
            reference = getattr(reference, part)

    def entry(shapes):
        arguments = required(shapes)
        first = arguments[0]
        x = (
            (first[0] if first else shapes.operand(0.0))
            if isinstance(first, list | tuple)
            else first
        )
        if not hasattr(x, "data") or not isinstance(x.data, np.ndarray):
            x = arguments[-1] if hasattr(arguments[-1], "data") else shapes.operand(0.0)
        values = {
            key: value(shapes, *arguments) if callable(value) else value
            for key, value in others.items()
        }
        return arguments, options_of(name, x, len(arguments), **values)

    ENTRIES[name], REFERENCES[name] = entry, without_device(reference)


def without_device(reference):
    def called(*args, **keywords):
        keywords.pop("device", None)
        return reference(*args, **keywords)

    return called


def one(shapes):
    return [shapes.numeric()]


def one_real(shapes):
    return [shapes.floats()]


def some_dims(shapes):
    return [shapes.numeric(min_dims=1)]


for _name in (
    "sum", "prod", "all", "any", "cumulative_sum", "cumulative_prod", "flip", "count_nonzero", "mean",
    "std", "var", "fft.fftshift", "fft.ifftshift", "zeros_like", "ones_like", "linalg.vector_norm",
):  # fmt: skip
    enter(_name, one)
for _name in ("max", "min", "argmax", "argmin", "median"):
    enter(_name, one_real)
enter("linalg.vector_norm", one, ord=[0, 1, 2, 3, -1, 0.5, 2.5, float("inf"), float("-inf")])
enter("mean", lambda s: [s.floats(dtypes=FLOATS)])


def sorted_by_numpy(x, axis=-1, descending=False, stable=True):
    found = np.sort(x, axis=axis)
    return np.flip(found, axis=axis) if descending else found


def argsorted_by_numpy(x, axis=-1, descending=False, stable=True):
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    x = np.asarray(x)
    found = np.argsort(np.flip(x, axis=axis), axis=axis, stable=True)
    return np.flip(x.shape[axis] - 1 - found, axis=axis)


enter("sort", one_real, sorted_by_numpy)
enter("argsort", one_real, argsorted_by_numpy)
enter("clip", one_real, lambda x, min=None, max=None: np.clip(x, min, max).astype(np.asarray(x).dtype), min=lambda s, x: [-0.5, 0, None, s.floats(x.data.shape[-1:]), s.floats(())],
      max=lambda s, x: [0.7, 1, None, s.floats(x.data.shape, low=0.5)])  # fmt: skip


def taken(shapes):
    x = shapes.numeric(sizes=(1, 2, 3))
    most = min(x.data.shape, default=1)
    return [x, shapes.integers(-1, most, shapes.rng.choice([(2,), (3,), (1,), (), (2, 2), (0,)]))]


enter("take", taken)


def taken_along(shapes):
    x = shapes.numeric(min_dims=1, sizes=(1, 2, 3))
    return [x, shapes.integers(-1, min(x.data.shape), x.data.shape)]


enter("take_along_axis", taken_along)


def repeated(shapes):
    x = shapes.numeric()
    counts = shapes.rng.choice(
        [2, 0, 1, np.int64(3), (1, 2, 0), [2, 1], np.asarray(2), np.uint8(2)]
    )
    axis_length = x.data.shape[0] if x.data.ndim else 1
    if shapes.rng.random() < 0.3:
        return [x, shapes.integers(0, 3, (axis_length,))]
    return [x, counts]


enter("repeat", repeated)


def diff_of_ends(x, n=1, axis=-1, **ends):
    """Call np.diff without ends that are None, because NumPy would make object arrays of None."""
    return np.diff(x, n, axis, **{name: end for name, end in ends.items() if end is not None})


enter(
    "diff",
    some_dims,
    diff_of_ends,
    prepend=lambda s, x: joined(s, x),
    append=lambda s, x: joined(s, x),
    n=[0, 1, 2, 3],
)


def joined(shapes, x):
    dtype = (x.data.dtype.name,) if x.data.dtype.kind in "fc" else ("float64",)
    return [shapes.floats((*x.data.shape[:-1], k), dtype) for k in (1, 2)] + [
        shapes.floats((), dtype),
        None,
    ]


enter(
    "expand_dims",
    lambda s: [x := s.numeric(max_dims=2), spelling(s, [0, -1, (0, 1), (0, -1), x.data.ndim])],
)
enter("squeeze", lambda s: [s.numeric(shape=s.rng.choice([(1,), (1, 2), (2, 1), (1, 3, 1), (1, 1, 1)])),
                            spelling(s, [0, -1, (0,), (0, -1), ()])])  # fmt: skip
enter(
    "moveaxis",
    lambda s: [
        s.numeric(min_dims=1),
        spelling(s, [0, -1, (0,), (-1,)]),
        spelling(s, [0, -1, (0,)]),
    ],
)
enter(
    "permute_dims",
    lambda s: [
        x := s.numeric(),
        spelling(s, [tuple(s.rng.sample(range(x.data.ndim), x.data.ndim))]),
    ],
)
enter(
    "reshape",
    lambda s: [
        x := s.numeric(),
        spelling(s, [(x.data.size,), (1, x.data.size), -1, (-1,), (-1, 1), x.data.shape]),
    ],
)
enter(
    "broadcast_to",
    lambda s: [
        x := s.numeric(),
        spelling(s, [(2, *x.data.shape), x.data.shape, (1, 2, *x.data.shape)]),
    ],
)
enter("tile", lambda s: [s.numeric(), spelling(s, [2, (2,), (1, 2), (2, 1, 2), 0, ()])])
enter(
    "roll",
    lambda s: [s.numeric(), spelling(s, [1, -2, 0, (1,), (1, 2)])],
    axis=[0, -1, (0,), (0, -1), None],
)
enter("unstack", some_dims)
enter("concat", lambda s: [several(s)])
enter("stack", lambda s: [several(s)])
enter("tril", lambda s: [s.numeric(min_dims=2)])
enter("triu", lambda s: [s.numeric(min_dims=2)])
enter("diag", lambda s: [s.numeric(min_dims=1, max_dims=2)])
enter("searchsorted", lambda s: [s.operand(np.sort(s.spread((4,)))), s.floats()], side=["left", "right"],
      sorter=lambda s, *_: [None, s.operand(np.arange(4))])  # fmt: skip
enter("isin", lambda s: [s.integers(0, 5, s.shape()), s.integers(0, 5, s.shape())])
enter(
    "where",
    lambda s: [
        x := s.truths(s.shape()),
        s.floats(x.data.shape),
        s.floats(s.rng.choice([(), x.data.shape])),
    ],
)
enter("meshgrid", lambda s: [s.floats(min_dims=0, max_dims=1) for _ in range(s.rng.randint(1, 3))])
enter("astype", lambda s: [s.numeric(), s.rng.choice(["float32", "float64", "complex128", "int64"])],
      lambda x, dtype, copy=True: np.asarray(x).astype(dtype))  # fmt: skip
enter(
    "bincount",
    lambda s: [s.integers(0, 4, (4,))],
    weights=lambda s, x: [s.floats((4,), ("float64",)), None],
    minlength=[0, 6],
)
enter("einsum", lambda s: s.rng.choice([
    lambda: ["ij,jk->ik", s.floats((2, 3)), s.floats((3, 2))], lambda: ["ij->j", s.floats((2, 3))],
    lambda: ["ii", s.floats((3, 3))], lambda: ["i,i,i", *[s.floats((3,)) for _ in range(3)]],
    lambda: ["...i,...i->...", s.floats((2, 3)), s.floats((3,))],
])(), optimize=[True, False, "greedy", "optimal"])  # fmt: skip
enter("pad", lambda s: [s.numeric(sizes=(1, 2, 3)), s.rng.choice([0, 1, np.int64(1), (1, 2), [1, 2], ((1, 2),), np.asarray(2)])],
      mode=["constant", "edge", "reflect", "symmetric", "wrap"],
      constant_values=lambda s, *_: [0, 1.5, np.float32(0.5), s.floats(()), (1.0, 2.0)], reflect_type=["even"])  # fmt: skip
enter("scatter_add", lambda s: [s.floats(s.rng.choice([(), (2,), (2, 2), (1,)])), s.rng.choice([(3,), (3, 2), [3], 4]),
                                Fixed(s.rng.choice([0, np.int64(1), [0, 1], (0,), [1, 1], slice(1, 3), -1]))],
      lambda x, shape, key: scattered(x, shape, key))  # fmt: skip


def scattered(x, shape, key):
    full = np.zeros(shape, np.asarray(x).dtype)
    if full[key].shape != np.shape(x):
        raise ValueError("the shape of x is not that of the part")
    np.add.at(full, key, x)
    return full


def several(shapes):
    shape = shapes.shape()
    return [shapes.numeric(shape) for _ in range(shapes.rng.randint(1, 3))]


def spelling(shapes, values):
    return spelled(shapes.rng.choice(values), shapes.rng)


def products(shapes, n=3):
    shape = shapes.shape(sizes=(1, 2, 3))
    return [
        shapes.floats((*shape, n), FLOATS),
        shapes.floats((*shape[shapes.rng.choice([0, len(shape)]) :], n), FLOATS),
    ]


for _name in ("vecdot", "linalg.vecdot", "linalg.cross"):
    enter(_name, products)
for _name in ("tensordot", "linalg.tensordot"):
    enter(_name, lambda s: [s.floats((2, 3, 2), FLOATS), s.floats((3, 2), FLOATS)],
          axes=[2, 0, ((1,), (0,)), ((1, 2), (0, 1)), ([-2], [0]), [[1], [0]], ((0, 1), (1, 0)), (1, 0)])  # fmt: skip
for _name in ("matmul", "linalg.matmul"):
    enter(_name, lambda s: s.operator_operands("@"))
enter("linalg.outer", lambda s: [s.floats((3,), FLOATS), s.floats((2,), FLOATS)])
for _name in ("det", "inv", "slogdet"):
    enter(f"linalg.{_name}", lambda s: [s.matrix(square=True)])


def always_complex(function):
    """Wrap a NumPy function so that its results are complex, also where NumPy returns real ones."""

    def called(x):
        found = function(x)
        kind = np.result_type(np.asarray(x).dtype, np.complex64)
        parts = [y.astype(kind) for y in found] if isinstance(found, tuple) else found.astype(kind)
        return tuple(parts) if isinstance(found, tuple) else parts

    return called


for _name in ("eig", "eigvals"):
    enter(
        f"linalg.{_name}",
        lambda s: [s.matrix(square=True)],
        always_complex(getattr(np.linalg, _name)),
    )
enter("linalg.matrix_power", lambda s: [s.matrix(square=True), spelling(s, [0, 1, 2, 3, -1, -2])])
for _name in ("eigh", "eigvalsh", "cholesky"):
    enter(f"linalg.{_name}", lambda s: [s.matrix(positive=True)])
for _name in ("svd", "svdvals", "qr"):
    enter(f"linalg.{_name}", lambda s: [s.matrix()])
for _name in ("pinv", "matrix_rank"):
    enter(
        f"linalg.{_name}",
        lambda s: [s.matrix()],
        rtol=[None, 1e-9, 0.25, np.float32(0.25), np.asarray(1e-9)],
    )
enter(
    "linalg.matrix_norm",
    lambda s: [s.matrix()],
    ord=["fro", "nuc", 1, 2, -1, -2, float("inf"), float("-inf")],
)
enter(
    "linalg.solve",
    lambda s: [
        a := s.matrix(square=True),
        s.floats(s.rng.choice([a.data.shape[-1:], (*a.data.shape[:-1], 2)]), FLOATS),
    ],
)
enter("linalg.diagonal", lambda s: [s.numeric(min_dims=2)])
enter("linalg.trace", lambda s: [s.numeric(min_dims=2)])
enter("linalg.matrix_transpose", lambda s: [s.numeric(min_dims=2)])
for _name in ("fft", "ifft", "rfft", "hfft", "ihfft", "irfft"):
    _real = _name in ("rfft", "ihfft")
    enter(
        f"fft.{_name}",
        lambda s, real=_real: [
            s.floats(dtypes=REALS if real else FLOATS, min_dims=1, sizes=(1, 2, 3, 4))
        ],
    )
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _real = _name == "rfftn"
    enter(
        f"fft.{_name}",
        lambda s, real=_real: [
            s.floats(dtypes=REALS if real else FLOATS, min_dims=1, sizes=(1, 2, 3, 4))
        ],
    )
# --- creation ----------------------------------------------------------------------------------------
enter(
    "eye",
    lambda s: [spelling(s, [0, 1, 3])],
    lambda n, m=None, **k: np.eye(n, m, **k),
    n_cols=[None, 2, 4],
)
enter(
    "full_like", lambda s: [s.numeric(), s.rng.choice([1.5, np.float32(0.5), 2, True, np.int8(1)])]
)
enter(
    "linspace",
    lambda s: [
        s.doubles(x := s.shape(max_dims=2)),
        s.doubles(s.rng.choice([(), x])),
        spelling(s, [1, 2, 5, 0]),
    ],
    dtype=[None, "float64"],
)
enter("logspace", lambda s: [s.doubles(x := s.shape(max_dims=2)), s.doubles(s.rng.choice([(), x]))], num=[1, 2, 5],
      base=lambda s, *_: [2.0, 10, s.doubles((), low=1.5, high=3.0)], dtype=[None, "float64"])  # fmt: skip
enter(
    "arange",
    lambda s: [spelling(s, [0, 3, 2.5])],
    stop=[5, 4.0],
    step=[1, 2, 0.5],
    dtype=[None, "float64"],
)
for _name in ("zeros", "ones"):
    enter(_name, lambda s: [spelling(s, [3, (2,), (2, 3), (), 0])])
# --- functions of scipy.special that are no ufuncs ----------------------------------------------------
enter("special.logsumexp", lambda s: [s.doubles(sizes=(1, 2, 3))], scipy_special.logsumexp,
      axis=lambda s, x: [*axes_of(x.data.ndim), None, tuple(range(x.data.ndim))] if x.data.ndim else [None],
      b=lambda s, x: [s.floats(x.data.shape, low=0.2), s.floats((), low=0.2), None])  # fmt: skip
for _name in ("softmax", "log_softmax"):
    enter(f"special.{_name}", lambda s: [s.floats(min_dims=1, sizes=(1, 2, 3))], getattr(scipy_special, _name),
          axis=lambda s, x: [*axes_of(x.data.ndim), None, tuple(range(x.data.ndim))])  # fmt: skip


def beside_numbers(function):
    """Wrap a SciPy function so that Python numbers get the dtype of the array, and not float64."""

    def called(N, k, *args, **keywords):
        dtype = np.result_type(*[x if type(x) in (int, float) else x.dtype for x in (N, k)])
        N, k = (np.asarray(x, dtype) if type(x) in (int, float) else x for x in (N, k))
        return function(N, k, *args, **keywords)

    return called


for _name in ("comb", "perm"):
    enter(f"special.{_name}", lambda s: [s.floats(x := s.shape(), low=3, high=6), s.floats(s.rng.choice([(), x]), low=0.3, high=2.5)],
          beside_numbers(getattr(scipy_special, _name)), exact=[False], repetition=[True, False])  # fmt: skip
enter("special.zeta", lambda s: [s.floats(low=1.5, high=4)], lambda x, q=None: scipy_special.zeta(x, q),
      q=lambda s, x: [s.floats((), low=0.5), None])  # fmt: skip
enter(
    "special.multigammaln",
    lambda s: [s.doubles(low=3.0, high=6.0), spelling(s, [1, 2, 3])],
    scipy_special.multigammaln,
)
for _name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
    enter(f"special.{_name}", lambda s: [spelling(s, [0, 1, 2]), s.doubles(low=0.5, high=4)],
          getattr(scipy_special, _name), derivative=[True, False])  # fmt: skip
NAMES = sorted(ENTRIES)
ARRAYS_ONLY |= {n for n in NAMES if n.startswith(("linalg.", "fft."))}
CLOSE = {name: 64.0 for name in NAMES if name.startswith(("linalg.", "fft.", "special."))} | dict.fromkeys(("vecdot", "tensordot", "matmul", "einsum", "std", "var", "mean", "sum", "prod", "logspace", "linspace", "cumulative_prod", "bincount"), 8.0)  # fmt: skip
ROUGH = {"linalg.eig", "linalg.eigvals", "searchsorted", "astype"}
OUTPUTS = {"linalg.svd": 3, "linalg.eigh": 2, "linalg.qr": 2, "linalg.eig": 2, "linalg.slogdet": 2}
PHASED = {
    "linalg.svd",
    "linalg.eigh",
    "linalg.qr",
}  # complex vectors have an arbitrary phase, so that differences do not show the derivative
# Functions that accept calls which NumPy refuses, such as lists in np.common_type, whose ``dtype``
# attribute NumPy reads.
ACCEPTED = {"pad", "special.comb", "np.take_along_axis", "diff", "einsum", "np.einsum", "fft.fftshift", "fft.ifftshift", "np.common_type"}  # fmt: skip
# --- elementwise ---------------------------------------------------------------------------------------
INTEGER_ORDERS = {"bdtr": 2, "bdtrc": 2, "bdtri": 2, "nbdtr": 2, "nbdtrc": 2, "nbdtri": 2, "kn": 1, "yn": 1,
                  "expn": 1, "smirnov": 1, "smirnovi": 1, "pdtr": 1, "pdtrc": 1, "pdtri": 1, "sph_harm_y": 2,
                  "polygamma": 1, "diric": 0, "mathieu_a": 1, "mathieu_b": 1, "lpmv": 1, "pro_cv": 2, "obl_cv": 2,
                  "eval_hermite": 1, "eval_hermitenorm": 1, "jn": 1}  # fmt: skip


# Functions of scipy.special that are not drawn: SciPy computes them by a search whose last digits
# vary, or each operand has a domain of its own.
SEARCHED = {
    "bdtrik", "bdtrin", "btdtria", "btdtrib", "chndtridf", "chndtrinc", "chndtrix", "fdtridfd", "gdtria",
    "gdtrib", "nbdtrik", "nbdtrin", "ncfdtri", "ncfdtridfd", "ncfdtridfn", "ncfdtrinc", "nctdtridf",
    "nctdtrinc", "nctdtrit", "pdtrik", "sph_harm_y", "stdtridf", "chdtriv", "nrdtrimn", "nrdtrisd",
}  # fmt: skip


def elementwise_ops():
    found = {}
    for name, op in REGISTRY.items():
        if op.kind not in ("elementwise", "nondifferentiable") or "._" in name:
            continue
        inside = name.removeprefix("special.")
        public, numpys = (special, scipy_special) if name != inside else (xp, np)
        function = getattr(public, inside, None)
        if (
            function is None
            or not hasattr(numpys, inside)
            or name in ENTRIES
            or name == "stop_gradient"
        ):
            continue
        parameters = inspect.signature(function).parameters.values()
        if any(p.kind is not p.POSITIONAL_ONLY for p in parameters) or inside in SEARCHED:
            continue
        found[name] = (op, len(parameters))
    return found


ELEMENTWISE_OPS = elementwise_ops()
ELEMENTWISE = sorted(ELEMENTWISE_OPS)


def elementwise_reference(name):
    inside = name.removeprefix("special.")
    return getattr(scipy_special if inside != name else np, inside)


def has_files(call):
    return any(callable(x) for x in call.args)


# --- NumPy's functions ---------------------------------------------------------------------------------
NUMPY_FUNCTIONS = {
    name: function for name, function in scope_table.public() if not isinstance(function, np.ufunc)
}
NOT_DRAWN = ("np.save", "np.apply_", "np.piecewise", "np.empty", "np.may_share", "np.shares", "np.array_repr",
             "np.array_str", "np.array2string", "np.copyto", "np.fill_diagonal", "np.place", "np.put",
             "np.linalg.eig", "np.linalg.svd", "np.linalg.qr", "np.einsum_path", "np.block", "np.unique_values")  # fmt: skip
NUMPY_NAMES = sorted(
    name
    for name, calls in numpy_calls.CALLS.items()
    if not all(map(has_files, calls)) and not name.startswith(NOT_DRAWN)
)
METHODS = {
    "all", "any", "argmax", "argmin", "argsort", "clip", "compress", "cumprod", "cumsum", "diagonal",
    "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze", "std",
    "sum", "swapaxes", "take", "trace", "var",
}  # fmt: skip


def close_of(name):
    return max(numpy_calls.CLOSE.get(name, 0.0), 64.0 if "linalg" in name or "fft" in name else 8.0)


def numpy_call(name, function, rng):
    """Draw a Call of a NumPy function; return its required arguments, a dict of options' values, and it."""
    calls = [c for c in numpy_calls.CALLS[name] if not has_files(c)]
    base = rng.choice(calls)
    signature = inspect.signature(function)
    required = [p for p in signature.parameters.values() if p.default is p.empty]
    options: dict[str, list] = {}
    for c in calls:
        given = bound(signature, c)
        for key, value in (given or {}).items():
            if key not in {p.name for p in required}:
                options.setdefault(key, []).append(operands_in(value))
    given = bound(signature, base)
    if given is None or any(p.kind is p.VAR_POSITIONAL for p in required) or "args" in given:
        return (
            [operands_in(x) for x in base.args],
            {k: [operands_in(v)] for k, v in base.keywords.items()},
            base,
        )
    if any(p.name in ("kwargs", "kw") for p in required):
        required = [p for p in required if p.name not in ("kwargs", "kw")]
    options.pop("kwargs", None)
    if not base.symmetric:
        options.pop("hermitian", None)
    return [operands_in(given[p.name]) for p in required], options, base


def bound(signature, call):
    try:
        return dict(signature.bind(*call.args, **call.keywords).arguments)
    except TypeError:
        return None


def operands_in(value):
    """Replace each NumPy array in nested lists and tuples by an Operand."""
    if isinstance(value, np.ndarray):
        return Operand(value, "Array", value.dtype.kind in "fc")
    if type(value) in (list, tuple) and value and not isinstance(value[0], str):
        return type(value)([operands_in(part) for part in value])
    return value
