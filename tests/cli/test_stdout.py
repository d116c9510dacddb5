"""What a command answers, where nobody or nothing takes it."""

import os
import subprocess
import sys

import pytest

COMMANDS = [
    pytest.param(["explain", "sequential-map"], id="explain"),
    pytest.param(["check", "clean.py"], id="check"),
]


@pytest.fixture
def quickfit(tmp_path):
    """Return a function that runs a command in a shell, with what its stdout is sent to."""
    (tmp_path / "clean.py").write_text("print('nothing to find')\n")

    def run(words, sent):
        line = f'exec "{sys.executable}" -m quickfit {" ".join(words)} {sent}'
        return subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )

    return run


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_disk_is_an_error_that_says_so(quickfit, words):
    ended = quickfit(words, "> /dev/full")
    assert ended.returncode == 1
    assert ended.stderr == (
        "quickfit: the answer cannot be written to stdout: No space left on device.\n"
        "Send it somewhere else.\n"
    )


@pytest.mark.parametrize("words", COMMANDS)
def test_a_closed_stdout_is_left_alone(quickfit, words):
    ended = quickfit(words, ">&-")
    assert (ended.returncode, ended.stderr) == (0, "")
