"""The site's sources: pages can be reached, links lead somewhere, public names are described.

``make docs`` builds them and checks the built pages, which takes minutes.
"""

import io
import json
import re

import pytest

from helpers.repository import ROOT
from website import (
    check,
    docstrings,
    edit_links,
    formulas,
    gallery,
    keywords,
    moved,
    points,
    progress,
    reference,
    sources,
    uses,
)

DESCRIBED = re.compile(
    r"^ *\.\. (?:auto(?:function|class|method|property|attribute|module)|py:\w+):: ([\w.]+)",
    flags=re.M,
)
PAGES = sources.pages()
GENERATED = {"gallery/index", f"{reference.FOLDER}/{reference.INDEX}"}


# --- pages ----------------------------------------------------------------------------------------
def test_every_page_is_in_one_toctree():
    listed = [
        entry for name, file in PAGES.items() for entry in sources.toctree_entries(name, file)
    ]
    decisions = {name for name in PAGES if re.match(r"decisions/\d", name)}  # listed by a pattern
    assert sorted(listed) == sorted({*PAGES, *GENERATED} - {"index", *decisions})


@pytest.mark.parametrize("name", PAGES)
def test_the_text_of_a_link_is_a_title_and_no_file_name(name):
    text = PAGES[name].read_text(encoding="utf-8")
    assert re.findall(r"\[[^][]*\.md`?\]\([^)]*\)", text) == []


def test_the_old_address_of_a_page_leads_to_it(tmp_path):
    assert not {*moved.MOVED} & {*PAGES}
    assert {*moved.MOVED.values()} <= {*PAGES}
    moved.write_redirects(tmp_path)
    assert '<a href="howto/errors.html">' in (tmp_path / "errors.html").read_text()
    assert '<a href="howto/index.html">' in (tmp_path / "howto.html").read_text()


def test_a_folder_with_a_page_of_its_own_lists_its_pages_by_a_pattern():
    text = sources.source(ROOT / "docs" / "decisions" / "README.md")
    assert text.endswith(sources.LISTED)


@pytest.mark.parametrize("name", PAGES)
def test_the_links_of_a_page_lead_somewhere(name):
    assert sources.source(PAGES[name])


@pytest.mark.parametrize(
    ("target", "path", "expected"),
    [
        ("docs/howto/errors.md#a", "README.md", "howto/errors.md#a"),
        ("../README.md", "docs/index.md", "overview.md"),
        ("../tutorials/replay.md", "docs/decisions/0001-flat-records.md", "../tutorials/replay.md"),
        ("../decisions/", "docs/dev/architecture.md", "../decisions/README.md"),
        ("graph_ridge.svg", "docs/howto/diagnose_graph.md", "graph_ridge.svg"),
        ("docs/tutorials/epidemic.png", "README.md", "tutorials/epidemic.png"),
        (
            "../reference/generated/public_names.txt",
            "docs/dev/policies.md",
            f"{sources.REPOSITORY}/docs/reference/generated/public_names.txt",
        ),
        ("../../Makefile", "docs/howto/errors.md", f"{sources.REPOSITORY}/Makefile"),
        (
            "../../tests/attack",
            "docs/howto/errors.md",
            f"{sources.REPOSITORY}/tests/attack/README.md",
        ),
        (
            "../../examples/pca_influence.py",
            "docs/tutorials/influence.md",
            "../gallery/pca_influence.md",
        ),
        ("examples/command_line.py", "README.md", f"{sources.REPOSITORY}/examples/command_line.py"),
        ("https://numpy.org", "README.md", "https://numpy.org"),
        ("#here", "README.md", "#here"),
    ],
)
def test_a_link_of_the_repository_fits_into_the_site(target, path, expected):
    assert sources.link(target, path) == expected


def test_without_a_gallery_links_to_programs_lead_to_the_repository():
    program = "examples/pca_influence.py"
    assert sources.link(program, "README.md", gallery=False) == f"{sources.REPOSITORY}/{program}"


def test_a_link_to_nothing_is_an_error_that_names_the_page():
    with pytest.raises(LookupError, match=r"docs/howto/errors\.md: a link leads to no\.md"):
        sources.link("no.md", "docs/howto/errors.md")


