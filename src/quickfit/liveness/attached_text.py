"""Says what was seen of a process from outside: what it does, why it stands still, its stacks."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from quickfit import units
from quickfit.findings import Evidence, Location
from quickfit.liveness import system
from quickfit.liveness.attach import Looks, Target
from quickfit.liveness.phases import Phase, making_thread, phase
from quickfit.liveness.reason import Mechanism, Reason, first_reason
from quickfit.liveness.scene import Frame, Scene, Thread

# Frames of the user's that are shown of a stack, and other processes.
MAX_FRAMES, MAX_CHILDREN = 8, 6
# What stood still for so long is stuck; less may be a slow batch.
SURE_S = 10.0
# A process that uses so much of a core works.
MIN_CORES = 0.3
NEXT = "To watch a run from its start, and learn what makes it slow:\n    quickfit run SCRIPT"


def lines(target: Target, looks: Looks, scene: Scene, mechanisms: Sequence[Mechanism]) -> list[str]:
    """Return what to print of a process, line by line."""
    said = [f"process {target.pid}: {' '.join(target.command)}", _about(target, looks, scene)]
    said.append(f"doing: {doing(scene)}")
    found = why(scene, mechanisms)
    said += ["", *_reason(found, target, scene)] if found is not None else ["", _nothing(scene)]
    for thread in scene.threads:
        said += ["", *_thread(thread, scene, len(looks.stacks))]
    said += _children(scene)
    return [*said, "", *NEXT.splitlines()]


def _about(target: Target, looks: Looks, scene: Scene) -> str:
    told = []
    if looks.last is not None:
        age_s = max(system.uptime_s() - looks.last.process.began_s, 0.0)
        told.append(f"running for {units.seconds(age_s)}")
        told.append(_counted(len(looks.last.process.tasks), "thread"))
    if scene.machine.cores is not None:
        told.append(f"{scene.machine.cores:.1f} cores busy")
    if scene.children:
        told.append(f"{_counted(len(scene.children), 'process', 'es')} below it")
    told.append(f"looked at {len(looks.stacks)} times in {units.seconds(scene.window_s)}")
    return ", ".join(told)


def _counted(number: int, name: str, more: str = "s") -> str:
    return f"{number} {name}{'' if number == 1 else more}"


def doing(scene: Scene) -> Phase:
    """Return what a process does; how many batches came before is not known from outside."""
    found = phase(scene)
    if making_thread(scene) is not None and not scene.inputs and found.name == "first-batch":
        return dataclasses.replace(found, name="batch", text="waiting for a batch of Python code")
    if found.name == "step":
        return dataclasses.replace(found, text="a step runs")
    if found.name in ("other", "start"):
        # Whether it has trained before is not known either.
        return dataclasses.replace(found, text="running code outside a training loop")
    return found


def why(scene: Scene, mechanisms: Sequence[Mechanism]) -> Reason | None:
    """Return why a process stands still, without counts that only a recording has."""
    found = first_reason(mechanisms, scene)
    if found is None or found.cause != "generator-never-yields" or scene.inputs:
        return found
    maker = making_thread(scene)
    is_idle = maker is None or (maker.cores or 0.0) < 0.05
    does = "waits" if is_idle else "runs, and gives nothing"
    waits = f" ({maker.waits_in})" if is_idle and maker is not None and maker.waits_in else ""
    known = tuple(one for one in found.evidence if not one.what.startswith("since the last"))
    told = Evidence("looked at, without a batch", scene.window_s, "s")
    summary = f"the input gives no batch meanwhile: it {does}{waits}"
    return dataclasses.replace(found, summary=summary, evidence=(*known, told))


def _reason(found: Reason, target: Target, scene: Scene) -> list[str]:
    is_sure = found.is_certain or scene.window_s >= SURE_S
    name = found.cause if is_sure or found.moves else f"may be {found.cause}"
    said = [f"{_lead(found, scene, is_sure=is_sure)}: {found.summary} ({name})"]
    said += [f"    {_place(where)}" for where in (found.where, found.also) if where is not None]
    for one in found.evidence:
        detail = f"  ({one.detail})" if one.detail else ""
        said.append(f"    {units.quantity(one.value, one.unit)}  {one.what}{detail}")
    said.append(f"    {found.advice}")
    longer = f"To tell slow from stuck, look for longer: quickfit attach {target.pid} --for 30s"
    return said if is_sure or found.moves else [*said, f"    {longer}"]


def _lead(found: Reason, scene: Scene, *, is_sure: bool) -> str:
    if found.moves:
        return "slow, and gets there"
    if is_sure:
        return "it stands still"
    return f"it stood still for the {units.seconds(scene.window_s)} that it was looked at"


def _nothing(scene: Scene) -> str:
    main = scene.main
    if main is not None and main.share < 0.9:
        return "it moves: the main thread was seen at different lines"
    runs = main is not None and main.cores is not None and not main.waits_in
    if runs or (scene.machine.cores or 0.0) >= MIN_CORES:
        return "it works: no reason to stand still was seen, and its threads use the CPU"
    thread = making_thread(scene) or main
    place = scene.place(thread.user_frame) if thread is not None else None
    if thread is None or place is None or not thread.waits_in:
        return "why it does not move could not be told; look again for longer: --for 20s"
    about = f" on {thread.waits_for}" if thread.waits_for else ""
    return f"it waits at {place.short}, in {thread.waits_in}{about}; for whom could not be told"


def _thread(thread: Thread, scene: Scene, looks: int) -> list[str]:
    """Return a thread's stack, outermost first, with the frames of libraries counted."""
    name = {"main": "main thread", "input": "a thread that makes input"}.get(
        thread.role, "a thread"
    )
    same = f"the same stack in {round(thread.share * looks)} of {looks} looks"
    used = f", {thread.cores:.2f} of a core" if thread.cores is not None else ""
    waits = f", in {thread.waits_in}" if thread.waits_in else ""
    about = f" on {thread.waits_for}" if thread.waits_in and thread.waits_for else ""
    return [f"{name}: {same}{used}{waits}{about}", *_stack(thread.frames, scene)]


