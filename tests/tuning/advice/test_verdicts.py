"""What is said of a change: from its pairs, its loss, and the steps that are left."""

import math

import pytest

from quickfit.lab.statistics import interval
from quickfit.lab.verdict import judge_gain
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind, ChangeVerdict, LossChange
from quickfit.tuning.advice.rounds import join_settings
from quickfit.tuning.advice.verdicts import (
    INTERRUPTED,
    AdviceChoice,
    Measurement,
    TriedCandidate,
    tried_row,
    tried_verdict,
)
from quickfit.tuning.trials.settings import (
    Setting,
    TrialReady,
)

XLA = ChangeCandidate(ChangeKind.XLA, "XLA", Setting(jit=True))
BATCH = ChangeCandidate(ChangeKind.BATCH, "batch 64", Setting(batch=64))


def tried(*gains, candidate=XLA, after=0.5, unchanged=0.5, compile_s=3.0, step_s=0.01):
    """A candidate with one pair for each gain."""
    if not gains:
        return TriedCandidate(candidate)
    loss = LossChange(512, 2.3, after, unchanged)
    return TriedCandidate(
        candidate,
        Measurement(
            interval(gains),
            judge_gain(gains),
            cpu=0.8,
            peak_bytes=700_000_000,
            more_bytes=100_000_000,
            compile_s=compile_s,
            step_s=step_s,
            loss=loss,
        ),
    )


@pytest.mark.parametrize(
    ("gains", "verdict", "reason"),
    [
        pytest.param((1.4, 1.42, 1.38), ChangeVerdict.ADVISED, "", id="clearly faster"),
        pytest.param(
            (1.06, 1.07, 1.06), ChangeVerdict.NO_GAIN, "as little as", id="bound under 1.05"
        ),
        pytest.param((1.0, 1.6, 1.3), ChangeVerdict.NOT_DECIDED, "after 3 pairs", id="too noisy"),
        pytest.param(
            (0.6, 1.0, 6.0), ChangeVerdict.NOT_DECIDED, "differ too much", id="says nothing"
        ),
        pytest.param((1.02, 1.03, 1.0), ChangeVerdict.NO_GAIN, "", id="as fast"),
        pytest.param((0.97,), ChangeVerdict.NO_GAIN, "", id="one pair is enough for no gain"),
        pytest.param((0.6,), ChangeVerdict.SLOWER, "", id="one pair is enough for slower"),
        pytest.param((1.4,), ChangeVerdict.NOT_DECIDED, "measured once only", id="one says little"),
        pytest.param((1.4, 1.4), ChangeVerdict.ADVISED, "", id="two that agree are enough"),
        pytest.param(
            (1.2, 1.2), ChangeVerdict.NOT_DECIDED, "measured twice only", id="two say little"
        ),
        pytest.param((), ChangeVerdict.NOT_TRIED, "the budget was over", id="never measured"),
    ],
)
def test_the_verdict_goes_by_the_lower_bound_over_pairs(gains, verdict, reason):
    found, why = tried_verdict(tried(*gains))
    assert found is verdict
    assert reason in why
    assert bool(reason) == bool(why)


@pytest.mark.parametrize("gains", [(), (1.4,)])
def test_why_there_are_no_more_pairs_is_told(gains):
    assert "interrupted" in tried_verdict(tried(*gains), ended=INTERRUPTED)[1]
    assert "budget" not in tried_verdict(tried(*gains), ended=INTERRUPTED)[1]


def test_what_is_faster_but_learns_less_is_not_advised():
    verdict, why = tried_verdict(tried(2.0, 2.0, 2.0, candidate=BATCH, after=0.9))
    assert verdict is ChangeVerdict.LEARNS_LESS
    assert "after 512 samples the loss is 0.9, and 0.5 as it is" in why
    assert "higher learning rate" in why


def test_a_loss_that_is_not_a_number_is_worse():
    verdict, why = tried_verdict(tried(2.0, 2.0, 2.0, after=math.nan))
    assert verdict is ChangeVerdict.LEARNS_LESS
    assert "the loss is not finite" in why
    assert "learning rate" not in why


def test_a_loss_that_is_within_a_tenth_counts_as_the_same():
    assert tried_verdict(tried(2.0, 2.0, 2.0, after=0.54))[0] is ChangeVerdict.ADVISED


def test_a_loss_below_zero_is_compared_as_well():
    assert (
        tried_verdict(tried(2.0, 2.0, 2.0, after=-4.9, unchanged=-5.0))[0] is ChangeVerdict.ADVISED
    )
    assert (
        tried_verdict(tried(2.0, 2.0, 2.0, after=-4.0, unchanged=-5.0))[0]
        is ChangeVerdict.LEARNS_LESS
    )


def test_compiling_must_pay_within_the_steps_that_are_left():
    # 3 s of compiling, and 5 ms saved on every step.
    change = tried(2.0, 2.0, 2.0)
    assert change.measured.pays_after == 600
    assert tried_verdict(change, steps_left=601)[0] is ChangeVerdict.ADVISED
    verdict, why = tried_verdict(change, steps_left=500)
    assert verdict is ChangeVerdict.NO_GAIN
    assert why == "it pays after 600 steps, and you have 500 left"


def test_what_takes_no_longer_to_compile_pays_at_once():
    assert tried(2.0, 2.0, 2.0, compile_s=0.0).measured.pays_after == 0


def test_what_is_slower_never_pays():
    assert tried(0.9).measured.pays_after is None


