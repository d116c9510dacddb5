"""How long steps wait for input, and which line each stage belongs to."""

import pytest

from quickfit.errors import SignalMissing

from builders import BATCH_LINE, MAP_LINE, SHUFFLE_LINE, run


@pytest.mark.parametrize("wait_s", [0.0, 0.02, 0.06, 0.099])
def test_the_wait_is_what_the_consumer_did_not_spend_between_requests(wait_s):
    wait = run(input_wait_s=wait_s).wait
    assert wait.share == pytest.approx(wait_s / 0.1, abs=0.01)
    assert "model" in wait.source


def test_without_a_model_the_time_inside_a_python_iterator_with_workers_is_the_wait():
    wait = run(input="pydataset", workers=4, input_wait_s=0.04, with_model=False).wait
    assert wait.share == pytest.approx(0.4, abs=0.02)
    assert "Python iterator" in wait.source


def test_a_wait_that_nobody_measured_is_missing_and_not_zero():
    with pytest.raises(SignalMissing, match="model"):
        _ = run(with_model=False).wait


def test_stages_carry_the_lines_of_the_operations_they_carry_out():
    lines = {s.kind: s.location.line for s in run(map_s=0.05).stages if s.location}
    assert lines == {
        "batch": BATCH_LINE,
        "shuffle": SHUFFLE_LINE,
        "map": MAP_LINE,
        "tensorslice": 12,
    }


def test_a_fused_stage_carries_both_its_operations():
    stage = next(s for s in run(fused=True).stages if s.name == "MapAndBatch")
    assert stage.carries("map")
    assert stage.carries("batch")
    assert stage.location is not None
    assert stage.location.line == MAP_LINE
    assert stage.calls == pytest.approx(32)


def test_a_python_input_is_none_for_a_tf_data_pipeline():
    assert run().py_input is None


def test_the_shuffle_that_holds_the_most_is_described():
    shuffle = run(shuffled=400, map_s=0.064).shuffle
    assert shuffle is not None
    assert shuffle.elements == 400
    assert shuffle.bytes == 400 * 110_000
    # 64 ms per 32 elements on two threads: 1 ms each.
    assert shuffle.fill_s == pytest.approx(0.4, rel=0.05)
