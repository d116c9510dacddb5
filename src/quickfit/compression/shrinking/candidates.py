"""Makes candidates one by one, the most promising first, as long as there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from quickfit.compression.copying import SkippedLayer
from quickfit.compression.flops import flops
from quickfit.compression.graph import Graph
from quickfit.compression.shrinking.accuracy import Predictor
from quickfit.compression.shrinking.evidence import Evidence
from quickfit.compression.shrinking.output_folder import ResultFolder
from quickfit.compression.shrinking.recipes import (
    BY_RECIPE,
    FILE_KINDS,
    FILE_TITLES,
    TRAINED,
    ModelMaker,
    Recipe,
    file_name,
)
from quickfit.compression.shrinking.result import (
    ORIGINAL,
    CandidateFigures,
    CandidateKind,
    CandidateRow,
    CandidateVerdict,
)
from quickfit.compression.shrinking.selection import LEAST_GAIN
from quickfit.compression.shrinking.targets import Target
from quickfit.compression.weighing.benchmark import ModelStopwatch, count_parameters
from quickfit.errors import ModelError, QuickfitError, UsageError

# Models are `Any`: Keras has no types of its own.

NO_TIME = "no time was left for it: give more with --budget (budget_s)"
_MOST_LAYER_NAMES = 5


class CandidateMaker:
    """Where candidates are made.

    Args:
        graph: of the original.
        evidence: what they are made with and marked by.
        folder: where they go.
        budget: how long it may take.
        tell: is told what is being made.
    """

    def __init__(
        self,
        graph: Graph,
        evidence: Evidence,
        folder: ResultFolder,
        budget: MakingBudget,
        tell: Callable[[str], None],
    ) -> None:
        self._graph, self._evidence, self._folder = graph, evidence, folder
        self._budget, self._tell = budget, tell
        self.rows: list[CandidateRow] = []

    def add_original(self, model: Any, accuracy: float) -> CandidateRow:
        """Begin with the original, of which `model` is a copy."""
        row = CandidateRow(ORIGINAL, "the original", verdict=CandidateVerdict.ORIGINAL, model=model)
        self.rows.append(replace(row, figures=_figures_before_timing(model, accuracy, None)))
        return self.rows[-1]

    def add_models(self, recipes: list[Recipe], seed: int, *, for_training: bool = False) -> None:
        """Make the smaller Keras models."""
        samples, lessons = self._evidence.calibration, self._evidence.lessons
        measure = ModelStopwatch(samples, for_training=for_training)
        maker = ModelMaker(self._graph.model, samples, lessons, seed, measure)
        for recipe in recipes:
            row = CandidateRow(recipe.name, recipe.title)
            self._try(row, partial(self._model, row, maker, recipe))

    def add_files(self, parent: CandidateRow, kinds: Sequence[str] = FILE_KINDS) -> None:
        """Make the LiteRT files of a Keras candidate; int8 with training where it loses much."""
        for kind in kinds:
            row = self._file_row(parent, kind, FILE_TITLES[kind])
            self._try(row, partial(self._file, row, parent.model, kind))
        if self._loses_much(parent):
            row = self._file_row(parent, TRAINED, "LiteRT, trained for int8")
            self._try(row, partial(self._trained_file, row, parent))

    def worth_a_file(self, target: Target) -> list[CandidateRow]:
        """Return the Keras candidates that are smaller, and accurate enough so far."""
        base = self.rows[0].figures
        return [
            row
            for row in self.rows[1:]
            if row.kind is CandidateKind.KERAS
            and row.is_there
            and _is_smaller(row.figures, base)
            and target.allows(row.figures.accuracy or 0.0, base.accuracy or 0.0)
        ]

    def _try(self, row: CandidateRow, make: Callable[[], CandidateRow]) -> None:
        if not self._budget.has_room(row.kind):
            self.rows.append(replace(row, verdict=CandidateVerdict.NOT_MADE, reason=NO_TIME))
            return
        self._tell(f"{row.name}: {row.title}")
        self._budget.begin()
        try:
            self.rows.append(make())
        except QuickfitError as error:
            if _is_about_the_disk(error):
                raise
            self.rows.append(
                replace(row, verdict=CandidateVerdict.NOT_MADE, reason=" ".join(str(error).split()))
            )
        self._budget.end(row.kind)

    def _model(self, row: CandidateRow, maker: ModelMaker, recipe: Recipe) -> CandidateRow:
        made = maker.made(recipe)
        path = self._folder.candidate(f"{row.name}.keras")
        self._folder.save(made.model, path)
        figures = _figures_before_timing(made.model, self._evidence.select(made.model), path)
        notes = (*made.notes, *_skipped_note(made.skipped))
        return replace(row, figures=figures, notes=notes, path=path, model=made.model)

    def _file_row(self, parent: CandidateRow, kind: str, title: str) -> CandidateRow:
        if parent.name != ORIGINAL:
            title = f"{parent.title}; {title}"
        return CandidateRow(file_name(parent.name, kind), title, CandidateKind.LITERT, parent.name)

    def _file(
        self, row: CandidateRow, model: Any, kind: str, notes: tuple[str, ...] = ()
    ) -> CandidateRow:
        from quickfit.compression.quantizing import exported, exported_by_recipe

        path = self._folder.candidate(f"{row.name}.tflite")
        if kind in BY_RECIPE:
            file = exported_by_recipe(model, path, BY_RECIPE[kind])
        else:
            file = exported(model, path, kind, self._evidence.calibration)
        runner = file.runner()
        runs, notes = Predictor(runner), (*notes, *file.notes, *runner.notes)
        figures = CandidateFigures(accuracy=self._evidence.select(runs), file_bytes=file.size_bytes)
        return replace(row, figures=figures, notes=notes, path=path, model=runs)

    def _loses_much(self, parent: CandidateRow) -> bool:
        from quickfit.compression.quantizing import is_training_worth_it

        row = next((r for r in self.rows if r.name == file_name(parent.name, "int8")), None)
        if row is None or not row.is_there or self._evidence.lessons is None:
            return False
        before, after = parent.figures.accuracy or 0.0, row.figures.accuracy or 0.0
        return all(0 <= one <= 1 for one in (before, after)) and is_training_worth_it(before, after)

    def _trained_file(self, row: CandidateRow, parent: CandidateRow) -> CandidateRow:
        from quickfit.compression.quantizing import fake_quantised

        lessons = self._evidence.lessons
        assert lessons is not None  # `_loses_much` has seen it
        made = fake_quantised(parent.model, self._evidence.calibration)
        taught = lessons.taught(made.model)
        return self._file(row, taught.model, "int8", (*made.notes, *taught.notes))


def _is_smaller(figures: CandidateFigures, base: CandidateFigures) -> bool:
    pairs = [(figures.parameters, base.parameters), (figures.flops, base.flops)]
    return any(new < LEAST_GAIN * old for new, old in pairs if new is not None and old)


def _figures_before_timing(model: Any, accuracy: float, path: Path | None) -> CandidateFigures:
    """Return what is known of a model before it is timed."""
    size = None if path is None else path.stat().st_size
    return CandidateFigures(accuracy, count_parameters(model), _count_flops(model), size)


def _count_flops(model: Any) -> int | None:
    try:
        return flops(model).total
    except ModelError:  # inputs of open sizes; weighing knows the samples' own
        return None


def _skipped_note(skipped: tuple[SkippedLayer, ...]) -> tuple[str, ...]:
    if not skipped:
        return ()
    named = "; ".join(f"{one.layer}: {one.reason}" for one in skipped[:_MOST_LAYER_NAMES])
    more = (
        f"; and {len(skipped) - _MOST_LAYER_NAMES} more" if len(skipped) > _MOST_LAYER_NAMES else ""
    )
    return (f"Left as they are: {named}{more}.",)


def _is_about_the_disk(error: QuickfitError) -> bool:
    """Whether the next candidate would fail in the same way."""
    return isinstance(error.__cause__, OSError)


USUAL_S = 600.0
# The rest is for measuring, which is what all of it is for.
MAKING_SHARE = 0.7


class MakingBudget:
    """Watches the clock.

    Args:
        total_s: for everything.
        clock: seconds that only grow.
    """

    def __init__(self, total_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not total_s > 0:
            raise UsageError(f"budget_s={total_s!r}: it is a number of seconds above 0.")
        self.total_s, self._clock = total_s, clock
        self._begin_s = self._last_s = clock()
        self._longest_s: dict[str, float] = {}

    @property
    def spent_s(self) -> float:
        """The time since the beginning."""
        return self._clock() - self._begin_s

    def begin(self) -> None:
        """Begin to make a candidate."""
        self._last_s = self._clock()

    def end(self, sort: str = "") -> None:
        """End it; the longest one of its sort says what the next may take."""
        taken_s = self._clock() - self._last_s
        self._longest_s[sort] = max(self._longest_s.get(sort, 0.0), taken_s)

    def has_room(self, sort: str = "") -> bool:
        """Tell whether another candidate of a sort is likely to fit."""
        needed_s = self._longest_s.get(sort, max(self._longest_s.values(), default=0.0))
        return self.spent_s + needed_s <= self.total_s * MAKING_SHARE
