"""Compiled functions that are made once, and numbers that are given to them as tensors."""

import textwrap

import pytest

from quickfit.causes._shared.train_loops.compiled_steps import compiled_step, hoisted_function
from quickfit.causes.compile.missing_tf_function.edit import extracted_step
from quickfit.causes.compile.retrace_python_args import Argument, tensor_argument
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

IN_LOOP = """\
import tensorflow as tf
net = tf.keras.Sequential()
for epoch in range(3):
    for x in ds:
        @tf.function
        def go(x):
            return tf.reduce_sum(net(x))

        total = go(x)
"""


def hoisted(text):
    script = Module("train.py", textwrap.dedent(text))
    line = next(n for n, row in enumerate(script.lines, start=1) if "tf.function" in row)
    change = hoisted_function(script, line, [script])
    return (apply_edits(script.text, change.edits), change.kind) if change else (None, None)


def test_a_function_moves_in_front_of_all_loops():
    assert hoisted(IN_LOOP) == ("""\
import tensorflow as tf
net = tf.keras.Sequential()


@tf.function
def go(x):
    return tf.reduce_sum(net(x))


for epoch in range(3):
    for x in ds:
        total = go(x)
""", FixClass.SAME_RESULTS)  # fmt: skip


def test_a_function_of_a_method_becomes_a_method():
    text = """
        import tensorflow as tf
        class Engine:
            def __init__(self):
                self.net = tf.keras.Sequential()

            def update(self, x):
                @tf.function
                def go(x):
                    return tf.reduce_sum(self.net(x))

                return go(x)
        engine = Engine()
        for x in ds:
            engine.update(x)
        """
    after, _ = hoisted(text)
    assert after == textwrap.dedent("""
        import tensorflow as tf
        class Engine:
            def __init__(self):
                self.net = tf.keras.Sequential()

            @tf.function
            def go(self, x):
                return tf.reduce_sum(self.net(x))

            def update(self, x):
                return self.go(x)
        engine = Engine()
        for x in ds:
            engine.update(x)
        """)


def test_a_wrapped_function_is_wrapped_once():
    text = """\
import tensorflow as tf
def step(x):
    return tf.square(x)
for epoch in range(3):
    fast = tf.function(step)
    for x in ds:
        fast(x)
"""
    moved = text.replace("    fast = tf.function(step)\n", "")
    after, _ = hoisted(text)
    assert after == moved.replace("for epoch", "fast = tf.function(step)\nfor epoch")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            IN_LOOP.replace("net(x))", "net(x) * epoch)"), id="it reads the loop's counter"
        ),
        pytest.param(
            IN_LOOP.replace("            return", "            print(x)\n            return"),
            id="it prints while it is traced",
        ),
        pytest.param(
            IN_LOOP.replace("for epoch in range(3):", "for epoch in range(3):\n    net = make()"),
            id="its model is another in each turn",
        ),
        pytest.param(
            IN_LOOP.replace("        total", "        def go(x): pass\n        total"),
            id="its name is given twice",
        ),
        pytest.param(
            IN_LOOP.replace("        @tf.function", "        @log\n        @tf.function"),
            id="it has another decorator",
        ),
    ],
)
def test_a_function_stays_where_it_is_when(text):
    assert hoisted(text) == (None, None)


RATE = """\
import tensorflow as tf
net = tf.keras.Sequential()
@tf.function
def step(x, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x, training=True))
    for w, g in zip(net.trainable_variables, tape.gradient(loss, net.trainable_variables)):
        w.assign_sub(rate * g)
    return loss
for number, x in enumerate(ds):
    step(x, 0.1 * 0.9**number)
"""


def given(text, value="0.09"):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if row.startswith("    step("))
    change = tensor_argument(script, line, Argument("train.py", 3, "step", "rate", value), [script])
    return apply_edits(script.text, change.edits) if change else None


def test_a_number_becomes_a_tensor():
    after = RATE.replace("0.1 * 0.9**number)", "tf.constant(0.1 * 0.9**number, tf.float32))")
    assert given(RATE) == after


