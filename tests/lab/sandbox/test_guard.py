"""Real scripts in real trials: what is new goes to scratch, what is the user's is not touched."""

import subprocess
import sys

import pytest

from trials import state_of, tried

from launch.sessions import clean_env

HAS_LANDLOCK = subprocess.run(
    [
        *(sys.executable, "-c"),
        "import quickfit.lab.sandbox.landlock as l; exit(not l.restrict_writes([]))",
    ]
)
needs_landlock = pytest.mark.skipif(
    HAS_LANDLOCK.returncode != 0, reason="the kernel has no Landlock"
)


@pytest.fixture
def home(tmp_path):
    """A folder with things that a user would miss."""
    folder = tmp_path / "home"
    (folder / "out" / "deep").mkdir(parents=True)
    (folder / "data").mkdir()
    for name in ("model.keras", "log.csv", "out/old.txt", "out/deep/x.bin", "data/1.jpg"):
        (folder / name).write_text(f"precious {name}\n")
    (folder / "empty").mkdir()
    (folder / "tool.py").write_text("VALUE = 1\n")
    (folder / "link.csv").symlink_to("log.csv")
    return folder


def harmless(home, text):
    """Run a script that ends well, and see that nothing was changed."""
    (home / "train.py").write_text(text)
    before = state_of(home)
    ended = tried(home)
    assert state_of(home) == before
    assert (ended.code, ended.failure) == (0, ""), ended.err
    return ended.out


def refused(home, text):
    """Run a script that must be ended, and see that nothing was changed."""
    (home / "train.py").write_text(text)
    before = state_of(home)
    ended = tried(home)
    assert state_of(home) == before
    assert "went on" not in ended.out
    return ended


# -- new files ----------------------------------------------------------------------------------


def test_new_files_are_written_apart_and_found_again(home):
    text = """
import csv, io, json, os, pathlib, shutil, tempfile
os.makedirs("runs/a/b", exist_ok=True)
os.makedirs("runs/a/b", exist_ok=True)
with open("runs/a/b/new.json", "w") as file:
    json.dump({"a": 1}, file)
assert json.load(open("runs/a/b/new.json")) == {"a": 1}
assert os.listdir("runs/a/b") == ["new.json"]
assert os.path.exists("runs/a/b/new.json") and os.path.isdir("runs/a")
assert os.path.getsize(os.path.abspath("runs/a/b/new.json")) == 8
with open("runs/a/b/new.json", "a") as file:
    file.write("more")
assert open("runs/a/b/new.json").read().endswith("more")
os.rename("runs/a/b/new.json", "runs/a/b/moved.json")
assert not os.path.exists("runs/a/b/new.json")
os.replace("runs/a/b/moved.json", "top.json")
os.chmod("top.json", 0o600)
os.utime("top.json")
assert os.stat("top.json").st_mode & 0o777 == 0o600
os.remove("top.json")
assert not os.path.exists("top.json")
shutil.rmtree("runs")
assert not os.path.exists("runs")

folder = pathlib.Path("p")
folder.mkdir()
(folder / "t.txt").write_text("hi")
assert (folder / "t.txt").read_text() == "hi"
(folder / "t.txt").rename("p/u.txt")
assert (folder / "u.txt").exists() and not (folder / "t.txt").exists()
(folder / "v.txt").touch()
shutil.copy("p/u.txt", "p/w.txt")
shutil.copytree("p", "q")
shutil.move("q", "r")
shutil.copytree("p", "out", dirs_exist_ok=True)
assert os.path.exists("out/u.txt") and os.path.exists("out/old.txt")
assert sorted(path.name for path in pathlib.Path("r").iterdir()) == ["u.txt", "v.txt", "w.txt"]
(folder / "u.txt").unlink()
os.symlink("w.txt", "p/link")
assert os.readlink("p/link") == "w.txt"

descriptor = os.open("raw.bin", os.O_CREAT | os.O_WRONLY)
os.write(descriptor, b"raw")
os.close(descriptor)
assert io.open("raw.bin", "rb").read() == b"raw"
with tempfile.TemporaryDirectory() as temporary:
    open(os.path.join(temporary, "x"), "w").write("hi")
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
with open("table.csv", "w", newline="") as file:
    csv.writer(file).writerow([1, 2])
print("all fine")
"""
    assert harmless(home, text) == "all fine\n"


