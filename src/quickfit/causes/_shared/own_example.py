"""The example of a fix in the user's own names, sizes and class, for code that no edit recognises.

What it says of sizes was recorded. Where they are unknown, the example of the page stays, and says
that its sizes are examples. `quickfit.data` is offered beside it, never as the fix.
"""

from __future__ import annotations

import dataclasses
import re

from quickfit.causes._shared.own_input import (
    ImageInput,
    examples_of_batch,
    image_input,
    picture_size,
)
from quickfit.findings import Fix, Location
from quickfit.signals import Signals

# Packages that decode or change images; seen on the stacks, they tell what the input does.
IMAGE_LIBRARIES = {"PIL", "cv2", "skimage", "imageio"}
SIZES_ARE_EXAMPLES = "The sizes in the example are not yours: put your own there."
_ANY_BATCH = "32 is an example: put the size of your batches there"
_UNSCALED = "pixels are 0 to 255 here: bring them to the range that your model learns on"


def own_image_fix(fix: Fix, signals: Signals, owner: str, place: Location | None) -> Fix:
    """Return a fix with the example in the user's own names and sizes, where they are known.

    Args:
        fix: with the example of the cause's page.
        signals: of the run.
        owner: the class or function that makes the batches or elements.
        place: a line of it.
    """
    found = image_input(signals, owner, place)
    if found is None:
        note = f"{fix.note} {SIZES_ARE_EXAMPLES}".strip()
        return dataclasses.replace(fix, note=note)
    return dataclasses.replace(
        fix, example=render_pipeline(found), short_way=render_short_way(found)
    )


def own_image_map(fix: Fix, signals: Signals, owner: str, place: Location | None) -> Fix | None:
    """Return a fix with a map that loads the user's pictures; None where they are not known."""
    found = image_input(signals, owner, place)
    if found is None:
        return None
    tf = found.tf or "tf"
    lines = [*_load_function(found), ""]
    lines.append(f"# in place of the map that calls {_owner(found)}, on paths, before the batch")
    lines.append(f"ds = ds.map({_loader(found)}, num_parallel_calls={tf}.data.AUTOTUNE)")
    return dataclasses.replace(fix, example="\n".join(lines), short_way=render_short_way(found))


def render_pipeline(given: ImageInput) -> str:
    """Return the tf.data pipeline that reads the same pictures, as code to paste and to adapt."""
    tf, ds, owner = given.tf or "tf", given.dataset, _owner(given)
    paths, labels = given.paths or "paths", given.labels or "labels"
    lines = ["import tensorflow as tf", ""] if not given.tf else []
    lines += [*_load_function(given), ""]
    if given.instead_of:
        lines.append(f"# in place of {given.instead_of}")
    if not given.paths:
        lines.append(f"# `paths`: a list of the files that {owner} opens")
    if given.labels_are and not given.labels:
        lines.append(f"# `labels`: a list with the label of each of `{paths}`")
    sources = f"[str(path) for path in {paths}]"
    sources = f"({sources}, {labels})" if given.labels_are else sources
    repeated = ".repeat()" if given.is_repeated else ""
    if given.batch is None:
        lines.append(f"# {_ANY_BATCH}")
    batch = given.batch_name or given.batch or 32
    return "\n".join(
        [
            *lines,
            f"{ds} = {tf}.data.Dataset.from_tensor_slices({sources})",
            f"{ds} = {ds}.shuffle(len({paths})){repeated}",
            f"{ds} = {ds}.map({_loader(given)}, num_parallel_calls={tf}.data.AUTOTUNE)",
            f"{ds} = {ds}.batch({batch}).prefetch({tf}.data.AUTOTUNE)",
            given.fit or f"model.fit({ds})",
        ]
    )


def _load_function(given: ImageInput) -> list[str]:
    """Return the function that makes a picture of a file."""
    tf = given.tf or "tf"
    size = f"{given.size_name}, {given.size_name}" if given.size_name else ""
    size = size or f"{given.height}, {given.width}"
    image = f"image{given.scaling or ''}"
    if given.is_bytes:
        image = f"{tf}.cast({tf}.round(image), {tf}.uint8)"
    rows = [
        f"def {_loader(given)}(path{', label' if given.labels_are else ''}):",
        f"    image = {tf}.io.decode_jpeg({tf}.io.read_file(path), channels={given.channels})",
        f"    image = {tf}.image.resize(image, ({size}), antialias=True)",
        f"    # what else {_owner(given)} does to a picture goes here, with `{tf}.image`",
    ]
    if given.scaling is None:
        rows.append(f"    # {_UNSCALED}")
    return [*rows, f"    return {image}{', label' if given.labels_are else ''}"]


def _loader(given: ImageInput) -> str:
    """Return the name of the new function, which is not that of the user's."""
    return "load" if given.owner != "load" else "load_picture"


def _owner(given: ImageInput) -> str:
    return f"`{given.owner}`" if given.owner else "your code"


def render_short_way(given: ImageInput) -> str:
    """Return the same with `quickfit.data`, as code; empty where it has no such labels."""
    has_lists = bool(given.paths) and (bool(given.labels) or not given.labels_are)
    if given.labels_are == "other" or (given.labels_are == "one-hot" and not given.folder):
        return ""
    is_square = given.height == given.width
    size = given.height if is_square else (given.height, given.width)
    options = [f"size={given.size_name or size}"]
    options.append(f"batch={given.batch_name or given.batch or 32}")
    if not given.is_bytes:
        options.append('dtype="float32"')
    if given.scaling is None:
        options.append("scale=(0, 255)")
    elif "127.5" in given.scaling:
        options.append("scale=(-1, 1)")
    if given.labels_are == "one-hot":
        options.append("one_hot=True")
    if given.is_repeated:
        options.append("repeat=True")
    rows = ["from quickfit import data", ""]
    if given.batch is None:
        rows.append(f"# {_ANY_BATCH}")
    if given.scaling is None:
        rows.append(f"# {_UNSCALED}")
    if has_lists and given.labels_are != "one-hot":
        source = f"{given.paths}, {given.labels or 'False'}"
    else:
        source = _quoted(given.folder or "your_folder") + ("" if given.labels_are else ", False")
        if given.labels_are:
            rows.append(
                "# a folder that has a folder for each class; classes in order of their names"
            )
    rows.append(f"{given.dataset} = data.images({source}, {', '.join(options)})")
    return "\n".join([*rows, given.fit or f"model.fit({given.dataset})"])


def _quoted(text: str) -> str:
    """Return a text as a literal, in double quotes where that needs no escape."""
    return f'"{text}"' if text.isprintable() and not set(text) & {'"', "\\"} else repr(text)


def with_own_sizes(fix: Fix, signals: Signals) -> Fix:
    """Return a fix whose example has the user's size of pictures and of batches.

    Where one is in the example and not known, the example stays and says so.
    """
    example = fix.example
    batch = re.search(r"\bbatch\((\d+)\)", example)
    resized = re.search(r"\bresize\(\w+, (\(\d+, \d+\))", example)
    examples = examples_of_batch(signals) if batch is not None else None
    size = picture_size(signals) if resized is not None else None
    if batch is not None and examples is not None:
        example = re.sub(rf"(?<![\w.]){batch[1]}(?![\w.])", str(examples), example)
    if resized is not None and size is not None:
        example = example.replace(resized[1], f"({size[0]}, {size[1]})")
    is_open = (batch is not None and examples is None) or (resized is not None and size is None)
    note = f"{fix.note} {SIZES_ARE_EXAMPLES}".strip() if is_open else fix.note
    return dataclasses.replace(fix, example=example, note=note)
