"""Maps that change images at random: which they are, and how much of the input's work they do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from quickfit.signals import Signals
from quickfit.signals.cache_use import cache_use
from quickfit.signals.images import Shrunk, shrunk_images
from quickfit.signals.input import Stage
from quickfit.signals.written_chain import draws_random

# Operations on every pixel that random changes are made of, by the names people know.
_COSTLY = {
    "AdjustHue": "hue",
    "AdjustSaturation": "saturation",
    "AdjustContrastv2": "contrast",
    "RGBToHSV": "hue or saturation",
    "HSVToRGB": "hue or saturation",
    "ImageProjectiveTransformV2": "turning, zooming or shifting",
    "ImageProjectiveTransformV3": "turning, zooming or shifting",
    "CropAndResize": "zooming",
    "ScaleAndTranslate": "scaling",
    "DepthwiseConv2dNative": "blurring",
    "Conv2D": "blurring",
    "EncodeJpeg": "JPEG artefacts",
    "EncodeJpegVariableQuality": "JPEG artefacts",
    "RandomStandardNormal": "noise",
    "StatelessRandomNormalV2": "noise",
    "NonMaxSuppressionV3": "boxes",
}
_DECODES = re.compile(r"^Decode(Jpeg|Png|Image|Bmp|Gif|WebP|AndCropJpeg)$")
_RESIZES = re.compile(r"^(Resize|Slice$|StridedSlice$|CropAndResize|ScaleAndTranslate)")
# Decoding takes 10 to 20 ns per pixel, whatever the format; from twice that on, it is not all.
DECODE_PIXEL_S = 40e-9
# A resize, per pixel that comes out; and how much slower than measured a machine may be.
RESIZED_PIXEL_S, SLOW_MACHINE = 20e-9, 2.0


@dataclass(frozen=True)
class Augmenting:
    """The maps that change images at random.

    Args:
        slowest: the one with most of the work.
        work_s: their work per step, summed over threads.
        share: of all work of the pipeline.
        operations: what they do.
    """

    slowest: Stage
    work_s: float
    share: float
    operations: tuple[str, ...]


def augmenting(signals: Signals) -> Augmenting | None:
    """Return the maps that change images at random; None without any that costs."""
    stages = _live(signals)
    images = shrunk_images(signals)
    random = [s for s in stages if s.location is not None and _augments(s, images)]
    if not random:
        return None
    work_s, total_s = (sum(s.work_s for s in some) for some in (random, stages))
    slowest = max(random, key=lambda stage: stage.work_s)
    named = [_COSTLY[name] for name in _ops(slowest) if name in _COSTLY]
    share = work_s / total_s if total_s else 0.0
    return Augmenting(slowest, work_s, share, tuple(dict.fromkeys(named)))


def _live(signals: Signals) -> list[Stage]:
    """Return the stages that work in every epoch: not those before a cache that is read."""
    use = cache_use(signals)
    if use is None or not use.read:
        return signals.stages
    return [stage for stage in signals.stages if stage not in use.saved]


def _ops(stage: Stage) -> list[str]:
    return [name for operation in stage.operations for name in operation.facts.get("ops") or ()]


def _augments(stage: Stage, images: Shrunk | None) -> bool:
    """Tell whether a stage certainly spends its time on random changes to images."""
    ops = _ops(stage)
    is_random = any(draws_random(operation) for operation in stage.operations)
    if stage.fact("runs_python") or not is_random or not any(name in _COSTLY for name in ops):
        return False
    if not _decodes(ops):
        return True
    most_s = _decoding_s(stage, images)
    return most_s is not None and stage.work_s / max(stage.calls, 1.0) > 2 * most_s


def _decodes(ops: list[str]) -> bool:
    """Tell whether a function decodes files; JPEG artefacts are made by encoding and decoding."""
    is_artefact = any(name.startswith("EncodeJpeg") for name in ops) and "ReadFile" not in ops
    return any(_DECODES.match(name) for name in ops) and not is_artefact


def _decoding_s(stage: Stage, images: Shrunk | None) -> float | None:
    """Return what decoding, and a resize, may take of one call at most; None if that is unknown."""
    if images is not None and images.stage == stage and images.looks:
        return SLOW_MACHINE * (images.decoding_s + RESIZED_PIXEL_S * images.pixels_out)
    if any(_RESIZES.match(name) for name in _ops(stage)):
        return None
    # Where nothing changes the size, what comes out tells the pixels decoded.
    values = float(stage.fact("element_bytes") or 0) / 4
    return DECODE_PIXEL_S * values / 3 or None
