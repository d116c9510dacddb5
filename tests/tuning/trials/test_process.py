"""Whatever a child does, its parent goes on and knows what happened."""

import os
import select
import signal
import subprocess
import sys

import pytest

from quickfit.tuning.trials.process import (
    ChildCircumstances,
    explain_end,
    explain_hang,
    last_lines,
    memory_kills,
)
from quickfit.tuning.trials.resources import HeldMemory
from quickfit.tuning.trials.settings import TrialFailed, TrialFailure

from launch.sessions import PATIENCE_S
from tuning.trials.stand_ins import child


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
    assert (found.failure, found.text) == (TrialFailure.OUT_OF_MEMORY, "too much")
    assert has_ended(made.pid)


def test_a_crash_is_told_with_its_phase_signal_and_last_lines(tmp_path):
    body = "say('alive', phase='building'); print('last words', flush=True); os.abort()"
    found = failed(child(tmp_path, body))
    assert found.failure is TrialFailure.CRASHED
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
    assert found.failure is TrialFailure.CRASHED
    assert "ended by SIGABRT; it held " in found.text


def test_a_crash_of_one_that_held_all_it_may_is_a_lack_of_memory(tmp_path):
    body = _LIMITED + "held = bytearray(180_000_000); say('ready'); heard(); os.abort()"
    made = child(tmp_path, body, limit_bytes=200_000_000)
    made.receive(PATIENCE_S)
    made.send({})
    found = failed(made)
    assert found.failure is TrialFailure.OUT_OF_MEMORY
    assert "ended by SIGABRT near its memory limit: it held " in found.text


def test_a_crash_in_a_step_that_needs_too_much_is_a_lack_of_memory(tmp_path):
    body = "say('alive', phase='doing', step_bytes=10**9); say('alive', phase='on'); os.abort()"
    found = failed(child(tmp_path, body, limit_bytes=200_000_000))
    assert found.failure is TrialFailure.OUT_OF_MEMORY
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
    assert found.failure is TrialFailure.CRASHED
    assert f"the process wrote {line!r} in place of an answer" in found.text
    assert has_ended(made.pid)


def test_a_line_without_end_is_no_answer(tmp_path):
    made = child(tmp_path, "while True: os.write(answers, b'x' * 65536)")
    assert "in place of an answer" in failed(made).text


def test_one_that_gives_no_sign_of_life_is_ended(tmp_path):
    made = child(tmp_path, "rest()")
    found = failed(made, patience_s=0.01)
    assert found.failure is TrialFailure.HUNG
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
from quickfit.lab import child_side
child_side.settle(os.getppid())
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


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.txt"


def known(log, limit_bytes=None, kills=0, **more):
    return ChildCircumstances("training", log, limit_bytes, kills, **more)


BAD_ALLOC = "terminate called after throwing an instance of 'std::bad_alloc'\n"


@pytest.mark.parametrize(
    "line",
    [
        BAD_ALLOC,
        "OSError: [Errno 12] Cannot allocate memory\n",
        "F0000 Check failed: out of memory\n",
        "RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB\n",
    ],
)
def test_an_abort_after_words_about_memory_is_a_lack_of_memory(log, line):
    log.write_text(line)
    found = explain_end(-signal.SIGABRT, known(log))
    assert found.failure is TrialFailure.OUT_OF_MEMORY
    assert found.text.startswith("while training, memory ran out: the process was ended by SIGABRT")
    assert line.strip() in found.text


def test_words_about_memory_count_although_a_stack_follows(log):
    log.write_text(BAD_ALLOC + "".join(f"frame {n}\n" for n in range(60)))
    found = explain_end(-signal.SIGABRT, known(log))
    assert found.failure is TrialFailure.OUT_OF_MEMORY
    assert len(found.text.splitlines()) == 14


def test_an_abort_for_another_reason_is_a_crash(log):
    log.write_text("Check failed: x == y\n")
    assert explain_end(-signal.SIGABRT, known(log)).failure is TrialFailure.CRASHED


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS])
def test_a_fault_near_the_limit_is_a_lack_of_memory(log, number):
    held = HeldMemory(880_000_000, limit_share=0.8)
    found = explain_end(-number, known(log, limit_bytes=300_000_000, held=held))
    assert found.failure is TrialFailure.OUT_OF_MEMORY
    assert f"ended by {number.name} near its memory limit: it held 880 MB; the lim" in found.text


