"""register_nesting: a class's own functions say how it is taken apart and put together."""

import abc
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable
from arraytape._util import container_kinds, nest
from arraytape.module import Module
from helpers.nestings import Bag, Line, Point, Sparse, Unhashable, two, values

pytestmark = pytest.mark.any_storage


def test_gradients_of_a_registered_class_come_in_one(near):
    point = Point([1.0, 2.0], [3.0, 4.0], ["any", "thing"])
    with GradientTape() as tape:
        tape.watch(point)
        y = xp.sum(point.x**2 * point.y)
    g = tape.gradient(y, point)
    assert type(g) is Point
    assert g.label is point.label
    near(g.x, [6.0, 16.0])
    near(g.y, [1.0, 4.0])
    g = xp.grad(lambda bag: xp.sum(bag.parts[0] * bag.parts[1]["a"]))(Bag(two(), {"a": two(3.0)}))
    assert values(g.parts[0]) == [3.0, 4.0]
    assert values(g.parts[1]["a"]) == [1.0, 2.0]


def test_a_registered_class_may_have_a_dtype(near):
    sparse, scale = Sparse(two(), xp.asarray([0, 2]), 4), xp.asarray(3.0)
    g, of_scale = xp.grad(lambda pair: xp.sum(pair[0].dense() ** 2) * pair[1])([sparse, scale])
    assert type(g) is Sparse
    near(g.values, [6.0, 12.0])
    near(of_scale, 5.0)
    assert g.places is sparse.places


def test_registering_a_dataclass_says_what_its_parts_are():
    @dataclass
    class Config:
        w: xp.Array
        name: str

    xp.register_nesting(
        Config, lambda c: ({"w": c.w}, c.name), lambda name, p: Config(**p, name=name)
    )
    g = xp.grad(lambda c: xp.sum(c.w))(Config(two(), "n"))
    assert (values(g.w), g.name) == ([1.0, 1.0], "n")


def test_a_class_that_was_met_as_a_leaf_can_be_registered():
    class Late:
        def __init__(self, w):
            self.w = w

    late = Late(two())
    assert nest.leaves([late]) == [late]
    assert xp.register_nesting(Late, lambda x: ((x.w,), None), lambda _, p: Late(*p)) is Late
    assert nest.leaves([late])[0] is late.w


class EqualToAll(type):
    def __eq__(cls, other):
        return True


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self): ...


class Half:
    def tree_flatten(self):
        return (), None


def parted(x):
    return (), x


WRONG = {
    "an instance": (lambda: xp.register_nesting(Half(), parted, parted), TypeError, "a class, got H"),
    "a function": (lambda: xp.register_nesting(parted, parted, parted), TypeError, "pass a class"),
    "a generic alias": (lambda: xp.register_nesting(Unhashable[int]), TypeError, "pass a class"),
    "an unhashable class": (
        lambda: xp.register_nesting(EqualToAll("Odd", (), {}), parted, parted), TypeError,
        "Odd must be hashable"),
    "twice": (
        lambda: xp.register_nesting(Point, parted, parted), KeyError,
        r"Point is already registered as a nesting, at .*nestings.py:\d+"),
    "a list": (lambda: xp.register_nesting(list, parted, parted), KeyError, "list is already"),
    "an Array": (lambda: xp.register_nesting(xp.Array, parted, parted), TypeError, "Array is a leaf"),
    "a Variable": (lambda: xp.register_nesting(Variable, parted, parted), TypeError, "is a leaf"),
    "an ndarray": (lambda: xp.register_nesting(np.ndarray, parted, parted), TypeError, "is a leaf"),
    "a Module": (lambda: xp.register_nesting(Module, parted, parted), TypeError, "is a leaf"),
    "a number": (lambda: xp.register_nesting(float, parted, parted), TypeError, "is a leaf"),
    "None": (lambda: xp.register_nesting(type(None), parted, parted), TypeError, "is a leaf"),
    "everything": (lambda: xp.register_nesting(object, parted, parted), TypeError, "no instances"),
    "abstract": (lambda: xp.register_nesting(Abstract, parted, parted), TypeError, "no instances"),
    "no functions": (lambda: xp.register_nesting(Line), TypeError, "Line needs two functions"),
    "one function": (lambda: xp.register_nesting(Line, parted), TypeError, "and NoneType None. Give"),
    "one method": (lambda: xp.register_nesting(Half), TypeError, "tree_flatten and tree_unflatten"),
    "no function": (lambda: xp.register_nesting(Line, 3, parted), TypeError, "got int 3 and func"),
}  # fmt: skip


