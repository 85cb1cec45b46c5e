"""tools/compare_with_torch.py: SciPy's functions have the derivatives of PyTorch's own ones."""

import numpy as np
import pytest

pytest.importorskip("scipy")

import compare_with_torch
import pages
from compare_with_torch import CASES, difference


def test_the_page_has_a_row_for_every_case():
    lines = pages.PAGES["interop"].text().splitlines()
    rows = [line.split(" | ")[:2] for line in lines]
    missing = [
        case for case in CASES if [f"| {compare_with_torch.titled(case)}", case.by] not in rows
    ]
    assert not missing, "run python tools/pages.py interop"


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compare_with_torch, "torch", None)
    with pytest.raises(pages.CannotBeWritten, match="pip install torch"):
        compare_with_torch.page("")


def test_a_difference_is_relative_to_the_largest_element_of_each_array():
    one, other = [np.asarray([1.0, 4.0]), np.ones(1)], [np.asarray([1.5, 4.0]), np.ones(1)]
    assert difference(one, other) == 0.125
    with pytest.raises(ValueError, match="compared"):
        difference([np.ones(2)], [np.ones(3)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_and_gradients_are_pytorchs(case):
    pytest.importorskip("torch")
    row = compare_with_torch.measured(case)
    assert max(row.value, row.gradient) < compare_with_torch.LIMIT
