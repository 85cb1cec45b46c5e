"""The site over asv's results: what it says, and that it loads nothing."""

import itertools
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from arraytape.testing.dashboard import ResultsError, graphs, pages, read_results, write_site

COLUMNS = ["result", "params", "version", "started_at", "duration"]
BENCHMARKS = {
    "ops.track_op": {"unit": "x NumPy", "headline": "an op on a tape", "rank": 1},
    "memory.track_record": {
        "unit": "bytes",
        "exact": True,
        "headline": "memory of a record",
        "rank": 2,
    },
    "ops.time_<b>": {"unit": "seconds", "type": "time"},
}


def save(folder, commits, machine="vm", versions=()):
    """A folder as asv leaves it: ``commits`` are rows of results by name, the oldest first."""
    place = folder / machine
    place.mkdir(parents=True, exist_ok=True)
    (place / "machine.json").write_text('{"machine": "vm", "version": 1}')
    about = {
        name: {"name": name, "params": [["'a'", "'b'"]], "version": "1", "type": "track", **more}
        for name, more in BENCHMARKS.items()
    }
    (folder / "benchmarks.json").write_text(json.dumps({**about, "version": 2}))
    for i, rows in enumerate(commits):
        commit = f"{i:x}" * 40
        results = {
            name: [values, [["'a'", "'b'"]], dict(versions).get((i, name), "1"), 0, 0.1]
            for name, values in rows.items()
        }
        file = {
            "commit_hash": commit, "date": 1000 * i, "env_name": "existing", "version": 2,
            "params": {"machine": machine, "cpu": "C"}, "result_columns": COLUMNS, "results": results,
        }  # fmt: skip
        (place / f"{commit[:8]}-existing.json").write_text(json.dumps(file))


def row(op=(2.0, 3.0), record=(160, 170), seconds=(1e-3, 2e-3)):
    names = list(BENCHMARKS)
    return {names[0]: list(op), names[1]: list(record), names[2]: list(seconds)}


def first_page(folder, **options):
    return write_site(read_results(folder), folder / "site", **options).read_text()


class Loaded(HTMLParser):
    """What a page would fetch, and whether its elements close."""

    def __init__(self):
        super().__init__()
        self.fetched, self.open = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        wanted = dict(attrs)
        if tag in ("script", "link", "img", "iframe") or "src" in wanted:
            self.fetched.append((tag, wanted))

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_pages_load_nothing_and_link_to_pages_that_are_there(tmp_path):
    save(tmp_path, [row(), row()])
    first_page(tmp_path)
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) == 1 + len(BENCHMARKS)
    for page in pages:
        text = page.read_text()
        parser = Loaded()
        parser.feed(text)
        assert parser.fetched == []
        assert parser.open == []
        assert "http" not in text
        assert "url(" not in text
    links = re.findall(r'href="([^"]+)"', (tmp_path / "site/index.html").read_text())
    assert len({*links}) == len(BENCHMARKS)


def test_what_is_as_before_says_so(tmp_path):
    save(tmp_path, [row(), row(op=(2.2, 2.9), seconds=(1.2e-3, 2e-3))])
    text = first_page(tmp_path)
    assert "Of 6 figures: none worse, 0 better, 6 as before." in text
    assert 'class="verdict same"' in text
    assert "<h2>Worse</h2>" not in text


def test_a_slower_op_and_a_fatter_record_are_red(tmp_path):
    save(tmp_path, [row(), row(op=(3.0, 3.0), record=(160, 180))])
    text = first_page(tmp_path)
    assert 'class="verdict worse"' in text
    assert "2 worse" in text
    assert text.count('<div class="tile worse">') == 2
    worse = text[text.index("<h2>Worse</h2>") : text.index("<h2>All</h2>")]
    assert worse.count('<tr class="worse">') == 2
    assert "+50%" in worse
    assert "180 bytes" in worse


def test_times_in_seconds_are_told_and_make_nothing_red(tmp_path):
    save(tmp_path, [row(), row(seconds=(3e-3, 2e-3))])
    text = first_page(tmp_path)
    assert "none worse, 0 better, 5 as before, 1 slower in seconds" in text
    assert 'class="verdict same"' in text
    assert "<h2>In seconds</h2>" in text


def test_a_benchmark_that_no_longer_runs_is_red(tmp_path):
    save(tmp_path, [row(), row(op=(None, 3.0))])
    text = first_page(tmp_path)
    assert "1 failed" in text
    assert 'class="verdict worse"' in text


def test_headlines_stand_in_their_order_with_their_mean_or_most(tmp_path):
    save(tmp_path, [row(), row(op=(2.0, 8.0))])
    text = first_page(tmp_path)
    assert text.index("an op on a tape") < text.index("memory of a record")
    assert ">4 x NumPy</div>" in text  # the geometric mean
    assert ">170 bytes</div>" in text  # the most


