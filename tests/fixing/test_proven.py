"""What was proven is kept as it was, and a damaged note of it is said."""

import contextlib
import json

import pytest

from quickfit import trust
from quickfit.code.file_changes import read_source
from quickfit.errors import FixError
from quickfit.findings import Edit, FixClass
from quickfit.fixing.proven import FILE, Proven, files_of, keep, read

PURPOSE = "write what was proven"


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(b"a = 1\r\n")
    return path


def entry(path, text="2", cause="sequential-map"):
    digest = read_source(str(path)).sha256
    edits = (Edit(str(path), (1, 4), (1, 5), text),)
    return Proven(cause, FixClass.EQUIVALENT, edits, {str(path): digest})


def test_it_comes_back_as_it_was_kept(tmp_path, train):
    entries = [entry(train, "'ü\n'"), entry(train, cause="missing-cache")]
    keep(entries, tmp_path)
    assert read(tmp_path) == entries
    assert (tmp_path / ".quickfit" / ".gitignore").read_text() == "*\n"


def test_the_newest_takes_the_place_of_the_last(tmp_path, train):
    keep([entry(train)], tmp_path)
    keep([entry(train, cause="tiny-batch")], tmp_path)
    assert [one.cause for one in read(tmp_path)] == ["tiny-batch"]


def test_where_it_cannot_be_kept_nothing_is_said(tmp_path, train):
    (tmp_path / ".quickfit").write_text("a file")
    keep([entry(train)], tmp_path)
    with pytest.raises(FixError, match="nothing was proven here yet"):
        read(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "1", "[1]", '[{"cause": "x"}]', "[[]]", "null"),
        '[{"cause": "x", "kind": "no-such", "edits": [], "digests": {}}]',
        '[{"cause": "x", "kind": "repairs", "edits": [["a"]], "digests": {}}]',
        '[{"cause": "x", "kind": "repairs", "edits": [["a", 1, 2, "t"]], "digests": {}}]',
        '[{"cause": "x", "kind": "repairs", "edits": [["a", [], [], "t"]], "digests": {}}]',
        '[{"cause": "x", "kind": "repairs", "edits": [], "digests": []}]',
    ],
)
def test_a_damaged_note_is_said(tmp_path, text):
    path = tmp_path / FILE
    trust.make_private_folder(path.parent)
    facts = f'{{"proven": {text}}}'
    with contextlib.suppress(ValueError):
        facts = json.dumps(trust.sealed(json.loads(facts), purpose=PURPOSE, folder=tmp_path))
    trust.write_private(path, facts.encode())
    with pytest.raises(FixError, match=r"proven\.json: is damaged\. Prove the fix again"):
        read(tmp_path)


def test_the_files_are_as_they_are_and_as_they_become(train):
    (before, after) = files_of([entry(train)])[str(train)]
    assert (before.data, after) == (b"a = 1\r\n", b"a = 2\r\n")


def test_an_edit_that_two_have_in_common_is_made_once(train):
    assert files_of([entry(train), entry(train, cause="b")])[str(train)][1] == b"a = 2\r\n"


def test_a_file_that_changed_is_refused(train):
    one = entry(train)
    train.write_bytes(b"a = 1\n")
    with pytest.raises(FixError, match="has changed since the fix was proven"):
        files_of([one])


def test_an_edit_of_a_file_without_a_digest_is_refused(train):
    one = entry(train)
    with pytest.raises(FixError, match="has changed since the fix was proven"):
        files_of([Proven(one.cause, one.kind, one.edits, {})])


def test_the_note_is_plain_json(tmp_path, train):
    keep([entry(train)], tmp_path)
    (facts,) = json.loads((tmp_path / FILE).read_text())["proven"]
    assert facts["edits"] == [[str(train), [1, 4], [1, 5], "2"]]
    assert facts["kind"] == "equivalent"
