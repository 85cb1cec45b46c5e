"""A release: one version everywhere, a section of the changelog, the supported versions of the docs."""

import datetime
import re
import shutil
import tomllib

import pytest

import arraytape
import lowest_releases
import release
from arraytape import _util
from helpers.repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
POLICIES = (ROOT / "docs" / "dev" / "policies.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([\w-]+) \| ([\d.]+) \| ([\d-]+) \| (.*) \|$", flags=re.M)
YEARS = {"Python": 3, "NumPy": 2}  # SPEC 0
KNOWN = {  # what was released when: PEPs 664, 693, 719, 745; the package index
    "Python": {
        "3.11": "2022-10-24", "3.12": "2023-10-02", "3.13": "2024-10-07", "3.14": "2025-10-07",
    },
    "NumPy": {
        "2.1": "2024-08-18", "2.2": "2024-12-08", "2.3": "2025-06-07", "2.4": "2025-12-20",
    },
}  # fmt: skip


# --- the version ----------------------------------------------------------------------------------
def test_the_version_is_the_newest_release_or_on_its_way_to_the_next():
    version, released = release.version_of(), release.releases()
    assert version == arraytape.__version__
    newest = next(iter(released), None)
    on_its_way = ".dev" in version and (
        not newest or release.order(version) > release.order(newest)
    )
    assert version == newest or on_its_way


def test_the_releases_go_backward_in_version_and_date():
    released = release.releases()
    assert [*released] == sorted(released, key=release.order, reverse=True)
    assert [*released.values()] == sorted(released.values(), reverse=True)
    text = (ROOT / release.CHANGELOG).read_text(encoding="utf-8")
    for version in ["Unreleased", *released]:
        assert len(re.findall(rf"^\[{re.escape(version)}\]: https://", text, flags=re.M)) == 1


def test_the_citation_is_of_the_newest_release():
    text = (ROOT / release.CITATION).read_text(encoding="utf-8")
    version, date = next(iter(release.releases().items()))
    assert f"\nversion: {version}\n" in text
    assert f'\ndate-released: "{date}"\n' in text


# --- the tool -------------------------------------------------------------------------------------
@pytest.fixture
def copy(tmp_path):
    """A repository in which nothing is released."""
    for path in (release.VERSION_FILE, release.CITATION):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / release.CHANGELOG).write_text(
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- All of it.\n\n"
        "[Unreleased]: https://github.com/arraytape/arraytape/commits/main\n"
    )
    return tmp_path


def test_a_release_moves_what_is_unreleased_into_its_section(copy):
    release.release("0.4.0", "2030-01-02", copy)
    release.release("0.5.0.dev0", "2030-01-02", copy)
    text = (copy / release.CHANGELOG).read_text()
    assert "## [Unreleased]\n\n## [0.4.0] - 2030-01-02\n\n### Added\n\n- All of it.\n" in text
    assert text.endswith(
        "\n[Unreleased]: https://github.com/arraytape/arraytape/compare/v0.4.0...main\n"
        "[0.4.0]: https://github.com/arraytape/arraytape/releases/tag/v0.4.0\n"
    )
    assert release.version_of(copy) == "0.5.0.dev0"
    (copy / release.CHANGELOG).write_text(
        text.replace("d]\n\n##", "d]\n\n### Fixed\n\n- It.\n\n##")
    )
    release.release("0.5.0", "2030-02-03", copy)
    assert release.releases(copy) == {"0.5.0": "2030-02-03", "0.4.0": "2030-01-02"}
    text = (copy / release.CHANGELOG).read_text()
    assert "\n[0.5.0]: https://github.com/arraytape/arraytape/compare/v0.4.0...v0.5.0\n" in text
    assert "\nversion: 0.5.0\n" in (copy / release.CITATION).read_text()
    assert release.version_of(copy) == "0.5.0"


