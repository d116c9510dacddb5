"""`advise_precision`: whether training in 16 bits gains anything on this machine, measured."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.errors import ModelError, UsageError
from quickfit.lab.budget import Budget
from quickfit.lab.statistics import MIN_GAIN, Measured
from quickfit.lab.verdict import USUAL_PAIRS, VerdictKind
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.advice.rounds import (
    BaselineFailed,
    LossComparison,
    RoundSide,
    StartedTrial,
    TrialMachine,
    TrialPair,
    TrialRound,
    close_trials,
    measurement,
)
from quickfit.tuning.precision.hardware import Outlook, Prospect, prospect_of, read_hardware
from quickfit.tuning.precision.policies import every_layer, policy_lines, policy_name
from quickfit.tuning.precision.survey import SurveyReason, survey_model, survey_speed
from quickfit.tuning.trials.settings import (
    Setting,
    TrialFailed,
    TrialLearned,
)

if TYPE_CHECKING:
    from quickfit.tuning.trials.trial import TrainingTrial

# Models and data are `Any`: Keras has no types of its own.

Tell = Callable[[str], None]

# One pair on a busy machine may be wrong by much more than a null edit's 0.97. Where the hardware
# has the units, only a clear loss ends the measurement early; where it has none, no gain does.
_CLEAR_LOSS = 0.8


def advise_precision(
    model: Any, data: Any = None, *, measure: bool = True, tell: Tell = lambda text: None
) -> PrecisionAdvice:
    """Say whether training in 16 bits gains anything here, by hardware, model and measurement.

    The measurement trains copies of the model in child processes; the model is not touched.

    Args:
        model: a Keras model, compiled if it is to be measured.
        data: what `fit` would get: a `tf.data.Dataset` of batches, arrays `(x, y)`, a
            `PyDataset`. Without it nothing is measured.
        measure: whether to measure.
        tell: is told what goes on, a line at a time.

    Raises:
        UsageError: the model is none.
        ModelError: the model cannot be carried to other processes, or does not train.
    """
    _require_model(model)
    prospect = prospect_of(read_hardware())
    current = current_policy(model)
    missing = _not_measured_reason(model, data, measure=measure)
    measured = None if missing else _measure_precision(model, data, prospect, current, tell)
    batch = measured.batch if isinstance(measured, PrecisionComparison) else None
    findings = [*survey_model(model, current or prospect.policy)]
    if prospect.is_candidate:
        findings += survey_speed(model, batch)
    return build_precision_advice(prospect, [*missing, *findings], measured, current=current)


def current_policy(model: Any) -> str | None:
    """Return the 16-bit policy that a model has already, of most of its layers that have one."""
    names = [policy_name(layer) for layer in every_layer(model)]
    counted = Counter(name for name in names if "float16" in name)
    return counted.most_common(1)[0][0] if counted else None


def _require_model(model: Any) -> None:
    import keras

    if not isinstance(model, keras.Model):
        raise UsageError(
            f"advise_precision is about a model of Keras 3, and was given a "
            f"{type(model).__module__}.{type(model).__name__}. Give the model and its data: "
            "advise_precision(model, dataset)."
        )


def _not_measured_reason(model: Any, data: Any, *, measure: bool) -> list[SurveyReason]:
    """Say why nothing is measured; nothing where it is."""
    if not measure:
        return [SurveyReason("measured", "not measured: measure=False")]
    if data is None:
        how = "advise_precision(model, dataset)"
        return [SurveyReason("measured", f"not measured: there are no data; {how} measures")]
    if not model.compiled:
        how = 'model.compile(optimizer="adam", loss=...)'
        return [
            SurveyReason("measured", f"not measured: the model is not compiled; call {how} first")
        ]
    return []


def _measure_precision(
    model: Any, data: Any, prospect: Prospect, current: str | None, tell: Tell
) -> PrecisionComparison | PrecisionRefused:
    from quickfit.tuning.trials.saving import recipe_by_model
    from quickfit.tuning.trials.trial import Trial, scratch_folder

    settings = (Setting(), Setting(policy=prospect.policy))
    if current:
        settings = (Setting(policy="float32"), Setting())
    enough = _CLEAR_LOSS if prospect.is_candidate else MIN_GAIN
    with scratch_folder() as folder:
        recipe = recipe_by_model(model, data, folder)
        return compare_precisions(
            lambda one: Trial(recipe, one), settings, enough=enough, tell=tell
        )


class PrecisionAnswer(StrEnum):
    """Whether 16 bits are worth it."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


_TITLES = {
    PrecisionAnswer.YES: "  to use it:",
    PrecisionAnswer.MAYBE: "  to try it:",
    PrecisionAnswer.NO: "  to change it back:",
}


