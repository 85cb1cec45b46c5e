"""The advice on names of other libraries is followed: it gives what the name would have given.

A row has the arguments of a call by the other library's name, and what that call returns in NumPy's
words.  Every piece of code in an advice is run.  A function that is named alone gets the arguments of
the row; an expression or a statement finds its operands by the names that advice uses, and of a
statement the value of x is compared.  ``found`` at the start of a value begins a condition.
"""

import ast
import math
import re
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import checkpoint, implicit, nn, optimizers, special  # noqa: F401  # so that xp has them
from arraytape._util import other_names

# Where NumPy's own function, called with these arguments, gives the value.

GPU = "needs a GPU"
L2 = "x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True))"
ALTERNATIVES = "of alternatives"  # whose values the test of that name has
# By table and name: arguments, and the value in NumPy's words.
ROWS = {
    "namespace": {
        "random": ("", "found found.shape == shape"),
        # PyTorch
        "Tensor": ("", "found isinstance(x, found)"),
        "addmm": ("", "x + y @ z"),
        "as_tensor": ("raw", "raw"),
        "autograd": ("", "found callable(found)"),
        "bmm": ("cube, cube", "cube @ cube"),
        "cat": ("arrays", "np.concatenate(arrays)"),
        "chunk": ("", "np.array_split(x, chunks)"),
        "clamp": ("x, low, high", "np.clip(x, low, high)"),
        "clone": ("", "x"),
        "cuda": GPU,
        "device": ("", "found found in ('cpu', 'cuda:0')"),
        "div": ("x, y", "x / y"),
        "enable_grad": ("", "found hasattr(found, '__enter__')"),
        "eq": ("x, y", "x == y"),
        "flatten": ("", "x.ravel()"),
        "float": ("", "found found in (np.float32, np.float64)"),
        "from_numpy": ("raw", "raw"),
        "func": ("", "found callable(found)"),
        "gather": ("", ALTERNATIVES),
        "elu": ("", "np.where(x > 0, x, np.expm1(x))"),
        "ge": ("x, y", "x >= y"),
        "gt": ("x, y", "x > y"),
        "le": ("x, y", "x <= y"),
        "lt": ("x, y", "x < y"),
        "ne": ("x, y", "x != y"),
        "neg": ("x", "-x"),
        "index_select": ("x, rows, axis=0", "x[rows]"),
        "inference_mode": ("", "found hasattr(found, '__enter__')"),
        "no_grad": ("", "found hasattr(found, '__enter__')"),
        "gelu": ("", "0.5 * x * (1.0 + erf(x / 2**0.5))"),
        "silu": ("", "x / (1.0 + np.exp(-x))"),
        "leaky_relu": ("", "np.maximum(x, 0.01 * x)"),
        "lgamma": ("x", "lgamma(x)"),
        "manual_seed": ("", "found callable(found.normal)"),
        **dict.fromkeys(["normal", "rand", "randn"], ("", "found found.shape == shape")),
        "repeat_interleave": ("x, 2", "np.repeat(x, 2)"),
        "rsqrt": ("", "x**-0.5"),
        "masked_select": ("", "x[mask]"),
        "mm": ("x, y", "x @ y"),
        "mv": ("x, v", "x @ v"),
        "movedim": ("cube, 0, 2", "np.moveaxis(cube, 0, 2)"),
        "mul": ("x, y", "x * y"),
        "norm": ("x", "np.sqrt(np.sum(x * x))"),
        "numel": ("", "x.size"),
        "optim": ("", "found hasattr(found, 'Adam')"),
        "permute": ("cube, (2, 0, 1)", "np.transpose(cube, (2, 0, 1))"),
        "relu": ("x", "np.maximum(x, 0)"),
        "scatter": ("", "None"),
        "sigmoid": ("x", "1 / (1 + np.exp(-x))"),
        "softmax": ("x", "softmax(x)"),
        "sub": ("x, y", "x - y"),
        "t": ("", "x.T"),
        "tensor": ("raw", "raw"),
        "topk": ("", ALTERNATIVES),
        "unsqueeze": ("x, axis=1", "x[:, None]"),
        # TensorFlow
        "cast": ("x, xp.float32", "x.astype(np.float32)"),
        "clip_by_value": ("x, low, high", "np.clip(x, low, high)"),
        "constant": ("raw", "raw"),
        "convert_to_tensor": ("raw", "raw"),
        "debugging": ("", "found found is not None"),
        "fill": ("shape, value", "np.full(shape, value)"),
        "cond": ("", "np.where(mask, x, y)"),
        "gather_nd": ("", "x[tuple(indices.T)]"),
        "gradients": ("target, source", "2 * source"),
        "keras": ("", "found found is not None"),
        "map_fn": ("", "f(x)"),
        "one_hot": ("", "np.eye(n)[labels]"),
        "print": ("", "None"),
        "py_function": ("", "found callable(found)"),
        "range": ("2, 8, 3", "np.arange(2, 8, 3)"),
        "rank": ("", "x.ndim"),
        "reduce_all": ("mask", "np.all(mask)"),
        "reduce_any": ("mask", "np.any(mask)"),
        "reduce_euclidean_norm": ("x", "np.sqrt(np.sum(x * x))"),
        "reduce_logsumexp": ("x", "np.log(np.sum(np.exp(x)))"),
        **{
            f"reduce_{n}": ("x", f"np.{n}(x)") for n in ("max", "mean", "min", "prod", "std", "sum")
        },
        "reduce_variance": ("x", "np.var(x)"),
        "reverse": ("", "np.flip(x, axis)"),
        "scatter_nd": ("", "scatter_nd(indices, updates, 0 * x)"),
        "tensor_scatter_nd_add": ("", "at(np.add, x, indices, updates)"),
        "truediv": ("x, y", "x / y"),
        "squared_difference": ("", "(x - y) ** 2"),
        "vectorized_map": ("", "f(x)"),
        "Model": ("", "found issubclass(found, xp.Module)"),
        "TensorArray": ("", "np.stack(arrays)"),
        **dict.fromkeys(["activations", "layers", "models"], ("", "found found is xp.nn")),
        "add_n": ("", "np.sum(arrays, axis=0)"),
        "image": ("", "found found.resize(cube, (6, 6)).shape[-3:-1] == (6, 6)"),
        "callbacks": None,
        "autodiff": ("x, y", "found isinstance(found, xp.ForwardAccumulator)"),
        "boolean_mask": ("", "x[mask]"),
        "complex": ("", "x + 1j * y"),
        "data": ("", "x[1:3]"),
        "divide_no_nan": ("", "np.where(y == 0, 0, x / y)"),
        "dynamic_partition": ("", "[x[parts == 0], x[parts == 1]]"),
        "floormod": ("x, y", "x % y"),
        "is_finite": ("x", "np.isfinite(x)"),
        "is_inf": ("x", "np.isinf(x)"),
        "is_nan": ("x", "np.isnan(x)"),
        "is_tensor": ("", "found found is True"),
        "l2_normalize": ("", L2),
        "log_sigmoid": ("x", "-np.log1p(np.exp(-x))"),
        "math": ("", "found found is xp"),
        "multiply_no_nan": ("", "np.where(y == 0, 0, x * y)"),
        "realdiv": ("x, y", "x / y"),
        "reciprocal_no_nan": ("", "1 / x"),
        "saved_model": ("", "found callable(found)"),
        **dict.fromkeys(
            ["segment_sum", "unsorted_segment_sum"], ("", "np.stack([x[0] + x[2], x[1]])")
        ),
        "sequence_mask": ("", "np.arange(n) < np.asarray([[1], [3]])"),
        "signal": ("", "found found is xp.fft"),
        "tensor_scatter_nd_max": ("", "at(np.maximum, x, indices, updates)"),
        "tensor_scatter_nd_min": ("", "at(np.minimum, x, indices, updates)"),
        "tensor_scatter_nd_sub": ("", "at(np.subtract, x, indices, updates)"),
        "tensor_scatter_nd_update": ("", "at(lambda old, new: new, x, indices, updates)"),
        "test": ("", "found hasattr(found, 'check_gradients')"),
        "train": ("", "found found in (xp.checkpoint, xp.optimizers)"),
        "truncatemod": ("x, y", "np.fmod(x, y)"),
        "constant_initializer": ("", "found float(found((1,))[0]) == value"),
        "ones_initializer": ("", "found float(found((1,))[0]) == 1.0"),
        "zeros_initializer": ("", "found float(found((1,))[0]) == 0.0"),
        "random_normal_initializer": ("", "found found((2, 3)).shape == (2, 3)"),
        "random_uniform_initializer": ("", "found low <= float(found((1,))[0]) <= high"),
        **dict.fromkeys(["Input", "TensorShape", "TensorSpec", "autograph", "case"]),
        **dict.fromkeys(["control_dependencies", "executing_eagerly", "foldl", "name_scope"]),
        **dict.fromkeys(["scan", "switch_case", "while_loop"]),
        # JAX
        "checkpoint_policies": ("", "found callable(found)"),
        "custom_jvp": ("", "found callable(found)"),
        "custom_vjp": ("", "found callable(found)"),
        "device_put": ("", "x"),
        "flatten_util": ("x", "found np.array_equal(np.asarray(found[0]), np.asarray(x).ravel())"),
        "jit": ("", "found callable(found)"),
        "lax": ("", "found found is xp"),
        "numpy": ("", "found found is xp"),
        "pure_callback": ("", "found callable(found)"),
        "remat": ("f", "found callable(found)"),
    },
    "Array": {
        "backward": ("", "2 * source"),
        "grad": ("", "2 * source"),
        "bmm": ("", "x @ y"),
        "clamp": ("", "np.clip(x, low, high)"),
        "clone": ("", "x"),
        "cpu": ("", "x"),
        "contiguous": None,
        "cuda": GPU,
        "detach": ("", "x"),
        "dim": ("", "x.ndim"),
        "double": ("", "x.astype(np.float64)"),
        "expand": ("", "np.broadcast_to(x, shape)"),
        "float": ("", "x.astype(np.float32)"),
        "gather": ("", "np.take_along_axis(x, indices, axis)"),
        "index_select": ("", "np.take(x, indices, axis)"),
        "masked_fill": ("", "np.where(mask, value, x)"),
        "matmul": ("", "x @ y"),
        "mm": ("", "x @ y"),
        "norm": ("", "np.sqrt(np.sum(x * x))"),
        "numel": ("", "x.size"),
        "permute": ("", "np.transpose(x, axes)"),
        "relu": ("", "np.maximum(x, 0)"),
        "requires_grad": ("", "None"),
        "requires_grad_": ("", "None"),
        "retain_grad": None,
        "sigmoid": ("", "1 / (1 + np.exp(-x))"),
        "softmax": ("", "softmax(x)"),
        "to": ("", "found found.shape == x.shape"),
        "unsqueeze": ("", "np.expand_dims(x, axis)"),
        "add_": ("", "x + y"),
        "copy_": ("", "y"),
        "div_": ("", "x / y"),
        "fill_": ("", "value + 0 * x"),
        "mul_": ("", "x * y"),
        "sub_": ("", "x - y"),
        "zero_": ("", "0 * x"),
        "abs": ("", "np.abs(x)"),
        "exp": ("", "np.exp(x)"),
        "log": ("", "np.log(x)"),
        "sqrt": ("", "np.sqrt(x)"),
        "pow": ("", "x**y"),
        "assign": ("", "value + 0 * x"),
        "assign_add": ("", "x + value"),
        "assign_sub": ("", "x - value"),
        "get_shape": ("", "x.shape"),
        "numpy": ("", "x"),
        "at": ("", "np.concatenate([np.full((1, 3), value), x[1:]])"),
        "block_until_ready": None,
        "base": ("", "False"),
        "data": ("", "found found.shape == (3, 3)"),
        "flags": ("", "found found.c_contiguous"),
        "resize": ("", "np.resize(x, shape)"),
        "strides": ("", "x.strides"),
        "tobytes": ("", "x.tobytes()"),
        "tofile": ("", "None"),
    },
    "GradientTape": {
        "backward": ("", "2 * source"),
        "grad": ("", "2 * source"),
        "zero_grad": None,
        "no_grad": ("", "found hasattr(found, '__enter__')"),
        "hessian": ("", "found callable(found)"),
        "jvp": ("", "found callable(found)"),
        "stop_gradient": ("", "x"),
        "vjp": ("", "2 * source * y"),
    },
    "linalg": {
        "inv_ex": ("x", "np.linalg.inv(x)"),
        "vander": ("v", "np.vander(v)"),
        "adjoint": ("", "x.T"),
        "band_part": ("", "np.triu(np.tril(x, 1), -1)"),
        "cholesky_solve": ("", "np.linalg.solve(x @ x.T, y)"),
        "diag_part": ("", "np.diag(x)"),
        "l2_normalize": ("", L2),
        "logdet": ("", "np.linalg.slogdet(x)[1]"),
        "matvec": ("", "x @ v"),
        "tensor_diag": ("v", "np.diag(v)"),
        "triangular_solve": ("", "np.linalg.solve(np.tril(x), y)"),
    },
    "nn": {
        **dict.fromkeys(["BCELoss", "binary_crossentropy"], ("", "bce(y, p)")),
        "BCEWithLogitsLoss": ("", "bce(y, 1 / (1 + np.exp(-logits)))"),
        "BinaryCrossentropy": ("y, p", "bce(y, p)"),
        **dict.fromkeys(
            ["BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d", "LayerNorm", "Linear"],
            ("", "found isinstance(found, xp.nn.Layer)"),
        ),
        **dict.fromkeys(
            ["CrossEntropyLoss", "cross_entropy"], ("", "np.mean(losses(labels, logits))")
        ),
        "CategoricalCrossentropy": (
            "xp.eye(n)[labels], xp.nn.softmax(logits)",
            "np.mean(losses(labels, logits))",
        ),
        "SparseCategoricalCrossentropy": (
            "labels, xp.nn.softmax(logits)",
            "np.mean(losses(labels, logits))",
        ),
        "sparse_categorical_crossentropy": ("", "losses(labels, logits)"),
        **dict.fromkeys(["ELU"], ("", "np.where(x > 0, x, np.expm1(x))")),
        "GELU": ("", "0.5 * x * (1.0 + erf(x / 2**0.5))"),
        "SiLU": ("", "x / (1.0 + np.exp(-x))"),
        "L1Loss": ("", "np.mean(np.abs(x - y))"),
        "MeanAbsoluteError": ("x, y", "np.mean(np.abs(x - y))"),
        "MeanSquaredError": ("x, y", "np.mean((x - y) ** 2)"),
        **dict.fromkeys(
            ["MSELoss", "mse_loss"],
            ("", "np.mean((labels - predictions) ** 2)"),
        ),
        "Model": ("", "found isinstance(found, type)"),
        "ModuleList": None,
        "NLLLoss": ("", "-np.mean(np.take_along_axis(log_p, labels[:, None], 1))"),
        "Parameter": ("", "found isinstance(found, xp.Variable)"),
        "ReLU": ("", "np.maximum(x, 0)"),
        "Sigmoid": ("", "1 / (1 + np.exp(-x))"),
        "Softmax": ("", "softmax(x)"),
        "Tanh": ("", "np.tanh(x)"),
        "functional": ("", "found hasattr(found, 'relu')"),
        "Activation": ("x", "np.maximum(x, 0)"),
        "Add": ("", "x + y"),
        **dict.fromkeys(["Concatenate", "concatenate"], ("", "np.concatenate([x, y], -1)")),
        **dict.fromkeys(["Input", "InputLayer", "Lambda"]),
        "Multiply": ("", "x * y"),
        "bias_add": ("", "x + v"),
        "flip_left_right": ("", "np.flip(x, -2)"),
        "flip_up_down": ("", "np.flip(x, 0)"),
        "total_variation": ("", "np.abs(np.diff(x, axis=0)).sum() + np.abs(np.diff(x)).sum()"),
        "crelu": ("", "np.maximum(np.concatenate([x, -x], -1), 0)"),
        "embedding_lookup": ("", "x[rows]"),
        "l2_loss": ("", "np.sum(x**2) / 2"),
        "l2_normalize": ("", L2),
        "moments": ("", "(np.mean(x, -1), np.var(x, -1))"),
        "relu6": ("", "np.minimum(np.maximum(x, 0), 6)"),
        "sigmoid_cross_entropy_with_logits": (
            "",
            "-y * np.log(expit(logits)) - (1 - y) * np.log(expit(-logits))",
        ),
        **dict.fromkeys(
            ["softmax_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits"],
            ("", "losses(labels, logits)"),
        ),
        "top_k": ("", ALTERNATIVES),
        "utils": None,
    },
    "Module": {
        **dict.fromkeys(["compile", "add_loss", "losses", "get_config", "stop_training"]),
        "zero_grad": None,
        **dict.fromkeys(
            ["fit", "fit_generator", "train_on_batch", "train_step"],
            ("", "found float(loss(y, model(x))) < float(before)"),
        ),
        **dict.fromkeys(["evaluate", "test_on_batch"], ("", "found float(found) == float(before)")),
        **dict.fromkeys(
            ["predict", "predict_on_batch", "forward", "eval", "train"],
            ("", "found found.shape == (3, 3)"),
        ),
        **dict.fromkeys(
            ["save", "save_weights", "export", "load_weights", "load_state_dict"],
            ("", "found [*checkpoint.load(file, model)] == ['layers.0.kernel', 'layers.0.bias']"),
        ),
        "lr": ("", "found float(found) == 0.125"),
        "count_params": ("", "12"),
        "parameters": ("", "found [v.shape for v in found] == [(3, 3), (3,)]"),
        **dict.fromkeys(
            ["named_parameters", "state_dict"],
            ("", "found [*found] == ['layers.0.kernel', 'layers.0.bias']"),
        ),
    },
    "optimizers": {"lr_scheduler": ("", "found hasattr(found, 'ExponentialDecay')")},
    "checkpoint": {"Checkpoint": None, "CheckpointManager": None},
}


