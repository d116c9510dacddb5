import subprocess
import sys

from quickfit.tuning.batches.deadline import ended_after


class Process:
    """A process of its own group that never ends by itself."""

    def __init__(self):
        waits = "import sys; sys.stdin.read()"
        self.child = subprocess.Popen(
            [sys.executable, "-c", waits], stdin=subprocess.PIPE, start_new_session=True
        )
        self.pid = self.child.pid


def test_a_trial_that_goes_on_is_ended():
    process = Process()
    with ended_after(process, 0.0) as is_over:
        assert process.child.wait(30) == -9
    assert is_over.is_set()
    process.child.stdin.close()


def test_a_trial_that_answers_in_time_is_left_alone():
    process = Process()
    with ended_after(process, 1000.0) as is_over:
        pass
    assert not is_over.is_set()
    process.child.stdin.close()
    assert process.child.wait(30) == 0


def test_a_trial_that_has_ended_already_is_nothing_to_end():
    process = Process()
    process.child.stdin.close()
    process.child.wait(30)
    with ended_after(process, 0.0) as is_over:
        assert is_over.wait(30)


def test_a_trial_without_a_process_is_nothing_to_end():
    class Nothing:
        pid = None

    with ended_after(Nothing(), 0.0) as is_over:
        assert is_over.wait(30)
