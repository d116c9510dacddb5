"""`[tool.quickfit]`: what it sets, and what is refused with file and key."""

import pytest

from quickfit.checking.settings import Settings, nearest_settings, read_settings
from quickfit.errors import UsageError


def write(folder, text, name="pyproject.toml"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


FULL = """
[tool.quickfit]
select = ["ALL"]
ignore = ["predict-in-loop"]
exclude = ["old"]
hints = true
format = "github"
[tool.quickfit.per-file-ignores]
"tests/*" = ["shuffle-autotune", "sequential-map"]
"""


def test_every_setting_is_read(home):
    file = write(home, FULL)
    assert read_settings(file) == Settings(
        file=file,
        select=("ALL",),
        ignore=("predict-in-loop",),
        exclude=("old",),
        per_file_ignores=(("tests/*", ("shuffle-autotune", "sequential-map")),),
        hints=True,
        format="github",
    )
    assert read_settings(file).base == str(home)


def test_an_empty_table_sets_nothing(home):
    file = write(home, "[tool.quickfit]\n")
    assert read_settings(file) == Settings(file=file)


def test_the_nearest_file_with_settings_counts(home):
    write(home, "[tool.quickfit]\nhints = true\n")
    write(home / "a", "[tool.other]\n")
    (home / "a" / "b").mkdir()
    assert nearest_settings(home / "a" / "b").file == home / "pyproject.toml"
    write(home / "a", "[tool.quickfit]\n")
    assert nearest_settings(home / "a" / "b").file == home / "a" / "pyproject.toml"


def test_without_a_file_nothing_is_set(home):
    assert nearest_settings(home) == Settings() or nearest_settings(home).file is not None
    assert Settings().base == str(home)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("select = 3", "tool.quickfit.select: a list of texts"),
        ("select = 'a'", "found the text 'a'"),
        ("select = ['a', 3]", "found a list with 3 in it"),
        ("ignore = true", "tool.quickfit.ignore: a list of texts"),
        ("ignore = {a = 1}", "found a table"),
        ("exclude = [['a']]", "tool.quickfit.exclude"),
        ("hints = 'yes'", "tool.quickfit.hints: true or false is expected, found the text 'yes'"),
        ("hints = 1", "tool.quickfit.hints"),
        (
            "format = 'xml'",
            "one of text, markdown, json, sarif, github is expected, found the text 'xml'",
        ),
        ("format = 1.5", "found 1.5"),
        ("per-file-ignores = ['a']", "tool.quickfit.per-file-ignores: a table such as"),
        ("per-file-ignores = {'a/*' = 'b'}", 'tool.quickfit.per-file-ignores."a/*"'),
        ("selct = []", "tool.quickfit.selct: there is no such setting.\nDid you mean: select"),
        ("per_file_ignores = {}", "Did you mean: per-file-ignores"),
        ("zzz = 1", "Known: select, ignore, exclude, per-file-ignores, hints, format."),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(home, text, said):
    file = write(home, f"[tool.quickfit]\n{text}\n")
    with pytest.raises(UsageError) as caught:
        read_settings(file)
    assert str(caught.value).startswith(f"{file}: tool.quickfit.")
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["[tool", "x = 1\nx = 2", "\x00"])
def test_a_file_that_is_not_toml_is_said(home, text):
    file = write(home, text)
    with pytest.raises(UsageError) as caught:
        nearest_settings(home)
    assert str(caught.value).startswith(f"{file}: is not TOML (")
    assert "    quickfit check --isolated" in str(caught.value)


def test_a_file_that_is_not_utf8_is_said(home):
    (home / "pyproject.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="is not TOML"):
        nearest_settings(home)


@pytest.mark.parametrize("text", ["", "tool = 3", "[tool.other]"])
def test_a_named_file_without_settings_is_said(home, text):
    with pytest.raises(UsageError, match=r"has no \[tool.quickfit\]"):
        read_settings(write(home, text))


def test_a_table_that_is_none_is_said(home):
    with pytest.raises(UsageError, match=r"tool\.quickfit: a table is expected, found 3"):
        read_settings(write(home, "[tool]\nquickfit = 3\n"))


def test_a_named_file_that_is_gone_is_said(home):
    with pytest.raises(UsageError, match="cannot read this file"):
        read_settings(home / "gone.toml")
