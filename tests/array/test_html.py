"""Tables in HTML, which notebooks show for Arrays, Variables, Modules and tapes."""

from html.parser import HTMLParser

import numpy as np

import arraytape as xp
from arraytape import nn


class Texts(HTMLParser):
    """The texts between tags; raise an AssertionError if tags are not closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[str] = []
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.found.append(data)


def shown(value):
    return Texts(value._repr_html_()).found


def test_an_array_shows_its_shape_dtype_device_and_values():
    x = xp.asarray([[1.0, 2.0]])
    facts = ["shape", "(1, 2)", "dtype", "float64", "device", "cpu"]
    assert shown(x) == ["Array", *facts, "followed by a tape", "no", "[[1. 2.]]"]
    with xp.GradientTape() as tape:
        tape.watch(x)
        assert "yes" in shown(x * 2.0)


def test_large_arrays_are_abbreviated():
    assert len("".join(shown(xp.zeros((300, 300))))) < 500


def test_a_look_at_an_array_is_no_loss_of_a_gradient(recwarn):
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x**2
        y._repr_html_()
        loss = xp.sum(y)
    assert np.array_equal(tape.gradient(loss, x), [2.0, 4.0])
    assert not recwarn.list


def test_variables_modules_and_tapes_are_shown():
    variable = xp.Variable([1.0], name="<w>")
    assert shown(variable)[:5] == ["Variable", "name", "<w>", "trainable", "True"]
    model = nn.Dense(2, seed=0)
    model(xp.ones((1, 3)))
    assert "kernel" in "".join(shown(model))
    with xp.GradientTape() as tape:
        tape.watch(variable)
        variable * 2.0
    assert shown(tape) == [
        "GradientTape",
        "state",
        "stopped",
        "1 record keeping 8 bytes\nwatches 1 Variable",
    ]
