"""One file of a program: the text of its nodes."""

import ast

import pytest

from quickfit.code import Module


@pytest.mark.parametrize(
    "text",
    [
        "f(1)",
        "f(\n    1,  # one\n    'zwölf',\n)",
        "'ä' + f(ü)",
        "x.y(  2 )",
    ],
)
def test_code_is_the_text_as_it_is_written(text):
    module = Module("a.py", f"größe = {text}  # behind\n")
    (assign,) = module.all(ast.Assign)
    assert module.code(assign.value) == text


def test_code_of_a_node_that_stands_nowhere_is_written_anew():
    call = ast.Call(func=ast.Name(id="f"), args=[], keywords=[])
    assert Module("a.py", "").code(call) == "f()"
