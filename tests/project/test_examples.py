"""The examples run, with few steps, as somebody would run them."""

import atexit
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import arraytape as xp
from arraytape import checkpoint
from helpers.programs import Programs
from helpers.repository import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"


HOW = {
    "capture_output": True,
    "text": True,
    "timeout": 100,
    # Threads of BLAS that wait for each other on a busy machine take many times as long as one.
    "env": {**os.environ, "PYTHONWARNINGS": "default", "OPENBLAS_NUM_THREADS": "1"},
}


def run_alone(name, *options):
    return subprocess.run([sys.executable, str(EXAMPLES / name), *options], **HOW, check=False)


@functools.cache
def programs():
    folder = tempfile.TemporaryDirectory()
    started = Programs(Path(folder.name), HOW["env"], HOW["timeout"])
    atexit.register(folder.cleanup)
    atexit.register(started.close)
    return started


def run(name, *options):
    return programs().run(EXAMPLES / name, *options)


def test_scikit_learn_is_differentiated_through_its_own_code(tmp_path):
    picture = tmp_path / "new" / "plot.png"
    done = run_alone("differentiate_sklearn.py", "--steps", "3", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert "held-out error:" in done.stdout
    assert "(<= 1e-06)" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "RuntimeWarning" not in done.stderr


def figures(output, name):
    """The numbers of the first line that begins with the name."""
    [line, *_] = [line for line in output.splitlines() if line.startswith(name)]
    return [float(word) for word in re.findall(r"[-+]?\d[\d.]*(?:e[-+]\d+)?", line[len(name) :])]


@pytest.mark.nightly
def test_one_gradient_says_what_leaving_out_each_wine_does_to_a_pca(tmp_path):
    picture = tmp_path / "plot.png"
    done = run("pca_influence.py", "--checks", "5", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "(<= 1e-06)" in done.stdout
    said, found = figures(done.stdout, "wine 121")[:2]
    assert said > 0.7
    assert abs(found - said) < 0.1 * said
    assert figures(done.stdout, "correlation of gradient and refits:")[0] > 0.999
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
def test_the_gradient_through_a_fit_finds_better_hyperparameters_than_a_grid(tmp_path):
    picture = tmp_path / "plot.png"
    done = run(
        "hyperparameters_by_gradient.py", "--steps", "15", "--checks", "2", "--out", str(picture)
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "(<= 1e-05)" in done.stdout
    (*_, grid, grid_test), (*_, one, _), (*_, every, every_test) = (
        figures(done.stdout, name) for name in ("grid of C", "C by gradient", "all by gradient")
    )
    assert one <= grid
    assert every < 0.9 * grid
    assert every_test < 0.95 * grid_test  # on data that no search has seen
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
def test_one_gradient_says_what_leaving_out_each_training_point_does(tmp_path):
    picture = tmp_path / "plot.png"
    done = run("influence_of_training_points.py", "--checks", "2", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "(<= 1e-05)" in done.stdout
    assert figures(done.stdout, "correlation of gradient and refits:")[0] > 0.99
    assert figures(done.stdout, "12 labels made wrong:")[0] >= 10
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
def test_an_epidemic_is_fitted_and_all_that_follows_has_its_error(tmp_path):
    picture = tmp_path / "plot.png"
    done = run("fit_an_epidemic.py", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "(<= 1e-05)" in done.stdout
    assert figures(done.stdout, "infections by one boy (R0)") == pytest.approx(
        [3.93, 0.34], rel=0.02
    )
    assert figures(done.stdout, "day of the peak") == pytest.approx([5.26, 0.15], rel=0.02)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_robust_fit_of_the_continents_is_nearer_to_the_published_one(tmp_path):
    picture = tmp_path / "plot.png"
    done = run("fit_continents.py", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "(<= 1e-06)" in done.stdout
    names = ("align_vectors", "squares, by tape", "robust, by tape")
    (*_, least, _, away), (*_, by_tape, _, _), (*_, median, robustly) = (
        figures(done.stdout, name) for name in names
    )
    assert by_tape <= least  # the same squares, to the least that align_vectors finds
    assert abs(by_tape - least) < 1.0
    assert robustly < 5.0 < away  # degrees
    assert median < 200.0  # kilometres
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
def test_a_gaussian_process_reaches_the_likelihood_of_scikit_learns(tmp_path):
    picture = tmp_path / "plot.png"
    done = run("gaussian_process.py", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "(<= 1e-10)" in done.stdout
    reference, by_tape, direction = figures(done.stdout, "log likelihood")
    assert by_tape == pytest.approx(reference, abs=1e-2)
    assert direction > reference + 5.0
    errors = figures(done.stdout, "held-out error")
    assert errors[1] == pytest.approx(errors[0], abs=1e-3)
    assert max(errors) < 0.6
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def likelihood(tmp_path_factory):
    """The output of maximum_likelihood, short chains, in blocks."""
    picture = tmp_path_factory.mktemp("likelihood") / "plot.png"
    sizes = ["--draws", "80", "--chains", "60"]
    done = run("maximum_likelihood.py", *sizes, "--out", str(picture))
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stderr == ""
    assert picture.read_bytes().startswith(b"\x89PNG")
    return done.stdout.split("\n\n")


@pytest.mark.nightly
def test_distributions_are_fitted_to_scipys_own_optimum(likelihood):
    """And to a likelihood that is at least as high as SciPy's fit finds when it stops by itself."""
    *fits, _, _, end = likelihood
    assert "(<= 1e-06)" in end  # from SciPy's fit, when its search goes on to the end
    for block, names in zip(fits, (["a"], ["df", "loc"], ["c", "loc"]), strict=True):
        for name in [*names, "scale", "99% quantile"]:
            scipys, by_tape, error, by_differences = figures(block, name)
            assert by_tape == pytest.approx(scipys, rel=2e-4, abs=1e-6)
            assert error == pytest.approx(by_differences, rel=2e-5)
        scipys, by_tape = figures(block, "log likelihood")
        assert by_tape >= scipys


@pytest.mark.nightly
def test_a_hierarchical_model_has_its_exact_posterior(likelihood):
    schools, checks = likelihood[-3:-1]
    for name in "ABCDEFGH":
        *_, mean, deviation, exact, exact_deviation, error, r_hat = figures(schools, name)
        assert abs(mean - exact) < 4.0 * error < 0.5
        assert deviation == pytest.approx(exact_deviation, rel=0.05)
        assert r_hat < 1.02
    assert figures(checks, "furthest from the exact means:")[0] <= 4.0


def finished(name, folder, *options):
    """What a program printed, which ended well, warned of nothing and drew a picture."""
    picture = folder / "plot.png"
    done = run(name, *options, "--out", str(picture))
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stderr == ""
    assert picture.read_bytes().startswith(b"\x89PNG")
    return done.stdout


@pytest.mark.nightly
def test_the_smallest_changes_of_measurements_turn_the_decision_of_a_pipeline(tmp_path):
    said = finished("counterfactuals.py", tmp_path, "--patients", "6")
    assert "(<= 1e-06)" in said
    assert figures(said, "decisions turned, in scikit-learn") == [6.0, 6.0]
    assert figures(said, "... already after 99% of the way") == [0.0, 6.0]
    assert figures(said, "measurements changed, median, L1")[0] <= 3.0
    (found,), (nearest,) = (
        figures(said, name) for name in ("change, median (L1)", "nearest patient, median (L1)")
    )
    assert found < 0.5 * nearest


@pytest.mark.nightly
def test_a_metric_is_learned_to_scikit_learns_own_objective(tmp_path):
    said = finished("metric_learning.py", tmp_path, "--steps", "60")
    assert "(<= 1e-06)" in said
    names = "PCA", "mean, scikit-learn's NCA", "mean, by tape", "few pixels, by tape"
    pca, theirs, ours, few = (figures(said, name) for name in names)
    assert ours[0] == pytest.approx(theirs[0], abs=0.01)  # the mean chance
    assert few[2] > theirs[2] > pca[2] + 5.0  # percent right
    assert few[3] < 45 < theirs[3]  # pixels


@pytest.mark.nightly
def test_keplers_orbit_of_mars_is_nearly_that_of_today(tmp_path):
    said = finished("kepler_orbit.py", tmp_path)
    assert "(<= 1e-06)" in said
    for name, within in (("period (days)", 0.03), ("eccentricity", 0.0005), ("perihelion", 0.6)):
        fitted, error, modern = figures(said, name)
        assert 0.0 < error < 0.5 * within
        assert abs(fitted - modern) < within
    assert figures(said, "Kepler's ellipse") == pytest.approx([1.16, 1.93], abs=0.02)
    assert figures(said, "even circle")[1] > 20.0


@pytest.mark.nightly
def test_a_crumpled_photograph_is_straightened(tmp_path):
    said = finished("register_images.py", tmp_path, "--steps", "25", "--checks", "5")
    assert "(<= 1e-06)" in said
    before, after = (figures(said, name) for name in ("before", "every 2 pixels"))
    assert before[0] > 7.0
    assert after[0] < 0.3  # pixels


@pytest.mark.nightly
def test_filters_end_at_the_known_optimum_and_go_beyond_it(tmp_path):
    said = finished("design_filters.py", tmp_path)
    assert "(<= 1e-05)" in said
    names = "remez", "linear phase, by gradient", "less late, by gradient"
    (late, best), (same, ours), (less, other) = (figures(said, name) for name in names)
    assert late == same > less
    assert ours == pytest.approx(best, rel=0.005)
    assert best < other < 1.2 * best
    assert figures(said, "largest tap's difference from remez:")[0] < 1e-3
    weighting = said.partition("A-weighting")[2]
    assert figures(weighting, "bilinear_zpk")[0] > 15.0
    assert figures(weighting, "by gradient")[0] < 0.1  # dB
    assert "(stable)" in weighting


@pytest.mark.nightly
def test_a_neural_ode_tells_lynx_and_hares_as_well_as_the_equations(tmp_path):
    said = finished("lynx_and_hares.py", tmp_path)
    assert "(<= 1e-06)" in said
    before = figures(said, "nothing changes")[1:]
    for name in ("Lotka and Volterra", "neural ODE", "both together"):
        _, learned, *after = figures(said, name)
        assert learned < 0.2
        assert all(one < 0.65 * other for one, other in zip(after, before, strict=True))


@pytest.mark.nightly
def test_a_viscosity_is_read_off_noisy_velocities(tmp_path):
    said = finished("burgers_viscosity.py", tmp_path, "--steps", "400")
    assert "(<= 1e-06)" in said
    assert figures(said, "... by the network")[0] == pytest.approx(0.05, rel=0.03)
    assert figures(said, "... by the exact solution")[0] == pytest.approx(0.05, rel=0.01)
    assert figures(said, "velocity at 2000 other places, off by (rms)")[0] < 0.01  # the noise


@pytest.mark.nightly
def test_canonical_correlations_have_the_errors_that_drawing_again_finds(tmp_path):
    said = finished("canonical_correlations.py", tmp_path, "--draws", "400", "--checks", "5")
    assert "(<= 1e-06)" in said
    ours, theirs = (
        figures(said, name) for name in ("canonical correlations", "... of scikit-learn's CCA")
    )
    assert ours == theirs
    derivatives, drawn, left_out = (
        figures(part, "    standard error") for part in said.split("\n\n")[1:4]
    )
    assert derivatives[:2] == pytest.approx(left_out[:2], rel=0.05)
    assert derivatives[:2] == pytest.approx(drawn[:2], rel=0.15)
    assert min(figures(said, "    correlation with the slopes")) > 0.99


@pytest.mark.nightly
def test_a_posterior_is_the_exact_one_where_that_is_known(tmp_path):
    said = finished("posterior_of_betas.py", tmp_path, "--steps", "200")
    assert "(<= 1e-05)" in said
    for name in ("IBM", "AAPL", "MSFT", "XRX", "ADBE"):
        _, error, beta, deviation, weighed, around, degrees = figures(said, name)
        assert abs(beta - weighed) < 0.1 * around
        assert deviation == pytest.approx(around, rel=0.05)
        assert around < error
        assert 2.0 < degrees < 6.0
    assert figures(said, "draws that count, of 100")[0] > 60.0
    density, baseline = (
        figures(said, name)[0]
        for name in ("log density of a later month, posterior", "... least squares")
    )
    assert density > baseline + 0.05


def digits(folder, name, *options):
    """A run of train_digits with files of this name; its output, and the checkpoint."""
    picture, file = folder / f"{name}.png", folder / f"{name}.safetensors"
    done = run("train_digits.py", "--out", str(picture), "--checkpoint", str(file), *options)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    return done.stdout, checkpoint.load(file)


def test_training_learns_and_resumes_bit_for_bit(tmp_path):
    output, whole = digits(tmp_path, "whole", "--steps", "110")
    _, stopped = digits(tmp_path, "part", "--steps", "60")
    resumed_output, resumed = digits(tmp_path, "part", "--steps", "110", "--resume")
    assert "resumed at step 60" in resumed_output
    assert [*stopped] == [*whole] == [*resumed]
    for name, value in whole.items():
        assert np.asarray(value).tobytes() == np.asarray(resumed[name]).tobytes()
    assert int(stopped["optimizer.iterations"]) == 60
    kernels = [np.asarray(run["model.layers.0.kernel"]) for run in (whole, stopped)]
    assert not np.array_equal(*kernels)
    assert float(whole["curve"][-1, -1]) > 0.9  # 98% after the default number of steps
    lines = {line.split()[0]: line for line in output.splitlines()}
    assert lines["weights"] in resumed_output


def test_a_run_that_cannot_be_resumed_is_said(tmp_path):
    file = tmp_path / "other.safetensors"
    options = ["--resume", "--checkpoint", str(file), "--out", str(tmp_path / "a.png")]
    done = run("train_digits.py", *options)
    assert done.returncode == 2
    assert "there is no checkpoint" in done.stderr
    checkpoint.save(file, {"x": xp.Variable(1.0)})
    done = run("train_digits.py", *options)
    assert done.returncode == 2
    assert "cannot resume" in done.stderr
    assert "Traceback" not in done.stderr


def test_higher_derivatives_are_exact(tmp_path):
    picture = tmp_path / "plot.png"
    done = run("higher_derivatives.py", "--order", "3", "--steps", "3", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert "(<= 1e-10)" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_gradient_by_hand_is_that_of_the_tape(tmp_path):
    picture = tmp_path / "plot.png"
    done = run("custom_layer.py", "--steps", "3", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    assert "(<= 1e-09)" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


# What each program says, one after another in one process: what they import takes a second and a half.
IN_TURN = """
import contextlib, io, json, os, runpy, sys
said = []
for file, options in json.loads(sys.argv[1]):
    sys.argv, code, text = [file, *options], 0, io.StringIO()
    sys.path[0] = os.path.dirname(file)
    with contextlib.redirect_stderr(text):
        try:
            runpy.run_path(file, run_name="__main__")
        except SystemExit as ended:
            code = ended.code
    said.append([code, text.getvalue()])
print("SAID" + json.dumps(said))
"""
BAD_OPTIONS = (
    ("differentiate_sklearn.py", ["--steps", "0"], "not an integer of at least 1"),
    ("differentiate_sklearn.py", ["--seed", "-1"], "not an integer of at least 0"),
    ("differentiate_sklearn.py", ["--out", "plot.txt"], "must end in one of"),
    ("differentiate_sklearn.py", ["--out", os.devnull + "/plot.png"], "cannot write"),
    ("train_digits.py", ["--steps", "none"], "not an integer of at least 1"),
    ("train_digits.py", ["--out", "plot.txt"], "must end in one of"),
    ("train_digits.py", ["--checkpoint", os.devnull + "/run.safetensors"], "cannot write"),
    ("higher_derivatives.py", ["--order", "0"], "not an integer of at least 1"),
    ("fit_continents.py", ["--out", "plot.txt"], "must end in one of"),
    ("fit_an_epidemic.py", ["--out", "plot.txt"], "must end in one of"),
    ("hyperparameters_by_gradient.py", ["--steps", "0"], "not an integer of at least 1"),
    ("influence_of_training_points.py", ["--out", "plot.txt"], "must end in one of"),
    ("maximum_likelihood.py", ["--draws", "19"], "not an integer of at least 20"),
    ("counterfactuals.py", ["--patients", "0"], "not an integer of at least 1"),
    ("register_images.py", ["--out", "plot.txt"], "must end in one of"),
    ("canonical_correlations.py", ["--draws", "1"], "not an integer of at least 2"),
    ("burgers_viscosity.py", ["--out", "plot.txt"], "must end in one of"),
    ("custom_layer.py", ["--out", "plot.txt"], "must end in one of"),
    ("design_filters.py", ["--out", "plot.txt"], "must end in one of"),
    ("gaussian_process.py", ["--out", "plot.txt"], "must end in one of"),
    ("kepler_orbit.py", ["--out", "plot.txt"], "must end in one of"),
    ("larger_than_memory.py", ["--out", "plot.txt"], "must end in one of"),
    ("lynx_and_hares.py", ["--out", "plot.txt"], "must end in one of"),
    ("metric_learning.py", ["--out", "plot.txt"], "must end in one of"),
    ("pca_influence.py", ["--out", "plot.txt"], "must end in one of"),
    ("posterior_of_betas.py", ["--out", "plot.txt"], "must end in one of"),
)


def test_each_example_has_a_bad_option():
    """So that each is at least imported on each run: the longest run at night alone."""
    programs = {path.name for path in EXAMPLES.glob("*.py")} - {"command_line.py"}
    assert {name for name, *_ in BAD_OPTIONS} == programs


def test_a_bad_option_gets_a_clear_message():
    programs = [(str(EXAMPLES / name), options) for name, options, _ in BAD_OPTIONS]
    done = subprocess.run([sys.executable, "-c", IN_TURN, json.dumps(programs)], **HOW, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.partition("SAID")[2])
    for (name, options, message), (code, text) in zip(BAD_OPTIONS, said, strict=True):
        assert code == 2, (name, options, text)
        assert message in text
        assert "Traceback" not in text


def test_a_bad_option_ends_the_program():
    done = run("differentiate_sklearn.py", "--steps", "0")
    assert done.returncode == 2
    assert "not an integer of at least 1" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
def test_a_fit_to_data_larger_than_memory_is_resumed_to_the_same_weights(tmp_path):
    small = ("--partitions", "3", "--rows", "500")

    def fit(name, *options):
        files = ("--checkpoint", str(tmp_path / name), "--out", str(tmp_path / "plot.png"))
        done = run_alone("larger_than_memory.py", *small, *files, *options)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    assert fit("whole", "--steps", "2").count("loss") == 2
    fit("parts", "--steps", "1")
    assert "going on after step 1" in fit("parts", "--steps", "2", "--resume")
    whole, parts = (safetensors.numpy.load_file(tmp_path / name) for name in ("whole", "parts"))
    assert {name: x.tobytes() for name, x in whole.items()} == {
        name: x.tobytes() for name, x in parts.items()
    }
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
