"""What a Module and its Variables say of themselves: a tree with shapes and numbers of parameters."""

import textwrap
from dataclasses import dataclass

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Module, Variable, nn, optimizers


class Network(Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Dense(16, activation="relu", seed=0), nn.Dense(3, seed=0)]
        self.scale = Variable(1.0, name="scale")
        self.steps = Variable(0, trainable=False)
        self.decoder = self.layers[0]
        self.parts = {"again": self.scale, "w": Variable([1.0, 2.0], dtype=xp.float32)}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def network():
    model = Network()
    model(xp.ones((2, 1000)))
    return model


def text(value):
    return textwrap.dedent(value).strip("\n")


def test_a_module_is_a_tree_with_shapes_and_counts():
    assert repr(network()) == text(
        """
        Network 'network': 16,071 parameters in 7 Variables, 16,070 of them trainable
          scale        float64()                    1
          steps        int64(), not trainable       1
          decoder      the same as layers.0
          parts.again  the same as scale
          parts.w      float32(2,)                  2
          layers.0     Dense 'dense'           16,016
            kernel     float64(1000, 16)       16,000
            bias       float64(16,)                16
          layers.1     Dense 'dense'               51
            kernel     float64(16, 3)              48
            bias       float64(3,)                  3
        """
    )


def test_the_tree_and_named_variables_agree_on_the_paths():
    model = network()
    shown = repr(model)
    for path, variable in model.named_variables().items():
        assert path.rpartition(".")[2] in shown
        assert variable.path == path
    assert model.decoder.kernel.path == "layers.0.kernel"


def test_what_has_no_variables_says_so_in_one_line():
    assert repr(nn.Dense(3, name="head")) == "Dense 'head': no Variables yet"
    assert repr(Module()) == "Module 'module': no Variables yet"


def test_a_module_within_a_module_has_its_count():
    outer = Module("outer")
    outer.inner = Module("inner")
    outer.inner.deep = Module("deep")
    outer.inner.deep.w = Variable([1.0, 2.0])
    assert repr(outer) == text(
        """
        Module 'outer': 2 parameters in 1 Variable
          inner   Module 'inner'  2
            deep  Module 'deep'   2
              w   float64(2,)     2
        """
    )


def test_an_optimizer_shows_its_state():
    optimizer = optimizers.Adam()
    optimizer.build(network().trainable_variables)
    shown = repr(optimizer)
    assert shown.startswith(
        "Adam 'adam': 32,142 parameters in 14 Variables, none of them trainable"
    )
    assert "slots.square.5" in shown


def test_a_long_tree_is_cut():
    module = Module()
    module.many = [Variable(float(i)) for i in range(500)]
    lines = repr(module).splitlines()
    assert len(lines) == 62
    assert lines[0] == "Module 'module': 500 parameters in 500 Variables"
    assert lines[-1].strip() == "... (the first 60 lines; named_variables() has all)"


def test_cycles_and_lists_shared_over_and_over_end():
    module, other = Module(), Module("other")
    module.v, module.other, other.back = Variable(1.0), other, module
    shared = [Variable(2.0)]
    for _ in range(100):
        shared = [shared, shared]
    module.shared, module.loop = shared, [module.v]
    module.loop.append(module.loop)
    shown = repr(module)
    assert "back" in shown
    assert "the same as the whole" in shown
    assert len(shown.splitlines()) == 6


def test_a_module_without_super_init_and_a_dataclass_have_a_tree():
    class Bare(Module):
        def __init__(self):
            self.w = Variable(1.0)

    @dataclass(repr=False)
    class Line(Module):
        slope: Variable
        offset: Variable

    assert repr(Bare()).splitlines()[0] == "Bare 'bare': 1 parameter in 1 Variable"
    assert "offset  float64()  1" in repr(Line(Variable(2.0), Variable(0.0)))


def test_repr_never_raises():
    class Broken(Module):
        @property
        def name(self):
            raise RuntimeError("no name")

    class Unfinished(Module):
        def __init__(self):
            self.w = Variable.__new__(Variable)

    deep = Module()
    for _ in range(5000):
        above = Module()
        above.inner, deep = deep, above
    for module in (Broken(), Unfinished(), deep):
        assert repr(module).startswith(f"<{type(module).__name__}: its parts cannot be listed")


def test_repr_reads_no_variable_and_records_nothing():
    model = network()
    with GradientTape() as tape:
        repr(model), str(model), repr(model.scale), model.scale.path
        assert tape.watched_variables() == ()
        loss = xp.sum(model(xp.ones((2, 1000))))
        before = repr(tape)
        repr(model), repr(model.scale)
        assert repr(tape) == before
    assert tape.gradient(loss, model.layers[1].bias).shape == (3,)


# --- Variables --------------------------------------------------------------------------------------
def test_a_variable_says_its_path_once_a_module_listed_it():
    model = network()
    bias = model.layers[1].bias
    assert bias.path == ""
    assert "path" not in repr(bias)
    model.variables  # noqa: B018
    assert bias.name == "dense/bias"
    assert bias.path == "layers.1.bias"
    assert "name='dense/bias', path='layers.1.bias')" in repr(bias)
    assert "path" not in repr(model.scale)  # the path is the name


def test_messages_say_the_path():
    model = network()
    assert len(model.trainable_variables) == 6
    with pytest.raises(ValueError, match=r"the Variable 'dense/bias' \(at 'layers.1.bias'\)"):
        model.layers[1].bias.assign([1.0])
    with pytest.raises(ValueError, match=r"the Variable 'parts.w', float32"):
        model.parts["w"].assign([1.0])
    with pytest.raises(ValueError, match=r"the Variable 'scale', float64"):
        model.scale.assign([1.0])


def test_the_module_that_lists_it_last_gives_the_path():
    model = network()
    model.variables  # noqa: B018
    model.layers[0].variables  # noqa: B018
    assert model.layers[0].kernel.path == "kernel"
    assert model.layers[1].kernel.path == "layers.1.kernel"


def test_a_copy_has_no_path_until_it_is_listed():
    model = network()
    model.variables  # noqa: B018
    copied = model.scale.__copy__()
    assert (copied.path, copied.name) == ("", "scale")


def test_a_message_that_quotes_a_module_has_one_line():
    with pytest.raises(TypeError) as caught:
        GradientTape(network())
    assert "\n" not in str(caught.value)
    assert "Network" in str(caught.value)


def test_shapes_are_those_of_numpy():
    module = Module()
    module.w = Variable(np.zeros((2, 0, 3), dtype=np.complex64))
    assert "w  complex64(2, 0, 3)  0" in repr(module)
