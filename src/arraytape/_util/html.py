"""Tables in HTML, which notebooks show in place of a ``repr``."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

LEFT = "text-align: left"


def facts_table(title: str, facts: Mapping[str, object], text: str = "") -> str:
    """Return a title, a table with a row for each fact, and a preformatted text, as HTML.

    facts : name -> value, which is shown as its ``str``.
    text : shown under the table in a fixed-width font.
    """
    rows = [
        f'<tr><th style="{LEFT}">{escape(name)}</th><td style="{LEFT}">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    ]
    table = f"<table>{''.join(rows)}</table>" if rows else ""
    shown = f"<pre>{escape(text)}</pre>" if text else ""
    return f"<div><b>{escape(title)}</b>{table}{shown}</div>"
