"""What is given back."""

import json

from compression.shrinking.rows_builder import a_result


def test_it_is_json_with_everything_in_it():
    found = json.loads(json.dumps(a_result(chosen="pruned-50-int8", took_s=1.23456).as_json()))
    assert (found["target"], found["for"], found["chosen"]) == (
        "at most 1 point lost",
        "inference",
        "pruned-50-int8",
    )
    assert found["took_s"] == 1.235
    row = found["candidates"][2]
    assert row["latency_s"] == {"1": 0.0001, "64": 0.002}
    assert (row["verdict"], row["is_on_front"], row["held_out_accuracy"]) == ("chosen", True, 0.94)
    assert row["path"].endswith("pruned-50-int8.tflite")


def test_rows_are_found_by_name():
    result = a_result()
    assert result.original.name == "original"
    assert [one.name for one in result.front] == ["pruned-50-int8"]
    assert result.row("pruned-75").reason == "loses 15 points"
