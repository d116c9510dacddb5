"""The whole command in this process: every option, exit codes, fixes, and what is said where."""

import json
import subprocess
from pathlib import Path

import pytest

from checking.cases import BROKEN, CLEAN, REPAIRED, SHUFFLED, notebook, spotted
from quickfit.checking import command, scanning
from quickfit.findings import Effect, FixClass

DIFF = """\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 import tensorflow as tf
-ds = tf.data.Dataset.range(9).shuffle(tf.data.AUTOTUNE)
+ds = tf.data.Dataset.range(9).shuffle(1000)
"""
FINDING = "a.py:2:31  crashes  shuffle-autotune\n"


def write(**files):
    for name, text in files.items():
        Path(f"{name}.py").write_text(text)


def settings(text):
    Path("pyproject.toml").write_text(f"[tool.quickfit]\n{text}\n")


@pytest.fixture
def scans(monkeypatch):
    """Let findings be told that no cause has."""

    def scan(*makers):
        monkeypatch.setattr(
            scanning, "scanned", lambda m, p: [maker(m) for maker in makers if "ds" in m.text]
        )

    return scan


# -- what is checked, and how it ends -------------------------------------------------------


def test_a_folder_with_findings_ends_with_one(check):
    write(a=SHUFFLED, b=CLEAN)
    done = check()
    assert done.code == 1
    assert done.out.startswith(FINDING)
    assert done.out.endswith(
        "1 finding in 1 of 2 files (1 crashes); 1 can be fixed: quickfit check --fix\n"
    )
    assert done.err == ""


def test_a_clean_folder_ends_with_zero(check):
    write(a=CLEAN)
    done = check(".")
    assert (done.code, done.out, done.err) == (0, "no findings in 1 file\n", "")


def test_a_file_that_does_not_parse_is_reported_and_the_others_go_on(check):
    write(a=SHUFFLED, b=BROKEN)
    done = check()
    assert done.code == 2
    assert FINDING in done.out
    assert "b.py:1:5  error\n   invalid syntax\n   1 | x = = 1\n     |     ^\n" in done.out
    assert check("a.py").code == 1
    assert check("b.py").code == 2


def test_no_files_are_a_warning_and_no_error(check):
    done = check()
    assert done.code == 0
    assert done.err == (
        "quickfit: warning: no Python files and no notebooks found below the given paths.\n"
    )


def test_a_path_that_does_not_exist_is_an_error(check):
    done = check("gone.py")
    assert done.code == 2
    assert "check: gone.py: there is no such file or folder" in done.err
    assert done.out == ""


def test_a_notebook_is_checked(check):
    lines = SHUFFLED.splitlines()
    Path("a.ipynb").write_bytes(notebook(lines[0], "!ls\n" + lines[1]))
    done = check("a.ipynb")
    assert done.code == 1
    assert done.out.startswith("a.ipynb:cell 2:2:31  crashes  shuffle-autotune\n")


def test_findings_need_not_fail_but_errors_do(check):
    write(a=SHUFFLED)
    assert check("--exit-zero").code == 0
    write(b=BROKEN)
    assert check("--exit-zero").code == 2


# -- stdin ----------------------------------------------------------------------------------


def test_text_from_stdin(check):
    done = check("-", stdin=SHUFFLED.encode())
    assert done.code == 1
    assert done.out.startswith("<stdin>:2:31  crashes")


def test_text_from_stdin_has_a_name(check):
    done = check("-", "--stdin-filename", "src/train.py", stdin=SHUFFLED.encode())
    assert done.out.startswith("src/train.py:2:31")
    data = notebook(*SHUFFLED.splitlines())
    assert check("-", "--stdin-filename", "a.ipynb", stdin=data).out.startswith("a.ipynb:cell 2:1")


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x = = 1", b"\0"])
def test_text_from_stdin_that_cannot_be_read(check, data):
    done = check("-", stdin=data)
    assert done.code == 2
    assert "<stdin>" in done.out


