"""The early verdict comes once, when there is enough to say, and costs next to nothing."""

from types import SimpleNamespace

import pytest

from quickfit.errors import RecordingError
from quickfit.launch.follow import BACK_OFF, RETRY_S, Follower, Progress, progress
from quickfit.launch.place import Place
from quickfit.recording.folder import read_run_file
from quickfit.recording.writer import Writer


def step(number, begin_s):
    return (1, 0, number, begin_s, 0.1, 0.0, 0.0, 0.0, begin_s + 0.5, 0.1, None)


class Run:
    """A growing recording, a clock, and a diagnosis that says what it is told to."""

    def __init__(self, folder):
        self.writer = Writer(folder, {"role": "main"})
        self.place = Place(folder, folder, {})
        self.now = 100.0
        self.steps = 0
        self.asked = 0
        self.takes_s = 0.0
        self.verdict = "findings"
        self.error = None
        self.writer.flush()
        pid = int(self.writer.path.stem)
        self.follower = Follower(self.place, pid, diagnose=self.diagnose, clock=lambda: self.now)

    def diagnose(self, folder):
        self.asked += 1
        self.now += self.takes_s
        if self.error:
            raise self.error
        return SimpleNamespace(
            verdict=self.verdict,
            headline="the input\nis the limit",
            findings=[SimpleNamespace(cause="py-generator-input")],
            breakdown=SimpleNamespace(steps=self.steps - 2),
        )

    def train(self, steps, *, step_s=0.5):
        for _ in range(steps):
            self.writer.add_step(step(self.steps, self.steps * step_s))
            self.steps += 1
        self.writer.flush()

    def later(self, seconds):
        self.now += seconds
        self.follower.poll()


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    yield run
    run.writer.close()


def test_says_the_headline_once_and_remembers_it(run, capfd):
    run.train(34)
    run.later(1.0)
    run.train(34)
    run.later(1000.0)
    assert capfd.readouterr().err == (
        "quickfit: early verdict (step 34): the input is the limit — final report at the end\n"
    )
    assert run.asked == 1
    assert read_run_file(run.place.folder)["early"] == {
        "headline": "the input\nis the limit",
        "verdict": "findings",
        "causes": ["py-generator-input"],
        "at_step": 34,
        "after_s": 17.0,
    }


def test_stays_silent_before_twenty_steps(run):
    run.train(19, step_s=10)
    run.later(1.0)
    assert run.asked == 0


def test_stays_silent_in_the_first_ten_seconds(run):
    run.train(100, step_s=0.05)
    run.later(1.0)
    assert run.asked == 0


def test_stays_silent_when_warm_up_leaves_too_few_steps(run, capfd):
    run.train(21)
    run.later(1.0)
    assert run.asked == 1
    assert capfd.readouterr().err == ""


def test_asks_again_after_a_while_when_nothing_can_be_said_yet(run, capfd):
    run.verdict = "inconclusive"
    run.train(30)
    run.later(1.0)
    run.train(1)
    run.later(RETRY_S - 1)
    assert run.asked == 1
    run.verdict = "compute-bound"
    run.later(1.0)
    assert run.asked == 2
    assert "early verdict (step 31)" in capfd.readouterr().err


def test_a_slow_diagnosis_is_asked_for_less_often(run):
    run.verdict = "inconclusive"
    run.takes_s = 2.0
    run.train(30)
    run.later(1.0)
    run.train(1)
    run.later(BACK_OFF * 2.0 - 1)
    assert run.asked == 1
    run.later(1.0)
    assert run.asked == 2


def test_a_recording_that_does_not_grow_is_not_read_again(run, monkeypatch):
    run.verdict = "inconclusive"
    run.train(30)
    run.later(1.0)
    run.later(1000.0)
    assert run.asked == 1


def test_a_recording_that_cannot_be_diagnosed_yet_is_asked_again(run, capfd):
    run.error = RecordingError("not yet")
    run.train(30)
    run.later(1.0)
    run.error = None
    run.train(1)
    run.later(RETRY_S)
    assert "early verdict" in capfd.readouterr().err


def test_a_bug_in_the_diagnosis_is_said_once_and_the_run_goes_on(run, capfd):
    run.error = ZeroDivisionError("x")
    run.train(30)
    run.later(1.0)
    run.train(1)
    run.later(1000.0)
    assert capfd.readouterr().err == "quickfit: no early verdict (ZeroDivisionError: x)\n"


def test_progress_counts_thinned_steps_too(run):
    run.train(10)
    run.writer.add("step_blocks", (1, 0, 90, -50.0, 0.0, "{}", "{}"))
    run.writer.flush()
    assert progress(run.writer.path) == Progress(100, 55.0)


def test_progress_of_what_is_not_a_recording_is_nothing(tmp_path):
    (tmp_path / "x.sqlite").write_text("text")
    assert progress(tmp_path / "x.sqlite") == Progress(0, 0.0)
    assert progress(tmp_path / "missing.sqlite") == Progress(0, 0.0)
