"""Checks whether a machine is set up to train fast; every check is a line of `quickfit doctor`.

Everything is read below a root folder, so that a tree of files can stand for a machine. What a
framework sees is asked in a child process and comes in as facts.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from quickfit import units
from quickfit.machine.capacity import cores_in_groups, free_in_groups
from quickfit.machine.devices import Facts, problem_in_use, unused_reason
from quickfit.machine.file_systems import file_system_of, is_remote

# The shared memory that Docker gives a container unless asked for more.
SMALL_SHM_BYTES = 64 * 2**20
# Swap that is in use while a training waits for it; less is old pages that were never asked for.
MUCH_SWAP_BYTES = 256 * 10**6
# A training with less of it free is often ended by the system.
LITTLE_MEMORY_BYTES = 2 * 10**9
# A hard disk reads 100 to 200 MB/s in one piece; an input pipeline of images wants more.
SLOW_DISK_BYTES_PER_S = 200e6
# How long a disk is read, and how much at most: enough for a rate within some ten percent.
_READ_S, _READ_BYTES, _BLOCK_BYTES = 0.5, 256 * 10**6, 4 * 2**20
# Files that are looked through for some that are large enough to measure a disk with.
_MAX_FILES, _MIN_FILE_BYTES = 5_000, 8 * 10**6
_THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


class State(StrEnum):
    """What a check says."""

    OK = "ok"
    WARNING = "warning"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Check:
    """One line of `quickfit doctor`.

    Args:
        topic: what was looked at, in a word or two.
        state: ok, a warning, or not known.
        summary: what was found.
        advice: what to type; empty where nothing is to be done.
    """

    topic: str
    state: State
    summary: str
    advice: str = ""


@dataclass(frozen=True)
class Setup:
    """What the checks are about.

    Args:
        devices: of `devices.machine_facts`.
        tensorflow: of `frameworks.tensorflow_facts`, or `error`; empty where it is not installed.
        versions: of the installed packages.
        others: what other installed frameworks see, by name.
        environ: the variables that a script would be started with.
        folder: where the data lies.
        root: where the file system of the machine begins.
    """

    devices: Facts
    tensorflow: Facts
    versions: Mapping[str, str]
    others: Mapping[str, Facts] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)
    root: Path = Path("/")


def check_setup(setup: Setup) -> list[Check]:
    """Return what is well, what is not, and what could not be found out."""
    return [
        *_devices(setup),
        *_frameworks(setup),
        *_version_pairs(setup.versions),
        *_cores(setup),
        *_memory(setup),
        *_shared_memory(setup),
        *_data_folder(setup),
    ]


# -- devices ------------------------------------------------------------------------------------


def _devices(setup: Setup) -> Iterator[Check]:
    machine = [str(name) for name in setup.devices.get("machine_accelerators") or ()]
    cards = _cards(setup.devices, machine)
    facts = {**setup.devices, **setup.tensorflow}
    seen = [name for kind, name in facts.get("tensorflow_devices") or () if kind in ("GPU", "TPU")]
    around = setup.devices.get("surroundings") or {}
    if "tensorflow_devices" not in facts:
        why = "TensorFlow could not be asked" if setup.tensorflow else "TensorFlow is not installed"
        yield Check("GPU", State.UNKNOWN, f"{cards or 'none found in this machine'}; {why}")
    elif seen:
        yield Check("GPU", State.OK, f"TensorFlow uses {cards or f'{len(seen)} accelerators'}")
        yield from _beside_used(facts, len(seen))
    elif machine or around.get("has_dxg") or around.get("device_files"):
        reason = unused_reason({**facts, "machine_accelerators": machine or ["NVIDIA card"]})
        name = cards or "an NVIDIA card"
        yield Check(
            "GPU",
            State.WARNING,
            f"{name} is not used by TensorFlow: {reason.what}",
            reason.advice,
        )
    else:
        yield Check("GPU", State.OK, "none in this machine: TensorFlow trains on the CPU")


def _cards(facts: Facts, machine: list[str]) -> str:
    devices = (facts.get("nvidia") or {}).get("devices") or []
    names = [str(device["name"]) for device in devices] or machine
    counted = {name: names.count(name) for name in names}
    return ", ".join(
        f"{number} × {name}" if number > 1 else name for name, number in counted.items()
    )


def _beside_used(facts: Facts, seen: int) -> Iterator[Check]:
    """Say what is not as it could be although TensorFlow uses the cards."""
    devices = (facts.get("nvidia") or {}).get("devices") or []
    visible = facts.get("cuda_visible_devices")
    if seen < len(devices) and not any(device.get("is_mig") for device in devices):
        why = f": CUDA_VISIBLE_DEVICES is {visible!r}" if visible else ""
        yield Check("GPU", State.OK, f"{seen} of {len(devices)} are used{why}")
    problem = problem_in_use(facts)
    if problem is not None:
        yield Check("GPU code", State.WARNING, problem.what, problem.advice)


# -- frameworks ---------------------------------------------------------------------------------


def _frameworks(setup: Setup) -> Iterator[Check]:
    version = setup.tensorflow.get("tensorflow_version")
    if version:
        keras = setup.versions.get("keras")
        beside = f" with Keras {keras}" if keras else ""
        yield Check("TensorFlow", State.OK, f"{version}{beside}")
    elif setup.tensorflow:
        yield Check(
            "TensorFlow",
            State.WARNING,
            f"it cannot be imported: {setup.tensorflow.get('error', 'it did not answer')}",
            "See why: python -c 'import tensorflow'",
        )
    else:
        yield Check(
            "TensorFlow",
            State.WARNING,
            "it is not installed in this environment",
            "pip install tensorflow  # with an NVIDIA GPU: pip install 'tensorflow[and-cuda]'",
        )
    for name, facts in setup.others.items():
        label = {"jax": "JAX", "torch": "PyTorch"}.get(name, name)
        if "error" in facts:
            yield Check(label, State.UNKNOWN, f"it cannot be asked: {facts['error']}")
            continue
        devices = [one for one in facts.get(f"{name}_devices") or () if one != "cpu"]
        used = f"{len(devices)} accelerators" if devices else "the CPU"
        yield Check(label, State.OK, f"{setup.versions.get(name, '')} uses {used}".strip())


def _version_pairs(versions: Mapping[str, str]) -> Iterator[Check]:
    """Yield pairs of versions that are known not to work together, or to be slow."""
    builds = [name for name in versions if name in ("tensorflow", "tensorflow-cpu")]
    if len(builds) > 1:
        yield Check(
            "versions",
            State.WARNING,
            "tensorflow and tensorflow-cpu are both installed, and overwrite each other's files",
            "pip uninstall tensorflow-cpu tensorflow, then install the one you want",
        )
    tensorflow = _number(versions.get(builds[0])) if builds else ()
    numpy, keras = _number(versions.get("numpy")), _number(versions.get("keras"))
    if not tensorflow:
        return
    if numpy >= (2, 0) and tensorflow < (2, 18):
        yield Check(
            "versions",
            State.WARNING,
            f"TensorFlow {versions[builds[0]]} is built for NumPy 1, and NumPy"
            f" {versions['numpy']} is installed",
            "pip install 'numpy<2'",
        )
    if keras >= (3, 0) and tensorflow < (2, 16):
        yield Check(
            "versions",
            State.WARNING,
            f"TensorFlow {versions[builds[0]]} needs Keras 2, and Keras {versions['keras']} is"
            " installed",
            f"pip install 'keras=={tensorflow[0]}.{tensorflow[1]}.*'",
        )
    if keras and keras < (3, 0) and tensorflow >= (2, 16):
        yield Check(
            "versions",
            State.WARNING,
            f"TensorFlow {versions[builds[0]]} needs Keras 3, and Keras {versions['keras']} is"
            " installed",
            "pip install 'keras>=3.3'  # for Keras 2: pip install tf-keras, TF_USE_LEGACY_KERAS=1",
        )


def _number(version: str | None) -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(match[1]), int(match[2])) if match else ()


# -- cores and memory ---------------------------------------------------------------------------


def _cores(setup: Setup) -> Iterator[Check]:
    machine = _cores_in(_read(setup.root / "sys/devices/system/cpu/online"))
    status = _read(setup.root / "proc/self/status")
    match = re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.M)
    bound = _cores_in(match[1]) if match else machine
    if not bound:
        yield Check("cores", State.UNKNOWN, "the system does not say how many there are")
        return
    groups, own = setup.root / "sys/fs/cgroup", _read(setup.root / "proc/self/cgroup")
    usable = min([float(bound), *cores_in_groups(groups, own)])
    threads = {name: int(setup.environ[name]) for name in _THREADS if _is_number(setup, name)}
    whole = max(1, round(usable))
    wanted = " ".join(f"{name}={whole}" for name in _THREADS)
    summary = f"{usable:g} of {max(machine, bound)}" if usable < machine else f"{usable:g}"
    # TensorFlow makes a thread for every core that it sees, also where a quota forbids their use.
    if usable <= 0.5 * bound and "TF_NUM_INTRAOP_THREADS" not in threads:
        yield Check(
            "cores",
            State.WARNING,
            f"the container may use {usable:g} cores, and TensorFlow makes threads for the"
            f" {bound} it sees: they take the time from each other",
            f"{wanted} quickfit run train.py",
        )
    else:
        yield Check("cores", State.OK, f"{summary} may be used")
    few = [
        name for name, number in threads.items() if 0 < number < usable / 2 and "INTER" not in name
    ]
    many = [name for name, number in threads.items() if number > 2 * usable]
    if few:
        yield Check(
            "threads",
            State.WARNING,
            f"{few[0]} is {threads[few[0]]} on {usable:g} cores: the others have nothing to do",
            f"unset {' '.join(few)}",
        )
    if many:
        yield Check(
            "threads",
            State.WARNING,
            f"{many[0]} is {threads[many[0]]} on {usable:g} cores: threads take turns on them",
            f"unset {' '.join(many)}",
        )


def _is_number(setup: Setup, name: str) -> bool:
    return setup.environ.get(name, "").strip().isdecimal()


def _cores_in(listed: str) -> int:
    """Return how many cores a list names: of `0-3,8`, five."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", listed.strip())
    return sum(int(last or first) - int(first) + 1 for first, last in ranges)


