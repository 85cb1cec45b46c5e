"""Random programs full of views and writes: how they are made, run and checked.

PYTHONPATH=src:tests python -c "import random_programs; random_programs.replay(7)"
"""

from .checks import check, replay, script, total
from .program import Program
from .spaces import NUMPY, ArrayTapeSpace

__all__ = ["NUMPY", "ArrayTapeSpace", "Program", "check", "replay", "script", "total"]
