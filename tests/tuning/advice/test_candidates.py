"""Which changes are worth trying, and what is said of the others."""

import pytest

from quickfit.tuning.advice.candidates import (
    CHANGE_KINDS,
    ChangeCandidate,
    TrialCircumstances,
    beginning_note,
    candidates_from_settings,
    choose_candidates,
    epoch_steps,
    first_steps,
    fits_epoch,
    is_mostly_beginning,
    setting_kind,
    setting_name,
)
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.trials.settings import Setting, TrialBlock, TrialReady


def facts(batch=32, samples=4096, cores=2, **more):
    """Circumstances in one line."""
    return TrialCircumstances(TrialReady(batch, samples, 0.1, 0.5, 0.01, 1000, 500), cores, **more)


def tried(candidates):
    return [one for one in candidates if not one.reason]


def names(candidates):
    return [one.name for one in tried(candidates)]


def reasons(candidates):
    return {one.name: one.reason for one in candidates if one.reason}


def test_all_kinds_are_tried_one_change_at_a_time():
    choice = choose_candidates(facts(cores=8), CHANGE_KINDS)
    assert names(choice) == [
        "XLA (jit_compile)",
        "32 steps per call",
        "8 steps per call",
        "batch 64 (×2)",
        "batch 128 (×4)",
        "inter-op threads 1",
        "intra-op threads 4",
    ]
    assert all(len(one.setting.changed()) == 1 for one in tried(choice))


def test_16_bits_are_not_tried_on_a_cpu_that_has_no_units_for_them():
    choice = choose_candidates(facts(why_no_policy="this CPU has none"), CHANGE_KINDS)
    assert "this CPU has none; --try precision" in reasons(choice)["mixed_bfloat16"]


def test_16_bits_are_tried_all_the_same_where_that_is_asked_for():
    choice = choose_candidates(facts(), CHANGE_KINDS, {ChangeKind.PRECISION})
    assert "mixed_bfloat16" in names(choice)
    assert not reasons(choice)


def test_16_bits_are_tried_where_the_hardware_has_them():
    choice = choose_candidates(facts(policy="mixed_float16"), {ChangeKind.PRECISION})
    assert choice == [
        ChangeCandidate(ChangeKind.PRECISION, "mixed_float16", Setting(policy="mixed_float16"))
    ]


def test_a_batch_leaves_an_epoch_enough_updates_and_is_never_larger_than_the_data():
    choice = choose_candidates(facts(batch=32, samples=1300), {ChangeKind.BATCH})
    assert names(choice) == ["batch 64 (×2)"]
    assert reasons(choice)["batch 128 (×4)"].startswith("an epoch would have only 11 updates")
    few = reasons(choose_candidates(facts(batch=32, samples=100), {ChangeKind.BATCH}))
    assert few["batch 64 (×2)"].startswith("an epoch would have only 2 updates")
    assert few["batch 128 (×4)"] == "the data has only 100 samples"


def test_a_call_never_has_more_steps_than_an_epoch():
    choice = choose_candidates(facts(batch=32, samples=640), {ChangeKind.STEPS})
    assert names(choice) == ["8 steps per call"]
    assert reasons(choice) == {"32 steps per call": "an epoch has only 20 steps"}


def test_of_data_that_does_not_say_how_much_it_is_everything_is_tried():
    choice = choose_candidates(facts(samples=None), {ChangeKind.BATCH, ChangeKind.STEPS})
    assert len(tried(choice)) == 4


def test_threads_are_not_tried_on_one_core():
    choice = choose_candidates(facts(cores=1), {ChangeKind.THREADS})
    assert not tried(choice)
    assert set(reasons(choice).values()) == {"there is one core, and threads share it"}


@pytest.mark.parametrize(
    ("setting", "kind", "name"),
    [
        (Setting(jit=True), ChangeKind.XLA, "XLA"),
        (Setting(jit=False), ChangeKind.XLA, "no XLA"),
        (Setting(batch=128, jit=True), ChangeKind.TOGETHER, "XLA + batch 128"),
        (Setting(inter_threads=1, intra_threads=2), ChangeKind.THREADS, "intra-op 2 + inter-op 1"),
        (
            Setting(steps_per_execution=8, policy="mixed_float16"),
            ChangeKind.TOGETHER,
            "8 steps + mixed_float16",
        ),
        (Setting(), ChangeKind.TOGETHER, "as it is"),
    ],
)
def test_a_given_setting_gets_a_name_and_a_kind(setting, kind, name):
    assert setting_kind(setting) is kind
    assert setting_name(setting) == name
    if not setting.is_as_it_was:
        found = candidates_from_settings(facts(), [setting])
        assert found == [ChangeCandidate(kind, name, setting)]


