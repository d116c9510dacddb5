"""How a script ended, read with suspicion."""

import pytest

from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Location
from quickfit.signals.endings import LogLine, cache_lock, emptiness, ended_by, log_lines, silences
from silences import noted

from builders import SCRIPT, run


def ended(told):
    return run(facts={"ended_by": told})


def test_the_error_and_its_line_are_read():
    told = {"type": "ValueError", "message": "no", "file": SCRIPT, "line": 6}
    ending = ended_by(ended(told))
    assert (ending.kind, ending.message, ending.where.text) == (
        "ValueError",
        "no",
        "image = load(path)",
    )


def test_an_error_without_a_line_of_the_users_is_one_all_the_same():
    told = {"type": "ValueError", "message": "no", "file": None, "line": None}
    assert ended_by(ended(told)).where is None


@pytest.mark.parametrize(
    "told", [None, 5, [], {}, {"message": None}, {"message": ["no"]}, "an error"], ids=str
)
def test_what_is_no_ending_is_none(told):
    signals = ended(told)
    assert (ended_by(signals), cache_lock(signals), emptiness(signals)) == (None, None, None)


def test_a_run_that_ended_well_has_no_error():
    assert ended_by(run()) is None


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


def locate(file, line):
    return Location(file, line) if file is not None else None


def test_a_silence_comes_back_as_it_was_said():
    (one,) = silences({"quiet": [noted("held-lock", also_file=SCRIPT, also_line=9)]}, locate)
    assert (one.cause, one.summary) == ("held-lock", "held-lock was seen")
    assert (one.location.line, one.also.line) == (6, 9)
    assert one.evidence[0] == Evidence("looks", 1.0, "share", "futex")
    assert (one.step, one.quiet_s, one.moves, one.moved_again) == (3, 31.0, False, False)


def test_a_silence_without_a_cause_is_kept_with_its_text():
    text = {"text": "quiet, cause unknown", "step": 3, "quiet_s": 31.0, "moved_again_s": 50.0}
    (one,) = silences({"quiet": [text]}, locate)
    assert (one.cause, one.summary) == ("", "quiet, cause unknown")
    assert (one.location, one.also, one.evidence) == (None, None, ())
    assert one.moved_again


def test_a_run_that_was_never_quiet_has_none():
    assert silences({}, locate) == []
    assert silences({"quiet": []}, locate) == []
    assert run().silences == []


def test_a_place_has_the_text_its_line_had_then():
    (one,) = run(run={"quiet": [noted("held-lock")]}).silences
    assert one.location == Location(SCRIPT, 6, "image = load(path)")
