"""Loops are followed from their first hook to their end, one inside another, in any thread."""

import json
import threading
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import _loops, calls, fit_loop
from quickfit.probes._private import NAMES
from quickfit.probes._state import Loop
from quickfit.recording.schema import columns

from launch.sessions import PATIENCE_S

LOOP_NAMES = [column.name for column in columns("loops")]
STEP_NAMES = [column.name for column in columns("steps")]
CALLBACK_NAMES = [column.name for column in columns("callbacks")]


class CallbackList:
    """Runs hooks as Keras does."""

    def __init__(self, callbacks, model):
        self.callbacks = callbacks
        self._configure_async_dispatch(callbacks)
        self.callbacks.append(History())
        self.model, self.params = model, {"steps": 3, "epochs": 1}

    def _configure_async_dispatch(self, callbacks):
        return None


def iterating(name):
    """Return a hook that runs every callback's own, as each of Keras's does."""
    called = name.removeprefix("_")

    def hook(self):
        for callback in self.callbacks:
            getattr(callback, called, lambda: None)()

    hook.__code__ = hook.__code__.replace(co_name=name)
    return hook


HOOKS = [
    *("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end"),
    *("on_test_begin", "on_test_end", "on_predict_begin", "on_predict_end"),
    *("on_train_batch_begin", "_on_train_batch_end", "on_test_batch_begin", "_on_test_batch_end"),
    *("on_predict_batch_begin", "_on_predict_batch_end"),
]
for hook_name in HOOKS:
    setattr(CallbackList, hook_name, iterating(hook_name))


class History:
    """Does nothing."""


class TensorFlowTrainer:
    """Trains as Keras does, on nothing."""

    name, run_eagerly, jit_compile, optimizer, steps_per_execution = "model", False, False, None, 1

    def fit(self, x=None, y=None, callbacks=(), steps=3, validates=False):
        epoch_iterator = SimpleNamespace(data_adapter=ArrayDataAdapter())
        callbacks = self.lists([*callbacks], self)
        callbacks.on_train_begin()
        callbacks.on_epoch_begin()
        for _ in range(steps):
            callbacks.on_train_batch_begin()
            callbacks._on_train_batch_end()
        if validates:
            callbacks.on_test_begin()
            callbacks.on_test_end()
        callbacks.on_epoch_end()
        callbacks.on_train_end()
        return epoch_iterator

    def count_params(self):
        return 17


class Trainer:
    """The class that Keras compiles a model in."""

    def compile(self, optimizer="rmsprop"):
        return optimizer


class ArrayDataAdapter:
    batch_size = 8


def of_library(function):
    """Return a function as if it were written in an installed package."""
    code = function.__code__.replace(co_filename="/env/site-packages/keras/trainer.py")
    return type(function)(code, function.__globals__, "fit", function.__defaults__)


def stand_ins():
    """Return modules as Keras has them, with classes of their own that may be patched."""
    trainer, lists = ModuleType(fit_loop.TRAINER), ModuleType(fit_loop.CALLBACK_LIST)
    base = ModuleType(fit_loop.BASE_TRAINER)
    own = {"_configure_async_dispatch": CallbackList._configure_async_dispatch}
    lists.CallbackList = type("CallbackList", (CallbackList,), own)
    base.Trainer = type("Trainer", (), {"compile": Trainer.compile})
    trainer.TensorFlowTrainer = type(
        *("TensorFlowTrainer", (TensorFlowTrainer, base.Trainer)),
        {"fit": of_library(TensorFlowTrainer.fit), "lists": lists.CallbackList},
    )
    return trainer, lists, base


@pytest.fixture
def model(state):
    """Return a model whose class and list of callbacks are hooked."""
    modules = stand_ins()
    for module in modules:
        fit_loop.patches()[module.__name__](module)
    probe = state.probes["fit_loop"]
    assert not probe.is_off, probe.detail
    assert {hook.state for hook in state.hooks.values()} == {"active"}
    return modules[0].TensorFlowTrainer()


def loops(state):
    """Return the newest row of each loop."""
    rows = [dict(zip(LOOP_NAMES, row, strict=True)) for row in state.writer.rows("loops")]
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


def test_models_are_numbered_whatever_their_names(model, state):
    model.fit()
    model.fit()
    type(model)().fit()
    first, again, other = (json.loads(loop["facts"])["model_number"] for loop in loops(state))
    assert first == again != other


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


@pytest.mark.parametrize("hook", ["on_train_batch_begin", "on_train_batch_end", "on_epoch_end"])
def test_a_fit_that_raised_is_no_longer_running_when_its_error_is_gone(model, state, hook):
    def interrupt(self):
        raise KeyboardInterrupt

    interrupts = type("Interrupts", (), {hook: interrupt})()
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(callbacks=[interrupts])
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
            both.wait(PATIENCE_S)

        def on_epoch_end(self):
            seen[threading.get_ident()] = state.current_loop().thread
            both.wait(PATIENCE_S)

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
    assert len(state.loops) <= _loops.MAX_LOOPS + 1
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


