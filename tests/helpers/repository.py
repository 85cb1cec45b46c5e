"""Where the repository lies."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
GENERATED = ROOT / "docs" / "reference" / "generated"  # pages that programs write
