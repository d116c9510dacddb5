"""Profiles of other tools: totals as in the file, every moment once, clear errors."""

import gzip
import sqlite3
import stat
from contextlib import closing

import pytest

from quickfit.diagnosis import diagnose
from quickfit.errors import RecordingError
from quickfit.profiles import import_profile
from quickfit.profiles.comparing import compare
from quickfit.profiles.importing import read_profile
from quickfit.recording.reader import read

from profiles.profile_files import CPU_PLANES, GPU_PLANES, TABLES, chrome, nsight, xplane


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a file and returns the recording's main process."""

    def make(file, name="one"):
        return read(import_profile(file, tmp_path / f"{name}.qfrun")).main

    return make


def test_totals_are_those_of_the_file(tmp_path, imported):
    file = nsight(tmp_path / "a.sqlite")
    rows = imported(file).rows("device_work")
    with closing(sqlite3.connect(file)) as db:
        for table, kinds in (
            ("KERNEL", ("kernel", "communication")),
            ("MEMCPY", ("copy",)),
            ("MEMSET", ("memset",)),
        ):
            asked = f"SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_{table}"
            count, total_ns = db.execute(asked).fetchone()
            mine = [row for row in rows if row["kind"] in kinds]
            assert sum(row["count"] for row in mine) == count
            assert sum(row["total_s"] for row in mine) == pytest.approx(total_ns / 1e9)


def test_busy_and_idle_time_add_up_and_what_overlaps_counts_once(tmp_path, imported):
    process = imported(nsight(tmp_path / "a.sqlite", steps=4, idle_us=100, kernel_us=300))
    used = process.rows("device_use")[0]
    assert used["device"] == "GPU 0 (NVIDIA H100)"
    assert used["busy_s"] == pytest.approx(4 * 392e-6)
    assert sum(row["alone_s"] for row in process.rows("device_work")) == pytest.approx(4 * 392e-6)
    assert sum(row["total_s"] for row in process.rows("device_idle")) == pytest.approx(300e-6)
    assert used["end_s"] - used["begin_s"] == pytest.approx(4 * 392e-6 + 300e-6)


@pytest.mark.parametrize(
    ("why", "reason", "detail"),
    [
        ("python", "host busy elsewhere", "in `augment`"),
        ("malloc", "host in CUDA", "in cudaMalloc"),
        ("queued", "waiting for other work", "launched already"),
    ],
)
def test_an_idle_device_says_what_the_host_did(tmp_path, imported, why, reason, detail):
    process = imported(nsight(tmp_path / "a.sqlite", why=why))
    (row,) = process.rows("device_idle")
    assert row["reason"] == reason
    assert detail in row["detail"]
    assert row["count"] == 3


def test_ranges_that_are_named_as_steps_are_steps(tmp_path, imported):
    process = imported(nsight(tmp_path / "a.sqlite"))
    assert [row["name"] for row in process.rows("profile_steps")] == [
        f"train step {step}" for step in range(4)
    ]


def test_the_report_says_where_the_time_of_the_device_went(tmp_path):
    run = import_profile(nsight(tmp_path / "a.sqlite", idle_us=400), tmp_path / "a.qfrun")
    diagnosis = diagnose(run, with_details=True)
    assert diagnosis.verdict == "profile"
    assert "idle 43 % of the time, most while the host runs code of its own" in diagnosis.headline
    assert "most computing: `gemm`" in diagnosis.headline
    assert diagnosis.account.find("idle").share == pytest.approx(0.433, abs=0.001)
    assert any("4 steps are marked" in note for note in diagnosis.notes)


def test_a_device_that_is_always_busy_is_compute_bound(tmp_path):
    run = import_profile(nsight(tmp_path / "a.sqlite", idle_us=9), tmp_path / "a.qfrun")
    # The copy is a tenth of the step; with larger kernels it is not.
    assert "copies host to device take 10 %" in diagnose(run).headline
    run = import_profile(
        nsight(tmp_path / "b.sqlite", idle_us=9, kernel_us=3000), tmp_path / "b.qfrun"
    )
    assert diagnose(run).headline.startswith("compute-bound: the devices are busy")


def test_a_comparison_says_what_changed_for_a_step(tmp_path, imported):
    before = imported(nsight(tmp_path / "a.sqlite", kernel_us=300), "before")
    after = imported(nsight(tmp_path / "b.sqlite", kernel_us=600, steps=6), "after")
    change = compare(before, after)
    assert change.unit == "step"
    name, before_s, after_s = change.parts[0]
    assert name == ("kernel", "gemm")
    assert after_s - before_s == pytest.approx(300e-6)


def test_the_same_profile_has_not_changed(tmp_path, imported):
    process = imported(nsight(tmp_path / "a.sqlite"))
    change = compare(process, process)
    assert change.factor == pytest.approx(1.0)
    assert change.parts == ()


def test_without_steps_equal_work_is_compared(tmp_path, imported):
    few = {name: text for name, text in TABLES.items() if name != "NVTX_EVENTS"}
    before = imported(nsight(tmp_path / "a.sqlite", tables=few, steps=40), "before")
    after = imported(nsight(tmp_path / "b.sqlite", tables=few, steps=20, idle_us=300), "after")
    change = compare(before, after)
    assert change.unit == "same work"
    assert change.work == pytest.approx(0.5)
    assert change.parts[0][0] == ("idle", "host busy elsewhere")


def test_a_profile_of_tensorflow_counts_each_stream_once(tmp_path, imported):
    (tmp_path / "a.xplane.pb").write_bytes(xplane(GPU_PLANES))
    process = imported(tmp_path / "a.xplane.pb")
    rows = {row["name"]: row for row in process.rows("device_work")}
    assert rows["gemm"]["count"] == 2
    assert rows["gemm"]["total_s"] == pytest.approx(600e-9)
    assert rows["MemcpyH2D"]["kind"] == "copy"
    assert len(process.rows("profile_steps")) == 2


def test_without_a_gpu_the_operations_of_the_cpu_are_shown(tmp_path, imported):
    folder = tmp_path / "plugins" / "profile" / "2026"
    folder.mkdir(parents=True)
    (folder / "host.xplane.pb").write_bytes(xplane(CPU_PLANES))
    rows = imported(tmp_path).rows("device_work")
    assert {(row["kind"], row["name"]): round(row["total_s"] * 1e9) for row in rows} == {
        ("Conv2D", "model/c1/Conv2D"): 200,
        ("MatMul", "model/d1/MatMul"): 100,
        ("Relu", "model/c1/Relu"): 100,
    }
    assert sum(row["alone_s"] for row in rows) == pytest.approx(340e-9)


@pytest.mark.parametrize("packed", [False, True])
def test_a_chrome_trace_is_read(tmp_path, imported, packed):
    data = chrome()
    (tmp_path / "t.json").write_bytes(gzip.compress(data) if packed else data)
    (row,) = imported(tmp_path / "t.json").rows("device_work")
    assert (row["name"], row["count"]) == ("gemm", 2)
    assert row["total_s"] == pytest.approx(400e-6)


def cut(data):
    return data[: len(data) // 2]


ODD = [
    ("empty.sqlite", lambda: b"", "no profile that can be imported"),
    ("text.txt", lambda: b"hello", "begins with"),
    ("cut.json", lambda: cut(chrome()), "was it written to its end"),
    ("cut.json.gz", lambda: cut(gzip.compress(chrome())), "ends in its middle"),
    ("negative.json", lambda: chrome(dur=-5), "negative"),
    ("nan.json", lambda: chrome(ts=float("nan")), "a time that is nan"),
    ("month.json", lambda: chrome(ts=1e17), "it takes"),
    ("list.json", lambda: b"[]", "no work of a device"),
    ("object.json", lambda: b"{}", "no list `traceEvents`"),
    ("cut.xplane.pb", lambda: cut(xplane(GPU_PLANES)), "damaged"),
    ("empty.pb", lambda: b"\x00\x01", "damaged"),
    ("host.pb", lambda: xplane({"/host:CPU": {"python": [(0, 5, "train")]}}), "no work of a"),
]


@pytest.mark.parametrize(("name", "content", "why"), ODD, ids=[one[0] for one in ODD])
def test_an_odd_file_has_a_clear_error(tmp_path, name, content, why):
    (tmp_path / name).write_bytes(content())
    with pytest.raises(RecordingError, match=why):
        read_profile(tmp_path / name)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 5", "ends before it begins"),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 'later' WHERE rowid = 2", "whole number"),
        ("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = 9000000000000000000", "it takes"),
        ("DELETE FROM StringIds", ""),
        ("DROP TABLE StringIds", "no export of Nsight"),
    ],
)
def test_a_damaged_export_has_a_clear_error_or_is_read(tmp_path, statement, why):
    file = nsight(tmp_path / "a.sqlite")
    with closing(sqlite3.connect(file)) as db:
        db.execute(statement)
        db.commit()
    if why:
        with pytest.raises(RecordingError, match=why):
            read_profile(file)
    else:
        assert read_profile(file).devices


def test_a_profile_without_work_says_what_to_trace(tmp_path):
    few = {name: TABLES[name] for name in ("StringIds", "NVTX_EVENTS")}
    with pytest.raises(RecordingError, match="--trace=cuda,nvtx"):
        read_profile(nsight(tmp_path / "a.sqlite", tables=few))


def test_nothing_is_written_beside_a_profile(tmp_path):
    nsight(tmp_path / "a.sqlite")
    before = (tmp_path / "a.sqlite").read_bytes()
    read_profile(tmp_path / "a.sqlite")
    assert [file.name for file in tmp_path.iterdir()] == ["a.sqlite"]
    assert (tmp_path / "a.sqlite").read_bytes() == before


def test_a_recording_of_ours_is_not_imported_again(tmp_path):
    run = import_profile(nsight(tmp_path / "a.sqlite"), tmp_path / "a.qfrun")
    with pytest.raises(RecordingError, match="quickfit report"):
        read_profile(next(run.glob("*.sqlite")))


def test_a_report_of_nsight_asks_for_its_program(tmp_path, monkeypatch):
    (tmp_path / "a.nsys-rep").write_bytes(b"QDSTRM")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(RecordingError, match="not installed here"):
        read_profile(tmp_path / "a.nsys-rep")


@pytest.mark.parametrize("works", [True, False])
def test_a_report_of_nsight_is_exported_by_its_program(tmp_path, monkeypatch, works):
    (tmp_path / "a.nsys-rep").write_bytes(b"QDSTRM")
    nsight(tmp_path / "exported.sqlite")
    program = tmp_path / "bin" / "nsys"
    program.parent.mkdir()
    copy = f'cp {tmp_path}/exported.sqlite "${{3#--output=}}"'
    program.write_text(f"#!/bin/sh\n{copy if works else 'exit 3'}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    if works:
        assert len(read_profile(tmp_path / "a.nsys-rep").steps) == 4
    else:
        with pytest.raises(RecordingError, match="ended with code 3"):
            read_profile(tmp_path / "a.nsys-rep")