def test_code_keeps_what_looks_like_a_link(tmp_path):
    page = ROOT / "docs" / "howto" / "errors.md"
    code = [line for line in page.read_text(encoding="utf-8").splitlines() if "](" in line]
    assert code
    text = sources.source(page)
    assert text.count("```") == page.read_text(encoding="utf-8").count("```")


# --- search ---------------------------------------------------------------------------------------
def test_each_word_of_the_index_leads_to_one_page():
    assert {*keywords.KEYWORDS} <= {*PAGES}
    words = [word for listed in keywords.KEYWORDS.values() for word in listed.split(", ")]
    assert len({*words}) == len(words)
    assert [word for word in words if word != word.lower().strip()] == []
    text = keywords.with_keywords("howto/pandas", sources.source(PAGES["howto/pandas"]))
    assert text.startswith("# With pandas and polars\n\n```{index} ! pandas, ! polars, ")
    assert keywords.with_keywords("dev/ops", "# Ops\n") == "# Ops\n"


def test_what_sphinx_computes_as_the_score_of_a_word_is_highest_for_its_page():
    """The search of a built site, for one word: entries of the index, then names, then titles."""
    built = ROOT / "build" / "docs" / "html" / "searchindex.js"
    if not built.exists():
        pytest.skip("make docs has not built the site")
    index = json.loads(built.read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    for page, listed in keywords.KEYWORDS.items():
        for word in listed.split(", "):
            scores = [
                (round(100 * len(word) / len(entry)), index["docnames"][file])
                for entry, found in index["indexentries"].items()
                for file, _, main in found
                if main and word in entry
            ]
            assert max(scores) == (100, page), word


# --- the link to the source -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("page", "file"),
    [
        ("howto/install", "docs/howto/install.md"),
        ("overview", "README.md"),
        ("gallery/kepler_orbit", "examples/kepler_orbit.py"),
        ("reference/arraytape.exp", "src/arraytape/ops/elementwise_functions.py"),
        ("reference/arraytape.grad", "src/arraytape/functional/derivatives.py"),
        ("reference/arraytape.GradientTape", "src/arraytape/_tape/tape.py"),
        ("reference/public_names", None),
        ("reference/generated/scope", None),
        ("search", None),
    ],
)
def test_a_page_can_be_edited_where_its_text_is(page, file):
    assert edit_links.file_of(page) == file
    assert file is None or (ROOT / file).exists()
    context = {"page_source_suffix": ".md"}
    edit_links.link(None, page, "", context, None)
    assert context == {"page_source_suffix": ".md" if file else "", "source_file_name": file}


# --- reference ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def pages():
    return reference.sources()


def test_every_public_name_is_described_once(pages):
    described = [name for text in pages.values() for name in DESCRIBED.findall(text)]
    assert len({*described}) == len(described)
    assert {*described} == {reference.PACKAGE, *reference.public()}


def test_every_page_of_the_reference_is_in_one_toctree(pages):
    listed = [
        f"{reference.FOLDER}/{line.strip(' >').rpartition('<')[2]}"
        for text in pages.values()
        for line in text.partition(".. toctree::")[2].splitlines()
        if line.strip() and not line.strip().startswith(":")
    ]
    assert sorted(listed) == sorted({*pages} - {f"{reference.FOLDER}/{reference.INDEX}"})
    assert len({name.lower() for name in pages}) == len(pages)  # one file each, on every system


def test_an_op_with_a_derivative_leads_to_the_conventions(pages):
    assert reference.CONVENTIONS in pages["reference/arraytape.linalg.svd"]
    assert reference.CONVENTIONS not in pages["reference/arraytape.isdtype"]


def test_a_second_name_leads_to_the_first(pages):
    assert (
        "The same function as :py:obj:`arraytape.matmul`"
        in pages["reference/arraytape.linalg.matmul"]
    )
    assert "autofunction:: arraytape.matmul" in pages["reference/arraytape.matmul"]


def test_members_are_described_by_what_they_are(pages):
    tape = pages["reference/arraytape.GradientTape"]
    assert "   .. automethod:: arraytape.GradientTape.gradient\n" in tape
    assert ".. autoproperty:: arraytape.Array.T\n" in pages["reference/arraytape.Array"]


def test_a_page_says_where_its_name_is_used(pages):
    page = pages["reference/arraytape.diagnose.explain"]
    assert ".. rubric:: Used in\n\n:doc:`Diagnostics: why is my gradient None" in page
    assert "</howto/diagnose>`" in page
    assert "Used in" not in pages["reference/arraytape.special.obl_cv"]


