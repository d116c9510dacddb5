"""Edits as data: how they are made in a text, and when two of them cannot both be made."""

from hypothesis import given
from hypothesis import strategies as st

from quickfit.findings import FixClass
from quickfit.fixes.change import (
    Change,
    Edit,
    is_in_conflict,
    line_end,
    lines_of,
    merged,
    patched,
)

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
    assert patched(text, []) == text


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
    changed = patched(text, [edit((row + 1, begin), (row + 1, stop), "NEW")])
    wanted = [*lines]
    wanted[row] = lines[row][:begin] + "NEW" + lines[row][stop:]
    assert changed == end.join(wanted) + (end if is_ended else "")


@given(LINES, ENDS, st.booleans(), st.data())
def test_new_lines_end_as_the_others_do(lines, end, is_ended, data):
    text = end.join(lines) + (end if is_ended else "")
    row = data.draw(st.integers(0, len(lines) - 1))
    changed = patched(text, [edit((row + 1, 0), (row + 1, 0), "one\ntwo\n")])
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
    assert patched(text, shuffled) == patched(text, edits)
    wanted = [part for row in range(len(lines)) for part in (f"line {row}", "more")]
    assert patched(text, edits) == end.join(wanted) + end


def test_a_span_over_several_lines_becomes_one():
    text = "a = f(\r\n    1,\r\n    2,\r\n)\r\nb = 2\r\n"
    assert patched(text, [edit((1, 4), (4, 1), "g()")]) == "a = g()\r\nb = 2\r\n"


def test_in_a_text_with_mixed_line_ends_a_new_line_ends_as_its_neighbour_does():
    text = "one\ntwo\r\nthree\rfour\n"
    assert patched(text, [edit((2, 0), (2, 0), "x\n")]) == "one\nx\r\ntwo\r\nthree\rfour\n"
    assert patched(text, [edit((3, 0), (3, 0), "x\n")]) == "one\ntwo\r\nx\rthree\rfour\n"


def test_the_last_line_without_an_end_takes_new_lines_that_end_as_the_first():
    assert patched("a\r\nb", [edit((2, 1), (2, 1), "\nc")]) == "a\r\nb\r\nc"
    assert patched("a", [edit((1, 1), (1, 1), "\nb")]) == "a\nb"


def test_a_line_can_be_removed_with_its_end():
    assert patched("a\r\nb\r\nc\r\n", [edit((2, 0), (3, 0))]) == "a\r\nc\r\n"


def test_the_last_line_can_be_removed_whether_it_has_an_end_or_not():
    assert patched("a\nb\n", [edit((2, 0), (3, 0))]) == "a\n"
    assert patched("a\nb", [edit((2, 0), (3, 0))]) == "a\n"


def test_text_can_be_added_behind_the_last_line_end():
    assert patched("a\r\n", [edit((2, 0), (2, 0), "b\n")]) == "a\r\nb\r\n"
    assert patched("", [edit((1, 0), (1, 0), "b\n")]) == "b\n"


def test_a_form_feed_ends_no_line():
    text = "a = 1\n\fb = 2\n\x0c\nc = 3\n"
    assert patched(text, [edit((4, 4), (4, 5), "4")]) == "a = 1\n\fb = 2\n\x0c\nc = 4\n"


def test_columns_are_characters():
    text = "größe = f('😀', 1)\n"
    column = text.index("1")
    assert patched(text, [edit((1, column), (1, column + 1), "2")]) == "größe = f('😀', 2)\n"


def test_insertions_at_one_place_all_stand_and_before_what_is_replaced_there():
    edits = [
        edit((1, 4), (1, 5), "9"),
        edit((1, 4), (1, 4), "b"),
        edit((1, 4), (1, 4), "a"),
        edit((1, 5), (1, 5), "z"),
    ]
    assert patched("x = 1\n", edits) == "x = ab9z\n"


def test_two_edits_that_meet_on_one_line_are_both_made():
    text = "a(\n1) + b(\n2)\n"
    edits = [edit((1, 0), (2, 2), "A"), edit((2, 5), (3, 2), "B")]
    assert patched(text, edits) == "A + B\n"


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
    assert merged(changes) == (one,)
    assert patched("a\n", merged(changes)) == "b\n"


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
