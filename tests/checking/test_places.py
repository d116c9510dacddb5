"""Places in cells of notebooks, the lines they are on, and troubles of files."""

from checking.cases import notebook, spotted
from quickfit.checking.places import Text, told_of, trouble_of
from quickfit.code.notebooks import read_notebook
from quickfit.findings import Span

DATA = notebook("x = 1\ny = bad", "z = 3")
BOOK = Text(read_notebook(DATA).text, DATA)


def test_a_place_in_a_file_stays_what_it_is():
    text, span = Text("x = 1\ny = 2\n"), Span("a.py", 2, 1, 2, 2)
    assert text.placed(span) == span
    assert text.line(span) == "y = 2"
    assert text.file_line(span) == 2


def test_a_place_in_a_notebook_is_in_a_cell():
    placed = BOOK.placed(Span("a.ipynb", 3, 1, 3, 2))
    assert placed == Span("a.ipynb", 1, 1, 1, 2, cell=2)
    assert placed.short == "a.ipynb:cell 2:1"
    assert BOOK.line(placed) == "z = 3"
    assert DATA.decode().split("\n")[BOOK.file_line(placed) - 1].strip() == '"z = 3"'


def test_a_place_over_two_cells_ends_in_the_first():
    assert BOOK.placed(Span("a.ipynb", 2, 5, 3, 2)) == Span("a.ipynb", 2, 5, 2, 6, cell=1)


def test_a_place_without_an_end_or_a_line_is_no_error():
    assert BOOK.placed(Span("a.ipynb", 2)) == Span("a.ipynb", 2, cell=1)
    assert BOOK.placed(Span("a.ipynb", 0)) == Span("a.ipynb", 0)
    assert BOOK.line(Span("a.ipynb", 0)) == ""
    assert Text("").line(Span("a.py", 9)) == ""


def test_a_finding_in_a_notebook_is_told_with_its_cell_and_edited_in_the_joined_text():
    found = spotted("a.ipynb", BOOK.text, "bad", becomes="good")
    told = told_of(found, {"a.ipynb": BOOK})
    assert told.spotted.where == Span("a.ipynb", 2, 5, 2, 8, cell=1)
    assert told.spotted.change == found.change
    assert told.edits == ((Span("a.ipynb", 2, 5, 2, 8, cell=1), "good"),)
    assert told.rewrites[0].before == ("y = bad",)
    assert told.rewrites[0].after == ("y = good",)
    assert told.rewrites[0].where.cell == 1


def test_lines_that_a_sentence_names_are_named_with_their_cells():
    said = "in the loop at line 3, see line 2; line by line"
    found = spotted("a.ipynb", BOOK.text, "bad", becomes="good", summary=said, note="Not line 1.")
    told = told_of(found, {"a.ipynb": BOOK})
    cells = "in the loop at cell 2, line 1, see cell 1, line 2; line by line"
    assert told.spotted.summary == cells
    assert told.spotted.change.note == "Not cell 1, line 1."
    assert told.spotted.change.edits == found.change.edits
    assert Text("x").said(said) == said


def test_lines_are_shown_as_they_are_written_in_the_cell():
    data = notebook("%time y = bad")
    text = Text(read_notebook(data).text, data)
    told = told_of(spotted("a.ipynb", text.text, "bad", becomes="good"), {"a.ipynb": text})
    assert told.line == "%time y = bad"
    assert told.rewrites[0].after == ("%time y = good",)


def test_related_places_have_their_cells_and_lines_too():
    related = ((Span("b.py", 1, 1, 1, 2), "made here"), (Span("a.ipynb", 3, 1, 3, 2), "and here"))
    found = spotted("a.ipynb", BOOK.text, "bad", related=related)
    told = told_of(found, {"a.ipynb": BOOK, "b.py": Text("w = 1\n")})
    assert [place.cell for place, _ in told.spotted.related] == [0, 2]
    assert told.file_lines[1] == 1
    assert told.file_lines[2] > told.file_lines[0]


def test_a_trouble_does_not_repeat_the_path():
    trouble = trouble_of("/p/a.py", "/p/a.py: not good", line=2, column=3, text="x\nbad")
    assert (trouble.message, trouble.line, trouble.file_line) == ("not good", "bad", 2)
    assert trouble.where == Span("/p/a.py", 2, 3)


def test_a_trouble_without_a_place_is_one_of_the_file():
    trouble = trouble_of("/p/a.py", "cannot be read")
    assert (trouble.where.line, trouble.where.column, trouble.line) == (0, 1, "")
