"""Which changes are worth trying, and what is said of the others."""

import pytest

from quickfit.tuning.advice.candidates import (
    KINDS,
    Candidate,
    Circumstances,
    choose,
    fits,
    given,
    kind_of,
    name_of,
)
from quickfit.tuning.advice.rows import Kind
from quickfit.tuning.trials.answers import Ready
from quickfit.tuning.trials.settings import Setting


def facts(batch=32, samples=4096, cores=2, **more):
    """Circumstances in one line."""
    return Circumstances(Ready(batch, samples, 0.1, 0.5, 0.01, 1000, 500), cores, **more)


def names(choice):
    return [one.name for one in choice.candidates]


def reasons(choice):
    return {row.name: row.reason for row in choice.rows}


def test_all_kinds_are_tried_one_change_at_a_time():
    choice = choose(facts(cores=8), KINDS)
    assert names(choice) == [
        "XLA (jit_compile)",
        "32 steps per call",
        "8 steps per call",
        "batch 64 (×2)",
        "batch 128 (×4)",
        "inter-op threads 1",
        "intra-op threads 4",
    ]
    assert all(len(one.setting.changed()) == 1 for one in choice.candidates)


def test_16_bits_are_not_tried_on_a_cpu_that_has_no_units_for_them():
    choice = choose(facts(why_no_policy="this CPU has none"), KINDS)
    assert "this CPU has none; --try precision" in reasons(choice)["mixed_bfloat16"]


def test_16_bits_are_tried_all_the_same_where_that_is_asked_for():
    choice = choose(facts(), KINDS, {Kind.PRECISION})
    assert "mixed_bfloat16" in names(choice)
    assert not choice.rows


def test_16_bits_are_tried_where_the_hardware_has_them():
    choice = choose(facts(policy="mixed_float16"), {Kind.PRECISION})
    assert choice.candidates == (
        Candidate(Kind.PRECISION, "mixed_float16", Setting(policy="mixed_float16")),
    )


def test_a_batch_is_never_larger_than_the_data():
    choice = choose(facts(batch=32, samples=100), {Kind.BATCH})
    assert names(choice) == ["batch 64 (×2)"]
    assert reasons(choice) == {"batch 128 (×4)": "the data has only 100 samples"}


def test_a_call_never_has_more_steps_than_an_epoch():
    choice = choose(facts(batch=32, samples=640), {Kind.STEPS})
    assert names(choice) == ["8 steps per call"]
    assert reasons(choice) == {"32 steps per call": "an epoch has only 20 steps"}


def test_of_data_that_does_not_say_how_much_it_is_everything_is_tried():
    choice = choose(facts(samples=None), {Kind.BATCH, Kind.STEPS})
    assert len(choice.candidates) == 4


def test_threads_are_not_tried_on_one_core():
    choice = choose(facts(cores=1), {Kind.THREADS})
    assert not choice.candidates
    assert set(reasons(choice).values()) == {"there is one core only"}


@pytest.mark.parametrize(
    ("setting", "kind", "name"),
    [
        (Setting(jit=True), Kind.XLA, "XLA"),
        (Setting(jit=False), Kind.XLA, "no XLA"),
        (Setting(batch=128, jit=True), Kind.TOGETHER, "XLA + batch 128"),
        (Setting(inter_threads=1, intra_threads=2), Kind.THREADS, "intra-op 2 + inter-op 1"),
        (
            Setting(steps_per_execution=8, policy="mixed_float16"),
            Kind.TOGETHER,
            "8 steps + mixed_float16",
        ),
        (Setting(), Kind.TOGETHER, "as it is"),
    ],
)
def test_a_given_setting_gets_a_name_and_a_kind(setting, kind, name):
    assert kind_of(setting) is kind
    assert name_of(setting) == name
    if not setting.is_as_it_was:
        assert given(facts(), [setting]).candidates == (Candidate(kind, name, setting),)


OWN = Setting(jit=True, steps_per_execution=32, policy="float32")


def test_what_the_training_has_already_is_not_tried():
    choice = choose(facts(own=OWN), {Kind.XLA, Kind.STEPS})
    assert names(choice) == ["8 steps per call"]
    assert reasons(choice) == {
        "XLA (jit_compile)": "your training has it already",
        "32 steps per call": "your training has it already",
    }


@pytest.mark.parametrize("setting", [Setting(batch=32), Setting(batch=32, jit=True), OWN])
def test_a_given_setting_that_changes_nothing_is_not_tried(setting):
    choice = given(facts(own=OWN), [setting])
    assert not choice.candidates
    assert list(reasons(choice).values()) == ["your training has it already"]


def test_a_given_setting_that_changes_something_too_is_tried():
    assert given(facts(own=OWN), [Setting(batch=64, jit=True)]).candidates


def test_a_given_batch_beyond_the_data_is_not_tried():
    choice = given(facts(samples=100), [Setting(batch=128)])
    assert reasons(choice) == {"batch 128": "the data has only 100 samples"}


def test_a_given_call_of_more_steps_than_an_epoch_is_not_tried():
    choice = given(facts(batch=20, samples=20), [Setting(steps_per_execution=2)])
    assert reasons(choice) == {"2 steps": "an epoch has only 1 step"}


def test_a_smaller_last_batch_is_a_step_too():
    choice = choose(facts(batch=32, samples=33), {Kind.STEPS})
    assert set(reasons(choice).values()) == {"an epoch has only 2 steps"}


def test_a_larger_batch_leaves_too_few_steps_for_one_call():
    ready = facts(batch=32, samples=2048).ready
    assert fits(Setting(steps_per_execution=32), ready)
    assert not fits(Setting(steps_per_execution=32, batch=128), ready)
