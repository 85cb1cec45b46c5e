"""Sums over partitions have the values and derivatives of the sum on one machine."""

from typing import NamedTuple

import dask
import numpy as np
import pytest

import arraytape as xp
from arraytape import distributed
from arraytape.distributed import _sums
from arraytape.nn import Dense


def loss(w, X, y):
    r = X @ w - y
    return xp.sum(xp.log1p(r * r))


def statistics(p, X, y):
    r = xp.tanh(X @ p["w"]) * p["scale"] - y
    return {"squares": xp.sum(r * r), "by_column": X.T @ r, "rows": X.shape[0]}


@pytest.fixture
def w():
    return xp.asarray([0.5, -1.0, 2.0, 0.1])


@pytest.fixture
def v():
    return xp.asarray([1.0, 0.3, -0.2, 0.7])


@pytest.fixture
def here(host):
    """A function of parameters and blocks, on the whole data."""
    X, y = (xp.asarray(x) for x in host)
    return lambda f: lambda *params: f(*params, X, y)


def near(found, expected):
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-11)


def leaves(value):
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves(value[key])]
    if isinstance(value, tuple | list):
        return [x for part in value for x in leaves(part)]
    return [value]


# --- value and gradient ---------------------------------------------------------------------------
def test_value_and_gradient(data, here, w):
    near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_several_parameters_and_constants(data, here, w):
    def f(w, a, power, X, y):
        return xp.sum(xp.abs(X @ w["w"] * a - y) ** power)

    params = {"w": w}, xp.asarray(1.5), 3
    found = distributed.value_and_grad(f, data, argnums=(0, 1))(*params)
    near(found, xp.value_and_grad(here(f), argnums=(0, 1))(*params))
    assert isinstance(found[1], tuple)
    near(distributed.value_and_grad(f, data, argnums=-2)(*params)[1], found[1][1])


