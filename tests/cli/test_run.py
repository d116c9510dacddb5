"""`quickfit run` on the command line: its own options, and clear errors."""

import json
import subprocess

import pytest
import typer
from typer.testing import CliRunner

from quickfit.cli.main import app
from quickfit.cli.run import OPTIONS, asked_stop, time_of
from quickfit.errors import UsageError
from quickfit.launch import parent
from quickfit.recording.folder import read_run_file

from launch.sessions import QUICKFIT, clean_env, newest_run, quickfit


@pytest.mark.parametrize(
    ("steps", "duration", "stop"),
    [
        (None, None, None),
        ("200", None, {"steps": 200}),
        (None, "90", {"seconds": 90.0}),
        (None, "60s", {"seconds": 60.0}),
        (None, "1.5m", {"seconds": 90.0}),
        (None, "5 min", {"seconds": 300.0}),
        ("3", "1h", {"steps": 3, "seconds": 3600.0}),
    ],
)
def test_when_to_stop(steps, duration, stop):
    assert asked_stop(steps, duration) == stop


@pytest.mark.parametrize("text", ["0", "-3", "many", "1.5", "", "٣", "9" * 40])
def test_what_is_not_a_number_of_steps_is_refused(text):
    with pytest.raises(UsageError, match=r"this is not a number of steps\.\nGive a whole number"):
        asked_stop(text, None)


@pytest.mark.parametrize(
    "text", ["0", "0s", "-3s", "soon", "5d", "1e9", "inf", "nan", "", "9" * 40]
)
def test_what_is_not_a_time_is_refused(text):
    with pytest.raises(UsageError, match=r"this is not a length of time\.\nGive seconds, minutes"):
        asked_stop(None, text)


@pytest.mark.parametrize("text", ["0", "-3s", "soon", "", "5d"])
def test_what_is_not_a_time_to_be_stuck_after_is_refused(text):
    with pytest.raises(UsageError, match=r"--stuck-after .*: this is not a length of time"):
        time_of("--stuck-after", text)


def asked(monkeypatch, *args):
    """Return what `quickfit run` asks to be watched for."""
    given = {}
    monkeypatch.setattr(parent, "run", lambda target, **options: given.update(options))
    result = CliRunner().invoke(app(), ["run", *args, "train.py"])
    assert result.exit_code == 0, result.output
    return given["watching"]


def test_what_to_do_about_a_silence_or_a_slowdown_can_be_said(monkeypatch):
    told = asked(
        monkeypatch, "--stuck-after", "2m", "--on-stuck", "notify a", "--on-slowdown=notify b"
    )
    assert told == parent.Watching(120.0, "notify a", "notify b")


def test_a_run_is_watched_without_being_asked_to(monkeypatch):
    assert asked(monkeypatch) == parent.Watching(None, None, None)


def test_the_table_of_options_is_complete():
    command = typer.main.get_command(app()).commands["run"]
    options = {
        name: param for param in command.params for name in (*param.opts, *param.secondary_opts)
    }
    del options["words"]
    assert {*options, "--help"} == set(OPTIONS)
    assert all(OPTIONS[name] != param.is_flag for name, param in options.items())


def test_options_after_the_name_belong_to_the_script(tmp_path):
    (tmp_path / "train.py").write_text("import sys; print(sys.argv[1:])")
    done = quickfit(tmp_path, "train.py", "--steps", "x", "--output", "--help", "--", "-m")
    assert done.stdout == b"['--steps', 'x', '--output', '--help', '--', '-m']\n"
    assert done.returncode == 0


def test_the_script_is_told_when_to_stop_and_records_where_it_was_asked_to(tmp_path):
    (tmp_path / "train.py").write_text("import os; print(os.environ['QUICKFIT_STOP'])")
    done = quickfit(
        tmp_path, "run", "--steps", "7", "--for=1m", "--output", "out.qfrun", "train.py"
    )
    assert done.stdout == b'{"steps": 7, "seconds": 60.0}\n'
    assert b"recording in out.qfrun" in done.stderr
    assert read_run_file(tmp_path / "out.qfrun")["exit_code"] == 0
    assert not (tmp_path / ".quickfit").exists()


