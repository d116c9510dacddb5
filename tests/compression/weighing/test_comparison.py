"""What a weight tells about times."""

import pytest

from compression.weighing.timings import file_weight, keras_weight, timing
from quickfit.compression.weighing.comparison import (
    PREDICT,
    TimedTurn,
    Timing,
    Weight,
    remarks,
    speed_up,
)
from quickfit.errors import UsageError


def test_a_timing_has_the_shortest_call_and_the_middle_of_the_rounds():
    one = Timing((TimedTurn(1.0, 2.0, 4.0), TimedTurn(1.5, 9.0, 5.0), TimedTurn(1.2, 3.0, 6.0)))
    assert (one.minimum_s, one.median_s, one.cpu_s) == (1.0, 3.0, 5.0)


def test_latency_is_of_the_compiled_call_for_a_keras_model():
    weight = keras_weight(3.0, 2.0)
    weight = Weight(1, latency={**weight.latency, PREDICT: {1: timing(9.0), 64: timing(9.0)}})
    assert weight.latency_s == {1: 2.0, 64: 2.0}
    assert weight.way == "call"


def test_latency_is_of_the_runtime_for_a_file():
    assert file_weight(0.5, 0.4).latency_s == {1: 0.4, 64: 0.4}
    assert file_weight(0.5).way == "litert"


def test_a_file_has_no_training_step():
    assert file_weight(0.5).step_s is None
    assert keras_weight(1.0, step=(4.0, 3.0)).step_s == 3.0


def test_for_training_the_step_is_the_time_that_counts():
    assert keras_weight(1.0, step=(7.0,), for_training=True).timing(1) == timing(7.0)
    assert keras_weight(1.0, step=(7.0,)).timing(1) == timing(1.0)
    assert keras_weight(1.0).timing(8) is None
    assert Weight(1).latency_s == {}


def test_the_speed_up_is_that_of_the_rounds_with_an_interval():
    found = speed_up(timing(2.0, 4.0, 2.0), timing(1.0, 2.0, 1.0))
    assert found.mean == pytest.approx(2.0)
    assert found.low < 2.0 < found.high
    assert found.pairs == 3


def test_rounds_that_do_not_agree_have_a_wide_interval():
    found = speed_up(timing(2.0, 1.0, 3.0), timing(1.0, 2.0, 1.0))
    assert found.low < 1 < found.high


def test_times_of_different_weighings_are_not_compared():
    with pytest.raises(UsageError, match="of 2 and of 3 rounds cannot be compared"):
        speed_up(timing(1.0, 1.0), timing(1.0, 1.0, 1.0))


def test_nothing_is_said_of_a_model_that_is_faster():
    weights = {"original": keras_weight(2.0, 2.0, 2.0), "pruned": keras_weight(1.0, 1.0, 1.0)}
    assert remarks(weights) == ()


def test_a_model_that_is_slower_is_told_with_its_times_and_why_that_may_surprise():
    weights = {
        "original": keras_weight(0.010, 0.010, 0.010, flops=1000),
        "separable": keras_weight(0.013, 0.013, 0.013, flops=170),
    }
    (text,) = remarks(weights)
    assert text.startswith("'separable' is 1.3× slower than 'original' here (batch 1: 13 ms ag")
    assert "needs only 17 % of the operations" in text


def test_a_model_that_is_as_fast_is_told_as_not_faster():
    weights = {"original": keras_weight(0.010, 0.011), "pruned": keras_weight(0.010, 0.011)}
    (text,) = remarks(weights)
    assert "'pruned' is not measurably faster than 'original' here" in text
    assert "although" not in text


def test_a_little_slower_within_the_spread_is_not_called_slower():
    weights = {"a": keras_weight(1.0, 1.1, 0.9), "b": keras_weight(1.2, 1.0, 1.0)}
    assert "not measurably faster" in remarks(weights)[0]


def test_a_model_that_is_faster_at_one_batch_size_only_is_told_so():
    slow, fast = (keras_weight(one, one) for one in (2.0, 1.0))
    mixed = Weight(1, latency={"call": {1: timing(2.0, 2.0), 64: timing(1.0, 1.0)}})
    (text,) = remarks({"original": slow, "pruned": mixed})
    assert text == (
        "'pruned' is not measurably faster than 'original' here (batch 1: 2.0 s against 2.0 s). "
        "At batch 64 it is 2.0× faster."
    )
    assert remarks({"original": slow, "pruned": fast}) == ()


def test_for_training_steps_are_compared_and_predictions_are_not():
    fast = keras_weight(1.0, 1.0, step=(1.0, 1.0), for_training=True)
    slow = keras_weight(9.0, 9.0, step=(2.0, 2.0), for_training=True)
    assert remarks({"original": slow, "pruned": fast}) == ()
    (text,) = remarks({"original": fast, "separable": slow})
    assert "(training step: 2.0 s against 1.0 s)" in text


def test_int8_is_compared_with_the_float_file_at_each_batch_size():
    weights = {
        "original": keras_weight(1.0, 1.0),
        "lite": file_weight(0.010, 0.010),
        "int8": file_weight(0.014, 0.014, is_int8=True),
    }
    first, second = remarks(weights)
    assert first.startswith("'int8', batch 1: int8 is 1.4× slower than float32 on this CPU")
    assert second.startswith("'int8', batch 64: int8 is 1.4× slower")


def test_int8_without_a_float_file_beside_it_is_not_judged():
    weights = {"original": keras_weight(1.0, 1.0), "int8": file_weight(1.0, 1.0, is_int8=True)}
    assert remarks(weights) == ()


def test_the_base_may_be_named_and_must_be_there():
    weights = {"pruned": keras_weight(1.0, 1.0), "original": keras_weight(2.0, 2.0)}
    assert remarks(weights, "original") == ()
    assert len(remarks(weights)) == 1
    with pytest.raises(UsageError, match="base='nobody': there are 'pruned', 'original'"):
        remarks(weights, "nobody")
