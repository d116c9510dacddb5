"""What is done with what was proven: shown, kept, written, printed as a patch, undone."""

import io
import subprocess

import pytest

from quickfit.errors import FixError, UsageError
from quickfit.findings import FixClass
from quickfit.fixing import proven, write
from quickfit.fixing.story import Request
from quickfit.fixing.write import Asked
from stories import BATCH, TEXT, outcome, story, write_script

FIXED = TEXT.replace("decode)", "decode, num_parallel_calls=tf.data.AUTOTUNE)")
LARGER = TEXT.replace("32", "256")
MAY, EQUIVALENT = FixClass.MAY_CHANGE_RESULTS, FixClass.EQUIVALENT


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_script(tmp_path)
    return tmp_path


@pytest.fixture
def fix(home, monkeypatch):
    """Let a story be told, and return what was written to stdout and stderr."""

    def run(*outcomes, asked=None, **changes):
        told = story(home, *outcomes, **changes)
        monkeypatch.setattr(write, "told", lambda request, err: told)
        out, err = io.StringIO(), io.StringIO()
        write.fix(Request(), asked or Asked(), out=out, err=err)
        return out.getvalue(), err.getvalue()

    return run


def text(home):
    return (home / "train.py").read_text()


def test_without_a_flag_nothing_is_written_and_the_next_command_is_said(home, fix):
    out, err = fix(outcome(home / "train.py"))
    assert text(home) == TEXT
    assert out.endswith("\nTo write what was proven:\n    quickfit fix --apply\n")
    assert err == ""


def test_the_next_command_names_the_classes_it_needs(home, fix):
    out, _ = fix(outcome(home / "train.py", BATCH, kind=MAY))
    assert out.endswith("    quickfit fix --apply --accept may-change-results\n")


def test_where_nothing_was_proven_there_is_no_next_command(home, fix):
    out, _ = fix(outcome(home / "train.py", why="gains less than 1.05×"))
    assert "To write what was proven" not in out
    assert not (home / ".quickfit").exists()


def test_apply_writes_what_was_proven_and_undo_puts_it_back(home, fix):
    out, _ = fix(outcome(home / "train.py"), asked=Asked(applies=True))
    assert text(home) == FIXED
    assert out.endswith(
        "\nWritten: sequential-map in train.py\nAs it was before: quickfit fix --undo\n"
    )
    shown = io.StringIO()
    write.undo(home, shown)
    assert shown.getvalue().startswith("diff --git a/train.py b/train.py\n")
    assert shown.getvalue().endswith("\nUndone: sequential-map in train.py\n")
    assert text(home) == TEXT


def test_what_was_not_proven_is_not_written(home, fix):
    out, _ = fix(outcome(home / "train.py", why="other results"), asked=Asked(applies=True))
    assert text(home) == TEXT
    assert "Nothing was written: no fix was proven" in out


def test_of_two_places_of_one_cause_only_the_proven_one_is_written(home, fix):
    good = outcome(home / "train.py")
    bad = outcome(home / "train.py", BATCH, why="the results are others")
    fix(bad, good, asked=Asked(applies=True))
    assert text(home) == FIXED


def test_force_writes_what_was_not_proven(home, fix):
    bad = outcome(home / "train.py", why="gains less than 1.05×")
    fix(bad, asked=Asked(applies=True, forces=True))
    assert text(home) == FIXED


def test_force_does_not_write_a_class_that_was_not_asked_for(home, fix):
    bad = outcome(home / "train.py", BATCH, kind=MAY, why="not tried")
    fix(bad, asked=Asked(applies=True, forces=True))
    assert text(home) == TEXT


@pytest.mark.parametrize("kind", [MAY, EQUIVALENT])
def test_a_class_that_may_change_results_is_written_only_when_it_is_accepted(home, fix, kind):
    one = outcome(home / "train.py", BATCH, kind=kind)
    fix(one, asked=Asked(applies=True))
    assert text(home) == TEXT
    fix(one, asked=Asked(applies=True, accepted=frozenset({kind.value})))
    assert text(home) == LARGER


def test_repairs_need_no_flag(home, fix):
    fix(outcome(home / "train.py", kind=FixClass.REPAIRS), asked=Asked(applies=True))
    assert text(home) == FIXED


def test_of_two_that_touch_the_same_text_the_better_one_is_written(home, fix):
    other = ((2, 12), (2, 18), "parse")
    second = outcome(home / "train.py", other, cause="python-in-map")
    first = outcome(home / "train.py", ((2, 12), (2, 18), "fast"))
    fix(first, second, asked=Asked(applies=True))
    assert text(home) == TEXT.replace("decode", "fast")


def test_several_are_written_together(home, fix):
    second = outcome(home / "train.py", BATCH, cause="tiny-batch")
    out, _ = fix(outcome(home / "train.py"), second, asked=Asked(applies=True))
    assert text(home) == FIXED.replace("32", "256")
    assert "Written: sequential-map, tiny-batch in train.py" in out


def test_a_file_that_changed_while_it_was_proven_is_left_alone(home, fix, monkeypatch):
    one = story(home, outcome(home / "train.py"))
    write_script(home, TEXT + "# mine\n")
    monkeypatch.setattr(write, "told", lambda request, err: one)
    with pytest.raises(FixError, match=r"train\.py: has changed since the fix was proven"):
        write.fix(Request(), Asked(applies=True), out=io.StringIO(), err=io.StringIO())
    assert text(home).endswith("# mine\n")


