"""A file that can be edited: nodes are found by their text, and what is not replaced stays."""

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.code import Module, Program
from quickfit.code.edits import apply_edits
from quickfit.errors import SourceError


def script(text):
    return Module("train.py", textwrap.dedent(text))


def call(found, name):
    """Return the first call whose function ends in a name."""
    for node in found.all(ast.Call):
        if ast.unparse(node.func).split(".")[-1] == name:
            return node
    raise AssertionError(name)


def statement(found, code):
    """Return the statement that begins with some code."""
    for node in found.all(ast.stmt):
        if found.code(node).startswith(code):
            return node
    raise AssertionError(code)


def made(found, edit):
    assert edit is not None
    text = apply_edits(found.text, [edit] if not isinstance(edit, tuple) else edit)
    ast.parse(text)
    return text


# -- looking ------------------------------------------------------------------------------------


def test_text_that_is_no_python_is_refused():
    with pytest.raises(SourceError, match=r"train\.py: '\(' was never closed"):
        script("a = (\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("größe = f('😀', g(1))\n", "g(1)", id="not ASCII"),
        pytest.param("if 1:\n\tx = '\t' + g(1)\n", "g(1)", id="tabs"),
        pytest.param("a = 1\n\x0c\nb = g(1)\n", "g(1)", id="a form feed on a line of its own"),
        pytest.param("a = 1\n\x0cb = g(1)\n", "g(1)", id="a form feed before a statement"),
        pytest.param("a = 'x\u2028y'; b = g(1)\n", "g(1)", id="a line separator in a string"),
        pytest.param("a = '''\n  é\n''' + g(1)", "g(1)", id="behind a long string"),
        pytest.param("x = (\n    g(\n        1,\n    )\n)\n", "g(\n        1,\n    )", id="lines"),
    ],
)
def test_the_code_of_a_node_is_the_users_text(text, code):
    found = script(text)
    assert found.code(call(found, "g")) == code
    assert made(found, found.replace(call(found, "g"), "h()")) == text.replace(code, "h()")


def test_a_decorated_function_begins_at_its_first_decorator():
    found = script("x = 1\n@one\n@two(3)\ndef f():\n    pass\n")
    function = found.all(ast.FunctionDef)[0]
    assert found.begin(function) == (2, 0)
    assert found.code(function) == "@one\n@two(3)\ndef f():\n    pass"


def test_a_decorator_in_brackets_over_lines_is_found_by_its_sign():
    found = script("x = 1\n@(\n    one\n)\ndef f():\n    pass\n")
    assert found.begin(found.all(ast.FunctionDef)[0]) == (2, 0)


def test_nodes_come_in_the_order_of_the_text():
    found = script("f(g(1), h(2))\nk()\n")
    assert [ast.unparse(node.func) for node in found.all(ast.Call)] == ["f", "g", "h", "k"]


def test_what_is_around_a_node_is_found():
    found = script("def f():\n    for i in x:\n        g(i)\n")
    node = call(found, "g")
    assert isinstance(found.around(node, ast.For), ast.For)
    assert isinstance(found.around(node, ast.FunctionDef), ast.FunctionDef)
    assert found.around(node, ast.While) is None
    assert found.parent(found.tree) is None


def test_the_block_of_a_statement_holds_its_neighbours():
    found = script(
        """
        try:
            a = 1
            b = 2
        finally:
            c = 3
        for i in x:
            pass
        else:
            d = 4
            e = 5
        """
    )
    assert [found.code(s) for s in found.block(statement(found, "b ="))] == ["a = 1", "b = 2"]
    assert [found.code(s) for s in found.block(statement(found, "c ="))] == ["c = 3"]
    assert [found.code(s) for s in found.block(statement(found, "e ="))] == ["d = 4", "e = 5"]


def test_the_statement_of_an_expression_is_the_innermost():
    found = script("for i in x:\n    y = f(g(i))\n")
    assert found.code(found.statement(call(found, "g"))) == "y = f(g(i))"


def test_a_statement_is_alone_with_a_comment_and_not_with_another():
    found = script("a = 1  # why\nb = 2; c = 3\nif d: e = 4\n")
    assert found.is_alone(statement(found, "a"))
    assert not found.is_alone(statement(found, "b"))
    assert not found.is_alone(statement(found, "c"))
    assert not found.is_alone(statement(found, "e"))


