"""The rows of docs/reference/generated/features.md; each row has a test that runs the feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

CHAPTERS = {
    1: "Recording control",
    17: "Variables and modules",
    25: "Derivatives",
    34: "Structures",
    40: "Custom rules",
    48: "Diagnostics",
    56: "Memory",
    63: "Mutation",
    70: "Array API",
    74: "Storages and devices",
    76: "Interoperation",
    81: "Numerics",
    87: "Threads",
    91: "Tooling",
}


class Feature(NamedTuple):
    """A row of the table.

    text : the feature.  spelling : the code that uses it.  partly : what the feature lacks, or "".
    lacks : why the feature does not exist, or "".
    """

    number: int
    text: str
    spelling: str
    partly: str
    lacks: str
    test: str

    @property
    def state(self) -> str:
        return "no" if self.lacks else "in part" if self.partly else "yes"


FEATURES: dict[int, Feature] = {}


def feature(
    number: int, text: str, spelling: str, *, partly: str = "", lacks: str = ""
) -> Callable[[Any], Any]:
    """Return a decorator that adds a Feature to FEATURES, with the decorated function as its test.

    The parameters are the attributes of Feature.
    """

    def enter(test: Any) -> Any:
        assert number not in FEATURES or FEATURES[number].test.endswith(test.__name__)
        where = f"{test.__module__.rpartition('.')[2]}.py::{test.__name__}"
        FEATURES[number] = Feature(number, text, spelling, partly, lacks, where)
        return test

    return enter
