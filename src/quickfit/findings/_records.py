"""The frozen records of a diagnosis. They know nothing of files, clocks or output."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quickfit.findings._account import AccountNode
    from quickfit.findings._memory import MemoryAccount


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
    """How far a fix may change what the script computes (design, section 6)."""

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

    `cell` is what a notebook calls the place, such as `In [3]`; its file is nobody's.
    """

    file: str
    line: int
    text: str = ""
    function: str = ""
    cell: str = ""

    @property
    def short(self) -> str:
        """The place as one says it: `train.py:41`."""
        return f"{self.cell or os.path.basename(self.file)}:{self.line}"


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
    """Neighbouring lines of one file, as they are and as they become; one of them may be empty."""

    file: str
    line: int
    before: str
    after: str


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
    """Where the time of the observed training steps went."""

    steps: int
    step_s: float
    step_spread_s: float
    warmup_steps: int
    parts: tuple[BreakdownPart, ...]
    time_to_first_step_s: float | None = None


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
class Diagnosis:
    """Everything a report needs; the same for terminal, JSON and every later format.

    `verdict` is one of `findings`, `compute-bound`, `inconclusive`, `no-steps` and, of a run with
    `--memory`, `memory`.
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
