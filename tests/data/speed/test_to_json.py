"""The figures as JSON."""

import json
import math

from speed.speeds import span, speed

from quickfit.data.speed.figures import Ideal, Step


def test_everything_is_there_and_json_takes_it():
    found = speed(first_pass=span(), step=Step(0.1, None, False)).as_json()
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found
    assert found["examples_per_s"] == 1600.0
    assert found["stages"][0]["name"] == "map(decode)"
    assert found["step"] == {"step_s": 0.1, "cpu_s": None, "is_measured": False}


def test_what_is_no_number_is_none():
    found = speed(ideal=Ideal(math.inf, "")).as_json()
    assert found["ideal"]["element_s"] is None
