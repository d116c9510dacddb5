"""The records that causes, diagnosis and reports share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quickfit.findings._details import RunDetails


class Symptom(StrEnum):
    """What the user sees."""

    SLOW = "slow"
    STUCK = "stuck"
    SLOWING_DOWN = "slowing-down"
    SPIKES = "spikes"
    MEMORY = "memory"
    WRONG = "wrong"
    CRASH = "crash"


class FixClass(StrEnum):
    """How far a fix may change what the script computes; in doubt, the lower class."""

    SAME_RESULTS = "same-results"
    EQUIVALENT = "equivalent"
    REPAIRS = "repairs"
    MAY_CHANGE_RESULTS = "may-change-results"
    SHOW_ONLY = "show-only"


class Severity(StrEnum):
    """How much of the run a finding costs: from 5 %, 10 % and 20 % of its time."""

    MENTION = "mention"
    REPORT = "report"
    SEVERE = "severe"


@dataclass(frozen=True)
class Location:
    """A place in the user's source, and the text of that line as it was when it ran.

    `cell` is the cell of a notebook, such as `cell 3`; its file is one that Python made up.
    """

    file: str
    line: int
    text: str = ""
    function: str = ""
    cell: str = ""

    @property
    def short(self) -> str:
        """The place as one says it: `train.py:41`, or `cell 3, line 2`."""
        if self.cell:
            return f"{self.cell}, line {self.line}"
        return f"{os.path.basename(self.file)}:{self.line}"


@dataclass(frozen=True)
class Evidence:
    """One measured fact.

    Args:
        what: the quantity in plain words, such as "step time spent waiting for input".
        value: the number, in the unit given.
        unit: one of `s`, `bytes`, `share`, `factor`, `count`, `per_s`.
        detail: how it was measured or what it compares with; may be empty.
        where: the place it was measured at, if it has one.
    """

    what: str
    value: float
    unit: str
    detail: str = ""
    where: Location | None = None


# A gain below this is smaller than what changes from run to run, and not worth an edit: no finding
# is reported for less, and no fix, setting or smaller model is accepted for less.
MIN_GAIN = 1.05


@dataclass(frozen=True)
class Gain:
    """How much faster the run would be: a range, and why we believe it."""

    low: float
    likely: float
    high: float
    basis: str


@dataclass(frozen=True)
class Exhaustion:
    """What a run uses more and more of, and when there is no more of it.

    Args:
        what: `memory`, `GPU memory` or `open files`.
        unit: `bytes` or `count`.
        grown: by how much it grew while it was watched.
        each: by how much with every `per`; None where it grows with the time.
        per_s: by how much in a second.
        limit: how much there is; None where the system does not tell.
        in_s: until the limit is reached at this rate; None without a limit.
        per: what it grows with: a `step`, or a `round` that builds a model.
        held: what one part of the run holds, where that is too much already; None for a growth.
    """

    what: str
    unit: str
    grown: float
    each: float | None
    per_s: float
    limit: float | None
    in_s: float | None
    per: str = "step"
    held: float | None = None


@dataclass(frozen=True)
class Hunk:
    """Neighbouring lines of one file, as they are and as they become; one of them may be empty.

    `cell` is the cell of a notebook, such as `cell 3`; its file is one that Python made up.
    """

    file: str
    line: int
    before: str
    after: str
    cell: str = ""


@dataclass(frozen=True)
class Fix:
    """The change that removes a cause.

    Args:
        title: one line, imperative.
        kind: how far it may change results.
        before: the user's line or lines, when the code was recognised; else empty.
        after: what they become; else empty.
        example: a general example from the cause's page, shown when the code was not recognised.
        note: what to know before making the change; may be empty.
        hunks: the places that change, where the change is the one that `quickfit fix` makes;
            `before` and `after` hold them all.
        short_way: the same with `quickfit.data`, as code; may be empty.
    """

    title: str
    kind: FixClass
    before: str = ""
    after: str = ""
    example: str = ""
    note: str = ""
    hunks: tuple[Hunk, ...] = ()
    short_way: str = ""


# Claims on time outside the loops: their cost is a share of the run, not of the training.
OF_THE_RUN = frozenset(
    ("before_training", "between_loops", "after_training", "saving", "looking_loop")
)


@dataclass(frozen=True)
class Finding:
    """One cause found in one run.

    `cost_share` is the share of the run's training time this cause costs now; it ranks
    findings, decides their severity and keeps two findings from claiming the same seconds.
    `claims` names the parts of the breakdown those seconds are taken from. A cause gives the
    share of the step time, unless `is_of_whole` says that it is of all of the training.
    `resource` is what the input has run out of, where the steps wait for it. `is_of_machine`
    marks what the script suffers from and cannot change. `exhaustion` says what runs out: it, and
    not the time, is what a finding about memory costs. `is_past` marks a silence that ended.
    `is_general` marks a large part of the time that no cause explains. `cost_s` is what it costs
    in seconds of this run, `loop` the number of the loop it was found in, and `weight` what the
    time it speaks of is worth: the share of that loop in the run as it was planned.
    `is_outside_training` marks what was found in a loop that does not train: its cost and gain
    are those of the run.
    """

    summary: str
    where: Location | None
    evidence: tuple[Evidence, ...]
    gain: Gain
    cost_share: float
    claims: tuple[str, ...] = ()
    cause: str = ""
    title: str = ""
    symptom: Symptom = Symptom.SLOW
    severity: Severity = Severity.REPORT
    fix: Fix | None = None
    not_found: tuple[str, ...] = ()
    after_first: Gain | None = None
    is_of_whole: bool = False
    is_of_machine: bool = False
    resource: str = ""
    exhaustion: Exhaustion | None = None
    is_past: bool = False
    is_general: bool = False
    cost_s: float = 0.0
    loop: int = 0
    weight: float = 1.0
    is_outside_training: bool = False

    @property
    def gone_share(self) -> float:
        """The share of the time that is likely gone without it: what else gets shorter, too."""
        return max(self.cost_share, 1 - 1 / self.gain.likely if self.gain.likely else 0.0)

    @property
    def is_of_run(self) -> bool:
        """Whether its cost and gain are shares of the whole run, not of the training."""
        return self.is_outside_training or not OF_THE_RUN.isdisjoint(self.claims)


@dataclass(frozen=True)
class Clear:
    """A cause that was looked for, with what it needs, and is not there."""

    cause: str


@dataclass(frozen=True)
class NotChecked:
    """A cause that could not be looked for, and what was missing."""

    cause: str
    reason: str


@dataclass(frozen=True)
class DeviceVerdict:
    """Which accelerators the machine has, which TensorFlow sees, and what follows.

    `status` is one of `ok`, `cpu-only` (no accelerator in the machine), `unused`
    (the machine has one and TensorFlow does not use it) and `unknown`.
    """

    status: str
    summary: str
    machine: tuple[str, ...] = ()
    tensorflow: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True)
class BreakdownPart:
    """One part of the training time: its name, seconds per step and share of the time.

    `detail` says who spends it: a callback, a line.
    """

    name: str
    label: str
    step_s: float
    share: float
    detail: str = ""


@dataclass(frozen=True)
class Breakdown:
    """Where the time of the observed training steps went; `where` is the loop they belong to."""

    steps: int
    step_s: float
    step_spread_s: float
    warmup_steps: int
    parts: tuple[BreakdownPart, ...]
    time_to_first_step_s: float | None = None
    where: Location | None = None


@dataclass(frozen=True)
class Phase:
    """One phase before the end of the first step.

    `detail` says where: a line, how full a buffer is. `is_open` marks the one that a run without
    a first step was in when it was last seen.
    """

    name: str
    label: str
    seconds: float
    detail: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class Overhead:
    """What quickfit itself cost, measured while it watched.

    The share counts from when the script started; of a short run, starting up is most of it.
    """

    step_cpu_s: float | None
    threads_core_share: float | None
    threads_cpu_s: float | None = None
    probes: tuple[tuple[str, str], ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class EarlyVerdict:
    """What was said early in the run, whether it held, and if not, why it is withdrawn."""

    headline: str
    at_step: int
    held: bool
    why: str = ""


@dataclass(frozen=True)
class RunOutcome:
    """How the script ended: `finished`, `running`, `exit N`, `signal NAME`, `unknown`."""

    text: str
    exit_code: int | None = None
    signal: str | None = None


@dataclass(frozen=True)
class TurboPlace:
    """A line at which `--turbo` made the run faster, or which it left alone.

    Args:
        kind: `predict`, `dataset` or `iterator-end`.
        what: what is done there, or what it is that was left alone.
        state: `kept` (faster, and used), `dropped` (not faster), `open` (too few calls or passes to
            tell) or `left` (not tried).
        reason: why it was left alone.
        cause: the cause whose edit does the same in the script; may be empty.
        unit: what was counted and timed: `call`, `step` or `iterator`.
        on_s: what one took the new way; None where it was not timed.
        off_s: the same the script's own way.
        saved_s: what the run saved; None where it is not known.
    """

    kind: str
    what: str
    state: str
    where: Location | None
    reason: str = ""
    cause: str = ""
    unit: str = "call"
    on_count: int = 0
    on_s: float | None = None
    off_count: int = 0
    off_s: float | None = None
    saved_s: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """Everything a report needs; the same for terminal, JSON and every later format.

    `verdict` is one of `findings`, `compute-bound`, `inconclusive`, `no-steps`, of a run with
    `--memory` `memory`, and of an imported profile `profile`. `details` are there where they were
    asked for: a page draws them.
    """

    run: str
    script: str
    verdict: str
    headline: str
    device: DeviceVerdict
    breakdown: Breakdown | None
    findings: tuple[Finding, ...]
    clear: tuple[Clear, ...]
    not_checked: tuple[NotChecked, ...]
    overhead: Overhead
    outcome: RunOutcome
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    early: EarlyVerdict | None = None
    phases: tuple[Phase, ...] = ()
    account: AccountNode | None = None
    memory: MemoryAccount | None = None
    details: RunDetails | None = None
    # None: a run without `--turbo`.
    turbo: tuple[TurboPlace, ...] | None = None


@dataclass(frozen=True)
class AccountNode:
    """A part of the run's time.

    Args:
        name: the id of this kind of node, such as `input_wait`; not unique in a tree.
        label: the same for people, with the user's own names.
        seconds: how long it took in this run.
        low_s: how little it may have been, by how it was measured: a clock is exact, samples and
            tf.data's model are not.
        high_s: how much it may have been.
        share: of the run.
        count: how often it happened; zero where that was not counted.
        where: the user's line.
        limited_by: what it has run out of or waits for; empty where that is not known.
        detail: how it was measured, or what it was spent on.
        loop: the number of the loop that it belongs to; zero outside loops.
        children: its parts. What they leave over is in no part by itself.
    """

    name: str
    label: str
    seconds: float
    low_s: float
    high_s: float
    share: float
    count: int = 0
    where: Location | None = None
    limited_by: str = ""
    detail: str = ""
    loop: int = 0
    children: tuple[AccountNode, ...] = ()

    def walk(self) -> Iterator[AccountNode]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, name: str) -> AccountNode | None:
        """Return the largest node of a kind at or below this one; None without."""
        found = [node for node in self.walk() if node.name == name]
        return max(found, key=lambda node: node.seconds, default=None)


Position = tuple[int, int]


@dataclass(frozen=True, order=True)
class Edit:
    """One span of a file and the text that takes its place.

    Positions are a line, counted from 1, and a column in characters, counted from 0, of the file
    as it was before any edit. `text` has `\\n` at its line ends, whatever the file has.
    """

    file: str
    begin: Position
    end: Position
    text: str

    @property
    def is_insertion(self) -> bool:
        """Tell whether nothing of the file is taken away."""
        return self.begin == self.end


@dataclass(frozen=True)
class Change:
    """What one candidate does.

    Args:
        title: one line, imperative.
        kind: how far it may change what the script computes; in doubt the lower class.
        edits: the spans that change, in one file or several.
        note: what to know before making the change; may be empty.
    """

    title: str
    kind: FixClass
    edits: tuple[Edit, ...]
    note: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that change, each once."""
        return tuple(dict.fromkeys(edit.file for edit in self.edits))


