"""`advise_precision`: what is said without a measurement, and one that is real."""

import subprocess
import sys

import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.lab.statistics import Measured
from quickfit.tuning.precision.advice import (
    PrecisionAnswer,
    PrecisionComparison,
    PrecisionRefused,
    PrecisionSide,
    advise_precision,
    build_precision_advice,
    compare_precisions,
    current_policy,
)
from quickfit.tuning.precision.hardware import Outlook, Prospect
from quickfit.tuning.precision.survey import SurveyReason
from quickfit.tuning.trials.settings import TrialLearned

from launch.sessions import PATIENCE_S
from tuning.precision.machines import FULL, HALF, MIB, Machine

SCRIPT = """
import warnings
warnings.simplefilter("ignore")
import keras
import numpy as np
from quickfit.tuning.precision import advise_precision

layers = [
    keras.Input((16, 16, 3)),
    keras.layers.Conv2D(16, 3, activation="relu"),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(2),
]
model = keras.Sequential(layers)
model.compile("sgd", "mse")
before = model.get_weights()
data = np.ones((1024, 16, 16, 3), "float32"), np.ones((1024, 2), "float32")
advice = advise_precision(model, data)
assert all(np.array_equal(*pair) for pair in zip(before, model.get_weights()))
assert advice.measured.full.sample_s > 0
assert advice.measured.full.learned.samples == advice.measured.half.learned.samples
print(advice)
"""


def texts(advice):
    return " | ".join(reason.text for reason in advice.reasons)


@pytest.mark.loads_tf
def test_without_data_it_says_how_to_measure(models):
    advice = advise_precision(models.classifier()[0])
    assert advice.measured is None
    assert "there are no data; advise_precision(model, dataset) measures" in texts(advice)


@pytest.mark.loads_tf
def test_a_model_that_is_not_compiled_is_not_measured(models):
    model, x, y, _ = models.classifier()
    advice = advise_precision(model, (x, y))
    assert "the model is not compiled; call model.compile(" in texts(advice)


@pytest.mark.loads_tf
def test_it_can_be_asked_not_to_measure(models):
    model, x, y, loss = models.classifier()
    model.compile("sgd", loss)
    assert "not measured: measure=False" in texts(advise_precision(model, (x, y), measure=False))


@pytest.mark.loads_tf
def test_models_of_their_own_class_are_advised_about(models):
    assert advise_precision(models.OwnModel()).answer in (PrecisionAnswer.NO, PrecisionAnswer.MAYBE)


@pytest.mark.loads_tf
def test_the_policy_that_a_model_has_already_is_what_it_is_about(models):
    import keras

    from quickfit.tuning.precision.applying import apply_precision

    model = apply_precision(models.attention()[0], "mixed_float16")
    assert current_policy(model) == "mixed_float16"
    assert advise_precision(model).tried == "mixed_float16"
    assert current_policy(keras.Sequential([keras.layers.Dense(1)])) is None


@pytest.mark.loads_tf
def test_something_that_is_no_model_is_refused(models):
    with pytest.raises(
        UsageError, match=r"was given a builtins\.str\. Give the model and its data"
    ):
        advise_precision("train:build")


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_measurement_shows_speed_memory_and_loss_and_leaves_the_model_alone(tmp_path):
    script = tmp_path / "advise.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("16 bits: ")
    for part in ("measured: mixed_", "memory at the most:", "loss after 960 samples:"):
        assert part in done.stdout


GOOD = Prospect("mixed_bfloat16", Outlook.GOOD, "this CPU multiplies in bfloat16")
NONE = Prospect("mixed_bfloat16", Outlook.NONE, "this CPU has no units for 16 bits")
UNKNOWN = Prospect("mixed_float16", Outlook.UNKNOWN, "nobody knows")


def measured(low, mean, high, pairs=3):
    full = PrecisionSide(0.001, 0.002, 100_000_000, TrialLearned(960, 0.7, 0.51))
    half = PrecisionSide(0.001 / mean, 0.002 / mean, 60_000_000, TrialLearned(960, 0.7, 0.52))
    return PrecisionComparison(Measured(low, mean, high, pairs), full, half, 32, low >= 1.05)


