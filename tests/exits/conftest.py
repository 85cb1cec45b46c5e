"""The programs import their helpers by name, as the files of one folder do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "programs"))
