"""A round: who takes turns with whom, what fails, and that everything is ended."""

import pytest

from quickfit.tuning.advice.candidates import Candidate
from quickfit.tuning.advice.processes import BaselineFailed, Started
from quickfit.tuning.advice.rounds import Lesson, Round, sequence
from quickfit.tuning.advice.rows import Kind
from quickfit.tuning.trials.settings import Setting

from tuning.advice.machines import World, faster, out_of_memory

XLA = Candidate(Kind.XLA, "XLA", Setting(jit=True))
STEPS = Candidate(Kind.STEPS, "8 steps", Setting(steps_per_execution=8))
BATCH = Candidate(Kind.BATCH, "batch 64", Setting(batch=64))


@pytest.mark.parametrize("count", range(9))
def test_every_candidate_is_next_to_the_block_it_is_compared_with(count):
    order = sequence(count)
    for place in range(count):
        at = order.index((place, False))
        base = order.index(((place + 1) // 2, True))
        assert abs(at - base) == 1


def test_a_ratio_is_one_of_samples_per_second_also_for_larger_batches():
    world = World(sample_s=faster(jit=1.25, batch=2.0))
    found = Round(world.machine(), [XLA, BATCH]).measure()
    assert found.pairs[XLA].gain == pytest.approx(1.25)
    assert found.pairs[BATCH].gain == pytest.approx(2.0)
    assert found.pairs[BATCH].cpu == pytest.approx(0.5)
    assert found.pairs[BATCH].step_s == pytest.approx(0.032)


def test_a_machine_that_slows_down_meanwhile_is_unfair_to_nobody():
    world = World()
    world.sample_s = lambda setting: 1e-3 * (1 + world.now_s / 100)
    found = Round(world.machine(), [XLA, STEPS, BATCH]).measure()
    for pair in found.pairs.values():
        assert pair.gain == pytest.approx(1.0, abs=0.02)


def test_turns_go_forth_and_back():
    world = World()
    Round(world.machine(), [XLA, STEPS]).measure()
    turn = [Setting(), XLA.setting, STEPS.setting, Setting()]
    assert world.blocks == [*turn, *reversed(turn), *turn]


def test_slow_steps_get_fewer_turns():
    world = World(sample_s=lambda setting: 0.1)
    Round(world.machine(), [XLA]).measure()
    assert world.blocks.count(XLA.setting) == 2


def test_the_start_order_can_be_turned_round():
    world = World()
    Round(world.machine(), [XLA]).measure(backwards=True)
    assert world.told[0].startswith("starting XLA, 1 of 2")
    assert world.told[1].startswith("starting as it is, 2 of 2")


@pytest.mark.parametrize("when", ["fails", "fails_in_block"])
def test_one_that_fails_does_not_disturb_the_others(when):
    world = World(**{when: lambda setting: out_of_memory() if setting.jit else None})
    found = Round(world.machine(), [XLA, STEPS]).measure()
    assert set(found.failures) == {XLA}
    assert set(found.pairs) == {STEPS}
    assert not world.open_trials


def test_without_the_training_as_it_is_there_is_no_round():
    world = World(fails=lambda setting: out_of_memory() if setting.is_as_it_was else None)
    with pytest.raises(BaselineFailed, match="the kernel ended the process"):
        Round(world.machine(), [XLA]).measure()
    assert not world.open_trials


def test_a_training_that_runs_already_is_not_started_again():
    world = World()
    machine = world.machine()
    base = Started(machine.make(Setting()), "as it is")
    base.begin()
    base.wait(machine)
    Round(machine, [XLA], base=base).measure()
    assert world.count(Setting()) == 1


def test_only_what_is_not_slower_learns():
    world = World(sample_s=faster(jit=1.2, steps_per_execution=0.8))
    lesson = Lesson(256, frozenset({XLA, STEPS}))
    found = Round(world.machine(), [XLA, STEPS], lesson=lesson).measure()
    assert found.pairs[XLA].learned.samples == found.pairs[XLA].unchanged.samples == 256
    assert found.pairs[STEPS].learned is None


def test_who_has_learned_before_does_not_learn_again():
    world = World(sample_s=faster(jit=1.2, steps_per_execution=1.2))
    lesson = Lesson(256, frozenset({XLA}), with_base=False)
    found = Round(world.machine(), [XLA, STEPS], lesson=lesson).measure()
    assert found.pairs[XLA].learned.samples == 256
    assert found.pairs[XLA].unchanged is None
    assert found.pairs[STEPS].learned is None


def test_the_end_of_the_budget_ends_a_round_and_keeps_what_it_has():
    world = World()
    found = Round(world.machine(budget_s=6.0), [XLA]).measure()
    assert found.is_cut
    assert found.pairs[XLA].gain == pytest.approx(1.0)
    assert world.now_s <= 6.0
    assert not world.open_trials


def test_a_budget_that_ends_while_processes_start_leaves_no_pair():
    world = World()
    found = Round(world.machine(budget_s=3.0), [XLA, STEPS, BATCH]).measure()
    assert found.is_cut
    assert not found.pairs
    assert not found.failures
    assert world.count(BATCH.setting) == 0


def test_ctrl_c_ends_every_process():
    world = World(interrupt_at_s=8.5)
    with pytest.raises(KeyboardInterrupt):
        Round(world.machine(), [XLA, STEPS]).measure()
    assert not world.open_trials
