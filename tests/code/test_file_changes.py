"""Files come back as they were, in whatever encoding and with whatever line ends they have."""

import codecs
import errno
import hashlib
import io
import json
import os
import stat
import subprocess
import sys

import pytest

from quickfit import trust
from quickfit.code import file_changes
from quickfit.code.file_changes import MAX_LINES, SourceFile, patch, read_source, show_patch
from quickfit.errors import FixError
from quickfit.findings import Edit

from launch.sessions import clean_env


def written(tmp_path, data):
    path = tmp_path / "train.py"
    path.write_bytes(data)
    return read_source(str(path))


CASES = {
    "plain": b"a = 1\nb = 2\n",
    "no final newline": b"a = 1\nb = 2",
    "CRLF": b"a = 1\r\nb = 2\r\n",
    "CR": b"a = 1\rb = 2\r",
    "mixed": b"a = 1\r\nb = 2\nc = 3\r",
    "form feed": b"a = 1\n\x0c\nb = 2\n",
    "tabs": b"if 1:\n\ta = 1\n\tb = '\t'\n",
    "UTF-8": "größe = '😀'\nb = 2\n".encode(),
    "UTF-8 with BOM": codecs.BOM_UTF8 + "ü = 1\nb = 2\n".encode(),
    "BOM and cookie": codecs.BOM_UTF8 + b"# -*- coding: utf-8 -*-\nb = 2\n",
    "latin-1": "# -*- coding: latin-1 -*-\nname = 'Jürgen'\n".encode("latin-1"),
    "cp1252 in the second line": "#!/usr/bin/python\n# coding=cp1252\ne = '€'\n".encode("cp1252"),
    "empty": b"",
    "only a comment": b"# nothing",
}


@pytest.mark.parametrize("data", CASES.values(), ids=CASES.keys())
def test_without_an_edit_a_file_comes_back_byte_by_byte(tmp_path, data):
    assert written(tmp_path, data).edited([]) == data


@pytest.mark.parametrize("name", [name for name, data in CASES.items() if b" = 1" in data])
def test_an_edit_leaves_all_other_bytes(tmp_path, name):
    file = written(tmp_path, CASES[name])
    line = next(n for n, text in enumerate(file.text.splitlines(), 1) if " = 1" in text)
    column = file.text.splitlines()[line - 1].index("1")
    edits = [Edit(file.path, (line, column), (line, column + 1), "7")]
    assert file.edited(edits) == CASES[name].replace(b" = 1", b" = 7")


def test_text_is_added_in_the_encoding_of_the_file(tmp_path):
    file = written(tmp_path, "# coding: latin-1\nname = 'Jürgen'; x = f(1)\n".encode("latin-1"))
    column = file.text.splitlines()[1].index("1")
    edits = [Edit(file.path, (2, column), (2, column + 1), "'ö'")]
    assert file.edited(edits) == "# coding: latin-1\nname = 'Jürgen'; x = f('ö')\n".encode(
        "latin-1"
    )


def test_a_byte_order_mark_stays_the_first_thing_in_the_file(tmp_path):
    file = written(tmp_path, codecs.BOM_UTF8 + b"a = 1\n")
    edits = [Edit(file.path, (1, 0), (1, 0), "import os\n")]
    assert file.edited(edits) == codecs.BOM_UTF8 + b"import os\na = 1\n"


def test_edits_of_other_files_are_left_out(tmp_path):
    file = written(tmp_path, b"a = 1\n")
    assert file.edited([Edit("other.py", (1, 0), (1, 1), "b")]) == b"a = 1\n"


def test_the_digest_is_of_the_bytes(tmp_path):
    data = b"a = 1\r\n"
    assert written(tmp_path, data).sha256 == hashlib.sha256(data).hexdigest()


def test_an_edit_that_would_break_the_file_is_refused(tmp_path):
    file = written(tmp_path, b"a = 1\n")
    with pytest.raises(FixError) as caught:
        file.edited([Edit(file.path, (1, 4), (1, 5), "(")])
    assert "train.py: the edited file would not be valid Python" in str(caught.value)
    assert "bug in quickfit" in str(caught.value)