def test_comments_are_told_from_strings_that_look_like_them():
    found = script("a = '# no'\nif 1:\n    b = 2  # yes\nc = 3\n")
    assert not found.has_comment(statement(found, "a"), statement(found, "a"))
    assert found.has_comment(statement(found, "if"), statement(found, "if"))
    assert found.has_comment(statement(found, "a"), statement(found, "c"))
    assert not found.has_comment(statement(found, "c"), statement(found, "c"))


# -- editing statements -------------------------------------------------------------------------


def test_statements_are_replaced_with_their_indentation():
    found = script("for i in x:\n\ta = f(i)\n\tb = a\n\tc = b  # kept\n")
    edit = found.replace_statements(statement(found, "a"), statement(found, "b"), "if i:\n    g()")
    assert made(found, edit) == "for i in x:\n\tif i:\n\t    g()\n\tc = b  # kept\n"


def test_a_comment_behind_replaced_statements_stays():
    found = script("a = 1  # why\nb = 2\n")
    edit = found.replace_statements(statement(found, "a"), statement(found, "a"), "c = 3")
    assert made(found, edit) == "c = 3  # why\nb = 2\n"


def test_code_goes_in_front_of_a_statement_and_the_comments_that_belong_to_it():
    found = script("a = 1\n\ndef f():\n    # first\n    # second\n    b = 2\n")
    edit = found.insert_before(statement(found, "b"), "c = 3\nd = 4")
    wanted = "a = 1\n\ndef f():\n    c = 3\n    d = 4\n    # first\n    # second\n    b = 2\n"
    assert made(found, edit) == wanted


def test_code_goes_behind_the_line_that_names_the_interpreter_and_the_encoding():
    found = script("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# ours\na = 1\n")
    edit = found.insert_before(statement(found, "a"), "b = 2")
    assert made(found, edit) == (
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nb = 2\n# ours\na = 1\n"
    )


def test_code_goes_in_front_of_a_decorated_function():
    found = script("@dec\ndef f():\n    pass\n")
    assert made(found, found.insert_before(found.tree.body[0], "a = 1")) == (
        "a = 1\n@dec\ndef f():\n    pass\n"
    )


def test_code_goes_behind_a_statement_and_its_comment():
    found = script("if 1:\n    a = f(\n        1,\n    )  # why\n    b = 2")
    assert made(found, found.insert_after(statement(found, "a"), "c = 3")) == (
        "if 1:\n    a = f(\n        1,\n    )  # why\n    c = 3\n    b = 2"
    )
    assert made(found, found.insert_after(statement(found, "b"), "c = 3")).endswith(
        "    b = 2\n    c = 3"
    )


def test_a_statement_is_removed_with_its_comments():
    found = script("a = 1\n# of b\nb = 2  # too\nc = 3\n")
    assert made(found, found.remove(statement(found, "b"))) == "a = 1\nc = 3\n"


def test_the_last_line_of_a_file_without_an_end_is_removed():
    found = script("a = 1\nb = 2")
    assert made(found, found.remove(statement(found, "b"))) == "a = 1\n"


def test_the_only_statement_of_a_block_becomes_pass():
    found = script("if 1:\n    a = 1\nb = 2\n")
    assert made(found, found.remove(statement(found, "a"))) == "if 1:\n    pass\nb = 2\n"


def test_statements_that_share_a_line_are_left_alone():
    found = script("a = 1; b = 2\n")
    one = statement(found, "a")
    assert found.remove(one) is None
    assert found.insert_before(one, "c = 3") is None
    assert found.insert_after(one, "c = 3") is None
    assert found.replace_statements(one, one, "c = 3") is None


def test_a_decorator_goes_above_the_others():
    found = script(
        "class A:\n    @other\n    def f(self):\n        pass\n\n    def g(self): pass\n"
    )
    first, second = found.all(ast.FunctionDef)
    assert made(found, (found.decorate(first, "@tf.function"),)).startswith(
        "class A:\n    @tf.function\n    @other\n    def f"
    )
    assert "\n    @tf.function\n    def g(self): pass\n" in made(
        found, (found.decorate(second, "@tf.function"),)
    )


