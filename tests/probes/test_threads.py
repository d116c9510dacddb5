"""CPU by group of threads: names, births, and totals that never go back."""

import sys
import threading
import time

import pytest

from quickfit.probes import threads
from quickfit.probes.threads import Thread, ThreadGroups, born_groups, split_stat

linux = pytest.mark.skipif(sys.platform != "linux", reason="the counters are those of Linux")


# As a process with TensorFlow 2.21 shows them: number, birth in hundredths of a second, name.
TENSORFLOW = [
    (29169, 861, "python", "libraries"),
    (29171, 1111, "python", "intra-op"),
    (29172, 1111, "python", "intra-op"),
    (29173, 1111, "tf_Compute", "inter-op"),
    (29174, 1111, "tf_Compute", "inter-op"),
    (29175, 1112, "tf_graph_runner", "tensorflow"),
    (29178, 1122, "python", "tf.data"),
    (29180, 1123, "python", "tf.data"),
    (29181, 1188, "tf_Compute", "tf.data"),
    (29190, 1300, "cuda-EvtHandlr", "named"),
]


def test_births_tell_the_threads_of_tensorflow_apart():
    found = born_groups([Thread(n, born, name) for n, born, name, _ in TENSORFLOW], {"python"})
    assert found == {number: group for number, _, _, group in TENSORFLOW}


def test_without_tensorflow_native_threads_are_those_of_libraries():
    found = born_groups([Thread(2, 10, "python"), Thread(3, 20, "python")], {"python"})
    assert set(found.values()) == {"libraries"}


def test_an_iterator_made_right_after_the_pools_is_not_part_of_them():
    born = [Thread(1, 5, "python"), Thread(2, 5, "tf_Compute"), Thread(3, 5, "tf_graph_runner")]
    born += [Thread(4, 6, "python"), Thread(5, 6, "tf_Compute")]
    found = born_groups(born, {"python"})
    assert [found[n] for n in range(1, 6)] == [
        *("intra-op", "inter-op", "tensorflow", "tf.data", "tf.data")
    ]


def test_a_name_with_brackets_and_blanks_is_taken_apart():
    name, fields = split_stat("7 (odd ) name (x) S 1 2 3\n")
    assert (name, fields) == ("odd ) name (x", ["S", "1", "2", "3"])


@pytest.fixture
def system(monkeypatch):
    """Threads on paper: number to [cpu, delay, birth, name]."""
    alive = {threading.main_thread().native_id: [10, 1, 1, "python"]}

    def text(path):
        parts = path.split("/")
        if "task" not in parts or int(parts[4]) not in alive:
            return None
        cpu_s, delay_s, born, name = alive[int(parts[4])]
        if parts[5] == "schedstat":
            return f"{int(cpu_s * 1e9)} {int(delay_s * 1e9)} 5\n"
        fields = ["S", *"0" * 18, str(born), *"0" * 25]
        return f"{parts[4]} ({name}) {' '.join(fields)}\n"

    monkeypatch.setattr(threads, "text", text)
    monkeypatch.setattr(threads, "names_in", lambda path: [str(n) for n in alive])
    monkeypatch.setattr(threads.time, "process_time_ns", lambda: int(30e9))
    return alive


def totals(groups):
    return {name: (number, cpu_s, delay_s) for name, number, cpu_s, delay_s in groups.read()}


def test_a_thread_that_ends_stays_in_the_total(system):
    groups = ThreadGroups()
    system[2**30] = [3, 0.5, 50, "python"]
    assert totals(groups)["libraries"] == (1, 3.0, 0.5)
    del system[2**30]
    assert totals(groups)["libraries"] == (0, 3.0, 0.5)
    # A new thread with the old number starts from nothing.
    system[2**30] = [1, 0.25, 90, "python"]
    assert totals(groups)["libraries"] == (1, 4.0, 0.75)


def test_cpu_that_no_thread_was_seen_to_use_is_that_of_ended_ones(system):
    assert totals(ThreadGroups())["ended"] == (0, 20.0, 0.0)


def test_a_thread_that_names_itself_late_changes_its_group(system):
    groups = ThreadGroups()
    system[2**30] = [1, 0, 50, "python"]
    totals(groups)
    system[2**30] = [3, 0, 50, "tf_Compute"]
    found = totals(groups)
    assert (found["libraries"], found["inter-op"]) == ((0, 1.0, 0.0), (1, 2.0, 0.0))


def test_a_system_without_such_files_has_no_groups(monkeypatch):
    monkeypatch.setattr(threads, "text", lambda path: None)
    assert ThreadGroups().read() is None


@linux
def test_python_threads_are_told_from_the_main_one(state):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        groups = ThreadGroups()
        found = totals(groups)
        threads.write(state, groups.read())
    finally:
        done.set()
        thread.join()
    assert found["main"][0] == 1
    assert found["main"][1] > 0
    assert found["python"][0] >= 1
    known_s = sum(cpu_s for _, cpu_s, _ in found.values())
    assert known_s == pytest.approx(time.process_time(), rel=0.5)
    assert {row[0] for row in state.writer.rows("thread_groups")} >= {"main", "python", "ended"}
