"""Lines of quickfit's are whole, prefixed and harmless."""

import os
import subprocess
import sys

import pytest

from quickfit.launch.status import say

from launch.sessions import PATIENCE_S, Terminal


def test_every_line_is_prefixed_and_cannot_control_the_terminal(capfd):
    say("one\ntwo \x1b[2J\x07 three")
    assert capfd.readouterr().err == "quickfit: one\nquickfit: two \\x1b[2J\\x07 three\n"


def test_a_line_after_a_progress_bar_starts_on_a_new_line(tmp_path):
    code = "print('[==  ]', end='', flush=True)\nfrom quickfit.launch.status import say\n"
    with Terminal((sys.executable, "-c", code + "say('x', mid_run=True)"), tmp_path) as terminal:
        assert terminal.end() == 0
    assert terminal.shown == b"[==  ]\r\nquickfit: x\r\n"


PROGRESS = "import sys; sys.stdout.write({!r}); sys.stdout.flush()\n"
SAYS = "from quickfit.launch.status import say\nsay('x', mid_run=True)\nsay('y')"


@pytest.mark.parametrize("last", ["[==  ]", "[==  ]\r", "\x08\x08", "done\n", ""])
@pytest.mark.parametrize("place", ["pipe", "file", "appended file"])
def test_a_line_starts_on_its_own_line_whatever_the_script_wrote_last(tmp_path, last, place):
    """With stdout and stderr in the same place, as `2>&1` has it."""
    code = PROGRESS.format(last) + SAYS
    log = tmp_path / "log"
    if place == "pipe":
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        shown = done.stdout
    else:
        with log.open("ab" if place == "appended file" else "wb") as file:
            subprocess.run([sys.executable, "-c", code], stdout=file, stderr=subprocess.STDOUT)
        shown = log.read_bytes()
    text = last.encode()
    assert shown.startswith(text)
    assert shown[len(text) :].lstrip(b"\n") == b"quickfit: x\nquickfit: y\n"
    assert b"\nquickfit: x" in b"\n" + shown
    if place != "pipe":
        is_whole = not last or last.endswith("\n")
        assert shown.count(b"\n") - text.count(b"\n") == (2 if is_whole else 3), "no empty line"


def test_a_text_that_stderr_cannot_encode_is_still_said():
    code = "from quickfit.launch.status import say; say('early — ü')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert done.stderr == b"quickfit: early \\u2014 \\xfc\n"


def test_a_closed_stderr_is_nobodys_problem():
    code = "import os; os.close(2); from quickfit.launch.status import say; say('x'); print('on')"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=PATIENCE_S)
    assert (done.stdout, done.returncode) == (b"on\n", 0)


def test_a_nonblocking_stderr_gets_everything(tmp_path):
    code = (
        "import os; os.set_blocking(2, False)\n"
        "from quickfit.launch.status import write; write('x' * 1_000_000 + '\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, timeout=PATIENCE_S)
    assert len(done.stderr) == 1_000_001
