"""Scripts that make no step: why, and what of it can be repaired."""

from types import SimpleNamespace

import pytest

from quickfit.findings import FixClass
from quickfit.fixing.repairing import failure_of, repairs


def recorded(*, steps=(), facts=None, quiet=None):
    main = SimpleNamespace(facts=facts or {}, rows=lambda name: list(steps))
    return SimpleNamespace(main=main, run={"quiet": quiet} if quiet is not None else {})


STUCK = {"kind": "stuck", "cause": "held-lock", "summary": "two threads wait for each other"}


@pytest.mark.parametrize(
    ("recording", "said"),
    [
        pytest.param(recorded(steps=[1], facts={"ended_by": {"type": "E"}}), "", id="it trained"),
        pytest.param(
            recorded(facts={"ended_by": {"type": "ValueError", "message": "no data"}}),
            "ended by ValueError: no data",
            id="it crashed",
        ),
        pytest.param(
            recorded(quiet=[STUCK]), "stands still: two threads wait for each other", id="stuck"
        ),
        pytest.param(recorded(quiet=[{"kind": "unknown", "cause": None}, "x"]), "", id="unknown"),
        pytest.param(recorded(facts={"ended_by": "damaged"}), "", id="damaged"),
    ],
)
def test_a_failure_is(recording, said):
    assert failure_of(recording) == said


def test_only_repairs_are_kept():
    kinds = [FixClass.SAME_RESULTS, FixClass.REPAIRS]
    group = [SimpleNamespace(change=SimpleNamespace(kind=kind)) for kind in kinds]
    assert repairs([group, group[:1]]) == [[group[1]]]
