"""The settings that can be tried on a script that was watched, each with its edit or why not."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from quickfit import units
from quickfit.code.batch_size import Size
from quickfit.code.edits import is_in_conflict
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import called_name, name_of
from quickfit.errors import SignalMissing
from quickfit.findings import Change, Location
from quickfit.fixing.script_bench import ScriptTraining
from quickfit.fixing.setting_edits import (
    Made,
    with_batch,
    with_policy,
    with_steps,
    with_threads,
    with_xla,
    with_xla_function,
)
from quickfit.recording.reader import Recording
from quickfit.signals import Signals
from quickfit.signals.compiling import is_jit, main_cpu_s
from quickfit.signals.loops import Loop
from quickfit.signals.step_cost import BatchSize, batch_size
from quickfit.tuning.advice.candidates import BATCH_FACTORS, STEPS_PER_CALL, ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.precision.hardware import Gpu, Hardware, Prospect, prospect_of, read_cpu
from quickfit.tuning.trials.batch_judgement import MIN_UPDATES, why_too_large
from quickfit.tuning.trials.settings import Setting

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
        """How many batches an epoch has; None where it is not known."""
        steps = self.facts.get("steps") or self.facts.get("data_batches")
        return int(steps) if steps else None

    @cached_property
    def batch_size(self) -> BatchSize | None:
        """How many examples a step has, and where that is written; None where it was not seen."""
        try:
            return batch_size(self.signals)
        except SignalMissing:
            return None

    @cached_property
    def steps_left(self) -> int | None:
        """How many batches the whole training has; None where it is not known."""
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
        """Where `compile` was called for the model that trains; None where it was not seen."""
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


def script_training(watched: Watched) -> ScriptTraining:
    """Return the training as it is."""
    size = watched.batch_size
    batch = size.examples if size is not None else None
    return ScriptTraining(batch, watched.batch_s, watched.epoch_steps)


def _compiles_a_model(call: ast.Call) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    return called_name(call) == "compile" and receiver is not None and name_of(receiver) != "re"


UNSCALED = (
    "only `fit` scales the loss by itself, which float16 needs;"
    " `quickfit.tuning.make_train_step` makes such a step"
)
ONE_CORE = "there is one core, and threads share it"
NO_MAIN = "the file that is run has changed since, or is not a file of Python"


def script_candidates(
    watched: Watched, tries: frozenset[str] = frozenset()
) -> list[ChangeCandidate]:
    """Return every setting, in the order of trying, with its edit or why there is none.

    Args:
        watched: the script as it was watched.
        tries: kinds that are tried although the machine speaks against them.
    """
    # What gains most in the least time comes first: XLA compiles for long before every pair, and
    # 16 bits are offered only where the hardware promises much.
    return [
        *_step_candidates(watched),
        *_batch_candidates(watched),
        _precision_candidate(watched, is_wanted=ChangeKind.PRECISION.value in tries),
        _xla_candidate(watched),
        *_thread_candidates(watched),
    ]


def _candidate(kind: ChangeKind, name: str, setting: Setting, made: Made) -> ChangeCandidate:
    if isinstance(made, Change):
        return ChangeCandidate(kind, name, setting, edit=made)
    return ChangeCandidate(kind, name, setting, reason=made)


def _thread_candidates(watched: Watched) -> list[ChangeCandidate]:
    cores = int(watched.signals.cores)
    if cores < 2:
        return [ChangeCandidate(ChangeKind.THREADS, "threads", reason=ONE_CORE)]
    return [_threads(watched, "inter", 1), _threads(watched, "intra", max(cores // 2, 1))]


def _threads(watched: Watched, pool: str, threads: int) -> ChangeCandidate:
    made: Made = NO_MAIN
    if watched.main is not None:
        made = with_threads(watched.main, pool, threads, watched.project)
    setting = Setting(inter_threads=threads) if pool == "inter" else Setting(intra_threads=threads)
    return _candidate(ChangeKind.THREADS, f"{pool}-op threads {threads}", setting, made)


def _precision_candidate(watched: Watched, *, is_wanted: bool) -> ChangeCandidate:
    prospect = _prospect(watched.signals.process.facts)
    made: Made = f"{prospect.reason}; --try precision measures it all the same"
    if prospect.is_candidate or is_wanted:
        made = NO_MAIN
        if prospect.policy == "mixed_float16" and watched.loop.kind != "fit":
            made = UNSCALED
        elif watched.main is not None:
            made = with_policy(watched.main, prospect.policy, watched.project)
    setting = Setting(policy=prospect.policy)
    return _candidate(ChangeKind.PRECISION, prospect.policy, setting, made)


def _prospect(facts: Mapping[str, object]) -> Prospect:
    """Return what the devices that TensorFlow used promise; a recording names them only."""
    devices = facts.get("tensorflow_devices")
    names = [tuple(one) for one in devices] if isinstance(devices, list) else []
    gpus = tuple(Gpu(str(one[1]), None) for one in names if one[0] == "GPU")
    flags, cpu = read_cpu()
    return prospect_of(Hardware(gpus, sum(one[0] == "TPU" for one in names), flags, cpu))


# Where Python takes less of a step than this, fewer calls from Python gain nothing.
MIN_PYTHON_SHARE = 0.04
# In shorter steps threads also wait for each other in every call, which is no CPU time.
LONG_S = 0.05
EAGER = "the step runs eagerly, which costs far more: `quickfit fix` repairs that first"
UNSEEN = (
    "where the model is compiled was not seen (a model that was loaded?);"
    " call `model.compile(...)` in the script"
)
NO_FIT = "only `fit` runs several steps in one call, and this training is a loop of its own"


def _xla_candidate(watched: Watched) -> ChangeCandidate:
    return _candidate(ChangeKind.XLA, "XLA (jit_compile)", Setting(jit=True), _xla(watched))


def _xla(watched: Watched) -> Made:
    if watched.signals.is_eager or watched.facts.get("eager_loop"):
        return EAGER
    if is_jit(watched.signals):
        return "XLA compiles the step already"
    if watched.loop.kind not in ("fit", "train_on_batch"):
        return _xla_of_function(watched)
    place = _compile_place(watched)
    return place if isinstance(place, str) else with_xla(*place, watched.project)


def _compile_place(watched: Watched) -> tuple[Module, int] | str:
    where = watched.compiled_at
    if where is None:
        return UNSEEN
    script = watched.script(where)
    return (script, where.line) if script is not None else _not_yours(where)


def _not_yours(where: Location) -> str:
    return f"{where.short} is in a file that is not yours, or has changed since it was run"


def _xla_of_function(watched: Watched) -> Made:
    """Compile the function in which a loop of the script spends most of its time."""
    calls = [c for c in watched.signals.calls if c.kind == "function" and c.loop == watched.loop.id]
    if not calls:
        return "this loop calls no `tf.function`; `quickfit fix` can make one of its step"
    name = calls[0].name
    traces = [t for t in watched.signals.traces if t.name == name and t.location is not None]
    where = traces[0].location if traces else None
    if where is None:
        return f"where the compiled function `{name}` is written was not seen"
    script = watched.script(where)
    return with_xla_function(script, where.line) if script is not None else _not_yours(where)


def _step_candidates(watched: Watched) -> list[ChangeCandidate]:
    return [
        _candidate(
            ChangeKind.STEPS,
            f"{steps} steps per call",
            Setting(steps_per_execution=steps),
            _steps(watched, steps),
        )
        for steps in STEPS_PER_CALL
    ]


def _steps(watched: Watched, steps: int) -> Made:
    if watched.loop.kind != "fit":
        return NO_FIT
    if watched.signals.is_eager:
        return EAGER
    now = watched.signals.steps_per_execution
    if steps <= now:
        return f"the script runs {now} steps per call already"
    if watched.epoch_steps is not None and steps > watched.epoch_steps:
        return f"an epoch has only {watched.epoch_steps} steps"
    small = _too_little_python(watched)
    if small:
        return small
    place = _compile_place(watched)
    if isinstance(place, str):
        return place
    return with_steps(*place, steps, watched.project, works_on_batches=watched.works_on_batches)


def _too_little_python(watched: Watched) -> str:
    """Return why fewer calls from Python cannot gain anything; nothing where they may."""
    try:
        steps = watched.signals.steps
        share = (main_cpu_s(watched.signals) + steps.mean_of("callbacks_s")) / steps.mean_s
    except SignalMissing:
        return ""
    if steps.mean_s < LONG_S or share >= MIN_PYTHON_SHARE:
        return ""
    of = f"of a step of {units.seconds(steps.mean_s)}"
    return f"Python takes only {units.share(share)} {of}, so that fewer calls gain nothing"


def _batch_candidates(watched: Watched) -> list[ChangeCandidate]:
    size = watched.batch_size
    if size is None:
        why = "how many examples a step has was not seen"
        return [ChangeCandidate(ChangeKind.BATCH, f"batch ×{n}", reason=why) for n in BATCH_FACTORS]
    return [
        _candidate(
            ChangeKind.BATCH,
            f"batch {times * size.examples} (×{times})",
            Setting(batch=times * size.examples),
            _larger_batch(watched, size, times),
        )
        for times in BATCH_FACTORS
    ]


def _larger_batch(watched: Watched, size: BatchSize, times: int) -> Made:
    steps = watched.epoch_steps
    if steps is not None and -(-steps // times) < min(MIN_UPDATES, steps):
        return why_too_large(steps * size.examples, times * size.examples)
    kind = watched.loop.input
    if size.method == "fit" and kind != "arrays":
        return f"the batches come from a {kind}: make them larger there by hand"
    script = watched.script(size.location)
    if script is None or size.location is None:
        return "where batches are made is not in a file of yours, or it has changed"
    wanted = Size(size.method, size.examples, times * size.examples)
    return with_batch(script, size.location.line, wanted, watched.project)


# What an edit of each kind says: a second one would say it twice.
_WORDS = {
    ChangeKind.XLA: "jit_compile",
    ChangeKind.STEPS: "steps_per_execution",
    ChangeKind.BATCH: "batch_size=",
    ChangeKind.THREADS: "op_parallelism_threads",
    ChangeKind.PRECISION: "dtype_policy",
}


def free_candidates(
    candidates: Sequence[ChangeCandidate], accepted: Sequence[Change]
) -> list[ChangeCandidate]:
    """Return the candidates that can be made beside changes that were accepted."""
    edits = [edit for change in accepted for edit in change.edits]
    found = []
    for one in candidates:
        is_said = any(_WORDS[one.kind] in edit.text for edit in edits)
        if one.edit is not None and not is_said and not is_in_conflict(one.edit.edits, edits):
            found.append(one)
    return found
