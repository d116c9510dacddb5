"""`sync-each-step`: fires when Python between the calls of a loop works on metrics."""

import pytest

from hand_runs import COMPILED_CALL, FETCH, METRIC, hand_run
from quickfit.causes import catalogue
from quickfit.causes.host.sync_each_step import CAUSE, detect
from quickfit.causes.host.sync_each_step.text import handed_reads
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import run
from programs import lines, program_of, spots

fix = catalogue()["sync-each-step"].fix

HEAD, LINE = 30, 33
STEP = ((COMPILED_CALL,), 31, 30)
READS = ((METRIC,), LINE, 40)


def loop(**given):
    facts = {"input": "tf.data", "head": "next", **given.pop("facts", {})}
    return hand_run(
        given.pop("kind", "custom"),
        **{
            "stacks": [STEP, READS, ((FETCH,), 34, 10)],
            "call_s": 0.05,
            "wait_s": 0.01,
            "facts": facts,
            **given,
        },
    )


def test_fires_at_the_line_that_works_on_metrics():
    finding = detect(loop())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == LINE
    assert finding.evidence[0].value == pytest.approx(0.04, rel=0.01)
    assert finding.evidence[1].value == 1.0
    assert finding.gain.likely == pytest.approx(0.1 / (0.1 - 0.92 * 0.04), rel=0.02)


def test_the_end_of_an_iterator_at_the_loop_is_nobodys_metric():
    finding = detect(loop(stacks=[STEP, READS, ((), HEAD, 100)]))
    assert finding is not None
    assert finding.evidence[1].value == 1.0


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"call_s": 0.085}, id="little time between the calls"),
        pytest.param({"stacks": [STEP, ((), 33, 60), ((FETCH,), 34, 2)]}, id="other Python"),
        pytest.param({"facts": {"eager_loop": True}}, id="the whole step is eager"),
        pytest.param({"kind": "fit"}, id="fit"),
        pytest.param(
            {
                "stacks": [STEP, ((FETCH,), 34, 50)],
                "base": {"facts": {"tensorflow_devices": [["GPU", "/physical_device:GPU:0"]]}},
            },
            id="a fetch that waits for an accelerator",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(loop(**given)) is None


def test_stays_silent_on_a_healthy_fit():
    assert detect(run()) is None


def test_says_that_it_could_not_look_when_hardly_a_sample_was_taken():
    with pytest.raises(SignalMissing, match="samples"):
        detect(loop(stacks=[STEP]))


def test_the_fix_shows_metrics_in_the_compiled_step():
    signals = loop()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.kind == FixClass.SAME_RESULTS
    assert shown.example.startswith("@tf.function\ndef train_step(images, labels):")


# -- from the text of a program ---------------------------------------------------------------

TRAINING = """
import keras
import tensorflow as tf
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
accuracy = keras.metrics.Mean()
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss

"""
LOOP = "for epoch in range(9):\n    for step, (x, y) in enumerate(ds):\n"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("        loss = train_step(x, y)\n        print(loss.numpy())\n", id="shown"),
        pytest.param(
            "        loss = train_step(x, y)\n        total += float(loss)\n", id="added up"
        ),
        pytest.param("        losses.append(train_step(x, y).numpy())\n", id="kept"),
        pytest.param(
            "        loss = train_step(x, y)\n        print(f'{loss} {loss.numpy():.3f}')\n",
            id="in a text",
        ),
        pytest.param(
            "        accuracy.update_state(train_step(x, y))\n"
            "        bar.set_postfix(acc=accuracy.result().numpy())\n",
            id="a metric",
        ),
        pytest.param(
            "        with tf.GradientTape() as tape:\n"
            "            loss = tf.reduce_mean(model(x) - y)\n"
            "        optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables))\n"
            "        history.append(loss.numpy())\n",
            id="under a tape",
        ),
    ],
)
def test_text_shows_values_that_every_step_reads(body):
    (spot,) = spots(CAUSE, TRAINING + LOOP + body)
    assert "after every step of the loop" in spot.summary
    assert not spot.is_hint


