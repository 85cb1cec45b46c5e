"""Statements that must raise an error, by their mistake; ``tests/util/test_errors.py`` runs them."""

import operator

import numpy as np

import arraytape as xp
from arraytape import GradientTape

HERE = r"\[at .*bad_ops\.py:\d+"  # the end of a message, which names the user's line
LinAlgError = np.linalg.LinAlgError


def setitem(x, key, value):
    x[key] = value


def enter_twice(e):
    with e.tape:
        pass


def left(e):
    with GradientTape() as tape:
        pass
    tape.watch(e.x)


# Calls on the arrays of the test's ``environment`` while its tape records, with the exact class of the
# exception and regular expressions that its message must match.
OPS = {
    # --- shapes
    "add-shapes": (
        lambda e: xp.add(e.x, e.two),
        ValueError,
        ["add", r"x1: .*float64\(3,\)", r"x2: .*float64\(2,\)", HERE],
    ),
    "operator-shapes": (
        lambda e: e.x - e.two,
        ValueError,
        ["subtract", r"float64\(3,\)", r"float64\(2,\)", HERE],
    ),
    "matmul-shapes": (
        lambda e: e.x @ e.two,
        ValueError,
        ["matmul", r"float64\(3,\)", r"float64\(2,\)", HERE],
    ),
    "matmul-0-d": (lambda e: e.x @ e.s, ValueError, ["matmul", r"float64\(\)", HERE]),
    "where-shapes": (
        lambda e: xp.where(e.x > 0, e.x, e.two),
        ValueError,
        ["where", r"bool\(3,\)", r"float64\(2,\)", HERE],
    ),
    "concat-shapes": (
        lambda e: xp.concat([e.w, e.x]),
        ValueError,
        ["concat", r"float64\(2, 3\)", r"float64\(3,\)", HERE],
    ),
    "stack-shapes": (
        lambda e: xp.stack([e.x, e.two]),
        ValueError,
        ["stack", r"float64\(3,\)", r"float64\(2,\)", HERE],
    ),
    "reshape": (
        lambda e: xp.reshape(e.x, (2, 2)),
        ValueError,
        ["reshape", r"float64\(3,\)", r"\(2, 2\)", HERE],
    ),
    "broadcast_to": (
        lambda e: xp.broadcast_to(e.x, (2, 2)),
        ValueError,
        ["broadcast_to", r"float64\(3,\)", r"\(2, 2\)", HERE],
    ),
    "sum-axis": (
        lambda e: xp.sum(e.x, axis=3),
        np.exceptions.AxisError,
        ["sum", r"float64\(3,\)", "axis: int 3", HERE],
    ),
    "flip-axis": (
        lambda e: xp.flip(e.x, axis=5),
        np.exceptions.AxisError,
        ["flip", r"\(3,\)", "5", HERE],
    ),
    "expand_dims-axis": (
        lambda e: xp.expand_dims(e.x, axis=5),
        np.exceptions.AxisError,
        ["expand_dims", r"\(3,\)", "5", HERE],
    ),
    "squeeze": (
        lambda e: xp.squeeze(e.x, axis=0),
        ValueError,
        ["squeeze", r"\(3,\)", "length 1", HERE],
    ),
    "permute_dims": (
        lambda e: xp.permute_dims(e.x, (0, 1)),
        ValueError,
        ["permute_dims", r"float64\(3,\)", r"\(0, 1\)", HERE],
    ),
    "mT-of-a-vector": (lambda e: e.x.mT, ValueError, ["matrix_transpose", r"\(3,\)", HERE]),
    "max-of-nothing": (
        lambda e: xp.max(xp.zeros((0,))),
        ValueError,
        ["max", r"float64\(0,\)", HERE],
    ),
    "svd-of-a-vector": (
        lambda e: xp.linalg.svd(e.x),
        LinAlgError,
        [r"linalg\.svd", r"float64\(3,\)", HERE],
    ),
    "take-out-of-range": (
        lambda e: xp.take(e.x, xp.asarray([7])),
        IndexError,
        ["take", r"float64\(3,\)", HERE],
    ),
    "zeros-negative": (lambda e: xp.zeros((-1,)), ValueError, ["zeros", "-1", HERE]),
    # --- foreign types
    "add-str": (lambda e: e.x + "a", TypeError, [r"\+", "Array", "str"]),
    "str-add": (lambda e: "a" + e.x, TypeError, ["Array", "str"]),
    "add-none": (lambda e: e.x + None, TypeError, [r"\+", "Array", "NoneType"]),
    "divide-strings": (lambda e: e.x / ["a", "b", "c"], TypeError, ["/", "Array", "list"]),
    "add-object": (lambda e: object() * e.x, TypeError, [r"\*", "Array", "object"]),
    "less-str": (lambda e: e.x < "a", TypeError, ["<", "Array", "str"]),
    "matmul-number": (lambda e: e.x @ 2.0, ValueError, ["matmul", "2.0", HERE]),
    "in-place-str": (lambda e: operator.iadd(e.x, "a"), TypeError, [r"\+", "Array", "str"]),
    "exp-str": (lambda e: xp.exp("a"), TypeError, ["exp: x", "str", "asarray", HERE]),
    "exp-none": (lambda e: xp.exp(None), TypeError, ["exp", "NoneType", HERE]),
    "exp-list": (lambda e: xp.exp([e.x]), TypeError, ["exp: x", "list", "asarray", HERE]),
    "add-dict": (lambda e: xp.add(e.x, {}), TypeError, ["add: x2", "dict", "asarray", HERE]),
    "add-none-to-a-number": (
        lambda e: xp.add(None, 2.0),
        TypeError,
        ["add", "Array", "asarray", HERE],
    ),
    "concat-array": (lambda e: xp.concat(e.x), TypeError, ["concat", "list or tuple", HERE]),
    "concat-str": (
        lambda e: xp.concat([e.x, "a"]),
        TypeError,
        [r"concat: arrays\[1\]", "str", HERE],
    ),
    "stack-nothing": (lambda e: xp.stack([]), ValueError, ["stack", "empty", HERE]),
    "stop_gradient-number": (lambda e: xp.stop_gradient(1.0), TypeError, ["stop_gradient", "1.0"]),
    "asarray-str": (lambda e: xp.asarray("a"), TypeError, ["asarray", "str", HERE]),
    "asarray-dict": (lambda e: xp.asarray({}), TypeError, ["asarray", "dict", HERE]),
    "asarray-ragged": (
        lambda e: xp.asarray([[1.0], [1.0, 2.0]]),
        ValueError,
        ["asarray", "inhomogeneous", HERE],
    ),
    "asarray-cast-without-copy": (
        lambda e: xp.asarray(e.x, dtype=xp.float32, copy=False),
        ValueError,
        ["asarray", "float32", "copy=False"],
    ),
    "asarray-device": (lambda e: xp.asarray(1.0, device="moon"), ValueError, ["moon", "cpu"]),
    "astype-unknown": (lambda e: xp.astype(e.x, "spam"), TypeError, ["astype", "spam", HERE]),
    "positional-only": (lambda e: xp.add(x1=e.x, x2=e.x), TypeError, ["add", "positional-only"]),
    "unknown-parameter": (lambda e: xp.sum(e.x, axes=0), TypeError, ["sum", "axes"]),
    # --- dtypes
    "bitwise_and-floats": (
        lambda e: xp.bitwise_and(e.x, e.x),
        TypeError,
        ["bitwise_and", "float64", HERE],
    ),
    "and-floats": (lambda e: e.x & e.x, TypeError, ["bitwise_and", "float64", HERE]),
    "invert-floats": (lambda e: ~e.x, TypeError, ["bitwise_invert", "float64", HERE]),
    "shift-floats": (lambda e: e.x << 1, TypeError, ["bitwise_left_shift", "float64", HERE]),
    "negative-bool": (lambda e: -(e.x > 0), TypeError, ["negative", "bool", HERE]),
    "take-floats": (lambda e: xp.take(e.x, e.x), TypeError, ["take", "float64", HERE]),
    # --- conversions to Python numbers
    "float-of-a-vector": (lambda e: float(e.x), TypeError, ["float", r"float64\(3,\)", HERE]),
    "int-of-a-vector": (lambda e: int(e.x), TypeError, ["int", r"float64\(3,\)", HERE]),
    "complex-of-a-vector": (
        lambda e: complex(e.x),
        TypeError,
        ["complex", r"float64\(3,\)", HERE],
    ),
    "bool-of-a-vector": (lambda e: bool(e.x), ValueError, ["bool", r"float64\(3,\)", HERE]),
    "item-of-a-vector": (lambda e: e.x.item(), ValueError, ["item", r"float64\(3,\)", HERE]),
    "index-of-a-float": (lambda e: range(e.s), TypeError, ["index", r"float64\(\)", HERE]),
    "len-of-0-d": (lambda e: len(e.s), TypeError, ["len", "0-d"]),
    "iteration-of-0-d": (lambda e: list(e.s), TypeError, ["iteration", "0-d"]),
    "hash": (lambda e: hash(e.x), TypeError, ["unhashable", "Array"]),
    "unknown-version": (
        lambda e: e.x.__array_namespace__(api_version="1999.12"),
        ValueError,
        [r"1999\.12", r"2025\.12"],
    ),
    # --- keys
    "getitem-out-of-range": (
        lambda e: e.x[7],
        IndexError,
        ["getitem", r"float64\(3,\)", "key: int 7", HERE],
    ),
    "getitem-too-many": (lambda e: e.x[0, 0], IndexError, ["getitem", r"float64\(3,\)", HERE]),
    "getitem-str": (lambda e: e.x["a"], IndexError, ["getitem", "key: str 'a'", HERE]),
    "getitem-float": (lambda e: e.x[1.5], IndexError, ["getitem", r"float 1\.5", HERE]),
    "getitem-float-array": (lambda e: e.x[e.x], IndexError, ["getitem", r"float64\(3,\)", HERE]),
    "getitem-float-slice": (lambda e: e.x[0.5:], TypeError, ["getitem", "slice", HERE]),
    "getitem-mask-too-long": (
        lambda e: e.x[xp.asarray([True] * 4)],
        IndexError,
        ["getitem", r"bool\(4,\)", HERE],
    ),
    "getitem-array-out-of-range": (
        lambda e: e.x[xp.asarray([0, 9])],
        IndexError,
        ["getitem", r"int64\(2,\)", HERE],
    ),
    "setitem-out-of-range": (
        lambda e: setitem(e.x, 7, 1.0),
        IndexError,
        ["setitem", r"float64\(3,\)", "key: int 7", HERE],
    ),
    "setitem-str-key": (
        lambda e: setitem(e.x, "a", 1.0),
        IndexError,
        ["setitem", "key: str 'a'", HERE],
    ),
    "setitem-mask-too-long": (
        lambda e: setitem(e.x, xp.asarray([True] * 4), 1.0),
        IndexError,
        ["setitem", r"bool\(4,\)", HERE],
    ),
    # --- values
    "setitem-shape": (
        lambda e: setitem(e.x, slice(None), e.two),
        ValueError,
        ["setitem", r"float64\(3,\)", r"value: .*float64\(2,\)", HERE],
    ),
    "setitem-mask-count": (
        lambda e: setitem(e.x, e.x > 0, e.two),
        ValueError,
        ["setitem", r"float64\(2,\)", HERE],
    ),
    "setitem-str": (
        lambda e: setitem(e.x, 0, "a"),
        TypeError,
        ["setitem", "value", "str", "asarray", HERE],
    ),
    "setitem-none": (
        lambda e: setitem(e.x, 0, None),
        TypeError,
        ["setitem", "value", "NoneType", HERE],
    ),
    "setitem-complex": (
        lambda e: setitem(e.x, 0, 1j),
        TypeError,
        ["setitem", "complex", HERE],
    ),
    "setitem-complex-array": (
        lambda e: setitem(e.x, 0, xp.asarray(1j)),
        TypeError,
        ["setitem", "complex128", HERE],
    ),
    "setitem-read-only": (
        lambda e: setitem(e.wide, (0, 0), 1.0),
        ValueError,
        [r"float64\(2, 3\)", "read-only", HERE],
    ),
    "setitem-read-only-memory": (
        lambda e: setitem(e.locked, 0, 1.0),
        ValueError,
        [r"float64\(3,\)", "read-only", HERE],
    ),
    # --- in-place operators
    "in-place-read-only": (
        lambda e: operator.iadd(e.wide, 1.0),
        ValueError,
        ["read-only", HERE],
    ),
    "in-place-grows": (
        lambda e: operator.iadd(e.x, e.w),
        ValueError,
        ["add", r"\(2, 3\)", r"float64\(3,\)", "keep its shape", HERE],
    ),
    "in-place-grows-0-d": (
        lambda e: operator.imul(e.s, e.two),
        ValueError,
        ["multiply", r"\(2,\)", r"float64\(\)", HERE],
    ),
    "in-place-shapes": (
        lambda e: operator.isub(e.x, e.two),
        ValueError,
        ["subtract", r"\(2,\)", r"float64\(3,\)", HERE],
    ),
    "in-place-matmul-changes-shape": (
        lambda e: operator.imatmul(e.w, xp.ones((3, 4))),
        ValueError,
        ["matmul|in-place", r"\(2, 3\)", r"4", HERE],
    ),
    "in-place-matmul-of-a-followed-matrix": (
        lambda e: operator.imatmul(e.m, xp.ones((3, 4))),
        ValueError,
        ["matmul", r"float64\(2, 3\)", r"float64\(3, 4\)|\(2, 4\)", HERE],
    ),
    "in-place-complex": (
        lambda e: operator.iadd(e.x, 1j),
        TypeError,
        ["add", "complex128", "float64", HERE],
    ),
    "in-place-complex-array": (
        lambda e: operator.imul(e.x, xp.asarray(1j)),
        TypeError,
        ["multiply", "complex128", "float64", HERE],
    ),
    "in-place-float-into-int": (
        lambda e: operator.iadd(e.n, 1.5),
        TypeError,
        ["add", "float64", "int64", HERE],
    ),
    "in-place-division-of-int": (
        lambda e: operator.itruediv(e.n, 2),
        TypeError,
        ["divide", "float64", "int64", HERE],
    ),
    "in-place-bitwise-floats": (
        lambda e: operator.iand(e.x, 1),
        TypeError,
        ["bitwise_and", "float64", HERE],
    ),
    # --- the tape
    "enter-twice": (enter_twice, ValueError, ["already recording"]),
    "watch-outside": (left, RuntimeError, ["watch", "with tape"]),
    "watch-number": (lambda e: e.tape.watch(3.0), TypeError, ["watch", r"float 3\.0", "asarray"]),
    "watch-numpy": (
        lambda e: e.tape.watch(np.ones(3)),
        TypeError,
        ["watch", r"ndarray float64\(3,\)", "asarray"],
    ),
    "watch-str": (lambda e: e.tape.watch("a"), TypeError, ["watch", "str 'a'"]),
    "watch-set": (lambda e: e.tape.watch({1.0}), TypeError, ["watch", "set"]),
    "watch-nested-number": (
        lambda e: e.tape.watch({"a": [e.two, 3.0]}),
        TypeError,
        ["watch", r"float 3\.0", "asarray"],
    ),
}