RNG = np.random.default_rng(5)
POSITIVE = RNG.uniform(0.2, 2.0, (3, 3, 3))
P = RNG.uniform(0.1, 0.9, (3, 3))
P /= P.sum(axis=1, keepdims=True)
OPERANDS = {
    "x": POSITIVE[0],
    "y": POSITIVE[1],
    "z": POSITIVE[2],
    "cube": POSITIVE,
    "v": POSITIVE[0, 0],
    "w": POSITIVE[0, 1],
    "p": P,
    "log_p": np.log(P),
    "logits": RNG.normal(size=(3, 3)),
    "labels": np.asarray([2, 0, 1]),
    "predictions": POSITIVE[0, 0],
    "rows": np.asarray([2, 0]),
    "columns": np.asarray([[1], [0], [2]]),
    "indices": np.asarray([[0, 1], [2, 2], [0, 1]]),
    "updates": np.asarray([1.0, 2.0, 3.0]),
    "mask": POSITIVE[0] > 1,
    "first": POSITIVE[0] > 1,
    "second": POSITIVE[0] > 0.5,
    "parts": np.asarray([1, 0, 1]),
    "segments": np.asarray([0, 1, 0]),
    "lengths": np.asarray([1, 3]),
    "grid": np.asarray([0.0, 1.0, 2.0]),
    "values": np.asarray([1.0, 3.0, 2.0]),
}
NUMBERS = {
    "n": 3,
    "k": 2,
    "low": 0.5,
    "high": 1.5,
    "value": 0.25,
    "start": 1,
    "size": 2,
    "count": 2,
    "default": -1.0,
    "axis": -1,
    "other": 0,
    "key": 0,
    "sections": 3,
    "chunks": 3,
    "q": 0.3,
    "seed": 1,
    "mean": 0.0,
    "std": 1.0,
    "shape": (3, 3),
    "units": 2,
    "filters": 2,
    "kernel_size": 1,
    "lower": 1,
    "upper": 1,
    "axes": (1, 0),
    "device": "cpu",
    "dtype": np.float32,
    "policy": None,
}


