"""Scripts that do odd things run the same with and without quickfit."""

import ast
import shutil
from pathlib import Path

import pytest

from quickfit.recording import reader
from quickfit.recording.folder import read_run_file

from launch.sessions import QUICKFIT, Terminal, clean_env, newest_run, of_the_script, python

ODD = Path(__file__).parent / "scripts" / "odd"
PLAIN, TRAINS = ODD / "plain.py", ODD / "trains.py"
STDIN = b"one\ntwo\nthree\nfour\n"
TF = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}


def cases(script):
    """Return the names of the cases of a script: the functions marked with `@case`."""
    functions = [n for n in ast.parse(script.read_text()).body if isinstance(n, ast.FunctionDef)]
    return [f.name for f in functions if "case" in map(ast.unparse, f.decorator_list)]


def check_same(folder, *args, flags=(), **env):
    """Run the same command with and without quickfit, and compare all that can be seen of it."""
    how = {"stdin": STDIN, "env": clean_env(**env)}
    plain = python(folder, *flags, *args, **how)
    watched = python(folder, *flags, "-m", "quickfit", "run", *args, **how)
    assert plain.stdout, plain.stderr.decode()
    assert watched.stdout.decode() == plain.stdout.decode()
    assert of_the_script(watched.stderr).decode() == plain.stderr.decode()
    assert watched.returncode == plain.returncode
    assert b"not watching" not in watched.stderr
    return plain


@pytest.mark.parametrize("case", cases(PLAIN))
def test_a_script_is_the_same_that_does(case, tmp_path):
    check_same(tmp_path, str(PLAIN), case)


@pytest.mark.parametrize("flags", [("-O",), ("-W", "error"), ("-OO", "-Werror", "-Xdev")], ids=str)
def test_flags_of_python_do_not_show_quickfit(flags, tmp_path):
    check_same(tmp_path, str(PLAIN), "warn", flags=flags)


@pytest.mark.parametrize("case", ["pools", "execute_again", "end_in_order"])
def test_a_module_is_the_same_that_does(case, tmp_path):
    shutil.copytree(ODD, tmp_path / "odd")
    check_same(tmp_path, "-m", "odd.plain", case)


@pytest.mark.parametrize("name", ["C", "C.UTF-8", "de_DE.UTF-8", "nonsense"])
def test_the_locale_is_the_scripts(name, tmp_path):
    (tmp_path / "train.py").write_text(
        "import locale, os, sys, time\n"
        "print(locale.setlocale(locale.LC_ALL), sys.stdout.encoding, sys.flags.utf8_mode)\n"
        "time.sleep(0.7)\nprint(os.environ['LC_ALL'])\n"
    )
    check_same(tmp_path, "train.py", LC_ALL=name)


def test_the_scripts_own_modules_win_over_those_of_python(tmp_path):
    names = ("statistics", "random", "tempfile", "calendar", "asyncio")
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"MINE = '{name}'\n")
    source = "".join(f"import {name}; print({name}.MINE)\n" for name in names)
    (tmp_path / "train.py").write_text(source + "import time; time.sleep(0.7)\n")
    check_same(tmp_path, "train.py")


# With TensorFlow

# Its alarms come every 10 ms: on a busy machine one may come where the script does not expect it.
NEEDS_QUIET = "interruptions"


@pytest.mark.tf
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case == NEEDS_QUIET else pytest.mark.tf_any)
        for case in cases(TRAINS)
    ],
)
def test_training_is_the_same_that_meets(case, tmp_path):
    plain = check_same(tmp_path, str(TRAINS), case, **TF)
    assert plain.returncode == {"interruptions": 5, "places": 1}.get(case, 0)
    recording = reader.read(newest_run(tmp_path))
    assert recording.main.rows("loops"), "nothing was recorded"


@pytest.mark.tf
@pytest.mark.tf_any
def test_lines_of_tensorflows_log_are_found_on_a_terminal(tmp_path):
    shutil.copy(ODD / "logs.py", tmp_path)
    with Terminal((*QUICKFIT, "run", "logs.py"), tmp_path) as terminal:
        assert terminal.end() == 0
    seen = {line["pattern"]: line for line in read_run_file(newest_run(tmp_path))["log_lines"]}
    assert seen["retracing"]["numbers"][0] >= 5
    assert "cached" in seen["cache-not-read"]["text"]
    for line in seen.values():
        assert line["text"].encode() in terminal.shown
