"""`shrink` from begin to end, from Python or the command line."""

from __future__ import annotations

import builtins
import json
import math
import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickfit import terminal
from quickfit.compression.copying import copied
from quickfit.compression.graph import Graph, graph_of
from quickfit.compression.shrinking.accuracy import AccuracyMarks, half_width
from quickfit.compression.shrinking.candidates import USUAL_S, CandidateMaker, MakingBudget
from quickfit.compression.shrinking.evidence import (
    Evidence,
    UserData,
    build_evidence,
    check_guessing,
)
from quickfit.compression.shrinking.output_folder import (
    CHART,
    KERAS_MODEL,
    LITERT_MODEL,
    REPORT,
    REPORT_JSON,
    ResultFolder,
    check_folder,
)
from quickfit.compression.shrinking.recipes import (
    FILE_KINDS,
    file_kinds,
    file_name,
    only_separable,
    shrink_recipes,
)
from quickfit.compression.shrinking.report import accuracy_text, markdown_report, svg_chart
from quickfit.compression.shrinking.result import ORIGINAL, CandidateKind, CandidateRow, Shrunk
from quickfit.compression.shrinking.selection import (
    Choice,
    choose_row,
    judge_row,
    measure_rows,
    with_front,
)
from quickfit.compression.shrinking.targets import Target, target_of
from quickfit.errors import ModelError, UsageError

if TYPE_CHECKING:
    from quickfit.compression.labelled_data import LabelledSamples

# Models and data are `Any`: Keras has no types of its own, and data come in many forms.

# More than what a short training brings to a model that was trained well.
_MUCH_BETTER = 0.05
_INTERRUPTED = "Interrupted: this is what was known by then."


@dataclass(frozen=True)
class ShrinkWishes:
    """What is to be reached, and with what."""

    target: Target
    for_training: bool
    seed: int
    budget: MakingBudget
    tell: Callable[[str], None]
    separable: bool = False


@dataclass(frozen=True)
class ShrinkStart:
    """The original: its graph, a copy that is measured in its place, and how good it is."""

    graph: Graph
    model: Any
    accuracy: float


def shrink(
    model: Any,
    calibration: Any = None,
    evaluate: Callable[[Any], float] | None = None,
    *,
    data: Any = None,
    held_out: Any = None,
    target: str | Target | None = None,
    for_training: bool = False,
    distill: bool = False,
    separable: bool = False,
    budget_s: float = USUAL_S,
    out: str | Path | None = None,
    replaces: bool = False,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
    notes: tuple[str, ...] = (),
    clock: Callable[[], float] = time.monotonic,
) -> Shrunk:
    """Make a model smaller and faster in several ways, and choose the best by measuring.

        shrunk = shrink(model, data=(images, labels), target="2x faster, at most 1 point")
        shrunk.model.save("small.keras")

    Tried are separable convolutions, pruned channels and both, each with a short training where
    there are labels, and files for LiteRT in float32, float16 and int8. Nothing is accepted that
    is not measured to be better. The model is only read.

    Args:
        model: a functional or Sequential Keras model.
        calibration: samples without labels; by default some of `data`.
        evaluate: takes a model and returns how good it is, 0 to 1. It is asked about Keras models
            and about `.tflite` files, which have `model(x)` and `model.predict(x)` too. With
            `data` it has the last word and must use samples that are not among them.
        data: labelled samples, (x, y) or a dataset of batches: divided into parts to calibrate, to
            train, to choose and to judge. Best are samples that the model was not trained on.
        held_out: labelled samples, or a function like `evaluate`, for the last word.
        target: what to reach, "2x faster, at most 1 point". By default as fast as it gets with at
            most a point lost.
        for_training: whether the time of a training step counts, and not that of a prediction.
        distill: whether the original is also tried as a teacher in the short training.
        separable: whether only separable convolutions are tried, and LiteRT files.
        budget_s: about how long it may take.
        out: a folder for models and reports; by default nothing is kept but what is returned.
        replaces: whether an earlier result in that folder is replaced.
        seed: the same one gives the same candidates.
        tell: is told what is being done; by default that goes to the terminal or the notebook.
        notes: to be put into the report too.
        clock: seconds that only grow.

    Raises:
        UsageError: a value or the data are wrong, or there is no room on the disk.
        ModelError: the model has no graph, such as a subclassed one.
    """
    budget, told = MakingBudget(budget_s, clock), tell or progress_writer()
    wishes = ShrinkWishes(target_of(target), for_training, seed, budget, told, separable)
    path = None if out is None else Path(out)
    if path is not None:
        check_folder(path, replaces=replaces)
    graph = graph_of(model)
    evidence = build_evidence(graph, UserData(calibration, evaluate, data, held_out, distill, seed))
    first = copied(model)  # the user's own is only read
    base = evidence.select(first)
    _check_share(base)
    guess = check_guessing(base, evidence.select, for_training=for_training)
    if guess:
        wishes = replace(wishes, target=replace(wishes.target, most_loss=math.inf))
    folder = ResultFolder(path, replaces=replaces)
    folder.check_room(4 * model.count_params())
    evidence = replace(evidence, notes=(*notes, *((guess,) if guess else ()), *evidence.notes))
    shrunk = _run_shrink(ShrinkStart(graph, first, base), evidence, folder, wishes)
    if not folder.is_kept:
        weakref.finalize(shrunk, folder.remove)
    return shrunk


