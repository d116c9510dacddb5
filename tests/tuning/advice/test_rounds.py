"""A round: who takes turns with whom, what fails, and that everything is ended."""

import subprocess
import sys

import pytest

from quickfit.lab.budget import Budget
from quickfit.lab.statistics import Measured
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.advice.rounds import (
    AdviceOutOfTime,
    BaselineFailed,
    LossComparison,
    RoundSide,
    StartedTrial,
    TrialMachine,
    TrialRound,
    block_steps,
    extra_compile_s,
    trial_pair,
    with_cpu_bound,
)
from quickfit.tuning.trials.settings import (
    Setting,
    TrialBlock,
    TrialFailed,
    TrialFailure,
    TrialReady,
)

from tuning.advice.machines import World, faster, out_of_memory

XLA = ChangeCandidate(ChangeKind.XLA, "XLA", Setting(jit=True))
STEPS = ChangeCandidate(ChangeKind.STEPS, "8 steps", Setting(steps_per_execution=8))
BATCH = ChangeCandidate(ChangeKind.BATCH, "batch 64", Setting(batch=64))


def test_a_ratio_is_one_of_samples_per_second_also_for_larger_batches():
    world = World(sample_s=faster(jit=1.25, batch=2.0))
    found = TrialRound(world.machine(), [XLA, BATCH]).measure()
    assert found.pairs[XLA].gain == pytest.approx(1.25)
    assert found.pairs[BATCH].gain == pytest.approx(2.0)
    assert found.pairs[BATCH].cpu == pytest.approx(0.5)
    assert found.pairs[BATCH].step_s == pytest.approx(0.032)


def test_a_machine_that_slows_down_meanwhile_is_unfair_to_nobody():
    world = World()
    world.sample_s = lambda setting: 1e-3 * (1 + world.now_s / 100)
    found = TrialRound(world.machine(), [XLA, STEPS, BATCH]).measure()
    for pair in found.pairs.values():
        assert pair.gain == pytest.approx(1.0, abs=0.02)


def test_turns_go_forth_and_back():
    world = World()
    TrialRound(world.machine(), [XLA, STEPS]).measure()
    turn = [Setting(), XLA.setting, STEPS.setting, Setting()]
    assert world.blocks == [*turn, *reversed(turn), *turn]


def test_slow_steps_get_fewer_turns():
    world = World(sample_s=lambda setting: 0.1)
    TrialRound(world.machine(), [XLA]).measure()
    assert world.blocks.count(XLA.setting) == 2


def test_where_starting_took_long_there_are_more_turns():
    world = World(start_s=12.0)
    TrialRound(world.machine(), [XLA]).measure()
    assert world.blocks.count(XLA.setting) == 9


def test_the_start_order_can_be_turned_round():
    world = World()
    TrialRound(world.machine(), [XLA]).measure(backwards=True)
    assert world.told[0].startswith("starting XLA, 1 of 2")
    assert world.told[1].startswith("starting as it is, 2 of 2")


@pytest.mark.parametrize("when", ["fails", "fails_in_block"])
def test_one_that_fails_does_not_disturb_the_others(when):
    world = World(**{when: lambda setting: out_of_memory() if setting.jit else None})
    found = TrialRound(world.machine(), [XLA, STEPS]).measure()
    assert set(found.failures) == {XLA}
    assert set(found.pairs) == {STEPS}
    assert not world.open_trials


def test_without_the_training_as_it_is_there_is_no_round():
    world = World(fails=lambda setting: out_of_memory() if setting.is_as_it_was else None)
    with pytest.raises(BaselineFailed, match="the kernel ended the process"):
        TrialRound(world.machine(), [XLA]).measure()
    assert not world.open_trials


def test_a_training_that_runs_already_is_not_started_again():
    world = World()
    machine = world.machine()
    base = StartedTrial(machine.make(Setting()), "as it is")
    base.begin()
    base.wait(machine)
    TrialRound(machine, [XLA], base=base).measure()
    assert world.count(Setting()) == 1


def test_only_what_is_not_slower_learns():
    world = World(sample_s=faster(jit=1.2, steps_per_execution=0.8))
    lesson = LossComparison(256, frozenset({XLA, STEPS}))
    found = TrialRound(world.machine(), [XLA, STEPS], lesson=lesson).measure()
    assert found.pairs[XLA].learned.samples == found.pairs[XLA].unchanged.samples == 256
    assert found.pairs[STEPS].learned is None


def test_who_has_learned_before_does_not_learn_again():
    world = World(sample_s=faster(jit=1.2, steps_per_execution=1.2))
    lesson = LossComparison(256, frozenset({XLA}), with_base=False)
    found = TrialRound(world.machine(), [XLA, STEPS], lesson=lesson).measure()
    assert found.pairs[XLA].learned.samples == 256
    assert found.pairs[XLA].unchanged is None
    assert found.pairs[STEPS].learned is None


