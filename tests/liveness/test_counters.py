"""When a run last moved, from what is counted."""

import pytest

from growing import START_S, Growing
from quickfit.liveness.counters import Counters
from quickfit.liveness.scene import Tracing
from scenes import fit, generator, stage


@pytest.fixture
def run(tmp_path):
    run = Growing(tmp_path)
    yield run
    run.close()


def test_before_the_first_step_a_run_moved_when_it_began(run):
    counters = Counters()
    counters.read_steps(run.rows, START_S)
    assert (counters.steps, counters.moved_s, counters.longest_s) == (0, START_S, 0.0)


def test_steps_are_counted_once_by_their_loop(run):
    counters = Counters()
    for number, end_s in enumerate((1001.0, 1002.0, 1009.0)):
        run.step(number, end_s)
    counters.read_steps(run.rows, START_S)
    counters.read_steps(run.rows, START_S)
    run.step(0, 1010.0, loop=2)
    counters.read_steps(run.rows, START_S)
    assert (counters.steps, counters.steps_of(1), counters.steps_of(2)) == (4, 3, 1)
    assert (counters.moved_s, counters.longest_s) == (1010.0, 7.0)


def test_the_longest_time_is_known_across_two_readings(run):
    counters = Counters()
    run.step(0, 1001.0)
    counters.read_steps(run.rows, START_S)
    run.step(1, 1021.0)
    counters.read_steps(run.rows, START_S)
    assert counters.longest_s == 20.0


def test_a_value_is_what_it_is_since_it_changed():
    counters = Counters()
    counters.moved_s = 1000.0
    assert counters.since(1010.0, "x", 5) == 10.0  # at first, since the last step
    assert counters.since(1011.0, "x", 6) == 0.0
    assert counters.since(1014.0, "x", 6) == 3.0


@pytest.mark.parametrize(
    "moved",
    [
        ((stage("map", 11, 0.0),), (), None),
        ((stage("map", 10, 0.0, buffered=1),), (), None),
        ((stage("map", 10, 0.0),), (generator(batches=1),), None),
        ((stage("map", 10, 0.0),), (), Tracing("f", None, 0.0, 50, 0.0)),
    ],
    ids=["an element", "an element in a buffer", "a batch", "an operation"],
)
def test_anything_that_is_counted_on_is_a_move(moved):
    counters = Counters()
    before = ((stage("map", 10, 0.0),), (), None)
    counters.still_s(1010.0, *before)
    assert counters.still_s(1020.0, *before) == 1020.0
    assert counters.still_s(1021.0, *moved) == 0.0
    assert counters.moved_any_s == 1021.0


def test_a_validation_moves_with_its_batches():
    counters, loop = Counters(), fit(phase="validation")
    counters.validated(1000.0, loop, (stage("batch", 5, 1.0),))
    assert counters.validated(1001.0, loop, (stage("batch", 6, 1.0),)) == 0.0
    assert counters.validated(1004.0, loop, (stage("batch", 6, 1.0),)) == 3.0


@pytest.mark.parametrize(
    ("loop", "stages"), [(None, (stage("batch", 5, 1.0),)), (fit(phase="validation"), ())]
)
def test_outside_a_validation_there_is_none(loop, stages):
    assert Counters().validated(1000.0, loop, stages) == float("inf")


def test_the_rate_of_a_loop_is_known_from_the_first_look_on():
    counters = Counters()
    assert counters.per_s(1010.0, "loop 1", 50, began_s=1000.0) == 5.0
    assert counters.per_s(1012.0, "loop 1", 70, began_s=1000.0) == 10.0
    assert counters.per_s(1012.0, "loop 1", 70, began_s=1000.0) == 0.0


def test_training_is_no_validation():
    assert Counters().validated(1000.0, fit(), (stage("batch", 5, 1.0),)) == float("inf")
