"""Files that are as a fix has left them are told from those that somebody changed."""

import io

import pytest

from quickfit.fixing import proven, write
from quickfit.fixing.proven import written_title
from quickfit.fixing.write import Asked
from stories import outcome, story, write_script


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder in which a fix was proven and written."""
    monkeypatch.chdir(tmp_path)
    path = write_script(tmp_path)
    write.settle(story(tmp_path, outcome(path)), Asked(applies=True), out=io.StringIO())
    return tmp_path


def test_what_was_written_is_named(home):
    assert written_title(proven.read(home), home) == "sequential-map"


def test_an_undone_fix_is_not_written(home):
    write.undo(home, io.StringIO())
    assert written_title(proven.read(home), home) == ""


def test_a_file_that_somebody_changed_or_removed_is_not_as_written(home):
    (home / "train.py").write_text("something else\n")
    assert written_title(proven.read(home), home) == ""
    (home / "train.py").unlink()
    assert written_title(proven.read(home), home) == ""


def test_a_damaged_manifest_says_nothing(home):
    (manifest,) = (home / ".quickfit" / "fixes").glob("*/fix.json")
    for text in ("{", "[]", '{"files": [{}]}', '{"files": 3, "title": "x"}'):
        manifest.write_text(text)
        assert written_title(proven.read(home), home) == ""