def softmax(x):
    shares = np.exp(x)
    return shares / np.sum(shares, axis=-1, keepdims=True)


def losses(labels, logits):
    return -np.log(softmax(logits))[np.arange(3), labels]


def bce(y, p):
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))


def scatter_nd(indices, updates, into):
    np.add.at(into, tuple(indices.T), updates)
    return into


def at(ufunc, x, indices, updates):
    """Return a copy of x after ``x[i] = ufunc(x[i], update)`` for each coordinate i and its update."""
    found = x.copy()
    for point, update in zip(indices, updates, strict=True):
        found[tuple(point)] = ufunc(found[tuple(point)], update)
    return found


def expit(x):
    return 1 / (1 + np.exp(-x))


def put_along_axis(x, indices, y, axis):
    found = x.copy()
    np.put_along_axis(found, indices, y, axis)
    return found


REFERENCES = {
    **OPERANDS,
    **NUMBERS,
    "np": np,
    "softmax": softmax,
    "losses": losses,
    "bce": bce,
    "f": np.sin,
    "scatter_nd": scatter_nd,
    "at": at,
    "expit": expit,
    "put_along_axis": put_along_axis,
    "raw": POSITIVE[0],
    "erf": np.vectorize(math.erf),
    "lgamma": np.vectorize(math.lgamma),
    "xp": xp,
    "arrays": [*POSITIVE],
    "source": POSITIVE[0],
}


