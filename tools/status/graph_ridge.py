"""Draw what a tape records of scikit-learn's Ridge after StandardScaler: docs/howto/graph_ridge.svg.

python tools/graph_ridge.py                 # write the picture of the documentation
python tools/graph_ridge.py --out page.html --fold chain    # a page to look around in
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import arraytape as xp
from arraytape import diagnose

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "howto" / "graph_ridge.svg"


def drawn(format: str, fold: str) -> str:
    """The picture of one gradient of examples/differentiate_sklearn.py."""
    sys.path.insert(0, str(ROOT / "examples"))
    import differentiate_sklearn as example

    data, features = example.load(seed=0)
    parameters = xp.asarray(np.zeros(2 * len(features) + 1))
    with xp.GradientTape(profile=True) as tape:
        tape.watch(parameters)
        [error] = example.errors(parameters, example.to_arraytape(data), "validation")
    return diagnose.graph(
        tape, {"error": error}, {"parameters": parameters}, format, fold=fold,
        title="Ridge after StandardScaler",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw scikit-learn's Ridge after StandardScaler.")
    parser.add_argument("--out", type=Path, default=PICTURE)
    parser.add_argument("--fold", default="scope")
    options = parser.parse_args()
    picture = drawn(options.out.suffix.removeprefix("."), options.fold)
    options.out.write_text(picture + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
