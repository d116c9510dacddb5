"""The search: who gets more pairs, what is combined, and that the budget is kept."""

import pytest

from quickfit.lab.statistics import Measured
from quickfit.lab.verdict import judge_gain
from quickfit.tuning.advice.candidates import (
    CHANGE_KINDS,
    IN_MEMORY,
    ChangeCandidate,
    TrialCircumstances,
    choose_candidates,
)
from quickfit.tuning.advice.change_table import ChangeKind, ChangeVerdict
from quickfit.tuning.advice.rounds import BaselineFailed, SettingBench
from quickfit.tuning.advice.search import CandidateSearch, may_still_change
from quickfit.tuning.advice.verdicts import LATE, Measurement, TriedCandidate
from quickfit.tuning.trials.batch_judgement import learn_samples
from quickfit.tuning.trials.settings import Setting, TrialReady

from tuning.advice.machines import World, faster, out_of_memory

XLA = Setting(jit=True)


def searched(world, budget_s=180.0, steps_left=None, room=16):
    """Let a search try everything; return it and its bench."""
    bench = SettingBench(world.machine(budget_s))
    search = CandidateSearch(bench, steps_left=steps_left)
    try:
        ready = bench.begin()
        bench.processes = room
        candidates = choose_candidates(TrialCircumstances(ready, 2), CHANGE_KINDS)
        search.try_alone([*(one for one in candidates if not one.reason), IN_MEMORY])
        search.try_together()
    finally:
        bench.close()
    search.bench = bench
    return search


def verdicts(search):
    return {row.name: row.verdict for row in search.choice.rows()}


def test_what_is_slower_at_first_is_tried_once():
    world = World(sample_s=faster(jit=0.8))
    searched(world)
    assert world.count(XLA) == 1


@pytest.mark.parametrize(("gain", "count"), [(1.5, 2), (1.2, 3)])
def test_what_is_faster_is_tried_in_fresh_processes_until_that_is_certain(gain, count):
    world = World(sample_s=faster(jit=gain))
    search = searched(world)
    assert world.count(XLA) == count
    assert verdicts(search)["XLA (jit_compile)"] is ChangeVerdict.ADVISED
    assert search.choice.best().setting == XLA


def test_what_has_hardly_gained_in_two_pairs_gets_no_third():
    world = World(sample_s=faster(jit=1.02))
    search = searched(world)
    assert world.count(XLA) == 2
    assert verdicts(search)["XLA (jit_compile)"] is ChangeVerdict.NO_GAIN


def test_a_gain_near_the_bound_gets_more_than_three_pairs():
    world = World()
    gains = [1.15, 1.0, 1.2, 1.15, 1.0, 1.15]

    def sample_s(setting):
        return 1e-3 / gains[world.count(XLA) - 1] if setting == XLA else faster()(setting)

    world.sample_s = sample_s
    searched(world, 400.0)
    assert world.count(XLA) == 6


def test_winners_are_combined_beside_the_best_of_them():
    world = World(sample_s=faster(jit=1.5, steps_per_execution=1.2))
    search = searched(world)
    best = search.choice.best()
    assert best.kind is ChangeKind.TOGETHER
    assert best.setting == Setting(jit=True, steps_per_execution=32)
    assert verdicts(search)["XLA + 32 steps"] is ChangeVerdict.ADVISED
    assert verdicts(search)["XLA (jit_compile)"] is ChangeVerdict.ADVISED
    assert search.choice.tried[best].gain.pairs == 2


def test_of_one_kind_the_better_one_is_combined():
    world = World(
        sample_s=lambda s: (
            1e-3 / (1.5 if s.jit else 1) / {8: 1.4, 32: 1.3}.get(s.steps_per_execution, 1)
        )
    )
    search = searched(world)
    assert search.choice.best().setting.steps_per_execution == 8
    row = {row.name: row for row in search.choice.rows()}["32 steps per call"]
    assert row.verdict is ChangeVerdict.OUTDONE
    assert row.reason == "8 steps per call was ahead when both ran side by side"
    assert row.gain.pairs == 1


def test_a_combination_that_is_no_better_gives_way_to_the_best_alone():
    def sample_s(setting):
        if setting.jit:
            return 1e-3 / 1.5
        return 1e-3 / (1.2 if setting.steps_per_execution else 1)

    search = searched(World(sample_s=lambda s: sample_s(s) * (1.01 if len(s.changed()) > 1 else 1)))
    assert search.choice.best().setting == XLA
    rows = {row.name: row for row in search.choice.rows()}
    assert rows["XLA + 32 steps"].verdict is ChangeVerdict.OUTDONE
    assert rows["XLA + 32 steps"].reason == "not faster than XLA (jit_compile) alone"
    assert "not together with XLA" in rows["32 steps per call"].reason


