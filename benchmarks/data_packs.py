"""Packs beside original files: how fast they are read, and what the first epoch costs.

    python benchmarks/data_packs.py [--only TEXT …] [--rounds 8] [--block 1.5] [--json FILE]
                                    [--epochs 3] [--repeats 3]

The first table reads from the page cache, without a cache of decoded images, beside readers of
the same packs written by hand. The second has whole epochs in fresh processes with the caches that
`images()` and `records()` choose by themselves; the first epoch reads from the disk.
"""

from __future__ import annotations

import argparse
import random
import statistics
from pathlib import Path

from data.cases import Case
from data.options import chosen, parser, plan, ready_photos
from data.packs import forget, ready_pack
from data.photos import Photos
from data.table import Claim, exit_code, judge, show, write
from data.turns import Block, CaseError, Child, Result, measure, tell

OURS, HAND = "data.loaders_quickfit", "data.loaders_records"
IMAGES, JPEG, RAW = (
    "images() on original files",
    "records() on a jpeg256 pack",
    "records() on a raw pack",
)
HAND_JPEG = "jpeg256 by hand, record by record"
HAND_RAW = ("raw by hand, record by record", "raw by hand, batch by batch")
CLAIMS = (
    Claim("a jpeg256 pack against original files", JPEG, (IMAGES,), 2.2),
    Claim("a raw pack against original files", RAW, (IMAGES,), 8.0),
    Claim("records() on jpeg256 against a reader by hand", JPEG, (HAND_JPEG,), 0.95),
    Claim("records() on raw against a reader by hand", RAW, HAND_RAW, 0.95),
)
EPOCH_ROW = "{:36} {:>22} {:>22}"
TF = ("tensorflow",)


def reading(packs: dict[str, str]) -> list[Case]:
    """Return the cases of the first table."""
    size = [224, 224]
    jpeg, raw = packs["jpeg256"], packs["raw"]
    return [
        Case(IMAGES, f"{OURS}:images", {"cache": None}, TF),
        Case(JPEG, f"{OURS}:records", {"pack": jpeg, "size": size, "cache": None}, TF),
        Case(RAW, f"{OURS}:records", {"pack": raw, "cache": None}, TF),
        Case(HAND_JPEG, f"{HAND}:one_by_one", {"pack": jpeg, "is_raw": False}, TF),
        Case(HAND_RAW[0], f"{HAND}:one_by_one", {"pack": raw, "is_raw": True}, TF),
        Case(HAND_RAW[1], f"{HAND}:raw_batches", {"pack": raw}, TF),
    ]


def whole_epochs(packs: dict[str, str]) -> list[Case]:
    """Return the cases of the second table."""
    size = [224, 224]
    return [
        Case("images(), no cache", f"{OURS}:images", {"cache": None}, TF),
        Case("images()", f"{OURS}:images", {}, TF),
        Case("records(), jpeg256", f"{OURS}:records", {"pack": packs["jpeg256"], "size": size}, TF),
        Case("records(), raw", f"{OURS}:records", {"pack": packs["raw"]}, TF),
    ]


def main() -> int:
    """Make the packs, measure, and print both tables."""
    options = _options()
    taken = ready_photos(options)
    packs = {
        form: str(ready_pack(taken.folder, options.scratch / "packs" / form, form))
        for form in ("jpeg256", "raw")
    }
    shared = {"photos": str(taken.folder)}
    results = measure(chosen(reading(packs), options.only), plan(options), shared=shared)
    show("From the page cache", results, IMAGES)
    verdicts = judge(CLAIMS, results)
    epochs = _epochs(chosen(whole_epochs(packs), options.only), options, taken)
    write(options.json, taken.note, {"reading": results, "epochs": epochs, "claims": verdicts})
    return exit_code(verdicts)


def _options() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument("--epochs", type=int, default=3)
    made.add_argument("--repeats", type=int, default=3)
    return made.parse_args()


def _epochs(cases: list[Case], options: argparse.Namespace, taken: Photos) -> list[Result]:
    """Run whole epochs in fresh processes, in changing order, and print the table."""
    results = [Result(case) for case in cases]
    files = [*taken.files, *(options.scratch / "packs").rglob("*.tfrecord")]
    for number in range(options.repeats):
        order = list(results)
        random.Random(number).shuffle(order)
        for result in order:
            tell(f"epochs of {result.case.name}, {number + 1} of {options.repeats}")
            _run_epochs(result, options.epochs, taken.folder, files)
    tell("")
    print("\nWhole epochs in a fresh process, images/s and CPU ms per image")
    print(EPOCH_ROW.format("", "first, from the disk", "later"))
    for result in results:
        _show_epochs(result, options.epochs)
    return results


def _run_epochs(result: Result, epochs: int, folder: Path, files: list[Path]) -> None:
    case = result.case
    job = {"photos": str(folder), "make": case.make, "options": case.options, "epochs": epochs}
    child = Child(job)
    try:
        child.answer()  # it is built; what that has read is forgotten again
        forget(files)
        found = [child.ask("go 0"), *(child.answer() for _ in range(epochs - 1))]
        result.blocks += [Block(**each, other_cores=0.0) for each in found]
    except CaseError as error:
        result.failure = str(error)
    finally:
        child.end()


def _show_epochs(result: Result, epochs: int) -> None:
    first = [block for place, block in enumerate(result.blocks) if place % epochs == 0]
    later = [block for place, block in enumerate(result.blocks) if place % epochs != 0]
    cells = [_cell(blocks) if blocks else "–" for blocks in (first, later)]
    print(EPOCH_ROW.format(result.case.name, *cells), result.failure)


def _cell(blocks: list[Block]) -> str:
    rate = statistics.median(block.rate for block in blocks)
    cpu_s = statistics.median(block.image_cpu_s for block in blocks)
    return f"{rate:,.0f} / {cpu_s * 1e3:.2f} ms"


if __name__ == "__main__":
    raise SystemExit(main())
