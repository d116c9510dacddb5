"""The candidate to use, and the last word on it."""

from itertools import permutations
from pathlib import Path

import pytest

from compression.shrinking.rows_builder import figures, row
from quickfit.compression.shrinking.result import (
    ORIGINAL,
    CandidateFigures,
    CandidateKind,
    CandidateRow,
    CandidateVerdict,
)
from quickfit.compression.shrinking.selection import (
    MOST_JUDGED,
    choose_row,
    int8_remark,
    judge_row,
    missed_demands,
    rank_rows,
    with_front,
    with_weights,
)
from quickfit.compression.shrinking.targets import Target, target_of
from quickfit.compression.weighing.comparison import CALL, LITERT, TimedTurn, Timing, Weight

FIRST = row(ORIGINAL, 0.95, 0.001, 100_000)
SLOW = row("slow", 0.950, 0.0008, 10_000)
FAST = row("fast", 0.941, 0.0001, 50_000)
MIDDLE = row("middle", 0.945, 0.0004, 40_000)


class Judge:
    """Answers from a list, and remembers who was asked about."""

    def __init__(self, **marks):
        self.marks, self.asked = marks, []

    def __call__(self, one):
        self.asked.append(one.name)
        return self.marks.get(one.name, 0.95)


def test_without_demands_the_fastest_is_chosen():
    choice = choose_row([FIRST, SLOW, FAST, MIDDLE], Target(), Judge())
    assert choice.chosen == "fast"
    assert [one.verdict for one in choice.rows][2] is CandidateVerdict.CHOSEN
    assert choice.rows[0].held_out == 0.95


def test_of_those_that_are_as_fast_the_smaller_is_chosen():
    twin = row("twin", 0.95, 0.000104, 20_000)
    assert choose_row([FIRST, FAST, twin], Target(), Judge()).chosen == "twin"


def test_with_demands_the_most_accurate_that_meets_them_is_chosen():
    target = target_of("2x faster")
    assert choose_row([FIRST, SLOW, FAST, MIDDLE], target, Judge()).chosen == "middle"
    assert [
        one.name
        for one in rank_rows([FIRST, SLOW, FAST], FIRST.figures, target, for_training=False)
    ] == ["fast"]


def test_unseen_samples_have_the_last_word():
    judge = Judge(fast=0.90)
    choice = choose_row([FIRST, SLOW, FAST, MIDDLE], Target(), judge)
    assert choice.chosen == "middle"
    assert judge.asked == [ORIGINAL, "fast", "middle"]
    assert choice.rows[2].reason == (
        "on samples that nothing has seen it loses 5.0 points; 1 allowed"
    )


def test_an_accuracy_that_is_asked_for_is_asked_of_unseen_samples_too():
    choice = choose_row([FIRST, FAST], target_of("accuracy at least 94 %"), Judge(fast=0.90))
    assert choice.chosen is None
    assert choice.rows[1].reason.endswith("it is right for 90.0%; 94.0% is asked for")


def test_only_a_few_are_asked_about():
    rows = [row(f"c{n}", 0.95, 0.0001 * (n + 1)) for n in range(8)]
    judge = Judge(**{one.name: 0.5 for one in rows})
    choice = choose_row([FIRST, *rows], Target(), judge)
    assert choice.chosen is None
    assert len(judge.asked) == 1 + MOST_JUDGED
    assert "c0, c1, c2 did well on the samples to choose by" in choice.notes[0]


def test_where_nothing_is_accepted_nobody_is_asked():
    judge = Judge()
    lost = row("lost", 0.5, verdict=CandidateVerdict.REJECTED)
    choice = choose_row([FIRST, lost], Target(), judge)
    assert (choice.chosen, judge.asked) == (None, [])
    assert "no candidate is better than the original" in choice.notes[0]


def test_where_nothing_reaches_the_target_the_nearest_is_named():
    choice = choose_row([FIRST, SLOW], target_of("100x faster, half the size"), Judge())
    assert choice.chosen is None
    assert "The nearest is slow (100× faster: 1.25× as fast, 800 µs)." in choice.notes[0]


