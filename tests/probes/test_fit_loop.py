"""Loops are followed from their first hook to their end, one inside another, in any thread."""

import threading
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import fit_loop
from quickfit.probes._state import Loop
from quickfit.recording.schema import columns

NAMES = [column.name for column in columns("loops")]


class CallbackList:
    """Runs hooks as Keras does."""

    def __init__(self, callbacks, model):
        self.callbacks = callbacks
        self._configure_async_dispatch(callbacks)
        self.callbacks.append(History())
        self.model, self.params = model, {"steps": 3, "epochs": 1}

    def _configure_async_dispatch(self, callbacks):
        return None

    def on_train_begin(self):
        for callback in self.callbacks:
            getattr(callback, "on_train_begin", lambda: None)()

    def on_train_batch_begin(self):
        for callback in self.callbacks:
            getattr(callback, "on_train_batch_begin", lambda: None)()

    def _on_train_batch_end(self):
        for callback in self.callbacks:
            getattr(callback, "on_train_batch_end", lambda: None)()

    def on_epoch_begin(self):
        for callback in self.callbacks:
            getattr(callback, "on_epoch_begin", lambda: None)()

    def on_epoch_end(self):
        for callback in self.callbacks:
            getattr(callback, "on_epoch_end", lambda: None)()

    def on_train_end(self):
        for callback in self.callbacks:
            getattr(callback, "on_train_end", lambda: None)()


class History:
    """Does nothing."""


class TensorFlowTrainer:
    """Trains as Keras does, on nothing."""

    name, run_eagerly, jit_compile, optimizer, steps_per_execution = "model", False, False, None, 1

    def fit(self, callbacks=(), steps=3):
        epoch_iterator = SimpleNamespace(data_adapter=ArrayDataAdapter())
        callbacks = self.lists([*callbacks], self)
        callbacks.on_train_begin()
        callbacks.on_epoch_begin()
        for _ in range(steps):
            callbacks.on_train_batch_begin()
            callbacks._on_train_batch_end()
        callbacks.on_epoch_end()
        callbacks.on_train_end()
        return epoch_iterator

    def count_params(self):
        return 17


class ArrayDataAdapter:
    batch_size = 8


def of_library(function):
    """Return a function as if it were written in an installed package."""
    code = function.__code__.replace(co_filename="/env/site-packages/keras/trainer.py")
    return type(function)(code, function.__globals__, "fit", function.__defaults__)


@pytest.fixture
def model(state):
    """Return a model whose class and list of callbacks are hooked."""
    trainer, lists = ModuleType(fit_loop.TRAINER), ModuleType(fit_loop.CALLBACK_LIST)
    own = {"_configure_async_dispatch": CallbackList._configure_async_dispatch}
    lists.CallbackList = type("CallbackList", (CallbackList,), own)
    trainer.TensorFlowTrainer = type(
        *("TensorFlowTrainer", (TensorFlowTrainer,)),
        {"fit": of_library(TensorFlowTrainer.fit), "lists": lists.CallbackList},
    )
    for module in (trainer, lists):
        fit_loop.patches()[module.__name__](module)
    assert not state.probes["fit_loop"].is_off
    return trainer.TensorFlowTrainer()


def loops(state):
    """Return the newest row of each loop."""
    rows = [dict(zip(NAMES, row, strict=True)) for row in state.writer.rows("loops")]
    return list({row["id"]: row for row in rows}.values())


def test_a_fit_is_a_loop_with_its_line_its_steps_and_its_end(model, state):
    model.fit()
    line = test_a_fit_is_a_loop_with_its_line_its_steps_and_its_end.__code__.co_firstlineno + 1
    (loop,) = loops(state)
    assert (loop["file"], loop["line"], loop["kind"]) == (__file__, line, "fit")
    assert loop["entered_s"] <= loop["begin_s"] <= loop["first_step_s"] <= loop["end_s"]
    assert '"input": "arrays"' in loop["facts"]
    assert '"parameters": 17' in loop["facts"]
    assert len(state.writer.rows("steps")) == 3
    assert len(state.writer.rows("epochs")) == 1
    assert state.current_loop() is None
    assert state.active_loops() == []


