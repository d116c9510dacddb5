"""Where recordings live, and how many are kept."""

import gc
import json
import os
import time
from pathlib import Path

import pytest

from quickfit.errors import RecordingError, UsageError
from quickfit.recording import folder as folders


@pytest.mark.parametrize(
    ("script", "start"),
    [
        pytest.param("train.py", "train-", id="a script"),
        pytest.param("some/dir/train.py", "train-", id="a script elsewhere"),
        pytest.param("pkg.mod", "pkg.mod-", id="a module"),
        pytest.param("my script (2).py", "my-script--2--", id="spaces and brackets"),
        pytest.param("../../etc/passwd", "..-..-etc-passwd-", id="a way out"),
        pytest.param("", "run-", id="no name"),
        pytest.param("caf\udce9.py", "caf--", id="a name that is not UTF-8"),
        pytest.param("日本語.py", "日本語-", id="another script"),
        pytest.param("a\nb\x1b[31m.py", "a-b--31m-", id="control characters"),
        pytest.param("x" * 300 + ".py", "x" * 60 + "-", id="too long"),
    ],
)
def test_a_run_is_named_after_its_script(tmp_path, script, start):
    folder = folders.default_run_folder(script, home=tmp_path)
    assert folder.parent == tmp_path / ".quickfit" / "runs"
    assert folder.name.startswith(start)
    assert folder.suffix == ".qfrun"
    folders.create(folder)
    assert folder.is_dir()


def test_a_name_of_long_letters_fits_the_file_system(tmp_path):
    folder = folders.default_run_folder("𠀋" * 100 + ".py", home=tmp_path)
    folders.create(folder)
    assert len(os.fsencode(folder.name)) <= 255


def test_the_working_directory_is_home_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert folders.default_run_folder("a.py").parent == tmp_path / ".quickfit" / "runs"


def test_runs_that_start_in_the_same_second_get_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "strftime", lambda format: "20260101-000000")
    names = {folders.default_run_folder("a.py", home=tmp_path).name for _ in range(3)}
    assert names == {
        "a-20260101-000000.qfrun",
        "a-20260101-000000-1.qfrun",
        "a-20260101-000000-2.qfrun",
    }


def test_a_thousand_taken_names_end_in_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    def taken(self, **kwargs):
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(Path, "mkdir", taken)
    with pytest.raises(RecordingError, match="remove old runs"):
        folders.default_run_folder("a.py", home=tmp_path)


def test_a_home_that_cannot_be_written_is_reported_when_the_folder_is_made(tmp_path):
    (tmp_path / ".quickfit").write_text("a file")
    folder = folders.default_run_folder("a.py", home=tmp_path)
    with pytest.raises(UsageError) as caught:
        folders.create(folder)
    assert str(caught.value) == (
        f"{folder}: cannot make the folder of the recording (Not a directory).\n"
        "Choose a place you may write to with --output FOLDER."
    )


def test_git_does_not_see_runs(tmp_path):
    folders.create(folders.default_run_folder("a.py", home=tmp_path))
    assert (tmp_path / ".quickfit" / ".gitignore").read_text() == "*\n"


def test_a_gitignore_of_the_user_stays_as_it_is(tmp_path):
    (tmp_path / ".quickfit").mkdir()
    (tmp_path / ".quickfit" / ".gitignore").write_text("runs/\n")
    folders.create(folders.default_run_folder("a.py", home=tmp_path))
    assert (tmp_path / ".quickfit" / ".gitignore").read_text() == "runs/\n"


def test_a_folder_elsewhere_gets_no_gitignore(tmp_path):
    folders.create(tmp_path / "deep" / "er" / "run.qfrun")
    assert [f.name for f in tmp_path.rglob("*")] == ["deep", "er", "run.qfrun"]


@pytest.mark.parametrize("is_folder", [True, False])
def test_nothing_is_ever_overwritten(tmp_path, is_folder):
    taken = tmp_path / "run.qfrun"
    if is_folder:
        taken.mkdir()
        (taken / "1.sqlite").write_text("precious")
    else:
        taken.write_text("precious")
    with pytest.raises(UsageError, match="already exists, and a recording is never overwritten"):
        folders.create(taken)
    assert (taken / "1.sqlite" if is_folder else taken).read_text() == "precious"


