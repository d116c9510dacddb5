"""What is done about damaged records."""

import pytest

from quickfit.data.entries import Reason, Rejection, SourceImageError
from quickfit.data.reading.faults import Faults
from quickfit.errors import PipelineError

ERROR = SourceImageError(Reason.CORRUPT, "its bytes differ")


def test_the_first_is_an_error_that_says_what_to_do():
    with pytest.raises(PipelineError) as caught:
        Faults(skips=False).note("a, record 3", ERROR, "Copy it again.")
    assert str(caught.value) == (
        "a, record 3: corrupt: its bytes differ.\nCopy it again.\n"
        'To leave out what is damaged: records(..., on_bad="skip")'
    )


def test_each_is_listed_once_and_the_first_ones_are_told(capsys):
    faults = Faults(skips=True)
    for number in [*range(15), *range(15)]:
        faults.note(f"a, record {number}", ERROR, "")
    assert len(faults.found) == 15
    assert faults.found[0] == Rejection("a, record 0", Reason.CORRUPT, "its bytes differ")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "quickfit: left out: a, record 0: corrupt: its bytes differ"
    assert len(lines) == 11
    assert "`bad_records`" in lines[-1]


def test_names_cannot_write_to_the_terminal(capsys):
    Faults(skips=True).note("a\x1b[2J\nb\udcff", ERROR, "")
    assert "a\\x1b[2J\\nb\\udcff" in capsys.readouterr().err
