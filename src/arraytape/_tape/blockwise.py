"""The backward pass through records of elementwise ops on large arrays, block by block.

A block is a run of elements that fits into the processor's cache.

A rule on whole arrays makes a temporary of full size for each of its operations.  Such temporaries
exceed the processor's cache, and the system often has to map new memory for them.  The temporaries of a
block are small.  The result of a block is added to the contributions so far, or written over the
cotangent of the result if nothing else refers to its memory.  A cotangent whose elements are all equal,
as that of the operand of a sum, has strides of 0: the rule is called once for its single value.  All
results are the same, to the bit, as those of ``backward``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy import ndarray

from .._array.paths import broadcast_axes
from .._record.plan import PLANS, STEPS, Plan, Pull, Record, Rule, identity_rule, is_product
from .._util.references import ALONE, references_to_item
from .backward import BackwardPass, backward, fit_to_input

if TYPE_CHECKING:
    from .._util.array_types import RawArray

HostArray: TypeAlias = ndarray[Any, Any]
Order: TypeAlias = Literal["C", "F"]
ORDERS: tuple[Order, ...] = ("C", "F")
BLOCK = 2**14  # elements of a block: few enough for the processor's cache
HUGE = 2**22  # bytes from which on a cotangent is processed by blocks, since it exceeds the cache
# In a frugal pass LARGE replaces HUGE, and SMALL_BLOCK (64 KiB of float64) replaces BLOCK.  A pass is
# frugal in a process that returns freed memory to the system at once, as workers of Dask do.  There
# malloc maps each array of 128 KiB or more anew, which is slow.
SMALL_BLOCK = 2**13
LARGE = 2**18


def backward_by_blocks(pass_: BackwardPass, records: list[Record]) -> None:
    """Pass cotangents back through records, block by block for elementwise ops on large arrays.

    A block fits into the processor's cache, so that the pass takes less time than ``backward``.  The
    results are the same.

    pass_ : the backward pass, with the cotangents of the targets.
    records : the tape's records, in order.
    """
    for record in reversed(records):
        if not pass_back_by_blocks(pass_, record):
            backward(pass_, [record], False)


def pass_back_by_blocks(pass_: BackwardPass, record: Record) -> bool:
    """Pass the cotangent of a record's result back to its inputs by blocks, and return True.

    Do nothing and return False unless the record is that of an elementwise op on large real NumPy data.
    """
    plan = PLANS[record[0]]
    if STEPS[record[0]] is None or not isinstance(plan, Plan) or not plan.diagonal:
        return False
    out = record[1]
    g = pass_.cotangents.get(out)
    if type(g) is not ndarray or not g.ndim or g.dtype.kind != "f":
        return False
    if g.nbytes < (LARGE if pass_.frugal else HUGE):
        return False
    if out in pass_.wanted:
        return False
    del g  # the count of references below must not include this variable
    box = [pass_.cotangents.pop(out)]
    *others, final = order_pulls(plan.pulls, record, box[0])
    for pull in others:
        add_rule_result(pass_, pull, record, box[0], owned=False)
    owned = references_to_item(box, 0) == ALONE and box[0].base is None and box[0].flags.writeable
    add_rule_result(pass_, final, record, box[0], owned=owned)
    return True


def order_pulls(pulls: Sequence[Pull], record: Record, g: HostArray) -> Sequence[Pull]:
    """Return ``pulls``, descriptions of an op's rules, in the order in which to run them.

    Rules that return the cotangent g unchanged come last, since only the last rule may take over the
    memory of g.  If an input occurs twice, as in ``x * x``, the order stays: another order of the sum
    changes the rounding.
    """
    if len({record[pull.at] for pull in pulls}) < len(pulls):
        return pulls
    return sorted(
        pulls, key=lambda pull: pull.rule is identity_rule and not changes_layout(pull, record, g)
    )


# --- one contribution ---------------------------------------------------------------------------------
def add_rule_result(
    pass_: BackwardPass, pull: Pull, record: Record, g: HostArray, owned: bool
) -> None:
    """Call the rule of a Pull by blocks, and add its result to the cotangent of the rule's input.

    A block is a run of elements that fits into the processor's cache.

    pull : the description of the rule.  record : the tape's entry for one call of the op.
    g : the cotangent of the record's result.  owned : True if g may be overwritten with the result.
    """
    value_id = record[pull.at]
    if pull.rule is identity_rule:
        part = fit_part(pass_, pull, record, g)
        (pass_.lend_contribution if part is g and not owned else pass_.add_contribution)(
            value_id, part
        )
        return
    kept = [record[place] if place else pass_.data.xp for place in pull.asks]
    if not any(g.strides):
        part = contribution_of_constant(pull.rule, g, kept)
        if part is not None:
            part = fit_part(pass_, pull, record, part)
            pass_.lend_contribution(value_id, part)
            return
    product = is_product(pull.rule) and is_like(kept[0], g)
    if not product or pass_.frugal:
        cut = BlockwiseCall.cut_arrays(
            g, kept, pass_.cotangents.get(value_id), layout_of_input(pull, record, g)
        )
        if cut is not None and cut.add_to(pass_, value_id, pull.rule, g if owned else None):
            return
    part = np.multiply(g, kept[0], g if owned else None) if product else pull.rule(g, *kept)
    part = fit_part(pass_, pull, record, part)
    if part is not None:
        pass_.add_contribution(value_id, part)


def layout_of_input(pull: Pull, record: Record, g: HostArray) -> tuple[Any, Any]:
    """Return the shape and dtype of the input to which a Pull's rule belongs.

    pull : the description of one rule of an op.  record : the entry of the op's call on the tape.
    g : the cotangent of the result.  Without other numbers in the record, the input has its layout.
    """
    return (g.shape, g.dtype) if pull.fit is None else (record[pull.fit[0]], record[pull.fit[1]])


def changes_layout(pull: Pull, record: Record, g: HostArray) -> bool:
    """Return True if a result in the layout of g has to be summed or cast to become the input's part.

    pull : the description of the rule.  record : the op's call.  g : the cotangent of the op's result.
    """
    shape, dtype = layout_of_input(pull, record, g)
    return shape != g.shape or dtype is not g.dtype


def fit_part(pass_: BackwardPass, pull: Pull, record: Record, part: HostArray | None) -> Any:
    """Return ``part``, the result of a Pull's rule, summed and cast to its input's shape and dtype.

    pull : the description of one rule of an op.  record : the entry of the op's call on the tape.
    """
    if part is None or not changes_layout(pull, record, part):
        return part
    return fit_to_input(
        pass_.data, part, *layout_of_input(pull, record, part), PLANS[record[0]].name
    )


def contribution_of_constant(rule: Rule, g: HostArray, kept: Sequence[Any]) -> Any:
    """Return a rule's result on a cotangent g whose elements are all equal, without a large array.

    The rule is called for one element, and its result is broadcast.  A product with ones is the kept
    factor. Return None if the rule's other arguments are arrays, or if the rule does not work by
    element.

    kept : the rule's arguments after g.
    """
    one = g[(slice(1),) * g.ndim]
    if one.item() == 1 and is_product(rule) and is_like(kept[0], g):
        return kept[0]
    if any(map(has_axes, kept)):
        return None
    part = rule(one, *kept)
    if type(part) is not ndarray or part.shape != one.shape or part.dtype is not g.dtype:
        return None
    return np.broadcast_to(part, g.shape)


def is_like(x: Any, g: HostArray) -> bool:
    """Return True if kept data is an array of the cotangent's shape and dtype.

    The product of both then has that layout, too, and can be written into the memory of g.
    """
    return type(x) is ndarray and x.shape == g.shape and x.dtype is g.dtype


# --- blocks -------------------------------------------------------------------------------------------
class BlockwiseCall(NamedTuple):
    """The arrays of one call of an elementwise op's rule, which is computed block by block.

    If all arrays lie in memory in the same order without gaps, a block is a run of elements (``flat``).
    Otherwise a block is some entries along the first axis.

    g : the cotangent of the result.
    kept : the rule's other arguments.
    shape : the shape of the input, to which the rule's result is summed.
    held : the sum of the contributions to the input so far, or None.
    order : "C" or "F", the memory order of all arrays.
    flat : True if a block is a run of elements.
    """

    g: Any
    kept: Sequence[Any]
    shape: tuple[int, ...]
    held: Any
    order: Order
    flat: bool

    @classmethod
    def cut_arrays(
        cls, g: HostArray, kept: Sequence[Any], held: RawArray | None, fit: tuple[Any, Any]
    ) -> BlockwiseCall | None:
        """Return the arrays of a rule's call, to be cut into blocks; None if this may change results.

        g : the cotangent of the op's result.  kept : the rule's other arguments.
        held : the sum of the contributions to the input so far, or None.
        fit : the shape and dtype of the input.
        """
        shape, dtype = fit
        # A tuple may be the shape of the whole array, which a rule on blocks must not get.
        if any(type(item) is tuple for item in kept) or dtype is not g.dtype:
            return None
        if type(held) is not ndarray or held.shape != shape or held.dtype is not dtype:
            held = None
        items = [g, *filter(has_axes, kept), *([] if held is None else [held])]
        if shape == g.shape and all(x.shape == shape for x in items):
            for order in ORDERS:
                if all(is_contiguous_in(x, order) for x in items):
                    return cls(g, kept, shape, held, order, True)
        if (
            len(shape) != g.ndim
            or len(g) != shape[0]
            or not all(map(has_descending_strides, items))
        ):
            return None
        return cls(g, kept, shape, held, "C", False)

    def add_to(
        self, pass_: BackwardPass, value_id: int, rule: Rule, memory: HostArray | None
    ) -> bool:
        """Add a rule's result, computed by blocks, to the cotangent of an input, and return True.

        Return False, with nothing added, if the rule does not work by element.
        value_id : the id of the input's value.
        memory : an array that may be overwritten with the result, or None for a new array.
        """
        given, held = pass_.cotangents.get(value_id), self.held
        if held is not None and pass_.owned_sum(value_id) is held and held.flags.writeable:
            memory = held
        if memory is None or memory.shape != self.shape:
            memory = np.empty(self.shape, self.g.dtype, self.order)
        if not self.write_blocks(rule, memory, SMALL_BLOCK if pass_.frugal else BLOCK):
            return False
        if given is held:
            pass_.cotangents[value_id] = memory
            pass_.borrowed.discard(value_id)
        else:
            pass_.add_contribution(value_id, memory)
        return True

    def write_blocks(self, rule: Rule, into: HostArray, size: int) -> bool:
        """Write the rule's result, plus the sum ``held`` so far, to the array ``into``; return True.

        Return False after the first block if the rule does not work by element.
        size : the number of elements of a block.
        """
        g, held, target = map(self.rows, (self.g, self.held, into))
        kept = list(map(self.rows, self.kept))
        step = max(size // g[:1].size, 1)
        cut = [has_axes(item) and item.ndim == g.ndim and len(item) == len(g) for item in kept]
        summed = () if self.shape == self.g.shape else broadcast_axes(self.g.shape, self.shape)
        for start in range(0, len(g), step):
            here = slice(start, start + step)
            part = g[here]
            block = rule(part, *[x[here] if c else x for x, c in zip(kept, cut, strict=True)])
            # The first block shows whether the rule works by element, in the dtype of g.
            alike = type(block) is ndarray and (block.shape, block.dtype) == (part.shape, g.dtype)
            if start == 0 and not alike:
                return False
            if summed:
                block = np.add.reduce(block, summed, keepdims=True)
            if held is None:
                target[here] = block
            else:
                np.add(held[here], block, target[here])
        return True

    def rows(self, item: Any) -> Any:
        """Return an argument of the rule in a form whose slices along the first axis are its blocks.

        If ``flat``, that is a one-dimensional view in memory order.  0-d arrays, and objects that are no
        arrays, are returned unchanged, since they are not cut.
        """
        if not self.flat or not has_axes(item):
            return item
        if any(item.strides):
            return item.reshape(-1, order=self.order)
        return np.broadcast_to(item[(0,) * item.ndim], (item.size,))


def has_axes(item: Any) -> bool:
    return type(item) is ndarray and item.ndim > 0


def is_contiguous_in(x: HostArray, order: Order) -> bool:
    """Return True if an array is contiguous in this order, or repeats one element by strides of 0.

    Such arrays can be cut into blocks that are runs of elements.
    """
    return bool(x.flags[order]) or not any(x.strides)


def has_descending_strides(x: HostArray) -> bool:
    """Return True if NumPy would put a result computed from x, such as ``-x``, into C order.

    A result written by blocks in C order then has the same layout in memory as NumPy's own.
    """
    steps = [step for step, n in zip(x.strides, x.shape, strict=True) if step and n > 1]
    return steps == sorted(steps, reverse=True)
