from quickfit.tuning.batches.confirming import Confirmed, confirmed, input_words
from quickfit.tuning.batches.rows import Row
from quickfit.tuning.batches.starting import begin_search

from tuning.batches.machines import Machine

ROW = Row(64, (0.064,))


def words(samples_per_s, *, foreign=0.0, keeps_input=True, samples=50_000):
    search = Machine(foreign=foreign, samples=samples).search()
    search.keeps_input = keeps_input
    begin_search(search)
    search.crew.round()
    again = None if samples_per_s is None else Row(64, (64 / samples_per_s,))
    return input_words(search, Confirmed(ROW, 64, 1, again))


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
    found = confirmed(search)
    assert (found.micro_batch, found.again) == (256, None)
    assert search.notes[-1].startswith("batch 256 was not run again, with your own input")


def test_without_time_a_part_that_never_ran_is_not_taken():
    machine = Machine()
    search = searched(machine, effective=1000)
    machine.now_s = 88.0
    assert confirmed(search) is None
    assert search.notes[-1].startswith("batch 250 was not run again")
