"""Lines of quickfit's are whole, prefixed and harmless."""

import os
import subprocess
import sys

from quickfit.launch.status import say

from launch.sessions import PATIENCE_S, Terminal


def test_every_line_is_prefixed_and_cannot_control_the_terminal(capfd):
    say("one\ntwo \x1b[2J\x07 three")
    assert capfd.readouterr().err == "quickfit: one\nquickfit: two �[2J� three\n"


def test_a_line_after_a_progress_bar_starts_on_a_new_line(tmp_path):
    code = "print('[==  ]', end='', flush=True)\nfrom quickfit.launch.status import say\n"
    with Terminal((sys.executable, "-c", code + "say('x', mid_run=True)"), tmp_path) as terminal:
        assert terminal.end() == 0
    assert terminal.shown == b"[==  ]\r\nquickfit: x\r\n"


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
