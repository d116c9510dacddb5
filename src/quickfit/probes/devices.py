"""Finds out which accelerators the machine has, which TensorFlow sees, and which were asked for."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from quickfit.probes._guard import guarded
from quickfit.probes._hooks import wrap_quick
from quickfit.probes._imports import Patch
from quickfit.probes._places import user_place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State
from quickfit.probes._system_files import text

OPS = "tensorflow.python.framework.ops"
_VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
# PCI classes: VGA controller, 3D controller, processing accelerator.
_CLASSES = ("0x0300", "0x0302", "0x1200")
_MAX_REQUESTS = 20


def new_probe() -> Probe:
    """Return the probe of devices."""
    return Probe("devices", needs=(OPS,))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {OPS: _patch_ops}


def _patch_ops(module: ModuleType) -> None:
    state = Current.state
    if state is not None:
        probe = state.probes["devices"]
        guarded(probe, lambda: wrap_quick(module, "device_v2", _device_requested))()
        if not probe.is_off:
            probe.mark_active(module.__name__)


def _device_requested(_: Any, name: Any = None, *__: Any) -> None:
    # Keras asks for devices all the time; only a user's explicit accelerator is of interest.
    if isinstance(name, str) and ("GPU" in name.upper() or "TPU" in name.upper()):
        state = Current.state
        if state is not None:
            guarded(state.probes["devices"], _keep_request)(name, state)


def _keep_request(name: str, state: State) -> None:
    seen: set[str] = state.kept.setdefault("device_requests", set())
    place = user_place(sys._getframe(4))
    key = f"{name} {place}"
    if place is not None and key not in seen and len(seen) < _MAX_REQUESTS:
        seen.add(key)
        state.source(place)
        state.writer.add("device_requests", (name, place.file, place.line))


def read_once(state: State) -> None:
    """Record the accelerators of the machine and of TensorFlow, once a loop has begun.

    Asking TensorFlow earlier could start CUDA before the script has set it up. NVIDIA's library
    imports a dozen modules that a script may have its own files for; one that trains has imported
    these too. And where a script ends by Ctrl-C, an import would change its exit code.
    """
    if not state.loops or state.kept.get("devices"):
        return
    state.kept["devices"] = True
    _put(state, "machine_accelerators", [*pci_accelerators(Path("/sys")), *_nvml_names()])
    _put(state, "cuda_visible_devices", os.environ.get("CUDA_VISIBLE_DEVICES"))
    _read_tensorflow(state)


def _put(state: State, name: str, value: Any) -> None:
    state.writer.add("meta", (name, json.dumps(value, default=str)))


def _read_tensorflow(state: State) -> None:
    tensorflow: Any = sys.modules.get("tensorflow")
    if tensorflow is None:
        return
    devices = tensorflow.config.list_physical_devices()
    _put(state, "tensorflow_devices", [[d.device_type, d.name] for d in devices])
    _put(state, "tensorflow_visible", [d.name for d in tensorflow.config.get_visible_devices()])
    _put(state, "tensorflow_version", tensorflow.__version__)
    build = tensorflow.sysconfig.get_build_info()
    _put(state, "tensorflow_cuda_build", bool(build.get("is_cuda_build")))
    _put(state, "tensorflow_rocm_build", bool(build.get("is_rocm_build")))
    keras: Any = sys.modules.get("keras")
    if keras is not None:
        _put(state, "keras_version", getattr(keras, "__version__", None))
        _put(state, "keras_backend", keras.config.backend())


def pci_accelerators(sysfs: Path) -> list[str]:
    """Return the graphics and compute cards on the PCI bus, as sysfs lists them.

    A plain display adapter of a server or a virtual machine is no accelerator: only cards
    of vendors that TensorFlow can use count, and Intel's only as a compute device.
    """
    found = []
    for device in sorted(sysfs.glob("bus/pci/devices/*")):
        vendor = (text(str(device / "vendor")) or "").strip()
        kind = (text(str(device / "class")) or "").strip()[:6]
        if kind in _CLASSES and vendor in _VENDORS and (vendor != "0x8086" or kind == "0x1200"):
            found.append(f"{_VENDORS[vendor]} card at {device.name}")
    return found


def _nvml_names() -> list[str]:
    """Return the names NVIDIA's own library gives its cards; empty without the library."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no driver, no library, no permission: then there is nothing to name
        return []
    try:
        count = pynvml.nvmlDeviceGetCount()
        names = [
            pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(i)) for i in range(count)
        ]
        return [name.decode() if isinstance(name, bytes) else str(name) for name in names]
    finally:
        pynvml.nvmlShutdown()
