"""Calls are watched without a frame of ours, and methods stay what they were to the script."""

import copy
import functools
import inspect
import pickle
import sys
import threading
import traceback
import types
from types import ModuleType

import pytest

from probes.stand_ins import Library
from quickfit.probes import _thread_calls, calls
from quickfit.probes._state import Loop


@pytest.fixture
def tf(state, monkeypatch):
    """Return libraries whose calls are watched."""
    yield Library(state, monkeypatch)
    _thread_calls.threads.clear()


class Plain:
    """A class of a library."""

    def __init__(self, name="plain"):
        self.name = name

    def work(self, x, y=2, *, z=3):
        """Work."""
        if x is None:
            raise ValueError("mine")
        return (self.name, x, y, z)

    def __call__(self, x):
        if x is None:
            raise ValueError("mine")
        return x

    def __eq__(self, other):
        return isinstance(other, Plain) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


@pytest.fixture
def plain(tf, monkeypatch):
    """Return a class like that one, watched."""
    monkeypatch.setattr(Plain, "work", calls._Watched(vars(Plain)["work"], "train"))
    monkeypatch.setattr(Plain, "__call__", calls._WatchedSlot(vars(Plain)["__call__"], "function"))
    return Plain


def counted(tf, kind):
    tf.finish()
    return tf.called(kind)[0]


def names_below(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:]


# -- what the script sees -------------------------------------------------------------------------


def test_a_watched_method_returns_what_it_returned(plain, tf):
    thing = plain()
    assert thing.work(1) == ("plain", 1, 2, 3)
    assert thing.work(1, y=5, z=6) == ("plain", 1, 5, 6)
    assert thing(7) == 7
    assert counted(tf, "train") == 2
    assert counted(tf, "function") == 1


@pytest.mark.parametrize("how", ["method", "slot", "kept", "partial"])
def test_an_error_passes_without_a_frame_of_ours(plain, how):
    thing = plain()
    kept = thing.work
    ways = {
        "method": lambda: thing.work(None),
        "slot": lambda: thing(None),
        "kept": lambda: kept(None),
        "partial": functools.partial(thing.work, None),
    }
    with pytest.raises(ValueError, match="mine") as caught:
        ways[how]()
    below = [name for name in names_below(caught.value) if name != "<lambda>"]
    assert below == ["__call__" if how == "slot" else "work"]
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}


def test_after_an_error_the_next_call_is_watched(plain, tf):
    thing = plain()
    for x in (None, 1, None, 1):
        try:
            thing.work(x)
        except ValueError:
            continue
    tf.finish()
    assert sum(row["calls"] for row in tf.calls().values()) == 4
    assert not tf.state.probes["calls"].is_off


def test_the_wrong_arguments_are_told_as_ever(plain):
    with pytest.raises(TypeError, match=r"Plain\.work\(\) got an unexpected keyword argument 'w'"):
        plain().work(1, w=2)


def test_a_method_that_is_kept_is_watched_at_every_call(plain, tf):
    work = plain().work
    for number in range(5):
        assert work(number)[1] == number
    assert counted(tf, "train") == 5


def test_a_method_looks_as_before(plain):
    thing = plain()
    assert str(inspect.signature(plain.work)) == "(self, x, y=2, *, z=3)"
    assert str(inspect.signature(thing.work)) == "(x, y=2, *, z=3)"
    assert inspect.isfunction(plain.work)
    assert (thing.work.__name__, thing.work.__doc__) == ("work", "Work.")
    assert thing.work.__qualname__ == "Plain.work"
    assert thing.work.__self__ is thing
    assert thing.work.__func__ is plain.work
    assert callable(thing.work)
    assert repr(thing.work).startswith("<bound method Plain.work of")


def test_a_bound_method_is_one_to_those_who_ask_for_its_type(plain):
    """As `tf.function` and AutoGraph do."""
    work = plain().work
    assert inspect.ismethod(work)
    assert isinstance(work, types.MethodType)
    assert str(inspect.signature(work, follow_wrapped=False)) == "(x, y=2, *, z=3)"
    assert inspect.getfullargspec(work).args == ["self", "x", "y"]
    assert work.__module__ == __name__


def test_bound_methods_are_equal_as_ever(plain):
    one, other = plain("one"), plain("other")
    assert one.work == one.work
    assert one.work != other.work
    assert one.work == one.work.__wrapped__
    assert len({one.work, one.work, other.work}) == 2


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda method: pickle.loads(pickle.dumps(method))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_bound_method_can_be_copied(plain, duplicate):
    work = plain("mine").work
    assert duplicate(work)(1) == ("mine", 1, 2, 3)


def test_a_call_of_the_class_itself_is_the_plain_function(plain, tf):
    assert plain.work(plain(), 1) == ("plain", 1, 2, 3)
    assert plain.__call__(plain(), 3) == 3
    assert counted(tf, "train") == 0


def test_a_subclass_may_call_its_parents_method(plain, tf):
    class Child(plain):
        def work(self, x):
            return super().work(x, y=9)

    assert Child().work(1) == ("plain", 1, 9, 3)
    assert counted(tf, "train") == 1


def test_a_method_may_be_replaced_on_an_object_or_its_class(plain, monkeypatch):
    thing = plain()
    thing.work = lambda x: "own"
    assert thing.work(1) == "own"
    monkeypatch.setattr(plain, "work", lambda self, x: "class")
    assert plain().work(1) == "class"


def test_a_method_may_be_handed_to_another_thread(plain, tf):
    found = []
    work = plain().work
    thread = threading.Thread(target=lambda: found.append(work(1)))
    thread.start()
    thread.join()
    assert found == [("plain", 1, 2, 3)]
    assert counted(tf, "train") == 1


# -- what is counted ------------------------------------------------------------------------------


