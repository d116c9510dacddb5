"""Reads `.xplane.pb`, which the profilers of TensorFlow and JAX write, without either of them.

It is a protocol buffer: spaces of planes (a device or the host), of lines (a stream, a thread), of
events whose names and facts lie in tables of the plane. Fields are read by number; unknown ones are
passed over, so that newer profilers can be read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quickfit import trust
from quickfit.errors import RecordingError
from quickfit.profiles.device_work import (
    DeviceEvent,
    DeviceWork,
    Gap,
    OddProfileError,
    Profile,
    ProfileStep,
    add_up,
)

MAX_BYTES = 1_000_000_000
MAX_EVENTS = 20_000_000
# Lines of a device that say in other words what its streams say.
DERIVED = re.compile(
    r"^(Steps|XLA Modules|TensorFlow Name Scope|TensorFlow Ops|Source code|Framework|"
    r"Launch Stats|XLA TraceMe|Async XLA Ops|Sparse Core)",
    re.I,
)
DEVICE = re.compile(r"^/device:(?!CUSTOM)|^(GPU|TPU)\b", re.I)
# `while/body/conv2d/Conv2D:Conv2D`: an operation of a graph and its kind.
OPERATION = re.compile(r"^(?P<node>[A-Za-z0-9_.][A-Za-z0-9_./\\-]*):(?P<kind>[A-Z][A-Za-z0-9_]*)$")
_STEP = re.compile(r"^(?:train|TraceContext|Step|TrainStep)\b", re.I)


class _BrokenError(ValueError):
    """The bytes are no message of this kind."""


@dataclass
class Line:
    """A stream of a device or a thread of the host: events as begin, end (ns) and name."""

    name: str
    events: list[tuple[int, int, str]] = field(default_factory=list)


@dataclass
class Plane:
    """A device or the host."""

    name: str
    lines: list[Line] = field(default_factory=list)


def read_xplane(path: Path) -> Profile:
    """Read a profile of TensorFlow or JAX.

    Raises:
        RecordingError: it is damaged, or holds no work of a device.
    """
    data = trust.read_regular(path, MAX_BYTES)
    try:
        planes = list(planes_of(data))
    except (_BrokenError, struct.error, IndexError, OverflowError) as error:
        raise RecordingError(
            f"{path}: this .xplane.pb is damaged ({error}).\n"
            "Profile the run again:\n    quickfit run --help"
        ) from error
    return profile_of(planes, path, "TensorFlow's or JAX's profiler")


def profile_of(planes: list[Plane], path: Path, kind: str) -> Profile:
    """Return planes of devices and the host as a profile.

    Raises:
        RecordingError: there is no work of a device in them.
    """
    devices = [plane for plane in planes if DEVICE.search(plane.name)]
    found = {plane.name: list(_device_events(plane)) for plane in devices}
    found = {name: events for name, events in found.items() if events}
    notes: list[str] = []
    if not found:
        host = [event for plane in planes for event in _host_operations(plane)]
        if host:
            found = {"CPU": host}
            notes.append(
                "No GPU was profiled: operations of the CPU are shown. Those of several threads"
                " overlap, and each moment counts for the one that began first."
            )
    if not found:
        raise RecordingError(
            f"{path}: this profile holds no work of a device.\n"
            f"Received: {len(planes)} planes ({', '.join(p.name[:40] for p in planes[:5])})\n"
            "Profile steps of a training:\n"
            "    tf.profiler.experimental.start('logs'); …; tf.profiler.experimental.stop()"
        )
    begin_ns = min(event.begin_ns for events in found.values() for event in events)
    end_ns = max(event.end_ns for events in found.values() for event in events)
    profile = Profile(kind, [], notes=notes)
    for name, events in sorted(found.items()):
        work = DeviceWork(name, begin_ns, end_ns)
        try:
            add_up(work, sorted(events), _reason)
        except OddProfileError as error:
            raise RecordingError(
                f"{path}: this profile is damaged ({error}).\nProfile the run again."
            ) from error
        profile.devices.append(work)
    profile.steps = [
        ProfileStep(name, begin, end)
        for plane in planes
        for line in plane.lines
        if line.name == "Steps"
        for begin, end, name in line.events
    ]
    return profile


def _reason(gap: Gap) -> tuple[str, str]:
    return "unknown", "this kind of profile does not say what the host did"


def _device_events(plane: Plane) -> Iterator[DeviceEvent]:
    lines = [line for line in plane.lines if not DERIVED.search(line.name)]
    # Of a TPU or a compiled module the operations have a line of their own.
    own = [line for line in lines if line.name.startswith(("Stream", "XLA Ops"))] or lines
    for line in own:
        for begin_ns, end_ns, name in line.events:
            kind = "kernel"
            if re.match(r"mem(cpy|set)", name, re.I):
                kind = "memset" if name.lower().startswith("memset") else "copy"
            elif name.startswith("nccl"):
                kind = "communication"
            yield DeviceEvent(begin_ns, end_ns, kind, name)


def _host_operations(plane: Plane) -> Iterator[DeviceEvent]:
    """Yield what threads of the host computed; of operations within each other the outer one."""
    for line in plane.lines:
        until_ns = -1
        for begin_ns, end_ns, name in sorted(line.events, key=lambda one: (one[0], -one[1])):
            match = OPERATION.match(name)
            if match is not None and begin_ns >= until_ns:
                until_ns = end_ns
                yield DeviceEvent(begin_ns, end_ns, match["kind"], match["node"])


# -- the protocol buffer ------------------------------------------------------------------------


def planes_of(data: bytes) -> Iterator[Plane]:
    """Yield the planes of an XSpace.

    Raises:
        ValueError: it is none.
    """
    budget = [MAX_EVENTS]
    for number, value in _fields(data):
        if number == 1:
            yield _plane(_bytes(value), budget)


def _plane(data: bytes, budget: list[int]) -> Plane:
    names: dict[int, str] = {}
    plane, lines = Plane(""), []
    for number, value in _fields(data):
        if number == 2:
            plane.name = _text(value)
        elif number == 3:
            lines.append(_bytes(value))
        elif number == 4:
            key, name = _named(_bytes(value))
            names[key] = name
    plane.lines = [_line(line, names, budget) for line in lines]
    return plane


def _named(entry: bytes) -> tuple[int, str]:
    """Return number and name of an entry of the table of events."""
    number, name = 0, ""
    for place, value in _fields(entry):
        if place == 1:
            number = _number(value)
        elif place == 2:
            for inner, text in _fields(_bytes(value)):
                if inner == 2:
                    name = _text(text)
    return number, name


def _line(data: bytes, names: dict[int, str], budget: list[int]) -> Line:
    line, begin_ns, events = Line(""), 0, []
    for number, value in _fields(data):
        if number in (2, 11) and _text(value):
            line.name = _text(value)
        elif number == 3:
            begin_ns = _number(value)
        elif number == 4:
            events.append(_bytes(value))
    budget[0] -= len(events)
    if budget[0] < 0:
        raise _BrokenError(f"more than {MAX_EVENTS:,} events")
    for event in events:
        facts = {1: 0, 2: 0, 3: 0}
        for number, value in _fields(event):
            if number in facts:
                facts[number] = _number(value)
        at_ns = begin_ns + facts[2] // 1000
        line.events.append((at_ns, at_ns + facts[3] // 1000, names.get(facts[1], "")))
    return line


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: number, and a whole number or bytes."""
    place, end = 0, len(data)
    while place < end:
        tag, place = _varint(data, place)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise _BrokenError("a field without a number")
        if wire == 0:
            value, place = _varint(data, place)
            yield number, value
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            if place + size > end:
                raise _BrokenError("it ends within a number")
            yield number, data[place : place + size]
            place += size
        elif wire == 2:
            size, place = _varint(data, place)
            if place + size > end:
                raise _BrokenError("it ends within a field")
            yield number, data[place : place + size]
            place += size
        else:
            raise _BrokenError(f"a field of the unknown kind {wire}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift < 64:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
    raise _BrokenError("it ends within a number")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _BrokenError("a number where a message belongs")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value)[:1000].decode("utf-8", "replace")


def _number(value: int | bytes) -> int:
    """Return a whole number; negative ones are written as large."""
    if not isinstance(value, int):
        raise _BrokenError("bytes where a number belongs")
    return value - (1 << 64) if value >= 1 << 63 else value
