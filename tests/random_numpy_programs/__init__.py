"""Random programs in NumPy's own terms: how they are made, run and checked.

They have nested functions and closures, loops and branches, containers, NumPy's functions, methods and
ufuncs on Arrays, ``out=`` and ``where=``, views that are written to, and statements that must raise.

PYTHONPATH=src:tests python -c "import random_numpy_programs; random_numpy_programs.replay(7)"
PYTHONPATH=src:tests python -m random_numpy_programs 0 100000
"""

from .checks import check
from .program import Program
from .replay import replay, script
from .runs import Skipped

__all__ = ["Program", "Skipped", "check", "replay", "script"]
