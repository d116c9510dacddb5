"""One file: what is read, what is told, and files that cannot be read."""

import os

import pytest

from checking.cases import SHUFFLED, notebook, spotted
from quickfit.causes import catalogue
from quickfit.checking import scanning
from quickfit.checking.scanning import Scanner, Task
from quickfit.checking.settings import Choice
from quickfit.findings import Span

EVERY = Choice(frozenset(catalogue()))
BIG = 5_000_000


def check(path, data=None, choice=EVERY, **given):
    if data is not None:
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return Scanner(Task((str(path),), choice, given)).check(str(path))


def places(checked):
    return [(t.spotted.cause, t.spotted.where.line, t.spotted.where.column) for t in checked.told]


def messages(checked):
    return [trouble.message for trouble in checked.troubles]


def test_a_finding_is_told_with_its_line(home):
    checked = check(home / "a.py", SHUFFLED)
    assert places(checked) == [("shuffle-autotune", 2, 31)]
    assert checked.told[0].line == SHUFFLED.splitlines()[1]
    assert checked.told[0].kind == "repairs"
    assert checked.troubles == ()


def test_only_causes_that_were_chosen_are_told(home):
    choice = Choice(frozenset(["predict-in-loop"]))
    assert check(home / "a.py", SHUFFLED, choice).told == ()


@pytest.mark.parametrize(
    "text",
    [
        SHUFFLED.replace("TUNE)", "TUNE)  # quickfit: ignore[shuffle-autotune]"),
        SHUFFLED.replace("TUNE)", "TUNE)  # quickfit: ignore"),
        f"# quickfit: ignore-file[shuffle-autotune]\n{SHUFFLED}",
        SHUFFLED.replace("ds = tf", "ds = (  # quickfit: ignore\n    tf").replace("NE)", "NE)\n)"),
    ],
)
def test_a_finding_that_is_silenced_is_not_told(home, text):
    checked = check(home / "a.py", text)
    assert (checked.told, checked.notes) == ((), ())


def test_a_finding_that_another_comment_silences_is_told(home):
    text = SHUFFLED.replace("TUNE)", "TUNE)  # quickfit: ignore[predict-in-loop]")
    assert len(check(home / "a.py", text).told) == 1


def test_what_is_wrong_with_a_comment_is_noted_with_its_place(home):
    text = SHUFFLED.replace("TUNE)", "TUNE)  # quickfit: ignore[shufle-autotune]")
    checked = check(home / "a.py", text)
    assert len(checked.told) == 1
    assert checked.notes[0].startswith("a.py:2: `shufle-autotune` in `# quickfit: ignore[")


def test_hints_are_counted_and_told_when_asked_for(home, monkeypatch):
    monkeypatch.setattr(
        scanning, "scanned", lambda m, p: [spotted(m.path, m.text, "ds", is_hint=True)]
    )
    hidden = check(home / "a.py", SHUFFLED)
    assert (hidden.told, hidden.hints) == ((), 1)
    shown = check(home / "a.py", SHUFFLED, Choice(EVERY.causes, hints=True))
    assert (len(shown.told), shown.hints) == (1, 0)
    assert shown.told[0].kind is None
    assert shown.told[0].level == "note"


def test_a_text_that_uses_neither_library_is_parsed_and_not_scanned(home, monkeypatch):
    monkeypatch.setattr(scanning, "scanned", lambda m, p: 1 / 0)
    assert check(home / "a.py", "x = 1\n").troubles == ()
    checked = check(home / "a.py", "x = 1\ny = = 2\n")
    assert messages(checked) == ["invalid syntax"]
    assert checked.troubles[0].where == Span(str(home / "a.py"), 2, 5)
    assert checked.troubles[0].line == "y = = 2"


