import re
from dataclasses import replace

import pytest

from quickfit.tuning.batch_size.finder import begin_search
from quickfit.tuning.trials.settings import TrialFailed, TrialFailure

from tuning.batch_size.machines import GB, FakeTrial, Machine, error, hung


def climbed(machine, **question):
    search = machine.search(**question)
    begin_search(search)
    search.measure()
    return search


def batches(search):
    return [row.batch for row in search.rows if row.is_measured]


def test_sizes_are_doubled_until_they_gain_no_more():
    search = climbed(Machine())
    assert batches(search) == [8, 16, 32, 64, 128, 256, 512]
    assert search.choice().batch == 256
    assert search.choice(below=256).batch == 128
    assert search.time.residual < 0.01
    assert next(row for row in search.rows if row.is_own).batch == 32


def test_what_the_line_of_memory_rules_out_is_never_started():
    machine = Machine(held_bytes=lambda batch: 0.6 * GB + 2e7 * batch)
    search = climbed(machine)
    assert batches(search)[-1] == 256
    ruled_out = next(row for row in search.rows if row.batch == 512)
    assert ruled_out.words == "not tried: about 11 GB needed, limit 10 GB"
    assert 512 not in [setting.batch for setting in machine.started]


def test_a_size_is_ruled_out_only_after_all_smaller_ones_have_told_of_memory():
    machine = Machine(held_bytes=lambda batch: 0.8 * GB + 1e6 * batch)
    search = climbed(machine, sizes=(32, 64, 2048, 16384), each=4 * GB)
    assert batches(search) == [32, 64, 2048]
    assert search.rows[-1].words.startswith("not tried: about 17 GB needed")


def test_trials_that_are_alive_together_fit_in_memory():
    machine = Machine(held_bytes=lambda batch: 0.6 * GB + 2e7 * batch)
    search = climbed(machine, all_bytes=7 * GB, each=6.5 * GB)
    assert search.is_apart
    assert batches(search) == [8, 16, 32, 64, 128, 256]
    assert machine.most_bytes <= 7 * GB


def test_memory_that_grows_with_the_square_of_the_batch_is_followed():
    machine = Machine(held_bytes=lambda batch: 0.6 * GB + 3e4 * batch**2)
    search = climbed(machine, mode="max", each=4 * GB)
    assert machine.held_bytes(search.choice().batch) <= 4 * GB


@pytest.mark.parametrize("each", [1 * GB, 2 * GB, 5 * GB, 20 * GB])
def test_the_largest_is_within_a_factor_of_two_of_what_fits(each):
    machine = Machine(samples=None)
    search = climbed(machine, mode="max", each=each)
    found = search.choice().batch
    assert machine.held_bytes(found) <= each * 0.9
    assert machine.held_bytes(2 * found) > each * 0.9 * 0.99


def test_the_largest_is_the_whole_data_where_that_fits():
    assert climbed(Machine(samples=1500), mode="max").choice().batch == 1500


def test_a_search_without_time_says_what_it_left_out():
    machine = Machine(start_s=20)
    search = climbed(machine, budget_s=60)
    assert search.is_cut
    assert re.fullmatch(
        r"not tried for want of time: batch [\d, ]+ \(one more size takes about \d+ s, "
        r"running the chosen one again \d+ s, and \d+ s were left\)",
        search.notes[0],
    )
    assert machine.now_s <= 60


@pytest.mark.parametrize("step_s", [0.0001, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("start_s", [2, 6, 12])
def test_the_budget_leaves_time_for_running_the_choice_again(step_s, start_s):
    machine = Machine(step_s=lambda batch: step_s * (1 + batch / 32), start_s=start_s)
    climbed(machine)
    # On the machine of the tests trials start one after the other.
    late_s = 4 * start_s
    assert machine.now_s <= 90 + late_s


def test_a_size_that_hangs_costs_no_more_than_its_patience():
    machine = Machine(failures={64: hung()}, start_s=3)
    search = climbed(machine)
    row = next(row for row in search.rows if row.batch == 64)
    assert row.words.startswith("hung: no sign of life")
    assert 8 in batches(search)
    assert machine.now_s < 90


def test_noise_is_measured_on_for():
    machine = Machine()
    turns = []

    def noisy(batch):
        # Only rarely is nobody in the way of batch 64.
        turns.append(batch)
        is_disturbed = batch == 64 and turns.count(64) % 13
        return (0.002 + 0.0001 * batch) * (3 if is_disturbed else 1)

    machine.step_s = noisy
    search = climbed(machine)
    assert search.misfit <= 0.2
    assert len(next(row for row in search.rows if row.batch == 64).steps_s) > 8


def test_a_climb_that_noise_has_ended_goes_on_when_the_noise_is_over():
    machine = Machine(start_s=2)

    def noisy(batch):
        # Batch 128 is disturbed in its first turns, as if it were no faster than 64.
        is_disturbed = batch == 128 and machine.now_s < 15
        return (0.002 + 0.0001 * batch) * (2 if is_disturbed else 1)

    machine.step_s = noisy
    search = climbed(machine)
    assert batches(search)[-1] > 128
    assert search.choice().batch == 256


def test_rounds_that_differ_are_all_there_is_to_tell_of_two_sizes():
    times = iter([0.01, 0.01, 0.02, 0.05] * 100)
    machine = Machine(own=8, samples=20 * 16, step_s=lambda batch: next(times))
    search = climbed(machine)
    assert search.time is None
    assert search.misfit > 0.2


def test_one_size_leaves_no_choice_to_go_wrong():
    times = iter([0.01, 0.02, 0.05] * 100)
    search = climbed(Machine(own=4, samples=4, step_s=lambda batch: next(times)))
    assert search.misfit == 0.0


def test_a_line_is_told_for_each_size_once():
    told = []
    climbed(Machine(samples=20 * 64), tell=told.append)
    assert told[0] == "starting your own batch"
    assert told[1] == "batch 32: 5.2 ms per step, 6,154 samples/s, 632 MB"
    assert told[2] == "starting batch 8, 16, 64 (82 s left)"
    assert [line.split(":")[0] for line in told[3:]] == ["batch 8", "batch 16", "batch 64"]


def test_an_error_of_the_users_is_told_in_full():
    told = []
    climbed(Machine(failures={64: error()}), tell=told.append)
    assert "batch 64: error: ValueError: no such layer" in told
    assert 'File "train.py", line 3, in build\nValueError: no such layer' in told


def test_a_crash_is_told_with_the_last_lines_of_its_process():
    told = []
    crash = TrialFailed(TrialFailure.CRASHED, "it was ended by SIGABRT.\nIt wrote last:\nmine")
    climbed(Machine(failures={64: crash}), tell=told.append)
    at = told.index("batch 64: crashed: it was ended by SIGABRT.")
    assert told[at + 1] == "It wrote last:\nmine"


def test_data_that_do_not_tell_their_size_end_the_climb_where_they_end():
    class Short(FakeTrial):
        def ready(self):
            return replace(super().ready(), batch=min(self.batch, 50))

    machine = Machine(samples=None)
    machine.begin = lambda setting, patience_s: Short(machine, setting, patience_s)
    search = climbed(machine)
    assert batches(search) == [8, 16, 32]
    assert max(setting.batch or 0 for setting in machine.started) == 128


def test_wanted_sizes_are_tried_and_no_others():
    machine = Machine()
    search = climbed(machine, sizes=(10, 20, 40))
    assert batches(search) == [10, 20, 40]
    assert [setting.batch for setting in machine.started] == [10, 20, 40]
    assert search.own is None