@dataclass(frozen=True, repr=False)
class PrecisionAdvice:
    """Whether to train in 16 bits here.

    Args:
        answer: yes, no, or maybe where only a measurement could tell.
        policy: the dtype policy to train with.
        tried: the 16-bit policy that this is about.
        reasons: each with its fact.
        measured: float32 against 16 bits, or None where it was not measured.
        lines: to put into the script; empty where nothing is to be changed.
    """

    answer: PrecisionAnswer
    policy: str
    tried: str
    reasons: tuple[SurveyReason, ...]
    measured: PrecisionComparison | None
    lines: tuple[str, ...]

    def __repr__(self) -> str:
        texts = [reason.text.replace("\n", "\n    ") for reason in self.reasons]
        lines = [_advice_headline(self), *(f"  - {text}" for text in texts)]
        if self.lines:
            lines += [_TITLES[self.answer], *(f"      {line}" for line in self.lines)]
        return "\n".join(lines)


def build_precision_advice(
    prospect: Prospect,
    findings: list[SurveyReason],
    measured: PrecisionComparison | PrecisionRefused | None,
    *,
    current: str | None = None,
) -> PrecisionAdvice:
    """Return the advice that follows from hardware, model and measurement.

    Args:
        prospect: what the hardware promises.
        findings: what the model says.
        measured: the A/B; None where there was none.
        current: the 16-bit policy that the model has already.
    """
    tried = current or prospect.policy
    answer = _choose_answer(prospect, measured)
    reasons = [
        SurveyReason("hardware", prospect.reason),
        *_measured_lines(tried, measured),
        *findings,
    ]
    comparison = measured if isinstance(measured, PrecisionComparison) else None
    if answer is PrecisionAnswer.NO:
        lines = policy_lines("float32") if current else []
        policy = "float32"
    else:
        lines = [] if current else policy_lines(tried)
        policy = tried if current or answer is PrecisionAnswer.YES else "float32"
    return PrecisionAdvice(answer, policy, tried, tuple(reasons), comparison, tuple(lines))


def _choose_answer(
    prospect: Prospect, measured: PrecisionComparison | PrecisionRefused | None
) -> PrecisionAnswer:
    if measured is None:
        return PrecisionAnswer.NO if prospect.outlook is Outlook.NONE else PrecisionAnswer.MAYBE
    if isinstance(measured, PrecisionRefused):
        return PrecisionAnswer.NO
    if measured.is_proven:
        return PrecisionAnswer.YES
    # A gain that a few pairs could not prove may still be one; without units for it, hardly.
    is_open = measured.speedup.mean >= MIN_GAIN and prospect.is_candidate
    return PrecisionAnswer.MAYBE if is_open else PrecisionAnswer.NO


def _advice_headline(advice: PrecisionAdvice) -> str:
    if advice.answer is PrecisionAnswer.YES:
        return f"16 bits: yes, {advice.tried}"
    if advice.answer is PrecisionAnswer.MAYBE:
        return f"16 bits: maybe, {advice.tried}"
    return "16 bits: no, float32"


def _measured_lines(
    tried: str, measured: PrecisionComparison | PrecisionRefused | None
) -> list[SurveyReason]:
    if measured is None:
        return []
    if isinstance(measured, PrecisionRefused):
        return [SurveyReason("measured", f"it does not train in {tried} as it is: {measured.text}")]
    texts = [
        _speed_line(tried, measured),
        _memory_line(tried, measured),
        _loss_line(tried, measured),
    ]
    topics = ("measured", "memory", "loss")
    return [SurveyReason(topic, text) for topic, text in zip(topics, texts, strict=True)]


def _speed_line(tried: str, measured: PrecisionComparison) -> str:
    speedup = measured.speedup
    times = (
        f"{units.rate(1 / measured.half.sample_s)} against {units.rate(1 / measured.full.sample_s)}"
    )
    cpu = units.factor(measured.half.sample_cpu_s / measured.full.sample_cpu_s)
    tail = f"{times} samples, {cpu} the CPU time; {_pairs_text(measured)})"
    if speedup.mean < 1:
        return f"measured: {tried} trains {units.factor(1 / speedup.mean)} slower ({tail}"
    text = f"measured: {tried} trains {units.factor(speedup.mean)} as fast ({tail}"
    if speedup.mean < MIN_GAIN:
        text += ", which is no gain that counts"
    elif not measured.is_proven:
        text += ", not proven: the pairs differ too much"
    return text


def _pairs_text(measured: PrecisionComparison) -> str:
    speedup = measured.speedup
    if speedup.pairs == 1:
        return "one pair of processes"
    low, high = units.factor(speedup.low), units.factor(speedup.high)
    return f"{low} to {high} over {speedup.pairs} pairs of processes"


def _memory_line(tried: str, measured: PrecisionComparison) -> str:
    full, half = units.size(measured.full.peak_bytes), units.size(measured.half.peak_bytes)
    return f"memory at the most: {full} in float32, {half} in {tried}"


