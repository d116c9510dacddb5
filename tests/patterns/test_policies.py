"""Which global policy of precision code runs under."""

import pytest

from quickfit.patterns.policies import float16_setting, policy_names

from programs import program_of

SET = "keras.mixed_precision.set_global_policy"


def setting(source, file="train.py"):
    program = program_of(source)
    module = program.module(f"/project/{file}")
    (call,) = module.calls("Dense")
    found = float16_setting(program, module, call)
    return found and found.call.lineno


@pytest.mark.parametrize(
    "text",
    [
        f"import keras\n{SET}('mixed_float16')\nkeras.layers.Dense(1)\n",
        "import keras\nkeras.config.set_dtype_policy('mixed_float16')\nkeras.layers.Dense(1)\n",
        f"import keras\n{SET}(keras.DTypePolicy('mixed_float16'))\nkeras.layers.Dense(1)\n",
        f"import keras\n{SET}('mixed_float16' if gpu else 'float32')\nkeras.layers.Dense(1)\n",
        f"import keras\ndef on():\n    {SET}('mixed_float16')\non()\nkeras.layers.Dense(1)\n",
        f"import keras\n{SET}('mixed_float16')\ndef net():\n    keras.layers.Dense(1)\nnet()\n",
        f"import keras\ndef net():\n    keras.layers.Dense(1)\n{SET}('mixed_float16')\nnet()\n",
        f"import keras\nif fast:\n    {SET}('mixed_float16')\nelse:\n    {SET}('float32')\n"
        "keras.layers.Dense(1)\n",
    ],
)
def test_finds_what_sets_float16(text):
    assert setting(text)


@pytest.mark.parametrize(
    "text",
    [
        "import keras\nkeras.layers.Dense(1)\n",
        f"import keras\nkeras.layers.Dense(1)\n{SET}('mixed_float16')\n",
        f"import keras\n{SET}('mixed_bfloat16')\nkeras.layers.Dense(1)\n",
        f"import keras\n{SET}(name)\nkeras.layers.Dense(1)\n",
        f"import keras\n{SET}('mixed_float16')\n{SET}('float32')\nkeras.layers.Dense(1)\n",
        f"import keras\n{SET}('mixed_float16')\n{SET}('mixed_bfloat16')\nkeras.layers.Dense(1)\n",
        f"import keras\ndef on():\n    {SET}('mixed_float16')\nkeras.layers.Dense(1)\n",
        f"import keras\ndef net():\n    keras.layers.Dense(1)\nnet()\n{SET}('mixed_float16')\n",
        f"import keras\ndef on():\n    {SET}('mixed_float16')\nkeras.layers.Dense(1)\non()\n",
    ],
)
def test_finds_none_where_another_may_hold(text):
    assert setting(text) is None


def test_a_policy_holds_in_the_files_that_run_with_it():
    source = {
        "train.py": f"import keras\nimport net\n{SET}('mixed_float16')\nnet.build()\n",
        "net.py": "import keras\ndef build():\n    keras.layers.Dense(1)\n",
        "other.py": "import keras\nkeras.layers.Dense(1)\n",
    }
    assert setting(source, "net.py") == 3
    assert setting(source, "other.py") is None


def test_names_policies():
    program = program_of("import keras\nprint(keras.mixed_precision.Policy('a') if b else 'c')\n")
    module = program.module("/project/train.py")
    given = module.calls("print")[0].args[0]
    assert policy_names(program, module, given) == {"a", "c"}