def test_a_fault_in_a_step_that_needs_more_than_the_limit_is_a_lack_of_memory(log):
    # oneDNN ends so, without a word and far from the limit, where one tensor is too large.
    around = known(log, 800_000_000, held=HeldMemory(700_000_000, 0.1), step_bytes=2_200_000_000)
    found = explain_end(-signal.SIGSEGV, around)
    assert found.failure is TrialFailure.OUT_OF_MEMORY
    assert "the outputs of its layers alone need 2.2 GB in a step, and 800 MB is its" in found.text


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS])
def test_a_fault_far_from_the_limit_is_a_crash(log, number):
    log.write_text("last words\n")
    around = known(log, 17_000_000_000, held=HeldMemory(626_000_000, 0.001), step_bytes=1000)
    found = explain_end(-number, around)
    assert found.failure is TrialFailure.CRASHED
    assert found.text == (
        f"while training, the process was ended by {number.name}; it held 626 MB; the limit is "
        "17 GB beyond Python and TensorFlow.\nIt wrote last:\nlast words"
    )


@pytest.mark.parametrize("more", [{"held": HeldMemory(2 * 10**9, 0.4)}, {"step_bytes": 10**9}])
def test_a_fault_on_the_way_to_the_limit_is_a_crash_that_memory_may_explain(log, more):
    found = explain_end(-signal.SIGSEGV, known(log, 3 * 10**9, **more))
    assert found.failure is TrialFailure.CRASHED
    assert "ended by SIGSEGV; its memory limit may be the reason: it held" in found.text


def test_without_a_limit_a_fault_is_a_crash(log):
    found = explain_end(-signal.SIGSEGV, known(log))
    assert found.failure is TrialFailure.CRASHED
    assert found.text == "while training, the process was ended by SIGSEGV."


@pytest.mark.parametrize("code", [-9, 137])
def test_a_kill_that_the_kernel_counted_is_a_lack_of_memory(log, code):
    found = explain_end(code, known(log, kills=(memory_kills() or 0) - 1))
    assert found.failure is TrialFailure.OUT_OF_MEMORY
    assert "the kernel ended the process because memory ran out" in found.text


def test_a_kill_where_kills_are_not_counted_may_be_one_for_memory(log):
    found = explain_end(-9, known(log, kills=None))
    assert found.failure is TrialFailure.OUT_OF_MEMORY
    assert "it may have been somebody else" in found.text


def test_a_kill_that_the_kernel_did_not_count_is_somebodys(log):
    found = explain_end(-9, known(log, kills=memory_kills()))
    assert found.failure is TrialFailure.CRASHED
    assert "somebody else, for example a batch system" in found.text


def test_an_unknown_signal_is_told_by_number(log):
    assert "ended by signal 63" in explain_end(-63, known(log)).text


def test_a_hang_is_told_with_its_last_lines(log):
    log.write_text("reading part 3\n")
    found = explain_hang(120.0, known(log))
    assert found.failure is TrialFailure.HUNG
    assert found.text == (
        "while training, the process gave no sign of life for 2 min 0 s, and was ended.\n"
        "It wrote last:\nreading part 3"
    )


def test_the_last_lines_leave_out_progress_and_native_stacks(log):
    log.write_text(
        "I0000 00:00:1 port.cc:153] oneDNN\nmine\n\nEpoch 1/1000000000\n"
        "5/5 ━━━━ 0s\n    @     0x7f0016ace564  absl::x()\n"
    )
    assert last_lines(log) == "mine"


def test_of_a_long_log_the_end_is_told(log):
    log.write_text("".join(f"line {n}\n" for n in range(10_000)))
    assert last_lines(log).splitlines() == [f"line {n}" for n in range(9_988, 10_000)]


def test_bytes_that_are_no_text_do_no_harm(log):
    log.write_bytes(b"\xff\xfe\x00 words\n" + b"x" * 100_000)
    assert last_lines(log)


def test_a_log_that_is_not_there_says_nothing(log):
    assert last_lines(log) == ""
