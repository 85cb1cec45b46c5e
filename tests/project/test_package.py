"""What is released: the contents of wheel and sdist, README on a package index, a fresh environment.

hatchling builds in this environment, without a network.  What a package index checks besides is run by
``make dist``.
"""

import email
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import arraytape
import page_code
import quickstart
from helpers.repository import ROOT

NOT_IN_SDIST = (".ci/", ".github/", ".pre-commit-config.yaml")
LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)\)")
BLOB = f"https://github.com/arraytape/arraytape/blob/v{arraytape.__version__}/"
RAW = f"https://raw.githubusercontent.com/arraytape/arraytape/v{arraytape.__version__}/"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with wheel and sdist of this tree."""
    for needed in ("hatchling", "hatch_fancy_pypi_readme"):
        pytest.importorskip(needed, reason="in the extra dev: pip install --editable '.[dev]'")
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out, "sdist")
    build(ROOT, out, "wheel")
    return out


def build(tree, out, target):
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(built):
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sdist(built):
    (found,) = built.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def metadata(wheel):
    name = f"arraytape-{arraytape.__version__}.dist-info/METADATA"
    return email.message_from_bytes(zipfile.ZipFile(wheel).read(name))


def in_wheel(wheel):
    return {name: zipfile.ZipFile(wheel).read(name) for name in zipfile.ZipFile(wheel).namelist()}


def tracked():
    """The files of the repository, also those that are new; skips where this is no checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no checkout: git lists no files")
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


# --- contents -------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_wheel_has_the_package_the_plugin_and_nothing_else(wheel):
    assert wheel.name == f"arraytape-{arraytape.__version__}-py3-none-any.whl"
    source = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    info = f"arraytape-{arraytape.__version__}.dist-info"
    files = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    assert {*in_wheel(wheel)} == source | {f"{info}/{name}" for name in files}
    assert {"arraytape/py.typed", "_arraytape_pytest.py"} <= source
    assert {name.partition("/")[0] for name in source} == {"arraytape", "_arraytape_pytest.py"}


