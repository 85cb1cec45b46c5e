"""generated/features.md: each row has a test of its own."""

from status import features


def test_no_test_stands_for_two_rows():
    found = features.features()
    assert len({one.test for one in found}) == len(found)
    assert [one.number for one in found] == list(range(1, 93))
