"""The lines of TensorFlow's log that carry evidence, found in what a script writes.

They confirm, never decide: many scripts silence them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

# A longer line is judged by its beginning; no line we look for is longer.
LONGEST_LINE_BYTES = 4096
LONGEST_TEXT = 300
_LINE_END = re.compile(rb"[\r\n]")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*\x07?|.)?")


class Pattern(NamedTuple):
    """What a line must hold; `mark` is looked for first, because a plain search is fast."""

    name: str
    mark: bytes
    text: re.Pattern[bytes]


def _pattern(name: str, mark: bytes, text: bytes | None = None) -> Pattern:
    return Pattern(name, mark, re.compile(re.escape(mark) if text is None else text))


# The groups are the numbers a line tells. One name may stand for several wordings.
PATTERNS = (
    _pattern(
        "shuffle-fill",
        b"Filling up shuffle buffer",
        rb"Filling up shuffle buffer \(this may take a while\): (\d{1,15}) of (\d{1,15})",
    ),
    _pattern("cache-not-read", b"did not fully read the dataset being cached"),
    _pattern(
        "retracing",
        b"triggered tf.function retracing",
        rb"(?:(\d{1,15}) out of the last (\d{1,15}) calls to .*)?triggered tf\.function retracing",
    ),
    _pattern(
        "callback-slow",
        b"is slow compared to the batch ",
        rb"is slow compared to the batch (?:time|update)"
        rb"(?: \(batch time: (\d{1,15}\.\d{1,9})s vs .* time: (\d{1,15}\.\d{1,9})s)?",
    ),
    _pattern("cudnn-kernel", b"will not use cuDNN kernel"),
    _pattern("while-loop-fallback", b"Using a while_loop for converting"),
    _pattern("ptx-jit", b"jit-compiled from PTX"),
    _pattern("gpu-libraries", b"Could not load dynamic library"),
    _pattern("gpu-libraries", b"Cannot dlopen some GPU libraries"),
    _pattern("gpu-libraries", b"Skipping registering GPU devices"),
    _pattern("gc-allocator", b"Garbage collection: deallocate free memory regions"),
    _pattern("out-of-memory", b"ran out of memory trying to allocate"),
    _pattern("out-of-memory", b"OOM when allocating tensor"),
    _pattern("pydataset-super", b" class should call", rb"Your .PyDataset. class should call"),
    _pattern("fork-warning", b"multiprocessing can interact badly with TensorFlow"),
    _pattern("fork-warning", b"use of fork() may lead to deadlocks"),
    _pattern(
        "indexed-slices",
        b"Converting sparse IndexedSlices",
        rb"Converting sparse IndexedSlices(?:.* to a dense Tensor with (\d{1,15}) elements)?",
    ),
    _pattern("auto-shard", b"AUTO sharding policy will apply"),
    _pattern("ran-out-of-data", b"input ran out of data"),
    _pattern("slow-on-apple", b"runs slowly on M1/M2"),
    _pattern("xla-compiled", b"Compiled cluster using XLA"),
)
NAMES = tuple(dict.fromkeys(pattern.name for pattern in PATTERNS))


@dataclass(frozen=True)
class Seen:
    """How often a pattern was seen, and when; `numbers` are those of the last line."""

    pattern: str
    count: int
    first_s: float
    last_s: float
    text: str
    numbers: tuple[float, ...]


class LineScanner:
    """Looks for the patterns in bytes as they come, whole lines at a time.

    One thread feeds it; another may ask what was seen.

    Args:
        clock: the moment a line came, on the clock of the recording.
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._rest = b""
        self._is_judged = False  # the line that `rest` began is too long, and was looked at
        self._seen: dict[str, Seen] = {}

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end:
            begin = data[:end]
            if self._is_judged:
                begin = begin[_end_of_line(begin) :]
            self._judge(self._rest + begin)
            self._rest, self._is_judged = b"", False
        if not self._is_judged:
            self._rest += data[end : end + LONGEST_LINE_BYTES]
            if len(self._rest) >= LONGEST_LINE_BYTES:
                self.finish()
                self._is_judged = True

    def finish(self) -> None:
        """Judge a line that nothing ended."""
        self._judge(self._rest)
        self._rest = b""

    def facts(self) -> list[dict[str, Any]]:
        """Return what was seen as plain JSON values, in the order of first sight."""
        # One call copies the values, so that the other thread cannot add one meanwhile.
        return [{**vars(seen), "numbers": list(seen.numbers)} for seen in [*self._seen.values()]]

    def _judge(self, lines: bytes) -> None:
        there = [pattern for pattern in PATTERNS if pattern.mark in lines]
        if not there:
            return
        for whole in _LINE_END.split(lines):
            line = whole[:LONGEST_LINE_BYTES]
            for pattern in there:
                match = pattern.text.search(line) if pattern.mark in line else None
                if match is not None:
                    self._note(pattern.name, line, match)

    def _note(self, name: str, line: bytes, match: re.Match[bytes]) -> None:
        now = self._clock()
        # A file name or a bar may stand before it, and must not push it out of sight.
        begin = 0 if match.end() <= LONGEST_TEXT else match.start()
        numbers = tuple(float(group) for group in match.groups() if group)
        new = Seen(name, 1, now, now, printable(line[begin:]), numbers)
        old = self._seen.get(name)
        if old is not None:
            new = replace(old, count=old.count + 1, last_s=now, numbers=numbers)
        self._seen[name] = new


def _end_of_line(data: bytes) -> int:
    match = _LINE_END.search(data)
    return match.end() if match else len(data)


def printable(line: bytes) -> str:
    """Return the text of a line without colours and control characters, cut to a length."""
    text = _ESCAPE.sub("", line[: 4 * LONGEST_TEXT].decode("utf-8", "replace"))
    return "".join(c for c in text if c.isprintable()).strip()[:LONGEST_TEXT]
