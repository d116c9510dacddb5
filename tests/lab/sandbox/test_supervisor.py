"""What quickfit itself reads of a trial's folder, where the script puts something else there.

quickfit is not confined: what a script cannot do, it must not do for it. Each attempt runs as root,
as a user, and where `unshare` is refused.
"""

import json
import os
import sqlite3
import subprocess
from contextlib import closing

import pytest

from lab.sandbox.test_confinement import (  # noqa: F401 - a fixture and its marks
    MODES,
    house,
    pytestmark,
)
from trials import state_of

# As `quickfit fix` does: it reads while the script runs, and after.
DRIVER = """
import json, os, sys, time
from pathlib import Path
exec(sys.argv[2])
from quickfit.launch.place import Place, run_facts
from quickfit.launch.target import Target
from quickfit.lab.results import read_results
from quickfit.lab.script_trial import started
from quickfit.errors import RecordingError
from quickfit.fixing.story import _kept
home = Path(json.loads(sys.argv[1])[0])
scratch = home.with_name("scratch")
target = Target(script="train.py")
with started(target, scratch, cwd=home, trusts_script=False) as trial:
    place = Place(trial.recording, trial.recording, run_facts(target, home))
    while not trial.has_ended:
        time.sleep(0.05)
        trial.steps(), trial.failure(), trial.is_held(), place.note()
    trial.steps(), trial.failure(), place.note(ended_at=1.0)
    results = read_results(scratch)
    results.rows(), results.weights_at(1)
os.chdir(home.with_name("kept"))
kept = _kept(trial.recording, target)
print(json.dumps([trial.confinement, sorted(os.listdir(kept))]))
"""
REFUSES = """
import ctypes, json, struct
refused = json.loads(sys.argv[1])[1]
lines = [(0x20, 0, 0, 0)]
for number in refused:
    lines += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38)]
lines.append((0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("HP", len(lines), ctypes.addressof(code)), 0, 0) == 0
"""
HEAD = """
import os, posix, time
RUN = os.environ["QUICKFIT_RUN"]
SCRATCH = os.path.dirname(os.environ["QUICKFIT_TRIAL"])
HOME = os.getcwd()
def swap(path, to):
    if os.path.lexists(path):
        posix.rename(path, path + ".old")
    posix.symlink(to, path)
"""
# One script for each: they do not get in each other's way.
ATTEMPTS = {
    "files": """
swap(RUN + '/99.sqlite', HOME + '/app.db')
swap(RUN + '/98.sqlite', '/dev/zero')
posix.mkfifo(RUN + '/97.sqlite')
swap(RUN + f'/{os.getpid()}.sqlite-wal', HOME + '/app.db')
swap(RUN + '/all', HOME)
""",
    "the folder": "swap(RUN, HOME + '/data')",
    "pipes": """
for name in ('unsafe.json', 'held', 'results.jsonl', 'rows.npz', 'weights.npz', 'stderr.log'):
    posix.rename(SCRATCH + '/' + name, SCRATCH + '/' + name + '.old') if os.path.lexists(
        SCRATCH + '/' + name) else None
    posix.mkfifo(SCRATCH + '/' + name)
raise SystemExit(3)
""",
    "files without an end": """
for name in ('unsafe.json', 'held', 'results.jsonl', 'rows.npz', 'weights.npz', 'stderr.log'):
    swap(SCRATCH + '/' + name, '/dev/zero')
raise SystemExit(3)
""",
}


def tries(house, mode, code):  # noqa: F811
    """Run an attempt as a trial that quickfit reads; return what it kept of the recording."""
    with closing(sqlite3.connect(house.home / "app.db")) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE IF NOT EXISTS t (a)")
    (house.home / "data" / "1.sqlite").write_bytes((house.home / "app.db").read_bytes())
    (house.top / "kept").mkdir(exist_ok=True)
    (house.home / "train.py").write_text(HEAD + code + "\ntime.sleep(0.5)\nprint('to its end')\n")
    for path in (house.top, house.home, house.top / "kept", *house.home.rglob("*")):
        os.chown(path, mode.uid, mode.uid)
    before = state_of(house.home)
    how = house.driver(mode, trusts=False)
    python, _, _, given = how["args"]
    how["args"] = [python, "-c", DRIVER, given, "import sys" + REFUSES]
    how["env"]["XDG_STATE_HOME"] = str(house.top / "kept")
    done = subprocess.run(**how, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = (house.top / "scratch" / "stdout.log").read_text()
    assert said == ("" if "SystemExit" in code else "to its end\n")
    assert state_of(house.home) == before
    layers, kept = json.loads(done.stdout.splitlines()[-1])
    assert layers == mode.layers
    return kept


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
@pytest.mark.parametrize("name", ATTEMPTS)
def test_quickfit_does_no_harm_for_a_script(house, mode, name):  # noqa: F811
    kept = tries(house, mode, ATTEMPTS[name])
    assert all(one.endswith((".sqlite", ".sqlite-wal", "-shm", "run.json")) for one in kept)
    assert not {"99.sqlite", "98.sqlite", "97.sqlite", "1.sqlite"} & set(kept)
