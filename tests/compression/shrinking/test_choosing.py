"""The candidate to use, and the last word on it."""

from compression.shrinking.rows_builder import row
from quickfit.compression.shrinking.choosing import MOST_JUDGED, chosen_from, ranking
from quickfit.compression.shrinking.rows import ORIGINAL, Verdict
from quickfit.compression.shrinking.targets import Target, target_of

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
    choice = chosen_from([FIRST, SLOW, FAST, MIDDLE], Target(), Judge())
    assert choice.chosen == "fast"
    assert [one.verdict for one in choice.rows][2] is Verdict.CHOSEN
    assert choice.rows[0].held_out == 0.95


def test_of_those_that_are_as_fast_the_smaller_is_chosen():
    twin = row("twin", 0.95, 0.000104, 20_000)
    assert chosen_from([FIRST, FAST, twin], Target(), Judge()).chosen == "twin"


def test_with_demands_the_most_accurate_that_meets_them_is_chosen():
    target = target_of("2x faster")
    assert chosen_from([FIRST, SLOW, FAST, MIDDLE], target, Judge()).chosen == "middle"
    assert [
        one.name for one in ranking([FIRST, SLOW, FAST], FIRST.figures, target, for_training=False)
    ] == ["fast"]


def test_unseen_samples_have_the_last_word():
    judge = Judge(fast=0.90)
    choice = chosen_from([FIRST, SLOW, FAST, MIDDLE], Target(), judge)
    assert choice.chosen == "middle"
    assert judge.asked == [ORIGINAL, "fast", "middle"]
    assert choice.rows[2].reason == (
        "on samples that nothing has seen it loses 5.0 points; 1 allowed"
    )


def test_an_accuracy_that_is_asked_for_is_asked_of_unseen_samples_too():
    choice = chosen_from([FIRST, FAST], target_of("accuracy at least 94 %"), Judge(fast=0.90))
    assert choice.chosen is None
    assert choice.rows[1].reason.endswith("it is right for 90.0%; 94.0% is asked for")


def test_only_a_few_are_asked_about():
    rows = [row(f"c{n}", 0.95, 0.0001 * (n + 1)) for n in range(8)]
    judge = Judge(**{one.name: 0.5 for one in rows})
    choice = chosen_from([FIRST, *rows], Target(), judge)
    assert choice.chosen is None
    assert len(judge.asked) == 1 + MOST_JUDGED
    assert "c0, c1, c2 did well on the samples to choose by" in choice.notes[0]


def test_where_nothing_is_accepted_nobody_is_asked():
    judge = Judge()
    lost = row("lost", 0.5, verdict=Verdict.REJECTED)
    choice = chosen_from([FIRST, lost], Target(), judge)
    assert (choice.chosen, judge.asked) == (None, [])
    assert "no candidate is better than the original" in choice.notes[0]


def test_where_nothing_reaches_the_target_the_nearest_is_named():
    choice = chosen_from([FIRST, SLOW], target_of("100x faster, half the size"), Judge())
    assert choice.chosen is None
    assert "The nearest is slow (100× faster: 1.25× as fast, 800 µs)." in choice.notes[0]


def test_for_training_the_step_counts():
    quick = row("quick", 0.95, 0.1, step_s=0.001)
    choice = chosen_from([FIRST, FAST, quick], Target(), Judge(), for_training=True)
    assert choice.chosen == "quick"


def test_the_smallest_is_chosen_where_that_is_asked_for():
    target = target_of("as small as possible, at most 2 points")
    assert chosen_from([FIRST, SLOW, FAST, MIDDLE], target, Judge()).chosen == "slow"


def test_the_fastest_that_meets_the_demands_is_chosen_where_that_is_asked_for():
    target = target_of("half the size, as fast as possible")
    assert chosen_from([FIRST, SLOW, FAST, MIDDLE], target, Judge()).chosen == "fast"
