"""The folder a pack is written to: whose it is, who writes to it, and what is in it already."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from quickfit.data.packing import json_lines
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.manifest import KIND
from quickfit.errors import PipelineError, UsageError

# Workers of a pack that was killed notice it at their next sign of life.
_LOCK_WAIT_S = 10.0
_LOCK_RETRY_S = 0.05
_MOST_NAMES = 3


def prepare(layout: Layout) -> None:
    """Make the folder if it is not there.

    Raises:
        UsageError: it has other things in it, or cannot be made.
    """
    try:
        layout.folder.mkdir(parents=True, exist_ok=True)
        others = layout.others()
    except OSError as error:
        raise UsageError(
            f"{layout.folder}: the pack cannot be written there: {error.strerror}.\n"
            "Name a folder that can be made or is empty."
        ) from error
    if others and not is_ours(layout):
        some = ", ".join(others[:_MOST_NAMES]) + (", …" if len(others) > _MOST_NAMES else "")
        raise UsageError(
            f"{layout.folder}: this folder has other things in it ({some}) and is no pack.\n"
            f"Name a new folder:\n    quickfit pack SRC {layout.folder / 'pack'}"
        )


def is_ours(layout: Layout) -> bool:
    """Return whether a pack is in the folder: finished, begun, or one that came to nothing."""
    if layout.plan.exists() or layout.has_lists():
        return True  # whatever the manifest says: it may be damaged
    try:
        return json_lines.read(layout.manifest).get("kind") == KIND
    except (OSError, ValueError):
        return _came_to_nothing(layout)


def _came_to_nothing(layout: Layout) -> bool:
    if set(os.listdir(layout.folder)) - {layout.partial.name} != {layout.rejected.name}:
        return False
    try:
        first = next(json_lines.read_lines(layout.rejected), {})
    except (OSError, ValueError):
        return False
    return set(first) == {"path", "reason", "detail"}


@contextmanager
def locked(layout: Layout, tell: Callable[[str], None]) -> Iterator[int]:
    """Hold the folder against other packs; yield the descriptor that workers inherit.

    A lock belongs to all who hold the descriptor: workers that outlive a killed pack for a
    moment keep it, and the next pack waits for them.

    Args:
        layout: of the pack.
        tell: is told that another pack is waited for.

    Raises:
        PipelineError: another pack writes here.
    """
    descriptor = os.open(layout.folder, os.O_RDONLY)
    try:
        _lock(descriptor, layout, tell)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, layout: Layout, tell: Callable[[str], None]) -> None:
    import fcntl

    is_told = False
    end_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > end_s:
                raise PipelineError(
                    f"{layout.folder}: another quickfit pack is writing to this folder.\n"
                    "Wait until it has ended, or name another folder."
                ) from error
            if not is_told:
                tell(
                    "waiting for another quickfit pack that writes to this folder "
                    f"(up to {_LOCK_WAIT_S:.0f} s)"
                )
                is_told = True
            time.sleep(_LOCK_RETRY_S)
        except OSError:
            return None  # a network file system without locks: files are renamed when whole


def clear(layout: Layout) -> None:
    """Remove all that a pack has written, and nothing else.

    The plan goes last: if this is interrupted, the rest is still known for a pack's.
    """
    if is_ours(layout):
        layout.partial.mkdir(exist_ok=True)
        json_lines.write(layout.plan, layout.aside("plan", "json"), {"kind": f"{KIND} plan"})
    for file in layout.written():
        if file != layout.plan:
            file.unlink(missing_ok=True)
    _remove_empty(layout.indexes)
    close(layout)


def drop_empty(layout: Layout) -> None:
    """Remove the folders of a pack that wrote nothing to them."""
    _remove_empty(layout.partial)
    if not layout.partial.exists():
        _remove_empty(layout.indexes)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # not there, or someone else's file is in it


def drop_unfinished(layout: Layout) -> None:
    """Remove what was being written."""
    for file in layout.unfinished():
        file.unlink(missing_ok=True)


def close(layout: Layout) -> None:
    """Remove what only an unfinished pack needs."""
    for file in layout.partials():
        file.unlink(missing_ok=True)
    shutil.rmtree(layout.unpacked, ignore_errors=True)
    _remove_empty(layout.partial)
