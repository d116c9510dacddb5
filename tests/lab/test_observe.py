"""Watching a script first: how long, and what is said when there is nothing to see."""

import contextlib
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.errors import FixError
from quickfit.lab import observe as module
from quickfit.lab.observe import NO_TRAINING, observe
from quickfit.launch.target import Target
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
        self, clock, folder, *, first_s=5.0, step_s=0.5, ends_s=1e9, failure="", fits=True, code=1
    ):
        self.clock, self.began_s = clock, clock.now_s
        self.first_s, self.step_s, self.ends_s = first_s, step_s, ends_s
        self.recording, self._failure, self.fits = folder, failure, fits
        self.why_ended = ""
        self.group, self.has_begun, self.confinement = 2**30, True, "own namespaces"
        # Far beyond what any system gives out: there is nobody to look at.
        self.keeper = SimpleNamespace(pid=2**30, poll=lambda: code if self.has_ended else None)

    @property
    def is_unsafe(self):
        return self.failure().startswith("cannot be tried safely")

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

    def watch(is_decided=lambda recording: True, **how):
        trial = Trial(clock, tmp_path / "run.qfrun", **how)
        trial.recording.mkdir()

        @contextlib.contextmanager
        def begun(target, folder, *, cwd, texts, trusts_script):
            yield trial

        monkeypatch.setattr(module, "started", begun)
        answer = observe(Target(script="train.py"), tmp_path, cwd=tmp_path, is_decided=is_decided)
        return SimpleNamespace(**vars(answer), answer=answer, took_s=trial.age_s)

    return watch


def test_a_script_that_ended_without_a_step_is_not_said_to_be_slow(watched):
    assert watched(first_s=1e6, ends_s=3.0, code=0).failure == NO_TRAINING


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
    said = str(watched(first_s=1e6).answer.unprovable("train.py"))
    assert "train.py: made no step of training within 300 s" in said
    assert "quickfit run train.py" in said


def test_a_script_that_fails_before_its_first_step_is_said(watched):
    failure = "ended with exit code 1: KeyError: 'x'"
    found = watched(first_s=1e6, ends_s=3.0, failure=failure)
    assert (found.failure, found.first_s) == (failure, 0.0)


def test_a_script_that_takes_all_memory_is_said(watched):
    assert watched(fits=False).failure.startswith("took 9.0 GB of memory")


def test_a_script_that_cannot_be_tried_safely_ends_it(watched):
    with pytest.raises(FixError, match="cannot be tried safely"):
        watched(first_s=1e6, ends_s=3.0, failure="cannot be tried safely: it writes model.keras")


def test_a_script_that_stands_still_for_a_known_reason_is_not_waited_for(watched, monkeypatch):
    class Watch:
        def __init__(self, place, pid):
            self.place = place

        def poll(self):
            told = {"kind": "stuck", "cause": "held-lock", "summary": "two wait for each other"}
            self.place.note(quiet=[told])

    monkeypatch.setattr(module, "QuietWatch", Watch)
    found = watched(first_s=1e6)
    assert found.failure == "stands still: two wait for each other"
    assert found.took_s < 10


def test_a_script_that_fails_later_has_been_seen(watched):
    assert watched(ends_s=20.0, failure="ended with exit code 1").first_s > 0


def test_a_real_script_without_training_is_said(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "train.py").write_text("raise ValueError('no data')\n")
    found = observe(Target(script="train.py"), tmp_path / "scratch", cwd=Path(home))
    assert found.failure == "ended with exit code 1: ValueError: no data"


@pytest.mark.parametrize(
    ("decided_after", "watched_s"),
    [pytest.param(1, 45, id="at once"), pytest.param(3, 85, id="later"),
     pytest.param(99, 305, id="never")],
)  # fmt: skip
def test_a_script_is_watched_until_its_steps_say_something(watched, decided_after, watched_s):
    looks = []

    def is_decided(recording):
        looks.append(recording)
        return len(looks) >= decided_after

    assert watched(is_decided=is_decided).took_s == pytest.approx(watched_s, abs=3)
