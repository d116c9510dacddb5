"""What the machine did while the steps ran; None where nobody told."""

from dataclasses import fields
from pathlib import Path

import pytest

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.machine import data_folders, machine_use

from builders import START_S, run

FIRST_S, LAST_S = START_S + 3, START_S + 11


def use_of(signals):
    return machine_use(signals.recording, signals.steps)


def with_rows(first, last, **groups):
    """Return a run whose machine was read twice, eight seconds apart."""
    signals = run()
    empty = {"cpu_s": 0.0, "rss_bytes": 10**9}
    tables = signals.recording.main.tables
    tables["machine"] = [
        {**empty, **first, "at_s": FIRST_S},
        {**empty, **last, "at_s": LAST_S},
    ]
    tables["thread_groups"] = [
        {"name": name.replace("_", "."), "at_s": at_s, "threads": 1, "cpu_s": c, "run_delay_s": d}
        for name, readings in groups.items()
        for at_s, c, d in readings
    ]
    return signals


def test_counters_become_rates_and_shares():
    first = {"read_bytes": 0, "chars_read": 8, "throttled_s": 1.0, "collecting_s": 0.5}
    first |= {"major_faults": 2, "minor_faults": 100, "system_swapped_bytes": 0}
    first |= {"disk_wait_s": 1.0, "open_files": 10, "collections": 3, "swap_bytes": 0}
    last = {"read_bytes": 80, "chars_read": 808, "throttled_s": 5.0, "collecting_s": 1.3}
    last |= {"major_faults": 10, "minor_faults": 900, "system_swapped_bytes": 1600}
    last |= {"disk_wait_s": 3.0, "open_files": 25, "collections": 7, "swap_bytes": 4096}
    use = use_of(with_rows(first, last))
    assert use.read_bytes_per_s == 10
    assert use.chars_read_per_s == 100
    assert use.throttled_share == 0.5
    assert use.collecting_share == pytest.approx(0.1)
    assert (use.major_faults_per_s, use.minor_faults_per_s) == (1, 100)
    assert use.swapped_bytes_per_s == 200
    assert use.disk_wait_threads == 0.25
    assert (use.open_files, use.open_files_growth) == (25, 15)
    assert use.full_collections == 4
    assert use.swap_bytes == 4096


def test_pressures_are_means_over_the_time():
    use = use_of(with_rows({"io_pressure": 0.2, "pressure": 1.0}, {"io_pressure": 0.4}))
    assert use.io_pressure == pytest.approx(0.3)
    assert use.pressure == 1.0
    assert use.memory_pressure is None


def test_an_older_recording_has_no_new_counters():
    use = use_of(run())
    told = {field.name for field in fields(use) if getattr(use, field.name) not in (None, {})}
    told.discard("is_wider")
    known = {"window_s", "cpu_cores", "main_cores", "other_cores", "main_delay_share", "rss_bytes"}
    assert told == known


def test_thread_groups_become_cores():
    signals = with_rows(
        {},
        {},
        main=[(FIRST_S - 1, 1.0, 0.0), (FIRST_S, 2.0, 0.0), (LAST_S, 6.0, 0.8)],
        tf_data=[(LAST_S - 2, 2.0, 4.0), (LAST_S, 4.0, 8.0)],
    )
    use = use_of(signals)
    assert use.thread_cores == {"main": 0.5, "tf.data": 0.5}
    assert use.thread_delays == {"main": pytest.approx(0.1), "tf.data": 1.0}


def test_a_thinned_group_is_measured_from_its_reading_before():
    signals = with_rows(
        {},
        {},
        main=[(FIRST_S, 0.0, 0.0), (LAST_S, 8.0, 0.0)],
        tf_data=[(FIRST_S - 8, 0.0, 0.0), (LAST_S, 8.0, 0.0)],
    )
    assert use_of(signals).thread_cores == {"main": 1.0, "tf.data": 0.5}


def test_what_workers_read_counts_too():
    signals = with_rows({"read_bytes": 0}, {"read_bytes": 80})
    rows = [
        {"at_s": FIRST_S, "cpu_s": 0.0, "read_bytes": 0},
        {"at_s": LAST_S, "cpu_s": 8.0, "read_bytes": 720},
    ]
    worker = ProcessRecording(Path("2.sqlite"), {"role": "descendant"}, {"machine": rows})
    signals.recording.others.append(worker)
    assert use_of(signals).read_bytes_per_s == 100
    assert use_of(signals).cpu_cores == 1.0


def test_folders_of_all_processes_are_listed_once():
    signals = run()
    row = {"folder": "/data", "file_system": "nfs4", "files": 2, "bytes": 10}
    signals.recording.main.tables["data_folders"] = [{**row, "folder": "/a", "files": 1}, row]
    tables = {"data_folders": [{**row, "files": 7, "bytes": None}]}
    signals.recording.others.append(ProcessRecording(Path("2.sqlite"), {}, tables))
    found = [(f.folder, f.file_system, f.files) for f in data_folders(signals.recording)]
    assert found == [("/data", "nfs4", 7), ("/a", "nfs4", 1)]
    assert data_folders(run().recording) == []


def test_workers_that_began_meanwhile_count_from_nothing():
    signals = with_rows({}, {})
    before = use_of(signals).cpu_cores

    def worker(started_s, *readings):
        rows = [{"at_s": at_s, "cpu_s": cpu_s} for at_s, cpu_s in readings]
        facts = {"role": "descendant", "started_s": started_s}
        return ProcessRecording(Path("2.sqlite"), facts, {"machine": rows})

    signals.recording.others += [
        # New in this epoch, and read only once before it ended.
        worker(FIRST_S + 1, (FIRST_S + 1.5, 0.4)),
        worker(FIRST_S - 9, (FIRST_S - 1, 5.0), (FIRST_S + 2, 6.2)),
        worker(FIRST_S - 9, (FIRST_S - 1, 7.0)),
        worker(LAST_S + 5, (LAST_S + 6, 9.0)),
        worker(FIRST_S + 1),
    ]
    assert use_of(signals).cpu_cores - before == pytest.approx(1.6 / (LAST_S - FIRST_S))
