"""What was weighed, in the rows."""

from pathlib import Path

from quickfit.compression.shrinking.measuring import about_int8, with_weights
from quickfit.compression.shrinking.rows import Figures, Kind, Row, Verdict
from quickfit.compression.weighing.weight import CALL, LITERT, Timing, Turn, Weight


def timing(time_s):
    return Timing((Turn(time_s, time_s, time_s), Turn(time_s, time_s, time_s)))


def keras(time_s, flops=1000, **other):
    latency = {CALL: {1: timing(time_s), 64: timing(10 * time_s)}}
    return Weight(500, 100, 400, flops, latency=latency, step=timing(3 * time_s), **other)


def litert(time_s, **other):
    return Weight(200, latency={LITERT: {1: timing(time_s), 64: timing(10 * time_s)}}, **other)


def test_a_file_has_the_operations_of_the_model_that_it_was_made_from():
    rows = [
        Row("original", "x", figures=Figures(accuracy=0.9)),
        Row("original-int8", "x", Kind.LITERT, "original", Figures(accuracy=0.8), path=Path("a")),
        Row("missing", "x", verdict=Verdict.NOT_MADE),
    ]
    weights = {"original": keras(0.01), "original-int8": litert(0.001)}
    original, file, missing = with_weights(rows, weights)
    assert original.figures == Figures(0.9, 100, 1000, 500, 0.03, {1: 0.01, 64: 0.1})
    assert file.figures == Figures(0.8, 100, 1000, 200, None, {1: 0.001, 64: 0.01})
    assert missing == rows[2]


def test_a_model_with_fewer_operations_that_is_no_faster_is_told_about():
    rows = [Row("original", "x"), Row("pruned-50", "x")]
    weights = {"original": keras(0.01), "pruned-50": keras(0.02, flops=250)}
    original, pruned = with_weights(rows, weights)
    assert not original.notes
    assert "2.0× slower than 'original' here" in pruned.notes[0]


def test_int8_is_told_about_once_by_the_files_of_the_original():
    weights = {
        "original-float32": litert(0.001),
        "original-int8": litert(0.002, is_int8=True),
        "pruned-50-int8": litert(0.0001, is_int8=True),
    }
    one, many = about_int8(weights)
    assert one.startswith("A batch of 1: int8 is 2.0× slower than float32 on this CPU")
    assert many.startswith("A batch of 64: ")
    assert about_int8({"original": keras(0.01)}) == ()
