"""Messages to ``logging.getLogger("arraytape")`` on decisions that change speed, not results."""

from __future__ import annotations

import sys


def log_decision(message: str, *values: object) -> None:
    """Log a decision at level INFO, if the program has imported ``logging`` and listens at this level.

    A value that is a function, such as ``user_line``, is called only if the message is logged.
    """
    logging = sys.modules.get("logging")
    if logging is None:  # then the program has no handler
        return
    logger = logging.getLogger("arraytape")
    if logger.isEnabledFor(logging.INFO):
        logger.info(message, *[value() if callable(value) else value for value in values])
