"""What `quickfit run --live` costs the script while a page is open: with and without, in turns.

    python benchmarks/live.py [--rounds 4] [--steps 600] [SCRIPT ARGS]

Per step, from the recordings: CPU of the script's main thread, and wall time. Also the CPU time of
the process that serves the page, as a share of a core.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

import psutil

from quickfit.recording.reader import read

SCRIPT = Path(__file__).parents[1] / "corpus" / "healthy" / "small_cnn.py"
WARM = 20


def main() -> None:
    """Print one line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("script", nargs="*", default=[str(SCRIPT)])
    options = parser.parse_args()
    figures: dict[bool, list[tuple[float, float, float, int]]] = {False: [], True: []}
    for number in range(options.rounds):
        for is_live in (False, True) if number % 2 else (True, False):
            figures[is_live].append(run_once(options.script, options.steps, is_live=is_live))
    for is_live, rows in figures.items():
        cpu, wall = (1e3 * statistics.median(row[n] for row in rows) for n in (0, 1))
        spread = [1e3 * max(r[n] for r in rows) - 1e3 * min(r[n] for r in rows) for n in (0, 1)]
        print(
            f"{'--live' if is_live else 'without':8} main thread {cpu:.3f} ms a step"
            f" (runs differ by {spread[0]:.3f}), wall {wall:.3f} ms (by {spread[1]:.3f});"
            f" server {statistics.median(r[2] for r in rows):.1%} of a core,"
            f" {statistics.median(r[3] for r in rows):.0f} drawings"
        )


def run_once(script: list[str], steps: int, *, is_live: bool) -> tuple[float, float, float, int]:
    """Return CPU and wall time of a step, the server's share of a core, and the drawings."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "it.qfrun"
        command = [sys.executable, "-m", "quickfit", "run", "--steps", str(steps)]
        command += ["--output", str(run), *(["--live"] if is_live else []), *script]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        seen = {"pages": 0, "cpu": 0.0}
        reader = None
        for line in process.stderr:
            if is_live and (found := re.search(r"live page: (\S+)", line)):
                reader = threading.Thread(target=look, args=(found[1], process.pid, seen))
                reader.start()
        process.wait()
        if reader is not None:
            reader.join()
        rows = read(run).main.rows("steps")[WARM:]
        span_s = rows[-1]["end_s"] - rows[0]["begin_s"]
        cpu = statistics.median(row["cpu_s"] for row in rows if row["cpu_s"] is not None)
        wall = statistics.median(row["end_s"] - row["begin_s"] for row in rows)
        return cpu, wall, float(seen["cpu"]) / span_s, int(seen["pages"])


def look(address: str, parent: int, seen: dict[str, float]) -> None:
    """Be a page that is open: read events until the server ends."""
    with urllib.request.urlopen(f"{address}events") as events:
        servers = [
            child
            for child in psutil.Process(parent).children()
            if "live_page" in " ".join(child.cmdline())
        ]
        for line in events:
            seen["pages"] += line.startswith(b"event: page")
            for server in servers:
                try:
                    times = server.cpu_times()
                    seen["cpu"] = times.user + times.system
                except psutil.Error:
                    servers = []


if __name__ == "__main__":
    main()
