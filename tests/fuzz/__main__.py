"""Feeds changed inputs to the readers of quickfit, and keeps what should not have happened.

    make fuzz FUZZ_SECONDS=600 FUZZ_SEED=1 FUZZ_KIND=recording,script

Each kind runs in a child with a limit on its memory, which is started again after a crash or a
hang. An input is a function of the seed, the kind and its number. What is found is made small and
kept in `corpus/fuzz/<kind>`, where `tests/test_fuzz_corpus.py` replays it for ever.
"""

import argparse
import hashlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

from fuzz.judging import TREE, Case, Kind, Verdict, judge
from fuzz.kinds import KINDS
from fuzz.shrinking import shrink

CORPUS = TREE / "corpus" / "fuzz"
# More than any seed needs, over what the process has before the first input.
MEMORY_BYTES = 2_000_000_000
MAX_GROWTH_BYTES = 700_000_000
# A child that says nothing for so long hangs in code that no timer interrupts.
SILENCE_S = 120.0
# Caches of modules grow with every input; a new child begins without them.
INPUTS_PER_CHILD = 50_000
TURN_S = 120.0


def input_of(kind: Kind, name: str, seed: int, number: int) -> Case:
    """Return the input with a number; the seeds themselves come first."""
    seeds = kind.seeds()
    if number < len(seeds):
        return seeds[number]
    rng = Random(f"{seed}/{name}/{number}")
    while True:
        try:
            return kind.change(rng, seeds)
        except (RecursionError, MemoryError, UnicodeError):
            continue  # too much even for the one who made it


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="", help=", ".join(KINDS))
    parser.add_argument("--inputs", type=int, default=0, help="stop after so many of each kind")
    parser.add_argument("--keep", type=Path, default=CORPUS)
    parser.add_argument("--child", nargs=3, metavar=("KIND", "FIRST", "SCRATCH"))
    options = parser.parse_args()
    if options.child:
        return _run_child(options)
    names = options.kind.split(",") if options.kind else list(KINDS)
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        parser.error(f"no such kind: {unknown[0]}. Known: {', '.join(KINDS)}")
    return _run(options, names)


# -- the parent ---------------------------------------------------------------------------------


def _run(options: argparse.Namespace, names: list[str]) -> int:
    """Give every kind its turn until the time is over; print counts."""
    counts = {name: Counter() for name in names}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):  # enough for today: the counts are printed
        _take_turns(options, names, counts)
    _print_counts(counts, options.seed)
    return 1 if sum(count["findings"] for count in counts.values()) else 0


def _take_turns(options: argparse.Namespace, names: list[str], counts: dict[str, Counter]) -> None:
    until_s = time.monotonic() + options.seconds
    left = list(names)
    while left and time.monotonic() < until_s:
        for name in list(left):
            spare_s = until_s - time.monotonic()
            turn_s = min(TURN_S, options.seconds / len(names) / 2, spare_s)
            if turn_s > 0:
                _turn(options, name, counts[name], turn_s)
            if options.inputs and counts[name]["inputs"] >= options.inputs:
                left.remove(name)


def _turn(options: argparse.Namespace, name: str, count: Counter, turn_s: float) -> None:
    """Run a child for a while, and count what it says."""
    with tempfile.TemporaryDirectory(prefix="quickfit-fuzz-", dir=_fast_folder()) as place:
        child = _start(options, name, count["inputs"], place)
        until_s = time.monotonic() + turn_s
        is_done = False
        for line in _lines(child):
            said = json.loads(line)
            count.update(said["counts"])
            for text in said["findings"]:
                print(f"{name}: {text}", flush=True)
            is_done = bool(options.inputs) and count["inputs"] >= options.inputs
            if time.monotonic() > until_s or is_done:
                is_done = True
                break
        if not is_done:
            _note_death(options, name, count, child)
        child.kill()
        child.wait()
        child.stdout.close()
    print(f"{name}: {count['inputs']:,} inputs, {count['findings']} findings", flush=True)


def _lines(child: subprocess.Popen) -> Iterator[bytes]:
    """Yield what a child says, line by line, until it ends or is silent for too long."""
    rest = b""
    while select.select([child.stdout], [], [], SILENCE_S)[0]:
        piece = os.read(child.stdout.fileno(), 1 << 16)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


