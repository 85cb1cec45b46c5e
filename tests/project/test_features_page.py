"""docs/reference/generated/features.md: each row has a test, and the page is as generated."""

import features_table


def test_the_page_is_not_stale():
    page = features_table.PAGE.read_text(encoding="utf-8")
    assert page == features_table.render(features_table.features()), (
        "run python tools/features_table.py"
    )


def test_no_test_stands_for_two_rows():
    found = features_table.features()
    assert len({one.test for one in found}) == len(found)
    assert [one.number for one in found] == list(range(1, 93))
