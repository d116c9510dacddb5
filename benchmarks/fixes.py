"""Every example: is a fix made, is it proven, and is it as good as the one made by hand?

    python benchmarks/fixes.py [--only CAUSE …] [--budget 300] [--styles] [--null 20 [--first 10]]

For each folder of `corpus/pairs/`, `slow.py` is run as `quickfit fix` runs it: watched, diagnosed,
edited and proven. The table has the class of the fix, the predicted and the proven speed-up with
its interval, the time of the proof, and how fast the edited script is beside the hand-written
`fixed.py`, measured in turns in a fresh pair: 1.0 or more is the aim. `--styles` does the same
with the scripts of `corpus/styles`, written by people who had not seen the code that
recognises them, and shows each diff. `--null` gives the proof edits that change nothing: a
comment, a renamed variable. None may be accepted; twenty take about 25 minutes on two
free cores; `--first 10` leaves out those that were tried before.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from _cases import HERE, SCRIPT, pairs
from quickfit.errors import QuickfitError
from quickfit.findings import FixClass, Gain
from quickfit.findings._records import Change, Edit
from quickfit.fixing.sources import edited_files
from quickfit.fixing.story import Request, Story, setting_of, told
from quickfit.fixing.to_terminal import diff_of
from quickfit.lab.budget import Budget
from quickfit.lab.proof import Claim, Prover
from quickfit.lab.script_pair import Scope, Setting, Version, measure_pair, scope_of
from quickfit.lab.verdict import Outcome
from quickfit.launch.target import Target

STYLES = HERE.parent / "corpus" / "styles"
ROW = "{:28} {:6} {:18} {:>12} {:>20} {:>8} {:>6} {}"
SECONDS = 180.0
# To the first step of a script, beside what the setting makes of it.
PATIENCE_S = 40.0
# What is compared of edits that change nothing, in turn.
SCOPES = (Scope.STEPS, Scope.EPOCHS, Scope.TRAINING)


def main() -> int:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--styles", action="store_true")
    parser.add_argument("--null", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    if options.null:
        return null_edits(options.first, options.null)
    cases = styles() if options.styles else [(c.name, c.files[0], c.name) for c in pairs()]
    chosen = [case for case in cases if not options.only or case[0] in options.only]
    print(ROW.format("case", "fix", "class", "predicted", "proven", "by hand", "proof", ""))
    kept = [one(case, options.budget, shows=options.styles) for case in chosen]
    summary([outcome for outcome in kept if outcome is not None], len(chosen))
    return 0


def styles() -> list[tuple[str, Path, str]]:
    """Return the scripts in other people's styles."""
    return [(path.stem, path, "") for path in sorted(STYLES.glob("*.py"))]


