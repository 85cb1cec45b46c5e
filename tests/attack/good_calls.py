# ruff: noqa: E501 -- a table
"""Good calls of all public names: functions with arguments, which an attack spoils one by one."""

from __future__ import annotations

import inspect
import itertools
import operator
from types import SimpleNamespace

import numpy as np

import arraytape as xp
from arraytape import diagnose, nn, optimizers, special
from arraytape._define.define_op import REGISTERED
from arraytape._record.op import REGISTRY
from arraytape.module import Module
from helpers import numpy_calls

from . import tool_calls, training_calls

VALUES = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.66]])
SQUARE = np.asarray([[2.0, 0.3, 0.7], [0.3, 1.9, 0.6], [0.7, 0.6, 3.1]])


def environment():
    """Arrays for the arguments of one call, and a tape."""
    return SimpleNamespace(
        x=xp.asarray(VALUES),
        w=xp.asarray(VALUES[::-1].copy()),
        m=xp.asarray(SQUARE),
        v=xp.asarray([0.4, -1.3, 2.2]),
        n=xp.asarray([0, 2, 1]),
        b=xp.asarray([True, False, True]),
        z=xp.asarray([0.4 + 1j, -1.3, 2.2j]),
        values=VALUES,
        tape=xp.GradientTape(persistent=True),
    )


CALLS = {}  # name -> a function of an environment: the function, its arguments, its keywords


def call(name, make):
    """Enter a call; names stand for one call each."""
    assert name not in CALLS, name
    CALLS[name] = make


# --- the namespace ---------------------------------------------------------------------------------
BY_NAME = {
    "x": lambda e: e.x, "x1": lambda e: e.x, "x2": lambda e: e.w, "axis": lambda e: 0,
    "dtype": lambda e: xp.float64, "device": lambda e: "cpu", "copy": lambda e: True,
    "keepdims": lambda e: True, "shape": lambda e: (2, 3), "correction": lambda e: 1.0,
    "arrays": lambda e: [e.x, e.w], "k": lambda e: 0, "num": lambda e: 5, "start": lambda e: 0.0,
    "stop": lambda e: 2.0, "step": lambda e: 0.5, "fill_value": lambda e: 1.5, "n": lambda e: 4,
    "axes": lambda e: (0, 1), "norm": lambda e: "ortho", "indices": lambda e: xp.asarray([0, 1]),
    "descending": lambda e: False, "stable": lambda e: True, "invert": lambda e: False,
    "offset": lambda e: 0, "endpoint": lambda e: True, "include_initial": lambda e: True,
}  # fmt: skip
OF = {
    "asarray": {"obj": lambda e: [[1.0], [2.0]]},
    "astype": {"dtype": lambda e: xp.float32},
    "bincount": {"x": lambda e: e.n, "weights": lambda e: e.v, "minlength": lambda e: 4},
    "broadcast_to": {"shape": lambda e: (4, 2, 3)},
    "can_cast": {"from_": lambda e: xp.float32, "to": lambda e: xp.float64},
    "clip": {"min": lambda e: 0.2, "max": lambda e: 1.0},
    "diff": {"n": lambda e: 1, "prepend": lambda e: xp.ones((1, 3)), "append": lambda e: xp.ones((1, 3))},
    "eye": {"n_rows": lambda e: 2, "n_cols": lambda e: 3},
    "fft.irfft": {"n": lambda e: 4},
    "isdtype": {"dtype": lambda e: xp.float64, "kind": lambda e: "real floating"},
    "logspace": {"base": lambda e: 10.0},
    "moveaxis": {"source": lambda e: 0, "destination": lambda e: 1},
    "nextafter": {},
    "pad": {"pad_width": lambda e: 1, "mode": lambda e: "constant", "constant_values": lambda e: 0.5,
            "reflect_type": lambda e: "even"},
    "repeat": {"repeats": lambda e: 2},
    "reshape": {"shape": lambda e: (3, 2)},
    "roll": {"shift": lambda e: 1},
    "scatter_add": {"shape": lambda e: (2, 3), "key": lambda e: slice(None)},
    "searchsorted": {"x1": lambda e: xp.asarray([0.1, 0.5, 0.9]), "x2": lambda e: e.v, "side": lambda e: "left",
                     "sorter": lambda e: e.n},
    "squeeze": {"x": lambda e: xp.ones((1, 3))},
    "take_along_axis": {"indices": lambda e: xp.asarray([[0, 1, 0]])},
    "tensordot": {"x1": lambda e: e.m, "x2": lambda e: e.m, "axes": lambda e: 1},
    "tile": {"repetitions": lambda e: (2, 1)},
    "where": {"condition": lambda e: e.b},
    "isin": {"x1": lambda e: e.n, "x2": lambda e: e.n},
    "count_nonzero": {}, "linalg.cross": {"axis": lambda e: -1}, "vecdot": {"axis": lambda e: -1},
    "linalg.vecdot": {"axis": lambda e: -1}, "linalg.matrix_norm": {"ord": lambda e: "fro"},
    "linalg.vector_norm": {"ord": lambda e: 2},
    "linalg.matrix_power": {"x": lambda e: e.m, "n": lambda e: 2},
    "linalg.pinv": {"rtol": lambda e: 1e-9}, "linalg.matrix_rank": {"rtol": lambda e: 1e-9},
    "linalg.qr": {"mode": lambda e: "reduced"}, "linalg.svd": {"full_matrices": lambda e: False},
    "linalg.cholesky": {"x": lambda e: e.m, "upper": lambda e: False},
    "linalg.solve": {"x1": lambda e: e.m, "x2": lambda e: e.v},
    "linalg.outer": {"x1": lambda e: e.v, "x2": lambda e: e.v},
    "linalg.tensordot": {"x1": lambda e: e.m, "x2": lambda e: e.m, "axes": lambda e: 1},
    "matmul": {"x1": lambda e: e.x, "x2": lambda e: e.m},
    "linalg.matmul": {"x1": lambda e: e.x, "x2": lambda e: e.m},
    "fft.fftfreq": {"n": lambda e: 4, "d": lambda e: 1.0}, "fft.rfftfreq": {"n": lambda e: 4, "d": lambda e: 1.0},
}  # fmt: skip
for _name in ("det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet"):
    OF[f"linalg.{_name}"] = {"x": lambda e: e.m}
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    OF[f"fft.{_name}"] = {"s": lambda e: (2, 4)}
for _name in (
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
):
    OF[_name] = {"x1": lambda e: e.n, "x2": lambda e: e.n}
