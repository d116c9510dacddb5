"""A change is shown place by place, and what is shown is what is written."""

import pytest

from quickfit.findings import Change, Edit, FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.hunks import fix_from_change

TEXT = "import a\nx = f(1)\ny = g(\n    2,\n)\nz = 3\n"
EDITS = (
    Edit("a.py", (1, 8), (1, 8), "\nimport b"),
    Edit("a.py", (3, 4), (5, 1), "h()"),
    Edit("a.py", (6, 4), (6, 5), "4"),
)


def shown(text, *edits):
    change = Change("Do it", FixClass.EQUIVALENT, edits, "Look at it.")
    return fix_from_change(change, {"a.py": text, "b.py": "w = 0"})


def test_a_change_becomes_the_fix_of_a_finding():
    fix = shown(TEXT, *EDITS)
    assert (fix.title, fix.kind, fix.note, fix.example) == (
        *("Do it", FixClass.EQUIVALENT, "Look at it.", ""),
    )
    assert [(hunk.line, hunk.before, hunk.after) for hunk in fix.hunks] == [
        (2, "", "import b"),
        (3, "y = g(\n    2,\n)", "y = h()"),
        (6, "z = 3", "z = 4"),
    ]
    assert fix.before == "y = g(\n    2,\n)\nz = 3"
    assert fix.after == "import b\ny = h()\nz = 4"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("edits", [EDITS, EDITS[:1], EDITS[1:2], EDITS[::2]])
def test_the_lines_that_are_shown_make_the_file_that_is_written(edits, end):
    text = TEXT.replace("\n", end)
    rows = TEXT.removesuffix("\n").split("\n")
    for hunk in reversed(shown(text, *edits).hunks):
        before = hunk.before.split("\n") if hunk.before else []
        first = hunk.line - 1
        assert rows[first : first + len(before)] == before
        rows[first : first + len(before)] = hunk.after.split("\n") if hunk.after else []
    assert end.join([*rows, ""]) == patched(text, edits)


def test_a_change_of_two_files_shows_both():
    fix = shown(TEXT, EDITS[2], Edit("b.py", (1, 4), (1, 5), "1"))
    assert [(hunk.file, hunk.after) for hunk in fix.hunks] == [("a.py", "z = 4"), ("b.py", "w = 1")]
