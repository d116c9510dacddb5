import pickle

import numpy as np
import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning import find_batch_size
from quickfit.tuning.batch_size import search
from quickfit.tuning.batch_size.finder import (
    SEARCH_VARIABLE,
    begin_search,
    recipe_for_build,
    search_outcome,
)
from quickfit.tuning.batch_size.trial_pool import SearchOutOfTime
from quickfit.tuning.trials.settings import RecipeKind, Setting, TrialFailed, TrialFailure

from tuning.batch_size import broken_builders
from tuning.batch_size.machines import GB, FakeTrial, Machine, error, hung, out_of_memory


def test_a_name_and_a_function_are_taken(tmp_path):
    assert recipe_for_build("train:build", None, tmp_path).kind is RecipeKind.NAME
    assert recipe_for_build(lambda: None, None, tmp_path).kind is RecipeKind.FUNCTION


@pytest.mark.parametrize(
    ("build", "data", "said"),
    [
        (5, None, r"find_batch_size\(int\): give a function that returns a compiled model"),
        (None, None, r"find_batch_size\(NoneType\): give a function"),
        ("train:build", [1], r"find_batch_size\('train:build', data\): a named function returns"),
        (lambda: "model", [1], r"build\(\) returned str, not a Keras model\. Return the model"),
        ("train.py", None, r"'train.py' does not name a function"),
    ],
)
def test_what_cannot_be_tried_is_told_before_anything_starts(build, data, said):
    with pytest.raises(UsageError, match=said):
        find_batch_size(build, data)


def test_a_wrong_option_is_told_before_anything_starts():
    with pytest.raises(UsageError, match=r"mode='fast'"):
        find_batch_size("train:build", mode="fast")


def test_too_little_memory_is_told_before_anything_starts():
    with pytest.raises(UsageError, match=r"Python and TensorFlow alone hold about 600 MB"):
        find_batch_size("train:build", memory_limit="200 MB")


def test_a_trial_that_would_search_again_is_told_how_not_to(monkeypatch):
    monkeypatch.setenv(SEARCH_VARIABLE, "1")
    with pytest.raises(UsageError, match=r'(?s)called again.*if __name__ == "__main__":'):
        find_batch_size("train:build")


@pytest.fixture
def model(tf):
    """Return a small compiled model."""
    import keras

    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


@pytest.mark.loads_tf
def test_a_model_without_data_is_told(model):
    with pytest.raises(
        UsageError, match=r"the data are missing.*find_batch_size\(model, \(x, y\)\)"
    ):
        find_batch_size(model)


@pytest.mark.loads_tf
def test_a_model_or_a_function_that_returns_one_is_taken_with_data_beside_it(model, tmp_path):
    data = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
    for number, build in enumerate((model, lambda: model)):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert recipe_for_build(build, data, folder).kind is RecipeKind.MODEL


@pytest.mark.loads_tf
def test_a_function_is_carried_where_its_model_cannot_be_saved(model, tmp_path):
    import keras

    class Sized(keras.Model):  # no get_config: Keras would make it again with its defaults
        def __init__(self, units=1):
            super().__init__()
            self.last = keras.layers.Dense(units)

        def call(self, x):
            return self.last(x)

    def build():
        made = Sized(3)
        made.compile("sgd", "mse")
        return made

    data = np.ones((64, 4), "float32"), np.ones((64, 3), "float32")
    recipe = recipe_for_build(build, data, tmp_path)
    assert (recipe.kind, recipe.batch_size, recipe.keeps_input) == (RecipeKind.FUNCTION, 32, False)
    made, (x, _) = pickle.loads(recipe.payload)()
    assert made.last.units == 3
    assert (x == data[0]).all()


@pytest.mark.tf
@pytest.mark.tf_any
def test_sizes_that_hang_are_killed_or_take_too_much_leave_the_one_that_works(monkeypatch):
    monkeypatch.setattr(search, "MIN_PATIENCE_S", 15.0)
    monkeypatch.setattr(search, "PATIENCE", 1.0)
    told = []
    plan = find_batch_size(
        broken_builders.build,
        sizes=(8, 16, 32, 64),
        memory_limit="2.5 GB",
        budget_s=300,
        progress=told.append,
    )
    rows = {row.batch: row for row in plan.evidence}
    assert rows[broken_builders.HANGS].failure is TrialFailure.HUNG
    # Whether somebody else killed it can be told on some systems only.
    assert rows[32].failure in (TrialFailure.CRASHED, TrialFailure.OUT_OF_MEMORY)
    assert "SIGKILL" in rows[32].text
    assert rows[broken_builders.TAKES_TOO_MUCH].failure is TrialFailure.OUT_OF_MEMORY
    assert rows[8].is_measured
    assert rows[8].peak_bytes < 2.5e9
    assert plan.micro_batch == 8
    assert plan.time is None
    for batch in rows:
        assert any(line.startswith(f"batch {batch}: ") for line in told)


@pytest.mark.tf
@pytest.mark.tf_any
def test_an_error_of_the_user_is_shown_as_it_is():
    with pytest.raises(ModelError) as caught:
        find_batch_size(broken_builders.broken)
    assert "broken_builders.py" in str(caught.value)
    assert str(caught.value).endswith("ValueError: there are no images in data/train")


