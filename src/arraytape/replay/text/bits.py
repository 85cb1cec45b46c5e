"""Masks as integers, with whose bits floats are chosen without branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..passes.simplify import INTEGERS
from ..program import CONSTANT, Node

ONE = np.asarray(1, np.int8)
ONES: dict[Any, Any] = {}  # by dtype
MOST = 1 << 17  # elements up to which the integers of a constant mask are kept


class Bits:
    """Integers with all bits set where a mask is true (or false), and no bits set elsewhere.

    Integers that one choice has used are kept until the last choice by the same mask.

    choices : those of the program.  take, give : take and return memory for the integers of a
    choice.  named : gives a value a name in the text.  whole : whether choices are made for all
    elements at once, rather than in blocks.
    """

    def __init__(
        self,
        choices: Iterable[Node],
        take: Callable[[Node], str],
        give: Callable[[Node, str], None],
        named: Callable[[str, Any], str],
        whole: bool = True,
    ) -> None:
        self.take, self.give, self.named, self.whole = take, give, named, whole
        self.left = Counter((node.args[1], node.dtype) for node in choices)
        self.known: dict[Any, tuple[str, bool]] = {}

    def mask_bits(
        self, node: Node, mask: str, chosen: bool, small: str = ""
    ) -> tuple[str, list[str]]:
        """Return a name for the integers that a choice needs, and the lines that compute them.

        The lines that follow may write over the integers.  small : the mask as int8, if nothing
        reads the mask later: int8 is negated first, because it has fewer bytes.
        """
        key = node.args[1], node.dtype
        if self.whole and key[0].op == CONSTANT and node.size <= MOST:
            return self.constant_bits(node, chosen), []
        name, now = self.known.pop(key, ("", chosen))
        if not name:
            name = self.take(node)
            self.named("copyto", np.copyto)
            lines = [f"copyto({name}, {small or mask})"]
            dtype = ONE.dtype if small else INTEGERS[node.dtype]
            lines.insert(0 if small else 1, self.spread_bits(small or name, chosen, dtype))
        else:
            lines = [] if now is chosen else [f"{self.named('invert', np.invert)}({name}, {name})"]
        self.left[key] -= 1
        if self.left[key] > 0:
            self.known[key] = name, chosen
        else:
            self.give(node, name)
        return name, lines

    def spread_bits(self, name: str, chosen: bool, dtype: np.dtype[Any]) -> str:
        """Return the line that turns 0 and 1 into no bits and all bits, or the reverse."""
        if chosen:
            return f"{self.named('negative', np.negative)}({name}, {name})"
        one = self.named(f"_1_{dtype}", ONES.setdefault(dtype, ONE.astype(dtype)))
        return f"{self.named('subtract', np.subtract)}({name}, {one}, {name})"

    def constant_bits(self, node: Node, chosen: bool) -> str:
        """Return a name for the integers of a mask that is a constant."""
        key = node.args[1], node.dtype, chosen
        if key not in self.known:
            ones = node.args[1].value.astype(INTEGERS[node.dtype])
            name = self.named(f"bits_{len(self.known)}", -ones if chosen else ones - 1)
            self.known[key] = name, chosen
        return self.known[key][0]
