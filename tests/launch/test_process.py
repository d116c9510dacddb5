"""How a process is started, reaped and described."""

import os
import signal
import sys

from quickfit.lab.child_side import signal_name
from quickfit.launch.process import Ending, ScriptProcess

from launch.sessions import eventually


def test_an_ending_reads_as_a_sentence():
    assert f"the script {Ending(3)}" == "the script ended with exit code 3"
    assert f"the script {Ending(None, signal.SIGTERM)}" == "the script was ended by SIGTERM"


def test_a_signal_without_a_name_keeps_its_number():
    assert signal_name(signal.SIGRTMIN + 5) == f"signal {signal.SIGRTMIN + 5}"


def test_another_child_is_reaped_and_not_mistaken_for_the_script():
    command = [sys.executable, "-S", "-c", "import sys; sys.stdin.read(); sys.exit(6)"]
    ours, theirs = os.pipe()
    before = os.dup(0)
    os.dup2(ours, 0)
    script = ScriptProcess(command, {}, ())
    os.dup2(before, 0)
    other = ScriptProcess([sys.executable, "-S", "-c", "raise SystemExit(9)"], {}, ())
    eventually(lambda: not os.path.exists(f"/proc/{other.pid}") or script.poll(), "the other ends")
    assert script.poll() is None
    for fd in (ours, theirs, before):
        os.close(fd)
    eventually(lambda: script.poll() is not None, "the script ends")
    assert script.poll() == Ending(6)
    script.send(signal.SIGTERM)  # too late, and no error
