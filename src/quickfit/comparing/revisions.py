"""Two revisions of a script, run in turns: what git has of the older one, against what is here.

Only source differs between the two. Both run in the user's folder, read the same data, and write to
a scratch folder.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quickfit.comparing.recordings import compare_runs, is_slower_than, with_verdict
from quickfit.errors import FixError, UsageError
from quickfit.findings import MIN_GAIN, Comparison, Interval
from quickfit.lab.child import ChildError, Finished, run_to_end
from quickfit.lab.observe import observe
from quickfit.lab.script_pair import PairResult, Setting, Version, measure_pair
from quickfit.lab.verdict import MOST_PAIRS, looked_interval
from quickfit.launch.target import Target
from quickfit.recording.reader import Recording, read

# With two pairs an interval says next to nothing.
FEWEST_PAIRS = 3
# Seconds of training of each, alone, for the account and the findings.
ALONE_S = 8.0
HERE = "the working folder"
_GIT_S = 60.0
# A question must not run programs that a repository's settings name.
_QUIET_GIT = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


@dataclass(frozen=True)
class RevisionRequest:
    """What is to be compared.

    Args:
        target: the script and its arguments.
        cwd: where the user runs it.
        base: the revision that it is compared with.
        head: the newer revision; empty for the files as they are here.
        budget_s: the time for everything.
        limit: how much slower counts as a failure, as a share; None without one.
        trusts_script: run it also where only Python guards the user's files.
    """

    target: Target
    cwd: Path
    base: str
    head: str = ""
    budget_s: float = 300.0
    limit: float | None = None
    trusts_script: bool = False


@dataclass
class Sources:
    """The source of one revision, where it is not what is here.

    Args:
        texts: by the path of the file.
        notes: what differs between revisions and cannot be put in its place.
    """

    texts: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def compare_revisions(
    request: RevisionRequest,
    *,
    tell: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Run two revisions in turns and compare them.

    Raises:
        UsageError: there is no such revision, or nothing differs.
        FixError: one of the two makes no step of training.
    """
    deadline_s = time.monotonic() + request.budget_s
    names = (request.base, request.head or HERE)
    older = sources_of(request.base, request.cwd)
    newer = sources_of(request.head, request.cwd) if request.head else Sources()
    _check_script(request, names, (older, newer))
    if older.texts == newer.texts:
        raise UsageError(
            f"compare: no Python file differs between {names[0]} and {names[1]}.\n"
            "Name an older revision:\n    git log --oneline -5"
        )
    with tempfile.TemporaryDirectory(prefix="quickfit-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        runs: list[Recording] = []
        for number, (name, sources) in enumerate(zip(names, (older, newer), strict=True)):
            tell(f"{name}: watched alone")
            runs.append(_alone(request, sources.texts, name, folder / f"alone{number}"))
        seen = compare_runs((runs[0], runs[1]), names)
        versions = (Version(names[0], older.texts), Version(names[1], newer.texts))
        setting = Setting(request.target, request.cwd, folder, trusts_script=request.trusts_script)
        results = _measure(versions, setting, deadline_s, request.limit, tell)
    return _joined(seen, results, [*older.notes, *newer.notes])


def _alone(
    request: RevisionRequest, texts: Mapping[str, bytes], name: str, folder: Path
) -> Recording:
    seen = observe(
        request.target,
        folder,
        cwd=request.cwd,
        trusts_script=request.trusts_script,
        texts=texts,
        enough_s=ALONE_S,
    )
    if seen.failure:
        raise FixError(
            f"{request.target.name} of {name} {seen.failure}\n"
            "Both revisions must train. To see what this one does, check it out and run:\n"
            f"    quickfit run {request.target.name}"
        )
    return read(seen.recording)


def _measure(
    versions: tuple[Version, Version],
    setting: Setting,
    deadline_s: float,
    limit: float | None,
    tell: Callable[[str], None],
) -> list[PairResult]:
    """Measure pairs until they decide, the budget is used up, or more would not help."""
    results: list[PairResult] = []
    while len(results) < MOST_PAIRS and time.monotonic() < deadline_s:
        number = len(results)
        pair = f"pair {number + 1} of {FEWEST_PAIRS} to {MOST_PAIRS}"
        tell(pair)
        result = measure_pair(
            versions,
            setting,
            number=number,
            deadline_s=deadline_s,
            tell=lambda text, pair=pair: tell(f"{pair}, {text}"),  # type: ignore[misc]
        )
        if result.ratio is None:
            if not results:
                results.append(result)
            break
        results.append(result)
        if is_decided([r.ratio for r in results if r.ratio], limit):
            break
    return results


def slower_interval(ratios: Sequence[float]) -> Interval:
    """Return how many times as long the second takes, from how many times as fast it was."""
    seen = looked_interval(ratios)
    return Interval(1 / seen.high, 1 / seen.mean, 1 / seen.low)


def is_decided(ratios: Sequence[float], limit: float | None) -> bool:
    """Tell whether more pairs could not change the answer.

    Args:
        ratios: how many times as fast the second one was, in each pair.
        limit: the question, where it is one of a limit.
    """
    if len(ratios) < FEWEST_PAIRS:
        return False
    slower = slower_interval(ratios)
    if limit is not None:
        return is_slower_than(slower, limit) or slower.high < 1 + limit
    is_same = slower.low >= 1 / MIN_GAIN and slower.high <= MIN_GAIN
    return is_same or slower.low > 1 or slower.high < 1


def _joined(seen: Comparison, results: Sequence[PairResult], notes: Sequence[str]) -> Comparison:
    """Return what was seen of each alone, with the interval of the pairs."""
    ratios = [result.ratio for result in results if result.ratio]
    alone = [note.replace("the interval allows", "parts allow") for note in seen.differences]
    differences = (*alone, *notes)
    if len(ratios) < 2:
        why = next((result.why for result in results if result.why), "the time was used up")
        missing = f"no interval over pairs: {why}; give more time with --budget"
        return dataclasses.replace(seen, differences=(*differences, missing))
    unit = next((result.unit for result in results if result.unit), "steps")
    joined = dataclasses.replace(
        seen,
        slower=slower_interval(ratios),
        pairs=len(ratios),
        basis=f"{len(ratios)} pairs in turns, {unit} compared; parts by one run of each, alone",
        differences=differences,
    )
    return with_verdict(joined)


# -- what git has -------------------------------------------------------------------------------


def sources_of(revision: str, cwd: Path) -> Sources:
    """Return the Python files of a revision that differ from those in the working folder.

    Raises:
        UsageError: there is no such revision, or this is no git repository.
    """
    top = Path(_git(cwd, "rev-parse", "--show-toplevel").strip())
    if revision.startswith("-"):
        raise UsageError(f"compare: this is not a revision.\nReceived: {revision}")
    commit = _git(cwd, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    # Files that git does not know yet are in no revision.
    asked = ("diff", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv", "-z")
    listed = _git(cwd, *asked, commit, "--")
    fields = listed.split("\0")
    sources = Sources()
    for status, name in zip(fields[::2], fields[1::2], strict=False):
        file = top / name
        if not name.endswith(".py"):
            sources.notes.append(f"{name} differs too; both runs read the one that is here")
        elif status == "D":
            sources.notes.append(
                f"{name} is in {revision} and not here: a run that imports it cannot be made"
            )
        elif status != "A":
            text = _git(cwd, "cat-file", "blob", f"{commit}:{name}")
            if "\ufffd" in text:
                sources.notes.append(f"{name} is not UTF-8; both runs read the one that is here")
            else:
                sources.texts[str(file)] = text.encode()
    sources.notes = _few(sources.notes)
    return sources


def _few(notes: list[str]) -> list[str]:
    return notes if len(notes) <= 4 else [*notes[:3], f"and {len(notes) - 3} more files differ"]


def _check_script(
    request: RevisionRequest, names: tuple[str, str], both: tuple[Sources, Sources]
) -> None:
    """Make sure that both revisions have the script."""
    script = request.target.script
    if script is None:
        return
    for name, revision in zip(names, (request.base, request.head), strict=True):
        here = os.path.relpath(request.cwd / script, request.cwd)
        if revision and _run_git(request.cwd, "cat-file", "-e", f"{revision}:./{here}").code != 0:
            raise UsageError(
                f"compare: {name} has no {script}.\nName a revision in which it is:\n"
                f"    git log --oneline -- {script}"
            )


def _git(cwd: Path, *words: str) -> str:
    done = _run_git(cwd, *words)
    if done.code != 0:
        why = done.stderr.strip().splitlines()
        raise UsageError(
            f"compare: git {words[0]} failed: {why[-1] if why else 'there is no such revision'}.\n"
            f"Received: {words[-1]}\nSee which revisions there are:\n    git log --oneline -5"
        )
    return done.stdout


def _run_git(cwd: Path, *words: str) -> Finished:
    try:
        return run_to_end(["git", "-C", str(cwd), *_QUIET_GIT, *words], timeout_s=_GIT_S)
    except (OSError, ChildError) as error:
        raise UsageError(
            f"compare: git could not be run ({error}).\nRevisions are read with it: install git."
        ) from error
