"""The device verdict: the accelerators of the machine against those TensorFlow uses.

It is the first line of every report, because nothing else matters as much: "compute-bound" on
the CPU of a machine with an idle accelerator is the wrong answer.
"""

from __future__ import annotations

from typing import Any

from quickfit.findings import DeviceVerdict
from quickfit.machine.devices import problem_in_use, unused_reason
from quickfit.recording.reader import ProcessRecording
from quickfit.signals import Signals


def device_verdict(main: ProcessRecording, signals: Signals) -> DeviceVerdict:
    """Return which devices there are, which are used, and what to do about a difference."""
    facts = signals.process.facts if signals.process.facts.get("tensorflow_devices") else main.facts
    machine = _names(facts.get("machine_accelerators"))
    devices = facts.get("tensorflow_devices")
    requests = _requests(signals.process)
    if not isinstance(devices, list):
        return _unknown(machine, has_loop=bool(signals.process.rows("loops")))
    seen = tuple(str(name) for kind, name in devices if kind in ("GPU", "TPU"))
    if seen:
        hidden = [name for name in seen if name not in (facts.get("tensorflow_visible") or [])]
        if len(hidden) == len(seen):
            return _hidden_by_script(machine, seen)
        summary = f"TensorFlow uses {_count(len(seen) - len(hidden))}"
        problem = problem_in_use(facts)
        if problem is not None:
            said = f"{summary}: {problem.what}"
            return DeviceVerdict("ok", said, machine, seen, advice=problem.advice)
        return DeviceVerdict("ok", summary, machine, seen)
    if machine:
        return _unused(facts, machine, requests)
    return _no_accelerator(facts, requests)


def _unknown(machine: tuple[str, ...], *, has_loop: bool) -> DeviceVerdict:
    why = "the run ended at once" if has_loop else "no training loop was seen"
    return DeviceVerdict("unknown", f"{why}, so TensorFlow was not asked for its devices", machine)


def _hidden_by_script(machine: tuple[str, ...], seen: tuple[str, ...]) -> DeviceVerdict:
    return DeviceVerdict(
        "unused",
        f"{_count(len(seen))} found, but the script hides it from TensorFlow: all runs on the CPU",
        machine,
        seen,
        advice="Remove the call of tf.config.set_visible_devices that leaves the accelerator out.",
    )


def _unused(
    facts: dict[str, Any], machine: tuple[str, ...], requests: tuple[str, ...]
) -> DeviceVerdict:
    reason = unused_reason(facts)
    return DeviceVerdict(
        "unused",
        f"{machine[0]} is not used: everything runs on the CPU",
        machine,
        facts=(reason.what, *requests),
        advice=reason.advice,
    )


def _no_accelerator(facts: dict[str, Any], requests: tuple[str, ...]) -> DeviceVerdict:
    cores = facts.get("usable_cores") or 1
    summary = f"CPU only ({cores:g} cores): no accelerator was found in this machine"
    if requests:
        return DeviceVerdict(
            "unused",
            f"{summary}, although the script asks for one",
            facts=requests,
            advice="TensorFlow ran it on the CPU without saying so.",
        )
    return DeviceVerdict("cpu-only", summary)


def _requests(process: ProcessRecording) -> tuple[str, ...]:
    return tuple(
        f"`{row['device']}` was asked for at {row['file']}:{row['line']} and ran on the CPU"
        for row in process.rows("device_requests")
    )


def _names(value: Any) -> tuple[str, ...]:  # a recorded JSON value
    return tuple(str(name) for name in value) if isinstance(value, list) else ()


def _count(number: int) -> str:
    return "1 accelerator" if number == 1 else f"{number} accelerators"
