"""Reads traces in the JSON of Chrome's `about:tracing`: of PyTorch, of TensorBoard, of others."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

from quickfit import trust
from quickfit.errors import RecordingError
from quickfit.profiles.device_work import Profile
from quickfit.profiles.xplane import Line, Plane, profile_of

# JSON takes some ten times its length in memory.
MAX_TEXT_BYTES = 500_000_000
# What PyTorch calls the work of a GPU.
_GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def read_chrome(path: Path) -> Profile:
    """Read a trace, packed with gzip or not.

    Raises:
        RecordingError: it is no such trace, is too large, or holds no work of a device.
    """
    data = trust.read_regular(path)
    try:
        text = _unpacked(data, path) if data[:2] == b"\x1f\x8b" else data
        trace = json.loads(text)
        events = trace.get("traceEvents") if isinstance(trace, dict) else trace
        if not isinstance(events, list):
            raise ValueError("it has no list `traceEvents`")
        planes = _planes(events)
    except (ValueError, RecursionError, zlib.error) as error:
        raise RecordingError(
            f"{path}: this is no trace of Chrome's kind ({error!s:.100}).\n"
            "A trace is JSON with a list `traceEvents`; was it written to its end?"
        ) from error
    return profile_of(planes, path, "a Chrome trace")


def _unpacked(data: bytes, path: Path) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    text = unpacker.decompress(data, MAX_TEXT_BYTES)
    if unpacker.unconsumed_tail:
        raise RecordingError(
            f"{path}: this trace is too large to be read.\n"
            f"Received: more than {MAX_TEXT_BYTES:,} bytes of JSON\n"
            "Profile fewer steps: ten say as much as a thousand."
        )
    if not unpacker.eof:
        raise ValueError("the packed file ends in its middle")
    return text


def _planes(events: list[Any]) -> list[Plane]:  # Any: JSON
    """Return processes as planes and threads as lines; of PyTorch, GPUs and their streams."""
    names: dict[Any, str] = {}
    threads: dict[tuple[Any, Any], str] = {}
    planes: dict[str, dict[str, Line]] = {}
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "M":
            said = event.get("args")
            name = str(said.get("name", ""))[:1000] if isinstance(said, dict) else ""
            if event.get("name") == "process_name":
                names[_key(event.get("pid"))] = name
            elif event.get("name") == "thread_name":
                threads[_key(event.get("pid")), _key(event.get("tid"))] = name
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        begin_us, length_us = _number(event.get("ts")), _number(event.get("dur", 0))
        pid, tid = _key(event.get("pid")), _key(event.get("tid"))
        plane, line = names.get(pid, f"process {pid}"), threads.get((pid, tid), f"thread {tid}")
        said = event.get("args")
        facts: dict[str, Any] = said if isinstance(said, dict) else {}
        if event.get("cat") in _GPU_WORK:
            plane, line = f"GPU {facts.get('device', pid)}", f"Stream {facts.get('stream', tid)}"
        begin_ns = round(begin_us * 1000)
        span = (begin_ns, begin_ns + round(length_us * 1000), str(event.get("name", ""))[:1000])
        planes.setdefault(plane, {}).setdefault(line, Line(line)).events.append(span)
    return [Plane(name, list(lines.values())) for name, lines in planes.items()]


def _key(value: Any) -> str:  # Any: JSON
    return str(value)[:100]


def _number(value: Any) -> float:  # Any: JSON
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or abs(value) > 1e18:
        raise ValueError(f"a time that is {value!r:.40}")
    if value < 0:
        raise ValueError(f"a time that is negative: {value!r:.40}")
    return float(value)
