"""Write docs/coverage.md: every public name, its gradient, what a tape keeps for it, its storages.

    python tools/coverage_table.py            # write the table
    python tools/coverage_table.py --check    # exit code 1, and the difference, when it is stale

All of it comes from the registry of ops and the public namespace.  A gradient's status is found by
taking the gradient: of an op on its own samples; of a composite, a method or an operator on the
calls below, or on matrices when they do not name it.  A name for which that gives no answer is an
error: it needs a call in ``CALLS`` or ``MEMBER_CALLS``, or a place in ``BY_DESIGN``.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import arraytape as xp
from arraytape import _cupy, testing
from arraytape._info import Info
from arraytape._op import REGISTRY, Op
from arraytape._storage import NUMPY
from arraytape.ops import operators
from arraytape.ops._factorisations import NONE_DEAD

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "coverage.md"
PACKAGE = Path(xp.__file__).parent
GRADIENT, ZERO, NONE = "gradient", "zero gradient", "none by design"
STATUSES = (NONE, ZERO, GRADIENT)  # the later one wins where samples or inputs differ
COLUMNS = ("name", "word", "gradient", "a record keeps", "storages")
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

<!-- Written by tools/coverage_table.py; do not edit. -->

Every public name has one of three statuses:

- `{GRADIENT}`: a derivative, of any order.
- `{ZERO}`: a derivative that is 0 wherever it exists, and arrives as zeros.
- `{NONE}`: the gradient is None: integers, booleans, rounding, facts about an array, new arrays,
  values that leave the tape.

A status holds for real floating-point data; brackets say where complex data or a single input
differ. The word is the one in which the op is stated. What a record keeps is listed for an op all
of whose inputs are followed; with fewer, it keeps what their rules ask for: inputs and parameters
by name, `y` for the result, or what the op saves in their place. Shapes and dtypes are kept, too,
where inputs are broadcast or cast. A composite keeps what its parts keep.
"""


