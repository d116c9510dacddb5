"""How a script ended, what was said of it while it was quiet, and TensorFlow's log lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Location
from quickfit.pipeline_model.match import Operation
from quickfit.pipeline_model.snapshot import snapshot_from_row
from quickfit.signals.dataset_chains import main_line
from quickfit.signals.input import operations

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# What TensorFlow says when another run writes the same cache, or was killed while it did.
_LOCKED = re.compile(r"cache lockfile already exists \('([^']+)'\)")
_CACHES = re.compile(r"\.cache\(\s*[^)\s]")
# A list that is as long as the buffer that is too small is empty.
_SHUFFLES_ALL = re.compile(r"\.shuffle\(.*\blen\(")
# What Keras and TensorFlow say to a generator, or a list of files, without anything in it.
_EMPTY_GENERATOR = "Received an empty generator"
_EMPTY_BUFFER = "buffer_size must be greater than zero"
UNKNOWN = -2


@dataclass(frozen=True)
class Ending:
    """The error that a script ended by, and the user's line it came through last.

    `through` are all lines of the user's that it came through, the innermost last.
    """

    kind: str
    message: str
    where: Location | None
    through: tuple[Location, ...] = ()


@dataclass(frozen=True)
class CacheLock:
    """A cache in a file that could not be written, because its lock file was there already."""

    file: str
    where: Location | None


@dataclass(frozen=True)
class Emptiness:
    """Data without a single element.

    Args:
        what: what is empty, in words.
        where: the line at which nothing was left.
        counted: the elements that were told, or found, at that line.
        how: how that is known.
        steps: training steps of the whole run.
    """

    what: str
    where: Location | None
    counted: int
    how: str
    steps: int


def ended_by(signals: Signals) -> Ending | None:
    """Return the error that ended the script; None where it ended well, or was ended."""
    told = signals.recording.main.facts.get("ended_by")
    if not isinstance(told, dict) or not isinstance(told.get("message"), str):
        return None
    file, line = told.get("file"), told.get("line")
    where = signals.location(file, line) if isinstance(file, str) and _is_whole(line) else None
    frames = told.get("frames")
    pairs = [frame for frame in frames if _is_pair(frame)] if isinstance(frames, list) else []
    places = [place for file, number in pairs if (place := signals.location(file, number))]
    through = tuple(places) or ((where,) if where is not None else ())
    return Ending(str(told.get("type") or ""), told["message"], where, through)


def _is_pair(frame: object) -> bool:
    if not isinstance(frame, list) or len(frame) != 2:
        return False
    return isinstance(frame[0], str) and _is_whole(frame[1])


def cache_lock(signals: Signals) -> CacheLock | None:
    """Return the lock file that ended the script, and the line of the cache it belongs to."""
    ending = ended_by(signals)
    found = _LOCKED.search(ending.message) if ending is not None else None
    if ending is None or found is None:
        return None
    caches = [op for op in operations(signals.process).values() if op.kind == "cache"]
    places = [place for op in reversed(caches) if (place := signals.location(op.file, op.line))]
    # `/data/cache_0.lockfile` belongs to `.cache("/data/cache")`.
    name = PurePath(found[1]).name.rpartition("_")[0]
    named = [place for place in places if name and name in place.text]
    chosen = named or _written_caches(signals, name) or places
    return CacheLock(found[1], chosen[0] if chosen else ending.where)


def _written_caches(signals: Signals, name: str) -> list[Location]:
    """Return the lines that make a cache in a file, those with its name first.

    A dataset that fails with its first element is over before anybody has looked at it.
    """
    lines = [
        (file, number, text)
        for file in signals.source_files()
        for number, text in enumerate(signals.source_text(file).split("\n"), 1)
        if _CACHES.search(text)
    ]
    lines.sort(key=lambda line: not name or name not in line[2])
    return [place for file, number, _ in lines if (place := signals.location(file, number))]


def emptiness(signals: Signals) -> Emptiness | None:
    """Return which data had no element; None where some came, or nobody can tell."""
    return _by_error(signals) or _by_count(signals) or _by_epochs(signals)


def _by_error(signals: Signals) -> Emptiness | None:
    ending, steps = ended_by(signals), _steps(signals)
    if ending is None:
        return None
    if _EMPTY_GENERATOR in ending.message:
        what, how = "the generator ends before its first batch", "Keras asked it for one"
        return Emptiness(what, ending.where, 0, how, steps)
    if _EMPTY_BUFFER not in ending.message:
        return None
    what = "the dataset that is to be shuffled has no element"
    newest = list(operations(signals.process).values())[-1:]
    if newest and newest[0].facts.get("cardinality") == 0:
        where = signals.location(newest[0].file, newest[0].line)
        return Emptiness(what, where or ending.where, 0, "by tf.data's own count", steps)
    if ending.where is not None and _SHUFFLES_ALL.search(ending.where.text):
        return Emptiness(what, ending.where, 0, "`len` of what is shuffled", steps)
    return None


def _by_count(signals: Signals) -> Emptiness | None:
    """Return the dataset that tf.data itself counts as empty, if it is what was trained on."""
    for line in _untrained(signals):
        empty = [op for op in line if op.facts.get("cardinality") == 0]
        if empty:
            first = empty[-1]  # the farthest from the consumer: there it became empty
            what = f"the dataset has no element after `{first.kind}`"
            where = signals.location(first.file, first.line)
            return Emptiness(what, where, 0, "by tf.data's own count", _steps(signals))
    return None


def _by_epochs(signals: Signals) -> Emptiness | None:
    """Return the data of a `fit` of which whole epochs went by without a step."""
    process = signals.process
    if _steps(signals) or _gave_any(signals):
        return None
    for loop in process.rows("loops"):
        epochs = sum(row["loop"] == loop["id"] for row in process.rows("epochs"))
        counted = loop["facts"].get("steps")
        if loop["kind"] != "fit" or not epochs or counted:
            continue
        dropping = _dropping(signals, loop["id"])
        what = "the data given to `fit` has no batch"
        if dropping is not None:
            what = f"`{dropping.kind}` lets no element through"
        place = (dropping.file, dropping.line) if dropping else (loop["file"], loop["line"])
        how = "by the data's own count" if counted == 0 else f"in {epochs} whole epochs"
        return Emptiness(what, signals.location(*place), 0, how, 0)
    return None


def _dropping(signals: Signals, loop: int) -> Operation | None:
    """Return the operation below which elements were still counted; None where nobody knows."""
    for line in _untrained(signals, only=loop):
        unknown = [op for op in line if op.facts.get("cardinality") == UNKNOWN]
        if line[0] in unknown and unknown[-1].inputs:
            return unknown[-1]
    return None


def _untrained(signals: Signals, only: int | None = None) -> Iterator[list[Operation]]:
    """Yield the chains of operations that were iterated over, of loops without a step."""
    process = signals.process
    known = operations(process)
    stepped = {row["loop"] for table in ("steps", "step_blocks") for row in process.rows(table)}
    fits = {row["id"] for row in process.rows("loops") if row["kind"] == "fit"}
    for row in process.rows("iterators"):
        is_wanted = row["phase"] != "validation" and only in (None, row["loop"])
        # Where something was trained on, an empty dataset beside it may be meant.
        is_idle = row["loop"] in fits - stepped if stepped else True
        if is_wanted and is_idle and row["dataset"] in known:
            yield main_line(known[row["dataset"]], known)


def _gave_any(signals: Signals) -> bool:
    """Tell whether any pipeline was seen to give an element."""
    looks = [snapshot_from_row(row) for row in signals.process.rows("pipelines")]
    return any(look.nodes[look.root].elements for look in looks if look.root in look.nodes)


def _steps(signals: Signals) -> int:
    process = signals.process
    thinned: int = sum(row["steps"] for row in process.rows("step_blocks"))
    return len(process.rows("steps")) + thinned


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


Locate = Callable[[str | None, int | None], Location | None]


@dataclass(frozen=True)
class Silence:
    """One time that a run was quiet, and why.

    Args:
        cause: its id; empty where it could not be told.
        moves: it was slow to start, and would have got there.
        step: the steps that were done by then.
        quiet_s: how long it had been quiet when this was said.
        moved_again: whether a step was taken later.
        at_s: when this was said, on the clock of the recording; None where it is not known.
        moved_again_s: when a step was taken later; None where none was.
    """

    cause: str
    text: str
    summary: str
    location: Location | None
    also: Location | None
    evidence: tuple[Evidence, ...]
    moves: bool
    step: int
    quiet_s: float
    moved_again: bool
    at_s: float | None = None
    moved_again_s: float | None = None


def silences(run: Mapping[str, Any], locate: Locate) -> list[Silence]:
    """Return the times that a run was quiet, in their order.

    Args:
        run: the facts of `run.json`.
        locate: makes a place of a file and a line.
    """
    return [_silence(facts, locate) for facts in run.get("quiet") or ()]


def _silence(facts: Mapping[str, Any], locate: Locate) -> Silence:
    return Silence(
        cause=facts.get("cause") or "",
        text=facts["text"],
        summary=facts.get("summary") or facts["text"],
        location=locate(facts.get("file"), facts.get("line")),
        also=locate(facts.get("also_file"), facts.get("also_line")),
        evidence=tuple(
            Evidence(one["what"], float(one["value"]), one["unit"], one["detail"])
            for one in facts.get("evidence") or ()
        ),
        moves=bool(facts.get("moves")),
        step=facts["step"],
        quiet_s=facts["quiet_s"],
        moved_again=facts.get("moved_again_s") is not None,
        at_s=facts.get("at_s"),
        moved_again_s=facts.get("moved_again_s"),
    )


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