def test_a_fix_that_the_encoding_cannot_hold_is_refused(tmp_path):
    file = written(tmp_path, b"# coding: latin-1\na = '1'\n")
    with pytest.raises(FixError) as caught:
        file.edited([Edit(file.path, (2, 5), (2, 6), "€")])
    assert "cannot be written in the file's encoding (iso-8859-1" in str(caught.value)
    assert "Save the file as UTF-8" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FixError) as caught:
        read_source(str(tmp_path / "gone.py"))
    assert "gone.py: cannot read this file (No such file or directory)" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"a = '\xff'\n", id="not UTF-8"),
        pytest.param(b"# coding: no-such\na = 1\n", id="an encoding nobody knows"),
        pytest.param(codecs.BOM_UTF8 + b"# coding: latin-1\n", id="mark and cookie disagree"),
    ],
)
def test_what_is_no_python_text_is_named(tmp_path, data):
    with pytest.raises(FixError, match=r"train\.py: cannot be read as Python text"):
        written(tmp_path, data)


ENV = clean_env(
    GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull, GIT_CEILING_DIRECTORIES="/"
)


@pytest.fixture
def repo(tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, env=ENV)
    return tmp_path


def changed(folder, **texts):
    """Write files, and return the patch of what they become; names by keyword or in a dict."""
    return changed_files(folder, {f"{name}.py": both for name, both in texts.items()})


def changed_files(folder, texts, base=None):
    files = {}
    for name, (before, after) in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(before)
        files[str(path)] = (read_source(str(path)), after)
    return patch(files, base=base or folder)


def git_apply(folder, text, *options):
    return subprocess.run(
        ["git", "apply", *options], cwd=folder, input=text, capture_output=True, env=ENV
    )


LONG = b"".join(b"x%d = %d\n" % (n, n) for n in range(40))
CASES_PATCH = {
    "plain": (b"a = 1\nb = 2\n", b"a = 1\nb = 3\n"),
    "CRLF": (b"a = 1\r\nb = 2\r\nc = 3\r\n", b"a = 1\r\nb = 7\r\nnew = 1\r\nc = 3\r\n"),
    "CR alone": (b"a = 1\rb = 2\r", b"a = 1\rb = 7\r"),
    "mixed": (b"a = 1\r\nb = 2\nc = 3\rd = 4\n", b"a = 1\r\nb = 7\nc = 3\rd = 4\n"),
    "no final newline": (b"a = 1\nb = 2", b"a = 1\nb = 3"),
    "a final newline is added": (b"a = 1", b"a = 1\nb = 2\n"),
    "a final newline is lost": (b"a = 1\nb = 2\n", b"a = 1"),
    "the last line stays without its end": (b"a = 1\nb = 2\nc", b"a = 7\nb = 2\nc"),
    "far apart": (LONG, LONG.replace(b"x3 ", b"y3 ").replace(b"x35 ", b"y35 ")),
    "form feed": (b"a = 1\n\x0c\nb = 2\n", b"a = 1\n\x0c\nb = 3\n"),
    "line separator": ("a = '\u2028'\nb = 2\n".encode(), "a = '\u2028'\nb = 3\n".encode()),
    "UTF-8": ("ü = '😀'\nb = 2\n".encode(), "ü = '😀'\nö = 2\n".encode()),
    "byte order mark": (codecs.BOM_UTF8 + b"a = 1\nb = 2\n", codecs.BOM_UTF8 + b"a = 7\nb = 2\n"),
    "latin-1": (
        "# coding: latin-1\na = 'ü'\nb = 2\n".encode("latin-1"),
        "# coding: latin-1\na = 'ü'\nb = 'ö'\n".encode("latin-1"),
    ),
    "tabs and spaces at line ends": (b"if a:\n\tb = 1 \n\t\n", b"if a:\n\tb = 2 \n\t\n"),
    "lines that look like a patch": (b"--a\n++b\n-c\n", b"--a\n++b\n-d\n"),
}


@pytest.mark.parametrize(("before", "after"), CASES_PATCH.values(), ids=CASES_PATCH.keys())
def test_git_makes_of_the_file_what_it_becomes(repo, before, after):
    text = changed(repo, train=(before, after))
    assert git_apply(repo, text).returncode == 0
    assert (repo / "train.py").read_bytes() == after


@pytest.mark.parametrize(
    "name",
    [
        *("my train.py", "größe.py", "räder und 😀.py", 'a"b.py', "back\\slash.py", "tab\there.py"),
        *("deep/er/train.py", "a/train.py", "sub folder/ü.py"),
    ],
)
def test_git_finds_files_with_any_name(repo, name):
    text = changed_files(repo, {name: CASES_PATCH["plain"]})
    assert git_apply(repo, text).returncode == 0
    assert (repo / name).read_bytes() == CASES_PATCH["plain"][1]


