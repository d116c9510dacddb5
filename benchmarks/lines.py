"""Is the line that quickfit names the one that has the time? Small scripts, one hot statement each.

    python benchmarks/lines.py [--only TEXT …]

The hot statement of a case is marked `# HOT` and has more than 70 % of the time. The table says
whether the hottest line of the recording is that line, one beside it, or another, and the share
that the recording gives to the right line.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from quickfit.recording import reader
from quickfit.signals.stacks import Frame, Samples, hottest_user_line

ROW = "{:34} {:>9} {:>7} {:>8}  {}"
# Every case runs its `work()` for about so long.
SECONDS = 4.0

PRELUDE = """\
import bisect, json, random, re, threading, time
import numpy as np
END = time.perf_counter() + {seconds}
big = list(range(150_000))
text = json.dumps([{{"a": n, "b": str(n)}} for n in range(20_000)])
words = ("aaaaaaaaaaaaaaaaaaaaab " * 4_000)
rows = np.random.default_rng(0).normal(size=(500, 500))
out = []
def running():
    del out[:]
    return time.perf_counter() < END
"""

HELPERS = """\
import time
import numpy as np
big = list(range(150_000))
def heavy(value):
    found = value in big  # HOT
    return not found
def light(value):
    return value + 1
def slow_sum(n):
    total = 0
    for i in range(n):
        total += i * i  # HOT
    return total
def last(value):
    return value in big  # HOT
"""

# Name -> (the script behind the prelude, whether the hot line is in the helper module).
CASES: dict[str, str] = {
    "a numpy call": """
while running():
    small = rows[:2] + 1
    done = np.linalg.svd(rows[:120, :120])  # HOT
    kept = small.sum()
    out.append(kept)
""",
    "a numpy operator": """
while running():
    a = rows + 0
    b = np.arange(3)
    c = rows ** 2.5  # HOT
    d = b + 1
    out.append(d)
""",
    "numpy fancy indexing": """
index = np.random.default_rng(0).integers(0, 250_000, 800_000)
flat = rows.ravel()
while running():
    n = len(out)
    picked = flat[index]  # HOT
    n = n + 1
    out.append(n)
""",
    "a PIL resize": """
from PIL import Image
image = Image.fromarray((rows[:, :, None] * np.ones(3) * 255).astype("uint8"))
while running():
    n = image.size
    small = image.resize((1200, 1200), Image.BICUBIC)  # HOT
    pixel = small.getpixel((0, 0))
    out.append(pixel)
""",
    "a comprehension": """
while running():
    n = len(out)
    done = [i * i % 7 for i in range(30_000)]  # HOT
    n = n + done[0]
    out.append(n)
""",
    "json.loads": """
while running():
    n = len(out)
    done = json.loads(text)  # HOT
    n = n + len(done)
    out.append(n)
""",
    "a sort": """
while running():
    n = len(out)
    values = big[:40_000]
    values.sort(key=str)  # HOT
    n = n + values[0]
    out.append(n)
""",
    "a regular expression": """
pattern = re.compile(r"(a|b)+c")
while running():
    n = len(out)
    done = pattern.findall(words)  # HOT
    n = n + len(done)
    out.append(n)
""",
    "time.sleep": """
while running():
    n = len(out)
    time.sleep(0.01)  # HOT
    n = n + 1
    out.append(n)
""",
    "`in` a list": """
while running():
    n = len(out)
    hit = -1 in big  # HOT
    n = not hit
    out.append(n)
""",
    "`in` a list, as a condition": """
while running():
    n = len(out)
    if -1 not in big:  # HOT
        out.append(n)
""",
    "lists put together": """
while running():
    n = len(out)
    longer = big + big  # HOT
    n = longer[0]
    out.append(n)
""",
    "a slice": """
while running():
    n = len(out)
    part = big[1:]  # HOT
    n = n + 1
    out.append(n)
""",
    "an f-string of a list": """
while running():
    n = len(out)
    name = f"{big[:9000]}"  # HOT
    n = n + 1
    out.append(n)
""",
    "a multi-line statement": """
while running():
    n = len(out)
    done = dict(
        values=sorted(  # HOT
            big[:40_000],
            key=str,
        ),
        more=1,
    )
    n = n + len(done)
    out.append(n)
""",
    "the last of a loop body": """
while running():
    for n in range(20):
        out.append(n)
        hit = -1 in big  # HOT
""",
    "before the last of a loop body": """
while running():
    for n in range(20):
        hit = -1 in big  # HOT
        n = n + 1
""",
    "the last of a function": """
def step(n):
    n = n + 1
    return -1 in big  # HOT
while running():
    hit = step(1)
    out.append(hit)
""",
    "a helper in another module": """
import helpers
while running():
    n = helpers.light(1)
    hit = helpers.heavy(-1)
    out.append(hit)
