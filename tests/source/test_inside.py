"""A call is found inside its function, or where the text has only one."""

import pytest

from quickfit.source.inside import call_in, call_line

TEXT = """\
import tensorflow as tf

@tf.function
def load(path):
    return tf.io.decode_jpeg(path)

def other(path):
    return tf.image.decode_jpeg(path, 3)

def twice(path):
    return tf.io.decode_png(path), tf.io.decode_png(path)

pick = lambda path: decode_gif(path)
"""


@pytest.mark.parametrize(
    ("line", "name", "at"),
    [
        pytest.param(4, "decode_jpeg", 5, id="by its def"),
        pytest.param(3, "decode_jpeg", 5, id="by its decorator"),
        pytest.param(7, "decode_jpeg", 8, id="the other function"),
        pytest.param(13, "decode_gif", 13, id="a lambda"),
        pytest.param(4, "decode_gif", 13, id="the only one of the text"),
    ],
)
def test_finds(line, name, at):
    call = call_in(TEXT, line, name)
    assert call is not None
    assert call.lineno == at


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        pytest.param(TEXT, 10, "decode_png", id="two in the function"),
        pytest.param(TEXT, 10, "decode_jpeg", id="two in the text"),
        pytest.param(TEXT, 4, "decode_bmp", id="none"),
        pytest.param("def (", 1, "decode_png", id="no Python"),
    ],
)
def test_finds_nothing(text, line, name):
    assert call_in(text, line, name) is None


def test_the_line_of_a_call_over_several_lines_is_where_its_name_stands():
    text = "x = tf.io.decode_jpeg(\n    raw,\n    channels=3,\n)\n"
    assert call_line(text, 3, "decode") == 1
    assert call_line(text, 3, "resize") == 3
    assert call_line("not python (", 5, "decode") == 5
