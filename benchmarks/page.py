"""The page of a report for runs of a thousand, a hundred thousand and a million steps.

A kept real recording is lengthened: its steps are repeated with noise, slow steps, epochs and
validation, and thinned as the recorder thins them; memory and machine readings go along. Shown
are the size of the page, the time to draw and to write it after the recording was read, what the
details add to a diagnosis, and how long Chromium takes to open it, where it is installed.

    python benchmarks/page.py [--steps 1000 100000 1000000] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from quickfit.diagnosis import diagnose_recording
from quickfit.recording.reader import read
from quickfit.recording.thinning import BOUNDS, thin
from quickfit.report.page import render_page, write_page

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "tests" / "recordings" / "pairs" / "sequential-map.tar.xz"
MAX_BYTES, MAX_WRITE_S = 3_000_000, 2.0
# Of one thing timed several times the fastest is the least disturbed by others on the machine.
TIMES = 3


def main() -> int:
    """Print the table; the exit code says whether pages stay small and quick to write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--keep", type=Path, help="keep the pages in this folder")
    options = parser.parse_args()
    print("                        draw and write              CPU time of the")
    print("     steps      page     wall       CPU       details    diagnosis    opens in")
    is_bad = False
    with tempfile.TemporaryDirectory() as temp:
        for steps in options.steps:
            folder = Path(temp) / str(steps)
            folder.mkdir()
            is_bad |= show(longer_run(folder, steps), steps, options.keep)
    return int(is_bad)


def show(run: Path, steps: int, keep: Path | None) -> bool:
    """Print one row; True if the page is too large or too slow to write."""
    recording = read(run)
    _, plain_s, _ = timed(lambda: diagnose_recording(recording))
    _, whole_s, diagnosis = timed(lambda: diagnose_recording(recording, with_details=True))
    file = run.parent / "report.html"
    write_s, cpu_s, _ = timed(lambda: write_page(diagnosis, file))
    size = file.stat().st_size
    assert size == len(render_page(diagnosis).encode())
    opened = opening_s(file)
    print(
        f"{steps:>10,}  {size / 1e3:>5.0f} kB  {write_s * 1e3:>5.0f} ms  {cpu_s * 1e3:>5.0f} ms"
        f"  {(whole_s - plain_s) * 1e3:>9.0f} ms  {plain_s * 1e3:>7.0f} ms"
        f"     {f'{opened * 1e3:.0f} ms' if opened else 'no Chromium'}",
        flush=True,
    )
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, keep / f"{steps}.html")
    return size > MAX_BYTES or write_s > MAX_WRITE_S


def timed(work):
    """Return the wall and CPU time of the fastest of a few tries, and what it returned."""
    walls, cpus = [], []
    for _ in range(TIMES):
        began_s, cpu_s = time.perf_counter(), time.process_time()
        result = work()
        walls.append(time.perf_counter() - began_s)
        cpus.append(time.process_time() - cpu_s)
    return min(walls), min(cpus), result


def longer_run(folder: Path, steps: int) -> Path:
    """Return a recording with so many steps."""
    with tarfile.open(RECORDING) as archive:
        archive.extractall(folder, filter="data")
    run = folder / "run.qfrun"
    facts = json.loads((run / "run.json").read_text())
    (file,) = run.glob("*.sqlite")
    db = sqlite3.connect(file)
    (loop, begin_s) = db.execute("SELECT loop, min(begin_s) FROM steps").fetchone()
    for table in ("steps", "epochs"):
        db.execute(f"DELETE FROM {table}")
    end_s = _write_steps(db, loop, begin_s, steps)
    _write_machine(db, begin_s, end_s)
    db.execute("UPDATE loops SET end_s=?", (end_s,))
    for key in ("ending_s", "ended_s"):
        db.execute("UPDATE meta SET value=? WHERE key=?", (json.dumps(end_s), key))
    db.commit()
    db.close()
    if isinstance(facts.get("started_at"), int | float):
        facts["ended_at"] = facts["started_at"] + end_s - begin_s + 3.0
        (run / "run.json").write_text(json.dumps(facts))
    return run


def _write_steps(db: sqlite3.Connection, loop: int, begin_s: float, steps: int) -> float:
    chance = random.Random(1)
    each, at_s, rows = max(steps // 100, 50), begin_s, []
    epoch_s, held = begin_s, 0
    for number in range(steps):
        epoch = number // each + 1
        took_s = 0.010 * chance.lognormvariate(0, 0.15) * (25 if chance.random() < 0.002 else 1)
        end_s = at_s + took_s
        rows.append(
            (loop, epoch, number, at_s, took_s * 0.9, 2e-5, 1e-5, 1e-5, end_s, took_s * 0.4, None)
        )
        at_s = end_s
        if (number + 1) % each == 0 or number + 1 == steps:
            db.execute(
                "INSERT INTO epochs VALUES (?, ?, ?, ?, ?)", (loop, epoch, epoch_s, at_s + 0.5, 0.5)
            )
            epoch_s = at_s = at_s + 0.5
        if len(rows) == 10_000 or number + 1 == steps:
            db.executemany(f"INSERT INTO steps VALUES ({', '.join('?' * 11)})", rows)
            held, rows = held + len(rows), []
            if held > BOUNDS["steps"]:
                held = thin(db, "steps")
                (blocks,) = db.execute("SELECT count(*) FROM step_blocks").fetchone()
                if blocks > BOUNDS["step_blocks"]:
                    thin(db, "step_blocks")
    return at_s


def _write_machine(db: sqlite3.Connection, begin_s: float, end_s: float) -> None:
    """Add readings of the machine up to the end, as many as a recording keeps."""
    db.row_factory = sqlite3.Row
    last = dict(db.execute("SELECT * FROM machine ORDER BY rowid DESC LIMIT 1").fetchone())
    db.row_factory = None
    many = min(BOUNDS["machine"], max(int((end_s - begin_s) / 0.5), 10))
    names = list(last)
    for place in range(1, many):
        row = dict(last)
        row["at_s"] = last["at_s"] + (end_s - last["at_s"]) * place / many
        if row["at_s"] <= last["at_s"]:
            continue
        row["cpu_s"] = last["cpu_s"] + (row["at_s"] - last["at_s"]) * 1.3
        row["rss_bytes"] = last["rss_bytes"] + 20_000 * place
        marks = ", ".join("?" * len(names))
        db.execute(f"INSERT INTO machine VALUES ({marks})", [row[name] for name in names])


def opening_s(file: Path) -> float | None:
    """Return how long Chromium takes until the page is drawn; None without it."""
    browser, service = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or service is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
    for flag in f"{flags} --disable-background-networking --disable-component-update".split():
        options.add_argument(flag)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options.add_argument(f"--user-data-dir={profile}")
        driver = webdriver.Chrome(options=options, service=Service(service))
        try:
            taken = []
            for _ in range(TIMES):
                driver.get("about:blank")
                driver.get(file.as_uri())
                taken.append(
                    driver.execute_script(
                        "document.body.offsetHeight;"
                        "return performance.getEntriesByType('navigation')[0].loadEventEnd"
                    )
                )
            return min(taken) / 1e3
        finally:
            driver.quit()


if __name__ == "__main__":
    sys.exit(main())
