"""TensorFlow's own log lines, as the parent saw them: they confirm a cause, they never decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quickfit.errors import SignalMissing


@dataclass(frozen=True)
class LogLine:
    """One kind of line of TensorFlow's log.

    Args:
        pattern: its name, such as `shuffle-fill`.
        count: how often it came.
        first_s: when it came first.
        last_s: when it came last.
        text: the first one, without control characters.
        numbers: what the last one tells: 46432 and 70000 of "46432 of 70000".
    """

    pattern: str
    count: int
    first_s: float
    last_s: float
    text: str
    numbers: tuple[float, ...] = ()


def log_lines(run: Mapping[str, Any]) -> dict[str, LogLine]:
    """Return the kinds of lines that were seen, by name; one that is not there was not logged.

    Args:
        run: the facts of `run.json`.

    Raises:
        SignalMissing: nobody read the log. A script may silence it too, so that a line which was
            not seen says nothing.
    """
    if "log_lines" not in run:
        raise SignalMissing("TensorFlow's log (`quickfit run --log-lines`)")
    seen = [_log_line(facts) for facts in run["log_lines"]]
    return {line.pattern: line for line in seen}


def _log_line(facts: Mapping[str, Any]) -> LogLine:
    return LogLine(
        pattern=facts["pattern"],
        count=facts["count"],
        first_s=facts["first_s"],
        last_s=facts["last_s"],
        text=facts["text"],
        numbers=tuple(facts["numbers"]),
    )
