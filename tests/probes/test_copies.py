"""Values that become tensors are timed for a moment now and then; everything is put back."""

import sys
import threading
import traceback
from threading import get_ident
from types import SimpleNamespace

import pytest

from quickfit.probes import _hooks, copies
from quickfit.probes._state import Loop
from quickfit.recording.schema import columns

NAMES = [column.name for column in columns("copies")]


@pytest.fixture
def constants(monkeypatch, clock):
    """Return the module through which values become tensors; each takes as long as it is told."""

    def convert(takes_s):
        if takes_s is None:
            raise ValueError("mine")
        clock.now_s += takes_s
        return takes_s

    module = SimpleNamespace(convert_to_eager_tensor=convert, original=convert)
    monkeypatch.setitem(sys.modules, copies.MODULE, module)
    monkeypatch.setattr(copies, "now", clock)
    monkeypatch.setattr(_hooks, "now", clock)
    return module


@pytest.fixture
def loop(state):
    """Return a loop that is warm."""
    made = Loop(5, "fit", None, 0.0, 0.0, get_ident(), {}, steps=copies.FIRST_STEP)
    state.loops = [made]
    return made


def is_open(constants):
    return constants.convert_to_eager_tensor is not constants.original


def rows(state):
    return [dict(zip(NAMES, row, strict=True)) for row in state.writer.rows("copies")]


def test_copies_are_counted_and_timed(state, constants, loop, clock):
    copies.read(state)
    for takes_s in (0.1, 0.3):
        assert constants.convert_to_eager_tensor(takes_s) == takes_s
    clock.now_s += 1.0
    loop.steps += 4
    copies.read(state)
    (row,) = rows(state)
    assert (row["loop"], row["steps"], row["copies"]) == (5, 4, 2)
    assert row["copies_s"] == pytest.approx(0.4)
    assert row["window_s"] == pytest.approx(1.4)
    assert row["at_s"] == clock.now_s
    assert not is_open(constants)


def test_copies_on_other_threads_are_not_the_loops(state, constants, loop, clock):
    """An input pipeline that runs Python makes tensors as well."""
    copies.read(state)
    thread = threading.Thread(target=constants.convert_to_eager_tensor, args=[0.1])
    thread.start()
    thread.join()
    clock.now_s += 1.0
    loop.steps += 4
    copies.read(state)
    assert [row["copies"] for row in rows(state)] == [0]


@pytest.mark.parametrize("change", ["epoch", "is_over"])
def test_a_look_that_saw_more_than_steps_is_dropped(state, constants, loop, clock, change):
    """Between two epochs or calls, whole datasets may be copied."""
    copies.read(state)
    clock.now_s += 1.0
    loop.steps += 4
    setattr(loop, change, 3)
    copies.read(state)
    assert rows(state) == []
    assert not is_open(constants)


def test_steps_without_a_copy_are_told_as_such(state, constants, loop, clock):
    copies.read(state)
    clock.now_s += 1.0
    loop.steps += 4
    copies.read(state)
    assert [(row["copies"], row["copies_s"]) for row in rows(state)] == [(0, 0)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"steps": copies.FIRST_STEP - 1}, "the first steps"), ({"is_over": True}, "it has ended")],
)
def test_nothing_is_timed_in(state, constants, loop, changes, why):
    for name, value in changes.items():
        setattr(loop, name, value)
    copies.read(state)
    assert not is_open(constants), why


@pytest.mark.parametrize(
    ("elapsed_s", "steps", "is_over", "closes"),
    [
        (copies.WINDOW_S / 2, 50, False, False),
        (1.0, copies.WINDOW_STEPS - 1, False, False),
        (1.0, copies.WINDOW_STEPS, False, True),
        (copies.MAX_WINDOW_S, 0, False, True),
        (0.0, 0, True, True),
    ],
    ids=["too short", "too few steps", "enough", "a very slow step", "the loop has ended"],
)
def test_a_window_closes_when_it_has_seen_enough(
    state, constants, loop, clock, elapsed_s, steps, is_over, closes
):
    copies.read(state)
    clock.now_s += elapsed_s
    loop.steps += steps
    loop.is_over = is_over
    copies.read(state)
    assert is_open(constants) != closes
    assert len(rows(state)) == int(closes and steps > 0)


def test_a_loop_is_looked_at_again_after_a_while(state, constants, loop, clock):
    opened = 0
    for _ in range(40):
        copies.read(state)
        opened += is_open(constants)
        clock.now_s += 1.0
        loop.steps += 10
    assert opened == 3, "at once, and every fifteen seconds"


