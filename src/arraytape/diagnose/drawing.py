"""A picture of what a tape recorded, between sources and a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tape.arguments import arrays_of
from .._tape.tape import GradientTape
from .._util import nest
from .._util.errors import describe, entrance, short_repr, user_frame, user_line
from .folding import folded
from .model import Builder, Graph
from .svg import as_html, as_svg
from .text import as_dot, as_mermaid

FORMATS: dict[str, Callable[[Graph, str], str]] = {
    "dot": as_dot,
    "mermaid": as_mermaid,
    "svg": as_svg,
    "html": as_html,
}


@entrance
def graph(
    tape: GradientTape,
    target: Any,
    sources: Any = None,
    format: str = "svg",
    *,
    fold: str = "auto",
    title: str = "",
) -> str:
    """Draw what a tape recorded between sources and a target, as text that a browser shows.

    Each box is a value: its op, shape, dtype, and the bytes that the tape keeps for it (each buffer
    counts at the first record that keeps it).  Paths from a source to the target are emphasised.  Where
    a value made of a source left the tape, or an op has no rule, the box is red and has the line.

    Parameters
    ----------
    tape : GradientTape
        What recorded.  With ``GradientTape(profile=True)`` boxes have their lines, functions and
        Modules.  It stays as it is; ask before ``gradient`` uses up a tape that is not persistent.
    target : Array or nesting
        The results to draw.
    sources : Array or nesting, default: None
        Where paths begin; None: all that is watched.  In a dict or dataclass the keys are names; other
        values are called as the caller's variables are.
    format : str, default: 'svg'
        "svg", "html" (a page with zoom and details), "dot" (Graphviz) or "mermaid".
    fold : str, default: 'auto'
        What becomes one box: "none", "chain" (elementwise ops, one after the other), "scope" (what one
        Module or function did at a time), "line" or "op".  "auto" folds chains; above 60 boxes scopes
        where these are known, and above 500 records lines, or else ops.  A note in the picture says so.
    title : str, default: ''
        Stands above the picture.

    Returns
    -------
    str
        The picture.  SVG and HTML need nothing else to be shown.

    Raises
    ------
    RuntimeError
        When the tape was used up or never entered.
    TypeError
        When the first argument is no tape, or targets or sources are no Arrays.
    ValueError
        When format or fold is another word.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> with xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.sum(xp.exp(x) * x)
    >>> picture = xp.diagnose.graph(tape, y, x)  # SVG; a notebook shows IPython.display.SVG(picture)
    >>> print(picture[:4])
    <svg
    >>> print(xp.diagnose.graph(tape, y, x, "dot").count("->"))
    4
    """
    if not isinstance(tape, GradientTape):
        raise TypeError(f"graph() takes a GradientTape, got {describe(tape)} [at {user_line()}]")
    if format not in FORMATS:
        raise ValueError(
            f"format must be one of {', '.join(FORMATS)}, got {short_repr(format)} [at {user_line()}]"
        )
    recording = tape._recording
    recording.check_usable()
    watched = [entry.handle for entry in recording.watched.values()]
    asked = watched if sources is None else arrays_of(sources, "source")
    targets = arrays_of(target, "target")
    names = array_names([*asked, *watched, *targets], (target, sources))
    made = Builder(recording, targets, asked, names).build_graph()
    return FORMATS[format](folded(made, fold), title or "tape")


def array_names(arrays: list[Any], nestings: tuple[Any, Any]) -> dict[int, str]:
    """Return a name by ``id`` of Array: its own, its place in a nesting, the user's variable or ""."""
    frame = user_frame()
    variables = dict(frame.f_locals) if frame else {}
    named = {id(value): name for name, value in variables.items() if not name.startswith("_")}
    for nesting in nestings:
        for path, leaf, _ in nest.located(nesting):
            if path and not path.replace(".", "").isdecimal():
                named[id(leaf)] = path
    return {id(x): getattr(x, "name", None) or named.get(id(x), "") for x in arrays}