@dataclass(frozen=True)
class MemoryGrowth:
    """How much more is held with every step, epoch or round.

    Args:
        per: `step`, `epoch` or `round`.
        bytes: the mean.
        low: at least, as sure as its own repetitions make it (95 %).
        high: at most.
    """

    per: str
    bytes: float
    low: float
    high: float


@dataclass(frozen=True)
class MemoryNode:
    """One part of what the process held.

    Args:
        name: `libraries`, `script`, `input`, `models`, `graphs` or `rest`; of a child, the name of
            what holds it: `self.kept`, or the stage of a pipeline.
        label: in plain words.
        bytes: what it held; the parts of a node add up to it.
        share: of all that the process held.
        growth: by step, by epoch and by round, as far as they were measured.
        where: the user's line that adds to it.
        detail: what is in it, and how it was counted.
    """

    name: str
    label: str
    bytes: float
    share: float
    growth: tuple[MemoryGrowth, ...] = ()
    where: Location | None = None
    detail: str = ""
    parts: tuple[MemoryNode, ...] = ()


@dataclass(frozen=True)
class MemoryAccount:
    """What the process held when it held most; its parts add up to `bytes`.

    Args:
        at_s: when that was, on the clock of the recording.
        end_bytes: what it held when it was last read.
        limit_bytes: what the container, or else the machine, can give; None where it is unknown.
        growth: of the whole while steps ran, where it goes on.
    """

    at_s: float
    bytes: float
    end_bytes: float
    limit_bytes: int | None
    growth: tuple[MemoryGrowth, ...]
    parts: tuple[MemoryNode, ...]