def _memory(setup: Setup) -> Iterator[Check]:
    lines = re.findall(r"^(\w+):\s+(\d+) kB", _read(setup.root / "proc/meminfo"), re.M)
    facts = {name: int(number) * 1024 for name, number in lines}
    total, available = facts.get("MemTotal"), facts.get("MemAvailable")
    if total is None or available is None:
        yield Check("memory", State.UNKNOWN, "the system does not say how much there is")
        return
    groups, own = setup.root / "sys/fs/cgroup", _read(setup.root / "proc/self/cgroup")
    free = min([available, *free_in_groups(groups, own)])
    limit = " (the limit of the container)" if free < available else ""
    said = f"{units.size(free)} free of {units.size(total)}{limit}"
    if free < LITTLE_MEMORY_BYTES:
        yield Check(
            "memory",
            State.WARNING,
            said,
            "See what holds it: ps aux --sort=-rss | head",
        )
    else:
        yield Check("memory", State.OK, said)
    swapped = facts.get("SwapTotal", 0) - facts.get("SwapFree", 0)
    if swapped > MUCH_SWAP_BYTES:
        yield Check(
            "swap",
            State.WARNING,
            f"{units.size(swapped)} are in use: what was moved there is a thousand times slower",
            "See who swaps: smem -rs swap, or: vmstat 1 5",
        )


