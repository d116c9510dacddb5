"""The changes worth trying on a training: what may help on this machine and with this data.

What is known to be useless or impossible is not tried, and the reason is told instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from quickfit import units
from quickfit.tuning.advice.result import ChangeKind, ChangeRow, ChangeVerdict
from quickfit.tuning.trials.settings import Setting, TrialBlock, TrialReady

STEPS_PER_CALL = (32, 8)
BATCH_FACTORS = (2, 4)
# What is asked for by name, and what it means.
CHANGE_KINDS = (
    ChangeKind.XLA,
    ChangeKind.STEPS,
    ChangeKind.BATCH,
    ChangeKind.PRECISION,
    ChangeKind.THREADS,
)


@dataclass(frozen=True)
class ChangeCandidate:
    """A change to try.

    Args:
        kind: of which at most one is advised.
        name: as the table shows it.
        setting: what is changed.
    """

    kind: ChangeKind
    name: str
    setting: Setting


# Tried as well, as a fact: what a training gains whose input costs nothing.
IN_MEMORY = ChangeCandidate(ChangeKind.INPUT, "input from memory", Setting(in_memory=True))


@dataclass(frozen=True)
class TrialCircumstances:
    """What decides which changes are worth trying.

    Args:
        ready: the training as it is, once it runs.
        cores: that this process may use.
        policy: the 16-bit policy that this hardware may gain from, or None.
        why_no_policy: in words, where there is none.
        forced_policy: what `--try precision` measures where nothing is to be gained.
        own: what the training has already, as far as that is known.
        to_force: how to ask for what the machine speaks against.
    """

    ready: TrialReady
    cores: int
    policy: str | None = None
    why_no_policy: str = "this CPU has no 16-bit units"
    forced_policy: str = "mixed_bfloat16"
    own: Setting = field(default_factory=Setting)
    to_force: str = "--try precision"


@dataclass(frozen=True)
class CandidateChoice:
    """What to try, in order of promise, and what not, with the reason."""

    candidates: tuple[ChangeCandidate, ...]
    rows: tuple[ChangeRow, ...]


def choose_candidates(
    facts: TrialCircumstances, kinds: Collection[ChangeKind], forced: Collection[ChangeKind] = ()
) -> CandidateChoice:
    """Return what is worth trying of some kinds.

    Args:
        facts: about the training and the machine.
        kinds: that are wanted.
        forced: kinds that are tried although the machine speaks against them.
    """
    found: list[ChangeCandidate | ChangeRow] = []
    if ChangeKind.XLA in kinds:
        found.append(ChangeCandidate(ChangeKind.XLA, "XLA (jit_compile)", Setting(jit=True)))
    if ChangeKind.STEPS in kinds:
        found += _step_candidates(facts.ready)
    if ChangeKind.BATCH in kinds:
        found += _batch_candidates(facts.ready)
    if ChangeKind.PRECISION in kinds or ChangeKind.PRECISION in forced:
        found.append(_precision_candidates(facts, is_forced=ChangeKind.PRECISION in forced))
    if ChangeKind.THREADS in kinds:
        found += _thread_candidates(facts.cores)
    return _sort_candidates(facts, found)


def candidates_from_settings(
    facts: TrialCircumstances, settings: Sequence[Setting]
) -> CandidateChoice:
    """Return settings that somebody wants to have tried, and which of them cannot be."""
    return _sort_candidates(facts, [_candidate_from_setting(facts.ready, one) for one in settings])


def _sort_candidates(
    facts: TrialCircumstances, found: Sequence[ChangeCandidate | ChangeRow]
) -> CandidateChoice:
    told = [
        _skip_if_present(facts, one) if isinstance(one, ChangeCandidate) else one for one in found
    ]
    candidates = tuple(one for one in told if isinstance(one, ChangeCandidate))
    return CandidateChoice(candidates, tuple(one for one in told if isinstance(one, ChangeRow)))


def _skip_if_present(
    facts: TrialCircumstances, one: ChangeCandidate
) -> ChangeCandidate | ChangeRow:
    """Return a candidate, or that it would change nothing."""
    own = {**facts.own.changed(), "batch": facts.ready.batch}
    if any(own.get(name) != value for name, value in one.setting.changed().items()):
        return one
    return _not_tried(one.kind, one.name, one.setting, "your training has it already")


def _candidate_from_setting(ready: TrialReady, setting: Setting) -> ChangeCandidate | ChangeRow:
    kind, name = setting_kind(setting), setting_name(setting)
    if ready.samples is not None and (setting.batch or 0) > ready.samples:
        return _not_tried(kind, name, setting, _few_samples(ready))
    if not fits_epoch(setting, ready):
        return _not_tried(kind, name, setting, _few_steps(ready, setting.batch))
    return ChangeCandidate(kind, name, setting)


def setting_kind(setting: Setting) -> ChangeKind:
    """Return the kind of a setting; one that changes several things is `together`."""
    kinds = {
        "jit": ChangeKind.XLA,
        "steps_per_execution": ChangeKind.STEPS,
        "batch": ChangeKind.BATCH,
        "policy": ChangeKind.PRECISION,
        "intra_threads": ChangeKind.THREADS,
        "inter_threads": ChangeKind.THREADS,
    }
    found = {kinds[name] for name in setting.changed() if name in kinds}
    return found.pop() if len(found) == 1 else ChangeKind.TOGETHER


def setting_name(setting: Setting) -> str:
    """Return a short name: `XLA + 32 steps + batch 128`."""
    parts = []
    if setting.jit is not None:
        parts.append("XLA" if setting.jit else "no XLA")
    if setting.steps_per_execution is not None:
        parts.append(f"{setting.steps_per_execution} steps")
    if setting.batch is not None:
        parts.append(f"batch {setting.batch}")
    if setting.policy is not None:
        parts.append(setting.policy)
    if setting.intra_threads is not None:
        parts.append(f"intra-op {setting.intra_threads}")
    if setting.inter_threads is not None:
        parts.append(f"inter-op {setting.inter_threads}")
    return " + ".join(parts) or "as it is"


def fits_epoch(setting: Setting, ready: TrialReady) -> bool:
    """Tell whether an epoch has as many steps as one call of this setting takes."""
    steps = epoch_steps(ready, setting.batch)
    return steps is None or steps >= (setting.steps_per_execution or 1)


def _few_steps(ready: TrialReady, batch: int | None = None) -> str:
    steps = epoch_steps(ready, batch) or 0
    return f"an epoch has only {units.count(steps)} step{'s' * (steps != 1)}"


def _few_samples(ready: TrialReady) -> str:
    samples = ready.samples or 0
    return f"the data has only {units.count(samples)} sample{'s' * (samples != 1)}"


def _step_candidates(ready: TrialReady) -> Iterator[ChangeCandidate | ChangeRow]:
    for count in STEPS_PER_CALL:
        setting = Setting(steps_per_execution=count)
        name = f"{count} steps per call"
        if fits_epoch(setting, ready):
            yield ChangeCandidate(ChangeKind.STEPS, name, setting)
        else:
            yield _not_tried(ChangeKind.STEPS, name, setting, _few_steps(ready))


def _batch_candidates(ready: TrialReady) -> Iterator[ChangeCandidate | ChangeRow]:
    for factor in BATCH_FACTORS:
        setting = Setting(batch=factor * ready.batch)
        name = f"batch {setting.batch} (×{factor})"
        if ready.samples is None or ready.samples >= factor * ready.batch:
            yield ChangeCandidate(ChangeKind.BATCH, name, setting)
        else:
            yield _not_tried(ChangeKind.BATCH, name, setting, _few_samples(ready))


def _precision_candidates(
    facts: TrialCircumstances, *, is_forced: bool
) -> ChangeCandidate | ChangeRow:
    policy = facts.policy or facts.forced_policy
    setting = Setting(policy=policy)
    if facts.policy or is_forced:
        return ChangeCandidate(ChangeKind.PRECISION, policy, setting)
    why = f"{facts.why_no_policy}; {facts.to_force} measures it all the same"
    return _not_tried(ChangeKind.PRECISION, policy, setting, why)


def _thread_candidates(cores: int) -> Iterator[ChangeCandidate | ChangeRow]:
    few = max(cores // 2, 1)
    settings = (Setting(inter_threads=1), Setting(intra_threads=few))
    for setting, name in zip(
        settings, ("inter-op threads 1", f"intra-op threads {few}"), strict=True
    ):
        if cores > 1:
            yield ChangeCandidate(ChangeKind.THREADS, name, setting)
        else:
            yield _not_tried(ChangeKind.THREADS, name, setting, "there is one core only")


def _not_tried(kind: ChangeKind, name: str, setting: Setting, why: str) -> ChangeRow:
    return ChangeRow(name, kind, ChangeVerdict.NOT_TRIED, reason=why, setting=setting.changed())


# Through so many epochs goes the first block of a training, if they are short.
FIRST_EPOCHS = 2
# The share of the time beside the steps from which on it is what is measured.
_MOST = 0.5


def epoch_steps(ready: TrialReady, batch: int | None = None) -> int | None:
    """Return the steps of an epoch, the last one of them may be smaller; None if nobody knows.

    Args:
        ready: the training as it is.
        batch: samples per step, if it is another one.
    """
    return None if ready.samples is None else -(-ready.samples // (batch or ready.batch))


def first_steps(steps: int, ready: TrialReady) -> int:
    """Return how many steps the first block has: few, where each may be an epoch of its own."""
    inside = epoch_steps(ready)
    return steps if inside is None else min(steps, max(FIRST_EPOCHS * inside, FIRST_EPOCHS))


def is_mostly_beginning(ready: TrialReady, block: TrialBlock) -> bool:
    """Tell whether most of the time of a block went to beginning epochs, not to steps."""
    inside = epoch_steps(ready)
    if inside is None or block.steps < inside or block.wall_s <= 0:
        return False  # no epoch began in it for sure
    return 1 - ready.step_s * block.steps / block.wall_s >= _MOST


def beginning_note(ready: TrialReady) -> str:
    """Return what to say of such a training."""
    steps = epoch_steps(ready) or 0
    return (
        f"An epoch has only {units.count(steps)} step{'s' * (steps != 1)}: most of the time goes to"
        " starting epochs, not to steps. With more data, or the data repeated"
        " (`dataset.repeat()` and steps_per_epoch), that gets less. What the input costs cannot be"
        " told from such epochs."
    )
