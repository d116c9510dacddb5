"""`predict-in-loop`: fires when calls of `predict` take the time, and not the model in them."""

import pytest

from hand_runs import COMPILED, DROPPED, MAKE_ITERATOR, PREDICT, hand_run
from quickfit.causes import catalogue
from quickfit.causes.host.predict_in_loop import CAUSE, detect
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import run
from programs import lines, spots

fix = catalogue()["predict-in-loop"].fix

LINE = 12
BUILDS = ((MAKE_ITERATOR, PREDICT), LINE, 80)
COMPUTES = ((COMPILED, PREDICT), LINE, 8)
OTHER = ((), 20, 10)


def agent(**given):
    return hand_run(
        given.pop("kind", "custom"),
        **{
            "stacks": [BUILDS, COMPUTES, OTHER],
            "step_s": 0.06,
            "calls": [("predict", LINE, 100, 0.05)],
            **given,
        },
    )


def test_fires_at_the_line_with_the_cost_of_a_call():
    finding = detect(agent())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == LINE
    assert finding.evidence[0].value == pytest.approx(0.05)
    assert finding.evidence[1].value == pytest.approx(88 / 98)
    assert finding.is_of_whole
    assert 2 < finding.gain.low < finding.gain.likely < finding.gain.high


def test_fires_for_a_larger_model_as_long_as_most_of_a_call_is_overhead():
    large = ((COMPILED, PREDICT), LINE, 28)
    signals = agent(stacks=[BUILDS, large, OTHER], base={"facts": {"samples_native": True}})
    finding = detect(signals)
    assert finding is not None
    assert finding.summary == "most of each call of `predict` is setting it up, not the model"
    small = detect(agent())
    assert small is not None
    assert finding.gain.low < small.gain.low
    assert finding.gain.high < small.gain.high


def test_counts_the_dropping_of_what_a_call_made():
    with_drops = detect(agent(stacks=[BUILDS, COMPUTES, ((DROPPED,), LINE, 10)]))
    assert with_drops is not None
    assert with_drops.evidence[1].value == pytest.approx(1.0)


def test_fires_for_a_callback_of_fit():
    finding = detect(agent(kind="fit", base={"callback_s": 0.05}))
    assert finding is not None
    assert "callbacks" in finding.claims


def test_a_loop_that_only_predicts_is_one_too():
    finding = detect(agent(kind="predict", facts={"trains": False, "head": "predict"}))
    assert finding is not None
    assert "step" in finding.claims


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(
            {"stacks": [((MAKE_ITERATOR, PREDICT), LINE, 20), ((COMPILED, PREDICT), LINE, 70)]},
            id="many rows per call",
        ),
        pytest.param({"stacks": [BUILDS, ((COMPILED, PREDICT), LINE, 120)]}, id="mostly the model"),
        pytest.param({"calls": [("predict", LINE, 5, 0.05)]}, id="once per epoch"),
        pytest.param({"calls": []}, id="no call"),
        pytest.param({"stacks": [BUILDS, ((), 20, 2000)]}, id="a small share of the time"),
    ],
)
def test_stays_silent_when(given):
    assert detect(agent(**given)) is None


def test_stays_silent_on_a_healthy_fit_and_for_a_slow_callback():
    assert detect(run()) is None
    assert detect(run(callback_s=0.03)) is None


def test_says_that_it_could_not_look_when_hardly_a_sample_was_taken():
    with pytest.raises(SignalMissing, match="samples inside"):
        detect(agent(stacks=[((MAKE_ITERATOR, PREDICT), LINE, 2)]))


def test_says_that_it_could_not_look_when_it_may_be_the_model():
    stacks = [((MAKE_ITERATOR, PREDICT), LINE, 12), ((COMPILED, PREDICT), LINE, 10), OTHER]
    with pytest.raises(SignalMissing, match=r"for what its model takes: 2.% to 6.% so far"):
        detect(agent(stacks=stacks))


