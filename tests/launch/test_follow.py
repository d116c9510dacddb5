"""What is said while a script runs: the early verdict once, and later what comes up since."""

import itertools
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest

from growing import Growing
from quickfit.errors import RecordingError
from quickfit.findings import Location
from quickfit.launch import follow
from quickfit.launch.follow import BACK_OFF, FURTHER, RETRY_S, Follower, Progress, progress
from quickfit.launch.place import Place
from quickfit.liveness.rows import NewRows
from quickfit.recording.folder import read_run_file
from quickfit.recording.writer import Writer


def make_hostile(file):
    """Give a recording a view in place of its steps that counts without an end."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("DROP TABLE steps")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
        db.execute(f"CREATE VIEW steps AS {endless} 1 AS loop, i AS begin_s, i AS end_s FROM n")


def test_a_recording_that_is_not_quickfits_alone_is_not_asked(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(20):
        writer.add_step(step(number, float(number)))
    writer.close()
    assert progress(writer.path).steps == 20
    assert NewRows(writer.path).facts()["role"] == "main"
    make_hostile(writer.path)
    assert progress(writer.path) == Progress(0, 0.0)
    assert NewRows(writer.path).facts() == {}


def step(number, begin_s):
    return (1, 0, number, begin_s, 0.1, 0.0, 0.0, 0.0, begin_s + 0.5, 0.1, None)


def found(cause, symptom, where=None):
    facts = {"symptom": symptom, "summary": f"{cause}\nis it", "claims": ("input_wait",)}
    return SimpleNamespace(cause=cause, where=where, **facts)


class Run:
    """A growing recording, a clock, and a diagnosis that says what it is told to."""

    def __init__(self, folder, **given):
        self.writer = Writer(folder, {"role": "main"})
        self.place = Place(folder, folder, {})
        self.now = 100.0
        self.steps = 0
        self.asked = 0
        self.takes_s = 0.0
        self.verdict = "findings"
        self.error = None
        self.findings = [found("py-generator-input", "slow")]
        self.writer.flush()
        pid = int(self.writer.path.stem)
        clock = {"clock": lambda: self.now}
        self.follower = Follower(self.place, pid, diagnose=self.diagnose, **clock, **given)

    def diagnose(self, folder):
        self.asked += 1
        self.now += self.takes_s
        if self.error:
            raise self.error
        return SimpleNamespace(
            verdict=self.verdict,
            headline="the input\nis the limit",
            findings=self.findings,
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
    for _ in range(5):
        run.train(34)
        run.later(1000.0)
    assert capfd.readouterr().err == (
        "quickfit: early verdict (step 34): the input is the limit — final report at the end\n"
    )
    assert read_run_file(run.place.folder)["early"] == {
        "headline": "the input\nis the limit",
        "verdict": "findings",
        "causes": ["py-generator-input"],
        "claims": ["input_wait"],
        "at_step": 34,
        "after_s": 17.0,
    }


def test_stays_silent_before_a_few_steps(run):
    run.train(4, step_s=10)
    run.later(1.0)
    assert run.asked == 0


def test_stays_silent_in_the_first_ten_seconds(run):
    run.train(100, step_s=0.05)
    run.later(1.0)
    assert run.asked == 0


def test_stays_silent_when_warm_up_leaves_too_few_steps(run, capfd):
    run.train(6, step_s=4)
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


# -- what comes up later -------------------------------------------------------------------------

GROWING = found("growing-callback", "slowing-down", Location("/project/train.py", 12))
LEAKING = found("tensor-list-growth", "memory")


def looks(run, times, *findings):
    """Let it train on, and be looked at, with these findings."""
    run.findings = list(findings)
    for _ in range(times):
        run.train(34)
        run.later(1000.0)


def test_a_slowdown_is_said_when_two_looks_in_a_row_have_it(run, capfd):
    looks(run, 1)
    capfd.readouterr()
    looks(run, 1, GROWING)
    assert capfd.readouterr().err == ""
    looks(run, 3, GROWING)
    assert capfd.readouterr().err == (
        "quickfit: slowing down (step 102): growing-callback is it — train.py:12"
        " (growing-callback)\n"
    )
    assert read_run_file(run.place.folder)["announced"] == [
        {
            "cause": "growing-callback",
            "summary": "growing-callback is it",
            "place": "train.py:12",
            "at_step": 102,
            "after_s": 51.0,
        }
    ]


def test_a_slowdown_that_is_gone_at_the_next_look_is_not_said(run, capfd):
    looks(run, 1)
    capfd.readouterr()
    for _ in range(3):
        looks(run, 1, GROWING)
        looks(run, 1)
    assert capfd.readouterr().err == ""


def test_each_cause_is_said_once(run, capfd):
    looks(run, 1)
    capfd.readouterr()
    looks(run, 3, GROWING, LEAKING)
    looks(run, 3, LEAKING, GROWING)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split("(step")[0] for line in lines] == [
        "quickfit: slowing down ",
        "quickfit: memory grows ",
    ]


def test_what_makes_it_slow_from_the_start_is_left_to_the_report(run, capfd):
    looks(run, 6, found("sequential-map", "slow"))
    assert capfd.readouterr().err.count("quickfit:") == 1  # the early verdict


def test_looks_come_further_and_further_apart(run):
    run.verdict = "compute-bound"
    times = []
    for _ in range(4000):
        asked = run.asked
        run.train(1)
        run.later(1.0)
        if run.asked > asked:
            times.append(run.now)
    apart = [after - before for before, after in itertools.pairwise(times)]
    assert apart[0] <= 2 * RETRY_S
    assert apart == sorted(apart)
    assert len(times) < 40
    assert apart[-1] > (FURTHER - 1.0) * 1000


def test_the_users_command_is_run_once(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(follow, "run_command", lambda *given: ran.append(given))
    run = Run(tmp_path, command="notify")
    looks(run, 5, GROWING, LEAKING)
    run.writer.close()
    ((command, told),) = ran
    assert command == "notify"
    assert (told["CAUSE"], told["PLACE"]) == ("growing-callback", "train.py:12")
    assert told["MESSAGE"] == "growing-callback is it — train.py:12 (growing-callback)"
    assert told["RECORDING"] == str(tmp_path)


def test_the_early_verdict_runs_no_command(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(follow, "run_command", lambda *given: ran.append(given))
    run = Run(tmp_path, command="notify")
    looks(run, 3, found("sequential-map", "slow"))
    run.writer.close()
    assert ran == []


def test_turns_of_a_loop_that_does_not_train_are_no_steps(tmp_path):
    run = Growing(tmp_path)
    run.add("loops", id=1, kind="custom", begin_s=0.0, facts={"trains": False})
    run.add("loops", id=2, kind="custom", begin_s=5.0, facts={"trains": True})
    for number in range(30):
        run.step(number, 1.0 + number / 10)
    assert progress(run.file).steps == 30  # nothing trains so far
    for number in range(7):
        run.step(number, 6.0 + number, loop=2)
    found = progress(run.file)
    run.close()
    assert found == Progress(7, pytest.approx(6.1))
