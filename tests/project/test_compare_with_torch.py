"""tools/compare_with_torch.py: SciPy's functions have the derivatives of PyTorch's own ones."""

import numpy as np
import pytest

pytest.importorskip("scipy")

import compare_with_torch
from compare_with_torch import CASES, difference
from helpers.repository import ROOT


def test_the_page_has_a_row_for_every_case():
    page = (ROOT / "docs" / "howto" / "interop.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[:2] for line in page.splitlines()]
    missing = [
        case for case in CASES if [f"| {compare_with_torch.titled(case)}", case.by] not in rows
    ]
    assert not missing, "run python tools/compare_with_torch.py"


def test_without_pytorch_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(compare_with_torch, "torch", None)
    assert compare_with_torch.main() == 2
    assert "pip install torch" in capsys.readouterr().out


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