def test_a_combination_that_fails_gives_way_too():
    world = World(
        sample_s=faster(jit=1.5, steps_per_execution=1.2),
        fails=lambda setting: out_of_memory() if len(setting.changed()) > 1 else None,
    )
    search = searched(world)
    assert search.choice.best().setting == XLA
    assert verdicts(search)["XLA + 32 steps"] is ChangeVerdict.FAILED


def test_a_batch_that_learns_less_is_neither_advised_nor_combined():
    world = World(
        sample_s=faster(jit=1.5, batch=3.0), after=lambda setting: 0.9 if setting.batch else 0.5
    )
    search = searched(world)
    assert search.choice.best().setting == XLA
    assert verdicts(search)["batch 128 (×4)"] is ChangeVerdict.LEARNS_LESS


def test_losses_are_compared_after_the_same_samples_also_in_the_combination():
    world = World(sample_s=faster(jit=1.5, steps_per_execution=1.2))
    search = searched(world)
    losses = [row.loss for row in search.choice.rows() if row.verdict is ChangeVerdict.ADVISED]
    assert len(losses) == 3
    assert len({loss.samples for loss in losses}) == 1
    assert losses[0].samples % 128 == 0


def test_input_from_memory_is_a_fact_and_no_advice():
    search = searched(World(sample_s=faster(in_memory=1.6)))
    assert search.choice.input_gain().mean == pytest.approx(1.6)
    assert search.choice.input_gain().pairs == 3
    assert search.choice.best() is None
    assert IN_MEMORY.name not in verdicts(search)


@pytest.mark.parametrize("budget_s", [25, 40, 60, 90, 120, 180, 400])
@pytest.mark.parametrize("start_s", [1.0, 4.0, 9.0])
def test_the_budget_is_kept(budget_s, start_s):
    world = World(sample_s=faster(jit=1.5, steps_per_execution=1.2, batch=1.3), start_s=start_s)
    search = searched(world, budget_s)
    assert world.now_s <= budget_s
    assert not world.open_trials
    left = [row for row in search.choice.rows() if row.gain is None]
    assert all(row.reason in ("the budget was over", LATE) for row in left)


def test_a_small_budget_tries_the_first_changes_and_lists_the_others():
    world = World(sample_s=faster(jit=1.5), start_s=4.0)
    search = searched(world, 45)
    found = verdicts(search)
    assert found["XLA (jit_compile)"] is ChangeVerdict.ADVISED
    assert found["intra-op threads 1"] is ChangeVerdict.NOT_TRIED


def test_the_usual_budget_is_enough_for_a_small_model():
    # On two cores a process takes about 4 s of wall time where two start together.
    world = World(sample_s=faster(jit=1.3, steps_per_execution=1.4), start_s=4.0)
    search = searched(world)
    assert search.choice.best().kind is ChangeKind.TOGETHER
    assert ChangeVerdict.NOT_TRIED not in verdicts(search).values()


def test_little_memory_means_fewer_processes_at_once():
    world = World(sample_s=faster(jit=1.5, steps_per_execution=1.2))
    alive = []
    make = world.make

    def counted(setting):
        alive.append(len(world.open_trials))
        return make(setting)

    world.make = counted
    search = searched(world, 600, room=2)
    assert max(alive) <= 2
    assert search.choice.best().kind is ChangeKind.TOGETHER


def test_a_training_that_does_not_run_is_told_at_once():
    world = World(fails=lambda setting: out_of_memory())
    with pytest.raises(BaselineFailed):
        searched(world)
    assert not world.open_trials


def test_a_training_that_fails_later_leaves_what_was_measured():
    world = World(sample_s=faster(jit=1.5))
    world.fails = lambda s: out_of_memory() if s.is_as_it_was and world.now_s > 25 else None
    search = searched(world)
    assert "failed in a later round: out of memory" in search.bench.notes[0]
    row = search.choice.rows()[0]
    assert row.verdict is ChangeVerdict.NOT_DECIDED
    assert "your training as it is failed in a later round" in row.reason


