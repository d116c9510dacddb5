"""A quiet run is told of in whole lines, noted in run.json, and never harmed."""

import dataclasses
import subprocess

import pytest

from quickfit.causes import stuck_mechanisms
from quickfit.launch import quiet as launching
from quickfit.launch.place import Place
from quickfit.launch.quiet import LOOK_AFTER_S, LOOK_S, MAX_NOTED, MOVING_LOOK_S, POLL_S, QuietWatch
from quickfit.liveness.reason import first_reason
from quickfit.liveness.watch import News
from quickfit.recording.folder import read_run_file
from scenes import MOVING, STUCK, scene

from launch.sessions import PATIENCE_S, QUICKFIT, clean_env, eventually, newest_run


class Eyes:
    """Stands for the reader and the watch: a scene, and what is to be said of it."""

    def __init__(self):
        self.scene_now, self.news, self.looks = scene(), [], 0
        self.error = None

    def quiet_s(self):
        return self.scene_now.quiet_s

    def scene(self):
        if self.error is not None:
            raise self.error
        self.looks += 1
        return self.scene_now

    def look(self, one):
        news, self.news = self.news, []
        return news


class Run:
    def __init__(self, folder, **given):
        self.now = 100.0
        self.place = Place(folder, folder, {})
        self.watch = QuietWatch(self.place, 4711, clock=lambda: self.now, **given)
        self.eyes = Eyes()
        self.watch._eyes = (self.eyes, self.eyes)

    def later(self, seconds, *news):
        self.eyes.news = list(news)
        self.now += seconds
        self.watch.poll()

    def noted(self):
        return read_run_file(self.place.folder).get("quiet")


def verdict(name):
    one = {**STUCK, **MOVING}[name]
    found = first_reason(stuck_mechanisms(), one)
    kind = "slow" if found.moves else "stuck"
    return News(kind, f"{kind}: {found.summary} ({found.cause})", found.advice, found)


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_a_phase_is_one_whole_line(run, capfd):
    run.later(LOOK_S, News("phase", "filling the cache: 3 of 9"))
    assert capfd.readouterr().err == "quickfit: filling the cache: 3 of 9\n"
    assert run.noted() is None


def test_a_verdict_comes_with_what_to_do_and_is_noted(run, capfd):
    run.later(LOOK_S, verdict("held-lock"))
    assert capfd.readouterr().err == (
        "quickfit: stuck: a thread waits for a lock; another one holds it at train.py:8"
        " (held-lock)\n"
        "quickfit: Release the lock on every path (`with lock:`), and take locks in one order;"
        " more: quickfit explain held-lock\n"
    )
    (noted,) = run.noted()
    assert (noted["kind"], noted["cause"], noted["moves"]) == ("stuck", "held-lock", False)
    assert (noted["line"], noted["also_line"]) == (3, 8)
    assert (noted["step"], noted["quiet_s"], noted["moved_again_s"]) == (0, 20.0, None)
    assert [one["unit"] for one in noted["evidence"]] == ["share", "share"]


def test_an_unknown_silence_is_noted_without_a_cause(run):
    run.later(LOOK_S, News("unknown", "quiet, cause unknown: no step for 30 s", "hint"))
    (noted,) = run.noted()
    assert "cause" not in noted
    assert noted["text"].startswith("quiet, cause unknown")


def test_a_run_that_moves_again_is_noted(run, capfd):
    run.later(LOOK_S, verdict("held-lock"))
    run.eyes.scene_now = scene(at_s=1060.0, steps=3)
    run.later(LOOK_S, News("moves", "moving again: step 3"))
    assert "quickfit: moving again: step 3\n" in capfd.readouterr().err
    assert run.noted()[0]["moved_again_s"] == 1060.0


def test_the_newest_verdicts_of_a_run_are_kept(run):
    for _ in range(MAX_NOTED + 5):
        run.later(LOOK_S, verdict("slow-step"))
    assert len(run.noted()) == MAX_NOTED


def test_hostile_text_cannot_control_the_terminal(run, capfd):
    found = dataclasses.replace(
        first_reason(stuck_mechanisms(), STUCK["held-lock"]), summary="\x1b[2J\r\nquickfit: fine"
    )
    run.later(LOOK_S, News("stuck", found.summary, "hint \x07", found))
    said = capfd.readouterr().err
    assert "\x1b" not in said
    assert "\x07" not in said
    assert all(line.startswith("quickfit: ") for line in said.splitlines())


def test_a_run_is_not_looked_at_too_often(run):
    for _ in range(100):
        run.later(0.1)
    assert run.eyes.looks <= 10.0 / LOOK_S


def test_a_run_that_moves_is_looked_at_now_and_then(run):
    run.eyes.scene_now = scene(quiet_s=LOOK_AFTER_S / 2)
    for _ in range(30):
        run.later(POLL_S)
    assert run.eyes.looks == 30 * POLL_S // MOVING_LOOK_S


def test_an_error_of_ours_is_said_once_and_ends_the_watch(run, capfd):
    run.eyes.error = ZeroDivisionError("x")
    for _ in range(5):
        run.later(10.0)
    assert capfd.readouterr().err == (
        "quickfit: no longer watches for silence (ZeroDivisionError: x)\n"
    )


def test_nothing_recorded_yet_is_no_trouble(tmp_path, capfd):
    place, now = Place(tmp_path, tmp_path, {}), [0.0]
    watch = QuietWatch(place, 4711, clock=lambda: now[0])
    for _ in range(20):
        now[0] += 1.0
        watch.poll()
    assert capfd.readouterr().err == ""
    assert read_run_file(tmp_path)["quiet"] == []  # somebody looked


def test_the_users_command_is_run_once_and_told_why(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(launching, "run_command", lambda *given: ran.append(given))
    run = Run(tmp_path, command="notify")
    run.later(LOOK_S, News("phase", "filling the cache"))
    assert ran == []
    run.later(LOOK_S, verdict("held-lock"))
    run.later(LOOK_S, verdict("swap-thrash"))
    ((command, told),) = ran
    assert command == "notify"
    assert (told["CAUSE"], told["PLACE"]) == ("held-lock", "train.py:3")
    assert told["MESSAGE"].startswith("stuck: a thread waits")
    assert told["RECORDING"] == str(tmp_path)


def test_a_real_script_that_asks_is_told_of_and_goes_on_when_it_is_answered(tmp_path):
    """From the recording and the system's tables to the line on the screen: some ten seconds."""
    (tmp_path / "train.py").write_text("print('got', input('overwrite? '))\n")
    command = (*QUICKFIT, "run", "--on-stuck", 'echo "$QUICKFIT_CAUSE" > told', "train.py")
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=clean_env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as script:
        said = b""
        while b"(waits-for-stdin)" not in said:
            line = script.stderr.readline()
            assert line, said.decode()
            said += line
        out, _ = script.communicate(b"y\n", timeout=PATIENCE_S)
    assert (script.returncode, out) == (0, b"overwrite? got y\n")
    assert b"stuck: the script waits for somebody to type \xe2\x80\x94 train.py:1" in said
    (noted,) = read_run_file(newest_run(tmp_path))["quiet"]
    assert (noted["cause"], noted["line"]) == ("waits-for-stdin", 1)
    eventually((tmp_path / "told").exists, "the command has run")


def test_the_command_is_told_of_an_unknown_silence_too(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(launching, "run_command", lambda *given: ran.append(given))
    run = Run(tmp_path, command="notify")
    run.later(LOOK_S, News("unknown", "quiet, cause unknown", "hint"))
    assert (ran[0][1]["CAUSE"], ran[0][1]["PLACE"]) == ("unknown", "")
