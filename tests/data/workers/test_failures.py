import pytest

from quickfit.data.workers.board import LOADING, NOTHING
from quickfit.data.workers.crew import JobBroken, WorkerDied
from quickfit.data.workers.failures import Teller
from quickfit.data.workers.messages import Failure

FILES = ["a/cat.jpg", "a/dog.jpg"]


def teller(items=FILES, can_skip=True):
    return Teller("load", items, can_skip=can_skip)


def test_a_failure_names_item_and_error_and_shows_the_traceback():
    text = str(teller().failed(Failure(0, 1, "ValueError: bad", "Traceback\n  train.py, line 5")))
    assert text.startswith("`load` failed on item 1 ('a/dog.jpg'): ValueError: bad\n")
    assert "train.py, line 5" in text
    assert 'on_error="skip"' in text


def test_who_skips_already_is_not_told_to():
    text = str(teller(can_skip=False).failed(Failure(0, 1, "ValueError: bad", "Traceback")))
    assert "on_error" not in text


def test_a_result_that_does_not_fit_comes_with_advice():
    text = str(teller().failed(Failure(0, 1, "its array has shape [3], and [2] is expected")))
    assert "gave a result that cannot be used for item 1 ('a/dog.jpg')" in text
    assert "batch=None" in text


def test_a_result_that_is_none_comes_without_advice_on_shapes():
    text = str(teller().failed(Failure(0, 1, "it returned None; is a `return` missing?")))
    assert "it returned None; is a `return` missing?\n" in text
    assert "shapes" not in text


def test_numbers_and_elements_are_not_said_twice():
    assert teller(range(10, 20)).item(3) == "item 13"
    assert teller(None).item(3) == "element 3"


def test_a_huge_item_is_shortened():
    assert len(teller([list(range(10**6))]).item(0)) < 200


@pytest.mark.parametrize(
    ("item", "code", "words"),
    [
        (1, -11, "was ended by SIGSEGV (invalid memory access in native code) while it ran `load`"),
        (1, -9, "was ended by SIGKILL (killed) while it ran `load` on item 1 ('a/dog.jpg')"),
        (1, -9, "when memory runs out: try fewer workers"),
        (1, 3, "ended with exit code 3 while it ran"),
        (LOADING, 1, "ended with exit code 1 while it loaded `load`"),
        (NOTHING, -15, "was ended by SIGTERM between two items"),
        (1, -63, "was ended by signal 63"),
    ],
)
def test_a_death_is_told_with_its_reason_and_item(item, code, words):
    text = str(teller().died(WorkerDied(item, 4711, code)))
    assert words in text
    assert "pid 4711" in text


def test_a_function_that_cannot_be_loaded_is_told():
    text = str(teller().broken(JobBroken("ModuleNotFoundError: No module named 'mine'", "Trace")))
    assert "`load` could not be made ready in a worker: ModuleNotFoundError" in text
    assert 'kind="threads"' in text


def test_a_generator_without_elements_has_no_data():
    text = str(teller(None).failed(Failure(0, -1, "it ended before its first element")))
    assert text.startswith("`load` has no data: it ended before its first element")
