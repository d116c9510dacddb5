"""Large images are decoded in full and then shrunk to a small input of the model.

Why it is slow: a photograph of twelve megapixels takes a tenth of a second to decode, and a model
that sees 224 by 224 pixels uses a 240th of them. A JPEG can be decoded at a half, a quarter or an
eighth of its size for a part of the work; one that was made smaller once costs next to nothing.

How it shows: a tenth of the step time or more is spent waiting for input, the slowest stage is a
map that decodes and then resizes, and the images in the files have at least four times the
pixels that the map hands on.

Example:
    def load(data, label):
        image = tf.io.decode_jpeg(data, channels=3)
        return tf.image.resize(image, (96, 96)) / 255.0, label

Use instead:
    def load(data, label):
        image = tf.io.decode_jpeg(data, channels=3, ratio=8)
        return tf.image.resize(image, (96, 96)) / 255.0, label

Or, once, before training:
    # smaller copies of the files, a little larger than the model needs
    for path in paths:
        image = Image.open(path).convert("RGB")
        image.thumbnail((256, 256))
        image.save(small / path.name, quality=95)

Fix class: may change results. The image ends at the same size, but its pixels differ: the decoder
averages where a plain resize skips.

When it is wrong: images that are cropped at full size before they are resized need their pixels.
A map that spends its time on something else than decoding gains nothing. Where no size could be
read from the files it is estimated from their bytes, and the summary says "may".
"""

from __future__ import annotations

import math

from quickfit import units
from quickfit.causes._cause import Cause, example, waiting, waits_for_input
from quickfit.causes._shared.image_decode import smaller_decode
from quickfit.causes._shared.own_example import picture_size, with_own_sizes
from quickfit.code import Program
from quickfit.findings import (
    MIN_GAIN,
    Change,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
    Symptom,
)
from quickfit.liveness import phases
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene, Stage
from quickfit.signals import Signals
from quickfit.signals.dataset_chains import PIXEL_S, Shrunk, shrunk_images
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.python_input import is_starved

# The map must be most of what the pipeline does.
MIN_WORK_SHARE = 0.50
# Fewer spare pixels than this and no ratio fits: a half in each direction is a quarter.
MIN_TIMES = 4.0
# What a ratio leaves of the work per pixel.
LEFT = {2: 0.35, 4: 0.15, 8: 0.10}
# How much of the map is decoding: the resize, the copies and the rest are not.
DECODING = (0.6, 0.85, 1.0)

# Photos are up to 3:2, and `thumbnail` takes the longer side.
MOST_OBLONG = 1.6


def detect(signals: Signals) -> Finding | None:
    """Report a map that decodes far more pixels than it hands on, and that the step waits for."""
    if signals.py_input is not None:
        return None
    images = shrunk_images(signals)
    if images is None or not waits_for_input(signals):
        return None
    if images.ratio > 1 and not _can_shrink(images):
        return None  # the decoder does what it can
    stage = images.stage
    total_s = sum(s.work_s for s in signals.stages)
    if images.is_cropped or images.times < MIN_TIMES or stage.work_s < MIN_WORK_SHARE * total_s:
        return None
    call_s = stage.work_s / max(stage.calls, 1.0)
    if not images.is_decoding or is_starved(signals) or stage.location is None:
        return None
    found = _gain(images, signals)
    if found.likely < MIN_GAIN:
        return None
    return Finding(
        summary=_summary(images),
        where=images.location or stage.location,
        evidence=(
            waiting(signals),
            Evidence(
                "in this map per image",
                call_s,
                "s",
                f"{stage.calls:.0f} images per step",
                stage.location,
            ),
            _size_evidence(images),
        ),
        gain=found,
        cost_share=signals.wait.share,
        claims=("input_wait",),
        not_found=("a crop between decoding and resizing",),
    )


def _summary(images: Shrunk) -> str:
    verb = "decodes" if images.looks else "may decode"
    name = images.stage.function or "…"
    return f"`map({name})` {verb} {images.times:.0f} times the pixels it hands on"


def _size_evidence(images: Shrunk) -> Evidence:
    to = f"{images.to_width:.0f}x{images.to_height:.0f} handed on"
    if images.looks:
        detail = f"{images.width:.0f}x{images.height:.0f} in {images.looks} files, {to}"
        return Evidence("the pixels that are needed are decoded", images.times, "factor", detail)
    detail = f"so about {images.pixels / 1e6:.1f} megapixels or more, {to}"
    return Evidence("in an encoded image", images.bytes, "bytes", detail)


def _new_ratio(images: Shrunk) -> int:
    """Return the ratio that leaves the image at least as large as it is wanted."""
    spare = min(images.height / images.to_height, images.width / images.to_width)
    return next((ratio for ratio in (8, 4, 2) if ratio <= spare), 1)


def _can_shrink(images: Shrunk) -> bool:
    """Tell whether a ratio can be given: a JPEG, decoded by a function of the user's."""
    is_ours = images.stage.fact("function_file") is not None
    return images.is_jpeg and is_ours and _new_ratio(images) > images.ratio