OF["bitwise_invert"] = {"x": lambda e: e.n}
SEVERAL = {
    "broadcast_arrays": lambda e: [e.x, e.v], "broadcast_shapes": lambda e: [(2, 3), (3,)],
    "meshgrid": lambda e: [e.v, e.v], "result_type": lambda e: [e.x, xp.float32],
    "einsum": lambda e: ["ij,jk->ik", e.x, e.m],
}  # fmt: skip
APART = {
    "Array", "Module", "GradientTape", "ForwardAccumulator", "UnconnectedGradients", "LostGradientError",
    "TapeWarning", "Variable", "register_nesting", "set_exits", "set_default_device", "from_dlpack",
    "custom_gradient", "define_op", "grad_pass_through", "host_function", "no_gradient", "numpy_function",
    "recompute_grad", "register_gradient", "stop_gradient", "gauss_newton_product", "grad", "hessian",
    "hvp", "jacfwd", "jacobian", "jacrev", "jvp", "linearize", "sparse_hessian", "sparse_jacobian",
    "value_and_grad", "vhp", "vjp", "vmap", "__array_namespace_info__", "finfo", "iinfo", "bool",
}  # fmt: skip


def generated(name, function):
    """A call with every parameter of a function of the namespace."""

    def make(e):
        if name in SEVERAL:
            return function, SEVERAL[name](e), {}
        args, keywords = [], {}
        for p in inspect.signature(function).parameters.values():
            value = OF.get(name, {}).get(p.name) or BY_NAME.get(p.name)
            if value is None and p.default is p.empty:
                raise LookupError(f"{name}: what is {p.name}?")
            value = p.default if value is None else value(e)
            if p.kind is p.KEYWORD_ONLY:
                keywords[p.name] = value
            else:
                args.append(value)
        return function, args, keywords

    return make


