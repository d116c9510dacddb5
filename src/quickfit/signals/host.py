"""Python on the host: which lines take the time, by stack samples."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from quickfit.recording.reader import ProcessRecording


@dataclass(frozen=True)
class Frame:
    """One frame of a sampled stack."""

    file: str
    line: int
    function: str
    is_user: bool


@dataclass(frozen=True)
class SampledStack:
    """A stack, innermost frame first, and how often it was seen while a loop ran."""

    role: str
    frames: tuple[Frame, ...]
    seen: int


# A line that calls several functions tells more than the slowest of them if it has so many times
# its samples, and less than this share of them in one function.
MUCH_MORE, MOST_OF = 2.0, 0.8
COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>")
Place = tuple[str, int]
# The user's frames of a stack, innermost first.
Chain = tuple[Frame, ...]


def chain_of(frames: tuple[Frame, ...]) -> Chain:
    """Return the user's frames of a stack."""
    return tuple(frame for frame in frames if frame.is_user)


class Samples:
    """The stack samples of one process."""

    def __init__(self, process: ProcessRecording) -> None:
        self.process = process

    @cached_property
    def _frames(self) -> dict[int, Frame]:
        return {
            row["id"]: Frame(row["file"], row["line"], row["function"], bool(row["is_user"]))
            for row in self.process.rows("frames")
        }

    @cached_property
    def _stacks(self) -> dict[int, tuple[str, tuple[Frame, ...]]]:
        return {
            row["id"]: (
                row["role"],
                tuple(self._frames[n] for n in row["frames"] if n in self._frames),
            )
            for row in self.process.rows("stacks")
        }

    def between(
        self, begin_s: float, end_s: float, *, outside: Collection[int] = ()
    ) -> list[SampledStack]:
        """Return the stacks seen in a span of time, each with its count.

        A row stands for up to half a second before it, so the last ones come after the span.

        Args:
            begin_s: when the span begins.
            end_s: when it ends.
            outside: loops that are no part of it. After its end, nor are samples of no loop.
        """
        counts: Counter[int] = Counter()
        for row in self.process.rows("samples"):
            is_after = row["loop"] is None and row["at_s"] > end_s and bool(outside)
            if begin_s <= row["at_s"] <= end_s + 1.0 and row["loop"] not in outside:
                counts[row["stack"]] += 0 if is_after else row["seen"]
        return [
            SampledStack(*self._stacks[stack], seen)
            for stack, seen in counts.items()
            if stack in self._stacks and seen
        ]


def hottest_user_line(
    stacks: list[SampledStack], functions: Collection[str] = ()
) -> tuple[Frame, int, int] | None:
    """Return the user's line that tells most about the time, its samples, and all samples.

    That is the innermost line of the user with the most samples, in whichever module. Where its
    caller has at least twice as many, spread over several functions, the caller is the statement
    that has the time: a line that calls five slow helpers, not the slowest of them. A call of
    one function that holds everything, such as `main()`, says less than the line in it.

    Args:
        stacks: the samples.
        functions: count lines of these where they are on a stack, and not what they call.
    """
    chains = []
    for stack in stacks:
        users = _statements(stack.frames)
        named = [frame for frame in users if frame.function in functions]
        users = users[users.index(named[-1]) :] if named else users
        if users:
            chains.append((users, stack.seen))
    lines: Counter[Place] = Counter()
    frames: dict[Place, Frame] = {}
    for users, seen in chains:
        lines[place_of(users[0])] += seen
        frames.setdefault(place_of(users[0]), users[0])
    if not lines:
        return None
    place = max(lines, key=lambda place: lines[place])
    frame = frames[place]
    while (caller := _telling_caller(frame, chains)) is not None:
        frame = caller
    return frame, _samples_at(frame, chains), sum(seen for _, seen in chains)


def place_of(frame: Frame) -> Place:
    """Return file and line of a frame."""
    return frame.file, frame.line


def _statements(frames: tuple[Frame, ...]) -> list[Frame]:
    """Return the user's frames of a stack, without those of comprehensions on the same line.

    Nor what has no file, such as a method that dataclasses has written, if a line in one calls it.
    """
    users = [frame for frame in frames if frame.is_user]
    users = [frame for frame in users if not frame.file.startswith("<string")] or users
    return [
        frame
        for frame, caller in itertools.zip_longest(users, users[1:])
        if caller is None
        or frame.function not in COMPREHENSIONS
        or place_of(frame) != place_of(caller)
    ]


def _telling_caller(frame: Frame, chains: list[tuple[list[Frame], int]]) -> Frame | None:
    """Return the line that calls a line, if it has much more time, in several functions."""
    callers: Counter[Frame] = Counter()
    for users, seen in chains:
        index = _index_of(frame, users)
        if index is not None and index + 1 < len(users):
            callers[users[index + 1]] += seen
    if not callers:
        return None
    caller = max(callers, key=lambda each: callers[each])
    all_seen = _samples_at(caller, chains)
    if all_seen < MUCH_MORE * _samples_at(frame, chains):
        return None
    in_function = 0
    for users, seen in chains:
        index = _index_of(caller, users)
        called = users[index - 1] if index else None
        if called is not None and (called.file, called.function) == (frame.file, frame.function):
            in_function += seen
    return caller if in_function < MOST_OF * all_seen else None


def _index_of(frame: Frame, users: list[Frame]) -> int | None:
    place = place_of(frame)
    return next((n for n, each in enumerate(users) if place_of(each) == place), None)


def _samples_at(frame: Frame, chains: list[tuple[list[Frame], int]]) -> int:
    return sum(seen for users, seen in chains if _index_of(frame, users) is not None)


def package_of(file: str) -> str:
    """Return the installed package a file belongs to, or nothing."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.split(folder, 1)[1].split("/", 1)[0].removesuffix(".py")
    return ""
