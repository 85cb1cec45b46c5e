"""Sequential, functional_call, Embedding, Flatten, layers of one's own, summaries."""

import copy
import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape import checkpoint, nn, optimizers
from arraytape.testing import storages
from helpers.nets import near

IMAGES = xp.asarray(np.random.default_rng(0).normal(size=(6, 8, 8, 1)))


def network():
    return nn.Sequential([
        nn.Conv2D(4, 3, padding="same", activation="relu", seed=0), nn.BatchNormalization(),
        nn.MaxPooling2D(), nn.Dropout(0.25, seed=1), nn.Flatten(), nn.relu, nn.Dense(3, seed=2),
    ])  # fmt: skip


def test_layers_run_one_after_the_other_and_training_goes_to_those_that_take_it():
    model = network()
    conv, norm, pool, drop, flat, relu, dense = model.layers
    y = model(IMAGES)
    near(y, dense(relu(flat(pool(norm(conv(IMAGES)))))))
    assert drop.seed_generator_state.tolist()[1] == 0
    model(IMAGES, training=True)
    assert drop.seed_generator_state.tolist()[1] == 1
    assert float(xp.max(xp.abs(norm.moving_mean))) > 0
    assert model.pop() is dense
    model.add(nn.Dense(2))
    assert model(IMAGES).shape == (6, 2)
    assert nn.Sequential()(IMAGES) is IMAGES


FALLING = optimizers.schedules.CosineDecay(0.0, 20, warmup_target=0.01, warmup_steps=3)
OPTIMIZERS = {
    "SGD": lambda: optimizers.SGD(FALLING, 0.9, nesterov=True, weight_decay=0.1, clipnorm=1.0),
    "Adam": lambda: optimizers.Adam(FALLING, amsgrad=True, clipvalue=0.1),
    "AdamW": lambda: optimizers.AdamW(FALLING, global_clipnorm=1.0),
    "RMSprop": lambda: optimizers.RMSprop(FALLING, 0.9, 0.5, centered=True, global_clipnorm=1.0),
    "Adagrad": lambda: optimizers.Adagrad(FALLING, clipnorm=1.0),
    "Lion": lambda: optimizers.Lion(FALLING, weight_decay=0.1, clipvalue=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_network_learns_in_replays_as_it_does_eagerly(name):
    labels = xp.asarray([0, 1, 2, 0, 1, 2])
    found = []
    for wrap in (lambda f: f, xp.function):
        model, optimizer = network(), OPTIMIZERS[name]()
        model(IMAGES)
        optimizer.build(model.trainable_variables)

        def step(x, labels, model=model, optimizer=optimizer):
            with xp.GradientTape() as tape:
                loss = xp.mean(nn.softmax_cross_entropy(labels, model(x, training=True)))
            variables = model.trainable_variables
            pairs = zip(tape.gradient(loss, variables), variables, strict=True)
            optimizer.apply_gradients(pairs)
            return loss

        one = wrap(step)
        losses = [float(one(IMAGES, labels)) for _ in range(10)]
        assert losses[-1] < losses[0]
        found.append((losses, [np.asarray(v) for v in (*model.variables, *optimizer.variables)]))
        if wrap is xp.function:
            assert one.counts["replayed"] >= 7, one.reasons
    # But for last bits, which replays may change.
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    for a, b in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)


STORAGES = [storages.hostile, storages.frozen, storages.strict]


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.__name__)
def test_a_network_learns_the_same_on_another_device(storage):
    found = []
    for place in ("cpu", storage().devices()[-1]):
        model, accuracy = network(), nn.metrics.SparseCategoricalAccuracy()
        rate = optimizers.schedules.ExponentialDecay(0.01, 10, 0.5)
        optimizer = optimizers.AdamW(rate, clipnorm=1.0)
        x, labels = IMAGES.to_device(place), xp.asarray([0, 1, 2, 0, 1, 2], device=place)
        for _ in range(3):
            with xp.GradientTape() as tape:
                loss = xp.mean(nn.softmax_cross_entropy(labels, model(x, training=True)))
            variables = model.trainable_variables
            pairs = zip(tape.gradient(loss, variables), variables, strict=True)
            optimizer.apply_gradients(pairs)
        accuracy.update_state(labels, model(x))
        state = [*model.variables, *optimizer.variables, *accuracy.variables]
        found.append([np.asarray(v.to_device("cpu")) for v in state])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_network_is_pickled_copied_and_saved(tmp_path):
    model = network()
    model(IMAGES, training=True)
    checkpoint.save(tmp_path / "model.safetensors", model)
    fresh = network()
    fresh(IMAGES[:1, ...])
    checkpoint.load(tmp_path / "model.safetensors", fresh)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), fresh):
        assert [*other.named_variables()] == [*model.named_variables()]
        near(other(IMAGES), np.asarray(model(IMAGES)), 0.0)
        near(
            other(IMAGES, training=True), np.asarray(copy.deepcopy(model)(IMAGES, training=True)), 0
        )
    assert "layers.1" in repr(model)
    assert "not trainable" in repr(model)