OWN = Setting(jit=True, steps_per_execution=32, policy="float32")


def test_what_the_training_has_already_is_not_tried():
    choice = choose_candidates(facts(own=OWN), {ChangeKind.XLA, ChangeKind.STEPS})
    assert names(choice) == ["8 steps per call"]
    assert reasons(choice) == {
        "XLA (jit_compile)": "your training has it already",
        "32 steps per call": "your training has it already",
    }


@pytest.mark.parametrize("setting", [Setting(batch=32), Setting(batch=32, jit=True), OWN])
def test_a_given_setting_that_changes_nothing_is_not_tried(setting):
    choice = candidates_from_settings(facts(own=OWN), [setting])
    assert not tried(choice)
    assert list(reasons(choice).values()) == ["your training has it already"]


def test_a_given_setting_that_changes_something_too_is_tried():
    assert tried(candidates_from_settings(facts(own=OWN), [Setting(batch=64, jit=True)]))


def test_a_given_batch_beyond_the_data_is_not_tried():
    choice = candidates_from_settings(facts(samples=100), [Setting(batch=128)])
    assert reasons(choice) == {"batch 128": "the data has only 100 samples"}


def test_a_given_call_of_more_steps_than_an_epoch_is_not_tried():
    choice = candidates_from_settings(facts(batch=20, samples=20), [Setting(steps_per_execution=2)])
    assert reasons(choice) == {"2 steps": "an epoch has only 1 step"}


def test_a_smaller_last_batch_is_a_step_too():
    choice = choose_candidates(facts(batch=32, samples=33), {ChangeKind.STEPS})
    assert set(reasons(choice).values()) == {"an epoch has only 2 steps"}


def test_a_larger_batch_leaves_too_few_steps_for_one_call():
    ready = facts(batch=32, samples=2048).ready
    assert fits_epoch(Setting(steps_per_execution=32), ready)
    assert not fits_epoch(Setting(steps_per_execution=32, batch=128), ready)


def ready(batch=20, samples=20, step_s=0.002):
    return TrialReady(batch, samples, 0.1, 0.5, step_s, 1000, 500)


@pytest.mark.parametrize(
    ("samples", "batch", "steps"), [(20, 20, 1), (33, 32, 2), (64, 32, 2), (None, 32, None)]
)
def test_a_smaller_last_batch_is_a_step(samples, batch, steps):
    assert epoch_steps(ready(batch, samples)) == steps


def test_with_another_batch_an_epoch_has_other_steps():
    assert epoch_steps(ready(32, 128), 64) == 2


def test_the_first_block_goes_through_two_short_epochs_only():
    assert first_steps(400, ready()) == 2
    assert first_steps(400, ready(20, 60)) == 6
    assert first_steps(400, ready(20, 20_000)) == 400
    assert first_steps(400, ready(20, None)) == 400


@pytest.mark.parametrize(
    ("samples", "wall_s", "expected"),
    [
        pytest.param(20, 0.2, True, id="each step an epoch"),
        pytest.param(20, 0.005, False, id="steps take most of it"),
        pytest.param(200, 0.2, False, id="no epoch began for sure"),
        pytest.param(None, 0.2, False, id="the epochs are not known"),
    ],
)
def test_what_most_of_the_time_goes_to_is_measured(samples, wall_s, expected):
    block = TrialBlock(2, 40, wall_s, 0.1, 500)
    assert is_mostly_beginning(ready(samples=samples), block) is expected


def test_the_note_counts_right():
    assert "only 1 step: most of the time goes to starting epochs" in beginning_note(ready())
    assert "What the input costs cannot be told" in beginning_note(ready())
    assert "only 3 steps:" in beginning_note(ready(20, 60))


def test_fewer_calls_are_not_tried_where_a_step_takes_long():
    slow = TrialCircumstances(TrialReady(32, 4096, 0.1, 0.5, 0.2, 1000, 500), 2)
    found = choose_candidates(slow, {ChangeKind.STEPS})
    assert set(reasons(found).values()) == {"a step takes 200 ms, and a call from Python 1 to 2 ms"}
    assert tried(choose_candidates(slow, {ChangeKind.STEPS}, {ChangeKind.STEPS}))
