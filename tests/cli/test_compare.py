"""`quickfit compare` from the command line, on kept recordings."""

import json

import pytest
from typer.testing import CliRunner

from quickfit.cli.main import app, arranged
from quickfit.errors import UsageError

from report.pages import unpack


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folders of a fast run and of one whose epochs take longer."""
    names = ("pairs/busy-machine", "healthy/small_cnn.alone")
    return [str(unpack(name, tmp_path_factory.mktemp("run"))) for name in names]


def compare(*words):
    """Run the command; errors of ours come through."""
    return CliRunner().invoke(app(), ["compare", *words], catch_exceptions=False)


def test_it_fails_only_where_the_interval_says_so(runs):
    slower = compare(*runs, "--fail-if-slower", "10%")
    assert slower.exit_code == 1
    assert "slower by more than 10%: failed" in slower.stderr
    assert compare(*reversed(runs), "--fail-if-slower", "10%").exit_code == 0
    same = compare(runs[1], runs[1], "--fail-if-slower", "0%")
    assert (same.exit_code, "not surely slower" in same.stderr) == (0, True)


def test_the_formats_are_what_they_say(runs, tmp_path):
    assert json.loads(compare(*runs, "--format", "json").stdout)["verdict"] == "slower"
    assert compare(*runs, "--format", "markdown").stdout.startswith("### quickfit: slower")
    page = tmp_path / "it.html"
    assert "page: " in compare(*runs, "--html", str(page)).stderr
    assert page.read_text().startswith("<!doctype html>\n<!-- a page of quickfit -->")


@pytest.mark.parametrize(
    "words", [[], ["one.qfrun"], ["a", "b", "c"], ["a", "b", "--head", "main"]]
)
def test_what_cannot_be_compared_says_what_can(words):
    with pytest.raises(UsageError, match=r"(?s)Received: .*quickfit compare --base HEAD~1"):
        compare(*words)


def test_a_revision_needs_a_script():
    with pytest.raises(UsageError, match="no script was given"):
        compare("--base", "HEAD")


def test_words_behind_a_script_are_the_scripts_and_those_behind_recordings_are_ours():
    words = ["compare", "--base", "HEAD", "train.py", "--format", "x"]
    assert arranged(words) == [*words[:3], "--", *words[3:]]
    words = ["compare", "a.qfrun", "b.qfrun", "--format", "json"]
    assert arranged(words) == words