SLOWER = measured(0.0, 0.25, float("inf"), pairs=1)


def test_a_proven_gain_is_a_yes_with_the_lines():
    advice = build_precision_advice(GOOD, [], measured(1.2, 1.3, 1.4))
    assert advice.answer is PrecisionAnswer.YES
    assert advice.policy == "mixed_bfloat16"
    assert advice.lines[0].startswith('keras.config.set_dtype_policy("mixed_bfloat16")')


@pytest.mark.parametrize("prospect", [GOOD, UNKNOWN])
def test_without_a_measurement_promising_hardware_is_a_maybe(prospect):
    advice = build_precision_advice(prospect, [], None)
    assert advice.answer is PrecisionAnswer.MAYBE
    assert advice.policy == "float32"
    assert advice.lines


def test_without_units_it_is_a_no_without_a_measurement_too():
    advice = build_precision_advice(NONE, [], None)
    assert (advice.answer, advice.policy, advice.lines) == (PrecisionAnswer.NO, "float32", ())


def test_only_a_proven_gain_is_a_yes():
    assert build_precision_advice(GOOD, [], measured(1.05, 1.2, 1.3)).answer is PrecisionAnswer.YES
    assert (
        build_precision_advice(GOOD, [], measured(1.049, 1.2, 1.3)).answer is PrecisionAnswer.MAYBE
    )
    assert build_precision_advice(GOOD, [], measured(0.98, 1.02, 1.06)).answer is PrecisionAnswer.NO


def test_a_gain_that_is_not_proven_is_a_no_where_the_hardware_has_no_units():
    assert build_precision_advice(NONE, [], measured(0.9, 1.1, 1.3)).answer is PrecisionAnswer.NO


def test_a_measured_gain_counts_more_than_what_the_hardware_promises():
    assert build_precision_advice(NONE, [], measured(1.2, 1.3, 1.4)).answer is PrecisionAnswer.YES


def test_a_no_names_the_slowdown_that_was_measured():
    text = repr(build_precision_advice(NONE, [], SLOWER))
    assert text.splitlines()[0] == "16 bits: no, float32"
    assert "measured: mixed_bfloat16 trains 4.0× slower (250/s against 1,000/s samples" in text
    assert "4.0× the CPU time; one pair of processes)" in text


def test_the_loss_after_equal_samples_stands_beside_the_speed():
    text = repr(build_precision_advice(GOOD, [], measured(1.2, 1.3, 1.4)))
    assert "loss after 960 samples: 0.7 → 0.51 in float32, 0.7 → 0.52 in mixed_bfloat16" in text
    assert "memory at the most: 100 MB in float32, 60 MB in mixed_bfloat16" in text
    assert "1.2× to 1.4× over 3 pairs of processes" in text


def test_a_small_gain_is_said_not_to_count():
    text = repr(build_precision_advice(GOOD, [], measured(0.98, 1.02, 1.06)))
    assert "1.02× as fast" in text
    assert text.splitlines()[2].endswith(", which is no gain that counts")


def test_a_gain_that_is_not_proven_is_said_to_be_so():
    text = repr(build_precision_advice(GOOD, [], measured(0.9, 1.3, 1.9)))
    assert ", not proven: the pairs differ too much" in text


def test_a_model_that_does_not_train_in_16_bits_is_a_no_with_its_own_words():
    advice = build_precision_advice(
        GOOD, [], PrecisionRefused("error: TypeError: a matmul of two types")
    )
    assert advice.answer is PrecisionAnswer.NO
    assert advice.measured is None
    assert "does not train in mixed_bfloat16 as it is: error: TypeError: a matmul" in repr(advice)


def test_a_model_that_is_in_16_bits_already_is_led_back_where_they_cost():
    advice = build_precision_advice(NONE, [], SLOWER, current="mixed_float16")
    assert (advice.tried, advice.policy) == ("mixed_float16", "float32")
    assert "to change it back:" in repr(advice)
    assert 'keras.config.set_dtype_policy("float32")' in repr(advice)


