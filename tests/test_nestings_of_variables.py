"""Variables in dataclasses and registered classes: Modules, checkpoints and optimizers find them."""

import copy
import pickle
from dataclasses import dataclass, field

import pytest

import arraytape as xp
from arraytape import Variable, checkpoint
from arraytape.module import Module
from helpers.nestings import Bag, Frozen, Line, Point, two, values


@dataclass
class Weights:
    kernel: Variable
    bias: Variable
    units: int = 2
    unused: Variable | None = field(default=None, metadata={"static": True})


def weights(value=1.0):
    return Weights(Variable(two(value), name="kernel"), Variable(0.0, name="bias"))


class Net(Module):
    def __init__(self, value=1.0):
        super().__init__()
        self.first = weights(value)
        self.points = [Point.__new__(Point), Bag(Variable(value), {"deep": weights(value)})]
        self.points[0].__dict__.update(x=Variable(1.0), y=self.first.bias, label=None)


PATHS = [
    "first.kernel", "first.bias", "points.0.x", "points.1.0", "points.1.1.deep.kernel",
    "points.1.1.deep.bias",
]  # fmt: skip


def test_modules_find_variables_in_dataclasses_and_registered_classes():
    net = Net()
    assert list(net.named_variables()) == PATHS
    net.first.unused = Variable(3.0)  # static
    net.loop = Line(net, [net.points])
    assert list(net.named_variables()) == PATHS
    inner = Module("inner")
    inner.v = Variable(1.0)
    net.held = Line(inner, None)
    assert list(net.named_variables()) == [*PATHS, "held.slope.v"]
    assert net.submodules == (inner,)


def test_a_module_finds_what_a_flatten_makes_anew_at_each_call():
    class Many:
        def __init__(self):
            self.variables = [Variable(float(i)) for i in range(50)]

    xp.register_nesting(
        Many, lambda m: ([[[v]] for v in m.variables], None), lambda _, parts: Many()
    )
    net = Module()
    net.many = [Many() for _ in range(20)]
    assert len(net.variables) == 1000


def test_module_copies_and_pickles_have_dataclasses_of_their_own():
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(other.named_variables()) == PATHS
        assert not {map(id, other.variables)} & {map(id, net.variables)}
        assert other.points[0].y is other.first.bias


def test_checkpoints_name_the_fields_and_load_into_them(tmp_path):
    pytest.importorskip("safetensors")

    @dataclass
    class State:
        net: Net
        extra: dict
        step: int = field(default=0, metadata={"static": True})

    path = tmp_path / "state.safetensors"
    state = State(Net(5.0), {"more": [Frozen(Variable(1.0), Variable([2.0]))]}, 3)
    checkpoint.save(path, state)
    expected = ["extra.more.0.offset", "extra.more.0.slope", *(f"net.{p}" for p in PATHS)]
    assert sorted(checkpoint.load(path)) == sorted(expected)
    other = State(Net(0.0), {"more": [Frozen(Variable(0.0), Variable([0.0]))]}, 4)
    checkpoint.load(path, other)
    assert values(other.net.first.kernel) == [5.0, 6.0]
    assert values(other.extra["more"][0].offset) == [2.0]
    assert other.step == 4
    checkpoint.save(path, Frozen(Variable(1.0), Net()))
    assert "offset.first.kernel" in checkpoint.load(path)


@pytest.mark.parametrize(
    ("state", "error", "says"),
    [
        (weights(), TypeError, "save: 'units' must be a Module or a Variable, got int 2"),
        ({"a": [weights()]}, TypeError, "save: 'a.0.units' must be"),
        (
            Line(two(), Variable(1.0)),
            TypeError,
            "'slope' must be a Module or a Variable, got float64",
        ),
        (Bag(Variable(1.0)), TypeError, "takes a Module or a dict or dataclass of"),
        (Line(None, None).__class__, TypeError, "takes a Module or a dict or dataclass of"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(state, error, says, tmp_path):
    pytest.importorskip("safetensors")
    with pytest.raises(error, match=says):
        checkpoint.save(tmp_path / "a", state)
    assert list(tmp_path.iterdir()) == []
