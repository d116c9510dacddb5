"""When a part of the time is large enough to have a name, and what it may gain."""

import pytest

from cut_runs import cut_at_step
from quickfit.account.planned import planned_run_s, planned_weight
from quickfit.causes._shared.large_node import (
    finding_of_loop,
    finding_of_run,
    gain_without,
    is_large,
    line_evidence,
    loop_part,
    run_part,
    share_evidence,
    share_of_run,
    time_evidence,
)
from quickfit.findings import AccountNode, Evidence, Location
from quickfit.signals import Signals
from whole_runs import Seen, whole_run

from builders import recording

PLACE = Location("train.py", 7, "x = f(x)")
EVIDENCE = (Evidence("seconds", 1.0, "s"), Evidence("times", 3, "count"))


def node(name="between", seconds=6.0, low_s=None, children=()):
    low_s = seconds if low_s is None else low_s
    return AccountNode(name, name, seconds, low_s, seconds, 0.0, 3, PLACE, children=children)


def cut_run(after, **facts):
    """Return a run that was ended after some steps, of as many as `fit` was told."""
    made = recording()
    made.main.tables["loops"][0]["facts"] |= facts
    made = cut_at_step(made, after)
    made.main.facts["stopped_early"] = True
    return Signals(made)


@pytest.mark.parametrize(
    ("share", "seconds", "expected"),
    [
        pytest.param(0.10, 3.0, True, id="a tenth"),
        pytest.param(0.09, 59.0, False, id="less than a tenth"),
        pytest.param(0.05, 60.0, True, id="a twentieth that is a minute"),
        pytest.param(0.04, 3600.0, False, id="less than a twentieth, however long"),
    ],
)
def test_a_part_is_large_from(share, seconds, expected):
    assert is_large(share, seconds) is expected


def test_a_loop_that_ended_by_itself_weighs_what_it_took():
    signals = whole_run(before=(Seen(13.5, 6),))
    assert planned_weight(signals) == pytest.approx(0.5)


def test_a_loop_that_was_cut_short_weighs_what_it_would_have_taken():
    signals = cut_run(30, steps=1000, epochs=10)
    # Ten thousand steps of 0.1 s, of which thirty were seen.
    assert planned_run_s(signals) == pytest.approx(1000.0, rel=0.02)
    assert planned_weight(signals) > 0.99


def test_a_loop_of_unknown_length_weighs_more_than_what_was_seen():
    seen = cut_run(30, steps=None, epochs=None)
    assert planned_weight(seen) > planned_weight(whole_run(steps=30))


def test_what_comes_once_does_not_grow_with_the_planned_run():
    signals = cut_run(30, steps=1000, epochs=10)
    fill = node("shuffle_fill", 2.0)
    once, again = node("input_wait", 2.0, children=(fill,)), node("input_wait", 2.0)
    assert share_of_run(signals, once) == pytest.approx(2.0 / planned_run_s(signals))
    assert share_of_run(signals, again) > 50 * share_of_run(signals, once)


def test_a_part_of_the_loop_is_told_when_it_is_large_for_certain():
    signals = whole_run()
    sure = finding_of_loop(signals, node(seconds=6.0), "slow", PLACE, EVIDENCE)
    assert sure.cost_share == pytest.approx(6.0 / 13.5)
    assert sure.claims == ("between",)
    assert sure.is_of_whole
    assert finding_of_loop(signals, node(seconds=6.0, low_s=0.5), "", PLACE, EVIDENCE) is None


def test_a_part_of_the_run_is_told_when_it_is_large_and_worth_a_change():
    signals = whole_run(after=(Seen(4.0, 15),))
    found = finding_of_run(signals, [node(seconds=4.0)], "after", "slow", PLACE, EVIDENCE)
    assert (found.cost_s, found.claims) == (4.0, ("after",))
    short = whole_run(steps=1, epochs=1, with_model=False)
    assert finding_of_run(short, [node(seconds=1.9)], "after", "", PLACE, EVIDENCE) is None


def test_parts_are_found_by_name():
    signals = whole_run(before=(Seen(8.0, 6),))
    assert loop_part(signals, "step").name == "step"
    assert run_part(signals, "before_training").seconds == pytest.approx(8.0)
    assert loop_part(signals, "checkpoint") is None
    assert run_part(signals, "between_loops") is None


def test_nothing_is_found_in_a_recording_without_a_clock():
    signals = Signals(recording(facts={"started_s": None}))
    assert loop_part(signals, "step") is None
    assert run_part(signals, "before_training") is None
    assert share_of_run(signals, node()) == 0.0
    assert finding_of_loop(signals, node(), "", PLACE, EVIDENCE) is None
    assert finding_of_run(signals, [node()], "after", "", PLACE, EVIDENCE) is None


def test_the_gain_is_that_of_a_little_half_and_all_of_it():
    gain = gain_without(0.5)
    assert (gain.low, gain.likely, gain.high) == pytest.approx((1 / 0.95, 1 / 0.75, 2.0))
    assert gain_without(1.0).high == pytest.approx(50.0)


def test_the_largest_line_below_a_part_is_evidence():
    small, large = node("line", 1.0), node("line", 5.0)
    found = line_evidence(node(children=(small, large)))
    assert (found.value, found.where) == (pytest.approx(5 / 6), PLACE)
    assert line_evidence(node()) is None


def test_seconds_and_share_of_the_run_are_evidence():
    assert time_evidence(node(), "in it").detail == "3 times"
    share = share_evidence(whole_run(), 3.1)
    assert share.value == pytest.approx(3.1 / 15.5)
    assert share.detail == "of 16 s"