def test_the_settings_of_its_name_count_for_stdin(check):
    Path("src").mkdir()
    Path("src/pyproject.toml").write_text('[tool.quickfit]\nignore = ["shuffle-autotune"]\n')
    assert check("-", "--stdin-filename", "src/a.py", stdin=SHUFFLED.encode()).code == 0
    assert check("-", stdin=SHUFFLED.encode()).code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-", "a.py"), "stands alone"),
        (("-", "--fix"), "text from stdin cannot be fixed"),
        (("-", "--diff"), "text from stdin cannot be fixed"),
        (("--config", "a.toml", "--isolated"), "contradict each other"),
        (("--jobs", "-1"), "--jobs -1: 1 or more processes"),
        (("--config", "gone.toml"), "gone.toml: cannot read this file"),
        (("--select", "nope-nope"), "--select: 'nope-nope' is not the name of a cause"),
        (("--ignore", "shufle-autotune"), "Did you mean: shuffle-autotune"),
        (("--statistics", "--format", "sarif"), "--statistics goes with --format text or json"),
        (("--output", "gone/a.json"), "its folder does not exist"),
        (("--format", "xml"), "xml"),
        (("--accept", "everything"), "everything"),
        (("--no-such-option",), "--no-such-option"),
    ],
)
def test_what_cannot_be_asked_for_is_said(check, words, said):
    write(a=SHUFFLED)
    done = check(*words)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


# -- which causes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--select", "shuffle-autotune"), 1),
        (("--select", "predict-in-loop,shuffle-autotune"), 1),
        (("--select", "predict-in-loop", "--select", "shuffle-autotune"), 1),
        (("--select", "predict-in-loop"), 0),
        (("--select", "ALL"), 1),
        (("--ignore", "shuffle-autotune"), 0),
        (("--ignore", "predict-in-loop"), 1),
        (("--select", "ALL", "--ignore", "ALL"), 0),
    ],
)
def test_causes_are_selected_and_ignored(check, words, code):
    write(a=SHUFFLED)
    assert check(*words).code == code


def test_a_cause_that_only_a_run_shows_is_said(check):
    write(a=SHUFFLED)
    done = check("--select", "busy-machine")
    assert done.code == 0
    assert "busy-machine shows only while a script runs: quickfit run train.py" in done.err


def test_hints_are_told_when_asked_for(check, scans):
    scans(lambda m: spotted(m.path, m.text, "ds", effect=Effect.SLOW, is_hint=True, becomes="d"))
    write(a=SHUFFLED)
    done = check()
    assert done.code == 0
    assert "1 hint is not shown (only sometimes slow): --hints" in done.out
    assert check("--hints").code == 1
    assert check("--hints", "--fix").code == 1
    assert Path("a.py").read_text() == SHUFFLED
    settings("hints = true")
    assert check().code == 1


def test_comments_silence_and_wrong_ones_are_said_once(check):
    write(a=SHUFFLED.replace("TUNE)", "TUNE)  # quickfit: ignore[shuffle-autotune]"))
    assert check().code == 0
    wrong = SHUFFLED.replace("TUNE)", "TUNE)  # quickfit: ignore[shufle-autotune]")
    write(a=wrong)
    done = check()
    assert done.code == 1
    assert done.err.count("shufle-autotune` in") == 1
    assert done.err.startswith("quickfit: a.py:2: ")


# -- settings ---------------------------------------------------------------------------------


def test_settings_of_the_project_count(check):
    write(a=SHUFFLED)
    settings('ignore = ["shuffle-autotune"]')
    assert check().code == 0
    assert check("--isolated").code == 1
    assert check("--select", "shuffle-autotune").code == 1


def test_settings_are_found_above_the_paths(check, home, monkeypatch):
    settings('ignore = ["shuffle-autotune"]')
    Path("src/deep").mkdir(parents=True)
    Path("src/deep/a.py").write_text(SHUFFLED)
    assert check("src/deep/a.py").code == 0
    monkeypatch.chdir("/")
    assert check(home / "src").code == 0


def test_settings_from_a_named_file(check):
    write(a=SHUFFLED)
    Path("other.toml").write_text('[tool.quickfit]\nignore = ["shuffle-autotune"]\n')
    assert check("--config", "other.toml").code == 0


def test_excluded_files_are_not_read_unless_they_are_named(check):
    write(a=SHUFFLED)
    Path("old").mkdir()
    Path("old/b.py").write_text(BROKEN)
    settings('exclude = ["old", "a.*"]')
    assert check().err.startswith("quickfit: warning: no Python files")
    assert check("a.py").code == 1
    assert check("old").err.startswith("quickfit: warning: no Python files")