def _run_shrink(
    start: ShrinkStart, evidence: Evidence, folder: ResultFolder, wishes: ShrinkWishes
) -> Shrunk:
    """Make, measure, choose and write; Ctrl-C leaves what there is by then."""
    shop = CandidateMaker(start.graph, evidence, folder, wishes.budget, wishes.tell)
    remarks: tuple[str, ...] = ()
    rows, choice = shop.rows, None
    try:
        _make_candidates(shop, start, wishes)
        rows, remarks = measure_rows(
            rows, evidence.calibration, for_training=wishes.for_training, tell=wishes.tell
        )
        wishes.tell("judging on samples that nothing has seen")
        choice = _choose_candidate(rows, evidence, wishes)
    except KeyboardInterrupt:
        pass
    is_interrupted = choice is None
    if choice is None:
        choice = Choice(tuple(_with_verdicts(rows, wishes)), None, (_INTERRUPTED,))
    shrunk = Shrunk(
        choice.rows,
        wishes.target,
        wishes.for_training,
        choice.chosen,
        notes=(
            *_choice_notes(choice, evidence),
            *_stale_norms_note(rows, wishes.target),
            *evidence.notes,
            *remarks,
        ),
        took_s=wishes.budget.spent_s,
        is_interrupted=is_interrupted,
    )
    return write_results(shrunk, folder)


def _make_candidates(shop: CandidateMaker, start: ShrinkStart, wishes: ShrinkWishes) -> None:
    original = shop.add_original(start.model, start.accuracy)
    ways, kinds = shrink_recipes(wishes.target, original.figures.flops), file_kinds(wishes.target)
    if wishes.separable:
        ways = only_separable(ways)
    if not wishes.for_training:
        shop.add_files(original, kinds)
    shop.add_models(ways, wishes.seed, for_training=wishes.for_training)
    if not wishes.for_training:
        for row in shop.worth_a_file(wishes.target):
            shop.add_files(row, kinds)


def _choose_candidate(rows: list[CandidateRow], evidence: Evidence, wishes: ShrinkWishes) -> Choice:
    return choose_row(
        _with_verdicts(rows, wishes),
        wishes.target,
        lambda row: evidence.judge(row.model),
        for_training=wishes.for_training,
    )


def _with_verdicts(rows: list[CandidateRow], wishes: ShrinkWishes) -> list[CandidateRow]:
    if not rows:
        return []
    base = rows[0].figures
    found = [judge_row(row, base, wishes.target, for_training=wishes.for_training) for row in rows]
    return with_front(found, for_training=wishes.for_training)


