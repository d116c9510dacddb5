"""Copies of a step, and the Python that makes what is copied."""

from types import SimpleNamespace

import pytest

from hand_runs import COMPILED_CALL, hand_run
from quickfit.errors import SignalMissing
from quickfit.signals import host_copies as copy_room
from quickfit.signals.host_copies import asks_the_model, guilty_line, host_copies, making

from builders import SCRIPT

SOURCE = """\
def sample():
    rows = pick()
    return tf.constant(rows)

for number in range(100):
    if number:
        step(sample())
    log(number)
train()
"""
COPIED = {"outside_s": 0.06, "bytes": 5_000_000, "file": SCRIPT, "line": 3, "line_s": 0.05}


def loop(stacks=(), **given):
    copied = {**COPIED, **given.pop("copied", {})}
    source = {"source": SOURCE, "head_line": 5, "copies_s": 0.01, "copied": copied}
    return hand_run("custom", **{"stacks": list(stacks), **source, **given})


def test_copies_are_told_per_step():
    seen = host_copies(loop())
    assert (seen.step_s, seen.bytes) == (pytest.approx(0.01), 500_000)
    assert seen.inside_s == pytest.approx(0.004)
    assert seen.location is not None
    assert seen.location.text == "return tf.constant(rows)"


def test_several_looks_are_taken_together():
    signals = loop()
    rows = signals.process.tables["copies"]
    rows.append({**rows[0], "line": 7, "line_s": 0.2, "bytes": 15_000_000})
    seen = host_copies(signals)
    assert seen.bytes == 1_000_000
    assert seen.location is not None
    assert seen.location.line == 7


@pytest.mark.parametrize("copied", [{"bytes": None}, {"loop": 9}])
def test_without_a_look_it_is_not_known(copied):
    with pytest.raises(SignalMissing):
        host_copies(loop(copied=copied))


def test_making_is_told_from_other_lines_of_the_loop_and_from_calls():
    stacks = [((COMPILED_CALL,), 7, 100), ((), 7, 30), ((), 8, 10), ((), 9, 5)]
    signals = loop(stacks, copied={"line": 7})
    where = host_copies(signals).location
    assert where is not None
    made = making(signals, where)
    assert (made.outside, made.making) == (45, 30)
    assert made.line is not None
    assert (made.line.line, made.line_share) == (7, 1.0)


def test_making_in_a_function_that_the_loop_calls():
    stacks = [(((SCRIPT, "sample"),), 7, 30), (((SCRIPT, "log"),), 8, 10)]
    signals = loop(stacks)
    frames = signals.process.tables["frames"]
    # The first is at the line that makes the rows, the others are of the loop.
    frames[0] |= {"line": 3, "is_user": 1}
    frames[2] |= {"line": 50, "is_user": 1}
    where = host_copies(signals).location
    assert where is not None
    made = making(signals, where)
    assert (made.outside, made.making) == (40, 30)
    assert made.line is not None
    assert made.line.line == 3


def test_few_samples_say_it_within_a_wide_interval():
    signals = loop([((), 7, 5)])
    where = host_copies(signals).location
    assert where is not None
    low, high = making(signals, where).interval
    assert (low, high) == (0.0, pytest.approx(0.44, abs=0.01))


@pytest.mark.parametrize(("made_s", "line"), [(0.030, 7), (0.015, 3)])
def test_the_line_that_takes_much_longer_is_named(made_s, line):
    signals = loop([((), 7, 40)])
    seen = host_copies(signals)
    assert seen.location is not None
    signals.process.tables["copies"][0]["line"] = 7
    copied_here = host_copies(signals).location
    assert copied_here is not None
    where = guilty_line(seen, making(signals, copied_here), made_s)
    assert where is not None
    assert where.line == line


@pytest.mark.parametrize(("looks", "expected"), [(0, False), (5, False), (50, True)])
def test_a_loop_that_asks_its_model_is_told(looks, expected):
    calls = [("function", 7, 100, 0.05), ("predict", 8, looks, 0.01)]
    assert asks_the_model(loop(calls=calls)) is expected


def room(monkeypatch, *, free, copied, rss):
    def told(value):
        def ask(signals):
            if value is None:
                raise SignalMissing("it")
            return value

        return ask

    monkeypatch.setattr(copy_room, "free_bytes", told(free))
    looks = SimpleNamespace(bytes=copied) if copied is not None else None
    monkeypatch.setattr(copy_room, "host_copies", told(looks))
    steps, memory = SimpleNamespace(steps=range(100)), SimpleNamespace(rss_bytes=rss)
    return copy_room.has_room_for_copy(SimpleNamespace(steps=steps, memory=memory))


@pytest.mark.parametrize(
    ("free", "copied", "rss"),
    [
        pytest.param(None, 10, 10**9, id="nobody measured"),
        pytest.param(2000, 10, 10**9, id="all steps together copied less"),
        pytest.param(2 * 10**9, 10**9, 10**9, id="the process holds less"),
        pytest.param(2 * 10**9, None, 10**9, id="only the size of the process is known"),
    ],
)
def test_there_is_room_where(monkeypatch, free, copied, rss):
    assert room(monkeypatch, free=free, copied=copied, rss=rss)


def test_there_is_no_room_for_more_than_is_free(monkeypatch):
    assert not room(monkeypatch, free=500, copied=10, rss=10**9)
    assert not room(monkeypatch, free=500, copied=None, rss=10**9)
