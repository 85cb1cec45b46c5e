"""Paths of the repository and of its folders."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
GENERATED = ROOT / "docs" / "reference" / "generated"  # generated pages
