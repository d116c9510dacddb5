"""Which accelerators the machine has, and why a framework does not use them.

The facts are plain values that a recording can hold: `quickfit run` records them, `quickfit doctor`
reads them on the spot, and both ask `unused_reason` for the reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
# PCI classes: VGA controller, 3D controller, processing accelerator.
_CLASSES = ("0x0300", "0x0302", "0x1200")
# Within a major version of CUDA, a program runs on the oldest driver of that version or newer.
_OLDEST_DRIVERS = {11: "450.80", 12: "525.60", 13: "580.65"}

Facts = Mapping[str, Any]  # JSON values by name
Read = Callable[[str], str | None]


def machine_facts(root: Path = Path("/"), *, read: Read | None = None) -> dict[str, Any]:
    """Return what the machine shows of its accelerators, without a framework.

    Args:
        root: where the file system of the machine begins.
        read: returns what a small file says, or None.
    """
    read = read or _text
    nvidia = nvml_facts()
    names = [str(device["name"]) for device in nvidia.get("devices", ())]
    return {
        "machine_accelerators": [*pci_accelerators(root / "sys", read=read), *names],
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "nvidia": nvidia,
        "surroundings": surroundings(root, read=read),
    }


def pci_accelerators(sysfs: Path, *, read: Read | None = None) -> list[str]:
    """Return the graphics and compute cards on the PCI bus, as sysfs lists them.

    A plain display adapter of a server or a virtual machine is no accelerator: only cards
    of vendors that TensorFlow can use count, and Intel's only as a compute device.
    """
    read = read or _text
    found = []
    for device in sorted(sysfs.glob("bus/pci/devices/*")):
        vendor = (read(str(device / "vendor")) or "").strip()
        kind = (read(str(device / "class")) or "").strip()[:6]
        if kind in _CLASSES and vendor in _VENDORS and (vendor != "0x8086" or kind == "0x1200"):
            found.append(f"{_VENDORS[vendor]} card at {device.name}")
    return found


def nvml_facts() -> dict[str, Any]:
    """Return what NVIDIA's own library says of driver and cards; `error` where it says nothing."""
    try:
        import pynvml
    except Exception as error:  # noqa: BLE001 - a broken package says no more than a missing one
        return {"error": f"the Python package nvidia-ml-py: {error}"}
    try:
        pynvml.nvmlInit()
    except Exception as error:  # noqa: BLE001 - no driver, no library, no permission
        return {"error": str(error)}
    try:
        cuda = int(_asked(pynvml.nvmlSystemGetCudaDriverVersion_v2) or 0)
        facts = {
            "driver": str(_asked(pynvml.nvmlSystemGetDriverVersion) or ""),
            "cuda": [cuda // 1000, cuda % 1000 // 10] if cuda else [],
            "devices": [_device(pynvml, place) for place in range(pynvml.nvmlDeviceGetCount())],
        }
    except Exception as error:  # noqa: BLE001 - a card that was lost while it was asked
        return {"error": str(error)}
    finally:
        _asked(pynvml.nvmlShutdown)
    return facts


def _device(pynvml: Any, place: int) -> dict[str, Any]:  # a module without types
    handle = pynvml.nvmlDeviceGetHandleByIndex(place)
    mig = _asked(pynvml.nvmlDeviceGetMigMode, handle)
    memory = _asked(pynvml.nvmlDeviceGetMemoryInfo, handle)
    name = _asked(pynvml.nvmlDeviceGetName, handle) or "NVIDIA card"
    return {
        "name": name.decode() if isinstance(name, bytes) else str(name),
        "capability": list(_asked(pynvml.nvmlDeviceGetCudaComputeCapability, handle) or ()),
        "is_mig": bool(mig and mig[0]),
        "memory_bytes": int(memory.total) if memory is not None else None,
    }


def _asked(question: Callable[..., Any], *values: Any) -> Any:  # whatever NVML answers
    """Return an answer of NVML, or None: an older driver or a small card does not know them all."""
    try:
        return question(*values)
    except Exception:  # noqa: BLE001 - its errors are made at run time, one class per code
        return None


def surroundings(root: Path = Path("/"), *, read: Read | None = None) -> dict[str, Any]:
    """Return what lies between the cards and a process: driver, device files, container."""
    read = read or _text
    files = sorted(root.glob("dev/nvidia[0-9]*"))
    closed = [file.name for file in files if not os.access(file, os.R_OK | os.W_OK)]
    kernel = read(str(root / "proc/version")) or ""
    return {
        "has_driver": (root / "proc/driver/nvidia/version").exists(),
        "has_nouveau": (root / "sys/module/nouveau").exists(),
        "device_files": len(files),
        "closed_files": closed,
        "is_wsl": "microsoft" in kernel.lower(),
        "has_dxg": (root / "dev/dxg").exists(),
        "is_container": is_container(root),
    }


def is_container(root: Path = Path("/")) -> bool:
    """Tell whether this process runs in a container."""
    marks = (".dockerenv", "run/.containerenv")
    return any((root / mark).exists() for mark in marks) or "container" in os.environ


@dataclass(frozen=True)
class DeviceProblem:
    """Why a framework leaves an accelerator alone or uses it badly, and what to type."""

    what: str
    advice: str


def unused_reason(facts: Facts) -> DeviceProblem:
    """Return why TensorFlow does not use the accelerators of a machine that has some.

    Args:
        facts: of `machine_facts` and `frameworks.tensorflow_facts`. Older recordings have fewer.
    """
    visible = facts.get("cuda_visible_devices")
    if isinstance(visible, str) and visible.strip() in ("", "-1", "NoDevFiles"):
        return DeviceProblem(
            f"CUDA_VISIBLE_DEVICES is {visible!r}, which hides every GPU",
            "Start the script without it: env -u CUDA_VISIBLE_DEVICES python …",
        )
    names = facts.get("machine_accelerators") or [""]
    has_nvidia = any("NVIDIA" in name for name in names) or bool(_devices(facts))
    if not has_nvidia:
        return _other_vendor(facts, str(names[0]))
    version = facts.get("tensorflow_version") or ""
    if not facts.get("tensorflow_cuda_build"):
        build = "for AMD's GPUs" if facts.get("tensorflow_rocm_build") else "for the CPU only"
        return DeviceProblem(
            f"the installed TensorFlow {version} is built {build}",
            f"Install the build with CUDA: pip install 'tensorflow[and-cuda]=={version}'",
        )
    return _driver_reason(facts) or _build_reason(facts) or _unknown_reason(visible)


def _other_vendor(facts: Facts, name: str) -> DeviceProblem:
    if name.startswith("AMD") and not facts.get("tensorflow_rocm_build"):
        return DeviceProblem(
            f"the installed TensorFlow {facts.get('tensorflow_version') or ''} is not built for"
            " AMD's GPUs",
            "Install ROCm and the build for it: pip install tensorflow-rocm",
        )
    if name.startswith("AMD"):
        return DeviceProblem(
            "TensorFlow is built for AMD's GPUs but cannot open the card: driver or permission",
            "See which cards ROCm sees: rocminfo",
        )
    return DeviceProblem(
        "TensorFlow itself does not use Intel's cards; a plug-in of Intel does",
        "pip install intel-extension-for-tensorflow[xpu]  # for the versions that it knows",
    )


def _driver_reason(facts: Facts) -> DeviceProblem | None:
    """Return what is wrong below the framework; None where nothing is, or nothing is known."""
    around = facts.get("surroundings") or {}
    nvidia = facts.get("nvidia") or {}
    if around.get("is_wsl"):
        if not around.get("has_dxg"):
            return DeviceProblem(
                "WSL gives this Linux no GPU (/dev/dxg is missing)",
                "In PowerShell: wsl --update, then wsl --set-version DISTRIBUTION 2",
            )
    elif around and not _devices(facts):
        if around.get("closed_files"):
            return DeviceProblem(
                f"this user may not open /dev/{around['closed_files'][0]}",
                'Join the group of the file: sudo usermod -aG "$(stat -c %G'
                f' /dev/{around["closed_files"][0]})" $USER, and log in again',
            )
        if around.get("is_container") and not around.get("device_files"):
            return DeviceProblem(
                "this container was started without the GPU (no /dev/nvidia0 in it)",
                "Start it with: docker run --gpus all …  # needs the NVIDIA Container Toolkit",
            )
        if not around.get("has_driver"):
            other = "; nouveau is loaded in its place" if around.get("has_nouveau") else ""
            return DeviceProblem(
                f"the NVIDIA driver is not loaded{other}",
                "Install it and restart: sudo ubuntu-drivers install  # or your distribution's way",
            )
    if "mismatch" in str(nvidia.get("error", "")).lower():
        return DeviceProblem(
            "the NVIDIA driver was updated while it was loaded: library and kernel differ",
            "Restart the machine: sudo reboot",
        )
    return None


def _build_reason(facts: Facts) -> DeviceProblem | None:
    """Return what is wrong between driver, libraries and the build of TensorFlow."""
    nvidia, build = facts.get("nvidia") or {}, facts.get("tensorflow_build") or {}
    version = facts.get("tensorflow_version") or ""
    needs, has = _version(build.get("cuda")), tuple(nvidia.get("cuda") or ())
    if needs and len(has) == 2 and has[0] < needs[0]:
        oldest = _OLDEST_DRIVERS.get(needs[0])
        return DeviceProblem(
            f"the driver {nvidia.get('driver')} knows CUDA {has[0]}.{has[1]}, and TensorFlow"
            f" {version} needs CUDA {needs[0]}",
            f"Update the driver to {oldest} or newer" if oldest else "Update the driver",
        )
    missing = build.get("missing") or []
    if missing:
        return DeviceProblem(
            f"libraries of CUDA are missing: {', '.join(map(str, missing))}",
            f"Install them with TensorFlow: pip install 'tensorflow[and-cuda]=={version}'",
        )
    old = old_device(facts)
    if old is not None:
        return DeviceProblem(
            f"{old} is older than what TensorFlow {version} is built for",
            "Install an older TensorFlow, which is built for it: pip install 'tensorflow<2.15'",
        )
    if any(device.get("is_mig") for device in _devices(facts)):
        return DeviceProblem(
            "the GPU is cut into MIG instances, and TensorFlow found none",
            "List them, and choose one: nvidia-smi -L; CUDA_VISIBLE_DEVICES=MIG-… python …",
        )
    return None


def _unknown_reason(visible: object) -> DeviceProblem:
    hidden = f" (CUDA_VISIBLE_DEVICES is {visible!r})" if visible else ""
    return DeviceProblem(
        f"TensorFlow has CUDA but cannot open the GPU: driver or libraries{hidden}",
        "See why: TF_CPP_MIN_LOG_LEVEL=0 python -c 'import tensorflow as tf;"
        ' print(tf.config.list_physical_devices("GPU"))\'',
    )


def problem_in_use(facts: Facts) -> DeviceProblem | None:
    """Return what is not as it could be with a card that TensorFlow uses.

    Args:
        facts: as for `unused_reason`.
    """
    built = _built_for(facts)
    for device in _devices(facts):
        capability = tuple(device.get("capability") or ())
        # Code for another minor version of the same generation runs as it is.
        if built and capability and capability[0] > max(built)[0]:
            return DeviceProblem(
                f"{_named(device)} is newer than TensorFlow {facts.get('tensorflow_version')}: its"
                " code is compiled when it first runs, which takes minutes",
                "Install a newer TensorFlow, or keep what was compiled:"
                " export CUDA_CACHE_MAXSIZE=4294967296",
            )
    return None


def old_device(facts: Facts) -> str | None:
    """Return a card that is older than every kernel of the build; None where there is none."""
    built = _built_for(facts)
    for device in _devices(facts):
        capability = tuple(device.get("capability") or ())
        if built and capability and capability < min(built):
            return _named(device)
    return None


def _named(device: Mapping[str, Any]) -> str:
    return f"{device['name']} (compute capability {'.'.join(map(str, device['capability']))})"


def _devices(facts: Facts) -> list[dict[str, Any]]:
    return (facts.get("nvidia") or {}).get("devices") or []


def _built_for(facts: Facts) -> list[tuple[int, ...]]:
    """Return the compute capabilities that TensorFlow was built for: of `sm_89`, (8, 9)."""
    named = (facts.get("tensorflow_build") or {}).get("capabilities") or []
    digits = [str(name).rpartition("_")[2].replace(".", "") for name in named]
    return [(int(text[:-1]), int(text[-1])) for text in digits if text.isdecimal() and text[1:]]


def _version(text: object) -> tuple[int, ...]:
    parts = str(text or "").split(".")
    return tuple(int(part) for part in parts[:2]) if all(p.isdecimal() for p in parts[:2]) else ()


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return None
