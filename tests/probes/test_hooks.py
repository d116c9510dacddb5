"""Hooks notice library code without a frame in a traceback or a change the user could see."""

import _thread
import inspect
import itertools
import time
import traceback
from collections import deque
from threading import Thread, get_ident
from unittest import mock

import pytest

from quickfit.probes import _hooks
from quickfit.probes._hooks import (
    TimedFunction,
    call_once,
    notice_calls,
    paired,
    replace_calls,
    stamper,
    timed_iterator,
    wrap_quick,
)


def functions_below(error):
    """Return the names of the functions an error went through, this test left out."""
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:]


def is_ours(error):
    """Tell whether an error went through the module under test."""
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    return _hooks.__file__ in files


class Stamps:
    """Counts what a timed iterator calls."""

    def __init__(self):
        self.seen = []

    def begin(self):
        self.seen.append("begin")
        return True

    def end(self):
        self.seen.append("end")
        return True

    def exhausted(self):
        self.seen.append("exhausted")

    def over(self, items):
        return timed_iterator(items, self.begin, self.end, self.exhausted)


def test_a_timed_iterator_gives_the_same_items_and_stamps_each():
    stamps = Stamps()
    items = [object(), None, 0]
    assert list(stamps.over(items)) == items
    assert stamps.seen == ["begin", "end"] * 3 + ["begin", "exhausted"]


def test_a_timed_iterator_asks_for_one_item_at_a_time():
    numbers = itertools.count()
    timed = Stamps().over(numbers)
    assert [next(timed), next(timed)] == [0, 1]
    assert next(numbers) == 2


def test_an_error_in_a_timed_generator_shows_no_frame_of_ours():
    def fails():
        yield 1
        raise ValueError("mine")

    stamps = Stamps()
    timed = stamps.over(fails())
    next(timed)
    with pytest.raises(ValueError, match="mine") as caught:
        next(timed)
    assert functions_below(caught.value) == ["fails"]
    assert stamps.seen == ["begin", "end", "begin"]


def test_a_keyboard_interrupt_in_a_timed_generator_passes_through():
    def interrupted():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt) as caught:
        next(Stamps().over(interrupted()))
    assert not is_ours(caught.value)


def test_a_timed_iterator_that_has_ended_stays_ended():
    timed = Stamps().over([])
    with pytest.raises(StopIteration):
        next(timed)
    with pytest.raises(StopIteration):
        next(timed)


def test_a_timed_generator_is_closed_with_its_last_reference():
    closed = []

    def watched():
        try:
            yield from (1, 2)
        finally:
            closed.append(True)

    timed = Stamps().over(watched())
    next(timed)
    del timed
    assert closed == [True]


@pytest.fixture
def noticed():
    """Return a class whose `fit` is noticed, a subclass of it, and what was noticed."""

    class Trainer:
        def fit(self, x, *, epochs=1):
            """Train."""
            return (self, x, epochs)

        def fails(self):
            raise ValueError("mine")

        @classmethod
        def make(cls):
            return cls()

    class Model(Trainer):
        def fit(self, x, **how):
            return super().fit(x, **how)

    seen = []
    for name in ("fit", "fails", "make"):
        notice_calls(Trainer, name, seen.append)
    return Trainer, Model, seen


def test_a_noticed_method_is_seen_just_before_each_call(noticed):
    trainer = noticed[0]()
    assert trainer.fit(3, epochs=2) == (trainer, 3, 2)
    assert trainer.fit(4) == (trainer, 4, 1)
    assert noticed[2] == [trainer, trainer]


def test_a_noticed_method_is_seen_through_super(noticed):
    model = noticed[1]()
    assert model.fit(3) == (model, 3, 1)
    assert noticed[2] == [model]


def test_a_noticed_method_looks_as_before(noticed):
    trainer, _, seen = noticed
    assert str(inspect.signature(trainer.fit)) == "(self, x, *, epochs=1)"
    assert str(inspect.signature(trainer().fit)) == "(x, *, epochs=1)"
    assert inspect.isfunction(trainer.fit)
    assert inspect.ismethod(trainer().fit)
    assert trainer.fit.__doc__ == "Train."
    instance = trainer()
    seen.clear()
    assert trainer.fit(instance, 1) == (instance, 1, 1)
    assert seen == [], "a look-up on the class is no call on an object"


def test_a_noticed_class_method_still_gets_the_class(noticed):
    assert type(noticed[0]().make()) is noticed[0]
    assert type(noticed[1].make()) is noticed[1]


def test_an_error_below_a_noticed_method_shows_no_frame_of_ours(noticed):
    with pytest.raises(ValueError, match="mine") as caught:
        noticed[0]().fails()
    assert functions_below(caught.value) == ["fails"]


def test_a_noticed_method_is_noticed_once_however_often_it_is_hooked(noticed):
    trainer, _, seen = noticed
    notice_calls(trainer, "fit", seen.append)
    trainer().fit(1)
    assert len(seen) == 1


def test_a_noticed_method_can_be_replaced_and_put_back(noticed):
    trainer, _, seen = noticed
    with mock.patch.object(trainer, "fit", return_value="fake"):
        assert trainer().fit(1) == "fake"
    assert seen == []
    instance = trainer()
    assert instance.fit(1) == (instance, 1, 1)
    assert seen == [instance]
    instance.fit = lambda x: "own"
    assert instance.fit(1) == "own"


