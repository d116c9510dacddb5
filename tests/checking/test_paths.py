"""Which files are checked, and what is said about paths that are none."""

import os

import pytest

from quickfit.checking.paths import common_folder, found_files, is_match
from quickfit.errors import UsageError


def tree(home, *names):
    for name in names:
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")


def found(home, *words, excluded=()):
    files, troubles = found_files(words or (str(home),), lambda path: path in excluded)
    assert not troubles
    return [os.path.relpath(file, home) for file in files]


def test_python_files_and_notebooks_below_a_folder_sorted(home):
    tree(home, "b.py", "a/z.py", "a/n.ipynb", "c.txt", "d.pyi", "e.pyc", "f.PY")
    assert found(home) == ["a/n.ipynb", "a/z.py", "b.py"]


@pytest.mark.parametrize(
    "folder",
    [
        *(".git", ".venv", ".hidden", "node_modules", "__pycache__", "build", "dist"),
        *(".quickfit", ".ipynb_checkpoints", "site-packages"),
    ],
)
def test_folders_of_others_are_skipped_unless_named(home, folder):
    tree(home, f"{folder}/a.py", "b.py")
    assert found(home) == ["b.py"]
    assert found(home, f"{home}/{folder}") == [f"{folder}/a.py"]


@pytest.mark.parametrize("name", ["venv", "env", "my-environment"])
def test_an_environment_is_skipped_by_its_mark(home, name):
    tree(home, f"{name}/lib/a.py")
    assert found(home) == [f"{name}/lib/a.py"]
    tree(home, f"{name}/pyvenv.cfg")
    assert found(home) == []


def test_a_named_file_is_read_whatever_it_is_called(home):
    tree(home, "script", ".git/hook.py", "a.pyi")
    words = ("script", ".git/hook.py", "a.pyi")
    assert found(home, *words) == [".git/hook.py", "a.pyi", "script"]


def test_a_file_that_is_reached_twice_is_read_once(home):
    tree(home, "a/b.py")
    assert found(home, ".", "a", "a/b.py", "./a/../a/b.py") == ["a/b.py"]


def test_a_link_to_a_file_is_another_name_of_it(home):
    tree(home, "z.py")
    (home / "a.py").symlink_to("z.py")
    assert found(home) == ["z.py"]
    assert found(home, "a.py") == ["a.py"]


def test_a_link_to_a_file_elsewhere_is_read(home):
    tree(home, "in/keep.txt", "out/real.py")
    (home / "in" / "a.py").symlink_to("../out/real.py")
    assert found(home, "in") == ["in/a.py"]


def test_links_in_circles_and_links_that_lead_nowhere_are_passed_over(home):
    tree(home, "a/b.py")
    (home / "a" / "up").symlink_to("..")
    (home / "self.py").symlink_to("self.py")
    (home / ".#lock.py").symlink_to("someone@host.4711")
    assert found(home) == ["a/b.py"]


def test_a_pipe_is_not_read_by_its_name(home):
    os.mkfifo(home / "pipe.py")
    assert found(home) == []
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        found_files(["pipe.py"], lambda path: False)


def test_a_folder_with_the_name_of_a_file_is_looked_into(home):
    tree(home, "odd.py/a.py")
    assert found(home) == ["odd.py/a.py"]


@pytest.mark.parametrize("name", ["a,b:c.py", "new\nline.py", "snö.py", " .py", "-f.py"])
def test_odd_names_are_names(home, name):
    tree(home, name)
    assert found(home) == [name]


def test_a_name_that_is_not_utf8_is_a_name(home):
    (home / os.fsdecode(b"\xff.py")).write_text("")
    assert found(home) == [os.fsdecode(b"\xff.py")]


@pytest.mark.parametrize("word", ["gone.py", "gone/", "a\nb.py", ""])
def test_what_does_not_exist_is_said_with_an_example(home, word):
    with pytest.raises(UsageError) as caught:
        found_files([word], lambda path: False)
    assert "there is no such file or folder" in str(caught.value)
    assert "    quickfit check train.py notebooks/ src/" in str(caught.value)
    assert "\nb.py" not in str(caught.value)


def test_a_named_link_that_leads_nowhere_is_said(home):
    (home / "a.py").symlink_to("gone.py")
    with pytest.raises(UsageError, match=r"a\.py: .*the link leads nowhere"):
        found_files(["a.py"], lambda path: False)


def test_a_name_with_nul_is_said(home):
    with pytest.raises(UsageError, match=r"not a path|no such file"):
        found_files(["a\0.py"], lambda path: False)


def test_excluded_files_and_folders_are_passed_over_unless_named(home):
    tree(home, "a/b.py", "a/c.py", "d.py")
    excluded = {str(home / "a" / "b.py"), str(home / "d.py")}
    assert found(home, excluded=excluded) == ["a/c.py"]
    assert found(home, excluded={str(home / "a")}) == ["d.py"]
    assert found(home, "d.py", excluded=excluded) == ["d.py"]


def test_a_folder_that_cannot_be_listed_is_reported_and_the_others_go_on(home, monkeypatch):
    tree(home, "a/b.py", "c.py")
    listed = os.scandir

    def scandir(path):
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    files, troubles = found_files(["."], lambda path: False)
    assert files == [str(home / "c.py")]
    assert troubles[0].message == "cannot list this folder (Permission denied)"
    assert troubles[0].where.file == str(home / "a")


def test_the_common_folder_of_files_and_folders(home):
    tree(home, "a/b/c.py", "a/d/e.py")
    real = home.resolve()
    assert common_folder(["a/b/c.py", "a/d"]) == real / "a"
    assert common_folder(["a/b/c.py"]) == real / "a" / "b"
    assert common_folder(["."]) == real
    assert common_folder([]) == real


@pytest.mark.parametrize(
    ("pattern", "path", "answer"),
    [
        ("old", "old/a.py", True),
        ("old/", "x/old/a.py", True),
        ("./old", "old/a.py", True),
        ("old", "older/a.py", False),
        ("old", "a/old.py", False),
        ("*.ipynb", "a/b.ipynb", True),
        ("a/*.py", "a/b.py", True),
        ("a/*.py", "b/a/b.py", False),
        ("**/gen", "gen/a.py", True),
        ("**/gen", "x/gen/a.py", True),
        ("x/**", "x/y/z.py", True),
        ("x/**", "y/x.py", False),
        ("a.py", "b/a.py", True),
        ("test_[ab].py", "test_a.py", True),
        ("A.py", "a.py", False),
    ],
)
def test_a_glob_means(home, pattern, path, answer):
    assert is_match(str(home / path), pattern, str(home)) is answer


def test_an_absolute_glob_means_the_whole_path(home):
    assert is_match(str(home / "a" / "b.py"), f"{home}/a", str(home))
    assert not is_match(str(home / "b.py"), f"{home}/a", str(home))


def test_a_file_outside_the_base_is_matched_by_its_names(home):
    assert is_match(str(home / "old" / "b.py"), "old", str(home / "project"))
