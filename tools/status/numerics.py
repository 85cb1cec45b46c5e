"""The tables of docs/explanation/numerics.md, whose rows run in arraytape, PyTorch and JAX.

A row has a function of x (and y) as array-API code over ``xp``, a point, and the gradient of the sum of
the function's results at the point for each library.  If the function begins with ``second:``, it is the
gradient of the sum of the first derivatives.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import arraytape
import pages
from peers.libraries import PEERS, Jax, Library, Ours, Torch

COLUMNS = ("arraytape", "PyTorch", "JAX")
SECOND = "second: "
NOTHING = "\N{EN DASH}"


class Row(NamedTuple):
    """A row of a table, as the texts in its cells.

    code : an expression. point : its arguments. found : the derivative that each library computes.
    """

    code: str
    point: str
    found: tuple[str, ...]

    def __str__(self) -> str:
        return pages.row([f"`{part}`" for part in (self.code, self.point, *self.found)])


def row_of(line: str) -> Row | None:
    """Return the Row of a line of the page, or None if the line is no row."""
    parts = [part.strip() for part in line.strip().strip("|").split(" | ")]
    code = len(parts) == 2 + len(COLUMNS) and all(p[0] == p[-1] == "`" for p in parts)
    return Row(parts[0][1:-1], parts[1][1:-1], tuple(p[1:-1] for p in parts[2:])) if code else None


def rows() -> list[Row]:
    """Return all rows of the page."""
    lines = pages.PAGES["numerics"].text().splitlines()
    return [row for row in map(row_of, lines) if row]


def point_of(row: Row) -> dict[str, np.ndarray[Any, Any]]:
    """Return a row's arguments by name; the row has a text such as ``x, y = 1.0, 2.0``."""
    names, _, values = row.point.partition(" = ")
    found = eval(values, {"nan": np.nan, "inf": np.inf})
    split = names.split(", ")
    return {
        n: np.asarray(v) for n, v in zip(split, found if len(split) > 1 else [found], strict=True)
    }


def derivative(library: Library, row: Row) -> str:
    """Return a library's derivative for a row; a dash if the library lacks a function of the row."""
    point = point_of(row)
    code = compile(row.code.removeprefix(SECOND), row.code, "eval")

    def function(*arrays: Any) -> Any:
        names = dict(zip(point, arrays, strict=True))
        return eval(code, {"xp": library.xp, **names})

    gradient = GRADIENTS[type(library)]
    order = 2 if row.code.startswith(SECOND) else 1
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = gradient(library, function, [*point.values()], order)
        except (AttributeError, RuntimeError):  # the library lacks the function or its derivative
            if isinstance(library, Ours):
                raise
            return NOTHING
    return ", ".join("None" if g is None else shown(np.asarray(g)) for g in found)


def shown(g: np.ndarray[Any, Any]) -> str:
    """Return numbers as text with three decimals; -0.0 becomes 0.0."""
    return str((np.round(g, 3) + 0.0).tolist()).replace("(", "").replace(")", "")


def summed(xp: Any, results: Any) -> Any:
    """Return the sum of all elements of all results."""
    parts = results if isinstance(results, tuple | list) else [results]
    total: Any = 0.0
    for part in parts:
        total = total + xp.sum(part)
    return total


def ours(library: Any, function: Callable[..., Any], inputs: list[Any], order: int) -> list[Any]:
    """Return arraytape's gradients of the given order, None without a gradient."""
    xs = [library.asarray(x) for x in inputs]
    with arraytape.GradientTape() as outer:
        outer.watch(xs)
        with arraytape.GradientTape() as inner:
            inner.watch(xs)
            y = function(*xs)
        if order == 2:
            y = inner.gradient(y, xs)
    found: list[Any] = (outer if order == 2 else inner).gradient(y, xs)
    return found


def torch_s(library: Any, function: Callable[..., Any], inputs: list[Any], order: int) -> list[Any]:
    """Return PyTorch's gradients of the given order, None without a gradient."""
    torch = library.torch
    xs = [torch.tensor(x, requires_grad=True) for x in inputs]
    y = summed(library.xp, function(*xs))
    for last in [False, True][-order:]:
        if not getattr(y, "requires_grad", False):
            return [None for _ in xs]
        y = y.real if y.is_complex() else y
        found = torch.autograd.grad(y, xs, create_graph=not last, allow_unused=True)
        y = summed(library.xp, [g for g in found if g is not None])
    return [None if g is None else g.numpy(force=True) for g in found]


def jax_s(library: Any, function: Callable[..., Any], inputs: list[Any], order: int) -> list[Any]:
    """Return JAX's gradients of the given order, in JAX's convention for complex numbers."""
    jax, xp = library.jax, library.xp
    everywhere = tuple(range(len(inputs)))

    def value(*xs: Any) -> Any:
        return xp.real(summed(xp, function(*xs)))

    def first(*xs: Any) -> Any:
        return summed(xp, jax.grad(value, everywhere)(*xs))

    return list(jax.grad(first if order == 2 else value, everywhere)(*map(library.asarray, inputs)))


GRADIENTS: dict[type, Callable[..., list[Any]]] = {Ours: ours, Torch: torch_s, Jax: jax_s}


def filled(row: Row, libraries: dict[str, Library]) -> Row:
    """Return the row with new derivatives in the columns of ``libraries``."""
    found = zip(COLUMNS, row.found, strict=True)
    new = [derivative(libraries[c], row) if c in libraries else old for c, old in found]
    return row._replace(found=tuple(new))


def page(old: str) -> str:
    """Return the page with arraytape's column computed anew."""
    return with_columns(old, {"arraytape": Ours()})


def page_of_peers(old: str) -> str:
    """Return the page with all columns computed anew; PyTorch and JAX must be installed."""
    peers = {"PyTorch": PEERS["torch"](), "JAX": PEERS["jax"]()}
    return with_columns(old, {"arraytape": Ours(), **peers})


def with_columns(text: str, libraries: dict[str, Library]) -> str:
    """Return the page ``text`` with the columns of these libraries computed anew."""
    lines = text.splitlines()
    new = [str(filled(row, libraries)) if (row := row_of(line)) else line for line in lines]
    return "\n".join(new) + "\n"
