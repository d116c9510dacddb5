"""What was measured of a pipeline, as JSON takes it."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.data.speed.figures import Span, Speed


def as_json(speed: Speed) -> dict[str, Any]:
    """Return a dictionary of numbers, texts and lists; what is not a finite number is None."""
    found = {
        "name": speed.name,
        "elements": speed.total.elements,
        "examples": speed.total.examples,
        "elements_per_s": speed.elements_per_s,
        "examples_per_s": speed.examples_per_s,
        "element_s": speed.total.element_s,
        "element_cpu_s": speed.total.element_cpu_s,
        "spread": speed.spread,
        "first_s": speed.first_s,
        "passes": speed.passes,
        "first_pass": _span(speed.first_pass) if speed.first_pass is not None else None,
        "has_cache": speed.has_cache,
        "blocks": [_span(block) for block in speed.blocks],
        "stages": [dataclasses.asdict(stage) for stage in speed.stages],
        "no_stages": speed.no_stages,
        "memory": dataclasses.asdict(speed.memory),
        "machine": dataclasses.asdict(speed.machine),
        "limit": dataclasses.asdict(speed.limit),
        "ideal": dataclasses.asdict(speed.ideal),
        "step": dataclasses.asdict(speed.step) if speed.step is not None else None,
        "advice": list(speed.advice),
        "notes": list(speed.notes),
    }
    return {name: finite(value) for name, value in found.items()}


def _span(span: Span) -> dict[str, Any]:
    return {**dataclasses.asdict(span), "examples_per_s": span.examples_per_s}


def finite(value: Any) -> Any:
    """Return a value with None in place of what JSON has no word for."""
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
