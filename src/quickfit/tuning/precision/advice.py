"""Whether to train in 16 bits: the answer, its reasons, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from quickfit import units
from quickfit.tuning.precision.hardware import Outlook, Prospect
from quickfit.tuning.precision.lines import lines_for
from quickfit.tuning.precision.measuring import MIN_GAIN, Comparison, Refused, Side
from quickfit.tuning.precision.survey import Reason


class Answer(StrEnum):
    """Whether 16 bits are worth it."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


_TITLES = {
    Answer.YES: "  to use it:",
    Answer.MAYBE: "  to try it:",
    Answer.NO: "  to change it back:",
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

    answer: Answer
    policy: str
    tried: str
    reasons: tuple[Reason, ...]
    measured: Comparison | None
    lines: tuple[str, ...]

    def __repr__(self) -> str:
        texts = [reason.text.replace("\n", "\n    ") for reason in self.reasons]
        lines = [_headline(self), *(f"  - {text}" for text in texts)]
        if self.lines:
            lines += [_TITLES[self.answer], *(f"      {line}" for line in self.lines)]
        return "\n".join(lines)


def advice_of(
    prospect: Prospect,
    findings: list[Reason],
    measured: Comparison | Refused | None,
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
    answer = _answer(prospect, measured)
    reasons = [Reason("hardware", prospect.reason), *_told(tried, measured), *findings]
    comparison = measured if isinstance(measured, Comparison) else None
    if answer is Answer.NO:
        lines = lines_for("float32") if current else []
        policy = "float32"
    else:
        lines = [] if current else lines_for(tried)
        policy = tried if current or answer is Answer.YES else "float32"
    return PrecisionAdvice(answer, policy, tried, tuple(reasons), comparison, tuple(lines))


def _answer(prospect: Prospect, measured: Comparison | Refused | None) -> Answer:
    if measured is None:
        return Answer.NO if prospect.outlook is Outlook.NONE else Answer.MAYBE
    if isinstance(measured, Refused):
        return Answer.NO
    speedup = measured.speedup
    if speedup.low >= MIN_GAIN:
        return Answer.YES
    # A gain that a few pairs could not prove may still be one; without units for it, hardly.
    is_open = speedup.mean >= MIN_GAIN and prospect.is_candidate
    return Answer.MAYBE if is_open else Answer.NO


def _headline(advice: PrecisionAdvice) -> str:
    if advice.answer is Answer.YES:
        return f"16 bits: yes, {advice.tried}"
    if advice.answer is Answer.MAYBE:
        return f"16 bits: maybe, {advice.tried}"
    return "16 bits: no, float32"


def _told(tried: str, measured: Comparison | Refused | None) -> list[Reason]:
    if measured is None:
        return []
    if isinstance(measured, Refused):
        return [Reason("measured", f"it does not train in {tried} as it is: {measured.text}")]
    texts = [_speed(tried, measured), _memory(tried, measured), _learned(tried, measured)]
    topics = ("measured", "memory", "loss")
    return [Reason(topic, text) for topic, text in zip(topics, texts, strict=True)]


def _speed(tried: str, measured: Comparison) -> str:
    speedup = measured.speedup
    times = (
        f"{units.rate(1 / measured.half.sample_s)} against {units.rate(1 / measured.full.sample_s)}"
    )
    cpu = units.factor(measured.half.sample_cpu_s / measured.full.sample_cpu_s)
    tail = f"{times} samples, {cpu} the CPU time; {_pairs(measured)})"
    if speedup.mean < 1:
        return f"measured: {tried} trains {units.factor(1 / speedup.mean)} slower ({tail}"
    text = f"measured: {tried} trains {units.factor(speedup.mean)} as fast ({tail}"
    if speedup.mean < MIN_GAIN:
        text += ", which is no gain that counts"
    elif speedup.low < MIN_GAIN:
        text += f", not proven: the lower end must reach {units.factor(MIN_GAIN)}"
    return text


def _pairs(measured: Comparison) -> str:
    speedup = measured.speedup
    if speedup.pairs == 1:
        return "one pair of processes"
    low, high = units.factor(speedup.low), units.factor(speedup.high)
    return f"{low} to {high} over {speedup.pairs} pairs of processes"


def _memory(tried: str, measured: Comparison) -> str:
    full, half = units.size(measured.full.peak_bytes), units.size(measured.half.peak_bytes)
    return f"memory at the most: {full} in float32, {half} in {tried}"


def _learned(tried: str, measured: Comparison) -> str:
    samples = units.count(measured.full.learned.samples)
    return (
        f"loss after {samples} samples: {_loss(measured.full)} in float32, "
        f"{_loss(measured.half)} in {tried}"
    )


def _loss(side: Side) -> str:
    return f"{side.learned.before:.4g} → {side.learned.after:.4g}"