def _start(options: argparse.Namespace, name: str, first: int, place: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "fuzz", "--child", name, str(first), place]
    command += ["--seed", str(options.seed), "--keep", str(options.keep)]
    paths = {"XDG_STATE_HOME": place, "TMPDIR": place, "HOME": place}
    env = {
        **os.environ,
        **paths,
        "PYTHONPATH": f"{TREE / 'tests'}{os.pathsep}{TREE / 'src'}",
        "PYTHONHASHSEED": "0",
    }
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=env)


def _note_death(
    options: argparse.Namespace, name: str, count: Counter, child: subprocess.Popen
) -> None:
    """Keep the input that ended a child, which has written its number before it began."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(5.0)
    is_silent = child.poll() is None
    child.kill()
    code = child.wait()
    file = Path(child.args[-5]) / "number"
    if code == 0:
        return
    if not file.exists():
        print(f"{name}: a child could not begin (exit code {code})", flush=True)
        time.sleep(1.0)
        return
    number = int(file.read_text())
    case = input_of(KINDS[name], name, options.seed, number)
    how = "hang" if is_silent else f"exit code {code}"
    what = Verdict("finding", how, f"number {number}")
    count.update({"inputs": number + 1 - count["inputs"], "findings": 1})
    print(f"{name}: {_keep(options, name, case, what)}", flush=True)


def _fast_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _print_counts(counts: dict[str, Counter], seed: int) -> None:
    columns = ("inputs", "refused", "accepted", "findings")
    print(f"\nseed {seed}\n{'kind':<12}" + "".join(f"{name:>12}" for name in columns))
    total: Counter = Counter()
    for name, count in counts.items():
        print(f"{name:<12}" + "".join(f"{count[column]:>12,}" for column in columns))
        total.update(count)
    print(f"{'all':<12}" + "".join(f"{total[column]:>12,}" for column in columns))


# -- the child ----------------------------------------------------------------------------------


def _run_child(options: argparse.Namespace) -> int:
    """Judge inputs from a number on; say in JSON what came of them, about once a second."""
    # What a reader prints must not be taken for what we say.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    name, first, place = options.child[0], int(options.child[1]), Path(options.child[2])
    kind = KINDS[name]
    folder = place / "case"
    for seed in kind.seeds()[:2]:
        judge(kind, seed, folder)  # what is imported for the first time is not the input's
    _limit_memory()
    known: set[str] = set()
    counts: Counter = Counter()
    findings: list[str] = []
    said_s = time.monotonic()
    mark = (place / "number").open("w")
    for number in range(first, first + INPUTS_PER_CHILD):
        mark.seek(0)
        mark.write(f"{number}\n")
        mark.flush()
        case = input_of(kind, name, options.seed, number)
        before = _peak_bytes()
        verdict = judge(kind, case, folder)
        if _peak_bytes() - before > MAX_GROWTH_BYTES:
            verdict = Verdict("finding", "memory", f"{(_peak_bytes() - before) / 1e9:.1f} GB more")
        counts["inputs"] += 1
        counts["findings" if verdict.outcome == "finding" else verdict.outcome] += 1
        if verdict.outcome == "finding" and verdict.key not in known:
            known.add(verdict.key)
            findings.append(_kept_small(options, name, case, verdict, folder))
        if time.monotonic() - said_s > 0.5 or findings:
            print(json.dumps({"counts": counts, "findings": findings}), file=answers)
            counts, findings, said_s = Counter(), [], time.monotonic()
        if verdict.key == "memory":
            break  # the peak stays; a new child begins below it
    print(json.dumps({"counts": counts, "findings": findings}), file=answers)
    return 0


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _kept_small(
    options: argparse.Namespace, name: str, case: Case, verdict: Verdict, folder: Path
) -> str:
    kind = KINDS[name]
    if verdict.key != "memory" and not _folder_of(options, name, verdict).exists():
        case = shrink(case, lambda one: judge(kind, one, folder).key == verdict.key)
    return _keep(options, name, case, verdict)


def _keep(options: argparse.Namespace, name: str, case: Case, verdict: Verdict) -> str:
    """Write a case that shows something new; return what a person reads about it, once."""
    folder = _folder_of(options, name, verdict)
    if folder.exists():
        return f"again: {verdict.key}"
    for file, data in case.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    return f"FINDING {verdict.key}\n{verdict.detail}\nkept in {folder}"


def _folder_of(options: argparse.Namespace, name: str, verdict: Verdict) -> Path:
    return options.keep / name / hashlib.sha256(verdict.key.encode()).hexdigest()[:10]


if __name__ == "__main__":
    sys.exit(main())
