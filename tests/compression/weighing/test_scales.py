"""Models and files weighed side by side."""

import numpy as np
import pytest

from compression import models
from compression.quantizing.nets import state_of
from compression.quantizing.tiny_files import Tensor, sum_of
from compression.weighing.timings import ticking
from quickfit.compression.weighing import weighed
from quickfit.errors import ModelError, UsageError

X = np.arange(12, dtype="float32").reshape(4, 3)


@pytest.fixture
def file(tmp_path):
    """Return a `.tflite` file that takes three numbers."""
    path = tmp_path / "sum.tflite"
    path.write_bytes(sum_of(Tensor("x")))
    return path


class TestOfFiles:
    def test_a_file_alone_needs_no_keras_model(self, file):
        found = weighed({"lite": file}, X, evaluate=lambda path: 0.75, clocks=ticking())["lite"]
        assert found.file_bytes == file.stat().st_size
        assert (found.accuracy, found.parameters, found.flops, found.step) == (0.75, *[None] * 3)
        assert sorted(found.latency["litert"]) == [1, 64]
        assert found.latency_s == {1: 1.0, 64: 1.0}
        assert not found.is_int8

    def test_a_file_in_integers_is_seen_as_that(self, tmp_path):
        path = tmp_path / "int8.tflite"
        path.write_bytes(sum_of(Tensor("x", "INT8", scale=0.5, zero=-3)))
        assert weighed({"int8": str(path)}, X, evaluate=None, clocks=ticking())["int8"].is_int8

    def test_the_accuracy_is_left_out_where_nobody_asks(self, file):
        assert weighed({"a": file}, X, evaluate=None, clocks=ticking())["a"].accuracy is None

    @pytest.mark.parametrize("value", [None, "good", float("nan")])
    def test_an_evaluation_that_is_no_number_is_told(self, file, value):
        with pytest.raises(UsageError, match=r"evaluate\(\) returned .* for 'lite'"):
            weighed({"lite": file}, X, evaluate=lambda path: value, clocks=ticking())

    def test_a_file_that_is_none_is_told(self, tmp_path):
        with pytest.raises(ModelError, match=r"nothing.tflite: cannot be read"):
            weighed({"a": tmp_path / "nothing.tflite"}, X, evaluate=None)

    def test_one_round_and_no_candidate_are_refused(self, file):
        with pytest.raises(UsageError, match="rounds=1"):
            weighed({"lite": file}, X, evaluate=None, rounds=1)
        with pytest.raises(UsageError, match="There is nothing to weigh"):
            weighed({}, X, evaluate=None)
        with pytest.raises(UsageError, match="There is nothing to weigh: give a model by name"):
            weighed([file], X, evaluate=None)

    def test_what_is_neither_model_nor_path_is_refused(self):
        with pytest.raises(UsageError, match="'a' is int, and a Keras model or the path"):
            weighed({"a": 3}, X, evaluate=None)


def small():
    """Return a model that takes three numbers."""
    import keras

    layers = [keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)]
    return models.settled(keras.Sequential(layers, name="small"))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
class TestOfModels:
    def test_models_and_files_are_weighed_together(self, file):
        model, asked = small(), []
        model.compile("adam", "mse")
        before = state_of(model)
        found = weighed(
            {"original": model, "lite": file},
            (X, np.zeros(4)),
            evaluate=lambda one: asked.append(one) or 0.5,
            rounds=2,
            clocks=ticking(),
        )
        assert asked == [model, file]
        assert list(found) == ["original", "lite"]
        original = found["original"]
        assert original.parameters == 4 * 4 + 5 * 2
        assert original.flops == 2 * (3 * 4 + 4 * 2) + 4 + 2
        assert sorted(original.latency) == ["call", "predict_on_batch"]
        assert original.step_s == 1.0
        assert len(original.step.turns) == len(found["lite"].latency["litert"][1].turns) == 2
        assert state_of(model) == before

    def test_for_training_is_told_to_each_weight(self):
        found = weighed({"a": small()}, X, evaluate=None, for_training=True, clocks=ticking())["a"]
        assert found.timing(1) is found.step

    def test_samples_that_do_not_fit_are_told(self):
        with pytest.raises(UsageError, match="do not fit the model"):
            weighed({"a": small()}, np.zeros((4, 7)), evaluate=None)

    def test_a_subclassed_model_is_refused(self):
        with pytest.raises(ModelError, match="network"):
            weighed({"a": models.subclassed()}, X, evaluate=None)

    def test_operations_stay_open_where_inputs_of_open_size_differ(self):
        import keras

        left, right = keras.Input((None, 2), name="left"), keras.Input((None, 2), name="right")
        pool = keras.layers.GlobalAveragePooling1D()
        both = keras.layers.Concatenate()([pool(left), pool(right)])
        model = keras.Model([left, right], keras.layers.Dense(1)(both))
        data = {"left": np.zeros((2, 5, 2)), "right": np.zeros((2, 9, 2))}
        assert weighed({"a": model}, data, evaluate=None, clocks=ticking())["a"].flops is None
