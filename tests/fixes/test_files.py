"""Files come back as they were, in whatever encoding and with whatever line ends they have."""

import codecs
import hashlib

import pytest

from quickfit.errors import FixError
from quickfit.fixes.change import Edit
from quickfit.fixes.files import read_source


def written(tmp_path, data):
    path = tmp_path / "train.py"
    path.write_bytes(data)
    return read_source(str(path))


CASES = {
    "plain": b"a = 1\nb = 2\n",
    "no final newline": b"a = 1\nb = 2",
    "CRLF": b"a = 1\r\nb = 2\r\n",
    "CR": b"a = 1\rb = 2\r",
    "mixed": b"a = 1\r\nb = 2\nc = 3\r",
    "form feed": b"a = 1\n\x0c\nb = 2\n",
    "tabs": b"if 1:\n\ta = 1\n\tb = '\t'\n",
    "UTF-8": "größe = '😀'\nb = 2\n".encode(),
    "UTF-8 with BOM": codecs.BOM_UTF8 + "ü = 1\nb = 2\n".encode(),
    "BOM and cookie": codecs.BOM_UTF8 + b"# -*- coding: utf-8 -*-\nb = 2\n",
    "latin-1": "# -*- coding: latin-1 -*-\nname = 'Jürgen'\n".encode("latin-1"),
    "cp1252 in the second line": "#!/usr/bin/python\n# coding=cp1252\ne = '€'\n".encode("cp1252"),
    "empty": b"",
    "only a comment": b"# nothing",
}


@pytest.mark.parametrize("data", CASES.values(), ids=CASES.keys())
def test_without_an_edit_a_file_comes_back_byte_by_byte(tmp_path, data):
    assert written(tmp_path, data).edited([]) == data


@pytest.mark.parametrize("name", [name for name, data in CASES.items() if b" = 1" in data])
def test_an_edit_leaves_all_other_bytes(tmp_path, name):
    file = written(tmp_path, CASES[name])
    line = next(n for n, text in enumerate(file.text.splitlines(), 1) if " = 1" in text)
    column = file.text.splitlines()[line - 1].index("1")
    edits = [Edit(file.path, (line, column), (line, column + 1), "7")]
    assert file.edited(edits) == CASES[name].replace(b" = 1", b" = 7")


def test_text_is_added_in_the_encoding_of_the_file(tmp_path):
    file = written(tmp_path, "# coding: latin-1\nname = 'Jürgen'; x = f(1)\n".encode("latin-1"))
    column = file.text.splitlines()[1].index("1")
    edits = [Edit(file.path, (2, column), (2, column + 1), "'ö'")]
    assert file.edited(edits) == "# coding: latin-1\nname = 'Jürgen'; x = f('ö')\n".encode(
        "latin-1"
    )


def test_a_byte_order_mark_stays_the_first_thing_in_the_file(tmp_path):
    file = written(tmp_path, codecs.BOM_UTF8 + b"a = 1\n")
    edits = [Edit(file.path, (1, 0), (1, 0), "import os\n")]
    assert file.edited(edits) == codecs.BOM_UTF8 + b"import os\na = 1\n"


def test_edits_of_other_files_are_left_out(tmp_path):
    file = written(tmp_path, b"a = 1\n")
    assert file.edited([Edit("other.py", (1, 0), (1, 1), "b")]) == b"a = 1\n"


def test_the_digest_is_of_the_bytes(tmp_path):
    data = b"a = 1\r\n"
    assert written(tmp_path, data).sha256 == hashlib.sha256(data).hexdigest()


def test_an_edit_that_would_break_the_file_is_refused(tmp_path):
    file = written(tmp_path, b"a = 1\n")
    with pytest.raises(FixError) as caught:
        file.edited([Edit(file.path, (1, 4), (1, 5), "(")])
    assert "train.py: the edited file would not be valid Python" in str(caught.value)
    assert "bug in quickfit" in str(caught.value)


def test_a_fix_that_the_encoding_cannot_hold_is_refused(tmp_path):
    file = written(tmp_path, b"# coding: latin-1\na = '1'\n")
    with pytest.raises(FixError) as caught:
        file.edited([Edit(file.path, (2, 5), (2, 6), "€")])
    assert "cannot be written in the file's encoding (iso-8859-1" in str(caught.value)
    assert "Save the file as UTF-8" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FixError) as caught:
        read_source(str(tmp_path / "gone.py"))
    assert "gone.py: cannot read this file (No such file or directory)" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"a = '\xff'\n", id="not UTF-8"),
        pytest.param(b"# coding: no-such\na = 1\n", id="an encoding nobody knows"),
        pytest.param(codecs.BOM_UTF8 + b"# coding: latin-1\n", id="mark and cookie disagree"),
    ],
)
def test_what_is_no_python_text_is_named(tmp_path, data):
    with pytest.raises(FixError, match=r"train\.py: cannot be read as Python text"):
        written(tmp_path, data)
