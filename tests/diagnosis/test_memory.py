"""How loudly a growth is told, and where it stands among the others."""

import pytest

from memory_runs import LOOP, held_by, memory_run, rising
from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.ranking import ranked
from quickfit.diagnosis.verdict import memory_severity
from quickfit.findings import Exhaustion, Finding, Gain

HOUR_S = 3600.0


def used(in_s, grown=1e8, limit=8e9):
    return Exhaustion("memory", "bytes", grown, 1e5, 1e6, limit, in_s)


@pytest.mark.parametrize(
    ("exhaustion", "severity"),
    [
        (used(0.5 * HOUR_S), "severe"),
        (used(20 * HOUR_S), "report"),
        (used(30 * HOUR_S), "mention"),
        (used(300 * HOUR_S, grown=2e9), "report"),
        (used(None, limit=None), "mention"),
    ],
)
def test_when_it_ends_decides(exhaustion, severity):
    assert memory_severity(exhaustion) == severity


def finding(cause, *, gain=1.0, exhaustion=None):
    severity = memory_severity(exhaustion) if exhaustion else "report"
    return Finding(
        cause, None, (), Gain(gain, gain, gain, ""), 0.1, cause=cause, severity=severity,
        exhaustion=exhaustion,
    )  # fmt: skip


def test_a_run_that_will_not_last_comes_before_a_small_gain_and_behind_a_large_one():
    found = [
        finding("slow", gain=1.15),
        finding("leak", exhaustion=used(600.0)),
        finding("very-slow", gain=1.6),
        finding("creeps", exhaustion=used(30 * HOUR_S)),
    ]
    assert [f.cause for f in ranked(found)] == ["very-slow", "leak", "slow", "creeps"]


LEAK = {"source": LOOP, "objects": {"tensors": (50, 250)}}


def test_the_headline_says_when_it_ends():
    diagnosis = diagnose_recording(memory_run(rss=rising(5e6, 6e8), **LEAK).recording)
    assert diagnosis.verdict == "findings"
    assert diagnosis.headline == (
        "a tensor is kept with every step; at this rate the limit of memory is reached in about"
        " 24 min"
    )


def test_slow_growth_is_mentioned_in_a_line():
    facts = {"memory_bytes": 512 * 10**9}
    signals = memory_run(seconds=60, rss=rising(1.5e6, 6e8), facts=facts, **LEAK)
    (found,) = diagnose_recording(signals.recording).findings
    assert (found.cause, found.severity) == ("tensor-list-growth", "mention")


def test_a_run_with_memory_asks_what_memory_causes_say():
    signals = held_by(memory_run(rss=rising(5e6, 6e8), **LEAK), 8, rising(3000))
    diagnosis = diagnose_recording(signals.recording)
    assert [f.cause for f in diagnosis.findings] == ["tensor-list-growth"]
    reasons = {n.cause: n.reason for n in diagnosis.not_checked}
    assert reasons["gc-pressure"] == "needs a run without --memory"
    assert "tensor-list-growth" not in reasons
    assert diagnosis.verdict == "memory"
    assert any("train.py:8 holds" in note for note in diagnosis.notes)
