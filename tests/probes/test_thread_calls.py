"""The calls of one thread: only outermost ones count, and their time is added up by kind."""

import sys
import threading

import pytest

from probes.stand_ins import TickingClock
from quickfit.probes import _loops, _thread_calls, hand_loop
from quickfit.probes._sites import MAX_SITES
from quickfit.probes._thread_calls import ThreadCalls, note_training, of_this_thread, threads


class Subject:
    """Something that is called; it can be weakly referred to."""


def end(calls):
    """End the call that is under way."""
    calls.note_end(None)
    calls.settle()


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that all modules read."""
    made = TickingClock()
    for module in (_thread_calls, hand_loop, _loops):
        monkeypatch.setattr(module, "now", made)
    return made


@pytest.fixture
def calls(state, clock, monkeypatch):
    """Return the calls of this thread, of a process that is watched."""
    monkeypatch.delitem(sys.modules, "tensorflow.python.eager.context", raising=False)
    threads.clear()
    yield of_this_thread()
    threads.clear()


def make(calls, clock, kind, takes_s=1.0, subject=None):
    """Make a call from the line that asks for it; tell whether it counted."""
    counts = calls.begin(kind, subject or Subject(), sys._getframe(1))
    clock.now_s += takes_s
    if counts:
        end(calls)
    return counts


def totals(calls, kind):
    """Return how often and how long a kind of call was made outside any loop."""
    found = [site.totals[0] for site in calls.written.values() if site.kind == kind]
    return sum(total[0] for total in found), pytest.approx(sum(total[1] for total in found))


@pytest.mark.parametrize(
    ("kind", "total"), [("next", "wait_s"), ("function", "call_s"), ("train", "call_s")]
)
def test_a_call_is_added_to_the_total_of_its_kind(calls, clock, kind, total):
    assert make(calls, clock, kind, 2.0)
    assert make(calls, clock, kind, 3.0)
    assert getattr(calls, total) == pytest.approx(5.0, abs=1e-3)
    assert calls.calls == 2
    others = {"wait_s", "call_s", "eager_s", "logs_s"} - {total}
    assert {getattr(calls, name) for name in others} == {0.0}
    assert totals(calls, kind) == (2, pytest.approx(5.0, abs=1e-3))


def test_eager_work_counts_from_the_tape_to_the_end_of_the_update(calls, clock):
    calls.tape(sys._getframe(0))
    clock.now_s += 3.0
    make(calls, clock, "gradient", 1.0)
    make(calls, clock, "apply", 0.5)
    assert calls.eager_s == pytest.approx(4.5, abs=1e-3)
    assert calls.call_s == 0.0


def test_a_call_inside_a_call_is_the_outer_ones(calls, clock):
    def inner():
        assert not make(calls, clock, "function", 2.0)
        assert not make(calls, clock, "next", 1.0)

    def outer():
        assert calls.begin("train", Subject(), sys._getframe(0))
        inner()
        end(calls)

    outer()
    assert calls.calls == 1
    assert calls.call_s == pytest.approx(3.0, abs=1e-3)
    assert calls.wait_s == 0.0


def test_an_end_without_a_begin_is_nothing(calls):
    end(calls)
    assert calls.calls == 0


def test_a_method_that_was_looked_up_and_never_called_does_not_stop_the_others(calls, clock):
    """Its end never comes; but then the same frame is at another instruction."""
    assert calls.begin("function", Subject(), sys._getframe(0))
    assert make(calls, clock, "function", 1.0)
    assert calls.calls == 1


def test_a_call_from_a_library_belongs_to_the_line_of_the_script(calls, clock):
    names = {}
    text = "def through(function):\n    return function()\n"
    exec(compile(text, "/env/site-packages/tool.py", "exec"), names)
    names["through"](lambda: make(calls, clock, "function"))
    (site,) = calls.written.values()
    assert site.place.file == __file__


def test_a_batch_and_a_step_that_a_library_asks_for_in_one_instruction_are_two(calls, clock):
    for _ in range(3):
        for kind in ("next", "function"):
            make(calls, clock, kind)
    assert {site.kind for site in calls.written.values()} == {"next", "function"}


def test_a_call_that_keras_makes_does_not_count(calls):
    names = {"calls": calls, "sys": sys, "end": end}
    text = "counts = calls.begin('function', object(), sys._getframe(0))"
    exec(compile(text, "/env/site-packages/keras/src/trainer.py", "exec"), names)
    assert names["counts"] is False


def test_one_line_is_one_site_however_often_it_runs(calls, clock):
    for _ in range(300):
        make(calls, clock, "save", subject=str)
    assert len(calls.written) == 1


def test_two_calls_on_one_line_are_two_sites(calls, clock):
    make(calls, clock, "save"), make(calls, clock, "save")
    assert len(calls.written) == 2


def test_generated_code_does_not_fill_memory(calls, clock):
    names = {"make": make, "calls": calls, "clock": clock}
    text = "\n".join("make(calls, clock, 'save')" for _ in range(MAX_SITES + 50))
    exec(compile(text, "<string>", "exec"), names)
    assert len(calls.sites) == MAX_SITES
    assert calls.calls == MAX_SITES


def test_while_a_graph_is_built_a_new_line_does_not_count(calls, clock, monkeypatch):
    monkeypatch.setattr(_thread_calls, "is_eager", lambda: False)
    assert not make(calls, clock, "function")


# -- calls beside a loop --------------------------------------------------------------------------


def test_a_call_in_a_callback_of_fit_is_counted_in_its_loop(calls, clock):
    def save():
        assert calls.begin_aside("save", Subject(), sys._getframe(0), 7)
        clock.now_s += 2.0
        end(calls)

    save()
    save()
    (site,) = calls.aside_sites.values()
    assert site.totals == {7: [2, pytest.approx(4.0, abs=1e-3), pytest.approx(2.0, abs=1e-3)]}
    assert calls.calls == 0, "it is no part of a step"
    assert calls.site is None


def test_after_a_call_beside_a_loop_calls_count_as_ever(calls, clock):
    assert calls.begin_aside("save", Subject(), sys._getframe(0), 7)
    end(calls)
    assert make(calls, clock, "function", 1.0)
    assert calls.call_s == pytest.approx(1.0, abs=1e-3)


def test_a_call_beside_a_loop_inside_another_call_does_not_count(calls):
    assert calls.begin_aside("save", Subject(), sys._getframe(0), 7)
    assert not calls.begin_aside("predict", Subject(), sys._getframe(0), 7)


@pytest.mark.parametrize(("kind", "counts"), [("save", True), ("predict", False)])
def test_a_save_by_a_callback_of_keras_is_counted_at_the_line_of_fit(calls, kind, counts):
    names = {"calls": calls, "kind": kind, "sys": sys}
    text = "counts = calls.begin_aside(kind, object(), sys._getframe(0), 3)"
    exec(compile(text, "/env/site-packages/keras/src/callbacks/checkpoint.py", "exec"), names)
    assert names["counts"] is counts
    assert [site.place.file for site in calls.aside_sites.values()] == [__file__] * counts


def test_lines_beside_loops_do_not_fill_memory(calls, clock):
    names = {"calls": calls, "sys": sys, "end": end}
    line = "calls.begin_aside('save', object(), sys._getframe(0), 3) and end(calls)"
    exec(compile("\n".join([line] * (MAX_SITES + 50)), "<string>", "exec"), names)
    assert len(calls.aside_sites) == MAX_SITES


# -- threads --------------------------------------------------------------------------------------


def test_every_thread_has_calls_of_its_own(calls):
    found = []
    thread = threading.Thread(target=lambda: found.append(of_this_thread()))
    thread.start()
    thread.join()
    assert found[0] is not calls
    assert of_this_thread() is calls
    assert isinstance(calls, ThreadCalls)


def test_a_function_that_is_being_called_while_a_gradient_is_asked_for_trains(calls):
    assert calls.begin("function", Subject(), sys._getframe(0))
    site = calls.site
    assert not site.trains
    note_training(None, "tape")
    assert site.trains
    assert site.optimizers == []


def test_an_optimizer_that_is_applied_meanwhile_is_kept_even_on_another_thread(calls):
    """A strategy builds its replicas on threads of their own."""
    optimizer = Subject()
    assert calls.begin("function", Subject(), sys._getframe(0))
    thread = threading.Thread(target=note_training, args=[optimizer, "apply"])
    thread.start()
    thread.join()
    assert [reference() for reference in calls.site.optimizers] == [optimizer]


def test_what_is_called_and_is_no_function_does_not_train_by_that(calls):
    assert calls.begin("predict", Subject(), sys._getframe(0))
    note_training(Subject(), "apply")
    assert not calls.site.trains


def test_no_frame_of_a_call_that_does_not_count_is_kept(calls, monkeypatch):
    monkeypatch.setattr(_thread_calls, "user_frame", lambda _: None)
    assert not calls.begin("function", Subject(), sys._getframe())
    assert calls.direct is None