class Effect(StrEnum):
    """What happens when the code runs, the worst first."""

    CRASHES = "crashes"
    HANGS = "hangs"
    WRONG = "wrong-results"
    WORSE = "learns-worse"
    SLOW = "slow"


@dataclass(frozen=True, order=True)
class Span:
    """A piece of a user's file.

    Lines count from 1; columns count characters from 1, and the end is the column behind the
    last character. In a notebook `cell` is the number of the code cell, from 1, and lines count
    from the cell's first.
    """

    file: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0
    cell: int = 0

    @property
    def short(self) -> str:
        """The place as one says it: `train.py:41`, or `train.ipynb:cell 3:2`."""
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{os.path.basename(self.file)}{cell}:{self.line}"


@dataclass(frozen=True)
class Spotted:
    """A cause in the text of a program.

    Args:
        where: the code that is at fault.
        summary: what this code does, in a sentence with its own names.
        effect: what happens when it runs.
        related: other places that prove it, each with a few words: where a value comes from.
        change: the edit that removes it; None where only a person can.
        is_hint: it is only sometimes a fault, and told only when hints are asked for.
        cause: the id of the cause; set by the catalogue.
        title: the problem in a few words; set by the catalogue.
    """

    where: Span
    summary: str
    effect: Effect
    related: tuple[tuple[Span, str], ...] = ()
    change: Change | None = None
    is_hint: bool = False
    cause: str = ""
    title: str = ""