def test_folders_show_what_is_the_users_and_what_is_new(home):
    text = """
import glob, os, pathlib
open("new.txt", "w").close()
open("data/2.jpg", "w").close()
assert sorted(os.listdir("data")) == ["1.jpg", "2.jpg"]
assert sorted(glob.glob("data/*.jpg")) == ["data/1.jpg", "data/2.jpg"]
assert sorted(p.name for p in pathlib.Path("data").iterdir()) == ["1.jpg", "2.jpg"]
assert sorted(p.name for p in pathlib.Path(".").glob("*.csv")) == ["link.csv", "log.csv"]
assert sorted(str(p) for p in pathlib.Path(".").rglob("*.jpg")) == ["data/1.jpg", "data/2.jpg"]
found = {folder: sorted(names) for folder, _, names in os.walk("data")}
assert found == {"data": ["1.jpg", "2.jpg"]}, found
with os.scandir("data") as entries:
    assert sorted(e.name for e in entries if e.is_file()) == ["1.jpg", "2.jpg"]
assert open("data/1.jpg").read() == "precious data/1.jpg\\n"
print("all fine")
"""
    assert harmless(home, text) == "all fine\n"


def test_a_script_that_goes_into_a_folder_finds_the_users_files_from_there(home):
    text = """
import os
here = os.getcwd()
os.makedirs("runs/one")
os.chdir("runs/one")
assert os.getcwd() == os.path.join(here, "runs", "one"), os.getcwd()
open("log.txt", "w").write("new")
assert open("log.txt").read() == "new"
assert open("../../log.csv").read() == "precious log.csv\\n"
assert os.path.exists(os.path.abspath("../../data/1.jpg"))
os.chdir(here)
assert open("runs/one/log.txt").read() == "new"
open("out/new.txt", "w").close()
os.chdir("out")
assert open("old.txt").read() == "precious out/old.txt\\n"
assert sorted(os.listdir()) == ["deep", "new.txt", "old.txt"]
print("all fine")
"""
    assert harmless(home, text) == "all fine\n"


def test_errors_are_the_ones_it_would_have_been(home):
    text = """
import os
def error_of(function, *args):
    try:
        function(*args)
    except OSError as error:
        return type(error).__name__
print(error_of(open, "gone.txt"))
print(error_of(open, "no/such/folder.txt", "w"))
print(error_of(os.remove, "gone.txt"))
print(error_of(os.mkdir, "out"))
print(error_of(os.mkdir, "no/such/folder"))
print(error_of(os.listdir, "gone"))
print(error_of(open, "out"))
print(error_of(open, "log.csv", "x"))
"""
    said = harmless(home, text).split()
    assert said[:7] == [
        *("FileNotFoundError", "FileNotFoundError", "FileNotFoundError", "FileExistsError"),
        *("FileNotFoundError", "FileNotFoundError", "IsADirectoryError"),
    ]
    assert said[7] == "FileExistsError"


def test_nothing_compiled_is_left_behind(home):
    text = "import tool\nassert tool.VALUE == 1\n"
    harmless(home, text)
    assert not list(home.rglob("__pycache__"))


def test_devices_can_be_written_to(home):
    harmless(home, "import os\nopen(os.devnull, 'w').write('x')\nopen('/dev/null', 'wb').close()\n")


# -- what is the user's -------------------------------------------------------------------------

