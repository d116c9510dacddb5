"""What stays alive with every step, and which line keeps it."""

import pytest

from memory_runs import LOOP, flat, held_by, memory_run, rising, traced
from quickfit.signals.kept_objects import keeping_line, kept, memory_command, training_keepers

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
