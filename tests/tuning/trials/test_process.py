"""Whatever a child does, its parent goes on and knows what happened."""

import os
import select
import signal
import subprocess
import sys

import pytest

from quickfit.tuning.trials.answers import Failure, TrialFailed

from tuning.trials.stand_ins import child

PATIENCE_S = 60.0


def has_ended(pid):
    """Return whether a process ends within a long moment."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], PATIENCE_S)[0])
    finally:
        os.close(descriptor)


def failed(made, patience_s=PATIENCE_S):
    with pytest.raises(TrialFailed) as caught:
        made.receive(patience_s)
    return caught.value


def test_answers_come_to_who_asked(tmp_path):
    made = child(tmp_path, "say('ready', got=heard()['n'] + 1); rest()")
    made.send({"n": 41})
    assert made.receive(PATIENCE_S) == {"kind": "ready", "got": 42}
    made.end()


def test_signs_of_life_are_no_answers(tmp_path):
    made = child(tmp_path, "say('alive', phase='x'); say('alive', phase='y'); say('block'); rest()")
    assert made.receive(PATIENCE_S) == {"kind": "block"}
    made.end()


def test_an_answer_in_pieces_is_put_together(tmp_path):
    body = """
end = bytes([10])
os.write(answers, b'{"kind": "rea')
heard()
os.write(answers, b'dy"}' + end + b'{"kind": "block"}' + end)
rest()
"""
    made = child(tmp_path, body)
    made.send({})
    assert made.receive(PATIENCE_S)["kind"] == "ready"
    assert made.receive(PATIENCE_S)["kind"] == "block"
    made.end()


def test_a_failure_is_told_in_the_words_of_the_child(tmp_path):
    made = child(tmp_path, "say('failed', failure='out of memory', text='too much'); rest()")
    found = failed(made)
    assert (found.failure, found.text) == (Failure.OUT_OF_MEMORY, "too much")
    assert has_ended(made.pid)


def test_a_crash_is_told_with_its_phase_signal_and_last_lines(tmp_path):
    body = "say('alive', phase='building'); print('last words', flush=True); os.abort()"
    found = failed(child(tmp_path, body))
    assert found.failure is Failure.CRASHED
    assert found.text == (
        "while building, the process was ended by SIGABRT.\nIt wrote last:\nlast words"
    )


_LIMITED = """
import resource
def limited(more):
    with open("/proc/self/status") as file:
        data = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (data + more, resource.RLIM_INFINITY))
limited(200_000_000)
say("alive", phase="building")
"""


def test_a_crash_under_a_limit_that_is_far_away_is_a_crash(tmp_path):
    made = child(tmp_path, _LIMITED + "say('ready'); heard(); os.abort()", limit_bytes=200_000_000)
    made.receive(PATIENCE_S)
    made.send({})
    found = failed(made)
    assert found.failure is Failure.CRASHED
    assert "ended by SIGABRT; it held " in found.text


def test_a_crash_of_one_that_held_all_it_may_is_a_lack_of_memory(tmp_path):
    body = _LIMITED + "held = bytearray(180_000_000); say('ready'); heard(); os.abort()"
    made = child(tmp_path, body, limit_bytes=200_000_000)
    made.receive(PATIENCE_S)
    made.send({})
    found = failed(made)
    assert found.failure is Failure.OUT_OF_MEMORY
    assert "ended by SIGABRT near its memory limit: it held " in found.text


def test_a_crash_in_a_step_that_needs_too_much_is_a_lack_of_memory(tmp_path):
    body = "say('alive', phase='doing', step_bytes=10**9); say('alive', phase='on'); os.abort()"
    found = failed(child(tmp_path, body, limit_bytes=200_000_000))
    assert found.failure is Failure.OUT_OF_MEMORY
    assert found.text.startswith("while on, the process was ended by SIGABRT: the outputs of")


def test_an_end_without_a_word_is_told_with_its_exit_code(tmp_path):
    found = failed(child(tmp_path, "os._exit(3)"))
    assert found.text == "while starting, the process ended by itself with exit code 3."


def test_an_end_in_the_middle_of_an_answer_is_an_end(tmp_path):
    found = failed(child(tmp_path, "os.write(answers, b'{\"kind\": '); os._exit(3)"))
    assert "exit code 3" in found.text


@pytest.mark.parametrize("line", ["hello", "[1]", "{}", '{"kind": 3}', "3"])
def test_something_else_than_an_answer_ends_it(tmp_path, line):
    made = child(tmp_path, f"os.write(answers, {line.encode()!r} + bytes([10])); rest()")
    found = failed(made)
    assert found.failure is Failure.CRASHED
    assert f"the process wrote {line!r} in place of an answer" in found.text
    assert has_ended(made.pid)


def test_a_line_without_end_is_no_answer(tmp_path):
    made = child(tmp_path, "while True: os.write(answers, b'x' * 65536)")
    assert "in place of an answer" in failed(made).text


def test_one_that_gives_no_sign_of_life_is_ended(tmp_path):
    made = child(tmp_path, "rest()")
    found = failed(made, patience_s=0.01)
    assert found.failure is Failure.HUNG
    assert found.text == (
        "while starting, the process gave no sign of life for 10 ms, and was ended."
    )
    assert has_ended(made.pid)


def test_the_end_is_seen_although_a_process_it_started_holds_the_pipe(tmp_path):
    body = """