def test_for_training_the_step_counts():
    quick = row("quick", 0.95, 0.1, step_s=0.001)
    choice = choose_row([FIRST, FAST, quick], Target(), Judge(), for_training=True)
    assert choice.chosen == "quick"


def test_the_smallest_is_chosen_where_that_is_asked_for():
    target = target_of("as small as possible, at most 2 points")
    assert choose_row([FIRST, SLOW, FAST, MIDDLE], target, Judge()).chosen == "slow"


def test_the_fastest_that_meets_the_demands_is_chosen_where_that_is_asked_for():
    target = target_of("half the size, as fast as possible")
    assert choose_row([FIRST, SLOW, FAST, MIDDLE], target, Judge()).chosen == "fast"


BASE = figures(0.95, 0.001, 100_000)


def verdict(one, target=None, *, for_training=False):
    return judge_row(one, BASE, target or Target(), for_training=for_training)


def test_faster_or_smaller_is_enough():
    for one in (row("a", 0.95, 0.0009), row("a", 0.95, 0.001, 90_000)):
        assert verdict(one).verdict is CandidateVerdict.ACCEPTED


@pytest.mark.parametrize("share", [0.95, 1.0, 1.3])
def test_neither_faster_nor_smaller_is_rejected(share):
    found = verdict(row("a", 0.95, 0.001 * share, int(100_000 * share)))
    assert found.verdict is CandidateVerdict.REJECTED
    assert found.reason == (
        f"neither faster nor smaller: {share:.2f} of the time, {share:.2f} of the size"
    )


def test_for_training_only_the_step_counts():
    slow = verdict(row("a", 0.95, 0.0001, 10, step_s=0.021), for_training=True)
    assert slow.reason == "not faster: 1.05 of the time of a step"
    assert verdict(row("a", step_s=0.01), for_training=True).verdict is CandidateVerdict.ACCEPTED


def test_for_training_a_device_that_makes_it_slower_is_warned_of():
    slow = verdict(row("a", step_s=0.026, flops=180_000), for_training=True)
    assert slow.verdict is CandidateVerdict.REJECTED
    assert slow.reason == (
        "slower on this device: a training step takes 1.3× as long, with 18 % of the operations"
    )


def test_too_much_loss_is_rejected():
    found = verdict(row("a", 0.92, 0.0001))
    assert (found.verdict, found.reason) == (
        CandidateVerdict.REJECTED,
        "loses 3.0 points; 1 allowed",
    )
    assert verdict(row("a", 0.949, 0.0001), target_of("no loss")).reason == (
        "loses 0.1 points; none allowed"
    )
    assert verdict(row("a", 0.89, 0.0001), target_of("accuracy at least 90 %")).reason == (
        "right for 89.0%; 90.0% is asked for"
    )


def test_a_smaller_one_that_is_slower_is_accepted_and_said():
    found = verdict(row("a", 0.95, 0.002, 10_000))
    assert found.verdict is CandidateVerdict.ACCEPTED
    assert found.reason == (
        "smaller, but slower here: 2.0× as long for a batch of 1, 2.0× as long for a batch of 64"
    )


def test_what_is_not_there_stays_so():
    missing = CandidateRow("a", "x", verdict=CandidateVerdict.NOT_MADE, reason="no time")
    assert verdict(missing) == missing
    assert verdict(CandidateRow("a", "x")).verdict is CandidateVerdict.NOT_MEASURED
    assert verdict(row(ORIGINAL)).verdict is CandidateVerdict.ORIGINAL


def test_demands_that_are_missed_are_told_with_what_was_reached():
    target = target_of("2x faster, half the size, half the flops")
    found = missed_demands(row("a", 0.95, 0.0008, 40_000), BASE, target, for_training=False)
    assert found == [
        "2.0× faster: 1.25× as fast, 800 µs",
        "2.0× fewer flops: 1,000,000, 100 % of the original's",
    ]
    assert missed_demands(
        CandidateRow("a", "x"), BASE, target_of("half the size"), for_training=False
    ) == ["2.0× smaller: not known"]


def front(*rows, **options):
    return {one.name for one in with_front(rows, **options) if one.is_on_front}