def enter_namespace():
    for home, names in (("", xp.__all__), ("linalg", dir(xp.linalg)), ("fft", dir(xp.fft))):
        owner = getattr(xp, home) if home else xp
        for name in names:
            function = getattr(owner, name)
            if name in APART or not inspect.isfunction(function):
                continue
            full = f"{home}.{name}" if home else name
            call(f"xp.{full}", generated(full, function))
    for what, obj in (("an Array", lambda e: e.x), ("Arrays", lambda e: [e.x, e.w])):
        call(f"xp.asarray of {what}", lambda e, obj=obj: (
            xp.asarray, [obj(e)], {"dtype": None, "device": None, "copy": None}))  # fmt: skip


# SciPy's own, of spheroidal waves and Mathieu's, read memory that is not theirs for orders such as
# 2**63 and inf.
CRASH = {name for name in dir(special) if name.startswith(("obl_", "pro_", "mathieu_"))}


SPECIAL = [  # arguments of what has several results, or is made of others
    ([0.7], "airy airye fresnel itairy it2i0k0 it2j0y0 iti0k0 itj0y0 kelvin modfresnelm modfresnelp psi "
            "shichi sici sinc softplus"),
    ([5.0, 2], "comb"), ([5.0, 2, False], "perm"), ([0.4, 0.3], "ellipj"), ([1, 0.7], "jn"),
    ([4.0, False, "zero"], "factorial"), ([4, False, "zero"], "factorial2"), ([4, 3, False, "zero"], "factorialk"),
    ([0.7, 0, 1e-8], "lambertw"), ([2.5, 1.5], "zeta"), ([0.5, 0.7], "pbdv pbvv pbwa"),
    ([1, 0.7, False], "spherical_in spherical_jn spherical_kn spherical_yn"),
]  # fmt: skip


def enter_special():
    """Every public special function, on numbers in its domain."""
    from arraytape.special._statement import STATEMENTS

    for name in dir(special):
        statement = STATEMENTS.get(name)
        if statement is None or not statement.public or name in CRASH:
            continue
        middles = [
            1 if x in statement.integers | statement.counts else sum(domain) / 2
            for x, domain in zip(statement.op.inputs, statement.domains, strict=True)
        ]
        call(
            f"xp.special.{name}",
            lambda e, function=statement.function, middles=middles: (
                function, [xp.asarray(m) for m in middles], {},
            ),
        )  # fmt: skip
    for name in ("logsumexp", "softmax", "log_softmax"):
        call(
            f"xp.special.{name}",
            lambda e, name=name: (getattr(special, name), [e.x], {"axis": 1}),
        )
    for args, name in [(args, name) for args, names in SPECIAL for name in names.split()]:
        call(f"xp.special.{name}", lambda e, name=name, args=args: (
            getattr(special, name), [xp.asarray(x) if type(x) is float else x for x in args], {}))  # fmt: skip
    call("xp.special.multigammaln", lambda e: (special.multigammaln, [xp.asarray(3.0), 2], {}))


