"""Facts that are recorded once."""

import builtins
import io
import json
import os

import pytest

import quickfit
from quickfit.recording import environment


@pytest.fixture
def files(monkeypatch):
    """A dict of path to text that stands for the control-group files."""
    texts: dict[str, str] = {}

    def fake_open(path, *args, **kwargs):
        if str(path).startswith("/sys/fs/cgroup"):
            if path not in texts:
                raise FileNotFoundError(2, "No such file", path)
            return io.StringIO(texts[path])
        return original(path, *args, **kwargs)

    original = builtins.open
    monkeypatch.setattr(builtins, "open", fake_open)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    return texts


def test_the_facts_of_a_process_are_json_and_name_it():
    facts = json.loads(json.dumps(environment.process_facts("main")))
    assert facts["role"] == "main"
    assert facts["pid"] == os.getpid()
    assert facts["quickfit_version"] == quickfit.__version__
    assert facts["cwd"] == os.getcwd()
    assert facts["usable_cores"] > 0


def test_a_working_directory_that_was_removed_is_not_a_fact(monkeypatch):
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getcwd", gone)
    assert environment.process_facts("main")["cwd"] is None


def test_without_a_quota_the_affinity_counts(files):
    assert environment.usable_cores() == 8.0


def test_the_quota_of_version_2_limits_the_cores(files):
    files["/sys/fs/cgroup/cpu.max"] = "150000 100000\n"
    assert environment.usable_cores() == 1.5


def test_the_quota_of_version_1_limits_the_cores(files):
    files["/sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = "200000\n"
    files["/sys/fs/cgroup/cpu/cpu.cfs_period_us"] = "100000\n"
    assert environment.usable_cores() == 2.0


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("/sys/fs/cgroup/cpu.max", "max 100000\n", id="no limit"),
        pytest.param("/sys/fs/cgroup/cpu.max", "", id="empty"),
        pytest.param("/sys/fs/cgroup/cpu.max", "many 100000\n", id="not a number"),
        pytest.param("/sys/fs/cgroup/cpu.max", "100000 0\n", id="no period"),
        pytest.param("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n", id="no limit, version 1"),
        pytest.param("/sys/fs/cgroup/cpu.max", "9900000 100000\n", id="more than there are"),
    ],
)
def test_an_unusable_quota_leaves_the_affinity(files, path, text):
    files[path] = text
    files.setdefault("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
    assert environment.usable_cores() == 8.0


def test_a_system_without_affinity_counts_its_cores(files, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert environment.usable_cores() == 1.0
