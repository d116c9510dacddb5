"""The changes worth trying on a training: what may help on this machine and with this data.

What is known to be useless or impossible is a candidate with the reason, and is not tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from quickfit import units
from quickfit.findings import Change
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.trials.batch_judgement import largest_batch, why_too_large
from quickfit.tuning.trials.settings import Setting, TrialBlock, TrialReady

# The larger one first: where it gains nothing, the smaller one gains nothing either.
STEPS_PER_CALL = (32, 8)
# The smaller one first: where twice as many examples gain nothing, four times as many do not.
BATCH_FACTORS = (2, 4)
# A call of the train function from Python takes a millisecond or two: of steps that take longer
# than this it is too small a part for fewer calls to gain anything.
LONG_STEP_S = 0.1
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
    """A change to try: a setting of a built model, or an edit of a script that makes the setting.

    Args:
        kind: of which at most one is advised.
        name: as the table shows it.
        setting: what is changed.
        edit: of the script's text; None of a built model.
        reason: why it is not tried; empty where it is.
    """

    kind: ChangeKind
    name: str
    setting: Setting = field(default_factory=Setting)
    edit: Change | None = None
    reason: str = ""


# Tried as well, as a fact: what a training gains whose input costs nothing.
IN_MEMORY = ChangeCandidate(ChangeKind.INPUT, "input from memory", Setting(in_memory=True))


@dataclass(frozen=True)
class TrialCircumstances:
    """What decides which settings of a built model are worth trying.

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


def choose_candidates(
    facts: TrialCircumstances, kinds: Collection[ChangeKind], forced: Collection[ChangeKind] = ()
) -> list[ChangeCandidate]:
    """Return the settings of some kinds, in order of promise; what is not worth it has a reason.

    Args:
        facts: about the training and the machine.
        kinds: that are wanted.
        forced: kinds that are tried although the machine speaks against them.
    """
    found: list[ChangeCandidate] = []
    if ChangeKind.XLA in kinds:
        found.append(ChangeCandidate(ChangeKind.XLA, "XLA (jit_compile)", Setting(jit=True)))
    if ChangeKind.STEPS in kinds:
        found += _step_candidates(facts.ready, is_forced=ChangeKind.STEPS in forced)
    if ChangeKind.BATCH in kinds:
        found += _batch_candidates(facts.ready)
    if ChangeKind.PRECISION in kinds or ChangeKind.PRECISION in forced:
        found.append(_precision_candidate(facts, is_forced=ChangeKind.PRECISION in forced))
    if ChangeKind.THREADS in kinds:
        found += _thread_candidates(facts.cores)
    return [_skip_if_present(facts, one) for one in found]


def candidates_from_settings(
    facts: TrialCircumstances, settings: Sequence[Setting]
) -> list[ChangeCandidate]:
    """Return settings that were asked for one by one; those that cannot be tried have a reason."""
    return [_skip_if_present(facts, _candidate_from_setting(facts.ready, one)) for one in settings]


def _skip_if_present(facts: TrialCircumstances, one: ChangeCandidate) -> ChangeCandidate:
    """Return a candidate; one that would change nothing has that as its reason."""
    own = {**facts.own.changed(), "batch": facts.ready.batch}
    if one.reason or any(own.get(name) != value for name, value in one.setting.changed().items()):
        return one
    return replace(one, reason="your training has it already")


def _candidate_from_setting(ready: TrialReady, setting: Setting) -> ChangeCandidate:
    one = ChangeCandidate(setting_kind(setting), setting_name(setting), setting)
    if ready.samples is not None and (setting.batch or 0) > ready.samples:
        return replace(one, reason=_few_samples(ready))
    if not fits_epoch(setting, ready):
        return replace(one, reason=_few_steps(ready, setting.batch))
    return one


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


def _step_candidates(ready: TrialReady, *, is_forced: bool) -> Iterator[ChangeCandidate]:
    for count in STEPS_PER_CALL:
        setting = Setting(steps_per_execution=count)
        why = "" if fits_epoch(setting, ready) else _few_steps(ready)
        if not why and ready.step_s >= LONG_STEP_S and not is_forced:
            why = f"a step takes {units.seconds(ready.step_s)}, and a call from Python 1 to 2 ms"
        yield ChangeCandidate(ChangeKind.STEPS, f"{count} steps per call", setting, reason=why)


def _batch_candidates(ready: TrialReady) -> Iterator[ChangeCandidate]:
    most = largest_batch(ready.samples, ready.batch)
    for factor in BATCH_FACTORS:
        batch = factor * ready.batch
        why = ""
        if ready.samples is not None and batch > ready.samples:
            why = _few_samples(ready)
        elif ready.samples is not None and most is not None and batch > most:
            why = why_too_large(ready.samples, batch)
        yield ChangeCandidate(
            ChangeKind.BATCH, f"batch {batch} (×{factor})", Setting(batch=batch), reason=why
        )


def _precision_candidate(facts: TrialCircumstances, *, is_forced: bool) -> ChangeCandidate:
    policy = facts.policy or facts.forced_policy
    why = f"{facts.why_no_policy}; {facts.to_force} measures it all the same"
    is_tried = bool(facts.policy) or is_forced
    return ChangeCandidate(
        ChangeKind.PRECISION, policy, Setting(policy=policy), reason="" if is_tried else why
    )


def _thread_candidates(cores: int) -> Iterator[ChangeCandidate]:
    few = max(cores // 2, 1)
    why = "" if cores > 1 else "there is one core, and threads share it"
    for setting, name in (
        (Setting(inter_threads=1), "inter-op threads 1"),
        (Setting(intra_threads=few), f"intra-op threads {few}"),
    ):
        yield ChangeCandidate(ChangeKind.THREADS, name, setting, reason=why)


# Through so many epochs goes the first block of a training, if they are short.
FIRST_EPOCHS = 2
# The share of the time beside the steps from which on it is what is measured.
_MOST = 0.5


def epoch_steps(ready: TrialReady, batch: int | None = None) -> int | None:
    """Return the steps of an epoch, the last one of them may be smaller; None if it is not known.

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