@pytest.mark.parametrize(
    ("version", "date", "said"),
    [
        ("0.4.0", "2030-01-03", "not newer than 0.4.0"),
        ("0.4.0.dev1", "2030-01-03", "not newer than 0.4.0"),
        ("0.4", "2030-01-03", "no version"),
        ("0.5.0", "2030-13-03", "month"),
        ("0.5.0", "2030-01-03", "nothing stands under Unreleased"),
    ],
)
def test_what_is_no_release_changes_nothing(copy, version, date, said):
    release.release("0.4.0", "2030-01-02", copy)
    files = [release.VERSION_FILE, release.CITATION, release.CHANGELOG]
    before = [(copy / path).read_text() for path in files]
    with pytest.raises(ValueError, match=said):
        release.release(version, date, copy)
    assert [(copy / path).read_text() for path in files] == before


# --- supported versions ---------------------------------------------------------------------------
def supported():
    """The rows of the table: (oldest version, released, asked for until), by package."""
    return {name: rest for name, *rest in ROW.findall(POLICIES)}


def test_the_page_and_the_package_name_the_same_oldest_versions():
    rows = supported()
    assert PROJECT["requires-python"] == f">={rows.pop('Python')[0]}"
    assert [*PROJECT["dependencies"]] == [f"{name.lower()}>={row[0]}" for name, row in rows.items()]


@pytest.mark.parametrize("name", YEARS)
def test_what_spec_0_asks_for_is_supported(name):
    oldest, released, until = supported()[name]
    assert released == KNOWN[name][oldest]
    assert until == str(end(name, released))
    newest = datetime.date.fromisoformat(next(iter(release.releases().values())))
    asked = [version for version, date in KNOWN[name].items() if end(name, date) >= newest]
    assert asked
    assert all(minor(version) >= minor(oldest) for version in asked)
    if name == "Python":
        assert {*asked} <= {*classified()}


def end(name, date):
    """Until when SPEC 0 asks for what was released on a day."""
    first = datetime.date.fromisoformat(date)
    return first.replace(year=first.year + YEARS[name])


def minor(version):
    return int(version.partition(".")[2])


def classified():
    """The versions of Python that the package says it runs on."""
    label = "Programming Language :: Python :: 3."
    return [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith(label)]


def test_python_is_tested_from_the_oldest_on():
    oldest = supported()["Python"][0]
    minors = [minor(version) for version in classified()]
    assert minors == [*range(minor(oldest), minors[-1] + 1)]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert f"python: {classified()}".replace("'", '"') in workflow
    assert "$(python tools/lowest_releases.py)\n        if: matrix.oldest" in workflow
    found = lowest_releases.read_lowest_releases()
    oldest = [(name.lower(), supported()[name][0]) for name in ("NumPy", "array-api-compat")]
    assert found[:2] == [f"{name}=={version}.*" for name, version in oldest]


def test_a_numpy_that_is_too_old_is_named_with_the_one_that_is_needed():
    oldest = supported()["NumPy"][0]
    assert tuple(map(int, oldest.split("."))) == _util.OLDEST
    _util.check_version(f"{oldest}.0")
    _util.check_version("10.0.0rc1")
    with pytest.raises(ImportError, match=rf"needs NumPy {oldest} or later, and found 1\.26\.4"):
        _util.check_version("1.26.4")


def test_optional_packages_are_those_of_the_page():
    extras = PROJECT["optional-dependencies"]
    wanted = " ".join(one for extra in extras.values() for one in extra)
    pins = dict(re.findall(r"([\w\[\]-]+)>=([\d.]+)", wanted))
    said = dict(re.findall(r"(SciPy|scikit-learn|Dask|CuPy) ([\d.]+\d)", POLICIES))
    assert said == {
        "SciPy": pins["scipy"], "scikit-learn": pins["scikit-learn"],
        "Dask": pins["dask[array]"], "CuPy": pins["cupy-cuda12x"],
    }  # fmt: skip
