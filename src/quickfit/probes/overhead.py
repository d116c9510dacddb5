"""What quickfit itself costs, measured in the run it watches."""

from __future__ import annotations

import time

from quickfit.probes._state import State, now

# A probe of rare events that has used this much CPU, and over 1 % of the time, is turned off.
MAX_PROBE_CPU_S = 1.0
MAX_PROBE_SHARE = 0.01
_CALIBRATION_STEPS = 200
_started_s = now()


def write(state: State) -> None:
    """Record the running totals of every part of quickfit, and stop a probe that costs too much."""
    at_s = now()
    state.writer.add("overhead", ("background", at_s, 0, state.kept["background_cpu_s"]))
    said: dict[str, tuple[str, str]] = state.kept.setdefault("probe_states", {})
    for probe in state.probes.values():
        if probe.calls:
            state.writer.add("overhead", (probe.name, at_s, probe.calls, probe.cpu_s))
        if probe.cpu_s > max(MAX_PROBE_CPU_S, MAX_PROBE_SHARE * (at_s - _started_s)):
            probe.turn_off("off", f"used {probe.cpu_s:.1f} s of CPU, more than its budget")
        if said.get(probe.name) != (probe.state, probe.detail):
            said[probe.name] = (probe.state, probe.detail)
            state.writer.add("probes", (probe.name, probe.state, probe.detail))
    for key, hook in list(state.hooks.items()):
        if state.kept.get(("hook", key)) != hook:
            state.kept["hook", key] = hook
            state.writer.add("hooks", hook)
    if state.loops and not state.kept.get("is_step_cost_known"):
        state.kept["is_step_cost_known"] = True
        cpu_s = _step_cost_s(len(state.loops[-1].callback_places))
        state.writer.add("overhead", ("step", at_s, _CALIBRATION_STEPS, cpu_s))


def _step_cost_s(callbacks: int) -> float:
    """Return the CPU time the step hooks add to `_CALIBRATION_STEPS` steps.

    The hooks are run here, on the background thread, on a loop of their own with as many
    callbacks as the real one: timing them inside the real loop would double their cost.
    """
    from quickfit.probes import callbacks as callback_probe

    bench = callback_probe.bench_list(callbacks)
    plain = list(range(callbacks))
    began = time.thread_time()
    for _ in range(_CALIBRATION_STEPS):
        callback_probe.run_bench_step(bench)
    timed_s = time.thread_time() - began
    began = time.thread_time()
    for _ in range(_CALIBRATION_STEPS):
        callback_probe.run_bench_step(plain)
    return max(timed_s - (time.thread_time() - began), 0.0)