def values_of(model):
    return {name: v.value() for name, v in model.named_variables().items() if v.trainable}


def test_functional_call_gives_gradients_by_path_and_for_each_example():
    model = network()
    model(IMAGES)
    labels = xp.asarray([0, 1, 2, 0, 1, 2])

    def loss(values, x, label):
        y = nn.functional_call(model, values, x[None, ...])[0, :]
        return nn.softmax_cross_entropy(label, y)

    values = values_of(model)
    found = xp.vmap(xp.grad(loss), in_axes=(None, 0, 0))(values, IMAGES, labels)
    with xp.GradientTape() as tape:
        total = xp.sum(nn.softmax_cross_entropy(labels, model(IMAGES)))
    expected = tape.gradient(total, model.trainable_variables)
    for g, whole in zip(found.values(), expected, strict=True):
        near(xp.sum(g, axis=0), np.asarray(whole), 1e-10)
    assert all(isinstance(v, xp.Variable) for v in model.variables)


def test_functional_call_reaches_variables_of_ones_own_modules():
    class Line(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = {"slope": xp.Variable(2.0), "more": [nn.Dense(1, seed=0)]}

        def __call__(self, x):
            return self.parts["slope"] * self.parts["more"][0](x)

    model, x = Line(), xp.ones((2, 3))
    y = model(x)
    near(nn.functional_call(model, {"parts.slope": xp.asarray(6.0)}, x), 3.0 * np.asarray(y))
    near(model(x), np.asarray(y))
    assert float(model.parts["slope"]) == 2.0


def test_functional_call_does_not_pass_over_variables_that_a_function_closes_over():
    layer = nn.Dense(3, seed=0)
    model = nn.Sequential([layer, lambda x: layer(x) * 2.0])
    x = xp.ones((2, 3))
    model(x)
    values = {name: v.value() for name, v in model.named_variables().items()}
    with pytest.raises(ValueError, match=r"reads the Variable 'dense/kernel' itself.*'layers\.0\."):
        nn.functional_call(model, values, x)
    itself = dict(model.named_variables())  # the Variables themselves are values, too
    near(nn.functional_call(model, itself, x), np.asarray(model(x)))


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda m: nn.functional_call(m, {"bias": xp.ones(2)}, X), ValueError, r"\(3,\), got"),
        (
            lambda m: nn.functional_call(m, {"b": xp.ones(3)}, X),
            ValueError,
            "no Variable 'b'; there",
        ),
        (lambda m: nn.functional_call(nn.relu, {}, X), TypeError, "takes a Module, got function"),
        (
            lambda m: nn.functional_call(nn.Dense(2), {}, X),
            ValueError,
            "made Variables in the call",
        ),
        (lambda m: nn.functional_call(nn.Dense(2), {"bias": X}, X), ValueError, "call it once"),
        (lambda m: nn.Sequential([3]), TypeError, "a layer must be callable, got int"),
        (lambda m: nn.Sequential().pop(), IndexError, "no layer to take away"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    model = nn.Dense(3, seed=0)
    model(X)
    with pytest.raises(error, match=says):
        act(model)


X = xp.ones((2, 3))


# --- embeddings, layers of one's own ---------------------------------------------------------------
def test_an_embedding_gives_rows_and_its_gradient_adds_up_where_one_is_taken_twice():
    layer = nn.Embedding(5, 2, seed=0, dtype=xp.float32)
    ids = xp.asarray([[1, 4], [1, 0]])
    with xp.GradientTape() as tape:
        y = layer(ids)
        loss = xp.sum(y)
    table = np.asarray(layer.embeddings)
    assert y.dtype == xp.float32
    assert np.max(np.abs(table)) <= 0.05
    np.testing.assert_array_equal(np.asarray(y), table[np.asarray(ids)])
    near(tape.gradient(loss, layer.embeddings), [[1, 1], [2, 2], [0, 0], [0, 0], [1, 1]])
    assert layer(xp.asarray(3)).shape == (2,)
    assert layer(xp.zeros((0,), dtype=xp.int32)).shape == (0, 2)
    np.testing.assert_array_equal(np.asarray(xp.vmap(layer)(ids)), np.asarray(y))
    outside = np.asarray(xp.vmap(layer)(xp.asarray([1, 5])))
    assert np.isnan(outside).tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize("ids", [[5], [-1]])
def test_an_integer_without_a_row_is_an_error(ids):
    with pytest.raises(ValueError, match="not all in the table's rows 0 to 4"):
        nn.Embedding(5, 2)(xp.asarray(ids))
    with pytest.raises(TypeError, match="takes integers"):
        nn.Embedding(5, 2)(xp.asarray([1.0]))


def test_a_layer_of_ones_own_makes_its_weights_and_leaves_none_when_it_fails():
    class Scale(nn.Layer):
        def make(self, x):
            self.add_weight("scale", x.shape[-1:], x, "ones")
            self.add_weight("other", x.shape[-1:], x, fails or "zeros")

        def call(self, x):
            return x * self.scale + self.other

    fails = [1]
    layer, x = Scale(), xp.ones((2, 3), dtype=xp.float32)
    with pytest.raises(TypeError, match="an initializer must be a name or a function"):
        layer(x)
    assert layer.variables == ()
    fails = None
    near(layer(x), np.ones((2, 3)))
    assert [v.name for v in layer.variables] == ["scale/scale", "scale/other"]
    assert layer.scale.dtype == xp.float32
    with pytest.raises(NotImplementedError, match="Layer has no call"):
        nn.Layer()(x)


def test_an_initializer_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match=r"gave the shape \(2,\) where \(3, 2\) is needed"):
        nn.Dense(2, kernel_initializer=lambda shape, dtype, rng: np.ones(2))(X)


