"""docs/dev/architecture.md: its journeys are what runs."""

import re

import pytest

import journeys
from helpers.repository import ROOT
from status import rooms

PAGE = (ROOT / "docs" / "dev" / "architecture.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`[\w/]+\.py`|compiled op) \| `([^`]+)` \|", flags=re.M)
FILE = re.compile(r"`([\w/]+\.py)`")


def section(name):
    """What the page says of a journey."""
    _, _, rest = PAGE.partition(f"\n### {name}: ")
    return re.split(r"^##", rest, maxsplit=1, flags=re.M)[0]


def steps(name):
    """The steps that the page lists, as the tool has them."""
    return [
        journeys.Entered(function, file.strip("`")) for file, function in ROW.findall(section(name))
    ]


@pytest.mark.parametrize("name", journeys.JOURNEYS)
def test_the_functions_of_a_journey_run_in_the_order_of_the_page(name):
    calls = iter(journeys.entered_by(journeys.JOURNEYS[name]))
    assert len(steps(name)) >= 10
    for step in steps(name):
        assert step in calls, f"{step} does not run, or not after the step before it"


@pytest.mark.parametrize("name", journeys.JOURNEYS)
def test_the_files_of_a_journey_are_those_of_the_page(name):
    helpers = section(name).partition("\nHelpers: ")[2]
    named = {file for _, file in steps(name) if file.endswith(".py")} | {*FILE.findall(helpers)}
    entered = journeys.files_of(journeys.entered_by(journeys.JOURNEYS[name]))
    assert named == set(entered)


def test_the_public_namespace_stands_above_what_it_imports():
    imports = rooms.tree().imports
    floors = rooms.contract_floors(imports)
    assert all(floors[room] < floors[rooms.NAMESPACE] for room in imports[rooms.NAMESPACE])