def test_a_number_by_keyword_from_a_function_becomes_a_tensor():
    made = "def falls(n):\n    return 0.1 / (1 + n)\nfor number"
    text = RATE.replace("for number", made).replace("0.1 * 0.9**number", "rate=falls(number)")
    assert "step(x, rate=tf.constant(falls(number), tf.float32))" in given(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            RATE.replace("rate * g", "rate * g if rate > 0.01 else g"), id="it is compared"
        ),
        pytest.param(RATE.replace("rate * g", "tf.fill([rate], 1.0) * g"), id="it is a shape"),
        pytest.param(
            RATE.replace(
                "    return loss", "    for _ in range(rate):\n        pass\n    return loss"
            ),
            id="it counts turns",
        ),
        pytest.param(
            RATE.replace("    return loss", "    print(f'{rate}')\n    return loss"),
            id="it is printed",
        ),
        pytest.param(
            RATE.replace("    with", "    rate = rate or 1.0\n    with"), id="it is bound anew"
        ),
        pytest.param(
            RATE.replace(
                "net = ", "tf.keras.mixed_precision.set_global_policy('mixed_float16')\nnet = "
            ),
            id="the model computes in 16 bits",
        ),
        pytest.param(RATE.replace("0.1 * 0.9**number", "options"), id="what is given is unknown"),
    ],
)
def test_a_number_stays_one_where(text):
    assert given(text) is None


def test_a_whole_number_stays_one_where_it_may_meet_whole_numbers():
    assert given(RATE.replace("0.1 * 0.9**number", "number"), value="3") is None


HEAD = """\
import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
loss_of = keras.losses.MeanSquaredError()
metric = keras.metrics.Mean()
"""
STEP = """
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss
"""
LOOP = """
for epoch in range(3):
    for x, y in ds:
        loss = train_step(x, y)
"""


def asked(recogniser, text):
    script = Module("train.py", textwrap.dedent(text))
    line = next(n for n, row in enumerate(script.lines, start=1) if "GradientTape(" in row)
    change = recogniser(script, line, [script])
    return (apply_edits(script.text, change.edits), change.kind) if change else (None, None)


def test_a_step_that_is_a_function_is_decorated():
    after, kind = asked(compiled_step, HEAD + STEP + LOOP)
    assert after == HEAD + STEP.replace("def train", "@tf.function\ndef train") + LOOP
    assert kind is FixClass.EQUIVALENT


def test_a_method_is_decorated_where_its_objects_are_made_once():
    text = """
        from tensorflow import keras
        import tensorflow as tf
        class Trainer:
            def __init__(self, net):
                self.net = net
                self.opt = keras.optimizers.SGD(0.1)
            def update(self, x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(self.net(x) ** 2)
                v = self.net.trainable_variables
                self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
                return loss
        trainer = Trainer(net)
        for x in ds:
            print(float(trainer.update(x)))
        """
    after, _ = asked(compiled_step, text)
    assert after.replace("    @tf.function\n", "") == textwrap.dedent(text)
    assert "    @tf.function\n    def update" in after


def test_random_numbers_of_tensorflow_may_change_results():
    text = STEP.replace("model(x,", "model(x + tf.random.normal(tf.shape(x)),")
    after, kind = asked(compiled_step, HEAD + text + LOOP)
    assert after is not None
    assert kind is FixClass.MAY_CHANGE_RESULTS


def replaced(old, new, text=HEAD + STEP + LOOP):
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            replaced("    return loss", "    print(loss)\n    return loss"), id="it prints"
        ),
        pytest.param(replaced("return loss", "return float(loss)"), id="it returns a number"),
        pytest.param(replaced("return loss", "return loss, len(x)"), id="it returns a length"),
        pytest.param(replaced("return loss", "return loss.numpy()"), id="it reads a tensor"),
        pytest.param(
            replaced("    return loss", "    seen.append(loss)\n    return loss"),
            id="it fills a list from outside",
        ),
        pytest.param(
            replaced("    with", "    global count\n    count += 1\n    with"), id="it counts"
        ),
        pytest.param(
            replaced("    with", "    x = x + np.random.normal(size=3)\n    with"),
            id="NumPy draws random numbers",
        ),
        pytest.param(
            replaced("    with", "    noise = tf.Variable(0.0)\n    with"), id="it makes a variable"
        ),
        pytest.param(
            replaced("loss_of(y,", "beta * loss_of(y,").replace(
                "    for x", "    beta = 0.1 * epoch\n    for x"
            ),
            id="a number it reads changes",
        ),
        pytest.param(
            replaced("loss_of(y,", "weights[0] * loss_of(y,")
            .replace("    for x", "    weights[0] = epoch\n    for x")
            .replace("metric =", "weights = [1]\nmetric ="),
            id="a list it reads changes",
        ),
        pytest.param(
            replaced(
                "    return loss", "    if loss > 3:\n        loss = loss / 2\n    return loss"
            ),
            id="it branches on a tensor",
        ),
        pytest.param(
            replaced("train_step(x, y)\n", "train_step(x, y, epoch)\n")
            .replace("def train_step(x, y, epoch)", "def train_step(x, y)")
            .replace("def train_step(x, y)", "def train_step(x, y, epoch)", 1),
            id="it is given a counter",
        ),
        pytest.param(replaced("def train_step", "@timed\ndef train_step"), id="it has a decorator"),
        pytest.param(
            replaced("    for x, y", "    model.trainable = epoch > 1\n    for x, y"),
            id="layers are frozen in the loop",
        ),
        pytest.param(
            replaced(LOOP, LOOP + "model.trainable = False\n" + LOOP),
            id="layers are frozen between two loops",
        ),
        pytest.param(
            replaced(LOOP, "\nstep = make(train_step)\n" + LOOP), id="it is handed around"
        ),
        pytest.param(replaced("loss_of(y,", "my_loss(y,"), id="what it calls is unknown"),
        pytest.param(
            replaced(
                "def train_step", "def helper(y):\n    print(y)\n    return y\n\n\ndef train_step"
            ).replace("loss_of(y,", "loss_of(helper(y),"),
            id="what it calls prints",
        ),
        pytest.param(
            replaced("optimizer = ", "if a:\n    optimizer = 1\noptimizer = "),
            id="the optimizer has two values",
        ),
    ],
)
def test_a_step_stays_as_it_is_where(text):
    assert asked(compiled_step, text) == (None, None)


