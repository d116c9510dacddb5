"""The timed list of callbacks is a list to everyone, and errors pass through none of our frames."""

import copy
import gc
import itertools
import pickle
import sys
import traceback
import types
import weakref

import pytest

from quickfit.probes import callbacks as cb
from quickfit.probes._state import Loop
from quickfit.recording.schema import columns


class Callback:
    """Takes the time it is told."""

    def __init__(self, clock=None, takes_s=0.0):
        self.clock, self.takes_s = clock, takes_s

    def on_train_batch_begin(self, batch):
        self.work()

    def on_train_batch_end(self, batch):
        self.work()

    def on_epoch_end(self, epoch):
        self.work()

    def work(self):
        if self.clock:
            self.clock.now_s += self.takes_s


class CallbackList:
    """Runs hooks as Keras does; `logs_take` is called where it converts the logs."""

    def __init__(self, callbacks, logs_take=lambda: None):
        self.callbacks = callbacks
        self.logs_take = logs_take

    def on_train_batch_begin(self, batch):
        for callback in self.callbacks:
            callback.on_train_batch_begin(batch)

    def on_train_batch_end(self, batch):
        self._on_train_batch_end(batch)

    def _on_train_batch_end(self, batch):
        self.logs_take()
        for callback in self.callbacks:
            callback.on_train_batch_end(batch)

    def on_epoch_end(self, epoch):
        for callback in self.callbacks:
            callback.on_epoch_end(epoch)


OBSERVERS = {
    "on_train_batch_begin": cb.step_begins,
    "_on_train_batch_end": cb.step_ends,
    "on_epoch_end": lambda callbacks: cb.timed(callbacks, "on_epoch_end"),
}


def watched(callbacks, state, clock, monkeypatch):
    """Return a CallbackList whose list is timed, in a loop; half of all time is CPU time."""
    monkeypatch.setattr(cb, "now", clock)
    monkeypatch.setattr(cb, "thread_time", lambda: clock.now_s / 2)
    owner = CallbackList(None)
    timed = owner.callbacks = cb.TimedCallbacks(callbacks, owner, OBSERVERS)
    timed.loop = Loop(7, "fit", None, 0.0, 0.0, 0, {}, epoch=2)
    timed.end_totals = timed.loop.hook_totals.setdefault("on_train_batch_end", [])
    timed.add_step = state.writer.add_step
    return owner


def step(owner, clock, takes_s, batch=0):
    """Run one step of a train function that takes so long."""
    owner.on_train_batch_begin(batch)
    clock.now_s += takes_s
    owner.on_train_batch_end(batch)


def a_list(callbacks, observers=OBSERVERS):
    return cb.TimedCallbacks(callbacks, CallbackList(None), observers)


def test_it_is_a_list_to_everyone(state):
    timed = a_list([1, 2])
    timed.append(3)
    timed.insert(0, 0)
    timed.extend([4])
    timed.remove(4)
    assert timed == [0, 1, 2, 3] == timed
    assert isinstance(timed, list)
    assert (len(timed), timed[1], timed[1:3], timed.index(2), 3 in timed) == (4, 1, [1, 2], 2, True)
    assert [*timed] == list(timed) == sorted(timed) == [0, 1, 2, 3]
    assert timed + [4] == [0, 1, 2, 3, 4]  # noqa: RUF005
    assert list(reversed(timed)) == [3, 2, 1, 0]
    assert repr(timed) == "[0, 1, 2, 3]"


def test_copies_of_it_are_plain_lists(state):
    timed = a_list([{"a": 1}, "b"])
    for copied in (pickle.loads(pickle.dumps(timed)), copy.copy(timed), copy.deepcopy(timed)):
        assert type(copied) is list
        assert copied == timed
    assert copy.deepcopy(timed)[0] is not timed[0]


def test_the_owner_is_not_kept_alive():
    timed = a_list([])
    assert timed.owner() is None


def test_each_callback_is_timed_by_itself(state, clock, monkeypatch):
    owner = watched(
        [Callback(clock, 2.0), Callback(), Callback(clock, 5.0)], state, clock, monkeypatch
    )
    owner.on_epoch_end(1)
    owner.on_epoch_end(2)
    totals = owner.callbacks.loop.hook_totals["on_epoch_end"]
    assert totals == [[2, 4.0, 2.0], [2, 0.0, 0.0], [2, 10.0, 5.0]]


