"""Determine how vmap computes a public name: all examples at once, one by one, or not at all.

An op with rules of its own is looked up in vmap's namespace of batched functions.  A composite op, a
method or an operator is called under vmap, which shows whether any op in it runs example by example.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

import arraytape as xp
from arraytape._record.op import Op
from arraytape._storage.batched import batched_namespace, indexing
from arraytape._storage.batched.batched_data import NoBatchedForm
from arraytape._storage.batched.batched_forms import ONE_BY_ONE, REFUSED
from arraytape._storage.batched.batched_storage import BATCHED

from .gradients import Call, call

YES, LOOP, NO = "yes", "one by one", "refused"
# The cases in which a function that has a batched form is computed example by example.
IN_PART = {
    "getitem": "with a batched index beside None",
    "isin": "with a batched x2",
    "linalg.matrix_rank": "with a batched rtol",
    "linalg.pinv": "with a batched rtol",
    "scatter_add": "with a batched key",
    "scattered": "with a batched key",
    "searchsorted": "with a batched x1",
}
# Calls that need another batched argument than those of ``gradients``, which pass plain integers.
CALLS = {"bincount": call(lambda x: xp.bincount(xp.astype(x, xp.int64)), (3,))}


def of_name(name: str, op: Op | None, example: Call | None) -> str:
    """Return how ``vmap`` computes a function: YES (batched), LOOP (one by one) or NO (refused).

    The text names the case in which a batched function loops (IN_PART). Return "" for a name that is no
    function of arrays.
    """
    form = BATCHED.xp.form(op.name) if op is not None else ONE_BY_ONE
    if form != ONE_BY_ONE or (op is not None and op.kind != "composite"):
        part = f" ({LOOP} {IN_PART[op.name]})" if op is not None and op.name in IN_PART else ""
        return {REFUSED: NO, ONE_BY_ONE: LOOP}.get(form, YES + part)
    example = CALLS.get(name, example)
    return "" if example is None else of_call(example)


def of_call(example: Call) -> str:
    """Return YES, LOOP or NO for a call under vmap with all arrays batched."""
    rng = np.random.default_rng(0)
    inputs = [xp.asarray(rng.uniform(0.3, 2.0, (2, *shape))) for shape in example.shapes]
    loop = mock.Mock(side_effect=indexing.each_one)

    def function(*arrays: Any) -> Any:
        return [*arrays_in(example.function(*arrays)), *arrays[:1]]

    with (
        mock.patch.object(indexing, "each_one", loop),
        mock.patch.object(batched_namespace, "each_one", loop),
    ):
        try:
            xp.vmap(function)(*inputs)
        except NoBatchedForm:
            return NO
        except Exception as error:
            if isinstance(error.__cause__, NoBatchedForm):
                return NO
            raise
    return LOOP if loop.called else YES


def arrays_in(results: Any) -> Iterator[Any]:
    """Yield the Arrays in a nesting of results."""
    if isinstance(results, xp.Array):
        yield results
    elif isinstance(results, list | tuple):
        for part in results:
            yield from arrays_in(part)


__all__ = ["LOOP", "NO", "YES", "of_call", "of_name"]