def test_causes_are_ignored_per_file(check):
    write(a=SHUFFLED, b=SHUFFLED)
    settings('per-file-ignores = {"a.py" = ["shuffle-autotune"]}')
    done = check()
    assert "a.py" not in done.out
    assert "b.py:2:31" in done.out


def test_the_format_of_the_settings_is_used_unless_another_is_asked_for(check):
    write(a=SHUFFLED)
    settings('format = "github"')
    assert check().out.startswith("::error file=a.py,line=2")
    assert check("--format", "text").out.startswith(FINDING)


def test_wrong_settings_are_an_error(check):
    settings("selct = []")
    done = check()
    assert done.code == 2
    assert "pyproject.toml: tool.quickfit.selct: there is no such setting.\nDid you" in done.err


# -- formats and files ------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["text", "json", "sarif", "github"])
def test_every_format_goes_to_stdout_or_to_a_file(check, format):
    write(a=SHUFFLED, b=BROKEN)
    shown = check("--format", format)
    assert shown.code == 2
    done = check("-f", format, "-o", "out.txt")
    assert (done.code, done.out) == (2, "")
    assert Path("out.txt").read_text() == shown.out
    assert done.err == (
        "quickfit: 1 finding in 1 of 2 files (1 crashes); 1 file with errors; written to out.txt\n"
    )


def test_json_and_sarif_are_json(check):
    write(a=SHUFFLED)
    assert json.loads(check("--format", "json").out)["findings"][0]["cause"] == "shuffle-autotune"
    assert json.loads(check("--format", "sarif").out)["version"] == "2.1.0"


def test_statistics(check):
    write(a=SHUFFLED, b=SHUFFLED, c=CLEAN)
    done = check("--statistics")
    assert done.code == 1
    assert done.out == (
        "2  shuffle-autotune  2 fixable  A shuffle is given AUTOTUNE\n"
        "2 findings in 2 of 3 files (2 crash); 2 can be fixed: quickfit check --fix\n"
    )
    report = json.loads(check("--statistics", "--format", "json").out)
    assert report["statistics"] == [{"cause": "shuffle-autotune", "count": 2, "fixable": 2}]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_answer_does_not_depend_on_the_number_of_processes(check):
    for number in range(9):
        write(**{f"f{number}": [SHUFFLED, CLEAN, BROKEN][number % 3]})
    assert check("--jobs", "2") == check("--jobs", "1") == check()


# -- fixes ------------------------------------------------------------------------------------


def test_a_fix_is_written_and_can_be_undone(check, home):
    write(a=SHUFFLED, b=CLEAN)
    done = check("--fix")
    assert done.code == 0
    assert Path("a.py").read_text() == REPAIRED
    assert done.out == "no findings in 2 files\n"
    assert done.err == (
        f"{DIFF}quickfit: fixed in a.py: 1 finding (shuffle-autotune)\n"
        "quickfit: as it was before: quickfit fix --undo\n"
    )
    from quickfit.code.file_changes import undo

    title, files = undo(home=home)
    assert (title, files) == ("check --fix: shuffle-autotune", [str(home / "a.py")])
    assert Path("a.py").read_text() == SHUFFLED


def test_many_fixed_files_are_counted(check):
    write(a=SHUFFLED, b=SHUFFLED, c=SHUFFLED, d=SHUFFLED)
    done = check("--fix")
    assert "fixed in 4 files: 4 findings (shuffle-autotune ×4)\n" in done.err


def test_what_remains_decides_how_it_ends(check):
    write(a=SHUFFLED, b=BROKEN)
    done = check("--fix")
    assert done.code == 2
    assert Path("a.py").read_text() == REPAIRED
    assert "b.py:1:5  error" in done.out


def test_only_selected_and_loud_findings_are_fixed(check):
    silent = SHUFFLED.replace("TUNE)", "TUNE)  # quickfit: ignore")
    write(a=SHUFFLED, b=silent)
    check("--fix", "--ignore", "shuffle-autotune")
    assert Path("a.py").read_text() == SHUFFLED
    check("--fix")
    assert Path("b.py").read_text() == silent


def test_nothing_to_fix_writes_nothing(check):
    write(a=CLEAN)
    done = check("--fix")
    assert (done.code, done.err) == (0, "")
    assert not Path(".quickfit").exists()


