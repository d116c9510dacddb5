"""What trials keep of their results, and how those compare."""

import json
import math

import numpy as np
import pytest

from quickfit.findings import FixClass
from quickfit.lab.results import Batch, Results, compare_batches, judge, read_results
from quickfit.lab.sandbox.result_hooks import described
from quickfit.lab.sandbox.spec import RESULTS_FILE, ROWS_FILE, WEIGHTS_FILE


def lines(folder, *facts, tail=""):
    text = "".join(json.dumps(fact) + "\n" for fact in facts)
    (folder / RESULTS_FILE).write_text(text + tail)


BATCH = {"kind": "batch", "channel": "fit", "digests": ["a", "b"], "small": [[1], [2]]}
LOSS = {"kind": "loss", "step": 1, "values": {"loss": (0.1).hex()}}
WEIGHTS = {"kind": "weights", "step": 1, "digest": "d", "time_s": 0.1}


def test_where_nothing_was_kept_all_is_empty(tmp_path):
    found = read_results(tmp_path)
    assert (found.losses, found.weights, found.batches, found.last_step) == ({}, {}, {}, 0)
    assert found.rows() == {}
    assert found.weights_at(1) == []


def test_all_that_was_kept_is_found(tmp_path):
    lines(tmp_path, BATCH | {"rough": [[0.5], [0.6]]}, LOSS, WEIGHTS)
    found = read_results(tmp_path)
    assert found.losses == {1: {"loss": 0.1}}
    assert found.weights == {1: "d"}
    (batch,) = found.batches["fit"]
    assert (batch.digests, batch.small, batch.rough) == (("a", "b"), ((1,), (2,)), ((0.5,), (0.6,)))


def test_rows_are_counted_over_all_channels(tmp_path):
    batch = BATCH | {"rough": [[], []]}
    lines(tmp_path, batch, batch | {"channel": "next"}, LOSS, batch)
    found = read_results(tmp_path)
    assert [b.first_row for b in found.batches["fit"]] == [0, 4]
    assert [b.first_row for b in found.batches["next"]] == [2]


def test_a_line_that_was_cut_ends_it(tmp_path):
    lines(tmp_path, LOSS, tail='{"kind": "loss", "st')
    assert list(read_results(tmp_path).losses) == [1]


def test_arrays_that_were_cut_are_as_if_they_were_not_there(tmp_path):
    lines(tmp_path, LOSS)
    (tmp_path / ROWS_FILE).write_bytes(b"PK\x03\x04 cut")
    (tmp_path / WEIGHTS_FILE).write_bytes(b"")
    found = read_results(tmp_path)
    assert found.rows() == {}
    assert found.weights_at(1) == []


def test_weights_come_in_the_order_they_were_made(tmp_path):
    arrays = {f"000002_{n:05d}": np.full(1, n) for n in (10, 2, 0)}
    np.savez(tmp_path / WEIGHTS_FILE, **arrays, **{"000001_00000": np.full(1, 99)})
    assert [int(a[0]) for a in read_results(tmp_path).weights_at(2)] == [0, 2, 10]


def test_pickled_arrays_are_not_opened(tmp_path):
    np.savez(tmp_path / ROWS_FILE, **{"000000": np.array([{"a": 1}], object)})
    assert read_results(tmp_path).rows() == {}


@pytest.fixture
def saw(tmp_path):
    """Return the results of a trial that saw these batches."""
    made = []

    def of(*batches, channel="fit", keeps_rows=True):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(folder)
        raw, text = [], ""
        for batch in batches:
            facts = described(batch)
            raw += facts.pop("raw")
            text += json.dumps({"kind": "batch", "channel": channel, **facts}) + "\n"
        (folder / RESULTS_FILE).write_text(text)
        if keeps_rows:
            np.savez(folder / ROWS_FILE, **{f"{n:06d}": row for n, row in enumerate(raw)})
        return read_results(folder)

    return of


def images(rows=12, seed=0):
    x = np.random.default_rng(seed).random((rows, 16, 16)).astype(np.float32)
    # Each one has a look of its own: a random stretch is much brighter.
    for n in range(rows):
        x[n, n % 16] += 3.0
    return x, np.arange(rows)


def batched(x, y, size=4):
    return [[x[n : n + size], y[n : n + size]] for n in range(0, len(x), size)]


NONE = (0, 0)


def test_equal_batches_are_the_same(saw):
    batches = batched(*images())
    found = compare_batches(saw(*batches), saw(*batches), NONE)
    assert (found.kind, found.rows) == ("same", 12)


def test_only_what_both_have_seen_is_compared(saw):
    batches = batched(*images())
    assert compare_batches(saw(*batches), saw(*batches[:2]), NONE).rows == 8