class Call(NamedTuple):
    """A function of floating-point arrays, and their shapes."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def call(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Call:
    return Call(function, shapes or ((3, 3),))


# Composites that two matrices at most do not serve.
CALLS = {
    "asarray": call(lambda x: xp.asarray(x, copy=True)),
    "astype": call(lambda x: xp.astype(x, xp.float32)),
    "bincount": call(lambda w: xp.bincount(xp.asarray([0, 2, 0]), w), (3,)),
    "custom_gradient": call(
        lambda x: xp.custom_gradient(lambda x: (x * 2.0, lambda g: g * 2.0))(x)
    ),
    "grad_pass_through": call(lambda x: xp.grad_pass_through(xp.round)(x)),
    "host_function": call(lambda x: xp.host_function(np.exp, lambda g, y, x: g * y)(x)),
    "recompute_grad": call(lambda x: xp.recompute_grad(xp.exp)(x)),
    "broadcast_to": call(lambda x: xp.broadcast_to(x, (2, 3, 3))),
    "einsum": call(lambda x1, x2: xp.einsum("ij,jk", x1, x2), (3, 3), (3, 3)),
    "expand_dims": call(lambda x: xp.expand_dims(x, 0)),
    "full": call(lambda value: xp.full((2, 2), value), ()),
    "full_like": call(xp.full_like, (2, 2), ()),
    "linalg.matrix_power": call(lambda x: xp.linalg.matrix_power(x, 3)),
    "linalg.outer": call(xp.linalg.outer, (3,), (2,)),
    "linspace": call(lambda start, stop: xp.linspace(start, stop, 5), (), ()),
    "logspace": call(lambda start, stop: xp.logspace(start, stop, 5), (), ()),
    "meshgrid": call(xp.meshgrid, (3,), (2,)),
    "moveaxis": call(lambda x: xp.moveaxis(x, 0, 1)),
    "pad": call(lambda x: xp.pad(x, 1)),
    "permute_dims": call(lambda x: xp.permute_dims(x, (1, 0))),
    "repeat": call(lambda x: xp.repeat(x, 2)),
    "reshape": call(lambda x: xp.reshape(x, (9,))),
    "roll": call(lambda x: xp.roll(x, 1)),
    "scatter_add": call(lambda x: xp.scatter_add(x, (4, 3), xp.asarray([0, 2, 0]))),
    "squeeze": call(lambda x: xp.squeeze(x, axis=0), (1, 3)),
    "tile": call(lambda x: xp.tile(x, (2, 1))),
}
# Members of Array that take more than the array itself.
MEMBER_CALLS = {
    "__array_function__": call(lambda x: np.sum(x)),
    "__array_ufunc__": call(lambda x: np.exp(x)),
    "__getitem__": call(lambda x: x[[0, 2], 1:]),
    "__setitem__": call(lambda x, value: written(x, value), (3, 3), (3,)),
    "astype": call(lambda x: x.astype(xp.float32)),
    "__divmod__": call(lambda x1, x2: divmod(x1, x2), (3, 3), (3, 3)),
    "__rdivmod__": call(lambda x2: divmod(2.0, x2)),
    "argpartition": call(lambda x: x.argpartition(1)),
    "choose": call(lambda x: xp.asarray([0, 1, 0]).choose([x, 2.0 * x])),
    "compress": call(lambda x: x.compress([True, False, True])),
    "dot": call(lambda x1, x2: x1.dot(x2), (3, 3), (3, 3)),
    "fill": call(lambda x, value: changed("fill", x, value), (3, 3), ()),
    "partition": call(lambda x: changed("partition", x, 1)),
    "put": call(lambda x, v: changed("put", x, [0, 2], v), (3, 3), (2,)),
    "repeat": call(lambda x: x.repeat(2)),
    "reshape": call(lambda x: x.reshape((9,))),
    "searchsorted": call(lambda x1, x2: x1.searchsorted(x2), (3,), (2,)),
    "sort": call(lambda x: changed("sort", x)),
    "squeeze": call(lambda x: x.squeeze(axis=0), (1, 3)),
    "swapaxes": call(lambda x: x.swapaxes(0, 1)),
    "take": call(lambda x: x.take([0, 2])),
    "to_device": call(lambda x: x.to_device(x.device)),
}
# The ops behind members of another name.
BEHIND = {
    "T": "matrix_transpose", "__getitem__": "getitem", "dot": "matmul", "mT": "matrix_transpose",
    **{f"__{side}{short}__": op for short, op in operators.BINARY.items() for side in ("", "r", "i")},
    **{f"__{short}__": op for short, op in (operators.COMPARISONS | operators.UNARY).items()},
}  # fmt: skip
# Floating-point results that owe nothing to the values of an input, and functions without a
# declared op that return no Array: those that take a function give one whose results have gradients.
BY_DESIGN = {
    "empty_like",
    "finfo",
    "from_dlpack",
    "grad",
    "hessian",
    "hvp",
    "iinfo",
    "jacobian",
    "jvp",
    "numpy_function",
    "ones_like",
    "result_type",
    "value_and_grad",
    "vjp",
    "vmap",
    "zeros_like",
}
MEMBERS_BY_DESIGN = {
    "__array__", "__array_namespace__", "__bool__", "__complex__", "__copy__", "__deepcopy__",
    "__dlpack__", "__dlpack_device__", "__float__", "__format__", "__index__", "__int__", "__len__",
    "__repr__", "__str__", "device", "dtype", "item", "itemsize", "nbytes", "ndim", "shape",
    "size", "tolist",
}  # fmt: skip


class Row(NamedTuple):
    """One name.  ``status`` is one of ``STATUSES``, or "" when none could be found: see ``detail``."""

    chapter: str
    name: str
    word: str
    status: str
    detail: str
    keeps: str
    storages: str


class Finding(NamedTuple):
    """A status, and where complex data or a single input differ (or what went wrong)."""

    status: str
    detail: str = ""


# --- finding out ------------------------------------------------------------------------------
def written(x: Any, value: Any) -> Any:
    """x with a row overwritten, for the gradient of item assignment."""
    x = x * 1.0
    x[1, :] = value
    return x


def changed(method: str, x: Any, *args: Any) -> Any:
    """A copy of x after a method that writes to it, for the gradient of that method."""
    x = x * 1.0
    getattr(x, method)(*args)
    return x


def slopes(function: Callable[..., Any], inputs: Sequence[Any]) -> list[str]:
    """The status of each input, by the gradient of the function's weighted total.

    LookupError when the results are floating point and yet depend on no input.
    """
    arrays = [xp.asarray(x) for x in inputs]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        results = list(floats(function(*arrays)))
        value = testing.total(results)
    gradients = tape.gradient(value, arrays)
    if results and all(g is None for g in gradients):
        raise LookupError("its results are floating point and depend on no input")
    return [
        NONE if g is None else GRADIENT if np.any(np.asarray(g) != 0) else ZERO for g in gradients
    ]


def floats(results: Any) -> Iterator[Any]:
    """The floating-point Arrays in a nesting of results."""
    if isinstance(results, xp.Array):
        if results.dtype.kind in "fc":
            yield results
    elif isinstance(results, Iterable) and not isinstance(results, str | bytes):
        for part in results:
            yield from floats(part)


def strongest(statuses: Iterable[str]) -> str:
    return max(statuses, key=STATUSES.index, default=NONE)


def of_op(op: Op) -> Finding:
    """The status of an op with rules of its own, from its samples; one input may differ."""
    if not (op.rules or op.joint):
        return Finding("", "it has no rule yet")
    if not op.samples:
        return Finding("", "it has no samples")
    by_input = of_inputs(op, np.float64)
    status = strongest(by_input.values())
    details = [f"{name}: {found}" for name, found in by_input.items() if found != status]
    if status == ZERO:
        try:
            with_complex = strongest(of_inputs(op, np.complex128).values())
        except (TypeError, ValueError):  # it takes real data only
            with_complex = ZERO
        details += [f"complex: {with_complex}"] * (with_complex != status)
    return Finding(status, "; ".join(details))


def of_inputs(op: Op, dtype: Any) -> dict[str, str]:
    """The status of each of the op's inputs; an input whose rule is None has none."""
    found: dict[str, list[str]] = {
        name: [] for name, rule in zip(op.inputs, op.rules or op.inputs, strict=False) if rule
    } or {name: [] for name in op.inputs}
    for sample in op.samples:
        arguments = testing.materialise(op, sample, dtype)
        function, inputs = testing.as_function(op, sample, arguments)
        owners = [
            name
            for name, value in zip(op.inputs, arguments, strict=False)
            for part in (value if isinstance(value, list) else [value])
            if isinstance(part, np.ndarray) and part.dtype.kind in "fc"
        ]
        if any(x.size == 0 for x in inputs):
            continue
        for name, status in zip(owners, slopes(function, inputs), strict=True):
            found.setdefault(name, []).append(status)
    return {name: strongest(found.get(name, [])) for name in op.inputs}


