"""Every style of loop × every ending × every way to watch it leaves a report that can be trusted.

The whole table is `benchmarks/endings.py`; here is a part of it with every style × every ending,
and every pair of these with `run`, `run --memory` and `quickfit.Watch`.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from quickfit.recording import reader

from launch.sessions import PATIENCE_S, clean_env

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from endings import (
    ENDINGS,
    ENDS_AT,
    SCRIPT,
    STEPS,
    STYLES,
    TOOLS,
    Cell,
    report_faults,
    run_cell,
    step_faults,
)

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]
ENV = clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
# These end the process: each needs one of its own.
DEADLY = ("sigterm", "kill", "steps", "for")
# These can be caught, so that a script which watches itself goes through all of them.
CAUGHT = {"normal": "normal", "raise": "raise", "exit": "exit", "ctrl-c": "interrupt"}
CELLS = [
    *(Cell(s, e, t) for s in STYLES for e in DEADLY for t in TOOLS if Cell(s, e, t).turn == 0),
    Cell("fit", "raise", "run"),
    Cell("predict", "raise", "memory"),
    Cell("function", "exit", "run"),
    Cell("evaluate", "exit", "memory"),
    Cell("eager", "ctrl-c", "run"),
    Cell("train_on_batch", "ctrl-c", "memory"),
]


@pytest.mark.parametrize("cell", CELLS, ids="-".join)
def test_a_loop_that_ends_has_a_report(cell, tmp_path):
    outcome = run_cell(cell, tmp_path)
    assert outcome.faults == [], outcome.stderr


@pytest.fixture(scope="module")
def caught(tmp_path_factory):
    """Return the folder with the recordings of a script that watched all its loops itself."""
    folder = tmp_path_factory.mktemp("caught")
    command = [sys.executable, str(SCRIPT), ",".join(STYLES), ",".join(CAUGHT.values())]
    ran = subprocess.run(
        [*command, "--watch-each", str(folder)],
        cwd=folder,
        env=ENV,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, ran.stderr
    (folder / "stderr").write_text(ran.stderr)
    return folder


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("ending", CAUGHT)
def test_a_watched_block_that_is_left_has_a_recording(caught, style, ending):
    recording = reader.read(caught / f"{style}-{CAUGHT[ending]}.qfrun")
    assert recording.problems == []
    cell = Cell(style, "raise" if ending == "ctrl-c" else ending, "watch")
    assert list(step_faults(cell, recording.main.rows("steps"), ENDS_AT - 1)) == []
    error = {"normal": None, "raise": "RuntimeError", "exit": "SystemExit"}
    assert recording.run.get("left_by") == error.get(ending, "KeyboardInterrupt")


def test_every_watched_block_has_a_report(caught):
    reports = ("\n" + (caught / "stderr").read_text()).split("\ndevice ")[1:]
    assert len(reports) == len(STYLES) * len(CAUGHT)
    for report, style in zip(reports, [*STYLES] * len(CAUGHT), strict=True):
        assert list(report_faults(f"device {report}", style)) == []


@pytest.mark.parametrize("options", [(), ("--memory",)], ids=["run", "memory"])
def test_a_script_with_every_style_of_loop_has_all_of_them_in_its_recording(tmp_path, options):
    folder = tmp_path / "all.qfrun"
    command = [sys.executable, "-m", "quickfit", "run", *options, "--output", str(folder)]
    ran = subprocess.run(
        [*command, str(SCRIPT), ",".join(STYLES), "normal"],
        cwd=tmp_path,
        env=ENV,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0
    assert list(report_faults(ran.stderr, "fit")) == []
    recording = reader.read(folder)
    loops = [row["loop"] for row in recording.main.rows("steps")]
    assert [loops.count(number) for number in sorted(set(loops))] == [STEPS] * len(STYLES)


def test_the_part_that_is_tested_here_has_every_pair():
    caught = [Cell(style, ending, "watch") for style in STYLES for ending in CAUGHT]
    normal = [Cell(style, "normal", tool) for style in STYLES for tool in ("run", "memory")]
    cells = {*CELLS, *caught, *normal}
    assert {(c.style, c.ending) for c in cells} == {(s, e) for s in STYLES for e in ENDINGS}
    assert {(c.style, c.tool) for c in cells} == {(s, t) for s in STYLES for t in TOOLS}
    assert {(c.ending, c.tool) for c in cells} == {(e, t) for e in ENDINGS for t in TOOLS}
