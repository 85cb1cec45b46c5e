"""docs/reference/generated/scope.md: what of NumPy does not work on Arrays has a reason."""

import numpy as np
import pytest

import arraytape as xp
import pages
from status import scope as scope_table


def test_every_function_that_raises_has_a_reason():
    assert scope_table.without_reason() == []


@pytest.mark.parametrize("name", scope_table.missing())
def test_what_is_not_in_raises_and_says_its_name(name):
    function = np
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    calls = (lambda: function(x), lambda: function(x, x), lambda: function(x, x, x))
    errors = []
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        errors.append(str(caught.value))
    said = f"{function.__name__} has no recorded counterpart"
    if name not in ("np.savez", "np.savez_compressed"):  # which take the file first, and any names
        assert any(said in error for error in errors), errors


def test_a_function_without_a_reason_is_reported(monkeypatch):
    monkeypatch.delitem(scope_table.REASONS, next(iter(scope_table.REASONS)))
    assert "np.packbits" in scope_table.without_reason()
    with pytest.raises(pages.CannotBeWritten, match="packbits"):
        scope_table.page("")
