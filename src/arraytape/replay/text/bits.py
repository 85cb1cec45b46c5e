"""Boolean masks as integers with all or no bits set, with which ``where`` on floats needs no branches.

``Source`` and ``Loop`` use ``Bits`` for calls of MASKED: ``x_as_integers & bits`` is x where the mask is
true, and 0.0 elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..passes.simplify import INTEGERS
from ..program import CONSTANT, Node

ONE = np.asarray(1, np.int8)
ONES: dict[Any, Any] = {}  # integer dtype -> an array of shape () that is 1
MOST = 1 << 17  # the maximum number of elements of a constant mask whose integers are kept


class Bits:
    """A writer of the lines that compute integers from masks, with which ``where`` needs no branches.

    The integers have all bits set where a mask is true (or where it is false), and no bits set
    elsewhere.  They are computed once for all choices with the same mask.

    choices : the MASKED nodes (choices between a float and 0.0, or another float) of the program.
    take, give : functions that reserve and release memory for the integers of a choice.
    named : a function that gives a value a name in the text.
    whole : True if choices are made for all elements at once, False in a loop over blocks.
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
        """Return the name of the integers for a choice by a mask, and the lines that compute them.

        node : the MASKED node, the choice.
        mask : the name of the mask.
        chosen : whether the bits are set where the mask is true, rather than false.
        small : the name of an int8 view of the mask, or "" if the mask is read later.  Its bits are
            set in place, which is fast, before they are widened to the size of floats.
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
        """Return a line that turns 0 and 1 in an array into no bits and all bits set: 0 and -1.

        If not ``chosen``, 0 becomes -1 and 1 becomes 0.
        name : the name of the array.
        """
        if chosen:
            return f"{self.named('negative', np.negative)}({name}, {name})"
        one = self.named(f"_1_{dtype}", ONES.setdefault(dtype, ONE.astype(dtype)))
        return f"{self.named('subtract', np.subtract)}({name}, {one}, {name})"

    def constant_bits(self, node: Node, chosen: bool) -> str:
        """Return the name of the integers of a constant mask, which are computed once for all calls.

        node : the MASKED node, a choice by this mask.
        chosen : whether the bits are set where the mask is true, rather than false.
        """
        key = node.args[1], node.dtype, chosen
        if key not in self.known:
            ones = node.args[1].value.astype(INTEGERS[node.dtype])
            name = self.named(f"bits_{len(self.known)}", -ones if chosen else ones - 1)
            self.known[key] = name, chosen
        return self.known[key][0]