def _gain(images: Shrunk, signals: Signals) -> Gain:
    work, stage = signals.work, images.stage
    if _can_shrink(images):
        ratio = _new_ratio(images)
        pixel_share = PIXEL_S * images.pixels / images.decoding_s
        saved = pixel_share * (1 - LEFT[ratio])
        basis = f"decoding at 1/{ratio} of the size; reading the file's code stays"
    else:
        saved = 1 - 1 / images.times
        basis = "files of about the size that the model needs"
    after = []
    for decoding, cores in zip(DECODING, work.cores_after(), strict=True):
        cpu_s = work.input_cpu_s - stage.work_s * saved * decoding
        threads = min(max(stage.parallelism, 1.0), cores)
        step_s = predicted_step_s(work, input_s=cpu_s / threads, input_cpu_s=cpu_s, cores=cores)
        # Also where the step waits for more than its own images, as a shuffle's fill is.
        left = 1 - saved * decoding * stage.work_s / max(work.input_cpu_s, stage.work_s)
        after.append(max(step_s, left * work.step_s))
    return gain(work.step_s, (after[0], after[1], after[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Add a ratio to the decoder, or show how to make the files smaller."""
    images = shrunk_images(signals)
    if images is None:
        return None
    if not _can_shrink(images):
        return Fix(
            title="Make the images smaller once, before training",
            kind=FixClass.MAY_CHANGE_RESULTS,
            example=_smaller_copies(signals),
        )
    shown = Fix(
        title="Let the decoder make the images smaller",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=(
            "Pixels differ a little: the decoder averages. Images that are smaller than"
            f" {_new_ratio(images)} times the target must not be among them."
            if images.looks
            else "Choose the ratio (2, 4 or 8) that leaves every image larger than the target."
        ),
    )
    return with_own_sizes(shown, signals)


def _smaller_copies(signals: Signals) -> str:
    """Return the example that makes copies whose shorter side is larger than the model needs."""
    code, size = example(__doc__ or "", "Or, once, before training"), picture_size(signals)
    if size is None:
        return code
    side = math.ceil(MOST_OBLONG * max(size) / 32) * 32
    return code.replace("(256, 256)", f"({side}, {side})")


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Add a ratio to the decoder."""
    images, where = shrunk_images(signals), finding.where
    module = program.find_module(where.file) if where is not None else None
    if images is None or where is None or module is None:
        return []
    if not images.looks or images.location is None or not _can_shrink(images):
        return []
    change = smaller_decode(module, where.line, ratio=_new_ratio(images))
    return [change] if change is not None else []


def show_slow_decoding(scene: Scene) -> Reason | None:
    """Tell of a first batch that takes long because its images are large."""
    now = phases.phase(scene)
    if now.name not in ("first-batch", "next-batch"):
        return None
    stage = next((s for s in scene.stages if s.kind == "map" and _decodes(scene, s)), None)
    if stage is None:
        return None
    left = f", {units.seconds(now.left_s)} more" if now.left_s is not None else ""
    of = f" of {now.total:,}" if now.total else ""
    ready = f": {now.done:,}{of} elements{left}" if now.done is not None else ""
    return Reason(
        cause="decode-full-size",
        summary=f"the batch is made of images that take long to decode{ready}",
        where=_decoder(scene, stage) or stage.location,
        evidence=_decoding(scene, now, stage),
        also=stage.location,
        advice="Decode smaller (`ratio=` of decode_jpeg), store smaller images, or decode on"
        " several threads.",
        moves=True,
    )


def _decoding(scene: Scene, now: phases.Phase, stage: Stage) -> tuple[Evidence, ...]:
    """Return what was measured while a batch of images is decoded."""
    cores = scene.machine.groups.get("tf.data", 0.0)
    found = [Evidence("cores that tf.data keeps busy", cores, "factor", "none computes")]
    if now.done is not None:
        found = [
            Evidence("elements ready", now.done, "count"),
            Evidence("more every second", now.per_s, "per_s"),
        ]
    return (*found, Evidence("since anything was given", scene.quiet_s, "s"))


def _decoder(scene: Scene, stage: Stage) -> Location | None:
    """Return the line that decodes, as the operations of a map's function tell."""
    told = stage.facts.get("shrinks")
    first = told[0] if isinstance(told, list) and told and isinstance(told[0], dict) else {}
    file, line = first.get("file"), first.get("line")
    return scene.at(file, line) if isinstance(file, str) and isinstance(line, int) else None


def _decodes(scene: Scene, stage: Stage) -> bool:
    """Tell whether the function of a map decodes images, by its operations or its text."""
    operations = stage.facts.get("ops")
    if isinstance(operations, list) and any("Decode" in str(name) for name in operations):
        return True
    file, line = stage.facts.get("function_file"), stage.facts.get("function_line")
    lines = scene.sources.get(str(file), "").split("\n")
    body = lines[line - 1 : line + 30] if isinstance(line, int) else []
    return any(word in text for text in body for word in ("decode_", "imread", "Image.open"))


CAUSE = Cause(
    title="Large images are decoded and then shrunk",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
    resource="oversized images",
    live=(Mechanism(show_slow_decoding, Proof.COMPUTING),),
)
