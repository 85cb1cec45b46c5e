"""What cannot be computed is an error that names the function, and the partition where it was."""

import re

import dask
import numpy as np
import pytest

import arraytape as xp
from arraytape import distributed
from arraytape.nn import Dense


@pytest.fixture
def w():
    return xp.ones(4)


@pytest.fixture
def data(host):
    X, y = host
    with dask.config.set(scheduler="synchronous"):
        yield distributed.partitions(np.split(X, [20, 40]), np.split(y, [20, 40]))


def total(w, X, y):
    return xp.sum(X @ w - y)


# --- partitions -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda da: (), ValueError, "at least one collection"),
        (lambda da: ([],), ValueError, "have no blocks to sum"),
        (lambda da: ([1, 2], [1, 2, 3]), ValueError, "have 2, 3 blocks"),
        (lambda da: (np.ones(3),), TypeError, r"collection 0 must be .* float64\(3,\)"),
        (lambda da: (da.ones(6, chunks=2), da.ones(6, chunks=3)), ValueError, "have 3, 2 blocks"),
        (
            lambda da: (da.ones(6, chunks=(3, 3)), da.ones(6, chunks=(2, 4))),
            ValueError,
            "block 0 has 3 rows in collection 0, 2 in collection 1",
        ),
        (lambda da: (da.ones(()),), ValueError, r"shape \(\)"),
    ],
)
def test_collections_that_do_not_fit(make, error, words):
    import dask.array as da

    with pytest.raises(error, match=words) as caught:
        distributed.partitions(*make(da))
    assert "test_bad_input.py" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"fan_in": 1}, ValueError), ({"fan_in": 2.0}, TypeError), ({"retries": -1}, ValueError)],
)
def test_options_that_do_not_fit(options, error):
    with pytest.raises(error, match=next(iter(options))):
        distributed.partitions([1], **options)


def test_partitions_say_what_they_are(data):
    assert repr(data) == "Partitions(3 of (ndarray, ndarray))"
    assert len(data) == 3


# --- functions and parameters ---------------------------------------------------------------------
@pytest.mark.parametrize("make", [distributed.map_sum, distributed.value_and_grad])
def test_what_is_no_function_or_no_partitions(make, data):
    with pytest.raises(TypeError, match="takes a function, got int 3"):
        make(3, data)
    with pytest.raises(TypeError, match=r"what partitions.* gives, got list"):
        make(total, [1, 2])


def test_a_loss_that_is_no_scalar(data, w):
    with pytest.raises(ValueError, match=r"shape \(\), got Array float64\(4,\)"):
        distributed.value_and_grad(lambda w, X, y: X.T @ (X @ w), data)(w)
    with pytest.raises(TypeError, match="one real floating-point Array, got dict"):
        distributed.value_and_grad(lambda w, X, y: {"a": xp.sum(X @ w)}, data)(w)


@pytest.mark.parametrize(
    ("params", "argnums", "error", "words"),
    [
        ((xp.asarray([1, 2, 3, 4]),), 0, TypeError, "got Array int64"),
        ((3.0,), 0, TypeError, "got float 3.0"),
        (({"a": xp.ones(4), "b": None},), 0, TypeError, r"NoneType None at '0\.b'"),
        ((xp.ones(4),), 1, ValueError, "no argument at position 1"),
        ((Dense(2),), 0, ValueError, "nothing to differentiate"),
        ((xp.ones(4),), (0, -1), ValueError, "name an argument twice"),
        ((xp.ones(4),), "0", TypeError, "argnums must be an int"),
        ((), 0, ValueError, "no argument at position 0"),
    ],
)
def test_parameters_without_a_gradient(data, params, argnums, error, words):
    with pytest.raises(error, match=words):
        distributed.value_and_grad(total, data, argnums)(*params)


@pytest.mark.parametrize("gives", [lambda: None, lambda: "text", lambda: {"a": None}, lambda: True])
def test_results_that_cannot_be_summed(data, w, gives):
    with pytest.raises(TypeError, match="must give Arrays and numbers") as caught:
        distributed.map_sum(lambda w, X, y: gives(), data)(w)
    (note,) = caught.value.__notes__
    assert re.match(r"in partition \d of 3 \(blocks of shapes \(\d0, 4\), \(\d0,\)\)", note)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda w, X, y: X @ w, r"partitions 0 and 2 .* shapes \(20,\) and \(10,\)"),
        (lambda w, X, y: {str(len(y)): w}, "partitions 0 and 2 give different results"),
        (lambda w, X, y: w * (1j if len(y) == 10 else 1.0), "dtypes float64 and complex128"),
        (lambda w, X, y: [w] * len(y), "partitions 0 and 2 give different results"),
    ],
)
def test_results_that_differ(data, w, f, words):
    with pytest.raises(ValueError, match=words):
        distributed.map_sum(f, data)(w)