def rows_of_steps(state):
    """Return the rows of steps by column, one that is not there being empty."""
    names = [column.name for column in columns("steps")]
    rows = state.writer.rows("steps")
    return [dict(itertools.zip_longest(names, row)) for row in rows]


def test_a_step_has_its_call_and_its_callbacks(state, clock, monkeypatch):
    owner = watched([Callback(clock, 2.0), Callback(clock, 1.0)], state, clock, monkeypatch)
    step(owner, clock, 10.0)
    step(owner, clock, 20.0)
    first, second = rows_of_steps(state)
    times = {"begin_s": 100.0, "call_s": 10.0, "callbacks_s": 6.0, "end_s": 116.0}
    cpu = {"callbacks_cpu_s": 1.5, "cpu_s": 58.0}
    whole = {"loop": 7, "epoch": 2, "step": 1, "logs_s": 0.0, "wait_s": None}
    assert first == {**whole, **times, **cpu}
    times = {"begin_s": 116.0, "call_s": 20.0, "callbacks_s": 6.0, "end_s": 142.0}
    assert second == {**whole, **times, "step": 2, "callbacks_cpu_s": 1.5, "cpu_s": 13.0}
    totals = owner.callbacks.loop.hook_totals["on_train_batch_end"]
    assert totals == [[2, 4.0, 2.0], [2, 2.0, 1.0]]


def test_the_first_step_of_an_epoch_has_no_cpu_time_of_what_came_before(state, clock, monkeypatch):
    owner = watched([Callback()], state, clock, monkeypatch)
    step(owner, clock, 10.0)
    clock.now_s += 100.0  # validation
    owner.callbacks.is_new_epoch = True
    step(owner, clock, 10.0)
    assert [row["cpu_s"] for row in rows_of_steps(state)][1] == 5.0


def test_the_time_keras_converts_the_logs_in_is_told_apart(state, clock, monkeypatch):
    def convert():
        clock.now_s += 3.0

    owner = watched([Callback(clock, 1.0)], state, clock, monkeypatch)
    owner.logs_take = convert
    for _ in range(2):
        step(owner, clock, 10.0)
    for row in rows_of_steps(state):
        assert (row["call_s"], row["logs_s"]) == (13.0, 3.0), "the logs are a part of the call"


def test_the_list_of_keras_looks_as_before_when_a_step_has_ended(state, clock, monkeypatch):
    owner = watched([Callback()], state, clock, monkeypatch)
    before = set(vars(owner))
    owner.on_train_batch_begin(0)
    owner.on_train_batch_end(0)
    assert set(vars(owner)) == before


def test_an_error_while_logs_are_converted_shows_no_frame_of_ours(state, clock, monkeypatch):
    def fails():
        raise ValueError("mine")

    owner = watched([Callback()], state, clock, monkeypatch)
    owner.logs_take = fails
    owner.on_train_batch_begin(0)
    with pytest.raises(ValueError, match="mine") as caught:
        owner.on_train_batch_end(0)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == ["on_train_batch_end", "_on_train_batch_end", "fails"]


def test_a_list_of_keras_is_gone_at_once_when_its_train_function_raised(state, clock, monkeypatch):
    """Its end tells that the loop is over; a cycle would put that off for long."""
    owner = watched([Callback()], state, clock, monkeypatch)
    owner.on_train_batch_begin(0)
    gone = weakref.ref(owner)
    gc.disable()
    try:
        del owner
        assert gone() is None
    finally:
        gc.enable()


def test_a_step_that_is_not_watched_in_full_has_no_time_of_its_logs(state, clock, monkeypatch):
    owner = watched([Callback(clock, 1.0)], state, clock, monkeypatch)
    owner.callbacks.watch_at = 10**9
    step(owner, clock, 10.0)
    step(owner, clock, 10.0)
    (row,) = rows_of_steps(state)
    assert (row["call_s"], row["callbacks_s"], row["end_s"]) == (10.0, 2.0, 112.0)
    assert (row["logs_s"], row["callbacks_cpu_s"], row["cpu_s"]) == (None, None, None)


def test_what_to_do_in_the_first_step_of_an_epoch_is_done_once(state, clock, monkeypatch):
    owner = watched([Callback()], state, clock, monkeypatch)
    seen = []
    owner.callbacks.first_step_begins = seen.append
    for _ in range(2):
        owner.callbacks.is_new_epoch = True
        step(owner, clock, 1.0)
        step(owner, clock, 1.0)
    assert seen == [owner.callbacks] * 2