# --- summaries ------------------------------------------------------------------------------------
def test_a_summary_has_shapes_counts_and_what_is_trained():
    said = []
    model = network()
    model.summary(IMAGES, print_fn=said.append)
    lines = said[0].splitlines()
    assert lines[0] == "Sequential 'sequential'"
    row = next(line for line in lines if "BatchNormalization" in line)
    assert row.startswith("  layers.1 'batch_normalization' (BatchNormalization)")
    assert row.split()[-6:] == ["(6,", "8,", "8,", "4)", "16", "in"] or row.endswith("in part")
    assert any(line.split()[-3:] == ["3)", "195", "yes"] for line in lines)
    assert lines[-3:] == [
        "parameters:     253 (2,024 bytes)", "trainable:      243", "not trainable:  10",
    ]  # fmt: skip


def test_a_summary_changes_nothing_and_no_tape_sees_it(capsys):
    model = network()
    model(IMAGES)
    before = [np.asarray(v) for v in model.variables]
    with xp.GradientTape() as tape:
        model.summary(IMAGES)
    assert tape.watched_variables() == ()
    for v, old in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(np.asarray(v), old)
    assert "(6, 8, 8, 4)" in capsys.readouterr().out
    nn.Dense(2).summary()
    assert "dense (Dense)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "layer", [lambda: nn.Dropout(0.5, seed=1), lambda: nn.BatchNormalization()]
)
@pytest.mark.parametrize("kind", [lambda v: v, np.asarray], ids=["Array", "NumPy"])
def test_values_for_state_that_the_call_assigns_to_are_refused(layer, kind):
    model, x = nn.Sequential([nn.Dense(2, seed=0), layer()]), xp.ones((4, 3))
    model(x, training=True)
    variables = model.named_variables()
    values = {path: kind(v.value()) for path, v in variables.items()}
    with pytest.raises(TypeError, match=r"leave .* out of .*values"):
        nn.functional_call(model, values, x, training=True)
    values = {
        path: xp.asarray(value) for path, value in values.items() if variables[path].trainable
    }
    slopes = xp.grad(lambda v: xp.sum(nn.functional_call(model, v, x, training=True)))(values)
    assert slopes.keys() == values.keys()


def test_a_missing_method_of_a_layer_of_ones_own_keeps_its_error():
    class Own(xp.Module):
        def __init__(self):
            super().__init__()
            self.w = xp.Variable(1.0)
            self.other = [1.0]

        def call(self, x):
            return self.other.assign(x * self.w)

    with pytest.raises(AttributeError, match="'list' object has no attribute 'assign'"):
        nn.functional_call(Own(), {"w": xp.asarray(2.0)}, xp.asarray(1.0))