""",
    "the last of a helper elsewhere": """
import helpers
def prepare(n):
    n = helpers.light(n)
    hit = helpers.last(-1)
    n = helpers.light(n)
    return hit
while running():
    hit = prepare(1)
    out.append(hit)
""",
    "a Python loop in a helper": """
import helpers
while running():
    n = helpers.light(1)
    done = helpers.slow_sum(20_000)
    out.append(done)
""",
    "a generator that computes": """
def batches():
    n = 0
    while True:
        n = n + 1
        hit = -1 in big  # HOT
        n = n + hit
        yield n
for batch in batches():
    out.append(batch)
    if not running():
        break
""",
    "a yield that waits": """
def batches():
    while True:
        n = len(out)
        yield from wait(n)
def wait(n):
    time.sleep(0.01)  # HOT
    yield n
for batch in batches():
    out.append(batch)
    if not running():
        break
""",
    "Python before a short write": """
log = open("log.txt", "w", buffering=1)
while running():
    n = len(out)
    done = sum(i * i % 7 for i in range(12_000))  # HOT
    print(done, file=log)
    log.flush()
    n = n + 1
""",
    "a callback before a short sleep": """
class Watch:
    def on_batch_end(self, batch):
        self.mean = sum(x for x in big[:20_000])  # HOT
        self.note()
    def note(self):
        time.sleep(0.0001)
watch = Watch()
while running():
    watch.on_batch_end(1)
""",
    "a step in Python": """
weights = [0.5] * 200
def train_step(x, y):
    guess = sum(w * v for w, v in zip(weights, x))
    error = guess - y
    for i in range(200):
        grad = [error * v for v in x]  # HOT
        weights[i] -= 1e-9 * grad[i]
    return error
x = [0.1] * 200
while running():
    out.append(train_step(x, 1.0))
""",
    "an input thread": """
import queue
ready = queue.SimpleQueue()
def produce():
    n = 0
    while True:
        n = n + 1
        hit = -1 in big  # HOT
        n = n + hit
        ready.put(n)
threading.Thread(target=produce, daemon=True).start()
while running():
    n = ready.get()
    out.append(n)
""",
}


def main() -> int:
    """Print the table; the exit code says whether a line was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    print(ROW.format("hot statement", "line", "share", "samples", "named instead"))
    results = [
        tried(name)
        for name in CASES
        if not options.only or any(text in name for text in options.only)
    ]
    print(f"\n{results.count('right')} of {len(results)} right, {results.count('beside')} beside")
    return int(any(result != "right" for result in results))


def tried(name: str) -> str:
    """Run one case and print its row."""
    with tempfile.TemporaryDirectory(prefix="quickfit-lines-") as temp:
        folder = Path(temp).resolve()
        (folder / "helpers.py").write_text(HELPERS)
        (folder / "case.py").write_text(PRELUDE.format(seconds=SECONDS) + CASES[name])
        subprocess.run(
            [sys.executable, "-m", "quickfit", "run", "case.py"],
            cwd=folder, check=False, capture_output=True,
        )  # fmt: skip
        (recorded,) = (folder / ".quickfit" / "runs").glob("*.qfrun")
        return judged(name, folder, Samples(reader.read(recorded).main))


def judged(name: str, folder: Path, samples: Samples) -> str:
    """Print whether the hottest line is the marked one."""
    role = "other" if "input thread" in name else "main"
    stacks = [stack for stack in samples.between(0.0, 1e12) if stack.role == role]
    marked = {
        (file, number)
        for file in ("case.py", "helpers.py")
        for number, line in enumerate((folder / file).read_text().split("\n"), 1)
        if "# HOT" in line
    }
    found = hottest_user_line(stacks)
    if found is None:
        print(ROW.format(name, "none", "", "", ""))
        return "none"
    frame, _, total = found
    right = sum(s.seen for s in stacks if any(f in marked for f in map(place, users(s)[:1])))
    at = place(frame)
    result = "right" if at in marked else "wrong"
    if result == "wrong" and any(f == at[0] and abs(n - at[1]) == 1 for f, n in marked):
        result = "beside"
    text = (folder / at[0]).read_text().split("\n")[at[1] - 1].strip()
    instead = "" if result == "right" else f"{at[0]}:{at[1]}: {text}"
    print(ROW.format(name, result, f"{right / total:.0%}", f"{total:.0f}", instead), flush=True)
    return result


def users(stack: object) -> list[Frame]:
    """Return the user's frames of a stack, innermost first."""
    return [frame for frame in stack.frames if frame.is_user]  # type: ignore[attr-defined]


def place(frame: Frame) -> tuple[str, int]:
    """Return the name of a frame's file, and its line."""
    return Path(frame.file).name, frame.line


if __name__ == "__main__":
    sys.exit(main())