@pytest.mark.parametrize("hook", ["_on_test_batch_end", "_on_predict_batch_end"])
def test_a_run_is_stopped_when_its_time_is_up_in_validation_and_prediction_too(
    model, state, monkeypatch, hook
):
    stopped = []
    monkeypatch.setattr("quickfit.probes.session.stop_now", lambda: stopped.append(hook))
    monkeypatch.setattr("quickfit.probes.stopping.now", lambda: 50.0)
    own = type(model).lists([], model)
    state.stop_steps, state.stop_at_s = 0, 51.0
    getattr(own, hook)()
    assert stopped == [], "`--steps` counts training steps"
    state.stop_at_s = 50.0
    getattr(own, hook)()
    assert stopped == [hook]


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

    monkeypatch.setattr(_loops, "write", fails)
    model.fit()
    assert state.probes["fit_loop"].state == "failed"
    assert "RuntimeError: ours" in state.probes["fit_loop"].detail


def test_a_missing_name_turns_the_probe_off_and_not_the_script(state):
    fit_loop.patches()[fit_loop.TRAINER](ModuleType(fit_loop.TRAINER))
    probe = state.probes["fit_loop"]
    assert (probe.state, probe.is_off) == ("missing", True)
    name = f"{fit_loop.TRAINER}.TensorFlowTrainer.fit"
    assert probe.detail == f"{name}: no such name"
    assert list(state.hooks.values()) == [(name, "fit_loop", "missing", "no such name")]


@pytest.mark.parametrize("hook", HOOKS)
def test_a_list_of_callbacks_that_is_iterated_in_another_way_is_left_alone(state, hook):
    """Then nothing could be told from the way the list is iterated."""
    _, lists, _ = stand_ins()
    setattr(lists.CallbackList, hook, lambda self: None)
    before = dict(vars(lists.CallbackList))
    fit_loop.patches()[lists.__name__](lists)
    assert state.probes["fit_loop"].state == "missing"
    assert state.probes["fit_loop"].detail.endswith(f".{hook}: it has no callbacks")
    assert dict(vars(lists.CallbackList)) == before


def test_an_outer_loop_that_is_over_does_not_come_back(state):
    outer = Loop(1, "fit", None, 0.0, 0.0, 5, {}, is_over=True)
    inner = Loop(2, "fit", None, 0.0, 0.0, 5, {}, outer=outer)
    state.loop_of_thread[5] = inner
    fit_loop._leave(inner, state)
    assert state.loop_of_thread == {}


def test_the_names_of_keras_that_are_held_on_to_are_noted_as_active(model, state):
    modules = NAMES["fit_loop"].items()
    expected = {f"{module}.{name}" for module, names in modules for name in names}
    assert {hook.name for hook in state.hooks.values()} == expected
    assert {hook.probe for hook in state.hooks.values()} == {"fit_loop"}
    assert state.probes["fit_loop"].active == set(fit_loop.new_probe().needs)


def test_a_step_has_every_column_of_its_table(model, state):
    model.fit()
    width = len(columns("steps"))
    rows = [dict(zip(STEP_NAMES, row, strict=True)) for row in state.writer.rows("steps")]
    assert all(len(row) == width for row in state.writer.rows("steps"))
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert all(row["begin_s"] < row["end_s"] for row in rows)
    assert all(row["callbacks_s"] is not None and row["cpu_s"] is not None for row in rows)


def test_validation_is_timed_and_the_loop_says_what_it_does(model, state):
    phases = []

    class Looks:
        def on_test_begin(self):
            phases.append(state.current_loop().phase)

        def on_epoch_end(self):
            phases.append(state.current_loop().phase)

    model.fit(callbacks=[Looks()], validates=True)
    ((loop, epoch, begin_s, end_s, validation_s),) = state.writer.rows("epochs")
    assert (loop, epoch) == (1, 1)
    assert 0 < validation_s < end_s - begin_s
    assert phases == ["validation", "train"]


def test_while_keras_trains_its_own_calls_make_no_loop(model, state):
    seen = []

    class Looks:
        def on_train_batch_end(self):
            seen.append(calls.of_this_thread().fits)

    model.fit(callbacks=[Looks()], steps=2)
    assert seen == [1, 1]
    assert calls.of_this_thread().fits == 0


def test_a_fit_that_raised_does_not_stop_the_script_from_being_watched(model, state):
    def fails():
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        model.fit(callbacks=[SimpleNamespace(on_train_batch_end=fails)])
    assert calls.of_this_thread().fits == 1
    caught.value.__traceback__ = None
    del caught
    assert calls.of_this_thread().fits == 0


def test_users_callbacks_are_told_from_those_of_keras(model, state):
    class Mine:
        def on_train_batch_end(self):
            """Do nothing."""

    theirs = type("Theirs", (Mine,), {"__module__": "keras.src.callbacks.history"})
    model.fit(callbacks=[Mine(), theirs()])
    rows = [dict(zip(CALLBACK_NAMES, row, strict=True)) for row in state.writer.rows("callbacks")]
    ends = [row for row in rows if row["hook"] == "on_train_batch_end"]
    assert [(row["name"], row["is_user"]) for row in ends[:2]] == [("Mine", 1), ("Theirs", 0)]
    assert all(row["cpu_s"] is not None for row in rows)
