"""What names hold, from looks that are rare: how it grows, and at which line."""

import pytest

from memory_runs import APPEND_LINE, LOOP, filling, flat, held_by, looks, memory_run, rising, traced
from quickfit.signals.holders import (
    filled_holder,
    growing_holder,
    holder_growth,
    holders_of,
    keeping_line,
    kept,
    memory_command,
    training_keepers,
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


CALLBACK = """\
paths = []
for path in folder:
    paths.append(path)

class Keep(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(self.model.outputs)

model.fit(ds)
"""


def of_fit(text):
    signals = memory_run()
    signals.recording.main.tables["sources"][0]["text"] = text
    return signals


@pytest.mark.parametrize(
    ("alive", "is_kept"),
    [
        pytest.param((50, 250), True, id="one with every step"),
        pytest.param((50, 60), False, id="a few"),
        pytest.param((450, 50), False, id="fewer"),
        pytest.param((50,), False, id="counted once"),
    ],
)
def test_objects_are_kept_when_their_number_grows(alive, is_kept):
    assert (kept(memory_run(objects={"tensors": alive}), "tensors") is not None) is is_kept


def test_traces_keep_some_tensors_themselves():
    assert kept(traced(memory_run(objects={"tensors": (50, 150)}), 20), "tensors") is None
    assert kept(traced(memory_run(objects={"tensors": (50, 650)}), 20), "tensors") is not None


def test_lines_of_the_training_loop_come_first_and_others_are_left_out():
    found = [where.line for where, _ in training_keepers(memory_run(source=LOOP))]
    assert found == [8, 9]
    assert [where.line for where, _ in training_keepers(of_fit(CALLBACK))] == [7]


def test_the_kind_of_value_decides_which_line_it_is():
    signals = memory_run(source=LOOP)
    assert keeping_line(signals, ("array",)) is None
    assert keeping_line(signals, ("array", "unknown")).location.line == 8
    assert keeping_line(of_fit("model.fit(ds)\n"), ("unknown",)) is None


def test_a_line_that_was_measured_is_better():
    line = keeping_line(held_by(memory_run(), 3, rising(9000)), ("unknown",))
    assert (line.location.line, line.is_measured) == (3, True)
    signals = held_by(memory_run(source=LOOP), 3, flat(9000))
    assert not keeping_line(signals, ("unknown",)).is_measured


def test_the_command_names_the_script():
    assert memory_command(memory_run()) == "quickfit run --memory train.py"
    assert memory_command(memory_run(run={})) == "quickfit run --memory YOUR_SCRIPT.py"
