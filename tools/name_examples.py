"""Check that each public name has an example, and that the examples print what they show.

    python tools/name_examples.py                  # names without an example; exit code 1 for any
    python tools/name_examples.py --run            # run all examples, too
    python tools/name_examples.py --apart          # run the examples that change the process
    python tools/name_examples.py --write FILE...  # write the output into the examples of these files

An example of a name is code behind ``>>>`` that uses the name, on the name's page of the reference.
The page shows the name's docstring.  For members of a class it shows the docstrings of the class and of
all members, and for constants and dtypes ``website.reference.VALUES_EXAMPLES``.  A further name of a
function has the example of its first name.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from website import reference
from website.reference import Names

NUMBER = re.compile(r"(?:(?<![\w.])|(?=[-+]))[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CLOSE = 2e-7  # relative tolerance of numbers, which are shown with eight digits
PARSER = doctest.DocTestParser()
SECTION = re.compile(r"^(\S+\n=+\n)", re.MULTILINE)
# Names whose examples change the process: ops enter the registry, interop patches SciPy for good.
APART = {
    "arraytape.define_op",
    "arraytape.interop.install",
    "arraytape.no_gradient",
    "arraytape.register_gradient",
    "arraytape.register_nesting",
}


# --- names without an example ---------------------------------------------------------------------
def without_example(names: Names) -> list[str]:
    """Return the names that have no example."""
    firsts = reference.first_names(names)
    return [name for name in names if name not in firsts and not has_example(name, names)]


def has_example(name: str, names: Names) -> bool:
    """Return True if an example on the reference page of ``name`` uses ``name``."""
    own = name.rpartition(".")[2]
    return own in used(PARSER.get_examples(text_of_page(name, names)))


def text_of_page(name: str, names: Names) -> str:
    """Return the docstrings on the reference page of the public name ``name``, joined to one text."""
    if reference.on_the_page_of_values(name, names):
        return reference.VALUES_EXAMPLES
    if reference.is_member(name, names):
        name = reference.owner(name)
    value = names[name]
    members = [m for m in names if reference.owner(m) == name] if isinstance(value, type) else []
    return "\n\n".join(docstring(one, names) for one in (name, *members))


def docstring(name: str, names: Names) -> str:
    """Return the docstring of a name; "" if only its type has one."""
    value = names[name]
    if reference.is_member(name, names):
        cls, own = names[reference.owner(name)], name.rpartition(".")[2]
        value = inspect.getattr_static(cls, own)
        if not callable(value) and not isinstance(value, property | classmethod | staticmethod):
            return ""  # getdoc would return the docstring of its type
    return inspect.getdoc(value) or ""


def used(examples: list[doctest.Example]) -> set[str]:
    """Return the names that examples read as attributes, import, or define in a class."""
    found: set[str] = set()
    for example in examples:
        for node in ast.walk(ast.parse(example.source)):
            match node:
                case ast.Attribute(_, name) | ast.alias(name):
                    found.add(name)
                case ast.ClassDef():  # a class of the user that defines the members of a protocol
                    found |= set(defined(node))
    return found


def defined(cls: ast.ClassDef) -> Iterator[str]:
    """Yield the names of the methods and attributes that a class defines."""
    for part in cls.body:
        if isinstance(part, ast.FunctionDef):
            yield part.name
        for target in part.targets if isinstance(part, ast.Assign) else ():
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


# --- checks of the output -------------------------------------------------------------------------
class CloseNumbers(doctest.OutputChecker):
    """An OutputChecker for which numbers are equal if they differ by rounding."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        ours, theirs = NUMBER.findall(want), NUMBER.findall(got)
        same_words = super().check_output(NUMBER.sub("0", want), NUMBER.sub("0", got), optionflags)
        return (
            same_words
            and len(ours) == len(theirs)
            and all(close(float(a), float(b)) for a, b in zip(ours, theirs, strict=True))
        )


def close(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * max(abs(a), abs(b)) + 1e-12


def failures(text: str, name: str) -> str:
    """Return doctest's report on the examples of a text, "" if all pass; warnings are errors."""
    said: list[str] = []
    test = PARSER.get_doctest(text, {}, name, None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doctest.DocTestRunner(CloseNumbers(), optionflags=FLAGS).run(test, out=said.append)
    return "".join(said)


def documented(names: Names) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) for each docstring with examples, once."""
    firsts = reference.first_names(names)
    yield reference.VALUES, reference.VALUES_EXAMPLES
    for name in names:
        if name not in firsts and not reference.on_the_page_of_values(name, names):
            text = docstring(name, names)
            if ">>>" in text:
                yield name, text


# --- writing --------------------------------------------------------------------------------------
def write(file: Path) -> None:
    """Write the output into the examples of a text file, or of the strings of a module."""
    if file.suffix == ".txt":
        first, *parts = SECTION.split(file.read_text(encoding="utf-8"))
        parts[1::2] = [
            printed(part, f"{file}:{parts[2 * i]}") for i, part in enumerate(parts[1::2])
        ]
        file.write_text(first + "".join(parts), encoding="utf-8")
        return
    lines = file.read_text(encoding="utf-8").splitlines()
    texts = [
        node
        for node in ast.walk(ast.parse("\n".join(lines)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>>" in node.value
    ]
    for node in sorted(texts, key=lambda node: -node.lineno):
        begin, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1  # not the closing quotes
        lines[begin:end] = printed("\n".join(lines[begin:end]), f"{file}:{node.lineno}").split("\n")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def printed(text: str, place: str) -> str:
    """Return the text with the actual output of its examples."""
    test = PARSER.get_doctest(text, {"xp": reference.xp}, place, None, None)
    outputs: dict[int, str] = {}

    class Writer(doctest.DocTestRunner):
        def report_start(self, out: Any, test: Any, example: doctest.Example) -> None:
            outputs[example.lineno] = ""

        def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
            # Keep the expected text, which may have an ellipsis.
            outputs[example.lineno] = example.want

        def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
            outputs[example.lineno] = got

        def report_unexpected_exception(self, out: Any, test: Any, example: Any, info: Any) -> None:
            said = f"{place}: {example.source.strip()}: {info[0].__name__}: {info[1]}"
            print(said, file=sys.stderr)
            outputs[example.lineno] = example.want

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Writer(CloseNumbers(), optionflags=FLAGS).run(test, clear_globs=True)
    lines = text.split("\n")
    for example in reversed(test.examples):
        start = example.lineno + example.source.count("\n")
        stop = start + example.want.count("\n")
        shown = textwrap.indent(outputs.get(example.lineno, ""), " " * example.indent)
        lines[start:stop] = shown.rstrip("\n").split("\n") if shown else []
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Which public names have no example.")
    parser.add_argument("--run", action="store_true", help="run the examples")
    parser.add_argument("--apart", action="store_true", help="run those that change the process")
    parser.add_argument("--write", nargs="+", type=Path, metavar="FILE", help="write outputs")
    arguments = parser.parse_args()
    for file in arguments.write or ():
        write(file)
    if arguments.write:
        return 0
    names = reference.public()
    if arguments.apart:
        wrong = [failures(docstring(name, names), name) for name in sorted(APART)]
        print(*wrong, sep="", end="")
        return int(any(wrong))
    missing = without_example(names)
    print(*missing, sep="\n", end="\n" if missing else "")
    print(f"{len(missing)} of {len(names)} public names have no example.")
    wrong = [failures(text, name) for name, text in documented(names)] if arguments.run else []
    print(*wrong, sep="", end="")
    return int(bool(missing) or any(wrong))


if __name__ == "__main__":
    sys.exit(main())
