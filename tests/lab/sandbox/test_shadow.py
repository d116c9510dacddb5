"""Where each path is read and written, and who may write over what is there."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from quickfit.lab.sandbox import shadow as module
from quickfit.lab.sandbox.shadow import Shadow, is_saver

from launch.sessions import clean_env


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "log.csv").write_text("precious")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def shadow(home, tmp_path):
    return Shadow(str(tmp_path / "scratch"))


def test_a_path_is_absolute_and_without_detours(shadow, home):
    assert shadow.path_of("a/../b.txt") == str(home / "b.txt")
    assert shadow.path_of(home / "x") == str(home / "x")
    assert shadow.path_of(b"x") == str(home / "x")


@pytest.mark.parametrize(
    "path",
    [
        *(3, None, True, 1.5, "gs://bucket/x", "s3://bucket/x", "/dev/null", "/dev", "/proc/self"),
        "/sys/kernel/x",
    ],
)
def test_what_is_no_file_of_the_users_is_let_be(shadow, path):
    assert shadow.path_of(path) is None
    assert shadow.to_read(path) == path
    assert shadow.to_write(path) == path
    assert shadow.saved(path) == path
    assert shadow.gone(path, "deletes") == path


def test_the_scratch_folder_is_free(shadow, tmp_path):
    path = str(tmp_path / "scratch" / "tmp" / "x")
    assert shadow.path_of(path) is None
    assert shadow.to_write(path) == path


def test_a_folder_that_begins_like_the_scratch_folder_is_another(shadow, tmp_path):
    assert shadow.path_of(str(tmp_path / "scratch2" / "x")) is not None
    assert shadow.path_of("/developer/x") is not None


def test_what_was_not_written_is_read_where_it_is(shadow):
    assert shadow.to_read("log.csv") == "log.csv"
    assert shadow.to_read("gone.csv") == "gone.csv"


def test_what_is_new_is_written_to_the_twin_and_read_from_there(shadow, home):
    path = shadow.to_write("new.txt")
    assert path == shadow.root + str(home / "new.txt")
    open(path, "w").close()
    assert shadow.to_read("new.txt") == path
    assert shadow.gone("new.txt", "deletes") == path
    assert not (home / "new.txt").exists()


def test_where_there_is_no_folder_the_error_is_the_users(shadow):
    assert shadow.to_write("no/such/x.txt") == "no/such/x.txt"
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: 'gone.txt'"):
        shadow.gone("gone.txt", "deletes")


def test_a_saver_may_make_folders_on_the_way(shadow, home):
    path = shadow.saved("no/such/x.txt")
    assert path == shadow.root + str(home / "no/such/x.txt")
    assert shadow.is_folder(str(home / "no/such"))
    assert not (home / "no").exists()


def test_a_saver_gets_a_copy_of_what_it_adds_to(shadow, home, monkeypatch):
    monkeypatch.setattr(module, "is_saver", lambda frame: True)
    with open(shadow.to_write("log.csv", keeps=True)) as file:
        assert file.read() == "precious"
    assert (home / "log.csv").read_text() == "precious"


def test_what_a_saver_removes_is_only_removed_for_it(shadow, home, monkeypatch):
    monkeypatch.setattr(module, "is_saver", lambda frame: True)
    assert shadow.gone("log.csv", "deletes") is None
    assert (home / "log.csv").exists()


def test_a_folder_of_the_shadow_is_seen_under_its_own_path(shadow, home):
    assert shadow.seen_as(shadow.root + str(home)) == str(home)
    assert shadow.seen_as(str(home)) == str(home)
    assert shadow.seen_as(shadow.root) == shadow.root


def stack(*files):
    """Return frames of these files, the innermost first."""
    frame = None
    for file in reversed(files):
        frame = SimpleNamespace(f_code=SimpleNamespace(co_filename=file), f_back=frame)
    return frame


SITE = "/usr/lib/python3/site-packages"
GUARD = module.__file__.replace("shadow", "guard")


@pytest.mark.parametrize(
    "files",
    [
        pytest.param((f"{SITE}/keras/src/saving.py", "/me/train.py"), id="keras"),
        pytest.param((GUARD, f"{SITE}/tensorflow/python/io.py"), id="behind the guard"),
        pytest.param((module.shutil.__file__, f"{SITE}/mlflow/x.py", "/me/t.py"), id="shutil"),
        pytest.param(("<frozen os>", f"{SITE}/wandb/run.py"), id="behind Python's own code"),
        pytest.param(("/u/dist-packages/h5py/f.py",), id="of the distribution"),
        pytest.param((f"{SITE}/aim.py",), id="one file"),
    ],
)
def test_a_library_that_saves_is_known(files):
    assert is_saver(stack(*files))


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(("/me/train.py",), id="the script"),
        pytest.param(("/me/train.py", f"{SITE}/keras/callbacks.py"), id="a callback of the user"),
        pytest.param((f"{SITE}/pandas/io.py", f"{SITE}/keras/x.py"), id="another library"),
        pytest.param((module.shutil.__file__, "/me/train.py"), id="shutil for the script"),
        pytest.param((f"{SITE}/keras_tuner/x.py",), id="a name that begins alike"),
        pytest.param((), id="nobody"),
    ],
)
def test_everybody_else_does_not_save(files):
    assert not is_saver(stack(*files))


REFUSED = """
import sys
from quickfit.lab.sandbox.shadow import Shadow
shadow = Shadow(sys.argv[1])
shadow.{call}
print("went on")
"""


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("to_write('log.csv')", "writes"),
        ("to_write('log.csv', keeps=True)", "writes"),
        ("gone('log.csv', 'deletes')", "deletes"),
        ("gone('log.csv', 'moves')", "moves"),
    ],
)
def test_a_refusal_ends_the_process_and_says_what_and_where(home, tmp_path, call, what):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = home / "train.py"
    script.write_text(REFUSED.format(call=call))
    done = subprocess.run(
        [sys.executable, str(script), str(scratch)], env=clean_env(), capture_output=True
    )
    assert (done.returncode, done.stdout) == (97, b"")
    facts = json.loads((scratch / "unsafe.json").read_text())
    assert facts == {
        "what": what,
        "path": str(home / "log.csv"),
        "file": str(script),
        "line": "5",
    }