def test_the_same_rows_in_another_order_are_known_once_an_epoch_is_over(saw):
    x, y = images()
    order = np.random.default_rng(1).permutation(12)
    first, second = saw(*batched(x, y)), saw(*batched(x[order], y[order]))
    found = compare_batches(first, second, (3, 3))
    assert (found.kind, found.rows, found.is_ordered) == ("other-order", 12, False)
    assert compare_batches(first, second, NONE).kind == "different"


def test_the_same_rows_in_batches_of_another_size_are_known_too(saw):
    x, y = images()
    first, second = saw(*batched(x, y, 4)), saw(*batched(x, y, 6))
    assert compare_batches(first, second, (3, 2)).kind == "other-order"


def test_a_row_that_comes_twice_and_one_that_is_missing_are_seen(saw):
    x, y = images()
    order = [*range(11), 0]
    first, second = saw(*batched(x, y)), saw(*batched(x[order], y[order]))
    assert compare_batches(first, second, (3, 3)).kind == "different"


def test_values_that_differ_by_rounding_are_close_and_said_how_far(saw):
    x, y = images()
    span = float(max(row.max() - row.min() for row in x))
    first, second = saw(*batched(x, y)), saw(*batched(x + np.float32(0.01), y))
    found = compare_batches(first, second, NONE)
    assert (found.kind, found.rows, found.is_ordered) == ("close", 12, True)
    assert found.difference == pytest.approx(0.01 / span, rel=0.05)


def test_close_rows_are_matched_in_any_order(saw):
    x, y = images()
    order = np.random.default_rng(1).permutation(12)
    first = saw(*batched(x, y))
    second = saw(*batched(x[order] + np.float32(0.001), y[order]))
    found = compare_batches(first, second, (3, 3))
    assert (found.kind, found.is_ordered) == ("close", False)
    assert found.difference < 0.001


def test_without_the_rows_in_full_the_rough_pictures_say_how_far(saw):
    x, y = images()
    first = saw(*batched(x, y), keeps_rows=False)
    second = saw(*batched(x + np.float32(0.01), y), keeps_rows=False)
    found = compare_batches(first, second, NONE)
    assert found.kind == "close"
    assert 0 < found.difference < 0.02


def test_another_label_is_another_batch(saw):
    x, y = images()
    other = y.copy()
    other[5] = 0
    first, second = saw(*batched(x, y)), saw(*batched(x, other))
    assert compare_batches(first, second, NONE).kind == "different"
    assert compare_batches(first, second, (3, 3)).kind == "different"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_one_feature_of_many_that_differs_is_another_batch(saw, scale):
    x = np.random.default_rng(0).random((12, 40)) * scale
    other = x.copy()
    other[7, 33] *= 1.1
    y = np.arange(12)
    first, second = saw(*batched(x, y)), saw(*batched(other, y))
    assert compare_batches(first, second, (3, 3)).kind == "different"


def test_other_images_are_other_batches(saw):
    x, y = images()
    first, second = saw(*batched(x, y)), saw(*batched(x[::-1], y))
    assert compare_batches(first, second, (3, 3)).kind == "different"


def test_a_label_of_another_type_is_the_same_label(saw):
    x, y = images()
    first, second = saw(*batched(x, y)), saw(*batched(x, y.astype(np.float32)))
    found = compare_batches(first, second, NONE)
    assert (found.kind, found.difference) == ("close", 0.0)


def test_an_image_of_another_size_is_another_image(saw):
    x, y = images()
    first, second = saw(*batched(x, y)), saw(*batched(x[:, :4, :5], y))
    assert compare_batches(first, second, NONE).kind == "different"


def test_where_one_saw_no_batch_there_is_nothing_to_say(saw):
    batches = batched(*images())
    assert compare_batches(saw(), saw(*batches), NONE).kind == "unseen"
    assert compare_batches(saw(*batches), saw(), NONE).kind == "unseen"


def test_the_channel_nearest_to_the_training_is_compared(saw, tmp_path):
    batches = batched(*images())
    first, second = saw(*batches, channel="fit"), saw(*batches, channel="next")
    assert compare_batches(first, second, NONE).kind == "same"


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


def test_where_weights_change_unseen_equal_losses_are_said_to_be_what_was_seen():
    unseen = results(1.0, 0.9, weights={})
    assert unseen.last_step == 2
    assert judged(unseen, first=unseen).text == "bit-equal losses, 2 steps"


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
    from quickfit.lab.results import _losses_apart, _steps_apart

    alone = Results({1: {"loss": 1.0}}, {1: "a"}, {}, loss_channels={"train_on_batch"})
    mean = Results({1: {"loss": 2.0}}, {1: "a"}, {}, loss_channels={"fit"})
    assert _steps_apart(alone, mean) is None
    assert _losses_apart(alone, mean) is None