def test_names_are_found_by_what_the_code_imports():
    code = [
        "import arraytape as xp\nfrom arraytape import nn",
        "from arraytape.optimizers import Adam as A",
        "xp.linalg.svd(x).S\nnn.Dense(3)\nA(0.1)\nother.exp(x)\nxp.linalg.svd(y)",
        "an unfinished line(",
        "import arraytape\narraytape.exp(x).shape",
    ]
    assert uses.uses(code, reference.public()) == {
        "arraytape.linalg.svd": 2, "arraytape.nn.Dense": 1, "arraytape.optimizers.Adam": 1,
        "arraytape.exp": 1,
    }  # fmt: skip


def test_the_special_points_of_a_name_are_those_of_its_own():
    lines = [
        "## Kinks, corners",
        "| function | at | arraytape | PyTorch |",
        "| --- | --- | --- | --- |",
        "| `xp.abs(x)` | `x = 0.0` | `0.0` | `0.0` |",
        "| `second: xp.abs(x)` | `x = 0.0` | `0.0` | `0.0` |",
        "## Logarithms",
        "| `xp.log(x)` | `x = 0.0` | `inf` | `inf` |",
        "| `xp.log1p(x)` | `x = -1.0` | `inf` | `inf` |",
    ]
    found = points.points_of(lines)
    names = ("abs", "log", "log1p")
    assert [len(points.of(f"arraytape.{name}", found)) for name in names] == [2, 1, 1]
    table = points.table(points.of("arraytape.abs", found))
    assert "``xp.abs(x)``, second derivative\n" in table
    assert "`Kinks, corners <../explanation/numerics.html#kinks-corners>`__" in table


# --- docstrings -----------------------------------------------------------------------------------
def test_an_indented_block_is_code():
    text = ["Take it.", "", "    with tape:", "        f()", "", "    g()", "", "After."]
    assert docstrings.marked(text) == [*text[:2], docstrings.DIRECTIVE, "", *text[2:]]


@pytest.mark.parametrize(
    "text",
    [
        [
            "Parameters",
            "----------",
            "x : Array",
            "    What.",
            "",
            "    More.",
            "y : Array",
            "    It.",
        ],
        ["So::", "", "    f()"],
        [".. note::", "", "    Text."],
        [],
    ],
)
def test_other_docstrings_stay_as_they_are(text):
    assert docstrings.marked(text) == text


@pytest.mark.parametrize(
    ("signature", "parameters", "returns", "expected"),
    [
        ("(x, /)", ["x : Array"], "Array", ("(x: Array, /)", "Array")),
        ("(v, z, /)", ["v, z : Array or number"], "Array",
         ("(v: Array | float, z: Array | float, /)", "Array")),
        ("(*operands: Any)", ["a, b : Array"], "tuple of Array",
         ("(a: Array, b: Array, /)", "tuple[Array, ...]")),
        ("(x: Any, q: Any = None)", ["x : Array", "q : Array, optional"], "Array",
         ("(x: Array, q: Array | None = None)", "Array")),
        ("(f: Any)", ["f : what it takes"], "Array", ("(f: Any)", "Array")),
        ("(x: Array, /, *, k: int = 0)", ["x : Array"], "Array", None),
        ("()", [], "Array", None),
    ],
)  # fmt: skip
def test_a_signature_without_types_has_those_of_the_docstring(
    signature, parameters, returns, expected
):
    entries = "".join(f"{line}\n    What.\n" for line in parameters)
    text = f"Do it.\n\nParameters\n----------\n{entries}\nReturns\n-------\n{returns}\n    It.\n"
    assert docstrings.typed(signature, text) == expected