# -- editing calls ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("g()\n", "g(n=2)\n", id="no arguments"),
        pytest.param("g( )\n", "g( n=2)\n", id="a space between the brackets"),
        pytest.param("g(a)\n", "g(a, n=2)\n", id="one"),
        pytest.param("g(a, b=1)\n", "g(a, b=1, n=2)\n", id="two"),
        pytest.param("g(a,b)\n", "g(a,b,n=2)\n", id="tight"),
        pytest.param("g(a, )\n", "g(a, n=2, )\n", id="a comma at the end"),
        pytest.param("g(*a)\n", "g(*a, n=2)\n", id="starred"),
        pytest.param("g(x for x in y)\n", None, id="a generator without brackets of its own"),
        pytest.param("g(a, **o)\n", None, id="options that may hold it"),
        pytest.param("g(a, n=None)\n", "g(a, n=2)\n", id="has it"),
        pytest.param("g(a, n=(None))\n", "g(a, n=(2))\n", id="has it in brackets"),
        pytest.param("(g(a))\n", "(g(a, n=2))\n", id="in brackets"),
        pytest.param("((g)(a))\n", "((g)(a, n=2))\n", id="its name in brackets"),
        pytest.param("g(a)(b)\n", "g(a, n=2)(b)\n", id="its result is called"),
        pytest.param("x.g(é, '😀').h(ü)\n", "x.g(é, '😀', n=2).h(ü)\n", id="not ASCII"),
        pytest.param("h(g(a), g2(b))\n", "h(g(a, n=2), g2(b))\n", id="within another"),
        pytest.param('f"{g(a)}"\n', 'f"{g(a, n=2)}"\n', id="within a string"),
        pytest.param(
            "g(\n    a,\n    b,  # why\n)\n", "g(\n    a,\n    b,  # why\n    n=2,\n)\n", id="lines"
        ),
        pytest.param(
            "g(\n    a,\n    b  # why\n)\n",
            "g(\n    a,\n    b,  # why\n    n=2\n)\n",
            id="no comma",
        ),
        pytest.param("g(\n    a\n)\n", "g(\n    a,\n    n=2\n)\n", id="one on its line"),
        pytest.param("g(a,\n  b)\n", "g(a,\n  b,\n  n=2)\n", id="hanging"),
        pytest.param(
            "y = (\n    x\n    .g(a)  # why\n    .h()\n)\n",
            "y = (\n    x\n    .g(a, n=2)  # why\n    .h()\n)\n",
            id="a chain in brackets",
        ),
        pytest.param(
            "y = (\n    x\n    .h()\n    .g(a)\n)\n",
            "y = (\n    x\n    .h()\n    .g(a, n=2)\n)\n",
            id="the end of a chain in brackets",
        ),
        pytest.param("y = x \\\n    .g(a)\n", "y = x \\\n    .g(a, n=2)\n", id="a backslash"),
        pytest.param("if 1:\n\ty = g(a,\t\tb)\n", "if 1:\n\ty = g(a,\t\tb,\t\tn=2)\n", id="tabs"),
        pytest.param("a = 1\n\x0c\ny = g(a)\n", "a = 1\n\x0c\ny = g(a, n=2)\n", id="form feed"),
        pytest.param("y = g(a)", "y = g(a, n=2)", id="no final newline"),
    ],
)
def test_a_call_is_given_a_keyword(text, wanted):
    found = Module("train.py", text)
    edit = found.with_keyword(call(found, "g"), "n", "2")
    assert (edit and made(found, edit)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("g(n=2)\n", "g()\n", id="the only one"),
        pytest.param("g(a, n=2)\n", "g(a)\n", id="the last"),
        pytest.param("g(n=2, b=1)\n", "g(b=1)\n", id="the first"),
        pytest.param("g(a, n=2, b=1)\n", "g(a, b=1)\n", id="in between"),
        pytest.param("g(a, n=2,)\n", "g(a,)\n", id="a comma at the end"),
        pytest.param("g(a)\n", None, id="does not have it"),
        pytest.param("g(a, **o)\n", None, id="only options"),
        pytest.param("g(\n    a,\n    n=2,\n)\n", "g(\n    a,\n)\n", id="lines"),
        pytest.param(
            "g(\n    a,  # why\n    n=2,\n)\n", "g(\n    a,  # why\n)\n", id="a comment stays"
        ),
        pytest.param(
            "g(\n    n=2,\n    a=1,  # why\n)\n", "g(\n    a=1,  # why\n)\n", id="first of lines"
        ),
    ],
)
def test_a_keyword_is_taken_from_a_call(text, wanted):
    found = Module("train.py", text)
    edit = found.without_keyword(call(found, "g"), "n")
    assert (edit and made(found, edit)) == wanted


NAMES = st.sampled_from(["a", "b", "é", "x.y", "f(1)", "'😀'", "[1, 2]", "k=3", "z = (4)"])
SPACES = st.sampled_from(["", " ", "\t", "\n    ", "  # why\n    "])


