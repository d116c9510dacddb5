"""Edits written back into notebooks: the cells that change, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checking.cases import code_cell, notebook
from quickfit.checking.places import edited, lines_in, sources_in
from quickfit.code.notebooks import read_notebook
from quickfit.errors import FixError
from quickfit.findings import Edit

MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["x = 1"]}


def edit(begin, end, text):
    return Edit("a.ipynb", begin, end, text)


def sources(data):
    return read_notebook(data).sources


def test_only_the_line_that_changes_changes():
    data = notebook(MARKDOWN, "x = 1\ny = 2", "z = 3")
    after = edited(data, [edit((2, 4), (2, 5), "9")])
    assert after == data.replace(b'"y = 2"', b'"y = 9"')


@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
def test_the_form_of_the_json_stays(indent):
    data = notebook("x = 1\ny = 2\n", "z = 3", indent=indent)
    after = edited(data, [edit((1, 4), (1, 5), "9"), edit((4, 4), (4, 5), "8")])
    assert after == data.replace(b"x = 1", b"x = 9").replace(b"z = 3", b"z = 8")


@pytest.mark.parametrize("indent", [None, 1])
def test_lines_come_and_go(indent):
    data = notebook("x = 1\ny = 2\nz = 3", indent=indent)
    after = edited(data, [edit((2, 0), (3, 0), ""), edit((1, 0), (1, 0), "import a\nimport b\n")])
    assert sources(after) == ("import a\nimport b\nx = 1\nz = 3",)
    assert after == notebook("import a\nimport b\nx = 1\nz = 3", indent=indent)


def test_odd_white_space_no_line_end_and_a_mark_stay():
    data = b'\xef\xbb\xbf{ "cells":[ {"source" : [ "x = 1\\n" ,"y = 2" ] , "cell_type":"code"} ]}'
    after = edited(data, [edit((1, 4), (1, 5), "9")])
    assert after.startswith(b'\xef\xbb\xbf{ "cells":[ {"source" : [ "x = 9\\n", "y = 2" ] , "cell')
    assert after.endswith(b"}")


def test_a_source_that_is_one_text_stays_one():
    data = notebook(code_cell("", source="x = 1\ny = 2"))
    assert edited(data, [edit((2, 4), (2, 5), "9")]) == data.replace(b"y = 2", b"y = 9")


def test_letters_are_escaped_where_they_were():
    plain = notebook("x = 'ö'\ny = 2")
    assert edited(plain, [edit((2, 4), (2, 5), "9")]) == plain.replace(b"y = 2", b"y = 9")
    escaped = (json.dumps(json.loads(plain), indent=1) + "\n").encode()
    assert rb"\u00f6" in escaped
    assert edited(escaped, [edit((2, 4), (2, 5), "9")]) == escaped.replace(b"y = 2", b"y = 9")


def test_line_ends_of_windows_stay():
    data = notebook(code_cell("", source=["x = 1\r\n", "y = 2\r\n"]))
    after = edited(data, [edit((2, 4), (2, 5), "9")])
    assert after == data.replace(b"y = 2", b"y = 9")


def test_the_last_line_of_a_cell_may_go():
    data = notebook("x = 1\ny = 2\n", "z = 3")
    assert sources(edited(data, [edit((2, 0), (3, 0), "")])) == ("x = 1\n", "z = 3")
    data = notebook("x = 1\ny = 2", "z = 3")
    assert sources(edited(data, [edit((2, 0), (3, 0), "")])) == ("x = 1\n", "z = 3")


def test_a_timed_statement_is_edited_behind_the_magic():
    data = notebook("%time x = f(1)")
    assert sources(edited(data, [edit((1, 12), (1, 13), "2")])) == ("%time x = f(2)",)


def test_several_cells_are_edited_at_once():
    data = notebook("x = 1", MARKDOWN, "y = 2", "z = 3")
    after = edited(data, [edit((3, 4), (3, 5), "7"), edit((1, 4), (1, 5), "9")])
    assert sources(after) == ("x = 9", "y = 2", "z = 7")


def test_an_edit_over_two_cells_is_refused():
    with pytest.raises(FixError, match="over the end of a cell"):
        edited(notebook("x = 1", "y = 2"), [edit((1, 0), (2, 3), "")])


def test_an_edit_of_a_line_that_was_replaced_is_refused():
    with pytest.raises(FixError, match="not plain Python"):
        edited(notebook("x = !ls"), [edit((1, 4), (1, 5), "a")])


def test_an_edit_behind_the_last_cell_is_refused():
    with pytest.raises(FixError):
        edited(notebook(MARKDOWN), [edit((1, 0), (1, 0), "x")])


def test_an_edit_in_a_cell_without_source_is_refused():
    with pytest.raises(FixError, match="without source"):
        edited(notebook({"cell_type": "code"}), [edit((1, 0), (1, 0), "x\n")])


def test_sources_are_found_whatever_stands_around_them():
    text = '{"a": {"cells": [1]}, "cells": [{"cell_type": "code", "b": "]}", "source": "x"},'
    text += '{"cell_type": "raw", "source": "n"}, {"source": ["q", "r"], "cell_type": "code"}]}'
    assert [text[begin:end] for begin, end in sources_in(text)] == ['"x"', '["q", "r"]']


def test_of_two_equal_keys_the_last_counts_as_for_json():
    text = '{"cells": [{"cell_type": "code", "source": "x", "source": "yy"}]}'
    assert [text[begin:end] for begin, end in sources_in(text)] == ['"yy"']


def test_a_cell_line_has_its_line_in_the_file():
    data = notebook("x = 1\ny = 2\n", "z = 3").decode()
    lines = data.split("\n")
    first, second = lines_in(data)
    assert [lines[n - 1].strip() for n in first[:2]] == ['"x = 1\\n",', '"y = 2\\n"']
    assert first[2] == first[1]
    assert lines[second[0] - 1].strip() == '"z = 3"'


def test_a_cell_in_one_text_has_one_line_in_the_file():
    data = notebook(code_cell("", source="x = 1\ny = 2")).decode()
    assert len(set(lines_in(data)[0])) == 1


def test_cells_without_source_and_empty_ones_have_lines():
    data = notebook({"cell_type": "code"}, "", "x = 1").decode()
    assert [len(lines) for lines in lines_in(data)] == [1, 1, 1]


LINE = st.text(st.sampled_from("ab =1'ö\u2028\x0c\t\"\\"), max_size=12).map("# {}".format)
CELL = st.lists(LINE, max_size=4).map("\n".join)


@given(st.lists(CELL, min_size=1, max_size=4), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_notebook_comes_back_with_one_line_in_front_of_every_cell(cells, indent, is_list):
    whole = [code_cell(c) if is_list else code_cell("", source=c) for c in cells]
    data = notebook(*whole, indent=indent)
    read = read_notebook(data)
    edits = [edit((line, 0), (line, 0), "pass\n") for line in read.first_lines]
    after = edited(data, edits)
    assert sources(after) == tuple(f"pass\n{source}" for source in read.sources)
    same = json.loads(after)
    for cell, text in zip(same["cells"], json.loads(data)["cells"], strict=True):
        cell["source"] = text["source"]
    assert same == json.loads(data)