def test_wrapping_a_quick_function_keeps_what_it_looks_like_and_returns():
    def device(name="CPU", *more):
        """Choose."""
        return [name, *more]

    seen = []
    module = mock.Mock(device=device)
    wrap_quick(module, "device", lambda result, *args: seen.append((result, args)))
    assert module.device("GPU", 1) == ["GPU", 1]
    assert module.device(name="TPU") == ["TPU"]
    assert seen == [(["GPU", 1], ("GPU", 1)), (["TPU"], ())]
    assert inspect.signature(module.device) == inspect.signature(device)
    assert (module.device.__name__, module.device.__doc__) == ("device", "Choose.")


@pytest.fixture
def timed(clock, monkeypatch):
    """Return a function that is timed, which takes as long as it is told, and its times."""
    monkeypatch.setattr(_hooks, "now", clock)

    def convert(value, takes_s=1.0, *, inner=None):
        """Convert."""
        clock.now_s += takes_s
        if inner is not None:
            inner()
        if value is None:
            raise ValueError("mine")
        return [value]

    stamps = deque(maxlen=10)
    return TimedFunction(convert, stamps, get_ident()), stamps


def times(stamps):
    return [took_s for _, took_s in paired(stamps)]


def test_a_timed_function_returns_what_it_returned_and_each_call_is_timed(timed):
    function, stamps = timed
    assert function(3) == [3]
    assert function(4, takes_s=2.5) == [4]
    assert times(stamps) == [1.0, 2.5]


def test_an_error_in_a_timed_function_shows_no_frame_of_ours_and_is_timed(timed):
    function, stamps = timed
    with pytest.raises(ValueError, match="mine") as caught:
        function(None)
    assert functions_below(caught.value) == ["convert"]
    assert times(stamps) == [1.0]


def test_a_wrong_argument_of_a_timed_function_is_told_as_ever(timed):
    with pytest.raises(TypeError, match=r"convert\(\) got an unexpected keyword argument 'odd'"):
        timed[0](1, odd=2)


def test_timed_calls_inside_timed_calls_are_timed_each(timed):
    function, stamps = timed
    function(1, inner=lambda: function(2, takes_s=4.0))
    assert times(stamps) == [4.0, 5.0]


def test_the_times_of_a_function_that_is_called_very_often_stay_bounded(timed):
    function, stamps = timed
    for _ in range(100):
        function(1)
    assert len(times(stamps)) == 5


def test_a_function_is_timed_only_where_that_is_wanted(timed):
    function, stamps = timed
    frames = []
    wanted = TimedFunction(
        function.__wrapped__, stamps, get_ident(), lambda frame: not frames.append(frame.f_lineno)
    )
    wanted(1)
    unwanted = TimedFunction(function.__wrapped__, stamps, get_ident(), lambda frame: False)
    unwanted(1)
    assert times(stamps) == [1.0]
    assert len(frames) == 1


class OnceEachTime:
    """Gives a new object for each call, as a watched method does."""

    def __init__(self, make):
        self.make = make

    @property
    def __call__(self):
        return self.make()


@pytest.mark.parametrize("kind", ["timed", "once"])
def test_a_ctrl_c_during_a_call_into_c_reaches_the_script(kind):
    """A finalizer in Python would be the first code to run after it, and swallow the interrupt."""
    stamps = deque()
    interrupt = _thread.interrupt_main  # it only marks the signal as one to be handled
    if kind == "timed":
        call = TimedFunction(interrupt, stamps, get_ident())
    else:
        ends = stamper(stamps, time.perf_counter)
        call = OnceEachTime(lambda: call_once(interrupt, ends))
    with pytest.raises(KeyboardInterrupt):
        call()
    assert stamps[-1] > 0, "the end was noted all the same"


def test_calls_that_have_not_ended_have_no_time():
    assert paired([-1.0, -2.0, 3.0]) == [(1, 1.0)]
    assert paired([5.0, -6.0, 8.0, -9.0]) == [(0, 2.0)]
    assert paired([-1.0, 2.0, -3.0, -4.0, 6.0, 9.0]) == [(0, 1.0), (2, 2.0), (1, 6.0)]


def test_a_timed_function_looks_as_before(timed):
    function, _ = timed
    assert str(inspect.signature(function)) == "(value, takes_s=1.0, *, inner=None)"
    assert inspect.unwrap(function).__doc__ == "Convert."
    assert callable(function)


def test_calls_from_another_thread_are_not_timed(timed):
    function, stamps = timed
    found = []
    thread = Thread(target=lambda: found.append(function(3)))
    thread.start()
    thread.join()
    assert found == [[3]]
    assert times(stamps) == []


def test_a_timed_function_may_be_handed_to_others(timed):
    function, stamps = timed
    assert list(map(function, [1, 2])) == [[1], [2]]
    assert times(stamps) == [1.0, 1.0]


def test_what_is_looked_up_may_be_another_for_some_objects_and_leaves_no_frame():
    class Reader:
        def read(self):
            raise ValueError("no data")

    asked = []

    def choose(reader, frame):
        asked.append((reader, frame.f_code.co_name))
        return (lambda: "chosen") if reader is first else None

    first, second = Reader(), Reader()
    replace_calls(Reader, "read", choose)
    assert first.read() == "chosen"
    with pytest.raises(ValueError, match="no data") as raised:
        second.read()
    assert [entry.name for entry in raised.traceback][1:] == ["read"]
    assert [name for _, name in asked] == 2 * [asked[0][1]]
    assert inspect.unwrap(Reader.read).__name__ == "read"