class Net(xp.Module):
    """Two layers, and a Variable that is not trained."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(1)
        self.hidden, self.out = Dense(3, "tanh"), Dense(1)
        self.scale = xp.Variable(2.0, trainable=False)
        self(xp.ones((1, 4)))
        for v in self.trainable_variables:
            v.assign(rng.normal(size=v.shape))

    def __call__(self, X):
        return self.out(self.hidden(X))[:, 0] * self.scale


def squares(net, X, y):
    return xp.sum((net(X) - y) ** 2)


def test_a_module_gets_a_gradient_for_each_trainable_variable(data, here):
    net = Net()
    value, found = distributed.value_and_grad(squares, data)(net)
    with xp.GradientTape() as tape:
        right = here(squares)(net)
    near(value, right)
    near(found, tape.gradient(right, list(net.trainable_variables)))
    assert len(found) == 4


@pytest.mark.parametrize("persistent", [False, True])
def test_a_module_under_a_tape(data, here, persistent):
    net = Net()
    total = distributed.map_sum(squares, data)
    sources = [*net.trainable_variables, net.scale]
    with xp.GradientTape(persistent=persistent) as tape:
        tape.watch(net.scale)
        y = total(net)
    with xp.GradientTape() as beside:
        beside.watch(net.scale)
        right = here(squares)(net)
    near(tape.gradient(y, sources), beside.gradient(right, sources))


def test_a_module_at_second_order(data, here):
    net = Net()
    kernel = net.hidden.trainable_variables[0]

    def slope(total):
        with xp.GradientTape() as outer:
            with xp.GradientTape() as inner:
                y = total(net)
            first = xp.sum(inner.gradient(y, kernel) ** 2)
        return outer.gradient(first, list(net.trainable_variables))

    near(slope(distributed.map_sum(squares, data)), slope(here(squares)))


def test_the_gradient_is_that_of_the_values_that_were_recorded(data, here):
    net = Net()
    total = distributed.map_sum(squares, data)
    with xp.GradientTape() as beside:
        right = here(squares)(net)
    expected = beside.gradient(right, net.hidden.kernel)
    with xp.GradientTape(persistent=True) as tape:
        y = xp.exp(0.001 * total(net))
    net.hidden.kernel.assign(net.hidden.kernel * 0.0)
    near(tape.gradient(y, net.hidden.kernel), 0.001 * xp.exp(0.001 * right) * expected)


# --- a sum as one op ------------------------------------------------------------------------------
def mean_loss(total):
    def f(w):
        s = total({"w": w, "scale": xp.asarray(1.3)})
        return s["squares"] / s["rows"] + xp.sum(s["by_column"] ** 2) * 1e-3 + 0.1 * xp.sum(w * w)

    return f


@pytest.mark.parametrize(
    "of",
    [
        lambda f, w, v: f(w),
        lambda f, w, v: xp.value_and_grad(f)(w),
        lambda f, w, v: xp.hessian(f)(w),
        lambda f, w, v: xp.jvp(f, (w,), (v,)),
        lambda f, w, v: xp.hvp(f, (w,), (v,)),
        lambda f, w, v: xp.vmap(f)(xp.stack([w, v, w - v])),
        lambda f, w, v: xp.vmap(xp.grad(f))(xp.stack([w, v, w - v])),
        lambda f, w, v: xp.grad(lambda w: xp.sum(xp.grad(f)(w) * v))(w),
        lambda f, w, v: xp.jvp(lambda w: xp.jvp(f, (w,), (v,))[1], (w,), (w,)),
    ],
)
def test_it_is_a_function_like_any_other(data, here, w, v, of):
    near(
        of(mean_loss(distributed.map_sum(statistics, data)), w, v),
        of(mean_loss(here(statistics)), w, v),
    )


@pytest.mark.slow
def test_third_order(data, here, w, v):
    def third(f):
        return xp.jvp(lambda w: xp.hvp(f, (w,), (v,))[0], (w,), (v,))[1]

    near(third(distributed.map_sum(loss, data)), third(here(loss)))


def test_jacobians(data, here, w):
    def f(w, X, y):
        return {"a": X.T @ xp.sin(X @ w), "b": xp.stack([xp.sum(w), xp.sum(w * w)])}

    total, right = distributed.map_sum(f, data), here(f)
    found = xp.jacobian(total)(w)
    near(found["a"], xp.jacobian(lambda w: right(w)["a"])(w))
    near(found["b"], len(data) * xp.jacobian(lambda w: right(w)["b"])(w))


def test_complex_parameters(data, here):
    z = xp.asarray([0.5 + 1j, -1.0 + 0.3j, 0.2 - 1j, 1.0 + 0j])

    def f(z, X, y):
        return xp.sum(xp.abs(xp.astype(X, xp.complex128) @ z - y) ** 2)

    near(xp.grad(distributed.map_sum(f, data))(z), xp.grad(here(f))(z))
    near(distributed.value_and_grad(f, data)(z), xp.value_and_grad(here(f))(z))


def test_inside_another_derivative(data, here, w):
    def size(f):
        return lambda w: xp.sum(f(w)[1] ** 2)

    near(
        xp.grad(size(distributed.value_and_grad(loss, data)))(w),
        xp.grad(size(xp.value_and_grad(here(loss))))(w),
    )


def test_one_value_as_two_parameters(data, here, w):
    def f(a, b, X, y):
        return xp.sum(xp.sin(X @ a) * (X @ b))

    total, right = distributed.map_sum(f, data), here(f)
    for g in (lambda f: lambda w: f(w, w), lambda f: lambda w: f(w, xp.grad(lambda u: f(u, w))(w))):
        near(xp.grad(g(total))(w), xp.grad(g(right))(w))


def test_one_value_given_twice_has_a_gradient_for_each_place(data, here, w):
    def f(a, b, X, y):
        return xp.sum(xp.sin(X @ a) * (X @ b))

    def of_pair(p, X, y):
        return f(p["a"], p["b"], X, y)

    for argnums in (0, 1, (0, 1), (1, 0)):
        near(distributed.value_and_grad(f, data, argnums)(w, w),
             xp.value_and_grad(here(f), argnums)(w, w))  # fmt: skip
    pair = {"a": w, "b": w}
    near(distributed.value_and_grad(of_pair, data)(pair), xp.value_and_grad(here(of_pair))(pair))
    v = xp.Variable(w)
    near(
        distributed.value_and_grad(f, data, (0, 1))(v, v), xp.value_and_grad(here(f), (0, 1))(v, v)
    )
    near(
        xp.grad(lambda w: xp.sum(distributed.value_and_grad(f, data)(w, w)[1] ** 2))(w),
        xp.grad(lambda w: xp.sum(xp.grad(here(f))(w, w) ** 2))(w),
    )


def test_a_variable_as_a_parameter_and_in_a_module(data, here):
    def f(net, kernel, X, y):
        return squares(net, X, y) + xp.sum(xp.sin(X @ kernel[:, 0]))

    net = Net()
    kernel, sources = net.hidden.kernel, list(net.trainable_variables)

    def slopes(total):
        with xp.GradientTape() as outer:
            with xp.GradientTape() as inner:
                y = total(net, kernel)
            first = inner.gradient(y, sources)
            size = sum(xp.sum(g * g) for g in first)
        return first, outer.gradient(size, sources)

    near(slopes(distributed.map_sum(f, data)), slopes(here(f)))


def test_value_and_grad_under_vmap(data, here, w, v):
    both, right = distributed.value_and_grad(loss, data), xp.value_and_grad(here(loss))
    near(xp.vmap(both)(xp.stack([w, v])), xp.vmap(right)(xp.stack([w, v])))


def test_what_is_not_differentiated_may_leave_the_tape(data, here, w, v):
    def f(w, scale, X, y):
        return xp.sum(xp.sin(X @ w)) * float(scale)

    s = xp.asarray(2.0)
    near(distributed.value_and_grad(f, data)(w, s), xp.value_and_grad(here(f))(w, s))
    total, whole = distributed.map_sum(f, data), here(f)
    for of in (
        lambda t: xp.grad(t)(w, s),
        lambda t: xp.jvp(lambda w: t(w, s), (w,), (v,)),
        lambda t: xp.hvp(lambda w: t(w, s), (w,), (v,))[0],
        lambda t: xp.hessian(lambda w: t(w, s))(w),
        lambda t: xp.vmap(lambda w: xp.grad(t)(w, s))(xp.stack([w, v])),
    ):
        near(of(total), of(whole))
    for of in (
        lambda: xp.grad(total, argnums=1)(w, s),
        lambda: distributed.value_and_grad(f, data, argnums=(0, 1))(w, s),
        lambda: xp.grad(lambda s: xp.sum(xp.grad(total)(w, s)))(s),
        lambda: xp.jvp(lambda s: total(w, s), (s,), (s,)),
    ):
        with pytest.raises(xp.LostGradientError):
            of()


def of_two_tapes(t, inner, outer, inner_is_forward=False):
    """The gradient of an inner derivative with respect to one parameter: each follows its own."""
    params = {"w": xp.asarray([0.5, -1.0, 2.0, 0.1]), "s": xp.asarray(2.0)}
    a, b = params[inner], params[outer]
    with xp.GradientTape() as tape:
        tape.watch(b)
        if inner_is_forward:
            with xp.ForwardAccumulator(a, xp.ones_like(a)) as accumulator:
                y = t(*params.values())
            found = accumulator.jvp(y)
        else:
            with xp.GradientTape() as second:
                second.watch(a)
                y = t(*params.values())
            found = second.gradient(y, a)
    return tape.gradient(found, b)


@pytest.mark.parametrize("inner", ["w", "s"])
@pytest.mark.parametrize("outer", ["w", "s"])
@pytest.mark.parametrize("inner_is_forward", [False, True])
def test_a_recorder_follows_some_of_the_parameters(data, here, inner, outer, inner_is_forward):
    def f(w, s, X, y):
        return xp.sum(xp.sin(X @ w) * xp.cos(s * (X @ w)))

    near(
        of_two_tapes(distributed.map_sum(f, data), inner, outer, inner_is_forward),
        of_two_tapes(here(f), inner, outer, inner_is_forward),
    )


def test_float32_parameters_of_float64_data(data, here):
    w = xp.asarray([0.5, -1.0, 2.0, 0.1], dtype=xp.float32)
    for f in (lambda t: lambda w: t(w) ** 2, lambda t: t):
        found, right = xp.grad(f(distributed.map_sum(loss, data)))(w), xp.grad(f(here(loss)))(w)
        assert found.dtype == right.dtype == xp.float32
        np.testing.assert_allclose(found, right, rtol=1e-4)


def test_small_integers_do_not_overflow(data, w):
    total = distributed.map_sum(lambda w, X, y: [np.uint8(200), np.int16(30_000)], data)(w)
    assert [int(x) for x in total] == [800, 120_000]


def test_an_integer_for_an_empty_partition(host, w):
    X, y = cut(host, 7, 7, 30)

    def f(w, X, y):
        return loss(w, X, y) if len(y) else 0

    data = distributed.partitions(X, y)
    right = distributed.value_and_grad(loss, data)(w)
    near(distributed.value_and_grad(f, data)(w), right)
    near(xp.value_and_grad(distributed.map_sum(f, data))(w), right)


def test_function_around_a_sum_computes_anew(data, here, w, v):
    around = xp.function(lambda w: distributed.map_sum(loss, data)(w) ** 2)
    with pytest.warns(xp.TapeWarning, match="not replayed"):
        found = [around(x) for x in (w, w, w, v, w + v)]
    near(found, [here(loss)(x) ** 2 for x in (w, w, w, v, w + v)])


def test_function_inside_is_replayed(data, here, w):
    inner = xp.function(lambda w, X, y: loss(w, X, y))
    near(
        xp.grad(distributed.map_sum(lambda w, X, y: inner(w, X, y), data))(w),
        xp.grad(here(loss))(w),
    )


def test_float32_stays(host):
    X, y = (x.astype(np.float32) for x in host)
    data = distributed.partitions([X[:20], X[20:]], [y[:20], y[20:]])
    value, found = distributed.value_and_grad(loss, data)(xp.ones(4, dtype=xp.float32))
    assert value.dtype == found.dtype == xp.float32


# --- how often the workers are asked --------------------------------------------------------------
@pytest.fixture
def asked(monkeypatch):
    """How many sums were computed."""
    found = []

    def counted(*args):
        found.append(args)
        return sum_of(*args)

    sum_of = _sums.sum_of
    monkeypatch.setattr(_sums, "sum_of", counted)
    return found


def of_two_scalars(total):
    def f(w):
        s = total(w)
        return s["squares"] / s["rows"] * xp.sin(s["sines"]) + xp.sum(w * w)

    return f


def two_scalars(w, X, y):
    r = X @ w - y
    return {"squares": xp.sum(r * r), "sines": xp.sum(xp.sin(r)), "rows": X.shape[0]}


@pytest.mark.parametrize(
    ("of", "sums"),
    [
        (lambda f, w, v: xp.value_and_grad(f)(w), 1),
        (lambda f, w, v: xp.jvp(f, (w,), (v,)), 1),
        (lambda f, w, v: xp.hvp(f, (w,), (v,)), 1),
        (lambda f, w, v: xp.jvp(xp.value_and_grad(f), (w,), (v,)), 1),
        (lambda f, w, v: xp.jvp(lambda w: xp.hvp(f, (w,), (v,))[0], (w,), (w,)), 5),
    ],
)
def test_a_derivative_asks_once(data, here, w, v, asked, of, sums):
    near(of(distributed.map_sum(loss, data), w, v), of(here(loss), w, v))
    assert len(asked) == sums
    asked.clear()
    total = of_two_scalars(distributed.map_sum(two_scalars, data))
    near(of(total, w, v), of(of_two_scalars(here(two_scalars)), w, v))
    assert len(asked) == sums


def test_a_tangent_of_value_and_grad_asks_once(data, here, w, v, asked):
    def along(both):
        return xp.jvp(lambda w: both(w), (w,), (v,))

    near(along(distributed.value_and_grad(loss, data)), along(xp.value_and_grad(here(loss))))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "of",
    [
        lambda f, w, v: xp.grad(lambda v: xp.sum(xp.hvp(f, (w,), (v,))[0] ** 2))(v),
        lambda f, w, v: xp.grad(lambda v: xp.jvp(f, (w,), (v,))[1] ** 2)(v),
        lambda f, w, v: xp.grad(lambda w: xp.jvp(f, (w,), (w,))[1] ** 2)(w),
        lambda f, w, v: xp.jvp(lambda v: xp.hvp(f, (w,), (v,))[0], (v,), (w,)),
        lambda f, w, v: xp.vmap(lambda v: xp.hvp(f, (w,), (v,))[0])(xp.stack([v, w])),
        lambda f, w, v: xp.vmap(lambda w: xp.hvp(f, (w,), (v,))[0])(xp.stack([v, w])),
        lambda f, w, v: xp.linearize(xp.grad(f), w)[1](v),
    ],
)
def test_tangents_that_are_variables_themselves(data, here, w, v, of):
    near(of(distributed.map_sum(loss, data), w, v), of(here(loss), w, v))


def test_products_along_other_tangents_than_were_known(data, here, w, v):
    """One accumulator's tangents are computed ahead, and not taken for another's."""

    def products(total):
        with xp.ForwardAccumulator(w, v) as outer:
            with xp.ForwardAccumulator(w, w) as inner:
                y = total(w)
            return y, inner.jvp(y), outer.jvp(y)

    near(products(distributed.map_sum(loss, data)), products(here(loss)))


def test_a_parameter_that_is_written_to_before_the_way_back(data, here, w, v):
    def product(total):
        x = xp.asarray(w, copy=True)
        with xp.ForwardAccumulator(x, v) as accumulator:
            with xp.GradientTape() as tape:
                tape.watch(x)
                z = x * 1.0
                y = total(z)
                z[0] = 7.0
            g = tape.gradient(y, x)
        return g, accumulator.jvp(g)

    near(product(distributed.map_sum(loss, data)), product(here(loss)))


def test_a_product_for_modules_and_some_of_the_parameters(data, here):
    net = Net()
    kernel, sources = net.hidden.kernel, list(net.trainable_variables)

    def product(total):
        with xp.ForwardAccumulator(kernel, xp.ones_like(kernel)) as accumulator:
            with xp.GradientTape() as tape:
                y = total(net)
            g = tape.gradient(y, sources)
        return accumulator.jvp(y), accumulator.jvp(g)

    near(product(distributed.map_sum(squares, data)), product(here(squares)))


def test_an_op_without_a_second_derivative_has_a_first_one(data, here, w, v):
    def f(w, X, y):
        return xp.sum(xp.special._landau_cdf(X @ w, 0.0, 1.0))

    total = distributed.map_sum(f, data)
    with xp.ForwardAccumulator(w, v) as accumulator:
        with xp.GradientTape() as tape:
            tape.watch(w)
            y = total(w)
        near(accumulator.jvp(y), xp.jvp(here(f), (w,), (v,))[1])
        with pytest.raises(LookupError, match="of Landau's density is an integral"):
            accumulator.jvp(tape.gradient(y, w))


# --- partitions -----------------------------------------------------------------------------------
def cut(host, *at):
    X, y = host
    return list(np.split(X, at)), list(np.split(y, at))


def test_blocks_of_any_kind(host, here, w):
    X, y = cut(host, 7, 7, 30)  # one has no rows
    right = xp.value_and_grad(here(loss))(w)
    near(distributed.value_and_grad(loss, distributed.partitions(X, y))(w), right)
    lazy = [dask.delayed(np.array)(x) for x in X]
    near(distributed.value_and_grad(loss, distributed.partitions(lazy, y))(w), right)
    near(distributed.value_and_grad(loss, distributed.partitions(lazy, y).persist())(w), right)
    pairs = distributed.partitions(list(zip(X, y, strict=True)))
    near(distributed.value_and_grad(lambda w, pair: loss(w, *pair), pairs)(w), right)
    arrays = distributed.partitions([xp.asarray(x) for x in X], [xp.asarray(x) for x in y])
    near(distributed.value_and_grad(loss, arrays)(w), right)


class Row(NamedTuple):
    """A block with names."""

    X: np.ndarray
    y: np.ndarray


def test_blocks_that_are_nestings(host, here, w):
    X, y = cut(host, 7, 30)
    right = xp.value_and_grad(here(loss))(w)
    for make, f in (
        (lambda X, y: {"X": X, "y": y}, lambda w, b: loss(w, b["X"], b["y"])),
        (Row, lambda w, b: loss(w, b.X, b.y)),
        (lambda X, y: [X, [y, None, "text"]], lambda w, b: loss(w, b[0], b[1][0])),
    ):
        data = distributed.partitions([make(a, b) for a, b in zip(X, y, strict=True)])
        near(distributed.value_and_grad(f, data)(w), right)


@pytest.mark.parametrize("convert", [np.ma.asarray, lambda x: x.astype(">f8"), np.asfortranarray])
def test_blocks_of_numpy_kinds(host, here, w, convert):
    X, y = cut(host, 7, 30)
    data = distributed.partitions([convert(x) for x in X], y)
    near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_bags(host, here, w):
    import dask.bag as db

    def of_rows(w, rows):
        return sum(loss(w, x, y) for x, y in rows)

    bag = db.from_sequence(list(zip(*host, strict=True)), npartitions=3)
    near(
        distributed.value_and_grad(of_rows, distributed.partitions(bag))(w),
        xp.value_and_grad(here(loss))(w),
    )


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's of a newer pandas
def test_dataframes_and_parquet_files(host, here, w, tmp_path):
    for name in ("pandas", "pyarrow"):
        pytest.importorskip(name, reason="dataframes need dask[dataframe]: 250 MB of libraries")
    import dask.dataframe as dd
    import pandas as pd

    X, y = host
    right = xp.value_and_grad(here(loss))(w)
    columns = list("abcd")
    made = dd.from_pandas(
        pd.DataFrame({**dict(zip(columns, X.T, strict=True)), "y": y}), npartitions=4
    )
    made.to_parquet(tmp_path)
    for frame in (made, dd.read_parquet(tmp_path)):
        data = distributed.partitions(frame[columns], frame["y"])
        assert len(data) == 4
        near(distributed.value_and_grad(loss, data)(w), right)
        whole = distributed.partitions(frame)
        near(distributed.value_and_grad(lambda w, F: loss(w, F[:, :4], F[:, 4]), whole)(w), right)
    texts = made.assign(text="a")
    with pytest.raises(TypeError, match="no Array can have dtype object") as caught:
        distributed.value_and_grad(lambda w, F: loss(w, F[:, :4], F[:, 4]),
                                   distributed.partitions(texts))(w)  # fmt: skip
    assert caught.value.__notes__[0].startswith("in partition ")


def test_collections_that_dask_cuts_otherwise_to_read_them(host, here, w):
    """As of read_parquet, which reads small files together where few columns are asked for."""

    class Frame:
        def __init__(self, blocks, together):
            self.blocks, self.npartitions, self.together = blocks, len(blocks), together

        def to_delayed(self, optimize_graph=True):
            step = self.together if optimize_graph else 1
            groups = [self.blocks[i : i + step] for i in range(0, self.npartitions, step)]
            return [dask.delayed(np.concatenate)(group) for group in groups]

    X, y = cut(host, 7, 20, 40)
    data = distributed.partitions(Frame(X, 1), Frame(y, 2))
    assert len(data) == 4
    near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_arrays_that_are_cut_along_columns_too(host, here, w):
    import dask.array as da

    X, y = host
    data = distributed.partitions(da.from_array(X, chunks=(20, 2)), da.from_array(y, chunks=20))
    near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_a_stack_of_npy_files(tmp_path, host, here, w):
    import dask.array as da

    stacks = []
    for name, x in zip("Xy", host, strict=True):
        da.to_npy_stack(str(tmp_path / name), da.from_array(x, chunks=(20, *x.shape[1:])), axis=0)
        stacks.append(da.from_npy_stack(str(tmp_path / name)))  # blocks are maps of the files
    for data in (distributed.partitions(*stacks), distributed.partitions(*stacks).persist()):
        near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_zarr_stores(tmp_path, host, here, w):
    pytest.importorskip("zarr", reason="zarr is not installed here")
    import dask.array as da

    stores = []
    for name, x in zip("Xy", host, strict=True):
        da.to_zarr(da.from_array(x, chunks=(20, *x.shape[1:])), str(tmp_path / name))
        stores.append(da.from_zarr(str(tmp_path / name)))
    data = distributed.partitions(*stores)
    assert len(data) == 3
    near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_the_tree_of_sums_can_be_deep(host, here, w):
    X, y = cut(host, *range(1, 50))
    for fan_in in (2, 3, 8, 100):
        data = distributed.partitions(X, y, fan_in=fan_in)
        assert len(data) == 50
        near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_one_partition(host, here, w):
    X, y = host
    data = distributed.partitions([X], [y])
    near(distributed.value_and_grad(loss, data)(w), xp.value_and_grad(here(loss))(w))


def test_seeds_are_of_the_partition_and_the_same_in_each_run(data, w):
    def noisy(w, X, y, seed):
        z = xp.asarray(np.random.default_rng(seed).normal(size=X.shape))
        return xp.sum((X * z) @ w)

    seeded = data.seeded(3)
    total = distributed.map_sum(noisy, seeded)
    near(total(w), total(w))
    near(xp.grad(total)(w), distributed.value_and_grad(noisy, seeded)(w)[1])
    near(xp.sum(xp.grad(total)(w) * w), total(w))
    assert float(total(w)) != float(distributed.map_sum(noisy, data.seeded(4))(w))


# --- bits -----------------------------------------------------------------------------------------
def bits(f, w):
    return [np.asarray(x).tobytes() for x in leaves(f(w))]


def test_the_same_partitions_give_the_same_bits(host, w):
    X, y = cut(host, *range(3, 50, 3))
    data = distributed.partitions(X, y)
    found = set()
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            for _ in range(5):
                step = distributed.value_and_grad(loss, data)
                found.add(tuple(bits(step, w)))
    assert len(found) == 1


def test_what_a_function_writes_to_its_block_stays_its_own(host, w):
    X, y = (x.copy() for x in host)
    before = X.copy()

    def f(w, X, y):
        X[:, 0] = 0.0
        X *= 2.0
        return xp.sum(X @ w)

    data = distributed.partitions([X], [y])
    first = distributed.map_sum(f, data)(w)
    near(distributed.map_sum(f, data)(w), first)
    assert np.array_equal(X, before)