def test_an_error_keeps_its_type_and_gets_the_partition_and_the_line(data, w):
    def f(w, X, y):
        if len(y) == 10:
            raise KeyError("missing")
        return xp.sum(X @ w)

    for make in (distributed.map_sum, distributed.value_and_grad):
        with pytest.raises(KeyError, match="missing") as caught:
            make(f, data)(w)
        (note,) = caught.value.__notes__
        assert note.startswith("in partition 2 of 3 (blocks of shapes (10, 4), (10,)) [at ")
        assert "test_bad_input.py" in note


def test_a_block_that_cannot_be_computed(w):
    def read(path):
        raise OSError(f"no file {path}")

    data = distributed.partitions([dask.delayed(read)(path) for path in "ab"])
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            for make in (distributed.map_sum, distributed.value_and_grad):
                with pytest.raises(OSError, match="no file") as caught:
                    make(lambda w, X: xp.sum(X * w), data)(w)
                (note,) = caught.value.__notes__
                assert note.startswith("<lambda>: while its partitions were computed or moved")


def test_a_partition_without_rows(host, w):
    X, y = host
    data = distributed.partitions(np.split(X, [20, 20]), np.split(y, [20, 20]))
    with dask.config.set(scheduler="synchronous"):
        value, slope = distributed.value_and_grad(total, data)(w)  # a sum of nothing is 0
        assert abs(float(value) - np.sum(X @ np.ones(4) - y)) < 1e-9
        assert np.allclose(np.asarray(slope), X.sum(0), rtol=1e-12)
        with pytest.raises(ValueError, match="max") as caught:
            distributed.map_sum(lambda w, X, y: xp.max(X @ w), data)(w)
        assert "in partition 1 of 3 (blocks of shapes (0, 4), (0,))" in caught.value.__notes__[0]


def test_a_value_that_leaves_the_tape_is_an_error(data, w):
    def lost(w, X, y):
        return xp.sum(xp.asarray(np.asarray(X @ w) - np.asarray(y)))

    def in_part(w, X, y):
        return xp.sum(X @ w) * float(w[0])

    for f in (lost, in_part):
        for step in (distributed.value_and_grad(f, data), xp.grad(distributed.map_sum(f, data))):
            with pytest.raises(xp.LostGradientError, match=r"test_bad_input\.py") as caught:
                step(w)
            assert "of 3 (blocks of shapes" in caught.value.__notes__[0]
        with pytest.raises(xp.LostGradientError):
            xp.jvp(distributed.map_sum(f, data), (w,), (w,))


# --- what a function uses of its surroundings -----------------------------------------------------
def test_a_variable_that_is_no_parameter(data, w):
    v = xp.Variable([1.0, 2.0, 3.0, 4.0], name="scales")
    layer = Dense(1)
    layer(xp.ones((1, 4)))
    for f in (lambda w, X, y: xp.sum(X @ (w * v)), lambda w, X, y: xp.sum(layer(X)) + xp.sum(w)):
        with pytest.raises(TypeError, match=r"uses Variable.* pass it") as caught:
            distributed.map_sum(f, data)(w)
        assert "test_bad_input.py" in str(caught.value)


def test_a_followed_array_that_is_no_parameter(data, w):
    u = xp.asarray([1.0, 2.0, 3.0, 4.0])
    f = distributed.map_sum(lambda w, X, y: xp.sum(X @ (w * u)), data)
    assert f(w).shape == ()
    with xp.GradientTape() as tape:
        tape.watch(u)
        with pytest.raises(TypeError, match="which a tape follows"):
            f(w)