held = subprocess.Popen(["sleep", "1000"], pass_fds=(answers,))
os._exit(5)
"""
    assert "exit code 5" in failed(child(tmp_path, body)).text


def test_processes_it_started_end_with_it(tmp_path):
    made = child(tmp_path, "say('ready', pid=subprocess.Popen(['sleep', '1000']).pid); rest()")
    started = made.receive(PATIENCE_S)["pid"]
    made.end()
    assert has_ended(made.pid)
    assert has_ended(started)


def test_the_first_failure_is_told_again_and_again(tmp_path):
    made = child(tmp_path, "os._exit(3)")
    first = failed(made)
    made.send({"do": "run"})
    made.hold()
    made.go_on()
    made.end()
    assert failed(made) is first


def test_one_that_was_closed_says_so(tmp_path):
    made = child(tmp_path, "rest()")
    made.end()
    made.end()
    assert failed(made).text == "the trial was closed."


def test_a_command_to_one_that_has_ended_is_no_error(tmp_path):
    made = child(tmp_path, "os._exit(3)")
    assert has_ended(made.pid)
    made.send({"do": "run"})
    assert "exit code 3" in failed(made).text


def test_one_that_is_held_does_nothing_until_it_may_go_on(tmp_path):
    made = child(tmp_path, "say('ready'); say('block', got=heard()); rest()")
    made.receive(PATIENCE_S)
    made.hold()
    os.waitid(os.P_PID, made.pid, os.WSTOPPED | os.WNOWAIT)
    made.send({"n": 1})
    made.go_on()
    assert made.receive(PATIENCE_S)["got"] == {"n": 1}
    made.end()


def test_one_that_is_held_can_be_ended(tmp_path):
    made = child(tmp_path, "say('ready'); rest()")
    made.receive(PATIENCE_S)
    made.hold()
    made.end()
    assert has_ended(made.pid)


def test_ctrl_c_at_the_terminal_does_not_reach_it(tmp_path):
    made = child(tmp_path, "say('ready', group=os.getpgid(0), session=os.getsid(0)); rest()")
    told = made.receive(PATIENCE_S)
    assert told["group"] == told["session"] == made.pid
    made.end()


def test_prints_of_it_go_to_its_log(tmp_path, capfd):
    made = child(tmp_path, "print('hello', flush=True); os.system('echo there >&2'); say('ready')")
    made.receive(PATIENCE_S)
    made.end()
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "log.txt").read_text() == "hello\nthere\n"


def test_one_that_nobody_closes_ends_with_its_object(tmp_path):
    made = child(tmp_path, "say('ready'); rest()")
    made.receive(PATIENCE_S)
    pid = made.pid
    del made
    assert has_ended(pid)


_DYING_PARENT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tuning.trials.stand_ins import child
made = child(Path(sys.argv[2]), '''
from quickfit.tuning.trials import boot
boot.be_harmless(os.getppid())
say("ready"); rest()
''')
made.receive(60.0)
made.hold()
os.waitid(os.P_PID, made.pid, os.WSTOPPED | os.WNOWAIT)
print(made.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_stopped_child_ends_when_its_parent_is_killed(tmp_path):
    tests = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    ran = subprocess.run(
        [sys.executable, "-c", _DYING_PARENT, tests, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL
    assert has_ended(int(ran.stdout))
