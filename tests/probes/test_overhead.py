"""What quickfit costs is recorded, and a probe that costs too much is turned off and says so."""

from quickfit.probes import overhead
from quickfit.probes._state import Loop


def write(state, at_s, monkeypatch, started_s=0.0):
    monkeypatch.setattr(overhead, "now", lambda: at_s)
    monkeypatch.setattr(overhead, "_started_s", started_s)
    state.kept.setdefault("background_cpu_s", 0.5)
    overhead.write(state)


def test_totals_are_recorded_of_the_thread_and_of_probes_that_did_something(state, monkeypatch):
    state.probes["tf_data"].calls, state.probes["tf_data"].cpu_s = 3, 0.25
    write(state, 10.0, monkeypatch)
    rows = state.writer.rows("overhead")
    assert rows == [("background", 10.0, 0, 0.5), ("tf_data", 10.0, 3, 0.25)]


def test_the_state_of_a_probe_is_recorded_when_it_changes(state, monkeypatch):
    write(state, 10.0, monkeypatch)
    assert len(state.writer.rows("probes")) == len(state.probes)
    write(state, 11.0, monkeypatch)
    assert len(state.writer.rows("probes")) == len(state.probes)
    state.probes["stacks"].turn_off("failed", "why")
    write(state, 12.0, monkeypatch)
    assert state.writer.rows("probes")[-1] == ("stacks", "failed", "why")


def test_a_probe_that_costs_too_much_is_turned_off_and_says_so(state, monkeypatch):
    state.probes["tf_data"].cpu_s = 1.2
    state.probes["retracing"].cpu_s = 0.9
    write(state, 60.0, monkeypatch)
    probe = state.probes["tf_data"]
    assert (probe.is_off, probe.state) == (True, "off")
    assert probe.detail == "used 1.2 s of CPU, more than its budget"
    assert ("tf_data", "off", probe.detail) in state.writer.rows("probes")
    assert not state.probes["retracing"].is_off


def test_a_long_run_may_cost_more_seconds(state, monkeypatch):
    state.probes["tf_data"].cpu_s = 30.0
    write(state, 3600.0, monkeypatch)
    assert not state.probes["tf_data"].is_off


def test_a_step_is_measured_once_when_there_is_a_loop(state, monkeypatch):
    monkeypatch.setattr(overhead, "_step_cost_s", lambda callbacks: callbacks / 1000)
    write(state, 10.0, monkeypatch)
    loop = Loop(1, "fit", None, 0.0, 0.0, 0, {}, callback_places=[("A", {}), ("B", {})])
    state.loops.append(loop)
    write(state, 11.0, monkeypatch)
    write(state, 12.0, monkeypatch)
    steps = [row for row in state.writer.rows("overhead") if row[0] == "step"]
    assert steps == [("step", 11.0, overhead._CALIBRATION_STEPS, 0.002)]


def test_the_measured_cost_of_a_step_is_never_negative(state, monkeypatch):
    monkeypatch.setattr(overhead.time, "thread_time", iter([0.0, 1.0, 1.0, 5.0]).__next__)
    monkeypatch.setattr(overhead, "_CALIBRATION_STEPS", 0)
    assert overhead._step_cost_s(2) == 0.0
