"""Edits of `compile` and `tf.function`."""

import textwrap

import pytest

from quickfit.code.compile_settings import (
    step_without_eager,
    steps_in_one_call,
    without_xla,
)
from quickfit.code.edits import apply_edits
from quickfit.code.program import Program
from quickfit.findings import FixClass


def project(**files):
    return Program(texts={f"{name}.py": textwrap.dedent(text) for name, text in files.items()})


def after(found, change, name="train"):
    script = found.find_module(f"{name}.py")
    return apply_edits(script.text, [e for e in change.edits if e.file == script.path])


def line_of(found, word, name="train"):
    lines = found.find_module(f"{name}.py").lines
    return next(number for number, line in enumerate(lines, start=1) if word in line)


def compiled(text, word="run_eagerly"):
    found = project(train=text)
    change = step_without_eager(found, ("train.py", line_of(found, word)), None)
    return change and after(found, change)


def test_run_eagerly_is_taken_from_compile():
    assert compiled('model.compile("adam", loss="mse", run_eagerly=True)\n') == (
        'model.compile("adam", loss="mse")\n'
    )


def test_run_eagerly_is_taken_from_a_call_over_several_lines_with_its_comments():
    text = """\
    model.compile(
        optimizer="adam",  # the usual
        loss="mse",
        run_eagerly=True,
    )
    """
    assert compiled(text) == textwrap.dedent("""\
    model.compile(
        optimizer="adam",  # the usual
        loss="mse",
    )
    """)


def test_a_constant_that_only_says_so_is_turned_off():
    text = 'EAGER = True\nmodel.compile("adam", "mse", run_eagerly=EAGER)\n'
    assert compiled(text) == text.replace("True", "False")


def test_a_constant_that_says_more_stays():
    text = "DEBUG = True\nif DEBUG:\n    print(1)\nmodel.compile('adam', run_eagerly=DEBUG)\n"
    assert compiled(text) == text.replace(", run_eagerly=DEBUG", "")


def test_an_attribute_that_makes_the_model_eager_is_not_set():
    text = 'model.compile("adam")\nmodel.run_eagerly = True\nmodel.fit(x, y)\n'
    assert compiled(text, "compile") == 'model.compile("adam")\nmodel.fit(x, y)\n'


def test_the_call_for_all_functions_is_removed():
    found = project(
        train="import tensorflow as tf\n\ntf.config.run_functions_eagerly(True)\nx = 1\n"
    )
    change = step_without_eager(found, None, ("train.py", 3))
    assert after(found, change) == "import tensorflow as tf\n\nx = 1\n"
    assert change.kind is FixClass.EQUIVALENT


def test_both_ways_are_removed_where_both_are_in_force():
    text = "tf.config.run_functions_eagerly(True)\nmodel.compile('adam', run_eagerly=True)\n"
    found = project(train=text)
    change = step_without_eager(found, ("train.py", 2), ("train.py", 1))
    assert after(found, change) == "model.compile('adam')\n"


def test_a_layer_that_only_uses_tensors_may_be_compiled():
    text = """\
    class Scale(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(1,))

        def call(self, x, training=None):
            if training:
                x = x + 1
            for block in self.blocks:
                x = block(x)
            return x * self.w

    model.compile("adam", run_eagerly=True)
    """
    assert "run_eagerly" not in compiled(text)


def test_a_loss_of_another_file_is_looked_at_there():
    text = "from losses import dice\nmodel.compile('adam', loss=dice, run_eagerly=True)\n"
    loss = "def dice(y, p):\n    return 1 - soft(y, p)\n\n\ndef soft(y, p):\n    {}\n"
    fine = project(train=text, losses=loss.format("return tf.reduce_sum(y * p)"))
    assert step_without_eager(fine, ("train.py", 2), None) is not None
    printing = project(train=text, losses=loss.format("print(y)"))
    assert step_without_eager(printing, ("train.py", 2), None) is None


def test_random_numbers_of_the_step_may_be_other_ones():
    text = """\
    class Noise(keras.layers.Layer):
        def call(self, x):
            return x + tf.random.normal(tf.shape(x))

    model.compile("adam", run_eagerly=True)
    """
    found = project(train=text)
    change = step_without_eager(found, ("train.py", 5), None)
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


