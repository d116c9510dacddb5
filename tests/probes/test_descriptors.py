"""Files are opened beside those of a script, whatever it does with its numbers."""

import os
import resource

import pytest

from quickfit.probes import _descriptors
from quickfit.probes._descriptors import high_numbers, names_in, read_bytes
from quickfit.recording.reader import read_process
from quickfit.recording.writer import Writer

from launch.sessions import python

# Closes all numbers and opens pipes under them while a thread reads files.
CLOSES = """
import os, sys, threading
from quickfit.probes._descriptors import names_in, read_bytes

def read():
    while not is_done.is_set():
        read_bytes("/proc/self/status", 1 << 20)
        names_in("/proc/self/task")

sys.setswitchinterval(1e-5)
is_done = threading.Event()
reader = threading.Thread(target=read)
reader.start()
for number in range(4000):
    os.closerange(3, 40)
    ours, theirs = os.pipe()
    assert os.write(theirs, b"mine") == 4
    assert os.read(ours, 9) == b"mine", number
is_done.set()
reader.join()
print("whole")
"""


def test_a_script_that_closes_all_numbers_keeps_the_files_it_opens_then(tmp_path):
    (tmp_path / "closes.py").write_text(CLOSES)
    done = python(tmp_path, "closes.py")
    assert done.stdout == b"whole\n", done.stderr.decode()


def test_what_stays_open_has_a_number_that_no_script_is_given(tmp_path):
    before = os.open(os.devnull, os.O_RDONLY)
    os.close(before)
    with high_numbers():
        inside = os.open(os.devnull, os.O_RDONLY)
    after = os.open(os.devnull, os.O_RDONLY)
    os.close(inside)
    os.close(after)
    assert after == before
    assert inside >= 256


def test_a_recording_has_all_its_files_under_high_numbers(tmp_path):
    writer = Writer(tmp_path, {"role": "main"}, opening=high_numbers)
    writer.flush()
    assert len(writer._files) == 3
    assert min(writer._files) >= 256
    writer.close()
    assert read_process(writer.path).facts["role"] == "main"


FORKS = """
import os
from quickfit.probes._descriptors import high_numbers

before = len(os.listdir("/proc/self/fd"))
with high_numbers():
    pid = os.fork()
    if pid == 0:
        os._exit(len(os.listdir("/proc/self/fd")) - before)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(os.listdir("/proc/self/fd")) > 200)
"""


@pytest.mark.skipif(_descriptors._native is None, reason="without the compiled part none are taken")
def test_a_process_that_is_forked_meanwhile_has_the_numbers_free(tmp_path):
    (tmp_path / "forks.py").write_text(FORKS)
    done = python(tmp_path, "forks.py")
    assert done.stdout == b"0 True\n", done.stderr.decode()


def test_few_numbers_are_left_to_the_script(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 64))
    with high_numbers():
        inside = os.open(os.devnull, os.O_RDONLY)
    os.close(inside)
    assert inside < 64


@pytest.mark.parametrize("native", [_descriptors._native, None], ids=["compiled", "in Python"])
def test_files_are_read_up_to_a_limit(native, monkeypatch, tmp_path):
    monkeypatch.setattr(_descriptors, "_native", native)
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(str(tmp_path / "file"), 9) == b"12345"
    assert read_bytes(str(tmp_path / "file"), 3) == b"123"
    assert read_bytes(str(tmp_path / "missing"), 3) is None
    assert read_bytes("a\0b", 3) is None
    assert names_in(str(tmp_path)) == ["file"]
    with pytest.raises(FileNotFoundError):
        names_in(str(tmp_path / "missing"))


def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert read_bytes(str(tmp_path / "pipe"), 3) is None