def test_other_versions_of_a_benchmark_are_not_compared(tmp_path):
    save(tmp_path, [row(), row(op=(9.0, 9.0))], versions={(0, "ops.track_op"): "0"})
    text = first_page(tmp_path)
    assert "2 new" in text
    assert "none worse" in text


def test_a_count_that_was_zero_is_worse_when_it_is_not(tmp_path):
    save(tmp_path, [row(record=(0, 0)), row(record=(0, 3))])
    text = first_page(tmp_path)
    assert "1 worse" in text
    assert "1 of 2 worse" in text


def test_the_base_is_the_last_tagged_commit_or_the_one_asked_for(tmp_path):
    save(tmp_path, [row(op=(1.0, 1.0)), row(), row()])
    assert "2 worse" in first_page(tmp_path)
    assert "none worse" in first_page(tmp_path, base="1111")
    with pytest.raises(
        ResultsError, match=r"'2222x' was not measured: 00000000, 11111111, 22222222"
    ):
        first_page(tmp_path, base="2222x")


@pytest.fixture
def git(tmp_path):
    """A repository in which the results lie; all its commits are of one second."""

    def run(*words):
        names = ["-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
        moment = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2024-01-01T00:00:00Z")
        done = subprocess.run(
            ["git", *names, *words], check=True, capture_output=True, text=True,
            env={**os.environ, **moment},
        )  # fmt: skip
        return done.stdout.strip()

    run("init", "-q", "-b", "some/branch")
    return run


def commits_of_one_second(git, number):
    """Make commits, each with a lesser hash than its parent; return the hashes, the oldest first."""
    found = []
    for i in range(number):
        parent = git("rev-parse", "HEAD") if found else None
        for attempt in itertools.count():
            git("commit", "-q", "--allow-empty", "-m", f"{i}, {attempt}")
            commit = git("rev-parse", "HEAD")
            if parent is None or (commit < parent and commit[0] > "0"):
                break
            git("reset", "-q", "--hard", parent)
        found.append(commit)
    return found


def rename(folder, commits, date=1000):
    """Give the results these commits, in their order, and one date."""
    for commit, path in zip(commits, sorted((folder / "vm").glob("*existing.json")), strict=True):
        file = json.loads(path.read_text())
        path.write_text(json.dumps({**file, "commit_hash": commit, "date": date}))


def test_commits_of_one_second_are_in_the_order_of_their_history(tmp_path, git):
    """Order commits of one second by their parents: by hash, a regression would look better."""
    commits = commits_of_one_second(git, 3)
    assert commits == sorted(commits, reverse=True)
    save(tmp_path, [row(), row(), row(op=(3.0, 3.0))])
    rename(tmp_path, commits)
    assert [commit.hash for commit in read_results(tmp_path).commits] == commits
    text = first_page(tmp_path)
    assert "1 worse, 0 better" in text
    assert f"<b>{commits[-1][:8]}</b>" in text[: text.index("compared with")]


def test_a_commit_that_is_older_than_its_parent_follows_it(tmp_path, git):
    commits = commits_of_one_second(git, 2)
    save(tmp_path, [row(), row(op=(3.0, 3.0))])
    rename(tmp_path, commits)
    newest = sorted((tmp_path / "vm").glob("*existing.json"))[1]
    newest.write_text(json.dumps({**json.loads(newest.read_text()), "date": 1}))
    assert [commit.hash for commit in read_results(tmp_path).commits] == commits


def test_commits_that_the_repository_lacks_are_in_the_order_of_their_dates(tmp_path, git):
    commits_of_one_second(git, 1)
    save(tmp_path, [row(), row(), row()])
    assert [commit.hash[0] for commit in read_results(tmp_path).commits] == ["0", "1", "2"]


def test_tags_name_commits_and_the_last_release_is_the_base(tmp_path, git):
    save(tmp_path, [row(op=(1.0, 1.0)), row(), row()])
    files = sorted((tmp_path / "vm").glob("*existing.json"))
    for i, path in enumerate(files):
        git("commit", "-q", "--allow-empty", "-m", str(i))
        file = json.loads(path.read_text())
        file["commit_hash"] = git("rev-parse", "HEAD")
        path.write_text(json.dumps(file))
        if i == 1:
            git("tag", "-a", "v0.2", "-m", "a release")
    results = read_results(tmp_path, repo=tmp_path)
    assert [commit.name for commit in results.commits][1] == "v0.2"
    text = write_site(results, tmp_path / "site").read_text()
    assert "none worse" in text
    assert "compared with <b>v0.2</b>" in text


def test_the_machine_with_the_most_commits_counts(tmp_path):
    save(tmp_path, [row(), row()])
    save(tmp_path, [row(op=(9.0, 9.0))], machine="other")
    assert "Not shown: other existing" in first_page(tmp_path)
    assert len(read_results(tmp_path, machine="other").commits) == 1


def test_a_graph_has_a_point_for_each_value(tmp_path):
    save(tmp_path, [row(), row(op=(None, 3.0)), row()])
    first_page(tmp_path)
    text = (tmp_path / "site/benchmarks/ops.track_op.html").read_text()
    assert text.count("<circle") == 5
    assert text.count("<polyline") == 2


@pytest.mark.parametrize("count", [1, 2, 15])
def test_labels_lie_within_the_graph_and_apart(tmp_path, git, count):
    """Long names of commits and long units, for which a fixed margin would be too small."""
    save(tmp_path, [row(record=(16e9, 17e9), seconds=(1e-9, 12.0))] * count)
    for i in range(count):
        git("commit", "-q", "--allow-empty", "-m", str(i))
        git("tag", f"release-candidate-{i}-of-the-next-version")
    rename(tmp_path, git("rev-list", "--reverse", "HEAD").split())
    write_site(read_results(tmp_path), tmp_path / "site")
    for page in (tmp_path / "site/benchmarks").iterdir():
        text = page.read_text()
        width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', text).groups())
        letter = 5.8  # of 11 pixels, on average
        for x, y, said in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)', text):
            assert letter * len(said) <= float(x) < width
            assert 0.0 < float(y) < height
        slanted = re.findall(r"translate\(([\d.]+) ([\d.]+)\) rotate\(-30\)[^>]*>([^<]*)", text)
        assert slanted
        for x, y, said in slanted:
            assert letter * len(said) * 0.866 <= float(x) <= width
            assert float(y) + letter * len(said) * 0.5 <= height
        places = sorted(float(x) for x, _, _ in slanted)
        assert all(b - a >= 24.0 for a, b in itertools.pairwise(places))
        assert f"<title>release-candidate-{count - 1}-of-the-next-version</title>" in text