def _loss_line(tried: str, measured: PrecisionComparison) -> str:
    samples = units.count(measured.full.learned.samples)
    return (
        f"loss after {samples} samples: {_loss_text(measured.full)} in float32, "
        f"{_loss_text(measured.half)} in {tried}"
    )


def _loss_text(side: PrecisionSide) -> str:
    return f"{side.learned.before:.4g} → {side.learned.after:.4g}"


# Enough for a loss to move, little enough to wait for.
LEARN_STEPS = 30


@dataclass(frozen=True)
class PrecisionSide:
    """How one precision did: over all pairs the time of a sample, and what was learned."""

    sample_s: float
    sample_cpu_s: float
    peak_bytes: int
    learned: TrialLearned


@dataclass(frozen=True)
class PrecisionComparison:
    """float32 and 16 bits on the same model and data.

    Args:
        speedup: of 16 bits over float32.
        full: how float32 did.
        half: how 16 bits did.
        batch: samples of a step.
        is_proven: whether the pairs show a gain.
    """

    speedup: Measured
    full: PrecisionSide
    half: PrecisionSide
    batch: int
    is_proven: bool


@dataclass(frozen=True)
class PrecisionRefused:
    """The model does not train in 16 bits as it is, and the child's words about it."""

    text: str


def compare_precisions(
    make: Callable[[Setting], TrainingTrial],
    settings: tuple[Setting, Setting],
    *,
    enough: float = 1.0,
    tell: Callable[[str], None] = lambda text: None,
) -> PrecisionComparison | PrecisionRefused:
    """Return how float32 and 16 bits did, over pairs of fresh processes until it is decided.

    Args:
        make: makes a trial of a setting.
        settings: float32, and 16 bits.
        enough: a pair with a gain below this is the last.
        tell: is told what goes on.

    Raises:
        ModelError: the model does not train in float32 either.
    """
    candidate = ChangeCandidate(ChangeKind.PRECISION, "16 bits", settings[1])
    machine = TrialMachine(make, Budget(TIMEOUT_MAX))
    pairs: list[TrialPair] = []
    full: list[RoundSide] = []
    while True:
        tell(f"precision: pair {len(pairs) + 1} of at most {USUAL_PAIRS}")
        base = StartedTrial(make(settings[0]), "float32")
        with close_trials([base]):
            try:
                lesson = None if pairs else _begin_first(base, machine, candidate)
                one = TrialRound(machine, [candidate], base=base, lesson=lesson)
                found = one.measure(backwards=len(pairs) % 2 == 1)
                batch = base.ready().batch
            except BaselineFailed as error:
                raise _not_in_float32(error.failure) from error
        if candidate not in found.pairs:
            failed = found.failures[candidate]
            return PrecisionRefused(f"{failed.failure}: {failed.text}")
        pairs.append(found.pairs[candidate])
        full.append(base.side)
        is_open = len(pairs) < USUAL_PAIRS and measurement(pairs).verdict.is_open
        if not is_open or pairs[-1].gain < enough:
            return _join_pairs(pairs, full, batch)


def _begin_first(
    base: StartedTrial, machine: TrialMachine, candidate: ChangeCandidate
) -> LossComparison:
    """Start float32, whose batch tells how many samples both learn from."""
    base.begin()
    base.wait(machine)
    samples = LEARN_STEPS * base.ready().batch
    return LossComparison(samples, frozenset({candidate}), min_gain=0.0)


def _not_in_float32(failed: TrialFailed) -> ModelError:
    return ModelError(
        f"the model does not train on these data in float32 ({failed.failure}), so "
        f"nothing was measured:\n{failed.text}\n"
        "Do model and data fit together? `model.fit` with the same data must work first. For "
        "an answer from hardware and model alone: advise_precision(model, measure=False)."
    )


def _join_pairs(
    pairs: Sequence[TrialPair], full: Sequence[RoundSide], batch: int
) -> PrecisionComparison:
    """Return how both did over all pairs; the times of both sides have the ratio of the gain."""
    found = measurement(pairs)
    first = pairs[0]
    assert first.learned is not None
    assert first.unchanged is not None
    sample_s = statistics.geometric_mean(_per_sample(side, "wall_s") for side in full)
    cpu_s = statistics.geometric_mean(max(_per_sample(side, "cpu_s"), 1e-12) for side in full)
    peak = max(pair.unchanged_peak_bytes for pair in pairs)
    half_peak = max(pair.peak_bytes for pair in pairs)
    return PrecisionComparison(
        found.gain,
        PrecisionSide(sample_s, cpu_s, peak, first.unchanged),
        PrecisionSide(
            sample_s / found.gain.mean, cpu_s * (found.cpu or 1.0), half_peak, first.learned
        ),
        batch,
        found.verdict.kind is VerdictKind.ACCEPTED,
    )


def _per_sample(side: RoundSide, what: str) -> float:
    blocks = side.blocks
    total: float = sum(getattr(one, what) for one in blocks)
    return total / sum(one.samples for one in blocks)
