"""``make bench-check``: what it says of counts and times, and that a planted slowdown is found."""

import shutil
import subprocess
import sys

import pytest

from helpers.repository import ROOT

BENCH = ROOT / "asv_bench"


@pytest.fixture(scope="module")
def check():
    sys.path.insert(0, str(BENCH))
    try:
        import check

        yield check
    finally:
        sys.path.remove(str(BENCH))
        for name in ("check", "run", "smoke"):
            sys.modules.pop(name, None)


def measuring(*pairs):
    """A measurement that gives these pairs in turn, the last one for ever."""
    left = list(pairs)
    return lambda case, seconds: left.pop(0) if len(left) > 1 else left[0]


def case_of(check, *, exact=False, budget=None):
    return check.Case("module.track_it", 0, "module.track_it", exact, budget)


@pytest.mark.parametrize(
    ("base", "head", "budget", "said", "fails"),
    [
        (2, 2, None, "", False),
        (2, 3, None, "more than before", True),
        (2, 3, 4, "more than before", True),
        (4, 2, None, "less than before", False),
        (1000, 1010, None, "", False),
        (0.05, 0.07, 6.4, "", False),  # growth of the heap
        (3, 3, 2, "over its budget of 2", True),
        (None, 3, None, "new", False),
        (2, None, None, "failed", True),
    ],
)
def test_counts_fail_when_they_grow(check, base, head, budget, said, fails):
    case = case_of(check, exact=True, budget=budget)
    found = check.judge_count(case, measuring((base, head)))
    assert (found.said, found.fails) == (said, fails)


def test_of_many_records_none_more_is_allowed(check):
    case = case_of(check, exact=True)
    assert not check.judge_count(case._replace(unit="bytes"), measuring((1000, 1001))).fails
    assert check.judge_count(case._replace(unit="records"), measuring((1000, 1001))).fails


def test_a_count_that_was_more_once_is_counted_again(check):
    case = case_of(check, exact=True)
    assert not check.judge_count(case, measuring((100, 120), (100, 100))).fails


def suspects_of(check, *pairs):
    first = check.first_look(case_of(check), measuring(pairs[0]))
    if first.said != "suspect":
        return first
    started = []
    [found] = check.judge_suspects([first], measuring(*pairs), lambda: started.append(1))
    assert check.ENOUGH <= len(started) <= check.ROUNDS
    return found


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(2.0, 2.1)], ""),
        ([(2.0, 3.0)], "slower"),  # again and again
        ([(2.0, 3.0), (2.0, 2.1)], ""),  # noise
        ([(2.0, 3.0), (2.0, 3.1), (2.6, 2.0), (2.0, 2.0)], ""),
        ([(2.0, 2.6), (2.0, 2.6), (2.1, 2.6)], "slower"),
        ([(3.0, 2.0)], "faster"),
    ],
)
def test_times_fail_when_they_are_slower_in_new_processes_too(check, pairs, said):
    found = suspects_of(check, *pairs)
    assert found.said == said
    assert found.fails == (said == "slower")


def test_a_suspect_that_fails_when_it_is_measured_again_fails(check):
    first = check.first_look(case_of(check), measuring((2.0, 3.0)))
    [found] = check.judge_suspects([first], measuring((2.0, None)), lambda: None)
    assert found.fails


def test_nothing_compared_is_a_failure_of_its_own(check, capsys):
    assert check.conclude([], []) == 2
    new = check.Verdict(case_of(check), None, 1.0, "new", False)
    assert check.conclude([new], []) == 2
    same = check.Verdict(case_of(check), 1.0, 1.0, "", False)
    assert check.conclude([same], []) == 0
    assert check.conclude([same], ["a module cannot be imported"]) == 1
    assert "nothing was compared" in capsys.readouterr().err


def test_what_is_meant_can_be_accepted_but_not_a_failure(check):
    dearer = check.Verdict(case_of(check), 1.0, 2.0, "slower", True)
    failed = check.Verdict(case_of(check), 1.0, None, "failed", True)
    assert [one.fails for one in check.accepted([dearer, failed], ["track_it"])] == [False, True]
    assert [one.fails for one in check.accepted([dearer], ["other"])] == [True]


# One pass back takes twice as long: 1.5 of a step, about.
PLANTED = """
def _slow(gradient):
    from time import process_time
    def slower(*args, **keywords):
        start = process_time()
        found = gradient(*args, **keywords)
        end = 2 * process_time() - start
        while process_time() < end:
            pass
        return found
    return slower
GradientTape.gradient = _slow(GradientTape.gradient)
"""


def run_check(head, only):
    """``check.py`` of a repository of its own, whose one commit is the tree as it is."""
    command = [sys.executable, str(BENCH / "check.py"), "HEAD", "--head", str(head), "--only", only]
    return subprocess.run(command, capture_output=True, text=True, timeout=280)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.nightly
def test_a_planted_slowdown_is_found(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    with (source / "arraytape/_tape/tape.py").open("a") as file:
        file.write(PLANTED)
    done = run_check(source, "backward.track_gradient")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILS backward.track_gradient, mlp" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_counts_of_a_tree_are_its_own_and_a_name_that_nothing_has_fails():
    done = run_check(ROOT / "src", "counts.track_records")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 compared, 0 dearer" in done.stdout
    assert run_check(ROOT / "src", "counts.track_nothing").returncode == 2
