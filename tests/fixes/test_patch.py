"""A patch is one that the real `git apply` takes, byte by byte, in the folder it was made for."""

import codecs
import io
import os
import subprocess

import pytest

from quickfit.fixes.files import SourceFile, read_source
from quickfit.fixes.patch import MAX_LINES, patch, show_patch

from launch.sessions import clean_env

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
CASES = {
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


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES.keys())
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
    text = changed_files(repo, {name: CASES["plain"]})
    assert git_apply(repo, text).returncode == 0
    assert (repo / name).read_bytes() == CASES["plain"][1]


def test_one_patch_holds_several_files(repo):
    texts = {"a.py": CASES["CRLF"], "ö x.py": CASES["no final newline"], "d/b.py": CASES["latin-1"]}
    assert git_apply(repo, changed_files(repo, texts)).returncode == 0
    for name, (_, after) in texts.items():
        assert (repo / name).read_bytes() == after


@pytest.mark.parametrize("name", ["train.py", "models/train.py", "sub/train.py"])
def test_a_patch_made_in_a_folder_below_is_taken_there(repo, name):
    below = repo / "sub"
    text = changed_files(below, {name: CASES["plain"]})
    done = git_apply(below, text, "--verbose")
    assert b"Skipped" not in done.stderr
    assert (below / name).read_bytes() == CASES["plain"][1]


def test_a_patch_of_files_that_git_does_not_know_is_taken_outside_of_a_repository(tmp_path):
    text = changed(tmp_path, train=CASES["plain"])
    assert git_apply(tmp_path, text).returncode == 0
    assert (tmp_path / "train.py").read_bytes() == CASES["plain"][1]


def test_git_refuses_when_the_file_has_changed(repo):
    text = changed(repo, train=CASES["plain"])
    (repo / "train.py").write_bytes(b"other = 1\n")
    assert git_apply(repo, text).returncode != 0
    assert (repo / "train.py").read_bytes() == b"other = 1\n"


def test_a_file_that_does_not_change_is_left_out(repo):
    assert changed(repo, train=(b"a = 1\n", b"a = 1\n")) == b""


def test_a_file_behind_a_link_is_named_where_it_is(repo):
    (repo / "real").mkdir()
    (repo / "real" / "train.py").write_bytes(CASES["plain"][0])
    (repo / "link.py").symlink_to("real/train.py")
    file = read_source(str(repo / "link.py"))
    text = patch({file.path: (file, CASES["plain"][1])}, base=repo)
    assert git_apply(repo, text).returncode == 0
    assert (repo / "link.py").is_symlink()
    assert (repo / "real" / "train.py").read_bytes() == CASES["plain"][1]


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
