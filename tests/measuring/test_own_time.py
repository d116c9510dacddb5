"""The clock of a program that is let run in turns, and its pace by that clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.measuring.interleave import SETTLE_S
from quickfit.measuring.own_time import OwnTime, Window, window

LENGTHS = st.lists(
    st.tuples(st.floats(0.2, 3.0), st.floats(0.0, 3.0)), min_size=1, max_size=8
)  # of turns and of the pauses behind them


def turns(lengths, at_s=100.0):
    spans = []
    for run_s, pause_s in lengths:
        spans.append([at_s, at_s + run_s])
        at_s += run_s + pause_s
    return spans


def test_it_stands_still_while_the_program_is_stopped():
    clock = OwnTime([[10.0, 12.0], [15.0, 18.0]])
    assert clock.at(11.0) == 1.0
    assert clock.at(12.0) == clock.at(13.0) == clock.at(15.0) == 2.0
    assert clock.at(16.5) == 3.5
    assert clock.total_s == clock.at(18.0) == clock.at(99.0) == 5.0


def test_before_the_first_turn_it_is_zero():
    assert OwnTime([[10.0, 12.0]]).at(9.0) == 0.0
    assert OwnTime([]).at(9.0) == 0.0


def test_a_turn_that_is_not_over_does_not_count():
    assert OwnTime([[10.0, 12.0], [15.0]]).total_s == 2.0


@given(LENGTHS, st.floats(0, 40), st.floats(0, 40))
def test_it_never_goes_back_nor_faster_than_the_common_clock(lengths, first, second):
    clock = OwnTime(turns(lengths))
    early, late = sorted((100.0 + first, 100.0 + second))
    assert -1e-9 <= clock.at(late) - clock.at(early) <= late - early + 1e-9


@given(LENGTHS)
def test_its_total_is_the_sum_of_the_turns(lengths):
    assert OwnTime(turns(lengths)).total_s == pytest.approx(sum(run_s for run_s, _ in lengths))


def test_the_first_moments_of_each_turn_but_the_first_settle():
    clock = OwnTime([[0.0, 2.0], [5.0, 5.0 + SETTLE_S / 2], [9.0, 10.0]])
    settling = clock.settling()
    assert settling[0] == (2.0, 2.0 + SETTLE_S / 2)
    assert settling[1] == pytest.approx((2.0 + SETTLE_S / 2, 2.0 + SETTLE_S * 1.5))


@given(LENGTHS, st.floats(0.01, 0.5))
def test_an_even_pace_is_found_however_the_turns_are_cut(lengths, step_s):
    spans = turns(lengths)
    clock = OwnTime(spans)
    marks = []
    steps = int(clock.total_s / step_s)
    for number in range(1, steps + 1):
        own_s = number * step_s
        marks.append((common(spans, own_s), float(number)))
    found = window(clock, marks)
    if found is not None:
        assert found.pace_s == pytest.approx(step_s, rel=1e-6)


def common(spans, own_s):
    """Return the moment of the common clock at an own time."""
    for begin_s, end_s in spans:
        if own_s <= end_s - begin_s:
            return begin_s + own_s
        own_s -= end_s - begin_s
    return spans[-1][1]


def test_a_pause_between_steps_counts_in_full_when_a_stop_cuts_it():
    # One unit of work in the first second, then a pause of two that a stop of ten cuts in half.
    clock = OwnTime([[0.0, 2.0], [12.0, 14.0]])
    marks = [(0.0, 0.0), (1.0, 1.0), (13.0, 2.0), (14.0, 3.0)]
    found = window(clock, marks)
    assert found.own_s == pytest.approx(4.0 - SETTLE_S)
    assert found.progress == pytest.approx(3.0 - SETTLE_S / 2)


def test_slow_first_moments_of_a_turn_do_not_count():
    # Nothing is done while a turn settles, then a step each tenth of a second.
    step_s, spans, marks = 0.1, [], []
    done, at_s = 0, 0.0
    for turn in range(4):
        begin_s, at_s = at_s, at_s + (SETTLE_S if turn else 0.0)
        marks.append((at_s, float(done)))
        for _ in range(9):
            at_s += step_s
            done += 1
            marks.append((at_s, float(done)))
        spans.append([begin_s, at_s])
        at_s += 1.0
    assert window(OwnTime(spans), marks).pace_s == pytest.approx(step_s)


@pytest.mark.parametrize(
    "marks",
    [
        pytest.param([], id="no mark"),
        pytest.param([(1.0, 1.0)], id="one mark"),
        pytest.param([(2.5, 1.0), (2.8, 2.0)], id="all while it was stopped"),
        pytest.param([(0.5, 3.0), (1.5, 3.0)], id="no progress"),
        pytest.param([(3.0, 1.0), (3.0 + SETTLE_S, 2.0)], id="all while a turn settled"),
    ],
)
def test_where_there_is_nothing_to_measure_there_is_no_window(marks):
    assert window(OwnTime([[0.0, 2.0], [3.0, 5.0]]), marks) is None


def test_a_pace_is_seconds_for_one_unit():
    assert Window(progress=4.0, own_s=2.0).pace_s == 0.5
