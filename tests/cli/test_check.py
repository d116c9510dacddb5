"""`quickfit check` as a process of its own: its help, its ends, odd names, and no TensorFlow."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import typer
import yaml

from checking.cases import CLEAN, REPAIRED, SHUFFLED, notebook
from quickfit.checking.command import Request
from quickfit.cli import check as check_module
from quickfit.cli.check import check
from quickfit.cli.main import app, arranged

from launch.sessions import PATIENCE_S, clean_env, quickfit

ROOT = Path(__file__).parent.parent.parent
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def asked(home, monkeypatch):
    """Return what the command line asks for, as a request."""
    requests = []
    monkeypatch.setattr(
        "quickfit.checking.command.check", lambda request, **streams: requests.append(request) or 0
    )

    def ask(*words):
        command = typer.main.get_command(app())
        command(args=["check", *words], prog_name="quickfit", standalone_mode=False)
        return requests[-1]

    return ask


def test_without_a_word_this_folder_is_checked(asked):
    assert asked() == Request()


def test_every_option_arrives(asked):
    words = "a.py b --select x --select y,z --ignore w --hints --fix --diff --accept equivalent"
    words += " -f sarif -o out --statistics --exit-zero --config c --isolated --jobs 3"
    assert asked(*words.split(), "--stdin-filename", "n.py") == Request(
        words=("a.py", "b"),
        select=("x", "y,z"),
        ignore=("w",),
        hints=True,
        format="sarif",
        output=Path("out"),
        statistics=True,
        exit_zero=True,
        fixes=True,
        diff=True,
        accepted=frozenset(["equivalent"]),
        config=Path("c"),
        isolated=True,
        jobs=3,
        stdin_name="n.py",
    )


def test_options_may_stand_behind_the_paths(asked):
    assert asked("a.py", "--fix").fixes
    assert arranged(["check", "a.py", "--fix"]) == ["check", "a.py", "--fix"]


def test_a_name_that_begins_with_a_dash_stands_behind_two(asked):
    assert asked("--", "-odd.py").words == ("-odd.py",)
    assert asked("-").words == ("-",)


def test_the_help_teaches_with_examples_first(home):
    shown = quickfit(home, "check", "--help").stdout.decode()
    assert shown.index("quickfit check --fix train.py") < shown.index("--select")
    for word in ("--hints", "--statistics", "ignore[cause]", "[tool.quickfit]", "Ends with 0"):
        assert word in shown
    assert b"quickfit check train.py" in quickfit(home, "--help").stdout


def test_the_help_names_no_option_that_is_not_there():
    command = typer.main.get_command(app()).commands["check"]
    options = {name for param in command.params for name in param.opts}
    words = (check.__doc__ or "").replace("`", " ").split()
    assert {word for word in words if word.startswith("--")} <= {*options, "--undo"}
    assert check_module.__doc__


@pytest.mark.parametrize(("text", "code"), [(CLEAN, 0), (SHUFFLED, 1), ("x = = 1\n", 2)])
def test_how_it_ends(home, text, code):
    (home / "a.py").write_text(text)
    done = quickfit(home, "check", "a.py")
    assert (done.returncode, done.stderr) == (code, b"")


def test_neither_tensorflow_nor_the_checked_files_are_imported(home):
    (home / "a.py").write_text(f"open('ran', 'w')\n{SHUFFLED}")
    code = "import sys; from quickfit.cli.main import main\ntry: main()\n"
    code += "finally: print(sorted({'tensorflow', 'keras'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "--fix", "a.py"],
        cwd=home,
        env=clean_env(),
        capture_output=True,
        check=False,
    )
    assert done.stdout.endswith(b"\n[]\n")
    assert not (home / "ran").exists()


ODD = (b"\xff.py", b"new\nline.py", b"a,b:c.py", "名 前.py".encode(), b"-o.py", b"%41.py")


@pytest.mark.parametrize("format", ["text", "markdown", "json", "sarif", "github"])
def test_names_of_any_kind_are_told_in_every_format(home, format):
    for name in ODD:
        (home / os.fsdecode(name)).write_text(SHUFFLED)
    done = quickfit(home, "check", "--format", format, env=clean_env(LC_ALL="C.UTF-8"))
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode().count("no such buffer") == len(ODD)
    if format in ("json", "sarif"):
        json.loads(done.stdout)


def test_a_terminal_without_letters_is_no_error(home):
    (home / "ö.py").write_text(SHUFFLED.replace("ds", "größe"))
    env = clean_env(PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    done = quickfit(home, "check", env=env)
    assert done.returncode == 1
    assert b"gr\\xf6" in done.stdout


def test_a_reader_that_goes_away_is_no_error(home):
    for number in range(200):
        (home / f"{number}.py").write_text(SHUFFLED)
    command = f"{sys.executable} -m quickfit check | head -1"
    done = subprocess.run(
        command, shell=True, cwd=home, env=clean_env(), capture_output=True, check=True
    )
    assert done.stdout == b"0.py:2:31  crashes  shuffle-autotune\n"
    assert done.stderr == b""


def test_fix_and_undo(home):
    (home / "a.py").write_text(SHUFFLED)
    (home / "b.ipynb").write_bytes(notebook(*SHUFFLED.splitlines()))
    before = (home / "b.ipynb").read_bytes()
    assert quickfit(home, "check", "--fix").returncode == 0
    assert (home / "a.py").read_text() == REPAIRED
    assert (home / "b.ipynb").read_bytes() != before
    done = quickfit(home, "fix", "--undo")
    assert b"Undone: check --fix: shuffle-autotune in" in done.stdout
    assert (home / "a.py").read_text() == SHUFFLED
    assert (home / "b.ipynb").read_bytes() == before


SLOW = """
import sys, time
from quickfit.checking.scanning import Scanner
def check(self, path):
    print("up", flush=True)
    time.sleep(600)
