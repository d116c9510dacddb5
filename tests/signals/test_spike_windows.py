"""What belongs to slow steps, and what happens as often without them."""

import random

import pytest

from quickfit.signals.spike_windows import Coincidence, Windows, spans_of
from quickfit.signals.spikes import Spike

SPANS = spans_of([n * 0.5 for n in range(101)])
SPIKES = [Spike(n, at_s, at_s + 0.3, 0.28) for n, at_s in enumerate((3.3, 11.4, 22.1, 37.9, 44.4))]


def slow_s(span):
    return sum(max(min(s.end_s, span[1]) - max(s.begin_s, span[0]), 0.0) for s in SPIKES)


def test_tells_the_rate_of_slow_seconds_from_that_of_usual_ones():
    windows = Windows(SPANS, SPIKES)
    values = [2.0 * (0.5 - slow_s(span)) + 7.0 * slow_s(span) for span in SPANS]
    assert windows.rates(dict(enumerate(values))) == pytest.approx((2.0, 7.0))


def test_a_spike_over_several_windows_is_shared_between_them():
    windows = Windows(SPANS, [Spike(1, 1.2, 2.9, 1.6)])
    assert sum(windows.slow_s) == pytest.approx(1.7)
    assert [n for n, inside in enumerate(windows.inside) if inside] == [2, 3, 4, 5]


def test_windows_that_are_all_alike_tell_nothing():
    spikes = [Spike(n, n * 0.5 + 0.1, n * 0.5 + 0.3, 0.2) for n in range(100)]
    assert Windows(SPANS, spikes).rates(dict.fromkeys(range(100), 1.0)) is None


def test_no_slow_step_in_any_window_tells_nothing():
    assert (
        Windows(SPANS, [Spike(1, 900.0, 901.0, 1.0)]).rates(dict.fromkeys(range(100), 1.0)) is None
    )


def test_counts_what_happened_with_and_without():
    windows = Windows(SPANS, SPIKES)
    happened = [slow_s(span) > 0.1 or number == 50 for number, span in enumerate(SPANS)]
    found = windows.coincidence(happened)
    assert (found.hits, found.spikes, found.others, found.hit_share) == (5, 5, 1, 1.0)
    assert not found.is_by_chance


def test_what_happens_all_the_time_is_chance():
    assert Coincidence(hits=10, spikes=10, others=80, windows=90).is_by_chance
    assert Coincidence(hits=3, spikes=3, others=0, windows=1).is_by_chance
    assert not Coincidence(hits=9, spikes=10, others=4, windows=90).is_by_chance


def test_many_spikes_do_not_overflow():
    assert not Coincidence(hits=4000, spikes=5000, others=10, windows=90).is_by_chance


def test_chance_alone_is_seldom_taken_for_a_reason():
    rng = random.Random(0)
    windows = Windows(SPANS, SPIKES)
    wrong = 0
    for _ in range(500):
        found = windows.coincidence([rng.random() < 0.3 for _ in SPANS])
        wrong += not found.is_by_chance and found.hit_share >= 0.5
    assert wrong <= 10


def test_a_reading_after_a_long_pause_is_no_window():
    assert spans_of([0.0, 0.5, 60.0]) == [(0.0, 0.5), (60.0, 60.0)]
