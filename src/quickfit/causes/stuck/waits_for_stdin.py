"""The script asks a question, or stops in a debugger, and waits for somebody to type.

Why it is slow: `input()`, `getpass`, `breakpoint()` and `pdb.set_trace()` wait for a line on stdin.
In a job, behind `nohup`, in a container or with the question scrolled away nobody types it, and the
training waits without using the CPU.

How it shows: a line of yours that asks (or a debugger below it) stands still, and the system says
that its thread sleeps in reading stdin.

Example:
    import os

    if os.path.exists("model.keras") and input("overwrite? ") != "y":
        raise SystemExit
    model.fit(ds)

Use instead:
    import argparse
    import os

    parser = argparse.ArgumentParser()
    parser.add_argument("--overwrite", action="store_true")
    options = parser.parse_args()
    if os.path.exists("model.keras") and not options.overwrite:
        raise SystemExit("model.keras exists: give --overwrite")
    model.fit(ds)

Fix class: shown only. An option asks nobody; `sys.stdin.isatty()` tells whether anybody is there.

When it is wrong: a script that reads its data from stdin (`cat data | train.py`) waits for a pipe
and not for a person. Then it is said only after the limit of `--stuck-after`, if nothing came
through meanwhile, and a line that neither asks nor names stdin is never accused.
"""

from __future__ import annotations

import re

from quickfit.causes._cause import Cause, silence_finding
from quickfit.code.lines import (
    line_above,
)
from quickfit.findings import Evidence, Finding, Fix, FixClass, Location, Symptom
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Frame, Scene
from quickfit.liveness.system import STDIN
from quickfit.liveness.waiting import (
    STILL_SHARE,
    is_idle,
    line_text,
    still,
)
from quickfit.signals import Signals

_PROMPTS = re.compile(r"\b(input|breakpoint|set_trace|getpass|raw_input)\s*\(")
_STDIN = re.compile(r"\bstdin\b")
_PROMPT_FILES = ("/pdb.py", "/bdb.py", "/cmd.py", "/code.py", "/getpass.py", "/fileinput.py")


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "waits-for-stdin")


def show_prompt(scene: Scene) -> Reason | None:
    """Tell of a script that waits for somebody to type."""
    for thread in scene.threads:
        frame, line = thread.user_frame, line_text(scene, thread.user_frame)
        prompts = bool(_PROMPTS.search(line)) or any(f.is_in(*_PROMPT_FILES) for f in thread.frames)
        reads = thread.waits_for == STDIN or (not thread.waits_in and not thread.waits_for)
        is_about = prompts or bool(_STDIN.search(line))
        if frame is None or not is_about or not reads or not is_idle(thread):
            continue
        if not thread.waits_in and thread.share < STILL_SHARE:
            continue
        prompt = any(f.is_in("/pdb.py", "/bdb.py") for f in thread.frames)
        what = "a debugger's prompt" if prompt else "somebody to type"
        what = what if prompts else "something to come through stdin"
        return Reason(
            cause="waits-for-stdin",
            summary=f"the script waits for {what}",
            where=_asked_at(scene, frame) if prompt else scene.place(frame),
            evidence=(still(thread), Evidence("reads from stdin", 1, "count", thread.waits_in)),
            advice="Type an answer, or take the line out for runs that nobody sits at.",
            # Data that comes through a pipe may come slowly.
            is_certain=prompts and thread.waits_for == STDIN,
        )
    return None


def _asked_at(scene: Scene, frame: Frame) -> Location | None:
    """Return the line of the breakpoint: a debugger stops at the one after it."""
    text = scene.sources.get(frame.file, "")
    line = line_above(text, frame.line, r"\b(breakpoint|set_trace)\s*\(", most=5)
    return scene.at(frame.file, line or frame.line)


CAUSE = Cause(
    title="The script waits for somebody to type",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Ask only where somebody can answer", FixClass.SHOW_ONLY),
    live=(Mechanism(show_prompt, Proof.NAMED),),
)