def test_every_loop_has_its_turn(state, constants, loop, clock):
    state.loops.append(Loop(6, "custom", None, 0.0, 0.0, 1, {}, steps=100))
    for _ in range(4):
        copies.read(state)
        clock.now_s += 1.0
        for each in state.loops:
            each.steps += 10
    assert [row["loop"] for row in rows(state)] == [5, 6]


def test_a_look_is_ended_at_once_before_a_fork(state, constants, loop):
    copies.read(state)
    assert is_open(constants)
    copies.put_back(state)
    assert not is_open(constants)
    copies.put_back(state)
    assert rows(state) == []


def test_an_error_shows_no_frame_of_ours(state, constants, loop):
    copies.read(state)
    with pytest.raises(ValueError, match="mine") as caught:
        constants.convert_to_eager_tensor(None)
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}


def test_a_version_without_this_entrance_is_left_alone(state, loop, monkeypatch):
    module = SimpleNamespace()
    monkeypatch.setitem(sys.modules, copies.MODULE, module)
    copies.read(state)
    copies.read(state)
    assert vars(module) == {}
    assert rows(state) == []


def test_without_tensorflow_nothing_is_timed(state, loop, monkeypatch):
    monkeypatch.delitem(sys.modules, copies.MODULE, raising=False)
    copies.read(state)
    assert rows(state) == []


def test_what_the_script_put_in_its_place_meanwhile_is_not_lost(state, constants, loop, clock):
    """Another tool may patch the same function while a window is open."""
    copies.read(state)
    theirs = constants.convert_to_eager_tensor = lambda value: value
    clock.now_s += 1.0
    loop.steps += 10
    copies.read(state)
    assert constants.convert_to_eager_tensor is theirs


def test_memory_is_bounded(state, constants, loop, monkeypatch):
    monkeypatch.setattr(copies, "MAX_COPIES", 10)
    copies.read(state)
    window = state.kept["copies_window"]
    for _ in range(100):
        constants.convert_to_eager_tensor(0.0)
    assert len(window.copies.times()) == 10


def copied(constants, value, takes_s):
    """Hand a value over as TensorFlow's own function does."""
    return constants.convert_to_eager_tensor(takes_s)


def look(state, loop, clock, copy):
    copies.read(state)
    copy()
    clock.now_s += 1.0
    loop.steps += 4
    copies.read(state)
    (row,) = rows(state)
    return row


def test_a_long_copy_is_told_with_its_size_and_line(state, constants, loop, clock):
    array = SimpleNamespace(nbytes=5_000)
    row = look(state, loop, clock, lambda: copied(constants, array, 0.2))
    assert (row["bytes"], row["line_s"]) == (5_000, pytest.approx(0.2))
    assert row["file"] == __file__
    assert row["line"] == copied.__code__.co_firstlineno + 2
    assert row["outside_s"] == pytest.approx(0.2)
    assert state.writer.sources == [__file__]


def test_numbers_are_only_counted(state, constants, loop, clock):
    row = look(state, loop, clock, lambda: copied(constants, 3.0, 1e-6))
    assert (row["copies"], row["bytes"], row["file"], row["line_s"]) == (1, 0, None, None)


def test_the_line_that_copies_longest_is_told(state, constants, loop, clock):
    def copy():
        copied(constants, SimpleNamespace(nbytes=1), 0.1)
        value = SimpleNamespace(nbytes=2)
        constants.convert_to_eager_tensor(0.3)
        assert value

    row = look(state, loop, clock, copy)
    assert (row["bytes"], row["line_s"]) == (3, pytest.approx(0.3))
    assert row["line"] == copy.__code__.co_firstlineno + 3


def test_a_copy_inside_a_compiled_function_is_not_between_calls(state, constants, loop, clock):
    file = "/usr/lib/python3/site-packages/tensorflow/python/eager/polymorphic_function.py"
    space = {}
    text = "def call(value):\n    return constants.convert_to_eager_tensor(0.2)"
    exec(compile(text, file, "exec"), {"constants": constants}, space)
    row = look(state, loop, clock, lambda: space["call"](SimpleNamespace(nbytes=7)))
    assert (row["outside_s"], row["bytes"]) == (0.0, 7)
    assert row["file"] == __file__


def test_no_size_is_told_where_the_value_has_another_name(state, constants, loop, clock):
    row = look(state, loop, clock, lambda: constants.convert_to_eager_tensor(0.2))
    assert row["bytes"] is None


def test_a_value_that_cannot_be_measured_is_left_alone(state, constants, loop, clock):
    row = look(state, loop, clock, lambda: copied(constants, SimpleNamespace(nbytes="x"), 0.2))
    assert row["copies_s"] == pytest.approx(0.2)
    assert row["file"] is None
