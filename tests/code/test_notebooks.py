"""What only IPython understands becomes Python of as many lines; Python stays as it is."""

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checking.cases import code_cell, notebook
from quickfit.code import Program
from quickfit.code.notebooks import CellError, cell_as_python, read_notebook
from quickfit.code.syntax import parse_python
from quickfit.errors import SourceError


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline", "pass"),
        ("!pip install keras", "pass"),
        ("?model", "pass"),
        ("model?", "pass"),
        ("model.fit??", "pass"),
        ("%%time\nmodel.fit(x)", "pass\nmodel.fit(x)"),
        ("\n# a title\n%%capture out\nx = 1", "\n# a title\npass\nx = 1"),
        ("%%bash\nls -l\n", "\n\n"),
        ("%%writefile a.py\nimport keras", "pass\nimport keras"),
        ("%%writefile a.py\nimport {{ name }", "\n"),
        ("%%writefile a.txt\nimport keras", "\n"),
        ("%%html\n<b>", "\n"),
        ("%%some_magic_of_mine\nx = 1", "\n"),
        ("files = !ls *.jpg", "files = get_ipython()"),
        ("a, b = %magic", "a, b = get_ipython()"),
        ("x.y[0] = !ls", "x.y[0] = get_ipython()"),
        ("if x:\n    !ls\n    %cd ..\ny = 1", "if x:\n    pass\n    pass\ny = 1"),
        ("%time h = model.fit(x)", "pass; h = model.fit(x)"),
        ("%time for x in y: pass", "pass"),
        ("%time", "pass"),
        ("%timeit -n 3 f(x)", "pass"),
        ("!pip install \\\n    keras \\\n    tensorflow\nx = 1", "pass\n\n\nx = 1"),
        ("pip install keras\nx = 1", "pass\nx = 1"),
        ("cd ../data", "pass"),
    ],
)
def test_a_cell_becomes(cell, python):
    assert cell_as_python(cell) == python


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "\n\n",
        "# only a comment",
        "x = '%matplotlib inline'",
        'text = """\n%time\n!ls\n"""\n',
        "x = (100\n     % 7)",
        "await fetch()",
        "ls = 1\nls",
        "print('a=%d' % 3)",
        "x = 1;",
        "a \\\n  % b",
    ],
)
def test_python_stays_as_it_is(cell):
    assert cell_as_python(cell) == cell


@pytest.mark.parametrize(
    "kept",
    [
        'text = """\n%not magic\n"""',
        "x = (100\n     % 7)",
        "y = f(\n    '# (', # a bracket ) in a comment (\n    1)",
        "print('a=%d' % 3)",
        "s = 'it\\'s (' ",
        "s = 'over \\\n%two lines'",
        "z = a \\\n  % b",
    ],
)
def test_beside_a_magic_other_lines_stay_as_they_are(kept):
    assert cell_as_python(f"{kept}\n%time") == f"{kept}\npass"
    assert cell_as_python(f"!ls\n{kept}") == f"pass\n{kept}"


@pytest.mark.parametrize("cell", ["    x = 1\n    y = 2", ">>> x = 1", "  x = 1\n!ls\n"])
def test_what_ipython_would_take_all_the_same_is_blank(cell):
    assert cell_as_python(cell) == "\n" * cell.count("\n")


@pytest.mark.parametrize("cell", ["x = = 1", "!ls\nx = (", "def f(:\n  pass", "x = 1 \\"])
def test_what_is_not_python_is_an_error(cell):
    with pytest.raises(SyntaxError):
        cell_as_python(cell)


def test_a_text_that_is_too_deep_or_has_nul_is_an_error():
    with pytest.raises((ValueError, SyntaxError)):
        parse_python("x = " + "-" * 100_000 + "1")
    with pytest.raises((ValueError, SyntaxError)):
        cell_as_python("x = 1\0")


LINES = st.sampled_from(
    [
        "%time x = 1",
        "!ls",
        "x = 1",
        "if x:",
        "    y = 2",
        "'''",
        "(",
        ")",
        "# c",
        "",
        "a?",
        "x = !y",
    ]
)


@given(st.lists(LINES, max_size=12))
def test_the_number_of_lines_never_changes(lines):
    cell = "\n".join(lines)
    try:
        python = cell_as_python(cell)
    except SyntaxError:
        return
    assert python.count("\n") == cell.count("\n")
    ast.parse(python)


MARKDOWN = {"cell_type": "markdown", "source": ["%%bash\n", "= ="], "metadata": {}}


def test_code_cells_are_joined_and_the_others_left_out():
    read = read_notebook(notebook("x = 1\ny = 2", MARKDOWN, "z = 3\n", ""))
    assert read.text == "x = 1\ny = 2\nz = 3\n\n\n"
    assert read.sources == ("x = 1\ny = 2", "z = 3\n", "")
    assert [read.place(line) for line in (1, 2, 3, 4, 5)] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
        (3, 1),
    ]


