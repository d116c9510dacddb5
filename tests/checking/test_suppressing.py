"""Comments that silence findings, and what is said about comments that do not."""

import ast

import pytest

from quickfit.checking.settings import ignores_of, lines_of
from quickfit.findings import Span

S = "shuffle-autotune"


@pytest.mark.parametrize(
    ("comment", "causes"),
    [
        ("# quickfit: ignore[shuffle-autotune]", {S}),
        ("#quickfit:ignore[ shuffle-autotune ]", {S}),
        ("# quickfit: ignore[shuffle-autotune, predict-in-loop]", {S, "predict-in-loop"}),
        ("# QuickFit: Ignore[Shuffle_Autotune]", {S}),
        ("# quickfit: ignore", {"*"}),
        ("# quickfit: ignore because of reasons", {"*"}),
        ("# noqa: E501  # quickfit: ignore[shuffle-autotune] on purpose", {S}),
    ],
)
def test_a_comment_silences_its_line(comment, causes):
    found = ignores_of(f"x = 1\ny = 2  {comment}\n")
    assert found.of_lines == {2: causes}
    assert found.notes == []
    assert found.silences(S, {2})
    assert not found.silences(S, {1, 3})


@pytest.mark.parametrize(
    "text",
    [
        "x = '# quickfit: ignore'\n",
        'x = """\n# quickfit: ignore\n"""\n',
        'f"# quickfit: ignore"\n',
        "# quickfit is a tool\n",
        "# see quickfit ignore\n",
        "",
    ],
)
def test_what_is_no_such_comment_silences_nothing(text):
    found = ignores_of(text)
    assert (found.of_file, found.of_lines, found.notes) == (set(), {}, [])


@pytest.mark.parametrize(
    "head",
    [
        "",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n",
        '"""A script.\n\nWith more.\n"""\n',
    ],
)
def test_a_comment_above_the_first_statement_silences_the_file(head):
    found = ignores_of(f"{head}# quickfit: ignore-file[shuffle-autotune]\nimport keras\n")
    assert found.of_file == {S}
    assert found.silences(S, {77})
    assert not found.silences("predict-in-loop", {77})


def test_a_whole_file_is_silenced_without_names():
    assert ignores_of("# quickfit: ignore-file\nx = 1\n").silences("tiny-batch", {3})


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("x = 1\n# quickfit: ignore-file\n", 2, "counts only above the first statement"),
        ("x = 1  # quickfit: ignore[shufle-autotune]\n", 1, "did you mean shuffle-autotune"),
        ("x = 1  # quickfit: ignore[qqqqqq]\n", 1, "`qqqqqq` in"),
        ("x = 1  # quickfit: ignore[]\n", 1, "names no cause"),
        ("x = 1  # quickfit: disable[a]\n", 1, "write `# quickfit: ignore[cause]`"),
        ("x = 1  # quickfit: ignored\n", 1, "is not known"),
    ],
)
def test_what_is_wrong_with_a_comment_is_noted_and_it_silences_nothing(text, line, said):
    found = ignores_of(text)
    assert [number for number, _ in found.notes] == [line]
    assert said in found.notes[0][1]
    assert not found.silences(S, {1, 2})


def test_a_known_name_beside_an_unknown_one_counts():
    found = ignores_of("x = 1  # quickfit: ignore[nope, shuffle-autotune]\n")
    assert found.silences(S, {1})
    assert len(found.notes) == 1


def test_a_text_that_cannot_be_taken_apart_is_no_error():
    assert ignores_of("x = (  # quickfit: ignore\n").of_lines == {1: {"*"}}


TEXT = """\
ds = (
    a
    .shuffle(b)
    .batch(3)
)
for x in f(
    y
):
    model(x)
    if x: g(x)
@decorated
def h(a,
      b):
    return a
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (3, {1, 3, 5}),
        (7, {6, 7, 8}),
        (9, {9}),
        (10, {10}),
        (13, {12, 13}),
        (14, {14}),
        (99, {99}),
    ],
)
def test_a_finding_is_silenced_at_its_line_and_the_ends_of_its_statement(line, lines):
    assert lines_of(Span("a.py", line, 1, line, 2), ast.parse(TEXT)) == lines


def test_the_last_line_of_a_finding_counts_too():
    assert lines_of(Span("a.py", 3, 1, 4, 2), ast.parse(TEXT)) == {1, 3, 4, 5}
