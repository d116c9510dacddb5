"""`host-ram-growth`: memory that nothing else explains, only when it is beyond doubt."""

import pytest

from memory_runs import filling, flat, held_by, looks, memory_run, rising, traced
from quickfit.causes.memory.host_ram_growth import detect, fix
from quickfit.errors import SignalMissing

KEEPS = """\
class Keep(keras.callbacks.Callback):
    def __init__(self):
        self.weights = []

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append(np.concatenate(self.model.get_weights()))
        self.losses.append(logs["loss"])

for step in range(10_000):
    train(x)
"""
CACHES = KEEPS.replace("self.weights.append(", "self.weights[batch] = (")
COUNTED = {"tensors": (50, 51, 51, 51, 51)}
FAST = {"rss": rising(5e6, 6e8), "python_blocks": rising(20), "objects": COUNTED}
LOOP = {"source": KEEPS, "head_line": 9}


def test_fires_at_the_line_whose_text_keeps_arrays():
    finding = detect(memory_run(**LOOP, **FAST))
    assert finding.where.line == 6
    assert finding.exhaustion.each == pytest.approx(5e5, rel=0.05)
    assert "quickfit run --memory train.py" in finding.evidence[-1].detail
    assert fix(finding, memory_run()).kind == "may-change-results"


def test_a_run_with_memory_tells_the_line_that_was_measured():
    finding = detect(held_by(memory_run(**LOOP, **FAST), 6, rising(5e6)))
    assert finding.where.line == 6
    assert finding.evidence[-1].value == pytest.approx(5e5, rel=0.05)


def test_a_list_that_was_counted_needs_no_count_of_objects_and_no_time():
    held = looks(rising(5e7), name="self.weights", scope="Keep", every_s=1, seconds=8)
    given = {**LOOP, "rss": rising(5e7, 6e8), "holders": held, "seconds": 8}
    finding = detect(memory_run(**given))
    assert finding.where.line == 6
    assert finding.summary == "`self.weights` keeps more with every step"
    assert finding.exhaustion.each == pytest.approx(5e6, rel=0.01)


def test_few_long_steps_are_enough_where_a_list_was_counted():
    held = looks(rising(5e7), name="self.weights", scope="Keep", every_s=4)
    signals = memory_run(**LOOP, rss=rising(5e7, 6e8), holders=held, step_s=3.0, steps=12)
    assert detect(signals).where.line == 6


def test_without_a_line_it_takes_longer_to_be_sure():
    assert detect(memory_run(seconds=40, **FAST)) is None
    finding = detect(memory_run(seconds=90, **FAST))
    assert finding.where is None
    assert fix(finding, memory_run()).example == "quickfit run --memory train.py"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"rss": flat(6e8)}, id="healthy"),
        pytest.param({"rss": rising(3e5, 6e8)}, id="creeps up by 18 MB a minute"),
        pytest.param({"rss": filling(1e7, 50, 6e8)}, id="a cache that is full"),
        pytest.param(
            {"rss": lambda at_s: 9e8 - 9e8 * 2 ** (-at_s / 28)}, id="slows down to the end"
        ),
        pytest.param({"asked": flat(3e9), **FAST}, id="an array made before fills its pages"),
        pytest.param({"file_bytes": rising(5e6), **FAST}, id="a mapped file is read"),
        pytest.param({**FAST, "objects": {"tensors": (50, 250, 750)}}, id="tensors are kept"),
    ],
)
def test_stays_silent_when(given):
    assert detect(memory_run(**{"seconds": 90, **LOOP, **given})) is None


def test_without_two_counts_it_may_be_tensors_and_is_not_checked():
    with pytest.raises(SignalMissing, match="two counts"):
        detect(memory_run(**LOOP, **{**FAST, "objects": {}}))
    # A heap that is too large to be counted is looked at for longer.
    assert detect(memory_run(seconds=90, **LOOP, **{**FAST, "objects": {}})) is not None


def test_traces_that_keep_graphs_are_another_cause():
    signals = memory_run(**LOOP, rss=rising(5e6, 6e8), python_blocks=rising(30_000))
    assert detect(traced(signals, 1)) is None


def test_a_store_by_key_may_be_a_cache_that_is_full_after_the_first_epoch():
    given = {"seconds": 90, "source": CACHES, "head_line": 9, **FAST}
    signals = memory_run(**given)
    facts = signals.recording.main.tables["loops"][0]["facts"]
    facts["steps"] = 1000
    assert detect(signals) is None
    # It would be full after all memory is.
    signals = memory_run(**given)
    signals.recording.main.tables["loops"][0]["facts"]["steps"] = 100_000
    assert detect(signals).where.line == 6
    # In the second epoch it still grows.
    signals = memory_run(**given, epochs=3)
    signals.recording.main.tables["loops"][0]["facts"]["steps"] = 300
    assert detect(signals) is not None


def test_of_several_lines_that_may_keep_it_none_is_named():
    text = KEEPS.replace('self.losses.append(logs["loss"])', "self.more.append(np.copy(x))")
    finding = detect(memory_run(source=text, head_line=9, **FAST))
    assert finding.where is None
    assert finding.summary == "memory grows with every step"


def test_a_measured_line_that_holds_little_is_not_the_one():
    finding = detect(held_by(memory_run(**LOOP, **FAST), 6, rising(5e4)))
    assert finding.where is None


def test_growth_beyond_the_first_epoch_is_no_cache():
    assert detect(memory_run(seconds=40, epochs=4, **FAST)) is not None
    assert detect(memory_run(seconds=40, epochs=1, **FAST)) is None