def plan_on(machine, **question):
    plan = search_outcome(machine.search(**question))
    assert not machine.alive
    return plan


def test_the_choice_is_run_again_with_the_users_own_input():
    machine = Machine()
    plan = plan_on(machine)
    assert (plan.micro_batch, plan.accumulation, plan.effective_batch) == (256, 1, 256)
    *searched, last, compared = machine.started
    assert last == Setting(batch=256)
    assert all(setting.in_memory for setting in searched)
    assert compared == Setting(batch=32)  # whose loss it is compared with


def test_a_batch_that_learns_less_gives_way_to_a_lower_one():
    plan = plan_on(Machine(loss=lambda batch: 0.9 if batch > 64 else 0.5), budget_s=200)
    assert plan.micro_batch == 64
    assert any("batch 256 learns less: after" in note for note in plan.notes)


def test_a_batch_leaves_an_epoch_twenty_updates():
    plan = plan_on(Machine(samples=2000, step_s=lambda batch: 0.01))
    assert plan.micro_batch == 64
    assert "larger ones were not tried: an epoch would have fewer than 20 updates" in plan.notes


def test_a_choice_that_fails_when_run_again_gives_way_to_a_lower_one():
    plan = plan_on(Machine(late_failures={256: out_of_memory(), 128: out_of_memory()}))
    assert plan.micro_batch == 64
    assert plan.notes[-2].startswith("batch 256 failed when it was run again")
    row = next(row for row in plan.evidence if row.batch == 256)
    assert row.words.startswith("failed when run again: out of memory")


def test_nothing_is_recommended_where_everything_fails_when_run_again():
    failures = {size: error() for size in (8, 16, 32, 64, 128, 256, 512)}
    plan = plan_on(Machine(late_failures=failures, start_s=2))
    assert plan.micro_batch is None
    assert plan.reason.startswith("no size came to its end when it was run again")


def test_an_effective_batch_is_made_of_parts():
    plan = plan_on(Machine(), effective=1000)
    assert (plan.micro_batch, plan.accumulation, plan.effective_batch) == (250, 4, 1000)


def test_an_effective_batch_that_fits_is_one_step():
    plan = plan_on(Machine(), effective=32)
    assert (plan.micro_batch, plan.accumulation) == (32, 1)


def test_an_effective_batch_without_divisors_is_rounded_up():
    plan = plan_on(Machine(), effective=997)
    assert plan.micro_batch * plan.accumulation == plan.effective_batch >= 997
    assert any("997 samples cannot be split evenly: " in note for note in plan.notes)


def test_the_largest_with_an_effective_batch_is_its_largest_part():
    plan = plan_on(Machine(), mode="max", each=1.8 * GB, effective=6000)
    assert plan.effective_batch == 6000
    assert plan.micro_batch <= 1024


def test_measurements_that_do_not_fit_are_no_ground_to_choose_on():
    machine = Machine(step_s=lambda batch: 0.001 * batch * (5 if batch == 64 else 1), foreign=1.3)
    plan = plan_on(machine)
    assert plan.micro_batch is None
    assert plan.reason.startswith("the times of a step do not lie on a rising line (")
    assert "other programs kept 1.3 of 2 cores busy meanwhile. Try again" in plan.reason
    assert plan.lines == ()
    assert len(plan.evidence) == 5


def test_a_larger_step_that_seems_faster_is_no_ground_to_choose_on():
    times = {8: 0.014, 16: 0.016, 32: 0.018, 64: 0.011, 128: 0.018}
    plan = plan_on(Machine(step_s=times.get, samples=20 * 128))
    assert plan.micro_batch is None
    assert "do not lie on a rising line (39 % off, more than 20 %)" in plan.reason


def test_a_quiet_machine_is_not_blamed():
    machine = Machine(step_s=lambda batch: 0.001 * batch * (5 if batch == 64 else 1))
    reason = plan_on(machine).reason
    assert "the machine was otherwise quiet. Give a larger budget_s, or choose" in reason


def test_two_sizes_whose_rounds_differ_are_refused():
    times = iter([0.01, 0.01, 0.02, 0.05] * 100)
    machine = Machine(own=8, samples=20 * 16, step_s=lambda batch: next(times))
    assert plan_on(machine).reason.startswith("the rounds differ from each other by ")


def test_the_largest_needs_no_times():
    machine = Machine(step_s=lambda batch: 0.001 * batch * (5 if batch == 64 else 1))
    assert plan_on(machine, mode="max", each=2 * GB).micro_batch == 1024


def test_one_size_that_there_was_time_for_is_no_choice():
    plan = plan_on(Machine(start_s=25), budget_s=40)
    assert plan.micro_batch is None
    assert plan.reason == (
        "budget_s=40 was enough for batch 32 alone: one more size takes about 33 s, and 14 s were "
        "left. Give budget_s=250"
    )