Scanner.check = check
sys.argv = ["quickfit", "check", "--jobs", "2"]
from quickfit.cli.main import main
main()
"""


@pytest.fixture
def slow(home):
    """A check that takes long, with two processes at work."""
    for number in range(8):
        (home / f"{number}.py").write_text(CLEAN)
    with subprocess.Popen(
        [sys.executable, "-c", SLOW],
        cwd=home,
        env=clean_env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        for _ in range(2):
            process.stdout.readline()
        process.workers = psutil.Process(process.pid).children(recursive=True)
        yield process
        process.kill()


def all_gone(workers):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if not any(w.is_running() and w.status() != psutil.STATUS_ZOMBIE for w in workers):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["it alone", "the whole group"])
def test_an_interrupt_ends_it_at_once_without_a_traceback(slow, send):
    assert len(slow.workers) == 2
    send(slow.pid, signal.SIGINT)
    _, err = slow.communicate(timeout=PATIENCE_S)
    assert slow.returncode == 128 + signal.SIGINT
    assert err == b""
    assert all_gone(slow.workers)


def test_its_processes_end_with_it(slow):
    slow.kill()
    assert all_gone(slow.workers)


def test_the_hook_is_one_that_pre_commit_takes():
    assert HOOK["id"] == "quickfit-check"
    assert HOOK["language"] == "python"
    assert set(HOOK["types_or"]) == {"python", "jupyter"}
    assert HOOK["require_serial"] is True
    assert set(HOOK) <= {
        *("id", "name", "description", "entry", "language", "types_or", "require_serial"),
    }


def test_the_entry_of_the_hook_runs_with_the_files_behind_it(home):
    (home / "a.py").write_text(SHUFFLED)
    (home / "b.ipynb").write_bytes(notebook("x = 1"))
    program, *words = HOOK["entry"].split()
    assert program == "quickfit"
    done = quickfit(home, *words, "a.py", "b.ipynb")
    assert done.returncode == 1
    assert b"1 finding in 1 of 2 files" in done.stdout
