"""What a saved model refers to by name is found."""

import pytest

from quickfit.tuning.trials.custom_objects import custom_objects_of

pytestmark = pytest.mark.loads_tf


def my_activation(x):
    return x * 2


def my_metric(y, predicted):
    return y - predicted


def test_classes_and_functions_of_the_user_are_found_everywhere(tf):
    import keras

    class Inner(keras.layers.Layer):
        def call(self, x):
            return x

    class MyLoss(keras.losses.Loss):
        def call(self, y, predicted):
            return y - predicted

    @keras.saving.register_keras_serializable("mine")
    class MyRate(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.1

        def get_config(self):
            return {}

    nested = keras.Sequential([keras.Input((4,)), Inner()])
    model = keras.Sequential([nested, keras.layers.Dense(2, activation=my_activation)])
    model.compile(keras.optimizers.SGD(MyRate()), MyLoss(), metrics=[my_metric, "mae"])
    found = custom_objects_of(model)
    assert {"Inner", "MyLoss", "MyRate", "mine>MyRate", "my_activation", "my_metric"} <= set(found)
    assert not {"Dense", "Sequential", "SGD"} & set(found)