def test_a_few_long_steps_that_mostly_predict_are_enough():
    stacks = [((MAKE_ITERATOR, PREDICT), LINE, 9), ((), 20, 2)]
    calls = [("predict", LINE, 4, 1.9)]
    finding = detect(agent(stacks=stacks, calls=calls, step_s=2.0, base={"steps": 4}))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == LINE


def test_one_sample_in_four_says_nothing_for_certain():
    stacks = [((MAKE_ITERATOR, PREDICT), LINE, 1), ((), 20, 3)]
    calls = [("predict", LINE, 4, 0.6)]
    with pytest.raises(SignalMissing, match="more samples inside `predict`: 4% to 71% so far"):
        detect(agent(stacks=stacks, calls=calls, step_s=2.0, base={"steps": 4}))


def test_the_fix_shows_the_compiled_model():
    signals = agent()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.kind == FixClass.EQUIVALENT
    assert shown.example.splitlines()[0] == "forward = tf.function(model)"


# -- from the text of a program ---------------------------------------------------------------

MODEL = """
import keras
import numpy as np
import tensorflow as tf
model = keras.models.load_model("m.keras")
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "for image in images:\n    p = model.predict(np.expand_dims(image, axis=0))\n",
            id="a loop over images",
        ),
        pytest.param(
            "for path in paths:\n"
            "    x = keras.utils.img_to_array(keras.utils.load_img(path))\n"
            "    x = np.expand_dims(x, 0)\n"
            "    x /= 255.0\n"
            "    p = model.predict(x)\n",
            id="over lines, with a changed name",
        ),
        pytest.param(
            "for i in range(len(x)):\n    p = model.predict(x[i : i + 1], verbose=0)\n",
            id="by index",
        ),
        pytest.param("p = [model.predict(row[None]) for row in rows]\n", id="a comprehension"),
        pytest.param(
            "def classify(row):\n    return model.predict(row.reshape(1, -1))\n"
            "for row in rows:\n    p = classify(row)\n",
            id="through a function",
        ),
        pytest.param(
            "state = np.reshape(env.reset(), [1, 4])\n"
            "while not done:\n"
            "    q = model.predict(state)\n"
            "    state = np.reshape(env.step(q.argmax()), [1, 4])\n",
            id="an agent in its world",
        ),
        pytest.param(
            "class Agent:\n"
            "    def __init__(self):\n"
            "        self.model = keras.Sequential([keras.layers.Dense(2)])\n"
            "    def act(self, state):\n"
            "        return self.model.predict(state[np.newaxis, :])\n"
            "agent = Agent()\n"
            "for step in range(1000):\n"
            "    state = env.step(agent.act(state))\n",
            id="a method",
        ),
        pytest.param(
            "for epoch in range(60):\n"
            "    model.fit(x, y)\n"
            "    for i in range(400):\n"
            "        seed = np.zeros((1, 40, 60))\n"
            "        seed[0, i, text[i]] = 1\n"
            "        p = model.predict(seed, verbose=0)[0]\n",
            id="a text that is written after each epoch",
        ),
        pytest.param(
            "def score(net, texts):\n"
            "    for text in texts:\n"
            "        yield net.predict(tf.constant([text]), verbose=0)\n",
            id="a model that nobody sees, by what only Keras takes",
        ),
    ],
)
def test_text_shows_predict_of_one_row_in_a_loop(text):
    (spot,) = spots(CAUSE, MODEL + text)
    assert "predict" in (MODEL + text).lstrip().splitlines()[spot.where.line - 1]
    assert not spot.is_hint


ARRAYS = """
import keras
import numpy as np
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
for row in np.load("rows.npy"):
    x = np.expand_dims(row, axis=0)
    print(MODEL.predict(x, verbose=0)[0])
