"""TensorFlow's log lines as a cause may ask for them."""

import pytest

from quickfit.errors import SignalMissing
from quickfit.signals.log_lines import LogLine, log_lines

FACTS = {
    "pattern": "shuffle-fill",
    "count": 2,
    "first_s": 1.0,
    "last_s": 3.0,
    "text": "Filling up shuffle buffer (this may take a while): 20 of 70000",
    "numbers": [46432.0, 70000.0],
    "of_a_newer_quickfit": True,
}


def test_a_line_is_found_by_the_name_of_its_pattern():
    seen = log_lines({"log_lines": [FACTS]})
    assert seen == {
        "shuffle-fill": LogLine("shuffle-fill", 2, 1.0, 3.0, FACTS["text"], (46432.0, 70000.0))
    }


def test_a_log_that_was_read_and_silent_is_empty():
    assert log_lines({"log_lines": []}) == {}


def test_a_log_that_nobody_read_is_missing():
    with pytest.raises(SignalMissing, match=r"TensorFlow's log \(`quickfit run --log-lines`\)"):
        log_lines({"pid": 1})
