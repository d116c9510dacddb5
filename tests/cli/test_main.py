"""Which command a command line means, and what belongs to the script."""

import sys

import pytest
from typer.testing import CliRunner

import quickfit as package
from quickfit.cli.main import COMMANDS, app, arranged, main
from quickfit.errors import RecordingError, UsageError

from launch.sessions import outcome, python, quickfit


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("run train.py --steps 3 --help", "run -- train.py --steps 3 --help"),
        ("run --steps 3 train.py --steps 4", "run --steps 3 -- train.py --steps 4"),
        ("run --steps=3 train.py -m x", "run --steps=3 -- train.py -m x"),
        ("run -m pkg.mod --help", "run -m pkg.mod -- --help"),
        ("run -mpkg.mod x", "run -mpkg.mod -- x"),
        ("run --output o -m pkg.mod -m x", "run --output o -m pkg.mod -- -m x"),
        ("run -- train.py -- x", "run -- train.py -- x"),
        ("run - x", "run -- - x"),
        ("run --help", "run --help"),
        ("run", "run"),
        ("run -m", "run -m"),
        ("run --output", "run --output"),
        ("run --unknown train.py", "run --unknown -- train.py"),
        ("train.py --version", "run -- train.py --version"),
        ("missing.py", "run -- missing.py"),
        ("-m pkg.mod --version", "run -m pkg.mod -- --version"),
        ("--steps 3 train.py", "run --steps 3 -- train.py"),
        ("--for=60s train.py", "run --for=60s -- train.py"),
        ("tune train.py --budget 1m", "tune -- train.py --budget 1m"),
        ("tune --budget 1m train.py x", "tune --budget 1m -- train.py x"),
        ("tune train:build --budget 1m", "tune train:build --budget 1m"),
        ("tune --only xla train:build", "tune --only xla train:build"),
        ("report --format json", "report --format json"),
        ("--help", "--help"),
        ("--version", "--version"),
        ("", "--help"),
    ],
)
def test_a_command_line(typed, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    assert arranged(typed.split()) == meant.split()


def test_a_script_without_a_suffix_is_run_and_a_command_wins_over_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text("")
    (tmp_path / "report").write_text("")
    assert arranged(["train", "x"]) == ["run", "--", "train", "x"]
    assert arranged(["report"]) == ["report"]


def test_an_unknown_command_gets_the_nearest_and_the_list():
    with pytest.raises(UsageError) as caught:
        arranged(["reprot"])
    assert str(caught.value) == (
        "reprot: there is no such command and no such script.\n"
        "Did you mean: quickfit report\n"
        f"Commands: {', '.join(COMMANDS)}.\n"
        "To watch a script:\n    quickfit run train.py"
    )
    with pytest.raises(UsageError) as caught:
        arranged(["zzzzzz"])
    assert "Did you mean" not in str(caught.value)


def test_an_error_of_ours_is_a_message_and_an_exit_code(monkeypatch, capsys):
    def fail(args):
        raise RecordingError("run.qfrun: broken.\nRecord it again.")

    monkeypatch.setattr("quickfit.cli.main.arranged", fail)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == RecordingError.exit_code
    assert capsys.readouterr() == ("", "quickfit: run.qfrun: broken.\nRecord it again.\n")


def test_the_version_is_printed(tmp_path):
    done = quickfit(tmp_path, "--version")
    assert (done.stdout, done.stderr) == (f"quickfit {package.__version__}\n".encode(), b"")


def test_help_has_an_example_of_every_command(tmp_path):
    shown = quickfit(tmp_path, "--help").stdout.decode()
    for name in COMMANDS:
        assert f"quickfit {name}" in shown
    assert ".quickfit/runs" in shown
    assert quickfit(tmp_path).stdout.decode() == shown


def test_help_of_a_command_is_plain_text(tmp_path):
    for name in COMMANDS:
        done = quickfit(tmp_path, name, "--help")
        assert done.returncode == 0, done.stderr.decode()
        assert f"Usage: quickfit {name}".encode() in done.stdout
        assert b"\x1b" not in done.stdout


def test_help_imports_nothing_slow(tmp_path):
    code = (
        "import sys; sys.argv = ['quickfit', '--help']\n"
        "from quickfit.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "slow = ('tensorflow', 'keras', 'numpy', 'rich', 'sqlite3', 'psutil')\n"
        "print([name for name in slow if name in sys.modules], file=sys.stderr)\n"
    )
    assert python(tmp_path, "-c", code).stderr == b"[]\n"


def test_the_installed_command_is_the_same(tmp_path):
    installed = f"{sys.prefix}/bin/quickfit"
    assert outcome((installed, "--version"), tmp_path).stdout.startswith(b"quickfit ")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("quickfit exp", ["export", "explain"]),
        ("quickfit export --to ", ["tensorboard", "mlflow", "wandb", "perfetto"]),
        ("quickfit explain sequen", ["sequential-map"]),
    ],
)
def test_a_shell_completes_commands_values_and_causes(words, completed):
    env = {"_QUICKFIT_COMPLETE": "complete_bash", "COMP_WORDS": words}
    env["COMP_CWORD"] = str(words.count(" "))
    result = CliRunner().invoke(app(), [], env=env, prog_name="quickfit")
    assert sorted(result.stdout.split()) == sorted(completed)