def test_a_second_size_is_tried_in_the_time_for_running_the_choice_again():
    plan = plan_on(Machine(own=32, start_s=25), budget_s=70, sizes=(32, 64))
    assert [row.batch for row in plan.evidence if row.is_measured] == [32, 64]
    assert plan.micro_batch == 64
    assert plan.notes[-1] == (
        "batch 64 was not run again, with your own input: that takes about 25 s, and 17 s were "
        "left. Give a larger budget_s"
    )


def test_a_part_of_an_effective_batch_is_one_of_the_wanted_sizes_where_one_divides_it():
    # Without the sizes it would be 10 times 104.
    plan = plan_on(Machine(), effective=1040, sizes=(65, 128))
    assert (plan.micro_batch, plan.accumulation) == (65, 16)
    assert not any("none of your sizes" in note for note in plan.notes)


def test_a_part_that_is_none_of_the_wanted_sizes_is_explained_and_has_a_row():
    plan = plan_on(Machine(), effective=1000, sizes=(64, 128))
    assert plan.micro_batch == 125
    row = next(row for row in plan.evidence if row.batch == 125)
    assert row.is_measured
    assert row.words == "run at the end, with your own input"
    assert any(
        note.startswith("batch 125 is none of your sizes: of those near the best one, 128, none")
        for note in plan.notes
    )
    assert "→   125 " in repr(plan)


def test_a_part_that_there_was_no_time_to_run_is_not_recommended():
    plan = plan_on(Machine(start_s=25), budget_s=70, effective=1000, sizes=(32, 64))
    assert plan.micro_batch is None
    assert plan.reason.startswith("there was no time left to run the chosen batch.")


def test_a_choice_on_a_very_busy_machine_is_called_uncertain():
    assert plan_on(Machine(foreign=0.8)).doubt == ""
    plan = plan_on(Machine(foreign=1.2))
    assert (
        "use batch 256 (uncertain: other programs kept 1.2 of 2 cores busy meanwhile)\n"
    ) in repr(plan)
    assert plan_on(Machine(foreign=1.2), mode="max", each=2 * GB).doubt == ""


def test_one_size_that_the_data_allow_is_kept():
    plan = plan_on(Machine(own=5, samples=5))
    assert plan.micro_batch == 5
    assert plan.lines == ()


def test_what_was_measured_before_ctrl_c_is_returned():
    plan = plan_on(Machine(interrupt_at=64))
    assert plan.is_partial
    assert plan.micro_batch is None
    assert plan.reason.startswith("interrupted")
    assert [row.batch for row in plan.evidence if row.is_measured] == [32, 128]


def test_ctrl_c_in_the_first_trial_leaves_an_empty_table():
    plan = plan_on(Machine(interrupt_at=32))
    assert plan.is_partial
    assert not any(row.is_measured for row in plan.evidence)


def test_no_size_within_the_limit_is_told():
    failures = {size: out_of_memory() for size in (4, 2, 1)}
    plan = plan_on(Machine(failures=failures), limit=4)
    assert plan.reason.startswith("no size within the limit came to its end")


def test_sizes_above_a_failure_are_not_tried():
    machine = Machine(own=8, failures={n: out_of_memory() for n in (32, 64, 128, 256, 512)})
    plan = plan_on(machine)
    assert plan.micro_batch == 16
    assert max(setting.batch or 0 for setting in machine.started) == 32


@pytest.mark.parametrize("own", [1, 2, 3, 7, 8, 33, 100, 1000])
@pytest.mark.parametrize("samples", [None, 1000, 4001])
def test_any_batch_and_any_data_come_to_a_plan(own, samples):
    plan = plan_on(Machine(own=own, samples=samples, start_s=2))
    assert plan.micro_batch is not None
    assert samples is None or plan.micro_batch <= samples
    assert repr(plan)


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


def test_an_error_of_the_first_trial_is_shown_as_it_is():
    with pytest.raises(ModelError) as caught:
        begun(Machine(failures={"own": error()}))
    assert str(caught.value).startswith("the first trial ended in an error:\n")
    assert 'File "train.py", line 3, in build\nValueError: no such layer' in str(caught.value)


def test_a_first_trial_that_hangs_is_told():
    with pytest.raises(ModelError, match=r"the first trial hung: no sign of life.*\n.*wait for"):
        begun(Machine(failures={"own": hung()}))


def test_a_first_trial_that_crashes_is_told():
    crash = TrialFailed(
        TrialFailure.CRASHED, "the process was ended by SIGSEGV.\nIt wrote last:\nx"
    )
    with pytest.raises(ModelError) as caught:
        begun(Machine(failures={"own": crash}))
    assert str(caught.value) == (
        "the process that tried the model crashed: the process was ended by SIGSEGV.\n"
        "It wrote last:\nx"
    )


def test_a_first_trial_that_takes_all_the_time_is_told():
    class Slow(FakeTrial):
        def ready(self):
            raise SearchOutOfTime

    machine = Machine()
    machine.begin = lambda setting, patience_s: Slow(machine, setting, patience_s)
    with pytest.raises(
        ModelError, match=r"not ready after 90 s, which is all of budget_s.*\(360\)"
    ):
        begun(machine)
