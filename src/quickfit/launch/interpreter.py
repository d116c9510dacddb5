"""The flags Python was started with, so that the script's Python gets the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

# With these Python reads no PYTHONPATH or runs no `site`: the probes could not be carried in.
_IN_OUR_WAY = ("-I", "-E", "-S")
_LONG_WITH_VALUE = "--check-hash-based-pycs"


def interpreter_flags(orig_argv: Sequence[str] | None = None) -> list[str]:
    """Return the flags of this Python, without those that would keep the probes out."""
    return [flag for flag in _flags_of(orig_argv) if flag not in _IN_OUR_WAY]


def dropped_flags(orig_argv: Sequence[str] | None = None) -> list[str]:
    """Return the flags of this Python that the script will not be run with."""
    return list(dict.fromkeys(flag for flag in _flags_of(orig_argv) if flag in _IN_OUR_WAY))


def _flags_of(orig_argv: Sequence[str] | None) -> list[str]:
    """Return what stands between `python` and `-m`, `-c` or the script, one flag each."""
    words = iter((sys.orig_argv if orig_argv is None else orig_argv)[1:])
    flags: list[str] = []
    for word in words:
        if not word.startswith("-") or word == "-":
            break
        if word.startswith("--"):
            flags += [word, next(words, "")] if word == _LONG_WITH_VALUE else [word]
            continue
        for flag in _letters(word[1:], words):
            if flag in ("-m", "-c"):
                return flags
            flags.append(flag)
    return flags


def _letters(cluster: str, following: Iterator[str]) -> Iterator[str]:
    """Yield the flags of a cluster such as `uXdev`: `-u`, `-Xdev`."""
    for position, letter in enumerate(cluster):
        if letter in "WX":
            yield f"-{letter}{cluster[position + 1 :] or next(following, '')}"
            return
        yield f"-{letter}"
