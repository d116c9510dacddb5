"""Double precision: which matrix products of a step are in float64, and which line asks for it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.code.arrays import Arrays
from quickfit.code.lines import calls_named, line_of_call
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.signals.input import operations, training_iterators
from quickfit.signals.step_cost import step_cost

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Calls that set the precision of all layers made after them.
SETTERS = ("set_floatx", "set_dtype_policy", "set_global_policy")
# What a compiled function takes to start its operations, whatever their type (measured).
STARTING_S = 0.0002
# Threads that compute for less of a call than this mostly wait in it.
MIN_BUSY = 0.3
# What tf.data calls the functions of `map` and the like; they are no part of the step.
_OF_DATASETS = "Dataset_"


@dataclass(frozen=True)
class Products:
    """The matrix products, convolutions and loops of what was compiled."""

    doubles: int
    total: int

    @property
    def share(self) -> float:
        """The share of them in double precision."""
        return self.doubles / self.total if self.total else 0.0


def products(signals: Signals) -> Products:
    """Return the products of the compiled functions.

    Raises:
        SignalMissing: none was seen, which a model without any does not tell from an old recording.
    """
    rows = [row for row in signals.process.rows("traces") if row.get("arguments")]
    # A function that is traced again counts once.
    last = {
        row["name"]: row["arguments"]["products"]
        for row in rows
        if row["arguments"].get("products") and not row["name"].startswith(_OF_DATASETS)
    }
    counts = list(last.values())
    if not counts:
        raise SignalMissing("a compiled step with matrix products")
    return Products(sum(count[0] for count in counts), sum(count[1] for count in counts))


def compute_s(signals: Signals) -> float:
    """Return the time per step of the arithmetic itself, without Python and waits.

    It is the time of the call where TensorFlow's threads compute for much of it, or are ready and
    have no core: they need not do so all of the time, where a product is cut unevenly. Else it is
    theirs.
    """
    steps = signals.steps
    called_s = steps.mean_of("call_s") - steps.mean_of("logs_s")
    if not steps.mean_of("wait_s"):  # else it lies outside the call
        called_s -= signals.wait.step_s
    if signals.has_accelerator:
        return max(called_s, 0.0)
    cost = step_cost(signals)
    called_s = max(called_s - cost.python_s - STARTING_S, 0.0)
    ready_s = cost.compute_s + steps.mean_s * _delays(signals)
    return called_s if ready_s > MIN_BUSY * called_s else cost.compute_s


def _delays(signals: Signals) -> float:
    """Return how many of TensorFlow's threads were ready but had no core; none if not told."""
    try:
        delays = signals.machine.thread_delays
    except SignalMissing:
        return 0.0
    return sum(delays.get(group, 0.0) for group in ("intra-op", "inter-op"))


def asking_line(signals: Signals) -> Location | None:
    """Return the line that asks for double precision, as far as the script's text tells it."""
    set_at = setter(signals)
    if set_at is not None:
        return set_at
    if signals.loop.facts.get("variable_dtype") == "float64":  # Keras casts data to its variables
        return _written(signals) or signals.loop.location
    return _array(signals) or _written(signals) or _source(signals) or signals.loop.location


def setter(signals: Signals) -> Location | None:
    """Return the line that sets Keras's precision to float64."""
    for file, text in _texts(signals).items():
        for call in calls_named(text, *SETTERS):
            if any("float64" in ast.unparse(given) for given in (*call.args, *call.keywords)):
                return signals.location(file, line_of_call(call))
    return None


def _written(signals: Signals) -> Location | None:
    """Return the first line that names the type in a call, such as `dtype="float64"`."""
    for file, text in _texts(signals).items():
        for number, line in enumerate(text.split("\n"), start=1):
            code = line.partition("#")[0]
            if "float64" in code and "(" in code and "==" not in code:
                return signals.location(file, number)
    return None


def _array(signals: Signals) -> Location | None:
    """Return the line that makes the array the training data is, in double precision."""
    arrays = Arrays(_texts(signals))
    for where, method in _givers(signals):
        line = arrays.maker(where.file, where.line, method)
        if line is not None:
            return signals.location(*line)
    return None


def _givers(signals: Signals) -> list[tuple[Location, str]]:
    """Return the calls that hand arrays over: to a dataset, to `fit`, to a compiled function."""
    found = []
    source = _source(signals)
    if source is not None:
        found += [(source, "from_tensor_slices"), (source, "from_tensors")]
    if signals.loop.kind == "fit" and signals.loop.location is not None:
        found.append((signals.loop.location, "fit"))
    calls = [c for c in signals.calls if c.loop == signals.loop.id and c.location is not None]
    names = {"function": None, "train": "train_on_batch"}
    found += [(c.location, names[c.kind] or c.name) for c in calls if c.kind in names]  # type: ignore[misc]
    return found


def _source(signals: Signals) -> Location | None:
    """Return the line of the dataset of arrays that feeds the loop."""
    written = operations(signals.process)
    waiting = list(training_iterators(signals.process, signals.loop.id).values())
    seen: set[int] = set()
    while waiting:
        operation = written.get(waiting.pop())
        if operation is None or operation.id in seen:
            continue
        seen.add(operation.id)
        if not operation.inputs and operation.facts.get("call", "").startswith("from_tensor"):
            return signals.location(operation.file, operation.line)
        waiting += operation.inputs
    return None


def _texts(signals: Signals) -> dict[str, str]:
    rows = signals.process.rows("sources")
    return {row["file"]: row["text"].replace("\r\n", "\n") for row in rows}
