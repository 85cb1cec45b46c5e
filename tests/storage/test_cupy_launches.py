"""Budgets of kernel launches and waits on CuPy, counted by the driver of a rig that has no GPU."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable, nn, optimizers
from arraytape.nn import losses

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
rigcount = pytest.importorskip("rigcount", reason="nothing counts launches: this is no rig of CuPy")
pytestmark = pytest.mark.any_storage
DEVICE = "cuda:0"


def on_gpu(values):
    return xp.asarray(values, device=DEVICE)


X, W = on_gpu(np.linspace(0.5, 2.0, 12).reshape(3, 4)), on_gpu(np.linspace(-1, 1, 8).reshape(4, 2))
B, INDICES = on_gpu(np.linspace(0.1, 0.4, 4)), on_gpu(np.asarray([[0, 2], [1, 1], [3, 0]]))
M, INDEX = on_gpu(np.eye(3) * 3 + 0.1), on_gpu([0, 2, 0])


def logsumexp(x):
    return xp.sum(xp.log(xp.sum(xp.exp(x - xp.max(x, axis=1, keepdims=True)), axis=1)))


def write_indexed(x):
    y = x * 1.0
    y[INDEX] = x * 2.0
    return xp.sum(y)


def ten_layers(x):
    for _ in range(10):
        x = xp.tanh(x) + 0.1 * x
    return xp.sum(x)


IMAGES = on_gpu(np.ones((2, 8, 8, 4)))
LABELS, SHARES = on_gpu([0, 2, 1]), on_gpu(np.full((3, 4), 0.25))


def convolution(x, kernel):
    size = kernel.shape[0] // 2
    options = {"part": "result", "lengths": (8, 8), "geometry": ((1, 1), (1, 1), (size, size))}
    return xp.sum(xp.window_correlation(x, kernel, **options) ** 2)


def of_logits(loss):
    return lambda x: loss(from_logits=True)(LABELS if "Sparse" in loss.__name__ else SHARES, x)


PROGRAMS = {  # function, sources, most launches of the function and its gradient
    "square": (lambda x: xp.sum(x * x), [X], 4),
    "power": (lambda x: xp.sum(x**2), [X], 4),
    "two sources": (lambda x, w: xp.sum(xp.tanh(x @ w)), [X, W], 4),
    "ten layers": (ten_layers, [X], 52),
    "bias": (lambda x, b: xp.sum(xp.tanh(x + b)), [X, B], 6),
    "scale": (lambda x, b: xp.sum(xp.tanh(x * b)), [X, B], 7),
    "logsumexp": (logsumexp, [X], 12),
    "special.logsumexp": (lambda x: xp.sum(xp.special.logsumexp(x, axis=1)), [X], 13),
    "softmax": (lambda x: xp.sum(nn.softmax(x) ** 2), [X], 13),
    "log_softmax": (lambda x: xp.sum(nn.log_softmax(x) ** 2), [X], 13),
    "SparseCategoricalCrossentropy": (of_logits(losses.SparseCategoricalCrossentropy), [X], 28),
    "CategoricalCrossentropy": (of_logits(losses.CategoricalCrossentropy), [X], 23),
    "BinaryCrossentropy": (of_logits(losses.BinaryCrossentropy), [X], 25),
    "MeanSquaredError": (lambda x: losses.MeanSquaredError()(SHARES, x), [X], 9),
    "max": (lambda x: xp.sum(xp.max(x, axis=1)), [X], 5),
    "write at indices": (write_indexed, [X], 10),
    "take_along_axis": (lambda x: xp.sum(xp.take_along_axis(x, INDICES, axis=1)), [X], 8),
    "convolution 3 x 3": (convolution, [IMAGES, on_gpu(np.ones((3, 3, 4, 1)))], 10),
    "convolution 5 x 5, many filters": (convolution, [IMAGES, on_gpu(np.ones((5, 5, 4, 16)))], 10),
    "det": (xp.linalg.det, [M], 12),
    "slogdet": (lambda m: xp.linalg.slogdet(m).logabsdet, [M], 15),
}
MORE_ON_CUPY_13 = {  # its where copies the mask
    "slogdet": 3, "special.logsumexp": 1, "SparseCategoricalCrossentropy": 3,
    "CategoricalCrossentropy": 2, "BinaryCrossentropy": 5,
}  # fmt: skip


def counts_of(function):
    function()  # kernels are compiled, and constants made
    function()
    with rigcount.counted() as counts:
        function()
    return counts


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_gradient_keeps_to_its_launches_and_waits_once(program):
    f, sources, most = PROGRAMS[program]
    if int(cupy.__version__.partition(".")[0]) < 14:
        most += MORE_ON_CUPY_13.get(program, 0)

    def run():
        with GradientTape() as tape:
            tape.watch(sources)
            y = f(*sources)
        return tape.gradient(y, sources)

    counts = counts_of(run)
    assert counts.launches <= most
    assert (counts.syncs, counts.d2h, counts.h2d) == (1, 1, 0)


@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adam", "AdamW", "Adagrad", "Lion"])
def test_a_step_is_one_kernel_for_a_variable_and_never_waits(name):
    variable = Variable(on_gpu(np.ones((4, 2))))
    optimizer, change = getattr(optimizers, name)(0.01), on_gpu(np.ones((4, 2)))
    counts = counts_of(lambda: optimizer.apply_gradients([(change, variable)]))
    assert counts.launches == (2 if name == "AdamW" else 1)
    assert (counts.syncs, counts.d2h, counts.h2d) == (0, 0, 0)
