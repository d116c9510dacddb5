"""`missing-tf-function`: fires when Python between operations is the step of a loop by hand."""

import pytest

from hand_runs import hand_run
from quickfit.causes.compile.missing_tf_function import CAUSE, detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import SCRIPT, shown_fix
from programs import lines, spots

SOURCE = """\
import tensorflow as tf

def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

for x, y in ds:
    train_step(x, y)
"""
TAPE_LINE, GRADIENT_LINE, APPLY_LINE = 4, 6, 7
# 300 operations of 50 us, of which large ones take little.
SMALL = {"steps": 10, "ops": 3000, "ops_s": 0.15, "median_s": 4e-5, "heavy_s": 0.01}
LARGE = {"steps": 10, "ops": 600, "ops_s": 0.95, "median_s": 3e-5, "heavy_s": 0.93}
GRADIENT, APPLY = ("gradient", GRADIENT_LINE, 100, 0.02), ("apply", APPLY_LINE, 100, 0.02)


def eager(ops=SMALL, text=SOURCE, **given):
    kind = given.pop("kind", "custom")
    base = {"eager_ops": ops, "step_s": 0.1, **given.pop("base", {})}
    signals = hand_run(
        kind,
        **{
            "stacks": [],
            "calls": [GRADIENT, APPLY],
            "call_s": 0.095,
            "cpu_s": 0.09,
            "wait_s": 0.001,
            **given,
            "facts": {"eager_loop": True, **given.pop("facts", {})},
            "base": base,
        },
    )
    tables = signals.recording.main.tables
    tables["sources"] = [{"file": SCRIPT, "sha256": "", "text": text}]
    if ops:
        tables["eager_ops"][0]["window_s"] = 0.1 * ops["steps"]
    return signals


def test_fires_at_the_tape_with_its_operations_counted():
    finding = detect(eager())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == TAPE_LINE
    assert finding.evidence[0].value == pytest.approx(300)
    # All of the call but 15 ms inside operations; most of those are started, not run.
    assert finding.cost_share == pytest.approx(0.92, abs=0.01)
    assert 10 < finding.gain.low < finding.gain.likely <= finding.gain.high


def test_fires_on_a_busy_machine_on_which_the_thread_stands_in_line():
    busy = {"other_cores": 1.5, "delay_share": 0.5, "cpu_cores": 0.4}
    assert detect(eager(cpu_s=0.03, base=busy)) is not None


def test_of_an_optimizer_that_alone_runs_eagerly_only_its_time_counts():
    finding = detect(eager(calls=[("apply", APPLY_LINE, 100, 0.04)]))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == APPLY_LINE
    assert finding.summary.startswith("the optimizer runs eagerly")
    assert finding.cost_share == pytest.approx(0.4)
    assert finding.gain.high < 2


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"ops": LARGE}, id="few and large operations"),
        pytest.param({"cpu_s": 0.02}, id="the main thread waits for the operations"),
        pytest.param({"facts": {"eager_loop": False}}, id="a compiled step"),
        pytest.param({"calls": []}, id="no gradient and no optimizer in the loop"),
        pytest.param({"kind": "fit"}, id="`fit`, which has a cause of its own"),
        pytest.param({"kind": "predict", "facts": {"trains": False}}, id="no training"),
        pytest.param({"step_s": 1.0, "base": {"step_s": 1.0}}, id="a small part of a step"),
    ],
)
def test_stays_silent_when(given):
    assert detect(eager(**given)) is None


def test_says_that_it_could_not_look_without_a_count_of_operations():
    with pytest.raises(SignalMissing, match="eager step"):
        detect(eager(ops=None))