def test_a_source_may_be_one_text():
    data = notebook(code_cell("", source="x = 1\ny = 2"), code_cell("", source="z = 3"))
    assert read_notebook(data).text == "x = 1\ny = 2\nz = 3\n"


def test_a_cell_with_a_syntax_error_is_blank_and_reported():
    read = read_notebook(notebook("x = 1", "y = 2\nz = = 3", "w = 4"))
    assert read.text == "x = 1\n\n\nw = 4\n"
    assert read.errors == (CellError(2, 2, 5, "invalid syntax"),)


def test_magics_keep_every_line_in_its_place():
    read = read_notebook(notebook("%matplotlib inline\nx = 1", "%%bash\nls\n", "!ls\ny = 2"))
    assert read.text == "pass\nx = 1\n\n\n\npass\ny = 2\n"
    assert read.place(7) == (3, 2)


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_line_ends_become_one_kind(ends):
    read = read_notebook(notebook(code_cell("", source=f"x = 1{ends}y = 2")))
    assert read.text == "x = 1\ny = 2\n"


def test_a_form_feed_ends_no_line():
    read = read_notebook(notebook("x = 1\n\x0c\ny = 2", "z = 3"))
    assert read.place(4) == (2, 1)


@pytest.mark.parametrize(
    "metadata",
    [
        {"language_info": {"name": "R"}},
        {"kernelspec": {"language": "julia"}},
    ],
)
def test_a_notebook_of_another_language_is_blank(metadata):
    read = read_notebook(notebook("x <- = 1\ny", metadata=metadata))
    assert read.text == "\n\n"
    assert read.errors == ()


@pytest.mark.parametrize(
    "metadata", [{}, {"language_info": {"name": "Python"}}, {"kernelspec": None}, "text"]
)
def test_python_is_taken_for_granted(metadata):
    assert read_notebook(notebook("x = 1", metadata=metadata)).text == "x = 1\n"


def test_a_cell_of_another_language_is_blank():
    data = notebook(code_cell("SELECT 1;", metadata={"vscode": {"languageId": "sql"}}), "x = 1")
    assert read_notebook(data).text == "\nx = 1\n"


def test_a_notebook_without_code_has_no_places():
    read = read_notebook(notebook(MARKDOWN))
    assert read.text == ""
    assert read.place(1) == (1, 1)


def test_a_code_cell_without_source_is_empty():
    assert read_notebook(notebook({"cell_type": "code"})).text == "\n"


def test_a_byte_order_mark_is_no_part_of_it():
    assert read_notebook(b"\xef\xbb\xbf" + notebook("x = 1")).text == "x = 1\n"


def test_halves_of_surrogates_are_an_error_of_their_cell():
    data = notebook("x = 1").replace(b"x = 1", rb"x = '\ud800'")
    read = read_notebook(data)
    assert read.text == "\n"
    assert read.errors[0].cell == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (b"  \n", "it is empty"),
        (b"import keras\n", "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[1, 2]", "an object is expected, found a list"),
        (b"null", "an object is expected, found null"),
        (b"3", "an object is expected, found a number"),
        (b"{}", "a list of `cells` is expected, found none"),
        (b'{"cells": {}}', "a list of `cells` is expected, found an object"),
        (b'{"cells": null}', "a list of `cells` is expected, found null"),
        (b'{"cells": [3]}', "cell 1 of all is a number"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "code cell 1 is not text"),
        (b'{"cells": [{"cell_type": "code", "source": [3]}]}', "code cell 1 is not text"),
        (b'{"cells": [{"cell_type": "code", "source": {"a": 1}}]}', "code cell 1 is not text"),
        (b'{"worksheets": [{"cells": []}], "nbformat": 3}', "jupyter nbconvert --to notebook"),
        (b"[" * 200_000, "its JSON cannot be read"),
        (b'{"cells": [], "n": ' + b"9" * 5000 + b"}", "its JSON cannot be read"),
    ],
)
def test_what_is_no_notebook_ends_in_a_clear_error(data, said):
    with pytest.raises(SourceError) as caught:
        read_notebook(data)
    assert said in str(caught.value)


def test_broken_json_says_where():
    with pytest.raises(SourceError) as caught:
        read_notebook(b'{\n  "cells": [,]\n}')
    assert (caught.value.line, caught.value.column) == (2, 13)


def test_a_program_reads_notebooks_as_text(tmp_path):
    file = tmp_path / "a.ipynb"
    file.write_bytes(notebook("%time\nimport keras", "x = 1"))
    module = Program([str(file)]).module(str(file))
    assert module.text == "pass\nimport keras\nx = 1\n"
    assert isinstance(module.tree.body[2], ast.Assign)


def test_every_notebook_that_jupyter_writes_is_read():
    content = json.loads(notebook("x = 1"))
    content["cells"][0]["outputs"] = [{"output_type": "stream", "text": ["%%bash"]}]
    content["cells"][0]["id"] = "a1"
    assert read_notebook(json.dumps(content).encode()).text == "x = 1\n"
