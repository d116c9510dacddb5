"""Full names as the imports of a file write them."""

import pytest

from quickfit.program.spelling import respelled, spelled

from programs import program_of


def asked(text, function=spelled, *given):
    program = program_of(text)
    module = program.module("/project/train.py")
    (call,) = module.calls("print")
    return function(program, module, call.args[0], *given)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import tensorflow as tf\nprint(tf.keras.layers.X)\n", "tensorflow.keras.layers.X"),
        ("import keras\nprint(keras.layers.X)\n", "keras.layers.X"),
        ("from tensorflow import keras\nprint(keras.X)\n", "tensorflow.keras.X"),
        ("from keras import backend as K\nprint(K.mean)\n", "keras.backend.mean"),
        ("import tensorflow.keras.backend as K\nprint(K.mean)\n", "tensorflow.keras.backend.mean"),
        ("import tensorflow as tf\nkeras = tf.keras\nprint(keras.X)\n", "tensorflow.keras.X"),
        ("import tensorflow.compat.v2 as tf\nprint(tf.log)\n", "tensorflow.log"),
        ("import tensorflow.compat.v1 as tf\nprint(tf.log)\n", "tensorflow.compat.v1.log"),
        ("import tensorflow as tf\nprint(tf.losses.X)\n", "tensorflow.keras.losses.X"),
        ("print(keras.X)\n", ""),
        ("from . import keras\nprint(keras.X)\n", ""),
        ("def f(keras):\n    print(keras.X)\n", ""),
        (
            "try:\n    import keras\nexcept ImportError:\n    from tensorflow import keras\n"
            "print(keras.X)\n",
            "",
        ),
    ],
)
def test_names_what_is_imported(text, name):
    assert asked(text) == name


def test_a_file_of_the_program_is_no_library():
    program = program_of({"train.py": "import keras\nprint(keras.X)\n", "keras.py": "X = 1\n"})
    module = program.module("/project/train.py")
    assert spelled(program, module, module.calls("print")[0].args[0]) == ""


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("import tensorflow as tf\nprint(tf.log)\n", "tensorflow.math.log", "tf.math.log"),
        (
            "from tensorflow import keras\nprint(keras.layers.core.Dense)\n",
            "tensorflow.keras.layers.Dense",
            "keras.layers.Dense",
        ),
        ("from keras import layers\nprint(layers.core)\n", "keras.utils", ""),
    ],
)
def test_writes_another_name_in_the_same_way(text, name, code):
    assert asked(text, respelled, name) == code