@contextlib.contextmanager
def working_folder(script: Path) -> Iterator[Path]:
    """Copy a script to an empty folder and work there."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        work = Path(temp) / "work"
        work.mkdir()
        shutil.copy(script, work / SCRIPT)
        os.chdir(work)
        try:
            yield work
        finally:
            os.chdir(before)


def one(case: tuple[str, Path, str], budget: float, *, shows: bool) -> Outcome | None:
    """Fix one script, print its row, and return what became of the first candidate."""
    name, script, cause = case
    with working_folder(script) as work:
        try:
            story = told(Request(Target(script=SCRIPT), budget_s=budget), io.StringIO())
        except QuickfitError as error:
            print(
                ROW.format(name, "-", "-", "-", "-", "-", "-", f"{type(error).__name__}: {error}")
            )
            return None
        outcome = next((o for o in story.outcomes if o.cause == cause), None)
        outcome = outcome or next(iter(story.outcomes), None)
        if outcome is None:
            found = ", ".join(f.cause for f in story.diagnosis.findings) or story.diagnosis.headline
            print(ROW.format(name, "no", "-", "-", "-", "-", "-", found), flush=True)
            return None
        by_hand = beside_fixed(script, outcome, story, work) if not shows else math.nan
        print(row(name, outcome, by_hand), flush=True)
        if shows:
            print(diff_of([outcome], story.sources, work))
        return outcome


def row(name: str, outcome: Outcome, by_hand: float) -> str:
    """Return one line of the table."""
    gain, measured = outcome.predicted, outcome.measured
    predicted = f"{gain.low:.2f}-{gain.high:.2f}" if gain else "-"
    proven = f"{measured.mean:.2f} ({measured.low:.2f}-{measured.high:.2f})" if measured else "-"
    remark = "" if outcome.is_accepted else outcome.why
    said = f"{outcome.cause if outcome.cause != name else ''} {outcome.results} {remark}".strip()
    hand = "" if math.isnan(by_hand) else f"{by_hand:.2f}"
    cells = (outcome.kind.value, predicted, proven, hand, f"{outcome.took_s:.0f} s", said)
    return ROW.format(name, "yes" if outcome.is_accepted else "made", *cells)


def beside_fixed(script: Path, outcome: Outcome, story: Story, work: Path) -> float:
    """Return how many times as fast the edited script is as the one fixed by hand."""
    fixed = script.with_name("fixed.py")
    if not fixed.exists() or not outcome.is_accepted:
        return math.nan
    by_hand = Version("fixed.py", {str(work / SCRIPT): fixed.read_bytes()})
    ours = Version("the edited script", edited_files(outcome.change, story.sources))
    ratios = []
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as scratch:
        for number in range(1):
            claims = [
                c for f in story.diagnosis.findings if f.cause in outcome.cause for c in f.claims
            ]
            setting = setting_of(story, Path(scratch) / str(number), first_s=PATIENCE_S)
            setting = replace(setting, scope=scope_of(claims))
            until_s = time.monotonic() + SECONDS
            pair = measure_pair((by_hand, ours), setting, number=number, deadline_s=until_s)
            ratios += [pair.ratio] if pair.ratio else []
    return statistics.geometric_mean(ratios) if ratios else math.nan


def summary(outcomes: list[Outcome], cases: int) -> None:
    """Print how many were made and proven, and how well the predictions held."""
    accepted = [outcome for outcome in outcomes if outcome.is_accepted]
    print(f"\n{len(outcomes)} of {cases} have a fix; {len(accepted)} proven")
    known = [o for o in accepted if o.measured and o.predicted and o.predicted.high > 1.0]
    inside = sum(o.predicted.low <= o.measured.mean <= o.predicted.high for o in known)  # type: ignore[union-attr]
    errors = [abs(math.log(o.predicted.likely / o.measured.mean)) for o in known]  # type: ignore[union-attr]
    if errors:
        print(f"{inside} of {len(known)} proven gains inside the predicted range")
        print(f"median of |log(likely / proven)|: {statistics.median(errors):.2f}")


def null_edits(first: int, tries: int) -> int:
    """Give the proof edits that change nothing; return 1 if one was accepted."""
    accepted = 0
    cases = [case for case in pairs() if case.name != "busy-machine"]
    for number in range(first, tries):
        case = cases[number % len(cases)]
        with working_folder(case.files[0]) as work:
            path = str(work / SCRIPT)
            change = _null(path, (work / SCRIPT).read_text(), number)
            texts = {path: _made(Path(path).read_text(), change)}
            scope = SCOPES[number % len(SCOPES)]
            claim = Claim(case.name, "", change, Gain(1.0, 1.5, 2.0, ""), texts, scope)
            with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as scratch:
                setting = Setting(Target(script=SCRIPT), work, Path(scratch))
                outcome = Prover(setting, Budget(SECONDS)).prove(claim)
        accepted += outcome.is_accepted
        print(row(f"{case.name} ({change.title})", outcome, math.nan), flush=True)
    print(f"\n{accepted} of {tries - first} edits that change nothing were accepted")
    return int(accepted > 0)


def _null(path: str, text: str, number: int) -> Change:
    """Return an edit that adds a comment, or one that renames a variable of the script."""
    names = _variables(text) if number % 2 else []
    if not names:
        edit = Edit(path, (1, 0), (1, 0), "# a comment\n")
        return Change("a comment", FixClass.SAME_RESULTS, (edit,))
    uses = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and n.id == names[0]]
    edits = [
        Edit(path, (n.lineno, n.end_col_offset), (n.lineno, n.end_col_offset), "_") for n in uses
    ]
    return Change("a renamed variable", FixClass.SAME_RESULTS, tuple(edits))


def _variables(text: str) -> list[str]:
    """Return the variables of a script that share their name with no argument and no import."""
    tree = ast.parse(text)
    made = [
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    taken = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    taken |= {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    return [name for name in dict.fromkeys(made) if name not in taken]


def _made(text: str, change: Change) -> bytes:
    from quickfit.code.edits import apply_edits

    return apply_edits(text, change.edits).encode()


if __name__ == "__main__":
    sys.exit(main())