def test_one_patch_holds_several_files(repo):
    texts = {
        "a.py": CASES_PATCH["CRLF"],
        "ö x.py": CASES_PATCH["no final newline"],
        "d/b.py": CASES_PATCH["latin-1"],
    }
    assert git_apply(repo, changed_files(repo, texts)).returncode == 0
    for name, (_, after) in texts.items():
        assert (repo / name).read_bytes() == after


@pytest.mark.parametrize("name", ["train.py", "models/train.py", "sub/train.py"])
def test_a_patch_made_in_a_folder_below_is_taken_there(repo, name):
    below = repo / "sub"
    text = changed_files(below, {name: CASES_PATCH["plain"]})
    done = git_apply(below, text, "--verbose")
    assert b"Skipped" not in done.stderr
    assert (below / name).read_bytes() == CASES_PATCH["plain"][1]


def test_a_patch_of_files_that_git_does_not_know_is_taken_outside_of_a_repository(tmp_path):
    text = changed(tmp_path, train=CASES_PATCH["plain"])
    assert git_apply(tmp_path, text).returncode == 0
    assert (tmp_path / "train.py").read_bytes() == CASES_PATCH["plain"][1]


def test_git_refuses_when_the_file_has_changed(repo):
    text = changed(repo, train=CASES_PATCH["plain"])
    (repo / "train.py").write_bytes(b"other = 1\n")
    assert git_apply(repo, text).returncode != 0
    assert (repo / "train.py").read_bytes() == b"other = 1\n"


def test_a_file_that_does_not_change_is_left_out(repo):
    assert changed(repo, train=(b"a = 1\n", b"a = 1\n")) == b""


def test_a_file_behind_a_link_is_named_where_it_is(repo):
    (repo / "real").mkdir()
    (repo / "real" / "train.py").write_bytes(CASES_PATCH["plain"][0])
    (repo / "link.py").symlink_to("real/train.py")
    file = read_source(str(repo / "link.py"))
    text = patch({file.path: (file, CASES_PATCH["plain"][1])}, base=repo)
    assert git_apply(repo, text).returncode == 0
    assert (repo / "link.py").is_symlink()
    assert (repo / "real" / "train.py").read_bytes() == CASES_PATCH["plain"][1]


def test_what_is_shown_of_a_long_change_is_its_beginning(tmp_path):
    before = b"".join(b"a = %d\n" % n for n in range(300))
    file = SourceFile(str(tmp_path / "a.py"), before, "utf-8")
    shown = io.StringIO()
    show_patch({file.path: (file, before.replace(b"a", b"b"))}, base=tmp_path, stream=shown)
    lines = shown.getvalue().splitlines()
    assert lines[:3] == ["diff --git a/a.py b/a.py", "--- a/a.py", "+++ b/a.py"]
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == f"… and {4 + 600 - MAX_LINES} more lines in this file"


def test_what_is_shown_cannot_steer_a_terminal(tmp_path):
    file = SourceFile(str(tmp_path / "a.py"), b"a = 1\n", "utf-8")
    shown = io.StringIO()
    show_patch({file.path: (file, b"a = '\x1b[31m'\n")}, base=tmp_path, stream=shown)
    assert "+a = '\\x1b[31m'\n" in shown.getvalue()


BEFORE, AFTER = b"a = 1\r\n", b"a = 2\r\n"


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(BEFORE)
    return path


def files_of(*paths, after=AFTER):
    return {str(path): (read_source(str(path)), after) for path in paths}


def write(home, *paths, title="sequential-map", after=AFTER):
    return file_changes.write(files_of(*paths, after=after), home=home, title=title)


def fixes(home):
    return sorted((home / ".quickfit" / "fixes").glob("*/fix.json"))


def leftovers(folder):
    return [path.name for path in folder.rglob("*quickfit-*")]


def test_a_file_is_written_and_its_original_kept(tmp_path, train):
    saved = write(tmp_path, train)
    assert train.read_bytes() == AFTER
    assert (saved / "0-train.py").read_bytes() == BEFORE
    assert (tmp_path / ".quickfit" / ".gitignore").read_text() == "*\n"
    assert not leftovers(tmp_path)


def test_the_original_is_put_back_and_the_fix_forgotten(tmp_path, train):
    write(tmp_path, train)
    assert file_changes.undo(home=tmp_path) == ("sequential-map", [str(train)])
    assert train.read_bytes() == BEFORE
    assert not fixes(tmp_path)


