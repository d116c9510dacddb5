"""Python on the host: which lines take the time, by stack samples."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
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
# Timed code counts as if it were sampled so often.
TIMED_S = 0.001
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

    @cached_property
    def _ran(self) -> dict[tuple[str, Chain], list[tuple[tuple[Frame, ...], float]]]:
        """By thread and the user's frames of a sample: where the time went that it stands for."""
        windows: dict[tuple[str, Chain], dict[float, dict[tuple[Frame, ...], float]]] = {}
        for row in self.process.rows("line_times"):
            role, caught = self._stacks.get(row["caught"] or 0, ("", ()))
            _, ran = self._stacks.get(row["stack"], ("", ()))
            if caught and ran and row["seconds"] > 0:
                of_line = windows.setdefault((role, chain_of(caught)), {})
                parts = of_line.setdefault(row["at_s"], defaultdict(float))
                parts[ran] += row["seconds"]
        return {key: _usual_parts(list(of_line.values())) for key, of_line in windows.items()}

    def stacks_behind(
        self, role: str, frames: tuple[Frame, ...]
    ) -> list[tuple[tuple[Frame, ...], float]]:
        """Return the stacks that a sample stands for, each with its part of it.

        The sampler waits for Python's lock, so that a thread may be seen a few statements after
        the one that had the time. Where the lines were timed (`probes/line_times.py`), a sample is
        shared out between the stacks that ran before it was taken.
        """
        chain = chain_of(frames)
        # What was caught at its own line keeps its stack, which has all frames of libraries.
        behind: dict[tuple[Frame, ...], float] = defaultdict(float)
        for ran, part in self._ran.get((role, chain), ()):
            behind[frames if chain_of(ran) == chain else ran] += part
        return list(behind.items()) or [(frames, 1.0)]

    def between(self, begin_s: float, end_s: float) -> list[SampledStack]:
        """Return the stacks seen in a span of time, each with its count."""
        counts: Counter[int] = Counter()
        for row in self.process.rows("samples"):
            if begin_s <= row["at_s"] <= end_s + 1.0:
                counts[row["stack"]] += row["seen"]
        found: dict[tuple[str, tuple[Frame, ...]], float] = defaultdict(float)
        for stack, seen in counts.items():
            if stack in self._stacks:
                role, frames = self._stacks[stack]
                for ran, part in self.stacks_behind(role, frames):
                    found[role, ran] += seen * part
        # Whole samples, as many as there were.
        until = [0, *map(round, itertools.accumulate(found.values()))]
        whole = [after - before for before, after in itertools.pairwise(until)]
        return [
            SampledStack(role, frames, seen)
            for (role, frames), seen in zip(found, whole, strict=True)
            if seen
        ]

    def timed_calls(self, begin_s: float, end_s: float) -> list[SampledStack]:
        """Return what ran in the timed calls of input code; a millisecond counts as a sample."""
        times: dict[int, float] = defaultdict(float)
        for row in self.process.rows("line_times"):
            if row["caught"] is None and begin_s <= row["at_s"] <= end_s + 1.0:
                times[row["stack"]] += row["seconds"]
        return [
            SampledStack(*self._stacks[stack], round(seconds / TIMED_S))
            for stack, seconds in times.items()
            if stack in self._stacks and seconds > TIMED_S / 2
        ]


def _usual_parts(
    windows: list[dict[tuple[Frame, ...], float]],
) -> list[tuple[tuple[Frame, ...], float]]:
    """Return where the time before a line usually went, as parts of one.

    Every window counts alike, and the median over them decides: what ran before a loop once, for
    long, says nothing about its other turns.
    """
    shares = [
        {ran: seconds / sum(parts.values()) for ran, seconds in parts.items()} for parts in windows
    ]
    usual = {
        ran: statistics.median(share.get(ran, 0.0) for share in shares)
        for ran in dict.fromkeys(ran for share in shares for ran in share)
    }
    if not any(usual.values()):  # each window saw another stack
        usual = {ran: sum(s.get(ran, 0.0) for s in shares) for ran in usual}
    total = sum(usual.values())
    return [(ran, part / total) for ran, part in usual.items() if part > 0]


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