def _stale_norms_note(rows: list[CandidateRow], target: Target) -> tuple[str, ...]:
    """Say where the original could be better than it is: its statistics lag behind its weights."""
    if math.isinf(target.most_loss):
        return ()  # nobody counts losses
    marks = [row.figures.accuracy for row in rows if row.figures.accuracy is not None]
    if not marks or max(marks) - marks[0] < _MUCH_BETTER:
        return ()
    return (
        f"Candidates are up to {100 * (max(marks) - marks[0]):.0f} points better than the original:"
        " it was not trained to its end, or the statistics of its batch normalizations lag behind"
        " its weights. Losses are counted from the original as it is.",
    )


def _check_share(base: float) -> None:
    if base > 1:
        raise UsageError(
            f"evaluate() returned {base:.4g} for the original. It is to return a share from 0 to 1,"
            " such as 0.95 for 95 %: points of accuracy are counted by it."
        )


def _choice_notes(choice: Choice, evidence: Evidence) -> tuple[str, ...]:
    """Return what the last word was."""
    if choice.chosen is None:
        return choice.notes
    rows = {row.name: row for row in choice.rows}
    old, new = rows[ORIGINAL], rows[choice.chosen]
    assert old.held_out is not None
    assert new.held_out is not None
    change = f"{100 * (new.held_out - old.held_out):+.1f}"
    if not isinstance(evidence.judge, AccuracyMarks):
        return (f"The last word: {new.held_out:.4g} against {old.held_out:.4g} of the original.",)
    differences = evidence.judge.each(new.model) - evidence.judge.each(old.model)
    width = 100 * half_width(differences)
    return (
        f"On {len(evidence.judge)} samples that nothing else has seen, {choice.chosen} is right for"
        f" {accuracy_text(new.held_out)} and the original for {accuracy_text(old.held_out)}:"
        f" {change} ± {width:.1f} points.",
    )


# Models are `Any`: Keras has no types of its own.


def write_results(shrunk: Shrunk, folder: ResultFolder) -> Shrunk:
    """Write everything; return what was found with the paths in it.

    Args:
        shrunk: what was found.
        folder: where to write to. Of one that goes away, only the models are needed.
    """
    found = _with_models(shrunk, folder)
    if not folder.is_kept:
        return found
    found = replace(found, out=folder.path)
    if found.rows:
        folder.write(CHART, svg_chart(found))
        folder.write(REPORT, markdown_report(found))
        folder.write(REPORT_JSON, json.dumps(found.as_json(), indent=2, ensure_ascii=False) + "\n")
    return found


def _with_models(shrunk: Shrunk, folder: ResultFolder) -> Shrunk:
    if shrunk.chosen is None:
        return shrunk
    row = shrunk.row(shrunk.chosen)
    keras = row if row.kind is CandidateKind.KERAS else shrunk.row(row.parent or "")
    litert = _litert_file(shrunk, row)
    keras_path = folder.path / KERAS_MODEL
    folder.save(keras.model, keras_path)
    if litert is None:
        litert_path = _export_float32(keras.model, folder)
    else:
        litert_path = folder.copy(litert, LITERT_MODEL)
    return replace(shrunk, model=keras.model, keras_path=keras_path, litert_path=litert_path)


def _export_float32(model: Any, folder: ResultFolder) -> Path | None:
    """Return a new float32 file of a model, where none was made on the way (for training)."""
    from quickfit.compression.quantizing import exported

    try:
        return exported(model, folder.path / LITERT_MODEL, FILE_KINDS[0]).path
    except ModelError:
        return None  # the Keras model was chosen, and it is there


def _litert_file(shrunk: Shrunk, row: CandidateRow) -> Path | None:
    """Return the file to go with a row: its own, or the float32 one that was made from it."""
    if row.kind is CandidateKind.LITERT:
        return row.path
    name = file_name(row.name, FILE_KINDS[0])
    return next((one.path for one in shrunk.rows if one.name == name and one.is_there), None)


