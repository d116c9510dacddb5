"""`slow-file-system`: fires when remote files are read by threads that wait."""

import pytest

from quickfit.causes import catalogue
from quickfit.causes.input.slow_file_system import detect
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass
from quickfit.machine.file_systems import is_remote

from builders import MAP_LINE, run

fix = catalogue()["slow-file-system"].fix

SLOW = {"input_wait_s": 0.06, "map_s": 0.16, "cpu_cores": 0.4, "input_cores": 0.1}


def read_from(*folders, **given):
    """Return a run that waits for input, and reads files of these folders: type, files."""
    signals = run(**{**SLOW, **given})
    signals.recording.main.tables["data_folders"] = [
        {"folder": f"/data/{number}", "file_system": kind, "files": files, "bytes": 10**6}
        for number, (kind, files) in enumerate(folders)
    ]
    return signals


@pytest.mark.parametrize("kind", ["nfs4", "9p", "cifs", "fuse.gcsfuse", "fuse.drive"])
def test_fires_for_a_pipeline_that_waits_for_reads_from(kind):
    found = detect(read_from((kind, 200)))
    assert found is not None
    assert found.where.line == MAP_LINE
    assert "`/data/0`" in found.summary
    assert kind in found.summary
    assert found.claims == ("input_wait",)
    assert len(found.evidence) == 3
    assert 1.0 < found.gain.likely <= found.gain.high
    assert "estimated" in found.gain.basis


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(read_from(), id="no files were seen"),
        pytest.param(read_from(("ext4", 200)), id="a disk of this machine"),
        pytest.param(read_from(("fuse.ntfs-3g", 200)), id="FUSE in front of a disk"),
        pytest.param(read_from(("nfs4", 3), ("ext4", 200)), id="a settings file on NFS"),
        pytest.param(read_from(("nfs4", 200), input_wait_s=0.001), id="steps do not wait"),
        pytest.param(
            read_from(("nfs4", 200), cpu_cores=1.9, input_cores=1.6),
            id="decoding is the limit, not reading",
        ),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_is_not_checked_without_the_cpu_time_of_the_threads():
    with pytest.raises(SignalMissing, match="CPU time"):
        detect(read_from(("nfs4", 200), input_cores=None))


def test_knows_what_is_far_away():
    assert is_remote("nfs")
    assert is_remote("fuse.sshfs")
    assert not is_remote("fuseblk")
    assert not is_remote("overlay")


def test_the_fix_is_shown_only():
    signals = read_from(("nfs4", 200))
    shown = fix(detect(signals), signals)
    assert shown.kind is FixClass.SHOW_ONLY
    assert "unpack_archive" in shown.example
