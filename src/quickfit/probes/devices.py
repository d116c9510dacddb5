"""Finds out which accelerators the machine has, which TensorFlow sees, and which were asked for."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

from quickfit.machine.devices import machine_facts
from quickfit.machine.frameworks import tensorflow_facts
from quickfit.probes._guard import guarded
from quickfit.probes._hooks import wrap_quick
from quickfit.probes._imports import Patch
from quickfit.probes._places import user_place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State
from quickfit.probes._system_files import text

OPS = "tensorflow.python.framework.ops"
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
    for name, value in machine_facts(read=text).items():
        _put(state, name, value)
    _read_tensorflow(state)


def _put(state: State, name: str, value: Any) -> None:
    state.writer.add("meta", (name, json.dumps(value, default=str)))


def _read_tensorflow(state: State) -> None:
    tensorflow: Any = sys.modules.get("tensorflow")
    if tensorflow is None:
        return
    for name, value in tensorflow_facts(tensorflow).items():
        _put(state, name, value)
    keras: Any = sys.modules.get("keras")
    if keras is not None:
        _put(state, "keras_version", getattr(keras, "__version__", None))
        _put(state, "keras_backend", keras.config.backend())
