"""Changes made in rounds, in memory: conflicts, several files, and what cannot be made."""

from pathlib import Path

import pytest

from checking.cases import notebook
from quickfit.checking.mending import MAX_ROUNDS, Mender
from quickfit.checking.places import Text, told_of
from quickfit.checking.records import FREE, Checked
from quickfit.checking.scanning import digest
from quickfit.code.notebooks import read_notebook
from quickfit.findings import Change, Edit, FixClass, Span, Spotted


class Finder:
    """Finds words in texts; a change puts another word in the place of each."""

    def __init__(self, words, kind=FixClass.REPAIRS, reach=0):
        self.words, self.kind, self.reach = words, kind, reach
        self.rounds = 0

    def __call__(self, paths, given):
        self.rounds += 1
        return [self.check(path, given.get(path)) for path in paths]

    def check(self, path, data=None):
        data = Path(path).read_bytes() if data is None else data
        is_notebook = path.endswith(".ipynb")
        text = read_notebook(data).text if is_notebook else data.decode()
        texts = {path: Text(text, data if is_notebook else b"")}
        found = [told_of(spot, texts) for spot in self.spots(path, text)]
        return Checked(path, tuple(found), sha256=digest(data))

    def spots(self, path, text):
        for number, line in enumerate(text.split("\n"), 1):
            for word, other in self.words.items():
                column = line.find(word)
                if column >= 0:
                    yield self.spot(path, number, (column, column + len(word)), other)

    def spot(self, path, line, columns, other):
        # An edit that takes in what stands around it collides with that of the neighbour.
        begin, end = (line, max(0, columns[0] - self.reach)), (line, columns[1])
        edit = Edit(path, begin, end, other)
        where = Span(path, line, columns[0] + 1, line, columns[1] + 1)
        change = Change("t", self.kind, (edit,))
        return Spotted(where, "s", "crashes", change=change, cause="shuffle-autotune")


def mend(finder, *paths, **more):
    checked = [finder.check(str(path)) for path in paths]
    return Mender(checked, more.pop("allowed", FREE), finder, **more).mended()


def texts(mended):
    return [after.decode() for _, after in mended.files.values()]


@pytest.fixture
def file(home):
    return home / "a.py"


def test_changes_that_do_not_collide_are_made_in_one_round(file):
    file.write_text("x = bad\ny = bad\n")
    finder = Finder({"bad": "good"})
    done = mend(finder, file)
    assert texts(done) == ["x = good\ny = good\n"]
    assert (len(done.fixed), finder.rounds, done.notes) == (2, 1, [])
    assert file.read_text() == "x = bad\ny = bad\n"
    assert done.rest[str(file)].told == ()


def test_of_two_that_collide_the_first_wins_and_the_other_follows(file):
    file.write_text("x = bad + ugly\n")
    finder = Finder({"bad": "good", "ugly": "nice"}, reach=0)
    finder.reach = 4
    finder.words = {"bad": "x = good"[4:], "ugly": "d + nice"}
    done = mend(finder, file)
    assert len(done.fixed) == 2
    assert finder.rounds == 2


def test_a_file_without_findings_is_not_touched(file):
    file.write_text("x = 1\n")
    finder = Finder({"bad": "good"})
    done = mend(finder, file)
    assert (done.files, done.fixed, finder.rounds) == ({}, [], 0)


def test_several_files_are_mended_together(home):
    files = [home / "a.py", home / "b.py"]
    for path in files:
        path.write_text("x = bad\n")
    assert texts(mend(Finder({"bad": "good"}), *files)) == ["x = good\n"] * 2


@pytest.mark.parametrize("kind", [FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS])
def test_a_class_is_made_only_where_it_is_allowed(file, kind):
    file.write_text("x = bad\n")
    assert mend(Finder({"bad": "good"}, kind), file).files == {}
    assert texts(mend(Finder({"bad": "good"}, kind), file, allowed=FREE | {kind})) == ["x = good\n"]


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfx = bad\r\ny = 1\r\n",
        b"# coding: latin-1\n# \xe9\nx = bad",
        b"\x0c\nx = bad\r",
    ],
)
def test_bytes_around_a_change_stay(file, data):
    file.write_bytes(data)

    class Reader(Finder):
        def check(self, path, data=None):
            from quickfit.code.files import decode_python

            data = Path(path).read_bytes() if data is None else data
            text = decode_python(path, data)
            told = [told_of(spot, {path: Text(text)}) for spot in self.spots(path, text)]
            return Checked(path, tuple(told), sha256=digest(data))

    done = mend(Reader({"bad": "good"}), file)
    assert done.files[str(file)][1] == data.replace(b"bad", b"good")


