"""Takes what the hooks of a trial see of its results, and writes it to the scratch folder."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from typing import Any

from quickfit.probes._state import Current
from quickfit.trial import digests
from quickfit.trial.spec import RESULTS_FILE, ROWS_FILE, WEIGHTS_FILE, Spec

# Large rows are kept up to this size; their digests and rough pictures always.
MAX_RAW_BYTES = 64e6
MAX_WEIGHT_BYTES = 512e6
# One epoch is kept in full where it is over by then; no trial of this kind takes longer than that.
EPOCH_S, LONGEST_S = 20.0, 45.0


class Keeper:
    """Takes what the hooks see and writes it to the trial's scratch folder."""

    def __init__(self, spec: Spec) -> None:
        self._folder = spec.scratch
        self._steps = spec.results_steps
        self._file = open(os.path.join(spec.scratch, RESULTS_FILE), "w", buffering=1)  # noqa: SIM115
        self._lock = threading.Lock()
        self._raw: list[Any] = []
        self._raw_bytes = 0.0
        self._saved: dict[str, Any] = {}
        self._iterations: dict[int, int] = {}
        self.uses_xla = _names_xla(spec)
        self._made = 0
        self._began_s: float | None = None
        self.losses = 0
        self.inside = threading.local()
        self._is_over = False

    def write(self, **facts: Any) -> None:
        """Write one line."""
        with self._lock:
            if not self._is_over:
                self._file.write(json.dumps(facts) + "\n")

    def batch(self, channel: str, parts: list[Any]) -> None:
        """Keep a batch."""
        kept = digests.described(parts)
        raw = kept.pop("raw")
        with self._lock:
            for row in raw:
                if self._raw_bytes + row.nbytes <= MAX_RAW_BYTES:
                    self._raw_bytes += row.nbytes
                    self._raw.append(row)
        self.write(kind="batch", channel=channel, **kept)

    def loss(self, channel: str, logs: Any, steps: int) -> None:
        """Keep the loss of a step, or what Keras says after several: running means in `fit`."""
        self.losses += steps
        values = {name: float(value) for name, value in _named(logs).items()}
        told = {name: value.hex() for name, value in values.items()}
        self.write(kind="loss", channel=channel, step=self.losses, values=told)

    def step_is_over(self) -> bool:
        """Keep the weights after a step; tell whether enough was seen."""
        state = Current.state
        now_s = time.monotonic()
        self._began_s = self._began_s or now_s
        took_s = now_s - self._began_s
        optimizers, weights = _optimizers_and_weights()
        steps = self._count(optimizers)
        if steps and steps <= self._steps:
            self.write(kind="weights", step=steps, digest=_digest(weights), time_s=took_s)
            self._save(weights, steps)
        epochs = [loop.epoch for loop in state.loops if loop.trains] if state else []
        is_epoch_over = max(epochs, default=0) > 1
        done = state.steps if state is not None else 0
        is_enough = done > self._steps and (is_epoch_over or took_s > EPOCH_S)
        if is_enough or took_s > LONGEST_S:
            self.finish()
            return True
        return False

    def _count(self, optimizers: list[Any]) -> int:
        """Return the steps of all optimizers so far; one that is made anew begins at zero."""
        for optimizer in optimizers:
            steps = int(optimizer.iterations.numpy())
            before = self._iterations.get(id(optimizer), 0)
            self._made += steps - before if steps >= before else steps
            self._iterations[id(optimizer)] = steps
        return self._made

    def _save(self, weights: list[Any], steps: int) -> None:
        if sum(array.nbytes for array in weights) <= MAX_WEIGHT_BYTES / max(self._steps, 1):
            named = {f"{steps:06d}_{number:05d}": array for number, array in enumerate(weights)}
            self._saved.update(named)

    def finish(self) -> None:
        """Write what was gathered in memory."""
        import numpy as np

        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            self._file.close()
            rows = {f"{number:06d}": row for number, row in enumerate(self._raw)}
        np.savez(os.path.join(self._folder, ROWS_FILE), **rows)
        np.savez(os.path.join(self._folder, WEIGHTS_FILE), **self._saved)


def _names_xla(spec: Spec) -> bool:
    """Tell whether the script asks for XLA anywhere in its own files."""
    files = [spec.files.get(spec.script, spec.script), *spec.files.values()]
    for file in filter(None, files):
        try:
            with open(file, "rb") as source:
                if b"jit_compile" in source.read():
                    return True
        except OSError:
            continue
    return False


def _named(logs: Any) -> dict[str, Any]:
    if isinstance(logs, dict):
        return {str(name): value for name, value in logs.items() if _is_number(value)}
    values = logs if isinstance(logs, list | tuple) else [logs]
    return {str(number): value for number, value in enumerate(values) if _is_number(value)}


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _optimizers_and_weights() -> tuple[list[Any], list[Any]]:
    """Return the optimizers that live, and the values of trainable variables, oldest first."""
    import gc
    import sys

    variables = sys.modules.get("tensorflow.python.ops.resource_variable_ops")
    optimizers = sys.modules.get("keras.src.optimizers.base_optimizer")
    if variables is None or optimizers is None:
        return [], []
    found, living = [], []
    for thing in gc.get_objects():
        kind = type(thing)
        if issubclass(kind, variables.ResourceVariable):
            if thing.trainable:
                found.append(thing)
        elif issubclass(kind, optimizers.BaseOptimizer):
            living.append(thing)
    found.sort(key=_age)
    return living, [variable.numpy() for variable in found]


def _age(variable: Any) -> int:
    number = str(getattr(variable, "_unique_id", "0")).rpartition("_")[2]
    return int(number) if number.isdigit() else 0


def _digest(arrays: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(str(array.shape).encode() + array.tobytes())
    return digest.hexdigest()
