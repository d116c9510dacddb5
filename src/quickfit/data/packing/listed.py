"""Packs a source whose images are listed: planned first, then made by one or many processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from quickfit.capacity import whole_cores
from quickfit.data.entries import Source
from quickfit.data.packing import faults, json_lines
from quickfit.data.packing.crew import Crew, ShardFailedError
from quickfit.data.packing.finishing import finish
from quickfit.data.packing.layout import shard_name
from quickfit.data.packing.making import Job, Workshop, make_shard
from quickfit.data.packing.packed import Packed
from quickfit.data.packing.plan import Plan, plan
from quickfit.data.packing.task import Task

# A process that copies reads, hashes and writes at the same time, so that another one on two cores
# gains a seventh, and takes this much to have paid for its start.
_COPY_BYTES_PER_WORKER = 1_000_000_000


def pack_source(open_source: Callable[[], Source], task: Task) -> Packed:
    """Pack all images of a source, or go on with it.

    Args:
        open_source: lists the images, when the folder of the pack is ours.
        task: what was asked for.

    Raises:
        PipelineError: it cannot be made; what is there is whole.
    """
    with task.opened() as lock:
        source = open_source()
        planned = plan(source, task.settings)
        with faults.told(task.layout.folder, lambda: _still(planned, task)):
            there = task.finished_before(planned.sources, planned.listing())
            if there is not None:
                return replace(there, notes=_notes(source))
            _begin(planned, task)
            _make(source, planned, task, lock)
            manifest = finish(
                task.layout,
                task.settings,
                classes=source.classes,
                sources=planned.sources,
                shards=[task.layout.shard(name) for name in _names(planned)],
                listing_rejected=source.rejected,
            )
    return replace(task.packed(manifest), notes=_notes(source))


def _notes(source: Source) -> tuple[str, ...]:
    """Return what a person should know of the source."""
    return tuple(getattr(source, "notes", ()))


def _begin(planned: Plan, task: Task) -> None:
    layout = task.layout
    if task.settings.form != "jpeg256":  # the size of that one is a guess
        faults.check_room(layout.folder, _still(planned, task))
    json_lines.write_lines(layout.listing, layout.aside("sources", "jsonl"), planned.listing())
    task.begin(planned.sources)


def _make(source: Source, planned: Plan, task: Task, lock: int) -> None:
    # Without its list of images, where it can: workers are sent the images of their shards.
    reader = source.reader() if hasattr(source, "reader") else source
    workshop = Workshop(task.layout, task.settings, reader)
    workers = min(task.workers or _useful_workers(planned, task), planned.shards)
    display = task.display(len(planned.entries))
    try:
        if workers == 1:
            for number in range(planned.shards):
                # No name for the job: it would keep its images while the next one is listed.
                make_shard(_job(planned, number), workshop, display.heed)
        else:
            jobs = (_job(planned, number) for number in range(planned.shards))
            Crew(workshop, count=workers, lock=lock).make(jobs, display.heed)
    except ShardFailedError as error:
        folder, still = task.layout.folder, _still(planned, task)
        raise faults.of_worker(folder, error.failed, still) from error
    finally:
        display.close()


def _useful_workers(planned: Plan, task: Task) -> int:
    if task.settings.check == "quick":
        # Copying is over before another process has started.
        return min(whole_cores(), max(1, planned.bytes // _COPY_BYTES_PER_WORKER))
    return whole_cores()


def _names(planned: Plan) -> list[str]:
    return [shard_name(number, planned.shards) for number in range(planned.shards)]


def _job(planned: Plan, number: int) -> Job:
    return Job(shard_name(number, planned.shards), planned.shard(number))


def _still(planned: Plan, task: Task) -> int:
    """Return about how many bytes are still to be written."""
    missing = [name for name in _names(planned) if not task.layout.shard(name).note.exists()]
    return planned.bytes * len(missing) // planned.shards
