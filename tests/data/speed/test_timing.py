"""What the machine tells: counters that grow, cores that are there, other load."""

import os
import subprocess
import sys

import pytest
from speed.speeds import Clock, feed

from quickfit.data.speed import timing
from quickfit.data.speed.feeds import IteratorFeed
from quickfit.data.speed.figures import join_spans
from quickfit.data.speed.timing import (
    BLOCKS,
    ElementTaker,
    MachineReading,
    MeasurePlan,
    machine_between,
    span_between,
    time_feed,
)
from quickfit.errors import PipelineError


def test_the_cpu_time_of_children_that_have_ended_counts():
    before_s = timing.tree_cpu_s()
    code = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert timing.tree_cpu_s() - before_s >= 0.15  # it is counted in ticks


def test_memory_is_there():
    assert timing.memory_bytes() > 1_000_000


def test_other_load_is_what_is_left_when_our_own_is_taken_off(monkeypatch):
    monkeypatch.setattr(timing, "usable_cores", lambda: float(os.cpu_count()))
    found = machine_between(
        MachineReading(0.0, 0.0, 10.0, 100), MachineReading(10.0, 5.0, 27.0, 300)
    )
    assert found.other_cores == pytest.approx(1.2)
    assert found.read_bytes == 200


def test_cores_that_a_container_may_not_use_are_not_in_its_way(monkeypatch):
    monkeypatch.setattr(timing, "usable_cores", lambda: os.cpu_count() - 1.0)
    found = machine_between(
        MachineReading(0.0, 0.0, 0.0, None), MachineReading(10.0, 0.0, 15.0, None)
    )
    assert found.other_cores == pytest.approx(0.5)
    assert found.read_bytes is None


def test_a_moment_is_too_short_to_tell_the_load():
    assert (
        machine_between(
            MachineReading(0.0, 0.0, 0.0, 0), MachineReading(0.1, 0.1, 0.5, 0)
        ).other_cores
        is None
    )


def taker(count, **more):
    """Return a taker of a feed that has so many elements in a pass."""
    clock = Clock()
    return ElementTaker(feed(clock, count=count, **more), read=clock.read, clock=clock)


def test_passes_follow_each_other():
    one = taker(3)
    one.first()
    for _ in range(7):
        assert one.step()
    assert (one.elements, one.passes) == (8, 2)


def test_a_pass_ends_without_beginning_another():
    one = taker(2)
    one.first()
    assert one.take_one()
    assert not one.take_one()
    assert not one.take_one()
    assert (one.elements, one.passes) == (2, 1)


def test_marks_tell_what_was_taken_between_them():
    one = taker(10, element_s=0.5)
    one.first()
    before = one.mark()
    one.step()
    one.step()
    span = span_between(before, one.mark())
    assert (span.elements, span.wall_s, span.cpu_s) == (2, 1.0, 1.0)


def test_the_time_to_begin_is_kept_apart():
    one = taker(2, element_s=0.1, first_s=2.0)
    one.first()
    one.step()
    one.step()
    assert one.begin_s == pytest.approx(4.0)


def test_an_iterator_ends_for_good():
    one = ElementTaker(IteratorFeed(iter([1]), "one"))
    one.first()
    assert not one.step()
    assert not one.step()
    assert one.elements == 1


def test_the_error_for_nothing_at_all_says_what_to_look_at():
    with pytest.raises(PipelineError, match=r"ended without a single element.*\n.*files and filt"):
        taker(0).first()


def test_an_exception_of_the_users_iterator_stays_what_it_is():
    def broken():
        yield 1
        raise KeyError("label")

    one = ElementTaker(IteratorFeed(broken(), "broken"))
    one.first()
    with pytest.raises(KeyError, match="label"):
        one.step()


def taken(clock, source, **more):
    """Take elements on a clock: two seconds of warm-up, five of measuring."""
    return time_feed(source, MeasurePlan(clock=clock, read=clock.read, **more))


def test_a_long_pipeline_is_measured_after_the_warm_up():
    clock = Clock()
    trace = taken(clock, feed(clock, count=10_000, element_s=0.01, first_s=3.0))
    total = join_spans(trace.blocks)
    assert trace.first_s == pytest.approx(3.0)
    assert total.element_s == pytest.approx(0.01)
    assert total.wall_s == pytest.approx(5.0, abs=0.05)
    assert len(trace.blocks) == BLOCKS
    assert trace.is_in_first_pass
    assert clock() == pytest.approx(10.0, abs=0.1)


def test_a_short_pipeline_is_measured_over_whole_passes():
    clock = Clock()
    trace = taken(clock, feed(clock, count=11, element_s=0.01, first_s=0.5))
    total = join_spans(trace.blocks)
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
    assert join_spans(trace.blocks).element_s == pytest.approx(0.1)
    assert clock() < 60


def test_an_iterator_that_ends_in_the_warm_up_is_told_by_what_there_was():
    clock = Clock()
    elements = iter(feed(clock, count=5).begin())
    trace = taken(clock, IteratorFeed(elements, "five"))
    total = join_spans(trace.blocks)
    assert total.elements == 4
    assert total.element_s == pytest.approx(0.1)
    assert trace.has_ended


def test_a_single_element_is_timed_from_the_start():
    clock = Clock()
    trace = taken(clock, IteratorFeed(iter(feed(clock, count=1).begin()), "one"))
    assert join_spans(trace.blocks).elements == 1


def test_elements_that_take_longer_than_all_the_time_are_counted():
    clock = Clock()
    trace = taken(clock, feed(clock, count=10_000, element_s=20.0))
    assert join_spans(trace.blocks).elements == 1
    assert join_spans(trace.blocks).element_s == pytest.approx(20.0)


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
    total = join_spans(trace.blocks)
    assert total.examples == 16 * total.elements
