"""What came of the settings of a script, as a person reads it."""

import io

import pytest

from fixing.tuned_runs import BATCH64, FAST, FASTER, SAME, STEPS32, XLA, tried, watched
from quickfit.fixing.tuned import Tuned
from quickfit.fixing.tuned_text import write_tuned
from quickfit.fixing.tuned_trials import INTERRUPTED, Training, Tried
from stories import story


@pytest.fixture
def shown(tmp_path):
    """Return what is written about settings that were tried."""

    def show(*found, together=None, color=False, encoding=None, training=None, **given):
        told = story(tmp_path, is_interrupted=given.pop("is_interrupted", False))
        training = training or Training(32, 0.1, 100, 300)
        tuned = Tuned(told, watched(**given), training, list(found), together)
        buffer = io.BytesIO()
        stream = io.TextIOWrapper(buffer, encoding=encoding or "utf-8")
        write_tuned(tuned, stream, color=color)
        return buffer.getvalue().decode(encoding or "utf-8")

    return show


def test_the_training_as_it_is_comes_first(shown):
    text = shown(tried(XLA, *SAME, why="gains less than 1.05×"))
    assert "A step of 32 examples takes 100 ms as it is, 300 steps in all." in text
    assert "as it is" in text
    assert "320/s" in text
    assert "600 MB" in text


def test_what_nobody_knows_is_left_out(shown):
    assert "A step of" not in shown(tried(XLA, *FAST), training=Training())
    text = shown(tried(XLA, *FAST), training=Training(batch_s=0.1))
    assert "A step of a batch takes 100 ms as it is." in text


def test_the_losses_say_what_they_are(shown):
    text = shown(tried(XLA, *FAST, loss=(0.51, 0.5)))
    assert "0.9 → 0.5" in text
    assert "loss: of the first batch → the mean over up to 1,024 samples" in text


def test_reasons_stand_below_the_table(shown):
    text = shown(tried(XLA, *FAST), Tried(STEPS32, why="an epoch has only 20 steps"))
    assert "32 steps per call: not tried: an epoch has only 20 steps" in text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (tried(XLA, *SAME, why="no gain"), "Nothing to change: no setting was faster for sure"),
        (tried(XLA, why="not tried: no time"), "Nothing was measured, so that nothing can be"),
        (Tried(XLA, why="on already"), "Nothing can be tried on this script by an edit that is"),
    ],
)
def test_where_nothing_is_advised_it_says_which_kind_of_nothing(shown, found, said):
    assert said in shown(found)


def test_without_a_measurement_there_is_no_table(shown):
    assert "samples/s" not in shown(Tried(XLA, why="on already"))


def test_what_could_not_be_tried_together_is_told(shown):
    text = shown(tried(XLA, *FAST), tried(BATCH64, *FASTER))
    assert "Advised: batch 64 (×2): 2.02×" in text
    assert "XLA (jit_compile): faster too; write this first, then tune again." in text


def test_color_is_for_terminals(shown):
    assert "\x1b[" in shown(tried(XLA, *FAST), color=True)
    assert "\x1b[" not in shown(tried(XLA, *FAST))


def test_a_terminal_without_signs_gets_plain_ones(shown):
    assert "Advised: XLA (jit_compile)" in shown(tried(XLA, *FAST), encoding="ascii")


def test_an_interrupt_before_anything_was_measured_is_not_called_a_lack_of_edits(shown):
    text = shown(Tried(XLA, why=INTERRUPTED), is_interrupted=True)
    assert "XLA (jit_compile): not tried: interrupted" in text
    assert "Nothing was measured before that, so that nothing can be advised." in text
    assert "by an edit that is certain" not in text


def test_the_class_stands_below_the_name(shown):
    text = shown(tried(XLA, *FAST), Tried(STEPS32, why="an epoch has only 20 steps"))
    assert "may-change-results" in text
    assert "--apply writes same-results; the others need --accept and their class." in text


def test_what_was_measured_too_little_is_named_with_the_command_that_decides(shown):
    text = shown(tried(XLA, 3.0, 4.5, why="the time was used up after 2 of 3 pairs"))
    assert "no gain" not in text
    assert "Nothing can be advised yet." in text
    assert "Not decided: XLA (jit_compile) 3." in text
    assert "More time decides:\n    quickfit tune --budget 1200s --only xla train.py\n" in text
