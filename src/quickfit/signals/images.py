"""Images that a map decodes and shrinks: how large they are before and after, as far as known."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.input import Stage, operations
from quickfit.source.inside import call_line

# A JPEG has half a byte per pixel at most, unless it is nearly noise; usual are 0.1 to 0.3.
JPEG_BYTES_PER_PIXEL = 0.5
# Decoding, from JPEGs of two qualities: per pixel for the transform and the colours, which a
# ratio saves, and per byte for the entropy code, which it does not. PNG has the second only.
PIXEL_S, BYTE_S, PNG_PIXEL_S = 1.5e-9, 10e-9, 8e-9
# At least this part of the map's time must be explained by that, on a machine twice as fast.
MIN_EXPLAINED = 0.25


@dataclass(frozen=True)
class Shrunk:
    """What one map does to an image.

    Args:
        stage: the map.
        decoder: the operation that decodes.
        is_jpeg: whether the files are known to be JPEG.
        ratio: by which the decoder shrinks already.
        height: of the image in its file, where it was looked at; else by its bytes.
        width: the same.
        to_height: what the map makes of it.
        to_width: the same.
        bytes: of the encoded image.
        looks: images whose size was read from their files; 0 if it is an estimate.
        is_cropped: whether a part is cut out before the resize.
        location: the line that decodes, where that is known.
    """

    stage: Stage
    decoder: str
    is_jpeg: bool
    ratio: int
    height: float
    width: float
    to_height: float
    to_width: float
    bytes: float
    looks: int
    is_cropped: bool
    location: Location | None = None

    @property
    def pixels(self) -> float:
        """Pixels that are decoded now."""
        return self.height * self.width / self.ratio**2

    @property
    def times(self) -> float:
        """How many times the pixels that are wanted are decoded."""
        return self.pixels / self.pixels_out

    @property
    def pixels_out(self) -> float:
        """Pixels that are handed on."""
        return self.to_height * self.to_width

    @property
    def is_decoding(self) -> bool:
        """Whether decoding explains enough of the map's time to be its main work."""
        call_s = self.stage.work_s / max(self.stage.calls, 1.0)
        return self.decoding_s >= MIN_EXPLAINED * call_s

    @property
    def decoding_s(self) -> float:
        """What decoding one image takes on the machine where it was measured."""
        if not self.is_jpeg:
            return PNG_PIXEL_S * self.pixels
        return PIXEL_S * self.pixels + BYTE_S * self.bytes


def shrunk_images(signals: Signals) -> Shrunk | None:
    """Return what the slowest map that decodes and shrinks does; None without one."""
    stages = [stage for stage in signals.stages if _shrinks(stage)]
    if not stages:
        return None
    stage = max(stages, key=lambda stage: stage.work_s)
    shrinks = _shrinks(stage)
    # A second, smaller resize of the same image does not make the first one smaller.
    shrink = max(shrinks, key=lambda s: math.prod(s["to"]))
    sizes = _sizes_below(stage, signals)
    is_jpeg = shrink["decoder"] == "DecodeJpeg"
    if sizes:
        middle = sorted(sizes, key=lambda size: size[1] * size[2])[len(sizes) // 2]
        kind, height, width, _ = middle
        encoded = statistics.mean(size[3] for size in sizes)
        is_jpeg = kind == "jpeg"
    else:
        encoded = _encoded_bytes(stage, signals)
        if not encoded or not is_jpeg:
            return None
        height = width = math.sqrt(encoded / JPEG_BYTES_PER_PIXEL)
    to_height, to_width = shrink["to"]
    return Shrunk(
        stage=stage,
        decoder=shrink["decoder"],
        is_jpeg=is_jpeg,
        ratio=max(int(shrink.get("ratio") or 1), 1),
        height=height,
        width=width,
        to_height=to_height,
        to_width=to_width,
        bytes=encoded,
        looks=len(sizes),
        is_cropped=bool(shrink.get("is_cropped")),
        location=_decoder_place(shrink, signals),
    )


def _decoder_place(shrink: dict[str, Any], signals: Signals) -> Location | None:
    """Return the line on which the call of a decoder begins."""
    file, line = shrink.get("file"), shrink.get("line")
    if file is None or line is None:
        return None
    # TensorFlow tells some line of a call that spans several.
    return signals.location(file, call_line(signals.source_text(file), line, "decode"))


def _shrinks(stage: Stage) -> list[dict[str, Any]]:
    found = stage.fact("shrinks") or []
    return [s for s in found if _is_size(s.get("to"))]


def _is_size(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(side > 0 for side in value)


def _sizes_below(stage: Stage, signals: Signals) -> list[list[Any]]:
    """Return the sizes that were read from the source of a stage."""
    written = operations(signals.process)
    waiting = [operation.id for operation in stage.operations]
    seen: set[int] = set()
    while waiting:
        operation = written.get(waiting.pop())
        if operation is None or operation.id in seen:
            continue
        seen.add(operation.id)
        sizes = operation.facts.get("image_sizes")
        if sizes:
            return [size for size in sizes if len(size) == 4]
        waiting.extend(operation.inputs)
    return []


def _encoded_bytes(stage: Stage, signals: Signals) -> float:
    """Return the bytes of one encoded image, by what comes into the map or is read from files."""
    ops = stage.fact("ops") or ()
    if "ReadFile" in ops:
        read = signals.machine.chars_read_per_s
        return (read or 0.0) * signals.steps.mean_s / stage.calls if stage.calls else 0.0
    stages = signals.stages
    below = stages[stages.index(stage) + 1 :]
    return below[0].element_bytes if below else 0.0
