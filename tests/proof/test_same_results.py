"""Results are judged by what was seen, and never better than the fix claims."""

import math

import numpy as np
import pytest

from quickfit.findings import FixClass
from quickfit.proof.kept import Batch, Results
from quickfit.proof.same_results import judge
from quickfit.trial.spec import WEIGHTS_FILE

SAME, EQUIVALENT = FixClass.SAME_RESULTS, FixClass.EQUIVALENT
MAY, REPAIRS = FixClass.MAY_CHANGE_RESULTS, FixClass.REPAIRS


def batches(*names):
    rows = [Batch((name,), ((name,),), ((),), number) for number, name in enumerate(names)]
    return {"fit": rows}


def results(*losses, weights=None, seen=("a", "b", "c"), **more):
    kept = {n: {"loss": loss} for n, loss in enumerate(losses, 1)}
    digests = {n: str(loss) for n, loss in enumerate(losses, 1)} if weights is None else weights
    return Results(kept, digests, batches(*seen), **more)


BASE = results(1.0, 0.9, 0.8)


def judged(edited, *, first=BASE, again=BASE, claimed=SAME, epoch_steps=(0, 0)):
    return judge(first, again, edited, claimed=claimed, epoch_steps=epoch_steps)


def test_bit_equal_losses_and_weights_are_the_same_results():
    found = judged(results(1.0, 0.9, 0.8))
    assert (found.kind, found.text) == (SAME, "bit-equal, 3 steps")


@pytest.mark.parametrize("claimed", [EQUIVALENT, MAY])
def test_bit_equal_results_prove_no_more_than_was_claimed(claimed):
    assert judged(results(1.0, 0.9, 0.8), claimed=claimed).kind == claimed


def test_losses_that_differ_by_rounding_are_equivalent():
    found = judged(results(1.0, 0.9, 0.80001))
    assert found.kind == EQUIVALENT
    assert found.text == "same batches (3 rows); losses within 1e-05"


def test_losses_that_differ_by_more_are_other_results():
    found = judged(results(1.0, 0.9, 0.7))
    assert found.kind is None
    assert found.text.startswith("the results are others: same batches (3 rows); losses within 1e")


def test_weights_that_differ_are_seen_where_losses_are_the_same():
    found = judged(results(1.0, 0.9, 0.8, weights={1: "x", 2: "y", 3: "z"}))
    assert found.kind == EQUIVALENT


def test_other_batches_and_losses_are_other_results():
    found = judged(results(5.0, 4.0, 3.0, seen=("x", "y", "z")))
    assert found.kind is None
    assert "losses within" in found.text


def test_batches_in_other_units_are_equivalent_where_the_losses_agree_very_well():
    seen = ("x", "y", "z")
    weights = {1: "a", 2: "b", 3: "c"}
    near = results(1.0, 0.9, 0.8 + 1e-8, seen=seen, weights=weights)
    assert judged(near).kind == EQUIVALENT
    rounded = results(1.0, 0.9, 0.8 + 1e-3, seen=seen, weights=weights)
    assert judged(rounded).kind is None


def test_what_may_change_results_says_what_was_seen():
    found = judged(results(5.0, 4.0, 3.0), claimed=MAY)
    assert found.kind == MAY
    assert "same batches" in found.text


def test_the_same_rows_in_another_order_are_equivalent():
    found = judged(results(2.0, 0.5, 0.6, seen=("c", "a", "b")), epoch_steps=(3, 3))
    assert found.kind == EQUIVALENT
    assert found.text.startswith("same rows in an epoch (3 rows), in another order")


class TestARunThatDiffersFromItself:
    """Losses say nothing then; batches do."""

    again = results(1.0, 0.91, 0.83)

    def test_the_same_batches_are_the_same_results(self):
        found = judged(results(1.0, 0.95, 0.7), again=self.again)
        assert found.kind == SAME
        assert found.text == "same batches (3 rows); losses differ from run to run"

    def test_other_batches_are_other_results(self):
        found = judged(results(1.0, 0.95, 0.7, seen=("a", "b", "x")), again=self.again)
        assert found.kind is None
        assert found.text == "the results are others: other batches; losses differ from run to run"

    def test_batches_nobody_saw_prove_nothing(self):
        unseen = results(1.0, 0.95, 0.2, seen=())
        assert judged(unseen, again=self.again).kind is None


def test_a_script_that_makes_no_step_is_not_accepted():
    found = judged(Results())
    assert (found.kind, found.text) == (None, "no step of training was seen")


def test_a_loss_that_becomes_not_a_number_is_not_accepted():
    found = judged(results(1.0, math.nan, 0.8))
    assert (found.kind, found.text) == (None, "the loss is not a number")
    assert judged(results(1.0, math.inf), claimed=REPAIRS).kind is None


def test_a_loss_that_was_not_a_number_before_is_no_fault_of_the_fix():
    nan = results(math.nan, math.nan, weights={1: "a", 2: "b"})
    assert judged(nan, first=nan, again=nan).kind == SAME


def test_a_repair_is_one_when_it_trains():
    found = judged(results(1.0, 0.5), first=Results(), again=Results(), claimed=REPAIRS)
    assert (found.kind, found.text) == (REPAIRS, "it trains: 2 steps, loss 0.5")
    only_weights = Results(weights={1: "a", 4: "b"})
    assert judged(only_weights, first=Results(), claimed=REPAIRS).text == "it trains: 4 steps"


def test_metrics_may_be_named_and_ordered_in_other_ways():
    first = Results({1: {"acc": 0.5, "loss": 1.0}}, {1: "w"}, batches("a"))
    edited = Results({1: {"loss": 1.0, "accuracy": 0.4}}, {1: "w"}, batches("a"))
    assert judged(edited, first=first, again=first).kind == SAME


def test_without_a_step_in_common_nothing_is_equal():
    late = Results({9: {"loss": 1.0}}, {9: "w"}, batches("x"))
    assert judged(late).kind is None


@pytest.mark.parametrize(("away", "kind"), [(1e-5, EQUIVALENT), (0.1, None)])
def test_without_losses_the_weights_say_how_far(tmp_path, away, kind):
    made = []
    for number, value in enumerate((1.0, 1.0 + away)):
        folder = tmp_path / str(number)
        folder.mkdir()
        np.savez(folder / WEIGHTS_FILE, **{"000001_00000": np.array([value, 2.0])})
        made.append(Results({}, {1: str(value)}, batches("a"), folder))
    assert judged(made[1], first=made[0], again=made[0]).kind == kind


def test_weights_of_other_shapes_are_other_weights(tmp_path):
    made = []
    for number, value in enumerate((np.ones(2), np.ones(3))):
        folder = tmp_path / str(number)
        folder.mkdir()
        np.savez(folder / WEIGHTS_FILE, **{"000001_00000": value})
        made.append(Results({}, {1: str(number)}, batches("a"), folder))
    assert judged(made[1], first=made[0], again=made[0]).kind is None


def test_a_mean_of_fit_is_not_compared_with_the_loss_of_one_batch():
    from quickfit.proof.same_results import _losses_apart, _steps_apart

    alone = Results({1: {"loss": 1.0}}, {1: "a"}, {}, loss_channels={"train_on_batch"})
    mean = Results({1: {"loss": 2.0}}, {1: "a"}, {}, loss_channels={"fit"})
    assert _steps_apart(alone, mean) is None
    assert _losses_apart(alone, mean) is None