def test_a_model_that_is_in_16_bits_already_stays_so_where_they_gain():
    advice = build_precision_advice(GOOD, [], measured(1.2, 1.3, 1.4), current="mixed_float16")
    assert (advice.policy, advice.lines) == ("mixed_float16", ())


def test_findings_of_the_model_are_among_the_reasons():
    advice = build_precision_advice(GOOD, [SurveyReason("size", "the model is small")], None)
    assert "  - the model is small" in repr(advice)
    assert "  to try it:" in repr(advice)


def compared(machine, **options):
    return compare_precisions(machine.make, (FULL, HALF), **options)


@pytest.mark.parametrize("speedups", [(1.5, 1.5), (1.3, 1.5, 1.4)])
def test_a_gain_is_measured_over_pairs_of_fresh_processes_until_it_is_decided(speedups):
    machine = Machine(*speedups)
    found = compared(machine)
    assert isinstance(found, PrecisionComparison)
    assert found.speedup.mean == pytest.approx(1.5 if len(speedups) == 2 else 1.398, abs=0.001)
    assert found.is_proven
    assert found.speedup.pairs == len(speedups)
    assert machine.made == 2 * len(speedups)


def test_three_pairs_that_do_not_agree_prove_nothing():
    found = compared(Machine(1.1, 1.9, 1.0))
    assert (found.speedup.pairs, found.is_proven) == (3, False)


def test_a_first_pair_without_any_gain_is_enough():
    machine = Machine(0.4)
    assert compared(machine).speedup.mean == pytest.approx(0.4)
    assert machine.made == 2


def test_how_much_of_a_gain_is_worth_a_second_look_can_be_said():
    machine = Machine(1.04)
    assert compared(machine, enough=1.05).speedup.pairs == 1


def test_the_sides_take_turns_and_the_order_changes():
    machine = Machine(2.0, 0.9)
    compared(machine)
    runs = [who for what, who in machine.asked if what == "run"]
    assert runs[:4] == ["full", "half", "half", "full"]
    starts = [who for what, who in machine.asked if what == "start"]
    assert starts == ["full", "half", "half", "full"]


def test_what_was_learned_and_the_memory_are_told_for_both():
    found = compared(Machine(0.8))
    assert (found.full.learned.after, found.half.learned.after) == (0.51, 0.52)
    assert found.full.learned.samples == found.half.learned.samples == 30 * 32
    assert (found.full.peak_bytes, found.half.peak_bytes) == (80 * MIB, 50 * MIB)
    assert found.batch == 32


def test_every_process_is_closed():
    machine = Machine(1.5, 1.5, 1.5)
    compared(machine)
    assert machine.open == 0


@pytest.mark.parametrize("when", ["ready", "run", "learn"])
def test_a_failure_in_16_bits_is_an_answer(when):
    machine = Machine(0.5, fails={HALF: when})
    assert compared(machine) == PrecisionRefused("error: TypeError: planted")
    assert machine.open == 0


@pytest.mark.parametrize("when", ["ready", "run", "learn"])
def test_a_failure_in_float32_is_the_models(when):
    machine = Machine(0.5, fails={FULL: when})
    with pytest.raises(ModelError, match="does not train on these data in float32") as caught:
        compared(machine)
    assert "TypeError: planted" in str(caught.value)
    assert "`model.fit` with the same data must work first" in str(caught.value)
    assert machine.open == 0


def test_what_goes_on_is_told():
    told = []
    compared(Machine(1.5, 0.9), tell=told.append)
    assert told == ["precision: pair 1 of at most 3", "precision: pair 2 of at most 3"]


def test_the_rates_of_both_sides_have_the_ratio_of_the_speed_up():
    found = compared(Machine(1.25, 1.1, 1.6))
    assert found.speedup.pairs == 3
    assert found.full.sample_s / found.half.sample_s == pytest.approx(found.speedup.mean)
