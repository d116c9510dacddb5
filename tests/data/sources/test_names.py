import pytest

from quickfit.data.sources.names import (
    danger,
    is_hidden,
    is_image_name,
    is_usable,
    oddity,
    plain,
    shown,
)


@pytest.mark.parametrize("name", ["a.jpg", "a.JPEG", "x/a.Png", "a.webp", "a.b.gif", ".bmp"])
def test_knows_an_image_by_its_ending_in_any_case(name):
    assert is_image_name(name)


@pytest.mark.parametrize("name", ["a.txt", "jpg", "a.jpg.txt", "a.jpg~", "a.tiff", ""])
def test_takes_nothing_else_for_an_image(name):
    assert not is_image_name(name)


@pytest.mark.parametrize(
    "name", [".DS_Store", "a/.x.jpg", ".git/a.jpg", "__MACOSX/a.jpg", "a/Thumbs.db", "desktop.ini"]
)
def test_leaves_to_programs_what_is_theirs(name):
    assert is_hidden(name)


@pytest.mark.parametrize("name", ["a.jpg", "a/b.c.jpg", "my__MACOSX/a.jpg", "Thumbs.db.jpg"])
def test_hides_no_ordinary_file(name):
    assert not is_hidden(name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a\nb.jpg", "line break"),
        ("a\rb.jpg", "line break"),
        ("a\u2028b.jpg", "line break"),
        ("a\tb.jpg", "control character"),
        ("a\x7fb.jpg", "control character"),
        ("a\udce9.jpg", "no UTF-8"),
        ("a\x00b.jpg", "null byte"),
    ],
)
def test_says_what_is_odd_about_a_name(name, says):
    assert says in oddity(name)
    assert not is_usable(name, keep_odd_names=False)


def test_shows_names_so_that_they_cannot_steer_a_terminal():
    assert shown("a\x1b[2J\nb\udce9é.jpg") == "a\\x1b[2J\\nb\\udce9é.jpg"
    assert shown("日本 é.jpg") == "日本 é.jpg"


@pytest.mark.parametrize("name", ["a.jpg", "ä ö/日本.jpg", "a b.jpg", "a\xa0b.jpg", "😀.jpg"])
def test_finds_nothing_odd_about_names_people_give(name):
    assert oddity(name) is None
    assert is_usable(name, keep_odd_names=False)


def test_keeps_odd_names_on_request_but_none_that_no_file_can_have():
    assert is_usable("a\nb.jpg", keep_odd_names=True)
    assert not is_usable("a\x00b.jpg", keep_odd_names=True)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/etc/a.jpg", "absolute"),
        ("\\\\host\\a.jpg", "absolute"),
        ("c:a.jpg", "drive letter"),
        ("C:\\a.jpg", "drive letter"),
        ("../a.jpg", "leads out"),
        ("a/../../b.jpg", "leads out"),
        ("a\\..\\b.jpg", "leads out"),
        ("..", "leads out"),
    ],
)
def test_says_why_a_path_leads_out_of_an_archive(name, says):
    assert says in danger(name)


@pytest.mark.parametrize("name", ["a/b.jpg", "./a.jpg", "a..b.jpg", "...jpg", "a/..b/c.jpg"])
def test_finds_no_danger_in_ordinary_paths(name):
    assert danger(name) is None


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("./a/b", "a/b"),
        ("a//b", "a/b"),
        ("a/./b", "a/b"),
        ("a/", "a"),
        ("a./b", "a./b"),
        ("a", "a"),
    ],
)
def test_leaves_out_the_parts_of_a_path_that_say_nothing(name, short):
    assert plain(name) == short


def test_a_very_long_name_is_shown_without_its_middle():
    name = "begin/" + "n" * 300 + "/end.jpg"
    assert shown("a" * 200) == "a" * 200
    assert len(shown(name)) == 200
    assert shown(name).startswith("begin/n")
    assert "n…n" in shown(name)
    assert shown(name).endswith("n/end.jpg")
