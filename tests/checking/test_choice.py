"""Which causes are told: command line and settings together."""

import pytest

from checking.cases import bare
from quickfit.causes import catalogue
from quickfit.checking.settings import Settings, chosen, names
from quickfit.errors import UsageError

EVERY = frozenset(catalogue())


def causes(select=(), ignore=(), **settings):
    return chosen(select, ignore, Settings(**settings), hints=False).causes


def test_without_a_word_every_cause_is_told():
    assert causes() == EVERY


def test_names_come_one_by_one_or_with_commas():
    wanted = {"shuffle-autotune", "predict-in-loop", "sequential-map"}
    assert causes(["shuffle-autotune, predict-in-loop", "sequential-map"]) == wanted


def test_capitals_underscores_and_empty_words_are_forgiven():
    assert causes(["Shuffle_Autotune,,"]) == {"shuffle-autotune"}


def test_all_is_every_cause():
    assert causes(["all"]) == EVERY
    assert causes(["ALL"], ["shuffle-autotune"]) == EVERY - {"shuffle-autotune"}
    assert causes(ignore=["ALL"]) == frozenset()


def test_the_settings_select_and_ignore():
    assert causes(select=(), ignore=["tiny-batch"]) == EVERY - {"tiny-batch"}
    settings = Settings(select=("tiny-batch", "predict-in-loop"), ignore=("tiny-batch",))
    assert chosen((), (), settings, hints=False).causes == {"predict-in-loop"}


def test_an_empty_selection_in_the_settings_tells_nothing():
    assert chosen((), (), Settings(select=()), hints=False).causes == frozenset()


def test_the_command_line_selects_even_what_the_settings_ignore():
    settings = Settings(select=("tiny-batch",), ignore=("shuffle-autotune",))
    assert chosen(["shuffle-autotune"], (), settings, hints=False).causes == {"shuffle-autotune"}


def test_what_the_command_line_ignores_is_ignored_besides():
    settings = Settings(ignore=("shuffle-autotune",))
    wanted = EVERY - {"shuffle-autotune", "tiny-batch"}
    assert chosen((), ["tiny-batch"], settings, hints=False).causes == wanted


@pytest.mark.parametrize(("command", "project"), [(True, False), (False, True), (True, True)])
def test_hints_are_told_where_one_of_both_asks(command, project):
    assert chosen((), (), Settings(hints=project), hints=command).hints


def test_hints_are_not_told_otherwise():
    assert not chosen((), (), Settings(), hints=False).hints


@pytest.mark.parametrize("word", ["shuffle-autotun", "predict-loop"])
def test_an_unknown_name_is_said_with_near_ones(word):
    with pytest.raises(UsageError) as caught:
        names([word], "--select")
    assert str(caught.value).startswith(f"--select: {word!r} is not the name of a cause.\nDid you")
    assert "shuffle-autotune" in str(caught.value) or "predict-in-loop" in str(caught.value)
    assert "    quickfit explain" in str(caught.value)


def test_an_unknown_name_without_near_ones():
    with pytest.raises(UsageError) as caught:
        names(["qqqqqqqq"], "--ignore")
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"select": ("nope",)}, "tool.quickfit.select"),
        ({"ignore": ("nope",)}, "tool.quickfit.ignore"),
        ({"per_file_ignores": (("a/*", ("nope",)),)}, 'tool.quickfit.per-file-ignores."a/*"'),
    ],
)
def test_an_unknown_name_in_the_settings_is_said_with_its_key(tmp_path, settings, where):
    with pytest.raises(UsageError) as caught:
        chosen((), (), Settings(file=tmp_path / "pyproject.toml", **settings), hints=False)
    assert f"{tmp_path / 'pyproject.toml'}: {where}: 'nope'" in str(caught.value)


def test_causes_are_silent_in_some_files(home):
    ignores = (("a.py", ("shuffle-autotune",)), ("b.py", ("ALL",)))
    choice = chosen((), (), Settings(per_file_ignores=ignores), hints=False)
    assert not choice.has(bare().spotted)
    assert choice.has(bare("predict-in-loop").spotted)