def _stack(frames: tuple[Frame, ...], scene: Scene) -> list[str]:
    said: list[str] = []
    skipped: list[Frame] = []
    for frame in reversed(frames):
        if not frame.is_user:
            skipped.append(frame)
            continue
        said += _skipped(skipped)
        skipped = []
        said.append(f"    {_place(scene.place(frame))}")
    return [*said[-2 * MAX_FRAMES :], *_skipped(skipped)]


def _skipped(frames: list[Frame]) -> list[str]:
    if not frames:
        return []
    last = frames[-1]
    more = f"{len(frames)} frames of libraries, the last one in " if len(frames) > 1 else ""
    return [f"      {more}{_package(last.file)}: {last.function}"]


def _package(file: str) -> str:
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.split(folder, 1)[1].split("/", 1)[0].removesuffix(".py")
    return os.path.basename(file)


def _children(scene: Scene) -> list[str]:
    if not scene.children:
        return []
    said = ["", "processes below it:"]
    for child in scene.children[:MAX_CHILDREN]:
        user = next((frame for frame in child.frames if frame.is_user), None)
        place = scene.place(user)
        at = f", at {place.short}" if place is not None else ""
        waits = f", in {child.waits_in}" if child.waits_in else ""
        forked = "forked" if child.is_fork else child.name
        used = f"{child.cores:.2f} of a core"
        said.append(
            f"    {child.pid} {forked}: {units.seconds(child.age_s)} old, {used}{waits}{at}"
        )
    left = len(scene.children) - MAX_CHILDREN
    return [*said, f"    and {left} more"] if left > 0 else said


def _place(where: Location | None) -> str:
    if where is None:
        return ""
    return f"{where.short}  {where.text}" if where.text else where.short
