"""What a weight tells about times."""

from compression.weighing.timings import file_weight, keras_weight, timing
from quickfit.compression.weighing.weight import PREDICT, Timing, Turn, Weight


def test_a_timing_has_the_shortest_call_and_the_middle_of_the_rounds():
    one = Timing((Turn(1.0, 2.0, 4.0), Turn(1.5, 9.0, 5.0), Turn(1.2, 3.0, 6.0)))
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
