"""The class of a setting is what its results prove, and never more than its kind can be."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixing.tuned_class import agreement, class_of
from quickfit.lab.results import Results
from quickfit.tuning.advice.result import ChangeKind

SAME, EQUIVALENT = FixClass.SAME_RESULTS, FixClass.EQUIVALENT
MAY, REPAIRS = FixClass.MAY_CHANGE_RESULTS, FixClass.REPAIRS


def results(*losses):
    kept = {step: {"loss": loss} for step, loss in enumerate(losses, 1)}
    return Results(kept, {step: str(loss) for step, loss in enumerate(losses, 1)})


BASE = results(1.0, 0.9)


@pytest.mark.parametrize(
    ("again", "edited", "expected"),
    [
        pytest.param(BASE, BASE, SAME, id="equal bit by bit"),
        pytest.param(BASE, results(1.0, 0.9000001), EQUIVALENT, id="to rounding"),
        pytest.param(BASE, results(1.0, 0.7), None, id="others"),
        pytest.param(results(1.0, 0.8), BASE, None, id="the original differs by itself"),
        pytest.param(Results(), BASE, None, id="nothing kept"),
    ],
)
def test_results_agree(again, edited, expected):
    assert agreement(BASE, again, edited, (0, 0)) is expected


@pytest.mark.parametrize(
    ("kind", "judged", "agrees", "expected"),
    [
        pytest.param(
            ChangeKind.STEPS, MAY, SAME, MAY, id="steps beside a callback that acts seldom"
        ),
        pytest.param(ChangeKind.STEPS, MAY, None, MAY, id="steps that are not"),
        pytest.param(ChangeKind.STEPS, SAME, EQUIVALENT, SAME, id="never worse than judged"),
        pytest.param(ChangeKind.XLA, MAY, SAME, EQUIVALENT, id="XLA rounds in other ways"),
        pytest.param(ChangeKind.XLA, MAY, EQUIVALENT, EQUIVALENT, id="XLA to rounding"),
        pytest.param(ChangeKind.THREADS, MAY, EQUIVALENT, EQUIVALENT, id="threads"),
        pytest.param(ChangeKind.BATCH, MAY, SAME, MAY, id="a batch is another training"),
        pytest.param(ChangeKind.PRECISION, MAY, EQUIVALENT, MAY, id="so is another precision"),
        pytest.param(ChangeKind.XLA, REPAIRS, SAME, REPAIRS, id="another kind of class"),
    ],
)
def test_a_setting_is_of_class(kind, judged, agrees, expected):
    assert class_of(kind, judged, agrees) is expected
