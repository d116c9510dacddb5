"""The end of a process in words: memory, a crash, or somebody's kill."""

import signal

import pytest

from quickfit.tuning.trials.answers import Failure
from quickfit.tuning.trials.endings import Circumstances, ended, hung, last_lines, memory_kills
from quickfit.tuning.trials.holdings import Held


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.txt"


def known(log, limit_bytes=None, kills=0, **more):
    return Circumstances("training", log, limit_bytes, kills, **more)


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
    found = ended(-signal.SIGABRT, known(log))
    assert found.failure is Failure.OUT_OF_MEMORY
    assert found.text.startswith("while training, memory ran out: the process was ended by SIGABRT")
    assert line.strip() in found.text


def test_words_about_memory_count_although_a_stack_follows(log):
    log.write_text(BAD_ALLOC + "".join(f"frame {n}\n" for n in range(60)))
    found = ended(-signal.SIGABRT, known(log))
    assert found.failure is Failure.OUT_OF_MEMORY
    assert len(found.text.splitlines()) == 14


def test_an_abort_for_another_reason_is_a_crash(log):
    log.write_text("Check failed: x == y\n")
    assert ended(-signal.SIGABRT, known(log)).failure is Failure.CRASHED


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS])
def test_a_fault_near_the_limit_is_a_lack_of_memory(log, number):
    held = Held(880_000_000, limit_share=0.8)
    found = ended(-number, known(log, limit_bytes=300_000_000, held=held))
    assert found.failure is Failure.OUT_OF_MEMORY
    assert f"ended by {number.name} near its memory limit: it held 880 MB; the lim" in found.text


def test_a_fault_in_a_step_that_needs_more_than_the_limit_is_a_lack_of_memory(log):
    # oneDNN ends so, without a word and far from the limit, where one tensor is too large.
    around = known(log, 800_000_000, held=Held(700_000_000, 0.1), step_bytes=2_200_000_000)
    found = ended(-signal.SIGSEGV, around)
    assert found.failure is Failure.OUT_OF_MEMORY
    assert "the outputs of its layers alone need 2.2 GB in a step, and 800 MB is its" in found.text


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS])
def test_a_fault_far_from_the_limit_is_a_crash(log, number):
    log.write_text("last words\n")
    around = known(log, 17_000_000_000, held=Held(626_000_000, 0.001), step_bytes=1000)
    found = ended(-number, around)
    assert found.failure is Failure.CRASHED
    assert found.text == (
        f"while training, the process was ended by {number.name}; it held 626 MB; the limit is "
        "17 GB beyond Python and TensorFlow.\nIt wrote last:\nlast words"
    )


@pytest.mark.parametrize("more", [{"held": Held(2 * 10**9, 0.4)}, {"step_bytes": 10**9}])
def test_a_fault_on_the_way_to_the_limit_is_a_crash_that_memory_may_explain(log, more):
    found = ended(-signal.SIGSEGV, known(log, 3 * 10**9, **more))
    assert found.failure is Failure.CRASHED
    assert "ended by SIGSEGV; its memory limit may be the reason: it held" in found.text


def test_without_a_limit_a_fault_is_a_crash(log):
    found = ended(-signal.SIGSEGV, known(log))
    assert found.failure is Failure.CRASHED
    assert found.text == "while training, the process was ended by SIGSEGV."


@pytest.mark.parametrize("code", [-9, 137])
def test_a_kill_that_the_kernel_counted_is_a_lack_of_memory(log, code):
    found = ended(code, known(log, kills=(memory_kills() or 0) - 1))
    assert found.failure is Failure.OUT_OF_MEMORY
    assert "the kernel ended the process because memory ran out" in found.text


def test_a_kill_where_kills_are_not_counted_may_be_one_for_memory(log):
    found = ended(-9, known(log, kills=None))
    assert found.failure is Failure.OUT_OF_MEMORY
    assert "it may have been somebody else" in found.text


def test_a_kill_that_the_kernel_did_not_count_is_somebodys(log):
    found = ended(-9, known(log, kills=memory_kills()))
    assert found.failure is Failure.CRASHED
    assert "somebody else, for example a batch system" in found.text


def test_an_unknown_signal_is_told_by_number(log):
    assert "ended by signal 63" in ended(-63, known(log)).text


def test_a_hang_is_told_with_its_last_lines(log):
    log.write_text("reading part 3\n")
    found = hung(120.0, known(log))
    assert found.failure is Failure.HUNG
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
