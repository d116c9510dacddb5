"""Makes candidates one by one, as long as there is time; each is a row from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from quickfit.compression.flops import flops
from quickfit.compression.graph import Graph
from quickfit.compression.made import Skipped
from quickfit.compression.shrinking.accuracy import Predictor
from quickfit.compression.shrinking.budget import Budget
from quickfit.compression.shrinking.evidence import Evidence
from quickfit.compression.shrinking.folder import Folder
from quickfit.compression.shrinking.making import Maker, parameters
from quickfit.compression.shrinking.plan import (
    BY_RECIPE,
    FILE_KINDS,
    FILE_TITLES,
    TRAINED,
    Recipe,
    file_name,
)
from quickfit.compression.shrinking.rows import ORIGINAL, Figures, Kind, Row, Verdict
from quickfit.compression.shrinking.stopwatch import Stopwatch
from quickfit.compression.shrinking.targets import Target
from quickfit.compression.shrinking.verdicts import LEAST_GAIN
from quickfit.errors import ModelError, QuickfitError

# Models are `Any`: Keras has no types of its own.

NO_TIME = "no time was left for it: give more with --budget (budget_s)"
_NAMED = 5


class Workshop:
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
        folder: Folder,
        budget: Budget,
        tell: Callable[[str], None],
    ) -> None:
        self._graph, self._evidence, self._folder = graph, evidence, folder
        self._budget, self._tell = budget, tell
        self.rows: list[Row] = []

    def add_original(self, model: Any, accuracy: float) -> Row:
        """Begin with the original, of which `model` is a copy."""
        row = Row(ORIGINAL, "the original", verdict=Verdict.ORIGINAL, model=model)
        self.rows.append(replace(row, figures=_figures(model, accuracy, None)))
        return self.rows[-1]

    def add_models(self, recipes: list[Recipe], seed: int, *, for_training: bool = False) -> None:
        """Make the smaller Keras models."""
        samples, lessons = self._evidence.calibration, self._evidence.lessons
        measure = Stopwatch(samples, for_training=for_training)
        maker = Maker(self._graph.model, samples, lessons, seed, measure)
        for recipe in recipes:
            row = Row(recipe.name, recipe.title)
            self._try(row, partial(self._model, row, maker, recipe))

    def add_files(self, parent: Row, kinds: Sequence[str] = FILE_KINDS) -> None:
        """Make the LiteRT files of a Keras candidate; int8 with training where it loses much."""
        for kind in kinds:
            row = self._file_row(parent, kind, FILE_TITLES[kind])
            self._try(row, partial(self._file, row, parent.model, kind))
        if self._loses_much(parent):
            row = self._file_row(parent, TRAINED, "LiteRT, trained for int8")
            self._try(row, partial(self._trained_file, row, parent))

    def worth_a_file(self, target: Target) -> list[Row]:
        """Return the Keras candidates that are smaller, and accurate enough so far."""
        base = self.rows[0].figures
        return [
            row
            for row in self.rows[1:]
            if row.kind is Kind.KERAS
            and row.is_there
            and _is_smaller(row.figures, base)
            and target.allows(row.figures.accuracy or 0.0, base.accuracy or 0.0)
        ]

    def _try(self, row: Row, make: Callable[[], Row]) -> None:
        if not self._budget.has_room(row.kind):
            self.rows.append(replace(row, verdict=Verdict.NOT_MADE, reason=NO_TIME))
            return
        self._tell(f"{row.name}: {row.title}")
        self._budget.begin()
        try:
            self.rows.append(make())
        except QuickfitError as error:
            if _is_about_the_disk(error):
                raise
            self.rows.append(replace(row, verdict=Verdict.NOT_MADE, reason=_one_line(error)))
        self._budget.end(row.kind)

    def _model(self, row: Row, maker: Maker, recipe: Recipe) -> Row:
        made = maker.made(recipe)
        path = self._folder.candidate(f"{row.name}.keras")
        self._folder.save(made.model, path)
        figures = _figures(made.model, self._evidence.select(made.model), path)
        notes = (*made.notes, *_skipped_note(made.skipped))
        return replace(row, figures=figures, notes=notes, path=path, model=made.model)

    def _file_row(self, parent: Row, kind: str, title: str) -> Row:
        if parent.name != ORIGINAL:
            title = f"{parent.title}; {title}"
        return Row(file_name(parent.name, kind), title, Kind.LITERT, parent.name)

    def _file(self, row: Row, model: Any, kind: str, notes: tuple[str, ...] = ()) -> Row:
        from quickfit.compression.quantizing import exported, exported_by_recipe

        path = self._folder.candidate(f"{row.name}.tflite")
        if kind in BY_RECIPE:
            file = exported_by_recipe(model, path, BY_RECIPE[kind])
        else:
            file = exported(model, path, kind, self._evidence.calibration)
        runner = file.runner()
        runs, notes = Predictor(runner), (*notes, *file.notes, *runner.notes)
        figures = Figures(accuracy=self._evidence.select(runs), file_bytes=file.size_bytes)
        return replace(row, figures=figures, notes=notes, path=path, model=runs)

    def _loses_much(self, parent: Row) -> bool:
        from quickfit.compression.quantizing import is_training_worth_it

        row = next((r for r in self.rows if r.name == file_name(parent.name, "int8")), None)
        if row is None or not row.is_there or self._evidence.lessons is None:
            return False
        before, after = parent.figures.accuracy or 0.0, row.figures.accuracy or 0.0
        return all(0 <= one <= 1 for one in (before, after)) and is_training_worth_it(before, after)

    def _trained_file(self, row: Row, parent: Row) -> Row:
        from quickfit.compression.quantizing import fake_quantised

        lessons = self._evidence.lessons
        assert lessons is not None  # `_loses_much` has seen it
        made = fake_quantised(parent.model, self._evidence.calibration)
        taught = lessons.taught(made.model)
        return self._file(row, taught.model, "int8", (*made.notes, *taught.notes))


def _is_smaller(figures: Figures, base: Figures) -> bool:
    pairs = [(figures.parameters, base.parameters), (figures.flops, base.flops)]
    return any(new < LEAST_GAIN * old for new, old in pairs if new is not None and old)


def _figures(model: Any, accuracy: float, path: Path | None) -> Figures:
    """Return what is known of a model before it is timed."""
    size = None if path is None else path.stat().st_size
    return Figures(accuracy, parameters(model), _flops(model), size)


def _flops(model: Any) -> int | None:
    try:
        return flops(model).total
    except ModelError:  # inputs of open sizes; weighing knows the samples' own
        return None


def _skipped_note(skipped: tuple[Skipped, ...]) -> tuple[str, ...]:
    if not skipped:
        return ()
    named = "; ".join(f"{one.layer}: {one.reason}" for one in skipped[:_NAMED])
    more = f"; and {len(skipped) - _NAMED} more" if len(skipped) > _NAMED else ""
    return (f"Left as they are: {named}{more}.",)


def _is_about_the_disk(error: QuickfitError) -> bool:
    """Whether the next candidate would fail in the same way."""
    return isinstance(error.__cause__, OSError)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
