"""What was said of a quiet run, read back from run.json."""

from quickfit.findings import Evidence, Location
from quickfit.signals.silence import silences
from silences import noted

from builders import SCRIPT, run


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