INLINE = """
history = []
for epoch in range(3):
    # all batches
    for step, (x, y) in enumerate(ds):
        with tf.GradientTape() as tape:  # forward
            loss = loss_of(y, model(x, training=True))
        # backward
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        metric.update_state(loss)
        history.append(float(loss))
"""


def test_a_step_in_a_loop_becomes_a_function_before_it():
    after, kind = asked(extracted_step, HEAD + INLINE)
    assert (
        after
        == HEAD
        + """
history = []


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:  # forward
        loss = loss_of(y, model(x, training=True))
    # backward
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    metric.update_state(loss)
    return loss


for epoch in range(3):
    # all batches
    for step, (x, y) in enumerate(ds):
        loss = train_step(x, y)
        history.append(float(loss))
"""
    )
    assert kind is FixClass.EQUIVALENT


def test_a_step_in_a_function_that_a_loop_calls_becomes_a_function_of_the_file():
    text = """
        import tensorflow as tf
        def train_epoch(model, ds, opt):
            for x, y in ds:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((model(x) - y) ** 2)
                g = tape.gradient(loss, model.trainable_variables)
                opt.apply_gradients(zip(g, model.trainable_variables))
            return loss
        model, opt = tf.keras.Sequential(), tf.keras.optimizers.Adam()
        for _ in range(3):
            train_epoch(model, ds, opt)
        """
    after, _ = asked(extracted_step, text)
    assert "@tf.function\ndef train_step(model, opt, x, y):\n    with tf" in after
    assert "        loss = train_step(model, opt, x, y)\n    return loss" in after


def test_a_layer_of_the_user_s_own_may_ask_whether_it_trains():
    layer = """
class Own(keras.layers.Layer):
    def call(self, x, training=None):
        if training:
            x = x + 1.0
        return x
"""
    after, _ = asked(extracted_step, HEAD + layer + INLINE)
    assert after is not None
    assert asked(extracted_step, HEAD + layer.replace("if training", "if x") + INLINE)[0] is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            replaced("loss_of(y,", "step * loss_of(y,", HEAD + INLINE), id="it reads a counter"
        ),
        pytest.param(
            replaced(
                "            loss =", "            print(x)\n            loss =", HEAD + INLINE
            ),
            id="it prints under the tape",
        ),
        pytest.param(
            replaced("= loss_of(y,", "= loss + loss_of(y,", HEAD + INLINE),
            id="it reads the last turn's loss",
        ),
        pytest.param(
            replaced(
                "        optimizer.apply",
                "        if step:\n            optimizer.apply",
                HEAD + INLINE,
            ),
            id="it does not always apply the gradients",
        ),
        pytest.param(
            replaced("    for step", "    optimizer = make()\n    for step", HEAD + INLINE),
            id="the optimizer is another in each epoch",
        ),
    ],
)
def test_a_step_stays_in_its_loop_where(text):
    assert asked(extracted_step, text) == (None, None)


GIVEN = """
def train_step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss
"""


def test_a_step_that_is_given_one_model_is_compiled():
    loop = "for x in ds:\n    train_step(model, optimizer, x)\n"
    assert asked(compiled_step, HEAD + GIVEN + loop)[0] is not None