def test_wide_tables_scroll_within_narrow_pages(tmp_path):
    save(tmp_path, [row(), row(op=(3.0, 3.0), seconds=(3e-3, 2e-3))])
    first_page(tmp_path)
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text()
        assert text.count("<table") == text.count('<div class="wide"><table')


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1, "records", "1 record"),
        (1.0, "bytes", "1 byte"),
        (1.0, "losses", "1 loss"),
        (0, "exits", "0 exits"),
        (2, "frames", "2 frames"),
        (1, "x NumPy", "1 x NumPy"),
        (1, "ms", "1 ms"),
        (1, "ops", "1 ops"),
        (1, "mass", "1 mass"),
        (1, "seconds", "1 s"),
    ],
)
def test_one_of_a_unit_is_in_the_singular(value, unit, text):
    assert graphs.number_with_unit(value, unit) == text


def test_one_figure_is_in_the_singular(tmp_path):
    one = {"memory.track_record": [1, None]}
    save(tmp_path, [one, one])
    text = first_page(tmp_path)
    assert "Of 1 figure: none worse" in text
    assert ">1 byte</div>" in text


def luminance(colour):
    """The relative luminance of WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(c * w for c, w in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(one, two):
    dark, light = sorted([luminance(one), luminance(two)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_text_and_lines_are_legible_in_both_modes(mode):
    theme = {name: pair[mode] for name, pair in pages.THEME.items()}
    assert (luminance(theme["page"]) < 0.05) == bool(mode)
    for name in ("text", "small", "link", "worse", "better", "slower"):
        assert contrast(theme[name], theme["page"]) >= 4.5, name
    for name in ("text", "link", "worse"):
        assert contrast(theme[name], theme["worse-fill"]) >= 4.5, name
    assert contrast(theme["text"], theme["better-fill"]) >= 4.5
    for name in ("base", *(f"c{i}" for i in range(len(graphs.COLOURS)))):
        assert contrast(theme[name], theme["page"]) >= 3, name


def test_each_colour_of_a_page_has_a_dark_mode(tmp_path):
    save(tmp_path, [row(), row(op=(3.0, 3.0))])
    first_page(tmp_path)
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text()
        used = {*re.findall(r"var\(--([\w-]+)\)", text)}
        assert used == {*pages.THEME}
        rules = text[text.index("color-scheme: light dark") :]
        assert not re.search(
            r"(color|fill|stroke|background|border[\w-]*)[=:][^;>]*#[0-9a-f]{3}", rules
        )
        assert {*re.findall(r'class="(c\d+)"', rules)} <= {*pages.THEME}


@pytest.mark.parametrize("broken", ["", "{", "nothing"])
def test_no_results_are_an_error(tmp_path, broken):
    if broken == "nothing":
        save(tmp_path, [row(op=(None, None), record=(None, None), seconds=(None, None))])
    elif broken:
        (tmp_path / "benchmarks.json").write_text(broken)
    with pytest.raises(ResultsError):
        read_results(tmp_path)


@pytest.mark.slow
def test_the_command_writes_the_site_and_fails_without_results(tmp_path):
    def command(folder):
        words = ["-m", "arraytape.testing.dashboard", str(folder), "--out", str(tmp_path / "out")]
        return subprocess.run([sys.executable, *words], capture_output=True, text=True)

    save(tmp_path / "results", [row(), row()])
    done = command(tmp_path / "results")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/index.html").exists()
    assert command(tmp_path / "empty").returncode == 2
