"""`quickfit.Watch` in real scripts and a real notebook, where TensorFlow was imported before."""

import subprocess
import sys
from pathlib import Path

import pytest

import quickfit
from quickfit.recording import reader

from launch.sessions import QUICKFIT

SCRIPTS = Path(__file__).parent.parent / "scripts"
SCRIPT = SCRIPTS / "watches_itself.py"
TEXT = SCRIPT.read_text()


def line_of(mark):
    """Return the line of the script that a comment marks."""
    return next(n for n, line in enumerate(TEXT.splitlines(), 1) if line.endswith(f"# {mark}"))


def run_of(folder, number):
    """Return the recording of the first, second, … `Watch` of a process."""
    runs = [reader.read(each) for each in folder.glob(".quickfit/runs/*.qfrun")]
    return sorted(runs, key=lambda run: run.run["started_at"])[number]


def test_importing_quickfit_loads_no_probes():
    code = "import sys, quickfit; print([m for m in sys.modules if m.startswith('quickfit.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_name_that_is_not_there_is_said_as_python_says_it():
    with pytest.raises(AttributeError, match="module 'quickfit' has no attribute 'watch'"):
        _ = quickfit.watch


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Run the script that watches itself twice."""
    folder = tmp_path_factory.mktemp("inside")
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.mark.tf
def test_a_callback_reports_after_its_fit_and_a_block_at_its_end(watched):
    _, done = watched
    assert done.stdout == "fitted\nlooped\nended\n"
    reports = done.stderr.split("\ndevice ")[1:]
    assert len(reports) == 2
    assert all("\nverdict " in report for report in reports)


@pytest.mark.tf
def test_each_watch_has_a_recording_of_its_own(watched):
    folder, _ = watched
    first, second = run_of(folder, 0).main, run_of(folder, 1).main
    assert [(r["kind"], r["line"]) for r in first.rows("loops")] == [("fit", line_of("fit"))]
    assert [(r["kind"], r["line"]) for r in second.rows("loops")] == [("custom", line_of("loop"))]
    assert [len(run.rows("steps")) for run in (first, second)] == [60, 40]


@pytest.mark.tf
def test_what_was_made_before_has_no_line_and_the_report_says_so(watched):
    folder, done = watched
    rows = run_of(folder, 0).main.rows("datasets")
    assert {row["kind"]: row["line"] for row in rows if row["kind"] in ("Map", "Batch")} == {
        "Map": None,
        "Batch": None,
    }
    said = " ".join(done.stderr.split())
    assert "Made before quickfit, so their lines are not known: 3 dataset operations" in said
    assert "the compiled model `small`" in said


@pytest.mark.tf
def test_watch_itself_is_not_among_the_callbacks(watched):
    folder, _ = watched
    names = {row["name"] for row in run_of(folder, 0).main.rows("callbacks")}
    assert "Watch" not in names
    assert "Users" in names


@pytest.mark.tf
def test_nothing_is_watched_after_the_last_block(watched):
    folder, _ = watched
    assert len(list(folder.glob(".quickfit/runs/*.qfrun"))) == 2


@pytest.mark.tf
@pytest.mark.tf_any
def test_under_quickfit_run_there_is_one_recording_and_one_report(tmp_path):
    done = subprocess.run(
        [*QUICKFIT, "run", str(SCRIPT)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("fitted\nlooped\nended\n", 0)
    assert done.stderr.count("\nverdict ") == 1
    assert len(list(tmp_path.glob(".quickfit/runs/*.qfrun"))) == 1
    assert len(run_of(tmp_path, 0).main.rows("loops")) == 3


GUARDED = """
import keras, numpy as np, quickfit
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x[:, :1].copy()
x[13, 2] = np.nan
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
watch = quickfit.Watch(guard=True)
model.fit(x, y, batch_size=8, shuffle=False, verbose=0, callbacks=[watch])
print(all(np.isfinite(one).all() for one in model.get_weights()), model.optimizer.skipped)
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_guarded_fit_names_the_source_of_what_was_left_out_after_the_report(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", GUARDED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True 1\n", done.stderr
    report, skips = done.stderr.split("\nguard: ")
    assert "\nverdict " in report
    lines = skips.splitlines()
    assert lines[0] == (
        "1 update was left out because numbers were not finite. "
        "The first time, in batch 2 of its epoch:"
    )
    assert lines[1] == "  the input `x` is not finite, before the step begins"
    assert lines[2].startswith("    found  1 NaN of 32 float32 numbers, the first at [5, 2];")
