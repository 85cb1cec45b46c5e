"""The page that lists for every public name its gradient, the values a tape keeps, and its storages.

The page follows from the registry of ops and the public namespace.  ``gradients`` determines the status
of a name's gradient, and a name without a status is an error.  ``batched`` determines the vmap column.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp
import pages
from arraytape import _numpy_hook
from arraytape._record.op import REGISTRY, Op
from arraytape._record.plan import kept_names
from arraytape._storage import cupy
from arraytape._storage.info import Info
from arraytape._storage.numpy_storage import NUMPY
from arraytape.ops._factorisations import NONE_UNREAD

from .batched import LOOP, NO, YES, of_name
from .gradients import (
    BEHIND,
    BY_DESIGN,
    GRADIENT,
    MEMBERS_BY_DESIGN,
    NONE,
    STATUSES,
    ZERO,
    Call,
    Finding,
    example_of,
    member_example,
    of_function,
    of_member,
)

PACKAGE = Path(xp.__file__).parent
COLUMNS = ("name", "word", "gradient", "a record keeps", "batched", "storages")
DASH = "–"  # noqa: RUF001
CHAPTERS = (
    "constants", "data_types", "inspection", "creation_functions", "data_type_functions",
    "elementwise_functions", "indexing_functions", "linear_algebra_functions",
    "manipulation_functions", "searching_functions", "set_functions", "sorting_functions",
    "statistical_functions", "utility_functions", "linalg", "fft", "array_attributes_and_methods",
    "array_operators",
)  # fmt: skip
LAST = ("tapes_and_rules", "ops_behind_other_names")
INTRODUCTION = f"""\
# Gradients, name by name

{pages.mark("coverage")}

Every public name has one of three statuses:

- `{GRADIENT}`: a derivative, of any order.
- `{ZERO}`: a derivative that is 0 wherever it exists, and arrives as zeros.
- `{NONE}`: the gradient is None. Such names return integers or booleans, round, inspect or create
  arrays, or convert values to NumPy arrays and numbers.

The tables have these columns:

- **gradient**: the status for real floating-point data. Brackets say where complex data or a single
  input has another status.