def test_the_report_is_written_as_a_page_too_and_the_exit_code_stays(tmp_path):
    (tmp_path / "train.py").write_text("raise SystemExit(7)")
    done = quickfit(tmp_path, "run", "--html", "report.html", "train.py", "--html")
    assert (done.returncode, done.stdout) == (7, b"")
    assert done.stderr.endswith(b"quickfit: page: report.html\n")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_a_page_that_could_not_be_written_is_refused_before_the_script_starts(tmp_path):
    (tmp_path / "train.py").write_text("print('ran')")
    (tmp_path / "notes.html").write_text("mine")
    done = quickfit(tmp_path, "run", "--html", "notes.html", "train.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"notes.html: there is a file that is not a page of quickfit" in done.stderr
    assert not (tmp_path / ".quickfit").exists()


def test_a_run_that_is_there_already_is_not_overwritten(tmp_path):
    (tmp_path / "train.py").write_text("print('ran')")
    quickfit(tmp_path, "run", "--output", "out.qfrun", "train.py")
    before = (tmp_path / "out.qfrun" / "run.json").read_bytes()
    done = quickfit(tmp_path, "run", "--output", "out.qfrun", "train.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"out.qfrun: already exists, and a recording is never overwritten" in done.stderr
    assert (tmp_path / "out.qfrun" / "run.json").read_bytes() == before


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "train.py").write_text("print('ran')")
    (tmp_path / "file").write_text("")
    done = quickfit(tmp_path, "run", "--output", "file/out.qfrun", "train.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Choose a place you may write to with --output FOLDER" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run",), b"quickfit: run: no script was given."),
        (("run", "missing.py"), b"quickfit: missing.py: cannot run this script"),
        (("missing.py",), b"quickfit: missing.py: cannot run this script"),
        (("run", "."), b"this is a folder without a __main__.py"),
        (("run", "/bin/true"), b"this is not a Python script"),
        (("run", "--steps", "x", "a.py"), b"quickfit: --steps x: this is not a number of steps"),
        (("run", "--stuck-after", "x", "a.py"), b"quickfit: --stuck-after x: this is not a length"),
        (("run", "--step", "3", "a.py"), b"No such option: --step"),
        (("run", "-m"), b"requires an argument"),
        (("runn", "a.py"), b"Did you mean: quickfit run"),
    ],
)
def test_a_mistake_gets_a_message_and_exit_code_two(args, message, tmp_path):
    done = quickfit(tmp_path, *args)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / ".quickfit").exists()


def test_a_run_inside_a_run_has_its_own_recording(tmp_path):
    (tmp_path / "inner.py").write_text("print('inner')")
    (tmp_path / "outer.py").write_text(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'quickfit', 'run', 'inner.py'], check=True)\n"
    )
    done = quickfit(tmp_path, "run", "outer.py")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"inner\n"
    assert len(list((tmp_path / ".quickfit" / "runs").glob("*.qfrun"))) == 2
    assert newest_run(tmp_path)


def test_turbo_reaches_the_script_and_excludes_the_slow_run(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(parent, "run", lambda target, **options: given.update(options))
    assert CliRunner().invoke(app(), ["run", "--turbo", "train.py"]).exit_code == 0
    assert given["turbo"] is True
    assert parent.environment(tmp_path, None, turbo=True)["QUICKFIT_TURBO"] == "1"
    monkeypatch.setenv("QUICKFIT_TURBO", "1")
    assert "QUICKFIT_TURBO" not in parent.environment(tmp_path, None)
    both = CliRunner().invoke(app(), ["run", "--turbo", "--memory", "train.py"])
    assert isinstance(both.exception, UsageError) or both.exit_code == 2


def test_json_goes_to_the_file_that_was_named_and_stdout_is_the_scripts(tmp_path):
    (tmp_path / "train.py").write_text("print('mine')")
    asked = ("run", "--format", "json", "--report-to", "report.json", "train.py")
    done = quickfit(tmp_path, *asked)
    assert done.stdout == b"mine\n"
    assert done.stderr.endswith(b"quickfit: report: report.json\n")
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "no-steps"
    assert quickfit(tmp_path, *asked).returncode == 0  # an earlier report is replaced


def test_a_report_goes_to_a_descriptor(tmp_path):
    (tmp_path / "train.py").write_text("print('mine')")
    with open(tmp_path / "out.txt", "wb") as file:
        asked = ("run", "--format", "markdown", "--report-to", f"/dev/fd/{file.fileno()}")
        command = [*QUICKFIT, *asked, "train.py"]
        given = {"cwd": tmp_path, "env": clean_env(), "pass_fds": (file.fileno(),)}
        done = subprocess.run(command, capture_output=True, check=True, **given)
    assert done.stdout == b"mine\n"
    assert (tmp_path / "out.txt").read_text().startswith("### quickfit: `train.py`\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "json"), "--format json needs a place of its own: stdout is the script's"),
        (("--report-to", "train.py"), "there is a file that is not a report of quickfit; nothing"),
        (("--report-to", "no/x"), "the folder no does not exist"),
        (("--report-to", "."), "is a folder"),
    ],
)
def test_where_a_report_cannot_go_is_said_before_the_script_starts(tmp_path, words, said):
    (tmp_path / "train.py").write_text("print('ran')")
    done = quickfit(tmp_path, "run", *words, "train.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert (tmp_path / "train.py").read_text() == "print('ran')"
