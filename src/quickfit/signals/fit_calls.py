"""The calls of `fit` at one line: how many, what each sets up, and whether each traces anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals._facade import Signals
from quickfit.signals.host import SampledStack, package_of

# The function of Keras's trainer that a step is.
STEP = "function"
# No `fit` is set up in less; then its method was looked up long before the calls, and only the
# samples know how long they took.
MIN_SETUP_S = 1e-3


@dataclass(frozen=True)
class FitCalls:
    """The calls of `fit` at the line of the main loop.

    Args:
        calls: how many there were.
        steps: steps per call.
        setup_s: from the calls to their first steps, all calls but the first together.
        traced: how many of the calls but the first traced Keras's train function.
        compile: where the model was compiled, as the last call knows.
        models: how many names the models had; a model that is built anew gets a new one.
        in_fit: the share of the main thread's samples that are in `fit` but not in a step.
        samples: how many there are.
    """

    calls: int
    steps: float
    setup_s: float
    traced: int
    compile: Location | None
    models: int
    in_fit: float = 0.0
    samples: int = 0

    @property
    def traced_share(self) -> float:
        """The share of the calls but the first that traced again."""
        return self.traced / max(self.calls - 1, 1)


def fit_calls(signals: Signals) -> FitCalls | None:
    """Return the calls of `fit` that make up the main loop; None where another loop trains."""
    loop = signals.loop
    if loop.kind != "fit" or loop.location is None:
        return None
    process = signals.recorded_process
    place = (loop.location.file, loop.location.line)
    rows = [
        row
        for row in process.rows("loops")
        if row["kind"] == "fit" and (row["file"], row["line"]) == place
    ]
    numbers = {row["id"] for row in rows}
    steps = sum(1 for row in process.rows("steps") if row["loop"] in numbers)
    newest = rows[-1]["facts"]
    compiled = signals.location(newest.get("compile_file"), newest.get("compile_line"))
    seen = _sampled(signals.main_stacks(), place) if len(rows) > 1 else (0.0, 0)
    return FitCalls(
        len(rows),
        steps / len(rows),
        _setup_s(signals, rows[1:], seen[0]),
        _traced(process, rows[1:]),
        compiled,
        len({row["facts"].get("model") for row in rows}),
        *seen,
    )


def _setup_s(signals: Signals, rows: list[dict[str, Any]], in_fit: float) -> float:
    """Return the time from calls to their first steps."""
    measured_s = float(sum(max(row["begin_s"] - row["entered_s"], 0.0) for row in rows))
    if measured_s >= MIN_SETUP_S * len(rows):
        return measured_s
    whole = signals.whole_time
    seen_s = in_fit * whole.total_s - whole.iterator_ends_s - whole.epoch_ends_s
    return min(max(seen_s, measured_s), signals.loop.outside_s)


def _traced(process: ProcessRecording, rows: list[dict[str, Any]]) -> int:
    """Count the calls in whose loop a function of Keras was traced that no call before had."""
    calls = {row["id"] for row in rows}
    seen: set[int] = set()
    traced: set[int] = set()
    for row in process.rows("traces"):
        # A function of the user's, called by a callback, is not what `compile` made.
        if row["nested"] or row["file"] is not None:
            continue
        if row["loop"] in calls and row["function"] not in seen:
            traced.add(row["loop"])
        seen.add(row["function"])
    return len(traced)


def _sampled(stacks: list[SampledStack], fit: tuple[str, int]) -> tuple[float, int]:
    """Return the share of the samples that are in `fit` but in none of its steps, and all."""
    total = sum(stack.seen for stack in stacks)
    inside = 0
    for stack in stacks:
        is_step = any(f.function == STEP and package_of(f.file) == "keras" for f in stack.frames)
        if not is_step and any((f.file, f.line) == fit for f in stack.frames):
            inside += stack.seen
    return (inside / total if total else 0.0), total