HARMS = {
    "overwrite": ('open("model.keras", "w")', "writes model.keras"),
    "overwrite bytes": ('open("model.keras", "wb")', "writes model.keras"),
    "append": ('open("log.csv", "a")', "writes log.csv"),
    "read and write": ('open("log.csv", "r+")', "writes log.csv"),
    "by descriptor": ('os.open("log.csv", os.O_WRONLY)', "writes log.csv"),
    "truncate by descriptor": ('os.open("log.csv", os.O_RDWR | os.O_TRUNC)', "writes log.csv"),
    "io.open": ('io.open("out/old.txt", "w")', "writes out/old.txt"),
    "write_text": ('pathlib.Path("log.csv").write_text("x")', "writes log.csv"),
    "touch": ('pathlib.Path("log.csv").touch()', "changes log.csv"),
    "remove": ('os.remove("log.csv")', "deletes log.csv"),
    "unlink": ('pathlib.Path("log.csv").unlink()', "deletes log.csv"),
    "rmdir": ('os.rmdir("empty")', "deletes empty"),
    "removedirs": ('os.removedirs("empty")', "deletes empty"),
    "rmtree": ('shutil.rmtree("out")', "deletes out"),
    "rmtree with errors ignored": ('shutil.rmtree("out", ignore_errors=True)', "deletes out"),
    "rmtree of a folder that was written into": (
        'open("out/new.txt", "w").close(); shutil.rmtree("out")',
        "deletes out",
    ),
    "rename a folder": ('os.rename("out", "out2")', "moves out"),
    "rename a file": ('pathlib.Path("log.csv").rename("log2.csv")', "moves log.csv"),
    "move": ('shutil.move("log.csv", "old.csv")', "moves log.csv"),
    "replace by a new one": (
        'open("n", "w").close(); os.replace("n", "model.keras")',
        "writes model.keras",
    ),
    "copy over": ('shutil.copyfile("log.csv", "model.keras")', "writes model.keras"),
    "chmod": ('os.chmod("log.csv", 0)', "changes log.csv"),
    "truncate": ('os.truncate("log.csv", 0)', "changes log.csv"),
    "utime": ('os.utime("log.csv", (1, 1))', "changes log.csv"),
    "through a link": ('open("link.csv", "w")', "writes link.csv"),
    "the link itself": ('os.unlink("link.csv")', "deletes link.csv"),
    "by an absolute path": ('open(os.path.abspath("log.csv"), "w")', "writes log.csv"),
    "by a roundabout path": ('open("out/../log.csv", "w")', "writes log.csv"),
    "by bytes": ('open(b"log.csv", "w")', "writes log.csv"),
    "in a thread": (
        't = threading.Thread(target=lambda: open("log.csv", "w")); t.start(); t.join()',
        "writes log.csv",
    ),
    "in a fork": (
        "p = multiprocessing.get_context('fork').Process(target=open, args=('log.csv', 'w'));"
        " p.start(); p.join(); sys.exit()",
        "writes log.csv",
    ),
    "within an except": (
        "try: os.remove('log.csv')\nexcept BaseException: pass",
        "deletes log.csv",
    ),
}
IMPORTS = "import io, multiprocessing, os, pathlib, shutil, sys, threading\n\n"


@pytest.mark.parametrize(("code", "what"), HARMS.values(), ids=HARMS.keys())
def test_a_script_is_ended_before_it_changes_what_is_the_users(home, code, what):
    ended = refused(home, f"{IMPORTS}{code}\nprint('went on')\n")
    assert ended.failure == f"cannot be tried safely: train.py:3 {what}"


def test_the_line_that_is_named_is_the_users(home):
    text = "import shutil\n\ndef clean():\n    shutil.rmtree('out')\n\nclean()\n"
    assert refused(home, text).failure == "cannot be tried safely: train.py:4 deletes out"


def test_a_module_of_the_users_is_named_where_it_writes(home):
    (home / "tool.py").write_text("def save():\n    open('model.keras', 'w')\n")
    ended = refused(home, "import tool\ntool.save()\n")
    assert ended.failure == "cannot be tried safely: tool.py:2 writes model.keras"