def test_what_does_not_pay_in_the_steps_left_is_not_advised():
    world = World(sample_s=faster(jit=1.5), compile_s=lambda s: 20.0 if s.jit else 0.5)
    search = searched(world, steps_left=100)
    row = search.choice.rows()[0]
    assert row.verdict is ChangeVerdict.NO_GAIN
    assert "you have 100 left" in row.reason
    assert search.choice.best() is None


def test_what_has_failed_gets_no_more_pairs():
    failed = TriedCandidate(ChangeCandidate(ChangeKind.XLA, "XLA", XLA), failure="out of memory")
    assert not may_still_change(failed)


@pytest.mark.parametrize(
    ("gain", "cpu", "is_busy", "expected"),
    [
        (0.9, 0.7, True, True),
        (0.9, 0.7, False, False),
        (0.9, 1.0, True, False),
        (0.6, 0.5, True, False),
        (1.0, 1.2, False, True),
    ],
)
def test_on_a_busy_machine_cpu_time_has_a_say_in_the_first_pair(gain, cpu, is_busy, expected):
    found = Measurement(Measured(0.0, gain, float("inf"), 1), judge_gain([gain]), cpu)
    tried = TriedCandidate(ChangeCandidate(ChangeKind.XLA, "XLA", XLA), found)
    assert may_still_change(tried, is_busy=is_busy) is expected


def test_time_that_is_left_is_used_for_a_first_pair_of_the_others():
    # A process takes longer than was planned: three rounds of another one do not fit any more.
    world = World(start_s=2.0)
    world.sample_s = faster()
    bench = SettingBench(world.machine(60.0))
    search = CandidateSearch(bench)
    ready = bench.begin()
    bench.processes = 16
    world.start_s = 6.0
    candidates = choose_candidates(TrialCircumstances(ready, 2), CHANGE_KINDS)
    search.try_alone([one for one in candidates if not one.reason])
    bench.close()
    assert len(bench.measured) >= 5
    assert world.now_s <= 60.0


def test_time_that_is_left_is_used_for_what_had_no_room_in_a_round_before():
    # The third round has room for the most promising one alone, which then gains nothing.
    world, few = World(), Setting(inter_threads=1)
    gains = [1.5, 1.4, 0.5]

    def sample_s(setting):
        if setting == XLA:
            return 1e-3 / gains[min(world.count(XLA), 3) - 1]
        return faster(inter_threads=1.2)(setting)

    world.sample_s = sample_s
    search = searched(world, 90.0)
    assert world.count(XLA) == 3
    assert world.count(few) == 3
    assert verdicts(search)["inter-op threads 1"] is ChangeVerdict.ADVISED
    assert search.choice.tried[search.choice.best()].measured.loss is not None


def ready(batch=32, samples=None, step_s=0.01):
    return TrialReady(batch, samples, 0.1, 0.5, step_s, 1234, 400)


def test_a_round_has_the_training_as_it_is_beside_its_candidates():
    bench = SettingBench(World(start_s=4.0).machine())
    bench.begin()
    bench.processes = 16
    assert bench.round_s(3) == pytest.approx(2 * bench.round_s(1))
    assert bench.room(bench.round_s(3)) == 3
    assert bench.room(1.0) == 0
    bench.processes = 3
    assert bench.room(1e9) == 2


def test_a_pace_of_nothing_plans_no_endless_rounds():
    bench = SettingBench(World().machine())
    bench.processes = 10**6
    assert bench.room(10.0) < 1000


def test_slow_steps_make_a_slow_round():
    def process_s(sample_s):
        bench = SettingBench(World(sample_s=lambda setting: sample_s).machine())
        bench.begin()
        return bench.round_s(0)

    assert process_s(2.0 / 32) > process_s(1e-4) + 10


@pytest.mark.parametrize(
    ("given", "largest", "samples"),
    [
        pytest.param(ready(), 128, 6400, id="two seconds of training"),
        pytest.param(ready(samples=1000), 128, 896, id="no more than the data, in whole batches"),
        pytest.param(ready(step_s=1.0), 128, 128, id="slow steps: what the budget allows"),
        pytest.param(ready(step_s=0.2), 128, 768, id="a few steps of the largest batch"),
        pytest.param(ready(step_s=1e-5), 128, 19968, id="fast steps: enough is enough"),
        pytest.param(ready(samples=100), 128, 128, id="a batch beyond the data"),
    ],
)
def test_losses_are_compared_after_whole_batches_of_everybody(given, largest, samples):
    assert learn_samples(given, largest, budget_s=180.0) == samples
