"""The first steps of a backward pass that outer recorders record, computed on raw data if possible.

An outer recorder records the ops of a backward pass on Arrays, which is slower than raw data.  The last
records of a tape often involve no value that an outer recorder follows: for example the mean at the end
of a loss.  Nothing of these steps would be recorded, so they run on raw data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from .._array.array import KEPT, SCALAR, Array, wrap
from .._array.views import keep_data
from .._record.plan import PLANS, STEPS, Record
from .._record.stack import Recorder, recorders
from .backward import BackwardPass, backward
from .data import RawData


def pass_back_on_raw_data(
    pass_: BackwardPass, records: list[Record], seeds: Sequence[Array]
) -> list[Record]:
    """Pass cotangents back on raw data, through as many of the last records as outer recorders ignore.

    These records use no value that an outer recorder (a tape or accumulator) follows.  Return the
    earlier records, through which the caller has to pass cotangents on Arrays.

    pass_ : the pass on Arrays, which gets the cotangents.  seeds : the cotangents of the targets.
    """
    if not all(map(is_unfollowed_numpy, seeds)):
        return records
    first, around = len(records), recorders()
    while first and uses_only_constants(records[first - 1], around):
        first -= 1
    if first == len(records):
        return records
    raw = BackwardPass(RawData(pass_.data.storage), pass_.followed)
    raw.wanted, raw.borrowed = pass_.wanted, pass_.borrowed
    raw.cotangents = {value_id: keep_data(g) for value_id, g in pass_.cotangents.items()}
    pass_.cotangents.clear()
    backward(raw, records[first:], False)
    for value_id, g in raw.cotangents.items():
        if not raw.data.owns_memory(g):
            raw.borrowed.add(value_id)
        pass_.cotangents[value_id] = cotangent_array(g, value_id in raw.borrowed)
    return records[:first]


def cotangent_array(g: np.ndarray[Any, Any] | np.generic, borrowed: bool) -> Array:
    """Return the raw cotangent g as an Array, with which a pass goes on after its steps on raw data.

    borrowed : True if other objects may refer to the memory of g, so that a write has to copy first.
    """
    if type(g) is not ndarray:
        return wrap(np.asarray(g), 0, SCALAR)
    return wrap(g, 0, KEPT if borrowed else 0)


def is_unfollowed_numpy(seed: Array) -> bool:
    """Return True if a seed is NumPy data that no recorder may follow.

    The first steps of the pass then run on raw data, as no recorder (a tape, say) would record them.
    """
    return type(seed) is Array and seed._value_id == 0 and type(seed._data) is ndarray


def uses_only_constants(record: Record, around: Sequence[Recorder]) -> bool:
    """Return True if a record's rules use only NumPy data that no recorder in ``around`` follows.

    Such data are constants to the recorders.  Return False also for a record that the fast loop of
    ``backward`` cannot process, such as a call of a user's function.

    around : the recorders (tapes and accumulators) that would record the backward pass.
    """
    if STEPS[record[0]] is None:
        return False
    plan: Any = PLANS[record[0]]
    for place, source, output in plan.lifts:
        value_id = record[source]
        value_id = value_id[output] if type(value_id) is tuple else value_id
        if type(record[place]) is not ndarray:
            return False
        for recorder in around:
            if value_id in recorder.followed:
                return False
    return True