# --- Arrays ----------------------------------------------------------------------------------------
METHODS = {
    "all": [], "any": [], "argmax": [0], "argmin": [0], "argpartition": [1], "argsort": [0],
    "astype": ["float32"], "choose": [[[1.0, 2.0, 3.0]] * 3], "clip": [0.1, 1.0], "compress": [[True, False], 0],
    "copy": ["C"], "cumprod": [0], "cumsum": [0, "float64"], "diagonal": [0, 0, 1], "dot": [np.ones(3)],
    "fill": [1.0], "flatten": ["C"], "max": [0], "mean": [0, "float64"], "min": [0],
    "partition": [1, 0], "prod": [0], "put": [[0, 1], [1.0, 2.0]], "ravel": ["C"], "repeat": [2, 0],
    "reshape": [3, 2], "round": [1], "searchsorted": [0.5], "sort": [0], "squeeze": [None], "std": [0],
    "sum": [0, "float64"], "swapaxes": [0, 1], "take": [[0, 1], 0], "trace": [0, 0, 1], "transpose": [1, 0],
    "var": [0], "view": ["float64"], "to_device": ["cpu"], "__array_namespace__": [], "__getitem__": [0],
    "__setitem__": [0, 1.5], "__array__": ["float32"], "__dlpack__": [], "__round__": [1],
    "__divmod__": [2.0], "__rdivmod__": [2.0],
}  # fmt: skip
ON = {"choose": "n", "searchsorted": "v", "view": "z"}
KEYWORDS = {
    "__dlpack__": {"stream": None, "max_version": (1, 0), "dl_device": (1, 0), "copy": True},
    "__array__": {"copy": True},
    "__array_namespace__": {"api_version": "2023.12"},
    "to_device": {"stream": None},
    "all": {"keepdims": True, "where": True},
    "any": {"keepdims": True, "where": True},
    "sum": {"keepdims": True, "initial": 0.0, "where": True},
    "prod": {"dtype": None, "keepdims": True, "initial": 1.0, "where": True},
    "mean": {"keepdims": True, "where": True},
    "std": {"ddof": 1, "keepdims": True, "where": True},
    "var": {"ddof": 1, "keepdims": True, "mean": None},
    "astype": {"order": "K", "casting": "unsafe", "copy": True},
    "reshape": {"order": "C", "copy": None},
    "searchsorted": {"side": "left", "sorter": None},
    "sort": {"kind": None},
    "argsort": {"kind": None, "stable": True},
    "max": {"keepdims": True, "initial": 0.0, "where": True},
    "min": {"keepdims": True, "initial": 9.0, "where": True},
}
BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "imatmul",
    "iand",
    "ior",
    "ixor",
    "ilshift",
    "irshift",
]


def enter_methods():
    for name, args in METHODS.items():
        call(
            f"x.{name}",
            lambda e, name=name, args=args: (
                getattr(getattr(e, ON.get(name, "x")), name), list(args), KEYWORDS.get(name, {}),
            ),
        )  # fmt: skip
    for name in BINARY:
        function = getattr(operator, name)
        whole = name.strip("_").lstrip("i") in ("and", "or", "xor", "lshift", "rshift", "nvert")
        first = "n" if whole or name in ("ior", "ixor") else "m" if "matmul" in name else "x"
        call(f"operator.{name}", lambda e, f=function, x=first: (
            f, [getattr(e, x), e.m * 1.0 if x == "m" else 2], {}))  # fmt: skip
    for name in ("real", "imag", "flat"):
        call(f"x.{name} =", lambda e, name=name: (setattr, [e.z, name, 1.0], {}))


# --- the rest ---------------------------------------------------------------------------------------
def square(x):
    return xp.sum(x * x)


def with_nothing_beside(x):
    return square(x), None


def enter_functional():
    for name in ("grad", "value_and_grad"):
        call(
            f"xp.{name}",
            lambda e, name=name: (
                lambda g, argnums, aux, verify, x: getattr(xp, name)(
                    g, argnums, aux, verify=verify
                )(x),
                [with_nothing_beside, 0, True, False, e.v], {},
            ),
        )  # fmt: skip
    for name in ("jacobian", "jacfwd", "jacrev", "hessian"):
        call(
            f"xp.{name}",
            lambda e, name=name: (
                lambda g, argnums, aux, size, verify, x: getattr(xp, name)(
                    g, argnums, aux, chunk_size=size, verify=verify
                )(x),
                [with_nothing_beside, 0, True, 2, False, e.v], {},
            ),
        )  # fmt: skip
    for name in ("sparse_jacobian", "sparse_hessian"):
        call(
            f"xp.{name}",
            lambda e, name=name: (
                lambda g, structure, argnums, size, x: getattr(xp, name)(
                    g, structure, argnums, chunk_size=size
                )(x),
                [square, None, 0, 2, e.v], {},
            ),
        )  # fmt: skip
    call("xp.jvp", lambda e: (xp.jvp, [square, (e.v,), (e.v,), False], {"verify": False}))
    for name in ("hvp", "vhp"):
        call(
            f"xp.{name}",
            lambda e, name=name: (getattr(xp, name), [square, (e.v,), (e.v,)], {"verify": False}),
        )
    call(
        "xp.gauss_newton_product",
        lambda e: (xp.gauss_newton_product, [xp.sin, square, (e.v,), (e.v,)], {}),
    )
    call(
        "xp.vjp", lambda e: (lambda f, x, g: xp.vjp(f, x)[1](g), [square, e.v, xp.asarray(1.0)], {})
    )
    call(
        "xp.linearize", lambda e: (lambda f, x, t: xp.linearize(f, x)[1](t), [square, e.v, e.v], {})
    )
    call(
        "xp.functional.ravel",
        lambda e: (lambda tree, v: xp.functional.ravel(tree)[1](v), [{"a": e.v}, e.v], {}),
    )
    call(
        "xp.vmap",
        lambda e: (
            lambda f, ins, outs, size, x: xp.vmap(f, ins, outs, chunk_size=size)(x),
            [square, 0, 0, 1, e.x], {},
        ),
    )  # fmt: skip


