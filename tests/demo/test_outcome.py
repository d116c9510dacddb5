"""The last table of the demo."""

import pytest

from quickfit.demo.story import Outcome, lines
from quickfit.findings import Finding, Gain
from quickfit.lab.turns import Comparison, Pace

FINDING = Finding(
    summary="a generator feeds `fit`",
    where=None,
    evidence=(),
    gain=Gain(low=1.5, likely=2.0, high=2.4, basis="two cores"),
    cost_share=0.5,
)


def outcome(speed_up, finding=FINDING):
    slow = Pace(90, 0.060 * speed_up, 0.170)
    return Outcome(finding, Comparison(slow, Pace(200, 0.060, 0.120), (1.9, 2.1, 2.2)))


def test_shows_both_speed_ups_and_wall_beside_cpu_time():
    text = "\n".join(lines(outcome(2.1)))
    assert "1.50–2.40×, likely 2.00×" in text
    assert "2.10×" in text
    assert [row.split() for row in lines(outcome(2.1)) if "time per step" in row] == [
        ["wall", "time", "per", "step", "126", "ms", "60", "ms"],
        ["CPU", "time", "per", "step", "170", "ms", "120", "ms"],
    ]


@pytest.mark.parametrize(
    ("speed_up", "sentence"),
    [
        pytest.param(2.1, "lies inside the predicted range.", id="inside"),
        pytest.param(2.401, "lies inside the predicted range.", id="on the edge as shown"),
        pytest.param(2.6, "lies outside the predicted range: above it.", id="above"),
        pytest.param(1.2, "lies outside the predicted range: below it.", id="below"),
    ],
)
def test_says_plainly_whether_the_prediction_held(speed_up, sentence):
    shown = outcome(speed_up)
    assert sentence in "\n".join(lines(shown))
    assert shown.is_inside == ("inside" in sentence)


def test_says_so_when_nothing_was_predicted():
    shown = outcome(2.0, finding=None)
    assert not shown.is_inside
    assert "named no cause in this run" in "\n".join(lines(shown))