@dataclass(frozen=True)
class ShrinkRequest:
    """A command line.

    Args:
        model: the file of the model.
        data: what names the labelled samples.
        out: the folder of the result.
        target: what to reach, in words.
        for_training: whether steps count, and not predictions.
        budget_s: about how long it may take.
        distill: whether the original is also tried as a teacher.
        most_samples: to read.
        modules: to import before the model is loaded.
        allows_code: whether code in the model file may run.
        replaces: whether an earlier result is replaced.
        seed: of everything.
        separable: whether only separable convolutions are tried.
        evaluate: what names a function that says how good a model is.
    """

    model: Path
    data: str
    out: Path
    target: str | None = None
    for_training: bool = False
    budget_s: float = 600.0
    distill: bool = False
    most_samples: int = 20_000
    modules: tuple[str, ...] = ()
    allows_code: bool = False
    replaces: bool = False
    seed: int = 0
    separable: bool = False
    evaluate: str | None = None


def check_request(request: ShrinkRequest) -> ShrinkRequest:
    """Return a request whose words are understood and whose files are there.

    Raises:
        UsageError: they are not.
        ModelError: the model file is none.
    """
    from quickfit.compression.shrinking.output_folder import check_folder

    target_of(request.target)
    if not request.model.exists():
        raise UsageError(f"shrink: {request.model}: there is no such file.")
    for file in (request.model, Path(request.data)):
        if file.exists() and not file.is_file() and not file.is_dir():
            raise UsageError(
                f"shrink: {file}: this is a pipe or a device, and files are read several times.\n"
                "Give an ordinary file."
            )
    if not Path(request.data).exists() and ":" not in request.data:
        raise UsageError(
            f"--data {request.data}: there is no such file or folder, and a function is named with"
            " a colon.\nGive a folder of class folders, a pack, a .npz file, or train.py:samples."
        )
    if request.evaluate is not None and ":" not in request.evaluate:
        raise UsageError(
            f"--evaluate {request.evaluate}: name a function with a colon, train.py:score."
        )
    check_folder(request.out, replaces=request.replaces)
    return request


def answer_request(request: ShrinkRequest, tell: Callable[[str], None]) -> Shrunk:
    """Load model and samples, and shrink."""
    from quickfit.compression.graph import graph_of
    from quickfit.compression.model_file import load_model_file
    from quickfit.compression.sample_files import (
        SampleLimits,
        function_named,
        read_samples,
        without_labels,
    )

    tell(f"loading {request.model}")
    found = load_model_file(request.model, modules=request.modules, allows_code=request.allows_code)
    graph = graph_of(found.model)
    tell(f"reading {request.data}")
    limits = SampleLimits(request.most_samples, request.seed)
    given: dict[str, Any] = {}
    if request.evaluate is not None:
        given["evaluate"] = function_named("--evaluate", request.evaluate)
    if given and len(graph.outputs) > 1:
        given["calibration"] = without_labels(request.data, graph, limits)
    else:
        accuracy = partial(_model_accuracy, graph)
        given["data"] = read_samples(request.data, graph, limits, accuracy)
    return shrink(
        found.model,
        **given,
        target=request.target,
        for_training=request.for_training,
        distill=request.distill,
        separable=request.separable,
        budget_s=request.budget_s,
        out=request.out,
        replaces=request.replaces,
        seed=request.seed,
        tell=tell,
        notes=found.notes,
    )


def _model_accuracy(graph: Graph, samples: LabelledSamples) -> float:
    """Return how often the model is right, to find out how it wants its images."""
    from quickfit.compression.labelled_data import label_classes
    from quickfit.compression.shrinking.accuracy import AccuracyMarks, predict_outputs, threshold_of

    classes = label_classes(graph, samples.labels, names=samples.class_names)
    threshold = (
        threshold_of(predict_outputs(graph.model, samples.arrays)) if classes.is_single else 0.5
    )
    return AccuracyMarks(samples, classes, threshold)(graph.model)


def progress_writer() -> Callable[[str], None]:
    """Return what writes a line to stderr, where somebody reads it: a terminal or a notebook."""
    stream = sys.stderr
    if stream is None or not (stream.isatty() or hasattr(builtins, "__IPYTHON__")):
        return lambda text: None
    return lambda text: terminal.say(text, stream)
