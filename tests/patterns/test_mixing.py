"""Whether what is drawn at random changes data, or is data."""

import pytest

from quickfit.patterns.mixing import mixes

from programs import program_of


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x + draw((3,))", True),
        ("return x + draw(shape(x))", True),
        ("noise = draw((3,))\n    return x + noise", True),
        ("if draw(()) > 0.5:\n        x = flip(x)\n    return x", True),
        ("angle = draw(())\n    return turn(x, angle)", True),
        ("return draw((8, 8)), x", False),
        ("picture = draw((8, 8))\n    return picture * 2.0, x", False),
        ("return draw((8, 8))", False),
    ],
)
def test_tells_a_change_from_made_up_data(body, expected):
    module = program_of(f"def f(x):\n    {body}\n").module("/project/train.py")
    assert mixes(module, module.calls("draw")[0]) is expected


def test_a_draw_outside_of_functions_changes_nothing():
    module = program_of("x = 1 + draw()\n").module("/project/train.py")
    assert not mixes(module, module.calls("draw")[0])
