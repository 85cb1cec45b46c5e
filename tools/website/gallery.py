"""The gallery: a page for each program of examples/, with its picture, its output and its source.

The programs run again only if one of them, or arraytape, has changed since the last run.  Several run at
the same time, each on one thread.
"""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from .sources import GALLERY as FOLDER
from .sources import ROOT, SHARED

EXAMPLES = ROOT / "examples"
SMALL = {"larger_than_memory": ["--partitions", "4", "--rows", "20000", "--steps", "12"]}
FILES = {"train_digits": "--checkpoint", "larger_than_memory": "--checkpoint"}
LIMIT = 300  # the time limit of a program in seconds
INTRODUCTION = """\
# Gallery

Programs, nearly all on real data, in each of which a gradient through installed code solves a problem.
The pictures and what the programs print were made when these pages were built.

"""


def programs() -> list[Path]:
    return [file for file in sorted(EXAMPLES.glob("*.py")) if file.name != SHARED]


def docstring(program: Path) -> tuple[str, str]:
    """Return a program's title (its docstring's first line without the full stop) and further text."""
    text = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or ""
    title, _, rest = text.partition("\n")
    return title.rstrip("."), rest.strip("\n")


def run_all(folder: Path) -> None:
    """Run each program whose output in the folder was made from other sources than the present ones."""
    folder.mkdir(parents=True, exist_ok=True)
    state = state_of(EXAMPLES, ROOT / "src", Path(__file__))
    stamps = {program: folder / f"{program.stem}.stamp" for program in programs()}
    old = [p for p, stamp in stamps.items() if not stamp.exists() or stamp.read_text() != state]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        running = {pool.submit(run, program, folder): program for program in old}
        for count, done in enumerate(as_completed(running), 1):
            program = running[done]
            try:
                seconds = done.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            stamps[program].write_text(state)
            print(f"example {count} of {len(old)}: {program.stem}, {seconds:.0f} s", flush=True)


def state_of(*places: Path) -> str:
    """Return a hash of files, and of the Python and data files in folders."""
    found = [place.rglob("*") if place.is_dir() else [place] for place in places]
    files = {
        file for several in found for file in several if file.suffix in (".py", ".csv", ".txt")
    }
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()


def run(program: Path, folder: Path) -> float:
    """Run a program, which writes its picture and output into the folder; return the time in seconds.

    A program that fails or exceeds the time limit raises an error.
    """
    name, begin = program.stem, time.perf_counter()
    options = ["--out", f"{name}.png", *SMALL.get(name, [])]
    if name in FILES:
        options += [FILES[name], f"{name}.safetensors"]
    (folder / f"{name}.safetensors").unlink(missing_ok=True)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(program), *options], cwd=folder, env=environment, timeout=LIMIT,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{program} {' '.join(options)} failed:\n{done.stdout}\n{done.stderr}")
    (folder / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
    return time.perf_counter() - begin


def sources() -> dict[str, str]:
    """Return the text of each gallery page, by the page's name in the site."""
    pages = {f"{FOLDER}/{program.stem}": page(program) for program in programs()}
    cards = "\n".join(card(program) for program in programs())
    names = "\n".join(program.stem for program in programs())
    pages[f"{FOLDER}/index"] = f"{INTRODUCTION}{cards}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return pages


def card(program: Path) -> str:
    """Return a picture and a title with links to the program's page."""
    title, _ = docstring(program)
    picture = f"[![]({program.stem}.png)]({program.stem}.md)"
    return f"::::{{container}} card-of-gallery\n{picture}\n\n[{title}]({program.stem}.md)\n::::\n"


def page(program: Path) -> str:
    """Return the gallery page of an example program, as Markdown."""
    (title, text), name = docstring(program), program.stem
    small = SMALL.get(name)
    how = f", with `{' '.join(small)}`" if small else ""
    return f"""\
# {title}

{text}

![What {program.name} draws]({name}.png)

## What it prints{how}

```{{literalinclude}} {name}.txt
:language: none
```

## The program

`examples/{program.name}`

```{{literalinclude}} {program.name}
:language: python
```
"""