def pieces(text):
    """Return the pieces of an advice that are code: what stands between words, outside of brackets."""
    parts, depth = [""], 0
    for word in re.split(
        r"( or | and | for | in a | if |, with |, of logits | with |, |[()\[\]])", text
    ):
        depth += (word in "([") - (word in ")]") if word else 0
        if depth == 0 and word.endswith(" "):
            parts.append("")
        else:
            parts[-1] += word
    return [part for part in parts if is_code(part)]


def is_code(part):
    try:
        tree = ast.parse(part)
    except SyntaxError:
        return False
    code = ast.Attribute | ast.BinOp | ast.Call | ast.Constant | ast.Subscript | ast.AugAssign
    return part == "xp" or any(isinstance(node, code) for node in ast.walk(tree))


def operands(path):
    """Return what advice and rows name: Arrays, and a tape that has recorded."""
    arrays = {name: xp.asarray(value) for name, value in OPERANDS.items()}
    tape = xp.GradientTape(persistent=True)
    with tape:
        tape.watch(arrays["x"])
        target = arrays["x"] * arrays["x"]
    return {
        **NUMBERS,
        **arrays,
        "xp": xp,
        "np": np,
        "raw": POSITIVE[0],
        "tape": tape,
        "target": target,
        "arrays": [xp.asarray(a) for a in POSITIVE],
        "source": arrays["x"],
        "sources": arrays["x"],
        "output_gradients": arrays["y"],
        "f": xp.sin,
        "file": str(path / "x.safetensors"),
        **training(arrays["x"], arrays["y"]),
    }