def of_call(example: Call) -> Finding:
    """The status of a function of arrays, from one call."""
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(0.3, 2.0, shape) for shape in example.shapes]
    try:
        return Finding(strongest(slopes(example.function, inputs)))
    except Exception as error:
        return Finding("", f"{type(error).__name__}: {error}")


def of_function(name: str, function: Callable[..., Any], op: Op | None) -> Finding:
    """The status of a public function of the namespace."""
    if name in BY_DESIGN or (op and op.kind == "nondifferentiable"):
        return Finding(NONE)
    if op and op.recorded:
        return of_op(op)
    if name in CALLS:
        return of_call(CALLS[name])
    parameters = inspect.signature(function).parameters.values()
    takes = [p for p in parameters if "Array" in str(p.annotation)]
    gives = str(inspect.signature(function).return_annotation)
    if not takes:
        # What gives no Array, or takes nothing that could be one, has nothing to differentiate.
        unclear = [
            p for p in parameters
            if p.name not in ("device", "dtype")
            and (p.annotation is p.empty or "Any" in str(p.annotation))
        ]  # fmt: skip
        known = ("bool", "int", "tuple[int", "None", "Callable")
        if gives.startswith(known) or ("Array" in gives and not unclear):
            return Finding(NONE)
        return Finding("", "nothing says whether a gradient flows")
    needed = [p for p in takes if p.default is p.empty]
    return of_call(Call(function, ((3, 3),) * len(needed)))


