"""Module: finding the Variables that attributes hold."""

import copy
import pickle

import numpy as np
import pytest

from arraytape import Variable, nn
from arraytape.module import Module, snake_case


def variable(name, trainable=True):
    return Variable(0.0, trainable, name)


def names(found):
    return [one.name for one in found]


class Inner(Module):
    def __init__(self, prefix):
        super().__init__(prefix)
        self.w = variable(f"{prefix}.w")
        self.count = variable(f"{prefix}.count", trainable=False)


class Outer(Module):
    def __init__(self):
        super().__init__()
        self.z = variable("z")
        self.inner = Inner("inner")
        self.several = [variable("s0"), {"k": variable("s1"), "m": (Inner("deep"),)}]
        self.a = variable("a")
        self.again = [self.z, self.inner]
        self.nothing, self.number, self.text = None, 3, "text"


def test_case_56_own_variables_come_first_in_the_order_of_the_attributes():
    module = Outer()
    expected = ["z", "s0", "s1", "a", "inner.w", "inner.count", "deep.w", "deep.count"]
    assert names(module.variables) == expected
    assert names(module.trainable_variables) == [n for n in expected if "count" not in n]
    assert names(module.non_trainable_variables) == ["inner.count", "deep.count"]


def test_case_56_shared_variables_and_modules_count_once():
    module = Outer()
    module.alias = module.inner.w
    found = module.variables
    assert len({id(one) for one in found}) == len(found) == 8
    assert names(module.variables)[:5] == ["z", "s0", "s1", "a", "inner.w"]
    assert names(module.submodules) == ["inner", "deep"]


def test_submodules_are_found_at_any_depth_without_the_module_itself():
    outer, middle = Module("outer"), Module("middle")
    middle.leaf, outer.middle, outer.other = Inner("leaf"), middle, Inner("other")
    assert names(outer.submodules) == ["middle", "other", "leaf"]
    assert names(outer.variables) == ["leaf.w", "leaf.count", "other.w", "other.count"]


def test_cycles_end():
    module, other = Module(), Module()
    module.v, module.other, other.back = variable("v"), other, module
    module.loop = [variable("x")]
    module.loop.append(module.loop)
    assert names(module.variables) == ["v", "x"]
    assert module.submodules == (other,)


def test_variables_have_paths():
    paths = list(Outer().named_variables())
    assert paths == [
        "z", "several.0", "several.1.k", "a", "inner.w", "inner.count", "several.1.m.0.w",
        "several.1.m.0.count",
    ]  # fmt: skip


def test_two_variables_of_one_path_are_an_error():
    module = Module("pair")
    module.parts = {1: variable("first"), "1": variable("second")}
    with pytest.raises(ValueError, match=r"pair: .*'parts.1'.*'first'.*'second'"):
        module.named_variables()


def test_what_is_set_later_is_found_and_what_is_deleted_is_not():
    module = Module()
    assert module.variables == ()
    module.v = variable("v")
    module.w = variable("w")
    assert names(module.variables) == ["v", "w"]
    del module.v
    assert names(module.variables) == ["w"]


def test_the_name_is_the_class_in_snake_case_unless_given():
    class MyHTTPLayer2D(Module):
        def __init__(self):  # without super().__init__()
            self.v = variable("v")

    assert MyHTTPLayer2D().name == "my_http_layer2d"
    assert (Outer().name, Inner("given").name, Module().name) == ("outer", "given", "module")
    assert repr(Outer()).startswith("Outer 'outer': 8 parameters in 8 Variables")
    assert snake_case("DenseLayer") == "dense_layer"
    with pytest.raises(TypeError, match="int"):
        Module(3)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_has_variables_of_its_own_that_are_shared_alike(copied):
    module = Outer()
    other = copied(module)
    assert names(other.variables) == names(module.variables)
    assert not {map(id, other.variables)} & {map(id, module.variables)}
    assert other.again[0] is other.z
    other.z.assign(5.0)
    assert float(module.z) == 0.0


class WithCall(Module):
    def __init__(self):
        super().__init__(name="with_call")
        self.drop = nn.Dropout(0.5, seed=0)
        self.dense = nn.Dense(2, seed=0)

    def call(self, x, training=False):
        return self.dense(self.drop(x, training=training))


def test_a_class_with_call_can_be_called_as_in_keras():
    model = WithCall()
    x = np.ones((3, 4))
    np.testing.assert_array_equal(np.asarray(model(x)), np.asarray(model.dense(x)))
    assert not callable(Module())

    class Own(WithCall):
        def __call__(self, x):
            return super().__call__(x) + 1.0

    own = Own()
    np.testing.assert_array_equal(np.asarray(own(x)), np.asarray(own.call(x)) + 1.0)


def test_weights_are_all_variables_but_states_of_random_numbers():
    model, other = WithCall(), WithCall()
    model(np.ones((3, 4)))
    other(np.zeros((3, 4)))
    assert [v.name for v in model.weights] == ["dense/kernel", "dense/bias"]
    assert model.trainable_weights == model.trainable_variables
    assert model.non_trainable_weights == ()
    assert len(model.non_trainable_variables) == 1
    model.set_weights([np.full((4, 2), 0.5), [1, 2]])
    values = model.get_weights()
    values[0][...] = 7.0  # a copy
    np.testing.assert_array_equal(np.asarray(model.dense.kernel), np.full((4, 2), 0.5))
    other.set_weights(model.get_weights())
    np.testing.assert_array_equal(np.asarray(other.dense.bias), [1.0, 2.0])


def test_set_weights_sets_all_or_none():
    model = WithCall()
    model(np.ones((3, 4)))
    before = model.get_weights()
    with pytest.raises(ValueError, match="does not fit"):
        model.set_weights([np.ones((4, 2)), np.ones(3)])
    np.testing.assert_array_equal(model.get_weights()[0], before[0])


def test_an_attribute_error_inside_of_a_property_keeps_its_message():
    class Wrong(Module):
        @property
        def rate(self):
            return self.missing_rate

    with pytest.raises(AttributeError, match="'missing_rate'"):
        Wrong().rate  # noqa: B018
    assert not hasattr(Wrong(), "fit")
    assert copy.deepcopy(Wrong()).name == "wrong"
