"""What a finding still gains after the first fix, said of the time that it speaks of."""

import pytest

from quickfit.diagnosis.ranking import behind_the_first, of_the_run, of_the_whole, ranked
from quickfit.findings import Finding, Gain, Severity


def finding(likely, *claims, **given):
    gain = given.pop("gain", Gain(likely, likely, likely, "why"))
    values = {"cost_share": 1 - 1 / likely, "severity": Severity.SEVERE}
    return Finding("it is slow", None, (), gain, claims=claims, **{**values, **given})


def after_first(first, second):
    found = ranked([first, second])
    assert found[0] is first
    assert found[1].after_first is not None
    return found[1].after_first.likely


def test_the_same_seconds_of_a_shorter_loop_are_worth_more():
    # 50 % of the loop goes first, then 20 of the 50 % that are left.
    second = finding(1.25, "between", loop=1)
    assert after_first(finding(2.0, "input_wait", loop=1), second) == pytest.approx(5 / 3)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(finding(4.0, "input_wait", loop=2, weight=0.5), id="another loop"),
        pytest.param(finding(2.0, "before_training"), id="outside the loops"),
    ],
)
def test_a_fix_elsewhere_does_not_shorten_the_loop(first):
    assert after_first(first, finding(1.25, "between", loop=1)) == pytest.approx(1.25)


def test_a_fix_of_a_loop_shortens_the_run_by_the_weight_of_the_loop():
    # Half of a loop that is half of the run is a quarter of the run: 20 of 75 % are left.
    first = finding(2.0, "input_wait", loop=1, weight=0.5)
    assert after_first(first, finding(1.25, "before_training")) == pytest.approx(0.75 / 0.55)


def test_what_gains_nothing_yet_keeps_what_it_gains_behind_the_first():
    first = finding(4.0, "input_wait")
    (hidden,) = behind_the_first([first], [finding(1.0, "callbacks", cost_share=0.15)])
    assert hidden.after_first is not None
    assert after_first(first, hidden) == hidden.after_first.likely > 1.1


def test_what_is_found_in_a_loop_that_does_not_train_is_told_of_the_run():
    of_loop = finding(20.0, "between")
    whole = of_the_run(of_loop, share=0.4)
    assert whole.is_of_run
    assert whole.cost_share == pytest.approx(0.38)
    # At most what the loop takes goes away.
    assert whole.gain.likely == pytest.approx(1 / (1 - 0.95 * 0.4))
    assert of_the_run(whole, share=0.4) == whole, "only once"


def test_epochs_that_end_sooner_are_a_gain_but_no_cost():
    half = finding(2.0, "step")
    whole = of_the_whole(half, steps_share=0.4, ends_share=0.4)
    assert whole.cost_share == pytest.approx(0.2)
    assert whole.gain.low == pytest.approx(1 / 0.8)
    assert whole.gain.likely == pytest.approx(1 / 0.6)
    assert "ends iterators shrink" in whole.gain.basis
    assert "iterators" not in of_the_whole(half, steps_share=0.9, ends_share=0.02).gain.basis


@pytest.mark.parametrize(("cost_share", "is_first"), [(0.45, True), (0.25, False)])
def test_a_large_part_without_a_cause_comes_before_a_small_cause(cost_share, is_first):
    small = finding(1.4, "step", cost_share=0.15)
    gain = Gain(1.05, 1.28, 1.8, "why")
    part = finding(1.28, "epoch_callbacks", cost_share=cost_share, is_general=True, gain=gain)
    assert (ranked([small, part])[0].claims == ("epoch_callbacks",)) == is_first
