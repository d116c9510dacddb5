"""The timed list of callbacks is a list to everyone, and errors pass through none of our frames."""

import copy
import itertools
import pickle
import traceback

import pytest

from quickfit.probes import callbacks as cb
from quickfit.probes._state import Loop


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
    """Runs hooks as Keras does."""

    def __init__(self, callbacks):
        self.callbacks = callbacks

    def on_train_batch_begin(self, batch):
        for callback in self.callbacks:
            callback.on_train_batch_begin(batch)

    def _on_train_batch_end(self, batch):
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
    """Return a CallbackList whose list is timed, in a loop."""
    monkeypatch.setattr(cb, "now", clock)
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
    owner._on_train_batch_end(batch)


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
    assert owner.callbacks.loop.hook_totals["on_epoch_end"] == [[2, 4.0], [2, 0.0], [2, 10.0]]


def test_a_step_has_its_call_and_its_callbacks(state, clock, monkeypatch):
    monkeypatch.setattr(cb, "thread_time", iter([50.0, 51.0, 60.0, 63.0]).__next__)
    owner = watched([Callback(clock, 2.0), Callback(clock, 1.0)], state, clock, monkeypatch)
    step(owner, clock, 10.0)
    step(owner, clock, 20.0)
    first, second = state.writer.rows("steps")
    #       loop epoch step begin call logs callbacks CPU end CPU
    assert first == (7, 2, 1, 100.0, 10.0, None, 6.0, 1.0, 116.0, 51.0)
    assert second == (7, 2, 2, 116.0, 20.0, None, 6.0, 3.0, 142.0, 12.0)
    assert owner.callbacks.loop.hook_totals["on_train_batch_end"] == [[2, 4.0], [2, 2.0]]


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
    row = (7, 0, "on_train_batch_end", "Callback", __file__, line, 1, 2.0)
    assert rows["on_train_batch_end"] == row
    assert state.writer.sources == [__file__] * len(rows)


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
    assert all(5 <= distance <= 11 for distance in _distances(watched))
    assert all(row[8] >= row[3] for row in rows)


def _distances(steps):
    late = [step for step in steps if step >= cb.ALL_WATCHED]
    return [two - one for one, two in itertools.pairwise(late)]