def test_the_end_of_the_budget_ends_a_round_and_keeps_what_it_has():
    world = World()
    found = TrialRound(world.machine(budget_s=6.0), [XLA]).measure()
    assert found.is_cut
    assert found.pairs[XLA].gain == pytest.approx(1.0)
    assert world.now_s <= 6.0
    assert not world.open_trials


def test_a_budget_that_ends_while_processes_start_leaves_no_pair():
    world = World()
    found = TrialRound(world.machine(budget_s=3.0), [XLA, STEPS, BATCH]).measure()
    assert found.is_cut
    assert not found.pairs
    assert not found.failures
    assert world.count(BATCH.setting) == 0


def test_ctrl_c_ends_every_process():
    world = World(interrupt_at_s=8.5)
    with pytest.raises(KeyboardInterrupt):
        TrialRound(world.machine(), [XLA, STEPS]).measure()
    assert not world.open_trials


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
                raise TrialFailed(TrialFailure.CRASHED, "ended by SIGKILL")

        machine = TrialMachine(lambda setting: Hanging(), Budget(0.05))
        started = StartedTrial(Hanging(), "as it is")
        with pytest.raises(AdviceOutOfTime):
            started.wait(machine)
        assert process.returncode == -9
    assert started.side.failure is None


def test_a_process_that_cannot_be_started_has_failed():
    world = World()
    trial = world.make(Setting())

    def start():
        raise out_of_memory()

    trial.start = start
    started = StartedTrial(trial, "as it is")
    started.begin()
    started.wait(world.machine())
    assert trial.is_closed
    with pytest.raises(BaselineFailed, match="out of memory"):
        started.ready()


def test_one_that_never_answered_is_not_ready():
    world = World()
    with pytest.raises(BaselineFailed, match="it did not start"):
        StartedTrial(world.make(Setting()), "as it is").ready()


def ready(compile_s=0.5):
    return TrialReady(32, 4096, 0.1, compile_s, 0.01, 1234, 400)


def block(wall_s, samples=320, cpu_s=1.0, peak=500):
    return TrialBlock(10, samples, wall_s, cpu_s, peak)


def test_a_turn_that_somebody_disturbed_does_not_decide():
    beside = [(block(1.0), block(0.5)), (block(1.0), block(5.0)), (block(1.0), block(0.5))]
    pair = trial_pair(RoundSide(ready()), RoundSide(ready(3.5)), beside)
    assert pair.gain == pytest.approx(2.0)
    assert pair.compile_s == pytest.approx(3.0)
    assert pair.step_s == pytest.approx(0.1)


def test_a_faster_first_call_is_no_negative_cost():
    pair = trial_pair(RoundSide(ready(2.0)), RoundSide(ready(1.0)), [(block(1.0), block(1.0))])
    assert pair.compile_s == 0.0


@pytest.mark.parametrize(
    ("before_s", "now_s", "more_s"),
    [(1.0, 5.0, 4.0), (1.0, 1.4, 0.0), (0.1, 0.3, 0.0), (0.1, 0.5, 0.4), (4.0, 5.5, 0.0)],
)
def test_first_calls_that_hardly_differ_are_alike(before_s, now_s, more_s):
    assert extra_compile_s(before_s, now_s) == pytest.approx(more_s)


def test_without_a_turn_together_there_is_no_pair():
    assert trial_pair(RoundSide(ready()), RoundSide(ready()), []) is None
    assert trial_pair(RoundSide(ready()), RoundSide(), [(block(1.0), block(1.0))]) is None
    assert trial_pair(RoundSide(ready()), RoundSide(ready()), [(block(1.0), block(0.0))]) is None


def test_a_clock_that_counts_no_cpu_time_is_no_reason_to_fail():
    pair = trial_pair(RoundSide(ready()), RoundSide(ready()), [(block(1.0, cpu_s=0.0), block(1.0))])
    assert pair.cpu == 1.0


def test_the_time_of_a_step_is_that_of_the_last_block():
    side = RoundSide(ready())
    assert side.step_s == 0.01
    side.blocks += [block(1.0), block(2.0)]
    assert side.step_s == 0.2
    assert side.peak_bytes == 500


@pytest.mark.parametrize(
    ("step_s", "epoch", "steps"), [(0.01, 128, 128), (0.001, 150, 450), (0.01, 1000, 40)]
)
def test_short_epochs_are_measured_whole(step_s, epoch, steps):
    assert block_steps(step_s, epoch) == steps


def test_on_a_busy_machine_no_more_is_promised_than_cpu_time_says():
    gain = Measured(1.14, 1.25, 1.37, 3)
    assert with_cpu_bound(gain, 0.9).low == pytest.approx(1 / 0.9)
    assert with_cpu_bound(gain, 0.7) == gain
