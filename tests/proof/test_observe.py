"""Watching a script first: how long, and what is said when there is nothing to see."""

import contextlib
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.errors import FixError
from quickfit.launch.target import Target
from quickfit.proof import observe as module
from quickfit.proof.observe import observe
from quickfit.recording.folder import read_run_file


class Clock:
    """A clock that goes on by sleeping."""

    def __init__(self):
        self.now_s = 1000.0

    def monotonic(self):
        return self.now_s

    def time(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


class Trial:
    """A trial that makes steps by the clock."""

    def __init__(
        self, clock, folder, *, first_s=5.0, step_s=0.5, ends_s=1e9, failure="", fits=True
    ):
        self.clock, self.began_s = clock, clock.now_s
        self.first_s, self.step_s, self.ends_s = first_s, step_s, ends_s
        self.recording, self._failure, self.fits = folder, failure, fits
        self.why_ended = ""

    @property
    def age_s(self):
        return self.clock.now_s - self.began_s

    @property
    def has_ended(self):
        return self.age_s >= self.ends_s or bool(self.why_ended)

    def steps(self):
        return max(math.floor((min(self.age_s, self.ends_s) - self.first_s) / self.step_s) + 1, 0)

    def failure(self):
        return self.why_ended or (self._failure if self.has_ended else "")

    def check_memory(self, limit):
        if not self.fits:
            self.why_ended = "took 9.0 GB of memory, more than is free"
        return not self.fits


@pytest.fixture
def watched(monkeypatch, tmp_path):
    """Watch a stand-in; return the answer, and how long it was watched."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)

    def watch(**how):
        trial = Trial(clock, tmp_path / "run.qfrun", **how)
        trial.recording.mkdir()

        @contextlib.contextmanager
        def begun(target, folder, *, cwd):
            yield trial

        monkeypatch.setattr(module, "started", begun)
        answer = observe(Target(script="train.py"), tmp_path, cwd=tmp_path)
        return SimpleNamespace(recording=answer[0], first_s=answer[1], took_s=trial.age_s)

    return watch


def test_it_watches_for_long_enough_and_many_enough_steps(watched):
    found = watched(first_s=5.0, step_s=0.5)
    assert found.first_s == pytest.approx(5.0, abs=1.0)
    assert module.ENOUGH_S < found.took_s - 5.0 < module.ENOUGH_S + 2


def test_slow_steps_are_watched_for_longer(watched):
    assert watched(step_s=1.0).took_s == pytest.approx(5 + 60, abs=2)


def test_very_slow_steps_are_not_waited_for_forever(watched):
    assert watched(step_s=30.0).took_s == pytest.approx(5 + module.LONGEST_S, abs=2)


def test_a_script_that_ends_early_is_enough(watched):
    found = watched(ends_s=10.0)
    assert found.took_s == pytest.approx(10.0, abs=1)


def test_a_script_whose_only_steps_were_made_since_the_last_look_is_enough(watched):
    assert watched(first_s=0.2, ends_s=0.3).first_s > 0


def test_how_it_was_run_is_written_down(watched, tmp_path):
    facts = read_run_file(watched(ends_s=10.0).recording)
    assert facts["script"] == str(tmp_path / "train.py")
    assert facts["cwd"] == str(tmp_path)


def test_a_script_without_a_step_is_said(watched):
    with pytest.raises(FixError) as caught:
        watched(first_s=1e6)
    assert "train.py: made no step of training within 300 s" in str(caught.value)
    assert "quickfit run train.py" in str(caught.value)


def test_a_script_that_fails_before_its_first_step_is_said(watched):
    with pytest.raises(FixError, match=r"train\.py: ended with exit code 1: KeyError"):
        watched(first_s=1e6, ends_s=3.0, failure="ended with exit code 1: KeyError: 'x'")


def test_a_script_that_takes_all_memory_is_said(watched):
    with pytest.raises(FixError, match=r"took 9\.0 GB of memory"):
        watched(fits=False)


def test_a_script_that_fails_later_has_been_seen(watched):
    assert watched(ends_s=20.0, failure="ended with exit code 1").first_s > 0


def test_a_real_script_without_training_is_said(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "train.py").write_text("raise ValueError('no data')\n")
    with pytest.raises(FixError, match=r"ended with exit code 1: ValueError: no data"):
        observe(Target(script="train.py"), tmp_path / "scratch", cwd=Path(home))
