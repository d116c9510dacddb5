"""`memory-held`: a name of the script holds much, and no other cause has it."""

import pytest

from memory_runs import LOOP, filling, flat, looks, memory_run, rising
from quickfit.causes.memory.memory_held import detect, fix
from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.verdict import memory_severity

JOINS = """\
memory = tf.Variable(tf.zeros((0, 64)), shape=(None, 64))
for step in range(1000):
    train_step(x)
    memory.assign(tf.concat([memory, x], axis=0))
"""
CACHES = """\
class Loader:
    def __init__(self):
        self.seen = {}

    def load(self, i):
        if i not in self.seen:
            self.seen[i] = read(i)
        return self.seen[i]

for step in range(1000):
    train_step(loader.load(step))
"""
VARIABLE = {"name": "memory", "kind": "variable", "content": "variables"}
SEEN = {"name": "self.seen", "scope": "Loader", "kind": "dict"}


def joined(rss=None, level=None):
    held = looks(level or rising(2e7), **VARIABLE)
    return memory_run(source=JOINS, head_line=2, rss=rss or rising(2e7, 6e8), holders=held)


def cached(level, **given):
    held = looks(level, **{**SEEN, **given})
    rss = given.pop("rss", None) or (lambda at_s: 6e8 + level(at_s))
    return memory_run(source=CACHES, head_line=10, rss=rss, holders=held)


def swings(at_s):
    """Return memory that comes and goes by more than it grows: each `concat` is a copy."""
    return 6e8 + 2e7 * at_s * (1 + int(2 * at_s) % 2)


@pytest.mark.parametrize("rss", [rising(2e7, 6e8), swings])
def test_a_variable_that_gets_larger_is_told_at_the_line_that_joins(rss):
    finding = detect(joined(rss))
    assert finding.where.line == 4
    assert finding.exhaustion.each == pytest.approx(2e6, rel=0.01)
    assert "`memory` gets larger with every step" in finding.summary
    assert len(finding.evidence) >= 2
    assert fix(finding, joined()).kind == "may-change-results"


def test_a_dictionary_that_is_full_holds_what_it_holds():
    finding = detect(cached(filling(8e7, 20)))
    assert finding.where.line == 7
    assert finding.exhaustion.held == 16e8
    assert memory_severity(finding.exhaustion) == "report"
    assert memory_severity(detect(cached(filling(2.2e8, 20))).exhaustion) == "severe"


def test_it_is_told_once():
    for signals in (joined(), cached(filling(8e7, 20)), cached(rising(4e7))):
        told = [f.cause for f in diagnose_recording(signals.recording).findings]
        assert len([c for c in told if c in ("memory-held", "host-ram-growth")]) == 1, told


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(memory_run(), id="healthy"),
        pytest.param(memory_run(rss=rising(5e7, 6e8)), id="nobody looked"),
        pytest.param(cached(filling(1e7, 20)), id="it holds little"),
        pytest.param(cached(flat(2e9)), id="it was there before training"),
        pytest.param(cached(filling(8e7, 20), rss=flat(3e9)), id="the process did not grow"),
        pytest.param(cached(filling(8e7, 20), kind="deque", bound=1600), id="it has a bound"),
        pytest.param(
            memory_run(
                source=LOOP,
                rss=rising(5e7, 6e8),
                holders=looks(rising(5e7), name="losses", content="tensors"),
            ),
            id="tensors are kept",
        ),
        pytest.param(
            memory_run(
                source=LOOP, rss=rising(5e7, 6e8), holders=looks(rising(5e7), name="losses")
            ),
            id="a list goes on growing",
        ),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None