def _shared_memory(setup: Setup) -> Iterator[Check]:
    kind, options = file_system_of(Path("/dev/shm"), mounts=setup.root / "proc/mounts")
    match = re.search(r"\bsize=(\d+)([kmg]?)", options)
    if kind != "tmpfs":
        yield Check("/dev/shm", State.UNKNOWN, "there is none that can be asked")
    elif match is None:
        yield Check("/dev/shm", State.OK, "up to half of the memory")
    else:
        size = int(match[1]) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}[match[2]]
        if size <= SMALL_SHM_BYTES:
            yield Check(
                "/dev/shm",
                State.WARNING,
                f"{units.size(size)}: too small for worker processes that hand on batches",
                "Start the container with: docker run --shm-size=8g …",
            )
        else:
            yield Check("/dev/shm", State.OK, f"{units.size(size)}")


# -- the data folder ----------------------------------------------------------------------------


def _data_folder(setup: Setup) -> Iterator[Check]:
    kind, _ = file_system_of(setup.folder, mounts=setup.root / "proc/mounts")
    where = f"{kind or 'a file system'} at {setup.folder.resolve()}"
    if not kind:
        yield Check("data", State.UNKNOWN, f"the file system of {setup.folder.resolve()}")
        return
    on_windows = bool(re.match(r"/mnt/[a-z](/|$)", str(setup.folder.resolve()))) and kind == "9p"
    if on_windows:
        yield Check(
            "data",
            State.WARNING,
            f"{where}: a disk of Windows, through WSL, reads small files ten times slower",
            "Copy the data into Linux: cp -r DATA ~/data",
        )
    elif is_remote(kind):
        yield Check(
            "data",
            State.WARNING,
            f"{where}: its files come from elsewhere",
            "Copy the data to a disk of this machine, or pack it: quickfit pack DATA packed/",
        )
    else:
        yield Check("data", State.OK, where)
    rate = disk_rate(setup.folder)
    if rate is None:
        yield Check("disk speed", State.UNKNOWN, "no file of 8 MB or more there to measure it with")
    elif rate < SLOW_DISK_BYTES_PER_S:
        yield Check(
            "disk speed",
            State.WARNING,
            f"{units.size(rate)}/s read past the cache: images will be waited for in the first"
            " epoch",
            "Put the data on a faster disk, or pack it: quickfit pack DATA packed/",
        )
    else:
        yield Check("disk speed", State.OK, f"{units.size(rate)}/s read past the cache")


