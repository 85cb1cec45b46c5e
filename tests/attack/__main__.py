"""Run attacks for a time: ``python -m attack [NAME ...] --minutes 60``."""

import sys

from .soak import main

sys.exit(main())
