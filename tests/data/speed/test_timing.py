"""How long is measured, what is counted and what is left out, on a clock that we move."""

import pytest
from speed.speeds import Clock, feed

from quickfit.data.speed.feeds import IteratorFeed
from quickfit.data.speed.figures import together
from quickfit.data.speed.timing import BLOCKS, Plan, take
from quickfit.errors import PipelineError


def taken(clock, source, **more):
    """Take elements on a clock: two seconds of warm-up, five of measuring."""
    return take(source, Plan(clock=clock, read=clock.read, **more))


def test_a_long_pipeline_is_measured_after_the_warm_up():
    clock = Clock()
    trace = taken(clock, feed(clock, count=10_000, element_s=0.01, first_s=3.0))
    total = together(trace.blocks)
    assert trace.first_s == pytest.approx(3.0)
    assert total.element_s == pytest.approx(0.01)
    assert total.wall_s == pytest.approx(5.0, abs=0.05)
    assert len(trace.blocks) == BLOCKS
    assert trace.is_in_first_pass
    assert clock() == pytest.approx(10.0, abs=0.1)


def test_a_short_pipeline_is_measured_over_whole_passes():
    clock = Clock()
    trace = taken(clock, feed(clock, count=11, element_s=0.01, first_s=0.5))
    total = together(trace.blocks)
    assert total.elements % 11 == 0
    assert total.element_s == pytest.approx(0.6 / 11)
    assert trace.begin_s / total.wall_s == pytest.approx(0.5 / 0.6)
    assert not trace.is_in_first_pass


def test_the_first_pass_is_told_apart():
    clock = Clock()
    source = feed(clock, count=10, element_s=0.01)
    source._source.first_s = 1.5
    trace = taken(clock, source)
    assert trace.first_pass.elements == 10
    assert trace.first_pass.wall_s == pytest.approx(1.59)


def test_with_a_cache_the_first_pass_is_finished_first():
    clock = Clock()
    source = feed(clock, count=60, element_s=0.1)
    source.has_cache = True
    trace = taken(clock, source)
    assert trace.first_pass.elements == 60
    assert not trace.is_in_first_pass


def test_a_first_pass_through_a_cache_is_not_waited_for_forever():
    clock = Clock()
    source = feed(clock, count=10_000, element_s=0.1)
    source.has_cache = True
    trace = taken(clock, source)
    assert trace.is_in_first_pass
    assert clock() < 25


def test_a_pass_that_turns_out_to_be_endless_is_not_waited_for():
    clock = Clock()
    source = feed(clock, count=3, element_s=0.1)
    plain = source.begin

    def begin():
        source._source.count = 3 if source._source.made == 0 else 10**9
        return plain()

    source.begin = begin
    trace = taken(clock, source)
    assert together(trace.blocks).element_s == pytest.approx(0.1)
    assert clock() < 60


def test_an_iterator_that_ends_in_the_warm_up_is_told_by_what_there_was():
    clock = Clock()
    elements = iter(feed(clock, count=5).begin())
    trace = taken(clock, IteratorFeed(elements, "five"))
    total = together(trace.blocks)
    assert total.elements == 4
    assert total.element_s == pytest.approx(0.1)
    assert trace.has_ended


def test_a_single_element_is_timed_from_the_start():
    clock = Clock()
    trace = taken(clock, IteratorFeed(iter(feed(clock, count=1).begin()), "one"))
    assert together(trace.blocks).elements == 1


def test_elements_that_take_longer_than_all_the_time_are_counted():
    clock = Clock()
    trace = taken(clock, feed(clock, count=10_000, element_s=20.0))
    assert together(trace.blocks).elements == 1
    assert together(trace.blocks).element_s == pytest.approx(20.0)


def test_without_an_element_there_is_nothing_to_measure():
    with pytest.raises(PipelineError, match="made: it ended without a single element"):
        taken(Clock(), feed(Clock(), count=0))


def test_what_is_going_on_is_told():
    clock, told = Clock(), []
    taken(
        clock,
        feed(clock, count=10_000, element_s=0.1),
        tell=lambda what, share: told.append((what, share)),
    )
    words = list(dict.fromkeys(what for what, _ in told))
    assert words == ["waiting for the first element", "warming up", "measuring"]
    assert all(0 <= share <= 1 for _, share in told)


def test_examples_are_counted_as_the_user_says():
    clock = Clock()
    trace = taken(clock, feed(clock, count=10_000, element_s=0.1), batch_size=16)
    total = together(trace.blocks)
    assert total.examples == 16 * total.elements