def test_notes_of_the_program_are_passed_on_once(home, monkeypatch):
    def scan(module, program):
        program.notes.append(f"{os.path.basename(module.path)}: an error in quickfit")
        return []

    monkeypatch.setattr(scanning, "scanned", scan)
    for name in ("a.py", "b.py"):
        (home / name).write_text(SHUFFLED)
    scanner = Scanner(Task((str(home / "a.py"), str(home / "b.py")), EVERY))
    assert scanner.check(str(home / "a.py")).notes == ("a.py: an error in quickfit",)
    assert scanner.check(str(home / "b.py")).notes == ("b.py: an error in quickfit",)


def test_a_finding_that_leads_to_another_file_has_its_lines(home, monkeypatch):
    other = home / "other.ipynb"
    other.write_bytes(notebook("x = 1", "import keras"))
    related = ((Span(str(other), 2, 1, 2, 3), "made here"),)
    monkeypatch.setattr(
        scanning, "scanned", lambda m, p: [spotted(m.path, m.text, "ds", related=related)]
    )
    (home / "a.py").write_text(SHUFFLED)
    scanner = Scanner(Task((str(home / "a.py"), str(other)), EVERY))
    told = scanner.check(str(home / "a.py")).told[0]
    assert told.spotted.related[0][0].cell == 2


def test_given_bytes_are_read_in_the_place_of_the_file(home):
    path = home / "a.py"
    assert len(check(path, "x = 1\n", **{str(path): SHUFFLED.encode()}).told) == 1
    assert len(check(home / "gone.py", **{str(home / "gone.py"): SHUFFLED.encode()}).told) == 1
    assert messages(check(path, "x = 1\n", **{str(path): b"\xff"})) != []


def test_a_notebook_is_told_by_cells(home):
    lines = SHUFFLED.splitlines()
    checked = check(home / "a.ipynb", notebook(lines[0], "%time\n" + lines[1], "x = = 1"))
    assert [t.spotted.where.cell for t in checked.told] == [2]
    assert [t.spotted.where.line for t in checked.told] == [2]
    assert [(t.where.cell, t.where.line, t.message) for t in checked.troubles] == [
        (3, 1, "invalid syntax")
    ]
    assert checked.troubles[0].line == "x = = 1"


def test_a_comment_in_a_notebook_silences_and_is_noted_by_its_cell(home):
    lines = SHUFFLED.splitlines()
    checked = check(home / "a.ipynb", notebook(lines[0], lines[1] + "  # quickfit: ignore"))
    assert checked.told == ()
    checked = check(home / "a.ipynb", notebook(lines[0], lines[1] + "  # quickfit: ignore[nope]"))
    assert checked.notes[0].startswith("a.ipynb:cell 2:1: `nope`")


def test_what_is_no_notebook_is_an_error_of_the_file(home):
    assert "not JSON" in messages(check(home / "a.ipynb", "import keras"))[0]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + SHUFFLED.encode(), id="byte order mark"),
        pytest.param(SHUFFLED.replace("\n", "\r\n").encode(), id="line ends of Windows"),
        pytest.param(SHUFFLED.replace("\n", "\r").encode(), id="line ends of old"),
        pytest.param(b"# coding: latin-1\n# \xe9\n" + SHUFFLED.encode(), id="latin-1"),
        pytest.param(b"\x0c\n" + SHUFFLED.encode(), id="form feed"),
        pytest.param(b"# \xe2\x80\xa8 \x0b\x1c\n" + SHUFFLED.encode(), id="other line ends"),
        pytest.param(SHUFFLED.rstrip().encode(), id="no line end at the end"),
        pytest.param(("x = 1\n" * 20_000 + SHUFFLED).encode(), id="many lines"),
    ],
)
def test_odd_texts_are_read(home, data):
    checked = check(home / "a.py", data)
    assert checked.troubles == ()
    assert len(checked.told) == 1
    assert checked.told[0].line == SHUFFLED.splitlines()[1]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(bytes(range(256)) * 4, "cannot be read as Python text", id="binary"),
        pytest.param(b"import keras\nx = '\xff'\n", "utf-8", id="not UTF-8"),
        pytest.param(b"# coding: no-such\nimport keras\n", "no-such", id="unknown encoding"),
        pytest.param(b"import keras\n\0\n", "null bytes", id="NUL"),
        pytest.param(b"x = 1\n\0\n", "null bytes", id="NUL without keras"),
        pytest.param(b"keras = " + b"(" * 5000 + b")" * 5000, "nested", id="too deep"),
        pytest.param(b"x = " + b"-" * 200_000 + b"1", "", id="too deep for the parser"),
        pytest.param(b"import keras\nx = '''\n", "unterminated", id="unterminated"),
        pytest.param(b"import keras\nif x:\ny = 1\n", "indented block", id="no indent"),
        pytest.param(b"import keras\n\tif x:\n", "indent", id="unexpected indent"),
        pytest.param(b"print 'keras'\n", "Missing parentheses", id="Python 2"),
    ],
)
def test_what_cannot_be_parsed_is_an_error_of_the_file(home, data, said):
    checked = check(home / "a.py", data)
    assert len(checked.troubles) == 1
    assert said in checked.troubles[0].message
    assert str(home) not in checked.troubles[0].message
    assert checked.told == ()


