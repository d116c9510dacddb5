"""`quickfit fix` on the command line: what is asked for, and clear errors."""

from pathlib import Path

import pytest
import typer

from quickfit.cli.fix import OPTIONS, asked_for, fix, is_recording
from quickfit.cli.main import app, arranged
from quickfit.errors import UsageError
from quickfit.fixing import write
from quickfit.fixing.story import Request
from quickfit.launch.target import Target
from stories import outcome, story, write_script

from launch.sessions import quickfit


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_script(tmp_path)
    return tmp_path


def asked(*words, module=None, only=(), budget="5m", proves=True):
    return asked_for(list(words), module, list(only), budget, proves=proves)


def test_a_script_takes_everything_behind_its_name():
    assert asked("train.py", "--apply", "sequential-map") == Request(
        Target(script="train.py", args=("--apply", "sequential-map"))
    )


def test_a_module_takes_all_words():
    assert asked("--lr", "1", module="pkg.mod") == Request(
        Target(module="pkg.mod", args=("--lr", "1"))
    )


def test_behind_a_recording_stand_causes():
    assert asked("a.qfrun", "sequential-map", only=["tiny-batch"]) == Request(
        run=Path("a.qfrun"), causes=("sequential-map", "tiny-batch")
    )


def test_an_option_behind_a_recording_is_said_with_the_right_command():
    with pytest.raises(UsageError) as caught:
        asked("a.qfrun", "sequential-map", "--apply")
    assert "--apply stands behind the recording" in str(caught.value)
    assert "    quickfit fix --apply a.qfrun sequential-map" in str(caught.value)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("5m", 300.0), ("1h", 3600.0)])
def test_a_budget_is_a_time(text, seconds):
    assert asked("train.py", budget=text).budget_s == seconds


def test_what_is_no_time_is_refused():
    with pytest.raises(UsageError, match=r"--budget.*this is not a length of time"):
        asked("train.py", budget="soon")


def test_recordings_are_told_from_scripts(tmp_path):
    assert is_recording("a.qfrun")
    assert is_recording("a.qfrun/12.sqlite")
    assert not is_recording("train.py")
    assert not is_recording(str(tmp_path))
    (tmp_path / "run.json").write_text("{}")
    assert is_recording(str(tmp_path))


def test_the_table_of_options_is_complete():
    command = typer.main.get_command(app()).commands["fix"]
    options = {
        name: param for param in command.params for name in (*param.opts, *param.secondary_opts)
    }
    del options["words"]
    assert {*options, "--help"} == set(OPTIONS)
    assert all(OPTIONS[name] != param.is_flag for name, param in options.items())


def test_options_before_the_name_are_ours_and_those_behind_it_the_scripts():
    words = ["fix", "--apply", "--budget", "60s", "train.py", "--apply", "-m"]
    assert arranged(words) == [*words[:4], "--", *words[4:]]


@pytest.fixture
def told(home, monkeypatch):
    """Answer every request with one story, and note what was asked for."""
    requests = []

    def tell(request, err):
        requests.append(request)
        return story(home, outcome(home / "train.py"))

    monkeypatch.setattr(write, "told", tell)
    return requests


def test_the_whole_way_from_proof_to_undo(told, home, capsys):
    before = (home / "train.py").read_text()
    fix(["train.py", "--epochs", "3"], budget="60s", no_proof=False)
    assert told == [Request(Target(script="train.py", args=("--epochs", "3")), budget_s=60.0)]
    assert "quickfit fix --apply" in capsys.readouterr().out
    fix(apply=True)
    assert len(told) == 1  # it was proven already
    assert "num_parallel_calls" in (home / "train.py").read_text()
    fix(undo=True)
    assert (home / "train.py").read_text() == before
    assert "Undone: sequential-map in train.py" in capsys.readouterr().out


def test_without_a_proof_nothing_is_tried(told):
    fix(["train.py"], no_proof=True)
    assert not told[0].proves


def test_without_a_script_it_says_what_to_name(home):
    done = quickfit(home, "fix")
    assert done.returncode == 2
    assert b"no script and no recording was given" in done.stderr
    assert b"    quickfit fix train.py" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--apply",), 4, b"nothing was proven here yet"),
        (("--undo",), 4, b"there is no fix to undo here"),
        (("gone.py",), 2, b"gone.py: cannot run this script"),
        (("no-such.qfrun",), 3, b"no-such.qfrun"),
        (("--budget", "soon", "train.py"), 2, b"this is not a length of time"),
        (("--accept", "everything", "train.py"), 2, b"everything"),
        (("x.qfrun", "--apply"), 2, b"--apply stands behind the recording"),
    ],
)
def test_errors_are_messages_with_their_exit_code(home, words, code, said):
    done = quickfit(home, "fix", *words)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_a_script_that_cannot_be_tried_is_said_and_nothing_is_left_behind(home):
    (home / "train.py").write_text("import os\nos.remove('data.csv')\n")
    (home / "data.csv").write_text("precious")
    done = quickfit(home, "fix", "train.py")
    assert done.returncode == 4
    assert b"train.py: cannot be tried safely: train.py:2 deletes data.csv" in done.stderr
    assert b"quickfit run train.py" in done.stderr
    assert sorted(path.name for path in home.iterdir()) == ["data.csv", "train.py"]


def test_settings_are_tried_where_that_is_asked_for(told):
    fix(["train.py"], tune=True)
    fix(["train.py"])
    assert [request.tunes for request in told] == [True, False]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--apply", "--diff", "train.py"), b"fix: --apply and --diff do not go together"),
        (("--apply", "--diff"), b"fix: --apply and --diff do not go together"),
        (("--undo", "--apply"), b"fix: --undo puts back what was written last"),
        (("--undo", "train.py"), b"does nothing about a script"),
        (("--no-proof", "--apply", "train.py"), b"with --no-proof nothing is"),
    ],
)
def test_options_that_speak_against_each_other_are_refused_before_anything_runs(home, words, said):
    done = quickfit(home, "fix", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert [path.name for path in home.iterdir()] == ["train.py"]


def test_what_nobody_has_tried_is_written_where_that_is_insisted_on(told, home):
    fix(["train.py"], no_proof=True, apply=True, force=True)
    assert "num_parallel_calls" in (home / "train.py").read_text()