def test_several_files_are_written_and_put_back(tmp_path, train):
    other = tmp_path / "pkg" / "train.py"
    other.parent.mkdir()
    other.write_bytes(BEFORE)
    write(tmp_path, train, other)
    assert train.read_bytes() == other.read_bytes() == AFTER
    file_changes.undo(home=tmp_path)
    assert train.read_bytes() == other.read_bytes() == BEFORE


def test_fixes_are_undone_one_by_one_the_newest_first(tmp_path, train):
    write(tmp_path, train, title="first")
    write(tmp_path, train, title="second", after=b"a = 3\n")
    assert file_changes.undo(home=tmp_path)[0] == "second"
    assert train.read_bytes() == AFTER
    assert file_changes.undo(home=tmp_path)[0] == "first"
    assert train.read_bytes() == BEFORE


def test_a_mode_stays(tmp_path, train):
    train.chmod(0o751)
    write(tmp_path, train)
    assert stat.S_IMODE(train.stat().st_mode) == 0o751
    file_changes.undo(home=tmp_path)
    assert stat.S_IMODE(train.stat().st_mode) == 0o751


def test_a_link_stays_one(tmp_path, train):
    link = tmp_path / "sub" / "link.py"
    link.parent.mkdir()
    link.symlink_to("../train.py")
    write(tmp_path, link)
    assert link.is_symlink()
    assert train.read_bytes() == AFTER
    file_changes.undo(home=tmp_path)
    assert link.is_symlink()
    assert train.read_bytes() == BEFORE


def test_a_file_that_has_changed_since_is_left_alone_with_all_others(tmp_path, train):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    files = files_of(train, other)
    other.write_bytes(b"mine = 1\n")
    with pytest.raises(FixError) as caught:
        file_changes.write(files, home=tmp_path, title="t")
    assert "data.py: has changed since the run that the fix was made from" in str(caught.value)
    assert "Run quickfit fix again" in str(caught.value)
    assert (train.read_bytes(), other.read_bytes()) == (BEFORE, b"mine = 1\n")
    assert not fixes(tmp_path)


def test_a_file_that_is_gone_is_named(tmp_path, train):
    files = files_of(train)
    train.unlink()
    with pytest.raises(FixError, match=r"train\.py: cannot read this file"):
        file_changes.write(files, home=tmp_path, title="t")


def test_a_file_that_may_not_be_written_leaves_all_as_it_was(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: "data.py" not in str(path) and allowed(path, mode)
    )
    with pytest.raises(FixError) as caught:
        write(tmp_path, train, other)
    assert "data.py: cannot write the fix (Permission denied)" in str(caught.value)
    assert "No file was changed" in str(caught.value)
    assert train.read_bytes() == other.read_bytes() == BEFORE
    assert not fixes(tmp_path)
    assert not leftovers(tmp_path)