def of_member(name: str, member: Any, op: Op | None) -> Finding:
    """The status of an attribute, method or operator of Array."""
    if name in MEMBERS_BY_DESIGN or (op and op.kind == "nondifferentiable"):
        return Finding(NONE)
    example = MEMBER_CALLS.get(name)
    if example is None:
        two = ((3, 3), (3, 3))
        if name.startswith("__i") and op and name[3:-2] in operators.BINARY:
            example = Call(lambda x1, x2: getattr(x1 * 1.0, name)(x2), two)
        elif name in BEHIND and op and len(op.inputs) == 2:
            example = Call(lambda x1, x2: getattr(x1, name)(x2), two)
        elif isinstance(member, property):
            example = call(lambda x: getattr(x, name))
        else:
            example = call(lambda x: getattr(x, name)())
    found = of_call(example)
    if found.status and op and op.recorded and found.status != GRADIENT:
        return of_op(op)  # which says where complex data differ
    return found


# --- collecting -------------------------------------------------------------------------------
def keeps(op: Op | None, finding: Finding) -> str:
    """What one record of the op holds when all its inputs are followed."""
    if op is None or not op.recorded or finding.status == NONE:
        return DASH
    names = []
    for name in op.plans[-1].positions:
        if name in NONE_DEAD:  # a place for what the backward pass finds out, empty until then
            continue
        what, _, source = name.partition(" ")
        names.append(f"{what} of {source}" if source else name)
    return ", ".join(names) or "nothing"


def storages(op: Op | None) -> str:
    """The storages that arraytape itself brings and that have the op's function."""
    since = " 14" if op is not None and op.name in _cupy.SINCE_14 else ""
    serves = op is None or op.kind == "composite" or callable(NUMPY.function(op.name))
    return f"numpy, cupy{since}" if serves else f"cupy{since}"


def row(chapter: str, name: str, op: Op | None, finding: Finding, word: str = DASH) -> Row:
    return Row(chapter, name, op.kind if op else word, *finding, keeps(op, finding), storages(op))


def chapter_of(function: Any, op: Op | None) -> str:
    """The file under ops/ in which a function's op, or the function itself, is declared."""
    if op is not None:
        path = Path(op.declared.rpartition(":")[0])
        return path.stem if path.parent == PACKAGE / "ops" else "tapes_and_rules"
    module: str = getattr(function, "__module__", None) or ""
    return module.rpartition(".")[2] if ".ops." in module else "tapes_and_rules"


def op_of(name: str, function: Any) -> Op | None:
    """The op behind a public function: its own, or the one of its name."""
    for op in REGISTRY.values():
        if op.public is function:
            return op
    return REGISTRY.get(name)


def namespace_names(module: ModuleType, prefix: str = "") -> list[str]:
    """The public names of arraytape, arraytape.linalg or arraytape.fft."""
    if prefix:
        listed = getattr(module, "__all__", None)
        declared = [op.removeprefix(prefix) for op in REGISTRY if op.startswith(prefix)]
        return sorted(listed or declared)
    standard = ("__array_api_version__", "__array_namespace_info__", "__version__")
    return sorted(
        name for name, value in vars(module).items()
        if name in standard or not (name.startswith("_") or isinstance(value, ModuleType))
    )  # fmt: skip


