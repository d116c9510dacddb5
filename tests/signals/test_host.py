"""The line that is named is the most telling one."""

from pathlib import Path

import pytest

from quickfit.signals.host import Frame, SampledStack, hottest_user_line


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
    line = Frame("/home/me/train.py", 5, "rows", is_user=True)
    assert hottest_user_line([SampledStack("main", (made, line), 9)])[0] == line
    assert hottest_user_line([SampledStack("main", (made,), 9)])[0] == made, "python -c"


def test_stacks_without_a_line_of_the_user_name_none():
    assert hottest_user_line([stack(9, "lib:1:f")]) is None
