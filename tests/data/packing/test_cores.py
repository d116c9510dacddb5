import os

import pytest

from quickfit.data.packing.cores import usable_cores

BOUND = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        pytest.param({}, BOUND, id="no container"),
        pytest.param({"cpu.max": "max 100000"}, BOUND, id="no limit"),
        pytest.param({"cpu.max": "100000 100000"}, 1, id="one core"),
        pytest.param({"cpu.max": "20000 100000"}, 1, id="a part of a core"),
        pytest.param({"cpu.max": "6400000 100000"}, BOUND, id="more than there are"),
        pytest.param({"cpu.max": "odd"}, BOUND, id="something else"),
        pytest.param(
            {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 1, id="old"
        ),
        pytest.param(
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, BOUND, id="old, none"
        ),
    ],
)
def test_no_more_cores_are_used_than_the_container_has(tmp_path, files, cores):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == cores
