"""The README's code runs as it stands there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)


def test_the_readme_has_code():
    assert len(BLOCKS) >= 4


@pytest.mark.filterwarnings("error")
def test_the_readmes_code_runs_in_order(capsys):
    scope = {}
    for i, block in enumerate(BLOCKS):
        if "elementwise(" in block:
            continue  # a line of the library itself
        exec(compile(block, f"README block {i}", "exec"), scope)
    printed = capsys.readouterr().out
    assert "[10. 40. 24.]" in printed
    assert "left the tape at README block" in printed
