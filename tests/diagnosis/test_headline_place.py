"""A finding stands at a line of the user; the library's line is evidence."""

from quickfit.diagnosis.headline_place import at_users_line
from quickfit.findings import Evidence, Finding, Gain, Location
from quickfit.signals import Signals

from builders import FIT_LINE, HOT_LINE, SCRIPT, recording, run

KERAS = Location("/x/lib/python3.11/site-packages/keras/src/legacy/image.py", 112)
SLOW = {"input": "pydataset", "step_s": 0.1, "input_wait_s": 0.06, "batch_s": 0.095}


def found(where, *evidence, claims=("input_wait",)):
    """Return a finding at a place."""
    return Finding("slow", where, evidence, Gain(1, 2, 3, ""), 0.5, claims)


def made_by(**made):
    """Return a run whose PyDataset is of Keras, and was made at a line."""
    given = recording(**SLOW)
    for row in given.main.tables["py_inputs"]:
        row.update(file=KERAS.file, line=KERAS.line, name="DirectoryIterator", **made)
    return Signals(given)


def test_a_place_of_the_user_stays():
    mine = found(Location("/elsewhere/my_package/images.py", 3))
    assert at_users_line(mine, run()) is mine


def test_a_finding_without_a_place_stays_without():
    assert at_users_line(found(None), run()).where is None


def test_the_place_is_where_the_input_was_made():
    signals = made_by(made_file=SCRIPT, made_line=HOT_LINE)
    placed = at_users_line(found(KERAS, Evidence("to make a batch", 0.1, "s")), signals)
    assert (placed.where.file, placed.where.line) == (SCRIPT, HOT_LINE)
    assert placed.evidence[0].where == KERAS


def test_else_it_is_the_call_of_fit():
    placed = at_users_line(found(KERAS, Evidence("to make a batch", 0.1, "s")), made_by())
    assert (placed.where.file, placed.where.line) == (SCRIPT, FIT_LINE)


def test_evidence_in_the_users_files_comes_before_the_call_of_fit():
    mine = Location(SCRIPT, 3)
    placed = at_users_line(found(KERAS, Evidence("there", 1, "s", "", mine), claims=()), run())
    assert placed.where == mine


def test_what_a_library_wrote_into_no_file_is_not_the_users():
    assert not run().is_users(Location("<string>", 2))
    assert not run().is_users(Location("/usr/lib/python3.11/dataclasses.py", 2))
    assert not run().is_users(Location("/home/me/.local/lib/python3.11/site-packages/imgaug.py", 2))
    assert run().is_users(Location("/tmp/ipykernel_71/2893.py", 2, cell="cell 3"))
