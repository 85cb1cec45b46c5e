"""Programs that a module of tests declares, by name."""

from collections.abc import Callable
from typing import Any


class Collected(dict[str, tuple[Any, ...]]):
    """A function and the inputs that it is run on, by the function's name."""

    def on(self, *inputs: Any) -> Callable[[Any], Any]:
        """Decorate a program of these inputs: ``program(xp, *inputs)``."""

        def enter(function: Any) -> Any:
            self[function.__name__] = (function, *inputs)
            return function

        return enter
