"""Variables in dataclasses and registered classes: Modules, checkpoints and optimizers find them."""

import copy
import pickle
from dataclasses import dataclass, field

import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning, Variable, checkpoint, optimizers
from arraytape.module import Module
from helpers.nestings import Bag, Frozen, FrozenSlotted, Line, Point, two, values


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
            "'slope' must be a Module or a Variable, got Array float64",
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


def test_an_optimizer_steps_on_a_whole_dataclass(near):
    params = Line(Variable(two()), Bag(Variable(0.0), Variable(1.0, name="idle")))
    optimizer = optimizers.SGD(0.5, momentum=0.5)
    optimizer.build(params)
    assert len(optimizer.slots["velocity"]) == 3
    with GradientTape() as tape:
        loss = xp.sum(params.slope**2) + 3.0 * params.offset.parts[0]
    with pytest.warns(TapeWarning, match="None for 'idle'"):
        optimizer.apply_gradients([(tape.gradient(loss, params), params)])
    near(params.slope, [0.0, 0.0])
    near(params.offset.parts[0], -1.5)
    optimizers.Adam().build([params, {"v": Variable(1.0)}])
    with pytest.raises(
        ValueError, match=r"sgd: gradients: a Line with keys .* needed, got NoneType"
    ):
        optimizer.apply_gradients([(None, params)])
    with pytest.raises(TypeError, match="only a Variable can be updated"):
        optimizer.apply_gradients([(Line(two(), two()), Line(two(), two()))])
    with pytest.raises(ValueError, match="twice"):
        optimizer.apply_gradients([(Line(two(), two()), Line(params.slope, params.slope))])
    with pytest.raises(TypeError, match=r"build\(\) takes Variables, got int 2"):
        optimizer.build(weights())


@pytest.mark.parametrize("method", [None, "Newton-CG", "trust-exact", "Nelder-Mead"])
def test_scipys_methods_run_over_a_dataclass(method, near):
    pytest.importorskip("scipy")
    seen = []
    result = optimizers.minimize_scipy(
        lambda p: xp.sum((p.slope - 1.0) ** 2) + (p.offset + 2.0) ** 2 * p.degree,
        FrozenSlotted(slope=two(), offset=xp.asarray(0.5, dtype=xp.float32), degree=3),
        method=method,
        callback=seen.append,
    )
    assert result.success
    assert (type(result.x), result.x.degree, result.x.offset.dtype) == (
        FrozenSlotted,
        3,
        xp.float32,
    )
    near(result.x.slope, [1.0, 1.0], 1e-3)
    near(result.x.offset, -2.0, 1e-3)
    assert {type(p) for p in seen} == {FrozenSlotted}


def test_lbfgs_changes_the_variables_of_a_nesting(near):
    pytest.importorskip("scipy")

    def loss():
        return xp.sum((params.slope - 1.0) ** 2) + (params.offset["b"] + 2.0) ** 2

    params = Line(Variable(two()), {"b": Variable(0.0)})
    result = optimizers.LBFGS(tolerance=1e-10).minimize(loss, params)
    near(params.slope, [1.0, 1.0], 1e-6)
    near(params.offset["b"], -2.0, 1e-6)
    assert type(result.x) is Line
    params = Bag(params.slope, params.offset["b"])
    params.slope, params.offset = params.parts[0], {"b": params.parts[1]}
    assert type(optimizers.LBFGS().minimize(loss, params).x) is Bag
    assert type(optimizers.LBFGS().minimize(loss, tuple(params.parts)).x) is list
    assert type(optimizers.LBFGS().minimize(loss, iter(params.parts)).x) is list
    with pytest.raises(TypeError, match="takes Variables, got int 2"):
        optimizers.LBFGS().minimize(loss, weights())
