"""``graph``: a picture of the records of a tape between sources and a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tape.arguments import arrays_of
from .._tape.tape import GradientTape
from .._util import nest
from .._util.errors import describe, entrance, short_repr, user_frame, user_line
from .folding import fold_graph
from .model import Graph, GraphBuilder
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
    counts at the first record that keeps it).  Paths from a source to the target are emphasised.  A box
    is red, and shows the source line, if a value that depends on a source leaves the tape there, or if
    an op has no rule.

    Parameters
    ----------
    tape : GradientTape
        The tape to draw, which stays unchanged.  With ``GradientTape(profile=True)`` boxes show lines,
        functions and Modules.  Call ``graph`` before ``gradient``, unless the tape is persistent.
    target : Array or nesting
        The results to draw.
    sources : Array or nesting, default: None
        The values at which paths begin; None: all watched values.  Boxes are named by the keys of a
        dict or dataclass, or else by the caller's variables.
    format : str, default: 'svg'
        "svg", "html" (a page with zoom and details), "dot" (Graphviz) or "mermaid".
    fold : str, default: 'auto'
        The records that become one box: "none", "chain" (elementwise ops, one after the other), "scope"
        (the ops of one call of a Module or function), "line" or "op".  "auto" folds chains.  Above 60
        boxes it folds scopes, if they are known, and above 500 records lines, or else ops.  A note in
        the picture names the choice.
    title : str, default: ''
        The text above the picture.

    Returns
    -------
    str
        The picture.  SVG and HTML load no other files.

    Raises
    ------
    RuntimeError
        When the tape was used up or never entered.
    TypeError
        When ``tape`` is no GradientTape, or targets or sources are no Arrays.
    ValueError
        When ``format`` or ``fold`` is none of these words.

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
    made = GraphBuilder(recording, targets, asked, names).build_graph()
    return FORMATS[format](fold_graph(made, fold), title or "tape")


def array_names(arrays: list[Any], nestings: tuple[Any, Any]) -> dict[int, str]:
    """Return a dict from the ``id()`` of each Array to its name in the picture.

    The name is the Array's own, its path in a nesting, the name of a variable of the caller, or "".
    nestings : the target and the sources as the user gave them.
    arrays : the Arrays to name.
    """
    frame = user_frame()
    variables = dict(frame.f_locals) if frame else {}
    named = {id(value): name for name, value in variables.items() if not name.startswith("_")}
    for nesting in nestings:
        for path, leaf, _ in nest.located(nesting):
            if path and not path.replace(".", "").isdecimal():
                named[id(leaf)] = path
    return {id(x): getattr(x, "name", None) or named.get(id(x), "") for x in arrays}
