"""The script sees what it would see without quickfit, and quickfit ends as it ended."""

import json
import os
import signal
import subprocess
import zipfile

import pytest

from quickfit.launch.parent import INJECT, environment, observe
from quickfit.launch.target import Target
from quickfit.recording.folder import read_run_file

from launch.sessions import (
    PATIENCE_S,
    QUICKFIT,
    Terminal,
    clean_env,
    eventually,
    is_alive,
    newest_run,
    of_the_script,
    pid_in,
    python,
    quickfit,
)

LOOK_AROUND = """
import json, os, pickle, sys
class Point: pass
facts = {
    "argv": sys.argv, "name": __name__, "file": __file__, "path": sys.path, "cwd": os.getcwd(),
    "package": __package__, "flags": list(sys.flags), "warnoptions": sys.warnoptions,
    "xoptions": sys._xoptions, "main": sys.modules["__main__"].__dict__ is globals(),
    "orig_argv": sys.orig_argv, "stdin": sys.stdin.read(), "mask": os.sched_getaffinity(0) != set(),
    "isatty": [os.isatty(fd) for fd in (0, 1, 2)], "sitecustomize": "sitecustomize" in sys.modules,
    "pickled": pickle.dumps(Point()).hex(), "excepthook": sys.excepthook is sys.__excepthook__,
    "signals": {n: str(__import__("signal").getsignal(n)).split(" at ")[0] for n in range(1, 32)},
    "blocked": sorted(__import__("signal").pthread_sigmask(0, [])),
}
assert type(pickle.loads(bytes.fromhex(facts["pickled"]))) is Point
print(json.dumps(facts, indent=1))
print("an error line", file=sys.stderr)
"""


def seen_alike(folder, *args, env=None):
    plain = python(folder, *args, stdin=b"three\nlines\n", env=env)
    watched = quickfit(folder, "run", *args, stdin=b"three\nlines\n", env=env)
    assert watched.stdout == plain.stdout
    assert watched.returncode == plain.returncode
    assert of_the_script(watched.stderr) == plain.stderr
    return json.loads(plain.stdout) if plain.stdout.startswith(b"{") else None


