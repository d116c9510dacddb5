"""Writing packs: beside other writers of record files, with one and two workers, and its memory.

    python benchmarks/data_pack.py [--only TEXT …] [--rounds 4] [--json FILE]
                                   [--copies 4] [--memory 200000]

Each writer makes record files of about 128 MB from a folder of images, in turns, in a process
that has imported everything; workers that a pack starts count in full. Files come from the page
cache and go to `--scratch`; nobody waits for the disk. "images/s" is of whole writes. The last
table has the memory of all processes of a pack of many small images, at each tenth of the work.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from data.cases import Case
from data.memory import deciles, growth, small_images, watch_pack
from data.options import chosen, parser, plan, ready_photos
from data.photos import Photos
from data.table import HOLDS, MISSED, Claim, Verdict, exit_code, judge, show, write
from data.turns import measure
from data.writers import link

COPY, COPY_ONE = "quickfit pack, original", "quickfit pack, original, 1 worker"
ONE, TWO = "quickfit pack, jpeg256, 1 worker", "quickfit pack, jpeg256, 2 workers"
# Peers that copy: name, writer, what it needs.
PEERS = (
    ("tf.io.TFRecordWriter", "tf_writer", "tensorflow"),
    ("webdataset.ShardWriter", "webdataset_writer", "webdataset"),
    ("ArrayRecordWriter", "array_record_writer", "array_record"),
    ("MDSWriter", "mds_writer", "streaming"),
)
TF_REENCODED = "tf.data, jpeg256, all cores"
CLAIMS = (
    Claim("copying against other writers", COPY, tuple(peer[0] for peer in PEERS), 0.9),
    Claim("two workers against one, re-encoding", TWO, (ONE,), 1.7, counts_cpu=False),
)
# What counts as flat: the worst moment beside the first tenth.
MAX_GROWTH = 1.1


def copying(scratch: str) -> list[Case]:
    """Return the writers that copy the files as they are."""
    ours = [
        _case(COPY, "quickfit_pack", scratch, form="original"),
        _case(COPY_ONE, "quickfit_pack", scratch, form="original", workers=1),
    ]
    return ours + [_case(name, writer, scratch, needs=need) for name, writer, need in PEERS]


def reencoding(scratch: str) -> list[Case]:
    """Return the writers that shrink to 256 pixels."""
    return [
        _case(ONE, "quickfit_pack", scratch, is_copy=False, form="jpeg256", workers=1),
        _case(TWO, "quickfit_pack", scratch, is_copy=False, form="jpeg256", workers=2),
        _case(TF_REENCODED, "tf_reencoder", scratch, is_copy=False, needs="tensorflow"),
    ]


def _case(
    name: str,
    writer: str,
    scratch: str,
    *,
    is_copy: bool = True,
    needs: str = "",
    **options: object,
) -> Case:
    options = {"writer": writer, "scratch": scratch, "is_copy": is_copy, **options}
    return Case(name, "data.writers:write_in_turns", options, (needs,) if needs else ())


def main() -> int:
    """Measure and print all tables."""
    options = _options()
    taken = ready_photos(options)
    many = _many(taken, options)
    scratch = str(options.scratch / "written")
    results = []
    for title, cases, reference in (
        ("Copying", copying(scratch), COPY),
        ("Re-encoding", reencoding(scratch), ONE),
    ):
        shared = {"photos": str(many), "takes_turns": True}
        found = measure(chosen(cases, options.only), plan(options), shared=shared)
        show(title, found, reference)
        results += found
    shutil.rmtree(many)
    verdicts = judge(CLAIMS, results)
    verdicts += _memory(options) if options.memory else []
    write(options.json, taken.note, {"writing": results, "claims": verdicts})
    return exit_code(verdicts)


def _options() -> argparse.Namespace:
    made = parser(__doc__, rounds=4)
    made.add_argument("--copies", type=int, default=4, help="links to each photograph")
    made.add_argument("--memory", type=int, default=200_000, help="small images; 0: leave it out")
    return made.parse_args()


def _many(taken: Photos, options: argparse.Namespace) -> Path:
    """Return a folder with several links to each photograph: a pack of 2,000 is over too soon."""
    folder: Path = options.scratch / "many"
    shutil.rmtree(folder, ignore_errors=True)
    images = [(str(file), label) for file, label in zip(taken.files, taken.labels(), strict=True)]
    link(images, folder, copies=options.copies)
    return folder


def _memory(options: argparse.Namespace) -> list[Verdict]:
    """Pack many small images, by default and with two workers, and judge whether memory is flat."""
    source = options.scratch / "small"
    try:
        small_images(source, options.memory)
        print(f"\nMemory of a pack of {options.memory:,} small images, at each tenth of the work")
        return [
            _memory_of(name, source, how)
            for name, how in (("by default", {}), ("with 2 workers", {"workers": 2}))
        ]
    finally:
        shutil.rmtree(source, ignore_errors=True)


def _memory_of(name: str, source: Path, how: dict[str, int]) -> Verdict:
    destination = source.with_name("small-packed")
    try:
        looks = watch_pack(source, destination, how)
    finally:
        shutil.rmtree(destination, ignore_errors=True)
    print("  ".join(f"{look.memory_bytes / 1e6:.0f} MB" for look in deciles(looks)))
    grown = growth(looks)
    text = f"memory is flat, {name}: at most {grown:.2f} times that of the first tenth"
    outcome = HOLDS if grown <= MAX_GROWTH else MISSED
    verdict = Verdict(Claim(text, "", (), MAX_GROWTH), outcome)
    print(verdict.sentence())
    return verdict


if __name__ == "__main__":
    raise SystemExit(main())
