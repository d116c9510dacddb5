"""Reasons in the user's Python code: a generator that gives nothing, a loop, a prompt."""

from __future__ import annotations

import re

from quickfit.findings import Evidence, Location
from quickfit.liveness.phases import is_peek, making_thread, waiting_input
from quickfit.liveness.reason import Reason
from quickfit.liveness.scene import Frame, Raised, Scene, Thread
from quickfit.liveness.system import STDIN
from quickfit.liveness.waiting import (
    STILL_SHARE,
    has_working_child,
    is_idle,
    line_text,
    stands_still,
    still,
    waits_for_workers,
)
from quickfit.source.blocks import (
    is_in_generator,
    is_loop_header,
    line_above,
    loop_inside,
    loop_without_yield,
)

# A loop over nothing takes all it gets of a core; others may take the rest.
BUSY_CORES = 0.2
# So many exceptions of one kind in a look of a fifth of a second are a loop of their own.
MIN_RAISED = 5
# So many since the last batch, and not one that went well: that is all of them.
MIN_SWALLOWED = 2000
# An empty loop is seen at its header alone; so many looks make that no accident.
MIN_LOOKS = 20
# What was counted on more lately moves; a look from outside takes a little longer.
MIN_STILL_S = 2.0
_PROMPTS = re.compile(r"\b(input|breakpoint|set_trace|getpass|raw_input)\s*\(")
_STDIN = re.compile(r"\bstdin\b")
# What lists files, and may take its time even if it finds none.
_LISTS = re.compile(r"\b(i?glob|rglob|listdir|scandir|iterdir|walk)\s*\(")
_PROMPT_FILES = ("/pdb.py", "/bdb.py", "/cmd.py", "/code.py", "/getpass.py", "/fileinput.py")


def stdin(scene: Scene) -> Reason | None:
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


def swallowed(scene: Scene) -> Reason | None:
    """Tell of an input that swallows one exception after the other and gives nothing."""
    # What a library raises and catches itself is its way of looking for something.
    own = [one for one in scene.raised if one.caught and one.caught.file in scene.sources]
    raised = max(own, key=lambda one: one.count, default=None)
    if raised is None or raised.count < MIN_RAISED or raised.place is None:
        return None
    thread, source = making_thread(scene), waiting_input(scene)
    is_asked = thread is not None or source is not None
    if scene.still_s < raised.window_s or not (is_asked or _is_in_generator(scene)):
        return None
    per_s = raised.count / raised.window_s
    given = f"batch {source.batches + 1:,}" if source is not None else "the first batch"
    return Reason(
        cause="generator-never-yields",
        summary=f"{raised.name} is raised and swallowed {_how_often(per_s)}, and {given} never"
        f" comes: {_short(raised)}",
        where=raised.place,
        evidence=(
            Evidence(f"{raised.name} swallowed", raised.count, "count", _when(raised)),
            Evidence("since the last batch", scene.still_s, "s", "none was given meanwhile"),
        ),
        advice="Let the exception through, or count what is skipped and raise after too many.",
        also=raised.caught,
        # A generator of a loop of the script's own may give to somebody who is not watched, and one
        # that skips most of what it finds gives something in the end.
        is_certain=is_asked and per_s * scene.still_s >= MIN_SWALLOWED,
    )


def _is_in_generator(scene: Scene) -> bool:
    """Tell whether the main thread is inside a generator of the user's."""
    frames = scene.main.frames if scene.main is not None else ()
    return any(
        frame.is_user and is_in_generator(scene.sources.get(frame.file, ""), frame.line)
        for frame in frames
    )


def _how_often(per_s: float) -> str:
    """Return a rate in words."""
    return f"{per_s:,.0f} times a second" if per_s >= 1 else "again and again"


def _short(raised: Raised) -> str:
    message = " ".join(raised.message.split())
    return message if len(message) <= 80 else f"{message[:79]}…"


def _when(raised: Raised) -> str:
    caught = f", caught at line {raised.caught.line}" if raised.caught is not None else ""
    return f"in {raised.window_s:.1f} s{caught}"


def empty_loop(scene: Scene) -> Reason | None:
    """Tell of an endless loop over nothing: only its own line is ever seen."""
    thread = making_thread(scene)
    if thread is None or thread.user_frame is None or not thread.lines:
        return None
    seen = sum(count for _, _, count in thread.lines)
    texts = {file: scene.sources.get(file, "") for file, _, _ in thread.lines}
    if seen < MIN_LOOKS or (thread.cores is not None and thread.cores < BUSY_CORES):
        return None
    if not all(is_loop_header(texts[file], line) for file, line, _ in thread.lines):
        return None
    file, last, _ = max(thread.lines, key=lambda line: line[1])
    # Python looks up where a loop goes round: at the outer one, if the inner one never does.
    inner = loop_inside(texts[file], last)
    where = scene.at(file, inner or last)
    # What is looped over may itself take long to give its next item, in C or in a library.
    if not thread.frames[0].is_user and not _LISTS.search(where.text if where else ""):
        return None
    return Reason(
        cause="empty-input",
        summary="the input's loop goes round and never gives anything: there is nothing in it",
        where=where,
        evidence=(
            Evidence("looks at which only the loop's own line ran", seen, "count"),
            Evidence("since the last batch", scene.still_s, "s", "none was given meanwhile"),
        ),
        advice="Check what is looped over (a folder or pattern that matches nothing?) and raise"
        " if it is empty.",
        is_certain=scene.still_s > 5.0 and (inner is not None or len(thread.lines) > 1),
    )


def silent_generator(scene: Scene) -> Reason | None:
    """Tell of an input that stands at one line, or runs and gives nothing."""
    thread = making_thread(scene)
    source = waiting_input(scene)
    if thread is None or thread.user_frame is None or scene.still_s < MIN_STILL_S:
        return None
    given = source.batches if source is not None else 0
    idle = is_idle(thread)
    if idle and not stands_still(thread):
        return None
    if waits_for_workers(thread) and has_working_child(scene):
        return None
    if not idle and not given and not _never_gives(scene, thread):
        return None  # the first batch of a busy generator may take its time
    where = scene.place(thread.user_frame)
    does = f"waits at {where.short}" if idle and where else "runs and gives nothing"
    waits = f" ({thread.waits_in})" if idle and thread.waits_in else ""
    since_s = scene.still_s
    return Reason(
        cause="generator-never-yields",
        summary=f"the input has given {given:,} batches and no more: it {does}{waits}",
        where=where,
        evidence=(
            still(thread) if idle else Evidence("of a core it uses", thread.cores or 0.0, "share"),
            Evidence("since the last batch", since_s, "s", "none was given meanwhile"),
        ),
        advice="Give what it waits for a timeout and an error, so that it cannot wait for ever.",
    )


def _never_gives(scene: Scene, thread: Thread) -> bool:
    """Tell whether the lines that run lie in a loop without a `yield`."""
    frame = thread.user_frame
    text = scene.sources.get(frame.file, "") if frame is not None else ""
    return frame is not None and is_peek(thread) and loop_without_yield(text, frame.line)
