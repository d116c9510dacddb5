"""The other files of a project: which they are, and that they are read and not checked."""

import os
from pathlib import Path

import pytest

from checking.cases import BROKEN
from quickfit.checking import paths as module
from quickfit.checking.paths import companions


def tree(*names):
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("")


def found(home, *files):
    return [os.path.relpath(path, home) for path in companions(files)]


def test_files_beside_and_below_belong_to_a_script(home):
    tree("a/train.py", "a/data.py", "a/sub/model.py", "b/other.py", "a/notes.ipynb")
    assert found(home, "a/train.py") == ["a/data.py", "a/train.py", "a/sub/model.py"]


@pytest.mark.parametrize("mark", module.MARKS)
def test_the_whole_project_belongs_to_it_where_its_top_is_marked(home, mark):
    tree("p/src/pkg/train.py", "p/src/lib/data.py", "other.py")
    (home / "p" / mark).mkdir()
    assert set(found(home, "p/src/pkg/train.py")) == {"p/src/pkg/train.py", "p/src/lib/data.py"}


def test_other_peoples_code_does_not(home):
    tree("train.py", ".venv/a.py", "node_modules/b.py", "env/pyvenv.cfg", "env/c.py")
    assert found(home, "train.py") == ["train.py"]


def test_without_named_files_there_are_none(home):
    tree("train.py")
    assert found(home) == []


def test_large_folders_are_not_listed_to_the_end(home, monkeypatch):
    tree("train.py", *(f"data/{number:03}.py" for number in range(50)))
    monkeypatch.setattr(module, "MAX_FILES", 10)
    assert len(found(home, "train.py")) == 10
    monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    assert len(found(home, "train.py")) <= 5


def test_a_folder_that_is_gone_or_closed_is_no_error(home):
    assert found(home, "gone/train.py") == []


DATA = "import tensorflow as tf\nAUTO = tf.data.AUTOTUNE\n"
TRAIN = "import tensorflow as tf\nfrom data import AUTO\ntf.data.Dataset.range(9).shuffle(AUTO)\n"


def test_a_name_from_another_file_is_known_when_one_file_is_named(check):
    Path("data.py").write_text(DATA)
    Path("train.py").write_text(TRAIN)
    Path("broken.py").write_text(BROKEN)
    done = check("train.py")
    assert done.code == 1
    assert done.out.startswith("train.py:3:26  crashes  shuffle-autotune")
    assert "1 finding in 1 file (" in done.out
    assert "broken" not in done.out + done.err


def test_a_name_from_another_file_is_known_for_stdin_with_a_name(check):
    Path("data.py").write_text(DATA)
    assert check("-", "--stdin-filename", "train.py", stdin=TRAIN.encode()).code == 1
    assert check("-", stdin=TRAIN.encode()).code == 0


def test_a_file_that_was_not_named_is_not_fixed(check):
    Path("data.py").write_text(DATA + "tf.data.Dataset.range(9).shuffle(AUTO)\n")
    Path("train.py").write_text(TRAIN)
    assert check("--fix", "train.py").code == 0
    assert "1000" in Path("train.py").read_text()
    assert "1000" not in Path("data.py").read_text()