def test_a_row_tells_memory_and_cpu_beside_the_gain():
    row = tried_row(tried(1.4, 1.4, 1.4))
    assert (row.peak_bytes, row.more_bytes) == (700_000_000, 100_000_000)
    assert row.cpu == pytest.approx(0.8)
    assert row.loss.unchanged == 0.5
    assert row.setting == {"jit": True}


def test_a_failure_is_the_reason_of_its_verdict():
    change = tried(1.4)
    change.failure = "hung: no sign of life"
    assert tried_verdict(change) == (ChangeVerdict.FAILED, "hung: no sign of life")


EIGHT = ChangeCandidate(ChangeKind.STEPS, "8 steps", Setting(steps_per_execution=8))
MANY = ChangeCandidate(ChangeKind.STEPS, "32 steps", Setting(steps_per_execution=32))
TWICE = ChangeCandidate(ChangeKind.BATCH, "batch 64", Setting(batch=64))
FOURFOLD = ChangeCandidate(ChangeKind.BATCH, "batch 128", Setting(batch=128))
READY = TrialReady(32, 1024, 0.1, 0.5, 0.01, 1234, 400)


def thrice(gain):
    return Measurement(interval([gain] * 3), judge_gain([gain] * 3), 1.0, 500, 0, 0.0, 0.01)


def choosing(**gains):
    """All candidates with three pairs of a gain each."""
    known = {"xla": XLA, "eight": EIGHT, "many": MANY, "twice": TWICE, "fourfold": FOURFOLD}
    found = AdviceChoice()
    for name, gain in gains.items():
        found.tried[known[name]] = TriedCandidate(known[name], thrice(gain))
    return found


def rows(found):
    return {row.name: row for row in found.rows()}


def test_who_is_far_behind_another_of_its_kind_is_given_up_and_told_so():
    found = choosing(eight=1.3, many=1.5, twice=1.3, fourfold=1.9)
    assert found.rivals(list(found.tried)) == [MANY, TWICE, FOURFOLD]
    assert found.tried[EIGHT].reason == "32 steps was ahead when both ran side by side"


def test_who_is_near_stays():
    found = choosing(eight=1.48, many=1.5)
    assert found.rivals([EIGHT, MANY]) == [EIGHT, MANY]


def test_winners_are_the_best_of_each_kind():
    found = choosing(xla=1.2, eight=1.5, many=1.4, twice=1.01)
    assert found.winners() == [EIGHT, XLA]
    assert found.best() == EIGHT


def test_without_a_gain_nothing_is_best():
    found = choosing(xla=1.01)
    assert found.best() is None
    assert join_settings(found.winners(), READY) is None


def test_winners_in_one_have_everything_that_each_changes():
    together = join_settings([XLA, EIGHT, TWICE], READY)
    assert together.setting == Setting(jit=True, steps_per_execution=8, batch=64)
    assert together.name == "XLA + 8 steps + batch 64"


def test_steps_that_no_longer_fit_an_epoch_are_left_out():
    assert join_settings([XLA, MANY, FOURFOLD], READY).setting == Setting(jit=True, batch=128)
    assert join_settings([MANY, FOURFOLD], READY) is None


def test_one_winner_is_not_combined():
    assert join_settings([XLA], READY) is None


def test_a_combination_that_was_not_tried_leaves_the_others_untold():
    found = choosing(xla=1.5, eight=1.3)
    found.together = join_settings([XLA, EIGHT], READY)
    found.add([found.together])
    row = rows(found)["8 steps"]
    assert row.verdict is ChangeVerdict.NOT_DECIDED
    assert row.reason == "faster alone; together with XLA it was not tried: the budget was over"
    assert rows(found)["XLA"].verdict is ChangeVerdict.ADVISED


def test_a_part_that_does_not_fit_the_combination_is_told():
    found = choosing(xla=1.2, many=1.3, fourfold=1.9)
    together = join_settings(found.winners(), READY)
    found.together = together
    found.add([together])
    found.tried[together].measured = thrice(2.5)
    assert found.best() == together
    assert rows(found)["32 steps"].reason == "it does not fit XLA + batch 128"
    assert rows(found)["XLA"].verdict is ChangeVerdict.ADVISED


def test_parts_of_what_is_advised_are_those_that_fit_in_the_order_of_trying():
    found = choosing(xla=1.2, many=1.3, fourfold=1.9)
    assert found.parts() == [FOURFOLD]
    found.together = join_settings(found.winners(), READY)
    found.add([found.together])
    found.tried[found.together].measured = thrice(2.5)
    assert found.parts() == [XLA, FOURFOLD]


@pytest.mark.parametrize(
    ("gains", "candidate", "why"),
    [
        ({"many": 1.5}, EIGHT, "32 steps, which saves more calls, gains already"),
        ({"many": 1.0}, EIGHT, "32 steps gain nothing, and fewer gain less"),
        ({"twice": 0.8}, FOURFOLD, "batch 64 is no faster"),
        ({"twice": 1.5}, FOURFOLD, ""),
        ({"twice": 1.01}, FOURFOLD, ""),
        ({"xla": 0.8}, EIGHT, ""),
    ],
)
def test_what_another_of_its_kind_has_answered_is_spared(gains, candidate, why):
    assert choosing(**gains).why_spared(candidate) == why


def test_a_batch_that_learns_less_spares_the_larger_one():
    found = AdviceChoice()
    found.tried[TWICE] = tried(1.5, 1.5, 1.5, candidate=TWICE, after=0.9)
    assert found.why_spared(FOURFOLD) == "batch 64 learns less from the same examples already"