- **word**: how the op's results depend on its inputs: [elementwise, linear, primitive, composite or
  nondifferentiable](../../explanation/glossary.md#ops-and-records).
- **a record keeps**: the values that a tape keeps if it follows all inputs. If it follows fewer, it
  keeps only what their rules need. Inputs and parameters are listed by their names, and `y` is the
  result. Shapes and dtypes are kept, too, where inputs are broadcast or cast. A composite keeps what
  the ops keep that it consists of.
- **batched**: how the name is computed under `vmap`, and in a Jacobian. "{YES}": for all examples at
  once. "{LOOP}": by a Python loop over the examples. "{NO}": a TypeError is raised where the shape of
  the result, or a branch, depends on values. "{DASH}": the name computes with no Array. Your own
  `elementwise` ops are computed for all examples at once.
- **storages**: the libraries whose data the name accepts.
"""


class Row(NamedTuple):
    """The row of a public name.

    status : one of ``STATUSES``, or "" if it could not be determined; ``detail`` has the reason.
    """

    chapter: str
    name: str
    word: str
    status: str
    detail: str
    keeps: str
    batched: str
    storages: str


# --- collecting -----------------------------------------------------------------------------------
def keeps(op: Op | None, finding: Finding) -> str:
    """Return the values that a record of the op keeps if all its inputs are followed, as text."""
    if op is None or not op.recorded or finding.status == NONE:
        return DASH
    names = []
    for name in kept_names(op):
        if name in NONE_UNREAD:  # None until the backward pass fills it
            continue
        what, _, source = name.partition(" ")
        names.append(f"{what} of {source}" if source else name)
    return ", ".join(names) or "nothing"


def storages(op: Op | None) -> str:
    """Return as text the storages (NumPy, CuPy) whose library has a function for the op."""
    since = " 14" if op is not None and op.name in cupy.SINCE_14 else ""
    serves = op is None or op.kind == "composite" or callable(NUMPY.function(op.name))
    return f"numpy, cupy{since}" if serves else f"cupy{since}"


def row(
    chapter: str,
    name: str,
    op: Op | None,
    finding: Finding,
    word: str = DASH,
    example: Call | None = None,
) -> Row:
    batched = of_name(name, op, example) or DASH
    kind = op.kind if op else word
    return Row(chapter, name, kind, *finding, keeps(op, finding), batched, storages(op))


def chapter_of(function: Any, op: Op | None) -> str:
    """Return the file under ops/ in which a function's op, or the function itself, is declared."""
    if op is not None:
        path = Path(op.declared.rpartition(":")[0])
        return path.stem if path.parent == PACKAGE / "ops" else "tapes_and_rules"
    module: str = getattr(function, "__module__", None) or ""
    return module.rpartition(".")[2] if ".ops." in module else "tapes_and_rules"


def op_of(name: str, function: Any) -> Op | None:
    """Return the op whose public function is ``function``, or the op of the same name, or None."""
    for op in REGISTRY.values():
        if op.public is function:
            return op
    return REGISTRY.get(name)


def namespace_names(module: ModuleType, prefix: str = "") -> list[str]:
    """Return the public names of arraytape, arraytape.linalg or arraytape.fft."""
    if prefix:
        listed = getattr(module, "__all__", None)
        declared = [op.removeprefix(prefix) for op in REGISTRY if op.startswith(prefix)]
        return sorted(listed or declared)
    return [name for name in dir(module) if not isinstance(getattr(module, name), ModuleType)]


def member_names() -> list[str]:
    """Return the public attributes, methods and operators that Array defines."""
    return sorted(
        name for name, member in vars(xp.Array).items()
        if not name.startswith("_")
        or (name.endswith("__") and callable(member) and not name.startswith("__annot"))
    )  # fmt: skip


def namespace_rows(module: ModuleType, prefix: str = "") -> Iterator[Row]:
    for name in namespace_names(module, prefix):
        value, full = getattr(module, name), prefix + name
        if isinstance(value, np.dtype) or (
            isinstance(value, type) and issubclass(value, np.generic)
        ):
            yield row("data_types", full, None, Finding(NONE))
        elif value is None or isinstance(value, int | float | complex):
            yield row("constants", full, None, Finding(NONE))
        elif isinstance(value, str) or name == "__array_namespace_info__":
            yield row("inspection", full, None, Finding(NONE))
        elif isinstance(value, type):  # Array's members are listed in tables of their own
            yield row("tapes_and_rules", full, None, Finding(NONE))
        else:
            op = op_of(full, value)
            chapter = prefix.rstrip(".") or chapter_of(value, op)
            by_design = op is None or full in BY_DESIGN
            example = None if by_design else example_of(full, value)
            yield row(chapter, full, op, of_function(full, value, op), example=example)


def member_rows() -> Iterator[Row]:
    for name in member_names():
        member = vars(xp.Array)[name]
        behind = BEHIND.get(name, name if not name.startswith("_") else "")
        op = None if name in MEMBERS_BY_DESIGN else REGISTRY.get(behind)
        chapter = "array_operators" if name in BEHIND and name.startswith("__") else ""
        finding = of_member(name, member, op)
        word = DASH if finding.status == NONE else "composite"
        chapter = chapter or "array_attributes_and_methods"
        example = None if name in MEMBERS_BY_DESIGN else member_example(name, member, op)
        entry = row(chapter, f"Array.{name}", op, finding, word, example)
        if name == "__setitem__":  # recorded by a structural plan: see ops/writing.py
            kept = "key, shape of value, dtype of value"
            entry = entry._replace(chapter="array_operators", word="linear", keeps=kept)
        yield entry


def rows() -> list[Row]:
    """Return a row for each public name, and for each op that is recorded under another name."""
    _numpy_hook.load()  # replaces the placeholders of Array's members by the members
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # An untracked conversion must not count as a status.
        warnings.simplefilter("error", xp.TapeWarning)
        found = [*namespace_rows(xp)]
        found += namespace_rows(xp.linalg, "linalg.")
        found += namespace_rows(xp.fft, "fft.")
        found += member_rows()
        named = {r.name for r in found}
        for name in (n for n in vars(Info) if not n.startswith("_")):
            full = f"__array_namespace_info__().{name}"
            found.append(row("inspection", full, None, Finding(NONE)))
        for op in REGISTRY.values():
            # Ops that a user or a test defined are not part of the library.
            ours = Path(op.declared.rpartition(":")[0]).is_relative_to(PACKAGE)
            listed_elsewhere = op.name.startswith("special.")  # listed in special.md
            if ours and not listed_elsewhere and op.name not in named:
                assert op.public is not None
                finding = of_function(op.name, op.public, op)
                found.append(row("ops_behind_other_names", op.name, op, finding))
    return found


def without_status(found: Iterable[Row]) -> list[str]:
    """Return a line for each name without a status."""
    return [f"{r.name}: {r.detail}" for r in found if r.status not in STATUSES]


# --- writing --------------------------------------------------------------------------------------
def order(chapter: str) -> tuple[int, str]:
    """Return a sort key: the standard's chapters in its order, others by name, then those in LAST."""
    if chapter in CHAPTERS:
        return CHAPTERS.index(chapter), ""
    return len(CHAPTERS) + (1 + LAST.index(chapter) if chapter in LAST else 0), chapter


def render(found: Sequence[Row] | None = None) -> str:
    """Return the whole page."""
    found = rows() if found is None else found
    parts = [INTRODUCTION]
    counts = {status: sum(r.status == status for r in found) for status in reversed(STATUSES)}
    total = ", ".join(f"{count} `{status}`" for status, count in counts.items())
    parts.append(f"{len(found)} names: {total}.\n")
    for chapter in sorted({r.chapter for r in found}, key=order):
        title = chapter if chapter in ("linalg", "fft") else chapter.replace("_", " ").capitalize()
        lines = []
        for r in sorted(r for r in found if r.chapter == chapter):
            status = f"`{r.status}`" + (f" ({r.detail})" if r.detail else "")
            lines.append([f"`{r.name}`", r.word, status, r.keeps, r.batched, r.storages])
        parts.append(f"## {title}\n\n{pages.table(COLUMNS, lines)}\n")
    return "\n".join(parts)


def page(_: str) -> str:
    found = rows()
    if missing := without_status(found):
        raise pages.CannotBeWritten("no gradient status for " + "; ".join(missing))
    return render(found)
