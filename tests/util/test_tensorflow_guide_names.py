"""Names that TensorFlow's guides use: each one exists, or the error gives advice for it, or none.

``test_advice_on_names`` runs the advice.  Here, no name gets the advice for another name.
"""

import re
from pathlib import Path

import pytest

import arraytape as xp
from arraytape import nn, optimizers
from arraytape._util import other_names

LIST = Path(__file__).with_name("tensorflow_guide_names.txt")
NAMES = [
    name
    for line in LIST.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for name in line.split()
]
# The objects in which a port looks for the names of a namespace, and their tables of advice.
PLACES = {
    "tf": (xp, "namespace"),
    "tf.math": (xp, "namespace"),
    "tf.linalg": (xp.linalg, "linalg"),
    "tf.nn": (nn, "nn"),
    "tf.keras": (xp, "namespace"),
    "tf.keras.layers": (nn, "nn"),
    "tf.keras.optimizers": (optimizers, "optimizers"),
    "tf.keras.losses": (nn.losses, "nn"),
    "tf.keras.metrics": (nn.metrics, "nn"),
    "tf.keras.initializers": (nn.initializers, "nn"),
    "tf.keras.optimizers.schedules": (optimizers.schedules, "optimizers"),
    "tf.image": (nn.image, "nn"),
    "model": (nn.Sequential(), "Module"),
    "tensor": (xp.ones(3), "Array"),
    "tape": (xp.GradientTape(), "GradientTape"),
}
# Proposals for a similar name that computes the same.
SAME = {
    "hessians": "hessian",
    "unique_with_counts": "unique_counts",
    "conv2d_transpose": "Conv2DTranspose",
    "silu": "SiLU",
    "top_k": "topk",
}


@pytest.mark.parametrize("path", NAMES)
def test_a_name_gets_its_own_advice_or_none(path):
    namespace, _, name = path.rpartition(".")
    place, table = PLACES[namespace]
    try:
        getattr(place, name)
    except AttributeError as error:
        text = str(error)
    else:
        return
    _, _, advice = text.partition(f"has no attribute {name!r}")
    named = re.match(
        r": (?:in place of \w+'s|there is no need for \w+'s|did you mean) (\w+)", advice
    )
    if named:
        assert named[1] in (name, SAME.get(name))
    elif advice:
        assert re.fullmatch(rf": use xp\.(\w+\.)?{name}", advice)
    counterpart = other_names.counterpart(name, table)
    assert counterpart is None or counterpart in advice


def test_the_list_has_each_name_once():
    assert len(NAMES) == len({*NAMES})
    assert len(NAMES) > 400


def test_advice_that_is_wrong_for_a_name_is_not_given():
    for name in other_names.UNRELATED:
        for where, thing in {"namespace": xp, "nn": nn, "optimizers": optimizers}.items():
            assert other_names.hint(name, where, thing) == ""