def enter_tapes():
    call("xp.GradientTape", lambda e: (xp.GradientTape, [False, True], {
        "exits": "warn", "check_numerics": False, "profile": False, "memory_limit": 1000}))  # fmt: skip
    call(
        "xp.ForwardAccumulator",
        lambda e: (entered, [e.v, xp.asarray([1.0, 0.0, 0.0])], {"exits": "warn"}),
    )
    call("tape.watch", lambda e: (e.tape.watch, [e.w], {}))
    call("tape.gradient", lambda e: (gradient, [e.w, e.x], {
        "output_gradients": e.w, "unconnected_gradients": "none"}))  # fmt: skip
    call("tape.jacobian", lambda e: (jacobian, [e.w, e.x], {"unconnected_gradients": "none"}))
    call("xp.Variable", lambda e: (xp.Variable, [[1.0, 2.0], True, "w", None], {}))
    for name in ("assign", "assign_add", "assign_sub"):
        call(
            f"v.{name}",
            lambda e, name=name: (getattr(xp.Variable([1.0, 2.0]), name), [[3.0, 4.0]], {}),
        )
    for word in ("add", "sub", "update", "max", "min", "mul", "div"):
        call(
            f"v.scatter_{word}",
            lambda e, name=f"scatter_{word}": (
                getattr(xp.Variable([1.0, 2.0]), name), [xp.IndexedSlices([3.0], [0])], {}
            ),
        )  # fmt: skip
    for word in ("add", "sub", "update", "max", "min"):
        call(
            f"v.scatter_nd_{word}",
            lambda e, name=f"scatter_nd_{word}": (
                getattr(xp.Variable([1.0, 2.0]), name), [[[0]], [3.0]], {}
            ),
        )  # fmt: skip
    call("v.sparse_read", lambda e: (xp.Variable([1.0, 2.0]).sparse_read, [[0]], {}))
    call("v.gather_nd", lambda e: (xp.Variable([1.0, 2.0]).gather_nd, [[[0]]], {}))
    call("v.__setitem__", lambda e: (xp.Variable([1.0, 2.0]).__setitem__, [0, 3.0], {}))
    call("xp.stop_gradient", lambda e: (xp.stop_gradient, [e.x], {}))
    call(
        "xp.from_dlpack", lambda e: (xp.from_dlpack, [np.ones(3)], {"device": "cpu", "copy": True})
    )
    call("xp.finfo", lambda e: (xp.finfo, [xp.float32], {}))
    call("xp.iinfo", lambda e: (xp.iinfo, [xp.int32], {}))
    call("xp.set_exits", lambda e: (xp.set_exits, ["warn"], {}))


def entered(primals, tangents, **options):
    """A tangent of a sum."""
    with xp.ForwardAccumulator(primals, tangents, **options) as accumulator:
        y = primals * 2.0
    return accumulator.jvp(y)


def gradient(target, sources, **options):
    """A gradient by a tape of its own."""
    with xp.GradientTape() as tape:
        tape.watch(sources)
        y = target * 2.0
    return tape.gradient([y, target], sources, **{
        **options, "output_gradients": [options["output_gradients"]] * 2})  # fmt: skip