def test_who_is_beaten_in_every_respect_is_not_on_it():
    best = row("best", 0.95, 0.001, 10)
    assert front(best, row("worse", 0.94, 0.002, 20)) == {"best"}
    assert front(best, row("smaller", 0.90, 0.002, 5)) == {"best", "smaller"}
    assert front(best, row("faster", 0.90, 0.0005, 20)) == {"best", "faster"}
    assert front(best, row("more accurate", 0.96, 0.1, 2000)) == {"best", "more accurate"}


def test_times_within_a_few_percent_are_the_same():
    assert front(row("big", 0.95, 0.00100, 20), row("small", 0.95, 0.00104, 10)) == {"small"}
    assert front(row("big", 0.95, 0.00100, 20), row("small", 0.95, 0.00110, 10)) == {"big", "small"}


def test_of_equals_one_is_on_it():
    assert front(row("one"), row("two")) == {"one"}


@pytest.mark.parametrize("order", list(permutations([1.10, 1.05, 1.00])))
def test_no_three_beat_each_other_in_a_circle(order):
    rows = [row(str(time), 0.95, 0.0, step_s=time) for time in order]
    assert front(*rows, for_training=True) == {"1.0"}


def test_for_training_the_step_counts_and_the_size_does_not():
    slow = row("slow", 0.95, 0.001, 5, step_s=0.02)
    fast = row("fast", 0.95, 0.009, 50, step_s=0.01)
    assert front(slow, fast, for_training=True) == {"fast"}
    assert front(slow, fast) == {"slow"}


def test_what_was_not_measured_is_not_on_it():
    missing = CandidateRow("missing", "x", verdict=CandidateVerdict.NOT_MADE)
    assert front(row("one"), missing, CandidateRow("unmeasured", "x")) == {"one"}


def timing(time_s):
    return Timing((TimedTurn(time_s, time_s, time_s), TimedTurn(time_s, time_s, time_s)))


def keras(time_s, flops=1000, **other):
    latency = {CALL: {1: timing(time_s), 64: timing(10 * time_s)}}
    return Weight(500, 100, 400, flops, latency=latency, step=timing(3 * time_s), **other)


def litert(time_s, **other):
    return Weight(200, latency={LITERT: {1: timing(time_s), 64: timing(10 * time_s)}}, **other)


def test_a_file_has_the_operations_of_the_model_that_it_was_made_from():
    rows = [
        CandidateRow("original", "x", figures=CandidateFigures(accuracy=0.9)),
        CandidateRow(
            "original-int8",
            "x",
            CandidateKind.LITERT,
            "original",
            CandidateFigures(accuracy=0.8),
            path=Path("a"),
        ),
        CandidateRow("missing", "x", verdict=CandidateVerdict.NOT_MADE),
    ]
    weights = {"original": keras(0.01), "original-int8": litert(0.001)}
    original, file, missing = with_weights(rows, weights)
    assert original.figures == CandidateFigures(0.9, 100, 1000, 500, 0.03, {1: 0.01, 64: 0.1})
    assert file.figures == CandidateFigures(0.8, 100, 1000, 200, None, {1: 0.001, 64: 0.01})
    assert missing == rows[2]


def test_a_model_with_fewer_operations_that_is_no_faster_is_told_about():
    rows = [CandidateRow("original", "x"), CandidateRow("pruned-50", "x")]
    weights = {"original": keras(0.01), "pruned-50": keras(0.02, flops=250)}
    original, pruned = with_weights(rows, weights)
    assert not original.notes
    assert "2.0× slower than 'original' here" in pruned.notes[0]


def test_int8_is_told_about_once_by_the_files_of_the_original():
    weights = {
        "original-float32": litert(0.001),
        "original-int8": litert(0.002, is_int8=True),
        "pruned-50-int8": litert(0.0001, is_int8=True),
    }
    one, many = int8_remark(weights)
    assert one.startswith("A batch of 1: int8 is 2.0× slower than float32 on this CPU")
    assert many.startswith("A batch of 64: ")
    assert int8_remark({"original": keras(0.01)}) == ()
