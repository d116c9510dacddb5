"""Runs small scripts as real trials, and tells whether a folder is what it was before."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quickfit.lab.script_trial import started
from quickfit.launch.target import Target

from launch.sessions import PATIENCE_S


@dataclass(frozen=True)
class Ended:
    """How a trial ended."""

    code: int
    failure: str
    out: str
    err: str
    scratch: Path


def tried(
    home: Path,
    text: str | None = None,
    *,
    target: Target | None = None,
    texts: Mapping[str, bytes] | None = None,
    **how: object,
) -> Ended:
    """Run `train.py` of a folder, or what is given, as a trial to its end.

    Args:
        home: where the user runs it; the scratch folder is made beside it.
        text: of `train.py`, written first; None where the script is there.
        target: what to run instead.
        texts: edited files by their paths.
    """
    if text is not None:
        (home / "train.py").write_text(text)
    scratch = home.with_name(f"{home.name}-scratch{len(list(home.parent.iterdir()))}")
    target = target or Target(script="train.py")
    with started(target, scratch, cwd=home, texts=texts, **how) as trial:
        trial.keeper.wait(PATIENCE_S)
        out, err = ((scratch / f"std{name}.log").read_text() for name in ("out", "err"))
        return Ended(trial.keeper.poll(), trial.failure(), out, err, scratch)


def state_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return all there is below a folder: names, kinds, modes, times and contents."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        facts = path.lstat()
        content = ""
        if path.is_symlink():
            content = os.readlink(path)
        elif stat.S_ISREG(facts.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        name = path.relative_to(folder).as_posix()
        found[name] = (facts.st_mode, facts.st_mtime_ns, facts.st_uid, facts.st_gid, content)
    return found
