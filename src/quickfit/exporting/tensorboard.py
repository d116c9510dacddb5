"""A run as an event file of TensorBoard, written without TensorFlow."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quickfit import trust
from quickfit.errors import UsageError
from quickfit.exporting.series import details_of, figures_of, series_of, started_at
from quickfit.findings import Diagnosis
from quickfit.report import to_markdown

# One file per run: written again, it replaces itself.
FILE = "events.out.tfevents.{}.quickfit"


def write(
    diagnosis: Diagnosis, place: str, *, after_s: float = -1.0, replaces: bool = False
) -> str:
    """Write an event file into a folder: series, the figures of the whole run, and the report.

    It has all of the run each time; `after_s` and `replaces` change nothing.
    """
    from tensorboard.summary.writer.record_writer import RecordWriter

    folder, stream = Path(place), io.BytesIO()
    writer = RecordWriter(stream)
    for event in _events(diagnosis):
        writer.write(event.SerializeToString())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE.format(round(started_at(details_of(diagnosis))))
        trust.write_private(file, stream.getvalue(), sync=False)
    except OSError as error:
        raise UsageError(
            f"{folder}: the event file cannot be written ({error.strerror or error}).\n"
            "Name a folder that you may write to."
        ) from error
    return f"{file}; to look at it: tensorboard --logdir {folder}"


def _events(diagnosis: Diagnosis) -> Iterator[Any]:  # protobuf messages have no types of ours
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    details = details_of(diagnosis)
    begin_s = started_at(details)
    yield Event(wall_time=begin_s, file_version="brain.Event:2")
    for name, points in series_of(diagnosis).items():
        for point in points:
            value = Summary.Value(tag=name, simple_value=point.value)
            yield Event(wall_time=point.at_s, step=point.step, summary=Summary(value=[value]))
    end_s = begin_s + details.total_s
    values = [Summary.Value(tag=tag, simple_value=v) for tag, v in figures_of(diagnosis).items()]
    values.append(_text("quickfit/report", to_markdown(diagnosis)))
    yield Event(wall_time=end_s, step=details.steps, summary=Summary(value=values))


def _text(tag: str, text: str) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING

    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=DT_STRING, tensor_shape=shape, string_val=[text.encode()])
    plugin = SummaryMetadata.PluginData(plugin_name="text")
    return Summary.Value(tag=tag, tensor=tensor, metadata=SummaryMetadata(plugin_data=plugin))