def test_a_variable_of_an_imported_module(data, w, tmp_path, monkeypatch):
    lines = (
        "import arraytape as xp",
        "v = xp.Variable(2.0)",
        "def f(w, X, y): return xp.sum(X @ w) * v",
    )
    (tmp_path / "module_with_variable.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    import module_with_variable

    for make in (distributed.map_sum, distributed.value_and_grad):
        with pytest.raises(
            TypeError, match=r"f: the function uses Variable .* of a module.* pass it"
        ):
            make(module_with_variable.f, data)(w)


def test_variables_that_the_function_makes(data, w):
    def f(w, X, y):
        v = xp.Variable(xp.stop_gradient(w))
        with xp.GradientTape() as tape:
            size = xp.sum((X @ v) ** 2)
        v.assign_sub(0.1 * tape.gradient(size, v))
        return xp.sum(v.value() * w)

    assert distributed.value_and_grad(f, data)(w)[1].shape == (4,)


def test_blocks_are_constants(host, w):
    X, y = host
    scale, rows = xp.asarray(2.0), xp.Variable(X)

    def scaled(u):
        return distributed.map_sum(total, distributed.partitions([{"X": u * X}], [y]))(w)

    def with_variable(w):
        return distributed.map_sum(total, distributed.partitions([rows], [y]))(w)

    for of, x in ((lambda u: xp.grad(scaled)(u), scale), (with_variable, w),
                  (xp.vmap(scaled), xp.ones(3))):  # fmt: skip
        with pytest.raises(TypeError, match=r"total: the block .*blocks are constants") as caught:
            of(x)
        assert "test_bad_input.py" in str(caught.value)


def test_an_error_in_the_backward_pass_of_one_partition(data, w):
    @xp.custom_gradient
    def f(x):
        def pull(g):
            if len(x) == 10:
                raise ZeroDivisionError("no")
            return g

        return x * 1.0, pull

    def of(w, X, y):
        return xp.sum(f(X @ w))

    for step in (distributed.value_and_grad(of, data), xp.grad(distributed.map_sum(of, data))):
        with pytest.raises(ZeroDivisionError) as caught:
            step(w)
        assert caught.value.__notes__[0].startswith("in partition 2 of 3")


def test_assigning_to_a_variable(data):
    layer = Dense(1)
    layer(xp.ones((1, 4)))

    def f(layer, X, y):
        layer.bias.assign_add([1.0])
        return xp.sum(layer(X))

    before = float(layer.bias[0])
    for step in (distributed.map_sum(f, data), distributed.value_and_grad(f, data)):
        with pytest.raises(
            RuntimeError, match=r"assigns to Variable 'dense/bias' float64\(1,\)"
        ) as caught:
            step(layer)
        assert "of 3 (blocks of shapes" in caught.value.__notes__[0]
    assert float(layer.bias[0]) == before


def test_what_cannot_be_sent(data, w):
    import threading

    lock = threading.Lock()

    def f(w, X, y):
        with lock:
            return xp.sum(X @ w)

    with pytest.raises(TypeError, match=r"f: .* cannot be sent to workers: .*lock.*test_bad_input"):
        distributed.map_sum(f, data)(w)


def test_another_version_on_a_worker(data, w, monkeypatch):
    from arraytape.distributed import _worker

    monkeypatch.setattr(_worker, "__version__", "0.0.1")
    with pytest.raises(RuntimeError, match=r"the driver has arraytape .*, and this worker 0\.0\.1"):
        distributed.map_sum(total, data)(w)


def test_without_dask(data, w, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"arraytape\.distributed needs Dask .*\[distributed\]"):
        distributed.map_sum(total, data)(w)


def test_a_failed_call_leaves_the_tape_and_the_parameters_as_they_were(data, w, near):
    def f(w, X, y):
        raise ValueError("no")

    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(w * w)
        with pytest.raises(ValueError, match="no"):
            distributed.map_sum(f, data)(w)
        z = y + distributed.map_sum(total, data)(w)
    near(tape.gradient(z, w)[0], 2.0 + sum(float(np.sum(X[:, 0])) for X, _ in data._blocks))


def test_a_variable_of_the_surroundings_is_named():
    rate, unnamed = xp.Variable(3.0, name="rate"), xp.Variable(2.0)
    data = distributed.partitions([[1.0], [2.0]])
    for variable, said in (
        (rate, r"uses Variable 'rate' float64\(\)"),
        (unnamed, r"Variable float64"),
    ):
        with pytest.raises(TypeError, match=said):
            distributed.value_and_grad(
                lambda w, x, v=variable: xp.sum(w * v * xp.asarray(x)), data
            )(xp.asarray(1.0))
