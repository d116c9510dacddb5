"""Samples go to the lines that had the time; the line that is named is the most telling one."""

from pathlib import Path

import pytest

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.host import Frame, SampledStack, Samples, hottest_user_line
from quickfit.signals.timed_stacks import timed_stacks

TRAIN = "/home/me/train.py"
LIBRARY = "/x/site-packages/keras/trainer.py"
PLACES = {
    "search": (TRAIN, 7, "rows", 1),
    "append": (TRAIN, 9, "rows", 1),
    "main": (TRAIN, 20, "<module>", 1),
    "fit": (LIBRARY, 3, "fit", 0),
}


def recorded(samples, line_times=()):
    """Return a process with samples of stacks of named frames, and the times of lines."""
    ids = {name: number for number, name in enumerate(PLACES, 1)}
    stacks = [*samples, *(stack for row in line_times for stack in row[:2] if stack)]
    known = {stack: number for number, stack in enumerate(dict.fromkeys(stacks), 1)}
    tables = {
        "frames": [
            {"id": ids[name], "file": file, "line": line, "function": function, "is_user": user}
            for name, (file, line, function, user) in PLACES.items()
        ],
        "stacks": [
            {"id": number, "role": "main", "frames": [ids[name] for name in stack.split()]}
            for stack, number in known.items()
        ],
        "samples": [
            {"at_s": 1.0, "stack": known[stack], "loop": None, "seen": seen}
            for stack, seen in samples.items()
        ],
        "line_times": [
            {"at_s": 1.0, "caught": known.get(caught), "stack": known[ran], "seconds": seconds}
            for caught, ran, seconds in line_times
        ],
    }
    return ProcessRecording(Path("1.sqlite"), {}, tables)


def seen_at(process):
    """Return {line of the innermost frame: samples}."""
    return {stack.frames[0].line: stack.seen for stack in Samples(process).between(0.0, 2.0)}


def test_without_line_times_samples_stay_where_they_were_taken():
    assert seen_at(recorded({"append main": 40, "search main": 2})) == {9: 40, 7: 2}


def test_a_sample_taken_late_goes_to_the_line_that_had_the_time():
    times = [("append main", "search main", 0.09), ("append main", "append main", 0.01)]
    assert seen_at(recorded({"append main": 40}, times)) == {7: 36, 9: 4}


def test_no_sample_is_lost_or_made_by_rounding():
    times = [("append main", "search main", 1.0), ("append main", "append main", 2.0)]
    assert sum(seen_at(recorded({"append main": 7, "main": 1}, times)).values()) == 8


def test_a_sample_in_a_library_keeps_its_frames_where_its_own_line_had_the_time():
    times = [("main", "main", 0.9), ("main", "search main", 0.1)]
    stacks = Samples(recorded({"fit main": 20}, times)).between(0.0, 2.0)
    assert {(s.frames[0].function, s.seen) for s in stacks} == {("fit", 18), ("rows", 2)}


def test_the_seconds_of_a_stack_go_to_the_line_that_had_them():
    times = [("append main", "search main", 1.0)]
    process = recorded({"append main": 20}, times)
    stacks = timed_stacks(process, 0.0, 1.0, wanted=lambda *_: True)
    assert [(stack.frames[0].line, round(stack.seconds, 3)) for stack in stacks] == [(7, 1.0)]


def test_times_of_calls_stand_for_samples_of_their_own():
    samples = Samples(recorded({"append main": 5}, [(None, "search main", 0.25)]))
    assert [(s.frames[0].line, s.seen) for s in samples.timed_calls(0.0, 2.0)] == [(7, 250)]
    assert [s.seen for s in samples.between(0.0, 2.0)] == [5]


def stack(seen, *frames):
    """Return a sampled stack of `file:line:function`s, innermost first; `lib` is a library."""
    made = []
    for text in frames:
        file, line, function = text.split(":")
        made.append(Frame(f"/home/me/{file}.py", int(line), function, file != "lib"))
    return SampledStack("main", tuple(made), seen)


@pytest.mark.parametrize(
    ("stacks", "line", "seen"),
    [
        pytest.param(
            [stack(80, "lib:1:resize", "images:5:load", "train:9:rows"), stack(20, "train:8:rows")],
            ("images", 5), 80, id="the innermost line of the user, in another module",
        ),
        pytest.param(
            [stack(40, "help:1:a", "train:9:hook"), stack(35, "help:5:b", "train:9:hook"),
             stack(25, "help:9:c", "train:9:hook")],
            ("train", 9), 100, id="the line that calls several helpers, not the slowest of them",
        ),
        pytest.param(
            [stack(30, "train:3:main", "train:9:<module>"),
             stack(25, "train:4:main", "train:9:<module>"),
             stack(25, "train:5:main", "train:9:<module>")],
            ("train", 3), 30, id="not the call of the one function that holds everything",
        ),
        pytest.param(
            [stack(30, "train:5:<genexpr>", "train:5:hook"), stack(25, "train:5:hook"),
             stack(45, "train:6:hook")],
            ("train", 5), 55, id="a comprehension is part of its line",
        ),
    ],
)  # fmt: skip
def test_the_most_telling_line_is_named(stacks, line, seen):
    frame, at_it, _ = hottest_user_line(stacks)
    assert (Path(frame.file).stem, frame.line, at_it) == (*line, seen)


def test_a_line_of_a_named_function_is_named_instead_of_what_it_calls():
    stacks = [stack(80, "images:5:load", "train:9:rows"), stack(20, "train:8:rows")]
    frame, seen, total = hottest_user_line(stacks, ["rows"])
    assert (frame.line, seen, total) == (9, 80, 100)


def test_a_method_that_a_library_has_written_belongs_to_the_line_that_calls_it():
    made = Frame("<string>", 2, "__init__", is_user=True)
    line = Frame(TRAIN, 5, "rows", is_user=True)
    assert hottest_user_line([SampledStack("main", (made, line), 9)])[0] == line
    assert hottest_user_line([SampledStack("main", (made,), 9)])[0] == made, "python -c"


def test_stacks_without_a_line_of_the_user_name_none():
    assert hottest_user_line([stack(9, "lib:1:f")]) is None
