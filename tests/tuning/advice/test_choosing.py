"""Choosing: rivals of one kind, and winners in one."""

from quickfit.tuning.advice.candidates import Candidate
from quickfit.tuning.advice.choosing import Choosing, joined
from quickfit.tuning.advice.pairs import Pair
from quickfit.tuning.advice.rows import Kind, Verdict
from quickfit.tuning.advice.verdicts import Tried
from quickfit.tuning.trials.answers import Ready
from quickfit.tuning.trials.settings import Setting

XLA = Candidate(Kind.XLA, "XLA", Setting(jit=True))
EIGHT = Candidate(Kind.STEPS, "8 steps", Setting(steps_per_execution=8))
MANY = Candidate(Kind.STEPS, "32 steps", Setting(steps_per_execution=32))
TWICE = Candidate(Kind.BATCH, "batch 64", Setting(batch=64))
FOURFOLD = Candidate(Kind.BATCH, "batch 128", Setting(batch=128))
READY = Ready(32, 1024, 0.1, 0.5, 0.01, 1234, 400)


def choosing(**gains):
    """All candidates with three pairs of a gain each."""
    known = {"xla": XLA, "eight": EIGHT, "many": MANY, "twice": TWICE, "fourfold": FOURFOLD}
    found = Choosing()
    for name, gain in gains.items():
        pair = Pair(gain, 1.0, 500, 500, 0.0, 0.01)
        found.tried[known[name]] = Tried(known[name], [pair] * 3)
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
    assert joined(found.winners(), READY) is None


def test_winners_in_one_have_everything_that_each_changes():
    together = joined([XLA, EIGHT, TWICE], READY)
    assert together.setting == Setting(jit=True, steps_per_execution=8, batch=64)
    assert together.name == "XLA + 8 steps + batch 64"


def test_steps_that_no_longer_fit_an_epoch_are_left_out():
    assert joined([XLA, MANY, FOURFOLD], READY).setting == Setting(jit=True, batch=128)
    assert joined([MANY, FOURFOLD], READY) is None


def test_one_winner_is_not_combined():
    assert joined([XLA], READY) is None


def test_a_combination_that_was_not_tried_leaves_the_others_untold():
    found = choosing(xla=1.5, eight=1.3)
    found.add_together(joined([XLA, EIGHT], READY))
    row = rows(found)["8 steps"]
    assert row.verdict is Verdict.NOT_DECIDED
    assert row.reason == "faster alone; together with XLA it was not tried: the budget was over"
    assert rows(found)["XLA"].verdict is Verdict.ADVISED


def test_a_part_that_does_not_fit_the_combination_is_told():
    found = choosing(xla=1.2, many=1.3, fourfold=1.9)
    together = joined(found.winners(), READY)
    found.add_together(together)
    found.tried[together].pairs += [Pair(2.5, 1.0, 500, 500, 0.0, 0.01)] * 3
    assert found.best() == together
    assert rows(found)["32 steps"].reason == "it does not fit XLA + batch 128"
    assert rows(found)["XLA"].verdict is Verdict.ADVISED
