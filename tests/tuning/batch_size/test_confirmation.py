from quickfit.tuning.batch_size.confirmation import (
    ConfirmedBatch,
    confirm_batch,
    input_limit_note,
    learning_rate_note,
)
from quickfit.tuning.batch_size.finder import begin_search, search_outcome
from quickfit.tuning.batch_size.ladder import BatchRow
from quickfit.tuning.trials.settings import TrialFailed, TrialFailure

from tuning.batch_size.machines import GB, Machine, error

ROW = BatchRow(64, (0.064,))


def words(samples_per_s, *, foreign=0.0, keeps_input=True, samples=50_000):
    search = Machine(foreign=foreign, samples=samples).search()
    search.keeps_input = keeps_input
    begin_search(search)
    search.crew.round()
    again = None if samples_per_s is None else BatchRow(64, (64 / samples_per_s,))
    return input_limit_note(search, ConfirmedBatch(ROW, 64, 1, again))


def test_an_input_that_is_the_limit_is_told():
    told = words(250)
    assert told.startswith("your input is the limit: with it 250 samples/s, from memory 1,000.")
    assert "quickfit bench" in told


def test_an_input_that_keeps_up_is_not():
    assert words(900) == ""
    assert words(None) == ""


def test_a_busy_machine_is_not_taken_for_a_slow_input():
    assert words(600, foreign=1.0) == ""
    assert words(400, foreign=1.0) != ""


def test_short_epochs_say_nothing_about_the_input():
    assert words(250, samples=300) == ""


def test_samples_that_were_kept_say_nothing_about_the_input():
    assert words(250, keeps_input=False) == ""


def searched(machine, **question):
    search = machine.search(**question)
    begin_search(search)
    search.climb()
    return search


def test_without_time_to_run_it_again_a_size_that_ran_is_taken_and_said_so():
    machine = Machine()
    search = searched(machine)
    machine.now_s = 88.0
    found = confirm_batch(search)
    assert (found.micro_batch, found.again) == (256, None)
    assert search.notes[-1].startswith("batch 256 was not run again, with your own input")


def test_without_time_a_part_that_never_ran_is_not_taken():
    machine = Machine()
    search = searched(machine, effective=1000)
    machine.now_s = 88.0
    assert confirm_batch(search) is None
    assert search.notes[-1].startswith("batch 250 was not run again")


def notes_on(machine, **question):
    return "\n".join(search_outcome(machine.search(**question)).notes)


def test_the_same_samples_per_update_need_no_word():
    assert learning_rate_note(32, 32) == ""


def test_more_samples_per_update_are_told_with_a_rule_of_thumb():
    told = learning_rate_note(32, 128)
    assert told.startswith("128 samples per update instead of 32: 1/4 as many updates in an epoch.")
    assert "The learning rate is not changed; to try: ×4 with SGD, ×2 with Adam" in told


def test_fewer_samples_per_update_are_told_too():
    assert "2× as many updates" in learning_rate_note(512, 256)
    assert "×0.5 with SGD, ×0.707 with Adam" in learning_rate_note(512, 256)


def test_no_rule_of_thumb_is_told_where_none_holds():
    told = learning_rate_note(32, 4096)
    assert "no rule of thumb reaches that far" in told
    assert "SGD" not in told


def test_an_unknown_batch_is_told_of_in_general():
    assert learning_rate_note(None, 64).startswith("the learning rate is not changed")


def test_the_gain_over_the_own_batch_is_told():
    assert "1.5× the samples per second of your batch 32, input left out" in notes_on(Machine())


def test_an_own_batch_that_is_a_little_faster_is_called_good():
    told = notes_on(Machine(own=512))
    assert "of your batch 512, input left out; batch 512 is good as well if it learns" in told


def test_an_input_that_limits_is_told():
    assert "your input is the limit" in notes_on(Machine(input_sample_s=0.001))


def test_accumulation_is_told_with_what_differs():
    told = notes_on(Machine(), effective=1000)
    assert "BatchNormalization still sees single batches" in told
    assert "schedules of the learning rate count updates" in told


def test_what_kept_it_from_larger_sizes_is_told():
    assert "an epoch would have fewer than 20 updates" in notes_on(Machine(samples=40))
    assert "larger ones were not tried: limit=64" in notes_on(Machine(), limit=64)


def test_sizes_that_end_in_an_error_are_told():
    failures = {64: error(), 128: error()}
    told = notes_on(Machine(failures=failures))
    assert "batch 64, 128 ended in an error; `text` of its row" in told
    assert "Is a batch size fixed" in told


def test_a_busy_machine_is_told():
    told = notes_on(Machine(foreign=0.8))
    assert "other programs kept 0.8 of 2 cores busy meanwhile: times may be off" in told


def test_sizes_that_were_not_side_by_side_are_told():
    machine = Machine(held_bytes=lambda batch: 0.6 * GB + 2e7 * batch)
    assert "memory was too short to measure all sizes side by side" in notes_on(machine)


def test_wanted_sizes_that_are_more_than_there_may_be_are_told():
    told = notes_on(Machine(samples=320), sizes=(32, 64, 400, 500))
    assert "batch 400, 500 left out: the data have 320 samples" in told
    assert "batch 128 left out: limit=100" in notes_on(Machine(), sizes=(32, 128), limit=100)
    assert "batch 64 left out: effective=48" in notes_on(Machine(), sizes=(24, 64), effective=48)


def test_the_largest_by_memory_tells_no_gain_from_times_that_do_not_fit():
    machine = Machine(step_s=lambda batch: 0.001 * batch * (5 if batch == 64 else 1))
    told = notes_on(machine, mode="max", each=2 * GB)
    assert "chosen by memory alone: the times of a step are" in told
    assert "samples per second" not in told


def test_a_loss_that_is_nan_from_the_beginning_is_told():
    told = notes_on(Machine(told={"is_nan": True}))
    assert "the loss is NaN from the first step: quickfit.tuning.find_nan" in told


def test_a_size_that_crashes_is_told_with_its_last_lines():
    crash = TrialFailed(TrialFailure.CRASHED, "it was ended by SIGABRT.\nIt wrote last:\nmine")
    told = notes_on(Machine(failures={64: crash}))
    assert "batch 64 crashed: it was ended by SIGABRT.\nIt wrote last:\nmine" in told
