"""A site of static pages over asv's results: docs/howto/benchmarks.md.

python -m arraytape.testing.dashboard results --out site
"""

from __future__ import annotations

from .pages import write_site
from .results import ResultsError, read_results

__all__ = ["ResultsError", "read_results", "write_site"]


def __dir__() -> list[str]:
    return sorted(__all__)