def test_an_empty_folder_may_be_used(tmp_path):
    (tmp_path / "run.qfrun").mkdir()
    folders.create(tmp_path / "run.qfrun")


def test_a_folder_that_cannot_even_be_looked_at_is_reported(tmp_path, monkeypatch):
    def forbidden(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", forbidden)
    with pytest.raises(UsageError, match="Permission denied"):
        folders.create(tmp_path / "run.qfrun")


# -- old runs -------------------------------------------------------------------------------------


def finished(runs: Path, name: str, *, age_s: float, ended_at: float | None = 1.0) -> Path:
    folder = runs / f"{name}.qfrun"
    folder.mkdir(parents=True)
    folders.write_run_file(folder, {"ended_at": ended_at})
    os.utime(folder / "run.json", (1e9 - age_s, 1e9 - age_s))
    return folder


@pytest.fixture
def runs(tmp_path):
    return tmp_path / ".quickfit" / "runs"


def test_the_newest_twenty_finished_runs_are_kept(runs):
    made = [finished(runs, f"r{age}", age_s=age) for age in range(25)]
    removed = folders.drop_old_runs(runs)
    assert set(removed) == set(made[20:])
    assert {f for f in made if f.exists()} == set(made[:20])


def test_reading_an_old_run_does_not_make_it_a_new_one(runs):
    old = finished(runs, "old", age_s=100)
    new = finished(runs, "new", age_s=1)
    (old / "1.sqlite-shm").write_text("a reader was here")
    assert folders.drop_old_runs(runs, keep=1) == [old]
    assert new.exists()


def test_running_ones_are_neither_removed_nor_counted(runs):
    running = [finished(runs, f"now{n}", age_s=n, ended_at=None) for n in range(5)]
    forgotten = finished(runs, "forgotten", age_s=9e6, ended_at=None)
    done = [finished(runs, f"done{n}", age_s=10 + n) for n in range(3)]
    assert folders.drop_old_runs(runs, keep=2) == [done[2]]
    assert all(f.exists() for f in [*running, forgotten, *done[:2]])


def test_what_is_not_a_run_is_never_touched(runs):
    finished(runs, "a", age_s=1)
    others = [runs / "notes", runs / "mine.qfrun", runs / "broken.qfrun"]
    for folder in others:
        folder.mkdir()
        (folder / "data.txt").write_text("precious")
    (runs / "broken.qfrun" / "run.json").write_text("{")
    (runs / "file.qfrun").write_text("precious")
    assert len(folders.drop_old_runs(runs, keep=0)) == 1
    assert all((folder / "data.txt").exists() for folder in others)
    assert (runs / "file.qfrun").exists()


def test_a_link_to_a_run_elsewhere_is_left_alone(runs, tmp_path):
    elsewhere = finished(tmp_path, "kept", age_s=1)
    runs.mkdir(parents=True)
    (runs / "link.qfrun").symlink_to(elsewhere)
    assert folders.drop_old_runs(runs, keep=0) == []
    assert elsewhere.exists()


@pytest.mark.parametrize("place", ["runs", ".quickfit/others", "quickfit/runs"])
def test_only_a_folder_of_our_own_is_cleaned(tmp_path, place):
    finished(tmp_path / place, "a", age_s=1)
    assert folders.drop_old_runs(tmp_path / place, keep=0) == []
    assert (tmp_path / place / "a.qfrun").exists()


def test_a_missing_folder_of_runs_has_nothing_to_drop(runs):
    assert folders.drop_old_runs(runs) == []


# -- run.json -------------------------------------------------------------------------------------


def test_the_run_file_comes_back_with_the_format(tmp_path):
    folders.write_run_file(tmp_path, {"script": "caf\udce9.py", "pid": 7})
    assert folders.read_run_file(tmp_path) == {"format_version": 1, "script": "caf?.py", "pid": 7}
    assert [f.name for f in tmp_path.iterdir()] == ["run.json"]


def test_a_failed_write_leaves_the_run_file_as_it_was(tmp_path, monkeypatch):
    folders.write_run_file(tmp_path, {"pid": 1})

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        folders.write_run_file(tmp_path, {"pid": 2})
    assert folders.read_run_file(tmp_path)["pid"] == 1


def test_facts_that_are_not_json_leave_the_run_file_as_it_was(tmp_path):
    folders.write_run_file(tmp_path, {"pid": 1})
    with pytest.raises(TypeError):
        folders.write_run_file(tmp_path, {"pid": object()})
    assert folders.read_run_file(tmp_path)["pid"] == 1


@pytest.mark.parametrize(
    "text", ["", "{", "5", "[]", "null", "[" * 100_000, '"x"'], ids=lambda text: text[:5] or "empty"
)
def test_a_damaged_run_file_says_nothing(tmp_path, text, no_garbage):
    (tmp_path / "run.json").write_text(text)
    assert folders.read_run_file(tmp_path) == {}


@pytest.fixture
def no_garbage():
    """Keep what other tests left behind from being collected at the depth of the recursion limit.

    A finalizer that runs there fails, and pytest blames this test for it.
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_run_file_that_is_not_utf_8_says_nothing(tmp_path):
    (tmp_path / "run.json").write_bytes(b'{"pid": "\xff"}')
    assert folders.read_run_file(tmp_path) == {}


@pytest.mark.parametrize(
    "early", [5, "said", [], {"at_step": "ten"}, {"causes": 3}, {"causes": [{}]}], ids=str
)
def test_an_early_verdict_of_the_wrong_shape_is_forgotten(tmp_path, early):
    (tmp_path / "run.json").write_text(json.dumps({"pid": 1, "early": early}))
    assert folders.read_run_file(tmp_path) == {"pid": 1}


def test_an_early_verdict_is_kept(tmp_path):
    early = {"headline": "input-bound", "verdict": "findings", "causes": ["a"], "at_step": 20}
    folders.write_run_file(tmp_path, {"early": early})
    assert folders.read_run_file(tmp_path)["early"] == early


LOG_LINE = {
    "pattern": "shuffle-fill",
    "count": 2,
    "first_s": 1.5,
    "last_s": 2,
    "text": "Filling up",
    "numbers": [46432.0, 70000],
}


@pytest.mark.parametrize(
    "lines",
    [
        None,
        5,
        {},
        [5],
        [{}],
        [LOG_LINE, None],
        [{**LOG_LINE, "count": 0}],
        [{**LOG_LINE, "count": 1.5}],
        [{**LOG_LINE, "text": None}],
        [{**LOG_LINE, "first_s": "early"}],
        [{**LOG_LINE, "last_s": 1e300}],
        [{**LOG_LINE, "numbers": [[]]}],
        [{**LOG_LINE, "pattern": []}],
    ],
    ids=str,
)
def test_log_lines_of_the_wrong_shape_are_forgotten(tmp_path, lines):
    (tmp_path / "run.json").write_text(json.dumps({"pid": 1, "log_lines": lines}))
    assert folders.read_run_file(tmp_path) == {"pid": 1}


@pytest.mark.parametrize("lines", [[], [LOG_LINE], [{**LOG_LINE, "new": 1}]], ids=len)
def test_log_lines_are_kept(tmp_path, lines):
    folders.write_run_file(tmp_path, {"log_lines": lines})
    assert folders.read_run_file(tmp_path)["log_lines"] == lines


SILENCE = {
    "text": "stuck: a thread waits for a lock (held-lock)",
    "step": 3,
    "quiet_s": 31.5,
    "moved_again_s": None,
    "cause": "held-lock",
    "summary": "a thread waits for a lock",
    "file": "train.py",
    "line": 9,
    "also_file": None,
    "also_line": None,
    "moves": False,
    "evidence": [{"what": "looks", "value": 1.0, "unit": "share", "detail": "futex"}],
}
FACT = SILENCE["evidence"][0]


@pytest.mark.parametrize(
    "quiet",
    [
        None,
        5,
        {},
        "stuck",
        [5],
        [{}],
        [SILENCE, None],
        [{**SILENCE, "text": None}],
        [{**SILENCE, "step": "three"}],
        [{**SILENCE, "step": True}],
        [{**SILENCE, "quiet_s": [30]}],
        [{**SILENCE, "quiet_s": 1e300}],
        [{**SILENCE, "moved_again_s": "later"}],
        [{**SILENCE, "cause": ["held-lock"]}],
        [{**SILENCE, "line": "nine"}],
        [{**SILENCE, "also_file": 7}],
        [{**SILENCE, "moves": "yes"}],
        [{**SILENCE, "evidence": {}}],
        [{**SILENCE, "evidence": [5]}],
        [{**SILENCE, "evidence": [{**FACT, "unit": "parsecs"}]}],
        [{**SILENCE, "evidence": [{**FACT, "unit": []}]}],
        [{**SILENCE, "evidence": [{**FACT, "value": None}]}],
        [{**SILENCE, "evidence": [{**FACT, "what": 3}]}],
    ],
    ids=str,
)
def test_silences_of_the_wrong_shape_are_forgotten(tmp_path, quiet):
    (tmp_path / "run.json").write_text(json.dumps({"pid": 1, "quiet": quiet}))
    assert folders.read_run_file(tmp_path) == {"pid": 1}


@pytest.mark.parametrize(
    "quiet",
    [
        [],
        [SILENCE],
        [{**SILENCE, "new": 1}, {"text": "quiet", "step": 0, "quiet_s": 30, "moved_again_s": 50}],
    ],
    ids=len,
)
def test_silences_are_kept(tmp_path, quiet):
    folders.write_run_file(tmp_path, {"quiet": quiet})
    assert folders.read_run_file(tmp_path)["quiet"] == quiet


# -- network file systems -------------------------------------------------------------------------

MOUNTS = "\n".join(
    [
        "overlay / overlay rw,lowerdir=/a 0 0",
        "proc /proc proc rw 0 0",
        "server:/home /home nfs4 rw,vers=4.2 0 0",
        "/dev/sdb1 /home/local ext4 rw 0 0",
        "me@host:/ /home/local/far\\040away fuse.sshfs rw 0 0",
        "//box/share /mnt/caf\u00e9 cifs rw 0 0",
        "store /mnt/back\\134slash lustre rw 0 0",
        "/dev/sdc1 /data xfs rw 0 0",
        "other:/data /data nfs rw 0 0",
        "broken line",
        "",
    ]
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", False),
        ("/tmp/run.qfrun", False),
        ("/home", True),
        ("/home/me/run.qfrun", True),
        ("/homework/run.qfrun", False),
        ("/home/local/run.qfrun", False),
        ("/home/local/far away/run.qfrun", True),
        ("/home/local/far/run.qfrun", False),
        ("/mnt/café/run.qfrun", True),
        ("/mnt/back\\slash/run", True),
        ("/data/run.qfrun", True),
    ],
)
def test_the_innermost_and_last_mount_decides(tmp_path, path, expected):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert folders.is_on_network(Path(path), mounts=str(mounts)) is expected


def test_a_mount_point_that_is_not_utf_8_does_not_matter(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_bytes(b"x /mnt/\xff nfs rw 0 0\nserver:/ /srv nfs rw 0 0\n")
    assert folders.is_on_network(Path("/srv/run"), mounts=str(mounts))


def test_a_system_without_mounts_is_taken_as_local(tmp_path):
    assert not folders.is_on_network(tmp_path, mounts=str(tmp_path / "nothing"))


def test_a_run_without_an_end_is_gone_when_its_process_is(tmp_path):
    file = tmp_path / f"812{folders.PROCESS_SUFFIX}"
    file.touch()
    long_ago = time.time() - 3_600.0

    assert not folders.is_gone(tmp_path, 2**22 + 1)  # written just now: it may run elsewhere
    os.utime(file, (long_ago, long_ago))
    assert folders.is_gone(tmp_path, 2**22 + 1)
    assert folders.is_gone(tmp_path, os.getpid())  # younger than the recording: another process
    assert not folders.is_gone(tmp_path, None)
    os.utime(file, (time.time() - 6.0,) * 2)
    assert not folders.is_gone(tmp_path, os.getpid())
