"""Training steps that are written by hand."""

import pytest

from quickfit.causes._shared.mixed_precision import (
    float16_setting,
    is_on_its_way,
    policy_names,
    steps,
)

from programs import program_of

TAPE = "import tensorflow as tf\nwith tf.GradientTape() as tape:\n    loss = f(x)\n"


def found(text):
    program = program_of(text)
    module = program.module("/project/train.py")
    return module, list(steps(program, module))


@pytest.mark.parametrize(
    ("rest", "is_plain"),
    [
        ("g = tape.gradient(loss, v)\nopt.apply_gradients(zip(g, v))\n", True),
        ("g = tape.gradient(loss, v)\nopt.apply(g, v)\n", True),
        ("opt.apply_gradients(zip(tape.gradient(loss, v), v))\n", True),
        (
            "if half:\n    g = tape.gradient(loss, v)\nelse:\n    g = None\n"
            "opt.apply_gradients(zip(g, v))\n",
            True,
        ),
        ("g = tape.gradient(loss, v)\ng = clip(g)\nopt.apply_gradients(zip(g, v))\n", False),
        ("g = tape.gradient(loss, v)\nprint(g)\nopt.apply_gradients(zip(g, v))\n", False),
    ],
)
def test_finds_a_step(rest, is_plain):
    module, (step,) = found(TAPE + rest)
    assert step.tape.lineno == 2
    assert module.code(step.loss) == "loss"
    assert module.code(step.optimizer) == "opt"
    assert is_on_its_way(module, step) is is_plain


@pytest.mark.parametrize(
    "text",
    [
        "g = np.gradient(loss)\nopt.apply_gradients(zip(g, v))\n",
        TAPE + "g = tape.gradient(loss, v)\n",
        TAPE + "g = other.gradient(loss, v)\nopt.apply(g, v)\n",
    ],
)
def test_finds_none_in_other_code(text):
    assert found(text)[1] == []


def test_keeps_two_tapes_apart():
    text = """\
    import tensorflow as tf
    with tf.GradientTape() as one, tf.GradientTape() as two:
        a, b = f(x), g(x)
    first = one.gradient(a, v)
    second = two.gradient(b, w)
    opt_a.apply_gradients(zip(first, v))
    opt_b.apply_gradients(zip(second, w))
    """
    module, both = found(text)
    pairs = [(module.code(s.loss), module.code(s.optimizer)) for s in both]
    assert pairs == [("a", "opt_a"), ("b", "opt_b")]


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