def test_a_model_that_is_built_in_its_first_step_gets_its_parameters_then(model, state):
    class Builds:
        def on_train_batch_begin(self):
            type(model).count_params = TensorFlowTrainer.count_params

    def unbuilt(self):
        raise ValueError("build the model first")

    type(model).count_params = unbuilt
    model.fit(callbacks=[Builds()])
    assert '"parameters": 17' in loops(state)[0]["facts"]


def test_a_fit_inside_a_callback_gives_the_thread_back_to_the_outer_one(model, state):
    seen = []

    class Nested:
        def on_epoch_end(self):
            seen.append(state.current_loop().id)
            model.fit(steps=1)
            seen.append(state.current_loop().id)

    model.fit(callbacks=[Nested()])
    assert seen == [1, 1]
    assert state.current_loop() is None
    assert all(loop["end_s"] for loop in loops(state))


def test_a_fit_that_raised_is_no_longer_running_when_its_error_is_gone(model, state):
    class Interrupts:
        def on_train_batch_end(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(callbacks=[Interrupts()])
    caught.value.__traceback__ = None
    del caught
    assert state.current_loop() is None
    assert state.active_loops() == []
    assert loops(state)[0]["end_s"] is None, "it did not come to its end"


def test_loops_of_two_threads_do_not_meet(model, state):
    both = threading.Barrier(2)
    seen = {}

    class Meets:
        def on_train_begin(self):
            both.wait(20)

        def on_epoch_end(self):
            seen[threading.get_ident()] = state.current_loop().thread
            both.wait(20)

    threads = [
        threading.Thread(target=model.fit, kwargs={"callbacks": [Meets()]}) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2
    assert all(mine == loops_thread for mine, loops_thread in seen.items())
    assert [loop["end_s"] is not None for loop in loops(state)] == [True, True]


def test_a_script_that_fits_a_thousand_times_does_not_fill_memory(model, state):
    for _ in range(200):
        model.fit(steps=1)
    assert len(loops(state)) == 200
    assert len(state.loops) <= fit_loop.MAX_LOOPS + 1
    assert all(loop["end_s"] for loop in loops(state))


def test_totals_of_callbacks_are_written_when_a_loop_ends(model, state):
    for _ in range(5):
        model.fit(steps=2)
    ends = [row for row in state.writer.rows("callbacks") if row[2] == "on_train_batch_end"]
    assert [(row[0], row[6]) for row in ends] == [(number, 2) for number in range(1, 6)]


def test_a_run_is_stopped_after_the_steps_the_user_counts(model, state, monkeypatch):
    class Stopped(BaseException):
        pass

    def stop():
        raise Stopped

    monkeypatch.setattr("quickfit.probes.session.stop_now", stop)
    state.stop_steps = 30
    type(model).steps_per_execution = 4
    with pytest.raises(Stopped):
        model.fit(steps=100)
    assert len(state.writer.rows("steps")) == 8, "eight calls of four steps"


def test_a_list_of_callbacks_that_the_user_drives_is_no_loop(model, state):
    own = type(model).lists([], model)
    own.on_train_begin()
    own.on_train_batch_begin()
    own._on_train_batch_end()
    own.on_train_end()
    assert loops(state) == []
    assert state.writer.rows("steps") == []


def test_an_error_of_ours_does_not_reach_the_script(model, state, monkeypatch):
    def fails(*args):
        raise RuntimeError("ours")

    monkeypatch.setattr(fit_loop, "_write_loop", fails)
    model.fit()
    assert state.probes["fit_loop"].state == "failed"
    assert "RuntimeError: ours" in state.probes["fit_loop"].detail


def test_a_missing_name_turns_the_probe_off_and_not_the_script(state):
    fit_loop.patches()[fit_loop.TRAINER](ModuleType(fit_loop.TRAINER))
    assert state.probes["fit_loop"].state == "failed"
    assert "TensorFlowTrainer" in state.probes["fit_loop"].detail


def test_an_outer_loop_that_is_over_does_not_come_back(state):
    outer = Loop(1, "fit", None, 0.0, 0.0, 5, {}, is_over=True)
    inner = Loop(2, "fit", None, 0.0, 0.0, 5, {}, outer=outer)
    state.loop_of_thread[5] = inner
    fit_loop._leave(inner, state)
    assert state.loop_of_thread == {}
