"""What names hold, from looks that are rare: how it grows, and at which line."""

import pytest

from memory_runs import APPEND_LINE, LOOP, filling, flat, looks, memory_run, rising
from quickfit.signals.holders import (
    filled_holder,
    growing_holder,
    holder_growth,
    holders_of,
)

GROWS = {"rss": rising(5e7, 6e8), "source": LOOP}


def grown(level, *, rss=None, **given):
    """Return the growth of what `losses` holds."""
    held = looks(level, name="losses", **given)
    signals = memory_run(**{**GROWS, "rss": rss or GROWS["rss"]}, holders=held)
    found = holders_of(signals)
    return holder_growth(signals, found[0]) if found else None


def test_growth_has_its_rate_its_interval_and_its_line():
    signals = memory_run(**GROWS, holders=looks(rising(5e7), name="losses"))
    holder, growth = growing_holder(signals)
    assert holder.location.line == APPEND_LINE
    assert not holder.is_by_key
    assert growth.growth.per_step == pytest.approx(5e6, rel=0.01)
    assert growth.low == pytest.approx(5e6, rel=0.05)
    assert growth.items_per_step == pytest.approx(5.0, rel=0.05)
    assert growth.process_bytes == pytest.approx(growth.growth.total, rel=0.1)


def test_a_look_that_does_not_list_a_name_saw_little_of_it():
    growth = grown(lambda at_s: 5e7 * max(at_s - 20, 0))
    assert growth.growth.first == 0
    assert growth.goes_on


def test_what_is_full_does_not_go_on():
    growth = grown(filling(5e7, 20), rss=filling(5e7, 20, 6e8))
    assert not growth.goes_on


@pytest.mark.parametrize(
    ("level", "rss"),
    [
        pytest.param(rising(5e7), flat(2e9), id="the process does not grow"),
        pytest.param(flat(1e9), None, id="it was there before"),
        pytest.param(rising(5e5), None, id="it holds little"),
    ],
)
def test_nothing_grows_when(level, rss):
    found = grown(level, rss=rss)
    assert found is None or not found.goes_on


def test_two_looks_say_nothing():
    held = looks(rising(5e7, 1e8), name="losses")[3:5]
    signals = memory_run(**GROWS, holders=held)
    assert holder_growth(signals, holders_of(signals)[0]) is None


def test_a_bound_that_fits_is_no_growth():
    held = looks(rising(5e7), name="losses", bound=3000, kind="deque")
    assert growing_holder(memory_run(**GROWS, holders=held)) is None
    # It would take more than there is.
    held = looks(rising(5e7), name="losses", bound=30_000, kind="deque")
    assert growing_holder(memory_run(**GROWS, holders=held)) is not None


def test_a_loop_that_only_predicts_collects_what_it_makes():
    signals = memory_run(**{**GROWS, "rss": rising(2e7, 6e8)}, holders=looks(rising(2e7)))
    assert growing_holder(signals) is not None
    signals = memory_run(**{**GROWS, "rss": rising(2e7, 6e8)}, holders=looks(rising(2e7)))
    signals.recording.main.tables["loops"][0]["facts"]["trains"] = False
    assert growing_holder(signals) is None


def test_what_was_filled_while_training_ran_is_found_even_when_it_is_full():
    full = looks(filling(8e7, 20), name="losses")
    rss = filling(8e7, 20, 6e8)
    holder, growth = filled_holder(memory_run(source=LOOP, rss=rss, holders=full))
    assert holder.held_bytes == 16e8
    assert growth.growth.total >= 1e9
    small = looks(filling(2e7, 20), name="losses")
    assert filled_holder(memory_run(source=LOOP, rss=rss, holders=small)) is None


def test_another_name_of_the_object_leads_to_the_line():
    text = "class Loader:\n    def __init__(self):\n        self.seen = {}\n\n"
    text += "for step in range(9):\n    loader.seen[step] = read(step)\n"
    held = looks(rising(5e7), name="self.seen", scope="Loader", kind="dict")
    signals = memory_run(source=text, head_line=5, rss=rising(5e7, 6e8), holders=held)
    holder = holders_of(signals)[0]
    assert holder.location.line == 6
    assert holder.is_by_key


def test_a_recording_without_looks_has_no_holders():
    assert holders_of(memory_run()) == []
    assert growing_holder(memory_run(rss=rising(5e7, 6e8))) is None
