"""`checkpoint-too-often`: fires when saving takes a share of the training, whoever saves."""

import pytest

from hand_runs import COMPILED, KERAS, TF, hand_run
from quickfit.causes.host.callback_batch_slow import detect as detect_slow_callback
from quickfit.causes.host.checkpoint_too_often import detect, fix
from quickfit.findings import FixClass

from builders import FIT_LINE, SCRIPT, run

SAVE = (f"{KERAS}/saving/saving_lib.py", "save_model")
MANAGER = (f"{TF}/checkpoint/checkpoint_management.py", "save")
KEEP_LINE, SAVE_LINE = 4, 6
TEXT = """\
import keras

keep = keras.callbacks.ModelCheckpoint(
    "model.keras", save_freq=5
)
model.save("model.keras")
"""


def saving(kind="fit", *, name="ModelCheckpoint", text=TEXT, saves=20, seen=40, **given):
    """Return a run of ten seconds in which each save takes 0.2 s."""
    line = FIT_LINE if kind == "fit" and name == "ModelCheckpoint" else SAVE_LINE
    signals = hand_run(
        kind,
        **{
            "stacks": [((SAVE,), line, seen), ((COMPILED,), FIT_LINE, 100 - seen)],
            "calls": [("save", line, saves, 0.2)] if saves else [],
            "head_line": FIT_LINE,
            "base": {"callback_s": 0.2 * saves / 105},
            **given,
        },
    )
    tables = signals.recording.main.tables
    tables["sources"][0]["text"] = text + "\n" * 10 + "model.fit(ds, epochs=3)\n"
    for row in tables["callbacks"]:
        row["name"], row["file"] = name, None if name == "ModelCheckpoint" else SCRIPT
    return signals


def test_fires_at_the_callback_with_clock_and_samples():
    finding = detect(saving())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == KEEP_LINE - 1
    assert finding.summary == "the model is saved every 5 steps"
    each, between, sampled = finding.evidence
    assert each.value == pytest.approx(0.2)
    assert between.value == pytest.approx(6 / 20, rel=0.01)
    assert sampled.value == pytest.approx(0.4)
    assert finding.is_of_whole
    assert finding.cost_share == pytest.approx(0.4, rel=0.01)
    assert finding.gain.likely == pytest.approx(1 / 0.64, rel=0.01)


@pytest.mark.parametrize("kind", ["fit", "train_on_batch", "custom"])
def test_fires_at_the_line_that_saves_by_hand(kind):
    finding = detect(saving(kind, name="Keep"))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SAVE_LINE


def test_fires_for_a_save_after_each_call_of_fit():
    signals = saving(name="Log", saves=20, base={"callback_s": 0.0002})
    tables = signals.recording.main.tables
    tables["calls"][0]["loop"] = 0
    first = tables["loops"][0]
    first["end_s"] = tables["steps"][50]["end_s"]
    again_s = first["end_s"] + 4.0
    tables["loops"].append({**first, "id": 2, "entered_s": again_s, "begin_s": again_s})
    for row in tables["steps"][51:]:
        row |= {"loop": 2, "begin_s": row["begin_s"] + 4, "end_s": row["end_s"] + 4}
    tables["epochs"] = []
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SAVE_LINE
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.example == 'if round % 10 == 0:\n    model.save("model.keras")'


def seen_only(times=(1004.0, 1006.0, 1008.0), **given):
    stacks = [((MANAGER,), SAVE_LINE, 45), ((COMPILED,), FIT_LINE, 55)]
    signals = saving("custom", saves=0, stacks=stacks, call_s=0.05, **given)
    tables = signals.recording.main.tables
    row = tables["samples"].pop(0)
    each = row["seen"] // len(times)
    tables["samples"] += [{**row, "at_s": at_s, "seen": each} for at_s in times]
    return signals


def test_fires_for_saves_that_only_the_samples_know():
    finding = detect(seen_only())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SAVE_LINE
    assert finding.summary == "the model is saved again and again"
    sampled, outside = finding.evidence
    assert sampled.value == pytest.approx(0.45)
    assert outside.value == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy fit"),
        pytest.param(run(callback_s=0.03), id="a slow callback that does not save"),
        pytest.param(saving(saves=2), id="two saves"),
        pytest.param(saving(saves=4, seen=8), id="a small share of the time"),
        pytest.param(saving(seen=5), id="the samples are elsewhere"),
        pytest.param(saving("custom", facts={"trains": False}), id="a loop that only predicts"),
        pytest.param(seen_only(times=(1005.0,)), id="one long save, seen once"),
        pytest.param(seen_only(step_s=0.051), id="seen, but there was no time for it"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


@pytest.mark.parametrize("name", ["ModelCheckpoint", "Keep"])
def test_a_callback_that_saves_is_not_reported_as_a_slow_one_too(name):
    signals = saving(name=name)
    assert detect(signals) is not None
    assert detect_slow_callback(signals) is None


def test_of_two_callbacks_the_one_that_says_how_often_is_meant():
    text = TEXT + 'last = keras.callbacks.ModelCheckpoint("last.keras")\n'
    finding = detect(saving(text=text))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == KEEP_LINE - 1


def test_with_two_callbacks_alike_the_line_is_that_of_fit():
    text = "keep = [ModelCheckpoint(a), ModelCheckpoint(b)]\n" + "\n" * 5
    finding = detect(saving(text=text))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == FIT_LINE


class TestFix:
    def advice(self, signals):
        finding = detect(signals)
        assert finding is not None
        advice = fix(finding, signals)
        assert advice is not None
        return advice

    def test_multiplies_the_frequency(self):
        advice = self.advice(saving())
        assert advice.before == '"model.keras", save_freq=5'
        assert advice.after == '"model.keras", save_freq=50'
        assert advice.kind is FixClass.SAME_RESULTS

    def test_says_when_the_best_model_may_be_another(self):
        text = 'keep = ModelCheckpoint("m.keras", save_best_only=True)\n' + "\n" * 5
        advice = self.advice(saving(text=text))
        assert advice.kind is FixClass.MAY_CHANGE_RESULTS
        assert "save_freq=50" in advice.example

    def test_guards_a_line_that_saves_by_hand(self):
        advice = self.advice(saving("custom"))
        assert advice.example == 'if step % 50 == 0:\n    model.save("model.keras")'