def test_a_step_that_never_ended_is_not_counted(state, clock, monkeypatch):
    """The end of the data is noticed inside the train function, after the step has begun."""
    owner = watched([Callback()], state, clock, monkeypatch)
    step(owner, clock, 1.0)
    owner.on_train_batch_begin(1)
    clock.now_s += 50.0
    step(owner, clock, 1.0)
    assert [row[3] for row in state.writer.rows("steps")] == [100.0, 151.0]


def test_what_to_do_after_a_step_is_done_after_it_was_counted(state, clock, monkeypatch):
    owner = watched([Callback()], state, clock, monkeypatch)
    counted = []
    owner.callbacks.after_step = lambda callbacks: counted.append(len(state.writer.rows("steps")))
    step(owner, clock, 1.0)
    step(owner, clock, 1.0)
    assert counted == [1, 2]


@pytest.mark.parametrize("hook", ["on_train_batch_begin", "_on_train_batch_end", "on_epoch_end"])
def test_an_error_in_a_callback_shows_no_frame_of_ours(hook, state, clock, monkeypatch):
    class Fails(Callback):
        def work(self):
            raise ValueError("mine")

    owner = watched([Callback(), Fails()], state, clock, monkeypatch)
    if hook == "_on_train_batch_end":
        owner.callbacks.begin_s = 1.0
    with pytest.raises(ValueError, match="mine") as caught:
        getattr(owner, hook)(0)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[1:] == [hook, hook.removeprefix("_"), "work"]
    assert state.writer.rows("steps") == []


def test_training_goes_on_after_an_error_that_was_caught(state, clock, monkeypatch):
    fails = Callback()
    fails.on_train_batch_end = lambda batch: 1 / 0
    owner = watched([fails], state, clock, monkeypatch)
    with pytest.raises(ZeroDivisionError):
        step(owner, clock, 1.0)
    del fails.on_train_batch_end
    step(owner, clock, 1.0)
    assert len(state.writer.rows("steps")) == 1


@pytest.mark.parametrize("hook", ["on_train_batch_begin", "_on_train_batch_end", "on_epoch_end"])
def test_a_callback_that_is_added_meanwhile_is_called_at_once(hook, state, clock, monkeypatch):
    """As with any list that grows while it is iterated."""
    called = []

    class Adds(Callback):
        def work(self):
            if not called:
                owner.callbacks.append(Late())
            called.append("adds")

    class Late(Callback):
        def work(self):
            called.append("late")

    owner = watched([Adds()], state, clock, monkeypatch)
    owner.callbacks.begin_s = 1.0
    getattr(owner, hook)(0)
    assert called == ["adds", "late"]
    getattr(owner, hook)(1)
    assert called == ["adds", "late"] * 2


def test_a_callback_that_is_removed_meanwhile_is_not_called(state, clock, monkeypatch):
    class Removes(Callback):
        def work(self):
            owner.callbacks.pop()

    owner = watched([Removes(), Callback()], state, clock, monkeypatch)
    step(owner, clock, 1.0)
    assert len(owner.callbacks) == 0


def test_leaving_the_loop_early_counts_nothing(state, clock, monkeypatch):
    owner = watched([Callback(), Callback()], state, clock, monkeypatch)
    owner.callbacks.begin_s = 1.0

    def _on_train_batch_end():
        for _ in owner.callbacks:
            break

    _on_train_batch_end()
    assert state.writer.rows("steps") == []


@pytest.mark.parametrize("why", ["another function", "paused", "nothing is watched", "no loop"])
def test_nothing_is_timed_when(why, state, clock, monkeypatch):
    owner = watched([Callback(clock, 1.0)], state, clock, monkeypatch)
    loop = owner.callbacks.loop
    state.is_paused = why == "paused"
    if why == "nothing is watched":
        monkeypatch.setattr(cb.Current, "state", None)
    if why == "no loop":
        owner.callbacks.loop = None
    if why == "another function":
        for callback in owner.callbacks:
            callback.on_train_batch_end(0)
    else:
        step(owner, clock, 1.0)
        owner.on_epoch_end(0)
    assert clock.now_s > 100.0, "the callbacks were called"
    assert state.writer.rows("steps") == []
    assert not any(loop.hook_totals.values())


