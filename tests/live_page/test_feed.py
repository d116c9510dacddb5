"""When a run is looked at and drawn again."""

import json

import pytest

from quickfit.errors import RecordingError
from quickfit.live_page.feed import BACK_OFF, RunFeed

from report.builders import full_diagnosis


class Clock:
    """Time that goes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def made(tmp_path):
    """A run that ended, its feed, and the clocks of it."""
    (tmp_path / "run.json").write_text(json.dumps({"script": "train.py"}))
    (tmp_path / "1.sqlite").touch()
    clock, cpu = Clock(), Clock()

    def diagnose(folder):
        cpu.now += 0.2
        return full_diagnosis()

    return RunFeed(tmp_path, diagnose=diagnose, clock=clock, cpu=cpu), clock


def grow(feed, clock):
    """Let the run record more."""
    file = feed.folder / "1.sqlite"
    file.write_bytes(file.read_bytes() + b"x")
    clock.now += 0.5


def test_it_is_drawn_again_when_it_has_grown_and_the_last_drawing_is_paid_for(made):
    feed, clock = made
    feed.status()
    assert feed.is_due
    feed.draw()
    assert (feed.version, feed.is_due) == (1, False)
    grow(feed, clock)
    feed.status()
    assert not feed.is_due  # 0.2 s of CPU time were used
    clock.now += BACK_OFF * 0.2
    assert feed.is_due
    feed.draw()
    assert feed.version == 1  # it came out the same, and is not sent again


def test_an_end_is_drawn_at_once(made):
    feed, clock = made
    feed.status()
    feed.draw()
    (feed.folder / "run.json").write_text(json.dumps({"ended_at": 1.0, "exit_code": 0}))
    clock.now += 0.5
    assert feed.status().label == "ended"
    assert feed.is_due


def test_it_is_looked_at_twice_a_second_at_most(made):
    feed, clock = made
    before = feed.status()
    (feed.folder / "run.json").write_text(json.dumps({"ended_at": 1.0, "exit_code": 0}))
    clock.now += 0.1
    assert feed.status().label == before.label
    clock.now += 0.5
    assert feed.status().label == "ended"


@pytest.mark.parametrize("error", [RecordingError("it is damaged.\nDo this"), ValueError("odd")])
def test_what_cannot_be_read_is_said_and_tried_again(made, error):
    feed, clock = made

    def fail(folder):
        raise error

    works, feed._diagnose = feed._diagnose, fail
    feed.status()
    feed.draw()
    clock.now += 0.5
    said = feed.status().label
    assert ("it is damaged." in said) or ("a bug in quickfit" in said)
    feed._diagnose = works
    grow(feed, clock)
    clock.now += 1
    feed.status()
    assert feed.is_due
    feed.draw()
    assert feed.drawing is not None
