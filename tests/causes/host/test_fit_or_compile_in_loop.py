"""`fit-or-compile-in-loop`: fires when calls of `fit` set up, or compile, for long."""

import pytest

from fit_runs import COMPILE_LINE, FIT, FIT_LINE, SEEN, STEP, many_fits
from hand_runs import COMPILED
from quickfit.causes.host.fit_or_compile_in_loop import CAUSE, detect, fix
from quickfit.findings import FixClass

from builders import run
from programs import lines, spots

BUILT_IN_A_LOOP = """\
for fold in range(8):
    model = keras.Sequential(layers, name="net")
    model.compile("adam", loss="mse")
    model.fit(x, y)
"""
COMPILED_BY_A_HELPER = """\

def prepare(model):
    model.compile("adam", loss="mse"); return model
model.fit(x, y)
"""
COMPILED_ONCE = """\
model = keras.Sequential(layers)

model.compile("adam", loss="mse")
model.fit(x, y)
"""


def found(**given):
    signals = many_fits(**given)
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS
    return finding, advice


def test_fires_for_many_calls_with_clock_and_samples():
    finding, _ = found()
    assert finding.where.line == FIT_LINE
    assert finding.summary == "`fit` is called 20 times, for 20 steps each"
    calls, setup, sampled = finding.evidence
    assert calls.value == 20
    assert setup.value == pytest.approx(0.05)
    assert sampled.value == pytest.approx(0.5)
    assert finding.claims == ("fit_calls",)
    assert finding.is_of_whole
    # Nineteen times 50 ms of 5.1 s; nine tenths of that.
    assert finding.cost_share == pytest.approx(0.9 * 0.95 / 5.09, rel=0.01)
    assert 1.1 < finding.gain.low < finding.gain.likely < finding.gain.high


@pytest.mark.parametrize("text", [None, COMPILED_BY_A_HELPER], ids=["beside", "in a helper"])
def test_fires_at_the_compile_of_a_model_that_is_traced_in_every_call(text):
    finding, advice = found(traced_s=0.3, **({"text": text} if text else {}))
    assert finding.where.line == COMPILE_LINE
    assert finding.summary == "the model is compiled again for each of 20 calls of `fit`"
    assert finding.evidence[2].value == 19
    assert "tracing" in finding.claims
    assert advice.title == "Compile once, before the loop, and call `fit` once"
    assert "LearningRateScheduler" in advice.example


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"models": True}, id="names of their own"),
        pytest.param({"text": BUILT_IN_A_LOOP}, id="one name for all"),
        pytest.param({"text": COMPILED_ONCE}, id="compiled where nothing is repeated"),
    ],
)
def test_models_that_are_traced_anew_are_not_one_that_is_compiled_again(given):
    finding, advice = found(traced_s=0.3, **given)
    assert finding.where.line == FIT_LINE
    assert finding.summary == "`fit` is called 20 times, each with a model that is traced anew"
    assert advice.example.splitlines()[0] == "first = model.get_weights()"


def test_short_calls_become_one_epoch_at_best():
    chunks, _ = found(steps=4)
    epochs, _ = found(steps=12)
    assert chunks.gain.high > epochs.gain.high


def evaluated_between(signals, seconds):
    """Let the script evaluate between its calls of `fit`."""
    tables = signals.recording.main.tables
    rows, steps = tables["loops"], tables["steps"]
    steps += [
        {**steps[0], "loop": 99, "step": number, "epoch": number}
        | {"begin_s": row["end_s"], "end_s": row["end_s"] + seconds}
        for number, row in enumerate(rows[:-1], start=1)
    ]
    facts = {"trains": False, "input": "arrays"}
    rows.append({**rows[0], "id": 99, "kind": "evaluate", "line": 9, "facts": facts})
    return signals


def test_an_evaluation_between_the_calls_is_not_gained_at_best():
    given = {"setup_s": 0.5, "outside_s": 0.5}
    plain, _ = found(**given)
    finding = detect(evaluated_between(many_fits(**given), 0.4))
    assert finding is not None
    assert finding.gain.likely == pytest.approx(plain.gain.likely)
    assert finding.gain.high < 0.7 * plain.gain.high


def test_calls_of_several_steps_are_to_become_one():
    _, advice = found()
    assert advice.title == "Call `fit` once, for all epochs or all parts of the data"
    assert "epochs=50" in advice.example


