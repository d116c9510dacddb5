"""Names of inputs in a file."""

import pytest

from compression import models
from quickfit.compression.quantizing.naming import input_names, plain


@pytest.mark.parametrize(
    ("name", "in_file"),
    [("image", "image"), ("my image-1", "my_image_1"), ("_x", "x"), ("B:0", "B_0"), ("é", "input")],
)
def test_a_name_becomes_one_that_tensorflow_exports(name, in_file):
    assert plain(name) == in_file


@pytest.mark.loads_tf
def test_names_are_in_the_order_of_the_model(tf):
    assert input_names(models.nested_twice()) == ("left", "right")
    assert input_names(models.subclassed()) == ()


@pytest.mark.loads_tf
def test_two_inputs_never_get_one_name(tf):
    import keras

    inputs = [keras.Input((1,), name="a b"), keras.Input((1,), name="a_b")]
    model = keras.Model(inputs, keras.layers.Add()(inputs))
    assert input_names(model) == ("a_b", "a_b_2")


@pytest.mark.loads_tf
@pytest.mark.filterwarnings("ignore:When providing `inputs` as a dict")
def test_keys_of_a_dict_are_the_names(tf):
    import keras

    picture = keras.Input((2,), name="some_tensor")
    model = keras.Model({"picture": picture}, keras.layers.Dense(1)(picture))
    assert input_names(model) == ("picture",)
