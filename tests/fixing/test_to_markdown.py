"""What became of fixes and settings as Markdown."""

import io
from dataclasses import replace

import pytest

from quickfit.diagnosis.candidates import Unrecognised
from quickfit.errors import UsageError
from quickfit.fixing import write
from quickfit.fixing.story import Request
from quickfit.fixing.to_markdown import advice_markdown, story_markdown
from quickfit.launch.target import Target
from stories import outcome, story, write_script

from report.builders import generator_finding
from tuning.advice.advice_builder import NOT_TRIED, SLOWER, XLA, advice


@pytest.fixture
def home(tmp_path):
    write_script(tmp_path)
    return tmp_path


def test_an_accepted_fix_has_its_row_and_its_diff(home):
    text = story_markdown(story(home, outcome(home / "train.py")))
    assert text.startswith("### quickfit fix: `train.py`\n\n**slow: 61 % of the training time")
    assert "\n| change | predicted | measured | results | verdict |\n| --- |" in text
    assert "\n| sequential-map<br>train.py:" in text
    assert "<br>same-results | 1.40–2.50× | 1.85×" in text
    assert "\n```diff\ndiff --git a/train.py b/train.py\n" in text
    assert "\n+ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)\n" in text
    assert text.endswith("```\n")


def test_what_was_not_accepted_says_why_and_shows_no_diff(home):
    one = outcome(home / "train.py", why="gains less than 1.05×", ratios=(1.0, 1.01))
    text = story_markdown(story(home, one))
    assert "- sequential-map: not accepted: gains less than 1.05×\n" in text
    assert "```" not in text


def test_what_has_no_edit_says_why_with_an_example(home):
    one = Unrecognised(generator_finding(), "its `yield` is in a loop that ends early")
    text = story_markdown(story(home, without=[one]))
    assert ": no edit was made\n\nits `yield` is in a loop that ends early\n" in text
    assert "\n```python\n" in text


def test_text_of_the_user_is_no_markup(home):
    told = story(home, outcome(home / "train.py"))
    told.diagnosis = replace(told.diagnosis, headline="<img src=x> @all ``` \x1b[31m")
    shown = story_markdown(told)
    assert "<img" not in shown
    assert "@all" not in shown
    assert "\x1b" not in shown


def test_settings_are_a_table_with_the_lines_to_add():
    text = advice_markdown(advice(XLA, SLOWER, NOT_TRIED, took_s=150.0))
    assert text.startswith("### quickfit tune: train:build\n\nA CPU, 2 cores, no GPU\n")
    assert "\n| change | measured |" in text
    assert "\n| as it is |" in text
    assert "\n```python\nmodel.compile(..., jit_compile=True)\n```\n" in text
    assert text.endswith("The trials took 2 min 30 s.\n")


@pytest.mark.parametrize("format", ["markdown", "json"])
def test_only_the_answer_is_on_stdout(home, monkeypatch, format):
    told = story(home, outcome(home / "train.py"))
    monkeypatch.setattr(write, "told", lambda request, err: told)
    out, err = io.StringIO(), io.StringIO()
    request = Request(Target(script="train.py"))
    write.fix(request, write.Asked(), out=out, err=err, format=format)
    assert out.getvalue().startswith("### quickfit" if format == "markdown" else "{\n")
    assert "To write what was proven" in err.getvalue()


def test_json_and_a_patch_are_two_answers(home):
    with pytest.raises(UsageError, match="--diff and --format json do not go together"):
        write.fix(
            Request(), write.Asked(prints_patch=True), out=io.StringIO(), err=io.StringIO(),
            format="json",
        )  # fmt: skip
