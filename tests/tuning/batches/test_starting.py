import pytest

from quickfit.errors import ModelError
from quickfit.tuning.batches.crew import OutOfTime
from quickfit.tuning.batches.starting import begin_search
from quickfit.tuning.trials.answers import Failure, TrialFailed

from tuning.batches.machines import FakeTrial, Machine, error, hung, out_of_memory


def begun(machine, **question):
    search = machine.search(**question)
    begin_search(search)
    return search


def test_it_begins_with_the_users_own_batch():
    search = begun(Machine(own=48))
    assert (search.own, search.samples, search.start_s) == (48, 50_000, 5.0)
    assert search.rows[0].is_own


def test_it_begins_small_where_the_own_batch_does_not_fit():
    search = begun(Machine(failures={"own": out_of_memory()}))
    assert search.own is None
    assert [row.batch for row in search.rows] == [8]
    assert search.notes == ["your own batch does not fit in memory: limit 10 GB"]


def test_it_begins_with_one_sample_where_eight_do_not_fit():
    search = begun(Machine(failures={"own": out_of_memory(), 8: out_of_memory()}))
    assert [row.batch for row in search.rows] == [1]


def test_it_begins_with_the_smallest_of_wanted_sizes():
    assert [row.batch for row in begun(Machine(), sizes=(16, 64)).rows] == [16]


def test_a_model_that_never_fits_is_told_with_the_limit():
    failures = dict.fromkeys(("own", 4, 1), out_of_memory())
    with pytest.raises(ModelError, match=r"not even the smallest batch.*10 GB.*memory_limit"):
        begun(Machine(failures=failures), limit=4)


def test_an_error_of_the_user_is_shown_as_it_is():
    with pytest.raises(ModelError) as caught:
        begun(Machine(failures={"own": error()}))
    assert str(caught.value).startswith("the first trial ended in an error:\n")
    assert 'File "train.py", line 3, in build\nValueError: no such layer' in str(caught.value)


def test_a_first_trial_that_hangs_is_told():
    with pytest.raises(ModelError, match=r"the first trial hung: no sign of life.*\n.*wait for"):
        begun(Machine(failures={"own": hung()}))


def test_a_first_trial_that_crashes_is_told():
    crash = TrialFailed(Failure.CRASHED, "the process was ended by SIGSEGV.\nIt wrote last:\nx")
    with pytest.raises(ModelError) as caught:
        begun(Machine(failures={"own": crash}))
    assert str(caught.value) == (
        "the process that tried the model crashed: the process was ended by SIGSEGV.\n"
        "It wrote last:\nx"
    )


def test_a_first_trial_that_takes_all_the_time_is_told():
    class Slow(FakeTrial):
        def ready(self):
            raise OutOfTime

    machine = Machine()
    machine.begin = lambda setting, patience_s: Slow(machine, setting, patience_s)
    with pytest.raises(
        ModelError, match=r"not ready after 90 s, which is all of budget_s.*\(360\)"
    ):
        begun(machine)
