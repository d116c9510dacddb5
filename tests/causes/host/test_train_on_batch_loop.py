"""`train-on-batch-loop`: fires when Python makes batches while the model waits."""

from dataclasses import replace

import pytest

from hand_runs import COMPILED, METRIC, RESET, TRAIN_ON_BATCH, hand_run
from quickfit.causes.host.train_on_batch_loop import CAUSE, changes, detect, fix
from quickfit.code import Program
from quickfit.errors import FixError, SignalMissing
from quickfit.findings import FixClass, Location

from builders import SCRIPT, run
from programs import lines, spots

LINE = 30
CALL = ((COMPILED, TRAIN_ON_BATCH), LINE, 40)
RESETS = ((RESET, TRAIN_ON_BATCH), LINE, 10)
PREPARES = ((), 28, 50)


def loop(**given):
    return hand_run(
        given.pop("kind", "train_on_batch"),
        **{
            "stacks": [CALL, RESETS, PREPARES],
            "call_s": 0.05,
            "cpu_s": 0.08,
            "copies_s": 0.004,
            "calls": [("train", LINE, 100, 0.05)],
            **given,
        },
    )


def test_fires_at_the_call_with_what_lies_beside_the_model():
    finding = detect(loop())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == LINE
    assert [e.value for e in finding.evidence] == pytest.approx([0.05, 0.004, 0.01], rel=0.1)
    assert finding.gain.low <= finding.gain.likely <= finding.gain.high
    assert finding.gain.likely > 1.2


@pytest.mark.parametrize(
    ("body", "line"),
    [
        pytest.param([27, 31], LINE, id="spread over the loop itself"),
        pytest.param([29, 31], 28, id="in a helper"),
    ],
)
def test_the_place_is_the_line_that_costs_most_where_a_helper_has_it(body, line):
    stacks = [((COMPILED, TRAIN_ON_BATCH), LINE, 10), ((), 28, 90)]
    facts = {"body": [SCRIPT, *body]}
    finding = detect(loop(call_s=0.01, cpu_s=0.09, stacks=stacks, facts=facts))
    assert finding.where.line == line


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"call_s": 0.098, "stacks": [CALL], "copies_s": 0.0005}, id="the step takes"),
        pytest.param(
            {"calls": [("train", LINE, 100, 0.05), ("predict", 28, 100, 0.05)]},
            id="the model makes the batches",
        ),
        pytest.param({"stacks": [CALL, ((METRIC,), 28, 50)], "copies_s": 0.001}, id="metrics"),
        pytest.param({"kind": "custom"}, id="another kind of loop"),
    ],
)
def test_stays_silent_when(given):
    assert detect(loop(**given)) is None


def test_stays_silent_on_a_healthy_fit():
    assert detect(run()) is None


def test_says_that_it_could_not_look_when_no_copy_was_timed():
    signals = hand_run("train_on_batch", stacks=[CALL], call_s=0.095, cpu_s=0.08)
    with pytest.raises(SignalMissing, match="arrays"):
        detect(signals)


@pytest.mark.parametrize("steps", [2, 3, 5, 10])
def test_a_few_long_steps_are_enough_though_nobody_looked_at_the_copies(steps):
    stacks = [((COMPILED, TRAIN_ON_BATCH), LINE, 2), ((), 28, 6)]
    given = {"step_s": 2.0, "call_s": 0.5, "cpu_s": 1.8, "base": {"steps": steps}}
    finding = detect(hand_run("train_on_batch", stacks=stacks, **given))
    assert finding is not None
    assert finding.evidence[0].value == pytest.approx(1.5, rel=0.05)


def test_the_fix_shows_a_dataset():
    signals = loop()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.kind == FixClass.MAY_CHANGE_RESULTS
    assert shown.example.splitlines()[-1] == "model.fit(ds, epochs=10)"


SLICES = """\
import keras
model.compile("adam", "mse")
for epoch in range(5):
    for i in range(0, len(x), 32):
        model.train_on_batch(x[i : i + 32], y[i : i + 32])
"""
PREPARED = """\
import keras
model.compile("adam", "mse")
for epoch in range(5):
    order = rng.permutation(len(x))
    for start in range(0, len(x), 32):
        rows = order[start : start + 32]
        images = x[rows] / 255.0
        model.train_on_batch(images, y[rows])
"""


def edits(text, **given):
    signals = loop(**given)
    finding = detect(signals)
    assert finding is not None
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "train_on_batch(" in row)
    where = Location("train.py", line)
    return changes(replace(finding, where=where), signals, Program(texts={"train.py": text}))


def test_whole_epochs_are_not_handed_over_where_python_would_prepare_them_as_before():
    with pytest.raises(FixError, match="gain nothing"):
        edits(PREPARED)
    # Where nothing is prepared, `fit` cuts the rows itself.
    assert len(edits(SLICES)) == 2


# -- from the text of a program ---------------------------------------------------------------

MODELS = "import keras\na, b = keras.Sequential([]), keras.Sequential([])\n"
EACH = "for start in range(0, len(x), 32):\n"


def test_text_gives_a_hint_at_a_loop_over_batches():
    (spot,) = spots(CAUSE, MODELS + EACH + "    a.train_on_batch(x[start:], y[start:])\n")
    assert spot.is_hint
    assert spot.where.line == 4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            EACH + "    a.train_on_batch(x, y)\n    b.train_on_batch(x, y)\n", id="two models"
        ),
        pytest.param(
            EACH + "    q = a.predict_on_batch(x)\n    a.train_on_batch(x, q)\n", id="an agent"
        ),
        pytest.param("a.train_on_batch(x, y)\n", id="once"),
        pytest.param("for _ in range(3):\n    a.train_on_batch(x, y)\n", id="a try-out"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, MODELS + text) == []
