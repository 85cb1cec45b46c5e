"""Print the lowest release of each dependency that pyproject.toml allows, for ``pip install``.

Only dependencies of users count.  Those of developers, such as linters, have no lower bounds that are
tested.

    python tools/lowest_releases.py     # numpy==2.2.* array-api-compat==1.12.* ...
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = "checkpoint", "scipy", "demo", "distributed"


def read_lowest_releases() -> list[str]:
    """Return requirements such as ``numpy==2.2.*``, one for each lower bound."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    given = list(project["dependencies"])
    for extra in EXTRAS:
        given += project["optional-dependencies"][extra]
    bounds = [re.fullmatch(r"([\w.\[\]-]+)>=([\d.]+)", requirement) for requirement in given]
    return list(dict.fromkeys(f"{bound[1]}=={bound[2]}.*" for bound in bounds if bound))


if __name__ == "__main__":
    print(*read_lowest_releases())