@given(st.lists(NAMES, max_size=4), st.lists(SPACES, min_size=5, max_size=5), st.booleans())
def test_a_keyword_that_is_given_and_taken_again_changes_nothing_that_python_sees(
    arguments, spaces, has_comma
):
    arguments = sorted(dict.fromkeys(arguments), key=lambda a: "=" in a)
    parts = [space + argument for space, argument in zip(spaces, arguments, strict=False)]
    body = ",".join(parts) + ("," if has_comma and parts else "") + spaces[-1]
    text = f"y = ds.g({body}\n).h(1)\nlast = 2  # end\n"
    found = Module("train.py", text)
    edit = found.with_keyword(call(found, "g"), "n", "2")
    after = made(found, edit)
    assert len(edit.text) < len(after)  # the edit is of the place alone
    assert after.count("# why") == text.count("# why")
    changed = Module("train.py", after)
    node = call(changed, "g")
    assert node.keywords[-1].arg == "n"
    back = made(changed, changed.without_keyword(node, "n"))
    assert ast.unparse(ast.parse(back)) == ast.unparse(ast.parse(text))
    assert back.count("# why") == text.count("# why")


def test_an_edit_touches_nothing_but_what_changes():
    found = script("ds = ds.map(decode)  # slow\n")
    edit = found.with_keyword(call(found, "map"), "n", "2")
    assert (edit.begin, edit.end, edit.text) == ((1, 18), (1, 18), ", n=2")


# -- imports ------------------------------------------------------------------------------------


def imported(text, module="tensorflow", alias="tf"):
    found = script(text)
    name, edits = found.import_of(module, alias)
    return name, made(found, edits)


def test_a_module_that_is_imported_keeps_its_name():
    assert imported("import tensorflow as T\n") == ("T", "import tensorflow as T\n")
    assert imported("import os, tensorflow\n") == ("tensorflow", "import os, tensorflow\n")


def test_a_module_is_imported_behind_the_others():
    text = '"""Doc."""\nimport os\nfrom a import (\n    b,\n)  # why\n\nx = 1\n'
    name, after = imported(text)
    assert name == "tf"
    assert after == text.replace("# why\n", "# why\nimport tensorflow as tf\n")


def test_an_import_within_a_function_is_nobody_elses():
    text = "import os\ndef f():\n    import tensorflow as tf\n"
    assert imported(text)[1].startswith("import os\nimport tensorflow as tf\ndef f")


def test_a_module_is_imported_behind_a_docstring_or_at_the_top():
    assert imported('"""Doc."""\nx = 1\n')[1] == '"""Doc."""\nimport tensorflow as tf\nx = 1\n'
    assert imported("#!/usr/bin/python\n# note\nx = 1\n")[1] == (
        "#!/usr/bin/python\nimport tensorflow as tf\n# note\nx = 1\n"
    )
    assert imported("")[1] == "import tensorflow as tf\n"


def test_a_module_goes_behind_imports_from_the_future():
    text = "from __future__ import annotations\nx = 1\n"
    assert imported(text)[1] == text.replace("x", "import tensorflow as tf\nx")


def test_a_name_from_a_module_is_imported_once():
    found = script("from keras import layers as L\n")
    assert found.from_import("keras", "layers") == ("L", ())
    name, edits = found.from_import("keras", "models")
    assert name == "models"
    assert made(found, edits) == "from keras import layers as L\nfrom keras import models\n"


def test_a_relative_import_is_another_module():
    found = script("from .keras import layers\n")
    assert found.from_import("keras", "layers")[1]


# -- projects -----------------------------------------------------------------------------------


def test_a_project_parses_a_file_once_and_says_none_to_what_is_no_python():
    project = Program(texts={"a.py": "a = 1\r\nb = 2\rc = 3\n", "b.py": "a = ("})
    assert project.paths == ["a.py", "b.py"]
    assert project.find_module("a.py") is project.find_module("a.py")
    assert project.find_module("a.py").text == "a = 1\nb = 2\nc = 3\n"
    assert project.find_module("b.py") is None
    assert project.find_module("c.py") is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_edits_made_on_plain_line_ends_fit_the_file_with_its_own(end):
    text = end.join(["import os", "y = g(", "    'ü',", "    b,  # why", ")", "z = 1", ""])
    found = Program(texts={"train.py": text}).find_module("train.py")
    edits = [found.with_keyword(call(found, "g"), "n", "2"), *found.import_of("sys")[1]]
    wanted = ["import os", "import sys", "y = g(", "    'ü',", "    b,  # why", "    n=2,"]
    assert apply_edits(text, edits) == end.join([*wanted, ")", "z = 1", ""])


def test_a_place_has_no_folder():
    assert Module("/project/src/train.py", "x = 1\n").place(41) == "train.py:41"
