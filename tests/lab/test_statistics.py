"""Intervals with the pair as the unit, the clock of a program that runs in turns, and trends."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.lab.statistics import (
    MEAN,
    MEDIAN,
    MIN_SPREAD,
    OwnTime,
    Window,
    blocks_of,
    interval,
    looks,
    mann_kendall,
    merged,
    slope,
    trend,
    window,
)
from quickfit.lab.turns import SETTLE_S

RATIOS = st.lists(st.floats(0.2, 5.0), min_size=2, max_size=8)


@given(RATIOS)
def test_the_mean_lies_within_the_interval_and_between_the_ratios(ratios):
    found = interval(ratios)
    assert found.low < found.mean < found.high
    assert min(ratios) * 0.999 <= found.mean <= max(ratios) * 1.001
    assert found.pairs == len(ratios)


@given(RATIOS)
def test_faster_and_slower_are_treated_alike(ratios):
    one, other = interval(ratios), interval([1 / ratio for ratio in ratios])
    assert one.mean == pytest.approx(1 / other.mean)
    assert one.low == pytest.approx(1 / other.high)


@given(RATIOS)
def test_a_widened_interval_holds_the_other(ratios):
    narrow, wide = interval(ratios), interval(ratios, widened=2.0)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.mean == narrow.mean


def test_one_pair_says_nothing_of_the_spread():
    found = interval([1.8])
    assert (found.low, found.high, found.pairs) == (0.0, math.inf, 1)
    assert found.mean == pytest.approx(1.8)


def test_ratios_that_happen_to_agree_are_worth_no_more_than_the_machine_allows():
    found = interval([1.04, 1.04, 1.04])
    assert found.low == pytest.approx(1.04 * math.exp(-4.303 * MIN_SPREAD / math.sqrt(3)))
    assert found.low < 1.03


def test_half_and_double_are_no_gain():
    assert interval([0.5, 2.0]).mean == pytest.approx(1.0)


def test_more_pairs_that_agree_make_it_narrower():
    widths = [found.high / found.low for n in (2, 3, 6, 12) for found in [interval([1.2, 1.3] * n)]]
    assert widths == sorted(widths, reverse=True)


def test_three_pairs_use_students_factor_for_two_degrees_of_freedom():
    found = interval([1.0, 1.1, 1.21])
    half = 4.303 * math.log(1.1) / math.sqrt(3)
    assert found.mean == pytest.approx(1.1)
    assert found.high == pytest.approx(1.1 * math.exp(half))


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


def noisy(value_at, count=600, seed=3):
    """Return a series with a tenth of noise."""
    draw = random.Random(seed)
    return [(float(n), value_at(n / count) * draw.uniform(0.9, 1.1)) for n in range(count)]


def test_a_series_that_rises_has_a_high_score_and_its_two_levels():
    went = trend(noisy(lambda part: 1.0 + part))
    assert went.z > 5
    assert went.is_steady
    assert went.first == pytest.approx(1.08, abs=0.04)
    assert went.last == pytest.approx(1.92, abs=0.04)
    assert went.growth == pytest.approx(0.84, abs=0.08)
    assert went.ratio == pytest.approx(went.last / went.first)


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_trend(seed):
    went = trend(noisy(lambda part: 1.0, seed=seed))
    assert abs(went.z) < 3


def test_one_jump_is_not_steady():
    went = trend(noisy(lambda part: 1.0 if part < 0.5 else 2.0))
    assert went.z > 4
    assert not went.is_steady


def test_growth_that_speeds_up_is_steady():
    assert trend(noisy(lambda part: 1.0 + 5 * part**2)).is_steady


def test_rare_outliers_change_nothing_in_medians():
    points = [(at, 100.0 if at % 50 == 0 else value) for at, value in noisy(lambda part: 1.0)]
    assert trend(points).last == pytest.approx(1.0, abs=0.05)


def test_the_mean_sees_work_that_is_done_every_twentieth_step():
    points = [(float(n), 10.0 * n / 600 if n % 20 == 0 else 0.1) for n in range(600)]
    assert trend(points, MEDIAN).growth == pytest.approx(0.0)
    assert trend(points, MEAN).growth > 0.3


def test_few_values_count_only_when_all_agree():
    assert trend([(1, 10.0), (2, 14.0), (3, 19.0), (4, 25.0)]).z > 3
    assert trend([(1, 10.0), (2, 14.0), (3, 13.0), (4, 25.0)]).z < 3
    assert trend([(1, 10.0), (2, 14.0), (3, 19.0)]) is None


def test_points_at_one_place_are_no_series():
    assert trend([(1.0, value) for value in (1.0, 2.0, 3.0, 4.0, 5.0)]) is None


@pytest.mark.parametrize("count", [600, 60_000])
def test_any_series_becomes_a_few_dozen_blocks(count):
    assert len(blocks_of(noisy(lambda part: 1.0, count), MEDIAN)) == MEDIAN.blocks


def test_a_hole_in_a_series_leaves_out_blocks():
    points = [point for point in noisy(lambda part: 1 + part) if not 200 < point[0] < 400]
    assert len(blocks_of(points, MEDIAN)) < MEDIAN.blocks
    assert trend(points).z > 4


def test_ties_say_nothing():
    assert mann_kendall([1.0] * 20) == 0.0
    assert mann_kendall([0.0] * 10 + [1.0] * 10) > 3


def test_a_falling_series_scores_below_nothing():
    assert mann_kendall([float(-n) for n in range(20)]) < -5


def test_the_slope_is_that_of_most_pairs():
    points = [(float(n), 2.0 * n) for n in range(10)]
    points[5] = (5.0, 500.0)
    assert slope(points) == pytest.approx(2.0)
    assert slope(points[:1]) == 0.0


def test_a_long_series_is_merged_and_stays_so_as_it_grows():
    points = noisy(lambda part: 1.0, 10_000)
    short, long = merged(points[:9_000], MEDIAN), merged(points, MEDIAN)
    assert 1_000 < len(long) <= 2_048
    assert short[:-1] == long[: len(short) - 1]
    assert merged(points[:2_000], MEDIAN) == points[:2_000]


def test_looks_grow_apart_and_never_stand_still():
    found = looks(1_000_000)
    assert found[0] == 8
    assert len(found) < 60
    assert looks(6, 4) == [4, 5, 6]
    assert looks(7) == []