# -- past Python --------------------------------------------------------------------------------


@needs_landlock
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("os.system('rm -rf out log.csv; echo x > model.keras; touch z')", id="shell"),
        pytest.param("ctypes.CDLL(None).unlink(b'log.csv')", id="C"),
        pytest.param("ctypes.CDLL(None).truncate(b'log.csv', 0)", id="truncate in C"),
        pytest.param("ctypes.CDLL(None).rename(b'log.csv', b'x.csv')", id="rename in C"),
        pytest.param("ctypes.CDLL(None).mkdir(b'new', 0o755)", id="mkdir in C"),
        pytest.param(
            "subprocess.run([sys.executable, '-S', '-c', 'open(\"log.csv\", \"w\")'])",
            id="another Python, which is not guarded",
        ),
        pytest.param(
            "sqlite3.connect('log.db').execute('create table t (a)')", id="a library in C"
        ),
        pytest.param("subprocess.run(['tee', 'log.csv'], input=b'x')", id="another program"),
    ],
)
def test_the_kernel_stops_what_goes_past_python(home, code):
    text = f"import ctypes, os, sqlite3, subprocess, sys\n{code}\n"
    (home / "train.py").write_text(text)
    before = state_of(home)
    tried(home)
    assert state_of(home) == before


@needs_landlock
def test_a_program_that_is_refused_is_reported_as_one_that_cannot_be_tried(home):
    text = "import subprocess\n\nsubprocess.run(['tee', 'log.csv'], input=b'x', check=True)\n"
    ended = refused(home, text)
    assert ended.failure.startswith("cannot be tried safely: train.py:3 writes to a file outside")


def test_a_python_that_the_script_starts_is_guarded_too(home):
    text = """
import subprocess, sys
code = 'open("log.csv", "w")'
sys.exit(subprocess.run([sys.executable, "-c", code]).returncode)
"""
    ended = refused(home, text)
    assert ended.failure.startswith("cannot be tried safely")
    assert ended.failure.endswith("writes log.csv")


# -- where the kernel cannot --------------------------------------------------------------------

WATCHED = """
import sys
from quickfit.lab.sandbox import guard
from quickfit.lab.sandbox.shadow import Shadow
guard.watch(Shadow(sys.argv[1]))
import _io, ctypes, os, posix, subprocess
{code}
print("went on")
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("_io.open('log.csv', 'w')", id="open"),
        pytest.param("posix.open('log.csv', os.O_WRONLY)", id="descriptor"),
        pytest.param("posix.remove('log.csv')", id="remove"),
        pytest.param("posix.rename('log.csv', 'x.csv')", id="rename"),
        pytest.param("posix.truncate('log.csv', 0)", id="truncate"),
        pytest.param("posix.rmdir('empty')", id="rmdir"),
        pytest.param("posix.chmod('log.csv', 0)", id="chmod"),
        pytest.param("os.system('rm log.csv')", id="shell"),
        pytest.param("subprocess.run(['rm', 'log.csv'])", id="program"),
        pytest.param("posix.mkdir('new')", id="mkdir"),
    ],
)
def test_without_the_kernel_python_itself_stops_what_goes_past_the_guard(home, tmp_path, code):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = state_of(home)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(code=code), str(scratch)],
        cwd=home,
        env=clean_env(),
        capture_output=True,
        text=True,
    )
    assert state_of(home) == before
    assert (done.returncode, done.stdout) == (97, ""), done.stderr
    assert (scratch / "unsafe.json").exists()


def test_without_the_kernel_reading_and_the_scratch_folder_stay_free(home, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = f"_io.open('log.csv').read(); _io.open({str(scratch / 'x')!r}, 'w').close()"
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(code=code), str(scratch)],
        cwd=home,
        env=clean_env(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr
