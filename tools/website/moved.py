"""Redirects from the old addresses of pages that were once directly in docs/."""

from __future__ import annotations

from pathlib import Path

# Old name of a page in the site -> new name.
MOVED = {
    name: f"{folder}/{name}"
    for folder, names in {
        "tutorials": "distributed from_gradient_tape from_torch_jax_autograd replay training",
        "howto": "benchmarks diagnose diagnose_graph errors estimators functional implicit interop odes"
        " testing_your_library third_party",
        "explanation": "glossary reliability views_and_writes",
        "dev": "architecture policies",
        "reference/generated": "coverage distributions estimators_table features scope special",
    }.items()
    for name in names.split()
}
MOVED |= {name: f"{name}/index" for name in ("tutorials", "howto", "explanation", "reference")}
MOVED["project"] = "dev/index"
PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<meta http-equiv="refresh" content="1; url={address}">
<script>location.replace("{address}" + location.hash)</script>
<p>This page has moved to <a href="{address}">{address}</a>.</p>
</html>
"""


def write_redirects(site: Path) -> None:
    """Write a page at each old address that redirects to the same heading of the new address."""
    for old, new in MOVED.items():
        (site / f"{old}.html").write_text(PAGE.format(address=f"{new}.html"), encoding="utf-8")
