"""`shrink`: a model made smaller in many ways, measured, and the best way kept."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quickfit.compression.graph import Graph, copied, graph_of
from quickfit.compression.shrinking.accuracy import Marks, half_width
from quickfit.compression.shrinking.budget import USUAL_S, Budget
from quickfit.compression.shrinking.cells import accuracy
from quickfit.compression.shrinking.choosing import Choice, chosen_from
from quickfit.compression.shrinking.evidence import Evidence, Given, check_guessing, evidence_of
from quickfit.compression.shrinking.folder import Folder, check_folder
from quickfit.compression.shrinking.front import with_front
from quickfit.compression.shrinking.measuring import measured
from quickfit.compression.shrinking.plan import file_kinds, only_separable, recipes
from quickfit.compression.shrinking.results import written
from quickfit.compression.shrinking.rows import ORIGINAL, Row
from quickfit.compression.shrinking.shrunk import Shrunk
from quickfit.compression.shrinking.targets import Target, target_of
from quickfit.compression.shrinking.telling import to_reader
from quickfit.compression.shrinking.verdicts import judged
from quickfit.compression.shrinking.workshop import Workshop
from quickfit.errors import UsageError

# Models and data are `Any`: Keras has no types of its own, and data come in many forms.

# More than what a short training brings to a model that was trained well.
_MUCH_BETTER = 0.05
_INTERRUPTED = "Interrupted: this is what was known by then."


@dataclass(frozen=True)
class Wishes:
    """What is to be reached, and with what."""

    target: Target
    for_training: bool
    seed: int
    budget: Budget
    tell: Callable[[str], None]
    separable: bool = False


@dataclass(frozen=True)
class Start:
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
    budget, told = Budget(budget_s, clock), tell or to_reader()
    wishes = Wishes(target_of(target), for_training, seed, budget, told, separable)
    path = None if out is None else Path(out)
    if path is not None:
        check_folder(path, replaces=replaces)
    graph = graph_of(model)
    evidence = evidence_of(graph, Given(calibration, evaluate, data, held_out, distill, seed))
    first = copied(model)  # the user's own is only read
    base = evidence.select(first)
    _check_share(base)
    guess = check_guessing(base, evidence.select, for_training=for_training)
    if guess:
        wishes = replace(wishes, target=replace(wishes.target, most_loss=math.inf))
    folder = Folder(path, replaces=replaces)
    folder.check_room(4 * model.count_params())
    evidence = replace(evidence, notes=(*notes, *((guess,) if guess else ()), *evidence.notes))
    shrunk = _told(Start(graph, first, base), evidence, folder, wishes)
    if not folder.is_kept:
        weakref.finalize(shrunk, folder.remove)
    return shrunk


def _told(start: Start, evidence: Evidence, folder: Folder, wishes: Wishes) -> Shrunk:
    """Make, measure, choose and write; Ctrl-C leaves what there is by then."""
    shop = Workshop(start.graph, evidence, folder, wishes.budget, wishes.tell)
    remarks: tuple[str, ...] = ()
    rows, choice = shop.rows, None
    try:
        _make(shop, start, wishes)
        rows, remarks = measured(
            rows, evidence.calibration, for_training=wishes.for_training, tell=wishes.tell
        )
        wishes.tell("judging on samples that nothing has seen")
        choice = _chosen(rows, evidence, wishes)
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
            *_words(choice, evidence),
            *_surprise(rows, wishes.target),
            *evidence.notes,
            *remarks,
        ),
        took_s=wishes.budget.spent_s,
        is_interrupted=is_interrupted,
    )
    return written(shrunk, folder)


def _make(shop: Workshop, start: Start, wishes: Wishes) -> None:
    original = shop.add_original(start.model, start.accuracy)
    ways, kinds = recipes(wishes.target, original.figures.flops), file_kinds(wishes.target)
    if wishes.separable:
        ways = only_separable(ways)
    if not wishes.for_training:
        shop.add_files(original, kinds)
    shop.add_models(ways, wishes.seed, for_training=wishes.for_training)
    if not wishes.for_training:
        for row in shop.worth_a_file(wishes.target):
            shop.add_files(row, kinds)


def _chosen(rows: list[Row], evidence: Evidence, wishes: Wishes) -> Choice:
    return chosen_from(
        _with_verdicts(rows, wishes),
        wishes.target,
        lambda row: evidence.judge(row.model),
        for_training=wishes.for_training,
    )


def _with_verdicts(rows: list[Row], wishes: Wishes) -> list[Row]:
    if not rows:
        return []
    base = rows[0].figures
    found = [judged(row, base, wishes.target, for_training=wishes.for_training) for row in rows]
    return with_front(found, for_training=wishes.for_training)


def _surprise(rows: list[Row], target: Target) -> tuple[str, ...]:
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


def _words(choice: Choice, evidence: Evidence) -> tuple[str, ...]:
    """Return what the last word was."""
    if choice.chosen is None:
        return choice.notes
    rows = {row.name: row for row in choice.rows}
    old, new = rows[ORIGINAL], rows[choice.chosen]
    assert old.held_out is not None
    assert new.held_out is not None
    change = f"{100 * (new.held_out - old.held_out):+.1f}"
    if not isinstance(evidence.judge, Marks):
        return (f"The last word: {new.held_out:.4g} against {old.held_out:.4g} of the original.",)
    differences = evidence.judge.each(new.model) - evidence.judge.each(old.model)
    width = 100 * half_width(differences)
    return (
        f"On {len(evidence.judge)} samples that nothing else has seen, {choice.chosen} is right for"
        f" {accuracy(new.held_out)} and the original for {accuracy(old.held_out)}: {change} ±"
        f" {width:.1f} points.",
    )