LOSS = "def loss(y, p):\n    {}\n    return tf.reduce_mean(tf.abs(y - p))\n"
COMPILE = "model.compile('adam', loss=loss, run_eagerly=True)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LOSS.format("print(y.shape)") + COMPILE, id="a loss prints"),
        pytest.param(LOSS.format("seen.append(y)") + COMPILE, id="a loss collects"),
        pytest.param(LOSS.format("y = y.numpy()") + COMPILE, id="a loss takes values out"),
        pytest.param(LOSS.format("p = np.clip(p, 0, 1)") + COMPILE, id="a loss uses NumPy"),
        pytest.param(
            LOSS.format("if tf.reduce_max(p) > 1:\n        p = p / 2") + COMPILE,
            id="a loss decides by the value of a tensor",
        ),
        pytest.param(LOSS.format("show(y)") + "def show(y):\n    print(y)\n" + COMPILE,
                     id="a function that a loss calls prints"),
        pytest.param(
            "class M(keras.Model):\n    def train_step(self, data):\n        self.n += 1\n"
            "        return super().train_step(data)\nmodel.compile('adam', run_eagerly=True)\n",
            id="a train step counts",
        ),
        pytest.param(
            "m = keras.layers.Lambda(lambda x: x.numpy())\nm.compile('adam', run_eagerly=True)\n",
            id="a lambda takes values out",
        ),
        pytest.param(
            "from sklearn.metrics import f1_score\n"
            + LOSS.format("f1_score(y, p)") + COMPILE,
            id="a loss calls another library",
        ),
        pytest.param(
            LOSS.format("first(y)")
            + "def first(y):\n    second(y)\ndef second(y):\n    y.numpy()\n" + COMPILE,
            id="a function two calls away takes values out",
        ),
        pytest.param("model.compile('adam', run_eagerly=False)\n", id="it is off"),
        pytest.param("model.compile('adam', **options)  # run_eagerly\n", id="it is in a dict"),
        pytest.param("options = dict(run_eagerly=True)\n", id="there is no compile"),
    ],
)  # fmt: skip
def test_the_step_stays_eager_where(text):
    assert compiled(text, "run_eagerly") is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "tf.config.run_functions_eagerly(True)\nf(x)\ntf.config.run_functions_eagerly(False)\n",
            id="a part of the script is meant to be eager",
        ),
        pytest.param(
            "# the debugger needs it\ntf.config.run_functions_eagerly(True)\n",
            id="a comment says why",
        ),
        pytest.param("a = tf.config.run_functions_eagerly(True)\n", id="its result is used"),
    ],
)
def test_functions_stay_eager_where(text):
    found = project(train=text)
    place = ("train.py", line_of(found, "run_functions_eagerly(True)"))
    assert step_without_eager(found, None, place) is None


def test_a_print_in_a_callback_does_not_matter():
    text = """\
    class Log(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            print(float(logs["loss"]))

    def main():
        print("begin")
        model.compile("adam", run_eagerly=True)

    main()
    """
    assert "run_eagerly" not in compiled(text)


@pytest.mark.parametrize(
    ("before", "line", "wanted"),
    [
        ('m.compile("adam", "mse", jit_compile=True)\n', 1,
         'm.compile("adam", "mse", jit_compile=False)\n'),
        ('m.compile("adam", "mse")\n', 1, 'm.compile("adam", "mse", jit_compile=False)\n'),
        ("step = tf.function(f, jit_compile=True)\n", 1, "step = tf.function(f)\n"),
        ("@tf.function(jit_compile=True)\ndef f(x):\n    return x\n", 1,
         "@tf.function\ndef f(x):\n    return x\n"),
        ("@tf.function(jit_compile=True, autograph=False)\ndef f(x):\n    return x\n", 1,
         "@tf.function(autograph=False)\ndef f(x):\n    return x\n"),
        ("XLA = True\nm.compile('adam', jit_compile=XLA)\n", 2,
         "XLA = False\nm.compile('adam', jit_compile=XLA)\n"),
        ("m.compile('adam', jit_compile=args.xla)\n", 1, "m.compile('adam', jit_compile=False)\n"),
    ],
)  # fmt: skip
def test_xla_is_turned_off_where_it_is_asked_for(before, line, wanted):
    found = project(train=before)
    assert after(found, without_xla(found.find_module("train.py"), line, found)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("m.compile('adam', jit_compile=False)\n", id="it is off already"),
        pytest.param("m.compile(**options)\n", id="the arguments are in a dict"),
        pytest.param("step = tf.function(f)\n", id="the function does not ask for it"),
        pytest.param("fit(x)\n", id="nothing is compiled there"),
    ],
)
def test_xla_is_left_alone_where(text):
    found = project(train=text)
    assert without_xla(found.find_module("train.py"), 1, found) is None


def test_several_steps_run_in_one_call():
    found = project(train='m.compile("adam", loss="mse")\n')
    change = steps_in_one_call(found.find_module("train.py"), 1, 32, works_on_batches=False)
    assert after(found, change) == 'm.compile("adam", loss="mse", steps_per_execution=32)\n'
    assert change.kind is FixClass.SAME_RESULTS


def test_a_callback_on_batches_may_change_results_with_several_steps_in_one_call():
    found = project(train="m.compile('adam')\n")
    change = steps_in_one_call(found.find_module("train.py"), 1, 32, works_on_batches=True)
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("m.compile('adam', steps_per_execution=8)\n", id="it is chosen already"),
        pytest.param("m.compile('adam', run_eagerly=True)\n", id="the step is eager"),
        pytest.param("m.compile(**options)\n", id="the arguments are in a dict"),
        pytest.param("a.compile('adam'); b.compile('adam')\n", id="two models are at the line"),
    ],
)
def test_steps_stay_single_where(text):
    found = project(train=text)
    script = found.find_module("train.py")
    assert steps_in_one_call(script, 1, 32, works_on_batches=False) is None
