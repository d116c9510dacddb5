"""What the trials of a proof say beside the speed: memory, CPU time, compiling and the loss."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quickfit.errors import RecordingError
from quickfit.findings import FixClass
from quickfit.fixing.tuned_class import agreement
from quickfit.lab.results import Results, read_results
from quickfit.lab.script_pair import Progress, progress_of
from quickfit.recording.reader import Recording, read
from quickfit.tuning.advice.result import LossChange


@dataclass(frozen=True)
class Seen:
    """What was seen of a change and of the script without it; None is what was not seen.

    Args:
        peak_bytes: the most memory that the changed script held.
        more_bytes: how much more that is than without the change.
        cpu: CPU time of a sample, as a multiple of what it was.
        compile_s: how much longer the first step took.
        loss: after equally many samples.
        agrees: how well the results agree with the original's.
    """

    peak_bytes: int | None = None
    more_bytes: int | None = None
    cpu: float | None = None
    compile_s: float | None = None
    loss: LossChange | None = None
    agrees: FixClass | None = None


class TrialFolders:
    """The scratch folder of a prover, in which every trial leaves what it recorded.

    The first results are those of the original: a prover runs it before any change.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._known = self._all()

    def _all(self) -> set[Path]:
        # Beside the folder of a trial lies quickfit's copy of its recording.
        names = ("pairs*", "results*")
        return {f for name in names for f in self._scratch.glob(name) if f.suffix != ".qfrun"}

    def seen(self, times: int, batch: int | None) -> Seen:
        """Return what the trials since the last time say.

        Args:
            times: so many times as many examples in a step.
            batch: how many examples a step of the original has; None where nobody knows.
        """
        new = self._all() - self._known
        self._known |= new
        pairs = [_pair(folder) for folder in sorted(new) if folder.name.startswith("pairs")]
        results = [folder for folder in new if folder.name.startswith("results")]
        found = _seen([p for p in pairs if p], times)
        return self._compared(found, max(results, key=_number), times, batch) if results else found

    def _compared(self, seen: Seen, folder: Path, times: int, batch: int | None) -> Seen:
        """Add what the results of the edited script say beside those of the original."""
        original, again = self._scratch / "results1", self._scratch / "results2"
        first, edited = read_results(original), read_results(folder)
        steps = (_epoch_steps(original), _epoch_steps(folder))
        return replace(
            seen,
            loss=loss_of(first, edited, times, steps[0], batch),
            agrees=agreement(first, read_results(again), edited, steps),
        )


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("results"))


def _epoch_steps(folder: Path) -> int:
    progress = progress_of(_recording(folder))
    return int(progress.epoch_steps) if progress is not None else 0


def loss_of(
    first: Results, edited: Results, times: int, epoch_steps: int, batch: int | None
) -> LossChange | None:
    """Return the losses of two trials after equally many samples of the first epoch.

    `fit` says the mean over the epoch so far: where both have seen the same samples, that is the
    mean over the same samples.
    """
    if first.loss_channels != edited.loss_channels or batch is None or not first.losses:
        return None
    shared = [step for step in edited.losses if step * times in first.losses]
    shared = [step for step in shared if not epoch_steps or step * times <= epoch_steps]
    if not shared:
        return None
    step = max(shared)
    values = (first.losses[min(first.losses)], edited.losses[step], first.losses[step * times])
    before, after, unchanged = (_loss(value) for value in values)
    return LossChange(step * times * batch, before, after, unchanged)


def _loss(values: dict[str, float]) -> float:
    return values.get("loss", next(iter(values.values()), float("nan")))


Pair = tuple[Recording, Recording]


def _pair(folder: Path) -> Pair | None:
    """Return the recordings of the original and of the changed script."""
    both = [_recording(found) for who in (0, 1) for found in folder.glob(f"pair*-{who}")]
    if len(both) != 2 or both[0] is None or both[1] is None:
        return None
    return both[0], both[1]


def _recording(folder: Path) -> Recording | None:
    try:
        return read(folder / "run.qfrun")
    except RecordingError:
        return None


def _seen(pairs: Sequence[Pair], times: int) -> Seen:
    peaks = [(_peak_bytes(one), _peak_bytes(other)) for one, other in pairs]
    known = [(one, other) for one, other in peaks if one and other]
    compiling = [_first_s(other) - _first_s(one) for one, other in pairs]
    cpus = [(_batch_cpu_s(one), _batch_cpu_s(other)) for one, other in pairs]
    ratios = [other / one / times for one, other in cpus if one and other]
    return Seen(
        round(statistics.median(other for _, other in known)) if known else None,
        round(statistics.median(other - one for one, other in known)) if known else None,
        statistics.median(ratios) if ratios else None,
        # Both start at once: what is shortest was disturbed least.
        max(min(compiling), 0.0) if compiling else None,
    )


def _peak_bytes(recording: Recording) -> float:
    rows = [row.get("rss_bytes") or 0 for row in recording.main.rows("machine")]
    return float(max(rows, default=0))


def _first_s(recording: Recording) -> float:
    """Return how much longer the first step took than the usual one."""
    took = [_took_s(row) for row in recording.main.rows("steps")]
    return took[0] - statistics.median(took) if took else 0.0


def _took_s(row: dict[str, Any]) -> float:  # a recorded row
    return float(row["end_s"] - row["begin_s"])


def _batch_cpu_s(recording: Recording) -> float | None:
    """Return the CPU time of one batch; None where other processes work for it too."""
    progress = progress_of(recording)
    if progress is None or recording.others:
        return None
    marks = progress.warm_steps()
    rows = recording.main.rows("machine")
    inside = [row for row in rows if marks[0][0] <= row["at_s"] <= marks[-1][0]]
    if len(inside) < 2:
        return None
    done = _done_at(progress, inside[-1]["at_s"]) - _done_at(progress, inside[0]["at_s"])
    return float(inside[-1]["cpu_s"] - inside[0]["cpu_s"]) / done if done else None


def _done_at(progress: Progress, at_s: float) -> float:
    return max((done for end_s, done in progress.steps if end_s <= at_s), default=0.0)
