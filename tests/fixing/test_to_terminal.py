"""What became of the candidates, as a person reads it."""

import io
from dataclasses import replace

import pytest

from quickfit.diagnosis.candidates import Unrecognised
from quickfit.findings import FixClass, Location
from quickfit.fixing.sources import Sources
from quickfit.fixing.to_terminal import WIDTH, write_story
from quickfit.launch.target import Target
from stories import BATCH, TEXT, outcome, story, write_script

from report.builders import generator_finding


@pytest.fixture
def home(tmp_path):
    write_script(tmp_path)
    return tmp_path


def shown(told, *, color=False):
    stream = io.StringIO()
    write_story(told, stream, color=color)
    return stream.getvalue()


def cells(text):
    """Return the text with every run of white space made one space."""
    return " ".join(text.split())


def test_an_accepted_fix_is_shown_with_all_that_is_known(home):
    text = shown(story(home, outcome(home / "train.py")))
    assert text.startswith("\nquickfit fix: train.py\nslow: 61 % of the training time")
    table = cells(text)
    assert "change predicted measured results verdict" in table
    for part in ("1.40–2.50×", "1.85×", "3 pairs", "bit-equal", "same-results", "accepted"):
        assert part in table
    assert "not accepted" not in table
    assert "The proof took 62 s." in text


def test_the_change_is_shown_as_a_diff(home):
    text = shown(story(home, outcome(home / "train.py")))
    assert "sequential-map: Run the map on several threads (accepted)\n" in text
    assert "--- a/train.py\n+++ b/train.py\n" in text
    assert "\n-ds = ds.map(decode)\n" in text
    assert "\n+ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)\n" in text


def test_what_was_not_accepted_says_why(home):
    one = outcome(home / "train.py", why="gains less than 1.05×", ratios=(1.0, 1.01))
    table = cells(shown(story(home, one)))
    assert "not accepted:" in table
    assert "gains less" in table
    assert "(not accepted)" in table


def test_what_was_not_measured_has_a_dash(home):
    one = outcome(home / "train.py", why="not tried", ratios=(), results="", predicted=None)
    other = outcome(home / "train.py", BATCH, cause="tiny-batch")
    text = shown(story(home, one, other))
    row = next(line for line in text.splitlines() if "sequential-map" in line)
    assert row.split()[1:4] == ["–", "–", "–"]


def test_one_pair_has_no_interval(home):
    one = outcome(home / "train.py", why="the time was used up", ratios=(1.5,))
    assert "1.50× (1 pair)" in cells(shown(story(home, one)))


def test_all_together_have_a_row_of_their_own(home):
    second = outcome(home / "train.py", BATCH, cause="tiny-batch", kind=FixClass.EQUIVALENT)
    both = outcome(home / "train.py", cause="sequential-map + tiny-batch", ratios=(2.4, 2.5, 2.6))
    told = story(home, outcome(home / "train.py"), second, together=both)
    text = shown(told)
    assert text.count("all together") == 1
    assert "2.50×" in text


def test_a_finding_without_a_place_keeps_its_name(home):
    one = replace(outcome(home / "train.py"), place="")
    text = shown(story(home, one))
    assert "all together" not in text


def test_advice_is_given_where_nothing_was_recognised(home):
    text = shown(story(home, without=[Unrecognised(generator_finding())]))
    assert "py-generator-input at train.py:88: no edit was made" in text
    assert "the code was not recognised with certainty; this is what to do" in text
    assert generator_finding().fix.title in text


def test_advice_says_what_was_missing(home):
    one = Unrecognised(generator_finding(), "needs the probe tf_data")
    assert "needs the probe tf_data" in shown(story(home, without=[one]))


def test_advice_says_that_the_file_has_changed(home):
    finding = generator_finding()
    told = story(home, without=[Unrecognised(finding)], sources=Sources({}, (finding.where.file,)))
    assert "the file has changed since the run" in shown(told)


def test_what_the_machine_does_is_nobodys_edit(home):
    finding = generator_finding(is_of_machine=True)
    assert "this is not the script's doing" in shown(story(home, without=[Unrecognised(finding)]))


def test_an_interrupt_is_said(home):
    text = shown(story(home, outcome(home / "train.py"), is_interrupted=True))
    assert "Interrupted: this is what was known by then." in text


def test_where_nothing_was_found_it_says_so(home):
    assert "Nothing was found that a fix would help." in shown(story(home))


def test_a_note_stands_with_its_change(home):
    one = outcome(home / "train.py")
    one = replace(one, change=replace(one.change, note="Needs 2 GB of memory."))
    assert "Needs 2 GB of memory." in shown(story(home, one))


def test_text_of_the_user_is_no_markup(home):
    write_script(home, "x = a[bold]\n" + TEXT.partition("\n")[2])
    text = shown(story(home, outcome(home / "train.py"), target=Target(script="[red]x[/red].py")))
    assert "quickfit fix: " in text
    assert " x = a[bold]\n" in text


def test_without_color_there_are_no_escapes_and_lines_fit(home):
    text = shown(story(home, outcome(home / "train.py", why="x" * 150)))
    assert "\x1b" not in text
    table = text.partition("quickfit fix")[2].partition("\nsequential-map: ")[0]
    assert all(len(line) <= WIDTH for line in table.splitlines())


def test_a_stream_that_takes_ascii_alone_gets_ascii(home):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    one = outcome(home / "train.py", why="gains less than 1.05×")
    write_story(story(home, one), stream, color=False)
    stream.flush()
    assert b"sequential-map" in raw.getvalue()


def test_last_words_of_a_script_cannot_steer_the_terminal(home):
    one = outcome(home / "train.py", why="ended: \x1b[2J\x1b]0;title\x07")
    text = shown(story(home, one))
    assert "\x1b" not in text
    assert "\\x1b" in text


def test_on_a_terminal_there_is_color(home):
    assert "\x1b[32m+ds = ds.map" in shown(story(home, outcome(home / "train.py")), color=True)


def test_a_place_in_a_notebook_is_named_by_its_cell(home):
    where = Location("<ipython-input-3>", 2, "", "", "cell 3")
    finding = generator_finding()
    one = Unrecognised(replace(finding, where=where))
    assert "at cell 3, line 2: no edit" in shown(story(home, without=[one]))


def test_a_setting_that_is_not_proven_is_one_line_without_a_diff(home):
    one = outcome(
        home / "train.py", BATCH, cause="batch 256 (×8)", kind=FixClass.MAY_CHANGE_RESULTS,
        why="not tried", ratios=(), results="", predicted=None,
    )  # fmt: skip
    text = shown(story(home, one))
    assert "\nSettings that are not proven:\nbatch 256 (×8): Run the map on several thr" in text
    assert "--- a/train.py" not in text
    accepted = outcome(home / "train.py", BATCH, cause="batch 256 (×8)")
    assert "--- a/train.py" in shown(story(home, accepted))


def test_a_class_is_never_broken(home):
    one = outcome(
        home / "train.py", BATCH, cause="input-pipeline-of-many-small-files and a long name",
        kind=FixClass.MAY_CHANGE_RESULTS, why="the results are others: same rows in an epoch " * 3,
        results="same rows in an epoch (1,024 rows), in another order; losses within 3e-01",
    )  # fmt: skip
    assert "may-change-results" in shown(story(home, one))


def test_what_is_of_the_machine_shows_no_code(home):
    told = story(home, without=[Unrecognised(generator_finding(is_of_machine=True), "")])
    own = story(home, without=[Unrecognised(generator_finding(), "")])
    assert len(shown(told).splitlines()) < len(shown(own).splitlines())
