"""The processes of a round: how long a block is, and that the end of the budget ends them."""

import subprocess
import sys

import pytest

from quickfit.proof.budget import Budget
from quickfit.tuning.advice.processes import (
    BaselineFailed,
    Machine,
    OutOfTime,
    Started,
    block_steps,
)
from quickfit.tuning.trials.answers import Failure, TrialFailed
from quickfit.tuning.trials.settings import Setting

from tuning.advice.machines import World, out_of_memory


@pytest.mark.parametrize(("step_s", "steps"), [(0.001, 400), (0.15, 3), (5.0, 2), (0.0, 2)])
def test_a_block_is_long_enough_to_be_measured(step_s, steps):
    assert block_steps(step_s) == steps


def test_a_process_that_works_when_the_budget_is_over_is_ended():
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as process:

        class Hanging:
            pid = process.pid

            def start(self): ...

            def close(self): ...

            def ready(self):
                process.wait()
                raise TrialFailed(Failure.CRASHED, "ended by SIGKILL")

        machine = Machine(lambda setting: Hanging(), Budget(0.05))
        started = Started(Hanging(), "as it is")
        with pytest.raises(OutOfTime):
            started.wait(machine)
        assert process.returncode == -9
    assert started.side.failure is None


def test_a_process_that_cannot_be_started_has_failed():
    world = World()
    trial = world.make(Setting())

    def start():
        raise out_of_memory()

    trial.start = start
    started = Started(trial, "as it is")
    started.begin()
    started.wait(world.machine())
    assert trial.is_closed
    with pytest.raises(BaselineFailed, match="out of memory"):
        started.ready()


def test_one_that_never_answered_is_not_ready():
    world = World()
    with pytest.raises(BaselineFailed, match="it did not start"):
        Started(world.make(Setting()), "as it is").ready()
