"""docs/reference/generated/coverage.md: every public name has a gradient status."""

import pytest

import arraytape as xp
from status import coverage


@pytest.fixture(scope="module")
def tool():
    return coverage


@pytest.fixture(scope="module")
def rows(tool):
    return tool.rows()


def test_every_public_name_has_one_of_three_statuses(tool, rows):
    assert tool.STATUSES == ("none by design", "zero gradient", "gradient")
    assert tool.without_status(rows) == []


def test_every_public_name_is_in_the_table(tool, rows):
    named = [row.name for row in rows]
    assert len(named) == len(set(named))
    public = {n for n in dir(xp) if not isinstance(getattr(xp, n), type(xp))}
    assert public <= set(named)
    assert {f"linalg.{n}" for n in xp.linalg.__all__} <= set(named)
    assert {f"Array.{n}" for n in dir(xp.Array) if n[0] != "_" and hasattr(xp.Array, n)} <= set(
        named
    )
    assert {f"Array.__{n}__" for n in ("add", "radd", "iadd", "setitem", "bool", "iter")} <= set(
        named
    )


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("multiply", "gradient"),
        ("floor_divide", "zero gradient"),
        ("sign", "zero gradient"),
        ("floor", "none by design"),
        ("nonzero", "none by design"),
        ("zeros_like", "none by design"),
        ("full_like", "gradient"),
        ("fft.rfftfreq", "none by design"),
        ("Array.__imul__", "gradient"),
        ("Array.__floordiv__", "zero gradient"),
        ("Array.__eq__", "none by design"),
        ("Array.mT", "gradient"),
        ("Array.shape", "none by design"),
    ],
)
def test_statuses_that_are_known(rows, name, status):
    assert [row.status for row in rows if row.name == name] == [status]


def test_a_name_without_a_status_is_reported(tool, monkeypatch):
    monkeypatch.setattr(xp, "mystery", lambda values: values, raising=False)
    monkeypatch.setattr(xp, "__all__", [*xp.__all__, "mystery"])
    assert [line.partition(":")[0] for line in tool.without_status(tool.rows())] == ["mystery"]