def test_the_fix_shows_the_page_where_the_code_is_not_recognised():
    signals = eager()
    shown = shown_fix("missing-tf-function", detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.MAY_CHANGE_RESULTS
    assert not shown.before
    assert shown.example.startswith("@tf.function\n")


def test_the_fix_names_what_needs_values_first():
    signals = eager(text=SOURCE.replace("return loss", "return float(loss)"))
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.before == ""
    assert shown.example.startswith("@tf.function")
    assert shown.note == "Take `float` out of the step first: they need values, not tensors."


LOOP = """\
import tensorflow as tf

while True:
    batch = env.step(action)
    if len(history) > 32:
        targets = sample(history)
        with tf.GradientTape() as tape:
            loss = loss_of(targets, model(batch))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
PLAYED = """\
import tensorflow as tf

while True:
    with tf.GradientTape() as tape:
        for turn in range(200):
            values.append(model(state)[0, 0])
            state, reward = env.step(1)
        cost = sum(values)
    grads = tape.gradient(cost, actor.trainable_variables)
    adam.apply_gradients(zip(grads, actor.trainable_variables))
"""


def test_of_a_loop_with_an_environment_only_the_step_is_compiled_in_its_own_names():
    calls = [("gradient", 9, 100, 0.02), ("apply", 10, 100, 0.02)]
    signals = eager(text=LOOP, calls=calls)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.example.splitlines() == [
        "@tf.function",
        "def train_step(targets, batch):",
        "    with tf.GradientTape() as tape:",
        "        loss = loss_of(targets, model(batch))",
        "    grads = tape.gradient(loss, model.trainable_variables)",
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))",
        "    return loss",
        "",
        "# in the loop, in place of these lines",
        "loss = train_step(targets, batch)",
    ]
    assert shown.note.startswith("Give it tensors")


def test_what_cannot_be_traced_under_the_tape_stays_in_the_loop():
    calls = [("gradient", 9, 100, 0.02), ("apply", 10, 100, 0.02)]
    signals = eager(text=PLAYED, calls=calls)
    finding = detect(signals)
    assert finding is not None
    # The gradient and the update are 40 of 100 ms.
    assert finding.gain.low == pytest.approx(1.6, abs=0.1)
    whole = detect(eager())
    assert whole is not None
    assert finding.gain.high == pytest.approx(whole.gain.likely)
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.note.startswith("`append`, `env.step` cannot be traced: they stay in the loop.")
    assert "    adam.apply_gradients(zip(grads, actor.trainable_variables))" in shown.example
    assert shown.example.startswith("forward = tf.function(actor)")


# -- from the text of a program ---------------------------------------------------------------

LEARNING = """
import keras
import tensorflow as tf
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
"""
BODY = """
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
STEP = f"def train_step(x, y):{BODY}    return loss\n"
INNER = BODY.replace("\n    ", "\n        ")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(STEP + "for x, y in ds:\n    train_step(x, y)\n", id="a function"),
        pytest.param(
            "for epoch in range(9):\n    for n, (x, y) in enumerate(ds.shuffle(9)):" + INNER,
            id="in the loop",
        ),
        pytest.param(
            "class Trainer:\n    def step(self, x, y):" + INNER + "        return loss\n"
            "    def run(self, data):\n        for x, y in data:\n            self.step(x, y)\n"
            "Trainer().run(ds)\n",
            id="methods",
        ),
    ],
)
def test_text_shows_steps_that_nothing_compiles(text):
    (spot,) = spots(CAUSE, LEARNING + text)
    assert "GradientTape" in (LEARNING + text).lstrip().splitlines()[spot.where.line - 1]
    assert not spot.is_hint


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("@tf.function\n" + STEP + "for x, y in ds:\n    train_step(x, y)\n", id="is"),
        pytest.param(
            STEP + "fast = tf.function(train_step)\nfor x, y in ds:\n    fast(x, y)\n",
            id="by a name",
        ),
        pytest.param(
            STEP + "@tf.function\ndef outer(x, y):\n    return train_step(x, y)\n"
            "for x, y in ds:\n    outer(x, y)\n",
            id="from outside",
        ),
        pytest.param(
            STEP + "@tf.function\ndef many(it):\n    strategy.run(train_step, args=(next(it),))\n"
            "for x, y in ds:\n    many(it)\n",
            id="with a strategy",
        ),
        pytest.param(
            "class Net(keras.Model):\n    def train_step(self, data):\n        x, y = data"
            + INNER
            + "        return {}\nNet().fit(ds)\n",
            id="of a model",
        ),
        pytest.param(
            "@tf.function\ndef train(ds):\n    for x, y in ds:" + INNER, id="the whole loop"
        ),
        pytest.param(
            "for x, y in ds:\n    with tf.GradientTape() as tape:\n"
            "        tape.watch(x)\n        out = model(x)\n    show(tape.gradient(out, x))\n",
            id="gradients to look at",
        ),
        pytest.param("@wrapped\n" + STEP + "for x, y in ds:\n    train_step(x, y)\n", id="unknown"),
        pytest.param(STEP + "train_step(x, y)\n", id="once"),
        pytest.param(STEP + "for x, y in ds.take(2):\n    train_step(x, y)\n", id="a try-out"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, LEARNING + text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            STEP.replace("return loss", "return loss.numpy()")
            + "for x, y in ds:\n    train_step(x, y)\n",
            id="it takes values out of tensors",
        ),
        pytest.param(STEP + "for n in range(1000):\n    train_step(x, y)\n", id="another loop"),
        pytest.param(
            "import numpy as np\ndef error(a, b):\n    return np.abs(a - b)\n"
            + STEP.replace("tf.reduce_mean((model(x) - y) ** 2)", "error(model(x), y)")
            + "for x, y in ds:\n    train_step(x, y)\n",
            id="what it calls needs values",
        ),
    ],
)
def test_a_step_that_may_need_python_is_a_hint(text):
    (spot,) = spots(CAUSE, LEARNING + text)
    assert spot.is_hint
