"""`advise_precision`: what is said without a measurement, and one that is real."""

import subprocess
import sys

import pytest

from quickfit.errors import UsageError
from quickfit.tuning.precision.advice import Answer
from quickfit.tuning.precision.advising import advise_precision, current_policy

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
    assert advise_precision(models.OwnModel()).answer in (Answer.NO, Answer.MAYBE)


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
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("16 bits: ")
    for part in ("measured: mixed_", "memory at the most:", "loss after 960 samples:"):
        assert part in done.stdout