def member_names() -> list[str]:
    """The public attributes, methods and operators that Array defines."""
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
        elif isinstance(value, type):  # Array has tables of its own
            yield row("tapes_and_rules", full, None, Finding(NONE))
        else:
            op = op_of(full, value)
            chapter = prefix.rstrip(".") or chapter_of(value, op)
            yield row(chapter, full, op, of_function(full, value, op))


def member_rows() -> Iterator[Row]:
    for name in member_names():
        member = vars(xp.Array)[name]
        behind = BEHIND.get(name, name if not name.startswith("_") else "")
        op = None if name in MEMBERS_BY_DESIGN else REGISTRY.get(behind)
        chapter = "array_operators" if name in BEHIND and name.startswith("__") else ""
        finding = of_member(name, member, op)
        word = DASH if finding.status == NONE else "composite"
        entry = row(chapter or "array_attributes_and_methods", f"Array.{name}", op, finding, word)
        if name == "__setitem__":  # recorded by a plan of its own: see ops/writing.py
            kept = "key, shape of value, dtype of value"
            entry = entry._replace(chapter="array_operators", word="linear", keeps=kept)
        yield entry


def rows() -> list[Row]:
    """One row for each public name, and for each op that is recorded under another name."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", xp.TapeWarning)  # a way out of the tape is no status
        found = [*namespace_rows(xp)]
        found += namespace_rows(xp.linalg, "linalg.")
        found += namespace_rows(xp.fft, "fft.")
        found += member_rows()
        named = {r.name for r in found}
        for name in (n for n in vars(Info) if not n.startswith("_")):
            full = f"__array_namespace_info__().{name}"
            found.append(row("inspection", full, None, Finding(NONE)))
        for op in REGISTRY.values():
            # Ops of the user's own (or of a test) are no part of the library.
            ours = Path(op.declared.rpartition(":")[0]).is_relative_to(PACKAGE)
            if ours and op.name not in named:
                assert op.public is not None
                finding = of_function(op.name, op.public, op)
                found.append(row("ops_behind_other_names", op.name, op, finding))
    return found


def without_status(found: Iterable[Row]) -> list[str]:
    """What to say about the names that have none of the three statuses."""
    return [f"{r.name}: {r.detail}" for r in found if r.status not in STATUSES]


# --- writing ----------------------------------------------------------------------------------
def order(chapter: str) -> tuple[int, str]:
    """The standard's chapters in its order, then others by name, then what is no chapter."""
    if chapter in CHAPTERS:
        return CHAPTERS.index(chapter), ""
    return len(CHAPTERS) + (1 + LAST.index(chapter) if chapter in LAST else 0), chapter


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def render(found: Sequence[Row] | None = None) -> str:
    """The whole page."""
    found = rows() if found is None else found
    parts = [INTRODUCTION]
    counts = {status: sum(r.status == status for r in found) for status in reversed(STATUSES)}
    total = ", ".join(f"{count} `{status}`" for status, count in counts.items())
    parts.append(f"{len(found)} names: {total}.\n")
    for chapter in sorted({r.chapter for r in found}, key=order):
        title = chapter if chapter in ("linalg", "fft") else chapter.replace("_", " ").capitalize()
        lines = [f"## {title}", "", line(COLUMNS), line(["---"] * len(COLUMNS))]
        for r in sorted(r for r in found if r.chapter == chapter):
            status = f"`{r.status}`" + (f" ({r.detail})" if r.detail else "")
            lines.append(line([f"`{r.name}`", r.word, status, r.keeps, r.storages]))
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write docs/coverage.md.")
    parser.add_argument("--check", action="store_true", help="fail when the table is stale")
    check = parser.parse_args(arguments).check
    found = rows()
    if missing := without_status(found):
        print("No gradient status for", *missing, sep="\n  ", file=sys.stderr)
        return 1
    page = render(found)
    old = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
    if check:
        sys.stdout.writelines(
            difflib.unified_diff(
                old.splitlines(True), page.splitlines(True), "docs/coverage.md", "generated"
            )
        )
        return int(old != page)
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