"""


def test_text_calls_the_model_where_it_is_sure():
    (spot,) = spots(CAUSE, ARRAYS.replace("MODEL", "model"))
    assert spot.change.kind is FixClass.EQUIVALENT
    assert spot.change.edits[0].text == "model(x, training=False).numpy()"


def test_text_changes_nothing_of_a_model_that_it_does_not_see():
    body = "    for row in rows:\n        x = np.expand_dims(row, axis=0)\n"
    text = f"{MODEL}def score(net, rows):\n{body}        yield net.predict(x, verbose=0)\n"
    (spot,) = spots(CAUSE, text)
    assert spot.change is None


def test_a_loop_over_a_few_is_short():
    rows = "range(1000)"
    text = ARRAYS.replace("MODEL", "model").replace('np.load("rows.npy")', f"sample({rows}, 6)")
    assert spots(CAUSE, "from random import sample\n" + text.lstrip()) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("p = model.predict(x)\n", id="once"),
        pytest.param("for epoch in range(50):\n    p = model.predict(x)\n", id="once per epoch"),
        pytest.param(
            "for i in range(0, len(x), 256):\n    p = model.predict(x[i : i + 256])\n",
            id="large parts",
        ),
        pytest.param(
            "for train, test in KFold(5).split(x):\n    p = model.predict(x[test])\n", id="folds"
        ),
        pytest.param(
            "for i in range(5):\n    p = model.predict(x[i : i + 1])\n", id="a few to look at"
        ),
        pytest.param("for row in x[:9]:\n    p = model.predict(row[None])\n", id="a few of many"),
        pytest.param(
            "for row in x:\n    plt.imshow(model.predict(row[None])[0])\n    plt.show()\n",
            id="each is drawn",
        ),
        pytest.param(
            "while True:\n    text = input()\n    print(model.predict(tf.constant([text])))\n",
            id="a person asks",
        ),
        pytest.param(
            "for path in paths:\n"
            "    net = keras.models.load_model(path)\n"
            "    p = net.predict(np.expand_dims(x[len(path)], 0))\n",
            id="another model each time",
        ),
        pytest.param(
            "for epoch in range(90):\n"
            "    model.fit(x, y)\n"
            "    row = x[epoch]\n"
            "    print(model.predict(row[None]))\n",
            id="one row per epoch",
        ),
        pytest.param(
            "from sklearn.svm import SVC\nclf = SVC()\n"
            "for row in x:\n    p = clf.predict(row[None])\n",
            id="another library",
        ),
        pytest.param(
            "class Rules:\n    def predict(self, x, verbose): ...\nrules = Rules()\n"
            "for row in x:\n    rules.predict(row[None], verbose=0)\n",
            id="a class of the program",
        ),
        pytest.param(
            "seed = np.zeros((1, 8))\nfor epoch in range(90):\n    print(model.predict(seed))\n",
            id="the same row again, to time it",
        ),
        pytest.param(
            "if False:\n    for row in x:\n        model.predict(row[None])\n", id="never run"
        ),
        pytest.param("for row in x:\n    p = model(row[None])\n", id="the model itself"),
        pytest.param("for row in x:\n    p = model.predict(row)\n", id="rows of unknown number"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, MODEL + text) == []


def test_pictures_of_a_camera_are_a_hint():
    text = (
        "import cv2\ncamera = cv2.VideoCapture(0)\n"
        "while cv2.waitKey(1) != 27:\n"
        "    _, frame = camera.read()\n"
        "    print(model.predict(frame[None]))\n"
    )
    (spot,) = spots(CAUSE, MODEL + text)
    assert spot.is_hint


def test_text_of_tests_is_left_alone():
    text = MODEL + "for row in rows:\n    model.predict(row[None])\n"
    assert lines(CAUSE, {"test_model.py": text}, "test_model.py") == []
    assert lines(CAUSE, {"model.py": text}, "model.py") == [6]


def test_a_loop_in_another_file_is_told():
    source = {
        "train.py": "from net import ask\nfor row in rows:\n    ask(row)\n",
        "net.py": MODEL + "def ask(row):\n    return model.predict(row[None])\n",
    }
    (spot,) = spots(CAUSE, source, "net.py")
    assert "in train.py at line 2" in spot.summary
    assert spot.related[0][0].file == "/project/train.py"
