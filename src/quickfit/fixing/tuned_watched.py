"""What the recording of a script says about the places where its settings are made."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import called_name, name_of
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.fixing.tuned_trials import Training
from quickfit.recording.reader import Recording
from quickfit.signals import Signals
from quickfit.signals.loops import Loop
from quickfit.signals.step_cost import batch_size

# Keras's own two work on batches in every run, and mind nothing.
KERAS_OWN = ("History", "ProgbarLogger")


class Watched:
    """A script that was watched: its main training loop, and its files as they are now.

    Args:
        recording: of the run.
        texts: the user's files that have not changed since, by their paths.
    """

    def __init__(self, recording: Recording, texts: Mapping[str, str]) -> None:
        self.signals = Signals(recording)
        self.project = Program(texts=texts)

    @property
    def loop(self) -> Loop:
        """The training loop that took the most time."""
        return self.signals.loop

    @property
    def facts(self) -> dict[str, Any]:  # recorded JSON
        """What was recorded about that loop."""
        return self.loop.facts

    @cached_property
    def epoch_steps(self) -> int | None:
        """How many batches an epoch has; None where nobody said."""
        steps = self.facts.get("steps") or self.facts.get("data_batches")
        return int(steps) if steps else None

    @cached_property
    def steps_left(self) -> int | None:
        """How many batches the whole training has; None where nobody said."""
        epochs = self.facts.get("epochs")
        return self.epoch_steps * int(epochs) if self.epoch_steps and epochs else None

    @cached_property
    def batch_s(self) -> float | None:
        """The time of one batch; None after too few steps."""
        try:
            return self.signals.steps.mean_s / self.signals.steps_per_execution
        except SignalMissing:
            return None

    @cached_property
    def works_on_batches(self) -> bool:
        """Whether a callback of the script is called for every batch."""
        return any(time.name not in KERAS_OWN for time in self.signals.callbacks)

    @cached_property
    def wait_share(self) -> float | None:
        """The share of a step that waits for input; None where it was not measured."""
        try:
            return self.signals.wait.share
        except SignalMissing:
            return None

    @cached_property
    def compiled_at(self) -> Location | None:
        """Where `compile` was called for the model that trains; None where nobody saw it."""
        facts = self.facts
        if facts.get("compile_line") is not None:
            return self.signals.location(facts.get("compile_file"), facts.get("compile_line"))
        return self._only_compile() if self.loop.kind == "train_on_batch" else None

    def _only_compile(self) -> Location | None:
        """Return the only call of `compile` in all files; `train_on_batch` says no place."""
        found = []
        for file in self.project.paths:
            script = self.project.find_module(file)
            calls = script.all(ast.Call) if script is not None else []
            found += [(file, c.lineno) for c in calls if _compiles_a_model(c)]
        return self.signals.location(*found[0]) if len(found) == 1 else None

    def script(self, where: Location | None) -> Module | None:
        """Return the file of a place; None where it is not the user's, or has changed."""
        return self.project.find_module(where.file) if where is not None else None

    @cached_property
    def main(self) -> Module | None:
        """The file that is run."""
        run = self.signals.recording.run
        names = [str(run.get("script") or "")]
        if run.get("module"):
            path = str(run["module"]).replace(".", os.sep)
            ends = (f"{os.sep}{path}.py", f"{os.sep}{path}{os.sep}__main__.py")
            names += [file for file in self.project.paths if file.endswith(ends)]
        found = [name for name in names if name in self.project.paths]
        return self.project.find_module(found[0]) if found else None


def _compiles_a_model(call: ast.Call) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    return called_name(call) == "compile" and receiver is not None and name_of(receiver) != "re"


def training_of(watched: Watched, steps_left: int | None = None) -> Training:
    """Return the training as it is; `steps_left` where somebody knows better."""
    try:
        size = batch_size(watched.signals)
    except SignalMissing:
        size = None
    return Training(
        size.examples if size is not None else None,
        watched.batch_s,
        watched.epoch_steps,
        steps_left if steps_left is not None else watched.steps_left,
    )