def test_totals_are_written_with_name_and_line(state, clock, monkeypatch):
    owner = watched([Callback(clock, 2.0)], state, clock, monkeypatch)
    loop = owner.callbacks.loop
    loop.callback_places = cb.describe(owner.callbacks)
    state.loops.append(loop)
    step(owner, clock, 1.0)
    cb.write_totals(state)
    rows = {row[2]: row for row in state.writer.rows("callbacks")}
    line = Callback.on_train_batch_end.__code__.co_firstlineno
    row = (7, 0, "on_train_batch_end", "Callback", __file__, line, 1, 2.0, 1.0, None)
    assert rows["on_train_batch_end"] == row
    assert {len(row) for row in rows.values()} == {len(columns("callbacks"))}
    assert state.writer.sources == [__file__] * len(rows)


def test_the_users_callbacks_are_told_from_those_of_libraries(state):
    keras = type("History", (), {"__module__": "keras.src.callbacks.history"})
    similar = type("Log", (), {"__module__": "keras_tools.callbacks"})
    older = type("Board", (), {"__module__": "tensorflow.python.keras.callbacks"})
    timed = a_list([Callback(), keras(), similar(), older()])
    assert cb.are_users(timed) == [1, 0, 1, 0]


def test_totals_say_whose_callback_it_is(state, clock, monkeypatch):
    keras = type("History", (Callback,), {"__module__": "keras.src.callbacks.history"})
    owner = watched([Callback(), keras()], state, clock, monkeypatch)
    loop = owner.callbacks.loop
    loop.callback_places = cb.describe(owner.callbacks)
    loop.callback_is_user = cb.are_users(owner.callbacks)
    owner.on_epoch_end(0)
    cb.write_loop_totals(loop, state)
    assert [row[-1] for row in state.writer.rows("callbacks")] == [1, 0]


@pytest.mark.parametrize("name", ["on_train_batch_begin", "on_batch_begin"])
@pytest.mark.parametrize("where", ["class", "object", "nowhere"])
def test_a_callback_that_does_something_before_a_step_is_noticed(monkeypatch, name, where):
    def base(self, batch):
        """Do nothing."""

    names = {"on_train_batch_begin": base, "on_batch_begin": base}
    keras = types.ModuleType("keras.src.callbacks.callback")
    keras.Callback = type("Callback", (), names)
    monkeypatch.setitem(sys.modules, keras.__name__, keras)
    own = {name: lambda self, batch: None} if where == "class" else {}
    callback = type("Mine", (keras.Callback,), own)()
    if where == "object":
        setattr(callback, name, print)
    assert cb.has_begin_hooks(a_list([callback])) == (where != "nowhere")


def test_hooks_of_a_library_have_no_line(state):
    class FromLibrary:
        on_train_batch_end = staticmethod(pickle.dumps)
        on_epoch_end = traceback.print_exc

    ((name, places),) = cb.describe(a_list([FromLibrary()]))
    assert name == "FromLibrary"
    assert set(places.values()) == {None}


def test_the_older_name_of_a_hook_has_a_line_too(state):
    class Older:
        def on_batch_end(self, batch):
            """Keras calls it from its own `on_train_batch_end`."""

    ((_, places),) = cb.describe(a_list([Older()]))
    assert places["on_train_batch_end"].function == "on_batch_end"
    assert places["on_train_batch_begin"] is None


def test_the_benchmark_runs_the_real_observers(state):
    bench = cb.bench_list(3)
    cb.run_bench_step(bench)
    cb.run_bench_step(bench)
    assert bench.loop.steps == cb.ALL_WATCHED + 2
    assert state.writer.rows("steps") == []


def test_after_the_first_steps_only_some_are_watched_in_full_and_none_is_lost(state):
    """The others have a row as well, settled when the next step begins."""
    observers = {"begin": cb.step_begins, "end": cb.step_ends}
    timed = cb.TimedCallbacks([object()], None, observers)
    timed.loop = Loop(1, "fit", None, 0.0, 0.0, 0, {})
    timed.add_step = state.writer.add_step
    timed.has_begin_hooks = False

    def begin():
        list(timed)

    def end():
        list(timed)

    for _ in range(400):
        begin()
        end()
    timed.settle_last()
    rows = state.writer.rows("steps")
    assert [row[2] for row in rows] == list(range(1, 401))
    watched = [row[2] for row in rows if row[9] is not None]
    assert watched[: cb.ALL_WATCHED] == list(range(1, cb.ALL_WATCHED + 1))
    late = [step for step in watched if step >= cb.ALL_WATCHED]
    distances = [two - one for one, two in itertools.pairwise(late)]
    assert distances == [1 + cb.unwatched_after(step) for step in late[:-1]]
    assert len(set(distances)) > 2, "neither always nor never the n-th"
    assert max(distances) < 40
    assert all(row[8] >= row[3] for row in rows)