def training(x, y):
    """Return a model, an optimizer and a loss, with the loss before any step."""
    model = nn.Sequential([nn.Dense(3, seed=0)])
    loss = nn.losses.MeanSquaredError()
    before = loss(y, model(x))
    return {"model": model, "loss": loss, "before": before, "optimizer": optimizers.SGD(0.125)}


def followed(piece, arguments, names):
    """Return what a piece of advice gives: of a function its call, of a statement x, else its value."""
    saved = names["model"] if "model" in piece else {"x": xp.Variable(names["x"])}
    checkpoint.save(names["file"], saved)
    with warnings.catch_warnings(), names["tape"]:
        warnings.filterwarnings("ignore", "Calling gradient on a persistent tape inside")
        try:
            value = eval(piece, names)
        except SyntaxError:
            exec(piece, names)
            return names["x"]
        if callable(value) and arguments:
            return eval(f"function({arguments})", names | {"function": value})
        return value


def equal(found, wanted):
    if isinstance(wanted, list | tuple) and not isinstance(found, xp.Array):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            equal(one, other)
    elif wanted is None or isinstance(wanted, type | bytes | str):
        assert found == wanted
    else:
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, atol=1e-15)


CASES = [
    (where, name)
    for where, table in other_names.TABLES.items()
    for names in table.values()
    for name in names
]


