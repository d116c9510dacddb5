"""Which arrays surely hold a single row."""

import pytest

from quickfit.patterns.rows import is_one_row

from programs import program_of


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("np.expand_dims(x, 0)", True),
        ("np.expand_dims(x, axis=-1)", False),
        ("x[None]", True),
        ("x[np.newaxis, ...] / 255", True),
        ("x[i : i + 1]", True),
        ("x[i : i + 32]", False),
        ("x[:1]", True),
        ("x[i]", False),
        ("x.reshape(1, -1).astype('float32')", True),
        ("x.reshape(-1, 28, 28)", False),
        ("np.reshape(x, [1, 4])", True),
        ("np.array([x])", True),
        ("np.array(x)", False),
        ("np.zeros((1, 4))", True),
        ("np.zeros((9, 4))", False),
        ("[x[None], y[None]]", True),
        ("[x[None], y]", False),
        ("preprocess_input(np.expand_dims(x, 0))", True),
        ("x", False),
    ],
)
def test_which_expressions_are_one_row(code, answer):
    program = program_of(f"import numpy as np\nuse({code})\n")
    module = program.module("/project/train.py")
    assert is_one_row(program, module, module.calls("use")[0].args[0]) is answer


def test_every_way_to_a_name_counts():
    for other, answer in (("x[None]", True), ("x", False)):
        text = f"row = x[None]\nif late:\n    row = {other}\nuse(row)\n"
        program = program_of(text)
        module = program.module("/project/train.py")
        assert is_one_row(program, module, module.calls("use")[0].args[0]) is answer
