"""The founding documents' own examples: what is said of each, what is changed, what happens then.

    python benchmarks/founding.py [--only NAME …]

Each of `founding/*.py` is put into an empty folder, with the files it reads or without them. It is
checked, run for a while, fixed with `quickfit fix --apply`, and the fixed script is run again by
plain Python: it must train, end, or at once name a file that is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1] / "corpus" / "founding"
ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}
# Scripts that are fine end by themselves; a training of ten epochs is not waited for.
RUN_S, FIX_S, AFTER_S = 60, 420, 45


@dataclass(frozen=True)
class Case:
    """One example.

    Args:
        script: its file.
        files: what it reads: `png`, `jpg`, `tfrecord`, or nothing.
        said: causes of which `check` or `run` must name one, each; none where it is fine.
        after: what the fixed script does: `trains`, `ends` or `names a missing file`.
    """

    script: str
    files: str
    said: tuple[str, ...]
    after: str


CASES = (
    Case("arrays_by_hand", "", (), "ends"),
    Case("numerics_checked", "", (), "ends"),
    Case("prefetched", "", (), "ends"),
    Case("pillow_generator", "png", ("labels-broadcast-in-loss",), "trains"),
    Case("pillow_generator", "", ("generator-never-yields",), "names a missing file"),
    Case("decoded_any", "png", ("decode-image-no-shape", "labels-broadcast-in-loss"), "trains"),
    Case("records", "tfrecord", ("labels-broadcast-in-loss",), "trains"),
    Case("one_buffer", "jpg", ("shuffle-autotune", "resize-then-convert"), "ends"),
    Case("half_precision", "", ("keras3-loss-scale-api",), "ends"),
    Case("depthwise", "", (), "ends"),
)


def main() -> int:
    """Print the table; the exit code says whether an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    only = parser.parse_args().only
    results = []
    for case in CASES:
        if not only or any(text in case.script for text in only):
            with tempfile.TemporaryDirectory(prefix="quickfit-founding-") as folder:
                results.append(tried(case, Path(folder)))
    print(f"\n{sum(results)} of {len(results)} right")
    return int(not all(results))


def tried(case: Case, folder: Path) -> bool:
    """Check, run, fix and run again; print one paragraph."""
    script = folder / "train.py"
    shutil.copy(HERE / f"{case.script}.py", script)
    make_files(case.files, folder)
    name = f"{case.script} ({case.files or 'no'} files)"
    checked, ran = check(folder), run(folder)
    told = {*checked, *ran}
    began_s = time.perf_counter()
    fixed = fix(folder) if case.said else "nothing to fix"
    took_s = time.perf_counter() - began_s
    after, words = again(folder)
    is_said = all(cause in told for cause in case.said) and (bool(case.said) or not told)
    is_right = is_said and after == case.after
    print(
        f"{name}: {'ok' if is_right else 'NO'}\n    check {', '.join(checked) or '-'}"
        f"\n    run   {', '.join(ran) or '-'}\n    fix   {fixed} ({took_s:.0f} s)"
        f"\n    then  {after}: {words}",
        flush=True,
    )
    return is_right


def check(folder: Path) -> list[str]:
    """Return the causes that the text alone proves."""
    told = json.loads(
        _quickfit(folder, RUN_S, "check", "--isolated", "--format", "json", "train.py")
    )
    return list(dict.fromkeys(finding["cause"] for finding in told["findings"]))


def run(folder: Path) -> list[str]:
    """Return the causes that a run finds which are wrong, crash or hang, the first one first."""
    # A run that stands still goes on until it is told not to.
    _quickfit(folder, RUN_S, "run", "--stuck-after", "15s", "--for", "40s", "train.py")
    told = json.loads(_quickfit(folder, RUN_S, "report", "--format", "json"))
    found = [f for f in told["findings"] if f["symptom"] in ("wrong", "crash", "stuck")]
    return [f["cause"] for f in found if f["severity"] != "mention"]


def fix(folder: Path) -> str:
    """Write what is proven; return which causes that was."""
    _quickfit(folder, FIX_S, "fix", "--apply", "--budget", "4m", "train.py")
    said = (folder / "said.txt").read_text()
    written = re.search(r"^Written: (.*) in train.py", said, re.MULTILINE)
    return f"wrote {written[1]}" if written else f"nothing: {said.strip()[-200:]}"


def again(folder: Path) -> tuple[str, str]:
    """Run the script by plain Python; return what it does, and its last words."""
    try:
        ran = subprocess.run(
            [sys.executable, "train.py"], cwd=folder, env=ENVIRONMENT, timeout=AFTER_S,
            capture_output=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        words = _last((late.stdout or b"").decode(errors="replace"))
        return ("trains" if "loss" in words else "hangs"), words
    out, err = ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace")
    if ran.returncode == 0:
        return ("trains" if "Epoch" in out else "ends"), _last(out)
    return ("names a missing file" if "No such file" in err else "crashes"), _last(err)


def _last(text: str) -> str:
    lines = [line.split("\r")[-1].split("\x08")[-1].strip() for line in text.split("\n")]
    return next((line for line in reversed(lines) if line), "")[:150]


def _quickfit(folder: Path, limit_s: float, *words: str) -> str:
    command = [sys.executable, "-m", "quickfit", *words]
    with (folder / "said.txt").open("w") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
            stdout=said, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            # As a person would: Ctrl-C, for quickfit and the script.
            os.killpg(process.pid, 2)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
    return (folder / "said.txt").read_text()


def make_files(kind: str, folder: Path) -> None:
    """Write the images that a script takes for granted."""
    import numpy as np
    from PIL import Image

    (folder / "data").mkdir()
    rng, number = np.random.default_rng(0), {"png": 1000, "jpg": 320, "tfrecord": 320}
    pixels = rng.integers(0, 255, (8, 64, 64, 3), dtype=np.uint8)
    for index in range(number.get(kind, 0)):
        suffix = "png" if kind == "png" else "jpg"
        image = Image.fromarray(np.roll(pixels[index % 8], index, axis=0))
        image.save(folder / "data" / f"image_{index}.{suffix}")
    if kind == "tfrecord":
        _records(folder)


def _records(folder: Path) -> None:
    """Write `data.tfrecord`, in a process of its own: TensorFlow is slow to go."""
    code = """
import glob, tensorflow as tf
with tf.io.TFRecordWriter("data.tfrecord") as out:
    for n, name in enumerate(sorted(glob.glob("data/*.jpg"))):
        image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[open(name, "rb").read()]))
        label = tf.train.Feature(int64_list=tf.train.Int64List(value=[n % 2]))
        features = tf.train.Features(feature={"image": image, "label": label})
        out.write(tf.train.Example(features=features).SerializeToString())
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=ENVIRONMENT, check=True)


if __name__ == "__main__":
    sys.exit(main())