def advice(where, name):
    return next(names[name] for names in other_names.TABLES[where].values() if name in names)


@pytest.mark.parametrize(("where", "name"), CASES)
def test_advice_gives_what_the_name_would_have_given(where, name, tmp_path):
    text, row = advice(where, name), ROWS[where][name]
    code = pieces(text)
    if row is GPU:
        assert all("cuda:0" in piece for piece in code)
        return
    if row is None:
        assert code == []
        assert text.startswith((other_names.UNNEEDED, "a list of"))
        return
    arguments, wanted = row
    assert code
    for piece in code:
        names = operands(tmp_path) | {"checkpoint": checkpoint}
        found = followed(piece, arguments, names)
        if wanted.startswith("found "):
            assert eval(wanted.removeprefix("found "), names | {"found": found}), piece
        elif wanted is not ALTERNATIVES:
            equal(found, eval(wanted, REFERENCES | {"x": POSITIVE[0].copy()}))


def test_each_row_is_of_an_advice():
    assert {(where, name) for where, rows in ROWS.items() for name in rows} == {*CASES}


@pytest.mark.parametrize(
    ("where", "name", "values"),
    [
        ("namespace", "gather", ["np.take_along_axis(x, indices, -1)", "np.take(x, indices, 0)"]),
        ("nn", "top_k", ["-np.sort(-x)[:, :2]", "np.argsort(-x)[:, :2]"]),
        ("namespace", "topk", ["-np.sort(-x)[:, :2]", "np.argsort(-x)[:, :2]"]),
    ],
)
def test_alternatives_give_what_each_says(where, name, values, tmp_path):
    code = pieces(advice(where, name))
    assert len(code) == len(values)
    for piece, wanted in zip(code, values, strict=True):
        equal(followed(piece, "", operands(tmp_path)), eval(wanted, REFERENCES))
