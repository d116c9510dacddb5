"""Edits as data: how they are made in a text, and when two of them cannot both be made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.code.edits import (
    apply_edits,
    fix_from_change,
    is_in_conflict,
    line_end,
    lines_of,
    merge_edits,
    remove_keywords,
    rename_keyword,
    with_keyword,
)
from quickfit.findings import Change, Edit, FixClass

from programs import program_of

# Everything that ends a line for Python, for `str.splitlines` alone, or for neither.
TEXTS = st.text(
    st.sampled_from("ab é😀\t\n\r\f\v\x1c\x85\u2028\ufeff"),
    max_size=60,
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.lists(st.text(st.sampled_from("xyz é\t\f"), max_size=6), min_size=1, max_size=6)


def edit(begin, end, text="", file="train.py"):
    return Edit(file, begin, end, text)


@given(TEXTS)
def test_no_edit_leaves_any_text_as_it_is(text):
    assert apply_edits(text, []) == text


@given(TEXTS)
def test_lines_put_together_are_the_text(text):
    lines = lines_of(text)
    assert "".join(lines) == text
    assert all(lines)


@given(TEXTS)
def test_lines_are_counted_as_python_counts_them(text):
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    wanted = plain.removesuffix("\n").split("\n") if plain else []
    assert [line.rstrip("\r\n") for line in lines_of(text)] == wanted


@given(LINES, ENDS, st.booleans(), st.data())
def test_a_span_is_replaced_and_all_around_it_stays(lines, end, is_ended, data):
    text = end.join(lines) + (end if is_ended else "")
    row = data.draw(st.integers(0, len(lines) - 1))
    begin, stop = sorted(
        (data.draw(st.integers(0, len(lines[row]))), data.draw(st.integers(0, len(lines[row]))))
    )
    changed = apply_edits(text, [edit((row + 1, begin), (row + 1, stop), "NEW")])
    wanted = [*lines]
    wanted[row] = lines[row][:begin] + "NEW" + lines[row][stop:]
    assert changed == end.join(wanted) + (end if is_ended else "")


@given(LINES, ENDS, st.booleans(), st.data())
def test_new_lines_end_as_the_others_do(lines, end, is_ended, data):
    text = end.join(lines) + (end if is_ended else "")
    row = data.draw(st.integers(0, len(lines) - 1))
    changed = apply_edits(text, [edit((row + 1, 0), (row + 1, 0), "one\ntwo\n")])
    if len(lines) > 1 or is_ended:
        wanted = [*lines[:row], "one", "two", *lines[row:]]
        assert changed == end.join(wanted) + (end if is_ended else "")


@given(LINES, ENDS, st.data())
def test_the_order_in_which_edits_are_given_does_not_matter(lines, end, data):
    text = end.join(lines) + end
    edits = [
        edit((row + 1, 0), (row + 1, len(line)), f"line {row}\nmore")
        for row, line in enumerate(lines)
    ]
    shuffled = data.draw(st.permutations(edits))
    assert apply_edits(text, shuffled) == apply_edits(text, edits)
    wanted = [part for row in range(len(lines)) for part in (f"line {row}", "more")]
    assert apply_edits(text, edits) == end.join(wanted) + end


def test_a_span_over_several_lines_becomes_one():
    text = "a = f(\r\n    1,\r\n    2,\r\n)\r\nb = 2\r\n"
    assert apply_edits(text, [edit((1, 4), (4, 1), "g()")]) == "a = g()\r\nb = 2\r\n"


def test_in_a_text_with_mixed_line_ends_a_new_line_ends_as_its_neighbour_does():
    text = "one\ntwo\r\nthree\rfour\n"
    assert apply_edits(text, [edit((2, 0), (2, 0), "x\n")]) == "one\nx\r\ntwo\r\nthree\rfour\n"
    assert apply_edits(text, [edit((3, 0), (3, 0), "x\n")]) == "one\ntwo\r\nx\rthree\rfour\n"


def test_the_last_line_without_an_end_takes_new_lines_that_end_as_the_first():
    assert apply_edits("a\r\nb", [edit((2, 1), (2, 1), "\nc")]) == "a\r\nb\r\nc"
    assert apply_edits("a", [edit((1, 1), (1, 1), "\nb")]) == "a\nb"


def test_a_line_can_be_removed_with_its_end():
    assert apply_edits("a\r\nb\r\nc\r\n", [edit((2, 0), (3, 0))]) == "a\r\nc\r\n"


def test_the_last_line_can_be_removed_whether_it_has_an_end_or_not():
    assert apply_edits("a\nb\n", [edit((2, 0), (3, 0))]) == "a\n"
    assert apply_edits("a\nb", [edit((2, 0), (3, 0))]) == "a\n"


def test_text_can_be_added_behind_the_last_line_end():
    assert apply_edits("a\r\n", [edit((2, 0), (2, 0), "b\n")]) == "a\r\nb\r\n"
    assert apply_edits("", [edit((1, 0), (1, 0), "b\n")]) == "b\n"


def test_a_form_feed_ends_no_line():
    text = "a = 1\n\fb = 2\n\x0c\nc = 3\n"
    assert apply_edits(text, [edit((4, 4), (4, 5), "4")]) == "a = 1\n\fb = 2\n\x0c\nc = 4\n"


def test_columns_are_characters():
    text = "größe = f('😀', 1)\n"
    column = text.index("1")
    assert apply_edits(text, [edit((1, column), (1, column + 1), "2")]) == "größe = f('😀', 2)\n"


def test_insertions_at_one_place_all_stand_and_before_what_is_replaced_there():
    edits = [
        edit((1, 4), (1, 5), "9"),
        edit((1, 4), (1, 4), "b"),
        edit((1, 4), (1, 4), "a"),
        edit((1, 5), (1, 5), "z"),
    ]
    assert apply_edits("x = 1\n", edits) == "x = ab9z\n"


def test_two_edits_that_meet_on_one_line_are_both_made():
    text = "a(\n1) + b(\n2)\n"
    edits = [edit((1, 0), (2, 2), "A"), edit((2, 5), (3, 2), "B")]
    assert apply_edits(text, edits) == "A + B\n"


def test_the_line_end_of_a_text_is_its_first_one():
    assert line_end("a\r\nb\n") == "\r\n"
    assert line_end("a\rb\n") == "\r"
    assert line_end("a\nb\r\n") == "\n"
    assert line_end("\r\n") == "\r\n"
    assert line_end("a") == "\n"
    assert line_end("") == "\n"


def test_spans_that_overlap_are_in_conflict():
    assert is_in_conflict([edit((1, 0), (1, 4), "a")], [edit((1, 3), (1, 6), "b")])
    assert is_in_conflict([edit((1, 0), (4, 0), "a")], [edit((2, 0), (2, 1), "b")])


def test_spans_that_only_touch_are_not_in_conflict():
    assert not is_in_conflict([edit((1, 0), (1, 4), "a")], [edit((1, 4), (1, 6), "b")])


def test_the_same_edit_twice_is_no_conflict_and_is_made_once():
    one = edit((1, 0), (1, 1), "b")
    assert not is_in_conflict([one], [one])
    changes = [Change(title, FixClass.SAME_RESULTS, (one,)) for title in ("one", "two")]
    assert merge_edits(changes) == (one,)
    assert apply_edits("a\n", merge_edits(changes)) == "b\n"


def test_the_same_span_with_another_text_is_a_conflict():
    assert is_in_conflict([edit((1, 0), (1, 1), "b")], [edit((1, 0), (1, 1), "c")])


def test_an_insertion_within_a_replaced_span_is_a_conflict_and_at_its_edge_is_not():
    span = edit((1, 2), (1, 6), "x")
    assert is_in_conflict([span], [edit((1, 4), (1, 4), "y")])
    assert is_in_conflict([edit((1, 4), (1, 4), "y")], [span])
    assert not is_in_conflict([span], [edit((1, 2), (1, 2), "y")])
    assert not is_in_conflict([span], [edit((1, 6), (1, 6), "y")])


def test_insertions_at_one_place_are_in_no_conflict():
    assert not is_in_conflict([edit((1, 0), (1, 0), "a")], [edit((1, 0), (1, 0), "b")])


def test_edits_of_different_files_are_in_no_conflict():
    assert not is_in_conflict([edit((1, 0), (1, 1), "a")], [edit((1, 0), (1, 1), "b", "data.py")])


def test_a_change_names_each_of_its_files_once_in_their_order():
    edits = (
        edit((1, 0), (1, 0), "a", "b.py"),
        edit((1, 0), (1, 0), "a", "a.py"),
        edit((2, 0), (2, 0), "a", "b.py"),
    )
    assert Change("t", FixClass.SAME_RESULTS, edits).files == ("b.py", "a.py")


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
    assert end.join([*rows, ""]) == apply_edits(text, edits)


def test_a_change_of_two_files_shows_both():
    fix = shown(TEXT, EDITS[2], Edit("b.py", (1, 4), (1, 5), "1"))
    assert [(hunk.file, hunk.after) for hunk in fix.hunks] == [("a.py", "z = 4"), ("b.py", "w = 1")]


def call_of(text):
    module = program_of({"a.py": text}).module("/project/a.py")
    return module, module.calls("fit")[0]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("fit(x, workers=4)\n", "fit(x)\n"),
        ("fit(workers=4)\n", "fit()\n"),
        ("fit(workers=4, x=1)\n", "fit(x=1)\n"),
        ("fit(x, workers=4, y=f(1, 2))\n", "fit(x, y=f(1, 2))\n"),
        ("fit(x, workers=4, queue=[1, 2], y=3)\n", "fit(x, y=3)\n"),
        ("fit(x, workers=4, y=1, queue=2)\n", "fit(x, y=1)\n"),
        ("fit(x, workers=4,)\n", "fit(x,)\n"),
        ("m.a(1).fit(x, workers=(4))  # all\n", "m.a(1).fit(x)  # all\n"),
        (
            "fit(\n    x,  # data\n    workers=4,  # fast\n    y=1,\n)\n",
            "fit(\n    x,  # data\n    y=1,\n)\n",
        ),
        ("fit(\n    x,\n    workers=4,\n    queue=2,\n)\n", "fit(\n    x,\n)\n"),
        ("fit(\n    x,\n    workers=4\n)\n", "fit(\n    x\n)\n"),
        ("fit(x,\n    workers=4)\n", "fit(x)\n"),
        ("fit(x,  # data\n    workers=4)\n", "fit(x,  # data\n    )\n"),
        ("fit(x, y=1,\n    workers=4, z=2)\n", "fit(x, y=1,\n    z=2)\n"),
        ("fit(x, workers=4,\n    z=2)\n", "fit(x,\n    z=2)\n"),
        ("fit(x, workers=4, queue=')',\n    z=2)\n", "fit(x,\n    z=2)\n"),
    ],
)
def test_takes_keywords_away(text, new):
    module, call = call_of(text)
    assert apply_edits(text, remove_keywords(module, call, {"workers", "queue"})) == new


def test_renames_a_keyword():
    text = "fit(x, lr = 3)\n"
    module, call = call_of(text)
    assert apply_edits(text, [rename_keyword(module, call, "lr", "rate")]) == "fit(x, rate = 3)\n"
    assert rename_keyword(module, call, "other", "rate") is None


def edited(text):
    """Return a text with `new=1` given to its call of `f`, or None."""
    module = program_of(text + "\n").module("/project/train.py")
    edit = with_keyword(module, module.calls("f")[0], "new", "1")
    return apply_edits(text + "\n", [edit]).rstrip("\n") if edit is not None else None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(new=1)"),
        ("f(a)", "f(a, new=1)"),
        ("f(a, )", "f(a, new=1, )"),
        ("f((a))", "f((a), new=1)"),
        ("f(g(a), b=(2))", "f(g(a), b=(2), new=1)"),
        ("f(a, new=0)", "f(a, new=1)"),
        ("f(\n    a,\n    b=2,\n)", "f(\n    a,\n    b=2,\n    new=1,\n)"),
        ("f(\n    a,  # (first\n)", "f(\n    a,  # (first\n    new=1,\n)"),
        ("f(\n    a, b\n)", "f(\n    a, b, new=1\n)"),
        ("x = f('ä', b)", "x = f('ä', b, new=1)"),
    ],
)
def test_adds_the_argument(before, after):
    assert edited(before) == after


@pytest.mark.parametrize("text", ["f(*rest)", "f(a, **rest)", "f(x for x in y)"])
def test_leaves_alone_what_it_cannot_tell(text):
    assert edited(text) is None
