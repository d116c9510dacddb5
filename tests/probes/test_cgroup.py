"""The limits of a container, in both versions of the interface."""

import pytest

from quickfit.probes import cgroup
from quickfit.probes.cgroup import Group, Limits, groups_of

V2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = (
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)


@pytest.fixture
def files(monkeypatch):
    """A dict of path to text that stands for the system's files."""
    texts: dict[str, str] = {}
    monkeypatch.setattr(cgroup, "text", texts.get)
    monkeypatch.setattr(
        cgroup.os.path, "isdir", lambda path: any(name.startswith(f"{path}/") for name in texts)
    )
    return texts


def test_version_2_has_one_folder_per_level():
    assert groups_of("memory", V2, "0::/user/job\n") == [
        Group("/sys/fs/cgroup/user/job", 2),
        Group("/sys/fs/cgroup/user", 2),
        Group("/sys/fs/cgroup", 2),
    ]


def test_version_1_has_a_folder_per_controller():
    own = "4:memory:/pod\n1:cpu,cpuacct:/\n0::/\n"
    assert groups_of("memory", V1, own)[0] == Group("/sys/fs/cgroup/memory/pod", 1)
    assert groups_of("cpu", V1, own) == [Group("/sys/fs/cgroup/cpu,cpuacct", 1)]


@pytest.mark.parametrize("own", ["0::/docker/abc\n", "0::/\n", "0::/../other\n"])
def test_a_container_sees_its_group_at_the_mount_point(own):
    mountinfo = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
    assert groups_of("memory", mountinfo, own) == [Group("/sys/fs/cgroup", 2)]


@pytest.mark.parametrize(("mountinfo", "own"), [(None, None), ("", "0::/\n"), (V2, "")])
def test_without_control_groups_there_are_none(mountinfo, own):
    assert groups_of("memory", mountinfo, own) == []


def test_the_tightest_limit_of_all_levels_counts_and_cached_files_do_not(files):
    files |= {
        "/proc/self/mountinfo": V2,
        "/proc/self/cgroup": "0::/a/b\n",
        "/sys/fs/cgroup/a/b/memory.max": "max\n",
        "/sys/fs/cgroup/a/memory.max": "1000000\n",
        "/sys/fs/cgroup/a/memory.current": "700000\n",
        "/sys/fs/cgroup/a/memory.stat": "anon 300000\ninactive_file 250000\n",
        "/sys/fs/cgroup/a/b/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/a/b/cpu.stat": "usage_usec 5\nthrottled_usec 2500000\n",
    }
    limits = Limits()
    assert (limits.limit_bytes, limits.used_bytes()) == (1_000_000, 450_000)
    assert limits.throttled_s() == 2.5


def test_version_1_says_no_limit_with_a_huge_number(files):
    files |= {
        "/proc/self/mountinfo": V1,
        "/proc/self/cgroup": "4:memory:/\n1:cpu,cpuacct:/\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": "500\n",
        "/sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 200\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_throttled 0\nthrottled_time 3000000000\n",
    }
    limits = Limits()
    assert (limits.limit_bytes, limits.used_bytes(), limits.throttled_s()) == (None, 300, 3.0)


def test_what_is_not_there_is_none(files):
    limits = Limits()
    assert (limits.limit_bytes, limits.used_bytes(), limits.throttled_s()) == (None, None, None)
