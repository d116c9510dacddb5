"""Elements taken one by one: passes, counts, and letting go."""

import pytest
from speed.speeds import Clock, feed

from quickfit.data.speed.feeds import IteratorFeed
from quickfit.data.speed.taking import Taker, between
from quickfit.errors import PipelineError


def taker(count, **more):
    """Return a taker of a feed that has so many elements in a pass."""
    clock = Clock()
    return Taker(feed(clock, count=count, **more), read=clock.read, clock=clock)


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
    span = between(before, one.mark())
    assert (span.elements, span.wall_s, span.cpu_s) == (2, 1.0, 1.0)


def test_the_time_to_begin_is_kept_apart():
    one = taker(2, element_s=0.1, first_s=2.0)
    one.first()
    one.step()
    one.step()
    assert one.begin_s == pytest.approx(4.0)


def test_an_iterator_ends_for_good():
    one = Taker(IteratorFeed(iter([1]), "one"))
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

    one = Taker(IteratorFeed(broken(), "broken"))
    one.first()
    with pytest.raises(KeyError, match="label"):
        one.step()
