"""A loop inside a compiled function is followed by its optimizer's counter."""

import json
import sys
from types import SimpleNamespace

import pytest

from quickfit.probes import _loops, _thread_calls, graph_loop
from quickfit.probes._sites import Site
from quickfit.probes._thread_calls import of_this_thread, threads
from quickfit.recording.reader import read_process
from quickfit.recording.schema import columns
from quickfit.recording.writer import Writer


class Optimizer:
    """Counts its steps where Keras's do."""

    def __init__(self):
        value = SimpleNamespace(numpy=lambda: self.steps)
        self.steps, self._iterations = 0, SimpleNamespace(_value=value)


class Run:
    """A thread that is inside one call of a compiled function."""

    def __init__(self, state, clock):
        self.state, self.clock, self.optimizer = state, clock, Optimizer()
        self.calls = of_this_thread()
        self.site = Site("function", "train", sys._getframe(0))
        self.site.note_optimizer(self.optimizer)
        self.call()

    def call(self):
        self.calls.site, self.calls.began_s = self.site, self.clock.now_s

    def goes_on(self, steps, seconds=0.5):
        self.clock.now_s += seconds
        self.optimizer.steps += steps
        graph_loop.read(self.state)

    def rows(self, table):
        names = [column.name for column in columns(table)]
        return [dict(zip(names, row, strict=True)) for row in self.state.writer.rows(table)]


@pytest.fixture
def run(state, clock, monkeypatch):
    """Return a run whose clock stands until it is told to go on."""
    for module in (graph_loop, _loops, _thread_calls):
        monkeypatch.setattr(module, "now", clock)
    threads.clear()
    yield Run(state, clock)
    threads.clear()


def test_the_steps_between_two_readings_are_taken_to_be_equally_long(run):
    run.goes_on(10, 2.0)
    run.goes_on(5)
    run.goes_on(10, 1.0)
    rows = run.rows("steps")
    assert len(rows) == 15
    lengths = [row["end_s"] - row["begin_s"] for row in rows]
    assert lengths == pytest.approx([0.1] * 15)
    assert (rows[0]["begin_s"], rows[-1]["end_s"]) == (102.0, pytest.approx(103.5))
    numbers = [row["step"] for row in rows]
    assert numbers == list(range(numbers[0], numbers[0] + 15))


def test_the_parts_of_such_a_step_are_not_made_up(run):
    run.goes_on(10, 2.0)
    run.goes_on(5)
    unknown = ("logs_s", "callbacks_s", "callbacks_cpu_s", "cpu_s", "wait_s")
    assert {row[name] for row in run.rows("steps") for name in unknown} == {None}
    calls_s = [row["call_s"] for row in run.rows("steps")]
    assert calls_s == pytest.approx([0.1] * 5), "all of it is inside the function"


def test_the_loop_has_the_line_of_the_call(run):
    run.goes_on(10, 2.0)
    run.goes_on(5)
    loop = run.rows("loops")[-1]
    assert (loop["kind"], loop["file"]) == ("graph", __file__)
    assert loop["line"] == run.site.place.line
    assert loop["begin_s"] == 100.0, "when the call began"
    facts = json.loads(loop["facts"])
    assert (facts["trains"], facts["input"]) == (True, "graph")
    assert run.site.is_followed
    assert [each.kind for each in run.state.active_loops()] == ["graph"]


@pytest.mark.parametrize(
    "why", ["the call is short", "too few steps", "no optimizer", "no call", "the head of a loop"]
)
def test_nothing_is_followed_where(run, why):
    if why == "the call is short":
        run.goes_on(10, 0.3)
        run.goes_on(10, 0.3)
    if why == "no optimizer":
        run.site.optimizers.clear()
    if why == "no call":
        run.calls.site = None
    if why == "the head of a loop":
        run.site.heads = object()
    if why != "the call is short":
        steps = 1 if why == "too few steps" else 10
        run.goes_on(steps, 2.0)
        run.goes_on(steps, 2.0)
    assert run.rows("steps") == []
    assert run.rows("loops") == []


def test_a_call_of_few_steps_is_followed_once_they_are_enough(run):
    for _ in range(graph_loop.MIN_STEPS + 1):
        run.goes_on(1, 2.0)
    assert len(run.rows("steps")) >= graph_loop.MIN_STEPS


def test_a_reading_without_a_new_step_adds_none(run):
    run.goes_on(10, 2.0)
    run.goes_on(5)
    run.goes_on(0)
    assert len(run.rows("steps")) == 5
    run.goes_on(5)
    last = run.rows("steps")[5:]
    assert last[0]["begin_s"] == 102.5, "since the last reading that saw one"


def test_very_quick_steps_are_recorded_in_larger_ones(run):
    run.goes_on(10, 2.0)
    run.goes_on(100_000, 1.0)
    rows = run.rows("steps")
    assert len(rows) == graph_loop.MAX_ROWS
    assert rows[-1]["end_s"] == pytest.approx(103.0)


def test_a_second_call_goes_on_with_the_same_loop(run):
    run.goes_on(10, 2.0)
    run.goes_on(5)
    run.clock.now_s += 3.0
    run.call()
    run.goes_on(10, 2.0)
    run.goes_on(5)
    assert {row["loop"] for row in run.rows("steps")} == {1}
    assert len(run.rows("steps")) == 10
    begins = [row["begin_s"] for row in run.rows("steps")]
    assert begins == sorted(begins)


def test_another_function_is_another_loop(run):
    run.goes_on(10, 2.0)
    run.goes_on(5)
    other = Optimizer()
    run.site = Site("function", "other", sys._getframe(0))
    run.site.note_optimizer(other)
    run.optimizer = other
    run.call()
    run.goes_on(10, 2.0)
    run.goes_on(5)
    assert {row["loop"] for row in run.rows("steps")} == {1, 2}


def test_an_optimizer_that_cannot_be_read_is_left_alone(run):
    run.optimizer._iterations = None
    run.goes_on(10, 2.0)
    run.goes_on(10, 2.0)
    assert run.rows("steps") == []


def test_an_optimizer_that_was_set_back_adds_no_step(run):
    run.goes_on(10, 2.0)
    run.goes_on(5)
    run.optimizer.steps = 0
    run.goes_on(0)
    assert len(run.rows("steps")) == 5


@pytest.mark.parametrize("seconds", [0.3249060344, 0.5, 1 / 3, 0.7071067])
@pytest.mark.parametrize("began_s", [100.0, 723364.7380190733])
def test_the_steps_are_such_that_a_recording_of_them_is_read(run, tmp_path, seconds, began_s):
    """A step may not begin before the one before it ended, not even by a rounding error."""
    run.clock.now_s = began_s
    run.call()
    run.goes_on(10, 2.0)
    for steps in (264, 37, 3, 499, 1000):
        run.goes_on(steps, seconds)
    writer = Writer(tmp_path, {"role": "main"})
    for row in run.state.writer.rows("steps"):
        writer.add_step(row)
    writer.flush()
    writer.close()
    assert len(read_process(writer.path).rows("steps")) == 264 + 37 + 3 + 499 + 500
