"""End to end: `fit` of a small network, fed in different ways, from the second epoch on.

    python benchmarks/data_training.py [--only TEXT …] [--rounds 6] [--block 4] [--json FILE]

The same network and photographs each time; in turns. "synthetic" repeats one batch that is in
memory: no input can be faster. On a machine without an accelerator, input and network share the
cores, so that input is never free.
"""

from __future__ import annotations

from data.cases import Case
from data.options import chosen, parser, plan, ready_photos
from data.packs import ready_pack
from data.table import Claim, exit_code, judge, show, write
from data.turns import measure

TRAIN = "data.training:train"
SYNTHETIC, NAIVE = "synthetic batch", "PIL generator"
IMAGES, UNCACHED = "images(), cached by itself", "images(cache=None)"
RAW, JPEG = "raw pack", "jpeg256 pack, cached by itself"
# A first epoch that each case has to train through before it counts.
COUNT = 640
CLAIMS = tuple(
    Claim(f"{ours} against synthetic", ours, (SYNTHETIC,), 0.9) for ours in (IMAGES, RAW, JPEG)
)


def cases(packs: dict[str, str]) -> list[Case]:
    """Return all ways to feed the network."""
    size = [224, 224]
    feeds = {
        SYNTHETIC: {"feed": "synthetic"},
        NAIVE: {"feed": "naive"},
        UNCACHED: {"feed": "images", "cache": None},
        IMAGES: {"feed": "images"},
        RAW: {"feed": "records", "pack": packs["raw"]},
        JPEG: {"feed": "records", "pack": packs["jpeg256"], "size": size},
    }
    return [Case(name, TRAIN, feed, ("keras", "tensorflow")) for name, feed in feeds.items()]


def main() -> int:
    """Measure and print the table."""
    made = parser(__doc__, rounds=6, block_s=4.0)
    made.set_defaults(count=COUNT)
    options = made.parse_args()
    # Other benchmarks have more photographs; these have a folder of their own.
    options.scratch = options.scratch / "training"
    taken = ready_photos(options)
    packs = {
        form: str(ready_pack(taken.folder, options.scratch / "packs" / form, form))
        for form in ("jpeg256", "raw")
    }
    shared = {"photos": str(taken.folder), "takes_turns": True}
    results = measure(chosen(cases(packs), options.only), plan(options), shared=shared)
    show("Images trained per second", results, SYNTHETIC)
    verdicts = judge(CLAIMS, results)
    write(options.json, taken.note, {"training": results, "claims": verdicts})
    return exit_code(verdicts)


if __name__ == "__main__":
    raise SystemExit(main())