@pytest.mark.parametrize(("act", "error", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_registered_is_said(act, error, says):
    before = dict(container_kinds.REGISTERED)
    with pytest.raises(error, match=says):
        act()
    assert before == container_kinds.REGISTERED


ANSWERS = {
    "no pair": (lambda x: [x.w], "must give a pair .* got .*Array|got .*float64"),
    "three": (lambda x: ([x.w], None, None), "must give a pair"),
    "parts that are an Array": (
        lambda x: (x.w, None),
        "must give .* in a dict, list or tuple, got",
    ),
    "a generator": (lambda x: ((part for part in [x.w]), None), "must give .* tuple .<generator"),
    "None": (lambda x: None, "must give a pair .*got NoneType"),
}


@pytest.mark.parametrize(("flatten", "says"), ANSWERS.values(), ids=ANSWERS)
def test_a_flatten_that_gives_something_else_is_named(flatten, says):
    class Odd:
        w = two()

    xp.register_nesting(Odd, flatten, parted)
    with (
        GradientTape() as tape,
        pytest.raises(TypeError, match=rf"flatten of .*Odd, registered at .*py:\d+, {says}"),
    ):
        tape.watch(Odd())


def test_an_unflatten_that_gives_something_else_is_named():
    class Odd:
        w = two()

    xp.register_nesting(Odd, lambda x: ([x.w], "rest"), lambda rest, parts: (rest, parts))
    with pytest.raises(TypeError, match=r"unflatten of .*Odd, .*must give a .*Odd, got tuple"):
        xp.grad(lambda x: xp.sum(x.w))(Odd())


def test_what_a_users_functions_raise_comes_through():
    class Odd:
        pass

    def fails(*args):
        raise ZeroDivisionError("of the user's own")

    xp.register_nesting(Odd, fails, fails)
    with pytest.raises(ZeroDivisionError, match="own"), GradientTape() as tape:
        tape.watch(Odd())


@pytest.mark.parametrize("counts", [(2, 1), (1, 2)])
def test_a_flatten_that_gives_more_or_fewer_parts_than_before_is_noticed(counts):
    class Odd:
        calls = 0

    def flatten(x):
        count = counts[Odd.calls]
        Odd.calls += 1
        return [two()] * count, None

    xp.register_nesting(Odd, flatten, lambda rest, parts: Odd())
    with pytest.raises(RuntimeError, match="other parts than a moment ago: Odd"):
        xp.stop_gradient(Odd())


def test_a_subclass_of_a_registered_class_must_be_registered_itself():
    class Labelled(Point):
        extra = two()

    labelled = Labelled(two(), two())
    for _ in range(2):
        with (
            GradientTape() as tape,
            pytest.raises(TypeError, match=r"Labelled derives from Point, .*py:\d+, and is not"),
        ):
            tape.watch(labelled)
    xp.register_nesting(
        Labelled, lambda p: ([p.x, p.y, p.extra], None), lambda _, parts: Labelled(*parts[:2])
    )
    assert len(nest.leaves(labelled)) == 3


def test_classes_that_are_met_are_not_kept_without_end():
    for i in range(container_kinds.CACHED + 10):
        nest.leaves(type(f"Made{i}", (), {})())
    assert len(container_kinds.KINDS) <= container_kinds.CACHED
    assert nest.leaves([Point(1.0, 2.0)])[0].shape == ()


def test_classes_may_be_registered_while_others_are_met():
    made = [type(f"Raced{i}", (), {"w": float(i)}) for i in range(200)]
    stop = threading.Event()

    def meet():
        while not stop.is_set():
            for cls in made:
                nest.leaves([cls()])

    threads = [threading.Thread(target=meet) for _ in range(3)]
    for thread in threads:
        thread.start()
    for cls in made:
        xp.register_nesting(cls, lambda x: ([x.w], None), lambda _, parts: None)
    stop.set()
    for thread in threads:
        thread.join()
    assert nest.leaves([cls() for cls in made]) == [float(i) for i in range(200)]