def test_a_step_that_is_given_several_models_is_not_compiled():
    # Their optimizers would make variables in a graph that is not the first one.
    loop = """
for fold in range(3):
    net, opt = keras.Sequential([keras.layers.Dense(1)]), keras.optimizers.Adam()
    for x in ds:
        train_step(net, opt, x)
"""
    assert asked(compiled_step, HEAD + GIVEN + loop)[0] is None
    main = "def run(net, opt):\n    for x in ds:\n        train_step(net, opt, x)\n"
    assert asked(compiled_step, HEAD + GIVEN + main + "run(a, b)\nrun(c, d)\n")[0] is None


TRAINER = """
import abc
import tensorflow as tf

class Base(abc.ABC):
    def __init__(self, config):
        self.config = config
        self.model = self.build()
        self.optimizer = tf.keras.optimizers.Adam()

    @abc.abstractmethod
    def compute_loss(self, x, y): ...

    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y)
        variables = self.model.trainable_variables
        grads = tape.gradient(loss, variables)
        grads, _ = tf.clip_by_global_norm(grads, self.config.clip)
        self.optimizer.apply_gradients(zip(grads, variables))
        return loss

    def fit(self, ds):
        for x, y in ds:
            self.train_step(x, y)

class Own(Base):
    def build(self):
        return tf.keras.Sequential([tf.keras.layers.Dense(1)])

    def compute_loss(self, x, y):
        return tf.reduce_mean(tf.square(y - self.model(x, training=True)))

Own(config).fit(ds)
"""


@pytest.mark.parametrize(
    "base", ["abc.ABC", "object", "tf.Module", "metaclass=abc.ABCMeta", "Generic[T]"]
)
def test_a_step_of_a_class_that_is_no_model_is_compiled(base):
    text = TRAINER.replace("abc.ABC)", f"{base})").replace("import abc", BOTH)
    after, kind = asked(compiled_step, text)
    assert "    @tf.function\n    def train_step(self, x, y):\n" in after
    assert kind is FixClass.EQUIVALENT


BOTH = "import abc\nfrom typing import Generic"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TRAINER.replace("abc.ABC", "tf.keras.Model"), id="Keras compiles it itself"),
        pytest.param(
            TRAINER.replace("Own(Base)", "Own(Base, tf.keras.Model)"), id="a model comes from it"
        ),
        pytest.param(TRAINER.replace("abc.ABC", "lib.Trainer"), id="a base is unknown"),
        pytest.param(
            TRAINER.replace("class Own", "@dataclass\nclass Own"), id="objects may be no keys"
        ),
        pytest.param(
            TRAINER.replace(
                "        return tf.reduce", "        print(x)\n        return tf.reduce"
            ),
            id="the loss prints",
        ),
        pytest.param(
            TRAINER.replace("        for x, y", "        self.config = other\n        for x, y"),
            id="the settings are replaced",
        ),
        pytest.param(
            TRAINER.replace("        for x, y", "        self.config.clip = 2\n        for x, y"),
            id="a setting is changed",
        ),
        pytest.param(
            TRAINER.replace("(abc.ABC)", "(abc.ABC, metaclass=Kept)"), id="a metaclass is unknown"
        ),
        pytest.param(
            TRAINER + "setattr(config, 'clip', 2)\nOwn(config).fit(ds)\n",
            id="a setting is changed by its name",
        ),
        pytest.param(
            TRAINER + "for name in names:\n    setattr(config, name, 2)\n",
            id="some setting is changed",
        ),
        pytest.param(
            TRAINER.replace("self.config.clip", "self.clip").replace(
                "    def fit",
                "    @property\n    def clip(self):\n        return next(c)\n\n    def fit",
            ),
            id="a property gives another value each time",
        ),
        pytest.param(
            TRAINER.replace(
                "            self.train_step(x, y)",
                "            self.train_step(x, y)\n            self.model.layers[0].rate = 0.1",
            ),
            id="a layer drops more and more",
        ),
    ],
)
def test_a_step_of_a_class_is_not_compiled_where(text):
    assert asked(compiled_step, text)[0] is None


def test_a_loss_that_is_scaled_under_its_own_name_is_a_tensor():
    scaled = "        variables = self.model"
    after, _ = asked(compiled_step, TRAINER.replace(scaled, f"        loss = loss * 2\n{scaled}"))
    assert "    @tf.function\n" in after


def test_settings_of_another_file_are_not_changed_by_any():
    text = TRAINER.replace("import abc", "import abc\nfrom settings import CFG")
    text = text.replace("self.config.clip", "CFG.clip").strip()
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if "GradientTape(" in row)
    still = Module("settings.py", "class CFG:\n    clip = 1.0\n")
    assert compiled_step(script, line, [script, still]) is not None
    moved = Module("other.py", "from settings import CFG\ndef ease():\n    CFG.clip = 2.0\n")
    assert compiled_step(script, line, [script, still, moved]) is None