def test_calls_of_single_steps_are_to_become_train_on_batch():
    finding, advice = found(steps=1, calls=60)
    assert finding.summary == "`fit` is called 60 times, for one step each"
    assert advice.example == "for x, y in batches:\n    loss = model.train_on_batch(x, y)"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"calls": 3, "steps": 30}, id="three phases"),
        pytest.param({"steps": 100}, id="calls that train for long"),
        pytest.param({"steps": 100, "outside_s": 2.0}, id="the script's own work between calls"),
        pytest.param(
            {"stacks": [((COMPILED, STEP, FIT), FIT_LINE, 95), (*SEEN[1][:2], 5)]},
            id="the samples are in the steps",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(many_fits(**given)) is None


def test_stays_silent_for_one_fit_and_for_its_own_retraces():
    assert detect(run()) is None
    assert detect(run(traces=[(n, 0.5, str(n)) for n in range(10, 90, 10)])) is None


# -- from the text of a program ---------------------------------------------------------------

MODEL = """
import keras
import numpy as np
x, y = np.load("x.npy"), np.load("y.npy")
def build():
    net = keras.Sequential([keras.layers.Dense(1)])
    net.compile("sgd", "mse")
    return net
"""
BUILT = MODEL + "model = build()\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "for epoch in range(50):\n    model.fit(x, y, epochs=1)\n", ["fit"], id="one epoch"
        ),
        pytest.param(
            "for _ in range(n):\n    model.fit(x, y, verbose=0)\n    model.evaluate(x, y)\n",
            ["fit"],
            id="one epoch, by default",
        ),
        pytest.param(
            "for e in range(9):\n    model.fit(x, y, initial_epoch=e, epochs=e + 1)\n",
            ["fit"],
            id="from one epoch to the next",
        ),
        pytest.param(
            "while True:\n    h = model.fit(x, y)\n    if is_good(h):\n        break\n",
            ["fit"],
            id="until it is good",
        ),
        pytest.param(
            "for rate in rates:\n"
            "    model.compile(keras.optimizers.SGD(rate), 'mse')\n"
            "    model.fit(x, y, epochs=5)\n",
            ["compile"],
            id="a new compile for each rate",
        ),
        pytest.param(
            "def again(net, rate):\n    net.compile(keras.optimizers.SGD(rate), 'mse')\n"
            "for epoch in range(20):\n    again(model, 0.1 / (epoch + 1))\n",
            ["compile"],
            id="in a function",
        ),
        pytest.param(
            "for state, target in memory:\n"
            "    state = np.reshape(state, (1, 4))\n"
            "    model.fit(state, target, epochs=1, verbose=0)\n",
            ["fit"],
            id="one row at a time",
        ),
        pytest.param(
            "class Trainer:\n"
            "    def __init__(self):\n        self.net = build()\n"
            "    def run(self):\n"
            "        for _ in range(30):\n            self.net.fit(x, y, epochs=1)\n"
            "Trainer().run()\n",
            ["fit"],
            id="in a class",
        ),
    ],
)
def test_text_shows_what_is_set_up_again(text, found):
    told = [spot for spot in spots(CAUSE, BUILT + text) if not spot.is_hint]
    source = (BUILT + text).lstrip().splitlines()
    assert all(word in source[s.where.line - 1] for word, s in zip(found, told, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model.fit(x, y, epochs=50)\n", id="one call"),
        pytest.param(
            "for train, test in folds:\n    model = build()\n    model.fit(x[train], y[train])\n",
            id="a model for each fold",
        ),
        pytest.param(
            "def train(rate):\n    net = build()\n    net.fit(x, y)\n    return net\n"
            "for rate in rates:\n    train(rate)\n",
            id="a model for each call",
        ),
        pytest.param(
            "def train(net):\n    net.compile('sgd')\n    net.fit(x, y)\n"
            "for rate in rates:\n    train(build())\n",
            id="a model given to each call",
        ),
        pytest.param(
            "for rate in (0.1, 0.01):\n"
            "    model.compile(keras.optimizers.SGD(rate))\n    model.fit(x, y, epochs=9)\n",
            id="two phases",
        ),
        pytest.param(
            "base.trainable = False\nmodel.compile('sgd')\nmodel.fit(x, y)\n"
            "base.trainable = True\nmodel.compile('sgd')\nmodel.fit(x, y)\n",
            id="freeze and unfreeze",
        ),
        pytest.param(
            "for layer in layers:\n    layer.trainable = True\n    model.compile('sgd')\n",
            id="a layer more each time",
        ),
        pytest.param(
            "for net in (build() for _ in range(9)):\n    net.fit(x, y)\n", id="over models"
        ),
        pytest.param(
            "for epoch in range(30):\n"
            "    if epoch == 20:\n        model.compile(keras.optimizers.SGD(0.1))\n",
            id="only once in the loop",
        ),
        pytest.param(
            "start = model.get_weights()\n"
            "for train, test in folds:\n"
            "    model.set_weights(start)\n    model.fit(x[train], y[train])\n",
            id="from the first weights again",
        ),
        pytest.param("import re\nfor word in words:\n    re.compile(word)\n", id="another compile"),
        pytest.param(
            "from sklearn.svm import SVC\nclf = SVC()\nfor _ in range(9):\n    clf.fit(x, y)\n",
            id="another library",
        ),
        pytest.param(
            "class Trainer:\n"
            "    def build(self):\n        self.net = build()\n"
            "    def run(self):\n"
            "        for fold in folds:\n"
            "            self.build()\n            self.net.fit(x, y, epochs=1)\n",
            id="an attribute that each turn makes anew",
        ),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, BUILT + text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "for part in parts:\n    data = np.load(part)\n    model.fit(data, epochs=1)\n",
            id="parts of the data",
        ),
        pytest.param(
            "for _ in range(9):\n    model.fit(x, y, epochs=10)\n", id="several epochs each"
        ),
    ],
)
def test_parts_of_the_data_are_a_hint(text):
    (spot,) = spots(CAUSE, BUILT + text)
    assert spot.is_hint


def test_the_scripts_own_work_between_calls_is_no_gain():
    seen = [((COMPILED, STEP, FIT), FIT_LINE, 20), ((), FIT_LINE + 7, 80)]
    given = {"models": True, "traced_s": 0.8, "outside_s": 1.0, "setup_s": 0.05}
    finding = detect(many_fits(**given, stacks=seen))
    # A round is 0.05 s of setting up, 1 s of steps and traces, and a second that stays.
    assert finding.gain.likely < finding.gain.high < 2.05 / 1.0
