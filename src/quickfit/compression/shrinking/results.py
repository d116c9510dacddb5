"""Writes what came out: the chosen models, the report and the chart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from quickfit.compression.shrinking.folder import (
    CHART,
    LITERT_MODEL,
    MODEL,
    REPORT,
    REPORT_JSON,
    Folder,
)
from quickfit.compression.shrinking.plan import FILE_KINDS, file_name
from quickfit.compression.shrinking.rows import Kind, Row
from quickfit.compression.shrinking.shrunk import Shrunk
from quickfit.compression.shrinking.to_chart import chart
from quickfit.compression.shrinking.to_markdown import markdown
from quickfit.errors import ModelError

# Models are `Any`: Keras has no types of its own.


def written(shrunk: Shrunk, folder: Folder) -> Shrunk:
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
        folder.write(CHART, chart(found))
        folder.write(REPORT, markdown(found))
        folder.write(REPORT_JSON, json.dumps(found.as_json(), indent=2, ensure_ascii=False) + "\n")
    return found


def _with_models(shrunk: Shrunk, folder: Folder) -> Shrunk:
    if shrunk.chosen is None:
        return shrunk
    row = shrunk.row(shrunk.chosen)
    keras = row if row.kind is Kind.KERAS else shrunk.row(row.parent or "")
    litert = _litert(shrunk, row)
    keras_path = folder.path / MODEL
    folder.save(keras.model, keras_path)
    if litert is None:
        litert_path = _exported(keras.model, folder)
    else:
        litert_path = folder.copy(litert, LITERT_MODEL)
    return replace(shrunk, model=keras.model, keras_path=keras_path, litert_path=litert_path)


def _exported(model: Any, folder: Folder) -> Path | None:
    """Return a new float32 file of a model, where none was made on the way (for training)."""
    from quickfit.compression.quantizing import exported

    try:
        return exported(model, folder.path / LITERT_MODEL, FILE_KINDS[0]).path
    except ModelError:
        return None  # the Keras model was chosen, and it is there


def _litert(shrunk: Shrunk, row: Row) -> Path | None:
    """Return the file to go with a row: its own, or the float32 one that was made from it."""
    if row.kind is Kind.LITERT:
        return row.path
    name = file_name(row.name, FILE_KINDS[0])
    return next((one.path for one in shrunk.rows if one.name == name and one.is_there), None)