def test_a_full_disk_leaves_all_as_it_was(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    files = files_of(train, other)
    original = file_changes._write_aside

    def full(path, data):
        if path.name.startswith(".data.py"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        original(path, data)

    monkeypatch.setattr(file_changes, "_write_aside", full)
    with pytest.raises(FixError, match="No space left on device"):
        file_changes.write(files, home=tmp_path, title="t")
    assert train.read_bytes() == other.read_bytes() == BEFORE
    assert not leftovers(tmp_path)


def test_what_was_written_is_put_back_when_the_next_file_cannot_be(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    original, calls = os.replace, []

    def fail_second(source, target):
        if ".quickfit" not in str(target):  # the originals are saved
            calls.append(target)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error", str(target))
        original(source, target)

    monkeypatch.setattr(os, "replace", fail_second)
    with pytest.raises(FixError, match="Input/output error"):
        write(tmp_path, train, other)
    assert len(calls) == 3
    assert train.read_bytes() == other.read_bytes() == BEFORE
    assert not leftovers(tmp_path)


def test_what_cannot_be_put_back_is_said_and_can_be_undone_later(tmp_path, train, monkeypatch):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    original, calls = os.replace, []

    def fail_from_second(source, target):
        if ".quickfit" not in str(target):  # the originals are saved
            calls.append(target)
        if len(calls) > 1:
            raise OSError(errno.EIO, "Input/output error", str(target))
        original(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail_from_second)
        with pytest.raises(FixError) as caught:
            write(tmp_path, train, other)
    assert "cannot write the fix, nor put the file back" in str(caught.value)
    assert "quickfit fix --undo" in str(caught.value)
    assert train.read_bytes() == AFTER
    file_changes.undo(home=tmp_path)
    assert train.read_bytes() == other.read_bytes() == BEFORE


def test_without_a_place_for_the_originals_nothing_is_written(tmp_path, train):
    (tmp_path / ".quickfit").write_text("a file where a folder should be")
    with pytest.raises(FixError) as caught:
        write(tmp_path, train)
    assert "cannot save the original files" in str(caught.value)
    assert "nothing was changed" in str(caught.value)
    assert train.read_bytes() == BEFORE


KILLED = """
import os, signal, sys
from pathlib import Path
from quickfit.code import file_changes as apply
from quickfit.code.file_changes import read_source
original = os.replace
def replace(source, target):
    original(source, target)
    if ".quickfit" not in str(target):
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
names = ["train.py", "data.py"]
files = {str(Path(name).resolve()): (read_source(str(Path(name).resolve())), b"a = 2\\r\\n")
         for name in names}
apply.write(files, home=Path.cwd(), title="cut short")
"""


def test_a_kill_between_two_files_can_be_undone(tmp_path, train):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path)
    assert done.returncode == -9
    assert (train.read_bytes(), other.read_bytes()) == (AFTER, BEFORE)
    assert file_changes.undo(home=tmp_path)[0] == "cut short"
    assert train.read_bytes() == other.read_bytes() == BEFORE


def test_undo_is_refused_when_the_user_has_edited_the_file_again(tmp_path, train):
    saved = write(tmp_path, train)
    train.write_bytes(b"mine = 3\n")
    with pytest.raises(FixError) as caught:
        file_changes.undo(home=tmp_path)
    assert "train.py: has changed since it was fixed, so it is left alone" in str(caught.value)
    assert ".quickfit/fixes" in str(caught.value)
    assert train.read_bytes() == b"mine = 3\n"
    assert (saved / "0-train.py").read_bytes() == BEFORE


def test_undo_puts_nothing_back_when_one_of_the_files_was_edited(tmp_path, train):
    other = tmp_path / "data.py"
    other.write_bytes(BEFORE)
    write(tmp_path, train, other)
    other.write_bytes(b"mine = 3\n")
    with pytest.raises(FixError, match=r"data\.py"):
        file_changes.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


def test_without_a_fix_there_is_nothing_to_undo(tmp_path):
    with pytest.raises(FixError) as caught:
        file_changes.undo(home=tmp_path)
    assert "there is no fix to undo here" in str(caught.value)
    assert "quickfit fix --apply" in str(caught.value)


def test_a_damaged_original_is_not_put_back(tmp_path, train):
    saved = write(tmp_path, train)
    (saved / "0-train.py").write_bytes(b"")
    with pytest.raises(FixError, match="the saved original is damaged; nothing was put back"):
        file_changes.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


def test_a_lost_original_is_named(tmp_path, train):
    saved = write(tmp_path, train)
    (saved / "0-train.py").unlink()
    with pytest.raises(FixError, match=r"0-train\.py: the saved original cannot be read"):
        file_changes.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "{}", '{"files": 1}', '{"files": [1]}', '{"files": [{}]}'),
        '{"files": [{"path": 1, "saved": 2, "before": 3, "after": 4}]}',
        "\0",
    ],
)
def test_a_damaged_manifest_is_said(tmp_path, train, text):
    saved = write(tmp_path, train)
    (saved / "fix.json").write_text(text)
    with pytest.raises(FixError, match=r"fix\.json: (is damaged|.* is not trusted)"):
        file_changes.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


@pytest.mark.parametrize(
    "facts",
    [
        *({}, {"files": 1}, {"files": [1]}, {"files": [{}]}),
        {"files": [{"path": 1, "saved": 2, "before": 3, "after": 4}]},
    ],
)
def test_a_damaged_manifest_with_a_seal_is_said(tmp_path, train, facts):
    saved = write(tmp_path, train)
    record = trust.sealed(facts, purpose="undo a fix", folder=tmp_path)
    (saved / "fix.json").write_text(json.dumps(record))
    with pytest.raises(FixError, match=r"fix\.json: is damaged"):
        file_changes.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