def jacobian(target, sources, **options):
    """A Jacobian by a tape of its own."""
    with xp.GradientTape() as tape:
        tape.watch(sources)
        y = target * sources
    return tape.jacobian(y, sources, **options)


COUNTER = itertools.count()


def enter_rules():
    def custom(f, x):
        return xp.custom_gradient(f)(x)

    def with_rule(x):
        return x * 2.0, lambda g: g * 2.0

    call("xp.custom_gradient", lambda e: (custom, [with_rule, e.x], {}))
    call("xp.recompute_grad", lambda e: (lambda f, x: xp.recompute_grad(f)(x), [square, e.x], {}))
    call(
        "xp.grad_pass_through",
        lambda e: (lambda f, x: xp.grad_pass_through(f)(x), [xp.round, e.x], {}),
    )
    call("xp.numpy_function", lambda e: (
        xp.numpy_function, [lambda x: np.sum(x), e.x], {}))  # fmt: skip
    call("xp.host_function", lambda e: (
        lambda f, vjp, x: xp.host_function(f, vjp)(x), [np.sin, lambda g, x: g * np.cos(x), e.x], {}))  # fmt: skip
    call("xp.custom_gradient of", lambda e: (
        lambda value: xp.custom_gradient(lambda x: (value, lambda g: g))(e.x), [xp.asarray(1.0)], {}))  # fmt: skip
    call("xp.host_function of", lambda e: (
        lambda value: xp.host_function(lambda x: value, lambda g, x: g)(e.x), [1.0], {}))  # fmt: skip
    call("xp.numpy_function of", lambda e: (
        lambda value: xp.numpy_function(lambda x: value, e.x), [1.0], {}))  # fmt: skip
    call("xp.define_op of", lambda e: (given_back, [1.0], {}))
    call("xp.define_op", lambda e: (
        defined, ["attacked", lambda x: x * 2.0, "primitive", lambda g: g * 2.0], {
            "joint": None, "outputs": ("y",), "samples": (), "domain": (-1.0, 1.0)}))  # fmt: skip
    call("xp.register_gradient", lambda e: (
        ruled, ["attacked", lambda name, rule: xp.register_gradient(name)(rule), lambda g: g * 2.0], {}))  # fmt: skip
    call("xp.no_gradient", lambda e: (ruled, ["attacked", xp.no_gradient], {}))
    call("xp.set_default_device", lambda e: (xp.set_default_device, ["cpu"], {}))


def defined(name, *args, **options):
    """An op that is forgotten again."""
    before = dict(REGISTRY)
    try:
        return xp.define_op(name, *args, **options)(xp.ones(2))
    finally:
        for other in set(REGISTRY) - set(before):
            del REGISTRY[other]


def ruled(name, declare, *rule):
    """The gradient of an op that gets its rule, or none, by name."""
    before = dict(REGISTRY)
    try:
        double = xp.define_op("attacked", lambda x: x * 2.0)
        declare(name, *rule)
        x = xp.ones(2)
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = double(x)
        return tape.gradient(y, x)
    finally:
        REGISTERED.pop("attacked", None)
        for other in set(REGISTRY) - set(before):
            del REGISTRY[other]


def given_back(value):
    """What an op gives whose forward gives this."""
    return defined("attacked", lambda x: value, "nondifferentiable")


def dense():
    layer = nn.Dense(2, seed=0)
    layer(xp.ones((1, 3)))
    return layer


