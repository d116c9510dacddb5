"""The order of the story, with stand-ins for the parts that start TensorFlow."""

import importlib.util
import io
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.demo import story
from quickfit.errors import QuickfitError, UsageError
from quickfit.findings import Finding, Gain
from quickfit.lab.turns import Comparison, Pace

GAIN = Gain(low=1.5, likely=2.0, high=2.4, basis="two cores")
FINDING = Finding(summary="", where=None, evidence=(), gain=GAIN, cost_share=0.5)
MEASURED = Comparison(Pace(90, 0.12, 0.17), Pace(200, 0.06, 0.12), (1.9, 2.1))


@pytest.fixture
def parts(monkeypatch):
    """Stand-ins for the observation, the diagnosis, the report and the measurement."""
    ended = SimpleNamespace(folder=Path("slow.qfrun"), exit_code=0, signal=None)
    parts = SimpleNamespace(ended=ended, watched=None, measured=None, last_words=b"")

    def observe(target, **options):
        parts.watched = (target, options)
        assert Path(target.script).exists()
        os.write(2, parts.last_words)
        return parts.ended

    def side_by_side(scripts, images, scratch, *, line):
        parts.measured = scripts
        return MEASURED

    stand_in("quickfit.launch.parent", monkeypatch, observe=observe)
    diagnosis = SimpleNamespace(findings=(FINDING,))
    stand_in("quickfit.diagnosis", monkeypatch, diagnose=lambda folder, **given: diagnosis)
    stand_in(
        "quickfit.report", monkeypatch, write_report=lambda d, stream: stream.write("VERDICT\n")
    )
    monkeypatch.setattr(story, "check_installed", lambda: None)
    monkeypatch.setattr(story, "measure_side_by_side", side_by_side)
    monkeypatch.setattr(story, "PHOTOGRAPHS", 5)
    return parts


def stand_in(module, monkeypatch, **names):
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**names))


def test_tells_what_it_does_in_order(parts, tmp_path):
    out = io.StringIO()
    outcome = story.tell_story(tmp_path, out)
    text = out.getvalue()
    places = [text.index(words) for words in ("1/4", "2/4", "VERDICT", "3/4", "4/4", "inside")]
    assert places == sorted(places)
    assert outcome.is_inside


def test_ends_with_the_page_and_its_path(parts, tmp_path, monkeypatch):
    def write_page(diagnosis, file, *, replaces):
        assert diagnosis.findings == (FINDING,)
        return str(file)

    stand_in("quickfit.report.page", monkeypatch, write_page=write_page)
    out = io.StringIO()
    story.tell_story(tmp_path, out, page=tmp_path / "report.html")
    assert out.getvalue().splitlines()[-1].strip() == str(tmp_path / "report.html")


def test_leaves_photographs_and_scripts_in_the_folder_and_nothing_else_changed(parts, tmp_path):
    before = os.getcwd()
    story.tell_story(tmp_path, io.StringIO())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fixed.py", "photographs", "slow.py"]
    assert os.getcwd() == before


def test_watches_the_slow_script_and_stops_it_at_a_step(parts, tmp_path):
    story.tell_story(tmp_path, io.StringIO())
    target, options = parts.watched
    assert (target.script, target.args[0]) == ("slow.py", "photographs")
    assert options["stop"] == {"steps": story.WATCHED_STEPS}


def test_a_measurement_that_started_with_the_fixed_script_is_told_the_usual_way_round(parts):
    diagnosis = SimpleNamespace(findings=())
    outcome = story.measure(diagnosis, io.StringIO(), fixed_first=True)
    assert parts.measured == (story.FIXED, story.SLOW)
    assert outcome.measured == MEASURED.swapped()
    assert outcome.finding is None


def test_a_ctrl_c_that_ended_the_script_ends_the_story(parts, tmp_path):
    parts.ended.signal, parts.ended.exit_code = signal.SIGINT, None
    with pytest.raises(KeyboardInterrupt):
        story.tell_story(tmp_path, io.StringIO())


def test_a_signal_that_ended_the_script_ends_the_story(parts, tmp_path):
    parts.ended.signal, parts.ended.exit_code = signal.SIGTERM, None
    with pytest.raises(SystemExit) as caught:
        story.tell_story(tmp_path, io.StringIO())
    assert caught.value.code == 128 + signal.SIGTERM


def test_a_script_that_fails_ends_the_story_with_its_exit_code(parts, tmp_path):
    parts.ended.exit_code = 3
    parts.last_words = b"OSError: broken.jpg\n"
    with pytest.raises(QuickfitError, match=r"slow\.py ended with exit code 3") as caught:
        story.tell_story(tmp_path, io.StringIO())
    assert "OSError: broken.jpg" in str(caught.value)


def test_without_tensorflow_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"TensorFlow is not installed") as caught:
        story.check_installed()
    assert "pip install 'quickfit[cpu]'" in str(caught.value)
