"""What is said of a change: from its pairs, its loss, and the steps that are left."""

import math

import pytest

from quickfit.tuning.advice.candidates import Candidate
from quickfit.tuning.advice.pairs import Pair
from quickfit.tuning.advice.rows import Kind, Verdict
from quickfit.tuning.advice.verdicts import (
    INTERRUPTED,
    Tried,
    failure_text,
    row_of,
    verdict_of,
)
from quickfit.tuning.trials.answers import Failure, Learned, TrialFailed
from quickfit.tuning.trials.settings import Setting

XLA = Candidate(Kind.XLA, "XLA", Setting(jit=True))
BATCH = Candidate(Kind.BATCH, "batch 64", Setting(batch=64))


def tried(*gains, candidate=XLA, after=0.5, unchanged=0.5, compile_s=3.0, step_s=0.01):
    """A candidate with one pair for each gain."""
    pairs = [
        Pair(
            gain,
            0.8,
            700_000_000,
            600_000_000,
            compile_s,
            step_s,
            Learned(512, 2.3, after),
            Learned(512, 2.3, unchanged),
        )
        for gain in gains
    ]
    return Tried(candidate, pairs)


@pytest.mark.parametrize(
    ("gains", "verdict", "reason"),
    [
        pytest.param((1.4, 1.42, 1.38), Verdict.ADVISED, "", id="clearly faster"),
        pytest.param((1.06, 1.07, 1.06), Verdict.NO_GAIN, "as little as", id="bound under 1.05"),
        pytest.param((1.0, 1.6, 1.3), Verdict.NOT_DECIDED, "after 3 pairs", id="too noisy"),
        pytest.param((1.02, 1.03, 1.0), Verdict.NO_GAIN, "", id="as fast"),
        pytest.param((0.97,), Verdict.NO_GAIN, "", id="one pair is enough for no gain"),
        pytest.param((0.6,), Verdict.SLOWER, "", id="one pair is enough for slower"),
        pytest.param((1.4,), Verdict.NOT_DECIDED, "measured once only", id="one says little"),
        pytest.param((1.4, 1.4), Verdict.NOT_DECIDED, "measured twice only", id="two say little"),
        pytest.param((), Verdict.NOT_TRIED, "the budget was over", id="never measured"),
    ],
)
def test_the_verdict_goes_by_the_lower_bound_over_three_pairs(gains, verdict, reason):
    found, why = verdict_of(tried(*gains))
    assert found is verdict
    assert reason in why
    assert bool(reason) == bool(why)


@pytest.mark.parametrize("gains", [(), (1.4,)])
def test_why_there_are_no_more_pairs_is_told(gains):
    assert "interrupted" in verdict_of(tried(*gains), ended=INTERRUPTED)[1]
    assert "budget" not in verdict_of(tried(*gains), ended=INTERRUPTED)[1]


def test_what_is_faster_but_learns_less_is_not_advised():
    verdict, why = verdict_of(tried(2.0, 2.0, 2.0, candidate=BATCH, after=0.9))
    assert verdict is Verdict.LEARNS_LESS
    assert "after 512 samples the loss is 0.9, and 0.5 as it is" in why
    assert "higher learning rate" in why


def test_a_loss_that_is_not_a_number_is_worse():
    verdict, why = verdict_of(tried(2.0, 2.0, 2.0, after=math.nan))
    assert verdict is Verdict.LEARNS_LESS
    assert "the loss is not finite" in why
    assert "learning rate" not in why


def test_a_loss_that_is_within_a_tenth_counts_as_the_same():
    assert verdict_of(tried(2.0, 2.0, 2.0, after=0.54))[0] is Verdict.ADVISED


def test_a_loss_below_zero_is_compared_as_well():
    assert verdict_of(tried(2.0, 2.0, 2.0, after=-4.9, unchanged=-5.0))[0] is Verdict.ADVISED
    assert verdict_of(tried(2.0, 2.0, 2.0, after=-4.0, unchanged=-5.0))[0] is Verdict.LEARNS_LESS


def test_compiling_must_pay_within_the_steps_that_are_left():
    # 3 s of compiling, and 5 ms saved on every step.
    change = tried(2.0, 2.0, 2.0)
    assert change.pays_after == 600
    assert verdict_of(change, steps_left=601)[0] is Verdict.ADVISED
    verdict, why = verdict_of(change, steps_left=500)
    assert verdict is Verdict.NO_GAIN
    assert why == "it pays after 600 steps, and you have 500 left"


def test_what_takes_no_longer_to_compile_pays_at_once():
    assert tried(2.0, 2.0, 2.0, compile_s=0.0).pays_after == 0


def test_what_is_slower_never_pays():
    assert tried(0.9).pays_after is None


def test_a_row_tells_memory_and_cpu_beside_the_gain():
    row = row_of(tried(1.4, 1.4, 1.4))
    assert (row.peak_bytes, row.more_bytes) == (700_000_000, 100_000_000)
    assert row.cpu == pytest.approx(0.8)
    assert row.loss.unchanged == 0.5
    assert row.setting == {"jit": True}


def test_of_a_traceback_the_last_line_is_told():
    failure = TrialFailed(
        Failure.ERROR, "Traceback (most recent call last):\n  x\nValueError: no\n"
    )
    assert failure_text(failure) == "error: ValueError: no"


KERAS = """Traceback (most recent call last):
  File "train.py", line 7, in build
    raise e.with_traceback(filtered_tb) from None
ValueError: Exception encountered when calling Sequential.call().

\x1b[1mInput 0 of layer 'dense' is incompatible with the layer\x1b[0m

Arguments received by Sequential.call():
  • mask=None"""


def test_of_an_error_of_keras_what_it_says_is_told():
    assert failure_text(TrialFailed(Failure.ERROR, KERAS)) == (
        "error: ValueError: Exception encountered when calling Sequential.call().:"
        " Input 0 of layer 'dense' is incompatible with the layer"
    )


def test_of_other_texts_the_first_line_is_told_and_no_more_than_one_reads():
    failure = TrialFailed(Failure.OUT_OF_MEMORY, f"memory ran out {'x' * 999}\nIt wrote last:\nz")
    text = failure_text(failure)
    assert text.startswith("out of memory: memory ran out")
    assert len(text) < 310


def test_a_failure_without_words_is_told_by_its_kind():
    assert failure_text(TrialFailed(Failure.HUNG, "")) == "hung"
    change = tried(1.4)
    change.failure = TrialFailed(Failure.HUNG, "no sign of life")
    assert verdict_of(change) == (Verdict.FAILED, "hung: no sign of life")
