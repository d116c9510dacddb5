"""What only IPython understands becomes Python of as many lines; Python stays as it is."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.program.magics import as_python, parse


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
        ("%%writefile a.py\nimport keras", "\n"),
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
    assert as_python(cell) == python


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
    assert as_python(cell) == cell


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
    assert as_python(f"{kept}\n%time") == f"{kept}\npass"
    assert as_python(f"!ls\n{kept}") == f"pass\n{kept}"


@pytest.mark.parametrize("cell", ["    x = 1\n    y = 2", ">>> x = 1", "  x = 1\n!ls\n"])
def test_what_ipython_would_take_all_the_same_is_blank(cell):
    assert as_python(cell) == "\n" * cell.count("\n")


@pytest.mark.parametrize("cell", ["x = = 1", "!ls\nx = (", "def f(:\n  pass", "x = 1 \\"])
def test_what_is_not_python_is_an_error(cell):
    with pytest.raises(SyntaxError):
        as_python(cell)


def test_a_text_that_is_too_deep_or_has_nul_is_an_error():
    with pytest.raises((ValueError, SyntaxError)):
        parse("x = " + "-" * 100_000 + "1")
    with pytest.raises((ValueError, SyntaxError)):
        as_python("x = 1\0")


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
        python = as_python(cell)
    except SyntaxError:
        return
    assert python.count("\n") == cell.count("\n")
    ast.parse(python)