def test_a_call_inside_a_watched_call_is_not_counted_again(tf):
    model = tf.Model()
    model.evaluate(1)  # calls `test_on_batch`
    tf.Checkpoint().save("a")  # calls `write`
    tf.finish()
    assert tf.called("evaluate") == (1, pytest.approx(0.03, abs=1e-3))
    assert tf.called("save") == (1, pytest.approx(0.2, abs=1e-3))
    assert tf.called("test") == (0, 0)


def test_the_time_keras_takes_for_its_logs_is_added_up_for_the_thread(tf):
    tf.Model().train_on_batch(1)
    (thread,) = _thread_calls.threads.values()
    thread.settle()
    assert thread.logs_s == pytest.approx(0.01, abs=1e-3)


def test_logs_that_the_script_converts_itself_are_not_timed(tf):
    assert tf.pythonify_logs({"loss": 1}) == {"loss": 1}
    assert all(thread.logs_s == 0.0 for thread in _thread_calls.threads.values())


def test_nothing_is_counted_while_quickfit_pauses_or_is_off(tf, state):
    state.is_paused = True
    tf.Model().save("a")
    state.is_paused = False
    state.probes["calls"].turn_off("failed", "for a test")
    tf.Model().save("a")
    assert counted(tf, "save") == 0


def test_nothing_is_counted_in_a_process_that_is_not_watched(tf, monkeypatch):
    monkeypatch.setattr(calls.Current, "state", None)
    assert tf.Model().predict(1) is None
    assert _thread_calls.threads == {}


def test_an_error_of_ours_turns_the_probe_off_and_does_not_reach_the_script(tf, state, monkeypatch):
    def fails(*args):
        raise RuntimeError("ours")

    monkeypatch.setattr(_thread_calls.ThreadCalls, "begin", fails)
    assert tf.compiled()(1) == 0.5
    assert state.probes["calls"].state == "failed"
    assert "RuntimeError: ours" in state.probes["calls"].detail
    assert tf.compiled()(1) == 0.5


# -- inside `fit` ---------------------------------------------------------------------------------


@pytest.fixture
def fit(tf, state):
    """Pretend that Keras trains on this thread, in loop 4."""
    thread = threading.get_ident()
    state.loop_of_thread[thread] = Loop(4, "fit", None, 0.0, 0.0, thread, {})
    calls.enter_fit(thread, 1)
    return tf


def test_inside_fit_only_what_a_callback_does_aside_counts(fit):
    fit.Model().save("a")
    fit.Model().predict(1)
    fit.Model().evaluate(1)
    fit.compiled()(1)
    fit.Model().train_on_batch(1)
    list(fit.data(3))
    fit.finish()
    found = {row["kind"]: (row["loop"], row["calls"]) for row in fit.calls().values()}
    assert found == {"save": (4, 1), "predict": (4, 1), "evaluate": (4, 1)}


def test_inside_fit_an_error_of_ours_does_not_reach_the_script(fit, state, monkeypatch):
    def fails(*args):
        raise RuntimeError("ours")

    monkeypatch.setattr(_thread_calls.ThreadCalls, "begin_aside", fails)
    fit.Model().save("a")
    assert state.probes["calls"].state == "failed"


def test_after_fit_calls_count_as_ever(fit):
    calls.enter_fit(threading.get_ident(), -1)
    fit.compiled()(1)
    assert counted(fit, "function") == 1


def test_a_fit_that_ends_twice_does_not_go_below_none(tf):
    calls.enter_fit(threading.get_ident(), -1)
    calls.enter_fit(threading.get_ident(), 1)
    assert _thread_calls.of_this_thread().fits == 1


def test_a_fit_that_ends_on_a_thread_that_is_unknown_is_nothing(tf):
    calls.enter_fit(12345, 1)
    assert 12345 not in _thread_calls.threads


# -- patching -------------------------------------------------------------------------------------


def test_a_module_that_is_patched_twice_is_watched_once(tf, state):
    module = ModuleType(calls.MODELS)
    module.Model = tf.Model
    before = vars(tf.Model)["save"]
    calls._patch(module)
    assert vars(tf.Model)["save"] is before


def test_a_method_that_has_moved_to_another_class_is_not_patched_there(state, monkeypatch):
    """Only what the class itself has: its parent's may be another's as well."""
    Library(state, monkeypatch)
    module = ModuleType(calls.CHECKPOINTS)
    exec("class Base:\n    def save(self, file_prefix): ...\n    write = save\n", vars(module))
    exec("class Checkpoint(Base): ...\n", vars(module))
    calls.patches()[calls.CHECKPOINTS](module)
    assert state.probes["calls"].is_off
    assert "save" not in vars(module.Checkpoint)
    assert isinstance(vars(module.Base)["save"], types.FunctionType)


def test_a_forked_child_begins_without_the_threads_of_its_parent(tf):
    tf.compiled()(1)
    assert _thread_calls.threads
    calls.forget()
    assert _thread_calls.threads == {}


def test_no_reference_to_what_is_called_is_kept(tf):
    before = sys.getrefcount(tf)
    for _ in range(50):
        tf.compiled()(1)
        tf.Model().predict(1)
    assert sys.getrefcount(tf) <= before + 2


@pytest.mark.parametrize(("kind", "expected"), [("session", 3), ("function", 0)])
def test_a_session_counts_although_a_graph_is_being_built(tf, monkeypatch, kind, expected):
    monkeypatch.setattr(_thread_calls, "is_eager", lambda: False)
    monkeypatch.setattr(Plain, "work", calls._Watched(vars(Plain)["work"], kind))
    for number in range(3):
        Plain().work(number)
    tf.finish()
    assert sum(row[5] for row in tf.state.writer.rows("calls") if row[1] == kind) == expected