def disk_rate(folder: Path) -> float | None:
    """Return how fast the largest files of a folder are read past the cache; None without any.

    Nothing is written, and what the cache holds stays in it.
    """
    files = sorted(_large_files(folder), reverse=True)[:20]
    buffer = mmap.mmap(-1, _BLOCK_BYTES)  # aligned to a page, as reading past the cache wants
    read, began_s = 0, time.perf_counter()
    until_s = began_s + _READ_S
    for _, file in files:
        with contextlib.suppress(OSError):
            number = os.open(file, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECT", 0))
            try:
                while time.perf_counter() < until_s and read < _READ_BYTES:
                    took = os.readv(number, [buffer])
                    read += took
                    if took < _BLOCK_BYTES:
                        break
            finally:
                os.close(number)
    seconds = time.perf_counter() - began_s
    return read / seconds if read >= _MIN_FILE_BYTES / 2 and hasattr(os, "O_DIRECT") else None


def _large_files(folder: Path) -> Iterator[tuple[int, str]]:
    looked = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            looked += 1
            if looked > _MAX_FILES:
                return
            with contextlib.suppress(OSError):
                facts = os.stat(os.path.join(place, name), follow_symlinks=False)
                if facts.st_size >= _MIN_FILE_BYTES and (facts.st_mode & 0o170000) == 0o100000:
                    yield facts.st_size, os.path.join(place, name)


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def as_json(checks: list[Check]) -> dict[str, Any]:
    """Return checks as plain values."""
    return {
        "checks": [
            {"topic": c.topic, "state": str(c.state), "summary": c.summary, "advice": c.advice}
            for c in checks
        ],
        "warnings": sum(check.state == State.WARNING for check in checks),
    }
