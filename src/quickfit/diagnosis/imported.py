"""The diagnosis of an imported profile: what its devices did, and what to do about it.

No cause is asked: causes look at a run that quickfit watched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit import units
from quickfit.account.device_nodes import device_account
from quickfit.findings import AccountNode, DeviceVerdict, Diagnosis, Overhead, RunOutcome
from quickfit.recording.reader import ProcessRecording, Recording

# Below this, idle time is what lies between kernels in any program.
MIN_IDLE_SHARE = 0.10
# Copies between host and device that a training with prefetching hides.
MIN_COPY_SHARE = 0.10
MIN_COMMUNICATION_SHARE = 0.20
# Kernels this short take less time than launching the next one.
SHORT_KERNEL_S = 10e-6
_HOST_COPIES = ("host to device", "device to host")

_REASONS = {
    "host busy elsewhere": "while the host runs code of its own",
    "host in CUDA": "while the host is in a call of CUDA",
    "host waited": "because the host waits for the GPU before it launches more",
    "launching": "while the host launches the next operation",
    "between operations": "in short pauses between kernels",
    "waiting for other work": "because it waits for other streams or devices",
    "at the end": "at the end, when others still work",
    "unknown": "for reasons that the profile does not say",
}
_ADVICE = {
    "host busy elsewhere": "Let the host run ahead: compile the step (`tf.function`,"
    " `jit_compile`), prefetch the input, take Python out of the step.",
    "host in CUDA": "Allocate and copy outside the step: keep buffers, copy from pinned memory.",
    "host waited": "Read values of the step (a loss, a metric) every hundred steps, not in each.",
    "launching": "Fewer and larger operations: a larger batch, `jit_compile=True`.",
    "between operations": "Fewer and larger operations: a larger batch, `jit_compile=True`.",
    "waiting for other work": "Devices or streams wait for each other: balance their work, overlap"
    " communication with computing.",
}


def diagnose_profile(recording: Recording) -> Diagnosis:
    """Return the diagnosis of a recording that was made of a profile."""
    process = recording.main
    account = device_account(process)
    devices = tuple(str(row["device"]) for row in process.rows("device_use"))
    kind = str((process.facts.get("imported") or {}).get("kind") or "another profiler")
    script = str(recording.run.get("script") or "")
    headline, advice = _verdict(account, process)
    return Diagnosis(
        run=str(recording.path),
        script=script,
        verdict="profile" if account is not None else "no-steps",
        headline=headline,
        device=DeviceVerdict("ok", f"{', '.join(devices)}, profiled by {kind}", devices, devices),
        breakdown=None,
        findings=(),
        clear=(),
        not_checked=(),
        overhead=Overhead(None, None),
        outcome=RunOutcome("finished"),
        advice=advice,
        notes=(
            *_steps(process),
            *(str(row["text"]) for row in process.rows("notes")),
            *recording.problems,
        ),
        account=account,
    )


def _verdict(account: AccountNode | None, process: ProcessRecording) -> tuple[str, tuple[str, ...]]:
    if account is None:
        return "the profile holds no work of a device", ()
    shares = _Shares.of(process)
    said, advice = [], []
    if shares.host_copies >= MIN_COPY_SHARE:
        said.append(f"copies {shares.copy} take {units.share(shares.host_copies)} of the time")
        advice.append(
            "Keep on the device what every step needs, copy less (smaller types), and prefetch:"
            " copies beside kernels cost nothing."
        )
    if shares.idle >= MIN_IDLE_SHARE:
        idle = f"the device is idle {units.share(shares.idle)} of the time"
        said.append(f"{idle}, most {_REASONS.get(shares.reason, shares.reason)}")
        advice += [_ADVICE[shares.reason]] if shares.reason in _ADVICE else []
    if shares.communication >= MIN_COMMUNICATION_SHARE:
        part = units.share(shares.communication)
        said.append(f"communication between devices takes {part} of it")
        advice.append("A larger batch for each device communicates less often.")
    if shares.mean_kernel_s < SHORT_KERNEL_S and shares.idle >= MIN_IDLE_SHARE:
        said.append(f"kernels are short ({units.seconds(shares.mean_kernel_s)} on average)")
    largest = f"most computing: `{shares.kernel}`, {units.share(shares.kernel_share)}"
    if not said:
        return f"compute-bound: the devices are busy; {largest}", ()
    return f"{'; '.join(said)}; {largest}", tuple(dict.fromkeys(advice))


@dataclass(frozen=True)
class _Shares:
    """The parts of the devices' time that a verdict looks at."""

    idle: float
    reason: str
    host_copies: float
    copy: str
    communication: float
    kernel: str
    kernel_share: float
    mean_kernel_s: float

    @classmethod
    def of(cls, process: ProcessRecording) -> _Shares:
        total_s = sum(row["end_s"] - row["begin_s"] for row in process.rows("device_use"))
        reasons: dict[str, float] = defaultdict(float)
        for row in process.rows("device_idle"):
            reasons[row["reason"]] += row["total_s"]
        kernels: dict[str, float] = defaultdict(float)
        copies: dict[str, float] = defaultdict(float)
        communication_s, count, kernel_s = 0.0, 0, 0.0
        for row in process.rows("device_work"):
            if row["kind"] == "copy":
                copies[row["name"]] += row["alone_s"]
            elif row["kind"] == "communication":
                communication_s += row["alone_s"]
            elif row["kind"] != "memset":
                kernels[row["name"]] += row["alone_s"]
                count, kernel_s = count + row["count"], kernel_s + row["total_s"]
        host = {name: s for name, s in copies.items() if name.startswith(_HOST_COPIES)}
        kernel = max(kernels, key=lambda name: kernels[name], default="")
        return cls(
            sum(reasons.values()) / total_s,
            max(reasons, key=lambda name: reasons[name], default=""),
            sum(host.values()) / total_s,
            max(host, key=lambda name: host[name], default=""),
            communication_s / total_s,
            kernel,
            kernels.get(kernel, 0.0) / total_s,
            kernel_s / count if count else 0.0,
        )


def _steps(process: ProcessRecording) -> Iterator[str]:
    rows = process.rows("profile_steps")
    if rows:
        lengths = sorted(row["end_s"] - row["begin_s"] for row in rows)
        middle = units.seconds(lengths[len(lengths) // 2])
        yield f"{len(rows)} steps are marked in it (`{rows[0]['name']}`), {middle} in the median."
    else:
        yield "No range of it is named as a step, so times are of the whole profile."
