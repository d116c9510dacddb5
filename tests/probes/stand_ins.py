"""Small classes with the names of TensorFlow's and Keras's, whose calls the probe watches.

They take as long as they are told, on a clock that goes on a little whenever it is read: two
moments are never the same, as in a real run.
"""

from __future__ import annotations

import sys
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

from quickfit.probes import _loops, _thread_calls, calls, hand_loop, iterator_ends
from quickfit.probes._probe import Probe
from quickfit.recording.schema import columns

CONTEXT = "tensorflow.python.eager.context"


class Frame:
    """A frame of a thread that is not there: file, line and function of it and of its callers."""

    def __init__(self, *frames: tuple[str, int, str]) -> None:
        (file, line, name), *outer = frames
        self.f_code = SimpleNamespace(co_filename=file, co_name=name, co_firstlineno=1)
        self.f_lineno: int | None = line
        self.f_back = Frame(*outer) if outer else None


class TickingClock:
    """Time that goes on by a microsecond whenever it is read, and else as it is told."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        self.now_s += 1e-6
        return self.now_s


class Library:
    """Modules as TensorFlow and Keras have them, already watched."""

    def __init__(self, state: Any, monkeypatch: Any) -> None:
        self.state, self.clock, self.is_tracing = state, TickingClock(), False
        state.probes["calls"] = Probe("calls", state="active")
        for module in (_thread_calls, hand_loop, _loops, calls, iterator_ends):
            monkeypatch.setattr(module, "now", self.clock)
        _thread_calls.threads.clear()
        context = SimpleNamespace(executing_eagerly=lambda: not self.is_tracing)
        monkeypatch.setitem(sys.modules, CONTEXT, context)
        for name, classes in _classes(self).items():
            module = ModuleType(name)
            vars(module).update(classes)
            calls.patches()[name](module)
            vars(self).update(vars(module))
        probe = state.probes["calls"]
        assert not probe.is_off, probe.detail

    def takes(self, seconds: float) -> None:
        """Let time go by."""
        self.clock.now_s += seconds

    def data(self, batches: int, wait_s: float = 0.0) -> Any:
        """Return a dataset of so many batches."""
        return self.Dataset(batches, wait_s)

    def compiled(self, name: str = "train_step", **how: Any) -> Any:
        """Return a compiled function; `optimizer` trains in it, `inner` steps per call."""
        return self.Function(name, **how)

    # -- what was recorded ------------------------------------------------------------------------

    def finish(self) -> None:
        """End the run."""
        hand_loop.finish(self.state)
        calls.write_totals(self.state)

    def loops(self) -> list[dict[str, Any]]:
        """Return the newest row of each loop."""
        return list({row["id"]: row for row in self._rows("loops")}.values())

    def steps(self, loop: int | None = None) -> list[dict[str, Any]]:
        """Return the steps, after checking that the reader would take them for a run's."""
        rows = self._rows("steps")
        ended: dict[int, float] = {}
        for row in rows:
            assert ended.get(row["loop"], row["begin_s"]) <= row["begin_s"] < row["end_s"]
            ended[row["loop"]] = row["end_s"]
        return [row for row in rows if loop in (None, row["loop"])]

    def calls(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Return the totals of calls, as a recording keeps them: one row for each key."""
        keys = [column.name for column in columns("calls") if column.is_key]
        return {tuple(row[key] for key in keys): row for row in self._rows("calls")}

    def called(self, kind: str, loop: int | None = None) -> tuple[int, float]:
        """Return how often a kind of call was made, and how long it took in all."""
        rows = [row for row in self.calls().values() if row["kind"] == kind]
        rows = [row for row in rows if loop in (None, row["loop"])]
        return sum(row["calls"] for row in rows), sum(row["wall_s"] for row in rows)

    def _rows(self, table: str) -> list[dict[str, Any]]:
        names = [column.name for column in columns(table)]
        return [dict(zip(names, row, strict=True)) for row in self.state.writer.rows(table)]


def _classes(library: Library) -> dict[str, dict[str, Any]]:
    """Return what each module holds, by its name."""

    class OwnedIterator:
        def __init__(self, batches: int, wait_s: float) -> None:
            self.left, self.wait_s = batches, wait_s

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            library.takes(self.wait_s)
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

        def get_next(self) -> int:
            return next(self)

    class DistributedIteratorBase(OwnedIterator):
        def __next__(self) -> int:
            return super().__next__()

        def get_next(self) -> int:
            return next(self)

    class Dataset:
        def __init__(self, batches: int, wait_s: float) -> None:
            self.batches, self.wait_s = batches, wait_s

        def __iter__(self) -> Any:
            return OwnedIterator(self.batches, self.wait_s)

    class Function:
        def __init__(self, name: str, takes_s: float = 0.1, optimizer: Any = None, inner: int = 1):
            self.__name__, self.takes_s = name, takes_s
            self.optimizer, self.inner, self.is_traced = optimizer, inner, False

        def __call__(self, *args: Any) -> float:
            if not self.is_traced and self.optimizer is not None:
                self.is_traced = library.is_tracing = True
                self.optimizer.apply([])
                library.is_tracing = False
            if self.optimizer is not None:
                self.optimizer.steps += self.inner
            library.takes(self.takes_s)
            return 0.5

    class GradientTape:
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> None:
            return None

        def gradient(self, target: Any, sources: Any) -> list[Any]:
            library.takes(0.01)
            return []

    class BaseOptimizer:
        def __init__(self) -> None:
            mine = weakref.ref(self)
            value = SimpleNamespace(numpy=lambda: mine().steps)
            self.steps, self._iterations = 0, SimpleNamespace(_value=value)

        def apply_gradients(self, grads_and_vars: Any) -> None:
            self.apply(grads_and_vars)

        def apply(self, grads: Any) -> None:
            if not library.is_tracing:
                self.steps += 1
                library.takes(0.02)

    class TensorFlowTrainer:
        def train_on_batch(self, x: Any, y: Any = None) -> Any:
            library.takes(0.1)
            return library.pythonify_logs({"loss": 1})

        def test_on_batch(self, x: Any, y: Any = None) -> None:
            library.takes(0.03)

        def predict_on_batch(self, x: Any) -> None:
            library.takes(0.03)

        def predict(self, x: Any) -> None:
            library.takes(0.04)

        def evaluate(self, x: Any, y: Any = None) -> None:
            self.test_on_batch(x)

    class Model(TensorFlowTrainer):
        def save(self, filepath: str) -> None:
            library.takes(0.5)

        def save_weights(self, filepath: str) -> None:
            library.takes(0.3)

    class Checkpoint:
        def save(self, file_prefix: str) -> None:
            self.write(file_prefix)

        def write(self, file_prefix: str) -> None:
            library.takes(0.2)

    def pythonify_logs(logs: Any) -> Any:
        library.takes(0.01)
        return logs

    trainer = {"TensorFlowTrainer": TensorFlowTrainer, "pythonify_logs": pythonify_logs}
    return {
        calls.FUNCTIONS: {"Function": Function},
        calls.ITERATORS: {"OwnedIterator": OwnedIterator, "Dataset": Dataset},
        calls.DISTRIBUTED: {"DistributedIteratorBase": DistributedIteratorBase},
        calls.TAPES: {"GradientTape": GradientTape},
        calls.OPTIMIZERS: {"BaseOptimizer": BaseOptimizer},
        calls.TRAINER: trainer,
        calls.MODELS: {"Model": Model},
        calls.CHECKPOINTS: {"Checkpoint": Checkpoint},
    }
