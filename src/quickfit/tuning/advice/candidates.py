"""The changes worth trying on a training: what may help at all on this machine and with this data.

What is known to be useless or impossible is not tried, and the reason is told instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from quickfit import units
from quickfit.tuning.advice.epochs import epoch_steps
from quickfit.tuning.advice.rows import Kind, Row, Verdict
from quickfit.tuning.trials.answers import Ready
from quickfit.tuning.trials.settings import Setting

STEPS_PER_CALL = (32, 8)
BATCH_FACTORS = (2, 4)
# What is asked for by name, and what it means.
KINDS = (Kind.XLA, Kind.STEPS, Kind.BATCH, Kind.PRECISION, Kind.THREADS)


@dataclass(frozen=True)
class Candidate:
    """A change to try.

    Args:
        kind: of which at most one is advised.
        name: as the table shows it.
        setting: what is changed.
    """

    kind: Kind
    name: str
    setting: Setting


# Tried as well, as a fact: what a training gains whose input costs nothing.
IN_MEMORY = Candidate(Kind.INPUT, "input from memory", Setting(in_memory=True))


@dataclass(frozen=True)
class Circumstances:
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

    ready: Ready
    cores: int
    policy: str | None = None
    why_no_policy: str = "this CPU has no 16-bit units"
    forced_policy: str = "mixed_bfloat16"
    own: Setting = field(default_factory=Setting)
    to_force: str = "--try precision"


@dataclass(frozen=True)
class Choice:
    """What to try, in order of promise, and what not, with the reason."""

    candidates: tuple[Candidate, ...]
    rows: tuple[Row, ...]


def choose(facts: Circumstances, kinds: Collection[Kind], forced: Collection[Kind] = ()) -> Choice:
    """Return what is worth trying of some kinds.

    Args:
        facts: about the training and the machine.
        kinds: that are wanted.
        forced: kinds that are tried although the machine speaks against them.
    """
    found: list[Candidate | Row] = []
    if Kind.XLA in kinds:
        found.append(Candidate(Kind.XLA, "XLA (jit_compile)", Setting(jit=True)))
    if Kind.STEPS in kinds:
        found += _steps(facts.ready)
    if Kind.BATCH in kinds:
        found += _batches(facts.ready)
    if Kind.PRECISION in kinds or Kind.PRECISION in forced:
        found.append(_precision(facts, is_forced=Kind.PRECISION in forced))
    if Kind.THREADS in kinds:
        found += _threads(facts.cores)
    return _sorted(facts, found)


def given(facts: Circumstances, settings: Sequence[Setting]) -> Choice:
    """Return settings that somebody wants to have tried, and which of them cannot be."""
    return _sorted(facts, [_given(facts.ready, one) for one in settings])


def _sorted(facts: Circumstances, found: Sequence[Candidate | Row]) -> Choice:
    told = [_unless_had(facts, one) if isinstance(one, Candidate) else one for one in found]
    candidates = tuple(one for one in told if isinstance(one, Candidate))
    return Choice(candidates, tuple(one for one in told if isinstance(one, Row)))


def _unless_had(facts: Circumstances, one: Candidate) -> Candidate | Row:
    """Return a candidate, or that it would change nothing."""
    own = {**facts.own.changed(), "batch": facts.ready.batch}
    if any(own.get(name) != value for name, value in one.setting.changed().items()):
        return one
    return _not_tried(one.kind, one.name, one.setting, "your training has it already")


def _given(ready: Ready, setting: Setting) -> Candidate | Row:
    kind, name = kind_of(setting), name_of(setting)
    if ready.samples is not None and (setting.batch or 0) > ready.samples:
        return _not_tried(kind, name, setting, _few_samples(ready))
    if not fits(setting, ready):
        return _not_tried(kind, name, setting, _few_steps(ready, setting.batch))
    return Candidate(kind, name, setting)


def kind_of(setting: Setting) -> Kind:
    """Return the kind of a setting; one that changes several things is `together`."""
    kinds = {
        "jit": Kind.XLA,
        "steps_per_execution": Kind.STEPS,
        "batch": Kind.BATCH,
        "policy": Kind.PRECISION,
        "intra_threads": Kind.THREADS,
        "inter_threads": Kind.THREADS,
    }
    found = {kinds[name] for name in setting.changed() if name in kinds}
    return found.pop() if len(found) == 1 else Kind.TOGETHER


def name_of(setting: Setting) -> str:
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


def fits(setting: Setting, ready: Ready) -> bool:
    """Tell whether an epoch has as many steps as one call of this setting takes."""
    steps = epoch_steps(ready, setting.batch)
    return steps is None or steps >= (setting.steps_per_execution or 1)


def _few_steps(ready: Ready, batch: int | None = None) -> str:
    steps = epoch_steps(ready, batch) or 0
    return f"an epoch has only {units.count(steps)} step{'s' * (steps != 1)}"


def _few_samples(ready: Ready) -> str:
    samples = ready.samples or 0
    return f"the data has only {units.count(samples)} sample{'s' * (samples != 1)}"


def _steps(ready: Ready) -> Iterator[Candidate | Row]:
    for count in STEPS_PER_CALL:
        setting = Setting(steps_per_execution=count)
        name = f"{count} steps per call"
        if fits(setting, ready):
            yield Candidate(Kind.STEPS, name, setting)
        else:
            yield _not_tried(Kind.STEPS, name, setting, _few_steps(ready))


def _batches(ready: Ready) -> Iterator[Candidate | Row]:
    for factor in BATCH_FACTORS:
        setting = Setting(batch=factor * ready.batch)
        name = f"batch {setting.batch} (×{factor})"
        if ready.samples is None or ready.samples >= factor * ready.batch:
            yield Candidate(Kind.BATCH, name, setting)
        else:
            yield _not_tried(Kind.BATCH, name, setting, _few_samples(ready))


def _precision(facts: Circumstances, *, is_forced: bool) -> Candidate | Row:
    policy = facts.policy or facts.forced_policy
    setting = Setting(policy=policy)
    if facts.policy or is_forced:
        return Candidate(Kind.PRECISION, policy, setting)
    why = f"{facts.why_no_policy}; {facts.to_force} measures it all the same"
    return _not_tried(Kind.PRECISION, policy, setting, why)


def _threads(cores: int) -> Iterator[Candidate | Row]:
    few = max(cores // 2, 1)
    settings = (Setting(inter_threads=1), Setting(intra_threads=few))
    for setting, name in zip(
        settings, ("inter-op threads 1", f"intra-op threads {few}"), strict=True
    ):
        if cores > 1:
            yield Candidate(Kind.THREADS, name, setting)
        else:
            yield _not_tried(Kind.THREADS, name, setting, "there is one core only")


def _not_tried(kind: Kind, name: str, setting: Setting, why: str) -> Row:
    return Row(name, kind, Verdict.NOT_TRIED, reason=why, setting=setting.changed())
