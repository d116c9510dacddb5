import numpy as np
import pytest

from quickfit.data.workers.jobs import ItemJob, StreamJob
from quickfit.data.workers.layout import layout_of
from quickfit.data.workers.messages import Task
from quickfit.data.workers.working import (
    FirstLook,
    look_at_first,
    made_ready,
    perform,
    told,
)


class Rows:
    def __init__(self):
        self.rows = {}

    def put(self, row, arrays):
        self.rows[row] = [array.item() for array in arrays]

    def put_alone(self, arrays):
        self.rows[0] = arrays


def done(function, *items, wanted=lambda item: True, row=0, first=0):
    place = Rows()
    layout = layout_of(first, rows=8)
    job = ItemJob(function, range(100), 1, False)
    return perform(Task(1, 0, 0, row, items), job, layout, place, wanted), place.rows


def odd_fails(item):
    if item % 2:
        raise ValueError(f"odd: {item}")
    return item * 10


def test_results_go_to_their_rows():
    outcome, rows = done(odd_fails, 2, 4, row=3)
    assert rows == {3: [20], 4: [40]}
    assert outcome.is_plain


def test_a_failure_is_told_and_the_rest_goes_on():
    outcome, rows = done(odd_fails, 2, 3, 4)
    assert rows == {0: [20], 2: [40]}
    (failure,) = outcome.failures
    assert (failure.row, failure.item, failure.summary) == (1, 3, "ValueError: odd: 3")


def test_the_traceback_is_the_users_alone():
    (failure,) = done(odd_fails, 3)[0].failures
    assert 'raise ValueError(f"odd: {item}")' in failure.trace
    assert "test_working.py" in failure.trace
    assert "quickfit/data/workers" not in failure.trace


def test_a_result_that_does_not_fit_has_no_traceback():
    (failure,) = done(lambda item: np.zeros(item), 3)[0].failures
    assert failure.trace == ""
    assert "shape [3], and [] is expected" in failure.summary


def test_a_function_that_ends_its_process_only_fails():
    def leaves(item):
        raise SystemExit(3)

    (failure,) = done(leaves, 1)[0].failures
    assert failure.summary == "SystemExit: 3"


def test_ctrl_c_in_the_users_function_is_no_failure_of_the_item():
    def interrupted(item):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        done(interrupted, 1)


def test_work_that_nobody_wants_any_more_stops():
    _, rows = done(odd_fails, 0, 2, 4, wanted=lambda item: item < 2)
    assert rows == {0: [0]}


def test_text_travels_with_the_outcome():
    outcome, _ = done(str, 5, 6, first="")
    assert {row: texts[0].item() for row, texts in outcome.texts.items()} == {0: b"5", 1: b"6"}


def test_a_look_takes_the_first_item_that_works_if_it_may():
    job = ItemJob(lambda item: odd_fails(item + 1), range(10), 1, False)
    assert look_at_first(FirstLook(5, 4), job).failure.summary == "ValueError: odd: 1"
    first = look_at_first(FirstLook(5, 4, is_patient=True), job)
    assert first.failure is None
    assert first.layout.rows == 4
    assert first.call_s > 0


def test_a_look_at_nothing_but_failures_tells_the_first():
    def fails(item):
        raise ValueError(item)

    first = look_at_first(FirstLook(5, 4, is_patient=True), ItemJob(fails, range(9), 1, False))
    assert first.failure.summary == "ValueError: 0"


def test_a_generator_without_elements_is_told():
    first = look_at_first(FirstLook(1, 4), StreamJob(lambda: iter(()), 1, False))
    assert first.failure.summary == "it ended before its first element"


def test_a_setup_that_fails_is_told():
    failure = made_ready(lambda: 1 / 0)
    assert failure.summary == "ZeroDivisionError: division by zero"
    assert made_ready(lambda: None) is None


def test_endless_tracebacks_are_cut():
    summary, trace = told(ValueError("x" * 100_000))
    assert len(trace) < 25_000
    assert "[...]" in trace
    assert summary.startswith("ValueError")


def test_an_error_of_many_lines_has_a_short_summary():
    assert told(ValueError("first\nsecond"))[0] == "ValueError: first"


def test_an_array_that_cannot_be_read_is_a_failure_of_its_item():
    class NeedsGrad:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("can't call numpy() on a tensor that requires grad")

    (failure,) = done(lambda item: NeedsGrad(), 3)[0].failures
    assert failure.summary == "RuntimeError: can't call numpy() on a tensor that requires grad"
    assert "in __array__" in failure.trace


def test_a_generator_of_one_element_can_be_looked_at():
    look = FirstLook(5, 4, is_timed=True)
    assert look_at_first(look, StreamJob(lambda: iter([1]), 1, False)).layout is not None