def test_a_script_sees_what_it_would_see_without_quickfit(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").write_text(LOOK_AROUND)
    facts = seen_alike(tmp_path, "sub/train.py", "--help", "-m", "", "a b", "--steps", "ü")
    assert facts["argv"] == ["sub/train.py", "--help", "-m", "", "a b", "--steps", "ü"]
    assert facts["path"][0] == str(tmp_path / "sub")


def test_a_module_sees_what_it_would_see_without_quickfit(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "other.py").write_text("VALUE = 1\n")
    (tmp_path / "pkg" / "mod.py").write_text("from .other import VALUE\n" + LOOK_AROUND)
    facts = seen_alike(tmp_path, "-m", "pkg.mod", "--help", "-m", "x")
    assert facts["package"] == "pkg"
    assert facts["path"][0] == str(tmp_path)


def test_a_folder_and_a_zip_with_a_main_are_run_as_python_runs_them(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(LOOK_AROUND)
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", LOOK_AROUND)
    seen_alike(tmp_path, "app", "x")
    seen_alike(tmp_path, "app.pyz", "x")


def test_the_users_own_python_path_is_kept(tmp_path):
    (tmp_path / "train.py").write_text(LOOK_AROUND)
    env = clean_env(PYTHONPATH=f"{tmp_path}/lib{os.pathsep}{tmp_path}/more")
    assert f"{tmp_path}/lib" in seen_alike(tmp_path, "train.py", env=env)["path"]


def test_the_environment_gains_no_empty_entry_and_no_second_copy(monkeypatch, tmp_path):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("QUICKFIT_STOP", "{}")
    first = environment(tmp_path, None)
    assert first["PYTHONPATH"] == str(INJECT)
    assert "QUICKFIT_STOP" not in first
    monkeypatch.setenv("PYTHONPATH", first["PYTHONPATH"] + os.pathsep + "/lib")
    again = environment(tmp_path, {"steps": 5})
    assert again["PYTHONPATH"] == f"{INJECT}{os.pathsep}/lib"
    assert json.loads(again["QUICKFIT_STOP"]) == {"steps": 5}


def test_flags_of_the_interpreter_reach_the_script(tmp_path):
    (tmp_path / "train.py").write_text(LOOK_AROUND)
    flags = ("-B", "-uX", "dev", "-Wignore::UserWarning", "-O")
    plain = python(tmp_path, *flags, "train.py")
    watched = python(tmp_path, *flags, "-m", "quickfit", "run", "train.py")
    facts, expected = json.loads(watched.stdout), json.loads(plain.stdout)
    del facts["orig_argv"], expected["orig_argv"]  # the same flags, one by one
    assert facts == expected


def test_a_flag_that_would_keep_quickfit_out_is_dropped_and_said(tmp_path):
    (tmp_path / "train.py").write_text("import sys; print(sys.flags.isolated)")
    watched = python(tmp_path, "-I", "-m", "quickfit", "run", "train.py")
    assert watched.stdout == b"0\n"
    assert b"quickfit: runs the script without -I" in watched.stderr


def test_stdin_and_stdout_are_the_terminal(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os\nprint([os.isatty(n) for n in (0, 1, 2)])\nprint('got', input('name? '))\n"
    )
    with Terminal((*QUICKFIT, "run", "train.py"), tmp_path) as terminal:
        terminal.read_until(b"name? ")
        terminal.type(b"Ada\n")
        assert terminal.end() == 0
    assert b"[True, True, True]" in terminal.shown
    assert b"got Ada" in terminal.shown


def test_ten_megabytes_of_stdout_arrive_unchanged(tmp_path):
    (tmp_path / "train.py").write_text(
        "import random, sys\nsys.stdout.buffer.write(random.Random(1).randbytes(10_000_000))\n"
    )
    plain = python(tmp_path, "train.py")
    watched = quickfit(tmp_path, "train.py")
    assert len(plain.stdout) == 10_000_000
    assert watched.stdout == plain.stdout


def test_an_inherited_file_descriptor_reaches_the_script(tmp_path):
    (tmp_path / "train.py").write_text("import os, sys; print(os.read(int(sys.argv[1]), 9))")
    ours, theirs = os.pipe()
    os.write(theirs, b"hello")
    with subprocess.Popen(
        (*QUICKFIT, "run", "train.py", str(ours)),
        cwd=tmp_path,
        env=clean_env(),
        pass_fds=[ours],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.communicate()[0] == b"b'hello'\n"
    os.close(ours)
    os.close(theirs)


ENDINGS = {
    "an exit code": "import sys; sys.exit(3)",
    "an exit message": "import sys; sys.exit('some text')",
    "os._exit": "import os; print('x', flush=True); os._exit(7)",
    "an error at import": "def f():\n    import nothing_of_this_name\nf()\n",
    "a chained error": "try:\n    1 / 0\nexcept OSError:\n    raise\nfinally:\n    int('ü')\n",
    "a syntax error": "x = (1,\ny = 2\n",
    "a keyboard interrupt": "def f():\n    raise KeyboardInterrupt\nf()\n",
    "a segmentation fault": "import ctypes; ctypes.string_at(0)",
    "a kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "an abort": "import os; os.abort()",
}


@pytest.mark.parametrize("source", [pytest.param(text, id=name) for name, text in ENDINGS.items()])
def test_quickfit_ends_as_the_script_after(source, tmp_path):
    (tmp_path / "train.py").write_text(source)
    seen_alike(tmp_path, "train.py")
    facts = read_run_file(newest_run(tmp_path))
    assert facts["ended_at"] >= facts["started_at"]
    assert (facts["exit_code"] is None) != (facts["signal"] is None)


def test_a_module_that_does_not_exist_is_reported_by_python(tmp_path):
    seen_alike(tmp_path, "-m", "nothing_of_this_name")


def test_what_was_run_is_written_down(tmp_path):
    (tmp_path / "train.py").write_text("import os; print(os.getpid())")
    watched = quickfit(tmp_path, "run", "train.py", "--epochs", "3")
    facts = read_run_file(newest_run(tmp_path))
    assert facts["script"] == str(tmp_path / "train.py")
    assert facts["argv"] == ["--epochs", "3"]
    assert facts["command"][1:] == ["train.py", "--epochs", "3"]
    assert facts["cwd"] == str(tmp_path)
    assert facts["pid"] == int(watched.stdout)
    assert (facts["exit_code"], facts["signal"]) == (0, None)


def test_quickfit_says_one_line_before_the_script_and_nothing_on_stdout(tmp_path):
    (tmp_path / "train.py").write_text("import sys; print('mine', file=sys.stderr)")
    watched = quickfit(tmp_path, "run", "train.py")
    first, second = watched.stderr.splitlines()[:2]
    assert first.startswith(b"quickfit: watching train.py, recording in .quickfit/runs/train-")
    assert second == b"mine"
    assert watched.stdout == b""


def test_a_signal_that_is_ignored_stays_ignored_in_the_script(tmp_path):
    (tmp_path / "train.py").write_text(
        "import signal; print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGHUP))"
    )
    script = f"trap '' INT HUP; exec {' '.join(QUICKFIT)} run train.py 2>/dev/null"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=clean_env(), capture_output=True, timeout=PATIENCE_S
    )
    assert done.stdout == b"1 1\n"


def test_the_script_is_in_our_process_group_and_session(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os; p = os.getppid()\n"
        "print(os.getpgrp() == os.getpgid(p), os.getsid(0) == os.getsid(p))"
    )
    assert quickfit(tmp_path, "train.py").stdout == b"True True\n"


def test_observe_returns_how_the_script_ended_and_leaves_signals_as_they_were(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import os; os.kill(os.getpid(), 15)")
    handler, mask = signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, [])
    seen = observe(Target(script="train.py"), output=tmp_path / "run.qfrun", early=False)
    assert (seen.folder, seen.exit_code, seen.signal) == (tmp_path / "run.qfrun", None, 15)
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
    assert capfd.readouterr().err == "quickfit: watching train.py, recording in run.qfrun\n"


def test_killing_quickfit_itself_leaves_a_readable_run(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, sys\nprint(f'pid={os.getpid()}', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        (*QUICKFIT, "train.py"),
        cwd=tmp_path,
        env=clean_env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pid = pid_in(process.stdout.readline(), "pid")
        process.kill()
        process.wait(PATIENCE_S)
        run = newest_run(tmp_path)
        process.stdin.close()
        eventually(lambda: not is_alive(pid), "the script ends by itself")
    assert read_run_file(run)["pid"] == pid