@pytest.mark.parametrize("kind", [FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS])
def test_other_classes_are_written_only_where_they_are_accepted(check, scans, kind):
    scans(lambda m: spotted(m.path, m.text, "ds", becomes="xx", kind=kind))
    write(a=SHUFFLED)
    done = check("--fix")
    assert (done.code, Path("a.py").read_text()) == (1, SHUFFLED)
    assert f"1 can be fixed: quickfit check --fix --accept {kind}" in done.out
    assert check("--fix", "--accept", kind.value).code == 0
    assert (
        Path("a.py")
        .read_text()
        .endswith("\nxx = tf.data.Dataset.range(9).shuffle(tf.data.AUTOTUNE)\n")
    )


def test_a_patch_is_printed_and_nothing_is_changed(check, home):
    write(a=SHUFFLED, b=CLEAN)
    done = check("--diff")
    assert done.code == 1
    assert done.out.startswith("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@")
    assert done.err == (
        "quickfit: 1 finding (shuffle-autotune) would be fixed."
        " What would remain: no findings in 2 files.\n"
    )
    assert Path("a.py").read_text() == SHUFFLED
    assert not Path(".quickfit").exists()
    subprocess.run(["git", "apply"], input=done.out.encode(), cwd=home, check=True)
    assert Path("a.py").read_text() == REPAIRED


def test_a_patch_of_nothing_is_empty(check):
    write(a=CLEAN)
    done = check("--diff")
    assert (done.code, done.out) == (0, "")
    assert done.err == "quickfit: nothing would change.\n"


def test_a_patch_does_not_hide_files_with_errors(check):
    write(a=SHUFFLED, b=BROKEN)
    done = check("--diff")
    assert done.code == 2
    assert "b.py:1:5: invalid syntax" in done.err


def test_a_patch_wins_over_a_fix_and_goes_to_a_file(check):
    write(a=SHUFFLED)
    done = check("--fix", "--diff", "--output", "a.patch")
    assert (done.code, done.out) == (1, "")
    assert Path("a.patch").read_bytes().startswith(b"diff --git")
    assert Path("a.py").read_text() == SHUFFLED
    assert check("--diff", "--exit-zero").code == 0


def test_a_notebook_is_fixed_in_place(check):
    data = notebook(*SHUFFLED.splitlines())
    Path("a.ipynb").write_bytes(data)
    assert check("--fix").code == 0
    assert Path("a.ipynb").read_bytes() == data.replace(b"tf.data.AUTOTUNE", b"1000")


def test_fixes_are_reported_in_json_too(check):
    write(a=SHUFFLED)
    report = json.loads(check("--fix", "--format", "json").out)
    assert report["findings"] == []
    assert [each["cause"] for each in report["fixed"]] == ["shuffle-autotune"]


def test_a_fix_that_cannot_be_written_is_an_error_and_changes_nothing(check, monkeypatch):
    from quickfit.errors import FixError

    def fails(*args, **kwargs):
        raise FixError("a.py: cannot write the fix.\nTake the patch: quickfit fix --diff")

    monkeypatch.setattr(command.file_changes, "write", fails)
    write(a=SHUFFLED)
    done = check("--fix")
    assert done.code == 2
    assert done.err.startswith(DIFF)  # shown before anything is written
    assert "a.py: cannot write the fix.\nTake the patch: quickfit check --diff" in done.err
    assert Path("a.py").read_text() == SHUFFLED


def test_a_file_that_is_fixed_keeps_its_mode(check):
    write(a=SHUFFLED)
    Path("a.py").chmod(0o640)
    assert check("--fix").code == 0
    assert Path("a.py").stat().st_mode & 0o777 == 0o640


def test_a_file_with_two_names_is_not_fixed(check):
    write(a=SHUFFLED)
    Path("b.txt").hardlink_to("a.py")
    done = check("--fix")
    assert "this file has 2 names (hard links)" in done.err
    assert "diff --git" not in done.err
    assert Path("a.py").read_text() == SHUFFLED


def test_a_line_edited_meanwhile_is_kept(check, monkeypatch):
    write(a=SHUFFLED)
    checked = command.check_all

    def slow(*args, **kwargs):
        found = checked(*args, **kwargs)
        Path("a.py").write_text(SHUFFLED + "# edited\n")
        return found

    monkeypatch.setattr(command, "check_all", slow)
    done = check("--fix")
    assert done.code == 1
    assert "has changed since it was checked" in done.err
    assert Path("a.py").read_text() == SHUFFLED + "# edited\n"