@pytest.mark.parametrize("name", ["../../../secret", "/secret", "..", "", ".", "a/../../x"])
def test_a_hostile_manifest_reads_nothing_from_elsewhere(tmp_path, train, name):
    secret = tmp_path / "secret"
    secret.write_bytes(b"not yours")
    saved = write(tmp_path, train)
    facts = json.loads((saved / "fix.json").read_text())
    facts["files"][0]["saved"] = str(tmp_path) + name if name.startswith("/") else name
    facts["files"][0]["before"] = read_source(str(secret)).sha256
    facts = trust.sealed(facts, purpose="undo a fix", folder=tmp_path)
    (saved / "fix.json").write_text(json.dumps(facts))
    with pytest.raises(FixError):
        file_changes.undo(home=tmp_path)
    assert train.read_bytes() == AFTER


def test_a_manifest_that_names_another_file_changes_it_only_where_that_is_as_it_was(
    tmp_path, train
):
    theirs = tmp_path / "theirs.py"
    theirs.write_bytes(b"theirs = 1\n")
    saved = write(tmp_path, train)
    facts = json.loads((saved / "fix.json").read_text())
    facts["files"][0]["path"] = str(theirs)
    facts = trust.sealed(facts, purpose="undo a fix", folder=tmp_path)
    (saved / "fix.json").write_text(json.dumps(facts))
    with pytest.raises(FixError, match=r"theirs\.py: has changed since it was fixed"):
        file_changes.undo(home=tmp_path)
    assert theirs.read_bytes() == b"theirs = 1\n"


def test_an_undo_that_cannot_write_says_where_the_original_is(tmp_path, train, monkeypatch):
    saved = write(tmp_path, train)

    def fail(source, target):
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FixError) as caught:
        file_changes.undo(home=tmp_path)
    assert "cannot put the original back (No space left on device)" in str(caught.value)
    assert str(saved) in str(caught.value)
    assert train.read_bytes() == AFTER
    assert not leftovers(tmp_path)


def test_a_file_with_several_names_is_refused(tmp_path, train):
    (tmp_path / "other.py").hardlink_to(train)
    with pytest.raises(FixError) as caught:
        write(tmp_path, train)
    assert "this file has 2 names (hard links)" in str(caught.value)
    assert "cp -p" in str(caught.value)
    assert train.read_bytes() == BEFORE
    assert not fixes(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root writes files of others")
def test_owner_and_group_stay_when_root_writes(tmp_path, train):
    os.chown(train, 12345, 54321)
    train.chmod(0o640)
    write(tmp_path, train)
    facts = train.stat()
    assert (facts.st_uid, facts.st_gid, stat.S_IMODE(facts.st_mode)) == (12345, 54321, 0o640)
    file_changes.undo(home=tmp_path)
    assert (train.stat().st_uid, train.stat().st_gid) == (12345, 54321)


def test_an_owner_that_cannot_be_kept_leaves_the_file_alone(tmp_path, train, monkeypatch):
    def refuse(path, user, group):
        raise PermissionError(1, "Operation not permitted", str(path))

    if os.getuid() != 0:
        pytest.skip("only root can give a file to another user")
    os.chown(train, 12345, 54321)
    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(FixError, match="it belongs to user 12345, group 54321"):
        write(tmp_path, train)
    assert train.read_bytes() == BEFORE
    assert not leftovers(tmp_path)


def test_extended_attributes_stay_and_the_time_is_new(tmp_path, train):
    try:
        os.setxattr(train, "user.mark", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    os.utime(train, (1, 1))
    write(tmp_path, train)
    assert os.getxattr(train, "user.mark") == b"mine"
    assert train.stat().st_mtime > 1, "with the old time Python would run the old bytecode"


def test_saved_originals_are_for_the_user_alone(tmp_path, train):
    saved = write(tmp_path, train)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in saved.iterdir()} == {0o600}


@pytest.mark.parametrize("name", ["../elsewhere.py", "link.py"])
def test_a_file_outside_of_the_project_is_left_alone(tmp_path, name):
    home = tmp_path / "home"
    home.mkdir()
    outside = tmp_path / "elsewhere.py"
    outside.write_bytes(BEFORE)
    (home / "link.py").symlink_to(outside)
    with pytest.raises(FixError, match="lies outside of the project folder"):
        write(home, home / name)
    assert outside.read_bytes() == BEFORE
    assert not (home / ".quickfit").exists()


def test_the_project_of_named_files_is_where_quickfit_runs_or_the_folder_they_share(
    tmp_path, monkeypatch
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert file_changes.project_of(["a.py", "sub/b.py"]) == tmp_path / "here"
    assert file_changes.project_of(["../x/a.py", "../x/sub/b.py"]) == tmp_path / "x"
