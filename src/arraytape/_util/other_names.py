"""Tables from names of other libraries, such as PyTorch, to their counterparts in arraytape.

``hint`` ends the message of an AttributeError about such a name, so this module is imported only when
that message is read.  The texts are code as a user writes it: ``xp`` is arraytape, ``x`` and ``y`` are
Arrays, ``tape`` is a GradientTape, and ``np`` is NumPy, whose functions are recorded when they are
called on Arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

Table = dict[str, dict[str, str]]  # from a library to a dict: its name -> arraytape's counterpart
UNNEEDED = "no need: "  # begins the text for a name without counterpart; the reason follows
COPIED = "x = xp.asarray(x, copy=True)"
L2 = "x / xp.linalg.vector_norm(x, axis=axis, keepdims=True)"
POINTS = "tuple(xp.moveaxis(indices, -1, 0))"  # the key for TensorFlow's rows of coordinates
SEGMENTS = "xp.scatter_add(x, (count, *x.shape[1:]), segments)"
TOPK = "xp.sort(x, descending=True)[..., :k] or xp.argsort(x, descending=True)[..., :k]"

NAMESPACE: Table = {
    "NumPy": {
        "random": "xp.asarray(np.random.default_rng(seed).random(shape))",
    },
    "PyTorch": {
        "Tensor": "xp.Array",
        "addmm": "x + y @ z",
        "as_tensor": "xp.asarray",
        "autograd": "xp.GradientTape, xp.grad and xp.custom_gradient",
        "bmm": "xp.matmul",
        "cat": "xp.concat",
        "chunk": "np.array_split(x, chunks), which is recorded",
        "clamp": "xp.clip",
        "clone": "xp.asarray(x, copy=True)",
        "cuda": "xp.set_default_device('cuda:0')",
        "device": "'cpu' or 'cuda:0'",
        "div": "xp.divide",
        "enable_grad": "xp.GradientTape() in a with statement",
        "elu": "xp.nn.elu(x)",
        "eq": "xp.equal",
        "flatten": "xp.reshape(x, (-1,))",
        "float": "xp.float32, or xp.float64 for double precision",
        "from_numpy": "xp.asarray",
        "func": "xp.grad, xp.jacobian, xp.hessian, xp.jvp, xp.vjp and xp.vmap",
        "gather": "xp.take_along_axis(x, indices, axis=axis) for PyTorch's, "
        "xp.take(x, indices, axis=0) for TensorFlow's",
        "ge": "xp.greater_equal",
        "gt": "xp.greater",
        "index_select": "xp.take",
        "inference_mode": "tape.stop_recording()",
        "le": "xp.less_equal",
        "gelu": "xp.nn.gelu(x)",
        "leaky_relu": "xp.nn.leaky_relu(x, 0.01)",
        "lgamma": "xp.special.gammaln",
        "manual_seed": "np.random.default_rng(seed)",
        "normal": "xp.asarray(np.random.default_rng(seed).normal(mean, std, shape))",
        "rand": "xp.asarray(np.random.default_rng(seed).random(shape))",
        "randn": "xp.asarray(np.random.default_rng(seed).normal(size=shape))",
        "repeat_interleave": "xp.repeat",
        "rsqrt": "1 / xp.sqrt(x)",
        "silu": "xp.nn.silu(x)",
        "lt": "xp.less",
        "masked_select": "x[mask]",
        "mm": "xp.matmul",
        "movedim": "xp.moveaxis",
        "mul": "xp.multiply",
        "mv": "xp.matmul",
        "ne": "xp.not_equal",
        "neg": "xp.negative",
        "no_grad": "tape.stop_recording()",
        "norm": "xp.linalg.vector_norm or xp.linalg.matrix_norm",
        "numel": "x.size",
        "optim": "xp.optimizers",
        "permute": "xp.permute_dims",
        "relu": "xp.nn.relu",
        "scatter": "np.put_along_axis(x, indices, value, axis), which is recorded and writes into x",
        "sigmoid": "xp.nn.sigmoid",
        "softmax": "xp.nn.softmax",
        "sub": "xp.subtract",
        "t": "x.T",
        "tensor": "xp.asarray",
        "topk": TOPK,
        "unsqueeze": "xp.expand_dims",
    },
    "TensorFlow": {
        "Input": f"{UNNEEDED}layers find the shape of their inputs when they are first called",
        "Model": "xp.Module",
        "TensorArray": "xp.stack(arrays), where arrays is a list",
        "TensorShape": f"{UNNEEDED}a shape is a tuple of Python",
        "TensorSpec": f"{UNNEEDED}xp.function makes a program for each combination of shapes and dtypes",
        "activations": "xp.nn",
        "add_n": "sum(arrays)",
        "autodiff": "xp.ForwardAccumulator",
        "autograph": f"{UNNEEDED}Python runs the program, and the tape records its ops",
        "boolean_mask": "x[mask]",
        "case": f"{UNNEEDED}an if statement of Python is recorded as it ran",
        "cast": "xp.astype",
        "clip_by_value": "xp.clip",
        "complex": "x + 1j * y",
        "callbacks": f"{UNNEEDED}a loop of training calls what it needs",
        "cond": "xp.where(mask, x, y), or if on a Python bool",
        "constant": "xp.asarray",
        "constant_initializer": "xp.nn.initializers.Constant(value)",
        "control_dependencies": f"{UNNEEDED}ops run in the order of the program",
        "convert_to_tensor": "xp.asarray",
        "data": "x[start : start + size] in a loop of Python",
        "debugging": "xp.GradientTape(check_numerics=True) or xp.diagnose",
        "divide_no_nan": "xp.where(y == 0, 0.0, x / xp.where(y == 0, 1.0, y))",
        "dynamic_partition": "[x[parts == i] for i in range(count)]",
        "executing_eagerly": f"{UNNEEDED}ops always run at once",
        "fill": "xp.full",
        "floormod": "xp.remainder",
        "foldl": f"{UNNEEDED}a loop of Python is recorded",
        "gather_nd": f"x[{POINTS}]",
        "gradients": "tape.gradient",
        "is_finite": "xp.isfinite",
        "is_inf": "xp.isinf",
        "is_nan": "xp.isnan",
        "is_tensor": "isinstance(x, xp.Array)",
        "image": "xp.nn.image",
        "keras": "xp.nn, xp.optimizers and xp.Module",
        "l2_normalize": L2,
        "layers": "xp.nn",
        "log_sigmoid": "xp.special.log_expit",
        "map_fn": "xp.vmap(f)(x)",
        "math": "xp",
        "models": "xp.nn",
        "multiply_no_nan": "xp.where(y == 0, 0.0, x * y)",
        "name_scope": f"{UNNEEDED}messages name the line of the program",
        "one_hot": "xp.nn.one_hot(labels, n)",
        "ones_initializer": "xp.nn.initializers.Ones()",
        "print": "print(x)",
        "py_function": "xp.numpy_function or xp.host_function",
        "random_normal_initializer": "xp.nn.initializers.RandomNormal(stddev=std)",
        "random_uniform_initializer": "xp.nn.initializers.RandomUniform(low, high)",
        "range": "xp.arange",
        "rank": "x.ndim",
        "realdiv": "xp.divide",
        "reciprocal_no_nan": "xp.where(x == 0, 0.0, 1.0 / xp.where(x == 0, 1.0, x))",
        "reduce_all": "xp.all",
        "reduce_any": "xp.any",
        "reduce_euclidean_norm": "xp.linalg.vector_norm",
        "reduce_logsumexp": "xp.special.logsumexp",
        "reduce_max": "xp.max",
        "reduce_mean": "xp.mean",
        "reduce_min": "xp.min",
        "reduce_prod": "xp.prod",
        "reduce_std": "xp.std",
        "reduce_sum": "xp.sum",
        "reduce_variance": "xp.var",
        "reverse": "xp.flip(x, axis=axis)",
        "saved_model": "xp.checkpoint.save and xp.checkpoint.load",
        "scan": f"{UNNEEDED}a loop of Python is recorded",
        "scatter_nd": f"xp.scatter_add(updates, shape, {POINTS})",
        "segment_sum": SEGMENTS,
        "sequence_mask": "xp.arange(n) < lengths[..., None]",
        "signal": "xp.fft",
        "squared_difference": "(x - y) ** 2",
        "switch_case": f"{UNNEEDED}an if statement of Python is recorded as it ran",
        "tensor_scatter_nd_add": f"x + xp.scatter_add(updates, x.shape, {POINTS})",
        "tensor_scatter_nd_max": f"{COPIED}; np.maximum.at(x, {POINTS}, updates)",
        "tensor_scatter_nd_min": f"{COPIED}; np.minimum.at(x, {POINTS}, updates)",
        "tensor_scatter_nd_sub": f"x - xp.scatter_add(updates, x.shape, {POINTS})",
        "tensor_scatter_nd_update": f"{COPIED}; x[{POINTS}] = updates",
        "test": "xp.testing",
        "train": "xp.checkpoint and xp.optimizers",
        "truediv": "xp.divide",
        "truncatemod": "xp.fmod",
        "unsorted_segment_sum": SEGMENTS,
        "vectorized_map": "xp.vmap(f)(x)",
        "while_loop": f"{UNNEEDED}a loop of Python is recorded",
        "zeros_initializer": "xp.nn.initializers.Zeros()",
    },
    "JAX": {
        "checkpoint_policies": "xp.recompute_grad(f, policy=[xp.matmul])",
        "custom_jvp": "xp.custom_gradient",
        "custom_vjp": "xp.custom_gradient",
        "device_put": "x.to_device(device)",
        "flatten_util": "xp.functional.ravel",
        "jit": "xp.function(f), which replays what it traced; without it ops run at once",
        "lax": "xp",
        "numpy": "xp",
        "pure_callback": "xp.host_function",
        "remat": "xp.recompute_grad",
    },
}

ARRAY: Table = {
    "PyTorch": {
        "backward": "tape.gradient(target, sources)",
        "bmm": "x @ y",
        "clamp": "xp.clip(x, low, high)",
        "clone": "xp.asarray(x, copy=True)",
        "contiguous": "no need: all functions accept any memory layout",
        "cpu": "x.to_device('cpu')",
        "cuda": "x.to_device('cuda:0')",
        "detach": "xp.stop_gradient(x)",
        "dim": "x.ndim",
        "double": "xp.astype(x, xp.float64)",
        "expand": "xp.broadcast_to(x, shape)",
        "float": "xp.astype(x, xp.float32)",
        "gather": "xp.take_along_axis(x, indices, axis=axis)",
        "grad": "tape.gradient(target, x)",
        "index_select": "xp.take(x, indices, axis=axis)",
        "masked_fill": "xp.where(mask, value, x), or x[mask] = value",
        "matmul": "x @ y",
        "mm": "x @ y",
        "norm": "xp.linalg.vector_norm(x)",
        "numel": "x.size",
        "permute": "xp.permute_dims(x, axes)",
        "relu": "xp.nn.relu(x)",
        "requires_grad": "tape.watch(x)",
        "requires_grad_": "tape.watch(x)",
        "retain_grad": "no need: any recorded Array can be a source",
        "sigmoid": "xp.nn.sigmoid(x)",
        "softmax": "xp.nn.softmax(x, axis=axis)",
        "to": "x.to_device(device), or xp.astype(x, dtype)",
        "unsqueeze": "xp.expand_dims(x, axis=axis)",
        # Methods that write into x.
        "add_": "x += y",
        "copy_": "x[...] = y",
        "div_": "x /= y",
        "fill_": "x[...] = value",
        "mul_": "x *= y",
        "sub_": "x -= y",
        "zero_": "x[...] = 0",
        # Methods that are functions in arraytape.
        "abs": "xp.abs(x)",
        "exp": "xp.exp(x)",
        "log": "xp.log(x)",
        "sqrt": "xp.sqrt(x)",
        "pow": "x ** y",
    },
    "TensorFlow": {
        "assign": "x[...] = value, or the assign of an xp.Variable",
        "assign_add": "x += value",
        "assign_sub": "x -= value",
        "get_shape": "x.shape",
        "numpy": "np.asarray(x)",
    },
    "JAX": {
        "at": "x[key] = value, which is recorded",
        "block_until_ready": "no need: reading the values of x waits until they are computed",
    },
    "NumPy": {
        "base": "np.may_share_memory(x, y)",
        "data": "np.asarray(x).data",
        "flags": "np.asarray(x).flags",
        "resize": "xp.reshape(x, shape)",
        "strides": "np.asarray(x).strides",
        "tobytes": "np.asarray(x).tobytes()",
        "tofile": "np.asarray(x).tofile(file)",
    },
}  # fmt: skip

TAPE: Table = {
    "PyTorch": {
        "backward": "tape.gradient(target, sources)",
        "grad": "tape.gradient(target, sources)",
        "no_grad": "tape.stop_recording()",
        "zero_grad": "no need: tape.gradient returns new gradients each time",
    },
    "JAX": {
        "hessian": "xp.hessian(f), or tape.jacobian of a gradient that an outer tape recorded",
        "jvp": "xp.ForwardAccumulator or xp.jvp",
        "stop_gradient": "xp.stop_gradient(x)",
        "vjp": "tape.gradient(target, sources, output_gradients)",
    },
}

LINALG: Table = {
    "NumPy": {
    },
    "PyTorch": {"inv_ex": "xp.linalg.inv", "vander": "np.vander(v), which is recorded"},
    "TensorFlow": {
        "adjoint": "xp.conj(x.mT)", "band_part": "xp.tril(xp.triu(x, k=-lower), k=upper)",
        "cholesky_solve": "xp.linalg.solve(x @ x.mT, y)", "diag_part": "xp.linalg.diagonal(x)",
        "l2_normalize": L2, "logdet": "xp.linalg.slogdet(x).logabsdet", "matvec": "x @ v",
        "tensor_diag": "xp.diag", "triangular_solve": "xp.linalg.solve(xp.tril(x), y)",
    },
}  # fmt: skip
CROSS_ENTROPY = "xp.mean(xp.nn.softmax_cross_entropy(labels, logits))"
BINARY = "-xp.mean(xp.special.xlogy(y, p) + xp.special.xlog1py(1 - y, -p))"
NN: Table = {
    "PyTorch": {
        "BCELoss": BINARY,
        "BCEWithLogitsLoss": "xp.mean(xp.nn.softplus(logits) - y * logits)",
        "BatchNorm1d": "xp.nn.BatchNormalization(axis=1)",
        "BatchNorm2d": "xp.nn.BatchNormalization(axis=1)",
        "Conv1d": "xp.nn.Conv1D(filters, kernel_size), whose channels are the last axis",
        "Conv2d": "xp.nn.Conv2D(filters, kernel_size), whose channels are the last axis",
        "CrossEntropyLoss": CROSS_ENTROPY,
        "ELU": "xp.nn.elu(x)",
        "GELU": "xp.nn.gelu(x)",
        "L1Loss": "xp.mean(xp.abs(x - y))",
        "LayerNorm": "xp.nn.LayerNormalization()",
        "Linear": "xp.nn.Dense(units)",
        "MSELoss": "xp.nn.mean_squared_error(labels, predictions)",
        "ModuleList": "a list of Modules",
        "NLLLoss": "-xp.mean(xp.take_along_axis(log_p, labels[:, None], axis=1))",
        "Parameter": "xp.Variable(x)",
        "ReLU": "xp.nn.relu(x)",
        "SiLU": "xp.nn.silu(x)",
        "Sigmoid": "xp.nn.sigmoid(x)",
        "Softmax": "xp.nn.softmax(x, axis=axis)",
        "Tanh": "xp.nn.tanh(x)",
        "cross_entropy": CROSS_ENTROPY,
        "functional": "xp.nn",
        "mse_loss": "xp.nn.mean_squared_error(labels, predictions)",
    },
    "TensorFlow": {
        "Activation": "xp.nn.relu, the function itself",
        "Add": "x + y",
        "BinaryCrossentropy": "xp.nn.losses.BinaryCrossentropy()",
        "CategoricalCrossentropy": "xp.nn.losses.CategoricalCrossentropy()",
        "Concatenate": "xp.concat([x, y], axis=-1)",
        "Input": f"{UNNEEDED}layers find the shape of their inputs when they are first called",
        "InputLayer": f"{UNNEEDED}layers find the shape of their inputs when they are first called",
        "Lambda": f"{UNNEEDED}a function of an Array is a layer",
        "MeanAbsoluteError": "xp.nn.losses.MeanAbsoluteError()",
        "MeanSquaredError": "xp.nn.losses.MeanSquaredError()",
        "Model": "xp.nn.Module",
        "Multiply": "x * y",
        "SparseCategoricalCrossentropy": "xp.nn.losses.SparseCategoricalCrossentropy()",
        "bias_add": "x + v",
        "binary_crossentropy": BINARY,
        "concatenate": "xp.concat([x, y], axis=-1)",
        "flip_left_right": "xp.flip(x, axis=-2)",
        "flip_up_down": "xp.flip(x, axis=0)",
        "total_variation": "xp.sum(xp.abs(xp.diff(x, axis=0))) + xp.sum(xp.abs(xp.diff(x, axis=1)))",
        "crelu": "xp.nn.relu(xp.concat([x, -x], axis=-1))",
        "embedding_lookup": "xp.take(x, rows, axis=0)",
        "l2_loss": "xp.sum(x * x) / 2",
        "l2_normalize": L2,
        "moments": "(xp.mean(x, axis=axis), xp.var(x, axis=axis))",
        "relu6": "xp.clip(x, 0.0, 6.0)",
        "sigmoid_cross_entropy_with_logits": "xp.nn.softplus(logits) - y * logits",
        "softmax_cross_entropy_with_logits": "xp.nn.softmax_cross_entropy(labels, logits)",
        "sparse_categorical_crossentropy": "xp.nn.softmax_cross_entropy(labels, logits)",
        "sparse_softmax_cross_entropy_with_logits": "xp.nn.softmax_cross_entropy(labels, logits)",
        "top_k": TOPK,
        "utils": f"{UNNEEDED}nn.one_hot makes what to_categorical makes, and the package tqdm shows the "
        "progress of a loop",
    },
}
PAGE = "https://github.com/arraytape/arraytape/blob/main/docs/tutorials/training.md"
LOOP = (
    "optimizer.minimize(lambda: loss(y, model(x)), model.trainable_variables) in a loop over batches; "
    f"{PAGE}#port-a-model-from-keras has the five lines"
)
MODULE: Table = {
    "Keras": {
        "add_loss": f"{UNNEEDED}a penalty is a term of the loss that a tape differentiates",
        "compile": f"{UNNEEDED}the loop of training calls the optimizer and the loss; {PAGE}"
        "#port-a-model-from-keras has the five lines",
        "count_params": "sum(v.size for v in model.variables)",
        "evaluate": "loss(y, model(x))",
        "export": "xp.checkpoint.save(file, model)",
        "fit": LOOP,
        "fit_generator": LOOP,
        "get_config": f"{UNNEEDED}make the model again from its class, and load its values",
        "load_weights": "xp.checkpoint.load(file, model)",
        "losses": f"{UNNEEDED}a penalty is a term of the loss that a tape differentiates",
        "lr": "optimizer.learning_rate",
        "predict": "model(x)",
        "predict_on_batch": "model(x)",
        "save": "xp.checkpoint.save(file, model)",
        "save_weights": "xp.checkpoint.save(file, model)",
        "stop_training": f"{UNNEEDED}break ends the loop of training",
        "test_on_batch": "loss(y, model(x))",
        "train_on_batch": LOOP,
        "train_step": LOOP,
    },
    "PyTorch": {
        "eval": "model(x, training=False)",
        "forward": "model(x)",
        "load_state_dict": "xp.checkpoint.load(file, model)",
        "named_parameters": "model.named_variables()",
        "parameters": "model.trainable_variables",
        "state_dict": "model.named_variables()",
        "train": "model(x, training=True)",
        "zero_grad": f"{UNNEEDED}tape.gradient returns new gradients each time",
    },
}
OPTIMIZERS: Table = {"PyTorch": {"lr_scheduler": "xp.optimizers.schedules"}}
CHECKPOINT: Table = {
    "TensorFlow": {
        "Checkpoint": f"{UNNEEDED}save and load take a dict of Modules and Variables",
        "CheckpointManager": f"{UNNEEDED}save replaces a file when the new one is complete; to keep "
        "several, put the number of the step into the path",
    }
}
PENALTY = f"{UNNEEDED}a penalty is a term of the loss: loss + 0.01 * xp.sum(layer.kernel**2)"
ON_FIRST_CALL = f"{UNNEEDED}layers find the shape of their inputs when they are first called"
# Keywords of other libraries' layers and optimizers.
KEYWORDS: Table = {
    "Keras": {
        "activity_regularizer": PENALTY,
        "batch_input_shape": ON_FIRST_CALL,
        "bias_regularizer": PENALTY,
        "decay": "weight_decay, or one of optimizers.schedules as learning_rate",
        "input_dim": ON_FIRST_CALL,
        "input_shape": ON_FIRST_CALL,
        "kernel_regularizer": PENALTY,
        "lr": "learning_rate",
    },
    "PyTorch": {
        "betas": "beta_1 and beta_2",
        "eps": "epsilon",
        "in_features": ON_FIRST_CALL,
        "out_features": "units",
    },
}

TABLES: dict[str, Table] = {
    "namespace": NAMESPACE,
    "Array": ARRAY,
    "GradientTape": TAPE,
    "linalg": LINALG,
    "nn": NN,
    "Module": MODULE,
    "optimizers": OPTIMIZERS,
    "checkpoint": CHECKPOINT,
}


# The namespaces inside xp in which a missing name is searched for, with their modules.
CHAPTERS = {
    "linalg": "ops.linalg", "fft": "ops.fft", "nn": "nn", "special": "special",
    "optimizers": "optimizers",
}  # fmt: skip
# Names of TensorFlow without a counterpart here, which are spelt much like a name of something else.
UNRELATED = {
    "GlobalAveragePooling3D", "Nadam", "as_dtype", "batch_normalization", "bitwise", "conv1d", "conv2d",
    "distribute", "dtensor", "max_pool2d", "nce_loss", "normalize",
}  # fmt: skip
NEAR = 0.85  # the least ratio of difflib for a proposal: "tensr" is near "tensor"
SHORT = 5  # letters; in a shorter name, one other letter often makes another valid name


def counterpart(name: str, where: str = "namespace") -> str | None:
    """Return advice for a name of another library; None if the table has no advice.

    where : the key of a table in TABLES, such as "namespace", or "keywords".
    """
    table = KEYWORDS if where == "keywords" else TABLES[where]
    for library, names in table.items():
        if name in names:
            text = names[name]
            if text.startswith(UNNEEDED):
                return f"there is no need for {library}'s {name}: {text.removeprefix(UNNEEDED)}"
            return f"in place of {library}'s {name} use {text}"
    return None


def hint(name: str, where: str = "namespace", obj: Any = None) -> str:
    """Return advice for a missing name, to be appended to a message; "" if there is none.

    where : a key of TABLES.
    obj : the object that lacks the name, whose similar public names are proposed.
    """
    if where not in TABLES or name.startswith("_"):
        return ""
    found = counterpart(name, where) or in_a_chapter(name, where) or misspelt(name, where, obj)
    return f": {found}" if found else ""


def in_a_chapter(name: str, where: str) -> str | None:
    """Return advice such as "use xp.linalg.inv" if another namespace of arraytape has the name, or None.

    name : the name that the user looked up.
    where : the namespace in which the name was looked up, a key of TABLES.
    """
    if where not in CHAPTERS and where != "namespace":
        return None
    for chapter in CHAPTERS:
        if name in dir(import_module(f"arraytape.{CHAPTERS[chapter]}")):
            return f"use xp.{chapter}.{name}"
    public = where != "namespace" and name in dir(import_module("arraytape"))
    return f"use xp.{name}" if public else None


def misspelt(name: str, where: str, obj: Any) -> str | None:
    """Return "did you mean ...?" if a public name or a name in TABLES is spelt similarly; else None.

    NEAR, SHORT and UNRELATED exclude similar names with other meanings, such as ``relu`` for ``gelu``.

    where : the namespace in which the name was looked up, a key of TABLES.
    obj : the object that lacks the name.
    """
    import difflib

    if name in UNRELATED:
        return None
    ours = [public for public in dir(obj) if not public.startswith("_")]
    known = [other for names in TABLES[where].values() for other in names]
    by_letters = {one.lower().replace("_", ""): one for one in [*known, *ours]}
    letters = name.lower().replace("_", "")
    near = difflib.get_close_matches(letters, [*by_letters], 1, NEAR)
    if not near or (len(letters) < SHORT and near[0] != letters):
        return None
    found = by_letters[near[0]]
    return f"did you mean {found}?" if found in ours else counterpart(found, where)
