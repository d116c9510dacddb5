"""Candidates measured in turn: what `weighing` finds, put into their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quickfit.compression.shrinking.plan import file_name
from quickfit.compression.shrinking.rows import ORIGINAL, Figures, Kind, Row

if TYPE_CHECKING:
    from quickfit.compression.calibration import Samples
    from quickfit.compression.weighing import Weight


def measured(
    rows: Sequence[Row],
    samples: Samples,
    *,
    for_training: bool,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[list[Row], tuple[str, ...]]:
    """Return the rows with their figures, and what is to be told about all of them."""
    from quickfit.compression.weighing import weighed

    things: dict[str, Any] = {row.name: _thing(row) for row in rows if row.is_there}
    said = f"measuring {len(things)} candidates in turn"
    tell(said)
    weights = weighed(
        things,
        samples,
        evaluate=None,
        for_training=for_training,
        tell=lambda text: tell(f"{said}: {text}"),
    )
    return with_weights(rows, weights), about_int8(weights)


def about_int8(weights: Mapping[str, Weight]) -> tuple[str, ...]:
    """Say once, by the files of the original, whether int8 is faster on this machine."""
    from quickfit.compression.quantizing import advice_on_speed

    pair = [weights.get(file_name(ORIGINAL, kind)) for kind in ("float32", "int8")]
    if pair[0] is None or pair[1] is None:
        return ()
    plain, small = pair[0].latency_s, pair[1].latency_s
    return tuple(
        f"A batch of {batch}: {advice_on_speed(plain[batch], small[batch])}" for batch in small
    )


def with_weights(rows: Sequence[Row], weights: Mapping[str, Weight]) -> list[Row]:
    """Return the rows with what was weighed; a file counts the operations of its Keras model."""
    return [
        replace(row, figures=_figures(row, weights), notes=(*row.notes, *_remarks(row, weights)))
        if row.name in weights
        else row
        for row in rows
    ]


def _thing(row: Row) -> Any:
    return row.model if row.kind is Kind.KERAS else row.path


def _remarks(row: Row, weights: Mapping[str, Weight]) -> tuple[str, ...]:
    """Return what is surprising about a Keras model beside the original."""
    from quickfit.compression.weighing import remarks

    if row.kind is Kind.LITERT or row.name == ORIGINAL:
        return ()
    return remarks({name: weights[name] for name in (ORIGINAL, row.name)}, ORIGINAL)


def _figures(row: Row, weights: Mapping[str, Weight]) -> Figures:
    weight = weights[row.name]
    keras = weights.get(row.parent or row.name, weight)
    return Figures(
        accuracy=row.figures.accuracy,
        parameters=keras.parameters,
        flops=keras.flops,
        file_bytes=weight.file_bytes,
        step_s=weight.step_s,
        latency_s=weight.latency_s,
    )
