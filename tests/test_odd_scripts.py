"""Scripts that do odd things run the same with and without quickfit."""

import ast
import shutil
from pathlib import Path

import pytest

from quickfit.recording import reader
from quickfit.recording.folder import read_run_file

from launch.sessions import (
    QUICKFIT,
    Terminal,
    clean_env,
    installed_command,
    newest_run,
    of_the_script,
    outcome,
    python,
)

ODD = Path(__file__).parent / "scripts" / "odd"
PLAIN, LOOKS, TRAINS = ODD / "plain.py", ODD / "looks.py", ODD / "trains.py"
STDIN = b"one\ntwo\nthree\nfour\n"
TF = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}


def cases(script):
    """Return the names of the cases of a script: the functions marked with `@case`."""
    functions = [n for n in ast.parse(script.read_text()).body if isinstance(n, ast.FunctionDef)]
    return [f.name for f in functions if "case" in map(ast.unparse, f.decorator_list)]


def check_same(folder, *args, flags=(), stdin=STDIN, **env):
    """Run the same command with and without quickfit, and compare all that can be seen of it."""
    how = {"stdin": stdin, "env": clean_env(**env)}
    plain = python(folder, *flags, *args, **how)
    if flags:
        watched = python(folder, *flags, "-m", "quickfit", "run", *args, **how)
    else:
        command = installed_command(folder.parent / "bin")
        watched = outcome((command, "run", *args), folder, **how)
    assert plain.stdout, plain.stderr.decode()
    assert watched.stdout.decode() == plain.stdout.decode()
    assert of_the_script(watched.stderr).decode() == plain.stderr.decode()
    assert watched.returncode == plain.returncode
    assert b"not watching" not in watched.stderr
    return plain


@pytest.mark.parametrize("case", cases(PLAIN))
def test_a_script_is_the_same_that_does(case, tmp_path):
    check_same(tmp_path, str(PLAIN), case)


@pytest.mark.parametrize("case", cases(LOOKS))
def test_a_script_sees_the_same_that_looks_at(case, tmp_path):
    check_same(tmp_path, str(LOOKS), case)


def test_a_part_of_a_package_that_python_had_loaded_is_found(tmp_path):
    """A `sitecustomize` loads a package, quickfit more of it, and the script the same."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.pth").write_text("import importlib, json\n")
    (tmp_path / "train.py").write_text(
        "import importlib.util, importlib.machinery, json.decoder, urllib.parse\n"
        "import collections.abc, os.path, sqlite3.dbapi2\n"
        "print(importlib.util.__name__, json.decoder.__file__, urllib.parse.__file__)\n"
    )
    start = f"import site; site.addsitedir({str(tmp_path / 'lib')!r})\n"
    (tmp_path / "lib" / "sitecustomize.py").write_text(start)
    check_same(tmp_path, "train.py", PYTHONPATH=str(tmp_path / "lib"))


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


# Of the standard library: some that quickfit loads before the script, and some that it does not.
SHADOWED = (
    *("json", "threading", "signal", "sqlite3", "hashlib", "dataclasses", "typing", "contextlib"),
    *("re", "types", "pathlib", "importlib", "functools", "enum", "inspect", "dis", "ctypes"),
    *("statistics", "random", "tempfile", "calendar", "asyncio", "queue", "unicodedata"),
)


def write_shadows(folder, *names):
    """Write modules and packages that are named as Python's own, and say how often they ran."""
    for number, name in enumerate(names):
        file = folder / (f"{name}.py" if number % 2 else f"{name}/__init__.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"MINE = '{name}'\nprint('{name} is run')\n")


def importing(*names):
    """Return a script that prints where modules are from, and goes on for a while."""
    lines = [f"import {name}; print('{name}', getattr({name}, 'MINE', 0))" for name in names]
    return "\n".join([*lines, "import time; time.sleep(0.7)", ""])


@pytest.mark.parametrize("name", ["json", "threading", "typing", "sqlite3", "queue"])
def test_a_module_beside_the_script_wins_over_the_one_of_python(name, tmp_path):
    write_shadows(tmp_path, name)
    (tmp_path / "train.py").write_text(importing(name))
    done = check_same(tmp_path, "train.py")
    assert f"{name} {name}\n".encode() in done.stdout


def test_many_modules_beside_the_script_win_over_those_of_python(tmp_path):
    write_shadows(tmp_path, *SHADOWED)
    (tmp_path / "train.py").write_text(importing(*SHADOWED))
    check_same(tmp_path, "train.py")
    assert reader.read(newest_run(tmp_path)).main.rows("machine"), "nothing was recorded"


def test_a_module_of_python_gets_the_scripts_own_as_without_quickfit(tmp_path):
    write_shadows(tmp_path, "random")
    source = "import tempfile, random\nprint(random.MINE)\ntempfile.mkdtemp()\n"
    (tmp_path / "train.py").write_text(source)
    assert check_same(tmp_path, "train.py").returncode == 1  # Python's `tempfile` needs a `Random`


@pytest.mark.parametrize("way", ["-m", "-", "zip", "folder", "PYTHONPATH", "sys.path", "package"])
def test_modules_of_the_script_are_found_as_without_quickfit(way, tmp_path):
    names = ("json", "threading", "pathlib", "queue")
    home = tmp_path / "home"
    write_shadows(home, *names)
    (home / "__main__.py").write_text(importing(*names))
    if way == "zip":
        shutil.make_archive(str(tmp_path / "app"), "zip", home)
        check_same(tmp_path, "app.zip")
    elif way == "folder":
        check_same(tmp_path, "home")
    elif way == "package":
        (home / "__init__.py").write_text("")
        assert b"json 0\n" in check_same(tmp_path, "-m", "home").stdout
    elif way == "-m":
        (home / "start.py").write_text(importing(*names))
        check_same(home, "-m", "start")
    elif way == "-":
        source = importing(*names).encode()
        check_same(home, "-", stdin=source)
    else:
        insert = f"import sys; sys.path.insert(0, {str(home)!r})\n" if way == "sys.path" else ""
        (tmp_path / "train.py").write_text(insert + importing(*names))
        env = {"PYTHONPATH": str(home)} if way == "PYTHONPATH" else {}
        assert b"json json\n" in check_same(tmp_path, "train.py", **env).stdout


def test_the_script_begins_with_the_modules_that_python_has_loaded(tmp_path):
    (tmp_path / "train.py").write_text(
        "import sys\nnames = [n for n in sys.modules if n.split('.')[0] != 'quickfit']\n"
        "print(names)\nimport json, collections, typing, threading, sqlite3\n"
        "new = sorted(n for n in sys.modules if n not in names)\n"
        "print([n for n in new if n.split('.')[0] != 'quickfit'])\n"
        "print(json.__spec__.origin, collections.abc.__name__, threading.main_thread().name)\n"
        "import importlib; importlib.reload(json); print(json.dumps([1]), type(json.__loader__))\n"
        "del sys.modules['json']; import json as other; print(other is json)\n"
    )
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
