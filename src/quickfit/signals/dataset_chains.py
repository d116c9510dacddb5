"""The chain of dataset operations that feeds a loop: what feeds what, its lines, its images."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit.code.lines import call_line
from quickfit.findings import Location
from quickfit.pipeline_model.match import Operation
from quickfit.signals.input import Stage, operations

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

RANDOM_OPS = re.compile(
    r"Random|Rng|Multinomial|DistortedBoundingBox|^Stateful(Uniform|Standard|Truncated|Random)"
)
# State that does not change from one pass to the next: checks, vocabularies, captured weights.
# What conditions, loops and calls do is listed with the rest.
_STEADY_OPS = re.compile(
    r"^(Assert|Print\w*|Lookup\w*|\w*HashTable\w*|VarHandleOp|ReadVariableOp|ResourceGather|If|While"
    r"|Case|StatefulPartitionedCall)$"
)
# Nobody sees what these do.
_OPAQUE_OPS = re.compile(r"^(EagerPyFunc|PyFunc\w*|Assign\w*)$")
# What a graph's list of operations holds at most; a longer one was cut.
MAX_LISTED = 60
# Operations that give another order, or other elements, each time they run.
_RANDOM_KINDS = ("shuffle", "random", "sampledataset", "generator", "fromgenerator", "snapshot")


def written(signals: Signals) -> tuple[Operation | None, dict[int, Operation]]:
    """Return the last operation of the loop's pipeline, and all that are known, by number."""
    known = operations(signals.process)
    carried = [op for stage in signals.stages for op in stage.operations]
    return (carried[0] if carried else None), known


def below(operation: Operation, known: Mapping[int, Operation]) -> dict[int, Operation]:
    """Return an operation and all that feed it, those its function makes included."""
    found: dict[int, Operation] = {}
    waiting = [operation]
    while waiting:
        one = waiting.pop()
        if one.id not in found:
            found[one.id] = one
            parts = (*one.inputs, *one.made_by_function)
            waiting.extend(known[number] for number in parts if number in known)
    return found


def main_line(top: Operation, known: Mapping[int, Operation]) -> list[Operation]:
    """Return the operations from the consumer to where the chain branches or ends."""
    line = [top]
    while len(line[-1].inputs) == 1 and line[-1].inputs[0] in known and len(line) <= len(known):
        line.append(known[line[-1].inputs[0]])
    return line


def draws_random(operation: Operation) -> bool:
    """Tell whether the function of an operation certainly draws random numbers."""
    return any(RANDOM_OPS.search(name) for name in operation.facts.get("ops") or ())


def may_be_random(operation: Operation) -> bool:
    """Tell whether an operation may give something else the next time it runs; in doubt, yes."""
    if operation.kind in _RANDOM_KINDS or operation.facts.get("runs_python"):
        return True
    ops = operation.facts.get("ops") or ()
    if draws_random(operation) or len(ops) >= MAX_LISTED:
        return True
    if not operation.facts.get("is_stateful"):
        return False
    known = [name for name in ops if _STEADY_OPS.match(name)]
    return not known or any(_OPAQUE_OPS.match(name) for name in ops)


def stages_of(
    stages: Iterable[Stage], chosen: Mapping[int, Operation], *, without: Mapping[int, Operation]
) -> list[Stage]:
    """Return the stages whose work is that of some operations; a fused one counts as its map."""
    return [
        stage
        for stage in stages
        if stage.operations
        and stage.operations[-1].id in chosen
        and stage.operations[-1].id not in without
    ]


def cached_below(line: list[Operation], known: Mapping[int, Operation]) -> dict[int, Operation]:
    """Return what feeds the caches of a chain, and the caches themselves."""
    found: dict[int, Operation] = {}
    for operation in line:
        if operation.kind == "cache":
            found |= below(operation, known)
    return found


# They end a pass before the last element, or begin it later.
_CUTTING = ("take", "takewhile", "skip", "shard")


def steady_lines(signals: Signals, file: str) -> frozenset[int]:
    """Return the lines of a file whose maps neither keep state nor draw random numbers."""
    maps = [
        op
        for op in operations(signals.process).values()
        if op.runs_as == "map" and op.file == file and op.line is not None
    ]
    doubtful = {op.line for op in maps if may_be_random(op) or op.facts.get("ops") is None}
    return frozenset(op.line for op in maps if op.line is not None and op.line not in doubtful)


def is_cut_behind(signals: Signals, operation: Operation) -> bool:
    """Tell whether a pass may end before the last element that an operation gives."""
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    places = [op.id for op in line]
    behind = line[: places.index(operation.id)] if operation.id in places else []
    return any(op.kind in _CUTTING and not op.does_nothing for op in behind)


def is_repeated(signals: Signals) -> bool:
    """Tell whether the pipeline has a `repeat` that does something."""
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    return any(op.kind == "repeat" and not op.does_nothing for op in line)


def is_steady(signals: Signals, operation: Operation) -> bool:
    """Tell whether an operation and all that feed it give the same in every pass."""
    _, known = written(signals)
    return not any(may_be_random(part) for part in below(operation, known).values())


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