@pytest.mark.slow
def test_the_sdist_has_the_repository(sdist):
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert all(one.isfile() for one in members)
    top = f"arraytape-{arraytape.__version__}/"
    assert sdist.name == top[:-1] + ".tar.gz"
    expected = {name for name in tracked() if not name.startswith(NOT_IN_SDIST)}
    assert {one.name.removeprefix(top) for one in members} == expected | {"PKG-INFO"}


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(sdist, wheel, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    build(tmp_path / sdist.name.removesuffix(".tar.gz"), tmp_path / "dist", "wheel")
    assert in_wheel(tmp_path / "dist" / wheel.name) == in_wheel(wheel)


# --- README on a package index --------------------------------------------------------------------
@pytest.mark.slow
def test_the_links_of_the_readme_lead_to_files_of_the_release(metadata):
    text = metadata.get_payload(decode=True).decode()
    ours = (ROOT / "README.md").read_text(encoding="utf-8")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert page_code.blocks_in(text) == page_code.blocks_in(ours)
    links = LINK.findall(text)
    assert len(links) == len(LINK.findall(ours)) > 20
    assert sum(bool(picture) for picture, _ in links) >= 1
    for picture, target in links:
        assert target.startswith("https://")
        if "github" in target:
            place = target.removeprefix(RAW if picture else BLOB)
            assert (ROOT / place.partition("#")[0]).is_file(), target


@pytest.mark.slow
def test_a_package_index_renders_the_readme(metadata):
    markdown = pytest.importorskip("readme_renderer.markdown", reason="in the extra dev")
    page = markdown.render(metadata.get_payload(decode=True).decode())
    assert page is not None
    assert page.count("<h2") >= 5
    assert page.count("<table>") >= 3
    assert page.count('<div class="highlight">') + page.count("<pre") >= len(
        page_code.blocks_of(ROOT / "README.md")
    )
    assert re.search(rf'<img [^>]*src="{re.escape(RAW)}docs/', page)
    assert not re.search(r'(href|src)="(?!https://|#)', page)


# --- a fresh environment --------------------------------------------------------------------------
@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory):
    """Runs code with the wheel and what it depends on, and no other package."""
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(site)
    for name in ("numpy", "array_api_compat"):
        place = Path(importlib.util.find_spec(name).origin).parent
        for part in [place, place.with_name(f"{name}.libs")]:
            if part.exists():
                os.symlink(part, site / part.name)

    def run(*program):
        command = [sys.executable, "-S", "-B", "-W", "error", *program]
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            command, cwd=site.parent, env={**clean, "PYTHONPATH": str(site)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return run


@pytest.mark.slow
def test_two_dependencies_are_enough_for_the_package_and_its_modules(fresh):
    said = fresh(
        "-c",
        "import sys, arraytape\n"
        "print(arraytape.__version__, arraytape.__file__)\n"
        "import arraytape.testing.xp_backends, arraytape.optimizers, arraytape.nn, arraytape.diagnose\n"
        "import arraytape.implicit, arraytape.interop, arraytape.functional, arraytape.replay\n"
        "print([name for name in ('scipy', 'sklearn', 'pytest', 'dask') if name in sys.modules])\n"
        "try: import scipy\n"
        "except ImportError: print('alone')\n",
    )
    assert said.startswith(f"{arraytape.__version__} ")
    assert "site-packages" not in said
    assert said.endswith("\n[]\nalone\n")


@pytest.mark.slow
def test_the_quickstart_and_the_doors_run_without_extras(fresh):
    least = dict(zip(quickstart.PAGES, (1, 2, 3, 8), strict=True))
    assert all(len(quickstart.blocks_of(page)) >= count for page, count in least.items())
    said = fresh(str(ROOT / "tools" / "quickstart.py"))
    assert re.search(r"\n0 errors; (.*)\n$", said)[1].endswith("/site0/arraytape")


def test_a_block_that_prints_something_else_is_an_error():
    blocks = ["print(1)  # 1", "print(2)  # 3", "print('left at a.py:7 (x)')  # left at ...:7 (x)"]
    (fault,) = quickstart.faults("a page", blocks)
    assert fault == "a page block 1: '2' is not '3'"
    with pytest.raises(ZeroDivisionError):
        [*quickstart.faults("a page", ["1 / 0"])]


NEEDS = """
import inspect
import arraytape as xp

x, v = xp.asarray([1.0, 2.0]), xp.Variable([1.0])
calls = {
    "checkpoint": lambda: xp.checkpoint.save("a.safetensors", {"x": x}),
    "odeint": lambda: xp.implicit.odeint(lambda t, y: y, (0.0, 1.0), x),
    "linear_solve": lambda: xp.implicit.linear_solve(lambda v: 2.0 * v, x),
    "implicit.scipy": lambda: xp.implicit.scipy.root(lambda x: x * x - 2.0, x),
    "minimize_scipy": lambda: xp.optimizers.minimize_scipy(lambda x: xp.sum(x * x), x),
    "LBFGS": lambda: xp.optimizers.LBFGS().minimize(lambda: xp.sum(v * v), [v]),
    "sparse": lambda: xp.sparse_jacobian(lambda x: x * x)(x),
    "strict": lambda: xp.testing.xp_backends.on("array_api_strict"),
    "sums": lambda: xp.distributed.value_and_grad(
        lambda w, part: xp.sum(part * w), xp.distributed.partitions([x])
    )(x),
}
for name in dir(xp.special):
    f = getattr(xp.special, name)
    given = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
    for count in {len([p for p in given if p.kind < 2]), 1, 2, 3, 4, 5}:
        calls[f"special.{name}", count] = lambda f=f, count=count: f(*[x] * count)
said = {}
for name, call in calls.items():
    try:
        call()
        how = "runs"
    except ImportError as error:
        how = "pip" if "pip install" in str(error) else "raw"
    except (TypeError, ValueError) as error:
        how = "wrong kind" if "SciPy" in str(error) or "scipy" in str(error) else "arguments"
    said.setdefault(name[0] if isinstance(name, tuple) else name, set()).add(how)
for name, how in said.items():
    if how & {"raw", "wrong kind"} or not how & {"runs", "pip"}:
        print(name, *sorted(how))
    if not name.startswith("special") and how != {"pip"}:
        print(name, *how)
"""


@pytest.mark.slow
def test_what_needs_an_extra_says_how_to_get_it(fresh):
    # multigammaln takes a number, which the calls are not.
    assert fresh("-c", NEEDS).splitlines() == ["special.multigammaln arguments"]
