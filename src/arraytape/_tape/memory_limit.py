"""``memory_limit`` of a tape: an error before an op's record would exceed the limit in bytes."""

from __future__ import annotations

from .._array.aliasing import ADD, PUT
from .._record.plan import Record, plan_of
from .._util.errors import describe, see, user_line
from .._util.locks import reentrant_lock
from .._util.options import unwrap_option
from .buffers import Buffers
from .table_text import format_bytes


class MemoryLimit:
    """The counter of the bytes that a tape's records keep, which raises MemoryError beyond the limit.

    The tape's recorder calls it with each record, before the record is kept.  Each buffer counts once.
    keepers : dict from pairs (op, user's line) to the bytes that their records keep, for the message.
    """

    def __init__(self, limit: int) -> None:
        limit = unwrap_option(limit)
        if type(limit) is bool or not isinstance(limit, int):
            raise TypeError(
                f"GradientTape: memory_limit takes a number of bytes or None, got {describe(limit)} "
                f"[at {user_line()}]"
            )
        if limit < 0:
            raise ValueError(f"GradientTape: memory_limit is {limit}, below 0 [at {user_line()}]")
        self.limit = limit
        self.counting = reentrant_lock()  # several threads may record on one tape
        self.restart()

    def restart(self) -> None:
        self.buffers = Buffers()
        self.keepers: dict[tuple[str, str], int] = {}

    def __call__(self, record: Record) -> None:
        with self.counting:
            found = self.buffers.new_in([record])
            size, plan = sum(found.values()), plan_of(record)
            if not size:
                return
            # A write is recorded after the data was changed, so it cannot be refused.  The next op is.
            refused = self.buffers.total + size > self.limit
            if refused and plan is not PUT and plan is not ADD:
                raise MemoryError(self.message(plan.name, size))
            self.buffers.add_sizes(found)
            keeper = plan.name, user_line()
            self.keepers[keeper] = self.keepers.get(keeper, 0) + size

    def message(self, op: str, size: int) -> str:
        """Return the message for an op that was refused; it names the three largest ``keepers``.

        size : the bytes that the op's record would keep.
        """
        largest = sorted(self.keepers.items(), key=lambda item: -item[1])[:3]
        keepers = "; ".join(f"{format_bytes(n)} by {name} at {line}" for (name, line), n in largest)
        return (
            f"{op}: wrap a part of the computation in recompute_grad, keep saved data elsewhere with "
            f"diagnose.saved_data, or raise memory_limit={self.limit} ({format_bytes(self.limit)}). To "
            f"record the op the tape would keep {format_bytes(size)} more than its "
            f"{format_bytes(self.buffers.total)} [at {user_line()}], most for: "
            f"{keepers or 'nothing yet'} {see('memory-limit')}"
        )