def test_a_change_that_breaks_the_text_is_not_made_and_the_others_are(file):
    file.write_text("x = bad\ny = ugly\nz = awful\n")
    done = mend(Finder({"bad": "good", "ugly": ")", "awful": "fine"}), file)
    assert texts(done) == ["x = good\ny = ugly\nz = fine\n"]
    assert len(done.fixed) == 2
    assert len(done.notes) == 1
    assert "would not be valid Python" in done.notes[0]


def test_a_fix_that_does_not_remove_its_finding_is_not_made_again_and_again(file):
    file.write_text("x = bad\n")
    finder = Finder({"bad": "f(bad)"})
    done = mend(finder, file)
    assert texts(done) == ["x = f(bad)\n"]
    assert done.notes == [f"{file}: the fix of shuffle-autotune did not remove all of it."]


def test_rounds_end(file):
    file.write_text("x = bad9\n")

    class Down(Finder):
        """Each fix uncovers another finding, of another cause."""

        def spots(self, path, text):
            level = int(text[7])
            spot = self.spot(path, 1, (4, 8), f"bad{(level - 1) % 10}")
            yield Spotted(**{**vars(spot), "cause": f"cause-{self.rounds}"})

    finder = Down({})
    mend(finder, file)
    assert finder.rounds == MAX_ROUNDS


def test_a_file_that_has_changed_since_it_was_checked_is_left_alone(home):
    one, two = home / "a.py", home / "b.py"
    one.write_text("x = bad\n")
    two.write_text("y = bad\n")
    finder = Finder({"bad": "good"})
    checked = [finder.check(str(one)), finder.check(str(two))]
    one.write_text("x = bad  # edited\n")
    done = Mender(checked, FREE, finder).mended()
    assert list(done.files) == [str(two)]
    assert "has changed since it was checked" in done.notes[0]


def test_a_file_that_is_gone_is_left_alone(file):
    file.write_text("x = bad\n")
    finder = Finder({"bad": "good"})
    checked = [finder.check(str(file))]
    file.unlink()
    done = Mender(checked, FREE, lambda paths, given: []).mended()
    assert done.files == {}
    assert "cannot read this file" in done.notes[0]


def test_a_file_that_cannot_be_written_is_left_alone_where_it_is_to_be_written(file, monkeypatch):
    file.write_text("x = bad\n")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    done = mend(Finder({"bad": "good"}), file, leaves_read_only=True)
    assert done.files == {}
    assert "is not writable" in done.notes[0]
    assert texts(mend(Finder({"bad": "good"}), file)) == ["x = good\n"]


def test_a_notebook_is_mended_in_its_cells(home):
    file = home / "a.ipynb"
    data = notebook("%time\nx = bad", "y = bad")
    file.write_bytes(data)
    done = mend(Finder({"bad": "good"}), file)
    assert done.files[str(file)][1] == data.replace(b"bad", b"good")


def test_a_change_that_breaks_a_cell_is_not_made(home):
    file = home / "a.ipynb"
    file.write_bytes(notebook("x = bad", "y = = 1"))
    done = mend(Finder({"bad": ")"}), file)
    assert done.files == {}
    assert "the edited cell would not be valid Python" in done.notes[0]


def test_a_change_over_several_files_is_made_whole_or_not_at_all(home):
    one, two = home / "a.py", home / "b.py"
    one.write_text("x = bad\n")
    two.write_text("y = 1\n")
    finder = Finder({"bad": "good"})
    checked = [finder.check(str(one)), finder.check(str(two))]
    told = checked[0].told[0]
    edits = (*told.spotted.change.edits, Edit(str(two), (1, 0), (1, 5), "y = )"))
    change = Change("t", FixClass.REPAIRS, edits)
    whole = type(told)(type(told.spotted)(**{**vars(told.spotted), "change": change}), told.line)
    done = Mender([Checked(str(one), (whole,)), checked[1]], FREE, finder).mended()
    assert done.files == {}


def test_a_file_that_was_not_checked_is_not_changed(home):
    one, two = home / "a.py", home / "b.py"
    one.write_text("x = bad\n")
    two.write_text("y = bad\n")
    finder = Finder({"bad": "good"})
    other = finder.check(str(two)).told[0]
    done = Mender([Checked(str(one), (other,))], FREE, finder).mended()
    assert done.files == {}
    assert f"{two}: would change too, and was not named" in done.notes[0]


def test_what_two_findings_change_alike_is_changed_once(file):
    file.write_text("x = bad\n")
    finder = Finder({"bad": "good"})
    checked = finder.check(str(file))
    twice = Checked(str(file), checked.told * 2, sha256=checked.sha256)
    assert texts(Mender([twice], FREE, finder).mended()) == ["x = good\n"]
