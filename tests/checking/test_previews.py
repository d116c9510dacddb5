"""The lines that a change takes away and brings."""

import pytest

from quickfit.checking.places import rewrites_of
from quickfit.findings import Change, Edit, FixClass

TEXT = ["import a", "x = f(1)", "y = g(", "    2,", ")", "z = 3"]


def rewrites(*edits, text=TEXT):
    made = tuple(Edit("a.py", *edit) for edit in edits)
    found = rewrites_of(Change("t", FixClass.REPAIRS, made), lambda file: text)
    return [(each.where.line, each.before, each.after) for each in found]


@pytest.mark.parametrize(
    ("edits", "shown"),
    [
        ([((2, 6), (2, 7), "9")], [(2, ("x = f(1)",), ("x = f(9)",))]),
        ([((2, 0), (2, 0), "import b\n")], [(2, (), ("import b",))]),
        ([((2, 0), (3, 0), "")], [(2, ("x = f(1)",), ())]),
        ([((3, 4), (5, 1), "h()")], [(3, ("y = g(", "    2,", ")"), ("y = h()",))]),
        (
            [((2, 0), (2, 1), "w"), ((2, 6), (2, 7), "9")],
            [(2, ("x = f(1)",), ("w = f(9)",))],
        ),
        (
            [((1, 0), (1, 0), "import b\n"), ((6, 4), (6, 5), "4")],
            [(1, (), ("import b",)), (6, ("z = 3",), ("z = 4",))],
        ),
        ([((7, 0), (7, 0), "end()\n")], [(7, (), ("end()",))]),
        ([((2, 6), (2, 7), "1")], []),
        ([((2, 6), (2, 7), "[\n    9\n]")], [(2, ("x = f(1)",), ("x = f([", "    9", "])"))]),
    ],
)
def test_a_change_shows(edits, shown):
    assert rewrites(*edits) == shown


def test_each_file_shows_its_own_lines():
    texts = {"a.py": ["x = 1"], "b.py": ["", "y = 2"]}
    edits = (Edit("a.py", (1, 4), (1, 5), "9"), Edit("b.py", (2, 4), (2, 5), "8"))
    found = rewrites_of(Change("t", FixClass.REPAIRS, edits), texts.__getitem__)
    assert [(r.where.file, r.where.line, r.after) for r in found] == [
        ("a.py", 1, ("x = 9",)),
        ("b.py", 2, ("y = 8",)),
    ]
