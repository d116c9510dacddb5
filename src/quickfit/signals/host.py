"""Python on the host: which lines take the time, by stack samples."""

from __future__ import annotations

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

    def between(self, begin_s: float, end_s: float) -> list[SampledStack]:
        """Return the stacks seen in a span of time, each with its count."""
        counts: Counter[int] = Counter()
        for row in self.process.rows("samples"):
            if begin_s <= row["at_s"] <= end_s + 1.0:
                counts[row["stack"]] += row["seen"]
        return [
            SampledStack(*self._stacks[stack], seen)
            for stack, seen in counts.items()
            if stack in self._stacks
        ]


def hottest_user_line(
    stacks: list[SampledStack], functions: Collection[str] = ()
) -> tuple[Frame, int, int] | None:
    """Return the user's line that most samples are at or below, its count, and all counts.

    Args:
        stacks: the samples.
        functions: count lines of these where they are on a stack, and not what they call.
    """
    lines: Counter[Frame] = Counter()
    for stack in stacks:
        users = [frame for frame in stack.frames if frame.is_user]
        named = [frame for frame in users if frame.function in functions]
        user = next(iter((*named[-1:], *users)), None)
        if user is not None:
            lines[user] += stack.seen
    if not lines:
        return None
    frame, seen = lines.most_common(1)[0]
    return frame, seen, lines.total()


def package_of(file: str) -> str:
    """Return the installed package a file belongs to, or nothing."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.split(folder, 1)[1].split("/", 1)[0].removesuffix(".py")
    return ""
