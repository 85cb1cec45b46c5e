"""A table of the programs that a test module declares with a decorator."""

from collections.abc import Callable
from typing import Any


class Collected(dict[str, tuple[Any, ...]]):
    """A dict from a function's name to the tuple ``(function, *inputs)``."""

    def on(self, *inputs: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a program ``program(xp, *inputs)`` with these inputs."""

        def enter(function: Any) -> Any:
            self[function.__name__] = (function, *inputs)
            return function

        return enter
