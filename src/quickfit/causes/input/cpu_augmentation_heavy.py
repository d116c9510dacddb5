"""Random changes to the images take most of the input's work, and all cores are busy with them.

Why it is slow: turning, zooming or recolouring an image touches every pixel several times, for
every image of every epoch. More threads do not help once all cores have work; only less work
does, or a device of its own for it.

How it shows: a tenth of the step time or more is spent waiting for input, the maps that draw
random numbers and change images do most of the pipeline's work, and the cores are in use.

Example:
    def augment(image, label):
        image = tf.image.random_hue(image, 0.1)
        image = tf.image.random_contrast(image, 0.8, 1.2)
        return tf.image.resize(image, (96, 96)), label

Use instead:
    def augment(image, label):
        image = tf.image.resize(image, (96, 96))
        image = tf.image.random_hue(image, 0.1)
        image = tf.image.random_contrast(image, 0.8, 1.2)
        return image, label

Fix class: may change results. A small image that is turned differs a little from a turned image
that is made small, and fewer or other operations train a little differently.

Random layers in the model (`keras.layers.RandomRotation`) run on its device instead. That may be
faster or slower, and nothing in a run tells which: measure a step with them before keeping them.

When it is wrong: a map that decodes too may spend its time on that; it is only reported here when
decoding so many pixels cannot take so long. A map on one thread beside idle cores is
`sequential-map`. Flips, crops and brightness alone cost next to nothing and are never reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.causes._cause import Cause, example, waiting, waits_for_input
from quickfit.causes._shared.image_decode import resize_first
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.code import Program
from quickfit.findings import MIN_GAIN, Change, Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.caching import cache_use
from quickfit.signals.dataset_chains import Shrunk, draws_random, shrunk_images
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage
from quickfit.signals.python_input import is_crowded_out

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals


# The random maps must be most of what the pipeline does, or cheaper ones change little.
MIN_WORK_SHARE = 0.50
# Below this share of the cores in use, something else than work holds the input up.
MIN_BUSY_SHARE = 0.70
# What is left of the work on smaller images or with cheaper operations.
LEFT = (0.75, 0.4, 0.1)


def detect(signals: Signals) -> Finding | None:
    """Report random changes to images that keep the cores busy while the step waits."""
    if signals.loop.input in ("generator", "pydataset", "arrays", "python"):
        return None
    found = augmenting(signals)
    if found is None or not waits_for_input(signals):
        return None
    busy = min(signals.step_cores / signals.cores, 1.0)
    others = (signals.machine.other_cores or 0.0) / signals.cores
    if found.share < MIN_WORK_SHARE or busy + others < MIN_BUSY_SHARE or is_crowded_out(signals):
        return None
    if found.slowest.parallelism <= 1 and busy < MIN_BUSY_SHARE:
        return None  # sequential-map
    gained = _gain(found, signals)
    if gained.likely < MIN_GAIN:
        return None
    return Finding(
        summary=f"`map({found.slowest.function or '…'})` changes images at random, at great cost",
        where=found.slowest.location,
        evidence=(
            waiting(signals),
            Evidence(
                "of the pipeline's work is random changes to images",
                found.share,
                "share",
                f"{', '.join(found.operations[:4])}: {found.work_s * 1e3:.0f} ms per step on"
                f" {found.slowest.parallelism:.0f} threads",
            ),
            Evidence(
                "of the cores in use on average",
                busy,
                "share",
                f"{signals.step_cores:.1f} of {signals.cores:g}, and"
                f" {signals.machine.other_cores or 0.0:.1f} by other programs",
            ),
        ),
        gain=gained,
        cost_share=signals.wait.share * found.share,
        claims=("input_wait",),
        not_found=("Python code in the map", "idle cores"),
    )


def _gain(found: Augmenting, signals: Signals) -> Gain:
    work = signals.work
    after = []
    for part, faster, cores in zip(LEFT, work.with_relief(), work.cores_after(), strict=True):
        cpu_s = max(work.input_cpu_s - found.work_s * (1 - part), 0.0)
        after.append(
            predicted_step_s(faster, input_s=cpu_s / cores, input_cpu_s=cpu_s, cores=cores)
        )
    basis = f"between {LEFT[2]:.0%} and {LEFT[0]:.0%} of the work is left, by what replaces it"
    return gain(work.step_s, (after[0], after[1], after[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show the cheaper order."""
    shown = Fix(
        title="Make the images small first; then fewer and cheaper random changes",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=(
            "Turning, zooming and shifting one after the other resample three times; one"
            " transformation can do all. Flips and crops cost next to nothing."
        ),
    )
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Make the images small before they are recoloured."""
    found = augmenting(signals)
    file = found.slowest.fact("function_file") if found is not None else None
    module = program.find_module(file) if file is not None else None
    if found is None or module is None:
        return []
    change = resize_first(module, found.slowest.fact("function_line"))
    return [change] if change is not None else []


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


CAUSE = Cause(
    title="Random changes to images keep all cores busy",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
)