@pytest.mark.parametrize("data", [b"", b"\n", b"# keras\n", b'"""keras"""', b"\xef\xbb\xbf"])
def test_files_without_code_are_clean(home, data):
    checked = check(home / "a.py", data)
    assert (checked.told, checked.troubles) == ((), ())


def test_a_large_file_is_read(home):
    line = b"x = [1, 2, 3, 4, 5, 6, 7, 8, 9]  # a comment that makes the line long enough\n"
    checked = check(home / "a.py", b"y = '''\n" + line * (BIG // len(line)) + b"'''\n")
    assert checked.troubles == ()


def test_one_line_of_five_megabytes_is_told_in_short(home):
    text = SHUFFLED.replace("ds = ", f"note = '{'x' * BIG}'; ds = ")
    checked = check(home / "a.py", text)
    assert len(checked.told) == 1


def test_a_file_that_cannot_be_read_is_an_error_of_the_file(home, monkeypatch):
    checked = check(home / "gone.py")
    assert messages(checked) == ["cannot read this file (No such file or directory)"]
    (home / "folder.py").mkdir()
    assert messages(check(home / "folder.py")) == ["cannot read this file (Is a directory)"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error_of_the_file(home):
    (home / "a.py").write_text(SHUFFLED)
    (home / "a.py").chmod(0)
    assert messages(check(home / "a.py")) == ["cannot read this file (Permission denied)"]


DEAD = SHUFFLED.replace("ds = tf", "raise SystemExit\nds = tf")


def test_code_that_is_never_come_to_is_left_alone(home):
    assert check(home / "a.py", DEAD).told == ()
    assert check(home / "a.py", SHUFFLED.replace("ds = tf", "if False:\n    ds = tf")).told == ()


OLD = "from keras.optimizers import Adam\nimport keras\nAdam(lr=0.1, decay=0.1)\n"


def test_findings_of_a_cause_in_a_line_are_one(home):
    (told,) = check(home / "a.py", OLD).told
    assert "`lr`" in told.spotted.summary
    assert "`decay`" in told.spotted.summary
    assert told.kind == "repairs"


def test_a_file_of_tensorflow_1_is_one_finding(home):
    text = "import tensorflow as tf\nx = tf.placeholder(tf.float32)\ns = tf.Session()\ntf.log(x)\n"
    (told,) = check(home / "a.py", text).told
    assert "TensorFlow 1" in told.spotted.summary


def test_what_a_pin_silences_is_said_and_can_be_told(home):
    (home / "requirements.txt").write_text("tensorflow==2.10\n")
    checked = check(home / "a.py", OLD)
    assert checked.told == ()
    assert "requirements.txt" in checked.notes[0]
    assert "--keras3" in checked.notes[0]
    task = Task((str(home / "a.py"),), EVERY, assumes_keras3=True)
    assert len(Scanner(task).check(str(home / "a.py")).told) == 1
