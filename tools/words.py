"""Check first words, retired words and the length of sentences in docstrings, comments and pages.

    python tools/words.py                   # print a line for each fault; exit code 1 if there is one
    python tools/words.py src/arraytape/nn docs/howto

The rules are in CONTRIBUTING.md ("Words").  ruff checks that a docstring begins with a verb (D401);
this script checks rules that ruff does not have.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WHERE = [
    "src",
    "tools",
    "asv_bench",
    "examples",
    "tests/helpers",
    "docs",
    "README.md",
    "CONTRIBUTING.md",
]
GENERATED = ROOT / "docs" / "reference" / "generated"
LONGEST = 30  # the largest number of words in a sentence of a docstring or comment; the aim is 25
LONGEST_ON_A_PAGE = 25
DECISIONS = ROOT / "docs" / "decisions"  # some of their sentences are longer than those of pages

# A docstring that begins with one of these words has no clear subject and verb.
FIRST_WORDS = {
    *("what", "whether", "how", "where", "which", "when", "who", "that", "as", "for", "by", "of"),
    *("its", "their", "theirs"),
}
# Metaphors, and words with a meaning that only this project gives them -> words to use instead.
RETIRED = {
    r"\bdearer\b": "slower, or costs more",
    r"\bhangs? on\b": "depends on",
    r"\bbeside\b": "next to, or compared with",
    r"\bletting go\b": "releasing",
    r"\bstrays?\b": "unfollowed writes",
    r"\battended\b": "captured state",
    r"\bby data and parameters\b": "with respect to data and parameters",
    r"\b(?:derivatives?|gradients?|slopes?) by (?:its|the|their|all|both|each|x|y)\b(?! rule)": (
        "with respect to"
    ),
    r"\bdifferentiated? by (?:its|the|their|all|both|each|x|y)\b": "with respect to",
    r"\bis told (?:of|that)\b": "is notified, or gets",
    r"\bhears of\b": "is notified of",
    r"\ba look for NaN\b|\blooks for NaN\b|\bNaN looks?\b": "a NaN check",
    r"\bare swept\b|\bis swept\b|\bswept records?\b": "freed, dead records",
}


class Text(NamedTuple):
    """A docstring, a comment, or a paragraph of a page, with the line at which it begins."""

    file: Path
    line: int
    kind: str
    text: str


# --- texts --------------------------------------------------------------------------------------------
def texts_of(path: Path) -> Iterator[Text]:
    """Yield the texts of a Python file or a page."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from paragraphs(path, source)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                kind = "module" if isinstance(node, ast.Module) else "docstring"
                # Indented lines are commands.
                text = re.sub(r"(?m)^ {4}.*$", "", text) if kind == "module" else text
                yield Text(path, node.body[0].lineno, kind, text)
    yield from comments(path, source)


def comments(path: Path, source: str) -> Iterator[Text]:
    """Yield the comments of a file; consecutive lines with nothing but comments are one text."""
    last, own_line, lines = 0, False, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            before, own_line = own_line, token.line.lstrip().startswith("#")
            if lines and not (before and own_line and token.start[0] == last + 1):
                yield Text(path, last - len(lines) + 1, "comment", " ".join(lines))
                lines = []
            last = token.start[0]
            if not token.string.startswith("# ---"):  # headings of sections are no texts
                lines.append(token.string.lstrip("#: "))
    if lines:
        yield Text(path, last - len(lines) + 1, "comment", " ".join(lines))


def paragraphs(path: Path, source: str) -> Iterator[Text]:
    """Yield the paragraphs and list items of a page, without code, tables and headings."""
    source = re.sub(r"(?ms)^```.*?^```|<!--.*?-->", lambda m: "\n" * m[0].count("\n"), source)
    start, lines = 1, []
    for number, line in enumerate([*source.splitlines(), ""], 1):
        prose = line.strip() and not re.match(r" {4}|\s*[#|:]", line)
        if lines and (not prose or re.match(r"\s*(?:[-*]|\d+\.) ", line)):
            yield Text(path, start, "page", " ".join(lines))
            lines = []
        if prose:
            start = start if lines else number
            lines.append(re.sub(r"^\s*[-*] ", "", line.strip()))


# --- rules --------------------------------------------------------------------------------------------
def is_table(sentence: str) -> bool:
    """Return True if the text has columns that are separated by three or more spaces."""
    return len(re.findall(r"\S {3,}\S", sentence)) > 2


def complaints(text: Text) -> Iterator[str]:
    """Yield a message for each fault of a text."""
    words = without_code(text.text)
    first = re.sub(r"\W", "", (words.split() or [""])[0]).lower()
    if text.kind == "docstring" and first in FIRST_WORDS:
        yield f"begins with {first!r}: begin with a verb, or with a noun that says what it is"
    for pattern, better in RETIRED.items():
        for found in re.finditer(pattern, words):
            yield f"{found[0]!r}: say {better}"
    on_page = text.kind == "page" and DECISIONS not in text.file.parents
    longest = LONGEST_ON_A_PAGE if on_page else LONGEST
    for sentence in sentences(words):
        # Symbols in formulas do not count as words.
        length = sum(bool(re.search("[A-Za-z]{2}", word)) for word in sentence.split())
        if length > longest and not is_table(sentence):
            yield f"{length} words: {' '.join(sentence.split()[:8])} ..."


def without_code(text: str) -> str:
    """Return a text without examples and parameter names, and with CODE in place of inline code."""
    text = re.sub(r"(?m)^\s*(?:>>>|\.\.\.) .*$|^\s*\S.* : .*$|^\s*[-=]{3,}$|^ {8,}.*$", "", text)
    text = re.sub(r"``[^`]+``|`[^`]+`", "CODE", text)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a colon or a semicolon ends one, too."""
    parts = re.split(r"\n\s*\n|(?<=[.!?:;])[\s)]+", text.replace("**", ""))
    return [part for part in parts if part.strip()]


def files(names: list[str]) -> Iterator[Path]:
    """Yield the Python files and pages of folders, without generated pages."""
    for name in names:
        path = ROOT / name
        for found in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if found.suffix in (".py", ".md") and GENERATED not in found.parents:
                yield found


def main(names: list[str]) -> int:
    """Print the complaints about all texts; return 1 if there are any."""
    count = 0
    for path in files(names or WHERE):
        for text in texts_of(path):
            for complaint in complaints(text):
                print(f"{path.relative_to(ROOT)}:{text.line}: {complaint}")
                count += 1
    return int(count > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="folders or files, from the repository's root")
    sys.exit(main(parser.parse_args().names))
