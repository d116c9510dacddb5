"""`quickfit.data.images` on original files, beside other loaders, all in turns.

    python benchmarks/data_images.py [--only TEXT …] [--rounds 8] [--block 1.5] [--json FILE]

JPEG photographs from the page cache, to batches of 32 images of 224×224, shuffled, without a
cache of decoded images. The second table is of antialiased shrinking, as PIL does it. Every case
is checked: its images are recognised among the photographs, labels and pixels included; "PSNR" is
its nearness in dB to PIL's antialiased result (99: the same pixels).

Peers: `pip install -r benchmarks/data/requirements.txt`.
"""

from __future__ import annotations

from data.cases import Case
from data.options import chosen, parser, plan, ready_photos
from data.table import Claim, exit_code, judge, show, write
from data.turns import measure

TF, OTHER, OURS = "data.loaders_tf", "data.loaders_other", "data.loaders_quickfit"
IMAGES, ANTIALIAS, PIL = "quickfit images()", 'images(resize="antialias")', 'images(resize="pil")'

_HAND = f"{TF}:hand_written"
HAND_WRITTEN = (
    Case("tf.data, default decoding", _HAND, {"fast": False}, ("tensorflow",)),
    Case("tf.data, fast", _HAND, {}, ("tensorflow",)),
    Case("tf.data, fast, not fancy", _HAND, {"fancy": False}, ("tensorflow",)),
    Case("tf.data, fast, ratio", _HAND, {"ratio": "read"}, ("tensorflow",)),
    Case("tf.data, fast, ratio known", _HAND, {"ratio": "known"}, ("tensorflow",)),
    Case(
        "tf.data, fast, ratio known, not fancy",
        _HAND,
        {"ratio": "known", "fancy": False},
        ("tensorflow",),
    ),
    Case(
        "tf.data, fast, ratio known, any order",
        _HAND,
        {"ratio": "known", "in_order": False},
        ("tensorflow",),
    ),
)
PEERS = (
    Case("PIL generator", f"{TF}:pil_generator", {}, ("tensorflow", "PIL")),
    Case("PyDataset, 2 threads", f"{TF}:py_dataset", {"workers": 2}, ("keras", "PIL")),
    Case("image_dataset_from_directory", f"{TF}:keras_directory", {}, ("keras",)),
    Case(
        "torch DataLoader, 2 workers, PIL", f"{OTHER}:torch_loader", {"decoder": "pil"}, ("torch",)
    ),
    Case(
        "torch DataLoader, 2 workers, cv2",
        f"{OTHER}:torch_loader",
        {"decoder": "cv2"},
        ("torch", "cv2"),
    ),
    Case("Grain, 2 threads, PIL", f"{OTHER}:grain_threads", {"decoder": "pil"}, ("grain",)),
    Case("Grain, 2 threads, cv2", f"{OTHER}:grain_threads", {"decoder": "cv2"}, ("grain", "cv2")),
    Case(
        "Grain, 2 processes, cv2", f"{OTHER}:grain_processes", {"decoder": "cv2"}, ("grain", "cv2")
    ),
)
LIMIT = Case(
    "native limit: simplejpeg + cv2, 2 threads",
    f"{OTHER}:native_limit",
    {"decoder": "simplejpeg"},
    ("simplejpeg", "cv2"),
)
PLAIN = (
    Case(IMAGES, f"{OURS}:images", {"cache": None}, ("tensorflow",)),
    *HAND_WRITTEN,
    *PEERS,
    LIMIT,
)

TF_ANTIALIAS = (
    Case("tf.data, antialias=True", _HAND, {"antialias": True}, ("tensorflow",)),
    Case(
        "tf.data, antialias=True, ratio known",
        _HAND,
        {"antialias": True, "ratio": "known"},
        ("tensorflow",),
    ),
)
# What PIL does by default; the check compares with it.
BICUBIC = {"bicubic": True}
PIL_GENERATORS = (
    Case("PIL generator, bilinear", f"{TF}:pil_generator", {}, ("tensorflow", "PIL")),
    Case(
        "PIL generator, default",
        f"{TF}:pil_generator",
        {"bicubic": True},
        ("tensorflow", "PIL"),
        BICUBIC,
    ),
)
SMOOTH = (
    Case(ANTIALIAS, f"{OURS}:images", {"cache": None, "resize": "antialias"}, ("tensorflow",)),
    Case(PIL, f"{OURS}:images", {"cache": None, "resize": "pil"}, ("tensorflow",), BICUBIC),
    *TF_ANTIALIAS,
    *PIL_GENERATORS,
)


def names(cases: tuple[Case, ...]) -> tuple[str, ...]:
    """Return the names of cases."""
    return tuple(case.name for case in cases)


CLAIMS = (
    Claim("images() against hand-written tf.data", IMAGES, names(HAND_WRITTEN), 0.95),
    Claim("images() ahead of all other loaders", IMAGES, names(PEERS), 1.0),
)
SMOOTH_CLAIMS = (
    Claim("antialias against tf.image.resize", ANTIALIAS, names(TF_ANTIALIAS), 1.3),
    Claim("antialias ahead of PIL", ANTIALIAS, names(PIL_GENERATORS), 1.0),
    Claim("pil mode ahead of PIL", PIL, names(PIL_GENERATORS), 1.0),
)


def main() -> int:
    """Measure and print both tables."""
    options = parser(__doc__).parse_args()
    taken = ready_photos(options)
    shared = {"photos": str(taken.folder)}
    plain = measure(chosen(PLAIN, options.only), plan(options), shared=shared)
    show("From original files", plain, IMAGES)
    smooth = measure(chosen(SMOOTH, options.only), plan(options), shared=shared)
    show("Antialiased", smooth, ANTIALIAS)
    verdicts = judge(CLAIMS, plain) + judge(SMOOTH_CLAIMS, smooth)
    write(options.json, taken.note, {"plain": plain, "antialiased": smooth, "claims": verdicts})
    return exit_code(verdicts)


if __name__ == "__main__":
    raise SystemExit(main())