# --- formulas -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("code", "latex"),
    [
        ("t * (1.0 - y * y)", r"t \, \left(1 - y^{2}\right)"),
        ("-t / (x1**2 + x2)", r"\frac{-t}{x_{1}^{2} + x_{2}}"),
        ("-t * (a * -b)", r"-t \, a \, \left(-b\right)"),
        ("t * (-a * b)", r"t \, \left(-a \, b\right)"),
        ("x - -1.0", "x + 1"),
        ("a - (b + c)", r"a - \left(b + c\right)"),
        ("a - (-b * c)", r"a - \left(-b \, c\right)"),
        ("(a + b) ** (n - 1)", r"\left(a + b\right)^{n - 1}"),
        ("(a / b) ** 2", r"\left(\frac{a}{b}\right)^{2}"),
        ("t / (x * 0.6931471805599453)", r"\frac{t}{x \, \ln 2}"),
        ("xp.sqrt(x) * xp.special.digamma(nu)", r"\sqrt{x} \, \psi\left(\nu\right)"),
        ("density(x, df, xp)", r"\operatorname{density}\left(x, \mathrm{df}\right)"),
    ],
)
def test_arithmetic_is_a_formula(code, latex):
    assert formulas.latex(code) == latex


@pytest.mark.parametrize(
    "code",
    ["a if b else c", "f(x, k=1)", "V @ g", "gamma_by_a(x)", "x[0]", "a.b", "True", "f'(x)", ""],
)
def test_what_is_more_than_arithmetic_stays_code(code):
    assert formulas.latex(code) is None


def test_the_paragraph_of_the_derivative_is_typeset_and_no_other():
    text = ["``x * x``", "", "Derivative: ``t", "* y``, with ``f(x)[0]``.", "", "``x * x``"]
    assert formulas.typeset(text) == [
        *text[:2],
        r"Derivative: :math:`t \, y`, with ``f(x)[0]``.",
        *text[4:],
    ]
    assert formulas.typeset(text[:2]) == text[:2]


# --- gallery --------------------------------------------------------------------------------------
def test_each_program_has_a_page_with_a_title_and_a_picture():
    pages = gallery.sources()
    for program in gallery.programs():
        title, text = gallery.docstring(program)
        page = pages[f"gallery/{program.stem}"]
        assert title in page
        assert len(title.split()) <= 6
        assert text
        assert f"({program.stem}.png)" in page
        assert f"\n{program.stem}\n" in pages["gallery/index"]


def test_a_program_runs_again_only_after_a_change(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(gallery, "run", lambda program, folder: ran.append(program.stem) or 0.0)
    monkeypatch.setattr(gallery, "programs", lambda: [ROOT / "examples" / "kepler_orbit.py"])
    gallery.run_all(tmp_path)
    gallery.run_all(tmp_path)
    (tmp_path / "kepler_orbit.stamp").write_text("another state")
    gallery.run_all(tmp_path)
    assert ran == ["kepler_orbit"] * 2


# --- progress -------------------------------------------------------------------------------------
def test_progress_is_a_line_for_each_tenth():
    out = io.StringIO()
    stream = progress.Tenths(out)
    for i in range(1, 101):
        stream.write("\x1b[2K")
        stream.write(f"reading sources... [{i: >3}%] ")
        stream.write(f"page{i}")
        stream.write("\r")
    stream.write("\nbuild succeeded.\n")
    lines = out.getvalue().splitlines()
    assert lines[0] == "reading sources... 0 %"
    assert lines[1:-1] == [f"reading sources... {i} %" for i in range(10, 101, 10)]
    assert lines[-1] == "build succeeded."


# --- the check of built pages ---------------------------------------------------------------------
def site(folder, **pages):
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return folder


def test_a_site_without_faults_has_none(tmp_path):
    (tmp_path / "style.css").write_text("a { background: url(data:image/png;base64,AA) }")
    one = '<link rel="stylesheet" href="style.css"><a href="b.html#there">b</a><a href="https://x.org">x</a>'
    assert [*check.faults(site(tmp_path, a=one, b='<p id="there"><a href="#there">'))] == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="c.html">', "a.html links to c.html, which is not there"),
        ('<img src="c.png">', "a.html links to c.png, which is not there"),
        ('<a href="#no">', "a.html links to #no, and the page has no such anchor"),
        ('<script src="https://x.org/a.js"></script>', "a.html fetches https://x.org/a.js"),
        ('<link href="//x.org/a.css">', "a.html fetches //x.org/a.css"),
        ('<img src="http://x.org/a.png">', "a.html fetches http://x.org/a.png"),
    ],
)
def test_a_fault_of_a_site_is_found(tmp_path, page, fault):
    assert [*check.faults(site(tmp_path, a=page))] == [fault]


def test_a_style_that_fetches_is_found(tmp_path):
    (tmp_path / "a.css").write_text('@import url("https://x.org/font.css");')
    assert len([*check.faults(tmp_path)]) == 1
