"""The user's command is started with what happened in its environment."""

import sys

import pytest

from quickfit.launch import commands
from quickfit.launch.commands import run_command

from launch.sessions import PATIENCE_S, eventually


@pytest.fixture(autouse=True)
def ended():
    """Wait for the commands: nobody else does, and Python warns of them at its end."""
    yield
    while commands._STARTED:
        commands._STARTED.pop().wait(PATIENCE_S)


def test_the_command_is_told_what_happened(tmp_path):
    told = {"CAUSE": "held-lock", "MESSAGE": "a; touch harm\n$(touch harm)\0"}
    out = tmp_path / "out"
    run_command(
        f'printf "%s|%s" "$QUICKFIT_CAUSE" "$QUICKFIT_MESSAGE" > {out}.new; mv {out}.new {out}',
        told,
    )
    eventually(out.exists, "the command has written")
    assert out.read_text() == "held-lock|a; touch harm\n$(touch harm) "
    assert not (tmp_path / "harm").exists()


def test_the_command_neither_reads_our_stdin_nor_gets_our_signals(tmp_path):
    out = tmp_path / "out"
    told = "(sys.stdin.read(), os.getsid(0) == os.getpid())"
    code = (
        f"import os, sys\nfile = {str(out)!r}\nopen(file + '.new', 'w').write(repr({told}))\n"
        "os.rename(file + '.new', file)\n"
    )
    (tmp_path / "code.py").write_text(code)
    run_command(f"exec {sys.executable} {tmp_path / 'code.py'}", {})
    eventually(out.exists, "the command has written")
    assert out.read_text() == "('', True)"


def test_a_command_that_fails_is_nobodys_problem(tmp_path):
    run_command("exit 3", {})
    run_command("no-such-command-at-all 2>/dev/null", {})


def test_a_command_that_cannot_be_started_is_said(capfd):
    run_command("echo \0", {})
    assert capfd.readouterr().err.startswith("quickfit: cannot run `echo ")
