"""The one-line description of a tape: its state, its records and their bytes, what is watched."""

from __future__ import annotations

from .._record.stack import recorders
from .buffers import kept_bytes
from .recording import Recording
from .table_text import count_noun, format_bytes


def description(recording: Recording | None) -> str:
    """Return the tape's state, records, bytes and watched Arrays as one line, for its ``repr``.

    No op is called, since the tape may be recording.
    """
    if recording is None:
        return "not initialized"
    state = state_of(recording) + (", persistent" if recording.persistent else "")
    if recording.used_up or not recording.entered:
        return state
    records = list(recording.records)  # a copy, since other threads may append records meanwhile
    size, complete = kept_bytes(records)
    kept = f"{'' if complete else 'at least '}{format_bytes(size)}"
    variables = len(recording.variables)
    numbers = {"Array": len(recording.watched) - variables, "Variable": variables}
    watched = " and ".join(count_noun(n, what) for what, n in numbers.items() if n)
    counted = f"{count_noun(len(records), 'record')} keeping {kept}" if records else "no records"
    return f"{state}; {counted}; watches {watched or 'nothing'}"


def state_of(recording: Recording) -> str:
    """Return the state of the tape, as seen from this thread: "recording" or "stopped", for example."""
    if recording.used_up:
        return "used up"
    if not recording.entered:
        return "not entered"
    if not recording.active:
        return "stopped"
    stack = recorders()
    if any(recorder is recording for recorder in stack):
        return "recording"
    if any(getattr(recorder, "paused", None) is recording for recorder in stack):
        return "paused by stop_recording"
    return "recording elsewhere"  # in another thread or task