def test_diff_prints_the_patch_alone_and_git_takes_it(home, fix):
    out, err = fix(outcome(home / "train.py"), asked=Asked(prints_patch=True))
    assert out.startswith("diff --git a/train.py b/train.py\n")
    assert "quickfit fix: train.py" in err
    subprocess.run(["git", "init", "-q"], cwd=home, check=True)
    subprocess.run(["git", "apply"], cwd=home, input=out.encode(), check=True)
    assert text(home) == FIXED


def test_diff_of_nothing_is_empty(home, fix):
    out, _ = fix(outcome(home / "train.py", why="no"), asked=Asked(prints_patch=True))
    assert out == ""


def test_diff_goes_out_as_bytes_where_it_can(home, monkeypatch):
    (home / "train.py").write_bytes("# coding: latin-1\n# ü\na = 1\n".encode("latin-1"))
    told = story(home, outcome(home / "train.py", ((3, 4), (3, 5), "2")))
    monkeypatch.setattr(write, "told", lambda request, err: told)
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    write.fix(Request(), Asked(prints_patch=True), out=out, err=io.StringIO())
    assert "# ü\n".encode("latin-1") in raw.getvalue()


def test_an_interrupt_shows_and_keeps_what_is_known_and_writes_nothing(home, fix):
    with pytest.raises(KeyboardInterrupt):
        fix(outcome(home / "train.py"), asked=Asked(applies=True), is_interrupted=True)
    assert text(home) == TEXT
    assert [entry.cause for entry in proven.read(home)] == ["sequential-map"]


# -- what was proven last -----------------------------------------------------------------------


def apply_last(home, **asked):
    out = io.StringIO()
    write.apply_last(home, Asked(applies=True, **asked), out)
    return out.getvalue()


def test_what_was_proven_last_can_be_written_later(home, fix):
    fix(outcome(home / "train.py"))
    assert "Written: sequential-map in train.py" in apply_last(home)
    assert text(home) == FIXED


def test_what_was_proven_last_needs_its_flag(home, fix):
    fix(outcome(home / "train.py", BATCH, kind=MAY))
    with pytest.raises(FixError, match="quickfit fix --apply --accept may-change-results"):
        apply_last(home)
    apply_last(home, accepted=frozenset({"may-change-results"}))
    assert text(home) == LARGER


def test_what_was_proven_last_is_refused_after_the_file_has_changed(home, fix):
    fix(outcome(home / "train.py"))
    write_script(home, TEXT + "# mine\n")
    with pytest.raises(FixError) as caught:
        apply_last(home)
    assert "train.py: has changed since the fix was proven" in str(caught.value)
    assert "Prove it again" in str(caught.value)


def test_where_nothing_was_proven_it_says_so(home):
    with pytest.raises(FixError) as caught:
        apply_last(home)
    assert "nothing was proven here yet" in str(caught.value)
    assert "quickfit fix train.py" in str(caught.value)


def test_a_file_elsewhere_is_named_in_full(home, fix, tmp_path, monkeypatch):
    below = tmp_path / "below"
    below.mkdir()
    one = outcome(home / "train.py")
    told = story(home, one)
    monkeypatch.chdir(below)
    monkeypatch.setattr(write, "told", lambda request, err: told)
    out = io.StringIO()
    write.fix(Request(), Asked(applies=True), out=out, err=io.StringIO())
    assert f"in {home / 'train.py'}\n" in out.getvalue()


def test_a_second_apply_says_that_it_is_written_already(home, fix):
    fix(outcome(home / "train.py"), asked=Asked(applies=True))
    out = io.StringIO()
    write.apply_last(home, Asked(applies=True), out)
    assert out.getvalue() == (
        "Already written: sequential-map\nAs it was before: quickfit fix --undo\n"
    )
    assert text(home) == FIXED


def test_what_was_written_in_part_is_undone_first(home, fix):
    larger = outcome(home / "train.py", BATCH, cause="tiny-batch", kind=MAY)
    fix(outcome(home / "train.py"), larger, asked=Asked(applies=True))
    with pytest.raises(FixError) as caught:
        write.apply_last(home, Asked(applies=True, accepted=frozenset({MAY.value})), io.StringIO())
    assert str(caught.value) == (
        "sequential-map: already written, without tiny-batch. To write all of them at once:\n"
        "    quickfit fix --undo\n    quickfit fix --apply --accept may-change-results"
    )
    assert text(home) == FIXED


def test_apply_and_diff_together_are_refused_before_anything_runs(home):
    asked = Asked(applies=True, prints_patch=True)
    for call in (
        lambda: write.fix(Request(), asked, out=io.StringIO(), err=io.StringIO()),
        lambda: write.apply_last(home, asked, io.StringIO()),
    ):
        with pytest.raises(UsageError, match="fix: --apply and --diff do not go together"):
            call()


def test_with_settings_apply_says_first_which_are_only_shown(home, monkeypatch):
    monkeypatch.setattr(write, "told", lambda request, err: story(home))
    said = []
    for tunes in (True, False):
        err = io.StringIO()
        write.fix(Request(tunes=tunes), Asked(applies=True), out=io.StringIO(), err=err)
        said.append("settings of class equivalent or may-change-results" in err.getvalue())
    assert said == [True, False]


def test_without_a_key_nothing_is_tried_because_nothing_could_be_undone(home, fix, monkeypatch):
    (home / "state").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    with pytest.raises(FixError, match="the key that records of fixes are sealed with") as caught:
        fix(outcome(home / "train.py"), asked=Asked(applies=True))
    assert "XDG_STATE_HOME=FOLDER" in str(caught.value)
    assert text(home) == TEXT