def enter_learning():
    call("nn.Dense", lambda e: (
        lambda x, *args: nn.Dense(*args)(x), [e.x, 2, "relu", True, 0, "dense"], {}))  # fmt: skip
    call("nn.Dense of", lambda e: (dense(), [e.x], {}))
    for name in ("relu", "sigmoid", "softplus", "tanh"):
        call(f"nn.{name}", lambda e, name=name: (getattr(nn, name), [e.x], {}))
    for name in ("softmax", "log_softmax"):
        call(f"nn.{name}", lambda e, name=name: (getattr(nn, name), [e.x, -1], {}))
    call("nn.mean_squared_error", lambda e: (nn.mean_squared_error, [e.x, e.w, 0], {}))
    call("nn.softmax_cross_entropy", lambda e: (nn.softmax_cross_entropy, [e.x, e.w, -1], {}))
    call("xp.Module", lambda e: (Module, ["name"], {}))
    for name, args in {"SGD": [0.1, 0.9], "Adam": [0.1, 0.9, 0.99, 1e-7]}.items():
        call(f"optimizers.{name}", lambda e, name=name, args=args: (
            lambda *a: getattr(optimizers, name)(*a).apply_gradients([(xp.ones(2), xp.Variable([1.0, 2.0]))]),
            [*args, "name"], {}))  # fmt: skip
    call("optimizers.SGD.apply_gradients", lambda e: (
        optimizers.SGD(0.1).apply_gradients, [[(xp.ones(2), xp.Variable([1.0, 2.0]))]], {}))  # fmt: skip
    call("optimizers.Adam.apply_gradients", lambda e: (
        lambda g, v: optimizers.Adam(0.1).apply_gradients([(g, v)]), [xp.ones(2), xp.Variable([1.0, 2.0])], {}))  # fmt: skip
    call(
        "optimizers.SGD.build",
        lambda e: (optimizers.SGD(0.1).build, [[xp.Variable([1.0, 2.0])]], {}),
    )


def enter_diagnose():
    def taped(f):
        def run(*args, **options):
            with xp.GradientTape(persistent=True) as tape:
                x = xp.ones(3)
                tape.watch(x)
                y = xp.sum(x * x)
            return f(tape, y, x, *args, **options)

        return run

    call("diagnose.graph", lambda e: (
        taped(lambda tape, y, x, fmt, fold, title: diagnose.graph(tape, y, x, fmt, fold=fold, title=title)),
        ["dot", "auto", ""], {}))  # fmt: skip
    for name in ("explain", "nans", "graph"):
        f = getattr(diagnose, name)
        call(f"diagnose.{name} of", lambda e, f=f: (
            lambda tape, y, x: f(e.tape if tape is None else tape, y, x), [e.tape, e.w, e.x], {}))  # fmt: skip


def enter_numpy():
    """The table of the tests of NumPy's functions, and all ufuncs."""
    for name, calls in numpy_calls.CALLS.items():
        if name.startswith("np.save"):
            continue
        function = operator.attrgetter(name[3:])(np)
        for i, one in enumerate(calls):
            call(f"{name} {i}", lambda e, f=function, one=one: (
                f, as_arrays(list(one.args)), as_arrays(one.keywords)))  # fmt: skip
    for name in ("exp", "add", "multiply", "bitwise_and", "matmul"):
        ufunc = getattr(np, name)
        operand = "m" if name == "matmul" else "n" if name == "bitwise_and" else "x"
        call(f"np.{name}", lambda e, f=ufunc, x=operand: (
            f, [getattr(e, x)] * f.nin, {"out": xp.zeros((3, 3)) if x == "m" else None, "where": True,
                                         "casting": "same_kind", "order": "K", "dtype": None}
            if x == "x" else {}))  # fmt: skip
    call("np.add.reduce", lambda e: (np.add.reduce, [e.x, 0], {"keepdims": True, "initial": 0.0}))
    call("np.add.outer", lambda e: (np.add.outer, [e.v, e.v], {}))
    call("np.add.accumulate", lambda e: (np.add.accumulate, [e.x, 0], {}))
    call("np.add.at", lambda e: (np.add.at, [e.w, (0, 1), 2.0], {}))


def as_arrays(value):
    """A nesting with an Array in the place of each NumPy array."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value)
    if isinstance(value, dict):
        return {key: as_arrays(part) for key, part in value.items()}
    return type(value)(map(as_arrays, value)) if type(value) in (list, tuple) else value


for _enter in (enter_namespace, enter_special, enter_methods, enter_functional, enter_tapes, enter_rules,
               enter_learning, enter_diagnose, enter_numpy):  # fmt: skip
    _enter()
for _enter in (*tool_calls.ENTER, training_calls.enter):
    _enter(call)