@pytest.mark.parametrize("shown", ["'loss', loss", "f'{step}: {loss:.3f}'"])
def test_a_tensor_that_is_printed_is_a_hint(shown):
    body = f"        loss = train_step(x, y)\n        print({shown})\n"
    (spot,) = spots(CAUSE, TRAINING + LOOP + body)
    assert spot.is_hint


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            LOOP + "        loss = train_step(x, y)\n"
            "        if step % 100 == 0:\n            print(float(loss))\n",
            id="now and then",
        ),
        pytest.param(
            LOOP + "        loss = train_step(x, y)\n        now = float(loss)\n"
            "        seen.append(now)\n        mean = sum(seen) / 9\n"
            "        if mean < 1:\n            break\n",
            id="a mean that ends it",
        ),
        pytest.param(
            LOOP + "        action = train_step(x, y)\n        move = action.numpy() > 0\n"
            "        x, y = env.step(move)\n",
            id="an environment that goes by it",
        ),
        pytest.param(
            LOOP + "        loss = train_step(x, y)\n        if step % 100:\n            continue\n"
            "        print(float(loss))\n",
            id="now and then, the other way round",
        ),
        pytest.param(
            LOOP + "        loss = train_step(x, y)\n    print(float(loss))\n", id="once per epoch"
        ),
        pytest.param(
            LOOP + "        loss = train_step(x, y)\n        total += loss\n", id="as a tensor"
        ),
        pytest.param(
            LOOP + "        value = float(train_step(x, y))\n"
            "        if value < 0.01:\n            break\n",
            id="the loop goes by it",
        ),
        pytest.param(
            LOOP + "        train_step(x, y)\n        print(step, x.shape)\n", id="no tensor"
        ),
        pytest.param(
            LOOP + "        train_step(x, y)\n        tf.print(accuracy.result())\n",
            id="an operation",
        ),
        pytest.param("for x, y in ds:\n    print(model(x).numpy())\n", id="a loop that only asks"),
        pytest.param(
            "for epoch in range(99):\n    loss = train_step(x, y)\n    print(float(loss))\n",
            id="all of the data in one step",
        ),
        pytest.param(
            "for x, y in ds.take(3):\n    print(train_step(x, y).numpy())\n", id="a try-out"
        ),
        pytest.param(
            LOOP + "        kept.append(train_step(x, y).numpy())\n"
            "import numpy as np\nnp.concatenate(kept)\n",
            id="arrays that are wanted",
        ),
        pytest.param(
            "@tf.function\ndef train(ds):\n    for x, y in ds:\n"
            "        loss = train_step(x, y)\n        print(loss)\n",
            id="a compiled loop",
        ),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, TRAINING + text) == []


METER = """
class Meter:
    def __init__(self):
        self.value = 0.0

    def add(self, value):
        value = value.numpy()
        self.value += value
"""
TRAINING_HANDED_READS = """
import keras
import tensorflow as tf
from meter import Meter

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables))
    return loss

meter = Meter()
for epoch in range(9):
    for step, (x, y) in enumerate(ds):
        loss = train_step(x, y)
        meter.add(loss)
"""


def read(meter=METER, training=TRAINING_HANDED_READS):
    """Return the lines of `meter.py` that read a value in every step."""
    program = program_of({"train.py": training, "meter.py": meter})
    module = program.module("/project/meter.py")
    return [found.call.lineno for found in handed_reads(program, module)]


@pytest.mark.parametrize(
    ("meter", "training"),
    [
        pytest.param(METER, TRAINING_HANDED_READS, id="a method"),
        pytest.param(
            METER.replace("value.numpy()", "float(value)"), TRAINING_HANDED_READS, id="float"
        ),
        pytest.param(
            METER,
            TRAINING_HANDED_READS.replace("meter.add(loss)", "meter.add(value=loss)"),
            id="by its name",
        ),
        pytest.param(
            METER,
            TRAINING_HANDED_READS.replace("meter.add(loss)", "meter.add(train_step(x, y))"),
            id="not named",
        ),
    ],
)
def test_a_value_that_is_handed_over_in_every_step_is_found(meter, training):
    assert read(meter, training) == [6]


def test_a_value_that_is_handed_on_is_found():
    meter = METER + "\n    def log(self, one):\n        self.add(one)\n"
    assert read(meter, TRAINING_HANDED_READS.replace("meter.add", "meter.log")) == [6]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "        meter.add(loss)",
            "        if step % 50 == 0:\n            meter.add(loss)",
            id="now and then",
        ),
        pytest.param("        meter.add(loss)", "    meter.add(loss)", id="once per epoch"),
        pytest.param("meter.add(loss)", "meter.add(step)", id="no value of the step"),
        pytest.param(
            "meter.add(loss)",
            "best = meter.add(loss)\n        if best:\n            break",
            id="the loop goes by it",
        ),
        pytest.param("enumerate(ds)", "enumerate(ds.take(2))", id="a try-out"),
        pytest.param(
            "        loss = train_step(x, y)\n", "        loss = x[0]\n", id="no training"
        ),
    ],
)
def test_a_loop_that_does_not_hand_it_over_in_every_step_is_fine(old, new):
    assert old in TRAINING_HANDED_READS
    assert read(training=TRAINING_HANDED_READS.replace(old, new)) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("        if self.is_due:\n            self.v = value.numpy()\n", id="if due"),
        pytest.param(
            "        self.n += 1\n        if self.n % 9:\n            return\n"
            "        self.v = value.numpy()\n",
            id="left before",
        ),
        pytest.param("        value = self.last\n        self.v = value.numpy()\n", id="another"),
        pytest.param("        self.v = self.v + value\n", id="it stays a tensor"),
        pytest.param(
            "        value = float(value)\n"
            "        if value < self.best:\n            self.keep()\n",
            id="it goes by the value",
        ),
    ],
)
def test_a_function_that_does_not_read_each_value_is_fine(body):
    assert read(METER[: METER.index("        value = value")] + body) == []


def test_the_place_is_the_read_with_the_loop_beside_it():
    source = {"train.py": TRAINING_HANDED_READS, "meter.py": METER}
    (spot,) = spots(CAUSE, source, "meter.py")
    assert spot.summary.startswith(
        "`value` is read after every step of the loop at line 18 of train.py: "
    )
    assert [(span.file, span.line) for span, _ in spot.related] == [("/project/train.py", 20)]
